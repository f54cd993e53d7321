"""Arguments of the public methods as names of the graph: ops, tensors, scopes and selections are
accepted alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from tfgraphwidget import edits, export, runtime
from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.editor.graph_view import Boundary, Names, each, is_in_parts, is_single
from tfgraphwidget.editor.navigator import target_of
from tfgraphwidget.editor.signature_boundary import signature_boundary
from tfgraphwidget.errors import GraphEditError, NoPath, UnknownName
from tfgraphwidget.graph import (
    Selection,
    Signature,
    costs,
    patterns,
    selectors,
)
from tfgraphwidget.naming import (
    function_name,
    identifier,
    is_scope_name,
    names_text,
    scope_around,
    split_tensor,
)
from tfgraphwidget.runtime import live
from tfgraphwidget.sentences import either
from tfgraphwidget.sources import is_same_variable
from tfgraphwidget.tf_types import GraphLike, OpLike, OpsLike, TensorKey, TensorsLike

if TYPE_CHECKING:
    from tfgraphwidget.editor.executor import EditExecutor
    from tfgraphwidget.editor.graph_view import GraphView
    from tfgraphwidget.editor.navigator import Navigator
    from tfgraphwidget.graph import GraphIndex
    from tfgraphwidget.sources import Source

_LONGEST = 500  # characters of a scope that is proposed


class ArgumentResolver:
    """Turns ops, tensors, variables and scopes, as users give them, into names of the graph.

    Everything raises UnknownName for what is not in that graph.
    """

    def __init__(self, source: Source, navigator: Navigator, executor: EditExecutor) -> None:
        self._source, self._navigator, self._executor = source, navigator, executor

    @property
    def _view(self) -> GraphView:
        return self._navigator.here

    @property
    def _index(self) -> GraphIndex:
        return self._view.index

    @property
    def index(self) -> GraphIndex:
        """The current graph."""
        return self._index

    @property
    def signatures(self) -> tuple[Signature, ...]:
        """The signatures of the current graph."""
        return self._executor.signatures

    # Names

    def names(self, argument: OpsLike) -> tuple[str, ...]:
        """The names of ops and tensors; a variable that a function captures is the op that stands
        for it, and what only a signature calls so is the tensor here.
        """
        return self._view.names(
            [
                self._tensor_of_signature(item)
                if isinstance(item, str)
                else self._name_of_captured(item)
                for item in each(argument)
            ]
        )

    def _tensor_of_signature(self, name: str) -> str:
        """The tensor of the current graph for a key of the opened signature, or for the tensor that
        the signature has in the graph of the file; a name that an op has is that op's.

        What `tfgraphwidget info` and saved_model_cli print are names of the file's graph, and a
        SavedModel of TensorFlow 2 opens in the function that computes the signature.
        """
        signature = self._source.signature
        op = split_tensor(name)[0]
        if signature is None or op in self._index.ids:
            return name
        inside = signature_boundary(signature, self._view)
        argument_of = {key: tensor for tensor, key in inside.inputs.items()}
        for key, tensor in (*signature.inputs, *signature.outputs):
            here = argument_of.get(key) or inside.outputs.get(key)
            if here and name in (key, tensor, split_tensor(tensor)[0]):
                return here
        return name

    def _name_of_captured(self, item: object) -> Any:
        """The name of the op that represents a captured variable; another may have its own name."""
        if self._executor.boundary is None or not hasattr(item, "assign"):
            return item
        state = self._executor.state()
        return next(
            (name for name in sorted(state.names) if is_same_variable(state.live(name), item)), item
        )

    def name(self, argument: OpLike) -> str:
        """The name of one op or tensor."""
        names = self.names(argument)
        if len(names) != 1:
            raise UnknownName(
                f"{len(names)} ops were given where one is meant; name it: 'scope/op'."
            )
        return names[0]

    def op(self, argument: OpLike) -> str:
        """The name of one op; a tensor represents the op that computes it."""
        return self._index.names[self._index.op(self.name(argument))]

    def ops(self, argument: OpsLike) -> tuple[str, ...]:
        """The names of ops; a tensor represents the op that computes it."""
        index = self._index
        return tuple(dict.fromkeys(index.names[index.op(name)] for name in self.names(argument)))

    def items(self, argument: Names) -> tuple[str, ...]:
        """The names of items of the drawing: scopes and groups unchanged, ops checked."""
        if isinstance(argument, str) and self._view.is_container(argument):
            return (argument,)
        if isinstance(argument, Selection):
            return argument.on(self._index).ops
        return self.names(argument)

    def boundary(self, inputs: Names | None, outputs: Names | None) -> Boundary:
        """The boundary that a call names, or the marked one if it names none at all.

        A side that is left out beside the other is empty. Were it the marked one, the same line of
        Python would mean something else after each click, and after each clone.
        """
        if inputs is None and outputs is None:
            return self._view.boundary
        sides = [() if side is None else self.names(side) for side in (inputs, outputs)]
        return sides[0], sides[1]

    @property
    def marked_tensors(self) -> Boundary:
        """The marked boundary without ops that give no tensor, such as the training step of a
        clone: no signature has a place for them. Empty where no output is left.
        """
        index, (inputs, outputs) = self._index, self._view.boundary
        tensors = tuple(
            name for name in outputs if name not in index.ids or index.dtypes(index.ids[name])
        )
        return (inputs, tensors) if tensors or not outputs else ((), ())

    def selection(self, ops: OpsLike | None) -> Selection | None:
        """A selection, of the ops that were argument if it is not one already."""
        if isinstance(ops, patterns.Matches):
            return ops.selection
        if ops is None or isinstance(ops, Selection):
            return ops
        return selectors.ops(self._index, *self.names(ops))

    # Arguments of edits

    def endpoints(self, argument: TensorsLike) -> str | tuple[str, ...]:
        """Names of tensors, ops, scopes and control edges: one, or several."""
        if isinstance(argument, Selection):
            return tuple(map(self.endpoint, argument.on(self._index).outputs))
        if is_single(argument):
            return self.endpoint(argument)
        return tuple(map(self.endpoint, each(argument)))

    def endpoint(self, argument: OpLike) -> str:
        """The name of a tensor, an op, a scope, or "^op" for the control edges of an op."""
        if isinstance(argument, str) and argument[:1] == "^" and argument not in self._index.ids:
            return f"^{self.op(argument[1:])}"
        if isinstance(argument, str) and edits.rewire.is_scope(self._index, argument):
            return argument
        return self.name(argument)

    def part(self, argument: OpsLike, *, ops: bool = False) -> Any:
        """A tensor, op or name scope by name, or a selection; with `ops` a tensor is its op."""
        if isinstance(argument, Selection):
            return argument.on(self._index)
        if not is_single(argument):
            return selectors.ops(
                self._index, *(self.ops(argument) if ops else self.names(argument))
            )
        name = self.endpoint(argument)
        return self.op(name) if ops and split_tensor(name)[1] is not None else name

    def is_function(self, argument: object, *, new: bool = False) -> bool:
        """Whether this is a Python function, or an op type that is not a name in the graph.

        Args:
            argument: What a user gave.
            new: Whether new ops are asked for: a name in the graph may be an op type then.
        """
        if not isinstance(argument, str):
            return callable(argument) and not isinstance(argument, Selection)
        is_name = argument in self._index.ids or edits.rewire.is_scope(self._index, argument)
        if is_name and new:
            return self._index.typing.definition(argument) is not None
        return not is_name and argument.isidentifier() and argument[0].isupper()

    def replacement(self, argument: Any) -> Selection | tuple[str, ...]:
        """The ops that replace others: a selection, or a list of one op's name."""
        part = self.part(argument, ops=True)
        if isinstance(part, str) and edits.rewire.is_scope(self._index, part):
            # In the line of code, a list names ops alone.
            part = selectors.scope(self._index, part.rstrip("/"))
        return part if isinstance(part, Selection) else (part,)

    def ops_of(self, argument: OpsLike) -> tuple[str, ...]:
        """The ops of a part by name."""
        part = self.replacement(argument)
        return part.ops if isinstance(part, Selection) else tuple(part)

    def consumers(self, argument: OpsLike) -> Selection | tuple[str, ...]:
        """Ops and name scopes by name, or a selection; several selections become their ops."""
        if isinstance(argument, Selection):
            return argument.on(self._index)
        index = self._index
        names: list[str] = []
        for item in each(argument):
            if isinstance(item, str) and edits.rewire.is_scope(index, item):
                names.append(item)
            else:
                names += self.ops(item)
        return tuple(dict.fromkeys(names))

    def tensor(self, argument: OpLike) -> str:
        """The name of one tensor; an op represents its only one."""
        return self.output(self.name(argument))

    def output(self, argument: OpsLike) -> str:
        """The name of one tensor: itself, or the only output of an op, a scope or a selection."""
        index, part = self._index, self.part(argument)
        if isinstance(part, str) and part not in index.ids and split_tensor(part)[1] is not None:
            return part
        outputs = edits.rewire.outputs_of(index, part)
        if len(outputs) > 1 and part not in index.ids:
            # Of an op with several, only those that have consumers.
            selection = part if isinstance(part, Selection) else selectors.scope(index, part)
            outputs = tuple(name for name in outputs if name in selection.boundary[1]) or outputs
        if len(outputs) != 1:
            raise GraphEditError(
                f"{str(part)!r} has {len(outputs)} output "
                f"tensors{f' ({names_text(outputs)})' if outputs else ''}, and one is needed; name "
                "it.",
                [part] if isinstance(part, str) and part in index.ids else [],
            )
        return outputs[0]

    def field_value(self, value: Any) -> object:
        """A value as commands hold it: tensors, ops and dtypes by name, sequences as tuples."""
        if isinstance(value, Selection):
            return value.on(self._index)
        if isinstance(value, list | tuple):
            return tuple(map(self.field_value, value))
        return self.name(value) if hasattr(value, "graph") else live.traced_ops.plain_value(value)

    def plain_value(self, value: object) -> Any:
        """A value without TensorFlow's classes: a dtype by name, a shape as a tuple."""
        return live.traced_ops.plain_value(value)

    def tensor_spec(self, spec: Any) -> Any:
        """A tf.TensorSpec as its shape and dtype: `spec`."""
        return live.traced_ops.tensor_spec(spec)

    def shape_and_dtype(self, spec: object, shape: object, dtype: object) -> tuple[Any, str]:
        """The static shape and dtype that a placeholder takes: a tf.TensorSpec's, else these."""
        new: tuple[Any, str] = live.traced_ops.shape_and_dtype(spec, shape, dtype)
        return new

    def has_outputs(self) -> bool:
        """Whether outputs are marked, or the graph seems to have some."""
        try:
            return bool(self.outputs(None))
        except GraphEditError:  # nothing looks like a result
            return False

    def has_training(self) -> bool:
        """Whether something in the graph serves training alone."""
        return edits.freeze.has_training(self._index)

    def marked_ops(self) -> tuple[str, ...]:
        """The ops of the marked boundary."""
        ids = self._index.ids
        names = (name.partition(":")[0] for side in self._view.boundary for name in side)
        return tuple(dict.fromkeys(name for name in names if name in ids))

    def has_gradient_ops(self, part: Any) -> bool:
        """Whether gradient ops of a part can be distinguished from other ops."""
        return edits.rewire.has_gradient_ops(self._index, part, self._executor.new_names())

    def variable_handles(self, which: Iterable[OpsLike]) -> tuple[str, ...]:
        """The handle ops of variables, in graph order; raises GraphEditError for what has none.

        Of a scope or a selection the variables are taken that were made to be trained: not a step
        counter, a moving average or what an optimizer keeps, which TensorFlow 1 names below its
        variables. If there is none among them, all are meant. A name that is a variable's and a
        scope's, as such a one's is, is the variable's.
        """
        index = self._index
        handles: dict[str, None] = {}
        for item in which:
            part = self._scope_or_selection(item)
            if part is None:
                ops = selectors.ops(index, *(split_tensor(name)[0] for name in self.names(item)))
            else:
                ops = part
            variables = [variable.handle for variable in ops.variables]
            if not variables:
                name = item.rstrip("/") if isinstance(item, str) else item
                raise GraphEditError(
                    f"{name!r} contains no variable to train; choose variables or their scopes."
                )
            handles |= dict.fromkeys(
                variables if part is None else self._made_to_be_trained(variables)
            )
        return tuple(sorted(handles, key=index.op))

    def _scope_or_selection(self, item: OpsLike) -> Selection | None:
        """The selection, or that of a scope's ops; None for names and variables."""
        if isinstance(item, Selection):
            return item
        index = self._index
        if not isinstance(item, str) or item.rstrip("/") not in index.scopes.ids:
            return None
        is_variable = item in index.ids and bool(selectors.ops(index, item).variables)
        return None if is_variable else selectors.scope(index, item)

    def _made_to_be_trained(self, variables: list[str]) -> list[str]:
        """Those that are to be trained, or all. What a variable was made for stays so."""
        index = self._index
        by_definition = {variable.handle for variable in index.variable_defs if variable.trainable}
        by_collection = set(selectors.trainable(index).ops)  # where old files have it alone
        slots = {index.names[op] for op in costs.slots(index)}
        kinds = (
            [v for v in variables if v in handles] for handles in (by_definition, by_collection)
        )
        return next(filter(None, kinds), [v for v in variables if v not in slots]) or variables

    def free_name_for(
        self, function: object, beside: Iterable[str], *, instead: bool = False
    ) -> str:
        """A free name after the function, for the op or the name scope of ops that it makes
        `beside` others.

        Args:
            instead: Whether the old ones are removed; in place of a single op the new one stays in
                its scope, a layer.

        Returns:
            A name in the innermost scope around these ops that holds others too, and at the root
            where TensorFlow takes no such name.
        """
        name = function if isinstance(function, str) else function_name(function)
        base = (
            identifier(name).strip("_") if name.isascii() and name not in ("", "<lambda>") else ""
        )
        names = tuple(beside)
        around = (
            scope_around(names[0]) if instead and len(names) == 1 else self._scope_beside(names)
        )
        scope = f"{around}/{base or 'inserted'}".removeprefix("/")
        is_valid = is_scope_name(scope) and len(scope) <= _LONGEST
        return self._executor.free_scope(scope if is_valid else base or "inserted")

    def _scope_beside(self, names: Iterable[str]) -> str:
        """The innermost scope around all of these ops that holds others too; "" for the root."""
        index, ops = self._index, {self._index.op(name) for name in names}
        scope = scope_around(index.names[min(ops)]) if ops else ""
        while scope:
            inside = set(index.scopes.ops(index.scopes.ids[scope]).tolist())
            if ops < inside:
                break
            scope = scope_around(scope)
        return scope

    def name_for_growth(self, function: object, tensors: tuple[str, ...]) -> str:
        """A free scope for what a function makes: beside the first tensor's op, or at the root."""
        # A result of a function has the scope's name as its key.
        return self.free_name_for(
            function, () if self._executor.boundary is not None else tensors[:1]
        )

    def free_scope(self, wanted: str) -> str:
        """A name scope that is not taken."""
        return self._executor.free_scope(wanted)

    def signature_boundary(
        self, name: str, inputs: object, outputs: object
    ) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
        """The inputs and outputs of a new signature by key; without `inputs` those that the outputs
        need.

        Without both it has those that are marked, or those of the function, or the apparent ones.
        """
        index = self._index
        if inputs is None and outputs is None:
            inputs, outputs = self.marked_tensors
            inputs = inputs or None
            outputs = (
                outputs
                or tuple(self._executor.inputs_and_outputs[1].values())
                or edits.freeze.results(index)
            )
        boundary = (inputs, () if outputs is None else outputs)
        signature = export.parse_signatures(index, self.names, None, None, {name: boundary})[0]
        return signature.inputs, signature.outputs

    def outputs(self, argument: Names | None, *, use_selection: bool = True) -> tuple[str, ...]:
        """The wanted outputs: given, marked, of the signatures, or those without consumers.

        Marked tensors may not count (`use_selection`): the marks that a file is opened with are
        those of one signature, and no choice; see `boundary`.
        """
        if argument is not None:
            return self.names(argument)
        executor, index, boundary = self._executor, self._index, self._view.boundary
        is_graph, signatures = self._view.body is self._source.body, executor.signatures
        is_chosen = not is_graph or export.is_chosen(
            boundary, index, self._source.signature, signatures
        )
        returns = tuple(executor.inputs_and_outputs[1].values())
        names = (boundary[1] if use_selection and is_chosen else ()) or returns
        if not names and is_graph:
            names = tuple(
                dict.fromkeys(name for signature in signatures for _, name in signature.outputs)
            )
        return tuple(
            name for name in names if name.partition(":")[0] in index.ids
        ) or edits.freeze.results(index)

    # Arguments of runs

    def fetches(self, argument: OpsLike) -> tuple[str, ...]:
        """The names of tensors; an op represents all of its outputs, if it has any."""
        index = self._index
        tensors: dict[str, None] = {}
        for name in self.names(argument):
            ports = range(len(index.dtypes(index.op(name)))) if name in index.ids else ()
            tensors |= dict.fromkeys(
                [f"{name}:{port}" for port in ports] if name in index.ids else [name]
            )
        return tuple(tensors)

    def readable(self, tensors: tuple[str, ...]) -> tuple[str, ...]:
        """The tensors, with reads of variables in place of handles; raises if one has no value."""
        readable = tuple(
            runtime.measure.probe.readable_tensor(self._index, name) for name in tensors
        )
        for name, tensor in zip(tensors, readable, strict=True):
            if not tensor:
                raise GraphEditError(
                    f"{name!r} refers to a resource and has no value in Python; name a tensor that "
                    "is read from it.",
                    [split_tensor(name)[0]],
                )
        return readable

    def feeds(self, feeds: Mapping[TensorKey, object] | None) -> dict[str, object]:
        """Feeds by tensor name. Raises GraphEditError for text that a tensor of numbers is fed."""
        named = {self._fed_tensor(key): value for key, value in (feeds or {}).items()}
        for name, value in named.items():
            self._check_no_text(name, value)
        return named

    def _check_no_text(self, tensor: str, value: object) -> None:
        """Raise where a tensor of numbers is fed text, such as "random" of the command line."""
        dtype = self._index.tensor_dtype(tensor)
        element = value
        while isinstance(element, list | tuple) and element:
            element = element[0]
        if isinstance(element, str | bytes) and dtype not in ("", "string"):
            raise GraphEditError(
                f"feeds: {tensor!r} is {dtype}, and {value_text(value)} is text; give numbers, "
                "such as an array of numpy.",
                [split_tensor(tensor)[0]],
            )

    def _fed_tensor(self, argument: OpLike) -> str:
        name = self.name(argument)
        if split_tensor(name)[1] is None or name in self._index.ids:
            name = f"{name}:0"
        if runtime.measure.probe.readable_tensor(self._index, name) != name:
            raise GraphEditError(
                f"{name!r} refers to a resource and cannot be fed; feed the tensors that are read "
                "from it.",
                [split_tensor(name)[0]],
            )
        return name

    # Clones, and graphs that are added

    def part_to_clone(
        self, inputs: Names | None, outputs: Names | None
    ) -> tuple[Selection | None, tuple[str, ...], tuple[str, ...]]:
        """The part that a clone copies, given or else marked or selected: a selection, or the names
        of its inputs and outputs. Raises UnknownName, and GraphEditError where what was selected is
        not in the graph any more.
        """
        selection, view = None, self._view
        if inputs is None and outputs is None and view.selection is None and view.selection_notice:
            raise GraphEditError(view.selection_notice)
        if (
            isinstance(inputs, str)
            and outputs is None
            and edits.rewire.is_scope(self._index, inputs)
        ):
            inputs = selectors.scope(self._index, inputs.rstrip("/"))
        if isinstance(inputs, Selection) and outputs is None:
            selection, inputs = inputs, ()
        elif inputs is None and outputs is None and not any(view.boundary):
            selection = view.selection
        boundary = self.boundary(inputs, outputs)
        if selection is None and not any(boundary) and not inputs is outputs is None:
            raise NoPath(
                "A part of the graph needs an output boundary; name at least one op or tensor in "
                "outputs."
            )
        return selection, *boundary

    def scope_for_copies(self, times: object, devices: object) -> str:
        """A free scope name, of which the numbered ones are free too for several copies."""
        free_scope = self._executor.free_scope
        scope, number = free_scope(), 0
        while times is not None or devices:
            if free_scope(f"{scope}_0") == f"{scope}_0":
                break
            number += 1
            scope = free_scope(f"copy{number}")
        return scope

    def other_graph(self, graph: GraphLike | None, session: object) -> GraphLike | None:
        """The other graph that copies go into; None for this one, also of another editor. Raises
        GraphEditError for a session without a graph, or beside an editor.
        """
        target, own = target_of(graph), self._executor.target
        graph_of_target = graph if target is None else target.source.graph
        if target is own or (graph_of_target is not None and graph_of_target is self._source.graph):
            graph = None
        if session is not None and (graph is None or target is not None):
            raise GraphEditError(
                either("session= needs graph=, a tf.Graph", "A session needs a graph")
                + " without an editor; copies in an editor's graph are initialized in the session "
                "of that editor."
            )
        return graph

    def modes(self, argument: Any) -> Any:
        """Whether state is copied or shared: one word, or pairs of {variable or scope: word}."""
        if not isinstance(argument, Mapping):
            return argument
        scopes = self._index.scopes.ids
        modes: dict[str, object] = {}
        for key, mode in argument.items():
            if isinstance(key, Selection):
                modes.update((v.handle, mode) for v in key.on(self._index).variables)
            else:
                # The parts of a partitioned variable have its name as scope.
                scope = key.name if is_in_parts(key) else key
                is_scope_name = isinstance(scope, str) and scope.rstrip("/") in scopes
                modes[
                    scope.rstrip("/") if is_scope_name else self.names(key)[0].partition(":")[0]
                ] = mode
        return tuple(modes.items())

    def initial_values(self, argument: Any) -> Any:
        """What new variables hold: a word, a checkpoint's path, or such or an array by name."""
        if isinstance(argument, Mapping):
            return tuple((self._variable_name(key), value) for key, value in argument.items())
        return fspath(argument) if isinstance(argument, PathLike) else argument

    def _variable_name(self, key: Any) -> str:
        """The op of a variable, or the name of a partitioned one, which its parts have as scope."""
        name = key.name if is_in_parts(key) else key
        is_whole = isinstance(name, str) and name in self._index.scopes.ids
        return name if is_whole and name not in self._index.ids else self.names(key)[0]

    def connections(self, argument: Mapping[TensorKey, TensorsLike]) -> tuple[tuple[str, str], ...]:
        """Tensors of an added source, with those of the graph that replace them."""
        names = self._navigator.outermost.names
        return tuple(
            (str(getattr(one, "name", one)), names(other)[0]) for one, other in argument.items()
        )

"""An edited body as a function of its own, and the callers that call it in place of the one that
was edited.

A function never changes: the edited body is a new FunctionDef, of the same arguments and results.
Its name ends with a digest of what it does, so that one edit gives one function, whenever and by
whomever it is made, and no session ever finds another function under a name that it knows.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tfgraphwidget.edits import (
    Change,
    FunctionBoundary,
    NodeChange,
    Patch,
    apply_patch,
    may_be_gradient_of,
    name_callee,
    track_boundary,
)
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    BRANCHES,
    CONSTANTS,
    FUNCTION_CALLS,
    REQUIRED_PLACEHOLDERS,
    WHILE_LOOPS,
    GraphIndex,
    called_functions,
)
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import free_name, names_text, split_input, split_tensor
from tfgraphwidget.runtime.sandbox.preflight import CONSTRUCTION_CONTEXT
from tfgraphwidget.runtime.sandbox.shape_inference import infer_patch_shapes
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.sources import Body, OpTypes
from tfgraphwidget.tf_types import FunctionDef, NodeDef, OpDef, TensorShapeProto

# What TensorFlow writes beside a function's attributes of other functions, made of it as it was.
_DERIVED = ("forward_function_name", "backward_function_name", "forward_backward_function_name")
_BACKWARD = "backward_function_name"
# What it writes at a call of how the function is differentiated.
_GRADIENT = "_gradient_op_type"
_SHAPES = "_output_shapes"
_EDITED = re.compile(r"_edited_[a-p]{8}\Z")
# Letters alone: TensorFlow, and `naming`, take digits at the end of a name for a number that was
# put there.
_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
_ARGUMENT = re.compile(r"[a-z][a-z0-9_]*")
# An op that calls a function without state, and the one that calls a function with state.
_STATEFUL = {
    "PartitionedCall": "StatefulPartitionedCall",
    "StatelessIf": "If",
    "StatelessCase": "Case",
    "StatelessWhile": "While",
}
_GRADIENT_OF_A_CALL = "SymbolicGradient"
_RESOURCE: Any = 20  # DT_RESOURCE
_INPUT_SHAPES = "_input_shapes"
_LOOP_SHAPES = "output_shapes"
# How many outputs of a loop are not there for its gradient alone; only of these the gradient is
# computed.
_LOOP_OUTPUTS = "_num_original_outputs"
_NO_ARGUMENT = re.compile(r"[^a-z0-9_]+")
# The attribute with the dtypes of what an op gives the functions that it calls.
_TYPES = {**dict.fromkeys((*FUNCTION_CALLS, *BRANCHES), "Tin"), **dict.fromkeys(WHILE_LOOPS, "T")}


@dataclass(frozen=True, eq=False)
class Edition:
    """A function's body as edits have left it.

    Attributes:
        opened: The FunctionDef that the body was read from.
        body: The body as it was read.
        index: Its ops now.
        boundary: Its arguments and results now.
    """

    opened: FunctionDef
    body: Body
    index: GraphIndex
    boundary: FunctionBoundary

    def after(self, patch: Patch) -> Edition:
        """The body after one more edit."""
        return replace(
            self,
            index=apply_patch(self.index, patch),
            boundary=track_boundary(*self.boundary, (patch,)),
        )


# The callers


@dataclass(frozen=True)
class NewHandle:
    """A handle of a variable that a function reads from now on, and that its callers give it as a
    further argument.

    Attributes:
        op: The name of the handle op in the graph that calls the function.
        node: The handle op in the function's body.
        argument: The name of the argument.
    """

    op: str
    node: NodeDef
    argument: str


def new_handles(definition: FunctionDef, nodes: Iterable[NodeDef]) -> list[NewHandle]:
    """Handle ops that come into a body as its function's arguments, under free names."""
    names_in_use = {
        argument.name
        for argument in (*definition.signature.input_arg, *definition.signature.output_arg)
    }
    names_in_use |= {node.name.lower() for node in definition.node_def}
    handles = []
    for node in nodes:
        name = free_name(
            _NO_ARGUMENT.sub("_", node.name.lower()).lstrip("_0123456789") or "handle", names_in_use
        )
        names_in_use.add(name)
        handles.append(NewHandle(node.name, node, name))
    return handles


def _add_arguments(definition: FunctionDef, handles: Iterable[NewHandle]) -> None:
    """Let a function take handles after its other arguments, in place."""
    for handle in handles:
        _describe(definition.signature.input_arg.add(), handle)
        if _INPUT_SHAPES in definition.attr:
            definition.attr[_INPUT_SHAPES].list.shape.add()


def _describe(argument: OpDef.ArgDef, handle: NewHandle) -> None:
    argument.name = handle.argument
    argument.type = _RESOURCE
    data = argument.handle_data.add()
    data.dtype = handle.node.attr["dtype"].type
    data.shape.CopyFrom(handle.node.attr["shape"].shape)


def _returning(definition: FunctionDef, handles: Sequence[NewHandle]) -> FunctionDef:
    """The body of a loop, which returns the handles that it takes too."""
    new = copy_of(definition)
    names_in_use = {argument.name for argument in new.signature.output_arg}
    for handle in handles:
        result = new.signature.output_arg.add()
        _describe(result, handle)
        result.name = free_name(f"{handle.argument}_out", names_in_use)
        new.ret[result.name] = handle.argument
    return _name_function(new, definition.signature.name)


class _Calls:
    """Exchanges the functions that NodeDefs call for new ones, which come into `new_functions`, and
    gives these the handles that they take besides.
    """

    def __init__(
        self,
        index: GraphIndex,
        handles: Sequence[NewHandle],
        new_functions: list[FunctionDef],
        library: Mapping[str, FunctionDef],
    ) -> None:
        self._index, self._handles, self._new_functions = index, handles, new_functions
        self._library = dict(library)

    def exchange(
        self, node: NodeDef, functions: Mapping[str, str], inputs: Sequence[str]
    ) -> NodeDef:
        """The op with other functions by their labels, and with the handles as further inputs.

        Raises GraphEditError for an op that gives its functions no inputs of its own.
        """
        if not self._handles or not functions:
            return _calling(
                node, functions, {f.signature.name for f in self._new_functions if _acts(f)}
            )
        key = _TYPES.get(node.op)
        if key is None and "" not in functions:
            raise GraphEditError(
                f"{node.name!r} ({node.op}) cannot give the function the variable "
                f"{self._handles[0].node.name!r}; let the function read a variable that it has, or "
                "compute with constants.",
                [node.name],
            )
        is_loop = node.op in WHILE_LOOPS
        labels = {}
        for called in called_functions(node, self._index.functions):
            is_edited = called.label in functions
            if is_edited:
                function = self._library[functions[called.label]]
            else:
                function = self._widen(called.function)
            function = (
                self._with_results(function) if is_loop and called.label == "body" else function
            )
            labels[called.label] = function.signature.name
        new = _calling(node, labels, {f.signature.name for f in self._new_functions if _acts(f)})
        data = [text for text in new.input if text[:1] != "^"]
        new.input[:] = [*data, *inputs, *(text for text in new.input if text[:1] == "^")]
        if key is not None:
            new.attr[key].list.type.extend([_RESOURCE] * len(self._handles))
        for _ in self._handles if is_loop else ():
            if _LOOP_SHAPES in new.attr and new.attr[_LOOP_SHAPES].list.shape:
                new.attr[_LOOP_SHAPES].list.shape.add()
            if _LOOP_OUTPUTS in new.attr:
                new.attr[_LOOP_OUTPUTS].i += 1
        new.attr.pop(_SHAPES, None)
        return new

    def _widen(self, name: str) -> FunctionDef:
        """A function that takes the handles and does not use them: another branch, or condition."""
        definition = self._library.get(name) or self._index.extras.function(name)
        new = copy_of(definition)
        names_in_use = {argument.name for argument in definition.signature.input_arg} | {
            n.name for n in definition.node_def
        }
        handles = [
            replace(handle, argument=free_name(handle.argument, names_in_use))
            for handle in self._handles
        ]
        _add_arguments(new, handles)
        return self._keep(_name_function(new, name))

    def _with_results(self, function: FunctionDef) -> FunctionDef:
        last = list(function.signature.input_arg)[
            len(function.signature.input_arg) - len(self._handles) :
        ]
        pairs = zip(self._handles, last, strict=True)
        return self._keep(
            _returning(
                function, [replace(handle, argument=argument.name) for handle, argument in pairs]
            )
        )

    def _keep(self, function: FunctionDef) -> FunctionDef:
        if function.signature.name not in {other.signature.name for other in self._new_functions}:
            self._new_functions.append(function)
        self._library[function.signature.name] = function
        return function


def call_instead(
    index: GraphIndex,
    op: str,
    label: str,
    new: FunctionDef,
    inner: GraphIndex,
    handles: Sequence[NewHandle] = (),
    state: Change | None = None,
) -> Patch:
    """The patch of `index` whose `op` calls the function `new` as `label`, or as its only one.
    Raises GraphEditError where an op cannot take the results of the new function.

    `inner` is the body of `new`, whose library has the functions that it calls; `state` has the ops
    of the `handles` in `index`.
    """
    node = index.nodes[index.ids[op]]
    if node.op == _GRADIENT_OF_A_CALL:
        raise GraphEditError(
            f"{op!r} differentiates the function, and is not a call of it; enter the function by "
            "the op that calls it.",
            [op],
        )
    called = next(
        called
        for called in called_functions(node, index.functions)
        if label in ("", called.label, called.function)
    )
    new_functions = [new]
    calls = _Calls(index, handles, new_functions, {new.signature.name: new})
    changed = NodeChange(
        node,
        calls.exchange(node, {called.label: new.signature.name}, [handle.op for handle in handles]),
    )
    add = replace(state or Change(), functions=tuple(_lacking(new_functions, index, inner)))
    old = index.extras.function(called.function)
    return _with_shapes(
        index,
        Patch(add=add, changed=(changed, *_following_placeholders(index, [(node, old, new)]))),
    )


def call_everywhere(
    index: GraphIndex,
    old: str,
    new: FunctionDef,
    inner: GraphIndex,
    handles: Sequence[NewHandle] = (),
    state: Change | None = None,
) -> Patch:
    """The patch of a whole graph in which all calls of the function `old` call another, those by
    other functions included.

    The functions that call `old`, directly or through others, are new ones too. All else is as for
    `call_instead`.
    """
    names, definitions = {old: new.signature.name}, [new]
    library = {new.signature.name: new}
    for name in _callers_last(index, old):
        definition = index.extras.function(name)
        caller = copy_of(definition)
        own = new_handles(caller, [handle.node for handle in handles])
        calls = _Calls(index, handles, definitions, library)
        for node in caller.node_def:
            exchange = _replacements(node, index.functions, names)
            for _, old_callee, new_callee in _exchanges(index, node, names, library):
                _follow(caller, _passed_shapes(node, old_callee, new_callee))
            node.CopyFrom(calls.exchange(node, exchange, [handle.argument for handle in own]))
        _add_arguments(caller, own)
        definitions.append(_name_function(caller, name))
        names[name] = definitions[-1].signature.name
        library[names[name]] = definitions[-1]
    calls = _Calls(index, handles, definitions, library)
    changed = []
    for node in index.nodes:
        labels = _replacements(node, index.functions, names)
        if labels:
            new_node = calls.exchange(node, labels, [handle.op for handle in handles])
            changed.append(NodeChange(node, new_node))
    add = replace(state or Change(), functions=tuple(_lacking(definitions, index, inner)))
    exchanges = (each for node in index.nodes for each in _exchanges(index, node, names, library))
    return _with_shapes(
        index, Patch(add=add, changed=(*changed, *_following_placeholders(index, exchanges)))
    )


def _with_shapes(index: GraphIndex, patch: Patch) -> Patch:
    """The patch with static shapes inferred by TensorFlow, but for loops' new results."""
    patch = infer_patch_shapes(index, patch)
    counts = {edited.name: len(index.dtypes(index.ids[edited.name])) for edited in patch.changed}
    return replace(
        patch, shapes=tuple(s for s in patch.shapes if s.port < counts.get(s.op, s.port + 1))
    )


def without_superseded(index: GraphIndex, patch: Patch, first: GraphIndex) -> Patch:
    """The patch, as `call_instead` or `call_everywhere` gives it, removing the functions of earlier
    edits too that no op calls after it; those of the graph `first`, before all edits, stay: other
    things than ops may name them.
    """
    pairs = ((called_functions(e.before, index.functions), e.after) for e in patch.changed)
    exchange = {
        called.function
        for before, after in pairs
        for called in before
        if called not in called_functions(after, index.functions)
    }
    if exchange <= first.functions:
        return patch
    after = apply_patch(index, patch)
    before, now = (graph.reachable_functions() for graph in (index, after))
    superseded = [name for name in before if name not in now and name not in first.functions]
    functions = tuple(index.extras.function(name) for name in superseded)
    return replace(patch, remove=replace(patch.remove, functions=functions))


def check_entered_once(index: GraphIndex, function: str) -> None:
    """Raise GraphEditError for a recursive function: an edit would be for one call alone."""
    if function in index.reachable_functions(index.extras.function(function).node_def):
        raise GraphEditError(
            f"The function {function!r} calls itself, and an edited one would go on calling it as "
            "it was; write it without recursion to edit it."
        )


def gradient_notes(index: GraphIndex, op: str, graph: GraphIndex, function: str) -> tuple[str, ...]:
    """Sentences on gradients that were made of a call `op` in `index`, or of the function that the
    library of `graph` has, before the function was edited.
    """
    notes: list[str] = []
    scope = re.compile(rf"(?:.*/)?{re.escape(op)}_grad(?:_\d+)?(?=/)")
    matches = [match for match in map(scope.match, index.names) if match]
    scopes = dict.fromkeys(
        match.group() for match in matches if may_be_gradient_of(index, match.string, op)
    )
    attributes = graph.extras.function(function).attr
    if scopes:
        notes.append(
            f"{names_text(list(scopes))} {'computes' if len(scopes) == 1 else 'compute'} the "
            f"gradient of {op!r} before the edit; "
            + in_cell("add the gradient of the edited function: tf.gradients(ys, xs).")
        )
    elif _BACKWARD in attributes:
        notes.append(
            f"{function!r} is the forward pass of {attributes[_BACKWARD].s.decode()!r}, which "
            "computes the gradient of the function as it was before the edit; edit it too, or "
            "trace the gradient again."
        )
    gradient = graph.extras.gradient(function)
    if gradient:
        notes.append(
            f"The function {function!r} has the gradient function {gradient!r}, which is of the "
            "function as it was; the edited function is differentiated op by op."
        )
    return tuple(notes)


def check_called_alike(index: GraphIndex, function: str) -> None:
    """Raise GraphEditError when calls give the attributes that a function takes from them different
    values.

    A body that was entered by a call has those of that call.
    """
    attributes = [attribute.name for attribute in index.extras.function(function).signature.attr]
    if not attributes:
        return
    bodies = (called.node_def for called in index.reachable_functions().values())
    nodes = (node for body_nodes in (index.nodes, *bodies) for node in body_nodes)
    callers = [
        node
        for node in nodes
        if any(called.function == function for called in called_functions(node, index.functions))
    ]
    for name in attributes:
        if any(node.attr[name] != callers[0].attr[name] for node in callers):
            raise GraphEditError(
                f"The calls of the function {function!r} differ in the attribute {name!r}, which "
                "its body takes from them, and an edit here is of the body as one of them has it; "
                + in_cell("enter that call without everywhere=True."),
                [node.name for node in callers],
            )


def _callers_last(index: GraphIndex, function: str) -> list[str]:
    """The functions that the graph's ops call and that call `function`, callees first."""
    calls = {
        name: {
            called.function
            for node in definition.node_def
            for called in called_functions(node, index.functions)
        }
        for name, definition in index.reachable_functions().items()
    }
    affected = {function}
    while more := {name for name, inner in calls.items() if inner & affected} - affected:
        affected |= more
    order = {function: None}
    while ready := [
        n for n in calls if n in affected - order.keys() and calls[n] & affected <= order.keys()
    ]:
        order.update(dict.fromkeys(ready))
    endless = sorted(affected - order.keys())
    if endless:
        raise GraphEditError(
            f"The function {endless[0]!r} calls itself and {function!r}, so its call cannot be "
            "exchanged; " + in_cell(f"enter {function!r} without everywhere=True.")
        )
    return list(order)[1:]


def _replacements(
    node: NodeDef, functions: Collection[str], names: Mapping[str, str]
) -> dict[str, str]:
    """The new functions of a node, by the label that it calls each by."""
    return {
        called.label: names[called.function]
        for called in called_functions(node, functions)
        if called.function in names
    }


def _calling(node: NodeDef, functions: Mapping[str, str], active: Collection[str]) -> NodeDef:
    """The op with other functions by their labels: "f", "branches[1]", or "" for an op of the
    function's type.

    `active` are those of the functions that have state or side effects, which TensorFlow wants
    another op type for.
    """
    new = copy_of(node)
    for label, name in functions.items():
        name_callee(new, label, name)
    if functions:
        new.attr.pop(_GRADIENT, None)  # of another function it would be another's
    if not set(active).isdisjoint(functions.values()):
        new.op = _STATEFUL.get(new.op, new.op)
    return new


def _lacking(
    definitions: Iterable[FunctionDef], index: GraphIndex, inner: GraphIndex
) -> Iterator[FunctionDef]:
    """The functions that `index` lacks, with those that they call, which `inner` has."""
    visited, stack = set(index.functions), list(definitions)
    while stack:
        function = stack.pop(0)
        if function.signature.name in visited:
            continue
        visited.add(function.signature.name)
        yield function
        callees = (
            called.function
            for node in function.node_def
            for called in called_functions(node, inner.functions)
        )
        stack += [inner.extras.function(name) for name in callees if name not in visited]


# The function


def rewrite_definition(
    definition: FunctionDef,
    edition: Edition,
    renamed: Mapping[str, str],
    *,
    keeps_shapes: bool = False,
    handles: Sequence[NewHandle] = (),
) -> FunctionDef:
    """The FunctionDef of an edited body.

    Args:
        renamed: The new names of ops that the edit renamed.
        keeps_shapes: Whether no static shape is another after the edit, so that those which the ops
            hold are right.
        handles: Handle ops of the body that the function takes as further arguments.

    Raises:
        GraphEditError: It does not take or give any more what its callers count on.
    """
    index, body_writer = edition.index, _DefinitionSyntax(definition, edition)
    new = copy_of(definition)
    for key in _DERIVED:
        new.attr.pop(key, None)
    for argument, name in zip(new.signature.input_arg, body_writer.names, strict=True):
        argument.name = name
    _set_argument_shapes(new, edition)
    _add_arguments(new, handles)
    body_writer.arguments.update((handle.node.name, handle.argument) for handle in handles)
    del new.node_def[:]
    for k, node in enumerate(index.nodes):
        if node.name not in body_writer.arguments:
            copy = new.node_def.add()
            copy.CopyFrom(node)
            if not keeps_shapes:
                copy.attr.pop(_SHAPES, None)
            copy.input[:] = body_writer.inputs(k)
    there = {node.name for node in definition.node_def}
    for key, tensor in edition.boundary[1].items():
        op = split_tensor(tensor)[0]
        if op not in index.ids and op not in there:
            continue  # a broken file has never had it, as lint says
        # Raises for an op of a type that is unknown.
        new.ret[key] = body_writer.tensor(*split_tensor(tensor))
        _check_dtype(index, definition, key, tensor, body_writer.dtype(*split_tensor(tensor)))
    for key, op in definition.control_ret.items():
        now = renamed.get(op, op)
        if now in index.ids:
            new.control_ret[key] = now
        else:
            del new.control_ret[key]
    control_keys = [key for key in definition.signature.control_output if key in new.control_ret]
    new.signature.control_output[:] = control_keys
    op_defs = (index.typing.definition(node.op) for node in new.node_def)
    new.signature.is_stateful |= any(
        op_def is not None and op_def.is_stateful for op_def in op_defs
    )
    return _name_function(new, definition.signature.name)


def _argument_shape(definition: FunctionDef, place: int) -> TensorShapeProto | None:
    """The static shape of an argument; None where the function says none."""
    if place not in definition.arg_attr or _SHAPES not in definition.arg_attr[place].attr:
        return None
    shapes = definition.arg_attr[place].attr[_SHAPES].list.shape
    return shapes[0] if shapes else None


def _set_argument_shape(definition: FunctionDef, place: int, shape: TensorShapeProto) -> None:
    """Let an argument have a static shape, if the function says another one; handles of variables
    have none.
    """
    old = _argument_shape(definition, place)
    if old is None or old == shape:
        return
    old.CopyFrom(shape)
    if _INPUT_SHAPES in definition.attr and place < len(definition.attr[_INPUT_SHAPES].list.shape):
        definition.attr[_INPUT_SHAPES].list.shape[place].CopyFrom(shape)


def _set_argument_shapes(definition: FunctionDef, edition: Edition) -> None:
    """Let the arguments have the static shapes that they have in an edited body."""
    index = edition.index
    # The boundary leaves out handles that the function captures.
    places = {argument.name: k for k, argument in enumerate(edition.opened.signature.input_arg)}
    for was, name in zip(edition.body.arguments, edition.boundary[0], strict=True):
        place, op = places[split_tensor(was)[0]], index.ids.get(split_tensor(name)[0])
        if (
            op is not None
            and index.types[op] in REQUIRED_PLACEHOLDERS
            and "shape" in index.nodes[op].attr
        ):
            _set_argument_shape(definition, place, index.nodes[op].attr["shape"].shape)


def _passed_shapes(node: NodeDef, old: FunctionDef, new: FunctionDef) -> dict[str, tuple[Any, Any]]:
    """What a call gives to arguments that have another static shape now: input -> (the shape
    before, the shape now).
    """
    data = [text for text in node.input if text[:1] != "^"]
    if node.op not in FUNCTION_CALLS or len(data) != len(old.signature.input_arg):
        return {}
    shapes = (
        (text, _argument_shape(old, k), _argument_shape(new, k)) for k, text in enumerate(data)
    )
    return {
        text: (before, now) for text, before, now in shapes if now is not None and before != now
    }


def _follow(caller: FunctionDef, passed: Mapping[str, tuple[Any, Any]]) -> None:
    """Let arguments that a function hands on as they are have static shapes from there."""
    for place, argument in enumerate(caller.signature.input_arg):
        before, now = passed.get(argument.name, (None, None))
        if now is not None and _argument_shape(caller, place) == before:
            _set_argument_shape(caller, place, now)


def _exchanges(
    index: GraphIndex, node: NodeDef, names: Mapping[str, str], library: Mapping[str, FunctionDef]
) -> Iterator[tuple[NodeDef, FunctionDef, FunctionDef]]:
    """The op with each function that it calls and the one that it calls in its place."""
    for called in called_functions(node, index.functions):
        if called.function in names:
            yield node, index.extras.function(called.function), library[names[called.function]]


def _following_placeholders(
    index: GraphIndex, calls: Iterable[tuple[NodeDef, FunctionDef, FunctionDef]]
) -> tuple[NodeChange, ...]:
    """Placeholders that a call gives to the function as they are, with the static shape that its
    argument has now; each call has the function before the edit and after it.
    """
    changes: dict[str, NodeChange] = {}
    for node, old, new in calls:
        for text, (before, now) in _passed_shapes(node, old, new).items():
            op = index.ids[split_input(text)[0]]
            placeholder = index.nodes[op]
            if index.types[op] not in REQUIRED_PLACEHOLDERS or "shape" not in placeholder.attr:
                continue
            if placeholder.attr["shape"].shape == before:
                copy = copy_of(placeholder)
                copy.attr["shape"].shape.CopyFrom(now)
                if copy.attr[_SHAPES].list.shape:
                    copy.attr[_SHAPES].list.shape[0].CopyFrom(now)
                else:
                    del copy.attr[_SHAPES]
                changes[placeholder.name] = NodeChange(placeholder, copy)
    return tuple(changes.values())


def unedited_name(function: str) -> str:
    """The name of the function that edits have made this one of."""
    return _EDITED.sub("", function)


def _name_function(definition: FunctionDef, old: str) -> FunctionDef:
    """The function under a name of what it was made of, and what it does."""
    base = definition.signature.name = unedited_name(old)
    definition.attr.pop(CONSTRUCTION_CONTEXT, None)
    digest = hashlib.blake2b(
        definition.SerializeToString(deterministic=True), digest_size=4
    ).hexdigest()
    definition.signature.name = f"{base}_edited_{digest.translate(_LETTERS)}"
    return definition


def _acts(definition: FunctionDef) -> bool:
    return bool(definition.signature.is_stateful)


class _DefinitionSyntax:
    """How a FunctionDef writes what its ops read.

    `arguments` maps ops of the body to the arguments that they represent, `names` are those of all
    arguments.
    """

    def __init__(self, definition: FunctionDef, edition: Edition) -> None:
        body, self._index = edition.body, edition.index
        self._types = OpTypes(self._index.extras.function)
        old_names = [argument.name for argument in edition.opened.signature.input_arg]
        self.names: list[str] = [argument.name for argument in definition.signature.input_arg]
        now = dict(zip(old_names, self.names, strict=True))
        ids, kinds = self._index.ids, self._index.types
        self.arguments: dict[str, str] = {
            shown_name: now[argument]
            for argument, shown_name in reversed(list(body.alias.items()))
            if shown_name not in ids
            or kinds[ids[shown_name]] not in CONSTANTS  # a variable that an edit has frozen
        }
        for was, tensor in zip(body.arguments, edition.boundary[0], strict=True):
            op, argument = split_tensor(tensor)[0], split_tensor(was)[0]
            if (
                op in self._index.ids
                and self._index.types[self._index.ids[op]] not in REQUIRED_PLACEHOLDERS
            ):
                raise GraphEditError(
                    f"{op!r} stands where {definition.signature.name!r} has its argument "
                    f"{argument!r}, and is none; let it read a Placeholder.",
                    [op],
                )
            number = old_names.index(argument)
            if _ARGUMENT.fullmatch(op) and op not in self.names:
                self.names[number] = op
            self.arguments[op] = self.names[number]

    def inputs(self, k: int) -> list[str]:
        """The inputs and control inputs of op k; arguments are always there."""
        slots = map(split_input, self._index.nodes[k].input)
        sources = ((op, port) for op, port in slots if port >= 0 or op not in self.arguments)
        return [self.tensor(op, port) if port >= 0 else f"^{op}" for op, port in sources]

    def dtype(self, op: str, port: int | None) -> str:
        """The dtype of a tensor, also of an op of a function that the same edit brings."""
        return self._types.dtypes(self._index.nodes[self._index.ids[op]])[port or 0]

    def tensor(self, op: str, port: int | None) -> str:
        """A tensor as "argument", or as "op:output_argument:number"."""
        if op in self.arguments:
            return self.arguments[op]
        offset = port or 0
        for output in self._types.outputs(self._index.nodes[self._index.ids[op]]) or ():
            if offset < len(output.dtypes):
                return f"{op}:{output.name}:{offset}"
            offset -= len(output.dtypes)
        raise GraphEditError(
            f"TensorFlow does not know what {op!r} gives, so the function that it is in cannot be "
            "written "
            "again; " + in_cell("load the library of its op type: tf.load_op_library(path)."),
            [op],
        )


def _check_dtype(
    index: GraphIndex, definition: FunctionDef, key: str, tensor: str, dtype: str
) -> None:
    expected = next((arg.type for arg in definition.signature.output_arg if arg.name == key), 0)
    if expected and dtype and index.typing.number(dtype) != expected:
        raise GraphEditError(
            f"{tensor!r} is {dtype}, and what calls {definition.signature.name!r} takes {key!r} as "
            "another dtype; put a Cast before it.",
            [split_tensor(tensor)[0]],
        )

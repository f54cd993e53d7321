"""Planning: a command to a patch, with all that TensorFlow knows of the graph.

`SourceContext` is the `PlanContext` of a source that is open: a live graph, a file, or a function's
body. `plan` adds to a command's patch the static shapes that follow from it, and to a refusal the
fixes that would work.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress
from typing import Protocol

import numpy as np

from tfgraphwidget.edits import (
    Array,
    Command,
    FunctionBoundary,
    NodeChange,
    Options,
    Patch,
    PlanContext,
    TracedFunction,
    apply_patch,
    check_acyclic,
    check_loops,
    custom_gradient_notes,
    stale_gradient_notes,
    track_boundary,
    waiting_notes,
)
from tfgraphwidget.errors import GraphEditError, NameTaken, NotRunnable, UnknownName
from tfgraphwidget.graph import (
    BodyState,
    GraphIndex,
    Shape,
    Signature,
    VariableDef,
    build,
    called_functions,
    needed_ops,
    variables_among,
    write_shape,
)
from tfgraphwidget.messages import copy_of, copy_without_inputs
from tfgraphwidget.runtime.functions import edited_function
from tfgraphwidget.runtime.live import traced_ops
from tfgraphwidget.runtime.op_calls import trace_op_type
from tfgraphwidget.runtime.sandbox.shape_inference import infer_patch_shapes
from tfgraphwidget.runtime.session import edit_values
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.sources import Body, Source, open_function, tf_protos
from tfgraphwidget.tf_internals import is_eager_by_default
from tfgraphwidget.tf_types import FunctionDef, NodeDef, TensorProto

# Keys of signatures for the parts of sparse and of other composite inputs, "x/values" and "x/0".
_PART_OF_INPUT = re.compile(r"/(values|indices|dense_shape|\d+)$")
MAX_DEPTH = 32  # calls in calls that an edit of the whole graph goes into: models have under ten


class CurrentGraph(Protocol):
    """The graph that an edit is planned on, as an editor knows it. Methods take time."""

    @property
    def source(self) -> Source:
        """What is open."""

    @property
    def body(self) -> Body:
        """The graph, or the function's body, as it was read."""

    @property
    def index(self) -> GraphIndex:
        """The graph as it is now."""

    @property
    def function(self) -> str:
        """The name of the function whose body it is; "" for a graph or a function not called."""

    @property
    def boundary(self) -> FunctionBoundary | None:
        """The arguments and results of a function; None for a graph."""

    @property
    def opened_boundary(self) -> FunctionBoundary | None:
        """The arguments and results of a function that was opened itself; else None."""

    @property
    def signatures(self) -> tuple[Signature, ...]:
        """The signatures of the graph that was opened."""

    @property
    def missing_tensors(self) -> Mapping[str, tuple[str, ...]]:
        """The tensors that the graph lacks, by the signatures of the file that name them."""

    def external_tensors(self) -> tuple[str, ...]:
        """The tensors that signatures or callers name."""

    def new_names(self) -> Mapping[str, str]:
        """The names of the ops that edits have renamed, by those before."""

    def refusal(self) -> str:
        """Why a function's body cannot be imported, as a sentence; "" for a graph."""

    def state(self) -> BodyState | None:
        """What ops of a function's body represent, after edits."""

    def value_readers(self) -> Mapping[str, Callable[[], object]]:
        """Readers of the values of a file's variables, by their handle ops."""

    def import_graph(self) -> None:
        """Import the graph of a file into TensorFlow."""


class SourceContext:
    """A graph of a source, or a function's body in it, as a `PlanContext`."""

    depth = 0  # of the calls through which the graph was entered

    def __init__(self, graph: CurrentGraph) -> None:
        self._graph, self._source, self._body = graph, graph.source, graph.body
        self._index: GraphIndex | None = None
        self.function = graph.function

    @property
    def index(self) -> GraphIndex:
        """The graph, the same for all of a plan unless that imports it."""
        if self._index is None:
            self._index = self._graph.index
        return self._index

    @property
    def target(self) -> GraphIndex:
        """The graph that is edited."""
        return self.index

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        """The tensors that callers of the function pass in."""
        boundary = self._graph.boundary
        return () if boundary is None else boundary[0]

    @cached_property
    def boundary(self) -> FunctionBoundary | None:
        """The arguments and results of a function that no op calls."""
        return self._graph.opened_boundary

    @cached_property
    def external_tensors(self) -> tuple[str, ...]:
        """The tensors that signatures or callers name."""
        return self._graph.external_tensors()

    @cached_property
    def new_names(self) -> Mapping[str, str]:
        """The names of the ops that edits have renamed, by those before."""
        return self._graph.new_names()

    @cached_property
    def signatures(self) -> tuple[Signature, ...]:
        """The signatures of the graph that was opened."""
        return self._graph.signatures

    @cached_property
    def composite_parts(self) -> tuple[str, ...]:
        """The tensors that are parts of sparse or ragged arguments, or inputs of signatures."""
        parts = [
            tensor
            for signature in self.signatures
            for key, tensor in signature.inputs
            if _PART_OF_INPUT.search(key)
        ]
        structure = self._source.structure
        if self.boundary is not None and structure is not None:
            arguments, _ = self.boundary
            parts += compress(arguments, structure.is_part_of_composite)
        return (*parts, *self._composite_parts_in_file())

    def _composite_parts_in_file(self) -> Iterator[str]:
        """Those that the functions of a SavedModel take."""
        stored = self._source.stored
        saved = {} if stored is None else stored.composite_arguments()
        if not saved:
            return

        def places(function: str) -> frozenset[int]:
            # An edited function is named after the one that it was.
            return next(
                (parts for name, parts in saved.items() if f"{function}_".startswith(f"{name}_")),
                frozenset(),
            )

        if self.function:
            parts = places(self.function)
            yield from (tensor for k, tensor in enumerate(self.arguments) if k in parts)
            return
        for node in self.index.nodes:
            for called in called_functions(node, self.index.functions):
                parts = places(called.function)
                yield from (text for k, text in enumerate(node.input) if k in parts)

    @cached_property
    def missing_tensors(self) -> Mapping[str, tuple[str, ...]]:
        """The tensors that the graph lacks, by the signatures of the file that name them."""
        return self._graph.missing_tensors

    @cached_property
    def _refusal(self) -> str:
        """Why a function's body cannot be imported, as a sentence; "" for a graph."""
        return self._graph.refusal()

    @property
    def has_values(self) -> bool:
        """Whether its variables have values, or may have: a session may have given them some."""
        return self._source.has_values or self._source.session is not None

    @property
    def hands_over_state(self) -> bool:
        """Whether a session of the editor is given what it holds for ops under other keys, or none
        holds anything.
        """
        return not self.function and (
            self._source.graph is None or self._source.session is not None
        )

    def hidden_node(self, name: str) -> NodeDef | None:
        """The NodeDef of an op that TensorFlow still holds; see `PlanContext.hidden_node`."""
        graph = None if self.function or self.boundary is not None else self._source.graph
        if graph is None:
            return None
        try:
            node: NodeDef = graph.get_operation_by_name(name).node_def
        except KeyError:
            return None
        return node

    def require_graph(self) -> None:
        """Import the graph of a file. Raises NotRunnable for a function's body."""
        if self._refusal:
            raise NotRunnable(self._refusal)
        self._graph.import_graph()
        self._index = None

    def trace(
        self, function: object, specs: Sequence[tuple[str, Shape]], options: Options = ()
    ) -> TracedFunction:
        """Call a Python function on placeholders; see `PlanContext.trace`. Raises GraphEditError
        where it raised, or made a variable in a body that ops call.
        """
        traced = trace_op_type(function, specs, dict(options))
        if traced is not None:
            return traced
        if self.boundary is not None or (self._refusal and is_eager_by_default()):
            return traced_ops.trace_in_function(function, specs, dict(options))
        traced = traced_ops.trace_function(function, specs, dict(options))
        if traced.has_state:
            if self._refusal:
                first = [*(v.handle for v in traced.index.variable_defs), *traced.index.names][0]
                raise GraphEditError(
                    f"The function makes the variable {first!r}, and a function's body can have "
                    "none of its own; let it compute with constants, or edit the graph that calls "
                    "the function."
                )
            self.require_graph()  # variables need a graph that can hold their values
        return traced

    def trace_gradient(
        self,
        function: object,
        specs: Sequence[tuple[str, Shape]],
        by: Sequence[int] = (0,),
        options: Options = (),
    ) -> TracedFunction | None:
        """Take the gradient of a Python function; see `PlanContext.trace_gradient`."""
        if self.function or not tf_protos.is_tensorflow_installed():
            return None
        return traced_ops.trace_gradient(function, specs, by, dict(options))

    def enter(self, op: str, label: str, shapes: Sequence[Shape] = ()) -> CalleeContext:
        """The body of the function `label` that an op calls; see `PlanContext.enter`."""
        if self.depth == MAX_DEPTH:
            raise GraphEditError(
                f"Op {op!r} calls a function that lies in {MAX_DEPTH} others, one in the other, "
                "which is deeper than an edit reaches; "
                + in_cell("edit that function itself: editor.view.enter(op)."),
                [op],
            )
        inner = CalleeContext(self._source, self._body, self.index, op, label, shapes)
        inner.depth = self.depth + 1
        return inner

    def infer_shapes(self, index: GraphIndex, patch: Patch) -> Patch:
        """Return the patch with static shapes as TensorFlow infers them."""
        return infer_patch_shapes(index, patch)

    def constant(self, value: object, dtype: str, shape: Shape) -> TensorProto:
        """Return the TensorProto of a value. Raises GraphEditError if it does not fit."""
        return traced_ops.constant(value, dtype, shape)

    def constant_values(self, tensors: Sequence[str]) -> list[Array]:
        """Return the values of tensors that depend on no input, computed in a sandbox."""
        index = self.index
        variables = variables_among(index, needed_ops(index, (), tensors))
        values = self._present(variables) if variables else {}
        return edit_values.compute_constants(index, tensors, values, self._source.trust)

    def compute(
        self, nodes: Sequence[NodeDef], tensors: Sequence[str], seconds: float
    ) -> list[Array]:
        """Compute tensors of ops that read nothing from outside; see `PlanContext.compute`."""
        # TensorFlow runs functions by its own rules, whatever the versions of their graph are.
        versions = None if self.function else self.index.extras.versions()
        return edit_values.compute_nodes(nodes, tensors, self._source.trust, seconds, versions)

    def variable_values(self, variables: Sequence[VariableDef]) -> Mapping[str, TensorProto]:
        """Return the values from the session, the checkpoint, or the captured variables."""
        index, values = self.index, self._present(variables)
        dtypes = {v.handle: index.nodes[index.ids[v.handle]].attr["dtype"].type for v in variables}
        return {
            name: edit_values.tensor_proto(value, dtypes[name]) for name, value in values.items()
        }

    def _present(self, variables: Iterable[VariableDef]) -> Mapping[str, Array]:
        """The values of variables as arrays, by handle op."""
        variables = tuple(variables)
        readers = self._graph.value_readers()
        if variables and all(variable.handle in readers for variable in variables):
            return {
                variable.handle: np.asarray(readers[variable.handle]()) for variable in variables
            }
        state = self._graph.state() if self._refusal else None
        return edit_values.read_variables(self._source, self._body, variables, state)


@dataclass(frozen=True, eq=False)
class _Callee:
    """The body of a function that an op calls, as the graph of an edit of the caller."""

    source: Source
    body: Body
    index: GraphIndex
    function: str
    boundary: FunctionBoundary
    why: str
    opened_boundary: None = None
    signatures: tuple[Signature, ...] = ()
    missing_tensors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def external_tensors(self) -> tuple[str, ...]:
        """The arguments and results."""
        return (*self.boundary[0], *self.boundary[1].values())

    def new_names(self) -> Mapping[str, str]:
        """No names: it is read as it is now."""
        return {}

    def refusal(self) -> str:
        """Why it cannot be imported."""
        return self.why

    def state(self) -> None:
        """No state: the caller passes it in."""

    def value_readers(self) -> Mapping[str, Callable[[], object]]:
        """No readers."""
        return {}

    def import_graph(self) -> None:
        """Import nothing."""


class CalleeContext(SourceContext):
    """The body of a function as one op calls it, as a `FunctionContext`.

    Args:
        source: What is open.
        body: The graph, or the function's body, that has the op.
        caller: The index of that.
        op: The calling op.
        label: Which of its functions.
        shapes: The static shapes of its arguments, for those of which the function does not say
            one.
    """

    def __init__(
        self,
        source: Source,
        body: Body,
        caller: GraphIndex,
        op: str,
        label: str,
        shapes: Sequence[Shape] = (),
    ) -> None:
        node = caller.nodes[caller.ids[op]]
        callees = called_functions(node, caller.functions)
        name = next((called.function for called in callees if called.label == label), "")
        if not name:
            raise UnknownName(
                f"Op {op!r} calls no function of the graph as its {label!r}; set that attribute to "
                "one."
            )
        self._definition = caller.extras.function(name)
        node_body = open_function(name, body, caller, caller.ids[op])
        placeholders = {node.name: node for node in node_body.nodes()}
        self._fixed = {
            name: placeholders[name] for name in node_body.constants if name in placeholders
        }
        argument_shapes = dict(
            zip(
                (argument.name for argument in self._definition.signature.input_arg),
                shapes,
                strict=False,
            )
        )
        constants = {
            name: copy_without_inputs(node, name) for name, node in node_body.constants.items()
        }
        const_body = replace(
            node_body,
            protos=[
                _with_shape(constants.get(node.name, node), argument_shapes.get(node.name))
                for node in node_body.nodes()
            ],
        )
        index = build(
            const_body.nodes(),
            *const_body.collections(),
            typing=const_body.typing,
            functions=caller.functions,
            extras=const_body,
        )
        holders = {origin: name for name, origin in (body.origins or {}).items()}
        self.caller_handles = {
            name: holders.get(origin, origin) for name, origin in (node_body.origins or {}).items()
        }
        boundary = tuple(node_body.arguments), dict(node_body.returns)
        why = f"{name!r} is a function that {op!r} calls."
        super().__init__(_Callee(source, node_body, index, name, boundary, why))

    def rewrite(self, patch: Patch, name: str) -> tuple[FunctionDef, tuple[int, ...]]:
        """The function after the edit of a patch, under a name; see `FunctionContext.rewrite`."""
        body, after = self._body, apply_patch(self.index, patch)
        restored = tuple(
            NodeChange(after.nodes[after.ids[op]], node)
            for op, node in self._fixed.items()
            if op in after.ids
        )
        after = apply_patch(after, Patch(changed=restored))
        boundary = track_boundary(body.arguments, body.returns, (patch,))
        edition = edited_function.Edition(self._definition, body, after, boundary)
        definition = edited_function.rewrite_definition(
            self._definition, edition, dict(patch.renamed)
        )
        definition.signature.name = name
        before, now = _read_arguments(self._definition), _read_arguments(definition)
        fixed_arguments = {
            k
            for k, argument in enumerate(definition.signature.input_arg)
            if argument.name in self._fixed
        }
        return definition, tuple(sorted((before - now) & fixed_arguments))


def _with_shape(node: NodeDef, shape: Shape) -> NodeDef:
    """The op of an argument, with the shape that the call gives it if it has none of its own."""
    if shape is None or "shape" not in node.attr or not node.attr["shape"].shape.unknown_rank:
        return node
    shaped = copy_of(node)
    write_shape(shaped.attr["shape"].shape, shape)
    return shaped


def _read_arguments(definition: FunctionDef) -> set[int]:
    """The numbers of the arguments that a function's body reads."""
    texts = [
        *(text for node in definition.node_def for text in node.input),
        *definition.ret.values(),
    ]
    read = {text.removeprefix("^").partition(":")[0] for text in texts}
    return {k for k, argument in enumerate(definition.signature.input_arg) if argument.name in read}


def plan(command: Command, context: PlanContext) -> Patch:
    """Plan a command, and infer the static shapes that follow, in a patch of the graph that is
    edited.

    Raises GraphEditError where the edit cannot be right. Of the fixes that the refusal or the
    command suggests, `fixes` holds those that work, and the sentence ends with the first of them.
    """
    try:
        return _plan_with_shapes(command, context)
    except GraphEditError as error:
        if error.code == GraphEditError.code:
            error.code = f"{command.command_name().replace('_', '-')}-{error.code}"
        renamed = command.under_a_free_name(error) if isinstance(error, NameTaken) else ()
        suggested = error.fixes or renamed or command.suggested_fixes(context)
        error.fixes = tuple(fix for fix in suggested if _works(fix, context))
        if error.fixes:
            kind, call = getattr(error.fixes[0], "adapter", ""), error.fixes[0].code()
            error.fix = f"or insert a {kind}: {call}" if kind else f"such as {call}"
        raise


def _plan_with_shapes(command: Command, context: PlanContext) -> Patch:
    patch = command.plan(context)  # may import the graph
    check_acyclic(context.index, patch)
    check_loops(context.index, patch)
    if not patch.shapes:  # a command that asks whether shapes fit has inferred them
        patch = context.infer_shapes(context.index, patch)
    stale = (
        ()
        if command.keeps_values
        else (
            *stale_gradient_notes(context.index, patch, context.new_names),
            *custom_gradient_notes(context.index, patch),
        )
    )
    notes = (*stale, *patch.report.notes, *waiting_notes(context.index, patch))
    return replace(patch, function=context.function, report=replace(patch.report, notes=notes))


def _works(command: Command, context: PlanContext) -> bool:
    """Whether a command can be applied, and has something to do."""
    try:
        return not _plan_with_shapes(command, context).report.is_nothing
    except GraphEditError:
        return False

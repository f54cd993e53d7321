"""Planning: a command to a patch, with all that TensorFlow knows of the graph.

`SourceContext` is the `PlanContext` of a source that is open: a live graph, a file, or a function's body. `plan` adds
to a command's patch the static shapes that follow from it, and to a refusal the fixes that would work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol

from tfgraphwidget.edits import Array, Command, Options, Patch, PlanContext, TracedFunction
from tfgraphwidget.errors import GraphEditError, NotRunnable
from tfgraphwidget.graph import GraphIndex, Shape, VariableDef
from tfgraphwidget.runtime.live import traced_ops
from tfgraphwidget.runtime.sandbox.shape_inference import infer_patch_shapes
from tfgraphwidget.runtime.session import edit_values
from tfgraphwidget.sources import Body, Source
from tfgraphwidget.tf_types import TensorProto


class _EditedGraph(Protocol):
    """A graph that is edited: live, or a draft."""

    @property
    def index(self) -> GraphIndex:
        """The graph as it is now."""


class SourceContext:
    """A graph of a source, or a function's body in it, as a `PlanContext`.

    Args:
        source: What is open.
        body: The graph or the function's body that is edited.
        edited: The graph to read the index of.
        import_graph: Imports the source's graph into TensorFlow if it is a file's.
        function: The name of the function whose body is edited; "" for a graph.
        arguments: Finds the tensors that its callers pass in, which takes time after many edits.
        external_tensors: Finds the tensors that signatures or callers name.
        refusal: Why a function's body cannot be imported.
    """

    def __init__(
        self,
        source: Source,
        body: Body,
        edited: _EditedGraph,
        import_graph: Callable[[], object],
        *,
        function: str = "",
        arguments: Callable[[], tuple[str, ...]] = tuple,
        external_tensors: Callable[[], tuple[str, ...]] = tuple,
        refusal: str = "",
    ) -> None:
        self._source, self._body, self._edited, self._import_graph = source, body, edited, import_graph
        self._index: GraphIndex | None = None
        self._find_arguments, self._find_external_tensors = arguments, external_tensors
        self._refusal = refusal
        self.function = function

    @property
    def index(self) -> GraphIndex:
        """The graph, the same for all of a plan unless that imports it."""
        if self._index is None:
            self._index = self._edited.index
        return self._index

    @property
    def target(self) -> GraphIndex:
        """The graph that is edited."""
        return self.index

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        """The tensors that callers of the function pass in."""
        return self._find_arguments()

    @cached_property
    def external_tensors(self) -> tuple[str, ...]:
        """The tensors that signatures or callers name."""
        return self._find_external_tensors()

    @property
    def has_values(self) -> bool:
        """Whether its variables have values."""
        return self._source.has_values

    def require_graph(self) -> None:
        """Import the graph of a file. Raises NotRunnable for a function's body."""
        if self._refusal:
            raise NotRunnable(self._refusal)
        self._import_graph()
        self._index = None

    def trace(self, function: Any, specs: Sequence[tuple[str, Shape]], options: Options = ()) -> TracedFunction:
        """Call a Python function on placeholders; see `PlanContext.trace`.

        Args:
            function: The function, or an op type.
            specs: The dtype and static shape of each argument.
            options: Keyword arguments of the function.

        Raises:
            GraphEditError: The function raised, or made a variable in a function body.
        """
        traced = traced_ops.trace_function(function, specs, dict(options))
        if traced.has_state:
            if self._refusal:
                first = [*(v.handle for v in traced.index.variable_defs), *traced.index.names][0]
                raise GraphEditError(
                    f"The function makes the variable {first!r}, and a function's body can have none of its own; let "
                    "it compute with constants, or edit the graph that calls the function."
                )
            self.require_graph()  # variables need a graph that can hold their values
        return traced

    def infer_shapes(self, index: GraphIndex, patch: Patch) -> Patch:
        """Return the patch with static shapes as TensorFlow infers them."""
        return infer_patch_shapes(index, patch)

    def constant(self, value: Any, dtype: str, shape: Shape) -> TensorProto:
        """Return the TensorProto of a value.

        Args:
            value: The value, as `np.asarray` takes it.
            dtype: The dtype of the tensor.
            shape: The static shape of the tensor.

        Raises:
            GraphEditError: The tensor cannot have the value.
        """
        return traced_ops.constant(value, dtype, shape)

    def constant_values(self, tensors: Sequence[str]) -> list[Array]:
        """Return the values of tensors that depend on constants only, computed in a sandbox."""
        return edit_values.compute_constants(self.index, tensors)

    def variable_values(self, variables: Sequence[VariableDef]) -> Mapping[str, Any]:
        """Return the values from the session, the checkpoint, or the captured variables."""
        index = self.index
        values = edit_values.read_variables(self._source, self._body, variables)
        dtypes = {v.handle: index.nodes[index.ids[v.handle]].attr["dtype"].type for v in variables}
        return {name: edit_values.tensor_proto(value, dtypes[name]) for name, value in values.items()}


def plan(command: Command, context: PlanContext) -> Patch:
    """Plan a command, and infer the static shapes that follow.

    Args:
        command: The edit.
        context: The graph, and what TensorFlow knows of it.

    Returns:
        The patch of the graph that is edited.

    Raises:
        GraphEditError: The edit cannot be right. Of the fixes that the refusal or the command suggests, `mends` holds
            those that work, and the sentence ends with the first of them.
    """
    try:
        return _plan_with_shapes(command, context)
    except GraphEditError as error:
        suggested = error.mends or command.suggested_fixes(context)
        error.mends = tuple(fix for fix in suggested if _works(fix, context))
        if error.mends:
            kind, call = getattr(error.mends[0], "mend", ""), error.mends[0].code()
            fix = f"or insert a {kind}: {call}." if kind else f"such as {call}."
            error.in_words = error.why
            error.why = f"{error.why.rstrip('.')}, {fix}"
            error.args = (error.why,)
        raise


def _plan_with_shapes(command: Command, context: PlanContext) -> Patch:
    patch = command.plan(context)  # may import the graph
    return replace(context.infer_shapes(context.index, patch), function=context.function)


def _works(command: Command, context: PlanContext) -> bool:
    try:
        _plan_with_shapes(command, context)
    except GraphEditError:
        return False
    return True

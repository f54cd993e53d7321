"""The interface that a command uses while it is planned.

A command is planned from arrays alone (`index`, `target`). What needs TensorFlow, a session or a
person's Python function is asked of the context. `IndexContext` has two graphs and nothing else;
`runtime.planning` implements the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from tfgraphwidget.edits.patch import FunctionBoundary, Patch
from tfgraphwidget.errors import GraphEditError, TensorFlowMissing
from tfgraphwidget.graph import GraphIndex, Shape, Signature, VariableDef
from tfgraphwidget.sentences import either
from tfgraphwidget.tf_types import FuncGraph, FunctionDef, NodeDef, TensorProto

Array = np.ndarray
Function = Callable[..., object] | str
"""A Python function, or an op type."""
Specs = Sequence[tuple[str, Shape]]
"""Dtypes and static shapes."""
Options = Iterable[tuple[str, object]]


@dataclass(frozen=True, eq=False)
class TracedFunction:
    """The ops that a Python function made when it was called on placeholders, in a separate graph.

    Attributes:
        index: The graph of the trace.
        inputs: The placeholders, as op names, in the order of the arguments.
        outputs: The tensors that the function returned.
        alive: An object that keeps alive the Python functions that ops of the trace call.
        captured: The live `tf.Variable`s and tensors that ops of the trace represent, by op; only
            in a function's body.
        graph: The FuncGraph of the trace; None but in a function's body.
        alias: The names that ops of `graph` are shown by, where they have others.
        input_sources: The tensors that take the place of the placeholders, by these, once that is
            known.
        op_name: The name that its only op gets in the graph; "" where its ops keep their names, in
            a name scope.
    """

    index: GraphIndex
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    alive: Any = field(default=None, repr=False)
    captured: Mapping[str, Any] = field(default_factory=dict, repr=False)
    graph: FuncGraph | None = field(default=None, repr=False)
    alias: Mapping[str, str] = field(default_factory=dict, repr=False)
    input_sources: Mapping[str, str] = field(default_factory=dict, repr=False)
    op_name: str = field(default="", repr=False)

    @property
    def has_state(self) -> bool:
        """Whether it made variables, tables or other ops that hold state."""
        return bool(self.index.variable_defs or self.index.collections.get("table_initializer"))

    def name_in(self, scope: str, op: str) -> str:
        """The name that one of its ops has in the graph into whose name scope they were moved."""
        return self.op_name or f"{scope}/{op}"

    def op_in(self, scope: str, name: str) -> str | None:
        """The name in the trace of an op of the graph into whose name scope the ops were moved;
        None if that is not of the trace.
        """
        if name == self.op_name:
            return next(op for op in self.index.names if op not in self.inputs)
        return name.removeprefix(f"{scope}/") if name.startswith(f"{scope}/") else None

    def dtype(self, output: int) -> str:
        """The dtype of one of the outputs."""
        return self.index.tensor_dtype(self.outputs[output])


class PlanContext(Protocol):
    """The graph that a command is planned for, and what TensorFlow knows of it.

    Only `trace` and `require_graph` may change `index`: they import the graph of a file where the
    edit needs one that TensorFlow holds. Read `index` after them.
    """

    @property
    def index(self) -> GraphIndex:
        """The graph whose ops the command names; for copies, the one that holds the originals."""

    @property
    def target(self) -> GraphIndex:
        """The graph that the patch is for: `index`, unless ops come from another graph."""

    @property
    def has_values(self) -> bool:
        """Whether the variables of `index` have values: in a session, or in a checkpoint."""

    @property
    def hands_over_state(self) -> bool:
        """Whether ops under other keys have what a session holds of tables, iterators and variables
        under the old ones.

        The editor's session is given it. False where another one may hold something: for a graph of
        TensorFlow that was opened without its session, and in functions.
        """

    @property
    def function(self) -> str:
        """The name of the function whose body is edited; "" for a graph."""

    @property
    def arguments(self) -> tuple[str, ...]:
        """The tensors that callers of the edited function pass in; () for a graph."""

    @property
    def boundary(self) -> FunctionBoundary | None:
        """The arguments and results of the edited function, if no op calls it; else None."""

    @property
    def external_tensors(self) -> tuple[str, ...]:
        """The tensors named outside of the graph: by signatures, or as arguments and results."""

    @property
    def signatures(self) -> tuple[Signature, ...]:
        """The signatures of the graph that was opened."""

    @property
    def composite_parts(self) -> tuple[str, ...]:
        """The tensors that are parts of sparse or ragged arguments, or inputs of signatures."""

    @property
    def missing_tensors(self) -> Mapping[str, tuple[str, ...]]:
        """The tensors that the graph lacks, by the signatures of the file that name them."""

    @property
    def new_names(self) -> Mapping[str, str]:
        """The names of renamed ops, by those before: gradient ops are named after these."""

    def hidden_node(self, name: str) -> NodeDef | None:
        """The NodeDef of an op that edits or undo have removed and TensorFlow still holds; None
        where it holds none of that name.
        """

    def require_graph(self) -> None:
        """Import the graph of a file into TensorFlow, for an edit that a file cannot hold. Raises
        NotRunnable for a function's body, and for a graph that cannot be imported.
        """

    def trace(self, function: Function, specs: Specs, options: Options = ()) -> TracedFunction:
        """Call a Python function on placeholders, in a graph of its own.

        Args:
            function: The function, or an op type.
            specs: The (dtype, static shape) of each placeholder.
            options: Keyword arguments as (name, value) pairs.

        Raises:
            GraphEditError: The function failed, or makes state where the graph can have none.
        """

    def trace_gradient(
        self, function: Function, specs: Specs, by: Sequence[int] = (0,), options: Options = ()
    ) -> TracedFunction | None:
        """Take the gradient of a Python function that returns one tensor, in a graph of its own.

        Args:
            function: The function, or an op type.
            specs: The (dtype, static shape) of each tensor, and last of the gradient that arrives.
            by: The numbers of the tensors that the gradient is taken by.
            options: Keyword arguments as (name, value) pairs.

        Returns:
            The gradients of these tensors, from all tensors and what arrives; None where there are
            none.
        """

    def enter(self, op: str, label: str, shapes: Sequence[Shape] = ()) -> FunctionContext:
        """Return the context of a function that an op calls, with the constants and variables that
        it is given.

        Args:
            label: Which of its functions; see `graph.called_functions`.
            shapes: The static shapes of its arguments, for those of which the function does not say
                one.

        Raises:
            GraphEditError: The body of the function is damaged.
        """

    def infer_shapes(self, index: GraphIndex, patch: Patch) -> Patch:
        """The patch with the static shapes that follow from it and differ from those of `index`.
        Raises GraphEditError where an op cannot take the shapes of its new inputs.
        """

    def constant(self, value: object, dtype: str, shape: Shape) -> TensorProto:
        """The TensorProto of a value that TensorFlow converts to a tensor. Raises GraphEditError
        for one that does not have the dtype, or fit the static shape.
        """

    def constant_values(self, tensors: Sequence[str]) -> list[Array]:
        """Compute tensors of `index` that depend on constants only."""

    def compute(
        self, nodes: Sequence[NodeDef], tensors: Sequence[str], seconds: float
    ) -> list[Array]:
        """Compute tensors of ops that read nothing from outside, in a graph of their own. Raises
        GraphEditError for one that TensorFlow cannot compute.
        """

    def variable_values(self, variables: Sequence[VariableDef]) -> Mapping[str, TensorProto]:
        """The present value of each variable of `index` as a TensorProto, by the name of its handle
        op. Raises SessionRefused for a variable without a value.
        """


class FunctionContext(PlanContext, Protocol):
    """The body of a function as one op calls it: an argument that is given a Const is one here."""

    @property
    def caller_handles(self) -> Mapping[str, str]:
        """The ops of the caller that hold the variables which ops here represent, by these."""

    def rewrite(self, patch: Patch, name: str) -> tuple[FunctionDef, tuple[int, ...]]:
        """Return the function after an edit of its body, and constant arguments no longer read."""


@dataclass(frozen=True)
class IndexContext:
    """A PlanContext of graphs as arrays, without TensorFlow.

    Attributes:
        index: The graph whose ops the command names.
        into: The graph that copies go into, if that is another one.
        has_values: See `PlanContext.has_values`.
        hands_over_state: See `PlanContext.hands_over_state`.
    """

    index: GraphIndex
    into: GraphIndex | None = None
    has_values: bool = False
    hands_over_state: bool = True
    function: str = ""
    arguments: tuple[str, ...] = ()
    boundary: FunctionBoundary | None = None
    external_tensors: tuple[str, ...] = ()
    signatures: tuple[Signature, ...] = ()
    composite_parts: tuple[str, ...] = ()
    missing_tensors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    new_names: Mapping[str, str] = field(default_factory=dict)

    @property
    def target(self) -> GraphIndex:
        """The graph that the patch is for."""
        return self.index if self.into is None else self.into

    def hidden_node(self, name: str) -> NodeDef | None:  # noqa: ARG002
        """None: arrays hold no more than the graph."""
        return None

    def require_graph(self) -> None:
        """Do nothing: arrays can be edited in every way."""

    def trace(self, function: Function, specs: Specs, options: Options = ()) -> TracedFunction:  # noqa: ARG002
        """Raise GraphEditError: TensorFlow is needed to call a function."""
        raise _needs_tensorflow("the function was not called")

    def trace_gradient(
        self,
        function: Function,  # noqa: ARG002
        specs: Specs,  # noqa: ARG002
        by: Sequence[int] = (0,),  # noqa: ARG002
        options: Options = (),  # noqa: ARG002
    ) -> TracedFunction | None:
        """Return None: TensorFlow takes gradients."""
        return None

    def enter(self, op: str, label: str, shapes: Sequence[Shape] = ()) -> FunctionContext:  # noqa: ARG002
        """Raise GraphEditError: a function's body is read by TensorFlow's messages."""
        raise _needs_tensorflow(f"the function that {op!r} calls was not read")

    def infer_shapes(self, index: GraphIndex, patch: Patch) -> Patch:  # noqa: ARG002
        """Return the patch itself: static shapes stay what they are."""
        return patch

    def constant(self, value: object, dtype: str, shape: Shape) -> TensorProto:  # noqa: ARG002
        """Raise GraphEditError: TensorFlow is needed to encode a value."""
        raise _needs_tensorflow("the value was not encoded")

    def constant_values(self, tensors: Sequence[str]) -> list[Array]:  # noqa: ARG002
        """Raise GraphEditError: TensorFlow computes tensors."""
        raise _needs_tensorflow("the constants were not computed")

    def compute(
        self,
        nodes: Sequence[NodeDef],  # noqa: ARG002
        tensors: Sequence[str],  # noqa: ARG002
        seconds: float,  # noqa: ARG002
    ) -> list[Array]:
        """Raise TensorFlowMissing: TensorFlow computes tensors."""
        raise TensorFlowMissing(
            "This edit is planned without TensorFlow; "
            + either("call editor.apply(command).", "refresh the graph.")
        )

    def variable_values(self, variables: Sequence[VariableDef]) -> Mapping[str, TensorProto]:  # noqa: ARG002
        """Raise GraphEditError: a session has the values."""
        raise _needs_tensorflow("the values of the variables were not read")


def _needs_tensorflow(what: str) -> GraphEditError:
    return GraphEditError(
        f"This edit cannot be planned without TensorFlow, so {what}; "
        + either("call editor.apply(command).", "refresh the graph.")
    )

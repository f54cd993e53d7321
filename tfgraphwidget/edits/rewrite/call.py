"""Grow: what a user's Python function adds to a graph, as an edit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from tfgraphwidget.edits import operand_kinds as kinds
from tfgraphwidget.edits.command import Command, Edits, Planner, subject_text
from tfgraphwidget.edits.context import PlanContext
from tfgraphwidget.edits.patch import Patch, Preview, Report
from tfgraphwidget.edits.registry import register
from tfgraphwidget.edits.rewrite.consumers import tensor, tensor_name
from tfgraphwidget.edits.rewrite.graft import graft_function
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.tf_types import OpsLike


@register(requested=False)  # a message of the browser cannot name a function
@dataclass(frozen=True)
class Call(Command):
    """Call a Python function on tensors of the graph, and initialize the variables and tables that
    it makes.

    In a function that was opened itself (a `tf.function`, a Keras model), what the function makes
    becomes a further result: `editor.to_module()` returns it too, and its variables are trainable
    beside the old ones.

    Args:
        at: The tensors, in the order of the function's parameters.
        function: A function of `tf.Tensor`s; in a function's body also a `keras.layers.Layer` or
            model.
        into: The name scope of the ops that it makes; None for one named after the function, in the
            scope of the op of the first tensor. They are in the live graph's own collections.

    Returns:
        A `GrowthResult`: what the function returned, the new variables, the names of the new ops.

    Raises:
        GraphEditError: The function or an initializer fails; the graph shows nothing of it.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> import tensorflow as tf
        >>> head = editor.call(
        ...     "net/hidden/Relu:0", lambda hidden: tf.reduce_mean(hidden, axis=1), into="head"
        ... )
        >>> head, head.outputs.shape
        (<GrowthResult 'head': 2 ops, 0 variables>, TensorShape([None]))
    """

    at: tuple[str, ...]
    function: Annotated[Callable[..., object], kinds.Operand(is_function=True)]
    into: str

    @classmethod
    def from_call(
        cls,
        resolver: kinds.Resolver,
        /,
        at: OpsLike,
        function: Callable[..., object],
        into: str | None = None,
    ) -> Command:
        """The command of a call, whose scope is named after the function without another name."""
        tensors = tuple(name if ":" in name else f"{name}:0" for name in resolver.names(at))
        return cls(
            tensors, function, resolver.name_for_growth(function, tensors) if into is None else into
        )

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        return f"Added {subject_text(self.function)} after {subject_text(self.at)} as {self.into}"

    def plan(self, context: PlanContext) -> Patch:
        """The patch of a function's body. A function that was opened itself returns the new outputs
        too, as `into`.

        Raises GraphEditError, of a graph always: there it is known what the function makes once it
        was called.
        """
        index = context.index
        if not context.function and context.boundary is None:
            raise GraphEditError(
                f"What {subject_text(self.function)} adds to a graph is known once it was called; "
                f"call {self.code()}, and undo it."
            )
        at = [tensor(index, name) for name in self.at]
        traced = context.trace(
            self.function, [(index.dtypes(op)[port], index.shape(op, port)) for op, port in at]
        )
        graft = graft_function(traced, index, [tensor_name(index, end) for end in at], self.into)
        boundary = context.boundary
        if boundary is not None:
            keys = [f"{self.into}_{k}" if k else self.into for k in range(len(graft.outputs))]
            boundary = boundary[0], {**boundary[1], **dict(zip(keys, graft.outputs, strict=True))}
        return Patch(
            add=graft.change,
            scopes=(self.into,),
            report=Report(graft.notes),
            traced=graft.traced,
            boundary=boundary,
        )

    def plan_edit(self, planner: Planner) -> Any:
        """The planned call of the function."""
        return planner.growth(self)

    def preview_edit(self, planner: Planner) -> Edits | Preview:
        """What the function would add to a body; of a graph known only once it was called."""
        planned = planner.change(self)
        planned.check()
        report: Edits | Preview = planned.report
        return report

    def outputs(self, patch: Patch) -> str | tuple[str, ...]:
        """The name of the tensor that the function gave in a function's body, or of several."""
        traced, names = patch.traced, []
        for op, port in map(split_tensor, traced.outputs):
            is_input = op in traced.inputs
            names.append(
                self.at[traced.inputs.index(op)] if is_input else f"{self.into}/{op}:{port or 0}"
            )
        return names[0] if len(names) == 1 else tuple(names)

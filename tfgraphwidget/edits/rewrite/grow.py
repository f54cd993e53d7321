"""Grow: what a user's Python function adds to a graph, as an edit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tfgraphwidget.edits.command import Command, Edits, Planner, subject_text
from tfgraphwidget.edits.context import PlanContext
from tfgraphwidget.edits.patch import Patch, Preview, Report
from tfgraphwidget.edits.registry import register
from tfgraphwidget.edits.rewrite.consumers import tensor, tensor_name
from tfgraphwidget.edits.rewrite.graft import graft_function
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.naming import split_tensor


@register(requested=False)  # a message of the browser cannot name a function
@dataclass(frozen=True)
class Grow(Command):
    """Call `function` on tensors of the graph; what it makes lies under the scope `into`."""

    at: tuple[str, ...]
    function: Callable[..., object] = field(metadata={"callable": True})
    into: str

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        return f"Added {subject_text(self.function)} after {subject_text(self.at)} as {self.into}"

    def plan(self, context: PlanContext) -> Patch:
        """The patch of a function's body. A function that was opened itself returns the new outputs too, as `into`.

        Raises GraphEditError, of a graph always: there it is known what the function makes once it was called.

        Args:
            context: The graph that the edit is planned on.
        """
        index = context.index
        if not context.function and context.ends is None:
            raise GraphEditError(
                f"What {subject_text(self.function)} adds to a graph is known once it was called; call {self.code()}, "
                "and undo it."
            )
        at = [tensor(index, name) for name in self.at]
        traced = context.trace(self.function, [(index.dtypes(op)[port], index.shape(op, port)) for op, port in at])
        graft = graft_function(traced, index, [tensor_name(index, end) for end in at], self.into)
        ends = context.ends
        if ends is not None:
            keys = [f"{self.into}_{k}" if k else self.into for k in range(len(graft.outputs))]
            ends = ends[0], {**ends[1], **dict(zip(keys, graft.outputs, strict=True))}
        return Patch(add=graft.change, scopes=(self.into,), report=Report(graft.notes), traced=graft.traced, ends=ends)

    def plan_edit(self, planner: Planner) -> Any:
        """The planned call of the function.

        Args:
            planner: Plans the kinds of edits.
        """
        return planner.growth(self)

    def preview_edit(self, planner: Planner) -> Edits | Preview:
        """What the function would add to a function's body; of a graph that is known only once it was called.

        Args:
            planner: Plans the kinds of edits.
        """
        report: Edits | Preview = planner.change(self).report
        return report

    def outputs(self, patch: Patch) -> str | tuple[str, ...]:
        """The name of the tensor that the function gave in a function's body, or of several.

        Args:
            patch: The changes of an edit.
        """
        traced, names = patch.traced, []
        for op, port in map(split_tensor, traced.outputs):
            is_input = op in traced.inputs
            names.append(self.at[traced.inputs.index(op)] if is_input else f"{self.into}/{op}:{port or 0}")
        return names[0] if len(names) == 1 else tuple(names)

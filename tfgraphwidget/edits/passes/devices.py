"""RemoveDevices: all ops run where TensorFlow places them."""

from __future__ import annotations

from collections import Counter
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from tfgraphwidget.edits.context import PlanContext
from tfgraphwidget.edits.passes.whole_graph import GraphRewrite, Pass
from tfgraphwidget.edits.patch import Patch
from tfgraphwidget.edits.registry import register


@register
@dataclass(frozen=True)
class RemoveDevices(Pass):
    """Remove the device of each op, so that TensorFlow places it.

    Args:
        functions: Whether the functions that the graph calls are changed too.

    Returns:
        What was changed, and how many ops each device had.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.set_device("net/hidden/Relu", "/cpu:0")
        >>> editor.passes.remove_devices().changed
        ('net/hidden/Relu',)
    """

    method: ClassVar[str] = "passes.remove_devices"

    keeps_values: ClassVar[bool] = True

    _: KW_ONLY
    functions: bool = True

    def sentence(self) -> str:
        """What the edit has done, in words."""
        return "Removed all devices"

    def nothing(self, context: PlanContext) -> str:  # noqa: ARG002
        """Why there is nothing to do in the graph of `context`."""
        return "No op of the graph has a device."

    def rewrite(self, context: PlanContext) -> Patch | None:
        """The patch of `context`, one graph or body."""
        rewrite, devices = GraphRewrite(context), Counter[str]()
        for op, node in enumerate(context.index.nodes):
            if node.device:
                rewrite.node(op).device = ""
                devices[node.device] += 1
        rewrite.notes += [f"{name}: {count:,}." for name, count in devices.most_common(5)]
        return rewrite.patch(prune=False)

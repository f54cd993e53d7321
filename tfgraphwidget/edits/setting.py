"""Setting: devices of ops, and values that tensors have for ever. For attributes see `attributes`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tfgraphwidget.edits.leading import Chosen, Leading, chosen, readers, tensor
from tfgraphwidget.edits.patch import Change, Patch
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.variables import is_placeholder
from tfgraphwidget.names import colocated_with, free_name, listed

# As TensorFlow writes devices: any of the parts may be left out, in this order.
_DEVICE = re.compile(
    r"(/job:[A-Za-z]\w*)?(/replica:\d+)?(/task:\d+)?(/(device:)?[A-Za-z]\w*:(\d+|\*))?", re.ASCII
)  # fmt: skip


@dataclass(frozen=True)
class Place:
    """Put the ops `what` on a device, "" for wherever TensorFlow likes; what must stand beside them moves along."""

    what: Chosen
    device: str = field(metadata={"always": True})

    def plan(self, index: GraphIndex, target: GraphIndex | None = None) -> Patch:  # noqa: ARG002
        """The patch; GraphEditError for what is no device."""
        if not _DEVICE.fullmatch(self.device):
            raise GraphEditError(
                f"{self.device!r} is not written as TensorFlow writes a device: '/device:GPU:0', '/job:worker/task:1', "
                'or "" for any.'
            )
        meant = set(chosen(index, self.what))
        along = _beside(index, meant) - meant
        leading = Leading(index)
        for op in meant | along:
            leading.node(op).device = self.device
        moved = [edited.name for edited in leading.edited() if index.ids[edited.name] in along]
        note = f"{listed(moved)} must stand beside them and {'moves' if len(moved) == 1 else 'move'} along."
        names = [index.names[op] for op in sorted(meant)]
        if not names:
            raise GraphEditError("The selection holds no ops, so there is nothing to place; select some.")
        changed = leading.changed(f"is on {self.device!r}" if self.device else "is on no device", names[0])
        return Patch(changed=changed, notes=(note,) if moved else ())


def _beside(index: GraphIndex, ops: Iterable[int]) -> set[int]:
    """Some ops, and all that must stand on one device with them (colocation)."""
    near: dict[int, list[int]] = {}
    for op, node in enumerate(index.nodes):
        for name in colocated_with(node):
            if name in index.ids:
                near.setdefault(op, []).append(index.ids[name])
                near.setdefault(index.ids[name], []).append(op)
    found = set(ops)
    stack = list(found)
    while stack:
        for op in near.get(stack.pop(), []):
            if op not in found:
                found.add(op)
                stack.append(op)
    return found


@dataclass(frozen=True)
class SetConstant:
    """Let the tensor of a constant or a placeholder have a value for ever; a placeholder's readers read a new constant.

    `proto` is the TensorProto of the value.
    """

    tensor: str
    value: Any = field(metadata={"always": True})
    proto: Any = field(default=None, compare=False, repr=False, metadata={"aside": True})

    def plan(self, index: GraphIndex, target: GraphIndex | None = None) -> Patch:  # noqa: ARG002
        """The patch; GraphEditError for an op that is neither a constant nor a placeholder."""
        if self.proto is None:
            raise GraphEditError("The value is no TensorProto yet; hand this command to editor.edit, which makes it.")
        op, port = tensor(index, self.tensor)
        name, kind, leading = index.names[op], index.types[op], Leading(index)
        if kind == "Const":
            leading.node(op).attr["value"].tensor.CopyFrom(self.proto)
            return Patch(changed=leading.changed("holds that value", name))
        if not is_placeholder(kind):
            raise GraphEditError(
                f"Op {name!r} is a {kind}, which computes its value; name a constant or a placeholder, or let its "
                "readers read another tensor: editor.replace.",
                [name],
            )
        taken = {held.lower() for held in (*index.names, *index.scopes.names)} | index.reserved
        node = type(index.nodes[op])(name=free_name(f"{name}/value", taken), op="Const")
        node.attr["dtype"].type = index.typing.number(index.dtypes(op)[port])
        node.attr["value"].tensor.CopyFrom(self.proto)
        for reader in readers(index, (op, port)):
            leading.lead(reader, (op, port), f"{node.name}:0")
        return Patch(add=Change(nodes=(node,)), changed=leading.edited(), given=((f"{name}:0", f"{node.name}:0"),))

"""Add: another source's whole graph, brought into this one with the values of its variables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tfgraphwidget.edits.clone import Clone
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.selection import Selection
from tfgraphwidget.graph.variables import is_placeholder
from tfgraphwidget.names import split_tensor


@dataclass(frozen=True)
class Add:
    """Bring all ops of `source` (a path, a graph, what `tgw.edit` opens) into this graph, under the scope `into`.

    `connect` are (tensor that comes in, tensor of this graph): what read the one reads the other. The one may be
    named with `into/` before it or without. `clear_devices` lets the ops run anywhere. `checkpoint`, `tags` and
    `session` are those of `tgw.edit`.
    """

    source: Any = field(metadata={"called": "source"})
    into: str
    connect: tuple[tuple[str, str], ...] = field(default=(), metadata={"pairs": True})
    clear_devices: bool = False
    checkpoint: str | None = None
    tags: tuple[str, ...] | None = None
    session: Any = field(default=None, metadata={"called": "other_session"})

    def clone(self, index: GraphIndex, graph: Any, init: str) -> Clone:
        """The same as a clone of everything in the source's `index` into `graph`."""
        connect = tuple((self._own(index, name), given) for name, given in self.connect)
        fed = [index.ids[split_tensor(name)[0]] for name, _ in connect if split_tensor(name)[0] in index.ids]
        gone = {i for i in fed if is_placeholder(index.types[i])}
        everything = Selection.of(index, [i for i in range(len(index)) if i not in gone], "~editor.ops()")
        device = "" if self.clear_devices else None
        return Clone((), (), self.into, "own", init, everything, connect, device=device, graph=graph)

    def _own(self, index: GraphIndex, name: str) -> str:
        """The name of a tensor within the source."""
        inside = name.removeprefix(f"{self.into}/")
        known = split_tensor(name)[0] in index.ids and split_tensor(inside)[0] not in index.ids
        own = name if known else inside
        index.op(own)
        return own if split_tensor(own)[1] is not None else f"{own}:0"

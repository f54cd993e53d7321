"""Border: the edges between a part of a graph and the rest of it."""

from __future__ import annotations

import numpy as np

from tfgraphwidget.edits.wires import Slot, Tensor
from tfgraphwidget.graph.edges import Csr, Mask
from tfgraphwidget.graph.index import GraphIndex


class Border:
    """What crosses the border of the ops for which `mask` is true.

    `entering` are the tensors that come in, in the order of first use, with the inputs inside that read them;
    `leaving` those that ops outside read, in graph order, with the inputs that do. `waited` are the ops outside that
    ops inside wait for, `waiting` those outside that wait for ops inside.
    """

    def __init__(self, index: GraphIndex, mask: Mask) -> None:
        self.index, self.mask = index, mask
        self.entering = self._read(into=True)
        self.leaving = dict(sorted(self._read(into=False).items()))
        self.waited = sorted({waited for _, _, waited in self._crossing(index.controls, into=True)})
        self.waiting = sorted({waiter for _, waiter, _ in self._crossing(index.controls, into=False)})

    def _crossing(self, rows: Csr, *, into: bool) -> list[tuple[int, int, int]]:
        """(number of the edge, op that reads or waits, op at the other end)."""
        owner, inside = rows.owner, self.mask
        edges = np.flatnonzero((inside[owner] != inside[rows.values]) & (inside[owner] == into))
        return list(zip(edges.tolist(), owner[edges].tolist(), rows.values[edges].tolist(), strict=True))

    def _read(self, *, into: bool) -> dict[Tensor, list[Slot]]:
        found: dict[Tensor, list[Slot]] = {}
        start, ports = self.index.inputs.start, self.index.ports
        for edge, reader, source in self._crossing(self.index.inputs, into=into):
            found.setdefault((source, int(ports[edge])), []).append((reader, edge - int(start[reader])))
        return found

"""Connect: an op or a part of the graph reads other tensors."""

from __future__ import annotations

from dataclasses import dataclass

from tfgraphwidget.edits import checks
from tfgraphwidget.edits.ends import Names, counted, is_scope, many, outputs_of, slots_of, tensors
from tfgraphwidget.edits.mending import Mend
from tfgraphwidget.edits.rewire import Rewire
from tfgraphwidget.edits.wires import Slot, Tensor, Wires
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.edges import CONTROL
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.selection import Selection
from tfgraphwidget.names import listed, split_tensor


@dataclass(frozen=True)
class Connect(Rewire):
    """Let an op, a scope or a selection read other tensors: what `source` gives.

    `source` is a tensor, several, or an op, a scope or a selection for all its outputs. `target` is an op, of which
    input `k` is meant, or all inputs, or the only one that fits; or a selection, whose inputs are taken in their order.
    """

    source: Names | Selection
    target: str | Selection
    k: int | None = None
    mend: Mend = ""
    names: tuple[str, ...] = ()

    def wires(self, index: GraphIndex) -> Wires:
        """The edges to move, not checked yet."""
        wires = Wires(index, self.names)
        given = [t for name in self._given(index) for t in tensors(index, name)]
        if any(port == CONTROL for _, port in given):
            raise GraphEditError(
                f"{self._said(self.source)} is a control edge, which no input reads; let {self._said(self.target)} "
                "wait for the op: editor.add_control_inputs(op, ops)."
            )
        slots = self._slots(index, wires, given)
        if len(given) != len(slots):
            raise GraphEditError(
                f"{self._said(self.source)} gives {counted(given, 'tensor')} and {self._said(self.target)} takes "
                f"{counted(slots, 'input')}; connect equally many, or one tensor to one input by k=.",
                dict.fromkeys(index.names[op] for op in (*(t[0] for t in given), *(s[0][0] for s in slots))),
            )
        for tensor, inputs in zip(given, slots, strict=True):
            wires.reads.update(dict.fromkeys(inputs, tensor))
        return wires

    def _given(self, index: GraphIndex) -> tuple[str, ...]:
        if isinstance(self.source, Selection):
            return outputs_of(index, self.source)
        named = ((outputs_of(index, name) if is_scope(index, name) else (name,)) for name in many(self.source))
        return tuple(name for names in named for name in names)

    def _slots(self, index: GraphIndex, wires: Wires, given: list[Tensor]) -> list[list[Slot]]:
        target = self.target
        if isinstance(target, str) and target not in index.ids and split_tensor(target)[1] is not None:
            raise GraphEditError(
                f"{target!r} is what op {split_tensor(target)[0]!r} gives, and connect asks who is to read: name the "
                f"op, or let the readers of {target!r} read another tensor: editor.reroute({target!r}, to=…).",
                [split_tensor(target)[0]],
            )
        slots = slots_of(index, target)
        if self.k is not None:
            if isinstance(target, Selection) or target not in index.ids or not 0 <= self.k < len(slots):
                raise GraphEditError(
                    f"There is no input {self.k} of {self._said(target)}, which has {counted(slots, 'input')}; name an "
                    "op and count its inputs from 0."
                )
            return [slots[self.k]]
        if len(given) == 1 and len(slots) > 1 and isinstance(target, str) and target in index.ids:
            fitting = [s for s in slots if not checks.misfit(wires, s[0], wires.now(s[0]), given[0])]
            return fitting if len(fitting) == 1 else slots
        return slots

    def _said(self, end: Names | Selection) -> str:
        return repr(end) if isinstance(end, Selection) else listed(many(end))

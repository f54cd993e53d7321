"""AddControlInputs and RemoveControlInputs: an op waits for others, or no longer."""

from __future__ import annotations

from dataclasses import dataclass

from tfgraphwidget.edits.rewire import Rewire
from tfgraphwidget.edits.wires import Wires
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.names import listed


@dataclass(frozen=True)
class _Waiting(Rewire):
    op: str
    ops: tuple[str, ...]

    def _numbers(self, index: GraphIndex, *, there: bool) -> tuple[Wires, int, list[int]]:
        """The op and those that it waits for, or not; GraphEditError when that is so of none, or not of all."""
        wires, op = Wires(index), index.op(self.op)
        ops = list(dict.fromkeys(index.op(name) for name in self.ops))
        held = wires.controls(op)
        wrong = [index.names[other] for other in ops if (other in held) != there]
        if wrong or not ops:
            told = f"does not wait for {listed(wrong)}" if there else f"waits for {listed(wrong)} already"
            known = listed([index.names[other] for other in held]) or "nothing"
            raise GraphEditError(
                f"{self.op!r} {told if wrong else 'is to wait for no op'}; it waits for {known}, so name others.",
                [index.names[op], *wrong],
            )
        return wires, op, ops


@dataclass(frozen=True)
class AddControlInputs(_Waiting):
    """Let `op` wait for `ops` too, each of which it does not wait for yet: they run before it whenever it runs."""

    def wires(self, index: GraphIndex) -> Wires:
        """The edges to move, not checked yet."""
        wires, op, ops = self._numbers(index, there=False)
        wires.waits[op] = (*wires.controls(op), *ops)
        return wires


@dataclass(frozen=True)
class RemoveControlInputs(_Waiting):
    """Let `op` no longer wait for `ops`, for each of which it does wait."""

    def wires(self, index: GraphIndex) -> Wires:
        """The edges to move, not checked yet."""
        wires, op, ops = self._numbers(index, there=True)
        wires.waits[op] = tuple(other for other in wires.controls(op) if other not in ops)
        return wires

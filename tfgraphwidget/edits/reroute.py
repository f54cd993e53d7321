"""Reroute and Swap: those that read one tensor read another."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, cast, get_args

from tfgraphwidget.edits import checks
from tfgraphwidget.edits.ends import Names, Ops, counted, members, outputs_of, paired, part, slots_of
from tfgraphwidget.edits.mending import Mend
from tfgraphwidget.edits.rewire import Rewire
from tfgraphwidget.edits.wires import Tensor, Wires
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import walks
from tfgraphwidget.graph.edges import CONTROL
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.selection import Selection
from tfgraphwidget.names import listed, split_tensor

Side = Literal["inputs", "outputs", "both"]
Pairs = list[tuple[Tensor, Tensor]]


class _ByReaders(Rewire):
    """Moves what the readers of some tensors read; `only` or `never` these ops."""

    only: Ops
    never: Ops

    def _may(self, index: GraphIndex) -> Callable[[int], bool]:
        """Whether an op may be changed."""
        only = members(index, self.only) if isinstance(self.only, Selection) or self.only else None
        never = members(index, self.never)
        return lambda op: op not in never and (only is None or op in only)

    def _what_they_read(self) -> bool:
        """Whether named ops themselves are changed, so that to leave one out would be another edit."""
        return False

    def _nobody(self, ends: Iterable[str], ops: Iterable[str]) -> GraphEditError:
        among = "" if self.only == self.never == () else " among the ops that only= and never= leave"
        return GraphEditError(
            f"Nobody{among} reads {listed(list(ends))}, so there is no edge to move; name a tensor that is read, or "
            "'^op' for those that wait for an op.",
            dict.fromkeys(ops),
        )

    def mends(self, index: GraphIndex) -> tuple[Any, ...]:
        """Also the same, less the readers that the new tensors depend on."""
        try:
            wires = self.wires(index)
        except GraphEditError:
            return ()
        if isinstance(self.never, Selection) or self._what_they_read() or not checks.cycle_of(wires):
            return super().mends(index)
        waits = wires.waits_changed()
        moved = {slot[0] for slot, _, _ in wires.moves()} | set(waits)
        sources = {new[0] for _, _, new in wires.moves()}.union(*waits.values())
        before = walks.backward(index, sorted(sources))
        looped = tuple(index.names[op] for op in sorted(moved) if before[op])
        return (*super().mends(index), replace(cast("Any", self), never=(*self.never, *looped)))


def _move(wires: Wires, pairs: Pairs, may: Callable[[int], bool]) -> None:
    """Let the readers of the first of each pair read the second, and who waits for the one wait for the other."""
    instead = {old[0]: new[0] for old, new in pairs if old[1] == CONTROL}
    for old, new in pairs:
        if old[1] != CONTROL:
            wires.reads.update((slot, new) for slot in wires.readers(old) if may(slot[0]))
            continue
        for op in filter(may, wires.waiters(old[0])):
            wires.waits[op] = tuple(dict.fromkeys(instead.get(waited, waited) for waited in wires.controls(op)))


@dataclass(frozen=True)
class Reroute(_ByReaders):
    """Let whoever reads the tensors `old` read `to` instead, pair by pair and all at once.

    An op's name stands for its tensors, "^op" for its control edges: whoever waits for the one op waits for the other
    then. `only` and `never` are the ops that may and may not be changed: ops, scopes, or a selection. `mend` puts an op
    between where dtypes or static shapes differ.
    """

    old: Names
    to: Names
    only: Ops = ()
    never: Ops = ()
    mend: Mend = ""
    names: tuple[str, ...] = ()

    def wires(self, index: GraphIndex) -> Wires:
        """The edges to move, not checked yet."""
        wires, pairs = Wires(index, self.names), paired(index, self.old, self.to)
        _move(wires, pairs, self._may(index))
        if not wires.reads and not wires.waits:
            raise self._nobody((wires.told(old) for old, _ in pairs), (wires.name(op) for (op, _), _ in pairs))
        return wires


@dataclass(frozen=True)
class Swap(_ByReaders):
    """Let two tensors exchange their readers; or two ops, scopes or selections what they read, or their readers.

    Of these, `what` says which ends: "outputs" (who reads the ones from outside both reads the others), "inputs" (what
    they read), or "both". Inputs and outputs go pairwise in their order. `only` and `never` are as in Reroute.
    """

    a: str | Selection
    b: str | Selection
    what: Side = "outputs"
    only: Ops = ()
    never: Ops = ()
    mend: Mend = ""
    names: tuple[str, ...] = ()

    def wires(self, index: GraphIndex) -> Wires:
        """The edges to move, not checked yet."""
        wires, may = Wires(index, self.names), self._may(index)
        if self._of_tensors(index):
            _move(wires, _both_ways(paired(index, str(self.a), str(self.b))), may)
        else:
            self._exchange(wires, may)
        if not wires.reads and not wires.waits:
            ops = (end for end in (self.a, self.b) if isinstance(end, str) and end in index.ids)
            raise self._nobody((str(self.a), str(self.b)), ops)
        return wires

    def _what_they_read(self) -> bool:
        return self.what != "outputs"

    def _of_tensors(self, index: GraphIndex) -> bool:
        """Whether the two are tensors; GraphEditError when one of them is, and when ends of tensors are asked for."""
        if self.what not in get_args(Side):
            raise GraphEditError(f"what={self.what!r} is not known; it is one of 'inputs', 'outputs', 'both'.")
        sides = [side for side in (self.a, self.b) if isinstance(side, str) and side not in index.ids]
        are = [side for side in sides if side[:1] == "^" or split_tensor(side)[1] is not None]
        if are and (len(are) < 2 or self.what != "outputs"):
            raise GraphEditError(
                f"{self.a!r} and {self.b!r} cannot exchange {self.what}: a tensor has readers only; name two tensors "
                "or two ops."
            )
        return bool(are)

    def _exchange(self, wires: Wires, may: Callable[[int], bool]) -> None:
        """Of two parts."""
        index = wires.index
        parts = part(index, self.a).ids, part(index, self.b).ids
        if parts[0] & parts[1]:
            name = index.names[min(parts[0] & parts[1])]
            raise GraphEditError(f"Op {name!r} is in {self.a!r} and in {self.b!r}; give parts that share none.", [name])
        if self.what != "inputs":
            said = f"what {self.a!r} gives", f"what {self.b!r} gives"
            pairs = paired(index, outputs_of(index, self.a), outputs_of(index, self.b), said)
            _move(wires, _both_ways(pairs), lambda op: may(op) and op not in parts[0] and op not in parts[1])
        if self.what != "outputs":
            a, b = slots_of(index, self.a), slots_of(index, self.b)
            if len(a) != len(b):
                raise GraphEditError(
                    f"{self.a!r} has {counted(a, 'input')} and {self.b!r} has {counted(b, 'input')}, so they cannot "
                    "exchange them; give parts with equally many.",
                    [index.names[min(ops)] for ops in parts],
                )
            for ones, others in zip(a, b, strict=True):
                of = wires.now(ones[0]), wires.now(others[0])
                wires.reads.update((slot, of[1]) for slot in ones if may(slot[0]))
                wires.reads.update((slot, of[0]) for slot in others if may(slot[0]))


def _both_ways(pairs: Pairs) -> Pairs:
    return [*pairs, *((b, a) for a, b in pairs)]

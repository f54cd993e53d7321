"""Checks of the edges that an edit would make, before any is: dtypes, references, cycles, loops.

What only TensorFlow's shape functions know, which static shapes an op takes, is checked later
(`runtime.sandbox.shape_inference`).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import breadth_first_order, connected_components

from tfgraphwidget.edits.rewire.edge_moves import Slot, Tensor, Wires, owners_of
from tfgraphwidget.edits.rewire.execution_frames import may_run_within, within
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import CONTROL, MERGE, NEXT, V1_CONTROL_FLOW, Csr, GraphIndex, shape_text, traversal
from tfgraphwidget.tf_types import NodeDef, OpDef

_SHOWN = 8
"""How many ops of a cycle a sentence names."""


def check(wires: Wires) -> None:
    """Raise GraphEditError unless every edge may be: it names both ends and what does not fit."""
    for slot, old, new in wires.moves():
        _refuse(wires, misfit(wires, slot, old, wires.end(slot)), (slot[0], new[0]))
    _check_places(wires)
    names = [wires.name(op) for op in cycle_of(wires)]
    if len(names) == 1:
        raise GraphEditError(f"{names[0]!r} cannot read or wait for itself; choose what does not depend on it.", names)
    if names:
        raise GraphEditError(
            f"{names[0]!r} cannot come after {names[-1]!r}, which needs it: {path_text([*names, names[0]])} would be a "
            "cycle, in which no op could ever run; choose what does not depend on it.",
            names,
        )


def why_not(index: GraphIndex, source: Tensor, reader: int, k: int) -> str:
    """Why an op cannot read a tensor at its input `k`, as one sentence; "" when it can, as far as known here."""
    name, count = index.names[reader], int(np.diff(index.inputs.start[reader : reader + 2])[0])
    if not 0 <= k < count:
        has = f"has {count} input{'s' * (count > 1)}" if count else "reads nothing"
        return f"There is no input {k} of {name!r}: it {has}."
    wires = Wires(index)
    wires.reads[reader, k] = source
    if not wires.moves():
        return f"{name!r} reads {wires.told(source)!r} there already."
    try:
        check(wires)
    except GraphEditError as error:
        return error.why
    return ""


def refusals(index: GraphIndex, source: Tensor, ops: Iterable[int] | None = None) -> dict[int, str]:
    """Of all ops, or of `ops`: why each that can read a tensor at none of its inputs cannot, as one sentence.

    In the order of the ops. What `why_not` would say for each input, but quicker, and without static shapes.
    """
    found, slots = {}, _Slots(index, source)
    for op in range(len(index)) if ops is None else ops:
        why = slots.why_not(op)
        if why:
            found[op] = why
    return found


class _Slots:
    """The inputs of all ops, each of which may be asked to read one tensor."""

    def __init__(self, index: GraphIndex, source: Tensor) -> None:
        self.index, self.source, self.wires = index, source, Wires(index)
        self.told, self.dtype = self.wires.told(source), self.wires.dtype(source)
        before = traversal.along(_without_back_edges(index, Csr(index.sources.start, index.sources.to)), [source[0]])
        self.before: list[bool] = before.tolist()
        csr = index.inputs
        self.start, self.read = csr.start.tolist(), list(zip(csr.values.tolist(), index.ports.tolist(), strict=True))
        self.dtypes: dict[Tensor, str] = {}
        self.runs = None if V1_CONTROL_FLOW.isdisjoint(index.kinds[0]) else within(index)

    def why_not(self, op: int) -> str:
        """Why an op can take the tensor at none of its inputs; "" when it can."""
        types, name = self.index.types, self.index.names[op]
        read = self.read[self.start[op] : self.start[op + 1]]
        if not read:
            return f"{name!r} reads nothing."
        if self.before[op] and not (types[op] in MERGE and types[self.source[0]] in NEXT):
            return f"{self.told!r} {'comes from' if op == self.source[0] else 'depends on'} {name!r} itself."
        why = ""
        for k, old in enumerate(read):
            why = self._why_not(op, k, old, read)
            if not why:
                break
        return why

    def _why_not(self, op: int, k: int, old: Tensor, read: list[Tensor]) -> str:
        if old == self.source:
            return f"{self.index.names[op]!r} reads {self.told!r} already."
        if old not in self.dtypes:
            self.dtypes[old] = self.wires.dtype(old).removesuffix("_ref")
        wanted, given = self.dtypes[old], self.dtype.removesuffix("_ref")
        if wanted and given and wanted != given:
            return f"{self.told!r} is {given}, and {self.index.names[op]!r} takes {wanted}."
        if self.dtype and given == self.dtype and takes_reference(self.index, op, k):
            return _no_reference(self.wires, (op, k), self.source)
        if self.runs is None:
            return ""
        ends = [*read, *((waited, CONTROL) for waited in self.wires.controls(op))]
        return self.runs.why_not(op, [(old, self.source)], ends, [*ends[:k], self.source, *ends[k + 1 :]])


# Dtypes


def misfit(wires: Wires, slot: Slot, old: Tensor, new: Tensor) -> str:
    """Why an input cannot take a tensor for its dtype, as one sentence; "" when it can."""
    had, given = wires.dtype(old), wires.dtype(new)
    if had and given and had.removesuffix("_ref") != given.removesuffix("_ref"):
        wanted = had.removesuffix("_ref")
        return (
            f"{wires.told(new)!r} is {_like(wires, new)} and cannot stand for {wires.told(old)!r}, which is "
            f"{_like(wires, old)}, at input {slot[1]} of {wires.name(slot[0])!r}; give a tensor of {wanted}."
        )
    if given and not given.endswith("_ref") and takes_reference(wires.index, *slot):
        return _no_reference(wires, slot, new)
    return ""


def _like(wires: Wires, tensor: Tensor) -> str:
    shape = f" {shape_text(wires.index.shape(*tensor))}" if tensor[0] < len(wires.index) else ""
    return wires.dtype(tensor) + shape


def _no_reference(wires: Wires, slot: Slot, new: Tensor) -> str:
    return (
        f"{wires.name(slot[0])!r} changes the variable that it reads at input {slot[1]} "
        f"({wires.told(wires.now(slot))!r}), and {wires.told(new)!r} is no variable, but {wires.dtype(new)}; give a "
        "variable, of a dtype with '_ref'."
    )


def takes_reference(index: GraphIndex, op: int, k: int) -> bool:
    """Whether an op takes a reference to a variable at its data input `k`, as Assign does."""
    definition, node = index.typing.definition(index.types[op]), index.nodes[op]
    if definition is None:
        return False
    for argument in definition.input_arg:
        k -= _count(argument, node)
        if k < 0:
            return bool(argument.is_ref)
    return False


def _count(argument: OpDef.ArgDef, node: NodeDef) -> int:
    """How many inputs an argument of an OpDef is."""
    if argument.number_attr:
        return int(node.attr[argument.number_attr].i) if argument.number_attr in node.attr else 1
    if argument.type_list_attr:
        return len(node.attr[argument.type_list_attr].list.type) if argument.type_list_attr in node.attr else 1
    return 1


# Loops and branches


def _check_places(wires: Wires) -> None:
    index, moves, waits = wires.index, wires.moves(), wires.waits_changed()
    n = len(index)
    involved = {op for (reader, _), old, new in moves for op in (reader, old[0], new[0]) if op < n}
    involved.update(*((op, *ops, *wires.controls(op)) for op, ops in waits.items()))
    if not may_run_within(index, sorted(involved)):
        return
    changed: dict[int, list[tuple[int, Tensor, Tensor]]] = {op: [] for op in waits}
    for (reader, k), old, new in moves:
        changed.setdefault(reader, []).append((k, old, new))
    for op, slots in sorted(changed.items()):
        read = wires.inputs(op)
        after = dict(enumerate(read)) | {k: new for k, _, new in slots}
        waited = [(other, CONTROL) for other in wires.controls(op)]
        waits_for = [(other, CONTROL) for other in waits.get(op, wires.controls(op))]
        pairs = [(old, new) for _, old, new in slots]
        why = within(index).why_not(op, pairs, [*read, *waited], [*after.values(), *waits_for])
        _refuse(wires, why, (op, *(new[0] for _, _, new in slots)))


def _refuse(wires: Wires, why: str, ops: Iterable[int]) -> None:
    if why:
        raise GraphEditError(why, dict.fromkeys(wires.index.names[op] for op in ops if op < len(wires.index)))


# Cycles


def cycle_of(wires: Wires) -> list[int]:
    """A cycle that goes through a new edge, in the order in which values flow, from the op that reads it; [] for none.

    A loop's way round (NextIteration to Merge) is no cycle.
    """
    index, moves, waits = wires.index, wires.moves(), wires.waits_changed()
    n, types = len(index), index.types
    new = {(slot[0], source[0]) for slot, _, source in moves if source[0] < n}
    new = {(op, source) for op, source in new if not (types[op] in MERGE and types[source] in NEXT)}
    new |= {(op, waited) for op, ops in waits.items() for waited in set(ops).difference(wires.controls(op))}
    itself = next((op for op, source in sorted(new) if op == source), None)
    if not new or itself is not None:
        return [] if itself is None else [itself]
    rows = _without_back_edges(index, _rows_after(wires, moves, waits))
    readers = np.fromiter((op for op, _ in new), np.int32)
    if not traversal.along(rows, {source for _, source in new})[readers].any():
        return []
    matrix = csr_matrix((np.ones(len(rows.values), dtype=bool), rows.values, rows.start), shape=(n, n))
    _, part = connected_components(matrix, directed=True, connection="strong")
    found = next(((op, source) for op, source in sorted(new) if part[op] == part[source]), None)
    if found is None:
        return []
    path, (_, after) = [found[0]], breadth_first_order(matrix, found[1])
    while path[-1] != found[1]:
        path.append(int(after[path[-1]]))
    return path


def _rows_after(wires: Wires, moves: list[tuple[Slot, Tensor, Tensor]], waits: dict[int, tuple[int, ...]]) -> Csr:
    """What each op reads, in slot order, then what it waits for, after the edit.

    An edge that is gone leads from an op to itself, which no walk minds.
    """
    start, values = wires.index.sources.start, wires.index.sources.to.copy()
    for (op, k), _, new in moves:
        values[start[op] + k] = new[0] if new[0] < len(wires.index) else op
    added: list[tuple[int, int]] = []
    for op, ops in waits.items():
        held = wires.controls(op)
        first = start[op + 1] - len(held)
        for at, waited in enumerate(held):
            values[first + at] = waited if waited in ops else op
        added += [(op, waited) for waited in dict.fromkeys(ops) if waited not in held]
    if not added:
        return Csr(start, values)
    owners = np.array([op for op, _ in added], dtype=np.int32)
    values = np.insert(values, start[owners + 1], [waited for _, waited in added])
    more = np.cumsum(np.bincount(owners, minlength=len(start) - 1)).astype(np.int32)
    return Csr(start + np.concatenate([np.zeros(1, dtype=np.int32), more]), values)


def _without_back_edges(index: GraphIndex, rows: Csr) -> Csr:
    """The rows with an edge from an op to itself where a Merge reads a NextIteration."""
    kinds, codes = index.kinds
    if NEXT.isdisjoint(kinds):
        return rows
    is_next, is_merge = (np.isin(codes, [c for c, kind in enumerate(kinds) if kind in of]) for of in (NEXT, MERGE))
    edges = np.flatnonzero(is_next[rows.values])
    owners = owners_of(rows, edges)
    values = rows.values.copy()
    values[edges[is_merge[owners]]] = owners[is_merge[owners]]
    return Csr(rows.start, values)


def path_text(names: list[str]) -> str:
    """Names along a path; of a long one the ends."""
    if len(names) > _SHOWN:
        left = len(names) - _SHOWN + 1
        names = [*names[: _SHOWN // 2], f"{left:,} more", *names[_SHOWN // 2 + left :]]
    return " → ".join(names)

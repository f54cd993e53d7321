"""Validation of moved edges: dtypes, references, cycles, loops.

What only TensorFlow's shape functions know, which static shapes an op takes, is checked later
(`runtime.sandbox.shape_inference`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from tfgraphwidget.edits.patch import Patch, apply_patch
from tfgraphwidget.edits.rewire.edge_moves import (
    EdgeMoves,
    Slot,
    Tensor,
    argument_count,
    input_argument,
    owners_of,
)
from tfgraphwidget.edits.rewire.execution_frames import frames_of, may_run_in_frames
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    CONTROL,
    FIRST_INPUT_FORWARDING,
    HANDLE_DTYPES,
    MERGE,
    NEXT,
    V1_CONTROL_FLOW,
    Csr,
    GraphIndex,
    handle_kind,
    shortest_path,
    strong_components,
    traversal,
)
from tfgraphwidget.naming import split_input
from tfgraphwidget.sentences import drawn_shape
from tfgraphwidget.tf_types import NodeDef, OpDef

_SHOWN = 8
"""How many ops of a cycle a sentence names."""
# The latter of queues, tables and readers of old files.
_OF_HANDLES = HANDLE_DTYPES | {"string_ref"}
_INDEPENDENT = "choose what does not depend on it"


def check(moves: EdgeMoves) -> None:
    """Raise GraphEditError unless every edge may be: it names both ends and what does not fit."""
    for slot, old, new in moves.changed_inputs():
        _raise_if(moves, misfit(moves, slot, old, moves.new_source(slot)), (slot[0], new[0]))
    _check_frames(moves)
    _refuse_cycle([moves.name(op) for op in cycle_of(moves)])


def check_acyclic(index: GraphIndex, patch: Patch, way_out: str = _INDEPENDENT) -> None:
    """Raise GraphEditError if a patch makes a cycle, of control inputs too; it names the ops of the
    cycle.
    """
    gained = {
        change.name: _sources_of(change.after) - _sources_of(change.before)
        for change in patch.changed
    }
    new = {node.name: _sources_of(node) for node in patch.add.nodes}
    # Most patches need no more than this: new ops come one after the other, and no op reads what
    # came after it.
    read = set().union(*gained.values(), *new.values())
    reached = traversal.forward(index, [index.ids[name] for name in gained if name in index.ids])
    is_outdated = any(reached[index.ids[name]] for name in read if name in index.ids)
    if not is_outdated and _is_in_order(new):
        return
    after = apply_patch(index, patch)
    rows = _without_back_edges(after, Csr(after.sources.start, after.sources.to))
    component, ids = strong_components(rows.start, rows.values), after.ids
    for name, sources in (gained | new).items():
        if name not in ids:
            continue
        op = ids[name]
        for source in sorted(ids[each] for each in sources if each in ids):
            is_way_round = after.types[op] in MERGE and after.types[source] in NEXT
            if component[op] == component[source] and not is_way_round:
                if op == source:
                    cycle = [op]
                else:
                    cycle = shortest_path(rows.start, rows.values, source, op)[::-1]
                _refuse_cycle([after.names[each] for each in cycle], way_out)


def _is_in_order(ops: Mapping[str, set[str]]) -> bool:
    """Whether each op comes after those of them that it reads."""
    later = set(ops)
    for name, sources in ops.items():
        if not later.isdisjoint(sources):
            return False
        later.discard(name)
    return True


def _sources_of(node: NodeDef) -> set[str]:
    """The ops that an op reads or waits for."""
    return {split_input(text)[0] for text in node.input}


def _refuse_cycle(names: list[str], way_out: str = _INDEPENDENT) -> None:
    if len(names) == 1:
        raise GraphEditError(f"{names[0]!r} cannot read or wait for itself; {way_out}.", names)
    if names:
        raise GraphEditError(
            f"{names[0]!r} cannot come after {names[-1]!r}, which needs it: "
            f"{path_text([*names, names[0]])} would be a cycle, in which no op could ever run; "
            f"{way_out}.",
            names,
        )


def why_not(index: GraphIndex, source: Tensor, consumer: int, k: int) -> str:
    """Why an op cannot read a tensor at an input, as far as arrays show; "" if it can."""
    name = index.names[consumer]
    count = int(np.diff(index.inputs.start[consumer : consumer + 2])[0])
    if not 0 <= k < count:
        has = f"has {count} input{'s' * (count > 1)}" if count else "reads nothing"
        return f"There is no input {k} of {name!r}: it {has}."
    moves = EdgeMoves(index)
    moves.inputs[consumer, k] = source
    if not moves.changed_inputs():
        return f"{name!r} reads {moves.tensor_name(source)!r} there already."
    try:
        check(moves)
    except GraphEditError as error:
        return error.why
    return ""


def refusals(index: GraphIndex, source: Tensor, ops: Iterable[int] | None = None) -> dict[int, str]:
    """A sentence for each op, in their order, that cannot read a tensor at any of its inputs;
    faster than `why_not`, without static shapes. None are all ops.
    """
    reasons, slots = {}, _Slots(index, source)
    for op in range(len(index)) if ops is None else ops:
        why = slots.why_not(op)
        if why:
            reasons[op] = why
    return reasons


class _Slots:
    """The inputs of all ops, each of which may be asked to read one tensor."""

    def __init__(self, index: GraphIndex, source: Tensor) -> None:
        self.index, self.source, self.moves = index, source, EdgeMoves(index)
        self.tensor_text, self.dtype = self.moves.tensor_name(source), self.moves.dtype(source)
        rows = _without_back_edges(index, Csr(index.sources.start, index.sources.to))
        self.before: list[bool] = traversal.along(rows, [source[0]]).tolist()
        inputs = index.inputs
        self.start = inputs.start.tolist()
        self.read = list(zip(inputs.values.tolist(), index.ports.tolist(), strict=True))
        self.dtypes: dict[Tensor, str] = {}
        self.runs = None if V1_CONTROL_FLOW.isdisjoint(index.kinds[0]) else frames_of(index)

    def why_not(self, op: int) -> str:
        """Why an op can take the tensor at none of its inputs; "" when it can."""
        types, name = self.index.types, self.index.names[op]
        read = self.read[self.start[op] : self.start[op + 1]]
        if not read:
            return f"{name!r} reads nothing."
        if self.before[op] and not (types[op] in MERGE and types[self.source[0]] in NEXT):
            depends = "comes from" if op == self.source[0] else "depends on"
            return f"{self.tensor_text!r} {depends} {name!r} itself."
        why = ""
        for k, old in enumerate(read):
            why = self._why_not(op, k, old, read)
            if not why:
                break
        return why

    def _why_not(self, op: int, k: int, old: Tensor, read: list[Tensor]) -> str:
        """Why an op cannot take the tensor at input `k` in place of `old`; "" when it can."""
        if old == self.source:
            return f"{self.index.names[op]!r} reads {self.tensor_text!r} already."
        if old not in self.dtypes:
            self.dtypes[old] = self.moves.dtype(old).removesuffix("_ref")
        expected, dtype = self.dtypes[old], self.dtype.removesuffix("_ref")
        if expected and dtype and expected != dtype:
            expected = self.moves.expected_dtype((op, k)) or expected
        if expected and dtype and expected != dtype:
            return (
                f"{self.tensor_text!r} is {dtype}, and {self.index.names[op]!r} takes {expected}."
            )
        if self.dtype and dtype == self.dtype and takes_reference(self.index, op, k):
            return _no_reference(self.moves, (op, k), self.source)
        if self.dtype in _OF_HANDLES:
            other_kind = _other_kind(self.moves, (op, k), old, self.source)
            if other_kind:
                return other_kind
        if self.runs is None:
            return ""
        waits = self.moves.current_control_inputs(op)
        before = [*read, *((control_input, CONTROL) for control_input in waits)]
        after = [*before[:k], self.source, *before[k + 1 :]]
        return self.runs.why_not(op, [(old, self.source)], before, after)


# Dtypes


def misfit(moves: EdgeMoves, slot: Slot, old: Tensor, new: Tensor) -> str:
    """Why a tensor's dtype does not suit the input that is to read it; "" if it does."""
    had, dtype = moves.dtype(old), moves.dtype(new)
    is_other = bool(had and dtype and had.removesuffix("_ref") != dtype.removesuffix("_ref"))
    expected = (is_other and moves.expected_dtype(slot)) or had.removesuffix("_ref")
    if is_other and expected != dtype.removesuffix("_ref"):
        return (
            f"{moves.tensor_name(new)!r} is "
            + _description(moves, new)
            + f" and cannot replace {moves.tensor_name(old)!r}, which is "
            + _description(moves, old)
            + f", at input {slot[1]} of {moves.name(slot[0])!r}; give a tensor of {expected}."
        )
    if dtype and not dtype.endswith("_ref") and takes_reference(moves.index, *slot):
        return _no_reference(moves, slot, new)
    return _other_kind(moves, slot, old, new) if had in _OF_HANDLES else ""


def _other_kind(moves: EdgeMoves, slot: Slot, old: Tensor, new: Tensor) -> str:
    """Why an op that takes a queue's handle cannot take a variable's; "" when it can."""
    index, (consumer, k) = moves.index, slot
    node = index.nodes[consumer]
    old_kind = handle_kind(index, old) if old[0] < len(index) else ""
    new_kind = handle_kind(index, new) if new[0] < len(index) else ""
    names = moves.name(consumer), moves.tensor_name(old), moves.tensor_name(new)
    definition = index.typing.definition(node.op)
    return other_kind_text(node, k, definition, (old_kind, new_kind), names)


def other_kind_text(
    consumer: NodeDef,
    k: int,
    definition: OpDef | None,
    kinds: tuple[str, str],
    names: tuple[str, str, str],
) -> str:
    """Why an op that takes the handle of a queue, say, cannot take that of a variable, as one
    sentence; "" when it can.

    Args:
        kinds: The kinds of the handle that it reads and of the one that it is to read; "" where
            it is unknown.
        names: The names of the op, of the one handle and of the other.
    """
    had, kind = kinds
    if not had or not kind or had == kind or _takes_any_handle(consumer, k, definition):
        return ""
    had, kind = (f"{'an' if each[0] in 'ai' else 'a'} {each}" for each in kinds)
    name, old, new = names
    return (
        f"{new!r} is the handle of {kind}, and {name!r} takes that of {had}, as {old!r} is; give "
        "one of those."
    )


def _takes_any_handle(node: NodeDef, k: int, definition: OpDef | None) -> bool:
    """Whether an input takes tensors of any dtype, as of `tf.stack`, or any resource; what hands it
    on has consumers.
    """
    argument = input_argument(node, k, definition)[0]
    if node.op in FIRST_INPUT_FORWARDING or argument is None:
        return False
    return node.op == "DestroyResourceOp" or bool(argument.type_attr or argument.type_list_attr)


def _description(moves: EdgeMoves, tensor: Tensor) -> str:
    """The dtype of a tensor, and its static shape if it is not new."""
    shape = " " + drawn_shape(moves.index.shape(*tensor)) if tensor[0] < len(moves.index) else ""
    return moves.dtype(tensor) + shape


def _no_reference(moves: EdgeMoves, slot: Slot, new: Tensor) -> str:
    return (
        f"{moves.name(slot[0])!r} changes the variable that it reads at input {slot[1]} "
        f"({moves.tensor_name(moves.current_input(slot))!r}), and {moves.tensor_name(new)!r} is "
        f"not a variable, but {moves.dtype(new)}; give a variable, of a dtype with '_ref'."
    )


def takes_reference(index: GraphIndex, op: int, k: int) -> bool:
    """Whether an input takes a reference to a variable, as that of Assign does."""
    argument = input_argument(index.nodes[op], k, index.typing.definition(index.types[op]))[0]
    return argument is not None and bool(argument.is_ref)


def taken_inputs(index: GraphIndex, op: int) -> int | None:
    """How many tensors an op takes by type and attributes; None for unknown types."""
    definition = index.typing.definition(index.types[op])
    if definition is None:
        return None
    return sum(argument_count(arg, index.nodes[op]) for arg in definition.input_arg)


# Loops and branches


def _check_frames(moves: EdgeMoves) -> None:
    """Raise GraphEditError where an op would read, or wait for, one of another loop or branch."""
    index, edges, waits = moves.index, moves.changed_inputs(), moves.changed_control_inputs()
    involved: set[int] = set()
    for (consumer, _), old, new in edges:
        involved.update(op for op in (consumer, old[0], new[0]) if op < len(index))
    for op, ops in waits.items():
        involved.update((op, *ops, *moves.current_control_inputs(op)))
    if not may_run_in_frames(index, sorted(involved)):
        return
    slots_of: dict[int, list[tuple[int, Tensor, Tensor]]] = {op: [] for op in waits}
    for (consumer, k), old, new in edges:
        slots_of.setdefault(consumer, []).append((k, old, new))
    for op, slots in sorted(slots_of.items()):
        read_before = moves.current_inputs(op)
        read_after = list(read_before)
        for k, _, new in slots:
            read_after[k] = new
        waits_before = moves.current_control_inputs(op)
        waits_after = waits.get(op, waits_before)
        why = frames_of(index).why_not(
            op,
            [(old, new) for _, old, new in slots],
            [*read_before, *((other, CONTROL) for other in waits_before)],
            [*read_after, *((other, CONTROL) for other in waits_after)],
        )
        _raise_if(moves, why, (op, *(new[0] for _, _, new in slots)))


def _raise_if(moves: EdgeMoves, why: str, ops: Iterable[int]) -> None:
    if why:
        raise GraphEditError(
            why, dict.fromkeys(moves.index.names[op] for op in ops if op < len(moves.index))
        )


# Cycles


def cycle_of(moves: EdgeMoves) -> list[int]:
    """A cycle that goes through a new edge, in the order in which values flow, from the op that
    reads it; [] for none.

    A loop's way round (NextIteration to Merge) is not a cycle.
    """
    index, edges, waits = moves.index, moves.changed_inputs(), moves.changed_control_inputs()
    types = index.types
    new: set[tuple[int, int]] = set()  # edges, as (consumer, source)
    for (op, _), _, (source, _) in edges:
        if source < len(index) and not (types[op] in MERGE and types[source] in NEXT):
            new.add((op, source))
    for op, ops in waits.items():
        new_waits = set(ops).difference(moves.current_control_inputs(op))
        new.update((op, source) for source in new_waits)
    for op, source in sorted(new):
        if op == source:
            return [op]
    if not new:
        return []
    rows = _without_back_edges(index, _rows_after(moves, edges, waits))
    consumers = np.fromiter((op for op, _ in new), np.int32)
    if not traversal.along(rows, {source for _, source in new})[consumers].any():
        return []
    component = strong_components(rows.start, rows.values)
    for op, source in sorted(new):
        if component[op] == component[source]:
            return shortest_path(rows.start, rows.values, source, op)[::-1]
    return []


def _rows_after(
    moves: EdgeMoves, edges: list[tuple[Slot, Tensor, Tensor]], waits: dict[int, tuple[int, ...]]
) -> Csr:
    """The inputs of each op after the edit, in slot order, then its control inputs.

    An edge that is gone leads from an op to itself, which no walk minds.
    """
    start, values = moves.index.sources.start, moves.index.sources.to.copy()
    for (op, k), _, new in edges:
        values[start[op] + k] = new[0] if new[0] < len(moves.index) else op
    added: list[tuple[int, int]] = []
    for op, ops in waits.items():
        waits_now = moves.current_control_inputs(op)
        first = start[op + 1] - len(waits_now)
        for at, control_input in enumerate(waits_now):
            values[first + at] = control_input if control_input in ops else op
        added += [(op, source) for source in dict.fromkeys(ops) if source not in waits_now]
    if not added:
        return Csr(start, values)
    owners = np.array([op for op, _ in added], dtype=np.int32)
    values = np.insert(values, start[owners + 1], [source for _, source in added])
    more = np.cumsum(np.bincount(owners, minlength=len(start) - 1)).astype(np.int32)
    return Csr(start + np.concatenate([np.zeros(1, dtype=np.int32), more]), values)


def _without_back_edges(index: GraphIndex, rows: Csr) -> Csr:
    """The rows with an edge from an op to itself where a Merge reads a NextIteration."""
    kinds, codes = index.kinds
    if NEXT.isdisjoint(kinds):
        return rows
    is_next, is_merge = (
        np.isin(codes, [c for c, kind in enumerate(kinds) if kind in of]) for of in (NEXT, MERGE)
    )
    edges = np.flatnonzero(is_next[rows.values])
    owners = owners_of(rows, edges)
    values = rows.values.copy()
    values[edges[is_merge[owners]]] = owners[is_merge[owners]]
    return Csr(rows.start, values)


def path_text(names: list[str]) -> str:
    """Names along a path; of a long one the ends."""
    if len(names) > _SHOWN:
        omitted = len(names) - _SHOWN + 1
        names = [*names[: _SHOWN // 2], f"{omitted:,} more", *names[_SHOWN // 2 + omitted :]]
    return " → ".join(names)

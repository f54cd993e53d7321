"""v1 control flow: the ops of each while loop and each conditional.

`contexts` says which context each op runs in. Here they are told apart into loops and conditionals: loops imported
twice share their frame's name, and conditionals may share a predicate (one and its gradient always do).

This holds for graphs that TensorFlow 1 built and for frozen functions, whose While, If and Case were lowered to the
same ops.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from tfgraphwidget.graph.adjacency import weak_components
from tfgraphwidget.graph.control_flow_contexts import Contexts, Tensor, shared_prefix
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op_types import (
    ENTER,
    EXIT,
    FIRST_INPUT_FORWARDING,
    LOOP_CONDITION,
    MERGE,
    NEXT,
    SWITCH,
    V1_CONTROL_FLOW,
)
from tfgraphwidget.naming import enclosing_scopes

_Place = TypeVar("_Place")

# The Switch of a predicate by itself that starts the branches: of tf.cond, of a lowered If, of a lowered Case.
_PIVOT = re.compile(r"(?:(.*)/)?(?:Switch(?:_\d+)?|(?:switch_pred|branch_index)/_\d+)")


@dataclass(frozen=True)
class Loop:
    """A while loop; the tuples hold its own ops in graph order, without those of loops and conditionals inside it.

    `name` is the frame's: two loops have the same one after two bare imports of the same GraphDef. `condition` is the
    LoopCond. `ops` is everything that runs in the frame: Enters, Exits and all that is nested included, constants that
    only wait for the loop too. `outer` is the loop or conditional directly around it.
    """

    name: str
    enters: tuple[int, ...]
    merges: tuple[int, ...]
    switches: tuple[int, ...]
    next_iterations: tuple[int, ...]
    exits: tuple[int, ...]
    condition: int | None
    ops: frozenset[int] = field(repr=False)
    outer: Loop | Conditional | None = field(repr=False)


@dataclass(frozen=True)
class Conditional:
    """A conditional, or the gradient of one; `name` is its name scope.

    `predicate` is the tensor that decides, before any "pred_id" Identity. `branches[k]` is everything that runs only if
    output k of the Switches is taken: 0 is false and 1 is true, or the branch's number in a Case. `ops` holds these,
    the Switches and the Merges. All that is nested is included. `outer` is the loop or conditional directly around it.
    """

    name: str
    predicate: Tensor
    switches: tuple[int, ...]
    merges: tuple[int, ...]
    branches: tuple[frozenset[int], ...] = field(repr=False)
    ops: frozenset[int] = field(repr=False)
    outer: Loop | Conditional | None = field(repr=False)

    @property
    def false(self) -> frozenset[int]:
        """The ops that run only if the predicate is false, or 0."""
        return self.branches[0]

    @property
    def true(self) -> frozenset[int]:
        """The ops that run only if the predicate is true, or 1."""
        return self.branches[1]


# An edit asks several times; an index never changes.
_KNOWN: WeakKeyDictionary[GraphIndex, tuple[Loop | Conditional, ...]] = WeakKeyDictionary()


def control_flow(index: GraphIndex) -> tuple[Loop | Conditional, ...]:
    """All loops and conditionals: outermost first, and on each level in the graph order of their first ops.

    Args:
        index: The graph.
    """
    if V1_CONTROL_FLOW.isdisjoint(index.kinds[0]):
        return ()
    if index not in _KNOWN:
        _KNOWN[index] = tuple(_Blocks(Contexts(index)).all())
    return _KNOWN[index]


def loops(index: GraphIndex) -> tuple[Loop, ...]:
    """The while loops, in the order of `control_flow`.

    Args:
        index: The graph.
    """
    return tuple(block for block in control_flow(index) if isinstance(block, Loop))


def conditionals(index: GraphIndex) -> tuple[Conditional, ...]:
    """The conditionals, in the order of `control_flow`.

    Args:
        index: The graph.
    """
    return tuple(block for block in control_flow(index) if isinstance(block, Conditional))


def enclosing_blocks(index: GraphIndex, op: int) -> tuple[Loop | Conditional, ...]:
    """The loops and conditionals that an op belongs to, innermost first.

    Args:
        index: The graph.
        op: The number of the op.
    """
    return tuple(block for block in reversed(control_flow(index)) if op in block.ops)


def control_flow_ops(index: GraphIndex) -> set[int]:
    """Ops of v1 while loops and conditionals: from each Enter or Switch on, up to and with each Exit and last Merge.

    Args:
        index: The graph.
    """
    return {op for block in control_flow(index) if block.outer is None for op in block.ops}


def predicate_source(index: GraphIndex, block: Conditional) -> Tensor:
    """The tensor that a predicate's value comes from, before the Switches, Enters and Identities that hand it on.

    Args:
        index: The graph.
        block: The conditional.
    """
    op, port = block.predicate
    visited: set[int] = set()
    while index.types[op] in FIRST_INPUT_FORWARDING and index.input_lists[op] and op not in visited:
        visited.add(op)
        op, port = index.input_lists[op][0], int(index.ports[int(index.inputs.start[op])])
    return op, port


class _Blocks:
    """The loops and conditionals that the contexts make up."""

    def __init__(self, contexts: Contexts) -> None:
        self.contexts = contexts
        self.names, self.types = contexts.index.names, contexts.index.types
        self.ends = {op for ends in (contexts.opens, contexts.closes) for row in ends.values() for op in row}
        self.frame = [contexts.frame(reversed(contexts.path(c))) for c in range(len(contexts.key))]
        self.blocks: list[Loop | Conditional] = []
        self.owner: dict[int, int] = {}  # the innermost block so far of an op

    def all(self) -> list[Loop | Conditional]:
        """Outermost first, then in graph order."""
        of = self.contexts
        groups: dict[tuple[int, str | Tensor], list[int]] = {end: [] for end in of.opens}
        for context in range(1, len(of.key)):
            groups.setdefault((of.parent[context], of.key[context]), []).append(context)
        below = self._below()
        for (around, key), contexts in sorted(groups.items(), key=lambda group: len(of.path(group[0][0]))):
            if isinstance(key, str):
                for context in contexts:
                    self._add_loops(key, context, below[context])
            else:
                self._add_conditionals(around, key, {of.branch[c]: below[c] for c in contexts})
        return sorted(self.blocks, key=lambda block: (_depth(block), min(block.ops)))

    def _below(self) -> list[list[int]]:
        """The ops in each context, those of contexts inside it included."""
        rows_below: list[list[int]] = [[] for _ in self.contexts.key]
        rows = [[rows_below[c] for c in self.contexts.path(context)] for context in range(len(rows_below))]
        for op, context in enumerate(self.contexts.inside):
            for row in rows[context]:
                row.append(op)
        return rows_below

    def _apart(self, ops: Iterable[int]) -> list[tuple[Loop | Conditional | None, list[int]]]:
        """Some ops, told apart by the block around them."""
        parts: defaultdict[int, list[int]] = defaultdict(list)
        for op in ops:
            parts[self.owner.get(op, -1)].append(op)
        return [(None if owner < 0 else self.blocks[owner], part) for owner, part in parts.items()]

    def _add(self, block: Loop | Conditional) -> None:
        self.owner.update(dict.fromkeys(block.ops, len(self.blocks)))
        self.blocks.append(block)

    def _add_loops(self, name: str, context: int, ops: list[int]) -> None:
        for outer, part in self._apart(ops):
            for whole in self._one_condition_each(part, context):
                own = self._own(whole, context, V1_CONTROL_FLOW) - self.ends
                enters, merges, switches, nexts, exits, conditions = (
                    tuple(sorted(op for op in own if self.types[op] in kinds))
                    for kinds in (ENTER, MERGE, SWITCH, NEXT, EXIT, LOOP_CONDITION)
                )
                condition = conditions[0] if conditions else None
                self._add(Loop(name, enters, merges, switches, nexts, exits, condition, frozenset(whole), outer))

    def _own(self, ops: Iterable[int], context: int, kinds: Collection[str]) -> set[int]:
        """The ops of some types whose innermost loop is that of a context."""
        return {op for op in ops if self.types[op] in kinds and self.frame[self.contexts.inside[op]] == context}

    def _one_condition_each(self, ops: list[int], context: int) -> list[list[int]]:
        """Ops of one frame name as a list per LoopCond; what hangs on none goes with the nearest name."""
        conditions = sorted(self._own(ops, context, LOOP_CONDITION))
        if len(conditions) < 2:
            return [ops]
        piece = self._pieces(ops, self._own(ops, context, ENTER), self._own(ops, context, EXIT))
        wholes: dict[int, list[int]] = {piece[op]: [] for op in conditions}
        home = {at: at for at in wholes}
        scopes = [(self.names[op], piece[op]) for op in conditions]
        for op in ops:
            if piece[op] not in home:
                home[piece[op]] = self._nearest(op, scopes)
            wholes[home[piece[op]]].append(op)
        return list(wholes.values())

    def _pieces(self, ops: list[int], entries: Collection[int], exits: Collection[int]) -> dict[int, int]:
        """A number for each op, equal where ops hang together; not by edges into `entries` or out of `exits`."""
        if len(ops) < 2:
            return dict.fromkeys(ops, 0)
        at = {op: k for k, op in enumerate(ops)}
        inner = [op for op in ops if op not in entries]
        pairs = [(at[s], at[op]) for op in inner for s in self.contexts.sources(op) if s in at and s not in exits]
        return dict(zip(ops, weak_components(len(ops), np.array(pairs, dtype=np.int32).reshape(-1, 2)), strict=True))

    def _add_conditionals(self, around: int, predicate: Tensor, branches: dict[int, list[int]]) -> None:
        of = self.contexts
        switches, merges = (
            frozenset(ends_by_key.get((around, predicate), ())) for ends_by_key in (of.opens, of.closes)
        )
        inner = [frozenset(branches.get(k, ())) for k in range(max((*branches, 1)) + 1)]
        for outer, part in self._apart(sorted({*switches, *merges, *(op for row in branches.values() for op in row)})):
            wholes = defaultdict(list)
            for op, name in self._conditional_names(part, switches, merges, len(of.path(around))).items():
                wholes[name].append(op)
            for name, whole in wholes.items():
                ops = frozenset(whole)
                title = name if isinstance(name, str) else self._scope(ops & merges or ops & switches or ops)
                ends = tuple(sorted(ops & switches)), tuple(sorted(ops & merges))
                self._add(Conditional(title, predicate, *ends, tuple(ops & row for row in inner), ops, outer))

    def _conditional_names(
        self, ops: list[int], switches: frozenset[int], merges: frozenset[int], depth: int
    ) -> dict[int, str | int]:
        """The conditional of each op of one predicate: its name scope, or a number where names do not tell.

        A conditional is its own Merges, what is named after it, and what these need. Others on its predicate may read
        its ops, as its gradient does, but have Merges of their own. A loop is never divided.
        """
        scopes = {scope for op in switches.intersection(ops) for scope in self._started_by(op)}
        if len(scopes) == 1 and None not in {self._under(op, scopes) for op in (switches | merges).intersection(ops)}:
            return dict.fromkeys(ops, *scopes)
        names: dict[int, str | int] = {}
        loops = self._loops_of(ops, depth)
        needed = frozenset(ops) - merges
        for first in (*sorted(merges.intersection(ops)), *ops) if scopes else ():
            scope = None if first in names else self._under(first, scopes)
            stack = [] if scope is None else [first]
            while stack and scope is not None:
                op = stack.pop()
                if op not in names:
                    names[op] = scope
                    stack += loops.get(op, [])
                    loops.get(op, []).clear()
                    stack += [] if op in switches else [s for s in self.contexts.sources(op) if s in needed]
        return self._remaining_names(ops, switches, merges, names)

    def _remaining_names(
        self, ops: list[int], switches: frozenset[int], merges: frozenset[int], names: dict[int, str | int]
    ) -> dict[int, str | int]:
        """`names` and the ops that it lacks: by what hangs together, or if that has no Merge, with what it reads."""
        pieces = defaultdict(list)
        for op, piece in self._pieces([op for op in ops if op not in names], switches, merges).items():
            pieces[piece].append(op)
        merged = {piece: ends for piece, members in pieces.items() if (ends := merges.intersection(members))}
        scopes: list[tuple[str, str | int]] = [(self._scope(ends), piece) for piece, ends in merged.items()]
        for piece, members in pieces.items():
            read = [names[s] for op in members for s in self.contexts.sources(op) if isinstance(names.get(s), str)]
            has_no_block = piece not in merged and bool(read)
            home = self._nearest(members[0], [(str(read[0]), read[0]), *scopes]) if has_no_block else piece
            names.update(dict.fromkeys(members, home))
        return names

    def _loops_of(self, ops: Collection[int], depth: int) -> dict[int, list[int]]:
        """For each op in a loop that is more than `depth` contexts deep, the ops of the outermost such loop."""
        of = self.contexts
        loop = {c: of.frame(of.path(c)[depth:]) for c in {of.inside[op] for op in ops}}
        ops_by_loop: dict[int, list[int]] = {c: [] for c in loop.values()}
        inside = [op for op in ops if loop[of.inside[op]]]
        for op in inside:
            ops_by_loop[loop[of.inside[op]]].append(op)
        return {op: ops_by_loop[loop[of.inside[op]]] for op in inside}

    def _started_by(self, switch: int) -> list[str]:
        """The scope of the conditional that a Switch starts, if it does: it then decides on the predicate itself."""
        match = _PIVOT.fullmatch(self.names[switch])
        decides = self.contexts.slot(switch, 0) == self.contexts.slot(switch, 1)
        return [match[1] or ""] if match and decides else []

    def _under(self, op: int, scopes: Collection[str]) -> str | None:
        """The innermost of the scopes around an op."""
        around = [scope for scope in ("", *enclosing_scopes(self.names[op])) if scope in scopes]
        return around[-1] if around else None

    def _scope(self, ops: Iterable[int]) -> str:
        """The innermost scope around all of the ops, or the first one's name where that is the whole graph."""
        names = [self.names[op] for op in sorted(ops)]
        parts = [name.split("/")[:-1] for name in names]
        return "/".join(parts[0][: shared_prefix(parts)]) or names[0]

    def _nearest(self, op: int, scopes: Iterable[tuple[str, _Place]]) -> _Place:
        """The entry of the scope that an op's name has most in common with, the first of equal ones."""
        parts = self.names[op].split("/")
        return max(scopes, key=lambda scope: shared_prefix([scope[0].split("/"), parts]))[1]


def _depth(block: Loop | Conditional) -> int:
    return 0 if block.outer is None else 1 + _depth(block.outer)

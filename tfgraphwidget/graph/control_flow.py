"""v1 control flow: the ops of each while loop and each conditional.

`Contexts` says which context each op runs in. Here the ops of a context are divided into loops and
conditionals: loops imported twice share their frame's name, and conditionals may share a predicate
(one and its gradient always do).

This holds for graphs that TensorFlow 1 built and for frozen functions, whose While, If and Case
were lowered to the same ops. How frames work: Y. Yu et al., "Dynamic control flow in large-scale
machine learning" (2018).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from itertools import chain
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

# The Switch of a predicate by itself that starts the branches: of tf.cond, a lowered If, a Case.
_PIVOT = re.compile(r"(?:(.*)/)?(?:Switch(?:_\d+)?|(?:switch_pred|branch_index)/_\d+)")


@dataclass(frozen=True)
class Loop:
    """A while loop.

    The tuples hold its own ops in graph order, without those of loops and conditionals inside it.
    `name` is the frame's: two loops have the same one after two bare imports of the same GraphDef.
    `condition` is the LoopCond. `ops` is everything that runs in the frame: Enters, Exits and all
    that is nested included, constants that only wait for the loop too. `outer` is the loop or
    conditional directly around it.
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

    `predicate` is the tensor that decides, before any "pred_id" Identity. `branches[k]` is
    everything that runs only if output k of the Switches is taken: 0 is false and 1 is true, or the
    branch's number in a Case. `ops` holds these, the Switches and the Merges. All that is nested is
    included. `outer` is the loop or conditional directly around it.
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


Block = Loop | Conditional

# An edit asks several times; an index never changes.
_KNOWN: WeakKeyDictionary[GraphIndex, tuple[Loop | Conditional, ...]] = WeakKeyDictionary()


def control_flow(index: GraphIndex) -> tuple[Loop | Conditional, ...]:
    """All loops and conditionals: outermost first, then in the graph order of their first ops."""
    if V1_CONTROL_FLOW.isdisjoint(index.kinds[0]):
        return ()
    if index not in _KNOWN:
        _KNOWN[index] = tuple(_Blocks(Contexts(index)).all())
    return _KNOWN[index]


def loops(index: GraphIndex) -> tuple[Loop, ...]:
    """The while loops, in the order of `control_flow`."""
    return tuple(block for block in control_flow(index) if isinstance(block, Loop))


def conditionals(index: GraphIndex) -> tuple[Conditional, ...]:
    """The conditionals, in the order of `control_flow`."""
    return tuple(block for block in control_flow(index) if isinstance(block, Conditional))


def enclosing_blocks(index: GraphIndex, op: int) -> tuple[Loop | Conditional, ...]:
    """The loops and conditionals that an op belongs to, innermost first."""
    return tuple(block for block in reversed(control_flow(index)) if op in block.ops)


def control_flow_ops(index: GraphIndex) -> set[int]:
    """Ops of v1 while loops and conditionals, with their Enters or Switches and Exits or Merges."""
    return {op for block in control_flow(index) if block.outer is None for op in block.ops}


def predicate_source(index: GraphIndex, block: Conditional) -> Tensor:
    """The tensor that a predicate's value comes from, before Switches, Enters and Identities."""
    op, port = block.predicate
    visited: set[int] = set()
    while index.types[op] in FIRST_INPUT_FORWARDING and index.input_lists[op] and op not in visited:
        visited.add(op)
        op, port = index.input_lists[op][0], int(index.ports[int(index.inputs.start[op])])
    return op, port


class _Blocks:
    """The loops and conditionals that the contexts make up.

    Attributes:
        contexts: the context of each op.
        names: the name of each op.
        types: the type of each op.
        switches_and_merges: those of conditionals, without those of loops.
        frame: per context, that of the innermost loop around it; 0 for none.
        blocks: the loops and conditionals found so far, outer ones first.
        owner: the number of the innermost of these around an op.
    """

    def __init__(self, contexts: Contexts) -> None:
        self.contexts = contexts
        self.names = contexts.index.names
        self.types = contexts.index.types
        boundary_ops = [*contexts.opens.values(), *contexts.closes.values()]
        self.switches_and_merges = set(chain.from_iterable(boundary_ops))
        paths = map(contexts.path, range(len(contexts.key)))
        self.frame = [contexts.frame(reversed(path)) for path in paths]
        self.blocks: list[Block] = []
        self.owner: dict[int, int] = {}

    def all(self) -> list[Block]:
        """Outermost first, then in graph order."""
        contexts = self.contexts
        # A loop's context has the frame's name as its key. A conditional has a context per branch,
        # all with its predicate as their key; none of a branch that is empty.
        groups: dict[tuple[int, str | Tensor], list[int]] = {key: [] for key in contexts.opens}
        for context in range(1, len(contexts.key)):
            key = (contexts.parent[context], contexts.key[context])
            groups.setdefault(key, []).append(context)
        ops_in = self._ops_in_contexts()

        def depth(group: tuple[int, str | Tensor]) -> int:
            return len(contexts.path(group[0]))

        for group in sorted(groups, key=depth):
            around, key_of_group = group
            if isinstance(key_of_group, str):
                for context in groups[group]:
                    self._add_loops(key_of_group, context, ops_in[context])
            else:
                branches = {contexts.branch[context]: ops_in[context] for context in groups[group]}
                self._add_conditionals(around, key_of_group, branches)
        return sorted(self.blocks, key=lambda block: (_depth(block), min(block.ops)))

    def _ops_in_contexts(self) -> list[list[int]]:
        """The ops in each context, those of contexts inside it included."""
        ops_in: list[list[int]] = [[] for _ in self.contexts.key]
        # Looked up once per context, as there are many ops in one.
        paths = map(self.contexts.path, range(len(ops_in)))
        lists_to_extend = [[ops_in[outer] for outer in path] for path in paths]
        for op, context in enumerate(self.contexts.inside):
            for ops in lists_to_extend[context]:
                ops.append(op)
        return ops_in

    def _divide_by_owner(self, ops: Iterable[int]) -> list[tuple[Block | None, list[int]]]:
        """The ops in each block of those around some ops, and the block."""
        parts: defaultdict[int, list[int]] = defaultdict(list)
        for op in ops:
            parts[self.owner.get(op, -1)].append(op)
        return [(None if owner < 0 else self.blocks[owner], part) for owner, part in parts.items()]

    def _add(self, block: Block) -> None:
        """Add a block, which is the innermost so far around its ops."""
        self.owner.update(dict.fromkeys(block.ops, len(self.blocks)))
        self.blocks.append(block)

    def _add_loops(self, name: str, context: int, ops: list[int]) -> None:
        """Add the loops with the frame name of a context."""
        for outer, part in self._divide_by_owner(ops):
            for ops_of_loop in self._divide_by_condition(part, context):
                own = self._own(ops_of_loop, context, V1_CONTROL_FLOW) - self.switches_and_merges
                conditions = self._of_types(own, LOOP_CONDITION)
                loop = Loop(
                    name,
                    enters=self._of_types(own, ENTER),
                    merges=self._of_types(own, MERGE),
                    switches=self._of_types(own, SWITCH),
                    next_iterations=self._of_types(own, NEXT),
                    exits=self._of_types(own, EXIT),
                    condition=conditions[0] if conditions else None,
                    ops=frozenset(ops_of_loop),
                    outer=outer,
                )
                self._add(loop)

    def _of_types(self, ops: Iterable[int], types: Collection[str]) -> tuple[int, ...]:
        """The ops of some types, in graph order."""
        return tuple(sorted(op for op in ops if self.types[op] in types))

    def _own(self, ops: Iterable[int], context: int, types: Collection[str]) -> set[int]:
        """The ops of some types whose innermost loop is that of a context."""
        inside = self.contexts.inside
        return {op for op in ops if self.types[op] in types and self.frame[inside[op]] == context}

    def _divide_by_condition(self, ops: list[int], context: int) -> list[list[int]]:
        """Ops of one frame name as a list per LoopCond, that is, per loop.

        What is connected with none belongs to the one with the nearest name.
        """
        conditions = sorted(self._own(ops, context, LOOP_CONDITION))
        if len(conditions) < 2:
            return [ops]
        enters, exits = self._own(ops, context, ENTER), self._own(ops, context, EXIT)
        piece = self._connected_pieces(ops, enters, exits)
        loops: dict[int, list[int]] = {piece[op]: [] for op in conditions}
        loop_of_piece = {loop: loop for loop in loops}
        named_loops = [(self.names[op], piece[op]) for op in conditions]
        for op in ops:
            if piece[op] not in loop_of_piece:
                loop_of_piece[piece[op]] = self._nearest(op, named_loops)
            loops[loop_of_piece[piece[op]]].append(op)
        return list(loops.values())

    def _connected_pieces(
        self, ops: list[int], entries: Collection[int], exits: Collection[int]
    ) -> dict[int, int]:
        """A number for each op, equal where ops are connected.

        Edges into `entries` and out of `exits` do not connect.
        """
        if len(ops) < 2:
            return dict.fromkeys(ops, 0)
        position = {op: i for i, op in enumerate(ops)}
        edges: list[tuple[int, int]] = []
        for op in ops:
            if op not in entries:
                sources = [source for source in self.contexts.sources(op) if source in position]
                connected = (source for source in sources if source not in exits)
                edges += [(position[source], position[op]) for source in connected]
        pairs = np.array(edges, dtype=np.int32).reshape(-1, 2)
        return dict(zip(ops, weak_components(len(ops), pairs), strict=True))

    def _add_conditionals(
        self, around: int, predicate: Tensor, branches: dict[int, list[int]]
    ) -> None:
        """Add the conditionals on a predicate in the context `around`, with the ops per branch."""
        contexts = self.contexts
        switches = frozenset(contexts.opens.get((around, predicate), ()))
        merges = frozenset(contexts.closes.get((around, predicate), ()))
        count = max((*branches, 1)) + 1  # at least two, as either may be empty
        ops_of_branch = [frozenset(branches.get(number, ())) for number in range(count)]
        depth = len(contexts.path(around))
        for outer, part in self._divide_by_owner(sorted(switches.union(merges, *ops_of_branch))):
            members = defaultdict(list)
            for op, name in self._conditional_names(part, switches, merges, depth).items():
                members[name].append(op)
            for name, members_of_one in members.items():
                ops = frozenset(members_of_one)
                own_switches, own_merges = ops & switches, ops & merges
                boundary_ops = own_merges or own_switches or ops
                scope = name if isinstance(name, str) else self._common_scope(boundary_ops)
                conditional = Conditional(
                    scope,
                    predicate,
                    switches=tuple(sorted(own_switches)),
                    merges=tuple(sorted(own_merges)),
                    branches=tuple(ops & branch for branch in ops_of_branch),
                    ops=ops,
                    outer=outer,
                )
                self._add(conditional)

    def _conditional_names(
        self, ops: list[int], switches: frozenset[int], merges: frozenset[int], depth: int
    ) -> dict[int, str | int]:
        """The conditional of each op of one predicate.

        It is given by its name scope, or by a number where names do not show it. A conditional is
        its own Merges, what is named after it, and what these need. Others on its predicate may
        consume its ops, as its gradient does, but have Merges of their own. A loop is never
        divided.
        """
        scopes = set()
        for op in switches.intersection(ops):
            scope = self._scope_that_starts_at(op)
            if scope is not None:
                scopes.add(scope)
        if len(scopes) == 1:
            boundary_ops = (switches | merges).intersection(ops)
            if all(self._innermost(op, scopes) is not None for op in boundary_ops):
                return dict.fromkeys(ops, *scopes)

        names: dict[int, str | int] = {}
        if scopes:
            # The Merges first: what they need is theirs, also if its name says otherwise.
            loops = self._loops_of(ops, depth)
            inner_ops = frozenset(ops) - merges
            for first in (*sorted(merges.intersection(ops)), *ops):
                if first in names:
                    continue
                scope = self._innermost(first, scopes)
                if scope is not None:
                    for op in self._needed_by(first, names, switches, inner_ops, loops):
                        names[op] = scope
        self._name_others(ops, switches, merges, names)
        return names

    def _needed_by(
        self,
        first: int,
        names: Collection[int],
        switches: frozenset[int],
        inner_ops: frozenset[int],
        loops: dict[int, list[int]],
    ) -> list[int]:
        """An op with all that it needs in its conditional and that has no name yet.

        A loop of which an op is reached is reached as a whole, and removed from `loops`.
        """
        reached: dict[int, None] = {}
        stack = [first]
        while stack:
            op = stack.pop()
            if op not in names and op not in reached:
                reached[op] = None
                if op in loops:
                    stack += loops[op]
                    loops[op].clear()
                if op not in switches:
                    stack += [source for source in self.contexts.sources(op) if source in inner_ops]
        return list(reached)

    def _name_others(
        self,
        ops: list[int],
        switches: frozenset[int],
        merges: frozenset[int],
        names: dict[int, str | int],
    ) -> None:
        """Add the ops without a name to `names`, by pieces that are connected.

        A piece with Merges is a conditional. One without belongs to that of which it consumes a
        tensor, or to one with a name that is nearer.
        """
        unnamed = [op for op in ops if op not in names]
        pieces = defaultdict(list)
        for op, piece in self._connected_pieces(unnamed, switches, merges).items():
            pieces[piece].append(op)
        scopes: list[tuple[str, str | int]] = []
        pieces_with_merges = set()
        for piece, members in pieces.items():
            own_merges = merges.intersection(members)
            if own_merges:
                scopes.append((self._common_scope(own_merges), piece))
                pieces_with_merges.add(piece)
        for piece, members in pieces.items():
            home: str | int = piece
            if piece not in pieces_with_merges:
                consumed = self._first_named_source(members, names)
                if consumed is not None:
                    home = self._nearest(members[0], [(consumed, consumed), *scopes])
            names.update(dict.fromkeys(members, home))

    def _first_named_source(self, ops: list[int], names: dict[int, str | int]) -> str | None:
        """The scope of the first conditional of which one of the ops consumes a tensor."""
        for op in ops:
            for source in self.contexts.sources(op):
                name = names.get(source)
                if isinstance(name, str):
                    return name
        return None

    def _loops_of(self, ops: Collection[int], depth: int) -> dict[int, list[int]]:
        """For each op in a loop that is more than `depth` contexts deep, the ops of that loop.

        It is the outermost one. Its ops have one list, which they share.
        """
        contexts = self.contexts
        contexts_of_ops = {contexts.inside[op] for op in ops}
        loop = {
            context: contexts.frame(contexts.path(context)[depth:]) for context in contexts_of_ops
        }
        ops_of_loop: dict[int, list[int]] = {number: [] for number in loop.values()}
        result = {}
        for op in ops:
            number = loop[contexts.inside[op]]
            if number:
                ops_of_loop[number].append(op)
                result[op] = ops_of_loop[number]
        return result

    def _scope_that_starts_at(self, switch: int) -> str | None:
        """The scope of the conditional that a Switch starts; None if it starts none.

        The Switch that starts one decides on the predicate itself.
        """
        match = _PIVOT.fullmatch(self.names[switch])
        is_of_predicate = self.contexts.slot(switch, 0) == self.contexts.slot(switch, 1)
        return (match[1] or "") if match and is_of_predicate else None

    def _innermost(self, op: int, scopes: Collection[str]) -> str | None:
        """The innermost of the scopes around an op."""
        around = [scope for scope in ("", *enclosing_scopes(self.names[op])) if scope in scopes]
        return around[-1] if around else None

    def _common_scope(self, ops: Iterable[int]) -> str:
        """The innermost scope around all of the ops; the name of the first if there is none."""
        names = [self.names[op] for op in sorted(ops)]
        parts = [name.split("/")[:-1] for name in names]
        return "/".join(parts[0][: shared_prefix(parts)]) or names[0]

    def _nearest(self, op: int, scopes: Iterable[tuple[str, _Place]]) -> _Place:
        """The entry of the scope that an op's name has most in common with, or the first such."""
        parts = self.names[op].split("/")
        _, place = max(scopes, key=lambda scope: shared_prefix([scope[0].split("/"), parts]))
        return place


def _depth(block: Block) -> int:
    """How many loops and conditionals are around one."""
    return 0 if block.outer is None else 1 + _depth(block.outer)

"""What makes the state in a part of a graph whole: without it a copy could not be initialised, or never be filled.

The ops between two tensors hold a variable's handle and reads, a table's handle, a queue's dequeue; not the assign,
the initialiser, the enqueues with their files. Those are found from the handle on, and the handles that they need in
turn (a batch queue is filled by a reader, from a queue of file names).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tfgraphwidget.graph import walks
from tfgraphwidget.graph.contexts import ENTER, EXIT, V1_CONTROL_FLOW, V1_LOOPS
from tfgraphwidget.graph.filling import Filling, from_outside
from tfgraphwidget.graph.index import GraphIndex, VariableDef
from tfgraphwidget.graph.resources import by_key, key_of, keyed, of_type
from tfgraphwidget.graph.variables import HANDLES, definitions, is_placeholder, own_ops
from tfgraphwidget.names import split_tensor

_REGULARIZATION, _UPDATES = "regularization_losses", "update_ops"


def completed(
    index: GraphIndex,
    selected: Collection[int],
    given: Collection[int] = frozenset(),
    shared: Collection[int] = frozenset(),
) -> set[int]:
    """`selected` and what the state in it needs to be whole, less what `shared` holds.

    * Variables: assign, reads, checks, initial values. An initial value that depends on a placeholder, on a queue or
      on a v1 loop is not copied: the new variable's assign then reads the original's initial value.
    * Hash tables: what initialises them. Queues: what their runners run, without runners what enqueues; barriers and
      accumulators likewise. Iterators: what makes them, with the dataset. Staging areas: their other ends. A state of
      another kind: what writes to it from constants. All with what they need; what these need of placeholders is read
      from the original.
    * The regularisation losses on all that, and the update ops (moving averages) that read it, each with the variables
      that it keeps.

    `given` are the ops whose tensors come in from outside: nothing behind them is taken. `shared` are handles, or ends
    of staging areas, that a copy shares with the original: see `without_shared`.
    """
    walk = _Completing(index, frozenset(given), _with_ends(index, shared))
    whole = walk.whole(without_shared(index, selected, shared))
    for key in (_REGULARIZATION, _UPDATES):
        whole |= walk.whole(walk.belonging(whole, key))
    return whole


def without_shared(index: GraphIndex, ops: Collection[int], shared: Collection[int]) -> set[int]:
    """`ops` less some handles, what makes their state whole, and what nothing but that needs."""
    left = set(ops)
    if not shared:
        return left
    shared = _with_ends(index, shared)
    variables = definitions(index, [i for i in sorted(shared) if index.types[i] in HANDLES])
    gone = set(shared).union(*(own_ops(index, variable) for variable in variables.values()))
    filling = Filling(index)
    gone.update(i for handle in shared - variables.keys() for i in filling.ops(handle))
    left -= gone
    # An op goes with the last that needs it, and is reached from each of those.
    stack = list(gone)
    while stack:
        at = stack.pop()
        for before in index.input_lists[at] + index.control_lists[at]:
            if before in left and gone.issuperset(index.consumer_lists[before] + index.waiting_lists[before]):
                left.remove(before)
                gone.add(before)
                stack.append(before)
    return left


def _with_ends(index: GraphIndex, handles: Collection[int]) -> frozenset[int]:
    """Some handles, and the other ops that hold the same state; less what lives for one step: nobody shares that."""
    lasting = keyed(index)
    handles = {i for i in handles if lasting[i]}
    others = [i for i in handles if index.types[i] not in HANDLES]
    held = by_key(index) if others else {}
    return frozenset(handles).union(*(held.get(key_of(index, i), ()) for i in others))


@dataclass
class _Completing:
    """One completion. `whole` is linear in what it finds for variables; each round for other state in the graph."""

    index: GraphIndex
    given: frozenset[int]
    shared: frozenset[int]
    _filled: set[int] = field(default_factory=set)

    @cached_property
    def _outside(self) -> bytes:
        """`from_outside`, 1 or 0 for each op: read far faster one by one than an array."""
        return from_outside(self.index).tobytes()

    @cached_property
    def _unfit(self) -> bytes:
        """What no initial value that is copied may depend on."""
        return (from_outside(self.index) | of_type(self.index, V1_LOOPS.__contains__)).tobytes()

    @cached_property
    def _filling(self) -> Filling:
        return Filling(self.index)

    @cached_property
    def _states(self) -> dict[int, list[int]]:
        """Each op that holds a state other than a variable's, and all that hold the same."""
        return {i: ops for ops in by_key(self.index).values() for i in ops}

    def whole(self, ops: set[int]) -> set[int]:
        """Some ops, with all that makes the state among them whole."""
        whole, new = set(ops), set(ops)
        while new:
            handles = [i for i in sorted(new) if self.index.types[i] in HANDLES]
            found: set[int] = set()
            for variable in definitions(self.index, handles).values():
                found |= own_ops(self.index, variable)
                found |= self._initial_value_ops(variable)
            found |= self._filling_ops(whole, sorted(new & self._states.keys()))
            new = found - whole - self.shared
            whole |= new
        return whole

    def _initial_value_ops(self, variable: VariableDef) -> set[int]:
        """What the assign and the VariableDef's initial value need (TensorFlow may put a guard between the two)."""
        index, found, unfit = self.index, set[int](), self._unfit
        named = [split_tensor(variable.initial_value)[0]] if variable.initial_value else []
        stack = [index.ids[op] for op in named if op in index.ids]
        if variable.initializer in index.ids:
            assign = index.ids[variable.initializer]
            stack += index.input_lists[assign] + index.control_lists[assign]
        while stack:
            at = stack.pop()
            if at in found or at in self.shared or index.types[at] in HANDLES:
                continue
            if unfit[at]:
                return set()
            found.add(at)
            stack += index.input_lists[at] + index.control_lists[at]
        return found

    def _filling_ops(self, whole: set[int], holders: Iterable[int]) -> set[int]:
        """What fills the states that some ops hold, with what it needs."""
        held = {i for holder in holders for i in self._states[holder]} - self._filled
        self._filled |= held
        fill = (i for handle in sorted(held) for i in self._filling.ops(handle))
        return self._needed(whole, held, dict.fromkeys([*held, *fill])) if held else set()

    def _needed(self, whole: set[int], held: set[int], fill: Iterable[int]) -> set[int]:
        """Some ops that fill the states `held`, with what they need.

        Where that depends on a placeholder the original is read, but for what stands between the state and its filling:
        an enqueue in a branch.
        """
        index = self.index
        walked = ~walks.mask_of(index, whole | self.given | self.shared)
        fill = [i for i in fill if walked[i] and not self._in_a_loop(i)]
        needs = walks.backward(index, fill, within=walked)
        fed = needs & of_type(index, is_placeholder)
        behind = walks.forward(index, np.flatnonzero(fed), within=needs)
        touch = walks.forward(index, sorted(held), within=needs) | walks.mask_of(index, fill)
        found = walks.backward(index, fill, within=needs & (~behind | touch))
        return set(np.flatnonzero(found).tolist())

    def _in_a_loop(self, op: int) -> bool:
        """Whether an op runs in a v1 loop: its copy could not run outside."""
        enters, exits = of_type(self.index, ENTER.__contains__), of_type(self.index, EXIT.__contains__)
        return bool(enters.any() and (walks.backward(self.index, [op], within=~exits) & enters).any())

    def belonging(self, whole: set[int], key: str) -> set[int]:
        """Members of a collection that read ops of `whole`, with what they need; none that needs values from outside.

        A regularisation loss may read copied variables only; an update op brings along the variable that it updates,
        unless that is shared: the original's update keeps it.
        """
        index, found = self.index, set[int]()
        for member in index.collections.get(key, ()):
            op = index.ids.get(split_tensor(member.name)[0])
            stack = [] if op is None else [op]
            seen: set[int] = set()
            reads = False
            while stack:
                at = stack.pop()
                reads |= at in whole
                if at not in seen and at not in whole and at not in self.given:
                    seen.add(at)
                    stack += index.input_lists[at] + index.control_lists[at]
            foreign = HANDLES if key == _REGULARIZATION else frozenset()
            kinds = {index.types[i] for i in seen}
            alone = kinds.isdisjoint(foreign | V1_CONTROL_FLOW) and self.shared.isdisjoint(seen)
            if reads and alone and not any(self._outside[i] for i in seen):
                found |= seen
        return found

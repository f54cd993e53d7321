"""All ops that the state in a part of a graph needs: a copy without them could not be initialized
or filled.

The ops between two tensors hold a variable's handle and reads, a table's handle, a queue's dequeue;
not the assign, the initializer, the enqueues with their files. Those are found from the handle on,
and the handles that they need in turn (a batch queue is filled by a reader, from a queue of file
names).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

import numpy as np

from tfgraphwidget.graph import traversal
from tfgraphwidget.graph.control_flow import control_flow
from tfgraphwidget.graph.edges import Mask
from tfgraphwidget.graph.index import GraphIndex, VariableDef
from tfgraphwidget.graph.op_effects import writes
from tfgraphwidget.graph.op_types import ENTER, EXIT, HANDLES
from tfgraphwidget.graph.state_initializers import StateWriters, computed_from_outside, from_outside
from tfgraphwidget.graph.stateful_resources import (
    by_key,
    is_reference,
    key_of,
    of_type,
    persistent_state,
    resources_of,
    users,
)
from tfgraphwidget.graph.variables import definitions, is_placeholder, own_ops
from tfgraphwidget.naming import enclosing_scopes, split_tensor

_REGULARIZATION, _UPDATES = "regularization_losses", "update_ops"


def complete_state(
    index: GraphIndex,
    selected: Collection[int],
    boundary: Collection[int] = frozenset(),
    shared: Collection[int] = frozenset(),
) -> set[int]:
    """`selected` and what the state in it needs to be whole, less what `shared` holds.

    * Variables: assign, reads, checks, initial values. An initial value that is computed from a
      placeholder or a queue, or in a v1 loop, is not copied: the new variable's assign then reads
      the original's initial value.
    * Hash tables: what initializes them. Queues: what their runners run, without runners what
      enqueues; barriers and accumulators likewise. Iterators: what makes them, with the dataset.
      Staging areas: their other ends. A state of another kind: what writes to it from constants.
      All with what they need; what these need of placeholders is read from the original.
    * What writes to a variable, or to other state in the part, before an op of the part may run: as
      an op outside the copy would wait for the original's write. What is computed from placeholders
      is read from the original.
    * The regularisation losses on all that, and the update ops (moving averages) that read it, each
      with the variables that it keeps.

    `boundary` are the ops whose tensors come in from outside: nothing that they need is taken.
    `shared` are handles, or ends of staging areas, that a copy shares with the original: see
    `without_shared`.
    """
    shared_ops = traversal.mask_of(index, _with_holders(index, shared))
    walk = _Completing(index, traversal.mask_of(index, boundary), shared_ops)
    whole = walk.whole(traversal.mask_of(index, without_shared(index, selected, shared)))
    for key in (_REGULARIZATION, _UPDATES):
        whole |= walk.whole(walk.belonging(whole, key))
    return set(np.flatnonzero(whole).tolist())


def without_shared(index: GraphIndex, ops: Collection[int], shared: Collection[int]) -> set[int]:
    """The ops without shared state: the handles `shared`, with the ops that fill or initialize
    their state, and all that only these need.
    """
    remaining = set(ops)
    if not shared:
        return remaining
    shared = _with_holders(index, shared)
    variables = definitions(index, [i for i in sorted(shared) if index.types[i] in HANDLES])
    removed = set(shared).union(*(own_ops(index, variable) for variable in variables.values()))
    filling = StateWriters(index)
    removed.update(i for handle in shared - variables.keys() for i in filling.ops(handle))
    remaining -= removed
    # An op goes with the last that needs it, and is reached from each of those.
    stack = list(removed)
    while stack:
        at = stack.pop()
        for before in index.input_lists[at] + index.control_lists[at]:
            if before not in remaining:
                continue
            consumers = index.consumer_lists[before] + index.control_consumer_lists[before]
            if removed.issuperset(consumers):
                remaining.remove(before)
                removed.add(before)
                stack.append(before)
    return remaining


def unused_slots(index: GraphIndex, ops: Collection[int]) -> frozenset[int]:
    """The variables among `ops` that are kept beside another one, as an optimizer and a moving
    average keep them, and that only ops outside of `ops` use.

    TensorFlow names such a slot below the name of its variable, "net/w/Adam", so that a scope has
    the slots of its variables in it.
    """
    members = frozenset(ops)
    handles_here = sorted(i for i in members if index.types[i] in HANDLES)
    names = {index.names[i] for i in handles_here}
    below = [i for i in handles_here if not names.isdisjoint(enclosing_scopes(index.names[i]))]
    slots = set()
    for handle, variable in definitions(index, below).items():
        if variable.handle in index.defined_variables and variable.trainable:
            continue
        used_by = set(users(index, handle)) - own_ops(index, variable)
        if used_by and used_by.isdisjoint(members):
            slots.add(handle)
    return frozenset(slots)


def _with_holders(index: GraphIndex, handles: Collection[int]) -> frozenset[int]:
    """Some handles, and other ops that hold the same state, unless it lives for one step."""
    lasting = persistent_state(index)
    handles = {i for i in handles if lasting[i]}
    others = [i for i in handles if index.types[i] not in HANDLES]
    ops_by_key = by_key(index) if others else {}
    return frozenset(handles).union(*(ops_by_key.get(key_of(index, i), ()) for i in others))


@dataclass
class _Completing:
    """One completion. Walks go over all variables, states or members at once."""

    index: GraphIndex
    boundary: Mask
    shared: Mask
    _filled: set[int] = field(default_factory=set)

    @cached_property
    def _handles(self) -> Mask:
        return of_type(self.index, HANDLES.__contains__)

    @cached_property
    def _filling(self) -> StateWriters:
        return StateWriters(self.index)

    @cached_property
    def _states(self) -> dict[int, list[int]]:
        """Each op that holds a state other than a variable's, and all that hold the same."""
        states: dict[int, list[int]] = {}
        for ops in by_key(self.index).values():
            states |= dict.fromkeys(ops, ops)
        return states

    def whole(self, ops: Mask) -> Mask:
        """Some ops, with all that makes the state among them whole."""
        index = self.index
        whole, new = ops.copy(), ops
        while new.any():
            mask = np.zeros(len(index), dtype=bool)
            variables = definitions(index, np.flatnonzero(new & self._handles).tolist()).values()
            for variable in variables:
                mask[list(own_ops(index, variable))] = True
            if variables:
                mask |= self._initial_value_ops(variables)
            holders = np.flatnonzero(new & persistent_state(index) & ~self._handles).tolist()
            if holders:
                mask |= self._filling_ops(whole, holders)
            mask |= self._writes_before(whole | mask)
            new = mask & ~whole & ~self.shared
            whole |= new
        return whole

    def _writes_before(self, whole: Mask) -> Mask:
        """The ops that write to state before some op of `whole` may run, with their inputs.

        Variables count wherever they are, other state only where it is in `whole`: an enqueue to
        the queue of another pipeline is that one's. A consumer of what a write to a reference
        variable returns reads that variable.
        """
        index, none = self.index, np.zeros(len(self.index), dtype=bool)
        walked = ~(whole | self.boundary | self.shared)
        control_inputs = index.controls.values[whole[index.controls.owner]]
        read = traversal.mask_of(index, index.inputs.values[whole[index.inputs.owner]]) & walked
        references = [i for i in np.flatnonzero(read).tolist() if is_reference(index, i)]
        first = [*control_inputs[walked[control_inputs]].tolist(), *references]
        if not first:
            return none
        before = traversal.backward(index, first, within=walked)
        states = resources_of(index, writes(index, np.flatnonzero(before).tolist()))
        states &= (whole | self._handles) & ~(self.boundary | self.shared)
        if not states.any():
            return none
        writes_before = traversal.forward(index, np.flatnonzero(states | whole), within=before)
        writes_before &= before | states
        within = writes_before | (before & ~computed_from_outside(index))
        last = np.flatnonzero(writes_before)
        return traversal.backward(index, last, within=within, controls=False)

    def _initial_value_ops(self, variables: Iterable[VariableDef]) -> Mask:
        """The ops that the assigns and the VariableDefs' initial values need; TensorFlow may put a
        guard between them.

        Nothing for a variable of which that depends on a value from outside.
        """
        index, within = self.index, ~(self.shared | self._handles)
        needed = [self._initial_values(variable, within) for variable in variables]
        seeds = chain.from_iterable(ops for ops, _ in needed)
        needed_ops = traversal.backward(index, seeds, within=within)
        foreign = needed_ops & (from_outside(index) | self._in_a_loop)
        if foreign.any():
            unfit = traversal.forward(
                index, np.flatnonzero(foreign), within=needed_ops, controls=False
            )
            # An assign may wait for what is not fit, but it cannot read that.
            fit = []
            for ops, reads in needed:
                if not unfit[reads].any():
                    fit += [i for i in ops if not unfit[i]]
            needed_ops = traversal.backward(index, fit, within=within & ~unfit)
        # A value that waits for another variable's initializer: the copy must not initialize the
        # original's again.
        written = resources_of(index, writes(index, np.flatnonzero(needed_ops).tolist()))
        return needed_ops | (written & self._handles)

    def _initial_values(self, variable: VariableDef, within: Mask) -> tuple[list[int], list[int]]:
        """The op of a VariableDef's initial value, and what its assign reads and waits for; those
        not waited for.
        """
        index, reads, waits = self.index, list[int](), list[int]()
        if variable.initial_value:
            op = index.ids.get(split_tensor(variable.initial_value)[0])
            if op is not None:
                reads.append(op)
        if variable.initializer in index.ids:
            assign = index.ids[variable.initializer]
            reads += index.input_lists[assign]
            waits += index.control_lists[assign]
        reads = [i for i in reads if within[i]]
        return reads + [i for i in waits if within[i]], reads

    def _filling_ops(self, whole: Mask, holders: Iterable[int]) -> Mask:
        """The ops that fill the state that some ops hold, with their inputs."""
        states = set[int]().union(*(self._states[holder] for holder in holders)) - self._filled
        if not states:
            return np.zeros(len(self.index), dtype=bool)
        self._filled |= states
        fill = chain.from_iterable(map(self._filling.ops, sorted(states)))
        return self._needed_ops(whole, states, dict.fromkeys([*states, *fill]))

    def _needed_ops(self, whole: Mask, states: set[int], fill: Iterable[int]) -> Mask:
        """Some ops that fill the states `states`, with what they need.

        Where that depends on a placeholder the original is read, but for what stands between the
        state and its filling: an enqueue in a branch.
        """
        index = self.index
        walked = ~(whole | self.boundary | self.shared)
        fill = [i for i in fill if walked[i] and not self._in_a_loop[i]]
        needs = traversal.backward(index, fill, within=walked)
        fed = needs & of_type(index, is_placeholder)
        downstream = traversal.forward(index, np.flatnonzero(fed), within=needs, controls=False)
        touch = traversal.forward(index, sorted(states), within=needs)
        touch |= traversal.mask_of(index, fill)
        return traversal.backward(index, fill, within=needs & (~downstream | touch))

    @cached_property
    def _in_a_loop(self) -> Mask:
        """Which ops run in a v1 loop, its Exits too: their copies could not run outside."""
        index = self.index
        enters, exits = of_type(index, ENTER.__contains__), of_type(index, EXIT.__contains__)
        return exits | traversal.forward(index, np.flatnonzero(enters), within=~exits)

    @cached_property
    def _in_control_flow(self) -> Mask:
        """Which ops run in a v1 loop or conditional, its Exits and Merges too."""
        return traversal.mask_of(
            self.index, chain.from_iterable(block.ops for block in control_flow(self.index))
        )

    def _read_elsewhere(self, computed: Mask, near: Mask, members: list[int]) -> Mask:
        """Which of `computed` lead out of `near` other than to summaries, and all after them."""
        index = self.index
        consumers, owner = index.consumers.values, index.consumers.owner
        leads_out = ~near & ~of_type(index, lambda op_type: "Summary" in op_type)
        leaving = traversal.mask_of(index, owner[leads_out[consumers]]) & computed
        leaving[members] = False
        on_the_way = traversal.backward(
            index, np.flatnonzero(leaving), within=computed, controls=False
        )
        return traversal.forward(index, np.flatnonzero(on_the_way), within=computed, controls=False)

    def belonging(self, whole: Mask, key: str) -> Mask:
        """Members of a collection that read ops of `whole`, with what they need; none that needs
        values from outside.

        A regularisation loss may read copied variables only; an update op brings along the variable
        that it updates, unless that is shared: the original's update keeps it. What it computes
        from the part must serve updates only: the next layer's batch norm is not of this part,
        although its moving averages depend on it. What only waits for an op outside is copied too,
        unless that op writes to a variable: run before the copy's update, it would change the
        original's.
        """
        index, walked = self.index, ~(whole | self.boundary)
        names = (split_tensor(member.name)[0] for member in index.collections.get(key, ()))
        ops = [index.ids[name] for name in names if name in index.ids]
        members = [op for op in ops if walked[op]]
        if not members:
            return np.zeros(len(index), dtype=bool)
        needed = traversal.backward(index, members, within=walked)
        barred = self._in_control_flow
        if key == _REGULARIZATION:
            barred = barred | self._handles
        foreign = needed & (self.shared | from_outside(index) | barred)
        unfit = traversal.forward(index, np.flatnonzero(foreign), within=needed, controls=False)
        written_state = writes(index, np.flatnonzero(unfit).tolist())
        unfit |= traversal.forward(index, np.flatnonzero(written_state), within=needed)
        consumers = index.consumer_edges.to[whole[index.consumer_edges.owner]]
        reads = traversal.forward(index, consumers[needed[consumers]], within=needed)
        unfit |= self._read_elsewhere(reads, needed | whole, members)
        fit = (op for op in members if reads[op] and not unfit[op])
        return traversal.backward(index, fit, within=walked & ~unfit)

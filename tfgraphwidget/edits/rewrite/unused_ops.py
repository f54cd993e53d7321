"""Unused ops: what edits have left without consumers, with what only such ops need."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

import numpy as np

from tfgraphwidget.edits.patch import Patch
from tfgraphwidget.edits.rewire.gradients import scope_of_gradients
from tfgraphwidget.edits.rewrite.remove import no_longer_needed, unprunable_ops
from tfgraphwidget.graph import GraphIndex, Mask, persistent_state, traversal
from tfgraphwidget.naming import colocated_with, split_input, split_tensor

# Drawing random numbers is a side effect, but of no use when nothing reads them.
_DRAWS = re.compile(r".*Random(Uniform|Standard|Gamma|Poisson|Shuffle|Normal).*|.*TruncatedNormal|Multinomial")


def find_unused_ops(
    index: GraphIndex, patches: Iterable[Patch], external: Collection[str], renamed: Mapping[str, str]
) -> tuple[int, ...]:
    """Find the ops that a consumer has stopped reading, and that nothing needs now, with the ops that only they need.

    Ops that had no consumers from the start are results of the graph, and what is never pruned (see `Remove`) stays.
    Gradient ops of unused ops are no results: they are unused, too.

    Args:
        index: The graph.
        patches: The edits that made it what it is, oldest first.
        external: The ops and tensors that are named outside of the graph, and the boundary that the user marked.
        renamed: The names of the ops that edits have renamed, by those before: gradient ops are named after these.

    Returns:
        The numbers of the ops, ascending.
    """
    abandoned = {index.ids[name] for name in _abandoned_ops(patches) if name in index.ids}
    if not abandoned:
        return ()
    stand_ins = _stand_ins_of_detached(index, patches)
    is_needed = _needed_ops(index, external, stand_ins)
    ends = [op for op in range(len(index)) if not index.consumer_lists[op] and not index.waiting_lists[op]]
    ends = [op for op in ends if op not in abandoned]
    uses = _Uses(index, is_needed)
    gradients = [op for op in ends if scope_of_gradients(index, ~is_needed, index.names[op], renamed)]
    while True:
        used = uses.of(op for op in ends if op not in gradients)
        remaining = [op for op in gradients if scope_of_gradients(index, ~used, index.names[op], renamed)]
        if remaining == gradients:
            break
        gradients = remaining
    unused: set[int] = set()
    more = {op for op in abandoned if not used[op]}
    while more:
        unused |= set(np.flatnonzero(traversal.forward(index, more)).tolist())
        unused |= no_longer_needed(index, unused, is_needed | uses.colocation_targets(used), stand_ins)
        mask = traversal.mask_of(index, unused)
        more = {op for op in gradients if not mask[op] and scope_of_gradients(index, mask, index.names[op], renamed)}
    return tuple(sorted(unused))


class _Uses:
    """What ops of use need: their inputs, what they wait for, and what they are colocated with."""

    def __init__(self, index: GraphIndex, is_needed: Mask) -> None:
        self._index, self._needed = index, np.flatnonzero(is_needed).tolist()
        pairs = ((op, name) for op, node in enumerate(index.nodes) for name in colocated_with(node))
        self._colocations = [(op, index.ids[name]) for op, name in pairs if name in index.ids]

    def of(self, results: Iterable[int]) -> Mask:
        """The ops that the needed ops and the results need, and these themselves."""
        more = [*self._needed, *results]
        used = np.zeros(len(self._index), dtype=bool)
        while more:
            used |= traversal.backward(self._index, more)
            more = np.flatnonzero(self.colocation_targets(used) & ~used).tolist()
        return used

    def colocation_targets(self, used: Mask) -> Mask:
        """The ops that used ops are colocated with."""
        return traversal.mask_of(self._index, (other for op, other in self._colocations if used[op]))


def _needed_ops(index: GraphIndex, external: Collection[str], stand_ins: set[int]) -> Mask:
    """The ops that are of use whether or not an op reads them."""
    is_needed = unprunable_ops(index, {split_tensor(name)[0] for name in external}, colocations=False)
    state = persistent_state(index)
    ends = {index.ids[op] for op in (split_tensor(name)[0] for name in external) if op in index.ids}
    members = {split_tensor(member.name)[0] for some in index.collections.values() for member in some}
    for op in np.flatnonzero(is_needed & ~state).tolist():
        is_no_result = op in stand_ins or _DRAWS.fullmatch(index.types[op])
        if is_no_result and op not in ends and index.names[op] not in members:
            is_needed[op] = False
    return is_needed


def _abandoned_ops(patches: Iterable[Patch]) -> set[str]:
    """The names, after all patches, of ops that some op has stopped reading."""
    names: set[str] = set()
    for patch in patches:
        names |= _no_longer_read(patch)
        renamed = dict(patch.renamed)
        names = {renamed.get(name, name) for name in names}
    return names


def _no_longer_read(patch: Patch) -> set[str]:
    return {op for each in patch.changed for op in _producers(each.before.input) - _producers(each.after.input)}


def _stand_ins_of_detached(index: GraphIndex, patches: Iterable[Patch]) -> set[int]:
    """The placeholders that ops have read since an edit cut them off from what comes before and from their consumers.

    They are no inputs that a user knows: the way from them to the ops without consumers is what was cut off.
    """
    cuts: list[tuple[set[str], set[str]]] = []
    for patch in patches:
        new = {node.name for node in patch.add.nodes if node.op == "Placeholder"}
        read = {op for each in patch.changed for op in _producers(each.after.input)} & new
        renamed = dict(patch.renamed)
        cuts = [
            ({renamed.get(name, name) for name in inputs}, {renamed.get(name, name) for name in outputs})
            for inputs, outputs in (*cuts, *([(read, _no_longer_read(patch))] if read else []))
        ]
    stand_ins: set[int] = set()
    for inputs, outputs in cuts:
        abandoned = [index.ids[name] for name in outputs if name in index.ids]
        for op in [index.ids[name] for name in inputs if name in index.ids]:
            if traversal.forward(index, [op])[abandoned].any():
                stand_ins.add(op)
    return stand_ins


def _producers(inputs: Iterable[str]) -> set[str]:
    return {op for op, port in map(split_input, inputs) if port >= 0}

"""Unused ops: what edits have left without consumers, with what only such ops need."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

import numpy as np

from tfgraphwidget.edits.patch import Patch
from tfgraphwidget.edits.rewrite.remove import no_longer_needed, unprunable_ops
from tfgraphwidget.graph import GraphIndex, persistent_state
from tfgraphwidget.naming import split_input, split_tensor

# Drawing random numbers is a side effect, but of no use when nothing reads them.
_DRAWS = re.compile(r".*Random(Uniform|Standard|Gamma|Poisson|Shuffle|Normal).*|.*TruncatedNormal|Multinomial")


def find_unused_ops(index: GraphIndex, patches: Iterable[Patch], external: Collection[str]) -> tuple[int, ...]:
    """Find the ops that a consumer has stopped reading, and that have none now, with the ops that only they need.

    Ops that had no consumers from the start are results of the graph, and what is never pruned (see `Remove`) stays.

    Args:
        index: The graph.
        patches: The edits that made it what it is, oldest first.
        external: The ops and tensors that are named outside of the graph, and the boundary that the user marked.

    Returns:
        The numbers of the ops, ascending.
    """
    ops = [index.ids[name] for name in _abandoned_ops(patches) if name in index.ids]
    ops = [op for op in ops if not index.consumer_lists[op] and not index.waiting_lists[op]]
    if not ops:
        return ()
    is_needed = unprunable_ops(index, {split_tensor(name)[0] for name in external})
    state = persistent_state(index)
    ends = {index.ids[op] for op in (split_tensor(name)[0] for name in external) if op in index.ids}
    members = {split_tensor(member.name)[0] for some in index.collections.values() for member in some}
    for op in np.flatnonzero(is_needed & ~state).tolist():
        if _DRAWS.fullmatch(index.types[op]) and op not in ends and index.names[op] not in members:
            is_needed[op] = False
    unused = {op for op in ops if not is_needed[op]}
    return tuple(sorted(unused | no_longer_needed(index, unused, is_needed)))


def _abandoned_ops(patches: Iterable[Patch]) -> set[str]:
    """The names, after all patches, of ops that some op has stopped reading."""
    names: set[str] = set()
    for patch in patches:
        for change in patch.changed:
            names |= _producers(change.before.input) - _producers(change.after.input)
        renamed = dict(patch.renamed)
        names = {renamed.get(name, name) for name in names}
    return names


def _producers(inputs: Iterable[str]) -> set[str]:
    return {op for op, port in map(split_input, inputs) if port >= 0}

"""Unused ops: what edits have left without consumers, with what only such ops need."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

import numpy as np

from tfgraphwidget.edits.patch import Patch
from tfgraphwidget.edits.rewire.gradients import scope_of_gradients
from tfgraphwidget.edits.rewrite.remove import no_longer_needed, unprunable_ops
from tfgraphwidget.graph import GraphIndex, Mask, collection_ops, persistent_state, traversal
from tfgraphwidget.naming import colocated_with, split_input, split_tensor

# Types of ops that draw random numbers: a side effect, but of no use when nothing consumes them.
_DRAWS = re.compile(
    r".*Random(Uniform|Standard|Gamma|Poisson|Shuffle|Normal).*|.*TruncatedNormal|Multinomial"
)


def find_unused_ops(
    index: GraphIndex,
    patches: Iterable[Patch],
    external: Collection[str],
    renamed: Mapping[str, str],
) -> tuple[int, ...]:
    """Find the ops that a consumer has stopped reading, and that nothing needs now, with the ops
    that only they need.

    Ops that had no consumers from the start are results of the graph, and what is never pruned (see
    `Remove`) stays. Gradient ops of unused ops are not results: they are unused, too.

    Args:
        patches: The edits that made it what it is, oldest first.
        external: The ops and tensors that are named outside of the graph, and the boundary that the
            user marked.
        renamed: The names of the ops that edits have renamed, by those before: gradient ops are
            named after these.
    """
    abandoned = {index.ids[name] for name in _abandoned_ops(patches) if name in index.ids}
    if not abandoned:
        return ()
    stand_ins = _stand_ins_of_detached(index, patches)
    is_needed = _needed_ops(index, external, stand_ins)
    uses = _Uses(index, is_needed)

    def gradients_of(ops: Mask, candidates: Iterable[int]) -> list[int]:
        """Those of the candidates that are gradients of some ops, by their names."""
        return [op for op in candidates if scope_of_gradients(index, ops, index.names[op], renamed)]

    # The results that are gradients of unused ops are unused. Without them more ops are, of which
    # other results may be the gradients: until nothing changes.
    results = [
        op
        for op in range(len(index))
        if not index.consumer_lists[op]
        and not index.control_consumer_lists[op]
        and op not in abandoned
    ]
    gradients = gradients_of(~is_needed, results)
    while True:
        used = uses.of(op for op in results if op not in gradients)
        remaining = gradients_of(~used, gradients)
        if remaining == gradients:
            break
        gradients = remaining

    unused: set[int] = set()
    new = {op for op in abandoned if not used[op]}
    while new:
        unused |= set(np.flatnonzero(traversal.forward(index, new)).tolist())
        is_kept = is_needed | uses.colocation_targets(used)
        unused |= no_longer_needed(index, unused, is_kept, stand_ins)
        is_unused = traversal.mask_of(index, unused)
        new = set(gradients_of(is_unused, [op for op in gradients if not is_unused[op]]))
    return tuple(sorted(unused))


class _Uses:
    """What ops of use need: their inputs, what they wait for, and what they are colocated with."""

    def __init__(self, index: GraphIndex, is_needed: Mask) -> None:
        self._index = index
        self._needed = np.flatnonzero(is_needed).tolist()
        self._colocations: list[tuple[int, int]] = []  # ops, and what they are colocated with
        for op, node in enumerate(index.nodes):
            others = [index.ids[name] for name in colocated_with(node) if name in index.ids]
            self._colocations += [(op, other) for other in others]

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
        return traversal.mask_of(
            self._index, (other for op, other in self._colocations if used[op])
        )


def _needed_ops(index: GraphIndex, external: Collection[str], stand_ins: set[int]) -> Mask:
    """The ops that are of use whether or not an op consumes them."""
    external_ops = {split_tensor(name)[0] for name in external}
    named_ops = external_ops | collection_ops(index)
    is_needed = unprunable_ops(index, external_ops, colocations=False)
    for op in np.flatnonzero(is_needed & ~persistent_state(index)).tolist():
        can_be_unused = op in stand_ins or _DRAWS.fullmatch(index.types[op])
        if can_be_unused and index.names[op] not in named_ops:
            is_needed[op] = False
    return is_needed


def _abandoned_ops(patches: Iterable[Patch]) -> set[str]:
    """The names, after all patches, of ops that some op has stopped consuming."""
    names: set[str] = set()
    for patch in patches:
        names = _renamed_ops(patch, names | _no_longer_consumed(patch))
    return names


def _renamed_ops(patch: Patch, names: Collection[str]) -> set[str]:
    """The names of some ops after a patch."""
    renamed = dict(patch.renamed)
    return {renamed.get(name, name) for name in names}


def _no_longer_consumed(patch: Patch) -> set[str]:
    """The ops that some op consumes before a patch and not after it."""
    names: set[str] = set()
    for edited in patch.changed:
        names |= _sources(edited.before.input) - _sources(edited.after.input)
    return names


def _stand_ins_of_detached(index: GraphIndex, patches: Iterable[Patch]) -> set[int]:
    """The placeholders of ops that an edit has cut off, from their inputs and their consumers.

    They are not inputs that a user knows: the way from them to the ops without consumers is what
    was cut off.
    """
    # Per edit that made placeholders, these and the ops without consumers.
    cuts: list[tuple[set[str], set[str]]] = []
    for patch in patches:
        consumed = set[str]().union(*(_sources(edited.after.input) for edited in patch.changed))
        placeholders = {node.name for node in patch.add.nodes if node.op == "Placeholder"}
        placeholders &= consumed
        if placeholders:
            cuts.append((placeholders, _no_longer_consumed(patch)))
        cuts = [
            (_renamed_ops(patch, inputs), _renamed_ops(patch, outputs)) for inputs, outputs in cuts
        ]
    stand_ins: set[int] = set()
    for inputs, outputs in cuts:
        abandoned = [index.ids[name] for name in outputs if name in index.ids]
        for name in inputs:
            if name in index.ids:
                op = index.ids[name]
                if traversal.forward(index, [op])[abandoned].any():
                    stand_ins.add(op)
    return stand_ins


def _sources(inputs: Iterable[str]) -> set[str]:
    """The ops whose tensors are some inputs of a NodeDef."""
    return {op for op, port in map(split_input, inputs) if port >= 0}

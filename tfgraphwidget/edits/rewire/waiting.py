"""Control edges that an edit leaves over: ops that wait for an op without consumers, and what was
waited for by an op that is read no more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tfgraphwidget.edits.patch import Patch
from tfgraphwidget.graph import (
    CONSTANTS,
    NEXT,
    GraphIndex,
    Mask,
    computed_from_outside,
    control_flow_ops,
    of_type,
    traversal,
    walk_from,
)
from tfgraphwidget.naming import names_text, split_input
from tfgraphwidget.sentences import editor_call
from tfgraphwidget.tf_types import NodeDef


def waits_of(index: GraphIndex, ops: Collection[int], unread: Iterable[int]) -> list[int]:
    """The ops outside of a part that it waits for, in graph order, by itself or by a constant or a
    variable's read that it reads.

    Of two ops that are made under `tf.control_dependencies` TensorFlow lets only the first wait: in
    `x * 2`, the 2. In a loop or branch a constant also waits to be in there, so what waits there in
    place of another op is not known.

    Args:
        unread: The ops whose outputs nothing reads in place of the part, though it reads them.
    """
    constants = [op for op in ops if index.types[op] in CONSTANTS]
    waits = _waits_of_sources(index, [*constants, *unread])
    for op in ops:
        if index.types[op] not in CONSTANTS:
            waits.update(index.control_lists[op])
    return sorted(waits.difference(ops))


def runs_before(index: GraphIndex, ops: Iterable[int]) -> Mask:
    """The ops that have run before some ops do, these included; of a loop in the same round."""
    in_round = ~of_type(index, NEXT.__contains__)
    return traversal.backward(index, ops, within=in_round)


def _waits_of_sources(index: GraphIndex, ops: Iterable[int]) -> set[int]:
    """The control inputs of those ops that depend on no input of the graph, and of what these are
    computed from.
    """
    fed = computed_from_outside(index)
    unfed = walk_from(
        (op for op in ops if not fed[op]),
        lambda op: (source for source in index.input_lists[op] if not fed[source]),
    )
    waits = {before for op in unfed for before in index.control_lists[op]}
    return waits - control_flow_ops(index) if waits else waits


def waiting_notes(index: GraphIndex, patch: Patch) -> tuple[str, ...]:
    """A sentence for each op left without consumers that others still wait for."""
    removed = {node.name for node in patch.remove.nodes}
    lost_a_consumer: set[str] = set()
    for change in patch.changed:
        lost_a_consumer |= _sources(change.before) - _sources(change.after)
    lost_a_consumer -= removed
    if not lost_a_consumer:
        return ()
    changed = {change.name: change.after for change in patch.changed}

    def after_patch(ops: Iterable[int]) -> list[NodeDef]:
        """The NodeDefs of those of the ops that stay."""
        staying = [op for op in ops if index.names[op] not in removed]
        return [changed.get(index.names[op], index.nodes[op]) for op in staying]

    read_by_new_ops = {name for node in patch.add.nodes for name in _sources(node)}
    unread = lost_a_consumer - read_by_new_ops
    notes = []
    for op in sorted(index.ids[name] for name in unread if name in index.ids):
        name = index.names[op]
        if any(name in _sources(node) for node in after_patch(index.consumer_lists[op])):
            continue
        waiting = after_patch(index.control_consumer_lists[op])
        if names := [node.name for node in waiting if f"^{name}" in node.input]:
            notes.append(_note(name, names))
    return tuple(notes)


def _sources(node: NodeDef) -> set[str]:
    """The ops whose outputs an op reads."""
    return {split_input(text)[0] for text in node.input if text[:1] != "^"}


def _note(name: str, waiting: list[str]) -> str:
    wait, they = ("waits", "it") if len(waiting) == 1 else ("wait", "them")
    return (
        f"{names_text(waiting)} still {wait} for {name!r}, which has no consumers any more; let "
        f"{they} wait for "
        "another op: " + editor_call("reroute", f'"^{name}", "^…"') + "."
    )

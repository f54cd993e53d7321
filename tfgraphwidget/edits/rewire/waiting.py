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
    own = (op for op in ops if index.types[op] not in CONSTANTS)
    waits = {waited for op in own for waited in index.control_lists[op]}
    constants = (op for op in ops if index.types[op] in CONSTANTS)
    waits |= _waits_of_sources(index, [*constants, *unread])
    return sorted(waits.difference(ops))


def runs_before(index: GraphIndex, ops: Iterable[int]) -> Mask:
    """The ops that have run before some ops do, these included; of a loop in the same round."""
    in_round = ~of_type(index, NEXT.__contains__)
    return traversal.backward(index, ops, within=in_round)


def _waits_of_sources(index: GraphIndex, ops: Iterable[int]) -> set[int]:
    """What ops wait for, and what they are computed from, that depend on no input."""
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
    left = {
        name
        for change in patch.changed
        for name in _sources(change.before) - _sources(change.after)
    } - removed
    if not left:
        return ()
    changed = {change.name: change.after for change in patch.changed}
    read = {name for node in patch.add.nodes for name in _sources(node)}
    notes = []
    for op in sorted(index.ids[name] for name in left - read if name in index.ids):
        name = index.names[op]
        consumers, waiting = (
            [
                changed.get(index.names[other], index.nodes[other])
                for other in ops
                if index.names[other] not in removed
            ]
            for ops in (index.consumer_lists[op], index.control_consumer_lists[op])
        )
        names = [node.name for node in waiting if f"^{name}" in node.input]
        if names and not any(name in _sources(node) for node in consumers):
            notes.append(_note(name, names))
    return tuple(notes)


def _sources(node: NodeDef) -> set[str]:
    """The ops whose outputs an op reads."""
    return {split_input(text)[0] for text in node.input if text[:1] != "^"}


def _note(name: str, waiting: list[str]) -> str:
    who, wait, they = (
        (repr(waiting[0]), "waits", "it")
        if len(waiting) == 1
        else (names_text(waiting), "wait", "them")
    )
    return (
        f"{who} still {wait} for {name!r}, which has no consumers any more; let {they} wait for "
        "another op: " + editor_call("reroute", f'"^{name}", "^…"') + "."
    )

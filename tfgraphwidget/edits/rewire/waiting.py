"""Control edges that an edit leaves over: ops that wait for an op without consumers."""

from __future__ import annotations

from tfgraphwidget.edits.patch import Patch
from tfgraphwidget.graph import GraphIndex
from tfgraphwidget.naming import names_text, split_input
from tfgraphwidget.sentences import editor_call
from tfgraphwidget.tf_types import NodeDef


def waiting_notes(index: GraphIndex, patch: Patch) -> tuple[str, ...]:
    """A sentence for each op that a patch leaves without consumers and that others still wait
    for.
    """
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

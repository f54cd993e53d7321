"""State that cannot be transferred from one session to another: a sentence for each, none for what
is empty.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from functools import partial

from tfgraphwidget.graph import kind_of
from tfgraphwidget.naming import names_text, shared_name
from tfgraphwidget.runtime.session.state_transfer import StateTransfer
from tfgraphwidget.runtime.session.stateful_ops import StatefulOps, family
from tfgraphwidget.runtime.session.transfer_ops import (
    TransferOps,
    run_each,
    shorten_names,
    unless_finalized,
)
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import (
    DELETES_FIELD,
    HANDLE_FIELD,
    BaseSession,
    is_partial_run_active,
)
from tfgraphwidget.tf_types import AttrValue, NodeDef, Session

_STAGED = ("capacity", "memory_limit", "dtypes", "container", "shared_name")
_SIZES = {
    "Stage": ("StageSize",),
    "Map": ("MapSize", "MapIncompleteSize"),
    "OrderedMap": ("OrderedMapSize", "OrderedMapIncompleteSize"),
    "barrier": ("BarrierReadySize", "BarrierIncompleteSize"),
}
_PARTIAL_RUNS = "_tfgraphwidget_partial_runs"
_NO_CALLABLE = -1


class Untransferable(StateTransfer):
    """State of a session that no op can read. Staging areas, barriers and accumulators report their
    size.
    """

    def __init__(self, nodes: Iterable[NodeDef], transfer_ops: TransferOps) -> None:
        super().__init__()
        self._types: dict[str, str] = {}
        self._sizes: dict[str, list[str]] = {}
        for node in nodes:
            self._types[node.name] = node.op
            sizes = unless_finalized(partial(_sizes, transfer_ops), node) or []
            self._sizes[node.name] = [f"{size}:0" for size in sizes]
        transfer_ops.make()

    def read(self, old: Session) -> None:
        """Report what the old session has."""
        sizes, _ = run_each(old, {name: sizes for name, sizes in self._sizes.items() if sizes})
        for name, op_type in self._types.items():
            count = sum(map(int, sizes[name])) if name in sizes else None
            if count is None:
                self.lost.append(
                    f"What {name!r} ({op_type}) holds is not carried over: it starts empty."
                )
            elif count:
                self.lost.append(
                    f"{kind_of(op_type).capitalize()} {name!r} starts empty; it held {count}."
                )


def _sizes(transfer_ops: TransferOps, node: NodeDef) -> list[str]:
    """Return the transfer ops that together count a stateful op's elements, or none."""
    kind = family(node.op)
    if kind == "accumulator":
        resource = "Resource" if node.op.startswith("Resource") else ""
        return [transfer_ops.op("", f"{resource}AccumulatorNumAccumulated", [node.name])]
    if kind == "barrier":
        return [transfer_ops.op("", size, [node.name]) for size in _SIZES[kind]]
    if kind in _SIZES:
        attributes: dict[str, AttrValue] = {key: node.attr[key] for key in _STAGED}
        if not shared_name(node):
            attributes["shared_name"] = tf.compat.v1.AttrValue(s=node.name.encode())
        return [transfer_ops.op("", size, (), **attributes) for size in _SIZES[kind]]
    return []


def untransferable_notices(stateful: StatefulOps) -> list[str]:
    """Return sentences on the state of a graph that no session can transfer."""
    notices = [
        f"What {node.name!r} ({node.op}) in the body of a function holds is not carried over."
        for node in stateful.in_functions
    ]
    if stateful.random:
        notices.append(
            f"Random ops with a seed begin their sequences again: {shorten_names(stateful.random)}."
        )
    if stateful.iterators_by_string:
        notices.append(
            f"String handles of iterators, as {shorten_names(stateful.iterators_by_string)} takes "
            "them, have to be fetched again."
        )
    return notices


def watch_partial_runs(session: Session) -> None:
    """Record the partial runs that are set up from now on; TensorFlow does not list them."""
    if not isinstance(session, BaseSession) or hasattr(session, _PARTIAL_RUNS):
        return
    handles: list[str] = []
    session_ref = weakref.ref(session)  # a session that no editor has any more is closed at once
    begin = type(session).partial_run_setup  # that of a guarded session asks first

    def set_up(fetches: object, feeds: object = None) -> object:
        handle = begin(session_ref(), fetches, feeds)
        handles.append(handle)
        return handle

    setattr(session, _PARTIAL_RUNS, handles)
    session.partial_run_setup = set_up


def end_partial_runs(session: Session) -> list[str]:
    """Return sentences on a session's active partial runs, which its renewal ends."""
    cut = [
        f"The partial run of {names} is cut; set it up again by partial_run_setup."
        for names in _runs(session)
    ]
    getattr(session, _PARTIAL_RUNS, []).clear()
    return cut


def partial_runs_to_cut(session: Session) -> tuple[str, ...]:
    """Return what `end_partial_runs` is going to say, for a preview of what renews the session."""
    return tuple(
        f"The partial run of {names} will be cut; end it before, or set it up again by "
        "partial_run_setup."
        for names in _runs(session)
    )


def _runs(session: Session) -> list[str]:
    """What the partial runs that are active in a session fetch."""
    handles = getattr(session, _PARTIAL_RUNS, [])
    under_way = [handle for handle in tuple(handles) if is_partial_run_active(session, handle)]
    return [
        names_text(handle.partition("->")[2].partition("/")[0].split(",")) for handle in under_way
    ]


def invalidate_objects(objects: Sequence[dict[str, object]]) -> list[str]:
    """Invalidate objects of the old C session, so that they do not use the new one."""
    handles = [fields for fields in objects if DELETES_FIELD in fields]
    callables = [
        fields
        for fields in objects
        if DELETES_FIELD not in fields and fields[HANDLE_FIELD] != _NO_CALLABLE
    ]
    for fields in handles:
        fields[DELETES_FIELD] = False  # there is nothing left to delete
    for fields in callables:
        fields[HANDLE_FIELD] = _NO_CALLABLE
    notices = []
    if callables:
        notices.append(
            f"{_count_text(callables, 'callable')} made of this session by options cannot be "
            "called any more."
        )
    if handles:
        notices.append(
            f"{_count_text(handles, 'tensor')} kept in the session by get_session_handle cannot be "
            "read any more."
        )
    return notices


def _count_text(objects: Sequence[object], word: str) -> str:
    return f"{len(objects)} {word}{'s' if len(objects) > 1 else ''}"

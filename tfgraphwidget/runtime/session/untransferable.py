"""What cannot go over from one session into another, and is told of: a sentence each, and none for what is empty."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import tensorflow as tf

from tfgraphwidget.graph import kind_of
from tfgraphwidget.naming import listed
from tfgraphwidget.runtime.session.stateful_ops import StatefulOps, family
from tfgraphwidget.runtime.session.transfer_ops import TransferOps, named, run_each, unless_finalized
from tfgraphwidget.tf_internals import (
    CALLABLE_AND_HANDLE,
    DELETES_FIELD,
    HANDLE_FIELD,
    SESSION_FIELD,
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


class Untransferable:
    """What a session holds and nothing can read; staging areas, barriers and accumulators tell how much it is."""

    def __init__(self, nodes: Iterable[NodeDef], transfer_ops: TransferOps) -> None:
        self.lost: list[str] = []
        self._types: dict[str, str] = {}
        self._sizes: dict[str, list[str]] = {}
        for node in nodes:
            self._types[node.name] = node.op
            sizes = unless_finalized(partial(_sizes, transfer_ops), node) or []
            self._sizes[node.name] = [f"{size}:0" for size in sizes]
        transfer_ops.make()

    def read(self, old: Session) -> None:
        """Tell what the old session holds."""
        held, _ = run_each(old, {name: sizes for name, sizes in self._sizes.items() if sizes})
        for name, op_type in self._types.items():
            count = sum(map(int, held[name])) if name in held else None
            if count is None:
                self.lost.append(f"What {name!r} ({op_type}) holds is not carried over: it starts anew.")
            elif count:
                self.lost.append(f"{kind_of(op_type).capitalize()} {name!r} starts empty; it held {count}.")

    def load(self, fresh: Session) -> None:
        """Nothing."""

    def move(self, old: Session, fresh: Session) -> None:
        """Nothing."""


def _sizes(transfer_ops: TransferOps, node: NodeDef) -> list[str]:
    """The transfer ops that count together what a node holds; none for what cannot be counted."""
    kind = family(node.op)
    if kind == "accumulator":
        resource = "Resource" if node.op.startswith("Resource") else ""
        return [transfer_ops.op("", f"{resource}AccumulatorNumAccumulated", [node.name])]
    if kind == "barrier":
        return [transfer_ops.op("", size, [node.name]) for size in _SIZES[kind]]
    if kind in _SIZES:
        attributes: dict[str, AttrValue] = {key: node.attr[key] for key in _STAGED}
        if not node.attr["shared_name"].s:
            attributes["shared_name"] = tf.compat.v1.AttrValue(s=node.name.encode())
        return [transfer_ops.op("", size, (), **attributes) for size in _SIZES[kind]]
    return []


def told_of(found: StatefulOps) -> list[str]:
    """Sentences on what a graph has and no session can hand on."""
    lost = [
        f"What {node.name!r} ({node.op}) in the body of a function holds is not carried over." for node in found.inside
    ]
    if found.random:
        lost.append(f"Random ops with a seed begin their sequences anew: {named(found.random)}.")
    if found.by_string:
        lost.append(f"String handles of iterators, as {named(found.by_string)} takes them, have to be fetched anew.")
    return lost


def tied(session: Session) -> list[dict[str, Any]]:
    """The fields of Python objects that stand for something in this very C session: callables and tensor handles."""
    fields = [vars(each) if type(each) in CALLABLE_AND_HANDLE else each for each in gc.get_referrers(session)]
    held = (each for each in fields if type(each) is dict)
    return [each for each in held if each.get(SESSION_FIELD) is session and HANDLE_FIELD in each]


def watch_partial_runs(session: Session) -> None:
    """Let a session remember the partial runs that are set up from now on: TensorFlow tells nobody of them."""
    if not isinstance(session, BaseSession) or hasattr(session, _PARTIAL_RUNS):
        return
    handles: list[str] = []
    held = weakref.ref(session)  # a session that no editor has any more is closed at once

    def set_up(fetches: Any, feeds: Any = None) -> Any:
        handle = BaseSession.partial_run_setup(held(), fetches, feeds)
        handles.append(handle)
        return handle

    setattr(session, _PARTIAL_RUNS, handles)
    session.partial_run_setup = set_up


def cut(session: Session) -> list[str]:
    """Sentences on the partial runs that are under way in a session, which its renewal ends."""
    handles = getattr(session, _PARTIAL_RUNS, [])
    under_way = [handle for handle in handles if is_partial_run_active(session, handle)]
    handles.clear()
    fetched = [handle.partition("->")[2].partition("/")[0].split(",") for handle in under_way]
    return [f"The partial run of {listed(names)} is cut; set it up again by partial_run_setup." for names in fetched]


def untie(objects: Sequence[dict[str, Any]]) -> list[str]:
    """Let them not be taken for what the fresh session has under the same numbers; sentences on them."""
    handles = [fields for fields in objects if DELETES_FIELD in fields]
    callables = [fields for fields in objects if DELETES_FIELD not in fields]
    for fields in handles:
        fields[DELETES_FIELD] = False  # there is nothing left to delete
    for fields in callables:
        fields[HANDLE_FIELD] = _NO_CALLABLE
    lost = []
    if callables:
        lost.append(f"{_counted(callables, 'callable')} made of this session by options cannot be called any more.")
    if handles:
        lost.append(f"{_counted(handles, 'tensor')} kept in the session by get_session_handle cannot be read any more.")
    return lost


def _counted(objects: Sequence[Any], word: str) -> str:
    return f"{len(objects)} {word}{'s' if len(objects) > 1 else ''}"

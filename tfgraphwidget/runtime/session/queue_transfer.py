"""Elements of queues, which can only be had by taking them out: moved when a renewal cannot fail any more.

In the old session they are closed first, so that taking out never waits, and a RandomShuffleQueue gives its last ones.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import tensorflow as tf

from tfgraphwidget.runtime.session.transfer_ops import TransferOps, named, run_each, unless_finalized
from tfgraphwidget.runtime.session.variable_values import told
from tfgraphwidget.sources import runner_def, static_shape
from tfgraphwidget.tf_types import NodeDef, Session

_PATIENCE = 10.0  # seconds; to add to a queue that an edit has made too small takes for ever


class Queues:
    """The elements of queues, in order; one that was closed is closed again."""

    def __init__(self, nodes: Sequence[NodeDef], transfer_ops: TransferOps) -> None:
        self.lost: list[str] = []
        self._transfer_ops = transfer_ops
        self._ops: dict[str, dict[str, Any]] = {}
        for node in nodes:
            made = unless_finalized(self._made, node)
            if made:
                self._ops[node.name] = made
            else:
                self._lose(node.name, "the graph is finalized, so no op can be added that takes its elements out")
        transfer_ops.make()

    def read(self, old: Session) -> None:
        """Nothing: an element that is looked at is out."""

    def load(self, fresh: Session) -> None:
        """Nothing yet."""

    def move(self, old: Session, fresh: Session) -> None:
        """Close those that hold anything, then empty each into the same queue of the fresh session."""
        state = self._run(old, {name: [ops["is_closed"], ops["size"]] for name, ops in self._ops.items()})
        closed = [name for name, (is_closed, _) in state.items() if is_closed]
        held = [name for name, (_, size) in state.items() if size]
        self._run(old, self._each("close", [name for name in held if name not in closed]))
        for name, size in self._run(old, self._each("size", held)).items():
            if size:
                self._empty(old, fresh, name, int(size))
        self._run(fresh, self._each("close", closed))

    def _empty(self, old: Session, fresh: Session, name: str, size: int) -> None:
        ops = self._ops[name]
        at_once = size if ops["many"] else 1
        for _ in range(size // at_once):
            taken = self._run(old, {name: ops["take"]}, {ops["many"]: at_once} if ops["many"] else None)
            if not taken or not self._put(fresh, name, taken[name]):
                return

    def _put(self, fresh: Session, name: str, elements: Sequence[Any]) -> bool:
        """Whether the queue of the fresh session has taken what is nowhere else any more."""
        ops = self._ops[name]
        before = self._run(fresh, self._each("size", [name]))
        try:
            found = run_each(fresh, {name: ops["put"]}, dict(zip(ops["fed"], elements, strict=True)), _PATIENCE)
        except Exception:  # it may have taken them all the same
            if self._run(fresh, self._each("size", [name])) != before:
                return True
            return bool(self._run(fresh, {name: ops["put"]}, dict(zip(ops["fed"], elements, strict=True))))
        for error in found[1].values():
            self._lose(name, told(error))
        return bool(found[0])

    def _each(self, what: str, names: Iterable[str]) -> dict[str, Any]:
        return {name: self._ops[name][what] for name in names}

    def _run(
        self, session: Session, fetches: Mapping[str, Any], feeds: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """What each gives; those that fail, or take too long, are lost."""
        try:
            found, errors = self._tried(session, fetches, feeds)
        except Exception as failure:  # a server is gone, or Python has no memory for it
            for name in fetches:
                self._lose(name, (str(failure) or type(failure).__name__).rstrip("."))
            return {}
        for name, error in errors.items():
            self._lose(name, told(error))
        return found

    @staticmethod
    def _tried(
        session: Session, fetches: Mapping[str, Any], feeds: Mapping[str, Any] | None
    ) -> tuple[dict[str, Any], dict[str, tf.errors.OpError]]:
        """What `run_each` gives; what Python itself fails with, which is no answer of TensorFlow's, is tried again."""
        with suppress(Exception):
            return run_each(session, fetches, feeds, _PATIENCE)
        return run_each(session, fetches, feeds, _PATIENCE)

    def _lose(self, name: str, why: str) -> None:
        self.lost.append(f"The elements of queue {name!r} are not carried over, or not all of them: {why}.")

    def _made(self, node: NodeDef) -> dict[str, Any]:
        """The transfer ops of a queue, by what they do."""
        new, version = self._transfer_ops.op, "V2" if node.op.endswith("V2") else ""
        types = [tf.as_dtype(each) for each in node.attr["component_types"].list.type]
        shapes = [static_shape(shape) for shape in node.attr["shapes"].list.shape]
        whole = len(shapes) == len(types) and all(shape.is_fully_defined() for shape in shapes)
        if node.op.startswith("PaddingFIFOQueue"):
            whole = False  # what is taken out together is padded
        if node.op.startswith("PriorityQueue"):
            types.insert(0, tf.int64)
        fed = [new(f"{node.name} {k}", "Placeholder", dtype=dtype) for k, dtype in enumerate(types)]
        many = [new(f"{node.name} n", "Placeholder", dtype=tf.int32)] if whole else []
        suffix = f"Many{version}" if whole else version
        take = new("", f"QueueDequeue{suffix}", [node.name, *many], component_types=types)
        return {
            "is_closed": new("", f"QueueIsClosed{version}", [node.name]) + ":0",
            "size": new("", f"QueueSize{version}", [node.name]) + ":0",
            "close": new("", f"QueueClose{version}", [node.name], cancel_pending_enqueues=True),
            "take": [f"{take}:{k}" for k in range(len(types))],
            "put": new("", f"QueueEnqueue{suffix}", [node.name, *fed], Tcomponents=types),
            "fed": [f"{name}:0" for name in fed],
            "many": f"{many[0]}:0" if many else "",
        }


def runner_threads(session: Session) -> dict[threading.Thread, str]:
    """The threads of queue runners that work in a session, each with the name of its queue."""
    found = {}
    for thread in threading.enumerate():
        runner = getattr(getattr(thread, "_target", None), "__self__", None)
        here = any(arg is session for arg in getattr(thread, "_args", ()))
        if here and isinstance(runner, tf.compat.v1.train.QueueRunner):
            found[thread] = runner_def(runner, session.graph).queue_name
    return found


def await_end(threads: Mapping[threading.Thread, str]) -> list[str]:
    """Wait for threads of queue runners, which end when their session is closed; a sentence on what is lost by it."""
    deadline = time.monotonic() + _PATIENCE
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    if not threads:
        return []
    queues = named(dict.fromkeys(threads.values()))
    start = "tf.compat.v1.train.start_queue_runners(session, coord=tf.train.Coordinator())"
    return [f"The threads that fill queue {queues} have stopped; start them again with a new Coordinator: {start}."]

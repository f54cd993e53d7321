"""Elements of queues, which can be read only by dequeuing: they are moved when the renewal can no
longer fail.

The queues of the old session are closed first, so that dequeuing does not wait, and a
RandomShuffleQueue gives its last elements.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tfgraphwidget.runtime.session.state_transfer import StateTransfer
from tfgraphwidget.runtime.session.transfer_ops import (
    TransferOps,
    run_each,
    shorten_names,
    unless_finalized,
)
from tfgraphwidget.sources import error_text, runner_def, static_shape
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_types import NodeDef, Session

_PATIENCE = 10.0  # seconds; to add to a queue that an edit has new_ops too small takes for ever


@dataclass(frozen=True)
class _QueueOps:
    """The ops that move the elements of one queue.

    Attributes:
        is_closed: A tensor: whether the queue is closed.
        size: A tensor: the number of elements.
        close: The op that closes the queue.
        take: Tensors: the components of the next elements.
        put: The op that adds elements.
        fed: Placeholders of the components of what is added.
        many: The placeholder of the number of elements that `take` takes; "" if it takes one.
    """

    is_closed: str
    size: str
    close: str
    take: list[str]
    put: str
    fed: list[str]
    many: str


class QueueTransfer(StateTransfer):
    """Moves elements of queues, in order, as reading removes them; closed ones stay closed."""

    def __init__(self, nodes: Sequence[NodeDef], transfer_ops: TransferOps) -> None:
        super().__init__()
        self._transfer_ops = transfer_ops
        self._ops: dict[str, _QueueOps] = {}
        for node in nodes:
            new_ops = unless_finalized(self._new_ops, node)
            if new_ops:
                self._ops[node.name] = new_ops
            else:
                self._lose(
                    node.name,
                    "the graph is finalized, so no op can be added that takes its elements out",
                )
        transfer_ops.make()

    def move(self, old: Session, fresh: Session) -> None:
        """Close queues with elements, and move these to the same queue of the new session."""
        state = self._run(old, {name: [ops.is_closed, ops.size] for name, ops in self._ops.items()})
        closed = [name for name, (is_closed, _) in state.items() if is_closed]
        nonempty = [name for name, (_, size) in state.items() if size]
        self._run(old, {name: self._ops[name].close for name in nonempty if name not in closed})
        for name, size in self._run(old, {name: self._ops[name].size for name in nonempty}).items():
            if size:
                self._empty(old, fresh, name, int(size))
        self._run(fresh, {name: self._ops[name].close for name in closed})

    def _empty(self, old: Session, fresh: Session, name: str, size: int) -> None:
        ops = self._ops[name]
        at_once = size if ops.many else 1
        for _ in range(size // at_once):
            elements = self._run(old, {name: ops.take}, {ops.many: at_once} if ops.many else None)
            if not elements or not self._put(fresh, name, elements[name]):
                return

    def _put(self, fresh: Session, name: str, elements: Sequence[object]) -> bool:
        """Return whether the new session's queue took elements that no queue has any more."""
        ops = self._ops[name]
        before = self._run(fresh, {name: ops.size})
        try:
            values, errors = run_each(
                fresh, {name: ops.put}, dict(zip(ops.fed, elements, strict=True)), _PATIENCE
            )
        except Exception:  # it may have taken them all the same
            if self._run(fresh, {name: ops.size}) != before:
                return True
            return bool(
                self._run(fresh, {name: ops.put}, dict(zip(ops.fed, elements, strict=True)))
            )
        for error in errors.values():
            self._lose(name, error_text(error))
        return bool(values)

    def _run(
        self,
        session: Session,
        fetches: Mapping[str, object],
        feeds: Mapping[str, object] | None = None,
    ) -> dict[str, Any]:
        """Return the values by name. Elements of queues that fail, or take too long, are lost."""
        try:
            values, errors = self._run_twice(session, fetches, feeds)
        except Exception as failure:  # a server is gone, or Python has no memory for it
            for name in fetches:
                self._lose(name, (str(failure) or type(failure).__name__).rstrip("."))
            return {}
        for name, error in errors.items():
            self._lose(name, error_text(error))
        return values

    @staticmethod
    def _run_twice(
        session: Session, fetches: Mapping[str, object], feeds: Mapping[str, object] | None
    ) -> tuple[dict[str, Any], dict[str, tf.errors.OpError]]:
        """Call `run_each`, again if Python itself fails, which is no error of TensorFlow."""
        with suppress(Exception):
            return run_each(session, fetches, feeds, _PATIENCE)
        return run_each(session, fetches, feeds, _PATIENCE)

    def _lose(self, name: str, why: str) -> None:
        self.lost.append(
            f"The elements of queue {name!r} are not carried over, or not all of them: {why}."
        )

    def _new_ops(self, node: NodeDef) -> _QueueOps:
        """Return the transfer ops of a queue, by purpose."""
        new, version = self._transfer_ops.op, "V2" if node.op.endswith("V2") else ""
        types = [tf.as_dtype(each) for each in node.attr["component_types"].list.type]
        shapes = [static_shape(shape) for shape in node.attr["shapes"].list.shape]
        is_batched = len(shapes) == len(types) and all(shape.is_fully_defined() for shape in shapes)
        if node.op.startswith("PaddingFIFOQueue"):
            is_batched = False  # what is taken out together is padded
        if node.op.startswith("PriorityQueue"):
            types.insert(0, tf.int64)
        fed = [new(f"{node.name} {k}", "Placeholder", dtype=dtype) for k, dtype in enumerate(types)]
        many = [new(f"{node.name} n", "Placeholder", dtype=tf.int32)] if is_batched else []
        suffix = f"Many{version}" if is_batched else version
        take = new("", f"QueueDequeue{suffix}", [node.name, *many], component_types=types)
        return _QueueOps(
            is_closed=new("", f"QueueIsClosed{version}", [node.name]) + ":0",
            size=new("", f"QueueSize{version}", [node.name]) + ":0",
            close=new("", f"QueueClose{version}", [node.name], cancel_pending_enqueues=True),
            take=[f"{take}:{k}" for k in range(len(types))],
            put=new("", f"QueueEnqueue{suffix}", [node.name, *fed], Tcomponents=types),
            fed=[f"{name}:0" for name in fed],
            many=f"{many[0]}:0" if many else "",
        )


def queue_sizes(
    nodes: Sequence[NodeDef], transfer_ops: TransferOps, session: Session
) -> dict[str, int]:
    """The number of elements of each queue that has some."""

    def size(node: NodeDef) -> str:
        return (
            transfer_ops.op(
                "", "QueueSizeV2" if node.op.endswith("V2") else "QueueSize", [node.name]
            )
            + ":0"
        )

    sizes = {node.name: tensor for node in nodes if (tensor := unless_finalized(size, node))}
    transfer_ops.make()
    values, _ = run_each(session, sizes)
    return {name: int(value) for name, value in values.items() if value}


def runner_threads(session: Session) -> dict[threading.Thread, str]:
    """Return the threads of queue runners in a session, with the name of each one's queue."""
    queues = {}
    for thread in threading.enumerate():
        runner = getattr(getattr(thread, "_target", None), "__self__", None)
        here = any(arg is session for arg in getattr(thread, "_args", ()))
        if here and isinstance(runner, tf.compat.v1.train.QueueRunner):
            queues[thread] = runner_def(runner, session.graph).queue_name
    return queues


def await_threads(threads: Mapping[threading.Thread, str]) -> list[str]:
    """Wait for threads of queue runners, which end with the session; a sentence on them."""
    deadline = time.monotonic() + _PATIENCE
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    if not threads:
        return []
    queues = shorten_names(dict.fromkeys(threads.values()))
    start = "tf.compat.v1.train.start_queue_runners(session, coord=tf.train.Coordinator())"
    return [
        (
            f"The threads that fill queue {queues} have stopped; start them again with a new "
            f"Coordinator: {start}."
        )
    ]

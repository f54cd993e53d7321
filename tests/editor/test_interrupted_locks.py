"""An interrupt that leaves TensorFlow's lock of a graph taken, or comes while TensorFlow waits:
nothing hangs.
"""

from __future__ import annotations

import contextlib
import faulthandler
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import initialised, v1
from tests.editor.test_cancelling import MESSAGES, named, opened, page, state
from tests.slow import slow
from tfgraphwidget.cancellation import LOCK_LIMIT, TENSORFLOW_LIMIT, between_calls, set_right
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.tf_internals import mutation_lock, session_run_lock, watch_lock

FEEDS = {"x:0": [[1.0, 2.0, 3.0]]}
HANGING = 60  # seconds after which a test hangs: the process ends, with the stacks of its threads


@pytest.fixture(autouse=True)
def _no_hang() -> Iterator[None]:
    """Ctrl-C as Python has it, and an end of the process where a lock is never given back."""
    faulthandler.dump_traceback_later(HANGING, exit=True, file=sys.__stderr__)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
    faulthandler.cancel_dump_traceback_later()


class Interrupted:
    """The Condition of a graph's lock, in which an interrupt comes at the n-th time that it is
    taken or given back.

    As a signal does between two lines of TensorFlow, it comes when that is done.
    """

    def __init__(self, graph: tf.Graph, step: str, number: int) -> None:
        self.lock: Any = graph._group_lock
        self.condition, self.step, self.left = self.lock._ready, step, number
        self.lock._ready = self

    def __getattr__(self, name: str) -> Any:
        return getattr(self.condition, name)

    def acquire(self, *options: Any) -> bool:
        taken: bool = self.condition.acquire(*options)
        self.count("acquire")
        return taken

    def release(self) -> None:
        self.count("release")  # before it is given back: after it there is no harm
        self.condition.release()

    def count(self, step: str) -> None:
        if step == self.step:
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt

    def end(self) -> None:
        self.lock._ready = self.condition


def with_edits(editor: GraphEditor) -> None:
    editor.clone(["x:0"], ["net/logits:0"], into="other")
    editor.insert("net/one/out:0", "Identity", into="before")


def nothing(editor: GraphEditor) -> None:
    pass


Work = tuple[Callable[[GraphEditor], None], Callable[[GraphEditor, Path], Any]]
WORKS: dict[str, Work] = {
    "insert": (nothing, lambda editor, _: editor.insert("net/one/out:0", "Identity")),
    "clone": (nothing, lambda editor, _: editor.clone(["x:0"], ["net/logits:0"], into="copy")),
    "fold_constants": (nothing, lambda editor, _: editor.passes.fold_constants()),
    "freeze": (nothing, lambda editor, _: editor.freeze("net/logits:0")),
    "replace_all": (nothing, lambda editor, _: editor.replace_all("Relu(x)", "Elu(x)")),
    "call": (nothing, lambda editor, _: editor.call("net/one/out:0", tf.nn.relu, into="head")),
    "undo": (with_edits, lambda editor, _: editor.undo()),
    "redo": (lambda editor: (with_edits(editor), editor.undo(2))[0],
        lambda editor, _: editor.redo()),
    "jump": (with_edits, lambda editor, _: editor.history.goto(0)),
    "save": (with_edits, lambda editor, folder: editor.save(folder / "a.meta", overwrite=True)),
    "probe": (with_edits, lambda editor, _: editor.probe(["net/logits:0"], FEEDS)),
    "measure": (with_edits, lambda editor, _: editor.measure(["net/logits:0"], FEEDS)),
    "compare": (with_edits, lambda editor, _: editor.compare(FEEDS, tensors=["net/logits:0"])),
    "sync": (with_edits, lambda editor, _: editor["other"].sync()),
    "renew": (with_edits, lambda editor, _: tgw.renew(editor.session)),
}  # fmt: skip


def is_taken(graph: Any) -> bool:
    return bool(
        any(graph._group_lock._group_member_counts) or graph._group_lock._ready._lock.locked()
    )


QUICK = {("insert", "acquire"), ("insert", "release"), ("sync", "acquire")}


@pytest.mark.parametrize(
    ("kind", "step"),
    [
        case if case in QUICK else slow(*case)
        for case in product(sorted(WORKS), ("acquire", "release"))
    ],
)
def test_an_interrupt_wherever_a_lock_is_taken_leaves_a_graph_that_runs_and_is_edited(
    kind: str, step: str, tmp_path: Path
) -> None:
    prepare, work = WORKS[kind]
    for number in range(1, 100):
        editor = opened()
        prepare(editor)
        editor.session.run("net/logits:0", FEEDS)
        before, history = state(editor), editor.history
        interrupted = Interrupted(editor.graph, step, number)
        try:
            work(editor, tmp_path)
        except KeyboardInterrupt:
            interrupted.end()
        else:
            interrupted.end()
            if interrupted.left > 0:
                break  # it takes the lock no more often
        assert interrupted.left <= 0
        assert not is_taken(editor.graph), number
        if editor.history == history:
            assert state(editor) == before, number
        assert editor.session.run("net/logits:0", FEEDS).shape == (1, 4)
        editor.insert("net/two/out:0", "Identity", into="next")
        assert editor.session.run("net/logits:0", FEEDS).shape == (1, 4)
    assert number > 1 or kind in ("measure", "probe")


@pytest.mark.parametrize("kind", ["clone", "undo"])
def test_a_request_that_is_interrupted_at_a_lock_is_refused_and_can_be_made_again(
    kind: str,
) -> None:
    for number in (1, 2, 4):
        front = page()
        interrupted = Interrupted(front.editor.graph, "acquire", number)
        reply = front.ask(**named(MESSAGES[kind]))
        interrupted.end()
        assert interrupted.left > 0 or reply["why"].startswith("Cancelled")
        assert not is_taken(front.editor.graph)
        assert front.ask(**named(MESSAGES[kind]))["type"] != "refusal"


@pytest.mark.parametrize("step", ["acquire", "release"])
def test_a_lock_that_the_users_own_cell_has_left_taken_is_released_by_the_next_call(
    step: str,
) -> None:
    editor = opened()
    interrupted = Interrupted(editor.graph, step, 1)
    with pytest.raises(KeyboardInterrupt):
        editor.session.run("net/logits:0", FEEDS)
    interrupted.end()
    assert is_taken(editor.graph)
    editor.insert("net/one/out:0", "Identity")
    assert not is_taken(editor.graph)
    assert editor.session.run("net/logits:0", FEEDS).shape == (1, 4)


@pytest.mark.parametrize("take", [mutation_lock, session_run_lock])
def test_the_lock_of_a_thread_that_works_is_not_released(take: Callable[[tf.Graph], Any]) -> None:
    graph = tf.Graph()
    watch_lock(graph)
    is_held, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with mutation_lock(graph) if take is mutation_lock else session_run_lock(graph):
            is_held.set()
            may_end.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    is_held.wait(30)
    set_right()
    assert is_taken(graph)
    may_end.set()
    thread.join()
    set_right()
    assert not is_taken(graph)


def after(seconds: float) -> None:
    """Interrupt this process."""

    def send() -> None:
        time.sleep(seconds)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Thread(target=send).start()


def test_an_interrupt_in_tensorflow_comes_between_its_calls() -> None:
    graph, lines = tf.Graph(), []

    def see(frame: Any, event: str, _: Any) -> None:
        """Interrupt where an op is made."""
        if event == "call" and frame.f_code.co_name == "_create_op_internal" and not lines:
            lines.append("sent")
            signal.raise_signal(signal.SIGINT)

    def work() -> None:
        with graph.as_default():
            for number in range(10_000):
                tf.no_op()
                lines.append(str(number))
                [None for _ in range(100)]

    try:
        sys.setprofile(see)
        with pytest.raises(KeyboardInterrupt) as raised, between_calls():
            work()
    finally:
        sys.setprofile(None)
    assert "0" in lines  # the first op was made
    assert "9999" not in lines
    assert "tensorflow" not in str(raised.traceback[-1].path)


def test_an_interrupt_ends_a_call_of_tensorflow_that_does_not_end() -> None:
    editor = opened()
    before = state(editor)

    @tf.function(autograph=False)
    def endless(x: tf.Tensor) -> tf.Tensor:
        while True:
            x = x + 0 if len(x.graph.get_operations()) < 10 else x

    after(0.3)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        editor.call("net/one/out:0", endless, into="head")
    assert time.monotonic() - start < 0.3 + TENSORFLOW_LIMIT + 2
    assert state(editor) == before


def test_an_interrupt_ends_the_wait_for_a_lock_that_another_thread_keeps() -> None:
    graph = tf.Graph()
    watch_lock(graph)
    is_held, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with session_run_lock(graph):
            is_held.set()
            may_end.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    is_held.wait(30)
    after(0.1)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt), between_calls(), graph.as_default():
        tf.no_op()
    assert time.monotonic() - start < LOCK_LIMIT + 2
    may_end.set()
    thread.join()


def test_an_interrupt_does_not_wait_for_a_run_that_waits_for_a_queue() -> None:
    with tf.Graph().as_default() as graph:
        queue = v1.FIFOQueue(2, [tf.float32], shapes=[()], name="queue")
        queue.enqueue(1.0, name="fill")
        tf.identity(queue.dequeue(), name="y")
        tf.constant(2.0, name="other")
    editor = tgw.edit(graph, session=initialised(graph))
    after(0.3)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt, match="that of 'y:0' goes on by itself"):
        editor.probe(["y:0"])
    assert time.monotonic() - start < 2
    assert editor.session.run("other:0") == 2.0
    editor.insert("y:0", "Identity")
    tgw.renew(editor.session)
    editor.session.run("fill")
    assert editor.session.run("y:0") == 1.0


def test_a_context_that_an_interrupt_keeps_from_being_entered_ends() -> None:
    graph = tf.Graph()

    def trace(frame: Any, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != contextlib.__file__ or frame.f_code.co_name != "__enter__":
            return None
        if event == "return":
            sys.settrace(None)
            raise KeyboardInterrupt
        return trace

    def work() -> None:
        sys.settrace(trace)
        with graph.as_default():
            pass

    with (
        pytest.raises(KeyboardInterrupt),
        between_calls(),
    ):  # pytest keeps the traceback, as a notebook does
        work()
    assert v1.get_default_graph() is not graph

"""Transactions: an edit that fails leaves graph, session, history, selection, view and listeners as
they were.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.runtime.test_patch_application import failing
from tests.stress.functions import shifted
from tests.stress.state import check_follows, differing, state_of
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.editor.executor import EditExecutor
from tfgraphwidget.editor.transaction import Listeners, Snapshot, transaction
from tfgraphwidget.edits.history import History
from tfgraphwidget.runtime.live import patch_application, traced_ops


@dataclass(frozen=True)
class Case:
    """A call that is one edit, what comes before it, and a step of it that can fail."""

    call: Callable[[GraphEditor], Any]
    step: tuple[Any, str, int]
    before: Callable[[GraphEditor], Any] = lambda _: None
    notifications: int = 1
    when_failed: int = 0


def two_edits(editor: GraphEditor) -> None:
    editor.clone("x:0", "net/logits:0", into="copy")
    editor.bypass("net/hidden/Relu")


def replayed(editor: GraphEditor) -> None:
    edits = [
        {"command": "rename", "arguments": {"old": "net/logits", "new": "net/scores"}},
        {"command": "bypass", "arguments": {"what": "net/hidden/Relu"}},
    ]
    editor.history.replay(edits)


CASES = {
    "clone": Case(
        lambda editor: editor.clone("x:0", "net/logits:0", into="copy"), (History, "push", 1)
    ),
    "clone, its values": Case(
        lambda editor: editor.clone("x:0", "net/logits:0", into="copy"),
        (patch_application, "make_variable", 2),
    ),
    "add": Case(lambda editor: editor.add(line(), into="second"), (History, "push", 1)),
    "call": Case(
        lambda editor: editor.call("net/hidden/Relu:0", shifted, into="head"), (History, "push", 1)
    ),
    "grow, its values": Case(
        lambda editor: editor.call("net/hidden/Relu:0", shifted, into="head"),
        (traced_ops, "initialize", 1),
    ),
    "set_trainable": Case(lambda editor: editor.set_trainable("net/w"), (History, "push", 1)),
    "bypass": Case(lambda editor: editor.bypass("net/hidden/Relu"), (History, "push", 1)),
    "insert": Case(
        lambda editor: editor.insert("net/hidden/Relu:0", shifted, into="head"),
        (History, "push", 1),
    ),
    "remove": Case(lambda editor: editor.remove("loss", consumers=True), (History, "push", 1)),
    "freeze": Case(lambda editor: editor.freeze("net/logits:0"), (History, "push", 1)),
    "undo": Case(lambda editor: editor.undo(), (History, "after_undo", 1), two_edits),
    "redo": Case(
        lambda editor: editor.redo(),
        (History, "after_redo", 1),
        lambda editor: (two_edits(editor), editor.undo()),
    ),
    "jump": Case(
        lambda editor: editor.history.goto(0), (History, "after_undo", 2), two_edits, when_failed=1
    ),
    "replay": Case(replayed, (History, "push", 2), when_failed=1),
    "extract": Case(
        lambda editor: editor.extract("x:0", "net/logits:0"),
        (patch_application, "make_variable", 2),
        notifications=0,
    ),
}


def line() -> tf.Graph:
    with tf.Graph().as_default() as graph:
        tf.nn.relu(tf.compat.v1.placeholder(tf.float32, [None], name="a"), name="b")
    return graph


@pytest.fixture
def editor() -> Iterator[GraphEditor]:
    editor = tgw.example()
    editor.mark("x:0", "net/hidden/Relu:0")
    editor.view.hide("labels")
    editor.view.pin("loss", 700, 300)
    yield editor
    editor.session.close()


@pytest.mark.parametrize("name", CASES)
@pytest.mark.sample(4)
def test_listeners_hear_of_an_edit_once_when_it_is_done(name: str, editor: GraphEditor) -> None:
    case = CASES[name]
    case.before(editor)
    calls: list[int] = []
    editor._core.listeners.append(lambda: calls.append(len(editor.history.done)))
    case.call(editor)
    assert calls == [len(editor.history.done)] * case.notifications


@pytest.mark.parametrize(
    "error", [RuntimeError("injected"), KeyboardInterrupt()], ids=["error", "interrupt"]
)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.sample(3)
def test_an_edit_that_fails_leaves_everything_as_it_was(
    name: str, error: BaseException, editor: GraphEditor
) -> None:
    case = CASES[name]
    case.before(editor)
    calls: list[int] = []
    editor._core.listeners.append(lambda: calls.append(len(editor.history.done)))
    before, listeners = state_of(editor), list(editor._core.listeners)
    with failing(*case.step, error), pytest.raises((type(error), tgw.GraphEditError)):
        case.call(editor)
    check_follows(editor)
    # Objects of it are others each time.
    keys = [key for key in before if key not in ("free scopes", "history")]
    assert differing(before, state_of(editor), keys) == ""
    assert list(editor._core.listeners) == listeners
    assert calls == [len(editor.history.done)] * case.when_failed
    calls.clear()
    editor.rename("loss", "mean_loss")
    assert calls == [len(editor.history.done)], "they hear of the next edit, once"


@pytest.mark.parametrize("name", CASES)
@pytest.mark.sample(4)
def test_every_case_is_a_transaction(
    name: str, monkeypatch: pytest.MonkeyPatch, editor: GraphEditor
) -> None:
    begun: list[EditExecutor] = []
    works = EditExecutor.transaction

    def counted(self: EditExecutor) -> Any:
        begun.append(self)
        return works(self)

    CASES[name].before(editor)
    monkeypatch.setattr(EditExecutor, "transaction", counted)
    CASES[name].call(editor)
    assert begun[0] is editor._core.executor


def failing_steps(*steps_to_undo: Callable[[], object]) -> None:
    """A transaction with these undo steps, of which a later step fails."""
    with transaction() as steps:
        for undo in steps_to_undo:
            steps.on_failure(undo)
        raise ZeroDivisionError


def test_steps_are_undone_in_reverse_order_and_only_when_a_later_one_fails() -> None:
    undone: list[str] = []
    with transaction() as steps:
        steps.on_failure(undone.append, "first")
    assert undone == []
    with pytest.raises(ZeroDivisionError):
        failing_steps(lambda: undone.append("first"), lambda: undone.append("second"))
    assert undone == ["second", "first"]


def test_an_undo_that_fails_does_not_keep_the_others_from_it() -> None:
    undone: list[str] = []
    with pytest.raises(KeyError):
        failing_steps(lambda: undone.append("first"), lambda: {}["missing"])
    assert undone == ["first"]


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """A shell that starts these tests in the background has them ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupt_comes_after_steps_that_are_not_interrupted_and_does_not_undo_them() -> None:
    undone: list[str] = []
    done: list[str] = []

    def interrupted() -> None:
        with transaction() as steps:
            with steps.without_interrupts():
                steps.on_failure(undone.append, "first")
                signal.raise_signal(signal.SIGINT)
                done.append("second")
            done.append("third")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert (done, undone) == (["second"], [])


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupt_while_steps_are_undone_waits_until_all_are() -> None:
    undone: list[str] = []

    def undo() -> None:
        signal.raise_signal(signal.SIGINT)
        undone.append("second")

    with pytest.raises(KeyboardInterrupt):
        failing_steps(lambda: undone.append("first"), undo)
    assert undone == ["second", "first"]


def test_a_context_manager_sees_the_error_of_a_later_step() -> None:
    seen: list[type[BaseException] | None] = []

    class Manager:
        def __enter__(self) -> None:
            pass

        def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
            seen.append(kind)

    def entered(*, fails: bool) -> None:
        with transaction() as steps, steps.without_interrupts():
            steps.enter_context(Manager())
            if fails:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        entered(fails=True)
    entered(fails=False)
    assert seen == [ZeroDivisionError, None]


def test_collected_notifications_are_one_at_the_end_of_the_outermost() -> None:
    calls: list[int] = []
    listeners = Listeners([lambda: calls.append(1)])
    with listeners.collect():
        with listeners.collect():
            listeners.notify()
            listeners.notify()
        assert calls == []
    assert calls == [1]
    with listeners.collect():
        pass
    assert calls == [1]
    listeners.notify()
    assert calls == [1, 1]


def test_a_snapshot_puts_attributes_back() -> None:
    class Holder:
        def __init__(self) -> None:
            self.kept, self.changed = 1, 2

    holder = Holder()
    snapshot = Snapshot(holder, without=("kept",))
    holder.kept = holder.changed = 3
    snapshot.restore()
    assert (holder.kept, holder.changed) == (3, 2)


@pytest.mark.parametrize(
    "error", [RuntimeError("injected"), KeyboardInterrupt()], ids=["error", "interrupt"]
)
@pytest.mark.parametrize("call", ["edit", "undo", "redo"])
@pytest.mark.sample(2)
def test_a_failure_after_the_renewal_of_a_session_puts_the_session_back_too(
    call: str, error: BaseException
) -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], "x")
        w = v1.get_variable("w", initializer=[1.0, 1.0], use_resource=True)
        y = tf.identity(tf.nn.relu(x * w, name="relu"), "y")
    with v1.Session(graph=graph) as session:
        session.run(w.initializer)
        editor = tgw.edit(graph, session=session)

        def run() -> list[float]:
            return list(session.run(y, {x: [-1.0, 1.0]}).tolist())

        assert run() == [0, 1]
        edit = {"edit": lambda: editor.bypass("relu"), "undo": editor.undo, "redo": editor.redo}
        for name in ("edit", "undo", "redo"):
            if name == call:
                break
            edit[name]()
        session.run("w/Assign", {"w/Initializer/initial_value:0": [2.0, 3.0]})
        before, expected = list(editor._core.index.nodes), run()
        with failing(EditExecutor, "_set_latest", 1, error), pytest.raises(type(error)):
            edit[call]()
        assert list(editor._core.index.nodes) == before
        assert run() == expected
        edit[call]()
        assert run() == ([0, 3] if call == "undo" else [-2, 3])


@pytest.fixture
def switching() -> Iterator[None]:
    """Threads take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def test_edits_of_several_threads_are_made_one_after_the_other(switching: None) -> None:
    with tf.Graph().as_default() as graph:
        for k in range(24):
            tf.constant(k, name=f"c{k}")
    editor, other = tgw.edit(graph), tgw.edit(graph)
    with ThreadPoolExecutor(8) as threads:
        reports = list(
            threads.map(lambda k: (editor, other)[k % 2].rename(f"c{k}", f"new{k}"), range(24))
        )
    assert len(reports) == len(editor.history.lines) + len(other.history.lines) == 24
    assert (
        set(editor._core.index.names)
        == set(other._core.index.names)
        == {f"new{k}" for k in range(24)}
    )
    while editor.history.lines:
        editor.undo()
    assert set(editor._core.index.names) == {f"new{k}" if k % 2 else f"c{k}" for k in range(24)}


def test_an_edit_does_not_wait_for_ever_for_another_thread_s(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    editor = tgw.example()
    monkeypatch.setattr("tfgraphwidget.editor.transaction._PATIENCE", 0.01)
    with ThreadPoolExecutor(1) as thread, editor._core.executor.transaction():
        error = thread.submit(editor.bypass, "net/hidden/Relu").exception()
    assert "An edit of another thread has not ended" in str(error)
    assert not editor.history.lines
    editor.bypass("net/hidden/Relu")


def test_an_edit_of_another_thread_during_a_preview_is_made(switching: None) -> None:
    """It waits for the preview, which neither takes it for its own nor puts it back."""
    editor = tgw.example()
    previewing, asked = threading.Event(), threading.Event()

    def slow(x: tf.Tensor) -> tf.Tensor:
        previewing.set()
        asked.wait(10)
        time.sleep(0.1)  # until the other thread waits
        return tf.tanh(x)

    def rename() -> Any:
        previewing.wait(10)
        asked.set()
        return editor.rename("loss", "cost")

    with ThreadPoolExecutor(2) as threads:
        edit = threads.submit(rename)
        preview = threads.submit(
            editor.preview, lambda there: there.insert("net/hidden/Relu:0", slow, into="tanh")
        )
        assert [name for name in preview.result().added if "gradients" not in name] == ["tanh/Tanh"]
        assert edit.result().renamed == (("loss", "cost"),)
    assert editor.history.lines == ('editor.rename(old="loss", new="cost")',)
    assert "cost" in editor._core.index.ids
    assert "Tanh" not in editor._core.index.types


def test_previews_of_one_thread_and_edits_of_others_leave_each_other_alone(switching: None) -> None:
    editor = tgw.example()

    def previews() -> int:
        impacts = [
            editor.preview({"command": "bypass", "arguments": {"what": "net/hidden/Relu"}})
            for _ in range(20)
        ]
        return len(impacts)

    def inserts() -> int:
        return len([editor.insert("net/hidden/Relu:0", tf.tanh) for _ in range(4)])

    with ThreadPoolExecutor(3) as threads:
        jobs = [threads.submit(job) for job in (previews, inserts, inserts)]
        assert [job.result() for job in jobs] == [20, 4, 4]
    forward = [name for name in editor.ops(type="Tanh").ops if not name.startswith("gradients")]
    assert len(editor.history.lines) == len(forward) == 8
    while editor.history.lines:
        editor.undo()
    assert "Tanh" not in editor._core.index.types


def test_two_clones_at_once_get_names_of_their_own(switching: None) -> None:
    editor = tgw.example()
    with ThreadPoolExecutor(4) as threads:
        copies = list(threads.map(lambda _: editor.clone("x:0", "net/logits:0"), range(4)))
    assert len({copy.scope for copy in copies}) == len(editor.history.lines) == 4


def test_listeners_are_called_again_when_collections_of_two_threads_overlap() -> None:
    calls: list[int] = []
    listeners = Listeners([lambda: calls.append(1)])
    first, second = listeners.collect(), listeners.collect()
    first.__enter__()
    second.__enter__()
    listeners.notify()
    first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    assert calls == [1]
    listeners.notify()
    assert calls == [1, 1]

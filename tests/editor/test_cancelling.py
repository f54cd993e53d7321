"""An interrupt at any moment: an edit is done wholly or not at all, what is seen is put back, one
reply goes out.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import build_mlp, initialised
from tests.front_end import FrontEnd, all_of, graph_of
from tests.slow import slow_if
from tfgraphwidget.cancellation import held_back, let_in
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.progress import listen, report_each, tell
from tfgraphwidget.widget import request_loop
from tfgraphwidget.widget.pane import Pane

T = TypeVar("T")
PACKAGES = (str(Path(tgw.__file__).parent), str(Path(tf.__file__).parent))
QUICK = {"clone", "search"}
MOMENTS = int(os.environ.get("TFGRAPHWIDGET_EXAMPLES", "3"))  # of each work; for a night: hundreds


class Interrupting:
    """Interrupts the process before the n-th line of Python of our package or of TensorFlow; 0 only
    counts them.
    """

    def __init__(self, line: int = 0) -> None:
        self.left, self.lines = line, 0

    def __enter__(self) -> Interrupting:
        self.before = signal.signal(signal.SIGINT, signal.default_int_handler)
        # What an earlier test has left is not thrown away in here: __del__ would count, and swallow
        # the interrupt.
        gc.collect()
        gc.disable()
        sys.settrace(self.enter)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        gc.enable()
        signal.signal(signal.SIGINT, self.before)

    def enter(self, frame: types.FrameType, event: str, _: Any) -> Any:
        return (
            self.follow
            if event == "call" and frame.f_code.co_filename.startswith(PACKAGES)
            else None
        )

    def follow(self, _: types.FrameType, event: str, __: Any) -> Any:
        if event == "line":
            self.lines += 1
            if self.lines == self.left:
                sys.settrace(None)
                signal.raise_signal(signal.SIGINT)
        return self.follow


def opened() -> GraphEditor:
    graph = build_mlp(resource=True)
    return tgw.edit(graph, session=initialised(graph))


WORKS: dict[str, Callable[[GraphEditor], Any]] = {
    "clone": lambda editor: editor.clone(["x:0"], ["net/logits:0"], into="copy"),
    "connect": lambda editor: editor.connect("net/two/add:0", "net/logits", k=0),
    "insert": lambda editor: editor.insert("net/one/out:0", "Identity"),
    "replace_all": lambda editor: editor.replace_all("Relu(x)", "Elu(x)", until="fixed"),
    "fold_constants": lambda editor: editor.passes.fold_constants(),
    "cast": lambda editor: editor.passes.cast("float16"),
    "change_batch_size": lambda editor: editor.passes.change_batch_size(2),
    "undo": lambda editor: editor.undo(),
    "redo": lambda editor: editor.redo(),
}


def started(kind: str) -> GraphEditor:
    """An editor with what comes before a work."""
    editor = opened()
    if kind in ("undo", "redo"):
        editor.clone(["x:0"], ["net/logits:0"], into="other")
        editor.connect("net/two/add:0", "net/logits", k=0)
    if kind == "redo":
        editor.undo()
    return editor


def moments(prepare: Callable[[], T], work: Callable[[T], Any]) -> list[int]:
    """Numbers of lines of a work that is done for the second time, when all is imported.

    Not the first and last few: there nobody has the message yet, or the reply has gone out. How
    many lines a work takes differs a little from one time to the next.
    """
    work(prepare())
    subject = prepare()
    # A collection of what earlier tests have left would count its finalizers' lines as the work's.
    gc.collect()
    gc.disable()
    try:
        with Interrupting() as counting:
            work(subject)
    finally:
        gc.enable()
    return np.unique(np.linspace(24, 0.9 * counting.lines, MOMENTS).astype(int)).tolist()


def state(editor: GraphEditor) -> dict[str, Any]:
    """What a person can see, the session's numbers included; ops that TensorFlow cannot remove are
    hidden.
    """
    given = editor.session.run("net/logits:0", {"x:0": np.ones((2, 3))})
    return {
        **graph_of(editor),
        "undone": [step.command for step in editor.history.undone],
        "logits": given.tobytes(),
    }


@pytest.mark.parametrize("kind", slow_if(lambda kind: kind not in QUICK, sorted(WORKS)))
def test_an_edit_that_is_interrupted_is_done_wholly_or_not_at_all(kind: str) -> None:
    for moment in moments(lambda: started(kind), WORKS[kind]):
        editor = started(kind)
        before, history = state(editor), editor.history
        with pytest.raises(KeyboardInterrupt), Interrupting(moment):
            WORKS[kind](editor)
        if editor.history == history:
            assert state(editor) == before, moment
            WORKS[kind](editor)
        done = state(editor)
        (editor.redo if kind == "undo" else editor.undo)()
        assert state(editor)["ops"] == before["ops"], moment
        (editor.undo if kind == "undo" else editor.redo)()
        assert state(editor) == done, moment


@pytest.mark.slow
def test_a_jump_that_is_interrupted_is_done_wholly_or_not_at_all() -> None:
    def prepared() -> GraphEditor:
        editor = started("undo")
        editor.set_device("net/logits", "/device:CPU:0")
        return editor

    def jump(editor: GraphEditor) -> None:
        editor.history.goto(0)

    for moment in moments(prepared, jump):
        editor = prepared()
        before, commands = state(editor), editor._core.executor.history.commands
        with pytest.raises(KeyboardInterrupt), Interrupting(moment):
            jump(editor)
        if editor._core.executor.history.commands == commands:
            assert state(editor) == before, moment
            jump(editor)
        assert not editor.history.done, moment
        editor.history.goto(3)
        assert state(editor) == before, moment


MESSAGES: dict[str, dict[str, Any]] = {
    "clone": {"type": "clone", "inputs": ["x:0"], "outputs": ["net/logits:0"], "into": "copy"},
    "change": {"type": "change", "command": "connect", "what": ["net/two/add:0", "net/logits"],
        "keys": ["k"],
               "values": ["0"]},
    "replace_all": {"type": "change", "command": "replace_all", "keys": ["pattern", "by"],
                    "values": ["Relu(x)", "Elu(x)"]},
    "preview_edit": {"type": "preview_edit", "command": "cast", "keys": ["dtype"],
        "values": ["float16"]},
    "search": {"type": "search", "text": "pattern:Relu(BiasAdd|Add|AddV2(x, b))"},
    "undo": {"type": "undo"},
    "jump": {"type": "jump", "to": 0},
    "unfold": {"type": "expand_all", "everything": True},
    "boundary": {"type": "boundary", "inputs": ["x:0"], "outputs": ["net/one/out:0"]},
    "compare": {"type": "compare", "show": True},
    "color": {"type": "color", "by": "parameters"},
    "hide": {"type": "hide", "command": "hide", "names": ["net/one"]},
    "turn": {"type": "set_direction", "direction": "right"},
    "preview": {"type": "preview", "inputs": ["x:0"], "outputs": ["net/logits:0"], "into": "copy"},
}  # fmt: skip


def page() -> FrontEnd:
    """A front end that has opened an editor with two edits."""
    editor = opened()
    editor.insert("net/one/out:0", "Identity")
    editor.insert("net/two/out:0", "Identity", into="second")
    front = FrontEnd(editor)
    front.ask("open")
    return front


@pytest.mark.parametrize("kind", slow_if(lambda kind: kind not in QUICK, sorted(MESSAGES)))
def test_a_request_that_is_interrupted_gets_one_reply_and_leaves_what_is_seen(kind: str) -> None:
    cancelled: list[bool] = []
    for moment in moments(page, lambda front: front.ask(**named(MESSAGES[kind]))):
        front = page()
        editor = front.editor
        before, graph, history, revision = (
            seen(editor),
            graph_of(editor),
            editor.history,
            editor.view.widget.revision,
        )
        with Interrupting(moment):
            reply = front.ask(**named(MESSAGES[kind]))
        cancelled.append(reply["type"] == "refusal")
        if cancelled[-1]:
            assert reply["why"].startswith("Cancelled")
            assert editor.view.widget.revision > revision
        if "nothing has changed" in reply.get("why", ""):
            assert editor.history == history
            assert seen(editor) == before, moment
            assert graph_of(editor) == graph, moment
            assert front.ask(**named(MESSAGES[kind]))["type"] != "refusal", moment
    # What comes before the request is read, or when it is done, is passed over; most moments lie
    # between.
    assert sum(cancelled) >= len(cancelled) // 2


@pytest.mark.parametrize("where", ["answer", "progress"])
def test_an_interrupt_after_an_edit_says_that_it_is_done(monkeypatch, where: str) -> None:
    front = page()
    history = front.editor.history

    def answer(pane: Pane, *request: Any) -> Any:
        whole_answer(pane, *request)
        raise KeyboardInterrupt

    @contextmanager
    def until_interrupted(_: object) -> Iterator[None]:
        yield
        raise KeyboardInterrupt

    whole_answer = Pane.answer
    if where == "answer":
        monkeypatch.setattr(Pane, "answer", answer)
    else:
        monkeypatch.setattr(request_loop, "listen", until_interrupted)
    reply = front.ask(**named(MESSAGES["clone"]))
    assert len(front.editor.history.done) == len(history.done) + 1
    assert (reply["type"] == "refusal") is (where == "answer")
    assert "nothing has changed" not in reply.get("why", "")


def named(message: dict[str, Any]) -> dict[str, Any]:
    """As FrontEnd.ask takes it."""
    return {"kind" if key == "type" else key: value for key, value in message.items()}


def seen(editor: GraphEditor) -> dict[str, Any]:
    """All that a refusal leaves alone; but an interrupt may come when TensorFlow has ops that it
    cannot remove.
    """
    return {key: value for key, value in all_of(editor).items() if key != "GraphDef"}


def interrupted(work: Callable[[], Any]) -> bool:
    """Whether an interrupt comes out of a work."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with held_back():
            work()
    except KeyboardInterrupt:
        return True
    finally:
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        signal.signal(signal.SIGINT, before)
    return False


def test_what_is_held_back_comes_after_or_where_it_is_let_in() -> None:
    done: list[int] = []

    def work(let: Callable[[], None]) -> None:
        signal.raise_signal(signal.SIGINT)
        with held_back():
            done.append(1)
        let()
        done.append(2)

    assert interrupted(lambda: work(lambda: None))
    assert done == [1, 2]
    assert interrupted(lambda: work(let_in))
    assert done == [1, 2, 1]
    assert not interrupted(let_in)


def test_an_interrupt_of_the_main_thread_is_let_into_no_other() -> None:
    raised: list[type] = []

    def other() -> None:
        try:
            let_in()
        except KeyboardInterrupt as error:
            raised.append(type(error))

    def work() -> None:
        with held_back():
            signal.raise_signal(signal.SIGINT)
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()

    assert interrupted(work)
    assert not raised


def test_progress_is_reported_to_its_listener_only() -> None:
    calls: list[tuple[str, int, int]] = []
    assert report_each([1, 2], "Counting") == [1, 2]
    with listen(lambda *report: calls.append(report)):
        assert list(report_each(range(5), "Counting", every=2)) == [0, 1, 2, 3, 4]
        tell("Ending")
    tell("nobody")
    assert calls == [("Counting", 0, 5), ("Counting", 2, 5), ("Counting", 4, 5), ("Ending", 0, 0)]


def test_a_long_request_says_how_far_it_is_before_its_one_reply(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    front = page()
    monkeypatch.setattr("tfgraphwidget.widget.request_loop._SECONDS_OF_SILENCE", 0)
    front.ask(**named(MESSAGES["clone"]))
    sent = [data["content"] for data, _ in front.line.__dict__["sent"] if "content" in data]
    assert [message["id"] for message in sent] == [front.next] * len(sent)
    assert [message["type"] for message in sent[:-1]] == ["working"] * (len(sent) - 1)
    assert sent[-1]["type"] == "scene_reply"
    assert any(0 < message["total"] >= message["done"] for message in sent[:-1])


def test_an_editor_answers_a_ping_with_its_revision() -> None:
    front = page()
    assert front.ask("ping") == {
        "id": front.next,
        "type": "pong",
        "revision": front.editor.view.widget.revision,
    }


def test_a_pass_on_a_file_that_is_interrupted_is_done_wholly_or_not_at_all() -> None:
    def prepared() -> GraphEditor:
        return tgw.edit(build_mlp(resource=True).as_graph_def())

    def work(editor: GraphEditor) -> None:
        editor.replace_all("Relu(x)", "Elu(x)")
        editor.passes.fold_constants()

    for moment in moments(prepared, work):
        editor = prepared()
        with pytest.raises(KeyboardInterrupt), Interrupting(moment):
            work(editor)
        commands = [step.command for step in editor.history.done]
        again = prepared()
        for command in commands:
            again.apply(command)
        assert list(editor._core.index.nodes) == list(again._core.index.nodes)
        assert not editor.history.undone
        editor.history.goto(0)
        assert not editor.diff()

"""Sessions that TensorFlow's training loops wrap: the session inside is taken, and its hooks run no
more often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.debug.wrappers.dumping_wrapper import DumpingDebugWrapperSession

import tfgraphwidget as tgw
from tests.conftest import build_mlp, v1
from tfgraphwidget.errors import GraphFinalized, SessionRefused

X = {"x:0": np.ones((1, 3))}
LOGITS, RELU = "net/logits:0", "net/one/out"


class Counting(v1.train.SessionRunHook):
    """Counts the runs of a session, and keeps what hooks are given."""

    def __init__(self) -> None:
        self.runs = 0
        self.given: list[Any] = []

    def after_create_session(self, session: Any, coord: Any) -> None:
        self.given.append(session)

    def before_run(self, context: Any) -> None:
        self.runs += 1
        self.given.append(context.session)


Opened = tuple[Any, Callable[[], int]]


@contextmanager
def monitored(kind: Callable[..., Any]) -> Iterator[Opened]:
    hook = Counting()
    with kind(hooks=[hook]) as session:
        yield session, lambda: hook.runs


@contextmanager
def recoverable_inside() -> Iterator[Opened]:
    """What lies between a MonitoredSession and its session."""
    with v1.train.MonitoredSession() as session:
        yield session._sess, lambda: 0


@contextmanager
def of_a_hook(which: int) -> Iterator[Opened]:
    hook = Counting()
    with v1.train.MonitoredSession(hooks=[hook]) as session:
        session.run("net/logits:0", X)
        runs = hook.runs
        yield hook.given[which], lambda: hook.runs - runs


@contextmanager
def of_a_step() -> Iterator[Opened]:
    with v1.train.MonitoredSession() as session:
        yield session.run_step_fn(lambda step_context: step_context.session), lambda: 0


@contextmanager
def managed() -> Iterator[Opened]:
    supervisor = v1.train.Supervisor(logdir=None)
    with supervisor.managed_session() as session:
        yield session, lambda: 0


@contextmanager
def debugged() -> Iterator[Opened]:
    with TemporaryDirectory() as session_root, v1.Session() as session:
        session.run(v1.global_variables_initializer())
        yield DumpingDebugWrapperSession(session, session_root), lambda: 0


KINDS: dict[str, Callable[[], Any]] = {
    "MonitoredSession": lambda: monitored(v1.train.MonitoredSession),
    "SingularMonitoredSession": lambda: monitored(v1.train.SingularMonitoredSession),
    "MonitoredTrainingSession": lambda: monitored(v1.train.MonitoredTrainingSession),
    "what a MonitoredSession wraps": recoverable_inside,
    "what a hook is given first": lambda: of_a_hook(0),
    "what a hook is given for each run": lambda: of_a_hook(1),
    "what a step is given": of_a_step,
    "a Supervisor's": managed,
    "a debugger": debugged,
}


@pytest.fixture(params=KINDS)
def opened(request: pytest.FixtureRequest) -> Iterator[Opened]:
    with build_mlp(resource=True).as_default():
        v1.train.create_global_step()
        with KINDS[request.param]() as held:
            yield held


@pytest.mark.parametrize("how", ["alone", "beside its graph", "beside nothing"])
@pytest.mark.sample(6)
def test_the_session_inside_is_the_editors(opened: Opened, how: str, tmp_path: Path) -> None:
    session, runs = opened
    graph = session.graph
    asks = {
        "alone": lambda: tgw.edit(session),
        "beside its graph": lambda: tgw.edit(graph, session=session),
        "beside nothing": lambda: tgw.edit(session=session),
    }
    editor = asks[how]()
    inside = editor.session
    assert isinstance(inside, v1.Session)
    assert editor.graph is graph
    before = inside.run(LOGITS, X)
    if graph.finalized:
        for edit in (lambda: editor.clone("x:0", LOGITS, "copy"), lambda: editor.bypass(RELU)):
            with pytest.raises(GraphFinalized, match=r"a SessionRunHook's begin\(\) comes before"):
                edit()
    else:
        editor.clone("x:0", LOGITS, "copy").sync(session=session)
        editor.bypass(RELU)
        assert not np.array_equal(inside.run(LOGITS, X), before)
        editor.undo()
    assert np.array_equal(inside.run(LOGITS, X), before)
    assert tgw.renew(session) == ()
    editor.save(str(tmp_path / "saved/"), "x:0", LOGITS)
    assert runs() == 0


def test_a_hook_edits_the_graph_before_it_is_finalized_and_the_training_loop_sees_it() -> None:
    """The way out that the refusal names."""

    class Editing(v1.train.SessionRunHook):
        def begin(self) -> None:
            tgw.edit(v1.get_default_graph()).clone("x:0", LOGITS, "copy", init="none")

    with (
        build_mlp(resource=True).as_default(),
        v1.train.MonitoredSession(hooks=[Editing()]) as session,
    ):
        assert session.run(f"copy/{LOGITS}", X).shape == (1, 4)


def test_a_copy_may_go_into_the_graph_of_a_wrapped_session(tmp_path: Path) -> None:
    editor = tgw.example()
    other = tf.Graph()
    with other.as_default(), v1.Session() as inside:
        wrapped = DumpingDebugWrapperSession(inside, str(tmp_path / "dumps"))
        editor.clone("x:0", LOGITS, "copy", graph=other, session=wrapped)
        assert inside.run(f"copy/{LOGITS}", {"copy/x:0": np.ones((1, 4))}).shape == (1, 3)


def test_a_monitored_session_that_is_closed_is_refused_at_once() -> None:
    with build_mlp(resource=True).as_default() as graph:
        with v1.train.MonitoredSession() as session:
            pass
        for ask in (
            lambda: tgw.edit(session),
            lambda: tgw.edit(graph, session=session),
            lambda: tgw.renew(session),
        ):
            with pytest.raises(
                SessionRefused, match="The MonitoredSession is closed; open a new one"
            ):
                ask()


def test_what_wraps_a_session_in_a_way_that_is_unknown_is_refused_before_anything_changes() -> None:
    class Wrapped:
        def __init__(self, session: v1.Session) -> None:
            self.graph, self.run = session.graph, session.run

    with build_mlp(resource=True).as_default() as graph, v1.Session() as session:
        session.run(v1.global_variables_initializer())
        editor = tgw.edit(graph, session=Wrapped(session))
        assert editor.clone("x:0", LOGITS, "copy").variables
        with pytest.raises(SessionRefused, match="give the one that it holds"):
            editor.bypass(RELU)
        assert session.run(LOGITS, X).shape == (1, 4)

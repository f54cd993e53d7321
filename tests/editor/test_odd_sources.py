"""Every method on graphs that are odd to edit: it is done, or refused in a sentence, and the graph
is as it was then.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.editor.file_verbs import METHODS
from tests.stress.sentences import Broken, refusal_of
from tfgraphwidget.editor import GraphEditor

SHAPE = [2, 4]


def build(x: Any, middle: Callable[[Any], Any] = tf.identity, weight: Any = 1.0) -> Any:
    """What the methods look for: a Relu, the constant 2.0, an Identity at the end; `middle` is what
    is odd.
    """
    hidden = tf.nn.relu(x, name="net/relu")
    scaled = tf.multiply(middle(hidden * weight), tf.constant(2.0, name="two"), name="net/scaled")
    return tf.identity(scaled, name="out")


def in_graph(middle: Callable[[Any], Any] = tf.identity, *, variable: bool = True) -> tf.Graph:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, SHAPE, name="x")
        weight = (
            v1.get_variable("w", initializer=tf.constant(3.0, name="first")) if variable else 1.0
        )
        build(x, middle, weight)
    return graph


def old_loop(value: Any) -> Any:
    """A while loop of TensorFlow 1."""
    v1.disable_control_flow_v2()
    try:
        return v1.while_loop(
            lambda k, _: k < 3, lambda k, v: (k + 1, v * 2.0), (0, value), name="loop"
        )[1]
    finally:
        v1.enable_control_flow_v2()


def old_conditional(value: Any) -> Any:
    """A conditional of TensorFlow 1."""
    v1.disable_control_flow_v2()
    try:
        return v1.cond(
            tf.reduce_sum(value) > 0.0, lambda: value + 1.0, lambda: value - 1.0, name="choice"
        )
    finally:
        v1.enable_control_flow_v2()


def new_loop(value: Any) -> Any:
    return tf.while_loop(lambda k, _: k < 3, lambda k, v: (k + 1, v * 2.0), (0, value))[1]


@functools.cache
def traced() -> Any:
    """A function, of which edits make another one."""
    weight = tf.Variable(3.0)
    function = tf.function(lambda x: build(x, new_loop, weight))
    concrete = function.get_concrete_function(tf.TensorSpec(SHAPE, tf.float32, name="x"))
    concrete.graph.weight = weight  # else it goes, and the function with it
    return concrete


@functools.cache
def frozen() -> Any:
    """The same with its loop lowered."""
    return convert_variables_to_constants_v2(traced())


def session_of(graph: tf.Graph, *, initialized: bool = True) -> Any:
    session = v1.Session(graph=graph)
    if initialized:
        with graph.as_default():
            session.run(v1.global_variables_initializer())
    return session


def finalized() -> GraphEditor:
    session = session_of(in_graph())
    session.graph.finalize()
    return tgw.edit(session)


def closed() -> GraphEditor:
    session = session_of(in_graph())
    editor = tgw.edit(session)
    session.close()
    return editor


def amid_scopes() -> GraphEditor:
    """A graph that is the default one, in a name scope, on a device, after a control
    dependency.
    """
    graph = in_graph()
    stack = graph.as_default(), v1.name_scope("around"), v1.device("/device:CPU:0")
    for each in stack:
        each.__enter__()
    editor = tgw.edit(session_of(graph))
    for each in reversed(stack):
        each.__exit__(None, None, None)
    return editor


def grown_since() -> GraphEditor:
    """A graph to which a cell has added ops since it was opened."""
    session = session_of(in_graph())
    editor = tgw.edit(session)
    with session.graph.as_default():
        tf.identity(session.graph.get_tensor_by_name("out:0"), name="later")
    return editor


SOURCES: dict[str, Callable[[], GraphEditor]] = {
    "a loop of TensorFlow 1": lambda: tgw.edit(session_of(in_graph(old_loop))),
    "a conditional of TensorFlow 1": lambda: tgw.edit(session_of(in_graph(old_conditional))),
    "a loop of TensorFlow 1 without its context": lambda: tgw.edit(
        in_graph(old_loop, variable=False).as_graph_def()
    ),
    "a loop of TensorFlow 2": lambda: tgw.edit(session_of(in_graph(new_loop))),
    "a traced function": lambda: tgw.edit(traced()),
    "the graph of a traced function": lambda: tgw.edit(traced().graph),
    "a frozen function with its loop lowered": lambda: tgw.edit(frozen()),
    "the graph of a frozen function": lambda: tgw.edit(frozen().graph),
    "a finalized graph": finalized,
    "a session that was closed": closed,
    "variables without values": lambda: tgw.edit(session_of(in_graph(), initialized=False)),
    "a graph without a session": lambda: tgw.edit(in_graph()),
    "a graph amid scopes and devices": amid_scopes,
    "a graph that has grown since": grown_since,
}


SEVERAL = frozenset({"undo", "redo", "jump"})
"""Methods that are tried after an edit, which stays when they are refused."""


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.sample(2)
def test_every_method_is_done_or_refused_in_a_sentence_that_changes_nothing(
    source: str, tmp_path: Path
) -> None:
    wrong = []
    functions = [each.graph.as_graph_def() for each in (traced(), frozen())]
    for number, (method, call) in enumerate(METHODS.items()):
        if (
            method == "session"
        ):  # which is tried by a run, and TensorFlow's own errors are a session's
            continue
        editor, folder = SOURCES[source](), tmp_path / str(number)
        folder.mkdir()
        before = editor.history.done, editor._core.index.names
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                refusal = refusal_of(lambda: call(editor, folder))  # noqa: B023  called at once
            except Broken as error:
                if not isinstance(
                    error.__cause__, StopIteration
                ):  # else the graph has no op that the method is tried on
                    wrong.append(f"{method}: {error}")
                continue
        if (
            refusal is not None
            and method not in SEVERAL
            and (editor.history.done, editor._core.index.names) != before
        ):
            wrong.append(f"{method}: refused ({refusal.why}), and the graph is another one")
    assert wrong == []
    assert functions == [each.graph.as_graph_def() for each in (traced(), frozen())]

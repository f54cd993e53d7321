"""All or nothing: whatever fails, and wherever, graph, collections, session and editor are as
before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import initialised, read, v1
from tfgraphwidget import edits
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.editor.places import LiveGraph
from tfgraphwidget.editor.transaction import Listeners
from tfgraphwidget.edits.history import History
from tfgraphwidget.errors import GraphEditError, NameTaken
from tfgraphwidget.runtime.live import (
    control_flow_contexts,
    graph_import,
    patch_application,
    static_attributes,
)
from tfgraphwidget.runtime.sandbox import preflight
from tfgraphwidget.runtime.session import variable_values

STEPS: dict[str, tuple[Any, str, int]] = {
    "the proof": (patch_application, "validate", 1),
    "the proof's import": (preflight, "run_import", 2),
    "entering a function": (tf.Graph, "_add_function", 1),
    "the import": (graph_import, "run_import", 1),
    "making the ops' Python objects": (graph_import, "_wrap", 1),
    "the third op's Python object": (tf.Operation, "_from_c_op", 3),
    "keeping shapes": (patch_application, "copy_static_attributes", 1),
    "the first shape": (static_attributes, "_copy_shape", 1),
    "contexts": (patch_application, "rebuild_contexts", 1),
    "marking ops of loops": (control_flow_contexts._ContextBuilder, "mark", 1),
    "the first variable": (patch_application, "make_variable", 1),
    "the second variable": (patch_application, "make_variable", 2),
    "collections": (patch_application, "_add_members", 1),
    "a member of a collection": (tf.Graph, "get_collection_ref", 14),
    "queue runners": (patch_application, "add_runners", 1),
    "a queue runner": (patch_application.tf.compat.v1.train.QueueRunner, "from_proto", 1),
    "values": (variable_values, "load_values", 1),
    "the index": (edits, "apply_patch", 1),
    "the stamp": (LiveGraph, "_present_stamp", 3),
    "the history": (History, "push", 1),
}
BEFORE_THE_GRAPH_CHANGES = {"the proof", "the proof's import", "entering a function", "the import"}


@pytest.fixture
def everything() -> Iterator[tuple[tf.Graph, v1.Session]]:
    """x -> a dense layer, a v1 loop, a queue with its runner, a function that keeps state, a set
    shape -> y.
    """
    v1.disable_control_flow_v2()
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        w = v1.get_variable(
            "w", [2, 2], initializer=v1.ones_initializer(), regularizer=tf.nn.l2_loss
        )
        b = v1.get_variable("b", [2], initializer=v1.ones_initializer(), use_resource=False)
        h = tf.matmul(x, w) + b
        h = v1.while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, v * 2), [0, h])[1]
        open_shape = v1.placeholder_with_default(h, None, name="open")
        open_shape.set_shape([None, 2])
        queue = tf.queue.FIFOQueue(4, tf.float32, [2], name="queue")
        v1.train.add_queue_runner(
            v1.train.QueueRunner(queue, [queue.enqueue(tf.constant([1.0, 2.0]), name="put")])
        )

        @tf.function
        def stateful(value: tf.Tensor) -> tf.Tensor:
            table = tf.raw_ops.HashTableV2(
                key_dtype=tf.int64, value_dtype=tf.float32, shared_name="kept"
            )
            size = tf.raw_ops.LookupTableSizeV2(table_handle=table)
            return value + tf.cast(size, tf.float32)

        tf.identity(stateful(open_shape) + queue.dequeue(), name="y")
        graph.add_to_collection("losses_of_mine", tf.identity(h, name="h"))
    session = initialised(graph)
    yield graph, session
    session.close()


def seen(editor: GraphEditor, session: v1.Session) -> dict[str, Any]:
    """All that must be as before."""
    graph = editor.graph
    variables = graph.get_collection("variables")
    names = list(editor._core.index.names)
    shown = set(names)
    return {
        "collections": {
            key: list(map(id, graph.get_collection_ref(key)))
            for key in graph.get_all_collection_keys()
        },
        "nested": [
            len(c._nested_contexts) + len(c._values) for c in graph.get_collection("while_context")
        ],
        "names": names,
        "members": {
            key: members for key, members in editor._core.index.collections.items() if members
        },
        "variables": editor._core.index.variable_defs,
        "values": [value.tolist() for value in read(variables, session)],
        "code": editor.history.lines,
        "history": editor.history,
        "fresh": editor._core.executor.latest_ops,
        "nodes": [node for node in graph.as_graph_def().node if node.name in shown],
    }


@contextmanager
def failing(owner: Any, name: str, at: int, error: BaseException) -> Iterator[Callable[[], int]]:
    """The function raises `error` when it is called for the `at`-th time, and works before and
    after that.
    """
    raw = vars(owner)[name] if isinstance(owner, type) else getattr(owner, name)
    works = raw.__func__ if isinstance(raw, classmethod | staticmethod) else raw
    calls = 0

    def counted(*args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == at:
            raise error
        return works(*args, **options)

    put = type(raw)(counted) if isinstance(raw, classmethod | staticmethod) else counted
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(owner, name, put)
        yield lambda: calls


@pytest.mark.parametrize(
    "error", [RuntimeError("injected"), KeyboardInterrupt()], ids=["error", "interrupt"]
)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.sample(4)
def test_whatever_fails_all_is_as_before(
    everything: tuple[tf.Graph, v1.Session], step: str, error: BaseException
) -> None:
    graph, session = everything
    editor = tgw.edit(graph, session=session)
    before, ops, functions = seen(editor, session), graph.version, set(graph._functions)
    with failing(*STEPS[step], error) as calls:
        with pytest.raises(type(error)):
            editor.clone(outputs=["y:0", "h:0"], into="copy", init="current")
        assert calls() >= STEPS[step][2]
    after = seen(editor, session)
    for what, held in before.items():
        assert after[what] == held, what
    if step in BEFORE_THE_GRAPH_CHANGES:
        assert graph.version == ops
        assert set(graph._functions) == functions
    assert len(graph.new_operations()) == 0
    again = editor.clone(outputs=["y:0", "h:0"], into="copy", init="current")
    other = editor.clone(outputs=["y:0", "h:0"], into="other", init="current")
    check_works(session, again, other)


def check_works(session: v1.Session, *copies: Any) -> None:
    """Original and copies give one value, trained apart and in one step, and have a gradient."""
    graph, puts = session.graph, ["put"]
    for copy in copies:
        assert len(copy.variables) == 2
        assert [v is copy.variables[0] for v in graph.get_collection("variables")].count(True) == 1
        puts.append(copy["put"].name)
    with graph.as_default():
        gradient = tf.gradients(copies[0]["h:0"], copies[0].variables[0])
    session.run(puts)
    feed = {copy["x:0"] if "x" in copy else "x:0": [[1.0, 2.0]] for copy in copies} | {
        "x:0": [[1.0, 2.0]]
    }
    original, *copied = session.run(["y:0", *(copy["y:0"] for copy in copies)], feed)
    assert all(np.array_equal(original, value) for value in copied)
    session.run(puts[:2])
    assert session.run(gradient, feed)[0].any()


@pytest.mark.parametrize("step", ["the second variable", "values", "the index"])
def test_the_same_clone_tried_again_shows_the_ops_that_the_failure_left(
    mlp: tf.Graph, editor: GraphEditor, session: v1.Session, batch: np.ndarray, step: str
) -> None:
    with failing(*STEPS[step], RuntimeError("injected")), pytest.raises(RuntimeError):
        editor.clone("x:0", "net/logits:0", "copy")
    ops = mlp.version
    copy = editor.clone("x:0", "net/logits:0", "copy")
    assert mlp.version == ops
    assert np.array_equal(*session.run(["net/logits:0", copy["net/logits:0"]], {"x:0": batch}))
    editor.undo()
    with pytest.raises(NameTaken):
        editor.clone("x:0", "net/logits:0", "copy")


def test_another_clone_cannot_take_the_names_of_ops_that_a_failure_left(
    mlp: tf.Graph, editor: GraphEditor, session: v1.Session
) -> None:
    with failing(*STEPS["values"], RuntimeError("injected")), pytest.raises(RuntimeError):
        editor.clone("x:0", "net/logits:0", "copy")
    before, ops = seen(editor, session), mlp.version
    with pytest.raises(GraphEditError, match="another name scope"):
        editor.clone("net/one/out:0", "net/logits:0", "copy", variables="shared")
    assert mlp.version == ops
    assert seen(editor, session) == before
    assert editor.clone("x:0", "net/logits:0").scope != "copy"


def test_a_listener_that_fails_does_not_undo_what_is_done_and_remembered(
    editor: GraphEditor,
) -> None:
    # The first call records the edit; the second notifies the listeners.
    with failing(Listeners, "notify", 2, RuntimeError("injected")), pytest.raises(RuntimeError):
        editor.clone("x:0", "net/logits:0", "copy")
    assert "copy/net/logits" in editor._core.index.ids
    assert len(editor.history.done) == 1
    editor.undo()
    assert "copy/net/logits" not in editor._core.index.ids


def test_redo_that_fails_can_be_done_again(editor: GraphEditor, session: v1.Session) -> None:
    editor.clone("x:0", "net/logits:0", "copy")
    editor.undo()
    before = seen(editor, session)
    with (
        failing(patch_application, "_add_members", 1, RuntimeError("injected")),
        pytest.raises(RuntimeError),
    ):
        editor.redo()
    assert seen(editor, session) == before
    with pytest.raises(NameTaken):
        editor.clone("x:0", "net/logits:0", "copy")
    editor.redo()
    assert "copy/net/logits" in editor._core.index.ids


def test_undo_that_fails_can_be_done_again(editor: GraphEditor, session: v1.Session) -> None:
    editor.clone("x:0", "net/logits:0", "copy")
    before = seen(editor, session)
    with (
        failing(patch_application, "remove_runners", 1, RuntimeError("injected")),
        pytest.raises(RuntimeError),
    ):
        editor.undo()
    assert seen(editor, session) == before
    editor.undo()
    assert "copy/net/logits" not in editor._core.index.ids


def test_a_copied_call_of_a_function_has_the_gradient_of_the_original() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [2], name="x")
        w = v1.get_variable("w", [2], initializer=v1.ones_initializer(), use_resource=True)
        tf.identity(tf.function(lambda value: value * value * w)(x), name="y")
    copy = tgw.edit(graph).clone("x:0", "y:0", "copy", init="none")
    with graph.as_default():
        both = [tf.gradients(y, x)[0] for y in (graph.get_tensor_by_name("y:0"), copy["y:0"])]
        own = tf.gradients(copy["y:0"], copy.variables[0])[0]
    # TensorFlow gives calls more outputs when it differentiates them, which an older session would
    # not see.
    with initialised(graph) as session:
        feed = {"x:0": [2.0, 3.0]}
        assert np.array_equal(*session.run(both, feed))
        assert session.run(own, feed).tolist() == [4, 9]


def test_surroundings_do_not_leak_into_a_copy(mlp: tf.Graph, editor: GraphEditor) -> None:
    with (
        mlp.as_default(),
        tf.device("/device:CPU:7"),
        mlp.container("elsewhere"),
        mlp.name_scope("around"),
        v1.colocate_with(mlp.get_operation_by_name("x")),
        tf.control_dependencies([mlp.get_tensor_by_name("x:0")]),
        mlp.gradient_override_map({"MatMul": "Nobody"}),
    ):
        copy = editor.clone("x:0", "net/logits:0", "copy")
    for name in copy.ops:
        made, original = (
            mlp.get_operation_by_name(n).node_def for n in (name, name.removeprefix("copy/"))
        )
        assert made.device == original.device
        assert set(made.attr) == set(original.attr)
        assert len(made.input) == len(original.input)
        assert made.attr["container"].s == b""

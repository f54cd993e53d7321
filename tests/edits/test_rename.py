"""Rename: ops, name scopes and ends of signatures; state, collections, loops and readers follow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import fill, initialised, read, v1
from tests.edits.drafts import ran, saved, written
from tests.nothing import says_nothing
from tfgraphwidget import edits
from tfgraphwidget.errors import GraphEditError, NameTaken, UnknownName
from tfgraphwidget.runtime.live import patch_application

X = {"x:0": np.ones((1, 2), np.float32)}


def test_an_op_has_another_name_for_all_who_name_it(line: tf.Graph) -> None:
    with v1.Session(graph=line) as session:
        session.run("c:0", X)
        editor = tgw.edit(line, session=session)
        done = editor.rename("b", "middle/b")
        assert (done.added, done.removed, done.changed) == (("middle/b",), ("b",), ("c",))
        assert session.run("c:0", X).tolist() == [[8, 8]]
        assert session.run("middle/b:0", X).tolist() == [[4, 4]]
        editor.undo()
        assert list(editor._core.index.names) == ["x", "a/y", "a", "b/y", "b", "c/y", "c"]
        assert session.run("c:0", X).tolist() == [[8, 8]]


def test_in_a_file_it_keeps_its_place_and_undo_gives_the_bytes_back(
    line: tf.Graph, tmp_path: Path
) -> None:
    editor = tgw.edit(written(line, tmp_path))
    before = saved(editor, tmp_path)
    editor.rename("b", "middle/b")
    assert list(editor._core.index.names) == ["x", "a/y", "a", "b/y", "middle/b", "c/y", "c"]
    assert editor._core.index.shape(editor._core.index.op("middle/b"), 0) == (None, 2)
    assert ran(editor, tmp_path, "c:0", X).tolist() == [[8, 8]]
    editor.undo()
    assert saved(editor, tmp_path) == before
    editor.redo()
    assert editor.session.run("c:0", X).tolist() == [[8, 8]]
    assert "middle/b" in editor._core.index.ids


def test_a_variable_keeps_its_value_and_its_place_in_the_collections(
    editor: tgw.GraphEditor, session: v1.Session, batch: np.ndarray
) -> None:
    held = [v.name for v in editor.graph.get_collection("variables")]
    fill(editor.graph.get_collection("variables")[0], 0.25, session)
    before = session.run("net/logits:0", {"x:0": batch})
    editor.rename("net/one/w", "weights")
    now = editor.graph.get_collection("variables")
    assert [v.name for v in now] == ["weights:0", *held[1:]]
    assert read(now[:1], session)[0].ravel()[0] == 0.25
    assert np.array_equal(session.run("net/logits:0", {"x:0": batch}), before)
    fill(now[0], 0.5, session)
    assert not [name for name in editor._core.index.names if name.startswith("net/one/w/")]
    assert {"weights/Assign", "weights/Initializer/random_uniform"} <= editor._core.index.ids.keys()
    editor.undo()
    assert [v.name for v in editor.graph.get_collection("variables")] == held
    assert read(editor.graph.get_collection("variables")[:1], session)[0].ravel()[0] == 0.5


def test_a_renamed_variable_is_initialised_under_its_new_name(
    editor: tgw.GraphEditor, session: v1.Session
) -> None:
    editor.rename("net/", "model/")
    variables = editor.graph.get_collection("variables")
    assert [v.name for v in variables] == [
        "model/one/w:0",
        "model/one/b:0",
        "model/two/w:0",
        "model/two/b:0",
    ]
    fill(variables[1], 3.0, session)
    session.run(variables[1].initializer)
    assert read(variables[1:2], session)[0].tolist() == [0, 0, 0, 0]
    copy = editor.clone("x:0", "model/logits:0", "copy")
    assert len(copy.variables) == 4


def test_a_scope_of_a_file_has_another_name_and_runs(
    mlp: tf.Graph, tmp_path: Path, batch: np.ndarray
) -> None:
    with initialised(mlp) as session:
        values = session.run("net/logits:0", {"x:0": batch})
    editor = tgw.edit(written(mlp, tmp_path))
    editor.rename("net", "model")
    assert not [name for name in editor._core.index.names if name.startswith("net/")]
    editor.session.run([name for name in editor._core.index.names if name.endswith("/Assign")])
    assert np.allclose(editor.session.run("model/logits:0", {"x:0": batch}), values)


@pytest.mark.parametrize("key", ["", "kept"])
def test_a_queue_keeps_what_it_holds_if_it_has_a_key(key: str) -> None:
    graph = tf.Graph()
    with graph.as_default():
        queue = tf.raw_ops.FIFOQueueV2(component_types=[tf.int32], name="queue", shared_name=key)
        tf.raw_ops.QueueEnqueueV2(handle=queue, components=[1], name="put")
        tf.raw_ops.QueueSizeV2(handle=queue, name="size")
    with v1.Session(graph=graph) as session:
        session.run("put")
        editor = tgw.edit(graph, session=session)
        done = editor.rename("queue", "other")
        assert session.run("size:0") == (1 if key else 0)
        said = () if key else ("'other' holds nothing of what 'queue' held.",)
        assert (done.notes, editor._core.executor.lost) == (said, ())
        editor.undo()
        assert session.run("size:0") == 1


@pytest.mark.parametrize("with_session", [False, True])
@pytest.mark.parametrize("holder", ["table", "queue", "IteratorV2", "w", "named"])
def test_what_a_session_loses_by_a_new_name_is_said_once(holder: str, with_session: bool) -> None:
    """Without a session, that of a user may hold something; with one, what can be read is handed
    over.
    """
    graph = tf.Graph()
    with graph.as_default():
        tf.raw_ops.MutableHashTableV2(key_dtype=tf.string, value_dtype=tf.int64, name="table")
        tf.raw_ops.FIFOQueueV2(component_types=[tf.int32], name="queue")
        tf.raw_ops.MutableHashTableV2(
            key_dtype=tf.string, value_dtype=tf.int64, name="named", shared_name="kept"
        )
        v1.data.make_initializable_iterator(tf.data.Dataset.range(9))
        v1.get_variable("w", [2])
    is_kept = holder in ("w", "named") or (with_session and holder != "queue")
    session = v1.Session(graph=graph)
    editor = tgw.edit(graph, session=session if with_session else None)
    done = editor.rename(holder, "other")
    said = [text for text in (*done.notes, *editor._core.executor.lost) if "holds nothing" in text]
    assert said == ([] if is_kept else [f"'other' holds nothing of what '{holder}' held."])
    editor.undo()
    said = [text for text in editor._core.executor.lost if "holds nothing" in text]
    assert said == ([] if is_kept else [f"'{holder}' holds nothing of what 'other' held."])
    session.close()


def test_obfuscated_names_say_once_what_is_lost() -> None:
    graph = tf.Graph()
    with graph.as_default():
        tf.raw_ops.FIFOQueueV2(component_types=[tf.int32], name="queue")
    done = tgw.edit(graph).passes.obfuscate_names()
    assert (
        sum("holds nothing of what 'queue' held" in note for note in (*done.notes, *done.lost)) == 1
    )


def test_a_table_and_an_iterator_without_keys_keep_what_they_hold() -> None:
    """TensorFlow finds them by the op, so that their contents are loaded for the new one."""
    graph = tf.Graph()
    with graph.as_default():
        table = tf.raw_ops.MutableHashTableV2(
            key_dtype=tf.string, value_dtype=tf.int64, name="table"
        )
        tf.raw_ops.LookupTableInsertV2(
            table_handle=table, keys=["a"], values=tf.constant([7], tf.int64), name="insert"
        )
        tf.raw_ops.LookupTableSizeV2(table_handle=table, name="size")
        iterator = v1.data.make_initializable_iterator(tf.data.Dataset.range(9))
        tf.identity(iterator.get_next(), name="next")
    kind = next(op.name for op in graph.get_operations() if op.type == "IteratorV2")
    with v1.Session(graph=graph) as session:
        session.run(["insert", iterator.initializer])
        session.run("next:0")
        editor = tgw.edit(graph, session=session)
        for old, new in (("table", "other"), (kind, "reader")):
            done = editor.rename(old, new)
            assert (done.notes, editor._core.executor.lost) == ((), ())
        assert session.run(["size:0", "next:0"]) == [1, 1]
        editor.undo()
        editor.undo()
        assert editor._core.executor.lost == ()
        assert session.run(["size:0", "next:0"]) == [1, 2]


def test_colocation_and_control_inputs_follow(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        a = tf.constant(1.0, name="a")
        with v1.colocate_with(a), tf.control_dependencies([a]):
            tf.constant(2.0, name="b")
    for editor in (tgw.edit(graph), tgw.edit(written(graph, tmp_path))):
        editor.rename("a", "first")
        node = editor._core.index.nodes[editor._core.index.op("b")]
        assert list(node.input) == ["^first"]
        assert list(node.attr["_class"].list.s) == [b"loc:@first"]
        assert ran(editor, tmp_path, "b:0") == 2


def test_a_queue_runner_follows() -> None:
    graph = tf.Graph()
    with graph.as_default():
        queue = v1.FIFOQueue(10, [tf.int32], name="queue")
        v1.train.add_queue_runner(v1.train.QueueRunner(queue, [queue.enqueue(1, name="put")]))
    editor = tgw.edit(graph)
    editor.rename("put", "again")
    assert [
        op.name for runner in graph.get_collection("queue_runners") for op in runner.enqueue_ops
    ] == ["again"]
    editor.undo()
    assert [
        op.name for runner in graph.get_collection("queue_runners") for op in runner.enqueue_ops
    ] == ["put"]


@pytest.mark.parametrize("is_live", [False, True], ids=["file", "session"])
@pytest.mark.parametrize("name", ["queue", "put", "queue_Close", "queue_Close_1"])
def test_a_queue_runner_of_a_file_follows_and_is_saved(
    name: str, is_live: bool, tmp_path: Path
) -> None:
    with tf.Graph().as_default():
        queue = v1.FIFOQueue(10, [tf.int32], name="queue")
        v1.train.add_queue_runner(v1.train.QueueRunner(queue, [queue.enqueue(1, name="put")]))
        queue.dequeue(name="next")
        v1.train.export_meta_graph(str(tmp_path / "graph.meta"))
    editor = tgw.edit(tmp_path / "graph.meta")
    assert not is_live or editor.session
    editor.rename(name, "other")
    editor.save(tmp_path / "renamed.meta")
    editor.undo()
    editor.save(tmp_path / "undone.meta")
    for file in ("renamed.meta", "undone.meta"):
        with tf.Graph().as_default(), v1.Session() as session:
            v1.train.import_meta_graph(str(tmp_path / file))
            (runner,) = v1.get_collection(v1.GraphKeys.QUEUE_RUNNERS)
            ops = (runner.queue, *runner.enqueue_ops, runner.close_op, runner.cancel_op)
            assert ("other" in {op.name for op in ops}) == (file == "renamed.meta")
            coordinator = tf.train.Coordinator()
            v1.train.start_queue_runners(session, coordinator)
            assert session.run("next:0") == 1
            coordinator.request_stop()


def test_an_op_in_a_loop_keeps_its_context_and_a_loop_is_renamed_whole(
    while_loop: tf.Graph,
) -> None:
    def slope() -> Any:
        with while_loop.as_default():
            return tf.gradients(
                while_loop.get_tensor_by_name("y:0"), while_loop.get_tensor_by_name("x:0")
            )

    with v1.Session(graph=while_loop) as session:
        editor = tgw.edit(while_loop, session=session)
        body = next(op.name for op in while_loop.get_operations() if op.type == "Mul")
        with pytest.raises(
            GraphEditError, match=r"'while/LoopCond' holds 'while/while_context' together"
        ):
            editor.rename("while/LoopCond", "condition")
        editor.rename(body, "while/doubled")
        assert session.run("y:0", {"x:0": 1.0}) == 32
        editor.rename("while/", "loop/")
        assert session.run("y:0", {"x:0": 1.0}) == 32
        assert session.run(slope(), {"x:0": 1.0}) == [32.0]


def test_a_loop_comes_back_under_its_old_name(while_loop: tf.Graph) -> None:
    with v1.Session(graph=while_loop) as session:
        editor = tgw.edit(while_loop, session=session)
        editor.rename("while/", "loop/")
        editor.undo()
        with while_loop.as_default():
            slope = tf.gradients(
                while_loop.get_tensor_by_name("y:0"), while_loop.get_tensor_by_name("x:0")
            )
        assert session.run(slope, {"x:0": 1.0}) == [32.0]


def test_names_that_are_taken_or_unknown_are_refused(line: tf.Graph) -> None:
    editor = tgw.edit(line)
    with pytest.raises(NameTaken, match="'c' is taken in this graph; 'c_1' is free") as refusal:
        editor.rename("b", "c")
    assert editor.preview(refusal.value.fixes[0]).renamed == (("b", "c_1"),)
    with pytest.raises(NameTaken, match="'a' is taken"):
        editor.rename("b/y", "a")
    with pytest.raises(NameTaken, match="is not a name"):
        editor.rename("b", "no name")
    with pytest.raises(UnknownName, match="no op or name scope 'q/'"):
        editor.rename("q/", "c")
    says_nothing(editor.rename("b", "b"), "'b' has that name already")
    with pytest.raises(GraphEditError, match="at most 1,000 characters, and this one 100,000"):
        editor.rename("b", "b" * 100_000)
    editor.rename("x", "input")
    with pytest.raises(NameTaken, match="'x' is the name of another op, which an edit or its undo"):
        editor.rename("b", "x")


@pytest.mark.parametrize("kind", ["live", "session", "file", "imported file", "function"])
@pytest.mark.parametrize(("old", "new"), [("net/logits", "logits"), ("net/", "body")])
@pytest.mark.sample(3)
def test_a_name_is_free_again_for_the_op_that_had_it(
    kind: str, old: str, new: str, mlp: tf.Graph, tmp_path: Path
) -> None:
    if kind == "function":
        with tf.Graph().as_default() as graph:
            body = v1.wrap_function(
                lambda x: tf.identity(tf.nn.relu(x, name="net/relu"), name="net/logits"),
                [tf.TensorSpec([None, 4], tf.float32, "x")],
            )
            tf.identity(body(v1.placeholder(tf.float32, [None, 4], "x")), "y")
        editor = tgw.edit(graph)
        editor.view.enter(next(op.name for op in graph.get_operations() if "Call" in op.type))
    elif kind == "session":
        editor = tgw.edit(initialised(mlp))
    elif kind == "live":
        editor = tgw.edit(mlp)
    else:
        session = initialised(mlp)
        with mlp.as_default():
            path = v1.train.Saver().save(session, str(tmp_path / "model"))
        editor = tgw.edit(f"{path}.meta", checkpoint=path)
    before = sorted(editor._core.index.names)

    def run(name: str) -> None:
        """Run the renamed op, where there is a session."""
        if kind in ("session", "imported file"):
            editor.session.run(name, {"x:0": np.ones((1, 3), np.float32)})

    output = old if old[-1] != "/" else "net/logits"
    new_output = new if old[-1] != "/" else "body/logits"
    editor.rename(old, new)
    renamed = sorted(editor._core.index.names)
    run(f"{new_output}:0")
    editor.undo()
    run(f"{output}:0")
    editor.rename(old, new)  # the same after an undo
    assert sorted(editor._core.index.names) == renamed
    run(f"{new_output}:0")
    editor.rename(new, old)  # and the way back
    assert sorted(editor._core.index.names) == before
    run(f"{output}:0")
    editor.rename(old, new)
    for _ in range(3):
        editor.undo()
    assert sorted(editor._core.index.names) == before
    assert not editor.diff()
    editor.rename(old, "another" + "/" * (old[-1] == "/"))
    editor.undo()
    editor.rename(old, new)
    assert sorted(editor._core.index.names) == renamed


def test_an_op_that_has_changed_does_not_get_its_name_back_from_tensorflow() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], "x")
        tf.negative(tf.negative(x, name="a"), name="b")
    editor = tgw.edit(graph)
    editor.rename("b", "last")
    editor.connect("x:0", "last", 0)
    with pytest.raises(NameTaken, match="'b' is the name of another op, which an edit or its undo"):
        editor.rename("last", "b")
    editor.undo()
    editor.rename("last", "b")
    assert editor._core.index.nodes[editor._core.index.ids["b"]].input[0].partition(":")[0] == "a"


def test_a_name_that_is_taken_is_refused_with_a_free_one_for_all_that_is_renamed(
    line: tf.Graph,
) -> None:
    editor = tgw.edit(line)
    with pytest.raises(NameTaken) as taken:
        editor.rename("b", "c")
    assert taken.value.fixes == (edits.Rename("b", "c_1"),)
    editor.apply(taken.value.fixes[0])
    assert "c_1" in editor._core.index.ids
    editor.undo()
    with tf.Graph().as_default() as graph:
        for scope in ("one", "two"):
            tf.zeros([1], name=f"{scope}/zeros")
    editor = tgw.edit(graph)
    with pytest.raises(
        NameTaken, match="'two/zeros' is taken in this graph; 'two_1' is free for 'one'"
    ) as scope_taken:
        editor.rename("one/", "two/")
    editor.apply(scope_taken.value.fixes[0])
    assert sorted(editor._core.index.names) == ["two/zeros", "two_1/zeros"]
    assert scope_taken.value.fixes[0].fix_label() == "Name it 'two_1'"


@pytest.mark.parametrize("path", ["before", "after"])
def test_a_file_in_which_an_op_has_the_name_that_another_had_is_imported_as_it_is(
    path: str,
) -> None:
    """TensorFlow never has the old 'a/b/c', so that the new one can have its name."""
    with tf.Graph().as_default() as graph:
        doubled = tf.add(*[tf.constant(2.0, name="x")] * 2, name="a/c")
        tf.identity(tf.negative(doubled, name="a/b/c"), name="y")
    editor = tgw.edit(graph.as_graph_def())
    editor.rename("a/", "a/b")
    assert [
        editor._core.index.types[editor._core.index.op(name)] for name in ("a/b/c", "a/b/b/c")
    ] == ["AddV2", "Neg"]
    if path == "before":
        editor.bypass("a/b/b/c")
        assert editor.session.run("y:0") == 4
        editor.undo()
    assert editor.session.run(["a/b/c:0", "a/b/b/c:0", "y:0"]) == [4, -4, -4]
    assert editor.source.notices == ()
    editor.rename("a/b/c", "sum")
    assert editor.session.run(["sum:0", "y:0"]) == [4, -4]
    for _ in range(2):
        editor.undo()
    assert sorted(editor._core.index.names) == ["a/b/c", "a/c", "x", "y"]
    assert editor.session.run(["a/c:0", "a/b/c:0", "y:0"]) == [4, -4, -4]
    editor.redo()
    assert editor.session.run("y:0") == -4


def test_in_a_live_graph_no_op_is_given_the_name_that_another_had() -> None:
    with tf.Graph().as_default() as graph:
        tf.identity(tf.constant(2.0, name="a/c"), name="a/b/c")
    editor = tgw.edit(graph)
    with pytest.raises(
        NameTaken, match=r"TensorFlow keeps the op that is 'a/b/c' now.*makes it 'a/b/c_1'"
    ):
        editor.rename("a/", "a/b")
    assert sorted(editor._core.index.names) == ["a/b/c", "a/c"]


def test_a_part_of_a_variable_is_renamed_with_it(mlp: tf.Graph) -> None:
    with pytest.raises(
        GraphEditError, match="'net/one/w/Assign' is a part of variable 'net/one/w'"
    ):
        tgw.edit(mlp).rename("net/one/w/Assign", "assign")


def test_ends_of_a_signature_have_other_names(
    signed: Path, tmp_path: Path, batch: np.ndarray
) -> None:
    editor = tgw.edit(signed)
    editor.rename("predict:logits", "scores")
    assert next(iter(editor.signatures.values())).outputs == (("scores", "net/logits:0"),)
    editor.rename("net/logits", "net/scores")
    assert next(iter(editor.signatures.values())).outputs == (("scores", "net/scores:0"),)
    with pytest.raises(
        GraphEditError,
        match="Signature 'predict' has no input or output 'y'; it has 'x' and 'scores'",
    ):
        editor.rename("predict:y", "z")
    assert not editor.rename("predict:x", "x")
    editor.save(tmp_path / "renamed/")
    loaded = tf.saved_model.load(str(tmp_path / "renamed"))
    assert list(loaded.signatures["predict"](x=tf.constant(batch))) == ["scores"]
    editor.undo()
    editor.undo()
    assert next(iter(editor.signatures.values())).outputs == (("logits", "net/logits:0"),)
    editor.redo()
    assert next(iter(editor.signatures.values())).outputs == (("scores", "net/logits:0"),)


def test_a_signature_is_renamed_from_within_the_function_that_does_its_work(tmp_path: Path) -> None:
    class Module(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def __call__(self, x: tf.Tensor) -> tf.Tensor:
            return x * 2.0

    module = Module()
    tf.saved_model.save(
        module, str(tmp_path / "saved"), signatures={"serving_default": module.__call__}
    )
    editor = tgw.edit(tmp_path / "saved")
    assert len(editor.view.breadcrumb) > 1
    editor.rename("serving_default:output_0", "scores")
    editor.view.leave(0)
    editor.save(tmp_path / "renamed/", verify=False)
    signature = tf.saved_model.load(str(tmp_path / "renamed")).signatures["serving_default"]
    given = signature(x=tf.constant([1.0]))
    assert {key: value.numpy().tolist() for key, value in given.items()} == {"scores": [2.0]}


def test_in_a_function_a_result_may_have_another_name_and_state_may_not() -> None:
    w = tf.Variable(2.0, name="w")

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def called(x: tf.Tensor) -> tf.Tensor:
        return tf.multiply(x, w, name="out")

    editor = tgw.edit(called)
    result = editor._core.view.body.returns["output_0"].partition(":")[0]
    editor.rename(result, "result")
    assert editor._core.executor.inputs_and_outputs == (("x:0",), {"output_0": "result:0"})
    with pytest.raises(
        GraphEditError, match="'w' represents state that the function shares with its callers"
    ):
        editor.rename("w", "v")
    editor.undo()
    assert result in editor._core.index.ids


@pytest.mark.parametrize("live", [True, False], ids=["live", "file"])
def test_a_marked_boundary_follows_a_rename_there_and_back(
    line: tf.Graph, tmp_path: Path, *, live: bool
) -> None:
    editor = tgw.edit(line if live else written(line, tmp_path))
    editor.mark("a", "c:0")
    report = editor.rename("c", "end")
    assert str(report).splitlines()[0] == "renamed 'c' to 'end'"
    assert (editor.inputs, editor.outputs) == (("a",), ("end:0",))
    assert str(editor.rename("a/", "first")).startswith("renamed 'a' to 'first', 2 ops")
    assert editor.inputs == ("first",)
    assert editor.selection is not None
    assert "end" in editor.selection.ops
    editor.history.goto(0)
    assert (editor.inputs, editor.outputs) == (("a",), ("c:0",))
    editor.history.goto(2)
    assert (editor.inputs, editor.outputs) == (("first",), ("end:0",))


def test_the_marks_inside_a_scope_follow_its_new_name(editor: tgw.GraphEditor) -> None:
    editor.mark("x", "net/two/add:0")
    assert str(editor.rename("net/", "body")).startswith("renamed 'net' to 'body', ")
    assert editor.outputs == ("body/two/add:0",)
    editor.undo()
    assert editor.outputs == ("net/two/add:0",)


def test_a_scope_with_queues_and_their_runners_is_renamed_whole() -> None:
    """Outside of the graph TensorFlow tells a queue's name without its scope."""
    with tf.Graph().as_default() as graph:
        v1.train.batch([tf.constant(1.0)], 2, name="batch")
        v1.train.shuffle_batch([tf.constant(1.0)], 2, 10, 2, name="batch/shuffled")
    editor, session = tgw.edit(graph), v1.Session(graph=graph)
    names = list(editor._core.index.names)
    editor.rename("batch/", "b")
    assert [name for name in editor._core.index.names if name.startswith("batch")] == []
    puts = [runner.enqueue_ops[0].name for runner in graph.get_collection("queue_runners")]
    assert puts == ["b/fifo_queue_enqueue", "b/shuffled/random_shuffle_queue_enqueue"]
    with graph.as_default():
        coordinator = v1.train.Coordinator()
        threads = v1.train.start_queue_runners(session, coordinator)
        assert session.run("b:0").tolist() == [1.0, 1.0]
        coordinator.request_stop()
        for runner in graph.get_collection("queue_runners"):
            session.run(runner.cancel_op)
        coordinator.join(threads, stop_grace_period_secs=60)
    editor.undo()
    assert set(names) <= editor._core.index.ids.keys()
    assert not [name for name in editor._core.index.names if name.startswith("b/")]


def test_a_rename_that_fails_leaves_no_runner_of_its_queues(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with tf.Graph().as_default() as graph:
        v1.train.batch([tf.constant(1.0)], 2, name="batch")
    editor, runners = tgw.edit(graph), graph.get_collection("queue_runners")
    names = list(editor._core.index.names)

    add_runners = patch_application.add_runners

    def fail(*given: Any) -> None:
        add_runners(*given)
        raise ValueError("no use")

    with monkeypatch.context() as context:
        context.setattr(patch_application, "add_runners", fail)
        with pytest.raises(ValueError, match="no use"):
            editor.rename("batch/", "b")
    assert graph.get_collection("queue_runners") == runners
    assert list(editor._core.index.names) == names
    editor.rename("batch/", "b")
    assert "b/fifo_queue" in editor._core.index.ids


def test_a_queue_runner_names_the_op_that_takes_the_place_of_another() -> None:
    graph = tf.Graph()
    with graph.as_default():
        queue = v1.FIFOQueue(9, [tf.int32], shapes=[[]], name="queue")
        v1.train.add_queue_runner(v1.train.QueueRunner(queue, [queue.enqueue(1, name="put")]))
    index = tgw.edit(graph)._core.index
    node = index.nodes[index.op("put")]
    other = type(node).FromString(node.SerializeToString())
    other.op = "QueueEnqueue"
    patch = edits.replace_fixed_ops(index, edits.Patch(changed=(edits.NodeChange(node, other),)))
    (before,), (after,) = (
        [runner for _, runner in change.runners] for change in (patch.remove, patch.add)
    )
    assert (list(before.enqueue_op_name), list(after.enqueue_op_name)) == (["put"], ["put_1"])
    assert (before.queue_name, before.close_op_name) == (after.queue_name, after.close_op_name)


@pytest.mark.parametrize("resource", [True, False], ids=["resource", "ref"])
def test_a_partitioned_variable_in_a_renamed_scope_has_the_new_key_in_checkpoints(
    resource: bool, tmp_path: Path
) -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.int64, [None], name="x")
        table = v1.get_variable(
            "table",
            [6, 4],
            initializer=v1.random_normal_initializer(seed=1),
            partitioner=v1.fixed_size_partitioner(2),
            use_resource=resource,
        )
        tf.identity(v1.nn.embedding_lookup(table, x, partition_strategy="div"), "y")
        session.run(v1.global_variables_initializer())
        v1.train.Saver().save(session, str(tmp_path / "old"))
    editor = tgw.edit(tmp_path / "old.meta", checkpoint=tmp_path / "old")
    editor.clone("x:0", "y:0", into="copy")
    editor.rename("copy/", "net/first")
    editor.save(tmp_path / "between.meta")
    editor.undo()
    keys = {v.slice_info.full_name for v in editor._core.index.variable_defs}
    assert keys == {"table", "copy/table"}
    editor = tgw.edit(tmp_path / "between.meta", checkpoint=tmp_path / "between")
    editor.clone("x:0", "y:0", into="copy", init={"table": np.ones((6, 4), np.float32)})
    editor.save(tmp_path / "new.meta")
    with tf.Graph().as_default(), v1.Session() as session:
        v1.train.import_meta_graph(str(tmp_path / "new.meta")).restore(
            session, str(tmp_path / "new")
        )
        ys = session.run(["y:0", "net/first/y:0", "copy/y:0"], {"x:0": [1, 5]})
        v1.train.Saver().save(session, str(tmp_path / "again"))
    assert (ys[1] == ys[0]).all()
    assert (ys[2] == 1.0).all()
    assert dict(tf.train.list_variables(str(tmp_path / "again"))) == {
        name: [6, 4] for name in ("table", "net/first/table", "copy/table")
    }


def test_one_renamed_part_of_a_partitioned_variable_stays_a_part_of_it() -> None:
    with tf.Graph().as_default():
        v1.get_variable("table", [6, 4], partitioner=v1.fixed_size_partitioner(2))
        meta_graph = v1.train.export_meta_graph()
    editor = tgw.edit(meta_graph)
    editor.rename("table/part_1", "rest")
    parts = {v.handle: v.slice_info.full_name for v in editor._core.index.variable_defs}
    assert parts == {"table/part_0": "table", "rest": "table"}

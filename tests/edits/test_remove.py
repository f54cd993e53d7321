"""Remove: ops leave the graph, with what only they needed; what stays reads and waits as it can."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import build_mlp, initialised, v1
from tests.edits.drafts import ran, saved, written
from tfgraphwidget.errors import GraphEditError

X = {"x:0": np.ones((1, 2), np.float32)}


def test_what_is_still_read_is_refused_and_its_consumers_can_go_too(line: tf.Graph) -> None:
    editor = tgw.edit(line)
    with pytest.raises(
        GraphEditError, match=r"Op 'c' stays and reads 'b'.*consumers=True"
    ) as refused:
        editor.remove("b")
    assert refused.value.ops == ("c", "b")
    done = editor.apply(refused.value.fixes[0])
    assert done.removed == ("b/y", "b", "c/y", "c")
    editor.undo()
    assert list(editor._core.index.names) == ["x", "a/y", "a", "b/y", "b", "c/y", "c"]


def test_the_way_from_an_input_stays_and_what_is_computed_from_nothing_goes(line: tf.Graph) -> None:
    editor = tgw.edit(line)
    editor.remove("c")
    assert list(editor._core.index.names) == ["x", "a/y", "a", "b/y", "b"]
    editor.undo()
    editor.remove("c", prune=False)
    assert list(editor._core.index.names) == ["x", "a/y", "a", "b/y", "b", "c/y"]


def test_a_branch_that_only_they_needed_goes_too(diamond: tf.Graph) -> None:
    with diamond.as_default():
        mean = tf.reduce_mean(
            tf.square(diamond.get_tensor_by_name("left:0"), name="squares"), name="mean"
        )
        tf.identity(mean, name="shown")
    editor = tgw.edit(diamond)
    editor.remove("shown")
    assert list(editor._core.index.names) == ["x", "other", "left", "scaled", "right", "join"]


def test_a_session_goes_on_without_them(line: tf.Graph) -> None:
    with v1.Session(graph=line) as session:
        session.run("c:0", X)
        editor = tgw.edit(line, session=session)
        editor.bypass("b")
        editor.remove("b")
        assert session.run("c:0", X).tolist() == [[4, 4]]
        assert "b" not in editor._core.index.ids
        editor.undo()
        editor.undo()
        assert session.run("c:0", X).tolist() == [[8, 8]]


def test_a_file_has_them_no_longer_and_undo_gives_its_bytes_back(
    line: tf.Graph, tmp_path: Path
) -> None:
    editor = tgw.edit(written(line, tmp_path))
    before = saved(editor, tmp_path)
    editor.remove(["c", "b"])
    assert [n.name for n in v1.GraphDef.FromString(saved(editor, tmp_path)).node] == [
        "x",
        "a/y",
        "a",
    ]
    editor.undo()
    assert saved(editor, tmp_path) == before


def test_variables_and_what_has_effects_stay_unless_they_are_named(mlp: tf.Graph) -> None:
    editor = tgw.edit(mlp, session=initialised(mlp))
    names = set(editor._core.index.names)
    editor.remove(["net/logits", "net/two/out", "net/two/add", "net/two/MatMul"])
    kept = set(editor._core.index.names)
    assert {"net/two/w", "net/two/w/Assign", "net/two/b", "net/one/out", "init"} <= kept
    assert {name for name in names - kept if "ReadVariableOp" in name and "/Read/" not in name} == {
        name
        for name in names
        if name.startswith("net/two/")
        and name.endswith(("MatMul/ReadVariableOp", "add/ReadVariableOp"))
    }


def test_variables_leave_their_collections_with_their_ops(mlp: tf.Graph) -> None:
    editor = tgw.edit(mlp)
    held = [v.name for v in mlp.get_collection("trainable_variables")]
    editor.remove(editor.ops(scope="net/two/") | editor.ops("net/logits"))
    assert [v.name for v in mlp.get_collection("trainable_variables")] == held[:2]
    assert [v.handle for v in editor._core.index.variable_defs] == ["net/one/w", "net/one/b"]
    editor.undo()
    assert [v.name for v in mlp.get_collection("trainable_variables")] == held


def test_half_a_variable_does_not_go(mlp: tf.Graph) -> None:
    editor = tgw.edit(mlp)
    with pytest.raises(
        GraphEditError, match=r"'net/one/w/Assign' is a part of variable 'net/one/w', which stays"
    ):
        editor.remove("net/one/w/Assign")


def test_who_waited_waits_for_what_they_waited_for() -> None:
    graph = tf.Graph()
    with graph.as_default():
        first = tf.no_op(name="first")
        with tf.control_dependencies([first]):
            second = tf.no_op(name="second")
        with tf.control_dependencies([second]):
            third = tf.no_op(name="third")
        with tf.control_dependencies([third]):
            tf.constant(1, name="last")
    editor = tgw.edit(graph)
    editor.remove(["second", "third"], prune=False)
    assert list(editor._core.index.nodes[editor._core.index.op("last")].input) == ["^first"]
    assert graph.get_operation_by_name("last").control_inputs == [
        graph.get_operation_by_name("first")
    ]
    editor.undo()
    assert list(editor._core.index.nodes[editor._core.index.op("last")].input) == ["^third"]


def test_who_stood_next_to_them_stands_alone(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        a = tf.constant(1.0, name="a")
        with v1.colocate_with(a):
            tf.constant(2.0, name="b")
    for editor in (tgw.edit(graph), tgw.edit(written(graph, tmp_path))):
        done = editor.remove("a")
        assert done.notes[0] == "'b' stands on no other op's device any more."
        assert "_class" not in editor._core.index.nodes[editor._core.index.op("b")].attr
        assert ran(editor, tmp_path, "b:0") == 2
        editor.undo()
        assert "_class" in editor._core.index.nodes[editor._core.index.op("b")].attr


def test_an_op_that_only_a_wait_keeps_in_its_loop_needs_it(while_loop: tf.Graph) -> None:
    with while_loop.as_default():
        v1.disable_control_flow_v2()
        found = v1.while_loop(
            lambda i: i < 3,
            lambda i: i + tf.identity(tf.constant(1, name="one")),
            [0],
            name="other",
        )
        tf.identity(found, name="count")
    editor = tgw.edit(while_loop)
    with pytest.raises(GraphEditError, match=r"stays and reads"):
        editor.remove("other/Identity")
    editor.reroute("other/Identity:0", to="other/Switch:1")
    with pytest.raises(
        GraphEditError, match=r"runs in its loop or conditional only because it waits for"
    ):
        editor.remove("other/Identity")


def test_a_whole_loop_goes_and_comes_back_with_its_gradient(while_loop: tf.Graph) -> None:
    with v1.Session(graph=while_loop) as session:
        editor = tgw.edit(while_loop, session=session)
        editor.remove("while/", consumers=True)
        assert list(editor._core.index.names) == ["x"]
        assert not while_loop.get_collection("while_context")
        editor.undo()
        assert session.run("y:0", {"x:0": 1.0}) == 32
        with while_loop.as_default():
            slope = tf.gradients(
                while_loop.get_tensor_by_name("y:0"), while_loop.get_tensor_by_name("x:0")
            )
        assert session.run(slope, {"x:0": 1.0}) == [32.0]


def test_a_queue_takes_its_runner_along_and_a_runner_does_without_an_op() -> None:
    graph = tf.Graph()
    with graph.as_default():
        queue = v1.FIFOQueue(10, [tf.int32], name="queue")
        puts = [queue.enqueue(k, name=f"put_{k}") for k in range(2)]
        v1.train.add_queue_runner(v1.train.QueueRunner(queue, puts))
        queue.dequeue(name="take")
    editor = tgw.edit(graph)
    editor.remove("put_1")
    assert [
        op.name for runner in graph.get_collection("queue_runners") for op in runner.enqueue_ops
    ] == ["put_0"]
    editor.remove("queue", consumers=True)
    assert not graph.get_collection("queue_runners")
    editor.undo()
    editor.undo()
    assert [
        op.name for runner in graph.get_collection("queue_runners") for op in runner.enqueue_ops
    ] == [
        "put_0",
        "put_1",
    ]


def test_ends_of_signatures_are_kept_and_lost_only_by_name(signed: Path) -> None:
    editor = tgw.edit(signed)
    with editor.graph.as_default():
        tf.nn.softmax(editor.graph.get_tensor_by_name("net/logits:0"), name="shown")
    editor.remove("shown")
    assert "net/logits" in editor._core.index.ids
    done = editor.remove("net/logits")
    assert any(
        note.startswith("'net/logits:0' is no longer an input or output of a signature")
        for note in done.notes
    )
    assert tuple(editor.signatures.values()) == ()
    editor.undo()
    assert next(iter(editor.signatures.values())).outputs == (("logits", "net/logits:0"),)


def test_the_result_of_a_function_stays(tmp_path: Path) -> None:
    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def called(x: tf.Tensor) -> tf.Tensor:
        return tf.identity(x, name="out")

    editor = tgw.edit(called)
    result = editor._core.view.body.returns["output_0"].partition(":")[0]
    with pytest.raises(
        GraphEditError, match=f"'{result}' is the result 'output_0' of the function"
    ):
        editor.remove(result)
    with pytest.raises(GraphEditError, match="'x' is an argument of the function"):
        editor.remove("x", consumers=True)


def test_of_an_empty_selection_nothing_is_removed(line: tf.Graph) -> None:
    editor = tgw.edit(line)
    report = editor.remove(editor.ops("a") - editor.ops("a"))
    assert not report
    assert "no ops" in str(report)
    assert editor.history.done == ()


def test_removing_a_layer_of_a_graph_with_a_saver_takes_the_saver_if_asked(tmp_path: Path) -> None:
    graph = build_mlp(resource=False)
    with graph.as_default():
        v1.train.Saver()
    editor = tgw.edit(written(graph, tmp_path))
    with pytest.raises(GraphEditError, match="stays and reads"):
        editor.remove("net/two/w/")
    editor.remove("net/two/", consumers=True)
    assert not [name for name in editor._core.index.names if name.startswith("save/Save")]
    assert "net/one/out" in editor._core.index.ids

"""Replace: a part by what a function makes, or by another part; the old ops stay or go."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import fill, v1
from tests.edits.drafts import ran, saved, written
from tfgraphwidget.errors import GraphEditError

X = {"x:0": np.ones((1, 2), np.float32)}


@pytest.fixture
def blocks() -> tf.Graph:
    """x -> block (x * 2 + x) -> y; beside it other (x - 1), of the same ends."""
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        double = tf.multiply(x, tf.constant(2.0, name="block/double/y"), name="block/double")
        tf.identity(tf.add(double, x, name="block/sum"), name="y")
        tf.subtract(x, tf.constant(1.0, name="other/less/y"), name="other/less")
    return graph


def test_a_function_takes_the_place_of_a_scope_in_the_session(blocks: tf.Graph) -> None:
    with v1.Session(graph=blocks) as session:
        assert session.run("y:0", X).tolist() == [[3, 3]]
        editor = tgw.edit(blocks, session=session)
        done = editor.replace("block/", lambda x: x * 10.0, "new")
        assert done.changed == ("y",)
        assert session.run("y:0", X).tolist() == [[10, 10]]
        assert session.run("block/sum:0", X).tolist() == [[3, 3]]
        editor.undo()
        assert session.run("y:0", X).tolist() == [[3, 3]]


def test_the_old_ops_go_if_asked_and_come_back(blocks: tf.Graph, tmp_path: Path) -> None:
    for editor in (tgw.edit(written(blocks, tmp_path)), tgw.edit(blocks)):
        before = saved(editor, tmp_path)
        editor.replace("block/", lambda x: x * 10.0, "new", remove=True)
        assert not [name for name in editor._core.index.names if name.startswith("block/")]
        assert ran(editor, tmp_path, "y:0", X).tolist() == [[10, 10]]
        editor.undo()
        assert saved(editor, tmp_path) == before
        editor.redo()
        assert ran(editor, tmp_path, "y:0", X).tolist() == [[10, 10]]


def test_an_op_type_takes_the_place_of_an_op_and_a_name_of_the_graph_goes_before_a_type(
    blocks: tf.Graph, tmp_path: Path
) -> None:
    with blocks.as_default():
        tf.subtract(v1.placeholder(tf.float32, [None, 2], name="free"), 1.0, name="Square")
    editor = tgw.edit(blocks)
    editor.replace("block/double", "Sub", remove=True)
    assert ran(editor, tmp_path, "y:0", X).tolist() == [[0, 0]]
    assert editor.history.lines == (
        'editor.replace(what="block/double", by="Sub", remove=True, name="block/Sub")',
    )
    assert "block/double" not in editor._core.index.ids
    with pytest.raises(GraphEditError, match="'Subb' is not an op type"):
        editor.replace("block/sum", "Subb")
    editor.undo()
    editor.replace("y", "Square", outputs={"y": "Square"})
    assert "by=editor.ops(" in editor.history.lines[0] or 'by=["Square"]' in editor.history.lines[0]


def named_as_types() -> tf.Graph:
    """x -> act -> same -> Tanh -> Softplus -> loss, with a step of training."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        w = v1.get_variable("w", initializer=np.full((2, 2), 0.3, np.float32))
        same = tf.identity(tf.nn.relu(tf.matmul(x, w), name="act"), name="same")
        y = tf.nn.softplus(tf.tanh(same, name="Tanh"), name="Softplus")
        loss = tf.reduce_mean(tf.square(y), name="loss")
        v1.train.GradientDescentOptimizer(0.1).minimize(loss, name="step")
    return graph


def test_an_op_that_is_named_as_its_type_is_said_to_be_read() -> None:
    editor = tgw.edit(named_as_types())
    assert "'Tanh' is an op of the graph" in str(editor.replace("act", "Tanh"))
    editor.undo()
    assert "is an op of the graph" not in str(editor.replace("act", "Sin"))
    editor.undo()
    assert "is an op of the graph" not in str(editor.replace("act", editor.ops("Tanh")))


@pytest.mark.parametrize("options", [{"name": "new"}, {"into": "new"}])
def test_a_name_for_a_new_op_says_that_a_type_is_meant(options: dict[str, str]) -> None:
    editor = tgw.edit(named_as_types())
    new = editor.replace("act", "Tanh", **options).added[0]
    assert new.startswith("new")
    assert editor.graph.get_operation_by_name(new).type == "Tanh"
    assert editor.ops(new).inputs == editor.ops("act").inputs


def test_attributes_for_a_new_op_say_that_a_type_is_meant() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        tf.nn.leaky_relu(tf.tanh(x, name="act"), name="LeakyRelu")
    report = tgw.edit(graph).replace("act", "LeakyRelu", alpha=0.5)
    assert len(report.added) == 1


@pytest.mark.parametrize("remove", [False, True])
@pytest.mark.parametrize("what", ["same", "Tanh"])
def test_the_gradients_of_what_takes_the_place_read_what_that_reads(
    what: str, remove: bool
) -> None:
    graph = named_as_types()
    editor = tgw.edit(graph, session=v1.Session(graph=graph))
    editor.replace(what, editor.ops("Softplus"), remove=remove)
    index = editor._core.index
    forward, gradient = (
        index.input_tensors(index.ids[name])[0]
        for name in ("Softplus", "gradients/Softplus_grad/Sigmoid")
    )
    assert forward == gradient


def test_gradients_of_what_is_replaced_are_named() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], name="x")
        tf.gradients(tf.identity(tf.nn.relu(x, name="f"), name="y"), x)
    editor = tgw.edit(graph)
    done = editor.replace("f", "Elu", remove=True)
    said = (
        "The gradients of f ('gradients/f_grad/ReluGrad') stay as they were; compute them again "
        "before you train."
    )
    assert done.notes[0] == said


def test_another_part_takes_its_place_by_its_inputs_and_outputs(
    blocks: tf.Graph, tmp_path: Path
) -> None:
    editor = tgw.edit(written(blocks, tmp_path))
    editor.replace("block/", editor.ops(scope="other/"))
    assert ran(editor, tmp_path, "y:0", X).tolist() == [[0, 0]]
    editor.undo()
    editor.replace("block/sum", "other/", outputs={"block/sum:0": "other/less:0"}, remove=True)
    assert "block/sum" not in editor._core.index.ids
    assert ran(editor, tmp_path, "y:0", X).tolist() == [[0, 0]]


def test_inputs_of_the_other_part_become_those_of_the_old_one(
    line: tf.Graph, tmp_path: Path
) -> None:
    with line.as_default():
        other = v1.placeholder(tf.float32, [None, 2], name="other")
        tf.negative(other, name="negative")
    editor = tgw.edit(written(line, tmp_path))
    editor.replace(editor.ops("b", "b/y"), "negative")
    assert ran(editor, tmp_path, "c:0", X).tolist() == [[-4, -4]]


def test_an_op_with_several_inputs_is_replaced_by_a_function_of_them(
    mlp: tf.Graph, tmp_path: Path
) -> None:
    editor = tgw.edit(mlp)
    inputs = editor.ops("net/one/MatMul").inputs
    editor.replace("net/one/MatMul", lambda x, w: tf.einsum("ij,jk->ik", x, w))
    made = editor.history.done[-1].patch.add.nodes
    assert {text for node in made for text in node.input} >= {
        name.removesuffix(":0") for name in inputs
    }


def test_of_several_outputs_those_that_are_read_are_enough() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [2, 2, 2, 1], name="x")
        y, *_ = tf.compat.v1.nn.fused_batch_norm(x, [1.0], [0.0], name="norm")
        tf.identity(y, name="y")
    with v1.Session(graph=graph) as session:
        editor = tgw.edit(graph, session=session)
        editor.replace("norm", lambda x, *_: x + 1.0)
        assert session.run("y:0", {"x:0": np.zeros((2, 2, 2, 1))}).max() == 1
        editor.undo()
        with pytest.raises(
            GraphEditError,
            match=r"2 tensors cannot take the place of the 1 that come out \('norm:0'\)",
        ):
            editor.replace("norm", lambda x, *_: (x, x))


def test_a_new_head_has_variables_that_train(
    editor: tgw.GraphEditor, session: v1.Session, batch: np.ndarray
) -> None:
    def head(features: tf.Tensor) -> tf.Tensor:
        kernel = v1.get_variable("kernel", [4, 4], initializer=v1.ones_initializer())
        return features @ kernel

    body = editor.ops("net/logits")
    editor.replace(body, head, "head", remove=True)
    assert editor.graph.get_collection("trainable_variables")[-1].name == "head/kernel:0"
    features = session.run("net/two/out:0", {"x:0": batch})
    assert np.allclose(session.run("head/matmul:0", {"x:0": batch}), features @ np.ones((4, 4)))
    fill(editor.graph.get_collection("trainable_variables")[-1], 0.0, session)
    assert not session.run("head/matmul:0", {"x:0": batch}).any()


def test_in_a_loop_what_replaces_an_op_runs_each_time(while_loop: tf.Graph) -> None:
    with v1.Session(graph=while_loop) as session:
        body = next(op.name for op in while_loop.get_operations() if op.type == "Mul")
        editor = tgw.edit(while_loop, session=session)
        editor.replace(body, lambda v, *_: v * 3.0, remove=True)
        assert session.run("y:0", {"x:0": 1.0}) == 243
        with while_loop.as_default():
            slope = tf.gradients(
                while_loop.get_tensor_by_name("y:0"), while_loop.get_tensor_by_name("x:0")
            )
        assert session.run(slope, {"x:0": 1.0}) == [243.0]


def test_the_result_of_a_function_follows() -> None:
    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def called(x: tf.Tensor) -> tf.Tensor:
        return tf.identity(x * 2.0, name="out")

    editor = tgw.edit(called)
    result = editor._core.view.body.returns["output_0"].partition(":")[0]
    before = list(editor._core.index.nodes)
    editor.replace(result, lambda x: x + 1.0, "new", remove=True)
    assert editor._core.executor.inputs_and_outputs == (("x:0",), {"output_0": "new/add:0"})
    assert result not in editor._core.index.ids
    editor.undo()
    assert list(editor._core.index.nodes) == before


def test_the_end_of_a_signature_follows(signed: Path) -> None:
    editor = tgw.edit(signed)
    editor.replace("net/logits", tf.nn.softmax, "scores", remove=True)
    assert next(iter(editor.signatures.values())).outputs == (("logits", "scores/Softmax:0"),)


@pytest.mark.parametrize(
    ("what", "by", "why"),
    [
        (
            "block/",
            lambda x: tf.cast(x, tf.int32),
            r"is int32, and op 'y' reads 'block/sum:0', which is float32",
        ),
        ("block/", lambda x, _: x, "raised TypeError"),
        ("block/", "block/double", "share some"),
        (
            "block/sum",
            "other/",
            r"2 inputs \('block/double:0' and 'x:0'\) and 1 to take their place \('x:0'\)",
        ),
        ("nothing/", lambda x: x, "nothing"),
    ],
)
def test_what_does_not_fit_is_refused(blocks: tf.Graph, what: str, by: Any, why: str) -> None:
    editor, version = tgw.edit(blocks), blocks.version
    with pytest.raises(GraphEditError, match=why):
        editor.replace(what, by)
    assert blocks.version == version


def test_a_part_that_is_left_and_entered_again_is_refused(line: tf.Graph) -> None:
    editor = tgw.edit(line)
    with pytest.raises(
        GraphEditError, match=r"'b:0' goes into the selection and depends on what comes out of it"
    ):
        editor.replace(editor.ops("a", "a/y", "c", "c/y"), lambda x, b: (x, b))


@pytest.fixture
def counted() -> tf.Graph:
    """x -> relu -> y, and each run of relu counts one up first; group waits for relu."""
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        count = v1.get_variable("count", [], initializer=v1.zeros_initializer(), use_resource=True)
        with tf.control_dependencies([tf.group(count.assign_add(1.0), name="up")]):
            relu = tf.nn.relu(x, name="relu")
        tf.identity(relu, name="y")
        with tf.control_dependencies([relu]):
            tf.no_op(name="group")
        v1.global_variables_initializer()
    return graph


@pytest.mark.parametrize("remove", [False, True])
@pytest.mark.parametrize(
    "by", ["Elu", tf.nn.elu, lambda x: 2.0 * tf.sigmoid(x)], ids=["type", "one op", "several ops"]
)
def test_what_takes_the_place_of_an_op_waits_for_what_that_waited_for(
    counted: tf.Graph, by: Any, remove: bool
) -> None:
    with v1.Session(graph=counted) as session:
        session.run("init")
        editor = tgw.edit(counted, session=session)
        editor.replace("relu", by, remove=remove)
        session.run("y:0", X)
        assert session.run("count/Read/ReadVariableOp:0") == 1
        session.run("group", X)
        assert session.run("count/Read/ReadVariableOp:0") == 2
        editor.undo()
        session.run(["y:0", "group"], X)
        assert session.run("count/Read/ReadVariableOp:0") == 3


def test_what_waits_for_a_removed_op_waits_for_the_new_one(counted: tf.Graph) -> None:
    editor = tgw.edit(counted)
    editor.replace("relu", "Elu", remove=True, name="elu")
    assert editor.ops("group").control_inputs == ("^elu",)


@pytest.mark.parametrize("by", [lambda x: x, "other"], ids=["no op", "ops of the graph"])
def test_what_no_new_op_waits_for_is_said(counted: tf.Graph, by: Any) -> None:
    with counted.as_default():
        tf.negative(v1.placeholder(tf.float32, [None, 2], name="z"), name="other")
    done = tgw.edit(counted).replace("relu", by)
    assert "'relu' waits for 'up'; what takes its place does not." in done.notes


def test_a_part_that_waits_for_what_it_computes_is_refused() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], name="x")
        a = tf.negative(x, name="a")
        b = tf.square(a, name="b")
        with tf.control_dependencies([b]):
            tf.identity(tf.exp(a, name="c"), name="y")
    editor = tgw.edit(graph)
    with pytest.raises(
        GraphEditError, match=r"'b' goes into the selection and depends on what comes out of it"
    ):
        editor.replace(editor.ops("a", "c"), lambda x: (x + 1.0, x + 2.0))


@pytest.mark.parametrize("by", ["other", "other/"])
def test_the_line_of_a_replacement_by_a_scope_does_it_again(blocks: tf.Graph, by: str) -> None:
    whole = blocks.as_graph_def()
    editor, again = tgw.edit(whole), tgw.edit(whole)
    editor.replace("block/", by)
    exec(editor.history.lines[-1], {"editor": again})
    assert list(again._core.index.nodes) == list(editor._core.index.nodes)


# Each as people write it under tf.control_dependencies. Of two ops that are made there TensorFlow
# lets only the first wait: the read of the variable, or the 1.
UNDER_DEPENDENCIES: dict[str, Callable[[tf.Tensor, tf.Variable], tf.Tensor]] = {
    "the op": lambda x, _: tf.identity(x, name="y"),
    "its constant": lambda x, _: tf.add(x, 1.0, name="y"),
    "a constant behind one": lambda x, _: tf.add(x, tf.exp(tf.exp(1.0)), name="y"),
    "the read of its variable": lambda x, w: tf.multiply(x, w, name="y"),
}


def pattern_of(editor: tgw.GraphEditor, name: str) -> str:
    """The pattern of an op, each of whose inputs may be anything."""
    op = editor.graph.get_operation_by_name(name)
    return f"{op.type}({', '.join('xk'[: len(op.inputs)])})"


@pytest.mark.parametrize("form", UNDER_DEPENDENCIES)
@pytest.mark.parametrize(
    "edit",
    [
        lambda editor: editor.replace("y", lambda *inputs: 2.0 * inputs[0]),
        lambda editor: editor.replace("y", lambda *inputs: 2.0 * inputs[0], remove=True),
        lambda editor: editor.replace_all(pattern_of(editor, "y"), lambda x, *_: 2.0 * x),
        lambda editor: editor.bypass("y", by="x:0"),
        lambda editor: editor.insert("y:0", tf.nn.relu),
        lambda editor: editor.passes.remove_identities(),
        lambda editor: editor.passes.fold_constants(),
    ],
    ids=["replace", "remove", "replace_all", "bypass", "insert", "identities", "fold"],
)
def test_what_is_counted_before_an_op_is_counted_before_what_takes_its_place(
    form: str, edit: Callable[[tgw.GraphEditor], object]
) -> None:
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        x = v1.placeholder(tf.float32, [2], name="x")
        count, weights = (
            v1.get_variable(name, [], initializer=v1.zeros_initializer(), use_resource=True)
            for name in ("count", "weights")
        )
        with tf.control_dependencies([count.assign_add(1.0)]):
            y = UNDER_DEPENDENCIES[form](x, weights)
        tf.nn.relu(y, name="z")
        counted = count.read_value()
        session.run(v1.global_variables_initializer())
        editor = tgw.edit(graph, session=session)
        for times, change in enumerate([lambda: None, lambda: edit(editor), editor.undo], 1):
            if times < 3 or editor.history.done:
                change()
            session.run("z:0", {"x:0": [1.0, 2.0]})
            assert session.run(counted) == times

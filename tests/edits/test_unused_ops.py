"""Ops that edits leave without consumers: they are found, drawn as such, and removed by an edit
that is offered.
"""

from __future__ import annotations

import re

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.widget.edit_requests import EditRequests
from tfgraphwidget.widget.kernel_namespace import KernelNamespace

DROPOUT = (
    "dropout/Const", "dropout/Mul", "dropout/Shape", "dropout/random_uniform/RandomUniform",
    "dropout/GreaterEqual/y", "dropout/GreaterEqual", "dropout/Const_1", "dropout/SelectV2",
)  # fmt: skip


def with_dropout() -> tgw.GraphEditor:
    """x -> relu -> dropout -> y."""
    with tf.Graph().as_default() as graph:
        h = tf.nn.relu(v1.placeholder(tf.float32, [None, 4], name="x"), name="relu")
        tf.identity(v1.nn.dropout(h, rate=0.5, seed=1, name="dropout"), name="y")
    return tgw.edit(graph)


def unused(editor: tgw.GraphEditor) -> tuple[str, ...]:
    return editor._core.executor.unused_ops()


def test_what_is_bypassed_is_unused_and_the_offer_removes_all_of_it() -> None:
    editor = with_dropout()
    assert unused(editor) == ()  # y has no consumers either, but that is the graph's result
    editor.bypass("dropout/")
    assert unused(editor) == DROPOUT
    scene = editor.view.scene()
    drawn = {
        name
        for name, idle in zip(scene.names, editor._core.paint(scene).unused.tolist(), strict=True)
        if idle
    }
    assert drawn >= {"dropout"}
    requests = EditRequests(editor, KernelNamespace())
    (offer,) = requests.offers()
    assert offer.text == "Remove 8 unused ops"
    assert requests.apply_fix(offer.line).endswith("and 6 more (8 ops removed).")
    assert (list(editor._core.index.names), requests.offers()) == (["x", "relu", "y"], ())
    editor.undo()
    assert unused(editor) == DROPOUT
    editor.undo()
    assert unused(editor) == ()
    editor.redo()
    assert unused(editor) == DROPOUT


def test_gradient_ops_of_what_is_bypassed_are_unused_with_it_and_training_goes_on() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        w = v1.get_variable("w", [4, 4], use_resource=True)
        h = v1.nn.dropout(tf.nn.relu(tf.matmul(x, w), name="relu"), rate=0.5, name="dropout")
        loss = tf.reduce_sum(tf.identity(h, name="y"), name="loss")
        step = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        given = tf.gradients(loss, x)[0]
        session = v1.Session(graph=graph)
        session.run(v1.global_variables_initializer())
    editor = tgw.edit(graph, session=session)
    editor.bypass("dropout/", gradients=True)
    idle = unused(editor)
    gone = {
        name for name in editor._core.index.names if re.match(r"(gradients(_1)?/)?dropout/", name)
    }
    assert set(idle) == gone
    assert len(gone) > 40
    editor.remove(idle)
    assert unused(editor) == ()
    session.run([step.name, given.name], {"x:0": [[1.0, 2.0, 3.0, 4.0]]})


def test_a_gradient_that_is_a_result_is_used_with_all_that_it_needs() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        h = v1.nn.dropout(tf.nn.relu(x, name="relu"), rate=0.5, name="dropout")
        given = tf.gradients(tf.identity(h, name="y"), x)[0]
    editor = tgw.edit(graph)
    editor.bypass("dropout/")
    needed = set(editor.upstream(given.op.name).ops)
    assert "dropout/GreaterEqual" in needed
    assert needed.isdisjoint(unused(editor))


def test_a_marked_output_is_not_unused_nor_is_what_leads_to_it() -> None:
    editor = with_dropout()
    editor.bypass("dropout/")
    editor.mark("x", "dropout/SelectV2")
    assert unused(editor) == ()


def test_unused_ops_are_known_by_their_new_names_and_used_ones_again_are_not_unused() -> None:
    editor = with_dropout()
    editor.bypass("dropout/")
    editor.rename("dropout/SelectV2", "dropout/last")
    assert set(unused(editor)) == {*DROPOUT[:-1], "dropout/last"}
    editor.reroute("relu", "dropout/last", only="y")
    assert unused(editor) == ()


def test_results_from_the_start_and_what_a_removal_leaves_are_not_unused() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None], name="x")
        tf.identity(tf.negative(x, name="logits"), name="loss")
        tf.abs(x, name="result")
    editor = tgw.edit(graph)
    editor.remove("loss")
    assert unused(editor) == ()


def test_what_an_insertion_left_when_it_was_bypassed_is_unused_in_a_file_too(tmp_path) -> None:
    with tf.Graph().as_default() as graph:
        tf.identity(tf.negative(v1.placeholder(tf.float32, [2], name="x"), name="n"), name="y")
    (tmp_path / "n.pb").write_bytes(graph.as_graph_def().SerializeToString())
    editor = tgw.edit(str(tmp_path / "n.pb"))
    editor.replace("n", "Abs")
    assert unused(editor) == ("n",)


def with_part() -> tf.Graph:
    """x -> before -> part/n -> part/r -> y."""
    with tf.Graph().as_default() as graph:
        before = tf.abs(v1.placeholder(tf.float32, [None], name="x"), name="before")
        tf.identity(tf.nn.relu(tf.negative(before, name="part/n"), name="part/r"), name="y")
    return graph


@pytest.mark.parametrize("as_file", [False, True], ids=["live", "file"])
def test_what_is_detached_is_unused_as_a_whole_and_the_offer_removes_it(as_file: bool) -> None:
    editor = tgw.edit(with_part().as_graph_def() if as_file else with_part())
    editor.detach("part")
    assert set(unused(editor)) == {"before", "before_placeholder", "part/n", "part/r"}
    scene = editor.view.scene()
    drawn = {
        name
        for name, idle in zip(scene.names, editor._core.paint(scene).unused.tolist(), strict=True)
        if idle
    }
    assert drawn >= {"part/n", "part/r"}
    requests = EditRequests(editor, KernelNamespace())
    (offer,) = requests.offers()
    assert offer.text == "Remove 4 unused ops"
    requests.apply_fix(offer.line)
    assert list(editor._core.index.names) == ["x", "y", "part/r_placeholder"]


def test_what_leads_on_from_an_input_that_took_the_place_of_another_is_not_unused() -> None:
    editor = tgw.edit(with_part().as_graph_def())
    editor.passes.set_input("x:0", [2])
    editor.detach("y", outputs=False)
    assert unused(editor) == ("part/r",)


def test_boxes_without_any_edge_of_the_graph_are_isolated() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], name="x")
        tf.negative(x, name="y")
        v1.placeholder(tf.float32, [2], name="alone")
        tf.no_op(name="nothing")
        with tf.control_dependencies([x]):
            tf.no_op(name="waits")
    editor = tgw.edit(graph)
    scene = editor.view.scene()
    isolated = {
        name for name, alone in zip(scene.names, scene.isolated.tolist(), strict=True) if alone
    }
    assert isolated == {"alone", "nothing"}


def test_gradients_of_unused_ops_stay_unused_when_the_ops_are_renamed() -> None:
    with tf.Graph().as_default() as graph:
        h = v1.placeholder(tf.float32, [None, 4], name="x")
        for layer in ("one", "two"):
            with v1.variable_scope(layer):
                h = tf.matmul(h, v1.get_variable("w", [4, 4], use_resource=True), name="product")
                h = tf.nn.dropout(h, rate=0.5, name="dropout")
        v1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(h), name="step")
    editor = tgw.edit(graph)
    editor.bypass("one/dropout", gradients=True)
    before = editor._core.executor.unused_ops()
    assert any("_grad" in name for name in before)
    editor.rename("one", "first")
    editor.rename("first", "net/first")
    after = editor._core.executor.unused_ops()
    assert sorted(after) == sorted(re.sub(r"^one/", "net/first/", name) for name in before)

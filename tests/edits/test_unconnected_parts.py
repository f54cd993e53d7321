"""An edit of several unconnected parts does each of them or is refused; notes name the ops that
still wait.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.edits.test_reroute import reads, refused, run

X = np.float32([[1, -2, 3, 4], [-5, 6, 7, -8]])


def chain() -> tgw.GraphEditor:
    """x -> a -> b -> c -> s -> d -> y, and from c over a sum to e and z."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        c = tf.nn.elu(tf.identity(tf.nn.relu(x, name="a"), name="b"), name="c")
        tf.identity(tf.nn.relu(tf.sin(c, name="s"), name="d"), name="y")
        tf.identity(tf.nn.relu(tf.reduce_sum(c, 1, name="sum"), name="e"), name="z")
    return tgw.edit(graph)


@pytest.mark.parametrize(
    "parts", [("a", "d"), ("d", "e"), ("a", "d", "e"), ("a", "c", "e"), ("c", "d")]
)
def test_a_bypass_of_several_parts_bypasses_each(parts: tuple[str, ...]) -> None:
    one, several = chain(), chain()
    for part in parts:
        one.bypass(part)
    report = several.bypass(several.ops(*parts))
    assert reads(several) == reads(one)
    assert "stays in the graph, without consumers outside" in str(report)
    several.undo()
    assert reads(several) == reads(chain())


def test_a_bypass_of_several_parts_of_which_one_cannot_be_is_refused() -> None:
    editor = chain()
    before = reads(editor)
    assert (
        "none of it fits those that read 'sum:0'"
        in refused(lambda: editor.bypass(editor.ops("a", "sum"))).why
    )
    assert "none of it fits" in refused(lambda: editor.bypass(editor.ops("a", "x"))).why
    assert reads(editor) == before


def test_a_part_without_consumers_is_named() -> None:
    editor = chain()
    report = editor.bypass(editor.ops("a", "y"))
    assert reads(editor)["b"] == ["x"]
    assert "'y' has no consumers, so there is nothing to bypass." in report.notes


def test_the_tensor_to_read_instead_is_read_instead_of_each_part() -> None:
    editor = chain()
    editor.bypass(editor.ops("a", "d"), by="x:0")
    assert (reads(editor)["b"], reads(editor)["y"]) == (["x"], ["x"])


def test_two_layers_are_bypassed_with_their_gradients() -> None:
    def trained(*, plain: bool) -> tf.Graph:
        with tf.Graph().as_default() as graph:
            h = v1.placeholder(tf.float32, [None, 4], name="x")
            for k in range(2):
                w = v1.get_variable(
                    f"w{k}", initializer=np.eye(4, dtype=np.float32) + k, use_resource=True
                )
                h = tf.matmul(h, w, name=f"dense{k}")
                h = h if plain else tf.nn.tanh(h, name=f"act{k}")
            loss = tf.reduce_mean(tf.square(h), name="loss")
            v1.train.GradientDescentOptimizer(0.1).minimize(loss, name="step")
        return graph

    def trains(graph: tf.Graph) -> Any:
        with graph.as_default(), v1.Session(graph=graph) as session:
            session.run([variable.initializer for variable in v1.global_variables()])
            session.run("step", {"x:0": X})
            return session.run(v1.global_variables())

    graph = trained(plain=False)
    editor = tgw.edit(graph)
    report = editor.bypass(editor.ops("act0", "act1"), gradients=True)
    assert "Its gradients are bypassed, too." in report.notes
    for ours, wanted in zip(trains(graph), trains(trained(plain=True)), strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-5)


@pytest.mark.parametrize("remove", [False, True])
def test_an_op_type_replaces_each_part(remove: bool) -> None:
    editor, names = chain(), ("a", "d", "e")
    report = editor.replace(editor.ops(*names), "Tanh", remove=remove)
    assert len(report.added) == len(names)
    with tf.Graph().as_default() as graph:
        c = tf.nn.elu(tf.tanh(tf.constant(X)))
        tf.identity(tf.tanh(tf.sin(c)), name="y")
        tf.identity(tf.tanh(tf.reduce_sum(c, 1)), name="z")
        wanted = run(graph, ["y:0", "z:0"], {})
    for ours, theirs in zip(run(editor.graph, ["y:0", "z:0"], {"x:0": X}), wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    if remove:
        assert not set(names) & set(editor._core.index.names)
    editor.undo()
    assert reads(editor) == reads(chain())


def test_a_function_that_leaves_a_part_out_is_refused() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        tf.identity(tf.nn.relu(x, name="a"), name="y")
        tf.nn.relu(x, name="end")
    editor = tgw.edit(graph)
    assert "'end'" in refused(lambda: editor.replace(editor.ops("a", "end"), tf.tanh)).why
    editor.replace(editor.ops("a", "end"), "Tanh")
    assert reads(editor)["y"] != ["a"]


def test_a_removal_of_several_parts_removes_all_or_none() -> None:
    editor = chain()
    assert "Op 'b' stays and reads 'a'" in refused(lambda: editor.remove(editor.ops("y", "a"))).why
    editor.remove(editor.ops("y", "z"))
    assert not {"y", "z"} & set(editor._core.index.names)


# Who waits


def waiting() -> tgw.GraphEditor:
    """x -> y; w waits for x."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], name="x")
        tf.identity(x, name="y")
        tf.zeros([2], name="other")
        with tf.control_dependencies([x]):
            tf.constant(1.0, name="w")
    return tgw.edit(graph)


def test_who_waits_for_an_input_that_becomes_a_constant_waits_for_the_constant() -> None:
    editor = waiting()
    report = editor.set_constant("x:0", [1.0, 2.0])
    assert reads(editor)["w"] == ["^x/value"]
    assert not report.notes or "waits" not in str(report)
    assert run(editor.graph, "w:0", {}) == 1.0
    editor.undo()
    assert reads(editor)["w"] == ["^x"]


def test_who_still_waits_after_a_reroute_is_said() -> None:
    editor = waiting()
    note = "'w' still waits for 'x', which has no consumers any more; let it wait for another op: "
    assert note in str(editor.reroute("x:0", "other:0"))
    editor.undo()
    assert "waits" not in str(editor.reroute(["x:0", "^x"], ["other:0", "^other"]))
    assert reads(editor)["w"] == ["^other"]
    editor.undo()
    assert note in str(editor.detach("y", outputs=False))


def test_who_waits_for_an_input_waits_for_the_one_of_another_dtype() -> None:
    editor = waiting()
    report = editor.passes.set_input("x:0", dtype=tf.float64, adapter="Cast")
    assert reads(editor)["w"] == [f"^{report.added[-1]}"]
    assert "waits" not in str(report)


def test_more_names_than_new_ops_are_refused() -> None:
    editor = waiting()
    before = reads(editor)
    error = refused(lambda: editor.detach("y", outputs=False, names=["one", "two", "three"]))
    assert error.why == "names= has 3 names, and 1 op is added; leave out 'two' and 'three'."
    assert reads(editor) == before
    error = refused(lambda: editor.reroute("x:0", "other:0", names=["cast"]))
    assert error.why == "names= has 1 name, and no op is added; leave out 'cast'."

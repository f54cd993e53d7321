"""Clones into another graph: with a session of their own, functions, collections and values carried
along.
"""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format

import tfgraphwidget as tgw
from tests.conftest import fill, initialised, v1
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import NameTaken, NotClonable

ONES = np.ones((2, 3), np.float32)


def test_the_copy_runs_in_the_other_session_with_the_trained_values(
    editor: GraphEditor, session: v1.Session
) -> None:
    fill(editor.graph.get_collection("variables")[0], 0.5, session)
    other = tf.Graph()
    with v1.Session(graph=other) as elsewhere:
        copy = editor.clone("x:0", "net/logits:0", "copy", graph=other, session=elsewhere)
        assert copy["x:0"].graph is other
        assert [v.name for v in other.get_collection("trainable_variables")] == [
            v.name for v in copy.variables
        ]
        there = elsewhere.run(copy["net/logits:0"], {copy["x:0"]: ONES})
        assert np.array_equal(there, session.run("net/logits:0", {"x:0": ONES}))


def test_without_a_scope_the_names_stay(editor: GraphEditor, session: v1.Session) -> None:
    other = tf.Graph()
    with v1.Session(graph=other) as elsewhere:
        copy = editor.clone("x:0", "net/logits:0", "", graph=other, session=elsewhere)
        assert copy["net/logits:0"].name == "net/logits:0"
        assert [v.name for v in copy.variables] == [
            v.name for v in editor.graph.get_collection("variables")
        ]
        with pytest.raises(NameTaken, match="already"):
            editor.clone("x:0", "net/logits:0", "", graph=other, session=elsewhere)


def test_into_another_editor_and_undone_there(editor: GraphEditor) -> None:
    other = tf.Graph()
    with other.as_default():
        v1.placeholder(tf.float32, [None, 3], name="input")
    with v1.Session(graph=other) as elsewhere:
        target = tgw.edit(other, session=elsewhere)
        copy = editor.clone("x:0", "net/logits:0", "copy", graph=target, replace={"x:0": "input:0"})
        assert elsewhere.run(copy["net/logits:0"], {"input:0": ONES}).any()
        assert "copy/net/logits" in target._core.index.ids
        assert editor.undo().startswith("copy = editor.clone(")
        assert "copy/net/logits" not in target._core.index.ids
        assert other.get_collection("variables") == []
        editor.redo()
        assert "copy/net/logits" in target._core.index.ids


def test_a_scope_that_the_other_graph_has_taken_is_refused(editor: GraphEditor) -> None:
    other = tf.Graph()
    with other.as_default():
        tf.constant(1, name="copy/one")
    with v1.Session(graph=other) as elsewhere, pytest.raises(NameTaken, match="copy"):
        editor.clone("x:0", "net/logits:0", "copy", graph=other, session=elsewhere)


def test_control_inputs_and_colocation_that_stay_are_reported(editor: GraphEditor) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [2], name="x")
        anchor = tf.constant(1.0, name="anchor")
        step = tf.group(v1.placeholder(tf.float32, name="fed"), name="step")
        with v1.colocate_with(anchor), tf.control_dependencies([step]):
            tf.negative(x, name="y")
    other = tf.Graph()
    with v1.Session(graph=graph) as session, v1.Session(graph=other) as elsewhere:
        copy = tgw.edit(graph, session=session).clone(
            "x:0", "y:0", "copy", graph=other, session=elsewhere
        )
        assert any("'step'" in sentence for sentence in copy.report.dropped)
        assert any("'anchor'" in sentence for sentence in copy.report.dropped)
        assert elsewhere.run(copy["y:0"], {copy["x:0"]: [1, 2]}).tolist() == [-1, -2]
        fresh = tf.Graph()
        with fresh.as_default():
            tf.import_graph_def(other.as_graph_def(), name="")  # no colocation dangles


def calling(function: object) -> tf.Graph:
    """x -> a call of the function -> y."""
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [2], name="x")
        tf.identity(function(x), name="y")  # type: ignore[operator]
    return graph


@tf.function
def doubled(x: tf.Tensor) -> tf.Tensor:
    """A function that calls another and loops."""
    return tf.while_loop(lambda a: tf.reduce_sum(a) < 10, lambda a: [a * 2], [x])[0]


def test_functions_go_along_with_those_that_they_call() -> None:
    graph, other = calling(doubled), tf.Graph()
    with v1.Session(graph=graph) as session, v1.Session(graph=other) as elsewhere:
        copy = tgw.edit(graph, session=session).clone(
            "x:0", "y:0", "copy", graph=other, session=elsewhere
        )
        expected = session.run("y:0", {"x:0": [1, 2]})
        assert np.array_equal(elsewhere.run(copy["y:0"], {copy["x:0"]: [1, 2]}), expected)


def test_a_function_of_the_same_name_and_another_body_gets_a_new_name() -> None:
    def graph_of(factor: float) -> tf.Graph:
        graph = tf.Graph()
        with graph.as_default():
            x = v1.placeholder(tf.float32, [2], name="x")

            @tf.function
            def scaled(a: tf.Tensor) -> tf.Tensor:
                return a * factor

            tf.identity(scaled(x), name="y")
        return graph

    one, two = graph_of(2.0).as_graph_def(), graph_of(3.0).as_graph_def()
    names = [graph_def.library.function[0].signature.name for graph_def in (one, two)]
    text = str(two).replace(names[1], names[0])
    two = text_format.Parse(text, v1.GraphDef())
    graphs = []
    for graph_def in (one, two):
        graphs.append(tf.Graph())
        with graphs[-1].as_default():
            tf.import_graph_def(graph_def, name="")
    with v1.Session(graph=graphs[0]) as session, v1.Session(graph=graphs[1]) as elsewhere:
        copy = tgw.edit(graphs[0], session=session).clone(
            "x:0", "y:0", "copy", graph=graphs[1], session=elsewhere
        )
        outs = elsewhere.run([copy["y:0"], "y:0"], {copy["x:0"]: [1, 1], "x:0": [1, 1]})
        assert [out.tolist() for out in outs] == [[2, 2], [3, 3]]
        assert any(names[0] in sentence for sentence in copy.report.dropped)


def test_shared_variables_cannot_cross(editor: GraphEditor) -> None:
    other = tf.Graph()
    with (
        v1.Session(graph=other) as elsewhere,
        pytest.raises(NotClonable, match="cannot be shared with another graph"),
    ):
        editor.clone(
            "x:0", "net/logits:0", "copy", graph=other, session=elsewhere, variables="shared"
        )
    assert other.get_operations() == []


def test_a_global_step_goes_along_unless_there_is_one(mlp: tf.Graph) -> None:
    with mlp.as_default():
        v1.train.get_or_create_global_step()
    with initialised(mlp) as session:
        other = tf.Graph()
        with v1.Session(graph=other) as elsewhere:
            editor = tgw.edit(mlp, session=session)
            editor.clone(~editor.ops(), into="all", graph=other, session=elsewhere)
            assert [v.name for v in other.get_collection("global_step")] == ["all/global_step:0"]
            again = editor.clone(~editor.ops(), into="again", graph=other, session=elsewhere)
            assert len(other.get_collection("global_step")) == 1
            assert any("global_step" in sentence for sentence in again.report.dropped)

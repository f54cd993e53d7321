"""Live graphs and sessions, and the things that are none."""

from __future__ import annotations

import re

import numpy as np
import pytest
import tensorflow as tf

from tests.conftest import v1
from tests.sources.conftest import Affine, index_of
from tfgraphwidget.errors import GraphEditError, NotAGraph, SessionRefused
from tfgraphwidget.sources import open_source


def test_a_graph_opens_live(mlp: tf.Graph, session: v1.Session) -> None:
    source = open_source(mlp, session)
    assert (source.graph, source.session, source.notices) == (mlp, session, ())
    assert source.live() is mlp
    assert [n.name for n in source.body.nodes()] == [op.name for op in mlp.get_operations()]


def test_nothing_is_the_default_graph_and_its_default_session() -> None:
    with tf.Graph().as_default() as graph, v1.Session() as session:
        assert open_source().graph is graph
        assert open_source().session is session
        assert open_source(None, session).graph is graph


def test_an_empty_live_graph_opens() -> None:
    assert len(index_of(open_source(tf.Graph()).body)) == 0


def test_a_session_opens_its_graph(mlp: tf.Graph, session: v1.Session) -> None:
    source = open_source(session)
    assert (source.graph, source.session) == (mlp, session)


def test_an_interactive_session_opens_its_graph(line: tf.Graph) -> None:
    session = v1.InteractiveSession(graph=line)
    try:
        assert open_source(session).graph is line
    finally:
        session.close()


def test_a_graph_def_a_meta_graph_def_and_bytes_open(mlp: tf.Graph) -> None:
    graph_def = mlp.as_graph_def()
    with mlp.as_default():
        meta = v1.train.export_meta_graph()
    for thing in (
        graph_def,
        meta,
        graph_def.SerializeToString(),
        bytearray(meta.SerializeToString()),
    ):
        source = open_source(thing)
        assert source.graph is None
        assert [n.name for n in source.body.nodes()] == [op.name for op in mlp.get_operations()]


def test_what_was_opened_does_not_change_with_the_proto(line: tf.Graph) -> None:
    graph_def = line.as_graph_def()
    source = open_source(graph_def)
    graph_def.node[0].name = "other"
    assert source.body.nodes()[0].name == "x"


@pytest.mark.parametrize(
    ("thing", "sentence"),
    [
        (3, "int '3' holds no TensorFlow graph; give a tf.Graph"),
        ([], "list '[]' holds no TensorFlow graph"),
        (np.zeros(2), "ndarray '[0. 0.]' holds no TensorFlow graph"),
        (len, "make it a tf.function"),
        (
            tf.constant(1),
            "EagerTensor 'tf.Tensor(1, shape=(), dtype=int32)' holds no TensorFlow graph",
        ),
        (v1.NodeDef(), "NodeDef '' holds no TensorFlow graph"),
        (v1.GraphDef(), "This GraphDef holds no graph with ops in it"),
        (v1.MetaGraphDef(), "This MetaGraphDef holds no graph with ops in it"),
        (b"", "This data is empty"),
        (
            b"\xff\xff\xff",
            "This data is not a GraphDef, MetaGraphDef or SavedModel, or it is truncated",
        ),
        (b"hello there", "This data"),
    ],
)
def test_what_is_no_graph_is_refused_in_a_sentence(thing: object, sentence: str) -> None:
    with pytest.raises(NotAGraph, match=re.escape(sentence)) as refusal:
        open_source(thing)
    assert "\n" not in refusal.value.why


def test_a_tensor_of_a_graph_says_to_give_the_graph(line: tf.Graph) -> None:
    with pytest.raises(NotAGraph, match=r"give the graph it is in, tgw\.edit\(x\.graph\)"):
        open_source(line.get_tensor_by_name("a:0"))


def test_a_loaded_saved_model_says_to_give_its_directory(tf2_saved_model: object) -> None:
    with pytest.raises(NotAGraph, match="give the directory it was loaded from"):
        open_source(tf.saved_model.load(str(tf2_saved_model)))


def test_no_session_is_refused(line: tf.Graph, affine: Affine) -> None:
    with pytest.raises(SessionRefused, match="int '3' is not a session"):
        open_source(line, 3)
    with (
        v1.Session(graph=line) as session,
        pytest.raises(SessionRefused, match="not a graph that a session runs"),
    ):
        open_source(affine.__call__, session)


@pytest.mark.parametrize("choice", [{"signature": "x"}, {"checkpoint": "x"}, {"tags": "x"}])
def test_a_live_graph_takes_no_choice(line: tf.Graph, choice: dict[str, str]) -> None:
    with pytest.raises(GraphEditError, match="has no use for"):
        open_source(line, **choice)


def test_a_function_is_in_the_graph_and_nodes_of_a_proto_may_be_none() -> None:
    function = tf.function(lambda x: x + 1).get_concrete_function(tf.TensorSpec([]))
    library = v1.GraphDef()
    library.library.function.append(function.function_def)
    source = open_source(library)
    assert source.body.nodes() == []
    assert source.body.functions() == {function.function_def.signature.name}

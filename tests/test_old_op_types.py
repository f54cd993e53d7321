"""PlaceholderV2 of old files, and HostConst, are shown, edited and exported as Placeholder and
Const are.
"""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tfgraphwidget import graph_editor
from tfgraphwidget.sources.files.summary import summarize_graph

tf1 = tf.compat.v1
# TensorFlow refuses PlaceholderV2 in graphs of version 23 and later.
VERSION = 22
NEW_NAMES = {"PlaceholderV2": "Placeholder", "HostConst": "Const"}
SPELLINGS = (("PlaceholderV2",), ("HostConst",), ("PlaceholderV2", "HostConst"))


def small_network(*spelling: str) -> tf1.GraphDef:
    """A layer with a resource variable and a Reshape to a constant shape, with these op types for
    the usual ones.
    """
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4], "x")
        weights = tf.constant([[0.5, 1], [2, -1], [0, 1], [1, 1]], name="weights")
        first = tf.constant([1.0, -1.0], name="first")
        bias = tf1.get_variable("bias", initializer=first, use_resource=True)
        hidden = tf.nn.relu(tf.matmul(x, weights) + bias)
        tf.reshape(hidden, tf.constant([-1, 1, 2], name="shape"), name="y")
    graph_def = graph.as_graph_def()
    graph_def.versions.producer = VERSION
    for node in graph_def.node:
        node.op = next((old for old in spelling if NEW_NAMES[old] == node.op), node.op)
    return graph_def


def live_editor(*spelling: str) -> tgw.GraphEditor:
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(small_network(*spelling), name="")
    session = tf1.Session(graph=graph)
    session.run("bias/Assign")
    return tgw.edit(graph, session=session)


def file_editor(tmp_path, *spelling: str) -> tgw.GraphEditor:
    path = tmp_path / "net.pb"
    path.write_bytes(small_network(*spelling).SerializeToString())
    return tgw.edit(path)


def with_new_names(text: object) -> str:
    return re.sub(r"PlaceholderV2|HostConst", lambda found: NEW_NAMES[found[0]], str(text))


def nodes_of(graph_def: tf1.GraphDef) -> list[tuple[str, str, tuple[str, ...]]]:
    """Name, type in the usual spelling, and inputs of the ops, without those that carry the
    session's values over.
    """
    return [
        (node.name, NEW_NAMES.get(node.op, node.op), tuple(node.input))
        for node in graph_def.node
        if not node.name.startswith("tfgraphwidget_renewal/")
    ]


@pytest.fixture(params=SPELLINGS, ids="+".join)
def spelling(request):
    return request.param


def test_the_file_is_drawn_the_same(tmp_path, spelling):
    assert (
        with_new_names(file_editor(tmp_path, *spelling).view.to_svg())
        == file_editor(tmp_path).view.to_svg()
    )


def test_all_shapes_of_the_file_are_known(tmp_path, spelling):
    index = file_editor(tmp_path, *spelling)._core.index
    shapes = {name: index.shape(i, 0) for i, name in enumerate(index.names)}
    assert (shapes["x"], shapes["weights"], shapes["MatMul"]) == ((None, 4), (4, 2), (None, 2))
    assert shapes["y"] == (None, 1, 2)


def test_the_summary_of_the_file_counts_the_same(spelling):
    counted = json.dumps(summarize_graph(small_network(*spelling)))
    assert json.loads(with_new_names(counted)) == summarize_graph(small_network())


def test_queries_find_inputs_and_constants(spelling):
    editor = live_editor(*spelling)
    assert editor.find("is:input").ops == ("x",)
    assert editor.find("is:constant").ops == ("weights", "first", "shape")


def test_a_clone_reads_and_copies_the_same(spelling):
    copies = []
    for types in ((), spelling):
        editor = live_editor(*types)
        copy = editor.clone([], "y:0", into="copy", placeholders=True)
        value = editor.session.run("copy/y:0", {"copy/x:0": [[1, 2, 3, 4]]})
        copies.append((copy.report.ops, nodes_of(editor.graph.as_graph_def()), value.tolist()))
    assert copies[0] == copies[1]


def test_freezing_keeps_the_same_ops(spelling):
    graphs = []
    for types in ((), spelling):
        editor = live_editor(*types)
        editor.freeze(["y:0"])
        graphs.append(nodes_of(editor.graph.as_graph_def()))
    assert graphs[0] == graphs[1]


def test_what_is_needed_must_be_fed(spelling):
    editor = live_editor(*spelling)
    with pytest.raises(tgw.GraphEditError, match="Placeholder 'x' is needed and not fed"):
        editor.probe(["y:0"])
    np.testing.assert_allclose(
        editor.probe(["y:0"], feeds={"x:0": [[1, 2, 3, 4]]})["y:0"].value, [[[9.5, 5]]]
    )


def test_a_new_shape_of_the_input_spreads(spelling):
    editor = live_editor(*spelling)
    editor.set_attr("x", "shape", [3, 4])
    shapes = [
        editor._core.index.shape(editor._core.index.ids[name], 0) for name in ("x", "MatMul", "y")
    ]
    assert shapes == [(3, 4), (3, 2), (3, 1, 2)]


def test_constants_take_another_value(spelling):
    editor = live_editor(*spelling)
    editor.set_constant("weights:0", np.zeros([4, 2], np.float32))
    np.testing.assert_array_equal(editor.session.run("y:0", {"x:0": [[1, 2, 3, 4]]}), [[[1, 0]]])


@pytest.mark.parametrize("inputs", [["x:0"], None], ids=["inputs named", "inputs found"])
def test_a_frozen_file_has_the_same_inputs_and_outputs(tmp_path, spelling, inputs):
    graphs = []
    for types in ((), spelling):
        path = tmp_path / f"{len(types)}.pb"
        live_editor(*types).save(
            path, frozen=True, outputs=["y:0"], **({"inputs": inputs} if inputs else {})
        )
        graph_def = tf1.GraphDef.FromString(path.read_bytes())
        graphs.append(nodes_of(graph_def))
        with tf.Graph().as_default() as graph, tf1.Session() as session:
            tf.import_graph_def(graph_def, name="")
            assert session.run(
                graph.get_tensor_by_name("y:0"), {"x:0": [[1, 2, 3, 4]]}
            ).tolist() == [[[9.5, 5]]]
    assert graphs[0] == graphs[1]


def test_a_saved_model_of_it_runs(tmp_path, spelling):
    live_editor(*spelling).save(tmp_path / "model", inputs=["x:0"], outputs=["y:0"])
    signature = tf.saved_model.load(str(tmp_path / "model")).signatures["serving_default"]
    np.testing.assert_allclose(signature(x=tf.constant([[1.0, 2, 3, 4]]))["y"], [[[9.5, 5]]])


def test_a_clone_into_a_new_graph_runs(spelling):
    target = tf.Graph()
    session = tf1.Session(graph=target)
    live_editor(*spelling).clone(
        [], "y:0", into="copy", placeholders=True, graph=target, session=session
    )
    assert session.run("copy/y:0", {"copy/x:0": [[1, 2, 3, 4]]}).tolist() == [[[9.5, 5]]]


def test_graph_editor_copies_it_into_a_new_graph(spelling):
    target, graph = tf.Graph(), tf.Graph()
    with graph.as_default():
        tf.import_graph_def(small_network(*spelling), name="")
    ops = [graph.get_operation_by_name(name) for name in ("x", "weights", "MatMul")]
    graph_editor.copy(ops, dst_graph=target, dst_scope="copy")
    with tf1.Session(graph=target) as session:
        assert session.run("copy/MatMul:0", {"copy/x:0": [[1, 2, 3, 4]]}).tolist() == [[8.5, 6]]

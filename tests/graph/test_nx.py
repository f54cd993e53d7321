"""The networkx view: all of the graph, ready for networkx's algorithms and file formats."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.index import GraphIndex, Member, VariableDef, build
from tfgraphwidget.graph.nx import networkx, write_graphml
from tfgraphwidget.progress import listen


@dataclass
class Live:
    """What a live graph knows of its tensors."""

    graph: tf.Graph

    def dtypes(self, node: Any) -> tuple[str, ...]:
        return tuple(t.dtype.name for t in self.graph.get_operation_by_name(node.name).outputs)

    def shape(self, op: str, port: int) -> tuple[int | None, ...] | None:
        shape = self.graph.get_operation_by_name(op).outputs[port].shape
        return None if shape.rank is None else tuple(shape.as_list())


def index_of(graph: tf.Graph) -> GraphIndex:
    return build(graph.as_graph_def().node, typing=Live(graph))


def test_every_tensor_read_is_an_edge_and_every_control_input(
    mlp: tf.Graph, while_loop: tf.Graph
) -> None:
    for graph in (mlp, while_loop):
        seen = networkx(index_of(graph))
        assert list(seen) == [op.name for op in graph.get_operations()]
        edges = {(v, key): (u, data) for u, v, key, data in seen.edges(keys=True, data=True)}
        for op in graph.get_operations():
            for slot, tensor in enumerate(op.inputs):
                source, data = edges.pop((op.name, slot))
                assert source == tensor.op.name
                assert data == {
                    "tensor": tensor.name,
                    "dtype": tensor.dtype.name,
                    "shape": None if tensor.shape.rank is None else tuple(tensor.shape.as_list()),
                    "slot": slot,
                    "control": False,
                }
            for k, waited in enumerate(op.control_inputs):
                assert edges.pop((op.name, f"^{k}")) == (
                    waited.name,
                    {"tensor": f"^{waited.name}", "control": True},
                )
        assert not edges


def test_one_tensor_read_twice_is_two_edges() -> None:
    with tf.Graph().as_default() as graph:
        tf.add(*[v1.placeholder(tf.float32, [2, None], name="x")] * 2, name="twice")
    seen = networkx(index_of(graph))
    assert seen.number_of_edges("x", "twice") == 2
    assert seen["x"]["twice"][1]["shape"] == (2, None)


def test_an_op_shows_type_device_scope_and_attributes() -> None:
    with tf.Graph().as_default() as graph, tf.device("/job:worker/task:1"), tf.name_scope("net"):
        x = v1.placeholder(tf.float32, [None, 8, 8, 3], name="x")
        tf.nn.conv2d(x, tf.ones([3, 3, 3, 2], name="kernel"), [1, 2, 2, 1], "SAME", name="conv")
    seen = networkx(index_of(graph))
    conv = seen.nodes["net/conv"]
    assert (conv["op"], conv["device"], conv["scope"]) == ("Conv2D", "/job:worker/task:1", "net")
    assert conv["attributes"]["strides"] == [1, 2, 2, 1]
    assert conv["attributes"]["padding"] == "SAME"
    assert conv["attributes"]["T"] == "float32"
    assert conv["attributes"]["use_cudnn_on_gpu"] is True
    assert seen.nodes["net/x"]["attributes"]["shape"] == (None, 8, 8, 3)
    constant = next(data for _, data in seen.nodes(data=True) if data["op"] == "Const")
    assert constant["attributes"]["value"].startswith("tensor (")


def test_the_graph_shows_its_variables_collections_and_functions(line: tf.Graph) -> None:
    variable = VariableDef("w", None, None, None)
    held = {"losses": (Member("tensor", "c:0"),)}
    index = build(line.as_graph_def().node, held, (variable,), functions=frozenset({"g", "f"}))
    assert networkx(index).graph == {
        "variables": ("w",),
        "functions": ("f", "g"),
        "collections": {"losses": ("c:0",)},
    }


def test_algorithms_run(diamond: tf.Graph, mlp: tf.Graph, while_loop: tf.Graph) -> None:
    seen = networkx(index_of(diamond))
    order = list(nx.topological_sort(seen))
    assert order.index("x") < order.index("left") < order.index("join")
    assert nx.ancestors(seen, "right") == {"x", "other", "scaled"}
    assert nx.shortest_path(seen, "other", "join") == ["other", "scaled", "right", "join"]
    assert nx.is_directed_acyclic_graph(networkx(index_of(mlp)))
    loop = max(nx.strongly_connected_components(networkx(index_of(while_loop))), key=len)
    assert loop >= {"while/Merge", "while/Switch", "while/NextIteration"}


@pytest.mark.parametrize("suffix", ["graphml", "gexf"])
def test_as_text_it_goes_to_a_file_and_back(
    mlp: tf.Graph, while_loop: tf.Graph, suffix: str, tmp_path: Path
) -> None:
    for graph in (mlp, while_loop):
        path = tmp_path / f"graph.{suffix}"
        seen = networkx(index_of(graph), text=True)
        getattr(nx, f"write_{suffix}")(seen, path)
        read = getattr(nx, f"read_{suffix}")(path)
        assert set(read) == set(seen)
        ends = Counter((u, v, data["tensor"]) for u, v, data in seen.edges(data=True))
        assert Counter((u, v, data["tensor"]) for u, v, data in read.edges(data=True)) == ends
        assert all(read.nodes[name]["op"] == data["op"] for name, data in seen.nodes(data=True))


def test_names_that_no_xml_may_hold_are_written_so_that_they_can_be_read(tmp_path: Path) -> None:
    graph_def = tf.compat.v1.GraphDef()
    graph_def.node.add(name="bad\x00\x1bname", op="NoOp")
    graph_def.node.add(name="reader", op="NoOp", input=["^bad\x00\x1bname"])
    graph_def.node.add(name="another", op="NoOp")
    write_graphml(tgw.edit(graph_def)._core.index, tmp_path / "odd.graphml")
    read = nx.read_graphml(tmp_path / "odd.graphml")
    assert list(read.edges()) == [("bad\\x00\\x1bname", "reader")]


def test_as_text_shapes_and_attributes_are_words(mlp: tf.Graph) -> None:
    seen = networkx(index_of(mlp), text=True)
    assert seen.nodes["x"]["attr.shape"] == "(None, 3)"
    assert next(iter(seen["net/one/out"].values()))["0"]["shape"] == "(None, 4)"
    values = [v for _, data in seen.nodes(data=True) for v in data.values()]
    values += [v for *_, data in seen.edges(data=True) for v in data.values()]
    assert {type(value) for value in (*values, *seen.graph.values())} <= {str, int, bool}


def test_an_empty_graph_is_an_empty_graph() -> None:
    assert len(networkx(build([]))) == 0


def test_graphml_of_too_many_attributes_or_edges_is_refused_by_their_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = v1.NodeDef(name="x", op="Placeholder")
    for number in range(4_000):
        node.attr[f"_a{number}"].i = number
    with pytest.raises(
        GraphEditError, match=r"4,000 attributes of different names, and GraphML .* 3,000 at most"
    ):
        tgw.edit(v1.GraphDef(node=[node])).save(tmp_path / "many.graphml")
    graph_def = v1.GraphDef(node=[v1.NodeDef(name=f"p{number}", op="NoOp") for number in range(20)])
    graph_def.node.add(name="all", op="NoOp", input=[f"^p{number}" for number in range(20)])
    monkeypatch.setattr("tfgraphwidget.graph.nx._MOST_EDGES", 19)
    with pytest.raises(GraphEditError, match=r"has 20 edges, and GraphML is written of 19 at most"):
        tgw.edit(graph_def).save(tmp_path / "many.graphml")
    assert list(tmp_path.iterdir()) == []


def test_writing_reports_its_progress(tmp_path: Path) -> None:
    editor, report = tgw.example(), list[str]()
    for suffix in ("graphml", "dot", "html", "svg"):
        with listen(lambda what, *_: report.append(what)):
            editor.save(tmp_path / f"x.{suffix}")
    assert {
        "Taking the edges",
        "Writing GraphML",
        "Writing the edges",
        "Packing the outputs",
    } <= set(report)
    assert {"Packing the attributes", "Compressing the page", "Drawing the lines"} <= set(report)

"""A graph goes to networkx and comes back as it was, or as networkx has made it."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import INCEPTION, build_mlp, initialised, v1
from tests.graph_editor.corpus import CORPUS
from tfgraphwidget.errors import NotAGraph

FILES = sorted(path for path in (CORPUS / "graphs").iterdir() if "large" not in path.name)


@pytest.mark.parametrize("path", [*FILES, INCEPTION], ids=lambda path: path.name)
def test_a_file_comes_back_without_loss(path: Path) -> None:
    first = tgw.edit(path)
    second = tgw.edit(first.to_networkx())
    assert list(second._core.index.nodes) == list(first._core.index.nodes)
    assert second._core.index.functions == first._core.index.functions
    for name in first._core.index.functions:
        assert second._core.index.extras.function(name) == first._core.index.extras.function(name)
    assert second._core.index.variable_defs == first._core.index.variable_defs
    assert {k: v for k, v in second._core.index.collections.items() if v} == {
        k: v for k, v in first._core.index.collections.items() if v
    }


def test_a_live_graph_comes_back_and_runs() -> None:
    graph = build_mlp(resource=True)
    editor = tgw.edit(graph, session=initialised(graph))
    editor.reroute("net/two/out:0", "net/one/out:0")
    seen = pickle.loads(pickle.dumps(copy.deepcopy(editor.to_networkx())))
    again = tgw.edit(seen)
    assert list(again._core.index.nodes) == list(editor._core.index.nodes)
    with again.graph.as_default(), v1.Session() as session:
        session.run(v1.global_variables_initializer())
        assert session.run("net/logits:0", {"x:0": np.ones((2, 3), np.float32)}).shape == (2, 4)


def test_what_networkx_relabels_and_cuts_is_opened_as_it_is_now(line: tf.Graph) -> None:
    seen = tgw.edit(line).to_networkx()
    cut = nx.relabel_nodes(
        seen.subgraph([n for n in seen if n not in {"c", "c/y"}]), {"a": "first"}
    )
    editor = tgw.edit(cut)
    assert "c" not in editor._core.index.ids
    assert list(editor._core.index.nodes[editor._core.index.ids["b"]].input) == ["first", "b/y"]


@pytest.fixture
def beside() -> nx.MultiDiGraph:
    """A network that trains, with an op beside its logits on whatever device that is, and each in a
    collection.
    """
    graph = build_mlp(resource=True)
    with graph.as_default():
        logits = graph.get_tensor_by_name("net/logits:0")
        with graph.colocate_with(logits.op):
            seen = tf.identity(graph.get_tensor_by_name("x:0"), name="seen")
        loss = tf.reduce_sum(logits * logits, name="loss")
        v1.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")
        graph.add_to_collection("ends", logits)
        graph.add_to_collection("ends", seen)
        graph.add_to_collection("losses", loss)
    return tgw.edit(graph).to_networkx()


def run(editor: tgw.GraphEditor, fetched: str, fed: str) -> tuple[int, ...]:
    """The shape of what comes out when the variables that the collections know are initialised."""
    with editor.graph.as_default(), v1.Session() as session:
        session.run(v1.global_variables_initializer())
        shape: tuple[int, ...] = session.run(fetched, {fed: np.ones((2, 3), np.float32)}).shape
        return shape


def test_whatever_names_an_op_follows_when_networkx_relabels_it(beside: nx.MultiDiGraph) -> None:
    editor = tgw.edit(nx.relabel_nodes(beside, {name: f"pre/{name}" for name in beside}))
    assert editor.source.notices == ()
    assert run(editor, "pre/net/logits:0", "pre/x:0") == (2, 4)
    assert editor.graph.get_operation_by_name("pre/seen").colocation_groups() == [
        b"loc:@pre/net/logits"
    ]
    assert [held.name for held in editor.graph.get_collection("ends")] == [
        "pre/net/logits:0",
        "pre/seen:0",
    ]
    assert {v.name for v in editor.graph.get_collection("variables")} == {
        f"pre/net/{layer}/{v}:0" for layer in ("one", "two") for v in ("w", "b")
    }


def test_names_that_networkx_exchanges_are_exchanged_everywhere(beside: nx.MultiDiGraph) -> None:
    """Both ops are called what the other was called: the name alone would not tell which is
    meant.
    """
    editor = tgw.edit(nx.relabel_nodes(beside, {"seen": "net/logits", "net/logits": "seen"}))
    assert editor.graph.get_operation_by_name("net/logits").colocation_groups() == [b"loc:@seen"]
    assert [held.name for held in editor.graph.get_collection("ends")] == ["seen:0", "net/logits:0"]
    assert run(editor, "seen:0", "x:0") == (2, 4)


def test_what_networkx_cuts_is_let_go_of_and_the_rest_runs(beside: nx.MultiDiGraph) -> None:
    cut = beside.copy()
    cut.remove_nodes_from(
        [name for name in beside if name.startswith(("train", "gradients", "loss"))]
    )
    editor = tgw.edit(cut)
    assert run(editor, "net/logits:0", "x:0") == (2, 4)
    assert set(editor.graph.get_all_collection_keys()) == {
        "ends",
        "trainable_variables",
        "variables",
    }
    assert [why for why in editor.source.notices if "'loss:0'" in why and "'losses'" in why]


def test_what_only_computes_an_output_runs_without_its_collections(beside: nx.MultiDiGraph) -> None:
    """What initialises and reads a variable is not a part of it, so no tf.Variable can be made of
    what is left.
    """
    part = beside.subgraph({"net/logits", "seen", *nx.ancestors(beside, "net/logits")})
    editor = tgw.edit(part)
    assert editor.graph.get_collection("variables") == []
    assert [why for why in editor.source.notices if "'net/one/w:0'" in why]
    alone = tgw.edit(beside.subgraph({"x", "seen"}))
    assert run(alone, "seen:0", "x:0") == (2, 3)
    assert [why for why in alone.source.notices if why.startswith("'seen' had to be")]
    assert "_class" not in alone.graph.get_operation_by_name("seen").node_def.attr


def test_what_does_not_say_what_its_ops_are_is_refused_in_a_sentence(line: tf.Graph) -> None:
    good = tgw.edit(line).to_networkx()

    def without(node: str) -> nx.MultiDiGraph:
        made = good.copy()
        made.remove_node(node)
        return made

    named, edge, odd, broken = good.copy(), good.copy(), good.copy(), good.copy()
    named.add_node("new")
    edge.add_edge("a", "c")
    odd.nodes["a"]["node_def"] = b"\xff\xff"
    broken.graph["meta_graph_def"] = b"\xff\xff"
    bad = {
        "MultiDiGraph does not say": nx.MultiDiGraph([("a", "b")]),
        "networkx Graph does not say": nx.karate_club_graph(),
        "networkx DiGraph does not say": nx.DiGraph(good),
        "Op 'a' reads 2 tensors, and its networkx node has edges for 1: none for input 0": without(
            "x"
        ),
        "Node 'new' of the networkx graph has no 'node_def'": named,
        "The edge from 'a' to 'c' does not say": edge,
        "The 'node_def' of node 'a' is not a NodeDef": odd,
        "'meta_graph_def' is not a MetaGraphDef": broken,
    }
    for why, graph in bad.items():
        with pytest.raises(NotAGraph, match=why) as refused:
            tgw.edit(graph)
        assert "\n" not in refused.value.why

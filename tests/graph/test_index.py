"""The index: what it says is what the GraphDef says."""

from __future__ import annotations

import random

import numpy as np
import pytest
import tensorflow as tf

from tests.conftest import INCEPTION, v1
from tfgraphwidget.errors import UnknownName
from tfgraphwidget.graph.index import GraphIndex, build
from tfgraphwidget.graph.name_scopes import ScopeTree


def test_edges_are_those_of_the_graph(mlp: tf.Graph) -> None:
    index = build(mlp.as_graph_def().node)
    for i, op in enumerate(mlp.get_operations()):
        assert index.names[i] == op.name
        assert [index.names[s] for s in index.inputs.row(i)] == [t.op.name for t in op.inputs]
        assert {index.names[r] for r in index.consumers.row(i)} == {
            c.name for t in op.outputs for c in t.consumers()
        }
        assert [index.names[c] for c in index.controls.row(i)] == [
            c.name for c in op.control_inputs
        ]


def test_growing_gives_the_same_index_as_building(mlp: tf.Graph) -> None:
    nodes = list(mlp.as_graph_def().node)
    whole, grown = build(nodes), build(nodes[:9]).with_new_nodes(nodes[9:], {}, ())
    assert list(grown.names) == list(whole.names)
    for a, b in ((grown.inputs, whole.inputs), (grown.controls, whole.controls)):
        assert np.array_equal(a.start, b.start)
        assert np.array_equal(a.values, b.values)
    assert np.array_equal(grown.ports, whole.ports)


def test_an_index_says_whether_its_ops_stand_after_what_they_read_and_wait_for() -> None:
    nodes = [v1.NodeDef(name="a", op="NoOp"), v1.NodeDef(name="b", op="Relu", input=["a"])]
    nodes += [
        v1.NodeDef(name="c", op="Relu", input=["d"]),
        v1.NodeDef(name="d", op="Relu", input=["b", "^a"]),
    ]
    index = build(nodes)
    assert not index.is_sorted()
    assert index.is_sorted(3)
    assert not index.is_sorted(2)
    waiting = [
        v1.NodeDef(name="first", op="NoOp", input=["^last"]),
        v1.NodeDef(name="last", op="NoOp"),
    ]
    assert not build(waiting).is_sorted()
    assert build(waiting[::-1]).is_sorted()
    assert build([]).is_sorted()


def test_an_unknown_name_proposes_the_nearest(mlp: tf.Graph) -> None:
    with pytest.raises(UnknownName, match=r"no op 'logit'; did you mean 'net/logits'"):
        build(mlp.as_graph_def().node).op("logit")


def test_a_dangling_input_is_named() -> None:
    with pytest.raises(UnknownName, match="'a' reads 'gone:1'"):
        build([v1.NodeDef(name="a", op="Identity", input=["gone:1"])])


def test_every_scope_is_an_interval_over_its_ops() -> None:
    meta = v1.MetaGraphDef.FromString(INCEPTION.read_bytes())
    names = [node.name for node in meta.graph_def.node]
    tree = ScopeTree.build({name: i for i, name in enumerate(names)})
    for scope in range(1, len(tree.names), 7):
        prefix = tree.names[scope]
        expected = [i for i, n in enumerate(names) if n == prefix or n.startswith(f"{prefix}/")]
        assert tree.ops(scope).tolist() == expected


def test_an_op_with_a_scope_of_its_own_name_lies_inside_it() -> None:
    tree = ScopeTree.build({"w": 0, "w/read": 1})
    assert tree.own_ops(tree.scope("w")).tolist() == [0, 1]
    assert tree.own_ops(0).tolist() == []


def same(one: GraphIndex, other: GraphIndex) -> bool:
    """Whether two indexes say the same of ops and edges, what they found out already included."""
    arrays = [
        (getattr(one, name), getattr(other, name))
        for name in ("inputs", "controls", "consumers", "consumer_edges")
    ]
    return (
        (list(one.names), list(one.types), one.ids)
        == (list(other.names), list(other.types), other.ids)
        and list(one.nodes) == list(other.nodes)
        and np.array_equal(one.ports, other.ports)
        and one.kinds[0][one.kinds[1][0]] == one.types[0]
        and all(np.array_equal(a, b) for pair in arrays for a, b in zip(*pair, strict=True))
        and list(one.scopes.names) == list(other.scopes.names)
    )


def test_ops_that_read_others_give_the_same_index_as_building_it(mlp: tf.Graph) -> None:
    nodes = list(mlp.as_graph_def().node)
    index = build(nodes)
    assert index.ids  # what is known already is taken along
    assert index.scopes
    assert index.kinds
    relu = index.op("net/one/out")
    for inputs in (["x"], ["x", "^net/two/w", "^x"], ["net/two/add:0"], ["x", "x", "x"], []):
        for op_type in ("Relu", "Other"):
            node = type(nodes[relu])(name="net/one/out", op=op_type, input=inputs)
            changed = {
                relu: node,
                0: type(nodes[0])(name="x", op="Identity", input=["^net/logits"]),
            }
            assert same(
                index.with_changed_nodes(changed),
                build([changed.get(i, n) for i, n in enumerate(nodes)]),
            )
    assert same(index, build(nodes))


def test_taking_ops_out_gives_the_same_index_as_building_the_rest(mlp: tf.Graph) -> None:
    nodes = list(mlp.as_graph_def().node)
    index = build(nodes)
    gone = frozenset(["net/logits", "net/two/out"])
    assert same(index.without(gone), build([node for node in nodes if node.name not in gone]))
    assert "net/logits" in index.without(gone).reserved
    with pytest.raises(UnknownName, match=r"'net/logits' reads .*, which the edit removes"):
        index.without(frozenset(["net/two/out"]))


def test_an_op_cannot_be_made_to_read_what_is_not_there(mlp: tf.Graph) -> None:
    index = build(mlp.as_graph_def().node)
    with pytest.raises(UnknownName, match="reads 'gone'"):
        index.with_changed_nodes(
            {3: type(index.nodes[0])(name=index.names[3], op="Relu", input=["gone"])}
        )


def test_a_tree_of_scopes_that_gets_more_ops_is_the_tree_of_all_ops() -> None:
    for seed in range(50):
        chosen = random.Random(seed)
        parts = ["/".join(chosen.choices("abc", k=chosen.randrange(1, 4))) for _ in range(20)]
        ids = {name: i for i, name in enumerate(dict.fromkeys(parts))}
        first = chosen.randrange(len(ids) + 1)
        whole = ScopeTree.build(ids)
        grown = ScopeTree.build({name: i for name, i in ids.items() if i < first}).with_ops(
            [*ids][first:], ids
        )
        assert grown.names == whole.names
        for array in ("parent", "scope_of", "named", "order", "start", "stop"):
            assert getattr(grown, array).tolist() == getattr(whole, array).tolist(), (
                array,
                parts,
                first,
            )


def test_what_an_index_knows_of_types_and_scopes_it_knows_when_it_has_grown() -> None:
    def op(name: str, kind: str) -> v1.NodeDef:
        return v1.NodeDef(name=name, op=kind)

    index = build([op("w", "Const"), op("a/b", "Relu")])
    assert index.scopes.names == ["", "a"]
    assert index.kinds[0] == ["Const", "Relu"]
    grown = index.with_new_nodes([op("w/read", "Relu"), op("a", "Abs")], {}, ())
    assert {"scopes", "kinds"} <= grown.__dict__.keys()
    assert grown.scopes.names == ["", "a", "w"]
    assert grown.scopes.scope_of.tolist() == [2, 1, 2, 1]
    assert (grown.kinds[0], grown.kinds[1].tolist()) == (["Const", "Relu", "Abs"], [0, 1, 1, 2])

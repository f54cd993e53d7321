"""Names that another op has in the other graph: what is around an op tells which it is."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.graph.test_usual_changes import index_of, renamed
from tfgraphwidget.graph import GraphIndex, difference

GraphDef = Any


def layers(count: int, *, with_another: bool = False) -> GraphDef:
    """So many dense layers with the names that TensorFlow gives them; one more before them."""
    numbers = np.random.default_rng(0)
    extra = np.random.default_rng(1)

    def dense(x: Any, chance: np.random.Generator) -> Any:
        weights = tf.constant(chance.normal(size=[4, 4]).astype(np.float32))
        bias = tf.constant(chance.normal(size=[4]).astype(np.float32))
        return tf.nn.tanh(tf.nn.bias_add(tf.matmul(x, weights), bias))

    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        if with_another:
            x = dense(x, extra)
        for _ in range(count):
            x = dense(x, numbers)
        tf.identity(x, name="y")
    return graph.as_graph_def()


def pairs_of(before: GraphIndex, after: GraphIndex) -> dict[str, str]:
    """The names of all ops before -> after."""
    found = difference(before, after)
    others = {name for name in before.names if name not in found.removed}
    return {name: dict(found.renamed).get(name, name) for name in others}


def test_a_layer_in_front_shifts_all_numbers_and_is_the_one_difference() -> None:
    found = difference(index_of(layers(8)), index_of(layers(8, with_another=True)))
    assert len(found.added) == 5
    assert not found.removed
    assert len(found.changed) == 1
    assert found.changed[0].details[0].what == "input 0"


@pytest.mark.parametrize("seed", range(5))
def test_names_that_were_dealt_out_again_do_not_mislead(seed: int) -> None:
    graph_def = layers(8)
    names = [node.name for node in graph_def.node]
    shuffled = names[:]
    random.Random(seed).shuffle(shuffled)
    new_names = dict(zip(names, shuffled, strict=True))
    after = index_of(renamed(graph_def, new_names.__getitem__))
    assert pairs_of(index_of(graph_def), after) == new_names
    assert not difference(index_of(graph_def), after).changed


def test_pairs_say_what_shows_that_ops_are_one() -> None:
    graph_def = layers(3)
    new_names = {"MatMul": "product", "Tanh_1": "x/Tanh_1"}
    after = index_of(renamed(graph_def, lambda name: new_names.get(name, name)))
    evidence = {pair.was: pair.evidence for pair in difference(index_of(graph_def), after).pairs}
    assert evidence["BiasAdd"] == evidence["Tanh_1"] == "name"
    assert evidence["MatMul"] == "structure"
    assert len(evidence) == len(graph_def.node)


def test_a_caller_corrects_the_matching() -> None:
    def graph_def(first: str, second: str) -> GraphDef:
        with tf.Graph().as_default() as graph:
            x = v1.placeholder(tf.float32, [4], name="x")
            for name in (first, second):
                tf.nn.relu(x, name=name)
        return graph.as_graph_def()

    editor = tgw.edit(graph_def("c", "d"))
    assert not editor.diff(graph_def("a", "b")).renamed
    found = editor.diff(graph_def("a", "b"), pairs={"d": "a", "c:0": "b:0"})
    assert set(found.renamed) == {("a", "d"), ("b", "c")}
    assert {pair.name: pair.evidence for pair in found.pairs} == {
        "x": "name",
        "c": "hand",
        "d": "hand",
    }
    with pytest.raises(tgw.GraphEditError, match="has no op 'e'"):
        editor.diff(graph_def("a", "b"), pairs={"d": "e"})
    with pytest.raises(tgw.GraphEditError, match="pairs are of two models"):
        editor.diff(pairs={"d": "a"})


def test_an_edit_of_an_op_is_named_by_its_name() -> None:
    graph_def = layers(8)
    other = v1.GraphDef()
    other.CopyFrom(graph_def)
    next(node for node in other.node if node.name == "Tanh_3").op = "Sigmoid"
    found = difference(index_of(graph_def), index_of(other))
    assert [str(change) for change in found.changed] == ["Tanh_3: type Tanh → Sigmoid"]
    assert len(found) == 1

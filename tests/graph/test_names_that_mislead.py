"""Names that another op has in the other graph: what is around an op tells which it is."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.graph import changes
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
    found = difference(changes.index_of(layers(8)), changes.index_of(layers(8, with_another=True)))
    assert len(found.added) == 5
    assert not found.removed
    assert len(found.changed) == 1
    assert found.changed[0].details[0].what == "input 0"


@pytest.mark.parametrize("pairs", [None, {"x": "x"}])
def test_a_layer_in_front_of_a_small_network_is_the_one_difference_too(pairs: Any) -> None:
    """Most of so few ops have the name of another one, also where the caller knows some."""
    found = tgw.edit(layers(2, with_another=True)).diff(layers(2), pairs=pairs)
    assert len(found.added) == 5
    assert not found.removed
    assert [op.details[0].what for op in found.changed] == ["input 0"]


def test_all_tensors_of_a_small_network_are_compared_past_a_layer_in_front() -> None:
    editor = tgw.edit(layers(2, with_another=True))
    compared = editor.compare({"x:0": np.ones([2, 4], np.float32)}, layers(2), "all")
    assert compared.matched["Tanh_2:0"] == "Tanh_1:0"
    assert compared.first_divergence is not None
    assert compared.first_divergence.tensor == "MatMul_1:0"
    assert not compared["Const_2:0"].differs


def test_the_number_of_a_read_says_nothing_where_its_variable_is_known() -> None:
    """A layer of another precision reads its variables in another order."""

    def reads(order: str) -> GraphDef:
        with tf.Graph().as_default() as graph:
            x = v1.placeholder(tf.float32, [4], name="x")
            variables = {
                name: v1.get_variable(name, [4], use_resource=True) for name in sorted(order)
            }
            with tf.name_scope("norm" if order == "abcd" else "other/norm"):
                values = {name: variables[name].read_value() for name in order}
                y = (x - values["a"]) * values["b"] / values["c"] + values["d"]
            tf.identity(y, name="y")
        return graph.as_graph_def()

    found = tgw.edit(reads("bcda")).diff(reads("abcd"))
    assert not found.changed
    names = dict(found.renamed)
    assert names["norm/Read/ReadVariableOp"] == "other/norm/Read_3/ReadVariableOp"
    assert names["norm/Read_1/ReadVariableOp"] == "other/norm/Read/ReadVariableOp"


@pytest.mark.parametrize("seed", range(5))
def test_names_that_were_dealt_out_again_do_not_mislead(seed: int) -> None:
    graph_def = layers(8)
    names = [node.name for node in graph_def.node]
    shuffled = names[:]
    random.Random(seed).shuffle(shuffled)
    new_names = dict(zip(names, shuffled, strict=True))
    after = changes.index_of(changes.renamed(graph_def, new_names.__getitem__))
    assert pairs_of(changes.index_of(graph_def), after) == new_names
    assert not difference(changes.index_of(graph_def), after).changed


def test_pairs_say_what_shows_that_ops_are_one() -> None:
    graph_def = layers(3)
    new_names = {"MatMul": "product", "Tanh_1": "x/Tanh_1"}
    after = changes.index_of(changes.renamed(graph_def, lambda name: new_names.get(name, name)))
    evidence = {
        pair.was: pair.evidence for pair in difference(changes.index_of(graph_def), after).pairs
    }
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
    found = difference(changes.index_of(graph_def), changes.index_of(other))
    assert [str(change) for change in found.changed] == ["Tanh_3: type Tanh → Sigmoid"]
    assert len(found) == 1


def saved_layers(names: list[str], saved: list[int]) -> GraphDef:
    """Layers of equal shapes in a function, whose variables another function saves in an order of
    its own, with what TensorFlow calls these.
    """

    def weights(*handles: Any) -> Any:
        return [tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32) for handle in handles]

    count = len(names)
    spec = [tf.TensorSpec([], tf.resource)] * count
    call = tf.function(lambda *handles: tf.add_n(weights(*handles)[:-1]), autograph=False)
    save = tf.function(lambda *handles: tf.stack(weights(*handles)), autograph=False)
    with tf.Graph().as_default() as graph:
        handles = [
            tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[3], shared_name=name, name=name)
            for name in names
        ]
        for function, order in ((call, range(count)), (save, saved)):
            concrete = function.get_concrete_function(*spec)
            concrete.add_to_graph(graph)
            outputs = [output.dtype for output in concrete.outputs]
            tf.raw_ops.StatefulPartitionedCall(
                args=[handles[place] for place in order], Tout=outputs, f=concrete
            )
    graph_def = graph.as_graph_def()
    last = graph_def.node[-1].attr["f"].func
    new = "__inference__traced_save_7"
    for function in graph_def.library.function:
        if function.signature.name == last.name:
            function.signature.name = new
    last.name = new
    return graph_def


def test_the_order_in_which_variables_are_saved_says_nothing() -> None:
    before = changes.index_of(saved_layers(["dense/w", "dense_1/w", "dense_2/w"], [0, 1, 2]))
    after = changes.index_of(saved_layers(["dense_3/w", "dense_4/w", "dense_5/w"], [2, 0, 1]))
    found = difference(before, after)
    expected = {f"dense{k}/w": f"dense_{n}/w" for k, n in (("", 3), ("_1", 4), ("_2", 5))}
    assert dict(found.renamed) == expected
    assert not any(d.what.startswith("input") for op in found.changed for d in op.details)


def branches(order: list[int]) -> GraphDef:
    """Convolutions of one input, made in this order and joined in another, without bias."""
    with tf.Graph().as_default() as graph:
        x, made = v1.placeholder(tf.float32, [2, 8, 8, 3], name="x"), {}
        for place in order:
            kernel = np.random.default_rng(place).normal(size=[3, 3, 3, 4]).astype(np.float32)
            convolved = tf.nn.conv2d(x, tf.constant(kernel), 1, "SAME")
            made[place] = tf.nn.relu(tf.nn.bias_add(convolved, tf.zeros([4])))
        tf.identity(tf.concat([made[place] for place in sorted(made)], 3), name="y")
    return graph.as_graph_def()


def test_branches_that_are_made_in_another_order_are_known_by_their_weights() -> None:
    """So few ops are others that their names would count, as after an edit."""
    editor, before = tgw.edit(branches([3, 1, 0, 2])), branches([0, 1, 2, 3])
    found = editor.diff(before)
    assert not found.changed
    assert dict(found.renamed)["Conv2D_3"] == "Conv2D"
    compared = editor.compare({"x:0": np.ones([2, 8, 8, 3], np.float32)}, before, "all")
    assert not compared


def blocks(kept: list[int], swapped: bool = False) -> GraphDef:
    """Residual blocks with the weights of some numbers, named by their places."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2, 4], name="x")
        for place, number in enumerate(kept):
            seed = {2: 5, 5: 2}.get(number, number) if swapped else number
            w = np.random.default_rng(seed).normal(size=[4, 4]).astype(np.float32)
            with tf.name_scope(f"block{place}"):
                x = x + tf.nn.relu(tf.matmul(x, tf.constant(w, name="w")), name="r")
        tf.identity(x, name="y")
    return graph.as_graph_def()


def test_a_block_that_was_left_out_shifts_the_numbers_of_the_next_ones() -> None:
    every = list(range(8))
    found = tgw.edit(blocks(every[:3] + every[4:])).diff(blocks(every))
    assert len(found.removed) == 4
    assert not found.added
    assert not any(detail.what == "attr value" for op in found.changed for detail in op.details)
    assert ("block7/w", "block6/w") in found.renamed


@pytest.mark.parametrize("factor", [2.0, 3.0])
def test_calls_in_another_order_are_known_by_their_functions(factor: float) -> None:
    """TensorFlow counts them: "PartitionedCall_1" is the second, whatever it calls."""

    def calls(factor: float, *, is_scaled_first: bool) -> GraphDef:
        scaled = tf.function(lambda x: tf.nn.relu(x) * factor)
        squashed = tf.function(lambda x: tf.nn.tanh(x) + 1.0)
        with tf.Graph().as_default() as graph:
            x = v1.placeholder(tf.float32, [3], name="x")
            order = (scaled, squashed) if is_scaled_first else (squashed, scaled)
            results = {function: function(x) for function in order}
            tf.subtract(results[scaled], results[squashed], name="y")
        return graph.as_graph_def()

    before = calls(2.0, is_scaled_first=True)
    found = tgw.edit(calls(factor, is_scaled_first=False)).diff(before)
    assert dict(found.renamed) == {
        "PartitionedCall": "PartitionedCall_1",
        "PartitionedCall_1": "PartitionedCall",
    }
    assert not found.changed
    changed = [op.name for each in found.inside for op in each.difference.changed]
    assert changed == ([] if factor == 2.0 else ["mul/y"])


def test_weights_that_were_exchanged_are_named_by_their_names() -> None:
    found = tgw.edit(blocks(list(range(8)), swapped=True)).diff(blocks(list(range(8))))
    assert [op.name for op in found.changed] == ["block2/w", "block5/w"]
    assert not found.renamed


def test_a_variable_is_none_of_another_shape() -> None:
    def variables(numbers: tuple[int, int], sizes: tuple[int, int]) -> GraphDef:
        with tf.Graph().as_default() as graph:
            for number, size in zip(numbers, sizes, strict=True):
                handle = tf.raw_ops.VarHandleOp(
                    dtype=tf.float32, shape=[size], shared_name=f"d{number}/b", name=f"d{number}/b"
                )
                tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32, name=f"d{number}/r")
        return graph.as_graph_def()

    found = difference(
        changes.index_of(variables((1, 2), (3, 2))), changes.index_of(variables((3, 4), (2, 3)))
    )
    assert ("d1/b", "d4/b") in found.renamed
    assert ("d2/b", "d3/b") in found.renamed


def shared_layer(scope: str, order: tuple[int, int]) -> GraphIndex:
    """A layer with a norm on two inputs, called in an order."""
    draw = np.random.default_rng(0)
    kernel, mean, variance = (np.abs(draw.normal(size=[4, 4])) for _ in range(3))
    with tf.Graph().as_default() as graph, tf.name_scope(scope):
        weights = [tf.constant(value, tf.float32) for value in (kernel, mean[0], variance[0])]
        inputs = [v1.placeholder(tf.float32, [None, 4], name=name) for name in ("a", "b")]
        results: list[Any] = [None, None]
        for number in order:
            with tf.name_scope("shared"):
                y = tf.nn.relu(tf.matmul(inputs[number], tf.identity(weights[0]), name="call"))
            with tf.name_scope("norm"):
                scale = tf.math.rsqrt(tf.identity(weights[2]) + 1e-3)
                results[number] = y * scale - tf.identity(weights[1]) * scale
        gap = tf.subtract(*results, name="gap")
        tf.concat([*(results[number] for number in order), gap], 1, name="join")
    return changes.index_of(graph.as_graph_def())


@pytest.mark.parametrize("scope", ["net/", "web/net/"])
def test_calls_of_a_shared_layer_are_known_by_what_they_read(
    scope: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their numbers are those of the order in which Keras makes them: that of what reads them.
    In each process they are the same, whatever Python's hashes are.
    """
    graphs = shared_layer("net/", (0, 1)), shared_layer(scope, (1, 0))
    for salt in range(6):
        salted = partial(_salted_hash, salt)
        monkeypatch.setattr("tfgraphwidget.graph.op_matching.hash", salted, raising=False)
        found = difference(*graphs)
        assert [each.name for each in found.changed] == [f"{scope}join"]
        assert ("net/shared/call", f"{scope}shared_1/call") in found.renamed
        assert ("net/norm_1/sub", f"{scope}norm/sub") in found.renamed


def _salted_hash(salt: int, value: object) -> int:
    return hash((salt, value))


def test_an_activation_that_was_left_out_shifts_the_numbers_of_the_next_ones() -> None:
    def graph(*, has_second: bool) -> GraphIndex:
        with tf.Graph().as_default() as graph:
            x = v1.placeholder(tf.float32, [None, 4], name="x")
            branches = []
            for number in range(3):
                weights = np.random.default_rng(number).normal(size=[4, 4])
                y = tf.matmul(x, tf.constant(weights.astype(np.float32)))
                branches.append(tf.nn.relu6(y) if has_second or number != 1 else y)
            tf.concat(branches, 1, name="join")
        return changes.index_of(graph.as_graph_def())

    found = difference(graph(has_second=True), graph(has_second=False))
    assert found.removed == ("Relu6_1",)
    assert found.renamed == (("Relu6_2", "Relu6_1"),)
    assert [str(change) for change in found.changed] == ["join: input 1 Relu6_1:0 → MatMul_1:0"]


def test_what_one_optimizer_keeps_is_not_what_another_one_keeps() -> None:
    """Variables of other shapes at one place of a saver, and its ops of one number, are no pair."""

    def training(optimizer: Any) -> GraphIndex:
        with tf.Graph().as_default() as graph:
            w = v1.get_variable("w", [4, 3], use_resource=True)
            b = v1.get_variable("b", [3], use_resource=True)
            optimizer.minimize(tf.reduce_sum(tf.matmul(tf.ones([2, 4]), w) + b))
            v1.train.Saver()
        return changes.index_of(graph.as_graph_def())

    adam, momentum = v1.train.AdamOptimizer(0.1), v1.train.MomentumOptimizer(0.1, 0.9)
    before, after = training(adam), training(momentum)
    pairs = pairs_of(before, after)
    for was, now in pairs.items():
        if before.types[before.ids[was]] == "VarHandleOp":
            shapes = [
                index.nodes[index.ids[name]].attr["shape"]
                for index, name in ((before, was), (after, now))
            ]
            assert shapes[0] == shapes[1], (was, now)
    variables = [
        {
            name: index.names[index.input_lists[op][0]]
            for name, op in index.ids.items()
            if name.startswith("save/Assign")
        }
        for index in (before, after)
    ]
    for was, variable in variables[0].items():
        if variable in ("w", "b"):
            assert variables[1][pairs[was]] == variable

"""A graph and the same after an optimizer, beside a copy with other weights: equal constants are
one, constants have another shape, batch norms are in the weights; the copy is never a partner.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.conftest import v1
from tests.graph import changes
from tfgraphwidget.graph import difference

GraphDef = Any
DECOY = "decoy/"


def graph_of(build: Callable[[np.random.Generator, Any], Any]) -> GraphDef:
    """A graph of a picture."""
    with tf.Graph().as_default() as graph:
        image = v1.placeholder(tf.float32, [None, 8, 8, 4], name="image")
        tf.identity(build(np.random.default_rng(0), image), name="y")
    return graph.as_graph_def()


def weight(numbers: np.random.Generator, *sizes: int) -> Any:
    return tf.constant(numbers.normal(size=sizes).astype(np.float32))


def batch_norm(numbers: np.random.Generator, x: Any) -> Any:
    scale, shift, mean = (weight(numbers, 4) for _ in range(3))
    variance = tf.constant(numbers.uniform(1, 2, 4).astype(np.float32))
    return v1.nn.fused_batch_norm(x, scale, shift, mean, variance, is_training=False)[0]


def merged(graph_def: GraphDef) -> GraphDef:
    """The graph with the last of equal constants alone, as an optimizer leaves it."""
    copy = changes.copy_of(graph_def)
    constants = [node for node in copy.node if node.op == "Const"]
    kept = {node.attr["value"].SerializeToString(): node.name for node in constants}
    new = {node.name: kept[node.attr["value"].SerializeToString()] for node in constants}
    nodes = [node for node in copy.node if new.get(node.name, node.name) == node.name]
    for node in nodes:
        node.input[:] = [new.get(name, name) for name in node.input]
    result = v1.GraphDef()
    result.node.extend(nodes)
    return result


def pairs_beside_a_copy(before: GraphDef, after: GraphDef) -> dict[str, str]:
    """The names of ops before -> after, where names say nothing, but for those of the copy."""
    found = difference(
        changes.index_of(changes.renamed(before)),
        changes.index_of(changes.reordered(changes.with_decoy(after))),
    )
    names = {changes.new_name(node.name): node.name for node in before.node}
    return {names[pair.was]: pair.name for pair in found.pairs}


def sliced_pictures(numbers: np.random.Generator, image: Any) -> Any:
    """Many ops that read small constants, of which many are equal."""
    x = image
    for _ in range(3):
        size = tf.stack([tf.shape(x)[0], 64, 4])
        x = tf.reshape(tf.reshape(x, size) @ weight(numbers, 4, 4), [-1, 8, 8, 4])
        x = tf.reduce_sum(x, 3, keepdims=True) + tf.maximum(x, 0.0) * 0.5
    return x


def test_merged_constants_are_one_of_those_that_are_equal() -> None:
    before = graph_of(sliced_pictures)
    after = merged(before)
    pairs = pairs_beside_a_copy(before, after)
    values = {node.name: node.attr["value"] for node in before.node if node.op == "Const"}
    for name, other in pairs.items():
        assert other == name or values[other] == values[name]
    assert set(pairs.values()) == {node.name for node in after.node}


def test_a_constant_that_is_left_over_is_none_of_the_copy() -> None:
    """Of two equal constants one is left after the change, and so is one of the copy."""
    before = graph_of(lambda _, image: tf.maximum(image, 0.0) + tf.minimum(image, 0.0))
    pairs = pairs_beside_a_copy(before, merged(before))
    assert not any(name.startswith(DECOY) for name in pairs.values())


def test_constants_are_matched_in_another_shape() -> None:
    def convolutions(kernel: Callable[[np.random.Generator], Any]) -> GraphDef:
        def build(numbers: np.random.Generator, image: Any) -> Any:
            x = tf.reshape(image, [-1, 1, 64, 4])
            for _ in range(2):
                x = tf.nn.relu(tf.nn.conv2d(x, kernel(numbers), 1, "SAME"))
            return x

        return graph_of(build)

    before = convolutions(lambda numbers: tf.expand_dims(weight(numbers, 3, 4, 4), 0))
    after = convolutions(lambda numbers: weight(numbers, 1, 3, 4, 4))
    pairs = pairs_beside_a_copy(before, after)
    names = ["image", "Const", "Conv2D", "Relu", "Const_1", "Conv2D_1", "Relu_1", "y"]
    assert {name: pairs.get(name) for name in names} == {name: name for name in names}


def test_ops_are_matched_past_an_identity_of_several_tensors() -> None:
    def swish(*, with_identities: bool) -> GraphDef:
        def build(numbers: np.random.Generator, image: Any) -> Any:
            x = image
            for name in ("a", "b", "c"):
                x = tf.multiply(x, tf.sigmoid(x, name=f"{name}/gate"), name=f"{name}/swish")
                x = tf.identity_n([x, x])[0] if with_identities else x
            return tf.nn.conv2d(x, weight(numbers, 3, 3, 4, 4), 1, "SAME", name="last")

        return graph_of(build)

    pairs = pairs_beside_a_copy(swish(with_identities=True), swish(with_identities=False))
    expected = ["image", "last", *(f"{k}/{name}" for k in "abc" for name in ("gate", "swish"))]
    assert {name: pairs.get(name) for name in expected} == {name: name for name in expected}


def beside_a_copy_after_the_optimizer(before: GraphDef) -> tuple[GraphDef, dict[str, str]]:
    """What TensorFlow's optimizer leaves, and the names before -> after, see
    `pairs_beside_a_copy`.
    """
    after = changes.optimized(before)
    pairs = pairs_beside_a_copy(before, after)
    assert not any(name.startswith(DECOY) for name in pairs.values())
    return after, pairs


def types_of(graph_def: GraphDef) -> dict[str, str]:
    return {node.name: node.op for node in graph_def.node}


def test_kernels_are_matched_although_their_channels_are_scaled() -> None:
    """The branches have kernels of one shape, and the optimizer multiplies these by the scales."""
    branches = "abcd"

    def build(numbers: np.random.Generator, image: Any) -> Any:
        outputs = []
        for name in branches:
            x = tf.nn.conv2d(image, weight(numbers, 3, 3, 4, 4), 1, "SAME", name=f"{name}/conv")
            x = tf.multiply(x, weight(numbers, 4) * 3, name=f"{name}/scale")
            outputs.append(tf.nn.relu(tf.add(x, weight(numbers, 4), name=f"{name}/shift")))
        return tf.square(tf.add_n(outputs, name="sum"))

    before = graph_of(build)
    after, pairs = beside_a_copy_after_the_optimizer(before)
    types = types_of(after)
    assert "Mul" not in types.values()
    for name in branches:
        assert pairs[f"{name}/conv"] == f"{name}/scale"  # the name that the optimizer gives it
        assert types[f"{name}/scale"] == "Conv2D"
        assert pairs[f"{name}/shift"] == f"{name}/shift"


def test_kernels_that_differ_by_more_than_scales_are_not_matched_by_values() -> None:
    before = graph_of(
        lambda numbers, image: tf.nn.conv2d(image, 100 * weight(numbers, 3, 3, 4, 4), 1, "SAME")
    )
    then = changes.renamed(changes.with_other_weights(before), lambda name: f"a/{name}")
    found = difference(changes.index_of(changes.renamed(before)), changes.index_of(then))
    assert "values" not in {pair.evidence for pair in found.pairs}


@pytest.mark.parametrize("past", ["concatenation", "pooling"])
def test_ops_are_matched_past_an_activation_that_was_moved(past: str) -> None:
    def build(numbers: np.random.Generator, image: Any) -> Any:
        def layer(x: Any, name: str) -> Any:
            x = tf.nn.conv2d(x, weight(numbers, 3, 3, 4, 4), 1, "SAME", name=f"{name}/conv")
            return tf.add(x, weight(numbers, 4), name=f"{name}/shift")

        parts = [tf.nn.relu(layer(image, name), name=f"{name}/relu") for name in "ab"]
        if past == "concatenation":
            x = tf.concat(parts, 3, name="concatenation")[..., :4]
        else:
            x = tf.nn.max_pool2d(parts[0], 2, 2, "SAME", name="pooling")
        return layer(x, "last")

    before = graph_of(build)
    after, pairs = beside_a_copy_after_the_optimizer(before)
    inputs = {node.name: list(node.input) for node in after.node}
    assert any(past in inputs[name] for name in ("a/relu", "b/relu") if name in inputs)
    expected = [past, "a/conv", "a/shift", "last/conv", "last/shift"]
    assert {name: pairs.get(name) for name in expected} == {name: name for name in expected}
    errors = changes.corresponding_values(before, after)
    assert [names for names, error in errors.items() if error > 1e-3] == []
    assert f"{past}:0" in {was for was, _ in errors}


def test_of_equal_ops_that_an_optimizer_made_one_of_one_is_matched() -> None:
    def build(numbers: np.random.Generator, image: Any) -> Any:
        x = tf.nn.conv2d(image, weight(numbers, 3, 3, 4, 4), 1, "SAME")
        one, other = (tf.nn.avg_pool2d(x, 2, 1, "SAME", name=name) for name in ("one", "other"))
        return tf.sigmoid(one) - tf.square(other)

    before = graph_of(build)
    after, pairs = beside_a_copy_after_the_optimizer(before)
    (left,) = (name for name, op_type in types_of(after).items() if op_type == "AvgPool")
    assert [pairs.get(name) for name in ("one", "other")].count(left) == 1


@pytest.mark.parametrize("reads", ["the same", "two halves"])
def test_ops_of_which_one_is_as_good_as_the_other_are_matched_where_they_read_the_same(
    reads: str,
) -> None:
    """Two poolings that are added: which is which shows in what they read alone."""

    def build(numbers: np.random.Generator, image: Any) -> Any:
        x = tf.nn.conv2d(image, weight(numbers, 3, 3, 4, 4), 1, "SAME")
        halves = tf.split(x, 2, axis=1) if reads == "two halves" else (x, x)
        one, other = (
            tf.nn.avg_pool2d(half, 2, 1, "SAME", name=name)
            for half, name in zip(halves, ("one", "other"), strict=True)
        )
        return tf.add(one, other)

    before = graph_of(build)
    pairs = pairs_beside_a_copy(before, before)
    if reads == "the same":
        assert {pairs["one"], pairs["other"]} == {"one", "other"}
    else:
        assert (pairs.get("one", "one"), pairs.get("other", "other")) == ("one", "other")


def test_ops_are_matched_past_a_concatenation_that_is_part_of_another() -> None:
    """The optimizer makes one of both, in which the last input has another place."""

    def build(numbers: np.random.Generator, image: Any) -> Any:
        def layer(x: Any, name: str) -> Any:
            return tf.nn.conv2d(x, weight(numbers, 3, 3, 4, 4), 1, "SAME", name=name)

        words = v1.placeholder(tf.string, [None, 8, 8, 1], name="words")
        numbers_of_words = tf.strings.to_number(tf.strings.lower(words, name="lower"), name="read")
        inner = tf.concat([layer(image, "a"), layer(image, "b")], 3, name="inner")
        outer = tf.concat([inner, numbers_of_words], 3, name="outer")
        return layer(outer[..., 3:7], "last")

    before = graph_of(build)
    after, pairs = beside_a_copy_after_the_optimizer(before)
    assert "inner" not in types_of(after)
    expected = ["words", "lower", "read", "outer", "last"]
    assert {name: pairs.get(name) for name in expected} == {name: name for name in expected}


def test_a_batch_norm_and_its_activation_that_became_one_op_keep_their_weights() -> None:
    def build(numbers: np.random.Generator, image: Any) -> Any:
        x = image
        for _ in range(3):
            x = tf.nn.relu(batch_norm(numbers, tf.nn.max_pool2d(x, 2, 1, "SAME")))
            x = tf.nn.conv2d(x, weight(numbers, 3, 3, 4, 4), 1, "SAME")
        return x

    before = graph_of(build)
    after, pairs = beside_a_copy_after_the_optimizer(before)
    assert "_FusedBatchNormEx" in types_of(after).values()
    weights = {node.name for node in after.node if node.op == "Const"}
    assert weights <= set(pairs.values())


def test_branches_that_are_alike_are_told_apart_by_what_is_beside_them() -> None:
    """Both inputs of a sum are convolutions with a batch norm, and all weights are others."""

    def residual(numbers: np.random.Generator, image: Any) -> Any:
        def layer(x: Any) -> Any:
            return batch_norm(numbers, tf.nn.conv2d(x, weight(numbers, 3, 3, 4, 4), 1, "SAME"))

        x = layer(image)
        for _ in range(4):
            y = layer(x)
            x = tf.add(y, layer(tf.nn.relu6(layer(y))))
        x = tf.reshape(tf.nn.relu(x), [-1, 256])
        return x @ weight(numbers, 256, 3)

    before = graph_of(residual)
    after = changes.folded(before)
    names = {node.name for node in before.node if node.op in {"Conv2D", "Relu6", "AddV2"}}
    pairs = pairs_beside_a_copy(before, after)
    assert {name: pairs.get(name) for name in names} == {name: name for name in names}


def test_a_batch_norm_that_is_folded_is_none_of_the_copy() -> None:
    """The first batch norm is folded; the second one, behind an activation, stays."""

    def build(numbers: np.random.Generator, image: Any) -> Any:
        x = tf.nn.conv2d(image, weight(numbers, 3, 3, 4, 4), 1, "SAME")
        x = tf.nn.relu(batch_norm(numbers, x))
        return tf.nn.conv2d(
            tf.nn.relu(batch_norm(numbers, x)), weight(numbers, 3, 3, 4, 4), 1, "SAME"
        )

    before = graph_of(build)
    pairs = pairs_beside_a_copy(before, changes.folded(before))
    assert "FusedBatchNormV3" not in pairs
    assert pairs["FusedBatchNormV3_1"] == "FusedBatchNormV3_1"
    assert not any(name.startswith(DECOY) for name in pairs.values())


@pytest.mark.parametrize("number", [0.0, 1.0])
def test_constants_of_one_number_are_not_known_by_their_values(number: float) -> None:
    """A bias of zeros is a constant now, and another constant of zeros was there before."""

    filled = [number] * 8
    before = graph_of(lambda _, image: tf.reshape(image, [-1, 8]) + filled)
    after = graph_of(lambda _, image: tf.tanh(tf.reshape(image, [-1, 8])) / filled)
    found = difference(
        changes.index_of(changes.renamed(before)),
        changes.index_of(changes.renamed(after, lambda n: f"a/{n}")),
    )
    assert "values" not in {pair.evidence for pair in found.pairs}


def scaled_kernel(numbers: np.random.Generator, image: Any) -> Any:
    """A kernel that is computed from constants, and a constant that two ops have."""
    scale = tf.math.rsqrt(tf.abs(weight(numbers, 4)), name="scale")
    kernel = tf.multiply(tf.reshape(weight(numbers, 16), [4, 4]), scale, name="kernel")
    return tf.maximum(image @ kernel * 0.25, 0.0) * 0.25


def with_constant(graph_def: GraphDef, name: str, value: np.ndarray) -> GraphDef:
    """The graph with a constant in place of an op, without what only that needs."""
    copy = changes.copy_of(graph_def)
    node = next(node for node in copy.node if node.name == name)
    node.Clear()
    with tf.Graph().as_default() as graph:
        tf.constant(value, name=name)
    node.CopyFrom(graph.as_graph_def().node[0])
    return v1.graph_util.extract_sub_graph(copy, ["y"])


def test_what_an_optimizer_computes_and_merges_is_a_line_each() -> None:
    graph_def = graph_of(scaled_kernel)
    (kernel,) = changes.run(graph_def, ["kernel:0"], {})
    kernel = kernel.astype(np.float32)
    for value, is_right in ((kernel, True), (kernel * np.float32(1.001), False)):
        after = merged(with_constant(graph_def, "kernel", value))
        found = difference(changes.index_of(graph_def), changes.index_of(after))
        lines = [each.sentence for each in found.explained]
        merging = (
            "equal constants: 1 op reads another constant that is equal; 1 constant was removed"
        )
        if is_right:
            computed = "computed: 1 op became the constant that it gives"
            assert lines == [f"{computed}; 6 ops that only these need were left out", merging]
            assert not found.rest
        else:
            assert lines == [merging]
            assert [each.name for each in found.rest.changed] == ["kernel"]
            assert "scale" in found.rest.removed


def test_a_note_of_an_optimizer_is_no_difference() -> None:
    graph_def = graph_of(scaled_kernel)
    after = changes.copy_of(graph_def)
    after.node[-1].attr["_input_shapes"].list.shape.add()
    assert not difference(changes.index_of(graph_def), changes.index_of(after))


def test_what_grappler_folds_is_not_listed_op_by_op() -> None:
    graph_def = graph_of(scaled_kernel)
    found = difference(changes.index_of(graph_def), changes.index_of(changes.optimized(graph_def)))
    assert {each.change for each in found.explained} >= {"constants"}
    assert not {"kernel", "scale"} & {
        *found.rest.removed,
        *(each.name for each in found.rest.changed),
    }


def test_a_sum_is_matched_where_its_gradients_read_it_too() -> None:
    """What trains a network reads more of it than what it is frozen for."""

    def residual(*, is_training: bool) -> GraphDef:
        def build(numbers: np.random.Generator, x: Any) -> Any:
            kernels = [weight(numbers, 3, 3, 4, 4) for _ in range(3)]
            for kernel in kernels:
                x = x + tf.nn.conv2d(x, kernel, 1, "SAME")
            return tf.add_n(v1.gradients(x, kernels)) if is_training else x

        return graph_of(build)

    before = residual(is_training=True)
    after = changes.renamed(
        residual(is_training=False),
        lambda name: name if name == "image" else changes.new_name(name),
    )
    for node in after.node:  # the values are those of variables, which nothing is known of
        if node.op == "Const":
            value = np.zeros([size.size for size in node.attr["value"].tensor.tensor_shape.dim])
            node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value.astype(np.float32)))
    found = difference(changes.index_of(before), changes.index_of(after))
    sums = {pair.was: pair.name for pair in found.pairs if pair.was.startswith("add")}
    assert sums == {name: changes.new_name(name) for name in ("add", "add_1", "add_2")}


@pytest.mark.parametrize("second", [tf.add, tf.subtract])
def test_the_sum_of_two_constants_is_the_partner_of_neither(second: Any) -> None:
    def shifted(numbers: np.random.Generator, x: Any) -> Any:
        x = second(x + weight(numbers, 4), weight(numbers, 4))
        return tf.nn.relu(tf.nn.conv2d(x, weight(numbers, 3, 3, 4, 4), 1, "SAME"))

    before = graph_of(shifted)
    after = changes.optimized(before)
    assert sum(node.op in ("Add", "AddV2", "Sub") for node in after.node) == 1
    pairs = pairs_beside_a_copy(before, after)
    assert {name: pairs[name] for name in ("Conv2D", "Relu", "Const_2")} == {
        "Conv2D": "Conv2D",
        "Relu": "Relu",
        "Const_2": "Const_2",
    }
    assert not {"Const", "Const_1"} & pairs.keys()


def test_a_constant_with_another_value_is_the_same_one_where_no_op_is_gone() -> None:
    def shifted(first: float) -> GraphDef:
        return graph_of(lambda _, x: tf.nn.relu(x + [first] * 4 + [5.0] * 4))

    renamed = changes.renamed(shifted(2.0))
    found = difference(changes.index_of(shifted(1.0)), changes.index_of(renamed))
    assert not found.added
    assert not found.removed

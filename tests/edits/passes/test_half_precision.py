"""Casts to half precision, rounded and quantized weights: fewer bytes, and nearly the same
numbers.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.edits.passes.networks import NETWORKS, Network, network
from tests.nothing import says_nothing
from tfgraphwidget.errors import GraphEditError

v1 = tf.compat.v1


def weight(name: str, *shape: int) -> Any:
    return v1.get_variable(
        name, shape, initializer=v1.initializers.random_normal(stddev=0.1, seed=len(name))
    )


def residual(x: Any) -> Any:
    """Two residual blocks with fused batch normalizations, a mean and logits."""
    y = tf.nn.conv2d(tf.reshape(x, [-1, 2, 2, 1]), weight("stem", 1, 1, 1, 64), 1, "SAME")
    for block in range(2):
        norm = v1.nn.fused_batch_norm(
            y, tf.ones([64]), tf.zeros([64]), tf.zeros([64]), tf.ones([64]), is_training=False
        )
        y += tf.nn.conv2d(tf.nn.relu(norm[0]), weight(f"block{block}", 3, 3, 64, 64), 1, "SAME")
    return tf.nn.softmax(tf.matmul(tf.reduce_mean(y, [1, 2]), weight("logits", 64, 32)))


def encoder(x: Any) -> Any:
    """Two blocks of a BERT-like encoder: attention with a mask of -1e9, layer normalization,
    gelu.
    """
    y = tf.tensordot(x[:, :, None], weight("embedding", 1, 64), 1)
    mask = (1.0 - tf.ones([1, 1, 4])) * -1e9

    def normalize(value: Any) -> Any:
        mean, variance = tf.nn.moments(value, [-1], keepdims=True)
        return tf.nn.batch_normalization(value, mean, variance, None, None, 1e-12)

    for block in range(2):
        q, k, v = (
            tf.tensordot(y, weight(f"{name}{block}", 64, 64), 1)
            for name in ("query", "key", "value")
        )
        scores = tf.matmul(q, k, transpose_b=True) * 0.125 + mask
        y = normalize(y + tf.matmul(tf.nn.softmax(scores), v))
        wide = tf.tensordot(y, weight(f"wide{block}", 64, 256), 1)
        wide = wide * 0.5 * (1.0 + tf.math.erf(wide / tf.sqrt(2.0)))
        y = normalize(y + tf.tensordot(wide, weight(f"narrow{block}", 256, 64), 1))
    return y


@pytest.fixture(scope="module", params=[residual, encoder])
def model(request: pytest.FixtureRequest) -> tuple[Any, Network]:
    """A frozen GraphDef, and the network that it is of."""
    net = network(request.param)
    graph_def = net.graph.as_graph_def()
    return v1.graph_util.convert_variables_to_constants(net.session, graph_def, ["y"]), net


def size(editor: tgw.GraphEditor, folder: Path) -> int:
    return len(editor.save(folder / "saved.pb", verify=False).read_bytes())


@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 0.01), ("bfloat16", 0.2)])
def test_a_cast_halves_the_file_and_says_by_how_much_outputs_differ(
    model: tuple[Any, Network], dtype: Any, tolerance: float, tmp_path: Path
) -> None:
    graph_def, net = model
    editor = tgw.edit(graph_def)
    before = size(editor, tmp_path)
    report = editor.passes.cast(dtype, feeds=net.feeds)
    assert size(editor, tmp_path) < 0.6 * before
    assert any(note.startswith("Kept in float32: ") for note in report.notes)
    assert "y:0" in report.notes[-1]
    difference = editor.compare(net.feeds, tensors="y:0")
    assert difference["y:0"].dtypes == ("float32", "float32")
    assert difference.largest is not None
    assert 0 < difference.largest < tolerance
    says_nothing(editor.passes.cast(dtype), "can compute in")
    editor.undo()
    assert not editor.diff()


def rounded(graph_def: Any, half: set[str]) -> Any:
    """The graph in float32, but each tensor that an op of `half` reads or gives is rounded to
    float16.
    """
    result, floats = v1.GraphDef(), tgw.edit(graph_def)._core.index
    result.CopyFrom(graph_def)
    names = set[str]()
    for node in result.node:
        for k, name in enumerate(node.input):
            is_float = name in floats.ids and floats.dtypes(floats.ids[name]) == ("float32",)
            if is_float and (name in half or node.name in half):
                names.add(name)
                node.input[k] = f"{name}/rounded"
    for name in names:
        for new, source, before, after in (
            (f"{name}/half", name, 1, 19),
            (f"{name}/rounded", f"{name}/half", 19, 1),
        ):
            cast = result.node.add(name=new, op="Cast", input=[source])
            cast.attr["SrcT"].type, cast.attr["DstT"].type = before, after
    return result


def test_a_cast_computes_what_float32_does_on_rounded_tensors(model: tuple[Any, Network]) -> None:
    """So what it differs by is rounding alone, also where a deep network makes much of it."""
    graph_def, net = model
    editor = tgw.edit(graph_def)
    editor.passes.cast("float16")
    index = editor._core.index
    half = {
        name
        for op, name in enumerate(index.names)
        if "float16" in index.dtypes(op) and index.types[op] != "Cast"
    }
    difference = editor.compare(net.feeds, tensors="y:0").largest
    from_rounded = editor.compare(net.feeds, tensors="y:0", other=rounded(graph_def, half)).largest
    assert difference is not None
    assert from_rounded is not None
    assert from_rounded < 0.3 * difference


def test_ends_are_cast_on_demand(model: tuple[Any, Network]) -> None:
    editor = tgw.edit(model[0])
    editor.passes.cast("float16", boundary="cast")
    dtypes = {
        name: editor._core.index.dtypes(editor._core.index.op(name))[0] for name in ("x", "y")
    }
    assert dtypes == {"x": "float16", "y": "float16"}


def test_what_is_kept_stays_float32(model: tuple[Any, Network]) -> None:
    editor = tgw.edit(model[0])
    editor.passes.cast("float16", keep=["MatMul", "x"])
    products = editor.ops(type="MatMul").ops
    assert products
    assert {editor._core.index.dtypes(editor._core.index.op(op))[0] for op in products} == {
        "float32"
    }
    assert all(
        editor._core.index.dtypes(editor._core.index.op(op))[0] == "float32"
        for op in editor.ops(type="Softmax").ops
    )


@pytest.mark.parametrize("name", NETWORKS)
def test_each_network_runs_in_half_precision_on_a_live_graph(name: str) -> None:
    net = NETWORKS[name]()
    before, editor = net.run(), net.edit()
    try:
        editor.passes.cast("float16")
    except GraphEditError as error:
        pytest.fail(str(error))
    renamed = dict(editor.history.done[-1].patch.output_renames)
    fetches = [f"{renamed.get(output[:-2], output[:-2])}:0" for output in net.outputs]
    for one, other in zip(before, net.session.run(fetches, dict(net.feeds)), strict=True):
        assert one.dtype == other.dtype
        if one.dtype == np.float32:
            np.testing.assert_allclose(one, other, rtol=0.01, atol=0.01)
    editor.undo()
    for one, other in zip(before, net.run(), strict=True):
        np.testing.assert_array_equal(one, other)


def masked(x: Any) -> Any:
    """Attention in a loop, whose second row may see nothing: with -inf for -1e9 it would be NaN."""
    seen = tf.constant([[1.0, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]])
    mask = tf.reshape((1.0 - seen) * -1e9, [3, 4])

    def body(i: Any, y: Any, _: Any) -> Any:
        return i + 1, y + tf.nn.softmax(tf.nn.relu(y) + mask), tf.constant(1e9)

    return v1.while_loop(lambda i, *_: i < 2, body, [tf.constant(0), x, tf.constant(1.0)])[1:]


def test_a_loop_of_tensorflow_2_that_reads_a_large_number_stays_float32_and_says_so() -> None:
    net = network(lambda x: tf.nn.relu(masked(tf.nn.relu(x))[0]) * 2.0, control_flow_v2=True)
    editor = tgw.edit(net.graph.as_graph_def())
    report = editor.passes.cast("float16")
    assert any(
        "stay float32: they read numbers outside of float16" in note for note in report.notes
    )
    after = editor.compare(net.feeds, tensors=list(net.outputs))
    assert all(np.isfinite(each.largest) and each.largest < 0.02 for each in after)
    net = network(lambda x: tf.nn.softmax(tf.nn.relu(x) - masked(x)[1]), control_flow_v2=True)
    editor = tgw.edit(net.graph.as_graph_def())
    editor.passes.cast("float16")
    assert not any(each.largest for each in editor.compare(net.feeds, tensors=list(net.outputs)))


def test_a_mask_of_a_large_number_stays_float32_also_in_a_loop() -> None:
    net = network(masked)
    editor = tgw.edit(net.graph.as_graph_def())
    editor.passes.cast("float16")
    index = editor._core.index
    in_half = [op for op in range(len(index)) if index.dtypes(op)[:1] == ("float16",)]
    assert "Relu" in {index.types[op] for op in in_half}
    after = editor.compare(net.feeds, tensors=list(net.outputs))
    assert all(np.isfinite(each.largest) and each.largest < 0.02 for each in after)


def test_ops_without_a_kernel_for_half_precision_stay_float32() -> None:
    with tf.Graph().as_default() as graph:
        boxes = v1.placeholder(tf.float32, [5, 4], "boxes")
        scores = tf.nn.relu(v1.placeholder(tf.float32, [5], "scores"))
        tf.identity(tf.image.non_max_suppression(tf.nn.relu(boxes), scores, 2), "y")
    editor = tgw.edit(graph.as_graph_def())
    editor.passes.cast("float16")
    dtypes = {
        node.op: node.attr["T"].type
        for node in editor._core.index.nodes
        if node.op in ("Relu", "NonMaxSuppressionV3")
    }
    assert dtypes == {
        "Relu": tf.float16.as_datatype_enum,
        "NonMaxSuppressionV3": tf.float32.as_datatype_enum,
    }
    feeds = {
        "boxes:0": [[k, k, k + 1, k + 1] for k in range(5)],
        "scores:0": [0.1, 0.9, 0.2, 0.8, 0.3],
    }
    assert editor.compare(feeds, tensors="y:0")["y:0"].largest == 0


def test_quantized_weights_take_a_quarter_and_rounded_ones_compress(
    model: tuple[Any, Network], tmp_path: Path
) -> None:
    graph_def, net = model
    editor = tgw.edit(graph_def)
    before = size(editor, tmp_path)
    editor.passes.quantize_weights(feeds=net.feeds)
    assert size(editor, tmp_path) < 0.4 * before
    difference = editor.compare(net.feeds, tensors="y:0")
    assert difference.largest is not None
    assert 0 < difference.largest < 0.2
    says_nothing(editor.passes.quantize_weights(), "The graph has no float32 constant")
    editor.undo()
    compressed = [len(gzip.compress(editor.save(tmp_path / "saved.pb", verify=False).read_bytes()))]
    editor.passes.round_weights(4, feeds=net.feeds)
    compressed.append(
        len(gzip.compress(editor.save(tmp_path / "saved.pb", verify=False).read_bytes()))
    )
    assert compressed[1] < 0.5 * compressed[0]
    says_nothing(editor.passes.round_weights(4), "that 4 bits do not hold")


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda editor: editor.passes.cast("float64"), "the dtype must be 'float16' or 'bfloat16'"),
        (lambda editor: editor.passes.cast("float16", boundary="maybe"), "give 'keep' or 'cast'"),
        (lambda editor: editor.passes.round_weights(0), "give 1 to 16 bits"),
        (
            lambda editor: editor.passes.quantize_weights(minimum=0),
            "give a number of elements from 1 on",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(call: Callable[[Any], Any], why: str) -> None:
    editor = tgw.example()
    with pytest.raises(GraphEditError, match=why):
        call(editor)
    assert not editor.history.done


def test_weights_that_are_variables_are_left_with_the_way_to_constants() -> None:
    says_nothing(tgw.example().passes.quantize_weights(), "makes constants of the variables")

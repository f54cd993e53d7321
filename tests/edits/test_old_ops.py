"""Ops of old graphs come into new graphs, functions and converted models as ops of today that give
the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.graphs import old_graph
from tfgraphwidget.errors import NotClonable

v1, raw = tf.compat.v1, tf.raw_ops
NUMBERS = np.random.RandomState(0)


def numbers(*shape: int) -> np.ndarray:
    return NUMBERS.rand(*shape).astype(np.float32)


def symmetric(*batch: int) -> np.ndarray:
    """Matrices that are symmetric and positive definite."""
    half = NUMBERS.rand(*batch, 3, 3)
    return (half @ np.swapaxes(half, -1, -2) + 3 * np.eye(3)).astype(np.float32)


def batch_norm(*, is_scaled: bool) -> Callable[[tf.Tensor], tf.Tensor]:
    rest = {
        "m": numbers(3),
        "v": numbers(3),
        "beta": numbers(3),
        "gamma": numbers(3),
        "variance_epsilon": 0.01,
    }
    return lambda x: raw.BatchNormWithGlobalNormalization(
        t=x, scale_after_normalization=is_scaled, **rest
    )


def batch_norm_gradient(*, is_scaled: bool) -> Callable[[tf.Tensor], tuple[tf.Tensor, ...]]:
    rest = {"m": numbers(3), "v": numbers(3), "gamma": numbers(3), "backprop": numbers(2, 4, 4, 3)}
    return lambda x: raw.BatchNormWithGlobalNormalizationGrad(
        t=x, variance_epsilon=0.01, scale_after_normalization=is_scaled, **rest
    )


FILTER, CUBE = numbers(2, 2, 2, 3, 4), numbers(1, 4, 4, 4, 4)
RIGHT, LOWER, DIAGONAL = numbers(2, 3, 1), np.linalg.cholesky(symmetric(2)), numbers(2, 3)
CASES: dict[str, tuple[Callable[[tf.Tensor], object], np.ndarray]] = {
    "AdjustContrast": (
        lambda x: raw.AdjustContrast(images=x, contrast_factor=2.0, min_value=0.1, max_value=0.9),
        numbers(2, 4, 4, 3),
    ),
    "AdjustContrast of bytes": (
        lambda x: raw.AdjustContrast(
            images=x, contrast_factor=2.0, min_value=10.0, max_value=200.0
        ),
        (numbers(2, 4, 4, 3) * 255).astype(np.uint8),
    ),
    "BatchNormWithGlobalNormalization": (batch_norm(is_scaled=True), numbers(2, 4, 4, 3)),
    "BatchNormWithGlobalNormalization without gamma": (
        batch_norm(is_scaled=False),
        numbers(2, 4, 4, 3),
    ),
    "its gradient": (batch_norm_gradient(is_scaled=True), numbers(2, 4, 4, 3)),
    "its gradient without gamma": (batch_norm_gradient(is_scaled=False), numbers(2, 4, 4, 3)),
    "Conv3DBackpropFilter": (
        lambda x: raw.Conv3DBackpropFilter(
            input=x, filter=FILTER, out_backprop=CUBE, strides=[1] * 5, padding="SAME"
        ),
        numbers(1, 4, 4, 4, 3),
    ),
    "Conv3DBackpropInput": (
        lambda x: raw.Conv3DBackpropInput(
            input=CUBE[..., :3], filter=FILTER, out_backprop=x, strides=[1] * 5, padding="SAME"
        ),
        numbers(1, 4, 4, 4, 4),
    ),
    "SelfAdjointEig": (lambda x: raw.SelfAdjointEig(input=x), symmetric()),
    "BatchSelfAdjointEig": (lambda x: raw.BatchSelfAdjointEig(input=x), symmetric(2)),
    "BatchSelfAdjointEigV2": (lambda x: raw.BatchSelfAdjointEigV2(input=x), symmetric(2)),
    "BatchCholesky": (lambda x: raw.BatchCholesky(input=x), symmetric(2)),
    "BatchCholeskyGrad": (lambda x: raw.BatchCholeskyGrad(l=LOWER, grad=x), symmetric(2)),
    "BatchMatrixDeterminant": (lambda x: raw.BatchMatrixDeterminant(input=x), symmetric(2)),
    "BatchMatrixInverse": (lambda x: raw.BatchMatrixInverse(input=x, adjoint=True), symmetric(2)),
    "BatchMatrixSolve": (lambda x: raw.BatchMatrixSolve(matrix=x, rhs=RIGHT), symmetric(2)),
    "BatchMatrixTriangularSolve": (
        lambda x: raw.BatchMatrixTriangularSolve(matrix=x, rhs=RIGHT, lower=False),
        symmetric(2),
    ),
    "BatchSvd": (lambda x: raw.BatchSvd(input=x), symmetric(2)),
    "BatchMatrixBandPart": (
        lambda x: raw.BatchMatrixBandPart(
            input=x, num_lower=tf.constant(1, tf.int64), num_upper=tf.constant(0, tf.int64)
        ),
        symmetric(2),
    ),
    "BatchMatrixDiag": (lambda x: raw.BatchMatrixDiag(diagonal=x), numbers(2, 3)),
    "BatchMatrixDiagPart": (lambda x: raw.BatchMatrixDiagPart(input=x), numbers(2, 3, 3)),
    "BatchMatrixSetDiag": (
        lambda x: raw.BatchMatrixSetDiag(input=x, diagonal=DIAGONAL),
        numbers(2, 3, 3),
    ),
    "QuantizeAndDequantize": (
        lambda x: raw.QuantizeAndDequantize(
            input=x, num_bits=4, range_given=True, input_min=-0.5, input_max=0.5
        ),
        numbers(5, 5) - 0.5,
    ),
    "RandomPoisson": (
        lambda x: raw.RandomPoisson(shape=[5], rate=x, seed=1, seed2=2),
        numbers(2) * 5,
    ),
    "Sum over a matrix of axes": (lambda x: raw.Sum(input=x, axis=[[0]]), numbers(3, 2)),
    "Mean over axes that are computed": (
        lambda x: raw.Mean(input=x, axis=tf.reshape(tf.range(2), [1, 2]), keep_dims=True),
        numbers(3, 2),
    ),
}


def graph_of(
    compute: Callable[[tf.Tensor], object], value: np.ndarray
) -> tuple[v1.GraphDef, list[str]]:
    """A graph of version 1 that computes something of "x", and the names of the results."""

    def build() -> list[str]:
        x = v1.placeholder(value.dtype, None, name="x")
        return [tensor.name for tensor in tf.nest.flatten(compute(x))]

    return old_graph(1, build)


def run(
    graph_def: v1.GraphDef, fetches: list[str], feeds: dict[str, np.ndarray]
) -> list[np.ndarray]:
    """What plain TensorFlow computes."""
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        with v1.Session(graph=graph) as session:
            return session.run(fetches, feeds)


def new_graph_def() -> v1.GraphDef:
    with tf.Graph().as_default() as graph:
        v1.placeholder(tf.float32, [None], name="z")
    return graph.as_graph_def()


@pytest.mark.parametrize("case", CASES)
def test_an_old_op_gives_the_same_numbers_in_a_new_graph(case: str, tmp_path) -> None:
    compute, value = CASES[case]
    old, results = graph_of(compute, value)
    editor = tgw.edit(new_graph_def())
    editor.add(old, into="old")
    editor.save(tmp_path / "new.pb")
    written = v1.GraphDef.FromString((tmp_path / "new.pb").read_bytes())
    assert written.versions.producer == tf.version.GRAPH_DEF_VERSION
    here = run(written, [f"old/{name}" for name in results], {"old/x:0": value})
    for got, wanted in zip(here, run(old, results, {"x:0": value}), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


# TensorFlow has no kernel of these for the CPU any more.
@pytest.mark.parametrize(
    ("compute", "value", "wanted"),
    [
        (
            lambda x: raw.TopK(input=x, k=2),
            [[1, 3, 2], [6, 4, 5]],
            [[[3, 2], [6, 5]], [[1, 2], [0, 2]]],
        ),
        (lambda x: raw.TileGrad(input=x, multiples=[2, 3]), np.ones((4, 6)), [np.full((2, 2), 6)]),
        (
            lambda x: raw.BatchFFT(input=tf.cast(x, tf.complex64)),
            [[1, 2, 3, 4]],
            [np.fft.fft([[1, 2, 3, 4]])],
        ),
    ],
    ids=["TopK", "TileGrad", "BatchFFT"],
)
def test_an_old_op_without_a_kernel_runs_in_a_new_graph(compute, value, wanted, tmp_path) -> None:
    value = np.asarray(value, np.float32)
    old, results = graph_of(compute, value)
    editor = tgw.edit(new_graph_def())
    editor.add(old, into="old")
    editor.save(tmp_path / "new.pb")
    written = v1.GraphDef.FromString((tmp_path / "new.pb").read_bytes())
    here = run(written, [f"old/{name}" for name in results], {"old/x:0": value})
    for got, right in zip(here, wanted, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-5)


def test_an_old_op_in_a_loop_stays_in_it() -> None:
    def build() -> list[str]:
        normalize = batch_norm(is_scaled=True)
        with v1.variable_scope("loop"):
            x = v1.placeholder(tf.float32, [None, 4, 4, 3], name="x")
            _, result = v1.while_loop(
                lambda k, _: k < 3, lambda k, y: (k + 1, normalize(y)), [0, x]
            )
        return [result.name]

    v1.disable_control_flow_v2()
    old, results = old_graph(8, build)
    live = tf.Graph()
    with live.as_default():
        v1.placeholder(tf.float32, [None], name="z")
    with v1.Session(graph=live) as session:
        tgw.edit(live, session=session).add(old, into="old")
        value = numbers(2, 4, 4, 3)
        here = session.run(f"old/{results[0]}", {"old/loop/x:0": value})
    np.testing.assert_allclose(here, run(old, results, {"loop/x:0": value})[0], rtol=1e-5)


def test_a_placeholder_of_unknown_shape_stays_one_in_a_new_graph() -> None:
    old, _ = old_graph(21, lambda: v1.placeholder(tf.float32, (), name="x"))
    editor = tgw.edit(new_graph_def())
    editor.add(old, into="old")
    assert editor._core.index.shape(editor._core.index.ids["old/x"], 0) is None
    assert editor.session is None or editor.graph.get_tensor_by_name("old/x:0").shape.rank is None


def test_an_op_without_a_successor_is_refused_by_its_name() -> None:
    old, _ = graph_of(
        lambda x: raw.RandomCrop(image=x, size=tf.constant([2, 2], tf.int64)), numbers(4, 4, 3)
    )
    editor = tgw.edit(new_graph_def())
    with pytest.raises(
        NotClonable, match=r"Op 'RandomCrop' is of type 'RandomCrop', which TensorFlow ended at"
    ):
        editor.add(old, into="old")
    assert "old/x" not in editor._core.index.ids


def test_an_old_op_runs_in_a_function() -> None:
    old, results = graph_of(batch_norm(is_scaled=True), numbers(1, 2, 2, 3))
    function = tf.function(lambda a: a * 2).get_concrete_function(
        tf.TensorSpec([None, 2, 2, 3], name="a")
    )
    editor = tgw.edit(function)
    editor.add(old, into="old", connect={"x:0": "mul:0"})
    value = numbers(1, 2, 2, 3)
    results_here = tf.nest.flatten(editor.to_module()(tf.constant(value)))
    wanted = run(old, results, {"x:0": value * 2})[0]
    assert any(np.allclose(result, wanted, rtol=1e-5) for result in results_here)

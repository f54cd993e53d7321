"""FLOPs are those that TensorFlow's profiler counts."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.naming import words
from tfgraphwidget.runtime.measure.flops import COUNTED, flops

import_module("tensorflow.python.profiler.internal.flops_registry")  # fills the registry
REGISTERED = {
    name.removesuffix(",flops") for name in ops._stats_registry.list() if name.endswith(",flops")
}


def every_op() -> tf.Graph:
    """A graph with an op of each type that is counted, in several shapes."""
    raw = tf.raw_ops
    with tf.Graph().as_default() as graph:
        a, b = tf.ones([4, 6]), tf.ones([6])
        image, kernel = tf.ones([2, 8, 9, 3]), tf.ones([3, 2, 3, 5])
        for kind in ("Reciprocal", "Square", "Rsqrt", "Log", "Neg"):
            getattr(raw, kind)(x=a)
        for kind in words(
            "Add AddV2 Sub Mul RealDiv Maximum Minimum Pow SquaredDifference GreaterEqual Greater",
            "LessEqual Less Equal NotEqual",
        ):
            getattr(raw, kind)(x=a, y=b)
        raw.RsqrtGrad(y=a, dy=a)
        raw.Softmax(logits=a)
        raw.L2Loss(t=a)
        raw.AddN(inputs=[a, a, a])
        raw.BiasAdd(value=a, bias=b)
        raw.BiasAddGrad(out_backprop=a)
        for kind in ("Mean", "Sum"):
            getattr(raw, kind)(input=a, axis=[1], keep_dims=False)
        for kind in ("ArgMax", "ArgMin"):
            getattr(raw, kind)(input=a, dimension=0)
        variable = v1.get_variable("v", [4, 6], use_resource=False)
        raw.AssignAdd(ref=variable.op.outputs[0], value=a)
        raw.AssignSub(ref=variable.op.outputs[0], value=a)
        for transposed in (False, True):
            left = tf.transpose(a) if transposed else a
            raw.MatMul(a=left, b=tf.ones([6, 5]), transpose_a=transposed)
        stack = tf.stack([a, a])  # transposed, TensorFlow looks for an attribute of another name
        for kind in ("BatchMatMul", "BatchMatMulV2"):
            getattr(raw, kind)(x=stack, y=tf.ones([2, 6, 5]))
        raw.BatchMatMulV3(x=stack, y=tf.ones([2, 6, 5]), Tout=tf.float32)
        strides = [1, 2, 1, 1]
        convolved = raw.Conv2D(input=image, filter=kernel, strides=strides, padding="SAME")
        raw.Conv2DBackpropInput(
            input_sizes=[2, 8, 9, 3],
            filter=kernel,
            out_backprop=convolved,
            strides=strides,
            padding="SAME",
        )
        raw.Conv2DBackpropFilter(
            input=image,
            filter_sizes=[3, 2, 3, 5],
            out_backprop=convolved,
            strides=strides,
            padding="SAME",
        )
        raw.DepthwiseConv2dNative(input=image, filter=kernel, strides=[1, 2, 2, 1], padding="VALID")
        raw.Conv3D(
            input=tf.ones([1, 4, 5, 6, 2]),
            filter=tf.ones([2, 3, 2, 2, 7]),
            strides=[1] * 5,
            padding="SAME",
        )
        raw.Dilation2D(
            input=image,
            filter=tf.ones([3, 2, 3]),
            strides=strides,
            rates=[1, 1, 1, 1],
            padding="SAME",
        )
        window = {"ksize": [1, 3, 2, 1], "strides": strides, "padding": "SAME"}
        mean, top = raw.AvgPool(value=image, **window), raw.MaxPool(input=image, **window)
        raw.AvgPoolGrad(orig_input_shape=[2, 8, 9, 3], grad=mean, **window)
        raw.MaxPoolGrad(orig_input=image, orig_output=top, grad=top, **window)
    return graph


def test_each_type_is_counted_as_tensorflow_counts_it() -> None:
    graph = every_op()
    index = tgw.edit(graph)._core.index
    counted = dict(zip(index.names, flops(index), strict=True))
    compared = set()
    for op in graph.get_operations():
        if op.type in COUNTED:
            assert (
                counted[op.name] == ops.get_stats_for_node_def(graph, op.node_def, "flops").value
            ), op.name
            compared.add(op.type)
    assert compared == COUNTED == REGISTERED


def test_unknown_sizes_count_as_1_and_unknown_ranks_are_unknown() -> None:
    with tf.Graph().as_default() as graph:
        tf.matmul(v1.placeholder(tf.float32, [None, 3], name="x"), tf.ones([3, 5]), name="product")
        tf.matmul(v1.placeholder(tf.float32, [2, 3]), v1.placeholder(tf.float32), name="by_unknown")
        tf.square(v1.placeholder(tf.float32, name="y"), name="square")
        tf.matmul(tf.ones([2, 6, 4]), tf.ones([2, 6, 5]), transpose_a=True, name="transposed")
        tf.nn.avg_pool2d(tf.ones([1, 3, 8, 8]), 2, 2, "SAME", data_format="NCHW", name="pool")
    index = tgw.edit(graph)._core.index
    counted = dict(zip(index.names, flops(index), strict=True))
    assert counted["product"] == 2 * 3 * 5
    assert counted["transposed"] == 2 * 2 * 4 * 6 * 5
    assert counted["x"] == 0
    assert np.isnan([counted["square"], counted["pool"], counted["by_unknown"]]).all()

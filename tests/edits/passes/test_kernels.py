"""Constants folded by numpy are those that TensorFlow computes, bit for bit: also subnormals,
overflows, texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

import tfgraphwidget as tgw

v1 = tf.compat.v1
Function = Callable[[Any], Any]

FLOATS = [0.0, -0.0, np.nan, np.inf, -np.inf, 1e-40, 1.0, -3.5]
OF_FLOATS: Sequence[Function] = (
    *(tf.abs, tf.negative, tf.square, tf.sqrt, tf.exp, lambda a: a * a),
    *(lambda a: a + a[::-1], lambda a: a / a[::-1]),
    *(lambda a: tf.maximum(a, a[::-1]), lambda a: tf.minimum(a, a[::-1])),
    lambda a: tf.cast(a < a[::-1], tf.int32),
    *(lambda a: tf.equal(a, a[::-1]), lambda a: tf.cast(a, tf.float64)),
    lambda a: tf.cast(a, tf.float16),
    *(lambda a: tf.cast(a, tf.bfloat16), lambda a: tf.where(a > 0.0, a, -a)),
    lambda a: tf.cast(a * 1e-30 * 1e-10, tf.float64),
)  # fmt: skip
INTEGERS = [2147483647, -2147483648, -7, 7, 0, 1, -1, 3]
DIVISORS = [3, 3, 2, -2, 5, -3, 7, -3]
OF_INTEGERS: Sequence[Function] = (
    *(tf.abs, tf.negative, lambda a: a * a, lambda a: a + a, lambda a: a // tf.constant(DIVISORS)),
    *(lambda a: a % tf.constant(DIVISORS), lambda a: tf.cast(a, tf.float32)),
    lambda a: tf.cast(a, tf.int8),
    *(lambda a: tf.cast(a, tf.uint8), lambda a: tf.cast(a, tf.bool), tf.reduce_sum),
    *(tf.reduce_prod, tf.reduce_max),
    lambda a: tf.reduce_min(tf.reshape(a, [2, 4]), 1, True),
    lambda a: tf.reshape(a, [2, 2, 2])[1, ..., ::-1],
    *(lambda a: a[-3:-1], lambda a: a[::-2]),
    *(lambda _: tf.range(5, -6, -3), lambda _: tf.range(0, 0)),
    *(lambda a: a[tf.newaxis, 2:5, tf.newaxis], lambda a: tf.slice(a, [2], [-1])),
    lambda a: tf.gather(a, [1, 0]),
)  # fmt: skip
TEXTS = ["a", "b\x00c", "ü"]
OF_TEXTS: Sequence[Function] = (
    *(
        lambda a: a + a[::-1],
        lambda a: tf.concat([a, a], 0),
        lambda a: tf.equal(a, a[::-1]),
        tf.zeros_like,
    ),
    *(
        lambda a: tf.where([True, False, True], a, a[::-1]),
        lambda _: tf.fill([2], "q"),
        tf.strings.length,
    ),
)
COMPLEX = [1 + 2j, 3e-5 - 1e5j, 1e20 + 1e20j, 0.1 + 0.3j]
OF_COMPLEX: Sequence[Function] = (
    lambda a: a * a[::-1],
    lambda a: a / a[::-1],
    tf.abs,
    tf.square,
    lambda a: a + a,
)
OF_BYTES: Sequence[Function] = (lambda a: a + a, lambda a: a * a, tf.negative)


def test_what_is_folded_is_what_tensorflow_computes() -> None:
    constants: list[tuple[Any, Sequence[Function]]] = [
        *((tf.float32, FLOATS), (tf.int32, INTEGERS), (tf.string, TEXTS), (tf.complex64, COMPLEX)),
        *((tf.int8, [127, -128, 5, -5]), (tf.float16, [1.1, 2.2, 65504.0, 1e-7])),
    ]  # type: ignore[list-item]
    functions = (OF_FLOATS, OF_INTEGERS, OF_TEXTS, OF_COMPLEX, OF_BYTES, OF_BYTES)
    with tf.Graph().as_default() as graph:
        results = [
            function(tf.constant(values, dtype))
            for (dtype, values), group in zip(constants, functions, strict=True)
            for function in group
        ]
        names = [
            tf.raw_ops.Merge(inputs=[result]).output.op.inputs[0].name for result in results
        ]  # no end is folded
        with v1.Session() as session:
            expected = session.run(results)
    editor = tgw.edit(graph.as_graph_def())
    editor.passes.fold_constants()
    for name, array in zip(names, expected, strict=True):
        op = editor._core.index.op(name.partition(":")[0])
        assert editor._core.index.types[op] == "Const", name
        value = tf.make_ndarray(editor._core.index.nodes[op].attr["value"].tensor)
        assert (value.dtype, value.shape) == (array.dtype, array.shape), name
        assert (
            value.tolist() == array.tolist()
            if value.dtype == object
            else value.tobytes() == array.tobytes()
        ), name

"""The table of op types that TFLite has, held against its converter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tfgraphwidget.graph.op_types import FUNCTION_CALLS
from tfgraphwidget.lint.target_ops import ONNX, REFUSED_BY_TFLITE, TFLITE
from tfgraphwidget.sources import tf_protos

X = tf.TensorSpec([4, 4], tf.float32)

CALLS: dict[str, Callable[[Any], Any]] = {
    "Softsign": tf.nn.softsign, "Selu": tf.nn.selu, "Expm1": tf.math.expm1,
    "Lgamma": tf.math.lgamma,
    "Atan2": lambda x: tf.atan2(x, x), "DivNoNan": lambda x: tf.math.divide_no_nan(x, x),
    "Round": tf.round,
    "Erfinv": tf.math.erfinv, "Tan": tf.tan, "Asin": tf.asin, "Digamma": tf.math.digamma,
    "Cosh": tf.cosh,
    "Sinh": tf.sinh, "Acosh": tf.acosh, "Cholesky": tf.linalg.cholesky,
    "Igamma": lambda x: tf.math.igamma(x, x),
    "Cumprod": tf.math.cumprod, "MatrixBandPart": lambda x: tf.linalg.band_part(x, 1, 1),
}  # fmt: skip


@pytest.mark.parametrize("op_type", CALLS)
def test_the_table_says_what_the_converter_takes(op_type: str) -> None:
    function = tf.function(CALLS[op_type], autograph=False).get_concrete_function(X)
    assert op_type in {op.type for op in function.graph.get_operations()}
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function])
    try:
        converter.convert()
    except Exception:  # the converter raises errors of several kinds
        assert op_type not in TFLITE
    else:
        assert op_type in TFLITE
        assert op_type not in REFUSED_BY_TFLITE


def test_the_tables_name_op_types_that_there_are() -> None:
    for name in (TFLITE | ONNX | REFUSED_BY_TFLITE) - FUNCTION_CALLS:
        assert tf_protos.registered_op(name) is not None, name


def test_an_op_in_the_body_of_a_loop_is_found_at_the_op_that_calls_it() -> None:
    body = lambda i, a: (i + 1, tf.math.igamma(a, a))  # noqa: E731
    loop = tf.function(
        lambda x: tf.while_loop(lambda i, _: i < 3, body, [0, x])[1], autograph=False
    )
    editor = tgw.edit(loop, signature=[tf.TensorSpec([2], tf.float32)])
    (finding,) = editor.lint("onnx", only="no-kernel")
    assert "'Igamma'" in finding.sentence
    assert finding.ops == ("while",)

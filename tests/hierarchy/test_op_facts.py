"""The families of op types, which decide the colors of boxes."""

from __future__ import annotations

import pytest

from tfgraphwidget.hierarchy.op_facts import FAMILIES, family

pytestmark = pytest.mark.no_tensorflow


@pytest.mark.parametrize(
    ("op_types", "name"),
    [
        (("Conv2D", "CONV_2D", "TRANSPOSE_CONV", "onnx.Conv"), "linear"),
        (("MatMul", "FULLY_CONNECTED", "BATCH_MATMUL", "onnx.Gemm"), "linear"),
        (("Relu", "Sigmoid", "LOGISTIC", "HARD_SWISH", "onnx.Softmax"), "activation"),
        (("FusedBatchNormV3", "onnx.BatchNormalization", "LRN"), "normalization"),
        (("AvgPool", "AVERAGE_POOL_2D", "onnx.MaxPool"), "pooling"),
        (("AddV2", "ADD", "MUL", "onnx.Add", "onnx.ReduceMean", "onnx.Sum"), "arithmetic"),
        (("ConcatV2", "CONCATENATION", "RESHAPE", "onnx.Flatten", "onnx.Unsqueeze"), "shape"),
        (("While", "WHILE", "IF", "onnx.If"), "control"),
        (("FFT", "QUANTIZE", "com.example.Conv", "Unheard"), "other"),
    ],
)
def test_an_operator_of_a_converted_model_is_of_the_family_of_its_op(
    op_types: tuple[str, ...], name: str
) -> None:
    assert {op_type: FAMILIES[family(op_type)] for op_type in op_types} == dict.fromkeys(
        op_types, name
    )

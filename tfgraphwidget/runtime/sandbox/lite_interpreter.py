"""TensorFlow Lite's interpreter, as a job of the child process.

It runs without delegates, which keep no values of the tensors between their ops.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfgraphwidget.errors import SessionRefused
from tfgraphwidget.naming import names_text
from tfgraphwidget.sources import LiteModel, Quantization
from tfgraphwidget.tensorflow_modules import tf

Array = np.ndarray


def job(model: LiteModel, outputs: Sequence[str], feeds: Mapping[str, Array]) -> tuple[Any, ...]:
    """What to call in the child process to compute tensors of a model. Raises SessionRefused for
    one with ops of TensorFlow.
    """
    if model.tensorflow_ops:
        raise SessionRefused(
            f"{names_text(model.tensorflow_ops)}: an op of TensorFlow is not run in a TensorFlow "
            "Lite model; convert it with tf.lite.OpsSet.TFLITE_BUILTINS alone."
        )
    fed = {model.tensors[name]: value for name, value in feeds.items()}
    numbers = [model.tensors[name] for name in outputs]
    return (
        compute,
        model.data,
        fed,
        numbers,
        dict(model.quantized),
        model.signature,
        model.graph_number,
    )


def compute(
    data: bytes,
    feeds: Mapping[int, Array],
    numbers: Sequence[int],
    quantized: Mapping[int, Quantization],
    signature: str = "",
    graph_number: int = 0,
) -> list[Array]:
    """Run a model, whose inputs and tensors go by their numbers, and return tensors, `quantized`
    ones as the numbers that their integers represent. The signature is that of the graph, if it is
    not the first of the file.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the interpreter moves to another package
        interpreter = tf.lite.Interpreter(
            model_content=data,
            experimental_preserve_all_tensors=True,
            experimental_op_resolver_type=(
                tf.lite.experimental.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
            ),
        )
    if graph_number:
        _run_signature(interpreter, signature, feeds, quantized)
    else:
        _run_first_graph(interpreter, feeds, quantized)
    return [
        _as_read(interpreter.get_tensor(number, graph_number), quantized.get(number))
        for number in numbers
    ]


def _run_first_graph(
    interpreter: Any, feeds: Mapping[int, Array], quantized: Mapping[int, Quantization]
) -> None:
    """Run the first graph of a model, whose inputs take the shapes of the values."""
    inputs = {each["index"]: each for each in interpreter.get_input_details()}
    for number, value in feeds.items():
        if tuple(inputs[number]["shape"]) != value.shape:
            interpreter.resize_tensor_input(number, value.shape)
    interpreter.allocate_tensors()
    for number, value in feeds.items():
        dtype = inputs[number]["dtype"]
        interpreter.set_tensor(number, _as_fed(value, dtype, quantized.get(number)))
    interpreter.invoke()


def _run_signature(
    interpreter: Any,
    signature: str,
    feeds: Mapping[int, Array],
    quantized: Mapping[int, Quantization],
) -> None:
    """Run the graph of a signature, whose inputs take the shapes of the values."""
    runner = interpreter.get_signature_runner(signature)
    values = {}
    for name, details in runner.get_input_details().items():
        number, dtype = details["index"], details["dtype"]
        value = feeds.get(number, np.zeros(details["shape"], dtype))  # no tensor asked for needs it
        values[name] = _as_fed(value, dtype, quantized.get(number))
    runner(**values)


def _as_fed(value: Array, dtype: type, quantization: Quantization | None) -> Array:
    """A value as an input takes it: numbers that are not whole as the integers for them."""
    if quantization is None or not np.issubdtype(value.dtype, np.floating):
        return value.astype(dtype)
    limits = np.iinfo(dtype)
    integers = np.rint(value / quantization.scales[0]) + quantization.zero_points[0]
    return np.asarray(np.clip(integers, limits.min, limits.max), dtype)


def _as_read(value: Array, quantization: Quantization | None) -> Array:
    """What a tensor represents."""
    return value if quantization is None else quantization.to_numbers(value)

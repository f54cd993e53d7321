"""A run of a converted model by its own runtime, in a child process: a damaged one may end it.

TensorFlow Lite's interpreter runs without delegates, which keep no values of the tensors between
their ops.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from tfgraphwidget.errors import PackageMissing, SessionRefused
from tfgraphwidget.naming import names_text
from tfgraphwidget.optional_packages import missing_package
from tfgraphwidget.runtime.sandbox.child_process import RUNS
from tfgraphwidget.runtime.sandbox.sandbox import PATIENCE, call_apart
from tfgraphwidget.sources import LiteModel, OnnxModel, Quantization
from tfgraphwidget.tensorflow_modules import tf

Array = np.ndarray
ERRORS = 3  # of the levels of messages: what is less is not written
LONGEST_REASON = 400  # characters of what it says
_STATUS = re.compile(r"\A\[ONNXRuntimeError\] : \d+ : \w+ : ")


def run_converted_model(
    model: LiteModel | OnnxModel, outputs: Sequence[str], feeds: Mapping[str, object]
) -> list[Array]:
    """Compute tensors of a model; those of integers with a scale as what they represent.

    Raises:
        SessionRefused: A tensor is fed that is no input, or the model cannot run.
        PackageMissing: What runs it is not installed.
    """
    if others := [name for name in feeds if name not in model.inputs]:
        raise SessionRefused(
            f"{names_text(others)}: {model.runtime} is fed the inputs of a model alone; feed "
            f"{names_text(sorted(model.inputs))}."
        )
    fed = {name: np.asarray(value) for name, value in feeds.items()}
    if isinstance(model, LiteModel):
        job = _lite_job(model, outputs, fed)
    else:
        job = _onnx_job(model, outputs, fed)
    values: list[Array] = call_apart(lambda: RUNS.call(*job, seconds=PATIENCE))
    return values


def _lite_job(
    model: LiteModel, outputs: Sequence[str], feeds: Mapping[str, Array]
) -> tuple[Any, ...]:
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
        compute_lite,
        model.data,
        fed,
        numbers,
        dict(model.quantized),
        model.signature,
        model.graph_number,
    )


def compute_lite(
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


def _onnx_job(
    model: OnnxModel, outputs: Sequence[str], feeds: Mapping[str, Array]
) -> tuple[Any, ...]:
    """What to call in the child process to compute tensors of a model. Raises PackageMissing where
    ONNX Runtime is not installed.
    """
    if missing := missing_package("onnxruntime"):
        raise PackageMissing(f"The run of an ONNX model needs onnxruntime, {missing}.")
    fed = {model.tensors[name]: value for name, value in feeds.items()}
    return compute_onnx, model.data, fed, [model.tensors[name] for name in outputs]


def compute_onnx(data: bytes, feeds: Mapping[str, Array], tensors: Sequence[str]) -> list[Array]:
    """Run a model, op by op as the file has them: what joins ops would hide tensors."""
    onnx, runtime = import_module("onnx"), import_module("onnxruntime")
    model = onnx.load_model_from_string(data)
    is_elsewhere = onnx.external_data_helper.uses_external_data
    if elsewhere := [each.name for each in _tensors(model) if is_elsewhere(each)]:
        raise SessionRefused(
            f"{names_text(elsewhere)}: values of the ONNX model lie in another file, which is not "
            "next to it or is over 2 GB; save the model with its values."
        )
    dtypes = {
        each.name: onnx.helper.tensor_dtype_to_np_dtype(each.type.tensor_type.elem_type)
        for each in model.graph.input
        if each.name in feeds
    }
    fed = {name: np.asarray(value, dtypes[name]) for name, value in feeds.items()}
    computed = [name for name in tensors if name not in fed]
    results = {each.name for each in model.graph.output}
    model.graph.output.extend(
        onnx.ValueInfoProto(name=name) for name in dict.fromkeys(computed) if name not in results
    )
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = ERRORS
    try:
        session = runtime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        values = dict(zip(computed, session.run(computed or None, fed), strict=False))
    except Exception as error:  # the runtime's own exceptions have no base of their own
        why = " ".join(_STATUS.sub("", str(error)).split())[:LONGEST_REASON]
        raise SessionRefused(f"ONNX Runtime does not run the model: {why.rstrip('.')}.") from None
    return [np.asarray(fed[name] if name in fed else values[name]) for name in tensors]


def _tensors(part: Any) -> Iterator[Any]:
    """Every TensorProto in a message, whose file the runtime would open."""
    for field, value in part.ListFields():
        if field.message_type is None:
            continue
        for each in value if isinstance(value, Sequence) or hasattr(value, "add") else [value]:
            if field.message_type.name == "TensorProto":
                yield each
            else:
                yield from _tensors(each)

"""ONNX Runtime, as a job of the child process."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from tfgraphwidget.errors import PackageMissing, SessionRefused
from tfgraphwidget.naming import names_text
from tfgraphwidget.optional_packages import missing_package
from tfgraphwidget.sources import OnnxModel

Array = np.ndarray
ERRORS = 3  # of the levels of messages: what is less is not written
LONGEST_REASON = 400  # characters of what it says
_STATUS = re.compile(r"\A\[ONNXRuntimeError\] : \d+ : \w+ : ")


def job(model: OnnxModel, outputs: Sequence[str], feeds: Mapping[str, Array]) -> tuple[Any, ...]:
    """What to call in the child process to compute tensors of a model. Raises PackageMissing where
    ONNX Runtime is not installed.
    """
    if missing := missing_package("onnxruntime"):
        raise PackageMissing(f"The run of an ONNX model needs onnxruntime, {missing}.")
    fed = {model.tensors[name]: value for name, value in feeds.items()}
    return compute, model.data, fed, [model.tensors[name] for name in outputs]


def compute(data: bytes, feeds: Mapping[str, Array], tensors: Sequence[str]) -> list[Array]:
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

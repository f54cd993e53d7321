"""A run of a converted model by its own runtime, in a child process: a damaged one may end it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tfgraphwidget.errors import SessionRefused
from tfgraphwidget.naming import names_text
from tfgraphwidget.runtime.sandbox import lite_interpreter, onnx_runtime
from tfgraphwidget.runtime.sandbox.child_process import RUNS
from tfgraphwidget.runtime.sandbox.sandbox import PATIENCE, call_apart
from tfgraphwidget.sources import LiteModel, OnnxModel

Array = np.ndarray


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
    job = (
        lite_interpreter.job(model, outputs, fed)
        if isinstance(model, LiteModel)
        else onnx_runtime.job(model, outputs, fed)
    )
    values: list[Array] = call_apart(lambda: RUNS.call(*job, seconds=PATIENCE))
    return values

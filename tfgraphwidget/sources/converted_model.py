"""ConvertedModel: a model that was made of a TensorFlow graph, as what runs it takes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np


class Quantization(NamedTuple):
    """What integers represent: scale × (integer - zero point), for each part along an axis."""

    scales: np.ndarray
    zero_points: np.ndarray
    axis: int

    def to_numbers(self, integers: np.ndarray) -> np.ndarray:
        """The numbers that integers represent."""
        shape = [1] * integers.ndim
        if len(self.scales) > 1:
            shape[self.axis] = -1
        scales, points = (part.reshape(shape) for part in (self.scales, self.zero_points))
        return np.asarray((integers.astype(np.float64) - points) * scales, np.float32)

    def __str__(self) -> str:
        if len(self.scales) == 1:
            return f"{self.scales[0]:.6g} × (integer - {self.zero_points[0]})"
        return f"{len(self.scales)} scales along axis {self.axis}"


@dataclass(frozen=True)
class ConvertedModel:
    """A model in another format than TensorFlow's.

    Attributes:
        data: The bytes of the file.
        inputs: The tensors of its graph that are fed, "image:0".
        runtime: What runs it, as the subject of sentences.
        format: What it is: "ONNX model".
        made_by: What the file says of who made it and how; "" if it says nothing.
    """

    data: bytes = field(repr=False)
    inputs: frozenset[str]
    runtime: str
    format: str
    made_by: str

    def value(self, tensor: str, stored: np.ndarray) -> np.ndarray:  # noqa: ARG002  # of all models
        """What a constant represents, of which the graph has what the file stores."""
        return stored


@dataclass(frozen=True)
class LiteModel(ConvertedModel):
    """A TensorFlow Lite model.

    Attributes:
        tensors: The numbers of the tensors by their names in the graph, "conv:0".
        quantized: What the integers of tensors represent, by number.
        tensorflow_ops: The ops that are TensorFlow's own, which the interpreter does not run.
        signature: The name of the signature that the graph is of; "" where there is none to choose.
        graph_number: Which graph of the file it is.
    """

    tensors: Mapping[str, int] = field(repr=False)
    quantized: Mapping[int, Quantization] = field(repr=False)
    tensorflow_ops: tuple[str, ...] = ()
    signature: str = ""
    graph_number: int = 0

    def value(self, tensor: str, stored: np.ndarray) -> np.ndarray:
        """What a constant represents, of which the graph has the integers."""
        quantization = self.quantized.get(self.tensors[tensor])
        if quantization is None:
            return stored
        name = stored.dtype.names and stored.dtype.names[0]  # TensorFlow's dtypes of integers
        return quantization.to_numbers(stored[name] if name else stored)


@dataclass(frozen=True)
class OnnxModel(ConvertedModel):
    """An ONNX model.

    Attributes:
        tensors: The names of the tensors in the model by those in the graph.
    """

    tensors: Mapping[str, str] = field(repr=False)

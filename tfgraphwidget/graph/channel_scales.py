"""Scales and shifts of channels: what a layer gives after them, as weights and a shift of its own.

A batch norm after a convolution is y = s·w(x) + t by channel: the same as (s·w)(x) + t. So two
graphs, of which one has the batch norm folded into the weights, are compared by s·w and t.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph import op_types
from tfgraphwidget.graph.contraction import HandedOn
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op import dtype_name
from tfgraphwidget.graph.tensor_values import tensor_array
from tfgraphwidget.tf_types import NodeDef

Array = npt.NDArray[np.float64]
Tensor = tuple[int, int]
ReadVariable = Callable[[str], object]
"""Reads the value of the variable of a handle op; None where it has none."""

EPSILON = 1e-4  # of a FusedBatchNorm without the attribute
MOST_DEPTH = 32  # ops between a weight and the layer
# Rounding of weights that were scaled, in units of the last place of the coarser dtype.
UNITS = {"float16": 2.0**-10 * 8, "bfloat16": 2.0**-7 * 4}
FLOAT_UNITS = 2.0**-23 * 64

_ELEMENTWISE: dict[str, Callable[..., Array]] = {
    "Add": np.add,
    "AddV2": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "RealDiv": np.divide,
    "Sqrt": np.sqrt,
    "Rsqrt": lambda x: 1 / np.sqrt(x),
    "Neg": np.negative,
    "Square": np.square,
    "Abs": np.abs,
    "Maximum": np.maximum,
    "Minimum": np.minimum,
}


class UnknownValue(Exception):
    """A weight has no value here, or is computed in a way that is not followed."""


class ScaledLayer(NamedTuple):
    """What a layer gives after scales and shifts of its channels.

    Attributes:
        weights: Its weights times the scales; the last axis is that of the channels.
        shift: What is added to each channel.
        dtype: The coarsest dtype of the weights.
    """

    weights: Array
    shift: Array
    dtype: str


def agree(one: ScaledLayer, other: ScaledLayer) -> bool:
    """Whether two layers compute the same but for rounding."""
    tolerance = max(UNITS.get(layer.dtype, FLOAT_UNITS) for layer in (one, other))
    return _near(one.weights, other.weights, tolerance) and _near(one.shift, other.shift, tolerance)


def _near(one: Array, other: Array, tolerance: float) -> bool:
    """Whether numbers differ by rounding of the largest of their channel."""
    if one.size != other.size:
        return False
    rows, other_rows = (each.reshape(-1, each.shape[-1]) for each in (one, other))
    if rows.shape != other_rows.shape:
        return False
    scale = np.maximum(np.abs(rows).max(0, initial=0), np.abs(other_rows).max(0, initial=0))
    scale = np.maximum(scale, np.abs(scale).max(initial=0) * tolerance)
    return bool((np.abs(rows - other_rows) <= tolerance * scale).all())


def is_value_of(index: GraphIndex, op: int, constant: NodeDef) -> bool:
    """Whether a constant has the value, but for rounding, that an op computes from constants."""
    weights = _Weights(index, None)
    try:
        value, other = weights.value(op), weights.array(constant)
    except (UnknownValue, IndexError, ValueError):
        return False
    tolerance = UNITS.get(weights.dtype, FLOAT_UNITS) * np.abs(value).max(initial=0)
    return value.shape == other.shape and bool((np.abs(value - other) <= tolerance).all())


def scaled_layer(
    index: GraphIndex, past: HandedOn, tensor: Tensor, read: ReadVariable | None
) -> ScaledLayer:
    """What a tensor is of the layer that gives it past scales and shifts, which `past` hands on as
    it does identities and casts. Raises UnknownValue for a weight without a value, or where `read`
    is None, and an op that is no scale of channels.
    """
    weights = _Weights(index, read)
    layer, _ = past.root(tensor)
    try:
        kernel = weights.kernel(layer)
        channels = kernel.shape[-1]
        scale, shift = np.ones(channels), np.zeros(channels)
        for op in reversed(past.path(tensor)):
            scale, shift = weights.after(op, int(past.main[op]), scale, shift)
        return ScaledLayer(kernel * scale, shift, weights.dtype)
    except (IndexError, StopIteration, ValueError) as error:  # shapes that do not fit
        raise UnknownValue(index.names[layer]) from error


class _Weights:
    """The values of weights of a graph."""

    def __init__(self, index: GraphIndex, read: ReadVariable | None) -> None:
        self._index = index
        self._read = read
        self.dtype = "float32"
        self._has_channels_first = False

    def kernel(self, layer: int) -> Array:
        """The weights of a layer, with the channels that it gives on the last axis."""
        node = self._index.nodes[layer]
        if node.op not in op_types.FOLDABLE_LAYERS:
            raise UnknownValue(node.op)
        self._has_channels_first = _text(node, "data_format").startswith("NC")
        kernel = self.value(self._index.input_lists[layer][1])
        if node.op == "DepthwiseConv2dNative":
            return kernel.reshape(*kernel.shape[:2], -1)
        transposes = node.op == "MatMul" and _flag(node, "transpose_b")
        return kernel.T if transposes else kernel

    def after(self, op: int, main: int, scale: Array, shift: Array) -> tuple[Array, Array]:
        """The scale and the shift after one more op, which reads those before from `main`."""
        node, sources = self._index.nodes[op], self._index.input_lists[op]
        if node.op in op_types.PASSED_ON | op_types.CASTS:
            return scale, shift
        if node.op in op_types.FUSED_BATCH_NORMS:
            gamma, beta, mean, variance = map(self.value, sources[1:5])
            if node.attr.get("is_training") is None or _flag(node, "is_training"):
                raise UnknownValue(node.name)
            epsilon = node.attr.get("epsilon")
            factor = gamma / np.sqrt(variance + (EPSILON if epsilon is None else epsilon.f))
            return scale * factor, (shift - mean) * factor + beta
        weight = self._of_channels(op, next(each for each in sources if each != main), len(scale))
        if node.op == "Mul":
            return scale * weight, shift * weight
        if node.op in op_types.CHANNEL_SHIFTS:
            return scale, shift + weight
        if node.op == "Sub" and sources[0] == main:
            return scale, shift - weight
        if node.op == "Sub":
            return -scale, weight - shift
        raise UnknownValue(node.op)

    def _of_channels(self, op: int, weight: int, channels: int) -> Array:
        """A weight by channel. Raises UnknownValue for one that has another axis."""
        value = self.value(weight)
        is_bias = self._index.types[op].startswith("BiasAdd")
        axis = -3 if self._has_channels_first and not is_bias else -1
        sizes = (1,) * 3 + value.shape
        if value.size == 1 or (value.size == channels and sizes[axis] == channels):
            return value.ravel()
        raise UnknownValue(self._index.names[weight])

    def value(self, op: int, depth: int = 0) -> Array:
        """The value of a weight. Raises UnknownValue."""
        index = self._index
        node, sources = index.nodes[op], index.input_lists[op]
        if depth > MOST_DEPTH:
            raise UnknownValue(node.name)
        if node.op in op_types.CONSTANTS and "value" in node.attr:
            return self.array(node)
        if node.op in op_types.HANDLES:
            value = None if self._read is None else self._read(node.name)
            if value is None:
                raise UnknownValue(node.name)
            return np.asarray(value, np.float64)
        inner = [self.value(source, depth + 1) for source in sources[:2]]
        if node.op in op_types.PASSED_ON | {"Cast"} and inner:
            return inner[0]
        if node.op == "Reshape" and len(inner) > 1:
            return inner[0].reshape(inner[1].astype(int).tolist())
        if node.op == "ExpandDims" and len(inner) > 1:
            return np.expand_dims(inner[0], int(inner[1].item()))
        if node.op == "Squeeze" and inner:
            axes = node.attr.get("squeeze_dims")
            return np.squeeze(inner[0], None if axes is None else tuple(axes.list.i) or None)
        if node.op in _ELEMENTWISE and inner:
            return np.asarray(_ELEMENTWISE[node.op](*inner))
        raise UnknownValue(node.op)

    def array(self, node: NodeDef) -> Array:
        """The value of a constant."""
        proto = node.attr["value"].tensor
        dtype = dtype_name(proto, "dtype", proto.dtype)
        if dtype in UNITS:
            self.dtype = dtype
        try:
            return tensor_array(proto, dtype).astype(np.float64)
        except (KeyError, TypeError, ValueError) as error:
            raise UnknownValue(node.name) from error


def _flag(node: NodeDef, name: str) -> bool:
    """A truth value of an op; False where it has none."""
    value = node.attr.get(name)
    return value is not None and value.b


def _text(node: NodeDef, name: str) -> str:
    """A text of an op; "" where it has none."""
    value = node.attr.get(name)
    return "" if value is None else value.s.decode()

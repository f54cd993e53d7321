"""RoundWeights and QuantizeWeights: smaller files, by weights of fewer bits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, cast

import numpy as np

from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.edits.context import Array, PlanContext
from tfgraphwidget.edits.passes.whole_graph import GraphRewrite, Pass, control_inputs
from tfgraphwidget.edits.patch import Patch
from tfgraphwidget.edits.registry import register
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import CONSTANTS, HANDLES, GraphIndex, all_variables, tensor_values
from tfgraphwidget.naming import count_text, split_tensor
from tfgraphwidget.sentences import editor_call, either
from tfgraphwidget.tf_types import DataType, NodeDef

_FLOAT, _INT8 = cast("DataType.ValueType", 1), cast("DataType.ValueType", 6)  # DT_FLOAT, DT_INT8
_MINIMUM = 1024  # elements
_MOST_BITS = 16  # of a rounded weight


@register
@dataclass(frozen=True)
class RoundWeights(Pass):
    """Round each large float32 constant to 2^bits values, so that a compressed file is smaller.

    Args:
        bits: How many bits the values differ in.
        minimum: The smallest number of elements of a constant that is rounded.
        functions: Whether the functions that the graph calls are changed too.

    Returns:
        What was changed, and by how much at most.

    Raises:
        GraphEditError: `bits` or `minimum` is out of range.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.freeze("net/logits:0", "x:0")
        >>> editor.passes.round_weights(4, minimum=16).notes[0].partition(",")[0]
        '2 constants rounded'
    """

    method: ClassVar[str] = "passes.round_weights"

    bits: int = 8
    _: KW_ONLY
    minimum: int = _MINIMUM
    functions: bool = True

    def sentence(self) -> str:
        """What the edit has done, in words."""
        return f"Rounded weights to {self.bits} bits"

    def nothing(self, context: PlanContext) -> str:
        """Why there is nothing to do in the graph of `context`."""
        return _nothing(context.index, self.minimum, f"that {self.bits} bits do not hold")

    def rewrite(self, context: PlanContext) -> Patch | None:
        """The patch of `context`, a graph or body. Raises GraphEditError for wrong bits."""
        if type(self.bits) is not int or not 0 < self.bits <= _MOST_BITS:
            raise GraphEditError(
                f"round_weights({value_text(self.bits)}): give 1 to {_MOST_BITS} bits."
            )
        rewrite, largest, count = GraphRewrite(context), 0.0, 0
        for op, weights in _weights(context, "round_weights", self.minimum):
            rounded = _round(weights, self.bits)
            if not np.array_equal(rounded, weights):
                tensor_values.set_tensor(rewrite.node(op).attr["value"].tensor, rounded, _FLOAT)
                largest, count = max(largest, float(np.abs(rounded - weights).max())), count + 1
        if count:
            rewrite.notes.append(
                f"{count_text(count, 'constant')} rounded, by up to {largest:.3g}."
            )
        return rewrite.patch(prune=False)


@register
@dataclass(frozen=True)
class QuantizeWeights(Pass):
    """Store each large float32 constant as int8 with a scale and a zero point; the file takes a
    quarter.

    The constants are made floats where they are read, so that the graph computes as before, with
    these values.

    Args:
        minimum: The smallest number of elements of a constant that is quantized.
        per_channel: Whether each channel, the last dimension, has a scale and a zero point.
        functions: Whether the functions that the graph calls are changed too.

    Returns:
        What was changed, the sizes before and after, and by how much a weight differs at most.

    Raises:
        GraphEditError: `minimum` is not a number of elements.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.freeze("net/logits:0", "x:0")
        >>> editor.passes.quantize_weights(minimum=16, per_channel=False).notes[0].partition(";")[0]
        '2 constants: 224 → 72 bytes'
    """

    method: ClassVar[str] = "passes.quantize_weights"

    _: KW_ONLY
    minimum: int = _MINIMUM
    per_channel: bool = True
    functions: bool = True

    def sentence(self) -> str:
        """What the edit has done, in words."""
        return "Quantized weights to int8"

    def nothing(self, context: PlanContext) -> str:
        """Why there is nothing to do in the graph of `context`."""
        return _nothing(context.index, self.minimum, "of rank 2 or more")

    def rewrite(self, context: PlanContext) -> Patch | None:
        """The patch of `context`, one graph or body."""
        rewrite, largest, before, after, count = GraphRewrite(context), 0.0, 0, 0, 0
        for op, weights in _weights(context, "quantize_weights", self.minimum):
            if weights.ndim < 2:
                continue
            by_channel = self.per_channel and 8 * weights.shape[-1] < weights.size
            quantized, zero, scale = _quantize(weights, per_channel=by_channel)
            error = np.abs((quantized.astype(np.float32) - zero) * scale - weights)
            largest, count = max(largest, float(error.max())), count + 1
            before = before + weights.nbytes
            after = after + quantized.nbytes + zero.nbytes + scale.nbytes
            _dequantize(rewrite, op, quantized, zero, scale)
        if count:
            rewrite.notes.append(
                f"{count_text(count, 'constant')}: {before:,} → {after:,} bytes; values differ by "
                f"up to {largest:.3g}."
            )
        return rewrite.patch(prune=False)


def _nothing(index: GraphIndex, minimum: int, which: str) -> str:
    variables = any(kind in HANDLES for kind in index.types)
    way = (
        ("; " + editor_call("freeze", "") + " makes constants of the variables")
        if variables
        else ""
    )
    return (
        f"The graph has no float32 constant of {count_text(minimum, 'element')} {which}" + way + "."
    )


def _weights(context: PlanContext, method: str, minimum: int) -> Iterator[tuple[int, Array]]:
    """The large float32 constants, with their values; not those that hold one number over and over.

    A constant that a call passes to a function is one of the caller, which passes what becomes of
    it: a function that stored it too would make the file larger with each call
    (tests/edits/passes/test_weights_of_functions.py).
    """
    index, arguments = context.index, frozenset(context.arguments)
    if type(minimum) is not int or minimum < 1:
        raise GraphEditError(
            either(f"{method}(minimum={value_text(minimum)}): give", "Give")
            + " a number of elements from 1 on."
        )
    fixed = {split_tensor(v.initial_value or "")[0] for v in all_variables(index)}
    for op, node in enumerate(index.nodes):
        is_passed = f"{node.name}:0" in arguments
        if (
            node.op not in CONSTANTS
            or node.attr["dtype"].type != _FLOAT
            or node.name in fixed
            or is_passed
        ):
            continue
        proto = node.attr["value"].tensor
        shape = [dim.size for dim in proto.tensor_shape.dim]
        if np.prod(shape, dtype=np.float64) < minimum or proto.ByteSize() < 2 * np.prod(
            shape, dtype=np.float64
        ):
            continue
        try:
            values = tensor_values.tensor_array(proto, "float32")
        except ValueError:  # damaged
            continue
        if np.isfinite(values).all():
            yield op, values


def _round(weights: Array, bits: int) -> Array:
    low, high = float(weights.min()), float(weights.max())
    step = (high - low) / ((1 << bits) - 1)
    if not step:
        return weights
    return (low + np.rint((weights.astype(np.float64) - low) / step) * step).astype(np.float32)


def _quantize(weights: Array, *, per_channel: bool) -> tuple[Array, Array, Array]:
    """The int8 values, the zero point and the scale; 0 is exact."""
    axes = tuple(range(weights.ndim - 1)) if per_channel else None
    low = np.minimum(weights.min(axis=axes), 0.0).astype(np.float64)
    high = np.maximum(weights.max(axis=axes), 0.0).astype(np.float64)
    scale = np.where(high > low, (high - low) / 255.0, 1.0).astype(np.float32)
    zero = np.clip(np.rint(-128.0 - low / scale), -128, 127).astype(np.float32)
    values = np.clip(np.rint(weights / scale) + zero, -128, 127).astype(np.int8)
    return values, zero, scale


def _dequantize(
    rewrite: GraphRewrite, op: int, quantized: Array, zero: Array, scale: Array
) -> None:
    """Let a constant be the product of the scale and what is stored less the zero point."""
    node = rewrite.node(op)
    waits = [f"^{name}" for name in control_inputs(node)]

    def constant(part: str, value: Array, dtype: DataType.ValueType) -> NodeDef:
        new = rewrite.add(f"{node.name}/{part}", "Const", waits, node.device)
        new.attr["dtype"].type = dtype
        tensor_values.set_tensor(new.attr["value"].tensor, value, dtype)
        return new

    stored = constant("quantized", quantized, _INT8)
    floats = rewrite.add(f"{node.name}/float", "Cast", [stored.name], node.device)
    floats.attr["SrcT"].type = _INT8
    floats.attr["DstT"].type = _FLOAT
    floats.attr["Truncate"].b = False
    zero_point = constant("zero_point", zero, _FLOAT)
    centered = rewrite.add(
        f"{node.name}/centered", "Sub", [floats.name, zero_point.name], node.device
    )
    centered.attr["T"].type = _FLOAT
    factor = constant("scale", scale, _FLOAT)
    node.op = "Mul"
    for key in [key for key in node.attr if key not in ("_class", "_output_shapes")]:
        del node.attr[key]
    node.attr["T"].type = _FLOAT
    node.input[:] = [centered.name, factor.name]

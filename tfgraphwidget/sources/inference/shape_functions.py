"""Static shapes of the most frequent op types, from the shapes of their inputs, without TensorFlow.

A function here says what TensorFlow's shape function says (tensorflow/core/framework/
common_shape_fns.cc and tensorflow/core/ops), or nothing: for other op types, and for inputs whose
values are not constants (tests/sources/inference/test_shape_functions.py compares them). How
windows and strides make sizes: V. Dumoulin, F. Visin, "A guide to convolution arithmetic for deep
learning" (2016).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np

from tfgraphwidget.graph import (
    AXES_IN_A_VECTOR,
    CONSTANTS,
    SCALAR_PLACEHOLDERS,
    SHAPE_EQUIVALENTS,
    Shape,
    write_shape,
)
from tfgraphwidget.naming import words
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.tf_types import AttrValue, NodeDef, OpDef, TensorShapeProto

MAX_NUMBERS = 1024  # of a constant that shapes follow from
MAX_RANK = 254  # TensorFlow refuses a shape of more


class ShapesUnknown(Exception):
    """The static shapes of an op do not follow here."""


class ShapeMismatch(Exception):
    """An op cannot take tensors of these shapes, for the reason in the message."""


def output_shapes(
    node: NodeDef,
    definition: OpDef | None,
    shapes: Sequence[Shape],
    sources: Sequence[NodeDef | None],
    producer: int | None = None,
) -> tuple[Shape, ...] | None:
    """The static shape of each output of an op; None if they do not follow here.

    Args:
        sources: The ops that it reads them of, whose values may be constants.
        producer: The version of TensorFlow's graphs whose rules hold; None for the present one.

    Raises:
        ShapeMismatch: The op cannot take them; TensorFlow refuses it too.
    """
    function = _FUNCTIONS.get(SHAPE_EQUIVALENTS.get(node.op, node.op))
    if function is None or definition is None:
        return None
    try:
        return tuple(function(_Op(node, definition, shapes, sources, producer)))
    except (ShapesUnknown, LookupError, ValueError, TypeError, OverflowError):
        return None


def shape_from_proto(proto: TensorShapeProto) -> Shape:
    """The shape in a TensorShapeProto; None for an unknown rank."""
    if proto.unknown_rank or len(proto.dim) > MAX_RANK:
        return None
    return tuple(dim.size if dim.size >= 0 else None for dim in proto.dim)


def shape_proto(shape: Shape) -> TensorShapeProto:
    """The message of a static shape, as attributes of NodeDefs have it."""
    message: TensorShapeProto = tf_protos.AttrValue().shape
    write_shape(message, shape)
    return message


class _Op:
    """What a shape function reads of an op.

    Attributes:
        node: The NodeDef.
        shapes: The static shapes of its inputs.
        sources: The ops that give its inputs.
    """

    def __init__(
        self,
        node: NodeDef,
        definition: OpDef,
        shapes: Sequence[Shape],
        sources: Sequence[NodeDef | None],
        producer: int | None,
    ) -> None:
        self.node = node
        self.shapes = shapes
        self.sources = sources
        self._definition = definition
        self._producer = producer

    def is_of(self, version: int) -> bool:
        """Whether the graph is of this version of TensorFlow's graphs or a later one."""
        return self._producer is None or self._producer >= version

    def attr(self, name: str) -> AttrValue:
        """An attribute, or its default."""
        if name in self.node.attr:
            return self.node.attr[name]
        return next(each.default_value for each in self._definition.attr if each.name == name)

    def ints(self, name: str) -> list[int]:
        """An attribute that is a list of numbers."""
        return list(self.attr(name).list.i)

    @property
    def is_channels_first(self) -> bool:
        """Whether the channels of images come before their sizes."""
        return self.text("data_format") == "NCHW"

    def text(self, name: str) -> str:
        """An attribute that is a text."""
        return bytes(self.attr(name).s).decode()

    def dimensions(self, k: int, rank: int | None = None) -> tuple[int | None, ...]:
        """The shape of an input whose rank is known."""
        shape = self.shapes[k]
        if shape is None or (rank is not None and len(shape) != rank):
            raise ShapesUnknown
        return shape

    def value(self, k: int) -> np.ndarray:
        """The numbers of an input that is a constant."""
        source = self.sources[k]
        shape = self.dimensions(k)
        if source is None or source.op not in CONSTANTS or None in shape:
            raise ShapesUnknown
        if prod(size or 0 for size in shape) > MAX_NUMBERS:
            raise ShapesUnknown
        value = tf_protos.array_of(source.attr["value"].tensor)
        if value.dtype.kind not in "iu":
            raise ShapesUnknown
        return value

    def axis(self, k: int, rank: int) -> int:
        """A constant axis."""
        return _axis(int(self.value(k)), rank)


def _axis(axis: int, rank: int) -> int:
    """An axis that may count from the end, from the beginning."""
    if not -rank <= axis < rank:
        raise ShapesUnknown
    return axis % rank


# The functions of op types: each returns the shapes of the outputs of an op.


def _same(op: _Op) -> list[Shape]:
    return [op.shapes[0]]


def _with_rank(rank: int) -> Callable[[_Op], list[Shape]]:
    """The same shape, of at least a rank."""

    def same(op: _Op) -> list[Shape]:
        if len(op.dimensions(0)) < rank:
            raise ShapesUnknown
        return [op.shapes[0]]

    return same


def _dimension(a: int | None, b: int | None) -> int | None:
    """The size of two dimensions that are equal."""
    if a is not None and b is not None and a != b:
        raise ShapeMismatch(f"dimensions must be equal, but are {a} and {b}")
    return b if a is None else a


def _merge(a: Shape, b: Shape) -> Shape:
    """What is known of two shapes that are equal."""
    if a is None or b is None:
        return b if a is None else a
    if len(a) != len(b):
        raise ShapeMismatch(f"shapes must be of equal rank, but are {len(a)} and {len(b)}")
    return tuple(_dimension(x, y) for x, y in zip(a, b, strict=True))


def _broadcast_dimension(a: int | None, b: int | None) -> int | None:
    """The size of two dimensions of which one may be 1."""
    if a is not None and b is not None:
        if a != b and 1 not in (a, b):
            raise ShapeMismatch(f"dimensions must be equal, but are {a} and {b}")
        return b if a == 1 else a
    # A size over 1 is the result, whatever the other is; next to a size of 1, any may be.
    known_size = b if a is None else a
    return known_size if known_size is not None and known_size > 1 else None


def _broadcast_shapes(a: Shape, b: Shape) -> Shape:
    """The shape to which two shapes are broadcast, as in numpy."""
    if a is None or b is None:
        return None
    rank = max(len(a), len(b))
    pairs = zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True)
    return tuple(_broadcast_dimension(x, y) for x, y in pairs)


def _broadcast(op: _Op) -> list[Shape]:
    a, b = op.shapes
    return [_broadcast_shapes(a, b)]


def _equal(op: _Op) -> list[Shape]:
    name = "incompatible_shape_error"
    if name in op.node.attr and not op.node.attr[name].b:
        raise ShapesUnknown
    return _broadcast(op)


def _select(op: _Op) -> list[Shape]:
    condition = op.dimensions(0)
    values = _broadcast_shapes(op.dimensions(1), op.dimensions(2))
    return [_broadcast_shapes(condition, values)]


def _add_n(op: _Op) -> list[Shape]:
    shape = op.shapes[-1]
    for other in reversed(op.shapes[:-1]):
        shape = _merge(other, shape)
    return [shape]


def _merge_both(op: _Op) -> list[Shape]:
    return [_merge(op.shapes[0], op.shapes[1])]


def _bias_add(op: _Op) -> list[Shape]:
    shape = op.dimensions(0)
    (size,) = op.dimensions(1, 1)
    channel = 1 if op.is_channels_first else len(shape) - 1
    if len(shape) < (3 if op.is_channels_first else 2):
        raise ShapesUnknown
    return [(*shape[:channel], _dimension(shape[channel], size), *shape[channel + 1 :])]


def _mat_mul(op: _Op) -> list[Shape]:
    rows, inner = _matrix(op.shapes[0])
    other_inner, columns = _matrix(op.shapes[1])
    if op.attr("transpose_a").b:
        rows, inner = inner, rows
    if op.attr("transpose_b").b:
        other_inner, columns = columns, other_inner
    _dimension(inner, other_inner)
    return [(rows, columns)]


def _matrix(shape: Shape) -> tuple[int | None, ...]:
    """The two sizes of a matrix."""
    if shape is not None and len(shape) != 2:
        raise ShapeMismatch(f"shape must be rank 2 but is rank {len(shape)}")
    return (None, None) if shape is None else shape


def _batch_mat_mul(op: _Op) -> list[Shape]:
    a, b = op.dimensions(0), op.dimensions(1)
    if min(len(a), len(b)) < 2:
        raise ShapesUnknown
    rows, inner = a[-2:]
    other_inner, columns = b[-2:]
    if op.attr("adj_x").b:
        rows, inner = inner, rows
    if op.attr("adj_y").b:
        other_inner, columns = columns, other_inner
    _dimension(inner, other_inner)
    batch = _broadcast_shapes(a[:-2], b[:-2])
    assert batch is not None
    return [(*batch, rows, columns)]


def _window(size: int | None, window: int, stride: int, padding: str) -> int | None:
    """The number of places of a window along a dimension."""
    if size is None:
        return None
    if stride < 1 or window < 1 or padding not in ("SAME", "VALID"):
        raise ShapesUnknown
    if padding == "SAME":
        return -(-size // stride)  # rounded up
    if size < window:
        raise ShapesUnknown
    return (size - window) // stride + 1


def _channel(op: _Op) -> int:
    """The axis of the channels of images."""
    return 1 if op.is_channels_first else 3


def _first_spatial(op: _Op) -> int:
    """The first axis of the sizes of images."""
    return 2 if op.is_channels_first else 1


def _spatial(op: _Op, windows: Sequence[int | None], channels: int | None) -> Shape:
    """What a window of two dimensions gives of the first input."""
    shape = op.dimensions(0, 4)
    padding = op.text("padding")
    if op.text("data_format") not in ("NHWC", "NCHW"):
        raise ShapesUnknown
    if any(0 in (input_shape or ()) for input_shape in op.shapes):
        raise ShapesUnknown
    first = _first_spatial(op)
    strides = op.ints("strides")
    sizes: list[int | None] = []
    for axis, window in enumerate(windows, start=first):
        size = shape[axis]
        if window is None:
            # With padding, the number of places does not depend on the window.
            if padding != "SAME":
                size = None
            window = 1  # noqa: PLW2901
        sizes.append(_window(size, window, strides[axis], padding))
    return (shape[0], channels, *sizes) if op.is_channels_first else (shape[0], *sizes, channels)


def _dilate(op: _Op, filters: Sequence[int | None]) -> list[int | None]:
    """The sizes of filters with the gaps that dilations make in them."""
    first = _first_spatial(op)
    dilations = op.ints("dilations") or [1] * 4
    return [
        None if size is None else (size - 1) * rate + 1
        for size, rate in zip(filters[:2], dilations[first : first + 2], strict=True)
    ]


def _conv(op: _Op) -> list[Shape]:
    filters = op.dimensions(1, 4)
    _, _, filter_depth, channels = filters
    depth = op.dimensions(0, 4)[_channel(op)]
    has_groups = None not in (depth, filter_depth) and depth != filter_depth
    if op.ints("explicit_paddings") or has_groups:
        raise ShapesUnknown
    return [_spatial(op, _dilate(op, filters), channels)]


def _depthwise(op: _Op) -> list[Shape]:
    filters = op.dimensions(1, 4)
    _, _, filter_depth, multiplier = filters
    depth = _dimension(op.dimensions(0, 4)[_channel(op)], filter_depth)
    if op.ints("explicit_paddings") or depth is None or multiplier is None:
        raise ShapesUnknown
    return [_spatial(op, _dilate(op, filters), depth * multiplier)]


def _pool(op: _Op) -> list[Shape]:
    shape = op.dimensions(0, 4)
    first, channel = _first_spatial(op), _channel(op)
    windows, strides = op.ints("ksize"), op.ints("strides")
    # Over the batch or the channels, no window is shaped here.
    if any(values[axis] != 1 for values in (windows, strides) for axis in (0, channel)):
        raise ShapesUnknown
    return [_spatial(op, windows[first : first + 2], shape[channel])]


def _batch_norm(op: _Op) -> list[Shape]:
    shape = op.dimensions(0, 4)
    channel = _channel(op)
    size = shape[channel]
    # Scale and offset; and the mean and variance, which are not used in training.
    last = 2 if op.attr("is_training").b else 4
    for k in range(1, last + 1):
        size = _dimension(size, op.dimensions(k, 1)[0])
    normalized = (*shape[:channel], size, *shape[channel + 1 :])
    return [normalized, *[(size,)] * 4]


def _variable(op: _Op) -> list[Shape]:
    handle = op.sources[0]
    if handle is None or handle.op != "VarHandleOp":
        raise ShapesUnknown
    return [shape_from_proto(handle.attr["shape"].shape)]


def _assign_variable(op: _Op) -> list[Shape]:
    """No output, but TensorFlow does not import a value that does not fit the variable."""
    (shape,) = _variable(op)
    _merge(shape, op.shapes[1])
    return []


def _placeholder(op: _Op) -> list[Shape]:
    shape = shape_from_proto(op.attr("shape").shape)
    return [shape if shape != () or op.is_of(SCALAR_PLACEHOLDERS) else None]


def _stored_shape(op: _Op) -> list[Shape]:
    return [shape_from_proto(op.attr("shape").shape)]


def _constant(op: _Op) -> list[Shape]:
    return [shape_from_proto(op.attr("value").tensor.tensor_shape)]


def _scalar(op: _Op) -> list[Shape]:  # noqa: ARG001
    return [()]


def _nothing(op: _Op) -> list[Shape]:  # noqa: ARG001
    return []


def _shape_of(op: _Op) -> list[Shape]:
    return [(None,) if shape is None else (len(shape),) for shape in op.shapes]


def _sizes(sizes: np.ndarray) -> tuple[int | None, ...]:
    """A shape that is the value of an input; -1 for a size that is not known."""
    if sizes.ndim != 1 or (sizes < -1).any():
        raise ShapesUnknown
    return tuple(int(size) if size >= 0 else None for size in sizes)


def _fill(op: _Op) -> list[Shape]:
    sizes = _sizes(op.value(0))
    if None in sizes or any(shape != () for shape in op.shapes[1:]):
        raise ShapesUnknown
    return [sizes]


def _reshape(op: _Op) -> list[Shape]:
    sizes = list(_sizes(op.value(1)))
    shape = op.shapes[0]
    if sizes.count(None) > 1:
        raise ShapesUnknown
    if shape is None:
        return [tuple(sizes)]
    number = _product_of_known(shape)
    new_number = _product_of_known(sizes)
    if None in shape:
        if 0 in (*shape, *sizes):
            raise ShapesUnknown
        # The sizes that are not known must make up for the quotient.
        remainder = number % new_number if None in sizes else new_number % number
        if remainder:
            raise ShapesUnknown
    elif None in sizes:
        if not new_number or number % new_number:
            raise ShapesUnknown
        sizes[sizes.index(None)] = number // new_number
    elif number != new_number:
        raise ShapeMismatch(
            f"a tensor of {number} elements cannot be reshaped to {list(sizes)} ({new_number} "
            "elements)"
        )
    return [tuple(sizes)]


def _product_of_known(sizes: Sequence[int | None]) -> int:
    """The product of the sizes that are known."""
    return prod(size for size in sizes if size is not None)


def _expand(op: _Op) -> list[Shape]:
    shape = op.dimensions(0)
    axis = op.axis(1, len(shape) + 1)
    return [(*shape[:axis], 1, *shape[axis:])]


def _squeeze(op: _Op) -> list[Shape]:
    shape = op.dimensions(0)
    axes = {_axis(axis, len(shape)) for axis in op.ints("squeeze_dims")}
    if (not axes and None in shape) or any(shape[axis] not in (1, None) for axis in axes):
        raise ShapesUnknown
    if axes:
        return [tuple(size for axis, size in enumerate(shape) if axis not in axes)]
    return [tuple(size for size in shape if size != 1)]


def _transpose(op: _Op) -> list[Shape]:
    shape = op.dimensions(0)
    order = [int(axis) for axis in op.value(1).reshape(-1)]
    if sorted(order) != list(range(len(shape))):
        raise ShapesUnknown
    return [tuple(shape[axis] for axis in order)]


def _concat(op: _Op) -> list[Shape]:
    shapes = [op.dimensions(k) for k in range(len(op.shapes) - 1)]
    if len(shapes) < 2:
        raise ShapesUnknown
    axis = op.axis(len(shapes), len(shapes[0]))
    total: int | None = 0
    rest: Shape = shapes[0][:axis] + shapes[0][axis + 1 :]
    for shape in shapes:
        rest = _merge(rest, shape[:axis] + shape[axis + 1 :])
        size = shape[axis]
        total = None if total is None or size is None else total + size
    assert rest is not None
    return [(*rest[:axis], total, *rest[axis:])]


def _pack(op: _Op) -> list[Shape]:
    shape: Shape = op.dimensions(0)
    for k in range(1, len(op.shapes)):
        shape = _merge(shape, op.dimensions(k))
    assert shape is not None
    axis = _axis(op.attr("axis").i, len(shape) + 1)
    return [(*shape[:axis], len(op.shapes), *shape[axis:])]


def _reduce(op: _Op) -> list[Shape]:
    shape = op.dimensions(0)
    value = op.value(1)
    if value.ndim > 1 and op.is_of(AXES_IN_A_VECTOR):
        raise ShapesUnknown
    axes = {_axis(int(axis), len(shape)) for axis in value.reshape(-1)}
    if axes and op.attr("keep_dims").b:
        return [tuple(1 if axis in axes else size for axis, size in enumerate(shape))]
    return [tuple(size for axis, size in enumerate(shape) if axis not in axes)]


def _arg(op: _Op) -> list[Shape]:
    shape = op.dimensions(0)
    axis = op.axis(1, len(shape))
    return [shape[:axis] + shape[axis + 1 :]]


def _pad(op: _Op) -> list[Shape]:
    shape = op.dimensions(0)
    paddings = op.value(1)
    if paddings.shape != (len(shape), 2) or (paddings < 0).any():
        raise ShapesUnknown
    sizes: list[int | None] = []
    for size, before_and_after in zip(shape, paddings, strict=True):
        sizes.append(None if size is None else size + int(before_and_after.sum()))
    return [tuple(sizes)]


_UNARY = words(
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceil CheckNumerics Conj Cos Cosh Digamma Elu Erf Erfc",
    "Exp Expm1 Floor Identity Inv Invert IsFinite IsInf IsNan LeakyRelu Lgamma Log Log1p",
    "LogicalNot Neg OnesLike PreventGradient Real Reciprocal Relu Relu6 Rint Round Rsqrt Selu",
    "Sigmoid Sign Sin Sinh Snapshot Softplus Softsign Sqrt Square StopGradient Tan Tanh ZerosLike",
    "Cast",
)
_BINARY = words(
    "Add AddV2 Atan2 BitwiseAnd BitwiseOr BitwiseXor Div DivNoNan FloorDiv FloorMod Greater",
    "GreaterEqual Less LessEqual LogicalAnd LogicalOr Maximum Minimum Mod Mul MulNoNan Pow RealDiv",
    "SquaredDifference Sub TruncateDiv TruncateMod Xdivy Xlogy",
)
_GRADIENTS = ("EluGrad", "Relu6Grad", "ReluGrad", "SeluGrad", "SoftplusGrad", "SoftsignGrad")
_REDUCTIONS = ("All", "Any", "Max", "Mean", "Min", "Prod", "Sum")
_FUNCTIONS: Mapping[str, Callable[[_Op], Sequence[Shape]]] = {
    **dict.fromkeys(_UNARY, _same),
    **dict.fromkeys(_BINARY, _broadcast),
    **dict.fromkeys(_GRADIENTS, _merge_both),
    **dict.fromkeys(_REDUCTIONS, _reduce),
    **dict.fromkeys(("Equal", "NotEqual"), _equal),
    **dict.fromkeys(("Softmax", "LogSoftmax"), _with_rank(1)),
    "Placeholder": _placeholder,
    "VariableV2": _stored_shape,
    **dict.fromkeys(("VarHandleOp", "Size", "Rank", "VarIsInitializedOp"), _scalar),
    **dict.fromkeys(("Shape", "ShapeN"), _shape_of),
    **dict.fromkeys(("Fill", "RandomUniform", "RandomStandardNormal", "TruncatedNormal"), _fill),
    **dict.fromkeys(("BatchMatMulV2", "BatchMatMulV3"), _batch_mat_mul),
    **dict.fromkeys(("MaxPool", "AvgPool"), _pool),
    **dict.fromkeys(("FusedBatchNorm", "FusedBatchNormV2"), _batch_norm),
    **dict.fromkeys(("ArgMax", "ArgMin"), _arg),
    **dict.fromkeys(("Pad", "PadV2", "MirrorPad"), _pad),
    "AddN": _add_n,
    "AssignVariableOp": _assign_variable,
    "BiasAdd": _bias_add,
    "ConcatV2": _concat,
    "Const": _constant,
    "Conv2D": _conv,
    "DepthwiseConv2dNative": _depthwise,
    "ExpandDims": _expand,
    "MatMul": _mat_mul,
    "NoOp": _nothing,
    "Pack": _pack,
    "ReadVariableOp": _variable,
    "Reshape": _reshape,
    "SelectV2": _select,
    "Squeeze": _squeeze,
    "Transpose": _transpose,
}
INFERRED = frozenset(_FUNCTIONS)
"""The op types whose shapes are inferred here."""

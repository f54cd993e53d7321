"""Kernels: what common ops compute of constants, with numpy.

Each gives bit for bit what TensorFlow gives: they move elements, compute with integers and
booleans, and do the arithmetic of floats that IEEE 754 rounds in one way. All else is for
TensorFlow to compute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import EllipsisType

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph import DIVISIONS
from tfgraphwidget.tf_types import AttrValue

Array = np.ndarray
Attributes = Mapping[str, AttrValue]
Kernel = Callable[[Attributes, Sequence[Array]], "Array | Sequence[Array]"]

LARGE = 1 << 24
"""So many elements no kernel makes: of 8 bytes each, 128 MB."""


class TooLarge(ValueError):
    """A result would have more than `LARGE` elements."""


def _elementwise(function: Callable[..., Array]) -> Kernel:
    def compute(_: Attributes, values: Sequence[Array]) -> Array:
        if any(value.dtype.kind not in "biufO" or value.dtype == np.float16 for value in values):
            # TensorFlow multiplies complex and half-precision numbers in its own way
            raise NotImplementedError
        _check_size(np.broadcast_shapes(*(value.shape for value in values)))
        result = np.asarray(function(*values))
        if any(map(_has_subnormals, (*values, result))):
            raise NotImplementedError
        return result

    return compute


def _has_subnormals(value: Array) -> bool:
    """Whether some floats are so small that TensorFlow computes with zeros in their place."""
    if value.dtype.kind != "f":
        return False
    return bool(((value != 0) & (np.abs(value) < np.finfo(value.dtype).tiny)).any())


def _with_integers(function: Callable[..., Array]) -> Kernel:
    def compute(attributes: Attributes, values: Sequence[Array]) -> Array:
        if values[0].dtype.kind not in "biu":
            raise NotImplementedError
        if values[1].dtype.kind in "iu" and not values[1].all():
            raise ZeroDivisionError("division by zero")
        return _elementwise(function)(attributes, values)  # type: ignore[return-value]

    return compute


def _check_size(shape: Sequence[int]) -> None:
    if np.prod(np.asarray(shape, np.float64)) > LARGE:
        raise TooLarge(f"its result has the shape {tuple(int(size) for size in shape)}")


def _reshape(_: Attributes, values: Sequence[Array]) -> Array:
    return values[0].reshape(values[1].tolist())


def _expand_dims(_: Attributes, values: Sequence[Array]) -> Array:
    return np.expand_dims(values[0], int(values[1].reshape(-1)[0]))


def _squeeze(attributes: Attributes, values: Sequence[Array]) -> Array:
    axes = tuple(attributes["squeeze_dims"].list.i) if "squeeze_dims" in attributes else ()
    return np.squeeze(values[0], axes or None)


def _pack(attributes: Attributes, values: Sequence[Array]) -> Array:
    _check_size([sum(value.size for value in values)])
    return np.stack(values, int(attributes["axis"].i) if "axis" in attributes else 0)


def _unpack(attributes: Attributes, values: Sequence[Array]) -> Sequence[Array]:
    axis = int(attributes["axis"].i) if "axis" in attributes else 0
    return [np.ascontiguousarray(part) for part in np.moveaxis(values[0], axis, 0)]


def _concat(_: Attributes, values: Sequence[Array]) -> Array:
    _check_size([sum(value.size for value in values[:-1])])
    return np.concatenate([*values[:-1]], int(values[-1]))


def _old_concat(_: Attributes, values: Sequence[Array]) -> Array:
    _check_size([sum(value.size for value in values[1:])])
    return np.concatenate([*values[1:]], int(values[0]))


def _split(attributes: Attributes, values: Sequence[Array]) -> Sequence[Array]:
    return np.split(values[1], int(attributes["num_split"].i), int(values[0]))


def _transpose(_: Attributes, values: Sequence[Array]) -> Array:
    return np.ascontiguousarray(np.transpose(values[0], values[1].tolist()))


def _tile(_: Attributes, values: Sequence[Array]) -> Array:
    _check_size(
        [size * times for size, times in zip(values[0].shape, values[1].tolist(), strict=True)]
    )
    return np.tile(values[0], values[1].tolist())


def _fill(_: Attributes, values: Sequence[Array]) -> Array:
    shape = values[0].tolist()
    _check_size(shape)
    return np.full(shape, values[1].reshape(()), values[1].dtype)


def _broadcast_to(_: Attributes, values: Sequence[Array]) -> Array:
    shape = values[1].tolist()
    _check_size(shape)
    return np.broadcast_to(values[0], shape)


def _range(_: Attributes, values: Sequence[Array]) -> Array:
    start, limit, delta = values
    if start.dtype.kind not in "iu":
        raise NotImplementedError  # TensorFlow adds the step again and again
    if not int(delta):
        raise ZeroDivisionError("a range of step 0")
    _check_size([max(0, (int(limit) - int(start)) // int(delta))])
    return np.arange(int(start), int(limit), int(delta), dtype=start.dtype)


def _slice(_: Attributes, values: Sequence[Array]) -> Array:
    value, begins, sizes = values[0], values[1].tolist(), values[2].tolist()
    for length, begin, size in zip(value.shape, begins, sizes, strict=True):
        if begin < 0 or size < -1 or begin + max(size, 0) > length:
            raise IndexError(f"a slice from {begin} of size {size} of a dimension of {length}")
    return value[
        tuple(slice(b, None if n == -1 else b + n) for b, n in zip(begins, sizes, strict=True))
    ]


def _strided_slice(attributes: Attributes, values: Sequence[Array]) -> Array:
    value, begin, end, strides = values
    names = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    masks = {name: int(attributes[name].i) if name in attributes else 0 for name in names}
    index: list[int | slice | EllipsisType | None] = []
    for k in range(begin.size):
        bit = 1 << k
        if masks["ellipsis_mask"] & bit:
            index.append(Ellipsis)
        elif masks["new_axis_mask"] & bit:
            index.append(np.newaxis)
        elif masks["shrink_axis_mask"] & bit:
            index.append(int(begin[k]))
        else:
            first = None if masks["begin_mask"] & bit else int(begin[k])
            last = None if masks["end_mask"] & bit else int(end[k])
            index.append(slice(first, last, int(strides[k])))
    return np.asarray(value[tuple(index)])


def _gather(attributes: Attributes, values: Sequence[Array]) -> Array:
    if "batch_dims" in attributes and attributes["batch_dims"].i:
        raise NotImplementedError
    axis = int(values[2]) if len(values) > 2 else 0
    where, length = values[1], values[0].shape[axis]
    if where.size and (where.min() < 0 or where.max() >= length):
        raise IndexError(f"an index outside of a dimension of {length}")
    _check_size([where.size, *values[0].shape[:axis], *values[0].shape[axis + 1 :]])
    return np.take(values[0], where, axis)


_NUMBERS = "fiub"


def _cast(dtype: npt.DTypeLike) -> Kernel:
    def compute(_: Attributes, values: Sequence[Array]) -> Array:
        value, to = values[0], np.dtype(dtype)
        is_exact = value.dtype.kind in _NUMBERS and to.kind in _NUMBERS
        if not is_exact or (value.dtype.kind == "f" and to.kind != "f"):
            # of a float outside of the integers TensorFlow makes what the machine makes
            raise NotImplementedError
        result = value.astype(to)
        if _has_subnormals(value) or _has_subnormals(result):
            raise NotImplementedError
        return result

    return compute


def _reduce(function: Callable[..., Array]) -> Kernel:
    def compute(attributes: Attributes, values: Sequence[Array]) -> Array:
        if values[0].dtype.kind not in "biu":
            raise NotImplementedError  # the sum of floats depends on the order of its terms
        keeps = "keep_dims" in attributes and attributes["keep_dims"].b
        axes = tuple(values[1].reshape(-1).tolist())
        return np.asarray(function(values[0], axis=axes, keepdims=keeps)).astype(values[0].dtype)

    return compute


def _select(_: Attributes, values: Sequence[Array]) -> Array:
    condition, yes, no = values
    _check_size(np.broadcast_shapes(yes.shape, no.shape))
    if condition.ndim == 1 and yes.ndim > 1:
        condition = condition.reshape(-1, *[1] * (yes.ndim - 1))
    return np.where(condition, yes, no)


KERNELS: Mapping[str, Kernel] = {
    "Identity": lambda _, values: values[0],
    "StopGradient": lambda _, values: values[0],
    "PreventGradient": lambda _, values: values[0],
    "Snapshot": lambda _, values: values[0],
    "IdentityN": lambda _, values: values,
    "Reshape": _reshape,
    "ExpandDims": _expand_dims,
    "Squeeze": _squeeze,
    "Pack": _pack,
    "Unpack": _unpack,
    "ConcatV2": _concat,
    "Concat": _old_concat,
    "Split": _split,
    "Transpose": _transpose,
    "Tile": _tile,
    "Fill": _fill,
    "BroadcastTo": _broadcast_to,
    "ZerosLike": lambda _, values: np.zeros_like(values[0]),
    "OnesLike": lambda _, values: np.ones_like(values[0]),
    "Range": _range,
    "Slice": _slice,
    "StridedSlice": _strided_slice,
    "Gather": _gather,
    "GatherV2": _gather,
    "Shape": lambda attributes, values: np.array(values[0].shape, _size_dtype(attributes)),
    "Size": lambda attributes, values: np.array(values[0].size, _size_dtype(attributes)),
    "Rank": lambda _, values: np.array(values[0].ndim, np.int32),
    "Select": _select,
    "SelectV2": _elementwise(np.where),
    "Sum": _reduce(np.sum),
    "Prod": _reduce(np.prod),
    "Max": _reduce(np.max),
    "Min": _reduce(np.min),
    "All": _reduce(np.all),
    "Any": _reduce(np.any),
    "Add": _elementwise(np.add),
    "AddV2": _elementwise(np.add),
    "Sub": _elementwise(np.subtract),
    "Mul": _elementwise(np.multiply),
    "Neg": _elementwise(np.negative),
    "Abs": _elementwise(np.abs),
    "Square": _elementwise(np.square),
    "Sqrt": _elementwise(np.sqrt),
    "Maximum": _elementwise(np.maximum),
    "Minimum": _elementwise(np.minimum),
    "FloorDiv": _with_integers(np.floor_divide),
    "FloorMod": _with_integers(np.mod),
    "Equal": _elementwise(np.equal),
    "NotEqual": _elementwise(np.not_equal),
    "Less": _elementwise(np.less),
    "LessEqual": _elementwise(np.less_equal),
    "Greater": _elementwise(np.greater),
    "GreaterEqual": _elementwise(np.greater_equal),
    "LogicalAnd": _elementwise(np.logical_and),
    "LogicalOr": _elementwise(np.logical_or),
    "LogicalNot": _elementwise(np.logical_not),
}
"""The kernels by op type. `Cast` and divisions of floats are made by `compute`."""


def _size_dtype(attributes: Attributes) -> type[np.int64 | np.int32]:
    # DT_INT64.
    return np.int64 if "out_type" in attributes and attributes["out_type"].type == 9 else np.int32


def compute(
    op_type: str, attributes: Attributes, values: Sequence[Array], dtypes: Sequence[npt.DTypeLike]
) -> list[Array]:
    """Compute the outputs of an op.

    Raises:
        NotImplementedError: There is no kernel that gives the same numbers as TensorFlow, bit for
            bit.
        TooLarge: The outputs would be too large.
        ArithmeticError, ValueError, IndexError: TensorFlow would fail too.

    Example:
        >>> compute("AddV2", {}, [np.array([1, 2]), np.array(3)], [np.dtype(np.int64)])
        [array([4, 5])]
    """
    kernel = KERNELS.get(op_type)
    if op_type == "Cast" and dtypes:
        kernel = _cast(dtypes[0])
    elif op_type in DIVISIONS and values and values[0].dtype.kind == "f":
        kernel = _elementwise(np.divide)
    if kernel is None or any(value.dtype.fields for value in values):
        raise NotImplementedError
    with np.errstate(all="ignore"):
        result = kernel(attributes, values)
    if isinstance(result, np.ndarray) or np.isscalar(result):
        outputs = [np.asarray(result)]
    else:
        outputs = list(result)
    for output, dtype in zip(outputs, dtypes, strict=True):
        if output.dtype != dtype:
            raise NotImplementedError
    return outputs

"""The numpy array of a TensorProto, and the TensorProto of an array, without TensorFlow."""

from __future__ import annotations

import math
from importlib import import_module
from itertools import accumulate, pairwise
from typing import Any, cast

import numpy as np

from tfgraphwidget.naming import words
from tfgraphwidget.tf_types import TensorProto

# Their names are those of numpy's dtypes.
_PLAIN = words(
    "float16 float32 float64 complex64 complex128 bool",
    "int8 int16 int32 int64 uint8 uint16 uint32 uint64",
)
_OF_ML_DTYPES = words(
    "bfloat16 float8_e5m2 float8_e4m3fn float8_e4m3fnuz float8_e4m3b11fnuz float8_e5m2fnuz",
    "int4 uint4 int2 uint2 float4_e2m1fn",
)
_QUANTIZED = {
    "qint8": np.int8,
    "quint8": np.uint8,
    "qint16": np.int16,
    "quint16": np.uint16,
    "qint32": np.int32,
}
# of the fields of a TensorProto, that which has a dtype's values if they are not in tensor_content
_FIELDS = {
    **dict.fromkeys(
        ("int8", "int16", "int32", "uint8", "uint16", "int4", "uint4", "int2", "uint2"), "int_val"
    ),
    "float32": "float_val",
    "float64": "double_val",
    "bool": "bool_val",
    "int64": "int64_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
}
_BITS = {"float16": ("half_val", np.uint16), "bfloat16": ("half_val", np.uint16)}
_COMPLEX = {"complex64": ("scomplex_val", np.float32), "complex128": ("dcomplex_val", np.float64)}


def numpy_dtype(name: str) -> np.dtype:
    """The numpy dtype of TensorFlow's dtype of that name, "bfloat16": object for strings, and a
    structure of one field for quantized integers. Raises TypeError for a resource or a variant,
    which have no values.
    """
    if name in _PLAIN:
        return np.dtype(name)
    if name in _OF_ML_DTYPES:
        of_ml_dtypes: np.dtype = np.dtype(getattr(import_module("ml_dtypes"), name))
        return of_ml_dtypes
    if name in _QUANTIZED:
        return np.dtype([(name, _QUANTIZED[name])])
    if name == "string":
        return np.dtype(object)
    raise TypeError(f"Values of dtype {name or 'unknown'!r} have no numpy array.")


_LENGTH_BITS = 28  # of a text's length, below those of the last byte that it may have
LARGEST_REPEATED = 256 << 20
"""Bytes up to which a value is repeated: a file of a hundred bytes can claim any number of
elements.
"""


def tensor_array(
    proto: TensorProto, name: str, largest: int | None = LARGEST_REPEATED
) -> np.ndarray:
    """The numpy array of a TensorProto.

    Args:
        proto: The tensor: its values, or the first of them, of which the last is repeated.
        largest: The most bytes of an array of which not all values are stored; None for any number.

    Raises:
        TypeError: For a dtype without values.
        ValueError: For values that do not fit the shape, or are repeated to a larger array.

    Example:
        >>> from tfgraphwidget.sources import tf_protos
        >>> tensor = tf_protos.AttrValue().tensor
        >>> tensor.tensor_shape.dim.add().size = 3
        >>> tensor.float_val.extend([1.0, 2.0])
        >>> tensor_array(tensor, "float32")
        array([1., 2., 2.], dtype=float32)
    """
    shape = [dimension.size for dimension in proto.tensor_shape.dim]
    if any(size < 0 for size in shape):
        raise ValueError(f"A value of shape {shape} has no elements.")
    number = math.prod(shape)  # which has no largest integer, as numpy's has
    dtype = numpy_dtype(name)
    if proto.tensor_content and name == "string":
        texts = stored_texts(proto)
        if texts is None:
            raise ValueError("The lengths of its texts are not those of what is stored.")
        return np.array(texts, dtype=object).reshape(shape)
    if proto.tensor_content:
        return np.frombuffer(proto.tensor_content, dtype=dtype).copy().reshape(shape)
    if largest is not None and number * dtype.itemsize > largest:
        raise ValueError(
            f"{number:,} elements, of which the last ones are not stored, are too many."
        )
    if name == "string":
        strings: list[bytes | str] = list(proto.string_val)
        strings += [strings[-1] if strings else ""] * (number - len(strings))
        return np.array(strings, dtype=object).reshape(shape)
    values = _stored_values(proto, name, dtype)
    if values.size == 0:
        return np.zeros(shape, dtype)
    if values.size != number:
        values = np.pad(values, (0, number - values.size), "edge")
    return values.reshape(shape)


def stored_texts(proto: TensorProto) -> tuple[bytes, ...] | None:
    r"""The texts that a TensorProto of dtype string stores; None where it does not say where each
    of them begins.

    Where it has `tensor_content`, TensorFlow reads that and not `string_val`: the length of each
    text, then the texts.

    Example:
        >>> from tfgraphwidget.sources import tf_protos
        >>> tensor = tf_protos.AttrValue().tensor
        >>> tensor.string_val.append(b"unread")
        >>> tensor.tensor_shape.dim.add().size = 2
        >>> tensor.tensor_content = b"\x01\x03atwo"
        >>> stored_texts(tensor)
        (b'a', b'two')
    """
    content = proto.tensor_content
    if not content:
        return tuple(proto.string_val)
    lengths: list[int] = []
    at = 0
    for _ in range(min(math.prod(each.size for each in proto.tensor_shape.dim), len(content))):
        length = shift = 0
        while True:
            if at == len(content) or shift > _LENGTH_BITS:
                return None
            byte = content[at]
            at += 1
            length |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        lengths.append(length)
    offsets = list(accumulate(lengths, initial=at))
    if offsets[-1] != len(content):
        return None
    return tuple(content[start:end] for start, end in pairwise(offsets))


def _stored_values(proto: TensorProto, name: str, dtype: np.dtype) -> np.ndarray:
    if name in _BITS:
        field, bits = _BITS[name]
        return np.fromiter(getattr(proto, field), bits).view(dtype)
    if name in _COMPLEX:
        field, part = _COMPLEX[name]
        pairs = np.fromiter(getattr(proto, field), part)
        return pairs[: len(pairs) // 2 * 2].view(dtype)
    if name.startswith("float8") or name == "float4_e2m1fn":
        return np.frombuffer(getattr(proto, "float8_val", b""), np.uint8).view(dtype)
    if name in _QUANTIZED:
        return np.fromiter(proto.int_val, _QUANTIZED[name]).view(dtype)
    return np.fromiter(getattr(proto, _FIELDS[name]), dtype)


_FEW = 4  # numbers that are stored one by one, as in files that people read


def set_tensor(proto: TensorProto, array: np.ndarray, dtype: int) -> None:
    """Set a TensorProto to the values of an array; one number alone is stored once, however often
    it is there.

    Args:
        array: Its values: of the numpy dtype of `dtype`, or of bytes for strings.

    Example:
        >>> from tfgraphwidget.sources import tf_protos
        >>> tensor = tf_protos.AttrValue().tensor
        >>> set_tensor(tensor, np.array([[1, 2]], np.int32), 3)
        >>> tensor_array(tensor, "int32")
        array([[1, 2]], dtype=int32)
    """
    proto.Clear()
    proto.dtype = cast("Any", dtype)
    for size in array.shape:
        proto.tensor_shape.dim.add().size = size
    if array.dtype.hasobject:
        proto.string_val.extend(array.reshape(-1).tolist())
        return
    name = array.dtype.name
    field = _BITS[name][0] if name in _BITS else _FIELDS.get(name)
    flat = np.ascontiguousarray(array).reshape(-1)
    bits = flat.view(_BITS[name][1]) if name in _BITS else flat
    is_splat = flat.size > 0 and bool(
        (flat.view(np.uint8).reshape(flat.size, -1) == flat[:1].view(np.uint8)).all()
    )
    if field is not None and (is_splat or 0 < flat.size <= _FEW):
        getattr(proto, field).extend(bits[:1].tolist() if is_splat else bits.tolist())
    else:
        proto.tensor_content = flat.tobytes()


# More than one number of these is in tensor_content, as TensorFlow writes it.
_AS_BYTES = words("float16 float32 float64 int8 int16 int32 int64 uint8 uint32 uint64")
_KINDS = {"b": "b", "i": "i", "u": "i", "f": "if", "c": "ifc"}
"""For the kinds of numpy's dtypes those of the Python numbers that one can hold."""


def to_array(value: object, name: str) -> np.ndarray | None:
    """A value as an array of a dtype, as TensorFlow converts it, itself if it is one; None for what
    only TensorFlow can convert.

    Raises:
        TypeError: It is not a value of the dtype.
        ValueError: It is not an array.
    """
    if name not in _PLAIN and name not in ("string", "bfloat16"):
        return None
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
    elif isinstance(value, bool | int | float | complex | str | bytes | list | tuple):
        array = np.array(value)
    else:
        return None
    if name == "string":
        return _strings(value)
    dtype = numpy_dtype(name)
    if array.dtype == dtype:  # numpy has no kind for bfloat16
        return array
    kind = array.dtype.kind
    if kind not in _KINDS or (kind == "b") != (dtype.kind == "b"):
        if array.size or kind == "O":
            raise TypeError
        return array.astype(dtype, copy=False)
    is_python = not isinstance(value, np.ndarray | np.generic)
    if is_python and array.size and kind not in _KINDS.get(dtype.kind, "if").replace("i", "iu"):
        raise TypeError
    if is_python and dtype.kind in "iu":
        return np.array(value, dtype)
    return array.astype(dtype, copy=False)


def _strings(value: object) -> np.ndarray:
    """Strings as bytes, in an array of objects."""
    array = np.array(value, dtype=object)
    texts = array.reshape(-1).tolist()
    items = [text.encode() if isinstance(text, str) else text for text in texts]
    if not all(isinstance(item, bytes) for item in items):
        raise TypeError
    result = np.empty(len(items), dtype=object)
    result[:] = items
    return result.reshape(array.shape)


def set_all(proto: TensorProto, array: np.ndarray, dtype: int) -> None:
    """Set a TensorProto to the values of an array as `tf.make_tensor_proto` does.

    Args:
        array: Its values: of the numpy dtype of `dtype`, or of bytes for strings.
    """
    proto.Clear()
    proto.dtype = cast("Any", dtype)
    proto.tensor_shape.SetInParent()
    for size in array.shape:
        proto.tensor_shape.dim.add().size = size
    name, flat = array.dtype.name, np.ascontiguousarray(array).reshape(-1)
    if array.dtype.hasobject:
        proto.string_val.extend(flat.tolist())
    elif flat.size > 1 and name in _AS_BYTES:
        proto.tensor_content = flat.tobytes()
    elif name in _COMPLEX:
        field, part = _COMPLEX[name]
        getattr(proto, field).extend(flat.view(part).tolist())
    elif name in _BITS:
        field, bits = _BITS[name]
        getattr(proto, field).extend(flat.view(bits).tolist())
    else:
        getattr(proto, _FIELDS[name]).extend(flat.tolist())

"""The numpy array of a TensorProto, as `tf.make_ndarray` gives it, without TensorFlow."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from tfgraphwidget.tf_types import TensorProto

_PLAIN = (  # whose names are those of numpy's dtypes
    *("float16", "float32", "float64", "complex64", "complex128", "bool"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
)
_OF_ML_DTYPES = (
    *("bfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3b11fnuz", "float8_e5m2fnuz"),
    *("int4", "uint4", "int2", "uint2", "float4_e2m1fn"),
)
_QUANTIZED = {"qint8": np.int8, "quint8": np.uint8, "qint16": np.int16, "quint16": np.uint16, "qint32": np.int32}
_FIELDS = {  # of the fields of a TensorProto, that which has a dtype's values if they are not in tensor_content
    **dict.fromkeys(("int8", "int16", "int32", "uint8", "uint16", "int4", "uint4", "int2", "uint2"), "int_val"),
    "float32": "float_val",
    "float64": "double_val",
    "bool": "bool_val",
    "int64": "int64_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
}
_BITS = {"float16": ("half_val", np.uint16), "bfloat16": ("half_val", np.uint16)}
_COMPLEX = {"complex64": ("scomplex_val", np.float32), "complex128": ("dcomplex_val", np.float64)}


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The numpy dtype of TensorFlow's dtype of that name, "bfloat16".

    Args:
        name: The name.

    Returns:
        The dtype; object for strings, and a structure of one field for quantized integers.

    Raises:
        TypeError: For a resource or a variant, which have no values.
    """
    if name in _PLAIN:
        return np.dtype(name)
    if name in _OF_ML_DTYPES:
        of_ml_dtypes: np.dtype[Any] = np.dtype(getattr(import_module("ml_dtypes"), name))
        return of_ml_dtypes
    if name in _QUANTIZED:
        return np.dtype([(name, _QUANTIZED[name])])
    if name == "string":
        return np.dtype(object)
    raise TypeError(f"Values of dtype {name or 'unknown'!r} have no numpy array.")


def tensor_array(proto: TensorProto, name: str) -> np.ndarray:
    """The numpy array of a TensorProto.

    Args:
        proto: The tensor: its values, or the first of them, of which the last is repeated.
        name: The name of its dtype.

    Returns:
        The array, of the proto's shape.

    Raises:
        TypeError: For a dtype without values.
        ValueError: For values that do not fit the shape.

    Example:
        >>> from tfgraphwidget.sources import tf_protos
        >>> tensor = tf_protos.AttrValue().tensor
        >>> tensor.tensor_shape.dim.add().size = 3
        >>> tensor.float_val.extend([1.0, 2.0])
        >>> tensor_array(tensor, "float32")
        array([1., 2., 2.], dtype=float32)
    """
    shape = [dimension.size for dimension in proto.tensor_shape.dim]
    number = int(np.prod(shape, dtype=np.int64))
    dtype = numpy_dtype(name)
    if proto.tensor_content:
        return np.frombuffer(proto.tensor_content, dtype=dtype).copy().reshape(shape)
    if name == "string":
        strings: list[Any] = list(proto.string_val)
        strings += [strings[-1] if strings else ""] * (number - len(strings))
        return np.array(strings, dtype=object).reshape(shape)
    values = _stored_values(proto, name, dtype)
    if values.size == 0:
        return np.zeros(shape, dtype)
    if values.size != number:
        values = np.pad(values, (0, number - values.size), "edge")
    return values.reshape(shape)


def _stored_values(proto: TensorProto, name: str, dtype: np.dtype[Any]) -> np.ndarray:
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

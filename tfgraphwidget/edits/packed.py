"""Packed: the values that commands hold as JSON, and back: numbers, names, lists, arrays of any dtype, selections.

What JSON has itself stays itself; a list stands for a tuple. Everything else is an object with one of these keys:

* "float": "nan", "inf" or "-inf"
* "complex": [real, imaginary]
* "bytes": base64
* "array": base64 of the elements in C order, little-endian, with "dtype" and "shape"; of the dtype "object" a list of
  strings and bytes
* "ops" and "tensors": a selection, by names

Reading makes nothing but such values: no name is looked up but NumPy's and ml_dtypes' dtypes, and nothing is called.
"""

from __future__ import annotations

import base64
import binascii
import importlib
import math
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.part import Part
from tfgraphwidget.graph.select import ops
from tfgraphwidget.graph.selection import Selection

_DTYPE = re.compile(r"[a-z][a-z0-9_]{0,30}|[SU][0-9]{1,6}")
_KINDS = "biufcSU"
_EXTRA = "ml_dtypes"
_NOT_FINITE = ("nan", "inf", "-inf")
_KEYS = {
    "float": {"float"},
    "complex": {"complex"},
    "bytes": {"bytes"},
    "array": {"array", "dtype", "shape"},
    "ops": {"ops", "tensors"},
}


class NotWritten(Exception):
    """A value that JSON cannot hold; says in a few words what it is."""


class NotRead(Exception):
    """JSON that says no value; says in a few words why not."""


@dataclass(frozen=True)
class Chosen:
    """A selection as names, before there is a graph to select in."""

    ops: tuple[str, ...]
    tensors: tuple[str, ...] = ()

    def on(self, index: GraphIndex) -> Selection:
        """The selection in a graph. Raises UnknownName for an op that it lacks."""
        return ops(index, *self.ops, *self.tensors)


def packed(value: Any) -> Any:
    """A value as JSON. Raises NotWritten."""
    if value is None or isinstance(value, bool | str):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, Part):
        return {"ops": list(value.ops), "tensors": list(value.tensors)}
    if isinstance(value, np.ndarray | np.generic):
        return _packed_array(np.asarray(value))
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    if isinstance(value, complex):
        return {"complex": [packed(value.real), packed(value.imag)]}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, tuple | list):
        return [packed(item) for item in value]
    if hasattr(value, "__array__") and not callable(value):
        return packed(_array_of(value))
    name = getattr(value, "__name__", "")
    kind = "the Python function" if callable(value) else f"a {type(value).__name__}"
    raise NotWritten(f"{kind} {name!r}" if name and callable(value) else kind)


def unpacked(held: Any) -> Any:
    """The value that JSON says; selections as `Chosen`. Raises NotRead."""
    if held is None or isinstance(held, bool | int | str):
        return held
    if isinstance(held, float):
        if not math.isfinite(held):
            raise NotRead(f"the number {held} is not JSON")
        return held
    if isinstance(held, list):
        return tuple(map(unpacked, held))
    if not isinstance(held, dict):
        raise NotRead(f"{type(held).__name__} is not JSON")
    kind = next((key for key, keys in _KEYS.items() if held.keys() == keys), None)
    if kind is None:
        raise NotRead(f"an object with the keys {sorted(map(str, held))[:5]} is no value")
    try:
        return _READERS[kind](held)
    except (MemoryError, OverflowError, ValueError):  # a shape that no array has, an integer that no float is
        raise NotRead(f"{kind!r} says what no value can be") from None


def _array_of(value: Any) -> Any:
    try:
        return np.asarray(value)
    except Exception as error:  # a symbolic tensor says with an exception of its own that it has no value
        raise NotWritten(f"a {type(value).__name__} without a value") from error


def _packed_array(array: np.ndarray[Any, Any]) -> Any:
    """The elements, or for strings of any length a list of them."""
    shape = list(array.shape)
    if array.dtype.kind == "O":
        items = array.ravel().tolist()
        if not all(isinstance(item, str | bytes) for item in items):
            raise NotWritten("an array of Python objects")
        return {"array": [packed(item) for item in items], "dtype": "object", "shape": shape}
    extra = array.dtype.type.__module__ == _EXTRA
    if array.dtype.kind not in _KINDS and not extra:
        raise NotWritten(f"an array of dtype {array.dtype}")
    name = array.dtype.str[1:] if array.dtype.kind in "SU" else array.dtype.name
    ordered = array if extra else array.astype(array.dtype.newbyteorder("<"), copy=False)
    return {"array": base64.b64encode(ordered.tobytes()).decode(), "dtype": name, "shape": shape}


def _read_array(held: Mapping[str, Any]) -> Any:
    shape, items = held["shape"], held["array"]
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
        raise NotRead("the shape of an array is a list of sizes")
    if held["dtype"] == "object":
        values = [unpacked(item) for item in items] if isinstance(items, list) else []
        if not all(isinstance(value, str | bytes) for value in values) or len(values) != prod(shape):
            raise NotRead("an array of objects holds as many strings or bytes as its shape says")
        made = np.empty(len(values), object)
        made[:] = values
        return made.reshape(shape)
    dtype, content = _dtype(held["dtype"]), _bytes(items)
    if len(content) != dtype.itemsize * prod(shape):
        raise NotRead(f"an array of shape {shape} and dtype {held['dtype']} has not {len(content)} bytes")
    if not dtype.itemsize:
        if prod(shape):  # NumPy would make room for all of them
            raise NotRead(f"elements of dtype {held['dtype']} hold nothing")
        return np.zeros(shape, dtype)
    if dtype.kind == "U" and (np.frombuffer(content, "<u4") > sys.maxunicode).any():
        raise NotRead(f"a text in the array of dtype {held['dtype']} has characters that there are not")
    ordered = dtype if dtype.type.__module__ == _EXTRA else dtype.newbyteorder("<")
    return np.frombuffer(content, ordered).astype(dtype, copy=True).reshape(shape)


def _dtype(name: Any) -> np.dtype[Any]:
    if isinstance(name, str) and _DTYPE.fullmatch(name):
        try:
            found: np.dtype[Any] | None = np.dtype(name)
        except TypeError:
            found = _extra(name)
        if found is not None and (found.type.__module__ == _EXTRA or found.kind in _KINDS):
            return found
    raise NotRead(f"{str(name)[:40]!r} is no dtype of an array")


def _extra(name: str) -> np.dtype[Any] | None:
    """A dtype that NumPy itself lacks, bfloat16 say; None when there is none of that name."""
    try:
        known = getattr(importlib.import_module(_EXTRA), name, None)
        return None if known is None else np.dtype(known)
    except (ImportError, TypeError):
        return None


def _bytes(text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise NotRead("bytes are written as base64") from None


def _read_float(held: Mapping[str, Any]) -> float:
    if held["float"] not in _NOT_FINITE:
        raise NotRead(f"{str(held['float'])[:40]!r} is none of {', '.join(_NOT_FINITE)}")
    return float(held["float"])


def _read_complex(held: Mapping[str, Any]) -> complex:
    parts = held["complex"] if isinstance(held["complex"], list) else []
    numbers = [unpacked(part) for part in parts]
    if len(numbers) != 2 or not all(type(n) in (int, float) for n in numbers):
        raise NotRead("a complex number is written as [real, imaginary]")
    return complex(*numbers)


def _read_chosen(held: Mapping[str, Any]) -> Chosen:
    def names(key: str) -> Iterator[str]:
        if not isinstance(held[key], list) or not all(isinstance(name, str) for name in held[key]):
            raise NotRead(f"the {key} of a selection are a list of names")
        yield from held[key]

    return Chosen(tuple(names("ops")), tuple(names("tensors")))


_READERS: dict[str, Any] = {
    "float": _read_float,
    "complex": _read_complex,
    "bytes": lambda held: _bytes(held["bytes"]),
    "array": _read_array,
    "ops": _read_chosen,
}

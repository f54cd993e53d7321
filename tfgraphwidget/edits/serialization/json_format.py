"""Edits as JSON, for replay in another process.

A document is `{"tfgraphwidget": 2, "edits": [...]}`, and an edit

    {"command": "reroute", "arguments": {"old": "a:0", "to": "b:0"}, "functions": ["call:body"],
    "renew": false}

`command` is the name of one in `edits.registry`, `arguments` holds its fields; those at their
default are left out. `functions` are those that were open, outermost first. `renew` is there when
the session was left alone. Both may be missing, and so may `reserved` and `imported`, which are
those of `edits.history.Step`. The edits of a batch are

    {"batch": "Prune the head", "edits": [...]}

What version 0.2 wrote is read too, see `names_of_0_2`.

Reading is strict: an unknown key, a value of the wrong type, or one more than a command takes is
refused before anything is changed. Nothing in JSON is ever run as code.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import importlib
import inspect
import json
import math
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any, Literal, NoReturn, TypeAlias, Union, get_args, get_origin, get_type_hints

import numpy as np

from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.edits.command import Command
from tfgraphwidget.edits.context import Array
from tfgraphwidget.edits.history import Batch, BatchStep, Step, group_batches
from tfgraphwidget.edits.operand_kinds import operands_of
from tfgraphwidget.edits.registry import commands, registration_of
from tfgraphwidget.edits.serialization import names_of_0_2
from tfgraphwidget.errors import GraphEditError, WrongType
from tfgraphwidget.graph import GraphIndex, Part, Selection, ops
from tfgraphwidget.naming import known_instead
from tfgraphwidget.sentences import editor_call

# The values of commands as JSON: numbers, names, lists, arrays of any dtype, selections. A tuple
# becomes a list. A value that JSON does not have becomes an object with one of these keys:
# * "float": "nan", "inf" or "-inf"
# * "complex": [real, imaginary]
# * "bytes": base64
# * "array": base64 of the elements in C order, little-endian, with "dtype" and "shape"; for dtype
# "object", a list of
#   strings and bytes
# * "ops" and "tensors": a selection, by names
# Reading looks up no names but dtypes of NumPy and ml_dtypes, and calls nothing.

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


Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


class NotEncodable(Exception):
    """A value that JSON cannot hold; says in a few words what it is."""


class NotDecodable(Exception):
    """JSON that says no value; says in a few words why not."""


@dataclass(frozen=True)
class OpNames:
    """A selection as names, before there is a graph to select in."""

    ops: tuple[str, ...]
    tensors: tuple[str, ...] = ()

    def on(self, index: GraphIndex) -> Selection:
        """The selection in a graph. Raises UnknownName for an op that it lacks."""
        return ops(index, *self.ops, *self.tensors)


def encode(value: object) -> Json:
    """A value as JSON. Raises NotEncodable."""
    if value is None or isinstance(value, bool | str):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, Part):
        return {"ops": list(value.ops), "tensors": list(value.tensors)}
    if isinstance(value, np.ndarray | np.generic):
        return _encode_array(np.asarray(value))
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    if isinstance(value, complex):
        return {"complex": [encode(value.real), encode(value.imag)]}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]
    if hasattr(value, "__array__") and not callable(value):
        return encode(_array_of(value))
    name = getattr(value, "__name__", "")
    kind = "the Python function" if callable(value) else f"a {type(value).__name__}"
    raise NotEncodable(f"{kind} {name!r}" if name and callable(value) else kind)


def decode(data: object) -> Any:
    """The value that JSON says; selections as `OpNames`. Raises NotDecodable."""
    if data is None or isinstance(data, bool | int | str):
        return data
    if isinstance(data, float):
        if not math.isfinite(data):
            raise NotDecodable(f"the number {data} is not JSON")
        return data
    if isinstance(data, list):
        return tuple(map(decode, data))
    if not isinstance(data, dict):
        raise NotDecodable(f"{type(data).__name__} is not JSON")
    kind = next((key for key, keys in _KEYS.items() if data.keys() == keys), None)
    if kind is None:
        raise NotDecodable(f"an object with the keys {sorted(map(str, data))[:5]} is not a value")
    try:
        return _DECODERS[kind](data)
    except (
        MemoryError,
        OverflowError,
        ValueError,
    ):  # a shape that no array has, an integer that no float is
        raise NotDecodable(f"{kind!r} says what no value can be") from None


def _array_of(value: object) -> Array:
    try:
        return np.asarray(value)
    except Exception as error:
        # A symbolic tensor says with an exception of its own that it has no value.
        raise NotEncodable(f"a {type(value).__name__} without a value") from error


def _encode_array(array: Array) -> Json:
    """The elements, or for strings of any length a list of them."""
    shape = list(array.shape)
    if array.dtype.kind == "O":
        items = array.ravel().tolist()
        if not all(isinstance(item, str | bytes) for item in items):
            raise NotEncodable("an array of Python objects")
        return {"array": [encode(item) for item in items], "dtype": "object", "shape": shape}
    extra = array.dtype.type.__module__ == _EXTRA
    if array.dtype.kind not in _KINDS and not extra:
        raise NotEncodable(f"an array of dtype {array.dtype}")
    name = array.dtype.str[1:] if array.dtype.kind in "SU" else array.dtype.name
    little_endian = array if extra else array.astype(array.dtype.newbyteorder("<"), copy=False)
    return {
        "array": base64.b64encode(little_endian.tobytes()).decode(),
        "dtype": name,
        "shape": shape,
    }


def _decode_array(data: Mapping[str, Any]) -> Array:
    shape, items = data["shape"], data["array"]
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
        raise NotDecodable("the shape of an array is a list of sizes")
    if data["dtype"] == "object":
        values = [decode(item) for item in items] if isinstance(items, list) else []
        if not all(isinstance(value, str | bytes) for value in values) or len(values) != prod(
            shape
        ):
            raise NotDecodable(
                "an array of objects holds as many strings or bytes as its shape says"
            )
        array = np.empty(len(values), object)
        array[:] = values
        return array.reshape(shape)
    dtype, content = _dtype(data["dtype"]), _bytes(items)
    if len(content) != dtype.itemsize * prod(shape):
        raise NotDecodable(
            f"an array of shape {shape} and dtype {data['dtype']} has not {len(content)} bytes"
        )
    if not dtype.itemsize:
        if prod(shape):  # NumPy would make room for all of them
            raise NotDecodable(f"elements of dtype {data['dtype']} hold nothing")
        return np.zeros(shape, dtype)
    if dtype.kind == "U" and (np.frombuffer(content, "<u4") > sys.maxunicode).any():
        raise NotDecodable(
            f"a text in the array of dtype {data['dtype']} has characters that there are not"
        )
    little_endian = dtype if dtype.type.__module__ == _EXTRA else dtype.newbyteorder("<")
    return np.frombuffer(content, little_endian).astype(dtype, copy=True).reshape(shape)


def _dtype(name: object) -> np.dtype:
    if isinstance(name, str) and _DTYPE.fullmatch(name):
        try:
            dtype: np.dtype | None = np.dtype(name)
        except TypeError:
            dtype = _extension_dtype(name)
        if dtype is not None and (dtype.type.__module__ == _EXTRA or dtype.kind in _KINDS):
            return dtype
    raise NotDecodable(f"{str(name)[:40]!r} is not a dtype of an array")


def _extension_dtype(name: str) -> np.dtype | None:
    """A dtype that NumPy itself lacks, bfloat16 say; None when there is none of that name."""
    try:
        extension = getattr(importlib.import_module(_EXTRA), name, None)
        return None if extension is None else np.dtype(extension)
    except (ImportError, TypeError):
        return None


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise NotDecodable("bytes are written as base64") from None


def _decode_float(data: Mapping[str, object]) -> float:
    if data["float"] not in _NOT_FINITE:
        raise NotDecodable(f"{str(data['float'])[:40]!r} is none of {', '.join(_NOT_FINITE)}")
    return float(data["float"])


def _decode_complex(data: Mapping[str, object]) -> complex:
    parts = data["complex"] if isinstance(data["complex"], list) else []
    numbers = [decode(part) for part in parts]
    if len(numbers) != 2 or not all(type(n) in (int, float) for n in numbers):
        raise NotDecodable("a complex number is written as [real, imaginary]")
    return complex(*numbers)


def _decode_op_names(data: Mapping[str, Any]) -> OpNames:
    def names(key: str) -> Iterator[str]:
        if not isinstance(data[key], list) or not all(isinstance(name, str) for name in data[key]):
            raise NotDecodable(f"the {key} of a selection are a list of names")
        yield from data[key]

    return OpNames(tuple(names("ops")), tuple(names("tensors")))


_DECODERS: dict[str, Callable[[Mapping[str, Any]], object]] = {
    "float": _decode_float,
    "complex": _decode_complex,
    "bytes": lambda data: _bytes(data["bytes"]),
    "array": _decode_array,
    "ops": _decode_op_names,
}


VERSION = 2
_NAME = "tfgraphwidget"


@dataclasses.dataclass(frozen=True)
class EditRecord:
    """An edit that was read from JSON.

    Attributes:
        kind: The class of the command.
        fields: Its fields; selections by name.
        functions: The functions to open, from the graph itself inward.
        renew: Whether the session follows the edit.
        reserved: Names that new ops must not take.
        imported: Whether TensorFlow held the graph.
        batch: The batch that the edit belongs to.
    """

    kind: type[Command]
    fields: Mapping[str, object]
    functions: tuple[str, ...] = ()
    renew: bool = True
    reserved: tuple[str, ...] = ()
    imported: bool = False
    batch: Batch | None = None

    @property
    def command_name(self) -> str:
        """The name of the command."""
        return self.kind.command_name()

    def command(self, index: GraphIndex) -> Command:
        """The command, with selections of the graph. Raises UnknownName where that lacks an op of a
        selection.
        """
        fields = {
            key: value.on(index) if isinstance(value, OpNames) else value
            for key, value in self.fields.items()
        }
        return self.kind(**fields)


# From commands to JSON


def records_of(steps: Iterable[Step]) -> list[dict[str, Json]]:
    """Turn steps of a history into JSON.

    Raises:
        GraphEditError: An edit has what no file can hold (a Python function, another graph, a
            session), or its command is not registered. The error names the edit.
    """
    records: list[dict[str, Json]] = []
    number = 0
    for step in group_batches(steps):
        own = step.steps if isinstance(step, BatchStep) else (step,)
        edits: list[Any] = [_record_of(each, number + k) for k, each in enumerate(own, 1)]
        number += len(own)
        if isinstance(step, BatchStep):
            records.append({"batch": step.name, "edits": edits})
        else:
            records.append(edits[0])
    return records


def document(edits: Sequence[Mapping[str, Json]]) -> str:
    """The text of a file of edits."""
    return json.dumps({_NAME: VERSION, "edits": edits}, indent=1, allow_nan=False) + "\n"


def record_of(command: Command, number: int = 1) -> dict[str, Json]:
    """A command as the JSON of an edit of the graph that is open. Raises GraphEditError, with the
    number of the edit, for a command that holds what no JSON can, or is not registered.
    """
    command_name = command.command_name()
    fields_json: dict[str, Json] = {}
    operands = operands_of(type(command))
    for field in dataclasses.fields(command):
        value = getattr(command, field.name)
        if _is_default(value, field):
            continue
        try:
            if operands[field.name].is_reference and not _is_named(value):
                raise NotEncodable(_description(value))
            fields_json[field.name] = encode(value)
        except NotEncodable as error:
            raise GraphEditError(
                f"Edit {number} ({command_name}) holds {error} for {field.name!r}, which no JSON "
                "can hold; save a script instead: " + editor_call("save", "'edits.py'") + "."
            ) from None
    registration = registration_of(command_name)
    if registration is None or registration.kind is not type(command):
        raise GraphEditError(
            f"Edit {number} ({command_name}) cannot be written; save a script: "
            + editor_call("save", "'edits.py'")
            + "."
        )
    return {"command": command_name, "arguments": fields_json}


def _record_of(step: Step, number: int) -> dict[str, Json]:
    edit = record_of(step.command, number)
    if len(step.path) > 1:
        edit["functions"] = list(step.path[1:])
    if not step.renewed:
        edit["renew"] = False
    if step.reserved:
        edit["reserved"] = list(step.reserved)
    if step.imported:
        edit["imported"] = True
    return edit


def _is_default(value: object, field: dataclasses.Field[object]) -> bool:
    simple = value is None or isinstance(value, bool | str | int | tuple)
    return simple and type(value) is type(field.default) and value == field.default


def _is_named(value: object) -> bool:
    """Whether it is said by name: an op type, a path, ops."""
    is_names = isinstance(value, tuple) and all(isinstance(item, str) for item in value)
    return isinstance(value, str | Selection | OpNames) or is_names


def _description(value: object) -> str:
    name = getattr(value, "__name__", "")
    return (
        f"the Python function {name!r}" if callable(value) and name else f"a {type(value).__name__}"
    )


# From JSON to commands


def parse(text: str | bytes) -> object:
    """Parse the text of a file of edits. Raises GraphEditError for text that is not JSON."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (
        ValueError,
        RecursionError,
    ) as error:  # no JSON, no text, an endless number, brackets without end
        reason = str(error)[:100]
        raise GraphEditError(
            f"This is no JSON: {reason}; give what "
            + editor_call("save", "'edits.json'")
            + " wrote."
        ) from None


def records_from(edits: object) -> tuple[EditRecord, ...]:
    """The edits in a list of objects as `records_of` returns it, or in a whole document; they are
    not applied yet. Raises GraphEditError for JSON that holds no edits, and names the one that
    cannot be read.
    """
    if isinstance(edits, dict):
        edits = _edits_of(edits)
    if not isinstance(edits, list | tuple):
        raise WrongType(
            "edits",
            f"A {type(edits).__name__} is not a list of edits; give what "
            + editor_call("history.records", "")
            + " gave.",
        )
    return tuple(_records_from(edits))


def _records_from(edits: Sequence[object]) -> Iterator[EditRecord]:
    """The edits of a list, those of its batches too."""
    number = 0
    for edit in edits:
        is_batch = isinstance(edit, dict) and "batch" in edit
        batch, own = _batch_from(edit, number + 1) if is_batch else (None, [edit])
        for each in own:
            number += 1
            yield dataclasses.replace(
                _record_from(names_of_0_2.with_names_of_today(each), number), batch=batch
            )


def _batch_from(edit: Any, number: int) -> tuple[Batch, list[object]]:
    """A batch and its edits, as they were written."""
    if (
        edit.keys() != {"batch", "edits"}
        or not isinstance(edit["batch"], str)
        or not isinstance(edit["edits"], list)
    ):
        raise GraphEditError(
            f"Edit {number} cannot be read: a batch has a name, 'batch', and a list of 'edits'; "
            "give what " + editor_call("history.records", "") + " returned."
        )
    return Batch(edit["batch"]), edit["edits"]


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _edits_of(decoded: Mapping[object, object]) -> object:
    version = decoded.get(_NAME)
    if type(version) is not int or version < 1:
        raise GraphEditError(
            f"This JSON holds no edits: it has no {_NAME!r} with a version; give what "
            + editor_call("save", "'edits.json'")
            + " wrote."
        )
    if version > VERSION:
        raise GraphEditError(
            f"These edits were written in version {version}, and this tfgraphwidget reads up to "
            f"{VERSION}; install a newer one."
        )
    if decoded.keys() != {_NAME, "edits"}:
        other = min(map(str, decoded.keys() ^ {_NAME, "edits"}))
        raise GraphEditError(
            f"A file of edits has the keys {_NAME!r} and 'edits', and {other!r} is amiss here; "
            "give what " + editor_call("save", "'edits.json'") + " wrote."
        )
    return decoded["edits"]


def _record_from(edit: object, number: int) -> EditRecord:
    registration = None
    try:
        if not isinstance(edit, dict):
            raise NotDecodable("an edit is an object with 'command' and 'arguments'")
        required_keys = {"command", "arguments"}
        _check_keys(
            edit, required_keys, {*required_keys, "functions", "renew", "reserved", "imported"}
        )
        command_name, fields_json = edit["command"], edit["arguments"]
        functions, names = edit.get("functions", []), edit.get("reserved", [])
        registration = registration_of(command_name) if isinstance(command_name, str) else None
        if registration is None:
            name = str(command_name)[:40]
            raise NotDecodable(
                f"{name!r} is not a "
                f"command{known_instead(name, sorted(commands()), 'commands are')}"
            )
        if not isinstance(fields_json, dict):
            raise NotDecodable("'arguments' is an object of the command's fields")
        for key, value in (("functions", functions), ("reserved", names)):
            if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
                raise NotDecodable(f"'{key}' are a list of names")
        if not isinstance(edit.get("imported", False), bool):
            raise NotDecodable("'imported' is true or false")
        if not isinstance(edit.get("renew", True), bool):
            raise NotDecodable("'renew' is true or false")
        fields = dict(_fields(registration.kind, fields_json))
    except (NotDecodable, RecursionError) as error:
        command_text = "" if registration is None else f" ({registration.name})"
        if str(error).endswith(("?", ".")):
            end = ""
        else:
            end = "; give what " + editor_call("history.records", "") + " returned."
        raise GraphEditError(f"Edit {number}{command_text} cannot be read: {error}" + end) from None
    options = tuple(functions), edit.get("renew", True), tuple(names), edit.get("imported", False)
    return EditRecord(registration.kind, fields, *options)


def _check_keys(mapping: Mapping[str, object], required_keys: set[str], all_keys: set[str]) -> None:
    for key in mapping:
        if key not in all_keys:
            raise NotDecodable(
                f"{str(key)[:40]!r} is not "
                f"known{known_instead(str(key)[:40], sorted(all_keys), 'keys are')}"
            )
    for key in sorted(required_keys - mapping.keys()):
        raise NotDecodable(f"{key!r} is missing")


def _fields(kind: type[Command], fields_json: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    operands = operands_of(kind)
    writable = {field.name: field for field in _writable(kind)}
    required_keys = {
        field.name
        for field in writable.values()
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }
    _check_keys(fields_json, required_keys, set(writable))
    for name, json_value in fields_json.items():
        value = decode(json_value)
        hint = _types(kind)[name]
        if not _fits(value, hint) or (operands[name].is_reference and not _is_named(value)):
            raise NotDecodable(
                f"{name!r} cannot be {value_text(value)}; it is of type {_type_text(hint)}"
            )
        yield name, value


@cache
def _writable(kind: type[Command]) -> tuple[dataclasses.Field[object], ...]:
    """The fields that a file says; a graph or a session, which it cannot name, is none."""
    operands = operands_of(kind)
    fields = dataclasses.fields(kind)
    return tuple(
        field for field in fields if not (operands[field.name].external and field.default is None)
    )


def _type_text(hint: object) -> str:
    """A type in a sentence: "str | tuple[str, ...]"."""
    return inspect.formatannotation(hint).replace("tfgraphwidget.graph.selection.", "")


@cache
def _types(kind: type[Command]) -> dict[str, object]:
    return get_type_hints(kind)


def _fits(value: object, kind: object) -> bool:
    """Whether a value is of an annotated type, as deep as it goes."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any or kind is object:
        return True
    if origin in (Union, types.UnionType):
        return any(_fits(value, one) for one in inner)
    if origin is Literal:
        return isinstance(value, str) and value in inner
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if len(inner) == 2 and inner[1] is Ellipsis:
            return all(_fits(item, inner[0]) for item in value)
        return len(value) == len(inner) and all(map(_fits, value, inner))
    if kind is Selection:
        return isinstance(value, OpNames)
    return value is None if kind is type(None) else type(value) is kind

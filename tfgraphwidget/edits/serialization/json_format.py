"""Written: edits as data, JSON that another process, on another day, does again.

A document is `{"tfgraphwidget": 1, "edits": [...]}`, and an edit

    {"verb": "reroute", "given": {"old": "a:0", "to": "b:0"}, "rooms": ["call:body"], "renew": "never"}

`verb` is the command's name as the editor's method has it, `given` its fields, those at their default left out.
`rooms` are the functions one stood in, outermost first, and `renew` is there when the session was to be left alone;
both may be missing, and so may `reserved` and `imported`, which are those of `edits.history.Step`. How values are
written is in `packed`. Reading is strict: what is not known, of the wrong type, or more than a command takes is refused
before anything is done. Nothing in it is ever run as code.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import importlib
import json
import math
import re
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from tfgraphwidget.argument_checks import shown
from tfgraphwidget.edits.clone.command import Add, Clone
from tfgraphwidget.edits.freeze.commands import Freeze, StripTraining
from tfgraphwidget.edits.freeze.fold_batch_norm import FoldBatchNorm
from tfgraphwidget.edits.history import Step
from tfgraphwidget.edits.rewire.bypass import Bypass, Detach
from tfgraphwidget.edits.rewire.reroute import AddControlInputs, Connect, RemoveControlInputs, Reroute, Swap
from tfgraphwidget.edits.rewrite.attributes import Place, SetAttr, SetConstant, Trainable
from tfgraphwidget.edits.rewrite.input_spec import ReplaceInput
from tfgraphwidget.edits.rewrite.insert import Insert
from tfgraphwidget.edits.rewrite.remove import Remove
from tfgraphwidget.edits.rewrite.rename import Rename, RenameKey
from tfgraphwidget.edits.rewrite.replace_subgraph import Replace
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.selection import Selection
from tfgraphwidget.graph.selectors import ops
from tfgraphwidget.graph.subgraph import Part
from tfgraphwidget.naming import did_you_mean

# Packed: the values that commands hold as JSON, and back: numbers, names, lists, arrays of any dtype, selections.
# What JSON has itself stays itself; a list stands for a tuple. Everything else is an object with one of these keys:
# * "float": "nan", "inf" or "-inf" * "complex": [real, imaginary] * "bytes": base64 * "array": base64 of the
# elements in C order, little-endian, with "dtype" and "shape"; of the dtype "object" a list of strings and bytes *
# "ops" and "tensors": a selection, by names  Reading makes nothing but such values: no name is looked up but
# NumPy's and ml_dtypes' dtypes, and nothing is called.

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


VERSION = 1
_NAME = "tfgraphwidget"
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def verb_of(command: Any) -> str:
    """The name of the editor's method that does a command, or a class of commands: "set_attr" for SetAttr."""
    kind = command if isinstance(command, type) else type(command)
    return _WORD.sub("_", kind.__name__).lower()


COMMANDS: Mapping[str, type] = {
    verb_of(kind): kind
    for kind in (
        *(Add, AddControlInputs, Bypass, Clone, Connect, Detach, FoldBatchNorm, Freeze, Insert, Place, Remove),
        *(RemoveControlInputs, Rename, RenameKey, Replace, ReplaceInput, Reroute, SetAttr, SetConstant, StripTraining),
        *(Swap, Trainable),
    )
}
"""Every command that can be written, by its verb."""


@dataclasses.dataclass(frozen=True)
class Written:
    """An edit that was read: a kind of command, its fields, the rooms from the graph itself inward."""

    kind: type
    given: Mapping[str, Any]
    rooms: tuple[str, ...] = ()
    renew: Literal["always", "never"] = "always"
    reserved: tuple[str, ...] = ()
    imported: bool = False

    @property
    def verb(self) -> str:
        """What it is called."""
        return verb_of(self.kind)

    def command(self, index: GraphIndex) -> Any:
        """The command for a graph that has the ops. Raises UnknownName where it has not those of a selection."""
        given = {key: value.on(index) if isinstance(value, Chosen) else value for key, value in self.given.items()}
        return self.kind(**given)


# From commands to JSON


def written(steps: Iterable[Step]) -> list[dict[str, Any]]:
    """Steps of a history as JSON, oldest first.

    Raises GraphEditError naming the edit for what no file can hold: a Python function, another graph, a session.
    """
    return [_written(step, number) for number, step in enumerate(steps, 1)]


def document(edits: list[dict[str, Any]]) -> str:
    """The text of a file of edits."""
    return json.dumps({_NAME: VERSION, "edits": edits}, indent=1, allow_nan=False) + "\n"


def _written(step: Step, number: int) -> dict[str, Any]:
    command: Any = step.command
    verb = verb_of(command)
    given: dict[str, Any] = {}
    for field in dataclasses.fields(command):
        value = getattr(command, field.name)
        if "aside" in field.metadata or _is_usual(value, field):
            continue
        try:
            if ("called" in field.metadata or "spoken" in field.metadata) and not _is_named(value):
                raise NotWritten(_what(value))
            given[field.name] = packed(value)
        except NotWritten as error:
            raise GraphEditError(
                f"Edit {number} ({verb}) holds {error} for {field.name!r}, which no JSON can hold; save a script "
                "instead: editor.save('edits.py')."
            ) from None
    if verb not in COMMANDS:
        raise GraphEditError(f"Edit {number} ({verb}) cannot be written; save a script: editor.save('edits.py').")
    edit: dict[str, Any] = {"verb": verb, "given": given}
    if len(step.path) > 1:
        edit["rooms"] = list(step.path[1:])
    if not step.renewed:
        edit["renew"] = "never"
    if step.reserved:
        edit["reserved"] = list(step.reserved)
    if step.imported:
        edit["imported"] = True
    return edit


def _is_usual(value: Any, field: dataclasses.Field[Any]) -> bool:
    simple = value is None or isinstance(value, bool | str | int | tuple)
    return simple and type(value) is type(field.default) and value == field.default


def _is_named(value: Any) -> bool:
    """Whether it is said by name: an op type, a path, ops."""
    is_names = isinstance(value, tuple) and all(isinstance(item, str) for item in value)
    return isinstance(value, str | Selection | Chosen) or is_names


def _what(value: Any) -> str:
    name = getattr(value, "__name__", "")
    return f"the Python function {name!r}" if callable(value) and name else f"a {type(value).__name__}"


# From JSON to commands


def parsed(text: str | bytes) -> Any:
    """The edits of a file's text. Raises GraphEditError for what is no JSON, or another's."""
    try:
        return json.loads(text, parse_constant=_refused_constant)
    except (ValueError, RecursionError) as error:  # no JSON, no text, an endless number, brackets without end
        told = str(error)[:100]
        raise GraphEditError(f"This is no JSON: {told}; give what editor.save('edits.json') wrote.") from None


def read(edits: Any) -> tuple[Written, ...]:
    """Edits as `written` gave them, or a whole document. Raises GraphEditError, and names the edit."""
    if isinstance(edits, dict):
        edits = _edits_of(edits)
    if not isinstance(edits, list | tuple):
        raise GraphEditError(f"A {type(edits).__name__} is no list of edits; give what editor.edits() gave.")
    return tuple(_read(edit, number) for number, edit in enumerate(edits, 1))


def _refused_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _edits_of(held: dict[Any, Any]) -> Any:
    version = held.get(_NAME)
    if type(version) is not int or version < 1:
        raise GraphEditError(
            f"This JSON holds no edits: it has no {_NAME!r} with a version; give what editor.save('edits.json') wrote."
        )
    if version > VERSION:
        raise GraphEditError(
            f"These edits were written in version {version}, and this tfgraphwidget reads up to {VERSION}; install a "
            "newer one."
        )
    if held.keys() != {_NAME, "edits"}:
        other = min(map(str, held.keys() ^ {_NAME, "edits"}))
        raise GraphEditError(f"A file of edits has the keys {_NAME!r} and 'edits', and {other!r} is amiss here.")
    return held["edits"]


def _read(edit: Any, number: int) -> Written:
    try:
        if not isinstance(edit, dict):
            raise NotRead("an edit is an object with 'verb' and 'given'")
        _check_keys(edit, {"verb", "given"}, {"verb", "given", "rooms", "renew", "reserved", "imported"})
        verb, given, rooms, names = edit["verb"], edit["given"], edit.get("rooms", []), edit.get("reserved", [])
        if not isinstance(verb, str) or verb not in COMMANDS:
            raise NotRead(f"{str(verb)[:40]!r} is no verb.{did_you_mean(str(verb)[:40], COMMANDS)}")
        if not isinstance(given, dict):
            raise NotRead("'given' is an object of the command's fields")
        for key, held in (("rooms", rooms), ("reserved", names)):
            if not isinstance(held, list) or not all(isinstance(name, str) for name in held):
                raise NotRead(f"'{key}' are a list of names")
        if not isinstance(edit.get("imported", False), bool):
            raise NotRead("'imported' is true or false")
        if edit.get("renew", "always") not in ("always", "never"):
            raise NotRead("'renew' is 'always' or 'never'")
        fields = dict(_fields(COMMANDS[verb], given))
    except (NotRead, RecursionError) as error:
        verb = edit.get("verb", "") if isinstance(edit, dict) else ""
        called = f" ({verb})" if isinstance(verb, str) and verb in COMMANDS else ""
        end = "" if str(error).endswith(("?", ".")) else "."
        raise GraphEditError(f"Edit {number}{called} cannot be read: {error}{end}") from None
    told = tuple(rooms), edit.get("renew", "always"), tuple(names), edit.get("imported", False)
    return Written(COMMANDS[verb], fields, *told)


def _check_keys(held: dict[Any, Any], needed: set[str], known: set[str]) -> None:
    for key in held:
        if key not in known:
            raise NotRead(f"{str(key)[:40]!r} is not known.{did_you_mean(str(key)[:40], known)}")
    for key in sorted(needed - held.keys()):
        raise NotRead(f"{key!r} is missing")


def _fields(kind: type, given: dict[Any, Any]) -> Iterator[tuple[str, Any]]:
    known = {field.name: field for field in _writable(kind)}
    needed = {
        field.name
        for field in known.values()
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }
    _check_keys(given, needed, set(known))
    for name, held in given.items():
        value = unpacked(held)
        named = "spoken" in known[name].metadata or "called" in known[name].metadata
        if not _fits(value, _types(kind)[name]) or (named and not _is_named(value)):
            raise NotRead(f"{name!r} cannot be {shown(value)}")
        yield name, value


@cache
def _writable(kind: type) -> tuple[dataclasses.Field[Any], ...]:
    """The fields that a file says; a graph or a session, which it cannot name, is none."""
    fields = dataclasses.fields(kind)
    return tuple(f for f in fields if "aside" not in f.metadata and not _is_of_process(f))


def _is_of_process(field: dataclasses.Field[Any]) -> bool:
    return "called" in field.metadata and field.default is None


@cache
def _types(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of an annotated type, as deep as it goes."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
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
        return isinstance(value, Chosen)
    return value is None if kind is type(None) else type(value) is kind

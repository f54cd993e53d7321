"""Every message between the browser and the kernel; `labextension/src/protocol.ts` is generated from here.

The browser sends one request, with an id of its own; it gets exactly one reply with that id. A refusal is a
reply too. Numbers travel beside the reply as one binary buffer whose layout `fields` gives.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from tfgraphwidget.edits.clone import Clone
from tfgraphwidget.errors import GraphEditError


@dataclasses.dataclass(frozen=True)
class Open:
    """Send the scene; the first thing a view says."""


@dataclasses.dataclass(frozen=True)
class Toggle:
    """Open the scope if it is closed, else close it."""

    scope: str


@dataclasses.dataclass(frozen=True)
class Reveal:
    """Open the scopes around an op, a tensor or a scope, so that it can be seen."""

    name: str


@dataclasses.dataclass(frozen=True)
class Boundary:
    """Take these op or tensor names as the boundary; both empty to clear."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Inspect:
    """Everything about one op or scope."""

    name: str


@dataclasses.dataclass(frozen=True)
class Search:
    """Ops whose name or type contains the text."""

    text: str
    limit: int = 50


@dataclasses.dataclass(frozen=True)
class Undo:
    """Take the last edit back."""


@dataclasses.dataclass(frozen=True)
class Redo:
    """Do again what was undone last."""


Request = Open | Toggle | Reveal | Boundary | Inspect | Search | Clone | Undo | Redo


@dataclasses.dataclass(frozen=True)
class Field:
    """One array inside the buffer: `dtype` is u1, u4, i4 or f4 (little-endian), `offset` in bytes, a multiple of 4."""

    name: str
    dtype: Literal["u1", "u4", "i4", "f4"]
    shape: tuple[int, ...]
    offset: int


@dataclasses.dataclass(frozen=True)
class State:
    """What the panel shows beside the drawing.

    `proposal` is a scope name still free; `code` the lines of Python that do what was done so far, oldest first;
    `copied_ops` how many ops a clone with variables of its own copies; `outside` the tensors (and, as "^op", control
    inputs) that come into the selection from elsewhere, `shared` the variables that a copy would go on reading by
    way of them; `notice` one sentence about what just happened, or "".
    """

    revision: int
    ops: int
    variables: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    selected_ops: int
    selected_variables: int
    copied_ops: int
    outside: tuple[str, ...]
    shared: tuple[str, ...]
    proposal: str
    undo: str
    redo: str
    code: tuple[str, ...]
    notice: str


@dataclasses.dataclass(frozen=True)
class Drawn:
    """A whole scene; `focus` is the item to bring into view, or "" to leave the camera alone."""

    state: State
    fields: tuple[Field, ...]
    focus: str


@dataclasses.dataclass(frozen=True)
class Painted:
    """Positions stay; only the fields of the selection changed."""

    state: State
    fields: tuple[Field, ...]


@dataclasses.dataclass(frozen=True)
class Tensor:
    """One input or output of an op; `peers` are the ops at the other end."""

    name: str
    dtype: str
    shape: str
    peers: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Inspected:
    """Details of an op, or of a scope (then `op_type` is "")."""

    name: str
    op_type: str
    device: str
    ops: int
    variables: int
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    control_inputs: tuple[str, ...]
    attributes: tuple[tuple[str, str], ...]


@dataclasses.dataclass(frozen=True)
class Hit:
    """One op found."""

    name: str
    type: str


@dataclasses.dataclass(frozen=True)
class Found:
    """The first hits in graph order; `total` counts all."""

    hits: tuple[Hit, ...]
    total: int


@dataclasses.dataclass(frozen=True)
class Refused:
    """Nothing has changed; `why` is one sentence, `ops` what to highlight."""

    why: str
    ops: tuple[str, ...]


Reply = Drawn | Painted | Inspected | Found | Refused

REQUESTS: Mapping[str, type] = {kind.__name__.lower(): kind for kind in get_args(Request)}


def decode(message: object) -> tuple[int, Request]:
    """The id and the request of a message {"id": 7, "type": "toggle", "scope": "a"}; GraphEditError otherwise."""
    if not isinstance(message, dict) or not isinstance(message.get("id"), int):
        raise GraphEditError("A message to the editor needs a whole number as its id; reload the page.")
    kind = REQUESTS.get(str(message.get("type")))
    if kind is None:
        raise GraphEditError(f"The editor knows no request {str(message.get('type'))[:80]!r}; reload the page.")
    body = {key: value for key, value in message.items() if key not in {"id", "type"}}
    hints = get_type_hints(kind)
    unknown = sorted(set(body) - set(hints))
    if unknown:
        raise GraphEditError(f"A {message['type']!r} request has no field {str(unknown[0])[:80]!r}; reload the page.")
    values = {name: _checked(value, hints[name], name) for name, value in body.items()}
    needed = {f.name for f in dataclasses.fields(kind) if f.default is dataclasses.MISSING}
    if needed - set(values):
        raise GraphEditError(f"A {message['type']!r} request needs {min(needed - set(values))!r}; reload the page.")
    return message["id"], kind(**values)


def _checked(value: Any, hint: Any, name: str) -> Any:
    """`value` as the field's type wants it; lists become tuples."""
    if get_origin(hint) is Literal and value in get_args(hint):
        return value
    if get_origin(hint) is tuple and isinstance(value, list) and all(isinstance(v, str) for v in value):
        return tuple(value)
    if hint is str and isinstance(value, str):
        return value
    if hint is int and isinstance(value, int) and not isinstance(value, bool):
        return value
    raise GraphEditError(f"The field {name!r} of a request cannot be {str(value)[:80]!r}; reload the page.")


def encode(number: int, reply: Reply) -> dict[str, Any]:
    """The message for a reply, ready for JSON."""
    return {"id": number, "type": type(reply).__name__.lower(), **dataclasses.asdict(reply)}


def to_typescript() -> str:
    """The text of `labextension/src/protocol.ts`."""
    parts = ["// Generated by tfgraphwidget.protocol.to_typescript; do not edit.\n"]
    parts += [_interface(kind, tagged=False) for kind in (Field, State, Tensor, Hit)]
    parts += [_interface(kind, tagged=True) for kind in (*get_args(Request), *get_args(Reply))]
    for name, union in (("Request", Request), ("Reply", Reply)):
        members = "\n".join(f"  | {_type_name(kind)}" for kind in get_args(union))
        parts.append(f"export type {name} =\n{members};\n")
    return "\n".join(parts)


def _type_name(kind: type) -> str:
    """Requests get the suffix Request, so that `Clone` and DOM names do not clash."""
    return f"{kind.__name__}Request" if kind in get_args(Request) else kind.__name__


def _interface(kind: type, *, tagged: bool) -> str:
    doc = (kind.__doc__ or "").strip().partition("\n")[0]
    lines = [f"/** {doc} */", f"export interface {_type_name(kind)} {{"]
    if tagged:
        lines.append(f'  type: "{kind.__name__.lower()}";')
    lines += [f"  {name}: {_ts(hint)};" for name, hint in get_type_hints(kind).items()]
    return "\n".join([*lines, "}", ""])


def _ts(hint: Any) -> str:
    """The TypeScript type of an annotation."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return " | ".join(f'"{a}"' for a in args)
    if origin in {Union, types.UnionType}:
        return " | ".join(_ts(a) for a in args)
    if origin is tuple and args[-1] is Ellipsis:
        inner = _ts(args[0])
        return f"({inner})[]" if "|" in inner else f"{inner}[]"
    if origin is tuple:
        return f"[{', '.join(_ts(a) for a in args)}]"
    plain = {str: "string", int: "number", float: "number", bool: "boolean"}
    return plain.get(hint) or typing.cast("str", hint.__name__)

"""The wire: messages of the browser to requests, replies to messages."""

from __future__ import annotations

import dataclasses
import re
import types
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeGuard, get_args, get_origin, get_type_hints

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.widget.protocol import Piece, Refusal, Reply, Request, Working

_MOST = 2**63  # of a number: what JavaScript and numpy can hold
_LONGEST = 1_000_000  # characters: a line of Python with thousands of names in it
_MOST_SAID = 10_000  # characters of a refusal
ADDRESS = frozenset({"id", "type", "pane", "left"})
"""What each message may have beside the fields of its request."""
_HALF = re.compile("[\ud800-\udfff]")  # half a character, which no reply could carry back


def message_type(message_class: type) -> str:
    """The `type` of a message on the wire: "expand_all" for `ExpandAll`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", message_class.__name__).lower()


REQUESTS: Mapping[str, type] = {message_type(kind): kind for kind in get_args(Request)}


def decode(message: object) -> tuple[int, Request]:
    """Id and request of a message {"id": 7, "type": "toggle", "scope": "a"}, or GraphEditError."""
    if not isinstance(message, dict) or not is_whole(message.get("id")):
        raise GraphEditError(
            "A message to the editor needs a whole number as its id; reload the page."
        )
    kind = REQUESTS.get(message["type"]) if isinstance(message.get("type"), str) else None
    if kind is None:
        raise GraphEditError(
            f"The editor knows no request {_value_text(message.get('type'))}; reload the page."
        )
    body = {key: value for key, value in message.items() if key not in ADDRESS}
    return message["id"], _instance(kind, body, message["type"])


def pane_of(message: object) -> tuple[float, float] | None:
    """The pane that the drawing wraps to, [width, height] in CSS pixels beside the id of a message;
    None without one.

    Raises GraphEditError.
    """
    pane = message.get("pane") if isinstance(message, dict) else None
    if pane is None:
        return None
    sizes = _decode_value(pane, tuple[float, ...], "pane")
    if not (isinstance(sizes, tuple) and len(sizes) == 2 and min(sizes) >= 1):
        raise GraphEditError("A pane has a width and a height; reload the page.")
    return sizes


def _instance(kind: Any, body: dict[str, object], request_type: str) -> Any:
    """A request, or a part of one, of its fields."""
    hints = get_type_hints(kind, include_extras=True)
    unknown = sorted(set(body) - set(hints), key=str)
    if unknown:
        raise GraphEditError(
            f"A {request_type!r} request has no field {str(unknown[0])[:80]!r}; reload the page."
        )
    values = {name: _decode_value(value, hints[name], name) for name, value in body.items()}
    required_fields = {f.name for f in dataclasses.fields(kind) if f.default is dataclasses.MISSING}
    if required_fields - set(values):
        raise GraphEditError(
            f"A {request_type!r} request needs {min(required_fields - set(values))!r}; reload the "
            "page."
        )
    return kind(**values)


def _decode_value(value: object, hint: object, name: str) -> object:
    """`value` as the field's type wants it; lists become tuples."""
    if isinstance(hint, types.UnionType):  # int | None
        return None if value is None else _decode_value(value, get_args(hint)[0], name)
    if get_origin(hint) is Literal and value in get_args(hint):
        return value
    if get_origin(hint) is Annotated and isinstance(value, str) and get_args(hint)[1].allows(value):
        return value
    if get_origin(hint) is tuple and isinstance(value, list):
        return tuple(_decode_value(v, get_args(hint)[0], name) for v in value)
    if dataclasses.is_dataclass(hint) and isinstance(value, dict):
        return _instance(hint, value, name)
    if hint is float and (is_whole(value) or isinstance(value, float)) and abs(value) <= _MOST:
        return float(value)
    if hint is str and _is_text(value):
        return value
    if (hint is bool and isinstance(value, bool)) or (hint is int and is_whole(value)):
        return value
    raise GraphEditError(
        f"The field {name!r} of a request cannot be {_value_text(value)}; reload the page."
    )


def _is_text(value: object) -> bool:
    """Whether this is a text of whole characters, no longer than a field may be."""
    return isinstance(value, str) and len(value) <= _LONGEST and _HALF.search(value) is None


def is_whole(value: object) -> TypeGuard[int]:
    """Whether this is a whole number; to Python `true` is one too."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _MOST


def _value_text(value: object) -> str:
    """A value in a sentence: what is nested may be nested deeper than Python can print."""
    if isinstance(value, str | int | float | None):
        return repr(str(value)[:80])
    return f"a {type(value).__name__} of {len(value) if isinstance(value, list | dict) else 0:,}"


def _printable(text: str) -> str:
    """Text that UTF-8 has and that a panel can show."""
    return text[:_MOST_SAID].encode(errors="replace").decode()


def encode(number: int, reply: Reply | Working | Piece) -> dict[str, object]:
    """The message for a reply, ready for JSON, whatever a refusal quotes."""
    if isinstance(reply, Refusal):
        reply = dataclasses.replace(
            reply, why=_printable(reply.why), ops=tuple(map(_printable, reply.ops))
        )
    return {"id": number, "type": message_type(type(reply)), **dataclasses.asdict(reply)}

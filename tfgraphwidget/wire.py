"""The wire: messages of the browser to requests, replies to messages."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from math import isfinite
from typing import Any, Literal, get_args, get_origin, get_type_hints

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.protocol import Reply, Request

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
    if isinstance(hint, types.UnionType):  # int | None
        return None if value is None else _checked(value, get_args(hint)[0], name)
    if get_origin(hint) is Literal and value in get_args(hint):
        return value
    if get_origin(hint) is tuple and isinstance(value, list):
        return tuple(_checked(v, get_args(hint)[0], name) for v in value)
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
        return float(value)
    if hint in (str, bool) and isinstance(value, hint):
        return value
    if hint is int and isinstance(value, int) and not isinstance(value, bool):
        return value
    raise GraphEditError(f"The field {name!r} of a request cannot be {str(value)[:80]!r}; reload the page.")


def encode(number: int, reply: Reply) -> dict[str, Any]:
    """The message for a reply, ready for JSON."""
    return {"id": number, "type": type(reply).__name__.lower(), **dataclasses.asdict(reply)}

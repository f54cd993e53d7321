"""Fields of messages that a newer release of TensorFlow has: kept where that is possible, and named
where it is not.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from google.protobuf.unknown_fields import UnknownFieldSet

from tfgraphwidget.tf_types import Message

_FIXED = {1: "<Q", 5: "<I"}
_BYTES = 2


def copy_unknown_fields(source: Message, target: Message, *parts: str) -> None:
    """Add the fields to a message that another one of its kind has and that we do not know, unless
    it has such fields; so to the messages in `parts`, at any depth, by the key in a map:
    "signature_def".
    """
    # types-protobuf does not know that it can be gone through.
    fields: Any = UnknownFieldSet(source)
    encoded = b"".join(map(_encode, fields))
    if encoded and not len(UnknownFieldSet(target)):
        target.MergeFromString(encoded)
    for one, other in (pair for part in parts for pair in _counterparts(source, target, part)):
        copy_unknown_fields(one, other, *(field.name for field, _ in one.ListFields()))


def _counterparts(source: Any, target: Any, field: str) -> Iterator[tuple[Message, Message]]:
    """The messages that a field holds in two messages of a kind; of a repeated field none."""
    one, other = getattr(source, field), getattr(target, field)
    if hasattr(one, "keys"):
        yield from (
            (one[key], other[key])
            for key in one
            if key in other and hasattr(one[key], "ListFields")
        )
    elif hasattr(one, "ListFields") and source.HasField(field) and target.HasField(field):
        yield one, other


def has_unknown_fields(message: Message) -> bool:
    """Whether a message, or one in it, has fields that we do not know."""
    if len(UnknownFieldSet(message)):
        return True
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        if hasattr(value, "values"):
            inside = value.values()
        else:
            inside = value if hasattr(value, "append") else [value]
        if any(has_unknown_fields(each) for each in inside if hasattr(each, "ListFields")):
            return True
    return False


def _encode(field: Any) -> bytes:
    """A field as it is on the wire; those of groups, which TensorFlow has none of, are left out."""
    key = _number(field.field_number << 3 | field.wire_type)
    if field.wire_type in _FIXED:
        return key + struct.pack(_FIXED[field.wire_type], field.data)
    if field.wire_type == _BYTES:
        return key + _number(len(field.data)) + bytes(field.data)
    return key + _number(field.data) if field.wire_type == 0 else b""


def _number(value: int) -> bytes:
    encoded = b""
    while value > 127:
        encoded += bytes([value & 127 | 128])
        value >>= 7
    return encoded + bytes([value])

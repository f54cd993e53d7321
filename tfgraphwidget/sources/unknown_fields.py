"""Fields of messages that a newer release of TensorFlow has: kept where that is possible, and named where it is not."""

from __future__ import annotations

import struct
from typing import Any

from google.protobuf.unknown_fields import UnknownFieldSet

from tfgraphwidget.tf_types import Message

_FIXED = {1: "<Q", 5: "<I"}
_BYTES = 2


def copy_unknown_fields(source: Message, target: Message) -> None:
    """Add the fields to a message that another one of its kind has and that we do not know.

    Args:
        source: The message that has them.
        target: The message that gets them.
    """
    fields: Any = UnknownFieldSet(source)  # types-protobuf does not know that it can be gone through
    encoded = b"".join(map(_encode, fields))
    if encoded:
        target.MergeFromString(encoded)


def has_unknown_fields(message: Message) -> bool:
    """Whether a message, or one in it, has fields that we do not know."""
    if len(UnknownFieldSet(message)):
        return True
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        inside = value.values() if hasattr(value, "values") else value if hasattr(value, "append") else [value]
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

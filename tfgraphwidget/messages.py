"""Copies of protobuf messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from tfgraphwidget.tf_types import NodeDef

_Message = TypeVar("_Message", bound="Message")


def copy_of(message: _Message) -> _Message:
    """A copy of a message, which can be changed."""
    copy = type(message)()
    copy.CopyFrom(message)
    return copy


def copy_without_inputs(node: NodeDef, name: str) -> NodeDef:
    """A copy of an op under a name, without inputs and colocation."""
    copy = copy_of(node)
    copy.name = name
    del copy.input[:]
    copy.attr.pop("_class", None)
    return copy

"""The bytes of a GraphDef as a graph whose NodeDefs are parsed when they are looked at.

protobuf makes a million messages of a million ops, 800 MB, where a drawing needs names, types and
edges. So the bytes are cut into the records of NodeDefs; protobuf parses them part by part, which
checks each of them, and keeps none. What is no plain sequence of fields is left to protobuf as a
whole, so that it alone decides what a damaged file is.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Any

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import NodeDefs, NodeRecords
from tfgraphwidget.tf_types import GraphDef

_NODE = 0x0A  # the tag of GraphDef.node: field 1, of bytes with their length before them
_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5  # the kinds of fields, by their numbers
_MANY = 20_000  # ops; messages of fewer are made at once, which takes less than looks one by one
_MOST_DIGITS = 10  # bytes of a number


@dataclass(frozen=True)
class StoredGraphDef:
    """A GraphDef of a file: as the message, with `node` parsed when it is looked at.

    Attributes:
        envelope: The GraphDef without its NodeDefs.
        node: Its NodeDefs.
    """

    envelope: GraphDef
    node: NodeDefs

    @property
    def DESCRIPTOR(self) -> Any:  # noqa: N802  # as messages have it
        """That of GraphDef."""
        return self.envelope.DESCRIPTOR

    @property
    def library(self) -> Any:
        """The functions."""
        return self.envelope.library


def parse_graph_def(data: bytes, graph_def: type[GraphDef]) -> GraphDef | StoredGraphDef:
    """Parse a GraphDef.

    Args:
        data: The bytes.
        graph_def: The message class.

    Returns:
        The graph; a whole message of a small one, and of NodeDefs that need repairs before they are
        a graph.

    Raises:
        DecodeError: protobuf does not parse the bytes.
    """
    cut = _cut(data)
    if cut is None or len(cut[0]) <= _MANY:
        return graph_def.FromString(data)
    starts, rest = cut
    envelope = graph_def.FromString(rest)
    if envelope.node:  # whose tags are written with more digits than they need
        return graph_def.FromString(data)
    records = NodeRecords(data, starts, lambda part: graph_def.FromString(part).node[:])
    try:
        return StoredGraphDef(envelope, NodeDefs(records))
    except GraphEditError:
        return graph_def.FromString(data)


def _cut(data: bytes) -> tuple[array[int], bytes] | None:
    """Where the record of each NodeDef begins and the last one ends, and all other fields; None for
    bytes that are no plain sequence of fields.

    A record goes up to the next one, so that other fields between them are parsed with it again.
    """
    starts: list[int] = []
    rest = bytearray()
    at, end = 0, len(data)
    try:
        while at < end:
            start = at
            if data[at] == _NODE:
                starts.append(at)
                # A length of up to two bytes is read here: nearly all are, and there may be a
                # million.
                size = data[at + 1]
                at += 2
                if size > 127:
                    high = data[at]
                    at += 1
                    if high > 127:
                        size, at = _number(data, at - 2)
                    else:
                        size += (high - 1) << 7
                at += size
            else:
                at = _after_field(data, at)
                rest += data[start:at]
    except (IndexError, ValueError):
        return None
    if at != end:
        return None
    starts.append(end)
    return array("q", starts), bytes(rest)


def _after_field(data: bytes, at: int) -> int:
    """The place after a field. Raises ValueError for a kind that GraphDefs have none of."""
    tag, at = _number(data, at)
    kind = tag & 7
    if kind == _VARINT:
        return _number(data, at)[1]
    if kind == _BYTES:
        size, at = _number(data, at)
        return at + size
    if kind in (_FIXED_64, _FIXED_32):
        return at + (8 if kind == _FIXED_64 else 4)
    raise ValueError(f"field of kind {kind}")


def _number(data: bytes, at: int) -> tuple[int, int]:
    """The number that begins at a place, and the place after it."""
    number = 0
    for digit in range(_MOST_DIGITS):
        byte = data[at + digit]
        number |= (byte & 127) << 7 * digit
        if byte < 128:
            return number, at + digit + 1
    raise ValueError("no number ends here")

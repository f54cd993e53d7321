"""The bytes of a GraphDef as a graph whose NodeDefs are looked at one by one.

protobuf makes a million messages of a million ops, 800 MB, where a drawing needs names, types and
edges. So the bytes are cut into the records of NodeDefs; protobuf parses them part by part, which
checks each of them, and keeps none. Where they are no graph, protobuf parses them as a whole, so
that it alone decides what a damaged file is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import NodeDefs
from tfgraphwidget.sources.node_columns import (
    LONG_RECORD,
    MOST_MESSAGES,
    join_records,
    node_records,
    split_records,
)
from tfgraphwidget.tf_types import GraphDef

_PART = 256  # NodeDefs that are checked together: so many stay in the cache of a processor


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
    """Parse a GraphDef, as a whole message where the ops are large, or NodeDefs need repairs before
    they are a graph. Raises DecodeError where protobuf does not parse the bytes.
    """
    try:
        records, rest = split_records(data)
    except DecodeError:
        return graph_def.FromString(data)  # whose error names a message of TensorFlow
    if len(data) > LONG_RECORD * len(records):
        return graph_def.FromString(data)
    message = graph_def.FromString(data) if len(records) <= MOST_MESSAGES else None
    if message is None:
        for start in range(0, len(records), _PART):
            graph_def.FromString(join_records(records[start : start + _PART]))
    nodes = node_records(records, None if message is None else message.node)
    try:
        return StoredGraphDef(graph_def.FromString(rest), NodeDefs(nodes))
    except GraphEditError:
        return graph_def.FromString(data)

"""A networkx graph as `editor.networkx()` gives it, as NodeDefs again.

An op is what its NodeDef says; its name is the node's, and what it reads is what the edges say: a graph that networkx
has cut or relabelled is opened as it is now.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from google.protobuf.message import DecodeError

from tfgraphwidget.errors import NotAGraph
from tfgraphwidget.graph.edges import CONTROL
from tfgraphwidget.names import as_input, split_input, split_tensor
from tfgraphwidget.sources.parsing import GRAPH, META
from tfgraphwidget.sources.paths import shortened

_WAY_OUT = "give what editor.networkx() gave, with nodes and edges left out or relabelled at most"


def is_networkx(thing: Any) -> bool:
    """Whether it is one of networkx's graphs; there is none unless somebody has imported it."""
    networkx = sys.modules.get("networkx")
    return networkx is not None and isinstance(thing, networkx.Graph)


def meta_graph_of(graph: Any) -> Any:
    """The MetaGraphDef of a networkx graph. Raises NotAGraph for one that does not say what its ops are."""
    held = graph.graph.get("meta_graph_def")
    if not (graph.is_multigraph() and graph.is_directed() and isinstance(held, bytes)):
        raise NotAGraph(
            f"This networkx {type(graph).__name__} does not say what its ops are ('node_def' of each node and "
            f"'meta_graph_def' of the graph); {_WAY_OUT}."
        )
    meta = _proto(META, held, "The networkx graph's 'meta_graph_def'")
    meta.graph_def.node.extend(_nodes(graph))
    return meta


def _proto(kind: Any, content: Any, what: str) -> Any:
    try:
        return kind.FromString(content)
    except (DecodeError, TypeError):
        raise NotAGraph(f"{what} is no {kind.DESCRIPTOR.name}; {_WAY_OUT}.") from None


def _nodes(graph: Any) -> Iterator[Any]:
    kind = type(GRAPH().node.add())
    for name, data in graph.nodes(data=True):
        if not isinstance(name, str) or not isinstance(data.get("node_def"), bytes):
            raise NotAGraph(f"Node {shortened(name)} of the networkx graph has no 'node_def'; {_WAY_OUT}.")
        node = _proto(kind, data["node_def"], f"The 'node_def' of node {shortened(name)}")
        told = [split_input(text) for text in node.input]
        read = list(_read(graph, name, sum(port != CONTROL for _, port in told)))
        if read != told:
            node.input[:] = [as_input(*tensor) for tensor in read]
        node.name = name
        yield node


def _read(graph: Any, name: str, slots: int) -> Iterator[tuple[str, int]]:
    """(op, port) of each tensor that an op reads, in the order of its inputs, then what it waits for."""
    tensors: dict[Any, tuple[str, int]] = {}
    waits: list[tuple[str, int]] = []
    for source, _, data in graph.in_edges(name, data=True):
        port = split_tensor(str(data.get("tensor", "")))[1]
        if data.get("control") is True:
            waits.append((source, CONTROL))
        elif port is None or not isinstance(data.get("slot"), int) or data["slot"] in tensors:
            raise NotAGraph(
                f"The edge from {shortened(source)} to {shortened(name)} does not say which tensor it is and at which "
                f"input it is read ('tensor' and 'slot'); {_WAY_OUT}."
            )
        else:
            tensors[data["slot"]] = source, port
    if sorted(tensors) != list(range(slots)):
        lacking = next((slot for slot in range(slots) if slot not in tensors), len(tensors))
        raise NotAGraph(
            f"Op {name!r} reads {slots} tensor{'' if slots == 1 else 's'}, and its networkx node has edges for "
            f"{len(tensors)}: none for input {lacking}; leave out who reads along with what is read."
        )
    yield from (tensors[slot] for slot in range(slots))
    yield from waits

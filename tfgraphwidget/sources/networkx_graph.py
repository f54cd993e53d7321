"""Convert a networkx graph that `editor.to_networkx()` returned to NodeDefs.

An op is what its NodeDef says; its name is the node's, and what it reads is what the edges say: a
graph that networkx has cut or relabelled is opened as it is now. Collections, variables and
colocations name ops as the NodeDefs did; they follow, and of ops that are left out they let go:
TensorFlow imports nothing that names an op which is not there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, TypeGuard

from google.protobuf.message import DecodeError

from tfgraphwidget.errors import NotAGraph
from tfgraphwidget.graph import CONTROL
from tfgraphwidget.naming import as_input, names_text, split_input, split_tensor
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.paths import shorten
from tfgraphwidget.tf_types import MetaGraphDef, NodeDef

_WAY_OUT = in_cell(
    "give what editor.to_networkx() gave, with nodes and edges left out or relabelled at most"
)
_NEEDED = ("variable_name", "initializer_name", "snapshot_name")
_LOC = b"loc:@"
# Names of the ops that are there: as their NodeDefs have them -> as the nodes are called.
Now = Mapping[str, str]


def is_networkx(thing: object) -> TypeGuard[NetworkxGraph]:
    """Whether an object is a networkx graph; networkx is not imported for this."""
    networkx = sys.modules.get("networkx")
    return networkx is not None and isinstance(thing, networkx.Graph)


class NetworkxGraph(Protocol):
    """The used part of a `networkx.MultiDiGraph`, which ships no types."""

    graph: Mapping[str, object]

    def is_multigraph(self) -> bool:
        """Whether two nodes can have several edges."""

    def is_directed(self) -> bool:
        """Whether edges have a direction."""

    def nodes(self, *, data: bool) -> Iterable[tuple[object, Mapping[str, object]]]:
        """The nodes with their attributes."""

    def in_edges(self, node: str, *, data: bool) -> Iterable[tuple[str, str, Mapping[str, Any]]]:
        """The edges to a node, with their attributes."""


def networkx_meta_graph(graph: NetworkxGraph) -> tuple[MetaGraphDef, tuple[str, ...]]:
    """The MetaGraphDef of a networkx graph, and a sentence for each entry that was lost with
    removed ops.

    Raises NotAGraph for one that does not say what its ops are.
    """
    content = graph.graph.get("meta_graph_def")
    if not (graph.is_multigraph() and graph.is_directed() and isinstance(content, bytes)):
        raise NotAGraph(
            f"This networkx {type(graph).__name__} does not say what its ops are ('node_def' of "
            "each node and 'meta_graph_def' of the graph); " + _WAY_OUT + "."
        )
    meta = _proto(tf_protos.MetaGraphDef, content, "The networkx graph's 'meta_graph_def'")
    now: dict[str, str] = {}
    for node, name in _nodes(graph):
        now[node.name], node.name = name, name
        meta.graph_def.node.append(node)
    return meta, (
        *_colocations(meta.graph_def.node, now),
        *_members(meta, now),
        *_variables(meta, now),
    )


def _proto(kind: Any, content: object, what: str) -> Any:
    try:
        return kind.FromString(content)
    except (DecodeError, TypeError):
        raise NotAGraph(f"{what} is not a {kind.DESCRIPTOR.name}; " + _WAY_OUT + ".") from None


def _nodes(graph: NetworkxGraph) -> Iterator[tuple[NodeDef, str]]:
    """Each NodeDef, under the name that it was written with, and the name of its node."""
    kind = tf_protos.NodeDef
    for name, data in graph.nodes(data=True):
        if not isinstance(name, str) or not isinstance(data.get("node_def"), bytes):
            raise NotAGraph(
                f"Node {shorten(name)} of the networkx graph has no 'node_def'; " + _WAY_OUT + "."
            )
        node = _proto(kind, data["node_def"], f"The 'node_def' of node {shorten(name)}")
        inputs = [split_input(text) for text in node.input]
        read = list(_read(graph, name, sum(port != CONTROL for _, port in inputs)))
        if read != inputs:
            node.input[:] = [as_input(*tensor) for tensor in read]
        yield node, name


def _read(graph: NetworkxGraph, name: str, slots: int) -> Iterator[tuple[str, int]]:
    """(op, port) of each tensor that an op reads, in order, then what it waits for."""
    tensors: dict[int, tuple[str, int]] = {}
    waits: list[tuple[str, int]] = []
    for source, _, data in graph.in_edges(name, data=True):
        port = split_tensor(str(data.get("tensor", "")))[1]
        if data.get("control") is True:
            waits.append((source, CONTROL))
        elif port is None or not isinstance(data.get("slot"), int) or data["slot"] in tensors:
            raise NotAGraph(
                f"The edge from {shorten(source)} to {shorten(name)} does not say which tensor it "
                "is and at which input it is read ('tensor' and 'slot'); " + _WAY_OUT + "."
            )
        else:
            tensors[data["slot"]] = source, port
    if sorted(tensors) != list(range(slots)):
        lacking = next((slot for slot in range(slots) if slot not in tensors), len(tensors))
        raise NotAGraph(
            f"Op {name!r} reads {slots} tensor{'' if slots == 1 else 's'}, and its networkx node "
            f"has edges for {len(tensors)}: none for input {lacking}; leave out who reads along "
            "with what is read."
        )
    yield from (tensors[slot] for slot in range(slots))
    yield from waits


def _now(tensor: str, now: Now) -> str:
    """The present name of an op or tensor; "" if it was removed."""
    op, port = split_tensor(tensor)
    return now.get(op, "") if port is None or op not in now else f"{now[op]}:{port}"


def _colocations(nodes: Iterable[NodeDef], now: Now) -> Iterator[str]:
    alone = []
    for node in nodes:
        if "_class" not in node.attr:
            continue
        values = list(node.attr["_class"].list.s)
        present = [value for value in (_beside(value, now) for value in values) if value]
        if len(present) < len(values):
            alone.append(node.name)
        if not present:
            del node.attr["_class"]
        elif present != values:
            node.attr["_class"].list.s[:] = present
    if alone:
        yield (
            f"{names_text(alone)} had to be on the device of ops that are left out, and can be "
            "on any now."
        )


def _beside(value: bytes, now: Now) -> bytes:
    """A value of `_class`, with the present name of the op to stand beside, or empty."""
    if not value.startswith(_LOC):
        return value
    name = now.get(value.removeprefix(_LOC).decode(errors="replace"), "")
    return _LOC + name.encode() if name else b""


def _members(meta: MetaGraphDef, now: Now) -> Iterator[str]:
    for key in sorted(meta.collection_def):
        names = list(meta.collection_def[key].node_list.value)
        present = [_now(name, now) for name in names if _now(name, now)]
        if removed := [name for name in names if not _now(name, now)]:
            yield (
                f"Collection {key!r} no longer holds {names_text(removed)}, which the networkx "
                "graph leaves out."
            )
        if names:
            meta.collection_def[key].node_list.value[:] = present
        if names and not present:
            del meta.collection_def[key]


def _variables(meta: MetaGraphDef, now: Now) -> Iterator[str]:
    removed: dict[str, None] = {}
    for key in sorted(meta.collection_def):
        entries = list(meta.collection_def[key].bytes_list.value)
        present = []
        for data in entries:
            variable = _proto(tf_protos.VariableDef, data, f"A variable of collection {key!r}")
            variable_name = variable.variable_name
            for field in (*_NEEDED, "initial_value_name"):
                setattr(variable, field, _now(getattr(variable, field), now))
            if all(getattr(variable, field) for field in _NEEDED):
                present.append(variable.SerializeToString(deterministic=True))
            else:
                removed[variable_name] = None
        if entries:
            meta.collection_def[key].bytes_list.value[:] = present
        if entries and not present:
            del meta.collection_def[key]
    if removed:
        yield (
            f"The collections no longer hold {names_text(list(removed))}: the op, initializer or "
            "read of each is left out."
        )

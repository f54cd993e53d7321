"""A graph as a networkx graph, for networkx's algorithms and file formats."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path
from typing import Any

import networkx as nx

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.edges import CONTROL
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op import Op
from tfgraphwidget.graph.tensors import Shape, shape_text
from tfgraphwidget.progress import report_each, tell
from tfgraphwidget.tf_types import TensorShapeProto

_MOST_EDGES = 300_000  # of a GraphML file, which is written in a minute
_MOST_KEYS = 3_000  # names of attributes in a GraphML file, as above
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def networkx(index: GraphIndex, *, text: bool = False, nodes: bool = False) -> nx.MultiDiGraph:
    """Ops as nodes by name, in graph order, and an edge for each tensor read and each control
    input.

    Nodes have `op` (the type), `scope` and `device` ("" for none), and `attributes`: name -> str,
    number, bool, a dtype's name, a shape (as below), a function's name, or a list of these; of a
    constant only "tensor (2, 3)".

    Edges go from the producer to the consumer, and all have `control` and `tensor` ("a:0", or "^a"
    of a control input). Those of tensors also have `dtype` ("" where it is not known), `shape` (a
    tuple with None for unknown dimensions; None for an unknown rank) and `slot`, the input that the
    tensor is, which is the edge's key too. The keys of control inputs are "^0", "^1" and so on.

    The graph has `variables` and `functions` (tuples of names) and `collections` (key -> tuple of
    names).

    With `text=True` each value is a str, an int or a bool, as `networkx.write_graphml` and
    `write_gexf` want it: shapes and keys are texts, and an attribute is a value of its own,
    "attr.strides": "[1, 1, 1, 1]". With `nodes=True` nodes have `node_def` too, the bytes of their
    NodeDefs.
    """
    graph = nx.MultiDiGraph(**_about(index, text=text))
    for i, name in enumerate(report_each(index.names, "Taking the ops")):
        op = Op(index, i)
        attributes = {key: _plain(op.attr(key)) for key in sorted(index.nodes[i].attr)}
        details: dict[str, object] = {"attributes": attributes}
        if text:
            details = {f"attr.{key}": str(value) for key, value in attributes.items()}
        if nodes:
            details["node_def"] = index.nodes[i].SerializeToString(deterministic=True)
        graph.add_node(name, op=op.type, scope=op.scope, device=op.device, **details)
    cache: dict[tuple[int, int], dict[str, object]] = {}
    start, to, port = (column.tolist() for column in index.sources)
    for i, consumer in enumerate(report_each(index.names, "Taking the edges")):
        slots = len(index.input_lists[i])
        # Of each op the tensors come first, in slot order, then the control inputs.
        for k, edge in enumerate(range(start[i], start[i + 1])):
            tensor = to[edge], port[edge]
            if tensor not in cache:
                cache[tensor] = _tensor(index, *tensor, text=text)
            source = index.names[tensor[0]]
            if k < slots:
                slot_key = str(k) if text else k
                graph.add_edge(source, consumer, slot_key, slot=k, **cache[tensor])
            else:
                graph.add_edge(source, consumer, f"^{k - slots}", **cache[tensor])
    return graph


def _about(index: GraphIndex, *, text: bool) -> dict[str, object]:
    """The attributes of the whole graph; as text without collections, whose names are long."""
    variables = tuple(variable.handle for variable in index.variable_defs)
    functions = tuple(sorted(index.functions))
    if text:
        return {"variables": " ".join(variables), "functions": " ".join(functions)}
    collections = {
        key: tuple(member.name for member in members) for key, members in index.collections.items()
    }
    return {"variables": variables, "functions": functions, "collections": collections}


def _tensor(index: GraphIndex, op: int, port: int, *, text: bool) -> dict[str, object]:
    """The attributes of an edge: those of its tensor."""
    if port == CONTROL:
        return {"tensor": f"^{index.names[op]}", "control": True}
    shape = index.shape(op, port)
    details = {
        "tensor": f"{index.names[op]}:{port}",
        "dtype": index.dtypes(op)[port],
        "control": False,
    }
    return {**details, "shape": shape_text(shape) if text else shape}


def _plain(value: Any) -> object:
    """An attribute's value without protos and bytes."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    kind = type(value).__name__
    if kind == "TensorShapeProto":
        return _shape(value)
    if kind == "TensorProto":
        return f"tensor {shape_text(_shape(value.tensor_shape))}"
    return value.name if kind == "NameAttrList" else value


def _shape(proto: TensorShapeProto) -> Shape:
    if proto.unknown_rank:
        return None
    return tuple(None if dim.size < 0 else dim.size for dim in proto.dim)


def write_graphml(index: GraphIndex, path: Path) -> None:
    """Write the graph as GraphML, which networkx, Gephi and yEd read; every attribute is a str, an
    int or a bool.

    Raises GraphEditError for more edges, or more attributes of different names, than can be written
    in a minute.
    """
    _check_size(index)
    graph = networkx(index, text=True)
    of_nodes = (attributes for _, attributes in graph.nodes(data=True))
    of_edges = (attributes for _, _, attributes in graph.edges(data=True))
    for attributes in chain([graph.graph], of_nodes, of_edges):
        entries = {
            _printable(key): _printable(value) if isinstance(value, str) else value
            for key, value in attributes.items()
        }
        attributes.clear()
        attributes.update(entries)
    if any(_NOT_XML.search(name) for name in graph):
        graph = nx.relabel_nodes(graph, _printable)
    tell("Writing GraphML")
    nx.write_graphml(graph, path)


def _check_size(index: GraphIndex) -> None:
    """GraphML declares each attribute in its head, in time quadratic in their number."""
    edge_count = len(index.sources[1])
    key_count = len({key for node in index.nodes for key in node.attr})
    for count, most, what in (
        (edge_count, _MOST_EDGES, "edges"),
        (key_count, _MOST_KEYS, "attributes of different names"),
    ):
        if count > most:
            raise GraphEditError(
                f"The graph has {count:,} {what}, and GraphML is written of {most:,} at most; save "
                "it as .pb or .dot, or save an extract of it."
            )


def _printable(text: str) -> str:
    """A text without the characters that no XML may hold."""
    return _NOT_XML.sub(lambda match: match[0].encode("unicode_escape").decode(), text)

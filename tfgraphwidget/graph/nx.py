"""An index as a networkx graph."""

from __future__ import annotations

import networkx as nx

from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op import Op


def networkx(index: GraphIndex) -> nx.MultiDiGraph:
    """Ops as nodes by name, and an edge for each tensor read and each control input.

    Nodes, in graph order, have `op` (the type), `scope`, `device`, and `attributes`, a dict from names to Python values
    as `graph.op.Op.attr` gives them. Edges from who makes to who reads have `control`; those of tensors also `tensor`
    ("a:0"), `dtype`, `shape` (a tuple with None for unknown dimensions; None for an unknown rank) and `slot`, the
    input that the tensor is.
    """
    graph = nx.MultiDiGraph()
    for i in range(len(index)):
        op = Op(index, i)
        attributes = {name: op.attr(name) for name in index.nodes[i].attr}
        graph.add_node(op.name, op=op.type, scope=op.scope, device=op.device, attributes=attributes)
    for i, reader in enumerate(index.names):
        start = index.inputs.start[i]
        for slot, source in enumerate(index.input_lists[i]):
            port = int(index.ports[start + slot])
            tensor, dtype = f"{index.names[source]}:{port}", index.dtypes(source)[port]
            about = {"tensor": tensor, "dtype": dtype, "shape": index.shape(source, port), "slot": slot}
            graph.add_edge(index.names[source], reader, control=False, **about)
        for waited in index.control_lists[i]:
            graph.add_edge(index.names[waited], reader, control=True)
    return graph

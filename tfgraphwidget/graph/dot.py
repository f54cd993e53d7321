"""A graph in Graphviz's language, for `dot -Tsvg`."""

from __future__ import annotations

from collections.abc import Iterator

from tfgraphwidget.graph.edges import CONTROL
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.tensors import shape_text
from tfgraphwidget.naming import last_part
from tfgraphwidget.progress import report_each


def text(index: GraphIndex) -> str:
    """The whole graph: a cluster per name scope, a box per op, dashed edges for controls."""
    return "\n".join(["digraph {", *_head(), *_scope(index), *_edges(index), "}", ""])


def quote(value: str) -> str:
    """A string as Graphviz reads it: `"a"`; nothing in it means anything to Graphviz."""
    plain = (
        value.replace("\\", "\\\\")
        .replace('"', '\\"')
        .replace("\r", "")
        .replace("\n", "\\n")
        .replace("\0", "")
    )
    return f'"{plain}"'


def _head() -> Iterator[str]:
    yield "  graph [compound=true, rankdir=BT, fontname=sans, style=rounded, color=gray];"
    yield "  node [shape=box, style=rounded, fontname=sans];"
    yield "  edge [fontname=sans, fontsize=9, color=gray40];"


def _scope(index: GraphIndex) -> Iterator[str]:
    """The ops, inside the clusters of their scopes."""
    tree = index.scopes
    stack: list[tuple[int, int, bool]] = [(0, 0, False)]
    while stack:
        scope, depth, closes = stack.pop()
        indent = "  " * (depth + 1)
        if closes:
            yield "  " * depth + "}"
            continue
        if scope:
            yield f"{'  ' * depth}subgraph {quote(f'cluster_{tree.names[scope]}')} {{"
            yield f"{indent}label={quote(last_part(tree.names[scope]))};"
            stack.append((scope, depth, True))
        for i in tree.own_ops(scope).tolist():
            name = quote(index.names[i])
            label = quote(f"{last_part(index.names[i])}\n{index.types[i]}")
            yield f"{indent}{name} [label={label}, tooltip={name}];"
        stack += [(inner, depth + 1, False) for inner in reversed(tree.children[scope])]


def _edges(index: GraphIndex) -> Iterator[str]:
    start, to, port = (column.tolist() for column in index.sources)
    text_of_tensor: dict[tuple[int, int], str] = {}  # a tensor may have many consumers
    for i, consumer in enumerate(report_each(index.names, "Writing the edges")):
        end = quote(consumer)
        for edge in range(start[i], start[i + 1]):
            tensor = to[edge], port[edge]
            if tensor not in text_of_tensor:
                text_of_tensor[tensor] = _tensor(index, *tensor)
            yield f"  {quote(index.names[to[edge]])} -> {end} {text_of_tensor[tensor]};"


def _tensor(index: GraphIndex, op: int, port: int) -> str:
    """How an edge looks that carries a tensor."""
    if port == CONTROL:
        return "[style=dashed]"
    label = f"{index.dtypes(op)[port]} {shape_text(index.shape(op, port))}".strip()
    return f"[label={quote(label)}, edgetooltip={quote(f'{index.names[op]}:{port}')}]"

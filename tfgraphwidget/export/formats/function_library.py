"""The function library that goes along with what is written, and the GraphDef of the whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export.request import Export
from tfgraphwidget.graph import GraphIndex, called_functions
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.tf_types import GraphDef, NodeDef


def whole(what: Export) -> tf.compat.v1.GraphDef:
    """Every op the editor shows, with all functions; ops hidden by undo are left out."""
    return assembled(what.index, what.envelope(), what.written(what.index.nodes))


def assembled(index: GraphIndex, graph_def: GraphDef, nodes: Iterable[NodeDef]) -> Any:
    """A GraphDef without nodes, given these, and with the functions of the index as its library."""
    graph_def.node.extend(nodes)
    library = graph_def.library
    there = {function.signature.name for function in library.function}
    if not there <= index.functions:  # hidden by undo
        kept = [function for function in library.function if function.signature.name in index.functions]
        gradients = [gradient for gradient in library.gradient if gradient.function_name in index.functions]
        library.CopyFrom(tf_protos.FunctionDefLibrary(function=kept, gradient=gradients))
    lacking = sorted(index.functions - there)
    if lacking:
        graph_def.library.function.extend(function_of(index, name) for name in lacking)
    return graph_def


def called(index: GraphIndex, nodes: Iterable[NodeDef]) -> Any:
    """A FunctionDefLibrary of the functions that NodeDefs call, those that these call, and their gradients."""
    found: dict[str, Any] = {}
    gradients: dict[str, str] = {}
    stack = list(nodes)
    while stack:
        wanted = [door.function for door in called_functions(stack.pop(), index.functions)]
        while wanted:
            name = wanted.pop()
            if name in found:
                continue
            found[name] = function_of(index, name)
            stack += found[name].node_def
            if gradient := index.extras.gradient(name):
                gradients[name] = gradient
                wanted.append(gradient)
    return tf_protos.FunctionDefLibrary(
        function=[found[name] for name in sorted(found)],
        gradient=[tf_protos.GradientDef(function_name=f, gradient_func=g) for f, g in sorted(gradients.items())],
    )


def function_of(index: GraphIndex, name: str) -> Any:
    """The FunctionDef of that name."""
    try:
        return index.extras.function(name)
    except KeyError:
        raise GraphEditError(
            f"The graph calls function {name!r}, which its library does not hold; import the graph again with its "
            "function library."
        ) from None

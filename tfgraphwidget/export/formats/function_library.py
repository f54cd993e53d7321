"""The function library of a written graph, and the complete GraphDef."""

from __future__ import annotations

from collections.abc import Iterable

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export.request import ExportRequest
from tfgraphwidget.graph import GraphIndex
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.tf_types import FunctionDef, FunctionDefLibrary, GraphDef, NodeDef


def complete_graph_def(request: ExportRequest) -> GraphDef:
    """The GraphDef of every op that the editor shows, with all functions, without hidden ops."""
    return fill_graph_def(
        request.index, request.graph.envelope(), request.graph.as_in_file(request.index.nodes)
    )


def fill_graph_def(index: GraphIndex, graph_def: GraphDef, nodes: Iterable[NodeDef]) -> GraphDef:
    """Add nodes to a GraphDef without any, and make its library that of an index; returns it."""
    graph_def.node.extend(nodes)
    library = graph_def.library
    there = {function.signature.name for function in library.function}
    if not there <= index.functions:  # hidden by undo
        used_functions = [
            function for function in library.function if function.signature.name in index.functions
        ]
        gradients = [
            gradient for gradient in library.gradient if gradient.function_name in index.functions
        ]
        library.CopyFrom(tf_protos.FunctionDefLibrary(function=used_functions, gradient=gradients))
    lacking = sorted(index.functions - there)
    if lacking:
        graph_def.library.function.extend(function_of(index, name) for name in lacking)
    return graph_def


def library_of(index: GraphIndex, nodes: Iterable[NodeDef]) -> FunctionDefLibrary:
    """The library of the functions that nodes call, directly or not, and their gradients."""
    try:
        definitions = dict(sorted(index.reachable_functions(nodes).items()))
    except KeyError as error:
        raise _missing_function(error.args[0]) from None
    gradients = {name: index.extras.gradient(name) for name in definitions}
    library: FunctionDefLibrary = tf_protos.FunctionDefLibrary(
        function=definitions.values(),
        gradient=[
            tf_protos.GradientDef(function_name=name, gradient_func=gradient)
            for name, gradient in gradients.items()
            if gradient
        ],
    )
    return library


def function_of(index: GraphIndex, name: str) -> FunctionDef:
    """The FunctionDef of that name."""
    try:
        definition: FunctionDef = index.extras.function(name)
    except KeyError:
        raise _missing_function(name) from None
    return definition


def _missing_function(name: str) -> GraphEditError:
    return GraphEditError(
        f"The graph calls function {name!r}, which its library does not hold; import the graph "
        "again with its function library."
    )

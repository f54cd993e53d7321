"""Whether TensorFlow may be given ops and functions: what it makes of some ends the process, or
takes all memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfgraphwidget.graph import NodesByName, called_functions, nodes_of_types
from tfgraphwidget.naming import split_input
from tfgraphwidget.sources.inference.bounds import FATAL_SHAPES, Bounds, Excess, why_fatal
from tfgraphwidget.sources.inference.call_depth import why_endless
from tfgraphwidget.sources.inference.dtypes import OpTypes
from tfgraphwidget.sources.inference.shapes import UNKNOWN, DerivedShapes
from tfgraphwidget.sources.paths import shorten
from tfgraphwidget.tf_types import FunctionDef, NodeDef


def why_not_imported(
    nodes: Sequence[NodeDef], functions: Mapping[str, FunctionDef], producer: int | None = None
) -> str:
    """Why TensorFlow must not import ops with functions, as a part of a sentence: "function 'f'
    calls itself"; "" where it may.

    Args:
        nodes: The ops; where there are none, any of the functions may be called.
        producer: The version of the graph; None for the present one.
    """
    called = (called.function for node in nodes for called in called_functions(node, functions))
    name, why = why_endless(functions, called if nodes else functions)
    if why:
        return f"function {name!r} {why}"
    definition = OpTypes(functions.__getitem__).definition
    excess = Bounds(definition).excess(nodes, functions)
    if excess is None:
        shapes = DerivedShapes(NodesByName(nodes), definition, producer)
        fatal = (_fatal(node, shapes) for node in nodes_of_types(nodes, FATAL_SHAPES))
        excess = next((each for each in fatal if each is not None), None)
    if excess is None:
        return ""
    place = f" in function {excess.function!r}" if excess.function else ""
    return f"op {shorten(excess.op)}{place} {excess.why}"


def _fatal(node: NodeDef, shapes: DerivedShapes) -> Excess | None:
    """The op, if its shape function ends the process on what is known of its inputs."""
    tensors = [tensor for tensor in map(split_input, node.input) if tensor[1] >= 0]
    read = [shapes.shape(*tensor) for tensor in tensors]
    why = why_fatal(node.op, [None if shape == UNKNOWN else shape for shape in read])
    return Excess(node.name, "", why) if why else None

"""What NodeDefs say themselves of static shapes: files may, and whoever imports them takes them at their word."""

from __future__ import annotations

from typing import Any

from tfgraphwidget.graph.tensors import Shape

OUTPUT_SHAPES = "_output_shapes"


def saying(node: Any, port: int, shape: Shape) -> Any:
    """The NodeDef, which says static shapes, with another one for an output."""
    new = type(node)()
    new.CopyFrom(node)
    said = new.attr[OUTPUT_SHAPES].list.shape[port]
    said.Clear()
    if shape is None:
        said.unknown_rank = True
    for size in shape or ():
        said.dim.add(size=-1 if size is None else size)
    return new

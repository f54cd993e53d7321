"""Placeholders that are to take another dtype or shape.

Its name is what people feed, so a placeholder is changed in place. Only a live graph takes no other dtype for one; a
new placeholder takes its place there (see `exchanged`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tfgraphwidget.edits.leading import Tensor
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.tensors import Shape, shape_text
from tfgraphwidget.graph.variables import is_placeholder

Spec = tuple[Shape, str]
"""Static shape and dtype."""


def respecify(index: GraphIndex, node: Any, spec: Spec) -> None:
    """Let the NodeDef of a placeholder, a copy, say another shape and dtype.

    Raises GraphEditError for what is no placeholder, or for a dtype that there is not.
    """
    shape, dtype = spec
    number = index.typing.number(dtype)
    if not is_placeholder(node.op) or len(node.input):
        raise GraphEditError(
            f"Op {node.name!r} is a {node.op}, and no placeholder that is fed; name a placeholder.", [node.name]
        )
    if not number or dtype.endswith("_ref"):
        raise GraphEditError(f"{dtype!r} is no dtype that can be fed; give one as 'float32' or tf.uint8.")
    node.attr["dtype"].type = number
    node.attr["shape"].shape.Clear()
    if shape is None:
        node.attr["shape"].shape.unknown_rank = True
    else:
        node.attr["shape"].shape.SetInParent()
        for size in shape:
            node.attr["shape"].shape.dim.add(size=-1 if size is None else size)
    if "_output_shapes" in node.attr:
        del node.attr["_output_shapes"]


def check_left(index: GraphIndex, placeholder: Tensor, spec: Spec, left: Iterable[int]) -> None:
    """Raise when an op would go on reading a placeholder, and cannot for its new dtype or shape."""
    op, port = placeholder
    if spec == (index.shape(op, port), index.dtypes(op)[port]):
        return
    for reader in sorted(left):
        names = [index.names[reader], index.names[op]]
        raise GraphEditError(
            f"Op {names[0]!r} would go on reading {names[1]!r}, which is to be {spec[1]} {shape_text(spec[0])}; leave "
            "out only= and never=.",
            names,
        )

"""Static shapes of NodeDefs.

What the nodes say themselves is taken first. For the rest the nodes are imported once, when the first such shape is
asked for, into a graph of their own in which nothing can run; where TensorFlow refuses that, shapes stay unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import Any

from tfgraphwidget.graph import (
    CONSTANTS,
    PLACEHOLDERS,
    REF_HANDLES,
    SHAPE_EQUIVALENTS,
    ReshapedTyping,
    Shape,
    Shapes,
    Typing,
)
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.inference.bounds import Bounds
from tfgraphwidget.sources.inference.call_depth import without_endless_calls
from tfgraphwidget.sources.inference.dtypes import OpTypes, dtype_number
from tfgraphwidget.tf_types import DataType, FunctionDef, NodeDef, OpDef, TensorShapeProto

_OUTPUT_SHAPES = "_output_shapes"
# TensorFlow infers shapes by running, while it imports, what computes them from constants; a ReadFile op reads its file
# then, in the graph or in a function that it calls (tests/sources/inference/test_call_depth.py). An op that
# asks for a kernel that does not exist cannot run.
_KERNEL = "_kernel"
_LARGEST_RANK = 254  # TensorFlow refuses a shape of more


@dataclass(eq=False)
class NodeTyping:
    """Dtypes and shapes of NodeDefs; `library` gives the FunctionDefs they may call, by name."""

    nodes: Sequence[NodeDef]
    types: OpTypes
    library: Callable[[], Mapping[str, FunctionDef]]

    def dtypes(self, node: NodeDef) -> tuple[str, ...]:
        """The dtype of each output of a NodeDef."""
        return self.types.dtypes(node)

    def definition(self, op_type: str) -> OpDef | None:
        """The OpDef of an op type, or of the function of that name; None for an unknown type."""
        return self.types.definition(op_type)

    def shape(self, op: str, port: int) -> Shape:
        """The static shape of an output; None when it is unknown."""
        node = self._by_name.get(op)
        if node is None:
            return None
        if _OUTPUT_SHAPES in node.attr:
            shapes = node.attr[_OUTPUT_SHAPES].list.shape
            stored_shape = shape_from_proto(shapes[port]) if 0 <= port < len(shapes) else None
            if stored_shape is not None:
                return stored_shape
        own = _own_shape(node)
        return own if own is not None else self._inferred_shape(op, port)

    def number(self, dtype: str) -> DataType.ValueType:
        """TensorFlow's number of a dtype."""
        return dtype_number(dtype)

    def with_shapes(self, shapes: Shapes) -> Typing:
        """The same with the static shapes that edits changed."""
        return ReshapedTyping(self, shapes)

    @cached_property
    def _by_name(self) -> dict[str, Any]:
        return {node.name: node for node in self.nodes}

    def _inferred_shape(self, op: str, port: int) -> Shape:
        return None if self._shape_function is None else self._shape_function(op, port)

    @cached_property
    def _shape_function(self) -> Callable[[str, int], Shape] | None:
        library = self.library()
        if Bounds(self.definition).excess(self.nodes, library):
            return None
        graph_def = tf_protos.GraphDef(node=self.nodes)
        graph_def.versions.producer = tf_protos.graph_def_version()
        try:
            graph_def.library.function.extend(without_endless_calls(library))
            inside = (node for function in graph_def.library.function for node in function.node_def)
            for node in chain(graph_def.node, inside):
                node.op = SHAPE_EQUIVALENTS.get(node.op, node.op)
                node.attr[_KERNEL].s = b"none"
            from tfgraphwidget.sources.live.shapes import infer_shapes, tensor_shape

            return partial(tensor_shape, infer_shapes(graph_def))
        except Exception:  # whatever TensorFlow finds wrong with a file, its shapes are not known
            return None


def shape_from_proto(proto: TensorShapeProto) -> Shape:
    """The shape in a TensorShapeProto; None for an unknown rank.

    Args:
        proto: The TensorShapeProto.
    """
    if proto.unknown_rank or len(proto.dim) > _LARGEST_RANK:
        return None
    return tuple(dim.size if dim.size >= 0 else None for dim in proto.dim)


def _own_shape(node: NodeDef) -> Shape:
    """What a source's own attributes say; () may mean unknown in old files, so TensorFlow is asked about it."""
    if node.op in CONSTANTS and "value" in node.attr:
        return shape_from_proto(node.attr["value"].tensor.tensor_shape)
    if (node.op in PLACEHOLDERS or node.op in REF_HANDLES) and "shape" in node.attr:
        return shape_from_proto(node.attr["shape"].shape) or None
    return () if node.op == "VarHandleOp" else None

"""Static shapes of NodeDefs.

What the nodes say themselves is taken first, and what follows from it by our own shape functions.
For the rest the nodes are imported once, when the first such shape is asked for, into a graph of
their own in which nothing can run; where TensorFlow refuses that or is not installed, and under
`own_shapes_only`, shapes stay unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import Final, Literal, cast

from tfgraphwidget.graph import (
    CONSTANTS,
    PLACEHOLDERS,
    REF_HANDLES,
    SHAPE_EQUIVALENTS,
    NodesByName,
    Shape,
)
from tfgraphwidget.naming import split_input
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.inference.bounds import FATAL_SHAPES, Bounds, fatal_inputs, why_fatal
from tfgraphwidget.sources.inference.call_depth import without_endless_calls
from tfgraphwidget.sources.inference.dtypes import OpTypes, TypingByOpTypes
from tfgraphwidget.sources.inference.shape_functions import (
    INFERRED,
    ShapeMismatch,
    output_shapes,
    shape_from_proto,
)
from tfgraphwidget.tf_types import FunctionDef, NodeDef, OpDef, VersionDef

_OUTPUT_SHAPES = "_output_shapes"
# TensorFlow infers shapes by running, while it imports, what computes them from constants; a
# ReadFile op reads its file then, in the graph or in a function that it calls
# (tests/sources/inference/test_call_depth.py). An op that asks for a kernel that does not exist
# cannot run.
_KERNEL = "_kernel"
MAX_IMPORTED_OPS = 200_000  # TensorFlow takes 9 GB and a minute to import a million
UNKNOWN: Final = "unknown"
"""In place of a shape that does not follow from others by our own shape functions."""

_own_only: ContextVar[bool] = ContextVar("_own_only", default=False)


@contextmanager
def own_shapes_only() -> Iterator[None]:
    """Leave shapes unknown for which files would be imported: TensorFlow loads for seconds."""
    token = _own_only.set(True)
    try:
        yield
    finally:
        _own_only.reset(token)


def is_own_shapes_only() -> bool:
    """Whether shapes are left unknown that TensorFlow would have to be loaded for."""
    return _own_only.get()


@dataclass(eq=False)
class NodeTyping(TypingByOpTypes):
    """Dtypes and shapes of NodeDefs.

    `library` gives the FunctionDefs they may call, by name, `versions` the rules that TensorFlow
    reads them by.
    """

    nodes: Sequence[NodeDef]
    types: OpTypes
    library: Callable[[], Mapping[str, FunctionDef]]
    versions: Callable[[], VersionDef]

    def shape(self, op: str, port: int) -> Shape:
        """The static shape of an output; None when it is unknown."""
        shapes = self._shapes_by_op.get(op)
        if shapes is None:
            node = self._by_name.get(op)
            if node is None:
                return None
            shapes = self._shapes_by_op[op] = _stored_shapes(node)
        if 0 <= port < len(shapes) and (shapes[port] is not None or self._derivation.is_stored(op)):
            return shapes[port]  # an unknown rank, too, if TensorFlow said so
        derived = self._derivation.shape(op, port)
        return self._inferred_shape(op, port) if derived == UNKNOWN else derived

    @cached_property
    def _derivation(self) -> DerivedShapes:
        return DerivedShapes(self._by_name, self.definition, self.versions().producer)

    @cached_property
    def _shapes_by_op(self) -> dict[str, tuple[Shape, ...]]:
        """What the NodeDefs that were asked for say of the shapes of their outputs."""
        return {}

    @cached_property
    def _by_name(self) -> Mapping[str, NodeDef]:
        return NodesByName(self.nodes)

    def _inferred_shape(self, op: str, port: int) -> Shape:
        """The static shape of an output that TensorFlow infers; None if it is not to be asked."""
        if is_own_shapes_only() or self._shape_function is None:
            return None
        return self._shape_function(op, port)

    @cached_property
    def _shape_function(self) -> Callable[[str, int], Shape] | None:
        """What TensorFlow infers; None where it cannot import the graph, or must not."""
        library = self.library()
        if len(self.nodes) > MAX_IMPORTED_OPS:
            return None
        if Bounds(self.definition).excess(self.nodes, library):
            return None
        if any(map(self._may_be_fatal, self.nodes)):
            return None
        graph_def = tf_protos.GraphDef(node=self.nodes, versions=self.versions())
        try:
            graph_def.library.function.extend(without_endless_calls(library))
            bodies = [function.node_def for function in graph_def.library.function]
            for node in chain(graph_def.node, *bodies):
                node.op = SHAPE_EQUIVALENTS.get(node.op, node.op)
                node.attr[_KERNEL].s = b"none"
            from tfgraphwidget.sources.live.shapes import infer_shapes, tensor_shape

            return partial(tensor_shape, infer_shapes(graph_def))
        except Exception:  # whatever TensorFlow finds wrong with a file, its shapes are not known
            return None

    def _may_be_fatal(self, node: NodeDef) -> bool:
        """Whether TensorFlow may end the process when it infers the shapes of an op."""
        if node.op not in FATAL_SHAPES:
            return False
        inputs = _inputs(node)
        shapes: list[Shape] = [None] * len(inputs)
        for k in fatal_inputs(node.op, len(inputs)):
            shape = self._derivation.shape(*inputs[k])
            if shape == UNKNOWN:
                return True
            shapes[k] = shape
        return bool(why_fatal(node.op, shapes))


class DerivedShapes:
    """Static shapes that follow from others by our own shape functions, each found once; UNKNOWN
    where none does.

    `producer` is the version of TensorFlow's graphs that the shape functions go by; None for the
    present one.
    """

    def __init__(
        self,
        nodes: Mapping[str, NodeDef],
        definition: Callable[[str], OpDef | None],
        producer: int | None = None,
    ) -> None:
        self._nodes = nodes
        self._definition = definition
        self._producer = producer
        self._shapes: dict[str, Sequence[Shape | Literal["unknown"]]] = {}

    def shape(self, op: str, port: int) -> Shape | Literal["unknown"]:
        """The static shape of an output."""
        # Depth first, without recursion: each op after those on whose shapes its own depend.
        stack = [op]
        entered = set[str]()  # a damaged graph may be a cycle
        while stack:
            name = stack[-1]
            if name in self._shapes:
                stack.pop()
                continue
            node = self._nodes.get(name)
            missing = [] if node is None else self._missing(node, entered)
            entered.add(name)
            if missing:
                stack += missing
            else:
                self._shapes[stack.pop()] = () if node is None else self._shapes_of(node)
        return self._at(op, port)

    def _missing(self, node: NodeDef, entered: set[str]) -> list[str]:
        """The ops whose shapes must be found before those of a NodeDef."""
        if not self._follows(node) or self._has_stored(node):
            return []
        return [op for op, _ in _inputs(node) if op not in self._shapes and op not in entered]

    def _at(self, op: str, port: int) -> Shape | Literal["unknown"]:
        """The shape of an output, of those found so far."""
        shapes = self._shapes.get(op, ())
        return shapes[port] if 0 <= port < len(shapes) else UNKNOWN

    def _follows(self, node: NodeDef) -> bool:
        """Whether the shapes of an op follow from those of its inputs."""
        return SHAPE_EQUIVALENTS.get(node.op, node.op) in INFERRED

    def is_stored(self, op: str) -> bool:
        """Whether a NodeDef says what shapes its outputs have, or that TensorFlow does not know."""
        node = self._nodes.get(op)
        return node is not None and self._has_stored(node)

    def _has_stored(self, node: NodeDef) -> bool:
        """Whether the shapes that a NodeDef stores are right."""
        return _OUTPUT_SHAPES in node.attr

    def _shapes_of(self, node: NodeDef) -> Sequence[Shape | Literal["unknown"]]:
        """The shapes of the outputs of a NodeDef, when those of its inputs have been found."""
        if self._has_stored(node):
            return list(map(shape_from_proto, node.attr[_OUTPUT_SHAPES].list.shape))
        own = _own_shape(node)
        if own is not None:
            return (own,)
        inputs = _inputs(node)
        sources = [self._nodes.get(op) for op, _ in inputs]
        shapes = [self._at(op, port) for op, port in inputs]
        if UNKNOWN in shapes:
            return ()
        try:
            return self._infer(node, cast("list[Shape]", shapes), sources) or ()
        except ShapeMismatch:
            return ()

    def _infer(
        self, node: NodeDef, shapes: Sequence[Shape], sources: Sequence[NodeDef | None]
    ) -> tuple[Shape, ...] | None:
        return output_shapes(node, self._definition(node.op), shapes, sources, self._producer)


def _inputs(node: NodeDef) -> list[tuple[str, int]]:
    return [split_input(text) for text in node.input if text[:1] != "^"]


def _stored_shapes(node: NodeDef) -> tuple[Shape, ...]:
    """What a NodeDef says of its outputs' shapes, in port order; None where it says nothing."""
    stored = node.attr[_OUTPUT_SHAPES].list.shape if _OUTPUT_SHAPES in node.attr else ()
    shapes = list(map(shape_from_proto, stored)) or [None]
    if shapes[0] is None:
        shapes[0] = _own_shape(node)
    return tuple(shapes)


def _own_shape(node: NodeDef) -> Shape:
    """The shape in the attributes of an op without inputs; None for one that may be unknown.

    In old files () may mean that, so TensorFlow decides.
    """
    if node.op in CONSTANTS and "value" in node.attr:
        return shape_from_proto(node.attr["value"].tensor.tensor_shape)
    if (node.op in PLACEHOLDERS or node.op in REF_HANDLES) and "shape" in node.attr:
        return shape_from_proto(node.attr["shape"].shape) or None
    return () if node.op == "VarHandleOp" else None

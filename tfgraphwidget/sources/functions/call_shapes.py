"""Static shapes of the results of a function that an op calls, by our own shape functions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from tfgraphwidget.graph import FUNCTION_CALLS, Shape
from tfgraphwidget.naming import split_input
from tfgraphwidget.sources.functions.library import function_nodes
from tfgraphwidget.sources.inference.dtypes import OpTypes, dtype_name
from tfgraphwidget.sources.inference.shape_functions import ShapeMismatch, shape_proto
from tfgraphwidget.sources.inference.shapes import UNKNOWN, DerivedShapes
from tfgraphwidget.tf_types import FunctionDef, NodeDef

_DEEPEST = 20  # calls in calls


def call_shapes(
    call: NodeDef,
    shapes: Sequence[Shape],
    sources: Sequence[NodeDef | None],
    function: Callable[[str], FunctionDef],
    depth: int = 0,
    by_call: dict[Hashable, tuple[Shape, ...] | None] | None = None,
) -> tuple[Shape, ...] | None:
    """The static shapes of the results of a call, by those of the tensors that it reads of
    `sources`, the ops; None if they do not follow from our own shape functions.

    Args:
        function: Finds a FunctionDef by its name; KeyError when there is none.
        by_call: The shapes of calls inside the outermost one, which may call a function in many
            ways.

    Raises:
        ShapeMismatch: An op of the function cannot take the tensors.
    """
    by_call = {} if by_call is None else by_call
    handles = tuple(
        s.SerializeToString() if s is not None and s.op == "VarHandleOp" else b"" for s in sources
    )
    attributes = frozenset(
        (key, value.SerializeToString(deterministic=True)) for key, value in call.attr.items()
    )
    key = call.op, attributes, tuple(shapes), handles
    if key not in by_call:
        by_call[key] = _call_shapes(call, shapes, sources, function, depth, by_call)
    return by_call[key]


def _call_shapes(
    call: NodeDef,
    shapes: Sequence[Shape],
    sources: Sequence[NodeDef | None],
    function: Callable[[str], FunctionDef],
    depth: int,
    by_call: dict[Hashable, tuple[Shape, ...] | None],
) -> tuple[Shape, ...] | None:
    try:
        definition = function(_callee(call))
    except KeyError:
        return None
    arguments = definition.signature.input_arg
    if depth > _DEEPEST or len(arguments) != len(shapes):
        return None
    body = function_nodes(definition, OpTypes(function), call.attr)
    nodes = {node.name: node for node in body.nodes}
    for argument, shape, source in zip(body.arguments, shapes, sources, strict=True):
        if source is not None and source.op == "VarHandleOp":
            nodes[argument] = source
        else:
            nodes[argument].attr["shape"].shape.CopyFrom(shape_proto(shape))
    inside = _BodyShapes(nodes, function, depth, by_call)
    results = [
        inside.shape(*split_input(body.returns[arg.name]))
        for arg in definition.signature.output_arg
    ]
    if inside.mismatch is not None:
        raise inside.mismatch
    return None if UNKNOWN in results else tuple(shape for shape in results if shape != UNKNOWN)


def check_arguments(
    call: NodeDef, dtypes: Sequence[str], function: Callable[[str], FunctionDef]
) -> None:
    """Raise ShapeMismatch where a call passes its function, which `function` finds by its name,
    tensors of other dtypes than it takes.
    """
    try:
        arguments = function(_callee(call)).signature.input_arg
    except KeyError:
        return
    for k, (argument, dtype) in enumerate(zip(arguments, dtypes, strict=False)):
        wanted = dtype_name(argument.type)
        if wanted and dtype and wanted != dtype:
            raise ShapeMismatch(
                f"argument {k} of the function, {argument.name!r}, is of {wanted}, not {dtype}"
            )


def _callee(call: NodeDef) -> str:
    """The name of the function that an op calls: its type, if it is not an op that calls any."""
    return str(call.attr["f"].func.name) if call.op in FUNCTION_CALLS else call.op


class _BodyShapes(DerivedShapes):
    """The shapes in a function's body; those that its NodeDefs store are of other arguments."""

    def __init__(
        self,
        nodes: dict[str, NodeDef],
        function: Callable[[str], FunctionDef],
        depth: int,
        by_call: dict[Hashable, tuple[Shape, ...] | None],
    ) -> None:
        super().__init__(nodes, OpTypes(function).definition)
        self._function, self._depth, self._call_results = function, depth, by_call
        self.mismatch: ShapeMismatch | None = None

    def _follows(self, node: NodeDef) -> bool:
        return self._is_call(node) or super()._follows(node)

    def _is_call(self, node: NodeDef) -> bool:
        if node.op in FUNCTION_CALLS:
            return True
        try:
            return self._function(node.op) is not None
        except KeyError:
            return False

    def _has_stored(self, node: NodeDef) -> bool:  # noqa: ARG002
        return False

    def _infer(
        self, node: NodeDef, shapes: Sequence[Shape], sources: Sequence[NodeDef | None]
    ) -> tuple[Shape, ...] | None:
        try:
            if self._is_call(node):
                return call_shapes(
                    node, shapes, sources, self._function, self._depth + 1, self._call_results
                )
            return super()._infer(node, shapes, sources)
        except ShapeMismatch as mismatch:
            self.mismatch = mismatch
            raise

"""Count what a graph holds: ops, variables, constants, control flow, signatures. Does not need TensorFlow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tfgraphwidget.graph import (
    BRANCHES,
    BYTES,
    CONSTANTS,
    FUNCTION_CALLS,
    REMOTE_CALLS,
    REQUIRED_PLACEHOLDERS,
    WHILE_LOOPS,
    first_handles,
)
from tfgraphwidget.sources.files.output_ops import find_output_ops
from tfgraphwidget.sources.files.summary_schema import dtype_of
from tfgraphwidget.tf_types import GraphDef, MetaGraphDef, NodeDef, SignatureDef, TensorInfo, TensorShapeProto

_CALLS = FUNCTION_CALLS | REMOTE_CALLS | {"SymbolicGradient"}  # the latter calls the gradient of a function


def summarize_graph(graph: GraphDef, meta: MetaGraphDef | None = None) -> dict[str, object]:
    """Count what a graph and its function library hold.

    Args:
        graph: A GraphDef, of TensorFlow's messages or of `summary_schema`'s.
        meta: The MetaGraphDef that holds it, if one does: it has tags and signatures.

    Returns:
        What `tfgraphwidget info --json` prints for one graph.
    """
    functions = graph.library.function
    every = [graph.node, *(function.node_def for function in functions)]
    constants = [node.attr["value"].ByteSize() for nodes in every for node in nodes if node.op in CONSTANTS]
    by_name = {function.signature.name: function for function in functions}
    handles = set(first_handles(graph.node, by_name, by_name.__getitem__).values())
    variables = [_tensor(node) for node in graph.node if node.name in handles]
    return {
        "tags": [] if meta is None else list(meta.meta_info_def.tags),
        "tensorflow": "" if meta is None else meta.meta_info_def.tensorflow_version,
        "producer": graph.versions.producer,
        "ops": len(graph.node),
        "types": dict(Counter(node.op for node in graph.node).most_common()),
        "functions": {"count": len(functions), "ops": sum(len(function.node_def) for function in functions)},
        "variables": variables,
        "variable_bytes": sum(_bytes(variable) for variable in variables),
        "constants": {"count": len(constants), "bytes": sum(constants)},
        "inputs": [_tensor(node) for node in graph.node if node.op in REQUIRED_PLACEHOLDERS],
        "ends": find_output_ops(graph.node),
        "control_flow": _control_flow(every),
        "devices": sorted({node.device for nodes in every for node in nodes if node.device}),
        "signatures": [] if meta is None else [_signature(name, s) for name, s in sorted(meta.signature_def.items())],
    }


def _control_flow(every: Sequence[Iterable[NodeDef]]) -> dict[str, int]:
    kinds = Counter(node.op.removeprefix("Ref") for nodes in every for node in nodes)
    counts = {
        "while loops": sum(kinds[kind] for kind in WHILE_LOOPS),
        "conditionals": sum(kinds[kind] for kind in BRANCHES),
        "calls of functions": sum(kinds[kind] for kind in _CALLS),
        "v1 while loops": kinds["LoopCond"],
        "v1 switches": kinds["Switch"],
    }
    return {kind: number for kind, number in counts.items() if number}


def _tensor(node: NodeDef) -> dict[str, Any]:
    shape = _shape(node.attr["shape"].shape) if "shape" in node.attr else None
    return {"name": node.name, "dtype": dtype_of(node.attr["dtype"].type), "shape": shape}


def _shape(shape: TensorShapeProto) -> list[int | None] | None:
    return None if shape.unknown_rank else [None if dim.size < 0 else dim.size for dim in shape.dim]


def _bytes(tensor: dict[str, Any]) -> int:
    """Bytes of a variable; 0 when its shape is unknown."""
    total = BYTES.get(tensor["dtype"], 0)
    for dimension in tensor["shape"] if tensor["shape"] is not None else [0]:
        total *= dimension or 0
    return total


def _signature(name: str, signature: SignatureDef) -> dict[str, object]:
    def side(infos: Mapping[str, TensorInfo]) -> dict[str, object]:
        return {
            key: {"tensor": info.name, "dtype": dtype_of(info.dtype), "shape": _shape(info.tensor_shape)}
            for key, info in sorted(infos.items())
        }

    return {
        "name": name,
        "method": signature.method_name,
        "inputs": side(signature.inputs),
        "outputs": side(signature.outputs),
    }

"""Count what a graph holds: ops, variables, constants, control flow, signatures. Does not need TensorFlow."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict

from tfgraphwidget.graph import (
    BRANCHES,
    BYTES,
    CONSTANTS,
    FUNCTION_CALLS,
    HANDLES,
    IDENTITY,
    PLACEHOLDERS,
    REMOTE_CALLS,
    REQUIRED_PLACEHOLDERS,
    WHILE_LOOPS,
    first_handles,
)
from tfgraphwidget.naming import split_input
from tfgraphwidget.sources.files.summary_schema import dtype_of
from tfgraphwidget.tf_types import GraphDef, MetaGraphDef, NodeDef, SignatureDef, TensorInfo, TensorShapeProto

_CALLS = FUNCTION_CALLS | REMOTE_CALLS | {"SymbolicGradient"}  # the latter calls the gradient of a function
_BOOKKEEPING_TYPES = re.compile(
    r"Shape(N)?|Rank|Size|NoOp|ControlTrigger|Assert|Print(V2)?|\w*Summary\w*|(Ref)?(Switch|Merge|Enter|NextIteration)"
    r"|\w*IsInitialized\w*|IsVariableInitialized|ReadVariableOp|(Resource)?(Sparse)?Apply\w+|Assign\w*|\w*Scatter\w*Update"
    r"|ShardedFilename|MergeV2Checkpoints|Save(V2|Slices)?|Restore(V2|Slice)?|InitializeTable\w*|LookupTable(Insert|"
    r"Import|Export|Size)\w*|\w*Queue(Enqueue|Close|Size|IsClosed)\w*|\w*HashTable\w*|\w*Iterator\w*|DeleteSessionTensor"
)
_BOOKKEEPING_SCOPES = re.compile(r"(.*/)?(gradients|save|report_uninitialized_\w+|Initializer|Regularizer)(_\d+)?/")
_BRANCH = re.compile(r".*/(switch_[tf]|pred_id)")  # what tells a v1 conditional's branches apart
_INPUT_TYPES = re.compile(r"\w*IteratorGetNext\w*|\w*Dequeue\w*")


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


class TensorSummary(TypedDict):
    """A tensor of a file: `shape` has None for an unknown size, and is None where the rank is unknown."""

    name: str
    dtype: str
    shape: list[int | None] | None


def _tensor(node: NodeDef) -> TensorSummary:
    shape = _shape(node.attr["shape"].shape) if "shape" in node.attr else None
    return {"name": node.name, "dtype": dtype_of(node.attr["dtype"].type), "shape": shape}


def _shape(shape: TensorShapeProto) -> list[int | None] | None:
    return None if shape.unknown_rank else [None if dim.size < 0 else dim.size for dim in shape.dim]


def _bytes(tensor: TensorSummary) -> int:
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


def find_output_ops(nodes: Iterable[NodeDef]) -> list[dict[str, str]]:
    """{"name", "type"} of each probable output op, the last of the graph first. `nodes` are the graph's NodeDefs.

    In a graph with placeholders or other inputs, only ops that depend on them count.
    """
    nodes = list(nodes)
    reads = {node.name: [split_input(text)[0] for text in node.input if not text.startswith("^")] for node in nodes}
    read = {name for names in reads.values() for name in names}
    kinds = {node.name: node.op for node in nodes}
    dependent = _dependents(
        reads, [name for name, kind in kinds.items() if kind in PLACEHOLDERS or _INPUT_TYPES.fullmatch(kind)]
    )
    return [
        {"name": name, "type": kind}
        for name, kind in reversed(kinds.items())
        if name not in read
        and (not dependent or name in dependent)
        and not _is_bookkeeping(name, kind, reads[name], kinds)
    ]


def _is_bookkeeping(name: str, kind: str, reads: Sequence[str], kinds: Mapping[str, str]) -> bool:
    """Whether an op serves training, saving or monitoring, or is a variable or a read of one."""
    of_variable = kind in HANDLES or (kind in IDENTITY and bool(reads) and kinds.get(reads[0]) in HANDLES)
    if of_variable or kind in CONSTANTS or kind in PLACEHOLDERS:
        return True
    return bool(_BOOKKEEPING_TYPES.fullmatch(kind) or _BOOKKEEPING_SCOPES.match(name) or _BRANCH.fullmatch(name))


def _dependents(reads: Mapping[str, Sequence[str]], inputs: Sequence[str]) -> set[str]:
    """The names of the input ops and of all ops that depend on them."""
    readers: dict[str, list[str]] = {}
    for name, names in reads.items():
        for source in names:
            readers.setdefault(source, []).append(name)
    dependent, stack = set(inputs), list(inputs)
    while stack:
        new = [name for name in readers.get(stack.pop(), ()) if name not in dependent]
        dependent.update(new)
        stack += new
    return dependent

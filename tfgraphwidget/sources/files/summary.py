"""Count what a graph holds: ops, variables, constants, control flow, signatures.

TensorFlow is not needed for that.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TypedDict

from tfgraphwidget.graph import (
    BRANCHES,
    BYTES,
    CONSTANTS,
    CONVERTED_BRANCHES,
    CONVERTED_LOOPS,
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
from tfgraphwidget.tf_types import (
    GraphDef,
    MetaGraphDef,
    NodeDef,
    SignatureDef,
    TensorInfo,
    TensorShapeProto,
)

# SymbolicGradient calls the gradient of a function.
_CALLS = FUNCTION_CALLS | REMOTE_CALLS | {"SymbolicGradient"}
# Types and scopes of ops that serve training, saving or monitoring.
_BOOKKEEPING_TYPES = re.compile(
    r"Shape(N)?|Rank|Size|NoOp|ControlTrigger|Assert|Print(V2)?|\w*Summary\w*|(Ref)?(Switch|Merge|Enter|NextIteration)"
    r"|\w*IsInitialized\w*|IsVariableInitialized|ReadVariableOp|(Resource)?(Sparse)?Apply\w+|Assign\w*|\w*Scatter\w*Update"
    r"|ShardedFilename|MergeV2Checkpoints|Save(V2|Slices)?|Restore(V2|Slice)?|InitializeTable\w*|LookupTable(Insert|"
    r"Import|Export|Size)\w*|\w*Queue(Enqueue|Close|Size|IsClosed)\w*|\w*HashTable\w*|\w*Iterator\w*|DeleteSessionTensor"
)
_BOOKKEEPING_SCOPES = re.compile(
    r"(.*/)?(gradients|save|report_uninitialized_\w+|Initializer|Regularizer)(_\d+)?/"
)
_BRANCH = re.compile(r".*/(switch_[tf]|pred_id)")  # what distinguishes a v1 conditional's branches
_INPUT_TYPES = re.compile(r"\w*IteratorGetNext\w*|\w*Dequeue\w*")


def summarize_graph(graph: GraphDef, meta: MetaGraphDef | None = None) -> dict[str, object]:
    """Count what a graph, of TensorFlow's messages or of `summary_schema`'s, and its function
    library hold: what `tfgraphwidget info --json` prints for one graph. A MetaGraphDef that holds
    it has tags and signatures.
    """
    functions = graph.library.function
    bodies = [function.node_def for function in functions]
    everywhere = [graph.node, *bodies]
    by_name = {function.signature.name: function for function in functions}
    handles = set(first_handles(graph.node, by_name, by_name.__getitem__).values())
    variables = [_tensor(node) for node in graph.node if node.name in handles]
    constant_sizes = [
        node.attr["value"].ByteSize() for node in chain(*everywhere) if node.op in CONSTANTS
    ]
    tags: list[str] = []
    tensorflow = ""
    signatures = []
    if meta is not None:
        tags = list(meta.meta_info_def.tags)
        tensorflow = meta.meta_info_def.tensorflow_version
        signatures = [_signature(name, one) for name, one in sorted(meta.signature_def.items())]
    return {
        "tags": tags,
        "tensorflow": tensorflow,
        "producer": graph.versions.producer,
        "ops": len(graph.node),
        "types": dict(Counter(node.op for node in graph.node).most_common()),
        "functions": {"count": len(functions), "ops": sum(map(len, bodies))},
        "variables": variables,
        "variable_bytes": sum(map(_bytes, variables)),
        "constants": {"count": len(constant_sizes), "bytes": sum(constant_sizes)},
        "inputs": [_tensor(node) for node in graph.node if node.op in REQUIRED_PLACEHOLDERS],
        "unused_outputs": find_output_ops(graph.node),
        "control_flow": _control_flow(chain(*everywhere)),
        "devices": sorted({node.device for node in chain(*everywhere) if node.device}),
        "signatures": signatures,
    }


def _control_flow(nodes: Iterable[NodeDef]) -> dict[str, int]:
    """How many loops, conditionals and calls there are, by what they are; without those of none."""
    kinds = Counter(node.op.removeprefix("Ref") for node in nodes)
    counts = {
        "while loops": sum(kinds[kind] for kind in WHILE_LOOPS | CONVERTED_LOOPS),
        "conditionals": sum(kinds[kind] for kind in BRANCHES | CONVERTED_BRANCHES),
        "calls of functions": sum(kinds[kind] for kind in _CALLS),
        "v1 while loops": kinds["LoopCond"],
        "v1 switches": kinds["Switch"],
    }
    return {kind: number for kind, number in counts.items() if number}


class TensorSummary(TypedDict):
    """A tensor of a file: `shape` has None for an unknown size, and is None for unknown rank."""

    name: str
    dtype: str
    shape: list[int | None] | None


def _tensor(node: NodeDef) -> TensorSummary:
    """The tensor that a variable or a placeholder is, by its attributes."""
    shape = _shape(node.attr["shape"].shape) if "shape" in node.attr else None
    return {"name": node.name, "dtype": dtype_of(node.attr["dtype"].type), "shape": shape}


def _shape(shape: TensorShapeProto) -> list[int | None] | None:
    """A shape as JSON has it."""
    if shape.unknown_rank:
        return None
    return [None if dim.size < 0 else dim.size for dim in shape.dim]


def _bytes(tensor: TensorSummary) -> int:
    """Bytes of a variable; 0 when its shape is unknown."""
    if tensor["shape"] is None:
        return 0
    total = BYTES.get(tensor["dtype"], 0)
    for size in tensor["shape"]:
        total *= size or 0
    return total


def _signature(name: str, signature: SignatureDef) -> dict[str, object]:
    """A signature as JSON has it."""

    def side(infos: Mapping[str, TensorInfo]) -> dict[str, object]:
        return {
            key: {
                "tensor": info.name,
                "dtype": dtype_of(info.dtype),
                "shape": _shape(info.tensor_shape),
            }
            for key, info in sorted(infos.items())
        }

    return {
        "name": name,
        "method": signature.method_name,
        "inputs": side(signature.inputs),
        "outputs": side(signature.outputs),
    }


def find_output_ops(nodes: Iterable[NodeDef]) -> list[dict[str, str]]:
    """{"name", "type"} of each probable output op, the last of the graph's NodeDefs first.

    In a graph with placeholders or other inputs, only ops that depend on them count.
    """
    kinds: dict[str, str] = {}
    sources: dict[str, list[str]] = {}
    for node in nodes:
        kinds[node.name] = node.op
        inputs = [text for text in node.input if not text.startswith("^")]
        sources[node.name] = [split_input(text)[0] for text in inputs]
    consumed = set(chain.from_iterable(sources.values()))
    input_ops = [
        name for name, kind in kinds.items() if kind in PLACEHOLDERS or _INPUT_TYPES.fullmatch(kind)
    ]
    dependent = _dependents(sources, input_ops)
    outputs = []
    for name, kind in reversed(kinds.items()):
        if name in consumed or (dependent and name not in dependent):
            continue
        if not _is_bookkeeping(name, kind, sources[name], kinds):
            outputs.append({"name": name, "type": kind})
    return outputs


def _is_bookkeeping(name: str, kind: str, sources: Sequence[str], kinds: Mapping[str, str]) -> bool:
    """Whether an op serves training, saving or monitoring, or is a variable or a read of one."""
    if kind in HANDLES or kind in CONSTANTS or kind in PLACEHOLDERS:
        return True
    if kind in IDENTITY and sources and kinds.get(sources[0]) in HANDLES:
        return True
    is_in_scope = _BOOKKEEPING_SCOPES.match(name) or _BRANCH.fullmatch(name)
    return bool(_BOOKKEEPING_TYPES.fullmatch(kind) or is_in_scope)


def _dependents(sources: Mapping[str, Sequence[str]], inputs: Sequence[str]) -> set[str]:
    """The names of the input ops and of all ops that depend on them."""
    consumers: dict[str, list[str]] = {}
    for name, names in sources.items():
        for source in names:
            consumers.setdefault(source, []).append(name)
    dependent = set(inputs)
    stack = list(inputs)
    while stack:
        new = [name for name in consumers.get(stack.pop(), ()) if name not in dependent]
        dependent.update(new)
        stack += new
    return dependent

"""Find ops that are probably a model's outputs: ops without consumers, except training and bookkeeping ops."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from tfgraphwidget.graph import CONSTANTS, HANDLES, IDENTITY, PLACEHOLDERS
from tfgraphwidget.naming import split_input
from tfgraphwidget.tf_types import NodeDef

_BOOKKEEPING_TYPES = re.compile(
    r"Shape(N)?|Rank|Size|NoOp|ControlTrigger|Assert|Print(V2)?|\w*Summary\w*|(Ref)?(Switch|Merge|Enter|NextIteration)"
    r"|\w*IsInitialized\w*|IsVariableInitialized|ReadVariableOp|(Resource)?(Sparse)?Apply\w+|Assign\w*|\w*Scatter\w*Update"
    r"|ShardedFilename|MergeV2Checkpoints|Save(V2|Slices)?|Restore(V2|Slice)?|InitializeTable\w*|LookupTable(Insert|"
    r"Import|Export|Size)\w*|\w*Queue(Enqueue|Close|Size|IsClosed)\w*|\w*HashTable\w*|\w*Iterator\w*|DeleteSessionTensor"
)
_BOOKKEEPING_SCOPES = re.compile(r"(.*/)?(gradients|save|report_uninitialized_\w+|Initializer|Regularizer)(_\d+)?/")
_BRANCH = re.compile(r".*/(switch_[tf]|pred_id)")  # what tells a v1 conditional's branches apart
_INPUT_TYPES = re.compile(r"\w*IteratorGetNext\w*|\w*Dequeue\w*")


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

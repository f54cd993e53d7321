"""The ops that a model may end in: what nothing in the graph reads, less what only keeps the books or trains."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tfgraphwidget.graph.variables import HANDLES
from tfgraphwidget.names import split_input

_BOOKS = re.compile(
    r"Shape(N)?|Rank|Size|NoOp|Const|Placeholder\w*|ControlTrigger|Assert|Print(V2)?|\w*Summary\w*|(Ref)?(Switch|Merge|Enter|NextIteration)"
    r"|\w*IsInitialized\w*|IsVariableInitialized|ReadVariableOp|(Resource)?(Sparse)?Apply\w+|Assign\w*|\w*Scatter\w*Update"
    r"|ShardedFilename|MergeV2Checkpoints|Save(V2|Slices)?|Restore(V2|Slice)?|InitializeTable\w*|LookupTable(Insert|"
    r"Import|Export|Size)\w*|\w*Queue(Enqueue|Close|Size|IsClosed)\w*|\w*HashTable\w*|\w*Iterator\w*|DeleteSessionTensor"
)
_BESIDE = re.compile(r"(.*/)?(gradients|save|report_uninitialized_\w+|Initializer|Regularizer)(_\d+)?/")
_BRANCH = re.compile(r".*/(switch_[tf]|pred_id)")  # what tells a v1 conditional's branches apart
_GIVEN = re.compile(r"Placeholder\w*|\w*IteratorGetNext\w*|\w*Dequeue\w*")
_WAYS = frozenset({"Identity", "RefIdentity"})  # of a variable they are how it is read


def find_output_ops(nodes: Iterable[Any]) -> list[dict[str, str]]:
    """{"name", "type"} of each op that a model may end in, the last of the graph first. `nodes` are its NodeDefs.

    Where the graph is given anything, only those count that are worked out from it.
    """
    nodes = list(nodes)
    reads = {node.name: [split_input(text)[0] for text in node.input if not text.startswith("^")] for node in nodes}
    read = {name for names in reads.values() for name in names}
    kinds = {node.name: node.op for node in nodes}
    fed = _worked_out(reads, [name for name, kind in kinds.items() if _GIVEN.fullmatch(kind)])
    return [
        {"name": name, "type": kind}
        for name, kind in reversed(kinds.items())
        if name not in read and (not fed or name in fed) and not _keeps_books(name, kind, reads[name], kinds)
    ]


def _keeps_books(name: str, kind: str, reads: Sequence[str], kinds: Mapping[str, str]) -> bool:
    """Whether an op is there for training, saving or looking, or is a variable or a way to read one."""
    of_variable = kind in HANDLES or (kind in _WAYS and bool(reads) and kinds.get(reads[0]) in HANDLES)
    return of_variable or bool(_BOOKS.fullmatch(kind) or _BESIDE.match(name) or _BRANCH.fullmatch(name))


def _worked_out(reads: Mapping[str, Sequence[str]], given: Sequence[str]) -> set[str]:
    """The names of what is given and of all that is worked out from it."""
    readers: dict[str, list[str]] = {}
    for name, names in reads.items():
        for other in names:
            readers.setdefault(other, []).append(name)
    found, waiting = set(given), list(given)
    while waiting:
        new = [name for name in readers.get(waiting.pop(), ()) if name not in found]
        found.update(new)
        waiting += new
    return found

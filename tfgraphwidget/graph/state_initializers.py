"""The ops that fill state other than variables, and the state that a part of a graph can own.

What initializes (a hash table from constants, an iterator from its dataset) needs nothing that a
person feeds; what goes on filling (a queue from files) is run by queue runners, or by hand.
"""

from __future__ import annotations

import re
from collections.abc import Collection

import numpy as np

from tfgraphwidget.graph import traversal
from tfgraphwidget.graph.edges import Mask, make_read_only
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.index_cache import cached_per_index
from tfgraphwidget.graph.op_types import HANDLES, REQUIRED_PLACEHOLDERS, V1_LOOPS
from tfgraphwidget.graph.stateful_resources import by_key, kind_of, of_type, persistent_state, users
from tfgraphwidget.graph.variables import comes_from_outside
from tfgraphwidget.naming import split_input, split_tensor

TABLE = "hash table"
TABLE_CONTENT = "content"
"""The last part of the name of an op that fills a table of a frozen graph."""
INSERTION = "LookupTableInsertV2"
_TABLE_INITIALIZERS = "table_initializer"
_INITIALIZES = re.compile(r"InitializeTable\w*")
_IMPORTS = re.compile(r"LookupTableImport\w*")
_NOTHING = re.compile(r"(?!)")
# By the kind of the state.
_FILLS = {
    "queue": re.compile(r"QueueEnqueue\w*"),
    "barrier": re.compile(r"BarrierInsertMany"),
    "accumulator": re.compile(r"\w*AccumulatorApplyGradient"),
    "iterator": re.compile(r"MakeIterator|MultiDeviceIteratorInit"),
    "summary writer": re.compile(r"CreateSummary\w+Writer"),
    **dict.fromkeys(
        ("reader", "stack", "staging area", "map of sparse tensors", "variable"), _NOTHING
    ),
}
_FILLED_BY_HAND = frozenset({"barrier", "accumulator", "staging area", "map of sparse tensors"})
FILLED_BY_RUNNING = frozenset(
    {"queue", "barrier", "accumulator", "staging area", "reader", "map of sparse tensors"}
)
"""The kinds of state whose content no op of the graph gives by itself: what a running session puts
in.
"""
_WAITS = re.compile(
    r"QueueDequeue\w*|BarrierTakeMany|\w*AccumulatorTakeGradient|Unstage|StagePeek|(Ordered)?Map(Unstage|Peek)\w*"
    r"|ReaderRead(UpTo)?(V2)?"
)
_WITHOUT_CONTENT = re.compile(
    r"(Un)?[Bb]atch(Grad|Function)?|(Experimental)?ThreadPoolHandle|NcclAllReduce|MutexV2"
)
# They end a state rather than begin it.
_ENDS = re.compile(r"(Destroy|Delete|Close|Flush|Disable)\w*")


class StateWriters:
    """The ops that fill the state of an index; the queue runners are read once."""

    def __init__(self, index: GraphIndex) -> None:
        self.index = index
        self._runs: dict[str, set[int]] | None = None

    def ops(self, handle: int) -> list[int]:
        """The ops that fill a state other than a variable, in graph order; closing ops too."""
        kind = kind_of(self.index.types[handle])
        if kind not in _FILLS or kind == TABLE:
            return initializers(self.index, handle)
        if kind == "queue" and self._run_by_runners(handle):
            return sorted(self._run_by_runners(handle))
        ops = users(self.index, handle)
        return [op for op in ops if _FILLS[kind].fullmatch(self.index.types[op])]

    def starts_empty(self, handle: int) -> bool:
        """Whether a copy of a state lacks what the original holds until it is filled: no op that
        runs by itself.

        Variables are not asked for. A table that has initializers, or an iterator, starts as the
        original did.
        """
        kind = kind_of(self.index.types[handle])
        if kind == "queue":
            return not self._run_by_runners(handle)
        if kind in _FILLED_BY_HAND:
            return True
        starts_filled = kind in _FILLS and kind != TABLE
        if starts_filled or _WITHOUT_CONTENT.fullmatch(kind):
            return False
        return all(_must_be_fed(self.index)[op] for op in initializers(self.index, handle))

    def _run_by_runners(self, queue: int) -> set[int]:
        if self._runs is None:
            self._runs = {}
            for _, runner in self.index.extras.runners():
                names = (*runner.enqueue_op_name, runner.close_op_name, runner.cancel_op_name)
                run = {self.index.ids.get(split_tensor(name)[0], -1) for name in names}
                self._runs.setdefault(split_tensor(runner.queue_name)[0], set()).update(run - {-1})
        return self._runs.get(self.index.names[queue], set())


def initializers(index: GraphIndex, handle: int) -> list[int]:
    """The ops that give a state its first content and can be run at any time, in graph order.

    A state of an unknown kind is initialized by what only writes to it, from constants.
    """
    in_list, kind, ops = _table_initializer_ops(index), kind_of(index.types[handle]), []
    for i in users(index, handle):
        sure = kind == TABLE and (i in in_list or _INITIALIZES.fullmatch(index.types[i]))
        if sure or (_may_initialize(index, i, handle, kind) and _is_free(index, i, handle)):
            ops.append(i)
    return ops


def waiting_tensors(
    index: GraphIndex, ops: Mask, feeds: Collection[str], fetches: Collection[str]
) -> tuple[str, ...]:
    """The tensors that have to be fed for a run of `fetches` not to wait until something else fills
    what they are taken from, a queue for example; empty where it fills the queue itself.
    """
    waiting: set[int] = set()
    for handles in by_key(index).values():
        if not ops[handles].any():
            continue
        running = [i for handle in handles for i in users(index, handle) if ops[i]]
        fills = _FILLS.get(kind_of(index.types[handles[0]]), _NOTHING)
        if not any(fills.fullmatch(index.types[i]) for i in running):
            waiting.update(i for i in running if _WAITS.fullmatch(index.types[i]))
    if not waiting:
        return ()
    names = {index.names[op]: False for op in sorted(waiting)}
    inputs = (text for op in np.flatnonzero(ops).tolist() for text in index.nodes[op].input)
    read: dict[str, None] = {}
    for name, port in map(split_input, (*inputs, *fetches)):
        if port >= 0 and name in names:
            read[f"{name}:{port}"] = None
            names[name] = True
    # An op that others wait for.
    left = (f"{name}:0" for name, is_read in names.items() if not is_read)
    return tuple(sorted({*read, *left} - set(feeds)))


@cached_per_index
def _table_initializer_ops(index: GraphIndex) -> frozenset[int]:
    """The ops that a graph's own list has for initializing its tables."""
    members = index.collections.get(_TABLE_INITIALIZERS, ())
    names = (split_tensor(member.name)[0] for member in members)
    return frozenset(index.ids[name] for name in names if name in index.ids)


def _may_initialize(index: GraphIndex, op: int, handle: int, kind: str) -> bool:
    """Whether an op initializes a state if it needs nothing: else it may be a restore."""
    op_type = index.types[op]
    if kind == TABLE:
        # Of a dense table, a frozen graph that the editor writes has the entries in an insertion.
        is_content = index.names[op].startswith(f"{index.names[handle]}/{TABLE_CONTENT}")
        return _IMPORTS.fullmatch(op_type) is not None or (op_type == INSERTION and is_content)
    if kind in _FILLS:
        return kind == "iterator" and _FILLS[kind].fullmatch(op_type) is not None
    gives = index.dtypes(handle)
    is_handle = bool(gives) and (gives[0] == "resource" or gives[0].endswith("_ref"))
    return is_handle and not index.dtypes(op) and not _ENDS.fullmatch(op_type)


def _is_free(index: GraphIndex, op: int, handle: int) -> bool:
    """Whether an op needs nothing from outside but its handle; it may read variables and tables."""
    visited, stack = {op, handle}, [op]
    while stack:
        at = stack.pop()
        own = at == op or kind_of(index.types[at]) == TABLE
        if (not own and comes_from_outside(index, at)) or index.types[at] in V1_LOOPS:
            return False
        before = set(index.input_lists[at] + index.control_lists[at]) - visited
        visited |= before
        stack += before
    return True


def first_contents(index: GraphIndex, ops: Collection[int]) -> tuple[int, ...]:
    """The ops among `ops` to run for the states among them to have their first content, once
    variables have theirs.

    In graph order, but tables before iterators. What goes on filling (queues) is not among them,
    nor what must be fed.
    """
    states = [i for i in np.flatnonzero(persistent_state(index)).tolist() if i in ops]
    states = [i for i in states if index.types[i] not in HANDLES]
    states.sort(key=lambda i: (kind_of(index.types[i]) == "iterator", i))
    ops_to_run: dict[int, None] = {}
    for handle in states:
        ops_to_run |= dict.fromkeys(initializers(index, handle))
    return tuple(i for i in ops_to_run if i in ops and not _must_be_fed(index)[i])


@cached_per_index
def _must_be_fed(index: GraphIndex) -> Mask:
    """The ops that need, or only wait for, a placeholder that has no default."""
    placeholders = np.flatnonzero(of_type(index, REQUIRED_PLACEHOLDERS.__contains__))
    return traversal.forward(index, placeholders.tolist())


@cached_per_index
def from_outside(index: GraphIndex) -> Mask:
    """The ops that bring in values which a part of the graph does not own: `comes_from_outside`.

    But hash tables are parameters, as variables are.
    """
    kinds, code = index.kinds
    first = np.zeros(len(kinds), dtype=np.int64)
    first[code[::-1]] = np.arange(len(code))[::-1]
    # One answer for all ops of a type, but for types that TensorFlow does not know: there each
    # NodeDef may differ.
    mask: Mask = np.array([comes_from_outside(index, i) for i in first.tolist()], dtype=bool)[code]
    unknown = [k for k, kind in enumerate(kinds) if index.typing.definition(kind) is None]
    for i in np.flatnonzero(np.isin(code, unknown)).tolist():
        mask[i] = comes_from_outside(index, i)
    mask &= ~of_type(index, lambda kind: kind_of(kind) == TABLE)
    make_read_only(mask)
    return mask


@cached_per_index
def computed_from_outside(index: GraphIndex) -> Mask:
    """The ops that are `from_outside`, and all that is computed from them.

    An op that only waits for one of them, by a control input, is not among them: a variable's read
    or a constant under `tf.control_dependencies` is what it would be without.
    """
    mask = traversal.forward(index, np.flatnonzero(from_outside(index)), controls=False)
    make_read_only(mask)
    return mask

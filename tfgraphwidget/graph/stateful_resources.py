"""Ops that hold state across steps, their keys, and their consumers.

TensorFlow finds a state by its kind and its key: `shared_name`, or the op's name where that is
empty. So two ops may hold one state with no edge between them: both ends of a staging area, or a
handle and its alias. Which op types hold state is known by their OpDefs, which have the attribute;
so it is right for unknown types.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from itertools import compress
from typing import NamedTuple

import numpy as np

from tfgraphwidget.graph.adjacency import distinct, walk_from
from tfgraphwidget.graph.edges import Ids, Mask, make_read_only
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.index_cache import cached_per_index
from tfgraphwidget.graph.op_types import (
    CONSTANTS,
    FIRST_INPUT_FORWARDING,
    HANDLES,
    STATE_FORWARDING,
    TEMPORARY_VARIABLES,
    VARIABLE_ASSEMBLY,
    VARIABLE_READS,
)
from tfgraphwidget.graph.traversal import mask_of
from tfgraphwidget.naming import shared_name, text_attribute

_KEY, _TEMPORARY = "shared_name", "var_name"
# They hold state and have no key: TensorFlow makes a new one whenever they run.
_WITHOUT_KEY = re.compile(r"Stack(V2)?|TemporaryVariable|Anonymous\w+")
_KINDS = tuple(
    (kind, re.compile(types))
    for kind, types in (
        ("variable", r"VarHandleOp|Variable(V2)?|TemporaryVariable"),
        ("hash table", r"\w*HashTable(OfTensors)?(V\d)?"),
        ("queue", r"\w*Queue(V\d)?"),
        ("iterator", r"\w*Iterator(V\d)?"),
        ("stack", r"Stack(V2)?"),
        ("barrier", r"Barrier"),
        ("accumulator", r"\w*Accumulator"),
        (
            "staging area",
            r"Stage\w*|Unstage|(Ordered)?Map(Stage|Unstage|UnstageNoKey|Peek|Size|IncompleteSize|Clear)",
        ),
        ("reader", r"\w*Reader(V\d)?"),
        ("summary writer", r"SummaryWriter"),
        ("map of sparse tensors", r"(Add|Take)\w*Sparse\w*TensorsMap"),
    )
)
_LONGEST_CHAIN = 100  # of ops that give on a handle; a damaged file may have a cycle
_KINDS_OF_HANDLES = (
    ("multi-device iterator", re.compile(r"(Anonymous)?MultiDeviceIterator(V\d)?")),
    ("sparse accumulator", re.compile(r"SparseConditionalAccumulator")),
    *_KINDS,
    ("dataset", re.compile(r"\w*Dataset(V\d)?")),
    (
        "list of tensors",
        re.compile(
            r"(Empty)?TensorList(?!Length|GetItem|Stack|Gather|Concat$|ConcatV2$|ElementShape)\w*"
        ),
    ),
    ("TensorArray", re.compile(r"TensorArray(V\d|Grad(V\d|WithShape))?")),
)
# The kinds of which several ops are the ends of one state; none of them hands out a handle.
_WITHOUT_HANDLE = frozenset({"staging area", "map of sparse tensors"})


@lru_cache(4096)
def kind_of(op_type: str) -> str:
    """The kind of state that an op holds, in words; its op type where there is no word for it."""
    return next((kind for kind, types in _KINDS if types.fullmatch(op_type)), op_type)


def handle_kind(index: GraphIndex, tensor: tuple[int, int]) -> str:
    """The kind of what a handle is a handle of, "queue", "dataset"; "" if none or unknown."""
    op, _ = tensor
    start = index.inputs.start
    for _ in range(_LONGEST_CHAIN):
        if index.types[op] not in FIRST_INPUT_FORWARDING or start[op] == start[op + 1]:
            break
        op = int(index.inputs.values[start[op]])
    return kind_of_handle(index.types[op])


@lru_cache(4096)
def kind_of_handle(op_type: str) -> str:
    """The kind of what an op's handles are handles of; "" for none, or those of others."""
    return next((kind for kind, types in _KINDS_OF_HANDLES if types.fullmatch(op_type)), "")


@cached_per_index
def persistent_state(index: GraphIndex) -> Mask:
    """The ops that keep state under a key, variables too."""
    kinds, code = index.kinds
    op_defs = [index.typing.definition(kind) for kind in kinds]
    has_key = [
        definition is not None and any(a.name == _KEY for a in definition.attr)
        for definition in op_defs
    ]
    mask: Mask = np.array(has_key, dtype=bool)[code]
    # Of types that TensorFlow does not know each NodeDef may differ.
    unknown = [k for k, definition in enumerate(op_defs) if definition is None]
    for i in np.flatnonzero(np.isin(code, unknown)).tolist():
        mask[i] = _KEY in index.nodes[i].attr
    make_read_only(mask)
    return mask


def of_type(index: GraphIndex, predicate: Callable[[str], bool]) -> Mask:
    """The ops whose type is `predicate`."""
    kinds, code = index.kinds
    mask: Mask = np.array([predicate(kind) for kind in kinds], dtype=bool)[code]
    return mask


def stateful(index: GraphIndex) -> Mask:
    """The ops that keep state, read or change it, or have another effect, as TensorFlow says."""

    def is_stateful(kind: str) -> bool:
        definition = index.typing.definition(kind)
        return definition is not None and bool(definition.is_stateful)

    return of_type(index, is_stateful)


def key_of(index: GraphIndex, op: int) -> tuple[str, bytes, str]:
    """Kind, container and key of the state that an op holds: equal keys are one state."""
    node = index.nodes[op]
    return kind_of(node.op), text_attribute(node, "container"), shared_name(node) or node.name


def by_key(index: GraphIndex) -> dict[tuple[str, bytes, str], list[int]]:
    """For each state the ops that hold it, in graph order, without variables."""
    ops_by_key = defaultdict(list)
    for i in np.flatnonzero(persistent_state(index)).tolist():
        if index.types[i] not in HANDLES:
            ops_by_key[key_of(index, i)].append(i)
    return ops_by_key


def resources(index: GraphIndex, ops: Collection[int]) -> tuple[tuple[int, str], ...]:
    """The ops among `ops` that hold state, in graph order, each with what it is in words.

    Of the ops that are the ends of one state without a handle, only the first.
    """
    holds = state_holders(index)
    holders, keys_seen = [], set()
    for i in np.flatnonzero(holds & mask_of(index, ops)).tolist():
        kind = kind_of(index.types[i])
        if kind in _WITHOUT_HANDLE:
            key = key_of(index, i)
            if key in keys_seen:
                continue
            keys_seen.add(key)
        holders.append((i, kind))
    return tuple(holders)


def state_holders(index: GraphIndex) -> Mask:
    """`persistent_state`, and what holds state without a key."""
    return persistent_state(index) | of_type(
        index, lambda kind: _WITHOUT_KEY.fullmatch(kind) is not None
    )


def shared_state(
    index: GraphIndex, ops: Collection[int], boundary: Collection[int] = ()
) -> tuple[tuple[int, str], ...]:
    """The ops outside `ops` whose state ops inside read or write, with what they are in words, in
    graph order.

    That is what a copy of `ops` shares with the original. A value that was read outside counts too,
    but not what is computed from one, nor what comes in by way of the ops `boundary`.
    """
    mask = resources_of(index, mask_of(index, ops), mask_of(index, boundary), values=True)
    return tuple((i, kind_of(index.types[i])) for i in np.flatnonzero(mask).tolist())


def resources_of(
    index: GraphIndex, ops: Mask, boundary: Mask | None = None, *, values: bool = False
) -> Mask:
    """The ops outside `ops`, as one bool per op, that hold a state of which some op inside reads
    the handle, at first or second hand, but for tensors of `boundary`, which come from outside.

    With `values` also those of which one reads the value; a write to a reference variable hands
    that on.
    """
    holds, mask = state_holders(index), np.zeros(len(index), dtype=bool)
    if not holds.any():
        return mask
    visited = ops.copy() if boundary is None else ops | boundary
    read = index.inputs.values[ops[index.inputs.owner]]
    stack = distinct(read[~visited[read]]).tolist()
    while stack:
        at = stack.pop()
        if not visited[at]:
            visited[at] = True
            mask[at] = holds[at]
            hands_on = index.types[at] in STATE_FORWARDING
            if values and not hands_on:
                hands_on = _reads(index, at) or is_reference(index, at)
            if hands_on:
                stack += index.input_lists[at]
    return mask


_PARTS_OF_VARIABLES = CONSTANTS | VARIABLE_READS | HANDLES


def _reads(index: GraphIndex, op: int) -> bool:
    """Whether an op hands on a variable's value: as is, cast, or put together of slices."""
    kind = index.types[op]
    if kind not in VARIABLE_ASSEMBLY:
        return kind in VARIABLE_READS
    if kind == "Cast":
        return True
    sources = {index.types[source] for source in index.input_lists[op]}
    return sources <= _PARTS_OF_VARIABLES


def is_reference(index: GraphIndex, op: int) -> bool:
    """Whether an op that is no variable gives a reference to one: as read, or written to."""
    kind = index.types[op]
    definition = None if kind in HANDLES else index.typing.definition(kind)
    return definition is not None and any(arg.is_ref for arg in definition.output_arg)


def with_state(
    index: GraphIndex, ops: Collection[int], boundary: Collection[int] = ()
) -> frozenset[int]:
    """`ops`, and the state outside of which they read the handle or the value, with the reads on
    the way there.

    So who chooses the ops of a layer alone has its variables too. What comes in by way of the ops
    `boundary` is left out.
    """
    holds, types = state_holders(index), index.types
    reads: set[int] = set()
    stack = [before for op in ops for before in index.input_lists[op]]
    while stack:
        at = stack.pop()
        if at in reads or at in boundary:
            continue
        if holds[at] and kind_of(types[at]) not in _WITHOUT_HANDLE:
            reads.add(at)
        elif _reads(index, at):
            reads.add(at)
            stack += index.input_lists[at]
    # Of the reads, those that read a state: another Identity is an op that was not
    # selected.
    ops_with_state, stack = set(ops), [at for at in reads if holds[at]]
    visited = set(stack)
    while stack:
        at = stack.pop()
        ops_with_state.add(at)
        if types[at] in VARIABLE_ASSEMBLY:
            ops_with_state.update(i for i in index.input_lists[at] if types[i] in CONSTANTS)
        new = reads.intersection(index.consumer_lists[at]) - visited
        visited |= new
        stack += new
    return frozenset(ops_with_state)


def users(index: GraphIndex, handle: int) -> list[int]:
    """The ops that read a handle, at first hand or from what hands it on, in graph order."""
    consumers, types = index.consumer_lists, index.types
    further = walk_from(
        consumers[handle], lambda op: consumers[op] if types[op] in STATE_FORWARDING else ()
    )
    return sorted(further)


def new_keys(
    index: GraphIndex, ops: Iterable[int], into: str, reserved_keys: Collection[str] = ()
) -> dict[str, str]:
    """For each key among `ops` one for their copies; equal ones stay equal.

    A key is a shared_name, or the var_name by which the two ends of a temporary variable find each
    other. `reserved_keys` are keys that are no longer free, beside those of the index.
    """
    among, (keyed, keys) = mask_of(index, ops), shared_names(index)
    old = dict.fromkeys(filter(None, compress(keys, among[keyed].tolist())))
    temporary = np.flatnonzero(among & of_type(index, TEMPORARY_VARIABLES.__contains__)).tolist()
    for op in temporary:
        attributes = index.nodes[op].attr
        if _TEMPORARY in attributes:
            old[attributes[_TEMPORARY].s.decode(errors="surrogateescape")] = None
    used = {*used_keys(index, into), *reserved_keys} if old else set()
    new = {}
    for key in filter(None, old):
        new[key] = free_key(f"{into}/{key}", used)
        used.add(new[key])
    return new


def free_key(base: str, used: Collection[str]) -> str:
    """`base`, or with the first of the endings "_1", "_2" … a key that is not `used`; upper and
    lower case differ.
    """
    free, count = base, 0
    while free in used:
        count += 1
        free = f"{base}_{count}"
    return free


def used_keys(index: GraphIndex, scope: str = "") -> set[str]:
    """The keys under which the ops of an index keep state: their shared_names, and the names of
    those without one; with a `scope` those in it, whether in upper or lower case.
    """
    ops, named = shared_names(index)
    keys = [key or index.names[op] for op, key in zip(ops.tolist(), named, strict=True)]
    prefix = f"{scope}/".lower() if scope else ""
    if prefix not in "\n".join(keys).lower():
        # Mostly the scope is new; a thousand keys at once take no time.
        return set()
    return {key for key in keys if key.lower().startswith(prefix)}


class SharedNames(NamedTuple):
    """The keys under which ops keep state.

    Attributes:
        ops: The numbers of the ops that keep state under a key, in graph order.
        keys: The shared_name of each of them, "" for none.
    """

    ops: Ids
    keys: list[str]


@cached_per_index
def shared_names(index: GraphIndex) -> SharedNames:
    """For each op that keeps state under a key the one that it names, "" for none."""
    ops, names = np.flatnonzero(persistent_state(index)).astype(np.int32), index.names
    numbers = ops.tolist()
    keys = index.nodes.shared_names(numbers)
    # Mostly the key is the op's name, whose text is there already.
    texts = [names[op] if key == names[op] else key for op, key in zip(numbers, keys, strict=True)]
    return SharedNames(ops, texts)

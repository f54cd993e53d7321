"""One handle op for each variable of a model, where several represent one: what counts variables
counts these.

Ops with one shared name hold one variable. Keras saves each variable twice, and leaves up to three
handles of it in the graph of a SavedModel: the one that the model computes with; a copy, whose
initial value is the first one's, and which nothing but the Saver uses; and one more that nothing
uses at all.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tfgraphwidget.graph.index_cache import cached_per_index
from tfgraphwidget.graph.op_types import (
    ASSIGNS,
    CHECKPOINT_VALUES,
    FUNCTION_CALLS,
    HANDLES,
    IS_INITIALIZED,
    VARIABLE_READS,
)
from tfgraphwidget.naming import shared_name, split_input, text_attribute
from tfgraphwidget.tf_types import NodeDef

if TYPE_CHECKING:
    from tfgraphwidget.graph.edges import Mask
    from tfgraphwidget.graph.index import GraphIndex
    from tfgraphwidget.graph.name_scopes import Ids

_HANDLES_AND_CALLS = frozenset({*HANDLES, *FUNCTION_CALLS})
_BOOKKEEPING = frozenset({*ASSIGNS, *IS_INITIALIZED, *VARIABLE_READS})
"""Ops that read a handle and may compute nothing that a model needs."""


@cached_per_index
def _first_handles(index: GraphIndex) -> Ids:
    """For each op the first handle of the used variable that it is a handle of; else -1."""
    import numpy as np  # a description does without

    names = index.names
    handles = [op for op, op_type in enumerate(index.types) if op_type in HANDLES]
    shared_names = zip(handles, index.nodes.shared_names(handles), strict=True)
    keys = [key or names[op] for op, key in shared_names]
    of_each = np.full(len(index), -1, dtype=np.int32)
    if len(set(keys)) == len(keys) and not index.functions:  # each is a variable of its own
        of_each[handles] = handles
        return of_each
    key_of = dict(zip(handles, keys, strict=True))
    first = _first_of(index.nodes, index.types, index.functions, index.extras.function, key_of)
    of_each[[*first]] = [*first.values()]
    return of_each


def is_distinct_handle(index: GraphIndex) -> Mask:
    """Whether each op is the handle by which a variable is counted."""
    import numpy as np

    first = _first_handles(index)
    mask: Mask = np.zeros(len(index), dtype=bool)
    mask[first[first >= 0]] = True
    return mask


def distinct_handles(index: GraphIndex, among: Iterable[int] | None = None) -> tuple[int, ...]:
    """One handle op for each variable, in graph order; `among` has those that are meant."""
    first = _first_handles(index)
    if among is not None:
        first = first[list(among)]
    return tuple(sorted(set(first[first >= 0].tolist())))


def count_variables(index: GraphIndex, ops: Iterable[int]) -> int:
    """How many variables some ops hold: of several handles of one variable the first one counts."""
    return len(set(distinct_handles(index)).intersection(ops))


def handles_of_one(index: GraphIndex, names: Iterable[str]) -> list[str]:
    """All handle ops of the variables that some handle ops represent, in graph order."""
    keys = {_key(index.nodes[index.op(name)]) for name in names}
    handles = (index.nodes[i] for i, op_type in enumerate(index.types) if op_type in HANDLES)
    return [node.name for node in handles if _key(node) in keys]


def first_handles(
    nodes: Sequence[NodeDef], functions: Collection[str], function: Callable[[str], object]
) -> dict[str, str]:
    """The name of each handle op of a used variable, with that of the variable's first one."""
    first_of = _first_of(nodes, [node.op for node in nodes], functions, function)
    return {nodes[handle].name: nodes[first].name for handle, first in first_of.items()}


def _first_of(
    nodes: Sequence[NodeDef],
    op_types: Sequence[str],
    functions: Collection[str],
    function: Callable[[str], object],
    keys: Mapping[int, str] = MappingProxyType({}),
) -> dict[int, int]:
    """The first handle op of the variable that each handle op of a used variable represents, both
    by number.

    `keys` are the names in their containers of ops whose shared_name was read before.
    """
    relevant = [i for i, op_type in enumerate(op_types) if op_type in _HANDLES_AND_CALLS]
    handles = [i for i in relevant if op_types[i] in HANDLES]
    calls = [nodes[i] for i in relevant if op_types[i] in FUNCTION_CALLS]
    called = ((node.name, node.attr["f"].func.name) for node in calls)
    savers = {name for name, body in called if body in functions and _is_saver(function(body))}
    if savers:
        names = {nodes[i].name: i for i in handles}
        unused = _Uses(nodes, names, savers).unused_handles()
        handles = [i for name, i in names.items() if name not in unused]
    names_in_container = [keys.get(i) or _name_in_container(nodes[i]) for i in handles]
    counts = Counter(names_in_container)
    first_of: dict[int, int] = {}
    first_of_key: dict[tuple[str, bytes, str], int] = {}
    for i, name in zip(handles, names_in_container, strict=True):
        # Mostly each has a name of its own; then the container and the type, which take time to
        # read, make no difference.
        first_of[i] = first_of_key.setdefault(_key(nodes[i]), i) if counts[name] > 1 else i
    return first_of


def _is_saver(function: Any) -> bool:
    return any(node.op in CHECKPOINT_VALUES for node in function.node_def)


def _name_in_container(node: NodeDef) -> str:
    return shared_name(node) or node.name


def _key(node: NodeDef) -> tuple[str, bytes, str]:
    """The type, container and name of a variable: handle ops of one key represent one variable."""
    container = text_attribute(node, "container")
    return node.op.removesuffix("V2"), container, _name_in_container(node)


class _Uses:
    """The uses of variables by the ops of a graph, of whose calls `savers` save or restore them."""

    def __init__(
        self, nodes: Sequence[NodeDef], handles: Collection[str], savers: Collection[str]
    ) -> None:
        self._savers, self._handles = savers, handles
        self._by_name = {node.name: node for node in nodes}
        self._consumers: dict[str, list[NodeDef]] = defaultdict(list)
        for node in nodes:
            for op in {split_input(text)[0] for text in node.input}:
                self._consumers[op].append(node)

    def unused_handles(self) -> frozenset[str]:
        """The handles of copies, and those that nothing uses."""
        return frozenset(name for name in self._handles if self._is_unused(name))

    def _is_unused(self, handle: str) -> bool:
        consumers = self._consumers[handle]
        if not all(self._is_bookkeeping(node) for node in consumers):
            return False
        assigns = [
            node
            for node in consumers
            if node.op in ASSIGNS and split_input(node.input[0])[0] == handle
        ]
        if not assigns:
            return not any(node.name in self._savers for node in consumers)
        return any(self._copies_a_variable(node, handle) for node in assigns)

    def _is_bookkeeping(self, node: NodeDef) -> bool:
        """Whether an op that reads a handle computes nothing that any other op takes."""
        if node.name in self._savers:
            return True
        return node.op in _BOOKKEEPING and not self._consumers[node.name]

    def _copies_a_variable(self, assign: NodeDef, handle: str) -> bool:
        """Whether an op assigns another variable's value."""
        source = split_input(assign.input[1])[0] if len(assign.input) > 1 else ""
        for _ in range(len(VARIABLE_READS)):  # a read, and an Identity after it
            node = self._by_name.get(source)
            if node is None or node.op not in VARIABLE_READS or not node.input:
                break
            source = split_input(node.input[0])[0]
        return source in self._handles and source != handle

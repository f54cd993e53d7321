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
    keys = {
        _key(node, shared_name(node) or node.name)
        for node in (index.nodes[index.op(name)] for name in names)
    }
    handles = (index.nodes[i] for i, op_type in enumerate(index.types) if op_type in HANDLES)
    return [node.name for node in handles if _key(node, shared_name(node) or node.name) in keys]


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
    """The number of each handle op of a variable that is used, with that of the variable's first
    one.

    `keys` are shared_names that were read before, or names for none, by the numbers of the ops.
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
    names_in_container = [
        (keys[i] if i in keys else shared_name(nodes[i])) or nodes[i].name for i in handles
    ]
    first: dict[tuple[str, bytes, str], int] = {}
    # Mostly each has a name of its own; then the container and the type, which take time to read,
    # make no difference.
    counts = Counter(names_in_container)
    return {
        i: first.setdefault(_key(nodes[i], name), i) if counts[name] > 1 else i
        for i, name in zip(handles, names_in_container, strict=True)
    }


def _is_saver(function: Any) -> bool:
    return any(node.op in CHECKPOINT_VALUES for node in function.node_def)


def _key(node: NodeDef, name: str) -> tuple[str, bytes, str]:
    """The key of a variable of that name in its container: ops of one key hold one variable."""
    return node.op.removesuffix("V2"), text_attribute(node, "container"), name


class _Uses:
    """The uses of variables by the ops of a graph."""

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
        is_own = (
            node.op in ASSIGNS | IS_INITIALIZED | VARIABLE_READS and not self._consumers[node.name]
        )
        return is_own or node.name in self._savers

    def _copies_a_variable(self, assign: NodeDef, handle: str) -> bool:
        """Whether an op assigns another variable's value."""
        at = split_input(assign.input[1])[0] if len(assign.input) > 1 else ""
        for _ in range(len(VARIABLE_READS)):  # a read, and an Identity after it
            node = self._by_name.get(at)
            if node is None or node.op not in VARIABLE_READS or not node.input:
                break
            at = split_input(node.input[0])[0]
        return at in self._handles and at != handle

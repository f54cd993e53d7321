"""Which ops make up one variable: handle, initial value, assign, reads, is-initialised.

A graph says this in two ways: by VariableDefs (the collections of `tf.Variable`s) or, after a bare
`import_graph_def`, by structure only. Both end here as `VariableDef`s, keyed by the number of the handle.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tfgraphwidget.graph.contexts import V1_CONTROL_FLOW, V1_LOOPS
from tfgraphwidget.graph.edges import Mask
from tfgraphwidget.graph.index import GraphIndex, VariableDef
from tfgraphwidget.names import split_tensor

REF_HANDLES = frozenset({"Variable", "VariableV2"})
RESOURCE_HANDLES = frozenset({"VarHandleOp"})
HANDLES = REF_HANDLES | RESOURCE_HANDLES
_ASSIGN = frozenset({"Assign", "AssignVariableOp"})
_READ = frozenset({"Identity", "ReadVariableOp"})
_IS_INITIALIZED = frozenset({"VarIsInitializedOp", "IsVariableInitialized"})
_KEY = "shared_name"
_REGULARIZATION, _UPDATES = "regularization_losses", "update_ops"


def handles(index: GraphIndex) -> list[int]:
    """The ops that hold a variable's state, in graph order."""
    return [i for i, kind in enumerate(index.types) if kind in HANDLES]


def definitions(index: GraphIndex, wanted: Iterable[int]) -> dict[int, VariableDef]:
    """The variable of each handle in `wanted`, in that order."""
    known = index.defined_variables
    return {i: known.get(index.names[i]) or _by_structure(index, i) for i in wanted}


def _by_structure(index: GraphIndex, handle: int) -> VariableDef:
    """What the ops around a handle say, as TensorFlow's own code would have written it."""
    name = index.names[handle]
    readers = [i for i in dict.fromkeys(index.consumer_lists[handle]) if index.input_lists[i][0] == handle]

    def pick(kinds: frozenset[str]) -> int | None:
        # A Saver assigns and reads every variable too; the variable's own ops stand under its name.
        own = [i for i in readers if index.types[i] in kinds and index.names[i].startswith(f"{name}/")]
        return own[0] if own else None

    assign, read = pick(_ASSIGN), pick(_READ)
    if assign is not None and len(index.input_lists[assign]) < 2:
        assign = None  # of a damaged file
    if read is None:
        # As tf.raw_ops leave it: no read under the variable's name. One that waits for another op will not do, since
        # whoever asks for the value would run that op too.
        plain = (i for i in readers if index.types[i] == "ReadVariableOp" and not index.control_lists[i])
        read = next(plain, None)
    return VariableDef(
        handle=name,
        initial_value=None if assign is None else _input_tensor(index, assign, 1),
        initializer=None if assign is None else index.names[assign],
        snapshot=None if read is None else f"{index.names[read]}:0",
        resource=index.types[handle] in RESOURCE_HANDLES,
    )


def _input_tensor(index: GraphIndex, op: int, slot: int) -> str:
    at = index.inputs.start[op] + slot
    return f"{index.names[index.inputs.values[at]]}:{index.ports[at]}"


def own_ops(index: GraphIndex, variable: VariableDef) -> set[int]:
    """Handle, assign, the ops from handle to snapshot, and is-initialised checks; not the initial value."""
    handle = index.ids[variable.handle]
    found = {handle}
    if variable.initializer in index.ids:
        found.add(index.ids[variable.initializer])
    if variable.snapshot is not None:
        at = index.ids.get(split_tensor(variable.snapshot)[0], handle)
        while at not in found:
            found.add(at)
            at = index.input_lists[at][0] if index.input_lists[at] else handle
    checks = (i for i in index.consumer_lists[handle] if index.types[i] in _IS_INITIALIZED)
    found.update(i for i in checks if index.names[i].startswith(f"{variable.handle}/"))
    return found


def completed(index: GraphIndex, selected: set[int], given: frozenset[int] = frozenset()) -> set[int]:
    """`selected` and what its variables need to be whole: assign, reads, checks, initial values.

    Also the regularisation losses on them, and the update ops (moving averages) that read what is selected, each with
    the variables that it keeps. `given` are the ops whose tensors come in from outside: nothing behind them is taken.
    An initial value that depends on a placeholder, on another kind of state or on a v1 loop is not copied: the new
    variable's assign then reads the original's initial value.
    """
    whole = _with_variables(index, selected)
    for key in (_REGULARIZATION, _UPDATES):
        whole |= _with_variables(index, _belonging(index, whole, given, key))
    return whole


def _with_variables(index: GraphIndex, ops: set[int]) -> set[int]:
    """Some ops, with all that makes the variables among them whole."""
    whole = set(ops)
    for variable in definitions(index, [i for i in sorted(ops) if index.types[i] in HANDLES]).values():
        whole |= own_ops(index, variable)
        whole |= _initial_value_ops(index, variable)
    return whole


def _initial_value_ops(index: GraphIndex, variable: VariableDef) -> set[int]:
    """What the assign and the VariableDef's initial value need (TensorFlow may put a guard between the two)."""
    found: set[int] = set()
    named = [split_tensor(variable.initial_value)[0]] if variable.initial_value else []
    stack = [index.ids[op] for op in named if op in index.ids]
    if variable.initializer in index.ids:
        assign = index.ids[variable.initializer]
        stack += index.input_lists[assign] + index.control_lists[assign]
    while stack:
        at = stack.pop()
        if at in found or index.types[at] in HANDLES:
            continue
        if comes_from_outside(index, at) or index.types[at] in V1_LOOPS:
            return set()
        found.add(at)
        stack += index.input_lists[at] + index.control_lists[at]
    return found


def _belonging(index: GraphIndex, whole: set[int], given: frozenset[int], key: str) -> set[int]:
    """Members of a collection that read ops of `whole`, with what they need; none that needs values from outside.

    A regularisation loss may read copied variables only; an update op brings along the variable that it updates.
    """
    found: set[int] = set()
    for member in index.collections.get(key, ()):
        op = index.ids.get(split_tensor(member.name)[0])
        stack = [] if op is None else [op]
        seen: set[int] = set()
        reads = False
        while stack:
            at = stack.pop()
            reads |= at in whole
            if at not in seen and at not in whole and at not in given:
                seen.add(at)
                stack += index.input_lists[at] + index.control_lists[at]
        foreign = HANDLES if key == _REGULARIZATION else frozenset()
        kinds = {index.types[i] for i in seen}
        if (
            reads
            and kinds.isdisjoint(foreign | V1_CONTROL_FLOW)
            and not any(comes_from_outside(index, i) for i in seen)
        ):
            found |= seen
    return found


def comes_from_outside(index: GraphIndex, op: int) -> bool:
    """Whether an op brings in values that a part of a graph does not own.

    Placeholders, with a default or without, and every op with state of its own that is no variable: tables,
    queues, iterators, readers.
    """
    kind = index.types[op]
    if kind.startswith("Placeholder") or kind in HANDLES:
        return kind not in HANDLES
    definition = index.typing.definition(kind)  # a file may have left out attributes at their default
    return has_state(index.nodes[op]) or (definition is not None and any(a.name == _KEY for a in definition.attr))


def from_outside(index: GraphIndex) -> Mask:
    """`comes_from_outside` for all ops."""
    kinds, code = index.kinds
    first = np.zeros(len(kinds), dtype=np.int64)
    first[code[::-1]] = np.arange(len(code))[::-1]
    # One answer for all ops of a type, but for types that TensorFlow does not know: there each NodeDef may differ.
    found: Mask = np.array([comes_from_outside(index, i) for i in first.tolist()], dtype=bool)[code]
    unknown = [k for k, kind in enumerate(kinds) if index.typing.definition(kind) is None]
    for i in np.flatnonzero(np.isin(code, unknown)).tolist():
        found[i] = comes_from_outside(index, i)
    return found


def has_state(node: Any) -> bool:
    """Whether a NodeDef keeps state under a name that others can share."""
    return _KEY in node.attr

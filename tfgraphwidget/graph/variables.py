"""Which ops make up one variable: handle, initial value, assign, reads, is-initialised.

A graph says this in two ways: by VariableDefs (the collections of `tf.Variable`s) or, after a bare
`import_graph_def`, by structure only. Both end here as `VariableDef`s, keyed by the number of the handle.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tfgraphwidget.graph.index import GraphIndex, VariableDef
from tfgraphwidget.graph.op_types import (
    ASSIGNS,
    HANDLES,
    IS_INITIALIZED,
    PLACEHOLDERS,
    RESOURCE_HANDLES,
    VARIABLE_READS,
)
from tfgraphwidget.naming import split_tensor

STATE_KEY = "shared_name"


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

    assign, read = pick(ASSIGNS), pick(VARIABLE_READS)
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
    for i in index.consumer_lists[handle]:
        if index.types[i] in IS_INITIALIZED and index.names[i].startswith(f"{variable.handle}/"):
            found.add(i)
    return found


def comes_from_outside(index: GraphIndex, op: int) -> bool:
    """Whether an op brings in values that a part of a graph does not own.

    Placeholders, with a default or without, and every op with state of its own that is no variable: tables,
    queues, iterators, readers.
    """
    kind = index.types[op]
    if is_placeholder(kind) or kind in HANDLES:
        return kind not in HANDLES
    definition = index.typing.definition(kind)  # a file may have left out attributes at their default
    return has_state(index.nodes[op]) or (definition is not None and any(a.name == STATE_KEY for a in definition.attr))


def is_placeholder(op_type: str) -> bool:
    """Whether ops of this type are fed, with a default or without."""
    return op_type in PLACEHOLDERS


def has_state(node: Any) -> bool:
    """Whether a NodeDef keeps state under a name that others can share."""
    return STATE_KEY in node.attr

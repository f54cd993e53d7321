"""The ops of a variable: handle, initial value, assign, read, and is-initialized check.

A graph lists its variables in collections of `tf.Variable`s; after a bare `import_graph_def` only
the structure of the graph shows them. Both become `VariableDef`s here, keyed by the number of the
handle op.
"""

from __future__ import annotations

from collections.abc import Iterable

from tfgraphwidget.graph.edges import Mask
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
from tfgraphwidget.tf_types import NodeDef

STATE_KEY = "shared_name"


def handles(index: GraphIndex) -> list[int]:
    """List the ops that hold a variable's state, in graph order."""
    return [i for i, kind in enumerate(index.types) if kind in HANDLES]


def listed_variables(index: GraphIndex) -> frozenset[str]:
    """The handle ops of the variables that the collections of a graph list."""
    members = (member for entries in index.collections.values() for member in entries)
    listed = (split_tensor(member.name)[0] for member in members if member.kind == "variable")
    return frozenset((*index.defined_variables, *listed))


def collection_ops(index: GraphIndex) -> set[str]:
    """The names of the ops that the collections of a graph hold, or tensors of."""
    members = (member for entries in index.collections.values() for member in entries)
    return {split_tensor(member.name)[0] for member in members}


def count_trainable(index: GraphIndex, ops: Iterable[int]) -> int:
    """How many handle ops of variables an optimizer can take: those in the collections."""
    listed = listed_variables(index)
    return sum(index.types[op] in HANDLES and index.names[op] in listed for op in ops)


def definitions(index: GraphIndex, variable_ops: Iterable[int]) -> dict[int, VariableDef]:
    """The variable of each handle op, by its number, in the order of `variable_ops`. The graph's
    collections define them, or else the ops around the handle.
    """
    defined, by_structure = index.defined_variables, index.structural_variables
    variables = {}
    for i in variable_ops:
        variable = defined.get(index.names[i]) or by_structure.get(i)
        if variable is None:
            variable = by_structure[i] = _by_structure(index, i)
        variables[i] = variable
    return variables


def all_variables(index: GraphIndex) -> tuple[VariableDef, ...]:
    """The variables of all handle ops, in graph order, whether or not a collection lists them."""
    return tuple(definitions(index, handles(index)).values())


def variables_among(index: GraphIndex, ops: Mask) -> tuple[VariableDef, ...]:
    """The variables whose handles are among some ops, in graph order."""
    return tuple(definitions(index, (i for i in handles(index) if ops[i])).values())


def definition_of(index: GraphIndex, name: str) -> VariableDef:
    """The variable of a handle op, by the op's name; see `definitions`."""
    return definitions(index, [index.ids[name]])[index.ids[name]]


def _by_structure(index: GraphIndex, handle: int) -> VariableDef:
    """Define a variable by the ops around its handle, as TensorFlow's own code names them."""
    name = index.names[handle]
    distinct = dict.fromkeys(index.consumer_lists[handle])
    consumers = [i for i in distinct if index.input_lists[i][0] == handle]
    # A Saver assigns and reads every variable too; the variable's own ops are in the scope of its
    # name.
    own = [i for i in consumers if index.names[i].startswith(f"{name}/")]
    assign = next((i for i in own if index.types[i] in ASSIGNS), None)
    read = next((i for i in own if index.types[i] in VARIABLE_READS), None)
    if read is None:
        # Variables that tf.raw_ops made have no read under their names. A read with a control input
        # is not used, since fetching it would run that op too.
        reads = (i for i in consumers if index.types[i] == "ReadVariableOp")
        read = next((i for i in reads if not index.control_lists[i]), None)
    initial_value = initializer = None
    if assign is not None and len(index.input_lists[assign]) > 1:  # in a damaged file it has less
        source, port = index.input_tensors(assign)[1]
        initial_value = f"{index.names[source]}:{port}"
        initializer = index.names[assign]
    return VariableDef(
        handle=name,
        initial_value=initial_value,
        initializer=initializer,
        snapshot=None if read is None else f"{index.names[read]}:0",
        resource=index.types[handle] in RESOURCE_HANDLES,
    )


def own_ops(index: GraphIndex, variable: VariableDef) -> set[int]:
    """The ops that exist for a variable only: handle, assign, read and is-initialized checks. Those
    of the initial value are not among them, since other ops may use it.
    """
    handle = index.ids[variable.handle]
    own = {handle}
    if variable.initializer in index.ids:
        own.add(index.ids[variable.initializer])
    if variable.snapshot is not None:
        at = index.ids.get(split_tensor(variable.snapshot)[0], handle)
        while at not in own:
            own.add(at)
            at = index.input_lists[at][0] if index.input_lists[at] else handle
    for i in index.consumer_lists[handle]:
        if index.types[i] in IS_INITIALIZED and index.names[i].startswith(f"{variable.handle}/"):
            own.add(i)
    return own


def comes_from_outside(index: GraphIndex, op: int) -> bool:
    """Whether an op's values come from outside of a subgraph that contains it.

    That is so for placeholders, with or without a default, and for ops with state that is not a
    variable: tables, queues, iterators and readers.
    """
    kind = index.types[op]
    if kind in HANDLES:
        return False
    if is_placeholder(kind) or has_state(index.nodes[op]):
        return True
    # A file may have left out attributes at their default.
    definition = index.typing.definition(kind)
    return definition is not None and any(a.name == STATE_KEY for a in definition.attr)


def is_placeholder(op_type: str) -> bool:
    """Whether ops of this type are placeholders, with or without a default."""
    return op_type in PLACEHOLDERS


def has_state(node: NodeDef) -> bool:
    """Whether a NodeDef keeps state under a name that other ops can share."""
    return STATE_KEY in node.attr

"""Which value of a checkpoint belongs to which variable, according to the graph's Saver ops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tfgraphwidget.graph import (
    ASSIGNS,
    HANDLES,
    IDENTITY,
    VariableDef,
    all_variables,
    build,
    stored_texts,
)
from tfgraphwidget.naming import split_input
from tfgraphwidget.sources.node_body import Library
from tfgraphwidget.sources.source import Body
from tfgraphwidget.tf_types import Graph, NodeDef, Operation

_RESTORE = "RestoreV2"


def graph_variables(body: Body) -> tuple[VariableDef, ...]:
    """The variables in a graph's collections; without collections, those of its variable ops."""
    variables = body.collections()[1]
    nodes = body.nodes()
    if variables or not any(node.op in HANDLES for node in nodes):
        return variables
    index = build(nodes)
    return all_variables(index)


def restored_names(nodes: Sequence[NodeDef], library: Library, restore_op: str) -> list[str]:
    """Return the names that the graph's Saver reads by an op, which can be a call."""
    names_by_op = _restored_by_op(nodes)
    for node in nodes:
        function = node.attr["f"].func.name if node.name == restore_op and "f" in node.attr else ""
        if function in library.functions():
            names_by_op = {**names_by_op, **_restored_by_op(library.function(function).node_def)}
    return list(dict.fromkeys(name for names in names_by_op.values() for name in names))


def keys_by_restore_call(
    nodes: Sequence[NodeDef], library: Library, restore_op: str
) -> dict[str, str]:
    """Handle op → the name that a Saver that is a function, as in TensorFlow 2, restores."""
    call = next((node for node in nodes if node.name == restore_op and "f" in node.attr), None)
    if call is None or call.attr["f"].func.name not in library.functions():
        return {}
    function = library.function(call.attr["f"].func.name)
    tensor_of_argument = {
        arg.name: text for arg, text in zip(function.signature.input_arg, call.input, strict=False)
    }
    restored = _restored_by_op(function.node_def)
    by_name = {node.name: node for node in function.node_def}
    keys = {}
    for node in function.node_def:
        if node.op in ASSIGNS and len(node.input) > 1 and node.input[0] in tensor_of_argument:
            op, _, rest = node.input[1].partition(":")
            while op in by_name and by_name[op].op in IDENTITY and by_name[op].input:
                op, _, rest = by_name[op].input[0].partition(":")
            port = int(rest.rpartition(":")[2] or 0)
            if port < len(restored.get(op, ())):
                keys[split_input(tensor_of_argument[node.input[0]])[0]] = restored[op][port]
    return keys


def _restored_by_op(nodes: Iterable[NodeDef]) -> dict[str, list[str]]:
    """RestoreV2 op -> the names that it reads, in the order of its outputs."""
    by_name = {node.name: node for node in nodes}
    names_by_op = {}
    for node in by_name.values():
        if node.op == _RESTORE and len(node.input) > 1:
            names = by_name.get(node.input[1].partition(":")[0])
            if names is not None and "value" in names.attr:
                values = stored_texts(names.attr["value"].tensor) or ()
                names_by_op[node.name] = [name.decode("utf-8", "replace") for name in values]
    return names_by_op


def checkpoint_keys(nodes: Sequence[NodeDef], variables: Iterable[VariableDef]) -> dict[str, str]:
    """The handle op of each variable → the name that the graph's Saver restores its value from, or
    else the variable's own name.
    """
    keys = {
        v.handle: v.slice_info.full_name if v.slice_info is not None else v.handle
        for v in variables
    }
    return {**keys, **{op: key for op, key in _saver_keys(nodes).items() if op in keys}}


def _saver_keys(nodes: Sequence[NodeDef]) -> dict[str, str]:
    restored = _restored_by_op(nodes)
    by_name: Mapping[str, NodeDef] = {node.name: node for node in nodes}
    keys = {}
    for node in nodes:
        if node.op in ASSIGNS and len(node.input) > 1:
            op, port = split_input(node.input[1])
            while op in by_name and by_name[op].op in IDENTITY and by_name[op].input:
                op, port = split_input(by_name[op].input[0])
            if port < len(restored.get(op, ())):
                keys[split_input(node.input[0])[0]] = restored[op][port]
    return keys


def variable_slice(value: Any, variable: VariableDef) -> Any:
    """The part of a saved value that belongs to one slice of a partitioned variable, or all."""
    info = variable.slice_info
    if info is None:
        return value
    return value[
        tuple(
            slice(at, at + size) for at, size in zip(info.var_offset, info.var_shape, strict=True)
        )
    ]


def assign_op(graph: Graph, variable: VariableDef) -> Operation | None:
    """An op that assigns to a variable of a live graph: its initializer, or any."""
    if variable.initializer is not None:
        initializer = graph.get_operation_by_name(variable.initializer)
        return initializer if len(initializer.inputs) > 1 else None
    handle = graph.get_tensor_by_name(variable.name)
    return next(
        (op for op in handle.consumers() if op.type in ASSIGNS and len(op.inputs) > 1), None
    )

"""The object graph of a TensorFlow 2 SavedModel: the names of its variables, which of them are
trainable, and what it gives its functions as arguments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tfgraphwidget.graph import HANDLES, all_variables, build
from tfgraphwidget.naming import split_input
from tfgraphwidget.sources.files.assets import is_outside_assets
from tfgraphwidget.sources.renaming import variable_op_name
from tfgraphwidget.sources.source import Collections
from tfgraphwidget.sources.variables import variable_collections
from tfgraphwidget.tf_types import MetaGraphDef, NodeDef, SavedObject, SavedObjectGraph


def object_variables(
    meta: MetaGraphDef, nodes: Sequence[NodeDef]
) -> tuple[Collections, dict[str, str]]:
    """Collections as a TensorFlow 1 graph would have them, and the real name of each handle op that
    has another.

    Empty when the MetaGraphDef has no object graph.
    """
    if not meta.object_graph_def.nodes:
        return ({}, ()), {}
    saved_nodes = meta.object_graph_def.nodes
    by_call = {
        op: saved_nodes[k].variable
        for op, k in _bound_by_calls(meta.object_graph_def, nodes).items()
    }
    by_name = {op: saved_nodes[k].variable for op, k in _named_as(saved_nodes, nodes).items()}
    index = build(nodes)
    variables = []
    saved_names = {}
    for variable in all_variables(index):
        saved_variable = by_call.get(variable.handle) or by_name.get(variable.handle)
        variables.append(
            variable
            if saved_variable is None
            else replace(variable, trainable=saved_variable.trainable)
        )
        if (
            saved_variable is not None
            and saved_variable.name
            and saved_variable.name != variable.handle
        ):
            saved_names[variable.handle] = saved_variable.name
    return variable_collections(variables), _one_to_one(saved_names, list(by_call))


def _one_to_one(saved_names: Mapping[str, str], own: Sequence[str]) -> dict[str, str]:
    """The saved names that identify one op only of those named `own`, so that every function body
    shows the same.

    `own` are the handles that functions capture. Keras leaves one beside without consumers, under
    the variable's name.
    """
    op_names = {op: variable_op_name(name) for op, name in saved_names.items()}
    while True:  # an op that falls back on its own name may take it from another
        counts = Counter(op_names.get(op, op).lower() for op in own)
        unclear = [op for op, name in op_names.items() if counts[name.lower()] > 1]
        if not unclear:
            return {op: saved_names[op] for op in op_names}
        for op in unclear:
            del op_names[op]


def _is_variable(saved_object: SavedObject) -> bool:
    return bool(saved_object.WhichOneof("kind") == "variable")


def unrestored_variables(meta: MetaGraphDef, nodes: Sequence[NodeDef]) -> dict[str, int]:
    """Handle op -> number of the saved object, for variables that functions capture and the Saver
    does not restore.

    Keras 3 saved by tf.saved_model.save is so: its Saver restores other variables, which no
    function reads.
    """
    if not meta.object_graph_def.nodes:
        return {}
    restore = next((node for node in nodes if node.name == meta.saver_def.restore_op_name), None)
    restored = {split_input(text)[0] for text in ([] if restore is None else restore.input)}
    objects_of_ops = _bound_by_calls(meta.object_graph_def, nodes)
    return {
        op: number
        for op, number in objects_of_ops.items()
        if restore is not None and op not in restored
    }


def saved_variables(meta: MetaGraphDef, nodes: Sequence[NodeDef]) -> dict[str, int]:
    """Handle op -> number of the saved object, for all variables whose values a SavedModel keeps by
    object.
    """
    by_name = _named_as(meta.object_graph_def.nodes, nodes)
    return {**by_name, **_bound_by_calls(meta.object_graph_def, nodes)}


def _named_as(saved_objects: Sequence[SavedObject], nodes: Sequence[NodeDef]) -> dict[str, int]:
    """Handle op -> number of the saved variable of its name, dtype and shape.

    TensorFlow keeps the path of an asset file in one more variable, and names ops in the order in
    which it makes them: the path is in "Variable" then, and the value of a variable of that name in
    "Variable_1".
    """
    by_name = {each.variable.name: k for k, each in enumerate(saved_objects) if _is_variable(each)}
    numbers = {}
    for node in nodes:
        if node.op in HANDLES and node.name in by_name:
            saved = saved_objects[by_name[node.name]].variable
            has_dtype = "dtype" not in node.attr or node.attr["dtype"].type == saved.dtype
            has_shape = "shape" not in node.attr or node.attr["shape"].shape == saved.shape
            if has_dtype and has_shape:
                numbers[node.name] = by_name[node.name]
    return numbers


def bound_variables(meta: MetaGraphDef, nodes: Sequence[NodeDef]) -> tuple[str, ...]:
    """The handle ops of the variables that saved functions capture."""
    return tuple(_bound_by_calls(meta.object_graph_def, nodes))


def bound_arguments(meta: MetaGraphDef, folder: Path | None) -> dict[str, tuple[int, ...]]:
    """The arguments that a SavedModel gives its functions itself, as `tf.saved_model.load` calls
    them, by their numbers from the end: -1 for the last. Not files in the model's "assets".
    """
    if meta.DESCRIPTOR.name == "GraphDef":
        return {}
    saved_objects, assets = meta.object_graph_def.nodes, meta.asset_file_def

    def is_own_asset(number: int) -> bool:
        saved_object = saved_objects[number] if 0 <= number < len(saved_objects) else None
        if saved_object is None or saved_object.WhichOneof("kind") != "asset":
            return False
        asset = saved_object.asset.asset_file_def_index
        return 0 <= asset < len(assets) and not (
            folder is not None and is_outside_assets(folder, assets[asset].filename)
        )

    return {
        name: tuple(
            place - len(function.bound_inputs)
            for place, number in enumerate(function.bound_inputs)
            if not is_own_asset(number)
        )
        for name, function in meta.object_graph_def.concrete_functions.items()
    }


def _bound_by_calls(objects: SavedObjectGraph, nodes: Sequence[NodeDef]) -> dict[str, int]:
    """Op -> number of the saved variable, for what calls of saved functions bind: the last inputs,
    in saved order.
    """
    object_of_op = {}
    for node in nodes:
        function = node.attr["f"].func.name if "f" in node.attr else ""
        if function not in objects.concrete_functions:
            continue
        numbers = objects.concrete_functions[function].bound_inputs
        inputs = [text for text in node.input if text[:1] != "^"]
        for text, number in zip(inputs[len(inputs) - len(numbers) :], numbers, strict=False):
            if 0 <= number < len(objects.nodes) and _is_variable(objects.nodes[number]):
                object_of_op[split_input(text)[0]] = number
    return object_of_op

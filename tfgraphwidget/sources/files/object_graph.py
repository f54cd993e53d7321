"""What the object graph of a TensorFlow 2 SavedModel says of variables: their real names, and which are trainable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tfgraphwidget.graph.index import build
from tfgraphwidget.graph.variables import HANDLES, definitions
from tfgraphwidget.names import split_input
from tfgraphwidget.sources.renaming import variable_op_name
from tfgraphwidget.sources.source import Collections
from tfgraphwidget.sources.variables import variable_collections


def object_variables(meta: Any, nodes: Sequence[Any]) -> tuple[Collections, dict[str, str]]:
    """Collections as a TensorFlow 1 graph would have them, and the real name of each handle op that has another.

    Empty when the MetaGraphDef has no object graph.
    """
    if not meta.object_graph_def.nodes:
        return ({}, ()), {}
    saved_nodes = meta.object_graph_def.nodes
    by_call = {op: saved_nodes[k].variable for op, k in _bound_by_calls(meta.object_graph_def, nodes).items()}
    by_name = {saved.variable.name: saved.variable for saved in meta.object_graph_def.nodes if _is_variable(saved)}
    index = build(nodes)
    found = []
    called = {}
    handles = [i for i, kind in enumerate(index.types) if kind in HANDLES]
    for variable in definitions(index, handles).values():
        saved = by_call.get(variable.handle) or by_name.get(variable.handle)
        found.append(variable if saved is None else replace(variable, trainable=saved.trainable))
        if saved is not None and saved.name and saved.name != variable.handle:
            called[variable.handle] = saved.name
    return variable_collections(found), _one_to_one(called, list(by_call))


def _one_to_one(called: Mapping[str, str], own: Sequence[str]) -> dict[str, str]:
    """The told names that mean one op only of those named `own`, so that rooms need not choose.

    `own` are the handles that functions capture. Keras leaves one beside that nobody reads, under the variable's name.
    """
    shown = {op: variable_op_name(name) for op, name in called.items()}
    while True:  # an op that falls back on its own name may take it from another
        meant = Counter(shown.get(op, op).lower() for op in own)
        unclear = [op for op, name in shown.items() if meant[name.lower()] > 1]
        if not unclear:
            return {op: called[op] for op in shown}
        for op in unclear:
            del shown[op]


def _is_variable(saved: Any) -> bool:
    return bool(saved.WhichOneof("kind") == "variable")


def unrestored_variables(meta: Any, nodes: Sequence[Any]) -> dict[str, int]:
    """Handle op -> number of the saved object, for variables that functions capture and the Saver does not restore.

    Keras 3 saved by tf.saved_model.save is so: its Saver restores other variables, which no function reads.
    """
    if not meta.object_graph_def.nodes:
        return {}
    restore = next((node for node in nodes if node.name == meta.saver_def.restore_op_name), None)
    restored = {split_input(text)[0] for text in ([] if restore is None else restore.input)}
    bound = _bound_by_calls(meta.object_graph_def, nodes)
    return {op: number for op, number in bound.items() if restore is not None and op not in restored}


def saved_variables(meta: Any, nodes: Sequence[Any]) -> dict[str, int]:
    """Handle op -> number of the saved object, for all variables whose values a SavedModel keeps by object."""
    saved = meta.object_graph_def.nodes
    by_name = {held.variable.name: k for k, held in enumerate(saved) if _is_variable(held)}
    named = {node.name: by_name[node.name] for node in nodes if node.op in HANDLES and node.name in by_name}
    return {**named, **_bound_by_calls(meta.object_graph_def, nodes)}


def _bound_by_calls(objects: Any, nodes: Sequence[Any]) -> dict[str, int]:
    """Op -> number of the saved variable, for what calls of saved functions bind: the last inputs, in saved order."""
    found = {}
    for node in nodes:
        function = node.attr["f"].func.name if "f" in node.attr else ""
        if function not in objects.concrete_functions:
            continue
        bound = objects.concrete_functions[function].bound_inputs
        read = [text for text in node.input if text[:1] != "^"]
        for text, number in zip(read[len(read) - len(bound) :], bound, strict=False):
            if 0 <= number < len(objects.nodes) and _is_variable(objects.nodes[number]):
                found[split_input(text)[0]] = number
    return found

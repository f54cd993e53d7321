"""What the object graph of a TensorFlow 2 SavedModel says of variables: their real names, and which are trainable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tfgraphwidget.graph.index import Member, build
from tfgraphwidget.graph.variables import HANDLES, definitions
from tfgraphwidget.names import split_input
from tfgraphwidget.sources.body import Collections
from tfgraphwidget.sources.variables import TRAINABLE, VARIABLES


def object_variables(meta: Any, nodes: Sequence[Any]) -> tuple[Collections, dict[str, str]]:
    """Collections as a TensorFlow 1 graph would have them, and the real name of each handle op that has another.

    Empty when the MetaGraphDef has no object graph.
    """
    if not meta.object_graph_def.nodes:
        return ({}, ()), {}
    by_call = _bound_by_calls(meta.object_graph_def, nodes)
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
    members = {
        VARIABLES: tuple(Member("variable", v.name) for v in found),
        TRAINABLE: tuple(Member("variable", v.name) for v in found if v.trainable),
    }
    return ({key: held for key, held in members.items() if held}, tuple(found)), called


def _is_variable(saved: Any) -> bool:
    return bool(saved.WhichOneof("kind") == "variable")


def _bound_by_calls(objects: Any, nodes: Sequence[Any]) -> dict[str, Any]:
    """Op -> SavedVariable, for what calls of saved functions bind: the last inputs, in the order that is saved."""
    found = {}
    for node in nodes:
        function = node.attr["f"].func.name if "f" in node.attr else ""
        if function not in objects.concrete_functions:
            continue
        bound = objects.concrete_functions[function].bound_inputs
        read = [text for text in node.input if text[:1] != "^"]
        for text, number in zip(read[len(read) - len(bound) :], bound, strict=False):
            if 0 <= number < len(objects.nodes) and _is_variable(objects.nodes[number]):
                found[split_input(text)[0]] = objects.nodes[number].variable
    return found

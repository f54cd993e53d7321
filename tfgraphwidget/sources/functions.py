"""A library function's body as a graph, the ops that hold its captured state shown as what they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import tensorflow as tf

from tfgraphwidget.errors import UnknownName
from tfgraphwidget.graph.index import GraphIndex, VariableDef, build
from tfgraphwidget.graph.variables import HANDLES, definitions
from tfgraphwidget.names import did_you_mean, free_name
from tfgraphwidget.sources.body import Body, Collections
from tfgraphwidget.sources.calls import fed_handles, fed_values
from tfgraphwidget.sources.converted import converted
from tfgraphwidget.sources.dtypes import OpTypes
from tfgraphwidget.sources.protos import ProtoBody, checked
from tfgraphwidget.sources.renaming import rename_inputs, renamed_tensor, shown_name
from tfgraphwidget.sources.variables import as_collections


def open_function(name: str, library: Body, caller: GraphIndex | None = None, op: int | None = None) -> Body:
    """The body of a function of `library`; `caller` and `op` say which op of which graph calls it.

    An argument that the call feeds from a variable, or from another op that holds state, is shown as that op. Raises
    UnknownName when the library has no such function, GraphEditError when its body is damaged.
    """
    try:
        definition = library.function(name)
    except KeyError:
        hint = did_you_mean(name, library.functions())
        raise UnknownName(f"The graph's library has no function {name!r}.{hint}") from None
    # Over 30 lines because each name below is made in one case of two, and read in the end.
    types = OpTypes(library.function)
    called_by = None if caller is None or op is None else caller.nodes[op]
    body = converted(definition, types, {} if called_by is None else called_by.attr)
    handles: dict[str, Any] = {}
    alias: dict[str, str] = {}
    variables: dict[str, VariableDef | None] = {}
    feeds: dict[str, Mapping[str, Any]] = {"origins": {}}
    if caller is not None and op is not None:
        fed = fed_handles(definition.signature, types, caller, op)
        alias, handles = _shown_as(definition, fed, caller, library.called, {node.name for node in body.nodes})
        holders = {alias[name]: caller.names[fed[k]] for k, name in _named(definition, fed)}
        variables = {shown: caller.defined_variables.get(holder) for shown, holder in holders.items()}
        values = fed_values(definition.signature, types, caller, op)
        fixed = {name: caller.nodes[values[k]] for k, name in _named(definition, values) if name not in alias}
        feeds = _feeds(library, holders, fixed)
    nodes = [handles.pop(alias[n.name], None) if n.name in alias else n for n in body.nodes]
    kept = [node for node in nodes if node is not None]
    rename_inputs(kept, alias)
    checked(kept, f"Function {name!r}")
    return ProtoBody(
        kept,
        getattr(library, "library", library),
        _variables(kept, variables),
        tuple(f"{a}:0" for a in body.arguments if a not in alias),
        {key: renamed_tensor(tensor, alias) for key, tensor in body.returns.items()},
        alias,
        **feeds,
    )


def _feeds(library: Body, holders: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """`origins` and `constants` of a body: where what its caller feeds comes from.

    `holders` are the caller's ops behind the handles, `values` its Consts and Placeholders behind other arguments.
    """
    known = library.origins
    named = {**holders, **{name: node.name for name, node in values.items() if node.op != "Const"}}
    constants = {
        name: node if node.op == "Const" else library.constants.get(node.name) for name, node in values.items()
    }
    return {
        "origins": named if known is None else {name: known[at] for name, at in named.items() if at in known},
        "constants": {name: node for name, node in constants.items() if node is not None},
    }


def _named(definition: Any, numbers: Mapping[int, int]) -> list[tuple[int, str]]:
    return [(k, definition.signature.input_arg[k].name) for k in numbers]


def _shown_as(
    definition: Any, fed: Mapping[int, int], caller: GraphIndex, called: Mapping[str, str], names: set[str]
) -> tuple[dict[str, str], dict[str, Any]]:
    """(argument -> name it is shown by, that name -> NodeDef) for the arguments fed from the ops `fed` of `caller`."""
    wanted = {k: shown_name(called.get(name, name)) for k, name in _handles(caller, fed)}
    inside = {name.lower() for name in names}
    reserved = {name.lower() for name in wanted.values()} | {shown_name(name).lower() for name in called.values()}
    shown: dict[int, str] = {}
    for handle in dict.fromkeys(fed.values()):
        name = wanted[handle]
        if name.lower() in inside:  # an op of the function has it: a name that no other variable has in any room
            name = free_name(name, inside | reserved)
        inside.add(name.lower())
        shown[handle] = name
    alias = {name: shown[fed[argument]] for argument, name in _named(definition, fed)}
    return alias, {name: _stateful(caller.nodes[handle], name) for handle, name in shown.items()}


def _handles(caller: GraphIndex, fed: Mapping[int, int]) -> list[tuple[int, str]]:
    """(number, name) of all ops of a graph that hold state: its variables, and what it feeds."""
    numbers = {*fed.values(), *(i for i, kind in enumerate(caller.types) if kind in HANDLES)}
    return [(i, caller.names[i]) for i in sorted(numbers)]


def _stateful(original: Any, name: str) -> Any:
    """An op that holds state, alone in another graph."""
    node = tf.compat.v1.NodeDef()
    node.CopyFrom(original)
    node.name = name
    del node.input[:]
    if "_class" in node.attr:
        del node.attr["_class"]
    return node


def _variables(nodes: list[Any], told: Mapping[str, VariableDef | None]) -> Collections:
    """The variables of a body: what the caller knows of them, and the reads that the body has."""
    index = build(nodes)
    handles = [i for i, kind in enumerate(index.types) if kind in HANDLES]
    found = []
    for variable in definitions(index, handles).values():
        known = told.get(variable.handle)
        found.append(
            variable
            if known is None
            else replace(
                variable,
                trainable=known.trainable,
                synchronization=known.synchronization,
                aggregation=known.aggregation,
            )
        )
    return as_collections(found)

"""Library functions that go along with copied ops: into another graph, or because they hold state of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tfgraphwidget.edits.clone.node_copier import refer
from tfgraphwidget.graph import FUNCTIONAL_CONTROL_FLOW, GraphIndex, calls, doors, has_state, keyed, shared_name
from tfgraphwidget.naming import free_name
from tfgraphwidget.tf_types import FunctionDef, NodeDef


@dataclass(frozen=True)
class Carried:
    """The FunctionDefs that the target lacks, their (function, gradient) pairs, and old name -> new name of each.

    `holding` are the functions called, by their old names, that keep state or call one that does.
    """

    functions: tuple[FunctionDef, ...] = ()
    gradients: tuple[tuple[str, str], ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    holding: tuple[str, ...] = ()


def carried(
    index: GraphIndex,
    nodes: Iterable[NodeDef],
    target: GraphIndex,
    into: str,
    *,
    own: bool,
    apart: bool = False,
    again: bool = False,
    taken: set[str] | None = None,
) -> Carried:
    """What NodeDefs of `index` need of its library, so that their copies run in `target`.

    A function whose body keeps state under a key (a table, a queue, a TensorFlow 1 variable) is copied too where the
    copy is to `own` its state; what calls it is copied with it. Others are shared within a graph. In another graph a
    function of the same name and another body gets a new name. With `apart`, v2
    loops and conditionals get bodies of their own; `again` says that an earlier copy has those of the original's names.
    `taken` are the keys of the target's state, as
    `keys_in` tells them; those that the copies take are added.
    """
    if not index.functions:
        return Carried()
    nodes = list(nodes)
    called = calls(index.functions, index.beside, nodes)
    bodies = {name: index.beside.function(name) for name in called}
    holding = _holding_state(bodies, index)
    copied = [name for name in bodies if own and name in holding]
    # TensorFlow names what it makes for gradients of a v2 loop after the body: two loops of one body clash.
    branches = [name for name in _branches(index, nodes) if apart and (again or name in target.functions)]
    names = _names(index, bodies, target, into, [*copied, *branches])
    keys = _keys((bodies[name] for name in copied), into, keys_in(target) if taken is None else taken)
    made = tuple(_renamed(bodies[name], names, keys if name in copied else {}) for name in names)
    told = ((names[name], index.beside.gradient(name)) for name in names)
    gradients = tuple((name, names.get(gradient, gradient)) for name, gradient in told if gradient)
    return Carried(made, gradients, names, tuple(name for name in bodies if name in holding))


def _branches(index: GraphIndex, nodes: Iterable[NodeDef]) -> list[str]:
    """The functions that v2 loops and conditionals among NodeDefs run as bodies, conditions and branches.

    Those nested in them too, but not those behind a call: its gradient goes with the function that it calls.
    """
    found: dict[str, None] = {}
    stack = list(nodes)
    while stack:
        node = stack.pop()
        for door in doors(node, index.functions) if node.op in FUNCTIONAL_CONTROL_FLOW else ():
            if door.function not in found:
                found[door.function] = None
                stack += index.beside.function(door.function).node_def
    return list(found)


def _names(
    index: GraphIndex, bodies: Mapping[str, Any], target: GraphIndex, into: str, copied: Iterable[str]
) -> dict[str, str]:
    """The functions that go along, with their names in the target."""
    elsewhere = index.origin is not target.origin
    known = {name.lower() for name in target.functions} | target.reserved
    there = {name for name in bodies if name in target.functions}
    names = {name: name for name in bodies if elsewhere and name not in there}
    differ = [name for name in there if elsewhere and target.beside.function(name) != bodies[name]]
    called = {name: _calls(body, index) for name, body in bodies.items()}
    pending = [*copied, *sorted(differ)]
    while pending:  # a function that calls one with a new name must change too, and so have a new name itself
        name = pending.pop()
        if names.get(name, name) == name:
            names[name] = free_name(f"{into}_{name}".replace("/", "_").strip("_"), known)
            known.add(names[name].lower())
            pending += [caller for caller, inner in called.items() if name in inner]
    return names


def keys_in(index: GraphIndex) -> set[str]:
    """What state of a graph is kept under: shared_names, or the names of ops, in lower case; in its functions too."""
    held = (index.nodes[i] for i in np.flatnonzero(keyed(index)).tolist())
    inner = (node for name in sorted(index.functions) for node in index.beside.function(name).node_def)
    return {(shared_name(node) or node.name).lower() for node in (*held, *filter(has_state, inner))}


def _calls(body: Any, index: GraphIndex) -> list[str]:
    return [door.function for node in body.node_def for door in doors(node, index.functions)]


def _holding_state(bodies: dict[str, Any], index: GraphIndex) -> set[str]:
    """The functions in whose bodies an op keeps state under a key."""
    keeps: Callable[[Any], bool] = has_state
    holding = {name for name, body in bodies.items() if any(map(keeps, body.node_def))}
    grew = True
    while grew:
        callers = {name for name, body in bodies.items() if not holding.isdisjoint(_calls(body, index))}
        grew = not callers <= holding
        holding |= callers
    return holding


def _keys(bodies: Iterable[Any], into: str, taken: set[str]) -> dict[str, str]:
    """A free key for each that state in the bodies is kept under; an op without one has its name."""
    keys: dict[str, str] = {}
    for key in dict.fromkeys(shared_name(n) or n.name for body in bodies for n in body.node_def if has_state(n)):
        keys[key] = free_name(f"{into}/{key}" if into else key, taken)
        taken.add(keys[key].lower())
    return keys


def _renamed(body: Any, names: Mapping[str, str], keys: Mapping[str, str]) -> Any:
    """A FunctionDef under its new name, calling others under theirs, with its state under new keys."""
    copy = type(body)()
    copy.CopyFrom(body)
    copy.signature.name = names[body.signature.name]
    for node in copy.node_def:
        refer(node, names)
        if keys and has_state(node):
            node.attr["shared_name"].s = keys[shared_name(node) or node.name].encode(errors="surrogateescape")
    return copy

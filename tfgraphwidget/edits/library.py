"""Library functions that go along with copied ops: into another graph, or because they hold state of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tfgraphwidget.edits.copying import refer
from tfgraphwidget.graph.doors import doors
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.variables import has_state
from tfgraphwidget.names import free_name


@dataclass(frozen=True)
class Carried:
    """The FunctionDefs that the target lacks, their (function, gradient) pairs, and old name -> new name of each."""

    functions: tuple[Any, ...] = ()
    gradients: tuple[tuple[str, str], ...] = ()
    names: dict[str, str] | None = None


def carried(index: GraphIndex, nodes: Iterable[Any], target: GraphIndex, into: str, *, own: bool) -> Carried:
    """What NodeDefs of `index` need of its library, so that their copies run in `target`.

    A function whose body keeps state under a key (a table, a queue, a TensorFlow 1 variable) is copied too where the
    copy is to `own` its state; what calls it is copied with it. Others are shared within a graph. In another graph a
    function of the same name and another body gets a new name.
    """
    if not index.functions:
        return Carried()
    called = _closure(index, (door.function for node in nodes for door in doors(node, index.functions)))
    bodies = {name: index.beside.function(name) for name in called}
    elsewhere = index.origin is not target.origin
    copied = _holding_state(bodies, index) if own else set()
    names: dict[str, str] = {}
    taken = {name.lower() for name in target.functions}
    for name, body in bodies.items():
        there = name in target.functions
        if name in copied or (elsewhere and there and target.beside.function(name) != body):
            names[name] = free_name(f"{into}_{name}".replace("/", "_").strip("_"), taken)
            taken.add(names[name].lower())
        elif elsewhere and not there:
            names[name] = name
    # A function that calls one with a new name must change too, and so have a new name itself.
    pending = [n for n, new in names.items() if n != new]
    while pending:
        changed = pending.pop()
        for name, body in bodies.items():
            if names.get(name, name) == name and changed in _calls(body, index):
                names[name] = free_name(f"{into}_{name}".replace("/", "_").strip("_"), taken)
                taken.add(names[name].lower())
                pending.append(name)
    made = tuple(_renamed(bodies[name], names, into if name in copied else "") for name in names)
    told = ((names[name], index.beside.gradient(name)) for name in names)
    gradients = tuple((name, names.get(gradient, gradient)) for name, gradient in told if gradient)
    return Carried(made, gradients, names)


def _closure(index: GraphIndex, first: Iterable[str]) -> list[str]:
    """Functions and all that they call, their gradients included; callers before what they call."""
    found: dict[str, None] = {}
    stack = list(first)
    while stack:
        name = stack.pop()
        if name not in found:
            found[name] = None
            stack += _calls(index.beside.function(name), index)
            gradient = index.beside.gradient(name)
            stack += [gradient] if gradient else []
    return list(found)


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


def _renamed(body: Any, names: dict[str, str], into: str) -> Any:
    """A FunctionDef under its new name, calling others under theirs; with `into`, its state is under new keys."""
    copy = type(body)()
    copy.CopyFrom(body)
    copy.signature.name = names[body.signature.name]
    for node in copy.node_def:
        refer(node, names)
        if into and has_state(node):
            key = node.attr["shared_name"].s.decode(errors="surrogateescape") or node.name
            node.attr["shared_name"].s = f"{into}/{key}".encode(errors="surrogateescape")
    return copy

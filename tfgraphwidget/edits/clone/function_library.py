"""Library functions that are copied with ops: into another graph, or because they hold state."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import chain

from tfgraphwidget.edits.clone.node_copier import rename_calls
from tfgraphwidget.graph import (
    FUNCTIONAL_CONTROL_FLOW,
    GRADIENT_NAME,
    GraphIndex,
    build,
    called_functions,
    has_state,
    used_keys,
    with_functions,
    without_gradient_number,
)
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import shared_name, take_free_name
from tfgraphwidget.tf_types import FunctionDef, NodeDef

_TRACE_PREFIX = re.compile(r"__(?:inference|forward|backward)_")
_TRACE_NUMBER = re.compile(r"_\d+(?=_|$)")
_DIGEST_SIZE = 4  # bytes; distinguishes the functions of one graph, and a name stays short
_NOTES_OF_TENSORFLOW = ("forward_function_name", "backward_function_name")


def with_lasting_names(index: GraphIndex) -> GraphIndex:
    """The graph of a trace, whose functions have names that are equal in each process.

    TensorFlow numbers a function by what the process has traced before: "while_body_45". Its new
    name has a digest of its body instead, so that two files with the same edits are equal.
    """
    if not index.functions:
        return index
    names: dict[str, str] = {}
    functions: list[FunctionDef] = []

    def rename(name: str) -> None:
        """Name a function after its body, whose called functions are renamed already."""
        body = index.extras.function(name)
        for called in _direct_calls(body, index):
            if called not in names:
                rename(called)
        copy = _renamed_function(body, {**names, name: ""}, {})
        names[name] = copy.signature.name = _lasting_name(name, copy)
        functions.append(copy)

    for name in sorted(index.functions):
        if name not in names:
            rename(name)
    nodes = [type(node).FromString(node.SerializeToString()) for node in index.nodes]
    for node in nodes:
        rename_calls(node, names)
    gradients = [
        (new, names[gradient])
        for name, new in names.items()
        if (gradient := index.extras.gradient(name)) in names
    ]
    return build(
        nodes,
        index.collections,
        index.variable_defs,
        typing=index.typing.with_functions({each.signature.name: each for each in functions}),
        functions=frozenset(names.values()),
        extras=with_functions(index.extras, functions, gradients),
    )


def _lasting_name(name: str, body: FunctionDef) -> str:
    """The name without numbers of the process, and with a digest of the body."""
    copy = copy_of(body)
    for key in _NOTES_OF_TENSORFLOW:
        copy.attr.pop(key, None)
    for node in copy.node_def:
        node.ClearField("experimental_debug_info")
        if GRADIENT_NAME in node.attr:
            gradient = node.attr[GRADIENT_NAME]
            gradient.s = without_gradient_number(gradient.s)
    digest = blake2b(copy.SerializeToString(deterministic=True), digest_size=_DIGEST_SIZE)
    stem = _TRACE_NUMBER.sub("", _TRACE_PREFIX.sub("", name, count=1))
    return f"{stem}_{digest.hexdigest()}"


@dataclass(frozen=True)
class FunctionCopies:
    """The FunctionDefs that the target lacks, their (function, gradient) pairs, and old name -> new
    name of each.

    `stateful` are the functions called, by their old names, that keep state or call one that does.
    """

    functions: tuple[FunctionDef, ...] = ()
    gradients: tuple[tuple[str, str], ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    stateful: tuple[str, ...] = ()


def copy_functions(
    index: GraphIndex,
    nodes: Iterable[NodeDef],
    target: GraphIndex,
    into: str,
    *,
    own: bool,
    apart: bool = False,
    again: bool = False,
    used_keys: set[str] | None = None,
) -> FunctionCopies:
    """The functions that copies of NodeDefs of `index` need in `target`.

    A function whose body keeps state under a key (a table, a queue, a TensorFlow 1 variable) is
    copied too where the copy is to `own` its state; what calls it is copied with it. Others are
    shared within a graph. In another graph a function of the same name and another body gets a new
    name. With `apart`, v2 loops and conditionals get bodies of their own. `used_keys` are the keys
    of the target's state, as `state_keys` returns them; those that the copies take are added.

    Args:
        again: Whether an earlier copy of the same patch has bodies of the originals' names.
    """
    if not index.functions:
        return FunctionCopies()
    nodes = list(nodes)
    reachable = index.reachable_functions(nodes)
    bodies = {name: index.extras.function(name) for name in reachable}
    holding = _stateful_functions(bodies, index)
    own_functions = [name for name in bodies if own and name in holding]
    # TensorFlow names what it makes for gradients of a v2 loop after the body: two loops of one
    # body clash.
    branches = [
        name
        for name in _branch_functions(index, nodes)
        if apart and (again or name in target.functions)
    ]
    names = _names_in_target(index, bodies, target, into, [*own_functions, *branches])
    if used_keys is None:
        used_keys = state_keys(target, into)
    keys = _free_keys((bodies[name] for name in own_functions), into, used_keys)
    definitions = []
    gradients = []
    for name, new_name in names.items():
        new_keys = keys if name in own_functions else {}
        definitions.append(_renamed_function(bodies[name], names, new_keys))
        if gradient := index.extras.gradient(name):
            gradients.append((new_name, names.get(gradient, gradient)))
    return FunctionCopies(
        functions=tuple(definitions),
        gradients=tuple(gradients),
        names=names,
        stateful=tuple(name for name in bodies if name in holding),
    )


def _branch_functions(index: GraphIndex, nodes: Iterable[NodeDef]) -> list[str]:
    """The functions that v2 loops and conditionals among NodeDefs run as bodies, conditions and
    branches.

    Those nested in them too, but not those after a call: its gradient goes with the function that
    it calls.
    """
    functions: dict[str, None] = {}
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if node.op not in FUNCTIONAL_CONTROL_FLOW:
            continue
        for reference in called_functions(node, index.functions):
            if reference.function not in functions:
                functions[reference.function] = None
                stack += index.extras.function(reference.function).node_def
    return list(functions)


def _names_in_target(
    index: GraphIndex,
    bodies: Mapping[str, FunctionDef],
    target: GraphIndex,
    into: str,
    functions: Iterable[str],
) -> dict[str, str]:
    """The functions that go along, with their names in the target."""
    elsewhere = index.origin is not target.origin
    names_in_use = {name.lower() for name in target.functions} | target.reserved
    there = {name for name in bodies if name in target.functions}
    names = {name: name for name in bodies if elsewhere and name not in there}
    differ = [name for name in there if elsewhere and target.extras.function(name) != bodies[name]]
    calls = {name: _direct_calls(body, index) for name, body in bodies.items()}
    pending = [*functions, *sorted(differ)]
    while pending:
        # A function that calls one with a new name must change too, and so have a new name itself.
        name = pending.pop()
        if names.get(name, name) == name:
            names[name] = take_free_name(
                f"{into}_{name}".replace("/", "_").strip("_"), names_in_use
            )
            pending += [caller for caller, inner in calls.items() if name in inner]
    return names


def state_keys(index: GraphIndex, scope: str) -> set[str]:
    """The keys of the state of a graph and its functions (shared_names, or names of ops), in lower
    case, without those that no new key in the name scope can be.
    """
    inner = (
        node for name in sorted(index.functions) for node in index.extras.function(name).node_def
    )
    keys = (shared_name(node) or node.name for node in filter(has_state, inner))
    return {key.lower() for key in (*used_keys(index, scope), *keys)}


def _direct_calls(body: FunctionDef, index: GraphIndex) -> list[str]:
    return [
        reference.function
        for node in body.node_def
        for reference in called_functions(node, index.functions)
    ]


def _stateful_functions(bodies: dict[str, FunctionDef], index: GraphIndex) -> set[str]:
    """The functions in whose bodies an op keeps state under a key, and those that call them."""
    keeps: Callable[[NodeDef], bool] = has_state
    stateful = {name for name, body in bodies.items() if any(map(keeps, body.node_def))}
    calls = {name: _direct_calls(body, index) for name, body in bodies.items()}
    while True:
        callers = {name for name, called in calls.items() if not stateful.isdisjoint(called)}
        if callers <= stateful:
            return stateful
        stateful |= callers


def _free_keys(bodies: Iterable[FunctionDef], into: str, used_keys: set[str]) -> dict[str, str]:
    """A free key for each key of state in the bodies; an op without one has its name."""
    keys: dict[str, str] = {}
    for node in filter(has_state, chain.from_iterable(body.node_def for body in bodies)):
        key = shared_name(node) or node.name
        if key not in keys:
            keys[key] = take_free_name(f"{into}/{key}" if into else key, used_keys)
    return keys


def _renamed_function(
    body: FunctionDef, names: Mapping[str, str], keys: Mapping[str, str]
) -> FunctionDef:
    """A FunctionDef under its new name, with renamed calls, and state under new keys."""
    copy = copy_of(body)
    copy.signature.name = names[body.signature.name]
    for node in copy.node_def:
        rename_calls(node, names)
        if keys and has_state(node):
            node.attr["shared_name"].s = keys[shared_name(node) or node.name].encode(
                errors="surrogateescape"
            )
    return copy

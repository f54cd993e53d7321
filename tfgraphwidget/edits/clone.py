"""Clone: a second, independent copy of a part of the graph, variables and all.

What makes a copy silently wrong, and what is done about each (see tests/test_tensorflow_facts.py):
* a NodeDef's `shared_name` is the key of its state: kept, the copy shares the original's variable. Every copied
  stateful op gets its own.
* the ops between two tensors hold a variable's handle and read but not its assign and initial value. Each
  variable is completed first.
* colocation `loc:@x` must follow the copy when x is copied too.
* a v1 while loop's frame and context cannot be shared; such parts are refused until they can be copied right.
Control inputs from ops outside the part are kept: the copy waits for what the original waits for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from tfgraphwidget.edits.patch import Change, Patch
from tfgraphwidget.errors import GraphEditError, NameTaken, NotClonable
from tfgraphwidget.graph.index import GraphIndex, Member, VariableDef
from tfgraphwidget.graph.select import between
from tfgraphwidget.graph.variables import HANDLES, V1_CONTROL_FLOW, completed, definitions, has_state, own_ops
from tfgraphwidget.names import as_input, free_name, is_scope_name, split_input, split_tensor

_GLOBAL_VARIABLES = "variables"
_COLOCATE = b"loc:@"


@dataclass(frozen=True)
class Clone:
    """Copy the ops between `inputs` and `outputs` under the name scope `into`.

    The inputs' tensors stay shared with the original. `variables="own"` gives the copy variables of its own,
    `"shared"` lets it read the originals. `init` says what the own variables hold afterwards: "current" the
    originals' present values, "initial" what their initialisers give, "none" nothing yet.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    into: str
    variables: Literal["own", "shared"] = "own"
    init: Literal["current", "initial", "none"] = "current"

    def plan(self, index: GraphIndex) -> Patch:
        """The patch; raises UnknownName, NoPath, NameTaken or NotClonable."""
        self._check_options()
        check_free(index, self.into)
        chosen = copied_ops(index, self)
        _check_clonable(index, chosen)
        names = {index.names[i]: f"{self.into}/{index.names[i]}" for i in chosen}
        nodes = tuple(_copied(index.nodes[i], names) for i in chosen)
        own = [i for i in chosen if index.types[i] in HANDLES]
        variables = tuple(_renamed(v, names) for v in definitions(index, own).values())
        return Patch(add=Change(nodes, tuple(_members(index, names, variables)), variables), scope=self.into)

    def _check_options(self) -> None:
        for name, value, known in (
            ("variables", self.variables, ("own", "shared")),
            ("init", self.init, ("current", "initial", "none")),
        ):
            if value not in known:
                raise GraphEditError(f"{name}={value!r} is not known; it is one of {', '.join(map(repr, known))}.")


def copied_ops(index: GraphIndex, clone: Clone) -> list[int]:
    """The ops that the clone copies, in graph order: those between, and what makes their variables whole."""
    inside = set(between(index, clone.inputs, clone.outputs).ids)
    if clone.variables == "own":
        return sorted(completed(index, inside))
    for variable in definitions(index, [i for i in inside if index.types[i] in HANDLES]).values():
        inside -= own_ops(index, variable)
    if not inside:
        raise NotClonable('The part holds variables only, so variables="shared" leaves nothing to copy; use "own".')
    return sorted(inside)


def source_of(clone: Clone, variable: VariableDef) -> str:
    """The handle's name of the original that a copied variable was made from."""
    return variable.handle[len(clone.into) + 1 :]


def check_free(index: GraphIndex, scope: str) -> None:
    """Raise unless `scope` is a name scope that TensorFlow takes and nobody has taken."""
    if not is_scope_name(scope):
        raise NameTaken(
            f"{scope!r} is no name scope: use letters, digits, '_', '-', '.' and '/', and begin with a letter or digit."
        )
    taken = taken_names(index, scope)
    if scope.lower() in taken:
        raise NameTaken(f"The name {scope!r} is taken in this graph; {free_name(scope, taken)!r} is free.", [scope])


def taken_names(index: GraphIndex, scope: str) -> set[str]:
    """All names as deep as `scope` that ops or scopes have, in lower case: to TensorFlow "Copy" is "copy"."""
    depth = scope.count("/") + 1
    names = {"/".join(name.split("/", depth)[:depth]) for name in index.names}
    return {name.lower() for name in names} | index.reserved


def _check_clonable(index: GraphIndex, chosen: list[int]) -> None:
    loops = [index.names[i] for i in chosen if index.types[i] in V1_CONTROL_FLOW]
    if loops:
        raise NotClonable(
            f"Op {loops[0]!r} belongs to a v1 while loop or conditional, which cannot be copied right yet; "
            f"choose boundaries that leave its {len(loops)} control flow ops outside.",
            loops,
        )
    orphans = [
        v for v in definitions(index, [i for i in chosen if index.types[i] in HANDLES]).values() if not v.initializer
    ]
    if orphans:
        raise NotClonable(
            f"Variable {orphans[0].name!r} has no op that assigns its initial value, so a copy of it could not be "
            'initialised; clone with variables="shared".',
            [v.handle for v in orphans],
        )


def _copied(node: Any, names: dict[str, str]) -> Any:
    """A copy of a NodeDef under its new name, with inputs, colocation and state key following."""
    copy = type(node)()
    copy.CopyFrom(node)
    copy.name = names[node.name]
    for slot, text in enumerate(node.input):
        op, port = split_input(text)
        if op in names:
            copy.input[slot] = as_input(names[op], port)
    if "_class" in copy.attr:
        classes = copy.attr["_class"].list.s
        for k, value in enumerate(classes):
            target = value[len(_COLOCATE) :].decode() if value.startswith(_COLOCATE) else ""
            if target in names:
                classes[k] = _COLOCATE + names[target].encode()
    # Kept, the copy would silently share the original's state
    # (test_tensorflow_facts.py::test_import_keeps_shared_name_and_so_shares_the_state).
    if has_state(node) and (node.attr["shared_name"].s or node.op not in HANDLES or node.op == "VarHandleOp"):
        copy.attr["shared_name"].s = copy.name.encode()
    return copy


def _renamed(variable: VariableDef, names: dict[str, str]) -> VariableDef:
    def new(name: str | None) -> str | None:
        if name is None:
            return None
        op, port = split_tensor(name)
        return names.get(op, op) + ("" if port is None else f":{port}")

    return replace(
        variable,
        handle=names[variable.handle],
        initial_value=new(variable.initial_value),
        initializer=new(variable.initializer),
        snapshot=new(variable.snapshot),
        is_initialized=new(variable.is_initialized),
    )


def _members(
    index: GraphIndex, names: dict[str, str], variables: tuple[VariableDef, ...]
) -> Iterator[tuple[str, Member]]:
    """The copies' entries in the collections of their originals; each new variable is at least a global one."""
    own = {v.name for v in variables}
    listed = set()
    for key, members in index.collections.items():
        for kind, name in members:
            op, port = split_tensor(name)
            if op not in names:
                continue
            new = names[op] + ("" if port is None else f":{port}")
            if kind == "variable":
                listed.add(new)
            if kind != "variable" or new in own:
                yield key, Member(kind, new)
    for variable in variables:
        if variable.name not in listed:
            yield _GLOBAL_VARIABLES, Member("variable", variable.name)

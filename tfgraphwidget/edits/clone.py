"""Clone: a second, independent copy of a part of the graph, variables and all.

What makes a copy silently wrong, and what is done about each (see tests/test_tensorflow_facts.py):
* a NodeDef's `shared_name` is the key of its state: kept, the copy shares the original's variable. Every copied
  stateful op gets its own.
* the ops between two tensors hold a variable's handle and read but not its assign and initial value. Each
  variable is completed first.
* colocation `loc:@x` must follow the copy when x is copied too.
* a v1 while loop's frame and context cannot be shared; parts of loops and conditionals are refused until they can
  be copied right.
Control inputs from ops outside the part are kept: the copy waits for what the original waits for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from tfgraphwidget.edits.patch import Change, Patch
from tfgraphwidget.errors import GraphEditError, NameTaken, NotClonable
from tfgraphwidget.graph.between import between
from tfgraphwidget.graph.frames import inside_control_flow
from tfgraphwidget.graph.index import GraphIndex, Member, VariableDef
from tfgraphwidget.graph.named import pairs
from tfgraphwidget.graph.variables import HANDLES, completed, definitions, has_state, own_ops
from tfgraphwidget.graph.walks import ANY_PORT
from tfgraphwidget.names import as_input, free_name, is_scope_name, split_input, split_tensor

_GLOBAL_VARIABLES = "variables"
_COLOCATE = b"loc:@"
_CLOSURE = b"CustomGradient-"
# Collections that TensorFlow wants one member in.
_ONE_OF_A_KIND = frozenset({"global_step"})


@dataclass(frozen=True)
class Clone:
    """Copy the ops between `inputs` and `outputs` under the name scope `into`.

    The inputs' tensors stay shared with the original. `variables="own"` gives the copy variables of its own,
    `"shared"` lets it read the originals. `init` says what the own variables hold afterwards: "current" the
    originals' present values, "initial" what their initialisers give, "none" nothing yet. Random ops keep their
    seeds: an initialiser with a seed of its own gives the copy the numbers that it gave the original.
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
        inside = between(index, self.inputs, self.outputs).ids
        _check_control_flow(index, inside)
        chosen = copied_ops(index, inside, self.inputs, self.variables)
        own = definitions(index, [i for i in chosen if index.types[i] in HANDLES])
        _check_whole(own.values())
        names = {index.names[i]: f"{self.into}/{index.names[i]}" for i in chosen}
        cut = {(index.names[op], port) for op, port in pairs(index, self.inputs)}
        nodes = tuple(_copied(index.nodes[i], names, cut) for i in chosen)
        variables = tuple(_renamed(v, names, self.into) for v in own.values())
        return Patch(add=Change(nodes, tuple(_members(index, names, variables)), variables), scope=self.into)

    def _check_options(self) -> None:
        for name, value, known in (
            ("variables", self.variables, ("own", "shared")),
            ("init", self.init, ("current", "initial", "none")),
        ):
            if value not in known:
                raise GraphEditError(f"{name}={value!r} is not known; it is one of {', '.join(map(repr, known))}.")


def copied_ops(index: GraphIndex, inside: frozenset[int], inputs: Iterable[str], variables: str = "own") -> list[int]:
    """The ops that a clone of `inside` copies, in graph order: these, and what makes their variables whole.

    With shared variables: these, less the variables.
    """
    if variables == "own":
        return sorted(completed(index, set(inside), frozenset(index.op(name) for name in inputs)))
    left = set(inside)
    for variable in definitions(index, [i for i in inside if index.types[i] in HANDLES]).values():
        left -= own_ops(index, variable)
    if not left:
        raise NotClonable('The part holds variables only, so variables="shared" leaves nothing to copy; use "own".')
    return sorted(left)


def source_of(clone: Clone, variable: VariableDef) -> str:
    """The handle's name of the original that a copied variable was made from."""
    return variable.handle[len(clone.into) + 1 :]


def check_free(index: GraphIndex, scope: Any) -> None:
    """Raise unless `scope` is a name scope that TensorFlow takes and nobody has taken."""
    if not isinstance(scope, str) or not is_scope_name(scope):
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


def _check_control_flow(index: GraphIndex, inside: frozenset[int]) -> None:
    loops = [index.names[i] for i in sorted(inside & inside_control_flow(index))]
    if loops:
        raise NotClonable(
            f"Op {loops[0]!r} and {len(loops) - 1} more lie inside a v1 while loop or conditional, which cannot be "
            "copied right yet; choose boundaries wholly before or behind it.",
            loops,
        )


def _check_whole(variables: Iterable[VariableDef]) -> None:
    variables = list(variables)
    unread = [v.handle for v in variables if v.resource and not v.snapshot]
    if unread:
        raise NotClonable(
            f"Variable {unread[0]!r} has no op that reads it without running another op first, so its value could not "
            'be copied; clone with variables="shared", or add tf.raw_ops.ReadVariableOp on it.',
            unread,
        )
    orphans = [v.handle for v in variables if not v.initializer]
    if orphans:
        raise NotClonable(
            f"Variable {orphans[0]!r} has no op that assigns its initial value, so a copy of it could not be "
            'initialised; clone with variables="shared".',
            orphans,
        )


def _copied(node: Any, names: dict[str, str], cut: set[tuple[str, int]]) -> Any:
    """A copy of a NodeDef under its new name, with inputs, colocation and state key following.

    A tensor in `cut` comes from the original even when its op is copied too, for another of its tensors.
    """
    copy = type(node)()
    copy.CopyFrom(node)
    copy.name = names[node.name]
    for slot, text in enumerate(node.input):
        op, port = split_input(text)
        if op in names and not (port >= 0 and ((op, port) in cut or (op, ANY_PORT) in cut)):
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
    # A tf.custom_gradient is a Python closure over the original's tensors: gradients through the copy would be the
    # original's. Under a name that nobody has registered they fail, and the name says why.
    if "_gradient_op_type" in node.attr and node.attr["_gradient_op_type"].s.startswith(_CLOSURE):
        copy.attr["_gradient_op_type"].s += b" belongs to the original: a copy of tf.custom_gradient has no gradient"
    return copy


def _renamed(variable: VariableDef, names: dict[str, str], into: str) -> VariableDef:
    def new(name: str | None) -> str | None:
        if name is None:
            return None
        op, port = split_tensor(name)
        return names.get(op, op) + ("" if port is None else f":{port}")

    slice_info = variable.slice_info
    if slice_info is not None:  # of a partitioned variable: its key in checkpoints
        slice_info = type(slice_info)()
        slice_info.CopyFrom(variable.slice_info)
        slice_info.full_name = f"{into}/{slice_info.full_name}"
    return replace(
        variable,
        handle=names[variable.handle],
        initial_value=new(variable.initial_value),
        initializer=new(variable.initializer),
        snapshot=new(variable.snapshot),
        slice_info=slice_info,
    )


def _members(
    index: GraphIndex, names: dict[str, str], variables: tuple[VariableDef, ...]
) -> Iterator[tuple[str, Member]]:
    """The copies' entries in the collections of their originals; each new variable is at least a global one."""
    own = {v.name for v in variables}
    listed = set()
    for key, members in index.collections.items():
        for kind, name in () if key in _ONE_OF_A_KIND else members:
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

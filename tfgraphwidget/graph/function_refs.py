"""References to the functions that an op calls."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from tfgraphwidget.graph.extras import GraphExtras
from tfgraphwidget.tf_types import FunctionDef, NodeDef


class FunctionRef(NamedTuple):
    """A function of an op; `label` is its use there: "f", "cond", "body", "branches[1]"."""

    label: str
    function: str


_LATER_LABELS = ("cond", "else_branch")


def called_functions(node: NodeDef, functions: Collection[str]) -> tuple[FunctionRef, ...]:
    """The functions of the library `functions` that a NodeDef calls; a loop's body comes before its
    condition, and what an If does before what it does else.

    An op whose type is a function's name calls that one (a TensorFlow 1 Defun).
    """
    if not functions:
        return ()
    references = [FunctionRef("", node.op)] if node.op in functions else []
    for label, value in node.attr.items():
        kind = value.WhichOneof("value")
        if kind == "func":
            references.append(FunctionRef(label, value.func.name))
        elif kind == "list":
            names = [function.name for function in value.list.func]
            references += [FunctionRef(f"{label}[{k}]", name) for k, name in enumerate(names)]
    in_library = [called for called in references if called.function in functions]
    in_library.sort(key=lambda called: (called.label in _LATER_LABELS, called))
    return tuple(in_library)


def called_definitions(
    nodes: Iterable[NodeDef], functions: Collection[str], definition: Callable[[str], FunctionDef]
) -> dict[str, FunctionDef]:
    """The FunctionDefs that NodeDefs call of the library `functions`, and those that these call, by
    name; `definition` finds one.
    """
    definitions: dict[str, FunctionDef] = {}
    stack = list(nodes)
    while stack:
        for called in called_functions(stack.pop(), functions):
            if called.function not in definitions:
                definitions[called.function] = definition(called.function)
                stack += definitions[called.function].node_def
    return definitions


def reachable_functions(
    functions: Collection[str], library: GraphExtras, nodes: Iterable[NodeDef]
) -> dict[str, FunctionDef]:
    """The FunctionDefs, by name, that NodeDefs call directly or through other functions, gradients
    included, callers before the functions they call. KeyError when the library lacks one.
    """
    reached: dict[str, FunctionDef] = {}
    stack = list(nodes) if functions else []
    while stack:
        pending = [called.function for called in called_functions(stack.pop(), functions)]
        while pending:
            name = pending.pop()
            if name not in reached:
                reached[name] = library.function(name)
                stack += reached[name].node_def
                gradient = library.gradient(name)
                pending += [gradient] if gradient else []
    return reached

"""Patch: what a command wants changed, as a value. Nothing here touches a graph."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from tfgraphwidget.edits import runners
from tfgraphwidget.edits.contexts import renamed
from tfgraphwidget.edits.preview import Preview
from tfgraphwidget.graph.contexts import V1_CONTROL_FLOW
from tfgraphwidget.graph.index import GraphIndex, Member, VariableDef
from tfgraphwidget.graph.variables import HANDLES, comes_from_outside
from tfgraphwidget.names import colocated_with


@dataclass(frozen=True, repr=False)
class Change:
    """Things that a graph gains or loses together.

    `nodes` are NodeDefs in graph order (opaque here); `members` are (collection key, member) pairs;
    `variables` what `tf.Variable` objects stand for. `contexts` are WhileContextDefs and CondContextDefs, outermost
    ones with all that is nested; `runners` are (collection key, QueueRunnerDef). `functions` are FunctionDefs that the
    graph lacks, `gradients` (function, its gradient function). `copies` are (original, copy) op names: the copies keep
    static shapes and handle data of the originals, which NodeDefs do not tell.
    """

    nodes: tuple[Any, ...] = ()
    members: tuple[tuple[str, Member], ...] = ()
    variables: tuple[VariableDef, ...] = ()
    contexts: tuple[Any, ...] = ()
    runners: tuple[tuple[str, Any], ...] = ()
    functions: tuple[Any, ...] = ()
    gradients: tuple[tuple[str, str], ...] = ()
    copies: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        return f"<Change: {len(self.nodes)} ops, {len(self.variables)} variables>"


@dataclass(frozen=True)
class Patch:
    """What is added and what is removed; `scopes` are the name scopes that the added ops live in,
    `preview` tells a person what will be done.
    """

    add: Change = Change()
    remove: Change = Change()
    scopes: tuple[str, ...] = ()
    preview: Preview | None = None

    def inverse(self) -> Patch:
        """The patch that takes this one back."""
        return replace(self, add=self.remove, remove=self.add)

    def with_dependents(self, index: GraphIndex) -> Patch:
        """This patch, removing also every op that was built later on what it removes.

        An op is built on another when it reads it, waits for it or must stand beside it (colocation); what fed
        only such ops goes too, unless it holds state or takes values from outside.
        """
        if not self.remove.nodes:
            return self
        removed = _with_dependents(index, (index.ids[n.name] for n in self.remove.nodes if n.name in index.ids))
        names = {index.names[i] for i in removed}
        members = [
            (key, member)
            for key, held in index.collections.items()
            for member in held
            if member.name.rpartition(":")[0] in names or member.name in names
        ]
        variables = tuple(v for v in index.variable_defs if v.handle in names)
        nodes = tuple(index.nodes[i] for i in sorted(removed))
        same, held = {name: name for name in names}, index.beside
        contexts = () if V1_CONTROL_FLOW.isdisjoint(index.kinds[0]) else renamed(held.contexts(), same, {})
        started = runners.renamed(held.runners(), same)
        return replace(self, remove=Change(nodes, tuple(members), variables, contexts, started))


def _with_dependents(index: GraphIndex, ops: Iterable[int]) -> set[int]:
    """Some ops, what is built on them, and what fed only such ops."""
    removed = set(ops)
    first = min(removed, default=0)
    beside = _colocated(index)
    stack = list(removed)
    while stack:
        at = stack.pop()
        for reader in index.consumer_lists[at] + index.waiting_lists[at] + beside.get(index.names[at], []):
            if reader not in removed:
                removed.add(reader)
                stack.append(reader)
    for i in range(len(index) - 1, first, -1):
        readers = index.consumer_lists[i] + index.waiting_lists[i]
        if readers and removed.issuperset(readers) and index.types[i] not in HANDLES:
            # A Saver's file name is a placeholder with a default.
            stays = comes_from_outside(index, i) and index.types[i] != "PlaceholderWithDefault"
            removed |= set() if stays else {i}
    return removed


def _colocated(index: GraphIndex) -> dict[str, list[int]]:
    """Op name -> the other ops that must stand on its device."""
    beside: dict[str, list[int]] = {}
    for i, node in enumerate(index.nodes):
        for name in colocated_with(node):
            beside.setdefault(name, []).append(i)
    return beside


def patched(index: GraphIndex, patch: Patch) -> GraphIndex:
    """The index after the patch; `index` itself stays as it is."""
    if patch.remove.nodes:
        index = index.without(frozenset(node.name for node in patch.remove.nodes))
    add, gone = patch.add, set(patch.remove.members)
    if not (add.nodes or add.members or gone):
        return index
    collections = dict(index.collections)
    for key in {key for key, _ in gone}:
        collections[key] = tuple(member for member in collections.get(key, ()) if (key, member) not in gone)
    new: dict[str, list[Member]] = {}
    for key, member in add.members:
        new.setdefault(key, []).append(member)
    collections |= {key: (*collections.get(key, ()), *members) for key, members in new.items()}
    functions = index.functions | {function.signature.name for function in add.functions}
    return index.extended(add.nodes, collections, (*index.variable_defs, *add.variables), functions)

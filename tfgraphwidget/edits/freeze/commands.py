"""Freeze and StripTraining: reduce a graph to the ops that its outputs need."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from tfgraphwidget.edits.command import Command
from tfgraphwidget.edits.context import PlanContext
from tfgraphwidget.edits.freeze.variables_to_constants import convert_variables
from tfgraphwidget.edits.patch import Change, NodeChange, Patch, removal_of
from tfgraphwidget.edits.registry import EditButton, register
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    CONSTANTS,
    HANDLES,
    GraphIndex,
    definitions,
    handles,
    is_placeholder,
    needed_ops,
    own_ops,
    side_effects,
    traversal,
    unused_inputs_notice,
)
from tfgraphwidget.naming import colocated_with, listed
from tfgraphwidget.tf_types import NodeDef

TRAINS = re.compile(r"(Resource)?(Sparse)?Apply[A-Z]\w*")
"""Types of the ops that an optimizer updates variables with."""
_GRADIENTS = re.compile(r"(^|/)gradients(_\d+)?/")
_SAVES = re.compile(r"(Save|Restore)(V2|Slices|Slice)?|MergeV2Checkpoints|ShardedFilename")


@register(
    button=EditButton(
        "Freeze", "Convert variables to constants and keep only what the outputs need", on="graph", order=100
    )
)
@dataclass(frozen=True)
class Freeze(Command):
    """Replace the variables that `outputs` need by constants, and remove all other ops.

    The arguments of a function's body stay, since its callers pass them.

    Attributes:
        outputs: Ops or tensors.
        inputs: Ops or tensors that are fed; ops that only compute them are removed.
    """

    outputs: tuple[str, ...]
    inputs: tuple[str, ...] = ()

    def plan(self, context: PlanContext) -> Patch:
        """The patch; GraphEditError where a variable is not only read, SessionRefused where one has no value."""
        index = context.index
        need = np.flatnonzero(needed_ops(index, self.inputs, self.outputs)).tolist()
        variables = tuple(definitions(index, [i for i in need if index.types[i] in HANDLES]).values())
        values = context.variable_values(variables) if variables else {}
        made = convert_variables(index, self.outputs, values.__getitem__, self.inputs)
        after = {node.name: node for node in made.nodes}
        kept_ops = {i for i, name in enumerate(index.names) if name in after} | _ops(index, context.arguments)
        patch = _removal_of_rest(index, kept_ops, keep_members=made.variables)
        pairs = ((index.nodes[index.ids[name]], node) for name, node in after.items() if name in index.ids)
        new = tuple(node for node in made.nodes if node.name not in index.ids)
        kept = [f"{kind} {name!r}" for name, kind in made.kept]
        notes = [f"{name!r} stands for {tensor!r} now; feed it." for tensor, name in made.fed if f"{name}:0" != tensor]
        notes += unused_inputs_notice(made.unused, self.outputs)
        notes += [f"State other than variables stays what it is: {', '.join(kept[:5])}."] if kept else []
        return Patch(
            add=Change(nodes=new, functions=made.functions),
            remove=patch,
            changed=tuple(NodeChange(before, node) for before, node in pairs if before != node),
            notes=tuple(notes),
        )


@register(
    button=EditButton("Strip training", "Remove gradients, optimizers, savers and summaries", on="graph", order=110)
)
@dataclass(frozen=True)
class StripTraining(Command):
    """Remove all ops that `outputs` do not need: gradients, optimizers and their slots, savers, summaries.

    The variables that stay keep their initializers.

    Attributes:
        outputs: Ops or tensors.
    """

    outputs: tuple[str, ...]

    def plan(self, context: PlanContext) -> Patch:
        """The patch; raises UnknownName, and GraphEditError if there is nothing to remove."""
        index = context.index
        kept = set(np.flatnonzero(needed_ops(index, (), self.outputs)).tolist())
        variables = definitions(index, [i for i in sorted(kept) if index.types[i] in HANDLES])
        own = {op for variable in variables.values() for op in own_ops(index, variable)}
        kept |= set(np.flatnonzero(needed_ops(index, (), [index.names[op] for op in own])).tolist())
        kept |= _ops(index, context.arguments)
        if len(kept) == len(index):
            raise GraphEditError(f"{listed(self.outputs)} needs every op of the graph, so there is nothing to strip.")
        names = {index.names[i] for i in kept}
        lonely = (index.nodes[i] for i in sorted(kept) if not names.issuperset(colocated_with(index.nodes[i])))
        return Patch(
            remove=_removal_of_rest(index, kept), changed=tuple(_without_colocation(node, names) for node in lonely)
        )


def _ops(index: GraphIndex, names: Collection[str]) -> set[int]:
    return {index.op(name) for name in names}


def _removal_of_rest(index: GraphIndex, kept: Collection[int], keep_members: Collection[str] = ()) -> Change:
    """All that goes when only some ops stay, and the entries of collections for variables that are none any more."""
    gone = removal_of(index, [i for i in range(len(index)) if i not in kept])
    frozen_too = tuple(
        (key, member)
        for key, held in index.collections.items()
        for member in held
        if member.kind == "variable" and member.name.partition(":")[0] in keep_members
    )
    variables = tuple(v for v in index.variable_defs if v.handle in keep_members)
    members = tuple(dict.fromkeys((*gone.members, *frozen_too)))
    return Change(gone.nodes, members, (*gone.variables, *variables), gone.contexts, gone.runners)


def _without_colocation(node: NodeDef, names: Collection[str]) -> NodeChange:
    after = type(node)()
    after.CopyFrom(node)
    kept = [f"loc:@{name}".encode() for name in colocated_with(node) if name in names]
    del after.attr["_class"]
    if kept:
        after.attr["_class"].list.s[:] = kept
    return NodeChange(node, after)


def results(index: GraphIndex) -> tuple[str, ...]:
    """The ops that a graph seems to be for: those whose outputs have no consumer, training and bookkeeping left out.

    For who names no outputs. GraphEditError when there are none.
    """
    train = [i for i, kind in enumerate(index.types) if TRAINS.fullmatch(kind)]
    train += [index.op(member.name) for member in index.collections.get("train_op", ())]
    training = [i for i, name in enumerate(index.names) if _GRADIENTS.search(name)]
    saving = [i for i, kind in enumerate(index.types) if _SAVES.fullmatch(kind)]
    aside = traversal.forward(index, [*train, *training, *saving])
    aside[[i for i, kind in enumerate(index.types) if is_placeholder(kind)]] = True
    aside[list(side_effects(index, range(len(index))))] = True
    for variable in definitions(index, handles(index)).values():
        aside[sorted(own_ops(index, variable))] = True
    # A loss that only its gradients read is a result; what only feeds an optimizer or a Saver is none.
    slopes, found = set(training), []
    for i in np.flatnonzero(~aside).tolist():
        readers = set(index.consumers.row(i).tolist())
        is_end = not readers or (readers & slopes and all(aside[reader] for reader in readers))
        if is_end and index.types[i] not in CONSTANTS and index.dtypes(i) and _is_computed(index, i):
            found.append(index.names[i])
    if not found:
        raise GraphEditError("Nothing here looks like a result; mark the output ops first, or name them as outputs.")
    return tuple(found)


def _is_computed(index: GraphIndex, op: int) -> bool:
    """Whether something is fed or read to compute an op."""
    before = np.flatnonzero(traversal.backward(index, [op]))
    return any(is_placeholder(index.types[i]) or index.types[i] in HANDLES for i in before.tolist())

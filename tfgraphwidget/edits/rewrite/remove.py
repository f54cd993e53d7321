"""Remove: remove ops and the ops that only they need.

What waited for a removed op waits for what that waited for, so that the order in which things
happen stays; in a loop or conditional of TensorFlow 1 for what that needed, where nothing else
would say that it runs there. What stood beside it (colocation) stands alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, replace

import numpy as np

from tfgraphwidget.edits import operand_kinds as kinds
from tfgraphwidget.edits import queue_runners
from tfgraphwidget.edits.command import Command, subject_text
from tfgraphwidget.edits.context import PlanContext
from tfgraphwidget.edits.patch import (
    Change,
    Patch,
    Report,
    nothing_to_do,
    removal_of,
    without_uncalled_functions,
)
from tfgraphwidget.edits.registry import register
from tfgraphwidget.edits.rewrite.consumers import ConsumerRewriter, resolve_ops
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    EXIT,
    V1_CONTROL_FLOW,
    GraphIndex,
    Mask,
    all_variables,
    collection_ops,
    control_flow,
    from_outside,
    own_ops,
    persistent_state,
    side_effects,
    traversal,
    walk_from,
)
from tfgraphwidget.naming import colocated_with, colocation, names_text, split_tensor
from tfgraphwidget.sentences import either

_COLOCATED = "_class"


@register
@dataclass(frozen=True)
class Remove(Command):
    """Remove ops, name scopes or a selection, and what only they needed.

    Pruning never removes ops that hold state, that have side effects, or that are in a collection.
    It leaves each input of the graph a consumer: the ops between such an input and a removed op
    stay.

    Args:
        what: The ops, name scope or selection.
        prune: Remove what only they needed too: constants, reads of variables, unused branches.
        consumers: Remove all ops that depend on them too; else they must have no consumers that
            stay.

    Returns:
        What was removed.

    Raises:
        GraphEditError: An op that stays reads one of them.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.remove("loss", consumers=True).removed
        ('loss',)
    """

    what: kinds.Ops
    _: KW_ONLY
    prune: bool = True
    consumers: bool = False

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        return f"Removed {subject_text(self.what)}"

    def plan(self, context: PlanContext) -> Patch:
        """The patch; GraphEditError when an op that stays would lose what it reads."""
        patch = self.patch(context.index, context.external_tensors)
        if patch.report.is_nothing:
            return patch
        if context.boundary is not None:
            return _without_results(patch, *context.boundary)
        # Functions of a SavedModel have names in its objects, too.
        is_alone = not context.function and not context.signatures
        return without_uncalled_functions(context.index, patch) if is_alone else patch

    def fix_label(self) -> str:
        """A few words for a button."""
        return "Remove its consumers too" if self.consumers else ""

    def patch(self, index: GraphIndex, external: Collection[str]) -> Patch:
        """The patch of a graph of which callers name the tensors `external`."""
        removed = set(resolve_ops(index, self.what))
        if not removed:
            return nothing_to_do("The selection holds no ops, so there is nothing to remove.")
        if self.consumers:
            dependents = traversal.forward(index, removed, controls=False)
            removed = set(np.flatnonzero(dependents).tolist())
        self._check_unread(index, removed)
        if self.prune:
            named = {split_tensor(name)[0] for name in external}
            removed |= no_longer_needed(index, removed, unprunable_ops(index, named))
        _check_variables(index, removed)
        rewriter = ConsumerRewriter(index)
        _reconnect_control_inputs(index, removed, rewriter)
        alone = drop_colocation(index, removed, rewriter)
        removal = removal_of(index, removed)
        names = {node.name for node in removal.nodes}
        old_runners = tuple(
            (key, runner)
            for key, runner in index.extras.runners()
            if not names.isdisjoint(queue_runners.op_names(runner))
        )
        remaining: set[str] = set()
        for _, runner in old_runners:
            remaining.update(queue_runners.op_names(runner))
        same_names = {name: name for name in remaining - names}
        dangling = [name for name in external if split_tensor(name)[0] in names]
        return Patch(
            add=Change(runners=queue_runners.rename_runners(old_runners, same_names)),
            remove=replace(removal, runners=old_runners),
            changed=rewriter.changes(),
            input_renames=tuple((name, "") for name in dangling),
            output_renames=tuple((name, "") for name in dangling),
            report=Report((*alone, *_lost_signature_notes(dangling))),
        )

    def _check_unread(self, index: GraphIndex, removed: set[int]) -> None:
        for op in sorted(removed):
            for consumer in index.consumer_lists[op]:
                if consumer in removed:
                    continue
                a, b = index.names[consumer], index.names[op]
                raise GraphEditError(
                    f"Op {a!r} stays and reads {b!r}, which is to go; let it read another tensor "
                    "first"
                    + either(" (editor.reroute, editor.bypass)", "")
                    + ", or remove all that depends on it too.",
                    [a, b],
                    [replace(self, consumers=True)],
                )


def _without_results(patch: Patch, arguments: tuple[str, ...], results: Mapping[str, str]) -> Patch:
    """The patch of a function that was opened itself: it does not return what is removed, if
    something is left.
    """
    removed = {node.name for node in patch.remove.nodes}
    remaining = {key: name for key, name in results.items() if split_tensor(name)[0] not in removed}
    missing = [key for key in results if key not in remaining]
    if not missing or not remaining or any(split_tensor(name)[0] in removed for name in arguments):
        return patch
    obsolete_notes = {*_lost_signature_notes([results[key] for key in missing])}
    notes = (
        *(note for note in patch.report.notes if note not in obsolete_notes),
        f"The function no longer returns {names_text(missing)}.",
    )
    return replace(
        patch, boundary=(arguments, remaining), report=replace(patch.report, notes=notes)
    )


def no_longer_needed(
    index: GraphIndex, removed: set[int], protected: Mask, stand_ins: Iterable[int] = ()
) -> set[int]:
    """The ops that feed, or are waited for by, ops that are removed and no others. Those in
    `protected` stay, to which those that an input of the graph needs are added; `stand_ins` are the
    placeholders that are no inputs.
    """
    unused = _used_only_by(index, removed, protected)
    outside = from_outside(index) & ~traversal.mask_of(index, stand_ins)
    while True:
        after = removed | unused
        # An input that would have no consumer left: the way from it to what goes is what people
        # call the model.
        read = {source for op in after for source in index.input_lists[op]} - after
        unread_inputs = [
            op
            for op in read
            if outside[op]
            and after.issuperset(index.consumer_lists[op])
            and not removed.issuperset(index.consumer_lists[op])
        ]
        way = traversal.forward(index, unread_inputs)
        spared = {op for op in unused if way[op]}
        if not spared:
            return unused
        protected[sorted(spared)] = True
        unused = _used_only_by(index, removed, protected)


def _used_only_by(index: GraphIndex, removed: set[int], protected: Mask) -> set[int]:
    """The ops without consumers, in data or control, other than removed ops and each other; no
    protected ones.
    """
    unused: set[int] = set()
    stack = [source for op in removed for source in index.input_lists[op] + index.control_lists[op]]
    while stack:
        op = stack.pop()
        if op in removed or op in unused or protected[op]:
            continue
        users = index.consumer_lists[op] + index.control_consumer_lists[op]
        if all(user in removed or user in unused for user in users):
            unused.add(op)
            stack += index.input_lists[op] + index.control_lists[op]
    return unused


def unprunable_ops(index: GraphIndex, named: set[str], *, colocations: bool = True) -> Mask:
    """The ops that are removed only when a call names them: those `named` outside of the graph, and
    with `colocations` those that another op is colocated with.
    """
    protected = persistent_state(index) | from_outside(index)
    names = named | collection_ops(index)
    names |= {name for node in index.nodes if colocations for name in colocated_with(node)}
    protected[[index.ids[name] for name in names if name in index.ids]] = True
    for variable in all_variables(index):
        protected[sorted(own_ops(index, variable))] = True
    protected[[op for op, kind in enumerate(index.types) if kind in EXIT]] = True
    protected[list(side_effects(index, range(len(index))))] = True
    return protected


def variable_parts(index: GraphIndex) -> dict[int, str]:
    """The ops that a `tf.Variable` names beside its handle, with the handle's name."""
    parts: dict[int, str] = {}
    for variable in index.variable_defs:
        for name in (variable.initializer, variable.snapshot):
            op = index.ids.get(split_tensor(name or "")[0])
            if op is not None and index.names[op] != variable.handle:
                parts[op] = variable.handle
    return parts


def _check_variables(index: GraphIndex, removed: set[int]) -> None:
    """A variable goes whole or not at all."""
    parts = variable_parts(index)
    for op in sorted(removed & parts.keys()):
        if index.ids.get(parts[op]) not in removed:
            name = index.names[op]
            raise GraphEditError(
                f"Op {name!r} is a part of variable {parts[op]!r}, which stays; remove the "
                "variable with all that reads it, or leave this op.",
                [name, parts[op]],
            )


def _reconnect_control_inputs(
    index: GraphIndex, removed: set[int], rewriter: ConsumerRewriter
) -> None:
    """Replace control inputs from removed ops by the control inputs of these."""
    for op in sorted(removed):
        for waiting in set(index.control_consumer_lists[op]) - removed:
            before = _remaining_control_inputs(index, op, removed)
            node = rewriter.node(waiting)
            inputs = [text for text in node.input if text != f"^{index.names[op]}"]
            more = [f"^{index.names[b]}" for b in before if f"^{index.names[b]}" not in inputs]
            if not inputs and not more and control_flow.enclosing_blocks(index, waiting):
                more = [f"^{index.names[b]}" for b in _anchors(index, op, waiting, removed)]
            node.input[:] = [*inputs, *more]
            if not node.input and control_flow.enclosing_blocks(index, waiting):
                name = index.names[op]
                raise GraphEditError(
                    f"Op {node.name!r} runs in its loop or conditional only because it waits for "
                    f"{name!r}; remove it too, or leave that.",
                    [node.name, name],
                )


def _remaining_control_inputs(index: GraphIndex, op: int, removed: set[int]) -> list[int]:
    """The remaining ops that an op waited for, directly or through removed ops."""
    waiting = walk_from([op], lambda at: removed.intersection(index.control_lists[at]))
    return sorted({before for at in waiting for before in index.control_lists[at]} - removed)


def _anchors(index: GraphIndex, op: int, waiting: int, removed: set[int]) -> list[int]:
    """The ops that a removed op needed, itself or through removed ops, in the innermost block of
    what waited for it.
    """
    block = control_flow.enclosing_blocks(index, waiting)[0]

    def sources(at: int) -> set[int]:
        return {*index.input_lists[at], *index.control_lists[at]}

    removed_sources = walk_from([op], lambda at: sources(at) & removed)
    return sorted(
        source
        for source in set[int]().union(*map(sources, removed_sources)) - removed
        if index.types[source] not in V1_CONTROL_FLOW
        and control_flow.enclosing_blocks(index, source)[:1] == (block,)
    )


def drop_colocation(
    index: GraphIndex, removed: set[int], rewriter: ConsumerRewriter
) -> tuple[str, ...]:
    """Drop colocations with removed ops; a sentence about it. The rewriter gets the ops that stood
    on the device of one of them.
    """
    names, alone = {index.names[op] for op in removed}, []
    for op, node in enumerate(index.nodes):
        if op in removed or names.isdisjoint(colocated_with(node)):
            continue
        values = rewriter.node(op).attr[_COLOCATED].list.s
        values[:] = [value for value in values if colocation(value) not in names]
        if not values:
            del rewriter.node(op).attr[_COLOCATED]
        alone.append(node.name)
    is_one = len(alone) == 1
    stand = "stands" if is_one else "stand"
    return (f"{names_text(alone)} {stand} on no other op's device any more.",) if alone else ()


def _lost_signature_notes(names: Iterable[str]) -> tuple[str, ...]:
    names = tuple(names)
    if not names:
        return ()
    what = (
        "is no longer an input or output" if len(names) == 1 else "are no longer inputs or outputs"
    )
    return (f"{names_text(names)} {what} of a signature.",)

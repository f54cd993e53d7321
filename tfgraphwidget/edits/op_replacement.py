"""Changes that TensorFlow cannot make in place: an op's type, number of inputs, output dtypes.

A new op, under a name of its own, takes such an op's place on a live graph; the old one is hidden.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice

from tfgraphwidget.edits import queue_runners
from tfgraphwidget.edits.control_flow_contexts import contexts_with_new_ops
from tfgraphwidget.edits.patch import NodeChange, Patch, removal_of
from tfgraphwidget.graph import GraphIndex, Member
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import (
    as_input,
    enclosing_scopes,
    split_input,
    split_tensor,
    take_free_name,
)
from tfgraphwidget.tf_types import NodeDef, QueueRunnerDef

Runners = tuple[tuple[str, QueueRunnerDef], ...]
"""Queue runners with the keys of their collections."""


def replace_fixed_ops(index: GraphIndex, patch: Patch) -> Patch:
    """The patch with new ops for those that it changes as a live graph's ops cannot be changed."""
    fixed = [edited for edited in patch.changed if _is_fixed(index, edited)]
    if not fixed:
        return patch
    renaming = _Renaming(_free_names(index, patch, fixed))
    names = renaming.names

    # 1. The old ops go, with all that is removed together with them.
    old_ops = [index.ids[name] for name in names]
    removal = removal_of(index, old_ops)
    planned_members = set(patch.remove.members)
    removed_members = [entry for entry in removal.members if entry not in planned_members]
    removed_nodes = (*patch.remove.nodes, *removal.nodes)

    # 2. The new ops take their places: in collections, in loops and conditionals, in queue runners.
    new_nodes = [renaming.node(node) for node in patch.add.nodes]
    new_nodes += [renaming.node(edited.after) for edited in fixed]
    new_members = [
        (key, renaming.member(member))
        for key, member in removed_members
        if member.kind != "variable"
    ]
    contexts = index.extras.contexts() if removal.contexts else ()
    old_contexts = contexts_with_new_ops(contexts, {name: name for name in names})
    new_contexts = contexts_with_new_ops(contexts, names)
    old_runners, new_runners = _runners(index, names)

    # 3. The ops that name one of the old ops name the new one.
    removed_names = {node.name for node in removed_nodes}
    changed = _renamed_consumers(index, patch, renaming, removed_names)

    add = replace(
        patch.add,
        nodes=tuple(new_nodes),
        members=(*patch.add.members, *new_members),
        contexts=(*patch.add.contexts, *new_contexts),
        runners=(*patch.add.runners, *new_runners),
    )
    remove = replace(
        patch.remove,
        nodes=removed_nodes,
        members=(*patch.remove.members, *removed_members),
        contexts=(*patch.remove.contexts, *old_contexts),
        runners=(*patch.remove.runners, *old_runners),
    )
    note = _note(names, "TensorFlow cannot make an op another one in place")
    return replace(
        patch,
        add=add,
        remove=remove,
        changed=changed,
        shapes=tuple(shape._replace(op=names.get(shape.op, shape.op)) for shape in patch.shapes),
        report=patch.with_notes(note).report,
        input_renames=(*patch.input_renames, *names.items()),
        output_renames=(*patch.output_renames, *names.items()),
    )


def _is_fixed(index: GraphIndex, edited: NodeChange) -> bool:
    """Whether a live graph's op cannot become what it is to be."""
    before, after = edited.before, edited.after
    return (
        before.op != after.op
        or _count_inputs(before) != _count_inputs(after)
        or index.typing.dtypes(before) != index.typing.dtypes(after)
    )


def _count_inputs(node: NodeDef) -> int:
    """The number of tensors that an op consumes."""
    return sum(not text.startswith("^") for text in node.input)


def _free_names(index: GraphIndex, patch: Patch, fixed: Iterable[NodeChange]) -> dict[str, str]:
    """A name for each new op, by the name of the old one."""
    # TensorFlow imports no op whose name is that of a scope.
    new_paths: set[str] = set()
    for node in patch.add.nodes:
        new_paths.update((node.name, *enclosing_scopes(node.name)))
    names_in_use = index.used_names() | {path.lower() for path in new_paths}
    names: dict[str, str] = {}
    for edited in fixed:
        name = take_free_name(edited.name, names_in_use)
        names[edited.name] = name
    return names


def _runners(index: GraphIndex, names: Mapping[str, str]) -> tuple[Runners, Runners]:
    """The queue runners that name an old op, and what takes their place."""
    old = tuple(
        (key, runner)
        for key, runner in index.extras.runners()
        if not names.keys().isdisjoint(queue_runners.op_names(runner))
    )
    new_names: dict[str, str] = {}
    for _, runner in old:
        for op in queue_runners.op_names(runner):
            new_names[op] = names.get(op, op)
    return old, tuple(queue_runners.rename_runners(old, new_names))


def _renamed_consumers(
    index: GraphIndex, patch: Patch, renaming: _Renaming, removed: set[str]
) -> tuple[NodeChange, ...]:
    """The ops that change in place: those that were planned, and those that name an old op."""
    planned = {edited.name: edited for edited in patch.changed}
    changes = []
    for node in index.nodes:
        if node.name in removed:
            continue
        is_planned = node.name in planned and node.name not in renaming.names
        edited = planned[node.name] if is_planned else NodeChange(node, node)
        after = renaming.node(edited.after)
        if is_planned or after is not edited.after:
            changes.append(NodeChange(edited.before, after))
    return tuple(changes)


class _Renaming:
    """New names of ops, by the old ones, in all places where a graph names ops."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names
        # How an op says that it is to be on the device of another.
        self._colocations = {
            f"loc:@{old}".encode(): f"loc:@{new}".encode() for old, new in names.items()
        }

    def node(self, node: NodeDef) -> NodeDef:
        """A NodeDef with new names of itself and others; the same one if it names no old op."""
        name = self.names.get(node.name, node.name)
        inputs = [self._input(text) for text in node.input]
        classes = list(node.attr["_class"].list.s) if "_class" in node.attr else []
        is_colocated = not self._colocations.keys().isdisjoint(classes)
        if name == node.name and inputs == list(node.input) and not is_colocated:
            return node
        new = copy_of(node)
        new.name = name
        # In the order in which TensorFlow writes them.
        data_inputs = [text for text in inputs if text[:1] != "^"]
        control_inputs = [text for text in inputs if text[:1] == "^"]
        new.input[:] = [*data_inputs, *sorted(control_inputs)]
        if classes:
            new.attr["_class"].list.s[:] = [self._colocations.get(text, text) for text in classes]
        return new

    def _input(self, text: str) -> str:
        """An input of a NodeDef."""
        op, port = split_input(text)
        return as_input(self.names[op], port) if op in self.names else text

    def member(self, member: Member) -> Member:
        """An entry of a collection that is an old op or a tensor of one."""
        op, port = split_tensor(member.name)
        name = self.names[op]
        return Member(member.kind, name if port is None else f"{name}:{port}")


def _note(names: Mapping[str, str], why: str) -> str:
    """A sentence about the new names, of which it names three."""
    texts = [f"{old!r} is {new!r} now" for old, new in islice(names.items(), 3)]
    if len(names) > 3:
        texts.append(f"and so on for {len(names) - 3:,} more")
    return f"{why}: {', '.join(texts)}."

"""Changes that TensorFlow cannot make in place: an op's type, number of inputs, output dtypes.

A new op, under a name of its own, takes such an op's place on a live graph; the old one is hidden.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tfgraphwidget.edits import queue_runners
from tfgraphwidget.edits.control_flow_contexts import contexts_with_new_ops
from tfgraphwidget.edits.patch import NodeChange, Patch, removal_of
from tfgraphwidget.graph import GraphIndex, Member
from tfgraphwidget.naming import as_input, colocation, enclosing_scopes, free_name, split_input, split_tensor
from tfgraphwidget.tf_types import NodeDef


def replace_fixed_ops(index: GraphIndex, patch: Patch) -> Patch:
    """The patch with new ops for those that it changes in a way in which a live graph's ops cannot be changed.

    Args:
        index: The graph.
        patch: The changes of an edit.
    """
    fixed = [edited for edited in patch.changed if _is_fixed(index, edited)]
    if not fixed:
        return patch
    new = {path for node in patch.add.nodes for path in (node.name, *enclosing_scopes(node.name))}
    # TensorFlow imports no op whose name is that of a scope.
    names_in_use = index.used_names() | {name.lower() for name in new}
    names: dict[str, str] = {}
    for edited in fixed:
        names[edited.name] = free_name(edited.name, names_in_use)
        names_in_use.add(names[edited.name].lower())
    old = [index.ids[name] for name in names]
    removal = removal_of(index, old)
    there = set(patch.remove.members)
    stays = [entry for entry in removal.members if entry not in there]
    members = tuple((key, _member(member, names)) for key, member in stays if member.kind != "variable")
    removed_nodes = (*patch.remove.nodes, *removal.nodes)
    contexts, runners = index.extras.contexts() if removal.contexts else (), index.extras.runners()
    touched = tuple(pair for pair in runners if not names.keys().isdisjoint(queue_runners.op_names(pair[1])))
    every = {name: names.get(name, name) for _, runner in touched for name in queue_runners.op_names(runner)}
    return replace(
        patch,
        add=replace(
            patch.add,
            nodes=(
                *(_renamed_node(n, names) for n in patch.add.nodes),
                *(_renamed_node(e.after, names) for e in fixed),
            ),
            members=(*patch.add.members, *members),
            contexts=(*patch.add.contexts, *contexts_with_new_ops(contexts, names)),
            runners=(*patch.add.runners, *queue_runners.rename_runners(touched, every)),
        ),
        remove=replace(
            patch.remove,
            nodes=removed_nodes,
            members=(*patch.remove.members, *stays),
            contexts=(*patch.remove.contexts, *contexts_with_new_ops(contexts, {name: name for name in names})),
            runners=(*patch.remove.runners, *touched),
        ),
        changed=_readers(index, patch, names, {node.name for node in removed_nodes}),
        shapes=tuple(shape._replace(op=names.get(shape.op, shape.op)) for shape in patch.shapes),
        report=patch.with_notes(*_notes(names, "TensorFlow cannot make an op another one in place")).report,
        input_renames=(*patch.input_renames, *names.items()),
        output_renames=(*patch.output_renames, *names.items()),
    )


def _is_fixed(index: GraphIndex, edited: NodeChange) -> bool:
    before, after = edited.before, edited.after
    counts = [sum(not text.startswith("^") for text in node.input) for node in (before, after)]
    dtypes = [index.typing.dtypes(node) for node in (before, after)]
    return before.op != after.op or counts[0] != counts[1] or dtypes[0] != dtypes[1]


def _readers(index: GraphIndex, patch: Patch, names: Mapping[str, str], removed: set[str]) -> tuple[NodeChange, ...]:
    """The ops that change in place: those that were planned, and those that name one of the old ops."""
    changed = {edited.name: edited for edited in patch.changed if edited.name not in names}
    changes = []
    for node in index.nodes:
        if node.name in removed:
            continue
        edited = changed.get(node.name, NodeChange(node, node))
        after = _renamed_node(edited.after, names)
        if node.name in changed or after is not edited.after:
            changes.append(NodeChange(edited.before, after))
    return tuple(changes)


def _renamed_node(node: NodeDef, names: Mapping[str, str]) -> NodeDef:
    """A NodeDef that goes by its new name and reads others by theirs; itself when it names none of them."""
    own = names.get(node.name, node.name)
    beside = [f"loc:@{name}".encode() for name in names]
    classes = list(node.attr["_class"].list.s) if "_class" in node.attr else []
    inputs = [_input(text, names) for text in node.input]
    if own == node.name and inputs == list(node.input) and not set(beside) & set(classes):
        return node
    new = type(node)()
    new.CopyFrom(node)
    new.name = own
    data = [text for text in inputs if text[:1] != "^"]
    new.input[:] = [*data, *sorted(text for text in inputs if text[:1] == "^")]  # as TensorFlow writes them
    if classes:
        new.attr["_class"].list.s[:] = [
            f"loc:@{names[colocation(value)]}".encode() if value in beside else value for value in classes
        ]
    return new


def _input(text: str, names: Mapping[str, str]) -> str:
    op, port = split_input(text)
    return as_input(names[op], port) if op in names else text


def _member(member: Member, names: Mapping[str, str]) -> Member:
    op, port = split_tensor(member.name)
    return Member(member.kind, names[op] if port is None else f"{names[op]}:{port}")


def _notes(names: Mapping[str, str], why: str) -> tuple[str, ...]:
    some = [f"{old!r} is {new!r} now" for old, new in list(names.items())[:3]]
    more = [f"and so on for {len(names) - 3:,} more"] if len(names) > 3 else []
    return (f"{why}: {', '.join([*some, *more])}.",)

"""Changes that TensorFlow cannot make in place: an op's type, number of inputs, output dtypes.

A new op, under a name of its own, takes such an op's place on a live graph; the old one is hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from tfgraphwidget.edits import control_flow_contexts, queue_runners
from tfgraphwidget.edits.control_flow_contexts import contexts_with_new_ops
from tfgraphwidget.edits.patch import Change, NodeChange, Patch, removal_of
from tfgraphwidget.edits.signature_edits import NewSignature
from tfgraphwidget.graph import GraphIndex, Member, Signature, VariableDef
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
        notes=(*patch.notes, *_notes(names, "TensorFlow cannot make an op another one in place")),
        input_renames=(*patch.input_renames, *names.items()),
        output_renames=(*patch.output_renames, *names.items()),
    )


def with_present_names(patch: Patch, names: Mapping[str, str]) -> Patch:
    """The patch of a graph in which ops that it names go by other names.

    Args:
        patch: The patch of a file, in which these ops kept their names.
        names: The present name of each op that has another one.
    """
    if not names:
        return patch
    new = {node.name for node in patch.add.nodes}  # they may have the names that these ops had
    return _renamed_patch(patch, names, {old: now for old, now in names.items() if old not in new})


def with_free_names(index: GraphIndex, patch: Patch, used_names: Collection[str]) -> Patch:
    """The patch with other names for new ops whose names are taken.

    TensorFlow keeps every op under its name. In a file a new op can have that of one that goes, as where a scope is
    renamed to one in it.

    Args:
        index: The graph, which a live one is.
        patch: The patch of a file.
        used_names: The names that no new op can have.
    """
    names: dict[str, str] = {}
    names_in_use = index.used_names() | {node.name.lower() for node in patch.add.nodes}
    for node in patch.add.nodes:
        if node.name in used_names:
            names[node.name] = free_name(node.name, names_in_use)
            names_in_use.add(names[node.name].lower())
    if not names:
        return patch
    renamed = _renamed_patch(patch, {}, names)
    return replace(renamed, notes=(*patch.notes, *_notes(names, "TensorFlow keeps what had their names")))


def _renamed_patch(patch: Patch, names: Mapping[str, str], after: Mapping[str, str]) -> Patch:
    """The patch with other names for ops.

    Args:
        patch: The patch.
        names: The new name of each op of the graph before it, by that in the patch.
        after: The same for the graph behind it.
    """

    def tensor(name: str, present: Mapping[str, str] = names) -> str:
        op, port = split_tensor(name)
        return name if op not in present else present[op] if port is None else f"{present[op]}:{port}"

    def change(of: Change, present: Mapping[str, str]) -> Change:
        return replace(
            of,
            nodes=tuple(_renamed_node(node, present) for node in of.nodes),
            members=tuple((key, Member(each.kind, tensor(each.name, present))) for key, each in of.members),
            variables=tuple(_renamed_variable(each, lambda name: tensor(name, present)) for each in of.variables),
            contexts=tuple(
                control_flow_contexts.map_names(each, lambda name: tensor(name, present)) for each in of.contexts
            ),
            runners=tuple(
                (key, queue_runners.map_names(each, lambda name: tensor(name, present))) for key, each in of.runners
            ),
            copies=tuple((tensor(original), tensor(copy, after)) for original, copy in of.copies),
        )

    return replace(
        patch,
        add=change(patch.add, after),
        remove=change(patch.remove, names),
        changed=tuple(
            NodeChange(_renamed_node(each.before, names), _renamed_node(each.after, {**after, **_own(each, names)}))
            for each in patch.changed
        ),
        shapes=tuple(shape._replace(op=after.get(shape.op, shape.op)) for shape in patch.shapes),
        input_renames=tuple((tensor(old), tensor(now, after)) for old, now in patch.input_renames),
        output_renames=tuple((tensor(old), tensor(now, after)) for old, now in patch.output_renames),
        signature_edits=tuple(
            NewSignature(_renamed_signature(each.signature, lambda name: tensor(name, after)))
            if isinstance(each, NewSignature)
            else each
            for each in patch.signature_edits
        ),
        renamed=tuple((names.get(old, old), after.get(now, now)) for old, now in patch.renamed),
    )


def _renamed_signature(signature: Signature, tensor: Callable[[str], str]) -> Signature:
    inputs, outputs = (
        tuple((key, tensor(name)) for key, name in side) for side in (signature.inputs, signature.outputs)
    )
    return replace(signature, inputs=inputs, outputs=outputs)


def _own(edited: NodeChange, names: Mapping[str, str]) -> dict[str, str]:
    return {edited.name: names[edited.name]} if edited.name in names else {}


def _renamed_variable(variable: VariableDef, tensor: Callable[[str], str]) -> VariableDef:
    def present(name: str | None) -> str | None:
        return name and tensor(name)

    return replace(
        variable,
        handle=tensor(variable.handle),
        initial_value=present(variable.initial_value),
        initializer=present(variable.initializer),
        snapshot=present(variable.snapshot),
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

"""Rename: an op or a name scope.

An op under a new name is a new op to TensorFlow: it is added, the old one goes, and its consumers
read the new one. Its state stays: what TensorFlow finds by the op's own name is given that name as
its key (test_tensorflow_facts.py::test_a_renamed_op_finds_its_state_by_the_key_it_had).
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from tfgraphwidget.edits import control_flow_contexts, queue_runners
from tfgraphwidget.edits import operand_kinds as kinds
from tfgraphwidget.edits.clone.node_copier import NodeCopier
from tfgraphwidget.edits.clone.scopes import LONGEST
from tfgraphwidget.edits.command import Command, subject_text
from tfgraphwidget.edits.context import PlanContext
from tfgraphwidget.edits.patch import Change, NodeChange, Patch, Report, nothing_to_do, removal_of
from tfgraphwidget.edits.registry import register
from tfgraphwidget.edits.rewrite.consumers import ConsumerRewriter
from tfgraphwidget.edits.signature_edits import KeyRenaming
from tfgraphwidget.errors import GraphEditError, NameTaken, UnknownName
from tfgraphwidget.graph import (
    HANDLES,
    NAME_IN_FILE,
    REF_HANDLES,
    RESOURCE_HANDLES,
    V1_CONTROL_FLOW,
    GraphIndex,
    Member,
    Signature,
    VariableDef,
    kind_of,
    persistent_state,
)
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import (
    FIND_OPS,
    as_input,
    did_you_mean,
    enclosing_scopes,
    free_name,
    is_scope_name,
    names_text,
    shared_name,
    split_input,
    split_tensor,
    text_attribute,
)
from tfgraphwidget.tf_types import ContextDef, NodeDef, OpLike

# State that can be read, so that a session loads it for the new op.
TRANSFERABLE_STATE = frozenset({"variable", "hash table", "iterator"})
# Attributes, and how the values of the last begin.
_KEY = "shared_name"
_BY_NAME = "use_node_name_sharing"
_COLOCATED = "_class"
_COLOCATE = b"loc:@"


@register
@dataclass(frozen=True)
class Rename(Command):
    """Rename an op, a name scope ("a/"), or an input or output of a signature
    ("serving_default:output_0").

    The ops of a variable that are named after it are renamed too. It keeps its value.

    Args:
        old: The op, or the present name.
        new: The new name; "" to leave a name scope out of the names of its ops:
            `editor.rename("clone_0/", "")`.

    Returns:
        What was changed.

    Raises:
        GraphEditError: The name is taken, or cannot be a name.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.rename("net/hidden/", "body")
        >>> editor.path("x", "net/logits").ops
        ('x', 'net/logits', 'body/MatMul', 'body/Add', 'body/Relu')
    """

    keeps_values: ClassVar[bool] = True

    old: str
    new: str

    @classmethod
    def from_call(cls, resolver: kinds.Resolver, /, old: OpLike, new: str) -> Command:
        """The command of a call: an op or a scope goes before an input or output of a signature."""
        index = resolver.index
        name = old if isinstance(old, str) else resolver.op(old)
        is_in_graph = name in index.ids or name.rstrip("/") in index.scopes.ids
        title, _, key = name.partition(":")
        titles = {signature.name for signature in resolver.signatures}
        if key and title in titles and not is_in_graph:
            return RenameKey.of_signature(resolver.signatures, title, key, new)
        return cls(name, new)

    def sentence(self) -> str:
        """The sentence that describes the edit; a name with the same end is another scope's."""
        old, new = subject_text(self.old), subject_text(self.new)
        if not self.new.rstrip("/"):
            return f"Left {old} out of the names of its ops"
        (before, name), (scope, last) = posixpath.split(old), posixpath.split(new)
        if before == scope:
            return f"Renamed {old} to {new}"
        new_name = f", as {last}" if last != name else ""
        return f"Moved {old} to {scope or 'the top level'}{new_name}"

    def plan(self, context: PlanContext) -> Patch:
        """The patch. Raises UnknownName, NameTaken, or GraphEditError for half a rename."""
        if len(self.new) > LONGEST:
            raise GraphEditError(
                f"A name has at most {LONGEST:,} characters, and this one {len(self.new):,}; give "
                "a shorter one."
            )
        index = context.index
        names = self._names(index)
        if all(old == new for old, new in names.items()):
            return nothing_to_do(f"{self.old!r} has that name already.")
        self._check_free(context, names)
        patch = rename_patch(index, names, _scopes(index, self.old, self.new, names))
        return replace(patch, report=Report(lost_state_notes(patch, context)))

    def fix_label(self) -> str:
        """A few words for a button."""
        return f"Name it '{self.new}'"

    def _check_free(self, context: PlanContext, names: Mapping[str, str]) -> None:
        """Raises NameTaken, with the same under a free name as the fix."""
        index = context.index
        stay = [name for name in index.names if name not in names]
        ops = {name.lower() for name in stay}
        scopes = {scope.lower() for name in stay for scope in enclosing_scopes(name)}
        present = ops | scopes
        used = present | index.reserved
        for old, new in names.items():
            if new.lower() in present:
                why = "is taken in this graph"
                break
            if new.lower() in used and not _had_name(context, old, new, names):
                why = (
                    "is the name of another op, which an edit or its undo has removed and "
                    "TensorFlow still holds"
                )
                break
        else:
            return
        wanted = self.new.rstrip("/")
        if not wanted:
            raise NameTaken(
                f"{new!r} {why}, so {old!r} cannot have that name; rename that op first.", [old]
            )
        hidden_scopes = {scope for name in index.reserved for scope in enclosing_scopes(name)}
        free = free_name(wanted, used | hidden_scopes)
        of_all = "" if new == wanted else f" for {self.old.rstrip('/')!r}"
        raise NameTaken(
            f"{new!r} {why}; {free!r} is free{of_all}.", [old], [replace(self, new=free)]
        )

    def _names(self, index: GraphIndex) -> dict[str, str]:
        """Old name -> new name of each op, in graph order."""
        whole = _name_here(index, self.old)
        # Other tools end a name with a slash.
        old = whole if whole in index.ids else whole.rstrip("/")
        new, scopes = self.new.rstrip("/"), index.scopes
        if not new and old in scopes.ids and old and (whole not in index.ids):
            return self._names_without_scope(index, old)
        if not is_scope_name(new):
            raise NameTaken(
                f"{self.new!r} is not a name: use letters, digits, '_', '-', '.' and '/', and "
                "begin with a letter or digit."
            )
        if whole in index.ids:
            op = index.ids[whole]
            along = {op}
            if index.types[op] in HANDLES and old in scopes.ids:
                along |= set(scopes.ops(scopes.ids[old]).tolist())
        elif old in scopes.ids and old:
            along = set(scopes.ops(scopes.ids[old]).tolist())
        else:
            end = did_you_mean(self.old, [*index.names, *scopes.names], otherwise=FIND_OPS)
            raise UnknownName(f"This graph has no op or name scope {self.old!r}" + end)
        return {index.names[i]: new + index.names[i][len(old) :] for i in sorted(along)}

    def _names_without_scope(self, index: GraphIndex, scope: str) -> dict[str, str]:
        """Old name -> new name of each op in a removed scope; an op of its name keeps that."""
        names = [
            index.names[op] for op in sorted(index.scopes.ops(index.scopes.ids[scope]).tolist())
        ]
        names_by_old = {name: name[len(scope) + 1 :] for name in names if name != scope}
        wrong = next((old for old, new in names_by_old.items() if not is_scope_name(new)), None)
        if wrong is not None:
            raise NameTaken(
                f"{wrong!r} without {scope!r} is not a name: a name begins with a letter or digit; "
                "rename that op first.",
                [wrong],
            )
        return names_by_old


def _had_name(context: PlanContext, old: str, new: str, names: Mapping[str, str]) -> bool:
    """Whether an op had the new name before, under which TensorFlow holds the same op."""
    if context.new_names.get(new) != old:
        return False
    hidden, index = context.hidden_node(new), context.index
    if hidden is None:
        return True
    node = _renamed_node(index.nodes[index.ids[old]], names, index)
    if state_name(hidden) != state_name(node):
        return False
    for each in (hidden, node):
        each.attr.pop(_KEY, None)
        each.input[:] = [as_input(*split_input(text)) for text in each.input]
    return hidden == node


def _name_here(index: GraphIndex, name: str) -> str:
    """The name of an op or a scope, as it was opened if the file has another."""
    if name in index.ids or name.rstrip("/") in index.scopes.ids:
        return name
    for node in index.nodes:
        if NAME_IN_FILE in node.attr and text_attribute(node, NAME_IN_FILE) == name.encode():
            return node.name
    return name


def rename_patch(index: GraphIndex, names: Mapping[str, str], scopes: tuple[str, ...]) -> Patch:
    """Give ops new names, which are free. Raises GraphEditError where half of a variable, or of a
    control flow context, would be renamed.
    """
    names = dict(names)
    _check_whole(index, names)
    removal = removal_of(index, [index.ids[old] for old in names])
    renamed_nodes = tuple(_renamed_node(node, names, index) for node in removal.nodes)
    runners = tuple(
        (key, runner)
        for key, runner in index.extras.runners()
        if not names.keys().isdisjoint(queue_runners.op_names(runner))
    )
    names_in_runners: dict[str, str] = {}
    for _, runner in runners:
        for name in queue_runners.op_names(runner):
            names_in_runners[name] = names.get(name, name)
    members, renamed_members = _members(index, names)
    copier, wholes = NodeCopier(names), _renamed_wholes(index, names)
    variables = tuple(_in_renamed_whole(copier.variable(v, ""), wholes) for v in removal.variables)
    old_contexts = index.extras.contexts() if removal.contexts else ()
    # A context goes on being called as the frame of its loop, which stays.
    frames = {name: name for name in control_flow_contexts.context_names(old_contexts)}
    pairs = tuple(names.items())
    return Patch(
        add=Change(
            nodes=renamed_nodes,
            members=renamed_members,
            variables=variables,
            contexts=control_flow_contexts.rename_contexts(old_contexts, names, frames),
            runners=queue_runners.rename_runners(runners, names_in_runners),
            copies=pairs,
        ),
        remove=replace(removal, members=members, runners=runners),
        scopes=scopes,
        changed=_node_changes(index, names),
        input_renames=pairs,
        output_renames=pairs,
        renamed=pairs,
    )


def _renamed_wholes(index: GraphIndex, names: Mapping[str, str]) -> dict[str, str]:
    """The new names of partitioned variables by old ones, where all parts are renamed alike."""
    wholes: dict[str, set[str]] = {}
    for variable in index.variable_defs:
        if variable.slice_info is not None:
            whole = variable.slice_info.full_name
            new = _renamed_alike(whole, variable.handle, names.get(variable.handle))
            wholes.setdefault(whole, set()).add(new)
    return {old: new.pop() for old, new in wholes.items() if len(new) == 1}


def _renamed_alike(whole: str, part: str, new_part: str | None) -> str:
    """The name of a partitioned variable after a part of it has another, in a renamed scope."""
    old, new = part.split("/"), (new_part or part).split("/")
    while old and new and old[-1] == new[-1]:
        old.pop()
        new.pop()
    name = whole.split("/")
    return "/".join([*new, *name[len(old) :]]) if name[: len(old)] == old else whole


def _in_renamed_whole(variable: VariableDef, wholes: Mapping[str, str]) -> VariableDef:
    """A part of a partitioned variable which has another name."""
    if variable.slice_info is None or variable.slice_info.full_name not in wholes:
        return variable
    slice_info = copy_of(variable.slice_info)
    slice_info.full_name = wholes[slice_info.full_name]
    return replace(variable, slice_info=slice_info)


def _check_whole(index: GraphIndex, names: Mapping[str, str]) -> None:
    """Variables and v1 contexts are renamed whole or not: Python objects name parts."""
    for variable in index.variable_defs:
        if variable.handle in names:
            continue
        for name in (variable.initializer, variable.snapshot, variable.initial_value):
            op = split_tensor(name or "")[0]
            if op in names:
                raise GraphEditError(
                    f"Op {op!r} is a part of variable {variable.handle!r}; rename op "
                    f"{variable.handle!r} instead, and its parts with it.",
                    [op, variable.handle],
                )
    if V1_CONTROL_FLOW.isdisjoint(index.kinds[0]):
        return
    for context in index.extras.contexts():
        _check_context(index, context, names)


def _check_context(index: GraphIndex, context: ContextDef, names: Mapping[str, str]) -> None:
    """Raise GraphEditError where ops that make up a loop or conditional are renamed, and others in
    it are not.
    """
    skeleton = {split_tensor(t)[0] for t in control_flow_contexts.structural_tensors(context)}
    touched = skeleton & names.keys()
    if touched:
        values = {split_tensor(name)[0] for name in context.values_def.values}
        values -= {split_tensor(name)[0] for name in context.values_def.external_values}
        # Hidden ops have contexts too.
        unnamed = sorted(((skeleton | values) & index.ids.keys()) - names.keys())
        if unnamed:
            scope = context.context_name.rpartition("/")[0]
            # The gradient of a loop has ops in it, under names of its own.
            is_apart = all(not name.startswith(f"{scope}/") for name in unnamed)
            if is_apart:
                way = 'save it as a file without contexts (".pb") and rename that'
            else:
                way = f"rename all of {scope!r}"
            raise GraphEditError(
                f"Op {min(touched)!r} holds {context.context_name!r} together, of which "
                f"{unnamed[0]!r} would keep its name; {way}.",
                [min(touched), unnamed[0]],
            )
    for inner in control_flow_contexts.nested_contexts(context):
        _check_context(index, inner, names)


def _renamed_node(node: NodeDef, names: Mapping[str, str], index: GraphIndex) -> NodeDef:
    """An op's renamed NodeDef, with others by new names; state is found where it was."""
    new = copy_of(node)
    new.name = names[node.name]
    _rename_references(new, names)
    has_state = persistent_state(index)[index.ids[node.name]]
    if has_state and not shared_name(node) and _goes_by_name(node):
        new.attr[_KEY].s = node.name.encode()
    return new


def _goes_by_name(node: NodeDef) -> bool:
    """Whether an op's state without a key is found by its name, not by the op only."""
    by_name = _BY_NAME in node.attr and node.attr[_BY_NAME].b
    return node.op in REF_HANDLES or by_name or kind_of(node.op) == "staging area"


def lost_state_notes(patch: Patch, context: PlanContext) -> tuple[str, ...]:
    """A sentence for state not found under another key, which nothing hands over."""
    index = context.index
    old = {node.name: node for node in patch.remove.nodes}
    new = {node.name: node for node in patch.add.nodes}
    has_state = persistent_state(index)
    transferable = TRANSFERABLE_STATE if context.hands_over_state else frozenset()
    return lost_state_text(
        (before, after)
        for before, after in patch.renamed
        if has_state[index.ids[before]]
        and kind_of(old[before].op) not in transferable
        and state_name(old[before]) != state_name(new[after])
    )


def lost_state_text(pairs: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """A sentence for ops, by old and new names, whose state is not found any more, or none."""
    names = tuple(zip(*pairs, strict=True))
    if not names:
        return ()
    holds = "holds" if len(names[0]) == 1 else "hold"
    return (f"{names_text(names[1])} {holds} nothing of what {names_text(names[0])} held.",)


def state_name(node: NodeDef) -> str:
    """What a session finds the state of an op by: a variable without a name has the empty one,
    whatever its op.
    """
    return shared_name(node) or ("" if node.op in RESOURCE_HANDLES else node.name)


def _rename_references(node: NodeDef, names: Mapping[str, str]) -> None:
    for k, text in enumerate(node.input):
        op, port = split_input(text)
        if op in names:
            node.input[k] = as_input(names[op], port)
    if _COLOCATED in node.attr:
        values = node.attr[_COLOCATED].list.s
        values[:] = [_renamed_colocation(value, names) for value in values]


def _renamed_colocation(value: bytes, names: Mapping[str, str]) -> bytes:
    name = value.removeprefix(_COLOCATE).decode(errors="surrogateescape")
    is_renamed = value.startswith(_COLOCATE) and name in names
    return _COLOCATE + names[name].encode() if is_renamed else value


def _node_changes(index: GraphIndex, names: Mapping[str, str]) -> tuple[NodeChange, ...]:
    """The changes of the ops that stay and name a renamed op."""
    rewriter = ConsumerRewriter(index)
    beside = [i for i, node in enumerate(index.nodes) if _COLOCATED in node.attr]
    near = (
        index.consumer_lists[index.ids[n]] + index.control_consumer_lists[index.ids[n]]
        for n in names
    )
    for op in {*beside, *(consumer for row in near for consumer in row)}:
        if index.names[op] not in names:
            _rename_references(rewriter.node(op), names)
    return rewriter.changes()


def _members(
    index: GraphIndex, names: Mapping[str, str]
) -> tuple[tuple[tuple[str, Member], ...], tuple[tuple[str, Member], ...]]:
    """All entries of collections with renamed things, before and after, in order."""
    before: list[tuple[str, Member]] = []
    after: list[tuple[str, Member]] = []
    copier = NodeCopier(names)
    for key, members in index.collections.items():
        if any(split_tensor(member.name)[0] in names for member in members):
            before += [(key, member) for member in members]
            after += [(key, Member(member.kind, copier.member(member.name))) for member in members]
    return tuple(before), tuple(after)


def _scopes(index: GraphIndex, old: str, new: str, names: Mapping[str, str]) -> tuple[str, ...]:
    """The name scope that comes to be, if it does."""
    is_scope = len(names) > 1 or old not in index.ids
    if not new.rstrip("/"):
        return tuple(dict.fromkeys(name.split("/")[0] for name in names.values() if "/" in name))
    return (new.rstrip("/"),) if is_scope and new.rstrip("/") not in index.scopes.ids else ()


@register(requested=False)  # the browser asks for "rename"
@dataclass(frozen=True)
class RenameKey(Command):
    """Rename an input or output of a signature; code calls `rename` for it.

    Attributes:
        signature: The name of the signature.
        key: The name of its input or output.
        new: The new name.
    """

    signature: str
    key: str
    new: str

    @classmethod
    def of_signature(
        cls, signatures: Iterable[Signature], name: str, key: str, new: str
    ) -> RenameKey:
        """The command that renames the key of an input or output which the signature has, to one
        that it has not. Raises GraphEditError.
        """
        signature = next(each for each in signatures if each.name == name)
        sides = [
            [side_key for side_key, _ in side] for side in (signature.inputs, signature.outputs)
        ]
        side_keys = next((side for side in sides if key in side), None)
        if side_keys is None:
            keys = names_text([*sides[0], *sides[1]])
            raise GraphEditError(
                f"Signature {name!r} has no input or output {key!r}; it has {keys}."
            )
        if not new or new in set(side_keys) - {key}:
            free = free_name(new or key, {side_key.lower() for side_key in side_keys})
            raise GraphEditError(f"Signature {name!r} has {new!r} already; {free!r} is free.")
        return cls(name, key, new)

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        return f"Renamed {self.key} of signature {self.signature} to {self.new}"

    def plan(self, context: PlanContext) -> Patch:  # noqa: ARG002
        """The patch, which changes no op."""
        if self.new == self.key:
            return nothing_to_do(f"Signature {self.signature!r} calls it {self.key!r} already.")
        return Patch(signature_edits=(KeyRenaming(self.signature, self.key, self.new),))

    def as_called(self) -> Rename:
        """The call of `rename` that code has for it."""
        return Rename(f"{self.signature}:{self.key}", self.new)

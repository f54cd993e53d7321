"""A patch: the changes that a command plans, as a value. No graph is changed here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from tfgraphwidget.edits import queue_runners
from tfgraphwidget.edits.control_flow_contexts import rename_contexts
from tfgraphwidget.edits.signature_edits import SignatureEdit
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    HANDLES,
    OUTPUT_SHAPES,
    TRAINABLE,
    V1_CONTROL_FLOW,
    GraphIndex,
    Member,
    Shape,
    VariableDef,
    called_functions,
    comes_from_outside,
    walk_from,
    with_functions,
    with_output_shape,
)
from tfgraphwidget.naming import (
    colocated_with,
    count_text,
    enclosing_scopes,
    split_input,
    split_tensor,
)
from tfgraphwidget.tf_types import (
    ContextDef,
    FunctionDef,
    NodeDef,
    QueueRunnerDef,
    Tensor,
    Variable,
)

FunctionBoundary = tuple[tuple[str, ...], dict[str, str]]
"""The arguments of a function, and the tensor of each result by its key."""


# Previews of clones


@dataclass(frozen=True)
class State:
    """One thing that keeps state: its op, and "variable", "hash table", "queue" … in words."""

    kind: str
    name: str


@dataclass(frozen=True)
class Preview:
    """The preview of a clone, in the names of the original; every tuple is in graph order.

    `ops` are the originals that are copied, `scopes` the name scopes that the copies take. `inputs`
    are the tensors and `control_inputs` the ops (as "^op") that the copies take from outside;
    `placeholders` are (tensor, name) of those that a new placeholder represents instead, `replaced`
    (tensor, tensor) of those that another tensor represents. `new` is the state that the copy gets
    of its own, `shared` what it goes on sharing with the original. `stateful` are the copied ops
    that do something beside computing tensors (assign, enqueue, print, write a file, draw random
    numbers), but for what initializes the variables: (op type, name). `dropped` says in a sentence
    each what could not be copied.
    """

    ops: tuple[str, ...]
    scopes: tuple[str, ...]
    inputs: tuple[str, ...] = ()
    control_inputs: tuple[str, ...] = ()
    placeholders: tuple[tuple[str, str], ...] = ()
    replaced: tuple[tuple[str, str], ...] = ()
    new: tuple[State, ...] = ()
    shared: tuple[State, ...] = ()
    stateful: tuple[tuple[str, str], ...] = ()
    dropped: tuple[str, ...] = ()

    def __repr__(self) -> str:
        own, shared = len(self.new), len(self.shared)
        scopes = ", ".join(map(repr, self.scopes))
        return (
            f"<Preview: {count_text(len(self.ops), 'op')} into {scopes}, {own} new, {shared} "
            "shared>"
        )


@dataclass(frozen=True, repr=False)
class Change:
    """Things that a graph gains or loses together.

    `nodes` are NodeDefs in graph order (opaque here); `members` are (collection key, member) pairs;
    `variables` what `tf.Variable` objects represent. `contexts` are WhileContextDefs and
    CondContextDefs, outermost ones with all that is nested; `runners` are (collection key,
    QueueRunnerDef). `functions` are FunctionDefs that the graph lacks, `gradients` (function, its
    gradient function). `copies` are (original, copy) op names: the copies keep static shapes and
    handle data of the originals, which NodeDefs do not have.
    """

    nodes: tuple[NodeDef, ...] = ()
    members: tuple[tuple[str, Member], ...] = ()
    variables: tuple[VariableDef, ...] = ()
    contexts: tuple[ContextDef, ...] = ()
    runners: tuple[tuple[str, QueueRunnerDef], ...] = ()
    functions: tuple[FunctionDef, ...] = ()
    gradients: tuple[tuple[str, str], ...] = ()
    copies: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        return (
            f"<Change: {count_text(len(self.nodes), 'op')}, "
            f"{count_text(len(self.variables), 'variable')}>"
        )


@dataclass(frozen=True, repr=False)
class NodeChange:
    """An op that is changed in place: its NodeDef before and after, of one name."""

    before: NodeDef
    after: NodeDef

    @property
    def name(self) -> str:
        """The op's name."""
        return str(self.before.name)

    def __repr__(self) -> str:
        return f"<Edited: {self.name!r}>"


class ReplacedMatch(NamedTuple):
    """What has taken the place of one match of a pattern.

    Attributes:
        ops: The ops that went.
        outputs: Pairs of (old tensor, new tensor).
        function: The function whose body they were in; "" for the graph itself.
    """

    ops: tuple[str, ...]
    outputs: tuple[tuple[str, str], ...]
    function: str = ""


class SkippedMatch(NamedTuple):
    """A match of a pattern that was not replaced: its ops, and why, as a sentence."""

    ops: tuple[str, ...]
    why: str
    function: str = ""


class NewShape(NamedTuple):
    """The static shape of an output of an op, which a change made another one."""

    op: str
    port: int
    before: Shape
    after: Shape


class StaleConstant(NamedTuple):
    """A constant that holds a size which is another one now, `value`, and takes it to the op
    `consumer`.

    `proposed` is what it should hold, with a text where only a run of the graph shows it; None if
    it is not known. `at` is the place of the size in it, None for one that holds it as its own
    shape; `slot` the consumer's input. At run time the size is `times` the product of the
    dimensions `positions` of the tensor `source`, and `plus`; where `source` is "", of the input.
    `function` is the function whose body has the constant.
    """

    op: str
    value: int | tuple[int, ...]
    proposed: int | str | tuple[int | str, ...] | None
    consumer: str
    at: int | None = None
    slot: int = 0
    positions: tuple[int, ...] = (0,)
    times: int = 1
    plus: int = 0
    source: str = ""
    function: str = ""


@dataclass(frozen=True)
class Report:
    """What an edit reports to the user beside its change: sentences and lists, which no undo takes
    back.

    Attributes:
        notes: Sentences for the user.
        preview: The preview of a clone.
        constants: The constants that still hold a size that the edit has changed.
        replaced: The matches of a pattern that were replaced.
        skipped: Those that were not.
        is_nothing: Whether there was nothing to do, for the reason that the notes give: no step of
            the history.
    """

    notes: tuple[str, ...] = ()
    preview: Preview | None = None
    constants: tuple[StaleConstant, ...] = ()
    replaced: tuple[ReplacedMatch, ...] = ()
    skipped: tuple[SkippedMatch, ...] = ()
    is_nothing: bool = False


@dataclass(frozen=True)
class Patch:
    """The ops that an edit adds, removes and changes in place, and what follows from that.

    Attributes:
        add: The new ops, and the entries of collections, contexts and functions that come with
            them.
        remove: The ops that are hidden, with the same.
        scopes: The name scopes of the new ops.
        changed: The ops that are changed in place.
        shapes: The static shapes that change, which are inferred after planning.
        report: What the edit reports beside its change.
        input_renames: (old, new) names of ops and tensors that signatures and callers of a function
            feed; "" for one that is gone.
        output_renames: The same for ops and tensors that signatures and functions return.
        signature_edits: What becomes of the signatures.
        renamed: (old, new) names of ops that are removed and added only because of a new name. The
            new op takes the place of the old one in graph order.
        boundary: The arguments and results that a function has from then on; None for those that it
            had. See `PlanContext.boundary`.
        function: The function whose body is edited; "" for the graph itself.
        init: The initial values of new variables, see `edits.clone.command.Clone`.
        values: Readers of the values that variables have which are new in a file, by their handle
            ops.
        traced: The trace of the Python function that made the new ops.
        traces: The traces of Python functions that made ops in several scopes, by these.
        caller: What an edit of a function's body changes in the graph that calls the function: it
            calls another one.
        captured: (op, live `tf.Variable`) of handles that come in because a called function reads
            them from now on.
        is_verbatim: Whether each new op is the copy of one of the same graph, differs from it in
            names and devices only, and reads the same tensors from outside: TensorFlow has accepted
            all of it before.
        order: The names of all ops in the order in which a file lists them from then on; () if that
            stays.
        carries_gradients: Whether the gradients of the graph are right after it as they were
            before: the values stay the same, or the gradient ops are changed with the path that
            they are of. Others may be stale, see `edits.rewire.stale_gradients`.
    """

    add: Change = Change()
    remove: Change = Change()
    scopes: tuple[str, ...] = ()
    changed: tuple[NodeChange, ...] = ()
    shapes: tuple[NewShape, ...] = ()
    report: Report = Report()
    input_renames: tuple[tuple[str, str], ...] = ()
    output_renames: tuple[tuple[str, str], ...] = ()
    signature_edits: tuple[SignatureEdit, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    boundary: FunctionBoundary | None = None
    function: str = ""
    init: str | tuple[tuple[str, object], ...] = "none"
    values: tuple[tuple[str, Callable[[], object]], ...] = field(
        default=(), compare=False, repr=False
    )
    traced: Any = field(default=None, repr=False)
    caller: Patch | None = field(default=None, repr=False)
    captured: tuple[tuple[str, Variable | Tensor], ...] = field(default=(), repr=False)
    is_verbatim: bool = False
    order: tuple[str, ...] = ()
    carries_gradients: bool = False
    traces: tuple[tuple[str, Any], ...] = field(default=(), repr=False)

    def with_notes(self, *notes: str) -> Patch:
        """The patch with further sentences for the user."""
        if notes:
            return replace(self, report=replace(self.report, notes=(*self.report.notes, *notes)))
        return self

    @property
    def changed_or_renamed(self) -> tuple[str, ...]:
        """The ops that are changed in place, and those that get another name."""
        return (*(edited.name for edited in self.changed), *(old for old, _ in self.renamed))

    @property
    def only_sets_trainable(self) -> bool:
        """Whether all that it changes is which variables are trainable."""
        if self.changed or self.add.nodes or self.remove.nodes:
            return False
        return any(key == TRAINABLE for key, _ in (*self.add.members, *self.remove.members))

    @property
    def new_state(self) -> dict[str, Any]:
        """The live variables and tensors that new ops represent, by op."""
        objects: dict[str, Any] = {}
        traced = {} if self.traced is None else self.traced.captured
        for name, live in traced.items():
            objects[f"{self.scopes[0]}/{name}"] = live
        objects |= dict(self.captured)
        added = {node.name for node in self.add.nodes}
        return {name: live for name, live in objects.items() if name in added}

    @property
    def new_shapes(self) -> dict[tuple[str, int], Shape]:
        """The static shapes by op and port."""
        return {(shape.op, shape.port): shape.after for shape in self.shapes}

    @property
    def known_shapes(self) -> tuple[NewShape, ...]:
        """The static shapes of ops that were there before."""
        added = {node.name for node in self.add.nodes}
        return tuple(shape for shape in self.shapes if shape.op not in added)

    def inverse(self) -> Patch:
        """The patch that takes this one back."""
        return replace(
            self,
            add=self.remove,
            remove=self.add,
            changed=tuple(NodeChange(edited.after, edited.before) for edited in self.changed),
            shapes=tuple(
                shape._replace(before=shape.after, after=shape.before) for shape in self.shapes
            ),
            renamed=tuple((new, old) for old, new in self.renamed),
            caller=None if self.caller is None else self.caller.inverse(),
        )

    def with_dependents(self, index: GraphIndex) -> Patch:
        """This patch, removing also every op of the graph that was built later on what it removes.

        An op is built on another when it reads it, waits for it or must stand beside it
        (colocation); what fed only such ops goes too, unless it holds state or takes values from
        outside.
        """
        if not self.remove.nodes:
            return self
        if self.changed:  # what is changed back does not read any more what is removed
            index = apply_patch(index, replace(self, remove=Change(), shapes=()))
        own = self.remove
        ops = [index.ids[node.name] for node in own.nodes if node.name in index.ids]
        removed = _dependents(index, ops)
        dependents = removal_of(index, removed)
        own_members = set(own.members)  # a collection may have an entry twice
        members = [member for member in dependents.members if member not in own_members]
        runners = [runner for runner in dependents.runners if runner not in own.runners]
        remove = replace(
            dependents,
            members=(*own.members, *members),
            # Its own have boundaries and tensors from outside, too.
            contexts=(*own.contexts, *dependents.contexts),
            runners=(*own.runners, *runners),
            functions=_uncalled_functions(index, removed, own.functions),
            gradients=own.gradients,
        )
        return replace(self, remove=remove)


def removal_of(index: GraphIndex, ops: Collection[int]) -> Change:
    """Some ops as what a graph loses, with all that names only them: entries of collections,
    variables, contexts.
    """
    names = {index.names[i] for i in ops}
    members = tuple(
        (key, member)
        for key, entries in index.collections.items()
        for member in entries
        if split_tensor(member.name)[0] in names or member.name in names
    )
    variables = tuple(v for v in index.variable_defs if v.handle in names)
    nodes = tuple(index.nodes[i] for i in sorted(ops))
    same_names = {name: name for name in names}
    contexts: tuple[ContextDef, ...] = ()
    if not V1_CONTROL_FLOW.isdisjoint(index.kinds[0]):
        contexts = rename_contexts(index.extras.contexts(), same_names, {})
    return Change(
        nodes=nodes,
        members=members,
        variables=variables,
        contexts=contexts,
        runners=queue_runners.rename_runners(index.extras.runners(), same_names),
    )


def _uncalled_functions(
    index: GraphIndex, ops: Collection[int], functions: tuple[FunctionDef, ...]
) -> tuple[FunctionDef, ...]:
    """The functions that have no caller after some ops are removed."""
    if not functions:
        return ()
    remaining = (node for i, node in enumerate(index.nodes) if i not in ops)
    reachable = index.reachable_functions(remaining)
    return tuple(function for function in functions if function.signature.name not in reachable)


def without_uncalled_functions(index: GraphIndex, patch: Patch, *, every: bool = False) -> Patch:
    """The patch, removing also the functions that ops call in `index` before it, and none after it;
    with `every`, those too that no op calls before it.
    """
    if not index.functions or not (patch.remove.nodes or patch.add.functions or patch.changed):
        return patch
    after = apply_patch(index, patch)
    called_before, called = index.reachable_functions(), after.reachable_functions()
    candidates = sorted(index.functions) if every else called_before
    uncalled = [index.extras.function(name) for name in candidates if name not in called]
    functions = (*patch.remove.functions, *uncalled)
    return replace(patch, remove=replace(patch.remove, functions=functions))


def check_unchanged(index: GraphIndex, patch: Patch) -> None:
    """Raise GraphEditError when an op that the patch changes is not what it was planned for."""
    missing = next((op for op in patch.changed_or_renamed if op not in index.ids), None)
    if missing is not None:
        raise GraphEditError(
            f"Op {missing!r} was removed or renamed by another edit meanwhile; undo that one "
            "first, in the editor that made it, or edit the graph as it is now."
        )
    for edited in patch.changed:
        if not _is_alike(index, index.nodes[index.ids[edited.name]], edited.before):
            raise GraphEditError(
                f"Op {edited.name!r} was changed by another edit meanwhile; undo that one first, "
                "in the editor that made it, or edit the op as it is now.",
                [edited.name],
            )


def _is_alike(index: GraphIndex, node: NodeDef, planned: NodeDef) -> bool:
    """Whether an op reads the same and calls the same functions as when an edit was planned.

    Control inputs have no order: TensorFlow may list them in another one after an undo.
    """
    calls, planned_calls = (called_functions(each, index.functions) for each in (node, planned))
    return _inputs(node) == _inputs(planned) and calls == planned_calls


def _inputs(node: NodeDef) -> tuple[list[str], frozenset[str]]:
    """The data inputs of an op, and its control inputs."""
    data = [text for text in node.input if not text.startswith("^")]
    return data, frozenset(text for text in node.input if text.startswith("^"))


def _dependents(index: GraphIndex, ops: Iterable[int]) -> set[int]:
    """Some ops, what is built on them, and what fed only such ops."""
    ops = set(ops)
    first = min(ops, default=0)
    beside = _colocated_ops(index)

    def built_on(op: int) -> list[int]:
        consumers = index.consumer_lists[op] + index.control_consumer_lists[op]
        return consumers + beside.get(index.names[op], [])

    removed = set(walk_from(ops, built_on))
    for i in range(len(index) - 1, first, -1):
        consumers = index.consumer_lists[i] + index.control_consumer_lists[i]
        if consumers and removed.issuperset(consumers) and index.types[i] not in HANDLES:
            # A Saver's file name is a placeholder with a default.
            is_input = comes_from_outside(index, i) and index.types[i] != "PlaceholderWithDefault"
            if not is_input:
                removed.add(i)
    return removed


def _colocated_ops(index: GraphIndex) -> dict[str, list[int]]:
    """Op name -> the other ops that must stand on its device."""
    beside: dict[str, list[int]] = {}
    for i, node in enumerate(index.nodes):
        for name in colocated_with(node):
            beside.setdefault(name, []).append(i)
    return beside


def apply_patch(index: GraphIndex, patch: Patch) -> GraphIndex:
    """The index after the patch; `index` itself stays as it is."""
    add, removed_members = patch.add, set(patch.remove.members)
    if patch.renamed and patch.remove.nodes:
        return _apply_renames(index, patch)
    new_functions = {function.signature.name: function for function in add.functions}
    removed_functions = {function.signature.name for function in patch.remove.functions}
    if add.nodes or add.members or removed_members or new_functions or removed_functions:
        index = index.with_new_nodes(
            add.nodes,
            _collections(index, patch, removed_members),
            _variable_defs(index, patch),
            (index.functions - removed_functions).union(new_functions),
        )
        if new_functions:
            index = replace(
                index,
                extras=with_functions(index.extras, add.functions, add.gradients),
                typing=index.typing.with_functions(new_functions),
            )
        if removed_functions:
            reserved = index.reserved | {name.lower() for name in removed_functions}
            index = replace(index, reserved=reserved)
    index = _apply_node_changes(index, patch)
    if patch.remove.nodes:
        index = index.without(frozenset(node.name for node in patch.remove.nodes))
    if patch.order:
        index = index.with_order([index.ids[name] for name in patch.order])
    return index.with_shapes(patch.new_shapes) if patch.shapes else index


def _apply_node_changes(index: GraphIndex, patch: Patch) -> GraphIndex:
    """The index with the ops changed in place, and those that files say static shapes of."""
    changed = {index.ids[edited.name]: edited.after for edited in patch.changed}
    for op, port, _, shape in patch.shapes:
        at = index.ids.get(op)
        if at is None:
            continue
        node = changed.get(at, index.nodes[at])
        if OUTPUT_SHAPES in node.attr and port < len(node.attr[OUTPUT_SHAPES].list.shape):
            new = with_output_shape(node, port, shape)
            if new is not node:  # copies list the shapes of their originals already
                changed[at] = new
    return index.with_changed_nodes(changed) if changed else index


def _apply_renames(index: GraphIndex, patch: Patch) -> GraphIndex:
    """The index after a patch that only gives ops other names and changes who names them."""
    new = {node.name: node for node in patch.add.nodes}
    index = replace(
        index,
        collections=_collections(index, patch, set(patch.remove.members)),
        variable_defs=_variable_defs(index, patch),
    )
    index = index.with_renamed_nodes({index.ids[old]: new[name] for old, name in patch.renamed})
    index = _apply_node_changes(index, patch)
    return index.with_shapes(patch.new_shapes) if patch.shapes else index


def _variable_defs(index: GraphIndex, patch: Patch) -> tuple[VariableDef, ...]:
    """The variables after a patch."""
    removed_handles = {variable.handle for variable in patch.remove.variables}
    remaining = [v for v in index.variable_defs if v.handle not in removed_handles]
    return (*remaining, *patch.add.variables)


def _collections(
    index: GraphIndex, patch: Patch, removed: set[tuple[str, Member]]
) -> dict[str, tuple[Member, ...]]:
    collections = dict(index.collections)
    for key in {key for key, _ in removed}:
        collections[key] = tuple(
            member for member in collections.get(key, ()) if (key, member) not in removed
        )
    new: dict[str, list[Member]] = {}
    for key, member in patch.add.members:
        new.setdefault(key, []).append(member)
    return collections | {
        key: (*collections.get(key, ()), *members) for key, members in new.items()
    }


def combine(index: GraphIndex, first: Patch, then: Patch) -> Patch:
    """Two patches of `index` one after the other as one, where the second only changes, adds and
    removes ops of `index`.
    """
    changed = {edited.name: edited for edited in first.changed}
    added = {node.name: node for node in first.add.nodes}
    for edited in then.changed:
        if edited.name in added:
            added[edited.name] = edited.after
        else:
            before = changed[edited.name].before if edited.name in changed else edited.before
            changed[edited.name] = NodeChange(before, edited.after)
    removed = {node.name for node in then.remove.nodes}
    changes = tuple(
        changed[name] for name in sorted(changed.keys() - removed, key=index.ids.__getitem__)
    )
    nodes = tuple(node for node in added.values() if node.name not in removed)
    removed_nodes = tuple(
        index.nodes[index.ids[node.name]] for node in then.remove.nodes if node.name in index.ids
    )
    return replace(
        first,
        add=replace(first.add, nodes=nodes, runners=then.add.runners),
        remove=replace(then.remove, nodes=removed_nodes),
        changed=changes,
        report=replace(first.report, notes=(*first.report.notes, *then.report.notes)),
        output_renames=(*first.output_renames, *then.output_renames),
        input_renames=(*first.input_renames, *then.input_renames),
    )


# Hidden ops: ops that were built on them later are hidden too.


def dependents_of(nodes: Iterable[NodeDef], hidden: set[str]) -> set[str]:
    """Names of the NodeDefs that read a hidden op or must stand beside one, directly or through
    others.

    Those of loops too, in which an op reads or waits for one that stands after it.
    """
    dependents: set[str] = set()
    rest = [node for node in nodes if node.name not in hidden]
    while True:
        before, stay = len(dependents), []
        for node in rest:
            sources = [split_input(text)[0] for text in node.input] + colocated_with(node)
            if any(name in hidden or name in dependents for name in sources):
                dependents.add(node.name)
            else:
                stay.append(node)
        if len(dependents) == before:
            return dependents
        rest = stay


def without_hidden(
    collections: Mapping[str, tuple[Member, ...]],
    variables: Iterable[VariableDef],
    hidden: set[str],
) -> tuple[dict[str, tuple[Member, ...]], tuple[VariableDef, ...]]:
    """Collections and variables without what names hidden ops."""
    remaining = {
        key: tuple(member for member in members if split_tensor(member.name)[0] not in hidden)
        for key, members in collections.items()
    }
    return remaining, tuple(v for v in variables if v.handle not in hidden)


def reserved_names(hidden: set[str]) -> frozenset[str]:
    """The names that hidden ops keep taken, in lower case, with the scopes around them."""
    return frozenset(name.lower() for full in hidden for name in (full, *enclosing_scopes(full)))


def nothing_to_do(why: str, skipped: tuple[SkippedMatch, ...] = ()) -> Patch:
    """The patch of an edit that finds nothing to do, which is a result: it is not recorded. `why`
    is a sentence, and `skipped` has the matches of a pattern that are not replaced.
    """
    return Patch(report=Report((why,), skipped=skipped, is_nothing=True))

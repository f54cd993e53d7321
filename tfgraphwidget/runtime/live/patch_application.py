"""Applies patches to a live graph; the only module that changes one.

TensorFlow cannot remove ops. Ops that a patch removes are hidden: no editor shows or exports them,
their variables leave all collections, and their names stay taken. Adding them again shows the same
ops and the same `tf.Variable` objects. The record of hidden ops is an attribute of the graph, so
all editors of the graph agree.

New ops are validated first (see `runtime.sandbox.preflight`), so that what TensorFlow refuses is
refused before anything has changed. Copies of ops that TensorFlow has accepted with the same inputs
are imported at once, which takes half the time; should it refuse them all the same, it leaves none
of them (test_tensorflow_facts.py::test_a_failed_import_leaves_no_ops), and the patch is rolled
back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tfgraphwidget.cancellation import held_back, let_in, set_right
from tfgraphwidget.edits import Change, Patch
from tfgraphwidget.errors import NameTaken
from tfgraphwidget.graph import Member, no_collections, places_in_order
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.runtime.live.call_gradients import check_calls, follow_new_calls
from tfgraphwidget.runtime.live.control_flow_contexts import rebuild_contexts, remove_contexts
from tfgraphwidget.runtime.live.edit_record import Record, record_of
from tfgraphwidget.runtime.live.graph_import import check_open, import_nodes, import_validated
from tfgraphwidget.runtime.live.in_place_changes import rewire, set_static_shapes
from tfgraphwidget.runtime.live.placement import check_patch_placement, keep_running
from tfgraphwidget.runtime.live.static_attributes import copy_static_attributes
from tfgraphwidget.runtime.live.variables import make_variable
from tfgraphwidget.runtime.sandbox.preflight import ValidatedNodes, validate
from tfgraphwidget.sources import runner_def, wrap_tf_errors
from tfgraphwidget.tensorflow_modules import check_editable, tf
from tfgraphwidget.tf_internals import (
    collections_lock,
    delete_collection,
    graph_functions,
    operations_by_name,
)
from tfgraphwidget.tf_types import NodeDef, QueueRunnerDef, Session


def add_runners(graph: tf.Graph, runners: Iterable[tuple[str, QueueRunnerDef]]) -> None:
    """Add a `tf.train.QueueRunner` to its collection for each (collection key, QueueRunnerDef).

    The ops must be in the graph. A runner in several collections is one object.
    """
    runners_by_proto: dict[bytes, object] = {}
    with graph.as_default():  # not eager, where queue runners are refused
        for key, proto in runners:
            key_bytes = proto.SerializeToString(deterministic=True)
            if key_bytes not in runners_by_proto:
                runners_by_proto[key_bytes] = tf.compat.v1.train.QueueRunner.from_proto(proto)
            graph.get_collection_ref(key).append(runners_by_proto[key_bytes])


def remove_runners(graph: tf.Graph, runners: Iterable[tuple[str, QueueRunnerDef]]) -> None:
    """Remove what `add_runners` added from the collections. Missing runners are ignored."""
    removed = Counter((key, proto.SerializeToString(deterministic=True)) for key, proto in runners)
    for key in {key for key, _ in removed}:
        entries = graph.get_collection_ref(key)
        for item in reversed(entries[:]):
            if isinstance(item, tf.compat.v1.train.QueueRunner):
                entry = key, runner_def(item, graph).SerializeToString(deterministic=True)
                if removed[entry]:
                    removed[entry] -= 1
                    entries.remove(item)


__all__ = ["Record", "apply_live", "check_open", "import_nodes", "record_of", "variables_of"]


def apply_live(patch: Patch, graph: tf.Graph, origin: tf.Graph | None = None) -> None:
    """Apply a patch to a live graph; see `live_patch`."""
    with live_patch(patch, graph, origin):
        pass


@contextmanager
def live_patch(
    patch: Patch, graph: tf.Graph, origin: tf.Graph | None = None, *, session: Session | None = None
) -> Iterator[None]:
    """Apply a patch to a live graph, and roll it back if the block raises.

    Args:
        origin: The graph of the originals of copies, if it is another.
        session: The session that must be able to run afterwards; the default session if None.

    Raises:
        GraphFinalized, NameTaken, UnknownName, SessionRefused, GraphEditError: The patch cannot be
            applied; nothing has changed. When something fails later, collections are restored, and
            new ops are hidden.
    """
    check_editable()
    session = _or_default(session)
    with (
        wrap_tf_errors("carry the edit out"),
        record_of(graph).lock,
        _apply(patch, graph, origin, session),
    ):
        yield


def check_patch(
    patch: Patch, graph: tf.Graph, origin: tf.Graph | None = None, *, session: Session | None = None
) -> None:
    """Raise what `live_patch` would, but for what TensorFlow says of the new ops themselves."""
    record = record_of(graph)
    if patch.changed or patch.add.functions or _new_nodes(patch.add, record):
        check_open(graph)
    if patch.changed:
        check_calls(graph, patch.changed)
    _check_shown_again(patch.add, record)
    check_patch_placement(_or_default(session), graph, patch, origin)


def _or_default(session: Session | None) -> Session | None:
    return tf.compat.v1.get_default_session() if session is None else session


def _new_nodes(change: Change, record: Record) -> Sequence[NodeDef]:
    """The ops of a change that are not shown again, but new."""
    hidden = record.hidden
    return [node for node in change.nodes if node.name not in hidden] if hidden else change.nodes


@contextmanager
def _apply(
    patch: Patch, graph: tf.Graph, origin: tf.Graph | None, session: Session | None
) -> Iterator[None]:
    record = record_of(graph)
    check_patch(patch, graph, origin, session=session)
    new = _new_nodes(patch.add, record)
    with no_collections():
        is_accepted = (
            patch.is_verbatim and len(new) == len(patch.add.nodes) and not record.rewire_count
        )
        validated = _validate_new_nodes(graph, new, patch.add, is_accepted=is_accepted)
    before = _State.of(graph, record)
    with held_back():
        let_in()
        try:
            _change(patch, graph, origin or graph, record, validated)
            yield
        except BaseException as error:
            set_right(error)
            _roll_back(patch, graph, record, before, new)
            keep_running(session, graph, [node.name for node in new])
            raise
        for node in patch.add.nodes if record.failed else ():
            record.failed.pop(node.name, None)
        record.failed_functions -= _functions(patch.add)


def _change(
    patch: Patch,
    graph: tf.Graph,
    origin: tf.Graph,
    record: Record,
    validated: ValidatedNodes | None,
) -> None:
    with no_collections():
        _hide(patch.remove, graph, record)
        if validated:
            _add_ops(validated, patch, graph, origin)
        _add(patch.add, graph, record, origin)
    for edited in patch.changed:
        rewire(graph, edited)
    set_static_shapes(graph, patch.shapes)


@dataclass(frozen=True)
class _State:
    """The parts of a graph that an edit changes besides ops; `functions` are hidden ones."""

    collections: dict[str, list[object]]
    hidden: frozenset[str]
    functions: frozenset[str]
    library: frozenset[str]

    @classmethod
    def of(cls, graph: tf.Graph, record: Record) -> _State:
        library = frozenset(graph_functions(graph))
        return cls(
            collections_of(graph), frozenset(record.hidden), frozenset(record.functions), library
        )


def collections_of(graph: tf.Graph) -> dict[str, list[object]]:
    """Return the entries of all collections of a graph."""
    return {key: list(graph.get_collection_ref(key)) for key in graph.get_all_collection_keys()}


def restore_collections(
    graph: tf.Graph, previous: Mapping[str, list[object]], is_own: Callable[[str, object], bool]
) -> None:
    """Restore the collections of a graph to their `previous` entries, and keep what other threads
    have added since; `is_own` says of a key and an entry whether this edit added it, so that it is
    removed.
    """
    for key in graph.get_all_collection_keys():
        with collections_lock(graph):
            now, before = graph.get_collection_ref(key), previous.get(key, [])
            before_ids = set(map(id, before))
            now[:] = [
                *before,
                *(item for item in now if id(item) not in before_ids and not is_own(key, item)),
            ]
            if not now and key not in previous:
                delete_collection(graph, key)


def op_of_entry(item: object) -> str:
    """Return the op of a collection's entry: a context's pivot, a queue runner's queue."""
    if isinstance(item, tf.compat.v1.train.QueueRunner):
        queue = item.queue  # whose own name lacks the scope, outside of the graph
        item = queue if isinstance(queue, tf.Operation) else queue.queue_ref.op
    pivot = getattr(item, "pivot", None)
    member = Member.of(item if pivot is None else pivot)
    return split_tensor(member.name)[0] if member else ""


def is_entry_of(new_ops: Collection[str]) -> Callable[[str, object], bool]:
    """Return what says whether an entry belongs to these new ops, for `restore_collections`."""

    def is_own(_: str, item: object) -> bool:
        op = op_of_entry(item)
        # A variable without a name is one that another thread is just making.
        return op in new_ops or not (op or isinstance(item, tf.Variable))

    return is_own


def hide_failed(graph: tf.Graph, nodes: Iterable[NodeDef], functions: Collection[str] = ()) -> None:
    """Hide ops that a failed edit has left, and functions only they call; names are free."""
    record = record_of(graph)
    there = operations_by_name(graph)
    remaining = {node.name: node for node in nodes if node.name in there}
    record.hidden |= remaining.keys()
    record.failed |= remaining
    record.functions |= set(functions)
    record.failed_functions |= set(functions)
    record.generation += 1


def _roll_back(
    patch: Patch, graph: tf.Graph, record: Record, before: _State, new: Iterable[NodeDef]
) -> None:
    """After a failure, restore everything and hide the new ops."""
    there = operations_by_name(graph)
    for edited in reversed(patch.inverse().changed):
        rewire(graph, edited)
    set_static_shapes(graph, (shape for shape in patch.inverse().shapes if shape.op in there))
    remove_contexts(graph, patch.add)
    rebuild_contexts(graph, patch.remove, returning={node.name for node in patch.remove.nodes})
    names, members = {node.name for node in patch.add.nodes}, set(patch.add.members)
    restore_collections(
        graph,
        before.collections,
        lambda key, item: op_of_entry(item) in names or (key, Member.of(item)) in members,
    )
    # Those of tables may have come meanwhile.
    record.hidden = {*before.hidden, *record.transfer_ops.values()}
    hide_failed(graph, new)
    remaining = (_functions(patch.add) & graph_functions(graph).keys()) - before.library
    record.functions = {*before.functions, *remaining}
    record.failed_functions |= remaining


def _functions(change: Change) -> set[str]:
    """The names of the functions of a change."""
    return {function.signature.name for function in change.functions}


def _check_shown_again(change: Change, record: Record) -> None:
    """Raise when an op would be taken for one of the same name that an edit left when it failed."""
    for node in change.nodes if record.failed else ():
        if node.name in record.failed and record.failed[node.name] != node:
            raise NameTaken(
                f"An edit that failed left an op {node.name!r} in the graph, which TensorFlow "
                "cannot remove, and it is not the op of this edit; copy into another name scope.",
                [node.name],
            )


def _validate_new_nodes(
    graph: tf.Graph, new: Sequence[NodeDef], change: Change, *, is_accepted: bool
) -> ValidatedNodes | None:
    if not new and not change.functions:
        return None
    return validate(graph, new, change.functions, change.gradients, is_accepted=is_accepted)


def _add_ops(validated: ValidatedNodes, patch: Patch, graph: tf.Graph, origin: tf.Graph) -> None:
    import_validated(graph, validated)
    follow_new_calls(
        graph,
        patch.add.nodes,
        {function.signature.name: function for function in patch.add.functions},
    )
    names = {node.name for node in patch.add.nodes}
    # Marks the scopes as used: a later tf.name_scope of that name becomes name_1, as it should.
    with graph.as_default(), tf.compat.v1.name_scope(None):
        for scope in patch.scopes:
            if scope not in names:  # else it is the name of an op
                graph.unique_name(scope)
    copy_static_attributes(graph, patch.add.copies, origin)


def _add(change: Change, graph: tf.Graph, record: Record, origin: tf.Graph) -> None:
    """Add the parts that are not ops."""
    nodes = {node.name: node for node in change.nodes}
    returning = record.hidden & (nodes.keys() - record.failed.keys())
    if not record.hidden.isdisjoint(nodes):
        record.hidden.difference_update(nodes)
        record.generation += 1
    record.functions -= _functions(change)
    rebuild_contexts(graph, change, origin, returning=returning)
    for definition in change.variables:
        if definition.name not in record.variables:
            record.variables[definition.name] = make_variable(graph, definition, nodes)
    _add_members(graph, change.members)
    add_runners(graph, change.runners)


def _hide(change: Change, graph: tf.Graph, record: Record) -> None:
    if change.nodes:
        record.hidden.update(node.name for node in change.nodes if _exists(graph, node.name))
        record.generation += 1
    record.functions |= _functions(change)
    remove_contexts(graph, change)
    remove_runners(graph, change.runners)
    removed = set(change.members)
    for key in {key for key, _ in removed}:
        with collections_lock(graph):
            entries = graph.get_collection_ref(key)
            members = [Member.of(item) for item in entries]
            for item, member in zip(entries, members, strict=True):
                if member and member.kind == "variable" and (key, member) in removed:
                    record.variables[member.name] = item
            entries[:] = [
                item
                for item, member in zip(entries, members, strict=True)
                if (key, member) not in removed
            ]


def _exists(graph: tf.Graph, name: str) -> bool:
    """Return whether the graph has the op; after a failed import it does not."""
    try:
        graph.get_operation_by_name(name)
    except KeyError:
        return False
    return True


def variables_of(graph: tf.Graph, names: Iterable[str]) -> tuple[tf.Variable, ...]:
    """Return the live variables of these names ("w:0"), which edits made or collections hold."""
    variables, names = record_of(graph).variables, list(names)
    if not variables.keys() >= set(names):
        entries = (
            item
            for key in graph.get_all_collection_keys()
            for item in graph.get_collection_ref(key)
        )
        members = (
            (member, item)
            for item in entries
            if (member := Member.of(item)) and member.kind == "variable"
        )
        variables = {**{member.name: item for member, item in members}, **variables}
    return tuple(variables[name] for name in names)


def put_in_order(graph: tf.Graph, members: Mapping[str, Sequence[Member]]) -> bool:
    """Put entries of collections into this order; return whether it has changed."""
    reordered = False
    for key, order in members.items():
        entries = graph.get_collection_ref(key)
        places = places_in_order(map(Member.of, entries), order)
        in_order = sorted(places, key=lambda place: place[1])
        if in_order != places:
            items, reordered = [entries[at] for at, _ in in_order], True
            for (at, _), item in zip(places, items, strict=True):
                entries[at] = item
    return reordered


def _add_members(graph: tf.Graph, members: Iterable[tuple[str, Member]]) -> None:
    members = list(members)
    names = [name for _, (kind, name) in members if kind == "variable"]
    variables = dict(zip(names, variables_of(graph, names), strict=True))
    for key, (kind, name) in members:
        item = variables[name] if kind == "variable" else graph.as_graph_element(name)
        # add_to_collection refuses redo on a finalized graph.
        graph.get_collection_ref(key).append(item)

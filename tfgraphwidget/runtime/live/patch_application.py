"""Carries patches out on a live graph: the only module that changes one.

TensorFlow cannot remove ops. What a patch removes is hidden: no editor shows or exports it, its variables leave
all collections, and its names stay taken. What is added again after that comes back as the same ops and the
same `tf.Variable` objects. The record of it lives on the graph itself, so that it goes when the graph goes and
all editors of one graph agree.

What is added is validated first (see `runtime.sandbox.preflight`), so that what TensorFlow refuses is refused before
anything has changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tfgraphwidget.cancellation import held_back, let_in
from tfgraphwidget.edits import Change, Patch
from tfgraphwidget.errors import NameTaken
from tfgraphwidget.graph import Member, no_collections
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.runtime.live.call_gradients import check_calls, follow_new_calls
from tfgraphwidget.runtime.live.control_flow_contexts import rebuild, unbuild
from tfgraphwidget.runtime.live.edit_record import Record, record_of
from tfgraphwidget.runtime.live.graph_import import check_open, import_nodes, import_validated
from tfgraphwidget.runtime.live.in_place_changes import rewire, show_shapes
from tfgraphwidget.runtime.live.placement import check_placed, keep_running
from tfgraphwidget.runtime.live.static_attributes import keep_static
from tfgraphwidget.runtime.live.variables import make_variable
from tfgraphwidget.runtime.sandbox.preflight import ValidatedNodes, validate
from tfgraphwidget.sources import runner_def, wrap_tf_errors
from tfgraphwidget.tf_internals import collections_lock, delete_collection, graph_functions, operations_by_name
from tfgraphwidget.tf_types import NodeDef, Session

# Live queue runners: what `tf.train.start_queue_runners` starts threads for.


def add_runners(graph: tf.Graph, runners: Iterable[tuple[str, Any]]) -> None:
    """Put a `tf.train.QueueRunner` for each (collection key, QueueRunnerDef) into its collection.

    The ops must be in the graph. One that stands in several collections is one object.
    """
    made: dict[bytes, Any] = {}
    with graph.as_default():  # not eager, where queue runners are refused
        for key, proto in runners:
            told = proto.SerializeToString(deterministic=True)
            if told not in made:
                made[told] = tf.compat.v1.train.QueueRunner.from_proto(proto)
            graph.get_collection_ref(key).append(made[told])


def remove_runners(graph: tf.Graph, runners: Iterable[tuple[str, Any]]) -> None:
    """Take what `add_runners` has put there out of the collections; what is not there is passed over."""
    gone = Counter((key, proto.SerializeToString(deterministic=True)) for key, proto in runners)
    for key in {key for key, _ in gone}:
        held = graph.get_collection_ref(key)
        for item in reversed(held[:]):
            if isinstance(item, tf.compat.v1.train.QueueRunner):
                told = key, runner_def(item, graph).SerializeToString(deterministic=True)
                if gone[told]:
                    gone[told] -= 1
                    held.remove(item)


__all__ = ["Record", "applied_live", "apply_live", "check_open", "import_nodes", "record_of", "variables_of"]


def apply_live(
    patch: Patch,
    graph: tf.Graph,
    origin: tf.Graph | None = None,
    then: Callable[[], None] = lambda: None,
    *,
    session: Session | None = None,
) -> None:
    """Carry `patch` out, and `then()`; see `applied_live`."""
    with applied_live(patch, graph, origin, session=session):
        then()


@contextmanager
def applied_live(
    patch: Patch, graph: tf.Graph, origin: tf.Graph | None = None, *, session: Session | None = None
) -> Iterator[None]:
    """Carry `patch` out; `origin` is the graph that the originals of copies are in, if it is another.

    `session` is the one that has to go on running, the default session if none is given. Raises GraphFinalized,
    NameTaken, UnknownName, SessionRefused or GraphEditError before anything has changed. When anything fails later, it
    is taken back: collections are as before, and ops that TensorFlow has taken in by then are hidden.
    """
    session = tf.compat.v1.get_default_session() if session is None else session
    with wrap_tf_errors("carry the edit out"), record_of(graph).lock, _applied(patch, graph, origin, session):
        yield


@contextmanager
def _applied(patch: Patch, graph: tf.Graph, origin: tf.Graph | None, session: Session) -> Iterator[None]:
    record = record_of(graph)
    if patch.changed:
        check_open(graph)
        check_calls(graph, patch.changed)
    hidden = record.hidden
    new = [node for node in patch.add.nodes if node.name not in hidden] if hidden else patch.add.nodes
    _check_shown_again(patch.add, record)
    check_placed(session, graph, patch, origin)
    with no_collections():
        validated = _validated(graph, new, patch.add)
    before = _State.of(graph, record)
    with held_back():
        let_in()
        try:
            _change(patch, graph, origin or graph, record, validated)
            yield
        except BaseException:
            _take_back(patch, graph, record, before, new)
            keep_running(session, graph, [node.name for node in new])
            raise
        for node in patch.add.nodes if record.failed else ():
            record.failed.pop(node.name, None)
        record.failed_functions -= _functions(patch.add)


def _change(patch: Patch, graph: tf.Graph, origin: tf.Graph, record: Record, validated: ValidatedNodes | None) -> None:
    with no_collections():
        _hide(patch.remove, graph, record)
        if validated:
            _add_ops(validated, patch, graph, origin)
        _add(patch.add, graph, record, origin)
    for edited in patch.changed:
        rewire(graph, edited)
    show_shapes(graph, patch.shapes)


@dataclass(frozen=True)
class _State:
    """What an edit changes beside ops; `library` are the functions of the graph, `functions` the hidden ones."""

    collections: dict[str, list[Any]]
    hidden: frozenset[str]
    functions: frozenset[str]
    library: frozenset[str]

    @classmethod
    def of(cls, graph: tf.Graph, record: Record) -> _State:
        library = frozenset(graph_functions(graph))
        return cls(collections_of(graph), frozenset(record.hidden), frozenset(record.functions), library)


def collections_of(graph: tf.Graph) -> dict[str, list[Any]]:
    """What the graph's collections hold now."""
    return {key: list(graph.get_collection_ref(key)) for key in graph.get_all_collection_keys()}


def put_back(graph: tf.Graph, held: Mapping[str, list[Any]], is_own: Callable[[str, Any], bool]) -> None:
    """Make the graph's collections hold again what they held, and what other threads have put there since.

    `is_own` tells by its key that an entry which came since was not theirs.
    """
    for key in graph.get_all_collection_keys():
        with collections_lock(graph):
            now, before = graph.get_collection_ref(key), held.get(key, [])
            known = set(map(id, before))
            now[:] = [*before, *(item for item in now if id(item) not in known and not is_own(key, item))]
            if not now and key not in held:
                delete_collection(graph, key)


def op_behind(item: Any) -> str:
    """The op that an entry of a collection stands for: of a context its pivot, of a queue runner its queue."""
    if isinstance(item, tf.compat.v1.train.QueueRunner):
        queue = item.queue  # whose own name lacks the scope, outside of the graph
        item = queue if isinstance(queue, tf.Operation) else queue.queue_ref.op
    behind = getattr(item, "pivot", None)
    member = Member.of(item if behind is None else behind)
    return split_tensor(member.name)[0] if member else ""


def made_with(ops_made: Collection[str]) -> Callable[[str, Any], bool]:
    """Whether an entry of a collection came from who made ops of these names, for `put_back`."""

    def is_own(_: str, item: Any) -> bool:
        op = op_behind(item)
        # A variable without a name is one that another thread is just making.
        return op in ops_made or not (op or isinstance(item, tf.Variable))

    return is_own


def hide_failed(graph: tf.Graph, nodes: Iterable[NodeDef], functions: Collection[str] = ()) -> None:
    """Let nobody see the ops of these NodeDefs, which an edit left when it failed; their names are free for others.

    `functions` are the names of those that only they call.
    """
    record = record_of(graph)
    there = operations_by_name(graph)
    left = {node.name: node for node in nodes if node.name in there}
    record.hidden |= left.keys()
    record.failed |= left
    record.functions |= set(functions)
    record.failed_functions |= set(functions)
    record.generation += 1


def _take_back(patch: Patch, graph: tf.Graph, record: Record, before: _State, new: Iterable[Any]) -> None:
    """After a failure: everything as before, the new ops hidden as far as they are there."""
    there = operations_by_name(graph)
    for edited in reversed(patch.inverse().changed):
        rewire(graph, edited)
    show_shapes(graph, (shape for shape in patch.inverse().shapes if shape.op in there))
    unbuild(graph, patch.add)
    rebuild(graph, patch.remove)
    names, members = {node.name for node in patch.add.nodes}, set(patch.add.members)
    put_back(graph, before.collections, lambda key, item: op_behind(item) in names or (key, Member.of(item)) in members)
    record.hidden = {*before.hidden, *record.transfer_ops.values()}  # those of tables may have come meanwhile
    hide_failed(graph, new)
    left = (_functions(patch.add) & graph_functions(graph).keys()) - before.library
    record.functions = before.functions | left
    record.failed_functions |= left


def _functions(change: Change) -> set[str]:
    """The names of the functions of a change."""
    return {function.signature.name for function in change.functions}


def _check_shown_again(change: Change, record: Record) -> None:
    """Raise when an op would be taken for one of the same name that an edit left when it failed."""
    for node in change.nodes if record.failed else ():
        if node.name in record.failed and record.failed[node.name] != node:
            raise NameTaken(
                f"An edit that failed left an op {node.name!r} in the graph, which TensorFlow cannot remove, and it is "
                "not the op of this edit; copy into another name scope.",
                [node.name],
            )


def _validated(graph: tf.Graph, new: Sequence[Any], change: Change) -> ValidatedNodes | None:
    if not new and not change.functions:
        return None
    check_open(graph)
    return validate(graph, new, change.functions, change.gradients)


def _add_ops(validated: ValidatedNodes, patch: Patch, graph: tf.Graph, origin: tf.Graph) -> None:
    import_validated(graph, validated)
    follow_new_calls(graph, patch.add.nodes, {function.signature.name: function for function in patch.add.functions})
    # Marks the scopes as used: a later tf.name_scope of that name becomes name_1, as it should.
    with graph.as_default(), tf.compat.v1.name_scope(None):
        for scope in patch.scopes:
            graph.unique_name(scope)
    keep_static(graph, patch.add.copies, origin)


def _add(change: Change, graph: tf.Graph, record: Record, origin: tf.Graph) -> None:
    """What goes on top of the ops."""
    nodes = {node.name: node for node in change.nodes}
    if not record.hidden.isdisjoint(nodes):
        record.hidden.difference_update(nodes)
        record.generation += 1
    record.functions -= _functions(change)
    rebuild(graph, change, origin)
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
    unbuild(graph, change)
    remove_runners(graph, change.runners)
    gone = set(change.members)
    for key in {key for key, _ in gone}:
        with collections_lock(graph):
            held = graph.get_collection_ref(key)
            members = [Member.of(item) for item in held]
            for item, member in zip(held, members, strict=True):
                if member and member.kind == "variable" and (key, member) in gone:
                    record.variables[member.name] = item
            held[:] = [item for item, member in zip(held, members, strict=True) if (key, member) not in gone]


def _exists(graph: tf.Graph, name: str) -> bool:
    """Whether the graph has the op; after an import that failed it has not."""
    try:
        graph.get_operation_by_name(name)
    except KeyError:
        return False
    return True


def variables_of(graph: tf.Graph, names: Iterable[str]) -> tuple[tf.Variable, ...]:
    """The live variables of these names ("w:0"): those that were made here, or what the collections hold."""
    made, names = record_of(graph).variables, list(names)
    if not made.keys() >= set(names):
        held = (item for key in graph.get_all_collection_keys() for item in graph.get_collection_ref(key))
        told = ((member, item) for item in held if (member := Member.of(item)) and member.kind == "variable")
        made = {**{member.name: item for member, item in told}, **made}
    return tuple(made[name] for name in names)


def put_in_order(graph: tf.Graph, members: Mapping[str, Sequence[Member]]) -> bool:
    """Put entries of collections into this order, whatever else is between; whether they were in another."""
    moved = False
    for key, order in members.items():
        held = graph.get_collection_ref(key)
        number = {member: k for k, member in enumerate(order)}
        places = [(at, number[member]) for at, item in enumerate(held) if (member := Member.of(item)) in number]
        wanted = sorted(places, key=lambda place: place[1])
        if wanted != places:
            items, moved = [held[at] for at, _ in wanted], True
            for (at, _), item in zip(places, items, strict=True):
                held[at] = item
    return moved


def _add_members(graph: tf.Graph, members: Iterable[tuple[str, Member]]) -> None:
    members = list(members)
    named = [name for _, (kind, name) in members if kind == "variable"]
    found = dict(zip(named, variables_of(graph, named), strict=True))
    for key, (kind, name) in members:
        item = found[name] if kind == "variable" else graph.as_graph_element(name)
        graph.get_collection_ref(key).append(item)  # add_to_collection refuses redo on a finalized graph

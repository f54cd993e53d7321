"""What a session holds, as arrays: the values of variables, contents of hash tables and positions
of iterators.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tfgraphwidget import edits
from tfgraphwidget.errors import SessionRefused
from tfgraphwidget.graph import kind_of
from tfgraphwidget.progress import tell
from tfgraphwidget.runtime.session.queue_transfer import queue_sizes
from tfgraphwidget.runtime.session.state_transfer import (
    IteratorTransfer,
    TableTransfer,
    VariableTransfer,
)
from tfgraphwidget.runtime.session.stateful_ops import find_stateful_ops, has_key, state_key
from tfgraphwidget.runtime.session.transfer_ops import TransferOps
from tfgraphwidget.runtime.session.untransferable import Untransferable
from tfgraphwidget.runtime.session.variable_values import check_session
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.sources import error_text
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import is_closed
from tfgraphwidget.tf_types import NodeDef, Session

_KINDS: dict[str, Any] = {
    "variable": VariableTransfer,
    "hash table": TableTransfer,
    "iterator": IteratorTransfer,
}


@dataclass(frozen=True)
class SessionContents:
    """What a session holds; what has no value yet is left out.

    Attributes:
        variables: The value of each variable, by its handle op.
        tables: The keys and the values of each hash table, by its op.
        iterators: The position of each iterator in its dataset, as TensorFlow writes it, by its op.
    """

    variables: Mapping[str, object] = field(default_factory=dict)
    tables: Mapping[str, Any] = field(default_factory=dict)
    iterators: Mapping[str, object] = field(default_factory=dict)


def read_contents(session: Session, graph: tf.Graph, ops: Collection[str]) -> SessionContents:
    """Read the state that a session holds of these ops; only hidden ops are added to the graph.
    Raises SessionRefused where the session is closed, or something in it cannot be read, which the
    error names.
    """
    check_session(session, graph)
    tell("Reading what the session holds")
    stateful, transfer_ops = find_stateful_ops(graph, among=ops), TransferOps(graph)
    by_kind = dict(stateful.by_kind)
    transfers: dict[str, Any] = {
        kind: transfer(by_kind.pop(kind, []), transfer_ops) for kind, transfer in _KINDS.items()
    }
    queues = by_kind.pop("queue", [])
    others = Untransferable([node for nodes in by_kind.values() for node in nodes], transfer_ops)
    try:
        for transfer in (*transfers.values(), others):
            transfer.read(session)
        sizes = queue_sizes(queues, transfer_ops, session)
    except tf.errors.OpError as error:
        raise SessionRefused(
            f"The session cannot be read: {error_text(error)}; open a new one."
        ) from error
    lost = [sentence for transfer in (*transfers.values(), others) for sentence in transfer.lost]
    lost += [
        f"Queue {name!r} holds {size} elements, and to read one removes it."
        for name, size in sizes.items()
    ]
    lost += [
        f"Op {node.name!r} in the body of a function holds a {node.op}."
        for node in stateful.in_functions
    ]
    if lost:
        raise SessionRefused(
            f"What the session holds cannot all be written: {lost[0].rstrip('.')}; "
            + in_cell(
                "remove the op, or open the graph without its session: "
                "tgw.edit(graph.as_graph_def())."
            )
        )
    return SessionContents(*(transfer.contents for transfer in transfers.values()))


@dataclass(frozen=True)
class RenamedState:
    """What a session holds for ops that an edit gives other keys, by the names of the ops that have
    these.

    TensorFlow finds state by its key, so that the new ops hold nothing of it until it is loaded.

    Attributes:
        contents: What the session holds.
        lost: Sentences on what cannot be read.
    """

    contents: SessionContents = field(default_factory=SessionContents)
    lost: tuple[str, ...] = ()

    @classmethod
    def read(
        cls,
        session: Session | None,
        graph: tf.Graph,
        pairs: Iterable[tuple[NodeDef, NodeDef]],
        *,
        is_renewed: bool,
    ) -> RenamedState:
        """Read it before the edit; only hidden ops are added to the graph.

        Args:
            session: The session; None where another one may hold something, which is lost.
            pairs: The ops that the edit removes, each with the one that it adds in its place.
            is_renewed: Whether the session will run the ops as the edit leaves them. If not, the
                ops that initialize an iterator go on initializing the old one.

        Raises:
            SessionRefused: A server does not respond.
        """
        # A variable without a name has the empty one, whatever its op is called: it keeps what it
        # holds.
        moved = [
            (old, new.name)
            for old, new in pairs
            if has_key(old.op) and state_key(old) != state_key(new)
        ]
        if not moved or (session is not None and is_closed(session)):
            return cls()
        transferable = edits.TRANSFERABLE_STATE if session is not None else frozenset[str]()
        lost = [
            *edits.lost_state_text(
                (old.name, new) for old, new in moved if kind_of(old.op) not in transferable
            )
        ]
        if session is None:
            return cls(lost=tuple(lost))
        names = {old.name: new for old, new in moved}
        by_kind = find_stateful_ops(graph, among=names).by_kind
        contents: list[dict[str, Any]] = []
        for kind, make_transfer in _KINDS.items():
            nodes = by_kind.get(kind, [])
            transfer = make_transfer(
                nodes if is_renewed or kind != "iterator" else [], TransferOps(graph)
            )
            transfer.read(session)
            contents.append({names[name]: value for name, value in transfer.contents.items()})
            lost += transfer.lost
        return cls(SessionContents(*contents), tuple(lost))

    def load(self, session: Session | None, graph: tf.Graph) -> tuple[str, ...]:
        """Load it after the edit, and return what is lost. Raises SessionRefused."""
        return (
            *self.lost,
            *(() if session is None else load_contents(self.contents, session, graph)),
        )


def load_contents(contents: SessionContents, session: Session, graph: tf.Graph) -> tuple[str, ...]:
    """Load what another session held into the session of a graph with ops of the same names, but
    for those it lacks; a sentence for each state that is not as it was. Raises SessionRefused.
    """
    by_kind = [
        (transfer, values)
        for transfer, values in zip(
            _KINDS.values(), (contents.variables, contents.tables, contents.iterators), strict=True
        )
        if values
    ]
    if not by_kind:
        return ()
    there = {op.name: op.node_def for op in graph.get_operations()}
    transfer_ops = TransferOps(graph)
    lost: list[str] = []
    try:
        for make_transfer, values in by_kind:
            present = {name: value for name, value in values.items() if name in there}
            transfer = make_transfer([there[name] for name in present], transfer_ops)
            transfer.fill(present, session)
            lost += transfer.lost
    except tf.errors.OpError as error:
        raise SessionRefused(
            f"What the session held cannot be loaded: {error_text(error)}; write the editor again."
        ) from error
    return tuple(lost)

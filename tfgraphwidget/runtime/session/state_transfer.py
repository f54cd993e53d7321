"""State that a renewal transfers from one session of a graph to another: variables, hash tables,
iterators.

Each kind is read in the old session and loaded in the new one. The transfer ops are made while
reading, so loading adds none unless an edit has changed one. What cannot be transferred is in
`lost`, a sentence each.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from tfgraphwidget.errors import GraphFinalized, SessionRefused
from tfgraphwidget.graph import DT_RESOURCE, DT_VARIANT, RESOURCE_HANDLES, STATIC_TABLES
from tfgraphwidget.runtime.session.transfer_ops import (
    T,
    TransferOps,
    run,
    run_each,
    unless_finalized,
)
from tfgraphwidget.sentences import clone_with
from tfgraphwidget.sources import error_text, find_operation, static_shape
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import control_flow_context
from tfgraphwidget.tf_types import NodeDef, Session

_UNREADABLE = (DT_RESOURCE, DT_VARIANT)
# such as that of a Python function; see TensorFlow's dataset_options.proto
_IGNORE_EXTERNAL_STATE = 1

_Value = TypeVar("_Value")


class StateTransfer:
    """One kind of state that is transferred from an old session to a new one."""

    def __init__(self) -> None:
        self.lost: list[str] = []

    def read(self, old: Session) -> None:
        """Read the state of the old session, without changing it."""

    def follow_edit(self) -> None:
        """Make the ops that load again, where the graph has changed since the reading."""

    def load(self, fresh: Session) -> None:
        """Load the state into the new session. Raises TensorFlow's errors."""

    def move(self, old: Session, fresh: Session) -> None:
        """Move state that cannot be read without removing it. The renewal can no longer fail."""


class _ReadableState(StateTransfer, Generic[_Value]):
    """State that can be read without changing it."""

    what = ""

    def __init__(self, nodes: Sequence[NodeDef], transfer_ops: TransferOps) -> None:
        super().__init__()
        self._nodes = {node.name: node for node in nodes}
        self._transfer_ops = transfer_ops
        self._values: dict[str, _Value] = {}

    @property
    def contents(self) -> Mapping[str, _Value]:
        """What was read of each op that has a value."""
        return self._values

    def fill(self, contents: Mapping[str, _Value], session: Session) -> None:
        """Load contents read from ops of the same names in another graph, or given new ones."""
        self._values = dict(contents)
        self._prepare()
        self.load(session)

    def _prepare(self) -> None:
        """Make the ops that load."""

    def _lose(self, name: str, why: str) -> None:
        self.lost.append(f"{self.what} {name!r} is not carried over: {why}.")

    def _each(self, names: Collection[str], make: Callable[[NodeDef], T]) -> dict[str, T]:
        """Return `make` of each op; state that needs a new op in a finalized graph is lost."""
        results = {}
        for name in names:
            result = unless_finalized(make, self._nodes[name])
            if result is None:
                self._lose(
                    name, "the graph is finalized, so no op can be added that reads and writes it"
                )
            else:
                results[name] = result
        self._transfer_ops.make()
        return results


class VariableTransfer(_ReadableState[np.ndarray]):
    """Values of variables. A variable without a value has none in the new session either."""

    what = "Variable"

    def read(self, old: Session) -> None:
        """Read in one run if all have values, otherwise in three."""
        readable = {
            name: node.attr["dtype"].type not in _UNREADABLE for name, node in self._nodes.items()
        }
        for name in (name for name in readable if not readable[name]):
            self._lose(name, "Python cannot read its dtype; run its initializer again")
        fetches = self._each([name for name in readable if readable[name]], self._reader)
        errors: dict[str, tf.errors.OpError] = {}
        try:
            self._values = run(old, fetches) if fetches else {}
        except tf.errors.OpError:
            self._values, errors = run_each(old, self._fetches_with_value(old, fetches))
        for name, error in errors.items():
            if not _is_unset(error):
                self._lose(name, error_text(error))
        self._prepare()

    def follow_edit(self) -> None:
        """An initializer that was edited no longer assigns the variable's own value."""
        self._prepare()

    def load(self, fresh: Session) -> None:
        """Assign all in one run."""
        feeds = {fed: self._values[name] for name, (fed, _) in self._writers.items()}
        if feeds:
            run(fresh, [op for _, op in self._writers.values()], feeds)

    def _reader(self, node: NodeDef) -> str:
        if node.op not in RESOURCE_HANDLES:
            return f"{node.name}:0"
        # No read of another name: one that reads the variable now may have read another when the
        # session ran it.
        own = self._own(node, "Read/ReadVariableOp", "ReadVariableOp")
        if own is not None and own.outputs[0].dtype.as_datatype_enum == node.attr["dtype"].type:
            return f"{own.name}:0"
        return (
            self._transfer_ops.op("", "ReadVariableOp", [node.name], dtype=node.attr["dtype"])
            + ":0"
        )

    def _flag(self, node: NodeDef) -> str:
        if node.op not in RESOURCE_HANDLES:
            return (
                self._transfer_ops.op(
                    "", "IsVariableInitialized", [node.name], dtype=node.attr["dtype"]
                )
                + ":0"
            )
        own = self._own(node, "IsInitialized/VarIsInitializedOp", "VarIsInitializedOp")
        return (
            own.name if own else self._transfer_ops.op("", "VarIsInitializedOp", [node.name])
        ) + ":0"

    def _own(self, node: NodeDef, ending: str, *types: str) -> tf.Operation | None:
        """Return TensorFlow's op for the variable under this name, if no edit changed it."""
        own = find_operation(self._transfer_ops.graph, f"{node.name}/{ending}")
        if own is None or own.type not in types or own.inputs[0].op.name != node.name:
            return None
        return None if own.control_inputs or control_flow_context(own) else own

    def _fetches_with_value(self, old: Session, fetches: Mapping[str, str]) -> Mapping[str, str]:
        """Return the fetches of variables that have a value; all, if no op can say."""
        try:
            flags = {name: self._flag(self._nodes[name]) for name in fetches}
        except GraphFinalized:
            return fetches
        self._transfer_ops.make()
        # Of a flag that cannot be read, the value's own error says why.
        flags_read, _ = run_each(old, flags)
        return {name: fetch for name, fetch in fetches.items() if flags_read.get(name, True)}

    def _prepare(self) -> None:
        """Find for each variable with a value the tensor to feed, and the op that assigns it."""
        fed_names: set[str] = set()

        def writer(node: NodeDef) -> tuple[str, str]:
            fed, op = self._initializer(node, fed_names) or self._assign(node)
            fed_names.add(fed)
            return fed, op

        self._writers = self._each(self._values, writer)

    def _initializer(self, node: NodeDef, fed_names: Collection[str]) -> tuple[str, str] | None:
        """Return the variable's initializer, if it can assign the value in the present graph."""
        own = self._own(node, "Assign", "Assign", "AssignVariableOp")
        if own is None:
            return None
        fed, shape = own.inputs[1], static_shape(node.attr["shape"].shape)
        is_known = shape.is_fully_defined() and fed.shape == shape
        if not is_known or shape.as_list() != [*np.shape(self._values[node.name])]:
            return None
        same = fed.dtype.base_dtype.as_datatype_enum == node.attr["dtype"].type
        if same and fed.name not in fed_names and own.graph.is_feedable(fed):
            return (fed.name, own.name)
        return None

    def _assign(self, node: NodeDef) -> tuple[str, str]:
        fed = self._transfer_ops.op(node.name, "Placeholder", dtype=node.attr["dtype"])
        if node.op in RESOURCE_HANDLES:
            op = self._transfer_ops.op(
                "", "AssignVariableOp", [node.name, fed], dtype=node.attr["dtype"]
            )
        else:
            op = self._transfer_ops.op(
                "", "Assign", [node.name, fed], T=node.attr["dtype"], validate_shape=False
            )
        return f"{fed}:0", op


Contents = tuple[np.ndarray, np.ndarray]
"""The keys and the values of a table."""


class TableTransfer(_ReadableState[Contents]):
    """Contents of hash tables. A table that is not initialized stays so in a new session."""

    what = "Hash table"

    def read(self, old: Session) -> None:
        """Read from the session `old` in one run if all are initialized."""
        self._writers = self._each(self._nodes, self._writer)
        self._values, errors = run_each(old, self._each(self._writers, self._reader))
        for name, error in errors.items():
            if not _is_unset(error):
                self._lose(name, error_text(error))

    def _prepare(self) -> None:
        self._writers = self._each(self._nodes, self._writer)

    def load(self, fresh: Session) -> None:
        """Load all in one run; what was empty is emptied."""
        feeds: dict[str, object] = {}
        contents = {
            name: content
            for name, content in self._values.items()
            # Into one that is filled once, TensorFlow imports nothing, and need not: it is empty.
            if name in self._writers
            and (len(content[0]) or self._nodes[name].op not in STATIC_TABLES)
        }
        for name, content in contents.items():
            feeds |= zip(self._writers[name][1:], content, strict=True)
        if feeds:
            run(fresh, [self._writers[name][0] for name in contents], feeds)

    def _reader(self, node: NodeDef) -> list[str]:
        types = {"Tkeys": node.attr["key_dtype"], "Tvalues": node.attr["value_dtype"]}
        export = self._transfer_ops.op(
            "", f"LookupTableExport{_version(node)}", [node.name], **types
        )
        return [f"{export}:0", f"{export}:1"]

    def _writer(self, node: NodeDef) -> tuple[str, str, str]:
        """Return the op that fills the table, and the tensors to feed with keys and values."""
        types = node.attr["key_dtype"], node.attr["value_dtype"]
        fed = [
            self._transfer_ops.op(f"{node.name} {part}", "Placeholder", dtype=dtype)
            for part, dtype in zip(("keys", "values"), types, strict=True)
        ]
        if node.op in STATIC_TABLES:  # which are filled once
            kind, names = "InitializeTable", ("Tkey", "Tval")
        else:
            kind, names = "LookupTableImport", ("Tin", "Tout")
        attributes = dict(zip(names, types, strict=True))
        op = self._transfer_ops.op("", f"{kind}{_version(node)}", [node.name, *fed], **attributes)
        return op, f"{fed[0]}:0", f"{fed[1]}:0"


def read_tables(tables: Iterable[str], graph: tf.Graph, session: Session) -> Mapping[str, Any]:
    """The contents of hash tables by their names, without those that are not initialized. Raises
    SessionRefused for one that cannot be read.
    """
    read = TableTransfer(
        [graph.get_operation_by_name(name).node_def for name in tables], TransferOps(graph)
    )
    try:
        read.read(session)
    except tf.errors.OpError as error:
        raise SessionRefused(
            f"The contents of the hash tables cannot be read: {error_text(error)}; run the graph's "
            "own initializers."
        ) from error
    return read.contents


def copy_tables(
    tables: Mapping[str, str], origin: tf.Graph, session: Session, target: tf.Graph, into: Session
) -> None:
    """Copy the contents of hash tables, by their names in `origin` those in `target`, from one
    graph and session to another; skip those that are not initialized. Raises SessionRefused for one
    that cannot be read or written.
    """
    read = TableTransfer(
        [origin.get_operation_by_name(name).node_def for name in tables], TransferOps(origin)
    )
    write = TableTransfer(
        [target.get_operation_by_name(name).node_def for name in tables.values()],
        TransferOps(target),
    )
    try:
        read.read(session)
        write.fill({tables[name]: content for name, content in read.contents.items()}, into)
    except tf.errors.OpError as error:
        raise SessionRefused(
            f"The contents of the hash tables cannot be copied: {error_text(error)}; "
            + clone_with("init", "initial", "none")
            + ".",
            list(tables),
        ) from error
    if read.lost:
        raise SessionRefused(
            f"{read.lost[0].rstrip('.')}; " + clone_with("init", "initial", "none") + ".",
            list(tables),
        )


def _version(node: NodeDef) -> str:
    return "V2" if node.op.endswith("V2") else ""


class IteratorTransfer(_ReadableState[bytes]):
    """Positions of iterators in datasets; those not initialized stay so in a new session."""

    what = "Iterator"

    def read(self, old: Session) -> None:
        """Read from `old` in one run if all are initialized and can be saved."""
        self._prepare()
        self._values, unsaved = run_each(old, self._each(self._writers, self._reader))
        self._unsaved.update(unsaved)

    def _prepare(self) -> None:
        several = [name for name, node in self._nodes.items() if node.op == "MultiDeviceIterator"]
        for name in several:
            self._lose(
                name, "TensorFlow saves no iterator over several devices; run its initializer again"
            )
        single = [name for name in self._nodes if name not in several]
        self._writers = self._each(single, self._writer)
        self._unsaved: dict[str, tf.errors.OpError] = {}

    def load(self, fresh: Session) -> None:
        """Initialize each with its dataset in the graph as it is now, then restore its position."""
        for name, error in self._unsaved.items():
            if not _is_unset(error) and self._start(name, fresh):
                self._restarts(name, error)
        for name, state in self._values.items():
            if self._start(name, fresh):
                fed, op = self._writers[name]
                try:
                    run(fresh, op, {fed: state})
                except tf.errors.OpError as error:
                    self._restarts(name, error)

    def _restarts(self, name: str, error: tf.errors.OpError) -> None:
        self.lost.append(f"Iterator {name!r} starts at its beginning: {error_text(error)}.")

    def _start(self, name: str, fresh: Session) -> bool:
        """Return whether the iterator was initialized with its dataset."""
        if self._nodes[name].op == "OneShotIterator":
            return True
        readers = self._transfer_ops.graph.get_tensor_by_name(f"{name}:0").consumers()
        makers = [
            op.name for op in readers if op.type == "MakeIterator" and op.inputs[1].op.name == name
        ]
        if not makers and name in self._transfer_ops.record.hidden:
            # That of a rename, whose new op has what it held.
            return False
        if len(makers) != 1:
            self._lose(
                name,
                f"{len(makers)} ops initialize it, so which it was is unknown; run its initializer "
                "again",
            )
            return False
        try:
            run(fresh, makers[0])
        except tf.errors.OpError as error:
            self._lose(name, f"{error_text(error)}; run its initializer again")
            return False
        return True

    def _reader(self, node: NodeDef) -> str:
        saved = self._transfer_ops.op(
            "", "SerializeIterator", [node.name], external_state_policy=_IGNORE_EXTERNAL_STATE
        )
        return self._transfer_ops.op("", "SerializeTensor", [saved], T=tf.variant) + ":0"

    def _writer(self, node: NodeDef) -> tuple[str, str]:
        """Return the tensor to feed with the saved position, and the op that restores it."""
        fed = self._transfer_ops.op(node.name, "Placeholder", dtype=tf.string)
        state = self._transfer_ops.op("", "ParseTensor", [fed], out_type=tf.variant)
        return f"{fed}:0", self._transfer_ops.op("", "DeserializeIterator", [node.name, state])


def _is_unset(error: BaseException) -> bool:
    """Whether the error is that of what was never filled; tables say Aborted."""
    return isinstance(error, tf.errors.FailedPreconditionError | tf.errors.AbortedError)

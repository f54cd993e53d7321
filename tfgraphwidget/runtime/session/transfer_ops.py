"""Transfer ops: hidden ops that read the state of a session, and load it into another session.

They are made once for each graph, in a name scope of their own. No editor shows or exports them, so no edit rewires
them: what they read is what the session holds, whatever became of the variables' own ops.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import tensorflow as tf

from tfgraphwidget.cancellation import held_back
from tfgraphwidget.errors import GraphFinalized, SessionRefused
from tfgraphwidget.runtime.live.edit_record import hide, record_of
from tfgraphwidget.runtime.live.graph_import import check_open, import_nodes
from tfgraphwidget.runtime.session.run import PATIENCE
from tfgraphwidget.runtime.session.variable_values import told
from tfgraphwidget.tf_types import AttrValue, NodeDef, Session

_SCOPE = "tfgraphwidget_renewal"
_GONE = (tf.errors.UnavailableError, tf.errors.DeadlineExceededError)
T = TypeVar("T")
AttributeValue = AttrValue | tf.DType | Sequence[tf.DType] | bool | int
"""An attribute of a transfer op."""


class TransferOps:
    """The transfer ops of a graph. `op` requests one; `make` adds those that are not in the graph yet."""

    def __init__(self, graph: tf.Graph) -> None:
        self.graph = graph
        self._record = record_of(graph)
        self._new: dict[tuple[str, bytes], NodeDef] = {}

    def op(self, of: str, op_type: str, inputs: Sequence[str] = (), **attributes: AttributeValue) -> str:
        """Return the name of the transfer op of this type and these inputs ("w", "w:0"), to be made if there is none.

        `of` distinguishes ops that are otherwise the same.

        An attribute is an AttrValue, a DType, a list of DTypes, a bool or an int. Raises GraphFinalized when there is
        no such transfer op and the graph takes no new ops.
        """
        node = tf.compat.v1.NodeDef(op=op_type, input=inputs)
        for attribute, value in attributes.items():
            node.attr[attribute].CopyFrom(_attribute(value))
        key = (of, node.SerializeToString(deterministic=True))
        if key in self._record.transfer_ops:
            return self._record.transfer_ops[key]
        if key not in self._new:
            check_open(self.graph)
            node.name = f"{self._scope()}/{op_type}_{self._record.numbered}"
            self._record.numbered += 1  # for each anew: one whose making failed has left its name taken
            self._new[key] = node
        return self._new[key].name

    def handle(self, node: NodeDef) -> NodeDef:
        """The NodeDef of a transfer op that holds the same state as a NodeDef in the body of a function."""
        attributes = {key: value for key, value in node.attr.items() if not key.startswith("_")}
        twin: NodeDef = tf.compat.v1.NodeDef(name=self.op("", node.op, (), **attributes), op=node.op, attr=attributes)
        return twin

    def make(self) -> None:
        """Add those that are wanted and not there yet, in one import; whatever happens, none of them is seen."""
        record, new = self._record, dict(self._new)
        with held_back():
            self._new.clear()
            if new:
                try:
                    import_nodes(self.graph, new.values())
                except BaseException:
                    hide(self.graph, [node.name for node in new.values()])
                    raise
                record.transfer_ops |= {key: node.name for key, node in new.items()}
            made = set(record.transfer_ops.values())
            if not made <= record.hidden:  # an edit that fails shows again all that came while it was under way
                hide(self.graph, made)

    def _scope(self) -> str:
        named = next(iter(self._record.transfer_ops.values()), "") or next((n.name for n in self._new.values()), "")
        if named:
            return named.partition("/")[0]
        with self.graph.as_default(), tf.compat.v1.name_scope(None):  # wherever the caller stands
            return str(self.graph.unique_name(_SCOPE))


def _attribute(value: AttributeValue) -> AttrValue:
    new: type[AttrValue] = tf.compat.v1.AttrValue
    if isinstance(value, new):
        return value
    if isinstance(value, bool):
        return new(b=value)
    if isinstance(value, int):
        return new(i=value)
    if isinstance(value, tf.DType):
        return new(type=value.as_datatype_enum)
    return new(list=new.ListValue(type=[dtype.as_datatype_enum for dtype in value]))


def op_of(graph: tf.Graph, name: str) -> tf.Operation | None:
    """The op of this name, if there is one."""
    try:
        return graph.get_operation_by_name(name)
    except KeyError:
        return None


def run(session: Session, fetches: Any, feeds: Mapping[Any, Any] | None = None, patience: float | None = None) -> Any:
    """What `session.run` gives, in `patience` seconds if it is given; on servers it never waits for ever.

    Raises SessionRefused when servers are gone, else TensorFlow's errors.
    """
    remote = bool(session.sess_str)
    if patience is None and remote:
        patience = PATIENCE
    options = None if patience is None else tf.compat.v1.RunOptions(timeout_in_ms=int(patience * 1000))
    try:
        return session.run(fetches, feeds, options=options)
    except _GONE as error:
        if not remote:
            raise
        raise SessionRefused(
            f"A server of this session does not answer ({told(error)}); start it again and open a new session."
        ) from error


def run_each(
    session: Session, fetches: Mapping[str, Any], feeds: Mapping[Any, Any] | None = None, patience: float | None = None
) -> tuple[dict[str, Any], dict[str, tf.errors.OpError]]:
    """What each gives, and the errors of those that fail: all in one run if none fails, else one by one."""
    values: dict[str, Any] = {}
    errors: dict[str, tf.errors.OpError] = {}
    if len(fetches) > 1:
        with contextlib.suppress(tf.errors.OpError):
            return run(session, dict(fetches), feeds, patience), errors

    def attempt(name: str) -> None:
        try:
            values[name] = run(session, fetches[name], feeds, patience)
        except tf.errors.OpError as error:
            errors[name] = error

    for name in fetches:
        attempt(name)
    return values, errors


def unless_finalized(make: Callable[[NodeDef], T], node: NodeDef) -> T | None:
    """What `make` says of a node; None when it wants a transfer op that a finalized graph cannot have."""
    try:
        return make(node)
    except GraphFinalized:
        return None


def named(names: Iterable[str]) -> str:
    """The first of some names, and how many more there are.

    >>> named(["a"]), named(["a", "b", "c"])
    ("'a'", "'a' and 2 more")
    """
    first, *others = names
    return repr(first) + (f" and {len(others)} more" if others else "")

"""Transfer ops: hidden ops that read the state of a session, and load it into another session.

They are made once for each graph, in their own name scope. Editors do not show or export them, so
no edit rewires them: they read the session's state even if the variables' own read ops have
changed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from tfgraphwidget.cancellation import held_back
from tfgraphwidget.errors import GraphFinalized, SessionRefused
from tfgraphwidget.runtime.live.edit_record import hide, record_of
from tfgraphwidget.runtime.live.graph_import import check_open, import_nodes
from tfgraphwidget.runtime.session.run import PATIENCE
from tfgraphwidget.sources import error_text
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_types import AttrValue, NodeDef, Session

_SCOPE = "tfgraphwidget_renewal"
T = TypeVar("T")
AttributeValue: TypeAlias = "AttrValue | tf.DType | Sequence[tf.DType] | bool | int"
"""An attribute of a transfer op."""


class TransferOps:
    """The transfer ops of a graph. `op` requests one; `make` adds those that are missing."""

    def __init__(self, graph: tf.Graph) -> None:
        self.graph = graph
        self.record = record_of(graph)
        self._new: dict[tuple[str, bytes], NodeDef] = {}

    def op(
        self, of: str, op_type: str, inputs: Sequence[str] = (), **attributes: AttributeValue
    ) -> str:
        """Return the name of a transfer op; `make` adds it if the graph does not have it.

        Args:
            of: Distinguishes ops that are otherwise equal, for example placeholders.
            inputs: The inputs, as in a NodeDef: "w", "w:0".
            **attributes: The attributes: AttrValues, DTypes, lists of DTypes, bools or ints.

        Raises:
            GraphFinalized: There is no such op yet, and the graph takes no new ops.
        """
        node = tf.compat.v1.NodeDef(op=op_type, input=inputs)
        for attribute, value in attributes.items():
            node.attr[attribute].CopyFrom(_attribute(value))
        key = (of, node.SerializeToString(deterministic=True))
        if key in self.record.transfer_ops:
            return self.record.transfer_ops[key]
        if key not in self._new:
            check_open(self.graph)
            node.name = f"{self._scope()}/{op_type}_{self.record.transfer_op_count}"
            # never used twice: a failed import leaves its name taken
            self.record.transfer_op_count += 1
            self._new[key] = node
        return self._new[key].name

    def handle(self, node: NodeDef) -> NodeDef:
        """Return the NodeDef of a transfer op with a state of a NodeDef in a body."""
        attributes = {key: value for key, value in node.attr.items() if not key.startswith("_")}
        twin: NodeDef = tf.compat.v1.NodeDef(
            name=self.op("", node.op, (), **attributes), op=node.op, attr=attributes
        )
        return twin

    def make(self) -> None:
        """Add the requested ops that the graph lacks, in one import, hidden also if it fails."""
        record, new = self.record, dict(self._new)
        with held_back():
            self._new.clear()
            if new:
                try:
                    import_nodes(self.graph, new.values())
                except BaseException:
                    hide(self.graph, [node.name for node in new.values()])
                    raise
                record.transfer_ops |= {key: node.name for key, node in new.items()}
            names = set(record.transfer_ops.values())
            if not names <= record.hidden:
                # An edit that fails shows again all that came while it was under way.
                hide(self.graph, names)

    def _scope(self) -> str:
        transfer_op = next(iter(self.record.transfer_ops.values()), "") or next(
            (n.name for n in self._new.values()), ""
        )
        if transfer_op:
            return transfer_op.partition("/")[0]
        with (
            self.graph.as_default(),
            tf.compat.v1.name_scope(None),
        ):  # whatever scope the caller is in
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


def run(
    session: Session,
    fetches: object,
    feeds: Mapping[str, object] | None = None,
    patience: float | None = None,
) -> Any:
    """Run and return values in the structure of `fetches`.

    Args:
        fetches: Names, ops or tensors, in any nesting.
        feeds: Values by tensor or name.
        patience: How many seconds the run may take; None for no limit, except on servers.

    Raises:
        SessionRefused: A server does not respond.
        tf.errors.OpError: TensorFlow's error of the run.
    """
    remote = bool(session.sess_str)
    if patience is None and remote:
        patience = PATIENCE
    options = (
        None if patience is None else tf.compat.v1.RunOptions(timeout_in_ms=int(patience * 1000))
    )
    try:
        return session.run(fetches, feeds, options=options)
    except (tf.errors.UnavailableError, tf.errors.DeadlineExceededError) as error:
        if not remote:
            raise
        raise SessionRefused(
            f"A server of this session does not answer ({error_text(error)}); start it again and "
            "open a new session."
        ) from error


def run_each(
    session: Session,
    fetches: Mapping[str, object],
    feeds: Mapping[str, object] | None = None,
    patience: float | None = None,
) -> tuple[dict[str, Any], dict[str, tf.errors.OpError]]:
    """Run several fetches: in one run if none fails, otherwise one by one; the values, and the
    errors of those that failed, by their keys.
    """
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
    """Return `make(node)`; None if it requests a transfer op that a finalized graph cannot have."""
    try:
        return make(node)
    except GraphFinalized:
        return None


def shorten_names(names: Iterable[str]) -> str:
    """Return the first of some names, and how many more there are, as text.

    >>> shorten_names(["a"]), shorten_names(["a", "b", "c"])
    ("'a'", "'a' and 2 more")
    """
    first, *others = names
    return repr(first) + (f" and {len(others)} more" if others else "")

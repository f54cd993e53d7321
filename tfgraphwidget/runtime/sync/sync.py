"""Sync: updates the variables of copies from their originals.

In one graph and session this is one op: it reads all values first, then assigns all, so that a
variable without a value leaves everything unchanged. Between two graphs or two sessions, and in a
finalized graph that has no such op yet, the values go through Python: all are read, then all are
loaded by the variables' initializers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.cancellation import held_back, set_right
from tfgraphwidget.errors import GraphEditError, SessionRefused
from tfgraphwidget.graph import VariableDef
from tfgraphwidget.runtime.live.edit_record import hide, hide_on_failure, record_of, show
from tfgraphwidget.runtime.live.graph_import import check_open
from tfgraphwidget.runtime.session import variable_values
from tfgraphwidget.runtime.session.run import PATIENCE, TimedSession
from tfgraphwidget.runtime.sync import checkpoints, mixing
from tfgraphwidget.sentences import argument_value, in_cell
from tfgraphwidget.sources import checkpoint_keys, error_text, wrap_tf_errors
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import (
    control_flow_context,
    has_control_dependencies,
    operations_by_name,
)
from tfgraphwidget.tf_types import Session

Pair = tuple[VariableDef, VariableDef]


@dataclass(frozen=True)
class Model:
    """A graph and the session with its variables' values; without one only ops can be made."""

    graph: tf.Graph
    session: Session | None = None

    def is_same(self, other: Model) -> bool:
        """Return whether both have the same graph and session."""
        return self.graph is other.graph and self.session is other.session


@dataclass(frozen=True, eq=False)
class Sync:
    """Pairs of variables (original, copy) that can be synchronized.

    Ops are made in the name scope `scope`/sync, on the devices of the copies, and are in no
    collection.

    Attributes:
        pairs: The pairs; shapes and dtypes of a pair must agree.
        source: The graph and session of the originals.
        target: The graph and session of the copies.
        scope: The name scope of the copies.
        patience: How many seconds servers may take.
        keys: Returns the names of values in checkpoints, by the copies' names; by default the
            originals' own.

    Raises:
        GraphEditError: Shapes or dtypes of a pair differ, or a variable is an original and a copy.
    """

    pairs: tuple[Pair, ...]
    source: Model
    target: Model
    scope: str = ""
    patience: float = PATIENCE
    keys: Callable[[], Mapping[str, str]] = dict
    _ops: dict[float | None, tf.Operation] = field(default_factory=dict, init=False)
    _callables: dict[tf.Operation, Callable[[], object]] = field(default_factory=dict, init=False)
    _mixing: list[tuple[tf.Tensor, tf.Operation]] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        for pair in self.pairs:
            self._check(pair)
        originals = {o.handle for o, _ in self.pairs}
        if self.source.is_same(self.target):
            both = [c.name for _, c in self.pairs if c.handle in originals]
        else:
            both = []
        if both:
            raise GraphEditError(
                f"Variable {both[0]!r} is an original and a copy at once; sync one after the other."
            )

    def _check(self, pair: Pair) -> None:
        ours = mixing.handle_of(self.source.graph, pair[0])
        theirs = mixing.handle_of(self.target.graph, pair[1])
        mixing.check_alike(
            (pair[0].name, pair[1].name),
            (mixing.shape_of(ours), mixing.shape_of(theirs)),
            (mixing.dtype_of(ours), mixing.dtype_of(theirs)),
            [v.handle for v in pair],
        )

    @wrap_tf_errors("bring the copies up to date")
    def sync(self, tau: float = 1.0) -> None:
        """Assign to each copy (1 - tau) of its own value plus tau of the original's.

        Variables of integers, booleans and strings are copied for every tau. All are assigned, or
        none.

        Raises:
            SessionRefused: The session is closed, a variable has no value, or servers do not
                respond.
        """
        check_tau(tau)
        if not self.pairs:
            return
        session = self._session(self.target)
        existing = self._existing_op(tau)
        if self.source != self.target or (self.target.graph.finalized and existing is None):
            self._through_python(tau)
            return
        try:
            if existing is None:
                with held_back():
                    op = self.op() if tau == 1 else self._mixing_op()
            else:
                op = existing
            with _translate_errors(
                session, self._read_by(tau), "The copies cannot be brought up to date"
            ):
                if tau == 1:
                    self._run_alone(session, op)
                else:
                    session.run(op, {self._mixing[0][0]: tau})
            _show(op)
        except BaseException:
            new = self._existing_op(tau)
            if new is not None and existing is None:
                hide(new.graph, _ops_of(new))
            raise

    def _run_alone(self, session: TimedSession, op: tf.Operation) -> None:
        """Run an op without feeds.

        `Session.run` prepares each run, which takes as long as to assign a hundred resources; a
        callable of a session of this process is prepared once.
        """
        own: Any = session.session
        if session.sess_str or type(own) is not tf.compat.v1.Session:
            session.run(op)
            return
        if op not in self._callables:
            self._callables[op] = own.make_callable(op)
        set_right()
        self._callables[op]()

    def _read_by(self, tau: float) -> Iterator[VariableDef]:
        """Yield the variables whose values a sync reads."""
        for original, copy in self.pairs:
            yield original
            if tau != 1:
                yield copy

    def _existing_op(self, tau: float) -> tf.Operation | None:
        """Return the op that `sync` runs, if it has been made."""
        return self._ops.get(None) if tau == 1 else next((op for _, op in self._mixing), None)

    @wrap_tf_errors("add the op that brings the copies up to date")
    def op(self, tau: float | tf.Tensor | None = None) -> tf.Operation:
        """Return one op that updates the copies whenever it runs; it is made once for each `tau`.

        Under `tf.control_dependencies`, in a branch of `tf.cond` or in the body of a loop a new op
        is made there, which reads after what it depends on.

        Args:
            tau: A number or a scalar tensor; None to copy.

        Raises:
            GraphFinalized: The graph takes no new ops.
            GraphEditError: The copies are in another graph than the originals.
        """
        if self.source.graph is not self.target.graph:
            raise GraphEditError(
                "One op cannot reach the variables of two graphs; call sync() between the runs."
            )
        inside = _is_inside(self.target.graph)
        number, tensor = (float(tau), None) if isinstance(tau, float | Real) else (None, tau)
        if number is not None:
            check_tau(tau)
        elif tensor is not None:
            self._check_tensor(tensor)
        is_kept = not inside and (tau is None or number is not None)
        if is_kept and number in self._ops:
            _show(self._ops[number])
            return self._ops[number]
        check_open(self.target.graph)
        with hide_on_failure(self.target.graph):
            with self._surroundings(inside):
                new = self._build(tensor if number is None else tf.constant(number, tf.float64))
            if is_kept:
                self._ops[number] = new
        return new

    def _check_tensor(self, tau: object) -> None:
        is_tensor = isinstance(tau, tf.Tensor | tf.Variable) and tau.shape.is_compatible_with([])
        if not is_tensor or getattr(tau, "graph", None) is not self.target.graph:
            raise GraphEditError(
                f"{value_text(tau)} is not a mixture; give a number from 0 to 1, or a scalar "
                "tensor of the copy's graph."
            )

    @property
    def _scope(self) -> str:
        """The name scope of the ops; TensorFlow numbers it when it is taken."""
        return f"{self.scope}/sync" if self.scope else "sync"

    def _mixing_op(self) -> tf.Operation:
        """Make the op that mixes by a number that is fed, and return it."""
        with hide_on_failure(self.target.graph), self._surroundings(inside=False):
            fed = tf.compat.v1.placeholder_with_default(
                tf.constant(1.0, tf.float64), [], name="tau"
            )
            op = self._build(fed)
            self._mixing.append((fed, op))
        return op

    @contextmanager
    def _surroundings(self, inside: bool) -> Iterator[None]:
        """Set the scopes to make ops in: the caller's, or none."""
        if inside:
            with (
                tf.compat.v1.name_scope(None),
                tf.compat.v1.name_scope(self._scope),
                tf.device(None),
            ):
                yield
            return
        graph = self.target.graph
        with (
            graph.as_default(),
            tf.control_dependencies(None),
            graph.colocate_with(None, ignore_existing=True),
            tf.compat.v1.name_scope(None),
            tf.compat.v1.name_scope(self._scope),
            tf.device(None),
        ):
            yield

    def _build(self, tau: tf.Tensor | None) -> tf.Operation:
        graph = self.target.graph
        pairs = [(mixing.handle_of(graph, o), mixing.handle_of(graph, c)) for o, c in self.pairs]
        new = [mixing.new_value(original, copy, tau) for original, copy in pairs]
        # Assigned when all have been read: one that cannot be read leaves the others as they are.
        ready = tf.group(*new, name="read")
        assigned = []
        for (_, copy), value in zip(pairs, new, strict=True):
            with tf.control_dependencies([ready]):
                assigned.append(mixing.assign_op(copy, value))
            # A resource variable takes the value as it is, in less time than a thread takes to
            # begin; so one after the other. A reference copies it, and all do so at once.
            if copy.dtype == tf.resource:
                ready = assigned[-1]
        every: tf.Operation = tf.group(*assigned, name="all")
        return every

    def drift(self) -> dict[str, float]:
        """Return the distance of each copy from its original: the largest absolute difference of
        two elements.

        The keys are the originals' names ("net/w:0"). For booleans and strings the distance is 1.0
        if any differ; it is inf where only one is NaN.
        """
        originals, copies = self._present_values()
        return {
            o.name: mixing.distance(
                originals[o.handle],
                copies[c.handle],
                mixing.dtype_of(mixing.handle_of(self.source.graph, o)),
            )
            for o, c in self.pairs
        }

    def save(self, path: str) -> None:
        """Write the originals' present values to a checkpoint, by the prefix of its files, under
        the names that a `Saver` of theirs gives them.
        """
        present = self.read([o for o, _ in self.pairs])
        checkpoints.save(path, [(key, o, present[o.handle]) for key, o in self._checkpoint_keys()])

    def load(self, path: str) -> None:
        """Load the values that a checkpoint has for the originals into the copies. Raises
        GraphEditError where it lacks one; nothing is assigned then.
        """
        values = checkpoints.read(path, self._checkpoint_keys())
        self.assign([c for _, c in self.pairs], {c.handle: values[o.handle] for o, c in self.pairs})

    def _checkpoint_keys(self) -> list[tuple[str, VariableDef]]:
        """Return each original with the name of its value in checkpoints."""
        keys, own_keys = self.keys(), checkpoint_keys((), [o for o, _ in self.pairs])
        return [(keys.get(c.name, own_keys[o.handle]), o) for o, c in self.pairs]

    def _session(self, model: Model) -> TimedSession:
        if model.session is None:
            raise SessionRefused(
                "There is no session that holds the variables' values; "
                + in_cell("give session=session.")
            )
        variable_values.check_session(model.session, model.graph)
        return TimedSession(model.session, self.patience)

    def read(self, variables: Sequence[VariableDef]) -> dict[str, np.ndarray]:
        """Present values of variables of the source, by handle, read in one run. Raises
        SessionRefused.
        """
        return self._read(self.source, variables)

    def _read(self, model: Model, variables: Sequence[VariableDef]) -> dict[str, np.ndarray]:
        """Return current values by handle name, read in one run."""
        if not variables:
            return {}
        session = self._session(model)
        unread = [v.name for v in variables if v.resource and not v.snapshot]
        if unread:
            raise SessionRefused(
                f"Variable {unread[0]!r} has no op that reads it; add tf.raw_ops.ReadVariableOp on "
                "it."
            )
        with _translate_errors(session, variables, "The present values cannot be read"):
            values: dict[str, np.ndarray] = session.run(
                {v.handle: v.snapshot or v.name for v in variables}
            )
        return values

    def _present_values(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Return current values of the originals and of the copies; of one session, at one time."""
        originals, copies = ([pair[k] for pair in self.pairs] for k in (0, 1))
        if self.source.is_same(self.target):
            both = self._read(
                self.source, list({v.handle: v for v in (*originals, *copies)}.values())
            )
            return both, both
        return self._read(self.source, originals), self._read(self.target, copies)

    def _through_python(self, tau: float) -> None:
        copies: Mapping[str, np.ndarray] = {}
        if tau == 1:
            originals = self._read(self.source, [o for o, _ in self.pairs])
        else:
            originals, copies = self._present_values()
        new = {c.handle: originals[o.handle] for o, c in self.pairs}
        for _, c in self.pairs if copies else ():
            dtype = mixing.dtype_of(mixing.handle_of(self.target.graph, c))
            if mixing.is_mixed(dtype):
                new[c.handle] = mixing.mix_arrays(copies[c.handle], new[c.handle], tau, dtype)
        self.assign([c for _, c in self.pairs], new)

    def assign(self, variables: Sequence[VariableDef], new: Mapping[str, np.ndarray]) -> None:
        """Assign values by handle to the target's variables, or none. Raises SessionRefused."""
        if not variables:
            return
        session = self._session(self.target)
        for c in variables:
            if c.initializer:
                assigned = list(session.graph.get_operation_by_name(c.initializer).inputs)
            else:
                assigned = []
            if len(assigned) < 2:
                raise SessionRefused(
                    f"Variable {c.name!r} has no initializer that could give it a value; make it "
                    "by tf.Variable, which adds one.",
                    [c.handle],
                )
            shape = np.shape(new[c.handle])
            for expected in (
                assigned[1].shape,
                mixing.shape_of(mixing.handle_of(session.graph, c)),
            ):
                if not expected.is_compatible_with(shape):
                    raise SessionRefused(
                        f"A value of shape {shape} cannot be given to {c.name!r} of shape "
                        f"{expected}; sync() between variables of one shape.",
                        [c.handle],
                    )
        variable_values.load_values(session, variables, new)


def check_tau(tau: object) -> None:
    """Raise unless `tau` is a number from 0 to 1."""
    if not isinstance(tau, Real) or not 0 <= float(tau) <= 1:
        raise GraphEditError(
            argument_value("tau", value_text(tau))
            + " is not a mixture; give a number from 0 (keep the copy's value) to 1 (copy)."
        )


def _is_inside(graph: tf.Graph) -> bool:
    """Return whether new ops would have control inputs or be in a branch or loop of this graph."""
    now = tf.compat.v1.get_default_graph()
    if now is graph:
        return control_flow_context(graph) is not None or has_control_dependencies(graph)
    while now is not None and now is not graph:
        now = getattr(now, "outer_graph", None)  # of a function's body
    return now is graph


@contextmanager
def _translate_errors(
    session: TimedSession, variables: Iterable[VariableDef], what: str
) -> Iterator[None]:
    """Raise TensorFlow's errors as SessionRefused; for missing values with all their names."""
    try:
        yield
    except tf.errors.OpError as error:
        in_session = [v for v in variables if v.snapshot or not v.resource]
        missing = variable_values.variables_without_value(
            session, {v.handle: v.snapshot or v.name for v in in_session}, error
        )
        if not missing:
            raise SessionRefused(
                f"{what}: {error_text(error)}; give a session that has the variables."
            ) from error
        why = f"{missing}; run the initializer first, or restore a checkpoint."
        raise SessionRefused(why, missing.handles) from None  # TensorFlow's own says less


def _ops_of(op: tf.Operation) -> set[str]:
    """Return the ops that were made together with the op that runs them all."""
    scope = op.name.rpartition("/")[0]
    return {name for name in operations_by_name(op.graph) if name.startswith(f"{scope}/")}


def _show(op: tf.Operation) -> None:
    """Show an op that was hidden."""
    if op.name in record_of(op.graph).hidden:
        show(op.graph, _ops_of(op))

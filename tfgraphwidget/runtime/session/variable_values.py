"""Values of variables: read the originals', load the copies'.

Errors that the user can cause (a closed session, a variable without a value) are found while
reading, before the graph has changed. No ops are added: a copy is loaded by running its initializer
with the value fed in place of the initial value, as `tf.Variable.load` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.errors import SessionRefused
from tfgraphwidget.graph import VariableDef
from tfgraphwidget.naming import names_text
from tfgraphwidget.runtime.session.run import can_grow
from tfgraphwidget.sentences import clone_with, drawn_shape, either, in_cell
from tfgraphwidget.sources import dtype_name, error_text, tf_protos
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import is_closed

_RUNS = 24  # that search for variables without a value
Values = Mapping[str, npt.ArrayLike]


def numpy_dtype(number: int) -> type[Any]:
    """The numpy dtype of the DataType with this number; `object` for strings."""
    name = dtype_name(number)
    if name == "string":
        return object
    dtype = tf_protos.numpy_dtype(name)
    return dtype.type if dtype.fields is None else tf.as_dtype(number).as_numpy_dtype


def check_session(session: tf.compat.v1.Session, graph: tf.Graph | None) -> None:
    """Raise SessionRefused unless a session can run ops of a graph."""
    if not callable(getattr(session, "run", None)) or not hasattr(session, "graph"):
        raise SessionRefused(
            f"{value_text(session)} is not a session; give a tf.compat.v1.Session of the graph."
        )
    if is_closed(session):
        raise SessionRefused(
            "The session is closed; open "
            + either(
                "a new one and call tgw.edit(graph, session=new_session).",
                "the graph with a new one in a cell.",
            )
        )
    if session.graph is not graph:
        raise SessionRefused(
            "The session runs another graph; "
            + in_cell("give the one opened with tf.compat.v1.Session(graph=graph).")
        )


def current_values(
    session: tf.compat.v1.Session, variables: Iterable[VariableDef]
) -> dict[str, np.ndarray]:
    """Return the current value of each variable, by the name of its handle op.

    Raises:
        MissingValues: Variables have no value; the error names them.
        SessionRefused: The session cannot run.
    """
    reads = {v.handle: v.snapshot or v.name for v in variables}
    if not reads:
        return {}
    try:
        values: dict[str, np.ndarray] = session.run(reads)
    except tf.errors.OpError as error:
        missing = variables_without_value(session, reads, error)
        if not missing:
            stuck = not can_grow(getattr(session, "session", session))
            if stuck:
                way = either(
                    "tgw.renew(session) lets it run again",
                    "renew the session in a cell to let it run again",
                )
            else:
                way = clone_with("init", "none")
            raise SessionRefused(
                f"The session cannot read the present values: {error_text(error)}; " + way + ".",
                list(reads),
            ) from error
        raise MissingValues(
            missing,
            f"{missing}, so there is no current value to copy; run {missing.initializers} first, "
            "or " + clone_with("init", "initial") + ".",
        ) from None  # TensorFlow's own says less
    return values


def check_loadable(
    session: tf.compat.v1.Session, variables: Iterable[VariableDef], values: Values
) -> None:
    """Raise SessionRefused unless each value, by handle op, has the shape that the initializer of
    its variable takes.

    A variable that was assigned with validate_shape=False may have a value of another shape.
    """
    for variable in variables:
        if not variable.initializer:  # the copy gets one for values of any shape
            continue
        expected = session.graph.get_operation_by_name(variable.initializer).inputs[1].shape
        shape = np.shape(values[variable.handle])
        if not expected.is_compatible_with(shape):
            raise SessionRefused(
                f"Variable {variable.name!r} now has shape "
                + drawn_shape(shape)
                + ", which its initializer, of shape "
                f"{expected}, cannot give a copy; " + clone_with("init", "initial", "none") + ".",
                [variable.handle],
            )


@dataclass(frozen=True)
class Missing:
    """Variables without a value, by handle ops; maybe more if the search was given up."""

    handles: tuple[str, ...]
    is_complete: bool = True

    def __bool__(self) -> bool:
        return bool(self.handles)

    @property
    def is_one(self) -> bool:
        """Whether it is one variable alone."""
        return len(self.handles) == 1 and self.is_complete

    @property
    def initializers(self) -> str:
        """What gives them values, in a sentence: "its initializer"."""
        return "its initializer" if self.is_one else "their initializers"

    def __str__(self) -> str:
        """The beginning of a sentence, "Variables 'a' and 'b' have no value in this session"."""
        what, have = ("Variable", "has") if self.is_one else ("Variables", "have")
        if self.is_complete:
            names = names_text(self.handles)
        else:
            names = f"{', '.join(map(repr, self.handles[:3]))} and others"
        return f"{what} {names} {have} no value in this session"


class MissingValues(SessionRefused):
    """Variables have no value in the session; `missing` are these."""

    def __init__(self, missing: Missing, why: str) -> None:
        super().__init__(why, missing.handles)
        self.missing = missing


def variables_without_value(
    session: tf.compat.v1.Session, reads: Mapping[str, str], error: tf.errors.OpError
) -> Missing:
    """Return the variables that have no value, or the first of many.

    TensorFlow names one of them in its error, and prepares and keeps each new run: the search ends
    after a few.

    Args:
        reads: The tensor that reads each variable, by handle op.
        error: The error of a run that read them. If it is not about a missing value, no variable is
            tried.
    """
    if not isinstance(error, tf.errors.FailedPreconditionError):
        return Missing(())
    missing: list[str] = []
    groups, runs = [list(reads)], _RUNS  # groups of which one has no value
    while groups and runs > 0:
        group = groups.pop()
        if len(group) == 1:
            missing += group
            continue
        first, second = group[: len(group) // 2], group[len(group) // 2 :]
        runs -= 1
        if has_value(session, *map(reads.__getitem__, first)):
            groups.append(second)
            continue
        runs -= 1
        if not has_value(session, *map(reads.__getitem__, second)):
            groups.append(second)
        groups.append(first)
    missing += [handle for group in groups if len(group) == 1 for handle in group]
    return Missing(tuple(missing), all(len(group) == 1 for group in groups))


def has_value(session: tf.compat.v1.Session, *tensors: str) -> bool:
    """Return whether the ops of tensors can run, so that their variables are initialized; False in
    a closed session.
    """
    if is_closed(session):
        return False
    try:
        session.run([session.graph.get_tensor_by_name(tensor).op for tensor in tensors])
    except tf.errors.FailedPreconditionError:
        return False
    return True


def variables_with_value(
    session: tf.compat.v1.Session, variables: Iterable[VariableDef]
) -> list[VariableDef]:
    """Return those of the variables that have a value: one run if all have."""
    groups, having = [list(variables)], []
    while groups:
        group = groups.pop()
        if not group or has_value(session, *(v.snapshot or v.name for v in group)):
            having += group
        elif len(group) > 1:
            groups += [group[len(group) // 2 :], group[: len(group) // 2]]
    return having


def load_values(
    session: tf.compat.v1.Session, variables: Iterable[VariableDef], values: Values
) -> None:
    """Assign values, by handle op, to variables by their own initializers, in as few runs as
    possible. Raises SessionRefused for an initializer that cannot run.

    Variables that share one tensor as initial value cannot be fed different values in one run, so
    they are assigned in separate runs.
    """
    waiting = list(variables)
    while waiting:
        feeds: dict[str, npt.ArrayLike] = {}
        run, later = [], []
        for variable in waiting:
            initializer = session.graph.get_operation_by_name(variable.initializer)
            fed = initializer.inputs[1].name
            if fed in feeds:
                later.append(variable)
            else:
                feeds[fed] = values[variable.handle]
                run.append(initializer)
        try:
            session.run(run, feeds)
        except tf.errors.OpError as error:
            raise SessionRefused(
                f"The session cannot load the copies: {error_text(error)}; "
                + clone_with("init", "none")
                + "."
            ) from error
        waiting = later


def run_initializers(session: tf.compat.v1.Session, variables: Iterable[VariableDef]) -> None:
    """Run the initializers of variables. Raises SessionRefused for one that cannot run.

    An initial value can depend on another of the variables. Initializers that fail because it has
    no value are tried again after the others, as long as any succeeds.
    """
    waiting = [v.initializer for v in variables if v.initializer]
    try:
        session.run(waiting)
        return
    except tf.errors.FailedPreconditionError:
        pass
    except tf.errors.OpError as error:
        why = (
            f"The copies' initializers cannot run: {error_text(error)}; "
            + clone_with("init", "current", "none")
            + "."
        )
        raise SessionRefused(why, waiting) from error
    while waiting:
        failed = [name for name in waiting if not _runs(session, name)]
        if len(failed) == len(waiting):
            raise SessionRefused(
                f"The initial value of {failed[0]!r} needs a variable that has no value in "
                "this session; "
                "initialize that variable first, or " + clone_with("init", "current", "none") + ".",
                failed,
            )
        waiting = failed


def _runs(session: tf.compat.v1.Session, op: str) -> bool:
    try:
        session.run(op)
    except tf.errors.FailedPreconditionError:
        return False
    return True


def run_starters(session: tf.compat.v1.Session, ops: list[str]) -> None:
    """Run ops that fill tables and initialize iterators, in one run. Raises SessionRefused."""
    try:
        session.run(ops)
    except tf.errors.OpError as error:
        raise SessionRefused(
            f"The copies' tables cannot be filled: {error_text(error)}; "
            + clone_with("init", "none")
            + ".",
            ops,
        ) from error

"""Values of variables: read the originals', load the copies'.

Everything that can fail for the person's sake (a closed session, a variable without a value) is found while
reading, before the graph has changed. No ops are added: a copy is loaded by running its own initialiser with the
value fed in place of the initial value, as `tf.Variable.load` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfgraphwidget.argument_checks import shown
from tfgraphwidget.errors import SessionRefused
from tfgraphwidget.graph import VariableDef
from tfgraphwidget.naming import listed
from tfgraphwidget.runtime.session.run import can_grow
from tfgraphwidget.tf_internals import is_closed

# How the lines begin in which TensorFlow says where an error comes from, before what it is.
_WHERE = ("Graph execution error", "Detected at node", "File ", "Node:", "[[{{")
Values = Mapping[str, "np.ndarray[Any, Any]"]


def numpy_dtype(number: int) -> Any:
    """The numpy dtype of a DataType; `object` for strings."""
    return tf.as_dtype(number).as_numpy_dtype


def check_session(session: tf.compat.v1.Session, graph: tf.Graph) -> None:
    """Raise when the session cannot run ops of the graph."""
    if not callable(getattr(session, "run", None)) or not hasattr(session, "graph"):
        raise SessionRefused(f"{shown(session)} is no session; give a tf.compat.v1.Session of the graph.")
    if is_closed(session):
        raise SessionRefused("The session is closed; open a new one and call tgw.edit(graph, session=new_session).")
    if session.graph is not graph:
        raise SessionRefused(
            "The session runs another graph; give the one opened with tf.compat.v1.Session(graph=graph)."
        )


def current_values(session: tf.compat.v1.Session, variables: Iterable[VariableDef]) -> dict[str, Any]:
    """Present value of each variable by handle name; SessionRefused names those that have none."""
    reads = {v.handle: v.snapshot or v.name for v in variables}
    if not reads:
        return {}
    try:
        read: dict[str, Any] = session.run(reads)
    except tf.errors.OpError as error:
        missing = without_value(session, reads, error)
        if not missing:
            stuck = not can_grow(getattr(session, "session", session))
            way = "tgw.renew(session) lets it run again" if stuck else 'clone with init="none"'
            raise SessionRefused(
                f"The session cannot read the present values: {told(error)}; {way}.", list(reads)
            ) from error
        raise SessionRefused(
            f"{no_value(missing)}, so there is no current value to copy; run {'its' if len(missing) == 1 else 'their'} "
            f'initializer{"s" * (len(missing) > 1)} first, or clone with init="initial".',
            missing,
        ) from None  # TensorFlow's own says less
    return read


def is_dead(error: tf.errors.OpError) -> bool:
    """Whether a tensor was asked for that the run did not compute: one of a branch that was not taken."""
    return "Retval" in str(error)


def told(error: tf.errors.OpError) -> str:
    """What is the matter, in one line, out of TensorFlow's many."""
    if is_dead(error):
        return "what is asked for lies in the branch of a conditional that was not taken"
    lines = [line.strip() for line in str(error.message).splitlines()]
    told = [line for line in lines if line and not line.startswith(_WHERE)]
    return (told or [type(error).__name__])[0].rstrip(".; ")[:400]


def check_loadable(session: tf.compat.v1.Session, variables: Iterable[VariableDef], values: Values) -> None:
    """Raise unless each value has the shape that its variable's initialiser takes.

    A variable that is assigned with validate_shape=False may have another.
    """
    for variable in variables:
        if not variable.initializer:  # the copy gets one for values of any shape
            continue
        wanted = session.graph.get_operation_by_name(variable.initializer).inputs[1].shape
        shape = np.shape(values[variable.handle])
        if not wanted.is_compatible_with(shape):
            raise SessionRefused(
                f"Variable {variable.name!r} now has shape {shape}, which its initialiser, of shape {wanted}, cannot "
                'give a copy; clone with init="initial" or init="none".',
                [variable.handle],
            )


def without_value(session: tf.compat.v1.Session, reads: Mapping[str, str], error: tf.errors.OpError) -> list[str]:
    """The handles of those variables whose want of a value `error` may tell of; `reads` are the tensors read."""
    if not isinstance(error, tf.errors.FailedPreconditionError):
        return []
    return [handle for handle, tensor in reads.items() if not has_value(session, tensor)]


def no_value(handles: Sequence[str]) -> str:
    """The beginning of a sentence, "Variables 'a' and 'b' have no value in this session"."""
    what, have = ("Variable", "has") if len(handles) == 1 else ("Variables", "have")
    return f"{what} {listed(handles)} {have} no value in this session"


def has_value(session: tf.compat.v1.Session, tensor: str) -> bool:
    """Whether what holds the tensor's value is initialised; a closed session has no values."""
    if is_closed(session):
        return False
    try:
        session.run(session.graph.get_tensor_by_name(tensor).op)
    except tf.errors.FailedPreconditionError:
        return False
    return True


def load(session: tf.compat.v1.Session, variables: Iterable[VariableDef], values: Values) -> None:
    """Assign `values` (by handle name) through the variables' own initialisers, in as few runs as possible.

    Variables that share one initial value tensor cannot be fed apart in one run; each gets a run of its own.
    """
    waiting = list(variables)
    while waiting:
        feeds: dict[str, Any] = {}
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
            raise SessionRefused(f'The session cannot load the copies: {told(error)}; use init="none".') from error
        waiting = later


def run_initializers(session: tf.compat.v1.Session, variables: Iterable[VariableDef]) -> None:
    """Run the variables' initialisers.

    An initial value may read another of the variables; those that fail for want of it are tried again after the
    others, as long as any succeeds.
    """
    waiting = [v.initializer for v in variables if v.initializer]
    try:
        session.run(waiting)
        return
    except tf.errors.FailedPreconditionError:
        pass
    except tf.errors.OpError as error:
        why = f'The copies\' initialisers cannot run: {told(error)}; use init="current" or init="none".'
        raise SessionRefused(why, waiting) from error
    while waiting:
        failed = [name for name in waiting if not _ran(session, name)]
        if len(failed) == len(waiting):
            raise SessionRefused(
                f"The initial value behind {failed[0]!r} needs a variable that has no value in this session; "
                'initialise that variable first, or clone with init="current" or init="none".',
                failed,
            )
        waiting = failed


def _ran(session: tf.compat.v1.Session, op: str) -> bool:
    try:
        session.run(op)
    except tf.errors.FailedPreconditionError:
        return False
    return True


def start(session: tf.compat.v1.Session, ops: list[str]) -> None:
    """Run ops that fill tables and iterators, together."""
    try:
        session.run(ops)
    except tf.errors.OpError as error:
        raise SessionRefused(
            f'The copies\' tables cannot be filled: {told(error)}; clone with init="none".', ops
        ) from error

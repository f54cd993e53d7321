"""Current values of variables and constants, for display.

Only a variable's handle and ops that do nothing but read it are run, so nothing is initialized or
assigned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tfgraphwidget.errors import GraphEditError, SessionRefused
from tfgraphwidget.graph import (
    CONSTANTS,
    HANDLES,
    REF_HANDLES,
    VARIABLE_READS,
    GraphIndex,
    definitions,
    enclosing_blocks,
)
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.runtime.session.run import TimedSession
from tfgraphwidget.runtime.session.variable_values import Missing, check_session
from tfgraphwidget.sentences import OPEN_WITH_SESSION, drawn_shape
from tfgraphwidget.sources import (
    Body,
    Source,
    captured_state,
    dtype_name,
    error_text,
    shape_from_proto,
    tf_protos,
)
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_types import NodeDef

Array = np.ndarray
LARGEST = 256 << 20
LARGEST_WHOLE = 8 << 30  # of a constant: a file can claim any size


def find_state_op(index: GraphIndex, name: str) -> int | None:
    """Return the op whose value a name means: a variable's handle, for its reads and its scope too,
    or a constant. None for other names.
    """
    if name not in index.ids:
        op = index.ids.get(name.rstrip("/"))
        return op if op is not None and index.types[op] in HANDLES else None
    op, visited = index.ids[name], set()
    while index.types[op] in VARIABLE_READS and index.input_lists[op] and op not in visited:
        # Files may hold circles.
        visited.add(op)
        op = index.input_lists[op][0]
    return op if index.types[op] in HANDLES | CONSTANTS else None


def constant_value(node: NodeDef, largest: int | None = LARGEST) -> tuple[str, Array]:
    """Return the dtype and value of a Const of at most so many bytes; None for any size. Raises
    GraphEditError for a value that is large or damaged.
    """
    proto = node.attr["value"].tensor
    dtype, shape = dtype_name(proto.dtype) or "unknown", shape_from_proto(proto.tensor_shape)
    if proto.dtype and not dtype_name(proto.dtype):
        raise GraphEditError(
            f"Constant {node.name!r} is of DataType {proto.dtype}, which TensorFlow does not know "
            "here, so its value cannot be read; install the release that wrote the graph.",
            [node.name],
        )
    try:
        _check_size(f"Constant {node.name!r}", dtype, shape, largest)
        return dtype, np.asarray(tf_protos.array_of(proto))
    except (TypeError, ValueError, RuntimeError, MemoryError) as error:
        raise GraphEditError(
            f"Constant {node.name!r} is damaged, so it has no value; set it again.", [node.name]
        ) from error


class ValueContext(NamedTuple):
    """The graphs to look for state in: `outermost` is the source's own graph, `body` the one that
    is viewed.

    `readers` gives for a file what reads the values of variables in the graph that is viewed, by
    their handle ops.
    """

    source: Source
    outermost: GraphIndex
    body: Body
    readers: Callable[[], Mapping[str, Callable[[], object]]]


def variable_value(
    place: ValueContext, index: GraphIndex, op: int, was: str, largest: int | None = LARGEST
) -> tuple[str, Array]:
    """Return the dtype and the current value of a variable.

    Args:
        place: The source, the graph or function body, and the outermost graph.
        op: The number of the variable's handle op in `index`.
        was: The name of the handle op before edits.
        largest: The most bytes that are read; None for any size.

    Raises:
        GraphEditError: The value is unknown here, or large.
        SessionRefused: There is no session, or the variable has no value.
    """
    source, outermost, body, readers = place
    attributes = index.nodes[op].attr
    name, dtype = index.names[op], dtype_name(attributes["dtype"].type) or "unknown"
    what = f"Variable {name!r}"
    _check_size(
        what,
        dtype,
        shape_from_proto(attributes["shape"].shape) if "shape" in attributes else None,
        largest,
    )
    is_outermost = body is source.body
    if is_outermost and source.graph is not None:
        return dtype, _session_value(source, index, op)
    if is_outermost and source.stored is not None:
        live = None
    else:
        live = _captured_value(source, body, was, largest)
    if live is not None:
        return dtype, live
    origin = was if is_outermost else (body.origins or {}).get(was, "")
    if source.graph is not None and origin in outermost.ids:
        return dtype, _session_value(source, outermost, outermost.ids[origin])
    read = readers().get(name)
    if read is not None:
        value = np.asarray(read())
        _check_size(what, dtype, value.shape, largest)
        return dtype, value
    if source.graph is not None or source.stored is None or not origin:
        raise GraphEditError(
            f"{what} is passed in by the caller of this function, so its value can differ in each "
            "call; read it in the caller.",
            [name],
        )
    _check_size(what, dtype, source.stored.shape(origin), largest)
    return dtype, np.asarray(source.stored.value(origin))


def _check_size(
    what: str, dtype: str, shape: Sequence[int | None] | None, largest: int | None
) -> None:
    """Raise for a value that is too large to read for display; an unknown size is allowed."""
    lengths = [length for length in shape or () if length is not None]
    if largest is None or shape is None or len(lengths) < len(shape):
        return
    try:
        each = tf_protos.numpy_dtype(dtype).itemsize
    except TypeError:
        each = 1
    size = float(math.prod(map(float, lengths))) * max(each, 1)
    if size > largest:
        raise GraphEditError(
            f"{what} is {dtype} "
            + drawn_shape(tuple(shape))
            + f", {size / 2**20:,.0f} MB; no more than {largest >> 20} MB are read to be looked "
            "at; take it "
            "as a variable."
        )


def _captured_value(source: Source, body: Body, name: str, largest: int | None) -> Array | None:
    """Return the value of a captured variable; None if it is in a session or a file."""
    state = captured_state(source, body)
    captured = state.live(name) if name in state.names else None
    if captured is None:
        return None
    _check_size(
        f"Variable {name!r}", captured.dtype.base_dtype.name, captured.shape.as_list(), largest
    )
    try:
        return np.asarray(captured.numpy())
    except (tf.errors.OpError, NotImplementedError) as error:
        raise SessionRefused(f"Variable {name!r} has no value; assign one.", [name]) from error


def _session_value(source: Source, index: GraphIndex, op: int) -> Array:
    name, session = index.names[op], source.session
    if session is None:
        raise SessionRefused(
            "There is no session to read the value in; " + OPEN_WITH_SESSION + ".", [name]
        )
    assert source.graph is not None
    check_session(session, source.graph)
    try:
        return np.asarray(TimedSession(session).run(_value_tensor(index, op)))
    except tf.errors.FailedPreconditionError as error:
        raise SessionRefused(f"{Missing((name,))}; run its initializer first.", [name]) from error
    # Python's errors: it was closed meanwhile, or the tensor must not be fetched.
    except (tf.errors.OpError, RuntimeError, ValueError) as error:
        raise SessionRefused(
            f"The session cannot read {name!r}: {error_text(error)}; open the graph with a session "
            "that can.",
            [name],
        ) from error


def _value_tensor(index: GraphIndex, op: int) -> str:
    """Return the tensor of a variable's value that only reads. Raises GraphEditError."""
    if index.types[op] in REF_HANDLES:
        return f"{index.names[op]}:0"
    snapshot = definitions(index, [op])[op].snapshot
    snapshots = [index.ids.get(split_tensor(snapshot)[0], op)] if snapshot else []
    readers = (i for i in index.consumer_lists[op] if index.types[i] == "ReadVariableOp")
    for read in (*snapshots, *readers):
        if _only_reads(index, read, op):
            return f"{index.names[read]}:0"
    raise GraphEditError(
        f"No op does nothing but read variable {index.names[op]!r}; add tf.raw_ops.ReadVariableOp "
        "on it.",
        [index.names[op]],
    )


def _only_reads(index: GraphIndex, read: int, handle: int) -> bool:
    """Return whether fetching an op runs only reads of a handle, once in a step."""
    at, visited = read, set()
    while at != handle:
        plain = (
            index.types[at] in VARIABLE_READS
            and index.input_lists[at]
            and not index.control_lists[at]
        )
        if not plain or at in visited or enclosing_blocks(index, at):
            return False
        visited.add(at)
        at = index.input_lists[at][0]
    return read != handle and not index.control_lists[handle]

"""Values that edits need: current values of variables and computed constants; and new tensor protos
and sessions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tfgraphwidget.errors import SessionRefused
from tfgraphwidget.graph import (
    IDENTITY,
    TRUSTED,
    VARIABLE_READS,
    BodyState,
    GraphIndex,
    Trust,
    VariableDef,
    effects_of,
    needed_ops,
)
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.runtime.sandbox.sandbox import RemoteSandbox, Sandbox
from tfgraphwidget.runtime.session.current_values import constant_value
from tfgraphwidget.runtime.session.variable_values import (
    MissingValues,
    check_session,
    current_values,
)
from tfgraphwidget.sentences import OPEN_WITH_SESSION
from tfgraphwidget.sources import (
    Body,
    Source,
    captured_state,
    dtype_name,
    new_graph,
    no_values,
    tf_protos,
    wrap_tf_errors,
)
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_types import TensorProto, VersionDef

if TYPE_CHECKING:
    from tfgraphwidget.tf_types import NodeDef

Array = np.ndarray


@wrap_tf_errors("read the variables' values")
def read_variables(
    source: Source, body: Body, variables: Iterable[VariableDef], state: BodyState | None = None
) -> dict[str, Array]:
    """Return the value of each variable by its handle op.

    Args:
        variables: The variables. They are read in the session, in the file's checkpoint, or as
            captured variables.
        state: The state of a function's body after edits; None for that as it was opened.

    Raises:
        SessionRefused: There is no session, or a variable has no value.
    """
    variables = tuple(variables)
    if source.graph is not None and body is source.body:
        if source.session is None:
            raise SessionRefused(
                "There is no session to take the variables' values from; "
                + OPEN_WITH_SESSION
                + ".",
                [v.handle for v in variables],
            )
        check_session(source.session, source.graph)
        try:
            return current_values(source.session, variables)
        except MissingValues as error:
            if source.revive is None:
                raise
            raise no_values(source.title, error.missing.handles) from None
    if body is source.body and source.revive is not None and not source.refusal:
        return _file_values(source, variables)
    state = state or captured_state(source, body)
    live = {v.handle: state.live(v.handle) for v in variables if v.handle in state.names}
    far = [name for name, variable in live.items() if variable is None]
    read = state.values(far, "current") if far else {}
    return {name: np.asarray(read[name]) if name in read else live[name].numpy() for name in live}


def _file_values(source: Source, variables: tuple[VariableDef, ...]) -> dict[str, Array]:
    """Read values of a file, computed ones in a separate session: it stays a file."""
    if not source.has_values:
        raise no_values(source.title, [v.handle for v in variables])
    stored = source.stored
    if stored is not None and all(stored.key(v.handle) is not None for v in variables):
        return {v.handle: np.asarray(stored.value(v.handle)) for v in variables}
    assert source.revive is not None
    with source.revive().session as session:
        return current_values(session, variables)


def tensor_proto(value: Array, dtype: int) -> TensorProto:
    """Return a TensorProto of the dtype with this number."""
    proto: TensorProto = tf_protos.AttrValue().tensor
    set_tensor_proto(proto, value, dtype)
    return proto


def set_tensor_proto(proto: TensorProto, value: Array, dtype: int) -> None:
    """Set a TensorProto to a value of the dtype with this number; large ones are not copied."""
    if not tf_protos.set_tensor(proto, value, dtype_name(dtype)):
        proto.CopyFrom(tf.make_tensor_proto(value, dtype=tf.as_dtype(dtype), shape=np.shape(value)))


@wrap_tf_errors("work out the constants")
def compute_constants(
    index: GraphIndex,
    tensors: Sequence[str],
    values: Mapping[str, Array] | None = None,
    trust: Trust = TRUSTED,
) -> list[Array]:
    """Return the values, in order, of tensors that depend only on constants and on variables of
    known value. Raises GraphEditError for one that TensorFlow cannot compute, or an op that does
    more than compute and is not trusted.
    """
    trust.check(effects_of(index, trust).of_run(tensors))
    constants = [
        value
        for name in tensors
        if (value := _constant_value(index, name, values or {})) is not None
    ]
    if len(constants) == len(tensors):
        return constants
    ops = np.flatnonzero(needed_ops(index, (), tensors)).tolist()
    library = tf_protos.FunctionDefLibrary(
        function=[index.extras.function(name) for name in sorted(index.functions)]
    )
    sandbox_kind = RemoteSandbox if trust.is_file else Sandbox
    nodes = [_apart(index.nodes[i], values or {}) for i in ops]
    with sandbox_kind(nodes, library, values, versions=index.extras.versions()) as sandbox:
        return sandbox.run(tensors, {})


def _constant_value(index: GraphIndex, tensor: str, values: Mapping[str, Array]) -> Array | None:
    """The value of a constant or read variable, without TensorFlow; None if computed."""
    name, port = split_tensor(tensor)
    op = index.ids.get(name)
    while op is not None and not port:
        if index.types[op] == "Const":
            return constant_value(index.nodes[op], largest=None)[1]
        if index.names[op] in values:
            return np.asarray(values[index.names[op]])
        if index.types[op] not in IDENTITY | VARIABLE_READS:
            return None
        port, op = int(index.ports[index.inputs.start[op]]), index.input_lists[op][0]
    return None


@wrap_tf_errors("work out the constants")
def compute_nodes(
    nodes: Sequence[NodeDef],
    tensors: Sequence[str],
    trust: Trust,
    seconds: float,
    versions: VersionDef | None,
) -> list[Array]:
    """Return the values of tensors of ops that read nothing from outside; those of a file that is
    not trusted run in a process of their own. The versions are those of the graph, or of
    TensorFlow. Raises GraphEditError for a tensor that TensorFlow cannot compute.
    """
    sandbox_kind = RemoteSandbox if trust.is_file else Sandbox
    with sandbox_kind(
        list(nodes), tf_protos.FunctionDefLibrary(), None, (), seconds, versions
    ) as sandbox:
        return [np.asarray(value) for value in sandbox.run(tensors, {})]


def _apart(node: NodeDef, values: Collection[str]) -> NodeDef:
    """A variable's handle under a name of its own: live variables may have the same."""
    if node.name not in values:
        return node
    copy = copy_of(node)
    copy.attr["shared_name"].s = node.name.encode()
    return copy


@wrap_tf_errors("open a session")
def new_session(versions: VersionDef | None = None) -> tuple[tf.Graph, tf.compat.v1.Session]:
    """Return a new graph and a session; TensorFlow reads the graph by `versions`, or its own."""
    graph = new_graph(versions)
    return graph, tf.compat.v1.Session(
        graph=graph, config=tf.compat.v1.ConfigProto(allow_soft_placement=True)
    )

"""Numbers for edits: what variables hold now, what constants come to; and the NodeDefs and graphs to put them in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfgraphwidget.errors import SessionRefused
from tfgraphwidget.graph import GraphIndex, VariableDef, needed_ops
from tfgraphwidget.runtime.sandbox.sandbox import Sandbox
from tfgraphwidget.runtime.session.variable_values import check_session, current_values
from tfgraphwidget.sources import Body, Source, captured_state, tf_protos, wrap_tf_errors

Array = np.ndarray[Any, Any]


@wrap_tf_errors("read the variables' values")
def present(source: Source, body: Body, variables: Iterable[VariableDef]) -> dict[str, Array]:
    """The value of each variable by its handle op: in the session, the file's checkpoint, or the live variable.

    Raises SessionRefused for what has none.
    """
    variables = tuple(variables)
    if source.graph is not None and body is source.body:
        if source.session is None:
            raise SessionRefused(
                "There is no session to take the variables' values from; give tgw.edit(graph, session=session).",
                [v.handle for v in variables],
            )
        check_session(source.session, source.graph)
        return current_values(source.session, variables)
    if body is source.body and source.revive is not None and not source.refusal:
        return _of_file(source, variables)
    state = captured_state(source, body)
    live = {v.handle: state.live(v.handle) for v in variables if v.handle in state.names}
    far = [name for name, variable in live.items() if variable is None]
    read = state.values(far, "current") if far else {}
    return {name: np.asarray(read[name]) if name in read else live[name].numpy() for name in live}


def _of_file(source: Source, variables: tuple[VariableDef, ...]) -> dict[str, Array]:
    """Read in a session of its own: the graph that is looked at stays what the file says."""
    if not source.has_values:
        raise SessionRefused(
            f"{source.title} comes without values for its variables; open it with its checkpoint: "
            "tgw.edit(path, checkpoint='model.ckpt').",
            [v.handle for v in variables],
        )
    assert source.revive is not None
    with source.revive().session as session:
        return current_values(session, variables)


def tensor_proto(value: Array, dtype: int) -> Any:
    """A TensorProto of TensorFlow's dtype of that number."""
    return tf.make_tensor_proto(value, dtype=tf.as_dtype(dtype), shape=np.shape(value))


@wrap_tf_errors("work out the constants")
def numbers(index: GraphIndex, tensors: Sequence[str]) -> list[Array]:
    """The values of tensors that hang on constants only."""
    ops = np.flatnonzero(needed_ops(index, (), tensors)).tolist()
    library = tf_protos.FunctionDefLibrary(function=[index.extras.function(name) for name in sorted(index.functions)])
    with Sandbox([index.nodes[i] for i in ops], library) as sandbox:
        return sandbox.run(tensors, {})


@wrap_tf_errors("open a session")
def empty() -> tuple[tf.Graph, tf.compat.v1.Session]:
    """A new graph, and a session on it."""
    graph = tf.Graph()
    return graph, tf.compat.v1.Session(graph=graph, config=tf.compat.v1.ConfigProto(allow_soft_placement=True))

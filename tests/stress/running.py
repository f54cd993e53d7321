"""Whether a session runs the graph as it is now: beside a fresh session that has run nothing yet."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from tests.conftest import v1
from tests.rounds import count
from tests.stress.state import Broken, readers_of
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.graph import traversal

_READS = ("VarHandleOp", "VariableV2", "Variable", "ReadVariableOp", "Placeholder", "PartitionedCall")
_WRITES = ("Assign", "Apply", "Scatter", "Enqueue", "Dequeue", "Stack", "PyFunc")
_FETCHES = 4
_OPTIONS = v1.RunOptions(timeout_in_ms=10_000)


def check_session_follows(editor: GraphEditor, seed: int) -> None:
    """Raise Broken where the session gives another value than a fresh one, with the same values in its variables."""
    session = editor.core.source.session
    if session is None or editor.core.source.graph is None:
        return
    index, chance = editor.core.target.index, random.Random(seed)
    unsure = traversal.forward(index, [op for op, kind in enumerate(index.types) if not _is_pure(kind)])
    pure = [op for op in np.flatnonzero(~unsure).tolist() if index.dtypes(op)[:1] in (("float32",), ("int32",))]
    if not pure:
        return
    fetches = [f"{index.names[op]}:0" for op in chance.sample(pure, min(len(pure), _FETCHES))]
    feeds = {
        f"{name}:0": _made_up(index.dtypes(op)[0], index.shape(op, 0))
        for op, (name, kind) in enumerate(zip(index.names, index.types, strict=True))
        if kind == "Placeholder" and _made_up(index.dtypes(op)[0], index.shape(op, 0)) is not None
    }
    with _fresh_session(editor) as fresh:
        mine, other = (_values(running, fetches, feeds) for running in (session, fresh))
    for fetch in fetches:
        if mine[fetch] != other[fetch]:
            raise Broken(f"the session gives {mine[fetch]} for {fetch!r}, and a fresh one {other[fetch]}")
        count("values")


def _is_pure(kind: str) -> bool:
    definition = op_def_registry.get(kind)
    writes = any(word in kind for word in _WRITES)
    return kind in _READS or (definition is not None and not definition.is_stateful and not writes)


def _made_up(dtype: str, shape: tuple[int | None, ...] | None) -> Any:
    """A value to feed; None for a dtype that has none."""
    sizes = [2 if size is None else size for size in shape or ()]
    if dtype == "string":
        return np.full(sizes, b"a", object)
    kind = tf.as_dtype(dtype)
    return np.ones(sizes, kind.as_numpy_dtype) if kind.is_floating or kind.is_integer or kind.is_bool else None


def _fresh_session(editor: GraphEditor) -> Any:
    """A session on a copy of the graph, with the values that the editor's session has."""
    graph_def = editor.core.source.graph.as_graph_def()
    del graph_def.node[:]
    graph_def.node.extend(editor.core.target.index.nodes)
    graph = tf.Graph()
    with graph.as_default():
        tf.graph_util.import_graph_def(graph_def, name="")
        session, assigned = v1.Session(graph=graph), []
        for name, value in _of_variables(editor).items():
            op = graph.get_operation_by_name(name)
            if op.type == "VarHandleOp":
                assigned.append(tf.raw_ops.AssignVariableOp(resource=op.outputs[0], value=tf.constant(value)))
            else:
                assigned.append(tf.raw_ops.Assign(ref=op.outputs[0], value=tf.constant(value)).op)
        session.run(assigned)
    return session


def _of_variables(editor: GraphEditor) -> dict[str, Any]:
    """The values that the editor's session has."""
    found = readers_of(editor)
    try:
        return editor.core.source.session.run(found)  # type: ignore[no-any-return]
    except v1.errors.OpError:
        return {name: value for name, tensor in found.items() if (value := _of_variable(editor, tensor)) is not None}


def _of_variable(editor: GraphEditor, tensor: Any) -> Any:
    try:
        return editor.core.source.session.run(tensor)
    except v1.errors.OpError:
        return None


def _values(session: Any, fetches: list[str], feeds: dict[str, Any]) -> dict[str, str]:
    """What a session gives for each, in words; not why it gives nothing."""
    try:
        found = session.run({fetch: fetch for fetch in fetches}, feeds, _OPTIONS)
    except (v1.errors.OpError, ValueError, TypeError):
        if len(fetches) == 1:
            return {fetches[0]: "an error"}
        return {fetch: told for each in fetches for fetch, told in _values(session, [each], feeds).items()}
    return {fetch: _words(value) for fetch, value in found.items()}


def _words(value: Any) -> str:
    return f"{value.dtype} {value.shape} {np.round(value.astype(float).ravel()[:6], 4).tolist()}"

"""All that a refusal must leave alone, and what undo must give back."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from tests.conftest import v1
from tests.rounds import count
from tests.stress.sentences import Broken
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.runtime.live.edit_record import record_of
from tfgraphwidget.runtime.live.in_place_changes import without_veils

State = dict[str, Any]

GRAPH = ("ops", "here", "functions", "collections", "copies", "lines")
"""What undo gives back; values too, of the variables that there were."""
NO_VALUE = "not initialised"
_RANDOM = re.compile(rb"[0-9a-f]{8}-[0-9a-f-]{27}")
_MOST_NODES = 50_000
_KNOWN_NODES: dict[int, tuple[Any, bytes]] = {}  # the node too, so that no other gets its id
_SIZES = ("QueueSizeV2", "LookupTableSizeV2")
_HANDLES = ("VarHandleOp", "VariableV2", "Variable")


def state_of(editor: GraphEditor, folder: Path | None = None) -> State:
    """The graph, what is hidden in it, the session's values, collections, history, selection,
    drawing and files.
    """
    graph, index, here = editor._core.source.graph, editor._core.target.index, editor._core.index
    state: State = {
        "ops": (ops := _nodes(index.nodes)),
        "here": ops if here is index else _nodes(here.nodes),
        "functions": sorted(editor._core.target.index.functions),
        "copies": sorted(editor._core.executor.copies),
        "lines": tuple(line.replace(str(folder), "FOLDER") for line in editor.history.lines),
        "collections": {},
        "values": {},
        "live": graph is not None,
        "history": editor._core.executor.history.commands,
        "selection": _selection(editor),
        "path": tuple(title.replace(str(folder), "FOLDER") for title in editor.view.breadcrumb),
        "opened": editor.view.expanded,
        "hidden": editor.view.hidden,
        "pinned": dict(editor._core.view.pinned),
        "direction": editor.view.direction,
        "fresh": editor._core.executor.latest_ops,
        "free scopes": [
            editor._core.executor.free_scope(name) for name in ("copy", "part", "head")
        ],
        "files": {} if folder is None else _files(folder),
    }
    if graph is not None:
        state["collections"] = _collections(graph, editor)
        state["values"] = values_of(editor)
    return state


def differing(one: State, other: State, keys: Any = None) -> str:
    """What differs, in words for a report; "" when nothing does."""
    found = [key for key in (one if keys is None else keys) if one[key] != other[key]]
    return "; ".join(f"{key}: {_apart(one[key], other[key])}" for key in found)


def _apart(one: Any, other: Any) -> str:
    if isinstance(one, dict) and isinstance(other, dict):
        gone, new = sorted(one.keys() - other.keys()), sorted(other.keys() - one.keys())
        changed = [key for key in one.keys() & other.keys() if one[key] != other[key]]
        order = "" if gone or new or changed or list(one) == list(other) else " order"
        return f"gone {gone[:5]}, new {new[:5]}, changed {sorted(changed)[:5]}{order}"
    return f"{str(one)[:200]} became {str(other)[:200]}"


def check_follows(editor: GraphEditor) -> None:
    """Raise Broken where the index is not what TensorFlow's graph is, or where what is chosen
    cannot be asked for.
    """
    graph = editor._core.source.graph
    if graph is None:
        return
    nodes = {node.name: node for node in without_veils(graph, list(graph.as_graph_def().node))}
    for node in editor._core.target.index.nodes:
        if node.name not in nodes:
            raise Broken(f"the index shows an op {node.name!r} that the graph has not")
        if _node(nodes[node.name]) != _node(node):
            raise Broken(
                f"the index has {node.name!r} otherwise than the graph: {node} is "
                f"{nodes[node.name]}"[:600]
            )
    hidden = record_of(graph).hidden
    unseen = (
        nodes.keys()
        - editor._core.target.index.ids.keys()
        - hidden
        - editor._core.target.place._built_on_hidden
    )
    if unseen:
        raise Broken(f"the graph has ops {sorted(unseen)[:5]} that are neither shown nor hidden")


def values_of(editor: GraphEditor) -> dict[str, str]:
    """What variables hold, and how much queues and tables do, by ops that are there: reading
    changes no graph.

    This is also the proof that the session still runs. Raises Broken when it does not.
    """
    session = editor._core.source.session
    if session is None:
        return {}
    found = {**readers_of(editor), **_sizes_of(editor)}
    try:
        return {name: _digest(value) for name, value in session.run(found).items()}
    except v1.errors.FailedPreconditionError:
        return {name: _value(session, tensor) for name, tensor in found.items()}
    except Exception as error:
        raise Broken(
            f"the session does not run: {type(error).__name__}: {str(error)[:300]}"
        ) from error
    finally:
        count("session runs")


def readers_of(editor: GraphEditor) -> dict[str, tf.Tensor]:
    """For each variable a tensor of the graph that is its value."""
    graph, found = editor._core.source.graph, {}
    for name, kind in zip(
        editor._core.target.index.names, editor._core.target.index.types, strict=True
    ):
        if kind in _HANDLES:
            tensor = graph.get_operation_by_name(name).outputs[0]
            # After an op that was inserted, too.
            given = (
                output
                for op in tensor.consumers()
                for output in op.outputs
                if output.dtype == tf.resource
            )
            handles = [tensor, *given]
            readers = [
                op.outputs[0]
                for handle in handles
                for op in handle.consumers()
                if op.type == "ReadVariableOp" and not op.control_inputs and op.inputs[0] is handle
            ]
            fetch = readers[:1] if kind == "VarHandleOp" else [tensor]
            if fetch:
                found[name] = fetch[0]
    return found


def _sizes_of(editor: GraphEditor) -> dict[str, tf.Tensor]:
    kinds = zip(editor._core.target.index.names, editor._core.target.index.types, strict=True)
    ops = [
        editor._core.source.graph.get_operation_by_name(name)
        for name, kind in kinds
        if kind in _SIZES
    ]
    return {
        op.name: op.outputs[0]
        for op in ops
        if not op.control_inputs and not _is_to_be_fed(op.inputs[0])
    }


def _is_to_be_fed(handle: tf.Tensor) -> bool:
    """Whether a handle is a placeholder, as of a clone that is given the queue from elsewhere."""
    while handle.op.type == "Identity":
        handle = handle.op.inputs[0]
    return bool(handle.op.type == "Placeholder")


def _value(session: Any, tensor: tf.Tensor) -> str:
    try:
        return _digest(session.run(tensor))
    except v1.errors.FailedPreconditionError:
        return NO_VALUE


def _digest(value: Any) -> str:
    array = np.asarray(value)
    data = repr(array.tolist()).encode() if array.dtype == object else array.tobytes()
    return f"{array.dtype} {array.shape} {hashlib.md5(data, usedforsecurity=False).hexdigest()[:8]}"


def _nodes(nodes: Any) -> dict[str, bytes]:
    if len(_KNOWN_NODES) > _MOST_NODES:
        _KNOWN_NODES.clear()
    found = {}
    for node in nodes:
        known = _KNOWN_NODES.get(id(node))
        if known is None:
            known = _KNOWN_NODES[id(node)] = node, _node(node)
        found[node.name] = known[1]
    return found


def _node(node: Any) -> bytes:
    """The bytes of an op, less what says the same in other words.

    TensorFlow's import adds default attributes and types, and writes constants and the order of
    control inputs in another way, and puts an op on the device of the one that it is colocated
    with; TensorFlow draws the names of tables at random.
    """
    plain = v1.NodeDef()
    plain.CopyFrom(node)
    plain.attr.pop("_output_shapes", None)
    plain.ClearField("experimental_type")
    if "_class" in plain.attr:
        plain.ClearField("device")
    definition = op_def_registry.get(node.op)
    for attr in () if definition is None else definition.attr:
        if attr.HasField("default_value") and plain.attr.get(attr.name) == attr.default_value:
            del plain.attr[attr.name]
    if node.op == "Const":
        value = tf.make_ndarray(node.attr["value"].tensor)
        plain.attr["value"].tensor.CopyFrom(
            tf.make_tensor_proto(value, node.attr["dtype"].type, value.shape)
        )
    inputs = [name for name in node.input if name[:1] != "^"]
    plain.input[:] = inputs + sorted(name for name in node.input if name[:1] == "^")
    if "shared_name" in node.attr:
        plain.attr["shared_name"].s = _RANDOM.sub(b"", node.attr["shared_name"].s)
    data: bytes = plain.SerializeToString(deterministic=True)
    return data


def _selection(editor: GraphEditor) -> Any:
    chosen = editor.selection
    return editor.inputs, editor.outputs, None if chosen is None else chosen.ops


def _collections(graph: Any, editor: GraphEditor) -> dict[str, list[str]]:
    held = {key: graph.get_collection(key) for key in graph.get_all_collection_keys()}
    return {
        key: sorted(str(getattr(item, "name", item)) for item in items)
        for key, items in held.items()
        if items
    }


def _files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.md5(
            path.read_bytes(), usedforsecurity=False
        ).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }

"""Writes what an editor holds to files. Each is written beside its place and moved into it when it is whole."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from google.protobuf import text_format

from tfgraphwidget.applying.patches import import_nodes
from tfgraphwidget.applying.values import check_session, current_values, load
from tfgraphwidget.applying.variables import make_variable
from tfgraphwidget.errors import GraphEditError, NotRunnable, SessionRefused
from tfgraphwidget.graph.between import needed
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.named import pairs
from tfgraphwidget.graph.variables import HANDLES, definitions, own_ops
from tfgraphwidget.names import as_input, colocated_with, free_name, last_part, split_input, split_tensor
from tfgraphwidget.view import draw
from tfgraphwidget.view.scene import Paint, Scene

_SIGNATURE = "serving_default"


@dataclass(frozen=True)
class Export:
    """All that an export can need: the visible graph, its boundary, its picture.

    `envelope` gives the versions and the function library around the ops. `graph` and `session` are asked for when they
    are needed: a file is imported into TensorFlow then. `read_only` is the sentence that says why there is no graph
    that can run, or "".
    """

    index: GraphIndex
    envelope: Callable[[], tf.compat.v1.GraphDef]
    graph: Callable[[], tf.Graph]
    session: Callable[[], tf.compat.v1.Session | None]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    picture: Callable[[], tuple[Scene, Paint]]
    read_only: str = ""


def save(path: Path, what: Export, *, folder: bool) -> Path:
    """Write `what` to `path` in the kind that its suffix names; a folder is a SavedModel. The path written."""
    try:
        write = _writer(path, folder=folder)
        _check_place(path, is_folder=write is _saved_model)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name[:60]}-") as beside:
            written = Path(beside) / (path.name or "saved_model")
            write(written, what)
            _move(written, path, Path(beside))
    except (OSError, ValueError) as error:  # no permission, no room, a name too long or with a NUL in it
        reason = getattr(error, "strerror", None) or error
        raise GraphEditError(f"{str(path)[:200]!r} cannot be written: {reason}; give another place.") from error
    return path


def _writer(path: Path, *, folder: bool) -> Callable[[Path, Export], None]:
    """What writes the kind of file that a path names."""
    kinds: dict[str, Callable[[Path, Export], None]] = {
        ".pb": _graph_def,
        ".pbtxt": _graph_def_text,
        ".svg": _picture,
        ".png": _picture,
        ".pdf": _picture,
        "": _saved_model,
    }
    write = _saved_model if folder or path.is_dir() else kinds.get(path.suffix.lower())
    if write is None:
        known = ", ".join(kind for kind in kinds if kind)
        raise GraphEditError(
            f"{path.suffix!r} is no kind of file that can be written; use {known}, or a folder for a SavedModel."
        )
    return write


def _check_place(path: Path, *, is_folder: bool) -> None:
    if not path.parent.is_dir():
        raise GraphEditError(f"The folder {str(path.parent)!r} does not exist; make it first.")
    if is_folder and path.is_dir() and any(path.iterdir()) and not (path / "saved_model.pb").is_file():
        raise GraphEditError(
            f"The folder {str(path)!r} holds other things than a SavedModel; give an empty or a new one."
        )
    if is_folder and path.is_file():
        raise GraphEditError(f"{str(path)!r} is a file, and a SavedModel is a folder; give another name.")


def _move(written: Path, path: Path, beside: Path) -> None:
    old = beside / "old"
    if path.is_dir():
        path.replace(old)
    try:
        written.replace(path)
    except OSError:
        if old.is_dir():
            old.replace(path)
        raise


def _whole(what: Export) -> tf.compat.v1.GraphDef:
    """Every op the editor shows; ops hidden by undo are left out."""
    whole = what.envelope()
    if not whole.library.ByteSize():
        whole.ClearField("library")  # as TensorFlow leaves it out
    whole.node.extend(what.index.nodes)
    return whole


def _graph_def(path: Path, what: Export) -> None:
    path.write_bytes(_whole(what).SerializeToString(deterministic=True))


def _graph_def_text(path: Path, what: Export) -> None:
    path.write_text(text_format.MessageToString(_whole(what)), encoding="utf-8")


def _picture(path: Path, what: Export) -> None:
    scene, paint = what.picture()
    draw.save(scene, path, paint=paint)


def _saved_model(path: Path, what: Export) -> None:
    """A SavedModel of what the outputs need, cut at the inputs, with the variables' present values.

    Built in a graph of its own, since TensorFlow's builder adds a Saver's ops to the graph it is given.
    """
    if what.read_only:
        raise NotRunnable(what.read_only)
    if not what.outputs:
        raise GraphEditError(
            "A SavedModel needs a signature: choose a boundary first, or give inputs=[…] and outputs=[…]."
        )
    index = what.index
    ids = set(np.flatnonzero(needed(index, what.inputs, what.outputs)).tolist())
    _check_feeds(what, ids)
    variables = tuple(definitions(index, [i for i in sorted(ids) if index.types[i] in HANDLES]).values())
    values = _values(what, variables)
    tables = _table_initializers(index, ids)
    own = {index.names[i] for v in variables for i in own_ops(index, v)} | set(tables)
    whole = ids | set(np.flatnonzero(needed(index, (), sorted(own))).tolist())
    graph = tf.Graph()
    nodes, feeds = _cut(what, whole)
    import_nodes(graph, nodes, what.graph().as_graph_def().library)
    with graph.as_default(), tf.compat.v1.Session(graph=graph) as session:
        for variable in variables:
            graph.add_to_collection(tf.compat.v1.GraphKeys.GLOBAL_VARIABLES, make_variable(graph, variable))
        signature = tf.compat.v1.saved_model.predict_signature_def(
            {key: graph.get_tensor_by_name(name) for key, name in feeds.items()},
            {key: graph.get_tensor_by_name(name) for key, name in _fetches(what).items()},
        )
        load(session, variables, values)
        builder = tf.compat.v1.saved_model.Builder(str(path))
        set_up = tf.group(*map(graph.get_operation_by_name, tables)) if tables else None
        builder.add_meta_graph_and_variables(session, ["serve"], {_SIGNATURE: signature}, main_op=set_up)
        builder.save()


def _table_initializers(index: GraphIndex, ids: set[int]) -> list[str]:
    """The ops that fill the tables among `ids`; a server runs them when it loads the model."""
    members = index.collections.get(tf.compat.v1.GraphKeys.TABLE_INITIALIZERS, ())
    ops = [index.op(member.name) for member in members]
    return [index.names[op] for op in ops if not ids.isdisjoint(index.input_lists[op])]


def _check_feeds(what: Export, ids: set[int]) -> None:
    given = {split_tensor(name)[0] for name in what.inputs}
    for i in sorted(ids):
        name = what.index.names[i]
        if what.index.types[i] == "Placeholder" and name not in given:
            raise GraphEditError(f"The outputs also need placeholder {name!r}; add '{name}:0' to the inputs.", [name])


def _values(what: Export, variables: tuple[Any, ...]) -> dict[str, Any]:
    if not variables:
        return {}
    if what.session() is None:
        raise SessionRefused(
            "There is no session to take the variables' values from; give tgw.edit(graph, session=session)."
        )
    check_session(what.session(), what.graph())
    orphans = [v.handle for v in variables if not v.initializer or (v.resource and not v.snapshot)]
    if orphans:
        raise GraphEditError(
            f"Variable {orphans[0]!r} has no op of its own that assigns it, or none that only reads it, so its value "
            "cannot go into a SavedModel; cut behind it with inputs=[…].",
            orphans,
        )
    return current_values(what.session(), variables)


def _cut(what: Export, ids: set[int]) -> tuple[list[Any], dict[str, str]]:
    """NodeDefs in which placeholders stand for the input tensors, and the signature's inputs."""
    index = what.index
    feeds: dict[str, str] = {}
    instead: dict[tuple[str, int], str] = {}
    nodes: list[Any] = []
    taken = {index.names[i].lower() for i in ids}
    for name, (op, port) in _tensors(what, what.inputs):
        key = _key(name, feeds)
        if index.types[op] == "Placeholder":
            feeds[key] = f"{index.names[op]}:0"
            nodes += [] if op in ids else [index.nodes[op]]
            continue
        placeholder = free_name(f"inputs/{key}", taken)
        taken.add(placeholder.lower())
        nodes.append(_placeholder(placeholder, what.graph().get_tensor_by_name(name)))
        feeds[key] = f"{placeholder}:0"
        instead[index.names[op], port] = placeholder
    inside = {index.names[i] for i in ids}
    return nodes + [_rewired(index.nodes[i], instead, inside) for i in sorted(ids)], feeds


def _placeholder(name: str, tensor: tf.Tensor) -> Any:
    node = tf.compat.v1.NodeDef(name=name, op="Placeholder")
    node.attr["dtype"].type = tensor.dtype.base_dtype.as_datatype_enum
    node.attr["shape"].shape.CopyFrom(tensor.shape.as_proto())
    return node


def _rewired(node: Any, instead: dict[tuple[str, int], str], inside: set[str]) -> Any:
    """A copy of a NodeDef that reads placeholders, without control inputs and colocation to what is left behind."""
    copy = type(node)()
    copy.CopyFrom(node)
    del copy.input[:]
    for text in node.input:
        op, port = key = split_input(text)
        if key in instead:
            copy.input.append(as_input(instead[key], 0))
        elif port >= 0 or op in inside:
            copy.input.append(text)
    if not inside.issuperset(colocated_with(node)):
        kept = [f"loc:@{name}".encode() for name in colocated_with(node) if name in inside]
        copy.attr["_class"].list.s[:] = kept
    return copy


def _tensors(what: Export, names: tuple[str, ...]) -> list[tuple[str, tuple[int, int]]]:
    """Full tensor names with (op, port); an op's name stands for all its tensors."""
    found = []
    for name, (op, port) in zip(names, pairs(what.index, names), strict=True):
        count = len(what.graph().get_operation_by_name(what.index.names[op]).outputs)
        ports = range(count) if port < 0 else [port]
        if not count:
            raise GraphEditError(
                f"Op {name!r} has no tensor, so it cannot be part of a signature; name one with outputs."
            )
        found += [(f"{what.index.names[op]}:{p}", (op, p)) for p in ports]
    return found


def _fetches(what: Export) -> dict[str, str]:
    fetches: dict[str, str] = {}
    for name, _ in _tensors(what, what.outputs):
        fetches[_key(name, fetches)] = name
    return fetches


def _key(name: str, taken: dict[str, str]) -> str:
    """A signature's name for a tensor: the op's last part, numbered when it is taken."""
    return free_name(last_part(split_tensor(name)[0]), {key.lower() for key in taken})

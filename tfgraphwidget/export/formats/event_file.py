"""An event file with a graph, which TensorBoard's graph tab opens."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export.formats.function_library import assembled
from tfgraphwidget.export.formats.graph_def import check_size
from tfgraphwidget.export.shapes import shape_proto
from tfgraphwidget.graph import OUTPUT_SHAPES, GraphIndex
from tfgraphwidget.tf_types import NodeDef
from tfgraphwidget.writable import reason, write_files

_VERSION = "brain.Event:2"
_LARGE = 1024  # bytes of a constant; TensorBoard's page asks for no larger attribute
_WAY_OUT = "give a part of the graph: editor.extract(inputs, outputs).to_tensorboard(logdir)"


def write_events(logdir: Path, index: GraphIndex, envelope: Callable[[], Any]) -> Path:
    """Write an event file into `logdir`, which is made if it is not there; the path of the file.

    Of constants over 1 kB the numbers are left out, dtype and shape stay. Raises GraphEditError, and there is no new
    file then.
    """
    slim = list(_slim(index.nodes))
    _tell_shapes(slim, index)
    around = envelope()
    for function in around.library.function:
        function.node_def.extend(list(_slim(_popped(function.node_def))))
    graph_def = assembled(index, around, slim)
    check_size("The event", slim, graph_def.library, _WAY_OUT)
    events = [
        tf.compat.v1.Event(wall_time=time.time(), file_version=_VERSION),
        tf.compat.v1.Event(wall_time=time.time(), graph_def=graph_def.SerializeToString(deterministic=True)),
    ]
    try:
        return _written(logdir, events)
    except (OSError, ValueError, tf.errors.OpError) as error:
        why = reason(error)
        raise GraphEditError(f"{str(logdir)[:200]!r} cannot be written to: {why}; give another folder.") from error


def _written(logdir: Path, events: Iterable[Any]) -> Path:
    """The file of events, in a folder that is made if it is not there; nothing is left of what fails."""
    made = [folder for folder in (logdir, *logdir.parents) if not os.path.lexists(folder)]
    names = []

    def write(new: Path) -> None:
        with tf.io.TFRecordWriter(str(new / "graph")) as writer:
            for event in events:
                writer.write(event.SerializeToString())
        # Only now: a TensorBoard that runs already reads whatever is called "tfevents" in here.
        names.append((new / "graph").rename(new / _free_name()).name)

    try:
        logdir.mkdir(parents=True, exist_ok=True)
        write_files(logdir, write, lambda _: ())
    except BaseException:
        with contextlib.suppress(OSError):
            for folder in made:
                folder.rmdir()
        raise
    return logdir / names[0]


def _free_name() -> str:
    """As TensorFlow calls its own, and later than all that are there: TensorBoard shows the last."""
    return f"events.out.tfevents.{time.time():017.6f}.{socket.gethostname()}.{os.getpid()}"


def _popped(nodes: Any) -> list[Any]:
    held = list(nodes)
    del nodes[:]
    return held


def _slim(nodes: Iterable[NodeDef]) -> Iterator[Any]:
    """Copies of NodeDefs, those of large constants without the numbers."""
    for node in nodes:
        made = type(node)(name=node.name, op=node.op, input=node.input, device=node.device)
        for key, value in node.attr.items():
            if value.WhichOneof("value") == "tensor" and value.ByteSize() > _LARGE:
                made.attr[key].tensor.dtype = value.tensor.dtype
                made.attr[key].tensor.tensor_shape.CopyFrom(value.tensor.tensor_shape)
            else:
                made.attr[key].CopyFrom(value)
        yield made


def _tell_shapes(nodes: Iterable[NodeDef], index: GraphIndex) -> None:
    """Let each NodeDef say the static shapes of its tensors, which TensorBoard writes on the edges."""
    for op, node in enumerate(nodes):
        shapes = [index.shape(op, port) for port in range(len(index.dtypes(op)))]
        if not shapes or all(shape is None for shape in shapes):
            continue
        told = node.attr[OUTPUT_SHAPES].list
        del told.shape[:]
        for shape in shapes:
            told.shape.add().CopyFrom(shape_proto(shape))

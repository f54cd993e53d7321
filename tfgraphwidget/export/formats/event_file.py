"""An event file with a graph, which TensorBoard's graph tab opens."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time
from collections.abc import Iterable, Iterator, MutableSequence
from pathlib import Path

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export.formats.function_library import fill_graph_def
from tfgraphwidget.export.formats.graph_def import check_size
from tfgraphwidget.graph import OUTPUT_SHAPES, GraphIndex
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.sources import masked_crc32c, packed_number, shape_proto
from tfgraphwidget.tf_types import GraphDef, NodeDef
from tfgraphwidget.writable import reason, write_files

_VERSION = "brain.Event:2"
_FILE_VERSION, _GRAPH_DEF = 3, 4  # fields of an Event message
_LARGE = 1024  # bytes of a constant; TensorBoard's page asks for no larger attribute
_WAY_OUT = in_cell(
    "give a part of the graph: editor.extract(inputs, outputs).to_tensorboard(logdir)"
)


def write_events(logdir: Path, index: GraphIndex, around: GraphDef) -> Path:
    """Write an event file to a directory, which is created if it does not exist, and return its
    path. Of constants over 1 kB, only dtype and shape are written. `around`, a GraphDef with the
    versions and the function library, is changed.

    Raises GraphEditError where the directory cannot be written to or the graph is too large; no
    file is left then.
    """
    slim = list(_without_large_constants(index.nodes))
    _store_shapes(slim, index)
    for function in around.library.function:
        function.node_def.extend(list(_without_large_constants(_pop_all(function.node_def))))
    graph_def = fill_graph_def(index, around, slim)
    check_size("The event", slim, graph_def.library, _WAY_OUT)
    graph = graph_def.SerializeToString(deterministic=True)
    events = [_event(_FILE_VERSION, _VERSION.encode()), _event(_GRAPH_DEF, graph)]
    try:
        return _write_file(logdir, events)
    except (OSError, ValueError) as error:
        why = reason(error)
        raise GraphEditError(
            f"{str(logdir)[:200]!r} cannot be written to: {why}; give another folder."
        ) from error


def _event(field: int, value: bytes) -> bytes:
    """A serialized Event message of this moment with one field of bytes, by its number."""
    return (
        b"\x09"
        + struct.pack("<d", time.time())
        + packed_number(field << 3 | 2)
        + packed_number(len(value))
        + value
    )


def _record(data: bytes) -> bytes:
    """A record of a TFRecord file: the length and the data, each with its checksum."""
    length = struct.pack("<Q", len(data))
    return (
        length
        + struct.pack("<I", masked_crc32c(length))
        + data
        + struct.pack("<I", masked_crc32c(data))
    )


def _write_file(logdir: Path, events: Iterable[bytes]) -> Path:
    """Write the file, and create the directory if needed; neither is left if it fails."""
    new_folders = [folder for folder in (logdir, *logdir.parents) if not os.path.lexists(folder)]
    names = []

    def write(new: Path) -> None:
        (new / "graph").write_bytes(b"".join(map(_record, events)))
        # Renamed last: a running TensorBoard reads every file with "tfevents" in its name.
        names.append((new / "graph").rename(new / _free_name()).name)

    try:
        logdir.mkdir(parents=True, exist_ok=True)
        write_files(logdir, write, lambda _: ())
    except BaseException:
        with contextlib.suppress(OSError):
            for folder in new_folders:
                folder.rmdir()
        raise
    return logdir / names[0]


def _free_name() -> str:
    """A name as TensorFlow makes it, later than existing files: TensorBoard shows the last."""
    return f"events.out.tfevents.{time.time():017.6f}.{socket.gethostname()}.{os.getpid()}"


def _pop_all(nodes: MutableSequence[NodeDef]) -> list[NodeDef]:
    nodes_before = list(nodes)
    del nodes[:]
    return nodes_before


def _without_large_constants(nodes: Iterable[NodeDef]) -> Iterator[NodeDef]:
    """Copies of NodeDefs; large constants keep dtype and shape only."""
    for node in nodes:
        copy = type(node)(name=node.name, op=node.op, input=node.input, device=node.device)
        for key, value in node.attr.items():
            if value.WhichOneof("value") == "tensor" and value.ByteSize() > _LARGE:
                copy.attr[key].tensor.dtype = value.tensor.dtype
                copy.attr[key].tensor.tensor_shape.CopyFrom(value.tensor.tensor_shape)
            else:
                copy.attr[key].CopyFrom(value)
        yield copy


def _store_shapes(nodes: Iterable[NodeDef], index: GraphIndex) -> None:
    """Store the static shapes of the outputs in each NodeDef, as TensorBoard reads them."""
    for op, node in enumerate(nodes):
        shapes = [index.shape(op, port) for port in range(len(index.dtypes(op)))]
        if not shapes or all(shape is None for shape in shapes):
            continue
        output_shapes = node.attr[OUTPUT_SHAPES].list
        del output_shapes.shape[:]
        for shape in shapes:
            output_shapes.shape.add().CopyFrom(shape_proto(shape))

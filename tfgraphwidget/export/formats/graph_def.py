"""GraphDefs, in binary or as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import eq
from pathlib import Path

from google.protobuf import text_format

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export.formats.function_library import fill_graph_def
from tfgraphwidget.export.request import ExportRequest
from tfgraphwidget.export.state.exported_state import tell_files_that_stay
from tfgraphwidget.sources import has_unknown_fields, packed_number, tf_protos
from tfgraphwidget.tf_types import FunctionDefLibrary, GraphDef, NodeDef

LARGEST = (1 << 31) - 1  # bytes that protobuf can serialize; it checks only when it has written all
_NODE = b"\x0a"  # the field of a NodeDef in a GraphDef, as protobuf writes it
_AROUND = 10  # bytes that a node's length and tag take, at most


def check_size(
    kind: str,
    nodes: Iterable[NodeDef],
    library: FunctionDefLibrary,
    way_out: str,
    constant_bytes: Mapping[str, int] | None = None,
) -> None:
    """Raise GraphEditError where protobuf cannot serialize nodes and a function library; `kind`
    ("The GraphDef") begins the sentence, and `way_out` ends it. `constant_bytes` are further ones
    by the name of the variable that becomes a constant.
    """
    nodes = list(nodes)
    constant_bytes = constant_bytes or {}
    total = sum(node.ByteSize() + _AROUND for node in nodes)
    total += sum(constant_bytes.values()) + library.ByteSize()
    if total > LARGEST:
        sizes = {node.name: node.ByteSize() + _AROUND for node in nodes}
        for name, size in constant_bytes.items():
            sizes[name] = sizes.get(name, 0) + size
        biggest = sorted(sizes, key=sizes.__getitem__, reverse=True)[:3]
        largest = ", ".join(f"{name!r} ({_size_text(sizes[name])})" for name in biggest)
        raise GraphEditError(
            f"{kind} would be {_size_text(total)}, and protobuf stops at {_size_text(LARGEST)}: "
            f"{largest} hold most of it; {way_out}.",
            biggest,
        )


def _size_text(count: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"


_WAY_OUT = (
    "make variables of these constants, and save a SavedModel or a '.meta', which keep values "
    "beside the graph"
)


def write_graph_def(path: Path, request: ExportRequest) -> None:
    """Write the GraphDef of every op that the editor shows, and read it back."""
    envelope = request.graph.envelope()
    check_size("The GraphDef", request.index.nodes, envelope.library, _WAY_OUT)
    tell_files_that_stay(request, path.name, request.index.nodes)
    nodes = request.graph.as_in_file(request.index.nodes)
    envelope = fill_graph_def(request.index, envelope, ())
    write_message(path, envelope, nodes, verify=request.settings.verify)


def write_message(
    path: Path, envelope: GraphDef, nodes: Sequence[NodeDef], *, verify: bool
) -> None:
    """Write a GraphDef, which the envelope is without its NodeDefs, in the form of the suffix. They
    are written one by one: together, those of a frozen graph would be in memory twice more.

    Raises GraphEditError if the file, which is read back to `verify` it, is another graph.
    """
    if path.suffix.lower() == ".pb":
        with path.open("wb") as file:
            for node in nodes:
                record = node.SerializeToString(deterministic=True)
                file.write(_NODE + packed_number(len(record)))
                file.write(record)
            file.write(envelope.SerializeToString(deterministic=True))
    else:
        graph_def = tf_protos.GraphDef(node=nodes)
        graph_def.MergeFrom(envelope)
        path.write_text(text_format.MessageToString(graph_def), encoding="utf-8")
    if verify and not _reads_back(path, envelope, nodes):
        if any(map(has_unknown_fields, (envelope, *nodes))):
            raise GraphEditError(
                f"{path.name!r} would lose fields of a newer TensorFlow that the graph has, since "
                "a text names its fields; save a '.pb'."
            )
        raise GraphEditError(
            f"{path.name!r} does not read back as the graph that it was written from; save it "
            "again."
        )


def _reads_back(path: Path, envelope: GraphDef, nodes: Sequence[NodeDef]) -> bool:
    """Whether a file holds a GraphDef of these parts."""
    written = read_graph_def(path)
    has_nodes = len(written.node) == len(nodes) and all(map(eq, written.node, nodes))
    written.ClearField("node")
    return has_nodes and written == envelope


def read_graph_def(path: Path) -> GraphDef:
    """The GraphDef of a file."""
    graph_def: GraphDef = tf_protos.GraphDef()
    if path.suffix.lower() == ".pb":
        graph_def.ParseFromString(path.read_bytes())
    elif path.stat().st_size > LARGEST:
        raise GraphEditError(f"{path.name!r} would be over 2 GB as text; write it as '.pb'.")
    else:
        text_format.Parse(path.read_text(encoding="utf-8"), graph_def)
    return graph_def

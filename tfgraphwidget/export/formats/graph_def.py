"""GraphDefs: every op that the editor shows, in binary or as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf
from google.protobuf import text_format

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export.formats.function_library import whole
from tfgraphwidget.export.request import Export
from tfgraphwidget.tf_types import FunctionDefLibrary, GraphDef, NodeDef

# How many bytes a GraphDef will be: protobuf stops at 2 GB, and finds out when all is written.

LARGEST = (1 << 31) - 1
_AROUND = 10  # bytes that a node's length and tag take, at most


def check_size(
    kind: str,
    nodes: Iterable[NodeDef],
    library: FunctionDefLibrary,
    way_out: str,
    held: Mapping[str, int] | None = None,
) -> None:
    """Raise GraphEditError when the nodes and the library together are more than protobuf can hold.

    `held` are further bytes by the name of the variable that becomes a constant; `kind` begins the sentence, `way_out`
    ends it.
    """
    sizes = {node.name: node.ByteSize() + _AROUND for node in nodes}
    for name, bytes_held in (held or {}).items():
        sizes[name] = sizes.get(name, 0) + bytes_held
    total = sum(sizes.values()) + library.ByteSize()
    if total > LARGEST:
        biggest = sorted(sizes, key=sizes.__getitem__, reverse=True)[:3]
        told = ", ".join(f"{name!r} ({_told(sizes[name])})" for name in biggest)
        raise GraphEditError(
            f"{kind} would be {_told(total)}, and protobuf stops at {_told(LARGEST)}: {told} hold most of it; "
            f"{way_out}.",
            biggest,
        )


def _told(count: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"


_WAY_OUT = "make variables of these constants, and save a SavedModel or a '.meta', which keep values beside the graph"


def write_graph_def(path: Path, what: Export) -> None:
    """Write a GraphDef, and read it back."""
    envelope = what.envelope()
    check_size("The GraphDef", what.index.nodes, envelope.library, _WAY_OUT)
    write(path, whole(what), verify=what.verify)


def write(path: Path, graph_def: GraphDef, *, verify: bool) -> None:
    """Write a GraphDef as the end of `path` says, and read it back: it must be the same."""
    if path.suffix.lower() == ".pb":
        path.write_bytes(graph_def.SerializeToString(deterministic=True))
    else:
        path.write_text(text_format.MessageToString(graph_def), encoding="utf-8")
    if verify and read(path) != graph_def:
        raise GraphEditError(f"{path.name!r} does not read back as the graph that it was written from; save it again.")


def read(path: Path) -> Any:
    """The GraphDef of a file."""
    found = tf.compat.v1.GraphDef()
    if path.suffix.lower() == ".pb":
        found.ParseFromString(path.read_bytes())
    elif path.stat().st_size > LARGEST:
        raise GraphEditError(f"{path.name!r} would be over 2 GB as text; write it as '.pb'.")
    else:
        text_format.Parse(path.read_text(encoding="utf-8"), found)
    return found

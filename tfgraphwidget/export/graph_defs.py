"""GraphDefs: every op that the editor shows, in binary or as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf
from google.protobuf import text_format

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export.libraries import whole
from tfgraphwidget.export.sizes import LARGEST, check_size
from tfgraphwidget.export.what import Export

_WAY_OUT = "make variables of these constants, and save a SavedModel or a '.meta', which keep values beside the graph"


def write_graph_def(path: Path, what: Export) -> None:
    """Write a GraphDef, and read it back."""
    envelope = what.envelope()
    check_size("The GraphDef", what.index.nodes, envelope.library, _WAY_OUT)
    write(path, whole(what), verify=what.verify)


def write(path: Path, graph_def: Any, *, verify: bool) -> None:
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

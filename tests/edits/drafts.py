"""Files to edit as drafts, and what they give when they are run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1


def written(graph: tf.Graph, folder: Path, name: str = "graph.pb") -> str:
    """The path of a file with the graph."""
    path = folder / name
    path.write_bytes(graph.as_graph_def().SerializeToString(deterministic=True))
    return str(path)


def saved(editor: tgw.GraphEditor, folder: Path) -> bytes:
    """The bytes of the file that the editor writes."""
    return editor.save(folder / "saved.pb", verify=False).read_bytes()


def ran(
    editor: tgw.GraphEditor, folder: Path, fetches: Any, feeds: dict[str, Any] | None = None
) -> Any:
    """What the saved file gives in a graph of its own."""
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(v1.GraphDef.FromString(saved(editor, folder)), name="")
        with v1.Session(graph=graph) as session:
            return session.run(fetches, feeds)

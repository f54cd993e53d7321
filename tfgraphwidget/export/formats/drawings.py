"""What is written for people and for other tools: pictures, graph formats, the code."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tfgraphwidget.export.request import Export
from tfgraphwidget.graph import dot
from tfgraphwidget.scene.rendering import matplotlib_axes


def write_picture(path: Path, what: Export) -> None:
    """The drawing, as the end of `path` says."""
    scene, paint = what.picture()
    matplotlib_axes.save(scene, path, paint=paint)


def write_dot(path: Path, what: Export) -> None:
    """The ops and edges in Graphviz's language, name scopes as clusters."""
    path.write_text(dot.text(what.index), encoding="utf-8")


def write_graphml(path: Path, what: Export) -> None:
    """The ops and edges with what is known of them, for networkx, Gephi, yEd."""
    from tfgraphwidget.graph import nx

    nx.write_graphml(what.index, path)


def write_code(path: Path, what: Export) -> None:
    """The Python script that does the edits again, and beside it the large arrays that it reads, if there are any."""
    beside = path.with_suffix(".npz")
    script = what.code(beside.name)
    path.write_text(script.text, encoding="utf-8")
    if script.arrays:
        np.savez(beside, **script.arrays)  # type: ignore[arg-type]  # its last keyword is a bool


def write_edits(path: Path, what: Export) -> None:
    """Write what was done as data, which `editor.replay` does again."""
    path.write_text(what.edits(), encoding="utf-8")

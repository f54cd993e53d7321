"""Formats for people and other tools: pictures, Graphviz, GraphML, the edits as Python and JSON."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tfgraphwidget.export.request import ExportRequest
from tfgraphwidget.graph import dot
from tfgraphwidget.optional_packages import import_package


def write_picture(path: Path, request: ExportRequest) -> None:
    """Write the drawing in the format of the suffix.

    Args:
        path: The file to write, or the directory.
        request: What to write, and of which graph.
    """
    from tfgraphwidget.scene.rendering import picture_files

    scene, paint = request.picture()
    picture_files.save(scene, path, paint=paint)


def write_dot(path: Path, request: ExportRequest) -> None:
    """Write ops and edges in Graphviz's language, with name scopes as clusters.

    Args:
        path: The file to write, or the directory.
        request: What to write, and of which graph.
    """
    path.write_text(dot.text(request.index), encoding="utf-8")


def write_graphml(path: Path, request: ExportRequest) -> None:
    """Write ops and edges with their attributes, for networkx, Gephi and yEd.

    Args:
        path: The file to write.
        request: What to write, and of which graph.
    """
    import_package("networkx", "A '.graphml' file needs networkx")
    from tfgraphwidget.graph import nx

    nx.write_graphml(request.index, path)


def write_code(path: Path, request: ExportRequest) -> None:
    """Write the Python script that makes the edits again, and next to it the large arrays that it reads, if any.

    Args:
        path: The file to write, or the directory.
        request: What to write, and of which graph.
    """
    beside = path.with_suffix(".npz")
    script = request.code(beside.name)
    path.write_text(script.text, encoding="utf-8")
    if script.arrays:
        np.savez(beside, **script.arrays)  # type: ignore[arg-type]  # its last keyword is a bool


def write_edits(path: Path, request: ExportRequest) -> None:
    """Write the edits as JSON, which `editor.replay` reads.

    Args:
        path: The file to write, or the directory.
        request: What to write, and of which graph.
    """
    path.write_text(request.edits(), encoding="utf-8")


def write_editor(path: Path, request: ExportRequest) -> None:
    """Write the editor of `request` itself to `path`."""
    assert request.editor is not None  # only an editor asks for it
    with path.open("wb") as file:
        for notice in request.editor(file):
            request.add_notice(notice)

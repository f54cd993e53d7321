"""Formats for people and other tools: pictures, Graphviz, GraphML, the edits as Python and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tfgraphwidget.edits import Step
from tfgraphwidget.edits.serialization import document, records_of, script
from tfgraphwidget.graph import GraphIndex, dot
from tfgraphwidget.optional_packages import import_package
from tfgraphwidget.scene import Paint, Scene


@dataclass(frozen=True)
class Picture:
    """The drawing of a graph with its colors, in the format of the suffix: SVG, PNG or PDF."""

    scene: Scene
    paint: Paint

    def write(self, path: Path, _: list[str]) -> None:
        """Write it to the file `path`."""
        from tfgraphwidget.scene.rendering import picture_files

        picture_files.save(self.scene, path, paint=self.paint)


@dataclass(frozen=True)
class Dot:
    """Ops and edges in Graphviz's language, with name scopes as clusters."""

    index: GraphIndex

    def write(self, path: Path, _: list[str]) -> None:
        """Write it to the file `path`."""
        path.write_text(dot.text(self.index), encoding="utf-8")


@dataclass(frozen=True)
class GraphML:
    """Ops and edges with their attributes, for networkx, Gephi and yEd."""

    index: GraphIndex

    def write(self, path: Path, _: list[str]) -> None:
        """Write it to the file `path`."""
        import_package("networkx", "A '.graphml' file needs networkx")
        from tfgraphwidget.graph import nx

        nx.write_graphml(self.index, path)


@dataclass(frozen=True)
class EditScript:
    """The Python script that makes edits again, and next to it the large arrays that it reads, if
    any.

    Attributes:
        opened: The expression that opens the source.
        path: The functions that are open then, outermost first.
        steps: The edits, oldest first.
    """

    opened: str
    path: tuple[str, ...]
    steps: Sequence[Step]

    def write(self, path: Path, _: list[str]) -> None:
        """Write it to the file `path`."""
        beside = path.with_suffix(".npz")
        code = script(self.opened, self.path, self.steps, beside.name)
        path.write_text(code.text, encoding="utf-8")
        if code.arrays:
            np.savez(beside, **code.arrays)  # type: ignore[arg-type]  # its last keyword is a bool


@dataclass(frozen=True)
class EditRecords:
    """Edits as JSON, which `editor.history.replay` reads, oldest first."""

    steps: Sequence[Step]

    def write(self, path: Path, _: list[str]) -> None:
        """Write them to the file `path`."""
        path.write_text(document(records_of(self.steps)), encoding="utf-8")

"""The page of a file that is only looked at: written without what an editor needs to edit a graph
and to run it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tfgraphwidget import export
from tfgraphwidget.editor.coloring import cheap_encodings
from tfgraphwidget.hierarchy import default_open
from tfgraphwidget.layout import LayoutCache
from tfgraphwidget.sources import body_index
from tfgraphwidget.visible import ViewSpec

if TYPE_CHECKING:
    from tfgraphwidget.graph import GraphIndex
    from tfgraphwidget.sources import Source


class _OpenedFile:
    """The graph of a file as an editor shows it first: nothing entered, selected or marked."""

    boundary = (), ()
    selection = None

    def __init__(self, source: Source) -> None:
        self.title, self.body, self.memo = source.title, source.body, LayoutCache()
        self.index: GraphIndex = body_index(self.body)
        self.view_spec = ViewSpec(default_open(self.index))

    def without_a_run(self, other: GraphIndex | None = None) -> export.Encodings:
        """The color encodings of the graph, or of the body of a function in it."""
        return cheap_encodings(self.index if other is None else other)

    @property
    def outermost(self) -> _OpenedFile:
        """The view of the graph itself, which is the only one."""
        return self

    @property
    def path(self) -> tuple[str, ...]:
        """The titles of the graphs from the outermost to the current one."""
        return (self.title,)

    def inside(self, _: tuple[str, ...]) -> Mapping[str, _OpenedFile]:
        """No functions were entered."""
        return {}


def save_page_of(source: Source, path: Path) -> Path:
    """Write what `GraphEditor(source).save("page.html")` writes, without opening an editor, and
    return the path. Raises GraphEditError where it cannot be written; all files are unchanged then.
    """
    is_plain_file = source.graph is None and source.saved_editor is None
    if not is_plain_file or source.entrance or source.signature is not None:
        from tfgraphwidget.editor.graph_editor import GraphEditor

        return GraphEditor(source, show=lambda _: None).save(path)
    opened = _OpenedFile(source)
    page_input = export.PageInput(
        index=opened.index,
        view_spec=opened.view_spec,
        path=opened.path,
        memo=opened.memo,
        notices=source.notices,
        encodings=opened.without_a_run(),
        entered=opened,
        colors=opened,
        trust=source.trust,
    )
    return export.save_page(path, page_input)

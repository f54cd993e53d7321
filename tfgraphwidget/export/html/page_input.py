"""PageInput: what an HTML page shows of an editor, and the functions that can be entered from
there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tfgraphwidget.graph import TRUSTED, GraphIndex, Selection, Trust
from tfgraphwidget.layout import Layout, LayoutCache
from tfgraphwidget.scene.coloring import Legend, OpValues
from tfgraphwidget.sources import Body
from tfgraphwidget.visible import ViewSpec

Encodings = Mapping[str, tuple[OpValues, Legend]]
"""The values per op and the legend of each color encoding, by name."""


class EnteredView(Protocol):
    """A graph that the user has entered, with selection and open scopes: `GraphView`."""

    title: str

    @property
    def memo(self) -> LayoutCache:
        """The cache of its layout."""

    @property
    def body(self) -> Body:
        """The source of the graph."""

    @property
    def index(self) -> GraphIndex:
        """The graph as it is now."""

    @property
    def view_spec(self) -> ViewSpec:
        """The specification of the view."""

    @property
    def boundary(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names of the inputs and of the outputs that delimit a subgraph."""

    @property
    def selection(self) -> Selection | None:
        """The selected ops."""


class EnteredViews(Protocol):
    """The graphs that the user has entered: `Navigator` of the editor."""

    @property
    def outermost(self) -> EnteredView:
        """The view of the graph itself."""

    @property
    def path(self) -> tuple[str, ...]:
        """The titles of the graphs from the outermost to the current one."""

    def inside(self, path: tuple[str, ...]) -> Mapping[str, EnteredView]:
        """The views of the functions that were entered from the graph at a path, by title."""


class Colors(Protocol):
    """The color encodings of an editor: `ColorModel` of the editor."""

    def without_a_run(self, other: GraphIndex | None = None) -> Encodings:
        """The values and the legend of each encoding that is cheap to compute, of the body `other`
        of a function.
        """


@dataclass(frozen=True)
class PageInput:
    """One graph of a page and how it is shown.

    Attributes:
        index: The graph.
        shown: What is visible.
        path: The titles of the graphs entered, from the outermost to this one.
        memo: The cache of its layout.
        layout: A layout callable, or None for the layered layout.
        selected: The numbers of the selected ops.
        inputs: The names of the boundary's inputs.
        outputs: The names of the boundary's outputs.
        notices: Sentences that the page shows.
        encodings: The color encodings by name.
        color_by: The current encoding, or "".
        entered: The graphs that the user has entered; None for a page of this graph alone.
        colors: The color encodings of the bodies of functions; None where these have none.
        marks: How each op differs from another graph, see `graph.DIFFERS`, by its name; None where
            that is not shown.
        trust: Whether the graph is trusted; if not, the page marks the ops that do more than
            compute.
    """

    index: GraphIndex
    view_spec: ViewSpec
    path: tuple[str, ...]
    memo: LayoutCache = field(default_factory=LayoutCache)
    layout: Layout | None = None
    selected: tuple[int, ...] = ()
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    encodings: Encodings = field(default_factory=dict)
    color_by: str = ""
    entered: EnteredViews | None = None
    colors: Colors | None = None
    marks: Mapping[str, int] | None = None
    trust: Trust = TRUSTED

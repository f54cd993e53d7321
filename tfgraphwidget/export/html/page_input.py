"""What of an editor a page shows: the room that one stands in, and those that one can go to from there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from tfgraphwidget.graph import GraphIndex, Selection
from tfgraphwidget.layout import LayoutCache
from tfgraphwidget.scene.coloring import Legend, OpValues
from tfgraphwidget.sources import Body
from tfgraphwidget.visible import Shown

Ways = Mapping[str, tuple[OpValues, Legend]]
"""The ways to colour, each with what it says of ops and its legend."""


class Seen(Protocol):
    """A graph that one has stood in, with what is chosen and open in it; `room.Room` is one."""

    title: str
    memo: LayoutCache

    @property
    def body(self) -> Body:
        """Where the graph is read from."""

    @property
    def index(self) -> GraphIndex:
        """The graph as it is now."""

    @property
    def shown(self) -> Shown:
        """What there is to see, and how."""

    @property
    def boundary(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the inputs and of the outputs that mark a part."""

    @property
    def selection(self) -> Selection | None:
        """The ops that are chosen."""


class Rooms(Protocol):
    """The way into functions; `rooms.Rooms` is one."""

    @property
    def outermost(self) -> Seen:
        """The room of the graph itself."""

    @property
    def path(self) -> tuple[str, ...]:
        """The titles of the rooms to where one stands, outermost first."""

    def inside(self, path: tuple[str, ...]) -> Mapping[str, Any]:
        """The rooms right behind the one of that path that one has been in, by their titles."""


def _uncoloured(_: GraphIndex) -> Ways:
    return {}


@dataclass(frozen=True)
class Viewed:
    """One graph of a page.

    `path` are the names of the rooms to where one stands, `shown` what is to be seen there; `memo` and `layout` are
    those of its layout. `selected` are op numbers, `inputs` and `outputs` the boundary. `colours` are the ways to
    colour; `colour` is the present one, or "". `rooms` leads to the bodies of functions, each coloured by `coloured`;
    without it the page is of this graph alone.
    """

    index: GraphIndex
    shown: Shown
    path: tuple[str, ...]
    memo: LayoutCache = field(default_factory=LayoutCache)
    layout: Any = None
    selected: tuple[int, ...] = ()
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    colours: Ways = field(default_factory=dict)
    colour: str = ""
    rooms: Rooms | None = None
    coloured: Callable[[GraphIndex], Ways] = _uncoloured

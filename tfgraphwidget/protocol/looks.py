"""What the browser asks about the drawing: what is open, hidden, where it stands; nothing here changes the graph."""

from __future__ import annotations

import dataclasses
from typing import Literal


@dataclasses.dataclass(frozen=True)
class Open:
    """Send the scene; the first thing a view says."""


@dataclasses.dataclass(frozen=True)
class Toggle:
    """Open the scope or group if it is closed, else close it; `deep`: with all that is inside.

    `seen` is the stamp of the drawing with it open that the view shows already (see Foreseen), which then is what is
    meant; or "".
    """

    scope: str
    deep: bool = False
    seen: str = ""


@dataclasses.dataclass(frozen=True)
class Foresee:
    """Send the drawing as it will be once a closed scope or group is opened; nothing changes."""

    scope: str


@dataclasses.dataclass(frozen=True)
class Unfold:
    """Open every scope and group, or close them all."""

    everything: bool


@dataclasses.dataclass(frozen=True)
class Hide:
    """Leave ops, scopes and groups out of the drawing, all but these ("only"), or none any more ("nothing")."""

    verb: Literal["hide", "only", "nothing"]
    names: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Turn:
    """Lay out so that tensors flow down or to the right."""

    direction: Literal["down", "right"]


@dataclasses.dataclass(frozen=True)
class Pin:
    """Keep an item's centre at this place of the drawing, in pixels of the scene."""

    name: str
    x: float
    y: float


@dataclasses.dataclass(frozen=True)
class Unpin:
    """Let the layout decide again where an item stands; "" means all items."""

    name: str = ""


@dataclasses.dataclass(frozen=True)
class Reveal:
    """Open the scopes around an op, a tensor or a scope, so that it can be seen."""

    name: str


@dataclasses.dataclass(frozen=True)
class Gather:
    """Select all ops that fit a query, add them to the selection, hide them, or show only them."""

    text: str
    use: Literal["select", "add", "hide", "only"]


@dataclasses.dataclass(frozen=True)
class Enter:
    """Go into a function that an op calls; `label` says which one when it calls several ("body"), "" is the first."""

    op: str
    label: str = ""


@dataclasses.dataclass(frozen=True)
class Leave:
    """Go back out to the room at this place of the path; 0 is the graph itself."""

    depth: int


@dataclasses.dataclass(frozen=True)
class Refresh:
    """Read the graph anew."""


Look = Open | Toggle | Unfold | Reveal | Enter | Leave | Refresh | Hide | Gather | Turn | Pin | Unpin

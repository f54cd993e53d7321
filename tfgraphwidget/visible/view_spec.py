"""What a person has asked to see of a graph, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Direction = Literal["down", "right"]


@dataclass(frozen=True)
class Shown:
    """`opened` are the names of the open scopes and groups, `hidden` those of the ops and scopes that are left out.

    `direction` is where the tensors flow. `pinned` has the centres of items that were put somewhere by hand: pixels
    from the upper left corner of what surrounds them, by name. `fold` puts equal siblings together, `badges` draws
    constants and variables at their readers.
    """

    opened: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    direction: Direction = "down"
    pinned: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    fold: bool = True
    badges: bool = True

"""What follows from ops being hidden: whatever was built on them, in later cells, cannot be shown either."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tfgraphwidget.graph.index import Member, VariableDef
from tfgraphwidget.names import colocated_with, enclosing_scopes, split_input, split_tensor


def reading(nodes: Iterable[Any], hidden: set[str]) -> set[str]:
    """Names of the NodeDefs that read a hidden op or must stand beside one, directly or through others.

    `nodes` in graph order.
    """
    found: set[str] = set()
    for node in nodes:
        known = [split_input(text)[0] for text in node.input] + colocated_with(node)
        if any(name in hidden or name in found for name in known):
            found.add(node.name)
    return found - hidden


def shown(
    collections: Mapping[str, tuple[Member, ...]], variables: Iterable[VariableDef], hidden: set[str]
) -> tuple[dict[str, tuple[Member, ...]], tuple[VariableDef, ...]]:
    """Collections and variables without those that hang on hidden ops."""
    kept = {
        key: tuple(member for member in members if split_tensor(member.name)[0] not in hidden)
        for key, members in collections.items()
    }
    return kept, tuple(v for v in variables if v.handle not in hidden)


def reserved(hidden: set[str]) -> frozenset[str]:
    """The names that hidden ops keep taken, in lower case, with the scopes around them."""
    return frozenset(name.lower() for full in hidden for name in (full, *enclosing_scopes(full)))

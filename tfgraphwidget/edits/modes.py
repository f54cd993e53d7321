"""Whose state a copy has: its own, or the original's."""

from __future__ import annotations

from typing import Any, Literal, get_args

from tfgraphwidget.arguments import shown
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.resources import keyed, resources

Mode = Literal["own", "shared"]
Modes = Mode | tuple[tuple[str, Mode], ...]
"""For all state, or for each variable or scope by name."""


def check_modes(variables: Any) -> None:
    """Raise GraphEditError for what is no mode."""
    modes: list[object] = [variables]
    if isinstance(variables, tuple):
        modes = [pair[1] if isinstance(pair, tuple) and len(pair) == 2 else pair for pair in variables]
    for mode in modes:
        if not isinstance(mode, str) or mode not in get_args(Mode):
            raise GraphEditError(f"variables={shown(mode)} is not known; it is one of 'own', 'shared'.")


def shared_handles(index: GraphIndex, variables: Modes, chosen: set[int]) -> frozenset[int]:
    """The state that the copy goes on sharing with the original, of that which lies in the part."""
    kept = keyed(index)  # a stack of a loop lives for one step, and is each loop's own
    held = [op for op, _ in resources(index, frozenset(chosen)) if kept[op]]
    if isinstance(variables, str):
        return frozenset(held if variables == "shared" else ())
    mode: dict[int, str] = {}
    for name, wanted in variables:
        meant = [i for i in held if index.names[i] == name.partition(":")[0] or index.names[i].startswith(f"{name}/")]
        if not meant:
            raise GraphEditError(
                f"variables names {name!r}, and the part holds no variable of that name or in it.", [name]
            )
        mode.update(dict.fromkeys(meant, wanted))
    return frozenset(i for i, wanted in mode.items() if wanted == "shared")

"""Python lines that do what a history did."""

from __future__ import annotations

from collections.abc import Iterable

from tfgraphwidget.edits.command import Command, arguments
from tfgraphwidget.names import identifier


def line(command: Command) -> str:
    """One call of the editor, for example `copy = editor.clone(inputs=["x:0"], outputs=["y:0"], into="copy")`."""
    call = f"editor.{type(command).__name__.lower()}({arguments(command)})"
    into = getattr(command, "into", "")
    where = getattr(command, "where", "")
    return (f"{identifier(into)} = {call}" if into else call) + (f"  # in {where}" if where else "")


def lines(commands: Iterable[Command]) -> tuple[str, ...]:
    """One line per command, oldest first."""
    return tuple(line(command) for command in commands)

"""Functions of a file as lint sees them: their bodies, and whether TensorFlow refuses one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tfgraphwidget import lint
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import GraphIndex, build
from tfgraphwidget.sources import Body, open_function

if TYPE_CHECKING:
    from tfgraphwidget.edits import Command, Patch


def function_graph(
    name: str, body: Body, caller: GraphIndex
) -> tuple[GraphIndex, Mapping[str, str]]:
    """The body of a library function and the tensors that it returns, in a calling graph."""
    inside = open_function(name, body, caller)
    index = build(inside.nodes(), typing=inside.typing, functions=caller.functions, extras=inside)
    return index, inside.returns


def is_broken_function(name: str, body: Body, caller: GraphIndex) -> bool:
    """Whether lint finds fault with a function of a calling graph as edits have left it, so that
    TensorFlow may not import its file.
    """

    def plan(command: Command) -> Patch:
        raise GraphEditError(
            f"{command.sentence()} is for the graph that holds the function; enter it."
        )

    def value(op: str) -> lint.Array:
        raise GraphEditError(f"{op!r} has no value here; enter the function.")

    index, results = function_graph(name, body, caller)
    context = lint.LintContext(
        index,
        find_outputs=tuple,
        signatures=(),
        missing_tensors={},
        plan=plan,
        value=value,
        has_device=lambda _: True,
        has_kernel=lambda _: True,
        convert=lint.Conversion,
        is_file=True,
        in_function=True,
        results=results,
    )
    return bool(lint.lint(context, lint.BROKEN))

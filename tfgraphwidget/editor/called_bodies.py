"""Bodies of functions that ops call, as graphs to compare."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from tfgraphwidget.graph import FunctionRef, GraphIndex, Typing, build
from tfgraphwidget.sources import Body, open_function


def open_body(body: Body, index: GraphIndex, op: int, reference: FunctionRef) -> GraphIndex:
    """The body of a function that an op calls.

    Args:
        body: What `index` was read from, or the graph around it.
        index: The graph with the op, as edits have left it.
        op: The op.
        reference: The function.

    Raises:
        GraphEditError: The function's body is damaged.
    """
    library = _Library(body, index)
    opened = open_function(reference.function, library, index, op)
    context: dict[str, Any] = {"typing": opened.typing, "functions": index.functions, "extras": _Library(opened, index)}
    return build(opened.nodes(), *opened.collections(), **context)


@dataclass(frozen=True, eq=False)
class _Library:
    """A body with the functions of a graph as edits have left it."""

    body: Body
    graph: GraphIndex

    @property
    def arguments(self) -> tuple[str, ...]:
        return self.body.arguments

    @property
    def returns(self) -> Mapping[str, str]:
        return self.body.returns

    @property
    def alias(self) -> Mapping[str, str]:
        return self.body.alias

    @property
    def typing(self) -> Typing:
        return self.body.typing

    def stamp(self) -> Hashable:
        return self.body.stamp()

    def nodes(self, known: int = 0) -> list[Any]:
        return self.body.nodes(known)

    def collections(self) -> Any:
        return self.body.collections()

    @property
    def called(self) -> Mapping[str, str]:
        return self.body.called

    @property
    def origins(self) -> Mapping[str, str] | None:
        return self.body.origins

    @property
    def constants(self) -> Mapping[str, Any]:
        return self.body.constants

    def functions(self) -> frozenset[str]:
        return self.graph.functions

    def function(self, name: str) -> Any:
        return self.graph.extras.function(name)

    def gradient(self, name: str) -> str:
        return self.graph.extras.gradient(name)

    def envelope(self) -> Any:
        return self.body.envelope()

    def contexts(self) -> tuple[Any, ...]:
        return ()

    def runners(self) -> tuple[tuple[str, Any], ...]:
        return ()

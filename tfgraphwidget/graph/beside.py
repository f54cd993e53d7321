"""What a graph holds beside its ops and edges, asked for only when an edit needs it."""

from __future__ import annotations

from typing import Any, Protocol


class Beside(Protocol):
    """Protos that name ops; whoever reads a graph from TensorFlow brings one along."""

    def contexts(self) -> tuple[Any, ...]:
        """The outermost v1 control flow contexts, each a WhileContextDef or a CondContextDef with all that is nested.

        Those of gradient loops too, though TensorFlow keeps them in no collection.
        """

    def runners(self) -> tuple[tuple[str, Any], ...]:
        """(collection key, QueueRunnerDef) of every queue runner."""

    def function(self, name: str) -> Any:
        """The FunctionDef of that name; KeyError when the library has none."""

    def gradient(self, name: str) -> str:
        """The name of the function that is registered as the gradient of that one, or ""."""


class Nothing:
    """Of a graph that has no more than ops and edges."""

    def contexts(self) -> tuple[Any, ...]:
        """None."""
        return ()

    def runners(self) -> tuple[tuple[str, Any], ...]:
        """None."""
        return ()

    def function(self, name: str) -> Any:
        """None."""
        raise KeyError(name)

    def gradient(self, name: str) -> str:  # noqa: ARG002
        """None."""
        return ""

"""What a graph holds beside its ops and edges, asked for only when an edit needs it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from tfgraphwidget.tf_types import ContextDef, FunctionDef, QueueRunnerDef


class Beside(Protocol):
    """Protos that name ops; whoever reads a graph from TensorFlow brings one along."""

    def contexts(self) -> tuple[ContextDef, ...]:
        """The outermost v1 control flow contexts, each a WhileContextDef or a CondContextDef with all that is nested.

        Those of gradient loops too, though TensorFlow keeps them in no collection.
        """

    def runners(self) -> tuple[tuple[str, QueueRunnerDef], ...]:
        """(collection key, QueueRunnerDef) of every queue runner."""

    def function(self, name: str) -> FunctionDef:
        """The FunctionDef of that name; KeyError when the library has none."""

    def gradient(self, name: str) -> str:
        """The name of the function that is registered as the gradient of that one, or ""."""


@dataclass(frozen=True, eq=False)
class Joined:
    """What `base` gives, and functions that came with edits."""

    base: Beside
    functions: Mapping[str, FunctionDef]
    gradients: Mapping[str, str]

    def contexts(self) -> tuple[ContextDef, ...]:
        """Those of the graph."""
        return self.base.contexts()

    def runners(self) -> tuple[tuple[str, QueueRunnerDef], ...]:
        """Those of the graph."""
        return self.base.runners()

    def function(self, name: str) -> FunctionDef:
        """The FunctionDef of that name, of the edits first; KeyError when there is none."""
        return self.functions[name] if name in self.functions else self.base.function(name)

    def gradient(self, name: str) -> str:
        """The name of the function that is registered as the gradient of that one, or ""."""
        return self.gradients.get(name, "") if name in self.functions else self.base.gradient(name)


def joined(base: Beside, functions: Iterable[FunctionDef], gradients: Iterable[tuple[str, str]]) -> Beside:
    """`base` with further FunctionDefs, and (function, its gradient function) names."""
    more = {function.signature.name: function for function in functions}
    known = base if isinstance(base, Joined) else Joined(base, {}, {})
    return Joined(known.base, {**known.functions, **more}, {**known.gradients, **dict(gradients)}) if more else base


class Nothing:
    """Of a graph that has no more than ops and edges."""

    def contexts(self) -> tuple[ContextDef, ...]:
        """None."""
        return ()

    def runners(self) -> tuple[tuple[str, QueueRunnerDef], ...]:
        """None."""
        return ()

    def function(self, name: str) -> FunctionDef:
        """None."""
        raise KeyError(name)

    def gradient(self, name: str) -> str:  # noqa: ARG002
        """None."""
        return ""

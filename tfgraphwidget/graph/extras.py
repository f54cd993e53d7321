"""The parts of a graph besides ops and edges: control flow contexts, queue runners, functions,
versions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from tfgraphwidget.tf_types import ContextDef, FunctionDef, QueueRunnerDef, VersionDef


class GraphExtras(Protocol):
    """Protos that name ops; what reads a graph from TensorFlow provides them."""

    def contexts(self) -> tuple[ContextDef, ...]:
        """The outermost v1 control flow contexts, each a WhileContextDef or a CondContextDef with
        all that is nested.

        Those of gradient loops too, though TensorFlow keeps them in no collection.
        """

    def runners(self) -> tuple[tuple[str, QueueRunnerDef], ...]:
        """(collection key, QueueRunnerDef) of every queue runner."""

    def function(self, name: str) -> FunctionDef:
        """The FunctionDef of that name; KeyError when the library has none."""

    def gradient(self, name: str) -> str:
        """The name of the function that is registered as the gradient of that one, or ""."""

    def versions(self) -> VersionDef | None:
        """The versions that TensorFlow reads the graph by; None for the installed one's."""


@dataclass(frozen=True, eq=False)
class EditedExtras:
    """The extras of `base`, with functions that edits added, and with the contexts and queue
    runners as edits have left them, if any has.

    A live graph has its contexts and runners itself.
    """

    base: GraphExtras
    functions: Mapping[str, FunctionDef] = field(default_factory=dict)
    gradients: Mapping[str, str] = field(default_factory=dict)
    edited_contexts: tuple[ContextDef, ...] | None = None
    edited_runners: tuple[tuple[str, QueueRunnerDef], ...] | None = None

    def contexts(self) -> tuple[ContextDef, ...]:
        """All of the graph."""
        return self.base.contexts() if self.edited_contexts is None else self.edited_contexts

    def runners(self) -> tuple[tuple[str, QueueRunnerDef], ...]:
        """All of the graph."""
        return self.base.runners() if self.edited_runners is None else self.edited_runners

    def function(self, name: str) -> FunctionDef:
        """The FunctionDef of that name, of the edits first; KeyError when there is none."""
        return self.functions[name] if name in self.functions else self.base.function(name)

    def gradient(self, name: str) -> str:
        """The name of the function that is registered as the gradient of that one, or ""."""
        return self.gradients.get(name, "") if name in self.functions else self.base.gradient(name)

    def versions(self) -> VersionDef | None:
        """Those of the graph before the edits."""
        return self.base.versions()


def _as_edited(base: GraphExtras) -> EditedExtras:
    return base if isinstance(base, EditedExtras) else EditedExtras(base)


def with_functions(
    base: GraphExtras, functions: Iterable[FunctionDef], gradients: Iterable[tuple[str, str]]
) -> GraphExtras:
    """The extras with more functions and (function, gradient) names; `base` if none."""
    more = {function.signature.name: function for function in functions}
    extras = _as_edited(base)
    if more:
        return replace(
            extras,
            functions={**extras.functions, **more},
            gradients={**extras.gradients, **dict(gradients)},
        )
    return base


def with_contexts(base: GraphExtras, contexts: tuple[ContextDef, ...]) -> GraphExtras:
    """The extras of a graph with other control flow contexts."""
    return replace(_as_edited(base), edited_contexts=contexts)


def with_runners(base: GraphExtras, runners: tuple[tuple[str, QueueRunnerDef], ...]) -> GraphExtras:
    """The extras of a graph with other queue runners, each with the key of its collection."""
    return replace(_as_edited(base), edited_runners=runners)


class NoExtras:
    """The extras of a graph that has only ops and edges."""

    def contexts(self) -> tuple[ContextDef, ...]:
        """None."""
        return ()

    def runners(self) -> tuple[tuple[str, QueueRunnerDef], ...]:
        """None."""
        return ()

    def function(self, name: str) -> FunctionDef:
        """Raise KeyError: there is no function `name`."""
        raise KeyError(name)

    def gradient(self, name: str) -> str:  # noqa: ARG002
        """Return "": no function `name` has a gradient function."""
        return ""

    def versions(self) -> None:
        """Return None: those of the TensorFlow that is installed."""

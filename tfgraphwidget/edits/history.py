"""The edits that were applied and undone, as a value."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from textwrap import indent
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfgraphwidget.edits.command import Command  # noqa: TC004  # a string at run time
    from tfgraphwidget.edits.patch import Patch  # noqa: TC004  # a string at run time


@dataclass(frozen=True, eq=False)
class Batch:
    """Several edits that are one step to the user; steps with the same object belong together."""

    name: str

    @property
    def line(self) -> str:
        """The line of Python that begins it."""
        return f"with editor.batch({json.dumps(self.name, ensure_ascii=False)}):"


@dataclass(frozen=True)
class Step:
    """One command with the patch that it came to, the graph that was patched, and what the user
    got.

    `path` names the current graph and those around it; `renewed` says whether the session follows
    changes in place. What else the step hangs on, and its line does not say: `reserved` are names,
    in lower case, that its new ops could not take since hidden ops of undone steps have them, and
    `imported` says that it came out otherwise than in the file, or may name ops that the file does
    not have, because TensorFlow held the graph. `batch` is that of the steps that are done and
    undone together with it; None for a step of its own.
    """

    command: Command
    patch: Patch
    place: Any = None
    results: tuple[Any, ...] = ()
    path: tuple[str, ...] = ()
    renewed: bool = True
    reserved: tuple[str, ...] = ()
    imported: bool = False
    batch: Batch | None = None

    @property
    def where(self) -> str:
        """The function that a module was cloned from; "" for a step that changed a graph."""
        return " / ".join(self.path[1:]) if self.place is None else ""

    @property
    def line(self) -> str:
        """The line of Python that does the step."""
        return self.command.code(where=self.where)

    @property
    def sentence(self) -> str:
        """The sentence that describes the step."""
        return self.command.sentence() + (f" (in {self.where})" if self.where else "")

    def __repr__(self) -> str:
        return f"<Step: {self.sentence}>"


@dataclass(frozen=True)
class BatchStep:
    """The edits of a batch as one step of the history.

    Attributes:
        name: What the batch is called.
        steps: Its edits, in the order in which they were made.
    """

    name: str
    steps: tuple[Step, ...]

    @property
    def line(self) -> str:
        """The lines of Python that do the step."""
        return "\n".join(
            [Batch(self.name).line, *(indent(step.line, "    ") for step in self.steps)]
        )

    @property
    def sentence(self) -> str:
        """The sentence that describes the step."""
        return self.name

    @property
    def where(self) -> str:
        """The function that modules were cloned from; "" for steps that changed a graph."""
        return self.steps[0].where

    @property
    def results(self) -> tuple[Any, ...]:
        """What the user got of its edits."""
        return tuple(result for step in self.steps for result in step.results)


def group_batches(steps: Iterable[Step]) -> tuple[Step | BatchStep, ...]:
    """Steps as the user counts them: those of a batch are one."""
    groups: list[list[Step]] = []
    for step in steps:
        if groups and step.batch is not None and groups[-1][0].batch is step.batch:
            groups[-1].append(step)
        else:
            groups.append([step])
    return tuple(
        own[0] if own[0].batch is None else BatchStep(own[0].batch.name, tuple(own))
        for own in groups
    )


@dataclass(frozen=True)
class History:
    """Edits in the order they were done; `undone` has the one to redo next at its end.

    The edits of a batch stand in it one by one, see `group_batches`.
    """

    done: tuple[Step, ...] = ()
    undone: tuple[Step, ...] = ()

    @property
    def commands(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The ids of the commands that are done and undone; a redone step has another id."""
        return tuple(id(step.command) for step in self.done), tuple(
            id(step.command) for step in self.undone
        )

    def push(self, step: Step) -> History:
        """After a new step; what was undone before can no longer be redone."""
        return History((*self.done, step))

    def last(self) -> Step:
        """The step that undo takes back."""
        return self.done[-1]

    def next(self) -> Step:
        """The step that redo does again."""
        return self.undone[-1]

    def after_undo(self, taken_back: Patch) -> History:
        """`taken_back` is the patch that undo applied; redo will apply its inverse."""
        step = replace(self.last(), patch=taken_back.inverse())
        return History(self.done[:-1], (*self.undone, step))

    def after_redo(self, step: Step) -> History:
        """The last undone step is done again, as `step` with the patch that was applied."""
        return History((*self.done, step), self.undone[:-1])

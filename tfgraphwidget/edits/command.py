"""Command: one edit as a frozen value. The Python call, the browser's message, the history entry
and the printed line of code are all this one object.

A new command is a frozen dataclass that extends `Command`, has a `plan`, and is registered
(`edits.registry`); undo, code, JSON, replay and the browser's message follow from its fields.
"""

from __future__ import annotations

import builtins
import dataclasses
import math
import posixpath
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from tfgraphwidget.edits import serialization
from tfgraphwidget.edits.context import Array, PlanContext
from tfgraphwidget.edits.operand_kinds import Operand, Resolver, operands_of, resolve_fields
from tfgraphwidget.edits.patch import (
    NewShape,
    Patch,
    Preview,
    ReplacedMatch,
    SkippedMatch,
    StaleConstant,
)
from tfgraphwidget.errors import GraphEditError, NameTaken
from tfgraphwidget.graph import GraphIndex, Part, Selection, function_expression
from tfgraphwidget.naming import count_text, function_name, identifier, tensorflow_name
from tfgraphwidget.sentences import drawn_shape

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True)
class Edits:
    """Names of the ops that an edit added, removed and changed in place, in graph order.

    `renamed` are the (old, new) names of those that are removed and added only because they go by
    another name now.

    `shapes` are the static shapes that are others now. `lost` says what the session could not keep
    while it was renewed, `notes` what else one should know; one sentence each. `constants` are
    those that hold a size which the edit has changed (`edits.patch.StaleConstant`). `replaced` and
    `skipped` are the matches of a pattern that an edit has replaced, and those that it has not,
    with the reason of each.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    shapes: tuple[NewShape, ...] = ()
    lost: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    constants: tuple[StaleConstant, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    replaced: tuple[ReplacedMatch, ...] = ()
    skipped: tuple[SkippedMatch, ...] = ()
    is_nothing: bool = False

    @classmethod
    def of(cls, patch: Patch, lost: tuple[str, ...] = (), notes: tuple[str, ...] = ()) -> Edits:
        """What a patch has done, with a sentence for each thing that the session could not keep,
        and further ones for the user.
        """
        return cls(
            added=tuple(node.name for node in patch.add.nodes),
            removed=tuple(node.name for node in patch.remove.nodes),
            changed=tuple(edited.name for edited in patch.changed),
            shapes=patch.known_shapes,
            lost=lost,
            notes=(*patch.report.notes, *notes),
            constants=patch.report.constants,
            renamed=patch.renamed,
            replaced=patch.report.replaced,
            skipped=patch.report.skipped,
            is_nothing=patch.report.is_nothing,
        )

    @classmethod
    def together(cls, reports: Sequence[Edits]) -> Edits:
        """One report of edits that were made one after the other: what is different at the end."""
        if not reports:
            return cls(notes=("No edits are named, so there is nothing to do.",), is_nothing=True)
        if len(reports) == 1:
            return reports[0]
        added: dict[str, None] = {}
        removed: dict[str, None] = {}
        changed: dict[str, None] = {}
        renamed: dict[str, str] = {}  # new name -> old name
        shapes: dict[tuple[str, int], NewShape] = {}
        for report in reports:
            for shape in report.shapes:
                first = shapes.get((shape.op, shape.port), shape)
                shapes[shape.op, shape.port] = shape._replace(before=first.before)
            renamed |= {new: renamed.pop(old, old) for old, new in report.renamed}
            for name in report.removed:
                changed.pop(name, None)
                if name in added:
                    del added[name]
                else:
                    removed[name] = None
            for name in report.added:
                if name in removed:
                    del removed[name]
                    changed[name] = None
                else:
                    added[name] = None
            changed |= dict.fromkeys(name for name in report.changed if name not in added)
        done = [report for report in reports if report]
        if any(not report.renamed for report in done):
            renamed = {}  # of several kinds of edits a report counts the ops
        losses = (report.lost for report in reports)
        notes = (report.notes for report in done or reports)
        return cls(
            added=tuple(added),
            removed=tuple(removed),
            changed=tuple(changed),
            shapes=tuple(shape for shape in shapes.values() if shape.before != shape.after),
            lost=tuple(dict.fromkeys(chain.from_iterable(losses))),
            notes=tuple(dict.fromkeys(chain.from_iterable(notes))),
            constants=tuple(chain.from_iterable(report.constants for report in reports)),
            renamed=tuple((old, new) for new, old in renamed.items()),
            replaced=tuple(chain.from_iterable(report.replaced for report in reports)),
            skipped=tuple(chain.from_iterable(report.skipped for report in reports)),
            is_nothing=not done,
        )

    def __bool__(self) -> bool:
        return not self.is_nothing

    def __str__(self) -> str:
        if self.is_nothing:
            return "\n".join((*self.notes, *_skipped_texts(self)))
        text = _renaming_text(self.renamed) if self.renamed else counts_text(self)
        return "\n".join((*match_texts(self), text, *shape_texts(self), *self.lost, *self.notes))

    def __repr__(self) -> str:
        return f"<Edits: {self}>"


def counts_text(report: Edits) -> str:
    """How many ops an edit added, removed and changed.

    >>> counts_text(Edits(added=("a",), removed=("b", "c"))), counts_text(Edits())
    ('1 op added, 2 ops removed', 'no op changed')
    """
    kinds = ((report.added, "added"), (report.removed, "removed"), (report.changed, "changed"))
    counts = [f"{count_text(len(names), 'op')} {done}" for names, done in kinds if names]
    return ", ".join(counts) or "no op changed"


def match_texts(report: Edits) -> tuple[str, ...]:
    """How many matches of a pattern an edit has replaced, and why not the others."""
    if not report.replaced:
        return ()
    count = len(report.replaced) + len(report.skipped)
    whole = f"replaced {len(report.replaced):,} of {count:,} match{'es' * (count != 1)}"
    return (whole, *_skipped_texts(report))


def _skipped_texts(report: Edits) -> tuple[str, ...]:
    """Why matches of a pattern were not replaced."""
    reasons = ["not replaced: " + each.why for each in report.skipped[:_MOST]]
    if len(report.skipped) > _MOST:
        more = [f"and {len(report.skipped) - _MOST:,} more were not replaced"]
    else:
        more = []
    return (*reasons, *more)


def shape_texts(report: Edits) -> tuple[str, ...]:
    """The static shapes that are others after an edit."""
    shapes = [
        f"{s.op}:{s.port} " + drawn_shape(s.before) + " → " + drawn_shape(s.after)
        for s in report.shapes[:_MOST]
    ]
    more = [f"and {len(report.shapes) - _MOST:,} more shapes"] if len(report.shapes) > _MOST else []
    return (*shapes, *more)


def _renaming_text(pairs: tuple[tuple[str, str], ...]) -> str:
    """The text of a rename of an op, or of the scope of several. Changed consumers are not listed.

    >>> _renaming_text((("a/x", "b/x"),)), _renaming_text((("a/x", "b/x"), ("a/y/z", "b/y/z")))
    ("renamed 'a/x' to 'b/x'", "renamed 'a' to 'b', 2 ops")
    """
    old, new = (posixpath.commonpath(names) for names in zip(*pairs, strict=True))
    if not old or not new:  # names from all over the graph
        return f"renamed {len(pairs):,} ops"
    return f"renamed {old!r} to {new!r}" + (f", {len(pairs):,} ops" if len(pairs) > 1 else "")


_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")  # where a word begins in a class's name
_MOST = 5  # shapes, and reasons of one kind, in a report
# Names that a script has for something else than the result of an edit.
_TAKEN = frozenset({"tf", "tgw", "np", "io", "base64", "values", "graph", "session"})
_MOST_NUMBERS = 16  # of an array in code; a larger one is the name of a variable that users have
_Value = TypeVar("_Value", bound="DataclassInstance")


class Planner(Protocol):
    """Plans edits of an editor's graph: a method for each kind of edit."""

    def change(self, command: Command) -> Any:
        """Plan the changes of the current graph."""

    def copies(self, command: Any) -> Any:  # a Clone
        """Plan copies of ops."""

    def sample(self, command: Any) -> Preview:  # a Clone
        """Preview copies of ops."""

    def addition(self, command: Any) -> Any:  # an Add
        """Plan to bring the source of the command in."""

    def growth(self, command: Any) -> Any:  # a Grow
        """Plan to call the function of the command."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Command(ABC):
    """An edit as a value: a frozen dataclass whose fields are the arguments of the editor's method.

    The annotation of a field says its kind, see `operand_kinds`. `method` is the editor's method
    that does it, such as "signatures.add"; "" for the one of the command's name. `asks_for_session`
    says that the edit of a file is another one where a session holds its graph. `keeps_values` says
    that no edit of the kind changes what a tensor that stays computes, so that the gradients in the
    graph stay right.
    """

    method: ClassVar[str] = ""
    asks_for_session: ClassVar[bool] = False
    keeps_values: ClassVar[bool] = False

    @abstractmethod
    def plan(self, context: PlanContext) -> Patch:
        """Find out what the edit changes; nothing is changed yet.

        Raises:
            GraphEditError: The edit cannot be right; the error names the ops and what to do
                instead.
        """

    @classmethod
    def from_call(cls, resolver: Resolver, /, *args: Any, **arguments: Any) -> Command:  # noqa: ARG003
        """The command of a call of the editor's method, whose parameters are the fields.

        A class whose method takes something else says the parameters here.

        Args:
            args: Positional arguments, of a class that says its parameters.
        """
        return cls(**resolve_fields(cls, resolver, arguments))

    def plan_edit(self, planner: Planner) -> Any:
        """The planned edit; by default a change of the current graph. Raises GraphEditError."""
        return planner.change(self)

    def preview_edit(self, planner: Planner) -> Edits | Preview:
        """What the edit would do. Raises GraphEditError for the reason that the edit would."""
        planned = self.plan_edit(planner)
        planned.check()
        report: Edits | Preview = planned.report
        return report

    def with_final_names(self, context: PlanContext) -> Command:  # noqa: ARG002
        """The same command with new ops' names written down, where another graph would differ."""
        return self

    def under_a_free_name(self, error: NameTaken) -> tuple[Command, ...]:
        """The same command with the free name that a refusal proposes in place of its taken one."""
        names = ("into", "name", "new")
        matches = [name for name in names if error.free and getattr(self, name, None) == error.name]
        return (dataclasses.replace(self, **{matches[-1]: error.free}),) if matches else ()

    def suggested_fixes(self, context: PlanContext) -> tuple[Command, ...]:  # noqa: ARG002
        """Commands that may do the same where this one is refused."""
        return ()

    def as_called(self) -> Command:
        """Return the command whose call represents this one in code: itself or another's."""
        return self

    @classmethod
    def command_name(cls) -> str:
        """The name of the command in JSON and messages: "set_attr" for SetAttr."""
        return _WORD.sub("_", cls.__name__).lower()

    @classmethod
    def call_name(cls) -> str:
        """The name of the editor's method in code: "set_attr", "passes.fold_constants"."""
        return cls.method or cls.command_name()

    def code(self, writer: ValueWriter | None = None, *, where: str = "") -> str:
        """The call of the editor's method: `copy = editor.clone(inputs=["x:0"], outputs=["y:0"],
        into="copy")`.

        Args:
            where: The function that the edit was done in, for a comment after the call.
        """
        command = self.as_called()
        call = f"editor.{command.call_name()}({arguments(command, writer)})"
        name = command.result_name()
        return (f"{name} = {call}" if name else call) + (f"  # in {where}" if where else "")

    def sentence(self) -> str:
        """The sentence that describes the edit in a list of edits: "Renamed net/logits to scores".

        The names that it was given stand in it, and no more details than are needed to recognize
        it.
        """
        first = next((getattr(self, field.name) for field in dataclasses.fields(self)), None)
        words = self.command_name().replace("_", " ").capitalize()
        return f"{words}: {subject_text(first)}" if first is not None else words

    def result_name(self) -> str:
        """The name that code gives to what the edit makes; "" if it makes nothing with a name."""
        into = getattr(self, "into", "")
        name = identifier(into) if into else ""
        return f"{name}_" if name in _TAKEN or hasattr(builtins, name) else name

    def row(self) -> dict[str, object]:
        """The command as data that JSON can hold.

        Returns:
            "label", a few words for a button; "python", the line of code; "edit", the JSON that
            `replay` takes, None if the command holds what no JSON can.
        """
        try:
            edit = serialization.record_of(self)
        except GraphEditError:
            edit = None
        return {"label": self.fix_label() or self.sentence(), "python": self.code(), "edit": edit}

    def fix_label(self) -> str:
        """A few words for a button that suggests this command as a fix; "" for its line of code."""
        return ""


_FEW = 2  # names in a sentence
_LONGEST = 40  # characters of a value in a sentence


def subject_text(subject: object) -> str:
    """The subject of an edit in its sentence: names, or the number of ops.

    >>> subject_text("net/"), subject_text(("a:0", "b", "c")), subject_text(len)
    ('net', 'a:0, b and 1 more', 'len')
    """
    if isinstance(subject, str):
        return subject.rstrip("/") or "the graph"
    if isinstance(subject, Part):
        names: tuple[str, ...] = getattr(subject, "ops", ())
        return names[0] if len(names) == 1 else f"{len(names):,} ops"
    if isinstance(subject, tuple | list):
        names = tuple(subject_text(name) for name in subject)
        more = f" and {len(names) - _FEW:,} more" if len(names) > _FEW else ""
        return ", ".join(names[:_FEW]) + more
    if callable(subject):
        return str(getattr(subject, "__name__", "a function"))
    return brief_value(subject)


def brief_value(value: object) -> str:
    """A value in a sentence: a short literal, or what it is.

    >>> brief_value("SAME"), brief_value((1, 2)), brief_value(list(range(100)))
    ('"SAME"', '[1, 2]', 'a list of 100')
    """
    if hasattr(value, "shape") and hasattr(value, "dtype") and getattr(value, "size", 0) > 1:
        return f"an array of shape {tuple(value.shape)}"
    text = literal(value)
    if len(text) <= _LONGEST:
        return text
    return f"a list of {len(value)}" if isinstance(value, tuple | list) else f"{text[:_LONGEST]}…"


def rebind_selections(command: _Value, index: GraphIndex) -> _Value:
    """The same command with each selection as on `index`, so that code means the same ops."""
    values = ((field.name, getattr(command, field.name)) for field in dataclasses.fields(command))
    rebound = {name: value.on(index) for name, value in values if isinstance(value, Selection)}
    return dataclasses.replace(command, **rebound) if rebound else command


class ValueWriter:
    """How code refers to values that are not literals: by names that the caller may have."""

    def function(self, function: Callable[..., object]) -> str:
        """A Python function: its name, or the source of a lambda."""
        return (
            tensorflow_name(function)
            or function_expression(function)
            or identifier(function_name(function, "function"))
        )

    def array(self, array: Array, name: str) -> str:  # noqa: ARG002
        """An array with many elements, the value of the tensor or field `name`."""
        return f"values[{literal(name)}]"

    def external(self, value: object, name: str) -> str:  # noqa: ARG002
        """Anything else, such as a graph, by the name `name` that the command has for it."""
        return name

    def selection(self, part: Part) -> str:
        """A name scope, a selection or names of ops: the expression that makes it."""
        return str(getattr(part, "expression", ""))


def arguments(command: DataclassInstance, writer: ValueWriter | None = None) -> str:
    """The command's fields as the text between the parentheses of a call; fields at their default
    are left out.

    Tuples are written as lists, as people write them, and what the kind of a field says as it says.

    The field `selection` is the first argument.
    """
    writer = writer or ValueWriter()
    operands = operands_of(type(command))
    parts: list[str] = []
    for field in dataclasses.fields(command):
        value, operand = getattr(command, field.name), operands[field.name]
        # An array has no truth value when it is compared.
        is_comparable = isinstance(value, str | int | tuple)
        is_default = value is field.default or (is_comparable and value == field.default)
        other = operand.required_without
        is_required = operand.is_required or (other and getattr(command, other) is None)
        if is_default and not is_required:
            continue
        if operand.is_positional:
            parts += map(literal, value)
        elif field.name == "selection":
            parts.insert(0, writer.selection(value))  # the first argument of the call
        else:
            name = str(getattr(command, "tensor", field.name))
            parts.append(f"{field.name}={_field_text(value, operand, writer, name)}")
    return ", ".join(parts)


def _field_text(value: object, operand: Operand, writer: ValueWriter, name: str) -> str:
    if value is None and operand.none_text:
        return operand.none_text
    if operand.external and not isinstance(value, str):
        return writer.external(value, operand.external)
    if operand.is_function and callable(value):
        return writer.function(value)
    if operand.is_dict and isinstance(value, tuple) and not any(isinstance(x, str) for x in value):
        items = [f"{literal(key)}: {literal(item, str(key), writer)}" for key, item in value]
        return "{" + ", ".join(items) + "}"
    return literal(value, name, writer)


def literal(value: object, name: str = "", writer: ValueWriter | None = None) -> str:
    """Write a field's value as Python, with strings in double quotes.

    Args:
        name: The name of the value; a large array is written as this entry of `values`.

    >>> literal(("a:0", "b"))
    '["a:0", "b"]'
    """
    writer = writer or ValueWriter()
    if isinstance(value, Part):
        return writer.selection(value)
    if hasattr(value, "tolist"):
        array: Any = value
        # No literal is a long double.
        small = 0 < array.size <= _MOST_NUMBERS and array.dtype.char not in "gG"
        return literal(array.tolist()) if small else writer.array(array, name)
    if isinstance(value, tuple | list):
        return f"[{', '.join(literal(item, name, writer) for item in value)}]"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, complex) and not (math.isfinite(value.real) and math.isfinite(value.imag)):
        return f"complex({literal(value.real)}, {literal(value.imag)})"
    text = repr(value)
    is_in_single_quotes = text[0] == "'" and '"' not in text
    return f'"{text[1:-1]}"' if is_in_single_quotes else text

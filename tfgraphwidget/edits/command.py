"""Command: one edit as a frozen value. The Python call, the browser's message, the history entry and the
printed line of code are all this one object. Most plan; what a Python function makes (Grow) nobody can.
"""

from __future__ import annotations

import dataclasses
import math
import posixpath
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from tfgraphwidget.edits.patch import NewShape, Patch
from tfgraphwidget.graph.expressions import written
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.selection import Selection
from tfgraphwidget.graph.subgraph import Part
from tfgraphwidget.graph.tensors import shape_text
from tfgraphwidget.naming import identifier

# A larger array is printed as the name of a variable that the person has.
_MOST_NUMBERS = 16
_Any = TypeVar("_Any")


@runtime_checkable
class Command(Protocol):
    """An edit that can be planned."""

    def plan(self, index: GraphIndex, target: GraphIndex | None = None) -> Patch:
        """What the edit will change in `target`, which is `index` if left out; pure.

        Raises GraphEditError when it cannot be right.
        """


def settled(command: _Any, index: GraphIndex) -> _Any:
    """The same command with each selection as it is on `index`, so that what is printed means the same ops there."""
    held = ((field.name, getattr(command, field.name)) for field in dataclasses.fields(cast("Any", command)))
    settled = {name: value.on(index) for name, value in held if isinstance(value, Selection)}
    return dataclasses.replace(cast("Any", command), **settled) if settled else command


class Wording:
    """How a line says what cannot be written down in it: by the name that the person may have for it."""

    def function(self, function: Any) -> str:
        """A function that the person gave."""
        return written(function) or identifier(str(getattr(function, "__name__", "function")))

    def array(self, array: Any, called: str) -> str:  # noqa: ARG002
        """An array with many elements, which the edit has for the tensor or field `called`."""
        return f"values[{literal(called)}]"

    def given(self, thing: Any, called: str) -> str:  # noqa: ARG002
        """Anything else, a graph, say, by the name that the command has for it."""
        return called

    def selection(self, part: Part) -> str:
        """A selection, by the expression that makes it."""
        return str(getattr(part, "expression", ""))


def arguments(command: Any, wording: Wording | None = None) -> str:
    """The command's fields as Python keyword arguments; those at their default are left out, unless marked "always",
    or "unless" another field that is None; those "aside" are not written.

    Tuples are written as lists, as people write them. A field's metadata say how it differs: "pairs" are written as a
    dict, and what cannot be written (a graph) goes by the name it is "called"; a
    "spoken" function by its own. What is "positional" are the arguments. The field `selection` comes first.
    """
    wording = wording or Wording()
    parts: list[str] = []
    for field in dataclasses.fields(command):
        value = getattr(command, field.name)
        usual = value is field.default or (isinstance(value, str | int | tuple) and value == field.default)
        other = field.metadata.get("unless")
        always = "always" in field.metadata or (other is not None and getattr(command, other) is None)
        if "aside" in field.metadata or (usual and not always):
            continue
        if "positional" in field.metadata:
            parts += map(literal, value)
        elif field.name == "selection":
            parts.insert(0, wording.selection(value))  # the first argument of the call
        else:
            called = str(getattr(command, "tensor", field.name))
            parts.append(f"{field.name}={_written(value, field, wording, called)}")
    return ", ".join(parts)


def _written(value: object, field: Any, wording: Wording, called: str) -> str:
    if "called" in field.metadata and not isinstance(value, str):
        return wording.given(value, str(field.metadata["called"]))
    if "spoken" in field.metadata and callable(value):
        return wording.function(value)
    if "pairs" in field.metadata and isinstance(value, tuple):
        return "{" + ", ".join(f"{literal(key)}: {literal(held, str(key), wording)}" for key, held in value) + "}"
    return literal(value, called, wording)


def literal(value: object, called: str = "", wording: Wording | None = None) -> str:
    """Python source of a field's value; strings in double quotes. A large array is the entry `called` of `values`.

    >>> literal(("a:0", "b"))
    '["a:0", "b"]'
    """
    wording = wording or Wording()
    if isinstance(value, Part):
        return wording.selection(value)
    if hasattr(value, "tolist"):
        array: Any = value
        small = 0 < array.size <= _MOST_NUMBERS and array.dtype.char not in "gG"  # no literal is a long double
        return literal(array.tolist()) if small else wording.array(array, called)
    if isinstance(value, tuple | list):
        return f"[{', '.join(literal(item, called, wording) for item in value)}]"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, complex) and not (math.isfinite(value.real) and math.isfinite(value.imag)):
        return f"complex({literal(value.real)}, {literal(value.imag)})"
    text = repr(value)
    return f'"{text[1:-1]}"' if text[0] == "'" and '"' not in text else text


# What a person is told of an edit that was carried out.


@dataclass(frozen=True)
class Edits:
    """Names of the ops that an edit added, removed and changed in place, in graph order.

    `renamed` are the (old, new) names of those that are removed and added only because they go by another name now.

    `shapes` are the static shapes that are others now. `lost` says what the session could not keep while it was
    renewed, `notes` what else one should know; one sentence each. `constants` are those that hold a size which the
    edit has changed (`edits.rewrite.stale_shapes.Encoded`).
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    shapes: tuple[NewShape, ...] = ()
    lost: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    constants: tuple[Any, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, patch: Patch, lost: tuple[str, ...] = (), notes: tuple[str, ...] = ()) -> Edits:
        """What a patch has done."""
        return cls(
            added=tuple(node.name for node in patch.add.nodes),
            removed=tuple(node.name for node in patch.remove.nodes),
            changed=tuple(edited.name for edited in patch.changed),
            shapes=patch.known_shapes,
            lost=lost,
            notes=(*patch.notes, *notes),
            constants=patch.constants,
            renamed=patch.renamed,
        )

    def __str__(self) -> str:
        counts = [(len(names), what) for names, what in self._counted() if names]
        done = ", ".join(f"{count} op{'s' if count > 1 else ''} {what}" for count, what in counts) or "no op changed"
        done = _renamed(self.renamed) if self.renamed else done
        shapes = [f"{s.op}:{s.port} {shape_text(s.before)} → {shape_text(s.after)}" for s in self.shapes[:5]]
        more = [f"and {len(self.shapes) - 5} more shapes"] if len(self.shapes) > 5 else []
        return "\n".join((done, *shapes, *more, *self.lost, *self.notes))

    def _counted(self) -> tuple[tuple[tuple[str, ...], str], ...]:
        return (self.added, "added"), (self.removed, "removed"), (self.changed, "changed")

    def __repr__(self) -> str:
        return f"<Edits: {self}>"


def _renamed(pairs: tuple[tuple[str, str], ...]) -> str:
    """What got another name: an op, or the scope of several. Who reads it is changed as well, and goes without saying.

    >>> _renamed((("a/x", "b/x"),)), _renamed((("a/x", "b/x"), ("a/y/z", "b/y/z")))
    ("renamed 'a/x' to 'b/x'", "renamed 'a' to 'b', 2 ops")
    """
    old, new = (posixpath.commonpath(names) for names in zip(*pairs, strict=True))
    return f"renamed {old!r} to {new!r}" + (f", {len(pairs):,} ops" if len(pairs) > 1 else "")

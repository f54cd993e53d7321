"""The registry of commands: verb -> command.

A verb is the name of the editor's method: "set_attr". From here follow the verbs that JSON of edits may have
(`edits.serialization.json_format`), the method that code calls (`edits.serialization.python_source`), what replay
does, the edits that the browser may ask for (`widget.protocol.requests.Verb`, and its TypeScript), the panel's
buttons, and a method of the editor for a command without one.

The commands of this package are imported on the first use of their verbs: its front has "SetAttr" for "set_attr".
Others are known when their module has been imported:

>>> from dataclasses import dataclass
>>> from tfgraphwidget.edits.command import Command
>>> from tfgraphwidget.edits.patch import Patch, Report
>>> from tfgraphwidget.edits.registry import register, unregister
>>> @register
... @dataclass(frozen=True)
... class Annotate(Command):
...     op: str
...     text: str
...
...     def plan(self, context):
...         return Patch(report=Report((f"{self.op}: {self.text}",)))
>>> import tfgraphwidget as tgw
>>> editor = tgw.example()
>>> editor.annotate("x", text="fed by the reader").notes
('x: fed by the reader',)
>>> editor.lines
('editor.annotate(op="x", text="fed by the reader")',)
>>> unregister("annotate")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

if TYPE_CHECKING:
    from tfgraphwidget.edits.command import Command  # noqa: TC004  # a string at run time

_Kind = TypeVar("_Kind", bound="type[Command]")


@dataclass(frozen=True)
class FormField:
    """One argument that the form of a button asks for.

    Attributes:
        key: The parameter of the editor's method.
        label: What the form calls it.
        initial: What the field holds at first.
        known: What of the inspected op or scope the field holds at first; None for `initial`.
        words: Texts to choose from.
        python: Whether what is typed is a Python literal; else it is text.
        optional: Whether the field may be left empty.
        tensor: Whether it is the name of a tensor, which is completed, or clicked.
        op_type: Whether it is an op type or a function of the notebook, whose parameters and scope are asked for too.
        signature: Whether it is one of the graph's signatures, which are listed.
        hint: A sentence below the field.
    """

    key: str
    label: str
    initial: str = ""
    known: Literal["name", "device", "shape", "dtype", "value"] | None = None
    words: tuple[str, ...] = ()
    python: bool = False
    optional: bool = False
    tensor: bool = False
    op_type: bool = False
    signature: bool = False
    hint: str = ""


@dataclass(frozen=True)
class EditButton:
    """A button of the panel that asks for an edit, and the form that it opens.

    Attributes:
        name: What it says.
        title: What its tooltip says.
        on: What it edits: "part" is an op, a scope or the selection, "named" an op or a scope, "op" an op, "graph" the
            whole graph.
        order: Its place among the buttons.
        types: The op types that it is shown for; () for all.
        needs: What an op must have so that it is shown.
        output: Whether it edits the first output of an op, rather than the op.
        fields: What its form asks for; () for a button that edits at once.
        options: Arguments that no field asks for: pairs of a parameter and a Python literal.
        group: The heading that it is below, among the buttons of the whole graph.
        keywords: Other names of what it does, by which it is found too.
    """

    name: str
    title: str
    on: Literal["part", "named", "op", "graph"]
    order: int
    types: tuple[str, ...] = ()
    needs: tuple[Literal["inputs", "outputs"], ...] = ()
    output: bool = False
    fields: tuple[FormField, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    group: str = ""
    keywords: str = ""


@dataclass(frozen=True)
class Registration:
    """A command that the registry knows.

    Attributes:
        verb: The name of the editor's method.
        kind: The class of the command.
        requested: Whether the browser may ask for the edit by its verb.
        operands: How many of the names in the browser's message are arguments of their own; else they are one list.
        button: The panel's button for it, if it has one.
    """

    verb: str
    kind: type[Command]
    requested: bool = True
    operands: int = 1
    button: EditButton | None = None


_REGISTRATIONS: dict[str, Registration] = {}
_FRONT = __name__.rpartition(".")[0]


@overload
def register(kind: _Kind) -> _Kind: ...
@overload
def register(
    *, requested: bool = True, operands: int = 1, button: EditButton | None = None
) -> Callable[[_Kind], _Kind]: ...
def register(kind: Any = None, *, requested: bool = True, operands: int = 1, button: EditButton | None = None) -> Any:
    """Register a class of commands under the verb that its name says: "set_attr" for SetAttr.

    A class that is defined again, as by a notebook cell that runs twice, takes the place of the old one.

    Args:
        kind: The class; left out where the decorator has options.
        requested: Whether the browser may ask for the edit by its verb. Not for edits that have a message of their
            own, that read files, or that call Python functions.
        operands: How many of the names in the browser's message are arguments of their own.
        button: The panel's button for it.

    Returns:
        The class itself, so that this is a decorator.

    Raises:
        ValueError: Another class has the verb, or a field has the name of a method of `Command`.
    """
    from tfgraphwidget.edits.command import Command

    def registered_as(kind: type[Command]) -> type[Command]:
        verb = kind.verb()
        if not kind.__module__.startswith(f"{_FRONT}."):  # else it is being imported
            _import_command(verb)
        existing = _REGISTRATIONS.get(verb)
        if existing is not None and _name(existing.kind) != _name(kind):
            owner = _name(existing.kind)
            raise ValueError(f"register({_name(kind)}): the verb {verb!r} is taken by {owner}; rename the class.")
        clashing = [field.name for field in fields(kind) if hasattr(Command, field.name)]
        if clashing:
            raise ValueError(f"register({_name(kind)}): {clashing[0]!r} is a method of a command; rename the field.")
        _REGISTRATIONS[verb] = Registration(verb, kind, requested, operands, button)
        return kind

    return registered_as if kind is None else registered_as(kind)


def unregister(verb: str) -> None:
    """Remove a verb. Raises KeyError where there is none."""
    del _REGISTRATIONS[verb]


def registration_of(verb: str) -> Registration | None:
    """The registration of a verb, whose module is imported for it; None where there is none."""
    if verb not in _REGISTRATIONS:
        _import_command(verb)
    return _REGISTRATIONS.get(verb)


def commands() -> Mapping[str, type[Command]]:
    """Every class of commands by its verb, in alphabetical order; all their modules are imported."""
    return MappingProxyType({verb: each.kind for verb, each in _all_registrations()})


def requested_verbs() -> tuple[str, ...]:
    """The verbs that the browser may ask for, in alphabetical order."""
    return tuple(verb for verb, each in _all_registrations() if each.requested)


def is_requested(verb: str) -> bool:
    """Whether the browser may ask for an edit by its verb."""
    registration = registration_of(verb)
    return registration is not None and registration.requested


def buttons() -> tuple[tuple[str, EditButton], ...]:
    """The panel's buttons with the verb of each, in their order."""
    registered = ((verb, each.button) for verb, each in _all_registrations())
    return tuple(sorted(((verb, button) for verb, button in registered if button), key=lambda pair: pair[1].order))


def _all_registrations() -> list[tuple[str, Registration]]:
    front = import_module(_FRONT)
    for name in front.__all__:
        getattr(front, name)
    return sorted(_REGISTRATIONS.items())


def _import_command(verb: str) -> None:
    """Import the class whose verb this is, if the front has it: its module registers it."""
    name, front = "".join(word.capitalize() for word in verb.split("_")), import_module(_FRONT)
    if name in front.__all__:
        getattr(front, name)


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"

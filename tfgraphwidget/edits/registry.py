"""The registry of commands: name -> command.

The name of SetAttr is "set_attr". From here follow the commands that JSON of edits may have
(`edits.serialization.json_format`), the method that code calls
(`edits.serialization.python_source`), what replay does, the edits that the browser may ask for
(`widget.protocol.requests.CommandName`, and its TypeScript), and the editor's method
(`editor.edit_methods`).

The commands of this package are imported on the first use of their names: its front has "SetAttr"
for "set_attr". Others are known when their module has been imported:

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
>>> editor.history.lines
('editor.annotate(op="x", text="fed by the reader")',)
>>> unregister("annotate")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, overload

if TYPE_CHECKING:
    from tfgraphwidget.edits.command import Command  # noqa: TC004  # a string at run time

_Kind = TypeVar("_Kind", bound="type[Command]")


@dataclass(frozen=True)
class Registration:
    """A command that the registry knows.

    Attributes:
        name: The name of the command.
        kind: The class of the command.
        requested: Whether the browser may ask for the edit by its name.
    """

    name: str
    kind: type[Command]
    requested: bool = True


_REGISTRATIONS: dict[str, Registration] = {}
_FRONT = __name__.rpartition(".")[0]


@overload
def register(kind: _Kind) -> _Kind: ...
@overload
def register(*, requested: bool = True) -> Callable[[_Kind], _Kind]: ...
def register(kind: Any = None, *, requested: bool = True) -> Any:
    """Register a class of commands under its name: "set_attr" for SetAttr.

    A class that is defined again, as by a notebook cell that runs twice, takes the place of the old
    one.

    Args:
        kind: The class; left out where the decorator has options.
        requested: Whether the browser may ask for the edit by its name. Not for edits that have a
            message of their own, that read files, or that call Python functions.

    Returns:
        The class itself, so that this is a decorator.

    Raises:
        ValueError: Another class has the name, or a field has the name of a method of `Command`.
    """
    from tfgraphwidget.edits.command import Command

    def registered_as(kind: type[Command]) -> type[Command]:
        name = kind.command_name()
        if not kind.__module__.startswith(f"{_FRONT}."):  # else it is being imported
            _import_command(name)
        existing = _REGISTRATIONS.get(name)
        if existing is not None and _name(existing.kind) != _name(kind):
            owner = _name(existing.kind)
            raise ValueError(
                f"register({_name(kind)}): the name {name!r} is taken by {owner}; rename the class."
            )
        clashing = [field.name for field in fields(kind) if hasattr(Command, field.name)]
        if clashing:
            raise ValueError(
                f"register({_name(kind)}): {clashing[0]!r} is a method of a command; rename the "
                "field."
            )
        _REGISTRATIONS[name] = Registration(name, kind, requested)
        return kind

    return registered_as if kind is None else registered_as(kind)


def unregister(name: str) -> None:
    """Remove the command of a name. Raises KeyError where there is none."""
    del _REGISTRATIONS[name]


def registration_of(name: str) -> Registration | None:
    """The registration of a name, whose module is imported for it; None where there is none."""
    if name not in _REGISTRATIONS:
        _import_command(name)
    return _REGISTRATIONS.get(name)


def commands() -> Mapping[str, type[Command]]:
    """Every class of commands by its name, in alphabetical order; all their modules are
    imported.
    """
    return MappingProxyType({name: each.kind for name, each in _all_registrations()})


def requested_commands() -> tuple[str, ...]:
    """The names of the commands that the browser may ask for, in alphabetical order."""
    return tuple(name for name, each in _all_registrations() if each.requested)


def is_requested(name: str) -> bool:
    """Whether the browser may ask for an edit by its name."""
    registration = registration_of(name)
    return registration is not None and registration.requested


def commands_of_others() -> tuple[str, ...]:
    """The names of the commands that other packages have registered, in alphabetical order."""
    others = (
        name
        for name, each in _REGISTRATIONS.items()
        if not each.kind.__module__.startswith(f"{_FRONT}.")
    )
    return tuple(sorted(others))


def _all_registrations() -> list[tuple[str, Registration]]:
    front = import_module(_FRONT)
    for name in front.__all__:
        getattr(front, name)
    return sorted(_REGISTRATIONS.items())


def _import_command(name: str) -> None:
    """Import the class whose name this is, if the front has it: its module registers it."""
    class_name = "".join(word.capitalize() for word in name.split("_"))
    front = import_module(_FRONT)
    if class_name in front.__all__:
        getattr(front, class_name)


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"

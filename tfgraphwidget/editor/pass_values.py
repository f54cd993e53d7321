"""Passes as values: what `editor.passes` does to one graph, said once and applied to any; several
compose.

>>> import tfgraphwidget as tgw
>>> passes = tgw.passes
>>> smaller = passes.Sequential(
...     passes.freeze(), passes.fold_batch_norm(), passes.cast("float16"), name="Smaller"
... )
>>> smaller
Sequential(freeze(), fold_batch_norm(), cast('float16'), name='Smaller')
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from tfgraphwidget import edits
from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.errors import GraphEditError, WrongType
from tfgraphwidget.naming import did_you_mean
from tfgraphwidget.sentences import in_cell

if TYPE_CHECKING:
    from tfgraphwidget.editor.state import EditorCore

_MOST_ROUNDS = 100  # of a Repeat: passes that undo each other would go on forever


@dataclass(frozen=True)
class Pass:
    """An edit of a whole graph to be made later; its names are looked up in that graph.

    Attributes:
        name: The name of the command: "fold_constants".
        arguments: Its positional arguments.
        options: Its arguments by name.
    """

    name: str
    arguments: tuple[Any, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    def command(self, core: EditorCore) -> edits.Command:
        """The command for an editor's graph. Raises UnknownName for what the graph lacks."""
        registration = edits.registry.registration_of(self.name)
        assert registration is not None
        command: edits.Command = edits.command_of(
            registration.kind, core.arguments, *self.arguments, **self.options
        )
        return command

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        written = [
            *map(repr, self.arguments),
            *(f"{name}={value!r}" for name, value in self.options.items()),
        ]
        return f"{self.name}({', '.join(written)})"


@dataclass(frozen=True, init=False, repr=False)
class _SeveralPasses:
    passes: tuple[AnyPass, ...]
    name: str
    _how: ClassVar[str] = ""  # how they are applied, in the name

    def __init__(self, *passes: AnyPass | edits.Command, name: str | None = None) -> None:
        object.__setattr__(self, "passes", _check_passes(passes))
        names = ", ".join(_name(each) for each in passes)
        object.__setattr__(self, "name", f"{names}{self._how}" if name is None else name)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.passes))}, name={self.name!r})"


class Sequential(_SeveralPasses):
    """Passes that are applied one after the other, as one step of the history.

    Attributes:
        passes: The passes.
        name: What the history calls the step.
    """


class Repeat(_SeveralPasses):
    """Passes to be repeated until none of them changes anything; one step of the history.

    Attributes:
        passes: The passes.
        name: What the history calls the step.
    """

    _how = ", repeated"


AnyPass: TypeAlias = "Pass | Sequential | Repeat | edits.Command"


def _check_passes(passes: Iterable[object]) -> tuple[Any, ...]:
    """The passes. Raises WrongType for what is not one."""
    for each in passes:
        if not isinstance(each, Pass | Sequential | Repeat | edits.Command):
            raise WrongType(
                "passes",
                f"{value_text(each)} is not a pass; "
                + in_cell("write one of tgw.passes, as passes.fold_constants()."),
            )
    return tuple(passes)


def _name(edit: object) -> str:
    """What an edit is called in the name of several."""
    if isinstance(edit, edits.Command):
        return edit.command_name()
    return str(getattr(edit, "name", "edit"))


def apply_edits(core: EditorCore, values: tuple[object, ...]) -> edits.Edits:
    """Apply edits that are values, several as one step; what was changed by all of them."""
    several = [
        each for value in values for each in (value if isinstance(value, list | tuple) else [value])
    ]
    if len(several) == 1 and not isinstance(several[0], Sequential | Repeat):
        return edits.Edits.together([*_reports(core, several)])
    whole = several[0] if len(several) == 1 else None
    name = _name(whole) if whole is not None else ", ".join(_name(each) for each in several)
    with core.executor.run_as_one(name):
        return edits.Edits.together([*_reports(core, several)])


def _reports(core: EditorCore, values: Iterable[object]) -> Iterator[edits.Edits]:
    """Apply edits one after the other, and report each."""
    for value in values:
        if isinstance(value, Sequential):
            yield from _reports(core, value.passes)
        elif isinstance(value, Repeat):
            yield from _rounds(core, value)
        elif isinstance(value, Mapping):
            from tfgraphwidget.editor.replay import replay

            yield from replay(core.executor, [value])
        else:
            yield core.executor.edit(_command(core, value))


def _rounds(core: EditorCore, value: Repeat) -> Iterator[edits.Edits]:
    """Apply passes until a round has changed nothing."""
    for _ in range(_MOST_ROUNDS):
        reports = [*_reports(core, value.passes)]
        yield from reports
        if not any(reports):
            return
    raise GraphEditError(
        f"{value.name!r} still changes the graph after {_MOST_ROUNDS} rounds; leave one of its "
        "passes out."
    )


def _command(core: EditorCore, value: object) -> edits.Command:
    """The command that an edit is for the current graph."""
    if isinstance(value, Pass):
        return core.executor.with_final_names(value.command(core))
    if isinstance(value, Mapping):
        records = edits.serialization.records_from([value])
        if len(records) != 1:
            raise GraphEditError(
                "preview: a batch has no preview; "
                + in_cell("apply it, and undo it: editor.undo().")
            )
        if records[0].functions and records[0].functions != core.navigator.path[1:]:
            raise GraphEditError(
                f"preview: this edit is one of the function {records[0].functions[-1]!r}; "
                + in_cell("enter that first: editor.view.enter(…).")
            )
        return records[0].command(core.index)
    if isinstance(value, edits.Command):
        return value
    raise WrongType(
        "edit",
        f"{value_text(value)} is not an edit; "
        + in_cell("give error.fixes[0], a pass of tgw.passes, or one of editor.history.records()."),
    )


def preview_edit(
    editor: Any, edit: object, arguments: tuple[Any, ...], options: Mapping[str, Any]
) -> Any:
    """What an edit would do: a value, a method of the editor or a function of an editor."""
    core: EditorCore = editor._core
    if (
        getattr(edit, "__func__", None) is type(editor).apply
        and len(arguments) == 1
        and not options
    ):
        edit, arguments = arguments[0], ()
    while isinstance(edit, Sequential) and len(edit.passes) == 1:
        edit = edit.passes[0]
    if callable(edit) and not isinstance(edit, type):
        from tfgraphwidget.editor.previewing import preview_call

        return preview_call(core, edit, editor, *arguments, **options)
    if arguments or options:
        raise WrongType(
            "arguments",
            "preview: what is previewed has its arguments already; "
            + in_cell("give some with a method only: editor.preview(editor.bypass, 'scope')."),
        )
    if isinstance(edit, Sequential | Repeat):
        raise GraphEditError(
            "preview: each pass changes what the next one finds; "
            + in_cell("apply them, and undo it: editor.undo().")
        )
    return core.executor.preview(_command(core, edit))


class PassValues:
    """Makes passes: `tgw.passes.cast("float16")` is a value that `editor.apply` applies.

    The passes are those of `editor.passes`, and `freeze`. `Sequential` and `Repeat` are made of
    passes.

    >>> import tfgraphwidget as tgw
    >>> tgw.passes.cast("float16")
    cast('float16')
    """

    Sequential = Sequential
    Repeat = Repeat

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)

    def __getattr__(self, name: str) -> Callable[..., Pass]:
        if name not in vars(self).get("_names", ()):
            raise AttributeError(f"passes has no attribute {name!r}{did_you_mean(name, dir(self))}")
        make = _maker_of(name)
        setattr(self, name, make)
        return make

    def __reduce__(self) -> tuple[type, tuple[tuple[str, ...]]]:
        return type(self), (self._names,)

    def __dir__(self) -> list[str]:
        return sorted(["Repeat", "Sequential", *self._names])

    def __repr__(self) -> str:
        return f"<passes: {', '.join(dir(self))}>"


def _maker_of(name: str) -> Callable[..., Pass]:
    """The function that makes a pass of arguments, with parameters and docstring of the command."""
    registration = edits.registry.registration_of(name)
    assert registration is not None  # each name is that of a command
    signature = edits.call_signature(registration.kind)

    def make(*arguments: Any, **options: Any) -> Pass:
        try:
            signature.bind(*arguments, **options)
        except TypeError as error:
            raise TypeError(f"passes.{name}() {error}") from None
        return Pass(name, arguments, options)

    make.__name__, make.__qualname__ = name, f"passes.{name}"
    make.__doc__ = inspect.getdoc(registration.kind)
    make.__dict__["__signature__"] = signature
    return make

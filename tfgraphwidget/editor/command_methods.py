"""Methods of the editor that are made of commands: their parameters and documentation are those of
the command.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from os import PathLike
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tfgraphwidget import edits
from tfgraphwidget.argument_checks import check_arguments
from tfgraphwidget.editor.transaction import one_thread
from tfgraphwidget.graph import patterns
from tfgraphwidget.tf_types import (
    DTypeLike,
    GraphLike,
    OpLike,
    OpsLike,
    SessionLike,
    TensorKey,
    TensorLike,
    TensorsLike,
    TensorSpec,
)

if TYPE_CHECKING:
    from tfgraphwidget.editor.state import EditorCore

    Result: TypeAlias = Callable[[EditorCore, edits.Command, Mapping[str, Any]], object]
    """What a method does with its command, and gives back."""

_NAMES_OF_ANNOTATIONS = (
    Iterable,
    Literal,
    PathLike,
    patterns,
    DTypeLike,
    GraphLike,
    OpLike,
    OpsLike,
    SessionLike,
    TensorKey,
    TensorLike,
    TensorsLike,
    TensorSpec,
)
"""What the annotations of operands name; arguments are checked against them with the names of this
module.
"""


def edit(core: EditorCore, command: edits.Command, _: Mapping[str, Any] | None = None) -> object:
    """Make the edit, and report what was changed."""
    return core.executor.edit(core.executor.with_final_names(command))


def edit_and_compare(
    core: EditorCore, command: edits.Command, options: Mapping[str, Any]
) -> object:
    """Make the edit; with `feeds`, report how far the outputs differ, and undo if a run fails."""
    executor, feeds = core.executor, options["feeds"]
    if feeds is None:
        return edit(core, command)

    core.arguments.feeds(feeds)  # a name that the graph has not is refused before anything is done
    with executor.transaction() as steps:
        steps.on_failure(executor.undo_since, executor.history)
        report = executor.edit(command)
        if not report:
            return report
        comparison = core.evaluator.compare(feeds)
    return replace(
        report, notes=(*report.notes, *(" ".join(output.row()).strip() for output in comparison))
    )


def first_result(core: EditorCore, command: edits.Command, _: Mapping[str, Any]) -> object:
    """Make the edit, and give what the user holds of it."""
    return core.executor.run(command)[0][0]


def clone(core: EditorCore, command: Any, _: Mapping[str, Any]) -> object:
    """Make copies: one, or a list."""
    return core.executor.clone(command)


_FEEDS = inspect.Parameter(
    "feeds",
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation="Mapping[TensorKey, object] | None",
)
_OPTIONS: Mapping[Result, tuple[inspect.Parameter, ...]] = {edit: (), edit_and_compare: (_FEEDS,)}
_MEANINGS = {
    "feeds": "Inputs to run the graph with, before and after; the report says how far the outputs "
    "differ."
}


def method_of(
    command: type[edits.Command], name: str, result: Result = edit, documentation: str = ""
) -> Callable[..., Any]:
    """A method of the editor that makes a command of its arguments.

    Args:
        result: What the method does with the command.
        documentation: Its documentation, where it is not that of the command; "{arguments}" stands
            for the arguments.
    """
    call, options = edits.call_signature(command), _OPTIONS.get(result, ())
    parameters = [*call.parameters.values()]
    end = len(parameters) - any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters)
    editor = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    call_name = command.call_name() if result in _OPTIONS else name
    whole = inspect.Signature([editor, *parameters[:end], *options, *parameters[end:]])

    def method(self: Any, /, *positional: Any, **keywords: Any) -> Any:
        try:
            whole.bind(self, *positional, **keywords)
        except TypeError as error:
            raise TypeError(f"{call_name}() {error}") from None
        chosen = {option.name: keywords.pop(option.name, option.default) for option in options}
        core: EditorCore = self._core
        return result(
            core, edits.command_of(command, core.arguments, *positional, **keywords), chosen
        )

    code = method.__code__.replace(co_name=name)  # by which a refusal and a traceback name the call
    function = FunctionType(code, globals(), name, None, method.__closure__)
    text = inspect.getdoc(command) or ""
    function.__doc__ = edits.call_documentation(
        documentation.replace("{arguments}", edits.arguments_section(text))
        if documentation
        else text,
        {option.name: _MEANINGS[option.name] for option in options},
    )
    function.__signature__ = whole  # type: ignore[attr-defined]
    function.__qualname__ = f"GraphEditor.{name}"
    function.__dict__["call_name"] = call_name
    operands = edits.operand_kinds.operands_of(command)
    meanings = {field: operand.meaning for field, operand in operands.items() if operand.meaning}
    if meanings:
        function.__dict__["argument_meanings"] = meanings
    return function


class EditMethod:
    """A method of the editor for a command, whose class is imported on first use.

    Attributes:
        command_name: The name of the command; "" for the name of the method.
        result: What the method does with the command.
        documentation: Its documentation, see `method_of`.
    """

    def __init__(
        self, command_name: str = "", result: Result = edit, documentation: str = ""
    ) -> None:
        self.command_name, self.result = command_name, result
        self.documentation = inspect.cleandoc(documentation)
        self.name, self.module = "", ""
        self._function: Callable[..., Any] | None = None

    @property
    def examples(self) -> str:
        """The documentation as doctest reads it."""
        return self.documentation.partition("Example:\n")[2]

    def __set_name__(self, owner: type, name: str) -> None:
        self.name, self.module = name, owner.__module__
        self.command_name = self.command_name or name

    @property
    def function(self) -> Callable[..., Any]:
        """The function that it is."""
        if self._function is None:
            registration = edits.registry.registration_of(self.command_name)
            assert registration is not None  # each name of the lists below is that of a command
            function = method_of(registration.kind, self.name, self.result, self.documentation)
            function.__module__ = (
                self.module if self.documentation else registration.kind.__module__
            )
            self._function = check_arguments(function, inside=one_thread)
        return self._function

    def __get__(self, editor: object | None, owner: type | None = None) -> Callable[..., Any]:
        return self.function if editor is None else self.function.__get__(editor, owner)

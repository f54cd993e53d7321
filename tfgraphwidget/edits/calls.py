"""Calls of the editor's methods: what the method of a command takes, and what its documentation
says.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Optional, get_args, get_origin

from tfgraphwidget.edits.command import Command
from tfgraphwidget.edits.operand_kinds import NOT_SET, Resolver, hints_of, operands_of

_ARGUMENTS = re.compile(r"^Args:\n(?:(?:    .*)?\n)+", re.MULTILINE)


def has_own_parameters(kind: type[Command]) -> bool:
    """Whether the editor's method takes what `from_call` says, not a value for each field."""
    return not _own_parameters(kind).keys() <= {"args", "arguments"}


def _own_parameters(kind: type[Command]) -> dict[str, inspect.Parameter]:
    """The parameters of `from_call` after the resolver."""
    return dict([*inspect.signature(kind.from_call).parameters.items()][1:])


@cache
def call_signature(kind: type[Command]) -> inspect.Signature:
    """The parameters of a command's method, without the editor; None if it can do without."""
    whole = _signature(kind)
    return whole.replace(
        parameters=[_optional(parameter) for parameter in whole.parameters.values()]
    )


def _optional(parameter: inspect.Parameter) -> inspect.Parameter:
    """The parameter, with None for a default that is empty."""
    if not _is_empty(parameter.default):
        return parameter
    hint = parameter.annotation
    if isinstance(hint, str):
        annotation: object = (
            hint if hint in {"object", "Any"} or "None" in hint else f"{hint} | None"
        )
    else:
        annotation = hint if hint in {object, Any} else Optional[hint]  # noqa: UP045  # a hint may be a Literal
    return parameter.replace(default=None, annotation=annotation)


def _is_empty(default: object) -> bool:
    """Whether a default of a field means that nothing is given."""
    return isinstance(default, str | tuple) and not default


@cache
def _signature(kind: type[Command]) -> inspect.Signature:
    """The parameters of the editor's method, with the defaults of the fields."""
    if has_own_parameters(kind):
        return inspect.Signature([*_own_parameters(kind).values()])
    hints, operands = hints_of(kind), operands_of(kind)
    parameters = []
    for field in dataclasses.fields(kind):
        operand = operands[field.name]
        if operand.is_derived or not field.init:
            continue
        parameters.append(
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY
                if field.kw_only
                else inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=_default(field) if operand.default is NOT_SET else operand.default,
                annotation=operand.accepts or _without_kind(hints[field.name]),
            )
        )
    # A base class may have fields by keyword only, before those of the class itself.
    return inspect.Signature(sorted(parameters, key=lambda parameter: parameter.kind))


def _default(field: dataclasses.Field[Any]) -> object:
    """The default of a field; of one that makes a new value each time, such a value."""
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is dataclasses.MISSING:
        return inspect.Parameter.empty
    return field.default_factory()


def _without_kind(hint: Any) -> Any:
    """An annotation without the kind that it may have."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def command_of(
    kind: type[Command], resolver: Resolver, /, *positional: Any, **arguments: Any
) -> Any:
    """The command of a call of the editor's method with these arguments, whose names `resolver`
    finds in the current graph. Raises TypeError for arguments that the method does not take, and
    GraphEditError for those that do not fit.
    """
    bound = _signature(kind).bind(*positional, **arguments)
    for name, value in [*bound.arguments.items()]:
        if value is None and _is_empty(_signature(kind).parameters[name].default):
            del bound.arguments[name]
    bound.apply_defaults()
    if has_own_parameters(kind):
        return kind.from_call(resolver, *bound.args, **bound.kwargs)
    return kind.from_call(resolver, **bound.arguments)


def call_documentation(text: str, options: Mapping[str, str]) -> str:
    """The docstring of the editor's method: the command's, with `options` on further parameters."""
    lines = "".join(f"    {name}: {what}\n" for name, what in options.items())
    if not lines:
        return text
    section = _ARGUMENTS.search(text + "\n")
    if section is not None:
        end = section.end()
        rest = text[end:]
        return text[:end].rstrip("\n") + "\n" + lines + (f"\n{rest}" if rest else "")
    before, heading, after = text.partition("\n\nReturns:")
    return f"{before}\n\nArgs:\n{lines}" + (f"\nReturns:{after}" if heading else "")


def arguments_section(text: str) -> str:
    """The section of a docstring on the arguments."""
    section = _ARGUMENTS.search(text + "\n")
    return section[0].rstrip("\n") if section else ""

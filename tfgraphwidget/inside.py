"""Clones of a function's body: what a room's body is to `applying.modules`."""

from __future__ import annotations

import dataclasses
from typing import Any

from tfgraphwidget.applying import modules
from tfgraphwidget.edits.clone import Clone
from tfgraphwidget.edits.preview import Preview
from tfgraphwidget.errors import NotClonable
from tfgraphwidget.room import Room
from tfgraphwidget.sources.body import Source
from tfgraphwidget.sources.held import held

_TAKEN = frozenset({"inputs", "outputs", "into", "variables", "init", "selection", "where"})


def cloned(command: Clone, source: Source, room: Room) -> modules.ModuleCopy:
    """The tf.Module that a clone of a part of the room is. Raises GraphEditError."""
    inputs, outputs, also = _asked(command, room)
    body = room.body
    variables = command.variables if isinstance(command.variables, str) else dict(command.variables)
    return modules.as_module(
        *(room.index, held(source, body), inputs, outputs, command.into),
        variables=variables,
        init=str(command.init),
        also=also,
        arguments=body.arguments,
        returns=body.returns,
    )


def told(command: Clone, source: Source, room: Room) -> Preview:
    """What `cloned` will do."""
    inputs, outputs, also = _asked(command, room)
    body = room.body
    variables = command.variables if isinstance(command.variables, str) else dict(command.variables)
    ends = body.arguments, body.returns
    return modules.told(room.index, held(source, body), (inputs, outputs), command.into, variables, also, ends)


def _asked(command: Clone, room: Room) -> tuple[tuple[str, ...], tuple[str, ...], Any]:
    """Inputs, outputs and further ops; NotClonable for what a module has no use for."""
    for field in dataclasses.fields(command):
        if field.name not in _TAKEN and getattr(command, field.name) != field.default:
            raise NotClonable(
                f"A clone of a function's body is a tf.Module, which has no use for {field.name}=; leave it out."
            )
    if not isinstance(command.init, str):
        raise NotClonable('A clone of a function\'s body takes init="current" or "initial"; assign to its variables.')
    if command.selection is None:
        return command.inputs, command.outputs, ()
    selection = command.selection.on(room.index)
    inputs, outputs = selection.ends
    return inputs, outputs, selection.ids

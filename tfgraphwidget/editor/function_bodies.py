"""Clones of a function's body: what a room's body is to `runtime.functions.module_clone`."""

from __future__ import annotations

import dataclasses
from typing import Any

from tfgraphwidget.editor.graph_view import Room
from tfgraphwidget.editor.navigator import Rooms
from tfgraphwidget.editor.targets import Draft
from tfgraphwidget.edits.clone.command import Clone
from tfgraphwidget.edits.patch import Patch, Preview
from tfgraphwidget.edits.signature_tracking import Ends, ends_now
from tfgraphwidget.errors import NotClonable
from tfgraphwidget.graph.boundary import between, left_out, unused
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.runtime.functions import edited_function, module_clone
from tfgraphwidget.sources import Body, Source, captured_state

_TAKEN = frozenset({"inputs", "outputs", "into", "variables", "init", "selection", "where"})


def cloned(command: Clone, source: Source, room: Room) -> module_clone.ModuleCopy:
    """The tf.Module that a clone of a part of the room is. Raises GraphEditError."""
    inputs, outputs, also, notices = _asked(command, room)
    body = room.body
    variables = command.variables if isinstance(command.variables, str) else dict(command.variables)
    module = module_clone.as_module(
        *(room.index, captured_state(source, body), inputs, outputs, command.into),
        variables=variables,
        init=str(command.init),
        also=also,
        arguments=body.arguments,
        returns=body.returns,
    )
    module.report = _with(module.report, notices)
    return module


def told(command: Clone, source: Source, room: Room) -> Preview:
    """What `cloned` will do."""
    inputs, outputs, also, notices = _asked(command, room)
    body = room.body
    variables = command.variables if isinstance(command.variables, str) else dict(command.variables)
    ends = body.arguments, body.returns
    told = module_clone.told(
        room.index, captured_state(source, body), (inputs, outputs), command.into, variables, also, ends
    )
    return _with(told, notices)


def edited(source: Source, body: Body, index: GraphIndex, ends: Ends, into: str) -> module_clone.ModuleCopy:
    """A whole body as a tf.Module that takes and gives `ends`, with the variables that the function has.

    `index` is the body as edits have left it.
    """
    state = captured_state(source, body)
    arguments, returns = ends
    given = tuple(name for name in arguments if split_tensor(name)[0] not in state.names)
    is_live = all(state.live(name) is not None for name in state.names)
    return module_clone.as_module(
        *(index, state, given, (), into),
        variables="shared" if is_live else "own",
        also=frozenset(index.op(name) for name in returns.values()),  # takes arguments that nothing here reads, too
        arguments=arguments,
        returns=returns,
    )


def taken_along(rooms: Rooms, path: tuple[str, ...], index: GraphIndex) -> GraphIndex:
    """The graph of the room of that path with calls of the functions behind its ops as edits have left them."""
    for title, room in rooms.inside(path).items():
        inner, patches = taken_along(rooms, (*path, title), room.index), _patches(room)
        if patches or inner is not room.index:
            op, _, label = title.partition(":")
            ends = ends_now(room.body.arguments, room.body.returns, patches)
            renamed: dict[str, str] = {}
            for patch in patches:
                now = dict(patch.renamed)
                renamed = {**now, **{old: now.get(name, name) for old, name in renamed.items()}}
            index = edited_function.taken_along(
                index, op, label, edited_function.Edition(room.body, inner, ends, renamed)
            )
    return index


def _patches(room: Room) -> tuple[Patch, ...]:
    return room.site.patches if isinstance(room.site, Draft) else ()


def _with(report: Preview, notices: tuple[str, ...]) -> Preview:
    return dataclasses.replace(report, dropped=(*notices, *report.dropped))


def _asked(command: Clone, room: Room) -> tuple[tuple[str, ...], tuple[str, ...], Any, tuple[str, ...]]:
    """Inputs that the outputs use, outputs, further ops, and the notice for other inputs.

    Raises NoPath, and NotClonable for what a module has no use for.
    """
    for field in dataclasses.fields(command):
        if field.name not in _TAKEN and getattr(command, field.name) != field.default:
            raise NotClonable(
                f"A clone of a function's body is a tf.Module, which has no use for {field.name}=; leave it out."
            )
    if not isinstance(command.init, str):
        raise NotClonable('A clone of a function\'s body takes init="current" or "initial"; assign to its variables.')
    if command.selection is None:
        lost: tuple[str, ...] = ()
        if command.inputs and command.outputs:  # else it is the whole function, or all that its results need
            lost = unused(room.index, command.inputs, between(room.index, command.inputs, command.outputs).mask)
        used = tuple(name for name in command.inputs if name not in lost)
        return used, command.outputs, (), left_out(lost, command.outputs)
    selection = command.selection.on(room.index)
    inputs, outputs = selection.ends
    return inputs, outputs, selection.ids, ()

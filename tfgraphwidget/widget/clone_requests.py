"""Clones that the panel asks for: what one would do, before the click, and a sentence on what it
did.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections import Counter
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Literal

from tfgraphwidget import edits
from tfgraphwidget.errors import GraphEditError, NotClonable
from tfgraphwidget.graph import Op, control_flow, shape_text
from tfgraphwidget.naming import count_text, enclosing_scopes, split_tensor
from tfgraphwidget.sources import shape_from_proto
from tfgraphwidget.widget import protocol as p

if TYPE_CHECKING:
    from tfgraphwidget.editor import GraphEditor
    from tfgraphwidget.edits import Preview, State
    from tfgraphwidget.edits.clone import Clone

Modes = p.Mode | tuple[tuple[str, p.Mode], ...]

_MOST_NAMES = 200  # what a panel can show
_MOST_HELD = 2_000  # what a person can search in
_FEW_SHARED = 3  # what the sentence about a clone names
_LONGEST = 20_000  # characters of a line
_FOR_ONE_STEP = "stack"
_VALUES = {
    "current": "with the present values",
    "initial": "initialized again",
    "none": "not initialized",
}


class CloneRequests:
    """Turns the panel's form into a command, and previews what that does."""

    def __init__(self, editor: GraphEditor) -> None:
        self._editor = editor

    def command(self, form: p.Form) -> Clone:
        """The clone that a form asks for, as the Python call makes it. Raises GraphEditError."""
        if not form.others:
            return self._command(form, form.variables)
        states = [state.name for state in self._states(form)]
        return self._command(form, modes_of(form.variables, form.others, states))

    def preview(self, form: p.Form) -> p.ClonePreview:
        """Preview the clone; a refusal is an answer too."""
        try:
            command = self.command(form)
            preview = self._preview(command)
        except GraphEditError as refusal:
            why, ops = refusal.sentence, refusal.ops[:_MOST_NAMES]
            return p.ClonePreview(refusal=why, warned=ops, offer=self._offer(form, refusal))
        states: tuple[State, ...] = ()
        with contextlib.suppress(GraphEditError):  # it can be right to share what cannot be copied
            states = self._states(form)
        shared = {state.name for state in preview.shared}
        outside = [
            ("tensor", name) for name in preview.inputs if split_tensor(name)[0] not in shared
        ]
        outside += [("control input", name) for name in preview.control_inputs]
        outside += [("placeholder", name) for name, _ in preview.placeholders]
        return p.ClonePreview(
            line=self._line(command),
            ops=len(preview.ops),
            scopes=preview.scopes,
            outside=_groups(outside),
            new=_groups((state.kind, state.name) for state in preview.new),
            shared=_groups((state.kind, state.name) for state in preview.shared),
            stateful=_groups(preview.stateful),
            dropped=preview.dropped[:_MOST_NAMES],
            states=tuple(self._state(state, shared) for state in states[:_MOST_HELD]),
            states_total=len(states),
        )

    def _command(self, form: p.Form, variables: Modes) -> Clone:
        editor = self._editor
        if form.inputs or form.outputs:
            plain: edits.Clone = edits.command_of(
                edits.Clone, editor._core.arguments, form.inputs, form.outputs, form.into
            )
        elif editor.selection is None:
            raise GraphEditError(
                "Nothing is selected; mark inputs and outputs, draw a box, or Ctrl-click an op "
                "first."
            )
        else:
            plain = edits.command_of(
                edits.Clone, editor._core.arguments, editor.selection, None, form.into
            )
        return dataclasses.replace(
            plain,
            variables=variables,
            init=form.init,
            placeholders=form.placeholders,
            reseed=form.reseed,
            times=form.times,
            device=form.device or None,
        )

    def _preview(self, command: Clone) -> Preview:
        return self._editor._core.executor.sample(command)

    def _states(self, form: p.Form) -> tuple[State, ...]:
        """The state that the part holds: what a copy with nothing shared gets of its own."""
        unshared = dataclasses.replace(form, variables="own", others=())
        everything = self._preview(self._command(unshared, "own"))
        return tuple(state for state in everything.new if state.kind != _FOR_ONE_STEP)

    def _state(self, state: State, shared: Collection[str]) -> p.PartState:
        """A state with what a variable's op says of it."""
        dtype = shape = ""
        if state.kind == "variable":
            index = self._editor._core.index
            op = Op(index, index.op(state.name))
            dtype = str(op.attr("dtype", ""))
            proto = op.attr("shape")
            shape = "" if proto is None else shape_text(shape_from_proto(proto))
        mode: p.Mode = "shared" if state.name in shared else "own"
        return p.PartState(name=state.name, kind=state.kind, dtype=dtype, shape=shape, mode=mode)

    def _offer(self, form: p.Form, refusal: GraphEditError) -> Literal["", "loop", "conditional"]:
        """The larger part that contains the chosen ops, if a clone of it works."""
        part = self._editor.selection
        whole = part.whole() if part is not None and isinstance(refusal, NotClonable) else part
        if part is None or whole is None or whole == part:
            return ""
        arguments = self._editor._core.arguments
        try:
            self._preview(edits.command_of(edits.Clone, arguments, whole, None, form.into))
        except GraphEditError:
            return ""
        for name in refusal.ops:
            blocks = control_flow.enclosing_blocks(part.index, part.index.op(name))
            if any(isinstance(block, control_flow.Loop) for block in blocks):
                return "loop"
        return "conditional"

    def _line(self, command: Clone) -> str:
        """The Python for it; a list of names too long to read is what also gives it."""
        line = command.code()
        if len(line) > _LONGEST and command.selection is not None:
            line = line.replace(command.selection.expression, "editor.selection", 1)
        return line[:_LONGEST]


def modes_of(default: p.Mode, others: Collection[str], states: Iterable[str]) -> Modes:
    """`variables` of a clone in which some handles have another mode than the default, with as few
    pairs as needed: one mode for all, or (handle or scope, mode) pairs.

    A pair is for a handle, or for a scope and all in it; a later one says more than an earlier one.
    What no pair is for is "own".

    >>> modes_of("own", ["a/w"], ["a/w", "a/b"]), modes_of("shared", ["a/w"], ["a/w", "a/b"])
    ((('a/w', 'shared'),), (('a', 'shared'), ('a/w', 'own')))
    """
    opposite: p.Mode = "own" if default == "shared" else "shared"
    mode_of = {name: opposite if name in others else default for name in sorted(states)}
    if len(set(mode_of.values())) < 2:
        return next(iter(mode_of.values()), default)
    pairs: dict[str, p.Mode] = {}
    if default == "shared":
        pairs = {name.partition("/")[0]: default for name in mode_of}
    for name, mode in mode_of.items():
        around = [pairs[scope] for scope in (*enclosing_scopes(name), name) if scope in pairs]
        innermost = around[-1] if around else "own"
        if innermost != mode:
            pairs[name] = mode
    return tuple(sorted(pairs.items()))


def summary(preview: Preview, init: p.Init) -> str:
    """The sentence about a clone."""
    times = len(preview.scopes)
    if times == 1:
        into = f"{preview.scopes[0]!r}"
    else:
        into = f"{times:,} scopes, {preview.scopes[0]!r} to {preview.scopes[-1]!r}"
    text = f"Cloned {count_text(len(preview.ops), 'op')} into {into}"
    if preview.new:
        whose = "of its own" if times == 1 else "each of their own"
        text += f", among them {_count_states(preview.new)} {whose}, {_VALUES[init]}"
    text += "."
    if preview.shared:
        names = ", ".join(state.name for state in preview.shared[:_FEW_SHARED])
        more = " …" if len(preview.shared) > _FEW_SHARED else ""
        text += f" Still shared with the original: {names}{more}."
    return text


def _count_states(states: Iterable[State]) -> str:
    """States as people count them: "4 variables and 1 hash table"."""
    counts = Counter(state.kind for state in states)
    words = [f"{count:,} {kind if count == 1 else _plural(kind)}" for kind, count in counts.items()]
    return ", ".join(words[:-1]) + " and " + words[-1] if len(words) > 1 else words[0]


def _plural(kind: str) -> str:
    noun, of, what = kind.partition(" of ")
    return f"{noun}s{of}{what}"


def _groups(pairs: Iterable[tuple[str, str]]) -> tuple[p.Group, ...]:
    """(kind, name) pairs by kind, in the order of first mention."""
    names_of: dict[str, list[str]] = {}
    for kind, name in pairs:
        names_of.setdefault(kind, []).append(name)
    return tuple(
        p.Group(kind, tuple(names[:_MOST_NAMES]), len(names)) for kind, names in names_of.items()
    )

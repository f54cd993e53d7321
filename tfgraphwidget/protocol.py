"""Every message between the browser and the kernel; `labextension/src/protocol.ts` is generated from here.

The browser sends one request, with an id of its own; it gets exactly one reply with that id. A refusal is a
reply too. Numbers travel beside the reply as one binary buffer whose layout `fields` gives. `wire` reads and writes.
"""

# Over 300 lines because one file owns the messages.

from __future__ import annotations

import dataclasses
from typing import Literal

Mode = Literal["own", "shared"]
Init = Literal["current", "initial", "none"]


@dataclasses.dataclass(frozen=True)
class Open:
    """Send the scene; the first thing a view says."""


@dataclasses.dataclass(frozen=True)
class Toggle:
    """Open the scope if it is closed, else close it."""

    scope: str


@dataclasses.dataclass(frozen=True)
class Reveal:
    """Open the scopes around an op, a tensor or a scope, so that it can be seen."""

    name: str


@dataclasses.dataclass(frozen=True)
class Boundary:
    """Take these op or tensor names as the boundary; both empty to clear."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Inspect:
    """Everything about one op or scope."""

    name: str


@dataclasses.dataclass(frozen=True)
class Search:
    """Ops whose name or type contains the text."""

    text: str
    limit: int = 50


@dataclasses.dataclass(frozen=True)
class Select:
    """Make these ops and scopes the selection, add them to it, or remove them.

    toggle adds them, or removes them when all are in it already.

    Box and lasso say set or add, a Ctrl-click says toggle.
    """

    verb: Literal["set", "add", "remove", "toggle"]
    ops: tuple[str, ...]
    scopes: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Derive:
    """Make a new selection from the present one. `path` takes all ops between the two selected ones, `shortest` the
    fewest; `scope` the name scopes around the selected ops, `whole` the v1 loops and conditionals that they take a part
    of; `boundary` marks the selection's inputs and outputs.
    """

    verb: Literal[
        "upstream", "downstream", "scope", "path", "shortest", "grow", "shrink", "whole", "invert", "clear", "boundary"
    ]


@dataclasses.dataclass(frozen=True)
class Enter:
    """Go into a function that an op calls; `label` says which one when it calls several ("body"), "" is the first."""

    op: str
    label: str = ""


@dataclasses.dataclass(frozen=True)
class Leave:
    """Go back out to the room at this place of the path; 0 is the graph itself."""

    depth: int


@dataclasses.dataclass(frozen=True)
class Refresh:
    """Read the graph anew."""


@dataclasses.dataclass(frozen=True)
class Form:
    """What is to be cloned, and how: the ops between the boundaries, or the selection when there are none.

    `variables` says of all state in the part whether the copy gets its own, `others` are the handles of which the
    opposite holds. `times` None is one copy, into the name scope `into` itself; `device` "" is the originals'.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    into: str
    variables: Mode = "own"
    others: tuple[str, ...] = ()
    init: Init = "current"
    placeholders: bool = False
    reseed: bool = False
    times: int | None = None
    device: str = ""


@dataclasses.dataclass(frozen=True)
class Clone(Form):
    """Copy a part into a name scope."""


@dataclasses.dataclass(frozen=True)
class Preview(Form):
    """What `Clone` with the same fields would do; nothing changes."""


@dataclasses.dataclass(frozen=True)
class Undo:
    """Take the last edit back."""


@dataclasses.dataclass(frozen=True)
class Redo:
    """Do again what was undone last."""


Edit = Clone | Undo | Redo
Question = Inspect | Search | Preview
Request = Open | Toggle | Reveal | Boundary | Question | Select | Derive | Enter | Leave | Refresh | Edit


@dataclasses.dataclass(frozen=True)
class Field:
    """One array inside the buffer: `dtype` is u1, u4, i4 or f4 (little-endian), `offset` in bytes, a multiple of 4."""

    name: str
    dtype: Literal["u1", "u4", "i4", "f4"]
    shape: tuple[int, ...]
    offset: int


@dataclasses.dataclass(frozen=True)
class State:
    """What the panel shows beside the drawing.

    `path` names the rooms one stands in, outermost first; `warnings` are sentences about what can only be looked at;
    `editable` says why Clone will not work here, or "". `expression` is the Python that gives the selection, or "".
    `proposal` is a scope name still free, `values` what a clone's variables can be given. `code` are the lines of
    Python that do what was done so far, oldest first; `notice` is one sentence about what just happened, or "".
    """

    revision: int
    path: tuple[str, ...]
    warnings: tuple[str, ...]
    editable: str
    expression: str
    ops: int
    variables: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    selected_ops: int
    selected_variables: int
    proposal: str
    values: Init
    undo: str
    redo: str
    code: tuple[str, ...]
    notice: str


@dataclasses.dataclass(frozen=True)
class Drawn:
    """A whole scene; `focus` is the item to bring into view, or "" to leave the camera alone."""

    state: State
    fields: tuple[Field, ...]
    focus: str


@dataclasses.dataclass(frozen=True)
class Painted:
    """Positions stay; only the fields of the selection changed."""

    state: State
    fields: tuple[Field, ...]


@dataclasses.dataclass(frozen=True)
class Tensor:
    """One input or output of an op; `peers` are the ops at the other end."""

    name: str
    dtype: str
    shape: str
    peers: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Door:
    """A function that an op calls; `label` is what the op uses it as: "body", "cond", "f", "branches[1]"."""

    label: str
    function: str
    ops: int


@dataclasses.dataclass(frozen=True)
class Around:
    """A v1 while loop or conditional around an op: what to call it, and how many ops it has."""

    kind: Literal["while loop", "conditional"]
    name: str
    ops: int


@dataclasses.dataclass(frozen=True)
class Inspected:
    """Details of an op, or of a scope (then `op_type` is ""). `around` goes from the innermost to the outermost."""

    name: str
    op_type: str
    device: str
    ops: int
    variables: int
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    control_inputs: tuple[str, ...]
    attributes: tuple[tuple[str, str], ...]
    doors: tuple[Door, ...]
    around: tuple[Around, ...]


@dataclasses.dataclass(frozen=True)
class Hit:
    """One op found."""

    name: str
    type: str


@dataclasses.dataclass(frozen=True)
class Found:
    """The first hits in graph order; `total` counts all."""

    hits: tuple[Hit, ...]
    total: int


@dataclasses.dataclass(frozen=True)
class Group:
    """The first 200 names of one kind in graph order, and how many there are."""

    kind: str
    names: tuple[str, ...]
    total: int


@dataclasses.dataclass(frozen=True)
class Held:
    """One state that the part holds: a "variable", whose dtype and shape are told, a "hash table", a "queue" …"""

    name: str
    kind: str
    dtype: str
    shape: str
    mode: Mode


@dataclasses.dataclass(frozen=True)
class Previewed:
    """What a clone would do, or the one sentence of its refusal.

    `ops` ops are copied into each of `scopes`. `outside` is what comes in there: each "tensor" and "control input", and
    each tensor that a new "placeholder" stands for. `new` and `shared` are the copy's own state and what it shares with
    the original, by what they are; `stateful` are ops that do something beside computing tensors, by op type. `held`
    are the first 2,000 of the `held_total` states that can be own or shared. `line` is the Python for it.
    `warned` are the ops that a refusal is about; `offer` says what must be taken whole for the clone to work, or "".
    """

    refusal: str = ""
    warned: tuple[str, ...] = ()
    offer: Literal["", "loop", "conditional"] = ""
    line: str = ""
    ops: int = 0
    scopes: tuple[str, ...] = ()
    outside: tuple[Group, ...] = ()
    new: tuple[Group, ...] = ()
    shared: tuple[Group, ...] = ()
    stateful: tuple[Group, ...] = ()
    dropped: tuple[str, ...] = ()
    held: tuple[Held, ...] = ()
    held_total: int = 0


@dataclasses.dataclass(frozen=True)
class Refused:
    """Nothing has changed; `why` is one sentence, `ops` what to highlight."""

    why: str
    ops: tuple[str, ...]


Reply = Drawn | Painted | Inspected | Found | Previewed | Refused

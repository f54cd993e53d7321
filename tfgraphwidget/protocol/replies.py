"""What the kernel replies, and what a reply is made of."""

from __future__ import annotations

import dataclasses
from typing import Literal

from tfgraphwidget.protocol.details import Examined, Inspected
from tfgraphwidget.protocol.requests import Mode
from tfgraphwidget.protocol.state import Field, Group, State


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
class Foreseen:
    """The scene as it will be; `stamp` says in a Toggle that the view shows it. Without fields where none is told."""

    stamp: str = ""
    fields: tuple[Field, ...] = ()


@dataclasses.dataclass(frozen=True)
class Hit:
    """One op found."""

    name: str
    type: str


@dataclasses.dataclass(frozen=True)
class Found:
    """The first hits, the nearest first; `total` counts all, in `scopes` name scopes.

    `why` says what is wrong with the query, or "".
    """

    hits: tuple[Hit, ...]
    total: int
    why: str = ""
    scopes: int = 0


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
class Slot:
    """One input of an op: the tensor that it reads now, and `why` it cannot read another, or ""."""

    tensor: str
    why: str


@dataclasses.dataclass(frozen=True)
class Targeted:
    """The ops of the drawing that cannot read a tensor, each with the reason; and the inputs of one op.

    `outputs` are all tensors that the tensor's op gives; where one must be named first, there is nothing else.
    """

    tensor: str
    outputs: tuple[str, ...]
    op: str
    refused: tuple[tuple[str, str], ...]
    slots: tuple[Slot, ...]


@dataclasses.dataclass(frozen=True)
class Scripted:
    """A Python script."""

    text: str


@dataclasses.dataclass(frozen=True)
class Pictured:
    """A picture file; its bytes are the reply's buffer."""

    name: str


@dataclasses.dataclass(frozen=True)
class Offer:
    """An edit that would do where one was refused, in a few words and as Python."""

    text: str
    line: str


@dataclasses.dataclass(frozen=True)
class Refused:
    """Nothing has changed; `why` is one sentence, `ops` what to highlight, `mends` what would do instead."""

    why: str
    ops: tuple[str, ...]
    mends: tuple[Offer, ...] = ()


@dataclasses.dataclass(frozen=True)
class There:
    """The editor is there; the number of its state, as in State."""

    revision: int


@dataclasses.dataclass(frozen=True)
class Working:
    """No reply: sent while one takes its time. `done` of `total` are done, or 0 of 0 where nobody knows how much it is.

    `what` is what is being done, or "" while the request waits for its turn.
    """

    what: str
    done: int
    total: int


Reply = (
    Drawn
    | Painted
    | Foreseen
    | Inspected
    | Examined
    | Found
    | Previewed
    | Targeted
    | Scripted
    | Pictured
    | Refused
    | There
)

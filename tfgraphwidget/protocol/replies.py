"""What the kernel replies, and what a reply is made of."""

from __future__ import annotations

import dataclasses
from typing import Literal

from tfgraphwidget.protocol.requests import Init, Mode


@dataclasses.dataclass(frozen=True)
class Field:
    """One array inside the buffer: `dtype` is u1, u4, i4 or f4 (little-endian), `offset` in bytes, a multiple of 4."""

    name: str
    dtype: Literal["u1", "u4", "i4", "f4"]
    shape: tuple[int, ...]
    offset: int


@dataclasses.dataclass(frozen=True)
class Group:
    """The first 200 names of one kind in graph order, and how many there are."""

    kind: str
    names: tuple[str, ...]
    total: int


@dataclasses.dataclass(frozen=True)
class State:
    """What the panel shows beside the drawing.

    `path` names the rooms one stands in, outermost first; `warnings` are sentences about what can only be looked at;
    `editable` says why Clone will not work here, or "". `expression` is the Python that gives the selection, or "".
    `proposal` is a scope name still free, `values` what a clone's variables can be given. `code` are the lines of
    Python that do what was done so far, oldest first, `ahead` those of what was undone, the next to redo first;
    `notice` is what just happened, or "". While `comparing`, `changes` are the ops "added", "removed" and "changed".
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
    ahead: tuple[str, ...]
    comparing: bool
    changes: tuple[Group, ...]
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
class Seen:
    """What a tensor was when the graph was run, in words: all of it when it is small, else its range.

    `bars` are the counts of a histogram between the two ends of the range; none for text or where nothing is finite.
    """

    shape: str
    value: str
    low: str
    mean: str
    high: str
    nans: int
    infs: int
    bars: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Tensor:
    """One input or output of an op; `peers` are the ops at the other end."""

    name: str
    dtype: str
    shape: str
    peers: tuple[str, ...]
    seen: Seen | None = None


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


Reply = Drawn | Painted | Inspected | Found | Previewed | Targeted | Scripted | Refused

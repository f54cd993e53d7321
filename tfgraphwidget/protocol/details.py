"""What the inspector shows of an op or a scope."""

from __future__ import annotations

import dataclasses
from typing import Literal


@dataclasses.dataclass(frozen=True)
class Seen:
    """What a tensor was when the graph was run, in words: all of it when it is small, else its range.

    `bars` are the counts of a histogram between the two ends of the range; none for text or where nothing is finite.
    """

    dtype: str
    shape: str
    value: str
    low: str
    mean: str
    std: str
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
class Image:
    """A small picture of grey values, 0 to 255, row by row in base64: one filter of a kernel, or a matrix."""

    title: str
    width: int
    height: int
    pixels: str


@dataclasses.dataclass(frozen=True)
class Examined:
    """What can be said of an op beyond its wiring.

    `value` is what its variable or constant holds, `why` the sentence why there is none. `images` are previews of it.
    `summary` and `about` are TensorFlow's documentation of the op type; `arguments` name its inputs, outputs and
    attributes, each (sort, name, text). `created` are the lines of Python that made the op, innermost last.
    `signature` are the arguments and results of the function that it calls, each (sort, name, dtype and shape).
    """

    name: str
    value: Seen | None
    why: str
    images: tuple[Image, ...]
    summary: str
    about: str
    arguments: tuple[tuple[str, str, str], ...]
    created: tuple[str, ...]
    signature: tuple[tuple[str, str, str], ...]

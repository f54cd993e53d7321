"""Every message between the browser and the kernel; `labextension/src/protocol.ts` is generated from here.

The browser sends one request, with an id of its own; it gets exactly one reply with that id. A refusal is a
reply too. Numbers travel beside the reply as one binary buffer whose layout `fields` gives.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

from tfgraphwidget.errors import GraphEditError


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
    fewest; `scope` the name scopes around the selected ops; `boundary` marks the selection's inputs and outputs.
    """

    verb: Literal[
        "upstream", "downstream", "scope", "path", "shortest", "grow", "shrink", "invert", "clear", "boundary"
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
class Clone:
    """Copy the ops between the boundaries into the name scope `into`."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    into: str
    variables: Literal["own", "shared"] = "own"
    init: Literal["current", "initial", "none"] = "current"


@dataclasses.dataclass(frozen=True)
class Undo:
    """Take the last edit back."""


@dataclasses.dataclass(frozen=True)
class Redo:
    """Do again what was undone last."""


Edit = Clone | Undo | Redo
Request = Open | Toggle | Reveal | Boundary | Inspect | Search | Select | Derive | Enter | Leave | Refresh | Edit


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
    `copied_ops` is how many ops a clone copies; `outside` the tensors (and, as "^op", control inputs) that come in from
    elsewhere, `shared` the variables that a copy would go on reading by way of them: the first 200, and how many there
    are. `proposal` is a scope name still free, `values` what a clone's variables can be given. `code` are the lines of
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
    copied_ops: int
    outside: tuple[str, ...]
    outside_total: int
    shared: tuple[str, ...]
    shared_total: int
    proposal: str
    values: Literal["current", "initial", "none"]
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
class Refused:
    """Nothing has changed; `why` is one sentence, `ops` what to highlight."""

    why: str
    ops: tuple[str, ...]


Reply = Drawn | Painted | Inspected | Found | Refused

REQUESTS: Mapping[str, type] = {kind.__name__.lower(): kind for kind in get_args(Request)}


def decode(message: object) -> tuple[int, Request]:
    """The id and the request of a message {"id": 7, "type": "toggle", "scope": "a"}; GraphEditError otherwise."""
    if not isinstance(message, dict) or not isinstance(message.get("id"), int):
        raise GraphEditError("A message to the editor needs a whole number as its id; reload the page.")
    kind = REQUESTS.get(str(message.get("type")))
    if kind is None:
        raise GraphEditError(f"The editor knows no request {str(message.get('type'))[:80]!r}; reload the page.")
    body = {key: value for key, value in message.items() if key not in {"id", "type"}}
    hints = get_type_hints(kind)
    unknown = sorted(set(body) - set(hints))
    if unknown:
        raise GraphEditError(f"A {message['type']!r} request has no field {str(unknown[0])[:80]!r}; reload the page.")
    values = {name: _checked(value, hints[name], name) for name, value in body.items()}
    needed = {f.name for f in dataclasses.fields(kind) if f.default is dataclasses.MISSING}
    if needed - set(values):
        raise GraphEditError(f"A {message['type']!r} request needs {min(needed - set(values))!r}; reload the page.")
    return message["id"], kind(**values)


def _checked(value: Any, hint: Any, name: str) -> Any:
    """`value` as the field's type wants it; lists become tuples."""
    if get_origin(hint) is Literal and value in get_args(hint):
        return value
    if get_origin(hint) is tuple and isinstance(value, list) and all(isinstance(v, str) for v in value):
        return tuple(value)
    if hint is str and isinstance(value, str):
        return value
    if hint is int and isinstance(value, int) and not isinstance(value, bool):
        return value
    raise GraphEditError(f"The field {name!r} of a request cannot be {str(value)[:80]!r}; reload the page.")


def encode(number: int, reply: Reply) -> dict[str, Any]:
    """The message for a reply, ready for JSON."""
    return {"id": number, "type": type(reply).__name__.lower(), **dataclasses.asdict(reply)}

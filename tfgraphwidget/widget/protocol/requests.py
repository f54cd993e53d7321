"""The requests of the browser."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Annotated, Literal

from tfgraphwidget.edits import registry

Mode = Literal["own", "shared"]
Init = Literal["current", "initial", "none"]
Side = Literal["inputs", "outputs"]


@dataclasses.dataclass(frozen=True)
class Open:
    """Send the scene; the first thing a view says.

    `alone`: no other view shows it, so which scopes are open at first is chosen for the pane of
    this one.
    """

    alone: bool = False


@dataclasses.dataclass(frozen=True)
class Toggle:
    """Open the scope or group if it is closed, else close it; `deep`: with all that is inside.

    `stamp` is that of the drawing with it open that the view shows already (see NextScene), which
    then is what is meant; or "".
    """

    scope: str
    deep: bool = False
    stamp: str = ""


@dataclasses.dataclass(frozen=True)
class PrefetchScene:
    """Send the drawing as it will be once a closed scope or group is opened; nothing changes."""

    scope: str


@dataclasses.dataclass(frozen=True)
class ExpandAll:
    """Open every scope and group, or close them all."""

    everything: bool


@dataclasses.dataclass(frozen=True)
class OpenOnly:
    """Open these scopes, and those around these ops, tensors and scopes; close all others."""

    scopes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Hide:
    """Leave ops, scopes and groups out of the drawing, all but these ("only"), or none any more
    ("nothing").
    """

    command: Literal["hide", "only", "nothing"]
    names: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class SetDirection:
    """Lay out so that tensors flow down or to the right."""

    direction: Literal["down", "right"]


@dataclasses.dataclass(frozen=True)
class Pin:
    """Keep an item's center at this place of the drawing, in pixels of the scene."""

    name: str
    x: float
    y: float


@dataclasses.dataclass(frozen=True)
class Unpin:
    """Let the layout decide again where an item stands; "" means all items."""

    name: str = ""


@dataclasses.dataclass(frozen=True)
class Reveal:
    """Open the scopes around an op, a tensor or a scope, so that it can be seen."""

    name: str


@dataclasses.dataclass(frozen=True)
class SelectMatching:
    """Select all ops that fit a query, add them to the selection, hide them, or show only them."""

    text: str
    use: Literal["select", "add", "hide", "only"]


@dataclasses.dataclass(frozen=True)
class Enter:
    """Go into a function that an op calls; `label` says which one when it calls several ("body"),
    "" is the first.
    """

    op: str
    label: str = ""


@dataclasses.dataclass(frozen=True)
class Leave:
    """Go back to the graph at this place of the path; 0 is the graph itself."""

    depth: int


@dataclasses.dataclass(frozen=True)
class OpenSignature:
    """Show what the signature of that name computes."""

    name: str


@dataclasses.dataclass(frozen=True)
class Refresh:
    """Read the graph again."""


@dataclasses.dataclass(frozen=True)
class Boundary:
    """Take these op or tensor names as the boundary; both empty to clear."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Mark:
    """Mark the item that was clicked as input or output of the part, or no more if it is.

    An op is taken into the part: an input is cut before it, an output after it. A source, whose
    tensors depend on nothing from outside, is cut after it. Of a scope or group ("net/"), `tensors`
    are those to mark, see Crossings.
    """

    side: Side
    name: str
    tensors: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Crossings:
    """The tensors by which values enter a scope or group, or leave it: what it can be marked by."""

    side: Side
    name: str


@dataclasses.dataclass(frozen=True)
class Inspect:
    """Everything about one op or scope."""

    name: str


@dataclasses.dataclass(frozen=True)
class Search:
    """Ops that fit a query: words, `type:Conv2D`, `dtype:`, `shape:`, `attr:`, `/regex/`; see
    `graph.query`.
    """

    text: str
    limit: int = 50


@dataclasses.dataclass(frozen=True)
class CountHits:
    """How many of the ops that fit a query each closed scope and group of the drawing holds."""

    text: str


@dataclasses.dataclass(frozen=True)
class Like:
    """The pattern of some ops, scopes and groups; of the selection if there are none: "find more
    like this".
    """

    names: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Select:
    """Make these ops and scopes the selection, add them to it, or remove them.

    toggle adds them, or removes them when all are in it already.

    Box and lasso say set or add, a Ctrl-click says toggle.
    """

    command: Literal["set", "add", "remove", "toggle"]
    ops: tuple[str, ...]
    scopes: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Derive:
    """Make a new selection from the present one. `path` takes all ops between the two selected
    ones, `shortest` the fewest; `scope` the name scopes around the selected ops, `whole` the v1
    loops and conditionals that they take a part of; `boundary` marks the selection's inputs and
    outputs.
    """

    command: Literal[
        "upstream",
        "downstream",
        "scope",
        "path",
        "shortest",
        "grow",
        "shrink",
        "whole",
        "invert",
        "clear",
        "boundary",
    ]


@dataclasses.dataclass(frozen=True)
class Form:
    """The form of a clone: the ops between the boundaries, or the selection if there are none.

    `variables` says of all state in the part whether the copy gets its own, `others` are the
    handles of which the opposite holds. `times` None is one copy, into the name scope `into`
    itself; `device` "" is the originals'.
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class EditRequest:
    """An edit. `inspected` is the op or scope that the view's inspector shows, or ""; the reply
    describes it again.
    """

    inspected: str = ""


@dataclasses.dataclass(frozen=True)
class Clone(Form, EditRequest):
    """Copy a part into a name scope."""


@dataclasses.dataclass(frozen=True)
class Preview(Form):
    """Preview `Clone` with the same fields; nothing changes."""


@dataclasses.dataclass(frozen=True)
class Names:
    """The variables of the notebook that hold another graph."""


@dataclasses.dataclass(frozen=True)
class Inputs:
    """The inputs of another graph: a variable of the notebook, or the path of a file."""

    source: str


@dataclasses.dataclass(frozen=True)
class Upload:
    """A piece of a file that was dropped on the page: `data` in base64, from byte `start` on of
    `size` in all.
    """

    name: str
    data: str
    start: int
    size: int


@dataclasses.dataclass(frozen=True)
class Locate:
    """The path to type for a file or folder that was chosen in Jupyter; `path` begins at `root`,
    the server's.
    """

    path: str
    root: str = ""


@dataclasses.dataclass(frozen=True)
class Add(EditRequest):
    """Add another graph, whole; the consumers of its `inputs` read `tensors` of this graph, but for
    those of "".
    """

    source: str
    into: str = ""
    inputs: tuple[str, ...] = ()
    tensors: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Undo(EditRequest):
    """Take the last edit back."""


@dataclasses.dataclass(frozen=True)
class Redo(EditRequest):
    """Do again what was undone last."""


@dataclasses.dataclass(frozen=True)
class OneOf:
    """The allowed values of a field of type str: `options` for the TypeScript, `allows` when a
    message is read.
    """

    options: Callable[[], tuple[str, ...]]
    allows: Callable[[str], bool]


CommandName = Annotated[str, OneOf(registry.requested_commands, registry.is_requested)]
"""The name of a command that the browser may ask for: those of `edits.registry`."""


@dataclasses.dataclass(frozen=True)
class Call:
    """A call of the editor's method for `command`.

    `what` are its first arguments, by name; nothing represents the selection. Further arguments are
    named in `keys`; `values` has a Python literal for each, and what is none is taken as text. The
    values of the keys in `variables` are names of variables of the notebook.
    """

    command: CommandName
    what: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Change(Call, EditRequest):
    """Edit the graph by a call."""


@dataclasses.dataclass(frozen=True)
class PreviewEdit(Call):
    """Preview `Change` with the same fields; nothing changes."""


@dataclasses.dataclass(frozen=True)
class Optimize:
    """Show in what the graph that TensorFlow's graph optimizer makes of this one differs from
    it.
    """


@dataclasses.dataclass(frozen=True)
class Palette:
    """Op types and functions of the notebook that fit a text; those that `command` can use at
    `what` come first.

    `what` is as in `Change`; without a command the op types are for anything.
    """

    text: str
    command: Literal["", "insert", "replace"] = ""
    what: tuple[str, ...] = ()
    limit: int = 40


@dataclasses.dataclass(frozen=True)
class Describe:
    """The parameters of an op type, or of a function of the notebook, and a free name for its
    ops.
    """

    name: str
    function: bool
    command: Literal["insert", "replace"]
    what: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Fix(EditRequest):
    """Do what a refusal offered, by its line of Python."""

    line: str


@dataclasses.dataclass(frozen=True)
class Jump(EditRequest):
    """Undo or redo until so many edits are done."""

    to: int


@dataclasses.dataclass(frozen=True)
class Targets:
    """Which ops of the drawing cannot read a tensor, and why; of `op`, if one is named, which of
    its inputs can.

    An op represents the only tensor that it gives; of several, one is to be named first.
    """

    tensor: str
    op: str = ""


@dataclasses.dataclass(frozen=True)
class Script:
    """The Python script that does the same as all edits so far; `for_cell` of the notebook, with
    its variables.
    """

    for_cell: bool = False


@dataclasses.dataclass(frozen=True)
class Compare:
    """Show what differs from the graph as it was opened, or `show` no differences any more.

    `source` is another graph to compare with: a variable of the notebook, or the path of a file.
    """

    show: bool
    source: str = ""


@dataclasses.dataclass(frozen=True)
class Beside:
    """Show another graph in a pane on the left: a variable of the notebook, or the path of a file;
    "" for none any more.
    """

    source: str


@dataclasses.dataclass(frozen=True)
class PairByHand:
    """Pair an op of the graph in the left pane with one of the right one; of two empty names undo
    the last pair.
    """

    before: str
    after: str


@dataclasses.dataclass(frozen=True)
class Feed:
    """The value of a placeholder: of this `shape` as Python, for "random" from `low` to `high`; or
    from a `source`.

    The source is the name of a variable of the notebook, or the path of a .npy file.
    """

    tensor: str
    kind: Literal["zeros", "ones", "random", "variable", "file"]
    shape: str
    low: float
    high: float
    source: str


@dataclasses.dataclass(frozen=True)
class Probe:
    """Run the graph and look at what an op gives, or with "" for its `name` what the selected ones
    do.

    Placeholders that are not in `feeds` have the value that was fed last.
    """

    name: str
    feeds: tuple[Feed, ...] = ()


@dataclasses.dataclass(frozen=True)
class Measure:
    """Run the graph and measure the time of each op; `feeds` as in `Probe`."""

    feeds: tuple[Feed, ...] = ()


@dataclasses.dataclass(frozen=True)
class Feedable:
    """Which placeholders need a value for a `Probe` of this name, or for a `Measure`."""

    name: str
    measure: bool = False


@dataclasses.dataclass(frozen=True)
class Assign:
    """Make the value of a tensor a variable of the notebook; with "" for its `variable` propose a
    name.

    `name` is that of a tensor of the last `Probe`, or of an op or scope that has a value. A
    variable that exists is only replaced if `overwrite`.
    """

    name: str
    variable: str
    overwrite: bool = False


@dataclasses.dataclass(frozen=True)
class Costs:
    """The most expensive ops or scopes, sorted by a column; `current` is one that is listed too, or
    "".
    """

    by: Literal["name", "parameters", "flops", "bytes", "time"]
    what: Literal["ops", "scopes"] = "ops"
    limit: int = 10
    ascending: bool = False
    current: str = ""


@dataclasses.dataclass(frozen=True)
class Color:
    """Color the drawing by one of the ways that the state names; "" is the usual, by family of op
    type.
    """

    by: str


@dataclasses.dataclass(frozen=True)
class Trust:
    """Let ops of the file run that do more than compute, as the user says; that cannot be taken
    back.
    """


@dataclasses.dataclass(frozen=True)
class Restore:
    """Give the variables the values that a checkpoint has by their names: the prefix of its files,
    or one of them.
    """

    path: str


@dataclasses.dataclass(frozen=True)
class Examine:
    """Ask for the facts about an op beyond its inputs and outputs: values, documentation, where it
    was made.
    """

    name: str


@dataclasses.dataclass(frozen=True)
class Picture:
    """The drawing as a file: the whole of it, or what lies in `area` (left, top, width, height in
    the scene).

    `colors` are those of the background and of text on it; empty for the light theme.
    """

    suffix: Literal["svg", "png", "pdf"]
    whole: bool = True
    area: tuple[float, ...] = ()
    colors: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Lint:
    """Find what may stand in the way of the graph where it is to run: "", "cpu", "tflite" or
    "onnx". `quick` leaves out the rules that read values or try edits.
    """

    target: Literal["", "cpu", "tflite", "onnx"] = ""
    quick: bool = False


@dataclasses.dataclass(frozen=True)
class DescribeModel:
    """Say what the current graph is. `batch` is the batch size to count FLOPs for, 0 for none;
    `large` finds also of a large graph what takes a moment.
    """

    batch: int = 0
    large: bool = False


@dataclasses.dataclass(frozen=True)
class ListSignatures:
    """The signatures of the graph, or the one that it seems to be for."""


@dataclasses.dataclass(frozen=True)
class ListFormats:
    """The formats in which the current graph can be saved."""


@dataclasses.dataclass(frozen=True)
class Export:
    """Save the current graph. `path` is in the folder that `ListFormats` names, `colors` as in
    `Picture`.

    `options` are names and values of options of the format. `area` is the part of the drawing that
    a picture shows; empty for the whole.
    """

    format: str
    path: str
    replace: bool = False
    colors: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    area: tuple[float, ...] = ()


@dataclasses.dataclass(frozen=True)
class Download:
    """Send the current graph in a format, as the bytes of a file; `name` is that of the file, ""
    for a proposed one.
    """

    format: str
    options: tuple[tuple[str, str], ...] = ()
    name: str = ""


@dataclasses.dataclass(frozen=True)
class FindEditOps:
    """The ops that an edit of the history added or changed; `step` counts from 1."""

    step: int


@dataclasses.dataclass(frozen=True)
class Ping:
    """Say whether the editor is still there."""


ViewRequest = (
    Open
    | Toggle
    | ExpandAll
    | OpenOnly
    | Reveal
    | Enter
    | Leave
    | OpenSignature
    | Refresh
    | Hide
    | SelectMatching
    | SetDirection
    | Pin
    | Unpin
)
Edit = Clone | Add | Undo | Redo | Change | Fix | Jump
Question = (
    Palette
    | Describe
    | Feedable
    | Assign
    | Costs
    | PrefetchScene
    | Crossings
    | Names
    | Inputs
    | Locate
    | Upload
    | Inspect
    | Search
    | CountHits
    | Like
    | Preview
    | PreviewEdit
    | Targets
    | Script
    | Examine
    | Picture
    | Lint
    | DescribeModel
    | ListSignatures
    | ListFormats
    | Export
    | Download
    | FindEditOps
    | Ping
)
Choose = (
    Boundary
    | Mark
    | Select
    | Derive
    | Compare
    | Beside
    | PairByHand
    | Optimize
    | Probe
    | Measure
    | Color
    | Trust
    | Restore
)
Request = ViewRequest | Choose | Question | Edit

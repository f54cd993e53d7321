"""The replies of the kernel and their parts.

A text may be a `Sentence`: `page_text.reply_on_page` writes its fields in the words of the page.
"""

from __future__ import annotations

import base64
import dataclasses
import re
from typing import TYPE_CHECKING, Literal

import numpy as np

from tfgraphwidget.sources import Parameter
from tfgraphwidget.widget.protocol.requests import Feed, Init, Mode
from tfgraphwidget.widget.save_formats import SaveFormat

if TYPE_CHECKING:
    from tfgraphwidget.runtime.measure import Stats, images


@dataclasses.dataclass(frozen=True)
class Image:
    """A small image of gray values, 0 to 255, row by row in base64: one filter of a kernel, or a
    matrix.
    """

    title: str
    width: int
    height: int
    pixels: str


@dataclasses.dataclass(frozen=True)
class TensorValue:
    """The value of a tensor in the last run, in words: all of it if it is small, else its range.

    `bars` are the counts of a histogram between the two ends of the range; none for text or where
    nothing is finite. `sample` are its first elements when they are not all there, `images` small
    pictures of it.
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
    sample: str = ""
    images: tuple[Image, ...] = ()


@dataclasses.dataclass(frozen=True)
class Tensor:
    """One input or output of an op; `peers` are the ops at the other end, the first of
    `peer_count`.
    """

    name: str
    dtype: str
    shape: str
    peers: tuple[str, ...]
    peer_count: int
    value: TensorValue | None = None


@dataclasses.dataclass(frozen=True)
class CalledFunction:
    """A function that an op calls; `label` is what the op uses it as: "body", "cond", "f",
    "branches[1]".
    """

    label: str
    function: str
    ops: int


@dataclasses.dataclass(frozen=True)
class ControlFlowContext:
    """A v1 while loop or conditional around an op: what to call it, and how many ops it has."""

    kind: Literal["while loop", "conditional"]
    name: str
    ops: int


@dataclasses.dataclass(frozen=True)
class Attribute:
    """An attribute of an op; `settable`: its text is Python that SetAttr takes, whole."""

    name: str
    text: str
    settable: bool


@dataclasses.dataclass(frozen=True)
class InspectReply:
    """Details of an op, or of a scope (then `op_type` is ""). `contexts` go from the innermost to
    the outermost.

    `shape` and `value` are what forms begin with, as Python: the static shape of the first output,
    and the value of a small constant; "" where they are unknown. `trainable` of the variables can
    be given to an optimizer. Of the lists that may be long the first entries are there, and how
    many there are in all. `effects` say what it does beside computing, if the file is not trusted.
    `alike` are the other scopes of its structure, with a slash at the end, or ops of its type.
    """

    name: str
    op_type: str = ""
    device: str = ""
    ops: int = 0
    variables: int = 0
    trainable: int = 0
    input_count: int = 0
    output_count: int = 0
    control_input_count: int = 0
    inputs: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()
    control_inputs: tuple[str, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    shape: str = ""
    value: str = ""
    called_functions: tuple[CalledFunction, ...] = ()
    contexts: tuple[ControlFlowContext, ...] = ()
    effects: tuple[str, ...] = ()
    alike: tuple[str, ...] = ()
    alike_count: int = 0


@dataclasses.dataclass(frozen=True)
class ExamineReply:
    """The facts about an op beyond its inputs and outputs.

    `value` is what its variable or constant holds, `why` the sentence why there is none. `images`
    are previews of it. `summary` and `about` are TensorFlow's documentation of the op type;
    `arguments` name its inputs, outputs and attributes, each (sort, name, text). `created` are the
    lines of Python that made the op, innermost last. `signature` are the arguments and results of
    the function that it calls, each (sort, name, dtype and shape).
    """

    name: str
    value: TensorValue | None
    why: str
    images: tuple[Image, ...]
    summary: str
    about: str
    arguments: tuple[tuple[str, str, str], ...]
    created: tuple[str, ...]
    signature: tuple[tuple[str, str, str], ...]


@dataclasses.dataclass(frozen=True)
class Field:
    """One array inside the buffer: `dtype` is u1, u4, i4 or f4 (little-endian), `offset` in bytes,
    a multiple of 4.
    """

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
class Entry:
    """One line of a legend: `tint` as in the scene's paint, and how many ops have it."""

    label: str
    tint: int
    ops: int


@dataclasses.dataclass(frozen=True)
class Legend:
    """The legend of colors: categories as `entries`, or a ramp from `low` to `high` (texts with
    their unit).

    `notice` is what else to know: which batch was assumed, how many ops are unknown.
    """

    by: str
    entries: tuple[Entry, ...] = ()
    low: str = ""
    high: str = ""
    notice: str = ""


@dataclasses.dataclass(frozen=True)
class Offer:
    """An edit that would do where one was refused, or that the graph suggests; in a few words and
    as Python.

    `on` is the state of a switch, which the edit turns; null for a button.
    """

    text: str
    line: str
    on: bool | None = None


@dataclasses.dataclass(frozen=True)
class State:
    """The state of the panel.

    `path` names the current graph and those around it, outermost first; `warnings` say what is
    read-only; `untrusted` says what ops of the file would do if the user trusted it, or "" if none
    does or the user does; `editable` says why Clone will not work here, or "", and `fixed` why no
    edit will. `expression` is the Python that gives the selection, or "". `selected_trainable` of
    the variables can be given to an optimizer. `proposal` is a scope name still free, `values` what
    a clone's variables can be given. `code` are the lines of Python that do what was done so far,
    oldest first, `ahead` those of what was undone, the next to redo first; `sentences` say in words
    what `code` and `ahead` do. While `comparing`, `changes` are the ops "added", "removed" and
    "changed", `explained` the usual changes that explain all else, in sentences, and `comparison`
    is what it is compared with, or "". `offers` are edits that the graph suggests: to train only
    the last clone, to remove ops that edits have left unused. `colors` are the ways to color the
    drawing, `legend` what the colors mean, or null. `hidden` ops and `pinned` items are counts;
    `direction` is where the tensors flow; `likely` are closed scopes and groups worth foreseeing.
    """

    revision: int
    path: tuple[str, ...]
    warnings: tuple[str, ...]
    untrusted: str
    editable: str
    fixed: str
    expression: str
    ops: int
    variables: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    selected_ops: int
    selected_variables: int
    selected_trainable: int
    proposal: str
    values: Init
    undo: str
    redo: str
    code: tuple[str, ...]
    ahead: tuple[str, ...]
    sentences: tuple[str, ...]
    comparing: bool
    comparison: str
    explained: tuple[str, ...]
    changes: tuple[Group, ...]
    offers: tuple[Offer, ...]
    colors: tuple[str, ...]
    legend: Legend | None
    hidden: int
    direction: Literal["down", "right"]
    likely: tuple[str, ...]
    pinned: int


_FEW = 16  # elements that are all shown
_LONGEST = 200  # characters of them


def _elements(value: np.ndarray) -> str:
    """The elements in one line; numbers without the spaces that make columns of them."""
    text = np.array2string(value, precision=4, separator=", ").replace("\n", "")
    return (
        text if value.dtype.kind in "OSU" else re.sub(r" +(?=[,\]])|(?<=\[) +|(?<=, ) +", "", text)
    )


def describe_stats(stats: Stats, pictures: tuple[Image, ...] = ()) -> TensorValue:
    """A tensor in words: its elements when they are few, else their range."""
    value, text = stats.value, stats.note
    if value is not None and value.size <= _FEW:
        text = _elements(value)[:_LONGEST]
    sample = ""
    if value is not None and value.size > _FEW:
        sample = f"{_elements(value.ravel()[:_FEW])[:_LONGEST].rstrip(']')}, …]"
    low, mean, std, high = (
        _number(number) for number in (stats.least, stats.mean, stats.std, stats.most)
    )
    return TensorValue(
        dtype=stats.dtype,
        shape="" if value is None else str(value.shape),
        value=text,
        low=low,
        mean=mean,
        std=std,
        high=high,
        nans=stats.nans,
        infs=stats.infs,
        bars=stats.histogram if low != high else (),
        sample=sample,
        images=pictures,
    )


def range_text(stats: Stats) -> str:
    """The line about a tensor: its only number, or the mean, then the range."""
    bad = stats.nans + stats.infs
    if stats.least is None:
        return "NaN" if bad else ""
    low, mean, high = (
        f"{float(number or 0):.4g}" for number in (stats.least, stats.mean, stats.most)
    )
    text = f"= {low}" if low == high else f"mean {mean}, {low} … {high}"
    return f"{text}, {bad:,} NaN/Inf" if bad else text


def image(picture: images.GrayImage) -> Image:
    """A picture as a part of a reply."""
    height, width = picture.pixels.shape
    return Image(picture.title, width, height, base64.b64encode(picture.pixels.tobytes()).decode())


def _number(number: object) -> str:
    if number is None:
        return ""
    return f"{number:.4g}" if isinstance(number, float) else str(number)


@dataclasses.dataclass(frozen=True)
class EditReport:
    """The result of an edit: `text` in a sentence or more, `renamed` as (old, new) names of ops and
    scopes.

    A pair for a scope is for all that is in it, too. `inspected` describes the op or scope that the
    request names, by its new name; null if there is none any more. `is_nothing` says that there was
    nothing to do.
    """

    text: str
    renamed: tuple[tuple[str, str], ...]
    inspected: InspectReply | None
    is_nothing: bool = False


@dataclasses.dataclass(frozen=True)
class SceneReply:
    """A whole scene; `focus` is the item to bring into view, or "" to leave the camera alone.

    `stamp` is equal for scenes in which everything stands at the same place. `edited` is what an
    edit has done, which has succeeded then; null in the replies to other requests.
    """

    state: State
    stamp: str
    fields: tuple[Field, ...]
    focus: str
    edited: EditReport | None = None


@dataclasses.dataclass(frozen=True)
class SelectionReply:
    """Positions stay; only the fields of the selection changed, in the scene of this `stamp`.

    `text` says what a run has found.
    """

    state: State
    stamp: str
    fields: tuple[Field, ...]
    text: str = ""


@dataclasses.dataclass(frozen=True)
class NextScene:
    """The scene as it will be; `stamp` says in a Toggle that the view shows it. Without fields
    where none is known.
    """

    stamp: str = ""
    fields: tuple[Field, ...] = ()


@dataclasses.dataclass(frozen=True)
class OpType:
    """An op type, or a function of the notebook; `fits` says whether it takes the tensors that are
    there.
    """

    name: str
    kind: Literal["op type", "function"]
    summary: str
    fits: bool


@dataclasses.dataclass(frozen=True)
class LikelyType:
    """An op type that can replace an op as it is; `attributes` are those that it takes over,
    Python, "" for none.
    """

    name: str
    summary: str
    attributes: str


@dataclasses.dataclass(frozen=True)
class OpTypeList:
    """The first op types and functions that fit a text, the best first; `total` counts all."""

    types: tuple[OpType, ...]
    total: int
    likely: tuple[LikelyType, ...] = ()


@dataclasses.dataclass(frozen=True)
class FormReply:
    """The fields of the form of an op type or a function; `scope` is a free name for its ops."""

    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    scope: str


@dataclasses.dataclass(frozen=True)
class FeedField:
    """A placeholder that needs a value: its dtype and static shape, and the value that a form
    begins with.

    `variables` are those of the notebook that can be fed to it, the newest first.
    """

    tensor: str
    dtype: str
    shape: str
    feed: Feed
    variables: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Feeds:
    """The placeholders that need a value. `remembered`: each has a value that was fed before."""

    fields: tuple[FeedField, ...]
    remembered: bool


@dataclasses.dataclass(frozen=True)
class VariableReply:
    """A variable of the notebook that holds a value; `dtype` is "" for a name that is only
    proposed.
    """

    variable: str
    dtype: str = ""
    shape: str = ""


@dataclasses.dataclass(frozen=True)
class CostRow:
    """The costs of an op, or of a scope, whose name ends with a slash; -1 if unknown. `time` is in
    µs.

    `rank` is its place in the whole table, from 1.
    """

    name: str
    type: str
    parameters: float
    flops: float
    bytes: float
    time: float
    rank: int


@dataclasses.dataclass(frozen=True)
class CostTable:
    """The first rows of the table of costs; `total` is the sum of the graph, `rows_total` counts
    all rows.

    `measured` says what the times are of, or ""; `notice` what the numbers assume.
    """

    rows: tuple[CostRow, ...]
    total: CostRow
    rows_total: int
    measured: str
    notice: str


@dataclasses.dataclass(frozen=True)
class Hit:
    """One op found."""

    name: str
    type: str


@dataclasses.dataclass(frozen=True)
class ScopeHit:
    """One name scope found, with how many ops are in it."""

    name: str
    ops: int


@dataclasses.dataclass(frozen=True)
class NearMatch:
    """A place at which a pattern almost fits: an op of it, and in what it differs."""

    op: str
    difference: str


@dataclasses.dataclass(frozen=True)
class PatternMatches:
    """The matches of a pattern: of each hit all `ops`, how many hits are `replaceable`, and reasons
    why others are not.

    Attributes:
        text: The pattern.
        names: The names that it gives to its inputs.
        inputs: The tensors that these are in the first match.
        ops: The ops of each hit, in the order of the hits; the hit itself is named by its first
            output.
        replaceable: How many of the matches can be replaced.
        reasons: Why others cannot, the first few.
        near: Places at which it almost fits, the first few.
    """

    text: str
    names: tuple[str, ...]
    inputs: tuple[str, ...]
    ops: tuple[tuple[str, ...], ...]
    replaceable: int
    reasons: tuple[str, ...]
    near: tuple[NearMatch, ...]


@dataclasses.dataclass(frozen=True)
class SearchReply:
    """The first hits, the nearest first; `total` counts all, in `scopes` name scopes.

    `why` says what is wrong with the query, or "", and `excerpt` shows where: a line of it above
    one with a caret. Of a query that is one pattern the hits are its `matches`, in topological
    order; else those are None. `name_scopes` are the scopes that a query of words means, the
    nearest first.
    """

    hits: tuple[Hit, ...]
    total: int
    why: str = ""
    scopes: int = 0
    matches: PatternMatches | None = None
    excerpt: str = ""
    name_scopes: tuple[ScopeHit, ...] = ()


@dataclasses.dataclass(frozen=True)
class HitCounts:
    """The closed scopes and groups of the drawing that hold ops found, each with how many it
    holds.
    """

    counts: tuple[tuple[str, int], ...]


@dataclasses.dataclass(frozen=True)
class Likeness:
    """The text of the pattern of some ops."""

    pattern: str


@dataclasses.dataclass(frozen=True)
class PartState:
    """One state that the part holds: a "variable", whose dtype and shape are known, a "hash table",
    a "queue" …
    """

    name: str
    kind: str
    dtype: str
    shape: str
    mode: Mode


@dataclasses.dataclass(frozen=True)
class ClonePreview:
    """The preview of a clone, or the one sentence of its refusal.

    `ops` ops are copied into each of `scopes`. `outside` is what comes in there: each "tensor" and
    "control input", and each tensor that a new "placeholder" represents. `new` and `shared` are the
    copy's own state and what it shares with the original, by what they are; `stateful` are ops that
    do something beside computing tensors, by op type. `states` are the first 2,000 of the
    `states_total` that can be own or shared. `line` is the Python for it. `warned` are the ops that
    a refusal is about; `offer` says what must be taken whole for the clone to work, or "".
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
    states: tuple[PartState, ...] = ()
    states_total: int = 0


@dataclasses.dataclass(frozen=True)
class PreviewedEdit:
    """The preview of an edit, or the one sentence of its refusal.

    Attributes:
        refusal: Why it would be refused, or "".
        argument: The field of the form that the refusal is about.
        text: How many ops it would add, remove and change.
        notes: What else is to be known, one sentence each.
        names: The ops and scopes of the drawing that it would remove or change.
    """

    refusal: str = ""
    argument: str = ""
    text: str = ""
    notes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Slot:
    """One input of an op: the tensor that it reads now, and `why` it cannot read another, or ""."""

    tensor: str
    why: str


@dataclasses.dataclass(frozen=True)
class RewireTargets:
    """The ops of the drawing that cannot read a tensor, each with the reason; and the inputs of one
    op.

    `outputs` are all tensors that the tensor's op gives; where one must be named first, there is
    nothing else.
    """

    tensor: str
    outputs: tuple[str, ...]
    op: str
    refused: tuple[tuple[str, str], ...]
    slots: tuple[Slot, ...]


@dataclasses.dataclass(frozen=True)
class BoundaryTensor:
    """A tensor that enters or leaves a scope: its dtype and shape, whether it is marked, and
    whether it is proposed.
    """

    tensor: str
    about: str
    marked: bool
    proposed: bool


@dataclasses.dataclass(frozen=True)
class BoundaryTensors:
    """The tensors that enter or leave a scope."""

    tensors: tuple[BoundaryTensor, ...]


@dataclasses.dataclass(frozen=True)
class Source:
    """A variable of the notebook that holds a graph, and its kind in TensorFlow's words; or a file
    ("file").
    """

    name: str
    kind: str


@dataclasses.dataclass(frozen=True)
class Sources:
    """The graphs of the notebook, and the files beside it."""

    sources: tuple[Source, ...]


@dataclasses.dataclass(frozen=True)
class Joint:
    """An input of another graph, its dtype and shape, and the tensor of this one that is proposed
    for it, or "".
    """

    input: str
    about: str
    tensor: str


@dataclasses.dataclass(frozen=True)
class UploadReply:
    """How many bytes of a file have arrived; once all have, `source` names it as a graph."""

    received: int
    source: str


@dataclasses.dataclass(frozen=True)
class KernelPath:
    """The path of a file as the kernel takes it; "" for the folder that paths are relative to."""

    path: str


@dataclasses.dataclass(frozen=True)
class Joints:
    """The inputs of another graph, and a free name scope for it."""

    joints: tuple[Joint, ...]
    into: str


@dataclasses.dataclass(frozen=True)
class ScriptReply:
    """A Python script."""

    text: str


@dataclasses.dataclass(frozen=True)
class PictureReply:
    """A picture file; its bytes are the reply's buffer."""

    name: str


@dataclasses.dataclass(frozen=True)
class LintFinding:
    """What a rule has found: "error" or "warning", its code, a sentence, the ops, and an edit that
    fixes it.
    """

    severity: str
    code: str
    sentence: str
    ops: tuple[str, ...]
    fix: Offer | None = None


@dataclasses.dataclass(frozen=True)
class SignatureRow:
    """A signature in words, the ops of its inputs and outputs, and the edit that removes it; null
    where a function is the current graph.

    `inputs` and `outputs` are (key, tensor) pairs in their order. Of a graph without any: the
    likely inputs and outputs, and the edit that adds them as a signature; `name` is "" then.
    """

    text: str
    ops: tuple[str, ...]
    edit: Offer | None
    name: str
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]


@dataclasses.dataclass(frozen=True)
class LintReply:
    """All that rules have found, errors first, and the signatures."""

    findings: tuple[LintFinding, ...]
    signatures: tuple[SignatureRow, ...]


@dataclasses.dataclass(frozen=True)
class ModelEnd:
    """An input or output of the graph: its op and its tensor, with dtype and static shape."""

    op: str
    tensor: str
    dtype: str
    shape: str


@dataclasses.dataclass(frozen=True)
class ModelReply:
    """What the current graph is.

    `title` is the name of what was opened, `inside` that of the function that is the current graph,
    or "". `about` are facts of a few words, `values` says whether it is trained, or is "".
    `parameters` are counted, `size` is their bytes, `dtypes` are theirs, the most frequent first.
    `flops` are -1 where they were not counted; `batch` is the batch size that they are counted for,
    0 where the graph leaves none open. `signatures` are as in LintReply. `is_small` says that a
    check takes no time, `is_ready` that FLOPs are counted in a moment. Of a large graph
    `is_complete` is false, and all that takes a moment is left out, until it is asked for.
    """

    title: str
    inside: str
    about: tuple[str, ...]
    values: str
    ops: int
    variables: int
    parameters: float
    size: float
    dtypes: tuple[str, ...]
    flops: float
    batch: int
    inputs: tuple[ModelEnd, ...]
    input_count: int
    outputs: tuple[ModelEnd, ...]
    output_count: int
    signatures: tuple[SignatureRow, ...]
    is_small: bool
    is_ready: bool
    is_complete: bool


@dataclasses.dataclass(frozen=True)
class SignatureList:
    """The signatures of the graph."""

    signatures: tuple[SignatureRow, ...]


@dataclasses.dataclass(frozen=True)
class Formats:
    """The formats in which the graph can be saved, and the folder that their paths are in."""

    formats: tuple[SaveFormat, ...]
    folder: str


@dataclasses.dataclass(frozen=True)
class ExportReply:
    """A file that was saved, by its absolute path and that in the folder, and a sentence on it.

    `exists` is the sentence that the file is there already; nothing was saved then.
    """

    path: str = ""
    relative: str = ""
    about: str = ""
    exists: str = ""


@dataclasses.dataclass(frozen=True)
class DownloadReply:
    """A file to download, whose bytes are the reply's buffer, and a sentence on it."""

    name: str
    about: str


@dataclasses.dataclass(frozen=True)
class EditOps:
    """The ops and scopes ("net/") that an edit added or changed, by the names that they have
    now.
    """

    names: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Refusal:
    """Nothing has changed; `why` is one sentence, `ops` what to highlight, `fixes` what would do
    instead.

    `argument` is the field of a form that the sentence is about, or "". `trust` would do instead,
    see `Trust`.
    """

    why: str
    ops: tuple[str, ...]
    fixes: tuple[Offer, ...] = ()
    argument: str = ""
    trust: bool = False


@dataclasses.dataclass(frozen=True)
class Pong:
    """The editor is there; the number of its state, as in State."""

    revision: int


@dataclasses.dataclass(frozen=True)
class Working:
    """No reply: sent while one takes its time. `done` of `total` are done, or 0 of 0 where the
    total is not known.

    `what` is what is being done, or "" while the request waits for its turn.
    """

    what: str
    done: int
    total: int


@dataclasses.dataclass(frozen=True)
class Piece:
    """A piece of a reply that is too large for one message; the piece's bytes are the buffer.

    The pieces together are the reply as JSON, `text` bytes of UTF-8, and then the reply's buffer.
    This is piece `nth`, counted from 0, `of` so many.
    """

    nth: int
    of: int
    text: int


Reply = (
    SceneReply
    | SelectionReply
    | NextScene
    | InspectReply
    | ExamineReply
    | SearchReply
    | HitCounts
    | Likeness
    | OpTypeList
    | FormReply
    | Feeds
    | VariableReply
    | CostTable
    | ClonePreview
    | PreviewedEdit
    | RewireTargets
    | BoundaryTensors
    | Sources
    | Joints
    | KernelPath
    | UploadReply
    | ScriptReply
    | PictureReply
    | LintReply
    | ModelReply
    | SignatureList
    | Formats
    | ExportReply
    | DownloadReply
    | EditOps
    | Refusal
    | Pong
)

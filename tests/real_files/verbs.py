"""What is done with each file, and how it is seen whether that was right."""

from __future__ import annotations

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import contextlib
import resource
import tempfile
import warnings
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

import tfgraphwidget as tgw
from tests.stress.sentences import Broken, check_sentence
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import PLACEHOLDERS

MEMORY = 24 << 30  # bytes of addresses that one file may take: TensorFlow itself reserves some
_FLOATS = ("float16", "float32", "float64", "bfloat16")


class Outcome(IntEnum):
    """What came of a method on a file; a larger number is worse."""

    DONE = 0
    REFUSED = 1
    WRONG = 2
    ERROR = 3
    DIED = 4


class Job(NamedTuple):
    """A method on a file."""

    path: str
    method: str


class Tried(NamedTuple):
    """What came of it; a sentence or an error says why."""

    outcome: Outcome
    says: str = ""


class Wrong(Exception):
    """The result is not what it should be."""


def ends(editor: GraphEditor) -> list[str]:
    """What the graph is for: the outputs of its signatures, else what nothing reads."""
    index = editor._core.index
    tensors = {
        tensor for signature in tuple(editor.signatures.values()) for _, tensor in signature.outputs
    }
    here = sorted(tensor for tensor in tensors if tensor.partition(":")[0] in index.ids)
    if here:  # else the function that computes them is open
        return here
    unread = [op for op in range(len(index)) if not index.consumer_lists[op] and index.dtypes(op)]
    return [
        f"{index.names[op]}:0"
        for op in unread
        if index.dtypes(op)[0].removesuffix("_ref") in _FLOATS
    ][:20]


def middle(editor: GraphEditor) -> tuple[str, str]:
    """A tensor in the middle of the graph, and one that is computed from it."""
    index = editor._core.index
    for op in (*range(len(index) // 2, len(index)), *range(len(index) // 2)):
        dtypes, sources = index.dtypes(op), index.input_lists[op]
        if not sources or not dtypes or dtypes[0] not in _FLOATS or index.types[op] in PLACEHOLDERS:
            continue
        slot = index.inputs.start[op]
        source, port = int(index.inputs.values[slot]), int(index.ports[slot])
        if port < len(index.dtypes(source)) and index.dtypes(source)[port] in _FLOATS:
            return f"{index.names[source]}:{port}", f"{index.names[op]}:0"
    raise GraphEditError(
        "The graph has no op that computes numbers from numbers; choose another one."
    )


def inputs_of(node: Any) -> list[str]:
    """The inputs of a NodeDef; control inputs have no order, so they come sorted."""
    return [text for text in node.input if text[:1] != "^"] + sorted(
        text for text in node.input if text[:1] == "^"
    )


def same(editor: GraphEditor, other: GraphEditor) -> None:
    """Raise Wrong unless two graphs have the same ops with the same inputs."""
    mine, theirs = (
        {node.name: (node.op, inputs_of(node)) for node in each._core.index.nodes}
        for each in (editor, other)
    )
    if mine != theirs:
        names = sorted(
            name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name)
        )
        raise Wrong(
            f"{len(names)} ops differ, as {names[0]}: {mine.get(names[0])}, {theirs.get(names[0])}"
        )


Contents = tuple[str, list[str], dict[str, str]]
"""The type of an op, its inputs and its attributes."""


def contents(editor: GraphEditor) -> dict[str, Contents]:
    """What each op is, by its name, but for what importing leaves out: private attributes, the
    order of controls.
    """
    return {
        node.name: (
            node.op,
            inputs_of(node),
            {key: str(node.attr[key]) for key in node.attr if key[:1] != "_"},
        )
        for node in editor._core.index.nodes
    }


def is_kept(before: Contents, after: Contents) -> bool:
    """Whether an op is what it was; importing adds the defaults of attributes that came after the
    file was written.
    """
    return before[:2] == after[:2] and before[2].items() <= after[2].items()


def clone(editor: GraphEditor, to: Path) -> None:
    before = contents(editor)
    first, last = middle(editor)
    editor.clone([first], [last], into="cloned")
    after = contents(editor)
    changed = next(
        (name for name, op in before.items() if name not in after or not is_kept(op, after[name])),
        None,
    )
    if changed is not None:
        raise Wrong(f"{changed!r} of the original has changed")
    if len(editor.view.breadcrumb) == 1 and not any(
        name.startswith("cloned") for name in after
    ):  # else it is a module
        raise Wrong("no op was copied")


def undo(editor: GraphEditor, to: Path) -> None:
    before = tgw.edit(bytes(editor))
    first, last = middle(editor)
    editor.clone([first], [last], into="cloned")
    editor.undo()
    same(editor, before)


def passes(editor: GraphEditor, to: Path) -> None:
    """Passes that have nothing to do say so."""
    names = {tensor.split(":")[0] for tensor in ends(editor)} & set(editor._core.index.names)
    for each in (
        editor.passes.remove_identities,
        editor.passes.merge_duplicates,
        editor.passes.fold_constants,
    ):
        with contextlib.suppress(GraphEditError):
            each()
    if not names <= set(editor._core.index.names):
        raise Wrong("an output is gone")


def saved(name: str, **options: Any) -> Callable[[GraphEditor, Path], None]:
    """Save under that name, and open what was written."""

    def save(editor: GraphEditor, to: Path) -> None:
        outputs = (
            {"outputs": ends(editor)}
            if options.get("frozen") and not tuple(editor.signatures.values())
            else {}
        )
        editor.save(f"{to}/{name}", **outputs, **options)
        again = tgw.edit(f"{to}/{name}")
        if not options:
            same(editor, again)
        elif not len(again._core.index):
            raise Wrong("nothing was written")

    return save


def save_alike(editor: GraphEditor, to: Path) -> None:
    """Save as what was opened."""
    path = Path(editor._core.source.title)
    name = {".pb": "a.pb", ".pbtxt": "a.pbtxt", ".meta": "a.meta"}.get(path.suffix, "saved/")
    editor.save(f"{to}/{name}")
    if not len(tgw.edit(f"{to}/{name}")._core.index):
        raise Wrong("nothing was written")


METHODS: dict[str, Callable[[GraphEditor, Path], Any]] = {
    "open": lambda editor, _: editor.source.notices,
    "draw": lambda editor, _: (editor.view.scene(), editor.view.to_svg()),
    "cost": lambda editor, _: editor.table(batch=2),
    "lint": lambda editor, _: (editor.lint(), editor.lint("untrusted")),
    "clone": clone,
    "undo": undo,
    "strip": lambda editor, _: editor.passes.strip_training(ends(editor)),
    "freeze": lambda editor, _: editor.freeze(ends(editor)),
    "passes": passes,
    "save .pb": saved("a.pb"),
    "save alike": save_alike,
    "save frozen": saved("frozen.pb", frozen=True),
    "save .tgw": saved("a.tgw"),
}


def opened(path: Path) -> GraphEditor:
    """The file, with the checkpoint that lies beside it."""
    has_checkpoint = path.suffix == ".meta" and path.with_suffix(".index").exists()
    return tgw.edit(path, checkpoint=path.with_suffix("")) if has_checkpoint else tgw.edit(path)


def try_job(job: Job) -> Tried:
    """Open the file, and call the method."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with (
        warnings.catch_warnings(),
        tempfile.TemporaryDirectory() as folder,
        Path(os.devnull).open("w") as nowhere,
    ):
        warnings.simplefilter("ignore")
        try:
            with contextlib.redirect_stderr(nowhere), contextlib.redirect_stdout(nowhere):
                METHODS[job.method](opened(Path(job.path)), Path(folder))
        except GraphEditError as refusal:
            try:
                check_sentence(refusal.why)
            except Broken as broken:
                return Tried(Outcome.WRONG, f"{broken}: {refusal.why[:300]}")
            return Tried(Outcome.REFUSED, refusal.why[:300])
        except Wrong as wrong:
            return Tried(Outcome.WRONG, str(wrong)[:300])
        except Exception as error:
            return Tried(Outcome.ERROR, f"{type(error).__name__}: {error}"[:300])
    return Tried(Outcome.DONE)

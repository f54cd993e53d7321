"""The formats in which a document can be saved, as its source allows."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import handles

if TYPE_CHECKING:
    from tfgraphwidget.editor import GraphEditor


@dataclass(frozen=True)
class SaveFormat:
    """A format to save in: its label, its suffix, and a sentence on it.

    `keeps` says whether the edited graph can be had back from it. `refused` says why it cannot be now, or is "".
    """

    kind: str
    label: str
    suffix: str
    about: str
    keeps: bool
    name: str = ""
    refused: str = ""


_ALL = (
    SaveFormat(
        "saved_model", "SavedModel", "/", "A folder with the graph, its signatures and the variables' values.", True
    ),
    SaveFormat("frozen", "Frozen graph", ".pb", "What the outputs need, with constants in place of variables.", True),
    SaveFormat("graph", "GraphDef", ".pb", "Every op, in binary; the values of variables are not in it.", True),
    SaveFormat(
        "text", "GraphDef as text", ".pbtxt", "Every op, to be read; the values of variables are not in it.", True
    ),
    SaveFormat("meta", "MetaGraph", ".meta", "Every op and collection, and a checkpoint of the values beside.", True),
    SaveFormat("script", "Python script", ".py", "The code that opens this file and does the same edits.", True),
    SaveFormat("edits", "Edits", ".json", "The edits alone, to be done again on this file or on another.", True),
    SaveFormat("page", "Web page", ".html", "One page to look around in, without Python and network.", False),
    SaveFormat("svg", "Picture, SVG", ".svg", "The drawing as it is now, sharp at any size.", False),
    SaveFormat("png", "Picture, PNG", ".png", "The drawing as it is now, in pixels.", False),
    SaveFormat("pdf", "Picture, PDF", ".pdf", "The drawing as it is now, to be printed.", False),
    SaveFormat("dot", "Graphviz", ".dot", "The ops and edges for Graphviz.", False),
    SaveFormat("graphml", "GraphML", ".graphml", "The ops and edges for yEd, Gephi and networkx.", False),
)
_BY_NAME = {kind.kind: kind for kind in _ALL}
_OWN = {kind.suffix: kind.kind for kind in _ALL if kind.kind in ("graph", "text", "meta")}
_RUNNABLE = frozenset({"saved_model", "frozen", "meta"})
_NEEDS_OUTPUTS = frozenset({"saved_model", "frozen"})
_BARE = "Every op and collection; without a checkpoint, as the file came without the values of its variables."


def find_save_format(name: object) -> SaveFormat | None:
    """The format of that name, or None."""
    return _BY_NAME.get(name) if isinstance(name, str) else None


def check_name(name: str, kind: SaveFormat) -> str:
    """The name; GraphEditError when it has the suffix of another format."""
    path = PurePath(name)
    ending = path.suffix.lower()
    others = [each.label for each in _ALL if each.suffix == ending != kind.suffix]
    if others:
        raise GraphEditError(
            f"{path.name!r} ends in {ending}, and the kind chosen is {kind.label}: choose the kind "
            f"{' or '.join(others)}, or another name."
        )
    return name


def list_save_formats(editor: GraphEditor, path: Path) -> list[dict[str, object]]:
    """The formats that can be written, the file's own first; those that need a user's choice first come last.

    Each as a dict of the fields of Kind. `path` is the file that was opened.
    """
    stem = output_stem(path)
    own = "saved_model" if is_saved_model(path) else _OWN.get(path.suffix.lower(), "graph")
    ready, later = [], []
    for kind in _ALL:
        why, mendable = _refusal(editor, kind)
        offered = replace(kind, name=f"{stem}_edited{kind.suffix}", refused=why)
        if kind.kind == "meta" and editor.core.target.came_without_values():
            offered = replace(offered, about=_BARE)
        if not why:
            ready.append(offered)
        elif mendable:
            later.append(offered)
    ready.sort(key=lambda kind: kind.kind != own)
    return [asdict(kind) for kind in (*ready, *later)]


def _refusal(editor: GraphEditor, kind: SaveFormat) -> tuple[str, bool]:
    """Why a format cannot be written, or "", and whether the user can change that in the panel."""
    if (
        kind.kind in _RUNNABLE
        and (stopped := editor.core.executor.read_only())
        and not editor.core.executor.in_function
    ):
        return stopped, False
    valueless = handles(editor.index) and editor.core.executor.default_init() != "current"
    if kind.kind in _RUNNABLE and valueless and (kind.kind != "meta" or editor.core.executor.in_function):
        return "the file has no checkpoint with the values of its variables", False
    if (
        kind.kind in _NEEDS_OUTPUTS
        and not editor.core.executor.in_function
        and not (editor.outputs or editor.signatures)
    ):
        return "choose its outputs in the drawing first", True
    if kind.kind in {"script", "edits"} and not editor.history.done:
        return "nothing was edited yet", False
    return "", False


def is_saved_model(path: Path) -> bool:
    """Whether a path is a SavedModel's directory, or the saved_model.pb in it with variables beside it."""
    return path.is_dir() or (path.stem == "saved_model" and (path.parent / "variables").is_dir())


def output_stem(path: Path) -> str:
    """The beginning of proposed file names: for a SavedModel, the directory's name."""
    if path.stem == "saved_model" and is_saved_model(path):
        return path.parent.name or path.stem
    return path.name if path.is_dir() else path.stem

"""The formats in which a graph can be saved, as its source allows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export import (
    CONVERSIONS,
    FROZEN_OPTIONS,
    SAVED_MODEL_OPTIONS,
    SaveOption,
    missing_packages,
)
from tfgraphwidget.graph import handles
from tfgraphwidget.optional_packages import missing_package

if TYPE_CHECKING:
    from tfgraphwidget.editor import GraphEditor


@dataclass(frozen=True)
class SaveFormat:
    """A format to save in: its label, its suffix, and a sentence on it.

    Attributes:
        kind: Its name in messages.
        label: What menus call it.
        suffix: The end of file names; "/" for a folder.
        about: A sentence on it.
        group: The heading that it is below in a menu.
        keeps: Whether the edited graph can be restored from it.
        name: A file name that is proposed.
        refused: Why the graph cannot be saved in it now, or "".
        options: What can be chosen for it.
        opens: Whether it can be opened where the graph was.
    """

    kind: str
    label: str
    suffix: str
    about: str
    group: str
    keeps: bool = False
    name: str = ""
    refused: str = ""
    options: tuple[SaveOption, ...] = ()
    opens: bool = True


_ALL = (
    SaveFormat(
        "saved_model",
        "SavedModel",
        "/",
        "A folder with the graph, {signatures} and the variables' values.",
        "Model",
        True,
        options=SAVED_MODEL_OPTIONS,
    ),
    SaveFormat(
        "frozen",
        "Frozen graph",
        ".pb",
        "{outputs}, with constants in place of variables.",
        "Model",
        True,
        options=FROZEN_OPTIONS,
    ),
    SaveFormat(
        "graph",
        "GraphDef",
        ".pb",
        "Every op, in binary; the values of variables are not in it.",
        "Model",
        True,
    ),
    SaveFormat(
        "text",
        "GraphDef as text",
        ".pbtxt",
        "Every op, to be read; the values of variables are not in it.",
        "Model",
        True,
    ),
    SaveFormat(
        "meta",
        "MetaGraph",
        ".meta",
        "Every op and collection, and a checkpoint of the values beside.",
        "Model",
        True,
    ),
    *(
        SaveFormat(
            suffix[1:],
            conversion.label,
            suffix,
            f"The frozen graph for {conversion.runtime}, run there and compared with the graph.",
            "Model",
            options=conversion.options,
            opens=False,
        )
        for suffix, conversion in CONVERSIONS.items()
    ),
    SaveFormat(
        "editor",
        "Graph, edits and values",
        ".tgw",
        "To go on with later, with undo: a double-click opens it.",
        "Edits",
        True,
    ),
    SaveFormat(
        "script",
        "Python script",
        ".py",
        "The code that opens the graph and makes the same edits.",
        "Edits",
        True,
    ),
    SaveFormat(
        "edits",
        "Edits",
        ".json",
        "The edits alone, to be made again on this graph or another.",
        "Edits",
        True,
    ),
    SaveFormat(
        "page",
        "Web page",
        ".html",
        "One page to look around in, without Python and network.",
        "View",
    ),
    SaveFormat(
        "svg", "Picture, SVG", ".svg", "The drawing as it is now, sharp at any size.", "View"
    ),
    SaveFormat(
        "png", "Picture, PNG", ".png", "The drawing as it is now, at twice its resolution.", "View"
    ),
    SaveFormat("pdf", "Picture, PDF", ".pdf", "The drawing as it is now, to be printed.", "View"),
    SaveFormat("dot", "Graphviz", ".dot", "The ops and edges for Graphviz.", "Other tools"),
    SaveFormat(
        "graphml",
        "GraphML",
        ".graphml",
        "The ops and edges for yEd, Gephi and networkx.",
        "Other tools",
    ),
)
_BY_NAME = {kind.kind: kind for kind in _ALL}
_OWN = {kind.suffix: kind.kind for kind in _ALL if kind.kind in ("graph", "text", "meta")}
_EDITOR = _BY_NAME["editor"]
_CONVERTED = frozenset(suffix[1:] for suffix in CONVERSIONS)
_PACKAGES = {".png": "matplotlib", ".pdf": "matplotlib", ".graphml": "networkx"}
_RUNNABLE = frozenset({"saved_model", "frozen", "meta"}) | _CONVERTED
_CHOSEN = _RUNNABLE - {"meta"}  # of which the user chooses the outputs
OUTPUTS = SaveOption(
    "outputs", "Outputs", ("",), "The ops or tensors that are computed, with commas between them"
)
_SHOWN = 3  # outputs, or keys of a signature, that a sentence names
_BARE = (
    "Every op and collection; without a checkpoint, as the file came without the values of its "
    "variables."
)


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


def list_save_formats(editor: GraphEditor, path: Path | None = None) -> list[SaveFormat]:
    """The formats, with a proposed name each or the reason why it cannot be written, by their
    groups: in each that of the opened file, if any, first, and last those that cannot be written
    now.
    """
    stem, ending = _notebook_stem(editor), ""
    own, editor_name = "saved_model", ""
    if path is not None:
        stem, ending = output_stem(path), "_edited"
        suffix = path.suffix.lower()
        if not is_saved_model(path):
            own = _OWN.get(suffix, "graph")
        if suffix == _EDITOR.suffix:
            # A file with its edits: saved under its own name again it loses nothing.
            editor_name = path.name
    formats, guessed = [], frozen_outputs(editor)
    for kind in _ALL:
        about = kind.about.format(
            outputs=_outputs_text(guessed), signatures=_signatures_text(editor, guessed)
        )
        if kind.kind == "meta" and editor._core.target.came_without_values():
            about = _BARE
        name = f"{stem}{'_frozen' if kind.kind == 'frozen' else ending}{kind.suffix}"
        if editor_name and kind is _EDITOR:
            name = editor_name
        options = kind.options
        if guessed and kind.kind in _CHOSEN:
            options = (replace(OUTPUTS, choices=(", ".join(guessed),)), *options)
        refused = _refusal(editor, kind)
        formats.append(replace(kind, name=name, refused=refused, about=about, options=options))
    groups = sorted(
        {kind.group: None for kind in _ALL},
        key=lambda group: editor_name != "" and group != _EDITOR.group,
    )
    return sorted(
        formats, key=lambda one: (groups.index(one.group), one.refused != "", one.kind != own)
    )


def frozen_outputs(editor: GraphEditor) -> tuple[str, ...] | None:
    """The outputs that a frozen graph keeps where none are marked; None where some are."""
    has_marked = bool(editor._core.view.boundary[1] or editor.signatures)
    if has_marked or editor._core.executor.boundary is not None:
        return None
    try:
        return editor._core.arguments.outputs(None)
    except GraphEditError:  # no op looks like a result, as in a graph of constants
        return ()


def _signatures_text(editor: GraphEditor, guessed: tuple[str, ...] | None) -> str:
    """The words "its signature serving_default (x → y)", as far as it is known."""
    names = [signature.name for signature in editor.signatures.values()]
    if names or not guessed:
        return f"its signatures {', '.join(names)}" if names else "its signature"
    inputs, outputs = editor._core.arguments.signature_boundary("serving_default", None, guessed)
    takes, gives = _first_keys(inputs) or "nothing", _first_keys(outputs)
    return f"its signature serving_default ({takes} → {gives})"


def _first_keys(tensors: Sequence[tuple[str, str]]) -> str:
    """The first keys of the inputs or outputs of a signature."""
    keys = ", ".join(key for key, _ in tensors[:_SHOWN])
    return f"{keys} …" if len(tensors) > _SHOWN else keys


def _outputs_text(outputs: tuple[str, ...] | None) -> str:
    """The words "The ops that y needs"; the outputs that were marked need no name."""
    if not outputs:
        return "The ops that the outputs need"
    names = ", ".join(outputs[:_SHOWN])
    if len(outputs) > _SHOWN:
        names += f" and {len(outputs) - _SHOWN} more"
    return f"The ops that {names} {'needs' if len(outputs) == 1 else 'need'}"


def _notebook_stem(editor: GraphEditor) -> str:
    """The beginning of proposed names for what is shown: "graph" for a graph without a name."""
    title = PurePath(editor.view.breadcrumb[-1]).name
    endings = (kind.suffix for kind in _ALL if title.endswith(kind.suffix))
    stem = title.removesuffix(next(endings, ""))
    return re.sub(r"\W+", "_", stem).strip("_").lower() or "graph"


def _refusal(editor: GraphEditor, kind: SaveFormat) -> str:
    """Why a format cannot be written now, or ""."""
    executor = editor._core.executor
    is_model, is_runnable = kind.group == "Model", kind.kind in _RUNNABLE
    why = ""
    if is_model:
        why = executor.edit_refusal()
    if not why and is_runnable and executor.boundary is None:
        why = executor.read_only()
    if why:
        return why
    if is_model and not editor._core.index.names:
        return "the graph has no ops"
    has_no_values = handles(editor._core.index) and executor.default_init() != "current"
    needs_values = is_runnable and (kind.kind != "meta" or executor.boundary is not None)
    if needs_values and has_no_values:
        if editor._core.source.graph is None:
            return "there is no checkpoint beside the file with the values of its variables"
        return "it was opened without the session that has the values of its variables"
    if kind.kind in {"saved_model", "frozen"} and frozen_outputs(editor) == ():
        return "mark its outputs in the drawing first"
    if kind.kind in {"script", "edits"} and not editor.history.done:
        return "there are no edits yet"
    return _what_is_missing(kind)


def _what_is_missing(kind: SaveFormat) -> str:
    """The package that is to be installed for a format, as the end of a sentence, or ""."""
    if kind.kind in _CONVERTED:
        return missing_packages(kind.suffix)
    package = _PACKAGES.get(kind.suffix, "")
    missing = missing_package(package) if package else ""
    return f"it needs {package}, {missing}" if missing else ""


def is_saved_model(path: Path) -> bool:
    """Whether a path is a SavedModel's directory, or its saved_model.pb with variables beside."""
    return path.is_dir() or (path.stem == "saved_model" and (path.parent / "variables").is_dir())


def output_stem(path: Path) -> str:
    """The beginning of proposed file names: the file's, or a SavedModel's directory's name."""
    if path.stem == "saved_model" and is_saved_model(path):
        return path.parent.name or path.stem
    return path.name if path.is_dir() else path.stem

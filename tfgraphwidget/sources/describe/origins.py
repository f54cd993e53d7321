"""Where in Python an op was made, as a person reads it: their own lines, and how many of others lie between."""

from __future__ import annotations

import itertools
import linecache
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.source import Body

_OWN = str(Path(__file__).parents[1])
_MACHINERY = "tfgraphwidget"  # an op that it imports or copies was not made by it
_PACKAGE = re.compile(r"(?:site|dist)-packages/(?:jupyter_)?(\w+)")
_STANDARD = re.compile(r"/lib(?:64)?/python3[^/]*/(?!site-packages|dist-packages)|^<frozen ")
_NUMBER = re.compile(r"_\d+$")
_OWNERS = {
    "TensorFlow": ("tensorflow", "tensorflow_core", "tf_slim"),
    "Keras": ("keras", "tf_keras", "keras_core"),
    "Jupyter": ("IPython", "ipykernel", "ipywidgets", "tornado", "traitlets", "client", "nbclient", "anywidget"),
    "pytest": ("_pytest", "pytest", "pluggy", "hypothesis"),
}
_OWNER_OF = {package: owner for owner, packages in _OWNERS.items() for package in packages}
_MOST = 60  # lines that are shown, the innermost
Frame = tuple[str, int, str, str]


def live_origin(outermost: Body, body: Body, op: tuple[str, str], function: str = "") -> tuple[str, ...]:
    """The lines that made an op, (name, type), of a live graph, innermost last; none when none is a person's own.

    `body` is the graph that holds it, `outermost` the one with the library that `function`, if it is one, comes from.
    """
    name, kind = op
    graph = getattr(body, "graph", None)
    names = [{shown: known for known, shown in body.alias.items()}.get(name, name)]
    if graph is None and function:
        library = getattr(getattr(outermost, "graph", None), "_functions", {})
        graph = getattr(library.get(function), "graph", None)  # what Python traced; what was imported has none
        names.append(_NUMBER.sub("", name))  # in a FunctionDef an op has another name than a result
    found = _operation(graph, names, kind) if graph is not None else None
    frames = () if found is None else found.traceback or ()
    return format_frames((frame.filename, frame.lineno, frame.name, frame.line or "") for frame in frames)


def _operation(graph: Any, names: Iterable[str], kind: str) -> Any:
    """The first op of these names that has the type; a captured variable is shown as another type. None for none."""
    for name in names:
        try:
            op = graph.get_operation_by_name(name)
        except (KeyError, ValueError):  # an edit has made it, beside the graph
            continue
        if kind in (op.type, "VarHandleOp"):
            return op
    return None


def format_frames(frames: Iterable[Frame]) -> tuple[str, ...]:
    """(file, line, function, source line), outermost first, as text: others' in a row as one."""
    found: list[str] = []
    last = 0
    for owner, held in itertools.groupby(frames, key=lambda frame: _owner(frame[0])):
        group = list(held)
        if owner:
            found.append(f"… {len(group)} {'frame' if len(group) == 1 else 'frames'} of {owner}")
        else:
            found += map(_line, group)
            last = len(found)
    return tuple(found[:last][-_MOST:])


def read_debug_info(file: Path) -> Any:
    """The GraphDebugInfo in a file beside a SavedModel; None when there is none that can be read."""
    try:
        return tf_protos.GraphDebugInfo.FromString(file.read_bytes())
    except Exception:  # not there, not readable, or damaged: it is only ever looked at
        return None


def saved_origin(info: Any, op: str, function: str = "") -> tuple[str, ...]:
    """The lines that made an op of a SavedModel, or of a function in it, as `info` tells."""
    for key in (f"{op}@{function}", op):
        if key in info.name_to_trace_id:
            trace = info.traces_by_id[info.name_to_trace_id[key]]
        elif key in info.traces:
            trace = info.traces[key]
        else:
            continue
        places = [*trace.file_line_cols, *(info.frames_by_id[i] for i in trace.frame_id if i in info.frames_by_id)]
        known = len(info.files)
        return format_frames((info.files[p.file_index], p.line, p.func, p.code) for p in places if p.file_index < known)
    return ()


def _owner(path: str) -> str:
    """Whose code it is, as a word; "" for a person's own, and for packages that nobody here knows."""
    package = _PACKAGE.search(path)
    if package:
        return _OWNER_OF.get(package[1], "")
    if path.startswith(_OWN):
        return _MACHINERY
    if path.startswith("tensorflow/") or "__autograph_generated_file" in path:
        return "TensorFlow"
    return "Python" if _STANDARD.search(path) else ""


def _line(frame: Frame) -> str:
    path, number, function, code = frame
    text = (code or linecache.getline(path, number)).strip()
    return f"{path}:{number} in {function}{f' — {text}' if text else ''}"

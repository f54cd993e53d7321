"""The Python stack of an op as text: the user's lines, and how many frames of libraries lie between
them.
"""

from __future__ import annotations

import itertools
import linecache
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tfgraphwidget.readable import read_file
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.source import Body
from tfgraphwidget.tf_types import FuncGraph, Graph, GraphDebugInfo, Operation

_OWN = str(Path(__file__).parents[1])
_MACHINERY = "tfgraphwidget"  # an op that it imports or copies was not made by it
_PACKAGE = re.compile(r"(?:site|dist)-packages/(?:jupyter_)?(\w+)")
_STANDARD = re.compile(r"/lib(?:64)?/python3[^/]*/(?!site-packages|dist-packages)|^<frozen ")
_NUMBER = re.compile(r"_\d+$")
_OWNERS = {
    "TensorFlow": ("tensorflow", "tensorflow_core", "tf_slim"),
    "Keras": ("keras", "tf_keras", "keras_core"),
    "Jupyter": (
        "IPython",
        "ipykernel",
        "ipywidgets",
        "tornado",
        "traitlets",
        "client",
        "nbclient",
        "anywidget",
    ),
    "pytest": ("_pytest", "pytest", "pluggy", "hypothesis"),
}
_OWNER_OF = {package: owner for owner, packages in _OWNERS.items() for package in packages}
_MOST = 60  # lines that are shown, the innermost
Frame = tuple[str, int, str, str]


def live_origin(
    outermost: Body, body: Body, op: tuple[str, str], function: str = ""
) -> tuple[str, ...]:
    """The lines of Python that created an op of a live graph, innermost last; empty if none is the
    user's. The op may be of the body of a `function`, which the library of `outermost` has.
    """
    name, kind = op
    graph = getattr(body, "graph", None)
    names = [{shown_name: original for original, shown_name in body.alias.items()}.get(name, name)]
    if graph is None and function:
        graph = _find_function_graph(getattr(outermost, "graph", None), function)
        names.append(_NUMBER.sub("", name))  # in a FunctionDef an op has another name than a result
    operation = _operation(graph, names, kind) if graph is not None else None
    frames = () if operation is None else operation.traceback or ()
    return format_frames(
        (frame.filename, frame.lineno, frame.name, frame.line or "") for frame in frames
    )


def _find_function_graph(graph: FuncGraph | None, function: str) -> FuncGraph | None:
    """Return the FuncGraph of a function that Python traced; None if the function was imported."""
    if graph is None:
        return None
    from tfgraphwidget.tf_internals import graph_functions

    return getattr(graph_functions(graph).get(function), "graph", None)


def _operation(graph: Graph, names: Iterable[str], kind: str) -> Operation | None:
    """Return the first op of these names that has the type, or None, as for captured variables."""
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
    texts: list[str] = []
    last = 0
    for owner, frames_of_owner in itertools.groupby(frames, key=lambda frame: _owner(frame[0])):
        group = list(frames_of_owner)
        if owner:
            texts.append(f"… {len(group)} {'frame' if len(group) == 1 else 'frames'} of {owner}")
        else:
            texts += map(_line, group)
            last = len(texts)
    return tuple(texts[:last][-_MOST:])


def read_debug_info(file: Path) -> GraphDebugInfo | None:
    """The GraphDebugInfo in a file of a SavedModel; None when it cannot be read."""
    try:
        debug_info: GraphDebugInfo | None = tf_protos.GraphDebugInfo.FromString(read_file(file))
        return debug_info
    except Exception:  # not there, not readable, or damaged: it is only ever looked at
        return None


def saved_origin(info: Any, op: str, function: str = "") -> tuple[str, ...]:
    """Return the lines of code that created an op of a SavedModel, or of a function of it."""
    for key in (f"{op}@{function}", op):
        if key in info.name_to_trace_id:
            trace = info.traces_by_id[info.name_to_trace_id[key]]
        elif key in info.traces:
            trace = info.traces[key]
        else:
            continue
        places = [
            *trace.file_line_cols,
            *(info.frames_by_id[i] for i in trace.frame_id if i in info.frames_by_id),
        ]
        file_count = len(info.files)
        return format_frames(
            (info.files[p.file_index], p.line, p.func, p.code)
            for p in places
            if p.file_index < file_count
        )
    return ()


def _owner(path: str) -> str:
    """The library that a path belongs to, as a word; "" for the user's or unknown code."""
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

"""Other graphs, of files and of variables of the notebook: they are added to this one, or compared
with it.
"""

from __future__ import annotations

import base64
import os
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfgraphwidget.editor import opened_navigator
from tfgraphwidget.errors import GraphEditError, UnknownName
from tfgraphwidget.graph import is_placeholder
from tfgraphwidget.naming import count_text, did_you_mean, format_size, split_tensor
from tfgraphwidget.sources import file_suffixes, main_files, open_source, parse_path
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.edit_requests import tensor_type
from tfgraphwidget.widget.kernel_namespace import graphs_in, user_namespace
from tfgraphwidget.widget.server_paths import path_from, resolve_path

if TYPE_CHECKING:
    from tfgraphwidget.editor import GraphEditor
    from tfgraphwidget.edits import Preview
    from tfgraphwidget.widget.exporter import Exporter

_MOST = 200  # variables and inputs: what a form can show
_MOST_BYTES = 64_000_000  # of a file that is dropped: what a page can send in some seconds
_KEPT = 3  # dropped files
_MOST_ENTRIES = 2000  # of a folder


class OtherGraphs:
    """Answers what a page asks about other graphs, and adds them; keeps the last dropped files."""

    def __init__(self, editor: GraphEditor, exporter: Exporter) -> None:
        self._editor, self._exporter = editor, exporter
        self._dropped: dict[str, bytes] = {}
        self._arriving = bytearray()

    def reply(self, request: p.Names | p.Inputs | p.Locate | p.Upload) -> p.Reply:
        """The answer to a question about other graphs and files."""
        match request:
            case p.Names():
                return self.names()
            case p.Inputs(source):
                return self.inputs(source)
            case p.Locate():
                return self.locate(request)
            case p.Upload():
                return self.upload(request)

    def upload(self, request: p.Upload) -> p.UploadReply:
        """Take a piece of a file. Raises GraphEditError for too large or disordered ones."""
        if request.size > _MOST_BYTES:
            raise GraphEditError(
                f"{request.name!r} has {format_size(request.size)}, and a page sends "
                f"{format_size(_MOST_BYTES)} at most; upload it to the file browser, and drag it "
                "here from there."
            )
        if request.start == 0:
            self._arriving = bytearray()
        try:
            piece = base64.b64decode(request.data, validate=True)
        except ValueError:
            piece = b""
        is_next = request.start == len(self._arriving)
        if not is_next or not 0 < request.start + len(piece) <= request.size:
            self._arriving = bytearray()
            raise GraphEditError(f"{request.name!r} did not arrive whole; drop it again.")
        self._arriving += piece
        received = len(self._arriving)
        if received < request.size:
            return p.UploadReply(received, "")
        uploads = {name: data for name, data in self._dropped.items() if name != request.name}
        self._dropped = dict([*uploads.items(), (request.name, bytes(self._arriving))][-_KEPT:])
        self._arriving = bytearray()
        return p.UploadReply(received, request.name)

    def locate(self, request: p.Locate) -> p.KernelPath:
        """The path to type for a file or folder of Jupyter. Raises UnknownName where unreadable."""
        folder = self._exporter.folder
        path = path_from(resolve_path(request.path, request.root, folder), folder)
        others = {*self._dropped, *(name for name, _, _ in graphs_in(user_namespace()))}
        return p.KernelPath(f"./{path}" if path in others else path)

    def names(self) -> p.Sources:
        """The variables of the notebook that hold another graph, and the files beside it."""
        own = (self._editor, self._editor._core.source.graph, self._editor._core.source.session)
        others = [graph for graph in graphs_in(user_namespace()) if graph[1] not in own]
        sources = [p.Source(name, kind) for name, _, kind in others]
        files = [p.Source(name, "file") for name in self._files()]
        return p.Sources((*sources[-_MOST:], *files))

    def inputs(self, name: str) -> p.Joints:
        """The inputs of another graph, each with the tensor of this one that may be read in its
        place.

        Raises UnknownName, and what opening it raises.
        """
        thing, session = self._find(name)
        core = getattr(thing, "_core", None)  # of an editor
        source = open_source(thing, session) if core is None else core.source
        navigator = opened_navigator(source) if core is None else core.navigator
        index = navigator.outermost.index
        own = self._editor._core.index
        outputs = self._editor._core.view.boundary[1]
        if source.signature is not None:
            placeholders = [tensor for _, tensor in source.signature.inputs]
        else:
            ops = [i for i, op_type in enumerate(index.types) if is_placeholder(op_type)]
            placeholders = [f"{index.names[op]}:0" for op in ops]
        joints = []
        for tensor in placeholders[:_MOST]:
            same = tensor if split_tensor(tensor)[0] in own.ids else ""
            output = outputs[0] if len(outputs) == len(placeholders) == 1 else ""
            output = f"{output}:0" if output in own.ids else output
            joints.append(p.Joint(tensor, tensor_type(index, tensor), output or same))
        scope = self._editor._core.executor.free_scope(Path(name).stem or "model")
        return p.Joints(tuple(joints), scope)

    def add(self, request: p.Add) -> tuple[str, str]:
        """Add another graph; what was done, and the item to bring into view, or GraphEditError."""
        source, session = self._find(request.source)
        pairs = dict(zip(request.inputs, request.tensors, strict=False))
        connect = {tensor: other_tensor for tensor, other_tensor in pairs.items() if other_tensor}
        copy = self._editor.add(source, request.into or None, connect, session=session)
        report: Preview = copy.report
        text = f"Added {count_text(len(report.ops), 'op')} as {copy.scope!r}"
        if connect:
            text += f", {len(connect)} of its inputs joined"
        return f"{text}.", self._editor.view.reveal(copy.scope)

    def comparable(self, name: str) -> object:
        """The object that a file or variable name means to `editor.diff`. Raises UnknownName."""
        return self._find(name)[0]

    def _files(self) -> list[str]:
        """The files and SavedModels of the folder that can be opened, without the shown one."""
        try:
            with os.scandir(self._exporter.folder) as entries:
                names = [entry.name for entry in islice(entries, _MOST_ENTRIES) if _is_graph(entry)]
        except OSError:  # a folder that was removed, or that may not be read
            return []
        path = self._exporter.path
        own = set() if path is None else {path.name, path.parent.name}
        return sorted(name for name in names if name not in own)[:_MOST]

    def _find(self, name: str) -> tuple[Any, Any]:
        """The graph, or the path of its file, and the session that runs it. Raises UnknownName."""
        if name in self._dropped:
            return self._dropped[name], None
        graphs = list(graphs_in(user_namespace()))
        variables = {variable: (thing, kind) for variable, thing, kind in graphs}
        if name in variables:
            thing, kind = variables[name]
            if kind == "session":
                return thing.graph, thing
            if kind != "tf.Graph":
                return thing, None
            sessions = (each for _, each, its_kind in graphs if its_kind == "session")
            return thing, next((each for each in sessions if each.graph is thing), None)
        here = self._exporter.folder  # the kernel of a document does not run beside its file
        # A path that is copied from the file browser begins at the server's root.
        from_root = [folder / name.lstrip("/") for folder in (here, *here.parents)]
        for path in (here / parse_path(name, "source"), *from_root):
            if name and os.path.exists(path):  # noqa: PTH110  # Path.exists raises for a name too long
                return str(path), None
        if not name:
            raise GraphEditError(
                "No graph is named; choose a variable of the notebook, or type the path of a file."
            )
        place, way = "", "type the path of a file"
        if self._exporter.path is None:
            place = " and no graph in the notebook"
            way = "choose a variable, or type the path of a file"
        end = did_you_mean(name, [*variables, *self._files()], otherwise=way)
        raise UnknownName(f"There is no file{place} of the name {name!r}{end}")


def _is_graph(entry: os.DirEntry[str]) -> bool:
    """Whether it has the name of a file that can be opened, or is a folder with such a file."""
    if not entry.is_dir():
        return entry.name.lower().endswith(file_suffixes())
    return any(Path(entry, name).is_file() for name in main_files())

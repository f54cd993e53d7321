"""Files, and GraphDefs, MetaGraphDefs and SavedModels however they came: opened as data, nothing of them is run."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfgraphwidget.errors import GraphEditError, NotAGraph, UnknownName
from tfgraphwidget.names import did_you_mean
from tfgraphwidget.sources.assets import located
from tfgraphwidget.sources.body import Source
from tfgraphwidget.sources.checkpoints import Checkpoint
from tfgraphwidget.sources.notices import File, obstacles
from tfgraphwidget.sources.objects import object_variables
from tfgraphwidget.sources.parsing import GRAPH, LARGEST, META, SAVED, holds_graph, parse
from tfgraphwidget.sources.paths import path_of, reason, shortened
from tfgraphwidget.sources.protos import ProtoBody, ProtoLibrary, checked
from tfgraphwidget.sources.reviving import revive
from tfgraphwidget.sources.signatures import broken, chosen, entrance, signatures_of
from tfgraphwidget.sources.stored import Stored
from tfgraphwidget.sources.variables import collections_of
from tfgraphwidget.writable import recover


@dataclass(frozen=True)
class Wanted:
    """What the caller of open_source chose."""

    signature: Any = None
    checkpoint: Any = None
    tags: Any = None


def path_source(path: str | os.PathLike[str], wanted: Wanted) -> Source:
    """The source of a file or a SavedModel directory.

    Raises UnknownName for a path that is not there, NotAGraph for what holds no graph.
    """
    given = path_of(path, "path")
    title = str(given)
    try:
        given.lstat()
        told = recover(Path(os.path.realpath(given if given.is_dir() else given.parent)))
        file = _saved_model_file(given) if given.is_dir() else given
    except (FileNotFoundError, NotADirectoryError):
        near = did_you_mean(given.name, _neighbours(given.parent))
        raise UnknownName(f"There is no file or directory {shortened(title)}.{near}") from None
    except (OSError, ValueError) as error:
        raise GraphEditError(f"{shortened(title)} cannot be opened: {reason(error)}.") from error
    proto = parse(_content(file), file.name, f"File {shortened(str(file))}")
    # A saved_model.pb with its variables beside it is its folder; without, it is a graph alone.
    alone = file == given and Checkpoint.of_saved_model(file.parent).missing()
    folder = file.parent if isinstance(proto, SAVED) and not alone else None
    source = proto_source(proto, title, f"File {shortened(title)}", wanted, folder)
    source.notices = (*told, *source.notices)
    return source


def _neighbours(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except (OSError, ValueError):
        return []


def _saved_model_file(folder: Path) -> Path:
    for name in ("saved_model.pb", "saved_model.pbtxt"):
        if os.path.lexists(folder / name):
            return folder / name
    list(folder.iterdir())  # one that may not be listed says so here
    inside = [name for name in _neighbours(folder) if _opens(folder / name)]
    hint = f"; did you mean {str(folder / inside[0])!r}?" if inside else "; give the one that model.export wrote."
    raise NotAGraph(f"Directory {shortened(str(folder))} is no SavedModel: it has no saved_model.pb{hint}")


def _opens(path: Path) -> bool:
    """Whether it looks like a file or folder that can be opened."""
    suffixes = (".meta", ".pb", ".pbtxt")
    if path.is_dir():
        return any(os.access(path / f"saved_model{suffix}", os.R_OK) for suffix in suffixes[1:])
    return path.name.endswith(suffixes) and path.is_file() and os.access(path, os.R_OK)


def _content(file: Path) -> bytes:
    try:
        about = file.stat()
        if not stat.S_ISREG(about.st_mode):
            raise NotAGraph(
                f"{shortened(str(file))} is neither a regular file nor a directory; give the file that the graph was "
                "saved in."
            )
        if about.st_size > LARGEST:
            raise NotAGraph(
                f"File {str(file)!r} is over 2 GB, which no protobuf can be; save the graph without its variables' "
                "values, and the values in a checkpoint."
            )
        return file.read_bytes()
    except (OSError, ValueError) as error:
        raise GraphEditError(f"File {shortened(str(file))} cannot be read: {reason(error)}.") from error


def proto_source(proto: Any, title: str, where: str, wanted: Wanted, folder: Path | None = None) -> Source:
    """The source of a GraphDef, MetaGraphDef or SavedModel; `folder` is the directory of a SavedModel with values.

    `where` begins the sentences about it.
    """
    if not holds_graph(proto):
        raise NotAGraph(f"{where} holds no graph with ops in it; give one that has ops.")
    meta = located(_meta_graph(proto, wanted.tags, where), folder)
    graph_def, meta = (meta, META()) if isinstance(meta, GRAPH) else (meta.graph_def, meta)
    nodes = checked(graph_def.node, where)
    library = ProtoLibrary.of(graph_def)
    ops_there = {node.name for node in nodes}
    held = collections_of(meta, ops_there)
    told, called = object_variables(meta, nodes)
    held = held if held[1] else ({**held[0], **told[0]}, told[1])
    signatures = signatures_of(meta, ops_there)
    signature = chosen(signatures, wanted.signature, where)
    checkpoint = None if folder is None else Checkpoint.of_saved_model(folder)
    if wanted.checkpoint is not None:
        checkpoint, folder = Checkpoint.of(wanted.checkpoint), None
    file = File(where, graph_def, meta, ProtoBody(nodes, library, held, called=called), checkpoint, folder)
    found = obstacles(file)
    return Source(
        title,
        file.body,
        notices=(*(obstacle.why for obstacle in found), *broken(meta, signatures)),
        has_values=checkpoint is not None,
        stopped=next((obstacle.why for obstacle in found if obstacle.stops), ""),
        signatures=signatures,
        signature=signature,
        entrance=entrance(signature, nodes, library),
        revive=lambda: revive(file),
        stored=Stored(file),
    )


def _meta_graph(proto: Any, tags: Any, where: str) -> Any:
    """The MetaGraphDef of a SavedModel that has the tags; without tags "serve" or the only one. Others as they are."""
    if not isinstance(proto, SAVED):
        if tags is not None:
            raise GraphEditError(f"{where} is no SavedModel, so it has no tags; leave tags= out.")
        return proto
    by_tags = {tuple(sorted(meta.meta_info_def.tags)): meta for meta in proto.meta_graphs}
    listed = " or ".join(f"tags={list(held)!r}" for held in by_tags)
    if tags is not None:
        if isinstance(tags, bytes) or not isinstance(tags, Iterable):
            raise UnknownName(f"tags={shortened(tags)} are no tags; give {listed}.")
        wanted = tuple(sorted([tags] if isinstance(tags, str) else map(str, tags)))
        if wanted not in by_tags:
            raise UnknownName(f"{where} has no graph with tags {list(wanted)!r}; give {listed}.")
        return by_tags[wanted]
    if len(proto.meta_graphs) == 1:
        return proto.meta_graphs[0]
    if ("serve",) in by_tags:
        return by_tags["serve",]
    raise GraphEditError(f"{where} has several graphs, none of them tagged 'serve'; give {listed}.")

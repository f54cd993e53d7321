"""Export: all that writing a graph to a file can need, handed in by the editor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import tensorflow as tf

from tfgraphwidget.edits.serialization import Script
from tfgraphwidget.export.html.page_input import Viewed
from tfgraphwidget.graph import GraphIndex
from tfgraphwidget.scene import Paint, Scene
from tfgraphwidget.sources import Signature, StoredData, tf_protos
from tfgraphwidget.tf_types import Session


def _silent(_: str) -> None:
    return None


def _never() -> bool:
    return False


@dataclass(frozen=True)
class Export:
    """The visible graph, the ways to call it, its picture and its code.

    `index` is what is written; `envelope` gives the versions and the function library around its ops, `written` their
    NodeDefs as the file had them that they came from, `meta` the MetaGraphDef of that file, `unedited` the folder of a
    SavedModel that is asked for as it is, `ask` the signatures that are meant. `graph` and `session` are asked for when
    values are needed: a file is imported into TensorFlow then. `edited` gives the SavedModel that was opened, if it is
    to be written with its edits. `read_only` is the sentence that says why there is no
    graph that can run, or "": then `module` may give a tf.Module that does the same. `feeds` are values by the name of
    an input, its tensor or its op, to try what was written with; `notice` is told the sentences that a person should
    read. `code` gives the script, by the name of the file that it reads its large arrays from, `edits` the same as
    JSON. `view` is what a page shows. `without_values` says whether the graph has variables and is a file's that came
    without their values.
    """

    index: GraphIndex
    envelope: Callable[[], tf.compat.v1.GraphDef]
    graph: Callable[[], tf.Graph]
    session: Callable[[], tf.compat.v1.Session | None]
    ask: Callable[[], tuple[Signature, ...]]
    picture: Callable[[], tuple[Scene, Paint]]
    code: Callable[[str], Script]
    view: Callable[[], Viewed]
    edits: Callable[[], str] = str
    written: Callable[[Iterable[Any]], list[Any]] = list
    meta: Callable[[], Any] | None = None
    unedited: Callable[[], Path | None] | None = None
    edited: Callable[[], EditedSavedModel | None] | None = None
    module: Callable[[], tf.Module] | None = None
    read_only: str = ""
    without_values: Callable[[], bool] = _never
    frozen: bool = False
    verify: bool = True
    feeds: Mapping[str, Any] = field(default_factory=dict)
    notice: Callable[[str], None] = _silent

    @cached_property
    def signatures(self) -> tuple[Signature, ...]:
        """The ways to call what is written; asked for once, and only where they matter: a picture needs none."""
        return self.ask()

    def called_by(self, signatures: tuple[Signature, ...]) -> Export:
        """The same with other signatures."""
        return replace(self, ask=lambda: signatures)


@dataclass(frozen=True)
class EditedSavedModel:
    """A SavedModel that was opened, and what edits have made of it.

    `stored` is what its folder holds beside the graph, `before` its graph as it was opened, and `signatures` are those
    that it had. `export` is the graph with its signatures as they are now; `session` runs it, and is None as long as
    TensorFlow has not imported the graph: the variables have the values of the file then.
    """

    folder: Path
    stored: StoredData
    before: GraphIndex
    signatures: tuple[Signature, ...]
    export: Export
    session: Session | None

    @cached_property
    def model(self) -> Any:
        """The SavedModel message in the folder."""
        return tf_protos.SavedModel.FromString((self.folder / "saved_model.pb").read_bytes())

    @cached_property
    def meta_graph(self) -> Any:
        """The MetaGraphDef that was chosen by its tags."""
        tags = self.stored.tags()
        return next(meta for meta in self.model.meta_graphs if tuple(meta.meta_info_def.tags) == tags)

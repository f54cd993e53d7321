"""Graphs in files, bytes and messages, opened as data: nothing in them runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tfgraphwidget.errors import GraphEditError, NotAGraph, UnknownName
from tfgraphwidget.graph import (
    Effects,
    NodeDefs,
    NodesByName,
    Trust,
    effect_of,
    nodes_of_types,
    types_of,
)
from tfgraphwidget.naming import names_text
from tfgraphwidget.sentences import argument_value, leave_out
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.files.assets import relocate_assets
from tfgraphwidget.sources.files.checkpoint import Checkpoint
from tfgraphwidget.sources.files.container import OpenOptions
from tfgraphwidget.sources.files.graph_def_bytes import StoredGraphDef
from tfgraphwidget.sources.files.object_graph import bound_arguments, object_variables
from tfgraphwidget.sources.files.obstacles import FileGraph, find_obstacles
from tfgraphwidget.sources.files.other_checkpoint import other_checkpoint
from tfgraphwidget.sources.files.parse import holds_graph
from tfgraphwidget.sources.files.signature_defs import (
    choice_notice,
    choose_signature,
    entry_path,
    read_signatures,
    shared_functions,
)
from tfgraphwidget.sources.files.stored_data import FileStoredData, PartStoredData
from tfgraphwidget.sources.inference.dtypes import OpTypes
from tfgraphwidget.sources.node_body import GraphDefLibrary, NodeBody
from tfgraphwidget.sources.node_repairs import readable_nodes
from tfgraphwidget.sources.paths import shorten
from tfgraphwidget.sources.source import ImportedGraph, Source
from tfgraphwidget.sources.variables import read_collections, read_contexts, read_runners
from tfgraphwidget.tf_types import MetaGraphDef


def open_message(
    proto: Any,
    title: str,
    where: str,
    options: OpenOptions,
    folder: Path | None = None,
    values: Mapping[str, Callable[[], object]] | None = None,
    *,
    fills_tables: bool = True,
    table_folder: Path | None = None,
    trust: Trust | None = None,
    filled_later: Collection[str] = (),
    nodes: NodeDefs | None = None,
) -> Source:
    """Open a message that holds a graph, as data; TensorFlow imports the graph when something in it
    is to run.

    Args:
        proto: A GraphDef, MetaGraphDef or SavedModel, which belongs to the source from now on.
        title: What the graph view shows as the source's name.
        where: The subject of sentences about it, "File 'model.pb'".
        options: Signature, checkpoint and tags that the caller chose.
        folder: The directory of a SavedModel with its variables' values.
        values: Read the values of variables, by their handle ops, where no checkpoint has them. A
            session gives the others those that their initializers compute.
        fills_tables: Whether a session fills the tables by their initializers; False where their
            contents are loaded.
        table_folder: The directory of the files that tables may be filled from; None for no file.
        trust: Whether ops may run that do more than compute; None to find it out.
        filled_later: The names of the tables whose contents are loaded once the graph is imported.
        nodes: The NodeDefs of the graph, where they were read already.

    Raises:
        NotAGraph: When there are no ops in it.
        UnknownName: For a signature or tags that it does not have.
        GraphEditError: When it is damaged, or there is a choice to make.
    """
    if not holds_graph(proto):
        raise NotAGraph(f"{where} holds no graph with ops in it; give one that has ops.")
    meta: Any = relocate_assets(_meta_graph(proto, options.tags, where), folder)
    graph_def, meta = (
        (meta, tf_protos.MetaGraphDef())
        if meta.DESCRIPTOR.name == "GraphDef"
        else (meta.graph_def, meta)
    )
    library = GraphDefLibrary.of(
        graph_def.envelope if isinstance(graph_def, StoredGraphDef) else graph_def
    )
    nodes, filled_in = readable_nodes(
        graph_def.node if nodes is None else nodes, where, OpTypes(library.function)
    )
    ops_there = nodes.ids
    collections = read_collections(meta, ops_there)
    object_collections, saved_names = object_variables(meta, nodes)
    if not (collections[1]):
        collections = ({**collections[0], **object_collections[0]}, object_collections[1])
    checkpoint = None if folder is None else Checkpoint.of_saved_model(folder)
    if trust is None:
        trust = trust_of(
            where,
            nodes,
            library,
            table_folder if folder is None else folder,
            options,
            bound=bound_arguments(meta, folder),
            restores_texts=_restores_texts(nodes, checkpoint, options),
        )
    body = NodeBody(
        nodes,
        library,
        collections,
        saved_names=saved_names,
        saved_contexts=read_contexts(meta, ops_there),
        saved_runners=read_runners(meta, ops_there),
    )
    signatures, missing_tensors = read_signatures(meta, body)
    signature = choose_signature(signatures, options.signature, where)
    if options.checkpoint is not None:
        replacement = Checkpoint.of(options.checkpoint)
        if checkpoint is None or checkpoint.missing() or replacement.missing():
            checkpoint, folder = replacement, None
        else:
            checkpoint = other_checkpoint(checkpoint, replacement, meta, body)
    parts = (
        meta,
        body,
        checkpoint,
        folder,
        values,
        fills_tables,
        table_folder,
        trust,
        filled_later,
    )
    file = FileGraph(where, *parts)

    def obstacles() -> tuple[tuple[str, ...], str]:
        reasons = find_obstacles(file)
        return tuple(each.why for each in reasons), next(
            (each.why for each in reasons if each.stops), ""
        )

    def open_edited(edited: MetaGraphDef, filled_later: Collection[str] = ()) -> Source:
        return open_message(
            edited,
            title,
            where,
            OpenOptions(),
            fills_tables=fills_tables,
            table_folder=table_folder if file.folder is None else file.folder,
            trust=trust,
            filled_later=filled_later,
        )

    notices, live_refusal = obstacles()
    return Source(
        title,
        file.body,
        notices=(
            *filled_in,
            *notices,
            *([choice_notice(signatures, where)] if signature is None and signatures else []),
            *(
                f"Signature {name!r} names {names_text(tensors)}, which the graph does not have, "
                "so it is left out; lint has the edit that removes it from the file."
                for name, tensors in missing_tensors.items()
            ),
        ),
        has_values=checkpoint is not None or bool(values),
        live_refusal=live_refusal,
        signatures=signatures,
        missing_tensors=missing_tensors,
        signature=signature,
        entrance=entry_path(signature, nodes, library),
        shared_functions=shared_functions(signature, signatures, nodes, library),
        revive=lambda: _import(file),
        open_edited=open_edited,
        stored=FileStoredData(file) if values is None else PartStoredData(file, values),
        trust=trust,
        find_obstacles=obstacles,
    )


def trust_of(
    where: str,
    nodes: NodeDefs,
    library: GraphDefLibrary,
    folder: Path | None,
    options: OpenOptions,
    *,
    bound: Mapping[str, Collection[int]] = MappingProxyType({}),
    is_fed: bool = True,
    restores_texts: bool = False,
) -> Trust:
    """Whether a file's ops may run: if the user trusts it, or if none of them does more than
    compute.

    Args:
        where: The subject of a sentence.
        folder: Where the files lie that tables may be filled from; None for no file.
        bound: The arguments that the file gives functions itself; see `bound_arguments`.
        is_fed: Whether its placeholders of texts hold what the caller feeds.
        restores_texts: Whether its variables may get texts from a checkpoint.
    """
    folders = () if folder is None else (folder,)
    trust = Trust(where, options.trusted, folders, is_fed=is_fed, restores_texts=restores_texts)
    bodies = [library.function(name).node_def for name in library.functions()]
    types = {*types_of(nodes), *(node.op for body in bodies for node in body)} - library.functions()
    if any(effect_of(op_type).is_dangerous for op_type in types):
        effects = Effects(
            NodesByName(nodes),
            library.function,
            library.functions(),
            trust.may_read,
            OpTypes(library.function),
            is_fed=is_fed,
            restores_texts=restores_texts,
        )
        first = next(chain(effects.of_graph(unfed=True), effects.of_library(bound)), None)
        trust.is_given |= first is None
    else:
        trust.is_given = True
    return trust


def _restores_texts(nodes: NodeDefs, checkpoint: Checkpoint | None, options: OpenOptions) -> bool:
    """Whether a variable may get a text from a checkpoint, such as the name of a file."""
    variables = nodes_of_types(nodes, {"VarHandleOp"})
    # By brackets a missing attribute would be added.
    dtypes = (node.attr["dtype"].type for node in variables if "dtype" in node.attr)
    if tf_protos.STRING not in dtypes:
        return False
    checkpoints = [] if checkpoint is None or checkpoint.missing() else [checkpoint]
    if options.checkpoint is not None:
        checkpoints.append(Checkpoint.of(options.checkpoint))
    for each in checkpoints:
        texts = {name for name, dtype in each.dtypes.items() if dtype == "string"}
        texts.discard(tf_protos.OBJECT_GRAPH)
        # A variable of that name would get it.
        of_tables = _values_of_tables(each) if texts else set()
        if texts - of_tables or not texts.isdisjoint(nodes.ids):
            return True
    return False


def _values_of_tables(checkpoint: Checkpoint) -> set[str]:
    """The names of the keys and the values of hash tables, none of which is a variable's value."""
    try:
        attributes = [attribute for each in checkpoint.objects for attribute in each.attributes]
    except GraphEditError:  # its list of objects is damaged
        return set()
    of_tables = {
        f"{attribute.checkpoint_key}-{part}"
        for attribute in attributes
        if attribute.name == "table"
        for part in ("keys", "values")
    }
    return of_tables - {attribute.checkpoint_key for attribute in attributes}


def _import(file: FileGraph) -> ImportedGraph:
    from tfgraphwidget.sources.files.importing import import_file

    return import_file(file)


def _meta_graph(proto: Any, tags: object, where: str) -> Any:
    """The MetaGraphDef of a SavedModel with the tags, or "serve", or the only one; or itself."""
    if proto.DESCRIPTOR.name != "SavedModel":
        if tags is not None:
            raise GraphEditError(
                f"{where} is not a SavedModel, so it has no tags; " + leave_out("tags") + "."
            )
        return proto
    # Of two graphs that have the same tags TensorFlow loads the first one.
    by_tags = {
        tuple(sorted(set(meta.meta_info_def.tags))): meta for meta in reversed(proto.meta_graphs)
    }
    by_tags = dict(reversed(by_tags.items()))
    choices = " or ".join(f"tags={list(each)!r}" for each in by_tags)
    if tags is not None:
        if isinstance(tags, bytes) or not isinstance(tags, Iterable):
            raise UnknownName(
                argument_value("tags", shorten(tags)) + f" are not tags; give {choices}."
            )
        tag_set = tuple(sorted({tags} if isinstance(tags, str) else set(map(str, tags))))
        if tag_set not in by_tags:
            raise UnknownName(f"{where} has no graph with tags {list(tag_set)!r}; give {choices}.")
        return by_tags[tag_set]
    if len(proto.meta_graphs) == 1:
        return proto.meta_graphs[0]
    if ("serve",) in by_tags:
        return by_tags["serve",]
    raise GraphEditError(
        f"{where} has several graphs, none of them tagged 'serve'; give {choices}."
    )

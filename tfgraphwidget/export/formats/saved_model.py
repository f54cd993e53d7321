"""SavedModels: the ops that signatures need, with the values of variables, tables and asset files.

They are built in a separate graph, because TensorFlow's builder adds the ops of a Saver to the
graph that it saves.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from google.protobuf.message import DecodeError

from tfgraphwidget.edits import Change, rename_contexts
from tfgraphwidget.errors import GraphEditError, NotRunnable
from tfgraphwidget.export.formats.edited_saved_model import NotKept, copy_files, write_edited
from tfgraphwidget.export.formats.function_library import library_of
from tfgraphwidget.export.formats.function_module import save_function
from tfgraphwidget.export.formats.graph_def import check_size
from tfgraphwidget.export.formats.meta_graphs_beside import (
    check_tags,
    finish_model,
    names_in_checkpoint,
)
from tfgraphwidget.export.request import EditedSavedModel, ExportRequest, OpenedSavedModel
from tfgraphwidget.export.signatures import apparent_signature, set_signature_def, signature_def
from tfgraphwidget.export.state.exported_state import ExportedState, read_state
from tfgraphwidget.export.state.exported_subgraph import (
    ExportedSubgraph,
    extract_subgraph,
    ops_needed,
    without_remote_devices,
)
from tfgraphwidget.export.verification.reference import GraphReference
from tfgraphwidget.export.verification.round_trip import check_saved_model
from tfgraphwidget.graph import V1_CONTROL_FLOW, Signature
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import names_text, split_tensor
from tfgraphwidget.runtime.live import import_validated, make_variable, rebuild_contexts
from tfgraphwidget.runtime.sandbox import validate
from tfgraphwidget.runtime.session import variable_values
from tfgraphwidget.sentences import either
from tfgraphwidget.sources import asset_files, is_outside_assets, new_graph, open_session, tf_protos
from tfgraphwidget.tensorflow_modules import tf, v1
from tfgraphwidget.tf_types import SavedModel, SignatureDef

TAG = "serve"
_FILES = (
    "saved_model.pb", "saved_model.cpb", "fingerprint.pb", "keras_metadata.pb",
    "debug/saved_model_debug_info.pb",
)  # fmt: skip
_BUILT_ANEW = (
    "What was written has the signatures of the model, and not the objects that the model was "
    "saved from, because {}."
)
_ALONE = "The other graphs of {!r} are not in what was written, which is the function alone."
_VALUES = re.compile(r"variables\.(index|data-\d+-of-\d+)")
# The builder writes the initialization op and the variables itself.
_LEFT_OUT = frozenset({
    tf_protos.LOCAL_VARIABLES, tf_protos.GLOBAL_VARIABLES, tf_protos.ASSET_FILEPATHS,
    tf_protos.SAVEABLE_OBJECTS,
    "saved_model_main_op", "legacy_init_op", "saved_model_train_op", "saved_model_assets",
})  # fmt: skip


def write_saved_model(path: Path, request: ExportRequest) -> None:
    """Write a SavedModel of the ops that signatures need, verified; an unedited one is copied."""
    opened, edited = request.opened_model, request.edited
    if opened is not None and request.is_unedited and _keeps_tags(request.settings.tags, opened):
        copy_files(opened.folder, path, files_of(opened.folder))
        return
    if edited is not None:
        try:
            write_edited(path, edited, files_of(edited.folder))
        except NotKept as refusal:
            request = edited.request
            if edited.meta_graph.object_graph_def.nodes:
                request.notices.append(_BUILT_ANEW.format(refusal.why))
        else:
            return
    if request.read_only:
        _write_function(path, request)
    else:
        _write_graph(path, request, edited)


def _write_function(path: Path, request: ExportRequest) -> None:
    """Write the function that is open, alone."""
    if request.function is None:
        raise NotRunnable(request.read_only)
    save_function(path, request, request.function)
    if request.opened_model is not None and request.opened_model.others:
        request.notices.append(_ALONE.format(str(request.opened_model.folder)))
    finish_model(path, replace(request, opened_model=None))


def _write_graph(path: Path, request: ExportRequest, edited: EditedSavedModel | None) -> None:
    """Build a SavedModel of the ops that the signatures need, with the other graphs of the file,
    and verify it.
    """
    if not request.signatures:
        request = with_apparent_signature(request, "A SavedModel")
    need = ops_needed(request.index, request.signatures)
    state = read_state(request, need)
    part = extract_subgraph(request.index, request.signatures, state.ops)
    if request.opened_model is not None and request.settings.tags:
        check_tags(request.settings.tags, request.opened_model)
    _write(path, request, part, state, edited)
    finish_model(path, request)
    if request.settings.verify:
        tags = (
            request.settings.tags
            or (() if request.opened_model is None else request.opened_model.tags)
            or (TAG,)
        )
        check_saved_model(path, GraphReference(request, state), request.trust, tags)


def _keeps_tags(tags: Collection[str], opened: OpenedSavedModel) -> bool:
    """Whether the graph is to have the tags by which it was opened."""
    return not tags or set(tags) == set(opened.tags)


def with_apparent_signature(request: ExportRequest, kind: str) -> ExportRequest:
    """The request with the signature of what the graph seems to be for, and a notice of it, in
    which `kind` is "A SavedModel", say. Raises GraphEditError where nothing in the graph looks like
    a result.
    """
    try:
        signature = apparent_signature(request.index)
    except GraphEditError as error:
        raise GraphEditError(
            f"{kind} needs a signature, and nothing in the graph looks like a result: choose a "
            "boundary first" + either(", or give inputs=[…] and outputs=[…].", ".")
        ) from error
    inputs, outputs = (
        names_text([tensor for _, tensor in side]) for side in (signature.inputs, signature.outputs)
    )
    request.notices.append(
        f"Signature {signature.name!r} takes {inputs or 'nothing'} and gives {outputs}, which the "
        "graph seems to be for; "
        + either("choose a boundary, or give inputs= and outputs=,", "mark an input and an output")
        + " for another."
    )
    return replace(request, signatures=(signature,))


def files_of(folder: Path) -> list[str]:
    """The files of the SavedModel in a directory, without other files there.

    A file in "assets" belongs to the model if saved_model.pb names it.
    """
    asset_names = (
        asset.filename
        for meta in _read_saved_model(folder).meta_graphs
        for asset in asset_files(meta)
    )
    assets = [f"assets/{name}" for name in asset_names if not is_outside_assets(folder, name)]
    beside = [
        f"variables/{file.name}"
        for file in folder.glob("variables/*")
        if _VALUES.fullmatch(file.name)
    ]
    return [*_FILES, *dict.fromkeys(assets), *beside]


def _read_saved_model(folder: Path) -> SavedModel:
    """The message of a SavedModel; an empty one if it cannot be read."""
    message: SavedModel = tf_protos.SavedModel()
    with contextlib.suppress(OSError, DecodeError):
        message = tf_protos.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    return message


def _signature_def(
    request: ExportRequest,
    signature: Signature,
    file_signature: Signature,
    edited: EditedSavedModel | None,
) -> SignatureDef:
    """The SignatureDef of a signature, with the opened one's method and composite values."""
    if edited is None:
        was = None
    else:
        was = next((each for each in edited.signatures if each.name == signature.name), None)
    if edited is None or was is None:
        return signature_def(request.index, signature, file_signature)
    message = copy_of(edited.meta_graph.signature_def[signature.name])
    set_signature_def(message, was, signature, file_signature, request.index)
    return message


def _write(
    path: Path,
    request: ExportRequest,
    part: ExportedSubgraph,
    state: ExportedState,
    edited: EditedSavedModel | None,
) -> None:
    nodes = without_remote_devices(request, (*part.nodes, *state.nodes), "The SavedModel")
    library = library_of(request.index, nodes)
    way_out = (
        "make variables of these constants: a SavedModel keeps the values of variables in files of "
        "their own"
    )
    check_size("The graph of the SavedModel", nodes, library, way_out)
    graph = new_graph(request.index.extras.versions())
    gradients = [(gradient.function_name, gradient.gradient_func) for gradient in library.gradient]
    import_validated(graph, validate(graph, nodes, library.function, gradients))
    config = v1.ConfigProto(allow_soft_placement=True)
    with graph.as_default(), closing(open_session(graph, request.trust, config)) as session:
        variables = {v.name: make_variable(graph, v) for v in state.variables}
        variable_values.load_values(session, state.variables, state.values)
        _add_collections(graph, request, {node.name for node in nodes}, variables)
        pairs = zip(request.signatures, part.signatures, strict=True)
        signatures = {
            signature.name: _signature_def(request, signature, file_signature, edited)
            for signature, file_signature in pairs
        }
        builder = v1.saved_model.Builder(str(path))
        if request.opened_model is not None:
            saver = _saver(request.opened_model, state, variables)
        else:
            saver = None
        starters = list(map(graph.get_operation_by_name, state.starters))
        builder.add_meta_graph_and_variables(
            session,
            [TAG],
            signatures,
            assets_collection=list(map(graph.get_tensor_by_name, state.assets)) or None,
            main_op=tf.group(*starters) if starters else None,
            saver=saver,
        )
        builder.save()


def _saver(
    opened: OpenedSavedModel, state: ExportedState, variables: Mapping[str, tf.Variable]
) -> tf.compat.v1.train.Saver | None:
    """A Saver of the checkpoint that other graphs of the file read; None without such."""
    if not (opened.others and variables):
        return None
    names = names_in_checkpoint(state, opened)
    variables_by_name: dict[str, list[tf.Variable]] = {}
    for variable in state.variables:
        variables_by_name.setdefault(names[variable.name], []).append(variables[variable.name])
    partitioned = {names[v.name] for v in state.variables if v.slice_info is not None}
    saved = {
        name: each if name in partitioned else each[0] for name, each in variables_by_name.items()
    }
    return v1.train.Saver(saved, sharded=True, allow_empty=True)


def _add_collections(
    graph: tf.Graph, request: ExportRequest, inside: set[str], variables: dict[str, tf.Variable]
) -> None:
    """Add the subgraph's collections, with all variables as global ones, and its contexts."""
    for variable in variables.values():
        graph.add_to_collection(v1.GraphKeys.GLOBAL_VARIABLES, variable)
    for key, members in request.index.collections.items():
        for kind, name in members if key not in _LEFT_OUT else ():
            if kind == "variable" and name in variables:
                graph.add_to_collection(key, variables[name])
            elif kind != "variable" and split_tensor(name)[0] in inside:
                graph.add_to_collection(key, graph.as_graph_element(name))
    if V1_CONTROL_FLOW.isdisjoint(request.index.kinds[0]):
        return
    ops = [node for node in request.index.nodes if node.name in inside]
    contexts = rename_contexts(
        request.index.extras.contexts(), {node.name: node.name for node in ops}, {}, stays=False
    )
    rebuild_contexts(graph, Change(nodes=tuple(ops), contexts=contexts))

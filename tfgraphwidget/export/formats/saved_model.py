"""SavedModels: what some signatures need, with the values of variables, the tables and the files that these read.

Built in a graph of its own, since TensorFlow's builder adds a Saver's ops to the graph it is given. A SavedModel names
the ends of its signatures and keeps no order of them.
"""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError

from tfgraphwidget.edits import Change, rename_contexts
from tfgraphwidget.errors import GraphEditError, NotRunnable
from tfgraphwidget.export.formats.edited_saved_model import NotKept, copy_files, write_edited
from tfgraphwidget.export.formats.function_library import called
from tfgraphwidget.export.formats.function_module import save_module
from tfgraphwidget.export.formats.graph_def import check_size
from tfgraphwidget.export.request import EditedSavedModel, Export
from tfgraphwidget.export.signatures import set_signature_def, signature_def
from tfgraphwidget.export.state.exported_state import State, state_of
from tfgraphwidget.export.state.exported_subgraph import Part, cut, needed_by, placed
from tfgraphwidget.export.verification.reference import Original
from tfgraphwidget.export.verification.round_trip import check_saved_model
from tfgraphwidget.graph import V1_CONTROL_FLOW
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.runtime.live import import_validated, make_variable, rebuild_contexts
from tfgraphwidget.runtime.sandbox import validate
from tfgraphwidget.runtime.session import variable_values
from tfgraphwidget.sources import Signature, asset_files, is_outside_assets, tf_protos

v1 = tf.compat.v1
TAG = "serve"
_FILES = (
    "saved_model.pb", "saved_model.cpb", "fingerprint.pb", "keras_metadata.pb", "debug/saved_model_debug_info.pb",
)  # fmt: skip
_BUILT_ANEW = (
    "What was written has the signatures of the model, and not the objects that the model was saved from, because {}."
)
_VALUES = re.compile(r"variables\.(index|data-\d+-of-\d+)")
# What is run when the model is loaded is told in another way, and all its variables are restored.
_LEFT_OUT = frozenset({
    v1.GraphKeys.LOCAL_VARIABLES, v1.GraphKeys.GLOBAL_VARIABLES, v1.GraphKeys.ASSET_FILEPATHS,
    v1.GraphKeys.SAVEABLE_OBJECTS,
    "saved_model_main_op", "legacy_init_op", "saved_model_train_op", "saved_model_assets",
})  # fmt: skip


def write_saved_model(path: Path, what: Export) -> None:
    """Write a SavedModel of what the signatures need to the folder `path`, and try it; an unedited one is copied."""
    unedited = None if what.unedited is None else what.unedited()
    if unedited is not None and len(_model(unedited).meta_graphs) == 1:  # of several one was chosen by its tags
        copy_files(unedited, path, files_of(unedited))
        return
    edited = None if what.edited is None else what.edited()
    if edited is not None:
        try:
            write_edited(path, edited, files_of(edited.folder))
        except NotKept as refusal:
            what = edited.export
            if edited.meta_graph.object_graph_def.nodes:
                what.notice(_BUILT_ANEW.format(refusal.why))
        else:
            return
    if what.read_only:
        if what.module is None:
            raise NotRunnable(what.read_only)
        save_module(path, what, what.module)
        return
    if not what.signatures:
        raise GraphEditError(
            "A SavedModel needs a signature: choose a boundary first, or give inputs=[…] and outputs=[…]."
        )
    need = np.logical_or.reduce(needed_by(what.index, what.signatures))
    state = state_of(what, need)
    part = cut(what.index, what.signatures, state.ops)
    _write(path, what, part, state, edited)
    if what.verify:
        check_saved_model(path, Original(what, state))


def files_of(folder: Path) -> list[str]:
    """The files of the SavedModel in a folder: what TensorFlow has written there, and nothing that others put beside.

    A file in "assets" is the model's when its saved_model.pb names it.
    """
    named = (asset.filename for meta in _model(folder).meta_graphs for asset in asset_files(meta))
    assets = [f"assets/{name}" for name in named if not is_outside_assets(folder, name)]
    beside = [f"variables/{file.name}" for file in folder.glob("variables/*") if _VALUES.fullmatch(file.name)]
    return [*_FILES, *dict.fromkeys(assets), *beside]


def _model(folder: Path) -> Any:
    try:
        return tf_protos.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    except (OSError, DecodeError):
        return tf_protos.SavedModel()


def _signature_def(what: Export, asked: Signature, called: Signature, edited: EditedSavedModel | None) -> Any:
    """The SignatureDef of a signature, with the method and the composite values of the one that was opened."""
    was = None if edited is None else next((each for each in edited.signatures if each.name == asked.name), None)
    if edited is None or was is None:
        return signature_def(what.index, asked, called)
    made = tf_protos.SignatureDef()
    made.CopyFrom(edited.meta_graph.signature_def[asked.name])
    set_signature_def(made, was, asked, called, what.index)
    return made


def _write(path: Path, what: Export, part: Part, state: State, edited: EditedSavedModel | None) -> None:
    nodes = placed(what, (*part.nodes, *state.nodes), "The SavedModel")
    library = called(what.index, nodes)
    way_out = "make variables of these constants: a SavedModel keeps the values of variables in files of their own"
    check_size("The graph of the SavedModel", nodes, library, way_out)
    graph = tf.Graph()
    gradients = [(told.function_name, told.gradient_func) for told in library.gradient]
    import_validated(graph, validate(graph, nodes, library.function, gradients))
    config = v1.ConfigProto(allow_soft_placement=True)
    with graph.as_default(), closing(v1.Session(graph=graph, config=config)) as session:
        variables = {v.name: make_variable(graph, v) for v in state.variables}
        variable_values.load_values(session, state.variables, state.values)
        _add_collections(graph, what, {node.name for node in nodes}, variables)
        pairs = zip(what.signatures, part.signatures, strict=True)
        signatures = {asked.name: _signature_def(what, asked, called, edited) for asked, called in pairs}
        builder = v1.saved_model.Builder(str(path))
        starters = list(map(graph.get_operation_by_name, state.starters))
        builder.add_meta_graph_and_variables(
            session,
            [TAG],
            signatures,
            assets_collection=list(map(graph.get_tensor_by_name, state.assets)) or None,
            main_op=tf.group(*starters) if starters else None,
        )
        builder.save()


def _add_collections(graph: tf.Graph, what: Export, inside: set[str], variables: dict[str, tf.Variable]) -> None:
    """What the collections hold of the part, all variables in the global ones, and the contexts of loops."""
    for variable in variables.values():
        graph.add_to_collection(v1.GraphKeys.GLOBAL_VARIABLES, variable)
    for key, members in what.index.collections.items():
        for kind, name in members if key not in _LEFT_OUT else ():
            if kind == "variable" and name in variables:
                graph.add_to_collection(key, variables[name])
            elif kind != "variable" and split_tensor(name)[0] in inside:
                graph.add_to_collection(key, graph.as_graph_element(name))
    if V1_CONTROL_FLOW.isdisjoint(what.index.kinds[0]):
        return
    ops = [node for node in what.index.nodes if node.name in inside]
    contexts = rename_contexts(what.index.beside.contexts(), {node.name: node.name for node in ops}, {}, stays=False)
    rebuild_contexts(graph, Change(nodes=tuple(ops), contexts=contexts))

"""Edited SavedModels: the files of the SavedModel that was opened, in which only what was edited is
exchanged.

What edits do not touch stays as it is: signatures with their keys, saved objects, the names of
values in the checkpoint, tables, asset files and functions.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export.formats.graph_def import check_size
from tfgraphwidget.export.formats.meta_graphs_beside import FINGERPRINT, MODEL, check_tags
from tfgraphwidget.export.formats.new_saved_variables import (
    CannotHold,
    NewVariable,
    checkpoint_values,
    initializer_nodes,
    new_variables,
)
from tfgraphwidget.export.formats.object_graph import ObjectGraphEdit, rename_functions
from tfgraphwidget.export.request import EditedSavedModel
from tfgraphwidget.export.signatures import set_signature_def, signature_def
from tfgraphwidget.export.state.exported_state import read_state
from tfgraphwidget.export.state.exported_subgraph import ops_needed
from tfgraphwidget.export.verification.reference import GraphReference
from tfgraphwidget.export.verification.round_trip import check_saved_model
from tfgraphwidget.graph import TRAINABLE, GraphIndex, Signature, all_variables, handles
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import split_input, split_tensor, take_free_name
from tfgraphwidget.runtime.sandbox import CONSTRUCTION_CONTEXT
from tfgraphwidget.runtime.session import variable_values
from tfgraphwidget.sentences import editor_call
from tfgraphwidget.sources import (
    StoredTensor,
    asset_files,
    read_contexts,
    tf_protos,
    variable_slice,
    write_checkpoint,
)
from tfgraphwidget.tf_types import FunctionDefLibrary, MetaGraphDef, NodeDef, VariableDef

_INIT = "__saved_model_init_op"
_MAIN_OPS = ("saved_model_main_op", "legacy_init_op", "saved_model_train_op")
# Collections of TensorFlow 1 whose entries are messages that name ops.
_BY_NAME = ("while_context", "cond_context", "queue_runners")
_WAY_OUT = (
    "make variables of these constants: a SavedModel keeps the values of variables in files of "
    "their own"
)


@dataclass
class NotKept(Exception):
    """Why the parts of a SavedModel cannot stay what they are; `why` ends a sentence."""

    why: str


def write_edited(path: Path, edited: EditedSavedModel, files: Iterable[str]) -> None:
    """Write an edited SavedModel to the folder `path`, with those of its files that are not the
    graph, and try it.

    Raises:
        NotKept: The edits need a SavedModel that is built from the graph again; nothing is written.
        GraphEditError: What was written gives something else than the graph does, or TensorFlow
            could not load it.
    """
    request = edited.request
    _check_fed(edited)
    try:
        meta, new = _rewrite(edited)
    except CannotHold as error:
        raise NotKept(str(error)) from error
    if request.settings.tags:
        check_tags(request.settings.tags, edited.file)
        meta.meta_info_def.tags[:] = request.settings.tags
    values = {name: read() for name, read in edited.stored_data.other_values().items()}
    values |= _changed_values(edited, values)
    if new:
        prefix = str(edited.folder / "variables" / "variables")
        values |= checkpoint_values(tf_protos.checkpoint_reader(prefix), new)
    copy_files(edited.folder, path, [name for name in files if name not in (MODEL, FINGERPRINT)])
    opened, place = edited.file.model, edited.file.place
    model = tf_protos.SavedModel(saved_model_schema_version=opened.saved_model_schema_version)
    model.meta_graphs.extend([*opened.meta_graphs[:place], meta, *opened.meta_graphs[place + 1 :]])
    (path / MODEL).write_bytes(model.SerializeToString(deterministic=True))
    if values:
        _write_values(
            edited.folder / "variables" / "variables", path / "variables" / "variables", values
        )
    if request.settings.verify:
        _verify(path, edited, meta.meta_info_def.tags)


def _check_fed(edited: EditedSavedModel) -> None:
    """Raise GraphEditError for a signature that edits have let need a placeholder which it does not
    take.

    TensorFlow 2 does not load a SavedModel with such a signature. One that was so before the edits
    stays as it was.
    """
    before = {signature.name: signature for signature in edited.signatures}
    for signature in edited.request.signatures:
        unfed = _unfed_placeholder(edited.request.index, signature)
        opened = before.get(signature.name)
        if unfed and (opened is None or not _unfed_placeholder(edited.opened, opened)):
            raise GraphEditError(
                f"Signature {signature.name!r} also needs placeholder {unfed!r} now, and does not "
                "take it, so that TensorFlow could not load what would be written; take it away by "
                + editor_call("signatures.remove", f"{signature.name!r}")
                + f", and add it again with '{unfed}:0' among its inputs.",
                [unfed],
            )


def _unfed_placeholder(index: GraphIndex, signature: Signature) -> str:
    """A placeholder that a signature needs and does not take; "" if there is none."""
    try:
        ops_needed(index, [signature])
    except GraphEditError as error:
        return next(iter(error.ops), "")
    return ""


def copy_files(folder: Path, path: Path, files: Iterable[str]) -> None:
    """Copy files of a SavedModel, as far as they are there, to another folder."""
    path.mkdir(parents=True, exist_ok=True)
    for inside in ("variables", "assets"):
        if (folder / inside).is_dir():
            (path / inside).mkdir(parents=True)
    for name in files:
        if (folder / name).is_file():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / name, path / name)


def _verify(path: Path, edited: EditedSavedModel, tags: Sequence[str]) -> None:
    """Run what was written beside the graph; a notice says so if the graph itself cannot run."""
    request = edited.request
    try:
        need = ops_needed(request.index, request.signatures)
        state = read_state(request, need)
    except GraphEditError as error:
        request.notices.append("What was written was not run: " + error.why)
        return
    for loader in check_saved_model(
        path, GraphReference(request, state), request.trust, tags, edited.folder
    ):
        request.notices.append(
            f"{loader} cannot run what was written, nor the SavedModel that was opened."
        )


# The MetaGraphDef


def _rewrite(edited: EditedSavedModel) -> tuple[MetaGraphDef, list[NewVariable]]:
    """The MetaGraphDef with the edited graph, and the variables that it did not have."""
    original, request = edited.meta_graph, edited.request
    meta = copy_of(original)
    nodes = _nodes(edited)
    has_objects = bool(original.object_graph_def.nodes)
    new: list[NewVariable] = []
    if has_objects:
        new = new_variables(original, edited.before, request.index, edited.session)
        nodes = initializer_nodes(nodes, new, _init_op(original))
    objects = ObjectGraphEdit(
        original, edited.before, request.index, nodes, request.graph.envelope().library.function
    )
    if has_objects:
        objects.add_variables(new)
        try:
            objects.signatures(edited.signatures, request.signatures)
        except GraphEditError as error:
            raise NotKept(error.why) from error
        objects.trainable()
    library, renamed = objects.library()
    check_size("The graph of the SavedModel", nodes, library, _WAY_OUT)
    del meta.graph_def.node[:]
    for node in nodes:
        meta.graph_def.node.add().CopyFrom(node)
        rename_functions(meta.graph_def.node[-1], renamed)
    meta.graph_def.library.CopyFrom(library)
    _restore_contexts(meta.graph_def.library, original.graph_def.library)
    meta.graph_def.versions.CopyFrom(request.graph.envelope().versions)
    if has_objects:
        meta.object_graph_def.CopyFrom(objects.objects)
        removed = set(original.object_graph_def.concrete_functions) - set(
            objects.objects.concrete_functions
        )
        for name in removed & set(meta.meta_info_def.function_aliases):
            del meta.meta_info_def.function_aliases[name]
    else:
        _set_collections(meta, edited, {node.name for node in nodes})
    _set_signature_defs(meta, edited, objects)
    for sentence in objects.notices:
        request.notices.append(sentence)
    return meta, new


def _init_op(meta: MetaGraphDef) -> str:
    """The op that sessions run after they have restored the variables; "" without one."""
    outputs = meta.signature_def[_INIT].outputs if _INIT in meta.signature_def else {}
    return next((split_tensor(info.name)[0] for info in outputs.values()), "")


def _restore_contexts(library: FunctionDefLibrary, original: FunctionDefLibrary) -> None:
    """Say again of edited functions under which runtime they were traced; sessions take none that
    say it.
    """
    attributes_by_name = {function.signature.name: function.attr for function in original.function}
    for function in library.function:
        attributes = attributes_by_name.get(function.signature.name)
        if attributes is not None and CONSTRUCTION_CONTEXT in attributes:
            function.attr[CONSTRUCTION_CONTEXT].CopyFrom(attributes[CONSTRUCTION_CONTEXT])


def _nodes(edited: EditedSavedModel) -> list[NodeDef]:
    """The NodeDefs of the file: those of the edited graph, and those that a SavedModel needs beside
    its signatures.
    """
    original, index, before = edited.meta_graph, edited.request.index, edited.before
    raw = {node.name: node for node in original.graph_def.node}
    was = dict(zip(before.names, before.nodes, strict=True))
    nodes: dict[str, NodeDef] = {}
    for name, node in zip(index.names, edited.request.graph.as_in_file(index.nodes), strict=True):
        # An op that was not edited is the file's: opening a file makes constants of the paths of
        # its asset files.
        nodes[name] = raw[name] if name in raw and was.get(name) == node else node
    _check_state(edited)
    added = set()
    # Ops that the model restores, and that freezing has replaced under their own names.
    converted: list[str] = []
    stack = _bookkeeping(original)
    if not original.object_graph_def.nodes and any(name not in nodes for name in stack):
        raise NotKept("ops of its Saver were removed")
    while stack:
        name = stack.pop()
        if name in nodes or name not in raw:
            if (
                name not in raw
                or name not in nodes
                or nodes[name].op == raw[name].op
                or name in converted
            ):
                continue
            if not original.object_graph_def.nodes:
                raise NotKept(
                    f"{name!r} is a {nodes[name].op} now, and the model restores a {raw[name].op}"
                )
            converted.append(name)
            stack += [split_input(text)[0] for text in raw[name].input]
            continue
        added.add(name)
        nodes[name] = raw[name]
        stack += [split_input(text)[0] for text in raw[name].input]
    edited_nodes = _rename_nodes(
        [nodes[name] for name in nodes if name not in added], converted, {*nodes, *raw}
    )
    added.update(converted)
    return [*(node for name, node in raw.items() if name in added), *edited_nodes]


def _rename_nodes(
    nodes: Sequence[NodeDef], names: Iterable[str], used_names: Iterable[str]
) -> list[NodeDef]:
    """NodeDefs of which some have other names, which their consumers read.

    A frozen variable is a constant of the variable's name, and the objects of a SavedModel restore
    the variable itself.
    """
    names_in_use = {name.lower() for name in used_names}
    new_names: dict[str, str] = {}
    for name in names:
        new_names[name] = take_free_name(f"{name}_frozen", names_in_use)
    if not new_names:
        return list(nodes)
    renamed = []
    for node in nodes:
        copy = copy_of(node)
        copy.name = new_names.get(node.name, node.name)
        for place, text in enumerate(node.input):
            name = split_input(text)[0]
            if name in new_names:
                copy.input[place] = text.replace(name, new_names[name], 1)
        renamed.append(copy)
    return renamed


def _bookkeeping(meta: MetaGraphDef) -> list[str]:
    """The ops that those who load a SavedModel run or look up by name."""
    saver, objects = meta.saver_def, meta.object_graph_def.nodes
    names = [saver.filename_tensor_name, saver.save_tensor_name, saver.restore_op_name]
    names += (
        [info.name for info in meta.signature_def[_INIT].outputs.values()]
        if _INIT in meta.signature_def
        else []
    )
    for key in _MAIN_OPS:
        names += meta.collection_def[key].node_list.value if key in meta.collection_def else []
    names += [
        saved.constant.operation for saved in objects if saved.WhichOneof("kind") == "constant"
    ]
    names += [asset.tensor_info.name for asset in asset_files(meta)]
    return [split_tensor(name)[0] for name in names if name]


def _check_state(edited: EditedSavedModel) -> None:
    """Raise NotKept for variables that edits have brought into a model of TensorFlow 1, whose Saver
    has no others.

    Also for a graph of TensorFlow 1 whose loops, conditionals or queue runners would name ops that
    are not there.
    """
    index, names_before = edited.request.index, set(edited.before.names)
    new = [index.names[i] for i in handles(index) if index.names[i] not in names_before]
    if new and not edited.meta_graph.object_graph_def.nodes:
        raise NotKept(f"{new[0]!r} is a new variable")
    if not edited.meta_graph.object_graph_def.nodes and any(
        key in edited.meta_graph.collection_def for key in _BY_NAME
    ):
        if names_before - index.ids.keys():
            raise NotKept("ops were removed that loops or queue runners may name")
        if index.extras.contexts() != read_contexts(edited.meta_graph, names_before):
            raise NotKept(
                "loops of TensorFlow 1 are written with the contexts that their gradients need"
            )


def _set_collections(meta: MetaGraphDef, edited: EditedSavedModel, names: set[str]) -> None:
    """Let the collections of a graph of TensorFlow 1 name what is there."""
    index = edited.request.index
    for key in list(meta.collection_def):
        collection = meta.collection_def[key]
        if collection.WhichOneof("kind") == "node_list":
            remaining = [
                name for name in collection.node_list.value if split_tensor(name)[0] in names
            ]
            collection.node_list.value[:] = remaining
        elif key in index.collections or collection.WhichOneof("kind") == "bytes_list":
            collection.bytes_list.value[:] = [
                entry for entry in collection.bytes_list.value if _is_there(key, entry, names)
            ]
    if index.collections.get(TRAINABLE) != edited.before.collections.get(TRAINABLE):
        _set_trainable(meta, index)


def _set_trainable(meta: MetaGraphDef, index: GraphIndex) -> None:
    """Let the variables in the collections be trainable, or not, as the edited graph has them."""
    defined, variable_protos = index.defined_variables, dict[str, bytes]()
    for key in list(meta.collection_def):
        if tf_protos.collection_message(key) is not tf_protos.VariableDef:
            continue
        collection = meta.collection_def[key].bytes_list.value
        protos = [tf_protos.VariableDef.FromString(entry) for entry in collection]
        for proto in protos:
            name = split_tensor(proto.variable_name)[0]
            if name in defined:
                proto.trainable = defined[name].trainable
                variable_protos[name] = proto.SerializeToString()
        collection[:] = [proto.SerializeToString() for proto in protos]
    names = (split_tensor(member.name)[0] for member in index.collections.get(TRAINABLE, ()))
    meta.collection_def[TRAINABLE].bytes_list.value[:] = [
        variable_protos[name] for name in names if name in variable_protos
    ]


def _is_there(key: str, entry: bytes, names: set[str]) -> bool:
    """Whether the variable that an entry of a collection describes is in the graph; others stay."""
    kind = tf_protos.collection_message(key)
    if kind is None or kind.DESCRIPTOR.name != "VariableDef":
        return True
    definition = cast("VariableDef", kind.FromString(entry))
    return split_tensor(definition.variable_name)[0] in names


def _set_signature_defs(
    meta: MetaGraphDef, edited: EditedSavedModel, objects: ObjectGraphEdit
) -> None:
    """Let the signatures name the tensors that represent their inputs and outputs now."""
    index, request = edited.request.index, edited.request
    before_by_name = {each.name: each for each in edited.signatures}
    now = {each.name: each for each in request.signatures}
    for name in before_by_name.keys() - now.keys():
        del meta.signature_def[name]
    for name in edited.lost:
        request.notices.append(
            f"Signature {name!r} was not written, because its inputs or outputs were removed."
        )
    for name in meta.signature_def.keys() - before_by_name.keys() - now.keys() - {_INIT}:
        # One that named tensors which the graph did not have, as opening it has said.
        del meta.signature_def[name]
    for name, signature in now.items():
        proto = meta.signature_def[name]
        was = before_by_name.get(name)
        if was is None:
            proto.CopyFrom(signature_def(index, signature, signature))
        elif was != signature or _specs(edited.before, was) != _specs(index, signature):
            set_signature_def(proto, was, signature, signature, index)
            for key, info in proto.outputs.items():
                shape = objects.output_shape(name, key)
                if (
                    info.WhichOneof("encoding") == "name"
                    and info.tensor_shape.unknown_rank
                    and shape is not None
                ):
                    info.tensor_shape.CopyFrom(shape)


def _specs(index: GraphIndex, signature: Signature) -> list[object]:
    """The dtype and the static shape of each input and output of a signature."""
    op_outputs = [index.tensor(name) for _, name in (*signature.inputs, *signature.outputs)]
    # Of an op that TensorFlow does not know, the dtypes of its outputs may not be known.
    return [(index.dtypes(op)[port : port + 1], index.shape(op, port)) for op, port in op_outputs]


# Values


def _changed_values(
    edited: EditedSavedModel, others: Mapping[str, object]
) -> dict[str, np.ndarray]:
    """The values that variables have in the session and did not have in the file, by their names in
    the checkpoint.

    `others` are those that came from another checkpoint.
    """
    session, index, stored_data = edited.session, edited.request.index, edited.stored_data
    if session is None:
        return {}
    # The objects of a frozen model have the values that were frozen.
    by_handle = {v.handle: v for each in (edited.before, index) for v in all_variables(each)}
    variables = [v for v in by_handle.values() if v.snapshot or not v.resource]
    names_in_file = {new: old for old, new in edited.names.items()}
    keys = {v.handle: stored_data.keys(names_in_file.get(v.handle, v.handle)) for v in variables}
    variables = [v for v in variables if keys[v.handle]]
    if not variables:
        return {}
    reader = tf_protos.checkpoint_reader(str(edited.folder / "variables" / "variables"))
    changed: dict[str, np.ndarray] = {}
    # Keras leaves handles of variables beside that nothing restores.
    variables = variable_values.variables_with_value(session, variables)
    now = session.run({v.handle: v.snapshot or v.name for v in variables})
    # A variable that functions capture is the one that counts where two ops represent one.
    for variable in sorted(variables, key=lambda v: len(keys[v.handle])):
        first, value = keys[variable.handle][0], np.asarray(now[variable.handle])
        stored_value = np.asarray(others[first] if first in others else reader.get_tensor(first))
        if variable_slice(stored_value, variable).tobytes() == value.tobytes():
            continue
        for key in keys[variable.handle]:
            whole = changed.get(
                key, np.array(others[key] if key in others else reader.get_tensor(key))
            )
            if variable.slice_info is None:
                whole = value
            else:
                variable_slice(whole, variable)[...] = value
            changed[key] = whole
    return changed


def _write_values(old: Path, new: Path, values: Mapping[str, object]) -> None:
    """Write a checkpoint that has other values under some of its names."""
    reader = tf_protos.checkpoint_reader(str(old))
    readers: dict[str, Callable[[], object]] = {
        name: partial(reader.get_tensor, name) for name in reader.get_variable_to_shape_map()
    }
    readers |= {name: partial(values.__getitem__, name) for name in values}
    for file in new.parent.glob(f"{new.name}.*"):
        file.unlink()
    write_checkpoint(str(new), [StoredTensor(name, read) for name, read in readers.items()])

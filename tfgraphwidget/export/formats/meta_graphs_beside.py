"""The other MetaGraphDefs of a SavedModel that was opened, and their values, beside one that was
built again.

All MetaGraphDefs of a SavedModel restore their variables from one checkpoint, so what is built
again reads the values that it shares with the others under the names that these have there, and has
others under names of its own.
"""

from __future__ import annotations

import filecmp
import shutil
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import VariableDef
from tfgraphwidget.naming import free_name
from tfgraphwidget.sentences import argument_value, in_cell
from tfgraphwidget.sources import StoredTensor, asset_files, tf_protos, write_checkpoint
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_types import SavedModel

if TYPE_CHECKING:
    from tfgraphwidget.export.request import ExportRequest, OpenedSavedModel
    from tfgraphwidget.export.state.exported_state import ExportedState

MODEL, FINGERPRINT = "saved_model.pb", "fingerprint.pb"
_VARIABLES = "variables/variables"


def check_tags(tags: Collection[str], opened: OpenedSavedModel) -> None:
    """Raise GraphEditError for tags by which another graph of the opened file is loaded."""
    if any(set(meta.meta_info_def.tags) == set(tags) for meta in opened.others):
        raise GraphEditError(
            argument_value("tags", repr(list(tags)))
            + f" are those of another graph of {str(opened.folder)!r}, which is saved along; "
            + in_cell(
                "give other tags, or open that graph to edit it: tgw.edit(..., "
                f"tags={list(tags)!r})."
            )
        )


def names_in_checkpoint(state: ExportedState, opened: OpenedSavedModel) -> dict[str, str]:
    """The names, by those of variables, under which a graph that is built again has its values in
    the checkpoint that others read too; the slices of a partitioned variable have one name.
    """
    stored = _stored_values(opened.folder / _VARIABLES)
    used = {name.lower() for name in stored}
    names: dict[str, str] = {}
    names_by_whole: dict[str, str] = {}
    for variable in state.variables:
        whole = variable.handle if variable.slice_info is None else variable.slice_info.full_name
        if whole not in names_by_whole:
            fits = (
                key for key in opened.keys(variable.handle) if key not in names_by_whole.values()
            )
            shared = next((key for key in fits if stored.get(key) == _kind(variable, state)), None)
            names_by_whole[whole] = shared or free_name(whole, used)
            used.add(names_by_whole[whole].lower())
        names[variable.name] = names_by_whole[whole]
    return names


def _kind(variable: VariableDef, state: ExportedState) -> tuple[str, tuple[int, ...]]:
    """The dtype and the whole shape of a variable's value."""
    value = np.asarray(state.values[variable.handle])
    shape = value.shape if variable.slice_info is None else variable.slice_info.full_shape
    return tf.as_dtype(value.dtype).name, tuple(shape)


def finish_model(path: Path, request: ExportRequest) -> None:
    """Give the graph of a new SavedModel, which has one MetaGraphDef, its tags, and put the other
    graphs of the file that was opened beside it. Raises GraphEditError where the tags are those of
    another graph, or files in "assets" have one name.
    """
    opened, tags = request.opened_model, request.settings.tags
    others = () if opened is None else opened.others
    tags = tags or (() if opened is None else opened.tags)
    model: SavedModel = tf_protos.SavedModel.FromString((path / MODEL).read_bytes())
    if not others and (not tags or set(tags) == set(model.meta_graphs[0].meta_info_def.tags)):
        return
    if tags:
        model.meta_graphs[0].meta_info_def.tags[:] = tags
    if opened is not None and others:
        check_tags(tags, opened)
        new = model.meta_graphs[0]
        model = tf_protos.SavedModel(saved_model_schema_version=model.saved_model_schema_version)
        model.meta_graphs.extend([*others[: opened.place], new, *others[opened.place :]])
        _copy_assets(path, opened)
        _join_values(path, opened)
    (path / MODEL).write_bytes(model.SerializeToString(deterministic=True))
    (path / FINGERPRINT).unlink(missing_ok=True)


def _copy_assets(path: Path, opened: OpenedSavedModel) -> None:
    """Copy the asset files of the other graphs."""
    for asset in (asset for meta in opened.others for asset in asset_files(meta)):
        old, new = (folder / "assets" / asset.filename for folder in (opened.folder, path))
        if not old.is_file():
            continue
        if new.is_file() and not filecmp.cmp(old, new, shallow=False):
            raise GraphEditError(
                f"Another graph of {str(opened.folder)!r} reads a file 'assets/{asset.filename}' "
                "too, with other contents; give the file that this graph reads another name."
            )
        new.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(old, new)


def _join_values(path: Path, opened: OpenedSavedModel) -> None:
    """Put the values of the checkpoint that was opened beside those that were written, which count
    where both have one.

    A folder without variables has no checkpoint.
    """
    values: dict[str, Callable[[], object]] = {}
    for prefix in (opened.folder / _VARIABLES, path / _VARIABLES):
        if names := _stored_values(prefix):
            reader = tf_protos.checkpoint_reader(str(prefix))
            values |= {name: partial(reader.get_tensor, name) for name in names}
    if not values:
        return
    new = path / _VARIABLES
    joined = new.with_name("joined")
    new.parent.mkdir(exist_ok=True)
    write_checkpoint(str(joined), [StoredTensor(name, read) for name, read in values.items()])
    for file in new.parent.glob("variables.*"):
        file.unlink()
    for file in new.parent.glob("joined.*"):
        file.rename(file.with_name(file.name.replace("joined", "variables", 1)))


def _stored_values(prefix: Path) -> dict[str, tuple[str, tuple[int, ...]]]:
    """The dtypes and shapes of the values in a checkpoint, by name; empty without one."""
    if not prefix.with_name(f"{prefix.name}.index").is_file():
        return {}
    reader = tf_protos.checkpoint_reader(str(prefix))
    dtypes = reader.get_variable_to_dtype_map()
    return {
        name: (dtypes[name].name, tuple(shape))
        for name, shape in reader.get_variable_to_shape_map().items()
    }

"""FileStoredData: values and stack traces beside a file's graph, each read on request, without
importing the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from hashlib import blake2b, file_digest
from pathlib import Path

import numpy as np

from tfgraphwidget.errors import GraphEditError, SessionRefused
from tfgraphwidget.graph import Asset, SavedGradient, VariableDef
from tfgraphwidget.readable import open_file
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.describe import origins
from tfgraphwidget.sources.files.assets import asset_files, is_outside_assets
from tfgraphwidget.sources.files.checkpoint import Checkpoint
from tfgraphwidget.sources.files.checkpoint_keys import (
    checkpoint_keys,
    graph_variables,
    keys_by_restore_call,
    variable_slice,
)
from tfgraphwidget.sources.files.composite_arguments import composite_arguments
from tfgraphwidget.sources.files.object_graph import bound_variables, saved_variables
from tfgraphwidget.sources.files.obstacles import FileGraph
from tfgraphwidget.sources.files.other_checkpoint import OtherCheckpoint
from tfgraphwidget.sources.source import no_values
from tfgraphwidget.tf_types import MetaGraphDef


def _content_digest(path: Path) -> bytes | None:
    """A digest of the content of a file; None where it cannot be read."""
    try:
        with open_file(path) as file:
            return file_digest(file, blake2b).digest()
    except (OSError, ValueError, GraphEditError):  # no file, no name of a file, a pipe
        return None


class FileStoredData:
    """The checkpoint and the debug information of a file; see `StoredData`."""

    def __init__(self, file: FileGraph) -> None:
        self._file = file

    def shape(self, handle: str) -> tuple[int, ...]:
        """The shape of a variable's saved value, whole if it is a slice; see `value`."""
        checkpoint, key = self._place(handle)
        return tuple(checkpoint.shapes[key])

    @property
    def has_values(self) -> bool:
        """Whether the file comes with a checkpoint."""
        return self._file.checkpoint is not None

    def key(self, handle: str) -> str | None:
        """The name of a variable's value in the checkpoint; None when it has none."""
        try:
            return self._place(handle)[1]
        except SessionRefused:
            return None

    def variable_name(self, handle: str) -> str:
        """The name of a variable's object where the file stores objects, or the handle op's."""
        return self._object_names.get(handle) or handle

    def twins(self, handle: str) -> tuple[str, ...]:
        """The other handle ops that represent the variable of that handle op, which functions read;
        mostly none.

        Keras has a handle for its layer's variable and one for what functions capture, and
        TensorFlow writes a third that the Saver restores; one value of the checkpoint is for all of
        them.
        """
        return self._twins.get(handle, ())

    @cached_property
    def _twins(self) -> dict[str, tuple[str, ...]]:
        captured = bound_variables(self._file.meta, self._file.body.protos)
        others: dict[str, list[str]] = {}
        for op in self._variables:
            for key in () if op in captured else self.keys(op):
                others.setdefault(key, []).append(op)
        twins = {
            op: dict.fromkeys(other for key in self.keys(op) for other in others.get(key, ()))
            for op in captured
        }
        return {op: tuple(ops) for op, ops in twins.items() if ops}

    @cached_property
    def _object_names(self) -> dict[str, str]:
        objects = self._file.meta.object_graph_def.nodes
        numbers = saved_variables(self._file.meta, self._file.body.protos)
        return {handle: objects[number].variable.name for handle, number in numbers.items()}

    def dtype(self, handle: str) -> str:
        """The dtype's name of a variable's value in the checkpoint. Raises SessionRefused."""
        checkpoint, key = self._place(handle)
        return checkpoint.dtypes[key]

    def value(self, handle: str) -> np.ndarray:
        """The value of the variable of that handle op. Raises SessionRefused when there is none."""
        checkpoint, key = self._place(handle)
        variable = self._variables.get(handle)
        value = checkpoint.value(key)
        return np.asarray(value if variable is None else variable_slice(value, variable))

    def meta(self) -> MetaGraphDef:
        """The MetaGraphDef that a file holds; an empty one of a GraphDef, or of a SavedModel."""
        return self._file.meta if self._file.folder is None else tf_protos.MetaGraphDef()

    def gradient(self, kind: str) -> SavedGradient | None:
        """The gradient of a tf.custom_gradient, by what its ops name it; None for one that the file
        does not have.

        None also where it reads variables: `tf.saved_model.load` binds those.
        """
        objects = self._file.meta.object_graph_def
        registered = self._file.meta.graph_def.library.registered_gradients
        function = next(
            (each.gradient_func for each in registered if each.registered_op_type == kind), ""
        )
        if function not in objects.concrete_functions:
            return None
        concrete = objects.concrete_functions[function]
        captures = [objects.nodes[number] for number in concrete.bound_inputs]
        results = concrete.output_signature
        values = [*results.list_value.values, *results.tuple_value.values]
        if any(each.WhichOneof("kind") != "captured_tensor" for each in captures) or not values:
            return None
        returned = tuple(value.WhichOneof("kind") != "none_value" for value in values)
        return SavedGradient(
            function, tuple(each.captured_tensor.name for each in captures), returned
        )

    def composite_arguments(self) -> Mapping[str, frozenset[int]]:
        """The places of the arguments that are parts of sparse or ragged values, by the names of
        the functions that have some.
        """
        return composite_arguments(self._file.meta)

    def folder(self) -> Path | None:
        """The directory of a SavedModel, complete; None for other files."""
        file = self._file
        if file.folder is None or any(
            is_outside_assets(file.folder, asset.filename) for asset in asset_files(file.meta)
        ):
            return None
        lacks_values = bool(self._variables) and (
            file.checkpoint is None or file.checkpoint.missing()
        )
        return (
            None if lacks_values or not (file.folder / "saved_model.pb").is_file() else file.folder
        )

    def assets(self) -> Mapping[str, Asset] | None:
        """The asset files of a SavedModel by their names in "assets"; None for other files.

        Of a file that is missing, that leads out of the folder, or that is a pipe or device, the
        content is not known.
        """
        folder = self._file.folder
        if folder is None:
            return None
        names = {
            asset.filename: is_outside_assets(folder, asset.filename)
            for asset in asset_files(self._file.meta)
        }
        paths = {name: folder.absolute() / "assets" / name for name in names}
        return {
            name: Asset(str(paths[name]), None if is_outside else _content_digest(paths[name]))
            for name, is_outside in names.items()
        }

    def tags(self) -> tuple[str, ...]:
        """The tags of the graph that was chosen of a SavedModel."""
        return tuple(self._file.meta.meta_info_def.tags)

    def keys(self, handle: str) -> tuple[str, ...]:
        """The names in the checkpoint under which the value of the variable of that handle op is;
        empty without one.

        A SavedModel of Keras has a value twice: TensorFlow 1 restores a variable by the Saver,
        whose name comes first, and TensorFlow 2 by the variable's object.
        """
        checkpoint = self._file.checkpoint
        keys = (self._restored_keys.get(handle), self._keys.get(handle))
        return tuple(
            dict.fromkeys(key for key in keys if key and checkpoint and key in checkpoint.shapes)
        )

    def other_values(self) -> Mapping[str, Callable[[], object]]:
        """Readers of a SavedModel's values from another checkpoint, by their names in its own."""
        checkpoint = self._file.checkpoint
        if not isinstance(checkpoint, OtherCheckpoint):
            return {}
        return {name: partial(checkpoint.value, name) for name in checkpoint.replaced}

    def all_values(self) -> Mapping[str, Callable[[], object]]:
        """Readers of all values that the checkpoint has, by their names in it; empty without a
        checkpoint.

        TensorFlow 1 writes none beside a SavedModel without variables.
        """
        checkpoint = self._file.checkpoint
        if checkpoint is None or (not self._variables and checkpoint.missing()):
            return {}
        return {name: partial(checkpoint.value, name) for name in checkpoint.shapes}

    def creation_lines(self, op: str, function: str = "") -> tuple[str, ...]:
        """The lines of Python that created an op of the graph or a function; empty if unknown."""
        return () if self._traces is None else origins.saved_origin(self._traces, op, function)

    def _place(self, handle: str) -> tuple[Checkpoint, str]:
        checkpoint = self._file.checkpoint
        if checkpoint is None:
            raise no_values(self._file.where, [handle])
        key = self._keys.get(handle, handle)
        if key not in checkpoint.shapes:
            raise SessionRefused(
                f"The checkpoint of {self._file.where} has no value for {handle!r}; "
                + in_cell(
                    "open the graph with the checkpoint that was saved with it: tgw.edit(path, "
                    "checkpoint='model.ckpt')."
                ),
                [handle],
            )
        return checkpoint, key

    @cached_property
    def _variables(self) -> dict[str, VariableDef]:
        return {variable.handle: variable for variable in graph_variables(self._file.body)}

    @cached_property
    def _keys(self) -> dict[str, str]:
        """Handle op -> name in the checkpoint; TensorFlow 2 saves by object."""
        keys = checkpoint_keys(self._file.body.protos, self._variables.values())
        checkpoint = self._file.checkpoint
        if checkpoint is None or not checkpoint.objects:
            return keys
        saved_objects = checkpoint.objects
        for op, number in saved_variables(self._file.meta, self._file.body.protos).items():
            attributes = saved_objects[number].attributes if number < len(saved_objects) else ()
            if attributes and attributes[0].checkpoint_key in checkpoint.shapes:
                keys[op] = attributes[0].checkpoint_key
        return keys

    @cached_property
    def _restored_keys(self) -> dict[str, str]:
        restore_op = self._file.meta.saver_def.restore_op_name
        return keys_by_restore_call(self._file.body.protos, self._file.body.library, restore_op)

    @cached_property
    def _traces(self) -> object:
        folder = self._file.folder
        if folder is None:
            return None
        return origins.read_debug_info(folder / "debug" / "saved_model_debug_info.pb")


class PartStoredData(FileStoredData):
    """The data of a part of a file; `readers` read the values of variables, by their handle ops."""

    def __init__(self, file: FileGraph, readers: Mapping[str, Callable[[], object]]) -> None:
        super().__init__(file)
        self._readers = readers

    @property
    def has_values(self) -> bool:
        """Whether any variable has one."""
        return bool(self._readers)

    def shape(self, handle: str) -> tuple[int, ...]:
        """The shape of the value of the variable of that handle op."""
        return self.value(handle).shape

    def key(self, handle: str) -> str | None:
        """The handle op's own name; None for a variable without a value."""
        return handle if handle in self._readers else None

    def dtype(self, handle: str) -> str:
        """The name of the dtype of the value of the variable of that handle op."""
        return str(self.value(handle).dtype.name)

    def value(self, handle: str) -> np.ndarray:
        """The value of the variable of that handle op. Raises SessionRefused when there is none."""
        if handle not in self._readers:
            raise SessionRefused(
                f"The file has no value for {handle!r}; initialize the variable in a session "
                "first.",
                [handle],
            )
        return np.asarray(self._readers[handle]())

    def keys(self, handle: str) -> tuple[str, ...]:
        """The handle op's own name, if there is a value."""
        return (handle,) if handle in self._readers else ()

    def all_values(self) -> Mapping[str, Callable[[], object]]:
        """Readers of all values, by handle op."""
        return self._readers

"""Variable stores: what holds the values of a model's variables, read and assigned by name.

A store is a live graph with its session, a Keras model or `tf.Module` with its eager variables, or
a file with its checkpoint. `transfer` moves values from one to another through Python.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np

from tfgraphwidget.cancellation import held_back
from tfgraphwidget.errors import GraphEditError, SessionRefused, reason_of
from tfgraphwidget.graph import (
    ASSIGNS,
    VARIABLE_READS,
    GraphIndex,
    VariableDef,
    all_variables,
)
from tfgraphwidget.runtime.live.edit_record import hide, track_new_ops
from tfgraphwidget.runtime.sync import mixing
from tfgraphwidget.runtime.sync.sync import Model, Sync, check_tau
from tfgraphwidget.sources import (
    CONCRETE,
    FUNCTION,
    Checkpoint,
    Source,
    StoredData,
    captured_state,
    no_values,
    own_paths,
)
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import Trackable, eager_mode, trackable_variables
from tfgraphwidget.tf_types import Graph, KerasModel, Operation, Tensor

Array = np.ndarray
T = TypeVar("T")


@dataclass(frozen=True)
class StoredVariable:
    """A variable in a store.

    Attributes:
        handle: The name by which the store finds it, "sequential/dense/kernel".
        path: Another name of it: its place in the object that holds it, "layers/0/kernel", as in a
            checkpoint; or "".
        dtype: The dtype of its value.
        shape: The static shape of its value.
        definition: The variable of a graph that it is, or None.
        saved_name: The name of the variable whose value a checkpoint has under a path; ""
            elsewhere.
    """

    handle: str
    dtype: tf.DType
    shape: tf.TensorShape
    path: str = ""
    definition: VariableDef | None = None
    saved_name: str = ""


class VariableStore(Protocol):
    """Values of variables, by name."""

    @property
    def title(self) -> str:
        """The title of the store in a sentence: "Keras model 'sequential'"."""

    @property
    def scope(self) -> str:
        """The scope that all names begin with, and that is not a part of what the variables are; or
        "".
        """

    @property
    def variables(self) -> Sequence[StoredVariable]:
        """The variables, each once, in the model's order."""

    def read(self, variables: Sequence[StoredVariable]) -> dict[str, Array]:
        """Present values by handle. Raises SessionRefused for a variable without a value."""

    def assign(self, values: Mapping[str, Array]) -> None:
        """Assign values by handle: all of them, or none. Raises SessionRefused."""


@dataclass(frozen=True, eq=False)
class GraphStore:
    """The variables of a live graph, and the session that holds their values."""

    model: Model
    definitions: Sequence[VariableDef]
    scope: str = ""
    title: str = "the graph"

    @cached_property
    def variables(self) -> Sequence[StoredVariable]:
        """The variables in graph order."""
        handles = [(v, mixing.handle_of(self.model.graph, v)) for v in self.definitions]
        return tuple(
            StoredVariable(v.handle, mixing.dtype_of(tensor), mixing.shape_of(tensor), definition=v)
            for v, tensor in handles
        )

    def read(self, variables: Sequence[StoredVariable]) -> dict[str, Array]:
        """Present values in the session, in one run."""
        return self._sync.read([v.definition for v in variables if v.definition is not None])

    def assign(self, values: Mapping[str, Array]) -> None:
        """Assign through the variables' own initializers; no op is added."""
        self._sync.assign([v for v in self.definitions if v.handle in values], values)

    @property
    def _sync(self) -> Sync:
        return Sync((), self.model, self.model)


@dataclass(frozen=True, eq=False)
class EagerStore:
    """`tf.Variable`s that hold their values themselves: those of a Keras model, a tf.Module, a
    tf.function.
    """

    title: str
    by_name: Mapping[str, tf.Variable]
    paths: Mapping[str, str] = field(default_factory=dict)
    scope: str = ""
    root: object = None  # the object that tracks the variables

    @cached_property
    def variables(self) -> Sequence[StoredVariable]:
        """The variables in the order that their object lists them in."""
        return tuple(
            StoredVariable(
                name, variable.dtype.base_dtype, variable.shape, self.paths.get(name, "")
            )
            for name, variable in self.by_name.items()
        )

    def read(self, variables: Sequence[StoredVariable]) -> dict[str, Array]:
        """Present values."""
        with eager_mode():  # a graph of TensorFlow 1 may be the default one
            return {variable.handle: self._value(variable.handle) for variable in variables}

    def _value(self, name: str) -> Array:
        try:
            return np.asarray(self.by_name[name].numpy())
        except (tf.errors.OpError, NotImplementedError) as error:
            raise SessionRefused(
                f"Variable {name!r} of {self.title} has no value; assign one first.", [name]
            ) from error

    def assign(self, values: Mapping[str, Array]) -> None:
        """Assign; when one fails, or on an interrupt, those assigned already get their old values
        again.
        """
        with held_back(), eager_mode():
            before: dict[str, Tensor] = {}
            try:
                for name, value in values.items():
                    variable = self.by_name[name]
                    before[name] = variable.read_value()
                    variable.assign(value)
            except BaseException as error:
                for name, old in before.items():
                    self.by_name[name].assign(old)
                if isinstance(error, tf.errors.OpError | ValueError):
                    raise SessionRefused(
                        f"Variable {name!r} of {self.title} cannot be assigned: "
                        f"{reason_of(error)}; sync variables of one dtype and shape."
                    ) from error
                raise


@dataclass(frozen=True, eq=False)
class FileStore:
    """The values that a file, or the checkpoint beside it, has for its variables. They can only be
    read. `lacks` are the handle ops of variables that came without.
    """

    title: str
    variables: Sequence[StoredVariable]
    value: Callable[[str], Array] = field(repr=False)
    scope: str = ""
    lacks: tuple[str, ...] = ()

    def check_values(self) -> None:
        """Raise SessionRefused for variables that came without values."""
        if self.lacks:
            raise no_values(self.title, self.lacks)

    def read(self, variables: Sequence[StoredVariable]) -> dict[str, Array]:
        """Values from the checkpoint."""
        return {
            v.handle: np.asarray(self.value(v.definition.handle if v.definition else v.handle))
            for v in variables
        }

    def assign(self, values: Mapping[str, Array]) -> None:  # noqa: ARG002
        """Refuse: a checkpoint is not changed in place."""
        raise SessionRefused(
            f"sync: {self.title} is a file, which is not changed in place; give an editor of it, a "
            "live graph, a Keras model or a module as the target, and save that."
        )


Pair = tuple[StoredVariable, StoredVariable]


def check_pairs(pairs: Iterable[Pair]) -> None:
    """Raise GraphEditError, naming both variables, where the shapes or dtypes of a pair differ."""
    for ours, theirs in pairs:
        names = ours.handle, theirs.handle
        mixing.check_alike(names, (ours.shape, theirs.shape), (ours.dtype, theirs.dtype), names)


def transfer(
    source: VariableStore, target: VariableStore, pairs: Sequence[Pair], tau: float = 1.0
) -> None:
    """Give the target's variables the source's values; all of them, or none.

    Args:
        pairs: The variables that belong together, as (source's, target's).
        tau: 1 copies; less mixes (1 - tau) of the old value with tau of the new one, where the
            dtype is a float.

    Raises:
        GraphEditError: Shapes or dtypes of a pair differ, or tau is not a number from 0 to 1.
        SessionRefused: A variable has no value, or cannot be assigned.
    """
    check_tau(tau)
    check_pairs(pairs)
    read = source.read([ours for ours, _ in pairs])
    values = {theirs.handle: read[ours.handle] for ours, theirs in pairs}
    mixed = [theirs for _, theirs in pairs if tau != 1 and mixing.is_mixed(theirs.dtype)]
    old = target.read(mixed) if mixed else {}
    for variable in mixed:
        values[variable.handle] = mixing.mix_arrays(
            old[variable.handle], values[variable.handle], tau, variable.dtype
        )
    target.assign(values)


def object_path(key: str) -> str:
    """The path of an object that a key of a checkpoint names, "layers/0/kernel"; "" for a key of
    TensorFlow 1.
    """
    path, separator, _ = key.partition("/.ATTRIBUTES/")
    return path if separator else ""


def natural_order(name: str) -> list[object]:
    """A key that sorts "variables/10" after "variables/9"."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def eager_store(model: object) -> EagerStore | None:
    """The eager variables of a `tf.Module`, of what `tf.saved_model.load` returns, or of another
    trackable object, by their names, or their paths where two have one name. None for an object
    that tracks no variables.
    """
    if isinstance(model, tf.Variable):
        paths = {"": model}
    elif isinstance(model, Trackable) and not isinstance(model, (FUNCTION, CONCRETE)):
        paths = own_paths(trackable_variables(model))
    else:
        return None
    if not all(hasattr(getattr(variable, "handle", None), "numpy") for variable in paths.values()):
        return None  # variables of a graph: a session has their values
    unique = {id(variable.handle): path for path, variable in reversed(paths.items())}
    unique_variables = [
        (path, variable) for path, variable in paths.items() if unique[id(variable.handle)] == path
    ]
    title = f"{type(model).__name__} {getattr(model, 'name', '')}".strip()
    names, places = _named_variables(
        [(v.name.removesuffix(":0"), path, v) for path, v in unique_variables]
    )
    return EagerStore(title, names, places, root=model)


def keras_store(model: KerasModel, *, slots: bool = False) -> EagerStore:
    """The variables of a Keras model or layer, by Keras's names of them, "sequential/dense/kernel".

    Args:
        slots: Whether the optimizer's variables belong to it too, each below the variable that it
            is for.

    Raises:
        GraphEditError: The model has no variables, or they are not TensorFlow's.
    """
    title = f"Keras model {model.name!r}"
    variables = [(v.path, v.value) for v in model.variables]
    if not variables or not all(isinstance(v, tf.Variable) for _, v in variables):
        raise GraphEditError(
            f"{title} has no variables of TensorFlow; call it on data once, model(x), and try "
            "again."
        )
    objects = {id(v.handle): path for path, v in trackable_variables(model).items()}
    rows = [(path, objects.get(id(v.handle), ""), v) for path, v in variables]
    optimizer = getattr(model, "optimizer", None) if slots else None
    if optimizer is not None:
        # Its own name has a number in a process that has several.
        kind = type(optimizer).__name__.lower()
        below = sorted(
            ((path.replace("/", "_"), path) for path, _ in variables),
            key=lambda pair: -len(pair[0]),
        )
        for slot in optimizer.variables:
            local = slot.path.removeprefix(f"{optimizer.name}/")
            owner = next(
                ((flat, path) for flat, path in below if local.startswith(f"{flat}_")), None
            )
            name = f"{kind}/{local}"
            if owner is not None:
                name = f"{owner[1]}/{kind}/{local.removeprefix(owner[0]).lstrip('_')}"
            rows.append((name, "", slot.value))
    by_name, paths = _named_variables(rows)
    is_inside = all(name.startswith(f"{model.name}/") for name, _ in variables)
    return EagerStore(title, by_name, paths, model.name if is_inside else "", model)


def keras_file_store(path: str, model: KerasModel, target: EagerStore) -> FileStore:
    """The values in a file of Keras (".weights.h5", ".keras", ".h5") for the variables of a model.

    Keras reads it, into the model: which value is whose follows from the layers. The model gets its
    own values again. Raises GraphEditError where Keras cannot load the file into the model; nothing
    has changed then.
    """
    file = f"File {path!r}"
    before = target.read(target.variables)
    with held_back(), eager_mode():
        try:
            model.load_weights(path)
            values = target.read(target.variables)
        except Exception as error:  # Keras raises many kinds
            raise GraphEditError(
                f"{file} cannot be loaded into {target.title}: {reason_of(error)}; give a model of "
                "the layers that the file is of."
            ) from error
        finally:
            target.assign(before)
    return FileStore(file, target.variables, values.__getitem__)


def _named_variables(
    variables: Sequence[tuple[str, str, tf.Variable]],
) -> tuple[dict[str, tf.Variable], dict[str, str]]:
    """Variables by name, or by path where several have one name; and the paths by these."""
    count = Counter(name for name, _, _ in variables)
    entries = [(path if count[name] > 1 and path else name, path, v) for name, path, v in variables]
    return {name: v for name, _, v in entries}, {name: path for name, path, _ in entries}


@dataclass(frozen=True, eq=False)
class OpenedFileStore:
    """The variables of a file by their names there, and the session that an editor has imported its
    graph into.

    The file stays as it is: what is assigned is what the session has, which is what the editor runs
    and writes.
    """

    title: str
    variables: Sequence[StoredVariable]
    model: Model
    # By the handle that functions read.
    twins: Mapping[str, Sequence[VariableDef]] = field(default_factory=dict)
    scope: str = ""

    def read(self, variables: Sequence[StoredVariable]) -> dict[str, Array]:
        """Present values in the session."""
        of_handle = {v.definition: v.handle for v in variables if v.definition is not None}
        values = self._sync.read(list(of_handle))
        return {name: values[definition.handle] for definition, name in of_handle.items()}

    def assign(self, values: Mapping[str, Array]) -> None:
        """Assign through the variables' own initializers, or through hidden ops where the file has
        none.

        A variable that the file has under two handles gets the value in both: functions read the
        one, and Keras the other.
        """
        of_name = {
            v.handle: v.definition
            for v in self.variables
            if v.handle in values and v.definition is not None
        }
        assigned = [
            (each, values[name])
            for name, definition in of_name.items()
            for each in self.ops_of(definition)
        ]
        variables = [assignable(self.model.graph, each) for each, _ in assigned]
        self._sync.assign(variables, {each.handle: value for each, value in assigned})

    def ops_of(self, definition: VariableDef) -> list[VariableDef]:
        """A variable, and the others of the file that represent it."""
        return [definition, *self.twins.get(definition.handle, ())]

    @property
    def _sync(self) -> Sync:
        return Sync((), self.model, self.model)


def assignable(graph: Graph, variable: VariableDef) -> VariableDef:
    """A variable with an op that assigns what is fed to it: its initializer, or a hidden op beside
    the graph's own.

    SavedModels of TensorFlow 2 restore their variables in a function and have no initializers.
    """
    if variable.initializer and len(graph.get_operation_by_name(variable.initializer).inputs) > 1:
        return variable
    handle = mixing.handle_of(graph, variable)
    assign = next(filter(_takes_what_is_fed, handle.consumers()), None)
    if assign is None:
        assign = _add_assign(graph, handle)
    return replace(variable, initializer=assign.name, initial_value=assign.inputs[1].name)


def _add_assign(graph: Graph, handle: Tensor) -> Operation:
    """Add an op that assigns a placeholder to a variable, hidden from all editors, and return
    it.
    """
    new_ops: set[str] = set()
    with held_back():
        try:
            with (
                track_new_ops(graph) as new_ops,
                graph.as_default(),
                tf.control_dependencies(None),
                tf.compat.v1.name_scope(f"{handle.op.name}/sync/"),
                tf.device(handle.device),
            ):
                fed = tf.compat.v1.placeholder(
                    mixing.dtype_of(handle), mixing.shape_of(handle), "value"
                )
                return mixing.assign_op(handle, fed)
        finally:
            hide(graph, new_ops)


def _takes_what_is_fed(op: Operation) -> bool:
    """Whether an op assigns a placeholder to a variable, and does nothing else."""
    is_assign = op.type in ASSIGNS and len(op.inputs) > 1 and not op.control_inputs
    return is_assign and op.inputs[1].op.type == "Placeholder"


def opened_file_store(source: Source, index: GraphIndex) -> OpenedFileStore | None:
    """The variables of a file whose graph an editor has imported; None for another source."""
    if source.graph is None or source.stored is None:
        return None
    model = Model(source.graph, source.session)
    live = {variable.handle: variable for variable in all_variables(index)}
    names = {name: [twin for twin in source.stored.twins(name) if twin in live] for name in live}
    twins = {name: [live[twin] for twin in others] for name, others in names.items() if others}
    second = {twin.handle for others in twins.values() for twin in others}
    own = [
        v
        for name, v in live.items()
        if name not in second and not _is_left_over(v, index, source.stored)
    ]
    of_file = _file_store(source.title, source.stored, own).variables
    added = GraphStore(model, [v for v in own if source.stored.key(v.handle) is None])  # by edits
    return OpenedFileStore(source.title, (*of_file, *added.variables), model, twins)


def _is_left_over(variable: VariableDef, index: GraphIndex, stored_data: StoredData) -> bool:
    """Whether a handle has no value in the file, and nothing assigns to it or uses what it reads;
    Keras leaves such.
    """
    if variable.initializer or stored_data.key(variable.handle) is not None:
        return False
    consumers = index.consumer_lists[index.ids[variable.handle]]
    return all(
        index.types[op] in VARIABLE_READS and not index.consumer_lists[op] for op in consumers
    )


def store_of_source(source: Source, index: GraphIndex) -> VariableStore:
    """The variables of the graph of an opened source; of a function those that it captures."""
    opened = opened_file_store(source, index)
    if opened is not None:
        return opened
    if source.graph is not None:
        return GraphStore(Model(source.graph, source.session), all_variables(index))
    if source.stored is not None:
        return _file_store(source.title, source.stored, all_variables(index))
    state = captured_state(source, source.body)
    captured = (
        (node.name, state.live(node.name))
        for node in source.body.nodes()
        if node.name in state.names
    )
    return EagerStore(
        source.title, {name: value for name, value in captured if hasattr(value, "assign")}
    )


def _file_store(title: str, stored_data: StoredData, variables: Iterable[VariableDef]) -> FileStore:
    """The values that a file has for variables: of a TensorFlow 2 file each once, in the order of
    its objects.
    """
    variables = tuple(variables)
    by_key: dict[str, VariableDef] = {}
    for variable in variables:
        key = stored_data.key(variable.handle)
        if key is not None:
            by_key.setdefault(object_path(key) or variable.handle, variable)  # slices have one key
    own = own_paths(by_key)
    if any(key != variable.handle for key, variable in own.items()):
        own = dict(sorted(own.items(), key=lambda item: natural_order(item[0])))
    count = Counter(stored_data.variable_name(variable.handle) for variable in own.values())
    variables_stored = []
    for key, variable in own.items():
        name = stored_data.variable_name(variable.handle)
        path = "" if key == variable.handle else key
        name = path if path and count[name] > 1 else name
        shape = tf.TensorShape(stored_data.shape(variable.handle))
        variables_stored.append(
            StoredVariable(
                name, tf.as_dtype(stored_data.dtype(variable.handle)), shape, path, variable
            )
        )
    without_values = () if stored_data.has_values else tuple(v.handle for v in variables)
    return FileStore(title, tuple(variables_stored), stored_data.value, lacks=without_values)


def checkpoint_store(checkpoint: Checkpoint) -> FileStore:
    """The values in a checkpoint, by their names in it; of a checkpoint of objects by the paths of
    these.

    Slots of optimizers, which are below their variables there, are included.
    """
    keys = (key for key in checkpoint.shapes if not key.startswith("_CHECKPOINTABLE"))
    names = checkpoint.variable_names
    of_name = own_paths({object_path(key) or key: key for key in sorted(keys, key=natural_order)})
    variables = tuple(
        StoredVariable(
            *(
                name,
                tf.as_dtype(checkpoint.dtypes[key]),
                tf.TensorShape(checkpoint.shapes[key]),
                object_path(key),
            ),
            saved_name=names.get(key, ""),
        )
        for name, key in of_name.items()
    )
    return FileStore(
        f"Checkpoint {checkpoint.prefix!r}",
        variables,
        lambda name: np.asarray(checkpoint.value(of_name.get(name, name))),
    )

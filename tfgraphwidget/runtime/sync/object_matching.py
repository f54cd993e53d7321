"""Variables of two objects of one structure, paired as `tf.train.Checkpoint.restore` pairs them: by
attributes.

A checkpoint of TensorFlow 2, and a SavedModel, list their objects with the names of their
attributes. Beginning at an object of the checkpoint and at a live one, attributes of one name
belong together, whatever variables and layers are called: Keras numbers the names of layers, so
that two models of one class have different ones. Where the live object is in the checkpoint
(`tf.train.Checkpoint(model=model)` has it as "model") is found by trying each object.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.runtime.sync.variable_stores import (
    EagerStore,
    FileStore,
    Pair,
    StoredVariable,
    object_path,
)
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.sources import Checkpoint
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import trackable_children
from tfgraphwidget.tf_types import TrackableObject

_ROOT = 0
# Keras's export lists the variables of a model in its order, and has no other objects
_LISTED = "variables/"
_SHOWN = 3  # names in a sentence
# Attributes of layers as Keras 2 had them: of DepthwiseConv2D.
_FORMER_NAMES = {"kernel": ("depthwise_kernel",)}
# of a layer that draws numbers: no weight, and Keras 2 had none
_SEED_STATE = "seed_generator_state"


@dataclass(frozen=True)
class _Place:
    """An object of a checkpoint: how it is reached from the root, and the keys of a live object's
    variables there.

    Attributes:
        path: The attributes that lead to it, "model"; "" for the root.
        depth: How many attributes these are.
        keys: The names of values by the names of the live object's variables.
    """

    path: str
    depth: int
    keys: Mapping[str, str]


def match_objects(
    checkpoint: Checkpoint, source: FileStore, target: EagerStore, path: str = ""
) -> tuple[Pair, ...]:
    """Pairs, in the order of the target, of all variables of a live object with values of a
    checkpoint; none if it lacks some.

    Args:
        path: The attributes that lead to the object in the checkpoint, "model"; "" to find it.

    Raises:
        GraphEditError: Several objects of the checkpoint could be the live one.
    """
    variables = {variable.handle: variable for variable in target.variables}
    needed = {name for name in variables if not name.endswith(_SEED_STATE)} or variables.keys()
    places = [
        place
        for place in _places(checkpoint.objects, target)
        if place.keys.keys() >= needed and path in ("", place.path)
    ]
    fitting = [place for place in places if _fits(checkpoint, place.keys, variables)] or places
    nearest = [place for place in fitting if place.depth == min(each.depth for each in fitting)]
    if len({tuple(sorted(place.keys.items())) for place in nearest}) > 1:
        names = " and ".join(repr(place.path) for place in nearest[:_SHOWN])
        raise GraphEditError(
            f"{source.title} has several objects like the target: {names}; "
            + in_cell(f"say which one is meant: names={{{nearest[0].path!r}: ''}}.")
        )
    if nearest:
        keys = nearest[0].keys
        stored = {variable.path or variable.handle: variable for variable in source.variables}
        return tuple(
            (_stored_variable(checkpoint, stored, keys[name]), variable)
            for name, variable in variables.items()
            if name in keys
        )
    return ()


def _stored_variable(
    checkpoint: Checkpoint, stored: Mapping[str, StoredVariable], key: str
) -> StoredVariable:
    """The variable whose value a checkpoint has under a key; of Keras's two, a new one."""
    variable = stored.get(object_path(key) or key)
    return variable or StoredVariable(
        key, tf.as_dtype(checkpoint.dtypes[key]), tf.TensorShape(checkpoint.shapes[key])
    )


def lacking(checkpoint: Checkpoint, target: EagerStore) -> tuple[str, ...]:
    """The variables of a live object without a value in a checkpoint that has most."""
    most_keys = max(
        (place.keys for place in _places(checkpoint.objects, target)), key=len, default={}
    )
    names = (variable.handle for variable in target.variables if variable.handle not in most_keys)
    return tuple(name for name in names if not name.endswith(_SEED_STATE))


def _places(objects: Sequence[TrackableObject], target: EagerStore) -> list[_Place]:
    """The objects of a checkpoint, nearest to the root first, with a live object's values."""
    if target.root is None:
        return []
    names = {id(variable.handle): name for name, variable in target.by_name.items()}
    # Of live objects by id: there may be thousands of places.
    children: dict[int, Mapping[str, object]] = {}
    places, visited = [], {_ROOT}
    line = deque([(_ROOT, "", 0)])
    while line:
        number, path, depth = line.popleft()
        places.append(_Place(path, depth, _keys(objects, number, target.root, names, children)))
        for child in objects[number].children:
            if child.node_id not in visited:
                visited.add(child.node_id)
                line.append((child.node_id, f"{path}/{child.local_name}".lstrip("/"), depth + 1))
    return places


def _keys(
    objects: Sequence[TrackableObject],
    number: int,
    root: object,
    names: Mapping[int, str],
    children: dict[int, Mapping[str, object]],
) -> dict[str, str]:
    """The keys of the values of a live object's variables, if it is that object, by name."""
    keys: dict[str, str] = {}
    line, visited = deque([(number, root)]), {id(root)}
    while line:
        number, live = line.popleft()
        # Keras's have one.
        variable = live if isinstance(live, tf.Variable) else getattr(live, "value", None)
        if isinstance(variable, tf.Variable):
            key = next((each.checkpoint_key for each in objects[number].attributes), "")
            if key and id(variable.handle) in names:
                keys.setdefault(names[id(variable.handle)], key)
            continue
        stored = {child.local_name: child.node_id for child in objects[number].children}
        if id(live) not in children:
            children[id(live)] = {**_numbered_layers(live), **trackable_children(live)}
        for name, child in children[id(live)].items():
            there = next((stored[each] for each in _spellings(name) if each in stored), None)
            if there is not None and id(child) not in visited:
                visited.add(id(child))
                line.append((there, child))
    return keys


def _numbered_layers(live: object) -> dict[str, object]:
    """The layers of a model with weights, as Keras 2 named them in functional models."""
    layers = getattr(live, "layers", ())
    if isinstance(layers, list):
        weighted = [layer for layer in layers if getattr(layer, "weights", ())]
    else:
        weighted = []
    return {f"layer_with_weights-{number}": layer for number, layer in enumerate(weighted)}


def _spellings(name: str) -> tuple[str, ...]:
    """The name of an attribute, and as other versions of Keras have it: "_kernel" of a layer was
    "kernel".
    """
    plain = name.removeprefix("_")
    return name, plain if name.startswith("_") else f"_{name}", *_FORMER_NAMES.get(plain, ())


def _fits(
    checkpoint: Checkpoint, keys: Mapping[str, str], variables: Mapping[str, StoredVariable]
) -> bool:
    """Whether all values have the shapes of the variables."""
    return all(
        variables[name].shape.is_compatible_with(checkpoint.shapes[key])
        for name, key in keys.items()
    )


def match_list(checkpoint: Checkpoint, source: FileStore, target: EagerStore) -> tuple[Pair, ...]:
    """Pairs with the list of variables that Keras's export has, where these are of the same kinds
    and shapes; none where they are not, or the checkpoint has other objects.
    """
    listed = [variable for variable in source.variables if variable.path.startswith(_LISTED)]
    if len(listed) != len(source.variables) or len(listed) != len(target.variables):
        return ()
    names = checkpoint.variable_names
    pairs = tuple(zip(listed, target.variables, strict=True))
    for ours, theirs in pairs:
        name = ours.saved_name or names.get(ours.handle, "")
        same_kind = not name or name.rpartition("/")[2] == theirs.handle.rpartition("/")[2]
        if not (
            same_kind and ours.dtype == theirs.dtype and ours.shape.is_compatible_with(theirs.shape)
        ):
            return ()
    return pairs

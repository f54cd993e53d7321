"""OtherCheckpoint: the values of a SavedModel, with those of another checkpoint of the same model
in their places.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.sentences import either, leave_out
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.files.checkpoint import Checkpoint, value_type
from tfgraphwidget.sources.files.checkpoint_keys import (
    graph_variables,
    keys_by_restore_call,
    restored_names,
)
from tfgraphwidget.sources.files.object_graph import bound_variables, saved_variables
from tfgraphwidget.sources.node_body import NodeBody
from tfgraphwidget.sources.paths import shorten
from tfgraphwidget.tf_types import MetaGraphDef, TrackableObject


@dataclass(frozen=True)
class OtherCheckpoint(Checkpoint):
    """A SavedModel's own checkpoint in which values are replaced by those of another one, under the
    names of its own.

    Attributes:
        own: The checkpoint in the folder of the SavedModel.
        replacement: The other one.
        replaced: The name in `replacement` of each value that it has, by the name in `own`.
    """

    own: Checkpoint
    replacement: Checkpoint
    replaced: Mapping[str, str]

    def missing(self) -> list[str]:
        """The paths of the files of both checkpoints that do not exist."""
        return [*self.own.missing(), *self.replacement.missing()]

    @cached_property
    def shapes(self) -> Mapping[str, Sequence[int]]:
        """Name of each value -> its shape."""
        return self.own.shapes

    @cached_property
    def dtypes(self) -> Mapping[str, str]:
        """Name of each value -> its dtype, "float32"."""
        return self.own.dtypes

    def value(self, name: str) -> np.ndarray | bytes:
        """The value of that name: the other checkpoint's, or the SavedModel's if that lacks it."""
        if name in self.replaced:
            return self.replacement.value(self.replaced[name])
        return self.own.value(name)


def other_checkpoint(
    own: Checkpoint, replacement: Checkpoint, meta: MetaGraphDef, body: NodeBody
) -> Checkpoint:
    """The values of a SavedModel when a checkpoint is given for it. Raises GraphEditError where
    that lacks a value that the graph needs, or has one of another shape or dtype.

    TensorFlow names values by the objects that have them. So the checkpoint of a model, of an
    object that has the model as an attribute, and of a SavedModel that was loaded again give the
    same variables other names: the objects of both checkpoints are followed by their attributes. A
    checkpoint of TensorFlow 1 has the names of the variables.
    """
    if replacement.prefix == own.prefix:
        return own
    variable_of_key = _needed_names(own, meta, body)
    checkpoint = OtherCheckpoint(
        own.prefix, own, replacement, _matching(own, replacement, variable_of_key)
    )
    for key, variable in variable_of_key.items():
        _check(checkpoint, key, variable)
    return checkpoint


def _check(checkpoint: OtherCheckpoint, key: str, variable: str) -> None:
    own, replacement, name = checkpoint.own, checkpoint.replacement, checkpoint.replaced.get(key)
    start = (
        either(f"checkpoint={shorten(replacement.prefix)}: variable", "Variable")
        + f" {variable!r} of the SavedModel "
    )
    if name is None:
        there = sorted(other for other in replacement.shapes if other != tf_protos.OBJECT_GRAPH)
        raise GraphEditError(
            start + f"has the key {key!r}, and the checkpoint has no value for it (it has "
            f"{_some(there)}); give "
            "a checkpoint of this model, or " + leave_out("checkpoint") + ".",
            [variable],
        )
    before, after = value_type(own, key), value_type(replacement, name)
    if before != after:
        raise GraphEditError(
            start
            + f"is {before}, and the checkpoint has {after} under {name!r}; give a checkpoint of "
            "this "
            "model, or " + leave_out("checkpoint") + ".",
            [variable],
        )


def _needed_names(own: Checkpoint, meta: MetaGraphDef, body: NodeBody) -> dict[str, str]:
    """The names in the checkpoint of needed values, each with the variable's name."""
    restore = meta.saver_def.restore_op_name
    restored = keys_by_restore_call(body.protos, body.library, restore)
    if not meta.object_graph_def.nodes:
        names = restored_names(body.protos, body.library, restore) if restore else []
        names = names or [variable.handle for variable in graph_variables(body)]
        return {name: name for name in names if name in own.shapes}
    nodes = own.objects
    numbers = saved_variables(meta, body.protos)
    variable_of_key = {}
    for op in bound_variables(meta, body.protos):
        if numbers[op] < len(nodes):
            keys = [each.checkpoint_key for each in nodes[numbers[op]].attributes]
        else:
            keys = []
        key = next((key for key in (*keys, restored.get(op, "")) if key in own.shapes), "")
        if key:
            variable_of_key[key] = meta.object_graph_def.nodes[numbers[op]].variable.name or op
    return variable_of_key


def _matching(own: Checkpoint, replacement: Checkpoint, keys: Collection[str]) -> dict[str, str]:
    """The name in `replacement` of each value that both checkpoints have, by the name in `own`."""
    mine, theirs = own.objects, replacement.objects
    if not len(theirs) or not len(mine):
        names = {
            attribute.checkpoint_key: attribute.full_name
            for node in mine
            for attribute in node.attributes
        }
        pairs = (
            (key, key if key in replacement.shapes else names.get(key, ""))
            for key in own.shapes
            if key != tf_protos.OBJECT_GRAPH
        )
        return {key: name for key, name in pairs if name in replacement.shapes}
    matchings: list[dict[str, str]] = []
    for root in (0, *(child.node_id for child in theirs[0].children)):
        matchings.append(
            {
                key: name
                for key, name in _join_objects(mine, theirs, root)
                if name in replacement.shapes
            }
        )
        if matchings[-1].keys() >= set(keys):
            return matchings[-1]
    names_by_full_name = _by_full_name(mine, theirs)
    return names_by_full_name if names_by_full_name.keys() >= set(keys) else matchings[0]


def _join_objects(
    mine: Sequence[TrackableObject], theirs: Sequence[TrackableObject], root: int
) -> Iterator[tuple[str, str]]:
    """The names of objects' values that have the same path of attributes, from the roots."""
    stack, visited = [(0, root)], {0}
    while stack:
        one, other = stack.pop()
        names = {attribute.name: attribute.checkpoint_key for attribute in theirs[other].attributes}
        for attribute in mine[one].attributes:
            if attribute.name in names:
                yield attribute.checkpoint_key, names[attribute.name]
        children = {child.local_name: child.node_id for child in theirs[other].children}
        for child in mine[one].children:
            if child.local_name in children and child.node_id not in visited:
                visited.add(child.node_id)
                stack.append((child.node_id, children[child.local_name]))


def _by_full_name(
    mine: Sequence[TrackableObject], theirs: Sequence[TrackableObject]
) -> dict[str, str]:
    """The values whose variables have the same name, where it is the only one of that name in the
    other checkpoint.

    Keras exports a model's variables under other attributes than the model has.
    """
    keys: dict[str, set[str]] = {}
    for node in theirs:
        for attribute in node.attributes:
            keys.setdefault(attribute.full_name, set()).add(attribute.checkpoint_key)
    attributes = (attribute for node in mine for attribute in node.attributes)
    return {
        each.checkpoint_key: next(iter(keys[each.full_name]))
        for each in attributes
        if each.full_name and len(keys.get(each.full_name, ())) == 1
    }


def _some(names: Iterable[str]) -> str:
    listed = [repr(name) for name in names]
    if listed:
        return ", ".join(listed[:3]) + (f" and {len(listed) - 3} more" if len(listed) > 3 else "")
    return "none"

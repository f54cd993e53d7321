"""Variables that edits have brought into a SavedModel of TensorFlow 2: saved objects, values and
initial values.

Each becomes an attribute of the saved object, with a value in the checkpoint. A session restores
what the model's Saver knows, which is the old variables; so the init op, which it runs next,
assigns the new ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tfgraphwidget.graph import CONSTANTS, GraphIndex, VariableDef, definitions, handles
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import free_name, split_tensor, take_free_name
from tfgraphwidget.runtime.session import variable_values
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_types import (
    CheckpointReader,
    MetaGraphDef,
    NodeDef,
    SavedObjectGraph,
    Session,
)

_VALUE = "VARIABLE_VALUE"
_NO_NAME = re.compile(r"\W")


class CannotHold(Exception):
    """A variable cannot become a saved object; the text ends a sentence."""


@dataclass(frozen=True, eq=False)
class NewVariable:
    """A variable that a SavedModel did not have.

    Attributes:
        definition: The variable in the graph.
        attribute: Its name as an attribute of the saved object.
        number: The number of its saved object.
        value: Its value.
    """

    definition: VariableDef
    attribute: str
    number: int
    value: np.ndarray

    @property
    def key(self) -> str:
        """The name of its value in the checkpoint."""
        return f"{self.attribute}/.ATTRIBUTES/{_VALUE}"


def new_variables(
    meta: MetaGraphDef, before: GraphIndex, after: GraphIndex, session: Session | None
) -> list[NewVariable]:
    """The variables of an edited graph that a SavedModel does not have, with their values in a
    session, or the initial ones. Raises CannotHold for a variable that is one of TensorFlow 1, or
    has no value.
    """
    stored_names = {node.name for node in meta.graph_def.node} | set(before.names)
    variable_defs = definitions(
        after, [i for i in handles(after) if after.names[i] not in stored_names]
    ).values()
    nodes = meta.object_graph_def.nodes
    names_in_use = {child.local_name.lower() for child in nodes[0].children} if nodes else set()
    saved_variables: list[NewVariable] = []
    for variable in variable_defs:
        if not variable.resource or not variable.initializer:
            raise CannotHold(
                f"{variable.handle!r} is a new variable without an initial value of its own"
            )
        attribute = take_free_name(_NO_NAME.sub("_", variable.handle), names_in_use)
        saved_variables.append(
            NewVariable(
                variable,
                attribute,
                len(nodes) + len(saved_variables),
                _value(after, variable, session),
            )
        )
    return saved_variables


def _value(index: GraphIndex, variable: VariableDef, session: Session | None) -> np.ndarray:
    if session is not None and variable_values.has_value(
        session, variable.snapshot or variable.name
    ):
        return np.asarray(session.run(variable.snapshot or variable.name))
    first = index.ids.get(split_tensor(variable.initial_value or "")[0])
    if first is None or index.types[first] not in CONSTANTS:
        raise CannotHold(f"{variable.handle!r} is a new variable without a value")
    value: np.ndarray = tf.make_ndarray(index.nodes[first].attr["value"].tensor)
    return value


def add_objects(
    objects: SavedObjectGraph, variables: Iterable[NewVariable], index: GraphIndex
) -> None:
    """Add variables, by number, to the saved objects, as attributes of the root."""
    for new in variables:
        handle = index.nodes[index.ids[new.definition.handle]]
        saved = objects.nodes.add().variable
        saved.dtype, saved.name = handle.attr["dtype"].type, new.definition.handle
        saved.shape.CopyFrom(handle.attr["shape"].shape)
        saved.trainable = index.defined_variables.get(
            new.definition.handle, new.definition
        ).trainable
        objects.nodes[0].children.add(node_id=new.number, local_name=new.attribute)


def initializer_nodes(
    nodes: Sequence[NodeDef], variables: Sequence[NewVariable], init: str
) -> list[NodeDef]:
    """NodeDefs of which the op `init`, which sessions run after the restoration, assigns the
    present values of new variables. Raises CannotHold where there is no such op.
    """
    if not variables:
        return list(nodes)
    if init not in {node.name for node in nodes}:
        raise CannotHold(
            f"{variables[0].definition.handle!r} is a new variable, and the model has no init op"
        )
    names_in_use = {node.name.lower() for node in nodes}
    assigns = {new.definition.initializer: new for new in variables}
    new_nodes = []
    for node in nodes:
        changed = copy_of(node)
        if node.name == init:
            changed.input.extend(f"^{name}" for name in assigns)
        elif node.name in assigns:
            value = assigns[node.name].value
            name = free_name(f"{assigns[node.name].definition.handle}/saved_value", names_in_use)
            const = type(node)(name=name, op="Const")
            const.attr["dtype"].type = node.attr["dtype"].type
            const.attr["value"].tensor.CopyFrom(
                tf.make_tensor_proto(value, node.attr["dtype"].type, value.shape)
            )
            changed.input[1] = name
            new_nodes.append(const)
        new_nodes.append(changed)
    return new_nodes


def checkpoint_values(
    reader: CheckpointReader, variables: Sequence[NewVariable]
) -> Mapping[str, object]:
    """The values of new variables by names in the checkpoint, with the listed objects."""
    if not variables:
        return {}
    objects = tf_protos.TrackableObjectGraph.FromString(reader.get_tensor(tf_protos.OBJECT_GRAPH))
    for new in variables:
        while len(objects.nodes) <= new.number:
            objects.nodes.add()
        node = objects.nodes[new.number]
        node.attributes.add(name=_VALUE, full_name=new.definition.handle, checkpoint_key=new.key)
        node.has_checkpoint_values.value = True
        objects.nodes[0].children.add(node_id=new.number, local_name=new.attribute)
    return {
        tf_protos.OBJECT_GRAPH: objects.SerializeToString(),
        **{new.key: new.value for new in variables},
    }

"""The variables that a FuncGraph captures, shown as variables.

TensorFlow puts a placeholder named after the op that reads first
("dense/MatMul/ReadVariableOp/resource") where a function captures a variable. Here it is a
VarHandleOp under the variable's own name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from tfgraphwidget.graph import VariableDef
from tfgraphwidget.naming import take_free_name
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.renaming import rename_inputs
from tfgraphwidget.sources.source import Collections
from tfgraphwidget.sources.variables import variable_collections
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import FuncGraph, deleted_variable, living_variables
from tfgraphwidget.tf_types import NodeDef


class CaptureInfo(NamedTuple):
    """Name and trainability of a captured variable, as its owner knows them: Keras has its own."""

    name: str
    trainable: bool


class CapturedVariable(NamedTuple):
    """A variable, and the placeholder that represents it in a function."""

    variable: tf.Variable
    placeholder: tf.Tensor
    info: CaptureInfo


@dataclass(frozen=True, eq=False)
class Captures:
    """Placeholders of captured variables; `alias` maps their names to the shown ones."""

    alias: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, CapturedVariable] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: tf.Graph, infos: Mapping[int, CaptureInfo]) -> Captures:
        """The captures of a FuncGraph, none of a graph. `infos` has CaptureInfo by handle's id."""
        if not isinstance(graph, FuncGraph):
            return cls()
        used_names = {op.name.lower() for op in graph.get_operations()}
        alias: dict[str, str] = {}
        variables: dict[str, CapturedVariable] = {}
        for placeholder, variable in _captured_variables(graph):
            info = infos.get(id(variable.handle)) or CaptureInfo(
                variable.name.partition(":")[0], variable.trainable
            )
            name = take_free_name(info.name, used_names)
            alias[placeholder.op.name] = name
            variables[name] = CapturedVariable(variable, placeholder, info)
        return cls(alias, variables)

    @cached_property
    def placeholders(self) -> dict[str, str]:
        """Shown name → TensorFlow's name."""
        return {shown_name: name for name, shown_name in self.alias.items()}

    def with_shown_names(self, nodes: list[NodeDef]) -> list[NodeDef]:
        """NodeDefs, changed in place, under the names that they are shown by."""
        rename_inputs(nodes, self.alias)
        return [
            self._handle(self.alias[node.name]) if node.name in self.alias else node
            for node in nodes
        ]

    def _handle(self, name: str) -> NodeDef:
        variable = self.variables[name].variable
        node: NodeDef = tf_protos.NodeDef(name=name, op="VarHandleOp")
        node.attr["dtype"].type = variable.dtype.base_dtype.as_datatype_enum
        node.attr["shape"].shape.CopyFrom(variable.shape.as_proto())
        own = variable.name.partition(":")[0]
        node.attr["shared_name"].s = (own if self._names[own] == 1 else name).encode()
        return node

    @cached_property
    def _names(self) -> Counter[str]:
        """How many variables have a name: eager ones and ops of one shared name may share it."""
        return Counter(
            captured.variable.name.partition(":")[0] for captured in self.variables.values()
        )

    @cached_property
    def collections(self) -> Collections:
        """The captured variables, in the collections that their own graph would have them in."""
        definitions = tuple(
            _definition(name, captured) for name, captured in self.variables.items()
        )
        return variable_collections(definitions)


def _definition(name: str, captured: CapturedVariable) -> VariableDef:
    variable = captured.variable
    reads = (op for op in captured.placeholder.consumers() if op.type == "ReadVariableOp")
    read = next(reads, None)
    return VariableDef(
        handle=name,
        initial_value=None,
        initializer=None,
        snapshot=None if read is None else read.outputs[0].name,
        resource=True,
        trainable=captured.info.trainable,
        synchronization=variable.synchronization.value,
        aggregation=variable.aggregation.value,
        constraint=getattr(variable, "constraint", None),
    )


def _captured_variables(graph: FuncGraph) -> list[tuple[tf.Tensor, tf.Variable]]:
    """(placeholder, variable) for every variable that a function, or one around it, captures."""
    around = [graph]
    while isinstance(around[-1].outer_graph, FuncGraph):
        around.append(around[-1].outer_graph)
    levels = [living_variables(level) for level in around]
    handles = {id(variable.handle): variable for variables, _ in levels for variable in variables}
    is_any_deleted = any(is_deleted for _, is_deleted in levels)
    captured = []
    for external, placeholder in graph.captures:
        source = external
        for level in around[1:]:
            source = next(
                (outside for outside, inside in level.captures if inside is source), source
            )
        variable = handles.get(id(source))
        if variable is None and is_any_deleted:
            variable = deleted_variable(source)
        if variable is not None:
            captured.append((placeholder, variable))
    return captured

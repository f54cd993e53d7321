"""Variables that an edit of a called function's body brings in: the graph has them, and calls pass
their handles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tfgraphwidget.edits import Change, Patch
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import GraphIndex, Member, VariableDef
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import take_free_name
from tfgraphwidget.runtime.functions.edited_function import NewHandle
from tfgraphwidget.sentences import editor_call
from tfgraphwidget.sources import variable_definition
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import eager_mode
from tfgraphwidget.tf_types import NodeDef, Tensor, Variable

_RESOURCES = ("resource", "variant")


@dataclass(frozen=True, eq=False)
class LiftedVariables:
    """The handles of new variables in the graph that calls a function.

    Attributes:
        handles: What the function takes, with the handle ops of the caller.
        change: The ops and variables that the caller gains.
        captured: The live variables that these handle ops represent.
    """

    handles: tuple[NewHandle, ...]
    change: Change
    captured: tuple[tuple[str, Variable | Tensor], ...]


def with_constants(patch: Patch) -> Patch:
    """The patch with constants in place of the captured tensors that a Python function reads.
    Raises GraphEditError where it captures a table or other state that is not a variable.
    """
    values = {
        name: live for name, live in patch.new_state.items() if not isinstance(live, tf.Variable)
    }
    other = [name for name, live in values.items() if live.dtype.name in _RESOURCES]
    if other:
        raise GraphEditError(
            f"The function reads {other[0]!r}, which is not a variable, and calls pass on "
            "variables only; insert "
            "it in the function that was opened: " + editor_call("view.leave", "0") + "."
        )
    if not values:
        return patch
    nodes = tuple(
        _constant(node, values[node.name]) if node.name in values else node
        for node in patch.add.nodes
    )
    captured = tuple(each for each in patch.captured if each[0] not in values)
    traced = patch.traced
    if traced is not None:
        own = {
            name: live for name, live in traced.captured.items() if isinstance(live, tf.Variable)
        }
        traced = replace(traced, captured=own)
    return replace(patch, add=replace(patch.add, nodes=nodes), captured=captured, traced=traced)


def _constant(node: NodeDef, value: Tensor) -> NodeDef:
    new: NodeDef = type(node)()
    new.name, new.op = node.name, "Const"
    new.attr["dtype"].type = value.dtype.as_datatype_enum
    with eager_mode():
        new.attr["value"].tensor.CopyFrom(
            tf.make_tensor_proto(value.numpy(), value.dtype, value.shape)
        )
    return new


def lift(
    patch: Patch, handles: Sequence[NewHandle], caller: GraphIndex, *, as_ops: bool
) -> LiftedVariables:
    """The variables that a patch of a function's body brings in, in the graph that calls the
    function: the handles there, and what it gains.

    Args:
        as_ops: Whether the variables are made of ops there, which a session initializes; else they
            stay live ones.
    """
    names_in_use = {name.lower() for name in (*caller.names, *caller.scopes.names)} | set(
        caller.reserved
    )
    definitions = {variable.handle: variable for variable in patch.add.variables}
    state, names, nodes, variables = patch.new_state, [], [], []
    for handle in handles:
        live, own = state[handle.node.name], handle.node.name
        name = take_free_name(own, names_in_use)
        names.append(name)
        if as_ops:
            trainable = definitions[own].trainable if own in definitions else live.trainable
            variable_nodes, definition = _variable(name, live, trainable=trainable)
        else:
            node = copy_of(handle.node)
            node.name = name
            variable_nodes = [node]
            if own in definitions:
                definition = replace(definitions[own], handle=name, snapshot=None)
            else:
                definition = VariableDef(
                    name, None, None, None, resource=True, trainable=live.trainable
                )
        nodes += variable_nodes
        variables.append(definition)
    members = [("variables", Member("variable", v.name)) for v in variables]
    members += [
        ("trainable_variables", Member("variable", v.name)) for v in variables if v.trainable
    ]
    return LiftedVariables(
        tuple(replace(handle, op=name) for handle, name in zip(handles, names, strict=True)),
        Change(nodes=tuple(nodes), members=tuple(members), variables=tuple(variables)),
        tuple(zip(names, (state[handle.node.name] for handle in handles), strict=True)),
    )


def _variable(name: str, live: Any, *, trainable: bool) -> tuple[list[NodeDef], VariableDef]:
    """The ops of a variable of a graph that starts with the value of a live one."""
    with eager_mode():
        value = live.numpy()
    with tf.Graph().as_default() as graph:
        variable = tf.compat.v1.Variable(
            value,
            name=name,
            trainable=trainable,
            use_resource=True,
            dtype=live.dtype,
            synchronization=live.synchronization,
            aggregation=live.aggregation,
        )
        return list(graph.as_graph_def().node), variable_definition(variable)

"""A SavedModel of TensorFlow 2 as it would have been saved had its state had the names that edits
gave it.

Its functions bind saved objects by numbers, and checkpoints have their values by the paths of
attributes, so a name is nothing but that of the op in the graph, and of a variable's object: these
follow, and all else stays.
"""

from __future__ import annotations

from collections.abc import Mapping

from tfgraphwidget.edits import apply_patch, rename_patch
from tfgraphwidget.graph import HANDLES, TABLE, GraphIndex, kind_of
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.sources import bound_variables, rename_inputs, rename_tensor, saved_variables
from tfgraphwidget.tf_types import MetaGraphDef

_SAVER = ("filename_tensor_name", "save_tensor_name", "restore_op_name")


def new_state_names(
    meta: MetaGraphDef, before: GraphIndex, after: GraphIndex, names: Mapping[str, str]
) -> dict[str, str]:
    """The new names of ops that hold variables and tables, and of a Saver's inputs and outputs,
    that edits have renamed, by the old, which `names` has by the new.
    """
    saver = {split_tensor(getattr(meta.saver_def, field))[0] for field in _SAVER}
    pairs: dict[str, str] = {}
    for new, old in names.items():
        if old in before.ids and new in after.ids:
            op_type = before.types[before.ids[old]]
            is_same_type = op_type == after.types[after.ids[new]]
            if is_same_type and (old in saver or _holds_state(op_type)):
                pairs[old] = new
    # One that has the name of an op that an edit has removed is new to those who read the file.
    return {old: new for old, new in pairs.items() if new not in before.ids or new in pairs}


def _holds_state(op_type: str) -> bool:
    return op_type in HANDLES or kind_of(op_type) == TABLE


def rename_in_graph(before: GraphIndex, names: Mapping[str, str]) -> GraphIndex:
    """The graph with other names of ops."""
    return apply_patch(before, rename_patch(before, names, ())) if names else before


def rename_in_file(meta: MetaGraphDef, names: Mapping[str, str]) -> MetaGraphDef:
    """The MetaGraphDef of a SavedModel with other names of ops and of variables' objects."""
    if not names:
        return meta
    renamed = copy_of(meta)
    nodes, objects = renamed.graph_def.node, renamed.object_graph_def.nodes
    numbers = saved_variables(meta, meta.graph_def.node)
    bound = set(bound_variables(meta, meta.graph_def.node))
    bound_numbers = {numbers[op] for op in bound}
    for old, new in names.items():
        # Keras has two objects of one name, of which functions bind one: an op that they do not
        # bind is not that one.
        if old in numbers and (old in bound or numbers[old] not in bound_numbers):
            objects[numbers[old]].variable.name = new
    for node in nodes:
        node.name = names.get(node.name, node.name)
    rename_inputs(nodes, names)
    saver = renamed.saver_def
    saver.filename_tensor_name = rename_tensor(saver.filename_tensor_name, names)
    saver.save_tensor_name = rename_tensor(saver.save_tensor_name, names)
    saver.restore_op_name = names.get(saver.restore_op_name, saver.restore_op_name)
    return renamed

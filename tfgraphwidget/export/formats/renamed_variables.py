"""A SavedModel of TensorFlow 2 as it would have been saved had its variables had the names that edits gave them.

Its functions bind saved objects by numbers, and checkpoints have their values by the paths of attributes, so a name is
nothing but that of the handle op in the graph and of the object: both follow, and all else stays.
"""

from __future__ import annotations

from collections.abc import Mapping

from tfgraphwidget.edits import apply_patch, rename_patch
from tfgraphwidget.graph import HANDLES, GraphIndex
from tfgraphwidget.sources import bound_variables, rename_inputs, saved_variables
from tfgraphwidget.tf_types import MetaGraphDef


def renamed_variables(before: GraphIndex, after: GraphIndex, names: Mapping[str, str]) -> dict[str, str]:
    """The new names of the handle ops of variables that edits have renamed, by the old ones.

    Args:
        before: The graph as it was opened.
        after: The graph after the edits.
        names: The old names of ops that edits have renamed, by the new ones.
    """
    pairs = {
        old: new
        for new, old in names.items()
        if old in before.ids and new in after.ids and old != new
        if before.types[before.ids[old]] in HANDLES and after.types[after.ids[new]] in HANDLES
    }
    # One that has the name of an op that an edit has removed is a new variable to those who read the file.
    return {old: new for old, new in pairs.items() if new not in before.ids or new in pairs}


def rename_in_graph(before: GraphIndex, names: Mapping[str, str]) -> GraphIndex:
    """The graph with other names of variables.

    Args:
        before: The graph as it was opened.
        names: The new names of handle ops by the old ones.
    """
    return apply_patch(before, rename_patch(before, names, ())) if names else before


def rename_in_file(meta: MetaGraphDef, names: Mapping[str, str]) -> MetaGraphDef:
    """The MetaGraphDef of a SavedModel with other names of variables, in the graph and of the saved objects.

    Args:
        meta: The MetaGraphDef.
        names: The new names of handle ops by the old ones.
    """
    if not names:
        return meta
    renamed = type(meta)()
    renamed.CopyFrom(meta)
    nodes, objects = renamed.graph_def.node, renamed.object_graph_def.nodes
    numbers, bound = saved_variables(meta, meta.graph_def.node), set(bound_variables(meta, meta.graph_def.node))
    bound_numbers = {numbers[op] for op in bound}
    for old, new in names.items():
        # Keras has two objects of one name, of which functions bind one: an op that they do not bind is not that one.
        if old in numbers and (old in bound or numbers[old] not in bound_numbers):
            objects[numbers[old]].variable.name = new
    for node in nodes:
        node.name = names.get(node.name, node.name)
    rename_inputs(nodes, names)
    return renamed

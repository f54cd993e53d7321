"""`ge.transform`: copies of a view, in its graph or in another; and targets computed anew from other tensors.

Where the original left copies that were silently wrong, these are right: variables, tables and queues have state of
their own and copied `tf.Variable`s are in the collections, loops have frames and contexts of their own, colocation and
control inputs follow the copies, library functions go along into another graph, static shapes are kept, each tensor
from outside has one placeholder, and the view that comes back has inputs. When something fails, collections are as
before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from tfgraphwidget.graph_editor.handlers import (
    assign_renamed_collections_handler,
    copy_op_handler,
    keep_t_if_possible_handler,
    replace_t_with_placeholder_handler,
    transform_op_if_inside_handler,
    transform_op_in_place,
)
from tfgraphwidget.graph_editor.lists import get_unique_graph
from tfgraphwidget.graph_editor.live_ops import with_whole_loops
from tfgraphwidget.graph_editor.select import get_backward_walk_ops, get_forward_walk_ops
from tfgraphwidget.graph_editor.subgraph import SubGraphView, make_view
from tfgraphwidget.graph_editor.transformer import InformedTransformer, Transformer
from tfgraphwidget.graph_editor.transforming import Known, TensorMap, TransformerInfo, Transforming
from tfgraphwidget.graph_editor.trees import flatten_tree
from tfgraphwidget.graph_editor.util import ControlOutputs

__all__ = [
    "Transformer",
    "TransformerInfo",
    "assign_renamed_collections_handler",
    "copy",
    "copy_op_handler",
    "copy_with_input_replacements",
    "graph_replace",
    "keep_t_if_possible_handler",
    "replace_t_with_placeholder_handler",
    "transform_op_if_inside_handler",
    "transform_op_in_place",
]


def copy(
    sgv: Any, dst_graph: Any = None, dst_scope: str = "", src_scope: str = "", reuse_dst_scope: bool = False
) -> tuple[SubGraphView, TransformerInfo]:
    """Copy a view; the copy's inputs are new placeholders, of the dtypes and shapes of the originals.

    A variable that is changed from within the view, and lies outside, is no placeholder but shared with the original.

    Args:
        sgv: What `make_view` takes.
        dst_graph: The graph of the copy; the view's own unless given.
        dst_scope: See `Transformer`.
        src_scope: See `Transformer`.
        reuse_dst_scope: See `Transformer`.

    Returns:
        The view of the copy, and what has become of what.

    Raises:
        TypeError: As `Transformer` does.
        ValueError: As `Transformer` does.
    """
    return _copied(Transformer(), sgv, dst_graph, dst_scope, src_scope, reuse_dst_scope)


def copy_with_input_replacements(
    sgv: Any,
    replacement_ts: Mapping[Any, Any],
    dst_graph: Any = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[SubGraphView, TransformerInfo]:
    """Copy a view; inputs of it that are keys of `replacement_ts` are replaced.

    `replacement_ts` maps a tensor, or its `.ref()`, to the tensor of `dst_graph` that the copies read in its place.
    Keys that are no inputs of the view mean nothing. Inputs that are not replaced are kept, or become placeholders in
    another graph. The other arguments, the result and the errors are those of `copy`.
    """
    replacements = _by_tensor(replacement_ts)

    def replaced(info: Transforming, t: Any) -> Any:
        return replacements[t] if t in replacements else keep_t_if_possible_handler(info, t)

    copier = Transformer()
    copier.transform_external_input_handler = replaced
    source = make_view(sgv)
    view, info = _copied(copier, source, dst_graph, dst_scope, src_scope, reuse_dst_scope)
    # As recorded of the original: within one graph there are no placeholders, and what was replaced or kept is listed
    # by `info.inputs` only.
    return view if dst_graph not in (None, source.graph) else view.remap_inputs([]), info


def _copied(
    copier: Transformer, sgv: Any, dst_graph: Any, dst_scope: str, src_scope: str, reuse_dst_scope: bool
) -> tuple[SubGraphView, TransformerInfo]:
    view = make_view(sgv)
    return copier(view, view.graph if dst_graph is None else dst_graph, dst_scope, src_scope, reuse_dst_scope)


def graph_replace(
    target_ts: Any,
    replacement_ts: Mapping[Any, Any],
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> Any:
    """The targets, computed anew from other tensors.

    What lies between the replaced tensors and the targets is copied, control edges followed, and all of each while loop
    that this takes a part of; it reads the variables of the original. Ops with side effects between them are copied
    too: replacing what a training step reads gives a second step on the same variables.

    Args:
        target_ts: Tensors, in any nesting.
        replacement_ts: Tensor, or its `.ref()` -> the tensor to read in its place.
        dst_scope: See `Transformer`.
        src_scope: See `Transformer`.
        reuse_dst_scope: See `Transformer`.

    Returns:
        The new targets, nested as `target_ts`; those that do not depend on what is replaced come as they are.

    Raises:
        TypeError: A target is no tensor, or see `Transformer`.
        ValueError: No target depends on what is replaced, or see `Transformer`.
    """
    targets = flatten_tree(target_ts)
    controls = ControlOutputs(get_unique_graph(targets, check_types=(tf.Tensor,)))
    replacements = _by_tensor(replacement_ts)
    replaced = list(replacements)
    needed = set(get_backward_walk_ops(targets, stop_at_ts=replaced, control_inputs=True))
    ops = [op for op in get_forward_walk_ops(replaced, control_outputs=controls) if op in needed]
    if not ops:
        raise ValueError("Targets and replacements are not connected! Replace tensors that the targets are made of.")
    copier = InformedTransformer(Known(instead=replacements))
    copier.transform_external_input_handler = keep_t_if_possible_handler
    _, info = _copied(copier, with_whole_loops(ops, replaced), None, dst_scope, src_scope, reuse_dst_scope)
    return info.transformed(target_ts, lambda t: t)


def _by_tensor(replacement_ts: Mapping[Any, Any]) -> TensorMap:
    """With the tensors themselves for keys, where these are their `.ref()`."""
    return TensorMap((t.deref() if hasattr(t, "deref") else t, t_) for t, t_ in replacement_ts.items())

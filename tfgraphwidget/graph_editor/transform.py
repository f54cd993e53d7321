"""`ge.transform`: copies of a view, in its graph or in another; and targets computed again from
other tensors.

Where the original left copies that were silently wrong, these are right: variables, tables and
queues have state of their own and copied `tf.Variable`s are in the collections, loops have frames
and contexts of their own, colocation and control inputs follow the copies, library functions go
along into another graph, static shapes are kept, each tensor from outside has one placeholder, and
the view that comes back has inputs. When something fails, collections are as before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from tfgraphwidget.graph_editor.handlers import (
    assign_renamed_collections_handler,
    copy_op_handler,
    keep_t_if_possible_handler,
    replace_t_with_placeholder_handler,
    transform_op_if_inside_handler,
    transform_op_in_place,
)
from tfgraphwidget.graph_editor.lists import (
    as_tensor,
    check_alike,
    check_reads,
    check_type,
    get_unique_graph,
    parts_of,
    reads_of,
    value_of,
)
from tfgraphwidget.graph_editor.live_ops import with_whole_loops
from tfgraphwidget.graph_editor.select import get_backward_walk_ops, get_forward_walk_ops
from tfgraphwidget.graph_editor.subgraph import SubGraphView, make_view
from tfgraphwidget.graph_editor.transformer import InformedTransformer, Transformer
from tfgraphwidget.graph_editor.transforming import CopySettings, TensorMap, TransformerInfo
from tfgraphwidget.graph_editor.trees import flatten_tree, transform_tree
from tfgraphwidget.graph_editor.util import ControlOutputs
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_types import Graph, Tensor, TensorKey

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
    sgv: object,
    dst_graph: Graph | None = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[SubGraphView, TransformerInfo]:
    """Copy a view; the copy's inputs are new placeholders, of the dtypes and shapes of the
    originals.

    A variable that is changed from within the view, and lies outside, is not a placeholder but
    shared with the original.

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
    return _copy_view(Transformer(), sgv, dst_graph, dst_scope, src_scope, reuse_dst_scope)


def copy_with_input_replacements(
    sgv: object,
    replacement_ts: Mapping[TensorKey, object],
    dst_graph: Graph | None = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[SubGraphView, TransformerInfo]:
    """Copy a view; inputs of it that are keys of `replacement_ts` are replaced.

    `replacement_ts` maps tensors and variables, or their `.ref()`, to the tensors and variables of
    `dst_graph` that the copies read in their place; what a variable means is said in
    `graph_replace`. Keys that are not inputs of the view mean nothing. Inputs that are not replaced
    are kept, or become placeholders in another graph. The other arguments, the result and the
    errors are those of `copy`.

    Args:
        sgv: What `make_view` takes.
        replacement_ts: {input of the view: what the copy reads instead}.
        dst_graph: The graph of the copy; None for that of the view.
        dst_scope: The name scope of the copy.
        src_scope: The scope that is removed from the names of the originals.
        reuse_dst_scope: Whether `dst_scope` is used though it exists.
    """
    source, replaced = make_view(sgv), _Replacements(replacement_ts)
    inputs, ops = TensorMap((t, t) for t in source.inputs), set(source.ops)
    whole = [variable for variable in replaced.whole if as_tensor(variable) in inputs]
    check_reads(whole, ops)
    read = [t for variable in whole for t in reads_of(variable) if t.op in ops]
    source = source.without(t.op for t in read)
    copier = InformedTransformer(CopySettings(instead=TensorMap((t, replaced.by[t]) for t in read)))
    copier.transform_external_input_handler = lambda info, t: (
        replaced.inputs[t] if t in replaced.inputs else keep_t_if_possible_handler(info, t)
    )
    view, info = _copy_view(copier, source, dst_graph, dst_scope, src_scope, reuse_dst_scope)
    # As recorded of the original: within one graph there are no placeholders, and what was replaced
    # or kept is listed by `info.inputs` only.
    return view if dst_graph not in (None, source.graph) else view.remap_inputs([]), info


def _copy_view(
    copier: Transformer,
    sgv: object,
    dst_graph: Graph | None,
    dst_scope: str,
    src_scope: str,
    reuse_dst_scope: bool,
) -> tuple[SubGraphView, TransformerInfo]:
    view = make_view(sgv)
    # The copier refuses an empty view.
    graph = cast("Graph", view.graph if dst_graph is None else dst_graph)
    return copier(view, graph, dst_scope, src_scope, reuse_dst_scope)


def graph_replace(
    target_ts: object,
    replacement_ts: Mapping[TensorKey, object],
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> Any:
    """The targets, computed again from other tensors.

    What lies between the replaced tensors and the targets is copied, control edges followed, and
    all of each while loop that this takes a part of; it reads the variables of the original. Ops
    with side effects between them are copied too: replacing what a training step reads gives a
    second step on the same variables.

    A variable as a key is replaced wherever it is read: by another variable, which the copies also
    change in its place, or by a tensor, as in `graph_replace(loss, {w: w - 0.1 * gradient})`. As a
    target, or in the place of a tensor, a variable is its value. One in parts is replaced by
    another, or by a list of as many.

    Args:
        target_ts: Tensors and variables, in any nesting.
        replacement_ts: Tensor or variable, or its `.ref()` -> the tensor or variable to read in its
            place.
        dst_scope: See `Transformer`.
        src_scope: See `Transformer`.
        reuse_dst_scope: See `Transformer`.

    Returns:
        The new targets, nested as `target_ts`; those that do not depend on what is replaced come as
        they are.

    Raises:
        TypeError: A target is not a tensor, or see `Transformer`.
        ValueError: No target depends on what is replaced, an op takes a variable itself where a
            tensor is to represent it, or see `Transformer`.
    """
    values = flatten_tree(transform_tree(target_ts, value_of))
    controls = ControlOutputs(get_unique_graph(values, check_types=(tf.Tensor,)))
    replaced = _Replacements(replacement_ts)
    stops = list(replaced.by)
    check_reads(
        replaced.whole,
        set(get_backward_walk_ops(values, stop_at_ts=stops)) if replaced.whole else set(),
    )
    backward_ops = set(get_backward_walk_ops(values, stop_at_ts=stops, control_inputs=True))
    ops = [op for op in get_forward_walk_ops(stops, control_outputs=controls) if op in backward_ops]
    if not ops and not any(
        isinstance(t, tf.Variable) and value_of(t) in replaced.by for t in flatten_tree(target_ts)
    ):
        raise ValueError(
            "Targets and replacements are not connected! Replace tensors that the targets are made "
            "of."
        )
    copier = InformedTransformer(CopySettings(instead=replaced.by))
    copier.transform_external_input_handler = keep_t_if_possible_handler
    info = None
    if ops:
        _, info = _copy_view(
            copier, with_whole_loops(ops, stops), None, dst_scope, src_scope, reuse_dst_scope
        )

    def copy_of(t: Tensor) -> object:
        value = value_of(t)
        copy = None if info is None else info.transformed(value)
        if copy is not None:
            return copy
        if isinstance(t, tf.Variable):
            return replaced.by.get(value, t)
        return t

    return transform_tree(target_ts, copy_of)


class _Replacements:
    """The replacements of tensors and variables that copies read.

    `by` maps the tensor that would be read to the one that is; `inputs` does so for views, which
    may end between a variable and what is read from it. `whole` are resource variables that tensors
    represent: of what is read from them `by` has each tensor.
    """

    def __init__(self, replacement_ts: Mapping[TensorKey, object]) -> None:
        self.by, self.inputs, self.whole = TensorMap(), TensorMap(), list[Any]()
        for key, value in replacement_ts.items():
            old, new = parts_of(_deref(key)), parts_of(_deref(value))
            if len(old) > 1 and isinstance(value, list | tuple):
                new = list(value)
            if len(old) != len(new):
                raise ValueError(
                    f"A variable in {len(old)} parts cannot be replaced by {len(new)}; give a list "
                    "of as many tensors."
                )
            for one, other in zip(old, new, strict=True):
                self._add(one, other)
        self.inputs.update(self.by)

    def _add(self, old: object, new: object) -> None:
        tensor, tensor_ = as_tensor(old), as_tensor(new)
        check_type(tensor, (tf.Tensor,))
        if not isinstance(old, tf.Variable):
            self.by[tensor] = value_of(new)
            return
        self.inputs.update((read, value_of(new)) for read in reads_of(old))
        if isinstance(new, tf.Variable) and tensor.dtype == tensor_.dtype:
            check_alike(old, new)
            self.by[tensor] = tensor_
        elif tensor.dtype == tf.resource:
            self.whole.append(old)
            self.by.update((read, value_of(new)) for read in reads_of(old))
        else:
            self.by[tensor] = value_of(new)


def _deref(reference: Any) -> Any:
    """The tensor of a `tensor.ref()`; anything else as it is."""
    return reference.deref() if hasattr(reference, "deref") else reference

"""The handlers that a Transformer has by default; scripts call them from handlers of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tfgraphwidget.graph_editor.rewiring import Rewiring
from tfgraphwidget.graph_editor.transforming import Transforming
from tfgraphwidget.graph_editor.util import get_predefined_collection_names
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_types import NodeDef, Operation, Tensor

_PREDEFINED = frozenset(get_predefined_collection_names())


def replace_t_with_placeholder_handler(info: Transforming, t: Tensor) -> Tensor:
    """A placeholder in place of a tensor: one for each tensor, in the destination scope.

    None can replace a variable that the copies change: within one graph they change the
    original's.

    Args:
        info: The transformation.
        t: The tensor.
    """
    if info.same_graph:
        inside = [op for op in t.consumers() if op in info.ops]
        if any(info.needs_reference(op, t) for op in inside):
            return t
    return info.placeholder(t)


def keep_t_if_possible_handler(info: Transforming, t: Tensor) -> Tensor:
    """The tensor itself within one graph; in another graph a placeholder.

    Args:
        info: The transformation.
        t: The tensor.
    """
    return t if info.same_graph else replace_t_with_placeholder_handler(info, t)


def assign_renamed_collections_handler(info: Transforming, elem: object, elem_: object) -> None:
    """Add a copy to the collections of its original.

    TensorFlow's own collections keep their names, others get the destination scope before it. A
    graph with a global step gets no second one.

    Args:
        info: The transformation.
        elem: The original op, tensor or `tf.Variable`.
        elem_: Its copy.
    """
    for key in info.keys_of(elem):
        if key == tf.compat.v1.GraphKeys.GLOBAL_STEP and info.graph_.get_collection(key):
            continue
        info.graph_.add_to_collection(key if key in _PREDEFINED else info.new_key(key), elem_)


def transform_op_if_inside_handler(
    info: Transforming, op: Operation, keep_if_possible: bool = True
) -> Operation | None:
    """The copy of an op that is in the view; of another the op itself within one graph, else None.

    Args:
        info: The transformation.
        op: The op.
        keep_if_possible: Keep an op outside the view within one graph.
    """
    if op in info.ops:
        return info.transformed_ops[op]
    return op if keep_if_possible and info.same_graph else None


def copy_op_handler(
    info: Transforming,
    op: Operation,
    new_inputs: Iterable[Tensor] | bool,
    copy_shape: bool = False,  # noqa: ARG001
    nodedef_fn: Callable[[NodeDef], NodeDef] | None = None,
) -> tuple[Operation, list[Tensor]]:
    """Copy one op, without its control inputs.

    Args:
        info: The transformation.
        op: The op.
        new_inputs: The tensors that the copy reads.
        copy_shape: For old scripts: static shapes are copied anyway, unless an input has another.
        nodedef_fn: Gets the NodeDef of the copy under its new name, and gives the one to use.

    Returns:
        The copy and its outputs.

    Raises:
        TypeError: `new_inputs` is a bool.
    """
    if isinstance(new_inputs, bool):
        raise TypeError(
            "the `new_inputs` argument must be an iterable; copy_shape is the fourth argument."
        )
    op_ = info.copier.alone(op, list(new_inputs), nodedef_fn)
    return op_, op_.outputs


def transform_op_in_place(
    info: Transforming, op: Operation, detach_outputs: bool = False
) -> Operation:
    """Let an op read what represents its inputs, instead of copying it.

    Args:
        info: The transformation.
        op: The op.
        detach_outputs: Let those that read the op read placeholders.

    Returns:
        The op.

    Raises:
        ValueError: It cannot read one of them, or a cycle would come about.
    """
    plan = Rewiring(op.graph)
    plan.read(op, [info.transformer._transformed_t(info, t, op) for t in op.inputs])
    for t in op.outputs if detach_outputs else ():
        consumers = plan.consumers(t)
        if consumers:
            plan.move(plan.hole(t), t, consumers)
    plan.carry_out()
    return op

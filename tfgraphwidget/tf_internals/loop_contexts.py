"""Control flow contexts of TensorFlow 1 loops and conditionals."""

from __future__ import annotations

from collections.abc import Callable
from operator import methodcaller
from typing import Any

from tfgraphwidget.tensorflow_modules import lazy_class, lazy_module, tf
from tfgraphwidget.tf_types import ControlFlowContext, Graph, Operation

context = lazy_module("tensorflow.python.eager.context")
control_flow_state = lazy_module("tensorflow.python.ops.control_flow_state")
CondContext = lazy_class("tensorflow.python.ops.control_flow_ops", "CondContext")
WhileContext = lazy_class("tensorflow.python.ops.control_flow_ops", "WhileContext")

control_flow_context: Callable[[Any], Any] = methodcaller("_get_control_flow_context")
"""The innermost context of an op, or the one that new ops of a graph get; None outside.

Private: `Operation._get_control_flow_context`, `Graph._get_control_flow_context`. There is no
public attribute.
"""


def set_control_flow_context(
    owner: Graph | Operation, innermost: ControlFlowContext | None
) -> None:
    """Set the context of an op, or the one that new ops of a graph get; None for outside.

    Private: `Operation._set_control_flow_context`, `Graph._set_control_flow_context`. There is no
    public method.
    """
    owner._set_control_flow_context(innermost)


def nested_contexts(outer: ControlFlowContext) -> list[ControlFlowContext]:
    """Return a context's own list of the contexts inside; changes to it take effect.

    Private: `ControlFlowContext._nested_contexts`. Public is only the proto, which leaves gradient
    loops out.
    """
    nested: list[ControlFlowContext] = outer._nested_contexts
    return nested


def context_values(inner: ControlFlowContext) -> set[str]:
    """Return a context's own set of the names of the tensors that it has seen; changes to it take
    effect.

    Private: `ControlFlowContext._values`. Public is only the proto.
    """
    values: set[str] = inner._values
    return values


def context_external_values(inner: ControlFlowContext) -> dict[str, tf.Tensor]:
    """Return a context's own dict of tensors from outside, by the name of the tensor inside that
    replaces it; changes take effect.

    Private: `ControlFlowContext._external_values`. Public is only the proto.
    """
    values: dict[str, tf.Tensor] = inner._external_values
    return values


def is_complete(context: ControlFlowContext) -> bool:
    """Whether TensorFlow has finished building a context, apart from those inside; an exception may
    have ended it.

    Private: `WhileContext._pivot_for_pred`, `WhileContext._pivot_for_body`. Public is `pivot` only.
    """
    if not isinstance(context, WhileContext):
        return context.pivot is not None
    pivots = (context.pivot, context._pivot_for_pred, context._pivot_for_body)
    return all(pivot is not None for pivot in pivots)


def gradient_loop_state(context: ControlFlowContext) -> object:
    """Return what a gradient's loop knows of its forward loop; None of another loop.

    Private: `WhileContext._grad_state`. `grad_state` can be read, and not set.
    """
    return context._grad_state


def set_gradient_loop_state(context: Any, state: object) -> None:
    """Set the state that connects the loop of a gradient to its forward loop.

    Private: `WhileContext._grad_state`. See `gradient_loop_state`.
    """
    context._grad_state = state


def is_gradient_loop_state(thing: object) -> bool:
    """Whether a thing is what `gradient_loop_state` returns.

    Private: `control_flow_state._GradLoopState`. The class is in no public module.
    """
    return isinstance(thing, control_flow_state._GradLoopState)

"""The v1 control flow contexts of a live graph, as protos.

TensorFlow's own protos leave things out: they list the ops of a context by the tensors it has seen,
so an op without outputs is in none, and a tensor that comes in from outside may seem to be one of
its own. And loops that compute gradients are in no collection. Here the ops themselves are asked,
and the protos have all of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tfgraphwidget.sources import tf_protos
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import (
    CondContext,
    WhileContext,
    control_flow_context,
    find_operation,
    is_complete,
    nested_contexts,
)
from tfgraphwidget.tf_types import ContextDef, ControlFlowContext, Message

_KINDS = (WhileContext, CondContext)


def control_flow_contexts(graph: tf.Graph) -> tuple[ContextDef, ...]:
    """The outermost while loops' and conditionals' contexts, with all that is nested, in the order
    of their first ops.

    What an exception left half built is left out.
    """
    own: defaultdict[ControlFlowContext, list[tf.Operation]] = defaultdict(list)
    for op in graph.get_operations():
        if (context := control_flow_context(op)) is not None:
            own[context].append(op)
    roots = dict.fromkeys(root for context in own if (root := _outermost(context)) is not None)
    return tuple(_proto(root, own) for root in roots if _is_built(root))


def _outermost(context: ControlFlowContext | None) -> ControlFlowContext | None:
    outermost = None
    while context is not None:
        outermost = context if isinstance(context, _KINDS) else outermost
        context = context.outer_context
    return outermost


def _nested_contexts(context: ControlFlowContext) -> Iterator[ControlFlowContext]:
    return (inner for inner in nested_contexts(context) if isinstance(inner, _KINDS))


def _is_built(context: ControlFlowContext) -> bool:
    return is_complete(context) and all(_is_built(inner) for inner in _nested_contexts(context))


def _proto(
    context: ControlFlowContext, own: dict[ControlFlowContext, list[tf.Operation]]
) -> ContextDef:
    """The proto of a context: TensorFlow's, but its values name exactly the ops in the context."""
    proto = context.to_proto()
    proto.ClearField("nested_contexts")
    values = proto.values_def
    for value in values.values:
        # TensorFlow takes a value for a tensor of the context's own unless it represents one
        # outside.
        if value not in values.external_values and not _within(
            context, _context_of(context, value)
        ):
            values.external_values[value] = value
    named_ops = {
        value.partition(":")[0] for value in values.values if value not in values.external_values
    }
    values.values.extend(op.name for op in own.get(context, ()) if op.name not in named_ops)
    for inner in _nested_contexts(context):
        nested = tf_protos.ControlFlowContextDef()
        part: Message = nested.while_ctxt if isinstance(inner, WhileContext) else nested.cond_ctxt
        part.CopyFrom(_proto(inner, own))
        proto.nested_contexts.append(nested)
    return proto


def _context_of(context: ControlFlowContext, value: str) -> ControlFlowContext | None:
    """The context of the op that a value of `context` names; None when the op was removed."""
    graph = context.pivot.graph
    try:
        result: ControlFlowContext | None = control_flow_context(
            find_operation(graph, value.partition(":")[0])
        )
        return result
    except KeyError:
        return None


def _within(context: ControlFlowContext | None, inner: ControlFlowContext | None) -> bool:
    while inner is not None and inner is not context:
        inner = inner.outer_context
    return inner is context

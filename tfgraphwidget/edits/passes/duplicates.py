"""MergeDuplicates: of ops that compute the same from the same, one stays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from tfgraphwidget.edits import operand_kinds as kinds
from tfgraphwidget.edits.context import PlanContext
from tfgraphwidget.edits.passes.execution_order import execution_order
from tfgraphwidget.edits.passes.whole_graph import GraphRewrite, Pass, add_control_inputs
from tfgraphwidget.edits.patch import Patch
from tfgraphwidget.edits.registry import register
from tfgraphwidget.edits.rewrite.consumers import resolve_ops
from tfgraphwidget.graph import (
    ARGUMENTS,
    CONSTANTS,
    PLACEHOLDERS,
    V1_CONTROL_FLOW,
    GraphIndex,
    called_functions,
    tensor_values,
)
from tfgraphwidget.naming import as_input, count_text, split_input
from tfgraphwidget.tf_types import NodeDef

# What does not change what an op computes.
_SILENT = frozenset({"_output_shapes", "_user_specified_name", "_input_shapes"})
# The gradient of an op: of its own if it has this. Each call of a function has one, which says no
# more than what the function computes.
_GRADIENT = "_gradient_op_type"


@register
@dataclass(frozen=True)
class MergeDuplicates(Pass):
    """Merge the ops that compute the same: of one type, with the same inputs, attributes and
    device.

    Constants are compared by content. Ops with state or random numbers are never merged.

    Args:
        keep: Ops that stay; None for those of the marked boundary.
        functions: Whether the functions that the graph calls are changed too.

    Returns:
        What was removed.

    Raises:
        UnknownName: An op to keep is not in the graph.

    Example:
        >>> import tfgraphwidget as tgw
        >>> import tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
        ...     y = tf.add(tf.nn.relu(x, name="a"), tf.nn.relu(x, name="b"), name="y")
        >>> editor = tgw.edit(graph)
        >>> editor.passes.merge_duplicates().removed
        ('b',)
    """

    method: ClassVar[str] = "passes.merge_duplicates"

    keeps_values: ClassVar[bool] = True

    _: KW_ONLY
    keep: kinds.Kept = ()
    functions: bool = True

    def sentence(self) -> str:
        """What the edit has done, in words."""
        return "Merged duplicate ops"

    def nothing(self, context: PlanContext) -> str:  # noqa: ARG002
        """Why there is nothing to do in the graph of `context`."""
        return "No two ops of the graph compute the same from the same inputs."

    def rewrite(self, context: PlanContext) -> Patch | None:
        """The patch of `context`, one graph or body."""
        index = context.index
        keep = resolve_ops(index, self.keep) if self.keep and not context.function else ()
        rewrite, first = GraphRewrite(context, keep), dict[Hashable, int]()
        merged: dict[int, int] = {}
        may_merge = {kind: _may_merge(index, kind) for kind in index.kinds[0]}
        for op in execution_order(index):
            if may_merge[index.types[op]] and _is_pure(index, op):
                same = first.setdefault(_key(index, op, merged), op)
                if same != op:
                    merged[op] = same
        consumers = {
            r
            for at in merged
            for r in (*index.consumer_lists[at], *index.control_consumer_lists[at])
        }
        for op in sorted(consumers):
            if op not in merged or rewrite.named[op]:
                _read(rewrite, op, merged)
        rewrite.removed |= {op for op in merged if not rewrite.named[op]}
        counts = Counter(index.types[op] for op in rewrite.removed)
        most = ", ".join(f"{count:,} {kind}" for kind, count in counts.most_common(5))
        rewrite.notes += (
            [f"Merged {count_text(len(rewrite.removed), 'op')} into others: {most}."]
            if counts
            else []
        )
        return rewrite.patch(prune=False)


def _may_merge(index: GraphIndex, kind: str) -> bool:
    """Whether ops of a type may be merged."""
    definition = index.typing.definition(kind)
    if (
        definition is None
        or definition.is_stateful
        or kind in PLACEHOLDERS | ARGUMENTS | V1_CONTROL_FLOW
    ):
        return False
    return not any(arg.is_ref for arg in (*definition.input_arg, *definition.output_arg))


def _is_pure(index: GraphIndex, op: int) -> bool:
    """Whether what an op computes depends on the values of its inputs alone."""
    for source, port in index.input_tensors(op):
        dtypes = index.dtypes(source)
        if port >= len(dtypes) or dtypes[port].endswith("_ref") or dtypes[port] in ("", "resource"):
            return False
    # TensorFlow cannot let a loop read another list where it was given more inputs for its
    # gradient.
    if "variant" in index.dtypes(op):
        return False
    node = index.nodes[op]
    if not called_functions(node, index.functions):
        return True
    names = index.reachable_functions([node])
    bodies = (inner for name in names for inner in index.extras.function(name).node_def)
    definitions = (index.typing.definition(inner.op) for inner in bodies)
    return all(definition is not None and not definition.is_stateful for definition in definitions)


def _key(index: GraphIndex, op: int, merged: dict[int, int]) -> Hashable:
    """What two ops have in common that compute the same."""
    node = index.nodes[op]
    inputs = tuple((merged.get(source, source), port) for source, port in index.input_tensors(op))
    controls = frozenset(merged.get(source, source) for source in index.control_lists[op])
    return node.op, inputs, controls, node.device, _attributes(index, op, node)


def _attributes(index: GraphIndex, op: int, node: NodeDef) -> Hashable:
    definition = index.typing.definition(node.op)
    if definition:
        defaults = {a.name: a.default_value for a in definition.attr if a.HasField("default_value")}
    else:
        defaults = {}
    silent = _SILENT | ({_GRADIENT} if called_functions(node, index.functions) else set())
    values: dict[str, Hashable] = {}
    for key, value in node.attr.items():
        if key in silent or (key in defaults and defaults[key] == value):
            continue
        if key == "value" and node.op in CONSTANTS:
            values[key] = _content(index, op, node)
        else:
            values[key] = value.SerializeToString(deterministic=True)
    return frozenset(values.items())


def _content(index: GraphIndex, op: int, node: NodeDef) -> Hashable:
    """The values of a constant, whichever way they are stored."""
    proto = node.attr["value"].tensor
    try:
        array = tensor_values.tensor_array(proto, index.dtypes(op)[0])
    except (TypeError, ValueError, KeyError):  # of a dtype without values, or damaged
        return proto.SerializeToString(deterministic=True)
    values = tuple(array.reshape(-1).tolist()) if array.dtype.hasobject else array.tobytes()
    return array.dtype.str, array.shape, values


def _read(rewrite: GraphRewrite, op: int, merged: dict[int, int]) -> None:
    """Let an op read and wait for the ops that stay."""
    index, node = rewrite.index, rewrite.node(op)
    data: list[str] = []
    wait: list[str] = []
    for text in node.input:
        name, port = split_input(text)
        source = index.names[merged.get(index.ids[name], index.ids[name])]
        if port < 0:
            wait.append(source)
        else:
            data.append(as_input(source, port))
    node.input[:] = data
    add_control_inputs(node, dict.fromkeys(wait))

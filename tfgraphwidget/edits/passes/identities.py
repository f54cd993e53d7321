"""RemoveIdentities: the consumers of ops that only hand a tensor on read that tensor."""

from __future__ import annotations

from collections import Counter
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.edits import operand_kinds as kinds
from tfgraphwidget.edits.context import PlanContext
from tfgraphwidget.edits.passes.execution_order import execution_order
from tfgraphwidget.edits.passes.whole_graph import GraphRewrite, Pass, add_control_inputs
from tfgraphwidget.edits.patch import Patch
from tfgraphwidget.edits.registry import register
from tfgraphwidget.edits.rewrite.consumers import resolve_ops
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    HANDLE_DTYPES,
    HANDS_ON,
    LOOP_CONDITION,
    SWITCH,
    V1_CONTROL_FLOW,
    WITHOUT_OUTPUTS,
    control_flow,
)
from tfgraphwidget.naming import as_input, count_text, did_you_mean, split_input
from tfgraphwidget.sentences import either

_HANDS_ON = HANDS_ON | {"CheckNumerics"}
_CHOICE = tuple(sorted((_HANDS_ON | WITHOUT_OUTPUTS) - {"Identity"}))
_CUSTOM_GRADIENT = "_gradient_op_type"


@register
@dataclass(frozen=True)
class RemoveIdentities(Pass):
    """Remove the Identity ops: their consumers read what they read.

    Control inputs of a removed op become those of its consumers, and ops that waited for it wait
    for its input. Identity ops that hold together the control flow of TensorFlow 1, and reads of
    its variables, stay.

    Args:
        also: Further op types: "CheckNumerics", "StopGradient", "PreventGradient", "Snapshot",
            "NoOp", "Assert".
        keep: Ops that stay; None for those of the marked boundary.
        functions: Whether the functions that the graph calls are changed too.

    Returns:
        What was removed.

    Raises:
        GraphEditError: `also` has another op type.

    Example:
        >>> import tfgraphwidget as tgw
        >>> import tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
        ...     y = tf.add(tf.identity(x, name="same"), 1.0, name="y")
        >>> editor = tgw.edit(graph)
        >>> editor.passes.remove_identities().removed
        ('same',)
    """

    method: ClassVar[str] = "passes.remove_identities"

    also: kinds.Texts = ()
    _: KW_ONLY
    keep: kinds.Kept = ()
    functions: bool = True

    def sentence(self) -> str:
        """What the edit has done, in words."""
        return f"Removed {', '.join(('Identity', *self.also))} ops"

    def nothing(self, context: PlanContext) -> str:  # noqa: ARG002
        """Why there is nothing to do in the graph of `context`."""
        types = " or ".join(("Identity", *self.also))
        return f"The graph has no {types} that can be removed."

    def rewrite(self, context: PlanContext) -> Patch | None:
        """The patch of `context`, a graph or body. Raises GraphEditError for other types."""
        unknown = next((name for name in self.also if name not in _CHOICE), None)
        if unknown is not None:
            raise GraphEditError(
                either(
                    f"remove_identities(also={value_text(unknown)}): choose",
                    f"{value_text(unknown)} is not known; choose",
                )
                + f" among {', '.join(_CHOICE)}{did_you_mean(str(unknown), _CHOICE)}"
            )
        keep = resolve_ops(context.index, self.keep) if self.keep and not context.function else ()
        return _Identities(GraphRewrite(context, keep), {"Identity", *self.also}).patch()


class _Identities:
    """Finds the ops that go, in execution order, and lets the others read past them."""

    def __init__(self, rewrite: GraphRewrite, types: set[str]) -> None:
        self.rewrite, self.index, self.types = rewrite, rewrite.index, types
        # What consumers read instead of an op that goes.
        self.sources: dict[int, tuple[int, int]] = {}
        self.controls: dict[int, tuple[int, ...]] = {}  # what they wait for besides

    def patch(self) -> Patch | None:
        index, counts = self.index, Counter[str]()
        blocks = (
            control_flow.control_flow_ops(index)
            if any(kind in V1_CONTROL_FLOW for kind in index.kinds[0])
            else ()
        )
        self.blocks = frozenset(blocks)
        for op in execution_order(index):
            if index.types[op] in self.types and not self.rewrite.named[op] and self._goes(op):
                self.rewrite.removed.add(op)
                counts[index.types[op]] += 1
        if not counts:
            return None
        consumers = (
            consumer
            for op in self.rewrite.removed
            for consumer in (*index.consumer_lists[op], *index.control_consumer_lists[op])
        )
        for consumer in sorted(set(consumers) - self.rewrite.removed):
            self._read_past(consumer)
        removed = [count_text(count, f"{kind} op") for kind, count in sorted(counts.items())]
        self.rewrite.notes.append(f"Removed {', '.join(removed)}.")
        return self.rewrite.patch(prune="Assert" in counts)

    def _goes(self, op: int) -> bool:
        """Whether an op can go; what represents it is stored then."""
        index, node = self.index, self.index.nodes[op]
        controls = self._before(index.control_lists[op])
        waiting = index.control_consumer_lists[op]
        if index.types[op] in WITHOUT_OUTPUTS:
            few = len(controls) * len(waiting) <= len(controls) + len(waiting)
            if not few or self._lose_their_block(op, waiting, controls):
                return False
            self.controls[op] = controls
            return True
        if len(index.input_lists[op]) != 1 or _CUSTOM_GRADIENT in node.attr:
            return False
        source = index.input_lists[op][0], int(index.ports[index.inputs.start[op]])
        dtypes = index.dtypes(source[0])
        dtype = dtypes[source[1]] if source[1] < len(dtypes) else ""
        if dtype.endswith("_ref") or dtype in HANDLE_DTYPES:
            return False
        more = self.controls.get(source[0], ()) if source[0] in self.sources else ()
        source = self.sources.get(source[0], source)
        controls = tuple(dict.fromkeys((*controls, *more)))
        if waiting and (
            index.types[source[0]] in V1_CONTROL_FLOW or source[0] in self.rewrite.removed
        ):
            return False
        if (
            source[0] == op
            or index.types[source[0]] in SWITCH & {"_SwitchN"}
            or self._decides_loop(source[0])
        ):
            return False
        if controls and any(
            index.types[consumer] in V1_CONTROL_FLOW for consumer in index.consumer_lists[op]
        ):
            return False
        self.sources[op], self.controls[op] = source, controls
        return True

    def _decides_loop(self, op: int) -> bool:
        """Whether an op is the Switch of a loop: if two ops read its value, TensorFlow's gradient
        of the loop is wrong.

        See
        tests/test_tensorflow_facts.py::test_the_gradient_of_a_loop_misses_consumers_of_its_switch_but_one.
        """
        index = self.index
        inputs = index.input_lists[op] if index.types[op] in SWITCH else []
        return len(inputs) > 1 and index.types[inputs[1]] in LOOP_CONDITION

    def _before(self, ops: list[int]) -> tuple[int, ...]:
        """Ops to wait for, in place of those that go."""
        before: dict[int, None] = {}
        for op in ops:
            if op in self.rewrite.removed:
                before |= dict.fromkeys(self.controls[op])
                if op in self.sources:
                    before[self.sources[op][0]] = None
            else:
                before[op] = None
        return tuple(before)

    def _lose_their_block(self, op: int, waiting: list[int], controls: tuple[int, ...]) -> bool:
        """Whether an op runs in its block only because it waits for one that is to go."""
        index = self.index
        if op not in self.blocks:
            return False
        return not controls or any(index.types[consumer] in V1_CONTROL_FLOW for consumer in waiting)

    def _read_past(self, consumer: int) -> None:
        index, node = self.index, self.rewrite.node(consumer)
        inputs: list[str] = []
        wait: dict[int, None] = {}
        for text in node.input:
            name, port = split_input(text)
            op = index.ids[name]
            if op not in self.rewrite.removed:
                inputs.append(text)
                continue
            wait |= dict.fromkeys(self.controls[op])
            if port >= 0:
                source, output = self.sources[op]
                inputs.append(as_input(index.names[source], output))
            elif op in self.sources:
                wait[self.sources[op][0]] = None
        data = [text for text in inputs if text[:1] != "^"]
        node.input[:] = [*data, *(text for text in inputs if text[:1] == "^")]
        add_control_inputs(node, [index.names[op] for op in wait])

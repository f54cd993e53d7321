"""Inspector: what the panel shows of an op or a scope."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from tfgraphwidget.graph import FunctionRef, control_flow
from tfgraphwidget.runtime.measure import images as pixels
from tfgraphwidget.sources import TensorDescription
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.protocol.replies import describe_stats, image
from tfgraphwidget.widget.untrusted_ops import effect_sentences

if TYPE_CHECKING:
    from tfgraphwidget.editor import GraphEditor

_MOST_NAMES = 200  # of the ops at the other end of a tensor: what a panel can show
# of inputs, outputs and control inputs: what a panel can show when it is asked for all
_MOST_TENSORS = 1000
_MOST_LINES = 200  # of a signature: what a panel can show


class Inspector:
    """Answers to Inspect and Examine."""

    def __init__(self, editor: GraphEditor) -> None:
        self._editor = editor

    def inspect(self, name: str, value_of: Callable[[str], p.TensorValue | None]) -> p.InspectReply:
        """The wiring of an op or scope; `value_of` is what a probe found. Raises UnknownName."""
        description = self._editor.inspect(name)
        alike = self._editor._core.view.alike(description.name)
        first = description.outputs[0].shape if description.op_type and description.outputs else ""
        outputs = description.outputs[:_MOST_TENSORS]
        return p.InspectReply(
            name=description.name,
            op_type=description.op_type,
            device=description.device,
            ops=description.ops,
            variables=description.variables,
            trainable=description.trainable,
            input_count=len(description.inputs),
            output_count=len(description.outputs),
            control_input_count=len(description.control_inputs),
            inputs=tuple(map(_tensor, description.inputs[:_MOST_TENSORS])),
            outputs=tuple(_tensor(tensor, value_of(tensor.name)) for tensor in outputs),
            control_inputs=description.control_inputs[:_MOST_TENSORS],
            attributes=tuple(
                p.Attribute(each.name, each.text, each.settable) for each in description.attributes
            ),
            shape=first,
            value=description.constant,
            called_functions=tuple(map(self._function, description.functions)),
            contexts=tuple(map(_context, description.frames)),
            effects=effect_sentences(self._editor, description.name),
            alike=tuple(alike[:_MOST_TENSORS]),
            alike_count=len(alike),
        )

    def _function(self, reference: FunctionRef) -> p.CalledFunction:
        definition = self._editor._core.index.extras.function(reference.function)
        return p.CalledFunction(
            reference.label,
            reference.function,
            len(definition.signature.input_arg) + len(definition.node_def),
        )

    def examine(self, name: str) -> p.ExamineReply:
        """The value, documentation and origin of an op; of a scope the value of its variable, and
        little else.

        Raises UnknownName. Nothing in the graph or the session changes by it.
        """
        description = self._editor.inspect(name)
        stats, docs = description.value, description.documentation
        images = () if stats is None or stats.value is None else pixels.gray_images(stats.value)
        return p.ExamineReply(
            name=description.name,
            value=None if stats is None else describe_stats(stats),
            why=description.why_no_value,
            images=tuple(map(image, images)),
            summary=docs.summary,
            about=docs.about,
            arguments=docs.arguments,
            created=description.origin,
            signature=description.signature[:_MOST_LINES],
        )

    def legend(self) -> p.Legend | None:
        """The legend of the drawing."""
        legend = self._editor.view.legend
        if legend is None:
            return None
        entries = tuple(p.Entry(entry.label, entry.tint, entry.ops) for entry in legend.entries)
        return p.Legend(legend.by, entries, legend.low, legend.high, legend.notice)


def _tensor(facts: TensorDescription, value: p.TensorValue | None = None) -> p.Tensor:
    return p.Tensor(
        facts.name, facts.dtype, facts.shape, facts.peers[:_MOST_NAMES], len(facts.peers), value
    )


def _context(frame: control_flow.Loop | control_flow.Conditional) -> p.ControlFlowContext:
    kind: Literal["while loop", "conditional"] = (
        "while loop" if isinstance(frame, control_flow.Loop) else "conditional"
    )
    return p.ControlFlowContext(kind, frame.name, len(frame.ops))

"""Inspector: what the panel shows of an op or a scope."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tfgraphwidget.editor import original_name
from tfgraphwidget.edits import ends_now
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import CONSTANTS, HANDLES, Door, control_flow
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.runtime.measure import Stats
from tfgraphwidget.runtime.measure import images as pixels
from tfgraphwidget.runtime.session import current_values
from tfgraphwidget.sources import (
    Documentation,
    TensorDescription,
    body_signature,
    definition_signature,
    describe_op,
    documentation,
    live_origin,
)
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.protocol.replies import seen

if TYPE_CHECKING:
    from tfgraphwidget.editor import GraphEditor

_MOST_NAMES = 200  # of readers, control inputs: what a panel can show
_MOST_LINES = 200  # of a signature: what a panel can show


class Inspector:
    """Answers to Inspect and Examine."""

    def __init__(self, editor: GraphEditor) -> None:
        self._editor = editor

    def inspect(self, name: str, seen_of: Callable[[str], p.Seen | None]) -> p.Inspected:
        """The wiring of an op or a scope; `seen_of` is what the last probe found of a tensor. Raises UnknownName."""
        index = self._editor.index
        if split_tensor(name)[0] not in index.ids:
            part = self._editor.core.view.holding(name)
            details: dict[str, Any] = {
                "ops": len(part),
                "variables": len(part.variables),
                "inputs": _boundary(part.inputs),
                "outputs": _boundary(part.outputs),
            }
        else:
            op = index.op(name)
            name, facts = index.names[op], describe_op(index, op)
            details = {
                "op_type": index.types[op],
                "device": facts.device,
                "ops": 1,
                "variables": int(index.types[op] in HANDLES),
                "inputs": tuple(map(_tensor, facts.inputs)),
                "outputs": tuple(_tensor(tensor, seen_of(tensor.name)) for tensor in facts.outputs),
                "control_inputs": facts.control_inputs[:_MOST_NAMES],
                "attributes": facts.attributes,
                "doors": tuple(map(self._function, self._editor.called_functions(name))),
                "around": tuple(map(_around, control_flow.around(index, op))),
            }
        return p.Inspected(name=name, **details)

    def _function(self, called: Door) -> p.Door:
        definition = self._editor.core.view.body.function(called.function)
        return p.Door(called.label, called.function, len(definition.signature.input_arg) + len(definition.node_def))

    def examine(self, name: str) -> p.Examined:
        """The value, documentation and origin of an op; of a scope the value of its variable, and little else.

        Raises UnknownName. Nothing in the graph or the session changes by it.
        """
        index = self._editor.index
        stats, why = self._value(name)
        images = () if stats is None or stats.value is None else pixels.gray_images(stats.value)
        docs, created = Documentation(), tuple[str, ...]()
        if split_tensor(name)[0] in index.ids:
            op = index.op(name)
            name = index.names[op]
            docs = documentation(index.types[op], index.typing.definition(index.types[op]))
            created = self._created(name, index.types[op])
        elif name.strip("/") and not self._editor.core.view.is_container(name):
            index.op(name)  # says what is wrong with it
        return p.Examined(
            name=name,
            value=None if stats is None else seen(stats),
            why=why,
            images=tuple(_image(image) for image in images),
            summary=docs.summary,
            about=docs.about,
            arguments=docs.arguments,
            created=created,
            signature=tuple(self._signature(name))[:_MOST_LINES],
        )

    def legend(self) -> p.Legend | None:
        """What the colours of the drawing mean."""
        legend = self._editor.legend
        if legend is None:
            return None
        entries = tuple(p.Entry(entry.label, entry.tint, entry.ops) for entry in legend.entries)
        return p.Legend(legend.by, entries, legend.low, legend.high, legend.notice)

    def _value(self, name: str) -> tuple[Stats | None, str]:
        """The value of a variable or constant, or why it is unknown; neither for anything else."""
        editor, index = self._editor, self._editor.index
        body, source = editor.core.view.body, editor.core.source
        fixed = body.constants.get(self._original_name(name))
        op = current_values.find_state_op(index, name)
        place = current_values.ValueContext(source, editor.core.target.index, body)
        if op is None and fixed is None:
            return None, ""
        try:
            if op is None or index.types[op] in CONSTANTS:
                dtype, value = current_values.constant_value(fixed if op is None else index.nodes[op])
            else:
                dtype, value = current_values.variable_value(place, index, op, self._original_name(index.names[op]))
        except GraphEditError as error:
            return None, error.why
        return Stats(name, dtype, value), ""

    def _original_name(self, name: str) -> str:
        """The name of an op before edits."""
        return original_name(name, (patch.renamed for patch in self._editor.core.executor.patches()))

    def _created(self, name: str, op_type: str) -> tuple[str, ...]:
        """The lines of Python that made an op: those of its graph, or of the file that it came from."""
        source, body = self._editor.core.source, self._editor.core.view.body
        function, old = self._editor.core.navigator.function, self._original_name(name)
        if source.stored is not None and (found := source.stored.created(old, function)):
            return found
        return live_origin(source.body, body, (old, op_type), function)

    def _signature(self, name: str) -> Iterator[tuple[str, str, str]]:
        """Of the functions that an op calls; of the one that one stands in, for its own arguments and results."""
        editor, index, body = self._editor, self._editor.index, self._editor.core.view.body
        ways = editor.called_functions(name) if name in index.ids else ()
        for door in ways:
            op = index.ids[name]
            calls = [] if door.label == "cond" else [index.shape(op, k) for k in range(len(index.dtypes(op)))]
            for sort, shown, text in definition_signature(body.function(door.function), calls):
                yield f"{door.label} {sort}" if len(ways) > 1 else sort, shown, text
        arguments, returns = ends_now(body.arguments, body.returns, editor.core.executor.patches())
        ends = {split_tensor(tensor)[0] for tensor in (*arguments, *returns.values())}
        if name in ends or (name.strip("/") == "" and ends):
            yield from body_signature(index, arguments, returns)


def _image(picture: pixels.GrayImage) -> p.Image:
    height, width = picture.pixels.shape
    return p.Image(picture.title, width, height, base64.b64encode(picture.pixels.tobytes()).decode())


def _boundary(tensors: Iterable[str]) -> tuple[p.Tensor, ...]:
    """The tensors at the boundary of a scope: name and op; the rest is one click away."""
    return tuple(p.Tensor(name, "", "", (split_tensor(name)[0],)) for name in list(tensors)[:_MOST_NAMES])


def _tensor(facts: TensorDescription, seen: p.Seen | None = None) -> p.Tensor:
    return p.Tensor(facts.name, facts.dtype, facts.shape, facts.peers[:_MOST_NAMES], seen)


def _around(frame: control_flow.Loop | control_flow.Conditional) -> p.Around:
    kind: Any = "while loop" if isinstance(frame, control_flow.Loop) else "conditional"
    return p.Around(kind, frame.name, len(frame.ops))

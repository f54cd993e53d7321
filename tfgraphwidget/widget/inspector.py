"""Inspector: what the panel tells of an op beyond its wiring."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tfgraphwidget.editor.evaluation import original_name
from tfgraphwidget.edits.signature_tracking import ends_now
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.runtime.measure import images as pixels
from tfgraphwidget.runtime.measure.probe import Stats
from tfgraphwidget.runtime.session import current_values
from tfgraphwidget.sources import Documentation, body_signature, definition_signature, documentation, live_origin
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.protocol.replies import seen

if TYPE_CHECKING:
    from tfgraphwidget.editor import GraphEditor

_MOST_LINES = 200  # of a signature: what a panel can show


class Inspector:
    """RequestHandler to Examine."""

    def __init__(self, editor: GraphEditor) -> None:
        self._editor = editor

    def answer(self, name: str) -> p.Examined:
        """What can be said of an op beyond its wiring; of a scope its variable's value, and little else.

        Raises UnknownName. Nothing in the graph or the session changes by it.
        """
        index = self._editor.index
        held, why = self._value(name)
        images = () if held is None or held.value is None else pixels.pictures(held.value)
        told, created = Documentation(), tuple[str, ...]()
        if split_tensor(name)[0] in index.ids:
            op = index.op(name)
            name = index.names[op]
            told = documentation(index.types[op], index.typing.definition(index.types[op]))
            created = self._created(name, index.types[op])
        elif name.strip("/") and not self._editor.core.view.is_container(name):
            index.op(name)  # says what is wrong with it
        return p.Examined(
            name=name,
            value=None if held is None else seen(held),
            why=why,
            images=tuple(_image(image) for image in images),
            summary=told.summary,
            about=told.about,
            arguments=told.arguments,
            created=created,
            signature=tuple(self._signature(name))[:_MOST_LINES],
        )

    def legend(self) -> p.Legend | None:
        """What the colours of the drawing mean."""
        told = self._editor.legend
        if told is None:
            return None
        entries = tuple(p.Entry(entry.label, entry.tint, entry.ops) for entry in told.entries)
        return p.Legend(told.by, entries, told.low, told.high, told.notice)

    def _value(self, name: str) -> tuple[Stats | None, str]:
        """What a variable or constant holds, or why that cannot be told; neither for anything else."""
        editor, index = self._editor, self._editor.index
        body, source = editor.core.view.body, editor.core.source
        fixed = body.constants.get(self._was(name))
        op = current_values.holder(index, name)
        place = current_values.Place(source, editor.core.target.index, body)
        if op is None and fixed is None:
            return None, ""
        try:
            if op is None or index.types[op] in current_values.CONSTANTS:
                dtype, value = current_values.constant(fixed if op is None else index.nodes[op])
            else:
                dtype, value = current_values.variable(place, index, op, self._was(index.names[op]))
        except GraphEditError as error:
            return None, error.why
        return Stats(name, dtype, value), ""

    def _was(self, name: str) -> str:
        """What an op was called before edits."""
        return original_name(name, (patch.renamed for patch in self._editor.core.executor.patches()))

    def _created(self, name: str, op_type: str) -> tuple[str, ...]:
        """Where in Python an op was made: as its graph says, or the file that it came from."""
        source, body = self._editor.core.source, self._editor.core.view.body
        function, old = self._editor.core.navigator.function, self._was(name)
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


def _image(picture: pixels.Grey) -> p.Image:
    height, width = picture.pixels.shape
    return p.Image(picture.title, width, height, base64.b64encode(picture.pixels.tobytes()).decode())

"""What the editor answers to each request of the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from tfgraphwidget import protocol as p
from tfgraphwidget.edits import code
from tfgraphwidget.edits.clone import Clone, copied_ops
from tfgraphwidget.graph import select
from tfgraphwidget.graph.variables import HANDLES
from tfgraphwidget.names import split_tensor
from tfgraphwidget.sources import TensorFacts, describe
from tfgraphwidget.view import scene as scenes

if TYPE_CHECKING:
    from tfgraphwidget.editor import GraphEditor
    from tfgraphwidget.graph.index import GraphIndex
    from tfgraphwidget.graph.select import Selection

_MOST_NAMES = 200  # of readers, control inputs, outside tensors: what a panel can show

Answer = tuple[p.Reply, list[bytes]]


class Answers:
    """One view's worth of memory: the scene drawn last, so that a change of selection repaints it only."""

    def __init__(self, editor: GraphEditor) -> None:
        self._editor = editor
        self._scene: scenes.Scene | None = None
        self._drawn_index: GraphIndex | None = None
        self._counted: tuple[Selection | None, int] = (None, 0)
        self.revision = 0

    def to(self, request: p.Request) -> Answer:
        """The reply and its buffers; raises GraphEditError for a refusal."""
        match request:
            case p.Open():
                return self._drawn()
            case p.Toggle(scope):
                editor = self._editor
                (editor.close if scope in editor.opened else editor.open)(scope)
                return self._drawn()
            case p.Reveal(name):
                return self._drawn(focus=self._editor.reveal(name))
            case p.Boundary(inputs, outputs):
                self._editor.mark(inputs, outputs)
                return self._painted()
            case p.Inspect(name):
                return self._inspected(name), []
            case p.Search(text, limit):
                return self._found(text, limit), []
            case Clone():
                return self._cloned(request)
            case p.Undo():
                return self._drawn(notice=f"Undone: {self._editor.undo()}")
            case p.Redo():
                return self._drawn(notice=f"Done again: {self._editor.redo()}")

    def _cloned(self, command: Clone) -> Answer:
        copy = self._editor.do(command)
        values = {"current": "with the present values", "initial": "initialised anew", "none": "not initialised"}
        notice = f"Cloned {len(copy.ops):,} ops into {copy.scope!r}"
        if copy.variables:
            notice += (
                f", among them {len(copy.variables):,} variables of its own, whole with assign and initial value, "
                f"{values[command.init]}"
            )
        notice += "."
        if copy.shared:
            names = ", ".join(copy.shared[:3]) + (" …" if len(copy.shared) > 3 else "")
            notice += f" Still shared with the original, by way of tensors from outside: {names}."
        return self._drawn(focus=self._editor.reveal(copy.scope), notice=notice)

    def _drawn(self, focus: str = "", notice: str = "") -> Answer:
        editor = self._editor
        self._scene = scene = editor.scene()
        self._drawn_index = editor.index
        fields, data = scenes.to_bytes({**scene.arrays(), **editor.paint(scene).arrays()})
        return p.Drawn(self._state(notice), _fields(fields), focus), [data]

    def _painted(self) -> Answer:
        if self._scene is None or self._drawn_index is not self._editor.index:
            return self._drawn()  # other cells have added ops since
        fields, data = scenes.to_bytes(self._editor.paint(self._scene).arrays())
        return p.Painted(self._state(""), _fields(fields)), [data]

    def _state(self, notice: str) -> p.State:
        editor, index = self._editor, self._editor.index
        selection, history = editor.selection, editor.history
        return p.State(
            revision=self.revision,
            ops=len(index),
            variables=sum(kind in HANDLES for kind in index.types),
            inputs=editor.inputs,
            outputs=editor.outputs,
            selected_ops=len(selection) if selection else 0,
            selected_variables=len(selection.variables) if selection else 0,
            copied_ops=self._copied_ops(selection),
            outside=(selection.inputs + selection.control_inputs)[:_MOST_NAMES] if selection else (),
            shared=selection.shared(editor.inputs)[:_MOST_NAMES] if selection else (),
            proposal=editor.free_scope(),
            undo=code.line(history.done[-1].command) if history.done else "",
            redo=code.line(history.undone[-1].command) if history.undone else "",
            code=code.lines(step.command for step in history.done),
            notice=notice,
        )

    def _copied_ops(self, selection: Selection | None) -> int:
        """How many ops a clone of the selection copies; counted once for each selection."""
        if selection is not self._counted[0]:
            self._counted = (
                selection,
                len(copied_ops(selection.index, selection.ids, self._editor.inputs)) if selection else 0,
            )
        return self._counted[1]

    def _inspected(self, name: str) -> p.Inspected:
        index = self._editor.index
        if split_tensor(name)[0] not in index.ids:
            inside = select.scope(index, name)
            counts = (len(inside), len(inside.variables))
            inputs, outputs = (tuple(_named(t) for t in side[:_MOST_NAMES]) for side in (inside.inputs, inside.outputs))
            return p.Inspected(name, "", "", *counts, inputs, outputs, (), ())
        op = index.op(name)
        facts = describe(self._editor.graph.get_operation_by_name(index.names[op]))
        return p.Inspected(
            name=index.names[op],
            op_type=index.types[op],
            device=facts.device,
            ops=1,
            variables=int(index.types[op] in HANDLES),
            inputs=tuple(self._tensor(t) for t in facts.inputs),
            outputs=tuple(self._tensor(t) for t in facts.outputs),
            control_inputs=tuple(n for n in facts.control_inputs if n in index.ids)[:_MOST_NAMES],
            attributes=facts.attributes,
        )

    def _tensor(self, facts: TensorFacts) -> p.Tensor:
        known = self._editor.index.ids
        peers = tuple(name for name in facts.peers if name in known)[:_MOST_NAMES]
        return p.Tensor(facts.name, facts.dtype, facts.shape, peers)

    def _found(self, text: str, limit: int) -> p.Found:
        index = self._editor.index
        hits = select.found(index, text)
        some = hits[: max(0, min(limit, _MOST_NAMES))]
        return p.Found(tuple(p.Hit(index.names[i], index.types[i]) for i in some), len(hits))


def _fields(layouts: scenes.Layouts) -> tuple[p.Field, ...]:
    return tuple(p.Field(name, cast("Any", dtype), shape, offset) for name, dtype, shape, offset in layouts)


def _named(tensor: str) -> Any:
    """A tensor at a scope's border: its name and its op; the rest is one click away."""
    return p.Tensor(tensor, "", "", (split_tensor(tensor)[0],))

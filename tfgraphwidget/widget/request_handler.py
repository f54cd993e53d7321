"""Request handler: the reply of the editor to each request of the browser."""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Callable
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from tfgraphwidget.editor import EditorSnapshot
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import count_trainable, count_variables
from tfgraphwidget.runtime.live import Copy
from tfgraphwidget.scene import scene as scenes
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.clone_requests import CloneRequests, summary
from tfgraphwidget.widget.cost_requests import CostRequests
from tfgraphwidget.widget.edit_requests import (
    EditRequests,
    by_new_name,
    renamed_prefixes,
    selection_of,
)
from tfgraphwidget.widget.edited_names import edited_names
from tfgraphwidget.widget.exporter import Exporter, FileExists
from tfgraphwidget.widget.inspector import Inspector
from tfgraphwidget.widget.kernel_namespace import KernelNamespace, code_for_cell
from tfgraphwidget.widget.model_facts import ModelFacts
from tfgraphwidget.widget.op_requests import OpRequests
from tfgraphwidget.widget.other_graphs import OtherGraphs
from tfgraphwidget.widget.page_text import on_page, reply_on_page
from tfgraphwidget.widget.pictures import picture_reply
from tfgraphwidget.widget.selection_requests import (
    SelectionRequests,
    count_hits,
    search,
    select_matching,
)
from tfgraphwidget.widget.untrusted_ops import TRUSTED, untrusted_sentences
from tfgraphwidget.widget.value_forms import ValueForms

if TYPE_CHECKING:
    from tfgraphwidget.editor import GraphEditor
    from tfgraphwidget.graph import Selection
    from tfgraphwidget.visible import ViewSpec


_LONGEST = 20_000  # characters of an expression
_MOST_NAMES = 200  # of consumers, control inputs: what a panel can show

Answer = tuple[p.Reply, list[bytes]]


class _Drawing(NamedTuple):
    """A scene as it was sent: `view_spec` is what was to be drawn, `stamp` names it in replies."""

    scene: scenes.Scene
    view_spec: ViewSpec
    stamp: str


class RequestHandler:
    """Answers the requests of a widget; keeps the scene that was drawn last, which a new selection
    only repaints.

    Views in panes of another shape have a scene of their own.
    """

    def __init__(
        self,
        editor: GraphEditor,
        exporter: Exporter | None = None,
        namespace: KernelNamespace | None = None,
        show_beside: Callable[[object], None] | None = None,
        pair: Callable[[str, str], None] | None = None,
    ) -> None:
        self._editor, self._core = editor, editor._core
        self._show_beside, self._pair = show_beside, pair
        self._exporter = exporter or Exporter(editor)
        namespace = namespace or KernelNamespace()
        self._drawings: dict[float, _Drawing] = {}  # by the shape of the pane
        self._likely: tuple[str, ...] = ()
        # the width and height that the drawing of the view wraps to
        self._pane: tuple[float, float] | None = None
        self._clones = CloneRequests(editor)
        self._edits = EditRequests(editor, namespace)
        self._ops = OpRequests(editor, namespace)
        self._values = ValueForms(editor, namespace, self._exporter)
        self._costs = CostRequests(editor)
        self._selections = SelectionRequests(editor)
        self._others = OtherGraphs(editor, self._exporter)
        self._inspector = Inspector(editor)
        self._model = ModelFacts(editor, self._edits)
        self.refusal_reply = self._edits.refusal_reply
        self.revision = 0

    def snapshot(self) -> EditorSnapshot:
        """The present view and selection, to be restored when a request is canceled."""
        return EditorSnapshot(self._core, self._edits, self._selections)

    def handle(self, request: p.Request, pane: tuple[float, float] | None = None) -> Answer:
        """The reply, in the words of the page, and its buffers; raises GraphEditError for a
        refusal.

        Args:
            pane: The width and height that the drawing of the view wraps to; None for a view
                without a size.
        """
        self._pane = pane
        self._shape()
        try:
            reply, buffers = self._answer(request)
        finally:
            for view in self._core.navigator.views:  # what a cell draws next is not that of a pane
                view.unshape()
        return reply_on_page(reply), buffers

    def _shape(self) -> None:
        if self._pane is not None:
            self._core.view.shape(*self._pane)

    @property
    def _current_drawing(self) -> _Drawing | None:
        """What was drawn last for panes of this shape; None if graph or view have changed."""
        view = self._core.view
        drawing = self._drawings.get(view.aspect)
        # Other cells have added ops since, or another view has opened a scope, hidden or moved
        # something.
        if drawing is None or drawing.scene.index is not self._core.index:
            return None
        return drawing if drawing.view_spec == view.view_spec else None

    def _answer(self, request: p.Request) -> Answer:
        if isinstance(request, p.Question):
            answer = self._answer_question(request)
            return answer if isinstance(answer, tuple) else (answer, [])
        if isinstance(request, p.Choose):
            return self._painting(self._choose(request))
        if isinstance(request, p.Edit):
            return self._apply_edit(request)
        return self._change_view(request)

    def _answer_question(self, request: p.Question) -> p.Reply | Answer:  # noqa: C901, PLR0912  a line for each
        """The reply to what changes nothing; with buffers where it has some."""
        match request:
            case p.Ping():
                return p.Pong(self.revision)
            case p.Inspect(name):
                return self._inspector.inspect(name, self._edits.probe_text)
            case p.Examine(name):
                return self._inspector.examine(name)
            case p.Search():
                return search(self._editor, request)
            case p.CountHits(text):
                return count_hits(self._editor, text)
            case p.Like(names):
                return self._selections.like(names)
            case p.Crossings(side, name):
                return self._selections.crossings(side, name)
            case p.Targets():
                drawing = self._current_drawing
                scene = drawing.scene if drawing else self._core.view.scene()
                return self._edits.targets(request, scene)
            case p.Preview():
                return self._clones.preview(request)
            case p.PreviewEdit():
                return self._edits.preview(request)
            case p.Lint() | p.ListSignatures():
                return self._edits.check(request)
            case p.DescribeModel():
                return self._model.describe(request)
            case p.FindEditOps(step):
                names = edited_names(self._core.index, self._core.executor.history, step)
                return p.EditOps(self._core.view.with_closed_groups(names))
            case p.Palette():
                return self._ops.palette(request)
            case p.Describe():
                return self._ops.describe(request)
            case p.Feedable():
                return self._values.form(request)
            case p.Assign():
                return self._values.assign(request)
            case p.Costs():
                return self._costs.table(request)
            case p.Names() | p.Inputs() | p.Locate() | p.Upload():
                return self._others.reply(request)
            case p.Script(for_cell):
                code = self._editor.history.to_script().text
                return p.ScriptReply(code_for_cell(code, self._core.source) if for_cell else code)
            case p.ListFormats() | p.Export() | p.Download():
                return self._export(request)
            case p.Picture():
                return picture_reply(self._editor, request)
            case p.PrefetchScene(scope):
                return self._prefetched_scene(scope)

    def _export(self, request: p.ListFormats | p.Export | p.Download) -> Answer:
        exporter = self._exporter
        match request:
            case p.Export(kind, path, replace, colors, options, area):
                try:
                    saved = exporter.save(
                        kind, path, replace=replace, colors=colors, options=options, area=area
                    )
                except FileExists as existing:
                    return p.ExportReply(exists=existing.sentence), []
                return p.ExportReply(str(saved.path), saved.relative, saved.about), []
            case p.Download(kind, options, file_name):
                name, data, about = exporter.download(kind, options, file_name)
                return p.DownloadReply(name, about), [data]
        return p.Formats(tuple(exporter.formats()), str(exporter.folder)), []

    def _choose(self, request: p.Choose) -> str:
        """Change what is marked in the drawing; what is to be said of it."""
        match request:
            case p.Compare(show, source):
                before = self._others.comparable(source) if source else None
                self._edits.compare(show=show, before=before, name=source)
            case p.Beside() | p.PairByHand():
                self._beside(request)
            case p.Optimize():
                return self._edits.optimize()
            case p.Probe(name, feeds):
                return self._edits.probe(name, self._values.values(feeds, name))
            case p.Measure(feeds):
                self._editor.measure(None, self._values.values(feeds, None))
            case p.Trust():
                self._editor.source.trusted = True
                return TRUSTED
            case p.Restore(path):
                return self._values.restore(path)
            case p.Color(by):
                self._editor.view.color_by(by)
            case p.Boundary() | p.Mark() | p.Select() | p.Derive():
                self._select(request)
        return ""

    def _beside(self, request: p.Beside | p.PairByHand) -> None:
        """Show another graph in a pane on the left, or none; or correct what is matched there."""
        if self._show_beside is None or self._pair is None:
            raise GraphEditError("This page has one pane; compare without Side by side.")
        match request:
            case p.Beside(source):
                self._show_beside(self._others.comparable(source) if source else None)
            case p.PairByHand(before, after):
                self._pair(before, after)

    def _select(self, request: p.Boundary | p.Mark | p.Select | p.Derive) -> None:
        match request:
            case p.Boundary(inputs, outputs):
                self._editor.mark(inputs, outputs)
            case p.Mark(side, name, tensors):
                self._selections.mark(side, name, tensors)
            case p.Select(command, ops, scopes):
                self._selections.select(command, ops, scopes)
            case p.Derive(command):
                self._selections.derive(command)

    def _change_view(self, request: p.ViewRequest) -> Answer:
        editor = self._editor
        match request:
            case p.Toggle(scope, deep, stamp):
                # A user who sees it closed means to open it, also when another view was quicker.
                is_open = scope in editor.view.expanded and not stamp
                toggle = editor.view.collapse if is_open else editor.view.expand
                toggle(scope, deep=deep)
                return self._drawing(stamp=stamp)
            case p.Reveal(name):
                return self._drawing(focus=editor.view.reveal(name))
            case p.SelectMatching():
                return self._drawing() if select_matching(editor, request) else self._painting()
            case p.Enter(op, label):
                editor.view.enter(op, label)
            case p.Leave(depth):
                editor.view.leave(depth)
            case p.OpenSignature(name):
                editor.signatures.open(name)
            case p.Refresh():
                editor.source.reload()
            case p.Open(alone=True) if self._pane is not None:
                if self._core.view.reopen(*self._pane):
                    self._core.listeners.notify()  # pages elsewhere may show it, too
            case _:
                self._arrange(request)
        return self._drawing()

    def _arrange(self, request: p.ViewRequest) -> None:
        editor = self._editor
        match request:
            case p.ExpandAll(True):
                editor.view.expand()
            case p.ExpandAll():
                editor.view.collapse()
            case p.OpenOnly(scopes, names):
                self._core.view.open_only(scopes, names)
            case p.Hide(command, names):
                self._hide(command, names)
            case p.SetDirection(direction):
                editor.view.direction = direction
            case p.Pin(name, x, y):
                editor.view.pin(name, x, y)
            case p.Unpin(name):
                editor.view.unpin(name)

    def _hide(self, command: str, names: tuple[str, ...]) -> None:
        view = self._editor.view
        if command == "nothing":
            view.show()
            return
        ops = names or (selection_of(self._editor),)
        if command == "hide":
            view.hide(*ops)
        else:
            view.show_only(*ops)

    def _apply_edit(self, request: p.Edit) -> Answer:
        """The reply to an edit, with what the panels show of it: one message and one revision."""
        focus = new_op = ""
        was_drawn, history = self._is_drawn(request.inspected), self._core.executor.history
        with self._core.listeners.collect():
            if isinstance(request, p.Change):
                text, new_op = self._edits.apply(request)
            else:
                text, focus = self._edit(request)
            self._edits.update_difference()
            is_nothing = self._core.executor.history is history
            renamed: tuple[tuple[str, str], ...] = ()
            if not is_nothing:
                renamed = renamed_prefixes(self._core.executor.renamed, self._core.index)
            if new_op and request.inspected:  # the inspector goes on with it
                renamed = ((request.inspected, new_op), *renamed)
            name, inspected = by_new_name(request.inspected, renamed), None
            with contextlib.suppress(GraphEditError):  # the edit has removed it
                if was_drawn and not (focus or new_op) and not self._core.view.is_open_around(name):
                    focus = self._editor.view.reveal(name)  # it was moved into a closed scope
        if name:
            with contextlib.suppress(GraphEditError):  # the edit has removed it
                inspected = self._inspector.inspect(name, self._edits.probe_text)
        return self._drawing(focus=focus, edited=p.EditReport(text, renamed, inspected, is_nothing))

    def _is_drawn(self, name: str) -> bool:
        """Whether an op or scope is in the drawing: the scopes around it are open."""
        with contextlib.suppress(GraphEditError):
            return bool(name) and self._core.view.is_open_around(name)
        return False

    def _edit(self, request: p.Clone | p.Add | p.Fix | p.Undo | p.Redo | p.Jump) -> tuple[str, str]:
        """Apply an edit; what it has done, in words, and the item to bring into view."""
        editor = self._editor
        match request:
            case p.Clone():
                return self._clone(request)
            case p.Add():
                return self._others.add(request)
            case p.Fix(line):
                return self._edits.apply_fix(line), ""
            case p.Undo():
                step = editor.history.done[-1:]
                if not editor.undo():
                    return "There is nothing to undo.", ""
                text = f"Undone: {step[0].sentence}."
            case p.Redo():
                if not editor.redo():
                    return "There is nothing to redo.", ""
                text = f"Done again: {editor.history.done[-1].sentence}."
            case p.Jump(to):
                editor.history.goto(to)
                edits = len(editor.history.done) + len(editor.history.undone)
                text = f"Now after edit {to:,} of {edits:,}." if to else "Now as it was opened."
        return " ".join([text, *editor.history.lost]), ""

    def _clone(self, request: p.Clone) -> tuple[str, str]:
        copies = self._core.executor.clone(self._clones.command(request))
        first = copies[0] if isinstance(copies, list) else copies
        # The page clones into no other function: what that gives has none.
        assert hasattr(first, "report")
        text = summary(first.report, request.init)
        if isinstance(first, Copy):
            return text, self._editor.view.reveal(first.scope)
        # The clone of a function's body stands in no graph. The line of the history would make it a
        # second time.
        note = (
            "It is a module, which is not drawn; a cell has it by that name in the editor's copies."
        )
        return f"{text} {note}", ""

    def _prefetched_scene(self, scope: str) -> Answer:
        scene = self._core.view.prefetch(scope)
        if scene is None:
            return p.NextScene(), []
        fields, data = scenes.to_bytes({**scene.arrays(), **self._paint(scene)})
        return p.NextScene(_stamp(fields, data), _fields(fields)), [data]

    def _drawing(
        self, focus: str = "", stamp: str = "", edited: p.EditReport | None = None
    ) -> Answer:
        view = self._core.view
        if edited is None:  # else the edit has done so
            self._edits.update_difference()
        self._shape()  # of the function that was entered
        first = view.first_drawing(*self._pane) if self._pane else None
        scene = first or view.scene()
        fields, data = scenes.to_bytes({**scene.arrays(), **self._paint(scene)})
        drawing = _Drawing(scene, view.view_spec, _stamp(fields, data))
        of_this_graph = {
            aspect: other
            for aspect, other in self._drawings.items()
            if other.scene.index is scene.index
        }
        self._drawings = {**of_this_graph, view.aspect: drawing}
        self._likely = view.prefetch_candidates(scene)
        if stamp == drawing.stamp:
            return self._painting()
        return p.SceneReply(self._state(), drawing.stamp, _fields(fields), focus, edited), [data]

    def _painting(self, text: str = "") -> Answer:
        drawing = self._current_drawing
        if drawing is None:
            return self._drawing(edited=p.EditReport(text, (), None) if text else None)
        fields, data = scenes.to_bytes(self._paint(drawing.scene))
        return p.SelectionReply(self._state(), drawing.stamp, _fields(fields), text), [data]

    def _paint(self, scene: scenes.Scene) -> scenes.Arrays:
        return {**self._core.paint(scene).arrays(), **self._edits.paint(scene)}

    def _by_file_name(self, notice: str) -> str:
        """A notice with the name of the file for its path, which is as wide as the page."""
        name = repr(PurePath(self._core.source.title).name)
        return re.sub(rf"'[^']*/{re.escape(name[1:])}", lambda _: name, on_page(notice))

    def _state(self) -> p.State:
        editor, executor, index = self._editor, self._core.executor, self._core.index
        view = self._core.view
        inputs, outputs = view.boundary
        # What a save could not do is in its result, and not once more with what follows.
        warnings = [n for n in editor.source.notices if n not in self._core.save_notices]
        selection = editor.selection
        selected_ops = selection.ids if selection else frozenset[int]()
        done_steps, steps_ahead = editor.history.done, editor.history.undone[::-1]
        code = tuple(step.line for step in done_steps)
        ahead = tuple(step.line for step in steps_ahead)
        return p.State(
            revision=self.revision,
            path=editor.view.breadcrumb,
            warnings=tuple(map(self._by_file_name, warnings)),
            untrusted=untrusted_sentences(editor),
            # The clone of a function's body is a tf.Module; the body itself stays as it is.
            editable="" if executor.boundary is not None else executor.read_only(),
            fixed=self._by_file_name(executor.edit_refusal()),
            expression=_selection_text(selection),
            ops=len(index),
            variables=count_variables(index, range(len(index))),
            inputs=inputs,
            outputs=outputs,
            selected_ops=len(selected_ops),
            selected_variables=count_variables(index, selected_ops),
            selected_trainable=count_trainable(index, selected_ops),
            values=executor.default_init(),
            proposal=executor.free_scope(),
            undo=code[-1] if code else "",
            redo=ahead[0] if ahead else "",
            code=code,
            ahead=ahead,
            sentences=tuple(step.sentence for step in (*done_steps, *steps_ahead)),
            comparing=editor.view.difference is not None,
            comparison=self._edits.comparison(),
            explained=self._edits.explanations(),
            changes=self._edits.changes(),
            offers=self._edits.offers(),
            colors=self._core.coloring.names,
            legend=self._inspector.legend(),
            hidden=view.hidden_ops,
            direction=self._core.view.direction,
            likely=self._likely,
            pinned=len(view.pinned),
        )


def _stamp(fields: scenes.Layouts, data: bytes) -> str:
    """The same for two scenes when everything stands at the same place in both, however it is
    painted: the arrays of the paint are the last.
    """
    first = scenes.PAINT_FIELDS[0][0]
    end = next(offset for name, _, _, offset in fields if name == first)
    return hashlib.blake2b(memoryview(data)[:end], digest_size=12).hexdigest()


def _fields(layouts: scenes.Layouts) -> tuple[p.Field, ...]:
    return tuple(
        p.Field(name, cast("Any", dtype), shape, offset) for name, dtype, shape, offset in layouts
    )


def _selection_text(selection: Selection | None) -> str:
    """The Python that gives a selection; for a list of names too long to read, another one."""
    text = selection.expression if selection else ""
    return text if len(text) <= _LONGEST else "editor.selection"

"""GraphEditor: one graph, what is selected and shown of it, and its edits. Complete without a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tfgraphwidget.argument_checks import set_property
from tfgraphwidget.editor.analysis_api import AnalysisAPI
from tfgraphwidget.editor.command_methods import method_of
from tfgraphwidget.editor.edit_api import EditAPI
from tfgraphwidget.editor.edit_methods import EditMethods, Passes
from tfgraphwidget.editor.file_api import FileAPI
from tfgraphwidget.editor.pattern_api import PatternAPI
from tfgraphwidget.editor.selection_api import SelectionAPI
from tfgraphwidget.editor.signature_api import Signatures
from tfgraphwidget.editor.state import EditorCore
from tfgraphwidget.editor.transaction import Listeners
from tfgraphwidget.editor.view_api import View
from tfgraphwidget.edits import registry
from tfgraphwidget.layout import Layout
from tfgraphwidget.naming import count_text
from tfgraphwidget.optional_packages import import_package
from tfgraphwidget.visible import build_visible_graph, default_open

if TYPE_CHECKING:
    from tfgraphwidget.sources import Source

_PACKAGE = __name__.partition(".")[0]
_MOST_PICTURED = 3_000  # items: a notebook should stay small


class GraphEditor(SelectionAPI, EditMethods, EditAPI, PatternAPI, AnalysisAPI, FileAPI):
    """Shows, selects from and edits a graph; made by `tfgraphwidget.edit`.

    Where ops and tensors are arguments, names are accepted ("net/dense/MatMul", "x:0"), and so are `tf.Operation`s,
    `tf.Tensor`s, variables and selections. Each edit is a line of code, and can be undone.

    By task, in the order of the methods below:
        select: find, ops, scope, between, upstream, downstream, where, mark, selection
        edit: clone, preview, add, insert, replace, replace_all, remove, bypass, reroute, connect, rename, set_attr,
            set_trainable, freeze, strip_training
        apply and undo: edit, undo, redo, history
        find a pattern: match, like
        examine: inspect, diff, compare, probe, cost, measure, optimized, table, lint, summary, impact
        save and replay: save, extract, split, to_script, replay, to_bytes, networkx, refresh
        editor.view, what is drawn: expand, collapse, reveal, hide, enter, leave, pin, color_by, direction, to_svg
        editor.passes, the whole graph: fold_constants, merge_duplicates, change_batch_size, cast, quantize_weights
        editor.signatures, by name: add, rename, reorder, remove, open
        editor.history, a sequence of steps: done, undone, lines, goto, records, lost

    Args:
        source: What `tfgraphwidget.sources.open_source` opened.
        show: A function that makes the widget of an editor.
        layout: A networkx layout: a callable that takes a graph and returns {node: (x, y)}; None for the layered one.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor
        <GraphEditor: 74 ops, 0 edits>
    """

    def __init__(self, source: Source, show: Callable[..., object], layout: Layout | None = None) -> None:
        self._core = EditorCore.of(source, show, layout)
        if source.saved_editor is not None:
            from tfgraphwidget.editor import archive

            self._core = archive.resume(self._core, lambda current: EditorCore.of(current, show, layout))

    @property
    def view(self) -> View:
        """What is drawn of the graph, where and how, and which function is the current graph.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.view.collapse("net")
        >>> sorted(editor.view.expanded)
        ['cross_entropy', 'net/hidden']
        """
        return View(self._core)

    @property
    def passes(self) -> Passes:
        """Edits of the whole graph and of the functions that it calls.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.freeze("net/logits:0", "x:0")
        >>> editor.passes.cast("float16").notes[1]
        '3 constants: 256 → 128 bytes.'
        """
        return Passes(self._core)

    @property
    def signatures(self) -> Signatures:
        """The signatures by name, with methods that add, rename, reorder, remove and open them.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.signatures.add("net", outputs={"logits": "net/logits:0"})
        >>> editor.signatures["net"].outputs
        (('logits', 'net/logits:0'),)
        """
        return Signatures(self._core)

    def draw(self, ax: Any = None, *, dark: bool = False) -> Any:
        """Draw with matplotlib. In a notebook, a new figure is shown below the cell.

        Args:
            ax: The Axes to draw into, one unit per pixel; None for a new figure.
            dark: Use the colors of the dark theme.

        Returns:
            The Axes. Those of a new figure are shown as their picture, so that the last line of a cell prints no text.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> import tempfile
            >>> editor.draw().figure.savefig(tempfile.mkdtemp() + "/graph.png")
        """
        import_package("matplotlib", "draw needs matplotlib")
        from tfgraphwidget.scene.rendering import matplotlib_axes

        scene = self.view.scene()
        axes = matplotlib_axes.draw(scene, ax, paint=self._core.paint(scene), dark=dark)
        if ax is None and isinstance(axes, matplotlib_axes.GraphAxes):
            axes.show_in_notebook()
        return axes

    @property
    def core(self) -> EditorCore:
        """The parts of the editor, for widgets and tools.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.core.view.title
        'Graph'
        """
        return self._core

    @property
    def listeners(self) -> Listeners:
        """Functions that are called after each change of the graph, or of what is shown or selected of it.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.listeners.append(lambda: print(len(editor.history.done), "edits"))
        >>> report = editor.bypass("net/hidden/Relu")
        1 edits
        """
        return self._core.listeners

    @listeners.setter
    def listeners(self, functions: Iterable[Callable[[], None]]) -> None:
        self._core.listeners[:] = list(functions)

    @property
    def widget(self) -> Any:
        """The editor as an ipywidgets widget; always the same one, until that is closed.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> selection = editor.mark("x:0", "net/logits:0")
        >>> editor.widget.inputs, editor.widget.outputs
        (('x:0',), ('net/logits:0',))
        """
        core = self._core
        if core.widget is None or core.widget.comm is None:
            core.widget = core.show(self)
        return core.widget

    def _repr_mimebundle_(self, **kwargs: object) -> object:
        """The widget, and a picture that the notebook shows without a kernel (GitHub, nbviewer, nbconvert)."""
        data, *more = self.widget._repr_mimebundle_(**kwargs)
        picture = self._picture()
        return ({**data, "image/svg+xml": picture} if picture else data, *more)

    def _picture(self) -> str:
        """The drawing as SVG; if it is too large, with the default scopes open, with none, or ""."""
        from tfgraphwidget.scene.rendering import svg

        view = self._core.view
        for scopes in (view.view_spec.opened, default_open(view.index), frozenset[str]()):
            if len(build_visible_graph(view.index, view.shown_with(scopes))) <= _MOST_PICTURED:
                scene = view.scene(scopes)
                return svg(scene, paint=self._core.paint(scene))
        return ""

    if not TYPE_CHECKING:  # of which type checkers know nothing: they see misspelled names

        def __getattr__(self, name: str) -> Any:
            """The method of a registered command that has none of its own."""
            registration = registry.registration_of(name)
            if registration is not None and not registration.kind.method:
                return method_of(registration.kind, name).__get__(self)
            method = "" if registration is None else f"; it is editor.{registration.kind.method}"
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{method}")

    __setattr__ = set_property

    def __reduce__(self) -> tuple[Callable[[bytes], Any], tuple[bytes]]:
        """Pickle as `to_bytes` writes it; `copy.deepcopy` comes here too."""
        return import_module(_PACKAGE).edit, (self.to_bytes(),)

    def __repr__(self) -> str:
        done = self._core.executor.history.done
        return f"<GraphEditor: {count_text(len(self._core.index), 'op')}, {count_text(len(done), 'edit')}>"

"""GraphEditor: one graph, what is selected and shown of it, and its edits. Complete without a
browser.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator
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
from tfgraphwidget.editor.source_api import OpenedSource
from tfgraphwidget.editor.state import EditorCore
from tfgraphwidget.editor.view_api import View
from tfgraphwidget.edits import registry, serialization
from tfgraphwidget.layout import Layout
from tfgraphwidget.naming import count_text, did_you_mean
from tfgraphwidget.optional_packages import import_package, missing_package
from tfgraphwidget.visible import build_visible_graph, default_open

if TYPE_CHECKING:
    from tfgraphwidget.scene import Scene
    from tfgraphwidget.sources import Source

_PACKAGE = __name__.partition(".")[0]
# Items of a drawing: a notebook should stay small, and a cell should not wait for its PNG.
_MOST_IN_SVG = 3_000
_MOST_IN_PNG = 150


class GraphEditor(SelectionAPI, EditMethods, EditAPI, PatternAPI, AnalysisAPI, FileAPI):
    """Shows, selects from and edits a graph; made by `tfgraphwidget.edit`.

    Where ops and tensors are arguments, names are accepted ("net/dense/MatMul", "x:0"), and so are
    `tf.Operation`s, `tf.Tensor`s, variables and selections. Each edit is a line of code, and can be
    undone.

    By task:
        see: draw, view, source, graph, session
        select: ops, find, between, upstream, downstream, path, match, mark, selection, inputs,
            outputs
        edit: clone, add, call, insert, replace, replace_all, remove, bypass, detach, reroute, swap,
            connect, rename, set_attr, set_constant, set_device, set_trainable, add_control_inputs,
            remove_control_inputs, freeze
        apply and undo: apply, batch, preview, undo, redo, renew
        examine: inspect, table, measure, probe, compare, diff, beside, lint
        save: save, extract, split, to_module, to_function, to_keras, to_networkx, bytes(editor)
        editor.view, what is drawn: expand, collapse, reveal, hide, enter, leave, pin, color_by,
            to_svg, widget
        editor.passes, the whole graph: strip_training, fold_constants, change_batch_size,
            set_input, cast, grappler
        editor.signatures, by name: add, rename, reorder, remove, open
        editor.history, a sequence of steps: done, undone, lines, goto, records, replay, to_script,
            lost
        editor.source, what was opened: notices, trusted, reload

    Args:
        source: What `tfgraphwidget.sources.open_source` opened.
        show: A function that makes the widget of an editor.
        layout: A networkx layout: a callable that takes a graph and returns {node: (x, y)}; None
            for the layered one.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor
        <GraphEditor: 74 ops, 0 edits>
    """

    def __init__(
        self, source: Source, show: Callable[..., object], layout: Layout | None = None
    ) -> None:
        self._core = EditorCore.of(source, show, layout)
        if source.saved_editor is not None:
            from tfgraphwidget.editor import archive

            self._core = archive.resume(
                self._core, lambda current: EditorCore.of(current, show, layout)
            )

    @property
    def view(self) -> View:
        """What is drawn of the graph, where and how, and which function is the current graph.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.view.collapse("net")
        >>> sorted(editor.view.expanded)
        ['net/hidden']
        """
        return View(self._core, self)

    @property
    def passes(self) -> Passes:
        """Edits of the whole graph and of the functions that it calls.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.freeze("net/logits:0", "x:0")
        >>> editor.passes.cast("float16").notes[1]
        '3 constants: 256 → 128 bytes.'
        """
        return Passes(self._core, self)

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
            The Axes. Those of a new figure are shown as their picture, so that the last line of a
            cell prints no text.

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
    def source(self) -> OpenedSource:
        """What was opened: whether it is trusted, what there is to say of it, and reading it again.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.source, editor.source.trusted
        (<OpenedSource: Graph>, True)
        """
        return OpenedSource(self._core)

    def _repr_mimebundle_(self, **kwargs: object) -> object:
        """The widget, and pictures that the notebook shows without a kernel (GitHub, nbviewer,
        nbconvert). JupyterLab shows PNG alone in a notebook that others have run.
        """
        data, *more = self.view.widget._repr_mimebundle_(**kwargs)
        return ({**data, "text/plain": repr(self), **self._pictures()}, *more)

    def _pictures(self) -> dict[str, str]:
        """The drawing as SVG and PNG, by MIME type."""
        from tfgraphwidget.scene.rendering import svg

        pictures: dict[str, str] = {}
        if scene := self._scene_of_at_most(_MOST_IN_SVG):
            pictures["image/svg+xml"] = svg(scene, paint=self._core.paint(scene))
        if scene and len(scene) > _MOST_IN_PNG:
            scene = self._scene_of_at_most(_MOST_IN_PNG)
        if scene and not missing_package("matplotlib"):
            from tfgraphwidget.scene.rendering import notebook_png

            png = notebook_png.png(scene, paint=self._core.paint(scene))
            pictures["image/png"] = b64encode(png).decode()
        return pictures

    def _scene_of_at_most(self, items: int) -> Scene | None:
        """The drawing; if it has more items, that with default scopes open, with none, or None."""
        view = self._core.view
        for scopes in (view.view_spec.opened, default_open(view.index), frozenset[str]()):
            if len(build_visible_graph(view.index, view.shown_with(scopes))) <= items:
                return view.scene(scopes)
        return None

    if not TYPE_CHECKING:  # of which type checkers know nothing: they see misspelled names

        def __getattr__(self, name: str) -> Any:
            """The method of a registered command that has none of its own."""
            registration = registry.registration_of(name)
            if registration is not None and not registration.kind.method:
                return method_of(registration.kind, name).__get__(self)
            if registration is None:
                method = serialization.names_of_0_2.PLACES.get(name)
            else:
                method = registration.kind.method
            near = "" if name.startswith("_") else did_you_mean(name, self.__dir__()).rstrip(".")
            hint = f"; it is editor.{method}" if method else near
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")

    def __dir__(self) -> list[str]:
        """The names of the class, and those of commands of others, which `__getattr__` gives."""
        return sorted({*dir(type(self)), *registry.commands_of_others()})

    def __len__(self) -> int:
        """The number of ops of the current graph.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> len(editor), "net/logits" in editor, list(editor)[:2]
        (74, True, ['x', 'labels'])
        """
        return len(self._core.index)

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self._core.index.names)

    def __contains__(self, name: object) -> bool:
        return name in self._core.index.ids

    __setattr__ = set_property

    def __bytes__(self) -> bytes:
        """Write the editor as bytes: the graph, its edits, its values, and what is marked.

        `tgw.edit(data)` opens them, in this process or another: the edits can be undone there, and
        the graph runs with the values that its session had. `pickle` and `copy.deepcopy` use it,
        and `editor.save("net.tgw")` writes it to a file. The bytes hold no code.

        A `tf.Graph` comes back as a graph of its own with a session of its own, a function or Keras
        model as a function with variables of its own: `to_module()`. What was undone cannot be
        redone. Edits that hold a Python function or another graph come as the graph that they gave,
        and a notice says so.

        Returns:
            The bytes.

        Raises:
            NotRunnable: An op calls a Python function of this process.
            SessionRefused: The session holds what cannot be read: elements of a queue, a barrier, a
                staging area.
            GraphEditError: An edit of a function or a SavedModel cannot be written.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.rename("net/logits", "net/scores")
            >>> other = tgw.edit(bytes(editor))
            >>> other.undo()
            'editor.rename(old="net/logits", new="net/scores")'
            >>> feeds = {"x:0": [[1, 2, 3, 4]]}
            >>> scores = editor.session.run("net/scores:0", feeds)
            >>> bool((other.session.run("net/logits:0", feeds) == scores).all())
            True
        """
        from tfgraphwidget.editor import archive

        return archive.to_bytes(self._core)

    def __reduce__(self) -> tuple[Callable[[bytes], Any], tuple[bytes]]:
        """Pickle as `__bytes__` writes it; `copy.deepcopy` comes here too."""
        return import_module(_PACKAGE).edit, (bytes(self),)

    def __repr__(self) -> str:
        done = self._core.executor.history.done
        return (
            f"<GraphEditor: {count_text(len(self._core.index), 'op')}, "
            f"{count_text(len(done), 'edit')}>"
        )

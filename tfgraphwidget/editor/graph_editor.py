"""GraphEditor: one graph, what is chosen in it, what was done to it. Complete without a browser."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfgraphwidget import export
from tfgraphwidget.editor.coloring import Colouring
from tfgraphwidget.edits.serialization.json_format import document
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.naming import listed
from tfgraphwidget.scene import scene as scenes
from tfgraphwidget.visible.visible_graph import default_open, visible

if TYPE_CHECKING:
    from tfgraphwidget.sources import Signature, Source


_MOST_PICTURED = 3_000  # items: a notebook should stay small


class GraphEditor(Colouring):
    """Shows, selects from and edits a graph; made by `tfgraphwidget.edit`.

    `layout` is any networkx layout: a callable that takes a graph and returns {node: (x, y)}.

    >>> import tfgraphwidget as tgw
    >>> editor = tgw.example()
    >>> editor
    <GraphEditor: 74 ops, 0 edits>
    """

    def __init__(self, source: Source, show: Callable[[GraphEditor], Any], layout: Any = None) -> None:
        self._show = show
        self._widget: Any = None
        self._told: list[str] = []
        super().__init__(source, layout)

    # What is there

    @property
    def graph(self) -> Any:
        """The `tf.Graph`; a file is imported into one now. A function's graph is given as it is, to be read only.

        Raises NotRunnable when TensorFlow cannot hold what the file says.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.graph.get_tensor_by_name("net/logits:0").shape
        TensorShape([None, 3])
        """
        held = getattr(self._source.body, "graph", None)
        return self._live.graph() if held is None else held

    @property
    def session(self) -> Any:
        """The session that runs the graph, or None; for a file, one that holds its checkpoint's values.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.session.run("net/hidden/Relu:0", {"x:0": [[1, 2, 3, 4]]}).shape
        (1, 8)
        """
        if not self._source.refusal:
            self._live.graph()
        return self._source.session

    @property
    def notices(self) -> tuple[str, ...]:
        """What can only be looked at or is missing, and what the last `save` could not do: one sentence each.

        And what edits have taken from the selection, until it is chosen again.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> selection = editor.mark("x:0", "net/logits:0")
        >>> editor.notices
        ()
        >>> report = editor.detach("net/hidden/Relu")
        >>> editor.selection is None, len(editor.notices)
        (True, 1)
        """
        lost = self.room.selection_notice
        return (*self._source.notices, *self._told, *([lost] if lost else []))

    def refresh(self) -> None:
        """Read the graph anew; needed only after other code changed edges in place, which TensorFlow does not tell.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> logits, added = (editor.graph.get_operation_by_name(name) for name in ("net/logits", "net/hidden/Add"))
        >>> logits._update_input(0, added.outputs[0])
        >>> editor.refresh()
        >>> editor.path("net/hidden/Add", "net/logits").ops
        ('net/hidden/Add', 'net/logits')
        """
        self._live.reread()
        self.changed()

    def is_behind(self) -> bool:
        """Whether the graph has ops that the last drawing was not told of."""
        return self._live.is_behind()

    def save(
        self,
        path: str | PathLike[str],
        inputs: Any = None,
        outputs: Any = None,
        *,
        signatures: Any = None,
        frozen: bool = False,
        verify: bool = True,
        feeds: Mapping[Any, Any] | None = None,
    ) -> Path:
        """Write the graph as it is now; the end of `path` says how.

        * "edited/" is a SavedModel with the session's values, its tables and the files that these read. Its signature
          is the boundary (`inputs` and `outputs`; of a call that names neither, the chosen one): names, tensors, or
          {key: tensor}. `signatures` gives several, {name: (inputs, outputs)}; when nothing is given or chosen, those
          that the file was opened with
        * ".pb" and ".pbtxt" are a GraphDef; with `frozen`, of what the outputs need, with constants for variables
        * ".meta" is a MetaGraphDef with a checkpoint of the same name beside; without, if the file had no values
        * ".svg", ".png" and ".pdf" are the picture, ".dot" and ".graphml" the graph for other tools
        * ".html" is a page that needs no kernel and no network: one moves in it, opens scopes, searches, inspects
        * ".py" is the code that does the edits, ".json" the edits as data, which `replay` does

        Written beside and moved into place: a failure leaves old files as they were. A model is loaded back first and
        run, on `feeds` ({input: value}) or on made-up ones, beside the graph as it is; GraphEditError tells where they
        differ. `verify=False` leaves that out.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> editor.save(f"{folder}/net.pb", "x:0", "net/logits:0", frozen=True).name
        'net.pb'
        >>> tgw.edit(f"{folder}/net.pb").of_type("Const").ops
        ('net/hidden/w', 'net/hidden/b', 'net/w')
        """
        self._told = []
        what = export.Export(  # Over 30 lines because one line each says where what an Export can need comes from
            index=self.index,
            envelope=self._live.envelope if self.room.site is self._live else self.room.body.envelope,
            written=self._live.written if self.room.site is self._live else list,
            meta=None if self._source.stored is None else self._source.stored.meta,
            unedited=lambda: self._unedited(inputs, outputs, signatures),
            graph=lambda: self.graph,
            session=lambda: self.session,
            ask=lambda: self._asked(inputs, outputs, signatures),
            picture=self._picture,
            code=self.script,
            view=self._viewed,
            edits=lambda: document(self.edits()),
            module=self._whole_function(inputs, outputs, signatures) if self.in_function else None,
            read_only=self.read_only(),
            without_values=self._live.came_without_values,
            frozen=frozen,
            verify=verify,
            feeds={k if isinstance(k, str) else self._names(k)[0]: value for k, value in (feeds or {}).items()},
            notice=self._told.append,
        )
        known = len(self._source.notices)
        with self._live.attempt(for_good=False):
            written = export.save(Path(path), what, folder=str(path).endswith("/"))
            self._told += self._source.notices[known:]  # of what has another name in TensorFlow's graph
        return self._announced(written)

    def to_tensorboard(self, logdir: str | PathLike[str]) -> Path:
        """Write the graph one stands in as an event file, which TensorBoard's graph tab opens; the path of the file.

        `logdir` is made if it is not there: `tensorboard --logdir logdir`. Tensors have their static shapes; of
        constants over 1 kB the numbers are left out. Raises GraphEditError when the folder cannot be written to.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> import tempfile
        >>> editor.to_tensorboard(tempfile.mkdtemp()).name.startswith("events.out.tfevents.")
        True
        """
        return export.write_events(Path(logdir), self.index, self.room.body.envelope)

    def _announced(self, written: Path) -> Path:
        """Say once what could not be done with it."""
        changed = (step for step in self._history.done if step.patch.changed or step.patch.add.nodes)
        within = {" / ".join(s.path[1:]) for s in changed if s.place not in (None, self._live)}
        inside = sorted(within) if len(self.breadcrumb) == 1 else ()
        if inside and written.suffix.lower() not in (".py", ".json", ".svg", ".png", ".pdf", ".html"):
            self._told.append(
                f"What was edited inside of {listed(inside)} is not in {written.name!r}, where functions keep their "
                "bodies; stand in there (editor.enter) to save it, or take editor.module()."
            )
        for sentence in self._told:
            warnings.warn(sentence, stacklevel=3)
        return written

    def _unedited(self, *given: Any) -> Path | None:
        """The folder of the SavedModel that is shown, when it is asked for as it was opened and nothing has changed."""
        stored, is_outside = self._source.stored, self.room.site is self._live
        if stored is None or any(end is not None for end in given) or any(step.patch for step in self._history.done):
            return None
        if not is_outside and self.breadcrumb != self._entrance:
            return None
        if is_outside and self._asked(None, None, None) != self.signatures:
            return None
        return stored.folder() if self._live.unedited() else None

    def _whole_function(self, *given: Any) -> Callable[[], Any]:
        """What gives the function one stands in as a tf.Module: the whole of it can be saved."""

        def made() -> Any:
            if any(end is not None for end in given):
                raise GraphEditError(
                    "Of a function's body the whole is saved; a part is a tf.Module of its own: "
                    "tf.saved_model.save(editor.clone(inputs, outputs, into='part'), path)."
                )
            return self.module()

        return made

    def _asked(self, inputs: Any, outputs: Any, signatures: Any) -> tuple[Signature, ...]:
        """The signatures that are meant: those given, or the boundary, or those that the file was opened with."""
        if signatures is not None and (inputs is not None or outputs is not None):
            raise GraphEditError("Give inputs= and outputs=, or signatures=, but not both.")
        if signatures is inputs is outputs is None:
            inputs, outputs = boundary = self._boundary(None, None)
            known = self.signatures if len(self.breadcrumb) == 1 else ()
            if known and not export.is_chosen(boundary, self.index, self._source.signature, known):
                signatures = known
        return export.asked(self.index, self._names, inputs, outputs, signatures)

    def _viewed(self) -> export.Viewed:
        room, chosen = self.room, self.selection
        return export.Viewed(
            index=self.index,
            shown=room.shown,
            path=tuple(self.breadcrumb),
            memo=room.memo,
            layout=self._layout,
            selected=() if chosen is None else tuple(self.index.ids[name] for name in chosen.ops),
            inputs=self.inputs,
            outputs=self.outputs,
            notices=self._source.notices,
            colours=self._ways_without_a_run(),
            colour=self._by,
            rooms=self._rooms,
            coloured=self._ways_without_a_run,
        )

    def _picture(self) -> tuple[scenes.Scene, scenes.Paint]:
        scene = self.scene()
        return scene, self.paint(scene)

    @property
    def widget(self) -> Any:
        """The editor as an ipywidgets widget; always the same one, until that is closed.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> selection = editor.mark("x:0", "net/logits:0")
        >>> editor.widget.inputs, editor.widget.outputs
        (('x:0',), ('net/logits:0',))
        """
        if self._widget is None or self._widget.comm is None:
            self._widget = self._show(self)
        return self._widget

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """The widget; where no kernel is (GitHub, nbviewer, nbconvert) the notebook shows the picture beside it."""
        data, *more = self.widget._repr_mimebundle_(**kwargs)
        picture = self._kept_picture()
        return ({**data, "image/svg+xml": picture} if picture else data, *more)

    def _kept_picture(self) -> str:
        """The drawing as SVG; of one that is too large with scopes open as they are at first, or none at all."""
        from tfgraphwidget.scene.rendering.svg import svg

        shown = self.room.shown
        for opened in (shown.opened, None, frozenset[str]()):
            shown = replace(shown, opened=default_open(self.index) if opened is None else opened)
            if len(visible(self.index, shown)) <= _MOST_PICTURED:
                scene = scenes.build(self.index, shown, layout=self._layout, memo=self.room.memo)
                return svg(scene, paint=self.paint(scene))
        return ""

    def __repr__(self) -> str:
        return f"<GraphEditor: {len(self.index)} ops, {len(self._history.done)} edits>"

"""GraphEditor: one graph, what is chosen in it, what was done to it. Complete without a browser."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfgraphwidget import export
from tfgraphwidget.cloning import Cloning
from tfgraphwidget.room import Names
from tfgraphwidget.view import scene as scenes

if TYPE_CHECKING:
    from tfgraphwidget.sources.body import Signature, Source


class GraphEditor(Cloning):
    """Shows, selects from and edits a graph; made by `tfgraphwidget.edit`.

    `layout` is any networkx layout: a callable that takes a graph and returns {node: (x, y)}.
    """

    def __init__(self, source: Source, show: Callable[[GraphEditor], Any], layout: Any = None) -> None:
        self._show = show
        self._widget: Any = None
        super().__init__(source, layout)

    # What is there

    @property
    def graph(self) -> Any:
        """The `tf.Graph`; a file is imported into one now. A function's graph is given as it is, to be read only.

        Raises NotRunnable when TensorFlow cannot hold what the file says.
        """
        held = getattr(self._source.body, "graph", None)
        return self._live.graph() if held is None else held

    @property
    def session(self) -> Any:
        """The session that runs the graph, or None; for a file, one that holds its checkpoint's values."""
        if not self._source.refusal:
            self._live.graph()
        return self._source.session

    @property
    def notices(self) -> tuple[str, ...]:
        """What can only be looked at, and what is missing: one sentence each."""
        return self._source.notices

    @property
    def signatures(self) -> tuple[Signature, ...]:
        """The signatures of a SavedModel or MetaGraphDef; `tgw.edit(path, signature=name)` opens one."""
        return self._source.signatures

    def refresh(self) -> None:
        """Read the graph anew; needed only after other code changed edges in place, which TensorFlow does not tell."""
        self._live.reread()
        self.changed()

    def is_behind(self) -> bool:
        """Whether the graph has ops that the last drawing was not told of."""
        return self._live.is_behind()

    def save(self, path: str | PathLike[str], inputs: Names | None = None, outputs: Names | None = None) -> Path:
        """Write the graph as it is now; the end of `path` says how.

        "edited/" is a SavedModel whose signature is the boundary (`inputs`, `outputs`, or the chosen one) with the
        session's values; ".pb" and ".pbtxt" a GraphDef; ".svg", ".png" and ".pdf" the picture. Written beside and
        moved into place: a failure leaves an old file as it was.
        """
        what = export.Export(
            index=self.index,
            envelope=self.room.body.envelope,
            graph=lambda: self.graph,
            session=lambda: self.session,
            inputs=self.inputs if inputs is None else self._names(inputs),
            outputs=self.outputs if outputs is None else self._names(outputs),
            picture=self._picture,
            read_only=self.read_only(),
        )
        return export.save(Path(path), what, folder=str(path).endswith("/"))

    def _picture(self) -> tuple[scenes.Scene, scenes.Paint]:
        scene = self.scene()
        return scene, self.paint(scene)

    @property
    def widget(self) -> Any:
        """The editor as an ipywidgets widget; always the same one."""
        if self._widget is None:
            self._widget = self._show(self)
        return self._widget

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return self.widget._repr_mimebundle_(**kwargs)

    def __repr__(self) -> str:
        return f"<GraphEditor: {len(self.index)} ops, {len(self._history.done)} edits>"

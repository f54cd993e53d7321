"""Seeing: what of a graph is drawn, and where. Nothing here changes the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tfgraphwidget.argument_checks import shown
from tfgraphwidget.editor.graph_view import Names, Room
from tfgraphwidget.editor.looking import Looking
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import traversal
from tfgraphwidget.graph.selection import Selection
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.scene import scene as scenes
from tfgraphwidget.scene.prefetch import foreseen, likely
from tfgraphwidget.visible.view_spec import Direction

if TYPE_CHECKING:
    from tfgraphwidget.sources import Source


class Seeing(Looking):
    """What a person sees of a graph: what is open, hidden, put somewhere by hand; GraphEditor is one of these.

    `layout` is any networkx layout: a callable that takes a graph and returns {node: (x, y)}.
    """

    def __init__(self, first: Room, source: Source, layout: Any) -> None:
        self._layout = layout
        super().__init__(first, source)

    @property
    def opened(self) -> frozenset[str]:
        """The scopes and groups that are open in the drawing.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> sorted(editor.opened)
        ['cross_entropy', 'net', 'net/hidden']
        """
        return self.room.opened

    def open(self, *scopes: str, deep: bool = False) -> None:
        """Open name scopes or groups in the drawing, and those around them; `deep`: and all inside. Raises UnknownName.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.open("net/hidden")
        >>> "net/hidden/Relu" in editor.scene().names
        True
        """
        self.room.opened = self.room.with_open(scopes, deep=deep).opened
        self.changed()

    def close(self, *scopes: str, deep: bool = False) -> None:
        """Close name scopes or groups in the drawing; `deep`: and all inside. Raises UnknownName.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.close("net", deep=True)
        >>> "net" in editor.opened
        False
        """
        self.room.close(scopes, deep=deep)
        self.changed()

    def open_all(self) -> None:
        """Open every name scope and group.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.open_all()
        >>> {"net", "net/hidden"} <= editor.opened
        True
        """
        self.room.open_all()
        self.changed()

    def close_all(self) -> None:
        """Close every name scope and group.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.close_all()
        >>> editor.opened
        frozenset()
        """
        self.room.close_all()
        self.changed()

    def reveal(self, name: str) -> str:
        """Open the scopes around an op, a tensor or a scope; the name of the op or scope. What is hidden is shown.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.close_all()
        >>> editor.reveal("net/hidden/Relu:0"), sorted(editor.opened)
        ('net/hidden/Relu', ['net', 'net/hidden'])
        """
        before, found = self.room.shown, self.room.reveal(name)
        if self.room.shown != before:
            self.changed()
        return found

    def hide(self, *what: Names) -> None:
        """Leave ops, scopes or selections out of the drawing. Raises UnknownName.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.hide("net/hidden", editor.ops("labels"))
        >>> sorted(editor.hidden), editor.hidden_ops
        (['labels', 'net/hidden'], 16)
        """
        self.room.hide(tuple(name for some in what for name in self._seen(some)))
        self.changed()

    def show_only(self, *what: Names) -> None:
        """Draw only these ops, scopes or selections, and the scopes around them. Raises UnknownName.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.show_only("net")
        >>> len(editor.index) - editor.hidden_ops
        22
        """
        self.room.show_only(tuple(name for some in what for name in self._seen(some)))
        self.changed()

    def show_all(self) -> None:
        """Draw again what was hidden.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.hide("net")
        >>> editor.show_all()
        >>> editor.hidden_ops
        0
        """
        self.room.hidden = frozenset()
        self.changed()

    @property
    def hidden(self) -> frozenset[str]:
        """The names of the ops, scopes and groups that are left out of the drawing.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.hide("net")
        >>> editor.hidden
        frozenset({'net'})
        """
        return self.room.hidden

    @property
    def hidden_ops(self) -> int:
        """How many ops are left out of the drawing.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.hide("net")
        >>> editor.hidden_ops
        22
        """
        return self.room.hidden_ops

    @property
    def direction(self) -> Direction:
        """Where tensors flow in the drawing: "down" or "right". Assign to turn it.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.direction = "right"
        >>> editor.direction
        'right'
        """
        return self.room.direction

    @direction.setter
    def direction(self, direction: Direction) -> None:
        if direction not in ("down", "right"):
            raise GraphEditError(f"Tensors flow 'down' or 'right', not {shown(direction)}.")
        self.room.direction = direction
        self.changed()

    def pin(self, name: str, x: float, y: float) -> None:
        """Keep an op, scope or group of the drawing with its centre at (x, y), in pixels of `scene().box`, y down.

        It goes along with the scope around it. Raises UnknownName for what is not drawn.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.pin("loss", 700, 300)
        >>> scene = editor.scene()
        >>> left, top, width, height = scene.box[scene.names.index("loss")].tolist()
        >>> left + width / 2, top + height / 2
        (700.0, 300.0)
        """
        self.room.pin(self.scene(), name, x, y)
        self.changed()

    def unpin(self, name: str = "") -> None:
        """Let the layout decide again where an item stands; without a name, where all do.

        Then the drawing is as if what is open had been open from the start.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> before = editor.svg()
        >>> editor.pin("loss", 700, 300)
        >>> editor.unpin("loss")
        >>> editor.svg() == before
        True
        """
        self.room.unpin(name)
        self.changed()

    def scene(self) -> scenes.Scene:
        """The drawing as arrays; `box` is float32 [items, 4]: left, top, width, height in pixels. See `scene.scene`.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> scene = editor.scene()
        >>> len(scene.names) == len(scene), scene.box.shape[1], scene.box.dtype
        (True, 4, dtype('float32'))
        """
        room = self.room
        return scenes.build(room.index, room.shown, layout=self._layout, memo=room.memo)

    def likely(self, scene: scenes.Scene) -> tuple[str, ...]:
        """The closed scopes of the drawing worth foreseeing, since their insides take a while to lay out.

        The largest first, of 60 to 1,200 boxes each; as many as can be told in 12,000 boxes.
        """
        return likely(scene, self.room.shown) if self._layout is None else ()

    def foresee(self, scope: str) -> scenes.Scene | None:
        """The drawing as it will be once a scope or group is opened; nothing changes. Raises UnknownName.

        None where that takes a while: of more than 1,200 new boxes or 2,500 in all, or with a layout of one's own.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.close_all()
        >>> "net/hidden" in editor.foresee("net").names, "net" in editor.opened
        (True, False)
        """
        room = self.room
        after = room.with_open([scope])
        return foreseen(room.index, room.shown, after, room.memo) if self._layout is None else None

    def paint(self, scene: scenes.Scene) -> scenes.Paint:
        """The selection, the boundary and the last edit, per item of a scene."""
        index, selection, boundary = scene.index, self.selection, self.room.boundary
        fresh = traversal.mask_of(index, (index.ids[n] for n in self.fresh if n in index.ids))
        # Another thread may have added ops since the scene was made: what is painted is what is drawn.
        known = [[n for n in side if n in index.ids or split_tensor(n)[0] in index.ids] for side in boundary]
        inputs, outputs = ([index.op(name) for name in side] for side in known)
        chosen = traversal.mask_of(index, ()) if selection is None else selection.on(index).mask
        painted, told = scenes.paint(scene, chosen, inputs, outputs, fresh), self.tints(scene)
        return painted if told is None else scenes.coloured(painted, *told)

    def tints(self, scene: scenes.Scene) -> tuple[npt.NDArray[np.uint8], list[str]] | None:  # noqa: ARG002
        """A tint and a note for each item of a scene; None for the usual colours, by families of op types."""
        return None

    def draw(self, ax: Any = None, *, dark: bool = False) -> Any:
        """Draw the same picture with matplotlib, into the Axes `ax` or a new figure; the Axes, one unit per pixel.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> import tempfile
        >>> editor.draw().figure.savefig(tempfile.mkdtemp() + "/graph.png")
        """
        from tfgraphwidget.scene.rendering import matplotlib_axes

        scene = self.scene()
        return matplotlib_axes.draw(scene, ax, paint=self.paint(scene), dark=dark)

    def svg(self, *, dark: bool = False) -> str:
        """The same picture as the text of an SVG document, sizes in pixels.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.svg().startswith("<svg ")
        True
        """
        from tfgraphwidget.scene.rendering.svg import svg

        scene = self.scene()
        return svg(scene, paint=self.paint(scene), dark=dark)

    def _seen(self, what: Names) -> tuple[str, ...]:
        """The names of scopes and groups as they are, those of all else checked."""
        if isinstance(what, str) and self.room.is_container(what):
            return (what,)
        if isinstance(what, Selection):
            return what.on(self.index).ops
        return self._names(what)

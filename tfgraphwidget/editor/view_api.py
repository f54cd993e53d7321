"""The view: the methods of GraphEditor that say which graph is current, and what is drawn of it, where and how."""

from __future__ import annotations

from tfgraphwidget.argument_checks import ArgumentChecks, set_property
from tfgraphwidget.editor.graph_view import Names
from tfgraphwidget.editor.state import EditorCore
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import FunctionRef
from tfgraphwidget.scene import scene as scenes
from tfgraphwidget.scene.coloring import Legend
from tfgraphwidget.tf_types import OpLike
from tfgraphwidget.visible import Direction


class View(ArgumentChecks):
    """Enters functions, and expands, hides, pins, colors and draws the items of the current graph."""

    def __init__(self, core: EditorCore) -> None:
        self._core = core

    __setattr__ = set_property

    # The current graph

    @property
    def breadcrumb(self) -> tuple[str, ...]:
        """The path to the current graph: the source's title, then each op that was entered.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.view.breadcrumb
        ('Graph',)
        """
        return self._core.navigator.path

    def called_functions(self, op: OpLike) -> tuple[FunctionRef, ...]:
        """List the functions that an op calls.

        Args:
            op: The op.

        Returns:
            For each function what the op uses it as, its `label` ("body", "cond", "f"), and its name, `function`.

        Raises:
            UnknownName: The op is not in the graph.

        Example:
            >>> import tfgraphwidget as tgw
            >>> import tensorflow as tf
            >>> fn = tf.function(lambda x: tf.while_loop(lambda x: x < 9.0, lambda x: [x * 2.0], [x]), autograph=False)
            >>> editor = tgw.edit(fn, signature=[tf.TensorSpec([], tf.float32)])
            >>> [function.label for function in editor.view.called_functions("while")]
            ['body', 'cond']
        """
        return self._core.navigator.called_functions(self._core.arguments.name(op))

    def enter(self, op: OpLike, label: str = "", *, everywhere: bool = False) -> None:
        """Make the body of a function that an op calls the current graph.

        An edit of the body is an edit of the graph: the op then calls the edited function, under a new name. Other
        calls of the function go on calling it as it is, unless `everywhere` is true. The graph's session follows; code
        that runs a `tf.function` already does not, so that `module` and `function` give the edited one.

        Args:
            op: The op, or the name of a function in the graph's library, for all its calls.
            label: Which of its functions: "body", "cond"; "" for the first.
            everywhere: Whether edits are for all calls of the function, in the graph and in other functions.

        Raises:
            UnknownName: The op is not in the graph, or calls no such function.

        Example:
            >>> import tfgraphwidget as tgw
            >>> import tensorflow as tf
            >>> fn = tf.function(lambda x: tf.while_loop(lambda x: x < 9.0, lambda x: [x * 2.0], [x]), autograph=False)
            >>> editor = tgw.edit(fn, signature=[tf.TensorSpec([], tf.float32)])
            >>> editor.view.enter("while", "body")
            >>> editor.view.breadcrumb
            ("tf.function '<lambda>'", 'while:body')
        """
        core = self._core
        is_function = isinstance(op, str) and op in core.index.functions
        name = str(op) if is_function else core.arguments.name(op)
        core.navigator.enter(name, str(label), everywhere=bool(everywhere))
        core.listeners.notify()

    def leave(self, depth: int | None = None) -> None:
        """Return to the calling graph.

        Args:
            depth: The level of `breadcrumb` to return to instead; 0 is the top level.

        Raises:
            NothingTo: There is no such level.

        Example:
            >>> import tfgraphwidget as tgw
            >>> import tensorflow as tf
            >>> fn = tf.function(lambda x: tf.while_loop(lambda x: x < 9.0, lambda x: [x * 2.0], [x]), autograph=False)
            >>> editor = tgw.edit(fn, signature=[tf.TensorSpec([], tf.float32)])
            >>> editor.view.enter("while", "body")
            >>> editor.view.leave()
            >>> editor.view.breadcrumb
            ("tf.function '<lambda>'",)
        """
        self._core.navigator.leave(depth)
        self._core.listeners.notify()

    # Expanded scopes

    @property
    def expanded(self) -> frozenset[str]:
        """The names of the scopes and groups that are expanded in the drawing.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> sorted(editor.view.expanded)
        ['cross_entropy', 'net', 'net/hidden']
        """
        return self._core.view.opened

    def expand(self, *scopes: str, deep: bool = False) -> None:
        """Expand name scopes or groups in the drawing, and the scopes around them.

        Args:
            scopes: Names of scopes or groups; none for all.
            deep: Expand everything inside them too.

        Raises:
            UnknownName: There is no such scope or group.
            GraphEditError: More than 250,000 ops and scopes would be drawn.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.view.expand("net/hidden")
            >>> "net/hidden/Relu" in editor.view.scene().names
            True
        """
        if scopes:
            self._core.view.open(scopes, deep=deep)
        else:
            self._core.view.open_all()
        self._core.listeners.notify()

    def collapse(self, *scopes: str, deep: bool = False) -> None:
        """Collapse name scopes or groups in the drawing.

        Args:
            scopes: Names of scopes or groups; none for all.
            deep: Collapse everything inside them too.

        Raises:
            UnknownName: There is no such scope or group.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.view.collapse("net", deep=True)
            >>> "net" in editor.view.expanded
            False
        """
        if scopes:
            self._core.view.close(scopes, deep=deep)
        else:
            self._core.view.close_all()
        self._core.listeners.notify()

    def reveal(self, name: str) -> str:
        """Open the scopes around an op, a tensor or a scope, and show it if it was hidden.

        Args:
            name: The name of the op, tensor or scope.

        Returns:
            The name of the op or scope.

        Raises:
            UnknownName: There is no such op, tensor or scope.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.view.collapse()
            >>> editor.view.reveal("net/hidden/Relu:0"), sorted(editor.view.expanded)
            ('net/hidden/Relu', ['net', 'net/hidden'])
        """
        view = self._core.view
        before, op_name = view.view_spec, view.reveal(name)
        if view.view_spec != before:
            self._core.listeners.notify()
        return op_name

    # Hidden items

    def hide(self, *what: Names) -> None:
        """Leave ops, scopes or selections out of the drawing.

        Args:
            what: Ops, scopes, groups or selections.

        Raises:
            UnknownName: One of them is not in the graph.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.view.hide("net/hidden", editor.ops("labels"))
            >>> sorted(editor.view.hidden), editor.core.view.hidden_ops
            (['labels', 'net/hidden'], 16)
        """
        items = self._core.arguments.items
        self._core.view.hide(tuple(name for some in what for name in items(some)))
        self._core.listeners.notify()

    def show_only(self, *what: Names) -> None:
        """Draw only these ops, scopes or selections, and the scopes around them.

        Args:
            what: Ops, scopes, groups or selections.

        Raises:
            UnknownName: One of them is not in the graph.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.view.show_only("net")
            >>> len(editor.index) - editor.core.view.hidden_ops
            22
        """
        items = self._core.arguments.items
        self._core.view.show_only(tuple(name for some in what for name in items(some)))
        self._core.listeners.notify()

    def show(self) -> None:
        """Draw all hidden items again.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.view.hide("net")
            >>> editor.view.show()
            >>> editor.core.view.hidden_ops
            0
        """
        self._core.view.hidden = frozenset()
        self._core.listeners.notify()

    @property
    def hidden(self) -> frozenset[str]:
        """The names of the ops, scopes and groups that are left out of the drawing.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.view.hide("net")
        >>> editor.view.hidden
        frozenset({'net'})
        """
        return self._core.view.hidden

    # Placement

    @property
    def direction(self) -> Direction:
        """The direction in which tensors flow in the drawing: "down" or "right". Assign to change it.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.view.direction = "right"
        >>> editor.view.direction
        'right'
        """
        return self._core.view.direction

    @direction.setter
    def direction(self, direction: Direction) -> None:
        if direction not in ("down", "right"):
            raise GraphEditError("Tensors flow down or to the right; give 'down' or 'right'.")
        self._core.view.direction = direction
        self._core.listeners.notify()

    def pin(self, name: str, x: float, y: float) -> None:
        """Fix the position of an item of the drawing. It moves along with the scope around it.

        Args:
            name: An op, scope or group that is drawn.
            x: The horizontal position of its center, in pixels of `scene().box`.
            y: The vertical position of its center, in pixels, downward.

        Raises:
            UnknownName: The item is not drawn.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.view.pin("loss", 700, 300)
            >>> scene = editor.view.scene()
            >>> left, top, width, height = scene.box[scene.names.index("loss")].tolist()
            >>> left + width / 2, top + height / 2
            (700.0, 300.0)
        """
        view = self._core.view
        view.pin(view.scene(), name, x, y)
        self._core.listeners.notify()

    def unpin(self, name: str = "") -> None:
        """Let the layout place an item again.

        Args:
            name: The item; "" for all of them, and then the drawing is laid out from scratch.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> before = editor.view.to_svg()
            >>> editor.view.pin("loss", 700, 300)
            >>> editor.view.unpin("loss")
            >>> editor.view.to_svg() == before
            True
        """
        self._core.view.unpin(name)
        self._core.listeners.notify()

    # Colors

    def color_by(self, by: object = "", *, batch: int = 1) -> None:
        """Color the drawing by what is known of the ops.

        Boxes that contain several ops show the sum of their costs, the mean of your own numbers, or the most frequent
        category.

        Args:
            by: One of

                * "" for the default colors, by families of op types
                * "type", "device", "dtype" (of the first output), "scope" (the outermost ones), "structure" (equal
                  structure, equal color), "trainable" (variables), "diff" (what edits have changed)
                * "parameters", "output bytes" or "FLOPs"
                * "time" or "memory", after `measure`, or if nothing needs to be fed
                * a column of `table()`, by its name or itself
                * {name of an op, tensor or scope: value}, or a function of an op (see `where`) that returns a value:
                  numbers give a ramp, other values categories; None is no value
            batch: The first dimension of inputs that leave it open; sizes that it does not tell count as 1.

        Raises:
            GraphEditError: `by` does not describe ops, or `batch` is not a positive integer.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.view.color_by({"net/hidden": 0.25, "net/logits": 1.0})
            >>> editor.view.legend.low, editor.view.legend.high
            ('0.25', '1')
        """
        self._core.coloring.color_by(by, batch)
        self._core.listeners.notify()

    @property
    def legend(self) -> Legend | None:
        """The legend of the drawing; None for the default colors.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.view.color_by("parameters")
        >>> editor.view.legend
        Legend(by='parameters', entries=(), low='8', high='64', notice='')
        """
        return self._core.coloring.legend

    # The drawing

    def scene(self) -> scenes.Scene:
        """Lay out the drawing, as in a wide pane: a narrow pane of the page has a drawing of its own.

        `editor.draw`, `to_svg` and `editor.save` draw the same; the page's *Export* draws what its pane shows.

        Returns:
            The drawing as arrays; `box` is float32 [items, 4]: left, top, width, height in pixels. See `scene.scene`.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> scene = editor.view.scene()
            >>> len(scene.names) == len(scene), scene.box.shape[1], scene.box.dtype
            (True, 4, dtype('float32'))
        """
        return self._core.view.scene()

    def to_svg(self, *, dark: bool = False) -> str:
        """Draw as SVG.

        Args:
            dark: Use the colors of the dark theme.

        Returns:
            The text of an SVG document, with sizes in pixels.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.view.to_svg().startswith("<svg ")
            True
        """
        from tfgraphwidget.scene.rendering import svg

        scene = self.scene()
        return svg(scene, paint=self._core.paint(scene), dark=dark)

"""The view: the methods of GraphEditor that say which graph is current, and what is drawn of it,
where and how.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfgraphwidget import runtime
from tfgraphwidget.argument_checks import ArgumentChecks, set_property, value_text
from tfgraphwidget.editor.graph_view import Names
from tfgraphwidget.editor.state import EditorCore
from tfgraphwidget.errors import GraphEditError, WrongType
from tfgraphwidget.graph import Difference, FunctionRef
from tfgraphwidget.scene import scene as scenes
from tfgraphwidget.scene.coloring import Legend
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.tf_types import OpLike
from tfgraphwidget.visible import Direction


class View(ArgumentChecks):
    """Enters functions, and expands, hides, pins, colors and draws items of the graph."""

    def __init__(self, core: EditorCore, editor: object) -> None:
        self._core, self._editor = core, editor

    __setattr__ = set_property

    def __repr__(self) -> str:
        return f"<View: {' > '.join(self.breadcrumb)}>"

    @property
    def widget(self) -> Any:
        """The editor as an ipywidgets widget; always the same one, until that is closed.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> selection = editor.mark("x:0", "net/logits:0")
        >>> editor.view.widget.inputs, editor.view.widget.outputs
        (('x:0',), ('net/logits:0',))
        """
        core = self._core
        if core.widget is None or core.widget.comm is None:
            core.widget = core.show(self._editor)
        return core.widget

    def on_change(self, function: Callable[[], object]) -> Callable[[], None]:
        """Call a function after each change of the graph, or of what is shown or selected of it.

        Args:
            function: The function, which takes no arguments. Its errors are logged.

        Returns:
            A function that ends it.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> end = editor.view.on_change(lambda: print(len(editor.history), "edits"))
            >>> report = editor.bypass("net/hidden/Relu")
            1 edits
            >>> end()
            >>> report = editor.rename("loss", "mean_loss")
        """
        return self._core.listeners.add(function)

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
            For each function what the op uses it as, its `label` ("body", "cond", "f"), and its
            name, `function`.

        Raises:
            UnknownName: The op is not in the graph.

        Example:
            >>> import tfgraphwidget as tgw
            >>> import tensorflow as tf
            >>> fn = tf.function(
            ...     lambda x: tf.while_loop(lambda x: x < 9.0, lambda x: [x * 2.0], [x]),
            ...     autograph=False,
            ... )
            >>> editor = tgw.edit(fn, signature=[tf.TensorSpec([], tf.float32)])
            >>> [function.label for function in editor.view.called_functions("while")]
            ['body', 'cond']
        """
        return self._core.navigator.called_functions(self._core.arguments.name(op))

    def enter(self, op: OpLike, label: str | None = None, *, everywhere: bool = False) -> None:
        """Make the body of a function that an op calls the current graph.

        An edit of the body is an edit of the graph: the op then calls the edited function, under a
        new name. Other calls of the function go on calling it as it is, unless `everywhere` is
        true. The graph's session follows; code that runs a `tf.function` already does not, so that
        `to_module` and `to_function` give the edited one.

        Args:
            op: The op, or the name of a function in the graph's library, for all its calls.
            label: Which of its functions: "body", "cond"; None for the first.
            everywhere: Whether edits are for all calls of the function, in the graph and in other
                functions.

        Raises:
            UnknownName: The op is not in the graph, or calls no such function.

        Example:
            >>> import tfgraphwidget as tgw
            >>> import tensorflow as tf
            >>> fn = tf.function(
            ...     lambda x: tf.while_loop(lambda x: x < 9.0, lambda x: [x * 2.0], [x]),
            ...     autograph=False,
            ... )
            >>> editor = tgw.edit(fn, signature=[tf.TensorSpec([], tf.float32)])
            >>> editor.view.enter("while", "body")
            >>> editor.view.breadcrumb
            ("tf.function '<lambda>'", 'while:body')
        """
        core = self._core
        is_function = isinstance(op, str) and op in core.index.functions
        name = str(op) if is_function else core.arguments.name(op)
        core.navigator.enter(name, label or "", everywhere=bool(everywhere))
        core.listeners.notify()

    def leave(self, depth: int | None = None) -> None:
        """Return to the calling graph; at the top level nothing changes.

        Args:
            depth: The level of `breadcrumb` to return to instead; 0 is the top level.

        Raises:
            InvalidArgument: There is no such level.

        Example:
            >>> import tfgraphwidget as tgw
            >>> import tensorflow as tf
            >>> fn = tf.function(
            ...     lambda x: tf.while_loop(lambda x: x < 9.0, lambda x: [x * 2.0], [x]),
            ...     autograph=False,
            ... )
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
        ['net', 'net/hidden']
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
            >>> sorted(editor.view.hidden), editor._core.view.hidden_ops
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
            >>> len(editor._core.index) - editor._core.view.hidden_ops
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
            >>> editor._core.view.hidden_ops
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

    # A text, as jedi, with which notebooks complete names, fails at a property that is a Literal,
    # and proposes no name of the view at all.
    @property
    def direction(self) -> str:
        """The direction of tensors in the drawing, "down" or "right"; assign to change it.

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

    def unpin(self, name: str | None = None) -> None:
        """Let the layout place an item again.

        Args:
            name: The item; None for all of them, and then the drawing is laid out from scratch.

        Raises:
            UnknownName: There is no such item.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> before = editor.view.to_svg()
            >>> editor.view.pin("loss", 700, 300)
            >>> editor.view.unpin("loss")
            >>> editor.view.to_svg() == before
            True
        """
        self._core.view.unpin(name or "")
        self._core.listeners.notify()

    # Colors

    def color_by(self, by: object = None, *, batch: int = 1) -> None:
        """Color the drawing by what is known of the ops.

        Boxes that contain several ops show the sum of their costs, the mean of your own numbers, or
        the most frequent category.

        Args:
            by: One of

                * None for the default colors, by families of op types
                * "type", "device", "dtype" (of the first output), "scope" (the outermost ones),
                  "structure" (equal structure, equal color), "trainable" (variables), "diff" (what
                  edits have changed)
                * "parameters", "output bytes" or "FLOPs"
                * "time" or "memory", after `measure`, or if nothing needs to be fed
                * a column of `table()`, by its name or itself
                * {name of an op, tensor or scope: value}, or a function of an op, as `where` of
                  `ops`, that returns a value: numbers give a ramp, other values categories; None is
                  no value
            batch: The first dimension of inputs that leave it open; sizes that it does not give
                count as 1.

        Raises:
            GraphEditError: `by` does not describe ops, or `batch` is not a positive integer.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.view.color_by({"net/hidden": 0.25, "net/logits": 1.0})
            >>> editor.view.legend.low, editor.view.legend.high
            ('0.25', '1')
        """
        self._core.coloring.color_by("" if by is None else by, batch)
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
        """Lay out the drawing as in a wide pane; a narrow pane has a drawing of its own.

        `editor.draw`, `to_svg` and `editor.save` draw the same; the page's *Export* draws what its
        pane shows.

        Returns:
            The drawing as arrays; `box` is float32 [items, 4]: left, top, width, height in pixels.
            See `scene.scene`.

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

    # What is colored of a comparison or a run

    @property
    def difference(self) -> Difference | None:
        """The difference that the drawing shows; None for none. Assign one to show it.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.bypass("net/hidden/Relu")
        >>> editor.view.difference = editor.diff()
        >>> [changed.name for changed in editor.view.difference.changed][0]
        'net/logits'
        """
        return self._core.evaluator.difference

    @difference.setter
    def difference(self, value: Difference | None) -> None:
        if value is not None and not isinstance(value, Difference):
            raise WrongType(
                "difference",
                f"{value_text(value)} is not a Difference; "
                + in_cell("assign editor.diff(), or None."),
            )
        self._core.evaluator.difference = value
        self._core.listeners.notify()

    @property
    def probe(self) -> runtime.measure.probe.Probe | None:
        """The result of `editor.probe` that the drawing shows; assign None to show none.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> found = editor.probe("net/hidden/Relu", {"x:0": [[1, 2, 3, 4]]})
        >>> editor.view.probe is found
        True
        >>> editor.view.probe = None
        """
        return self._core.evaluator.probe_shown

    @probe.setter
    def probe(self, value: runtime.measure.probe.Probe | None) -> None:
        if value is not None:
            what = value_text(value)
            raise WrongType(
                "probe", f"{what} cannot be shown; " + in_cell("call editor.probe, or assign None.")
            )
        self._core.evaluator.forget_probe()

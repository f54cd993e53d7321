"""Looking: moving about in a graph and choosing parts of it. Nothing here changes the graph."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfgraphwidget.editor.graph_view import Names, Room
from tfgraphwidget.editor.navigator import Rooms
from tfgraphwidget.editor.selection_api import Selecting
from tfgraphwidget.graph.called_functions import Door
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.selection import Selection

if TYPE_CHECKING:
    from tfgraphwidget.sources import Source

_log = logging.getLogger(__name__)


class Looking(Selecting):
    """Where a person stands and what they have chosen; GraphEditor is one of these.

    `fresh` holds the names of the ops that the last edit made. `listeners` are called after each change of what is
    seen.
    """

    def __init__(self, first: Room, source: Source) -> None:
        self._rooms = Rooms(first)
        self._rooms.start(source)
        self.fresh: frozenset[str] = frozenset()
        self.listeners: list[Callable[[], None]] = []

    def changed(self) -> None:
        """Tell all who listen. What they are told of is done, so what one of them raises is only logged."""
        for listener in tuple(self.listeners):
            _tell(listener)

    # Where one stands

    @property
    def index(self) -> GraphIndex:
        """The graph one stands in as it is now; ops that other cells added are taken in.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> len(editor.index), editor.index.names[:2]
        (74, ['x', 'labels'])
        """
        return self.room.index

    @property
    def room(self) -> Room:
        """The graph one stands in: the source's own, or a function's body."""
        return self._rooms.here

    @property
    def breadcrumb(self) -> tuple[str, ...]:
        """Where one stands: the source's title, then each op entered.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.breadcrumb
        ('Graph',)
        """
        return self._rooms.path

    def doors(self, op: Any) -> tuple[Door, ...]:
        """The functions that an op calls, each with what the op uses it as ("body", "cond", "f").

        >>> import tfgraphwidget as tgw
        >>> import tensorflow as tf
        >>> fn = tf.function(lambda x: tf.while_loop(lambda x: x < 9.0, lambda x: [x * 2.0], [x]), autograph=False)
        >>> editor = tgw.edit(fn, signature=[tf.TensorSpec([], tf.float32)])
        >>> [door.label for door in editor.doors("while")]
        ['body', 'cond']
        """
        return self._rooms.doors(self._one(op))

    def enter(self, op: Any, label: str = "") -> None:
        """Stand in the function that an op calls: `editor.enter("while", "body")`; without a label, the first one.

        A function of the graph's library can be entered by its own name too. Raises UnknownName.

        >>> import tfgraphwidget as tgw
        >>> import tensorflow as tf
        >>> fn = tf.function(lambda x: tf.while_loop(lambda x: x < 9.0, lambda x: [x * 2.0], [x]), autograph=False)
        >>> editor = tgw.edit(fn, signature=[tf.TensorSpec([], tf.float32)])
        >>> editor.enter("while", "body")
        >>> editor.breadcrumb
        ("tf.function '<lambda>'", 'while:body')
        """
        self._rooms.enter(op if isinstance(op, str) and op in self.index.functions else self._one(op), str(label))
        self.changed()

    def leave(self, depth: int | None = None) -> None:
        """Go back one room, or to the one at this place of `breadcrumb` (0: the graph itself). Raises NothingTo.

        >>> import tfgraphwidget as tgw
        >>> import tensorflow as tf
        >>> fn = tf.function(lambda x: tf.while_loop(lambda x: x < 9.0, lambda x: [x * 2.0], [x]), autograph=False)
        >>> editor = tgw.edit(fn, signature=[tf.TensorSpec([], tf.float32)])
        >>> editor.enter("while", "body")
        >>> editor.leave()
        >>> editor.breadcrumb
        ("tf.function '<lambda>'",)
        """
        self._rooms.leave(depth)
        self.changed()

    # What is chosen; Selecting has the ways to say it

    def _names(self, given: Any) -> tuple[str, ...]:
        return self.room.names(given)

    def _boundary(self, inputs: Names | None, outputs: Names | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The boundary that a call means: the one that it names, or the chosen one when it names none at all.

        A side that is left out beside the other is empty. Were it the chosen one, the same line of Python would mean
        something else after each click, and after each clone.
        """
        if inputs is None and outputs is None:
            return self.room.boundary
        named = [() if side is None else self._names(side) for side in (inputs, outputs)]
        return named[0], named[1]

    def mark(self, inputs: Names = (), outputs: Names = ()) -> Selection | None:
        """Choose the boundary, as clicks do; the selection between, once there are outputs and inputs.

        Raises UnknownName or NoPath and keeps the boundary as it was.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.mark("x:0", "net/logits:0")
        editor.between(['x:0'], ['net/logits:0'])
        >>> editor.inputs, len(editor.selection)
        (('x:0',), 10)
        """
        selection = self.room.mark(self._names(inputs), self._names(outputs))
        self.changed()
        return selection

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the input boundary.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> selection = editor.mark("net/hidden/Relu:0", "loss:0")
        >>> editor.inputs
        ('net/hidden/Relu:0',)
        """
        return self.room.boundary[0]

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the output boundary.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> selection = editor.mark("net/hidden/Relu:0", "loss:0")
        >>> editor.outputs
        ('loss:0',)
        """
        return self.room.boundary[1]

    @property
    def selection(self) -> Selection | None:
        """What lights up: the ops between the boundaries, or those chosen. Assign a Selection, or None.

        None when there is nothing: also when an edit has cut every path between the boundaries, or removed what was
        chosen. `notices` says so then, and undo selects it again.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.selection = editor.scope("net/hidden") - editor.trainable()
        >>> editor.selection, len(editor.selection)
        ((editor.scope('net/hidden') - editor.trainable()), 13)
        """
        return self.room.selection

    @selection.setter
    def selection(self, chosen: Any) -> None:
        self.room.choose(chosen if chosen is None or isinstance(chosen, Selection) else self.ops(*self._names(chosen)))
        self.changed()

    def networkx(self) -> Any:
        """The graph one stands in as a `networkx.MultiDiGraph`; see `graph.nx.networkx`.

        `tgw.edit` opens it again, also with nodes left out or relabelled: `meta_graph_def` of the graph and `node_def`
        of each node are the bytes of what they stand for.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> graph = editor.networkx()
        >>> [(target, edge["tensor"], edge["shape"]) for _, target, edge in graph.edges("net/logits", data=True)][:1]
        [('cross_entropy/cross_entropy', 'net/logits:0', (None, 3))]
        """
        from tfgraphwidget.export.formats.networkx_extras import surroundings
        from tfgraphwidget.graph import nx

        graph = nx.networkx(self.index, nodes=True)
        graph.graph["meta_graph_def"] = surroundings(self.index, self.room.body.envelope)
        return graph

    def table(self) -> Any:
        """One row for each op, in graph order: a pandas DataFrame, with the columns of `graph.table.COLUMNS`.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.table().set_index("name").loc["net/logits", ["type", "outputs"]].tolist()
        ['MatMul', ('float32 (None, 3)',)]
        """
        from tfgraphwidget.graph import table

        return table.table(self.index)


def _tell(listener: Callable[[], None]) -> None:
    try:
        listener()
    except Exception:  # whatever it is, it is the listener's
        _log.exception("The graph has changed, and a listener of its editor failed: %r", listener)

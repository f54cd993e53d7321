"""LiveGraph: the graph of a source, which other cells change too, kept in step with its index.

The index follows the graph: ops that came since are read when the index is next asked for. Ops hidden by an undo
(see `applying.patches`), and whatever was built on them, are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any

from tfgraphwidget.applying import patches, values
from tfgraphwidget.edits.hidden import reading, reserved, shown
from tfgraphwidget.edits.patch import Patch, patched
from tfgraphwidget.graph.index import GraphIndex, build
from tfgraphwidget.preparing import Place

if TYPE_CHECKING:
    from tfgraphwidget.sources.body import Source


class LiveGraph:
    """A source with its index; the one place that carries patches out."""

    def __init__(self, source: Source) -> None:
        self.source = source
        if source.session is not None and source.graph is not None:
            values.check_session(source.session, source.graph)
        self._built_on_hidden: set[str] = set()
        self._known = 0  # nodes of the body that the index was told of
        self._index: GraphIndex
        self.reread()

    @property
    def index(self) -> GraphIndex:
        """The graph as it is now."""
        if self.is_behind():
            stamp = self._present_stamp()
            grew = stamp[1:] == self._stamp[1:]  # else another editor has hidden ops, or shown them again
            self._take(stamp, grown=grew)
        return self._index

    def is_behind(self) -> bool:
        """Whether there is something in the graph that the index was not told of yet."""
        return self._present_stamp() != self._stamp

    def reread(self) -> None:
        """Read the whole graph anew, edges that other code has changed in place included."""
        self._take(self._present_stamp(), grown=False)

    def graph(self) -> Any:
        """The graph that can be changed and run; a file is imported now. Raises NotRunnable."""
        if self.source.graph is None:
            self.source.live()
            self.reread()
        return self.source.graph

    def _record(self) -> patches.Record:
        graph = self.source.graph
        return patches.Record() if graph is None else patches.record_of(graph)

    def _present_stamp(self) -> tuple[Hashable, int, int]:
        return self.source.body.stamp(), self._record().generation, id(self.source.body)

    def _take(self, stamp: tuple[Hashable, int, int], *, grown: bool) -> None:
        """Read, and take over all that was read at once: when reading fails, it is as if nobody had asked."""
        base = self._index if grown else None
        known = self._known if grown else 0
        built_on_hidden = set(self._built_on_hidden) if grown else set()
        body, hidden = self.source.body, self._record().hidden
        read = body.nodes(known)
        nodes, (collections, variables) = read, body.collections()
        if hidden:
            # Not hidden for good: who shows again what they were built on shows them too.
            built_on_hidden |= reading(nodes, hidden | built_on_hidden)
            hidden = hidden | built_on_hidden
            nodes = [node for node in nodes if node.name not in hidden]
            collections, variables = shown(collections, variables, hidden)
        functions = body.functions() - self._record().functions
        if base is not None:
            index = base.extended(nodes, collections, variables, functions)
        else:
            taken = reserved(hidden - self._record().failed.keys())
            told: dict[str, Any] = {"typing": body.typing, "functions": functions, "beside": body, "origin": self}
            index = build(nodes, collections, variables, taken, **told)
        self._index, self._stamp, self._known = index, stamp, known + len(read)
        self._built_on_hidden = built_on_hidden

    def carry_out(
        self, patch: Patch, fill: Callable[[], None], origin: Any = None, then: Callable[[], None] = lambda: None
    ) -> None:
        """Apply, fill, follow with the index, and `then()`; if any of it fails, the graph is as before.

        `origin` is the graph that holds the originals of what is copied, if it is another one.
        """
        graph = self.graph()
        before, generation = self.index, self._stamp[1]

        def follow() -> None:
            fill()
            # Ops that are shown again come back at their old places in graph order.
            if patch.add.nodes and self._record().generation != generation:
                self.reread()
            else:
                self._index, self._known = patched(before, patch), graph.version
                self._stamp = self._present_stamp()
            then()

        # When it fails the generation has grown, so that the index is read anew when it is next asked for.
        patches.apply_live(patch, graph, origin or graph, follow)

    def place(self) -> Place:
        """The graph, imported now if it is a file's, with its index and session."""
        graph = self.graph()
        return Place(self.index, graph, self.source.session)

    def left(self) -> frozenset[str]:
        """Names, in lower case, that an edit which failed has left taken for all edits but itself."""
        return reserved(set(self._record().failed))

    def has_values(self) -> bool:
        """Whether the variables have values: those of a checkpoint, or what a person gave the session since."""
        source = self.source
        if not source.has_values and source.session is not None:
            first = next((v for v in self.index.variable_defs if v.snapshot or not v.resource), None)
            source.has_values = first is not None and values.has_value(source.session, first.snapshot or first.name)
        return source.has_values

    def variables(self, patch: Patch) -> tuple[Any, ...]:
        """The `tf.Variable`s that a patch has made, in graph order."""
        return self.named(v.handle for v in patch.add.variables)

    def named(self, handles: Iterable[str]) -> tuple[Any, ...]:
        """The `tf.Variable`s of some handle ops."""
        return patches.variables_of(self.graph(), [f"{handle}:0" for handle in handles])

"""LiveGraph: a graph that other cells change too, kept in step with its index.

The index follows the graph: ops that came since are read when the index is next asked for. Ops hidden by an undo
(see `edits.apply`), and whatever was built on them, are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tfgraphwidget.edits import apply, values
from tfgraphwidget.edits.clone import Clone, source_of
from tfgraphwidget.edits.hidden import reading, reserved, shown
from tfgraphwidget.edits.patch import Patch, patched
from tfgraphwidget.errors import SessionRefused, UnknownName
from tfgraphwidget.graph.index import GraphIndex, build
from tfgraphwidget.graph.select import Selection
from tfgraphwidget.graph.variables import definitions

if TYPE_CHECKING:
    from tfgraphwidget.sources import Source

Names = str | Iterable[Any]


class LiveGraph:
    """A source with its index; the one place that carries patches out."""

    def __init__(self, source: Source) -> None:
        self.source = source
        if source.session is not None:
            values.check_session(source.session, source.graph)
        self._built_on_hidden: set[str] = set()
        self._stamp = self._present_stamp()
        self._index = self._read()

    @property
    def index(self) -> GraphIndex:
        """The graph as it is now."""
        stamp = self._present_stamp()
        if stamp != self._stamp:
            grew = stamp[1] == self._stamp[1]  # else another editor has hidden ops, or shown them again
            self._index = self._read(self._index, known=self._stamp[0][0]) if grew else self._read()
            self._stamp = stamp
        return self._index

    def _present_stamp(self) -> tuple[tuple[int, int], int]:
        return self.source.stamp(), apply.record_of(self.source.graph).generation

    def _read(self, base: GraphIndex | None = None, known: int = 0) -> GraphIndex:
        """The index of what is not hidden; only ops after the first `known` are read when there is a `base`."""
        nodes = self.source.nodes(known)
        collections, variables = self.source.collections()
        hidden = apply.record_of(self.source.graph).hidden
        if base is None:
            self._built_on_hidden = set()
        if hidden:
            # Not hidden for good: who shows again what they were built on shows them too.
            self._built_on_hidden |= reading(nodes, hidden | self._built_on_hidden)
            hidden = hidden | self._built_on_hidden
            nodes = [node for node in nodes if node.name not in hidden]
            collections, variables = shown(collections, variables, hidden)
        if base is None:
            return build(nodes, collections, variables, reserved(hidden))
        return base.extended(nodes, collections, variables)

    def carry_out(self, patch: Patch, fill: Callable[[], None]) -> None:
        """Apply and fill; if either fails, the inverse is applied and the graph is as before."""
        before, generation = self.index, self._stamp[1]
        try:
            apply.apply_live(patch, self.source.graph)
            fill()
        except BaseException:
            apply.apply_live(patch.inverse(), self.source.graph)
            self._index, self._stamp = self._read(), self._present_stamp()
            raise
        self._stamp = self._present_stamp()
        # Ops that are shown again come back at their old places in graph order.
        again = bool(patch.add.nodes) and self._stamp[1] != generation
        self._index = self._read() if again else patched(before, patch)

    def prepared(self, command: Clone, patch: Patch) -> Callable[[], None]:
        """Everything that can be refused before the graph changes; what is left to do once the ops are there."""
        graph = self.source.graph
        apply.check_open(graph)
        fill = self._prepared_values(command, patch)
        pairs = [(node.name[len(command.into) + 1 :], node.name) for node in patch.add.nodes]

        def carry_on() -> None:
            apply.keep_shapes(graph, pairs)
            fill()

        return carry_on

    def _prepared_values(self, command: Clone, patch: Patch) -> Callable[[], None]:
        session, own, index = self.source.session, patch.add.variables, self._index
        if not own or command.init == "none":
            return lambda: None
        if session is None:
            raise SessionRefused(
                "There is no session to initialise the copied variables in; give tgw.edit(graph, session=session), "
                'or clone with init="none".'
            )
        values.check_session(session, self.source.graph)
        handles = [index.ids[source_of(command, v)] for v in own]
        if command.init == "initial":
            values.check_initial_values(session, index, handles)
            return lambda: values.run_initializers(session, own)
        originals = definitions(index, handles).values()
        present = values.current_values(session, originals)
        values.check_loadable(session, originals, present)
        loaded = {v.handle: present[source_of(command, v)] for v in own}
        return lambda: values.load(session, own, loaded)

    def variables(self, patch: Patch) -> tuple[Any, ...]:
        """The `tf.Variable`s that a patch has made, in graph order."""
        made = apply.record_of(self.source.graph).variables
        return tuple(made[v.name] for v in patch.add.variables)

    def names(self, given: Names) -> tuple[str, ...]:
        """Op and tensor names of what was given: names, tensors, ops, one or many; each is in this graph."""
        many = given if isinstance(given, list | tuple | set | frozenset | Iterator | Selection) else [given]
        return tuple(self._name(item) for item in many)

    def _name(self, item: Any) -> str:
        name = item if isinstance(item, str) else getattr(item, "name", None)
        if not isinstance(name, str):
            raise UnknownName(
                f"{str(item)[:60]!r} is neither a name nor a tensor or op of a graph; write 'scope/op:0'."
            )
        if not isinstance(item, str) and getattr(item, "graph", self.source.graph) is not self.source.graph:
            raise UnknownName(
                f"{name!r} belongs to another graph than the one this editor holds; open an editor on that graph."
            )
        self.index.op(name)
        self.source.element(name)
        return name

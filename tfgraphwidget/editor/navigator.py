"""The navigator: the path from a graph into the functions that its ops call, and back; and how a
graph that is given to a command becomes one with a view.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple

from tfgraphwidget import edits
from tfgraphwidget.editor.graph_view import GraphView
from tfgraphwidget.editor.places import CalledFunction, OpenedGraph
from tfgraphwidget.errors import InvalidArgument, NoPath, UnknownName
from tfgraphwidget.graph import FunctionRef, Signature, called_functions
from tfgraphwidget.layout import Layout
from tfgraphwidget.sources import EditedLibrary, entry_path, open_source, shared_functions

if TYPE_CHECKING:
    from tfgraphwidget.edits.clone import Add
    from tfgraphwidget.sources import Source


class Navigator:
    """The stack of views: the source's own first, the current last; replaced, never changed."""

    def __init__(self, first: GraphView) -> None:
        self.stack: tuple[GraphView, ...] = (first,)
        self._views: dict[tuple[str, ...], GraphView] = {}
        # Those that `signatures.open` led to.
        self.signature_paths: frozenset[tuple[str, ...]] = frozenset()

    @property
    def here(self) -> GraphView:
        """The view of the current graph."""
        return self.stack[-1]

    @property
    def outermost(self) -> GraphView:
        """The view of the source's own graph."""
        return self.stack[0]

    @property
    def path(self) -> tuple[str, ...]:
        """The titles of the views, outermost first."""
        return tuple(view.title for view in self.stack)

    @property
    def function(self) -> str:
        """The name in the library of the current function; "" in the graph itself."""
        target = self.here.target
        return target.function if isinstance(target, CalledFunction) else ""

    def called_functions(self, name: str) -> tuple[FunctionRef, ...]:
        """The functions that an op of the current graph calls."""
        index = self.here.index
        return called_functions(index.nodes[index.op(name)], index.functions)

    def enter(self, name: str, label: str = "", *, everywhere: bool = False) -> None:
        """Enter a function that an op calls, or one of the library by its own name.

        Args:
            name: The op, or the function.
            label: Which function of the op: a label as "body", or the function's name; "" for the
                first.
            everywhere: Whether edits are for all calls of the function, as they are where it is
                entered by name.

        Raises:
            UnknownName: The op is not in the graph, or calls no such function.
        """
        index = self.here.index
        if name not in index.ids and name in index.functions:
            self._go_in(edits.Entrance(name))
            return
        ways = self.called_functions(name)
        if not ways:
            callers = [
                index.names[i]
                for i, node in enumerate(index.nodes)
                if called_functions(node, index.functions)
            ]
            some = ", ".join(map(repr, callers[:3])) + (
                f" and {len(callers) - 3} more" if callers[3:] else ""
            )
            others = f"these do: {some}" if callers else "nor does any other here"
            raise UnknownName(
                f"Op {name!r} calls no function that one could enter; {others}.", [name]
            )
        way = next((d for d in ways if label in ("", d.label, d.function)), None)
        if way is None:
            choices = " or ".join(repr(d.label) for d in ways)
            raise UnknownName(
                f"Op {name!r} calls no function as {label!r}; enter {choices}.", [name]
            )
        self._go_in(
            edits.Entrance(
                index.names[index.op(name)], "" if len(ways) == 1 else way.label, everywhere
            )
        )

    def _go_in(self, entrance: edits.Entrance) -> None:
        path, outer = (*self.path, entrance.title), self.here.target
        assert isinstance(outer, OpenedGraph | CalledFunction)  # there are no others
        if path not in self._views:
            self._views[path] = GraphView(
                entrance.title, CalledFunction(outer, entrance), self.outermost.layout
            )
        self.stack = (*self.stack, self._views[path])

    @property
    def views(self) -> tuple[GraphView, ...]:
        """The view of each graph that was entered, the graph itself included."""
        return self.outermost, *self._views.values()

    def inside(self, path: tuple[str, ...]) -> dict[str, GraphView]:
        """The views of functions that were entered from the graph of that path, by their titles."""
        return {titles[-1]: view for titles, view in self._views.items() if titles[:-1] == path}

    def go(self, path: tuple[str, ...]) -> None:
        """Make the graph of a path current that was entered before, or the graph itself."""
        views = [
            self._views[path[:depth]]
            for depth in range(2, len(path) + 1)
            if path[:depth] in self._views
        ]
        self.stack = (self.outermost, *(views if len(views) == len(path) - 1 else ()))

    def leave(self, depth: int | None = None) -> None:
        """Return to the calling graph, or to that level; 0 is the graph itself."""
        to = max(len(self.stack) - 2, 0) if depth is None else depth
        if not 0 <= to < len(self.stack):
            raise InvalidArgument(
                "depth",
                f"leave({depth}): depth must be 0 to {len(self.stack) - 1} for "
                f"{' / '.join(self.path)}.",
            )
        self.stack = self.stack[: to + 1]

    def open_signature(self, source: Source, signature: Signature) -> None:
        """Show where a signature is computed, and make it the chosen one of the source."""
        index = self.outermost.index
        library = EditedLibrary(self.outermost.body, index)
        self.leave(0)
        source.signature = signature
        source.entrance = entry_path(signature, index.nodes, library)
        source.shared_functions = shared_functions(
            signature, source.signatures, index.nodes, library
        )
        self.start(source)
        self.signature_paths |= {self.path}

    def start(self, source: Source) -> None:
        """Enter the function that computes the chosen signature, or mark its inputs and outputs in
        the graph. Those of a converted model, which is not edited, are not marked.
        """
        for op in source.entrance:
            shared = any(
                each.function in source.shared_functions for each in self.called_functions(op)
            )
            self.enter(op, everywhere=shared)
        is_marked = not source.entrance and source.converted_model is None
        if source.signature is not None and is_marked:
            boundary = source.signature.inputs, source.signature.outputs
            with contextlib.suppress(NoPath):  # a signature may name an input that it does not use
                self.here.mark(*(tuple(name for _, name in side) for side in boundary))


def opened_navigator(
    source: Source, target: OpenedGraph | None = None, layout: Layout | None = None
) -> Navigator:
    """The navigator of a source, where its chosen signature is computed, with a networkx layout for
    the views, or the layered one.
    """
    target = target or OpenedGraph(source)
    navigator = Navigator(GraphView(source.title, target, layout))
    navigator.start(source)
    return navigator


def target_of(model: object) -> OpenedGraph | None:
    """The target of an editor; None for what is not an editor."""
    target = getattr(getattr(model, "_core", None), "target", None)
    return target if isinstance(target, OpenedGraph) else None


class AddedGraph(NamedTuple):
    """A graph that a command adds, and what edits have made of it."""

    source: Source
    target: OpenedGraph
    view: GraphView
    patches: tuple[edits.Patch, ...]
    signatures: tuple[Signature, ...]


def added_graph(command: Add) -> AddedGraph:
    """The graph of the editor that a command adds, or of what it opens."""
    core, target = getattr(command.source, "_core", None), target_of(command.source)
    if core is not None and target is not None:
        view = core.navigator.outermost
        patches, signatures = core.executor.patches_of(view), core.executor.signatures
        return AddedGraph(core.source, target, view, patches, signatures)
    source = open_source(
        command.source, command.session, checkpoint=command.checkpoint, tags=command.tags
    )
    target = OpenedGraph(source)
    view = opened_navigator(source, target).outermost
    return AddedGraph(source, target, view, (), source.signatures)

"""The view of one graph, a source's own or a function's body: what is selected, open, hidden and
pinned in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from types import MethodType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeGuard

import numpy as np

from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.errors import GraphEditError, NoPath, UnknownName
from tfgraphwidget.graph import (
    GraphIndex,
    Mask,
    Op,
    Selection,
    as_selection,
    between,
    check_ports,
    pairs,
    selectors,
    traversal,
)
from tfgraphwidget.hierarchy import Outline, outline_of
from tfgraphwidget.layout import Layout, LayoutCache, aspect_of, level_of
from tfgraphwidget.layout.free_form import pinning
from tfgraphwidget.naming import (
    by_new_name,
    enclosing_scopes,
    last_part,
    names_text,
    scope_around,
    split_tensor,
)
from tfgraphwidget.scene import Scene, candidates, first_drawing, prefetch, zoom_in
from tfgraphwidget.scene import scene as scenes
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.tf_types import OpLike, OpsLike
from tfgraphwidget.visible import ROOT_ASPECT, Direction, ViewSpec, find_shown_ops, visible_graph

if TYPE_CHECKING:
    from tfgraphwidget.editor.transaction import Transaction
    from tfgraphwidget.edits import FunctionBoundary, Patch
    from tfgraphwidget.sources import Body

Names: TypeAlias = OpsLike
Boundary = tuple[tuple[str, ...], tuple[str, ...]]
"""Names of the inputs and of the outputs of a part."""
Choice = tuple[Boundary, Selection | None]
"""A boundary, or a selection."""
# a page moves 76,000 boxes at 60 frames a second; with 760,000 it runs out of memory
MOST_ITEMS = 250_000
_UNMARKED: Boundary = ((), ())
_NARROW = 1.3  # width : height of a pane that the drawing wraps to
_FARTHEST = 10_000_000  # pixels; further out, the drawing's float32 knows no single pixels


class EditTarget(Protocol):
    """A graph that edits are applied to; `first` is what it was before all of them."""

    first: GraphIndex

    @property
    def body(self) -> Body:
        """The body that the graph is read from; a file becomes a live graph."""

    @property
    def index(self) -> GraphIndex:
        """The graph as it is now."""

    @property
    def boundary(self) -> FunctionBoundary | None:
        """The arguments and results of a function; None for a graph."""

    def fit(self, patch: Patch) -> Patch:
        """The patch as this graph can carry it out."""

    def refit(self, patch: Patch, steps: Transaction) -> Patch:
        """The patch of an edit that was undone, as this graph can carry it out now."""

    def apply(self, patch: Patch, steps: Transaction, *, renew: bool = True) -> tuple[str, ...]:
        """Apply a patch as a step of an edit.

        Args:
            steps: The transaction of the edit; a later failure in it undoes this step.
            renew: Whether a session that has run the changed ops is renewed, so that it runs them
                as they are now.

        Returns:
            A sentence for each thing that the edit loses.
        """

    def revert(
        self, patch: Patch, steps: Transaction, *, renew: bool = True
    ) -> tuple[Patch, tuple[str, ...]]:
        """Undo an edit as a step of another.

        Args:
            steps: The transaction of the undo; a later failure in it makes the edit again.
            renew: Whether a session that has run the changed ops is renewed.

        Returns:
            The patch that undoes the edit, and a sentence for each thing that the undo loses.
        """


class GraphView:
    """The selection and the view of one graph; `title` is its name in the path.

    `target` is what edits are applied to. `layout` is any networkx layout, a callable that takes a
    graph and returns {node: (x, y)}; None for the layered one.
    """

    def __init__(self, title: str, target: EditTarget, layout: Layout | None = None) -> None:
        self.title, self.target, self._layout = title, target, layout
        self._marked: Boundary = _UNMARKED
        self._entered: frozenset[str] = frozenset()
        self._selection: Selection | None = None
        self._between_cache: tuple[GraphIndex, Selection | None, str] | None = None
        self._opened: frozenset[str] | None = None  # None until the view is asked for
        self.hidden: frozenset[str] = frozenset()
        self.direction: Direction = "down"
        self.aspect = ROOT_ASPECT
        self.aspects: dict[int, float] = {}  # chosen for narrow panes, by `level_of`
        self.first_pane: tuple[float, float] | None = None  # that the open scopes were chosen for
        self._first_open: frozenset[str] | None = None  # in the first drawing
        self.pinned: dict[str, tuple[float, float]] = {}
        self._memos: dict[float, LayoutCache] = {}

    @cached_property
    def _default_open(self) -> frozenset[str]:
        """The scopes and groups that are open at first.

        Computing them takes as long as reading the file, and edits and saves do not need them.
        """
        return visible_graph.default_open(self.index)

    @property
    def opened(self) -> frozenset[str]:
        """The open scopes and groups."""
        if self._opened is None:
            self._opened = self._default_open
        return self._opened

    @opened.setter
    def opened(self, opened: frozenset[str]) -> None:
        self._opened = opened

    @property
    def memo(self) -> LayoutCache:
        """Results and history of the layout of the present pane, each of which has its own."""
        return self._memos.setdefault(self.aspect, LayoutCache())

    @property
    def body(self) -> Body:
        """The body that the graph is read from."""
        return self.target.body

    @property
    def index(self) -> GraphIndex:
        """The graph as it is now."""
        return self.target.index

    # What is selected

    @property
    def boundary(self) -> Boundary:
        """The names of the marked inputs and outputs, less those that the graph has no more."""
        index = self.index
        inputs, outputs = (
            tuple(name for name in side if _is_in(index, name)) for side in self._marked
        )
        return inputs, outputs

    def entrances(self, index: GraphIndex) -> tuple[list[int], list[int]]:
        """The ops at which the inputs of the boundary are drawn: consumers and sources."""
        before, after = [], []
        entry_ops = {index.ids[name] for name in self._entered if name in index.ids}
        names = [name for name in self.boundary[0] if _is_in(index, name)]
        for op, port in pairs(index, names):
            consumers = entry_ops.intersection(traversal.consumers_of(index, [(op, port)]).tolist())
            before += sorted(consumers)
            after += [] if consumers else [op]
        return before, after

    @property
    def selection(self) -> Selection | None:
        """The selected ops, or those between the boundaries; None if there are none.

        Nothing is raised for what an edit has cut or removed: `selection_notice` describes it.
        """
        return self._current_selection()[0]

    @property
    def selection_notice(self) -> str:
        """The sentence about selected ops that edits have removed; "" if there are none."""
        return self._current_selection()[1]

    def _current_selection(self) -> tuple[Selection | None, str]:
        """The selection on the present graph, and its notice; found once per state of the graph."""
        index = self.index
        if self._between_cache is None or self._between_cache[0] is not index:
            self._between_cache = (
                index,
                *(self._between(index) if any(self._marked) else self._still_selected(index)),
            )
        return self._between_cache[1:]

    def _between(self, index: GraphIndex) -> tuple[Selection | None, str]:
        inputs, outputs = self.boundary
        missing = [name for side in self._marked for name in side if not _is_in(index, name)]
        notice = _missing_text(missing)
        if not (inputs and outputs):
            return None, _loss_text(notice, nothing=all(self._marked))
        try:
            return between(index, inputs, outputs) or None, _loss_text(notice)
        except NoPath as error:
            why = error.why.partition(";")[0]
            return None, _loss_text(notice or f"{why[0].lower()}{why[1:]} any more", nothing=True)

    def _still_selected(self, index: GraphIndex) -> tuple[Selection | None, str]:
        if self._selection is None:
            return None, ""
        there = self._selection.on(index)
        missing = [
            name
            for name in (*self._selection.ops, *self._selection.tensors)
            if not _is_in(index, name)
        ]
        return there or None, _loss_text(_missing_text(missing), nothing=not there)

    @property
    def choice(self) -> Choice:
        """The user's marks and selection, with ops missing now; assign to restore them."""
        return self._marked, self._selection

    @choice.setter
    def choice(self, choice: Choice) -> None:
        self._marked, self._selection = choice
        self._between_cache = None

    def mark(
        self,
        inputs: tuple[str, ...],
        outputs: tuple[str, ...],
        *,
        within: Iterable[str] | None = None,
    ) -> Selection | None:
        """Choose the boundary, and with it what lies between, which is returned; raises NoPath and
        changes nothing.

        Args:
            within: Ops at which inputs enter: there they are drawn, at others where they come from.
                None for no op; else those of earlier marks go on.
        """
        index = self.index
        selection = between(index, inputs, outputs) if inputs and outputs else None
        self.choice = (inputs, outputs), None
        self._entered = (
            self._entered.union(within) if within is not None and inputs else frozenset()
        )
        self._between_cache = (index, selection or None, "")
        return self.selection

    def follow(self, renamed: Iterable[tuple[str, str]]) -> None:
        """Let all that names ops here name by their new names those that were renamed."""
        names = dict(renamed)
        if not names:
            return
        inputs, outputs = (
            tuple(by_new_name(name, names) for name in side) for side in self._marked
        )
        selection = self._selection
        if selection is not None and not names.keys().isdisjoint(
            (*selection.ops, *map(_op, selection.tensors))
        ):
            new = (by_new_name(name, names) for name in (*selection.ops, *selection.tensors))
            selection = selectors.ops(
                self.index, *(name for name in new if _is_in(self.index, name))
            )
        self.choice = (inputs, outputs), selection
        self._entered = frozenset(names.get(name, name) for name in self._entered)
        self.hidden = frozenset(names.get(name, name) for name in self.hidden)
        self.pinned = {names.get(name, name): place for name, place in self.pinned.items()}
        self._open_renamed(names)

    def _open_renamed(self, names: Mapping[str, str]) -> None:
        """Open the scopes that were open under old names, and those that renames made around."""
        if self._opened is None:
            return
        outline, new_names = self.outline, set(names.values())
        lost = [name for name in self.opened if name not in outline.ids]
        scopes = _renamed_scopes(names) if lost else {}

        def is_new(scope: str) -> bool:
            ids = self.index.scopes.ids
            return scope in ids and all(
                self.index.names[op] in new_names
                for op in self.index.scopes.ops(ids[scope]).tolist()
            )

        now_open = set[str]()
        for name in lost:
            old = next(
                (one for one in [name, *[*enclosing_scopes(name)][::-1]] if one in scopes), None
            )
            if old is None or not is_new(scopes[old]):
                continue
            new = scopes[old] + name.removeprefix(old)
            now_open |= {new, *filter(is_new, enclosing_scopes(scopes[old]))}
        if now_open:
            self.opened = self.opened.difference(lost) | (now_open & outline.ids.keys())

    def choose(self, selection: Selection | None) -> None:
        """Choose these ops, or none; the boundary is then empty."""
        self.choice = (
            _UNMARKED,
            None if selection is None else as_selection(selection).on(self.index),
        )

    # What is seen

    @property
    def view_spec(self) -> ViewSpec:
        """The specification of the view."""
        return self.with_open(())

    @property
    def outline(self) -> Outline:
        """The tree that is drawn: name scopes, and groups made for the drawing."""
        return outline_of(self.index)[0]

    def is_container(self, name: str) -> bool:
        """Whether this is a scope's name and no op's, or a group's."""
        return name.rstrip("/") in self.outline.ids and name not in self.index.ids

    def alike(self, name: str) -> list[str]:
        """The other scopes of the structure of a scope, or the other ops of the type of an op, in
        the order of the graph; a group has none that are alike.

        Names of scopes end with a slash. Raises UnknownName.
        """
        outline, sums = outline_of(self.index)
        nodes = len(outline)
        if not self.is_container(name):
            op = self.index.op(name)
            others = np.flatnonzero(sums.structure[nodes:] == sums.structure[nodes + op])
            return [self.index.names[other] for other in others.tolist() if other != op]
        node = self._node(name)
        if node == 0 or outline.members[node]:
            return []
        others = np.flatnonzero(sums.structure[:nodes] == sums.structure[node])
        return [
            f"{outline.names[other]}/"
            for other in others.tolist()
            if other != node and not outline.members[other]
        ]

    def members_of(self, name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(ops, scopes) that a box contains: of a scope the scope itself, of a group its members.

        Raises UnknownName.
        """
        outline, nodes, scopes, ops = self.outline, [self._node(name)], [], []
        while nodes:
            node = nodes.pop()
            if outline.members[node]:
                nodes += outline.children[node][::-1]
                ops += np.flatnonzero(outline.home == node).tolist()
            else:
                scopes.append(outline.names[node])
        return tuple(self.index.names[op] for op in ops), tuple(scopes)

    def with_closed_groups(self, names: Iterable[str]) -> tuple[str, ...]:
        """The names, and those of the closed groups that represent some ops and scopes among them
        in the drawing.

        A page finds the closed scope around an op by its name; a group made for the drawing has
        none of the op's.
        """
        outline, index, groups = self.outline, self.index, dict[str, None]()
        for name in names:
            node = outline.ids.get(name.rstrip("/")) if name.endswith("/") else None
            if name in index.ids:
                node = int(outline.home[index.ids[name]])
            around = [] if node is None else [*outline.ancestors(node)[::-1], node]
            closed = next(
                (one for one in around if one and outline.names[one] not in self.opened), 0
            )
            if outline.members[closed]:
                groups[outline.names[closed]] = None
        return (*names, *groups)

    def count_in_closed(self, mask: Mask) -> dict[str, int]:
        """How many ops of a mask each closed scope and group holds, without zeros."""
        outline, count, opened = self.outline, self.outline.count(mask), self.opened
        nodes, counts = [0], dict[str, int]()
        while nodes:
            for node in outline.children[nodes.pop()]:
                if count[node] and outline.names[node] in opened:
                    nodes.append(node)
                elif count[node]:
                    counts[outline.names[node]] = int(count[node])
        return counts

    def holding(self, name: str) -> Selection:
        """All ops inside a scope or group. Raises UnknownName."""
        ops, scopes = self.members_of(name)
        whole = selectors.scope(self.index, *scopes)
        return whole | selectors.ops(self.index, *ops) if ops else whole

    def with_open(self, scopes: Iterable[str], *, deep: bool = False) -> ViewSpec:
        """The view with scopes and groups open, and those around them; `deep`: and inside."""
        nodes = [self._node(name) for name in scopes]
        around = [outer for node in nodes for outer in self.outline.ancestors(node)]
        opened = self.opened | self._names(around + (self._inside(nodes) if deep else nodes))
        pinned = pinning.pins_in_sight(self.pinned, self.index, opened, self.hidden)
        return ViewSpec(opened, self.hidden, self.direction, pinned, aspect=self.aspect)

    def open(self, scopes: Iterable[str], *, deep: bool = False) -> None:
        """Open name scopes and groups, and those around them; `deep`: and all inside.

        Raises UnknownName, and GraphEditError if more would be drawn than a page can show.
        """
        opened = self.with_open(scopes, deep=deep).opened
        self._refuse_too_many(opened, "open")
        self.opened = opened

    def close(self, scopes: Iterable[str], *, deep: bool = False) -> None:
        """Close name scopes and groups in the drawing; `deep`: and all inside."""
        nodes = [self._node(name) for name in scopes]
        self.opened -= self._names(self._inside(nodes) if deep else nodes)

    def open_all(self) -> None:
        """Open every name scope and group, and lay out everything from scratch.

        Raises GraphEditError if more would be drawn than a page can show.
        """
        opened = frozenset(self.outline.names) - {""}
        self._refuse_too_many(opened, "open_all")
        self.opened = opened
        self.memo.forget_history()

    def close_all(self) -> None:
        """Close every name scope and group, and lay out everything from scratch."""
        self.opened = frozenset()
        self.memo.forget_history()

    def open_only(self, scopes: Iterable[str], names: Iterable[str]) -> None:
        """Open some scopes and groups, and those around some items; close all others.

        Raises UnknownName, and GraphEditError if more would be drawn than a page can show.
        """
        nodes = [self._node(name) for name in scopes]
        nodes += [outer for node in nodes for outer in self.outline.ancestors(node)]
        nodes += [node for name in names for node in self._place(name)[2]]
        opened = self._names(nodes)
        self._refuse_too_many(opened, "open_only")
        self.opened = opened

    def _refuse_too_many(self, opened: frozenset[str], call: str) -> None:
        """Raise GraphEditError if these scopes show too many items, badges included."""
        outline = self.outline
        if len(self.index) + len(outline) <= MOST_ITEMS:
            return
        mask = find_shown_ops(self.index, outline, self.hidden) if self.hidden else slice(None)
        ops = np.bincount(outline.home[mask], minlength=len(outline))
        nodes = [0, *(outline.ids[name] for name in opened if name in outline.ids)]
        items = int(ops[nodes].sum()) + len(nodes)
        if items > MOST_ITEMS:
            raise GraphEditError(
                f"{call}: {items:,} ops and scopes would be drawn, and a page can show "
                f"{MOST_ITEMS:,}; open one scope after the other, or leave parts out with hide or "
                "show_only."
            )

    def _node(self, name: str) -> int:
        """The number in the outline of a scope or group. Raises UnknownName."""
        node = self.outline.ids.get(name.rstrip("/"))
        return (
            self.index.scopes.scope(name) if node is None else int(self.outline.merged_into[node])
        )

    def _names(self, nodes: Iterable[int]) -> frozenset[str]:
        names = self.outline.names
        return frozenset(names[node] for node in nodes if node)

    def _inside(self, nodes: list[int]) -> list[int]:
        nodes_below, children = list(nodes), self.outline.children
        for node in nodes_below:
            nodes_below += children[node]
        return nodes_below

    def hide(self, names: tuple[str, ...]) -> None:
        """Leave these out of the drawing."""
        self.hidden |= {name.rstrip("/") if self.is_container(name) else name for name in names}

    @property
    def hidden_ops(self) -> int:
        """How many ops are left out of the drawing."""
        if self.hidden:
            return int((~find_shown_ops(self.index, self.outline, self.hidden)).sum())
        return 0

    def show_only(self, names: tuple[str, ...]) -> None:
        """Leave all but these out of the drawing; the scopes around them are drawn."""
        tree = self.index.scopes
        visible = {part.rstrip("/") for name in names for part in self._real(name)}
        around = {outer for name in visible for outer in enclosing_scopes(name)}
        hidden: set[str] = set()
        level = [0]
        while level:
            scope = level.pop()
            ops = np.flatnonzero(tree.scope_of == scope)
            hidden |= {self.index.names[op] for op in ops.tolist()} - visible
            for inner in tree.children[scope]:
                name = tree.names[inner]
                if name in around and name not in visible:
                    level.append(inner)
                elif name not in visible:
                    hidden.add(f"{name}/" if name in self.index.ids else name)
        self.hidden = frozenset(hidden)

    def _real(self, name: str) -> tuple[str, ...]:
        """The names of ops and scopes that a name means: of a group what it holds."""
        ops, scopes = self.members_of(name) if self.is_container(name) else ((name,), ())
        return ops + scopes

    def pin(self, scene: Scene, name: str, x: float, y: float) -> None:
        """Keep the center of an op, scope or group of a scene at a place, in pixels of the drawing,
        downward. Raises UnknownName where it is not drawn, and GraphEditError for a place too far
        out.
        """
        item = scenes.box_of(scene, name)
        if item is None:
            raise UnknownName(
                f"{name[:60]!r} is not drawn, so it cannot be put anywhere; open the scopes around "
                "it."
            )
        if not max(abs(x), abs(y)) <= _FARTHEST:
            raise GraphEditError(
                f"pin({name[:60]!r}, {x:g}, {y:g}): a place is at most {_FARTHEST:,} pixels from "
                "the corner of the drawing; give one nearer."
            )
        left, top = scene.box[scene.parent[item], :2].tolist()
        self.pinned = {**self.pinned, scenes.key_of(scene, item): (x - left, y - top)}

    def unpin(self, name: str = "") -> None:
        """Forget where an item was put by hand; without a name, where all of them were put."""
        pinned = pinning.remove_pin(self.pinned, name)
        if name and pinned == self.pinned:
            self._place(name)  # a name that nothing has is refused
        self.pinned = pinned
        if not name:
            self.memo.forget_history()

    def reveal(self, name: str) -> str:
        """Open the scopes and groups around an op, tensor, scope or group; the op's name."""
        full_name, node, around = self._place(name)
        self.opened |= self._names(around)
        # What is asked for is shown, though it, or what is around it, was hidden.
        visible_names = {full_name, name, *self._names(around), *self._names([node])}
        self.hidden = frozenset(
            path for path in self.hidden if path.removesuffix("/") not in visible_names
        )
        return full_name

    def is_open_around(self, name: str) -> bool:
        """Whether what is around an op, a scope or a group is open. Raises UnknownName."""
        return self._names(self._place(name)[2]) <= self.opened

    def _place(self, name: str) -> tuple[str, int, list[int]]:
        """The full name, the scope or group that it is or lies in, and those around it."""
        index = self.index
        if not isinstance(name, str):
            raise UnknownName(
                f"{value_text(name)} is not a name; write that of an op, a tensor or a scope."
            )
        if self.is_container(name):
            node = self._node(name)
            return self.outline.names[node], node, self.outline.ancestors(node)
        op = index.op(name)
        node = int(self.outline.home[op])
        return index.names[op], node, [node, *self.outline.ancestors(node)]

    def shape(self, width: float, height: float) -> None:
        """Let the drawing wrap to the shape of a narrow pane, which has its own drawing."""
        # Rounded as layouts are, so that few drawings are kept.
        level = level_of(width / height)
        self.aspect = (
            self.aspects.get(level, aspect_of(level)) if width < _NARROW * height else ROOT_ASPECT
        )
        if self.first_pane is not None and self.opened is self._first_open:
            self._fill(width, height)

    def unshape(self) -> None:
        """Let the drawing have the shape that it has in files and cells: a wide pane's."""
        self.aspect = ROOT_ASPECT

    def _fill(self, width: float, height: float) -> Scene | None:
        """Choose the proportions whose drawing is larger in a narrow pane, once for its shape;
        return the drawing if it is another one.

        They are those of the pane, or the next wider ones: columns are whole, so that a drawing is
        often taller than it was to be.
        """
        level = level_of(width / height)
        if self.aspect == ROOT_ASPECT or level in self.aspects:
            return None
        own, wider = aspect_of(level), aspect_of(level + 1)
        drawn: dict[float, Scene] = {}
        for self.aspect in (own, wider):
            drawn[self.aspect] = self.scene()
        zooms = {aspect: zoom_in(scene, width, height) for aspect, scene in drawn.items()}
        self.aspect = self.aspects[level] = wider if zooms[wider] > zooms[own] else own
        return drawn[wider] if self.aspect == wider else None

    def first_drawing(self, width: float, height: float) -> Scene | None:
        """The first drawing, such that it can be read in a pane of that size in pixels; None if
        there was one before.

        Fewer scopes are open in a small pane, unless the user has chosen them.
        """
        if self.first_pane is not None:
            return None
        self.first_pane = width, height
        if self.opened is not self._default_open or self._layout is not None:
            return None
        self.opened, scene = first_drawing(self.index, self.view_spec, width, height, self.memo)
        self._first_open = self.opened
        return self._fill(width, height) or scene

    def reopen(self, width: float, height: float) -> bool:
        """Forget the first drawing when another pane, of that size in pixels, shows it, unless the
        user changed it; whether `first_drawing` makes another one.

        They have when they opened, closed, hid or moved something.
        """
        is_changed = (
            self.opened is not self._first_open
            or self.pinned
            or self.hidden
            or self._layout is not None
        )
        if is_changed or self.first_pane == (width, height):
            return False
        self.opened, self.first_pane = self._default_open, None
        self.memo.forget_history()
        return True

    # The drawing

    @property
    def layout(self) -> Layout | None:
        """The networkx layout that places the items, or None."""
        return self._layout

    def scene(self, opened: frozenset[str] | None = None) -> Scene:
        """The drawing; with `opened`, as it is with just these scopes and groups open."""
        spec = self.view_spec if opened is None else self.shown_with(opened)
        return scenes.build(self.index, spec, layout=self._layout, cache=self.memo)

    def shown_with(self, opened: frozenset[str]) -> ViewSpec:
        """The view with only these scopes and groups open."""
        return replace(self.view_spec, opened=opened)

    def prefetch_candidates(self, scene: Scene) -> tuple[str, ...]:
        """The closed scopes of the drawing that are worth laying out before they are opened.

        The largest first, of 60 to 1,200 boxes each, 12,000 boxes in all.
        """
        return candidates(scene, self.view_spec) if self._layout is None else ()

    def prefetch(self, scope: str) -> Scene | None:
        """The drawing once a scope or group is open; nothing changes. Raises UnknownName.

        None where that takes long: of more than 1,200 new boxes or 2,500 in all, or with a layout
        of the user's.
        """
        after = self.with_open([scope])
        return (
            prefetch(self.index, self.view_spec, after, self.memo) if self._layout is None else None
        )

    # Names

    def names(self, argument: Names) -> tuple[str, ...]:
        """The op and tensor names of names, tensors, ops or selections, each in this graph.

        Raises UnknownName.
        """
        index, body = self.index, self.body
        flat: list[object] = []
        for item in each(argument):
            if isinstance(item, Selection):
                here = item.on(index)  # refuses those of other graphs and editors
                flat += (*here.ops, *here.tensors)
            else:
                flat.append(item)
        names = tuple(_name(item, index, body) for item in flat)
        check_ports(index, names)
        return names


def is_single(argument: object) -> TypeGuard[OpLike]:
    """Whether this is one item: a name, a selection, an op, a tensor or a whole variable."""
    # A tensor is an Iterable too, and says so only when it is asked for its first row. One that is
    # a value has a name for none but TensorFlow.
    return (
        isinstance(argument, str | Selection)
        or is_value(argument)
        or (hasattr(argument, "name") and not is_in_parts(argument))
    )


def is_value(argument: object) -> bool:
    """Whether this is an eager tensor or an array of numbers: a value, and no tensor of a graph."""
    is_eager = hasattr(argument, "numpy") and not hasattr(argument, "assign")
    return is_eager or (isinstance(argument, np.ndarray) and argument.dtype.kind in "biufc")


def each(argument: Any) -> list[Any]:
    """The items of an argument; a `.ref()` is dereferenced, a partitioned variable split."""
    if is_single(argument):
        return [argument]
    try:
        items = list(argument)
    except Exception:  # whatever it raises that is nothing to go through
        items = [argument]
    items = [
        one.deref() if isinstance(getattr(one, "deref", None), MethodType) else one for one in items
    ]
    return [item for one in items for item in (one if is_in_parts(one) else [one])]


def is_in_parts(argument: object) -> bool:
    """Whether this is a PartitionedVariable, whose own name no op has."""
    return hasattr(argument, "as_tensor") and hasattr(argument, "__iter__")


def _name(item: object, index: GraphIndex, body: Body) -> str:
    name = str(item) if isinstance(item, str) else _name_of(item, getattr(body, "graph", None))
    if is_value(item):
        raise UnknownName(
            f"{value_text(item)} is a value and no tensor of the graph; "
            + in_cell("make it one: tf.constant(value), with editor.graph.as_default().")
        )
    if not isinstance(name, str) and type(item).__module__.startswith("keras."):
        raise UnknownName(
            f"{value_text(item)} is of Keras and not of the graph; "
            + in_cell("editor.find('layer').outputs are the tensors that a layer of a name gives.")
        )
    if not isinstance(name, str):
        raise UnknownName(
            f"{value_text(item)} is neither a name nor a tensor or op of a graph; write "
            "'scope/op:0'."
        )
    if name in index.ids:
        return name
    op, port = split_tensor(name)
    op_name = body.alias.get(op, op)
    index.op(op_name)
    return op_name if port is None else f"{op_name}:{port}"


def _name_of(item: object, mine: object) -> object:
    """The name of a tensor, an op or a variable; None for what is none of these."""
    name, graph = getattr(item, "name", None), getattr(item, "graph", None)
    if graph is None:  # an `Op` of ours; of no graph are also the variables that functions capture
        captured = hasattr(item, "assign") and getattr(mine, "outer_graph", mine) is not mine
        if isinstance(item, Op):
            return name
        if captured or mine is None:
            return getattr(item, "path", name)
        return None
    if mine is not None and graph is not mine:
        raise UnknownName(
            f"{name!r} belongs to another graph than the one this editor holds; open an editor on "
            "that graph."
        )
    return name


def _op(name: str) -> str:
    return split_tensor(name)[0]


def _is_in(index: GraphIndex, name: str) -> bool:
    """Whether the graph has the op or the tensor of this name."""
    if name in index.ids:
        return True
    op, port = split_tensor(name)
    if op not in index.ids:
        return False
    # Of an op that TensorFlow does not know, not all outputs are known.
    number = index.ids[op]
    return (
        port is None
        or port < len(index.dtypes(number))
        or index.typing.definition(index.types[number]) is None
    )


def _missing_text(names: list[str]) -> str:
    """The sentence that ops or tensors of these names are missing; "" for none."""
    if names:
        return f"{names_text(names)} {'is' if len(names) == 1 else 'are'} not in the graph any more"
    return ""


def _loss_text(why: str, *, nothing: bool = False) -> str:
    """The sentence for what edits have taken from the selection; "" for nothing."""
    problem = "Nothing is selected" if nothing else "What is selected is not all that was chosen"
    return f"{problem}: {why}; undo the edit, or choose again." if why else ""


def _renamed_scopes(names: Mapping[str, str]) -> dict[str, str]:
    """The scopes that ops have left with what is below, by their old names."""
    scopes: dict[str, str] = {}
    for name, new_name in names.items():
        old, new = name, new_name
        while old != new and last_part(old) == last_part(new):
            old, new = scope_around(old), scope_around(new)
            if not old or not new or old in scopes:
                break
            scopes[old] = new
    return scopes

"""The graphs of a page: the outermost graph, the functions entered, and all functions that their
ops call.

Functions that are called with the same variables from several ops are one graph of the page. The
bodies together have a limited number of ops, because the page grows with them; a reference to a
function that was left out says why.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export.html.page_input import EnteredView, EnteredViews, PageInput
from tfgraphwidget.graph import FunctionRef, GraphIndex, build, called_functions
from tfgraphwidget.hierarchy import default_open, find_op_facts
from tfgraphwidget.layout import LayoutCache
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.sources import (
    Body,
    SignatureLine,
    body_signature,
    definition_signature,
    open_function,
)
from tfgraphwidget.tf_types import NodeDef
from tfgraphwidget.visible import ViewSpec

_MOST_OPS = 20_000  # in all bodies but those that the user has entered: some 2 MB of the page
_MOST_GRAPHS = 500
_MOST_READ = 4 * _MOST_OPS  # of bodies that turn out to be in the page already


ReadBody = Callable[[], tuple[str, Body, Sequence[NodeDef]]]


class PageReference(NamedTuple):
    """A function that an op calls.

    Attributes:
        op: The number of the calling op.
        label: Which of the op's functions it is: "then_branch", "body".
        function: The function's name.
        ops: The number of ops in its body.
        graph: The number of its graph in the page, or -1.
        why: Why it is not in the page, as a sentence; or "".
        signature: Its arguments and results.
    """

    op: int
    label: str
    function: str
    ops: int
    graph: int
    why: str
    signature: tuple[SignatureLine, ...]


@dataclass
class PageGraph:
    """One graph of a page, and references to the functions that it calls."""

    page_input: PageInput
    path: tuple[str, ...]
    body: Body | None = None
    references: list[PageReference] = field(default_factory=list)

    @property
    def signature(self) -> tuple[tuple[SignatureLine, ...], list[int]]:
        """Arguments and results of a function with dtypes, shapes and op numbers; or empty."""
        index, body = self.page_input.index, self.body
        if body is None:
            return (), []
        arguments = tuple(name for name in body.arguments if split_tensor(name)[0] in index.ids)
        returns = {
            key: name for key, name in body.returns.items() if split_tensor(name)[0] in index.ids
        }
        boundary_ops = {
            index.ids[split_tensor(name)[0]] for name in (*arguments, *returns.values())
        }
        return tuple(body_signature(index, arguments, returns)), sorted(boundary_ops)


def find_page_graphs(page_input: PageInput) -> tuple[list[PageGraph], list[int]]:
    """All graphs of a page, and the numbers of those from the outermost to the current one."""
    if page_input.entered is None:
        return [PageGraph(page_input, page_input.path)], [0]
    search = _Search(page_input, page_input.entered)
    numbers = [search.add_entered(path, view) for path, view in _entered_views(page_input.entered)]
    for graph in search.page_graphs:  # the loop body appends to it
        graph.references += search.find_references(graph)
    return search.page_graphs, numbers


def _entered_views(entered: EnteredViews) -> Iterator[tuple[tuple[str, ...], EnteredView]]:
    path = entered.path
    yield path[:1], entered.outermost
    for depth in range(1, len(path)):
        yield path[: depth + 1], entered.inside(path[:depth])[path[depth]]


MAX_DEPTH = 32  # calls in calls that a page goes into: models have under ten


class _Search:
    """The graphs of a page, by path if entered by the user, else by function name and body."""

    def __init__(self, here: PageInput, entered: EnteredViews) -> None:
        self.page_graphs: list[PageGraph] = []
        self._here, self._entered = here, entered
        self._numbers: dict[Hashable, int] = {}
        self._ops_left, self._reads_left = _MOST_OPS, _MOST_READ

    def add_entered(self, path: tuple[str, ...], view: EnteredView) -> int:
        """Add a graph that the user has entered, and return its number."""
        if path in self._numbers:
            return self._numbers[path]
        selection, index = view.selection, view.index
        inputs, outputs = view.boundary
        selected = () if selection is None else tuple(index.ids[name] for name in selection.ops)
        page_input = self._input_of(index, view.view_spec, view.memo)
        return self._add(
            path,
            replace(page_input, selected=selected, inputs=inputs, outputs=outputs),
            path,
            view.body,
        )

    def find_references(self, graph: PageGraph) -> Iterator[PageReference]:
        """The functions that the ops of a graph call, each added to the page if it fits."""
        index, body = graph.page_input.index, graph.body
        if body is None or not index.functions:
            return
        entered_views = self._entered.inside(graph.path)
        for op in np.flatnonzero(find_op_facts(index).calls_function).tolist():
            calls = [index.shape(op, k) for k in range(len(index.dtypes(op)))]
            functions = called_functions(index.nodes[op], index.functions)
            for called in functions:
                title = (
                    index.names[op] if len(functions) == 1 else f"{index.names[op]}:{called.label}"
                )
                definition = index.extras.function(called.function)
                size = len(definition.signature.input_arg) + len(definition.node_def)
                path = (*graph.path, title)
                number, why = self._find_or_add(
                    path,
                    entered_views.get(title),
                    partial(_read_body, called, body, index, op),
                    size,
                )
                lines = definition_signature(definition, [] if called.label == "cond" else calls)
                signature = (
                    (f"{called.label} {a}" if len(functions) > 1 else a, b, c) for a, b, c in lines
                )
                yield PageReference(
                    op, called.label, called.function, size, number, why, tuple(signature)
                )

    def _find_or_add(
        self, path: tuple[str, ...], view: EnteredView | None, read: ReadBody, size: int
    ) -> tuple[int, str]:
        """The number of the graph at a path; or -1, and why it is not in the page."""
        if path in self._numbers:
            return self._numbers[path], ""
        is_full = len(self.page_graphs) >= _MOST_GRAPHS or len(path) > MAX_DEPTH
        if is_full or size > min(self._ops_left, self._reads_left):
            return -1, (
                f"This page has no room for {path[-1][:60]!r} of {size:,} ops: with all functions "
                "that it has already it would be too large; "
                + in_cell("open the graph with tgw.edit(…) to go in, or save a page in there.")
            )
        if view is not None:
            self._ops_left -= len(view.index)
            return self.add_entered(path, view), ""
        self._reads_left -= size
        try:
            name, body, nodes = read()
            key = name, _digest(nodes)
            if key not in self._numbers:
                inner = build(
                    nodes,
                    *body.collections(),
                    typing=body.typing,
                    functions=body.functions(),
                    extras=body,
                )
                self._ops_left -= len(inner)
                self._add(key, self._input_of(inner, ViewSpec(default_open(inner))), path, body)
        except GraphEditError as error:
            return -1, str(error)
        return self._numbers[key], ""

    def _input_of(
        self, index: GraphIndex, view_spec: ViewSpec, memo: LayoutCache | None = None
    ) -> PageInput:
        here = self._here
        if index is here.index:
            return here
        encodings = {} if here.colors is None else here.colors.without_a_run(index)
        memo = LayoutCache() if memo is None else memo
        return replace(
            here,
            index=index,
            view_spec=view_spec,
            memo=memo,
            selected=(),
            inputs=(),
            outputs=(),
            encodings=encodings,
        )

    def _add(self, key: Hashable, page_input: PageInput, path: tuple[str, ...], body: Body) -> int:
        self._numbers[key] = len(self.page_graphs)
        self.page_graphs.append(PageGraph(page_input, path, body))
        return self._numbers[key]


def _read_body(
    called: FunctionRef, body: Body, index: GraphIndex, op: int
) -> tuple[str, Body, Sequence[NodeDef]]:
    inner = open_function(called.function, body, index, op)
    return called.function, inner, inner.nodes()


def _digest(nodes: Sequence[NodeDef]) -> bytes:
    """A digest of NodeDefs, equal for equal ones."""
    whole = hashlib.sha256()
    for node in nodes:
        data = node.SerializeToString(deterministic=True)
        whole.update(len(data).to_bytes(8, "little") + data)
    return whole.digest()

"""The selection as a panel asks for it: clicks, boxes, what follows from what is selected, and the
search box.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfgraphwidget.errors import GraphEditError, NoPath
from tfgraphwidget.graph import find_scopes, pairs, patterns, query, traversal
from tfgraphwidget.hierarchy import TRAINS
from tfgraphwidget.naming import last_part, split_tensor
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.edit_requests import selection_of, tensor_type
from tfgraphwidget.widget.page_text import on_page

if TYPE_CHECKING:
    from tfgraphwidget.editor import GraphEditor
    from tfgraphwidget.graph import GraphIndex, Mask, Selection


class SelectionRequests:
    """The requests that change the selection."""

    def __init__(self, editor: GraphEditor) -> None:
        self._editor = editor

    def select(self, command: str, ops: tuple[str, ...], scopes: tuple[str, ...]) -> None:
        """Change the selection by ops and scopes.

        Args:
            command: "set", "add", "remove" or "toggle".
            scopes: The names of the scopes and groups.

        Raises:
            UnknownName: A name is not in the graph.
        """
        self._editor.selection = self._combine(command, ops, scopes)

    def _combine(
        self, command: str, ops: tuple[str, ...], scopes: tuple[str, ...]
    ) -> Selection | None:
        """The selection with these ops and scopes set, added, removed or toggled."""
        editor, old = self._editor, self._editor.selection
        # A group means the ops and scopes that are drawn as it.
        all_ops, all_scopes = list(ops), list[str]()
        for scope in scopes:
            ops_of_group, scopes_of_group = editor._core.view.members_of(scope)
            all_ops += ops_of_group
            all_scopes += scopes_of_group
        new = None
        if all_ops:
            new = editor.ops(*all_ops)
        if all_scopes:
            in_scopes = editor.ops(scope=tuple(all_scopes))
            new = in_scopes if new is None else new | in_scopes
        if new is None:
            return None if command == "set" else old
        if command == "toggle":
            command = "remove" if old is not None and not (new - old) else "add"
        if command == "remove":
            return None if old is None else old - new
        return new if old is None or command == "set" else old | new

    def like(self, names: tuple[str, ...]) -> p.Likeness:
        """The pattern of ops, and with a slash at the end of scopes and groups, or of the
        selection. Raises GraphEditError where they make none.
        """
        ops = tuple(name for name in names if not name.endswith("/"))
        scopes = tuple(name for name in names if name.endswith("/"))
        part = self._combine("set", ops, scopes) if names else self._editor.selection
        if part is None:
            raise GraphEditError("Nothing is selected; draw a box, or Ctrl-click an op first.")
        return p.Likeness(str(patterns.pattern(part)))

    def crossings(self, side: p.Side, name: str) -> p.BoundaryTensors:
        """The tensors by which values enter or leave an item. Raises UnknownName.

        Those are proposed that the forward computation reads, not only gradients and summaries;
        they come first.
        """
        names = self._crossing(side, name)
        index, view = self._editor._core.index, self._editor._core.view
        marked_tensors = view.boundary[side == "outputs"]
        proposed = set(names)
        if side == "outputs":
            forward = _forward_ops(index, view.outline.op_part == TRAINS)
            forward = forward & ~self._select_item(name).mask
            read_forward, unread = set[str](), set[str]()
            for tensor in names:
                consumers = traversal.consumers_of(index, pairs(index, [tensor]))
                if forward[consumers].any():
                    read_forward.add(tensor)
                elif not len(consumers):
                    unread.add(tensor)
            proposed = read_forward or unread or proposed
        rows = []
        for tensor in sorted(names, key=lambda each: each not in proposed):
            is_marked, is_proposed = tensor in marked_tensors, tensor in proposed
            drawn_type = tensor_type(index, tensor)
            rows.append(p.BoundaryTensor(tensor, drawn_type, is_marked, is_proposed))
        return p.BoundaryTensors(tuple(rows))

    def mark(self, side: p.Side, name: str, tensors: tuple[str, ...]) -> None:
        """Mark an item, with a slash at its end a scope or a group, or these of its tensors, as
        input or output, or no more if it is; see `protocol.Mark`. Raises UnknownName, and NoPath
        where no value goes through it.
        """
        editor, view = self._editor, self._editor._core.view
        names = tensors or self._crossing(side, name)
        inputs, outputs = editor._core.view.boundary
        old = inputs if side == "inputs" else outputs
        own = {tensor for tensor in old if split_tensor(tensor)[0] == name}
        index = editor._core.index
        # An input that is drawn at one of its consumers gives way: the part begins further up.
        is_input = side == "inputs" and bool(own)
        begins_further_up = is_input and index.ids.get(name) not in view.entrances(index)[1]
        rest = tuple(tensor for tensor in old if tensor not in own and tensor not in names)
        is_marked = len(rest) < len(old)
        new = rest if is_marked and not begins_further_up else (*rest, *names)
        if side == "inputs":
            view.mark(new, outputs, within=self._select_item(name).ops)
        else:
            view.mark(inputs, new, within=())
        editor._core.listeners.notify()

    def _crossing(self, side: p.Side, name: str) -> tuple[str, ...]:
        """The tensors of a boundary that includes an item: see `protocol.Mark`."""
        item = self._select_item(name)
        if not name.endswith("/"):
            inputs = item.boundary[0] if side == "inputs" else ()
            return inputs or (name,)
        tensors = item.boundary[side == "outputs"]
        if not tensors:
            how = "No value enters" if side == "inputs" else "No value goes through"
            raise NoPath(f"{how} {name[:-1]!r}; mark an op inside it.")
        return tensors

    def _select_item(self, name: str) -> Selection:
        """The ops of an item, by its key: with a slash at its end a scope or a group."""
        if name.endswith("/"):
            selection = self._combine("set", (), (name,))
        else:
            selection = self._combine("set", (name,), ())
        assert selection is not None
        return selection

    def derive(self, command: str) -> None:
        """Make a new selection from the present one by "clear", "boundary", "path", "shortest",
        "invert", "scope", or the name of a method of `Selection`.
        """
        editor = self._editor
        if command == "clear":
            editor.selection = None
            return
        inverts_all = command == "invert" and editor.selection is None
        old = editor.ops() if inverts_all else selection_of(editor)
        match command:
            case "boundary":
                inputs, outputs = old.boundary
                if not outputs:
                    raise NoPath(
                        "No tensor comes in, goes through the selected ops and out again; select "
                        "more of them."
                    )
                editor._core.view.mark(inputs, outputs, within=old.ops)
                editor._core.listeners.notify()
            case "path" | "shortest":
                editor.selection = self._select_path(old, every=command == "path")
            case "invert":
                editor.selection = ~old
            case "scope":
                editor.selection = old.around()
            case _:
                editor.selection = getattr(old, command)()

    def _select_path(self, chosen: Selection, *, every: bool) -> Selection:
        """The ops on paths from one selected op to the other, whichever comes first."""
        if len(chosen) != 2:
            raise GraphEditError(
                f"A path needs two selected ops, and {len(chosen):,} are; Ctrl-click its two ends."
            )
        a, b = chosen.ops
        try:
            return self._editor.path(a, b, all=every)
        except NoPath:
            return self._editor.path(b, a, all=every)


MOST_HITS = 1_000
"""What a list can show, and the drawing mark."""
_MOST_MATCHES = 10_000  # of a pattern, after which the search stops
_MOST_REASONS = 5  # why matches cannot be replaced, and near matches


def search(editor: GraphEditor, request: p.Search) -> p.SearchReply:
    """The first ops that fit a query, nearest first, their number and scopes; and name scopes."""
    pattern = query.pattern_in(request.text)
    if pattern:
        return _search_pattern(editor, pattern, request.limit)
    index = editor._core.index
    ops, why = query.search(index, request.text)
    some = ops[: max(0, min(request.limit, MOST_HITS))]
    scopes = _count_scopes(index, ops)
    hits = tuple(p.Hit(index.names[op], index.types[op]) for op in some)
    name_scopes = _scope_hits(index, request.text, ops)
    return p.SearchReply(hits, len(ops), why, scopes, name_scopes=name_scopes)


def _count_scopes(index: GraphIndex, ops: list[int]) -> int:
    """In how many name scopes ops are directly."""
    names = (index.names[op] for op in ops)
    return len({name.removesuffix(last_part(name)) for name in names})


def _scope_hits(index: GraphIndex, text: str, ops: list[int]) -> tuple[p.ScopeHit, ...]:
    """The name scopes that a query means, the nearest first, of the ops that fit it."""
    tree = index.scopes
    return tuple(
        p.ScopeHit(tree.names[scope], int(tree.stop[scope] - tree.start[scope]))
        for scope in find_scopes(index, text, ops)
    )


def count_hits(editor: GraphEditor, text: str) -> p.HitCounts:
    """How many of the ops that fit a query each closed scope and group of the drawing holds."""
    mask = np.zeros(len(editor._core.index), dtype=bool)
    mask[query.search(editor._core.index, text)[0]] = True
    return p.HitCounts(tuple(editor._core.view.count_in_closed(mask).items()))


def _search_pattern(editor: GraphEditor, pattern: str, limit: int) -> p.SearchReply:
    """The matches of a pattern, each by the op of its first output."""
    try:
        matches = editor.match(pattern, limit=_MOST_MATCHES)
    except GraphEditError as error:
        why, _, excerpt = on_page(error.sentence).partition("\n")
        return p.SearchReply((), 0, why, excerpt=excerpt)
    index = editor._core.index
    listed = matches[: max(0, min(limit, MOST_HITS))]
    first_ops = [match.results[0][0] for match in matches]
    reasons = [f"{str(match.outputs[0])!r}: " + match.why + "." for match in matches if match.why]
    near = [each for each in matches.near[:_MOST_REASONS] if each.ops]
    summary = p.PatternMatches(
        text=pattern,
        names=tuple(matches.pattern.names),
        inputs=tuple(map(str, matches[0].inputs)) if matches else (),
        ops=tuple(match.ops for match in listed),
        replaceable=len(matches) - len(reasons),
        reasons=tuple(reasons[:_MOST_REASONS]),
        near=tuple(p.NearMatch(each.ops[0], each.difference) for each in near),
    )
    hits = tuple(p.Hit(index.names[op], index.types[op]) for op in first_ops[: len(listed)])
    why = ""
    if matches.is_cut:
        why = (
            f"The search stops at {_MOST_MATCHES:,} matches; name a scope, or more of the structure"
        )
    return p.SearchReply(hits, len(matches), why, _count_scopes(index, first_ops), summary)


def select_matching(editor: GraphEditor, request: p.SelectMatching) -> bool:
    """Select, hide or show what a query finds; whether that changes the drawing."""
    ops, old = editor.find(request.text), editor.selection
    match request.use:
        case "hide":
            editor.view.hide(ops)
        case "only":
            editor.view.show_only(ops)
        case "add":
            editor.selection = ops if old is None else old | ops
        case "select":
            editor.selection = ops
    return request.use in ("hide", "only")


def _forward_ops(index: GraphIndex, training: Mask) -> Mask:
    """The ops that lead to another end than training and summaries."""
    summary = np.array(["Summary" in op_type for op_type in index.types], dtype=bool)
    left_out = training | summary
    leads_on = np.zeros(len(index), dtype=bool)
    leads_on[index.consumers.owner[~training[index.consumers.values]]] = True
    last_ops = np.flatnonzero(~left_out & ~leads_on)
    return traversal.backward(index, last_ops.tolist(), within=~left_out, controls=False)

"""The selection as a panel asks for it: clicks, boxes, what follows from what is selected, and the search box."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfgraphwidget.errors import NoPath, NothingTo
from tfgraphwidget.graph import pairs, query, traversal
from tfgraphwidget.naming import last_part, split_tensor
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.edit_requests import tensor_type

if TYPE_CHECKING:
    from tfgraphwidget.editor import GraphEditor
    from tfgraphwidget.graph import Selection


class SelectionRequests:
    """What is selected, from what a person has clicked."""

    def __init__(self, editor: GraphEditor) -> None:
        self._editor = editor

    def select(self, verb: str, ops: tuple[str, ...], scopes: tuple[str, ...]) -> None:
        """Change the selection by ops and scopes.

        Args:
            verb: "set", "add", "remove" or "toggle".
            ops: The names of the ops.
            scopes: The names of the scopes and groups.

        Raises:
            UnknownName: A name is not in the graph.
        """
        self._editor.selection = self._combine(verb, ops, scopes)

    def _combine(self, verb: str, ops: tuple[str, ...], scopes: tuple[str, ...]) -> Selection | None:
        """The selection with these ops and scopes set, added, removed or toggled."""
        editor, old = self._editor, self._editor.selection
        members = [editor.core.view.members_of(scope) for scope in scopes]  # of a group: what it stands for
        ops = (*ops, *(op for some, _ in members for op in some))
        scopes = tuple(scope for _, some in members for scope in some)
        parts = ([editor.ops(*ops)] if ops else []) + ([editor.scope(*scopes)] if scopes else [])
        if not parts:
            return None if verb == "set" else old
        new = parts[0] | parts[1] if len(parts) > 1 else parts[0]
        if verb == "toggle":
            verb = "remove" if old is not None and not (new - old) else "add"
        if verb == "remove":
            return None if old is None else old - new
        return new if old is None or verb == "set" else old | new

    def crossings(self, side: p.Side, name: str) -> p.Crossed:
        """The tensors by which values enter or leave an item. Raises UnknownName.

        Those are proposed that the forward computation reads, not only gradients.
        """
        editor, names = self._editor, self._crossing(side, name)
        index, view = editor.index, editor.core.view
        boundary_tensors = editor.inputs if side == "inputs" else editor.outputs
        proposed = set(names)
        if side == "outputs" and (training := view.outline.op_part).any():
            inside = self._select_item(name).mask
            readers = {tensor: traversal.readers_of(index, pairs(index, [tensor])) for tensor in names}
            forward = {tensor for tensor, ops in readers.items() if (~inside[ops] & (training[ops] == 0)).any()}
            proposed = forward or {tensor for tensor, ops in readers.items() if len(ops) == 0} or proposed
        return p.Crossed(
            tuple(
                p.Crossing(each, tensor_type(index, each), each in boundary_tensors, each in proposed) for each in names
            )
        )

    def mark(self, side: p.Side, name: str, tensors: tuple[str, ...]) -> None:
        """Mark an item as input or output, or no more if it is; see `protocol.Mark`.

        Args:
            side: The side of the boundary.
            name: The item's name; with a slash at its end a scope or a group.
            tensors: The tensors of it that are meant; () for those that cross its border.

        Raises:
            UnknownName: There is no such item.
            NoPath: No value goes through it.
        """
        editor, view = self._editor, self._editor.core.view
        names = tensors or self._crossing(side, name)
        old = editor.inputs if side == "inputs" else editor.outputs
        own = {tensor for tensor in old if split_tensor(tensor)[0] == name}
        # An input that is drawn at one of its consumers gives way: the part begins further up.
        further = side == "inputs" and own and editor.index.ids.get(name) not in view.entrances(editor.index)[1]
        rest = tuple(tensor for tensor in old if tensor not in own and tensor not in names)
        new = rest if len(rest) < len(old) and not further else (*rest, *names)
        ends = (new, editor.outputs) if side == "inputs" else (editor.inputs, new)
        view.mark(*ends, within=self._select_item(name).ops if side == "inputs" else ())
        editor.core.listeners.notify()

    def _crossing(self, side: p.Side, name: str) -> tuple[str, ...]:
        """What a boundary names so that it takes an item in: see `protocol.Mark`."""
        item = self._select_item(name)
        if not name.endswith("/"):
            return (name,) if side == "outputs" else item.ends[0] or (name,)
        tensors = item.ends[side == "outputs"]
        if not tensors:
            how = "No value enters" if side == "inputs" else "No value goes through"
            raise NoPath(f"{how} {name[:-1]!r}; mark an op inside it.")
        return tensors

    def _select_item(self, name: str) -> Selection:
        """The ops of an item, by its key: with a slash at its end a scope or a group."""
        selection = self._combine("set", *((), (name,)) if name.endswith("/") else ((name,), ()))
        assert selection is not None
        return selection

    def derive(self, verb: str) -> None:
        """Make a new selection from the present one."""
        editor, old = self._editor, self._editor.selection
        if verb == "clear":
            editor.selection = None
            return
        if old is None:
            old = editor.ops()
            if verb != "invert":
                raise NothingTo("Nothing is selected; draw a box, or Ctrl-click an op first.")
        match verb:
            case "boundary":
                inputs, outputs = old.ends
                if not outputs:
                    raise NoPath(
                        "No tensor comes in, goes through the selected ops and out again; select more of them."
                    )
                editor.core.view.mark(inputs, outputs, within=old.ops)
                editor.core.listeners.notify()
            case "path" | "shortest":
                editor.selection = self._select_path(old, every=verb == "path")
            case "invert":
                editor.selection = ~old
            case "scope":
                editor.selection = old.around()
            case _:
                editor.selection = getattr(old, verb)()

    def _select_path(self, ends: Selection, *, every: bool) -> Selection:
        """What lies on the way from the one selected op to the other, whichever comes first."""
        if len(ends) != 2:
            raise NothingTo(f"A path needs two selected ops, and {len(ends):,} are; Ctrl-click its two ends.")
        a, b = ends.ops
        join = self._editor.paths if every else self._editor.path
        try:
            return join(a, b)
        except NoPath:
            return join(b, a)


MOST_HITS = 1_000
"""What a list can show, and the drawing mark."""


def search(editor: GraphEditor, request: p.Search) -> p.Found:
    """The first ops that fit a query, the nearest first, and how many there are in how many scopes."""
    index = editor.index
    ops, why = query.search(index, request.text)
    some = ops[: max(0, min(request.limit, MOST_HITS))]
    scopes = {name[: -len(last_part(name))] for name in map(index.names.__getitem__, ops)}
    return p.Found(tuple(p.Hit(index.names[i], index.types[i]) for i in some), len(ops), why, len(scopes))


def select_matching(editor: GraphEditor, request: p.Gather) -> bool:
    """Select, hide or show only what a query finds; whether the drawing is another now. Raises GraphEditError."""
    ops, old = editor.find(request.text), editor.selection
    match request.use:
        case "hide":
            editor.hide(ops)
        case "only":
            editor.show_only(ops)
        case "add":
            editor.selection = ops if old is None else old | ops
        case "select":
            editor.selection = ops
    return request.use in ("hide", "only")

"""Bodies of functions as targets of edits: an edit of a body is an edit of the graph that calls the
function.

What a body is follows from its caller: the function that the op calls now. An edit makes a function
of the edited body, and lets the op call that; which changes the caller, and if that is a function's
body too, its caller in turn, up to the graph. So the graph alone has what edits have made, and
undo, files, sessions and differences are the graph's.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tfgraphwidget import edits, runtime
from tfgraphwidget.editor.broken_functions import is_broken_function
from tfgraphwidget.editor.places.opened_graph import OpenedGraph
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    TRAINABLE,
    GraphIndex,
    Member,
    called_functions,
    handles_of_one,
    listed_variables,
)
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.sources import Body, body_index, open_function

if TYPE_CHECKING:
    from tfgraphwidget.editor.transaction import Transaction
    from tfgraphwidget.edits import Entrance
    from tfgraphwidget.graph import Signature

_MOST_KNOWN = 64
"""So many states of a body are kept; others are read again from their functions."""


class CalledFunction:
    """The body of a function that an op calls, or of one entered by its own name.

    `outer` is the graph, or the body, that it was entered from; `root` the graph itself.
    """

    def __init__(self, outer: OpenedGraph | CalledFunction, entrance: Entrance) -> None:
        self.outer, self.entrance = outer, entrance
        self.root: OpenedGraph = outer if isinstance(outer, OpenedGraph) else outer.root
        self._is_named = entrance.op not in outer.index.ids
        # The op, or the function's name; one more after each edit.
        self._handles: tuple[str, ...] = (entrance.op,)
        # of the caller, when it was asked what it calls: `_current_name`
        self._caller_index: GraphIndex | None = None
        self._current_name = ""
        self._editions: dict[str, runtime.functions.edited_function.Edition] = {}
        # the graph's, when they were last compared with the body's
        self._trainable: tuple[Member, ...] | None = None
        self._trained_last: runtime.functions.edited_function.Edition | None = None
        self.first = self.index

    # What it is

    @property
    def function(self) -> str:
        """The name of the function now."""
        if self._is_named:
            return self._handles[-1]
        index = self.outer.index
        if self._caller_index is not index:
            # None after another editor has removed the op: the body stays then.
            at = index.ids.get(self.call)
            references = () if at is None else called_functions(index.nodes[at], index.functions)
            functions = (
                called.function
                for called in references
                if self.entrance.label in ("", called.label)
            )
            self._caller_index, self._current_name = index, next(functions, self._current_name)
        return self._current_name

    @property
    def call(self) -> str:
        """The name in `outer` of the op that calls the function now, or that of the function."""
        return self._handles[-1]

    @property
    def edition(self) -> runtime.functions.edited_function.Edition:
        """The body now: its ops, its arguments and its results."""
        name = self.function
        opening = self._editions.pop(name) if name in self._editions else self._open(name)
        edition = self._set_trainable(opening)
        self._editions[name] = edition  # after those that were used before
        if len(self._editions) > _MOST_KNOWN:
            del self._editions[next(iter(self._editions))]
        return edition

    def _open(self, name: str) -> runtime.functions.edited_function.Edition:
        caller = self.root.index if self._is_named else self.outer.index
        op = None if self._is_named else caller.ids.get(self.call)
        body = open_function(name, self.outer.body, caller, op)
        index = body_index(body, origin=self)
        boundary = tuple(body.arguments), dict(body.returns)
        return runtime.functions.edited_function.Edition(body.function(name), body, index, boundary)

    def _set_trainable(
        self, edition: runtime.functions.edited_function.Edition
    ) -> runtime.functions.edited_function.Edition:
        """The body with the trainable variables that the graph has: a body has none of its own."""
        graph = self.root.index.collections.get(TRAINABLE)
        if self._trainable is graph and self._trained_last is edition:
            return edition
        index, names = edition.index, {member.name for member in graph or ()}
        origins = edition.body.origins or {}
        members = tuple(
            Member("variable", variable.name)
            for name, variable in index.defined_variables.items()
            if (
                f"{origins[name]}:0" in names
                if graph is not None and name in origins
                else variable.trainable
            )
        )
        if members != index.collections.get(TRAINABLE, ()):
            edition = replace(
                edition, index=replace(index, collections={**index.collections, TRAINABLE: members})
            )
        self._trainable, self._trained_last = graph, edition
        return edition

    @property
    def index(self) -> GraphIndex:
        """The ops of the body now."""
        return self.edition.index

    @property
    def body(self) -> Body:
        """The body as it was read."""
        return self.edition.body

    @property
    def boundary(self) -> edits.FunctionBoundary:
        """The arguments and results of the function now."""
        return self.edition.boundary

    # Edits

    @property
    def caller(self) -> OpenedGraph | CalledFunction:
        """The graph that `Patch.caller` changes: the one that it was entered from, or all."""
        return self.root if self.entrance.everywhere or self._is_named else self.outer

    def fit(self, patch: edits.Patch) -> edits.Patch:
        """The patch with its changes in the graph that calls it. Raises GraphEditError."""
        if not _changes_ops(patch):
            change = self._at_root(patch)
            return self._of_root(patch.with_notes(*change.report.notes), change)
        if patch.boundary is not None:
            raise GraphEditError(
                f"Function {self.function!r} is called by the graph that was opened, so it cannot "
                "get results of its own; "
                + in_cell(
                    "open the function itself, tgw.edit(function), or clone the part as a module."
                )
            )
        graph, name, handle = self.root.index, self.function, self.call
        runtime.functions.edited_function.check_entered_once(graph, name)
        patch = runtime.functions.new_variables.with_constants(patch)
        state = patch.new_state
        if state and self._is_named and name not in graph.reachable_functions():
            raise GraphEditError(
                f"The function makes the variable {next(iter(state))!r}, which the ops that call "
                f"{name!r} would have to give it, and no op of the graph calls it; let it compute "
                "with constants."
            )
        after = self.edition.after(patch)
        old = graph.extras.function(name)
        handles = runtime.functions.edited_function.new_handles(
            old, [after.index.nodes[after.index.ids[op]] for op in state]
        )
        new = runtime.functions.edited_function.rewrite_definition(
            old, after, dict(patch.renamed), keeps_shapes=not patch.shapes, handles=handles
        )
        if self.entrance.everywhere:
            runtime.functions.edited_function.check_called_alike(graph, name)
        caller = self.root.index if self.entrance.everywhere or self._is_named else self.outer.index
        # TensorFlow's graph has the variables.
        is_live = self.caller is self.root and not self.root.source.refusal
        lift = runtime.functions.new_variables.lift(patch, handles, caller, as_ops=is_live)
        if self.entrance.everywhere or self._is_named:
            call = runtime.functions.edited_function.call_everywhere(
                graph, name, new, after.index, lift.handles, lift.change
            )
        else:
            call = runtime.functions.edited_function.call_instead(
                caller, handle, self.entrance.label, new, after.index, lift.handles, lift.change
            )
        call = replace(call, captured=lift.captured)
        notes = runtime.functions.edited_function.gradient_notes(
            self.outer.index, handle, graph, name
        )
        if not call.changed:
            notes = (
                *notes,
                f"No op of the graph calls {name!r}, so that nothing changes of what runs.",
            )
        if self.caller is self.root:
            call = runtime.functions.edited_function.without_superseded(
                graph, call, self.root.first
            )
            call = self._without_broken(graph, call)
        call = self.caller.fit(
            replace(call.with_notes(*notes), signature_edits=patch.signature_edits)
        )
        new_notes = tuple(
            note for note in dict.fromkeys(call.report.notes) if note not in patch.report.notes
        )
        return replace(patch.with_notes(*new_notes), caller=call)

    def refit(self, patch: edits.Patch, steps: Transaction) -> edits.Patch:
        """The patch of an undone edit, as the graph that calls the function can apply it now."""
        assert patch.caller is not None  # `fit` has put it there
        return replace(patch, caller=self.caller.refit(patch.caller, steps))

    def _without_broken(self, graph: GraphIndex, call: edits.Patch) -> edits.Patch:
        """The patch of a file's graph; removes functions left without callers if one is broken."""
        root = self.root
        # Of a SavedModel, in which functions have names, too.
        has_objects = bool(root.source.signatures)
        if has_objects or not root.place.needs_import:
            return call
        alone = edits.without_uncalled_functions(graph, call)
        uncalled = {
            function.signature.name for function in alone.remove.functions
        } & root.first.functions
        if any(is_broken_function(name, root.body, graph) for name in sorted(uncalled)):
            return alone
        return call

    def _of_root(self, patch: edits.Patch, change: edits.Patch) -> edits.Patch:
        """The patch of this body, and of each caller up to the graph, which `change` is for."""
        caller = self.caller
        if isinstance(caller, CalledFunction):
            outer = caller._of_root(edits.Patch(), change)
        else:
            outer = caller.fit(change)
        return replace(patch, caller=outer)

    def _at_root(self, patch: edits.Patch) -> edits.Patch:
        """The changes of the graph by a patch that changes no op: signatures, what is trainable."""
        change = edits.Patch(signature_edits=patch.signature_edits)
        for edit in patch.signature_edits:
            if isinstance(edit, edits.NewSignature):
                return self._new_signature(edit.signature)
        if not (patch.add.members or patch.remove.members):
            return change
        graph, origins = self.root.index, self.edition.body.origins or {}
        member_ops = [split_tensor(member.name)[0] for _, member in patch.add.members]
        variable_names = listed_variables(graph)
        missing = [name for name in member_ops if origins.get(name) not in variable_names]
        if missing:
            raise GraphEditError(
                "set_trainable: no variable of the graph that was opened is known to be "
                f"{missing[0]!r} here; enter the function by the op that calls it.",
                missing,
            )
        ours = {name for name in origins.values() if name in variable_names}
        handles = {origins[name] for name in member_ops}
        now = graph.collections.get(TRAINABLE, ())
        names = {split_tensor(member.name)[0] for member in now} - set(handles_of_one(graph, ours))
        names |= set(handles_of_one(graph, handles))
        new = (Member("variable", f"{name}:0") for name in sorted(names, key=graph.op))
        add = edits.Change(members=tuple((TRAINABLE, member) for member in new))
        return replace(
            change,
            add=add,
            remove=edits.Change(members=tuple((TRAINABLE, member) for member in now)),
        )

    def _new_signature(self, signature: Signature) -> edits.Patch:
        """The changes of the graph by a signature of tensors of this function."""
        from tfgraphwidget.editor.signature_copies import copy_for_signature

        origins = self.edition.body.origins
        if self._is_named or origins is None:
            raise GraphEditError(
                f"signatures.add({signature.name!r}): function {self.function!r} was entered by "
                "its name, so that it is not known which variables it is given; "
                + in_cell("enter it through an op that calls it: editor.view.enter(op).")
            )
        return copy_for_signature(
            self.index, origins, self.edition.boundary[0], signature, self.root.index
        )

    def apply(
        self, patch: edits.Patch, steps: Transaction, *, renew: bool = True
    ) -> tuple[str, ...]:
        """Apply a patch that `fit` returned, and what it changes in the calling graph, its
        `caller`, as steps of an edit; a sentence for each thing that the edit loses. The calling
        graph renews the session where that has run changed ops.
        """
        assert patch.caller is not None  # `fit` has put it there
        # Which another editor may have edited since it was undone.
        edits.check_unchanged(self.index, patch)
        after, old, handle = self.edition.after(patch), self.function, self.call
        losses = self.caller.apply(patch.caller, steps, renew=renew)
        if not _changes_ops(patch):
            return losses
        steps.on_failure(setattr, self, "_handles", self._handles)
        if self._is_named:
            definition = self.root.index.extras.function(old)
            new_ops = [after.index.nodes[after.index.ids[op]] for op in patch.new_state]
            handle = runtime.functions.edited_function.rewrite_definition(
                definition,
                after,
                dict(patch.renamed),
                keeps_shapes=not patch.shapes,
                handles=runtime.functions.edited_function.new_handles(definition, new_ops),
            ).signature.name
        elif self.outer is self.caller:
            # A live graph's op may have become a new one.
            handle = dict(patch.caller.output_renames).get(handle, handle)
        self._handles = (*self._handles, handle)
        if not patch.new_state:  # else it is read again, with the arguments that it has now
            self._editions[self.function] = after
        return losses

    def revert(
        self, patch: edits.Patch, steps: Transaction, *, renew: bool = True
    ) -> tuple[edits.Patch, tuple[str, ...]]:
        """Undo the last edit of the body, and what it changed in the calling graph, which renews
        the session; the patch that undoes the edit, and a sentence for each thing that the undo
        loses.
        """
        assert patch.caller is not None
        inverse, losses = self.caller.revert(patch.caller, steps, renew=renew)
        if not _changes_ops(patch):
            return replace(patch.inverse(), caller=inverse), losses
        steps.on_failure(setattr, self, "_handles", self._handles)
        self._handles = self._handles[:-1]
        return replace(patch.inverse(), caller=inverse), losses


def _changes_ops(patch: edits.Patch) -> bool:
    """Whether a patch changes more than signatures, and which variables are trainable."""
    changes = (patch.add, patch.remove)
    only_members = all(change == edits.Change(members=change.members) for change in changes)
    members = {key for change in changes for key, _ in change.members}
    renames = patch.input_renames or patch.output_renames
    return (
        not only_members
        or not members <= {TRAINABLE}
        or bool(patch.changed or patch.shapes or patch.order or renames)
    )


def change_of(target: object, patch: edits.Patch, place: object) -> edits.Patch | None:
    """What a patch of `place` changes in `target`, which calls it; None when nothing."""
    while place is not target and isinstance(place, CalledFunction) and patch.caller is not None:
        place, patch = place.caller, patch.caller
    return patch if place is target else None

"""Targets of edits: a live graph, which other cells change too, and a graph that is edited as NodeDefs alone.

The index of a live graph follows the graph: ops that came since are read when the index is next asked for. Ops hidden
by an undo (see `live.patch_application`), and whatever was built on them, are left out.

A file that was not imported yet is edited as NodeDefs, and so is a function's graph. What an edit gives is a new
index. The first one is kept, so that undo gives back exactly the graph that was there, and the last ones, and one now
and then: those between are made again from their edits, which takes less memory than a graph for each edit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tfgraphwidget import edits, export, sources
from tfgraphwidget.cancellation import let_in
from tfgraphwidget.editor.clone_values import GraphSession
from tfgraphwidget.editor.transaction import Transaction, one_thread, transaction
from tfgraphwidget.errors import GraphEditError, NameTaken, NothingTo, NotRunnable, SessionRefused
from tfgraphwidget.graph import (
    GraphIndex,
    Shape,
    VariableDef,
    build,
    definitions,
    effects_of,
    handles,
    names_of,
    places_in_order,
    reachable_functions,
    with_contexts,
    with_runners,
)
from tfgraphwidget.naming import free_name
from tfgraphwidget.runtime import live
from tfgraphwidget.runtime import session as sessions
from tfgraphwidget.tf_types import Graph, GraphDef, NodeDef, Variable

if TYPE_CHECKING:
    from tfgraphwidget.edits import Change, Patch
    from tfgraphwidget.graph import Member
    from tfgraphwidget.sources import Body, Source, StoredTensor

    Members = Mapping[str, tuple[Member, ...]]


_KEPT = 64
"""So many of the last states of a graph are kept, and of those before, one in so many."""


_SESSION_CLOSED = (
    "The graph before this edit cannot run, so its session was closed; the next one begins with its values."
)


def _slice_of(read: Callable[[], object], variable: VariableDef) -> object:
    return sources.variable_slice(read(), variable)


def _names_after(names: Iterable[str], before: Sequence[Patch], after: Sequence[Patch]) -> dict[str, str]:
    """The names of ops after other edits of the same graph, by those that they have now; without ops that are gone.

    Args:
        names: The names of the ops after the edits `before`.
        before: The edits, oldest first.
        after: The other edits, which begin with the same ones.
    """
    common = 0
    while common < min(len(before), len(after)) and before[common] is after[common]:
        common += 1
    current = {name: name for name in names}
    for patch in reversed(before[common:]):
        old_names, new = {now: old for old, now in patch.renamed}, {node.name for node in patch.add.nodes}
        current = {name: old_names.get(now, now) for name, now in current.items() if now in old_names or now not in new}
    for patch in after[common:]:
        new_names, removed_ops = dict(patch.renamed), {node.name for node in patch.remove.nodes}
        current = {
            name: new_names.get(now, now) for name, now in current.items() if now in new_names or now not in removed_ops
        }
    return {now: name for name, now in current.items()}


def _read(variables: Iterable[VariableDef], values: Mapping[str, StoredTensor]) -> dict[str, object]:
    """The values of variables, by their handle ops; of a partitioned one, that of the slice."""
    return {v.handle: sources.variable_slice(values[v.handle].read(), v) for v in variables}


def _nothing() -> None:
    """Do nothing more."""


class NodeDefTarget:
    """An index that edits exchange for another; `patches` are the edits that made it what it is.

    `first` is the one before all of them.
    """

    def __init__(self, index: GraphIndex) -> None:
        self.index = self.first = index
        self._patches: list[Patch] = []
        self._states: dict[int, GraphIndex] = {}  # by how many edits were done then

    def copy(self) -> NodeDefTarget:
        """The same, to be edited on its own."""
        same = NodeDefTarget(self.first)
        same.index, same._patches, same._states = self.index, list(self._patches), dict(self._states)
        return same

    @property
    def patches(self) -> tuple[Patch, ...]:
        """The edits that are in force, oldest first."""
        return tuple(self._patches)

    def fit(self, patch: Patch) -> Patch:
        """The patch itself: NodeDefs can be changed in every way."""
        return patch

    def reserve(self, names: Iterable[str]) -> None:
        """Let no op that is added from now on take these names, which are in lower case."""
        self.index = replace(self.index, reserved=self.index.reserved | set(names))

    def apply(self, patch: Patch, steps: Transaction, *, renew: bool = True) -> tuple[str, ...]:  # noqa: ARG002
        """Apply a patch as a step of an edit.

        Args:
            patch: The change.
            steps: The transaction of the edit.
            renew: Without effect, as NodeDefs have no session.

        Returns:
            (), as nothing is lost.
        """
        number, before = len(self._patches), self.index
        self.index = _index_after(before, patch)
        self._states[number] = before
        self._patches.append(patch)
        steps.on_failure(self._drop, before)
        old = len(self._patches) - _KEPT
        if old % _KEPT:
            self._states.pop(old, None)
        return ()

    def _drop(self, before: GraphIndex) -> None:
        """Forget the last edit; the graph is the one before it."""
        self._patches.pop()
        self._states.pop(len(self._patches), None)
        self.index = before

    def revert(
        self,
        patch: Patch,
        steps: Transaction,
        *,
        renew: bool = True,  # noqa: ARG002
    ) -> tuple[Patch, tuple[str, ...]]:
        """Undo the last edit.

        Args:
            patch: The patch of the last edit.
            steps: The transaction of the undo.
            renew: Without effect, as NodeDefs have no session.

        Returns:
            The patch that undoes the edit, and (), as nothing is lost.
        """
        assert self._patches[-1] is patch  # a history is the only one that edits its draft
        after, self.index = self.index, self._state(len(self._patches) - 1)
        self._patches.pop()
        steps.on_failure(self._put_back, patch, after)
        return patch.inverse(), ()

    def _put_back(self, patch: Patch, after: GraphIndex) -> None:
        """Let an edit that was undone be done again; the graph is the one after it."""
        self._states[len(self._patches)] = self.index
        self._patches.append(patch)
        self.index = after

    def _state(self, number: int) -> GraphIndex:
        """The graph after so many edits."""
        if number in self._states:
            return self._states.pop(number)
        start = max(earlier for earlier in self._states if earlier < number)
        index = self._states[start]
        for at in range(start, number):
            self._states[at] = index
            index = _index_after(index, self._patches[at])
        return index


def _index_after(index: GraphIndex, patch: Patch) -> GraphIndex:
    """A graph of NodeDefs after an edit, with its control flow contexts and queue runners: no TensorFlow has them."""
    after, add, remove = edits.apply_patch(index, patch), patch.add, patch.remove
    extras = after.extras
    if add.contexts or remove.contexts:
        removed_ops = {node.name for node in remove.nodes}
        contexts = edits.contexts_after(index.extras.contexts(), add.contexts, remove.contexts, removed_ops)
        extras = with_contexts(extras, contexts)
    if add.runners or remove.runners:
        others = list(index.extras.runners())
        for runner in remove.runners:  # there may be two alike; one that is not there is ignored, as in a live graph
            if runner in others:
                others.remove(runner)
        extras = with_runners(extras, (*others, *add.runners))
    return after if extras is after.extras else replace(after, extras=extras)


_Stamp = tuple[Any, int, int, int]
"""What the body says, how often ops were hidden or shown, and changed in place; whose body it is."""


@dataclass(frozen=True)
class _Reading:
    """A graph as it was read: its index, how many of its ops are in that or left out of it, and its stamp by then."""

    index: GraphIndex
    ops: int
    stamp: _Stamp


def _variables(index: GraphIndex) -> frozenset[str]:
    """The names of the variables of a graph ("w:0")."""
    return frozenset(variable.name for variable in index.variable_defs)


def _add_members(collections: Members, file_members: Members, names: frozenset[str]) -> dict[str, tuple[Member, ...]]:
    """Collections with the entries that others have for variables of these names."""
    new_members = {
        key: tuple(member for member in members if member.name in names) for key, members in file_members.items()
    }
    return dict(collections) | {
        key: (*collections.get(key, ()), *members)
        for key, members in new_members.items()
        if members or not file_members[key]
    }


def _with_initializers(index: GraphIndex) -> GraphIndex:
    """The graph with those variables that TensorFlow 1 can make: a file's saved objects have no initializers."""
    variables = tuple(variable for variable in index.variable_defs if variable.initializer in index.ids)
    names = {variable.name for variable in variables}
    collections = {
        key: tuple(member for member in members if member.kind != "variable" or member.name in names)
        for key, members in index.collections.items()
    }
    return replace(
        index, variable_defs=variables, collections={key: members for key, members in collections.items() if members}
    )


def _in_order(collections: Members, order: Members) -> Members:
    """Collections with the entries that `order` has in that order, whatever is between them."""
    ordered = dict(collections)
    for key, members in order.items():
        entries = list(collections.get(key, ()))
        places = places_in_order(entries, members)
        for (at, _), (source, _) in zip(places, sorted(places, key=lambda place: place[1]), strict=True):
            entries[at] = collections[key][source]
        ordered[key] = tuple(entries)
    return ordered


def _without(patch: Patch, names: frozenset[str]) -> Patch:
    """The patch without variables of these names, and without entries of collections for them."""

    def rest(change: Change) -> Change:
        members = tuple(entry for entry in change.members if entry[1].name not in names)
        variables = tuple(variable for variable in change.variables if variable.name not in names)
        return replace(change, members=members, variables=variables)

    return replace(patch, add=rest(patch.add), remove=rest(patch.remove))


class LiveTarget:
    """A source with its index; the one place that applies patches to a live graph."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._draft: NodeDefTarget | None = None  # of a graph that TensorFlow does not hold, once it was edited
        self._shapes: dict[tuple[str, int], Shape] = {}  # what edits have made of static shapes
        if source.session is not None and source.graph is not None:
            sessions.variable_values.check_session(source.session, source.graph)
            sessions.watch_partial_runs(source.session)
        self._actual_patches: dict[int, tuple[Patch, Patch]] = {}  # by id: a patch, and what was carried out for it
        self._members: dict[int, tuple[Patch, Members]] = {}  # by id: a patch, and what collections held before it
        self._built_on_hidden: set[str] = set()
        self._reserved: frozenset[str] = frozenset()
        # Variables of a file's saved objects: TensorFlow 1's importer makes no tf.Variables of them.
        self._objectless: frozenset[str] = frozenset()
        self._imported_names: dict[str, str] = {}  # of ops that edits of a file changed, where TensorFlow has new ones
        self._reading: _Reading
        self._form: sources.FileForm | None = None  # of a file that was imported
        self._edits_in_archive: tuple[Patch, ...] | None = None  # None while those of an archive are made again
        self._imported: GraphIndex | None = None  # as it was then
        self._present_file: tuple[GraphIndex, Source] | None = None  # the file after its edits, opened by itself
        # Of a file that was imported as edits had made it: these edits, and what makes the file of it that it was.
        self._edits_in_import: tuple[tuple[Patch, ...], Callable[[], None]] | None = None
        self._closed: sessions.SessionContents | None = None  # what the session of that held when an undo closed it
        self.reread()
        self.first = self._reading.index  # before all edits

    @property
    def body(self) -> Body:
        """The body that the graph is read from."""
        return self.source.body

    @property
    def index(self) -> GraphIndex:
        """The graph as it is now."""
        if self._draft is not None:
            return self._draft.index
        if self.is_behind():
            with one_thread():
                stamp = self._present_stamp()
                grew = stamp[1:] == self._reading.stamp[1:]  # else another editor has hidden, shown or changed ops
                self._take(stamp, grown=grew)
        return self._reading.index

    def is_behind(self) -> bool:
        """Whether the graph has changed since it was read last."""
        return self._draft is None and self._present_stamp() != self._reading.stamp

    def reread(self) -> None:
        """Read the whole graph again, edges that other code has changed in place included."""
        self._take(self._present_stamp(), grown=False)

    def graph(self) -> Graph:
        """The graph that can be changed and run; a file is imported now. Raises NotRunnable."""
        if self.source.graph is None:
            self._revive()
        return self.source.live()

    def _revive(self) -> None:
        """Import a file, and apply to TensorFlow's graph the edits that were made before."""
        source, draft, body = self.source, self._draft, self.source.body
        with transaction() as steps:
            steps.on_failure(self.file_restorer())
            try:
                graph = source.live()
            except NotRunnable:
                if not self._is_edited_file():
                    raise
                self._import_edited()
                return
            # Of what a Saver does not restore, TensorFlow needs further ops to assign values.
            live.hide_all_but(graph, names_of(body.nodes(0)))
            self._draft, self._objectless = None, _variables(self._reading.index)
            self.reread()
            imported_index = self._reading.index
            self._form = sources.FileForm(body, imported_index.nodes, source.repaired)
            self._imported = imported_index
            if draft is not None and draft.patches:
                renewal = self._renewal()  # it has run already what it restored values with
                names: dict[str, str] = {}  # of ops that one of the edits has changed, where TensorFlow has new ones
                for patch in draft.patches:
                    names = self._do_again(patch, names)
                    self._imported_names |= names
                if renewal:
                    renewal.apply()
                for planned, fitted in self._actual_patches.values():
                    source.notices += fitted.notes[len(planned.notes) :]
            self._load_saved_values(() if draft is None else draft.patches)

    def _import_edited(self) -> None:
        """Import a file as edits have made it, since TensorFlow cannot import it as it was: they removed the cause.

        TensorFlow can never have the ops that were removed, so an undo of these edits makes a file of it again.
        """
        source, draft = self.source, self._draft
        assert draft is not None  # it has edits
        restore, readers = self.file_restorer(), self.value_readers(draft.patches)
        present, index = self._open_present_file(), draft.index
        assert present.revive is not None  # it is a file's, too
        imported, new_names = present.revive(), edits.rewire.new_names(draft.patches, {})
        saved_names = {new_names.get(handle, handle): name for handle, name in source.body.saved_names.items()}
        source.take(replace(imported, body=sources.GraphBody(imported.graph, saved_names=saved_names)))
        past = source.find_obstacles()[0] if source.find_obstacles is not None else ()
        others = [notice for notice in source.notices if notice not in (*past, *present.notices)]
        source.notices = (*present.notices, *others)
        live.hide_all_but(imported.graph, index.names)
        self._draft, self._objectless = None, _variables(index)
        self._reading = replace(self._reading, index=index)  # whose collections the objectless variables are in
        self.reread()
        self._form = sources.FileForm(present.body, self._reading.index.nodes, source.repaired)
        self._imported = self._reading.index
        values = sessions.SessionContents({handle: read() for handle, read in readers.items()})
        source.notices += sessions.load_contents(values, imported.session, imported.graph)
        for patch in draft.patches:
            self._initialize(patch)
        self._load_saved_values(draft.patches)
        if self._closed is not None:
            source.notices += sessions.load_contents(self._closed, imported.session, imported.graph)
        self._edits_in_import = draft.patches, restore

    def _is_edited_file(self) -> bool:
        """Whether this is a file's graph that TensorFlow has not imported, and that edits have changed."""
        return self.is_file and self._draft is not None and bool(self._draft.patches)

    def _open_present_file(self) -> Source:
        """The graph of an edited file, opened as if edits had been made before it was written."""
        draft, source = self._draft, self.source
        assert draft is not None  # it has edits
        assert source.open_edited is not None  # it is a file's
        if self._present_file is None or self._present_file[0] is not draft.index:
            notices: list[str] = []
            original = None if source.stored is None else source.stored.meta()
            meta_graph = export.file_meta_graph(
                _with_initializers(draft.index), self.envelope(), draft.index.nodes, original, notices
            )
            present = source.open_edited(meta_graph)
            present.notices += tuple(notices)
            self._present_file = draft.index, present
        return self._present_file[1]

    @property
    def live_refusal(self) -> str:
        """Why TensorFlow cannot import the file as edits have made it, as a sentence; "" if it can, or has."""
        source = self.source
        if source.graph is not None or not source.live_refusal:
            return ""
        return self._open_present_file().live_refusal if self._is_edited_file() else source.live_refusal

    def _do_again(self, patch: Patch, names: Mapping[str, str]) -> dict[str, str]:
        """Apply a patch that was planned when the graph was a file, in which ops have other `names` now.

        Args:
            patch: The patch, which is taken back by itself.
            names: The present names of the ops that have others.

        Returns:
            These names after the edit.
        """
        planned = edits.with_present_names(patch, names)
        present = edits.with_free_names(self.index, planned, self.index.ids.keys())
        new_names = {old.name: new.name for old, new in zip(planned.add.nodes, present.add.nodes, strict=True)}
        with transaction() as edit, edit.without_interrupts():
            self.apply(present, edit, renew=False)
        _, fitted = self._actual_patches.pop(id(present), (None, present))
        if fitted is not patch:
            self._actual_patches[id(patch)] = patch, fitted
        self._members[id(patch)] = patch, self._members.pop(id(present))[1]
        removed_ops = {node.name for node in patch.remove.nodes}
        new = dict(fitted.output_renames[len(present.output_renames) :])
        new |= {old: now for old, now in new_names.items() if old != now}
        return {old: new.pop(now, now) for old, now in names.items() if old not in removed_ops} | new

    def take_saved_values(self) -> None:
        """Take the values with which the editor was written for those of the graph as it is now."""
        self._edits_in_archive = () if self._draft is None else self._draft.patches
        self._load_saved_values(self._edits_in_archive)

    def saved_names(self) -> dict[str, str]:
        """The names that ops had when the editor was written, if it was, by those that they have now."""
        return self._saved_names(() if self._draft is None else self._draft.patches)

    def _saved_names(self, edits: Sequence[Patch]) -> dict[str, str]:
        saved = self.source.saved_editor
        if saved is None:
            return {}
        names = (*saved.values, *saved.tables, *saved.iterators)
        if self._edits_in_archive is None:
            return {name: name for name in names}
        return _names_after(names, self._edits_in_archive, edits)

    def _saved_values(self, edits: Sequence[Patch]) -> dict[str, StoredTensor]:
        """The values of variables with which the editor was written, if it was, by the names of their handle ops now.

        A variable that an edit had removed has its value again when that edit is undone.
        """
        saved, before = self.source.saved_editor, self._edits_in_archive
        if saved is None:
            return {}
        later = [] if before is None else [p for p in edits if not any(p is patch for patch in before)]
        new = {node.name for patch in later for node in patch.add.nodes}
        removed = {name: tensor for name, tensor in saved.removed.items() if name not in new}
        names = self._saved_names(edits).items()
        return removed | {now: saved.values[name] for now, name in names if name in saved.values}

    def load_saved_values_of(self, patch: Patch) -> None:
        """Load the values with which the editor was written into the variables that an edit has added.

        Args:
            patch: The edit, one of those of the archive that are made again: later ones read the values.
        """
        source = self.source
        if source.graph is not None and source.session is not None:
            new = {node.name for node in patch.add.nodes}
            values = {name: tensor for name, tensor in self._saved_values(()).items() if name in new}
            variables = definitions(self.index, [self.index.ids[name] for name in values if name in self.index.ids])
            contents = sessions.SessionContents(_read(variables.values(), values))
            sessions.load_contents(contents, source.session, source.graph)

    def _load_saved_values(self, edits: Sequence[Patch]) -> None:
        """Load what the session held with which the editor was written, also into what `edits` have added."""
        source, saved = self.source, self.source.saved_editor
        if saved is None or source.graph is None or source.session is None:
            return
        ids, types = self.index.ids, self.index.types
        names = {now: name for now, name in self._saved_names(edits).items() if now in ids}
        values = {name: tensor for name, tensor in self._saved_values(edits).items() if name in ids}
        tables = [op for op, name in names.items() if name in saved.tables]
        if source.stored is not None and source.stored.folder() is not None:  # whose import has filled all others
            tables = [op for op in tables if types[ids[op]].startswith("Mutable")]
        if not edits and not saved.edits and source.stored is not None:  # the import has loaded these
            values = {name: tensor for name, tensor in values.items() if source.stored.key(name) != tensor.name}
        variables = definitions(self.index, [ids[handle] for handle in values])
        contents = sessions.SessionContents(
            _read(variables.values(), values),
            {op: tuple(tensor.read() for tensor in saved.tables[names[op]]) for op in tables},
            {op: saved.iterators[name].read() for op, name in names.items() if name in saved.iterators},
        )
        sessions.load_contents(contents, source.session, source.graph)

    def file_restorer(self) -> Callable[[], None]:
        """Return a function that undoes a later import of the file.

        TensorFlow's graph cannot make an op another one as a file's edits can, so a new one has another name there.
        """
        if self.source.graph is not None:
            return _nothing
        source, draft = self.source, self._draft
        state = source.body, source.notices, source.has_values
        saved = None if draft is None else draft.copy(), self._reading, dict(self._shapes), set(self._built_on_hidden)
        objectless = self._objectless

        def restore() -> None:
            if source.graph is None:
                return
            if source.session is not None:
                source.session.close()
            source.graph = source.session = None
            source.body, source.notices, source.has_values = state
            self._draft, self._reading, self._shapes, self._built_on_hidden = saved
            self._actual_patches, self._members, self._form, self._objectless = {}, {}, None, objectless
            self._imported_names, self._edits_in_import = {}, None

        return restore

    def envelope(self) -> GraphDef:
        """A GraphDef with the versions and the library of the graph, as its file has them, and no nodes."""
        graph_def: GraphDef = self.source.body.envelope()
        if self._form is not None:
            graph_def = self._form.envelope(graph_def)
        return graph_def

    def as_in_file(self, nodes: Iterable[NodeDef]) -> list[NodeDef]:
        """NodeDefs of the graph as its file has them: without the attributes that TensorFlow added to them.

        Args:
            nodes: The NodeDefs, in the order of the graph.
        """
        return list(nodes) if self._form is None else self._form.nodes(nodes)

    def is_unedited(self) -> bool:
        """Whether a file's graph, its variables and its tables are still those of the file."""
        if self._form is None or self._imported is None:
            return self.source.graph is None and self.index is self.first
        index, imported_index = self.index, self._imported
        if self.as_in_file(index.nodes) != list(self.first.nodes) or index.collections != imported_index.collections:
            return False
        return not any(kind.startswith("Mutable") for kind in index.types) and self._has_saved_values()

    def _has_saved_values(self) -> bool:
        source, index = self.source, self.index
        if source.session is None or source.stored is None:
            return False
        reads = {v.handle: v.snapshot or v.name for v in definitions(index, handles(index)).values()}
        try:
            now = source.session.run(reads) if reads else {}
            saved = {handle: np.asarray(source.stored.value(handle)) for handle in reads}
        except Exception:  # whatever TensorFlow finds: then they are no more the saved ones
            return False
        return all(np.asarray(now[key]).tobytes() == value.tobytes() for key, value in saved.items())

    def _record(self) -> live.Record:
        graph = self.source.graph
        return live.Record() if graph is None else live.record_of(graph)

    def _present_stamp(self) -> _Stamp:
        record = self._record()
        return self.source.body.stamp(), record.generation, record.rewire_count, id(self.source.body)

    def _take(self, stamp: _Stamp, *, grown: bool) -> None:
        """Read the graph, and store the result in one step: if reading fails, nothing has changed."""
        base, read_before = (self._reading.index, self._reading.ops) if grown else (None, 0)
        built_on_hidden = set(self._built_on_hidden) if grown else set()
        file_members = self._reading.index.collections if self._objectless else {}
        body, hidden = self.source.body, self._record().hidden
        whole = body.nodes(read_before)
        read = whole if self.source.graph is None else live.in_place_changes.without_veils(self.source.graph, whole)
        if base is None and self.source.graph is None:
            nodes = read  # of a file, whose names were compared when it was opened
        else:
            there = base.ids if base is not None else {}
            nodes = list({node.name: node for node in read if node.name not in there}.values())
        collections, variables = body.collections()
        if self._objectless:
            self._objectless -= {variable.name for variable in variables}
            collections = _add_members(collections, file_members, self._objectless)
        if hidden:
            # Not hidden for good: who shows again what they were built on shows them too.
            built_on_hidden |= edits.dependents_of(nodes, hidden | built_on_hidden)
            hidden = hidden | built_on_hidden
            nodes = [node for node in nodes if node.name not in hidden]
            collections, variables = edits.without_hidden(collections, variables, hidden)
        record = self._record()
        if record.functions:  # who imports what was saved before an undo calls functions that the undo has hidden
            record.functions -= reachable_functions(body.functions(), body, nodes).keys()
            record.failed_functions &= record.functions
        functions = body.functions() - record.functions
        if base is not None:
            index = base.with_new_nodes(nodes, collections, variables, functions)
        else:
            reserved = edits.reserved_names(hidden - record.failed.keys()) | self._reserved
            reserved |= {name.lower() for name in record.functions - record.failed_functions}
            typing = body.typing.with_shapes(self._shapes) if self._shapes else body.typing
            index = build(
                nodes, collections, variables, reserved, typing=typing, functions=functions, extras=body, origin=self
            )
        self._reading = _Reading(index, read_before + len(whole), stamp)
        self._built_on_hidden = built_on_hidden

    def apply(
        self,
        patch: Patch,
        steps: Transaction,
        *,
        load: Callable[[], None] = _nothing,
        origin: Graph | None = None,
        renew: bool = True,
    ) -> tuple[str, ...]:
        """Apply a patch and load the values of new variables, as steps of an edit.

        Args:
            patch: The change.
            steps: The transaction of the edit.
            load: Loads the values. It is called when the ops are in the graph.
            origin: The graph that has the originals of copied ops, if it is another one.
            renew: Whether the session is renewed after changes in place.

        Returns:
            A sentence for each thing that the renewal loses.

        Raises:
            GraphEditError: The graph has changed since the patch was planned, or cannot be changed now.
            NotTrusted: TensorFlow may run an op of a file to know the shapes of those that the patch adds.
            SessionRefused: The session cannot be renewed, or a value cannot be loaded.
        """
        if self.source.graph is None:
            self._draft = self._draft or NodeDefTarget(self.index)
            return self._draft.apply(patch, steps)
        steps.enter_context(self._record().lock)
        import_count = self._record().import_count
        self.index  # noqa: B018 - what came since is read before the graph changes
        before, planned, patch = self._reading, patch, self._fit(patch)
        self._check_trust(patch)
        renewal = self._renewal() if patch.changed and renew else None
        load_renamed_state = self._renamed_state(patch, is_renewed=renewal is not None or not patch.changed)
        generation = self._record().generation
        if renewal:
            steps.on_failure(self._renew_again, renewal)  # behind the undoing of what follows here
        steps.on_failure(setattr, self, "_shapes", self._shapes)
        steps.on_failure(setattr, self, "_objectless", self._objectless)
        # With the names before, which an undo gives back.
        self._objectless |= {f"{new}:0" for old, new in patch.renamed if f"{old}:0" in self._objectless}
        # After a failure the generation has grown, so that the index is read again when it is next asked for.
        in_graph = _without(patch, self._objectless) if self._objectless else patch
        steps.enter_context(
            live.patch_application.live_patch(in_graph, self.graph(), origin, session=self.source.session)
        )
        if patch.renamed:
            record = self._record()
            steps.on_failure(setattr, record, "renamed", record.renamed)
            record.renamed = edits.rewire.new_names([patch], record.renamed)
        let_in()
        load()
        self._initialize(patch)
        let_in()
        self._follow(before, patch, generation, import_count)
        if renewal:
            let_in()
            renewal.apply()
        losses = load_renamed_state()
        keys = {key for change in (patch.add, patch.remove) for key, _ in change.members}
        members = {key: before.index.collections.get(key, ()) for key in keys}
        self._members[id(planned)] = planned, members
        # The notes of the patch, which its preview shows too, list what was known when it was planned.
        return (*(renewal.losses if renewal else ()), *(loss for loss in losses if loss not in patch.notes))

    @property
    def new_names(self) -> Mapping[str, str]:
        """The present names of the ops of a live graph that edits have renamed, those of other editors too."""
        return self._record().renamed

    def _renew_again(self, renewal: sessions.Renewal) -> None:
        """Let the session follow a graph that was put back behind its renewal; it keeps what it holds now."""
        if renewal.is_done:
            again = self._renewal()
            if again:
                again.apply()

    def _initialize(self, patch: Patch) -> None:
        """Give variables that a redo adds what a closed session held, and those that a body brought in first values."""
        session, closed_values = self.source.session, {} if self._closed is None else self._closed.variables
        if session is None or not (patch.captured or closed_values):
            return
        new = [v for v in patch.add.variables if not sessions.variable_values.has_value(session, v.snapshot or v.name)]
        values = {v.handle: closed_values[v.handle] for v in new if v.handle in closed_values}
        sessions.load_contents(sessions.SessionContents(values), session, self.graph())
        if not patch.captured:
            return
        others = [v for v in new if v.handle not in values]
        live.traced_ops.initialize(sessions.TimedSession(session), others, ())

    def carried_out(self, patch: Patch) -> Patch:
        """The patch that was carried out when TensorFlow imported the file; the planned one where that is the same."""
        return self._actual_patches.get(id(patch), (patch, patch))[1]

    def present_name(self, op: str) -> str:
        """The name that an op has now which an edit changed before the file was imported."""
        return self.imported_names.get(op, op)

    @property
    def imported_names(self) -> dict[str, str]:
        """The name that an op has now for each that an edit changed before the file was imported."""
        if not self._imported_names:
            return {}
        ids = self.index.ids
        return {old: new for old, new in self._imported_names.items() if old not in ids and new in ids}

    def check_placed(self, patch: Patch, origin: LiveTarget) -> None:
        """Raise SessionRefused when the session could not place what a patch adds, as `carry_out` does.

        `origin` is the graph that it copies from.
        """
        if self.source.graph is None:
            live.placement.check_file_devices(patch)
        else:
            live.placement.check_patch_placement(self.source.session, self.source.graph, patch, origin.source.graph)

    def placing_notices(self, patch: Patch) -> tuple[str, ...]:
        """A sentence for each device that a patch pins ops to and that is not there."""
        return live.placement.device_notices(self.source.session, self.source.graph, patch)

    def fit(self, patch: Patch) -> Patch:
        """The patch as this graph can carry it out: the ops of a live graph cannot be changed in every way."""
        if self.source.graph is None:
            return patch
        if patch.order:
            raise GraphEditError(
                "sort: TensorFlow lists the ops of a live graph in the order in which they were made; save the graph "
                "to a file, and sort that."
            )
        new = {node.name for node in patch.add.nodes}
        keeper = next((node.name for node in patch.remove.nodes if node.name in new), None)
        if keeper is not None:
            free = free_name(keeper, self.index.used_names() | {name.lower() for name in new})
            raise NameTaken(
                f"TensorFlow keeps the op that is {keeper!r} now, so that no other can have this name; choose another "
                f"name, such as one that makes it {free!r}.",
                [keeper],
            )
        return edits.replace_fixed_ops(self.index, patch)

    def _fit(self, patch: Patch) -> Patch:
        """The same for one that was planned when the graph was a file; to be taken back as it was carried out.

        Raises when the graph is not one that it can be carried out in just now.
        """
        live.check_not_growing(self.graph())
        fitted_patch = self.fit(replace(patch, order=()) if patch.order else patch)
        edits.check_unchanged(self.index, fitted_patch)
        if fitted_patch is not patch:
            self._actual_patches[id(patch)] = patch, fitted_patch
        return fitted_patch

    def _check_trust(self, patch: Patch) -> None:
        """Raise NotTrusted if a shape would hang on an op that does more than compute: TensorFlow computes it then."""
        trust = self.source.trust
        if not trust.is_given and (patch.add.nodes or patch.changed):
            trust.check(
                effects_of(edits.apply_patch(self.index, patch), trust).at_import(), "the graph was not changed"
            )

    def _renewal(self) -> sessions.Renewal | None:
        """The state of the session, to be transferred when it is renewed; None without a session."""
        session = self.source.session
        return None if session is None else sessions.Renewal.read(session, self.graph())

    def _renamed_state(self, patch: Patch, *, is_renewed: bool) -> Callable[[], tuple[str, ...]]:
        """Read what the session holds under keys that a patch renames; what loads it and returns what is lost."""
        session, graph = self.source.session, self.graph()
        if not patch.renamed:
            return tuple
        old, new = ({node.name: node for node in change.nodes} for change in (patch.remove, patch.add))
        pairs = ((old[before], new[after]) for before, after in patch.renamed if before in old and after in new)
        state = sessions.RenamedState.read(session, graph, pairs, is_renewed=is_renewed)
        return partial(state.load, session, graph)

    def _follow(self, before: _Reading, patch: Patch, generation: int, import_count: int) -> None:
        """Let the index be what the graph is after the patch; `import_count` counts the ops of edits before it.

        When other threads have added to the graph meanwhile it is behind, and reads on when it is next asked for.
        """
        self._shapes = {**self._shapes, **patch.new_shapes}
        # Ops that are shown again come back at their old places in graph order.
        if patch.add.nodes and self._record().generation != generation:
            if self._objectless:  # only a reading has their entries of collections
                self._reading = replace(before, index=edits.apply_patch(before.index, patch))
            self.reread()
            return
        stamp, ops = self._present_stamp(), live.operation_count(self.graph())
        after = edits.apply_patch(before.index, patch)
        if patch.remove.nodes or not after.is_sorted(len(before.index)):
            # TensorFlow imports first what is ready, and a later reading finds the ops in that order. It is that of the
            # NodeDefs where each stands behind what it reads
            # (test_tensorflow_facts.py::test_ops_are_imported_in_the_order_of_their_nodes_where_that_is_possible).
            place = {op.name: k for k, op in enumerate(self.graph().get_operations()[before.ops :])}
            nodes = tuple(sorted(patch.add.nodes, key=lambda node: place[node.name]))
            after = edits.apply_patch(before.index, replace(patch, add=replace(patch.add, nodes=nodes)))
        is_alone = ops - before.ops == self._record().import_count - import_count and self._is_all(
            patch, before, after, stamp
        )
        self._reading = _Reading(after, ops, stamp) if is_alone else replace(before, index=after)

    def _is_all(self, patch: Patch, before: _Reading, after: GraphIndex, stamp: _Stamp) -> bool:
        """Whether nothing but the patch has changed the collections and the functions."""
        if self.source.body.functions() - self._record().functions != after.functions:
            return False
        then, now = before.stamp[0].collections, stamp[0].collections
        grown = Counter(key for key, _ in (*patch.add.members, *patch.add.runners))
        grown.subtract(key for key, _ in (*patch.remove.members, *patch.remove.runners))
        contexts = live.COLLECTIONS.values() if patch.add.contexts or patch.remove.contexts else ()

        def is_right(key: str) -> bool:
            had, holds = then.get(key, ()), now.get(key, ())
            return len(holds) - len(had) == grown[key] if key in grown else holds == had

        return all(is_right(key) for key in {*then, *now}.difference(contexts))

    def revert(self, patch: Patch, steps: Transaction, *, renew: bool = True) -> tuple[Patch, tuple[str, ...]]:
        """Undo an edit. On a live graph what it added is hidden.

        Args:
            patch: The patch of the edit.
            steps: The transaction of the undo.
            renew: Whether the session is renewed after changes in place.

        Returns:
            The patch that undoes the edit, and a sentence for each thing that the undo loses. The patch also removes
            later ops that depend on those of the edit.

        Raises:
            NothingTo: Another editor has undone the edit already.
        """
        if self._draft is None and self._edits_in_import is not None:
            edits_before, restore = self._edits_in_import
            if any(each is patch for each in edits_before):
                losses = self._close_session(restore)
                return self.revert(patch, steps, renew=renew)[0], losses
        if self._draft is not None:
            return self._draft.revert(patch, steps)
        index, planned = self.index, id(patch)
        _, patch = self._actual_patches.get(planned, (None, patch))
        self._check_revertible(patch)
        inverse = patch.inverse()
        edits.check_unchanged(index, inverse)
        inverse = inverse.with_dependents(index)
        losses = self.apply(inverse, steps, renew=renew)
        self._members.pop(id(inverse), None)
        self._actual_patches.pop(planned, None)
        # TensorFlow's collections take what comes back at their ends.
        order = self._members.pop(planned, (None, {}))[1]
        reordered = live.patch_application.put_in_order(self.graph(), order)
        if self._objectless:
            now = self._reading.index
            ordered = now.with_new_nodes((), _in_order(now.collections, order), now.variable_defs)
            self._reading, reordered = replace(self._reading, index=ordered), True
        if reordered:
            self.reread()
        return inverse, losses

    def _close_session(self, restore: Callable[[], None]) -> tuple[str, ...]:
        """Make a file of the graph again with `restore`, and keep what the session held; sentences on what is lost."""
        graph, session = self.source.graph, self.source.session
        assert graph is not None  # it was imported
        contents, losses = self._closed, [_SESSION_CLOSED]
        if session is not None:
            try:
                contents = sessions.read_contents(session, graph, {op.name for op in graph.get_operations()})
            except SessionRefused as refusal:
                losses.append(refusal.why)
        restore()
        self._closed = contents
        return tuple(losses)

    def _check_revertible(self, patch: Patch) -> None:
        """Raise NothingTo when another editor has taken away what an edit added, or put back what it removed."""
        ids, added = self.index.ids, {node.name for node in patch.add.nodes}
        missing_op = next((node.name for node in patch.add.nodes if node.name not in ids), None)
        if missing_op is not None:
            now = self.new_names.get(missing_op, "")
            if now in ids:
                raise NothingTo(
                    f"Another editor has renamed op {missing_op!r} to {now!r} since; undo that there first.", [now]
                )
            raise NothingTo(
                f"Another editor has undone this already, or has removed op {missing_op!r}; redo it there, or undo the "
                "removal there, first."
            )
        present_op = next(
            (node.name for node in patch.remove.nodes if node.name in ids and node.name not in added), None
        )
        if present_op is not None:
            raise NothingTo(
                f"Another editor has put op {present_op!r} back, or has made one of that name; undo that there first.",
                [present_op],
            )

    def reserve(self, names: Iterable[str]) -> None:
        """Let no op that is added from now on take these names, which are in lower case."""
        self._reserved |= set(names)
        if self.source.graph is None:
            self._draft = self._draft or NodeDefTarget(self.index)
            self._draft.reserve(self._reserved)
        else:
            self.reread()

    def graph_session(self) -> GraphSession:
        """The graph, imported now if it is a file's, with its index and session."""
        self.graph()
        return self.present_graph()

    def present_graph(self) -> GraphSession:
        """The index, with the graph and the session unless it is a file's that is not imported."""
        signature = self.source.signature
        ends = {} if signature is None else dict((*signature.outputs, *signature.inputs))
        return GraphSession(
            self.index,
            self.source.graph,
            self.source.session,
            ends,
            sources.SavedNames(self.source, {}).of,
            self.graph_session,
            trust=self.source.trust,
        )

    @property
    def is_file(self) -> bool:
        """Whether this is a file's graph that TensorFlow has not imported."""
        return self.source.graph is None and self.source.revive is not None and not self.source.refusal

    def value_readers(self, patches: Iterable[Patch]) -> dict[str, Callable[[], object]]:
        """Readers of the values that a file has for variables, by the names that their handle ops have now.

        Args:
            patches: The edits of the file, oldest first.
        """
        stored, origins = self.source.stored, dict[str, str | Callable[[], object]]()
        for patch in patches:
            origins |= {new: origins.pop(old, old) for old, new in patch.renamed}
            origins |= dict(patch.values)
        closed_values = {} if self._closed is None or self.source.graph is not None else self._closed.variables
        edits_now = () if self._draft is None else self._draft.patches
        saved_values = {} if self.source.graph is not None else self._saved_values(edits_now)
        readers: dict[str, Callable[[], object]] = {}
        if not closed_values and not saved_values and not origins and (stored is None or not stored.has_values):
            return readers  # a file may have 100,000 variables
        for variable in definitions(self.index, handles(self.index)).values():
            origin = origins.get(variable.handle, variable.handle)
            tensor = saved_values.get(variable.handle)
            if variable.handle in closed_values:
                readers[variable.handle] = partial(closed_values.__getitem__, variable.handle)
            elif tensor is not None:
                readers[variable.handle] = partial(_slice_of, tensor.read, variable)
            elif not isinstance(origin, str):
                readers[variable.handle] = origin
            elif stored is not None and stored.key(origin) is not None:
                readers[variable.handle] = partial(stored.value, origin)
        return readers

    def names_after_failures(self) -> frozenset[str]:
        """Names, in lower case, that an edit which failed has left taken for all edits but itself."""
        return edits.reserved_names(self._record().failed.keys() - self._record().ungrown)

    def has_values(self) -> bool:
        """Whether the variables have values: those of a checkpoint, or what a person gave the session since."""
        source = self.source
        if not source.has_values and source.session is not None:
            first = next((v for v in self.index.variable_defs if v.snapshot or not v.resource), None)
            source.has_values = first is not None and sessions.variable_values.has_value(
                source.session, first.snapshot or first.name
            )
        return source.has_values

    def came_without_values(self) -> bool:
        """Whether this is a file's graph whose variables have no values, from a checkpoint or the session."""
        return self.source.revive is not None and bool(handles(self.index)) and not self.has_values()

    def variables(self, patch: Patch) -> tuple[Variable, ...]:
        """The `tf.Variable`s that a patch has made, in graph order."""
        return self.variables_of(v.handle for v in patch.add.variables)

    def variables_of(self, handles: Iterable[str]) -> tuple[Variable, ...]:
        """The `tf.Variable`s of some handle ops.

        Args:
            handles: The names of the handle ops.
        """
        return live.patch_application.variables_of(self.graph(), [f"{handle}:0" for handle in handles])

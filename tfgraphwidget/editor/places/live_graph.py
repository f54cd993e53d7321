"""A live graph, which other cells change too: the one place that applies patches to a `tf.Graph`.

The index follows the graph: ops that came since are read when the index is next asked for. Ops
hidden by an undo (see `live.patch_application`), and whatever was built on them, are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tfgraphwidget import edits, sources
from tfgraphwidget.cancellation import let_in
from tfgraphwidget.editor.transaction import Snapshot, Transaction, one_thread
from tfgraphwidget.errors import GraphEditError, NameTaken, SessionRefused
from tfgraphwidget.graph import (
    GraphIndex,
    Shape,
    all_variables,
    build,
    effects_of,
    places_in_order,
    reachable_functions,
)
from tfgraphwidget.naming import free_name
from tfgraphwidget.runtime import live
from tfgraphwidget.runtime import session as sessions
from tfgraphwidget.sentences import either
from tfgraphwidget.tf_types import Graph, GraphDef, NodeDef

if TYPE_CHECKING:
    from tfgraphwidget.editor.places.holder import Holder, ImportedFile
    from tfgraphwidget.edits import Change, Patch
    from tfgraphwidget.graph import Member
    from tfgraphwidget.sources import Body

    Members = Mapping[str, tuple[Member, ...]]

_STALE = (
    "TensorFlow's own tensors keep the static shapes that they had ({} of them); the editor and "
    "what it saves have the new ones."
)
_FOLLOW = either(
    "tgw.renew(session) lets it follow.", "renew the session in a cell to let it follow."
)
_SESSION_CLOSED = (
    "TensorFlow imported the file and cannot follow this step in its graph, so the session was "
    "closed; the next one begins with its values."
)


def _nothing() -> None:
    """Do nothing more."""


_Stamp = tuple[Any, int, int, int]
"""What the body says, how often ops were hidden or shown, and changed in place; whose body it is.
"""


@dataclass(frozen=True)
class _Reading:
    """A graph as it was read: its index, how many of its ops are in it or left out, its stamp."""

    index: GraphIndex
    ops: int
    stamp: _Stamp


def _variables(index: GraphIndex) -> frozenset[str]:
    """The names of the variables of a graph ("w:0")."""
    return frozenset(variable.name for variable in index.variable_defs)


def _add_members(
    collections: Members, file_members: Members, names: frozenset[str]
) -> dict[str, tuple[Member, ...]]:
    """Collections with the entries that others have for variables of these names."""
    new_members = {
        key: tuple(member for member in members if member.name in names)
        for key, members in file_members.items()
    }
    return dict(collections) | {
        key: (*collections.get(key, ()), *members)
        for key, members in new_members.items()
        if members or not file_members[key]
    }


def _in_order(collections: Members, order: Members) -> Members:
    """Collections with the entries that `order` has in that order, whatever is between them."""
    ordered = dict(collections)
    for key, members in order.items():
        entries = list(collections.get(key, ()))
        places = places_in_order(entries, members)
        for (at, _), (source, _) in zip(
            places, sorted(places, key=lambda place: place[1]), strict=True
        ):
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


class LiveGraph:
    """The graph of a `tf.Graph`, with the session that runs it if there is one.

    `file` is what was imported into it, if it was a file; the edits of that are the first ones.
    """

    needs_import = False
    live_refusal = ""
    boundary = None

    def __init__(
        self, root: Holder, file: ImportedFile | None = None, body: Body | None = None
    ) -> None:
        """Read the graph; `body` is the file as imported, with the edits that were made in it."""
        source = root.source
        self._root, self.source, self.file = root, source, file
        self._shapes: dict[tuple[str, int], Shape] = {}  # what edits have made of static shapes
        if source.session is not None:
            sessions.variable_values.check_session(source.session, source.live())
            sessions.watch_partial_runs(source.session)
        # Patches, and what collections held before each.
        self._members: list[tuple[Patch, Members]] = []
        self._built_on_hidden: set[str] = set()
        self._reserved: frozenset[str] = frozenset()
        # Variables of a file's saved objects: TensorFlow 1's importer makes no tf.Variables of
        # them.
        self._objectless: frozenset[str] = frozenset()
        self._has_undone = False  # an edit that was made in the file
        self._reading: _Reading
        if file is not None:
            # Of what a Saver does not restore, TensorFlow needs further ops to assign values.
            live.hide_all_but(source.live(), file.index.names)
            self._reserved, self._objectless = file.index.reserved, _variables(file.index)
            # Whose collections have these variables.
            self._reading = _Reading(file.index, 0, self._present_stamp())
        self.reread()
        self._imported = self._reading.index  # before all edits in TensorFlow
        self._form = (
            None if body is None else sources.FileForm(body, self._imported.nodes, source.repaired)
        )

    def import_graph(self) -> LiveGraph:
        """The graph itself."""
        return self

    @property
    def patches(self) -> tuple[Patch, ...]:
        """No edits: TensorFlow's graph has their results, and an editor's history has them."""
        return ()

    @property
    def index(self) -> GraphIndex:
        """The graph as it is now."""
        if self.is_outdated():
            with one_thread():
                stamp = self._present_stamp()
                # Else another editor has hidden, shown or changed ops.
                grew = stamp[1:] == self._reading.stamp[1:]
                self._take(stamp, grown=grew)
        return self._reading.index

    def is_outdated(self) -> bool:
        """Whether the graph has changed since it was read last."""
        return self._present_stamp() != self._reading.stamp

    def reread(self) -> None:
        """Read the whole graph again, edges that other code has changed in place included."""
        self._take(self._present_stamp(), grown=False)

    def graph(self) -> Graph:
        """The graph that can be changed and run."""
        return self.source.live()

    def envelope(self) -> GraphDef:
        """A GraphDef without nodes: the versions and library of the graph, as its file has them."""
        graph_def: GraphDef = self.source.body.envelope()
        if self._form is not None:
            graph_def = self._form.envelope(graph_def)
        return graph_def

    def as_in_file(self, nodes: Iterable[NodeDef]) -> list[NodeDef]:
        """NodeDefs as the file has them: without attributes that TensorFlow added."""
        return list(nodes) if self._form is None else self._form.nodes(nodes)

    def is_unedited(self) -> bool:
        """Whether a file's graph, its variables and its tables are still those of the file."""
        if self._form is None:
            return False
        index, first = self.index, self._root.first
        if (
            self.as_in_file(index.nodes) != list(first.nodes)
            or index.collections != self._imported.collections
        ):
            return False
        return (
            not any(kind.startswith("Mutable") for kind in index.types) and self._has_saved_values()
        )

    def _has_saved_values(self) -> bool:
        source, index = self.source, self.index
        if source.session is None or source.stored is None:
            return False
        reads = {v.handle: v.snapshot or v.name for v in all_variables(index)}
        try:
            now = source.session.run(reads) if reads else {}
            saved = {handle: np.asarray(source.stored.value(handle)) for handle in reads}
        except Exception:  # whatever TensorFlow finds: then they are no more the saved ones
            return False
        return all(
            np.asarray(now[key]).tobytes() == value.tobytes() for key, value in saved.items()
        )

    def _record(self) -> live.Record:
        return live.record_of(self.graph())

    def _present_stamp(self) -> _Stamp:
        record = self._record()
        return (
            self.source.body.stamp(),
            record.generation,
            record.rewire_count,
            id(self.source.body),
        )

    def _take(self, stamp: _Stamp, *, grown: bool) -> None:
        """Read the graph, and store it in one step: if reading fails, nothing has changed."""
        base, read_before = (self._reading.index, self._reading.ops) if grown else (None, 0)
        built_on_hidden = set(self._built_on_hidden) if grown else set()
        file_members = self._reading.index.collections if self._objectless else {}
        body, hidden = self.source.body, self._record().hidden
        whole = body.nodes(read_before)
        read = live.in_place_changes.without_veils(self.graph(), whole)
        nodes = read
        if base is not None:  # which may have read ops that another thread was making
            nodes = list({node.name: node for node in read if node.name not in base.ids}.values())
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
        if record.functions:
            # Who imports what was saved before an undo calls functions that the undo has hidden.
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
                nodes,
                collections,
                variables,
                reserved,
                typing=typing,
                functions=functions,
                extras=body,
                origin=self._root,
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
            load: Loads the values. It is called when the ops are in the graph.
            origin: The graph that has the originals of copied ops, if it is another one.

        Returns:
            A sentence for each thing that the renewal loses.

        Raises:
            GraphEditError: The graph has changed since the patch was planned, or cannot be changed
                now.
            NotTrusted: TensorFlow may run an op of a file to know the shapes of those that the
                patch adds.
            SessionRefused: The session cannot be renewed, or a value cannot be loaded.
        """
        steps.enter_context(self._record().lock)
        import_count = self._record().import_count
        self.index  # noqa: B018 - what came since is read before the graph changes
        before = self._reading
        live.check_not_growing(self.graph())
        self._check_present(patch)
        renewal = self._renewal() if patch.changed and renew else None
        load_renamed_state = self._renamed_state(
            patch, is_renewed=renewal is not None or not patch.changed
        )
        generation = self._record().generation
        if renewal:
            steps.on_failure(self._renew_again, renewal)  # after the undoing of what follows here
        steps.on_failure(setattr, self, "_shapes", self._shapes)
        steps.on_failure(setattr, self, "_objectless", self._objectless)
        # With the names before, which an undo gives back.
        self._objectless |= {
            f"{new}:0" for old, new in patch.renamed if f"{old}:0" in self._objectless
        }
        # After a failure the generation has grown, so that the index is read again when it is next
        # asked for.
        in_graph = _without(patch, self._objectless) if self._objectless else patch
        steps.enter_context(
            live.patch_application.live_patch(
                in_graph, self.graph(), origin, session=self.source.session
            )
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
        self._members.append((patch, members))
        # The notes of the patch, which its preview shows too, list what was known when it was
        # planned.
        return (
            *(renewal.losses if renewal else ()),
            *(loss for loss in losses if loss not in patch.report.notes),
        )

    def check(self, patch: Patch, origin: Graph | None = None, *, renew: bool = True) -> None:
        """Raise what `apply` would before it changes anything; a function that is called may ask.

        The session is not run, so what only a run shows is found when the patch is applied: whether
        a variable has a value.
        """
        self._check_present(patch)
        session = self.source.session
        if session is not None and patch.changed and renew:
            sessions.check_renewable(session, self.graph())
        live.patch_application.check_patch(patch, self.graph(), origin, session=session)

    def _check_present(self, patch: Patch) -> None:
        """Raise where the graph is not what the patch was planned for, or may not be changed."""
        edits.check_unchanged(self.index, patch)
        self._check_trust(patch)

    @property
    def new_names(self) -> Mapping[str, str]:
        """The present names of ops that edits have renamed, those of other editors too."""
        return self._record().renamed

    def _renew_again(self, renewal: sessions.Renewal) -> None:
        """Let the session follow a graph that was put back after its renewal; values stay."""
        if renewal.is_done:
            again = self._renewal()
            if again:
                again.apply()

    def _initialize(self, patch: Patch) -> None:
        """Give variables that an edit adds what a closed session held, or their initial values."""
        session = self.source.session
        closed = None if self.file is None else self.file.closed
        closed_values = {} if closed is None else closed.variables
        if session is None or not (patch.captured or closed_values):
            return
        new = [
            v
            for v in patch.add.variables
            if not sessions.variable_values.has_value(session, v.snapshot or v.name)
        ]
        values = {v.handle: closed_values[v.handle] for v in new if v.handle in closed_values}
        sessions.load_contents(sessions.SessionContents(values), session, self.graph())
        if patch.captured:
            others = [v for v in new if v.handle not in values]
            live.traced_ops.initialize(sessions.TimedSession(session), others, ())

    def begin_new_variables(self, patches: Sequence[Patch], loaded: Collection[str]) -> None:
        """Run the initializers of variables that edits added and into which no value was loaded."""
        session, new_names = self.source.session, edits.rewire.new_names(patches, {})
        begun = [
            v
            for patch in patches
            if patch.init != "none" or patch.captured
            for v in patch.add.variables
        ]
        handles = {
            new_names.get(variable.handle, variable.handle) for variable in begun
        }.difference(loaded)
        if session is None or not handles:
            return
        new = [
            v
            for v in self.index.variable_defs
            if v.handle in handles and v.initializer in self.index.ids
        ]
        live.traced_ops.initialize(sessions.TimedSession(session), new, ())

    def check_placed(self, patch: Patch, origin: Graph | None) -> None:
        """Raise SessionRefused when the session could not place what a patch adds, as `apply` does;
        `origin` is the live graph that it copies from, None for a file.
        """
        live.placement.check_patch_placement(self.source.session, self.graph(), patch, origin)

    def fit(self, patch: Patch) -> Patch:
        """The patch as this graph can apply it: live ops cannot change in every way."""
        if patch.order:
            raise GraphEditError(
                "sort: TensorFlow lists the ops of a live graph in the order in which they were "
                "made; save the graph to a file, and sort that."
            )
        new = {node.name for node in patch.add.nodes}
        keeper = next((node.name for node in patch.remove.nodes if node.name in new), None)
        if keeper is not None:
            free = free_name(keeper, self.index.used_names() | {name.lower() for name in new})
            raise NameTaken(
                f"TensorFlow keeps the op that is {keeper!r} now, so that no other can have this "
                f"name; choose another name, such as one that makes it {free!r}.",
                [keeper],
            )
        return edits.replace_fixed_ops(self.index, patch)

    def refit(self, patch: Patch) -> Patch:
        """The patch of an undone edit, if TensorFlow has imported the file since."""
        return self.fit(replace(patch, order=()))

    def _check_trust(self, patch: Patch) -> None:
        """Raise NotTrusted if a shape would hang on an op that does more than compute: TensorFlow
        computes it then.
        """
        trust = self.source.trust
        if not trust.is_given and (patch.add.nodes or patch.changed):
            trust.check(
                effects_of(edits.apply_patch(self.index, patch), trust).at_import(),
                "the graph was not changed",
            )

    def _renewal(self) -> sessions.Renewal | None:
        """The state of the session, to be transferred at its renewal; None without a session."""
        session = self.source.session
        return None if session is None else sessions.Renewal.read(session, self.graph())

    def _renamed_state(self, patch: Patch, *, is_renewed: bool) -> Callable[[], tuple[str, ...]]:
        """Read what the session holds under keys that a patch renames; what loads it again."""
        session, graph = self.source.session, self.graph()
        if not patch.renamed:
            return tuple
        old, new = (
            {node.name: node for node in change.nodes} for change in (patch.remove, patch.add)
        )
        pairs = (
            (old[before], new[after])
            for before, after in patch.renamed
            if before in old and after in new
        )
        state = sessions.RenamedState.read(session, graph, pairs, is_renewed=is_renewed)
        return partial(state.load, session, graph)

    def _follow(self, before: _Reading, patch: Patch, generation: int, import_count: int) -> None:
        """Let the index be what the graph is after the patch; `import_count` counts the ops of
        edits before it.

        When other threads have added to the graph meanwhile it is outdated, and reads on when it is
        next asked for.
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
            # TensorFlow imports first what is ready, and a later reading finds the ops in that
            # order. It is that of the NodeDefs where each stands after what it reads
            # (test_tensorflow_facts.py::test_ops_are_imported_in_the_order_of_their_nodes).
            place = {op.name: k for k, op in enumerate(self.graph().get_operations()[before.ops :])}
            nodes = tuple(sorted(patch.add.nodes, key=lambda node: place[node.name]))
            after = edits.apply_patch(
                before.index, replace(patch, add=replace(patch.add, nodes=nodes))
            )
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

    def revert(
        self, patch: Patch, steps: Transaction, *, renew: bool = True
    ) -> tuple[Patch, tuple[str, ...]]:
        """Undo an edit. On a live graph what it added is hidden.

        Returns:
            The patch that undoes the edit, and a sentence for each thing that the undo loses. The
            patch also removes later ops that depend on those of the edit.

        Raises:
            GraphEditError: Another editor has undone the edit already.
        """
        if not self._is_in_import(patch):
            return self._revert_live(patch, steps, renew=renew)
        if not self._can_revert_live(patch):
            return self._revert_in_file(patch, steps)
        attempt = Transaction()
        try:
            result = self._revert_live(patch, attempt, renew=renew)
        except GraphEditError:  # the session could not place what the file had, for one
            attempt.roll_back()
            return self._revert_in_file(patch, steps)
        except BaseException:
            attempt.roll_back()
            raise
        steps.push(attempt)
        steps.on_failure(setattr, self, "_has_undone", self._has_undone)
        self._has_undone = True
        return result

    def _is_in_import(self, patch: Patch) -> bool:
        """Whether an edit was made in the file before TensorFlow imported it."""
        return self.file is not None and any(each is patch for each in self.file.patches)

    def _can_revert_live(self, patch: Patch) -> bool:
        """Whether TensorFlow's graph can become what the file was: nothing new comes back."""
        inverse = patch.inverse()
        is_gone = bool(inverse.add.nodes or inverse.add.functions or inverse.order)
        return not is_gone and edits.replace_fixed_ops(self.index, inverse) is inverse

    def _check_only_file_ops(self, patch: Patch) -> None:
        """Raise GraphEditError when other code has added ops since the import of the file."""
        assert self.file is not None
        names = set(self._imported.names)
        for later in reversed(self.file.patches):
            if later is patch:
                break
            names |= {node.name for node in later.remove.nodes}
        foreign = next((name for name in self.index.names if name not in names), None)
        # Where an edit of the file was undone here, its ops read other tensors as well.
        changed = None if foreign is not None or self._has_undone else self._changed_op()
        for op, how in ((foreign, "added"), (changed, "changed")):
            if op is not None:
                raise GraphEditError(
                    f"This edit was made before TensorFlow imported the file, and op {op!r} was "
                    f"{how} since by other code, which the file does not have; open the file again "
                    "for a graph without the edit.",
                    [op],
                )

    def _revert_live(
        self, patch: Patch, steps: Transaction, *, renew: bool
    ) -> tuple[Patch, tuple[str, ...]]:
        """Undo an edit in TensorFlow's graph; see `revert`."""
        index = self.index
        self._check_revertible(patch)
        inverse = replace(patch.inverse(), order=())
        edits.check_unchanged(index, inverse)
        inverse = inverse.with_dependents(index)
        losses = self.apply(inverse, steps, renew=renew)
        # TensorFlow's collections append what comes back.
        order: Members = next((members for each, members in self._members if each is patch), {})
        self._members = [
            pair for pair in self._members if pair[0] is not patch and pair[0] is not inverse
        ]
        reordered = live.patch_application.put_in_order(self.graph(), order)
        if self._objectless:
            now = self._reading.index
            ordered = now.with_new_nodes((), _in_order(now.collections, order), now.variable_defs)
            self._reading, reordered = replace(self._reading, index=ordered), True
        if reordered:
            self.reread()
        return inverse, losses

    def _revert_in_file(self, patch: Patch, steps: Transaction) -> tuple[Patch, tuple[str, ...]]:
        """Undo an edit that was made in the file: the graph is a file again, without session."""
        assert self.file is not None
        self._check_only_file_ops(patch)
        file, losses = self._return_to_file(steps)
        while file.patches[-1] is not patch:  # those were undone in TensorFlow's graph
            file.revert(file.patches[-1], steps)
        return file.revert(patch, steps)[0], losses

    def _return_to_file(self, steps: Transaction) -> tuple[ImportedFile, tuple[str, ...]]:
        """Let the graph be the file that was imported; what the session held is kept for the next
        one.

        The session is closed once all steps are done: a failure gives graph and session back as
        they were.
        """
        file, source, root = self.file, self.source, self._root
        assert file is not None
        contents, losses = self._contents()
        steps.on_failure(Snapshot(root, source, file).restore)
        if source.session is not None:
            steps.on_success(source.session.close)
        file.forget_import()
        root.place = file
        file.closed = file.closed if contents is None else contents
        return file, (_SESSION_CLOSED, *losses)

    def return_to_file(self, steps: Transaction) -> bool:
        """Become the file that was imported again, unless more was added; whether it did."""
        if (
            self.file is None
            or self._has_undone
            or set(self.index.names) != set(self.file.index.names)
        ):
            return False
        if self._changed_op() is not None:
            return False
        file, losses = self._return_to_file(steps)
        file.losses = losses
        return True

    def _changed_op(self) -> str | None:
        """The first op that reads other tensors than when imported, by an edit not undone."""
        before = {node.name: list(node.input) for node in self._imported.nodes}
        pairs = ((node.name, list(node.input)) for node in self.index.nodes if node.name in before)
        return next((name for name, inputs in pairs if inputs != before[name]), None)

    def _contents(self) -> tuple[sessions.SessionContents | None, tuple[str, ...]]:
        """What the session holds, or a sentence on why that is lost."""
        graph, session = self.graph(), self.source.session
        if session is None:
            return None, ()
        try:
            return sessions.read_contents(
                session, graph, {op.name for op in graph.get_operations()}
            ), ()
        except SessionRefused as refusal:
            return None, (refusal.why,)

    def _check_revertible(self, patch: Patch) -> None:
        """Raise GraphEditError when another editor has removed or put back ops of an edit."""
        ids, added = self.index.ids, {node.name for node in patch.add.nodes}
        missing_op = next((node.name for node in patch.add.nodes if node.name not in ids), None)
        if missing_op is not None:
            now = self.new_names.get(missing_op, "")
            if now in ids:
                raise GraphEditError(
                    f"Another editor has renamed op {missing_op!r} to {now!r} since; undo that "
                    "there first.",
                    [now],
                )
            raise GraphEditError(
                f"Another editor has undone this already, or has removed op {missing_op!r}; redo "
                "it there, or undo the removal there, first."
            )
        present_op = next(
            (
                node.name
                for node in patch.remove.nodes
                if node.name in ids and node.name not in added
            ),
            None,
        )
        if present_op is not None:
            raise GraphEditError(
                f"Another editor has put op {present_op!r} back, or has made one of that name; "
                "undo that there first.",
                [present_op],
            )

    def reserve(self, names: Iterable[str]) -> None:
        """Let no op that is added from now on take these names, which are in lower case."""
        self._reserved |= set(names)
        self.reread()

    def can_hold_values(self) -> bool:
        """Whether there is a session that holds values of variables."""
        return self.source.session is not None

    def as_imported(self, index: GraphIndex) -> GraphIndex:
        """The graph itself: TensorFlow has imported it."""
        return index

    def keep_alive(self, patch: Patch) -> None:
        """Let TensorFlow's graph hold what a Python function made, as long as its ops may run."""
        for trace in (
            *(trace for _, trace in patch.traces),
            *([] if patch.traced is None else [patch.traced]),
        ):
            live.traced_ops.keep_alive(self.graph(), trace)

    def hidden_names(self) -> frozenset[str]:
        """Names, in lower case, that no new op can have, since hidden ops have them."""
        return self.index.reserved

    def notes(self, patch: Patch, *, renewed: bool) -> tuple[str, ...]:
        """Sentences on changes that TensorFlow cannot follow, in a renewed session or another."""
        stale = patch.known_shapes
        notes = [_STALE.format(len(stale))] if stale else []
        if patch.changed and (not renewed or self.source.session is None):
            first, others = repr(patch.changed[0].name), len(patch.changed) - 1
            what = f"{first}, or another of {others + 1} ops," if others else first
            notes.append(
                f"A session that has run {what} already goes on running it as it was; " + _FOLLOW
            )
        return tuple(notes)

    def names_after_failures(self) -> frozenset[str]:
        """Names, in lower case, that a failed edit has left taken for all other edits."""
        return edits.reserved_names(self._record().failed.keys() - self._record().ungrown)

    def value_readers(self, patches: Iterable[Patch]) -> dict[str, Callable[[], object]]:  # noqa: ARG002
        """No readers: the session has the values."""
        return {}

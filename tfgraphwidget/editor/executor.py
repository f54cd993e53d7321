"""The executor: plans the commands of edits, applies them in transactions, and keeps the history."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, TypeVar

from tfgraphwidget import edits, runtime
from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.editor import clone_values, function_bodies
from tfgraphwidget.editor.body_target import BodyTarget, change_of
from tfgraphwidget.editor.file_copies import stays_in_file, with_values
from tfgraphwidget.editor.navigator import opened_navigator
from tfgraphwidget.editor.plan_cache import PlanCache
from tfgraphwidget.editor.targets import LiveTarget
from tfgraphwidget.editor.transaction import Snapshot, Transaction, one_thread
from tfgraphwidget.editor.transaction import transaction as transaction_of_steps
from tfgraphwidget.errors import GraphEditError, NameTaken, NotClonable, NothingTo, UnknownName
from tfgraphwidget.graph import build, effects_of, effects_of_nodes
from tfgraphwidget.naming import free_name, known_instead, names_text, split_tensor, tried_before
from tfgraphwidget.runtime import live
from tfgraphwidget.runtime import session as sessions
from tfgraphwidget.sentences import either, in_cell
from tfgraphwidget.sources import open_source, tf_protos
from tfgraphwidget.tf_types import NodeDef, Tensor, Variable

if TYPE_CHECKING:
    from typing import Unpack  # Python 3.10 has none

    from tfgraphwidget.editor.graph_view import Boundary, EditTarget, GraphView
    from tfgraphwidget.editor.joining import AdditionResult
    from tfgraphwidget.editor.navigator import Navigator
    from tfgraphwidget.editor.traced_growth import GrowthResult
    from tfgraphwidget.editor.transaction import Listeners
    from tfgraphwidget.edits import Command, FunctionBoundary, Preview, Renew
    from tfgraphwidget.edits.clone import Add, Clone
    from tfgraphwidget.graph import BodyState, GraphIndex, Signature
    from tfgraphwidget.runtime.functions import ModuleCopy
    from tfgraphwidget.sources import Source

_STALE = (
    "TensorFlow's own tensors keep the static shapes that they had ({} of them); the editor and what it saves have the "
    "new ones."
)
_SIGNATURES_GONE = "Signatures that lost inputs or outputs are in no file that is saved from here: {}."
_FOLLOW = either("tgw.renew(session) lets it follow.", "renew the session in a cell to let it follow.")
_EDITED_ONE = either("editor.function() is the edited one.", "Export saves the edited one.")

_GrowthResult = TypeVar("_GrowthResult", bound="GrowthResult")

_CopyPlan: TypeAlias = "Callable[[GraphIndex, GraphIndex], edits.Patch]"
"""Plans a copy of ops of the first graph into the second."""


class _StepOptions(TypedDict, total=False):
    """The inputs of a step of the history beside its command; see `edits.history.Step`."""

    renewed: bool
    reserved: tuple[str, ...]
    imported: bool


Cloned: TypeAlias = "live.Copy | ModuleCopy | GrowthResult"
"""What a clone gives: ops of a graph, a tf.Module, or ops of a function that was opened itself."""


class _PreviewedEdit(Exception):
    """The edit has been planned and is not made, because it is previewed."""

    def __init__(self, report: edits.Edits) -> None:
        super().__init__("previewed")
        self.report = report


class Copies(dict[str, Any]):
    """The clones of an editor by name scope; a missing scope raises UnknownName."""

    def __getitem__(self, scope: object) -> Any:
        if isinstance(scope, str) and scope in self:
            return super().__getitem__(scope)
        end = known_instead(scope if isinstance(scope, str) else "", list(self), "those are")
        raise UnknownName(f"This editor has no copy {value_text(scope)}, or it was undone{end}")


class EditExecutor:
    """Plans, applies, records and undoes the edits of one editor.

    `history` has the steps that are done and undone. `latest_ops` are the names of the ops that the last step added or
    changed in the current graph. `lost` are sentences on what the session could not keep over the last step, `renamed`
    the (old, new) names of the ops that it renamed there.
    """

    def __init__(self, source: Source, target: LiveTarget, navigator: Navigator, listeners: Listeners) -> None:
        self.source, self.target, self.navigator, self.listeners = source, target, navigator, listeners
        self.history = edits.History()
        self.latest_ops: frozenset[str] = frozenset()
        self.lost: tuple[str, ...] = ()
        self.renamed: tuple[tuple[str, str], ...] = ()
        self._plans = PlanCache()
        self._is_previewing = False
        self._unused: tuple[GraphIndex, Boundary, tuple[str, ...]] | None = None

    # What edits depend on

    @property
    def view(self) -> GraphView:
        """The view of the current graph."""
        return self.navigator.here

    @property
    def index(self) -> GraphIndex:
        """The current graph: the source's own, or the body of a function that was entered."""
        return self.view.index

    @property
    def in_function(self) -> bool:
        """Whether the current graph is a function's body, whose clones are modules."""
        return len(self.navigator.path) > 1 or bool(self.source.refusal)

    def read_only(self) -> str:
        """Why the current graph cannot run and grow as a live graph does, with a way out; "" if it can."""
        if len(self.navigator.path) > 1:
            return (
                f"{self.view.title!r} is the body of a function, which runs only as a part of the graph that "
                "calls it; leave it" + either(" (editor.leave(0))", "") + " for the graph itself."
            )
        # A library of ops may have been loaded since: an edit tries again, and says why not.
        return self.source.refusal or self.target.live_refusal

    def default_init(self) -> Literal["current", "initial", "none"]:
        """The default of `init`: "current" where the session or a checkpoint has values."""
        if self.source.graph is None or self.source.session is not None:
            return "current" if self.target.has_values() else "initial"
        return "none"

    def free_scope(self, base: str = "copy") -> str:
        """`base`, or with a number appended: a scope name that is not taken."""
        copies = {scope.lower() for scope in self.copies}  # modules are in no graph
        return free_name(base, edits.clone.taken_names(self.index, base) | self.target.names_after_failures() | copies)

    @property
    def copies(self) -> Copies:
        """The results of the steps that are done, by name scope."""
        return Copies((copy.scope, copy) for step in self.history.done for copy in step.results)

    def patches(self) -> tuple[edits.Patch, ...]:
        """The patches of the current graph, including those of functions that it calls; oldest first."""
        return self.patches_of(self.view)

    def patches_of(self, view: GraphView) -> tuple[edits.Patch, ...]:
        """The patches of a graph, oldest first.

        Args:
            view: The view of a graph or of a function's body.
        """
        changes = (change_of(view.target, step.patch, step.place) for step in self.history.done)
        return tuple(patch for patch in changes if patch is not None)

    def new_names(self) -> dict[str, str]:
        """The names of the ops of the current graph that edits have renamed, by those before."""
        return self.new_names_of(self.view)

    def new_names_of(self, view: GraphView) -> dict[str, str]:
        """The names of the ops of a graph that edits have renamed, by those before.

        Args:
            view: The view of a graph or of a function's body.
        """
        saved = self.source.saved_editor  # whose edits cannot always be made again
        former_names = saved.renamed if saved is not None and view is self.navigator.outermost else {}
        if view is self.navigator.outermost and self.source.graph is not None:
            names = self.target.new_names  # by other editors of the graph, too
            return {**names, **{old: names.get(now, now) for old, now in former_names.items()}}
        return edits.rewire.new_names(self.patches_of(view), former_names)

    def unused_ops(self) -> tuple[str, ...]:
        """The ops of the current graph that edits have left without consumers, with what only they need."""
        view = self.view
        index, inputs_and_outputs, patches = view.index, view.boundary, self.patches()
        if not patches:
            return ()
        # Found once for each state of the graph: every selection paints it again.
        if self._unused is None or self._unused[0] is not index or self._unused[1] != inputs_and_outputs:
            ends = (*self._called_for(), *inputs_and_outputs[0], *inputs_and_outputs[1])
            ops = edits.rewrite.find_unused_ops(index, patches, ends, self.new_names())
            self._unused = index, inputs_and_outputs, tuple(index.names[op] for op in ops)
        return self._unused[2]

    @property
    def signatures(self) -> tuple[Signature, ...]:
        """The signatures of the graph after the edits, without those whose ends were removed."""
        changes = (change_of(self.target, step.patch, step.place) for step in self.history.done)
        patches = [self.target.carried_out(patch) for patch in changes if patch is not None]
        if not (self.source.signatures or any(patch.signature_edits for patch in patches)):
            return ()
        ids = self.target.index.ids
        return tuple(
            signature
            for signature in edits.track_signatures(self.source.signatures, patches)
            if all(split_tensor(tensor)[0] in ids for _, tensor in (*signature.inputs, *signature.outputs))
        )

    @property
    def lost_signatures(self) -> tuple[str, ...]:
        """The names of the signatures that no edit removed, but that have lost ends because ops were removed."""
        signatures = self.source.signatures
        for step in self.history.done:
            for edit in step.patch.signature_edits:
                signatures = edit.on(signatures)
        names = {signature.name for signature in self.signatures}
        return tuple(signature.name for signature in signatures if signature.name not in names)

    @property
    def missing_ends(self) -> dict[str, tuple[str, ...]]:
        """The tensors that the file's graph does not have, by the signatures that name them and no edit removed."""
        done = [edit for step in self.history.done for edit in step.patch.signature_edits]
        removed = {edit.name for edit in done if isinstance(edit, edits.SignatureRemoval)}
        return {name: tensors for name, tensors in self.source.missing_ends.items() if name not in removed}

    def function_ends(self) -> FunctionBoundary:
        """The arguments and results of the current function after the edits."""
        target, body = self.view.target, self.view.body
        if isinstance(target, BodyTarget):
            return target.edition.ends
        return edits.track_boundary(body.arguments, body.returns, self.patches())

    def edited_module(self, name: str) -> ModuleCopy:
        """The current function as edits have left it, as a tf.Module; see `AnalysisAPI.module`.

        Args:
            name: The name of the module.
        """
        default = self.source.signature
        signature = next((s for s in self.signatures if default is not None and s.name == default.name), None)
        source = dataclasses.replace(self.source, signature=signature)  # with the keys that edits have renamed
        self._check_traceable()
        return function_bodies.edited_module(source, self.state(), self.view, self.function_ends(), name)

    def signature_modules(self) -> dict[str, ModuleCopy]:
        """The current function, if it is what was opened, as a tf.Module for each signature that edits gave it."""
        signatures = self.signatures if len(self.navigator.path) == 1 else ()
        return {each.name: self.part_module(each) for each in signatures}

    def part_module(self, part: Signature) -> ModuleCopy:
        """The part of the current function between the ends of a signature, as a tf.Module.

        Args:
            part: The signature.
        """
        self._check_traceable()
        return function_bodies.signature_module(self.state(), self.index, part, part.name)

    def _check_traceable(self) -> None:
        """Raise NotTrusted if TensorFlow may run an op of the current function while a tf.function is made of it."""
        trust = self.source.trust
        trust.check(
            effects_of(self.index, trust).at_import(),
            "no function was made of it, since TensorFlow may run the op by that",
        )

    def state(self) -> BodyState:
        """The state that the current function reads, with what edits brought in."""
        return function_bodies.edited_state(
            self.source, self.view.body, self.index, self.patches(), self._captured_variables()
        )

    def _captured_variables(self) -> dict[str, Variable | Tensor]:
        """The live variables that edits of bodies brought into the graph that was opened, by op.

        Those of a graph that a session runs have their values there.
        """
        if self.source.graph is not None:
            return {}
        patches = (change_of(self.target, step.patch, step.place) for step in self.history.done)
        return {name: live for patch in patches if patch is not None for name, live in patch.new_state.items()}

    def _called_for(self) -> tuple[str, ...]:
        """The tensors that callers of this graph name: ends of signatures, arguments and results of functions."""
        if self.in_function:
            arguments, returns = self.function_ends()
            return tuple(dict.fromkeys((*arguments, *returns.values())))
        ends = [(*signature.inputs, *signature.outputs) for signature in self.signatures]
        return tuple(dict.fromkeys(name for pairs in ends for _, name in pairs))

    # Transactions

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Make several steps as one: listeners hear of them once, and a failure undoes them all.

        What an edit moves is put back: which graph is current, what is selected, hidden and pinned in it. A file that
        is imported inside is a file again. The history is put back by the step that records in it.
        """
        with one_thread(), self.listeners.collect(), transaction_of_steps() as steps:
            steps.on_failure(Snapshot(self, without=("history",)).restore)
            steps.on_failure(Snapshot(self.navigator, *self.navigator.views, without=("known",)).restore)
            steps.on_failure(self.target.file_restorer())
            yield steps

    def _set_history(self, steps: Transaction, history: edits.History) -> None:
        steps.on_failure(setattr, self, "history", self.history)
        self.history = history
        self._plans.clear()

    def _record(
        self,
        steps: Transaction,
        command: Command,
        patch: edits.Patch,
        target: EditTarget | None,
        results: tuple[object, ...],
        losses: tuple[str, ...] = (),
        **options: Unpack[_StepOptions],
    ) -> None:
        """Push a step that was applied to `target`; its ops are the latest ones."""
        if self.target.imported_names and self._holds_imported_file():  # names that the file does not have
            options["imported"] = True
        step = edits.Step(command, patch, target, results, self.navigator.path, **options)
        self._set_history(steps, self.history.push(step))
        self._set_latest(step, patch, losses)

    def _holds_imported_file(self) -> bool:
        """Whether TensorFlow holds the graph of a file."""
        return self.source.graph is not None and self.source.revive is not None

    def _set_latest(self, step: edits.Step, patch: edits.Patch, losses: tuple[str, ...]) -> None:
        """Describe the last change: `patch` has done, undone or redone the step, and the view follows its renames."""
        names = [node.name for node in step.patch.add.nodes] + [edited.name for edited in step.patch.changed]
        is_here = step.place is self.view.target
        self.latest_ops = frozenset(names) if is_here else frozenset()
        self.lost, self.renamed = losses, patch.renamed if is_here else ()
        self.view.follow(self.renamed)

    # Edits that a patch describes

    def edit(self, command: Command, *, renew: Renew = "always") -> edits.Edits:
        """Apply a command and record it, with `renew` for the session; see `EditAPI.edit`."""
        return command.apply(self, renew)

    def plan_context(self) -> runtime.SourceContext:
        """The current graph, for planning."""
        return runtime.SourceContext(
            self.source,
            self.view.body,
            self.view,
            self.target.graph,
            function=self.navigator.function,
            arguments=lambda: self.function_ends()[0] if self.in_function else (),
            ends=self.function_ends if self.in_function and len(self.navigator.path) == 1 else None,
            external_tensors=self._called_for,
            signatures=lambda: self.signatures,
            missing_ends=lambda: self.missing_ends,
            new_names=self.new_names,
            refusal=self.read_only() if self.in_function else "",
            state=self.state,
            readers=self.value_readers,
        )

    def value_readers(self) -> Mapping[str, Callable[[], object]]:
        """Readers of the values of a file's variables in the current graph, unless TensorFlow has imported it."""
        if not self.target.is_file:
            return {}
        readers = self.target.value_readers(self.patches_of(self.navigator.outermost))
        if self.view.target is self.target:
            return readers
        origins = (self.view.body.origins or {}).items()
        return {name: readers[origin] for name, origin in origins if origin in readers}

    def change(self, command: Command, renew: Renew = "always") -> edits.Edits:
        """Plan a command on the current graph, apply the patch, and record the step.

        Args:
            command: The command.
            renew: Whether a session that has run changed ops is renewed: "always", "ask" or "never".
        """
        with self.transaction() as steps:
            target, context = self.view.target, self.plan_context()
            command, planned = self._plan(edits.rebind_selections(command, context.index), context)
            command = edits.rebind_selections(command, context.index)  # planning may have imported the graph
            if self.in_function:
                edits.check_called(target.index, self.function_ends(), planned)
            patch = target.fit(planned)
            change = change_of(self.target, patch, target)
            assert change is not None  # every graph here is the source's, or in it
            if self._is_previewing:
                raise _PreviewedEdit(edits.Edits.of(patch, notes=self._cuts(change, renew)))
            reserved_names = self._names_in_use(change)
            is_exchanged = patch is not planned if change is patch else bool(change.add.nodes)
            signatures = self.signatures
            with steps.without_interrupts():
                losses = self._apply(patch, target, steps, renew=renew != "never")
                options: _StepOptions = {
                    "renewed": renew != "never",
                    "reserved": reserved_names,
                    "imported": (is_exchanged or command.asks_for_session) and self._holds_imported_file(),
                }
                self._record(steps, command, patch, target, (), losses, **options)
                self.listeners.notify()
        remaining = {signature.name for signature in self.signatures}
        removed = [signature.name for signature in signatures if signature.name not in remaining]
        is_lost = removed and not change.signature_edits
        notes = [_SIGNATURES_GONE.format(names_text(removed))] if is_lost else []
        return edits.Edits.of(patch, losses, (*notes, *self._notes(change, renew)))

    def _plan(self, command: Command, context: runtime.SourceContext) -> tuple[Command, edits.Patch]:
        """Plan a command; also one on ops that have other names since the plan itself had the graph imported."""
        names = self.target.imported_names
        try:
            return command, runtime.plan(command, context)
        except UnknownName:
            renames = self.target.imported_names
            if renames == names or self.in_function:
                raise
        command = edits.rename_operands(command, renames, context.index)
        return command, runtime.plan(command, context)

    def _apply(self, patch: edits.Patch, target: EditTarget, steps: Transaction, *, renew: bool) -> tuple[str, ...]:
        """Apply a patch; variables and tables that a function made get their first values."""
        traced, session = patch.traced, self.source.session
        traces = {id(trace): trace for _, trace in patch.traces}
        for trace in (*traces.values(), *([] if traced is None else [traced])):
            if self.source.graph is not None:
                live.traced_ops.keep_alive(self.source.graph, trace)
        if traced is None or target is not self.target or self.source.graph is None:
            return target.apply(patch, steps, renew=renew)
        if session is not None and traced.has_state:
            live.traced_ops.check_initializers(session, traced)

        def initialize() -> None:
            if session is not None and traced.has_state:
                live.traced_ops.initialize(
                    sessions.TimedSession(session),
                    patch.add.variables,
                    live.traced_ops.tables_of(patch.add.members),
                )

        return self.target.apply(patch, steps, load=initialize, renew=renew)

    def _names_in_use(self, patch: edits.Patch) -> tuple[str, ...]:
        """The names that new ops of a patch do not have because hidden ops have them, which no done step removed."""
        target = self.target
        names_in_use = target.index.reserved if self.source.graph is not None else frozenset()
        functions = [function.signature.name for function in patch.add.functions]
        new = [node.name for node in patch.add.nodes]
        new += [name for name in functions if not name.startswith("__")]  # those TensorFlow numbers by itself
        reserved = {tried for name in new for tried in tried_before(name) if tried in names_in_use}
        if not reserved:
            return ()
        changes = (change_of(target, step.patch, step.place) for step in self.history.done)
        removed = {node.name for change in changes if change is not None for node in change.remove.nodes}
        return tuple(sorted(reserved - edits.reserved_names({*removed, *(node.name for node in patch.remove.nodes)})))

    def _notes(self, patch: edits.Patch, renew: Renew) -> tuple[str, ...]:
        """Notes about changes that TensorFlow cannot follow; `patch` is of the source's own graph."""
        if self.source.graph is None:
            if patch == edits.Patch(signature_edits=patch.signature_edits):
                return ()
            return (
                (f"Code that calls {self.source.title} goes on running it as TensorFlow has traced it; " + _EDITED_ONE,)
                if self.source.refusal
                else ()
            )
        stale = patch.known_shapes
        notes = [_STALE.format(len(stale))] if stale else []
        if patch.changed and (renew == "never" or self.source.session is None):
            first, others = repr(patch.changed[0].name), len(patch.changed) - 1
            what = f"{first}, or another of {others + 1} ops," if others else first
            notes.append(f"A session that has run {what} already goes on running it as it was; " + _FOLLOW)
        return tuple(notes)

    def _cuts(self, patch: edits.Patch, renew: Renew = "always") -> tuple[str, ...]:
        """A sentence for each partial run that a patch of the source's own graph is going to cut."""
        session = self.source.session
        if session is None or not patch.changed or renew == "never":
            return ()
        return sessions.partial_runs_to_cut(session)

    def preview_edit(self, edit: Callable[[], object]) -> edits.Edits:
        """Preview a call that makes one edit: it is planned and checked, and then all is put back.

        Args:
            edit: Calls a method of the editor, such as `editor.remove_identities`.

        Returns:
            What it would do.

        Raises:
            GraphEditError: It would be refused, for the same reason.
        """
        # Other threads wait: an edit of theirs is not the one that is previewed, and is not put back with it.
        with one_thread():
            self._is_previewing = True
            try:
                with self.listeners.collect(), transaction_of_steps() as steps:
                    steps.on_failure(Snapshot(self.navigator, *self.navigator.views, without=("known",)).restore)
                    edit()
                    raise GraphEditError("This edit has no preview; " + in_cell("make it, and undo it: editor.undo()."))
            except _PreviewedEdit as previewed:
                return previewed.report
            finally:
                self._is_previewing = False

    # Edits that bring ops in

    def preview(self, command: Clone) -> Preview:
        """Preview `clone` with this command; raises the same refusals and changes nothing."""
        if _function_executor(command.graph) is not None:
            return function_bodies.preview(
                _alone(command), self.source, self._clonable_state(), self.view, self.function_ends()
            )
        target = self._target(command)
        if self.in_function and target is self.target:
            return function_bodies.preview(command, self.source, self.state(), self.view, self.function_ends())
        if self.in_function:
            _, patch, _ = self._planned_out(command, target)
            return _with_notices(patch, target)
        patch = self._plans.sample(command, self.index, target.index)
        target.check_placed(patch, self.target)
        return _with_notices(patch, target)

    def clone(self, command: Clone) -> Cloned | list[Cloned]:
        """Plan and apply a clone, load the values of its variables, and record it; its boundary is marked then.

        In a function's body the clone is a tf.Module, `runtime.functions.ModuleCopy`, unless it goes into
        another graph.

        Args:
            command: The clone.
        """
        command = edits.rebind_selections(command, self.index)
        function = _function_executor(command.graph)
        if function is not None:
            return _one_or_all(command, self._clone_into_function(command, function))
        if self.in_function:
            if command.graph is None:
                return _one_or_all(command, self._clone_modules(command))
            return _one_or_all(command, self._clone_out(command))
        self.view.names((*command.inputs, *command.outputs))
        if self.source.graph is None:
            self.preview(command)  # what is refused is refused before a file is imported
            patch = self._plans.plan(command, self.index, self.index) if command.graph is None else None
            if patch is not None and stays_in_file(patch, self.index, self.target, self.target):
                return _one_or_all(command, self._clone_in_file(command, patch))
        target = self._target(command)
        with self.transaction() as steps:
            steps.on_failure(target.file_restorer())
            planned_copy = _planned_copy(partial(self._plan_clone, command, target), self.target, target)
            live_command = edits.rename_operands(command, self.target.imported_names, self.index)
            copies = self._carry_out(
                command,
                planned_copy,
                target,
                steps,
                marking=(live_command.inputs, live_command.outputs),
            )
        return _one_or_all(command, copies)

    def _clone_in_file(self, command: Clone, patch: edits.Patch) -> tuple[live.Copy, ...]:
        """Clone a part of a file's graph that TensorFlow has not imported."""
        own = self.target.present_graph()
        with self.transaction() as steps:
            planned_copy = self._in_file(patch, own, self.value_readers())
            return self._carry_out(command, planned_copy, self.target, steps, marking=(command.inputs, command.outputs))

    def _in_file(
        self, patch: edits.Patch, origin: clone_values.GraphSession, readers: Mapping[str, Callable[[], object]]
    ) -> _PlannedCopy:
        """The plan of a copy in a file that is not imported; `readers` read the values of the originals."""
        patch = with_values(patch, origin, self.target, readers)
        return origin, replace(patch, preview=_with_notices(patch, self.target)), lambda: None

    def _plan_clone(self, command: Clone, target: LiveTarget, index: GraphIndex, into: GraphIndex) -> edits.Patch:
        """Plan a clone when all graphs are imported, whose ops may have got other names by that."""
        present = edits.rename_operands(command, self.target.imported_names, index)
        if target is not self.target:
            renames = target.imported_names
            pairs = zip(present.replace, command.replace, strict=True)
            read = tuple((name, edits.rename_tensor(tensor, renames)) for (name, _), (_, tensor) in pairs)
            present = replace(present, replace=read)
        return self._plans.plan(present, index, into)

    def _clone_modules(self, command: Clone) -> tuple[ModuleCopy, ...]:
        command.check_options()
        for scope in command.scopes:
            if scope in self.copies:
                raise NameTaken(
                    f"The name {scope!r} is taken by another clone of this editor; "
                    f"{free_name(scope, set(self.copies))!r} is free.",
                    [scope],
                )
        modules = function_bodies.clone_modules(command, self.source, self.state(), self.view, self.function_ends())
        with self.transaction() as steps, steps.without_interrupts():
            self._record(steps, command, edits.Patch(), None, modules)
            self.listeners.notify()
        return modules

    def _clone_into_function(self, command: Clone, target: EditExecutor) -> tuple[GrowthResult, ...]:
        """Clone a part of this graph into the current function of another editor, which calls it there.

        It is an edit of the other editor. Raises NotClonable for an input that nothing in the function is given for.
        """
        read = dict(command.replace)
        modules = function_bodies.clone_modules(
            _alone(command), self.source, self._clonable_state(), self.view, self.function_ends()
        )
        missing = [name for name in modules[0].inputs if name not in read]
        if missing:
            raise NotClonable(
                f"clone: the part reads {missing[0]!r}, for which a function's body has no placeholder; "
                + either(
                    f"give replace={{{missing[0]!r}: tensor of the function}}.", "choose 'New placeholders for inputs'."
                ),
                missing,
            )
        with self.transaction():
            return tuple(
                target.grow(edits.Grow(tuple(read[name] for name in module.inputs), module, module.scope))
                for module in modules
            )

    def _clonable_state(self) -> BodyState:
        """The state behind the ops of the current graph, of which a part becomes a function."""
        if self.in_function:
            return self.state()
        return function_bodies.graph_state(self.source, self.index, self.patches())

    def _clone_out(self, command: Clone) -> tuple[live.Copy, ...]:
        """Clone a part of a function's body into a graph."""
        target = self._target(command)
        with self.transaction() as steps:
            steps.on_failure(target.file_restorer())
            return self._carry_out(command, self._planned_out(command, target), target, steps)

    def _planned_out(self, command: Clone, target: LiveTarget) -> _PlannedCopy:
        """The plan of a clone of a part of a function's body, which is made a graph first."""
        ends = self.function_ends()
        body_graph = LiveTarget(function_bodies.graph_source(self.source, self.state(), self.view, ends))
        if command.selection is None and not command.outputs:
            command = replace(command, outputs=tuple(dict.fromkeys(ends[1].values())))
        command = edits.rebind_selections(command, body_graph.index)

        def plan(index: GraphIndex, into: GraphIndex) -> edits.Patch:
            return command.plan(edits.IndexContext(index, into))

        return _planned_copy(plan, body_graph, target, reseed=command.reseed)

    def _target(self, command: Clone) -> LiveTarget:
        """The graph that the copies go into."""
        if command.graph is None:
            return self.target
        return target_of(command.graph) or LiveTarget(open_source(command.graph, command.session))

    def _carry_out(
        self,
        command: Command,
        planned_copy: _PlannedCopy,
        target: LiveTarget,
        steps: Transaction,
        *,
        marking: Boundary = ((), ()),
        pairs: tuple[tuple[str, str], ...] | None = None,
    ) -> tuple[live.Copy, ...]:
        """Apply what was planned for a command, and record it; mark that boundary.

        `pairs` are the names of (original, copy), if the patch does not have them.
        """
        origin, patch, load = planned_copy
        if self._is_previewing:
            raise _PreviewedEdit(edits.Edits.of(patch))
        with steps.without_interrupts():
            target.apply(patch, steps, load=load, origin=origin.graph)
            copies = tuple(_copies(patch, origin, target, patch.add.copies if pairs is None else pairs))
            self._record(steps, command, patch, target, copies)
            if marking[1]:
                self.view.choice = marking, None
            self.listeners.notify()
        return copies

    def plan_extract(self, command: Clone, ends: Boundary) -> edits.Patch | None:
        """The ops of a part of a file as they are in a graph of their own; None where the file is imported for them.

        Args:
            command: The clone of the part into another graph.
            ends: The inputs and outputs of the part.

        Raises:
            GraphEditError: A part of a function's body cannot stand alone, or a variable has no value.
        """
        command = edits.rebind_selections(command, self.index)
        if not self.target.is_file:
            return None
        index, readers, origin = self.index, self.value_readers(), self.target.present_graph()
        constants: Mapping[str, NodeDef] = {}
        if self.in_function:
            constants = self.view.body.constants
            part = edits.clone.excerpt(index, self.state().names, *ends, arguments=self.function_ends()[0])
            has_all = all(name in readers or name in constants for name in map(index.names.__getitem__, part.reused))
            if not has_all or self._needs_gradients(part.ops):
                return None  # tables, and what `tf.custom_gradient` made, are TensorFlow's
            origin = replace(origin, index=index, ends={})
        patch = command.plan(edits.IndexContext(index, build((), extras=index.extras)))
        if not stays_in_file(patch, index, self.target, self.target, as_file=True):
            return None
        patch = replace(patch, values=clone_values.file_values(patch, origin, readers))
        nodes = tuple(_constant(node, constants.get(node.name)) for node in patch.add.nodes)
        return replace(patch, add=replace(patch.add, nodes=nodes)) if constants else patch

    def _needs_gradients(self, ops: Iterable[int]) -> bool:
        """Whether TensorFlow, if it is installed, is to register gradients of Python for some ops."""
        nodes = self.index.nodes
        return tf_protos.is_tensorflow_installed() and any(edits.clone.has_closure_gradient(nodes[op]) for op in ops)

    def copy_out(self, command: Clone) -> None:
        """Apply a clone into another graph; it is not an edit of this one, and is not recorded.

        Args:
            command: The clone.
        """
        command = edits.rebind_selections(command, self.index)
        if self.source.graph is None and not self.in_function:
            self.preview(command)  # what is refused is refused before a file is imported
        target = self._target(command)
        with self.transaction() as steps:
            planned_copy = self._planned_out(command, target) if self.in_function else None
            plan = partial(self._plan_clone, command, target)
            origin, patch, load = planned_copy or _planned_copy(plan, self.target, target)
            with steps.without_interrupts():
                target.apply(patch, steps, load=load, origin=origin.graph)

    def copy(self, command: Clone) -> edits.Edits:
        """Copy the ops that the command says, and load the values of their variables; see `clone`."""
        self.clone(command)
        return edits.Edits.of(self.history.done[-1].patch)

    def add(self, command: Add) -> edits.Edits:
        """Bring the graph of the command in, whole; see `add_graph`."""
        names = self.navigator.outermost.names
        connect = tuple((name, names(own)[0]) for name, own in command.connect)
        self.add_graph(replace(command, connect=connect))
        return edits.Edits.of(self.history.done[-1].patch)

    def add_outputs(self, command: edits.Grow) -> edits.Edits:
        """Call a function on tensors of the current graph; see `grow`.

        Args:
            command: The function and its inputs.
        """
        self.grow(command)
        return edits.Edits.of(self.history.done[-1].patch)

    def add_graph(self, command: Add) -> live.Copy | AdditionResult:
        """Bring another graph in, whole; the graph itself is current then. Raises GraphEditError.

        Args:
            command: What to add.
        """
        from tfgraphwidget.editor.joining import join

        with self.transaction() as steps:
            self.navigator.leave(0)
            if self.in_function:
                patch, function = join(command, self.plan_context())
                return self._bring_in(command, patch, function)
            other, readers = _opened_target(command)
            in_file = other.is_file and self.target.is_file
            if not in_file:
                other.graph()
            ends, own = other.present_graph().ends, other.index.ids
            connect = tuple((name if name in own else ends.get(name, name), tensor) for name, tensor in command.connect)
            whole, source = replace(command, connect=connect), other.source

            def plan(index: GraphIndex, target: GraphIndex) -> edits.Patch:
                signed = (name for s in source.signatures for _, name in (*s.inputs, *s.outputs))
                external = tuple(name for name in signed if split_tensor(name)[0] in index.ids)
                context = edits.IndexContext(index, target, has_values=source.has_values, external_tensors=external)
                renames = self.target.imported_names
                read = tuple((name, edits.rename_tensor(tensor, renames)) for name, tensor in connect)
                return replace(whole, connect=read).plan(context)

            if in_file:
                # As TensorFlow imports a file: it makes no variables of objects, which have no initializers.
                variables = tuple(v for v in other.index.variable_defs if v.initializer in other.index.ids)
                patch = plan(replace(other.index, variable_defs=variables), self.target.index)
                _check_copied(patch, other, self.target)
                if stays_in_file(patch, other.index, other, self.target):
                    planned_copy = self._in_file(patch, other.present_graph(), readers)
                    return self._carry_out(command, planned_copy, self.target, steps, pairs=patch.add.copies)[0]
                other.graph()
            return self._carry_out(command, _planned_copy(plan, other, self.target), self.target, steps)[0]

    def grow(self, command: edits.Grow) -> GrowthResult:
        """Call a function on tensors of the graph, and initialize the variables and tables that it makes.

        Args:
            command: The function, its arguments and the scope.
        """
        from tfgraphwidget.editor import traced_growth

        if self.in_function:
            return self._grow_function(command)
        with self.transaction() as steps:
            self.target.graph()
            command = edits.rename_operands(command, self.target.imported_names, self.index)
            trust = self.source.trust
            trust.check(effects_of(self.index, trust).at_import(command.at), "the function was not called")
            patch, outputs = traced_growth.grow(self.target, command, steps)
            with steps.without_interrupts():
                ops = tuple(node.name for node in patch.add.nodes)
                grown = traced_growth.GrowthResult(command.into, outputs, self.target.variables(patch), ops)
                self._record(steps, command, patch, self.target, (grown,))
                self.listeners.notify()
        return grown

    def _grow_function(self, command: edits.Grow) -> GrowthResult:
        """Add what a function makes to the current function."""
        from tfgraphwidget.editor.traced_growth import GrowthResult

        with self.transaction():
            patch = self.view.target.fit(runtime.plan(command, self.plan_context()))
            ops = tuple(node.name for node in patch.add.nodes)
            variables = tuple(value for value in patch.traced.captured.values() if hasattr(value, "assign"))
            return self._bring_in(command, patch, GrowthResult(command.into, command.outputs(patch), variables, ops))

    def _bring_in(self, command: Command, patch: edits.Patch, grown: _GrowthResult) -> _GrowthResult:
        """Apply and record what comes into the current function."""
        target = self.view.target
        change = change_of(self.target, patch, target)
        assert change is not None  # every graph here is the source's, or in it
        if self._is_previewing:
            raise _PreviewedEdit(edits.Edits.of(patch, notes=self._cuts(change)))
        with self.transaction() as steps, steps.without_interrupts():
            self._apply(patch, target, steps, renew=True)
            self._record(steps, command, patch, target, (grown,))
            self.listeners.notify()
        return grown

    # The history

    def undo(self) -> str:
        """Undo the last step; the line of code that it was. Raises NothingTo."""
        with self.transaction() as steps, steps.without_interrupts():
            step, losses = self.history.last(), tuple[str, ...]()
            inverse = step.patch.inverse()  # of a module: the graph is unchanged
            if step.place is not None:
                inverse, losses = step.place.revert(step.patch, steps, renew=step.renewed)
            self._set_history(steps, self.history.after_undo(inverse))
            return self._moved_to(replace(step, patch=edits.Patch()), losses, inverse)

    def redo(self) -> str:
        """Apply again the step that was undone last; its line of code. Raises NothingTo."""
        with self.transaction() as steps, steps.without_interrupts():
            step, losses = self.history.next(), tuple[str, ...]()
            if step.place is not None:
                # A rename may give an op the name that another one loses by it.
                present_ops, removed = step.place.index.ids, {node.name for node in step.patch.remove.nodes}
                if any(node.name in present_ops and node.name not in removed for node in step.patch.add.nodes):
                    raise NothingTo(f"Another editor has done this again already: {step.line}; undo it there first.")
                losses = step.place.apply(step.patch, steps, renew=step.renewed)
            self._set_history(steps, self.history.after_redo())
            return self._moved_to(step, losses, step.patch)

    def _moved_to(self, step: edits.Step, losses: tuple[str, ...], patch: edits.Patch) -> str:
        """Make the graph of a step current, which was undone or redone by `patch`; the line of code of the step."""
        self.navigator.go(step.path)
        self._set_latest(step, patch, losses)
        self.listeners.notify()
        return step.line

    def jump(self, to: object) -> str:
        """Undo or redo until `to` steps are done; the line of the last step taken, or "". Raises NothingTo."""
        edits, position = len(self.history.done) + len(self.history.undone), len(self.history.done)
        if type(to) is not int or not 0 <= to <= edits:
            raise NothingTo(f"There are {edits} edits to jump among; give a number from 0 to {edits}.")
        with self.transaction() as steps:
            steps.on_failure(self._step_to, position)
            return self._step_to(to)

    def _step_to(self, number: int) -> str:
        """Undo or redo until so many steps are done; the line of the last one."""
        line = ""
        losses: dict[str, None] = {}
        names: dict[str, str] = {}
        while len(self.history.done) != number:
            line = self.undo() if len(self.history.done) > number else self.redo()
            losses |= dict.fromkeys(self.lost)
            now = dict(self.renamed)
            names = {old: now.pop(name, name) for old, name in names.items()} | now
        if line:
            self.lost, self.renamed = tuple(losses), tuple(names.items())
        return line


def target_of(model: object) -> LiveTarget | None:
    """The target of an editor; None for what is not an editor.

    Args:
        model: An editor, or any other object.
    """
    target = getattr(getattr(model, "core", None), "target", None)
    return target if isinstance(target, LiveTarget) else None


def _function_executor(graph: object) -> EditExecutor | None:
    """The executor of an editor that is in a function; None for all else."""
    core = getattr(graph, "core", None)
    executor = getattr(core, "executor", None)
    return executor if isinstance(executor, EditExecutor) and executor.in_function else None


def _constant(node: NodeDef, value: NodeDef | None) -> NodeDef:
    """The op `value` under the name of an argument that it is passed to; the argument itself without one."""
    if value is None:
        return node
    constant: NodeDef = tf_protos.NodeDef()
    constant.CopyFrom(value)
    constant.name = node.name
    del constant.input[:]
    constant.attr.pop("_class", None)
    return constant


def _one_or_all(command: Clone, copies: Sequence[Cloned]) -> Cloned | list[Cloned]:
    """The copy, or a list of the copies where the clone asks for several."""
    return copies[0] if command.times is None and not command.devices else list(copies)


def _alone(command: Clone) -> Clone:
    """The same as a module that is called with what it reads."""
    return replace(command, graph=None, session=None, replace=())


def _opened_target(command: Add) -> tuple[LiveTarget, Mapping[str, Callable[[], object]]]:
    """The source to add as a graph with a session, and readers of a file's values; a function is converted to one."""
    core = getattr(command.source, "core", None)
    target = target_of(command.source)
    if core is not None and target is not None:
        source, view = core.source, core.navigator.outermost
        patches = core.executor.patches_of(view)
    else:
        source = open_source(command.source, command.session, checkpoint=command.checkpoint, tags=command.tags)
        target = LiveTarget(source)
        view, patches = opened_navigator(source, target).outermost, ()
    if source.graph is not None or source.revive is not None or not source.refusal:
        return target, target.value_readers(patches) if target.is_file else {}
    ends = edits.track_boundary(view.body.arguments, view.body.returns, patches)
    state = function_bodies.edited_state(source, view.body, view.index, patches)
    return LiveTarget(function_bodies.graph_source(source, state, view, ends)), {}


_PlannedCopy: TypeAlias = "tuple[clone_values.GraphSession, edits.Patch, Callable[[], None]]"
"""Where the originals are, the patch of a clone, and what loads its values once the copies are there."""


def _planned_copy(plan: _CopyPlan, source: LiveTarget, target: LiveTarget, *, reseed: bool = False) -> _PlannedCopy:
    origin, destination = source.graph_session(), target.graph_session()
    initial_values = source.source.initial_values
    if initial_values is not None:
        origin = replace(origin, fresh=partial(initial_values, reseed))
    patch = plan(origin.index, destination.index)
    _check_copied(patch, source, target)
    patch = replace(patch, preview=_with_notices(patch, target))
    return origin, patch, clone_values.value_loader(patch, origin, destination)


def _check_copied(patch: edits.Patch, source: LiveTarget, target: LiveTarget) -> None:
    """Raise NotTrusted if a trusted graph would get ops of a graph that is not, and that do more than compute."""
    if target.source.trust.is_given:
        effects = effects_of_nodes(patch.add.nodes, patch.add.functions, source.source.trust)
        source.source.trust.check(effects, "it was not added to a graph that is")


def _with_notices(patch: edits.Patch, target: LiveTarget) -> Preview:
    """The preview of a clone's patch, with a notice for each device that is missing."""
    preview = patch.preview
    assert preview is not None  # every clone has one
    return replace(preview, dropped=(*preview.dropped, *target.placing_notices(patch)))


_Item = TypeVar("_Item")


def _copies(
    patch: edits.Patch, origin: clone_values.GraphSession, target: LiveTarget, pairs: tuple[tuple[str, str], ...]
) -> Iterable[live.Copy]:
    """The Copy of each scope; all have equally many ops and variables."""
    preview = patch.preview
    assert preview is not None  # every clone has one
    count = len(preview.scopes)

    @cache
    def in_graph() -> tuple[tuple[Variable, ...], tuple[runtime.sync.Model, runtime.sync.Model]]:
        """The new variables and the graphs; a file that is not imported is imported now."""
        copied = runtime.sync.Model(target.graph(), target.source.session)
        original = origin if origin.graph is not None else origin.imported()
        assert original.graph is not None
        return target.variables(patch), (runtime.sync.Model(original.graph, original.session), copied)

    if not target.is_file:
        in_graph()

    def parts_of(k: int) -> live.CopyInGraph:
        variables, models = in_graph()
        return live.CopyInGraph(share(variables, k), models)

    def names_of(k: int) -> dict[str, str]:
        """The copy's name for each of the original's; for the names of arguments and results, where no op has them."""
        names = dict((*share(pairs, k), *preview.replaced))
        for key, tensor in origin.ends.items():
            op, port = split_tensor(tensor)
            new_name = names.get(tensor) or (f"{names[op]}:{port or 0}" if op in names else "")
            if new_name:
                names.setdefault(key, new_name)
        return names

    def share(items: tuple[_Item, ...], k: int) -> tuple[_Item, ...]:
        return items[k * len(items) // count : (k + 1) * len(items) // count]

    for k, scope in enumerate(preview.scopes):
        yield live.Copy(
            scope=scope,
            ops=tuple(node.name for node in share(patch.add.nodes, k)),
            outside=preview.inputs + preview.control_inputs,
            shared=tuple(state.name for state in preview.shared),
            report=preview,
            _names=names_of(k),
            _keys=partial(clone_values.checkpoint_keys, patch, origin),
            _pairs=partial(lambda k: share(clone_values.variable_pairs(patch, origin), k), k),
            _in_graph=partial(parts_of, k),
            _variable_count=len(share(patch.add.variables, k)),
        )

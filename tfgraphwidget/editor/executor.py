"""The executor: plans the commands of edits, applies them in transactions, and keeps the history."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tfgraphwidget import edits, runtime
from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.editor import function_bodies
from tfgraphwidget.editor.edit_planner import EditPlanner, function_executor
from tfgraphwidget.editor.places import OpenedGraph, change_of
from tfgraphwidget.editor.plan_cache import PlanCache
from tfgraphwidget.editor.transaction import Snapshot, Transaction, one_thread, undone
from tfgraphwidget.editor.transaction import transaction as transaction_of_steps
from tfgraphwidget.errors import NothingTo, UnknownName
from tfgraphwidget.graph import effects_of
from tfgraphwidget.naming import free_name, known_instead, split_tensor
from tfgraphwidget.runtime import live
from tfgraphwidget.sentences import either
from tfgraphwidget.tf_types import Tensor, Variable

if TYPE_CHECKING:
    from tfgraphwidget.editor.graph_view import Boundary, GraphView
    from tfgraphwidget.editor.navigator import Navigator
    from tfgraphwidget.editor.planned_edit import Outcome, PlannedEdit
    from tfgraphwidget.editor.traced_growth import GrowthResult
    from tfgraphwidget.editor.transaction import Listeners
    from tfgraphwidget.edits import Command, FunctionBoundary, Preview, Renew
    from tfgraphwidget.edits.clone import Clone
    from tfgraphwidget.graph import BodyState, GraphIndex, Signature
    from tfgraphwidget.runtime.functions import ModuleCopy
    from tfgraphwidget.sources import Body, Source

Cloned: TypeAlias = "live.Copy | ModuleCopy | GrowthResult"
"""What a clone gives: ops of a graph, a tf.Module, or ops of a function that was opened itself."""


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

    def __init__(self, source: Source, target: OpenedGraph, navigator: Navigator, listeners: Listeners) -> None:
        self.source, self.target, self.navigator, self.listeners = source, target, navigator, listeners
        self.history = edits.History()
        self.latest_ops: frozenset[str] = frozenset()
        self.lost: tuple[str, ...] = ()
        self.renamed: tuple[tuple[str, str], ...] = ()
        self.plans = PlanCache()
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
    def boundary(self) -> FunctionBoundary | None:
        """The arguments and results of the current function, whose clones are modules; None in a graph."""
        return self.view.target.boundary

    @property
    def ends(self) -> FunctionBoundary:
        """The arguments and results of the current function; none in a graph."""
        return self.boundary or ((), {})

    @property
    def opened_boundary(self) -> FunctionBoundary | None:
        """The arguments and results of a function that was opened itself, if it is the current one."""
        return self.boundary if self.view.target is self.target else None

    @property
    def body(self) -> Body:
        """The current graph as it was read."""
        return self.view.body

    @property
    def function(self) -> str:
        """The name of the function that an op calls, if the current graph is its body; else ""."""
        return self.navigator.function

    def import_graph(self) -> None:
        """Import the graph that was opened into TensorFlow, if it is a file's. Raises NotRunnable."""
        self.target.graph()

    def refusal(self) -> str:
        """Why the current function's body cannot be imported, as a sentence; "" for a graph."""
        return "" if self.boundary is None else self.read_only()

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
        if not self.target.place.can_hold_values():
            return "none"
        return "current" if self.target.has_values() else "initial"

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
            ends = (*self.external_tensors(), *inputs_and_outputs[0], *inputs_and_outputs[1])
            ops = edits.rewrite.find_unused_ops(index, patches, ends, self.new_names())
            self._unused = index, inputs_and_outputs, tuple(index.names[op] for op in ops)
        return self._unused[2]

    @property
    def signatures(self) -> tuple[Signature, ...]:
        """The signatures of the graph after the edits, without those whose ends were removed."""
        changes = (change_of(self.target, step.patch, step.place) for step in self.history.done)
        patches = [patch for patch in changes if patch is not None]
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

    def edited_module(self, name: str) -> ModuleCopy:
        """The current function as edits have left it, as a tf.Module; see `AnalysisAPI.module`.

        Args:
            name: The name of the module.
        """
        default = self.source.signature
        signature = next((s for s in self.signatures if default is not None and s.name == default.name), None)
        source = dataclasses.replace(self.source, signature=signature)  # with the keys that edits have renamed
        self._check_traceable()
        return function_bodies.edited_module(source, self.state(), self.view, self.ends, name)

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

    def external_tensors(self) -> tuple[str, ...]:
        """The tensors that callers of this graph name: ends of signatures, arguments and results of functions."""
        if self.boundary is not None:
            arguments, returns = self.boundary
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
        self.plans.clear()

    def _record(
        self, steps: Transaction, command: Command, planned: PlannedEdit, outcome: Outcome, *, renewed: bool
    ) -> None:
        """Push a step that was applied; its ops are the latest ones."""
        step = edits.Step(
            command,
            outcome.patch,
            planned.place,
            outcome.results,
            self.navigator.path,
            renewed=renewed,
            reserved=planned.reserved,
            imported=planned.imported,
        )
        self._set_history(steps, self.history.push(step))
        self._set_latest(step, outcome.patch, outcome.losses)
        if planned.marking[1]:
            self.view.choice = planned.marking, None

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
        return self.run(command, renew)[1]

    def plan_context(self) -> runtime.SourceContext:
        """The current graph, for planning."""
        return runtime.SourceContext(self)

    def value_readers(self) -> Mapping[str, Callable[[], object]]:
        """Readers of the values of a file's variables in the current graph, unless TensorFlow has imported it."""
        readers = self.target.value_readers(self.patches_of(self.navigator.outermost))
        if self.view.target is self.target:
            return readers
        origins = (self.view.body.origins or {}).items()
        return {name: readers[origin] for name, origin in origins if origin in readers}

    def run(self, command: Command, renew: Renew = "always") -> tuple[tuple[object, ...], edits.Edits]:
        """Plan a command, apply it, and record the step; what the user holds of it, and a report.

        Args:
            command: The command.
            renew: Whether a session that has run changed ops is renewed.
        """
        with self.transaction() as steps:
            planned = command.plan_edit(EditPlanner(self, steps, renew))
            command = edits.rebind_selections(command, self.index)  # planning may have imported the graph
            with steps.without_interrupts():
                outcome = planned.apply(steps)
                self._record(steps, command, planned, outcome, renewed=renew != "never")
                self.listeners.notify()
        return outcome.results, edits.Edits.of(outcome.patch, outcome.losses, planned.notes())

    def preview(self, command: Command, renew: Renew = "always") -> edits.Edits | Preview:
        """Plan and check a command; nothing is changed.

        Args:
            command: The command.
            renew: Whether a session that has run changed ops would be renewed.

        Raises:
            GraphEditError: The edit would be refused, for the same reason.
        """
        # Other threads wait: what planning imports is a file again at the end, and no edit of theirs is put back.
        with one_thread(), self.listeners.collect(), undone() as steps:
            steps.on_failure(Snapshot(self.navigator, *self.navigator.views, without=("known",)).restore)
            steps.on_failure(self.target.file_restorer())
            return command.preview_edit(EditPlanner(self, steps, renew))

    def clone(self, command: Clone) -> Cloned | list[Cloned]:
        """Make copies, and mark their boundary; see `EditAPI.clone`.

        Args:
            command: The clone.
        """
        command = edits.rebind_selections(command, self.index)
        function = function_executor(command.graph)
        if function is None:
            copies: tuple[Any, ...] = self.run(command)[0]
        else:
            copies = self._clone_into_function(command, function)
        return copies[0] if command.times is None and not command.devices else list(copies)

    def _clone_into_function(self, command: Clone, function: EditExecutor) -> tuple[object, ...]:
        """Clone a part of this graph into the current function of another editor, whose edit it is."""
        with self.transaction() as steps:
            growths = EditPlanner(self, steps).growths(command)
            return tuple(result for growth in growths for result in function.run(growth)[0])

    def part_of_file(self, command: Clone, ends: Boundary) -> edits.Patch | None:
        """The ops of a part of a file as they are in a graph of their own; None where the file is imported for them.

        Args:
            command: The clone of the part into another graph.
            ends: The inputs and outputs of the part.
        """
        with undone() as steps:
            return EditPlanner(self, steps).part_of_file(command, ends)

    def copy_out(self, command: Clone) -> None:
        """Apply a clone into another graph; it is not an edit of this one, and is not recorded.

        Args:
            command: The clone.
        """
        with self.transaction() as steps:
            planned = command.plan_edit(EditPlanner(self, steps))
            with steps.without_interrupts():
                planned.apply(steps)

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
                # The step may have been undone in a file that TensorFlow has imported since.
                step = replace(step, patch=step.place.refit(step.patch))
                losses = step.place.apply(step.patch, steps, renew=step.renewed)
            self._set_history(steps, self.history.after_redo(step))
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

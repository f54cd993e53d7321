"""The executor: plans the commands of edits, applies them in transactions, and keeps the
history.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from tfgraphwidget import edits
from tfgraphwidget.editor.edit_planner import EditPlanner, function_executor
from tfgraphwidget.editor.edited_graph import EditedGraph
from tfgraphwidget.editor.places import OpenedGraph, change_of
from tfgraphwidget.editor.transaction import Snapshot, Transaction, one_thread, undone
from tfgraphwidget.editor.transaction import transaction as transaction_of_steps
from tfgraphwidget.errors import GraphEditError, InvalidArgument, NotRunnable
from tfgraphwidget.runtime import live
from tfgraphwidget.sentences import in_cell

if TYPE_CHECKING:
    from tfgraphwidget.editor.graph_view import Boundary
    from tfgraphwidget.editor.navigator import Navigator
    from tfgraphwidget.editor.planned_edit import Outcome, PlannedEdit
    from tfgraphwidget.editor.traced_growth import GrowthResult
    from tfgraphwidget.editor.transaction import Listeners
    from tfgraphwidget.edits import Command, Preview
    from tfgraphwidget.edits.clone import Clone
    from tfgraphwidget.runtime.functions import ModuleCopy
    from tfgraphwidget.sources import Source
    from tfgraphwidget.tf_types import NodeDef

Cloned: TypeAlias = "live.Copy | ModuleCopy | GrowthResult"
"""What a clone gives: ops of a graph, a tf.Module, or ops of a function that was opened itself."""


class EditExecutor(EditedGraph):
    """Applies, records and undoes the edits of one editor.

    `latest_ops` are the names of the ops that the last step added or changed in the current graph.
    `lost` are sentences on what the session could not keep over the last step, `renamed` the (old,
    new) names of the ops that it renamed there. `batch` says which edits are one step.
    """

    def __init__(
        self, source: Source, target: OpenedGraph, navigator: Navigator, listeners: Listeners
    ) -> None:
        super().__init__(source, target, navigator)
        self.listeners = listeners
        self.latest_ops: frozenset[str] = frozenset()
        self.lost: tuple[str, ...] = ()
        self.renamed: tuple[tuple[str, str], ...] = ()
        self.batch: edits.Batch | None = None
        self.batch_start = 0  # how many edits are done where the batch begins
        self.is_previewing = False  # nothing may be changed then

    # Transactions

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Make several steps as one: listeners hear of them once, and a failure undoes them all.

        What an edit moves is put back: which graph is current, what is selected, hidden and pinned
        in it. A file that is imported inside is a file again. The history is put back by the step
        that records in it.
        """
        with one_thread(), self.listeners.collect(), transaction_of_steps() as steps:
            if self.is_previewing:
                raise GraphEditError(
                    "preview: what is called edits the editor itself, so it was not done; "
                    + in_cell(
                        "let a function use its argument: editor.preview(lambda editor: "
                        "editor.bypass('x'))."
                    )
                )
            steps.on_failure(Snapshot(self, without=("history",)).restore)
            steps.on_failure(
                Snapshot(self.navigator, *self.navigator.views, without=("known",)).restore
            )
            steps.on_failure(self.target.file_restorer())
            yield steps

    def _set_history(self, steps: Transaction, history: edits.History) -> None:
        steps.on_failure(setattr, self, "history", self.history)
        self.history = history
        self.plans.clear()

    def _record(
        self, steps: Transaction, command: Command, planned: PlannedEdit, outcome: Outcome
    ) -> None:
        """Push a step that was applied; its ops are the latest ones."""
        step = edits.Step(
            command,
            outcome.patch,
            planned.place,
            outcome.results,
            self.navigator.path,
            renewed=self.renew,
            reserved=planned.reserved,
            imported=planned.imported,
            batch=self.batch,
        )
        self._set_history(steps, self.history.push(step))
        self._set_latest(step, outcome.patch, outcome.losses)
        if planned.marking[1]:
            self.view.choice = planned.marking, None

    def _set_latest(self, step: edits.Step, patch: edits.Patch, losses: tuple[str, ...]) -> None:
        """Describe the last change: `patch` did or undid it, and the view follows its renames."""
        names = [node.name for node in step.patch.add.nodes] + [
            edited.name for edited in step.patch.changed
        ]
        is_here = step.place is self.view.target
        earlier, earlier_losses = frozenset[str](), tuple[str, ...]()
        if (
            step.batch is not None
            and len(self.history.done) > 1
            and self.history.done[-2].batch is step.batch
        ):
            now = dict(patch.renamed)
            earlier = frozenset(now.get(name, name) for name in self.latest_ops)
            earlier_losses = self.lost
        self.latest_ops = earlier | frozenset(names) if is_here else frozenset()
        self.lost = tuple(dict.fromkeys((*earlier_losses, *losses)))
        self.renamed = patch.renamed if is_here else ()
        self.view.follow(self.renamed)

    # Edits that a patch describes

    def edit(self, command: Command) -> edits.Edits:
        """Apply a command and record it; see `EditAPI.apply`."""
        return self.run(command)[1]

    @contextmanager
    def run_as_one(self, name: str) -> Iterator[None]:
        """Make the edits inside one step of the history; if one of them fails, none is made.

        A batch inside another one belongs to that.
        """
        with self.transaction() as steps:
            steps.on_failure(self.undo_since, self.history)
            outer = self.batch, self.batch_start
            if self.batch is None:
                self.batch, self.batch_start = edits.Batch(name), len(self.history.done)
            try:
                yield
            finally:
                self.batch, self.batch_start = outer

    def with_final_names(self, command: Command) -> Command:
        """The command with the names of new ops that another graph would choose otherwise."""
        try:
            return command.with_final_names(self.plan_context())
        except GraphEditError:  # the edit itself raises it again, with suggested fixes
            return command

    def run(self, command: Command) -> tuple[tuple[object, ...], edits.Edits]:
        """Plan a command, apply it, and record the step; what the user gets, and a report."""
        with self.transaction() as steps:
            planned = command.plan_edit(self._planner(steps))
            if planned.is_nothing:
                return (), planned.report
            # Planning may have imported the graph.
            command = edits.rebind_selections(command, self.index)
            with steps.without_interrupts():
                outcome = planned.apply(steps)
                self._record(steps, command, planned, outcome)
                self.listeners.notify()
        return outcome.results, edits.Edits.of(outcome.patch, outcome.losses, planned.notes())

    def preview(self, command: Command) -> edits.Edits | Preview:
        """Plan and check a command; nothing is changed. Raises GraphEditError as the edit would."""
        with self._planning() as planner:
            return command.preview_edit(planner)

    def sample(self, command: Clone) -> Preview:
        """Plan a clone to be read, also where the graph or its session cannot take it now."""
        with self._planning() as planner:
            return planner.sample(command, is_checked=False)

    @contextmanager
    def _planning(self) -> Iterator[EditPlanner]:
        """What plans edits that are not made; all is put back at the end."""
        # Other threads wait: what planning imports is a file again at the end, and no edit of
        # theirs is put back.
        with one_thread(), self.listeners.collect(), undone() as steps:
            steps.on_failure(
                Snapshot(self.navigator, *self.navigator.views, without=("known",)).restore
            )
            steps.on_failure(self.target.file_restorer())
            yield self._planner(steps)

    def _planner(self, steps: Transaction) -> EditPlanner:
        """What plans the edits of this graph. Raises NotRunnable if nothing in it can be edited."""
        if why := self.edit_refusal():
            raise NotRunnable(why)
        return EditPlanner(self, steps)

    def clone(self, command: Clone) -> Cloned | list[Cloned]:
        """Make copies, and mark their boundary; see `EditMethods.clone`."""
        command = edits.rebind_selections(command, self.index)
        function = function_executor(command.graph)
        if isinstance(function, EditExecutor):
            copies: tuple[Any, ...] = self._clone_into_function(command, function)
        else:
            copies = self.run(command)[0]
        return copies[0] if command.times is None and not command.devices else list(copies)

    def _clone_into_function(self, command: Clone, function: EditExecutor) -> tuple[object, ...]:
        """Clone a part of this graph into another editor's current function, as that one's edit."""
        with self.transaction() as steps:
            growths = EditPlanner(self, steps).growths(command)
            return tuple(result for growth in growths for result in function.run(growth)[0])

    def part_of_file(self, command: Clone, boundary: Boundary) -> edits.Patch | None:
        """The ops between inputs and outputs in a file, in a graph of their own, or None."""
        with undone() as steps:
            return EditPlanner(self, steps).part_of_file(command, boundary)

    def copy_out(self, command: Clone) -> None:
        """Apply a clone into another graph; it is not an edit of this one, and is not recorded."""
        with self.transaction() as steps:
            planned = command.plan_edit(self._planner(steps))
            with steps.without_interrupts():
                planned.apply(steps)

    # The history

    def undo(self) -> str:
        """Undo the last step, of a batch all its edits; its lines of code, "" if there is none."""
        if not self.history.done:
            return ""
        return self.jump(len(edits.group_batches(self.history.done)) - 1)

    def redo(self) -> str:
        """Apply again the step that was undone last; its lines of code, "" if there is none."""
        if not self.history.undone:
            return ""
        return self.jump(len(edits.group_batches(self.history.done)) + 1)

    def jump(self, to: object) -> str:
        """Undo or redo until `to` steps are done; the lines of the last step, or "".

        Raises InvalidArgument if there are not so many.
        """
        done = edits.group_batches(self.history.done)
        undone = edits.group_batches(reversed(self.history.undone))
        whole = (*done, *undone)
        if type(to) is not int or not 0 <= to <= len(whole):
            count = len(whole)
            raise InvalidArgument(
                "to", f"There are {count} edits to jump among; give a number from 0 to {count}."
            )
        number = sum(
            len(step.steps) if isinstance(step, edits.BatchStep) else 1 for step in whole[:to]
        )
        if self.batch is not None and number < self.batch_start:
            raise GraphEditError(
                f"The batch {self.batch.name!r} is open, and what was done before it stays until "
                "it ends; undo it then."
            )
        if to == len(done):
            return ""
        with self.transaction() as steps:
            steps.on_failure(self._step_to, len(self.history.done))
            self._step_to(number)
        return whole[to].line if to < len(done) else whole[to - 1].line

    def _step_to(self, number: int) -> None:
        """Undo or redo until so many edits are done."""
        if len(self.history.done) == number:
            return
        losses: dict[str, None] = {}
        names: dict[str, str] = {}
        while len(self.history.done) != number:
            if len(self.history.done) > number:
                self.undo_one()
            else:
                self._redo_one()
            losses |= dict.fromkeys(self.lost)
            now = dict(self.renamed)
            names = {old: now.pop(name, name) for old, name in names.items()} | now
        self.lost, self.renamed = tuple(losses), tuple(names.items())

    def undo_one(self) -> None:
        """Undo the last edit."""
        with self.transaction() as steps, steps.without_interrupts():
            step, losses = self.history.last(), tuple[str, ...]()
            inverse = step.patch.inverse()  # of a module: the graph is unchanged
            if step.place is not None:
                inverse, losses = step.place.revert(step.patch, steps, renew=step.renewed)
            self._set_history(steps, self.history.after_undo(inverse))
            self._move_to(replace(step, patch=edits.Patch()), losses, inverse)

    def _redo_one(self) -> None:
        """Apply again the edit that was undone last."""
        with self.transaction() as steps, steps.without_interrupts():
            step, losses = self.history.next(), tuple[str, ...]()
            if step.place is not None:
                # A rename may give an op the name that another one loses by it.
                present_ops = step.place.index.ids
                removed = {node.name for node in step.patch.remove.nodes}
                if any(
                    node.name in present_ops and node.name not in removed
                    for node in step.patch.add.nodes
                ):
                    raise GraphEditError(
                        f"Another editor has done this again already: {step.line}; undo it there "
                        "first."
                    )
                # The step may have been undone in a file that TensorFlow has imported since.
                step = replace(step, patch=step.place.refit(step.patch, steps))
                losses = step.place.apply(step.patch, steps, renew=step.renewed)
            self._set_history(steps, self.history.after_redo(step))
            self._move_to(step, losses, step.patch)

    def _move_to(self, step: edits.Step, losses: tuple[str, ...], patch: edits.Patch) -> None:
        """Make the graph of an edit current, which was undone or redone by `patch`."""
        self.navigator.go(step.path)
        self._set_latest(step, patch, losses)
        self.listeners.notify()

    def undo_since(self, history: edits.History) -> None:
        """Undo the edits since a history, and free their names for the same edits."""
        nodes: list[NodeDef] = []
        functions: set[str] = set()
        while len(self.history.done) > len(history.done):
            step = self.history.last()
            patch = change_of(self.target, step.patch, step.place)
            if patch is not None:
                nodes += patch.add.nodes
                functions |= {function.signature.name for function in patch.add.functions}
            self.undo_one()
        self.history = history
        self._free_names(nodes, functions)

    def _free_names(self, nodes: list[NodeDef], functions: set[str]) -> None:
        """Let the same edits use the names: TensorFlow keeps the ops, hidden, and can show them."""
        graph = self.source.graph
        if graph is None or not nodes:
            return
        record = live.record_of(graph)
        record.failed.update((node.name, node) for node in nodes if node.name in record.hidden)
        record.failed_functions |= record.functions & functions
        self.target.place.reread()

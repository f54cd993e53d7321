"""Planning of edits: a command becomes a `PlannedEdit` of the current graph, or of the graph that
it names.

Here is what kinds of edits differ in: a change of the graph, copies of ops, another graph that is
added, and what a Python function adds. How a planned edit is applied, recorded and undone is the
same for all of them; see `executor`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tfgraphwidget import edits, runtime
from tfgraphwidget.editor import clone_values, function_bodies
from tfgraphwidget.editor.graph_copies import (
    GraphCopies,
    check_copies,
    plan_copies,
    results,
    stays_in_file,
    with_notices,
)
from tfgraphwidget.editor.navigator import added_graph, target_of
from tfgraphwidget.editor.places import OpenedGraph, change_of
from tfgraphwidget.editor.planned_edit import Outcome, PlannedEdit
from tfgraphwidget.errors import NameTaken, NotClonable
from tfgraphwidget.graph import GraphIndex, build, effects_of
from tfgraphwidget.messages import copy_without_inputs
from tfgraphwidget.naming import free_name, names_text, split_tensor, tried_before
from tfgraphwidget.runtime import live
from tfgraphwidget.runtime import session as sessions
from tfgraphwidget.sentences import either
from tfgraphwidget.sources import open_source, tf_protos
from tfgraphwidget.tf_types import NodeDef

if TYPE_CHECKING:
    from tfgraphwidget.editor.edited_graph import EditedGraph
    from tfgraphwidget.editor.graph_view import Boundary, GraphView
    from tfgraphwidget.editor.traced_growth import GrowthResult
    from tfgraphwidget.editor.transaction import Transaction
    from tfgraphwidget.edits import Command
    from tfgraphwidget.edits.clone import Add, Clone
    from tfgraphwidget.graph import BodyState

_SIGNATURES_GONE = (
    "Signatures that lost inputs or outputs are in no file that is saved from here: {}."
)


class EditPlanner:
    """Plans the edits of one editor; it changes nothing, but may import a file.

    `steps` is the transaction of the edit.
    """

    def __init__(self, edited: EditedGraph, steps: Transaction) -> None:
        self.edited, self.steps = edited, steps
        self.source, self.target = edited.source, edited.target

    @property
    def view(self) -> GraphView:
        """The view of the current graph."""
        return self.edited.view

    # A change of the current graph

    def change(self, command: Command) -> PlannedEdit:
        """Plan a command on the current graph."""
        context, place = self.edited.plan_context(), self.view.target
        planned = runtime.plan(edits.rebind_selections(command, context.index), context)
        if planned.report.is_nothing:
            return PlannedEdit(place, edits.Edits.of(planned), lambda _: Outcome(planned))
        if place.boundary is not None:
            edits.check_called(place.index, place.boundary, planned)
        patch = place.fit(planned)
        change = change_of(self.target, patch, place)
        assert change is not None  # every graph here is the source's, or in it
        load = self._first_values(patch)
        lost_signatures = self._lost_signatures(change)

        def apply(steps: Transaction) -> Outcome:
            return Outcome(patch, (), self._apply(patch, steps, load))

        is_exchanged = patch is not planned if change is patch else bool(change.add.nodes)
        return PlannedEdit(
            place,
            edits.Edits.of(patch, notes=(*self._cuts(change), *lost_signatures)),
            apply,
            check=partial(self.target.check, change, renew=self.edited.renew),
            notes=lambda: (*lost_signatures, *self._notes(change)),
            reserved=self._names_in_use(change),
            imported=(is_exchanged or command.asks_for_session)
            and self.target.place.file is not None,
        )

    def _apply(
        self, patch: edits.Patch, steps: Transaction, load: Callable[[], None] | None
    ) -> tuple[str, ...]:
        """Apply a patch of the current graph; what a function made gets its first values."""
        renew = self.edited.renew
        self.target.place.keep_alive(patch)
        if load is None:
            return self.view.target.apply(patch, steps, renew=renew)
        return self.target.apply(patch, steps, load=load, renew=renew)

    def _first_values(self, patch: edits.Patch) -> Callable[[], None] | None:
        """Return a function that initializes what a function made in the graph, or None."""
        traced, session = patch.traced, self.source.session
        if (
            traced is None
            or not traced.has_state
            or session is None
            or self.view.target is not self.target
        ):
            return None
        live.traced_ops.check_initializers(session, traced)
        tables = live.traced_ops.tables_of(patch.add.members)
        return lambda: live.traced_ops.initialize(
            sessions.TimedSession(session), patch.add.variables, tables
        )

    def _names_in_use(self, patch: edits.Patch) -> tuple[str, ...]:
        """The names that new ops lack because hidden ops have them, which no done step removed."""
        target = self.target
        names_in_use = target.place.hidden_names()
        functions = [function.signature.name for function in patch.add.functions]
        new = [node.name for node in patch.add.nodes]
        # Those TensorFlow numbers by itself.
        new += [name for name in functions if not name.startswith("__")]
        reserved = {tried for name in new for tried in tried_before(name) if tried in names_in_use}
        if not reserved:
            return ()
        removed = {
            node.name for change in self.edited.changes_of(target) for node in change.remove.nodes
        }
        return tuple(
            sorted(
                reserved
                - edits.reserved_names({*removed, *(node.name for node in patch.remove.nodes)})
            )
        )

    def _lost_signatures(self, change: edits.Patch) -> tuple[str, ...]:
        """A sentence on the signatures that a change leaves without inputs or outputs."""
        if change.signature_edits or not change.remove.nodes:
            return ()
        added = {node.name for node in change.add.nodes}
        removed = {node.name for node in change.remove.nodes} - added
        before = self.edited.signatures
        remaining = {
            signature.name
            for signature in edits.track_signatures(before, [change])
            if removed.isdisjoint(
                split_tensor(tensor)[0] for _, tensor in (*signature.inputs, *signature.outputs)
            )
        }
        lost = [signature.name for signature in before if signature.name not in remaining]
        return (_SIGNATURES_GONE.format(names_text(lost)),) if lost else ()

    def _notes(self, change: edits.Patch) -> tuple[str, ...]:
        """Notes about changes that TensorFlow cannot follow, in the source's own graph."""
        return self.target.place.notes(change, renewed=self.edited.renew)

    def _cuts(self, patch: edits.Patch) -> tuple[str, ...]:
        """A sentence for each partial run that a patch of the source's own graph will cut."""
        session = self.source.session
        if session is None or not patch.changed or not self.edited.renew:
            return ()
        return sessions.partial_runs_to_cut(session)

    # Copies of ops

    def sample(self, command: Clone, *, is_checked: bool = True) -> edits.Preview:
        """Preview a clone: with `times`, one of the copies is planned.

        Args:
            is_checked: Whether what the graph and its session cannot take now is refused.
        """
        edited = self.edited
        if function_executor(command.graph) is not None:
            return self._preview_modules(alone(command), self.clonable_state())
        target = self.copies_target(command)
        if edited.boundary is not None and target is self.target:
            self._check_modules(command)
            return self._preview_modules(command, edited.state())
        if edited.boundary is not None:
            return with_notices(self._body_copies(command, target).patch, target)
        patch = edited.plans.sample(command, edited.index, target.index)
        if is_checked:
            check_copies(patch, self.target, target, edited.value_readers)
        else:
            target.check_placed(patch, self.target)
        return with_notices(patch, target)

    def _preview_modules(self, command: Clone, state: BodyState) -> edits.Preview:
        return function_bodies.preview(
            command, self.source, state, self.view, self.edited.inputs_and_outputs
        )

    def copies(self, command: Clone) -> PlannedEdit:
        """Plan a clone: copies in a graph, or tf.Modules of a part of a function's body."""
        command = edits.rebind_selections(command, self.edited.index)
        if self.edited.boundary is not None and command.graph is None:
            return self._modules(command)
        target = self.copies_target(command)
        marking = (
            ((), ()) if self.edited.boundary is not None else (command.inputs, command.outputs)
        )
        self.steps.on_failure(target.file_restorer())
        return self._planned_copies(self.graph_copies(command, target), target, marking)

    def graph_copies(self, command: Clone, target: OpenedGraph) -> GraphCopies:
        """Plan copies of a part of the current graph in the target graph."""
        if self.edited.boundary is not None:
            return self._body_copies(command, target)
        self.view.names((*command.inputs, *command.outputs))

        def plan(index: GraphIndex, into: GraphIndex) -> edits.Patch:
            return self.edited.plans.plan(edits.rebind_selections(command, index), index, into)

        return plan_copies(plan, self.target, target, self.edited.value_readers)

    def _body_copies(self, command: Clone, target: OpenedGraph) -> GraphCopies:
        """Plan copies of a part of a function's body, which is made a graph first."""
        edited = self.edited
        boundary = edited.inputs_and_outputs
        body_graph = OpenedGraph(
            function_bodies.graph_source(self.source, edited.state(), self.view, boundary)
        )
        if command.selection is None and not command.outputs:
            command = replace(command, outputs=tuple(dict.fromkeys(boundary[1].values())))
        command = edits.rebind_selections(command, body_graph.index)

        def plan(index: GraphIndex, into: GraphIndex) -> edits.Patch:
            return command.plan(edits.IndexContext(index, into))

        return plan_copies(plan, body_graph, target, dict, reseed=command.reseed)

    def _planned_copies(
        self, copies: GraphCopies, target: OpenedGraph, marking: Boundary = ((), ())
    ) -> PlannedEdit:
        """The edit that makes copies in a graph, and marks the boundary of the originals."""
        patch = copies.patch

        def apply(steps: Transaction) -> Outcome:
            target.apply(patch, steps, load=copies.load, origin=copies.origin.graph)
            return Outcome(patch, tuple(results(copies, target)))

        check = partial(target.place.check, patch, copies.origin.graph)
        return PlannedEdit(target, edits.Edits.of(patch), apply, check, marking=marking)

    def _modules(self, command: Clone) -> PlannedEdit:
        """Plan tf.Modules that copy a part of the current function; the graph stays as it is."""
        edited = self.edited
        self._check_modules(command)
        modules = function_bodies.clone_modules(
            command, self.source, edited.state(), self.view, edited.inputs_and_outputs
        )
        return PlannedEdit(
            None, edits.Edits.of(edits.Patch()), lambda _: Outcome(edits.Patch(), modules)
        )

    def _check_modules(self, command: Clone) -> None:
        """Raise for options that cannot be, and names that other clones have."""
        command.check_options()
        copies = self.edited.copies
        for scope in command.scopes:
            if scope in copies:
                raise NameTaken(
                    f"The name {scope!r} is taken by another clone of this editor; "
                    f"{free_name(scope, set(copies))!r} is free.",
                    [scope],
                )

    def growths(self, command: Clone) -> tuple[edits.Call, ...]:
        """The edits by which a function's body in another editor calls copies of a part. Raises
        NotClonable where nothing in the function is given for an input.
        """
        read = dict(command.replace)
        state, boundary = self.clonable_state(), self.edited.inputs_and_outputs
        modules = function_bodies.clone_modules(
            alone(command), self.source, state, self.view, boundary
        )
        missing = [name for name in modules[0].inputs if name not in read]
        if missing:
            raise NotClonable(
                f"clone: the part reads {missing[0]!r}, for which a function's body has no "
                "placeholder; "
                + either(
                    f"give replace={{{missing[0]!r}: tensor of the function}}.",
                    "choose 'New placeholders for inputs'.",
                ),
                missing,
            )
        return tuple(
            edits.Call(tuple(read[name] for name in each.inputs), each, each.scope)
            for each in modules
        )

    def clonable_state(self) -> BodyState:
        """The state of the ops of the current graph, of which a part becomes a function."""
        edited = self.edited
        if edited.boundary is not None:
            return edited.state()
        return function_bodies.graph_state(self.source, edited.index, edited.patches())

    def copies_target(self, command: Clone) -> OpenedGraph:
        """The graph that the copies of a clone go into."""
        if command.graph is None:
            return self.target
        return target_of(command.graph) or OpenedGraph(open_source(command.graph, command.session))

    def part_of_file(self, command: Clone, boundary: Boundary) -> edits.Patch | None:
        """The ops of a part of a file, with these inputs and outputs, in a graph of their own; None
        if the file is imported. Raises GraphEditError where a part of a function's body cannot
        stand alone, or a variable has no value.
        """
        edited, target = self.edited, self.target
        if not target.place.needs_import:
            return None
        command = edits.rebind_selections(command, edited.index)
        index, readers, origin = edited.index, edited.value_readers(), target.present_graph()
        constants: Mapping[str, NodeDef] = {}
        if edited.boundary is not None:
            constants = {
                name: copy_without_inputs(node, name)
                for name, node in self.view.body.constants.items()
            }
            part = edits.clone.excerpt(
                index, edited.state().names, *boundary, arguments=edited.inputs_and_outputs[0]
            )
            has_all = all(
                name in readers or name in constants
                for name in map(index.names.__getitem__, part.reused)
            )
            if not has_all or _needs_gradients(index, part.ops):
                return None  # tables, and what `tf.custom_gradient` made, are TensorFlow's
            origin = replace(origin, index=index, named_tensors={})
        patch = command.plan(edits.IndexContext(index, build((), extras=index.extras)))
        if not stays_in_file(patch, index, target, target):
            return None
        nodes = tuple(constants.get(node.name, node) for node in patch.add.nodes)
        values = clone_values.file_values(patch, origin, readers)
        return replace(patch, add=replace(patch.add, nodes=nodes), values=values)

    # Another graph, and what a function adds

    def addition(self, command: Add) -> PlannedEdit:
        """Plan to bring another graph in, whole; the graph itself is current then."""
        from tfgraphwidget.editor.joining import join

        self.edited.navigator.leave(0)
        command = replace(
            command, connect=tuple((name, self.view.names(own)[0]) for name, own in command.connect)
        )
        if self.edited.boundary is not None:
            patch, function = join(command, self.edited.plan_context())
            return self._brought_in(patch, function)
        other, readers = _opened_target(command)
        self.steps.on_failure(other.file_restorer())
        boundary, own = other.present_graph().named_tensors, other.index.ids
        connect = tuple(
            (name if name in own else boundary.get(name, name), tensor)
            for name, tensor in command.connect
        )
        whole, source = replace(command, connect=connect), other.source

        def plan(index: GraphIndex, target: GraphIndex) -> edits.Patch:
            signed = (name for s in source.signatures for _, name in (*s.inputs, *s.outputs))
            external = tuple(name for name in signed if split_tensor(name)[0] in index.ids)
            index = other.place.as_imported(index)
            return whole.plan(
                edits.IndexContext(
                    index, target, has_values=source.has_values, external_tensors=external
                )
            )

        copies = plan_copies(plan, other, self.target, lambda: readers)
        return self._planned_copies(copies, self.target)

    def growth(self, command: edits.Call) -> PlannedEdit:
        """Plan to call a function on tensors, and to initialize the variables that it makes."""
        from tfgraphwidget.editor import traced_growth

        if self.edited.boundary is not None:
            patch = self.view.target.fit(runtime.plan(command, self.edited.plan_context()))
            ops = tuple(node.name for node in patch.add.nodes)
            variables = tuple(
                value for value in patch.traced.captured.values() if hasattr(value, "assign")
            )
            return self._brought_in(
                patch,
                traced_growth.GrowthResult(command.into, command.outputs(patch), variables, ops),
            )
        target = self.target
        target.graph()
        trust = self.source.trust
        trust.check(
            effects_of(self.edited.index, trust).at_import(command.at),
            "the function was not called",
        )

        # What a function adds is known once it was called; an interrupt ends it at any moment.
        patch, outputs = traced_growth.grow(target, command, self.steps)
        ops = tuple(node.name for node in patch.add.nodes)
        grown = traced_growth.GrowthResult(command.into, outputs, target.variables(patch), ops)
        return PlannedEdit(target, edits.Edits.of(patch), lambda _: Outcome(patch, (grown,)))

    def _brought_in(self, patch: edits.Patch, grown: GrowthResult) -> PlannedEdit:
        """The edit of the current function by what comes into it."""
        place = self.view.target
        change = change_of(self.target, patch, place)
        assert change is not None  # every graph here is the source's, or in it
        load = self._first_values(patch)

        def apply(steps: Transaction) -> Outcome:
            self._apply(patch, steps, load)
            return Outcome(patch, (grown,))

        check = partial(self.target.check, change, renew=self.edited.renew)
        return PlannedEdit(place, edits.Edits.of(patch, notes=self._cuts(change)), apply, check)


def function_executor(graph: object) -> EditedGraph | None:
    """The executor of an editor that is in a function; None for all else."""
    core = getattr(graph, "_core", None)
    executor: EditedGraph | None = getattr(core, "executor", None)
    return executor if executor is not None and executor.boundary is not None else None


def alone(command: Clone) -> Clone:
    """The same as a module that is called with what it reads."""
    return replace(command, graph=None, session=None, replace=())


def _needs_gradients(index: GraphIndex, ops: Iterable[int]) -> bool:
    """Whether TensorFlow, if it is installed, is to register gradients of Python for some ops."""
    nodes = index.nodes
    return tf_protos.is_tensorflow_installed() and any(
        edits.clone.has_closure_gradient(nodes[op]) for op in ops
    )


def _opened_target(command: Add) -> tuple[OpenedGraph, Mapping[str, Callable[[], object]]]:
    """The source to add as a graph with a session, and readers of a file's values."""
    source, target, view, patches, _ = added_graph(command)
    if source.graph is not None or source.revive is not None or not source.refusal:
        return target, target.place.value_readers(patches)
    boundary = edits.track_boundary(view.body.arguments, view.body.returns, patches)
    state = function_bodies.edited_state(source, view.body, view.index, patches)
    return OpenedGraph(function_bodies.graph_source(source, state, view, boundary)), {}

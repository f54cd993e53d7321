"""The edited graph: what is current, and what a history of edits has made of signatures, names and
state.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from tfgraphwidget import edits, runtime
from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.editor import function_bodies
from tfgraphwidget.editor.places import OpenedGraph, change_of
from tfgraphwidget.editor.plan_cache import PlanCache
from tfgraphwidget.errors import UnknownName
from tfgraphwidget.graph import effects_of
from tfgraphwidget.naming import free_name, known_instead, split_tensor
from tfgraphwidget.sentences import either
from tfgraphwidget.tf_types import Tensor, Variable

if TYPE_CHECKING:
    from tfgraphwidget.editor.graph_view import Boundary, GraphView
    from tfgraphwidget.editor.navigator import Navigator
    from tfgraphwidget.edits import FunctionBoundary
    from tfgraphwidget.graph import BodyState, GraphIndex, Signature
    from tfgraphwidget.runtime.functions import ModuleCopy
    from tfgraphwidget.sources import Body, Source


class Copies(dict[str, Any]):
    """The clones of an editor by name scope; a missing scope raises UnknownName."""

    def __getitem__(self, scope: object) -> Any:
        if isinstance(scope, str) and scope in self:
            return super().__getitem__(scope)
        end = "; clone a part first."
        if self:
            end = known_instead(scope if isinstance(scope, str) else "", list(self), "those are")
        raise UnknownName(f"This editor has no copy {value_text(scope)}, or it was undone{end}")


class EditedGraph:
    """The current graph of an editor: what was opened, and what edits have made of it.

    `history` has the steps that are done and undone; `renew` says whether a session that has run
    changed ops is renewed.
    """

    def __init__(self, source: Source, target: OpenedGraph, navigator: Navigator) -> None:
        self.source, self.target, self.navigator = source, target, navigator
        self.history = edits.History()
        self.renew = True
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
        """The arguments and results of the current function; None in a graph."""
        return self.view.target.boundary

    @property
    def inputs_and_outputs(self) -> FunctionBoundary:
        """The arguments and results of the current function; none in a graph."""
        return self.boundary or ((), {})

    @property
    def opened_boundary(self) -> FunctionBoundary | None:
        """The arguments and results of the current function, if it was opened itself."""
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
        """Import the opened graph into TensorFlow, if it is a file's. Raises NotRunnable."""
        self.target.graph()

    def refusal(self) -> str:
        """Why the current function's body cannot be imported, as a sentence; "" for a graph."""
        return "" if self.boundary is None else self.read_only()

    def read_only(self) -> str:
        """Why the current graph cannot run and grow as a live graph, with a fix; "" if it can."""
        if len(self.navigator.path) > 1:
            return (
                f"{self.view.title!r} is the body of a function, which runs only as a part of the "
                "graph that calls it; leave it"
                + either(" (editor.view.leave(0))", "")
                + " for the graph itself."
            )
        # A library of ops may have been loaded since: an edit tries again, and says why not.
        return self.source.refusal or self.target.place.live_refusal

    def edit_refusal(self) -> str:
        """Why nothing in the graph can be edited, with a way out; "" if it can."""
        return self.source.live_refusal if self.source.converted_model is not None else ""

    def default_init(self) -> Literal["current", "initial", "none"]:
        """The default of `init`: "current" where the session or a checkpoint has values."""
        if not self.target.place.can_hold_values():
            return "none"
        return "current" if self.target.has_values() else "initial"

    def free_scope(self, base: str = "copy") -> str:
        """`base`, or with a number appended: a scope name that is not taken."""
        copies = {scope.lower() for scope in self.copies}  # modules are in no graph
        return free_name(
            base,
            edits.clone.taken_names(self.index, base)
            | self.target.place.names_after_failures()
            | copies,
        )

    @property
    def copies(self) -> Copies:
        """The results of the steps that are done, by name scope."""
        return Copies((copy.scope, copy) for step in self.history.done for copy in step.results)

    def patches(self) -> tuple[edits.Patch, ...]:
        """The patches of the current graph and of functions that it calls; oldest first."""
        return self.patches_of(self.view)

    def patches_of(self, view: GraphView) -> tuple[edits.Patch, ...]:
        """The patches of a graph, oldest first."""
        return self.changes_of(view.target)

    def changes_of(self, target: object) -> tuple[edits.Patch, ...]:
        """What the edits that are done have changed in a graph, oldest first."""
        changes = (change_of(target, step.patch, step.place) for step in self.history.done)
        return tuple(patch for patch in changes if patch is not None)

    def new_names(self) -> dict[str, str]:
        """The names of the ops of the current graph that edits have renamed, by those before."""
        return self.new_names_of(self.view)

    def new_names_of(self, view: GraphView) -> dict[str, str]:
        """The names of the ops of a graph that edits have renamed, by those before."""
        saved = self.source.saved_editor  # whose edits cannot always be made again
        former_names = (
            saved.renamed if saved is not None and view is self.navigator.outermost else {}
        )
        if view is self.navigator.outermost and self.source.graph is not None:
            names = self.target.place.new_names  # by other editors of the graph, too
            return {**names, **{old: names.get(now, now) for old, now in former_names.items()}}
        return edits.rewire.new_names(self.patches_of(view), former_names)

    def unused_ops(self) -> tuple[str, ...]:
        """The ops that edits have left without consumers, with those that only they need."""
        view = self.view
        index, inputs_and_outputs, patches = view.index, view.boundary, self.patches()
        if not patches:
            return ()
        # Found once for each state of the graph: every selection paints it again.
        if (
            self._unused is None
            or self._unused[0] is not index
            or self._unused[1] != inputs_and_outputs
        ):
            named = (*self.external_tensors(), *inputs_and_outputs[0], *inputs_and_outputs[1])
            ops = edits.rewrite.find_unused_ops(index, patches, named, self.new_names())
            self._unused = index, inputs_and_outputs, tuple(index.names[op] for op in ops)
        return self._unused[2]

    @property
    def signatures(self) -> tuple[Signature, ...]:
        """The signatures of the graph after the edits, without those whose tensors were removed."""
        patches = self.changes_of(self.target)
        if not (self.source.signatures or any(patch.signature_edits for patch in patches)):
            return ()
        ids = self.target.index.ids
        return tuple(
            signature
            for signature in edits.track_signatures(self.source.signatures, patches)
            if all(
                split_tensor(tensor)[0] in ids
                for _, tensor in (*signature.inputs, *signature.outputs)
            )
        )

    @property
    def lost_signatures(self) -> tuple[str, ...]:
        """The names of signatures that lost tensors because ops were removed."""
        signatures = self.source.signatures
        for step in self.history.done:
            for edit in step.patch.signature_edits:
                signatures = edit.on(signatures)
        names = {signature.name for signature in self.signatures}
        return tuple(signature.name for signature in signatures if signature.name not in names)

    @property
    def missing_tensors(self) -> dict[str, tuple[str, ...]]:
        """The tensors that the file's graph lacks, by the signatures that name them."""
        done = [edit for step in self.history.done for edit in step.patch.signature_edits]
        removed = {edit.name for edit in done if isinstance(edit, edits.SignatureRemoval)}
        return {
            name: tensors
            for name, tensors in self.source.missing_tensors.items()
            if name not in removed
        }

    def edited_module(self, name: str) -> ModuleCopy:
        """The current function as edited, as a tf.Module; see `AnalysisAPI.to_module`."""
        default = self.source.signature
        signature = next(
            (s for s in self.signatures if default is not None and s.name == default.name), None
        )
        # With the keys that edits have renamed.
        source = dataclasses.replace(self.source, signature=signature)
        self._check_traceable()
        return function_bodies.edited_module(
            source, self.state(), self.view, self.inputs_and_outputs, name
        )

    def signature_modules(self) -> dict[str, ModuleCopy]:
        """The current function as a tf.Module for each signature that edits gave it."""
        signatures = self.signatures if len(self.navigator.path) == 1 else ()
        return {each.name: self.part_module(each) for each in signatures}

    def part_module(self, part: Signature) -> ModuleCopy:
        """The current function between a signature's inputs and outputs, as a tf.Module."""
        self._check_traceable()
        return function_bodies.signature_module(self.state(), self.index, part, part.name)

    def _check_traceable(self) -> None:
        """Raise NotTrusted if TensorFlow may run an op of the current function to trace it."""
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
        return {
            name: live
            for patch in self.changes_of(self.target)
            for name, live in patch.new_state.items()
        }

    def external_tensors(self) -> tuple[str, ...]:
        """The tensors that callers name: those of signatures, arguments and results."""
        if self.boundary is not None:
            arguments, returns = self.boundary
            return tuple(dict.fromkeys((*arguments, *returns.values())))
        boundaries = [(*signature.inputs, *signature.outputs) for signature in self.signatures]
        return tuple(dict.fromkeys(name for pairs in boundaries for _, name in pairs))

    def plan_context(self) -> runtime.SourceContext:
        """The current graph, for planning."""
        return runtime.SourceContext(self)

    def value_readers(self) -> Mapping[str, Callable[[], object]]:
        """Readers of the values of a file's variables, unless TensorFlow has imported it."""
        readers = self.target.place.value_readers(self.patches_of(self.navigator.outermost))
        if self.view.target is self.target:
            return readers
        origins = (self.view.body.origins or {}).items()
        return {name: readers[origin] for name, origin in origins if origin in readers}

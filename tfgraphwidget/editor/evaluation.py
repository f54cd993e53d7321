"""Evaluation: graphs run on feeds, to compare, to probe and to measure them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from tfgraphwidget import edits, runtime, sources
from tfgraphwidget.editor import function_bodies
from tfgraphwidget.editor.navigator import Navigator, opened_navigator
from tfgraphwidget.errors import GraphEditError, SessionRefused
from tfgraphwidget.graph import (
    HANDLE_DTYPES,
    Assets,
    Difference,
    FunctionRef,
    GraphIndex,
    build,
    control_flow_ops,
    difference,
    effects_of,
    forward,
    key_of,
    mask_of,
    needed_ops,
    side_effects,
    signature_changes,
    waiting_tensors,
    writes,
)
from tfgraphwidget.hierarchy import find_op_facts
from tfgraphwidget.naming import names_text, split_tensor
from tfgraphwidget.runtime import session as sessions
from tfgraphwidget.sentences import editor_call, in_cell
from tfgraphwidget.tf_types import RunMetadata, TensorKey, TensorsLike

if TYPE_CHECKING:
    from tfgraphwidget.editor.arguments import ArgumentResolver
    from tfgraphwidget.editor.executor import EditExecutor
    from tfgraphwidget.edits import History, Patch
    from tfgraphwidget.graph import BodyState, VariableDef
    from tfgraphwidget.runtime.measure import Comparison, Cost, Measurement
    from tfgraphwidget.sources import Body, Source

VariableKey = tuple[str, bytes, str]
"""Kind, container and key of the state of a variable."""
Values = Mapping[VariableKey, object]
Feeds = Mapping[str, object]
Fetch = tuple[Sequence[str], Feeds]
"""Names of outputs, and feeds."""
Renames = Iterable[tuple[str, str]]


@dataclass(frozen=True)
class GraphRun:
    """A graph that can be run: `index` is it, and `body` of `source` is where its state is.

    `patches` are the edits that made it; `readers` gives what reads the values of a file's
    variables, by handle op.
    """

    source: sources.Source
    body: sources.Body
    index: GraphIndex
    patches: tuple[edits.Patch, ...] = ()
    readers: Callable[[], Mapping[str, Callable[[], object]]] = dict

    @property
    def is_body(self) -> bool:
        """Whether it is a function's."""
        return self.body is not self.source.body or bool(self.source.refusal)

    def outputs(self, patches: Iterable[Patch]) -> dict[str, str]:
        """The outputs of the function or signature: {tensor after some edits: tensor before}.

        A result that the edits have removed is none.

        Args:
            patches: The changes of the edits, oldest first.
        """
        signature = self.source.signature
        outputs = (
            self.body.returns
            if self.is_body
            else {}
            if signature is None
            else dict(signature.outputs)
        )
        now = edits.track_boundary((), outputs, patches)[1]
        remaining = {
            key: tensor for key, tensor in now.items() if split_tensor(tensor)[0] in self.index.ids
        }
        return {remaining[key]: name for key, name in outputs.items() if key in remaining}

    @cached_property
    def state(self) -> BodyState:
        """The state that a function's body reads: captured variables and tables."""
        return function_bodies.edited_state(self.source, self.body, self.index, self.patches)

    def check_fed(self, tensors: Sequence[str], feeds: Feeds) -> None:
        """Raise when the tensors need a placeholder that has no value."""
        runtime.measure.probe.check_feeds(
            self.index, tensors, feeds, self.state.names if self.is_body else ()
        )

    def placeholders(self, tensors: Sequence[str]) -> tuple[str, ...]:
        """The placeholders that tensors need values of. Raises GraphEditError for a handle."""
        return runtime.measure.probe.needed_placeholders(
            self.index, tensors, (), self.state.names if self.is_body else ()
        )

    def without_handles(self, tensors: Sequence[str], feeds: Feeds) -> tuple[str, ...]:
        """The tensors that can be fetched: no handles, and none that depends on one being fed."""
        return runtime.measure.probe.without_handles(
            self.index, tensors, feeds, self.state.names if self.is_body else ()
        )

    def values(
        self, outputs: Sequence[str], feeds: Feeds, known_values: Values
    ) -> dict[VariableKey, object]:
        """The values of the variables that the outputs need, by state.

        Args:
            known_values: Values by state. They are not read again.

        Returns:
            The values by kind, container and key of the state, those of `known_values` included. A
            function's body has none.

        Raises:
            SessionRefused: A variable has no value, or the session cannot run.
        """
        if self.is_body:
            return {}
        variables = {
            self._key(v): v
            for v in runtime.sandbox.evaluation.variables_for(self.index, outputs, feeds)
        }
        unknown = {key: v for key, v in variables.items() if key not in known_values}
        read = self._read(unknown.values()) if unknown else {}
        return {**known_values, **{key: read[v.handle] for key, v in unknown.items()}}

    def _read(self, variables: Collection[VariableDef]) -> Mapping[str, object]:
        readers = self.readers()
        if all(variable.handle in readers for variable in variables):
            return {variable.handle: readers[variable.handle]() for variable in variables}
        graph, session = self.source.graph, self.source.session
        if graph is not None and session is not None:
            sessions.check_session(session, graph)
        try:
            return sessions.read_variables(self.source, self.source.body, variables)
        except sessions.MissingValues as error:  # it proposes what a clone could do
            missing = error.missing
            raise sessions.MissingValues(
                missing, f"{missing}; run {missing.initializers} first."
            ) from None

    def run(
        self, outputs: Sequence[str], feeds: Feeds, values: Values
    ) -> list[runtime.sandbox.evaluation.Array]:
        """The outputs, run aside; a function's body has the values of its variables itself.

        Args:
            values: Values of variables by state, as `values` returns them. A function's body
                ignores them.

        Returns:
            The values, in the order of `outputs`.

        Raises:
            GraphEditError: A part of a function's body cannot be copied.
            SessionRefused: The graph cannot run.
        """
        if self.is_body:
            return runtime.sandbox.evaluation.run_body(
                self.index, self.state, outputs, feeds, self.source.trust
            )
        mine = {
            v.handle: values[self._key(v)]
            for v in runtime.sandbox.evaluation.variables_for(self.index, outputs, feeds)
        }
        return runtime.sandbox.evaluation.run_graph(
            self.index, outputs, feeds, mine, self.source.trust
        )

    def _key(self, variable: VariableDef) -> tuple[str, bytes, str]:
        return key_of(self.index, self.index.ids[variable.handle])


class Evaluator:
    """Runs the current graph on feeds, and keeps what was found until the next edit.

    `difference` is the Difference that the drawing shows, or None.
    """

    def __init__(self, executor: EditExecutor, arguments: ArgumentResolver) -> None:
        self._executor, self._arguments = executor, arguments
        self.difference: Difference | None = None
        self._probed: tuple[tuple[str, ...], History, runtime.measure.probe.Probe] | None = None
        self._measured: tuple[tuple[str, ...], History, Measurement] | None = None

    @property
    def _state(self) -> tuple[tuple[str, ...], History]:
        """The current graph and its history, in which a result is valid."""
        return self._executor.navigator.path, self._executor.history

    def _is_valid(self, result: tuple[tuple[str, ...], History, object]) -> bool:
        path, history = self._state
        return result[0] == path and result[1] is history

    # Graphs to run

    def current_run(self) -> GraphRun:
        """The current graph."""
        executor = self._executor
        return GraphRun(
            executor.source,
            executor.view.body,
            executor.index,
            executor.patches(),
            executor.value_readers,
        )

    def _other_run(self, other: Any) -> GraphRun:
        """Another graph: the current one of another editor, an index, or what `tgw.edit` opens."""
        if isinstance(other, GraphIndex):
            return GraphRun(self._executor.source, self._executor.view.body, other)
        other_navigator = navigator_of(other)
        if other_navigator is not None:
            run: GraphRun = other._core.evaluator.current_run()
            return run
        source = self._opened_alike(other)
        navigator = opened_navigator(source)
        if len(self._executor.navigator.path) == 1:
            navigator.leave(0)
        return GraphRun(source, navigator.here.body, navigator.here.index)

    def _opened_alike(self, other: object) -> Source:
        """Open a source as `tgw.edit` does, with the signature that was chosen here if the file has
        it.
        """
        signature = self._executor.source.signature
        if signature is not None and isinstance(other, str | PathLike):
            with contextlib.suppress(GraphEditError):
                return sources.open_source(other, signature=signature.name)
        return sources.open_source(other)

    # Differences

    def diff(self, before: Any) -> Difference:
        """Compare the current graph with `before`; see `AnalysisAPI.diff`."""
        executor = self._executor
        index = executor.index
        if before is not None:
            other = self._other_run(before)
            navigator = navigator_of(before)
            path = (other.source.title,) if navigator is None else navigator.path
            between = (
                f"{' / '.join(path)} (given)",
                f"{' / '.join(executor.navigator.path)} (this editor)",
            )
            bodies = partial(_open_body, other.body), partial(_open_body, executor.view.body)
            is_whole = len(path) == len(executor.navigator.path) == 1
            assets = _assets_of_both(other.source, executor.source)
            changes = difference(
                other.index, index, None, bodies, whole_library=is_whole, assets=assets
            )
            signatures = (
                other.source.signatures if navigator is None else before._core.executor.signatures
            )
            sides = (other.source, signatures), (executor.source, executor.signatures)
            if all(
                of or (source.stored is not None and source.stored.meta is not None)
                for source, of in sides
            ):
                new_names = dict(changes.renamed) if is_whole else None
                changes = replace(
                    changes,
                    signatures=signature_changes(signatures, executor.signatures, new_names),
                )
            function = "" if is_whole else " / ".join(executor.navigator.path[1:])
            return replace(changes, between=between, function=function)
        patches = executor.patches()
        renamed = {new for patch in patches for _, new in patch.renamed if new in index.ids}
        originals = {
            original_name(name, (patch.renamed for patch in patches)): name for name in renamed
        }
        bodies = partial(_open_body, executor.view.body), partial(_open_body, executor.view.body)
        is_whole = len(executor.navigator.path) == 1
        changes = difference(
            executor.view.target.first, index, originals, bodies, whole_library=is_whole
        )
        new_names = dict(changes.renamed) if is_whole else None
        signatures = signature_changes(executor.source.signatures, executor.signatures, new_names)
        return replace(changes, signatures=signatures, between=("as it was opened", "as it is now"))

    def compare(
        self, feeds: Mapping[TensorKey, object] | None, outputs: TensorsLike | None, other: object
    ) -> Comparison:
        """Run the graph before and after edits on the same feeds; see `AnalysisAPI.compare`.

        Args:
            feeds: {tensor: value}, or None.
            outputs: The tensors to compare; None for the marked ones, those of the signature or
                function, or those that the feeds lead to, whichever there are first.
            other: The model to compare with; None for the graph as it was opened.

        Returns:
            How far each output is from that of the other graph.

        Raises:
            GraphEditError: Only one of the graphs has an output.
            SessionRefused: One of the graphs cannot run.
        """
        executor, arguments = self._executor, self._arguments
        now, patches = self.current_run(), executor.patches() if other is None else ()
        first = executor.view.target.first
        before = GraphRun(now.source, now.body, first) if other is None else self._other_run(other)
        fed = arguments.feeds(feeds)
        originals = {
            name: original_name(name, (patch.input_renames for patch in patches)) for name in fed
        }
        compared = now.outputs(executor.patches())
        boundary_outputs = executor.view.boundary[1]
        if outputs is not None or boundary_outputs or not compared:
            tensors = arguments.readable(
                arguments.fetches(boundary_outputs if outputs is None else outputs)
            )
            if outputs is not None and not tensors:
                raise GraphEditError(
                    "compare: the outputs that are named are none; name some, or leave them out "
                    "for those of the graph."
                )
            names = tensors or default_outputs(now.index, fed)
            compared = {
                name: original_name(name, (patch.renamed for patch in patches)) for name in names
            }
        return _compare_runs(
            (before, now), {**originals, **compared}, tuple(compared), fed, must=outputs is not None
        )

    # Values

    def probe(
        self, tensors: TensorsLike, feeds: Mapping[TensorKey, object] | None
    ) -> runtime.measure.probe.Probe:
        """Run `tensors` on `feeds`, and keep their values; see `AnalysisAPI.probe`."""
        executor = self._executor
        fed = self._arguments.feeds(feeds)
        fetches = self._arguments.fetches(tensors)
        with executor.transaction():
            run = None
            if executor.boundary is None:
                index = executor.index
                waiting = waiting_tensors(index, needed_ops(index, fed, fetches), fed, fetches)
                run = runtime.measure.probe.session_runner(
                    executor.target.graph(), executor.source.session, fed, waiting=waiting
                )
            result = _run_probe(self.current_run(), fetches, fed, run)
            self._probed = (*self._state, result)
            executor.listeners.notify()
        return result

    @property
    def probed(self) -> dict[str, tuple[runtime.measure.probe.Stats, ...]]:
        """The results of the last probe of the current graph, by op; empty after an edit."""
        return (
            self._probed[2].by_op
            if self._probed is not None and self._is_valid(self._probed)
            else {}
        )

    def placeholders(self, tensors: TensorsLike | None = None) -> tuple[str, ...]:
        """The placeholders to feed for tensors; None for those that `measure` would compute."""
        fetches = (
            self._measurable(None, {}) if tensors is None else self._arguments.fetches(tensors)
        )
        return self.current_run().placeholders(fetches)

    @property
    def probe_shown(self) -> runtime.measure.probe.Probe | None:
        """The result of the last probe of the current graph; None after an edit."""
        return (
            self._probed[2] if self._probed is not None and self._is_valid(self._probed) else None
        )

    def forget_probe(self) -> None:
        """Drop what was probed."""
        self._probed = None
        self._executor.listeners.notify()

    # Costs

    def measure(
        self,
        fetches: TensorsLike | None,
        feeds: Mapping[TensorKey, object] | None,
        runs: int,
        metadata: RunMetadata | str | PathLike[str] | None,
    ) -> Measurement:
        """Measure each op, and keep the result until the next edit; see `AnalysisAPI.measure`.

        Args:
            fetches: The tensors to compute; None for the marked ones, the selected ones, those of
                the signature, or those without consumers, whichever there are first.
            feeds: {tensor: value}, or None.
            metadata: A RunMetadata, or a folder that tf.profiler wrote, in place of a run; else
                None.

        Returns:
            The cost of each op.

        Raises:
            GraphEditError: A tensor cannot be measured.
            SessionRefused: The graph cannot run.
        """
        executor = self._executor
        with executor.transaction():
            if metadata is not None:
                result = runtime.measure.profile.read_profile(metadata, executor.index)
            else:
                fed = self._arguments.feeds(feeds)
                result = self._run_traced(self._measurable(fetches, fed), fed, runs)
            self._measured = (*self._state, result)
            executor.listeners.notify()
        return result

    @property
    def measured(self) -> Measurement | None:
        """The last measurement of the current graph; None after an edit."""
        return (
            self._measured[2]
            if self._measured is not None and self._is_valid(self._measured)
            else None
        )

    @property
    def costs(self) -> Mapping[str, Cost]:
        """The measured costs by op."""
        return self.measured or {}

    def _run_traced(
        self, fetches: tuple[str, ...], feeds: Mapping[str, object], runs: int
    ) -> Measurement:
        now = self.current_run()
        runtime.measure.probe.check_fetchable(now.index, fetches)
        now.check_fed(fetches, feeds)
        now.source.trust.check(effects_of(now.index, now.source.trust).of_run(fetches, feeds))
        if now.is_body:
            return runtime.measure.measure_function(now.index, now.state, fetches, feeds, runs)
        run = runtime.measure.profile.tracing_runner(
            self._executor.target.graph(), self._executor.source.session, feeds
        )
        return runtime.measure.profile.measure_ops(now.index, fetches, feeds, run, runs)

    def _measurable(
        self, fetches: TensorsLike | None, feeds: Mapping[str, object]
    ) -> tuple[str, ...]:
        """The tensors to compute: those given, selected, of the signature, or those without
        consumers.
        """
        view = self._executor.view
        if fetches is None:
            fetches = view.boundary[1] or (view.selection.outputs if view.selection else ())
        tensors = self._arguments.readable(self._arguments.fetches(fetches))
        if not tensors:
            now = self.current_run()
            outputs = tuple(now.outputs(self._executor.patches()))
            tensors = now.without_handles(
                outputs or _before_updates(view.index, default_outputs(view.index, feeds)), feeds
            )
        if not tensors:
            raise GraphEditError(
                "These give no tensors that could be fetched; name some: "
                + editor_call("measure", "['loss:0']")
                + "."
            )
        return tensors


def navigator_of(model: object) -> Navigator | None:
    """The navigator of an editor; None for what is not an editor.

    Args:
        model: An editor, or any other object.
    """
    navigator = getattr(getattr(model, "_core", None), "navigator", None)
    return navigator if isinstance(navigator, Navigator) else None


def _assets_of_both(before: Source, after: Source) -> tuple[Assets, Assets] | None:
    """The asset files of two SavedModels; None where one source is something else, or both are
    one.
    """
    if before is after or before.stored is None or after.stored is None:
        return None
    assets = before.stored.assets(), after.stored.assets()
    return None if assets[0] is None or assets[1] is None else (assets[0], assets[1])


def _open_body(body: Body, index: GraphIndex, op: int, reference: FunctionRef) -> GraphIndex:
    """The body of a function that an op of `index` calls; `body` is what the graph was read
    from.
    """
    node_body = sources.open_function(reference.function, body, index, op)
    return build(
        node_body.nodes(),
        *node_body.collections(),
        typing=node_body.typing,
        functions=node_body.functions(),
        extras=node_body,
    )


def original_name(name: str, renames: Iterable[Renames]) -> str:
    """The name of a tensor or an op before some edits.

    Args:
        name: The name of an op or a tensor as it is now.
        renames: The (old, new) names of each edit, oldest first.
    """
    for names in reversed(list(renames)):
        name = edits.follow(name, {new: old for old, new in names if new})
    return name


def default_outputs(index: GraphIndex, feeds: Feeds) -> list[str]:
    """The outputs without consumers that depend on the feeds, else all outputs without."""
    fed = [index.op(name) for name in feeds]
    last = forward(index, fed) if fed else np.ones(len(index), bool)
    last &= (np.diff(index.consumers.start) == 0) & ~mask_of(
        index, [*fed, *control_flow_ops(index)]
    )
    last &= ~mask_of(index, side_effects(index, np.flatnonzero(last).tolist()))
    names = ((index.names[i], index.dtypes(i)) for i in np.flatnonzero(last).tolist())
    outputs = [
        f"{op}:{k}"
        for op, dtypes in names
        for k, dtype in enumerate(dtypes)
        if dtype and dtype not in HANDLE_DTYPES
    ]
    if not outputs:
        raise GraphEditError(
            "Nothing here is computed from the feeds and read by no op; "
            + in_cell("name outputs=[…] to compare.")
        )
    return outputs


def _before_updates(index: GraphIndex, outputs: Sequence[str]) -> list[str]:
    """The outputs of a graph that no update of a variable comes before, and the gradients that an
    optimizer applies.

    If there are none of them, all the outputs.
    """
    updates = np.flatnonzero(writes(index, range(len(index)))).tolist()
    after = forward(index, updates)
    inputs = (
        (source, int(index.ports[index.inputs.start[update] + slot]))
        for update in updates
        if "Apply" in index.types[update]
        for slot, source in enumerate(index.input_lists[update])
    )
    depends_on_input = find_op_facts(index).depends_on_input
    gradients = [
        f"{index.names[source]}:{port}"
        for source, port in inputs
        if depends_on_input[source]
        and not after[source]
        and {*index.dtypes(source)[port : port + 1]} - HANDLE_DTYPES
    ]
    return [name for name in outputs if not after[index.op(name)]] + gradients or [*outputs]


def _compare_runs(
    runs: tuple[GraphRun, GraphRun],
    names: Mapping[str, str],
    outputs: Sequence[str],
    feeds: Feeds,
    *,
    must: bool,
) -> Comparison:
    """How far the outputs of two graphs are apart; `names` are of tensors now -> before.

    With `must`, an output that the graph before lacks is refused, else it is listed as missing.
    """
    before, now = runs
    there = _names(
        before.index, now.index, {name: names.get(name, name) for name in (*outputs, *feeds)}
    )
    missing = tuple(name for name in outputs if name not in there)
    if missing and (must or len(missing) == len(outputs)):
        raise GraphEditError(
            f"{names_text(missing)} {'is' if len(missing) == 1 else 'are'} not in the graph to "
            "compare with; "
            "name outputs that both have: " + editor_call("compare", "feeds, outputs=[…]") + ".",
            [split_tensor(name)[0] for name in missing],
        )
    tensors = [name for name in outputs if name in there]
    theirs = (
        [there[name] for name in tensors],
        {there[name]: value for name, value in feeds.items() if name in there},
    )
    now.check_fed(tensors, feeds)
    before.check_fed(*theirs)
    values = _values(before, now, theirs, (tensors, feeds))
    ran = runtime.measure.compare_outputs(
        tensors,
        partial(before.run, *theirs, values[0]),
        partial(now.run, tensors, feeds, values[1]),
    )
    return replace(ran, missing=missing)


def _values(before: GraphRun, now: GraphRun, theirs: Fetch, ours: Fetch) -> tuple[Values, Values]:
    """The values of both graphs' variables; what another graph has none for is taken from this
    one.
    """
    if before.source is now.source:
        shared = before.values(*theirs, {})
        return shared, now.values(*ours, shared)
    own = now.values(*ours, {})
    try:
        return before.values(*theirs, {}), own
    except SessionRefused:
        return before.values(*theirs, own), own


def _names(before: GraphIndex, now: GraphIndex, names: Mapping[str, str]) -> dict[str, str]:
    """{tensor now: tensor before} where there is one; ops are matched by name, else by the ops
    around them.
    """
    missing = [name for name, old in names.items() if split_tensor(old)[0] not in before.ids]
    alike: dict[str, str] = {}
    if missing and before is not now:
        alike = {new: old for old, new in difference(before, now).renamed}
    pairs = {}
    for name, old in names.items():
        op, port = split_tensor(old)
        before_op = op if op in before.ids else alike.get(split_tensor(name)[0])
        if before_op is not None and (port or 0) < len(before.dtypes(before.ids[before_op])):
            pairs[name] = f"{before_op}:{port or 0}"
    return pairs


def _run_probe(
    now: GraphRun, tensors: Sequence[str], feeds: Feeds, run: runtime.measure.probe.Run | None
) -> runtime.measure.probe.Probe:
    """Describe the values of tensors; without `run`, and where one is in a loop, they are computed
    aside.
    """
    now.check_fed(tensors, feeds)
    rounds = runtime.measure.keep_last_rounds(now.index, tensors)
    if rounds is not None:
        aside = replace(now, index=rounds.index)
        values = aside.values(rounds.fetches, feeds, {})
        return runtime.measure.probe.probe_last_rounds(
            rounds, lambda names: aside.run(names, feeds, values)
        )
    return runtime.measure.probe.probe(
        now.index, tensors, run or (lambda names: now.run(names, feeds, {}))
    )

"""Evaluation: graphs run on feeds, to compare, to probe and to measure them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tfgraphwidget import edits, runtime, sources
from tfgraphwidget.editor.graph_run import Feeds, Fetch, GraphRun, Renames, Values
from tfgraphwidget.editor.navigator import Navigator, opened_navigator
from tfgraphwidget.editor.partners import call_around
from tfgraphwidget.errors import GraphEditError, SessionRefused
from tfgraphwidget.graph import (
    DIFFERS,
    HANDLE_DTYPES,
    REQUIRED_PLACEHOLDERS,
    Assets,
    CalledBody,
    Difference,
    FunctionRef,
    GraphIndex,
    InlinedGraph,
    MatchedGraphs,
    are_compatible,
    control_flow_ops,
    difference,
    effects_of,
    forward,
    is_converted,
    mask_of,
    match_graphs,
    needed_ops,
    shape_text,
    side_effects,
    signature_changes,
    waiting_tensors,
    writes,
)
from tfgraphwidget.hierarchy import find_op_facts
from tfgraphwidget.naming import names_text, split_tensor
from tfgraphwidget.sentences import editor_call, in_cell
from tfgraphwidget.tf_types import RunMetadata, TensorKey, TensorsLike

if TYPE_CHECKING:
    from tfgraphwidget.editor.arguments import ArgumentResolver
    from tfgraphwidget.editor.executor import EditExecutor
    from tfgraphwidget.edits import History
    from tfgraphwidget.runtime.measure import Comparison, Cost, Measurement
    from tfgraphwidget.sources import Body, Source

_ALL, WEIGHTS = "all", "weights"
"""What `compare` takes for all tensors, and for variables and constants only."""


class Evaluator:
    """Runs the current graph on feeds, and keeps what was found until the next edit.

    `difference` is the Difference that the drawing shows, or None; `difference_to` one that leads
    from this graph to another, beside which it is drawn. What is entered afterwards shows what
    differs inside.
    """

    def __init__(self, executor: EditExecutor, arguments: ArgumentResolver) -> None:
        self._executor, self._arguments = executor, arguments
        self._difference: Difference | None = None
        self._difference_to: Difference | None = None
        self._difference_path: tuple[str, ...] = ()  # to the graph that it is of
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
        """Open a source as `tgw.edit` does, with the signature chosen here if the file has it."""
        signature = self._executor.source.signature
        if signature is not None and isinstance(other, str | PathLike):
            with contextlib.suppress(GraphEditError):
                return sources.open_source(other, signature=signature.name)
        return sources.open_source(other)

    # Differences

    @property
    def difference(self) -> Difference | None:
        """The Difference that leads to the current graph, as the drawing shows it."""
        return self._difference

    @difference.setter
    def difference(self, difference: Difference | None) -> None:
        self._difference, self._difference_path = difference, self._executor.navigator.path

    @property
    def difference_to(self) -> Difference | None:
        """The Difference that leads from the current graph to the one beside it."""
        return self._difference_to

    @difference_to.setter
    def difference_to(self, difference: Difference | None) -> None:
        self._difference_to, self._difference_path = difference, self._executor.navigator.path

    def marks(self) -> Mapping[str, int] | None:
        """How each op of the current graph differs that does, by its name, as `DIFFERS` numbers it;
        None if that is not shown.
        """
        is_after = self._difference is not None
        difference = self._difference if is_after else self._difference_to
        if difference is None:
            return None
        path = self._executor.navigator.path
        start = self._difference_path
        index = self._executor.index
        if path == start:
            return _at_calls(difference.rest.marks(len(index), is_after=is_after), index)
        inside = path[len(start) :] if path[: len(start)] == start else ()
        within = next((each for names, each in difference.inside if names == inside), None)
        if within is not None:
            return _at_calls(within.rest.marks(len(index), is_after=is_after), index)
        # The function was compared in place of its call: its ops have names in the graph around it.
        prefix = "".join(f"{call.partition(':')[0]}/" for call in inside)
        marks = difference.rest.marks(len(index), is_after=is_after).items() if inside else ()
        return _at_calls(
            {name[len(prefix) :]: kind for name, kind in marks if name.startswith(prefix)}, index
        )

    def diff(self, before: Any, pairs: Mapping[TensorKey, object] | None = None) -> Difference:
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
            now = self.current_run()
            changes = difference(
                *_bodies_of_graphs(other, now),
                *(self._ops_by_hand(other.index, pairs or {}), bodies),
                whole_library=is_whole,
                assets=assets,
                outputs=_outputs_of_both(other.source, executor.source),
                readers=(other.weight, now.weight),
            )
            signatures = (
                other.source.signatures if navigator is None else before._core.executor.signatures
            )
            sides = (other.source, signatures), (executor.source, executor.signatures)
            if all(of or _can_have_signatures(source) for source, of in sides):
                # A converter gives the same results other names.
                is_one_kind = is_converted(other.index) == is_converted(index)
                new_names = dict(changes.renamed) if is_whole and is_one_kind else None
                changes = replace(
                    changes,
                    signatures=signature_changes(signatures, executor.signatures, new_names),
                )
            function = "" if is_whole else " / ".join(executor.navigator.path[1:])
            return replace(changes, between=between, function=function)
        if pairs:
            raise GraphEditError(
                "diff: pairs are of two models; "
                + in_cell("name the other, diff(before, pairs=…).")
            )
        patches = executor.patches()
        renamed = {new for patch in patches for _, new in patch.renamed if new in index.ids}
        originals = {
            original_name(name, (patch.renamed for patch in patches)): name for name in renamed
        }
        bodies = partial(_open_body, executor.view.body), partial(_open_body, executor.view.body)
        is_whole = len(executor.navigator.path) == 1
        changes = difference(
            executor.view.target.first,
            index,
            originals,
            bodies,
            whole_library=is_whole,
        )
        new_names = dict(changes.renamed) if is_whole else None
        signatures = signature_changes(executor.source.signatures, executor.signatures, new_names)
        return replace(
            changes,
            signatures=signatures,
            # The user has made these edits, and each of them counts.
            explained=(),
            between=("as it was opened", "as it is now"),
        )

    def compare(
        self,
        feeds: Mapping[TensorKey, object] | None,
        other: object = None,
        tensors: TensorsLike | None = None,
        *,
        tolerance: object = None,
        pairs: Mapping[TensorKey, object] | None = None,
    ) -> Comparison:
        """Run the graph and another one on the same feeds; see `AnalysisAPI.compare`.

        Raises:
            GraphEditError: Only one of the graphs has an output, or takes a feed.
            SessionRefused: One of the graphs cannot run.
        """
        executor = self._executor
        self._check_is_model(other)
        limit = runtime.measure.Tolerance.of(tolerance)
        mode = tensors if isinstance(tensors, str) and tensors in (_ALL, WEIGHTS) else ""
        now, patches = self.current_run(), executor.patches() if other is None else ()
        first = executor.view.target.first
        before = GraphRun(now.source, now.body, first) if other is None else self._other_run(other)
        matching = _Matching((before, now), patches, of_all=bool(mode))
        before, now = matching.runs
        matching.by_hand = self._pairs_by_hand(before.index, pairs or {})
        ours, theirs = self._feeds_of_both(feeds, matching)
        for run, fed in ((before, theirs), (now, ours)):
            _check_shapes(run, fed)
        compared = self._compared_tensors(
            None if mode else tensors, now, ours, matching, strict=not mode
        )
        if mode:
            # What draws a graph loads nothing that compares.
            from tfgraphwidget.editor import comparing, diverging_calls
            from tfgraphwidget.editor.compared_sides import Side

            results = list(before.outputs(()))
            if len(results) == len(compared):
                matching.every = comparing.with_results(matching.every, results, list(compared))
            if not matching.every:
                raise GraphEditError(
                    "The two graphs have no tensor in common; "
                    + in_cell("pair some by hand: pairs={'x:0': 'input:0'}.")
                )
            outputs = tuple(name for name in compared if name in matching.every)
            there = Side(before, theirs, tuple(matching.every[name] for name in outputs))
            here = Side(now, ours, tuple(compared))
            if mode == WEIGHTS:
                weights = comparing.Comparer(there, here, matching.every, limit, ()).of_weights()
                return replace(weights, what="weight")
            return diverging_calls.compare_all(there, here, matching.every, limit)
        if tensors is None and other is not None:
            matching.add(_results_by_place(before, now.index, compared))
        return _compare_runs(
            (before, now), compared, (theirs, ours), matching, limit, must=tensors is not None
        )

    def _check_is_model(self, other: object) -> None:
        """Raise for tensors where the other model belongs: they came second once."""
        index = self._executor.index
        names = [other] if isinstance(other, str) else other
        if not isinstance(names, list | tuple | set | frozenset) or not names:
            return
        if all(isinstance(n, str) and split_tensor(n)[0] in index.ids for n in names) and not (
            isinstance(other, str) and Path(other).exists()
        ):
            are = "is a tensor" if len(names) == 1 else "are tensors"
            raise GraphEditError(
                f"compare: {names_text([*names])} {are} of this graph, and the second argument is "
                "the other model; " + in_cell("name tensors by tensors=[…].")
            )

    def _pairs_by_hand(
        self, before: GraphIndex, pairs: Mapping[TensorKey, object]
    ) -> dict[str, str]:
        """{tensor: tensor of the other graph} as a caller gives it, by full names."""
        by_hand = {}
        for here, there in pairs.items():
            name = str(there if isinstance(there, str) else getattr(there, "name", there))
            op = before.names[before.op(name)]
            (tensor, *_) = self._arguments.fetches(here) or (self._arguments.name(here),)
            by_hand[tensor] = f"{op}:{(split_tensor(name)[1] or 0) if name != op else 0}"
        return by_hand

    def _ops_by_hand(self, before: GraphIndex, pairs: Mapping[TensorKey, object]) -> dict[str, str]:
        """{op of the other graph: op here} as a caller gives ops or tensors."""
        by_hand = self._pairs_by_hand(before, pairs)
        return {split_tensor(there)[0]: split_tensor(here)[0] for here, there in by_hand.items()}

    def _feeds_of_both(
        self, feeds: Mapping[TensorKey, object] | None, matching: _Matching
    ) -> tuple[dict[str, object], dict[str, object]]:
        """The feeds of this graph and of the other one, each by its own names; raises
        GraphEditError for a feed that one of the graphs alone knows.
        """
        ours, theirs = self._feeds_by_graph(feeds or {}, matching.before)
        there = _partners_of_feeds(matching.now, ours, matching.before, theirs, matching.there)
        here = _partners_of_feeds(matching.before, theirs, matching.now, ours, matching.here)
        by_hand = {**there, **{name: other for other, name in here.items()}}
        matching.add(by_hand)
        return (
            {**{name: theirs[other] for other, name in here.items()}, **ours},
            {**{other: ours[name] for name, other in there.items()}, **theirs},
        )

    def _feeds_by_graph(
        self, feeds: Mapping[TensorKey, object], before: GraphIndex
    ) -> tuple[dict[str, object], dict[str, object]]:
        """The feeds that this graph has, by name, and those that only the other one has."""
        ours: dict[str, object] = {}
        theirs: dict[str, object] = {}
        for key, value in feeds.items():
            is_theirs = (
                isinstance(key, str)
                and split_tensor(key)[0] in before.ids
                and split_tensor(key)[0] not in self._executor.index.ids
            )
            if is_theirs:
                theirs[f"{key}:0" if key in before.ids else str(key)] = value
            else:
                ours |= self._arguments.feeds({key: value})
        return ours, theirs

    def _compared_tensors(
        self,
        named: TensorsLike | None,
        now: GraphRun,
        feeds: Feeds,
        matching: _Matching,
        *,
        strict: bool,
    ) -> dict[str, str]:
        """The tensors that the comparison is about, with the names that they are looked for by in
        the other graph; `strict` refuses a graph without outputs.
        """
        executor, arguments = self._executor, self._arguments
        compared = now.outputs(executor.patches())
        boundary_outputs = executor.view.boundary[1]
        if named is None and not boundary_outputs and compared:
            return compared
        names = arguments.readable(arguments.fetches(boundary_outputs if named is None else named))
        if named is not None and not names:
            raise GraphEditError(
                "compare: the tensors that are named are none; name some, or leave them out "
                "for the outputs of the graph."
            )
        if not names and strict:
            names = tuple(default_outputs(now.index, feeds))
        elif not names:
            # Without a training step, which would run for what reads a variable after it.
            with contextlib.suppress(GraphEditError):
                names = tuple(_before_updates(now.index, default_outputs(now.index, feeds)))
        return {name: matching.original(name) for name in names}

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
            if executor.boundary is None and executor.source.converted_model is None:
                index = executor.index
                waiting = waiting_tensors(index, needed_ops(index, fed, fetches), fed, fetches)
                run = runtime.measure.probe.session_runner(
                    executor.target.graph(),
                    executor.source.session,
                    fed,
                    waiting=waiting,
                    lacks=executor.source.lacks,
                )
            result = _run_probe(self.current_run(), fetches, fed, run)
            self._probed = (*self._state, result)
            executor.listeners.notify()
        return result

    @property
    def probed(self) -> dict[str, tuple[runtime.measure.probe.Stats, ...]]:
        """The results of the last probe of the current graph, by op; empty after an edit."""
        if self._probed is not None and self._is_valid(self._probed):
            return self._probed[2].by_op
        return {}

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
        if self._measured is not None and self._is_valid(self._measured):
            return self._measured[2]
        return None

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
        source = self._executor.source
        run = runtime.measure.profile.tracing_runner(
            self._executor.target.graph(), source.session, feeds, source.lacks
        )
        return runtime.measure.profile.measure_ops(now.index, fetches, feeds, run, runs)

    def _measurable(
        self, fetches: TensorsLike | None, feeds: Mapping[str, object]
    ) -> tuple[str, ...]:
        """The tensors to compute: given, selected, of the signature, or without consumers."""
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
    """The navigator of an editor; None for what is not an editor."""
    navigator = getattr(getattr(model, "_core", None), "navigator", None)
    return navigator if isinstance(navigator, Navigator) else None


def _check_shapes(run: GraphRun, feeds: Feeds) -> None:
    """Raise SessionRefused where a graph does not take a value for its shape."""
    for name, value in feeds.items():
        op, port = run.index.tensor(name)
        static = run.index.shape(op, port)
        try:
            shape = np.shape(cast("Any", value))
        except ValueError:  # lists of different lengths
            raise SessionRefused(
                f"compare: the value of {name!r} is no array, as its rows have different lengths; "
                "give it one shape."
            ) from None
        takes_any_batch = run.source.converted_model is not None
        if not (takes_any_batch or are_compatible(static, shape)):
            raise SessionRefused(
                f"compare: {name!r} of {run.source.title} has shape {shape_text(static)}, and the "
                f"value has {shape_text(shape)}; give one that both graphs take.",
                [run.index.names[op]],
            )


def _outputs_of_both(before: Source, after: Source) -> tuple[Collection[str], Collection[str]]:
    """The outputs of the signature of each source where the other one has no signature, so that it
    can be only one of them; and of those that both have where one has others.
    """
    names = {signature.name for signature in before.signatures}
    other_names = {signature.name for signature in after.signatures}
    common = names & other_names
    if common and names != other_names:
        return _outputs_of(before, common), _outputs_of(after, common)
    outputs: Collection[str] = ()
    if before.signature is not None and not after.signatures:
        outputs = dict(before.signature.outputs).values()
    other_outputs: Collection[str] = ()
    if after.signature is not None and not before.signatures:
        other_outputs = dict(after.signature.outputs).values()
    return outputs, other_outputs


def _outputs_of(source: Source, names: Collection[str]) -> set[str]:
    """The tensors that signatures of some names give."""
    signatures = [signature for signature in source.signatures if signature.name in names]
    return {tensor for signature in signatures for _, tensor in signature.outputs}


def _bodies_of_graphs(
    before: GraphRun, now: GraphRun
) -> tuple[GraphIndex | InlinedGraph, GraphIndex | InlinedGraph]:
    """Two graphs; where only one of them is the body of a function, as what became a graph."""
    if before.is_body == now.is_body:
        return before.index, now.index
    if before.is_body:
        return InlinedGraph.of_body(before.index, before.outputs(())), now.index
    return before.index, InlinedGraph.of_body(now.index, now.outputs(()))


def _can_have_signatures(source: Source) -> bool:
    """Whether a source is a file that has a place for signatures, as a GraphDef has not."""
    stored = source.stored
    return stored is not None and (stored.assets() is not None or bool(stored.meta().ListFields()))


def _assets_of_both(before: Source, after: Source) -> tuple[Assets, Assets] | None:
    """The asset files of two SavedModels; None unless both sources are such, and not the same."""
    if before is after or before.stored is None or after.stored is None:
        return None
    assets = before.stored.assets(), after.stored.assets()
    return None if assets[0] is None or assets[1] is None else (assets[0], assets[1])


def _open_body(body: Body, index: GraphIndex, op: int, reference: FunctionRef) -> CalledBody:
    """The body of a function that an op of `index` calls; `body` is what the graph was read as."""
    node_body = sources.open_function(reference.function, body, index, op)
    arguments = node_body.function(reference.function).signature.input_arg
    called = sources.body_index(node_body)
    return CalledBody(called, tuple(node_body.alias.get(a.name, a.name) for a in arguments))


def original_name(name: str, renames: Iterable[Renames]) -> str:
    """The name of a tensor or an op before edits, by the (old, new) names of each, oldest first."""
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
            + in_cell("name tensors=[…] to compare.")
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
        tensor
        for update in updates
        if "Apply" in index.types[update]
        for tensor in index.input_tensors(update)
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
    feeds: tuple[Feeds, Feeds],
    matching: _Matching,
    tolerance: runtime.measure.Tolerance,
    *,
    must: bool,
) -> Comparison:
    """How far the outputs of two graphs are apart; `names` are of tensors now -> before.

    With `must`, an output that the graph before lacks is refused, else it is listed as missing.
    """
    before, now = runs
    there = {name: matching.there(name, was) for name, was in names.items()}
    missing = tuple(name for name, partner in there.items() if partner is None)
    if missing and (must or len(missing) == len(names)):
        raise GraphEditError(
            f"{names_text(missing)} {'is' if len(missing) == 1 else 'are'} not in the graph to "
            "compare with; "
            "name tensors that both have: " + editor_call("compare", "feeds, tensors=[…]") + ".",
            [split_tensor(name)[0] for name in missing],
        )
    pairs = {name: partner for name, partner in there.items() if partner is not None}
    tensors, partners = [*pairs], [*pairs.values()]
    now.check_fed(tensors, feeds[1])
    before.check_fed(partners, feeds[0])
    theirs, ours = (partners, feeds[0]), (tensors, feeds[1])
    values = _values(before, now, theirs, ours)
    from tfgraphwidget.editor import comparing
    from tfgraphwidget.editor.compared_sides import Side

    differences = runtime.measure.compare_outputs(
        tensors,
        partners,
        partial(before.run, *theirs, values[0]),
        partial(now.run, *ours, values[1]),
    )
    return comparing.judge(
        Side(before, feeds[0], tuple(partners)),
        Side(now, feeds[1], tuple(tensors)),
        differences,
        tolerance,
        {"was not there before": missing} if missing else {},
    )


def _results_by_place(
    before: GraphRun, now: GraphIndex, names: Mapping[str, str]
) -> dict[str, str]:
    """{output of `now`: result of the graph before that is at its place}; nothing where names
    already say which is which.

    A file without signatures, such as the frozen graph of a SavedModel, has other names than the
    functions that it was made of, or names that there are those of another signature's call.
    `names` are the outputs of `now` with their names in the graph before.
    """
    results = [*before.outputs(())]
    if len(results) != len(names):
        return {}
    for name, was in names.items():
        op, op_before = now.op(name), before.index.ids.get(split_tensor(was)[0])
        if op_before is not None and before.index.types[op_before] == now.types[op]:
            return {}
    dtypes = (
        [graph.tensor_dtype(name) for name in tensors]
        for graph, tensors in ((before.index, results), (now, names))
    )
    return dict(zip(names, results, strict=True)) if next(dtypes) == next(dtypes) else {}


def _values(before: GraphRun, now: GraphRun, theirs: Fetch, ours: Fetch) -> tuple[Values, Values]:
    """The values of both graphs' variables; what another graph lacks comes from this one."""
    if before.source is now.source:
        shared = before.values(*theirs, {})
        return shared, now.values(*ours, shared)
    own = now.values(*ours, {})
    try:
        return before.values(*theirs, {}), own
    except SessionRefused:
        return before.values(*theirs, own), own


class _Matching:
    """Which tensors of two graphs are the same.

    `patches` are the edits that made one of the other. Where all tensors are compared (`of_all`),
    ops are in place of a call that only one graph has.

    Attributes:
        by_hand: {tensor now: tensor before} that is known.
    """

    def __init__(
        self, runs: tuple[GraphRun, GraphRun], patches: tuple[edits.Patch, ...], *, of_all: bool
    ) -> None:
        self._plain_runs, self._patches, self._of_all = runs, patches, of_all
        self.by_hand: dict[str, str] = {}

    @cached_property
    def _matches(self) -> MatchedGraphs:
        """Both graphs, matched without what is known."""
        before, now = self._plain_runs
        outputs = _outputs_of_both(before.source, now.source)
        return match_graphs(before.index, now.index, {}, outputs, inline=self._of_all)

    @cached_property
    def _graphs(self) -> tuple[InlinedGraph, InlinedGraph]:
        """Both graphs; all tensors of them are compared with some calls inlined."""
        if self._of_all and any(run.index.functions for run in self._plain_runs):
            return self._matches.before, self._matches.after
        before, now = self._plain_runs
        return InlinedGraph(before.index), InlinedGraph(now.index)

    @cached_property
    def runs(self) -> tuple[GraphRun, GraphRun]:
        """The runs of both, that of a converted model with the axes of the other one."""
        before, now = self._plain_runs
        is_converted_before, is_converted_now = is_converted(before.index), is_converted(now.index)
        axes = self._matches.axes if is_converted_before != is_converted_now else {}
        graph_before, graph_now = self._graphs
        return (
            replace(before, index=graph_before.index, axes=axes if is_converted_before else {}),
            replace(now, index=graph_now.index, axes=axes if is_converted_now else {}),
        )

    @property
    def before(self) -> GraphIndex:
        """The graph to compare with."""
        return self._graphs[0].index

    @property
    def now(self) -> GraphIndex:
        """The graph."""
        return self._graphs[1].index

    @cached_property
    def every(self) -> dict[str, str]:
        """All tensors that have partners: {tensor now: tensor before}."""
        from tfgraphwidget.editor import comparing

        renamed = {new for patch in self._patches for _, new in patch.renamed}
        originals = {self.original(name): name for name in renamed & self.now.ids.keys()}
        originals |= {
            split_tensor(there)[0]: split_tensor(here)[0] for here, there in self.by_hand.items()
        }
        matched = (
            match_graphs(*self._graphs, originals, inline=False) if originals else self._matches
        )
        partners = set(self.by_hand.values())
        pairs = comparing.paired_names(matched)
        others = {here: there for here, there in pairs.items() if there not in partners}
        return {**others, **self.by_hand}

    def add(self, pairs: Mapping[str, str]) -> None:
        """Pair further tensors, of which these were not known to be the same."""
        if self._of_all:  # to match again takes long
            pairs = {here: there for here, there in pairs.items() if self.every.get(here) != there}
        if pairs:
            self.by_hand = {**pairs, **self.by_hand}
            self.__dict__.pop("every", None)

    def original(self, tensor: str) -> str:
        """The name of a tensor before the edits."""
        return original_name(tensor, (patch.renamed for patch in self._patches))

    def there(self, tensor: str, name: str | None = None) -> str | None:
        """The same tensor before, by name, else by the ops around it; None if there is none."""
        if tensor in self.by_hand:
            return self.by_hand[tensor]
        old = name or original_name(tensor, (patch.input_renames for patch in self._patches))
        op, port = split_tensor(old)
        if op in self.before.ids and (port or 0) < len(self.before.dtypes(self.before.ids[op])):
            return f"{op}:{port or 0}"
        return self.every.get(tensor) if self.before is not self.now else None

    def here(self, tensor: str) -> str | None:
        """The tensor now that is the same as one before; None if there is none."""
        return next((here for here, there in self.every.items() if there == tensor), None)


def _partners_of_feeds(
    index: GraphIndex,
    feeds: Feeds,
    other: GraphIndex,
    other_feeds: Feeds,
    partner: Callable[[str], str | None],
) -> dict[str, str]:
    """{feed of one graph: the tensor of the other graph that gets its value}.

    Feeds without partners, and placeholders of the other graph without values, belong together in
    their order if there are as many, of the same dtypes; else GraphEditError is raised.
    """
    partners = {name: there for name in feeds if (there := partner(name)) is not None}
    alone = [name for name in feeds if name not in partners]
    unfed = _placeholders_without_value(other, {*partners.values(), *other_feeds})
    if not alone or not unfed:
        return partners
    dtypes = [
        [graph.tensor_dtype(name) for name in names]
        for graph, names in ((index, alone), (other, unfed))
    ]
    if dtypes[0] == dtypes[1]:
        return {**partners, **dict(zip(alone, unfed, strict=True))}
    raise GraphEditError(
        f"Feed {names_text(alone)} has no partner in the other of the two graphs, whose "
        f"placeholder {names_text(unfed)} has no value; "
        + in_cell("pair them by hand: pairs={'tensor here': 'tensor of the other graph'}.")
    )


def _placeholders_without_value(index: GraphIndex, feeds: Collection[object]) -> list[str]:
    """The placeholders of a graph that can be fed and have no value."""
    return [
        f"{index.names[i]}:0"
        for i, kind in enumerate(index.types)
        if kind in REQUIRED_PLACEHOLDERS
        and f"{index.names[i]}:0" not in feeds
        and index.dtypes(i)[0] not in HANDLE_DTYPES
    ]


def _run_probe(
    now: GraphRun, tensors: Sequence[str], feeds: Feeds, run: runtime.measure.probe.Run | None
) -> runtime.measure.probe.Probe:
    """Describe the values of tensors; without `run`, and inside loops, they are computed aside."""
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


def _at_calls(marks: Mapping[str, int], index: GraphIndex) -> dict[str, int]:
    """The marks of ops, those in functions that were compared in place of calls at the calls."""
    own = {name: kind for name, kind in marks.items() if name in index.ids}
    calls = {call_around(name, index.ids) for name in marks if name not in index.ids}
    return dict.fromkeys(calls - {""}, DIFFERS.index("changed")) | own

"""Costs of ops: how long each op took in a run, and how much memory it requested.

TensorFlow records this op by op when a run is traced. Ops that TensorFlow's optimizer has folded
away or inserted are not reported; ops that it has fused into one are reported under the op that
does the work (see `fused_ops`).
"""

from __future__ import annotations

import os
import warnings
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.errors import GraphEditError, SessionRefused
from tfgraphwidget.graph import FUSION_ROOTS, Floats, GraphIndex, backward, writes
from tfgraphwidget.naming import count_text, names_text, split_tensor
from tfgraphwidget.readable import read_file
from tfgraphwidget.runtime.measure.probe import format_table, session_runner
from tfgraphwidget.scene.coloring import format_number
from tfgraphwidget.sentences import editor_call, either, in_cell
from tfgraphwidget.sources import error_text
from tfgraphwidget.tensorflow_modules import lazy_module, tf
from tfgraphwidget.tf_types import NodeExecStats, RunMetadata, Session, StepStats

# TensorFlow runs a matrix product or a convolution, the addition after it and the activation as one
# op of a type like _FusedMatMul, under the name of the last of them. The work is that of the first,
# so costs are reported there. Which op types are fused depends on the processor.


def fused_ops(index: GraphIndex, ran: Mapping[str, str]) -> dict[str, str]:
    """Return for each fused op the op that does the work; `ran` has a run's op types."""
    main_ops = dict[str, str]()
    for name, kind in ran.items():
        if kind.startswith("_") and name in index.ids and kind != index.types[index.ids[name]]:
            main_ops |= dict.fromkeys(path := _path_to_root(index, index.ids[name], ran), path[-1])
    return main_ops


def _path_to_root(index: GraphIndex, last: int, ran: Mapping[str, str]) -> list[str]:
    """Return the ops from one back to the nearest that works, over ops that did not run alone; only
    itself without one.
    """
    consumer = {last: last}
    order = [last]
    for op in order:
        if index.types[op] in FUSION_ROOTS:
            path = [op]
            while path[-1] != last:
                path.append(consumer[path[-1]])
            return [index.names[each] for each in path[::-1]]
        for source in index.inputs.row(op).tolist():
            if source not in consumer and index.names[source] not in ran:
                consumer[source] = op
                order.append(source)
    return [index.names[last]]


_MOST_RUNS = 100_000
Traced = Callable[[Sequence[str], RunMetadata | None], object]
_MOST = 15  # lines that are printed
_STREAMS = "/stream:all"  # what a GPU did, rather than what was put into its queue


class Cost(NamedTuple):
    """The cost of an op in a run: microseconds, and bytes from its device; NaN if unknown."""

    time: float
    memory: float


# The costs of ops, and what ran as one (see Measured).
CostsAndFused = tuple[dict[str, Cost], dict[str, str]]


@dataclass(frozen=True, repr=False)
class Measurement(Mapping[str, Cost]):
    """Costs of ops by name, the longest time first; it prints as a table.

    Attributes:
        costs: The costs.
        fused: For each op that ran fused with others the op that has the costs of all.
        runs: How many runs these are the median of.
    """

    costs: Mapping[str, Cost]
    fused: Mapping[str, str]
    runs: int = 1

    @property
    def said(self) -> str:
        """The old name of `summary`."""
        warnings.warn("Measured.said is now Measured.summary.", DeprecationWarning, stacklevel=2)
        return self.summary

    @property
    def summary(self) -> str:
        """A summary in words: the number of runs, and how many ops ran fused with others."""
        runs = f"median of {self.runs:,} runs" if self.runs > 1 else ""
        inner = sum(op != main for op, main in self.fused.items())
        if inner:
            ops = f"{inner:,} op{'s' * (inner != 1)} ran as one with another, and reported with it"
        else:
            ops = ""
        return "; ".join(filter(None, (runs, ops)))

    def __getitem__(self, name: str) -> Cost:
        op = name if name in self.costs or name in self.fused else split_tensor(name)[0]
        return self.costs[self.fused.get(op, op)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.costs)

    def __len__(self) -> int:
        return len(self.costs)

    def __repr__(self) -> str:
        if not self:
            return "There are no costs of ops of this graph."
        rows = [
            (name, format_number(cost.time, "µs"), _bytes(cost.memory))
            for name, cost in list(self.items())[:_MOST]
        ]
        times, memory = (np.array(part) for part in zip(*self.values(), strict=True))
        more = f"and {len(self) - _MOST:,} more" if len(self) > _MOST else ""
        whole = (
            count_text(len(self), "op"),
            format_number(np.nansum(times), "µs"),
            _bytes(float(np.nansum(memory))),
        )
        table = format_table(
            [("op", "time", "memory"), *rows, *([(more, "", "")] if more else []), whole]
        )
        return "\n".join(filter(None, (table, self.summary)))

    def column(self, index: GraphIndex, field: str) -> Floats:
        """Return the "time" (µs) or "memory" (bytes) of each op, (n,); NaN if unknown."""
        column = (getattr(self.costs.get(name), field, np.nan) for name in index.names)
        return np.fromiter(column, np.float64, len(index))


def _bytes(memory: float) -> str:
    return "" if np.isnan(memory) else format_number(memory, "B")


def tracing_runner(
    graph: tf.Graph, session: Session | None, feeds: Mapping[str, object], lacks: Sequence[str] = ()
) -> Traced:
    """Return a function that computes tensors in the session of a live graph, if there is one, into
    a RunMetadata; `lacks` are sentences about what the session lacks.
    """

    def run(tensors: Sequence[str], metadata: RunMetadata | None) -> object:
        try:
            return session_runner(graph, session, feeds, metadata, lacks=lacks)(tensors)
        except tf.errors.OpError as error:  # of a conditional's branch that was not taken
            raise SessionRefused(
                f"The graph cannot run: {error_text(error)}; give other feeds, or name other "
                "outputs."
            ) from error

    return run


def measure_ops(
    index: GraphIndex, tensors: Sequence[str], feeds: Collection[str], run: Traced, runs: int = 1
) -> Measurement:
    """Measure the costs of the ops that tensors depend on, as the median of several runs. Raises
    GraphEditError where the tensors cannot be computed without changing state.

    A run that is not counted comes first, since the first run prepares what all others use.
    """
    _check_runs(runs)
    check_harmless(index, tensors, feeds)
    run(tensors, None)
    costs_of_runs, main_ops = [], dict[str, str]()
    for _ in range(runs):
        metadata = tf.compat.v1.RunMetadata()
        run(tensors, metadata)
        costs, some = costs_of_steps(metadata.step_stats, index)
        costs_of_runs.append(costs)
        main_ops |= some
    names = dict.fromkeys(name for costs in costs_of_runs for name in costs)
    middle = {
        name: Cost(*map(_median, zip(*(c[name] for c in costs_of_runs if name in c), strict=True)))
        for name in names
    }
    return _sort_costs(middle, main_ops, runs)


def _check_runs(runs: object) -> None:
    if not isinstance(runs, int) or isinstance(runs, bool) or not 1 <= runs <= _MOST_RUNS:
        raise GraphEditError(
            f"{value_text(runs)} is not a number of runs from 1 to {_MOST_RUNS:,}; "
            + either("write editor.measure(runs=3).", "use Measure time.")
        )


def read_profile(metadata: RunMetadata | str | PathLike[str], index: GraphIndex) -> Measurement:
    """Return the costs in a RunMetadata or tf.profiler's folder. Raises GraphEditError."""
    if isinstance(metadata, str | PathLike):
        costs, main_ops = costs_of_profile(Path(metadata), index)
        subject = f"What was profiled in {str(metadata)!r}"
    else:
        steps = getattr(metadata, "step_stats", None)
        if steps is None:
            raise GraphEditError(
                f"{type(metadata).__name__} has no costs of ops; "
                + in_cell(
                    "give a tf.compat.v1.RunMetadata of a traced run, or the folder that "
                    "tf.profiler wrote."
                )
            )
        costs, main_ops = costs_of_steps(steps, index)
        subject = "This RunMetadata"
    if not costs:
        raise GraphEditError(
            f"{subject} has no costs of ops of this graph; "
            + in_cell(
                "trace a run of it: "
                "options=tf.compat.v1.RunOptions(trace_level=tf.compat.v1.RunOptions.FULL_TRACE)."
            )
        )
    return _sort_costs(costs, main_ops)


def _sort_costs(
    costs: Mapping[str, Cost], main_ops: Mapping[str, str], runs: int = 1
) -> Measurement:
    order = sorted(costs, key=lambda name: -np.nan_to_num(costs[name].time))
    return Measurement({name: costs[name] for name in order}, main_ops, runs)


def costs_of_steps(steps: StepStats, index: GraphIndex) -> CostsAndFused:
    """Return the costs in a StepStats, over all iterations; of a GPU what ran."""
    every = (node for device in steps.dev_stats for node in device.node_stats)
    # A label says what ran as an assignment: the name, " = ", the type, and the inputs in brackets.
    kinds = {
        _op_name(node.node_name, index): node.timeline_label.partition(" = ")[2] for node in every
    }
    main_ops = fused_ops(index, {name: kind.partition("(")[0] for name, kind in kinds.items()})
    time: dict[str, float] = defaultdict(float)
    memory: dict[str, float] = defaultdict(float)
    ran = set()
    devices = sorted(steps.dev_stats, key=lambda device: not device.device.endswith(_STREAMS))
    for device in devices:
        streams = device.device.endswith(_STREAMS)
        if "/stream:" in device.device and not streams:
            continue
        for node in device.node_stats:
            name = _op_name(node.node_name, index)
            name = main_ops.get(name, name)
            if not name:
                continue
            memory[name] += sum(allocation.total_bytes for allocation in node.memory)
            if streams or name not in ran:
                time[name] += _duration(node)
            if streams:
                ran.add(name)
    return {name: Cost(time[name], memory[name]) for name in memory}, main_ops


def _duration(node: NodeExecStats) -> float:
    """Microseconds; older TensorFlow counts no finer."""
    nanos = node.op_end_rel_nanos - node.op_start_rel_nanos
    return nanos / 1000 if nanos > 0 else float(node.op_end_rel_micros - node.op_start_rel_micros)


def costs_of_profile(folder: Path, index: GraphIndex) -> CostsAndFused:
    """Return the costs in tf.profiler's newest run below a folder, which has no ops' memory."""
    files = []
    if os.path.exists(folder):  # noqa: PTH110 - Path.exists raises for a name that is too long
        files = sorted(folder.rglob("*.xplane.pb")) if folder.is_dir() else [folder]
    if not files:
        raise GraphEditError(
            f"There is no profile in {str(folder)!r}; "
            + in_cell("give the folder that tf.profiler.experimental.start(folder) got.")
        )
    planes = [plane for file in files if file.parent == files[-1].parent for plane in _planes(file)]
    kinds = {
        _op_name(event.name, index): event.name
        for plane in planes
        for event in plane.event_metadata.values()
    }
    main_ops = fused_ops(index, {name: label.rpartition(":")[2] for name, label in kinds.items()})
    time: dict[str, float] = defaultdict(float)
    for name, micros in (event for plane in planes for event in _events(plane, index)):
        time[main_ops.get(name, name)] += micros
    return {name: Cost(micros, float("nan")) for name, micros in time.items()}, main_ops


def _planes(file: Path) -> Sequence[Any]:
    xplane_pb2 = lazy_module("tensorflow.tsl.profiler.protobuf.xplane_pb2")

    space = xplane_pb2.XSpace()
    try:
        space.ParseFromString(read_file(file))
    except Exception as error:  # protobuf's own exception has no public name
        raise GraphEditError(
            f"{str(file)!r} is not a profile of TensorFlow: {error}; "
            + in_cell("give an '.xplane.pb' that tf.profiler wrote.")
        ) from error
    planes: Sequence[object] = space.planes
    return planes


def _events(plane: Any, index: GraphIndex) -> Iterator[tuple[str, float]]:
    """Yield (op, microseconds) of the events in a plane of a profile."""
    names = {key: _op_name(event.name, index) for key, event in plane.event_metadata.items()}
    for line in plane.lines:
        for event in line.events:
            name = names.get(event.metadata_id, "")
            if name:
                yield name, event.duration_ps / 1e6


def _op_name(label: str, index: GraphIndex) -> str:
    """Return the op that "op" or "op:Type" means; "" if it is not in this graph."""
    if label in index.ids:
        return label
    name = label.partition(":")[0]
    return name if name in index.ids else ""


def _median(values: Iterable[float]) -> float:
    return float(np.median(list(values)))


def check_harmless(index: GraphIndex, tensors: Sequence[str], feeds: Collection[str]) -> None:
    """Raise GraphEditError, naming ops, if computing tensors changes a variable or a queue."""
    fed = [index.tensor(name) for name in feeds]
    ops = [index.op(name) for name in tensors if name not in feeds]
    ancestors = np.flatnonzero(backward(index, ops, stop=fed)).tolist()
    writers = [index.names[i] for i in np.flatnonzero(writes(index, ancestors)).tolist()]
    if writers:
        raise GraphEditError(
            f"To compute {tensors[0]!r}, {names_text(writers)} would run and change what the "
            "session holds; measure what comes before, feed what they give, or trace that run "
            "yourself: " + editor_call("measure", "metadata=…") + ".",
            writers,
        )

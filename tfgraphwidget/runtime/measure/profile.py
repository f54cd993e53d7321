"""Measuring: how long each op took in a run, and how much memory it asked for.

TensorFlow writes this down itself, op by op, when a run is traced. What TensorFlow's optimiser has folded away or put
in between is not told; what it has fused into one op is told under the op that does the work (see `fused`).
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tfgraphwidget.argument_checks import shown
from tfgraphwidget.errors import GraphEditError, SessionRefused
from tfgraphwidget.graph import FUSION_ROOTS, Floats, GraphIndex, backward, side_effects
from tfgraphwidget.naming import listed, split_tensor
from tfgraphwidget.runtime.measure.probe import columns, running
from tfgraphwidget.runtime.session.variable_values import told
from tfgraphwidget.scene.coloring import format_number
from tfgraphwidget.tf_types import NodeDef, Session

# Fused ops: which ops of a graph TensorFlow's optimiser ran as one.  A matrix product or a convolution, what is
# added to it and the activation run as one op of a type like _FusedMatMul, under the name of the last of them. The
# work is that of the first, and there a person looks for it. Which kinds are joined depends on the processor.


def fused(index: GraphIndex, ran: Mapping[str, str]) -> dict[str, str]:
    """For each op that ran as one with others the op that does the work; `ran` are the ops of a run and their types."""
    found = dict[str, str]()
    for name, kind in ran.items():
        if kind.startswith("_") and name in index.ids and kind != index.types[index.ids[name]]:
            found |= dict.fromkeys(way := _way(index, index.ids[name], ran), way[-1])
    return found


def _way(index: GraphIndex, last: int, ran: Mapping[str, str]) -> list[str]:
    """From an op back to the nearest that works, over ops that did not run by themselves; only itself without one."""
    reader = {last: last}
    order = [last]
    for op in order:
        if index.types[op] in FUSION_ROOTS:
            way = [op]
            while way[-1] != last:
                way.append(reader[way[-1]])
            return [index.names[each] for each in way[::-1]]
        for source in index.inputs.row(op).tolist():
            if source not in reader and index.names[source] not in ran:
                reader[source] = op
                order.append(source)
    return [index.names[last]]


_MOST_RUNS = 100_000
Traced = Callable[[Sequence[str], Any], Any]
_MOST = 15  # lines that are printed
_STREAMS = "/stream:all"  # what a GPU did, rather than what was put into its queue


class Cost(NamedTuple):
    """What an op took in a run: microseconds, and bytes that it asked its device for; NaN for what was not told."""

    time: float
    memory: float


Told = tuple[dict[str, Cost], dict[str, str]]  # the costs of ops, and what ran as one (see Measured)


@dataclass(frozen=True, repr=False)
class Measured(Mapping[str, Cost]):
    """What ops took, by name, the longest first; it prints as a table. `runs` is how many runs it is the median of.

    `fused` has for each op that ran as one with others the one that the costs of all are told under, once.
    """

    costs: Mapping[str, Cost]
    fused: Mapping[str, str]
    runs: int = 1

    @property
    def said(self) -> str:
        """How many runs it is the median of, and what was not told by itself, in words."""
        runs = f"median of {self.runs:,} runs" if self.runs > 1 else ""
        inner = sum(op != told for op, told in self.fused.items())
        ops = f"{inner:,} op{'s' * (inner != 1)} ran as one with another, and told with it" if inner else ""
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
            return "No op of this graph was told of."
        rows = [
            (name, format_number(cost.time, "µs"), _bytes(cost.memory)) for name, cost in list(self.items())[:_MOST]
        ]
        times, held = (np.array(part) for part in zip(*self.values(), strict=True))
        more = f"and {len(self) - _MOST:,} more" if len(self) > _MOST else ""
        whole = (f"{len(self):,} ops", format_number(np.nansum(times), "µs"), _bytes(float(np.nansum(held))))
        table = columns([("op", "time", "memory"), *rows, *([(more, "", "")] if more else []), whole])
        return "\n".join(filter(None, (table, self.said)))

    def column(self, index: GraphIndex, field: str) -> Floats:
        """The "time" (µs) or "memory" (bytes) of each op, (n,); NaN for those that were not told of."""
        told = (getattr(self.costs.get(name), field, np.nan) for name in index.names)
        return np.fromiter(told, np.float64, len(index))


def _bytes(memory: float) -> str:
    return "" if np.isnan(memory) else format_number(memory, "B")


def tracing(graph: tf.Graph, session: Session | None, feeds: Mapping[str, Any]) -> Traced:
    """Runs tensors in the session of a live graph, into a RunMetadata; SessionRefused for what cannot run."""

    def run(tensors: Sequence[str], metadata: Any) -> Any:
        try:
            return running(graph, session, feeds, metadata)(tensors)
        except tf.errors.OpError as error:  # of a conditional's branch that was not taken
            raise SessionRefused(f"The graph cannot run: {told(error)}.") from error

    return run


def measured(index: GraphIndex, tensors: Sequence[str], feeds: Collection[str], run: Traced, runs: int = 1) -> Measured:
    """What ops take when some tensors are computed, the median of so many runs; `feeds` are the tensors fed.

    A run that is not counted comes first, since the first one prepares what all others use. Raises GraphEditError
    for tensors that cannot be computed without changing a state.
    """
    _check_runs(runs)
    check_harmless(index, tensors, feeds)
    run(tensors, None)
    found, joined = [], dict[str, str]()
    for _ in range(runs):
        metadata = tf.compat.v1.RunMetadata()
        run(tensors, metadata)
        costs, some = of_steps(metadata.step_stats, index)
        found.append(costs)
        joined |= some
    names = dict.fromkeys(name for costs in found for name in costs)
    middle = {name: Cost(*map(_median, zip(*(c[name] for c in found if name in c), strict=True))) for name in names}
    return _sorted(middle, joined, runs)


def _check_runs(runs: Any) -> None:
    if not isinstance(runs, int) or isinstance(runs, bool) or not 1 <= runs <= _MOST_RUNS:
        raise GraphEditError(
            f"{shown(runs)} is no number of runs from 1 to {_MOST_RUNS:,}; write editor.measure(runs=3)."
        )


def given(metadata: Any, index: GraphIndex) -> Measured:
    """What a RunMetadata, or the folder that tf.profiler wrote, tells of the ops of a graph. Raises GraphEditError."""
    if isinstance(metadata, str | PathLike):
        costs, joined = of_profile(Path(metadata), index)
        said = f"What was profiled in {str(metadata)!r}"
    else:
        steps = getattr(metadata, "step_stats", None)
        if steps is None:
            raise GraphEditError(
                f"{type(metadata).__name__} tells no costs of ops; give a tf.compat.v1.RunMetadata of a traced run, or "
                "the folder that tf.profiler wrote."
            )
        costs, joined = of_steps(steps, index)
        said = "This RunMetadata"
    if not costs:
        raise GraphEditError(
            f"{said} tells of no op of this graph; trace a run of it: "
            "options=tf.compat.v1.RunOptions(trace_level=tf.compat.v1.RunOptions.FULL_TRACE)."
        )
    return _sorted(costs, joined)


def _sorted(costs: Mapping[str, Cost], joined: Mapping[str, str], runs: int = 1) -> Measured:
    order = sorted(costs, key=lambda name: -np.nan_to_num(costs[name].time))
    return Measured({name: costs[name] for name in order}, joined, runs)


def of_steps(steps: Any, index: GraphIndex) -> Told:
    """What a StepStats tells, summed over the rounds of loops; of a GPU what ran, not what was queued."""
    every = (node for device in steps.dev_stats for node in device.node_stats)
    # A label says what ran as an assignment: the name, " = ", the type, and the inputs in brackets.
    kinds = {_own_name(node.node_name, index): node.timeline_label.partition(" = ")[2] for node in every}
    joined = fused(index, {name: kind.partition("(")[0] for name, kind in kinds.items()})
    time: dict[str, float] = defaultdict(float)
    memory: dict[str, float] = defaultdict(float)
    ran = set()
    devices = sorted(steps.dev_stats, key=lambda device: not device.device.endswith(_STREAMS))
    for device in devices:
        streams = device.device.endswith(_STREAMS)
        if "/stream:" in device.device and not streams:
            continue
        for node in device.node_stats:
            name = _own_name(node.node_name, index)
            name = joined.get(name, name)
            if not name:
                continue
            memory[name] += sum(held.total_bytes for held in node.memory)
            if streams or name not in ran:
                time[name] += _duration(node)
            if streams:
                ran.add(name)
    return {name: Cost(time[name], memory[name]) for name in memory}, joined


def _duration(node: NodeDef) -> float:
    """Microseconds; older TensorFlow counts no finer."""
    nanos = node.op_end_rel_nanos - node.op_start_rel_nanos
    return nanos / 1000 if nanos > 0 else float(node.op_end_rel_micros - node.op_start_rel_micros)


def of_profile(folder: Path, index: GraphIndex) -> Told:
    """What tf.profiler's newest run below a folder tells; it knows no memory of single ops."""
    is_there = os.path.exists(folder)  # noqa: PTH110 - Path.exists raises for a name that is too long
    files = (sorted(folder.rglob("*.xplane.pb")) if folder.is_dir() else [folder]) if is_there else []
    if not files:
        raise GraphEditError(
            f"There is no profile in {str(folder)!r}; give the folder that tf.profiler.experimental.start(folder) got."
        )
    planes = [plane for file in files if file.parent == files[-1].parent for plane in _planes(file)]
    kinds = {_own_name(held.name, index): held.name for plane in planes for held in plane.event_metadata.values()}
    joined = fused(index, {name: told.rpartition(":")[2] for name, told in kinds.items()})
    time: dict[str, float] = defaultdict(float)
    for name, micros in (event for plane in planes for event in _events(plane, index)):
        time[joined.get(name, name)] += micros
    return {name: Cost(micros, float("nan")) for name, micros in time.items()}, joined


def _planes(file: Path) -> Sequence[Any]:
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space = xplane_pb2.XSpace()
    try:
        space.ParseFromString(file.read_bytes())
    except Exception as error:  # protobuf's own exception has no public name
        raise GraphEditError(f"{str(file)!r} is no profile of tf.profiler: {error}.") from error
    planes: Sequence[Any] = space.planes
    return planes


def _events(plane: Any, index: GraphIndex) -> Iterator[tuple[str, float]]:
    """(op, microseconds) of what a plane of a profile tells of ops."""
    names = {key: _own_name(held.name, index) for key, held in plane.event_metadata.items()}
    for line in plane.lines:
        for event in line.events:
            name = names.get(event.metadata_id, "")
            if name:
                yield name, event.duration_ps / 1e6


def _own_name(told: str, index: GraphIndex) -> str:
    """The op that is meant by "op" or "op:Type"; "" for none of this graph."""
    if told in index.ids:
        return told
    name = told.partition(":")[0]
    return name if name in index.ids else ""


def _median(values: Iterable[float]) -> float:
    return float(median(values))


def check_harmless(index: GraphIndex, tensors: Sequence[str], feeds: Collection[str]) -> None:
    """Raise when computing some tensors changes a variable, a table or a queue."""
    fed = [(index.op(name), split_tensor(name)[1] or 0) for name in feeds]
    ops = [index.op(name) for name in tensors if name not in feeds]
    needed = np.flatnonzero(backward(index, ops, stop=fed)).tolist()
    writers = [index.names[i] for i in side_effects(index, needed) if _refers(index, i)]
    if writers:
        raise GraphEditError(
            f"To compute {tensors[0]!r}, {listed(writers)} would run and change what the session holds; measure "
            "what comes before, feed what they give, or trace that run yourself: editor.measure(metadata=…).",
            writers,
        )


def _refers(index: GraphIndex, i: int) -> bool:
    """Whether an op is given a reference to a state."""
    ends = range(index.inputs.start[i], index.inputs.start[i + 1])
    for at in ends:
        dtypes = index.dtypes(int(index.inputs.values[at]))
        dtype = dtypes[index.ports[at]] if index.ports[at] < len(dtypes) else ""
        if dtype == "resource" or dtype.endswith("_ref"):
            return True
    return False

"""Colouring: what the colours of the drawing mean, and what ops cost. GraphEditor is one of these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from tfgraphwidget.editor import evaluation
from tfgraphwidget.editor.analysis_api import Comparing
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import costs
from tfgraphwidget.graph.table import frame
from tfgraphwidget.hierarchy.op_facts import facts
from tfgraphwidget.runtime.measure import profile
from tfgraphwidget.runtime.measure.flops import flops_and_calls
from tfgraphwidget.runtime.measure.function_profile import measured_aside
from tfgraphwidget.runtime.measure.probe import check_fetchable
from tfgraphwidget.runtime.measure.profile import Cost, Measured
from tfgraphwidget.scene.coloring import encodings, scales
from tfgraphwidget.scene.coloring.scales import Known, Legend, Numbers
from tfgraphwidget.scene.scene import Scene

if TYPE_CHECKING:
    from tfgraphwidget.edits.history import History
    from tfgraphwidget.graph.index import GraphIndex
    from tfgraphwidget.sources import Source

Floats = npt.NDArray[np.float64]
_UNITS = {"parameters": "n", "output bytes": "B", "FLOPs": "FLOP", "time": "µs", "memory": "B"}
_MEASURED = ("time", "memory")
_MOST_AT_ONCE = 8_000  # ops of which all ways to colour are reckoned: larger files would have their shapes inferred
_WAYS = ("type", "device", "structure", "dtype", "scope", "trainable", *_UNITS, "diff")
_NOT_HERE = "nothing was measured here since the last edit; editor.measure(…)"


class Colouring(Comparing):
    """Colours the drawing by what a person wants to know of the ops."""

    def __init__(self, source: Source, layout: Any = None) -> None:
        self._by, self._batch = "", 1
        self._own: dict[str, encodings.Valued] = {}
        self._measured: tuple[tuple[str, ...], History, Measured] | None = None
        self._known: tuple[Any, Known] | None = None
        self._tinted: WeakKeyDictionary[Scene, tuple[Known, Any]] = WeakKeyDictionary()
        super().__init__(source, layout)

    # Colours

    def color_by(self, by: Any = "", *, batch: int = 1) -> None:
        """Colour the drawing by what is known of the ops; "" for the usual colours, by families of op types.

        * "type", "device", "dtype" (of the first output), "scope" (the outermost ones), "structure" (equal structure,
          equal colour), "trainable" (variables), "diff" (what edits have done)
        * "parameters", "output bytes" and "FLOPs", for which unknown dimensions count as `batch`
        * "time" and "memory", once `measure` was called, or when nothing needs to be fed
        * a column of `table()`, by its name or itself
        * {name of an op, tensor or scope: value}, or a function of an op (see `where`) that gives a value: numbers are
          a ramp, all else are categories; None is no value

        Boxes that stand for many ops show the sum of their costs, the mean of a person's own numbers, or the category
        that most of them have. Raises GraphEditError for what says nothing of ops.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.color_by({"net/hidden": 0.25, "net/logits": 1.0})
        >>> editor.legend.low, editor.legend.high
        ('0.25', '1')
        """
        _check_batch(batch)
        way, before = "" if by is None else by, (self._by, self._batch, dict(self._own))
        if not isinstance(way, str):
            label, values = encodings.own(way, self.index)
            way = f"{label} (own)" if label in _WAYS else label
            self._own[way] = values
        elif way and way not in self.colours and way not in encodings.OWN_COLUMNS:
            raise GraphEditError(
                f"Ops cannot be coloured by {way[:60]!r}; by {encodings.words(self.colours)}, "
                "a column of editor.table(), a dict of names and values, or a function of an op."
            )
        self._by, self._batch = way, batch
        try:
            if way in _MEASURED and not self.measured:
                self._measure_itself()
            self._of(self.index)
        except BaseException:
            self._by, self._batch, self._own = before
            raise
        self.changed()

    @property
    def colours(self) -> tuple[str, ...]:
        """The ways to colour the drawing by name, those that a person has brought along last.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.colours[:5]
        ('type', 'device', 'structure', 'dtype', 'scope')
        """
        return (*_WAYS, *self._own)

    @property
    def legend(self) -> Legend | None:
        """What the colours of the drawing mean; None for the usual ones.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.color_by("parameters")
        >>> editor.legend
        Legend(by='parameters', entries=(), low='8', high='64', notice='')
        """
        known = self._of(self.index)
        return None if known is None else known.legend(self._by)

    def tints(self, scene: Scene) -> tuple[npt.NDArray[np.uint8], list[str]] | None:
        """A tint (uint8, see `scene.scene.PAINT_FIELDS`) and a note for each item of a scene; None for the usual."""
        known = self._of(scene.index)
        if known is None:
            return None
        found = self._tinted.get(scene)
        if found is None or found[0] is not known:
            found = self._tinted[scene] = known, scales.tinted(scene, known)
        told: tuple[npt.NDArray[np.uint8], list[str]] = found[1]
        return told

    def _of(self, index: GraphIndex) -> Known | None:
        """What is known of the ops of an index; reckoned once."""
        if not self._by:
            return None
        measured = self._here() if self._by in _MEASURED else None
        key = (index, self._by, self._batch, measured, self._own.get(self._by))
        if self._known is None or any(a is not b for a, b in zip(self._known[0], key, strict=True)):
            self._known = key, self._reckoned(self._by, index, measured)
        return self._known[1]

    def _ways_without_a_run(self, other: GraphIndex | None = None) -> dict[str, tuple[Known, Legend]]:
        """What is known of the ops, and its legend, by each way to colour that costs little, and by the present one.

        Of another room's index without what was measured, or has changed, in this one.
        """
        index, found = self.index if other is None else other, dict[str, tuple[Known, Legend]]()
        small, here = len(index) <= _MOST_AT_ONCE, index is self.index
        for by in self.colours:
            now = by == self._by and (here or by not in (*_MEASURED, "diff"))
            if not now and (not small or by in (*_MEASURED, "FLOPs", "diff")):
                continue
            known = self._of(index) if now and here else self._reckoned(by, index, None)
            legend = None if known is None else known.legend(by)
            if known is not None and legend is not None and (now or legend.entries or legend.high):
                found[by] = known, legend
        return found

    def _reckoned(self, by: str, index: GraphIndex, measured: Measured | None) -> Known:
        if by in self._own:
            return self._own[by](index)
        if by in encodings.BY:
            return encodings.BY[by](index)
        if by == "diff":
            return encodings.by_difference(index, self.diff())
        if by in _UNITS:
            return self._numbers(by, index, measured)
        return encodings.column(by, index)

    def _numbers(self, by: str, index: GraphIndex, measured: Measured | None) -> Numbers:
        if by in _MEASURED:
            value = np.full(len(index), np.nan) if measured is None else measured.column(index, by)
            return Numbers(value, _UNITS[by], total=True, notice=_NOT_HERE if measured is None else measured.said)
        value = self._reckon(by, index, self._batch)
        unknown = int(np.isnan(value).sum())
        told = [f"batch = {self._batch:,}"] if by != "parameters" and _has_unknown(index) else []
        told += [f"{unknown:,} op{'s' * (unknown > 1)} unknown"] if unknown else []
        at = costs.users(index, facts(index).fed) if by == "parameters" else None
        return Numbers(value, _UNITS[by], total=True, notice=" · ".join(told), at=at)

    def _reckon(self, by: str, index: GraphIndex, batch: int) -> Floats:
        if by == "parameters":
            return costs.parameters(index)
        if by == "output bytes":
            return costs.output_bytes(index, batch)
        return flops_and_calls(index, batch, self.room.body if index is self.index else None)

    # Costs

    def cost(self, batch: int = 1) -> Any:
        """What each op costs: a pandas DataFrame with a row for each op, in graph order.

        The columns are name, type, parameters, output_bytes and flops (None where they are unknown); time (µs) and
        memory (bytes) too, once `measure` was called. Unknown dimensions count as `batch`. FLOPs are those of
        TensorFlow's own registry; a call has those of what it calls, a choice those of its dearest branch, a loop those
        of one round.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> costs = editor.cost(batch=32).set_index("name")
        >>> costs.loc["net/hidden/MatMul", ["output_bytes", "flops"]].tolist()
        [1024.0, 2048.0]
        """
        _check_batch(batch)
        index = self.index
        found: dict[str, list[Any]] = {"name": list(index.names), "type": list(index.types)}
        for by in ("parameters", "output bytes", "FLOPs"):
            found[by.lower().replace(" ", "_")] = _whole(self._reckon(by, index, batch))
        measured = self._here()
        if measured is not None:
            found |= {by: [None if np.isnan(v) else v for v in measured.column(index, by)] for by in _MEASURED}
        return frame((dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True)), found)

    def measure(
        self, fetches: Any = None, feeds: Mapping[Any, Any] | None = None, runs: int = 1, *, metadata: Any = None
    ) -> Measured:
        """Run the graph in its session, traced: the time (µs) and the memory (bytes) that each op took.

        `fetches` are tensors; without them the chosen outputs, those of the signature, or else all that is computed and
        read by no op. The median of `runs` runs is taken, after one that does not count. Only tensors are fetched, and
        none that changes what the session holds. What TensorFlow runs as one, a product and its activation, is told
        for the op that does the work. `metadata` is a RunMetadata of a run traced elsewhere, or the folder that
        tf.profiler wrote. The result is kept, for `color_by("time")` and `cost()`, until an edit.

        Raises GraphEditError for what cannot be measured, SessionRefused when the graph cannot run.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> measured = editor.measure("net/logits:0", {"x:0": [[1, 2, 3, 4]]})
        >>> measured["net/hidden/MatMul"].time > 0, "net/logits" in editor.measured
        (True, True)
        """
        if metadata is not None:
            found = profile.given(metadata, self.index)
        else:
            given = {self._fed(key): value for key, value in (feeds or {}).items()}
            with self._live.attempt():
                found = self._run_traced(self._wanted(fetches, given), given, runs)
        self._measured = self.breadcrumb, self.history, found
        self.changed()
        return found

    @property
    def measured(self) -> Mapping[str, Cost]:
        """What the last measuring found, by op; nothing once the graph was edited, or where one did not measure."""
        return self._here() or {}

    def _here(self) -> Measured | None:
        if self._measured is None or self._measured[0] != self.breadcrumb or self._measured[1] is not self.history:
            return None
        return self._measured[2]

    def _run_traced(self, wanted: tuple[str, ...], given: Mapping[str, Any], runs: int) -> Measured:
        now = self._now()
        check_fetchable(now.index, wanted)
        now.check_fed(wanted, given)
        if now.is_body:
            return measured_aside(now.index, now.held, wanted, given, runs)
        run = profile.tracing(self._live.graph(), self._source.session, given)
        return profile.measured(now.index, wanted, given, run, runs)

    def _wanted(self, fetches: Any, given: Mapping[str, Any]) -> tuple[str, ...]:
        """The tensors to compute."""
        if fetches is None:
            fetches = self.outputs or (self.selection.outputs if self.selection else ())
        wanted = self._read(self._fetched(fetches))
        if not wanted:
            wanted = tuple(self._now().ends(self._patches())) or tuple(evaluation.ends(self.index, given))
        if not wanted:
            raise GraphEditError("These give no tensors that could be fetched; name some: editor.measure(['loss:0']).")
        return wanted

    def _measure_itself(self) -> None:
        """Measure, when nothing has to be fed for it."""
        try:
            self.measure()
        except GraphEditError as error:
            raise GraphEditError(
                f"Nothing was measured yet, and it cannot be done without you ({error.why.rstrip('.')}): call "
                "editor.measure(outputs, feeds={…}).",
                error.ops,
            ) from error


def _check_batch(batch: Any) -> None:
    if not isinstance(batch, int) or isinstance(batch, bool) or batch < 1:
        raise GraphEditError(f"{batch!r} is no size of a batch; write batch=32.")


def _whole(values: Floats) -> list[int | None]:
    return [None if np.isnan(value) else int(value) for value in values.tolist()]


def _has_unknown(index: GraphIndex) -> bool:
    """Whether some tensor has a dimension that is not known."""
    return any(None in (index.shape(i, 0) or ()) for i in range(len(index)) if index.dtypes(i))

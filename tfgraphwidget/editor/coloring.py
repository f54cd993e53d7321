"""The color model: what the colors of the drawing mean, and what ops cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from tfgraphwidget import runtime
from tfgraphwidget.errors import GraphEditError, WrongType
from tfgraphwidget.graph import costs
from tfgraphwidget.hierarchy import find_op_facts
from tfgraphwidget.scene.coloring import Legend, Numbers, OpValues, encodings, scales
from tfgraphwidget.sentences import editor_call, either, in_cell

if TYPE_CHECKING:
    from tfgraphwidget.editor.evaluation import Evaluator
    from tfgraphwidget.editor.navigator import Navigator
    from tfgraphwidget.graph import GraphIndex
    from tfgraphwidget.runtime.measure import Measurement
    from tfgraphwidget.scene import Scene

Floats = npt.NDArray[np.float64]
_UNITS = {"parameters": "n", "output bytes": "B", "FLOPs": "FLOP", "time": "µs", "memory": "B"}
_MEASURED = ("time", "memory")
_NOT_CHEAP = (*_MEASURED, "FLOPs", "diff")
# ops for which all encodings are computed: larger files would have their shapes inferred
_MOST_AT_ONCE = 8_000
_ENCODINGS = ("type", "device", "structure", "dtype", "scope", "trainable", *_UNITS, "diff")
_NOT_MEASURED = "nothing was measured here since the last edit; " + editor_call("measure", "…")


class ColorModel:
    """Colors the drawing by what is known of the ops. `current` is the encoding, "" for none."""

    def __init__(self, navigator: Navigator, evaluator: Evaluator) -> None:
        self._navigator, self._evaluator = navigator, evaluator
        self.current, self._batch = "", 1
        self._custom: dict[str, encodings.Encoding] = {}
        self._cached_values: tuple[tuple[object, ...], OpValues] | None = None
        self._tinted: WeakKeyDictionary[
            Scene, tuple[OpValues, tuple[npt.NDArray[np.uint8], list[str]]]
        ] = WeakKeyDictionary()

    @property
    def _index(self) -> GraphIndex:
        return self._navigator.here.index

    def color_by(self, by: object, batch: int) -> None:
        """Color by `by`, with `batch` for sizes that are unknown; see `View.color_by`."""
        _check_batch(batch)
        name, before = "" if by is None else by, (self.current, self._batch, dict(self._custom))
        if not isinstance(name, str):
            label, values = encodings.custom_encoding(name, self._index)
            name = f"{label} (own)" if label in _ENCODINGS else label
            self._custom[name] = values
        elif name and name not in self.names and name not in encodings.OWN_COLUMNS:
            raise GraphEditError(
                f"Ops cannot be colored by {name[:60]!r}; "
                + in_cell(
                    f"by {encodings.quote_names(self.names)}, a column of editor.table(), a dict "
                    "of names and values, or a function of an op."
                )
            )
        self.current, self._batch = name, batch
        try:
            if name in _MEASURED and not self._evaluator.costs:
                self._measure()
            self._of(self._index)
        except BaseException:
            self.current, self._batch, self._custom = before
            raise

    @property
    def names(self) -> tuple[str, ...]:
        """The encodings by name, those of the user last."""
        return (*_ENCODINGS, *self._custom)

    @property
    def legend(self) -> Legend | None:
        """The legend of the colors; None for the default ones."""
        values = self._of(self._index)
        return None if values is None else values.legend(self.current)

    def tints(self, scene: Scene) -> tuple[npt.NDArray[np.uint8], list[str]] | None:
        """A tint (uint8, see `scene.scene.PAINT_FIELDS`) and a note per item; None by default."""
        values = self._of(scene.index)
        if values is None:
            return None
        cached = self._tinted.get(scene)
        if cached is None or cached[0] is not values:
            cached = self._tinted[scene] = values, scales.color_items(scene, values)
        return cached[1]

    def _of(self, index: GraphIndex) -> OpValues | None:
        """The values of the current encoding for the ops of an index; computed once."""
        if not self.current:
            return None
        measured = self._evaluator.measured if self.current in _MEASURED else None
        key = (index, self.current, self._batch, measured, self._custom.get(self.current))
        if self._cached_values is None or any(
            a is not b for a, b in zip(self._cached_values[0], key, strict=True)
        ):
            self._cached_values = key, self._compute(self.current, index, measured)
        return self._cached_values[1]

    def without_a_run(self, other: GraphIndex | None = None) -> dict[str, tuple[OpValues, Legend]]:
        """The values and the legend of each cheap encoding, and of the present one.

        For the index of another graph, with which it is compared, without what was measured, or has
        changed, in the current one.
        """
        current = self._index
        index, views = current if other is None else other, dict[str, tuple[OpValues, Legend]]()
        small, is_current = len(index) <= _MOST_AT_ONCE, index is current
        for by in self.names:
            is_choice = by == self.current and (is_current or by not in (*_MEASURED, "diff"))
            if not is_choice and (not small or by in _NOT_CHEAP):
                continue
            if is_choice and is_current:
                values = self._of(index)
            else:
                values = (
                    self._compute(by, index, None)
                    if is_choice or by in self._custom
                    else _encode(by, index)
                )
            legend = None if values is None else values.legend(by)
            if values is not None and legend is not None and (is_choice or _has_colors(legend)):
                views[by] = values, legend
        return views

    def _compute(self, by: str, index: GraphIndex, measured: Measurement | None) -> OpValues:
        if by in self._custom:
            return self._custom[by](index)
        if by == "diff":
            return encodings.by_difference(index, self._evaluator.diff(None))
        if by in _MEASURED:
            value = np.full(len(index), np.nan) if measured is None else measured.column(index, by)
            notice = _NOT_MEASURED if measured is None else measured.summary
            return Numbers(value, _UNITS[by], total=True, notice=notice)
        if by in _COSTS:
            return _numbers(by, index, self._costs(by, index, self._batch), self._batch)
        return _encode(by, index) if by in _ENCODINGS else encodings.table_column(by, index)

    def _costs(self, by: str, index: GraphIndex, batch: int) -> Floats:
        """What ops cost for a batch of that size."""
        if by == "parameters":
            return costs.parameters(index)
        at_batch = runtime.measure.at_batch(index, batch)
        if by == "output bytes":
            return costs.output_bytes(at_batch)
        view = self._navigator.here
        return runtime.measure.flops_and_calls(at_batch, view.body if index is view.index else None)

    @property
    def batch_notice(self) -> str:
        """The sentence about the batch size that costs assume; "" if all dimensions are known."""
        return f"batch = {self._batch:,}" if _has_unknown(self._index) else ""

    def cost_columns(self) -> dict[str, Floats]:
        """The costs of each op as arrays, (ops,), NaN where they are unknown.

        Parameters are those of the op that computes with them, where a variable is read.
        """
        index, measured = self._index, self._evaluator.measured
        parameters = costs.parameters(index)
        users = costs.users(index, find_op_facts(index).depends_on_input)
        at_users = np.zeros(len(index))
        np.add.at(at_users, users, parameters)
        unknown = np.full(len(index), np.nan)
        return {
            "parameters": at_users,
            "flops": self._costs("FLOPs", index, self._batch),
            "bytes": self._costs("output bytes", index, self._batch),
            "time": unknown if measured is None else measured.column(index, "time"),
        }

    def cost_values(self, batch: int) -> dict[str, Sequence[object]]:
        """What each op costs by column, with `batch` for sizes that are unknown."""
        _check_batch(batch)
        index = self._index
        table: dict[str, Sequence[object]] = {"name": list(index.names), "type": list(index.types)}
        for by in ("parameters", "output bytes", "FLOPs"):
            table[by.lower().replace(" ", "_")] = _integers(self._costs(by, index, batch))
        measured = self._evaluator.measured
        if measured is not None:
            table |= {
                by: [None if np.isnan(v) else v for v in measured.column(index, by)]
                for by in _MEASURED
            }
        return table

    def _measure(self) -> None:
        """Measure, if nothing has to be fed for it."""
        try:
            self._evaluator.measure(None, None, 1, None)
        except GraphEditError as error:
            raise GraphEditError(
                "Nothing was measured yet, and it cannot be measured without feeds ("
                + error.why.clause
                + "): "
                + either("call editor.measure(outputs, feeds={…}).", "use Measure time."),
                error.ops,
            ) from error


def cheap_encodings(index: GraphIndex) -> dict[str, tuple[OpValues, Legend]]:
    """The values and legend of each cheap encoding: `ColorModel.without_a_run` of a new editor."""
    cheap = [by for by in _ENCODINGS if by not in _NOT_CHEAP] if len(index) <= _MOST_AT_ONCE else []
    values = {by: _encode(by, index) for by in cheap}
    return {
        by: (each, legend) for by, each in values.items() if _has_colors(legend := each.legend(by))
    }


def _encode(by: str, index: GraphIndex) -> OpValues:
    """The values of an encoding that is cheap to compute; for costs unknown sizes count as 1."""
    if by in encodings.ENCODINGS:
        return encodings.ENCODINGS[by](index)
    count = costs.parameters if by == "parameters" else costs.output_bytes
    return _numbers(by, index, count(index), 1)


_COSTS = ("parameters", "output bytes", "FLOPs")


def _numbers(by: str, index: GraphIndex, value: Floats, batch: int) -> Numbers:
    """What ops cost, with what is not known of it."""
    unknown = int(np.isnan(value).sum())
    notices = [f"batch = {batch:,}"] if by != "parameters" and _has_unknown(index) else []
    notices += [f"{unknown:,} op{'s' * (unknown > 1)} unknown"] if unknown else []
    at = costs.users(index, find_op_facts(index).depends_on_input) if by == "parameters" else None
    return Numbers(value, _UNITS[by], total=True, notice=" · ".join(notices), at=at)


def _has_colors(legend: Legend) -> bool:
    return bool(legend.entries or legend.high)


_LARGEST_SIZE = 2**63 - 1  # of a dimension, which TensorFlow holds as an int64


def _check_batch(batch: object) -> None:
    if not isinstance(batch, int) or isinstance(batch, bool) or not 1 <= batch <= _LARGEST_SIZE:
        raise WrongType("batch", f"{batch!r} is not a batch size; " + in_cell("write batch=32."))


def _integers(values: Floats) -> list[int | None]:
    return [None if np.isnan(value) else int(value) for value in values.tolist()]


def _has_unknown(index: GraphIndex) -> bool:
    """Whether some tensor has a dimension that is not known."""
    return any(None in (index.shape(i, 0) or ()) for i in range(len(index)) if index.dtypes(i))

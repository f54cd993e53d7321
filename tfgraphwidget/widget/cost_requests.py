"""The table of costs: parameters, FLOPs, bytes and times of ops, and their sums by name scope."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph import GraphIndex, backward
from tfgraphwidget.hierarchy import Mask, find_op_facts
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.widget import protocol as p

if TYPE_CHECKING:
    from tfgraphwidget.editor import GraphEditor

Floats = npt.NDArray[np.float64]
_MOST_ROWS = 1_000  # what a table can show
_UNKNOWN = -1.0
_COLUMNS = ("parameters", "flops", "bytes", "time")


class _Columns(NamedTuple):
    """The columns of a table, and the graph and the measurement that they are of."""

    graph: GraphIndex
    measured: object
    columns: Mapping[str, Floats]


class CostRequests:
    """Answers Costs. Columns are computed once per graph, times once per measurement."""

    def __init__(self, editor: GraphEditor) -> None:
        self._editor = editor
        self._cached: _Columns | None = None

    def table(self, request: p.Costs) -> p.CostTable:
        """The first rows, sorted by a column, and the row of the current op or scope."""
        index, columns = self._editor._core.index, self._columns()
        if request.what == "scopes":
            names = [f"{name}/" for name in index.scopes.names[1:]]
            types = [""] * len(names)
            columns = {by: self._scope_sums(column)[1:] for by, column in columns.items()}
        else:
            names, types = list(index.names), list(index.types)
        order = _order(names, columns, request)
        top_rows = order[: max(0, min(request.limit, _MOST_ROWS))]
        current = self._row_of(request, names)
        ranks = {row: rank for rank, row in enumerate(order, 1)}
        if current is not None and current in ranks and current not in top_rows:
            top_rows = [*top_rows, current]
        measured = self._editor._core.evaluator.measured
        times = "" if measured is None else measured.summary or "one run"
        rows = []
        for row in top_rows:
            costs = _numbers(columns, row)
            rows.append(p.CostRow(names[row], types[row], *costs, ranks[row]))
        whole = {by: np.array([_total(column)]) for by, column in self._columns().items()}
        total = p.CostRow("", "", *_numbers(whole, 0), 0)
        notice = self._editor._core.coloring.batch_notice
        return p.CostTable(tuple(rows), total, len(order), times, notice)

    def _columns(self) -> Mapping[str, Floats]:
        """Each column, (ops,), NaN where it is unknown."""
        core = self._editor._core
        index, measured = core.index, core.evaluator.measured
        cached = self._cached
        if cached is None or cached.graph is not index or cached.measured is not measured:
            computing = _computing(index)
            costs = core.coloring.cost_columns()
            columns = {by: np.where(computing, column, np.nan) for by, column in costs.items()}
            cached = self._cached = _Columns(index, measured, columns)
        return cached.columns

    def _scope_sums(self, column: Floats) -> Floats:
        """The sums over all ops in each scope, (scopes,); NaN where none is known."""
        scopes = self._editor._core.index.scopes
        ordered = column[scopes.order]
        valid_counts = np.concatenate([[0], np.cumsum(~np.isnan(ordered))])
        sums = np.concatenate([[0.0], np.cumsum(np.nan_to_num(ordered))])
        totals = sums[scopes.stop] - sums[scopes.start]
        return np.where(valid_counts[scopes.stop] > valid_counts[scopes.start], totals, np.nan)

    def _row_of(self, request: p.Costs, names: list[str]) -> int | None:
        """The row of the current op or scope; among scopes that of the scope around an op."""
        if not request.current:
            return None
        name = request.current
        if request.what == "ops":
            return self._editor._core.index.ids.get(split_tensor(name)[0])
        while name and name not in names:
            name = f"{name.rstrip('/').rpartition('/')[0]}/".lstrip("/")
        return names.index(name) if name else None


def _computing(index: GraphIndex) -> Mask:
    """The ops that results depend on: initializers, savers and summaries cost nothing in a step."""
    fed = find_op_facts(index).depends_on_input
    return backward(index, np.flatnonzero(fed)) if fed.any() else np.ones(len(index), bool)


def _order(names: list[str], columns: Mapping[str, Floats], request: p.Costs) -> list[int]:
    """The rows that cost anything, or all for a sort by name, sorted; unknown values are last."""
    if request.by == "name":
        return sorted(range(len(names)), key=names.__getitem__, reverse=not request.ascending)
    ascending = columns[request.by] if request.ascending else -columns[request.by]
    order = np.argsort(np.where(np.isnan(ascending), np.inf, ascending), kind="stable")
    costly = np.zeros(len(names), bool)
    for costs in columns.values():
        costly |= np.nan_to_num(costs) > 0
    return [row for row in order.tolist() if costly[row]]


def _total(column: Floats) -> float:
    return float(np.nansum(column)) if not np.isnan(column).all() else float("nan")


def _numbers(columns: Mapping[str, Floats], row: int) -> tuple[float, float, float, float]:
    parameters, flops, size, time = (_number(columns[by][row]) for by in _COLUMNS)
    return parameters, flops, size, time


def _number(cost: np.float64) -> float:
    return _UNKNOWN if np.isnan(cost) else float(cost)

"""An index as a table: one row per op."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op import Op
from tfgraphwidget.graph.tensors import shape_text
from tfgraphwidget.graph.variables import all_variables, own_ops
from tfgraphwidget.naming import words
from tfgraphwidget.optional_packages import import_package

if TYPE_CHECKING:
    from pandas import DataFrame

COLUMNS = words("name type scope device inputs control_inputs outputs consumers variable")


def table(index: GraphIndex) -> DataFrame:
    """A pandas DataFrame of the `rows`, in graph order; its columns are COLUMNS."""
    return frame(rows(index), COLUMNS)


def rows(index: GraphIndex) -> list[dict[str, object]]:
    """A dict with the keys COLUMNS for each op, in graph order.

    These are inputs and control_inputs (tuples of names, in slot order); outputs (a tuple of texts
    "float32 (None, 3)", in port order); consumers (how many ops take one of its tensors); variable
    (the one that the op is a part of, as handle, assign, read or check; "" for all others).
    """
    variable_of: dict[int, str] = {}
    for variable in all_variables(index):
        variable_of |= dict.fromkeys(own_ops(index, variable), variable.handle)
    return [_row(Op(index, i), variable_of.get(i, "")) for i in range(len(index))]


def frame(records: Iterable[Mapping[str, object]], columns: Iterable[str]) -> DataFrame:
    """Rows, each {column: value}, as a pandas DataFrame; pandas is imported for the first table."""
    pandas = import_package("pandas", "Tables are DataFrames of pandas")
    return pandas.DataFrame(list(records), columns=list(columns))


def _row(op: Op, variable: str) -> dict[str, object]:
    tensors = zip(op.dtypes, op.shapes, strict=True)
    outputs = tuple(f"{dtype or 'unknown'} {shape_text(shape)}" for dtype, shape in tensors)
    values = (
        op.name,
        op.type,
        op.scope,
        op.device,
        op.inputs,
        op.control_inputs,
        outputs,
        len(op.consumers),
        variable,
    )
    return dict(zip(COLUMNS, values, strict=True))

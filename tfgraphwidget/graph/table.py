"""An index as a table: one row per op."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op import Op
from tfgraphwidget.graph.tensors import shape_text


def table(index: GraphIndex) -> Any:
    """A pandas DataFrame when pandas is installed, else the same rows as a list of dicts, in graph order.

    Columns: name, type, scope, device; inputs and control_inputs (tuples of names, in slot order); outputs (a tuple of
    texts "float32 (None, 3)", in port order); readers (how many ops read one of its tensors).
    """
    rows = [_row(Op(index, i)) for i in range(len(index))]
    try:
        import pandas as pd
    except ImportError:
        return rows
    return pd.DataFrame(rows, columns=list(_COLUMNS))


_COLUMNS = ("name", "type", "scope", "device", "inputs", "control_inputs", "outputs", "readers")


def _row(op: Op) -> dict[str, Any]:
    tensors = zip(op.dtypes, op.shapes, strict=True)
    outputs = tuple(f"{dtype or 'unknown'} {shape_text(shape)}" for dtype, shape in tensors)
    told = (op.name, op.type, op.scope, op.device, op.inputs, op.control_inputs, outputs, len(op.readers))
    return dict(zip(_COLUMNS, told, strict=True))

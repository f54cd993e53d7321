"""The enumerations and the tables of options of TensorFlow Lite's schema.

They are data that `tests/sources/files/lite_schema.py` takes from TensorFlow, so that files are
read without it.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tfgraphwidget.sources.files.flat_buffer import Table

TABLE = Path(__file__).with_suffix(".tsv")
_CODES = {
    "Bool": "?",
    "Int8": "b",
    "Uint8": "B",
    "Int16": "h",
    "Uint16": "H",
    "Int32": "i",
    "Uint32": "I",
    "Int64": "q",
    "Uint64": "Q",
    "Float32": "f",
    "Float64": "d",
}
"""The types of fields as `struct` names them."""


@cache
def _rows() -> dict[str, dict[int, list[str]]]:
    """The table: {kind: {number: what follows}}."""
    rows: dict[str, dict[int, list[str]]] = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        kind, number, *rest = line.split("\t")
        rows.setdefault(kind, {})[int(number)] = rest
    return rows


def name_of(kind: str, number: int) -> str:
    """The name of a number: of the kind "operator", "dtype" or an enumeration; or ""."""
    return _rows()[kind].get(number, [""])[0]


def options_of(kind: int, table: Table) -> Iterator[tuple[str, object]]:
    """The options of an operator by name: numbers, truth values, and names of enumerations. The
    kind is the number of their table in the schema's union.
    """
    for row in _rows()["options"].get(kind, [""])[1:]:
        name, number, kind_of_number, default, enumeration = row.split(":")
        code = _CODES[kind_of_number]
        value = table.number(int(number), code, literal_eval(default))
        yield name, (name_of(enumeration, value) or value) if enumeration else value

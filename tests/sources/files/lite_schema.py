"""The parts of TensorFlow Lite's schema that files are read with, from the TensorFlow installed.

python -m tests.sources.files.lite_schema
"""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path

import tensorflow as tf

from tfgraphwidget.sources.files import lite_schema

SOURCE = Path(tf.__file__).parent / "lite" / "python" / "schema_py_generated.py"
# Fields that hold a number of an enumeration, which their types do not say.
ENUMERATED = {
    "fused_activation_function": "ActivationFunctionType",
    "padding": "Padding",
    "mode": "MirrorPadMode",
    "in_data_type": "dtype",
    "out_data_type": "dtype",
    "output_type": "dtype",
    "idx_out_type": "dtype",
}
# An option that is one number: its offset in the table, and its type.
SCALAR = re.compile(
    r"Offset\((\d+)\).*?self\._tab\.Get\(flatbuffers\.number_types\.(\w+)Flags", re.DOTALL
)
FIRST_OFFSET, BYTES_OF_AN_OFFSET = 4, 2  # in the table of offsets of a FlatBuffer's table


def rows() -> str:
    """The text of `lite_schema.tsv`."""
    text = SOURCE.read_text(encoding="utf-8")
    source = text.splitlines(keepends=True)
    classes = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}
    lines = [*_enumeration("operator", "BuiltinOperator"), *_enumeration("dtype", "TensorType")]
    lines += [
        f"{name}\t{number}\t{value}"
        for name in ("ActivationFunctionType", "Padding", "MirrorPadMode")
        for number, value in _members(name)
    ]
    for number, options in _members("BuiltinOptions"):
        fields = list(_fields(source, classes[options])) if options in classes else []
        lines.append("\t".join(["options", str(number), options, *fields]))
    return "\n".join([*lines, ""])


def _module() -> object:
    spec = importlib.util.spec_from_file_location("schema", SOURCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MODULE = _module()


def _members(name: str) -> list[tuple[int, str]]:
    """The numbers and the names of an enumeration."""
    values = vars(getattr(MODULE, name)).items()
    return sorted((value, key) for key, value in values if isinstance(value, int))


def _enumeration(kind: str, name: str) -> list[str]:
    return [f"{kind}\t{number}\t{value}" for number, value in _members(name)]


def _fields(source: list[str], table: ast.ClassDef):
    """The scalar fields of a table of options: "padding:0:Int8:Padding"."""
    for method in table.body:
        if not isinstance(method, ast.FunctionDef) or len(method.args.args) != 1:
            continue
        found = SCALAR.search("".join(source[method.lineno - 1 : method.end_lineno]))
        if found is None or method.name.endswith("Length"):
            continue
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", method.name).lower()
        number = (int(found[1]) - FIRST_OFFSET) // BYTES_OF_AN_OFFSET
        default = method.body[-1].value
        yield f"{name}:{number}:{found[2]}:{ast.unparse(default)}:{ENUMERATED.get(name, '')}"


if __name__ == "__main__":
    lite_schema.TABLE.write_text(rows(), encoding="utf-8")

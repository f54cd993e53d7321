"""Every set of op types is in graph/op_types.py, and TensorFlow has the op types that it names."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from tensorflow.core.framework import types_pb2
from tensorflow.python.framework import op_def_registry

from tests.parsing import parsed
from tfgraphwidget.graph import op_types

PACKAGE = Path(op_types.__file__).parents[1]
SETS = {
    name: value
    for name, value in vars(op_types).items()
    if isinstance(value, frozenset) and "DTYPES" not in name
}
# Here the op types are what the code makes, not what it looks for.
MADE_THERE = {
    "graph/effects.py": "what decides the effect of an op, beside the table of effects",
    "edits/rewire/adapters.py": "the ops that an edit can put between, which are the values of an "
    "option too",
    "runtime/measure/flops.py": "a formula for each op type, where those with the same formula "
    "share it",
    "runtime/session/untransferable.py": "the ops that count what a staging area or barrier holds",
    "lint/target_ops.py": "what other runtimes take, in tables of its own",
    "graph/converted_op_types.py": "what other runtimes call an op, in tables of its own",
    "sources/inference/shape_functions.py": "a shape function for each op type, where those with "
    "the same one share it",
    "widget/edit_buttons.py": "the ops that a form proposes, in the order of its list",
    "edits/rewrite/derived_constants.py": "what a size or a sum passes on its way, which only this "
    "question has",
    "edits/old_ops.py": "a translation for each op type that ended, where those with the same one "
    "share it",
    "tf_internals/functions.py": "lies below `graph`, and asks what TensorFlow's own classes are",
}


def literal_sets(tree: ast.AST) -> list[tuple[int, list[str]]]:
    """(line, op types) of each set, tuple or list display of two or more constants, and each text
    of two or more words, that are all op types.
    """
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Set | ast.Tuple | ast.List):
            texts = [
                part.value
                for part in node.elts
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
            ]
            is_list = len(texts) == len(node.elts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts, is_list = node.value.split(), True
        else:
            continue
        if is_list and len(texts) >= 2 and all(op_def_registry.get(text) for text in texts):
            found.append((node.lineno, texts))
    return found


@pytest.mark.parametrize("name", SETS)
def test_tensorflow_registers_each_op_type(name):
    assert SETS[name]
    assert [op_type for op_type in SETS[name] if op_def_registry.get(op_type) is None] == []


def test_each_set_is_another_one():
    assert len(set(SETS.values())) == len(SETS)


def test_the_numbers_of_dtypes_are_those_of_tensorflow():
    assert (op_types.DT_RESOURCE, op_types.DT_VARIANT) == (
        types_pb2.DT_RESOURCE,
        types_pb2.DT_VARIANT,
    )


def test_what_infers_shapes_instead_has_the_same_attributes():
    for op_type, other in op_types.SHAPE_EQUIVALENTS.items():
        attributes = [
            {a.name: a.type for a in op_def_registry.get(each).attr} for each in (op_type, other)
        ]
        assert attributes[0] == attributes[1]


def test_no_other_module_lists_op_types():
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        module = path.relative_to(PACKAGE).as_posix()
        if module != "graph/op_types.py" and module not in MADE_THERE:
            found = literal_sets(parsed(path))
            wrong += [f"{module}:{line}: {', '.join(texts)}" for line, texts in found]
    assert wrong == []


def test_the_exceptions_are_still_needed():
    for module in MADE_THERE:
        assert literal_sets(parsed(PACKAGE / module))


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ('_SAME = frozenset({"Identity", "Enter"})', 1),
        ('if kind in ("Const", "HostConst"): ...', 1),
        ('_SAME = words("Identity Enter")', 1),
        ('_CALLS = {"If"}', 0),
        ('__all__ = ["Enter", "find"]', 0),
    ],
)
def test_the_check_notices(line, count):
    assert len(literal_sets(ast.parse(line))) == count

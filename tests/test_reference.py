"""The reference is the docstrings: whatever a person calls has an example there, and pytest runs them all."""

from __future__ import annotations

import doctest
import inspect
import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import tfgraphwidget as tgw
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.graph.selection import Selection
from tfgraphwidget.runtime.live.clone_result import Copy

ROOT = Path(__file__).parents[1]
CLASSES = {"GraphEditor": GraphEditor, "Copy": Copy, "Selection": Selection}
IN_CLASS = "the class's own example shows it"

# Public names that do without an example, and why.
WITHOUT = {
    "Copy.model": "what `tgw.sync` asks of a copy",
    "Selection.control_inputs": IN_CLASS,
    "Selection.ends": IN_CLASS,
    "Selection.ids": "numbers of ops, for other modules; a person reads `ops`",
    "Selection.inputs": IN_CLASS,
    "Selection.inside": IN_CLASS,
    "Selection.of": "makes a selection of numbers of ops, for other modules",
    "Selection.on": "brings a selection to a later state of the graph; the editor does it by itself",
    "Selection.ops": IN_CLASS,
    "Selection.outputs": IN_CLASS,
    "Selection.passthroughs": "a field of the value, as `tensors` is",
    "Selection.variables": IN_CLASS,
    "Selection.whole": "is of v1 loops, and takes a model to be seen; `GraphEditor.loops` has a small one",
    "Selection.walk_with": "`upstream` and `downstream`, with options that were checked",
}


def public() -> Iterator[tuple[str, Any]]:
    """("GraphEditor.clone", what has the docstring) for each public method and property, and ("edit", …)."""
    yield from ((name, getattr(tgw, name)) for name in tgw.__all__ if inspect.isfunction(getattr(tgw, name)))
    for title, cls in CLASSES.items():
        yield title, cls
        for name in sorted({name for base in cls.__mro__[:-1] for name in vars(base) if not name.startswith("_")}):
            if ours := [base for base in cls.__mro__ if name in vars(base) and base.__module__.startswith("tfg")]:
                found = next((base for base in ours if ">>>" in (inspect.getdoc(vars(base)[name]) or "")), ours[0])
                if callable(vars(found)[name]) or hasattr(vars(found)[name], "__get__"):
                    yield f"{title}.{name}", vars(found)[name]


def has_example(thing: Any) -> bool:
    return ">>>" in (inspect.getdoc(thing) or "")


NAMES = dict(public())


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_public_name_has_an_example_or_a_reason_to_have_none(name):
    assert has_example(NAMES[name]) != (name in WITHOUT)


def test_reasons_are_given_for_names_that_there_are():
    assert WITHOUT.keys() <= NAMES.keys()


def test_what_the_guide_calls_on_the_editor_has_an_example():
    cells = [
        "".join(cell["source"])
        for path in sorted((ROOT / "notebooks").glob("*.ipynb"))
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        if cell["cell_type"] == "code"
    ]
    text = "\n".join([(ROOT / "README.md").read_text(encoding="utf-8"), *cells])
    called = {name for name in re.findall(r"\beditor\.([a-z]\w*)", text) if f"GraphEditor.{name}" in NAMES}
    assert len(called) > 50
    assert {name for name in called if not has_example(NAMES[f"GraphEditor.{name}"])} == set()


def test_every_example_is_one_that_pytest_finds(request):
    assert request.config.option.doctestmodules
    assert "tfgraphwidget" in request.config.getini("testpaths")
    found: dict[str, str] = {}
    for module in sorted({_module(thing) for thing in NAMES.values()}):
        tests = doctest.DocTestFinder(exclude_empty=True).find(import_module(module))
        found |= {test.docstring: test.name for test in tests if test.examples}
    assert {name for name, thing in NAMES.items() if has_example(thing) and thing.__doc__ not in found} == set()


def _module(thing: Any) -> str:
    told = getattr(thing, "fget", None) or getattr(thing, "func", None) or thing
    return str(told.__module__)

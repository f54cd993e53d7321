"""The docstrings are the reference: each public name has an example, and each parameter is
documented.
"""

from __future__ import annotations

import ast
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
from tests.editor.public_names import public_members
from tests.parsing import parsed
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.editor.command_methods import EditMethod
from tfgraphwidget.graph.selection import Selection
from tfgraphwidget.naming import words
from tfgraphwidget.runtime.live.clone_result import Copy

ROOT = Path(__file__).parents[1]
CLASSES = {"GraphEditor": GraphEditor, "Copy": Copy, "Selection": Selection}
IN_CLASS = "the class's own example shows it"

# Public names that do without an example, and why.
WITHOUT = {
    "Copy.model": "what `tgw.sync` asks of a copy",
    "Selection.control_inputs": IN_CLASS,
    "Selection.boundary": IN_CLASS,
    "Selection.ids": "numbers of ops, for other modules; a person reads `ops`",
    "Selection.inputs": IN_CLASS,
    "Selection.inside": IN_CLASS,
    "Selection.of": "makes a selection of numbers of ops, for other modules",
    "Selection.on": "brings a selection to a later state of the graph; the editor does it by "
    "itself",
    "Selection.ops": IN_CLASS,
    "Selection.outputs": IN_CLASS,
    "Selection.passthroughs": "a field of the value, as `tensors` is",
    "Selection.variables": IN_CLASS,
    "Selection.whole": "is of v1 loops, and takes a model to be seen; `Selection.loops` has a "
    "small one",
    "Selection.walk_with": "`upstream` and `downstream`, with options that were checked",
}


def public() -> Iterator[tuple[str, Any]]:
    """("GraphEditor.clone", what has the docstring) for each public method and property, and
    ("edit", …).
    """
    yield from (
        (name, getattr(tgw, name)) for name in tgw.__all__ if inspect.isfunction(getattr(tgw, name))
    )
    for title, cls in CLASSES.items():
        yield title, cls
        for name in sorted(
            {name for base in cls.__mro__[:-1] for name in vars(base) if not name.startswith("_")}
        ):
            if ours := [
                base
                for base in cls.__mro__
                if name in vars(base) and base.__module__.startswith("tfg")
            ]:
                found = next(
                    (base for base in ours if ">>>" in (inspect.getdoc(_member(base, name)) or "")),
                    ours[0],
                )
                if callable(_member(found, name)) or hasattr(_member(found, name), "__get__"):
                    yield f"{title}.{name}", _member(found, name)


def _member(cls: type, name: str) -> Any:
    """What a class has by a name; of the method of a command, the function."""
    member = vars(cls)[name]
    return member.function if isinstance(member, EditMethod) else member


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
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    text = "\n".join([*(page.read_text(encoding="utf-8") for page in pages), *cells])
    called = {
        name for name in re.findall(r"\beditor\.([a-z]\w*)", text) if f"GraphEditor.{name}" in NAMES
    }
    assert len(called) > 50
    assert {name for name in called if not has_example(NAMES[f"GraphEditor.{name}"])} == set()


def test_every_example_is_one_that_pytest_finds(request):
    assert request.config.option.doctestmodules
    assert "tfgraphwidget" in request.config.getini("testpaths")
    found: set[tuple[str, ...]] = set()
    for module in sorted({_module(thing) for thing in NAMES.values()}):
        tests = doctest.DocTestFinder(exclude_empty=True).find(import_module(module))
        found |= {tuple(example.source for example in test.examples) for test in tests}
    assert {
        name
        for name, thing in NAMES.items()
        if has_example(thing) and _examples(thing) not in found
    } == set()


def _examples(thing: Any) -> tuple[str, ...]:
    return tuple(
        example.source
        for example in doctest.DocTestParser().get_examples(inspect.getdoc(thing) or "")
    )


def _module(thing: Any) -> str:
    report = getattr(thing, "fget", None) or getattr(thing, "func", None) or thing
    return str(report.__module__)


REFERS = re.compile(r"\b[Ss]ee `")  # the same parameters are documented there


def parameters(function: ast.FunctionDef) -> list[str]:
    arguments = function.args
    every = [
        *arguments.posonlyargs,
        *arguments.args,
        arguments.vararg,
        *arguments.kwonlyargs,
        arguments.kwarg,
    ]
    names = [each.arg for each in every if each is not None]
    return [name for name in names if name not in ("self", "cls") and not name.startswith("_")]


def public_functions(path: Path) -> Iterator[ast.FunctionDef]:
    """Functions and methods whose names, and whose classes' names, have no underscore in front."""

    def within(body: list[ast.stmt]) -> Iterator[ast.FunctionDef]:
        for node in body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                if isinstance(node, ast.ClassDef):
                    yield from within(node.body)
                elif node.name != "from_call" and not any(  # whose parameters the class documents
                    re.search("overload|setter", ast.unparse(each)) for each in node.decorator_list
                ):
                    yield node

    yield from within(parsed(path).body)


def undocumented(path: Path) -> list[str]:
    """ "function(parameter)" of each parameter that no docstring says anything of; three or more
    are a list.
    """
    found = []
    for function in public_functions(path):
        text, names = ast.get_docstring(function) or "", parameters(function)
        form = r"(?m)^\s*\**{}:" if len(names) > 2 else r"\b{}\b"
        if not REFERS.search(text):
            found += [
                f"{function.name}({name})"
                for name in names
                if not re.search(form.format(name), text)
            ]
    return found


CALLED_BY_USERS = words(
    "__init__.py editor/*_api.py editor/graph_editor.py editor/splitting.py graph/selection.py",
    "graph/op.py graph/diff.py graph/patterns/builder.py graph/patterns/match.py graph_editor/*.py",
    "runtime/functions/module_*.py runtime/live/clone_result.py layout/compound.py",
    "edits/registry.py",
)
"""The modules of what a user calls; elsewhere a docstring is a true sentence, and types say the
rest.
"""


def test_every_function_that_users_call_documents_every_parameter():
    paths = sorted(
        {path for pattern in CALLED_BY_USERS for path in (ROOT / "tfgraphwidget").glob(pattern)}
    )
    assert len(paths) > 20
    missing = {
        str(path.relative_to(ROOT)): names for path in paths if (names := undocumented(path))
    }
    assert missing == {}


@pytest.mark.parametrize(
    "name", sorted(name for name, thing in NAMES.items() if inspect.isfunction(thing))
)
def test_what_a_person_calls_lists_its_parameters_under_args(name):
    thing = NAMES[name]
    text = inspect.getdoc(thing) or ""
    names = [each for each in inspect.signature(thing).parameters if each != "self"]
    assert [each for each in names if not re.search(rf"(?m)^\s*\**{each}:", text)] == []


def test_a_parameter_without_a_sentence_is_found(tmp_path):
    path = tmp_path / "module.py"
    path.write_text('def scale(tensor, factor):\n    """The `tensor`, larger."""\n')
    assert undocumented(path) == ["scale(factor)"]


def test_every_public_name_of_an_editor_is_in_a_guide():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    generated = {"verbs.md", "contributing.md"}
    guides = [
        page for page in pages if page.name not in generated and "reference" not in page.parts
    ]
    text = "\n".join(page.read_text(encoding="utf-8") for page in guides)
    names = {name.rpartition(".")[2] for name in public_members()} | {
        name for name in tgw.__all__ if name.islower()
    }
    assert {name for name in names if not re.search(rf"[.`]{name}\b", text)} == set()

"""The design as tests: who may import whom, and who may import which library."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "tfgraphwidget"

# Row, and where in the row: a package may import what has a lower pair.
ROWS = {
    "jupyterlab": (8, 1), "lab": (8, 2), "__main__": (8, 2),
    "widget": (7, 1), "cli": (7, 1), "graph_editor": (7, 1),
    "editor": (6, 1),
    "export": (5, 1),
    "runtime": (4, 1),
    "scene": (3, 4), "layout": (3, 3), "visible": (3, 2), "edits": (3, 1), "sources": (3, 1), "hierarchy": (3, 1),
    "graph": (2, 1),
    "writable": (1, 3), "naming": (1, 2), "argument_checks": (1, 3), "lazy_front": (1, 2),
    "errors": (1, 1), "progress": (1, 1), "cancellation": (1, 1),
}  # fmt: skip

# Reading and describing files takes messages and op definitions from sources.tf_protos, which loads them by name.
ALLOWED = {
    "tensorflow": (
        "sources.describe.docs",
        "sources.example",
        "sources.files.importing",
        "sources.functions",
        "sources.inference.shapes",
        "sources.live",
        "sources.opening",
        "sources.source",
        "sources.tf_errors",
        "runtime",
        "export",
        "graph_editor",
    ),
    "anywidget": ("widget.widget",),
    "matplotlib": ("scene.rendering.matplotlib_axes",),
    "networkx": ("graph.nx", "layout.free_form.external"),
}

# Packages of which others import the names in `__all__` of `__init__.py` only. `lab` is an older name of `jupyterlab`.
FRONTS = {"sources": (), "cli": (), "jupyterlab": ("lab",)}

MODULES = sorted(PACKAGE.rglob("*.py"))


def dotted(path: Path) -> str:
    """The module's name inside the package: 'runtime.live.graph_import', 'graph', '' for the package itself."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """(line, full dotted name) of everything imported anywhere in a file: in functions and under TYPE_CHECKING too."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            prefix = ".".join((*base, *([node.module] if node.module else [])))
            yield from ((node.lineno, f"{prefix}.{alias.name}") for alias in node.names)


@cache
def front_names(package: str) -> frozenset[str]:
    """What `__all__` of a package lists."""
    tree = ast.parse((PACKAGE / package / "__init__.py").read_text(encoding="utf-8"))
    assigned = {ast.unparse(node.targets[0]): node.value for node in tree.body if isinstance(node, ast.Assign)}
    return frozenset(ast.literal_eval(assigned["__all__"]))


def wrong_imports(path: Path) -> list[str]:
    """A sentence for each import that goes up, sideways, or to a library out of its place."""
    wrong = []
    own = dotted(path)
    top = own.split(".")[0]
    for line, name in imports(path):
        first, _, rest = name.partition(".")
        where = f"{path.relative_to(ROOT)}:{line}"
        if first in ALLOWED and not any(own == place or own.startswith(place + ".") for place in ALLOWED[first]):
            wrong.append(f"{where}: only {', '.join(ALLOWED[first])} may import {first}")
        target = rest.split(".")[0]
        if first == PACKAGE.name and target in ROWS and own and target != top and ROWS[target] >= ROWS[top]:
            wrong.append(f"{where}: {top} (row {ROWS[top][0]}) imports {target} (row {ROWS[target][0]})")
        imported = rest.partition(".")[2]
        is_outside = first == PACKAGE.name and target in FRONTS and top not in (target, *FRONTS[target])
        if is_outside and imported not in front_names(target):
            wrong.append(f"{where}: {imported or 'the whole'} of {target} is not in its front")
        if first == PACKAGE.name and own and (not rest or target not in ROWS):
            wrong.append(f"{where}: {name} is no module with a row; import the module itself")
    return wrong


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_every_module_has_a_row(path):
    name = dotted(path)
    assert not name or name.split(".")[0] in ROWS


def test_the_table_for_those_who_contribute_has_the_same_rows():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    # "     6  editor   what it does": two spaces or more between all; a row's later lines have no number, and lie
    # lower.
    found: dict[str, tuple[int, int]] = {}
    for block in re.findall(r"^ {4}\d  .+\n(?: {7}\w.+\n)*", text, re.MULTILINE):
        number, *lines = [int(block.split()[0]), *block.strip().splitlines()]
        for position, line in enumerate(reversed(lines), 1):
            *names, _ = re.split(r"\s{2,}", re.sub(r"^\s*\d?\s+", "", f" {line}"))
            found |= dict.fromkeys(names, (number, position))
    assert found == ROWS


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_imports_go_down_and_libraries_stay_in_their_place(path):
    assert wrong_imports(path) == []


@pytest.mark.parametrize(
    ("module", "line", "complaint"),
    [
        ("graph/made_up.py", "from tfgraphwidget.edits import clone", "graph (row 2) imports edits (row 3)"),
        ("hierarchy/made_up.py", "def f():\n    from ..sources import open_source", "imports sources (row 3)"),
        ("edits/made_up.py", "from tfgraphwidget import layout", "edits (row 3) imports layout (row 3)"),
        ("edits/made_up.py", "if TYPE_CHECKING:\n    import tensorflow as tf", "may import tensorflow"),
        ("editor/made_up.py", "import networkx.algorithms", "may import networkx"),
        ("naming.py", "from tfgraphwidget import edit_anything", "no module with a row"),
        (
            "export/verification/synthetic_feeds.py",
            "from tfgraphwidget.sources.paths import shorten",
            "paths.shorten of sources is not in",
        ),
        (
            "export/verification/synthetic_feeds.py",
            "from tfgraphwidget.sources import paths",
            "paths of sources is not in its front",
        ),
        (
            "export/verification/synthetic_feeds.py",
            "import tfgraphwidget.sources",
            "the whole of sources is not in its front",
        ),
        ("sources/files/made_up.py", "import tensorflow", "may import tensorflow"),
    ],
)
def test_the_check_notices(module, line, complaint, tmp_path, monkeypatch):
    front_names("sources")  # of the real package
    made_up = tmp_path / "tfgraphwidget" / module
    made_up.parent.mkdir(parents=True)
    made_up.write_text(line)
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path / "tfgraphwidget")
    assert [complaint in found for found in wrong_imports(made_up)] == [True]

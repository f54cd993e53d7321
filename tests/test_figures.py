"""`.ci/figures.py` counts what it says that it counts."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

pytestmark = pytest.mark.no_tensorflow

FILES = {
    "tfgraphwidget/__init__.py": "",
    "tfgraphwidget/graph/__init__.py": "",
    "tfgraphwidget/graph/__init__.pyi": "from .index import Index as Index",
    "tfgraphwidget/graph/index.py": "from .op import Op\n\nclass Index(Op): ...\n\n"
    "def found(): ...",
    "tfgraphwidget/graph/op.py": '"""An op,\nno more."""\n\nclass Op:\n    def at(self, row):\n    '
    '    """At `row`."""',
    "tfgraphwidget/editor.py": "from typing import Any\nfrom . import walk\nfrom .graph import "
    "Index\n\n"
    "class GraphEditor(Index):\n    def run(self, a: Any, b, c=cast('Any', 1)):\n        a._nodes "
    "= 1\n",
    "tfgraphwidget/walk.py": "from .editor import GraphEditor\n\nclass Op: ...",
    "tfgraphwidget/widget/form.py": "def can_run(target):\n    return not "
    "target.place.needs_import\n\n"
    "class Form:\n    def __init__(self, a, b, c, d, e, f, g): ...",
    "tests/test_layering.py": 'ROWS = {\n    "editor": (2, 1), "walk": (2, 2), "graph": (1, 1)\n}',
    "labextension/src/a.ts": 'import type { b } from "./b";',
    "labextension/src/b.ts": 'import { a } from "./a";\nimport { c } from "./c";',
    "labextension/src/c.ts": "export const c = 1;",
}


def test_figures_of_a_small_tree(tmp_path: Path) -> None:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    counted = runpy.run_path(str(Path(__file__).parents[1] / ".ci" / "figures.py"))["figures"](
        tmp_path
    )
    assert [figure for _, figure in counted] == [
        5,  # modules: index, op, editor, walk, form
        17,  # lines of code
        3,  # lines of docstrings
        10,  # of editor and walk
        11,  # of graph
        5,  # of widget
        0,  # nothing that edits go through
        1,  # can_run
        1,  # Form
        3,  # with one sibling that imports them: op, editor and walk
        2,  # rows
        *(1, 0, 0, 0, 0),  # run: the names of GraphEditor, and of the nouns, which are not here
        4,  # GraphEditor, Index, Op, object
        1,  # a._nodes
        2,  # Any
        1,  # found
        1,  # Op
        "1 of 1",
        "0 of 0",
        2,  # editor and walk
        2,  # a and b
    ]

"""A saved notebook without a kernel: what GitHub, nbviewer and `nbconvert --to html` show of an
editor.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from base64 import b64decode
from fnmatch import fnmatch
from typing import Any

import nbformat
import pytest

import tfgraphwidget as tgw
from tests.conftest import build_mlp


@pytest.fixture(scope="module")
def picture(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The one SVG in the page that nbconvert makes of a notebook whose only cell showed an
    editor.
    """
    data: dict[str, Any]
    data, *_ = tgw.edit(build_mlp(resource=True))._repr_mimebundle_()
    output = nbformat.v4.new_output("display_data", data=json.loads(json.dumps(data)))
    cell = nbformat.v4.new_code_cell("editor", outputs=[output], execution_count=1)
    notebook = tmp_path_factory.mktemp("saved") / "saved.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), notebook)
    subprocess.run(
        [sys.executable, "-m", "nbconvert", "--to", "html", "--log-level", "ERROR", str(notebook)],
        check=True,
        cwd=notebook.parent,
    )
    page = notebook.with_suffix(".html").read_text(encoding="utf-8")
    (found,) = re.findall(r'<img[^>]*src="data:image/svg\+xml;base64,([^"]+)"', page)
    return b64decode(found).decode()


def test_nbconvert_shows_the_last_picture(picture: str) -> None:
    texts = re.findall(r"<text\b[^>]*>([^<]+)<", picture)
    assert {"x", "▾ net"} <= {text.strip() for text in texts}


def test_a_picture_that_the_page_makes_narrower_keeps_its_proportions(picture: str) -> None:
    opening = re.match(r"\s*(<\?xml[^>]*>)?\s*(<svg\b[^>]*>)", picture)
    assert opening is not None
    width, height = (
        float(re.findall(rf' {side}="([\d.]+)"', opening[2])[0]) for side in ("width", "height")
    )
    (box,) = re.findall(r'viewBox="([^"]+)"', opening[2])
    assert [float(number) for number in box.split()] == [0, 0, width, height]
    assert "preserveAspectRatio" not in opening[2]


def test_where_the_models_are_lost_the_picture_is_what_vs_code_shows_next() -> None:
    # VS Code sorts the types of an output like this when it opens a notebook. Its renderer asks
    # whether the kernel has the model; if not, it hands over to the next type
    # ("vscode.fallbackToNextRenderer").
    order = [
        "application/vnd.*",
        "text/html",
        "text/markdown",
        "image/png",
        "image/svg+xml",
        "text/plain",
    ]
    data: dict[str, Any]
    data, *_ = tgw.edit(build_mlp(resource=True))._repr_mimebundle_()
    ranks = {
        kind: next(i for i, pattern in enumerate(order) if fnmatch(kind, pattern)) for kind in data
    }
    shown = sorted(data, key=lambda kind: ranks[kind])
    widget = "application/vnd.jupyter.widget-view+json"
    assert shown == [widget, "image/png", "image/svg+xml", "text/plain"]
    assert b64decode(data["image/png"]).startswith(b"\x89PNG")
    assert len(data["image/png"]) < 200_000
    picture = data["image/svg+xml"]
    assert not re.findall(r"<script|<foreignObject|(?:href|src)=.https?:", picture)
    assert len(picture) < 4_000_000

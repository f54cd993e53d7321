"""A saved notebook without a kernel: what GitHub, nbviewer and `nbconvert --to html` show of an editor."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

import tfgraphwidget as tgw
from tests.conftest import build_mlp


@pytest.fixture
def html(tmp_path: Path) -> str:
    """The page that nbconvert makes of a notebook whose only cell showed an editor."""
    data: dict[str, Any]
    data, *_ = tgw.edit(build_mlp(resource=True))._repr_mimebundle_()
    output = nbformat.v4.new_output("display_data", data=json.loads(json.dumps(data)))
    cell = nbformat.v4.new_code_cell("editor", outputs=[output], execution_count=1)
    notebook = tmp_path / "saved.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), notebook)
    subprocess.run(
        [sys.executable, "-m", "nbconvert", "--to", "html", "--log-level", "ERROR", str(notebook)],
        check=True,
        cwd=tmp_path,
    )
    return notebook.with_suffix(".html").read_text(encoding="utf-8")


def test_nbconvert_shows_the_last_picture(html: str) -> None:
    found = re.search(r'<img[^>]*src="data:image/svg\+xml;base64,([^"]+)"', html)
    picture = base64.b64decode(found[1]).decode() if found else html
    drawing = re.search(r"<svg\b.*?</svg>", picture, re.DOTALL)
    assert drawing is not None
    texts = re.findall(r"<text\b[^>]*>([^<]+)<", drawing[0])
    assert {"x", "net"} <= {text.strip() for text in texts}


def test_the_picture_keeps_its_proportions_and_fits_the_page(html: str) -> None:
    found = re.search(r'<img[^>]*src="data:image/svg\+xml;base64,([^"]+)"', html)
    picture = base64.b64decode(found[1]).decode() if found else html
    opening = re.search(r"<svg\b[^>]*>", picture)
    assert opening is not None
    assert "viewBox=" in opening[0]

"""Every notebook runs from top to bottom in a fresh kernel, without an error."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
SECONDS = 300  # for one cell, on a machine that is shared
WIDGET = "application/vnd.jupyter.widget-view+json"


def test_there_are_notebooks():
    assert NOTEBOOKS != []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_from_top_to_bottom(path, tmp_path, monkeypatch, warm_kernels):
    # A copy: what the notebook saves stays out of the checkout.
    copies = shutil.copytree(FOLDER, tmp_path / "notebooks", ignore=shutil.ignore_patterns(".*"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("JUPYTER_PATH", warm_kernels)
    notebook = nbformat.read(copies / path.name, as_version=4)
    NotebookClient(
        notebook, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": str(copies)}}
    ).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert [output for output in outputs if output.output_type == "error"] == []
    assert any(WIDGET in output.get("data", {}) for output in outputs)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_asks_at_the_top_and_checks_what_it_says(path):
    cells = nbformat.read(path, as_version=4).cells
    assert cells[0].cell_type == "markdown"
    assert cells[0].source.startswith("# ")
    assert any(re.search(r"^assert ", cell.source, re.MULTILINE) for cell in cells if cell.cell_type == "code")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_pictures_of_a_notebook_lie_beside_it(path):
    text = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "markdown")
    assert [name for name in re.findall(r"!\[[^]]*\]\(([^)]*)\)", text) if not (FOLDER / name).is_file()] == []

"""Every notebook runs from top to bottom in a fresh kernel, without an error and in under a minute."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
SECONDS = 60


def test_there_are_notebooks():
    assert NOTEBOOKS != []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_from_top_to_bottom(path, tmp_path, monkeypatch):
    # A copy: what the notebook saves stays out of the checkout.
    copies = shutil.copytree(FOLDER, tmp_path / "notebooks", ignore=shutil.ignore_patterns(".*"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    notebook = nbformat.read(copies / path.name, as_version=4)
    started = time.perf_counter()
    NotebookClient(
        notebook, timeout=5 * SECONDS, kernel_name="python3", resources={"metadata": {"path": str(copies)}}
    ).execute()
    # Five times the promise: a machine that is shared may be slow, a notebook that has grown slow is not missed.
    assert time.perf_counter() - started < 5 * SECONDS
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert [output for output in outputs if output.output_type == "error"] == []

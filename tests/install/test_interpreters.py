"""Every interpreter that the classifiers name, run: `pytest -m interpreters`; not in the ordinary
run.

Each gets an environment of its own, into which pip installs the wheel with all that it needs,
TensorFlow included: some 700 MB and a few minutes each. An interpreter that is not on this machine
is skipped, and says so.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.install.conftest import HERE, ROOT, Environment

VERSIONS = ("3.10", "3.11", "3.12", "3.13")
TESTED = (
    "graph",
    "edits",
    "sources",
    "runtime",
    "widget/test_request_handler.py",
    "editor/test_graph_editor.py",
    "export/test_files.py",
)
# What Colab's image had on 2026-08-19, on Python 3.13, of what the package needs.
COLAB = ("tensorflow==2.20.0", "ipywidgets==7.7.1", "protobuf==5.29.6", "anywidget==0.9.21")
COLABS_NOTEBOOKS = ("05_target_network.ipynb", "13_first_steps_with_keras.ipynb")
RUN_NOTEBOOK = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
print("ran", len(notebook.cells), "cells")
"""
TOOLS = ("hypothesis", "pytest>=8", "pytest-xdist>=3.6")


def candidates(version: str) -> Iterator[str]:
    """Where an interpreter may be: on PATH, or beside the shims that pyenv has there."""
    found = shutil.which(f"python{version}")
    if found is not None:
        yield found
        for path in sorted(Path(found).parents[1].glob(f"versions/{version}.*/bin/python")):
            yield str(path)


def interpreter(version: str) -> str:
    """An interpreter of this version that runs; the test is skipped when there is none."""
    for path in candidates(version):
        asked = [path, "-c", "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"]
        if (
            subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
            == version
        ):
            return path
    pytest.skip(f"no python{version} on this machine")


@pytest.mark.interpreters
@pytest.mark.parametrize("version", VERSIONS)
def test_it_works_on(version: str, archives: dict[str, Path], tmp_path: Path) -> None:
    environment = Environment(tmp_path, interpreter(version))
    environment.pip("install", "--quiet", f"{archives['wheel']}[tensorflow]", *TOOLS)
    assert "works" in environment.run("python", str(HERE / "works.py"), str(environment.folder))
    # The tests alone, so that they import what was installed and not what lies beside them.
    shutil.copytree(
        ROOT / "tests",
        environment.beside / "tests",
        ignore=shutil.ignore_patterns("browser", "bench"),
    )
    # With the models that tests open.
    shutil.copytree(ROOT / "notebooks", environment.beside / "notebooks")
    shutil.copy(ROOT / "pyproject.toml", environment.beside)
    chosen = [f"tests/{name}" for name in TESTED]
    environment.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen)


@pytest.mark.interpreters
@pytest.mark.parametrize("version", ["3.13", f"{sys.version_info[0]}.{sys.version_info[1]}"])
def test_it_installs_beside_what_colab_has_and_runs_notebooks(
    version: str, archives: dict[str, Path], tmp_path: Path
) -> None:
    environment = Environment(tmp_path, interpreter(version))
    environment.pip("install", "--quiet", *COLAB, "ipykernel", "nbclient", "nbformat")
    before = environment.pip("freeze")
    environment.pip("install", "--quiet", f"{archives['wheel']}[tensorflow]")
    # It upgrades nothing that was there, which on Colab would need a restart of the kernel.
    assert {line for line in before.splitlines() if line not in environment.pip("freeze")} == set()
    assert "works" in environment.run("python", str(HERE / "works.py"), str(environment.folder))
    shutil.copytree(ROOT / "notebooks", environment.beside, dirs_exist_ok=True)
    for notebook in COLABS_NOTEBOOKS:
        assert "ran" in environment.run("python", "-c", RUN_NOTEBOOK, notebook)


def test_the_classifiers_name_what_can_be_run() -> None:
    report = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    assert set(report) <= set(VERSIONS)
    assert f"{sys.version_info[0]}.{sys.version_info[1]}" in report

"""`pytest -m no_tensorflow`: the tests that need no TensorFlow, run where it cannot be imported."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

import tfgraphwidget

MARKER = "no_tensorflow"
_SKIPPED = frozenset({".git", ".venv", ".venv-pure", "node_modules", "__pycache__"})


@cache
def is_selected(path: Path) -> bool:
    """Whether a module has a test with the marker, or a folder has such a module."""
    if path.is_dir():
        return path.name not in _SKIPPED and any(map(is_selected, path.iterdir()))
    return (
        path.suffix == ".py"
        and path.name.startswith("test_")
        and f"mark.{MARKER}" in path.read_text("utf-8")
    )


class WithoutTensorFlow:
    """A plugin of pytest: modules without the marker are not imported, and every import of
    TensorFlow fails.
    """

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """pytest would import all modules to see their markers, and with them TensorFlow."""
        return None if is_selected(collection_path) else True

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        sys.meta_path.insert(0, self)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        sys.meta_path.remove(self)

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Answer as an environment without TensorFlow would."""
        if name.partition(".")[0] == "tensorflow":
            raise ModuleNotFoundError(
                f"{name}: a test with the marker {MARKER} imports TensorFlow", name=name
            )
        return None


def packages_without_tensorflow(folder: Path, *others: str) -> Path:
    """All packages of this environment but TensorFlow and what comes with it, and `others`, as
    links in a folder.
    """
    for package in Path(sysconfig.get_path("purelib")).iterdir():
        if not package.name.startswith(("tensorflow", "tensorboard", "keras", *others)):
            (folder / package.name).symlink_to(package)
    return folder


def environment_without_tensorflow(folder: Path) -> dict[str, str]:
    """The variables with which `python -S` finds `packages_without_tensorflow(folder)`, this
    package and its tests.
    """
    root = Path(tfgraphwidget.__file__).parents[1]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(root), str(packages_without_tensorflow(folder)))),
    }


def run_without_tensorflow(
    packages: Path, *command: str, cwd: Path
) -> subprocess.CompletedProcess[str]:
    """Run Python where TensorFlow is not installed."""
    paths = os.pathsep.join((str(Path(tfgraphwidget.__file__).parents[1]), str(packages)))
    return subprocess.run(
        [sys.executable, "-S", *command],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )

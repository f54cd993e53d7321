"""Importing the package costs next to nothing: the heavy libraries come with the first call that needs them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tfgraphwidget.errors import PackageMissing
from tfgraphwidget.layout.free_form.overlap_removal import remove_overlaps

pytestmark = pytest.mark.no_tensorflow

MODEL = Path(__file__).parents[1] / "notebooks" / "models" / "slim_inception_v3_infer.meta"
HEAVY = {"tensorflow", "matplotlib", "anywidget", "ipywidgets", "networkx", "pandas", "scipy", "IPython"}


def modules_after(code: str) -> set[str]:
    """Top-level modules that a fresh interpreter has loaded after running the code."""
    report = f"{code}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_is_light():
    assert modules_after("import tfgraphwidget") & HEAVY == set()


def test_a_file_is_opened_and_drawn_without_a_heavy_package():
    code = f"import tfgraphwidget as tgw; tgw.edit({str(MODEL)!r}).scene()"
    assert modules_after(code) & HEAVY == set()


def test_a_package_that_is_not_installed_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch):
    for name in {"scipy", "scipy.sparse", "scipy.sparse.linalg", *(n for n in sys.modules if n.startswith("scipy."))}:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(PackageMissing, match=r"needs SciPy .* run pip install scipy\."):
        remove_overlaps(np.random.default_rng(0).random((9, 2)), np.ones((9, 2)))


def test_listing_the_public_names_is_light():
    assert modules_after("import tfgraphwidget; dir(tfgraphwidget)") & HEAVY == set()

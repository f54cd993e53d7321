"""Importing the package costs next to nothing: the heavy libraries come with the first call that needs them."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.no_tensorflow

HEAVY = {"tensorflow", "matplotlib", "anywidget", "ipywidgets", "networkx", "pandas", "scipy", "IPython"}


def modules_after(code: str) -> set[str]:
    """Top-level modules that a fresh interpreter has loaded after running the code."""
    report = f"{code}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_is_light():
    assert modules_after("import tfgraphwidget") & HEAVY == set()


def test_listing_the_public_names_is_light():
    assert modules_after("import tfgraphwidget; dir(tfgraphwidget)") & HEAVY == set()

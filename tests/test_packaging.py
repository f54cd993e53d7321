"""What people install holds the built bundle."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_wheel_holds_the_bundle_and_the_types(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True)
    (wheel,) = tmp_path.glob("tfgraphwidget-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"tfgraphwidget/static/widget.js", "tfgraphwidget/py.typed", "tfgraphwidget/edits/clone.py"} <= names
    assert not {name for name in names if name.startswith(("tests/", "labextension/", "notebooks/"))}

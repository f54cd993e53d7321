"""`pip install -e .` where there is no Node: pip fetches one as a wheel, and the bundle is built
with it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.install.conftest import Environment, copied
from tests.install.test_archives import works


@pytest.mark.slow  # .ci/run installs so
def test_an_editable_install_builds_the_bundle(environment: Environment, tmp_path: Path) -> None:
    source = copied(tmp_path / "source", built=False)
    assert not (source / "tfgraphwidget" / "static").exists()
    files = environment.files()
    environment.pip("install", "--no-deps", "--editable", str(source))
    assert (source / "tfgraphwidget" / "static" / "widget.js").stat().st_size > 50_000
    works(environment, source)
    environment.pip("uninstall", "--yes", "tfgraphwidget")
    assert environment.files() == files

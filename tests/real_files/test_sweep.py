"""No method on a file of the kinds that people have comes out worse than it did when that was
recorded.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.real_files.made import MADE
from tests.real_files.sweep import files_in, make_files, recorded, sweep, worse
from tests.real_files.verbs import METHODS, Outcome

FILES = Path(os.environ.get("TFGRAPHWIDGET_FILES", Path(__file__).parents[3] / "shared" / "files"))
"""Files of public projects, where they are there."""


def test_there_are_fifty_kinds() -> None:
    assert len(MADE) >= 50
    assert {name.split("/")[0] for name in recorded()} >= set(MADE)


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.sample(2)
def test_a_file_of_each_kind_comes_out_as_recorded(kind: str, tmp_path: Path) -> None:
    paths = make_files(tmp_path, [kind])
    assert len(paths) == 1
    before, lines = recorded(), []
    for path, tried in sweep(paths):
        name = path.relative_to(tmp_path).as_posix()
        lines += worse(name, tried, before[name])
    assert lines == []


def test_no_recorded_outcome_is_wrong_or_an_error() -> None:
    bad = [
        (name, method)
        for name, by in recorded().items()
        for method in METHODS
        if by[method] > Outcome.REFUSED
    ]
    assert bad == []


@pytest.mark.slow
@pytest.mark.skipif(
    not FILES.is_dir(), reason="the files of public projects are not there: set TFGRAPHWIDGET_FILES"
)
def test_files_of_public_projects_come_out_as_recorded() -> None:
    before, lines = recorded(), []
    for path, tried in sweep(files_in(FILES)):
        name = path.relative_to(FILES).as_posix()
        lines += worse(name, tried, before.get(name, {}))
    assert lines == []

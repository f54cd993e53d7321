"""A path of Jupyter's server becomes one that can be typed in the folder of the kernel."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tfgraphwidget.errors import UnknownName
from tfgraphwidget.widget.server_paths import path_from, resolve_path

pytestmark = pytest.mark.no_tensorflow


def test_a_path_is_found_below_the_root_the_kernels_folder_or_one_above(tmp_path: Path) -> None:
    file = tmp_path / "one" / "two" / "g.pb"
    file.parent.mkdir(parents=True)
    file.touch()
    assert resolve_path("one/two/g.pb", str(tmp_path), Path("/")) == file
    assert resolve_path("one/two/g.pb", "", file.parent) == file
    assert resolve_path("one/two/g.pb", "/elsewhere", tmp_path) == file


def test_the_home_folder_may_represent_the_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "g.pb").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    assert resolve_path("g.pb", "~/work", Path("/")) == tmp_path / "work" / "g.pb"


def test_what_the_server_says_of_the_session_is_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "g.pb").touch()
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "sub" / "g.pb"))
    assert resolve_path("sub/g.pb", "", Path("/")) == tmp_path / "sub" / "g.pb"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The root of a server: a notebook's folder, and one with models beside it."""
    for folder in ("root/notebooks/data", "root/models", "elsewhere"):
        (tmp_path / folder).mkdir(parents=True)
    for name in (
        "root/notebooks/own.pb",
        "root/notebooks/data/x.npy",
        "root/models/m.pb",
        "root/notebooks/~m.pb",
    ):
        (tmp_path / name).touch()
    return tmp_path / "root"


@pytest.mark.parametrize(
    ("path", "typed"),
    [
        ("own.pb", "own.pb"),
        ("data/x.npy", "data/x.npy"),
        ("data", "data"),
        (".", ""),
        ("../models/m.pb", "../models/m.pb"),
        ("..", ".."),
        ("~m.pb", "./~m.pb"),
    ],
)
def test_a_path_is_written_from_the_kernels_folder_on(root: Path, path: str, typed: str) -> None:
    folder = root / "notebooks"
    assert path_from(folder / path, folder) == typed
    assert (folder / typed).samefile(folder / path)


def test_a_file_that_shares_only_the_disk_is_written_whole(root: Path) -> None:
    assert path_from(root / "models" / "m.pb", Path(root.anchor, "nowhere")) == str(
        root / "models" / "m.pb"
    )


def test_folders_that_are_links_lead_to_the_same_file(root: Path) -> None:
    link = root.parent / "link"
    link.symlink_to(root / "notebooks")
    model = root / "notebooks" / "data" / "m.pb"
    model.symlink_to(root / "models" / "m.pb")
    assert path_from(link / "own.pb", root / "notebooks") == "own.pb"
    assert path_from(root / "notebooks" / "own.pb", link) == "own.pb"
    # By its own name, as the user sees it.
    assert path_from(model, root / "notebooks") == "data/m.pb"
    # "link/.." is the folder of the link when a path is shortened, and root for the disk.
    typed = path_from(root / "models" / "m.pb", link)
    assert Path(os.path.normpath(link / typed)).samefile(root / "models" / "m.pb")


@pytest.mark.parametrize("path", ["", "/"])
def test_a_root_that_the_page_does_not_know_is_not_the_kernels_folder(
    path: str, tmp_path: Path
) -> None:
    with pytest.raises(UnknownName, match="type the path"):
        resolve_path(path, "", tmp_path)

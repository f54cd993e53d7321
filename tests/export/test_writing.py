"""Files take the places of others whole: interrupted at every line, killed at every line, on full
disks.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.slow import slow, slow_if
from tfgraphwidget import cancellation, writable
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.writable import recover, write_file, write_files

Tree = dict[str, str]

# What stands there, what takes its place, and which of the old files go.
OLD: Tree = {"m.meta": "old", "m.index": "old", "m.data-00000-of-00001": "old", "mine.txt": "mine"}
NEW: Tree = {"m.meta": "new", "m.index": "new", "m.data-00001-of-00002": "new"}
AFTER: Tree = NEW | {"mine.txt": "mine"}
MODEL: Tree = {
    "saved_model.pb": "old",
    "variables/variables.index": "old",
    "debug/info": "old",
    "variables/mine": "mine",
}
NEW_MODEL: Tree = {
    "saved_model.pb": "new",
    "variables/variables.index": "new",
    "assets/words/en": "new",
}
AFTER_MODEL: Tree = NEW_MODEL | {"variables/mine": "mine"}
NEW_FOLDER: Tree = {f"sm/{name}": text for name, text in NEW_MODEL.items()}
CASES = {
    "one file": ({"a.pb": "old"}, {"a.pb": "new"}, {"a.pb": "new"}),
    "a new file": ({}, {"a.pb": "new"}, {"a.pb": "new"}),
    "a new folder": ({}, NEW_FOLDER, NEW_FOLDER),
    "a checkpoint": (OLD, NEW, AFTER),
    "a model in its folder": (MODEL, NEW_MODEL, AFTER_MODEL),
}


# Between a file's opening and the name that is given to it, nobody but Python itself can close it.
closed_by_python = pytest.mark.filterwarnings(
    "ignore:unclosed file:ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


def plant(folder: Path, tree: Tree) -> None:
    """Write a tree of files."""
    for name, text in tree.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def tree_of(folder: Path) -> Tree:
    """The files below a folder, and its empty folders with a "/" after their names."""
    found = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        assert not path.is_symlink(), name
        if path.is_file():
            found[name] = path.read_text()
        elif not any(path.iterdir()):
            found[f"{name}/"] = ""
    return found


def save(folder: Path, new: Tree) -> None:
    """Write a tree in place of all that is called "old"."""
    mine = [name for name, text in tree_of(folder).items() if text == "old"]
    write_files(folder, lambda stage: plant(stage, new), lambda _: mine)


class Interrupted:
    """Raises KeyboardInterrupt before the n-th line that runs, in any code but what holds
    interrupts back.
    """

    def __init__(self, number: int, within: Callable[[str], bool] = lambda _: True) -> None:
        self.left, self._within = number, within

    def __enter__(self) -> Interrupted:
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _trace(self, frame: FrameType, event: str, _: object) -> Any:
        file = frame.f_code.co_filename
        if (
            file == cancellation.__file__ or frame.f_code.co_name == "__del__"
        ):  # where Python lets no exception out
            return None
        if file == __file__ or not self._within(file):
            return self._trace
        if event == "line":
            self.left -= 1
            if not self.left:
                self.stop()
        return self._trace

    def stop(self) -> None:
        """What happens there."""
        raise KeyboardInterrupt


def interrupted_at_each_line(within: Callable[[str], bool], step: int = 1) -> Iterator[Interrupted]:
    """One after another, until what is done comes to its end."""
    for number in itertools.count(1, step):
        tracing = Interrupted(number, within)
        yield tracing
        if tracing.left > 0:
            assert number > 20
            return


@pytest.fixture(params=["links", slow("copies"), slow("no links at all")])
def file_system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a file system has: both kinds of links, symbolic ones only, none (as FAT, which answers
    just so).
    """

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    if request.param != "links":
        monkeypatch.setattr(os, "link", refuse)
    if request.param == "no links at all":
        monkeypatch.setattr(os, "symlink", refuse)
    return str(request.param)


def ours(file: str) -> bool:
    """Whether code is of the module that moves files."""
    return file == writable.__file__


@pytest.fixture
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """No `fsync`, which takes most of the time of a thousand saves."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@closed_by_python
@pytest.mark.usefixtures("no_waiting_for_the_disk")
@pytest.mark.parametrize("case", slow_if(lambda case: case == "a model in its folder", CASES))
@pytest.mark.sample(2)
def test_an_interrupt_at_any_line_leaves_the_old_files_or_the_new_ones(
    case: str, file_system: str, tmp_path: Path
) -> None:
    old, new, after = CASES[case]
    seen = set()
    for number, tracing in enumerate(interrupted_at_each_line(ours)):
        folder = tmp_path / str(number)
        folder.mkdir()
        plant(folder, old)
        try:
            with tracing:
                save(folder, new)
        except KeyboardInterrupt:
            seen.add("old" if tree_of(folder) == old else "new")
        found = tree_of(folder)
        assert found in (old, after), (number, file_system)
    assert found == after
    assert seen == {"old", "new"}


@closed_by_python
@pytest.mark.usefixtures("no_waiting_for_the_disk")
def test_an_interrupt_in_the_middle_of_python_s_own_code_does_not_either(tmp_path: Path) -> None:
    for number, tracing in enumerate(interrupted_at_each_line(lambda _: True, 41)):
        folder = tmp_path / str(number)
        folder.mkdir()
        plant(folder, OLD)
        with contextlib.suppress(KeyboardInterrupt), tracing:
            save(folder, NEW)
        assert tree_of(folder) in (OLD, AFTER), number


def test_an_interrupt_while_the_files_are_written_leaves_nothing(tmp_path: Path) -> None:
    plant(tmp_path, OLD)

    def half(stage: Path) -> None:
        plant(stage, {"m.meta": "ne"})
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_files(tmp_path, half, lambda _: ["m.meta"])
    assert tree_of(tmp_path) == OLD


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.export.test_writing import CASES, Interrupted, ours, plant, tree_of, save
from tfgraphwidget.writable import recover

case, place = sys.argv[1], Path(sys.argv[2])
if len(sys.argv) > 3:  # a file system without links
    def refuse(*_, **__):
        raise PermissionError(1, "Operation not permitted")
    os.symlink = os.link = refuse
os.fsync = lambda _: None
old, new, after = CASES[case]
followed = lambda folder: {
    name: (folder / name).read_text() for name in {*old, *after} if (folder / name).is_file()
}
seen = []
for number in range(1, 100_000, 3):
    folder = place / str(number)
    folder.mkdir()
    plant(folder, old)
    child = os.fork()
    if not child:
        tracing = Interrupted(number, ours)
        tracing.stop = lambda: os.kill(os.getpid(), signal.SIGKILL)
        with tracing:
            save(folder, new)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    found = followed(folder)
    if len(sys.argv) == 3:
        assert found in (old, after), (number, found)
    told = recover(folder)
    assert tree_of(folder) in (old, after), (number, tree_of(folder))
    assert bool(told) or found in (old, after)
    seen.append((found == old, bool(told)))
    if not status:
        break
assert tree_of(folder) == after
print(len(seen), len(set(seen)))
"""


@pytest.mark.parametrize("links", [[], ["none"]], ids=["links", "no links at all"])
@pytest.mark.parametrize("case", ["one file", "a checkpoint", slow("a model in its folder")])
@pytest.mark.sample(2)
def test_a_process_killed_at_any_line_leaves_what_can_be_loaded_and_the_next_look_ends_it(
    case: str, links: list[str], tmp_path: Path
) -> None:
    command = [sys.executable, "-W", "ignore", "-c", KILLED, case, str(tmp_path), *links]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    lines, outcomes = map(int, ran.stdout.split())
    assert lines > 50
    assert outcomes >= 2


def mode(path: Path) -> int:
    """The permission bits."""
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask() -> Iterator[None]:
    """A mask that lets the group write."""
    before = os.umask(0o002)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_new_files_have_the_mode_that_open_gives_and_old_ones_keep_theirs(tmp_path: Path) -> None:
    plant(tmp_path, {"m.meta": "old", "m.index": "old"})
    (tmp_path / "m.index").chmod(0o600)
    save(tmp_path, {"m.meta": "new", "m.index": "new", "inside/m": "new"})
    assert [mode(tmp_path / name) for name in ("m.meta", "m.index", "inside", "inside/m")] == [
        0o664, 0o600, 0o775, 0o664,
    ]  # fmt: skip
    write_file(tmp_path / "m.index", lambda new: new.write_text("newer"))
    write_file(tmp_path / "a.pb", lambda new: new.write_text("new"))
    assert [mode(tmp_path / name) for name in ("m.index", "a.pb")] == [0o600, 0o664]
    write_file(tmp_path / "sm", lambda new: plant(new, NEW_MODEL))
    assert [mode(tmp_path / "sm" / name) for name in ("", "variables", "saved_model.pb")] == [
        0o775,
        0o775,
        0o664,
    ]


def test_a_private_file_is_private_while_it_is_written(tmp_path: Path) -> None:
    seen = []
    write_file(
        tmp_path / "a.pb", lambda new: seen.append(mode(new.parents[1])) or new.write_text("new")
    )
    assert seen == [0o700]


def test_a_link_to_a_file_is_followed_and_stays(tmp_path: Path) -> None:
    plant(tmp_path, {"real/a.pb": "old"})
    (tmp_path / "link.pb").symlink_to("real/a.pb")
    (tmp_path / "new.pb").symlink_to("real/b.pb")
    (tmp_path / "folder").symlink_to("real")
    for name in ("link.pb", "new.pb", "folder/c.pb"):
        write_file(tmp_path / name, lambda new: new.write_text("new"))
    assert (tmp_path / "link.pb").is_symlink()
    assert (tmp_path / "new.pb").is_symlink()
    assert tree_of(tmp_path / "real") == dict.fromkeys(("a.pb", "b.pb", "c.pb"), "new")


def test_what_a_save_would_destroy_is_named_and_stays(tmp_path: Path) -> None:
    plant(
        tmp_path,
        OLD | {"thesis.tex": "mine", "there/m.index": "mine", "plain": "mine", "twin": "new"},
    )
    (tmp_path / "link").symlink_to("thesis.tex")
    (tmp_path / "way").symlink_to("there")
    (tmp_path / "round").symlink_to("round")
    os.mkfifo(tmp_path / "pipe")
    before = sorted(path.name for path in tmp_path.iterdir())
    for name, why in {
        "thesis.tex": "is nothing that a save here has written",
        "link": "is a symbolic link",
        "way/m.index": "is a symbolic link",
        "round": "is a symbolic link",
        "there": "is not a file",
        "plain/m.index": "is not a folder",
        "pipe": "is not a file",
    }.items():
        with pytest.raises(
            GraphEditError, match=rf"{name.split('/')[0]}' {why}.*give another name\.$"
        ):
            write_files(
                tmp_path,
                lambda new, name=name: plant(new, NEW | {name: "new"}),
                lambda _: list(OLD),
            )
    with pytest.raises(GraphEditError, match="is a symbolic link that leads to itself"):
        write_file(tmp_path / "round", lambda new: new.write_text("new"))
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert {name: (tmp_path / name).read_text() for name in OLD} == OLD
    # The very same file is in nobody's way.
    write_files(tmp_path, lambda new: plant(new, NEW | {"twin": "new"}), lambda _: list(OLD))
    assert (tmp_path / "m.index").read_text() == "new"


def test_a_device_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.pb").symlink_to("/dev/null")
    with pytest.raises(GraphEditError, match="'/dev/null' is not a file"):
        write_file(tmp_path / "a.pb", lambda new: new.write_text("new"))
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_two_saves_at_once_end_with_the_files_of_one(tmp_path: Path) -> None:
    names = [f"m.data-{number}" for number in range(20)]

    def write(text: str) -> None:
        for _ in range(10):
            write_files(
                tmp_path, lambda new: plant(new, dict.fromkeys(names, text)), lambda _: names
            )

    threads = [threading.Thread(target=write, args=[text]) for text in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tree_of(tmp_path) in (dict.fromkeys(names, "a"), dict.fromkeys(names, "b"))


def test_a_save_that_is_under_way_is_left_alone(tmp_path: Path) -> None:
    report = []
    write_file(
        tmp_path / "a.pb", lambda new: report.append(recover(tmp_path)) or new.write_text("new")
    )
    assert report == [[]]
    assert tree_of(tmp_path) == {"a.pb": "new"}


def test_what_is_no_name_of_a_file_is_refused(tmp_path: Path) -> None:
    for name in ("a\0", "\ud800"):
        with pytest.raises(GraphEditError, match="is not a name of a file"):
            write_file(tmp_path / name, lambda new: new.write_text("new"))


def test_a_file_that_a_killed_save_left_as_a_link_is_no_link_of_the_person_s(
    tmp_path: Path,
) -> None:
    killed, saved = tmp_path / "killed", tmp_path / "saved"
    for folder in (killed, saved):
        stage = folder / ".tfgraphwidget-0123"
        plant(stage, {"old/edits.py": "old", "old/edits.npz": "old", "new/edits.py": "new"})
        (stage / "current").symlink_to("old")
        for name in ("edits.py", "edits.npz"):
            (folder / name).symlink_to(f"{stage.name}/current/{name}")
    write_file(saved / "edits.py", lambda new: new.write_text("newer"))
    assert tree_of(saved) == {"edits.py": "newer", "edits.npz": "old"}
    report = recover(killed)
    assert tree_of(killed) == {"edits.py": "old", "edits.npz": "old"}
    assert len(report) == 1
    assert "A save of 'edits.npz' and 1 more into" in report[0]
    assert report[0].endswith("had been broken off, and was taken back.")

"""Writes files completely or not at all: new ones beside the old ones, then a rename. Needs no
TensorFlow.

Files are first written to a hidden folder, the stage, on the same disk. One file, or a new folder,
then takes its place by one rename. No file system renames several files at once (a MetaGraphDef
with its checkpoint, a SavedModel in its folder), so each of them becomes, for a moment, a symbolic
link through one link in the stage:

    m.meta  -> .tfgraphwidget-1f0a/current/m.meta
    m.index -> .tfgraphwidget-1f0a/current/m.index
    .tfgraphwidget-1f0a/current -> old, which one rename makes -> new

All of them lead to the old files, and after one rename all to the new ones; then the files
`current` leads to take the places of their links. So at any moment the old or the new can be loaded
whole, even when the process is killed: the next save into that folder, or the next `tgw.edit`
there, puts files in the places of the links that were left. Where a file system has no symbolic
links, copies of the old files are in the stage until all new ones are in place. The next save
restores copies that it finds.
"""

from __future__ import annotations

import contextlib
import filecmp
import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import ExitStack
from pathlib import Path

from tfgraphwidget.cancellation import held_back
from tfgraphwidget.errors import GraphEditError, first_sentence

_STAGE = ".tfgraphwidget-"  # begins the names of stages
_PATIENCE = 30.0  # seconds until another process, which moves its files, is given up
_SAID = re.compile(r"; ([A-Z][^;\[\n]*?)\s*(?:\[|$)", re.MULTILINE)


def check_place(path: Path) -> None:
    """Raise GraphEditError unless a file of that name can be in a folder that is there."""
    _check_name(path)
    if path.parent.is_file():
        raise GraphEditError(f"{str(path.parent)!r} is a file and not a folder; choose a folder.")
    if not path.parent.is_dir():
        raise GraphEditError(f"The folder {str(path.parent)!r} does not exist; make it first.")


def _check_name(path: Path) -> None:
    try:
        if "\0" not in os.fsdecode(os.fsencode(path)):
            return
        why = "leave the NUL out"
    except UnicodeEncodeError:
        why = "it holds half a character"
    raise GraphEditError(f"{str(path)[:200]!r} is not a name of a file; {why}.")


def unwritable(path: Path, error: Exception) -> GraphEditError:
    """The reason why a path cannot be written: no permission, no space, a name too long."""
    return GraphEditError(
        f"{str(path)[:200]!r} cannot be written: {reason(error)}; give another place."
    )


def reason(error: Exception) -> str:
    """Why something cannot be written, in a few words; TensorFlow's errors name the file first."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = str(getattr(error, "message", None) or error).strip() or type(error).__name__
    messages = _SAID.findall(text)
    return first_sentence(messages[-1] if messages else text)


def write_file(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file, or a new folder, and move it to its place when it is complete.

    A symbolic link is followed. A replaced file keeps its mode. After an error the old file is
    unchanged.

    Args:
        write: Writes the file to the path that it is passed.

    Raises:
        GraphEditError: The file cannot be written there.
        OSError: The file system refuses.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.txt"
    >>> write_file(path, lambda new: new.write_text("abc"))
    >>> path.read_text()
    'abc'
    """
    place = place_of(path)
    write_files(place.parent, lambda new: write(new / place.name), lambda _: [place.name])


def place_of(path: Path) -> Path:
    """Return the real path to write to. Links are followed, except those of a killed save."""
    _check_name(path)
    recover(path.parent)
    place = Path(os.path.realpath(path))
    if place.is_symlink():
        raise GraphEditError(
            f"{str(path)!r} is a symbolic link that leads to itself; give another name."
        )
    return place


def write_files(
    folder: Path,
    write: Callable[[Path], object],
    replaced: Callable[[Collection[str]], Iterable[str]],
) -> None:
    """Write files into a new folder, and move all of them into `folder` in one step when they are
    complete.

    After an error all files are as they were.

    Args:
        write: Writes the files into the folder that it is passed.
        replaced: Takes the names of the new files, relative and with "/", and returns the names of
            the old files that they replace; old files without a new one are removed. No other file
            is touched.

    Raises:
        GraphEditError: Another file, or a symbolic link, is in the way.
        OSError: The file system refuses.
    """
    place = Path(os.path.realpath(folder))
    recover(place)
    stage = place / f"{_STAGE}{os.urandom(4).hex()}"
    with ExitStack() as locks:
        try:  # an interrupt in the one settling leaves the other
            try:
                _fill(stage, write, locks)
                _move(stage, replaced, locks)
            finally:
                _settle(stage)
        finally:
            _settle(stage)


def recover(folder: Path) -> list[str]:
    """Finish or take back what killed processes left of saves in a folder; what was done."""
    notices = []
    for stage in _stages(Path(os.path.realpath(folder))):
        with contextlib.closing(_Lock(stage)) as lock:
            try:
                if lock.take():  # else a save is under way
                    notices += _settle(stage)
            except GraphEditError as error:
                notices.append(error.why)
    return notices


def _stages(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [
                Path(entry.path)
                for entry in entries
                if entry.name.startswith(_STAGE) and entry.is_dir()
            ]
    except OSError:
        return []


class _Lock:
    """A folder that one save of one process has at a time, until it or the process ends."""

    _file = -1

    def __init__(self, folder: Path) -> None:
        with contextlib.suppress(OSError):
            # A folder that may not be listed, any on Windows: then without.
            self._file = os.open(folder, os.O_RDONLY)

    def take(self, seconds: float = 0.0) -> bool:
        """Whether it could be had in that time."""
        last = time.monotonic() + seconds
        while self._belongs_to_another():
            if time.monotonic() >= last:
                return False
            time.sleep(0.02)
        return True

    def _belongs_to_another(self) -> bool:
        try:
            if self._file >= 0:
                import fcntl

                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # a file system without locks
            return False
        return False

    def close(self) -> None:
        """Let others have it."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def __del__(self) -> None:
        if self._file >= 0:
            os.close(self._file)


def _lock(folder: Path, into: Path, locks: ExitStack) -> None:
    """Lock a folder until the save ends. Raises GraphEditError if another one has it for long."""
    lock = _Lock(folder)
    locks.callback(lock.close)
    if not lock.take(_PATIENCE):
        raise GraphEditError(
            f"Another save into {str(into)!r} is under way; save again when it is done."
        )


def _fill(stage: Path, write: Callable[[Path], object], locks: ExitStack) -> None:
    """Write the new files into the stage."""
    while not stage.is_dir():
        # Else another save, which had the lock before, took it for what a killed one has left.
        stage.mkdir(mode=0o700)  # as private as a file that it may replace
        _lock(stage, stage.parent, locks)
    for part in ("old", "new"):
        (stage / part).mkdir()
    write(stage / "new")


def _move(
    stage: Path, replaced: Callable[[Collection[str]], Iterable[str]], locks: ExitStack
) -> None:
    """Move what was written to its places: one file, or a folder where none is, by one rename."""
    folder, new = stage.parent, stage / "new"
    _lock(folder, folder, locks)
    new_files, entries = _files(new), sorted(entry.name for entry in new.iterdir())
    replaced_names = [name for name in replaced(new_files) if os.path.lexists(folder / name)]
    _check_free(stage, new_files, replaced_names)
    for name in new_files:
        _flush(new / name)
        _keep_mode(folder / name, new / name)
    for inside in _folders(new):
        # TensorFlow makes them 0755 whatever the umask is.
        (new / inside).chmod(stat.S_IMODE(new.stat().st_mode))
    for inside in ("", *_folders(new)):
        _flush_folder(new / inside)
    with held_back():
        if len(entries) == 1 and set(replaced_names) <= set(entries):
            (new / entries[0]).replace(folder / entries[0])
        else:
            _move_together(stage, list(dict.fromkeys((*new_files, *replaced_names))))
        _flush_folder(folder)


def _check_free(stage: Path, new_files: Collection[str], replaced_names: Collection[str]) -> None:
    """Raise GraphEditError for what a save must not replace: another's file, a link, a folder."""
    folder, new = stage.parent, stage / "new"
    for name in dict.fromkeys((*new_files, *replaced_names)):
        for above in (*reversed(Path(name).parents[:-1]), Path(name)):
            place, is_file = folder / above, above == Path(name)
            if not os.path.lexists(place):
                break
            if place.is_symlink():
                why = (
                    "is a symbolic link, which a save does not replace; put what it leads to in "
                    "its place"
                )
            elif not (place.is_file() if is_file else place.is_dir()):
                why = (
                    f"is not a {'file' if is_file else 'folder'}, and a save would replace it by "
                    "one; move it away"
                )
            elif (
                is_file
                and name not in replaced_names
                and not filecmp.cmp(place, new / name, shallow=False)
            ):
                why = (
                    "is nothing that a save here has written, and one would replace it; move it "
                    "away"
                )
            else:
                continue
            raise GraphEditError(f"{str(place)!r} {why}, or give another name.")


def _keep_mode(old: Path, new: Path) -> None:
    """Give a new file the mode, the owner and the access list of the one that it replaces."""
    if not (old.is_file() and new.is_file()):
        return
    about = old.stat()
    for owner in (-1, about.st_uid):
        with contextlib.suppress(OSError, AttributeError):
            # Only root changes owners; Windows has none.
            os.chown(new, owner, about.st_gid)
    shutil.copystat(old, new)
    os.utime(new)


def _move_together(stage: Path, names: list[str]) -> None:
    """Let files take the places of others, and those without a new one go, by renaming one link."""
    folder, old, new, current = stage.parent, stage / "old", stage / "new", stage / "current"
    for inside in _folders(new):
        if (folder / inside).is_dir():
            (old / inside).mkdir(parents=True, exist_ok=True)
    for name in names:
        if os.path.lexists(folder / name):
            (old / name).parent.mkdir(parents=True, exist_ok=True)
            _copy(folder / name, old / name)
    try:
        current.symlink_to("old")
    except (
        OSError,
        NotImplementedError,
    ):  # a file system, or Windows for most people, without links
        _move_one_by_one(stage, names)
        return
    # Who can read the files can do so through the links.
    stage.chmod(stat.S_IMODE(new.stat().st_mode))
    for inside in _folders(new):
        (folder / inside).mkdir(exist_ok=True)
    for name in names:
        _link(stage, os.path.relpath(current / name, (folder / name).parent), folder / name)
    _flush_folder(stage)
    _link(stage, "new", current)
    _flush_folder(stage)


def _link(stage: Path, to: str, place: Path) -> None:
    """Let a symbolic link take the place of what is there, in one step."""
    link = stage / "link"
    link.symlink_to(to)
    link.replace(place)


def _move_one_by_one(stage: Path, names: list[str]) -> None:
    """Move the files without links; `moving` names those without an old one until all are moved."""
    folder, old, new, moving = stage.parent, stage / "old", stage / "new", stage / "moving"
    added = [name for name in names if not os.path.lexists(old / name)]
    (stage / "added").write_text("\0".join(added), encoding="utf-8", errors="surrogateescape")
    _flush(stage / "added")
    (stage / "added").replace(moving)
    _flush_folder(stage)
    for inside in _folders(new):
        (folder / inside).mkdir(exist_ok=True)
    for name in names:
        if os.path.lexists(new / name):
            (new / name).replace(folder / name)
        else:
            (folder / name).unlink()
    _prune(stage, new)
    moving.unlink()


def _copy(file: Path, to: Path) -> None:
    try:
        os.link(file, to)
    except OSError:  # a file system without hard links
        shutil.copy2(file, to)


def _settle(stage: Path) -> list[str]:
    """Put real files in all places, the old ones or the new ones, and remove the stage; return a
    sentence about it.

    It can be broken off anywhere, and done again. Raises GraphEditError when the machine does not
    let it.
    """
    if not stage.is_dir():
        return []
    try:
        with held_back():
            notices = _put_in_place(stage)
            _remove(stage)
            return notices
    except OSError as error:
        raise GraphEditError(
            f"A save into {str(stage.parent)!r} could not be ended: {reason(error)}; its files are "
            f"in {stage.name!r} there, and the next save into that folder puts them in their "
            "places."
        ) from error


def _remove(stage: Path) -> None:
    """Remove a stage. `shutil.rmtree` closes files twice when it is interrupted."""
    for first in ("current", "link", "moving"):
        (stage / first).unlink(missing_ok=True)
    for name in _files(stage):
        (stage / name).unlink()
    for inside in reversed(_folders(stage)):
        (stage / inside).rmdir()
    stage.rmdir()


def _put_in_place(stage: Path) -> list[str]:
    """Put the old files or the new ones into the places that a broken move has left to links."""
    folder, old, new, current, moving = (
        stage.parent,
        *(stage / part for part in ("old", "new", "current", "moving")),
    )
    if moving.is_file():
        whole = old
        names = [*_files(old), *moving.read_text("utf-8", "surrogateescape").split("\0")]
    elif current.is_symlink():
        whole, names = stage / current.readlink(), [*_files(old), *_files(new)]
    else:
        return []
    names = sorted({*names} - {""})
    for name in names:
        place = folder / name
        if not moving.is_file() and not _is_link_into(stage, place):
            continue
        if os.path.lexists(whole / name):
            place.parent.mkdir(parents=True, exist_ok=True)
            (whole / name).replace(place)
        else:
            place.unlink(missing_ok=True)
    _prune(stage, whole)
    for inside in ("", *_folders(whole)):
        _flush_folder(folder / inside)
    outcome = "finished now" if whole == new else "taken back"
    return [
        f"A save of {_some(names)} into {str(folder)!r} had been broken off, and was {outcome}."
    ]


def _is_link_into(stage: Path, place: Path) -> bool:
    """Whether a place has a symbolic link of this save."""
    return (
        place.is_symlink()
        and stage in Path(os.path.normpath(place.parent / place.readlink())).parents
    )


def _prune(stage: Path, whole: Path) -> None:
    """Remove the folders that are empty now and are not in what is `whole`."""
    for inside in sorted({*_folders(stage / "old"), *_folders(stage / "new")}, reverse=True):
        if not (whole / inside).is_dir():
            with contextlib.suppress(OSError):  # something of another's is in it
                (stage.parent / inside).rmdir()


def _some(names: Collection[str]) -> str:
    first = min(names, key=lambda name: (name.count("/"), "data-" in name, name), default="files")
    return f"{first!r}" if len(names) < 2 else f"{first!r} and {len(names) - 1} more"


def _files(folder: Path) -> list[str]:
    """The files below a folder, as "inside/name"."""
    walk = os.walk(folder)
    return sorted(
        (Path(above) / name).relative_to(folder).as_posix()
        for above, _, names in walk
        for name in names
    )


def _folders(folder: Path) -> list[str]:
    """The folders below a folder, the outer ones first."""
    walk = os.walk(folder)
    return sorted(
        (Path(above) / name).relative_to(folder).as_posix()
        for above, names, _ in walk
        for name in names
    )


def _flush(file: Path) -> None:
    """Flush a file to disk: otherwise a loss of power could leave its name without its bytes."""
    with file.open("rb+") as handle:
        os.fsync(handle.fileno())


def _flush_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):  # not everywhere can a folder be opened
        file = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)

"""Writes files completely or not at all, and checks where files of which kind can be written. Needs no TensorFlow.

Files are first written to a hidden folder, the stage, on the same disk. One file, or a new folder, then takes its place
by one rename. No file system renames several files at once (a MetaGraphDef with its checkpoint,
a SavedModel in its folder), so each of them becomes, for a moment, a symbolic link through one link in the stage:

    m.meta -> .tfgraphwidget-1f0a/current/m.meta        m.index -> .tfgraphwidget-1f0a/current/m.index
    .tfgraphwidget-1f0a/current -> old                  one rename makes it -> new

All of them lead to the old files, and after one rename all to the new ones; then the files `current` leads to take the
places of their links. So at any moment the old or the new can be loaded whole, even when the process is killed: the
next save into that folder, or the next `tgw.edit` there, puts files in the places of the links that were left.
Where a file system has no symbolic links, copies of the old files are in the stage until all new ones are in place. The
next save restores copies that it finds.
"""

from __future__ import annotations

import contextlib
import filecmp
import numbers
import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tfgraphwidget.cancellation import held_back
from tfgraphwidget.errors import GraphEditError, InvalidArgument, first_sentence

SAVED_MODEL = ""  # a folder
GRAPH_DEFS = (".pb", ".pbtxt")
PICTURES = (".svg", ".png", ".pdf")
EDITOR = ".tgw"


@dataclass(frozen=True)
class SaveOption:
    """An option of a kind of file.

    Attributes:
        name: Its name: the keyword of `save`, and with "--" that of the command line.
        label: What a form calls it.
        choices: The values that a form offers, the first of them without the option.
        about: A sentence on it.
    """

    name: str
    label: str
    choices: tuple[str, ...]
    about: str


@dataclass(frozen=True)
class Conversion:
    """A kind of file that a converter writes of a frozen graph.

    Attributes:
        label: What menus call it.
        runtime: What runs it.
        module: The module of `export.conversion` that converts and runs it.
        options: Its options.
        packages: The packages that it needs beside TensorFlow.
        extra: The extra of this package that installs them.
    """

    label: str
    runtime: str
    module: str
    options: tuple[SaveOption, ...]
    packages: tuple[str, ...] = ()
    extra: str = ""


CONVERSIONS = {
    ".tflite": Conversion(
        "TFLite",
        "LiteRT",
        "tflite_model",
        (
            SaveOption(
                "optimize",
                "Weights",
                ("", "float16", "dynamic"),
                "Weights as float16, or as 8-bit integers with dynamic ranges; what they compute changes a little.",
            ),
            SaveOption(
                "select_tf_ops",
                "TensorFlow's ops",
                ("", "yes"),
                "Keep ops that TFLite does not have as ops of TensorFlow, which the runtime then needs.",
            ),
        ),
    ),
    ".onnx": Conversion(
        "ONNX",
        "onnxruntime and its like",
        "onnx_model",
        (SaveOption("opset", "Opset", ("", *map(str, range(13, 19))), "The version of ONNX's ops."),),
        ("tf2onnx", "onnx", "onnxruntime"),
        "onnx",
    ),
}
"""The kinds of files that converters write, by their suffix."""
FROZEN_OPTIONS = (
    SaveOption("inline", "Calls", ("", "yes"), "The ops of functions in place of calls: one graph."),
    SaveOption(
        "lower_control_flow",
        "Loops and conditionals",
        ("", "yes"),
        "Switch and Merge of TensorFlow 1 in place of loops and conditionals of TensorFlow 2, and no calls.",
    ),
)
"""The options of a frozen graph."""
SAVED_MODEL_OPTIONS = (
    SaveOption(
        "tags",
        "Tag",
        ("", "serve", "train", "eval"),
        "By which programs load the graph; without one the tags that it was opened by, or 'serve'.",
    ),
)
"""The options of a SavedModel."""
CONVERSION_OPTIONS = tuple(option.name for conversion in CONVERSIONS.values() for option in conversion.options)

FILES = (*GRAPH_DEFS, ".meta", *CONVERSIONS, EDITOR, ".dot", ".graphml", *PICTURES, ".html", ".py", ".json")

_UNITS = ("bytes", "kB", "MB", "GB", "TB")
_SAID = re.compile(r"; ([A-Z][^;\[\n]*?)\s*(?:\[|$)", re.MULTILINE)
_STAGE = ".tfgraphwidget-"
_MOST_SECONDS = 1e9  # of a time limit: thirty years; timers of threads take ten times as much
_PATIENCE = 30.0  # seconds until another process, which moves its files, is given up


def format_size(count_of_bytes: int) -> str:
    """A number of bytes with three digits and a unit.

    Args:
        count_of_bytes: The number of bytes.

    >>> format_size(999), format_size(999_600), format_size(93_600_000)
    ('999 bytes', '1 MB', '93.6 MB')
    """
    value, unit = float(count_of_bytes), 0
    while value >= (999.5 if unit else 1000) and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.3g} {_UNITS[unit]}" if value < 999.5 else f"{value:.0f} {_UNITS[unit]}"


def kind_of(path: Path, *, folder: bool, frozen: bool) -> str:
    """Return the kind of file that a path means: one of FILES, or SAVED_MODEL.

    Args:
        path: The path.
        folder: Whether the caller asks for a SavedModel, whatever the suffix.
        frozen: Whether the graph is to be frozen, which only some kinds can hold.

    Raises:
        GraphEditError: The suffix names no kind, or a frozen graph cannot be of that kind.
    """
    kind = SAVED_MODEL if folder or path.is_dir() else path.suffix.lower()
    if kind != SAVED_MODEL and kind not in FILES:
        raise GraphEditError(
            f"{path.suffix!r} is no kind of file that can be written; use {', '.join(FILES)}, or a folder for a "
            "SavedModel."
        )
    if frozen and kind not in GRAPH_DEFS:
        raise GraphEditError("A frozen graph is a GraphDef without variables; write it to a '.pb' or '.pbtxt' file.")
    return kind


def parse_options(options: Iterable[tuple[str, str | None]]) -> dict[str, Any]:
    """The keywords of `save` for options that a form or a command line has as text.

    Args:
        options: The names and values; "" or None where nothing is chosen.

    >>> parse_options([("optimize", "float16"), ("opset", "15"), ("select_tf_ops", "yes"), ("other", "")])
    {'optimize': 'float16', 'opset': 15, 'select_tf_ops': True}
    """
    values = {name: value for name, value in options if value}
    return {name: int(value) if value.isdecimal() else value == "yes" or value for name, value in values.items()}


def check_seconds(seconds: Any) -> None:
    """Raise ValueError for what is no time limit: not a number, none above 0, or one without an end.

    Args:
        seconds: The number of seconds.

    >>> check_seconds(0.5)
    >>> check_seconds(float("nan"))
    Traceback (most recent call last):
        ...
    ValueError: nan
    """
    is_number = isinstance(seconds, numbers.Real) and not isinstance(seconds, bool)
    if not (is_number and 0 < seconds <= _MOST_SECONDS):  # not a number is not above 0 either
        raise ValueError(seconds)


def missing_packages(kind: str) -> str:
    """What to install for a kind of file, as the end of a sentence; "" if nothing is missing beside TensorFlow.

    Args:
        kind: The kind: its suffix.
    """
    conversion = CONVERSIONS[kind]
    missing = [name for name in conversion.packages if find_spec(name) is None]
    if not missing:
        return ""
    verb = "is" if len(missing) == 1 else "are"
    return f"{' and '.join(missing)} {verb} not installed: run pip install 'tfgraphwidget[{conversion.extra}]'"


def check_options(kind: str, options: Iterable[str]) -> None:
    """Raise InvalidArgument for an option that a kind of file does not have.

    Args:
        kind: The kind: its suffix.
        options: The names of the options.
    """
    own = {suffix: ["signature", *(each.name for each in of.options)] for suffix, of in CONVERSIONS.items()}
    own[SAVED_MODEL] = ["tags"]
    for name in options:
        if name not in own.get(kind, ()):
            kinds = [suffix for suffix, names in own.items() if name in names]
            what = f"a '{kind}' file" if kind else "a SavedModel"
            where = "a SavedModel" if kinds == [SAVED_MODEL] else f"{' and '.join(kinds)} files"
            raise InvalidArgument(name, f"save({name}=...): {what} has no such option; it is one of {where}.")


def check_place(path: Path, kind: str) -> None:
    """Raise GraphEditError unless a file of that kind, or a SavedModel, can be written to a path."""
    _check_name(path)
    if not path.parent.is_dir():
        raise GraphEditError(f"The folder {str(path.parent)!r} does not exist; make it first.")
    if kind != SAVED_MODEL:
        return
    if path.is_dir() and any(path.iterdir()) and not (path / "saved_model.pb").is_file():
        raise GraphEditError(
            f"The folder {str(path)!r} holds other things than a SavedModel; give an empty or a new one."
        )
    if path.is_file():
        raise GraphEditError(f"{str(path)!r} is a file, and a SavedModel is a folder; give another name.")


def _check_name(path: Path) -> None:
    try:
        if "\0" not in os.fsdecode(os.fsencode(path)):
            return
        why = "leave the NUL out"
    except UnicodeEncodeError:
        why = "it holds half a character"
    raise GraphEditError(f"{str(path)[:200]!r} is no name of a file; {why}.")


def unwritable(path: Path, error: Exception) -> GraphEditError:
    """The reason why a path cannot be written: no permission, no space, a name too long.

    Args:
        path: The path that cannot be written.
        error: The exception.
    """
    return GraphEditError(f"{str(path)[:200]!r} cannot be written: {reason(error)}; give another place.")


def reason(error: Exception) -> str:
    """Why something cannot be written, in a few words; TensorFlow's errors say it behind the name of the file.

    Args:
        error: The exception.
    """
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = str(getattr(error, "message", None) or error).strip() or type(error).__name__
    messages = _SAID.findall(text)
    return first_sentence(messages[-1] if messages else text)


def write_file(path: Path, write: Callable[[Path], object], tell: Callable[[str], None] | None = None) -> None:
    """Write a file, or a new folder, and move it to its place when it is complete.

    A symbolic link is followed. A replaced file keeps its mode. After an error the old file is unchanged.

    Args:
        path: Where to write.
        write: Writes the file to the path that it is passed.
        tell: Receives a sentence on a save that was killed here before.

    Raises:
        GraphEditError: The file cannot be written there.
        OSError: The file system refuses.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.txt"
    >>> write_file(path, lambda new: new.write_text("abc"))
    >>> path.read_text()
    'abc'
    """
    place = place_of(path, tell)
    write_files(place.parent, lambda new: write(new / place.name), lambda _: [place.name], tell)


def place_of(path: Path, tell: Callable[[str], None] | None = None) -> Path:
    """Return the real path to write to. Links are followed, except those that a killed save has left.

    Args:
        path: The path that the user gave.
        tell: Called with a notice; None to say nothing.
    """
    _check_name(path)
    for sentence in recover(Path(os.path.realpath(path.parent))):
        (tell or _silent)(sentence)
    place = Path(os.path.realpath(path))
    if place.is_symlink():
        raise GraphEditError(f"{str(path)!r} is a symbolic link that leads to itself; give another name.")
    return place


def write_files(
    folder: Path,
    write: Callable[[Path], object],
    replaced: Callable[[Collection[str]], Iterable[str]],
    tell: Callable[[str], None] | None = None,
) -> None:
    """Write files into a new folder, and move all of them into `folder` in one step when they are complete.

    After an error all files are as they were.

    Args:
        folder: Where the files go.
        write: Writes the files into the folder that it is passed.
        replaced: Takes the names of the new files, relative and with "/", and returns the names of the old files that
            they replace; old files without a new one are removed. No other file is touched.
        tell: Receives a sentence on a save that was killed here before.

    Raises:
        GraphEditError: Another file, or a symbolic link, is in the way.
        OSError: The file system refuses.
    """
    place = Path(os.path.realpath(folder))
    for sentence in recover(place):
        (tell or _silent)(sentence)
    stage = place / f"{_STAGE}{os.urandom(4).hex()}"
    locks: list[_Lock] = []
    try:  # an interrupt in the one settling leaves the other
        try:
            _fill(stage, write, locks)
            _move(stage, replaced, locks)
        finally:
            _settle(stage)
    finally:
        try:
            _settle(stage)
        finally:
            for lock in locks:
                lock.close()


def _silent(_: str) -> None:
    return None


def recover(folder: Path) -> list[str]:
    """Finish or take back what a process that was killed has left of its saves into a folder; a sentence for each."""
    notices = []
    for stage in _stages(folder):
        lock = _Lock(stage)
        try:
            if lock.take():  # else a save is under way
                notices += _settle(stage)
        except GraphEditError as error:
            notices.append(error.why)
        finally:
            lock.close()
    return notices


def _stages(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if entry.name.startswith(_STAGE) and entry.is_dir()]
    except OSError:
        return []


class _Lock:
    """A folder that no other process, nor another save of this one, has while this one has it; the process ends it."""

    _file = -1

    def __init__(self, folder: Path) -> None:
        with contextlib.suppress(OSError):  # a folder that may not be listed, any on Windows: then without
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


def _fill(stage: Path, write: Callable[[Path], object], locks: list[_Lock]) -> None:
    """Write the new files into the stage."""
    while True:
        stage.mkdir(mode=0o700)  # as private as a file that it may replace
        lock = _Lock(stage)
        locks.append(lock)
        if not lock.take(_PATIENCE):
            raise GraphEditError(f"Another save into {str(stage.parent)!r} is under way; save again when it is done.")
        if stage.is_dir():  # else another save, which had the lock before, took it for what a killed one has left
            break
        lock.close()
    for part in ("old", "new"):
        (stage / part).mkdir()
    write(stage / "new")


def _move(stage: Path, replaced: Callable[[Collection[str]], Iterable[str]], locks: list[_Lock]) -> None:
    """Move what was written to its places: by one rename when it is one file, or a folder where none is."""
    folder, new = stage.parent, stage / "new"
    locks.append(_Lock(folder))
    if not locks[-1].take(_PATIENCE):
        raise GraphEditError(f"Another save into {str(folder)!r} is under way; save again when it is done.")
    new_files, entries = _files(new), sorted(entry.name for entry in new.iterdir())
    replaced_names = [name for name in replaced(new_files) if os.path.lexists(folder / name)]
    _check_free(stage, new_files, replaced_names)
    for name in new_files:
        _flush(new / name)
        _keep_mode(folder / name, new / name)
    for inside in _folders(new):
        (new / inside).chmod(stat.S_IMODE(new.stat().st_mode))  # TensorFlow makes them 0755 whatever the umask is
    for inside in ("", *_folders(new)):
        _flush_folder(new / inside)
    with held_back():
        if len(entries) == 1 and set(replaced_names) <= set(entries):
            (new / entries[0]).replace(folder / entries[0])
        else:
            _move_together(stage, list(dict.fromkeys((*new_files, *replaced_names))))
        _flush_folder(folder)


def _check_free(stage: Path, new_files: Collection[str], replaced_names: Collection[str]) -> None:
    """Raise GraphEditError for what a save must not replace: another's file, a link, a folder, a device."""
    folder, new = stage.parent, stage / "new"
    for name in dict.fromkeys((*new_files, *replaced_names)):
        for above in (*reversed(Path(name).parents[:-1]), Path(name)):
            place, is_file = folder / above, above == Path(name)
            if not os.path.lexists(place):
                break
            if place.is_symlink():
                why = "is a symbolic link, which a save does not replace; put what it leads to in its place"
            elif not (place.is_file() if is_file else place.is_dir()):
                why = f"is no {'file' if is_file else 'folder'}, and a save would replace it by one; move it away"
            elif is_file and name not in replaced_names and not filecmp.cmp(place, new / name, shallow=False):
                why = "is nothing that a save here has written, and one would replace it; move it away"
            else:
                continue
            raise GraphEditError(f"{str(place)!r} {why}, or give another name.")


def _keep_mode(old: Path, new: Path) -> None:
    """Give a new file the mode, the owner and the access list of the one that it replaces."""
    if not (old.is_file() and new.is_file()):
        return
    about = old.stat()
    for owner in (-1, about.st_uid):
        with contextlib.suppress(OSError, AttributeError):  # only root changes owners; Windows has none
            os.chown(new, owner, about.st_gid)
    shutil.copystat(old, new)
    os.utime(new)


def _move_together(stage: Path, names: list[str]) -> None:
    """Let files take the places of others, and those without a new one go: all by the rename of one link."""
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
    except (OSError, NotImplementedError):  # a file system, or Windows for most people, without links
        _move_one_by_one(stage, names)
        return
    stage.chmod(stat.S_IMODE(new.stat().st_mode))  # who can read the files can do so through the links
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
    """Move the files without links; the file `moving` exists until the last one is in place."""
    folder, new, moving = stage.parent, stage / "new", stage / "moving"
    (stage / "names").write_text("\0".join(names), encoding="utf-8", errors="surrogateescape")
    _flush(stage / "names")
    (stage / "names").replace(moving)
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
    """Put real files in all places, the old ones or the new ones, and remove the stage; return a sentence about it.

    It can be broken off anywhere, and done again. Raises GraphEditError when the machine does not let it.
    """
    if not stage.is_dir():
        return []
    try:
        with held_back():
            notices = _put_back(stage) if (stage / "moving").is_file() else _put_in_place(stage)
            _remove(stage)
            return notices
    except OSError as error:
        raise GraphEditError(
            f"A save into {str(stage.parent)!r} could not be ended: {reason(error)}; its files are in {stage.name!r} "
            "there, and the next save into that folder puts them in their places."
        ) from error


def _remove(stage: Path) -> None:
    """Remove a stage. `shutil.rmtree` closes files twice when it is interrupted."""
    for link in (stage / "current", stage / "link"):
        link.unlink(missing_ok=True)
    for name in _files(stage):
        (stage / name).unlink()
    for inside in reversed(_folders(stage)):
        (stage / inside).rmdir()
    stage.rmdir()


def _put_in_place(stage: Path) -> list[str]:
    """Let the files take the places of the links to them."""
    folder, old, new, current = stage.parent, stage / "old", stage / "new", stage / "current"
    if not current.is_symlink():
        return []
    whole = stage / current.readlink()
    names = dict.fromkeys((*_files(old), *_files(new)))
    for name in names:
        place = folder / name
        if not place.is_symlink() or stage not in Path(os.path.normpath(place.parent / place.readlink())).parents:
            continue
        if os.path.lexists(whole / name):
            (whole / name).replace(place)
        else:
            place.unlink()
    _prune(stage, whole)
    for inside in ("", *_folders(whole)):
        _flush_folder(folder / inside)
    outcome = "finished now" if whole == new else "taken back"
    return [f"A save of {_some(sorted(names))} into {str(folder)!r} had been broken off, and was {outcome}."]


def _put_back(stage: Path) -> list[str]:
    """Restore copies of the old files where new ones are missing."""
    folder, old, new, moving = stage.parent, stage / "old", stage / "new", stage / "moving"
    names = moving.read_text(encoding="utf-8", errors="surrogateescape").split("\0")
    for name in names:
        if os.path.lexists(old / name):
            copy = stage / "copy"
            copy.unlink(missing_ok=True)
            _copy(old / name, copy)
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            copy.replace(folder / name)
        elif not os.path.lexists(new / name):
            (folder / name).unlink(missing_ok=True)
    _prune(stage, old)
    moving.unlink()
    return [f"A save of {_some(sorted(names))} into {str(folder)!r} had been broken off, and was taken back."]


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
    return sorted((Path(above) / name).relative_to(folder).as_posix() for above, _, names in walk for name in names)


def _folders(folder: Path) -> list[str]:
    """The folders below a folder, the outer ones first."""
    walk = os.walk(folder)
    return sorted((Path(above) / name).relative_to(folder).as_posix() for above, names, _ in walk for name in names)


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

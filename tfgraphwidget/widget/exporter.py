"""Exporter: the current graph as a file in a folder of the kernel, or as bytes that the browser
downloads.
"""

from __future__ import annotations

import io
import os
import re
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export import SuccessReport, parse_options
from tfgraphwidget.naming import format_size
from tfgraphwidget.sources import parse_path
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.page_text import on_page, reply_on_page
from tfgraphwidget.widget.pictures import picture_file
from tfgraphwidget.widget.save_formats import (
    OUTPUTS,
    SaveFormat,
    check_name,
    find_save_format,
    frozen_outputs,
    is_saved_model,
    list_save_formats,
)
from tfgraphwidget.writable import unwritable, write_file

if TYPE_CHECKING:
    from tfgraphwidget.editor import GraphEditor

Options = tuple[tuple[str, str], ...]
_MOST_BYTES = 200_000_000  # what a page can hold twice
_NO_TEXT = re.compile("[\0\ud800-\udfff]")  # a NUL, half of a character


class FileExists(GraphEditError):
    """The file or directory to save to exists."""


@dataclass(frozen=True)
class SavedFile:
    """A file that was written.

    Attributes:
        path: The file, or the folder of a SavedModel.
        relative: Its path from the folder of the document or notebook on, with "/" at the end of a
            folder; absolute for one outside of the exporter's folder, "" for a file that nothing
            opens here.
        about: A sentence with the notices.
    """

    path: Path
    relative: str
    about: str


class Exporter:
    """Saves the current graph of an editor.

    Attributes:
        path: The file that was opened as a document; None in a notebook, where names are relative
            to the working directory of the kernel.
    """

    def __init__(
        self,
        editor: GraphEditor,
        path: Path | None = None,
        saved: Callable[[Path, SaveFormat], None] | None = None,
    ) -> None:
        self.path = path
        self._editor, self._saved = editor, saved

    @property
    def folder(self) -> Path:
        """The directory to save in: the file's, or that around a SavedModel; else the current."""
        if self.path is None:
            return Path.cwd()
        inside = not self.path.is_dir() and is_saved_model(self.path)
        return self.path.parent.parent if inside else self.path.parent

    def formats(self) -> list[SaveFormat]:
        """The formats that can be chosen, each with a proposed name, or why it cannot be chosen."""
        return [reply_on_page(each) for each in list_save_formats(self._editor, self.path)]

    def save(
        self,
        kind: object,
        name: str,
        *,
        replace: bool = False,
        colors: tuple[str, ...] = (),
        options: Options = (),
        area: tuple[float, ...] = (),
    ) -> SavedFile:
        """Save the current graph.

        Args:
            colors: Of a picture: the colors of its background and of text.
            options: The (name, value) of each option of the format that was chosen.
            area: Of a picture: its left, top, width and height in the drawing; empty for the whole.

        Raises:
            FileExists: For an existing file or directory, without `replace`.
            GraphEditError: If it cannot be written; all files are unchanged then.
        """
        save_format = _format_named(kind)
        target = self._target(check_name(name, save_format), save_format.suffix)
        if save_format.kind == "frozen" and target == self.path:
            raise GraphEditError(
                f"{target.name} is the graph that is edited here, and a frozen one is less of it; "
                "give another name."
            )
        if os.path.lexists(target) and not replace:
            what = "The folder" if target.is_dir() else "A file"
            raise FileExists(
                f"{what} {target.name!r} is there already in {str(target.parent)!r}; replace it, "
                "or give another name."
            )
        path, notices = self._write(target, save_format, colors, options, area)
        if self._saved is not None:
            self._saved(path, save_format)
        ending = "/" if save_format.suffix == "/" else ""
        name = f"{_relative_name(path, self.folder)}{ending}"
        about = " ".join([f"Saved as {name}, {_size(path)}.", *notices])
        # The page knows the folder of the file that is open, which for a SavedModel is its own.
        is_own_folder = self.path is None or self.folder == self.path.parent
        relative = name if is_own_folder or Path(name).is_absolute() else f"../{name}"
        return SavedFile(path, relative if save_format.opens else "", about)

    def download(
        self, kind: object, options: Options = (), name: str = ""
    ) -> tuple[str, bytes, str]:
        """Save the current graph in a temporary folder.

        Args:
            name: A path whose last part is the name of the file; "" for the name that is proposed.

        Returns:
            A file name, the bytes of the file (of an archive for several files), and a sentence
            with the notices.

        Raises:
            GraphEditError: If it cannot be written, or is too large for a browser.
        """
        save_format = _format_named(kind)
        names = (each.name for each in self.formats() if each.kind == save_format.kind)
        proposed = next(names, "graph")
        name = self._target(check_name(name or proposed, save_format), save_format.suffix).name
        with tempfile.TemporaryDirectory(prefix="tfgraphwidget-") as folder:
            path, notices = self._write(Path(folder, name), save_format, options=options)
            files = sorted(file for file in Path(folder).rglob("*") if file.is_file())
            if sum(file.stat().st_size for file in files) > _MOST_BYTES:
                raise GraphEditError(
                    f"{name} is too large to be downloaded; save it in the folder of the kernel."
                )
            if files == [path]:
                data = path.read_bytes()
            else:
                name, data = f"{Path(name).stem}.zip", _archive(files, Path(folder))
        return name, data, " ".join([f"Downloaded {name}, {format_size(len(data))}.", *notices])

    def _write(
        self,
        target: Path,
        kind: SaveFormat,
        colors: tuple[str, ...] = (),
        options: Options = (),
        area: tuple[float, ...] = (),
    ) -> tuple[Path, list[str]]:
        """Write a file; its path and the notices."""
        if colors or area:
            request = p.Picture(cast("Any", kind.kind), whole=not area, area=area, colors=colors)
            try:
                write_file(target, lambda new: new.write_bytes(picture_file(self._editor, request)))
            except OSError as error:
                raise unwritable(target, error) from error
            return target, []
        option_names = {OUTPUTS.name, *(option.name for option in kind.options)}
        unknown = {name for name, _ in options} - option_names
        if unknown:
            raise GraphEditError(
                f"{kind.label} has no option {min(unknown)!r}; choose one of the form."
            )
        frozen = kind.kind == "frozen"
        names = map(str.strip, dict(options).get(OUTPUTS.name, "").split(","))
        outputs = list(filter(None, names))
        if not outputs and kind.kind in {"frozen", "saved_model"}:
            outputs = list(frozen_outputs(self._editor) or ())
        options = tuple(each for each in options if each[0] != OUTPUTS.name)
        boundary: dict[str, Any] = {"outputs": outputs or None}
        if outputs and not frozen:  # a signature has inputs, too
            inputs, _ = self._editor._core.arguments.signature_boundary("outputs", None, outputs)
            boundary["inputs"] = [tensor for _, tensor in inputs]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ending = "/" if kind.suffix == "/" else ""
            path = self._editor.save(
                f"{target}{ending}", **boundary, frozen=frozen, **parse_options(options)
            )
        save_notices = self._editor._core.save_notices
        reports = [each for each in save_notices if isinstance(each, SuccessReport)]
        user_warnings = [each.message for each in caught if each.category is UserWarning]
        return path, list(map(_notice, (*reports, *user_warnings)))

    def _target(self, name: str, suffix: str) -> Path:
        bare = name.rstrip("/") if suffix == "/" else name
        is_empty = not bare.strip() or bare.endswith("/") or Path(bare).name in ("", "..")
        if is_empty or _NO_TEXT.search(bare):
            raise GraphEditError("A name is needed to save under; type one.")
        path = self.folder / parse_path(bare, "name")
        if suffix == "/":
            return path
        return path if path.suffix.lower() == suffix else path.with_name(path.name + suffix)


def _format_named(kind: object) -> SaveFormat:
    save_format = find_save_format(kind)
    if save_format is None:
        raise GraphEditError("This format is unknown; choose one of the list.")
    return save_format


def _archive(files: list[Path], folder: Path) -> bytes:
    """A ZIP file of the files, by their paths in the folder."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            archive.write(file, file.relative_to(folder))
    return data.getvalue()


def _relative_name(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)


def _size(path: Path) -> str:
    files = [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]
    return format_size(sum(file.stat().st_size for file in files))


def _notice(warning: Warning | str) -> str:
    """What a warning says, in the page's words; its text would have lost what differs."""
    return on_page(warning.args[0] if isinstance(warning, Warning) else warning)

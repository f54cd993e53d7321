"""Container: the bytes of a file, a directory's main file, or data in memory, read once."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tfgraphwidget.errors import GraphEditError, NotAGraph, UnknownName
from tfgraphwidget.naming import did_you_mean
from tfgraphwidget.readable import open_file, read_file, why_unreadable
from tfgraphwidget.sources.files.parse import LARGEST, holds_graph, is_text_format, parse_message
from tfgraphwidget.sources.paths import parent_prefix, path_error, shorten
from tfgraphwidget.sources.tf_protos import MessageClasses, message_classes


@dataclass(frozen=True)
class OpenOptions:
    """The choices of the caller of `open_source`; None leaves the choice to the format.

    Attributes:
        signature: The name of a signature, or which trace of a tf.function.
        checkpoint: The prefix of a checkpoint's files, or their directory.
        tags: The tags of one graph of a SavedModel.
        trusted: Whether ops of the graph may run that do more than compute.
    """

    signature: object = None
    checkpoint: object = None
    tags: object = None
    trusted: bool = False


ARCHIVE_HEADER = "tfgraphwidget.json"
"""The name of the first entry of an archive; see `files.archive`."""
_NAME_AT = 30  # of the first entry, in a zip file
ARCHIVE_START = _NAME_AT + len(ARCHIVE_HEADER)


def begins_as_archive(start: bytes) -> bool:
    """Whether a file is an archive by its first bytes, `start`; see `files.archive`."""
    return start[:4] == b"PK\x03\x04" and start[_NAME_AT:] == ARCHIVE_HEADER.encode()


@dataclass(eq=False)
class Container:
    """Bytes that may hold a graph.

    Attributes:
        data: The bytes of the file; of an archive over 2 GB its beginning, as the rest stays on
            disk.
        messages: The message classes to parse them with.
        path: What was given: the file, or the directory that it lies in; None for data in memory.
        file: The file that was read; None for data in memory.
        errors: Message name → why the bytes do not parse as that message.
        unknown_fields: Message name → the first field of a text that the message does not have, or
            "".
    """

    data: bytes = field(repr=False)
    messages: MessageClasses
    path: Path | None = None
    file: Path | None = None
    errors: dict[str, Exception] = field(default_factory=dict)
    unknown_fields: dict[str, str] = field(default_factory=dict)
    _parsed: dict[str, object] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """The name of the file; "" for data in memory."""
        return "" if self.file is None else self.file.name

    @property
    def title(self) -> str:
        """The path that was given, or "bytes"."""
        return "bytes" if self.path is None else str(self.path)

    @property
    def where(self) -> str:
        """The subject of sentences about what was given: "File 'model.pb'"."""
        return "This data" if self.path is None else f"File {shorten(str(self.path))}"

    @property
    def is_archive(self) -> bool:
        """Whether the bytes begin as those of an editor; see `files.archive`."""
        return begins_as_archive(self.data[:ARCHIVE_START])

    @cached_property
    def is_text(self) -> bool:
        """Whether the bytes look like protobuf's text format."""
        return is_text_format(self.data)

    def message(self, name: str) -> Any:
        """The bytes as the message of that name, a field of `MessageClasses`; None when they do not
        hold such a graph.

        Bytes are parsed once for each name.
        """
        if name not in self._parsed:
            self._parsed[name] = None
            try:
                message, self.unknown_fields[name] = self._parse(getattr(self.messages, name))
            except Exception as error:  # a damaged file fails anywhere in a parser
                self.errors[name] = error
            else:
                self._parsed[name] = message if holds_graph(message) else None
        return self._parsed[name]

    def _parse(self, message_class: type[Any]) -> tuple[Any, str]:
        """The message, and the first text field that it lacks; a GraphDef as `StoredGraphDef`."""
        if self.is_text or message_class is not message_classes().GraphDef:
            return parse_message(self.data, message_class, text=self.is_text)
        from tfgraphwidget.sources.files.graph_def_bytes import parse_graph_def

        return parse_graph_def(self.data, message_class), ""

    def notices(self, name: str) -> tuple[str, ...]:
        """A sentence about what the message of that name does not hold of a text."""
        unknown = self.unknown_fields.get(name)
        if not unknown:
            return ()
        sentence = (
            f"{self.where} has fields that this version does not know, such as {unknown!r}; they "
            "are left out, also of what is saved. A '.pb' keeps them."
        )
        return (sentence,)

    def with_messages(self, messages: MessageClasses) -> Container:
        """The same bytes, to be parsed with other message classes."""
        return Container(self.data, messages, self.path, self.file)


def read_container(
    path: Path, messages: MessageClasses, main_files: Collection[str], suffixes: Collection[str]
) -> Container:
    """Read a file, or the main file of a directory; the main files and suffixes are as for
    `locate_file`.

    Raises:
        UnknownName: For a path that does not exist.
        NotAGraph: For a directory without a main file, for what is not a regular file, and for a
            file over 2 GB.
        GraphEditError: For what cannot be read.
    """
    file = locate_file(path, main_files, suffixes)
    return Container(_content(file), messages, path, file)


def locate_file(path: Path, main_files: Collection[str], suffixes: Collection[str]) -> Path:
    """Return the file that holds the graph: a file itself, or the first main file, as
    "saved_model.pb", of a directory. The sentence about another directory proposes files with the
    suffixes.

    Raises UnknownName where there is none, and GraphEditError where it cannot be opened, or the
    directory has no file to open.
    """
    try:
        path.lstat()
        file = _main_file(path, main_files, suffixes) if path.is_dir() else path
    except (FileNotFoundError, NotADirectoryError):
        names, otherwise = _entries(path.parent), "give the path of one that is there"
        end = did_you_mean(path.name, names, parent_prefix(path), otherwise=otherwise)
        raise UnknownName(f"There is no file or directory {shorten(str(path))}{end}") from None
    except (OSError, ValueError) as error:
        raise GraphEditError(
            f"{shorten(str(path))} cannot be opened: {path_error(error)}; give a path that can be "
            "read."
        ) from error
    why = why_unreadable(file)
    if why:  # a pipe or a device, for which the kernel would wait
        raise NotAGraph(why)
    return file


def _main_file(folder: Path, main_files: Collection[str], suffixes: Collection[str]) -> Path:
    for name in main_files:
        if os.path.lexists(folder / name):
            return folder / name
    list(folder.iterdir())  # raises for a folder that may not be listed
    inside = [
        name for name in _entries(folder) if _looks_openable(folder / name, main_files, suffixes)
    ]
    if inside:
        hint = f"; did you mean {str(folder / inside[0])!r}?"
    else:
        hint = "; give the one that model.export wrote."
    raise NotAGraph(
        f"Directory {shorten(str(folder))} is not a SavedModel: it has no saved_model.pb{hint}"
    )


def _looks_openable(path: Path, main_files: Collection[str], suffixes: Collection[str]) -> bool:
    if path.is_dir():
        return any(os.access(path / name, os.R_OK) for name in main_files)
    return path.name.endswith(tuple(suffixes)) and path.is_file() and os.access(path, os.R_OK)


def _entries(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except (OSError, ValueError):
        return []


def _content(file: Path) -> bytes:
    """The bytes of a file; of an archive over 2 GB its beginning."""
    try:
        about = file.stat()
        if about.st_size > LARGEST:
            with open_file(file) as opened:
                if begins_as_archive(start := opened.read(ARCHIVE_START)):
                    return start
            raise NotAGraph(
                f"File {str(file)!r} is over 2 GB, the limit of protobuf; save the graph without "
                "its variables' values, and the values in a checkpoint."
            )
        return read_file(file)
    except (OSError, ValueError) as error:
        raise GraphEditError(
            f"File {shorten(str(file))} cannot be read: {path_error(error)}; copy it again, or "
            "give one that can be read."
        ) from error

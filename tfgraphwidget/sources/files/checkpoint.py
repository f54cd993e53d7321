"""Checkpoint: the files of a checkpoint, and the values in them."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np

from tfgraphwidget.errors import GraphEditError, WrongType, reason_of
from tfgraphwidget.naming import did_you_mean
from tfgraphwidget.readable import why_unreadable
from tfgraphwidget.sentences import argument_value
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.files.tensor_bundle import TensorBundle, latest_checkpoint
from tfgraphwidget.sources.paths import parent_prefix, parse_path, path_error, shorten
from tfgraphwidget.tf_types import TrackableObject

T = TypeVar("T")
_STATE = "checkpoint"  # the file in which a Saver lists what it has written
_KERAS = (".keras", ".h5", ".hdf5")
_FILE = re.compile(r"\.(index|meta|data-\d+-of-\d+)\Z")
_SHARD = re.compile(r"\.data-(\d+)-of-(\d+)\Z")


def is_checkpoint(path: str | os.PathLike[str]) -> bool:
    """Whether a path is the prefix of a checkpoint's files, "m.ckpt", or one of them, and no file
    of a graph.

    Also the folder in which a CheckpointManager or a Saver keeps checkpoints, with a list of them.
    """
    folder = Path(os.fspath(path))
    if _is(Path.is_file, folder / _STATE) and not _is(Path.exists, folder / "saved_model.pb"):
        return True
    prefix = _FILE.sub("", os.fspath(path))
    names_graph = os.fspath(path).endswith(".meta") or _is(Path.exists, Path(prefix))
    return not names_graph and _is(Path.is_file, Path(f"{prefix}.index"))


def is_saved_model_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a path is the directory of a SavedModel."""
    return _is(Path.is_file, Path(os.fspath(path)) / "saved_model.pb")


_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint by its prefix: "m.ckpt" for m.ckpt.index and m.ckpt.data-00000-of-00001."""

    prefix: str

    @classmethod
    def of(cls, argument: object) -> Checkpoint:
        """The checkpoint that an argument names: a prefix, one of its files, or a directory, whose
        latest it is.

        A prefix goes before a directory of the same name, as the one that a model of that name was
        exported to; "model/" is the directory. A directory without a list of checkpoints may hold
        just one.
        """
        if not isinstance(argument, str | os.PathLike):
            raise WrongType(
                "checkpoint",
                argument_value("checkpoint", shorten(argument))
                + " is not a path; give the prefix of a checkpoint's files, 'model.ckpt'.",
            )
        if argument == "":
            raise GraphEditError(
                argument_value("checkpoint", "''")
                + " is not a path; give the prefix of a checkpoint's files, or leave it out."
            )
        path = parse_path(argument, "checkpoint")
        _check_readable(path, Path(f"{path}.index"))
        if path.suffix in _KERAS and _is(Path.is_file, path):
            raise GraphEditError(
                f"{shorten(str(path))} is Keras's own file, not a checkpoint; load it into a model "
                "by model.load_weights(path) or keras.models.load_model(path), and open this model."
            )
        is_folder = os.fspath(argument)[-1:] in ("/", os.sep, b"/") or not _is(
            Path.is_file, Path(f"{path}.index")
        )
        if path.name == _STATE and _is(Path.is_file, path) and is_folder:
            path = path.parent
        if not (is_folder and _is(Path.is_dir, path)):
            return cls(_FILE.sub("", str(path)))
        return cls(cls._latest(path))

    @staticmethod
    def _latest(path: Path) -> str:
        """The prefix of the latest checkpoint in a directory; of a SavedModel its values'."""
        try:
            latest = latest_checkpoint(path)
        except Exception as error:  # a list of names that is none, a folder that may not be read
            raise GraphEditError(
                f"Directory {shorten(str(path))} cannot be read: {path_error(error)}; give the "
                "prefix of a checkpoint's files, 'model.ckpt'."
            ) from error
        for folder in (path, path / "variables") if latest is None else ():
            inside = [
                name.removesuffix(".index") for name in _entries(folder) if name.endswith(".index")
            ]
            if len(inside) == 1:
                return str(folder / inside[0])
        if latest is None:
            raise GraphEditError(
                f"Directory {shorten(str(path))} holds no list of checkpoints; give the prefix of "
                "a checkpoint's files, 'model.ckpt'."
            )
        return latest

    @classmethod
    def of_saved_model(cls, folder: Path) -> Checkpoint:
        """The checkpoint in the directory of a SavedModel."""
        return cls(str(folder / "variables" / "variables"))

    def missing(self) -> list[str]:
        """The paths of the checkpoint's files that do not exist."""
        path = Path(self.prefix)
        if not _is(Path.is_file, Path(f"{path}.index")):
            # TensorFlow 0.x wrote one file.
            return [] if _is(Path.is_file, path) else [f"{path}.index"]
        files = (name for name in _entries(path.parent) if _is(Path.is_file, path.parent / name))
        shards = [shard for name in files if (shard := self._shard(name))]
        if not shards:
            return [f"{path}.data-00000-of-00001"]
        count = max(int(total) for _, total in shards)
        present = {int(number) for number, total in shards if int(total) == count}
        return [
            f"{path}.data-{k:05}-of-{count:05}"
            for k in range(min(count, 100_000))
            if k not in present
        ]

    def lack(self) -> str:
        """The beginning of a sentence about the missing files; the caller adds a suggested fix."""
        missing = self.missing()
        more = f", and {len(missing) - 1} more" * (len(missing) > 1)
        return (
            f"File {shorten(missing[0])} of the checkpoint is missing{more}, so the variables have "
            "no values; put it back"
        )

    def _shard(self, name: str) -> tuple[str, str] | None:
        match = _SHARD.search(name)
        if match and name[: match.start()] == Path(self.prefix).name:
            return (match[1], match[2])
        return None

    def hint(self) -> str:
        """The end of a sentence: "; did you mean …?" for a checkpoint of a similar name, or "."."""
        folder = Path(self.prefix).parent
        beside = [
            name.removesuffix(".index") for name in _entries(folder) if name.endswith(".index")
        ]
        near = [name for name in beside if name != Path(self.prefix).name]
        return did_you_mean(Path(self.prefix).name, near, parent_prefix(Path(self.prefix)))

    @cached_property
    def shapes(self) -> Mapping[str, Sequence[int]]:
        """Name of each value -> its shape; GraphEditError when the checkpoint cannot be read."""
        return self._read(lambda reader: reader.shapes)

    @cached_property
    def objects(self) -> Sequence[TrackableObject]:
        """The objects whose values a checkpoint has, as protos; empty for one of TensorFlow 1."""
        if tf_protos.OBJECT_GRAPH not in self.shapes:
            return ()
        try:
            return tuple(
                tf_protos.TrackableObjectGraph.FromString(
                    bytes(self.value(tf_protos.OBJECT_GRAPH))
                ).nodes
            )
        except GraphEditError:
            raise
        except Exception as error:  # of a damaged checkpoint
            raise GraphEditError(
                f"Checkpoint {shorten(self.prefix)} has no readable list of objects; copy it again."
            ) from error

    @cached_property
    def variable_names(self) -> Mapping[str, str]:
        """Key of each value of an object's variable → the name of this variable, "dense/kernel"."""
        names = {
            value.checkpoint_key: value.full_name
            for each in self.objects
            for value in each.attributes
            if value.full_name and value.checkpoint_key in self.shapes
        }
        return own_paths(names)

    def value(self, name: str) -> np.ndarray | bytes:
        """The numpy value of that name. Raises GraphEditError where it cannot be read."""
        dtype = self.dtypes[name]
        try:
            item_size = 1 if dtype == "string" else tf_protos.numpy_dtype(dtype).itemsize
        except TypeError as error:  # "variant", or "" for one of a newer TensorFlow
            raise GraphEditError(
                f"Checkpoint {shorten(self.prefix)}: the value of {name[:200]!r} is of "
                f"{dtype or 'an unknown'} dtype, which numpy has no arrays for; save the "
                "checkpoint without it, or restore it with TensorFlow."
            ) from error
        size = math.prod(self.shapes[name]) * item_size
        if size > self._bytes:  # no room is made for it before
            raise GraphEditError(
                f"Checkpoint {shorten(self.prefix)} lists {size:,} bytes for {name[:200]!r}, and "
                f"its files have {self._bytes:,.0f}; copy it again."
            )
        return self._read(lambda reader: reader.value(name))

    def _read(self, what: Callable[[TensorBundle | tf_protos.OldCheckpoint], _Result]) -> _Result:
        try:
            return what(self._reader)
        except GraphEditError:
            raise
        except Exception as error:  # damaged files raise IndexError, KeyError, MemoryError too
            if self.missing():
                raise GraphEditError(f"{self.lack()}{self.hint()}") from error
            raise GraphEditError(
                f"Checkpoint {shorten(self.prefix)} cannot be read: {reason_of(error)}; copy it "
                "again."
            ) from error

    @cached_property
    def _reader(self) -> TensorBundle | tf_protos.OldCheckpoint:
        """The reader of the values. TensorFlow reads the one file that TensorFlow 0.x wrote."""
        folder = Path(self.prefix).parent
        _check_readable(*(folder / name for name in _entries(folder) if self._shard(name)))
        if _is(Path.is_file, Path(f"{self.prefix}.index")):
            return TensorBundle(self.prefix)
        if not _is(Path.is_file, Path(self.prefix)):
            raise GraphEditError(f"{self.lack()}{self.hint()}")
        return tf_protos.OldCheckpoint(self.prefix)

    @cached_property
    def dtypes(self) -> Mapping[str, str]:
        """Name of each value -> its dtype, "float32"; GraphEditError if it is unreadable."""
        dtypes: Mapping[str, str] = self._read(lambda reader: reader.dtypes)
        return dtypes

    @cached_property
    def _bytes(self) -> float:
        """The most bytes that values can have; infinite for TensorFlow 0.x's compressed file."""
        folder = Path(self.prefix).parent
        shards = [folder / name for name in _entries(folder) if self._shard(name)]
        return sum(shard.stat().st_size for shard in shards) if shards else math.inf


def value_type(checkpoint: Checkpoint, name: str) -> str:
    """The dtype and the shape of a value, "float32 [2, 3]"."""
    return f"{checkpoint.dtypes[name]} {list(checkpoint.shapes[name])}"


def own_paths(values: Mapping[str, T]) -> dict[str, T]:
    """The entries by paths of objects, or keys that begin with these ("variables/0"), without the
    second list that Keras saves of its variables.
    """
    is_listed = any(path.startswith("variables/") for path in values)
    return {
        path: v
        for path, v in values.items()
        if not (is_listed and path.startswith("_all_variables/"))
    }


def _check_readable(*paths: Path) -> None:
    """Raise GraphEditError for a pipe or a device among files of a checkpoint."""
    why = next(filter(None, (why_unreadable(path, folders=True) for path in paths)), "")
    if why:
        raise GraphEditError(why)


def _is(kind: Callable[[Path], bool], path: Path) -> bool:
    """Whether a path is a file, or a directory; false if unreadable or impossible."""
    try:
        return kind(path)
    except (OSError, ValueError):
        return False


def _entries(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except (OSError, ValueError):
        return []

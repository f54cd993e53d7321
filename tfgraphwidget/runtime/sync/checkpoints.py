"""Values of variables in checkpoints, read and written without adding ops to their graph."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import numpy as np

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import VariableDef
from tfgraphwidget.sources import Checkpoint, StoredTensor, variable_slice, write_checkpoint
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.writable import check_place, unwritable, write_files

_FILE = re.compile(r"\.(index|data-\d+-of-\d+)\Z")


def write(path: str, present: Iterable[tuple[str, VariableDef, object]]) -> None:
    """Write (key, variable, value) to a checkpoint on this machine, by the prefix of its files.
    Slices of one variable have one key. Raises tf.errors.OpError where it cannot be written there.
    """
    write_checkpoint(
        path,
        [StoredTensor.of(key, variable, partial(_same, value)) for key, variable, value in present],
    )


def _same(value: object) -> object:
    return value


def save(path: str, present: Iterable[tuple[str, VariableDef, object]]) -> None:
    """Write (key, variable, value) to a checkpoint, which replaces the old one when it is complete.
    Raises GraphEditError where it cannot be written there.
    """
    prefix = Path(path)
    try:
        check_place(prefix)
        write_files(
            prefix.parent,
            lambda new: write(str(new / prefix.name), present),
            lambda _: [f.name for f in files(prefix)],
        )
    except (OSError, tf.errors.OpError) as error:
        raise unwritable(prefix, error) from error


def files(prefix: Path) -> list[Path]:
    """Return the files of a checkpoint."""
    entries = [
        entry for entry in prefix.parent.iterdir() if _FILE.sub("", entry.name) == prefix.name
    ]
    return sorted(entry for entry in entries if _FILE.search(entry.name))


def read(path: str, variables: Iterable[tuple[str, VariableDef]]) -> dict[str, np.ndarray]:
    """Return values by handle name, for (key, variable). Raises GraphEditError for a checkpoint
    that cannot be read, or lacks a value.
    """
    checkpoint = Checkpoint.of(path)
    try:
        stored_shapes = checkpoint.shapes
    except GraphEditError as error:
        raise GraphEditError(
            f"There is no checkpoint {path!r} that can be read; give what Saver.save gave."
        ) from error
    values = {}
    for key, variable in variables:
        if key not in stored_shapes:
            why = (
                f"Checkpoint {path!r} has no value for {key!r}; save the originals under their "
                "names first."
            )
            raise GraphEditError(why, [variable.handle])
        values[variable.handle] = variable_slice(checkpoint.value(key), variable)
    return values

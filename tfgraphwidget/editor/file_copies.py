"""Copies of ops in a file that is not imported: as NodeDefs, with what reads the values of their variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from tfgraphwidget import runtime
from tfgraphwidget.editor import clone_values
from tfgraphwidget.sources import tf_protos

if TYPE_CHECKING:
    from tfgraphwidget.editor.targets import LiveTarget
    from tfgraphwidget.edits import Patch
    from tfgraphwidget.graph import GraphIndex


def stays_in_file(patch: Patch, index: GraphIndex, origin: LiveTarget, target: LiveTarget) -> bool:
    """Whether a copy of ops of files is made of NodeDefs, without importing them.

    Args:
        patch: The clone.
        index: The graph of the originals.
        origin: What has the originals.
        target: What the copies go into.
    """
    is_held = not (tf_protos.is_tensorflow_installed() and clone_values.needs_session(patch, index))
    return origin.is_file and target.is_file and is_held


def with_values(
    patch: Patch, origin: clone_values.GraphSession, target: LiveTarget, readers: Mapping[str, Callable[[], object]]
) -> Patch:
    """The patch of a copy with the static shapes of the new ops, and readers of the values of new variables.

    It does not have the originals of a copy out of another file, which TensorFlow's graph will not have.

    Args:
        patch: The clone.
        origin: The graph of the originals.
        target: What the copies go into.
        readers: Read the values of the originals, by their handle ops.

    Raises:
        SessionRefused: A variable has no value in the file, or a device is missing.
        GraphEditError: An op cannot take its inputs, or a given value does not fit its variable.
    """
    target.check_placed(patch, target)
    copies = patch.add.copies
    of_another = origin.index is not target.index
    # Another file's ops are not to be looked for in this graph, which can have others of their names.
    inferred = runtime.infer_patch_shapes(target.index, _with_copies(patch, ()) if of_another else patch)
    values = clone_values.file_values(_with_copies(inferred, copies), origin, readers)
    return replace(inferred, values=values)


def _with_copies(patch: Patch, copies: tuple[tuple[str, str], ...]) -> Patch:
    return replace(patch, add=replace(patch.add, copies=copies))

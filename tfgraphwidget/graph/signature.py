"""Signature: by which keys callers feed and fetch tensors of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Signature:
    """A signature of a graph, as SavedModels and MetaGraphDefs have them.

    Attributes:
        name: Its name: "serving_default".
        inputs: (key, name of the tensor) of each input. Files have them sorted by key.
        outputs: The same of each output.
    """

    name: str
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]


def chosen_of(signatures: Sequence[Signature], chosen: Signature | None) -> Signature | None:
    """The one of the name of the chosen one, which edits may have changed, or the first; None for
    none.
    """
    named = [each for each in signatures if chosen is not None and each.name == chosen.name]
    return next(iter(named or signatures), None)

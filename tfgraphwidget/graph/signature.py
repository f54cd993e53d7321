"""Signature: by which keys callers feed and fetch tensors of a graph."""

from __future__ import annotations

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

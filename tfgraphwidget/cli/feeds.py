"""Feeds on the command line: NAME=VALUE, where a value is random, zeros, ones, a file or JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    HANDLE_DTYPES,
    REQUIRED_PLACEHOLDERS,
    calls_of_savers,
    tensor_values,
)
from tfgraphwidget.naming import known_instead, split_tensor

if TYPE_CHECKING:
    from tfgraphwidget.editor import GraphEditor
    from tfgraphwidget.graph import Signature

ALL = "all"
"""The name that means all placeholders."""
SEED = 0  # of random values: two runs of the command feed the same
LARGEST_INTEGER = 10  # random integers are below it, so that they are rows of most tables
MAX_BYTES = 1 << 32  # of a value that is made up: 4 GB

_MADE_UP = ("random", "zeros", "ones")


def parse_feeds(
    texts: Iterable[str], editor: GraphEditor, other: GraphEditor | None = None
) -> dict[str, Any]:
    """The values by tensor that options name.

    Args:
        texts: "x=random:1,224,224,3", "x=zeros", "x=rows.npy", "x=[[1, 2]]", or "all=random".
        other: A graph that is compared with it, whose signature may name them.

    Raises:
        GraphEditError: A text is none of these, or names no tensor.
    """
    feeds: dict[str, Any] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name or not value:
            raise GraphEditError(
                f"--feeds: {text!r} is not NAME=VALUE; write x=random:1,224,224,3, x=zeros:8, "
                "x=rows.npy or x=[[1,2]]."
            )
        for tensor in _tensors(name, editor, other):
            feeds[tensor] = _value(value, tensor, editor)
    return feeds


def _tensors(name: str, editor: GraphEditor, other: GraphEditor | None) -> list[str]:
    """The tensors of a name: of an op, of an input of a signature, or of all placeholders; none is
    the name of a file that a SavedModel saves to.
    """
    core = editor._core
    index = core.index
    savers = set(calls_of_savers(index))
    placeholders = []
    for op, name_of_op in enumerate(index.names):
        if index.types[op] not in REQUIRED_PLACEHOLDERS or index.dtypes(op)[0] in HANDLE_DTYPES:
            continue
        if savers.isdisjoint(index.consumer_lists[op]):
            placeholders.append(f"{name_of_op}:0")
    if split_tensor(name)[0] in index.ids:
        return [f"{name}:0" if name in index.ids else name]
    if name == ALL:
        return placeholders
    for of in (editor, other):
        tensor = "" if of is None else _input_of_signature(name, of)
        if split_tensor(tensor)[0] in index.ids:
            return [tensor]
    raise GraphEditError(
        f"--feeds: the graph has no tensor {name!r}"
        f"{known_instead(name, placeholders, 'its placeholders are')}"
    )


def _input_of_signature(name: str, editor: GraphEditor) -> str:
    """The tensor that a signature names so, the chosen one or serving_default first; or ""."""
    core = editor._core
    chosen = core.source.signature

    def rank(signature: Signature) -> tuple[bool, bool]:
        is_chosen = chosen is not None and signature.name == chosen.name
        return not is_chosen, signature.name != "serving_default"

    for signature in sorted(core.executor.signatures, key=rank):
        if tensor := dict(signature.inputs).get(name):
            return str(tensor)
    return ""


def _value(text: str, tensor: str, editor: GraphEditor) -> Any:
    """The value of a text for a tensor."""
    index = editor._core.index
    op, port = index.tensor(tensor)
    kind, _, sizes = text.partition(":")
    if kind in _MADE_UP:
        shape = _shape(sizes, tensor, index.shape(op, port))
        return _made_up(kind, shape, index.dtypes(op)[port], tensor)
    if text.endswith(".npy"):
        try:
            return np.load(Path(text), allow_pickle=False)
        except (OSError, ValueError) as error:
            raise GraphEditError(
                f"--feeds: {text!r} cannot be read as an array of NumPy: {error}."
            ) from error
    try:
        return json.loads(text)
    except ValueError:
        raise GraphEditError(
            f"--feeds: {text!r} is neither {', '.join(_MADE_UP)}, nor a .npy file, nor JSON; "
            "write x=random:1,224,224,3, x=rows.npy or x=[[1,2]]."
        ) from None


def _shape(sizes: str, tensor: str, static: Sequence[int | None] | None) -> tuple[int, ...]:
    """The shape that a text gives, else the static one with 1 for what that leaves open."""
    if not sizes:
        if static is None:
            raise GraphEditError(
                f"--feeds: the shape of {tensor!r} is not known; give it: "
                f"{tensor}=random:1,224,224,3."
            )
        return tuple(1 if size is None else size for size in static)
    parts = sizes.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise GraphEditError(
            f"--feeds: {sizes!r} is not a shape; write its sizes with commas: 1,224,224,3."
        )
    return tuple(map(int, parts))


def _made_up(kind: str, shape: tuple[int, ...], dtype: str, tensor: str) -> Any:
    if dtype == "string":
        raise GraphEditError(
            f"--feeds: {tensor!r} takes strings, which are not made up; "
            f'give them as JSON: {tensor}=["a","b"].'
        )
    if math.prod(shape) * 8 > MAX_BYTES:
        raise GraphEditError(f"--feeds: a value of shape {shape} for {tensor!r} does not fit.")
    numpy_dtype = tensor_values.numpy_dtype(dtype)
    if kind != "random":
        return np.full(shape, kind == "ones", numpy_dtype)
    draw = np.random.default_rng(SEED)
    if dtype == "bool":
        return draw.integers(0, 2, shape).astype(bool)
    if "int" in dtype:
        return draw.integers(0, LARGEST_INTEGER, shape).astype(numpy_dtype)
    return draw.normal(size=shape).astype(numpy_dtype)

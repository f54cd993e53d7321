"""The state that a function's body captures, as clones of the body need it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from tfgraphwidget.tf_types import FuncGraph, Operation, Tensor

Pairs = Iterable[tuple[int, int]]


class Table(NamedTuple):
    """What a lookup table holds.

    Attributes:
        keys: The keys, a tensor or an array.
        values: Their values, in the same order.
        is_mutable: Whether it can be written; a static table cannot, and is the only one for some
            pairs of dtypes.
    """

    keys: Any
    values: Any
    is_mutable: bool


@dataclass(frozen=True)
class SavedGradient:
    """The gradient of a tf.custom_gradient in a SavedModel.

    Attributes:
        function: The function of the library that computes it, from the gradients of the op's
            outputs and `captured`.
        captured: Names of tensors in the op's body.
        results: For each input of the op, whether the function returns its gradient.
        inputs: The names of the op's inputs in the file.
    """

    function: str
    captured: tuple[str, ...]
    results: tuple[bool, ...]
    inputs: tuple[str, ...] = ()


class BodyState(Protocol):
    """State of a body, by names of the ops that represent it; see `sources.captured_state`."""

    @property
    def names(self) -> frozenset[str]:
        """The ops that represent state or captured values that are known."""

    @property
    def graph(self) -> FuncGraph | None:
        """The FuncGraph that the body was read from; None for one known as a FunctionDef only."""

    def operation(self, name: str) -> Operation | None:
        """The op of a FuncGraph that an op of the body was read from; None if there is none."""

    def tensor_name(self, tensor: Tensor) -> str | None:
        """The name in the body of a tensor of a FuncGraph; None for one of another graph."""

    def live(self, name: str) -> Any:
        """The `tf.Variable`, or eager tensor, that an op represents; None in a session or file."""

    def values(self, names: Iterable[str], init: str) -> Mapping[str, np.ndarray]:
        """Present ("current") or initial values of what is not live. Raises SessionRefused."""

    def saved_gradient(self, op: str) -> SavedGradient | None:
        """The gradient of a file's tf.custom_gradient; None for what is live, and without one."""

    def table(self, name: str, dtypes: Pairs) -> Table | None:
        """What a lookup table holds whose dtypes are one of the pairs; None for what is
        unknown.
        """

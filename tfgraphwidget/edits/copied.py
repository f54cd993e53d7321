"""Copy: what a clone made, as the person holds it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tfgraphwidget.errors import UnknownName
from tfgraphwidget.names import split_tensor


@dataclass(frozen=True, eq=False)
class Copy:
    """What a clone made: `copy["net/logits:0"]` is the copy of that tensor, `copy["net/logits"]` of that op.

    `variables` are the new `tf.Variable`s in graph order, `ops` the names of the new ops, `outside` the tensors
    (and, as "^op", control inputs) that the copy takes from the original, `shared` the names of the variables that
    it still reads by way of them. `name in copy` says whether an op or tensor of the original was copied.
    """

    scope: str
    ops: tuple[str, ...]
    variables: tuple[Any, ...]
    outside: tuple[str, ...]
    shared: tuple[str, ...]
    _element: Callable[[str], Any]

    def __getitem__(self, original: Any) -> Any:
        """The copy's tensor or op for the original's (name, `tf.Tensor` or `tf.Operation`)."""
        name = original if isinstance(original, str) else original.name
        if name not in self:
            raise UnknownName(f"{name!r} was not copied into {self.scope!r}; the copy has {len(self.ops)} other ops.")
        return self._element(f"{self.scope}/{name}")

    def __contains__(self, original: object) -> bool:
        """Whether the original's op or tensor was copied."""
        name = original if isinstance(original, str) else getattr(original, "name", "")
        return f"{self.scope}/{split_tensor(str(name))[0]}" in self._made

    @cached_property
    def _made(self) -> frozenset[str]:
        return frozenset(self.ops)

    def __repr__(self) -> str:
        return f"<Copy {self.scope!r}: {len(self.ops)} ops, {len(self.variables)} variables of its own>"

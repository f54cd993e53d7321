"""Copy: what a clone made, as the person holds it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tfgraphwidget.edits.preview import Preview
from tfgraphwidget.edits.savers import saver
from tfgraphwidget.errors import UnknownName
from tfgraphwidget.names import split_tensor


@dataclass(frozen=True, eq=False)
class Copy:
    """What a clone made: `copy["net/logits:0"]` is the copy of that tensor, `copy["net/logits"]` of that op.

    `variables` are the new `tf.Variable`s in graph order, `ops` the names of the new ops, `outside` the tensors
    (and, as "^op", control inputs) that the copy takes from the original, `shared` the names of the state that it
    still shares with it. `name in copy` says whether an op or tensor of the original was copied. `graph` holds the
    copy, and `report` tells what is new, what is shared and what was dropped.
    """

    scope: str
    ops: tuple[str, ...]
    variables: tuple[Any, ...]
    outside: tuple[str, ...]
    shared: tuple[str, ...]
    report: Preview
    graph: Any = field(repr=False)
    _names: Mapping[str, str] = field(repr=False)
    _keys: Callable[[], Mapping[str, str]] = field(repr=False)
    _sync: Callable[[], Any] = field(repr=False)

    def __getitem__(self, original: Any) -> Any:
        """The copy's tensor or op for the original's (name, `tf.Tensor` or `tf.Operation`).

        A tensor that a placeholder, or another tensor, stands for gives that one.
        """
        name = original if isinstance(original, str) else original.name
        op, port = split_tensor(name)
        for asked in (name, f"{op}:0") if port is None else (name,):
            if asked in self._names:
                return self.graph.as_graph_element(self._names[asked])
        if op not in self._names:
            raise UnknownName(f"{name!r} was not copied into {self.scope!r}; the copy has {len(self.ops)} other ops.")
        return self.graph.as_graph_element(self._names[op] + ("" if port is None else f":{port}"))

    def __contains__(self, original: object) -> bool:
        """Whether the original's op or tensor was copied, or has something that stands for it."""
        name = original if isinstance(original, str) else getattr(original, "name", "")
        return name in self._names or split_tensor(str(name))[0] in self._names

    def saver(self, **options: Any) -> Any:
        """A new `tf.compat.v1.train.Saver` of these variables, under the originals' names in checkpoints.

        So a checkpoint of the original restores the copy, and one of the copy the original. It adds its ops to the
        graph. `options` are those of the Saver; its `filename` is left to save and restore. Raises NothingTo.
        """
        keys = self._keys()
        return saver(self.graph, [(keys[v.name], v) for v in self.variables], **options)

    def __repr__(self) -> str:
        return f"<Copy {self.scope!r}: {len(self.ops)} ops, {len(self.variables)} variables of its own>"

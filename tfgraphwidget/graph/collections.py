"""The members of a graph's collections: ops, tensors and variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from tfgraphwidget.naming import split_tensor
from tfgraphwidget.tf_types import SaveSliceInfoDef, Tensor

TRAINABLE = "trainable_variables"
"""The collection of the variables that optimizers train by default."""


class Member(NamedTuple):
    """One entry of a collection; `name` is an op's, a tensor's, or a variable's handle tensor."""

    kind: Literal["op", "tensor", "variable"]
    name: str

    @classmethod
    def of(cls, item: Any) -> Member | None:
        """The member that an object of a TensorFlow collection is; None for what is neither op,
        tensor nor variable.

        Known by class names, since this package reads without TensorFlow. An _UnreadVariable is
        what assigning to a resource variable gives: it represents the assign op.
        """
        classes = set()
        for each in type(item).__mro__:
            if each.__module__.partition(".")[0] == "tensorflow":
                classes.add(each.__name__)
        kind: Literal["op", "tensor", "variable"]
        if "EagerTensor" in classes:
            return None
        if "Operation" in classes:
            kind = "op"
        elif "_UnreadVariable" in classes:
            kind, item = "op", item.op
        elif classes & {"RefVariable", "BaseResourceVariable"}:
            kind = "variable"
        elif classes & {"Tensor", "_LazyEvalTensor"}:
            # get_variable(regularizer=...) wraps its loss in an object of its own.
            kind = "tensor"
        else:
            return None
        # Another thread may be making a variable: it is in its collection before it has a name.
        name = getattr(item, "name", None)
        return cls(kind, name) if isinstance(name, str) else None


def places_in_order(
    entries: Iterable[Member | None], order: Iterable[Member]
) -> list[tuple[int, int]]:
    """(place among the entries, place in the order) of the members of an order that stand among the
    entries of a collection, in which some may be twice, as the entries come.
    """
    waiting: dict[Member, list[int]] = {}
    for place, member in enumerate(order):
        waiting.setdefault(member, []).append(place)
    numbers = ((at, waiting.get(member)) for at, member in enumerate(entries) if member is not None)
    return [(at, places.pop(0)) for at, places in numbers if places]


@dataclass(frozen=True)
class VariableDef:
    """A variable, as TensorFlow's VariableDef has it, by names; None if the graph lacks it."""

    handle: str
    initial_value: str | None
    initializer: str | None
    snapshot: str | None
    resource: bool = False
    trainable: bool = True
    synchronization: int = 0
    aggregation: int = 0
    slice_info: SaveSliceInfoDef | None = None
    constraint: Callable[..., Tensor] | None = None

    @property
    def name(self) -> str:
        """The variable's name as TensorFlow prints it, for example "net/w:0"."""
        return f"{self.handle}:0"

    @property
    def ops(self) -> set[str]:
        """The names of the ops that initialize and read it, and of the op of its initial value."""
        names = (self.initializer, self.snapshot, self.initial_value)
        return {split_tensor(name)[0] for name in names if name}

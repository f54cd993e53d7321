"""A graph after a patch, op by op; unchanged ops are not read again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from math import prod

from tfgraphwidget.edits.patch import Patch
from tfgraphwidget.graph import (
    CONSTANTS,
    MERGE,
    NEXT,
    SHAPE_ARITHMETIC,
    SHAPE_QUERIES,
    SIZE_VECTORS,
    GraphIndex,
    Shape,
    distinct,
)
from tfgraphwidget.naming import split_input
from tfgraphwidget.tf_types import AttrValue, FunctionDef, NodeDef

Tensor = tuple[str, int]
Rank = tuple[int, int]

_MOST_NUMBERS = 1024
_DEEPEST = 100
# Attributes that say nothing of shapes.
_KEYS = frozenset({"shared_name", "container", "seed", "seed2", "frame_name"})


class PatchedGraph:
    """The ops of `index` after `patch`, by name.

    Attributes:
        shapes: The static shapes that are others then.
        typing: The dtypes of ops, those included whose type is a function that the patch adds.
    """

    def __init__(self, index: GraphIndex, patch: Patch | None = None) -> None:
        patch = patch or Patch()
        self.index, self.patch = index, patch
        self.shapes: dict[Tensor, Shape] = {}
        self._before = {edited.name: edited.before for edited in patch.changed}
        self.own = {node.name: node for node in (*patch.add.nodes, *(edited.after for edited in patch.changed))}
        self._removed_names = frozenset(node.name for node in patch.remove.nodes)
        self._original = {copy: of for of, copy in patch.add.copies if copy in self.own and of in index.ids}
        self._functions = {function.signature.name: function for function in patch.add.functions}
        self._function_names = index.functions | self._functions.keys() if self._functions else index.functions
        self.typing = index.typing.with_functions(self._functions) if self._functions else index.typing
        self._tells: dict[str, bool] = {}

    def node(self, op: str) -> NodeDef:
        """The NodeDef of an op."""
        own = self.own.get(op)
        return self.index.nodes[self.index.ids[op]] if own is None else own

    def has(self, op: str) -> bool:
        """Whether there is an op of that name."""
        return op in self.own or op in self.index.ids

    def inputs(self, op: str) -> list[Tensor]:
        """The tensors that an op reads, in slot order."""
        return _inputs(self.node(op))

    def shape(self, op: str, port: int) -> Shape:
        """The static shape of an output, as far as it is known by now.

        Args:
            op: The name of the op.
            port: The number of the output.
        """
        if (op, port) in self.shapes:
            return self.shapes[op, port]
        at = self.index.ids.get(self._original.get(op, op))
        return None if at is None else self.index.shape(at, port)

    def dtypes(self, op: str) -> tuple[str, ...]:
        """The dtypes of an op's outputs."""
        return self.typing.dtypes(self.node(op))

    def dtype(self, tensor: Tensor) -> str:
        """The dtype of a tensor; "" when it is not known."""
        dtypes = self.dtypes(tensor[0])
        return dtypes[tensor[1]] if tensor[1] < len(dtypes) else ""

    def functions(self) -> frozenset[str]:
        """The names of the functions in the graph's library."""
        return self._function_names

    def function(self, name: str) -> FunctionDef:
        """The FunctionDef of that name."""
        return self._functions.get(name) or self.index.extras.function(name)

    def readers(self, op: str) -> list[str]:
        """The ops that read an op, each once."""
        at = self.index.ids.get(op)
        old = [] if at is None else [self.index.names[i] for i in dict.fromkeys(self.index.consumer_lists[at])]
        return [r for r in old if r not in self.own and r not in self._removed_names] + self._own_readers.get(op, [])

    @cached_property
    def _own_readers(self) -> dict[str, list[str]]:
        readers: dict[str, list[str]] = {}
        for name in self.own:
            for source in dict.fromkeys(op for op, _ in self.inputs(name)):
                readers.setdefault(source, []).append(name)
        return readers

    def slots(self, op: str) -> list[tuple[Tensor, Tensor]] | None:
        """For each tensor that an op reads what it read before, and what it reads now.

        None for an op that was not there, was of another type, or had other attributes that shapes may hang on.
        """
        now, before = self.node(op), self._before.get(op)
        if before is None and op in self._original:
            before = self.index.nodes[self.index.ids[self._original[op]]]
        elif before is None:
            return None if op in self.own else [(tensor, tensor) for tensor in _inputs(now)]
        old, new = _inputs(before), _inputs(now)
        return (
            list(zip(old, new, strict=True)) if len(old) == len(new) and _have_equal_attributes(before, now) else None
        )

    def same(self, before: Tensor, now: Tensor) -> bool:
        """Whether a tensor is the one that was there before, or its copy.

        Args:
            before: The tensor before the edit.
            now: The tensor after the edit.
        """
        return now[1] == before[1] and before[0] in (now[0], self._original.get(now[0]))

    def may_know_value(self, op: str, depth: int = 0) -> bool:
        """Whether TensorFlow may know something of the numbers that an op gives while nothing runs.

        Args:
            op: The name of the op.
            depth: How many ops were followed.
        """
        may_know = self._tells.get(op)
        if may_know is None:
            self._tells[op] = False  # round a loop nothing is known
            may_know = self._tells[op] = depth < _DEEPEST and self._may_tell(op, depth)
        return may_know

    def _may_tell(self, op: str, depth: int) -> bool:
        if not self.has(op):
            return False
        node = self.node(op)
        if node.op in CONSTANTS:
            return is_small(const_shape(node))
        if not all(is_small(self.shape(op, port)) for port in range(len(self.dtypes(op)))):
            return False
        read = _inputs(node)
        if node.op in SHAPE_QUERIES:
            return any(self.shape(*tensor) is not None for tensor in read)
        may_tell = (self.may_know_value(source, depth + 1) for source, _ in read)
        if node.op in SIZE_VECTORS:
            return any(may_tell)
        return bool(read) and all(may_tell) and not self._is_stateful(node.op)

    def _is_stateful(self, op_type: str) -> bool:
        definition = self.typing.definition(op_type)
        return definition is None or definition.is_stateful

    def computes(self, op: str) -> bool:
        """Whether an op is one of those that compute shapes, and runs in no time."""
        return self.node(op).op in SHAPE_ARITHMETIC

    def set_shape(self, op: str, port: int, shape: Shape) -> None:
        """Set the static shape of an output after the patch.

        Args:
            op: The op.
            port: Its output.
            shape: The static shape.
        """
        self.shapes[op, port] = shape
        self._tells.pop(op, None)

    # The order in which shapes follow from each other

    def ranks(self) -> dict[str, Rank]:
        """A rank for every op that is higher than those of what it reads, but for what comes round in v1 loops."""
        ranks: dict[str, Rank] = {name: (i, 0) for i, name in enumerate(self.index.names)}
        new = [node.name for node in self.patch.add.nodes]
        for name in self.in_topological_order(new):
            at, level = max((ranks[op] for op, _ in self.inputs(name) if op in ranks), default=(-1, 0))
            ranks[name] = (at, level + 1)
        own = ((op, name) for name in self.own for op, _ in self.inputs(name))
        if _is_topologically_sorted(self.index) and all(ranks[op] < ranks[name] for op, name in own):
            return ranks
        return {name: (i, 0) for i, name in enumerate(self.in_topological_order([*self.index.names, *new]))}

    def in_topological_order(self, names: Iterable[str]) -> list[str]:
        """Some ops, each behind those of them that it reads; what comes round in a loop is read later.

        Args:
            names: The names of the ops.
        """
        names = [name for name in dict.fromkeys(names) if name not in self._removed_names or name in self.own]
        among = set(names)
        sources = {name: self._sources(name, among) for name in names}
        waiting = {name: len(read) for name, read in sources.items()}
        readers: dict[str, list[str]] = {name: [] for name in names}
        for name, read in sources.items():
            for source in read:
                readers[source].append(name)
        order = [name for name in names if not waiting[name]]
        for name in order:  # grows
            for reader in readers[name]:
                waiting[reader] -= 1
                if not waiting[reader]:
                    order.append(reader)
        return order if len(order) == len(names) else list(dict.fromkeys([*order, *names]))

    def _sources(self, name: str, among: set[str]) -> set[str]:
        node = self.node(name)
        sources = {op for op, _ in _inputs(node) if op in among}
        return {op for op in sources if self.node(op).op not in NEXT} if node.op in MERGE else sources


def _inputs(node: NodeDef) -> list[Tensor]:
    return [split_input(text) for text in node.input if text[:1] != "^"]


def _have_equal_attributes(before: NodeDef, now: NodeDef) -> bool:
    """Whether two NodeDefs are of one type, with the same attributes as far as shapes may hang on them."""
    if before is now:
        return True
    a, b = _shape_attributes(before), _shape_attributes(now)
    return before.op == now.op and a.keys() == b.keys() and all(a[key] == b[key] for key in a)


def _shape_attributes(node: NodeDef) -> Mapping[str, AttrValue]:
    return {key: value for key, value in node.attr.items() if key[:1] != "_" and key not in _KEYS}


def const_shape(node: NodeDef) -> Shape:
    """The shape of a Const, as its NodeDef says.

    Args:
        node: The NodeDef of an op.
    """
    dims = node.attr["value"].tensor.tensor_shape.dim if "value" in node.attr else None
    return None if dims is None else tuple(dim.size for dim in dims)


def is_small(shape: Shape) -> bool:
    """Whether a shape is known, and of few numbers."""
    return shape is not None and None not in shape and prod(n or 0 for n in shape) <= _MOST_NUMBERS


def _is_topologically_sorted(index: GraphIndex) -> bool:
    """Whether every op stands behind what it reads, but for what comes round in a v1 loop."""
    owner = index.inputs.owner
    back = distinct(owner[index.inputs.values >= owner])
    return all(index.types[i] in MERGE for i in back.tolist())


def merge_shapes(a: Shape, b: Shape) -> Shape:
    """The static shape that covers both shapes.

    Args:
        a: One shape; None for an unknown rank.
        b: The other shape.

    >>> merge_shapes((2, 3), (5, 3)), merge_shapes((2,), (2, 2))
    ((None, 3), None)
    """
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(m if m == n else None for m, n in zip(a, b, strict=True))

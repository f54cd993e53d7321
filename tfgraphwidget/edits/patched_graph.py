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

SMALL = 1024  # numbers of a tensor from which TensorFlow infers shapes
MAX_DEPTH = 100  # ops that are followed to find out whether it may know a value
# Attributes that say nothing of shapes.
_NO_SHAPE_ATTRIBUTES = frozenset({"shared_name", "container", "seed", "seed2", "frame_name"})


class PatchedGraph:
    """The ops of `index` after `patch`, by name.

    Attributes:
        shapes: The static shapes that are others then.
        typing: The dtypes of ops, those included whose type is a function that the patch adds.
    """

    def __init__(self, index: GraphIndex, patch: Patch | None = None) -> None:
        patch = patch or Patch()
        self.index = index
        self.patch = patch
        self.shapes: dict[Tensor, Shape] = {}
        # The NodeDefs that the patch adds, and those that it changes, before and after.
        self.own = {node.name: node for node in patch.add.nodes}
        self.own |= {edited.name: edited.after for edited in patch.changed}
        self._before = {edited.name: edited.before for edited in patch.changed}
        self._removed_names = frozenset(node.name for node in patch.remove.nodes)
        self._original = {
            copy: original
            for original, copy in patch.add.copies
            if copy in self.own and original in index.ids
        }
        self._functions = {function.signature.name: function for function in patch.add.functions}
        self._function_names = index.functions
        self.typing = index.typing
        if self._functions:
            self._function_names = index.functions | self._functions.keys()
            self.typing = index.typing.with_functions(self._functions)
        self._may_know: dict[str, bool] = {}  # results of `may_know_value`

    def node(self, op: str) -> NodeDef:
        """The NodeDef of an op."""
        own = self.own.get(op)
        return self.index.nodes[self.index.ids[op]] if own is None else own

    def has(self, op: str) -> bool:
        """Whether there is an op of that name."""
        return op in self.own or op in self.index.ids

    def inputs(self, op: str) -> list[Tensor]:
        """The tensors that an op consumes, in slot order."""
        return _inputs(self.node(op))

    def shape(self, op: str, port: int) -> Shape:
        """The static shape of an output, as far as it is known by now."""
        if (op, port) in self.shapes:
            return self.shapes[op, port]
        at = self.index.ids.get(self._original.get(op, op))
        return None if at is None else self.index.shape(at, port)

    def dtypes(self, op: str) -> tuple[str, ...]:
        """The dtypes of an op's outputs."""
        return self.typing.dtypes(self.node(op))

    def dtype(self, tensor: Tensor) -> str:
        """The dtype of a tensor; "" when it is not known."""
        op, port = tensor
        dtypes = self.dtypes(op)
        return dtypes[port] if port < len(dtypes) else ""

    def functions(self) -> frozenset[str]:
        """The names of the functions in the graph's library."""
        return self._function_names

    def function(self, name: str) -> FunctionDef:
        """The FunctionDef of that name."""
        return self._functions.get(name) or self.index.extras.function(name)

    def consumers(self, op: str) -> list[str]:
        """The ops that consume tensors of an op, each once."""
        own = self._own_consumers.get(op, [])
        if op not in self.index.ids:
            return [*own]
        consumers = dict.fromkeys(self.index.consumer_lists[self.index.ids[op]])
        names = [self.index.names[consumer] for consumer in consumers]
        unchanged = [
            name for name in names if name not in self.own and name not in self._removed_names
        ]
        return unchanged + own

    @cached_property
    def _own_consumers(self) -> dict[str, list[str]]:
        """The new and changed ops that consume tensors of each op."""
        consumers: dict[str, list[str]] = {}
        for name in self.own:
            for source in dict.fromkeys(op for op, _ in self.inputs(name)):
                consumers.setdefault(source, []).append(name)
        return consumers

    def slots(self, op: str) -> list[tuple[Tensor, Tensor]] | None:
        """For each tensor that an op consumes what it consumed before, and what it consumes now.

        None for an op that was not there, was of another type, or had other attributes on which
        shapes may depend.
        """
        after = self.node(op)
        before = self._before.get(op)
        if before is None and op in self._original:
            before = self.index.nodes[self.index.ids[self._original[op]]]
        if before is None:
            is_new = op in self.own
            return None if is_new else [(tensor, tensor) for tensor in _inputs(after)]
        old, new = _inputs(before), _inputs(after)
        if len(old) != len(new) or not _have_equal_attributes(before, after):
            return None
        return list(zip(old, new, strict=True))

    def same(self, before: Tensor, now: Tensor) -> bool:
        """Whether a tensor is the one that was there before, or its copy."""
        (op_before, port_before), (op, port) = before, now
        return port == port_before and op_before in (op, self._original.get(op))

    def may_know_value(self, op: str, depth: int = 0) -> bool:
        """Whether TensorFlow may know something of the numbers that an op gives while nothing runs.

        `depth` is how many ops were followed to this one.
        """
        may_know = self._may_know.get(op)
        if may_know is None:
            self._may_know[op] = False  # where a loop comes back to the op, nothing is known
            may_know = depth < MAX_DEPTH and self._compute_may_know(op, depth)
            self._may_know[op] = may_know
        return may_know

    def _compute_may_know(self, op: str, depth: int) -> bool:
        """See `may_know_value`."""
        if not self.has(op):
            return False
        node = self.node(op)
        if node.op in CONSTANTS:
            return is_small(const_shape(node))
        if not all(is_small(self.shape(op, port)) for port in range(len(self.dtypes(op)))):
            return False
        inputs = _inputs(node)
        if node.op in SHAPE_QUERIES:
            return any(self.shape(*tensor) is not None for tensor in inputs)
        # Evaluated one by one: the first that decides is the last that is followed.
        may_know_inputs = (self.may_know_value(source, depth + 1) for source, _ in inputs)
        if node.op in SIZE_VECTORS:
            return any(may_know_inputs)
        return bool(inputs) and all(may_know_inputs) and not self._is_stateful(node.op)

    def _is_stateful(self, op_type: str) -> bool:
        """Whether ops of a type have state, as far as is known."""
        definition = self.typing.definition(op_type)
        return definition is None or definition.is_stateful

    def computes(self, op: str) -> bool:
        """Whether an op is one of those that compute shapes, and runs in no time."""
        return self.node(op).op in SHAPE_ARITHMETIC

    def set_shape(self, op: str, port: int, shape: Shape) -> None:
        """Set the static shape of an output after the patch."""
        self.shapes[op, port] = shape
        self._may_know.pop(op, None)

    # The order in which shapes follow from each other

    def ranks(self) -> dict[str, Rank]:
        """A rank for every op that is higher than those of what it consumes, but for v1 loops."""
        new = [node.name for node in self.patch.add.nodes]
        ranks: dict[str, Rank] = {name: (i, 0) for i, name in enumerate(self.index.names)}
        # A new op comes right after the last op of the graph that it needs.
        for name in self.in_topological_order(new):
            source_ranks = (ranks[op] for op, _ in self.inputs(name) if op in ranks)
            number, level = max(source_ranks, default=(-1, 0))
            ranks[name] = (number, level + 1)
        if _is_topologically_sorted(self.index) and self._are_sources_before(ranks):
            return ranks
        order = self.in_topological_order([*self.index.names, *new])
        return {name: (i, 0) for i, name in enumerate(order)}

    def _are_sources_before(self, ranks: Mapping[str, Rank]) -> bool:
        """Whether what the new and changed ops consume has lower ranks than they."""
        return all(ranks[op] < ranks[name] for name in self.own for op, _ in self.inputs(name))

    def in_topological_order(self, names: Iterable[str]) -> list[str]:
        """Some ops, each after those of them that it consumes; what a loop returns comes later."""
        names = [
            name
            for name in dict.fromkeys(names)
            if name not in self._removed_names or name in self.own
        ]
        among = set(names)
        sources = {name: self._sources(name, among) for name in names}
        waiting = {name: len(ops) for name, ops in sources.items()}
        consumers: dict[str, list[str]] = {name: [] for name in names}
        for name, ops in sources.items():
            for source in ops:
                consumers[source].append(name)
        order = [name for name in names if not waiting[name]]
        for name in order:  # grows
            for consumer in consumers[name]:
                waiting[consumer] -= 1
                if not waiting[consumer]:
                    order.append(consumer)
        if len(order) < len(names):  # there are cycles: what is left keeps its order
            return list(dict.fromkeys([*order, *names]))
        return order

    def _sources(self, name: str, among: set[str]) -> set[str]:
        """Which of some ops an op reads, without what a loop returns to its Merge."""
        node = self.node(name)
        sources = {op for op, _ in _inputs(node) if op in among}
        if node.op in MERGE:
            sources = {op for op in sources if self.node(op).op not in NEXT}
        return sources


def _inputs(node: NodeDef) -> list[Tensor]:
    """The tensors that a NodeDef consumes."""
    return [split_input(text) for text in node.input if text[:1] != "^"]


def _have_equal_attributes(before: NodeDef, now: NodeDef) -> bool:
    """Whether NodeDefs are of one type, with the same attributes that shapes depend on."""
    if before is now:
        return True
    if before.op != now.op:
        return False
    return _shape_attributes(before) == _shape_attributes(now)


def _shape_attributes(node: NodeDef) -> dict[str, AttrValue]:
    """The attributes on which shapes may depend."""
    return {
        name: value
        for name, value in node.attr.items()
        if name[:1] != "_" and name not in _NO_SHAPE_ATTRIBUTES
    }


def const_shape(node: NodeDef) -> Shape:
    """The shape of a Const, as its NodeDef says."""
    if "value" not in node.attr:
        return None
    return tuple(dim.size for dim in node.attr["value"].tensor.tensor_shape.dim)


def is_small(shape: Shape) -> bool:
    """Whether a shape is known, and of few numbers."""
    if shape is None or None in shape:
        return False
    return prod(size or 0 for size in shape) <= SMALL


def _is_topologically_sorted(index: GraphIndex) -> bool:
    """Whether every op comes after what it consumes, but for what a v1 loop returns to a Merge."""
    owner = index.inputs.owner
    with_later_source = distinct(owner[index.inputs.values >= owner])
    return all(index.types[op] in MERGE for op in with_later_source.tolist())


def merge_shapes(a: Shape, b: Shape) -> Shape:
    """The static shape that covers both shapes; None is an unknown rank.

    >>> merge_shapes((2, 3), (5, 3)), merge_shapes((2,), (2, 2))
    ((None, 3), None)
    """
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(m if m == n else None for m, n in zip(a, b, strict=True))

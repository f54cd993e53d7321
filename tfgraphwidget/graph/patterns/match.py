"""Matches of a pattern: values, numbered, in graph order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple, TypeVar, overload

import numpy as np

from tfgraphwidget.graph.attributes import AttributeDigests
from tfgraphwidget.graph.expressions import call
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op import Op
from tfgraphwidget.graph.op_effects import side_effects
from tfgraphwidget.graph.op_types import V1_CONTROL_FLOW
from tfgraphwidget.graph.patterns.constants import constant_value
from tfgraphwidget.graph.patterns.definition import Pattern
from tfgraphwidget.graph.patterns.seen_through import seen_through
from tfgraphwidget.graph.selection import Selection
from tfgraphwidget.graph.tensors import Shape
from tfgraphwidget.graph.traversal import topological_rank
from tfgraphwidget.naming import names_text
from tfgraphwidget.sentences import in_cell

T = TypeVar("T")
Tensor = tuple[int, int]
"""Op and port."""

_SHOWN = 20  # matches that are printed


class MatchedTensor(str):
    """The name of a tensor that a pattern names, "net/x:0", with what is known of it.

    >>> import tfgraphwidget as tgw
    >>> x = tgw.example().match("MatMul(x, w)")[0].x
    >>> x, x.dtype, x.shape, x.op.type
    ('x:0', 'float32', (None, 4), 'Placeholder')
    """

    __slots__ = ("_index", "_tensor")
    _index: GraphIndex
    _tensor: Tensor

    def __new__(cls, index: GraphIndex, tensor: Tensor) -> MatchedTensor:
        """Name output `tensor[1]` of op `tensor[0]`."""
        self = super().__new__(cls, f"{index.names[tensor[0]]}:{tensor[1]}")
        self._index, self._tensor = index, tensor
        return self

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """Without the graph: elsewhere it is a name."""
        return str, (str(self),)

    @property
    def op(self) -> Op:
        """The op that computes it."""
        return Op(self._index, self._tensor[0])

    @property
    def dtype(self) -> str:
        """Its dtype, "float32"; "" if it is not known."""
        op, port = self._tensor
        dtypes = self._index.dtypes(op)
        return dtypes[port].removesuffix("_ref") if port < len(dtypes) else ""

    @property
    def shape(self) -> Shape:
        """Its static shape."""
        return self._index.shape(*self._tensor)

    @property
    def value(self) -> np.ndarray | None:
        """The array of a constant, also through Identity ops; None for what is computed."""
        return constant_value(self._index, int(seen_through(self._index).op[self._tensor[0]]))


@dataclass(frozen=True, eq=False)
class Match:
    """One place of a graph at which a pattern fits.

    What the pattern names are attributes: `match.x`, or `match["x"]`. `index` is the graph, and
    `function` the function whose body that is, "" for the graph itself. The ops that `numbers`
    lists go when it is replaced; `passed` are the Identity ops and reads between them, `tensors`
    and `attributes` what the pattern's names represent, and `results` its outputs. `find_why` finds
    `why`.
    """

    pattern: Pattern
    index: GraphIndex = field(repr=False)
    numbers: tuple[int, ...]
    passed: tuple[int, ...]
    tensors: Mapping[str, Tensor]
    attributes: Mapping[str, object]
    results: tuple[Tensor, ...]
    find_why: Callable[[Match], str] = field(repr=False)
    function: str = ""

    @cached_property
    def why(self) -> str:
        """Why it cannot be replaced; "" if it can."""
        return self.find_why(self)

    @cached_property
    def ops(self) -> tuple[str, ...]:
        """The names of the ops, in graph order; constants and variables that the pattern names are
        not among them.
        """
        return tuple(self.index.names[op] for op in self.numbers)

    @cached_property
    def outputs(self) -> tuple[MatchedTensor, ...]:
        """The tensors that are the outputs of the pattern."""
        return tuple(MatchedTensor(self.index, tensor) for tensor in self.results)

    @cached_property
    def inputs(self) -> tuple[MatchedTensor, ...]:
        """The tensors that a replacement is called on, in the order of `names`."""
        return tuple(MatchedTensor(self.index, self.tensors[name]) for name in self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the pattern gives to its inputs."""
        return tuple(name for name in self.pattern.names if name in self.tensors)

    def __getitem__(self, name: str) -> Any:
        """What a name of the pattern represents here."""
        if name in self.tensors:
            return MatchedTensor(self.index, self.tensors[name])
        return self.attributes[name]

    def __getattr__(self, name: str) -> Any:
        """What a name of the pattern represents here."""
        if name[:1] != "_" and (name in self.tensors or name in self.attributes):
            return self[name]
        raise AttributeError(
            f"The pattern has no {name!r}; it names {', '.join([*self.tensors, *self.attributes])}."
        )

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.tensors, *self.attributes]

    def __str__(self) -> str:
        text = ", ".join(self.outputs)
        inputs = zip(self.names, self.inputs, strict=True)
        arguments = ", ".join(f"{name}={tensor}" for name, tensor in inputs)
        if arguments:
            text += f" ({arguments})"
        if self.function:
            text += f" in {self.function}"
        if self.why:
            text += "; " + self.why
        return text

    def __repr__(self) -> str:
        return f"<Match: {self}>"


@dataclass(frozen=True)
class NearMatch:
    """A place at which a pattern almost fits: its op names, and in what it differs.

    Attributes:
        ops: The ops, as far as they fit.
        difference: A sentence.
    """

    ops: tuple[str, ...]
    difference: str

    def __str__(self) -> str:
        return self.difference


@dataclass(frozen=True, eq=False, repr=False)
class Matches(Sequence[Match]):
    """The matches of a pattern, in graph order; `editor.match` returns them.

    `graph` is the index that was searched. `is_cut` says that there may be more than the limit.
    `editor.selection = matches` selects their ops.

    >>> import tfgraphwidget as tgw
    >>> hits = tgw.example().match("MatMul(x, w=Variable, transpose_a=False, transpose_b=False)")
    >>> print(hits)
    2 matches of MatMul(x, w=Variable, transpose_a=False, transpose_b=False)
    1. net/hidden/MatMul:0 (x=x:0, w=net/hidden/MatMul/ReadVariableOp:0)
    2. net/logits:0 (x=net/hidden/Relu:0, w=net/logits/ReadVariableOp:0)
    """

    pattern: Pattern
    matches: Sequence[Match]
    graph: GraphIndex
    expression: str = ""
    is_cut: bool = False
    find_near: Callable[[], tuple[NearMatch, ...]] = tuple

    @cached_property
    def near(self) -> tuple[NearMatch, ...]:
        """Places where all but one thing fits: a type, an attribute, a value, a number of
        inputs.
        """
        return self.find_near()

    @property
    def selection(self) -> Selection:
        """The ops of all matches in the graph itself."""
        ops = [op for match in self.matches if match.index is self.graph for op in match.numbers]
        selection = Selection.of(self.graph, ops, "")
        text = f"{self.expression}.selection" if self.expression else call("ops", selection.ops)
        return Selection(self.graph, selection.mask, text)

    @property
    def replaceable(self) -> tuple[Match, ...]:
        """The matches that can be replaced, overlapping ones included."""
        return tuple(match for match in self.matches if not match.why)

    @overload
    def __getitem__(self, number: int) -> Match: ...
    @overload
    def __getitem__(self, number: slice) -> tuple[Match, ...]: ...
    def __getitem__(self, number: int | slice) -> Match | tuple[Match, ...]:
        return self.matches[number] if isinstance(number, int) else tuple(self.matches[number])

    def __len__(self) -> int:
        return len(self.matches)

    def __iter__(self) -> Iterator[Match]:
        return iter(self.matches)

    def __str__(self) -> str:
        count = f"{len(self):,} match{'es' * (len(self) != 1)}"
        head = f"{'At least ' if self.is_cut else ''}{count} of {self.pattern}"
        lines = [f"{number}. {match}" for number, match in enumerate(self.matches[:_SHOWN], 1)]
        more = [f"and {len(self) - _SHOWN:,} more"] if len(self) > _SHOWN else []
        return "\n".join((head, *lines, *more))

    def __repr__(self) -> str:
        return f"<Matches: {len(self):,} of {self.pattern}>"


class OnDemand(Sequence[T]):
    """Values that are made on first use: `make(number)` for each number below `count`."""

    def __init__(self, count: int, make: Callable[[int], T]) -> None:
        self._numbers, self._make = range(count), make
        self._values: dict[int, T] = {}

    @overload
    def __getitem__(self, number: int) -> T: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[T]: ...
    def __getitem__(self, number: int | slice) -> T | Sequence[T]:
        if isinstance(number, slice):
            return [self[each] for each in self._numbers[number]]
        number = self._numbers[number]
        if number not in self._values:
            self._values[number] = self._make(number)
        return self._values[number]

    def __len__(self) -> int:
        return len(self._numbers)


class FoundMatch(NamedTuple):
    """A match before it is known whether it can be replaced; see `Match`."""

    numbers: tuple[int, ...]
    passed: tuple[int, ...]
    tensors: dict[str, Tensor]
    attributes: dict[str, object]
    results: tuple[Tensor, ...]


class Obstacles:
    """What keeps matches from being replaced: computed once for all matches in one graph.

    Args:
        index: The graph.
        external: The tensors that are named outside of the graph, by signatures or callers of a
            function.
        effects: Whether ops with side effects can be replaced.
    """

    def __init__(self, index: GraphIndex, external: Iterable[str], *, effects: bool) -> None:
        self._index, self._external, self._effects = index, external, effects

    @cached_property
    def _effect_ops(self) -> frozenset[int]:
        if self._effects:
            return frozenset()
        return frozenset(side_effects(self._index, range(len(self._index))))

    @cached_property
    def _external_tensors(self) -> dict[int, list[str]]:
        """The names from outside, by op."""
        tensors: dict[int, list[str]] = {}
        for name in sorted(self._external):
            op = self._index.ids.get(name.rpartition(":")[0] or name)
            if op is not None:
                tensors.setdefault(op, []).append(name)
        return tensors

    def why(self, match: Match) -> str:
        """Some words that follow the outputs of a match which cannot be replaced; "" if it can."""
        index = self._index
        inside = {*match.numbers, *match.passed}
        outputs = set(match.results)
        output_ops = {op for op, _ in outputs}
        for op in match.numbers:
            name = index.names[op]
            if index.types[op] in V1_CONTROL_FLOW:
                return f"{name!r} holds a loop or conditional together"
            if op in self._effect_ops:
                return f"{name!r} ({index.types[op]}) has side effects; " + in_cell(
                    "effects=True replaces it all the same"
                )
        for op in sorted(inside):
            is_outside = [consumer not in inside for consumer in index.consumer_lists[op]]
            if not any(is_outside) and (
                op in output_ops or inside.issuperset(index.control_consumer_lists[op])
            ):
                continue
            why = self._reader(op, inside, outputs, output_ops)
            if why:
                return why
        for op in sorted(inside & self._external_tensors.keys()):
            for name in self._external_tensors[op]:
                if not any(
                    name in (index.names[out], f"{index.names[out]}:{port}")
                    for out, port in outputs
                ):
                    return f"{names_text([name])} inside is an output of the model"
        return ""

    def _reader(self, op: int, inside: set[int], outputs: set[Tensor], output_ops: set[int]) -> str:
        """What outside uses an op inside, other than the outputs."""
        index = self._index
        edges = index.consumer_edges
        for k in range(int(edges.start[op]), int(edges.start[op + 1])):
            consumer, port = int(edges.to[k]), int(edges.port[k])
            if consumer in inside or (op, port) in outputs or (port < 0 and op in output_ops):
                continue
            verb = "waits for" if port < 0 else "reads"
            return f"{index.names[consumer]!r} outside {verb} {index.names[op]!r}, which is inside"
        return ""


def structure_digest(index: GraphIndex) -> bytes:
    """A digest of the graph `index` that is the same for graphs which differ only in names and in
    the order of ops.
    """
    kind = AttributeDigests(index).kind
    rank = topological_rank(index)
    order = range(len(index)) if isinstance(rank, range) else np.argsort(np.array(rank)).tolist()
    digests: dict[int, bytes] = {}
    for op in order:
        first = int(index.inputs.start[op])
        reads = [
            digests.get(source, b"loop") + int(index.ports[first + k]).to_bytes(4, "little")
            for k, source in enumerate(index.input_lists[op])
        ]
        waits = sorted(digests.get(source, b"loop") for source in index.control_lists[op])
        digests[op] = blake2b(b"".join((kind(op), *reads, b"^", *waits)), digest_size=16).digest()
    return blake2b(b"".join(sorted(digests.values())), digest_size=16).digest()

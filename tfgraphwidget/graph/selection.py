"""Selection: some ops of one graph, as a value; it prints as the expression that made it."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import walks
from tfgraphwidget.graph.edges import CONTROL, Ids, Mask
from tfgraphwidget.graph.index import GraphIndex, VariableDef
from tfgraphwidget.graph.variables import HANDLES, definitions
from tfgraphwidget.names import split_tensor

Tensor = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Selection:
    """Ops of one index: `mask` has one bool per op; `expression` is the Python that gives it.

    `tensors` are names of tensors that were chosen beside the ops; see `passthroughs`.
    """

    index: GraphIndex
    mask: Mask
    expression: str
    tensors: tuple[str, ...] = ()

    @classmethod
    def of(cls, index: GraphIndex, ops: Iterable[int], expression: str) -> Selection:
        """The selection of some op numbers."""
        return cls(index, walks.mask_of(index, ops), expression)

    @cached_property
    def ids(self) -> frozenset[int]:
        """The numbers of the ops."""
        return frozenset(np.flatnonzero(self.mask).tolist())

    @cached_property
    def ops(self) -> tuple[str, ...]:
        """Names of the ops, in graph order."""
        return tuple(self.index.names[i] for i in np.flatnonzero(self.mask).tolist())

    @cached_property
    def _read(self) -> dict[Tensor, None]:
        """The tensors that ops inside read, in the order of first use."""
        return self._tensors(self.index.inputs.values, self.index.ports, self.mask[self._owners])

    @cached_property
    def _owners(self) -> Ids:
        """For each data edge the op that reads."""
        return np.repeat(np.arange(len(self.index), dtype=np.int32), np.diff(self.index.inputs.start))

    @staticmethod
    def _tensors(ops: Ids, ports: Ids, wanted: Mask) -> dict[Tensor, None]:
        return dict.fromkeys(zip(ops[wanted].tolist(), ports[wanted].tolist(), strict=True))

    def _named(self, tensors: Iterable[Tensor]) -> tuple[str, ...]:
        return tuple(f"{self.index.names[op]}:{port}" for op, port in tensors)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Tensors read inside and produced outside, in the order of first use; then the passthroughs."""
        return self._named(t for t in self._read if not self.mask[t[0]]) + self.passthroughs

    @cached_property
    def inside(self) -> tuple[str, ...]:
        """Tensors produced and read inside, in the order of first use; one that is read outside too is an output."""
        return self._named(t for t in self._read if self.mask[t[0]])

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """Tensors produced inside and read outside, or by no op at all, in graph order; then the passthroughs."""
        edges = self.index.readers
        owner = np.repeat(np.arange(len(self.index), dtype=np.int32), np.diff(edges.start))
        data = self.mask[owner] & (edges.port != CONTROL)
        outward = self._tensors(owner, edges.port, data & ~self.mask[edges.to])
        read, told, nodes = self._tensors(owner, edges.port, data), self.index.typing.dtypes, self.index.nodes
        made = ((i, port) for i in np.flatnonzero(self.mask).tolist() for port in range(len(told(nodes[i]))))
        return self._named(sorted({*outward, *(t for t in made if t not in read)})) + self.passthroughs

    @cached_property
    def ends(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The inputs and outputs that a path inside joins: what a boundary around these ops would name."""
        source, owner = self.index.inputs.values, self._owners
        entering = self.mask[owner] & ~self.mask[source]
        reached = walks.forward(self.index, owner[entering], within=self.mask)
        outputs = tuple(name for name in self.outputs if reached[self.index.op(name)])
        used = walks.backward(self.index, [self.index.op(name) for name in outputs], within=self.mask)
        return self._named(self._tensors(source, self.index.ports, entering & used[owner])), outputs

    @cached_property
    def passthroughs(self) -> tuple[str, ...]:
        """The chosen tensors that no op inside produces or reads: they go in and come out as they are."""
        pairs = {name: (self.index.op(name), split_tensor(name)[1]) for name in self.tensors}
        return tuple(name for name, t in pairs.items() if not self.mask[t[0]] and t not in self._read)

    @cached_property
    def control_inputs(self) -> tuple[str, ...]:
        """Ops outside that ops inside wait for, as "^op", in the order of first use."""
        owner = np.repeat(np.arange(len(self.index), dtype=np.int32), np.diff(self.index.controls.start))
        waited = self.index.controls.values[self.mask[owner]]
        return tuple(dict.fromkeys(f"^{self.index.names[i]}" for i in waited[~self.mask[waited]]))

    def shared(self, boundary: Collection[str]) -> tuple[str, ...]:
        """Variables outside that the part reads by way of tensors that are not in `boundary`: a copy shares them."""
        given = {self.index.op(name) for name in boundary}
        ends = {self.index.op(name) for name in (*self.inputs, *(c[1:] for c in self.control_inputs))}
        walked = walks.backward(self.index, sorted(ends - given), stop=pairs(self.index, boundary)) & ~self.mask
        return tuple(self.index.names[i] for i in np.flatnonzero(walked).tolist() if self.index.types[i] in HANDLES)

    @cached_property
    def variables(self) -> tuple[VariableDef, ...]:
        """The variables whose state lies inside, in graph order."""
        held = [i for i in np.flatnonzero(self.mask).tolist() if self.index.types[i] in HANDLES]
        return tuple(definitions(self.index, held).values())

    def upstream(
        self,
        *,
        stop_at: Iterable[str] = (),
        within: Selection | None = None,
        controls: bool = True,
        inclusive: bool = True,
    ) -> Selection:
        """These ops and everything they need; see `graph.select.upstream` for the options."""
        how = Walk(tuple(stop_at), within, controls, inclusive)
        return self._walked("upstream", how.taken(walks.backward, self.index, self.mask), how)

    def downstream(
        self,
        *,
        stop_at: Iterable[str] = (),
        within: Selection | None = None,
        controls: bool = True,
        inclusive: bool = True,
    ) -> Selection:
        """These ops and everything that needs them; see `graph.select.upstream` for the options."""
        how = Walk(tuple(stop_at), within, controls, inclusive)
        return self._walked("downstream", how.taken(walks.forward, self.index, self.mask), how)

    def _walked(self, way: str, mask: Mask, how: Walk) -> Selection:
        return Selection(self.index, mask, f"{self._term}.{way}({', '.join(how.written())})")

    def grow(self, *, controls: bool = False) -> Selection:
        """With the ops one edge away, up and down; `controls` follows control edges too."""
        near = walks.neighbours(self.index, self.mask, controls_in=controls, controls_out=controls)
        return self._with(self.mask | near, f"{self._term}.grow({'controls=True' if controls else ''})")

    def shrink(self, *, controls: bool = False) -> Selection:
        """Without the ops that are one edge away from an op outside; the opposite of `grow`."""
        near = walks.neighbours(self.index, ~self.mask, controls_in=controls, controls_out=controls)
        return self._with(self.mask & ~near, f"{self._term}.shrink({'controls=True' if controls else ''})")

    def around(self) -> Selection:
        """All ops in the name scopes that these ops lie in, nested scopes included."""
        tree = self.index.scopes
        held = np.zeros(len(self.index), dtype=bool)
        for scope in np.unique(tree.scope_of[self.mask]).tolist():
            held[tree.order[tree.start[scope] : tree.stop[scope]]] = True
        return self._with(held, f"{self._term}.around()")

    def save(self, path: str | PathLike[str]) -> None:
        """Write the names to a JSON file, which `editor.load` reads on this graph or another that has these ops."""
        held = {"ops": self.ops, "tensors": self.tensors, "expression": self.expression}
        Path(path).write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")

    def on(self, index: GraphIndex) -> Selection:
        """The same ops by name on another state of the same graph, less those that are gone."""
        if index is self.index:
            return self
        if index.origin is not self.index.origin:
            raise GraphEditError(f"{self} is a selection on another graph than this one; make it again on this one.")
        kept = tuple(name for name in self.tensors if split_tensor(name)[0] in index.ids)
        ids = (index.ids[name] for name in self.ops if name in index.ids)
        return replace(Selection.of(index, ids, self.expression), tensors=kept)

    def __len__(self) -> int:
        return int(np.count_nonzero(self.mask))

    def __bool__(self) -> bool:
        return bool(self.mask.any() or self.tensors)

    def __iter__(self) -> Iterator[str]:
        return iter(self.ops)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self.index.ids and bool(self.mask[self.index.ids[name]])

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Selection)
            and self.index is other.index
            and np.array_equal(self.mask, other.mask)
            and set(self.tensors) == set(other.tensors)
        )

    def __hash__(self) -> int:
        return hash(self.mask.tobytes())

    def __repr__(self) -> str:
        return self.expression

    def __or__(self, other: Selection) -> Selection:
        a, b = self._beside(other)
        both = tuple(dict.fromkeys(a.tensors + b.tensors))
        return Selection(a.index, a.mask | b.mask, f"({self} | {other})", both)

    def __and__(self, other: Selection) -> Selection:
        a, b = self._beside(other)
        return Selection(a.index, a.mask & b.mask, f"({self} & {other})", _less(a.tensors, _less(a.tensors, b.tensors)))

    def __sub__(self, other: Selection) -> Selection:
        a, b = self._beside(other)
        return Selection(a.index, a.mask & ~b.mask, f"({self} - {other})", _less(a.tensors, b.tensors))

    def __invert__(self) -> Selection:
        return Selection(self.index, ~self.mask, f"~{self}")

    @property
    def _term(self) -> str:
        """The expression as something that a method can be called on."""
        return f"({self.expression})" if self.expression.startswith("~") else self.expression

    def _with(self, mask: Mask, expression: str) -> Selection:
        return Selection(self.index, mask, expression, self.tensors)

    def _beside(self, other: object) -> tuple[Selection, Selection]:
        """Both selections, on the later one's state of the graph."""
        if not isinstance(other, Selection):
            raise GraphEditError(f"{str(other)[:60]!r} is no selection; write editor.ops({str(other)[:60]!r}).")
        index = max(self.index, other.index, key=lambda index: index.serial)
        return self.on(index), other.on(index)


def pairs(index: GraphIndex, names: Iterable[str]) -> list[Tensor]:
    """(op, port) of each name; ANY_PORT for an op's name, which stands for every tensor of it."""
    ports = ((name, walks.ANY_PORT if name in index.ids else split_tensor(name)[1]) for name in names)
    return [(index.op(name), walks.ANY_PORT if port is None else port) for name, port in ports]


@dataclass(frozen=True)
class Walk:
    """The options of a walk; see `graph.select.upstream`."""

    stop_at: tuple[str, ...] = ()
    within: Selection | None = None
    controls: bool = True
    inclusive: bool = True

    def taken(self, walk: Callable[..., Mask], index: GraphIndex, seeds: Mask) -> Mask:
        """What `walk` (walks.forward or walks.backward) reaches from the seeds with these options."""
        room = None if self.within is None else self.within.on(index).mask
        first = seeds if room is None else seeds & room
        stop = pairs(index, self.stop_at)
        found = walk(index, np.flatnonzero(first), stop=stop, within=room, controls=self.controls)
        return found if self.inclusive else found & ~first

    def written(self) -> list[str]:
        """As Python writes them; those at their default are left out."""
        options = [f"stop_at={list(self.stop_at)!r}"] if self.stop_at else []
        options += [f"within={self.within}"] if self.within is not None else []
        options += [] if self.controls else ["controls=False"]
        return options + ([] if self.inclusive else ["inclusive=False"])


def _less(names: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in others)

"""GraphIndex: one graph as frozen arrays.

Ops are numbered 0 … n-1 in graph order. Edges are stored as CSR both ways, so that every question about
neighbours is a slice. An index never changes; `extended` and `without` give a new one that shares what it can.
The NodeDefs are kept as they came (opaque protos): whoever needs an attribute reads it there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from tfgraphwidget.errors import UnknownName
from tfgraphwidget.graph.scopes import ScopeTree
from tfgraphwidget.names import did_you_mean, enclosing_scopes, split_input, split_tensor

Ids = npt.NDArray[np.int32]


class Member(NamedTuple):
    """One entry of a collection; `name` is an op's, a tensor's, or a variable's handle tensor."""

    kind: Literal["op", "tensor", "variable"]
    name: str

    @classmethod
    def of(cls, item: Any) -> Member | None:
        """The member that an object of a TensorFlow collection is; None for what is neither op, tensor nor variable.

        Told by class names, since this package reads without TensorFlow. An _UnreadVariable is what assigning to a
        resource variable gives: it stands for the assign op.
        """
        kinds = {kind.__name__ for kind in type(item).__mro__}
        if "EagerTensor" in kinds:
            return None
        if kinds & {"Operation", "_UnreadVariable"}:
            return cls("op", (item if "Operation" in kinds else item.op).name)
        if kinds & {"RefVariable", "BaseResourceVariable"}:
            return cls("variable", item.name)
        # get_variable(regularizer=...) wraps its loss in an object of its own.
        return cls("tensor", item.name) if kinds & {"Tensor", "_LazyEvalTensor"} else None


@dataclass(frozen=True)
class VariableDef:
    """What TensorFlow's VariableDef says, by name; None where a graph has no such op."""

    handle: str
    initial_value: str | None
    initializer: str | None
    snapshot: str | None
    resource: bool = False
    trainable: bool = True
    synchronization: int = 0
    aggregation: int = 0
    slice_info: Any = None
    constraint: Any = None

    @property
    def name(self) -> str:
        """The variable's name as TensorFlow prints it, for example "net/w:0"."""
        return f"{self.handle}:0"


class Csr(NamedTuple):
    """Rows of numbers: row i is `values[start[i]:start[i + 1]]`."""

    start: Ids
    values: Ids

    def row(self, i: int) -> Ids:
        """The numbers of row i."""
        return self.values[self.start[i] : self.start[i + 1]]

    def lists(self) -> Rows:
        """The rows as Python lists, which are faster to walk one op at a time."""
        return Rows(self.values.tolist(), self.start.tolist())


class Rows:
    """Rows of a CSR, cut out as Python lists when asked for: a list per op would slow every garbage collection."""

    __slots__ = ("_flat", "_start")

    def __init__(self, flat: list[int], start: list[int]) -> None:
        self._flat, self._start = flat, start

    def __getitem__(self, i: int) -> list[int]:
        return self._flat[self._start[i] : self._start[i + 1]]


def reverse(csr: Csr, rows: int) -> Csr:
    """The CSR of the opposite direction; each row is in ascending order."""
    order = np.argsort(csr.values, kind="stable")
    owner = np.repeat(np.arange(len(csr.start) - 1, dtype=np.int32), np.diff(csr.start))
    start = np.concatenate([[0], np.cumsum(np.bincount(csr.values, minlength=rows))]).astype(np.int32)
    return Csr(start, owner[order])


@dataclass(frozen=True, eq=False)
class GraphIndex:
    """A graph's ops and edges, frozen.

    `inputs` lists for each op the producing ops in slot order, `ports` the output index of each of those
    edges (same order as `inputs.values`); `controls` the ops of its control inputs. `reserved` holds names, in
    lower case, that are taken though no op here has them.
    """

    names: Sequence[str]
    types: Sequence[str]
    nodes: Sequence[Any]
    inputs: Csr
    ports: Ids
    controls: Csr
    collections: Mapping[str, tuple[Member, ...]]
    variable_defs: tuple[VariableDef, ...]
    reserved: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def ids(self) -> dict[str, int]:
        """Op name -> number."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def consumers(self) -> Csr:
        """For each op the ops that read one of its tensors (once per edge), in graph order."""
        return reverse(self.inputs, len(self))

    @cached_property
    def control_consumers(self) -> Csr:
        """For each op the ops that wait for it."""
        return reverse(self.controls, len(self))

    @cached_property
    def input_lists(self) -> Rows:
        """`inputs` as Python lists."""
        return self.inputs.lists()

    @cached_property
    def control_lists(self) -> Rows:
        """`controls` as Python lists."""
        return self.controls.lists()

    @cached_property
    def consumer_lists(self) -> Rows:
        """`consumers` as Python lists."""
        return self.consumers.lists()

    @cached_property
    def waiting_lists(self) -> Rows:
        """`control_consumers` as Python lists."""
        return self.control_consumers.lists()

    @cached_property
    def defined_variables(self) -> dict[str, VariableDef]:
        """Handle name -> what the collections say of the variable."""
        return {v.handle: v for v in self.variable_defs}

    @cached_property
    def scopes(self) -> ScopeTree:
        """The tree of name scopes."""
        return ScopeTree.build(self.names)

    def op(self, name: str) -> int:
        """The number of an op, or of the op of a tensor; UnknownName proposes the nearest."""
        found = self.ids.get(name)
        if found is None:
            found = self.ids.get(split_tensor(name)[0])
        if found is None:
            wanted = split_tensor(name)[0]
            raise UnknownName(f"This graph has no op {wanted!r}.{did_you_mean(wanted, self.names)}")
        return found

    def extended(
        self,
        nodes: Iterable[Any],
        collections: Mapping[str, tuple[Member, ...]],
        variable_defs: tuple[VariableDef, ...],
    ) -> GraphIndex:
        """This index with more ops behind; only the new ones are read."""
        rows = _read(list(nodes), dict(self.ids), len(self))
        return GraphIndex(
            names=[*self.names, *rows.names],
            types=[*self.types, *rows.types],
            nodes=[*self.nodes, *rows.nodes],
            inputs=_joined(self.inputs, rows.inputs),
            ports=np.concatenate([self.ports, rows.ports]),
            controls=_joined(self.controls, rows.controls),
            collections=collections,
            variable_defs=variable_defs,
            reserved=self.reserved,
        )

    def without(self, names: frozenset[str]) -> GraphIndex:
        """This index less some ops, and less what the collections say of them; the names stay reserved."""
        kept = [node for node, name in zip(self.nodes, self.names, strict=True) if name not in names]
        held = {
            key: tuple(m for m in members if split_tensor(m.name)[0] not in names)
            for key, members in self.collections.items()
        }
        scopes = {scope for name in names for scope in enclosing_scopes(name)}
        reserved = self.reserved | {name.lower() for name in names | scopes}
        return build(kept, held, tuple(v for v in self.variable_defs if v.handle not in names), reserved)


def build(
    nodes: Iterable[Any],
    collections: Mapping[str, tuple[Member, ...]] | None = None,
    variable_defs: tuple[VariableDef, ...] = (),
    reserved: frozenset[str] = frozenset(),
) -> GraphIndex:
    """The index of NodeDefs in graph order; inputs may name later nodes (loops)."""
    rows = _read(list(nodes), {}, 0)
    edges = (rows.inputs, rows.ports, rows.controls)
    return GraphIndex(rows.names, rows.types, rows.nodes, *edges, collections or {}, variable_defs, reserved)


class _Read(NamedTuple):
    names: list[str]
    types: list[str]
    nodes: list[Any]
    inputs: Csr
    ports: Ids
    controls: Csr


def _read(nodes: list[Any], ids: dict[str, int], first: int) -> _Read:
    """Arrays of `nodes`, numbered from `first`; `ids` holds the ops before them and is added to."""
    names = [node.name for node in nodes]
    ids.update((name, i) for i, name in enumerate(names, first))
    input_start, control_start = [0], [0]
    inputs: list[int] = []
    ports: list[int] = []
    controls: list[int] = []
    for node in nodes:
        for text in node.input:
            op, port = split_input(text)
            at = ids.get(op)
            if at is None:
                raise UnknownName(f"Op {node.name!r} reads {text!r}, which is not in the graph.", [node.name])
            if port < 0:
                controls.append(at)
            else:
                inputs.append(at)
                ports.append(port)
        input_start.append(len(inputs))
        control_start.append(len(controls))
    csr = [np.array(a, dtype=np.int32) for a in (input_start, inputs, ports, control_start, controls)]
    return _Read(names, [node.op for node in nodes], nodes, Csr(csr[0], csr[1]), csr[2], Csr(csr[3], csr[4]))


def _joined(a: Csr, b: Csr) -> Csr:
    return Csr(np.concatenate([a.start, b.start[1:] + a.start[-1]]), np.concatenate([a.values, b.values]))

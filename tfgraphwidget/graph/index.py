"""GraphIndex: one graph as frozen arrays.

Ops are numbered 0 … n-1 in graph order. Edges are stored as CSR both ways, so that every question about
neighbours is a slice. An index never changes; `extended` and `without` give a new one that shares what it can.
The NodeDefs are kept as they came (opaque protos): whoever needs an attribute reads it there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from typing import Any, Literal, NamedTuple

import numpy as np

from tfgraphwidget.errors import UnknownName
from tfgraphwidget.graph.beside import Beside, Nothing
from tfgraphwidget.graph.edges import (
    Csr,
    Edges,
    Ids,
    Rows,
    control_edges,
    frozen,
    joined,
    merged,
    read,
    reverse,
    turned,
)
from tfgraphwidget.graph.scopes import ScopeTree
from tfgraphwidget.graph.tensors import Shape, Typing, Untold
from tfgraphwidget.names import did_you_mean, enclosing_scopes, split_tensor


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
        kinds = {kind.__name__ for kind in type(item).__mro__ if kind.__module__.partition(".")[0] == "tensorflow"}
        if "EagerTensor" in kinds:
            return None
        if kinds & {"Operation", "_UnreadVariable"}:
            found = "op", item if "Operation" in kinds else item.op
        elif kinds & {"RefVariable", "BaseResourceVariable"}:
            found = "variable", item
        elif kinds & {"Tensor", "_LazyEvalTensor"}:
            # get_variable(regularizer=...) wraps its loss in an object of its own.
            found = "tensor", item
        else:
            return None
        # Another thread may be making a variable: it is in its collection before it has a name.
        name = getattr(found[1], "name", None)
        return cls(found[0], name) if isinstance(name, str) else None  # type: ignore[arg-type]


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


@dataclass(frozen=True, eq=False)
class GraphIndex:
    """A graph's ops and edges, frozen.

    `inputs` lists for each op the producing ops in slot order, `ports` the output index of each of those
    edges (same order as `inputs.values`); `controls` the ops of its control inputs. `reserved` holds names, in
    lower case, that are taken though no op here has them. `typing` tells dtypes and shapes, `functions` holds the
    names of those in the graph's library, `beside` gives what else the graph holds. All states of one graph have
    the same `origin`; of two states the later one has the greater `serial`.
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
    typing: Typing = field(default_factory=Untold)
    functions: frozenset[str] = frozenset()
    beside: Beside = field(default_factory=Nothing)
    origin: object = field(default_factory=object)
    serial: int = field(init=False, default_factory=count().__next__)

    def __post_init__(self) -> None:
        frozen(self.inputs.start, self.inputs.values, self.ports, self.controls.start, self.controls.values)

    def __len__(self) -> int:
        return len(self.names)

    def dtypes(self, i: int) -> tuple[str, ...]:
        """The dtype of each output of op i, in port order; "" where it is not known."""
        told = self.typing.dtypes(self.nodes[i])
        read = self.readers.port[self.readers.start[i] : self.readers.start[i + 1]]
        return told + ("",) * (int(read.max(initial=-1)) + 1 - len(told))

    def shape(self, i: int, port: int) -> Shape:
        """The static shape of an output of op i."""
        return self.typing.shape(self.names[i], port)

    @cached_property
    def ids(self) -> dict[str, int]:
        """Op name -> number."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def sources(self) -> Edges:
        """The edges by who reads or waits: `to` is the op that produces, or is waited for."""
        return merged(Edges(self.inputs.start, self.inputs.values, self.ports), control_edges(self.controls))

    @cached_property
    def readers(self) -> Edges:
        """The edges by who produces: `to` is the op that reads or waits."""
        start, owner, order = turned(self.inputs, len(self))
        return merged(Edges(start, owner, self.ports[order]), control_edges(self.control_consumers))

    @cached_property
    def kinds(self) -> tuple[list[str], Ids]:
        """The distinct op types, in the order of first use, and for each op the number of its type."""
        number: dict[str, int] = {}
        codes = np.fromiter((number.setdefault(t, len(number)) for t in self.types), np.int32, len(self))
        return list(number), codes

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
            wanted = split_tensor(name)[0][:200]
            raise UnknownName(f"This graph has no op {wanted!r}.{did_you_mean(wanted, self.names)}")
        return found

    def extended(
        self,
        nodes: Iterable[Any],
        collections: Mapping[str, tuple[Member, ...]],
        variable_defs: tuple[VariableDef, ...],
        functions: frozenset[str] | None = None,
    ) -> GraphIndex:
        """This index with more ops behind; only the new ones are read."""
        ids = dict(self.ids)
        rows = read(list(nodes), ids, len(self))
        grown = replace(
            self,
            names=[*self.names, *rows.names],
            types=[*self.types, *rows.types],
            nodes=[*self.nodes, *rows.nodes],
            inputs=joined(self.inputs, rows.inputs),
            ports=np.concatenate([self.ports, rows.ports]),
            controls=joined(self.controls, rows.controls),
            collections=collections,
            variable_defs=variable_defs,
            functions=self.functions if functions is None else functions,
        )
        grown.__dict__["ids"] = ids  # a cached_property; making it anew would cost as much as the whole graph
        return grown

    def without(self, names: frozenset[str]) -> GraphIndex:
        """This index less some ops, and less what the collections say of them; the names stay reserved."""
        kept = [node for node, name in zip(self.nodes, self.names, strict=True) if name not in names]
        held = {
            key: tuple(m for m in members if split_tensor(m.name)[0] not in names)
            for key, members in self.collections.items()
        }
        scopes = {scope for name in names for scope in enclosing_scopes(name)}
        reserved = self.reserved | {name.lower() for name in names | scopes}
        variables = tuple(v for v in self.variable_defs if v.handle not in names)
        same: dict[str, Any] = {
            "typing": self.typing,
            "functions": self.functions,
            "beside": self.beside,
            "origin": self.origin,
        }
        return build(kept, held, variables, reserved, **same)


def build(
    nodes: Iterable[Any],
    collections: Mapping[str, tuple[Member, ...]] | None = None,
    variable_defs: tuple[VariableDef, ...] = (),
    reserved: frozenset[str] = frozenset(),
    *,
    typing: Typing | None = None,
    functions: frozenset[str] = frozenset(),
    beside: Beside | None = None,
    origin: object = None,
) -> GraphIndex:
    """The index of NodeDefs in graph order; inputs may name later nodes (loops). `origin` of an earlier state."""
    ids: dict[str, int] = {}
    rows = read(list(nodes), ids, 0)
    edges = (rows.inputs, rows.ports, rows.controls)
    built = GraphIndex(
        *(rows.names, rows.types, rows.nodes, *edges),
        collections=collections or {},
        variable_defs=variable_defs,
        reserved=reserved,
        typing=typing or Untold(),
        functions=functions,
        beside=beside or Nothing(),
        origin=origin or object(),
    )
    built.__dict__["ids"] = ids
    return built

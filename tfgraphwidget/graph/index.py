"""GraphIndex: one graph as frozen arrays.

Ops are numbered 0 … n-1 in graph order. Edges are stored as CSR both ways, so that every question
about neighbors is a slice. An index never changes; `with_new_nodes` and `without` give a new one
that shares what it can. The NodeDefs are kept as they came (opaque protos): what needs an attribute
reads it there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress, count

import numpy as np

from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.errors import UnknownName, WrongType
from tfgraphwidget.graph.collections import TRAINABLE, Member, VariableDef
from tfgraphwidget.graph.edges import (
    Csr,
    Edges,
    Ids,
    Mask,
    NodeDefs,
    NodeList,
    Rows,
    control_edges,
    make_read_only,
    merge_edges,
    read_nodes,
    replace_rows,
    reverse,
    select_rows,
    stack_rows,
    transpose,
)
from tfgraphwidget.graph.extras import GraphExtras, NoExtras
from tfgraphwidget.graph.function_refs import reachable_functions
from tfgraphwidget.graph.name_scopes import ScopeTree
from tfgraphwidget.graph.tensors import RenamedTyping, Shape, Typing, UnknownTyping
from tfgraphwidget.naming import FIND_OPS, did_you_mean, scopes_around, split_tensor
from tfgraphwidget.sentences import either
from tfgraphwidget.tf_types import FunctionDef, NodeDef

__all__ = ["GraphIndex", "Member", "VariableDef", "build"]


@dataclass(frozen=True, eq=False)
class GraphIndex:
    """A graph's ops and edges, frozen.

    `inputs` lists for each op the producing ops in slot order, `ports` the output index of each of
    those edges (same order as `inputs.values`); `controls` the ops of its control inputs.
    `reserved` holds names, in lower case, that are taken though no op here has them. `typing` has
    dtypes and shapes, `functions` holds the names of those in the graph's library, `extras` gives
    what else the graph holds. All states of one graph have the same `origin`; of two states the
    later one has the greater `serial`.
    """

    names: Sequence[str]
    types: Sequence[str]
    nodes: NodeList
    inputs: Csr
    ports: Ids
    controls: Csr
    collections: Mapping[str, tuple[Member, ...]]
    variable_defs: tuple[VariableDef, ...]
    reserved: frozenset[str] = frozenset()
    typing: Typing = field(default_factory=UnknownTyping)
    functions: frozenset[str] = frozenset()
    extras: GraphExtras = field(default_factory=NoExtras)
    origin: object = field(default_factory=object)
    serial: int = field(init=False, default_factory=count().__next__)

    def __post_init__(self) -> None:
        make_read_only(
            self.inputs.start,
            self.inputs.values,
            self.ports,
            self.controls.start,
            self.controls.values,
        )

    def __len__(self) -> int:
        return len(self.names)

    def used_names(self) -> set[str]:
        """The names that no new op can have, in lower case: of ops, of scopes, and reserved."""
        return {name.lower() for name in (*self.names, *self.scopes.names)} | self.reserved

    def dtypes(self, i: int) -> tuple[str, ...]:
        """The dtype of each output of op i, in port order; "" where it is not known."""
        dtypes = self.typing.dtypes(self.nodes[i])
        return dtypes + ("",) * (self._read_ports[i] + 1 - len(dtypes))

    def reachable_functions(self, nodes: Iterable[NodeDef] | None = None) -> dict[str, FunctionDef]:
        """The functions that NodeDefs call, by default all; see `function_refs`."""
        return reachable_functions(
            self.functions, self.extras, self.nodes if nodes is None else nodes
        )

    def input_tensors(self, i: int) -> list[tuple[int, int]]:
        """The tensors that op i consumes, as (op, port), in the order of its inputs."""
        start, stop = self.inputs.start[i : i + 2].tolist()
        sources, ports = self.inputs.values[start:stop], self.ports[start:stop]
        return list(zip(sources.tolist(), ports.tolist(), strict=True))

    def shape(self, i: int, port: int) -> Shape:
        """The static shape of an output of op i."""
        return self.typing.shape(self.names[i], port)

    @cached_property
    def ids(self) -> dict[str, int]:
        """Op name -> number."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def sources(self) -> Edges:
        """The edges by consumer: `to` is the op that produces, or is waited for."""
        return merge_edges(
            Edges(self.inputs.start, self.inputs.values, self.ports), control_edges(self.controls)
        )

    @cached_property
    def consumer_edges(self) -> Edges:
        """The edges by who produces: `to` is the op that reads or waits."""
        start, owner, order = transpose(self.inputs, len(self))
        return merge_edges(
            Edges(start, owner, self.ports[order]), control_edges(self.control_consumers)
        )

    @cached_property
    def _read_ports(self) -> list[int]:
        """For each op the last of its outputs that is read; -1 for none."""
        last = np.full(len(self), -1, np.int64)
        np.maximum.at(last, self.inputs.values, self.ports)
        return last.tolist()

    @cached_property
    def kinds(self) -> tuple[list[str], Ids]:
        """The distinct op types, in order of first use, and the number of each op's type."""
        number = {op_type: k for k, op_type in enumerate(dict.fromkeys(self.types))}
        return list(number), np.fromiter(map(number.__getitem__, self.types), np.int32, len(self))

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
    def control_consumer_lists(self) -> Rows:
        """`control_consumers` as Python lists."""
        return self.control_consumers.lists()

    @cached_property
    def defined_variables(self) -> dict[str, VariableDef]:
        """Handle name -> what collections say of the variable; whether it is trainable."""
        by_handle = {v.handle: v for v in self.variable_defs}
        listed = self.collections.get(TRAINABLE)
        if listed is None:
            return by_handle
        trained = {split_tensor(member.name)[0] for member in listed}
        for name, variable in by_handle.items():
            is_trained = name in trained
            if variable.trainable != is_trained:
                by_handle[name] = replace(variable, trainable=is_trained)
        return by_handle

    @cached_property
    def structural_variables(self) -> dict[int, VariableDef]:
        """The variables that `definitions` has found by the ops around their handles, by these."""
        return {}

    @cached_property
    def scopes(self) -> ScopeTree:
        """The tree of name scopes."""
        return ScopeTree.build(self.ids)

    def op(self, name: str) -> int:
        """The number of an op, or of the op of a tensor; UnknownName proposes the nearest.

        Raises:
            UnknownName: The graph has no such op.
            WrongType: The name is not a string: what a page or a file of edits gives to a command
                can be anything.
        """
        if not isinstance(name, str):
            raise WrongType(
                "name",
                f"{value_text(name)} is not the name of an op; give one name, such as 'net/a'.",
            )
        number = self.ids.get(name)
        if number is None:
            number = self.ids.get(split_tensor(name)[0])
        if number is None:
            op_name = split_tensor(name)[0][:200]
            scope = op_name.removesuffix("/")
            if scope and scope in self.scopes.ids:
                raise UnknownName(
                    f"{scope!r} is a name scope and not an op; "
                    + either(f"editor.ops(scope={scope!r}) has its ops.", "choose one of its ops.")
                )
            raise UnknownName(
                f"This graph has no op {op_name!r}"
                + did_you_mean(op_name, self.names, otherwise=FIND_OPS)
            )
        return number

    def tensor(self, name: str) -> tuple[int, int]:
        """The number of the op, and the port, of a tensor; an op's name is its first output."""
        op, port = (name, None) if name in self.ids else split_tensor(name)
        return self.op(op), port or 0

    def tensor_dtype(self, name: str) -> str:
        """The dtype of a tensor; "" where it is not known."""
        op, port = self.tensor(name)
        return self.dtypes(op)[port]

    def tensor_shape(self, name: str) -> Shape:
        """The static shape of a tensor."""
        return self.shape(*self.tensor(name))

    def is_sorted(self, first: int = 0) -> bool:
        """Whether each op from number `first` on stands after what it reads and waits for."""
        ops = np.arange(first, len(self), dtype=np.int32)
        for edges in (self.inputs, self.controls):
            owners = ops.repeat(np.diff(edges.start[first:]))
            if (edges.values[edges.start[first] :] >= owners).any():
                return False
        return True

    def with_new_nodes(
        self,
        nodes: Iterable[NodeDef],
        collections: Mapping[str, tuple[Member, ...]],
        variable_defs: tuple[VariableDef, ...],
        functions: frozenset[str] | None = None,
    ) -> GraphIndex:
        """Return this index with more ops at the end; only the new NodeDefs are read.

        Args:
            functions: The names of the functions in the new graph's library; None if they stay.

        Raises:
            UnknownName: An input is not in the graph.
            GraphEditError: A name is used twice.
        """
        ids = dict(self.ids)
        new_nodes = list(nodes)
        rows = read_nodes(new_nodes, ids, len(self))
        grown = replace(
            self,
            names=[*self.names, *rows.names],
            types=[*self.types, *rows.types],
            nodes=self.nodes.with_items([*self.nodes.items, *new_nodes]),
            inputs=stack_rows(self.inputs, rows.inputs),
            ports=np.concatenate([self.ports, rows.ports]),
            controls=stack_rows(self.controls, rows.controls),
            collections=collections,
            variable_defs=variable_defs,
            functions=self.functions if functions is None else functions,
        )
        # Computing them again would cost as much as the whole graph.
        grown.__dict__["ids"] = ids
        if "scopes" in self.__dict__:
            grown.__dict__["scopes"] = self.scopes.with_ops(rows.names, ids)
        if "kinds" in self.__dict__:
            kinds = dict.fromkeys((*self.kinds[0], *rows.types))
            number = {op_type: k for k, op_type in enumerate(kinds)}
            codes = np.fromiter(map(number.__getitem__, rows.types), np.int32, len(rows.types))
            grown.__dict__["kinds"] = list(number), np.concatenate([self.kinds[1], codes])
        return grown

    def with_changed_nodes(self, changed: Mapping[int, NodeDef]) -> GraphIndex:
        """This index with other NodeDefs of the same names, by number; the order of ops stays."""
        order = sorted(changed)
        rows = read_nodes([changed[i] for i in order], self.ids, None)
        nodes, types = self.nodes.items, self.types
        for i, node in changed.items():
            nodes[i] = node
        if any(types[i] != new for i, new in zip(order, rows.types, strict=True)):
            types = list(types)
            for i, new in zip(order, rows.types, strict=True):
                types[i] = new
        inputs, (ports,) = replace_rows(self.inputs, order, rows.inputs, (self.ports, rows.ports))
        controls, _ = replace_rows(self.controls, order, rows.controls)
        after = replace(
            self,
            nodes=self.nodes.with_items(nodes),
            types=types,
            inputs=inputs,
            ports=ports,
            controls=controls,
        )
        same = ["kinds"] if types is self.types else []
        same += ["control_consumers"] if controls.values is self.controls.values else []
        return after._with_known(self, "ids", "scopes", *same)

    def with_renamed_nodes(self, nodes: Mapping[int, NodeDef]) -> GraphIndex:
        """This index with other names for some ops, by number, whose NodeDefs come with them; edges
        stay, old names are reserved.

        What names these ops in other NodeDefs, in collections and variables is for the caller to
        change.
        """
        names, new_nodes = list(self.names), self.nodes.items
        for i, node in nodes.items():
            names[i], new_nodes[i] = node.name, node
        pairs = {new: old for new, old in zip(names, self.names, strict=True) if new != old}
        old = {name for name in pairs.values() if name not in pairs}
        reserved = old | scopes_around(old)
        return replace(
            self,
            names=names,
            nodes=self.nodes.with_items(new_nodes),
            typing=self.typing if not pairs else RenamedTyping(self.typing, pairs),
            reserved=self.reserved | {name.lower() for name in reserved},
        )

    def with_order(self, order: Sequence[int]) -> GraphIndex:
        """This index with its ops in another order."""
        nodes = [self.nodes[op] for op in order]
        rows = read_nodes(nodes, {}, 0)
        return replace(
            self,
            names=rows.names,
            types=rows.types,
            nodes=self.nodes.with_items(nodes),
            inputs=rows.inputs,
            ports=rows.ports,
            controls=rows.controls,
        )

    def with_shapes(self, shapes: Mapping[tuple[str, int], Shape]) -> GraphIndex:
        """This index with other static shapes, by op name and port, than those of its `typing`."""
        edges = ("sources", "consumer_edges", "consumers", "control_consumers")
        other = replace(self, typing=self.typing.with_shapes(shapes))
        return other._with_known(self, "ids", "scopes", "kinds", *edges)

    def _with_known(self, other: GraphIndex, *names: str) -> GraphIndex:
        """This index, with what another one has computed already that is the same for both."""
        for name in names:
            if name in other.__dict__:
                self.__dict__[name] = other.__dict__[name]
        return self

    def without(self, names: frozenset[str]) -> GraphIndex:
        """This index less some ops, and less what the collections say of them; the names stay
        reserved.

        Raises UnknownName when an op that stays reads one that goes.
        """
        keep = np.fromiter((name not in names for name in self.names), np.bool_, len(self))
        number = np.where(keep, np.cumsum(keep, dtype=np.int32) - 1, -1).astype(np.int32)
        collections = {}
        for key, members in self.collections.items():
            stay = (each for each in members if split_tensor(each.name)[0] not in names)
            collections[key] = tuple(stay)
        scopes = scopes_around(names)
        inputs, (ports,) = select_rows(self.inputs, keep, number, self.ports)
        controls, _ = select_rows(self.controls, keep, number)
        self._check_edges_stay(keep, inputs, controls)
        return replace(
            self,
            names=list(compress(self.names, keep)),
            types=list(compress(self.types, keep)),
            nodes=self.nodes.with_items(compress(self.nodes.items, keep)),
            inputs=inputs,
            ports=ports,
            controls=controls,
            collections=collections,
            variable_defs=tuple(v for v in self.variable_defs if v.handle not in names),
            reserved=self.reserved | {name.lower() for name in names | scopes},
        )

    def _check_edges_stay(self, keep: Mask, *edges: Csr) -> None:
        """Raise when an edge ends at an op that is gone."""
        for csr in edges:
            if (csr.values < 0).any():
                number = int(np.flatnonzero(keep)[csr.owner[np.argmax(csr.values < 0)]])
                consumer, data = self.names[number], self.input_lists[number]
                source = next(i for i in (*data, *self.control_lists[number]) if not keep[i])
                how = "reads" if source in data else "waits for"
                raise UnknownName(
                    f"Op {consumer!r} {how} {self.names[source]!r}, which the edit removes; "
                    f"connect {consumer!r} to another op or remove it, and make the edit again.",
                    [consumer, self.names[source]],
                )


def build(
    nodes: Iterable[NodeDef],
    collections: Mapping[str, tuple[Member, ...]] | None = None,
    variable_defs: tuple[VariableDef, ...] = (),
    reserved: frozenset[str] = frozenset(),
    *,
    typing: Typing | None = None,
    functions: frozenset[str] = frozenset(),
    extras: GraphExtras | None = None,
    origin: object = None,
) -> GraphIndex:
    """Build the index of NodeDefs.

    Args:
        nodes: The NodeDefs in graph order. Inputs may name later nodes, as in loops.
        reserved: Names, in lower case, that no new op may take.
        functions: The names of the functions in the library.
        origin: The `origin` of an earlier state of the graph; None for a new graph.

    Raises:
        UnknownName: An input is not in the graph.
        GraphEditError: A name is used twice.
    """
    nodes = nodes if isinstance(nodes, NodeDefs) else NodeDefs(nodes)
    rows = nodes.rows
    edges = (rows.inputs, rows.ports, rows.controls)
    index = GraphIndex(
        *(rows.names, rows.types, nodes, *edges),
        collections=collections or {},
        variable_defs=variable_defs,
        reserved=reserved,
        typing=typing or UnknownTyping(),
        functions=functions,
        extras=extras or NoExtras(),
        origin=origin or object(),
    )
    index.__dict__["ids"] = nodes.ids
    return index

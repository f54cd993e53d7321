"""Edges as arrays: CSR both ways, and how they are read from NodeDefs."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice, repeat
from typing import NamedTuple, cast, overload

import numpy as np
import numpy.typing as npt

from tfgraphwidget.errors import GraphEditError, UnknownName
from tfgraphwidget.graph.adjacency import row_starts, turn_around
from tfgraphwidget.graph.op_types import HANDLES
from tfgraphwidget.naming import shared_name, split_input
from tfgraphwidget.progress import report_parts
from tfgraphwidget.tf_types import NodeDef

Ids = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]
CONTROL = -1
"""The port of a control edge."""
_MOST_PORTS = 1 << 24
_PART = 256  # NodeDefs that are read together: so many stay in the cache of a processor
_RECORDS = 2_048  # the same of their bytes, which are smaller
_READING = "Reading the graph"


class Csr(NamedTuple):
    """Rows of numbers: row i is `values[start[i]:start[i + 1]]`."""

    start: Ids
    values: Ids

    @property
    def owner(self) -> Ids:
        """For each value the row that it stands in."""
        return np.repeat(np.arange(len(self.start) - 1, dtype=np.int32), np.diff(self.start))

    def row(self, i: int) -> Ids:
        """The numbers of row i."""
        return self.values[self.start[i] : self.start[i + 1]]

    def lists(self) -> Rows:
        """The rows as Python lists, which are faster to walk one op at a time."""
        return Rows(self.values.tolist(), self.start.tolist())


class Rows:
    """Rows of a CSR as Python lists when asked for: a list per op slows garbage collection."""

    __slots__ = ("_flat", "_start")

    def __init__(self, flat: list[int], start: list[int]) -> None:
        self._flat, self._start = flat, start

    def lengths(self) -> Ids:
        """The number of values of each row."""
        start = np.array(self._start, dtype=np.int32)
        return start[1:] - start[:-1]

    def __getitem__(self, i: int) -> list[int]:
        return self._flat[self._start[i] : self._start[i + 1]]


def reverse(csr: Csr, rows: int) -> Csr:
    """The CSR of the opposite direction; each row is in ascending order."""
    start, owner, _ = transpose(csr, rows)
    return Csr(start, owner)


class Edges(NamedTuple):
    """All edges, data and control, listed op by op: those of op i are `start[i]` … `start[i + 1] -
    1`.

    `to` is the op at the other end, `port` the output that the edge carries, CONTROL for a control
    edge.
    """

    start: Ids
    to: Ids
    port: Ids

    @property
    def owner(self) -> Ids:
        """For each edge the op that it is listed under."""
        return np.repeat(np.arange(len(self.start) - 1, dtype=np.int32), np.diff(self.start))


def make_read_only(*arrays: npt.NDArray[np.generic]) -> None:
    """Make arrays read-only: an index and what it hands out never change."""
    for each in arrays:
        each.flags.writeable = False


def transpose(csr: Csr, rows: int) -> tuple[Ids, Ids, Ids]:
    """Start and values of the opposite direction, and where in `csr` each of them stands."""
    turned = turn_around(csr.start, csr.values, rows)
    make_read_only(*turned)
    return turned


def merge_edges(a: Edges, b: Edges) -> Edges:
    """Both lists of edges as one; of each op those of `a` come first."""
    if not len(b.to):
        return a
    to, port = (np.empty(len(a.to) + len(b.to), dtype=np.int32) for _ in range(2))
    for edges, before in ((a, b.start[:-1]), (b, a.start[1:])):
        at = np.arange(len(edges.to)) + np.repeat(before, np.diff(edges.start))
        to[at], port[at] = edges.to, edges.port
    make_read_only(start := a.start + b.start, to, port)
    return Edges(start, to, port)


def control_edges(csr: Csr) -> Edges:
    """Rows of ops as control edges."""
    return Edges(csr.start, csr.values, np.full(len(csr.values), CONTROL, dtype=np.int32))


class NodeArrays(NamedTuple):
    """The content of NodeDefs as arrays; `misplaced` ops have a control input before others."""

    names: list[str]
    types: list[str]
    inputs: Csr
    ports: Ids
    controls: Csr
    misplaced: Ids


class NodeColumns(NamedTuple):
    """Fields of some NodeDefs that follow each other, field by field.

    Attributes:
        names: The name of each.
        types: The op type of each.
        inputs: The inputs of all of them, one after another.
        counts: How many inputs each one has.
        devices: Where each is pinned to, by its place among them; those that are pinned.
    """

    names: list[str]
    types: list[str]
    inputs: list[str]
    counts: list[int]
    devices: dict[int, str]

    @classmethod
    def of(cls, nodes: Sequence[NodeDef]) -> NodeColumns:
        """The fields of messages."""
        # A slice of protobuf's list is a list, and made at once: walking it costs twice the time.
        inputs = [node.input[:] for node in nodes]
        devices = [node.device for node in nodes]
        return cls(
            names=[node.name for node in nodes],
            types=[node.op for node in nodes],
            inputs=list(chain.from_iterable(inputs)),
            counts=list(map(len, inputs)),
            devices={k: device for k, device in enumerate(devices) if device},
        )


class NodeRecords(Sequence[NodeDef]):
    """NodeDefs as bytes: a look at one parses it alone, and a walk all of them.

    What drawing needs of many of them is noted when they are read, by their numbers: in `devices`
    where each is pinned to, in `shared_names` the key of each that holds a variable.

    Args:
        records: The bytes of each NodeDef.
        parse: Gives the NodeDefs of some records.
        read: Gives the fields of some records; None where they are not as protobuf writes them.
        parsed: The NodeDefs, where they are parsed already.
    """

    def __init__(
        self,
        records: list[bytes],
        parse: Callable[[list[bytes]], Sequence[NodeDef]],
        read: Callable[[list[bytes]], NodeColumns | None],
        parsed: Sequence[NodeDef] | None = None,
    ) -> None:
        self._records, self._parse, self._read = records, parse, read
        self._parsed = parsed
        self._count = len(records)
        self.devices: dict[int, str] = {}
        self.shared_names: dict[int, str] = {}

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> NodeDef: ...

    @overload
    def __getitem__(self, place: slice) -> list[NodeDef]: ...

    def __getitem__(self, place: int | slice) -> NodeDef | list[NodeDef]:
        if self._parsed is not None:
            return self._parsed[place]  # type: ignore[return-value]  # of a slice a list
        if isinstance(place, int):
            return self._parse([self._records[place]])[0]
        return list(self._parse(self._records[place]))

    def __iter__(self) -> Iterator[NodeDef]:
        if self._parsed is None:
            self._parsed, self._records = self[:], []
        return iter(self._parsed)

    def columns(self, first: int, end: int) -> NodeColumns:
        """The fields of the NodeDefs from number `first` up to `end`; notes what drawing needs."""
        columns = self._read(self._records[first:end]) or NodeColumns.of(self[first:end])
        self.devices |= {first + k: device for k, device in columns.devices.items()}
        if self._parsed is not None:  # messages that are kept have the keys at hand
            return columns
        handles = [k for k, op_type in enumerate(columns.types) if op_type in HANDLES]
        for k, node in zip(
            handles, self._parse([self._records[first + k] for k in handles]), strict=True
        ):
            self.shared_names[first + k] = _text_once(shared_name(node), columns.names[k])
        return columns

    def drop_records(self) -> None:
        """Forget the bytes of NodeDefs that are parsed."""
        if self._parsed is not None:
            self._records = []


class NodeList(Sequence[NodeDef]):
    """NodeDefs, of which those that were never looked at may still be bytes of a file.

    A million messages are 800 MB and take seconds, and a drawing looks at few of them.

    Args:
        items: Each NodeDef, or its number in the file.
        records: The NodeDefs of the file.
    """

    def __init__(self, items: Iterable[NodeDef | int], records: Sequence[NodeDef] = ()) -> None:
        self._items, self.records = list(items), records

    @property
    def items(self) -> list[NodeDef | int]:
        """A list for `with_items`, which parses none of them."""
        return self._items.copy()

    def with_items(self, items: Iterable[NodeDef | int]) -> NodeList:
        """Others of the same file, and new ones."""
        return NodeList(items, self.records)

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, place: int) -> NodeDef: ...

    @overload
    def __getitem__(self, place: slice) -> list[NodeDef]: ...

    def __getitem__(self, place: int | slice) -> NodeDef | list[NodeDef]:
        records = self.records
        if isinstance(place, slice):
            items = self._items[place]
            return [records[item] if isinstance(item, int) else item for item in items]
        item = self._items[place]
        return records[item] if isinstance(item, int) else item

    def shared_names(self, ops: Iterable[int]) -> Iterator[str]:
        """The shared_name of each of some ops, "" for none."""
        of_file = self.records.shared_names if isinstance(self.records, NodeRecords) else {}
        for op in ops:
            item = self._items[op]
            if isinstance(item, int):
                yield of_file[item] if item in of_file else shared_name(self.records[item])
            else:
                yield shared_name(item)

    def __iter__(self) -> Iterator[NodeDef]:
        if self.records:
            parsed = list(self.records)
            self._items = [parsed[item] if isinstance(item, int) else item for item in self._items]
            self.records = ()
        return cast("Iterator[NodeDef]", iter(self._items))

    def __eq__(self, other: object) -> bool:
        """Whether the others are alike, one by one, as lists say."""
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # as lists have it


class NodeDefs(NodeList):
    """NodeDefs that change no more, and what is in them: every look at a million messages takes
    half a second.

    `rows` is what `read_nodes` gives, `ids` has the number of each name.

    Raises:
        UnknownName: An input is not in the graph.
        GraphEditError: A name is used twice.
    """

    def __init__(self, nodes: Iterable[NodeDef]) -> None:
        messages = nodes if isinstance(nodes, Sequence) else list(nodes)
        self.ids: dict[str, int] = {}
        # Before the list is made: as long as a message's object lives, it keeps 250 bytes for
        # having been asked for inputs that it has not.
        self.rows = read_nodes(messages, self.ids, 0)
        if isinstance(messages, NodeRecords):
            super().__init__(self.ids.values(), messages)
        else:
            super().__init__(messages)

    @property
    def names(self) -> list[str]:
        """The name of each."""
        return self.rows.names

    @property
    def types(self) -> list[str]:
        """The op type of each."""
        return self.rows.types


class NodesByName(Mapping[str, NodeDef]):
    """NodeDefs by name; of a file no other table is made than that of the numbers."""

    def __init__(self, nodes: Sequence[NodeDef]) -> None:
        self._nodes = nodes
        self._ids = (
            nodes.ids
            if isinstance(nodes, NodeDefs)
            else {node.name: i for i, node in enumerate(nodes)}
        )

    def __getitem__(self, name: str) -> NodeDef:
        return self._nodes[self._ids[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)

    def of_types(self, wanted: Callable[[str], bool]) -> Iterator[NodeDef]:
        """The NodeDefs of wanted op types; the others, maybe a million, are not looked at."""
        chosen = {op_type for op_type in set(types_of(self._nodes)) if wanted(op_type)}
        return nodes_of_types(self._nodes, chosen)


def nodes_of_types(nodes: Sequence[NodeDef], types: Collection[str]) -> Iterator[NodeDef]:
    """The NodeDefs of some op types; the others, maybe a million, are not looked at."""
    return (nodes[i] for i, op_type in enumerate(types_of(nodes)) if op_type in types)


def devices_of(nodes: Iterable[NodeDef]) -> Iterator[tuple[str, str]]:
    """The name and the device of each op that is pinned to a device."""
    if isinstance(nodes, NodeDefs) and isinstance(nodes.records, NodeRecords):
        return ((nodes.names[i], device) for i, device in nodes.records.devices.items())
    return ((node.name, node.device) for node in nodes if node.device)


def names_of(nodes: Iterable[NodeDef]) -> list[str]:
    """The name of each NodeDef."""
    return nodes.names if isinstance(nodes, NodeDefs) else [node.name for node in nodes]


def types_of(nodes: Iterable[NodeDef]) -> list[str]:
    """The op type of each NodeDef."""
    return nodes.types if isinstance(nodes, NodeDefs) else [node.op for node in nodes]


def number_names(names: list[str], ids: dict[str, int], first: int) -> None:
    """Number names in the order of the list, after those in `ids`, to which they are added. Raises
    GraphEditError for a name that is used twice.
    """
    ids.update(zip(names, range(first, first + len(names)), strict=True))
    if len(ids) < first + len(names):
        before = set(islice(ids, first))  # an update leaves a name at its place
        twice = next(
            name for i, name in enumerate(names, first) if ids[name] != i or name in before
        )
        raise GraphEditError(
            f"Two ops of this graph are named {twice!r}; TensorFlow wants each name once.", [twice]
        )


def read_nodes(nodes: Sequence[NodeDef], ids: dict[str, int], first: int | None) -> NodeArrays:
    """Read the edges of NodeDefs.

    Args:
        ids: The numbers of the ops before them; the new ones are added.
        first: The number of the first NodeDef; None if all of them have a number in `ids`.

    Raises:
        UnknownName: An input is not in `ids`.
        GraphEditError: A name is used twice.
    """
    names: list[str] = []
    types: list[str] = []
    counts: list[int] = []
    edges = _EdgeReader(ids)
    # Part by part, so that neither the messages of a million ops nor the texts of their inputs are
    # in memory together.
    with no_collections():
        for part in _parts(nodes):
            if first is not None:
                number_names(part.names, ids, first + len(names))
            names += part.names
            types += map(sys.intern, part.types)  # each text once: there are few types
            counts += part.counts
            edges.add(part.inputs)
    to, port = edges.sources()
    owner = np.repeat(np.arange(len(nodes), dtype=np.int32), counts)
    if (to < 0).any():
        at = int(np.flatnonzero(to < 0)[0])
        consumer = int(owner[at])
        text = nodes[consumer].input[at - sum(counts[:consumer])]
        raise UnknownName(
            f"Op {names[consumer]!r} reads {text!r}, which is not in the graph; add that op, or "
            "take the input away.",
            [names[consumer]],
        )
    data = port != CONTROL
    csr = [Csr(row_starts(owner[mask], len(nodes)), to[mask]) for mask in (data, ~data)]
    is_misplaced = ~data[:-1] & data[1:] & (owner[:-1] == owner[1:])
    return NodeArrays(
        names, types, csr[0], port[data], csr[1], _each_once(owner[:-1][is_misplaced])
    )


def _parts(nodes: Sequence[NodeDef]) -> Iterator[NodeColumns]:
    """The fields of NodeDefs, part by part."""
    if not isinstance(nodes, NodeRecords):
        yield from map(NodeColumns.of, report_parts(nodes, _READING, _PART))
        return
    for part in report_parts(range(len(nodes)), _READING, _RECORDS):
        yield nodes.columns(part[0], part[-1] + 1)
    nodes.drop_records()


def _text_once(text: str, other: str) -> str:
    """The text, or an equal one that is there: a million ops take 35 MB less by that."""
    return other if text == other else text


def _each_once(sorted_ops: Ids) -> Ids:
    """Ops that come in order, each once; `np.unique` would import what no drawing needs."""
    return sorted_ops[np.diff(sorted_ops, prepend=-1) > 0]


class _EdgeReader:
    """What inputs of NodeDefs read: an op's number, -1 for none, and a port. `ids` may grow."""

    def __init__(self, ids: Mapping[str, int]) -> None:
        self._ids = ids
        self._to = [np.zeros(0, dtype=np.int32)]
        self._count = 0
        self._others: dict[int, str] = {}

    def add(self, texts: list[str]) -> None:
        """Read more inputs."""
        # Most inputs are the first tensor of an op before, written as the op's name: one look-up
        # each, and no more Python.
        to = np.fromiter(map(self._ids.get, texts, repeat(-1)), np.int32, len(texts))
        self._others |= {self._count + k: texts[k] for k in np.flatnonzero(to < 0).tolist()}
        self._to.append(to)
        self._count += len(texts)

    def sources(self) -> tuple[Ids, Ids]:
        """The op and the port of each input."""
        to = np.concatenate(self._to)
        port = np.zeros(len(to), dtype=np.int32)
        for k, text in self._others.items():
            if text in self._ids:
                to[k] = self._ids[text]
                continue
            op, port_number = split_input(text)
            port[k] = min(port_number, _MOST_PORTS)
            to[k] = self._ids.get(op, -1) if port_number < _MOST_PORTS else -1
        return to, port


@contextmanager
def no_collections() -> Iterator[None]:
    """No garbage collection meanwhile: it would look at 100,000 needed objects each time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def replace_rows(
    csr: Csr, order: list[int], rows: Csr, *along: tuple[Ids, Ids]
) -> tuple[Csr, list[Ids]]:
    """Replace rows of a CSR, numbered in ascending `order`, and in the same way entries of each
    pair of arrays, which have one for each value (of `csr`, of `rows`).
    """
    counts_before, counts = csr.start[np.asarray(order) + 1] - csr.start[order], np.diff(rows.start)
    if np.array_equal(counts_before, counts):
        # Nearly always, since most edits change which op an input reads.
        places = np.arange(len(rows.values), dtype=np.int32) + np.repeat(
            csr.start[order] - rows.start[:-1], counts
        )
        return Csr(csr.start, _with(csr.values, places, rows.values)), [
            _with(old, places, new) for old, new in along
        ]
    longer = np.diff(csr.start)
    longer[order] = counts
    start = np.concatenate([[0], np.cumsum(longer)]).astype(np.int32)

    def splice(old: Ids, new: Ids) -> Ids:
        parts, at = [], 0
        for k, row in enumerate(order):
            parts += [old[at : csr.start[row]], new[rows.start[k] : rows.start[k + 1]]]
            at = csr.start[row + 1]
        return np.concatenate([*parts, old[at:]])

    return Csr(start, splice(csr.values, rows.values)), [splice(old, new) for old, new in along]


def _with(old: Ids, places: Ids, new: Ids) -> Ids:
    """An array with other numbers in some places; itself, if they are the same."""
    if np.array_equal(old[places], new):
        return old
    changed = old.copy()
    changed[places] = new
    return changed


def select_rows(csr: Csr, keep: Mask, number: Ids, *along: Ids) -> tuple[Csr, list[Ids]]:
    """Keep some rows of a CSR and renumber their values; the new CSR, and of each array `along` it,
    with an entry for each value, the entries that stay.
    """
    stays = np.repeat(keep, np.diff(csr.start))
    start = np.concatenate([[0], np.cumsum(np.diff(csr.start)[keep])]).astype(np.int32)
    return Csr(start, number[csr.values[stays]]), [array[stays] for array in along]


def stack_rows(a: Csr, b: Csr) -> Csr:
    """The rows of `a`, then those of `b`."""
    return Csr(
        np.concatenate([a.start, b.start[1:] + a.start[-1]]), np.concatenate([a.values, b.values])
    )

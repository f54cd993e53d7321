"""One look at the attributes of all ops, which several rules share: a file may have a million of
them.

Most ops have the attributes of another one, so each name with a value is looked at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from tfgraphwidget.graph import INPUTS_IN_FILE, MISSING_INPUT, NAME_IN_FILE, GraphIndex
from tfgraphwidget.naming import colocation
from tfgraphwidget.sources import read_attributes, tf_protos
from tfgraphwidget.tf_types import AttrValue, OpDef, TensorShapeProto

_PART = 2_048  # ops that are looked at together: a million ops have a gigabyte of attributes
_UNKNOWN_DIM = -1
_NEGATIVE = re.compile(rb"[\x80-\xff]{9}\x01")  # a number below 0 as protobuf writes it


@dataclass(frozen=True)
class AttributeScan:
    """The ops, by number and in graph order, whose attributes a rule has to look at.

    Attributes:
        noted: Those on which opening the file has noted something, by the private attribute that
            holds it.
        colocated: Those that are to be placed beside an op which the graph does not have.
        shaped: Those with a shape that has a dimension below 0.
        odd: Those that may have an attribute without a value, or one that their type does not have,
            or lack one, and those that name functions.
    """

    noted: dict[str, list[int]] = field(
        default_factory=lambda: {MISSING_INPUT: [], NAME_IN_FILE: [], INPUTS_IN_FILE: []}
    )
    colocated: list[int] = field(default_factory=list)
    shaped: list[int] = field(default_factory=list)
    odd: list[int] = field(default_factory=list)

    def lists_with(self, index: GraphIndex, name: str, value: AttrValue) -> Iterator[list[int]]:
        """The lists that the ops with an attribute belong into for that attribute."""
        kind = value.WhichOneof("value")
        if name in self.noted:
            yield self.noted[name]
        if name == "_class" and any(missing_neighbors(index, value.list.s)):
            yield self.colocated
        if negative_dim(value) is not None:
            yield self.shaped
        if kind is None or kind == "func" or name == "branches":
            yield self.odd


def scan_attributes(index: GraphIndex) -> AttributeScan:
    """Find the ops whose attributes are worth a look."""
    scan = AttributeScan()
    of_type = {kind: _names_of(index.typing.definition(kind)) for kind in index.kinds[0]}
    are_odd: dict[tuple[str, ...], bool] = {}  # by op type and the names of attributes
    for first in range(0, len(index), _PART):
        columns = read_attributes(index.nodes[first : first + _PART])
        attributes = list(zip(columns.names, columns.values, strict=True))
        lists = {
            (name, value): list(scan.lists_with(index, name, tf_protos.AttrValue.FromString(value)))
            for name, value in set(attributes)
        }
        notable = {attribute for attribute, each in lists.items() if each}
        places = [k for k, attribute in enumerate(attributes) if attribute in notable]
        for op, place in zip(np.searchsorted(columns.stops, places, "right"), places, strict=True):
            for ops in lists[attributes[place]]:
                ops.append(first + int(op))
        start = 0
        for op, end in enumerate(columns.stops, first):
            key = index.types[op], *columns.names[start:end]
            start = end
            if key not in are_odd:
                are_odd[key] = _are_odd(key[1:], *of_type[key[0]])
            if are_odd[key]:
                scan.odd.append(op)
    for ops in (scan.shaped, scan.odd):
        ops[:] = sorted(set(ops))
    return scan


def missing_neighbors(index: GraphIndex, entries: Iterable[bytes]) -> Iterator[str]:
    """The ops that the entries of a "_class" name and that the graph does not have."""
    return (name for entry in entries if (name := colocation(entry)) and name not in index.ids)


def negative_dim(value: AttrValue) -> int | None:
    """The first dimension of a shape in an attribute that is not a size."""
    kind, least = value.WhichOneof("value"), _UNKNOWN_DIM
    shapes: Iterable[TensorShapeProto] = ()
    if kind == "tensor":
        shapes, least = (value.tensor.tensor_shape,), 0
    elif kind == "shape":
        shapes = (value.shape,)
    elif kind == "list":
        shapes = value.list.shape
    for shape in shapes:
        # A look at the bytes takes a third of the time of a look at each dimension.
        if _NEGATIVE.search(shape.SerializeToString()):
            for dim in shape.dim:
                if dim.size < least:
                    return dim.size
    return None


def _are_odd(
    names: tuple[str, ...], own_names: frozenset[str] | None, required: frozenset[str]
) -> bool:
    """Whether an op has attributes that its type does not have, or lacks one."""
    others = own_names is not None and any(
        name[:1] != "_" and name not in own_names for name in names
    )
    return others or not required.issubset(names)


def _names_of(definition: OpDef | None) -> tuple[frozenset[str] | None, frozenset[str]]:
    """The attributes of an op type, None if it is not known, and those of them that have no
    default.
    """
    if definition is None:
        return None, frozenset()
    required = (
        attribute.name for attribute in definition.attr if not attribute.HasField("default_value")
    )
    return frozenset(attribute.name for attribute in definition.attr), frozenset(required)

"""One look at the attributes of all ops, which several rules share: a file may have a million of
them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tfgraphwidget.graph import INPUTS_IN_FILE, MISSING_INPUT, NAME_IN_FILE, GraphIndex
from tfgraphwidget.tf_types import OpDef

_HOLDS_SHAPES = frozenset({"shape", "tensor", "list"})


@dataclass(frozen=True)
class AttributeScan:
    """The ops, by number and in graph order, whose attributes a rule has to look at.

    Attributes:
        noted: Those on which opening the file has noted something, by the private attribute that
            holds it.
        colocated: Those that are to be placed beside others.
        shaped: Those with attributes that may hold a shape, and the names of these.
        odd: Those that may have an attribute without a value, or one that their type does not have,
            or lack one, and those that name functions.
    """

    noted: dict[str, list[int]] = field(
        default_factory=lambda: {MISSING_INPUT: [], NAME_IN_FILE: [], INPUTS_IN_FILE: []}
    )
    colocated: list[int] = field(default_factory=list)
    shaped: dict[int, list[str]] = field(default_factory=dict)
    odd: list[int] = field(default_factory=list)


def scan_attributes(index: GraphIndex) -> AttributeScan:
    """Find the ops whose attributes are worth a look."""
    scan = AttributeScan()
    of_type = {kind: _names_of(index.typing.definition(kind)) for kind in index.kinds[0]}
    for op, node in enumerate(index.nodes):
        own_names, required = of_type[node.op]
        attributes, lacking = node.attr, len(required)
        is_odd = False
        for name in attributes:  # `items` would be a loop in Python of protobuf's own
            kind = attributes[name].WhichOneof("value")
            lacking -= name in required
            if kind in _HOLDS_SHAPES:
                scan.shaped.setdefault(op, []).append(name)
            if name in scan.noted:
                scan.noted[name].append(op)
            elif name == "_class":
                scan.colocated.append(op)
            is_odd |= kind is None or kind == "func" or name == "branches"
            is_odd |= own_names is not None and name[:1] != "_" and name not in own_names
        if is_odd or lacking:
            scan.odd.append(op)
    return scan


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

"""Badges: constants, variables and their reads, drawn inside the boxes of their consumers.

As edges they would hide the network; as a badge the text says what the consumer needs ("shape [-1,
8]", "weights 7×7×3×64"). An op gets up to four badges, or three and one for the rest; a closed
scope that is a layer gets those of up to two variables. What has a badge is not an item of its own.
The text is the value of a constant or the shape of a variable, read from NodeDefs without
TensorFlow.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph import GraphIndex
from tfgraphwidget.hierarchy import (
    CAPTURED,
    CONSTANT,
    HANDLE,
    READ,
    READS_IN_A_ROW,
    Ints,
    Mask,
    OpFacts,
    Outline,
    Sums,
)
from tfgraphwidget.naming import last_part
from tfgraphwidget.tf_types import NodeDef, TensorProto
from tfgraphwidget.visible.items import Items

# TensorFlow's numbers of the dtypes that a constant can have; where a value stands when it is not
# in tensor_content.
DTYPES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string",
    8: "complex64", 9: "int64", 10: "bool", 14: "bfloat16", 17: "uint16", 18: "complex128",
    19: "float16", 20: "resource", 22: "uint32", 23: "uint64",
}  # fmt: skip
_FIELDS = {
    "float32": "float_val", "float64": "double_val", "int32": "int_val", "uint8": "int_val",
    "int16": "int_val", "int8": "int_val", "int64": "int64_val", "bool": "bool_val",
    "string": "string_val", "uint16": "int_val", "float16": "half_val", "uint32": "uint32_val",
    "uint64": "uint64_val",
}  # fmt: skip
_MOST_VALUES = 8  # of a constant that a badge shows
_MOST_LETTERS = 32  # of these values
_MOST_NAME = 24  # letters of a name
# Names that say nothing: the argument's, or what TensorFlow calls a constant without a name.
_DUMB = re.compile(r"(Const|[a-z]|value|input|HostConst)(_\d+)?")
_ARGUMENT = re.compile(r"(_readvariableop)?_?resource(_\d+)?$")
_texts: WeakKeyDictionary[GraphIndex, dict[int, str]] = WeakKeyDictionary()


def badge_texts(index: GraphIndex, facts: OpFacts, ops: Iterable[int]) -> list[str]:
    """The texts of the badges of ops: "shape [-1, 8]", "0.5". They are cached for the index."""
    cached = _texts.setdefault(index, {})
    return [cached.get(op) or cached.setdefault(op, _text(index, facts, op)) for op in ops]


def _text(index: GraphIndex, facts: OpFacts, op: int) -> str:
    if facts.constant_kind[op] == CONSTANT:
        return _constant(index.nodes[op], last_part(index.names[op]))
    while facts.constant_kind[op] == READ:
        op = int(index.inputs.values[index.inputs.start[op]])
    kind, name = facts.constant_kind[op], last_part(index.names[op])
    if kind == CAPTURED:
        name = _ARGUMENT.sub("", name) or "variable"
    shape = (
        static_shape(index.nodes[op], kind)
        if kind in (HANDLE, CONSTANT)
        else _read_shape(index, op)
    )
    return f"{_short(name)} {shape}" if shape else _short(name)


def format_shape(shape: Sequence[int | None] | None) -> str:
    """A shape as a badge or a line says it, "" for an unknown rank.

    >>> format_shape((None, 3)), format_shape(()), format_shape(None)
    ('?×3', 'scalar', '')
    """
    if shape is None:
        return ""
    return "×".join("?" if size is None else str(size) for size in shape) or "scalar"


def static_shape(node: NodeDef, kind: int) -> str:
    """The static shape that a variable's or a constant's NodeDef has.

    Args:
        kind: The number of the dtype (DataType).
    """
    key = "value" if kind == CONSTANT else "shape"
    if key not in node.attr:
        return ""
    proto = node.attr[key].tensor.tensor_shape if kind == CONSTANT else node.attr[key].shape
    # Old files write an unknown shape as that of a scalar.
    if proto.unknown_rank or not proto.dim:
        return ""
    return format_shape([dim.size if dim.size >= 0 else None for dim in proto.dim])


def _read_shape(index: GraphIndex, op: int) -> str:
    """The shape of a captured variable, as the NodeDef of what reads it says it."""
    for reader in index.consumer_lists[op]:
        attributes = index.nodes[reader].attr
        if index.types[reader] == "ReadVariableOp" and "_output_shapes" in attributes:
            shapes = attributes["_output_shapes"].list.shape
            if len(shapes) and not shapes[0].unknown_rank:
                return format_shape([d.size if d.size >= 0 else None for d in shapes[0].dim])
    return ""


def _constant(node: NodeDef, name: str) -> str:
    if "value" not in node.attr:
        return _short(name)
    text = format_constant(node.attr["value"].tensor)
    return text if _DUMB.fullmatch(name) else f"{_short(name)} {text}"


def has_few_values(constant: NodeDef) -> bool:
    """Whether a badge can show all values of a constant."""
    if "value" not in constant.attr:
        return False
    return _is_small([dim.size for dim in constant.attr["value"].tensor.tensor_shape.dim])


def _is_small(shape: Sequence[int]) -> bool:
    return math.prod(shape) <= _MOST_VALUES and all(0 <= size <= _MOST_VALUES for size in shape)


def format_constant(tensor: TensorProto) -> str:
    """Format the value of a small TensorProto, else its dtype and shape: "float32[512, 10]"."""
    dtype = DTYPES.get(tensor.dtype, "")
    shape = [dim.size for dim in tensor.tensor_shape.dim]
    values = _values(tensor, dtype, math.prod(shape)) if _is_small(shape) else None
    text = None if values is None else _format_nested(values, shape)
    if text is None or len(text) > _MOST_LETTERS:
        return f"{dtype}[{', '.join(map(str, shape))}]"
    return text


def _values(tensor: TensorProto, dtype: str, count: int) -> list[object] | None:
    """The values of a small tensor, flat; None when they are not known."""
    if tensor.tensor_content:
        if dtype not in _FIELDS or dtype == "string":
            return None
        width = np.dtype(dtype).itemsize
        if len(tensor.tensor_content) != count * width:
            return None
        array = np.frombuffer(tensor.tensor_content, dtype)
        return list((array if sys.byteorder == "little" else array.byteswap()).tolist())
    if dtype not in _FIELDS:
        return None
    values: list[object] = list(getattr(tensor, _FIELDS[dtype])[:count])
    if dtype == "float16":
        values = np.array(values, dtype=np.uint16).view(np.float16).tolist()
    # TensorFlow leaves out what repeats: fewer values than there are places mean the last one again
    # and again.
    values = values or [b"" if dtype == "string" else 0]
    return values + values[-1:] * (count - len(values)) if count else []


def _format_nested(values: list[object], shape: Sequence[int]) -> str:
    if not shape:
        return _format_one(values[0])
    if len(shape) == 1:
        return f"[{', '.join(map(_format_one, values))}]"
    step = len(values) // shape[0] if shape[0] else 0
    rows = [values[k * step : k * step + step] for k in range(shape[0])]
    return f"[{', '.join(_format_nested(row, shape[1:]) for row in rows)}]"


def _format_one(value: object) -> str:
    if isinstance(value, bytes):
        return f'"{_printable(value[: _MOST_LETTERS + 1])}"'
    return f"{value:g}" if isinstance(value, float) else str(value)


def _printable(value: bytes) -> str:
    text = value.decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _short(name: str) -> str:
    return name if len(name) <= _MOST_NAME else f"{name[: _MOST_NAME - 1]}…"


_MOST_AT_OP = 3  # badges, after which one represents the rest
_MOST_AT_LAYER = 2  # badges of a closed scope; one that has more shows none
_LAYER = 40  # ops of a closed scope that is a layer


@dataclass(frozen=True, eq=False)
class Badges:
    """Per badge: `reader` (the item it stands in), `op` (the first it represents), `more` (0, or
    for how many).

    `pair_op` and `pair_badge` are all pairs of an op and a badge that represents it, ascending by
    op, the first badge first.
    """

    reader: Ints
    op: Ints
    more: Ints
    pair_op: Ints
    pair_badge: Ints

    def texts(self, index: GraphIndex, facts: OpFacts) -> list[str]:
        """The text of each badge."""
        text = badge_texts(index, facts, self.op.tolist())
        return [
            f"+{more:,} more" if more else text
            for text, more in zip(text, self.more.tolist(), strict=True)
        ]


def no_badges() -> Badges:
    """Return an empty set of badges."""
    empty = np.zeros(0, dtype=np.int32)
    return Badges(empty, empty, empty, empty, empty)


def assign_badges(
    index: GraphIndex, facts: OpFacts, outline: Outline, sums: Sums, items: Items
) -> Badges:
    """Find the badges of the drawn items."""
    item, op = _pairs(index, facts, outline, sums, items)
    if not len(item):
        return no_badges()
    fresh = np.r_[True, item[1:] != item[:-1]]
    group = np.cumsum(fresh) - 1
    rank = np.arange(len(item)) - np.flatnonzero(fresh)[group]
    size = np.bincount(group)[group]
    # The badge for the rest is for two or more: one has its own.
    own = (rank < _MOST_AT_OP) | (size == _MOST_AT_OP + 1)
    chief = own | (rank == _MOST_AT_OP)
    badge = (np.cumsum(chief) - 1).astype(np.int32)
    more = np.where(own, 0, size - _MOST_AT_OP)[chief].astype(np.int32)
    pairs = op, badge
    for _ in range(READS_IN_A_ROW):
        more_pairs = _with_handles(index, facts, items, *pairs)
        if len(more_pairs[0]) == len(pairs[0]):
            break
        pairs = more_pairs
    order = np.lexsort((pairs[1], pairs[0]))
    return Badges(item[chief], op[chief], more, pairs[0][order], pairs[1][order])


def _pairs(
    index: GraphIndex, facts: OpFacts, outline: Outline, sums: Sums, items: Items
) -> tuple[Ints, Ints]:
    """(item that reads, auxiliary op) of all badges, each once, by item and order of inputs."""
    start, producer = index.inputs.start, index.inputs.values
    reader = np.repeat(np.arange(len(index), dtype=np.int32), np.diff(start))
    edges = np.flatnonzero((facts.constant_kind[producer] > 0) & (facts.constant_kind[reader] == 0))
    op, reader = producer[edges], reader[edges]
    item = items.item[reader]
    saver = _in_saver(outline, sums)[outline.home]
    is_visible = (
        items.is_drawn[op]
        & items.is_drawn[reader]
        & (item != items.item[op])
        & (~saver[reader] | saver[op])
    )
    is_constant = facts.constant_kind[op] == CONSTANT
    at_op = items.op[item] >= 0
    # A variable's own ops (its Assign, what saves it) stand beside it; a badge says what a network
    # is made of.
    is_visible &= np.where(
        at_op,
        is_constant | facts.depends_on_input[reader],
        ~is_constant & _layers(outline, sums, items)[item],
    )
    item, op = item[is_visible], op[is_visible]
    once = np.sort(np.unique(item.astype(np.int64) * len(index) + op, return_index=True)[1])
    item, op = item[once], op[once]
    few = (items.op[item] >= 0) | (np.bincount(item, minlength=len(items))[item] <= _MOST_AT_LAYER)
    item, op = item[few], op[few]
    order = np.argsort(item, kind="stable")
    return item[order].astype(np.int32), op[order].astype(np.int32)


def _layers(outline: Outline, sums: Sums, items: Items) -> Mask:
    """Which items are closed scopes that are small and compute: the layers of a network."""
    node = np.maximum(items.node, 0)
    small = (sums.ops[node] <= _LAYER) & (outline.members[node] == 0) & (sums.compute_ops[node] > 0)
    layers: Mask = (items.node >= 0) & ~items.open & small
    return layers


def _in_saver(outline: Outline, sums: Sums) -> Mask:
    """Which nodes are savers or inside one."""
    saver = sums.is_saver.copy()
    for nodes in outline.levels[1:]:
        saver[nodes] |= saver[outline.parent[nodes]]
    return saver


def _with_handles(
    index: GraphIndex, facts: OpFacts, items: Items, op: Ints, badge: Ints
) -> tuple[Ints, Ints]:
    """The pairs of an op and its badge, and those of what only such ops use.

    A variable whose reads all have badges goes with them, unless something beside it, as its
    Assign, uses it; so does a read whose reads all have badges.
    """
    count = np.bincount(op, minlength=len(index))
    start, producer = index.inputs.start, index.inputs.values
    reader = np.repeat(np.arange(len(index), dtype=np.int32), np.diff(start))
    of_handle = (facts.constant_kind[producer] > 0) & (count[producer] == 0)
    producer, reader = producer[of_handle], reader[of_handle]
    goes = (facts.constant_kind[reader] == READ) & (count[reader] > 0)
    beside = items.parent[items.item[producer]] == items.parent[items.item[reader]]
    stays = np.zeros(len(index), dtype=bool)
    stays[producer[~goes & beside & items.is_drawn[reader]]] = True
    stays |= items.op[items.item] < 0  # it is in something closed, and is not shown
    goes &= ~stays[producer]
    if not goes.any():
        return op, badge
    first = np.full(len(index), -1, dtype=np.int32)
    first[op[::-1]] = badge[::-1]
    return np.concatenate([op, producer[goes]]), np.concatenate([badge, first[reader[goes]]])


def ops_with_badges(badges: Badges, ops: int) -> npt.NDArray[np.bool_]:
    """Return which ops have a badge, bool (ops,).

    Args:
        badges: The small values that are drawn in ops.
    """
    mask = np.zeros(ops, dtype=bool)
    mask[badges.pair_op] = True
    return mask

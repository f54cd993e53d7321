"""Encodings: a category or a number for each op, without running any.

They come from the graph or from the user's own values.
"""

from __future__ import annotations

import math
import numbers
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.errors import GraphEditError, UnknownName
from tfgraphwidget.graph import (
    COLUMNS,
    GraphIndex,
    Op,
    definitions,
    handles,
    own_ops,
    rows,
    selectors,
)
from tfgraphwidget.hierarchy import FAMILIES, count_inside, families, find_op_facts, outline_of
from tfgraphwidget.naming import (
    FIND_OPS,
    count_text,
    did_you_mean,
    function_name,
    last_part,
    split_tensor,
)
from tfgraphwidget.scene.coloring.scales import Categories, Numbers

if TYPE_CHECKING:
    from tfgraphwidget.graph import Difference

# A box that contains many ops has the color of those of the highest rank. For types, that is what
# makes it a layer; then what it computes besides; then what it stores and shuffles.
DEFAULT_TYPE_RANK = 1
TYPE_RANKS = dict.fromkeys(FAMILIES, DEFAULT_TYPE_RANK) | {
    "linear": 3,
    "activation": 2,
    "normalization": 2,
    "pooling": 2,
    "constant": 0,
    "variable": 0,
    "control": 0,
}
# For dtypes, it is what computes; then the integers of shapes and of states; then the rest.
DEFAULT_DTYPE_RANK = 2
DTYPE_RANKS = dict.fromkeys(FAMILIES, DEFAULT_DTYPE_RANK) | {
    "constant": 0,
    "control": 0,
    "shape": 1,
    "state": 1,
}

MAX_TEXT = 60  # characters of a value or a name that are shown
MAX_ERROR_TEXT = 200  # characters of the message of an error in a user's function

# The categories of `by_difference`, in the order of its labels.
ADDED, CHANGED, UNCHANGED = 0, 1, -1


def by_type(index: GraphIndex) -> Categories:
    """Op types; that of a layer is the type of its convolution or matrix product."""
    computes = find_op_facts(index).depends_on_input
    return Categories.of(index.types, counting=computes, rank=_ranks(index, TYPE_RANKS))


def by_dtype(index: GraphIndex) -> Categories:
    """The dtype of the first output."""
    values = []
    for op in range(len(index)):
        dtypes = index.dtypes(op)
        values.append(dtypes[0].removesuffix("_ref") if dtypes else "")
    return Categories.of(values, none="no output", rank=_ranks(index, DTYPE_RANKS))


def by_device(index: GraphIndex) -> Categories:
    """The devices that ops are pinned to, as "GPU:0", after the server where there are some."""
    texts: dict[str, str] = {}
    values = []
    for node in index.nodes:
        device = node.device
        if device not in texts:
            texts[device] = device_text(device)
        values.append(texts[device])
    return Categories.of(values, none="no device")


def device_text(device: str) -> str:
    """A device in a few letters.

    >>> device_text("/job:ps/task:1/device:CPU:0")
    'ps:1 CPU:0'
    >>> [device_text(d) for d in ("/gpu:0", "/job:localhost/replica:0/task:0/cpu:0", "")]
    ['GPU:0', 'CPU:0', '']
    """
    server: dict[str, str] = {}
    processors: list[list[str]] = []
    for part in filter(None, device.split("/")):
        name, *values = part.split(":")
        if name in ("job", "replica", "task"):
            server[name] = values[-1] if values else ""
        else:
            # "device:GPU:0", or "gpu:0" as TensorFlow 1 wrote it.
            processors.append(values if name == "device" else [name, *values])
    words = []
    if server.get("job", "localhost") != "localhost":
        words.append(f"{server['job']}:{server.get('task', '0')}")
    if processors and processors[0]:
        kind, *number = processors[0]
        words.append(f"{kind.upper()}:{number[0] if number else 0}")
    return " ".join(words)


def by_scope(index: GraphIndex) -> Categories:
    """The outermost scopes, or those inside one, if that has more than half of what computes."""
    tree = index.scopes
    computes = find_op_facts(index).depends_on_input
    size = count_inside(tree.start, tree.stop, tree.order, computes).tolist()
    half = computes.sum() / 2
    shown_scope = np.zeros(len(tree.names), dtype=np.int32)
    to_divide = [0]
    while to_divide:
        for scope in tree.children[to_divide.pop()]:
            if size[scope] > half and tree.children[scope]:
                to_divide.append(scope)
            else:
                shown_scope[scope] = scope
    # What is inside a shown scope belongs to it. Parents have lower numbers than their children.
    for scope in range(1, len(shown_scope)):
        shown_scope[scope] = shown_scope[scope] or shown_scope[tree.parent[scope]]
    names = ["", *tree.names[1:]]
    scopes = shown_scope[tree.scope_of].tolist()
    return Categories.of([names[scope] for scope in scopes], none="no scope")


def by_structure(index: GraphIndex) -> Categories:
    """Scopes that are built alike, those with most ops first; what is in one has its color."""
    outline, sums = outline_of(index, fold=False)
    if not len(index):
        return Categories.of([])
    hashes = sums.structure[: len(outline)].tolist()
    nodes_of_hash: dict[int, list[int]] = defaultdict(list)
    for node in range(1, len(outline)):
        if sums.compute_ops[node] and sums.ops[node] > 1:
            nodes_of_hash[hashes[node]].append(node)

    groups = [nodes for nodes in nodes_of_hash.values() if len(nodes) > 1]
    ops_of_group = [len(nodes) * int(sums.ops[nodes[0]]) for nodes in groups]
    order = sorted(range(len(groups)), key=lambda group: -ops_of_group[group])
    groups = [groups[group] for group in order]
    totals = [ops_of_group[group] for group in order]

    names = _distinguishing_names([outline.names[nodes[0]] for nodes in groups])
    labels = [f"{name} ×{len(nodes):,}" for name, nodes in zip(names, groups, strict=True)]
    boxes: dict[str, int] = {}
    for code, nodes in enumerate(groups):
        boxes |= dict.fromkeys((outline.names[node] for node in nodes), code)
    code_of_node = np.full(len(outline), -1, dtype=np.int32)
    for node in np.argsort(outline.depth, kind="stable").tolist():  # parents first
        code = boxes.get(outline.names[node], -1)
        if code < 0 and node:
            code = code_of_node[outline.parent[node]]
        code_of_node[node] = code
    codes = code_of_node[outline.home]
    return Categories(labels, codes, none="built like no other", boxes=boxes, totals=totals)


def _distinguishing_names(names: Sequence[str]) -> list[str]:
    """The last part of each name, or the last two where several names have that last part."""
    uses = Counter(last_part(name) for name in names)
    result = []
    for name in names:
        short = last_part(name)
        result.append(short if uses[short] == 1 else "/".join(name.split("/")[-2:]))
    return result


def by_trainable(index: GraphIndex) -> Categories:
    """Whether training changes a variable; nothing for other ops."""
    values = [""] * len(index)
    trained = set(selectors.trainable(index).ops)
    for variable in definitions(index, handles(index)).values():
        for op in own_ops(index, variable):
            values[op] = "trainable" if variable.handle in trained else "not trainable"
    return Categories.of(values, none="no variable")


def by_difference(index: GraphIndex, difference: Difference) -> Categories:
    """The change of each op by edits."""
    masks = difference.ops(index)
    code = np.full(len(masks["added"]), UNCHANGED, dtype=np.int32)
    code[masks["changed"]] = CHANGED
    code[masks["added"]] = ADDED
    count = len(difference.removed)
    notice = f"{count:,} op{'s' * (count > 1)} removed" if count else ""
    return Categories(["added", "changed"], code, none="as it was opened", notice=notice)


def _ranks(index: GraphIndex, of_family: dict[str, int]) -> npt.NDArray[np.int8]:
    """A rank per op, by its family."""
    names, codes = index.kinds
    if not names:
        return np.zeros(0, dtype=np.int8)
    rank = np.array([of_family[name] for name in FAMILIES], dtype=np.int8)
    return rank[families(names)[codes]]


ENCODINGS: dict[str, Callable[[GraphIndex], Categories]] = {
    "type": by_type,
    "device": by_device,
    "structure": by_structure,
    "dtype": by_dtype,
    "scope": by_scope,
    "trainable": by_trainable,
}


def quote_names(names: Iterable[str]) -> str:
    """Names as a list in words: '"a", "b" or "c"'."""
    *others, last = (f'"{name}"' for name in names)
    return f"{', '.join(others)} or {last}" if others else last


# A user's own colors: a value for each op, by a mapping of names, a column or a function of the op.

COUNTED_COLUMNS = ("inputs", "control_inputs")
OWN_COLUMNS = tuple(name for name in COLUMNS if name not in ("name", "type", "scope", "device"))
Encoding = Callable[[GraphIndex], Categories | Numbers]
OWN_VALUES = "own values"  # the name of values that have no name


def custom_encoding(by: object, index: GraphIndex) -> tuple[str, Encoding]:
    """Return the name of a user's own values, and a function that encodes them for an index.

    Args:
        by: a dict of names and values, a column, or a function of the op.
        index: the graph in which the names are looked up now.

    Returns:
        The name, and the function from an index to categories or numbers.

    Raises:
        UnknownName: a name is not that of an op, tensor or scope.
        GraphEditError: `by` has no values of ops.
    """
    if callable(by):
        name = function_name(by, OWN_VALUES)
        return OWN_VALUES if name == "<lambda>" else name, _encode_function(by, index)
    is_column = hasattr(by, "items") and hasattr(by, "index")  # of pandas, polars and others
    if isinstance(by, Mapping) or is_column:
        by_name = _values_by_name(by, index)
        for name in by_name:
            if _ops(index, name) is None:
                end = did_you_mean(name, index.names, otherwise=FIND_OPS)
                message = f"This graph has no op, tensor or scope {name[:MAX_TEXT]!r}"
                raise UnknownName(message + end)

        def encode_mapping(graph: GraphIndex) -> Categories | Numbers:
            return encode_values(_spread_over_ops(by_name, graph))

        return str(getattr(by, "name", None) or OWN_VALUES), encode_mapping
    raise GraphEditError(
        f"{value_text(by)} says nothing of ops; give a dict of names and values, a column, or a "
        "function of an op."
    )


def _encode_function(by: Callable[[Op], object], index: GraphIndex) -> Encoding:
    """An encoding by a function of the op, which is called for all ops of the index at once."""
    first = encode_values(_call_per_op(by, index))

    def encode(graph: GraphIndex) -> Categories | Numbers:
        if graph is index:
            return first
        # Ops that come later may be beyond what the function knows; they have no color then.
        return encode_values(_call_per_op(by, graph, strict=False))

    return encode


def table_column(name: str, index: GraphIndex) -> Categories | Numbers:
    """Encode a column of `editor.table()`; the names in a tuple are counted, or joined."""
    values = [row[name] for row in rows(index)]
    if name in COUNTED_COLUMNS:
        return encode_values([len(value) for value in values if isinstance(value, tuple)])
    texts = [", ".join(value) if isinstance(value, tuple) else value for value in values]
    return encode_values(texts)


def encode_values(values: list[Any]) -> Categories | Numbers:
    """Return numbers if all values are numbers, else categories.

    None, NaN, NA, NaT, "" and infinity are missing values.
    """
    present = {op: value for op, value in enumerate(values) if not _is_missing(value)}
    if present and all(map(_is_number, present.values())):
        as_floats = np.full(len(values), np.nan)
        for op, value in present.items():
            as_floats[op] = float(value)
        return Numbers(as_floats, "", total=False)
    texts = [""] * len(values)
    for op, value in present.items():
        texts[op] = str(value)[:MAX_TEXT]
    return Categories.of(texts, none="no value")


def _is_number(value: object) -> bool:
    """Whether a value is a number; Python counts booleans among the integers."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


def _is_missing(value: object) -> bool:
    """Whether a value means that there is none."""
    if isinstance(value, numbers.Real):
        try:
            return not math.isfinite(value)
        except OverflowError:  # an int beyond all floats
            return True
    if isinstance(value, str):
        return not value
    # pandas's NA and arrays cannot be compared with "".
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _call_per_op(
    by: Callable[[Op], object], index: GraphIndex, *, strict: bool = True
) -> list[object]:
    """What a function returns for each op; None where it fails, if that is not refused."""
    values = []
    for i, name in enumerate(index.names):
        try:
            value = by(Op(index, i))
        except Exception as error:
            if strict:
                text = str(error)[:MAX_ERROR_TEXT]
                raise GraphEditError(
                    f"The color of op {name!r} is not known: {type(error).__name__}: {text}; let "
                    "the function return a number, a text or None.",
                    [name],
                ) from error
            value = None
        values.append(value)
    return values


def _values_by_name(by: Any, index: GraphIndex) -> dict[str, object]:
    """The values by name; those of a column without names are in the order of the ops."""
    pairs = [(getattr(key, "name", key), value) for key, value in by.items()]
    if pairs and not any(isinstance(key, str) for key, _ in pairs):
        if len(pairs) != len(index):
            raise GraphEditError(
                f"The {len(pairs):,} values have no names, and the graph has "
                f"{count_text(len(index), 'op')}; name the ops: table.set_index('name')[column]."
            )
        return dict(zip(index.names, (value for _, value in pairs), strict=True))
    return {str(key): value for key, value in pairs}


def _spread_over_ops(by_name: Mapping[str, object], index: GraphIndex) -> list[object]:
    """The value of each op: its own, or that of the innermost scope around it that has one."""
    values: list[object] = [None] * len(index)
    # Outer scopes first, then those inside them, and ops last: each overwrites what came before.
    for name in sorted(by_name, key=lambda name: (name in index.ids, name.count("/"))):
        for i in _ops(index, name) or ():  # some may be gone since
            values[i] = by_name[name]
    return values


def _ops(index: GraphIndex, name: str) -> list[int] | None:
    """The ops that an op's, a tensor's or a scope's name represents; None for an unknown one."""
    tree = index.scopes
    if name in index.ids:
        return [index.ids[name]]
    if name.rstrip("/") in tree.ids:
        scope = tree.ids[name.rstrip("/")]
        ops: list[int] = tree.order[tree.start[scope] : tree.stop[scope]].tolist()
        return ops
    op = split_tensor(name)[0]
    return [index.ids[op]] if op in index.ids else None

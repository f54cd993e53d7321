"""Encodings: a category or a number for each op, from the graph or from the user's own values, without running it."""

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
from tfgraphwidget.graph import COLUMNS, GraphIndex, Op, definitions, handles, own_ops, rows, selectors
from tfgraphwidget.hierarchy import FAMILIES, count_inside, families, find_op_facts, outline_of
from tfgraphwidget.naming import FIND_OPS, count_text, did_you_mean, function_name, last_part, split_tensor
from tfgraphwidget.scene.coloring.scales import Categories, Numbers

if TYPE_CHECKING:
    from tfgraphwidget.graph import Difference

# Who speaks for a box that stands for many ops: what makes it a layer, before what it computes beside, before what it
# stores and shuffles.
_SPEAKS = {"linear": 3, "activation": 2, "normalization": 2, "pooling": 2, "constant": 0, "variable": 0, "control": 0}
_STEERS = {"constant": 0, "control": 0, "shape": 1, "state": 1}


def by_type(index: GraphIndex) -> Categories:
    """Op types; for a layer its convolution or matrix product speaks.

    Args:
        index: The graph.
    """
    rank = _ranks(index, {name: _SPEAKS.get(name, 1) for name in FAMILIES})
    return Categories.of(index.types, counting=find_op_facts(index).depends_on_input, rank=rank)


def by_dtype(index: GraphIndex) -> Categories:
    """The dtype of the first output.

    Args:
        index: The graph.
    """
    outputs = (index.dtypes(i)[:1] for i in range(len(index)))
    values = [dtypes[0].removesuffix("_ref") if dtypes else "" for dtypes in outputs]
    return Categories.of(values, none="no output", rank=_ranks(index, {n: _STEERS.get(n, 2) for n in FAMILIES}))


def by_device(index: GraphIndex) -> Categories:
    """The devices that ops are pinned to, as "GPU:0", with the server before where there are some.

    Args:
        index: The graph.
    """
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

    >>> [device_text(d) for d in ("/gpu:0", "/job:ps/task:1/device:CPU:0", "/job:localhost/replica:0/task:0/cpu:0", "")]
    ['GPU:0', 'ps:1 CPU:0', 'CPU:0', '']
    """
    parts = [part.split(":") for part in device.strip("/").split("/") if part]
    place = {kind.lower(): (rest[-1] if rest else "") for kind, *rest in parts if kind in ("job", "replica", "task")}
    what = [(part[1:] if part[0] == "device" else part) for part in parts if part[0] not in ("job", "replica", "task")]
    where = f"{place['job']}:{place.get('task', '0')}" if place.get("job", "localhost") != "localhost" else ""
    kind = f"{what[0][0].upper()}:{what[0][1] if len(what[0]) > 1 else 0}" if what and what[0] else ""
    return " ".join(filter(None, (where, kind)))


def by_scope(index: GraphIndex) -> Categories:
    """The outermost scopes; one that holds more than half of what computes gives way to those inside of it.

    Args:
        index: The graph.
    """
    tree, fed = index.scopes, find_op_facts(index).depends_on_input
    size = count_inside(tree.start, tree.stop, tree.order, fed).tolist()
    nearest_scope = np.zeros(len(tree.names), dtype=np.int32)
    level = [0]
    while level:
        at = level.pop()
        for scope in tree.children[at]:
            if 2 * size[scope] > fed.sum() and tree.children[scope]:
                level.append(scope)
            else:
                nearest_scope[scope] = scope
    for scope in range(1, len(nearest_scope)):
        nearest_scope[scope] = nearest_scope[scope] or nearest_scope[tree.parent[scope]]
    names = ["", *tree.names[1:]]
    return Categories.of([names[scope] for scope in nearest_scope[tree.scope_of].tolist()], none="no scope")


def by_structure(index: GraphIndex) -> Categories:
    """Scopes that are built alike, those with most ops first; what is in one is of its color.

    Args:
        index: The graph.
    """
    outline, sums = outline_of(index, fold=False)
    if not len(index):
        return Categories.of([])
    hashes = sums.structure[: len(outline)].tolist()
    alike: dict[int, list[int]] = defaultdict(list)
    for node in range(1, len(outline)):
        if sums.compute_ops[node] and sums.ops[node] > 1:
            alike[hashes[node]].append(node)
    repeated = [nodes for nodes in alike.values() if len(nodes) > 1]
    repeated.sort(key=lambda nodes: -len(nodes) * int(sums.ops[nodes[0]]))
    names = _distinguishing_names([outline.names[nodes[0]] for nodes in repeated])
    labels = [f"{name} ×{len(nodes):,}" for name, nodes in zip(names, repeated, strict=True)]
    totals = [len(nodes) * int(sums.ops[nodes[0]]) for nodes in repeated]
    boxes = {outline.names[node]: code for code, nodes in enumerate(repeated) for node in nodes}
    of_node = np.full(len(outline), -1, dtype=np.int32)
    for node in np.argsort(outline.depth, kind="stable").tolist():
        own = boxes.get(outline.names[node], -1)
        of_node[node] = own if own >= 0 or not node else of_node[outline.parent[node]]
    return Categories(labels, of_node[outline.home], none="built like no other", boxes=boxes, totals=totals)


def _distinguishing_names(names: Sequence[str]) -> list[str]:
    """The last parts of some names, and the parts before where these alone are not one's own."""
    last = Counter(last_part(name) for name in names)
    return ["/".join(name.split("/")[-2:]) if last[last_part(name)] > 1 else last_part(name) for name in names]


def by_trainable(index: GraphIndex) -> Categories:
    """Whether training changes a variable; of other ops nothing.

    Args:
        index: The graph.
    """
    values = [""] * len(index)
    trained = set(selectors.trainable(index).ops)
    for variable in definitions(index, handles(index)).values():
        for op in own_ops(index, variable):
            values[op] = "trainable" if variable.handle in trained else "not trainable"
    return Categories.of(values, none="no variable")


def by_difference(index: GraphIndex, difference: Difference) -> Categories:
    """The change of each op by edits.

    Args:
        index: The graph.
        difference: The difference of two graphs.
    """
    masks = difference.ops(index)
    code = np.where(masks["added"], 0, np.where(masks["changed"], 1, -1)).astype(np.int32)
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
    """Names as a list in words: '"a", "b" or "c"'.

    Args:
        names: The names, in order.
    """
    *others, last = (f'"{name}"' for name in names)
    return f"{', '.join(others)} or {last}" if others else last


# A person's own colors: a value for each op, as a mapping of names, a column, or a function of the op.

COUNTED_COLUMNS = ("inputs", "control_inputs")
OWN_COLUMNS = tuple(name for name in COLUMNS if name not in ("name", "type", "scope", "device"))
Encoding = Callable[[GraphIndex], Categories | Numbers]


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
        name = function_name(by, "own values")
        first = encode_values(_call_per_op(by, index))
        # Ops that come later may be beyond what the function knows; they have no color then.
        later = lambda graph: first if graph is index else encode_values(_call_per_op(by, graph, strict=False))  # noqa: E731
        return "own values" if name == "<lambda>" else name, later
    if isinstance(by, Mapping) or (hasattr(by, "items") and hasattr(by, "index")):
        by_name = _values_by_name(by, index)
        for name in by_name:
            if _ops(index, name) is None:
                end = did_you_mean(name, index.names, otherwise=FIND_OPS)
                raise UnknownName(f"This graph has no op, tensor or scope {name[:60]!r}" + end)
        return str(getattr(by, "name", None) or "own values"), lambda graph: encode_values(
            _spread_over_ops(by_name, graph)
        )
    raise GraphEditError(
        f"{value_text(by)} says nothing of ops; give a dict of names and values, a column, or a function of an op."
    )


def table_column(name: str, index: GraphIndex) -> Categories | Numbers:
    """Encode a column of `editor.table()`; tuples of names are counted.

    Args:
        name: The name of the column.
        index: The graph.
    """
    values = [row[name] for row in rows(index)]
    if name in COUNTED_COLUMNS:
        return encode_values([len(value) for value in values if isinstance(value, tuple)])
    return encode_values([", ".join(value) if isinstance(value, tuple) else value for value in values])


def encode_values(values: list[Any]) -> Categories | Numbers:
    """Return numbers if all values are numbers, else categories.

    None, NaN, NA, NaT, "" and infinity are missing values.
    """
    present = [None if _is_missing(value) else value for value in values]
    non_null = [value for value in present if value is not None]
    if non_null and all(isinstance(v, numbers.Real) and not isinstance(v, bool | np.bool_) for v in non_null):
        return Numbers(np.array([np.nan if v is None else float(v) for v in present]), "", total=False)
    return Categories.of(["" if v is None else str(v)[:60] for v in present], none="no value")


def _is_missing(value: object) -> bool:
    if isinstance(value, numbers.Real):
        try:
            return not math.isfinite(value)
        except OverflowError:  # an int beyond all floats
            return True
    # pandas's NA and arrays cannot be compared with "".
    return value is None or (isinstance(value, str) and not value) or type(value).__name__ in ("NAType", "NaTType")


def _call_per_op(by: Callable[[Op], object], index: GraphIndex, *, strict: bool = True) -> list[object]:
    def value(i: int) -> object:
        try:
            return by(Op(index, i))
        except Exception as error:
            if not strict:
                return None
            raise GraphEditError(
                f"The color of op {index.names[i]!r} is not known: {type(error).__name__}: {str(error)[:200]}; let "
                "the function return a number, a text or None.",
                [index.names[i]],
            ) from error

    return [value(i) for i in range(len(index))]


def _values_by_name(by: Any, index: GraphIndex) -> dict[str, object]:
    """The values by name; a column as long as the graph that has numbers for an index is in the order of the ops."""
    pairs = [(getattr(key, "name", key), value) for key, value in by.items()]
    if pairs and not any(isinstance(key, str) for key, _ in pairs):
        if len(pairs) != len(index):
            raise GraphEditError(
                f"The {len(pairs):,} values have no names, and the graph has {count_text(len(index), 'op')}; name the "
                "ops: table.set_index('name')[column]."
            )
        return dict(zip(index.names, (value for _, value in pairs), strict=True))
    return {str(key): value for key, value in pairs}


def _spread_over_ops(by_name: Mapping[str, object], index: GraphIndex) -> list[object]:
    """The value of each op: its own, or that of the innermost scope around it that has one."""
    values: list[object] = [None] * len(index)
    for name in sorted(by_name, key=lambda name: (name in index.ids, name.count("/"))):
        for i in _ops(index, name) or ():  # some may be gone since
            values[i] = by_name[name]
    return values


def _ops(index: GraphIndex, name: str) -> list[int] | None:
    """The ops that an op's, a tensor's or a scope's name stands for; None for an unknown one."""
    tree = index.scopes
    if name in index.ids:
        return [index.ids[name]]
    if name.rstrip("/") in tree.ids:
        scope = tree.ids[name.rstrip("/")]
        ops: list[int] = tree.order[tree.start[scope] : tree.stop[scope]].tolist()
        return ops
    op = split_tensor(name)[0]
    return [index.ids[op]] if op in index.ids else None

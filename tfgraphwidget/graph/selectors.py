"""Functions that select ops; `boundary` has those for boundaries."""

from __future__ import annotations

import fnmatch
import json
import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.errors import GraphEditError, UnknownName, reason_of
from tfgraphwidget.graph import traversal
from tfgraphwidget.graph.collections import TRAINABLE
from tfgraphwidget.graph.distinct_variables import distinct_handles
from tfgraphwidget.graph.edges import CONTROL
from tfgraphwidget.graph.endpoints import check_ports
from tfgraphwidget.graph.expressions import call, function_expression, literal
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op import Op
from tfgraphwidget.graph.regex_timeout import expression_with_flags, search_in_time
from tfgraphwidget.graph.selection import Selection, Walk, with_recipe
from tfgraphwidget.graph.tensors import ShapePattern, matches_shape, shape_pattern
from tfgraphwidget.graph.variables import handles
from tfgraphwidget.naming import did_you_mean, split_tensor
from tfgraphwidget.readable import read_file
from tfgraphwidget.sentences import in_cell

_MOST_BYTES = 1 << 28  # of a file with a selection: the names of two million ops


@with_recipe
def ops(index: GraphIndex, *names: str) -> Selection:
    """The named ops; the name of a tensor chooses that tensor, as a passthrough where no op makes or reads it.

    Args:
        index: The graph.
        *names: The names of ops and tensors.
    """
    tensors = dict.fromkeys(n for n in names if n not in index.ids and split_tensor(n)[1] is not None)
    check_ports(index, tensors)
    selection = Selection.of(index, [index.op(n) for n in names if n not in tensors], call("ops", names))
    return replace(selection, tensors=tuple(tensors))


@with_recipe
def scope(index: GraphIndex, *names: str) -> Selection:
    """All ops inside the name scopes, nested scopes included.

    Args:
        index: The graph.
        *names: The name scopes.
    """
    members = [index.scopes.ops(index.scopes.scope(_text(name, "name scope"))) for name in names]
    return Selection.of(index, np.concatenate([np.zeros(0, np.int32), *members]), call("scope", names))


@with_recipe
def matching(index: GraphIndex, pattern: str | re.Pattern[str]) -> Selection:
    """Ops in whose name the regular expression is found. Raises GraphEditError when that takes over a minute.

    Args:
        index: The graph.
        pattern: The regular expression.
    """
    try:
        compiled = re.compile(pattern)
        if not isinstance(compiled.pattern, str):
            raise TypeError("names are text, and this is bytes")
    except (re.error, TypeError, OverflowError, RecursionError) as error:
        raise GraphEditError(f"{pattern!r} is no regular expression: {error}; escape it with re.escape.") from error
    is_found = search_in_time(compiled, ", or " + in_cell("editor.where(lambda op: …)"))
    matches = [op for op, name in enumerate(index.names) if is_found(name)]
    return Selection.of(index, matches, call("matching", [expression_with_flags(compiled)]))


@with_recipe
def of_type(index: GraphIndex, *types: str) -> Selection:
    """Ops of the given types, for example "Conv2D".

    Args:
        index: The graph.
        *types: The op types.

    Raises:
        UnknownName: Neither the graph nor TensorFlow has one of the types.
    """
    kinds, code = index.kinds
    for op_type in types:
        if _text(op_type, "op type") not in kinds and index.typing.definition(op_type) is None:
            some = f"; the types here are {', '.join(sorted(kinds))[:200]}" if kinds else ""
            raise UnknownName(
                f"Neither the graph nor TensorFlow has an op type {op_type!r}"
                + (did_you_mean(op_type, kinds, otherwise=some.removeprefix("; ")) if kinds else ".")
            )
    mask = np.isin(code, [kinds.index(op_type) for op_type in types if op_type in kinds])
    return Selection(index, mask, call("of_type", types))


@with_recipe
def where(index: GraphIndex, holds: Callable[[Op], object]) -> Selection:
    """The ops for which a function of an `Op` says true.

    Args:
        index: The graph.
        holds: The predicate.
    """
    if not callable(holds):
        raise GraphEditError(f"{value_text(holds)} cannot be asked; give a function of an op: lambda op: op.type == …")
    selection = Selection.of(index, (i for i in range(len(index)) if _holds(holds, Op(index, i))), "")
    text = function_expression(holds)
    return replace(selection, expression=f"editor.where({text})" if text else call("ops", selection.ops))


def _holds(holds: Callable[[Op], object], op: Op) -> bool:
    try:
        return bool(holds(op))
    except Exception as error:
        raise GraphEditError(
            f"The function raised {type(error).__name__} for op {op.name!r}: {reason_of(error)}; let it say of any "
            "op whether it is meant.",
            [op.name],
        ) from error


@with_recipe
def fan_out(index: GraphIndex, at_least: int) -> Selection:
    """Ops whose tensors are read by so many ops or more.

    Args:
        index: The graph.
        at_least: The number of consumers.
    """
    try:
        at_least = operator.index(at_least)
    except TypeError:
        raise GraphEditError(f"{at_least!r} is no number of ops; " + in_cell("write editor.fan_out(3).")) from None
    edges = index.readers
    owner = edges.owner.astype(np.int64)
    data = edges.port != CONTROL
    pairs_of_ops = owner[data] * len(index) + edges.to[data]
    # In order, since edges are listed by who produces, and those by who reads: equal pairs stand side by side.
    distinct = owner[data][np.flatnonzero(np.diff(pairs_of_ops, prepend=-1))]
    count = np.bincount(distinct, minlength=len(index))
    return Selection(index, count >= at_least, call("fan_out", [at_least]))


@with_recipe
def trainable(index: GraphIndex) -> Selection:
    """The handles of the trainable variables: those in the collection of that name, or that say so themselves.

    One handle of each variable.

    Args:
        index: The graph.
    """
    names = {split_tensor(m.name)[0] for m in index.collections.get(TRAINABLE, ())}
    names |= {handle for handle, variable in index.defined_variables.items() if variable.trainable}
    trainable_handles = distinct_handles(index, (i for i in handles(index) if index.names[i] in names))
    return Selection.of(index, trainable_handles, "editor.trainable()")


@with_recipe
def producing(index: GraphIndex, *, dtype: object = "*", shape: object = "*") -> Selection:
    """Ops with an output of such a dtype and static shape.

    `dtype` is a `tf.DType` or a name with wildcards: "float*", "*_ref". `shape` is "*" for any, None for an unknown
    rank, or one entry for each dimension: its size, None for an unknown one, "*" for any, once ... for any number.

    Args:
        index: The graph.
        dtype: A dtype, its name or "*".
        shape: A shape pattern.
    """
    shape, dtype = shape_pattern(shape), getattr(dtype, "name", dtype)
    if not isinstance(dtype, str):
        raise GraphEditError(f'{value_text(dtype)} is no dtype; write its name, "float32", or a part of it, "float*".')

    def has_one(i: int) -> bool:
        kinds = enumerate(index.dtypes(i))
        return any(fnmatch.fnmatchcase(d, dtype) and matches_shape(index.shape(i, port), shape) for port, d in kinds)

    options = [f"dtype={literal(dtype)}"] if dtype != "*" else []
    options += [f"shape={_shape_written(shape)}"] if shape != "*" else []
    return Selection.of(index, filter(has_one, range(len(index))), f"editor.producing({', '.join(options)})")


def upstream(index: GraphIndex, *names: str, **how: Any) -> Selection:
    """Select ops and everything they need.

    Args:
        index: The graph.
        names: The ops or tensors.
        how: The options of `Walk`.

    Returns:
        The selection.

    Raises:
        UnknownName: A name is not in the graph.
    """
    return _walk_from(index, "upstream", names, Walk.of(index, **how))


def downstream(index: GraphIndex, *names: str, **how: Any) -> Selection:
    """Select ops and everything that depends on them.

    Args:
        index: The graph.
        names: The ops or tensors.
        how: The options of `Walk`.

    Returns:
        The selection.

    Raises:
        UnknownName: A name is not in the graph.
    """
    return _walk_from(index, "downstream", names, Walk.of(index, **how))


@with_recipe
def _walk_from(index: GraphIndex, way: str, names: tuple[str, ...], how: Walk) -> Selection:
    walked = ops(index, *names).walk_with(way, how)
    return replace(walked, expression=call(way, names, how.arguments()))


@with_recipe
def enclosed(
    index: GraphIndex, seeds: Iterable[str], by: Iterable[str], *, inclusive: bool = True, controls: bool = False
) -> Selection:
    """All that hangs together with the ops `seeds`, edges taken either way, up to the ops `by`.

    With `inclusive`, the ops of `by` that it comes up to belong to it. `controls` follows control edges too.
    Raises GraphEditError when a seed is one of `by`.

    Args:
        index: The graph.
        seeds: Where to start.
        by: The wall.
        inclusive: Whether the wall is selected too.
        controls: Whether control edges are followed.
    """
    seeds, by = tuple(seeds), tuple(by)
    first, wall = [index.op(n) for n in seeds], traversal.mask_of(index, [index.op(n) for n in by])
    if wall[first].any():
        on_wall = next(n for n, i in zip(seeds, first, strict=True) if wall[i])
        raise GraphEditError(
            f"{on_wall!r} is a seed and a boundary at once; leave it out of one of the two.", [on_wall]
        )
    mask = traversal.flood(index, first, wall, controls_in=controls, controls_out=controls)
    options = [] if inclusive else ["inclusive=False"]
    options += ["controls=True"] if controls else []
    text = call("enclosed", [list(seeds), list(by)], options)
    return Selection(index, mask if inclusive else mask & ~wall, text)


@with_recipe
def load(index: GraphIndex, path: str | PathLike[str]) -> Selection:
    """The selection that `Selection.save` wrote; raises UnknownName when an op of it is not in this graph.

    Args:
        index: The graph.
        path: The path, as a string or a `pathlib.Path`.
    """
    try:
        document = json.loads(read_file(Path(path), _MOST_BYTES))
        held_ops, tensors = list(map(str, document["ops"])), list(map(str, document["tensors"]))
    except FileNotFoundError:
        raise UnknownName(f"There is no file {str(path)!r}; selection.save({str(path)!r}) would write one.") from None
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise GraphEditError(f"{str(path)!r} holds no selection ({error}); selection.save(path) writes one.") from error
    missing = [name for name in (*held_ops, *(split_tensor(t)[0] for t in tensors)) if name not in index.ids]
    if missing:
        raise UnknownName(
            f"The selection in {str(path)!r} has op "
            f"{missing[0]!r}{f' and {len(missing) - 1} more' if missing[1:] else ''}, "
            f"which this graph has not{did_you_mean(missing[0], index.names, otherwise='load it for its own graph')}"
        )
    check_ports(index, tensors)
    selection = ops(index, *held_ops, *tensors)
    return replace(selection, expression=call("load", [str(path)]))


def _text(name: object, what: str) -> str:
    if not isinstance(name, str):
        raise UnknownName(f"{value_text(name)} is no {what}; give its name, several as several arguments.")
    return name


def _shape_written(pattern: ShapePattern) -> str:
    if pattern is None or isinstance(pattern, str):
        return repr(pattern)
    return f"[{', '.join('...' if entry is ... else repr(entry) for entry in pattern)}]"

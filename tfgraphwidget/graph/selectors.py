"""Functions that select ops; `boundary` has those for boundaries."""

from __future__ import annotations

import fnmatch
import json
import operator
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.errors import GraphEditError, UnknownName, reason_of
from tfgraphwidget.graph.collections import TRAINABLE
from tfgraphwidget.graph.distinct_variables import distinct_handles
from tfgraphwidget.graph.edges import CONTROL, Mask
from tfgraphwidget.graph.endpoints import check_ports, pairs
from tfgraphwidget.graph.expressions import call, function_expression, literal
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op import Op
from tfgraphwidget.graph.op_types import DTYPE_NAMES
from tfgraphwidget.graph.regex_timeout import expression_with_flags, search_in_time
from tfgraphwidget.graph.selection import Selection, Walk, with_recipe
from tfgraphwidget.graph.tensors import ShapePattern, matches_shape, shape_pattern
from tfgraphwidget.graph.traversal import mask_of
from tfgraphwidget.graph.variables import handles
from tfgraphwidget.naming import did_you_mean, split_tensor
from tfgraphwidget.readable import read_file
from tfgraphwidget.sentences import in_cell

_MOST_BYTES = 1 << 28  # of a file with a selection: the names of two million ops


@with_recipe
def ops(
    index: GraphIndex,
    *names: str,
    type: str | Iterable[str] | None = None,  # noqa: A002  # as TensorFlow calls it
    scope: str | Iterable[str] | None = None,
    matching: str | re.Pattern[str] | None = None,
    dtype: object = None,
    shape: object = None,
    consumers: int | None = None,
    where: Callable[[Op], object] | None = None,
    file: str | PathLike[str] | None = None,
    is_named: bool | None = None,
) -> Selection:
    """The ops that are named and pass each filter; without names, all ops that pass them.

    The name of a tensor chooses that tensor, as a passthrough where no op makes or reads it; with
    filters its op.

    Args:
        is_named: Whether ops were named, which may be none at all; None: if there are names.
    """
    # Each with its argument as Python writes it, or "" where it cannot.
    filters: list[tuple[Mask, str]] = []
    if type is not None:
        filters.append((_of_types(index, _texts(type)), f"type={_one_or_list(_texts(type))}"))
    if scope is not None:
        filters.append((_in_scopes(index, _texts(scope)), f"scope={_one_or_list(_texts(scope))}"))
    if matching is not None:
        mask, pattern = _matching(index, matching)
        filters.append((mask, f"matching={literal(pattern)}"))
    if dtype is not None or shape is not None:
        filters.append(_producing(index, dtype, shape))
    if consumers is not None:
        filters.append((_with_consumers(index, consumers), f"consumers={consumers}"))
    if where is not None:
        mask = mask_of(index, (op for op in range(len(index)) if _holds(where, Op(index, op))))
        text = function_expression(where)
        filters.append((mask, f"where={text}" if text else ""))
    chosen = names if file is None else (*names, *_names_in_file(index, file))
    named = _select_names(index, chosen)
    written = [] if file is None else [f"file={literal(str(file))}"]
    is_named = bool(names) if is_named is None else is_named
    is_empty = (is_named or file is not None) and not chosen  # no op was meant, and not all
    if is_empty or not filters:
        return replace(named, expression=call("ops", names, written if chosen else ()))
    mask = np.logical_and.reduce([mask for mask, _ in filters])
    if chosen:
        mask &= named.mask | mask_of(index, (op for op, _ in pairs(index, named.tensors)))
    selection = Selection(index, mask, "")
    written += [text for _, text in filters]
    # A function that cannot be written down is written as the ops that it has chosen.
    expression = call("ops", names, written) if all(written) else call("ops", selection.ops)
    return replace(selection, expression=expression)


def _select_names(index: GraphIndex, names: Collection[str]) -> Selection:
    """The named ops, and the named tensors."""
    # A name of an op may look like a tensor's.
    others = dict.fromkeys(name for name in names if name not in index.ids)
    tensors = {name: None for name in others if split_tensor(name)[1] is not None}
    check_ports(index, tensors)
    named_ops = [index.op(name) for name in names if name not in tensors]
    selection = Selection.of(index, named_ops, call("ops", names))
    return replace(selection, tensors=tuple(tensors))


def _in_scopes(index: GraphIndex, names: Iterable[str]) -> Mask:
    """The ops inside name scopes, nested scopes included. Raises UnknownName."""
    members = [index.scopes.ops(index.scopes.scope(_text(name, "a name scope"))) for name in names]
    return mask_of(index, np.concatenate([np.zeros(0, np.int32), *members]))


def _matching(index: GraphIndex, pattern: str | re.Pattern[str]) -> tuple[Mask, str]:
    """The ops in whose name a regular expression is found, and the expression with its flags.

    Raises GraphEditError for what is not one, and when it takes over a minute.
    """
    try:
        compiled = re.compile(pattern)
        if not isinstance(compiled.pattern, str):
            raise TypeError("names are text, and this is bytes")
    except (re.error, TypeError, OverflowError, RecursionError) as error:
        raise GraphEditError(
            f"{pattern!r} is not a regular expression: {error}; escape it with re.escape."
        ) from error
    is_found = search_in_time(compiled, ", or " + in_cell("editor.ops(where=lambda op: …)"))
    matches = (op for op, name in enumerate(index.names) if is_found(name))
    return mask_of(index, matches), expression_with_flags(compiled)


def _of_types(index: GraphIndex, types: Collection[str]) -> Mask:
    """The ops of some types. Raises UnknownName for one that neither graph nor TensorFlow has."""
    kinds, code = index.kinds
    for op_type in types:
        if _text(op_type, "an op type") not in kinds and index.typing.definition(op_type) is None:
            fix = "."
            if kinds:
                types_here = ", ".join(sorted(kinds))[:200]
                fix = did_you_mean(op_type, kinds, otherwise=f"the types here are {types_here}")
            raise UnknownName(f"Neither the graph nor TensorFlow has an op type {op_type!r}{fix}")
    return np.isin(code, [kinds.index(op_type) for op_type in types if op_type in kinds])


def _holds(holds: Callable[[Op], object], op: Op) -> bool:
    """Whether a user's function is true of an op. Raises GraphEditError if it raises."""
    if not callable(holds):
        raise GraphEditError(
            f"{value_text(holds)} cannot be asked; give a function of an op: lambda op: op.type == "
            "…"
        )
    try:
        return bool(holds(op))
    except Exception as error:
        raise GraphEditError(
            f"The function raised {error.__class__.__name__} for op {op.name!r}: "
            f"{reason_of(error)}; let it say of any op whether it is meant.",
            [op.name],
        ) from error


def _with_consumers(index: GraphIndex, at_least: int) -> Mask:
    """The ops whose tensors so many ops or more take as inputs."""
    try:
        at_least = operator.index(at_least)
    except TypeError:
        raise GraphEditError(
            f"{at_least!r} is not a number of ops; " + in_cell("write editor.ops(consumers=3).")
        ) from None
    edges = index.consumer_edges
    owner = edges.owner.astype(np.int64)
    data = edges.port != CONTROL
    pairs_of_ops = owner[data] * len(index) + edges.to[data]
    # In order, since edges are listed by who produces, and those by who consumes: equal pairs stand
    # side by side.
    distinct = owner[data][np.flatnonzero(np.diff(pairs_of_ops, prepend=-1))]
    return np.bincount(distinct, minlength=len(index)) >= at_least


def _producing(index: GraphIndex, dtype: object, shape: object) -> tuple[Mask, str]:
    """The ops with an output of such dtype and shape, and the arguments as Python."""
    dtype = getattr(dtype, "name", dtype)
    if dtype is not None and not isinstance(dtype, str):
        raise GraphEditError(
            f'{value_text(dtype)} is not a dtype; write its name, "float32", or a part of it, '
            '"float*".'
        )
    if isinstance(dtype, str) and not _is_dtype_pattern(dtype):
        raise UnknownName(f"There is no dtype {dtype!r}" + did_you_mean(dtype, DTYPE_NAMES))
    wanted_shape = "*" if shape is None else shape_pattern(shape)

    def produces(op: int) -> bool:
        return any(
            (dtype is None or fnmatch.fnmatchcase(own, dtype))
            and matches_shape(index.shape(op, port), wanted_shape)
            for port, own in enumerate(index.dtypes(op))
        )

    written = [f"dtype={literal(dtype)}"] if dtype is not None else []
    written += [f"shape={_shape_written(wanted_shape)}"] if shape is not None else []
    return mask_of(index, filter(produces, range(len(index)))), ", ".join(written)


def _is_dtype_pattern(text: str) -> bool:
    """Whether a dtype can match a text: a name that has no wildcard is one of TensorFlow's."""
    return any(letter in text for letter in "*?[") or text.removesuffix("_ref") in DTYPE_NAMES


def scope(index: GraphIndex, *names: str) -> Selection:
    """All ops inside the name scopes, nested scopes included."""
    return ops(index, scope=names)


@with_recipe
def trainable(index: GraphIndex) -> Selection:
    """The handles of the trainable variables: those in the collection of that name, or that say so
    themselves.

    One handle of each variable.
    """
    names = {split_tensor(m.name)[0] for m in index.collections.get(TRAINABLE, ())}
    names |= {handle for handle, variable in index.defined_variables.items() if variable.trainable}
    trainable_handles = distinct_handles(
        index, (i for i in handles(index) if index.names[i] in names)
    )
    return Selection.of(index, trainable_handles, "editor.find('is:trainable')")


def upstream(index: GraphIndex, *names: str, **how: Any) -> Selection:
    """Select ops or tensors and everything they need. Raises UnknownName."""
    return _walk_from(index, "upstream", names, Walk.of(index, **how))


def downstream(index: GraphIndex, *names: str, **how: Any) -> Selection:
    """Select ops or tensors and everything that depends on them. Raises UnknownName."""
    return _walk_from(index, "downstream", names, Walk.of(index, **how))


@with_recipe
def _walk_from(index: GraphIndex, way: str, names: tuple[str, ...], how: Walk) -> Selection:
    walked = ops(index, *names).walk_with(way, how)
    return replace(walked, expression=call(way, names, how.arguments()))


def _names_in_file(index: GraphIndex, path: str | PathLike[str]) -> list[str]:
    """The op and tensor names that `Selection.save` wrote. Raises UnknownName for missing ones."""
    try:
        document = json.loads(read_file(Path(path), _MOST_BYTES))
        held_ops, tensors = list(map(str, document["ops"])), list(map(str, document["tensors"]))
    except FileNotFoundError:
        raise UnknownName(
            f"There is no file {str(path)!r}; selection.save({str(path)!r}) would write one."
        ) from None
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise GraphEditError(
            f"{str(path)!r} holds no selection ({error}); selection.save(path) writes one."
        ) from error
    named = [*held_ops, *(split_tensor(tensor)[0] for tensor in tensors)]
    missing = [name for name in named if name not in index.ids]
    if missing:
        others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise UnknownName(
            f"The selection in {str(path)!r} has op {missing[0]!r}{others}, which this graph has "
            f"not{did_you_mean(missing[0], index.names, otherwise='load it for its own graph')}"
        )
    return [*held_ops, *tensors]


def _text(name: object, what: str) -> str:
    if not isinstance(name, str):
        raise UnknownName(
            f"{value_text(name)} is not {what}; give its name, several as several arguments."
        )
    return name


def _texts(names: str | Iterable[str]) -> tuple[str, ...]:
    """One name or several as a tuple."""
    return (names,) if isinstance(names, str) or not isinstance(names, Iterable) else tuple(names)


def _one_or_list(names: tuple[str, ...]) -> str:
    """One name as Python writes it, or a list of them."""
    return literal(names[0] if len(names) == 1 else list(names))


def _shape_written(pattern: ShapePattern) -> str:
    """A shape pattern as Python writes it."""
    if pattern is None:
        return "tf.TensorShape(None)"
    if isinstance(pattern, str):
        return repr(pattern)
    return f"[{', '.join('...' if entry is ... else repr(entry) for entry in pattern)}]"

"""`ge.select`: ops and tensors by name, by pattern, by what they are connected to."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import chain
from typing import Any, Literal, TypeVar

from tfgraphwidget.argument_checks import check, value_text
from tfgraphwidget.graph import search_in_time
from tfgraphwidget.graph_editor.boundary import (
    check_cios,
    compute_boundary_ts,
    get_ops_ios,
    get_within_boundary_ops,
)
from tfgraphwidget.graph_editor.lists import check_type, make_list_of_op, make_list_of_t, unique
from tfgraphwidget.graph_editor.walking import (
    get_backward_walk_ops,
    get_forward_walk_ops,
    get_walks_intersection_ops,
    get_walks_union_ops,
)
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_types import Graph, Operation, Tensor

__all__ = [
    "can_be_regex",
    "check_cios",
    "compute_boundary_ts",
    "filter_ops",
    "filter_ops_from_regex",
    "filter_ts",
    "filter_ts_from_regex",
    "get_backward_walk_ops",
    "get_forward_walk_ops",
    "get_name_scope_ops",
    "get_ops_ios",
    "get_walks_intersection_ops",
    "get_walks_union_ops",
    "get_within_boundary_ops",
    "make_regex",
    "select_ops",
    "select_ops_and_ts",
    "select_ts",
]

_FOR_OPS, _FOR_TS = "(?#ops)", "(?#ts)"


def can_be_regex(obj: object) -> bool:
    """Whether `obj` is a string or a compiled regular expression."""
    return isinstance(obj, str | re.Pattern)


def make_regex(obj: object) -> re.Pattern[str]:
    """`obj`, a string or a compiled regular expression, compiled.

    Raises:
        ValueError: `obj` is something else.
        re.error: The string is not a regular expression.
    """
    if isinstance(obj, re.Pattern):
        return obj
    if not isinstance(obj, str):
        raise ValueError(
            f"Expected a regular expression, got the {type(obj).__name__} {value_text(obj)}; give "
            "a string."
        )
    try:
        return re.compile(obj)
    except re.error as error:
        why = (
            f"{obj!r} is not a regular expression: {error.msg}; escape it with re.escape if it is "
            "a name"
        )
        raise re.error(why, obj, error.pos) from error


def filter_ts(
    ops: object, positive_filter: Callable[[Tensor], object] | Literal[True]
) -> list[Tensor]:
    """The tensors that the ops read, then those that they make, each once.

    Args:
        ops: Ops, one op, or a graph.
        positive_filter: Says of a tensor whether it is kept; True for all.

    Raises:
        TypeError: `ops` is something else.
        ValueError: The ops are of several graphs.
    """
    all_ops = make_list_of_op(ops)
    inputs = chain.from_iterable(op.inputs for op in all_ops)
    outputs = chain.from_iterable(op.outputs for op in all_ops)
    tensors = unique(chain(inputs, outputs))
    return tensors if positive_filter is True else [t for t in tensors if positive_filter(t)]


def filter_ts_from_regex(ops: object, regex: object) -> list[Tensor]:
    """The tensors of `filter_ts` in whose name ("op:0") the regular expression is found.

    Args:
        ops: Ops, one op, or a graph.
        regex: A string or a compiled regular expression.

    Raises:
        TypeError: `ops` is something else.
        ValueError: The ops are of several graphs, or `regex` is something else.
        re.error: `regex` is not a regular expression.
        GraphEditError: The search takes over a minute.
    """
    is_found = search_in_time(make_regex(regex))
    return filter_ts(ops, lambda t: is_found(t.name))


def filter_ops(
    ops: object, positive_filter: Callable[[Operation], object] | Literal[True]
) -> list[Operation]:
    """The ops that the filter keeps, in their order.

    Args:
        ops: Ops, one op, or a graph.
        positive_filter: Says of an op whether it is kept; True for all.

    Raises:
        TypeError: `ops` is something else.
        ValueError: The ops are of several graphs.
    """
    all_ops = make_list_of_op(ops)
    return all_ops if positive_filter is True else [op for op in all_ops if positive_filter(op)]


def filter_ops_from_regex(ops: object, regex: object) -> list[Operation]:
    """The ops whose name matches the regular expression, in their order.

    Args:
        ops: Ops, one op, or a graph.
        regex: A string or a compiled regular expression.

    Raises:
        TypeError: `ops` is something else.
        ValueError: The ops are of several graphs, or `regex` is something else.
        re.error: `regex` is not a regular expression.
        GraphEditError: The search takes over a minute.
    """
    is_found = search_in_time(make_regex(regex))
    return filter_ops(ops, lambda op: is_found(op.name))


def get_name_scope_ops(ops: object, scope: str) -> list[Operation]:
    """The ops in a name scope, nested scopes included, or of its name; in their order.

    The scope is a name, not a pattern: a dot in it is a dot. (The original took "foo.bar" for
    "foo_bar" as well.)

    Args:
        ops: Ops, one op, or a graph.
        scope: The scope, with or without a slash at its end; "" holds nothing.

    Raises:
        TypeError: `ops` is something else.
        ValueError: The ops are of several graphs.
    """
    own = scope.removesuffix("/")
    return filter_ops(ops, lambda op: own and (op.name == own or op.name.startswith(f"{own}/")))


def select_ops(*args: object, **kwargs: object) -> list[Operation]:
    r"""The ops that are given or found, in the order of the arguments, each once.

    Args:
        *args: Regular expressions (but none that begins with "(?#ts)"), ops, lists of ops, graphs.
            Tensors are left out.
        **kwargs: `graph`, where to look for the expressions; `positive_filter`, which says of an op
            whether it is kept; `restrict_ops_regex`, to heed no expressions but those that begin
            with "(?#ops)".

    Raises:
        TypeError: An argument is something else.
        ValueError: A keyword is unknown, an expression comes without `graph`, or ops of one list
            are of several graphs.
        re.error: A string is not a regular expression.
    """
    choice = _Choice("select_ops", kwargs)
    heeds = choice.heeds(_FOR_OPS, _FOR_TS, "restrict_ops_regex")
    return choice.select(
        args, heeds, filter_ops_from_regex, lambda arg: make_list_of_op(arg, ignore_ts=True)
    )


def select_ts(*args: object, **kwargs: object) -> list[Tensor]:
    r"""The tensors that are given or found, in the order of the arguments, each once.

    Args:
        *args: Regular expressions (but none that begins with "(?#ops)"), tensors, lists of tensors,
            graphs. Ops are left out.
        **kwargs: `graph`, where to look for the expressions; `positive_filter`, which says of a
            tensor whether it is kept; `restrict_ts_regex`, to heed no expressions but those that
            begin with "(?#ts)".

    Raises:
        TypeError: An argument is something else.
        ValueError: A keyword is unknown, an expression comes without `graph`, or tensors of one
            list are of several graphs.
        re.error: A string is not a regular expression.
    """
    choice = _Choice("select_ts", kwargs)
    heeds = choice.heeds(_FOR_TS, _FOR_OPS, "restrict_ts_regex")
    return choice.select(
        args, heeds, filter_ts_from_regex, lambda arg: make_list_of_t(arg, ignore_ops=True)
    )


def select_ops_and_ts(*args: object, **kwargs: object) -> tuple[list[Operation], list[Tensor]]:
    """The ops of `select_ops`, and the tensors of `select_ts` for expressions that begin with
    "(?#ts)".

    Args:
        *args: Regular expressions, ops, tensors, lists of these, graphs.
        **kwargs: `graph`, where to look for the expressions; `positive_filter`, which says of an op
            or a tensor whether it is kept.

    Raises:
        TypeError: An argument is something else.
        ValueError: A keyword is unknown, an expression comes without `graph`, or a list is of
            several graphs.
        re.error: A string is not a regular expression.
    """
    ops = select_ops(*args, restrict_ops_regex=False, **kwargs)
    return ops, select_ts(*args, restrict_ts_regex=True, **kwargs)


_Element = TypeVar("_Element")


class _Choice:
    """The keyword arguments of `select_ops` and `select_ts`."""

    KEYWORDS = ("graph", "positive_filter", "restrict_ops_regex", "restrict_ts_regex")

    def __init__(self, function: str, kwargs: dict[str, Any]) -> None:
        for key in kwargs:
            if key not in self.KEYWORDS:
                # A ValueError as in the original, where Python itself raises a TypeError.
                raise ValueError(
                    f"{function} has no argument {key!r}; it has {', '.join(self.KEYWORDS)}."
                )
        for key in ("restrict_ops_regex", "restrict_ts_regex"):
            check(function, key, kwargs.get(key, False), bool, TypeError)
        self.kwargs = kwargs
        self.graph = kwargs.get("graph")
        if self.graph is not None:
            check_type(self.graph, (tf.Graph,))

    def heeds(self, own: str, others: str, restrict: str) -> Callable[[re.Pattern[str]], bool]:
        """Says of an expression whether this kind of selection heeds it, by how it begins."""
        only_own = self.kwargs.get(restrict, False)

        def is_heeded(regex: re.Pattern[str]) -> bool:
            if regex.pattern.startswith(own):
                return True
            return not only_own and not regex.pattern.startswith(others)

        return is_heeded

    def select(
        self,
        args: tuple[object, ...],
        heeds: Callable[[re.Pattern[str]], bool],
        search: Callable[[Graph, re.Pattern[str]], list[_Element]],
        listed: Callable[[object], list[_Element]],
    ) -> list[_Element]:
        """Select by the arguments, except elements that the filter refuses."""
        elements: list[_Element] = []
        for arg in args:
            if not can_be_regex(arg):
                elements += listed(arg)
            elif self.graph is None:
                raise ValueError(
                    f"A regular expression needs a graph to look in: add graph=... beside {arg!r}."
                )
            elif heeds(regex := make_regex(arg)):
                elements += search(self.graph, regex)
        keep = self.kwargs.get("positive_filter")
        return unique(elements if keep is None else filter(keep, elements))

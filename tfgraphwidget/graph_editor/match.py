"""Matchers of ops, as `tf.contrib.graph_editor` had them up to TensorFlow 1.4, and patterns of
SubGraphViews.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.graph import search_in_time, traversal
from tfgraphwidget.graph.patterns import Pattern, find_matches
from tfgraphwidget.graph.patterns import pattern as make_pattern
from tfgraphwidget.graph_editor.live_index import numbers
from tfgraphwidget.graph_editor.select import can_be_regex, make_regex
from tfgraphwidget.graph_editor.subgraph import SubGraphView, make_view
from tfgraphwidget.sources import GraphBody, body_index
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_types import Operation

__all__ = ["OpMatcher", "match_pattern", "matcher", "op_type"]

Filter: TypeAlias = Callable[[Operation], object]


def op_type(op_types: str | Sequence[str], op: Operation | None = None) -> bool | Filter:
    """Whether an op is of one of some types; without an op, a function that says so of one.

    Args:
        op_types: A type, or several: ("Add", "Const").
        op: The op.

    Raises:
        TypeError: `op` is something else.
    """
    types = (op_types,) if isinstance(op_types, str) else tuple(op_types)
    if op is None:
        return lambda each: each.type in types
    if not isinstance(op, tf.Operation):
        raise TypeError(
            f"op={value_text(op)} is not what op_type takes; give a tf.Operation, or None."
        )
    return op.type in types


class OpMatcher:
    """A condition on an op and on the ops around it: `matcher("^conv").input_ops(True,
    op_type("Const"))(op)`.

    Args:
        positive_filter: A regular expression that is found in the op's name, an op, a function of
            an op, or True for any op.

    Raises:
        ValueError: The filter is something else.

    Example:
        >>> import tfgraphwidget as tgw
        >>> import tfgraphwidget.graph_editor as ge
        >>> graph = tgw.example().graph
        >>> layer = ge.matcher(ge.op_type("Relu")).input_ops(ge.op_type("AddV2"))
        >>> [op.name for op in graph.get_operations() if layer(op)]
        ['net/hidden/Relu']
    """

    def __init__(self, positive_filter: object) -> None:
        self._filter = _as_filter(positive_filter)
        self._inputs: list[Filter | None] | None = None
        self._control_inputs: list[Filter | None] | None = None
        self._outputs: list[list[Filter | None] | None] | None = None

    def __call__(self, op: Operation) -> bool:
        """Whether an op matches."""
        if not isinstance(op, tf.Operation):
            raise TypeError(
                f"Expected a tf.Operation, got the {type(op).__name__} {value_text(op)}; give an "
                "op."
            )
        if not self._filter(op):
            return False
        if not _all_match(self._inputs, [tensor.op for tensor in op.inputs]):
            return False
        if not _all_match(self._control_inputs, list(op.control_inputs)):
            return False
        return self._matches_outputs(op)

    def _matches_outputs(self, op: Operation) -> bool:
        if self._outputs is None:
            return True
        if len(op.outputs) != len(self._outputs):
            return False
        pairs = zip(op.outputs, self._outputs, strict=True)
        return all(_all_match(filters, list(tensor.consumers())) for tensor, filters in pairs)

    def input_ops(self, *args: object) -> OpMatcher:
        """Require as many inputs, of ops that match.

        Args:
            *args: What `OpMatcher` takes, or None for any op; one for each input.

        Returns:
            This matcher.
        """
        _check_unset("input_ops", self._inputs)
        self._inputs = [_as_matcher(each) for each in args]
        return self

    def control_input_ops(self, *args: object) -> OpMatcher:
        """Require as many control inputs, ops that match, in their order.

        Args:
            *args: What `OpMatcher` takes, or None for any op; one for each control input.

        Returns:
            This matcher.
        """
        _check_unset("control_input_ops", self._control_inputs)
        self._control_inputs = [_as_matcher(each) for each in args]
        return self

    def output_ops(self, *args: object) -> OpMatcher:
        """Require as many outputs, each with as many consumers, ops that match.

        Args:
            *args: For each output a list of what `OpMatcher` takes, one for each consumer, or one
                without a list; None for any consumers.

        Returns:
            This matcher.
        """
        _check_unset("output_ops", self._outputs)
        outputs: list[list[Filter | None] | None] = []
        for each in args:
            if each is None:
                outputs.append(None)
            else:
                consumers = each if isinstance(each, list) else [each]
                outputs.append(list(map(_as_matcher, consumers)))
        self._outputs = outputs
        return self


matcher = OpMatcher
"""The name in lower case, as other functions of the module have it."""


def match_pattern(
    pattern: str | Pattern | Callable[..., object], ops: object
) -> list[SubGraphView]:
    """Find where a pattern fits, as views.

    Args:
        pattern: A pattern; see `tfgraphwidget.pattern`.
        ops: A view, or what `make_view` takes: ops, a graph.

    Returns:
        A view of the ops of each match, in topological order.

    Raises:
        ValueError: The pattern cannot be read.

    Example:
        >>> import tfgraphwidget as tgw
        >>> import tfgraphwidget.graph_editor as ge
        >>> views = ge.match_pattern("Relu(Add|AddV2(x, b))", tgw.example().graph)
        >>> [op.name for op in views[0].ops]
        ['net/hidden/Add', 'net/hidden/Relu']
    """
    view = make_view(ops)
    graph = view.graph
    if graph is None:
        return []
    index = body_index(GraphBody(graph))
    within = traversal.mask_of(index, numbers(index, view.ops))
    live = graph.get_operation_by_name
    matches = find_matches(index, make_pattern(pattern), within=within)
    return [SubGraphView([live(name) for name in match.ops]) for match in matches]


def _as_filter(condition: object) -> Filter:
    if condition is True:
        return lambda _: True
    if can_be_regex(condition):
        is_found = search_in_time(make_regex(condition))
        return lambda op: is_found(op.name)
    if isinstance(condition, tf.Operation):
        return lambda op: op is condition
    if callable(condition):
        return condition
    raise ValueError(
        f"Expected a condition on an op, got the {type(condition).__name__} "
        f"{value_text(condition)}; give a regular expression, an op, a function or True."
    )


def _as_matcher(condition: object) -> Filter | None:
    if condition is None or isinstance(condition, OpMatcher):
        return condition
    return OpMatcher(condition)


def _all_match(filters: list[Filter | None] | None, ops: list[Operation]) -> bool:
    if filters is None:
        return True
    if len(filters) != len(ops):
        return False
    pairs = zip(filters, ops, strict=True)
    return all(accepts is None or accepts(op) for accepts, op in pairs)


def _check_unset(what: str, before: object) -> None:
    if before is not None:
        raise ValueError(f"{what} was called on this matcher before; make a new one.")

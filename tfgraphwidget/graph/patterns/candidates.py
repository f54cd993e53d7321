"""Candidates: for each value of a pattern the ops of a graph that can be it, as masks, and the conditions on one op.

A mask is computed from an op's type, its number of inputs and the masks of what it reads: array operations, from
constants to outputs. What a mask leaves out no match has; what it has the search has to try.
"""

from __future__ import annotations

from collections.abc import Callable
from types import EllipsisType
from typing import Any

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph import op_predicates
from tfgraphwidget.graph.edges import Mask
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op import attr_value
from tfgraphwidget.graph.op_types import COMMUTATIVE, V1_CONTROL_FLOW
from tfgraphwidget.graph.patterns.constants import constant_value, is_near
from tfgraphwidget.graph.patterns.definition import Pattern
from tfgraphwidget.graph.patterns.seen_through import SEEN_THROUGH, seen_through
from tfgraphwidget.graph.patterns.structure import (
    GROUPS,
    Alternatives,
    AnyOf,
    Attribute,
    AttributeComparison,
    Constant,
    Node,
    Regex,
    TensorType,
    Value,
    Variable,
    Wildcard,
)
from tfgraphwidget.graph.regex_timeout import search_in_time
from tfgraphwidget.graph.stateful_resources import of_type
from tfgraphwidget.graph.tensors import matches_shape
from tfgraphwidget.tf_types import AttrValue

Numbers = npt.NDArray[np.intp]


class Candidates:
    """The ops of `index` that the values of `pattern` can be; `within` are those that a match may consist of."""

    def __init__(self, index: GraphIndex, pattern: Pattern, within: Mask | None) -> None:
        self.index, self.pattern, self.within = index, pattern, within
        self.through = seen_through(index)
        self._start, self._sources = index.inputs.start, index.inputs.values
        self._own: dict[int, Mask] = {}
        self._can_be: dict[int, Mask | None] = {}
        self._constants: dict[tuple[int, int], bool] = {}
        self._readers: dict[str, op_predicates.AttributeValues] = {}
        self._expressions: dict[str, Callable[[str], bool]] = {}
        self._output_ports: dict[int, int] = {}  # of a node by id the highest port that is an output of the pattern
        for output in pattern.outputs:
            if isinstance(output, Node | Variable):
                node = id(pattern.resolve(output))
                self._output_ports[node] = max(output.port, self._output_ports.get(node, 0))
        for value in pattern.bottom_up:
            self.can_be(value)

    # Masks

    def count(self, value: Value) -> int:
        """The number of ops whose output can be a value."""
        mask = self.can_be(value)
        return len(self.index) if mask is None else int(np.count_nonzero(mask))

    def can_be(self, value: Value) -> Mask | None:
        """The ops whose output can be a value, as it is read or behind Identity ops; None for all."""
        value = self.pattern.resolve(value)
        if id(value) not in self._can_be:
            self._can_be[id(value)] = self._compute_can_be(value)
        return self._can_be[id(value)]

    def _compute_can_be(self, value: Value) -> Mask | None:
        if isinstance(value, Variable):
            return None
        if isinstance(value, Alternatives):
            masks = [self.can_be(choice) for choice in value.choices]
            definite = [mask for mask in masks if mask is not None]
            return np.logical_or.reduce(definite) if len(definite) == len(masks) else None
        own = self.own(value)
        can_be = own | own[self.through.op]
        if isinstance(value, Node) and (not value.op_types or value.op_types & SEEN_THROUGH):
            can_be |= self.through.mask  # one in the middle of several
        return can_be

    def own(self, value: Node | Constant) -> Mask:
        """The ops that can be a value themselves.

        Args:
            value: A node or a constant of the pattern.

        Returns:
            One bool per op.
        """
        if id(value) not in self._own:
            self._own[id(value)] = self._compute_own(value)
        return self._own[id(value)]

    def _compute_own(self, value: Node | Constant) -> Mask:
        index = self.index
        if isinstance(value, Constant):
            return of_type(index, GROUPS["Const"].__contains__)
        types = value.op_types
        mask = of_type(index, types.__contains__) if types else ~self._stateful()
        if self.within is not None and not value.is_source:
            mask = mask & self.within
        ops = np.flatnonzero(mask)
        if value.inputs is not None and len(ops):
            ops = self._with_inputs(ops, value, value.inputs)
        if port := self._output_ports.get(id(value), 0):
            ops = np.array([op for op in ops.tolist() if port < len(index.dtypes(op))], np.intp)
        mask = np.zeros(len(index), bool)
        mask[ops] = True
        return mask

    def _stateful(self) -> Mask:
        def is_stateful(kind: str) -> bool:
            definition = self.index.typing.definition(kind)
            return kind in V1_CONTROL_FLOW or (definition is not None and bool(definition.is_stateful))

        return of_type(self.index, is_stateful)

    def _with_inputs(self, ops: Numbers, node: Node, inputs: tuple[Value | EllipsisType, ...]) -> Numbers:
        counts = self._start[ops + 1] - self._start[ops]
        rest = inputs.index(...) if ... in inputs else -1
        ops = ops[counts == len(inputs)] if rest < 0 else ops[counts >= len(inputs) - 1]
        values = [each for each in inputs if not isinstance(each, EllipsisType)]
        masks = [self.can_be(each) for each in values]
        fits = np.ones(len(ops), bool)
        for k, mask in enumerate(masks):
            if mask is not None:
                before = rest < 0 or k < rest
                slots = self._start[ops] + k if before else self._start[ops + 1] - (len(values) - k)
                fits &= mask[self._sources[slots]]
        if not node.op_types or not node.op_types.isdisjoint(COMMUTATIVE):
            any_order = of_type(self.index, COMMUTATIVE.__contains__)[ops]
            if len(inputs) == 2 and rest < 0:  # of more inputs the search tries all orders
                second = np.ones(len(ops), bool)
                for k, mask in enumerate(masks):
                    if mask is not None:
                        second &= mask[self._sources[self._start[ops] + 1 - k]]
                any_order &= second
            fits |= any_order
        return ops[fits]

    # Conditions on one op

    def is_constant(self, value: Constant, op: int) -> bool:
        """Whether an op is a constant of a value.

        Args:
            value: The constant of the pattern, with its tolerance.
            op: The number of the op.
        """
        key = id(value), op
        if key not in self._constants:
            self._constants[key] = is_near(constant_value(self.index, op), value.value, value.tolerance)
        return self._constants[key]

    def attribute(self, name: str, op: int) -> AttrValue | None:
        """The attribute of an op; None if it does not have it.

        Args:
            name: The attribute's name.
            op: The number of the op.
        """
        reader = self._readers.get(name)
        if reader is None:
            reader = self._readers[name] = op_predicates.AttributeValues(self.index, name)
        return reader.value(op)

    def has_value(self, attribute: Attribute, value: AttrValue) -> bool:
        """Whether a value is what a pattern says of it.

        Args:
            attribute: What the pattern says.
            value: The AttrValue of an op.
        """
        if isinstance(attribute, AnyOf):
            return any(self.has_value(each, value) for each in attribute.values)
        plain = plain_value(value)
        if isinstance(attribute, Regex):
            is_found = self._expressions.get(attribute.text)
            if is_found is None:
                is_found = self._expressions[attribute.text] = search_in_time(attribute.text)
            return is_found(str(plain))
        if isinstance(attribute, AttributeComparison):
            return _compare(plain, attribute)
        if isinstance(attribute, Wildcard):
            return True
        if callable(attribute):
            return bool(attribute(plain))
        return _normal_text(plain) == _normal_text(attribute)

    def dtype(self, op: int, port: int) -> str:
        """The dtype of an output; "" if it is not known.

        Args:
            op: The number of the op.
            port: The number of the output.
        """
        dtypes = self.index.dtypes(op)
        return dtypes[port].removesuffix("_ref") if port < len(dtypes) else ""

    def has_shape(self, tensor_type: TensorType, op: int, port: int) -> bool:
        """Whether an output has a shape.

        Args:
            tensor_type: What the pattern says of the tensor: its shape in the notation of queries, "*" for any.
            op: The number of the op.
            port: The number of the output.
        """
        return tensor_type.shape == "*" or matches_shape(self.index.shape(op, port), tensor_type.shape)


def plain_value(value: AttrValue) -> object:
    """An AttrValue as a value that can be compared and passed to a function."""
    content = attr_value(value)
    if isinstance(content, bytes):
        return content.decode("utf-8", "backslashreplace")
    if isinstance(content, list):
        return tuple(
            each.decode("utf-8", "backslashreplace") if isinstance(each, bytes) else _plain_message(each)
            for each in content
        )
    return _plain_message(content)


def _plain_message(content: Any) -> object:
    if hasattr(content, "unknown_rank"):
        return None if content.unknown_rank else tuple(None if d.size < 0 else int(d.size) for d in content.dim)
    if hasattr(content, "name") and hasattr(content, "attr"):
        return str(content.name)
    return content


def _normal_text(value: object) -> str:
    return op_predicates.normalized_text(f"[{','.join(map(str, value))}]" if isinstance(value, tuple) else str(value))


def _compare(plain: Any, comparison: AttributeComparison) -> bool:
    sign, expected = comparison.sign, comparison.value
    if sign == "!=":
        return _normal_text(plain) != _normal_text(expected)
    if isinstance(plain, str) != isinstance(expected, str) or isinstance(plain, tuple) != isinstance(expected, tuple):
        return False
    try:
        less, equal = bool(plain < expected), bool(plain == expected)
    except TypeError:
        return False
    return {"<": less, "<=": less or equal, ">": not less and not equal, ">=": not less}[sign]

"""Candidates: for each value of a pattern the ops of a graph that can be it, as masks, and the
conditions on one op.

A mask is computed from an op's type, its number of inputs and the masks of what it reads: array
operations, from constants to outputs. What a mask leaves out no match has; what it has the search
has to try.
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
    """The ops of `index` that the values of `pattern` can be; a match lies `within`."""

    def __init__(self, index: GraphIndex, pattern: Pattern, within: Mask | None) -> None:
        self.index, self.pattern, self.within = index, pattern, within
        self.through = seen_through(index)
        self._start, self._sources = index.inputs.start, index.inputs.values
        self._own: dict[int, Mask] = {}
        self._can_be: dict[int, Mask | None] = {}
        self._constants: dict[tuple[int, int], bool] = {}
        self._readers: dict[str, op_predicates.AttributeValues] = {}
        self._expressions: dict[str, Callable[[str], bool]] = {}
        # Of a node by id the highest port that is an output of the pattern.
        self._output_ports: dict[int, int] = {}
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
        """The ops whose output can be a value, as read or through Identity; None for all."""
        value = self.pattern.resolve(value)
        if id(value) not in self._can_be:
            self._can_be[id(value)] = self._compute_can_be(value)
        return self._can_be[id(value)]

    def _compute_can_be(self, value: Value) -> Mask | None:
        """See `can_be`."""
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
        """The ops that can be a value themselves, one bool per op."""
        if id(value) not in self._own:
            self._own[id(value)] = self._compute_own(value)
        return self._own[id(value)]

    def _compute_own(self, value: Node | Constant) -> Mask:
        """See `own`."""
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
        port = self._output_ports.get(id(value), 0)
        if port:
            with_port = [op for op in ops.tolist() if port < len(index.dtypes(op))]
            ops = np.array(with_port, np.intp)
        mask = np.zeros(len(index), bool)
        mask[ops] = True
        return mask

    def _stateful(self) -> Mask:
        """The ops with effects or with state, and those of control flow: none of them is any op."""

        def is_stateful(kind: str) -> bool:
            if kind in V1_CONTROL_FLOW:
                return True
            definition = self.index.typing.definition(kind)
            return definition is not None and bool(definition.is_stateful)

        return of_type(self.index, is_stateful)

    def _with_inputs(
        self, ops: Numbers, node: Node, inputs: tuple[Value | EllipsisType, ...]
    ) -> Numbers:
        """The ops of some whose inputs can be those of a node."""
        values = [value for value in inputs if not isinstance(value, EllipsisType)]
        is_exact = len(values) == len(inputs)
        count = self._start[ops + 1] - self._start[ops]
        ops = ops[count == len(values) if is_exact else count >= len(values)]
        masks = [self.can_be(value) for value in values]

        split = len(values) if is_exact else inputs.index(...)
        fits = np.ones(len(ops), bool)
        for k, mask in enumerate(masks):
            if mask is not None:
                from_end = len(values) - k
                slots = self._start[ops] + k if k < split else self._start[ops + 1] - from_end
                fits &= mask[self._sources[slots]]

        if not node.op_types or not node.op_types.isdisjoint(COMMUTATIVE):
            in_other_order = of_type(self.index, COMMUTATIVE.__contains__)[ops]
            if is_exact and len(values) == 2:  # of more inputs the search tries all orders
                for k, mask in enumerate(masks):
                    if mask is not None:
                        in_other_order &= mask[self._sources[self._start[ops] + 1 - k]]
            fits |= in_other_order
        return ops[fits]

    # Conditions on one op

    def is_constant(self, value: Constant, op: int) -> bool:
        """Whether an op is a constant of a value, within the value's tolerance."""
        key = id(value), op
        if key not in self._constants:
            array = constant_value(self.index, op)
            self._constants[key] = is_near(array, value.value, value.tolerance)
        return self._constants[key]

    def attribute(self, name: str, op: int) -> AttrValue | None:
        """The attribute of an op; None if it does not have it."""
        reader = self._readers.get(name)
        if reader is None:
            reader = self._readers[name] = op_predicates.AttributeValues(self.index, name)
        return reader.value(op)

    def has_value(self, attribute: Attribute, value: AttrValue) -> bool:
        """Whether the AttrValue of an op is what a pattern says of it."""
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
        """The dtype of an output; "" if it is not known."""
        dtypes = self.index.dtypes(op)
        return dtypes[port].removesuffix("_ref") if port < len(dtypes) else ""

    def has_shape(self, tensor_type: TensorType, op: int, port: int) -> bool:
        """Whether an output has the shape of a pattern's tensor, as in queries; "*" is any."""
        if tensor_type.shape == "*":
            return True
        return matches_shape(self.index.shape(op, port), tensor_type.shape)


def plain_value(value: AttrValue) -> object:
    """An AttrValue as a value that can be compared and passed to a function."""
    content = attr_value(value)
    if isinstance(content, list):
        return tuple(map(_plain_item, content))
    return _plain_item(content)


def _plain_item(content: Any) -> object:
    """One item of an AttrValue: a text, a shape as a tuple, or the name of a function."""
    if isinstance(content, bytes):
        return content.decode("utf-8", "backslashreplace")
    if hasattr(content, "unknown_rank"):
        if content.unknown_rank:
            return None
        return tuple(None if dim.size < 0 else int(dim.size) for dim in content.dim)
    if hasattr(content, "name") and hasattr(content, "attr"):
        return str(content.name)
    return content


def _normal_text(value: object) -> str:
    """A value in the form in which queries compare it."""
    text = f"[{','.join(map(str, value))}]" if isinstance(value, tuple) else str(value)
    return op_predicates.normalized_text(text)


def _compare(plain: Any, comparison: AttributeComparison) -> bool:
    """Whether a value is less or more than that of a pattern, or another one."""
    sign, expected = comparison.sign, comparison.value
    if sign == "!=":
        return _normal_text(plain) != _normal_text(expected)
    for kind in (str, tuple):  # texts are compared with texts only, and lists with lists
        if isinstance(plain, kind) != isinstance(expected, kind):
            return False
    try:
        is_less = bool(plain < expected)
        is_equal = bool(plain == expected)
    except TypeError:
        return False
    is_greater = not is_less and not is_equal
    return {"<": is_less, "<=": is_less or is_equal, ">": is_greater, ">=": not is_less}[sign]

"""Matches found all at once, as arrays: for each node of a pattern one op for each candidate of the output.

A candidate leaves a choice where a commutative op can read its inputs in both orders, where several alternatives can
fit, or several ops of a chain of Identity ops. Then the first choice is taken, as the search of `matcher` does, and the
candidate is undecided if that fits nowhere. Patterns with several outputs or control inputs, and graphs with loops of
TensorFlow 1, are left to the search altogether. What is found is what the search finds first
(tests/graph/patterns/test_brute_force.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph.edges import Mask
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op_types import COMMUTATIVE, NEXT
from tfgraphwidget.graph.patterns.candidates import Candidates, Numbers, plain_value
from tfgraphwidget.graph.patterns.definition import Pattern
from tfgraphwidget.graph.patterns.match import FoundMatch, Tensor
from tfgraphwidget.graph.patterns.structure import (
    ANY,
    Alternatives,
    Attribute,
    Constant,
    Node,
    TensorType,
    Value,
    Variable,
    Wildcard,
    walk,
)
from tfgraphwidget.graph.stateful_resources import of_type

Integers = npt.NDArray[np.signedinteger]
_PORT_BITS = 24
_MOST_PASSED = 100  # Identity ops behind one another that are looked at; behind more, the search decides


class NodePlan(NamedTuple):
    """What matching needs of a node again and again.

    Attributes:
        is_source: See `Node.is_source`.
        values: Its inputs but for `...`.
        split: The number of inputs before `...`.
        is_exact: Whether there is no `...`.
        orders: The inputs in the order in which a commutative op tries them; None if all orders are the same.
        has_conditions: Whether it has attributes, a dtype or a shape.
        is_free: Of a commutative op with two inputs, whether both may be any tensor.
    """

    is_source: bool
    values: tuple[Value, ...]
    split: int
    is_exact: bool
    orders: tuple[Value, ...] | None
    has_conditions: bool
    is_free: bool


class TensorColumn(NamedTuple):
    """One tensor for each candidate: its op and its port."""

    ops: Numbers
    ports: Numbers


def array_matcher(
    candidates: Candidates, root: Value, plan: Callable[[Node], NodePlan], blocks: dict[int, int] | None
) -> ArrayMatcher | None:
    """Make a matcher of a pattern; None where the pattern or the graph needs the search.

    Args:
        candidates: The ops that the pattern's values can be.
        root: Its only output.
        plan: What matching needs of a node.
        blocks: For each op the number of the loop or branch around it.
    """
    index, pattern = candidates.index, candidates.pattern
    if not isinstance(root, Node) or not NEXT.isdisjoint(index.kinds[0]) or not len(index.inputs.values):
        return None
    wildcards: list[str] = []
    for value in pattern.bottom_up:
        if isinstance(value, Node):
            if value.controls:
                return None
            wildcards += [each.name for _, each in value.attributes if isinstance(each, Wildcard)]
    values = (each for statement in pattern.statements for each in walk(statement))
    types = [each.tensor_type for each in values if not isinstance(each, Alternatives)]
    if len(set(wildcards)) < len(wildcards) or any(isinstance(each.dtype, Wildcard) for each in types):
        return None
    return ArrayMatcher(candidates, root, plan, blocks)


class ArrayMatcher:
    """Matches one pattern at many candidates of its output."""

    def __init__(
        self, candidates: Candidates, root: Node, plan: Callable[[Node], NodePlan], blocks: dict[int, int] | None
    ) -> None:
        self.candidates, self.root, self.plan = candidates, root, plan
        self.index: GraphIndex = candidates.index
        self.pattern: Pattern = candidates.pattern
        self.is_commutative = of_type(self.index, COMMUTATIVE.__contains__)
        self.blocks: npt.NDArray[np.int64] | None = None
        if blocks is not None:
            self.blocks = np.full(len(self.index), -1)
            self.blocks[list(blocks)] = list(blocks.values())

    def match(self, ops: Numbers) -> ArrayMatches:
        """Match the pattern at the candidates `ops` of its output."""
        return ArrayMatches(self, ops)


class ArrayMatches:
    """The matches at some candidates, in their order: a row for each.

    Attributes:
        is_match: At which of them the pattern fits.
        is_undecided: At which of them the search has to look.
    """

    def __init__(self, matcher: ArrayMatcher, ops: Numbers) -> None:
        self._matcher, self._candidates, self._through = matcher, matcher.candidates, matcher.candidates.through
        index = self._index = matcher.index
        self._start, self._sources, self._ports = index.inputs.start, index.inputs.values, index.ports
        self.is_match = np.ones(len(ops), bool)
        self.is_undecided = np.zeros(len(ops), bool)
        self._has_choice = np.zeros(len(ops), bool)
        # Where an alternative is another one, there is -1 in place of the op.
        self._ops: dict[int, Numbers] = {}  # of each node by id
        self._used: dict[int, Numbers] = {}  # the same without sources
        self._tensors: dict[str, TensorColumn] = {}
        self._attributes: list[tuple[str, str, Numbers]] = []  # names of wildcard and attribute
        self._passed: list[tuple[Numbers, Numbers]] = []  # what is read, and the op behind what is seen through
        self._goals: list[tuple[Value, TensorColumn, Mask]] = []  # with their rows; the last one comes first
        self._node(matcher.root, ops, self.is_match.copy(), is_output=True)
        while self._goals and self.is_match.any():
            value, column, rows = self._goals.pop()
            if (rows := rows & self.is_match).any():
                self._value(value, *column, rows)
        self.is_undecided |= self._has_choice & ~self.is_match

    @property
    def rows(self) -> list[int]:
        """The rows that match or may match."""
        rows: list[int] = np.flatnonzero(self.is_match | self.is_undecided).tolist()
        return rows

    def make_match(self, row: int) -> FoundMatch:
        """The match of a row."""
        numbers = tuple(sorted({int(ops[row]) for ops in self._used.values()} - {-1}))
        passed: set[int] = set()
        for ops, ends in self._passed:
            op, end = int(ops[row]), int(ends[row])
            while op != end:
                passed.add(op)
                op = int(self._sources[self._start[op]])
        columns = self._tensors.items()
        tensors = {name: (int(each.ops[row]), int(each.ports[row])) for name, each in columns if each.ops[row] >= 0}
        attributes: dict[str, object] = {}
        for wildcard, name, ops in self._attributes:
            if ops[row] >= 0:
                value = self._candidates.attribute(name, int(ops[row]))
                attributes[wildcard] = None if value is None else plain_value(value)
        results = tuple(self._output(output, row) for output in self._matcher.pattern.outputs)
        return FoundMatch(numbers, tuple(sorted(passed - set(numbers))), tensors, attributes, results)

    def _output(self, output: Value, row: int) -> Tensor:
        port = output.port if isinstance(output, Variable | Node) else 0
        return int(self._ops[id(self._matcher.pattern.resolve(output))][row]), port

    # Goals, in the order of the search: a name stands for the first tensor that it meets

    def _value(self, value: Value, ops: Numbers, ports: Numbers, rows: Mask) -> None:
        """Match a value with what is read in some rows."""
        node = self._matcher.pattern.resolve(value)
        if isinstance(node, Variable):
            self._bind(node, ops, ports, rows)
            return
        if isinstance(value, Variable):
            self._require_type(value.tensor_type, ops, ports, rows)
        if isinstance(node, Alternatives):
            self._alternatives(node, ops, ports, rows)
            return
        ends = self._ends(node, value.port if isinstance(value, Variable | Node) else 0, ops, ports, rows)
        rows = rows & self.is_match
        if node.name:
            self._name(node.name, ops, ports, rows)
        if not (isinstance(node, Constant) or self._matcher.plan(node).is_source):
            self._passed.append((ops, np.where(rows, ends, ops)))
        bound = self._ops.get(id(node))
        if bound is not None:
            self._keep(rows & (bound >= 0), bound == ends)
            rows = rows & (bound < 0)
        if bound is None or rows.any():
            self._node(node, ends, rows)

    def _alternatives(self, value: Alternatives, ops: Numbers, ports: Numbers, rows: Mask) -> None:
        if value.name:
            self._bind(Variable(value.name), ops, ports, rows)
        masks = [self._candidates.can_be(choice) for choice in value.choices]
        fits = [np.ones(len(ops), bool) if mask is None else mask[ops] for mask in masks]
        count = np.sum(fits, axis=0)
        self._has_choice |= rows & (count > 1)
        self._keep(rows, count > 0)
        rows = rows & self.is_match
        for choice, fit in zip(value.choices, fits, strict=True):
            self._goals.append((choice, TensorColumn(ops, ports), rows & fit))
            rows = rows & ~fit

    def _ends(self, node: Node | Constant, port: int, ops: Numbers, ports: Numbers, rows: Mask) -> Numbers:
        """The op that is a node: the one that is read, or one behind Identity ops."""
        own, through = self._candidates.own(node), self._through
        if not (own & through.mask).any():
            ends = through.op[ops].astype(np.intp)
            self._keep(rows, own[ends] & (np.where(through.mask[ops], through.port[ops], ports) == port))
            return ends
        ends, count, on = ops, np.zeros(len(ops), np.intp), rows
        for _ in range(_MOST_PASSED):
            fits = on & own[ops] & (ports == port)
            ends, count = np.where(fits & (count == 0), ops, ends), count + fits
            on = on & through.mask[ops]
            if not on.any():
                break
            first = np.where(on, self._start[ops], 0)
            ops, ports = np.where(on, self._sources[first], ops), np.where(on, self._ports[first], ports)
        self._has_choice |= rows & ((count > 1) | on)
        self._keep(rows, count > 0)
        return ends

    def _node(self, node: Node | Constant, ops: Numbers, rows: Mask, *, is_output: bool = False) -> None:
        """Bind a node."""
        self._ops[id(node)] = np.where(rows, ops, self._ops.get(id(node), -1))
        if isinstance(node, Constant):
            self._require(ops, lambda op: self._candidates.is_constant(node, op), rows)
            self._require_type(node.tensor_type, ops, np.zeros_like(ops), rows)
            return
        if is_output and node.name:
            self._name(node.name, ops, np.zeros_like(ops), rows)
        if is_output or not self._matcher.plan(node).is_source:
            for other, others_ops in self._used.items():
                if other != id(node):
                    self._keep(rows, others_ops != ops)
            blocks = self._matcher.blocks
            if blocks is not None and not is_output:
                self._keep(rows, blocks[ops] == blocks[self._ops[id(self._matcher.root)]])
            self._used[id(node)] = self._ops[id(node)]
        for name, attribute in node.attributes:
            self._require_attribute(name, attribute, ops, rows)
        self._require_type(node.tensor_type, ops, np.full_like(ops, node.port), rows)
        if node.inputs is not None:
            self._inputs(self._matcher.plan(node), ops, rows)

    def _inputs(self, plan: NodePlan, ops: Numbers, rows: Mask) -> None:
        first, count = self._start[ops], self._start[ops + 1] - self._start[ops]
        self._keep(rows, count == len(plan.values) if plan.is_exact else count >= len(plan.values))
        rows = rows & self.is_match
        if plan.orders is not None:
            any_order = rows & self._matcher.is_commutative[ops]
            if len(plan.values) == 2 and np.array_equal(any_order, rows):
                self._in_either_order(plan, ops, rows)
                return
            self._leave(any_order)
            rows = rows & self.is_match
        slots = [first + k if k < plan.split else first + count - len(plan.values) + k for k in range(len(plan.values))]
        for value, slot in reversed(list(zip(plan.values, slots, strict=True))):
            if isinstance(value, Variable) and value.name not in self._matcher.pattern.definitions:
                self._bind(value, *self._read(slot, rows), rows)
            else:
                self._goals.append((value, self._read(slot, rows), rows))

    def _in_either_order(self, plan: NodePlan, ops: Numbers, rows: Mask) -> None:
        """Match the two inputs of a commutative op."""
        assert plan.orders is not None
        one, other = plan.orders
        first = self._start[ops]
        straight = np.ones(len(ops), bool)
        turned = np.full(len(ops), not plan.is_free)
        (left, left_port), (right, right_port) = self._read(first, rows), self._read(first + 1, rows)
        if not plan.is_free:
            for value, a, b in ((one, left, right), (other, right, left)):
                mask = self._candidates.can_be(value)
                if mask is not None:
                    straight &= mask[a]
                    turned &= mask[b]
            turned &= (left != right) | (left_port != right_port)
        self._has_choice |= rows & straight & turned
        self._keep(rows, straight | turned)
        turned &= ~straight
        rows = rows & self.is_match
        self._goals += [
            (other, self._read(first + 1 - turned, rows), rows),
            (one, self._read(first + turned, rows), rows),
        ]

    def _read(self, slots: Integers, rows: Mask) -> TensorColumn:
        """What is read at some slots; anything in other rows."""
        slots = np.where(rows, slots, 0)
        return TensorColumn(self._sources[slots].astype(np.intp), self._ports[slots].astype(np.intp))

    def _keep(self, rows: Mask, fits: Mask) -> None:
        """Of `rows` keep those that fit."""
        self.is_match &= fits | ~rows

    def _leave(self, rows: Mask) -> None:
        """Leave rows to the search."""
        self.is_undecided |= rows
        self.is_match &= ~rows

    # Conditions

    def _name(self, name: str, ops: Numbers, ports: Numbers, rows: Mask) -> TensorColumn:
        """What a name stands for: what is read, where it does not stand for a tensor yet."""
        column = self._tensors.get(name, TensorColumn(np.full_like(ops, -1), ports))
        rows = rows & (column.ops < 0)
        column = TensorColumn(np.where(rows, ops, column.ops), np.where(rows, ports, column.ports))
        self._tensors[name] = column
        return column

    def _bind(self, value: Variable, ops: Numbers, ports: Numbers, rows: Mask) -> None:
        self._require_type(value.tensor_type, ops, ports, rows)
        if not value.name:
            return
        bound = self._name(value.name, ops, ports, rows)
        for a, b in zip(self._source_of(*bound), self._source_of(ops, ports), strict=True):
            self._keep(rows, a == b)

    def _source_of(self, ops: Numbers, ports: Numbers) -> TensorColumn:
        """Tensors behind the Identity ops and reads that nothing orders."""
        through = self._through
        free = through.free[ops] & (ports == 0)
        return TensorColumn(np.where(free, through.op[ops], ops), np.where(free, through.port[ops], ports))

    def _require_attribute(self, name: str, attribute: Attribute, ops: Numbers, rows: Mask) -> None:
        def holds(op: int) -> bool:
            value = self._candidates.attribute(name, op)
            return value is not None and self._candidates.has_value(attribute, value)

        self._require(ops, holds, rows)
        if isinstance(attribute, Wildcard):
            self._attributes.append((attribute.name, name, np.where(rows, ops, -1)))

    def _require_type(self, tensor_type: TensorType, ops: Numbers, ports: Numbers, rows: Mask) -> None:
        if tensor_type == ANY:
            return

        def holds(tensor: int) -> bool:
            op, port = tensor >> _PORT_BITS, tensor & ((1 << _PORT_BITS) - 1)
            has_dtype = tensor_type.dtype in ("", self._candidates.dtype(op, port))
            return has_dtype and self._candidates.has_shape(tensor_type, op, port)

        self._require((ops.astype(np.int64) << _PORT_BITS) + ports, holds, rows)

    def _require(self, keys: Integers, holds: Callable[[int], bool], rows: Mask) -> None:
        """Keep the rows for whose number something holds; it is asked once for each number."""
        rows = rows & self.is_match
        numbers, inverse = np.unique(keys[rows], return_inverse=True)
        self.is_match[rows] = np.fromiter(map(holds, numbers.tolist()), bool, len(numbers))[inverse]

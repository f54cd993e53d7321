"""Matches found all at once, as arrays: for each node of a pattern one op for each candidate of the output.

A candidate leaves a choice where a commutative op can read its inputs in both orders. It is left undecided, for the
search of `matcher`. Patterns with several outputs, alternatives, control inputs, or nodes that may be Identity ops, and
graphs with loops of TensorFlow 1, are left to the search altogether. What is found is what the search finds first
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
from tfgraphwidget.graph.patterns.candidates import Candidates, Numbers, attribute_holds, plain_value
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
        if isinstance(value, Alternatives):
            return None
        if isinstance(value, Node):
            is_seen_through = value is not root and (candidates.own(value) & candidates.through.mask).any()
            if value.controls or is_seen_through:
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
    """The matches at some candidates, in their order.

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
        self._ops: dict[int, Numbers] = {}  # of each node by id
        self._used: dict[int, Numbers] = {}  # the same without sources
        self._tensors: dict[str, TensorColumn] = {}
        self._attributes: list[tuple[str, str, Numbers]] = []  # names of wildcard and attribute
        self._passed: list[tuple[Numbers, Numbers]] = []  # what is read, and the op behind what is seen through
        self._goals: list[tuple[Value, TensorColumn]] = []  # the last one comes first
        self._node(matcher.root, ops, is_output=True)
        while self._goals and self.is_match.any():
            value, column = self._goals.pop()
            self._value(value, *column)

    @property
    def rows(self) -> list[int]:
        """The rows that match or may match."""
        rows: list[int] = np.flatnonzero(self.is_match | self.is_undecided).tolist()
        return rows

    def make_match(self, row: int) -> FoundMatch:
        """The match of a row."""
        numbers = tuple(sorted({int(ops[row]) for ops in self._used.values()}))
        passed: set[int] = set()
        for ops, ends in self._passed:
            op, end = int(ops[row]), int(ends[row])
            while op != end:
                passed.add(op)
                op = int(self._sources[self._start[op]])
        tensors = {name: (int(column.ops[row]), int(column.ports[row])) for name, column in self._tensors.items()}
        attributes: dict[str, object] = {}
        for wildcard, name, ops in self._attributes:
            value = self._candidates.attribute(name, int(ops[row]))
            attributes[wildcard] = None if value is None else plain_value(value)
        results = tuple(self._output(output, row) for output in self._matcher.pattern.outputs)
        return FoundMatch(numbers, tuple(sorted(passed - set(numbers))), tensors, attributes, results)

    def _output(self, output: Value, row: int) -> Tensor:
        port = output.port if isinstance(output, Variable | Node) else 0
        return int(self._ops[id(self._matcher.pattern.resolve(output))][row]), port

    # Goals, in the order of the search: a name stands for the first tensor that it meets

    def _value(self, value: Value, ops: Numbers, ports: Numbers) -> None:
        """Match a value with what is read."""
        node = self._matcher.pattern.resolve(value)
        if isinstance(node, Variable):
            self._bind(node, ops, ports)
            return
        assert isinstance(node, Node | Constant)
        port = value.port if isinstance(value, Variable | Node) else 0
        if isinstance(value, Variable):
            self._require_type(value.tensor_type, ops, ports)
        through = self._through
        ends = through.op[ops].astype(np.intp)
        self.is_match &= np.where(through.mask[ops], through.port[ops], ports) == port
        self.is_match &= self._candidates.own(node)[ends]
        if node.name:
            self._tensors.setdefault(node.name, TensorColumn(ops, ports))
        if not (isinstance(node, Constant) or self._matcher.plan(node).is_source):
            self._passed.append((ops, ends))
        if id(node) in self._ops:
            self.is_match &= self._ops[id(node)] == ends
            return
        self._node(node, ends)

    def _node(self, node: Node | Constant, ops: Numbers, *, is_output: bool = False) -> None:
        """Bind a node."""
        self._ops[id(node)] = ops
        if isinstance(node, Constant):
            self._require(ops, lambda op: self._candidates.is_constant(node, op))
            self._require_type(node.tensor_type, ops, np.zeros_like(ops))
            return
        if is_output and node.name:
            self._tensors[node.name] = TensorColumn(ops, np.zeros_like(ops))
        if is_output or not self._matcher.plan(node).is_source:
            for other in self._used.values():
                self.is_match &= other != ops
            blocks = self._matcher.blocks
            if blocks is not None and not is_output:
                self.is_match &= blocks[ops] == blocks[self._ops[id(self._matcher.root)]]
            self._used[id(node)] = ops
        for name, attribute in node.attributes:
            self._require_attribute(name, attribute, ops)
        self._require_type(node.tensor_type, ops, np.full_like(ops, node.port))
        if node.inputs is not None:
            self._inputs(self._matcher.plan(node), ops)

    def _inputs(self, plan: NodePlan, ops: Numbers) -> None:
        first, count = self._start[ops], self._start[ops + 1] - self._start[ops]
        self.is_match &= count == len(plan.values) if plan.is_exact else count >= len(plan.values)
        if plan.orders is not None:
            any_order = self.is_match & self._matcher.is_commutative[ops]
            if len(plan.values) == 2 and np.array_equal(any_order, self.is_match):
                self._in_either_order(plan, ops)
                return
            self._leave(any_order)
        slots = [first + k if k < plan.split else first + count - len(plan.values) + k for k in range(len(plan.values))]
        for value, slot in reversed(list(zip(plan.values, slots, strict=True))):
            if isinstance(value, Variable) and value.name not in self._matcher.pattern.definitions:
                self._bind(value, *self._read(slot))
            else:
                self._goals.append((value, self._read(slot)))

    def _in_either_order(self, plan: NodePlan, ops: Numbers) -> None:
        """Match the two inputs of a commutative op; undecided are those that fit in both orders."""
        assert plan.orders is not None
        one, other = plan.orders
        first = self._start[ops]
        straight = np.ones(len(ops), bool)
        turned = np.full(len(ops), not plan.is_free)
        (left, left_port), (right, right_port) = self._read(first), self._read(first + 1)
        if not plan.is_free:
            for value, a, b in ((one, left, right), (other, right, left)):
                mask = self._candidates.can_be(value)
                if mask is not None:
                    straight &= mask[a]
                    turned &= mask[b]
            turned &= (left != right) | (left_port != right_port)
        self._leave(self.is_match & straight & turned)
        self.is_match &= straight | turned
        turned &= ~straight
        self._goals += [(other, self._read(first + 1 - turned)), (one, self._read(first + turned))]

    def _read(self, slots: Integers) -> TensorColumn:
        """What is read at some slots; anything where there is no match."""
        slots = np.where(self.is_match, slots, 0)
        return TensorColumn(self._sources[slots].astype(np.intp), self._ports[slots].astype(np.intp))

    def _leave(self, rows: Mask) -> None:
        """Leave rows to the search."""
        self.is_undecided |= rows
        self.is_match &= ~rows

    # Conditions

    def _bind(self, value: Variable, ops: Numbers, ports: Numbers) -> None:
        self._require_type(value.tensor_type, ops, ports)
        if not value.name:
            return
        bound = self._tensors.setdefault(value.name, TensorColumn(ops, ports))
        for a, b in zip(self._source_of(*bound), self._source_of(ops, ports), strict=True):
            self.is_match &= a == b

    def _source_of(self, ops: Numbers, ports: Numbers) -> TensorColumn:
        """Tensors behind the Identity ops and reads that nothing orders."""
        through = self._through
        free = through.free[ops] & (ports == 0)
        return TensorColumn(np.where(free, through.op[ops], ops), np.where(free, through.port[ops], ports))

    def _require_attribute(self, name: str, attribute: Attribute, ops: Numbers) -> None:
        def holds(op: int) -> bool:
            value = self._candidates.attribute(name, op)
            return value is not None and attribute_holds(attribute, value)

        self._require(ops, holds)
        if isinstance(attribute, Wildcard):
            self._attributes.append((attribute.name, name, ops))

    def _require_type(self, tensor_type: TensorType, ops: Numbers, ports: Numbers) -> None:
        if tensor_type == ANY:
            return

        def holds(tensor: int) -> bool:
            op, port = tensor >> _PORT_BITS, tensor & ((1 << _PORT_BITS) - 1)
            has_dtype = tensor_type.dtype in ("", self._candidates.dtype(op, port))
            return has_dtype and self._candidates.has_shape(tensor_type, op, port)

        self._require((ops.astype(np.int64) << _PORT_BITS) + ports, holds)

    def _require(self, keys: Integers, holds: Callable[[int], bool]) -> None:
        """Keep the rows for whose number something holds; it is asked once for each number."""
        numbers, rows = np.unique(keys[self.is_match], return_inverse=True)
        self.is_match[self.is_match] = np.fromiter(map(holds, numbers.tolist()), bool, len(numbers))[rows]

"""Matches found all at once, as arrays: for each node of a pattern one op for each candidate.

A candidate leaves a choice where a commutative op can consume its inputs in both orders, where
several alternatives can fit, or several ops of a chain of Identity ops. Then the first choice is
taken, as the search of `matcher` does, and the candidate is undecided if that does not fit.
Patterns with several outputs or control inputs, and graphs with loops of TensorFlow 1, are left to
the search altogether. What is found is what the search finds first
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
PORT_BITS = 24  # of the port in a number that represents a tensor; the op has the bits above
MAX_PASSED = 100  # Identity ops in a chain that are looked at; in a longer one, the search decides


class NodePlan(NamedTuple):
    """What matching needs of a node again and again.

    Attributes:
        is_source: See `Node.is_source`.
        values: Its inputs but for `...`.
        split: The number of inputs before `...`.
        is_exact: Whether there is no `...`.
        orders: The inputs in the order in which a commutative op tries them; None if all orders are
            the same.
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
    candidates: Candidates,
    root: Value,
    plan: Callable[[Node], NodePlan],
    blocks: dict[int, int] | None,
) -> ArrayMatcher | None:
    """Make a matcher of a pattern with one output; None where it or the graph needs the search.

    `plan` is what matching needs of a node, and `blocks` for each op the number of the loop or
    branch around it.
    """
    index, pattern = candidates.index, candidates.pattern
    has_loops = not NEXT.isdisjoint(index.kinds[0])
    if not isinstance(root, Node) or has_loops or not len(index.inputs.values):
        return None
    wildcards: list[str] = []
    for value in pattern.bottom_up:
        if isinstance(value, Node):
            if value.controls:
                return None
            attributes = [attribute for _, attribute in value.attributes]
            wildcards += [each.name for each in attributes if isinstance(each, Wildcard)]
    # What a wildcard has met, the search alone compares with what it meets again.
    if len(set(wildcards)) < len(wildcards):
        return None
    for value in walk(*pattern.statements):
        dtype = None if isinstance(value, Alternatives) else value.tensor_type.dtype
        if isinstance(dtype, Wildcard):
            return None
    return ArrayMatcher(candidates, root, plan, blocks)


class ArrayMatcher:
    """Matches one pattern at many candidates of its output."""

    def __init__(
        self,
        candidates: Candidates,
        root: Node,
        plan: Callable[[Node], NodePlan],
        blocks: dict[int, int] | None,
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
        self._matcher = matcher
        self._candidates = matcher.candidates
        self._through = matcher.candidates.through
        self._start = matcher.index.inputs.start
        self._sources = matcher.index.inputs.values
        self._ports = matcher.index.ports
        self.is_match = np.ones(len(ops), bool)
        self.is_undecided = np.zeros(len(ops), bool)
        self._has_choice = np.zeros(len(ops), bool)
        # Where an alternative is another one, there is -1 in place of the op.
        self._ops: dict[int, Numbers] = {}  # of each node by id
        self._used: dict[int, Numbers] = {}  # the same without sources
        self._tensors: dict[str, TensorColumn] = {}
        self._attributes: list[tuple[str, str, Numbers]] = []  # names of wildcard and attribute
        # What is consumed, and the op before what is seen through.
        self._passed: list[tuple[Numbers, Numbers]] = []
        # What is left to match, and in which rows; the last one comes first.
        self._goals: list[tuple[Value, TensorColumn, Mask]] = []
        self._node(matcher.root, ops, self.is_match.copy(), is_output=True)
        while self._goals and self.is_match.any():
            value, column, rows = self._goals.pop()
            rows = rows & self.is_match
            if rows.any():
                self._value(value, *column, rows)
        self.is_undecided |= self._has_choice & ~self.is_match

    @property
    def rows(self) -> list[int]:
        """The rows that match or may match."""
        rows: list[int] = np.flatnonzero(self.is_match | self.is_undecided).tolist()
        return rows

    def make_match(self, row: int) -> FoundMatch:
        """The match of a row."""
        used = {int(ops[row]) for ops in self._used.values()} - {-1}
        passed: set[int] = set()
        for ops, fitting_ops in self._passed:
            op, end = int(ops[row]), int(fitting_ops[row])
            while op != end:
                passed.add(op)
                op = int(self._sources[self._start[op]])
        tensors: dict[str, Tensor] = {}
        for name, column in self._tensors.items():
            if column.ops[row] >= 0:
                tensors[name] = int(column.ops[row]), int(column.ports[row])
        attributes: dict[str, object] = {}
        for wildcard, name, ops in self._attributes:
            if ops[row] >= 0:
                value = self._candidates.attribute(name, int(ops[row]))
                attributes[wildcard] = None if value is None else plain_value(value)
        results = tuple(self._output(output, row) for output in self._matcher.pattern.outputs)
        numbers = tuple(sorted(used))
        return FoundMatch(numbers, tuple(sorted(passed - used)), tensors, attributes, results)

    def _output(self, output: Value, row: int) -> Tensor:
        """The tensor of an output of the pattern."""
        port = output.port if isinstance(output, Variable | Node) else 0
        ops = self._ops[id(self._matcher.pattern.resolve(output))]
        return int(ops[row]), port

    # Goals, in the order of the search: a name represents the first tensor that it meets

    def _value(self, value: Value, ops: Numbers, ports: Numbers, rows: Mask) -> None:
        """Match a value with what is consumed in some rows."""
        node = self._matcher.pattern.resolve(value)
        if isinstance(node, Variable):
            self._bind(node, ops, ports, rows)
            return
        if isinstance(value, Variable):
            self._require_type(value.tensor_type, ops, ports, rows)
        if isinstance(node, Alternatives):
            self._alternatives(node, ops, ports, rows)
            return
        port = value.port if isinstance(value, Variable | Node) else 0
        fitting_ops = self._fitting_ops(node, port, ops, ports, rows)
        rows = rows & self.is_match
        if node.name:
            self._name(node.name, ops, ports, rows)
        if not (isinstance(node, Constant) or self._matcher.plan(node).is_source):
            self._passed.append((ops, np.where(rows, fitting_ops, ops)))
        bound = self._ops.get(id(node))
        if bound is not None:
            self._keep(rows & (bound >= 0), bound == fitting_ops)
            rows = rows & (bound < 0)
        if bound is None or rows.any():
            self._node(node, fitting_ops, rows)

    def _alternatives(self, value: Alternatives, ops: Numbers, ports: Numbers, rows: Mask) -> None:
        """Match the first alternative that can fit in each row."""
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

    def _fitting_ops(
        self, node: Node | Constant, port: int, ops: Numbers, ports: Numbers, rows: Mask
    ) -> Numbers:
        """The op that is a node: the one that is consumed, or one before Identity ops."""
        own, through = self._candidates.own(node), self._through
        if not (own & through.mask).any():
            # The node is not an Identity op: it is what is before all of them.
            fitting_ops = through.op[ops].astype(np.intp)
            end_ports = np.where(through.mask[ops], through.port[ops], ports)
            self._keep(rows, own[fitting_ops] & (end_ports == port))
            return fitting_ops
        fitting_ops = ops
        count = np.zeros(len(ops), np.intp)  # of the ops that the node can be
        continues = rows  # where the chain of Identity ops goes on
        for _ in range(MAX_PASSED):
            fits = continues & own[ops] & (ports == port)
            fitting_ops = np.where(fits & (count == 0), ops, fitting_ops)
            count = count + fits
            continues = continues & through.mask[ops]
            if not continues.any():
                break
            edge = np.where(continues, self._start[ops], 0)
            ops = np.where(continues, self._sources[edge], ops)
            ports = np.where(continues, self._ports[edge], ports)
        self._has_choice |= rows & ((count > 1) | continues)
        self._keep(rows, count > 0)
        return fitting_ops

    def _node(
        self, node: Node | Constant, ops: Numbers, rows: Mask, *, is_output: bool = False
    ) -> None:
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
        """Match the inputs of a node, later: the last one comes first on the stack of goals."""
        first = self._start[ops]
        count = self._start[ops + 1] - first
        wanted = len(plan.values)
        self._keep(rows, count == wanted if plan.is_exact else count >= wanted)
        rows = rows & self.is_match
        if plan.orders is not None:
            any_order = rows & self._matcher.is_commutative[ops]
            if wanted == 2 and np.array_equal(any_order, rows):
                self._in_either_order(plan, ops, rows)
                return
            self._leave(any_order)
            rows = rows & self.is_match
        for k in reversed(range(wanted)):
            value = plan.values[k]
            edges = first + k if k < plan.split else first + count - wanted + k
            column = self._tensors_at(edges, rows)
            if isinstance(value, Variable) and value.name not in self._matcher.pattern.definitions:
                self._bind(value, *column, rows)
            else:
                self._goals.append((value, column, rows))

    def _in_either_order(self, plan: NodePlan, ops: Numbers, rows: Mask) -> None:
        """Match the two inputs of a commutative op."""
        assert plan.orders is not None
        one, other = plan.orders
        first = self._start[ops]
        left = self._tensors_at(first, rows)
        right = self._tensors_at(first + 1, rows)
        fits = np.ones(len(ops), bool)
        fits_swapped = np.full(len(ops), not plan.is_free)
        if not plan.is_free:
            for value, column, swapped in ((one, left, right), (other, right, left)):
                mask = self._candidates.can_be(value)
                if mask is not None:
                    fits &= mask[column.ops]
                    fits_swapped &= mask[swapped.ops]
            # Of an op that consumes one tensor twice, both orders are the same.
            fits_swapped &= (left.ops != right.ops) | (left.ports != right.ports)
        self._has_choice |= rows & fits & fits_swapped
        self._keep(rows, fits | fits_swapped)
        is_swapped = fits_swapped & ~fits
        rows = rows & self.is_match
        self._goals += [
            (other, self._tensors_at(first + 1 - is_swapped, rows), rows),
            (one, self._tensors_at(first + is_swapped, rows), rows),
        ]

    def _tensors_at(self, edges: Integers, rows: Mask) -> TensorColumn:
        """What is consumed by some edges; anything in other rows."""
        edges = np.where(rows, edges, 0)
        ops, ports = self._sources[edges], self._ports[edges]
        return TensorColumn(ops.astype(np.intp), ports.astype(np.intp))

    def _keep(self, rows: Mask, fits: Mask) -> None:
        """Of `rows` keep those that fit."""
        self.is_match &= fits | ~rows

    def _leave(self, rows: Mask) -> None:
        """Leave rows to the search."""
        self.is_undecided |= rows
        self.is_match &= ~rows

    # Conditions

    def _name(self, name: str, ops: Numbers, ports: Numbers, rows: Mask) -> TensorColumn:
        """What a name represents: what is consumed, where it does not represent a tensor yet."""
        earlier = self._tensors.get(name, TensorColumn(np.full_like(ops, -1), ports))
        is_new = rows & (earlier.ops < 0)
        new_ops = np.where(is_new, ops, earlier.ops)
        column = TensorColumn(new_ops, np.where(is_new, ports, earlier.ports))
        self._tensors[name] = column
        return column

    def _bind(self, value: Variable, ops: Numbers, ports: Numbers, rows: Mask) -> None:
        """Let a variable represent what is consumed; drop the rows where it is another tensor."""
        self._require_type(value.tensor_type, ops, ports, rows)
        if not value.name:
            return
        bound = self._name(value.name, ops, ports, rows)
        for a, b in zip(self._source_of(*bound), self._source_of(ops, ports), strict=True):
            self._keep(rows, a == b)

    def _source_of(self, ops: Numbers, ports: Numbers) -> TensorColumn:
        """The tensors before the Identity ops and reads that nothing orders."""
        through = self._through
        is_free = through.free[ops] & (ports == 0)
        source_ops = np.where(is_free, through.op[ops], ops)
        return TensorColumn(source_ops, np.where(is_free, through.port[ops], ports))

    def _require_attribute(self, name: str, attribute: Attribute, ops: Numbers, rows: Mask) -> None:
        """Keep the rows whose op has an attribute; a wildcard notes it."""

        def holds(op: int) -> bool:
            value = self._candidates.attribute(name, op)
            return value is not None and self._candidates.has_value(attribute, value)

        self._require(ops, holds, rows)
        if isinstance(attribute, Wildcard):
            self._attributes.append((attribute.name, name, np.where(rows, ops, -1)))

    def _require_type(
        self, tensor_type: TensorType, ops: Numbers, ports: Numbers, rows: Mask
    ) -> None:
        """Keep the rows whose tensor has a dtype and a shape."""
        if tensor_type == ANY:
            return

        def holds(tensor: int) -> bool:
            op = tensor >> PORT_BITS
            port = tensor & ((1 << PORT_BITS) - 1)
            has_dtype = tensor_type.dtype in ("", self._candidates.dtype(op, port))
            return has_dtype and self._candidates.has_shape(tensor_type, op, port)

        self._require((ops.astype(np.int64) << PORT_BITS) + ports, holds, rows)

    def _require(self, keys: Integers, holds: Callable[[int], bool], rows: Mask) -> None:
        """Keep the rows for whose key something holds; it is called once for each key."""
        rows = rows & self.is_match
        distinct, inverse = np.unique(keys[rows], return_inverse=True)
        fits = np.fromiter(map(holds, distinct.tolist()), bool, len(distinct))
        self.is_match[rows] = fits[inverse]

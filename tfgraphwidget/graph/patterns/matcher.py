"""The matcher: where in a graph a pattern fits.

First each op of the pattern gets a mask of the graph's ops that can be it, from its type, its number of inputs and the
masks of what it reads: array operations, from constants to outputs. Then the output with the fewest candidates is the
anchor, and at each candidate a search binds ops and tensors from there, taking back what does not fit (inputs of
commutative ops in another order, another alternative, an op behind an Identity). The search is cut at a number of
steps: there are patterns for which no matcher is fast.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from types import EllipsisType
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import op_predicates
from tfgraphwidget.graph.control_flow import control_flow
from tfgraphwidget.graph.edges import Mask, Rows
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op import attr_value
from tfgraphwidget.graph.op_effects import side_effects
from tfgraphwidget.graph.op_types import COMMUTATIVE, V1_CONTROL_FLOW
from tfgraphwidget.graph.patterns.constants import constant_value, is_near
from tfgraphwidget.graph.patterns.definition import Pattern, names_of
from tfgraphwidget.graph.patterns.match import (
    FoundMatch,
    Match,
    Matches,
    NearMatch,
    Tensor,
    topological_rank,
    why_not_replaceable,
)
from tfgraphwidget.graph.patterns.printing import attribute_text, literal_text, print_value
from tfgraphwidget.graph.patterns.seen_through import SEEN_THROUGH, seen_through
from tfgraphwidget.graph.patterns.structure import (
    ANY,
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
    children,
    invalid,
    walk,
)
from tfgraphwidget.graph.stateful_resources import of_type
from tfgraphwidget.graph.tensors import matches_shape, shape_text
from tfgraphwidget.naming import did_you_mean
from tfgraphwidget.progress import tell
from tfgraphwidget.tf_types import AttrValue

_Key = TypeVar("_Key")
_Bound = TypeVar("_Bound")

Numbers = npt.NDArray[np.intp]

_MOST_STEPS = 1_000_000  # or, in a large graph, so many for each op that can be the output:
_STEPS_PER_CANDIDATE = 100
_MOST_NEAR = 20
_MOST_NEAR_CANDIDATES = 2_000


def find_matches(
    index: GraphIndex,
    pattern: Pattern,
    *,
    within: Mask | None = None,
    limit: int | None = None,
    external: Iterable[str] = (),
    effects: bool = False,
    function: str = "",
    op_types: Callable[[], Iterable[str]] = tuple,
    expression: str = "",
) -> Matches:
    """Find where a pattern fits.

    Args:
        index: The graph.
        pattern: The pattern.
        within: The ops that matches may consist of, one bool each; None for all. Constants, variables and placeholders
            may lie outside.
        limit: How many matches are found at most; None for all.
        external: The tensors that are named outside of the graph, for `Match.why`.
        effects: Whether ops with side effects can be replaced.
        function: The function whose body the graph is; "" for a graph.
        op_types: Returns all op types, to propose some in place of an unknown one.
        expression: The Python that finds them.

    Returns:
        The matches, in topological order of their first outputs.

    Raises:
        InvalidArgument: No op type of a name exists, or no op type has an attribute that is named.
        GraphEditError: The search takes too many steps.
    """
    check_types(pattern, index, op_types)
    matcher = _Matcher(index, pattern, within)
    matches, is_cut = matcher.all(limit)
    named = frozenset(external)

    def find_why(match: Match) -> str:
        has_effects = () if effects else side_effects(index, match.numbers)
        frames = (op for op in match.numbers if index.types[op] in V1_CONTROL_FLOW)
        return why_not_replaceable(index, match, named, frozenset(has_effects), frozenset(frames))

    judged = tuple(Match(pattern, index, *match, find_why=find_why, function=function) for match in matches)

    def find_near() -> tuple[NearMatch, ...]:
        return matcher.near(frozenset(op for match in matches for op in match.numbers))

    return Matches(pattern, judged, index, expression, is_cut, find_near)


def check_types(pattern: Pattern, index: GraphIndex, op_types: Callable[[], Iterable[str]] = tuple) -> None:
    """Raise for an op type that does not exist, or an attribute that no op of a node's types has.

    Args:
        pattern: The pattern.
        index: The graph, whose types exist in any case.
        op_types: Returns all op types.

    Raises:
        InvalidArgument: See there.
    """
    present = {*index.kinds[0], *index.functions, *GROUPS, "*"}
    for node in (value for statement in pattern.statements for value in walk(statement)):
        if not isinstance(node, Node):
            continue
        for kind in node.types:
            if kind not in present and index.typing.definition(kind) is None:
                near = did_you_mean(kind, dict.fromkeys([*index.kinds[0], *op_types()]))
                raise invalid(f"There is no op type {kind!r}.{near or ' Op types are written as in tf.raw_ops.'}")
        _check_attributes(node, index)


def _check_attributes(node: Node, index: GraphIndex) -> None:
    definitions = [index.typing.definition(kind) for kind in node.op_types]
    if not definitions or None in definitions:
        return
    names = {attr.name for definition in definitions if definition is not None for attr in definition.attr}
    for name, _ in node.attributes:
        if name not in names and name[:1] != "_":
            raise invalid(f"{'|'.join(node.types)} has no attribute {name!r}.{did_you_mean(name, names)}")


class _Goal(NamedTuple):
    """What is left to match: a value with a tensor, inputs of a commutative op, or another output; then `next`."""

    value: Value | None
    op: int
    port: int
    next: _Goal | None
    inputs: tuple[Value, ...] = ()
    slots: tuple[int, ...] = ()
    root: int = -1


_NO_GOAL = _Goal(None, -1, -1, None)
"""What stands for the end of the goals of a choice."""


class _Plan(NamedTuple):
    """What the search needs of a node again and again.

    Attributes:
        is_source: See `Node.is_source`.
        values: Its inputs but for `...`.
        split: The number of inputs before `...`.
        is_exact: Whether there is no `...`.
        orders: The inputs in the order in which a commutative op tries them; None if all orders are the same.
        has_conditions: Whether it has attributes, a dtype or a shape.
    """

    is_source: bool
    values: tuple[Value, ...]
    split: int
    is_exact: bool
    orders: tuple[Value, ...] | None
    has_conditions: bool


class _Matcher:
    """Matches one pattern in one index. What is bound so far is in `ops`, `tensors` and `attributes`."""

    def __init__(self, index: GraphIndex, pattern: Pattern, within: Mask | None) -> None:
        self.index, self.pattern, self.within = index, pattern, within
        self.through = seen_through(index)
        self.start, self.sources, self.ports = index.inputs.start, index.inputs.values, index.ports
        self.steps, self.most_steps = 0, _MOST_STEPS
        self.matched: set[tuple[int, ...]] = set()  # the ops of the matches so far
        self._definitions = pattern.definitions
        self._own: dict[int, Mask] = {}
        self._can_be: dict[int, Mask | None] = {}
        self._constants: dict[tuple[int, int], bool] = {}
        self._readers: dict[str, op_predicates.AttributeValues] = {}
        self._uses = _count_uses(pattern)
        self._blocks = _blocks(index)
        self._input_rows, self._control_rows = index.input_lists, index.control_lists
        self._port_rows = Rows(index.ports.tolist(), index.inputs.start.tolist())
        self._plans: dict[int, _Plan] = {}
        self._differences: list[str] | None = None
        self._spare = 0
        self._reset()
        for value in pattern.bottom_up:
            self.can_be(value)
        self.outputs = pattern.outputs
        nodes = [pattern.resolve(output) for output in self.outputs]
        counts = [self._count(node) for node in nodes]
        first = int(np.argmin(counts))
        self.roots = _connected_order(pattern, nodes, first)

    def _reset(self) -> None:
        self.ops: dict[int, int] = {}  # of each node by id its op
        self.used: dict[int, int] = {}  # of each op its node, sources left out
        self.tensors: dict[str, Tensor] = {}
        self.attributes: dict[str, object] = {}
        self.passed: set[int] = set()
        self.trail: list[tuple[dict[Any, Any] | set[int], Any]] = []

    # Masks

    def _count(self, value: Value) -> int:
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
        """The ops that can be a node themselves."""
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
        mask = np.zeros(len(index), bool)
        mask[ops] = True
        return mask

    def _stateful(self) -> Mask:
        def is_stateful(kind: str) -> bool:
            definition = self.index.typing.definition(kind)
            return kind in V1_CONTROL_FLOW or (definition is not None and bool(definition.is_stateful))

        return of_type(self.index, is_stateful)

    def _with_inputs(self, ops: Numbers, node: Node, inputs: tuple[Value | EllipsisType, ...]) -> Numbers:
        counts = self.start[ops + 1] - self.start[ops]
        rest = inputs.index(...) if ... in inputs else -1
        ops = ops[counts == len(inputs)] if rest < 0 else ops[counts >= len(inputs) - 1]
        values = [each for each in inputs if not isinstance(each, EllipsisType)]
        masks = [self.can_be(each) for each in values]
        fits = np.ones(len(ops), bool)
        for k, mask in enumerate(masks):
            if mask is not None:
                before = rest < 0 or k < rest
                slots = self.start[ops] + k if before else self.start[ops + 1] - (len(values) - k)
                fits &= mask[self.sources[slots]]
        if not node.op_types or not node.op_types.isdisjoint(COMMUTATIVE):
            any_order = of_type(self.index, COMMUTATIVE.__contains__)[ops]
            if len(inputs) == 2 and rest < 0:  # of more inputs the search tries all orders
                second = np.ones(len(ops), bool)
                for k, mask in enumerate(masks):
                    if mask is not None:
                        second &= mask[self.sources[self.start[ops] + 1 - k]]
                any_order &= second
            fits |= any_order
        return ops[fits]

    # The search

    def all(self, limit: int | None) -> tuple[list[FoundMatch], bool]:
        """All matches, and whether the limit has cut them."""
        matches: list[FoundMatch] = []
        rank = topological_rank(self.index)
        root = self.roots[0]
        mask = self.own(root) if isinstance(root, Node | Constant) else self.can_be(root)
        candidates = range(len(self.index)) if mask is None else np.flatnonzero(mask).tolist()
        self.most_steps = max(_MOST_STEPS, _STEPS_PER_CANDIDATE * len(candidates))
        if not isinstance(rank, range):
            candidates = sorted(candidates, key=rank.__getitem__)
        for number, op in enumerate(candidates):
            if not number % 1024:
                tell("Matching the pattern", number, len(candidates))
            # An output binds all that it needs; further outputs may be several ops for one anchor.
            while (match := self._match_at(op)) is not None and match.numbers not in self.matched:
                if limit is not None and len(matches) >= limit:
                    return matches, True
                self.matched.add(match.numbers)
                matches.append(match)
                if len(self.roots) == 1:
                    break
        if len(self.roots) > 1:
            matches.sort(key=lambda match: (rank[match.results[0][0]], match.numbers))
        return matches, False

    def _match_at(self, op: int) -> FoundMatch | None:
        self._reset()
        goal = None
        for k in reversed(range(1, len(self.roots))):
            goal = _Goal(None, 0, 0, goal, root=k)
        if not self._solve(_Goal(self.roots[0], op, -1, goal)):
            return None
        return self._result()

    def _result(self) -> FoundMatch:
        numbers = tuple(sorted(self.used))
        results = tuple(self._output(output) for output in self.outputs)
        return FoundMatch(numbers, tuple(sorted(self.passed - set(numbers))), self.tensors, self.attributes, results)

    def _output(self, output: Value) -> Tensor:
        """The tensor of an output. Alternatives are the op of the choice that fits."""
        port = output.port if isinstance(output, Variable | Node) else 0
        value = self.pattern.resolve(output)
        while isinstance(value, Alternatives):
            value = next(c for c in map(self.pattern.resolve, value.choices) if self._is_bound(c))
            port = value.port if isinstance(value, Node) else 0
        return self.ops[id(value)], port

    def _is_bound(self, value: Value) -> bool:
        if isinstance(value, Alternatives):
            return any(self._is_bound(self.pattern.resolve(choice)) for choice in value.choices)
        return id(value) in self.ops

    def _step(self) -> None:
        self.steps += 1
        if self.steps > self.most_steps:
            raise GraphEditError(
                f"Matching {str(self.pattern)[:80]!r} takes more than {self.most_steps:,} steps on this graph; name "
                "types or attributes where it has any tensor or any op, or search a part: within=editor.scope('…')."
            )

    def _undo(self, length: int) -> None:
        while len(self.trail) > length:
            holder, key = self.trail.pop()
            if isinstance(holder, set):
                holder.discard(key)
            else:
                del holder[key]

    def _bind(self, holder: dict[_Key, _Bound], key: _Key, value: _Bound) -> None:
        holder[key] = value
        self.trail.append((holder, key))

    def _solve(self, goal: _Goal | None) -> bool:
        """Reach a goal and all behind it. What a choice has bound is taken back before the next one is tried."""
        choices: list[tuple[Iterator[_Goal | None], int, int, int]] = []
        while True:
            outcome = self._advance(goal)
            if outcome is True:
                return True
            if outcome is not False:
                choices.append((outcome, len(self.trail), self._spare, len(self._differences or ())))
            while choices:
                goals, length, self._spare, noted = choices[-1]
                self._undo(length)
                if self._differences is not None:
                    del self._differences[noted:]
                goal = next(goals, _NO_GOAL)
                if goal is not _NO_GOAL:
                    break
                choices.pop()
            else:
                return False

    def _advance(self, goal: _Goal | None) -> bool | Iterator[_Goal | None]:
        """Go on from a goal: to the end, to where nothing fits, or to a choice, as the goals to try one by one."""
        while goal is not None:
            self._step()
            if goal.root >= 0:
                return self._other_root(goal)
            if goal.value is None:
                return self._orders(goal)
            value = goal.value if goal.port < 0 else self.pattern.resolve(goal.value)
            if isinstance(value, Alternatives):
                return iter([goal._replace(value=choice) for choice in value.choices])
            if isinstance(value, Variable):
                if not self._bind_tensor(value, goal.op, goal.port):
                    return False
                goal = goal.next
                continue
            ends = self._ends(value, goal)
            if len(ends) != 1:
                return self._node_goals(value, goal, ends)
            following = self._node_goal(value, goal, *ends[0])
            if following is False:
                return False
            goal = following
        return len(self.roots) == 1 or tuple(sorted(self.used)) not in self.matched

    def _ends(self, value: Node | Constant, goal: _Goal) -> list[tuple[int, int, tuple[int, ...]]]:
        """The ops that a node can be for a tensor, with the ops that are seen through up to each."""
        own, op, at = self.own(value), goal.op, goal.port
        named = goal.value
        port = named.port if isinstance(named, Variable | Node) else 0
        if isinstance(named, Variable) and at >= 0 and not self._is_typed(named.tensor_type, op, at):
            return []
        if at < 0:  # an output: the op itself
            return [(op, -1, ())] if own[op] or self._differences is not None else []
        ends: list[tuple[int, int, tuple[int, ...]]] = []
        through: list[int] = []
        mask = self.through.mask
        while True:
            if own[op] and at == port:
                ends.append((op, at, tuple(through)))
            if not mask[op] or len(through) > len(self.index):
                break
            through.append(op)
            op, at = self._input_rows[op][0], self._port_rows[op][0]
        if not ends and self._differences is not None and self._spare and at == port:
            ends.append((op, at, tuple(through)))
        return ends

    def _node_goals(
        self, value: Node | Constant, goal: _Goal, ends: list[tuple[int, int, tuple[int, ...]]]
    ) -> Iterator[_Goal | None]:
        for end in ends:
            length = len(self.trail)
            following = self._node_goal(value, goal, *end)
            if following is False:
                self._undo(length)
            else:
                yield following

    def _node_goal(
        self, value: Node | Constant, goal: _Goal, op: int, port: int, through: tuple[int, ...]
    ) -> _Goal | Literal[False] | None:
        """Bind a node to an op: the goals that follow, or False if it does not fit."""
        bound = self.ops.get(id(value))
        if value.name and value.name not in self.tensors:
            self._bind(self.tensors, value.name, (op, 0) if port < 0 else (goal.op, goal.port))
        is_source = isinstance(value, Constant) or self._plan(value).is_source
        if bound is not None:
            if bound != op:
                return False
            self._pass(through, is_source=is_source)
            return goal.next
        is_output = port < 0
        if not is_source or is_output:
            if op in self.used or not self._is_in_frame(op):
                return False
            self._bind(self.used, op, id(value))
        self._bind(self.ops, id(value), op)
        self._pass(through, is_source=is_source)
        if isinstance(value, Constant):
            if not self._is_constant(value, op) and not self._differ(self._constant_difference, value, op):
                return False
            return goal.next if self._is_typed(value.tensor_type, op, 0) else False
        return self._inputs_goal(value, goal, op)

    def _pass(self, through: tuple[int, ...], *, is_source: bool) -> None:
        """Note the ops between two ops of a match; the reads of constants and variables stay where they are."""
        for op in through if not is_source else ():
            if op not in self.passed:
                self.passed.add(op)
                self.trail.append((self.passed, op))

    def _inputs_goal(self, node: Node, goal: _Goal, op: int) -> _Goal | Literal[False] | None:
        plan = self._plan(node)
        if self._differences is not None and not self._has_type(node, op):
            text = f"{self.index.names[op]!r} is {self.index.types[op]} where the pattern has {'|'.join(node.types)}"
            if not self._differ(lambda: text):
                return False
        if plan.has_conditions and not (
            self._has_attributes(node, op) and self._is_typed(node.tensor_type, op, node.port)
        ):
            return False
        following = goal.next
        if node.controls:
            following = self._control_goals(node, op, following)
        if node.inputs is None:
            return following
        row, count = self._input_rows[op], len(plan.values)
        if count > len(row) or (plan.is_exact and count != len(row)):
            text = f"{self.index.names[op]!r} has {len(row)} inputs where the pattern has {count}"
            # Inputs that are not compared.
            return following if self._differ(lambda: text) else False
        if plan.orders is not None and self.index.types[op] in COMMUTATIVE:
            return _Goal(None, op, 0, following, plan.orders, tuple(range(len(row))))
        return self._slot_goals(plan, op, following)

    def _slot_goals(self, plan: _Plan, op: int, following: _Goal | None) -> _Goal | Literal[False] | None:
        """The goals of inputs in their order; False if one of them does not fit."""
        row, ports, count = self._input_rows[op], self._port_rows[op], len(plan.values)
        shift = len(row) - count
        for k in range(count - 1, -1, -1):
            value, slot = plan.values[k], k if k < plan.split else k + shift
            if value.__class__ is Variable and value.name not in self._definitions:
                if not self._bind_tensor(value, row[slot], ports[slot]):
                    return False
            else:
                following = _Goal(value, row[slot], ports[slot], following)
        return following

    def _plan(self, node: Node) -> _Plan:
        """What of a node does not depend on the op."""
        plan = self._plans.get(id(node))
        if plan is None:
            inputs = node.inputs or ()
            values = tuple(each for each in inputs if not isinstance(each, EllipsisType))
            is_exact = ... not in inputs
            split = len(values) if is_exact else inputs.index(...)
            orders = None if is_exact and _are_alike(values) else tuple(sorted(values, key=self._is_free))
            has_conditions = bool(node.attributes) or node.tensor_type != ANY
            plan = _Plan(node.is_source, values, split, is_exact, orders, has_conditions)
            self._plans[id(node)] = plan
        return plan

    def _control_goals(self, node: Node, op: int, following: _Goal | None) -> _Goal | None:
        """The control inputs as those of an op whose inputs may stand in any order."""
        return _Goal(None, op, -1, following, node.controls, tuple(range(len(self._control_rows[op]))))

    def _is_free(self, value: Value) -> bool:
        """Whether a value is any tensor that nothing else of the pattern speaks of."""
        return isinstance(value, Variable) and value.tensor_type == ANY and self._uses.get(value.name, 1) < 2

    def _orders(self, goal: _Goal) -> Iterator[_Goal | None]:
        """The goals of a commutative op: its first input that is left at each of the slots that are left."""
        if not goal.inputs:
            yield goal.next
            return
        value, rest = goal.inputs[0], goal.inputs[1:]
        mask = None if isinstance(value, Variable) and self._differences is None else self.can_be(value)
        is_control = goal.port < 0
        row = self._control_rows[goal.op] if is_control else self._input_rows[goal.op]
        ports = [] if is_control else self._port_rows[goal.op]
        is_free = self._is_free(value)
        for slot in goal.slots:
            op, port = row[slot], 0 if is_control else ports[slot]
            if mask is not None and not mask[op] and self._differences is None:
                continue
            left = tuple(each for each in goal.slots if each != slot)
            yield _Goal(value, op, port, goal._replace(inputs=rest, slots=left))
            if is_free:
                return

    def _other_root(self, goal: _Goal) -> Iterator[_Goal | None]:
        """The goals of one more output: each op that can be it, found from what it shares with what is bound."""
        root = self.roots[goal.root]
        if id(root) in self.ops:
            yield goal.next
            return
        for op in self._reached_from_below(root):
            yield _Goal(root, op, -1, goal.next)

    def _reached_from_below(self, root: Value) -> list[int]:
        """The ops that can be an output, upward from the ops and tensors that are bound already."""
        levels: dict[int, set[int] | None] = {}

        def reach(value: Value) -> set[int] | None:
            value = self.pattern.resolve(value)
            if id(value) not in levels:
                levels[id(value)] = None  # until it is known
                levels[id(value)] = find(value)
            return levels[id(value)]

        def find(value: Value) -> set[int] | None:
            if id(value) in self.ops:
                return {self.ops[id(value)]}
            if value.name and value.name in self.tensors:
                op = self.tensors[value.name][0]
                return {op, int(self.through.op[op])}
            if isinstance(value, Alternatives):
                choices = [reach(choice) for choice in value.choices]
                levels_of_choices = [ops for ops in choices if ops is not None]
                return None if None in choices else set[int]().union(*levels_of_choices)
            for child in children(value):
                ops = reach(child)
                if ops is not None:
                    is_control = isinstance(value, Node) and any(child is control for control in value.controls)
                    mask = self.can_be(value)
                    return {op for op in self._readers_of(ops, is_control=is_control) if mask is None or mask[op]}
            return None

        return sorted(reach(root) or ())

    def _readers_of(self, ops: set[int], *, is_control: bool = False) -> set[int]:
        """The ops that read, or wait for, some ops, directly or through Identity ops."""
        behind, stack = set(ops), list(ops)
        while stack:
            for op in self.index.consumer_lists[stack.pop()]:
                if op not in behind and self.through.mask[op]:
                    behind.add(op)
                    stack.append(op)
        rows = self.index.waiting_lists if is_control else self.index.consumer_lists
        return {reader for op in behind for reader in rows[op]}

    # Conditions

    def _bind_tensor(self, value: Variable, op: int, port: int) -> bool:
        if not self._is_typed(value.tensor_type, op, port):
            return False
        if not value.name:
            return True
        bound = self.tensors.get(value.name)
        if bound is None:
            self._bind(self.tensors, value.name, (op, port))
            return True
        if self._source_of(*bound) == self._source_of(op, port):
            return True
        name = self.index.names[op]
        return self._differ(lambda: f"{name!r} is read where the pattern has {value.name} a second time")

    def _source_of(self, op: int, port: int) -> Tensor:
        """A tensor behind the Identity ops and reads that nothing orders."""
        return (
            (int(self.through.op[op]), int(self.through.port[op]))
            if self.through.free[op] and port == 0
            else (op, port)
        )

    def _is_in_frame(self, op: int) -> bool:
        """Whether an op lies in the loop or conditional in which the ops that are bound lie."""
        if self._blocks is None or not self.used:
            return True
        return self._blocks.get(op, -1) == self._blocks.get(next(iter(self.used)), -1)

    def _is_constant(self, value: Constant, op: int) -> bool:
        key = id(value), op
        if key not in self._constants:
            self._constants[key] = is_near(constant_value(self.index, op), value.value, value.tolerance)
        return self._constants[key]

    def _constant_difference(self, value: Constant, op: int) -> str:
        name, array = self.index.names[op], constant_value(self.index, op)
        text = "no constant" if array is None else str(array.tolist()) if array.size < 6 else f"of shape {array.shape}"
        return f"{name!r} is {text} where the pattern has {literal_text(value.value)}"

    def _has_type(self, node: Node, op: int) -> bool:
        return not node.op_types or self.index.types[op] in node.op_types

    def _has_attributes(self, node: Node, op: int) -> bool:
        for name, attribute in node.attributes:
            if not self._has_attribute(name, attribute, op):
                text = f"{self.index.names[op]!r} does not have {attribute_text(name, attribute)}"
                if not self._differ(lambda text=text: text):
                    return False
        return True

    def _has_attribute(self, name: str, attribute: Attribute, op: int) -> bool:
        reader = self._readers.get(name)
        if reader is None:
            reader = self._readers[name] = op_predicates.AttributeValues(self.index, name)
        value = reader.value(op)
        if value is None:
            return False
        if isinstance(attribute, Wildcard):
            return self._unify(attribute.name, plain_value(value))
        return attribute_holds(attribute, value)

    def _unify(self, name: str, value: object) -> bool:
        if name not in self.attributes:
            self._bind(self.attributes, name, value)
            return True
        return bool(self.attributes[name] == value)

    def _is_typed(self, tensor_type: TensorType, op: int, port: int) -> bool:
        if tensor_type is ANY or tensor_type == ANY:
            return True
        dtypes = self.index.dtypes(op)
        dtype = dtypes[port].removesuffix("_ref") if port < len(dtypes) else ""
        name = f"{self.index.names[op]}:{port}"
        is_wildcard = isinstance(tensor_type.dtype, Wildcard)
        fits = (
            self._unify(tensor_type.dtype.name, dtype)
            if isinstance(tensor_type.dtype, Wildcard)
            else tensor_type.dtype in ("", dtype)
        )
        expected = "another dtype" if is_wildcard else tensor_type.dtype
        if not fits and not self._differ(lambda: f"{name!r} is {dtype} where the pattern has {expected}"):
            return False
        if tensor_type.shape == "*":
            return True
        shape = self.index.shape(op, port)
        if matches_shape(shape, tensor_type.shape):
            return True
        return self._differ(lambda: f"{name!r} has the shape {shape_text(shape)}")

    # What almost fits

    def _differ(self, describe: Callable[..., str], *arguments: object) -> bool:
        """Whether a difference is passed over: one, in a search for what almost fits."""
        if self._differences is None or not self._spare:
            return False
        self._spare -= 1
        self._differences.append(describe(*arguments))
        return True

    def near(self, matched: frozenset[int]) -> tuple[NearMatch, ...]:
        """Where all but one thing fits, in graph order; ops that matches have are not candidates."""
        near: list[NearMatch] = []
        self.steps = 0
        try:
            for op in self._near_candidates(matched):
                self._reset()
                self._spare, self._differences = 1, []
                if self._solve(_Goal(self.roots[0], op, -1, None)) and self._differences and len(self.used) > 1:
                    ops = tuple(self.index.names[number] for number in sorted(self.used))
                    near.append(NearMatch(ops, self._differences[0]))
                if len(near) == _MOST_NEAR:
                    break
        except GraphEditError:  # too many steps: what there is so far
            pass
        finally:
            self._differences = None
        return tuple(near)

    def _near_candidates(self, matched: frozenset[int]) -> list[int]:
        """The ops of the output's types, then those that read what can be its inputs."""
        root = self.roots[0]
        if not isinstance(root, Node):
            return []
        types = root.op_types
        same = np.flatnonzero(of_type(self.index, types.__contains__)).tolist() if types else []
        readers: set[int] = set()
        for child in children(root):
            mask = self.can_be(child)
            definite = isinstance(self.pattern.resolve(child), Node)
            if mask is not None and definite and np.count_nonzero(mask) <= _MOST_NEAR_CANDIDATES:
                readers |= self._readers_of(set(np.flatnonzero(mask).tolist()))
        candidates = [*same[:_MOST_NEAR_CANDIDATES], *sorted(readers - set(same))]
        return [op for op in candidates if op not in matched][: 2 * _MOST_NEAR_CANDIDATES]


def _count_uses(pattern: Pattern) -> dict[str, int]:
    uses: dict[str, int] = {}
    for statement in pattern.statements:
        for value in walk(statement):
            if value.name and not (isinstance(value, Variable) and value is statement):
                uses[value.name] = uses.get(value.name, 0) + 1
    return uses


def _are_alike(values: tuple[Value, ...]) -> bool:
    """Whether the order of values makes no difference: all are the same, and name nothing."""
    return len(set(map(print_value, values))) == 1 and not any(value.name for each in values for value in walk(each))


def _connected_order(pattern: Pattern, nodes: list[Value], first: int) -> list[Value]:
    """Outputs in an order in which each shares a name with those before; `first` is the first one."""
    distinct = list({id(node): node for node in nodes}.values())
    anchor = nodes[first]
    order, rest = [anchor], [node for node in distinct if node is not anchor]
    reached = names_of(pattern, anchor)
    while rest:
        node = next(each for each in rest if names_of(pattern, each) & reached)
        order.append(node)
        reached |= names_of(pattern, node)
        rest.remove(node)
    return order


def _blocks(index: GraphIndex) -> dict[int, int] | None:
    """Op -> the number of the innermost loop, or branch of a conditional, around it; None in a graph without any."""
    if V1_CONTROL_FLOW.isdisjoint(index.kinds[0]):
        return None
    blocks: dict[int, int] = {}
    number = 0
    for block in control_flow(index):  # outermost first
        for ops in (block.ops, *getattr(block, "branches", ())):
            blocks |= dict.fromkeys(ops, number)
            number += 1
    return blocks


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


def attribute_holds(attribute: Attribute, value: AttrValue) -> bool:
    """Whether the AttrValue `attribute` is what a pattern says of it: `value`."""
    if isinstance(attribute, AnyOf):
        return any(attribute_holds(each, value) for each in attribute.values)
    plain = plain_value(value)
    if isinstance(attribute, Regex):
        return re.search(attribute.text, str(plain)) is not None
    if isinstance(attribute, AttributeComparison):
        return _compare(plain, attribute)
    if isinstance(attribute, Wildcard):
        return True
    if callable(attribute):
        return bool(attribute(plain))
    return _normal_text(plain) == _normal_text(attribute)


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

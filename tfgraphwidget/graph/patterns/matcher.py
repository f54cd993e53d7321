"""The matcher: where in a graph a pattern fits.

First each op of the pattern gets a mask of the graph's ops that can be it (`candidates`). The output with the fewest
is the anchor. Where the pattern leaves no choice, all matches are found at once, as arrays (`array_matcher`). At other
candidates of the anchor a search binds ops and tensors, taking back what does not fit (inputs of commutative ops in
another order, another alternative, an op behind an Identity). The search is cut at a number of steps: there are
patterns for which no matcher is fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import EllipsisType
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.control_flow import control_flow
from tfgraphwidget.graph.edges import Mask, Rows
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op_types import COMMUTATIVE, V1_CONTROL_FLOW
from tfgraphwidget.graph.patterns.array_matcher import ArrayMatches, NodePlan, array_matcher
from tfgraphwidget.graph.patterns.candidates import Candidates, Numbers, plain_value
from tfgraphwidget.graph.patterns.constants import constant_value
from tfgraphwidget.graph.patterns.definition import Pattern, names_of
from tfgraphwidget.graph.patterns.match import (
    FoundMatch,
    Match,
    Matches,
    NearMatch,
    Obstacles,
    OnDemand,
    Tensor,
    topological_rank,
)
from tfgraphwidget.graph.patterns.printing import attribute_text, literal_text, print_value
from tfgraphwidget.graph.patterns.structure import (
    ANY,
    GROUPS,
    Alternatives,
    Attribute,
    Constant,
    Node,
    TensorType,
    Value,
    Variable,
    Wildcard,
    children,
    invalid,
    walk,
)
from tfgraphwidget.graph.stateful_resources import of_type
from tfgraphwidget.naming import count_text, did_you_mean, known_instead
from tfgraphwidget.progress import tell
from tfgraphwidget.sentences import OP_TYPE_NAMES, drawn_shape, in_cell

_Key = TypeVar("_Key")
_Bound = TypeVar("_Bound")

_MOST_STEPS = 1_000_000  # or, in a large graph, so many for each op that can be the output:
_STEPS_PER_CANDIDATE = 100
_MOST_NEAR = 20
_MOST_NEAR_CANDIDATES = 2_000
_CHUNK = 1 << 14  # ops that are matched between two reports of progress


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
    find_why = Obstacles(index, external, effects=effects).why

    def judge(number: int) -> Match:
        return Match(pattern, index, *matches[number], find_why=find_why, function=function)

    def find_near() -> tuple[NearMatch, ...]:
        return matcher.near(frozenset(op for match in matches for op in match.numbers))

    return Matches(pattern, OnDemand(len(matches), judge), index, expression, is_cut, find_near)


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
                op_type_names = dict.fromkeys([*index.kinds[0], *op_types()])
                end = did_you_mean(kind, op_type_names, otherwise=OP_TYPE_NAMES)
                raise invalid(f"There is no op type {kind!r}" + end)
        _check_attributes(node, index)


def _check_attributes(node: Node, index: GraphIndex) -> None:
    definitions = [index.typing.definition(kind) for kind in node.op_types]
    if not definitions or None in definitions:
        return
    names = {attr.name for definition in definitions if definition is not None for attr in definition.attr}
    for name, _ in node.attributes:
        if name not in names and name[:1] != "_":
            raise invalid(f"{'|'.join(node.types)} has no attribute {name!r}{known_instead(name, sorted(names))}")


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


class _Matcher:
    """Matches one pattern in one index. What is bound so far is in `ops`, `tensors` and `attributes`."""

    def __init__(self, index: GraphIndex, pattern: Pattern, within: Mask | None) -> None:
        self.index, self.pattern, self.within = index, pattern, within
        self.candidates = Candidates(index, pattern, within)
        self.through = self.candidates.through
        self.own, self.can_be = self.candidates.own, self.candidates.can_be
        self.steps, self.most_steps = 0, _MOST_STEPS
        self.matched: set[tuple[int, ...]] = set()  # the ops of the matches so far
        self._definitions = pattern.definitions
        self._uses = _count_uses(pattern)
        self._blocks = _blocks(index)
        self._input_rows, self._control_rows = index.input_lists, index.control_lists
        self._port_rows = Rows(index.ports.tolist(), index.inputs.start.tolist())
        self._plans: dict[int, NodePlan] = {}
        self._differences: list[str] | None = None
        self._spare = 0
        self._reset()
        self.outputs = pattern.outputs
        nodes = [pattern.resolve(output) for output in self.outputs]
        counts = [self.candidates.count(node) for node in nodes]
        first = int(np.argmin(counts))
        self.roots = _connected_order(pattern, nodes, first)

    def _reset(self) -> None:
        self.ops: dict[int, int] = {}  # of each node by id its op
        self.used: dict[int, int] = {}  # of each op its node, sources left out
        self.tensors: dict[str, Tensor] = {}
        self.attributes: dict[str, object] = {}
        self.passed: set[int] = set()
        self.trail: list[tuple[dict[Any, Any] | set[int], Any]] = []

    # The search

    def all(self, limit: int | None) -> tuple[Sequence[FoundMatch], bool]:
        """All matches, and whether the limit has cut them."""
        rank = topological_rank(self.index)
        root = self.roots[0]
        mask = self.own(root) if isinstance(root, Node | Constant) else self.can_be(root)
        candidates = np.arange(len(self.index)) if mask is None else np.flatnonzero(mask)
        self.most_steps = max(_MOST_STEPS, _STEPS_PER_CANDIDATE * len(candidates))
        if not isinstance(rank, range):
            candidates = candidates[np.argsort(np.array(rank)[candidates], kind="stable")]
        if len(self.roots) == 1:
            return self._all_of_one_output(candidates, limit)
        matches: list[FoundMatch] = []
        for number, op in enumerate(candidates.tolist()):
            if not number % _CHUNK:
                tell("Matching the pattern", number, len(candidates))
            while (match := self._match_at(op)) is not None:  # the others may be several ops for one anchor
                if limit is not None and len(matches) >= limit:
                    return matches, True
                self.matched.add(match.numbers)
                matches.append(match)
        matches.sort(key=lambda match: (rank[match.results[0][0]], match.numbers))
        return matches, False

    def _all_of_one_output(self, candidates: Numbers, limit: int | None) -> tuple[Sequence[FoundMatch], bool]:
        """All matches of a pattern with one output, from which all that it needs is chunk."""
        matches: list[FoundMatch | tuple[ArrayMatches, int]] = []
        arrays = array_matcher(self.candidates, self.roots[0], self._plan, self._blocks)
        for start in range(0, len(candidates), _CHUNK):
            tell("Matching the pattern", start, len(candidates))
            ops = candidates[start : start + _CHUNK]
            chunk = None if arrays is None else arrays.match(ops)
            rows = range(len(ops)) if chunk is None else chunk.rows
            for row in rows:
                match = self._match_at(int(ops[row])) if chunk is None or chunk.is_undecided[row] else (chunk, row)
                if match is None or (isinstance(match, FoundMatch) and match.numbers in self.matched):
                    continue
                if limit is not None and len(matches) >= limit:
                    return _on_demand(matches), True
                matches.append(match)
                if isinstance(match, FoundMatch):
                    self.matched.add(match.numbers)
        return _on_demand(matches), False

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
                f"Matching {str(self.pattern)[:80]!r} takes more than {self.most_steps:,} steps on this graph; "
                + in_cell(
                    "name types or attributes where it has any tensor or any op, or search a part: "
                    "within=editor.ops(scope='…')."
                )
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
                if not self._bind_alternatives(value, goal):
                    return False
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

    def _bind_alternatives(self, value: Alternatives, goal: _Goal) -> bool:
        """Whether the tensor of a goal is what the name of alternatives stands for, if they have one."""
        tensor_type = goal.value.tensor_type if isinstance(goal.value, Variable) else ANY
        return self._bind_tensor(Variable(value.name, tensor_type), goal.op, max(goal.port, 0))

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
            if not self.candidates.is_constant(value, op) and not self._differ(self._constant_difference, value, op):
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
            text = f"{self.index.names[op]!r} has {count_text(len(row), 'input')} where the pattern has {count}"
            # Inputs that are not compared.
            return following if self._differ(lambda: text) else False
        if plan.orders is not None and self.index.types[op] in COMMUTATIVE:
            return _Goal(None, op, 0, following, plan.orders, tuple(range(len(row))))
        return self._slot_goals(plan, op, following)

    def _slot_goals(self, plan: NodePlan, op: int, following: _Goal | None) -> _Goal | Literal[False] | None:
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

    def _plan(self, node: Node) -> NodePlan:
        """What of a node does not depend on the op."""
        plan = self._plans.get(id(node))
        if plan is None:
            inputs = node.inputs or ()
            values = tuple(each for each in inputs if not isinstance(each, EllipsisType))
            is_exact = ... not in inputs
            split = len(values) if is_exact else inputs.index(...)
            orders = None if is_exact and _are_alike(values) else tuple(sorted(values, key=self._is_free))
            has_conditions = bool(node.attributes) or node.tensor_type != ANY
            is_free = all(map(self._is_free, values))
            plan = NodePlan(node.is_source, values, split, is_exact, orders, has_conditions, is_free)
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
        value = self.candidates.attribute(name, op)
        if value is None:
            return False
        if isinstance(attribute, Wildcard):
            return self._unify(attribute.name, plain_value(value))
        return self.candidates.has_value(attribute, value)

    def _unify(self, name: str, value: object) -> bool:
        if name not in self.attributes:
            self._bind(self.attributes, name, value)
            return True
        return bool(self.attributes[name] == value)

    def _is_typed(self, tensor_type: TensorType, op: int, port: int) -> bool:
        if tensor_type is ANY or tensor_type == ANY:
            return True
        dtype = self.candidates.dtype(op, port)
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
        if self.candidates.has_shape(tensor_type, op, port):
            return True
        return self._differ(lambda: f"{name!r} has the shape " + drawn_shape(self.index.shape(op, port)))

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


def _on_demand(matches: list[FoundMatch | tuple[ArrayMatches, int]]) -> OnDemand[FoundMatch]:
    """Matches of which those in arrays are made when they are asked for."""

    def make(number: int) -> FoundMatch:
        match = matches[number]
        return match if isinstance(match, FoundMatch) else match[0].make_match(match[1])

    return OnDemand(len(matches), make)


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

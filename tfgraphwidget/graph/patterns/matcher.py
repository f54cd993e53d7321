"""The matcher: where in a graph a pattern fits.

First each op of the pattern gets a mask of the graph's ops that can be it (`candidates`), as in
J. R. Ullmann's "An algorithm for subgraph isomorphism" (1976): an op is a candidate if its inputs
are. The output with the fewest candidates is the anchor. Where the pattern leaves no choice, all
matches are found at once, as arrays (`array_matcher`). At other candidates of the anchor a search
binds ops and tensors, and undoes what does not fit (inputs of commutative ops in another order,
another alternative, an op before an Identity). The search ends after a number of steps: subgraph
isomorphism is NP-complete, and there are patterns for which no matcher is fast.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import EllipsisType
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.adjacency import walk_from
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
)
from tfgraphwidget.graph.patterns.printing import attribute_text, literal_text, print_value
from tfgraphwidget.graph.patterns.replacement import Replacement
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
from tfgraphwidget.graph.traversal import topological_rank
from tfgraphwidget.naming import count_text, did_you_mean, known_instead
from tfgraphwidget.progress import tell
from tfgraphwidget.sentences import OP_TYPE_NAMES, drawn_shape, in_cell

_Key = TypeVar("_Key")
_Bound = TypeVar("_Bound")

MAX_STEPS = 1_000_000  # of the search, in a few seconds
STEPS_PER_CANDIDATE = 100  # so many for each op that can be the output, if that is more
MAX_NEAR_MATCHES = 20  # places that almost fit
MAX_NEAR_CANDIDATES = 2_000  # ops at which these are looked for, and ops whose consumers are
MAX_SHOWN_ELEMENTS = 5  # of a constant that a sentence shows
CHUNK = 1 << 14  # ops that are matched between two reports of progress


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
    """The matches of a pattern, in topological order of their first outputs.

    Args:
        within: The ops that matches may consist of, one bool each; None for all. Constants,
            variables and placeholders may lie outside.
        limit: How many matches are found at most; None for all.
        external: The tensors that are named outside of the graph, for `Match.why`.
        effects: Whether ops with side effects can be replaced.
        function: The function whose body the graph is; "" for a graph.
        op_types: Returns all op types, to propose some in place of an unknown one.

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


def check_types(
    pattern: Pattern | Replacement, index: GraphIndex, op_types: Callable[[], Iterable[str]] = tuple
) -> None:
    """Raise InvalidArgument for an op type that does not exist, unless the graph has it, or an
    attribute that no op of a node's types has.
    """
    present = {*index.kinds[0], *index.functions, *GROUPS, "*"}
    for node in walk(*pattern.statements):
        if not isinstance(node, Node):
            continue
        for kind in node.types:
            if kind not in present and index.typing.definition(kind) is None:
                op_type_names = dict.fromkeys([*index.kinds[0], *op_types()])
                end = did_you_mean(kind, op_type_names, otherwise=OP_TYPE_NAMES)
                raise invalid(f"There is no op type {kind!r}" + end)
        _check_attributes(node, index)


def _check_attributes(node: Node, index: GraphIndex) -> None:
    """Raise for an attribute that no op of a node's types has; those that begin with "_" all may
    have.
    """
    names: set[str] = set()
    for kind in node.op_types:
        definition = index.typing.definition(kind)
        if definition is None:
            return
        names.update(attr.name for attr in definition.attr)
    if not node.op_types:
        return
    for name, _ in node.attributes:
        if name not in names and name[:1] != "_":
            types, instead = "|".join(node.types), known_instead(name, sorted(names))
            raise invalid(f"{types} has no attribute {name!r}{instead}")


class _Goal(NamedTuple):
    """What is left to match, then `next`.

    It is a `value` with the tensor of an op and a port (-1: the op itself, an output), or the
    `inputs` of a commutative op at some of its `slots`, or another output, by its number in `root`.
    """

    value: Value | None
    op: int
    port: int
    next: _Goal | None
    inputs: tuple[Value, ...] = ()
    slots: tuple[int, ...] = ()
    root: int = -1


_NO_GOAL = _Goal(None, -1, -1, None)
"""What represents the end of the goals of a choice."""


class _Matcher:
    """Matches one pattern in one index; bindings are in `ops`, `tensors` and `attributes`."""

    def __init__(self, index: GraphIndex, pattern: Pattern, within: Mask | None) -> None:
        self.index, self.pattern, self.within = index, pattern, within
        self.candidates = Candidates(index, pattern, within)
        self.through = self.candidates.through
        self.own, self.can_be = self.candidates.own, self.candidates.can_be
        self.steps, self.most_steps = 0, MAX_STEPS
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
        self.most_steps = max(MAX_STEPS, STEPS_PER_CANDIDATE * len(candidates))
        if not isinstance(rank, range):
            candidates = candidates[np.argsort(np.array(rank)[candidates], kind="stable")]
        if len(self.roots) == 1:
            return self._all_of_one_output(candidates, limit)
        matches: list[FoundMatch] = []
        for number, op in enumerate(candidates.tolist()):
            if not number % CHUNK:
                tell("Matching the pattern", number, len(candidates))
            # The other outputs may be several ops for one anchor.
            while (match := self._match_at(op)) is not None:
                if limit is not None and len(matches) >= limit:
                    return matches, True
                self.matched.add(match.numbers)
                matches.append(match)
        matches.sort(key=lambda match: (rank[match.results[0][0]], match.numbers))
        return matches, False

    def _all_of_one_output(
        self, candidates: Numbers, limit: int | None
    ) -> tuple[Sequence[FoundMatch], bool]:
        """All matches of a pattern with one output, which are found from there."""
        matches: list[FoundMatch | tuple[ArrayMatches, int]] = []
        arrays = array_matcher(self.candidates, self.roots[0], self._plan, self._blocks)
        for start in range(0, len(candidates), CHUNK):
            tell("Matching the pattern", start, len(candidates))
            ops = candidates[start : start + CHUNK]
            chunk = None if arrays is None else arrays.match(ops)
            for row in range(len(ops)) if chunk is None else chunk.rows:
                match: FoundMatch | tuple[ArrayMatches, int] | None
                if chunk is not None and not chunk.is_undecided[row]:
                    match = (chunk, row)
                else:
                    match = self._match_at(int(ops[row]))
                    if match is None or match.numbers in self.matched:
                        continue
                if limit is not None and len(matches) >= limit:
                    return _on_demand(matches), True
                matches.append(match)
                if isinstance(match, FoundMatch):
                    self.matched.add(match.numbers)
        return _on_demand(matches), False

    def _match_at(self, op: int) -> FoundMatch | None:
        """The first match at a candidate of the anchor, of those that are not among the others."""
        self._reset()
        goal = None
        for number in reversed(range(1, len(self.roots))):
            goal = _Goal(None, 0, 0, goal, root=number)
        if not self._solve(_Goal(self.roots[0], op, -1, goal)):
            return None
        return self._result()

    def _result(self) -> FoundMatch:
        """The match of all that is bound."""
        numbers = tuple(sorted(self.used))
        passed = tuple(sorted(self.passed.difference(numbers)))
        results = tuple(self._output(output) for output in self.outputs)
        return FoundMatch(numbers, passed, self.tensors, self.attributes, results)

    def _output(self, output: Value) -> Tensor:
        """The tensor of an output. Alternatives are the op of the choice that fits."""
        port = output.port if isinstance(output, Variable | Node) else 0
        value = self.pattern.resolve(output)
        while isinstance(value, Alternatives):
            choices = map(self.pattern.resolve, value.choices)
            value = next(choice for choice in choices if self._is_bound(choice))
            port = value.port if isinstance(value, Node) else 0
        return self.ops[id(value)], port

    def _is_bound(self, value: Value) -> bool:
        """Whether a value, or a choice of it, has an op."""
        if isinstance(value, Alternatives):
            return any(self._is_bound(self.pattern.resolve(choice)) for choice in value.choices)
        return id(value) in self.ops

    def _step(self) -> None:
        """Count a step, and raise if there are too many."""
        self.steps += 1
        if self.steps > self.most_steps:
            raise GraphEditError(
                f"Matching {str(self.pattern)[:80]!r} takes more than {self.most_steps:,} steps on "
                "this graph; "
                + in_cell(
                    "name types or attributes where it has any tensor or any op, or search a part: "
                    "within=editor.ops(scope='…')."
                )
            )

    def _undo(self, length: int) -> None:
        """Undo the latest bindings, until the trail has a length."""
        while len(self.trail) > length:
            holder, key = self.trail.pop()
            if isinstance(holder, set):
                holder.discard(key)
            else:
                del holder[key]

    def _bind(self, holder: dict[_Key, _Bound], key: _Key, value: _Bound) -> None:
        """Bind a value so that it can be undone."""
        holder[key] = value
        self.trail.append((holder, key))

    def _solve(self, goal: _Goal | None) -> bool:
        """Reach a goal and all after it; what a choice has bound is undone before the next one."""
        choices: list[tuple[Iterator[_Goal | None], int, int, int]] = []
        while True:
            outcome = self._advance(goal)
            if outcome is True:
                return True
            if outcome is not False:
                choices.append(
                    (outcome, len(self.trail), self._spare, len(self._differences or ()))
                )
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
        """Go on from a goal: to the end, to where nothing fits, or to goals to choose from."""
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
            fitting_ops = self._fitting_ops(value, goal)
            if len(fitting_ops) != 1:
                return self._node_goals(value, goal, fitting_ops)
            following = self._node_goal(value, goal, *fitting_ops[0])
            if following is False:
                return False
            goal = following
        return len(self.roots) == 1 or tuple(sorted(self.used)) not in self.matched

    def _bind_alternatives(self, value: Alternatives, goal: _Goal) -> bool:
        """Whether the tensor of a goal is what the name of alternatives represents, if any."""
        tensor_type = goal.value.tensor_type if isinstance(goal.value, Variable) else ANY
        return self._bind_tensor(Variable(value.name, tensor_type), goal.op, max(goal.port, 0))

    def _fitting_ops(
        self, value: Node | Constant, goal: _Goal
    ) -> list[tuple[int, int, tuple[int, ...]]]:
        """The ops that a node can be for a tensor, each with the ops seen through up to it."""
        own = self.own(value)
        op, at = goal.op, goal.port
        named = goal.value
        if at < 0:  # an output: the op itself
            return [(op, -1, ())] if own[op] or self._differences is not None else []
        if isinstance(named, Variable) and not self._is_typed(named.tensor_type, op, at):
            return []
        port = named.port if isinstance(named, Variable | Node) else 0
        fitting_ops: list[tuple[int, int, tuple[int, ...]]] = []
        through: list[int] = []
        mask = self.through.mask
        while True:
            if own[op] and at == port:
                fitting_ops.append((op, at, tuple(through)))
            if not mask[op] or len(through) > len(self.index):
                break
            through.append(op)
            op, at = self._input_rows[op][0], self._port_rows[op][0]
        if not fitting_ops and self._differences is not None and self._spare and at == port:
            fitting_ops.append((op, at, tuple(through)))
        return fitting_ops

    def _node_goals(
        self,
        value: Node | Constant,
        goal: _Goal,
        fitting_ops: list[tuple[int, int, tuple[int, ...]]],
    ) -> Iterator[_Goal | None]:
        """The goals that follow where a node is bound to each of several ops in turn."""
        for end in fitting_ops:
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
        if isinstance(value, Node):
            return self._inputs_goal(value, goal, op)
        is_constant = self.candidates.is_constant(value, op)
        if not is_constant and not self._differ(self._constant_difference, value, op):
            return False
        return goal.next if self._is_typed(value.tensor_type, op, 0) else False

    def _pass(self, through: tuple[int, ...], *, is_source: bool) -> None:
        """Note the ops between two ops of a match, which are removed with it.

        Those between it and a constant or a variable stay where they are.
        """
        if is_source:
            return
        for op in through:
            if op not in self.passed:
                self.passed.add(op)
                self.trail.append((self.passed, op))

    def _inputs_goal(self, node: Node, goal: _Goal, op: int) -> _Goal | Literal[False] | None:
        """The goals of the inputs of a node that is bound to an op; False if that does not fit."""
        plan = self._plan(node)
        if self._differences is not None and not self._has_type(node, op):
            name, kind, types = self.index.names[op], self.index.types[op], "|".join(node.types)
            if not self._differ(lambda: f"{name!r} is {kind} where the pattern has {types}"):
                return False
        if plan.has_conditions:
            if not self._has_attributes(node, op):
                return False
            if not self._is_typed(node.tensor_type, op, node.port):
                return False
        following = goal.next
        if node.controls:
            following = self._control_goals(node, op, following)
        if node.inputs is None:
            return following
        row = self._input_rows[op]
        count = len(plan.values)
        if count > len(row) or (plan.is_exact and count != len(row)):
            name, inputs = self.index.names[op], count_text(len(row), "input")
            is_passed_over = self._differ(
                lambda: f"{name!r} has {inputs} where the pattern has {count}"
            )
            return following if is_passed_over else False  # the inputs are not compared
        if plan.orders is not None and self.index.types[op] in COMMUTATIVE:
            return _Goal(None, op, 0, following, plan.orders, tuple(range(len(row))))
        return self._slot_goals(plan, op, following)

    def _slot_goals(
        self, plan: NodePlan, op: int, following: _Goal | None
    ) -> _Goal | Literal[False] | None:
        """The goals of inputs in their order; False if one of them does not fit."""
        row, ports = self._input_rows[op], self._port_rows[op]
        count = len(plan.values)
        left_out = len(row) - count  # inputs in place of `...`
        for k in range(count - 1, -1, -1):
            value = plan.values[k]
            slot = k if k < plan.split else k + left_out
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
            # Values that any tensor fits come last: what is tried first decides soonest.
            orders = tuple(sorted(values, key=self._is_free))
            plan = NodePlan(
                is_source=node.is_source,
                values=values,
                split=split,
                is_exact=is_exact,
                orders=None if is_exact and _are_alike(values) else orders,
                has_conditions=bool(node.attributes) or node.tensor_type != ANY,
                is_free=all(map(self._is_free, values)),
            )
            self._plans[id(node)] = plan
        return plan

    def _control_goals(self, node: Node, op: int, following: _Goal | None) -> _Goal | None:
        """The goal of control inputs, as of an op whose inputs may be in any order."""
        slots = tuple(range(len(self._control_rows[op])))
        return _Goal(None, op, -1, following, node.controls, slots)

    def _is_free(self, value: Value) -> bool:
        """Whether a value is any tensor, and nothing else of the pattern uses it."""
        is_any = isinstance(value, Variable) and value.tensor_type == ANY
        return is_any and self._uses.get(value.name, 1) < 2

    def _orders(self, goal: _Goal) -> Iterator[_Goal | None]:
        """The goals of a commutative op: its next input, at each of the slots that are left."""
        if not goal.inputs:
            yield goal.next
            return
        value, rest = goal.inputs[0], goal.inputs[1:]
        mask = None
        if self._differences is None and not isinstance(value, Variable):
            mask = self.can_be(value)
        is_control = goal.port < 0
        row = self._control_rows[goal.op] if is_control else self._input_rows[goal.op]
        ports = [] if is_control else self._port_rows[goal.op]
        is_free = self._is_free(value)
        for slot in goal.slots:
            op, port = row[slot], 0 if is_control else ports[slot]
            if mask is not None and not mask[op]:
                continue
            slots_left = tuple(other for other in goal.slots if other != slot)
            yield _Goal(value, op, port, goal._replace(inputs=rest, slots=slots_left))
            if is_free:
                return

    def _other_root(self, goal: _Goal) -> Iterator[_Goal | None]:
        """The goals of one more output: each op that can be it, found from what is bound."""
        root = self.roots[goal.root]
        if id(root) in self.ops:
            yield goal.next
            return
        for op in self._reachable_outputs(root):
            yield _Goal(root, op, -1, goal.next)

    def _reachable_outputs(self, root: Value) -> list[int]:
        """The ops that can be an output, as consumers of the ops and tensors that are bound."""
        ops_of_value: dict[int, set[int] | None] = {}

        def reach(value: Value) -> set[int] | None:
            """The ops that a value can be; None if nothing that it is computed from is bound."""
            value = self.pattern.resolve(value)
            if id(value) not in ops_of_value:
                ops_of_value[id(value)] = None  # until it is known
                ops_of_value[id(value)] = find(value)
            return ops_of_value[id(value)]

        def find(value: Value) -> set[int] | None:
            """See `reach`."""
            if id(value) in self.ops:
                return {self.ops[id(value)]}
            if value.name and value.name in self.tensors:
                op = self.tensors[value.name][0]
                return {op, int(self.through.op[op])}
            if isinstance(value, Alternatives):
                choices = [reach(choice) for choice in value.choices]
                ops_of_choices = [ops for ops in choices if ops is not None]
                if len(ops_of_choices) == len(choices):
                    return set[int]().union(*ops_of_choices)
                return None
            for child in children(value):
                ops = reach(child)
                if ops is not None:
                    controls = value.controls if isinstance(value, Node) else ()
                    is_control = any(child is control for control in controls)
                    consumers = self._consumers_of(ops, is_control=is_control)
                    mask = self.can_be(value)
                    return {op for op in consumers if mask is None or mask[op]}
            return None

        return sorted(reach(root) or ())

    def _consumers_of(self, ops: set[int], *, is_control: bool = False) -> set[int]:
        """The ops that consume, or wait for, some ops, directly or through Identity ops."""
        consumers, passed = self.index.consumer_lists, self.through.mask
        same_values = walk_from(ops, lambda op: (each for each in consumers[op] if passed[each]))
        rows = self.index.control_consumer_lists if is_control else self.index.consumer_lists
        return {consumer for op in same_values for consumer in rows[op]}

    # Conditions

    def _bind_tensor(self, value: Variable, op: int, port: int) -> bool:
        """Whether a variable can be a tensor, which it then is; False if it is another one."""
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
        return self._differ(
            lambda: f"{name!r} is read where the pattern has {value.name} a second time"
        )

    def _source_of(self, op: int, port: int) -> Tensor:
        """The tensor before the Identity ops and reads that nothing orders."""
        if port == 0 and self.through.free[op]:
            return int(self.through.op[op]), int(self.through.port[op])
        return op, port

    def _is_in_frame(self, op: int) -> bool:
        """Whether an op is in the loop or branch in which the ops that are bound are."""
        if self._blocks is None or not self.used:
            return True
        return self._blocks.get(op, -1) == self._blocks.get(next(iter(self.used)), -1)

    def _constant_difference(self, value: Constant, op: int) -> str:
        """How an op is not the constant of a pattern."""
        name = self.index.names[op]
        array = constant_value(self.index, op)
        if array is None:
            text = "no constant"
        elif array.size <= MAX_SHOWN_ELEMENTS:
            text = str(array.tolist())
        else:
            text = f"of shape {array.shape}"
        return f"{name!r} is {text} where the pattern has {literal_text(value.value)}"

    def _has_type(self, node: Node, op: int) -> bool:
        """Whether an op is of a type of a node."""
        return not node.op_types or self.index.types[op] in node.op_types

    def _has_attributes(self, node: Node, op: int) -> bool:
        """Whether an op has all attributes of a node."""
        for name, attribute in node.attributes:
            if not self._has_attribute(name, attribute, op):
                text = f"{self.index.names[op]!r} does not have {attribute_text(name, attribute)}"
                if not self._differ(lambda text=text: text):
                    return False
        return True

    def _has_attribute(self, name: str, attribute: Attribute, op: int) -> bool:
        """Whether an op has an attribute of a node; a wildcard is bound to its value."""
        value = self.candidates.attribute(name, op)
        if value is None:
            return False
        if isinstance(attribute, Wildcard):
            return self._unify(attribute.name, plain_value(value))
        return self.candidates.has_value(attribute, value)

    def _unify(self, name: str, value: object) -> bool:
        """Whether a wildcard can be a value, which it then is; False if it is another one."""
        if name not in self.attributes:
            self._bind(self.attributes, name, value)
            return True
        return bool(self.attributes[name] == value)

    def _is_typed(self, tensor_type: TensorType, op: int, port: int) -> bool:
        """Whether an output has a dtype and a shape; a wildcard is bound to the dtype."""
        if tensor_type is ANY or tensor_type == ANY:
            return True
        dtype = self.candidates.dtype(op, port)
        name = f"{self.index.names[op]}:{port}"
        if isinstance(tensor_type.dtype, Wildcard):
            fits = self._unify(tensor_type.dtype.name, dtype)
            expected = "another dtype"
        else:
            fits = tensor_type.dtype in ("", dtype)
            expected = tensor_type.dtype
        if not fits and not self._differ(
            lambda: f"{name!r} is {dtype} where the pattern has {expected}"
        ):
            return False
        if self.candidates.has_shape(tensor_type, op, port):
            return True
        return self._differ(
            lambda: f"{name!r} has the shape " + drawn_shape(self.index.shape(op, port))
        )

    # What almost fits

    def _differ(self, describe: Callable[..., str], *arguments: object) -> bool:
        """Whether a difference is passed over: one, in a search for what almost fits."""
        if self._differences is None or not self._spare:
            return False
        self._spare -= 1
        self._differences.append(describe(*arguments))
        return True

    def near(self, matched: frozenset[int]) -> tuple[NearMatch, ...]:
        """Where all but one thing fits, in graph order; ops of matches are not candidates."""
        near: list[NearMatch] = []
        self.steps = 0
        try:
            for op in self._near_candidates(matched):
                self._reset()
                self._spare = 1
                self._differences = []
                is_match = self._solve(_Goal(self.roots[0], op, -1, None))
                if is_match and self._differences and len(self.used) > 1:
                    ops = tuple(self.index.names[number] for number in sorted(self.used))
                    near.append(NearMatch(ops, self._differences[0]))
                if len(near) == MAX_NEAR_MATCHES:
                    break
        except GraphEditError:  # too many steps: what there is so far
            pass
        finally:
            self._differences = None
        return tuple(near)

    def _near_candidates(self, matched: frozenset[int]) -> list[int]:
        """The ops of the output's types, then those that consume what can be its inputs."""
        root = self.roots[0]
        if not isinstance(root, Node):
            return []
        types = root.op_types
        of_types = np.flatnonzero(of_type(self.index, types.__contains__)).tolist() if types else []
        consumers: set[int] = set()
        for child in children(root):
            mask = self.can_be(child)
            if mask is not None and isinstance(self.pattern.resolve(child), Node):
                ops = np.flatnonzero(mask).tolist()
                if len(ops) <= MAX_NEAR_CANDIDATES:
                    consumers |= self._consumers_of(set(ops))
        candidates = [*of_types[:MAX_NEAR_CANDIDATES], *sorted(consumers.difference(of_types))]
        return [op for op in candidates if op not in matched][: 2 * MAX_NEAR_CANDIDATES]


def _on_demand(matches: list[FoundMatch | tuple[ArrayMatches, int]]) -> OnDemand[FoundMatch]:
    """Matches of which those in arrays are made when they are asked for."""

    def make(number: int) -> FoundMatch:
        match = matches[number]
        return match if isinstance(match, FoundMatch) else match[0].make_match(match[1])

    return OnDemand(len(matches), make)


def _count_uses(pattern: Pattern) -> dict[str, int]:
    """How often the values of a pattern have each name."""
    uses = Counter[str]()
    for statement in pattern.statements:
        for value in walk(statement):
            only_names = value is statement and isinstance(value, Variable)
            if value.name and not only_names:
                uses[value.name] += 1
    return uses


def _are_alike(values: tuple[Value, ...]) -> bool:
    """Whether the order of values makes no difference: all are the same, and name nothing."""
    has_names = any(inner.name for value in values for inner in walk(value))
    return not has_names and len(set(map(print_value, values))) == 1


def _connected_order(pattern: Pattern, nodes: list[Value], first: int) -> list[Value]:
    """Outputs in an order in which each shares a name with earlier ones, from `first` on."""
    distinct = list({id(node): node for node in nodes}.values())
    anchor = nodes[first]
    order = [anchor]
    rest = [node for node in distinct if node is not anchor]
    reached = names_of(pattern, anchor)
    while rest:
        node = next(other for other in rest if names_of(pattern, other) & reached)
        order.append(node)
        reached |= names_of(pattern, node)
        rest.remove(node)
    return order


def _blocks(index: GraphIndex) -> dict[int, int] | None:
    """The number of the innermost loop, or branch of a conditional, around each op in one.

    None for a graph without control flow of TensorFlow 1.
    """
    if V1_CONTROL_FLOW.isdisjoint(index.kinds[0]):
        return None
    blocks: dict[int, int] = {}
    number = 0
    for block in control_flow(index):  # outermost first
        for ops in (block.ops, *getattr(block, "branches", ())):
            blocks |= dict.fromkeys(ops, number)
            number += 1
    return blocks

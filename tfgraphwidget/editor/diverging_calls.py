"""Diverging calls: where two functions first differ that ops of two graphs call on equal inputs.

The bodies are run on what went into the calls, with the variables that they capture; those of a
loop round by round, each graph with its own state. A TensorList, which no feed can be, is made
again inside a body from what it was made of outside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tfgraphwidget.editor import comparing
from tfgraphwidget.editor.compared_sides import Runner, Side
from tfgraphwidget.editor.graph_run import GraphRun
from tfgraphwidget.errors import GraphEditError, NotTrusted
from tfgraphwidget.graph import (
    CASES,
    CONSTANTS,
    HANDLE_DTYPES,
    IDENTITY,
    IFS,
    MAKES_TENSOR_LIST,
    WHILE_LOOPS,
    GraphIndex,
    called_functions,
    match_graphs,
)
from tfgraphwidget.naming import free_name, split_tensor
from tfgraphwidget.runtime.measure import Comparison, FirstDivergence, Tolerance, tensor_difference
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.tf_types import NodeDef

Array = np.ndarray

MAX_ROUNDS = 2_000  # rounds of a loop that are run one by one: some seconds
MAX_DEPTH = 20  # calls in calls: a function that calls itself has no end

_WRITES_LIST = {"TensorListSetItem": 2, "TensorListPushBack": 1}
"""The input that is written to a list, by the op type."""


def compare_all(
    before: Side,
    now: Side,
    pairs: Mapping[str, str],
    tolerance: Tolerance,
    path: tuple[str, ...] = (),
) -> Comparison:
    """Compare all tensors that have a partner and a value, and find the first divergence, also
    inside of functions; the arguments are those of `Comparer`. Raises NotTrusted where the outputs
    of a graph need an op that does more than compute.
    """
    comparer = comparing.Comparer(before, now, pairs, tolerance, path)
    try:
        compared = comparer.of_all()
    except NotTrusted:
        raise
    except GraphEditError as refusal:
        # Other feeds make a graph run whose op types are known.
        if not (_has_unknown_types(before.index) or _has_unknown_types(now.index)):
            raise
        weights = comparing.Comparer(before, now, pairs, tolerance, path).of_weights()
        note = f"Only weights were compared, since one graph cannot run: {refusal.why}"
        return replace(weights, notes=(note,))
    divergence, note = compared.first_divergence, ""
    for calls in comparer.calls:
        inner, note = _look_inside(comparer.before, comparer.now, calls, tolerance, path)
        if inner is not None:
            call = split_tensor(calls[1])[0]
            inner = replace(inner, calls=(call, *inner.calls))
            return replace(compared, first_divergence=inner)
    if divergence is not None and note:
        divergence = replace(divergence, note=note)
    return replace(compared, first_divergence=divergence)


def _has_unknown_types(index: GraphIndex) -> bool:
    """Whether TensorFlow does not know some op type of a graph."""
    return any(index.typing.definition(op_type) is None for op_type in index.kinds[0])


def _look_inside(
    before: Side, now: Side, tensors: tuple[str, str], tolerance: Tolerance, path: tuple[str, ...]
) -> tuple[FirstDivergence | None, str]:
    """Find the first divergence inside of the functions that two ops call, whose inputs agree and
    outputs differ; None, and why, where there is none.
    """
    if len(path) >= MAX_DEPTH:
        return None, f"Functions inside of {MAX_DEPTH} calls were not looked into."
    calls = tuple(
        _Call(side, side.index.op(tensor))
        for side, tensor in zip((before, now), tensors, strict=True)
    )
    one, other = calls[0].kind, calls[1].kind
    if one != other:
        return None, (
            f"The functions were not looked into: in the other graph {calls[0].name!r} is "
            f"{calls[0].op_type}, and no such call."
        )
    try:
        if other == "loop":
            return _in_rounds(calls, tolerance, path)
        return _in_bodies(calls, tolerance, path)
    except GraphEditError as refusal:
        return None, f"The functions were not looked into: {refusal.why}"


@dataclass
class _Body:
    """The body of a function, as one graph runs it on what a call gives to it.

    Attributes:
        run: The body.
        function: Its name.
        arguments: The tensor that each argument is; "" for state.
        feeds: Values of the arguments.
        lists: The numbers of the arguments that are TensorLists.
    """

    run: GraphRun
    function: str
    arguments: tuple[str, ...]
    feeds: dict[str, object]
    lists: frozenset[int] = frozenset()

    @property
    def results(self) -> tuple[str, ...]:
        """The tensors that it returns."""
        return tuple(self.run.body.returns.values())

    def side(self) -> Side:
        """The body as a side of a comparison."""
        index = self.run.index
        results = [
            name
            for name in self.results
            if index.tensor_dtype(name) not in HANDLE_DTYPES and split_tensor(name)[0] in index.ids
        ]
        return Side(self.run, self.feeds, tuple(results))


class _Call:
    """An op that calls functions, and the values that go into it."""

    def __init__(self, side: Side, op: int) -> None:
        self.side, self.op = side, op
        self.index = side.index
        self.node = self.index.nodes[op]
        self.name, self.op_type = self.index.names[op], self.index.types[op]
        self.inputs = comparing.input_tensors(self.index, op)
        self._runner = Runner(side)
        self._values: dict[str, Array] | None = None

    @property
    def kind(self) -> str:
        """What the op does with its functions; "" for one that calls none."""
        if self.op_type in WHILE_LOOPS:
            return "loop"
        if self.op_type in IFS | CASES:
            return "branches"
        return "call" if called_functions(self.node, self.index.functions) else ""

    @property
    def values(self) -> dict[str, Array]:
        """The values of the inputs, without handles."""
        if self._values is None:
            readable = [n for n in self.inputs if self.index.tensor_dtype(n) not in HANDLE_DTYPES]
            self._values = self._runner.values(readable)
        return self._values

    def label(self) -> str:
        """What the op uses the function as that it calls on these inputs."""
        if self.kind == "call":
            return called_functions(self.node, self.index.functions)[0].label
        chosen = self.values[self.inputs[0]]
        if self.op_type in IFS:
            is_true = bool(chosen) if not chosen.shape else bool(chosen.size)
            return "then_branch" if is_true else "else_branch"
        last = len(self.node.attr["branches"].list.func) - 1
        number = int(chosen)
        return f"branches[{number if 0 <= number <= last else last}]"

    def body(self, label: str) -> _Body:
        """The function of a label, on the op's inputs; GraphEditError for wrong arguments."""
        run, function, arguments = self.side.run.open_called(self.op, label)
        first = len(self.inputs) - len(arguments)
        body = _Body(run, function, arguments, {})
        lists = set()
        for number, argument in enumerate(arguments):
            source = self.inputs[first + number]
            if not argument:
                continue
            if source in self.values:
                body.feeds[argument] = self.values[source]
            elif self.index.tensor_dtype(source) == "variant":
                body.run, fed = self._with_list(body.run, argument, source)
                body.feeds |= fed
                lists.add(number)
            elif run.is_body and split_tensor(argument)[0] in run.state.names:
                continue
            else:
                raise GraphEditError(
                    f"argument {argument!r} of function {function!r} is a "
                    f"{self.index.tensor_dtype(source)}, which cannot be given to it alone.",
                    [self.name],
                )
        body.lists = frozenset(lists)
        return body

    def _with_list(
        self, run: GraphRun, argument: str, source: str
    ) -> tuple[GraphRun, dict[str, object]]:
        """A body in which a TensorList is made that is an argument of it; what to feed then."""
        op = self.index.op(source)
        while self.index.types[op] in IDENTITY:
            op = self.index.input_lists[op][0]
        if self.index.types[op] not in MAKES_TENSOR_LIST:
            raise GraphEditError(
                f"argument {argument!r} is a variant of {self.index.types[op]} "
                f"{self.index.names[op]!r}, which cannot be given to a function alone.",
                [self.index.names[op]],
            )
        name = split_tensor(argument)[0]
        inputs = comparing.input_tensors(self.index, op)
        values = self._runner.values(inputs)
        used, nodes = run.index.used_names(), list[NodeDef]()
        for tensor in inputs:
            placeholder = tf_protos.NodeDef(name=free_name(f"{name}/list", used), op="Placeholder")
            used.add(placeholder.name.lower())
            placeholder.attr["dtype"].type = self.index.typing.number(
                self.index.tensor_dtype(tensor)
            )
            placeholder.attr["shape"].shape.unknown_rank = True
            nodes.append(placeholder)
        maker = tf_protos.NodeDef(name=name, op=self.index.types[op])
        maker.input.extend(node.name for node in nodes)
        for key in ("element_dtype", "shape_type"):
            if key in self.index.nodes[op].attr:
                maker.attr[key].CopyFrom(self.index.nodes[op].attr[key])
        index = run.index.with_new_nodes(nodes, run.index.collections, run.index.variable_defs)
        index = index.with_changed_nodes({index.ids[name]: maker})
        pairs = zip(nodes, inputs, strict=True)
        return replace(run, index=index), {f"{node.name}:0": values[t] for node, t in pairs}


def _in_bodies(
    calls: Sequence[_Call], tolerance: Tolerance, path: tuple[str, ...]
) -> tuple[FirstDivergence | None, str]:
    """The first divergence of what two ops call once."""
    labels = [call.label() for call in calls]
    if labels[0] != labels[1] and calls[0].kind == "branches":
        return None, f"The other graph takes {labels[0]}, and this one {labels[1]}."
    bodies = [call.body(label) for call, label in zip(calls, labels, strict=True)]
    divergence = _compare_bodies(bodies, tolerance, path)
    if divergence is not None:
        return divergence, ""
    return None, _unequal_results(bodies)


def _compare_bodies(
    bodies: Sequence[_Body], tolerance: Tolerance, path: tuple[str, ...]
) -> FirstDivergence | None:
    before, now = (body.side() for body in bodies)
    compared = compare_all(before, now, _pairs(bodies), tolerance, (*path, bodies[1].function))
    if compared.notes and compared.first_divergence is None:
        raise GraphEditError(compared.notes[0])
    return compared.first_divergence


def _pairs(bodies: Sequence[_Body]) -> dict[str, str]:
    """The tensors of two bodies that are the same; results are by their places."""
    arguments = [body.arguments for body in bodies]
    # Others than as many have other places.
    places = zip(*arguments, strict=False) if len({*map(len, arguments)}) == 1 else ()
    names = {split_tensor(was)[0]: split_tensor(now)[0] for was, now in places if was and now}
    before, now = (body.run.index for body in bodies)
    pairs = comparing.paired_names(match_graphs(before, now, names, inline=False))
    return comparing.with_results(pairs, *(body.results for body in bodies))


def _unequal_results(bodies: Sequence[_Body]) -> str:
    """Why the results of two functions differ in which all tensors agree."""
    pairs = _pairs(bodies)
    for number, (one, other) in enumerate(zip(bodies[0].results, bodies[1].results, strict=False)):
        if pairs.get(other) != one:
            return (
                f"All that was compared in function {bodies[1].function!r} agrees; its result "
                f"{number} is {other!r}, and in the other graph {one!r}."
            )
    return f"All that was compared in function {bodies[1].function!r} agrees."


# Loops


def _in_rounds(
    calls: Sequence[_Call], tolerance: Tolerance, path: tuple[str, ...]
) -> tuple[FirstDivergence | None, str]:
    """The first divergence of two loops, in the first round in which something differs."""
    loops = [_Loop(call) for call in calls]
    for number in range(1, MAX_ROUNDS + 1):
        goes_on = [loop.goes_on() for loop in loops]
        if goes_on[0] != goes_on[1]:
            divergence = _compare_bodies([loop.condition for loop in loops], tolerance, path)
            note = f"After {number - 1} rounds only one of the loops goes on."
            return (divergence and _in_round(divergence, number, path)), note
        if not goes_on[0]:
            return None, _unequal_results([loop.body for loop in loops])
        results = [loop.results() for loop in loops]
        if not _are_equal(*results):
            divergence = _compare_bodies([loop.body for loop in loops], tolerance, path)
            if divergence is not None:
                return _in_round(divergence, number, path), ""
        for loop in loops:
            loop.step()
    return None, f"The first {MAX_ROUNDS:,} rounds agree; later ones were not looked into."


def _in_round(divergence: FirstDivergence, number: int, path: tuple[str, ...]) -> FirstDivergence:
    """A divergence in the body of a loop, or in what that calls; a constant has no round."""
    is_constant = divergence.op_type in CONSTANTS
    is_inner = divergence.round is not None and len(divergence.path) > len(path) + 1
    return divergence if is_constant or is_inner else replace(divergence, round=number)


def _are_equal(before: Mapping[str, Array], now: Mapping[str, Array]) -> bool:
    return len(before) == len(now) and all(
        tensor_difference("", a, b).same for a, b in zip(before.values(), now.values(), strict=True)
    )


class _Loop:
    """A While that is run round by round."""

    def __init__(self, call: _Call) -> None:
        self.condition, self.body = call.body("cond"), call.body("body")
        index = self.body.run.index
        for number in self.body.lists:
            _check_only_written(index, self.body, number)
        results = self.body.results
        self._next = {
            number: result
            for number, result in enumerate(results)
            if self.body.arguments[number] and number not in self.body.lists
        }
        written = [
            item
            for number, result in enumerate(results)
            if number in self.body.lists
            and (item := _item_written(index, result))
            and index.tensor_dtype(item) not in HANDLE_DTYPES  # as of a list of lists
        ]
        self._fetches = [*dict.fromkeys([*self._next.values(), *written])]
        self._run_condition = self.condition.run.runner(
            self.condition.results, [*self.condition.feeds], {}
        )
        self._run = self.body.run.runner(self._fetches, [*self.body.feeds], {})
        self._results: dict[str, Array] = {}

    def goes_on(self) -> bool:
        """Whether there is a further round."""
        return bool(np.all(self._run_condition(self.condition.feeds)[0]))

    def results(self) -> dict[str, Array]:
        """What the round computes: the next state, and what it writes to lists."""
        values = self._run(self.body.feeds)
        self._results = dict(zip(self._fetches, map(np.asarray, values), strict=True))
        return self._results

    def step(self) -> None:
        """Go on to the next round."""
        for number, result in self._next.items():
            value = self._results[result]
            self.body.feeds[self.body.arguments[number]] = value
            if argument := self.condition.arguments[number]:
                self.condition.feeds[argument] = value


def _item_written(index: GraphIndex, result: str) -> str:
    """The tensor that a round writes to a list, by what it returns; "" for none."""
    op = index.op(result)
    while index.types[op] in IDENTITY:
        op = index.input_lists[op][0]
    slot = _WRITES_LIST.get(index.types[op])
    return "" if slot is None else comparing.input_tensors(index, op)[slot]


def _check_only_written(index: GraphIndex, body: _Body, number: int) -> None:
    """Raise when a round reads of a list what rounds before have written to it."""
    argument, result = body.arguments[number], body.results[number]
    if split_tensor(argument)[0] == split_tensor(result)[0]:
        return  # a list that the loop only reads
    stack = [index.op(argument)]
    while stack:
        for reader in index.consumer_lists[stack.pop()]:
            if index.types[reader] in IDENTITY:
                stack.append(reader)
            elif index.types[reader] not in _WRITES_LIST:
                raise GraphEditError(
                    f"a round of the loop reads by {index.names[reader]!r} what rounds before have "
                    "written to a list.",
                    [index.names[reader]],
                )

"""Comparing: all tensors of two graphs on the same feeds, and where these first differ.

Each graph runs aside, once, or as often as its tensors fit in memory; only the numbers that say how
far two tensors are apart are kept. What differs is computed again, to see whether it is random.
The first divergence is the first tensor in the order of evaluation that differs: all that it is
computed from agrees. Where it is in a v1 loop, the first round is looked for in which something
differs. `diverging_calls` goes on inside of functions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from tfgraphwidget import runtime
from tfgraphwidget.editor.compared_sides import FAILED, NOT_FED, Runner, Side
from tfgraphwidget.editor.graph_run import Values
from tfgraphwidget.editor.other_values import ops_of_other_values
from tfgraphwidget.errors import GraphEditError, SessionRefused
from tfgraphwidget.graph import (
    EXIT,
    HANDLE_DTYPES,
    HANDLES,
    NEXT,
    VARIABLE_READS,
    Assets,
    Effect,
    GraphIndex,
    Loop,
    MatchedGraphs,
    called_functions,
    corresponding_tensors,
    effect_of,
    enclosing_blocks,
    forward,
    is_converted,
    mask_of,
    may_be_random,
    traversal,
)
from tfgraphwidget.naming import names_text, split_tensor
from tfgraphwidget.runtime.measure import (
    Comparison,
    FirstDivergence,
    TensorDifference,
    Tolerance,
    comparison,
    tensor_difference,
    weight_difference,
)
from tfgraphwidget.runtime.measure import (
    tolerance as rounding,
)
from tfgraphwidget.runtime.session import MissingValues
from tfgraphwidget.runtime.sync import FileStore

if TYPE_CHECKING:
    from tfgraphwidget.runtime.measure import LimitedLoop
    from tfgraphwidget.runtime.sync import Pair, VariableStore

Array = np.ndarray
_Tensor = tuple[int, int]  # an op's number and the port of its output
Pairs = Mapping[str, str]
"""{tensor here: tensor of the graph to compare with}"""

MEMORY_LIMIT = 512 << 20  # bytes of values of both graphs that are held at once
WEIGHTS_LIMIT = 16 << 20  # bytes of weights of both: a large pair is read by itself

RANDOM = "which are random: they differ from run to run"
NO_PARTNER = "without a partner in the other graph"
ONLY_THERE = "of the other graph, without a partner here"
NO_WEIGHT = "of which one graph has no value"
OTHER_VALUE = "which are other tensors there, and what is computed from them agrees"
WHAT = "tensor"
MAX_OTHER_INPUTS = 3  # sentences on them

_MAY_CHANGE = frozenset({Effect.RANDOM, Effect.PYTHON, Effect.NETWORK, Effect.UNKNOWN})
_LAST_ROUND = "The values are those of the last round of the loop"
_ALL_ROUNDS = (1 << 31) - 1  # more than any loop has: it ends by its own condition


def judge(
    before: Side,
    now: Side,
    differences: Iterable[TensorDifference],
    tolerance: Tolerance,
    not_compared: Mapping[str, tuple[str, ...]],
) -> Comparison:
    """A comparison of some tensors by their differences, in their order, and of those that were not
    compared by the reason; no function is looked into.
    """
    comparer = Comparer(before, now, {}, tolerance, ())
    by_name = {each.name: each for each in differences}
    places = {op: place for place, op in enumerate(comparer.orders[1])}
    comparer.differences = dict(
        sorted(by_name.items(), key=lambda item: places[now.index.op(item[0])])
    )
    comparer.set_tolerances()
    compared = comparer.differences
    first = next((name for name, each in compared.items() if each.differs), None)
    return Comparison(
        tuple(compared[name] for name in by_name),
        None if first is None else comparer.divergence(first),
        not_compared,
    )


def compare_stores(
    ours: VariableStore,
    theirs: VariableStore,
    pairs: Sequence[Pair],
    tolerance: Tolerance,
) -> Comparison:
    """Compare the values of variables, as (ours, theirs), in two stores, as many at a time as fit
    in memory.
    """
    differences = []
    for some, one, other in _read_portions(ours, theirs, _portions_of_variables(pairs)):
        for a, b in some:
            each = weight_difference(
                a.handle, np.asarray(other[b.handle]), np.asarray(one[a.handle]), b.handle
            )
            bound = tolerance.limit(
                each.dtypes, rounding.LEAST_TERMS * rounding.epsilon(*each.dtypes) ** 2
            )
            differences.append(replace(each, tolerance=bound))
    paired, paired_there = {a.handle for a, _ in pairs}, {b.handle for _, b in pairs}
    alone: dict[str, tuple[str, ...]] = {}
    if names := tuple(v.handle for v in ours.variables if v.handle not in paired):
        alone[NO_PARTNER] = names
    if names := tuple(v.handle for v in theirs.variables if v.handle not in paired_there):
        alone[ONLY_THERE] = names
    return Comparison(tuple(differences), not_compared=alone, what=comparison.WEIGHT)


def _portions_of_variables(pairs: Sequence[Pair]) -> Iterator[list[Pair]]:
    """Pairs of variables in portions that fit in memory."""
    portion: list[Pair] = []
    expected = 0
    for a, b in pairs:
        size = sum((each.shape.num_elements() or 0) * max(1, each.dtype.size) for each in (a, b))
        if portion and expected + size > WEIGHTS_LIMIT:
            yield portion
            portion, expected = [], 0
        portion.append((a, b))
        expected += size
    if portion:
        yield portion


def _read_portions(
    ours: VariableStore, theirs: VariableStore, portions: Iterable[list[Pair]]
) -> Iterator[tuple[list[Pair], dict[str, Array], dict[str, Array]]]:
    """The portions with the values of both. Of files the next one is read meanwhile."""

    def read(some: list[Pair]) -> tuple[list[Pair], dict[str, Array], dict[str, Array]]:
        return some, ours.read([a for a, _ in some]), theirs.read([b for _, b in some])

    if not (isinstance(ours, FileStore) and isinstance(theirs, FileStore)):
        yield from map(read, portions)  # sessions and contexts of TensorFlow belong to a thread
        return
    with ThreadPoolExecutor(1) as reader:
        coming: Future[tuple[list[Pair], dict[str, Array], dict[str, Array]]] | None = None
        for some in portions:
            present, coming = coming, reader.submit(read, some)
            if present is not None:
                yield present.result()
        if coming is not None:
            yield coming.result()


def _contents_of_paths(value: Array, contents: Mapping[bytes, bytes]) -> Array:
    """A value with what is in asset files in place of their paths."""
    if not contents or value.dtype.kind not in "OS":
        return value
    return np.array([contents.get(each, each) for each in value.flat], object).reshape(value.shape)


def _digests_by_path(assets: Assets) -> dict[bytes, bytes]:
    """The digests of asset files that can be read, by the paths that constants hold."""
    return {asset.path.encode(): asset.digest for asset in assets.values() if asset.digest}


class Comparer:
    """Compares two graphs; no function is looked into that an op calls.

    Args:
        before: The graph to compare with.
        now: The graph.
        pairs: {tensor of `now`: tensor of `before`}.
        tolerance: What counts as equal.
        path: The names of the functions that both are the bodies of, outermost first.

    Attributes:
        calls: Outputs of calls, before and now, inside of which the first divergence may be.
    """

    def __init__(
        self, before: Side, now: Side, pairs: Pairs, tolerance: Tolerance, path: tuple[str, ...]
    ) -> None:
        self.calls: list[tuple[str, str]] = []
        self.before, self.now, self.pairs = before, now, pairs
        self.tolerance, self.path = tolerance, path
        self.differences: dict[str, TensorDifference] = {}
        self._reasons: dict[str, list[str]] = {}

    # What is compared

    def of_weights(self) -> Comparison:
        """Compare variables and constants."""
        weights = [name for name in self._candidates() if self._is_weight(name)]
        self._reasons.clear()  # what is no weight was not asked for
        self.compare(weights, with_run=False)
        self.set_tolerances()
        return self._result(())

    def of_all(self) -> Comparison:
        """Compare all that both graphs compute. Raises SessionRefused when one of them cannot."""
        try:
            self._set_values(self._fetches_of_both())
        except MissingValues:
            if not self._leave_out_without_values():
                raise
            self._set_values(self._fetches_of_both())
        self.compare(self.compared_names)
        self.set_tolerances()
        self._leave_out_other_values()
        compared = self._result(self._failures())
        if not compared and not self.path:
            self._check_outputs(compared)
        return compared

    def _check_outputs(self, compared: Comparison) -> None:
        """Raise GraphEditError where no graph computes some output on these feeds, or one alone
        lacks a feed of it, or nothing is computed from them: that all else agrees does not show
        that the graphs do.
        """
        index = self.now.index
        fed = [index.op(name) for name in self.now.feeds]
        is_computed = forward(index, fed) & ~mask_of(index, fed)
        has_computed = any(is_computed[index.op(each.name)] for each in compared)
        for reason, names in compared.not_compared.items():
            outputs = [name for name in names if name in self.now.outputs]
            if reason == NOT_FED:
                others = [self.pairs[name] for name in outputs]
                for side, tensors in ((self.now, outputs), (self.before, others)):
                    is_alone = not all(side.obstacle(tensor) for tensor in tensors)
                    if not has_computed or is_alone:
                        self.now.run.check_fed(outputs, self.now.feeds)
                        self.before.run.check_fed(others, self.before.feeds)
            elif outputs and reason.startswith(FAILED):
                raise SessionRefused(
                    f"All that both graphs compute on these feeds agrees, but not "
                    f"{names_text(outputs)}, {reason}.",
                    [split_tensor(name)[0] for name in outputs],
                )

    def _result(self, fails: tuple[str, ...]) -> Comparison:
        first = self._first_divergence()
        there = set(self.pairs.values())
        for op in self.orders[0]:
            for name in _tensors(self.before.index, op):
                if name not in there:
                    self._leave_out(name, ONLY_THERE)
        reasons = {reason: tuple(names) for reason, names in self._reasons.items()}
        return Comparison(tuple(self.differences.values()), first, reasons, fails=fails, what=WHAT)

    def _leave_out_other_values(self) -> None:
        """Leave out what differs and is no divergence; see `other_values`."""
        by_op = defaultdict[int, list[TensorDifference]](list)
        for name, each in self.differences.items():
            by_op[self.now.index.op(name)].append(each)
        for op in ops_of_other_values(self.now.index, self.orders[1], by_op, self._reads_others):
            for each in by_op[op]:
                del self.differences[each.name]
                self._leave_out(each.name, OTHER_VALUE)

    def _reads_others(self, op: int) -> bool:
        """Whether an op reads other tensors than its partner, whatever their order."""
        name = _tensors(self.now.index, op)[0]
        other = self.before.index.op(self.pairs[name])
        reads = {self.pairs.get(tensor) for tensor in input_tensors(self.now.index, op)}
        return reads != {*input_tensors(self.before.index, other)}

    def _leave_out(self, name: str, reason: str) -> None:
        self._reasons.setdefault(reason, []).append(name)

    @cached_property
    def orders(self) -> tuple[list[int], list[int]]:
        """The ops of both graphs in the order of evaluation."""
        return (
            evaluation_order(self.before.index, self.before.outputs),
            evaluation_order(self.now.index, self.now.outputs),
        )

    def _candidates(self) -> Iterator[str]:
        """The tensors that have partners, in the order of evaluation; others are noted."""
        index = self.now.index
        for op in self.orders[1]:
            for name in _tensors(index, op, handles=True):
                if name in self.pairs:
                    yield name
                elif _is_handle(index, name):
                    continue
                else:
                    self._leave_out(name, NO_PARTNER)

    def _is_weight(self, name: str) -> bool:
        return self.now.is_weight(name) and self.before.is_weight(self.pairs[name])

    @cached_property
    def compared_names(self) -> list[str]:
        """The tensors to compare; why others are not is noted."""
        names = []
        for name in self._candidates():
            other = self.pairs[name]
            obstacles = (
                "" if side.is_weight(tensor) else side.obstacle(tensor)
                for side, tensor in ((self.now, name), (self.before, other))
            )
            if reason := next(filter(None, obstacles), ""):
                self._leave_out(name, reason)
            else:
                names.append(name)
        return names

    def _leave_out_without_values(self) -> bool:
        """Leave out what needs a variable that has no value. False where an output does, or
        nothing.
        """
        left_out = []
        for side, tensors in (
            (self.now, self.compared_names),
            (self.before, [self.pairs[name] for name in self.compared_names]),
        ):
            needs, index = side.without_values, side.index
            if not side.outputs or any(needs[index.op(name)] for name in side.outputs):
                return False
            left_out += [
                name
                for name, tensor in zip(self.compared_names, tensors, strict=True)
                if needs[index.op(tensor)]
            ]
        for name in dict.fromkeys(left_out):
            self._leave_out(name, NO_WEIGHT)
            self.compared_names.remove(name)
        return bool(left_out)

    def _fetches_of_both(self) -> tuple[list[str], list[str]]:
        """The tensors of both graphs that a run gives, those before first."""
        names = self.compared_names
        others = [self.pairs[name] for name in names]
        return (
            [tensor for tensor in others if not self.before.is_weight(tensor)],
            [name for name in names if not self.now.is_weight(name)],
        )

    def _set_values(self, fetched: tuple[list[str], list[str]]) -> None:
        """Read the values of variables, once; what one graph has none for is taken from the
        other.
        """
        no_values: Values = {}
        theirs, ours = fetched
        now = self.now.run.values(ours, self.now.feeds, no_values)
        self.now = replace(self.now, values=now)
        shared = now if self.before.run.source is self.now.run.source else no_values
        try:
            values = self.before.run.values(theirs, self.before.feeds, shared)
        except SessionRefused:
            values = self.before.run.values(theirs, self.before.feeds, now)
        self.before = replace(self.before, values=values)

    # Values

    @cached_property
    def _runners(self) -> tuple[Runner, Runner]:
        return Runner(self.before), Runner(self.now)

    def compare(self, names: Sequence[str], *, with_run: bool = True) -> None:
        """Compare tensors, as many at a time as fit in memory."""
        every: dict[str, TensorDifference] = {}
        random: set[str] = set()
        distance = tensor_difference if with_run else weight_difference
        limit = MEMORY_LIMIT if with_run else WEIGHTS_LIMIT
        reads = {name: variable for name in names if (variable := self._variable_read(name))}
        for some in self._portions([name for name in names if name not in reads], limit):
            others = [self.pairs[name] for name in some]
            theirs = self._values_of(0, others, with_run=with_run)
            ours = self._values_of(1, some, with_run=with_run)
            differences = {}
            for name, other in zip(some, others, strict=True):
                if name in ours and other in theirs:
                    differences[name] = distance(name, theirs[other], ours[name], other=other)
            self._bytes_at_once = sum(value.nbytes for value in (*theirs.values(), *ours.values()))
            every |= differences
            random |= self._random(differences, theirs, ours) if with_run else set()
        for name, variable in reads.items():
            if variable in every:
                every[name] = replace(every[variable], name=name, other=self.pairs[name])
        dropped = self._set_aside(every, random)
        for name in names:
            if name in dropped:
                self._leave_out(name, RANDOM)
            elif name in every:
                self.differences[name] = every[name]
            else:
                why = (runner.why.get(each) for runner, each in self._places(name))
                self._leave_out(name, next(filter(None, why), NO_WEIGHT))

    def _variable_read(self, name: str) -> str:
        """The variable that a tensor reads, where its partner reads the partner of that, so that
        neither needs to be fetched; "" for others.
        """
        variable = self.now.variable_of(name)
        other = self.before.variable_of(self.pairs[name]) if variable else ""
        return variable if other and self.pairs.get(variable) == other else ""

    def _places(self, name: str) -> tuple[tuple[Runner, str], tuple[Runner, str]]:
        """Who computes a tensor and its partner."""
        return (self._runners[1], name), (self._runners[0], self.pairs[name])

    def _portions(self, names: Sequence[str], limit: int) -> Iterator[list[str]]:
        """The tensors in portions that fit in memory, as far as static shapes tell; the more of a
        portion turns out to be held, the smaller the next ones are.
        """
        self._bytes_at_once, factor = 0, 1.0
        portion: list[str] = []
        expected = 0
        for name in names:
            size = self.now.expected_bytes(name) + self.before.expected_bytes(self.pairs[name])
            if portion and (expected + size) * factor > limit:
                yield portion
                factor = max(1.0, self._bytes_at_once / max(expected, 1))
                portion, expected = [], 0
            portion.append(name)
            expected += size
        if portion:
            yield portion

    def _values_of(
        self, which: int, tensors: Sequence[str], *, with_run: bool = True
    ) -> dict[str, Array]:
        """Values of tensors of a graph: 0 is the one before."""
        side, runner = (self.before, self.now)[which], self._runners[which]
        weights = [name for name in tensors if side.is_weight(name)]
        values = side.weights(
            [name for name in weights if not with_run or not runner.is_dead(name)]
        )
        if with_run:
            weighed = set(weights)
            values |= runner.values([name for name in tensors if name not in weighed])
        contents = self._asset_contents[which]
        return {name: _contents_of_paths(value, contents) for name, value in values.items()}

    @cached_property
    def _asset_contents(self) -> tuple[Mapping[bytes, bytes], Mapping[bytes, bytes]]:
        """Digests of the asset files of both graphs by their paths, where both are SavedModels: a
        copy of one has the same files in another folder.
        """
        before, now = self.before.run.source.stored, self.now.run.source.stored
        assets = None if before is None else before.assets()
        assets_now = None if now is None else now.assets()
        if assets is None or assets_now is None:
            return {}, {}
        return _digests_by_path(assets), _digests_by_path(assets_now)

    def _random(
        self,
        differences: Mapping[str, TensorDifference],
        theirs: Mapping[str, Array],
        ours: Mapping[str, Array],
    ) -> set[str]:
        """The tensors that differ between two runs of one graph, among those that differ."""
        names = [
            name
            for name, each in differences.items()
            if not each.same
            and not (self.now.is_weight(name) and self.before.is_weight(each.other))
        ]
        if not names or not self._may_change:
            return set()
        others = [self.pairs[name] for name in names]
        again = self._values_of(0, others), self._values_of(1, names)
        return {
            name
            for name, other in zip(names, others, strict=True)
            if _is_unsteady(other, theirs, again[0]) or _is_unsteady(name, ours, again[1])
        }

    @cached_property
    def _may_change(self) -> bool:
        """Whether a graph may give other values in another run."""
        return any(
            may_be_random(op_type)
            if side.run.source.converted_model is not None
            else effect_of(op_type) in _MAY_CHANGE
            for side in (self.before, self.now)
            for op_type in _op_types(side.index)
        )

    def _set_aside(
        self, differences: Mapping[str, TensorDifference], random: set[str]
    ) -> frozenset[str]:
        """The random tensors, and those that depend on them and differ."""
        if not random:
            return frozenset()
        index = self.now.index
        downstream = forward(index, [index.op(name) for name in random])
        return frozenset(
            name
            for name, each in differences.items()
            if name in random or (not each.same and downstream[index.op(name)])
        )

    def _failures(self) -> tuple[str, ...]:
        """The tensors that only one of the graphs computes, since an op of the other fails."""
        fails = []
        for name in self.compared_names:
            why = [runner.why.get(tensor, "") for runner, tensor in self._places(name)]
            if sum(reason.startswith(FAILED) for reason in why) == 1:
                fails.append(name)
        return tuple(fails)

    # Tolerances

    def set_tolerances(self) -> None:
        """Say of each difference how much of it may be rounding."""
        of_other = {each.other: each for each in self.differences.values()}
        variances = (
            _variances(self.before.index, self.orders[0], of_other),
            _variances(self.now.index, self.orders[1], self.differences),
        )
        for name, each in self.differences.items():
            variance = max(
                variances[0][self.before.index.op(each.other)],
                variances[1][self.now.index.op(name)],
                rounding.LEAST_TERMS * rounding.epsilon(*each.dtypes) ** 2,
            )
            bound = self.tolerance.limit(each.dtypes, variance)
            self.differences[name] = replace(each, tolerance=bound)

    # The first divergence

    def _first_divergence(self) -> FirstDivergence | None:
        name = next((name for name, each in self.differences.items() if each.differs), None)
        if name is None:
            return None
        if self._is_weight(name):
            return self.divergence(name)
        op = self.now.index.op(name)
        weight = self._weight_upstream(op)
        if weight is not None:
            return self.divergence(name, weight)
        for each in (op, *self._exits(op)):
            loop = next(filter(_is_loop, reversed(enclosing_blocks(self.now.index, each))), None)
            if loop is not None:
                return self._in_loop(name, loop)
        self.calls = self._calls_downstream(name)
        return self.divergence(name)

    def _exits(self, op: int) -> list[int]:
        """What leaves loops of what an op reads: it shows nothing of a TensorArray's rounds."""
        index = self.now.index
        return [source for source in index.input_lists[op] if index.types[source] in EXIT]

    def _calls_downstream(self, name: str) -> list[tuple[str, str]]:
        """The outputs of calls, before and now, that a tensor is, or that its op reads without
        their being compared: lists.
        """
        index, other_index = self.now.index, self.before.index
        reads = input_tensors(index, index.op(name))
        other_reads = input_tensors(other_index, other_index.op(self.pairs[name]))
        calls = []
        for slot, tensor in enumerate(reads):
            if _is_handle(index, tensor):
                call = self._not_passed_on(index, tensor)
                by_slot = other_reads[slot] if slot < len(other_reads) else ""
                other = self.pairs.get(call, by_slot and self._not_passed_on(other_index, by_slot))
                calls += [(other, call)] if other else []
        return [
            pair
            for pair in (*calls, (self.pairs[name], name))
            if called_functions(index.nodes[index.op(pair[1])], index.functions)
        ]

    @staticmethod
    def _not_passed_on(index: GraphIndex, tensor: str) -> str:
        """The tensor that ops pass on unchanged."""
        op = index.op(tensor)
        while index.types[op] in VARIABLE_READS and index.input_lists[op]:
            tensor = input_tensors(index, op)[0]
            op = index.op(tensor)
        return tensor

    def _weight_upstream(self, op: int) -> int | None:
        """The variable that an op gives the value of; None if it is another op."""
        index = self.now.index
        while index.types[op] in VARIABLE_READS and index.input_lists[op]:
            op = index.input_lists[op][0]
            if index.types[op] in HANDLES:
                return op
        return None

    def divergence(
        self, name: str, weight: int | None = None, note: str = "", number: int | None = None
    ) -> FirstDivergence:
        """The divergence of a tensor, or of the variable that it is the value of."""
        index = self.now.index
        op = index.op(name) if weight is None else weight
        tensors = [] if weight is not None else input_tensors(index, op)
        inputs = [self.differences[each] for each in tensors if each in self.differences]
        unknown = [
            each for each in tensors if each not in self.differences and not _is_handle(index, each)
        ]
        notes = [note] if note else []
        if unknown and not note:
            notes.append(f"Not compared: {names_text(unknown)}, which the op reads.")
        notes += self._other_inputs(name, tensors)
        return FirstDivergence(
            name if weight is None else f"{index.names[op]}:0",
            index.names[op],
            index.types[op],
            self.differences[name],
            tuple(inputs),
            self.path,
            number,
            " ".join(notes),
        )

    def _other_inputs(self, name: str, tensors: Sequence[str]) -> list[str]:
        """Sentences on the inputs of an op that are other tensors in the other graph: all that it
        reads may agree, and be swapped.
        """
        index = self.before.index
        other = index.op(self.differences[name].other)
        if self.now.index.types[self.now.index.op(name)] != index.types[other]:
            return []
        here = {there: tensor for tensor, there in self.pairs.items()}
        sentences = []
        pairs = zip(tensors, input_tensors(index, other), strict=False)
        for slot, (tensor, there) in enumerate(pairs):
            if self.pairs.get(tensor) != there and not _is_handle(index, there):
                partner = here.get(there, there)
                is_here = f", which is {partner!r} here" if partner != there else ""
                sentences.append(
                    f"Input {slot} is {tensor!r}, and in the other graph {there!r}{is_here}."
                )
        return sentences[:MAX_OTHER_INPUTS]

    # Rounds of v1 loops

    def _in_loop(self, name: str, loop: Loop) -> FirstDivergence:
        """The first divergence in the first round of a loop in which something differs, of a tensor
        that is in it, or that is made of what leaves it.
        """
        is_inside = self.now.index.op(name) in loop.ops
        try:
            diverging_round = _Rounds(self, loop).first()
        except (SessionRefused, GraphEditError) as refusal:
            return self.divergence(name, note=f"{_LAST_ROUND}: {refusal.why}" if is_inside else "")
        if diverging_round is None:
            return self.divergence(name, note=f"{_LAST_ROUND}." if is_inside else "")
        number, differences = diverging_round
        first = next(each for each in differences if differences[each].differs)
        self.differences |= differences
        return self.divergence(first, number=None if self._is_weight(first) else number)


class _Rounds:
    """Compares what is in a loop of two graphs, round by round; the loops around it are in their
    last rounds.
    """

    def __init__(
        self,
        comparer: Comparer,
        loop: Loop,
        outer: tuple[LimitedLoop, LimitedLoop] | None = None,
    ) -> None:
        self._comparer, self._outer = comparer, outer
        self._loops = _other_loop(comparer, loop), loop
        index = comparer.now.index
        names = [name for name in comparer.compared_names if index.op(name) in loop.ops]
        in_condition = runtime.measure.last_round.is_in_condition
        # What the condition computes when the loop has ended comes after all rounds.
        late = {name for name in names if in_condition(index, loop, name)}
        self._names = sorted(names, key=late.__contains__)

    def first(self) -> tuple[int, dict[str, TensorDifference]] | None:
        """The first round in which something differs, from 1 on, and what is in the loop then; None
        if nothing does.
        """
        last = min(self._count(which) for which in (0, 1))
        agree, differ = -1, 0
        while not _differ(differences := self._at(differ)):
            if differ == last:
                return None
            agree, differ = differ, min(last, max(1, 2 * differ))
        while differ - agree > 1:
            middle = (agree + differ) // 2
            at_middle = self._at(middle)
            if _differ(at_middle):
                differ, differences = middle, at_middle
            else:
                agree = middle
        inner = self._inner_loop(differences) if differ and self._outer is None else None
        if inner is None:
            return max(1, differ), differences
        limited = self._with_limit(0, differ), self._with_limit(1, differ)
        return _Rounds(self._comparer, inner, limited).first() or (differ, differences)

    def _inner_loop(self, differences: Mapping[str, TensorDifference]) -> Loop | None:
        """The loop inside of this one in which something differs first; None if it is in none."""
        index = self._comparer.now.index
        first = next(name for name in differences if differences[name].differs)
        loops = [*filter(_is_loop, reversed(enclosing_blocks(index, index.op(first))))]
        return loops[1] if len(loops) > 1 else None

    def _with_limit(self, which: int, rounds: int) -> LimitedLoop:
        outer = None if self._outer is None else self._outer[which]
        side = (self._comparer.before, self._comparer.now)[which]
        index = side.index if outer is None else outer.index
        return runtime.measure.last_round.limit_rounds(index, self._loops[which], rounds, outer)

    def _side(self, which: int, limited: LimitedLoop) -> Side:
        side = (self._comparer.before, self._comparer.now)[which]
        return replace(side, run=replace(side.run, index=limited.index))

    def _count(self, which: int) -> int:
        """How many rounds a loop has."""
        limited = self._with_limit(which, _ALL_ROUNDS)
        values = Runner(self._side(which, limited)).values([limited.count])
        return int(values[limited.count]) if values else 0

    def _at(self, rounds: int) -> dict[str, TensorDifference]:
        """What is in the loop in that round."""
        comparer = self._comparer
        before, now = (self._side(which, self._with_limit(which, rounds)) for which in (0, 1))
        limited = Comparer(before, now, comparer.pairs, comparer.tolerance, comparer.path)
        limited.compare(self._names)
        judgements = comparer.differences
        return {
            name: replace(each, tolerance=judgements[name].tolerance)
            if name in judgements
            else each
            for name, each in limited.differences.items()
        }


def _differ(differences: Mapping[str, TensorDifference]) -> bool:
    return any(each.differs for each in differences.values())


def _is_loop(block: object) -> TypeGuard[Loop]:
    return isinstance(block, Loop)


def _other_loop(comparer: Comparer, loop: Loop) -> Loop:
    """The loop of the graph before that is the same; raises GraphEditError where there is none."""
    index = comparer.before.index
    for name in _tensors(comparer.now.index, loop.condition) if loop.condition is not None else ():
        if name in comparer.pairs:
            for block in filter(_is_loop, enclosing_blocks(index, index.op(comparer.pairs[name]))):
                if block.condition is not None:
                    return block
    raise GraphEditError("The other graph has no such loop with a condition.")


def paired_names(matched: MatchedGraphs) -> dict[str, str]:
    """{tensor of the second graph: the tensor of the first that it is}."""
    pairs = corresponding_tensors(matched)
    old, new = matched.before.index, matched.after.index
    pairs |= _replaced_ops(old, new, pairs)
    if is_converted(old) == is_converted(new):  # a converter's operators read otherwise
        pairs |= _replaced_parts(matched, pairs)
    return {
        f"{new.names[op]}:{port}": f"{old.names[was]}:{was_port}"
        for (op, port), (was, was_port) in pairs.items()
    }


def with_results(pairs: Pairs, before: Sequence[str], now: Sequence[str]) -> dict[str, str]:
    """Pairs {tensor now: tensor before} with results that have the same places in two graphs, and
    no partners by their ops.
    """
    every, partners = dict(pairs), set(pairs.values())
    for was, result in zip(before, now, strict=False):
        if result not in every and was not in partners:
            every[result] = was
            partners.add(was)
    return every


def _replaced_ops(
    before: GraphIndex, now: GraphIndex, pairs: Mapping[_Tensor, _Tensor]
) -> dict[_Tensor, _Tensor]:
    """Further pairs: ops of other types that read the same tensors, and are read in the same place:
    a Softsign that took the place of a Tanh.
    """
    paired, paired_before = ({op for op, _ in side} for side in (pairs, pairs.values()))
    further: dict[_Tensor, _Tensor] = {}
    for op in range(len(now)):
        reads = now.input_tensors(op)
        if op in paired or not reads or not all(read in pairs for read in reads):
            continue
        wanted = [pairs[read] for read in reads]
        for reader in now.consumer_lists[op]:
            if (reader, 0) not in pairs:
                continue
            there = before.input_tensors(pairs[reader, 0][0])
            for (source, port), (was, was_port) in zip(
                now.input_tensors(reader), there, strict=False
            ):
                is_same_place = source == op and port == was_port and was not in paired_before
                if is_same_place and before.input_tensors(was) == wanted:
                    count = min(len(now.dtypes(op)), len(before.dtypes(was)))
                    further |= {(op, number): (was, number) for number in range(count)}
                    paired_before.add(was)
    return further


def _replaced_parts(
    matched: MatchedGraphs, pairs: Mapping[_Tensor, _Tensor]
) -> dict[_Tensor, _Tensor]:
    """Further pairs: tensors of ops that only one graph has, each of which all ops of both read in
    the same places: a GELU of seven ops that took the place of a Relu.
    """
    before, now = matched.before.index, matched.after.index
    is_alone = np.ones(len(now), bool)
    is_alone[[j for j in matched.pair if j >= 0]] = False
    candidates = defaultdict[_Tensor, set[_Tensor]](set)
    sources = defaultdict[_Tensor, set[_Tensor]](set)
    for (j, port), (i, _) in pairs.items():
        if port or matched.pair[i] != j or before.types[i] != now.types[j]:
            continue
        there, here = before.input_tensors(i), now.input_tensors(j)
        if len(there) == len(here):
            for was, source in zip(there, here, strict=True):
                if is_alone[source[0]] or matched.pair[was[0]] < 0:
                    candidates[source].add(was)
                    sources[was].add(source)
    partners = set(pairs.values())
    return {
        source: was
        for source, (was, *more) in candidates.items()
        if not more
        and len(sources[was]) == 1
        and is_alone[source[0]]
        and matched.pair[was[0]] < 0
        and not (source in pairs or was in partners)
        and _dtype_of(now, source) == _dtype_of(before, was) not in HANDLE_DTYPES
    }


def _dtype_of(index: GraphIndex, tensor: _Tensor) -> str:
    dtypes = index.dtypes(tensor[0])
    return dtypes[tensor[1]] if tensor[1] < len(dtypes) else ""


def evaluation_order(index: GraphIndex, outputs: Iterable[str]) -> list[int]:
    """The ops in the order of evaluation, first for the outputs: each after what it reads and waits
    for, and shortly before what reads it. Loops are cut where a round hands over to the next; what
    leaves one comes after what a round gives.
    """
    goes_on = {kind for kind in index.kinds[0] if kind in NEXT}

    def sources(op: int) -> list[int]:
        reads = [*index.input_lists[op], *index.control_lists[op]]
        reads += _given_by_rounds(index, op) if index.types[op] in EXIT else ()
        return [source for source in reversed(reads) if index.types[source] not in goes_on]

    roots = (*(index.op(name) for name in outputs), *range(len(index)))
    return traversal.after_sources(roots, sources, len(index))


def _given_by_rounds(index: GraphIndex, leaving: int) -> list[int]:
    """What the rounds of a loop hand over to the next ones of a value that leaves it: the rounds of
    a TensorArray show in nothing else, for what leaves is a number that orders them.
    """
    return [
        source
        for switch in index.input_lists[leaving]
        for merge in index.input_lists[switch]
        for handed_over in index.input_lists[merge]
        if index.types[handed_over] in NEXT
        for source in index.input_lists[handed_over]
    ]


def _variances(
    index: GraphIndex, order: Sequence[int], differences: Mapping[str, TensorDifference]
) -> list[float]:
    """For each op the variance of what it computes, in squares of roundings by its own scale."""
    variances = [0.0] * len(index)
    for op in order:
        sources = index.input_lists[op]
        tensors = _tensors(index, op)
        outputs = [differences[name] for name in tensors if name in differences]
        own = rounding.epsilon(*(index.dtypes(op)))
        if not sources:
            is_cast = any(each.dtypes[0] != each.dtypes[1] for each in outputs)
            # A converter rounds constants that it also lays out otherwise, so they have no partner;
            # and an input of integers what is fed.
            finest = max((rounding.epsilon(*each.dtypes) for each in outputs), default=0.0)
            is_rounded = own > max(finest, rounding.epsilon("float32"))
            variances[op] = own**2 if is_cast or is_rounded else 0.0
            continue
        if not own:
            continue  # integers are exact
        inputs = [differences[name] for name in input_tensors(index, op) if name in differences]
        shape = outputs[0].shapes[1] if outputs else ()
        if outputs:
            count = rounding.terms(index.types[op], [each.shapes[1] for each in inputs], shape)
        else:
            count = 1.0
        if called_functions(index.nodes[op], index.functions):
            count = max(count, rounding.CALLED_SUM)
        scale = outputs[0].scale if outputs else 0.0
        larger = rounding.growth(index.types[op], [each.scale for each in inputs], scale)
        inherited = max(variances[source] for source in sources)
        variances[op] = (inherited + max(count, rounding.LEAST_TERMS) * own**2) * larger**2
    return variances


def _op_types(index: GraphIndex) -> set[str]:
    """The types of the ops of a graph, and of the functions that they call."""
    types = set(index.kinds[0])
    for function in index.reachable_functions().values():
        types |= {node.op for node in function.node_def}
    return types - index.functions


def _is_unsteady(name: str, once: Mapping[str, Array], again: Mapping[str, Array]) -> bool:
    """Whether two runs of one graph give values that are not equal but for rounding."""
    if name not in once or name not in again:
        return name in once
    difference = tensor_difference(name, once[name], again[name])
    variance = rounding.epsilon(*difference.dtypes) ** 2 * rounding.CALLED_SUM
    return replace(difference, tolerance=Tolerance({}).limit(difference.dtypes, variance)).differs


def _tensors(index: GraphIndex, op: int, *, handles: bool = False) -> list[str]:
    """The outputs of an op that have values, or all."""
    return [
        f"{index.names[op]}:{port}"
        for port, dtype in enumerate(index.dtypes(op))
        if handles or dtype not in HANDLE_DTYPES
    ]


def _is_handle(index: GraphIndex, name: str) -> bool:
    return index.tensor_dtype(name) in HANDLE_DTYPES


def input_tensors(index: GraphIndex, op: int) -> list[str]:
    """The tensors that an op reads, by name."""
    start = index.inputs.start[op]
    return [
        f"{index.names[source]}:{index.ports[start + slot]}"
        for slot, source in enumerate(index.input_lists[op])
    ]

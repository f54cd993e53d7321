"""The two sides of a comparison: which tensors of a graph can be computed, and their values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from tfgraphwidget import runtime
from tfgraphwidget.editor.graph_run import Feeds, GraphRun, Values
from tfgraphwidget.errors import GraphEditError, NotTrusted, SessionRefused
from tfgraphwidget.graph import (
    BYTES,
    CONSTANTS,
    FUSED_BATCH_NORMS,
    HANDLE_DTYPES,
    HANDLES,
    VARIABLE_READS,
    Conditional,
    Effect,
    GraphIndex,
    Loop,
    Mask,
    control_flow,
    effect_of,
    effects_of,
    enclosing_blocks,
    forward,
    mask_of,
    needed_ops,
    of_type,
    side_effects,
    tensor_values,
    waiting_tensors,
    writes,
)
from tfgraphwidget.naming import split_tensor

Array = np.ndarray

UNKNOWN_SIZE = 1  # of a dimension that is not known, unless it is the first, which is the batch
MAX_FAILURES = 20  # ops that fail, one values by each run, before a graph counts as one that cannot

NO_VALUE = "which have no value in Python"
NOT_FED = "which need a placeholder that is not fed"
EFFECTS = "which the outputs do not need, and which do more than compute"
UNTRUSTED = "which do more than compute in a file that is not trusted"
WAITING = "which wait for what is in a queue"
UNKNOWN = "which need an op that TensorFlow does not know"
DEAD = "in branches that were not taken"
NO_ROUND = "in a loop without a round, or in branches not taken in its last"
FAILED = "which cannot be computed: "
RESERVED = "which only their gradients read"

_REACHING = frozenset(
    {
        Effect.READS_FILES,
        Effect.WRITES_FILES,
        Effect.NETWORK,
        Effect.PYTHON,
        Effect.WAITS,
        Effect.ENDS_PROCESS,
    }
)


@dataclass(frozen=True)
class Side:
    """One of two graphs that are compared.

    Attributes:
        run: The graph.
        feeds: Values by tensor.
        outputs: The tensors that the graph is there for: what they need may have side effects.
        values: The values of its variables, by state, as `GraphRun.values` returns them.
    """

    run: GraphRun
    feeds: Feeds
    outputs: tuple[str, ...]
    values: Values = field(default_factory=dict)

    @property
    def index(self) -> GraphIndex:
        """The graph."""
        return self.run.index

    @cached_property
    def _obstacles(self) -> tuple[tuple[Mask, str], ...]:
        """The ops that are not run, with the reasons."""
        index, feeds = self.index, self.feeds
        needed = needed_ops(index, feeds, self.outputs)
        every = range(len(index))
        filled = self.run.state.names if self.run.is_body else ()
        unfed = runtime.measure.probe.unfed_placeholders(index, index.names, feeds, filled)
        fed = [index.tensor(name) for name in feeds]
        if self.run.source.converted_model is not None:  # its runtime runs it as a whole
            return ((forward(index, np.flatnonzero(mask_of(index, unfed))), NOT_FED),)
        unknown = {
            op_type: index.typing.definition(op_type) is None and op_type not in index.functions
            for op_type in index.kinds[0]
        }
        reaching = of_type(index, lambda op_type: effect_of(op_type) in _REACHING)
        effects = (mask_of(index, side_effects(index, every)) | reaching) & ~needed
        trust = self.run.source.trust
        if trust.is_given:
            dangerous = set()
        else:
            dangerous = {each.root for each in effects_of(index, trust).of_graph() if each.root}
        untrusted = mask_of(index, [index.ids[name] for name in dangerous]) & ~needed
        waiting = waiting_tensors(index, np.ones(len(index), bool), feeds, index.names)
        reasons = [
            (mask_of(index, unfed), NOT_FED),
            (of_type(index, unknown.__getitem__), UNKNOWN),
            (untrusted, UNTRUSTED),
            (effects, EFFECTS),
            (mask_of(index, [index.op(name) for name in waiting]) & ~needed, WAITING),
        ]
        return tuple(
            (forward(index, np.flatnonzero(ops).tolist(), stop=fed), reason)
            for ops, reason in reasons
            if ops.any()
        )

    @property
    def without_values(self) -> Mask:
        """The ops that need a variable that has no value: Keras exports such ones, which nothing
        else reads.
        """
        index = self.index
        handles = np.flatnonzero(of_type(index, HANDLES.__contains__)).tolist()
        values = self.run.weights([index.names[op] for op in handles])
        missing = [op for op in handles if index.names[op] not in values]
        return forward(index, missing)

    def obstacle(self, tensor: str) -> str:
        """Why a tensor is not computed; "" if it is."""
        if tensor in self.feeds:
            return ""
        op, port = self.index.tensor(tensor)
        if self.index.types[op] in FUSED_BATCH_NORMS and port > 2:
            return RESERVED
        if self.index.dtypes(op)[port] in HANDLE_DTYPES or self._is_not_kept(op, port):
            return NO_VALUE
        return next((reason for ops, reason in self._obstacles if ops[op]), "")

    def _is_not_kept(self, op: int, port: int) -> bool:
        """Whether a tensor is what a loop of a converted model carries and nothing consumes: the
        interpreter has no memory for it.
        """
        index = self.index
        if self.run.source.converted_model is None or index.types[op] != "WHILE":
            return False
        consumers = index.consumer_lists[op]
        is_consumed = any((op, port) in index.input_tensors(each) for each in consumers)
        return not is_consumed and f"{index.names[op]}:{port}" not in self.outputs

    def is_weight(self, tensor: str) -> bool:
        """Whether a tensor is a constant, or the handle of a variable."""
        kind = self.index.types[self.index.op(tensor)]
        return kind in CONSTANTS or kind in HANDLES

    @cached_property
    def _updates_variables(self) -> bool:
        """Whether a run changes variables, so that reads may give other values than they have."""
        needed = np.flatnonzero(needed_ops(self.index, self.feeds, self.outputs)).tolist()
        return bool(writes(self.index, needed).any())

    def variable_of(self, tensor: str) -> str:
        """The handle of the variable whose value a tensor has all the time; "" for others."""
        index, op = self.index, self.index.op(tensor)
        if index.types[op] in VARIABLE_READS and index.input_lists[op]:
            handle = index.input_lists[op][0]
            if index.types[handle] in HANDLES and not self._updates_variables:
                return f"{index.names[handle]}:0"
        return ""

    def weights(self, tensors: Sequence[str]) -> dict[str, Array]:
        """The values of constants and variables, as far as they have any."""
        index, values = self.index, dict[str, Array]()
        variables = {}
        for name in tensors:
            op = index.op(name)
            if index.types[op] in HANDLES:
                variables[index.names[op]] = name
            else:
                proto = index.nodes[op].attr["value"].tensor
                try:
                    stored = tensor_values.tensor_array(proto, index.dtypes(op)[0], None)
                except (TypeError, ValueError):  # of a dtype without values, or damaged
                    continue
                model = self.run.source.converted_model
                values[name] = stored if model is None else model.value(name, stored)
        for op_name, value in self.run.weights(list(variables)).items():
            values[variables[op_name]] = np.asarray(value)
        return values

    def expected_bytes(self, tensor: str) -> int:
        """How many bytes a value has, as far as its static shape is known."""
        op, port = self.index.tensor(tensor)
        dtype, shape = self.index.dtypes(op)[port], self.index.shape(op, port)
        sizes = list(shape or ())
        if sizes and sizes[0] is None:
            sizes[0] = self._batch
        elements = math.prod(UNKNOWN_SIZE if size is None else size for size in sizes)
        return elements * BYTES.get(dtype.removesuffix("_ref"), 8)

    @cached_property
    def _batch(self) -> int:
        shapes = [np.asarray(value).shape for value in self.feeds.values()]
        sizes = [shape[0] for shape in shapes if shape]
        return max(sizes, default=1)


class Runner:
    """Computes tensors of one graph; `why` says of each that was not computed why not."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.why: dict[str, str] = {}
        self._branches: dict[str, int] = {}
        self._failing: list[tuple[Mask, str]] = []

    def values(self, tensors: Iterable[str]) -> dict[str, Array]:
        """The values of tensors, as far as they are computed. Raises SessionRefused."""
        names = [name for name in dict.fromkeys(tensors) if not self.is_dead(name)]
        index = self.side.index
        rounds = runtime.measure.keep_last_rounds(index, names)
        if rounds is None:
            return self._run(index, names)
        kept_values = self._run(rounds.index, rounds.fetches)
        values = {}
        for name, place in rounds.tensors.items():
            flags = {flag: int(kept_values[flag]) for flag, _ in place.flags if flag in kept_values}
            was_run = len(flags) == len(place.flags) and not place.note(flags)
            if was_run and place.tensor in kept_values:
                values[name] = kept_values[place.tensor]
            else:
                self.why[name] = NO_ROUND
        return values

    def _run(self, index: GraphIndex, tensors: Sequence[str]) -> dict[str, Array]:
        """Run a graph, without what fails."""
        run = replace(self.side.run, index=index)
        for _ in range(MAX_FAILURES):
            names = [name for name in tensors if not self._fails(index, name)]
            if not names:
                return {}
            try:
                values = run.run(names, self.side.feeds, self.side.values)
            except NotTrusted:
                raise
            except GraphEditError as refusal:  # the graph cannot be imported, or cannot run
                if not self._exclude(index, names, refusal):
                    raise
            else:
                return dict(zip(names, map(np.asarray, values), strict=True))
        raise SessionRefused(f"More than {MAX_FAILURES} ops fail; give other feeds.")

    def _fails(self, index: GraphIndex, tensor: str) -> bool:
        op = index.op(tensor)
        reason = next((why for ops, why in self._failing if op < len(ops) and ops[op]), "")
        if reason:
            self.why[tensor] = reason
        return bool(reason)

    def _exclude(self, index: GraphIndex, names: Sequence[str], refusal: GraphEditError) -> bool:
        """Leave out what an op that fails computes; whether one was values."""
        message = getattr(refusal.__cause__, "message", refusal.why)  # of an OpError
        fetched = needed_ops(index, self.side.feeds, names)
        for name in _named_ops(str(message)):
            op = index.ids.get(name)
            if op is not None and fetched[op]:
                reason = refusal.sentence.removesuffix(".")
                self._failing.append((forward(index, [op]), f"{FAILED}{name!r}: {reason}"))
                return True
        return False

    def is_dead(self, tensor: str) -> bool:
        """Whether a tensor is in a branch of a v1 conditional that is not taken."""
        op, port = self.side.index.op(tensor), split_tensor(tensor)[1]
        for block in reversed(enclosing_blocks(self.side.index, op)):
            if isinstance(block, Loop):
                return False
            branch = runtime.measure.last_round.branch_of(block, op, port)
            if branch is not None and self._branch(block) != branch:
                self.why[tensor] = DEAD
                return True
        return False

    def _branch(self, block: Conditional) -> int:
        """The branch that is taken of a conditional outside of loops; -1 for none."""
        op, port = block.predicate
        tensor = f"{self.side.index.names[op]}:{port}"
        if tensor not in self._branches:
            # All conditionals at this depth at once: there may be hundreds.
            blocks = [
                each
                for each in control_flow.conditionals(self.side.index)
                if each.outer is block.outer
            ]
            names = {f"{self.side.index.names[b.predicate[0]]}:{b.predicate[1]}": b for b in blocks}
            open_names = [name for name in names if not self.side.obstacle(name)]
            values = self._run(self.side.index, open_names) if open_names else {}
            for name, each in names.items():
                last = len(each.branches) - 1
                # of a damaged graph not one number
                branch = int(values[name]) if np.size(values.get(name, ())) == 1 else -1
                self._branches[name] = min(branch, last)
        return self._branches[tensor]


def _named_ops(message: str) -> Iterator[str]:
    """The ops that a message of TensorFlow names, the innermost first."""
    for name in re.findall(r"\{\{node ([^}]+)\}\}|\[\[([^\[\]{}]+)\]\]", message):
        text = name[0] or name[1]
        yield text
        yield text.partition("/")[2]  # in a module, whose name is a scope around its ops

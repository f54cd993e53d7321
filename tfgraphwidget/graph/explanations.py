"""Explanations: differences of two graphs that are one usual change, such as freezing.

Each op that only one graph has, and each detail of an op that both have, is explained by at most
one of CHANGES. An identity or a cast is explained where an op that both graphs have consumes the
same past it; one at the end of a graph, which callers may name, stays a difference.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tfgraphwidget.graph.adjacency import walk_from
from tfgraphwidget.graph.channel_scales import (
    ReadVariable,
    UnknownValue,
    agree,
    is_value_of,
    scaled_layer,
)
from tfgraphwidget.graph.contraction import computed_from_weights, handed_on
from tfgraphwidget.graph.converted_ops import is_converted
from tfgraphwidget.graph.edges import Mask
from tfgraphwidget.graph.inlining import InlinedGraph, MatchedGraphs
from tfgraphwidget.graph.op import dtype_name
from tfgraphwidget.graph.op_matching import is_rounded
from tfgraphwidget.graph.op_types import (
    CASTS,
    CHANNEL_SHIFTS,
    CONSTANTS,
    ENTER,
    FOLDABLE_LAYERS,
    FUNCTIONAL_CONTROL_FLOW,
    FUSED_BATCH_NORMS,
    GATHERS,
    HANDLES,
    IDENTITY,
    IN_PLACE_OF_CALLS,
    MERGE,
    PASSED_ON,
    PLACEHOLDERS,
    RESOURCE_READS,
    SCALES_AND_SHIFTS,
    SQUARE_ROOTS,
    SWITCH,
    VARIABLE_READS,
)
from tfgraphwidget.graph.stateful_resources import key_of, of_type, persistent_state
from tfgraphwidget.graph.tensor_values import tensor_array
from tfgraphwidget.graph.traversal import backward, forward
from tfgraphwidget.naming import count_text, last_part, names_text
from tfgraphwidget.tf_types import NodeDef, TensorProto

Tensor = tuple[int, int]
StateKey = tuple[str, bytes, str]
StateKeys = Mapping[StateKey, set[StateKey]]

INLINED, FROZEN, FOLDED = "inlined", "frozen", "batch norm"
PRECISION, IDENTITIES, STATE_NAMES = "precision", "identities", "names of state"
CONVERTED, COMPUTED, MERGED = "converted", "constants", "equal constants"
CHANGES = (CONVERTED, INLINED, FROZEN, FOLDED, COMPUTED, MERGED, PRECISION, IDENTITIES, STATE_NAMES)
RENAMING_CHANGES = frozenset({CONVERTED, INLINED, FROZEN, FOLDED})

INPUT, CONTROL_INPUT, ATTRIBUTE = "input ", "control input", "attr "
MOST_NAMES = 3  # in a sentence
FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})
# Past them gradients or the run end otherwise than without them.
WITH_AN_EFFECT = PASSED_ON - IDENTITY - VARIABLE_READS - {"Snapshot"}
SLICE_READS = RESOURCE_READS - VARIABLE_READS | GATHERS  # they read slices of a weight
STATELESS = "Stateless"
# By these a session finds the value of a variable, and a message says what it is.
NAMES_OF_STATE = frozenset({"shared_name", "debug_name"})
# Attributes of functional control flow with an element for each argument.
ARGUMENT_LISTS = frozenset({"T", "Tin", "output_shapes"})
UNUSED_INPUT = "unused_control_flow_input"
_NUMBER = re.compile(r"_\d+$")


class Detail(NamedTuple):
    """What differs in an op: "type", "device", "input 0", "control input", "attr strides"."""

    what: str
    before: str
    after: str

    def __str__(self) -> str:
        if not self.before or not self.after:
            return f"{self.what} {'+' if self.after else '-'} {self.after or self.before}"
        return f"{self.what} {self.before} → {self.after}"


class OpChange(NamedTuple):
    """An op that both graphs have; `was` is its name before."""

    name: str
    was: str
    details: tuple[Detail, ...]

    def __str__(self) -> str:
        return f"{self.name}: {'; '.join(map(str, self.details))}"


class Explanation(NamedTuple):
    """Differences that are one usual change.

    Attributes:
        change: One of CHANGES.
        sentence: What the change is: "frozen: 10 variables became constants".
        added: The ops that only the second graph has for it.
        removed: The ops that only the first graph has for it.
        changed: The ops of both, with the details that it explains.
        renamed: Ops that are the same as (name before, name after): those of an inlined function
            have the name of the call before theirs.
        functions_added: The functions that only the second graph has for it.
        functions_removed: The functions that only the first graph has for it.
    """

    change: str
    sentence: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[OpChange, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    functions_added: tuple[str, ...] = ()
    functions_removed: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.sentence


class _Side:
    """One of the graphs: `pair` has the other's ops, -1 for none; `causes` the change that explains
    an op of it that has no pair.
    """

    def __init__(self, inlined: InlinedGraph, pair: Sequence[int]) -> None:
        self.inlined = inlined
        self.index = index = inlined.index
        self.pair = pair
        self.causes: dict[int, str] = {}
        self.unpaired: Mask = np.array(pair, np.int64) < 0
        may_be_passed = self.unpaired & ~self._ops_with_an_effect()
        self.past = handed_on(index, PASSED_ON | CASTS, may_be_passed)
        self.past_scales = handed_on(index, PASSED_ON | CASTS | SCALES_AND_SHIFTS, may_be_passed)
        everything = np.ones(len(index), bool)
        self.layers = handed_on(index, PASSED_ON | CASTS | SCALES_AND_SHIFTS, everything)
        self.identities = handed_on(index, VARIABLE_READS, everything)
        self.weights = computed_from_weights(index)

    def _ops_with_an_effect(self) -> Mask:
        """The ops that hand a tensor on and are a difference all the same: they stop gradients or
        check values, or are casts that do more than round.
        """
        has_effect = np.zeros(len(self.index), bool)
        for op in np.flatnonzero(self.unpaired).tolist():
            op_type = self.index.types[op]
            if op_type in CASTS:
                has_effect[op] = not self._only_rounds(op)
            elif op_type in PASSED_ON:
                has_effect[op] = op_type in WITH_AN_EFFECT
        return has_effect

    def _only_rounds(self, cast: int) -> bool:
        """Whether a cast is from floating point to floating point."""
        node = self.index.nodes[cast]
        dtypes = [node.attr.get(name) for name in ("SrcT", "DstT")]
        return node.op == "Cast" and all(
            dtype is not None and dtype_name(dtype, "type", dtype.type) in FLOATS
            for dtype in dtypes
        )

    def is_handle(self, op: int) -> bool:
        """Whether an op is a variable, or an argument that refers to one."""
        return self.index.types[op] in HANDLES or self.index.dtypes(op)[:1] == ("resource",)

    def kernels(self, layer: int) -> list[int]:
        """The ops that give the weights of a layer, past those that hand them on."""
        inputs = [tensor for tensor in self.read(layer) if self.weights[tensor[0]]]
        return [self.layers.root(tensor)[0] for tensor in inputs]

    def read(self, op: int) -> list[Tensor]:
        """The tensors that an op consumes."""
        return self.index.input_tensors(op)

    def consumed_ports(self, op: int) -> set[int]:
        """The outputs of an op that others consume."""
        consumers = self.index.consumer_lists[op]
        return {port for each in consumers for source, port in self.read(each) if source == op}

    def origin(self, tensor: Tensor) -> int:
        """The op that gives a tensor, past those that hand it on, into loops too."""
        op = self.identities.root(tensor)[0]
        while self.index.types[op] in ENTER and self.index.input_lists[op]:
            op = self.identities.root(self.read(op)[0])[0]
        return op

    def consumers(self, op: int) -> set[int]:
        """The ops that consume an output of an op, as it is or handed on."""
        consumers, types = self.index.consumer_lists, self.index.types
        hand_on = PASSED_ON | CASTS
        way = walk_from([op], lambda at: (each for each in consumers[at] if types[each] in hand_on))
        return {each for at in way for each in consumers[at] if types[each] not in hand_on}

    def chain(self, op: int) -> list[int]:
        """The ops whose output an op scales or shifts, its layer the last of them."""
        ops = self.layers.path((op, 0))[1:]
        layer = self.layer(op)
        return ops if layer is None else [*ops, layer]

    def layer(self, op: int) -> int | None:
        """The layer whose output an op scales or shifts, or that it is; None for none."""
        layer, _ = self.layers.root((op, 0))
        return layer if self.index.types[layer] in FOLDABLE_LAYERS else None

    def sources_past_explained(self, op: int) -> dict[int, str]:
        """The ops that explained ops among the sources of an op consume or wait for, and so on,
        with the changes that explain these.
        """
        sources, stack = dict[int, str](), [op]
        while stack:
            at = stack.pop()
            for source in (*self.index.input_lists[at], *self.index.control_lists[at]):
                if at != op and source not in sources:
                    sources[source] = self.causes[at]
                if source in self.causes and (at == op or source not in sources):
                    stack.append(source)
        return sources

    def has_root(self, ops: Iterable[int]) -> bool:
        """Whether ops without a pair compute a square root, as a batch norm does of a variance."""
        sources = self.index.input_lists
        way = walk_from(ops, lambda op: (source for source in sources[op] if self.unpaired[source]))
        return any(self.index.types[op] in SQUARE_ROOTS for op in way)

    def explain_what_serves(self, computed: Collection[int] = ()) -> None:
        """Explain ops without a pair that only explained ops consume: a folded norm's weights; or
        ops in whose place are constants now (`computed`).
        """
        stack = [*self.causes, *computed]
        while stack:
            op = stack.pop()
            for source in self.index.input_lists[op]:
                if self.unpaired[source] and source not in self.causes:
                    consumers = self.index.consumer_lists[source]
                    if all(each in self.causes or each in computed for each in consumers):
                        self.causes[source] = self.causes.get(op, COMPUTED)
                        stack.append(source)

    def ops_of(self, change: str) -> tuple[str, ...]:
        """The names of the ops without a pair that a change explains, in graph order."""
        ops = sorted(op for op, cause in self.causes.items() if cause == change)
        return tuple(self.index.names[op] for op in ops)

    def functions_of(self, change: str) -> dict[str, None]:
        """The functions that ops call which a change explains, or calls that were inlined, and that
        no op calls which is not explained.
        """
        index = self.index
        nodes = [index.nodes[op] for op, cause in self.causes.items() if cause == change]
        nodes += self.inlined.calls if change == INLINED else ()
        if not (index.functions and nodes):
            return {}
        remaining = [node for op, node in enumerate(index.nodes) if op not in self.causes]
        called = index.reachable_functions(remaining)
        # A library that inlining leaves empty has no functions either that no op called; nor has
        # that of a frozen graph.
        functions: Iterable[str]
        if change in (INLINED, CONVERTED, FROZEN):
            functions = sorted(index.functions)
        else:
            functions = index.reachable_functions(nodes)
        return {name: None for name in functions if name not in called}

    def to_the_other(self, tensor: Tensor) -> Tensor:
        """The tensor of the other graph that one is; its op is -1 for none."""
        return self.pair[tensor[0]], tensor[1]

    def _hands_on(self, op: int) -> bool:
        """Whether an op hands on its tensors."""
        return self.index.types[op] in IDENTITY | {"IdentityN"}

    def outputs(self) -> set[Tensor]:
        """The tensors that ops give which no other consumes, past those that hand them on."""
        count = np.diff(self.index.consumers.start)
        return {self.origin_of((op, 0)) for op in np.flatnonzero(count == 0).tolist()}

    def origin_of(self, tensor: Tensor) -> Tensor:
        """The tensor that one is, past identities of one and of several tensors."""
        root = self.identities.root(tensor)
        while self.index.types[root[0]] == "IdentityN":
            root = self.identities.root(self.read(root[0])[root[1]])
        return root

    def explain_inlined(self, other: _Side) -> None:
        """What is in place of calls of the other graph, and what hands on what they gave."""
        if not (self.inlined.has_bodies or other.inlined.has_bodies):
            return
        results, outputs = other.call_results(), other.outputs()
        stack = [
            op
            for op in np.flatnonzero(self.unpaired).tolist()
            if self._is_made_by_inlining(op, results, outputs)
        ]
        self.causes |= dict.fromkeys(stack, INLINED)
        while stack:
            for source in self.index.input_lists[stack.pop()]:
                if not self.unpaired[source] or source in self.causes:
                    continue
                hands_on = self.index.types[source] in IDENTITY | SWITCH | {"IdentityN"}
                consumers = self.index.consumer_lists[source]
                if hands_on and all(consumer in self.causes for consumer in consumers):
                    self.causes[source] = INLINED
                    stack.append(source)

    def call_results(self) -> set[Tensor]:
        """The tensors of the other graph that are what inlined calls, or the function that is the
        whole graph, gave here.
        """
        tensors = [self.index.tensor(name) for name in self.inlined.results]
        for name in self.inlined.helpers & self.index.ids.keys():
            tensors += self.read(self.index.ids[name])
        return {self.to_the_other(self.origin_of(tensor)) for tensor in tensors}

    def _is_made_by_inlining(self, op: int, results: set[Tensor], outputs: set[Tensor]) -> bool:
        """Whether an op without a pair is in the place of a call of the other graph, only orders
        others, hands on `results` of calls there, or one of its `outputs` that no op consumes.
        """
        name, op_type = self.index.names[op], self.index.types[op]
        if name in self.inlined.helpers and op_type in IN_PLACE_OF_CALLS:
            return True
        if name in self.inlined.bodies and op_type == "NoOp":
            return True
        if self._only_orders(op):
            return True
        if not self._hands_on(op):
            return False
        if {self.origin_of(tensor) for tensor in self.read(op)} <= results:
            return True
        is_end = not self.index.consumer_lists[op]
        return is_end and self.to_the_other(self.origin_of((op, 0))) in outputs

    def is_from_call(self, op: int) -> bool:
        """Whether an op is of a function that was inlined, or took the place of its call."""
        name = self.index.names[op]
        return name in self.inlined.bodies or name in self.inlined.helpers

    def is_without_effect(self, op: int) -> bool:
        """Whether an op is known to compute only."""
        op_type = self.index.types[op]
        if op_type in FUNCTIONAL_CONTROL_FLOW | VARIABLE_READS | IN_PLACE_OF_CALLS:
            return True
        definition = self.index.typing.definition(op_type)
        return definition is not None and not definition.is_stateful

    def _only_orders(self, op: int) -> bool:
        """Whether others only wait for an op, or it is what TensorFlow leaves of an input."""
        if self.index.consumer_lists[op]:
            return False
        op_type = self.index.types[op]
        is_waited_for = bool(self.index.control_consumer_lists[op])
        is_left = op_type in PLACEHOLDERS and self.index.names[op].startswith(UNUSED_INPUT)
        return is_left or (is_waited_for and op_type in IN_PLACE_OF_CALLS)

    def explain_unneeded(self) -> list[int]:
        """Explain by freezing the ops without a pair that no op with a pair needs; these."""
        needed = backward(self.index, np.flatnonzero(~self.unpaired).tolist())
        ops = np.flatnonzero(self.unpaired & ~needed).tolist()
        self.causes |= dict.fromkeys(ops, FROZEN)
        return ops


class Explainer:
    """Two graphs, and what explains their differences.

    Args:
        matched: The graphs.
        changed: The ops that both have, with what differs in them.
        arguments: The pairs of ops that are arguments, where the graphs are bodies of functions.
        readers: What reads the values of variables of both, where these are known.

    Attributes:
        same_tensors: {tensor of the second graph: tensor of the first} of tensors that consumers of
            both read past what was explained.
        other_values: The ops of the second graph whose pair computes other values although nothing
            else differs: a layer that a batch norm was folded into, and its weights.
        other_branches: The Merge ops of the second graph that read branches in another order.
    """

    def __init__(
        self,
        matched: MatchedGraphs,
        changed: Sequence[OpChange],
        arguments: Collection[tuple[int, int]] = (),
        readers: tuple[ReadVariable | None, ReadVariable | None] = (None, None),
    ) -> None:
        self._readers = readers
        self._has_unknown_values = False
        back = [-1] * len(matched.after.index)
        for i, j in enumerate(matched.pair):
            if j >= 0:
                back[j] = i
        self._digests = matched.attributes
        self._before = _Side(matched.before, matched.pair)
        self._after = _Side(matched.after, back)
        self._changed = changed
        self._variables = self._ops_that_became(CONSTANTS, HANDLES)
        self._weights = self._variables | self._ops_that_became(HANDLES, CONSTANTS)
        for i, j in arguments:
            is_handle, is_new_handle = self._before.is_handle(i), self._after.is_handle(j)
            if is_handle != is_new_handle and matched.pair[i] == j:
                self._weights.add(i)
                if is_handle:
                    self._variables.add(i)
        self._is_converted = is_converted(matched.before.index) != is_converted(matched.after.index)
        self._is_inlined = matched.before.has_bodies or matched.after.has_bodies
        self._unneeded: Collection[int] = ()
        self._folded: dict[str, None] = {}  # the names of layers, in order
        self._dtypes: Counter[tuple[str, str]] = Counter()
        self._causes: dict[tuple[str, Detail], str] = {}  # of details, by name before
        self.same_tensors: dict[Tensor, Tensor] = {}
        self.other_values: set[int] = set()
        self.other_branches: set[int] = set()

    def _ops_that_became(self, kinds: frozenset[str], old_kinds: frozenset[str]) -> set[int]:
        """The ops of the first graph that are of some types there, and of others in the second,
        with the same dtype and shape.
        """
        before, after = self._before.index, self._after.index
        ops = set()
        for i, j in enumerate(self._before.pair):
            if j < 0 or before.types[i] not in old_kinds or after.types[j] not in kinds:
                continue
            if _dtype_and_shape(before.nodes[i]) == _dtype_and_shape(after.nodes[j]):
                ops.add(i)
        return ops

    def explanations(self) -> tuple[Explanation, ...]:
        """What is explained, by change; all else is a difference of its own."""
        if self._is_converted:
            self._explain_converted()
            return tuple(filter(None, (self._explanation(CONVERTED),)))
        # Inputs first: they tell which layers have a batch norm folded into their weights.
        self._explain_details(INPUT, self._cause_of_input)
        self._explain_details(INPUT, self._cause_of_weight)
        self._explain_details("type", self._cause_of_type)
        self._explain_details(ATTRIBUTE, self._cause_of_attribute)
        self._before.explain_what_serves(self._explain_computed())
        self._after.explain_what_serves()
        self._before.explain_inlined(self._after)
        self._after.explain_inlined(self._before)
        if self._weights:
            side = self._before if self._variables else self._after
            self._unneeded = side.explain_unneeded()
            side.explain_what_serves()
        self._explain_details(CONTROL_INPUT, self._cause_of_control_input)
        return tuple(filter(None, map(self._explanation, CHANGES)))

    def _explain_computed(self) -> set[int]:
        """Explain the ops of which the second graph has the value as a constant; these."""
        computed = set[int]()
        before, after = self._before.index, self._after.index
        for change in self._changed:
            i, j = before.ids[change.was], after.ids[change.name]
            if after.types[j] not in CONSTANTS or before.types[i] in CONSTANTS | HANDLES:
                continue
            details = [(change.was, detail) for detail in change.details]
            if any(detail in self._causes for detail in details):
                continue
            if self._before.weights[i] and is_value_of(before, i, after.nodes[j]):
                computed.add(i)
                self._causes |= dict.fromkeys(details, COMPUTED)
        return computed

    def _explain_converted(self) -> None:
        """A converted model has other ops for all that leads to those that were paired."""
        for side in (self._before, self._after):
            paired = np.flatnonzero(~side.unpaired).tolist()
            explained = side.unpaired
            if not is_converted(side.index):
                inputs = [op for op in paired if not side.index.input_lists[op]]
                is_fed = forward(side.index, inputs)
                if side.inlined.results:  # what these do not need is left out, too
                    results = [side.index.op(name) for name in side.inlined.results]
                    is_fed &= backward(side.index, results)
                unneeded = explained & ~backward(side.index, paired) & ~is_fed
                self._unneeded = np.flatnonzero(unneeded).tolist()
                passes_on = of_type(side.index, IN_PLACE_OF_CALLS.__contains__)
                explained = explained & (backward(side.index, paired) | ~is_fed | passes_on)
            side.causes |= dict.fromkeys(np.flatnonzero(explained).tolist(), CONVERTED)
        for change in self._changed:
            for detail in change.details:
                self._causes[change.was, detail] = CONVERTED

    def _explain_details(
        self, kind: str, cause_of: Callable[[int, int, Detail], str | None]
    ) -> None:
        """Find what explains the details that begin with `kind`."""
        for change in self._changed:
            i, j = self._before.index.ids[change.was], self._after.index.ids[change.name]
            for detail in change.details:
                cause = cause_of(i, j, detail) if detail.what.startswith(kind) else None
                if cause is not None:
                    self._causes[change.was, detail] = cause

    def _explanation(self, change: str) -> Explanation | None:
        """All that a change explains."""
        added, removed = self._after.ops_of(change), self._before.ops_of(change)
        changed = []
        for op in self._changed:
            details = tuple(d for d in op.details if self._causes.get((op.was, d)) == change)
            if details:
                changed.append(op._replace(details=details))
        renamed = tuple(self._renamed_by(change))
        if not (added or removed or changed or renamed):
            return None
        explanation = Explanation(
            change,
            "",
            added,
            removed,
            tuple(changed),
            renamed,
            functions_added=tuple(self._after.functions_of(change)),
            functions_removed=tuple(self._before.functions_of(change)),
        )
        return explanation._replace(sentence=self._sentence(explanation))

    def _renamed_by(self, change: str) -> Iterator[tuple[str, str]]:
        """The ops that have other names by a change."""
        before, after = self._before, self._after
        for i, j in enumerate(before.pair if change in RENAMING_CHANGES else ()):
            was, now = before.index.names[i], after.index.names[j]
            if j >= 0 and was != now and self._cause_of_name(i, j) == change:
                yield was, now

    def _cause_of_name(self, i: int, j: int) -> str | None:
        """The change for which an op has another name."""
        before, after = self._before, self._after
        if self._is_converted:
            return CONVERTED
        if i in self._weights:
            return FROZEN  # where a function read the variable, its constant has the name of that
        if j in self.other_values and after.index.types[j] in CONSTANTS:
            return FOLDED
        if not self._is_inlined:
            return None
        was, now = before.index.names[i], after.index.names[j]
        if {before.index.types[i], after.index.types[j]} <= PLACEHOLDERS:
            # A signature names an argument after itself and the argument.
            is_inlined = was.endswith(f"_{now}") or now.endswith(f"_{was}")
        else:
            is_inside = was in before.inlined.bodies or now in after.inlined.bodies
            is_helper = was in before.inlined.helpers or now in after.inlined.helpers
            types = {before.index.types[i], after.index.types[j]}
            is_inlined = (
                is_helper
                or types <= IN_PLACE_OF_CALLS | VARIABLE_READS
                or (is_inside and _own_name(was) == _own_name(now))
            )
        return INLINED if is_inlined else None

    # Sentences

    def _sentence(self, explanation: Explanation) -> str:
        match explanation.change:
            case "converted":
                return self._converted_sentence()
            case "inlined":
                return self._inlined_sentence()
            case "frozen":
                return self._frozen_sentence()
            case "batch norm":
                count, layers = count_text(len(self._folded), "batch norm"), list(self._folded)
                note = "; their numbers were not compared" if self._has_unknown_values else ""
                return f"{count} folded into the weights of {_short(layers, 'layer')}{note}"
            case "constants":
                return _computed_sentence(explanation)
            case "equal constants":
                return _merged_sentence(explanation)
            case "precision":
                return self._precision_sentence(explanation)
            case "names of state":
                number = count_text(len(explanation.changed), "op")
                attributes = {
                    detail.what.removeprefix(ATTRIBUTE)
                    for op in explanation.changed
                    for detail in op.details
                }
                which = " and ".join(sorted(attributes, reverse=True))  # shared_name first
                return f"other names of state: {number} with another {which}"
        return _identities_sentence(explanation)

    def _converted_sentence(self) -> str:
        pairs = sum(j >= 0 for j in self._before.pair)
        count, new_count = len(self._before.index), len(self._after.index)
        if is_converted(self._after.inlined.index):
            count -= len(self._unneeded)
            unneeded = self._unneeded_text("left out")
        else:
            new_count -= len(self._unneeded)
            unneeded = self._unneeded_text("added")
        give = "gives" if pairs == 1 else "give"
        return (
            f"converted: {count_text(count, 'op')} became {new_count:,}, of which "
            f"{pairs:,} {give} the same tensor{unneeded}"
        )

    def _inlined_sentence(self) -> str:
        before, after = self._before.inlined, self._after.inlined
        texts = []
        if before.results:
            texts.append("the body of a function became a graph")
        if after.results:
            texts.append("a graph became the body of a function")
        count, new_count = len(before.calls), len(after.calls)
        if count:
            one, several = (
                "call of a function became its body",
                "calls of functions became their bodies",
            )
            texts.append(f"inlined: {count:,} {one if count == 1 else several}")
        if new_count:
            are = "call of a function" if new_count == 1 else "calls of functions"
            texts.append(f"called: parts of the graph became {new_count:,} {are}")
        for side, version in ((before, 1), (after, 2)):
            if side.loops == 1:
                texts.append(f"1 loop or conditional became one of TensorFlow {version}")
            elif side.loops:
                kind = "loops and conditionals"
                texts.append(f"{side.loops:,} {kind} became those of TensorFlow {version}")
        return "; ".join(texts)

    def _frozen_sentence(self) -> str:
        count = len(self._weights)
        variables, constants = count_text(count, "variable"), count_text(count, "constant")
        if self._variables:
            became = "constants" if count > 1 else "a constant"
            return f"frozen: {variables} became {became}" + self._unneeded_text("left out")
        became = "variables" if count > 1 else "a variable"
        return f"not frozen: {constants} became {became}" + self._unneeded_text("added")

    def _unneeded_text(self, what: str) -> str:
        """How many ops that no other needs only one graph has."""
        count = len(self._unneeded)
        ops = "op that no other needs was" if count == 1 else "ops that no other needs were"
        return f"; {count:,} {ops} {what}" if count else ""

    def _precision_sentence(self, explanation: Explanation) -> str:
        dtypes = [" → ".join(pair) for pair, _ in self._dtypes.most_common(2)]
        sentence = f"other precision: {' and '.join(dtypes) or 'casts'}"
        if explanation.changed:
            sentence += f" in {count_text(len(explanation.changed), 'op')}"
        counts = ((len(explanation.removed), "removed"), (len(explanation.added), "added"))
        texts = [f"{count_text(number, 'op')} {what}" for number, what in counts if number]
        return ", ".join([sentence, *texts])

    # What explains a detail: one of CHANGES, or None

    def _cause_of_input(self, i: int, j: int, detail: Detail) -> str | None:
        before, after = self._before, self._after
        slot = int(detail.what.removeprefix(INPUT))
        was, now = before.read(i)[slot : slot + 1], after.read(j)[slot : slot + 1]
        if before.index.types[i] in MERGE and self._is_inlined and was:
            now = self._same_branch(i, j, was[0])
        if not (was and now):
            # A gather of a constant has an axis, one of a variable has none.
            side, (axis, _) = (before, was[0]) if was else (after, now[0])
            if not self._reads_weight(i, j) or not _is_zero(side.index.nodes[axis]):
                return None
            if side.unpaired[axis]:
                side.causes[axis] = FROZEN
            return FROZEN
        for past, new_past in ((before.past, after.past), (before.past_scales, after.past_scales)):
            root, port = past.root(was[0])
            if (before.pair[root], port) == new_past.root(now[0]):
                paths = past.path(was[0]), new_past.path(now[0])
                cause = self._cause_of_paths(root, *paths, (was[0], now[0]))
                if cause is not None:
                    self.same_tensors[now[0]] = was[0]
                return cause
        cause = self._cause_of_other_identity(was[0], now[0])
        return cause or self._cause_of_equal_constant(was[0][0], now[0][0])

    def _cause_of_equal_constant(self, was: int, now: int) -> str | None:
        """An optimizer leaves one of equal constants, which all read that read one of them."""
        before, after = self._before, self._after
        are_constants = {before.index.types[was], after.index.types[now]} <= CONSTANTS
        if not are_constants or self._digests[0].kind(was) != self._digests[1].kind(now):
            return None
        for side, op in ((before, was), (after, now)):
            if side.unpaired[op]:
                side.causes[op] = MERGED
        return MERGED

    def _same_branch(self, i: int, j: int, tensor: Tensor) -> list[Tensor]:
        """What a Merge reads in the second graph in place of a tensor, wherever it reads it: unless
        an op consumes which it took, branches have no order.
        """
        before, after = self._before, self._after
        if any(1 in side.consumed_ports(op) for side, op in ((before, i), (after, j))):
            return after.read(j)[before.read(i).index(tensor) :][:1]
        root = before.to_the_other(before.identities.root(tensor))
        self.other_branches.add(j)
        return [other for other in after.read(j) if after.identities.root(other) == root][:1]

    def _cause_of_other_identity(self, was: Tensor, now: Tensor) -> str | None:
        """The change by which an op reads one tensor by another op that hands it on."""
        before, after = self._before, self._after
        root = before.origin_of(was)
        if before.to_the_other(root) != after.origin_of(now):
            return None
        if root[0] in self._weights:
            return FROZEN
        # A variable may be another one at another read.
        if before.index.types[root[0]] in HANDLES or not self._is_inlined:
            return None
        self.same_tensors[now] = was
        return INLINED

    def _cause_of_weight(self, i: int, j: int, detail: Detail) -> str | None:
        """Folding gives a layer, and the shift after it, other weights."""
        before, after = self._before, self._after
        slot = int(detail.what.removeprefix(INPUT))
        was, now = before.read(i)[slot : slot + 1], after.read(j)[slot : slot + 1]
        layer = before.layer(i)
        if layer is None or before.index.names[layer] not in self._folded or not (was and now):
            return self._causes.get((before.index.names[i], detail))
        (old, _), (new, _) = was[0], now[0]
        if not (before.weights[old] and after.weights[new]):
            return self._causes.get((before.index.names[i], detail))
        for side, op in ((before, old), (after, new)):
            if side.unpaired[op]:
                side.causes[op] = FOLDED
        self.other_values.add(new)
        self.same_tensors.pop(now[0], None)
        return FOLDED

    def _cause_of_paths(
        self, root: int, was: Sequence[int], now: Sequence[int], tensors: tuple[Tensor, Tensor]
    ) -> str | None:
        """The change that left out, or put in, ops between an op and its consumer, which reads one
        of the tensors in each graph.
        """
        kinds = {self._before.index.types[op] for op in was}
        kinds |= {self._after.index.types[op] for op in now}
        layer = self._before.layer(root)
        has_root = self._before.has_root(was) or self._after.has_root(now)
        is_norm = has_root or kinds & FUSED_BATCH_NORMS
        if is_norm and layer is not None and self._is_folded(layer, was, now, tensors):
            self._folded[self._before.index.names[layer]] = None
            self.other_values |= {self._before.pair[op] for op in (root, *self._before.chain(root))}
            cause = FOLDED
        elif kinds & SCALES_AND_SHIFTS:
            return None
        elif kinds & CASTS:
            cause = PRECISION
        else:
            # What TensorFlow inlines reads its inputs by identities, and gives its results so.
            is_inlined = self._is_inlined and kinds <= IDENTITY
            cause = INLINED if is_inlined else IDENTITIES
            cause = FROZEN if root in self._weights else cause
        self._before.causes |= dict.fromkeys(was, cause)
        self._after.causes |= dict.fromkeys(now, cause)
        return cause

    def _is_folded(
        self,
        layer: int,
        was: Sequence[int],
        now: Sequence[int],
        tensors: tuple[Tensor, Tensor],
    ) -> bool:
        """Whether a layer has taken up the scales and shifts after it: it gives the same with those
        that are left, as far as the values of weights are known.
        """
        before, after = self._before, self._after
        try:
            old = scaled_layer(before.index, before.layers, tensors[0], self._readers[0])
            new = scaled_layer(after.index, after.layers, tensors[1], self._readers[1])
        except UnknownValue:
            types = {before.index.types[op] for op in was}
            types |= {after.index.types[op] for op in now}
            if types.isdisjoint(CHANNEL_SHIFTS):
                return False
            self._has_unknown_values = True
            return self._has_other_kernel(layer)
        return agree(old, new)

    def _has_other_kernel(self, layer: int) -> bool:
        """Whether a layer has other weights: else its batch norm was left out, not folded."""
        before, after = self._before, self._after
        kernels, new_kernels = before.kernels(layer), after.kernels(before.pair[layer])
        for old, new in zip(kernels, new_kernels, strict=False):
            are_constants = {before.index.types[old], after.index.types[new]} <= CONSTANTS
            if before.pair[old] != new or not are_constants:
                return True
            if _value_of(before.index.nodes[old]) != _value_of(after.index.nodes[new]):
                return True
        return False

    def _cause_of_type(self, i: int, j: int, detail: Detail) -> str | None:
        if i in self._weights or self._reads_weight(i, j):
            return FROZEN
        # Of half floats only later versions compute with statistics in float32.
        was = self._before.index.nodes[i].attr.get("T")
        now = self._after.index.nodes[j].attr.get("T")
        if detail.before.removeprefix(STATELESS) == detail.after.removeprefix(STATELESS):
            return FROZEN if self._variables else None
        is_norm = {detail.before, detail.after} <= FUSED_BATCH_NORMS
        return PRECISION if is_norm and was != now else None

    def _cause_of_attribute(self, i: int, j: int, detail: Detail) -> str | None:
        if i in self._weights:
            return FROZEN
        if self._reads_weight(i, j):
            return None if detail.what == f"{ATTRIBUTE}batch_dims" else FROZEN
        is_entry = self._before.index.types[i] in ENTER
        if is_entry and detail.what == f"{ATTRIBUTE}T" and self._takes_weight(i):
            return FROZEN
        if self._is_of_frozen_arguments(i, j, detail.what.removeprefix(ATTRIBUTE)):
            return FROZEN
        if detail.what.removeprefix(ATTRIBUTE) in NAMES_OF_STATE:
            return STATE_NAMES if self._is_same_state(i, j) else None
        kinds = self._before.index.types[i], self._after.index.types[j]
        if CONSTANTS.issuperset(kinds):
            return self._cause_of_value(i, j)
        # The dtype of a placeholder is what callers have to give.
        if kinds[0] in PLACEHOLDERS or not FLOATS.issuperset(detail[1:]):
            return None
        self._dtypes[detail.before, detail.after] += 1
        return PRECISION

    def _is_same_state(self, i: int, j: int) -> bool:
        """Whether two ops hold what is one state in each graph, by all of the ops that hold it."""
        here, there = self._states
        keys = key_of(self._before.index, i), key_of(self._after.index, j)
        return here.get(keys[0]) == {keys[1]} and there.get(keys[1]) == {keys[0]}

    @cached_property
    def _states(self) -> tuple[StateKeys, StateKeys]:
        """For each state of the one graph those of the other whose ops are its ops."""
        before, after = self._before.index, self._after.index
        here: dict[StateKey, set[StateKey]] = defaultdict(set)
        there: dict[StateKey, set[StateKey]] = defaultdict(set)
        for i in np.flatnonzero(persistent_state(before)).tolist():
            j = self._before.pair[i]
            if j >= 0 and persistent_state(after)[j]:
                here[key_of(before, i)].add(key_of(after, j))
                there[key_of(after, j)].add(key_of(before, i))
        return here, there

    def _is_of_frozen_arguments(self, i: int, j: int, name: str) -> bool:
        """Whether an attribute has the dtypes or shapes of what a loop or a conditional takes, and
        differs where this is a variable in one graph and a constant in the other.
        """
        if name not in ARGUMENT_LISTS or self._before.index.types[i] not in FUNCTIONAL_CONTROL_FLOW:
            return False
        was = _list_of(self._before.index.nodes[i], name)
        now = _list_of(self._after.index.nodes[j], name)
        read = self._before.read(i)
        first = len(read) - len(was)  # a conditional reads what it decides by before
        return len(was) == len(now) and all(
            old == new or self._before.origin(read[first + slot]) in self._weights
            for slot, (old, new) in enumerate(zip(was, now, strict=True))
        )

    def _cause_of_value(self, i: int, j: int) -> str | None:
        """The change that explains another value, or dtype, of a constant."""
        was, now = _value_of(self._before.index.nodes[i]), _value_of(self._after.index.nodes[j])
        if was is None or now is None:
            return None
        layers = {self._before.index.names[op] for op in self._before.consumers(i)}
        if layers and layers <= self._folded.keys():
            self.other_values.add(j)
            return FOLDED
        return PRECISION if was.dtype != now.dtype and is_rounded(was, now) else None

    def _cause_of_control_input(self, i: int, j: int, detail: Detail) -> str | None:
        """The change that left out the op waited for, or for which the consumer waited already."""
        before, after = self._before, self._after
        side, other, other_op = (after, before, i) if detail.after else (before, after, j)
        waited_for = side.index.ids[detail.after or detail.before]
        if waited_for in side.causes:
            return side.causes[waited_for]
        types = {side.index.types[waited_for], before.index.types[i]}
        is_no_op = self._is_inlined and "NoOp" in types
        is_from_call = before.is_from_call(i) or after.is_from_call(j)
        if is_no_op or (is_from_call and side.is_without_effect(waited_for)):
            return INLINED  # TensorFlow keeps the order of what it inlines by other edges
        return other.sources_past_explained(other_op).get(side.pair[waited_for])

    def _reads_weight(self, i: int, j: int) -> bool:
        """Whether an op reads a weight that is a variable in one graph only."""
        kinds = {self._before.index.types[i], self._after.index.types[j]}
        is_read = kinds <= VARIABLE_READS or kinds <= SLICE_READS
        return is_read and self._takes_weight(i)

    def _takes_weight(self, i: int) -> bool:
        """Whether the first tensor of an op is a weight that is a variable in one graph only."""
        return any(self._before.origin(t) in self._weights for t in self._before.read(i)[:1])


def _identities_sentence(explanation: Explanation) -> str:
    """How many ops that hand a tensor on only one graph has, and which if they are few."""
    texts = []
    for names, what in ((explanation.removed, "removed"), (explanation.added, "added")):
        if not names:
            continue
        ops = (
            "op that hands a tensor on was" if len(names) == 1 else "ops that hand a tensor on were"
        )
        text = f"{len(names):,} {ops} {what}"
        texts.append(f"{text}: {names_text(names)}" if len(names) <= MOST_NAMES else text)
    return "; ".join(texts)


def _computed_sentence(explanation: Explanation) -> str:
    """How many ops became constants, and how many only these needed."""
    count, removed = len(explanation.changed), len(explanation.removed)
    one, several = "op became the constant that it gives", "ops became the constants that they give"
    sentence = f"computed: {count:,} {one if count == 1 else several}"
    if removed:
        needed = "op that only these need was" if removed == 1 else "ops that only these need were"
        sentence += f"; {removed:,} {needed} left out"
    return sentence


def _merged_sentence(explanation: Explanation) -> str:
    """How many ops read another constant, and how many of these only one graph has."""
    count = len(explanation.changed)
    read = "op reads" if count == 1 else "ops read"
    texts = [f"{count:,} {read} another constant that is equal"]
    for names, what in ((explanation.removed, "removed"), (explanation.added, "added")):
        if names:
            were = "constant was" if len(names) == 1 else "constants were"
            texts.append(f"{len(names):,} {were} {what}")
    return f"equal constants: {'; '.join(texts)}"


def _own_name(name: str) -> str:
    """The last part of a name, without a number that makes it unique."""
    return _NUMBER.sub("", last_part(name))


def _short(names: Sequence[str], what: str) -> str:
    """A few names, or how many there are."""
    return names_text(names) if len(names) <= MOST_NAMES else count_text(len(names), what)


# `attr.get`, not `attr[…]`: a missing attribute that is read by brackets is added to the NodeDef.


def _dtype_and_shape(weight: NodeDef) -> tuple[int, tuple[int, ...]] | None:
    """The dtype, as TensorFlow's number, and sizes of a constant or variable, or None."""
    dtype = weight.attr.get("dtype")
    attribute = weight.attr.get("value" if weight.op in CONSTANTS else "shape")
    if dtype is None or attribute is None:
        return None
    shape = attribute.tensor.tensor_shape if weight.op in CONSTANTS else attribute.shape
    return dtype.type, tuple(dim.size for dim in shape.dim)


def _list_of(node: NodeDef, name: str) -> list[str]:
    """The dtypes or shapes of an attribute."""
    attribute = node.attr.get(name)
    items = () if attribute is None else (*attribute.list.type, *attribute.list.shape)
    return list(map(str, items))


def _value_of(constant: NodeDef) -> TensorProto | None:
    """The value of a constant; None where it is missing."""
    value = constant.attr.get("value")
    return None if value is None else value.tensor


def _is_zero(node: NodeDef) -> bool:
    """Whether an op is the constant 0."""
    value = _value_of(node) if node.op in CONSTANTS else None
    if value is None:
        return False
    try:
        number: object = tensor_array(value, dtype_name(value, "dtype", value.dtype)).tolist()
    except (TypeError, ValueError):  # of a dtype without values, or damaged
        return False
    return number == 0

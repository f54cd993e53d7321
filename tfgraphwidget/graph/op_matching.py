"""Matching the ops of two graphs by name, and where names differ by their neighbors.

Ops get labels as in B. Weisfeiler, A. Leman, "The reduction of a graph to canonical form" (1968):
first by type and attributes; then, round after round, by the labels of those that they consume,
wait for and feed. An op that has its name in both graphs is a landmark: its label says which it is.
Where one op of each graph has a label, the two are one; and what is at the same place beside such a
pair, and of the same kind, is one too; among several of a kind, that with the same surroundings.
Where several are alike none is paired: nothing is guessed. The work is linear in edges.

Of equal constants an optimizer leaves one, so the label of a constant is what it holds, and not
which ops read it. Once there are pairs, a label counts that has one of them in it: else it may be
that of what is left where an optimizer took others away.

Before all that, names are matched that differ in their outer scopes alone: those of a graph that
was imported under a scope.

What is left is matched again with less that must be alike (LEVELS): first past identities and reads
of variables, which freezing and optimizers take away; then past casts, whatever the dtypes, and
past new shapes of constants, which optimizers compute; then past scales and shifts of channels, as
folding a batch norm moves them; then past activations, which an optimizer moves past a
concatenation or a pooling, and past new shapes of any tensor. Constants whose values differ by no
more than rounding are one before that, past scales also those whose channels differ by a factor
each, so copies with other weights are distinguished.

Of equal ops, too, an optimizer leaves one. So at last ops are matched that are computed alike from
pairs and weights, of which there is one in either graph, and those that read and feed the same: any
of them is as good as the next.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import repeat
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph.attributes import AttributeDigests
from tfgraphwidget.graph.axis_orders import Axes
from tfgraphwidget.graph.contraction import WEIGHTS, computed_from_weights, contracted_edges
from tfgraphwidget.graph.converted_ops import converted_pairs, is_converted
from tfgraphwidget.graph.edges import Ids, Mask, Rows
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op import dtype_name
from tfgraphwidget.graph.op_types import (
    ACTIVATIONS,
    ASSIGNS,
    CASTS,
    CHANNEL_SHIFTS,
    COMMUTATIVE,
    CONCATS,
    CONSTANTS,
    FUNCTION_CALLS,
    HANDLES,
    IDENTITY,
    IN_PLACE_OF_CALLS,
    JOINED_BY_OPTIMIZERS,
    NORMS_WITH_ACTIVATION,
    PASSED_ON,
    PLACEHOLDERS,
    RESHAPES,
    RESHAPES_OF_ANY,
    SCALES_AND_SHIFTS,
    SEVERAL_HANDED_ON,
    VARIABLE_READS,
    WITHOUT_OUTPUTS,
)
from tfgraphwidget.graph.stateful_resources import key_of, of_type, persistent_state, stateful
from tfgraphwidget.graph.tensor_values import tensor_array
from tfgraphwidget.naming import enclosing_scopes, last_part
from tfgraphwidget.tf_types import TensorProto

Labels = npt.NDArray[np.uint64]
Vector = npt.NDArray[np.float32]
Pair = tuple[int, int]


class Level(NamedTuple):
    """What must be alike for two ops to be one.

    Attributes:
        past: Op types that edges go past.
        attributes: Which attributes must be equal: all, those that say how to compute, or none.
        rounds: How many edges away neighbors must be alike: first far, then near.
        controls: Whether what an op waits for must be alike.
    """

    past: frozenset[str]
    attributes: Literal["all", "of computation", "none"]
    rounds: tuple[int, ...]
    controls: bool = True


EVIDENCE = ("name", "structure", "values", "hand")
"""What shows that two ops are one, as a list of places for arrays: that they have one name or one
state, but for scopes; what is around them; that two constants hold the same but for rounding, or a
factor of each channel; that the caller says so.
"""
NAME, STRUCTURE, VALUES, HAND = range(len(EVIDENCE))

FAR = 12  # edges: all that is alike so far around is most likely one
_PAST_IDENTITIES = PASSED_ON | SEVERAL_HANDED_ON
_PAST_SCALES = _PAST_IDENTITIES | CASTS | RESHAPES | SCALES_AND_SHIFTS | {"RealDiv"}
_PAST_ACTIVATIONS = _PAST_SCALES | RESHAPES_OF_ANY | ACTIVATIONS | NORMS_WITH_ACTIVATION
# What reads the same past identities, and has the same attributes, gives the same.
OF_ONE_VALUE = Level(_PAST_IDENTITIES, "all", (), controls=False)
LEVELS = (
    Level(frozenset(), "all", (FAR,)),
    # Functions, which order what has effects, have other control inputs. Near by, too, an op is
    # none of a copy for waiting for the same.
    Level(frozenset(), "all", (FAR,), controls=False),
    Level(frozenset(), "all", (3, 1), controls=False),
    Level(_PAST_IDENTITIES, "all", (FAR, 3)),
    Level(_PAST_IDENTITIES | CASTS | RESHAPES, "of computation", (FAR, 5)),
    Level(_PAST_SCALES, "of computation", (FAR, 5)),
    Level(_PAST_ACTIVATIONS, "of computation", (FAR, 5)),
    # At last the ops that the edges went past, beside those that are paired now.
    Level(_PAST_ACTIVATIONS - CHANNEL_SHIFTS, "of computation", ()),
    Level(CASTS, "of computation", ()),
    Level(frozenset(), "of computation", ()),
    # And those that differ, in the same place or of the same name.
    Level(PASSED_ON | CASTS | ACTIVATIONS, "none", ()),
    Level(frozenset(), "none", ()),
    OF_ONE_VALUE,
)
# How many outer scopes of names are left out, before and after.
LEFT_OUT_SCOPES = (
    *((0, 1), (1, 0), (1, 1), (0, 2), (2, 0)),
    *((1, 2), (2, 1), (2, 2), (0, 3), (3, 0)),
)
# The same of names of which one is the other after a prefix, such as that of an inlined call.
PREFIXES = ((0, 0), *((k, 0) for k in range(1, 4)), *((0, k) for k in range(1, 4)))
# All names are in doubt where more ops of one name than these are others.
OTHERS = 0.05  # of the ops of one name
FEW_OTHERS = 8  # ops, where that is more
OTHERS_OF_SMALL = 1 / 3  # of the ops of one name, where that is fewer
FEWEST_OTHERS = 4  # ops, where that is more

# Odd numbers with random bits: products by them are one to one modulo 2^64.
SOURCE_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # of labels of ops that an op consumes or waits for
CONSUMER_FACTOR = np.uint64(0xC2B2AE3D27D4EB4F)  # of labels of ops that consume it or wait for it
OWN_FACTOR = np.uint64(0x165667B19E3779F9)  # of the label of the op itself

MOST_ALIKE = 32  # ops beside a pair that are compared by what is beside them: each costs its edges
NUMBERED = re.compile(r"_\d+$")  # what TensorFlow adds to a name that is taken
AMBIGUOUS = -1  # in place of an op: there are several
FEWEST_ELEMENTS = 8  # of a constant that is known by its value: fewer are often equal by chance
# What rounding to bfloat16 does to a vector, relative to its length: half a unit in the last of
# eight bits.
MOST_ROUNDING = 2.0**-8
# The same of channels that float32 scales: of coarser dtypes others would be as near.
MOST_ROUNDING_OF_SCALED = 2.0**-16
# Half a unit in the last place of each dtype, relative to the number.
HALF_UNITS = {"bfloat16": 2.0**-8, "float16": 2.0**-11, "float32": 2.0**-24, "float64": 2.0**-53}
LEAST_FLOAT16 = 2.0**-25  # half of the least number of float16: less is rounded to 0
MOST_CANDIDATES = 32  # constants of one length that are compared: more are all alike
CLEARLY_NEARER = 4.0  # times: so much farther the next must be


class Matches(NamedTuple):
    """Which op of one graph is which of another.

    Attributes:
        pair: For each op of the first graph the number of the second's, -1 for none.
        evidence: For each op of the first graph the place in EVIDENCE of what shows it; 0 for ops
            without a pair.
        axes: Of a converted model's tensors, the order of their axes where it is not the model's.
    """

    pair: Ids
    evidence: npt.NDArray[np.uint8]
    axes: Mapping[str, Axes] = {}


def find_matches(
    before: GraphIndex,
    after: GraphIndex,
    attributes: tuple[AttributeDigests, AttributeDigests],
    renamed: Mapping[str, str],
) -> Matches:
    """Match the ops of two graphs.

    `attributes` are the digests of both, and `renamed` names before -> after that are known.
    """
    if is_converted(before) != is_converted(after):
        return _by_converter(before, after, renamed)
    # 1. By name.
    forward = _by_name(before, after, renamed)
    backward = np.full(len(after), -1, np.int32)
    backward[forward[forward >= 0]] = np.flatnonzero(forward >= 0)
    graphs = _TwoGraphs(
        _Side(before, attributes[0], forward, np.arange(len(before), dtype=np.int32)),
        _Side(after, attributes[1], backward, backward),
    )
    graphs.evidence[[before.ids[name] for name in renamed if name in before.ids]] = HAND
    if before.origin is not after.origin:
        graphs.check_names(set(renamed))
    if graphs.is_done():
        return Matches(forward, graphs.evidence)
    # 2. By state.
    graphs.pair(graphs.with_same_state(), NAME)
    # 3. By name without outer scopes.
    for scopes_before, scopes_after in LEFT_OUT_SCOPES:
        if not graphs.is_done():
            graphs.pair(graphs.with_same_tail(scopes_before, scopes_after), NAME)
    if before.origin is not after.origin:
        graphs.check_names(set(renamed), of_tails=True)
    # 4. By neighbors; first of those that still have the last parts of their names.
    for level in LEVELS:
        if not graphs.is_done():
            graphs.pair_at(level)
    graphs.pair(graphs.waiting_for_the_same(), STRUCTURE)
    graphs.pair(graphs.without_outputs_of_one_name(), NAME)
    graphs.part(graphs.with_joined_constants())
    return Matches(forward, graphs.evidence)


def _by_converter(before: GraphIndex, after: GraphIndex, renamed: Mapping[str, str]) -> Matches:
    """Match a model and what was made of it, by the names that the converter has kept."""
    forward = np.full(len(before), -1, np.int32)
    evidence = np.full(len(before), NAME, np.uint8)
    if is_converted(after):
        pairs, axes = converted_pairs(before, after)
    else:
        pairs, axes = converted_pairs(after, before)
        pairs = {other: one for one, other in pairs.items()}
    known_pairs = _known_pairs(before, after, renamed)
    forward[[*pairs]] = [*pairs.values()]
    forward[np.isin(forward, [*known_pairs.values()])] = -1
    forward[[*known_pairs]] = [*known_pairs.values()]
    evidence[[*known_pairs]] = HAND
    return Matches(forward, evidence, axes)


def _known_pairs(
    before: GraphIndex, after: GraphIndex, renamed: Mapping[str, str]
) -> dict[int, int]:
    ids = ((before.ids.get(old), after.ids.get(new)) for old, new in renamed.items())
    return {one: other for one, other in ids if one is not None and other is not None}


def _by_name(before: GraphIndex, after: GraphIndex, renamed: Mapping[str, str]) -> Ids:
    """For each op of `before` the number of the op of `after` that has its name, or the one that is
    known; -1 for none.
    """
    forward = np.fromiter(map(after.ids.get, before.names, repeat(-1)), np.int32, len(before))
    pairs = _known_pairs(before, after, renamed)
    forward[np.isin(forward, list(pairs.values()))] = -1
    forward[list(pairs)] = list(pairs.values())
    unlike = (
        *_waiting_for_others(before, after, forward),
        *_calls_and_results(before, after, forward),
    )
    if before.origin is not after.origin:
        unlike += (
            *_reads_of_others(before, after, forward),
            *_restored_as_others(before, after, forward),
            *_numbered_calls_of_others(before, after, forward),
        )
    forward[[i for i in unlike if i not in pairs]] = -1
    return forward


def ops_with_other_inputs(before: GraphIndex, after: GraphIndex, pair: Ids) -> Mask:
    """The ops of a graph that read other tensors in another one, one bool per op; `pair` has for
    each the other graph's, -1 for none.
    """
    here, there = before.inputs, after.inputs
    count, other_count = np.diff(here.start), np.append(np.diff(there.start), 0)
    both = pair >= 0
    others = both & (count != np.where(both, other_count[pair], 0))
    owner = here.owner
    edges = np.flatnonzero((both & ~others)[owner]).astype(np.int32)
    other_edges = there.start[pair[owner[edges]]] + edges - here.start[owner[edges]]
    differ = pair[here.values[edges]] != there.values[other_edges]
    differ |= before.ports[edges] != after.ports[other_edges]
    others[owner[edges[differ]]] = True
    return np.asarray(others)


def _waiting_for_others(before: GraphIndex, after: GraphIndex, forward: Ids) -> list[int]:
    """The ops that others wait for alone and that, with the name of one of the other graph, wait
    for nothing that it waits for: "NoOp" is the name of the first in each graph.
    """
    ops = np.flatnonzero(of_type(before, WITHOUT_OUTPUTS.__contains__) & (forward >= 0))
    unlike = []
    for i in ops.tolist():
        waits = before.input_lists[i] + before.control_lists[i]
        other_waits = after.input_lists[forward[i]] + after.control_lists[forward[i]]
        if (waits or other_waits) and not set(forward[waits].tolist()) & set(other_waits):
            unlike.append(i)
    return unlike


def _calls_and_results(before: GraphIndex, after: GraphIndex, forward: Ids) -> list[int]:
    """The calls that have the name of what gives the results of a call in the other graph, where
    its body is: that is the result of any call.
    """
    paired = np.flatnonzero(forward >= 0)
    partners = forward[paired]
    is_call = of_type(before, FUNCTION_CALLS.__contains__)[paired]
    gives_results = of_type(before, IN_PLACE_OF_CALLS.__contains__)[paired]
    other_is_call = of_type(after, FUNCTION_CALLS.__contains__)[partners]
    other_gives_results = of_type(after, IN_PLACE_OF_CALLS.__contains__)[partners]
    is_unlike = (is_call & other_gives_results) | (gives_results & other_is_call)
    return [int(op) for op in paired[is_unlike]]


def _numbered_calls_of_others(before: GraphIndex, after: GraphIndex, forward: Ids) -> list[int]:
    """The calls that read others and that TensorFlow has named: "StatefulPartitionedCall_1" counts
    the calls before it, and each signature of a file is one.
    """
    is_call = of_type(before, FUNCTION_CALLS.__contains__)
    if not is_call.any():
        return []
    others = is_call & ops_with_other_inputs(before, after, forward)
    calls = np.flatnonzero(others).tolist()
    return [i for i in calls if NUMBERED.sub("", last_part(before.names[i])) == before.types[i]]


def _reads_of_others(before: GraphIndex, after: GraphIndex, forward: Ids) -> list[int]:
    """The reads of weights that have the name of a read of another weight."""
    there = set(forward.tolist())
    reads = np.flatnonzero((forward >= 0) & of_type(before, VARIABLE_READS.__contains__)).tolist()
    return [i for i in reads if _read_others(before, after, forward, there, (i, int(forward[i])))]


def _restored_as_others(before: GraphIndex, after: GraphIndex, forward: Ids) -> list[int]:
    """The ops by which a saver restores a variable, with the name of those of another variable:
    "save/AssignVariableOp_3" counts the variables before it.
    """
    unlike = []
    for restore in np.flatnonzero(of_type(before, "RestoreV2".__eq__)).tolist():
        for i in before.consumer_lists[restore]:
            variable = _restored_variable(before, i)
            other = _restored_variable(after, int(forward[i])) if forward[i] >= 0 else -1
            if variable >= 0 and other >= 0 and forward[variable] != other:
                unlike += [i, *before.consumer_lists[i]]
    return unlike


def _restored_variable(index: GraphIndex, op: int) -> int:
    """The variable that an op, or the one that reads it, assigns a value to; -1 for none."""
    readers = index.consumer_lists[op]
    assign = readers[0] if index.types[op] in IDENTITY and len(readers) == 1 else op
    is_assign = index.types[assign] in ASSIGNS and index.input_lists[assign]
    return index.input_lists[assign][0] if is_assign else -1


def _read_others(
    before: GraphIndex, after: GraphIndex, forward: Ids, there: Collection[int], pair: Pair
) -> bool:
    """Whether two ops read weights that both have a partner, and are not those of each other:
    "Cast_1/ReadVariableOp" is what a layer reads second, whatever it is.
    """
    weight, other = _weight_of(before, pair[0]), _weight_of(after, pair[1])
    are_known = weight >= 0 and other in there
    return are_known and forward[weight] not in (-1, other)


def _are_of_others(before: GraphIndex, after: GraphIndex, pair: Pair) -> bool:
    """Whether two ops are variables, or take them, of other shapes or dtypes and with other names:
    what one optimizer keeps is not what another one does.
    """
    variable, other = _variable_of(before, pair[0]), _variable_of(after, pair[1])
    if variable < 0 or other < 0:
        return False
    node, other_node = before.nodes[variable], after.nodes[other]
    if last_part(node.name) == last_part(other_node.name):
        return False
    return any(node.attr.get(key) != other_node.attr.get(key) for key in ("shape", "dtype"))


def _variable_of(index: GraphIndex, op: int) -> int:
    """The variable that an op is, or takes first; -1 for none."""
    sources = index.input_lists[op][:1]
    return next((each for each in (op, *sources) if index.types[each] in HANDLES), -1)


def _weight_of(index: GraphIndex, read: int) -> int:
    """The variable or constant that an op gives as it is; -1 for another op."""
    op, visited = read, set[int]()
    while index.types[op] in VARIABLE_READS and index.input_lists[op] and op not in visited:
        visited.add(op)
        op = index.input_lists[op][0]
    return op if visited and index.types[op] in WEIGHTS else -1


class _Side:
    """One of the two graphs; `pair` has for each of its ops the other's, -1 for none yet, and
    `numbers` of those with a pair the number in the first graph; `is_of_type_there` says which are
    of a type that the other graph has, too.
    """

    def __init__(
        self, index: GraphIndex, attributes: AttributeDigests, pair: Ids, numbers: Ids
    ) -> None:
        self.index = index
        self.pair = pair
        self.numbers = numbers
        self.is_constant = of_type(index, CONSTANTS.__contains__)
        self.is_of_type_there = np.ones(len(index), bool)
        self._is_weight = of_type(index, WEIGHTS.__contains__)
        self._attributes = attributes
        self.look(LEVELS[0])

    def look(self, level: Level) -> None:
        """Go on with the edges and kinds of a level."""
        self._level = level
        # Where what was put together in two steps is so in one, it is at another place.
        unordered = COMMUTATIVE
        if level.attributes == "none":
            unordered = COMMUTATIVE | CONCATS
        self._edges = contracted_edges(
            self.index, level.past, controls=level.controls, unordered=unordered
        )
        for name in ("kinds", "_by_consumer", "_by_source", "_neighbors"):
            self.__dict__.pop(name, None)

    @property
    def unpaired(self) -> Mask:
        """The ops without a pair."""
        return np.asarray(self.pair < 0)

    @cached_property
    def kinds(self) -> dict[int, int]:
        """What type and attributes are, as a number for each op that had no pair at first."""
        return {op: hash(self._kind(op)) for op in np.flatnonzero(self.unpaired).tolist()}

    def _kind(self, op: int) -> bytes:
        """What type and attributes are, as far as they must be alike."""
        kinds: dict[str, Callable[[int], bytes]] = {
            "all": self._attributes.kind,
            "of computation": self._attributes.loose_kind,
            "none": self._attributes.family,
        }
        return kinds[self._level.attributes](op)

    def tails(self, outer_scopes: int) -> dict[Hashable, int]:
        """The unpaired ops by kind and name without so many outer scopes; or AMBIGUOUS."""
        tails: dict[Hashable, int] = {}
        for op in np.flatnonzero(self.unpaired).tolist():
            parts = self.index.names[op].split("/", outer_scopes)
            if len(parts) > outer_scopes:
                key = self.kinds[op], parts[outer_scopes]
                tails[key] = AMBIGUOUS if key in tails else op
        return tails

    def unique_states(self) -> dict[Hashable, int]:
        """The unpaired ops that hold a state, by type and key; without those that share theirs."""
        ops = np.flatnonzero(persistent_state(self.index) & self.unpaired).tolist()
        keys = [(self.index.types[op], *key_of(self.index, op)) for op in ops]
        count = Counter(keys)
        return {key: op for key, op in zip(keys, ops, strict=True) if count[key] == 1}

    def by_what_they_wait_for(self) -> dict[frozenset[int], list[int]]:
        """The unpaired NoOps of which all that they wait for is paired, by that."""
        groups = defaultdict[frozenset[int], list[int]](list)
        for op in np.flatnonzero(self.unpaired).tolist():
            waits = self.index.control_lists[op]
            if self.index.types[op] == "NoOp" and waits and not self.unpaired[waits].any():
                groups[frozenset(self.numbers[waits].tolist())].append(op)
        return groups

    def by_readers(self) -> dict[Hashable, list[int]]:
        """The unpaired ops that only paired ops read, by their kind and these, where all of a group
        read the same tensors.
        """
        (sources, inputs), (readers, places) = self._neighbors
        groups = defaultdict[Hashable, list[int]](list)
        for op in np.flatnonzero(self.unpaired & ~self._edges.passed).tolist():
            if sources[op] and readers[op] and not self.unpaired[readers[op]].any():
                numbers = self.numbers[readers[op]].tolist()
                groups[self._kind(op), frozenset(zip(numbers, places[op], strict=True))].append(op)
        alike: dict[Hashable, list[int]] = {}
        for key, ops in groups.items():
            tensors = {(*sources[op], *inputs[op]) for op in ops}
            if len(tensors) == 1:
                alike[key] = ops
        return alike

    def constants_by_shape(self) -> dict[Hashable, list[int]]:
        """The unpaired constants of enough floating point numbers, but first values of variables:
        a constant that a variable has become has them, too.
        """
        index = self.index
        by_shape = defaultdict[Hashable, list[int]](list)
        for op in np.flatnonzero(self.unpaired).tolist():
            is_first_value = any(index.types[i] in ASSIGNS for i in index.consumer_lists[op])
            node = index.nodes[op]
            if node.op in CONSTANTS and "value" in node.attr and not is_first_value:
                proto = node.attr["value"].tensor
                sizes = tuple(dim.size for dim in proto.tensor_shape.dim if dim.size != 1)
                is_float = "float" in dtype_name(proto, "dtype", proto.dtype)
                if is_float and np.prod(sizes, dtype=float) >= FEWEST_ELEMENTS:
                    by_shape[sizes].append(op)
        return by_shape

    def values(self, constants: Iterable[int]) -> list[TensorProto]:
        """The values of constants."""
        return [self.index.nodes[op].attr["value"].tensor for op in constants]

    @property
    def _is_leaf(self) -> Mask:
        """The ops of which it says nothing which others read them: constants, as equal ones may be
        one, and variables where they may have become such.
        """
        return self.is_constant if self._level.attributes == "all" else self._is_weight

    def constants_beside_unpaired(self) -> Mask:
        """The constants that have no pair, or that an op without one reads."""
        near = self.unpaired
        near[self._edges.source[near[self._edges.consumer]]] = True
        return near & self.is_constant

    def value(self, op: int) -> bytes:
        """What a constant holds, or which function an op calls, as a digest."""
        return self._attributes.kind(op)

    def is_beside_unpaired_twin(self, constant: int) -> bool:
        """Whether the op that reads a constant reads, or is read by, one of its kind, both sums or
        both products, that has no pair and is computed with another constant.
        """
        index = self.index
        readers = index.consumer_lists[constant]
        if len(readers) != 1:
            return False
        reader = readers[0]
        kinds = [types for types in JOINED_BY_OPTIMIZERS if index.types[reader] in types]
        if not kinds:
            return False
        for op in (*index.input_lists[reader], *index.consumer_lists[reader]):
            has_constant = any(self.is_constant[source] for source in index.input_lists[op])
            if self.pair[op] < 0 and index.types[op] in kinds[0] and has_constant:
                return True
        return False

    def unique_labels(
        self, landmarks: Ids, rounds: int, *, own_names: bool, everywhere: bool
    ) -> tuple[Labels, npt.NDArray[np.intp]]:
        """The labels that one unpaired op has, and these ops."""
        is_candidate = self.unpaired & ~self._edges.passed & ~self._is_leaf
        if self._level.attributes != "all":
            # Alone an op has its kind only, and others of that are not the same.
            connected = np.concatenate([self._edges.consumer, self._edges.source])
            is_candidate &= np.bincount(connected, minlength=len(self.index)) > 0
        in_reach = ~self.unpaired & ~self.is_constant
        if not everywhere and in_reach.any() and (rounds < FAR or self._level.attributes != "all"):
            # A label without a pair in it may be what is left where many ops are alike.
            for _ in range(rounds):
                in_reach |= self._beside(in_reach & ~self._is_leaf)
            is_candidate &= in_reach
        ops = np.flatnonzero(is_candidate)
        labels = self._labels(landmarks, rounds, own_names=own_names)[ops]
        label, first, count = np.unique(labels, return_index=True, return_counts=True)
        is_unique = count == 1
        return label[is_unique], ops[first[is_unique]]

    def by_value(self) -> dict[int, list[int]]:
        """The ops that give the same, by a number of it: those that are computed from paired ops
        and constants, and that have no pair or read what such a one reads.
        """
        source, consumer = self._edges.source, self._edges.consumer
        has_inputs = np.diff(self.index.inputs.start) > 0
        is_computed = has_inputs & ~stateful(self.index) & ~self._edges.passed
        is_known = ~self.unpaired | self.is_constant
        # Small constants, and what is computed of them, are often equal by chance.
        is_telling = ~self.unpaired & ~self.is_constant
        for large_constants in self.constants_by_shape().values():
            is_telling[large_constants] = True
        for _ in range(FAR):
            reads_unknown = np.zeros(len(self.index), bool)
            reads_unknown[consumer[~is_known[source]]] = True
            is_known |= is_computed & ~reads_unknown
            reads_telling = np.zeros(len(self.index), bool)
            reads_telling[consumer[is_telling[source]]] = True
            is_telling |= reads_telling & is_computed & ~reads_unknown
        is_computed &= reads_telling & ~reads_unknown
        candidates = is_computed & self.unpaired
        is_read = np.zeros(len(self.index), bool)
        is_read[source[candidates[consumer]]] = True
        candidates[consumer[is_read[source]]] = True
        values = dict[int, int]()
        groups = defaultdict[int, list[int]](list)
        for op in np.flatnonzero(candidates & is_computed).tolist():
            groups[self._value_of(op, values)].append(op)
        return groups

    def _value_of(self, op: int, values: dict[int, int]) -> int:
        """A number of what an op gives, by what it reads; `values` has those that are known."""
        if op not in values:
            others, places = self._neighbors[0]
            read = Counter[Hashable]()
            for source, place in zip(others[op], places[op], strict=True):
                if self.is_constant[source]:
                    read[place, self._kind(source)] += 1
                elif self.pair[source] >= 0:
                    read[place, int(self.numbers[source])] += 1
                else:
                    read[place, self._value_of(source, values), None] += 1
            values[op] = hash((self._kind(op), frozenset(read.items())))
        return values[op]

    def _beside(self, ops: Mask) -> Mask:
        """The ops that consume or wait for some, or the other way round."""
        edges = self._edges
        near = np.zeros(len(self.index), bool)
        near[edges.source[ops[edges.consumer]]] = True
        near[edges.consumer[ops[edges.source]]] = True
        return near

    def _labels(self, landmarks: Ids, rounds: int, *, own_names: bool) -> Labels:
        """A label for each op; that of a landmark is its number, and that of a leaf its kind."""
        first = _mix((landmarks + 1).astype(np.uint64))
        names = self.index.names
        for op, kind in self.kinds.items():
            if landmarks[op] < 0:
                is_named = own_names and not self._is_leaf[op]
                label = hash((kind, last_part(names[op]))) if is_named else kind
                first[op] = label % (1 << 64)
        is_fixed = (landmarks >= 0) | self._is_leaf
        labels = first
        for _ in range(rounds):
            near = self._sums(self._by_consumer, labels[self._edges.source], SOURCE_FACTOR)
            near += self._sums(self._by_source, labels[self._edges.consumer], CONSUMER_FACTOR)
            labels = np.where(is_fixed, first, _mix(first * OWN_FACTOR + near))
        return labels

    def _sums(self, edges: tuple[Ids, Ids], labels: Labels, factor: np.uint64) -> Labels:
        """For each op the sum over its edges of the labels at their other ends, mixed with places.

        A sum, as the edges of an output have no order.
        """
        start, order = edges
        summands = _mix(labels * factor + self._edges.place)[order]
        total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(summands, dtype=np.uint64)])
        return np.asarray(total[start[1:]] - total[start[:-1]])

    @cached_property
    def _by_consumer(self) -> tuple[Ids, Ids]:
        """The edges into each op, see `_group_edges`."""
        return self._group_edges(self._edges.consumer)

    @cached_property
    def _by_source(self) -> tuple[Ids, Ids]:
        """The edges out of each op, see `_group_edges`."""
        return self._group_edges(self._edges.source)

    def _group_edges(self, owner: Ids) -> tuple[Ids, Ids]:
        """Where the edges of each owner begin in an order of the edges, and that order."""
        count = np.bincount(owner, minlength=len(self.index))
        start = np.concatenate([[0], np.cumsum(count)])
        return start.astype(np.int32), np.argsort(owner, kind="stable").astype(np.int32)

    @cached_property
    def _neighbors(self) -> tuple[tuple[Rows, Rows], ...]:
        """For each op its sources with the places of the edges, and the same of its consumers."""
        neighbors = []
        edges = self._edges
        directions = ((self._by_consumer, edges.source), (self._by_source, edges.consumer))
        for (start, order), other_end in directions:
            starts = start.tolist()
            others = Rows(other_end[order].tolist(), starts)
            places = Rows(edges.place[order].tolist(), starts)
            neighbors.append((others, places))
        return tuple(neighbors)

    def border(self) -> Ids:
        """The paired ops that have one without a pair beside them."""
        unpaired = self.unpaired
        return np.flatnonzero(self._beside(unpaired) & ~unpaired).astype(np.int32)

    def beside(
        self, op: int, *, own_names: bool, only_readers: bool = False
    ) -> dict[Hashable, int]:
        """The unpaired ops beside one, by place and kind; or AMBIGUOUS."""
        names = self.index.names
        # Of ops that differ in attributes, the place shows nothing where others only wait.
        least_place = 1 if self._level.attributes == "none" else 0
        is_exact = self._level.attributes == "all"
        # Where an identity may be missing, the surroundings of an op are no longer the same.
        tells_apart = self._level.attributes != "none" and self._level.past >= PASSED_ON
        alike = defaultdict[Hashable, set[int]](set)
        for direction, (others, places) in enumerate(self._neighbors):
            if only_readers and not direction:
                continue
            for other, place in zip(others[op], places[op], strict=True):
                # A constant that only waits for an op may hold anything.
                least = least_place if is_exact or not self.is_constant[other] else 1
                if self.pair[other] < 0 and place >= least:
                    name = last_part(names[other]) if own_names else ""
                    if direction and self.index.types[other] in COMMUTATIVE:
                        # An optimizer adds and multiplies in another order, so that the op at
                        # this place may be the next one: it has other readers, or no weight.
                        # Gradients read it too, where the other graph has none.
                        readers = self.is_of_type_there[others[op]].sum()
                        weights = self._is_of_weights[self._neighbors[0][0][other]].sum()
                        name += f"{readers} {weights}"
                    alike[direction, place, self.kinds[other], name].add(other)
        neighbors: dict[Hashable, int] = {}
        for key, ops in alike.items():
            if len(ops) == 1:
                neighbors[key] = min(ops)
            elif len(ops) <= MOST_ALIKE and tells_apart:
                for other in ops:
                    further = key, self._surroundings(other)
                    neighbors[further] = AMBIGUOUS if further in neighbors else other
        return neighbors

    @cached_property
    def _is_of_weights(self) -> Mask:
        """The weights, and what is computed of them alone; and placeholders: a function has one for
        a tensor that it captures, which is a constant once it is frozen.
        """
        is_placeholder = of_type(self.index, PLACEHOLDERS.__contains__)
        return computed_from_weights(self.index) | is_placeholder

    def _surroundings(self, op: int) -> Hashable:
        """What is beside an op, the same for ops that are one."""
        near = Counter[Hashable]()
        for direction, (others, places) in enumerate(self._neighbors):
            for other, place in zip(others[op], places[op], strict=True):
                is_known = self.pair[other] >= 0 and not self._is_leaf[other]
                what = int(self.numbers[other]) if is_known else self._kind(other)
                near[direction, place, what] += 1
        return frozenset(near.items())


class _TwoGraphs:
    """The two graphs."""

    def __init__(self, before: _Side, after: _Side) -> None:
        self.before = before
        self.after = after
        self.evidence = np.full(len(before.index), NAME, np.uint8)
        for side, other in ((before, after), (after, before)):
            side.is_of_type_there = of_type(side.index, set(other.index.kinds[0]).__contains__)

    def look(self, level: Level) -> None:
        """Go on with the edges and kinds of a level."""
        self.before.look(level)
        self.after.look(level)

    def check_names(self, certain: Collection[str], *, of_tails: bool = False) -> None:
        """Where many ops of one name are something else, let names count only for ops that no
        others are: "Conv2D_3" counts the ops before it, and shifts with these. Where few are, but
        constants, calls or ops that read the same have changed places, do so if fewer ops differ
        then. The partners of `certain` ops are known. Of names without outer scopes (`of_tails`)
        many may differ, as what they read has no partner yet.
        """
        before, after, pair = self.before, self.after, self.before.pair
        is_other, count = self._others(), (pair >= 0).sum()
        if not is_other.any():
            return
        few = min(FEW_OTHERS, max(FEWEST_OTHERS, OTHERS_OF_SMALL * count))
        are_many = not of_tails and is_other.sum() > max(few, OTHERS * count)
        if not (are_many or self._are_exchanged(np.flatnonzero(is_other).tolist())):
            return  # an edit, say: its author knows an op by its name
        differences = is_other.sum() + before.unpaired.sum()
        pairs_by_name = pair.copy(), after.pair.copy(), self.evidence.copy()
        ops = np.flatnonzero(pair >= 0).tolist()
        by_name = [
            (i, int(pair[i]))
            for i in ops
            if before.index.names[i] not in certain and not self._are_inputs(i, int(pair[i]))
        ]
        for i, j in by_name:
            before.pair[i] = after.pair[j] = -1
        self.look(LEVELS[0])  # all that is known of what has no pair is of more ops now
        labeled: list[Pair] = []
        for rounds in (FAR, 3, 1):
            # Not beside the certain ones alone: there is what was inserted.
            pairs = self.with_unique_label(rounds, own_names=False, everywhere=not labeled)
            self.pair(pairs, STRUCTURE)
            labeled += pairs
        # What reads a pair is more certain than what it reads, which may be swapped.
        labeled += self.pair_neighbors(own_names=False, start=labeled, only_readers=True)
        self.pair_neighbors(own_names=False, start=labeled)
        still_free = ((i, j) for i, j in by_name if before.pair[i] < 0 and after.pair[j] < 0)
        self.pair(still_free, NAME)
        if not are_many and self._others().sum() + before.unpaired.sum() >= differences:
            pair[:], after.pair[:], self.evidence[:] = pairs_by_name

    def _others(self) -> Mask:
        """The ops of the first graph that are something else than their partners."""
        before, after, pair = self.before.index, self.after.index, self.before.pair
        is_other = ops_with_other_inputs(before, after, pair)
        for i in np.flatnonzero(pair >= 0).tolist():
            j = int(pair[i])
            here, there = before.nodes[i], after.nodes[j]
            if self._may_be_exchanged[i] and here.op == there.op:
                is_other[i] |= here != there and self.before.value(i) != self.after.value(j)
            else:
                is_other[i] |= here.op != there.op
        return is_other

    @cached_property
    def _may_be_exchanged(self) -> Mask:
        """The constants and calls, which are known by what they hold, or by their functions."""
        return self.before.is_constant | of_type(self.before.index, FUNCTION_CALLS.__contains__)

    def _are_inputs(self, i: int, j: int) -> bool:
        """Whether two ops of one name are inputs of the graphs: no more says which is which."""
        return self.before.index.types[i] in PLACEHOLDERS >= {self.after.index.types[j]}

    def _are_exchanged(self, ops: Sequence[int]) -> bool:
        """Whether one of some ops, which are something else than their partners, or a partner of
        them holds, calls or reads what another op does in the other graph: names of layers or ops
        that count them have shifted, or weights were exchanged.
        """
        before, after, pair = self.before, self.after, self.before.pair
        own_numbers = np.arange(len(after.index), dtype=np.int32)

        def values_before(some: Iterable[int]) -> set[Hashable]:
            return {_value_or_inputs(before, op, pair) for op in some} - {None}

        def values_after(some: Iterable[int]) -> set[Hashable]:
            return {_value_or_inputs(after, op, own_numbers) for op in some} - {None}

        here, there = values_before(ops), values_after(pair[ops].tolist())
        free_here = values_before(np.flatnonzero(before.unpaired).tolist())
        free_there = values_after(np.flatnonzero(after.unpaired).tolist())
        return bool(here & (there | free_there) or there & free_here)

    def pair_at(self, level: Level) -> None:
        """Pair what is alike at a level."""
        self.look(level)
        if level.rounds and level.attributes == "of computation":
            self.pair(self.with_near_values(_vector, MOST_ROUNDING), VALUES)
        if level.past >= SCALES_AND_SHIFTS:
            self.pair(self.with_near_values(_scaled_vector, MOST_ROUNDING_OF_SCALED), VALUES)
        if level == OF_ONE_VALUE:
            self.pair(self.with_one_value(), STRUCTURE)
            self.pair(self.with_same_readers(), STRUCTURE)
        elif not level.rounds:
            self.pair(self.with_same_name_in_scope(), NAME)
            for scopes in PREFIXES:
                self.pair(self.with_same_tail(*scopes), NAME)
        for own_names in (True, False):
            for rounds in level.rounds:
                self.pair(self.with_unique_label(rounds, own_names=own_names), STRUCTURE)
                self.pair_neighbors(own_names=own_names)
            self.pair_neighbors(own_names=own_names)

    def is_done(self) -> bool:
        """Whether there is nothing left to pair."""
        return not (self.before.unpaired.any() and self.after.unpaired.any())

    def pair(self, pairs: Iterable[Pair], evidence: int) -> None:
        """Let some ops be pairs; `evidence` is the place in EVIDENCE of what shows it."""
        for a, b in pairs:
            self.before.pair[a] = b
            self.after.pair[b] = a
            self.evidence[a] = evidence

    def part(self, pairs: Iterable[Pair]) -> None:
        """Let some ops be pairs no longer."""
        for a, b in pairs:
            self.before.pair[a] = self.after.pair[b] = -1

    def with_same_state(self) -> list[Pair]:
        """The ops that hold the same state, which one op does in each graph."""
        return _common(self.before.unique_states(), self.after.unique_states())

    def with_same_tail(self, scopes_before: int, scopes_after: int) -> list[Pair]:
        """The ops of one kind and, without so many outer scopes, of one name."""
        pairs = _common(self.before.tails(scopes_before), self.after.tails(scopes_after))
        if not pairs:
            return pairs
        forward = self.before.pair.copy()
        forward[[a for a, _ in pairs]] = [b for _, b in pairs]  # what is read may be among them
        graphs = self.before.index, self.after.index
        there = set(forward.tolist())
        pairs = [pair for pair in pairs if not _read_others(*graphs, forward, there, pair)]
        return [pair for pair in pairs if not _are_of_others(*graphs, pair)]

    def with_same_name_in_scope(self) -> list[Pair]:
        """The ops of one kind and of one name in scopes whose other ops are pairs: those that are
        alike but for the names of scopes.
        """
        scopes, before, after = self._scopes_there(), self.before, self.after
        here: dict[Hashable, int] = {}
        for op in np.flatnonzero(before.unpaired).tolist():
            name = before.index.names[op]
            scope = next((s for s in reversed([*enclosing_scopes(name)]) if s in scopes), "")
            if scope:
                key = before.kinds[op], scopes[scope] + name[len(scope) :]
                here[key] = AMBIGUOUS if key in here else op
        free = np.flatnonzero(after.unpaired).tolist()
        return _common(here, {(after.kinds[op], after.index.names[op]): op for op in free})

    def _scopes_there(self) -> dict[str, str]:
        """The scopes that have unpaired ops, with the scope in which most pairs of each are."""
        names, other_names = self.before.index.names, self.after.index.names
        unpaired = np.flatnonzero(self.before.unpaired).tolist()
        wanted = {scope for op in unpaired for scope in enclosing_scopes(names[op])}
        counts = defaultdict[str, Counter[str]](Counter)
        for op in np.flatnonzero(~self.before.unpaired).tolist() if wanted else ():
            scope, _, own = names[op].rpartition("/")
            other, _, other_own = other_names[self.before.pair[op]].rpartition("/")
            while scope and other and own == other_own:
                if scope in wanted:
                    counts[scope][other] += 1
                scope, _, own = scope.rpartition("/")
                other, _, other_own = other.rpartition("/")
        most = {scope: count.most_common(1)[0] for scope, count in counts.items()}
        return {scope: other for scope, (other, n) in most.items() if 2 * n > counts[scope].total()}

    def waiting_for_the_same(self) -> list[Pair]:
        """The NoOps that wait for the same: each is as good as the other."""
        pairs: list[Pair] = []
        there = self.after.by_what_they_wait_for()
        for key, ops in self.before.by_what_they_wait_for().items():
            pairs += zip(ops, there.get(key, []), strict=False)
        return pairs

    def with_same_readers(self) -> list[Pair]:
        """The ops that the same ops read, and that read the same in either graph: each is as good
        as the next.
        """
        pairs: list[Pair] = []
        there = self.after.by_readers()
        for key, ops in self.before.by_readers().items():
            others = there.get(key, [])
            if len(ops) == len(others):
                pairs += zip(ops, others, strict=True)
        return pairs

    def without_outputs_of_one_name(self) -> list[Pair]:
        """The ops without outputs that have one name, though they wait for other ops."""
        before, after = self.before.index, self.after.index
        pairs = []
        for i in np.flatnonzero(self.before.unpaired).tolist():
            if before.types[i] not in WITHOUT_OUTPUTS:
                continue
            j = after.ids.get(before.names[i])
            if j is not None and self.after.pair[j] < 0:
                pairs.append((i, j))
        return pairs

    def with_joined_constants(self) -> list[Pair]:
        """The constants that hold something else than their partners by place, where what reads
        them is one of two such ops in a row, and its partner the only one: "x + a + b" became
        "x + c", and c is neither a nor b.
        """
        before, after = self.before, self.after
        is_by_place = ~before.unpaired & (self.evidence == STRUCTURE) & before.is_constant
        pairs = []
        for i in np.flatnonzero(is_by_place).tolist():
            j = int(before.pair[i])
            if before.value(i) == after.value(j):
                continue
            if before.is_beside_unpaired_twin(i) or after.is_beside_unpaired_twin(j):
                pairs.append((i, j))
        return pairs

    def with_near_values(
        self, vector: Callable[[TensorProto], Vector], most_rounding: float
    ) -> list[Pair]:
        """The constants of one shape whose vectors differ by rounding at most, and which are
        clearly farther from all others.
        """
        there = self.after.constants_by_shape()
        pairs = []
        for shape, ops in self.before.constants_by_shape().items():
            others = there.get(shape, [])
            if others:
                vectors = [vector(value) for value in self.before.values(ops)]
                other_vectors = [vector(value) for value in self.after.values(others)]
                near = _nearest(vectors, other_vectors, most_rounding)
                pairs += [(ops[i], others[j]) for i, j in near]
        return pairs

    def with_unique_label(
        self, rounds: int, *, own_names: bool, everywhere: bool = False
    ) -> list[Pair]:
        """The ops with a label that one op has in each graph, `everywhere` or within so many edges
        of a pair.
        """
        landmarks_a, landmarks_b = self._landmarks()
        labels_a, ops_a = self.before.unique_labels(
            landmarks_a, rounds, own_names=own_names, everywhere=everywhere
        )
        labels_b, ops_b = self.after.unique_labels(
            landmarks_b, rounds, own_names=own_names, everywhere=everywhere
        )
        _, a, b = np.intersect1d(labels_a, labels_b, assume_unique=True, return_indices=True)
        # In the order of ops: labels, and what comes first of them, are others in each process.
        return sorted(zip(ops_a[a].tolist(), ops_b[b].tolist(), strict=True))

    def with_one_value(self) -> list[Pair]:
        """The ops that give the same, of which there is one in either graph: of equal ops an
        optimizer leaves one.
        """
        others_by_value = self.after.by_value()
        pairs: list[Pair] = []
        for value, ops in self.before.by_value().items():
            others = others_by_value.get(value, [])
            if min(len(ops), len(others)) == 1:
                free = [op for op in ops if self.before.pair[op] < 0]
                other_free = [op for op in others if self.after.pair[op] < 0]
                pairs += zip(free[:1], other_free[:1], strict=False)
        return pairs

    def _landmarks(self) -> tuple[Ids, Ids]:
        """For the ops of each graph the number that says which pair they are, -1 for none: that of
        the first one, or of a pair of constants that hold the same.
        """
        before, after = self.before, self.after
        paired = np.flatnonzero(~before.unpaired)
        numbers = [np.where(side.unpaired, -1, side.numbers) for side in (before, after)]
        # An optimizer leaves one of equal constants, which is paired with one of them alone.
        near = before.constants_beside_unpaired(), after.constants_beside_unpaired()
        both = paired[before.is_constant[paired] & after.is_constant[before.pair[paired]]]
        of_value: dict[bytes, int] = {}
        for a in both[near[0][both] | near[1][before.pair[both]]].tolist():
            number = of_value.setdefault(before.value(a), a)
            of_value.setdefault(after.value(int(before.pair[a])), number)
        for side, is_near, number_of in zip((before, after), near, numbers, strict=True):
            for op in np.flatnonzero(is_near).tolist():
                number_of[op] = of_value.get(side.value(op), number_of[op])
        return numbers[0], numbers[1]

    def pair_neighbors(
        self, *, own_names: bool, start: Iterable[Pair] | None = None, only_readers: bool = False
    ) -> list[Pair]:
        """Pair what is at the same place beside a pair, or what reads it, and go on from there;
        these pairs. `start` has the pairs to begin with.
        """
        border = ((a, int(self.before.pair[a])) for a in self.before.border().tolist())
        stack, further = [*(border if start is None else start)], list[Pair]()
        while stack:
            a, b = stack.pop()
            beside_a = self.before.beside(a, own_names=own_names, only_readers=only_readers)
            if not beside_a:
                continue
            beside_b = self.after.beside(b, own_names=own_names, only_readers=only_readers)
            for one, other in _common(beside_a, beside_b):
                is_free = self.before.pair[one] < 0 and self.after.pair[other] < 0
                graphs = self.before.index, self.after.index
                if is_free and not _are_of_others(*graphs, (one, other)):
                    self.pair([(one, other)], STRUCTURE)
                    stack.append((one, other))
                    further.append((one, other))
        return further


def _value_or_inputs(side: _Side, op: int, numbers: Ids) -> Hashable:
    """What a constant holds or a call calls; of another op its kind and what it reads, by the
    `numbers` of ops and as the weight that a read gives; None where nothing shows which op it is.
    """
    index = side.index
    if side.is_constant[op] or index.types[op] in FUNCTION_CALLS:
        return side.value(op)
    read = []
    for source, port in index.input_tensors(op):
        weight = _weight_of(index, source)
        number = int(numbers[source if weight < 0 else weight])
        if number < 0:
            return None
        read.append((number, port))
    return (side.value(op), *read) if read else None


def _common(before: Mapping[Hashable, int], after: Mapping[Hashable, int]) -> list[Pair]:
    """The ops that have the same key, without those that are AMBIGUOUS."""
    pairs = []
    for key, a in before.items():
        b = after.get(key, AMBIGUOUS)
        if AMBIGUOUS not in (a, b):
            pairs.append((a, b))
    return pairs


def is_rounded(before: TensorProto, after: TensorProto) -> bool:
    """Whether two constants have the same shape and floating-point values that differ, each of
    them, by rounding to the coarser dtype at most.
    """
    dtype = dtype_name(before, "dtype", before.dtype)
    other_dtype = dtype_name(after, "dtype", after.dtype)
    if dtype not in HALF_UNITS or other_dtype not in HALF_UNITS:
        return False
    try:
        array = tensor_array(before, dtype).astype(np.float64)
        other = tensor_array(after, other_dtype).astype(np.float64)
    except ValueError:  # a damaged file
        return False
    if array.shape != other.shape:
        return False
    half_unit = max(HALF_UNITS[dtype], HALF_UNITS[other_dtype])
    return bool(np.allclose(array, other, rtol=half_unit, atol=LEAST_FLOAT16, equal_nan=True))


def _vector(proto: TensorProto) -> Vector:
    """The values of a constant; none where they cannot be read."""
    try:
        array = tensor_array(proto, dtype_name(proto, "dtype", proto.dtype))
        return array.astype(np.float32).ravel()
    except (TypeError, ValueError):
        return np.zeros(0, np.float32)


def _scaled_vector(proto: TensorProto) -> Vector:
    """The values of a constant, each as a share of the largest of its channel: the same however the
    channels are scaled; none where a channel has one number.
    """
    sizes = [dim.size for dim in proto.tensor_shape.dim if dim.size != 1]
    vector = _vector(proto)
    if len(sizes) < 2 or not len(vector):
        return np.zeros(0, np.float32)
    rows = vector.reshape(-1, sizes[-1])
    largest = np.take_along_axis(rows, np.abs(rows).argmax(0, keepdims=True), 0)
    divisors = np.where(largest == 0, 1, largest).astype(np.float32)
    return np.asarray(rows / divisors, np.float32).ravel()


def _nearest(before: list[Vector], after: list[Vector], most_rounding: float) -> list[Pair]:
    """The places of vectors that are nearest to each other, and near by `most_rounding`."""
    forward = _clearly_nearest(before, after, most_rounding)
    backward = _clearly_nearest(after, before, most_rounding)
    return [(i, j) for i, j in forward.items() if backward.get(j) == i]


def _clearly_nearest(
    vectors: list[Vector], others: list[Vector], most_rounding: float
) -> dict[int, int]:
    """For each vector the place of the other that is near, where no second one is nearly so."""
    lengths = np.array([np.linalg.norm(vector) for vector in vectors])
    other_lengths = np.array([np.linalg.norm(vector) for vector in others])
    nearest: dict[int, int] = {}
    for i, vector in enumerate(vectors):
        if not len(vector) or vector.min() == vector.max():
            continue  # zeros or ones are equal by chance
        limit = most_rounding * lengths[i]
        # Vectors are as far apart as their lengths at least.
        (candidates,) = np.nonzero(np.abs(other_lengths - lengths[i]) <= limit * CLEARLY_NEARER)
        alike = [j for j in candidates[:MOST_CANDIDATES].tolist() if len(others[j]) == len(vector)]
        by_distance = sorted((float(np.linalg.norm(vector - others[j])), j) for j in alike)
        if len(candidates) > MOST_CANDIDATES or not by_distance or by_distance[0][0] > limit:
            continue
        next_one = by_distance[1][0] if len(by_distance) > 1 else np.inf
        if next_one > CLEARLY_NEARER * by_distance[0][0]:
            nearest[i] = by_distance[0][1]
    return nearest


def _mix(labels: Labels) -> Labels:
    """Labels well shuffled: equal ones stay equal, others hardly ever become so.

    This is the last step of SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, "Fast splittable
    pseudorandom number generators", 2014), which maps 64 bits one to one.
    """
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        labels = (labels ^ (labels >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(labels ^ (labels >> np.uint64(31)))

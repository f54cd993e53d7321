"""Properties of a graph's ops that its drawing depends on, whichever scopes are open; computed once
per index.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph import (
    ARGUMENTS,
    CHECKPOINT_OPS,
    CONSTANT_LIKE,
    DT_RESOURCE,
    HANDLES,
    RESOURCE_READS,
    SHAPE_QUERIES,
    VARIABLE_READS,
    GraphIndex,
    called_functions,
    is_distinct_handle,
    op_types_of,
    reach,
    rows_of,
)
from tfgraphwidget.naming import words
from tfgraphwidget.tf_types import NodeDef

# Families of op types: what decides a box's color.

FAMILIES = words(
    "other input constant variable linear activation normalization arithmetic shape control state",
    "pooling",
)

# Of each family the patterns of whole op types. The first family of which one matches wins, so the
# narrow ones come first.
_PATTERNS = {
    "input": words(
        r"Placeholder(V2|WithDefault)? _?Arg .*Iterator(V2|GetNext.*)? .*Dataset.*",
        r"Queue(Dequeue|.*)V2",
    ),
    "constant": words(r"(Host|Guarantee|Immutable)?Const"),
    "variable": words(
        r"Variable(V2)? VarHandleOp ReadVariableOp AutoReloadVariable ResourceGather(Nd)?",
        r"_VarHandlesOp",
    ),
    "state": words(
        r"(Resource)?.*Assign.* (Resource)?(Sparse)?Apply.* ResourceApply.*",
        r"Scatter(Add|Sub|Update|NdUpdate).* VarIsInitializedOp IsVariableInitialized .*Save.*",
        r".*Restore.* .*Checkpoint.* .*HashTable.* Stack.*V2 TensorArray.* .*Queue.*",
        r"TensorList.* .*Summary.* Assert Print(V2)?",
    ),
    "linear": words(r".*(Conv[23]D|MatMul|Einsum|BiasAdd|Depthwise).* (Transpose)?Conv"),
    "activation": words(r".*(Relu|Elu|Selu|Softmax|Sigmoid|Tanh|Softplus|Softsign|Gelu|Swish).*"),
    "normalization": words(r".*(BatchNorm|LRN|LayerNorm).* Moments"),
    "pooling": words(r".*(Avg|Max)Pool.*"),
    "control": words(
        r"(Ref)?(Switch|Merge|Enter|Exit|NextIteration) LoopCond (Stateless)?(While|If|Case)",
        r"NoOp ControlTrigger (Stateful)?PartitionedCall SymbolicGradient _Retval",
        r"(Ref)?Identity(N)? StopGradient",
    ),
    "shape": words(
        r"Reshape Transpose Shape(N)? Size Rank ExpandDims Squeeze (Strided)?Slice(Grad)?",
        r"Pad(V2)? Mirror.* Unique.* Concat(V2)? ConcatOffset Split(V)? Pack Unpack Stack Tile",
        r"Gather(V2|Nd)? Fill Range Reverse.* Cast (Zeros|Ones)Like OneHot Broadcast.*",
        r"InvertPermutation Dynamic(Partition|Stitch) Scatter.* Where",
    ),
    "arithmetic": words(
        r"Add(V2|N)? .*Dropout.* L2Loss Sub Mul .*Div.* Pow Sqrt Rsqrt Square(dDifference)?",
        r"Neg Abs Sign Exp Log(1p)? Maximum Minimum Mean Sum Prod Max Min Any All Arg(Max|Min)",
        r"Less.* Greater.* (Not)?Equal Logical.* Select.* FloorMod Floor Ceil Round Rint Sin",
        r"Cos Tan Reciprocal.* .*Random.* TruncatedNormal Cum(sum|prod)",
    ),
}
# What gives other values each time, of what something else has put into a queue or a reader, which
# are state.
_TAKES = re.compile(r"QueueDequeue\w*|ReaderRead(UpTo)?(V2)?|BarrierTakeMany")


def _compile_patterns(flags: int) -> list[tuple[int, re.Pattern[str]]]:
    """The number of each family with a pattern for all of its op types, in the order to try."""
    return [
        (FAMILIES.index(name), re.compile("|".join(patterns), flags))
        for name, patterns in _PATTERNS.items()
    ]


_COMPILED = _compile_patterns(0)
_OF_OPERATORS = _compile_patterns(re.IGNORECASE)  # of converted models, which write types otherwise


def family(op_type: str) -> int:
    """Return the number in FAMILIES of an op type; 0 ("other") if no pattern matches it.

    Args:
        op_type: The op type, such as "MatMul", or that of an operator of a converted model.
    """
    matches = [number for number, pattern in _COMPILED if pattern.fullmatch(op_type)]
    for name in op_types_of(op_type):
        matches += [number for number, pattern in _OF_OPERATORS if pattern.fullmatch(name)]
    return matches[0] if matches else 0


def families(op_types: Sequence[str]) -> npt.NDArray[np.uint8]:
    """Return the family of each op type, uint8 (n,)."""
    family_by_type = {op_type: family(op_type) for op_type in set(op_types)}
    return np.array([family_by_type[op_type] for op_type in op_types], dtype=np.uint8)


Ints = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]
COMPUTING = tuple(
    FAMILIES.index(name) for name in ("linear", "activation", "normalization", "pooling")
)
STORED = tuple(FAMILIES.index(name) for name in ("constant", "variable", "control", "state"))
# What an op is that represents something known before anything is fed: no such thing, a constant, a
# variable, the reading of one of them, a variable that a function has captured.
NONE, CONSTANT, HANDLE, READ, CAPTURED = range(5)
READS_IN_A_ROW = 4  # a ReadVariableOp and the Identities after it
_cache: WeakKeyDictionary[GraphIndex, OpFacts] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class OpFacts:
    """Properties of the ops of a graph, one array per property with an entry per op, in graph
    order.

    Attributes:
        family: uint8, the number in FAMILIES.
        handle: bool, whether the op holds a variable.
        variable: bool, whether it is the one of a variable's handles that counts.
        depends_on_input: bool, whether its value depends on what is fed: a placeholder, queue or
            iterator.
        constant_kind: uint8, NONE for an op that depends on inputs, else CONSTANT, HANDLE, READ,
            CAPTURED or NONE.
        is_compute: bool, whether it depends on the values of inputs and not only on their shapes,
            and computes rather than controls or stores.
        checkpoint: bool, whether it reads or writes a checkpoint.
        computing: bool, whether its family is one that layers are made of (COMPUTING).
        calls_function: bool, whether it calls a function of the graph's library.
        is_summary: bool, whether it depends on inputs and writes a summary.
    """

    family: npt.NDArray[np.uint8]
    handle: Mask
    variable: Mask
    depends_on_input: Mask
    constant_kind: npt.NDArray[np.uint8]
    is_compute: Mask
    checkpoint: Mask
    computing: Mask
    calls_function: Mask
    is_summary: Mask


def find_op_facts(index: GraphIndex) -> OpFacts:
    """Return the properties of the ops of an index, cached as long as the index lives."""
    facts = _cache.get(index)
    if facts is None:
        facts = _cache[index] = _compute_facts(index)
    return facts


def of_types(index: GraphIndex, types: frozenset[str]) -> Mask:
    """Return which ops have one of these types, bool (n,)."""
    names, codes = index.kinds
    if not names:
        return np.zeros(0, dtype=bool)
    return np.array([name in types for name in names], dtype=bool)[codes]


def count_inside(start: Ints, stop: Ints, order: Ints, mask: Mask) -> Ints:
    """Count the wanted ops of each scope, nested ones included.

    Args:
        start: The first position of each scope in `order`, as in ScopeTree.
        order: The ops in the order of scopes.

    Returns:
        The number of wanted ops per scope.
    """
    total = np.concatenate([[0], np.cumsum(mask[order])])
    counts: Ints = (total[stop] - total[start]).astype(np.int32)
    return counts


def find_savers(start: Ints, stop: Ints, order: Ints, masks: tuple[Mask, Mask, Mask]) -> Mask:
    """Find the scopes that read or write checkpoints and compute nothing else.

    Args:
        start: The first position of each scope in `order`, as in ScopeTree.
        order: The ops in the order of scopes.
        masks: Which ops read or write checkpoints, are variables, compute.
    """
    checkpoint, handle, computing = (count_inside(start, stop, order, mask) for mask in masks)
    saver: Mask = (checkpoint > 0) & (handle == 0) & (computing == 0)
    saver[0] = False
    return saver


def _compute_facts(index: GraphIndex) -> OpFacts:
    tree = index.scopes
    names, codes = index.kinds
    family = families(names)[codes] if names else np.zeros(0, dtype=np.uint8)
    handle, checkpoint = of_types(index, HANDLES), of_types(index, CHECKPOINT_OPS)
    computing = np.isin(family, COMPUTING)
    saver = find_savers(tree.start, tree.stop, tree.order, (checkpoint, handle, computing))
    captured = _find_captured_variables(index)
    sources = _find_sources(index, family, saver, captured)
    is_stored = np.isin(family, STORED)
    depends_on_input = reach(index.consumers.start, index.consumers.values, sources)
    if not len(sources):
        # A graph that is fed by nothing has no side of parameters.
        depends_on_input = ~is_stored
        sources = np.flatnonzero(depends_on_input)
    summary_types = frozenset(name for name in names if "Summary" in name)
    return OpFacts(
        family=family,
        handle=handle,
        variable=is_distinct_handle(index),
        depends_on_input=depends_on_input,
        constant_kind=_classify_constants(index, handle, captured) * ~depends_on_input,
        is_compute=depends_on_input & _go_on_with_values(index, sources) & ~is_stored,
        checkpoint=checkpoint,
        computing=computing,
        calls_function=_find_calls(index),
        is_summary=of_types(index, summary_types) & depends_on_input,
    )


def _find_captured_variables(index: GraphIndex) -> Mask:
    """Arguments of a function that are variables of the graph around it: resources that are read as
    variables are.
    """
    captured = np.zeros(len(index), dtype=bool)
    reads = of_types(index, RESOURCE_READS)
    for op in np.flatnonzero(of_types(index, ARGUMENTS)).tolist():
        attributes = index.nodes[op].attr
        dtype = next((attributes[key].type for key in ("dtype", "T") if key in attributes), 0)
        captured[op] = dtype == DT_RESOURCE and reads[index.consumer_lists[op]].any()
    return captured


def _classify_constants(index: GraphIndex, handle: Mask, captured: Mask) -> npt.NDArray[np.uint8]:
    constant_kind = np.select(
        [of_types(index, CONSTANT_LIKE), handle, captured],
        [CONSTANT, HANDLE, CAPTURED],
        default=NONE,
    ).astype(np.uint8)
    start = index.inputs.start
    single = np.diff(start) == 1
    passes = np.flatnonzero(single & of_types(index, VARIABLE_READS))
    source = index.inputs.values[start[passes]]
    # A ref variable's value is what its Identity named "read" gives; frozen graphs have the same
    # beside a constant. Any other Identity is a read where it hands on the value of a variable,
    # as one does after the ReadVariableOp of a partitioned variable.
    named = np.ones(len(passes), dtype=bool)
    for at, op in enumerate(passes.tolist()):
        if index.types[op] == "Identity":
            named[at] = index.names[op].endswith("/read")
    for _ in range(READS_IN_A_ROW):
        kind = constant_kind[source]
        reads = passes[(kind > NONE) & (named | (kind != CONSTANT))]
        if (constant_kind[reads] == READ).all():
            break
        constant_kind[reads] = READ
    return constant_kind


def _find_calls(index: GraphIndex) -> Mask:
    """Which ops call a function: only the types that do are looked at one by one."""
    is_call = np.zeros(len(index), dtype=bool)
    if not index.functions or not len(index):
        return is_call
    names, codes = index.kinds
    first = np.unique(codes, return_index=True)[1].tolist()
    calling = frozenset(
        names[code] for code, op in enumerate(first) if _may_call(index.nodes[op], index)
    )
    for op in np.flatnonzero(of_types(index, calling)).tolist():
        is_call[op] = bool(called_functions(index.nodes[op], index.functions))
    return is_call


def _may_call(node: NodeDef, index: GraphIndex) -> bool:
    """Whether an op, as others of its type may, is a call or has a function as an attribute."""
    if node.op in index.functions:
        return True
    for value in node.attr.values():
        kind = value.WhichOneof("value")
        if kind == "func" or (kind == "list" and value.list.func):
            return True
    return False


def _find_sources(
    index: GraphIndex, family: npt.NDArray[np.uint8], saver: Mask, captured: Mask
) -> npt.NDArray[np.intp]:
    """The ops that invent their value: placeholders, queues, iterators.

    What depends on none of them is the parameters' side of the graph: constants, variables,
    initializers.
    """
    sources = (np.diff(index.inputs.start) == 0) & ~np.isin(family, STORED)
    sources |= of_types(index, frozenset(filter(_TAKES.fullmatch, index.kinds[0])))
    sources &= ~saver[index.scopes.scope_of] & ~captured
    return np.flatnonzero(sources)


def _go_on_with_values(index: GraphIndex, sources: npt.NDArray[np.intp]) -> Mask:
    """Which ops depend on sources other than by a shape."""
    values, owner = index.consumers.values, index.consumers.owner
    asks_shape = of_types(index, SHAPE_QUERIES)
    goes_on = ~asks_shape[owner]
    edges = rows_of(owner[goes_on], values[goes_on], len(index))
    return reach(*edges, sources) & ~asks_shape

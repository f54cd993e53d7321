"""Contraction: edges of a graph past ops that hand their value on.

An edge to such an op's consumer begins at what the op consumes, so two graphs of which one has
identities, casts or folded batch norms have the same edges.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph import op_types
from tfgraphwidget.graph.edges import Ids, Mask, make_read_only
from tfgraphwidget.graph.index import GraphIndex

# They hand a value on as it is, or in another dtype.
PASSED_ON = op_types.HANDS_ON | op_types.VARIABLE_READS | {"RefIdentity", "CheckNumerics"}
CASTS = frozenset({"Cast", "Bitcast"})
# They scale or shift each channel by a weight: folding a batch norm leaves others in their place.
SCALES_AND_SHIFTS = op_types.FUSED_BATCH_NORMS | {
    *("BiasAdd", "BiasAddV1", "Add", "AddV2", "Sub", "Mul", "BatchNormWithGlobalNormalization")
}
WEIGHTS = op_types.CONSTANTS | op_types.HANDLES
MOST_STEPS = 32  # doublings: of a chain of 2^32 ops


@dataclass(frozen=True)
class ContractedEdges:
    """The edges of a graph past some of its ops.

    Attributes:
        consumer: For each edge the op that consumes or waits.
        source: For each edge the op that produces or is waited for.
        place: For each edge what tells it from others at its ops: the slot where it ends and the
            port where it begins; 0 for a control edge.
        passed: The ops that the edges go past: none of them begins or ends there.
    """

    consumer: Ids
    source: Ids
    place: npt.NDArray[np.uint64]
    passed: Mask


MOST_PORTS = np.uint64(1 << 20)  # a port is less, so slot and port fit into one number


def contracted_edges(index: GraphIndex, types: Iterable[str] = ()) -> ContractedEdges:
    """The edges of a graph past its ops of some types.

    Args:
        index: The graph.
        types: Op types; of one that reads more than one tensor only those ops are passed whose
            other tensors are weights. None: all edges as they are.
    """
    inputs, controls = index.inputs, index.controls
    consumer, source, ports = inputs.owner, inputs.values, index.ports
    slots = np.arange(len(source)) - np.repeat(inputs.start[:-1], np.diff(inputs.start))
    passed = np.zeros(len(index), bool)
    wanted = frozenset(types)
    if wanted:
        from_op, from_port, passed = _handed_on(index, wanted)
        goes_on = passed[source] & (ports == 0)
        ports = np.where(goes_on, from_port[source], ports)
        source = np.where(goes_on, from_op[source], source)
    stays = ~(passed[consumer] | passed[source])
    waits = ~(passed[controls.owner] | passed[controls.values])
    places = slots.astype(np.uint64) * MOST_PORTS + ports.astype(np.uint64) + np.uint64(1)
    edges = ContractedEdges(
        np.concatenate([consumer[stays], controls.owner[waits]]),
        np.concatenate([source[stays], controls.values[waits]]),
        np.concatenate([places[stays], np.zeros(int(waits.sum()), np.uint64)]),
        passed,
    )
    make_read_only(edges.consumer, edges.source, edges.place, edges.passed)
    return edges


def _handed_on(index: GraphIndex, types: frozenset[str]) -> tuple[Ids, Ids, Mask]:
    """For each op the tensor, as op and port, that its first output is past the ops of some types;
    and which ops these are.
    """
    is_weight = _gives_weights(index)
    main = _main_inputs(index, types, is_weight)
    passed = main >= 0
    from_op = np.arange(len(index), dtype=np.int32)
    from_port = np.zeros(len(index), np.int32)
    from_op[passed] = index.inputs.values[main[passed]]
    from_port[passed] = index.ports[main[passed]]
    for _ in range(MOST_STEPS):
        again = passed & passed[from_op] & (from_port == 0)
        if not again.any():
            break
        from_port[again] = from_port[from_op[again]]
        from_op[again] = from_op[from_op[again]]
    return from_op, from_port, passed


def _main_inputs(index: GraphIndex, types: frozenset[str], is_weight: Mask) -> Ids:
    """For each op of the types the edge of the tensor that it hands on, -1 for all others: the one
    input, or the one that is not a weight.
    """
    kinds, numbers = index.kinds
    of_type = np.array([kind in types for kind in kinds], bool)[numbers]
    inputs = index.inputs
    computed = ~is_weight[inputs.values]
    count = np.bincount(inputs.owner, minlength=len(index))
    computed_count = np.bincount(inputs.owner[computed], minlength=len(index))
    edges = np.arange(len(inputs.values), dtype=np.int32)
    first_computed = np.full(len(index), -1, np.int32)
    first_computed[inputs.owner[computed][::-1]] = edges[computed][::-1]
    main = np.where(computed_count == 1, first_computed, -1)
    alone = count == 1
    main[alone] = inputs.start[:-1][alone]
    return np.where(of_type, main, -1).astype(np.int32)


def _gives_weights(index: GraphIndex) -> Mask:
    """The constants and variables, and what hands them on."""
    kinds, numbers = index.kinds
    weights = np.array([kind in WEIGHTS for kind in kinds], bool)[numbers]
    hands_on = np.array([kind in PASSED_ON | CASTS for kind in kinds], bool)[numbers]
    source = np.arange(len(index), dtype=np.int32)
    alone = hands_on & (np.diff(index.inputs.start) == 1)
    source[alone] = index.inputs.values[index.inputs.start[:-1][alone]]
    for _ in range(MOST_STEPS):
        further = source[source]
        if np.array_equal(further, source):
            break
        source = further
    return np.asarray(weights[source])

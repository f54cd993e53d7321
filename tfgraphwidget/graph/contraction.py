"""Contraction: edges of a graph past ops that hand their value on.

An edge to such an op's consumer begins at what the op consumes, so two graphs of which one has
identities, casts or folded batch norms have the same edges.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph import op_types
from tfgraphwidget.graph.edges import Ids, Mask, make_read_only
from tfgraphwidget.graph.function_refs import called_functions
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.stateful_resources import of_type
from tfgraphwidget.graph.traversal import forward

WEIGHTS = op_types.CONSTANTS | op_types.HANDLES
MOST_STEPS = 32  # doublings: of a chain of 2^32 ops


@dataclass(frozen=True)
class ContractedEdges:
    """The edges of a graph past some of its ops.

    Attributes:
        consumer: For each edge the op that consumes or waits.
        source: For each edge the op that produces or is waited for.
        place: For each edge what distinguishes it at its ops: the slot where it ends, if that
            matters, and the port where it begins; 0 for a control edge.
        passed: The ops that the edges go past: none of them begins or ends there.
    """

    consumer: Ids
    source: Ids
    place: npt.NDArray[np.uint64]
    passed: Mask


SAVERS = ("_traced_save_", "_traced_restore_")  # in names of functions, as TensorFlow gives them
MOST_PORTS = np.uint64(1 << 20)  # a port is less, so slot and port fit into one number


def contracted_edges(
    index: GraphIndex,
    types: Iterable[str] = (),
    *,
    controls: bool = True,
    unordered: Collection[str] = op_types.COMMUTATIVE,
) -> ContractedEdges:
    """The edges of a graph past its ops of some types.

    Args:
        types: Op types; of one that reads more than one tensor only those ops are passed whose
            other tensors are weights. None: all edges as they are.
        controls: Whether the control edges are among them.
        unordered: Op types whose inputs have no order.
    """
    inputs, waiting = index.inputs, index.controls
    consumer, source, ports = inputs.owner, inputs.values, index.ports
    slots = np.arange(len(source)) - np.repeat(inputs.start[:-1], np.diff(inputs.start))
    kinds, numbers = index.kinds
    has_no_order = np.array([kind in unordered for kind in kinds], bool)[numbers]
    slots[has_no_order[consumer]] = 0
    slots[np.isin(consumer, calls_of_savers(index))] = 0
    # A saver has variables in an order that says nothing, after the path, the names and the slices.
    is_saved = of_type(index, "SaveV2".__eq__)[consumer]
    slots[is_saved] = np.minimum(slots[is_saved], 3)
    ports = np.where(of_type(index, "RestoreV2".__eq__)[source], 0, ports)
    passed, tensors = _handed_on_edges(index, frozenset(types))
    source, ports = source[tensors], ports[tensors]
    stays = ~(passed[consumer] | passed[source])
    waits = ~(passed[waiting.owner] | passed[waiting.values]) & controls
    places = slots.astype(np.uint64) * MOST_PORTS + ports.astype(np.uint64) + np.uint64(1)
    edges = ContractedEdges(
        np.concatenate([consumer[stays], waiting.owner[waits]]),
        np.concatenate([source[stays], waiting.values[waits]]),
        np.concatenate([places[stays], np.zeros(int(waits.sum()), np.uint64)]),
        passed,
    )
    make_read_only(edges.consumer, edges.source, edges.place, edges.passed)
    return edges


def _handed_on_edges(index: GraphIndex, types: frozenset[str]) -> tuple[Mask, Ids]:
    """The passed ops, and for each edge the op that brings its tensor to the first it passes."""
    inputs, ports = index.inputs, index.ports
    edges = np.arange(len(ports), dtype=np.int32)
    if not types:
        return np.zeros(len(index), bool), edges
    main = _main_inputs(index, types - op_types.SEVERAL_HANDED_ON, computed_from_weights(index))
    is_first = (main[inputs.values] >= 0) & (ports == 0)
    edges[is_first] = main[inputs.values[is_first]]
    hands_on_several = of_type(index, (types & op_types.SEVERAL_HANDED_ON).__contains__)
    has_input = ports < np.diff(inputs.start)[inputs.values]
    is_any = hands_on_several[inputs.values] & has_input
    edges[is_any] = inputs.start[inputs.values[is_any]] + ports[is_any]
    for _ in range(MOST_STEPS):
        further = edges[edges]
        if np.array_equal(further, edges):
            break
        edges = further
    return (main >= 0) | hands_on_several, edges


def calls_of_savers(index: GraphIndex) -> list[int]:
    """The calls of functions that save or restore the variables of a SavedModel: these have another
    order in each file, which says nothing.
    """
    savers = []
    for op in np.flatnonzero(of_type(index, op_types.FUNCTION_CALLS.__contains__)).tolist():
        functions = [each.function for each in called_functions(index.nodes[op], index.functions)]
        if any(part in function for part in SAVERS for function in functions):
            savers.append(op)
    return savers


class HandedOn(NamedTuple):
    """What the first outputs of ops are past ops that hand a tensor on.

    Attributes:
        op: For each op the one whose tensor its first output is.
        port: For each op the port of that tensor.
        passed: The ops that hand a tensor on.
        main: For each of these the op whose tensor it consumes.
        main_port: The port of that tensor.
    """

    op: Ids
    port: Ids
    passed: Mask
    main: Ids
    main_port: Ids

    def root(self, tensor: tuple[int, int]) -> tuple[int, int]:
        """The tensor that one is."""
        op, port = tensor
        if port or not self.passed[op]:
            return tensor
        return int(self.op[op]), int(self.port[op])

    def path(self, tensor: tuple[int, int]) -> list[int]:
        """The ops that hand a tensor on, the last of them first."""
        op, port = tensor
        ops: list[int] = []
        while not port and self.passed[op]:
            ops.append(op)
            op, port = int(self.main[op]), int(self.main_port[op])
        return ops


def handed_on(index: GraphIndex, types: frozenset[str], among: Mask) -> HandedOn:
    """What first outputs are without ops of some types `among` those; see `contracted_edges`."""
    edges = _main_inputs(index, types, computed_from_weights(index))
    passed = (edges >= 0) & among
    main = np.arange(len(index), dtype=np.int32)
    main_port = np.zeros(len(index), np.int32)
    main[passed] = index.inputs.values[edges[passed]]
    main_port[passed] = index.ports[edges[passed]]
    op, port = main.copy(), main_port.copy()
    for _ in range(MOST_STEPS):
        again = passed & passed[op] & (port == 0)
        if not again.any():
            break
        # The ports first: they are those of where the ops lead now.
        port[again] = port[op[again]]
        op[again] = op[op[again]]
    return HandedOn(op, port, passed, main, main_port)


def _main_inputs(index: GraphIndex, types: frozenset[str], is_weight: Mask) -> Ids:
    """For each op of the types the edge of the tensor that it hands on, -1 for all others: the one
    input, or the one that is not a weight; of a weight that gets another shape that weight.
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
    packs_several = np.array([kind == "Pack" for kind in kinds], bool)[numbers] & ~alone
    main[packs_several] = -1
    if not types >= op_types.RESHAPES_OF_ANY:
        reshapes = np.array([kind in op_types.RESHAPES for kind in kinds], bool)[numbers]
        main[reshapes] = np.where(is_weight & (count > 0), inputs.start[:-1], -1)[reshapes]
    return np.where(of_type, main, -1).astype(np.int32)


def computed_from_weights(index: GraphIndex) -> Mask:
    """The constants and variables, captured ones too, and what is computed of them alone."""
    kinds, numbers = index.kinds
    weights = np.array([kind in WEIGHTS for kind in kinds], bool)[numbers]
    without_inputs = np.diff(index.inputs.start) == 0
    others = np.flatnonzero(without_inputs & ~weights).tolist()
    others = [op for op in others if index.dtypes(op) != ("resource",)]
    return ~forward(index, others, controls=False)

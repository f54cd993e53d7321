"""What gradients are for: to train variables, or for the network itself to go on with.

Forces are gradients of an energy, and a gradient penalty is a term of a loss. Such gradients are a
part of the network, also of one that is not trained.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph.adjacency import reach, rows_of
from tfgraphwidget.graph.edges import Mask
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op_effects import writes
from tfgraphwidget.graph.op_types import EMPTY_LIST
from tfgraphwidget.graph.traversal import backward

APPLIES = re.compile(r"(Resource)?(Sparse)?Apply[A-Z]\w*")
"""Types of the ops that an optimizer updates variables with."""
# Types of all ops that change the value of a variable.
_UPDATE = re.compile(
    rf"{APPLIES.pattern}|Assign\w*|(Resource)?Scatter(Nd)?(Add|Div|Max|Min|Mul|Sub|Update)"
)


def gradients_of_training(
    index: GraphIndex, scopes: npt.NDArray[np.intp], gradients: npt.NDArray[np.intp]
) -> Mask:
    """The ops in scopes of gradients, one bool per op, that a variable is updated by, or that
    nothing outside reads.

    `scopes` numbers for each op the scope of gradients that it is in, 0 for none; `gradients` are
    the ops of gradients, without `lists_for_gradients`.
    """
    start, values, owner = index.consumers.start, index.consumers.values, index.consumers.owner
    depends = reach(start, values, gradients)
    updates = updates_variable(index)
    updates |= writes(index, np.flatnonzero(depends & ~updates).tolist())
    used = scopes[_first_before(index, updates & depends, scopes > 0)]
    is_gradient = np.zeros(len(index), dtype=bool)
    is_gradient[gradients] = True
    read = scopes[owner[is_gradient[owner] & (scopes[values] == 0)]]
    return (scopes > 0) & (np.isin(scopes, used) | ~np.isin(scopes, read))


def updates_variable(index: GraphIndex) -> Mask:
    """Which ops change the value of the variable that they take first."""
    names, codes = index.kinds
    return np.array([bool(_UPDATE.fullmatch(name)) for name in names], dtype=bool)[codes]


def _first_before(index: GraphIndex, ops: Mask, wanted: Mask) -> npt.NDArray[np.intp]:
    """The wanted ops that lead to some ops without another wanted one between."""
    values, owner = index.inputs.values, index.inputs.owner
    is_followed = ~wanted[owner]
    edges = rows_of(owner[is_followed], values[is_followed], len(index))
    return np.flatnonzero(reach(*edges, np.flatnonzero(ops)) & wanted)


def lists_for_gradients(index: GraphIndex, gradient_ops: Iterable[int]) -> Mask:
    """The empty lists that loops of TensorFlow 2 fill for their gradients, and what the lists are
    made of, one bool per op.

    They are made with the gradient, and the loop itself reads them: what depends on them is no
    gradient.
    """
    lists = [op for op in gradient_ops if index.types[op] == EMPTY_LIST]
    return backward(index, lists)

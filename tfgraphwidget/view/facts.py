"""What the drawing wants to know of a graph whichever scopes are open; reckoned once per index."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import breadth_first_order

from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.scopes import ScopeTree
from tfgraphwidget.graph.variables import HANDLES
from tfgraphwidget.view.family import CHECKPOINT, FAMILIES, KERNELS, families

Ints = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]
_WORK = [FAMILIES.index(name) for name in ("linear", "activation", "normalisation")]
_STORED = [FAMILIES.index(name) for name in ("constant", "variable", "control", "state")]
_cache: WeakKeyDictionary[GraphIndex, Facts] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Facts:
    """Per op: `family` (uint8), `handle` (bool: holds a variable), `fed` (bool: depends on what the graph is fed).

    Per scope, nested ops included: `first` (its first op), `depth` (root 0), `ops`, `variables`, `fed_ops`,
    `work` (counts; work is fed ops that compute, rather than steer or store), `saver` (bool: writes or reads
    checkpoints and computes nothing else), `scope_family` (uint8: that of its only op, or of the op of the scope's
    own name; "linear" for a layer, which has one convolution or matrix product; else "other").
    """

    family: npt.NDArray[np.uint8]
    handle: Mask
    fed: Mask
    first: Ints
    depth: Ints
    ops: Ints
    variables: Ints
    fed_ops: Ints
    work: Ints
    saver: Mask
    scope_family: npt.NDArray[np.uint8]


def facts(index: GraphIndex) -> Facts:
    """The facts of an index, kept as long as the index lives."""
    found = _cache.get(index)
    if found is None:
        found = _cache[index] = _reckon(index)
    return found


def _reckon(index: GraphIndex) -> Facts:
    tree = index.scopes
    family = families(index.types)
    handle = np.array([t in HANDLES for t in index.types], dtype=bool)
    variables = _inside(tree, handle)
    checkpoint = _inside(tree, np.array([t in CHECKPOINT for t in index.types], dtype=bool))
    kernel = np.array([t in KERNELS for t in index.types], dtype=bool)
    saver = (checkpoint > 0) & (variables == 0) & (_inside(tree, np.isin(family, _WORK)) == 0)
    saver[0] = False
    depth = _depth(tree)
    fed = _fed(index, family, saver)
    return Facts(
        family=family,
        handle=handle,
        fed=fed,
        first=_first(tree, depth),
        depth=depth,
        ops=tree.stop - tree.start,
        variables=variables,
        fed_ops=_inside(tree, fed),
        work=_inside(tree, fed & ~np.isin(family, _STORED)),
        saver=saver,
        scope_family=_scope_family(index, family, _inside(tree, kernel & fed)),
    )


def _scope_family(index: GraphIndex, family: npt.NDArray[np.uint8], kernels: Ints) -> npt.NDArray[np.uint8]:
    tree = index.scopes
    chief = np.array([index.ids.get(name, -1) for name in tree.names], dtype=np.int32)
    only = tree.stop - tree.start == 1
    chief[only] = tree.order[tree.start[only]]
    layer = np.where(kernels == 1, FAMILIES.index("linear"), 0)
    named = chief >= 0
    layer[named] = family[chief[named]]
    return layer.astype(np.uint8)


def _inside(tree: ScopeTree, wanted: Mask) -> Ints:
    """How many wanted ops each scope holds, nested ones included."""
    total = np.concatenate([[0], np.cumsum(wanted[tree.order])])
    counts: Ints = (total[tree.stop] - total[tree.start]).astype(np.int32)
    return counts


def _depth(tree: ScopeTree) -> Ints:
    depth = np.zeros(len(tree.parent), dtype=np.int32)
    above = tree.parent.copy()
    inside = np.arange(len(depth)) > 0
    while inside.any():
        depth[inside] += 1
        inside &= above > 0
        above = tree.parent[above]
    return depth


def _first(tree: ScopeTree, depth: Ints) -> Ints:
    first = np.full(len(depth), len(tree.scope_of), dtype=np.int32)
    np.minimum.at(first, tree.scope_of, np.arange(len(tree.scope_of), dtype=np.int32))
    for level in range(int(depth.max()), 0, -1):
        scopes = np.flatnonzero(depth == level)
        np.minimum.at(first, tree.parent[scopes], first[scopes])
    return first


def _fed(index: GraphIndex, family: npt.NDArray[np.uint8], saver: Mask) -> Mask:
    """Which ops depend on a placeholder, a queue, an iterator: on an op that invents its value.

    The rest are the parameters' side of the graph: constants, variables, initialisers. A graph that is fed by
    nothing has no such side, so there all ops count as fed.
    """
    n = len(index)
    sources = (np.diff(index.inputs.start) == 0) & ~np.isin(family, _STORED) & ~saver[index.scopes.scope_of]
    if not sources.any():
        return ~np.isin(family, _STORED)
    starts = np.flatnonzero(sources)
    consumers = index.consumers
    rows = np.concatenate([consumers.start, [consumers.start[-1] + len(starts)]])
    values = np.concatenate([consumers.values, starts])
    graph = csr_matrix((np.ones(len(values), dtype=np.int8), values, rows), shape=(n + 1, n + 1))
    reached = breadth_first_order(graph, n, return_predecessors=False)
    fed = np.zeros(n + 1, dtype=bool)
    fed[reached] = True
    return fed[:n]

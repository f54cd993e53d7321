"""What of a graph is training: gradients, optimiser, and what serves only those.

Gradients are known by the name scope that TensorFlow puts them in, whatever it is called by the person who asked for
them: that of the op "net/MatMul" is "grads/net/MatMul_grad". Optimisers are known by the ops that apply gradients.
All that comes after them, and is no computation of its own that only waits for them, belongs to training. So does what
is known without feeding and reaches nothing else: learning rates, powers of beta, step counters. A forward network
never does: it comes before the gradients, and depends on what is fed.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.names import last_part
from tfgraphwidget.view.facts import NONE, Facts, Mask, downstream
from tfgraphwidget.view.family import FAMILIES
from tfgraphwidget.view.outline import TRAINING, Group, Outline
from tfgraphwidget.view.underway import underway

_GRADIENTS = re.compile(r"(gradients|gradient_tape)(_\d+)?")
_GRAD = "_grad"
_APPLY = re.compile(r"(Resource)?(Sparse)?Apply[A-Z]\w*")
_CONTROL, _STATE = FAMILIES.index("control"), FAMILIES.index("state")


def training(index: GraphIndex, known: Facts, outline: Outline) -> tuple[Outline, list[Group]]:
    """The outline with its parts marked, and the groups of training in it.

    There is one group for each container in which training stands beside the forward network, in more than one piece.
    """
    trains, other = _ops(index, known, outline)
    if not trains.any():
        return outline, []
    held, foreign = outline.count(trains), outline.count(other)
    whole = (held > 0) & (foreign == 0)
    outline.part[whole] = 1
    outline.op_part[trains] = 1
    for nodes in outline.levels[1:]:
        outline.part[nodes] |= outline.part[outline.parent[nodes]]
    outline.op_part[outline.part[outline.home] > 0] = 1
    return outline, _groups(index, outline, outline.count(other & known.fed) > 0)


def _groups(index: GraphIndex, outline: Outline, forward: Mask) -> list[Group]:
    pieces: dict[int, tuple[list[int], list[int]]] = {}
    for node in np.flatnonzero(outline.part).tolist():
        around = int(outline.parent[node])
        if node and not outline.part[around]:
            pieces.setdefault(around, ([], []))[0].append(node)
    alone = np.flatnonzero((outline.op_part > 0) & (outline.part[outline.home] == 0))
    for op in alone.tolist():
        pieces.setdefault(int(outline.home[op]), ([], []))[1].append(op)
    groups = []
    for around, (nodes, ops) in pieces.items():
        name = f"{outline.names[around]}/(training)".removeprefix("/")
        free = name not in outline.ids and name not in index.ids
        if len(nodes) + len(ops) > 1 and free and forward[around]:
            groups.append(Group(name, around, nodes, ops, TRAINING, training=True))
    return groups


def _ops(index: GraphIndex, known: Facts, outline: Outline) -> tuple[Mask, Mask]:
    """(ops of training, ops that are for something else); the rest is neither: initialisers, savers."""
    seeds = _seeds(index, outline)
    if not len(seeds):
        nothing = np.zeros(len(index), dtype=bool)
        return nothing, nothing
    trains = downstream(index.consumers.start, index.consumers.values, seeds)
    trains |= underway(index, known, seeds, trains)
    waiting = _waiting(index, known, trains)
    # What is not fed serves those that it reaches.
    forward = known.fed & ~trains & ~waiting
    inputs = index.inputs
    to_forward = downstream(inputs.start, inputs.values, np.flatnonzero(forward))
    # A variable that is read again after it was trained serves the forward pass that goes on from there.
    trains |= waiting & ~to_forward
    to_training = downstream(inputs.start, inputs.values, np.flatnonzero(trains))
    return trains | (to_training & ~to_forward), to_forward & ~trains


def _seeds(index: GraphIndex, outline: Outline) -> npt.NDArray[np.intp]:
    """Ops inside gradient scopes, and those that apply gradients."""
    if not len(index):
        return np.zeros(0, dtype=np.intp)
    # Looking for the word first saves taking most names apart.
    named = np.array(
        ["gradient" in name and bool(_GRADIENTS.fullmatch(last_part(name))) for name in outline.names], dtype=bool
    )
    named = _with_inner(outline, named)
    for scope, of in _gradients(index, outline, named).items():
        ops = outline.ops(scope)
        # What goes into an op is no gradient of it, however it is called.
        if not downstream(index.consumers.start, index.consumers.values, ops.astype(np.intp))[of].any():
            named[scope] = True
    named = _with_inner(outline, named)
    names, codes = index.kinds
    applies = np.array([bool(_APPLY.fullmatch(name)) for name in names], dtype=bool)
    return np.flatnonzero(named[outline.home] | applies[codes])


def _with_inner(outline: Outline, nodes: Mask) -> Mask:
    """These nodes and all that are in them."""
    for level in outline.levels[1:]:
        nodes[level] |= nodes[outline.parent[level]]
    return nodes


def _gradients(index: GraphIndex, outline: Outline, known: Mask) -> dict[int, list[int]]:
    """Scopes that hold scopes called after ops outside, "…/net/MatMul_grad", and the ops; but for those known."""
    found: dict[int, list[int]] = {}
    for node, name in enumerate(outline.names):
        if not name.endswith(_GRAD) or known[node]:
            continue
        around, prefixes = outline.around(node)[::-1], [""]
        if found.keys() & around:
            continue
        for scope in around:
            before = f"{outline.names[scope]}/"
            inner = name[len(before) : -len(_GRAD)]
            # A graph may have been put under a prefix, which both names have then.
            ops = [index.ids[prefix + inner] for prefix in prefixes if prefix + inner in index.ids]
            if ops:
                found[scope] = ops
                break
            prefixes.append(before)
    return found


def _waiting(index: GraphIndex, known: Facts, trains: Mask) -> Mask:
    """What waits for training and steers or stores only, or is read by nobody: train_op, averages of variables.

    A metric that waits for the training step has readers or computes something, and stays what it is.
    """
    start, values = index.control_consumers.start, index.control_consumers.values
    after = np.zeros(len(index), dtype=bool)
    owner = np.repeat(np.arange(len(index)), np.diff(start))
    last = np.diff(index.consumers.start) == 0
    may = np.isin(known.family, (_CONTROL, _STATE)) | (known.aux > NONE) | ~known.fed
    may &= last | ~known.fed
    frontier = trains
    while frontier.any():
        reached = np.zeros(len(index), dtype=bool)
        reached[values[frontier[owner]]] = True
        reached &= may & ~after & ~trains
        if reached.any():
            more = downstream(index.consumers.start, index.consumers.values, np.flatnonzero(reached))
            reached |= more & ~known.fed & ~after & ~trains
        after |= reached
        frontier = reached
    return after

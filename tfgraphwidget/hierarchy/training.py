"""Training: gradients, optimizers, and what serves only those.

Gradients are known by the name scope that TensorFlow puts them in, whatever it is called: that of
the op "net/MatMul" is "grads/net/MatMul_grad". Optimizers are known by the ops that apply
gradients. All that depends on them belongs to training, except computations that only wait for it.
So does what depends on no input and leads to nothing else: learning rates, powers of beta, step
counters. A forward network never does: it precedes the gradients, and depends on inputs. Gradients
that it goes on with, and that no variable is updated by, are a part of it (`graph.gradient_use`).
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from tfgraphwidget.graph import (
    APPLIES,
    ASSIGNS,
    ZEROS,
    GraphIndex,
    first_to_reach,
    gradients_of_training,
    lists_for_gradients,
    reach,
    rows_of,
)
from tfgraphwidget.hierarchy.op_facts import FAMILIES, NONE, Mask, OpFacts, of_types
from tfgraphwidget.hierarchy.tree import (
    DIFFERENTIATES,
    TRAINING,
    TRAINS,
    Outline,
    SiblingGroup,
    is_free,
)
from tfgraphwidget.naming import last_part

# What gradients make for themselves on their way: ops that depend on no gradient, yet serve
# training only.  The gradient of tf.nn.silu, or of any tf.custom_gradient, computes factors of what
# the graph is fed before it multiplies them with a gradient, and a tape puts them into no scope of
# gradients. TensorFlow names no such op, but it adds ops to the graph in the order in which they
# are made: a factor was made after the gradient that it meets. The ops of a second forward pass,
# also those that a gradient penalty is added to, were made before their gradients; and like a
# metric, they lead to an end that no gradient reaches.

# Tapes make zeros for outputs that have no gradient, and often they have no consumer.
_ZEROS = re.compile(r"zeros(_like)?(_\d+)?")


def find_gradient_support(
    index: GraphIndex, facts: OpFacts, seeds: npt.NDArray[np.intp], after: Mask, forward: Mask
) -> Mask:
    """Find the ops that compute factors of gradients: they depend on no gradient, yet serve
    training only.

    Args:
        after: bool per op, whether it depends on a gradient.
        forward: bool per op, whether it is known not to be one.

    Returns:
        bool per op.
    """
    late = facts.depends_on_input & ~after
    late[: seeds[0]] = False
    blank = _find_unread_zeros(index, seeds)
    # An end; and what an op of the forward network reads, which was made before: an edit has put it
    # there.
    before = ~after & ~late & facts.depends_on_input
    start, values = index.consumers.start, index.consumers.values
    inserted = np.zeros(len(index), dtype=bool)
    inserted[index.consumers.owner[before[values]]] = True
    other_ops = late & ((np.diff(start) == 0) | inserted | forward) & ~blank
    factors = late & ~_connected_with(index, late, seeds, other_ops)
    if factors.any():
        other_ops |= _precede_their_gradient(index, seeds, after, factors)
        factors = late & ~_connected_with(index, late, seeds, other_ops)
    return factors | (blank & ~facts.depends_on_input)


def _find_unread_zeros(index: GraphIndex, seeds: npt.NDArray[np.intp]) -> Mask:
    """Zeros without consumers, made among the gradients."""
    unread = (np.diff(index.consumers.start) == 0) & (np.diff(index.control_consumers.start) == 0)
    unread[: seeds[0]] = unread[seeds[-1] :] = False
    ops = np.flatnonzero(unread & of_types(index, ZEROS))
    blank = np.zeros(len(index), dtype=bool)
    blank[[op for op in ops.tolist() if _ZEROS.fullmatch(last_part(index.names[op]))]] = True
    return blank


def _precede_their_gradient(
    index: GraphIndex, seeds: npt.NDArray[np.intp], after: Mask, late: Mask
) -> Mask:
    """Which late ops meet a gradient that is younger than they and that no older one feeds."""
    start, values, owner = index.consumers.start, index.consumers.values, index.consumers.owner
    oldest = np.append(seeds, len(index))[first_to_reach(start, values, seeds)]
    # A gradient that takes no other, like the shape of a value, does not show when its
    # tape began.
    joined = np.zeros(len(index), dtype=bool)
    joined[values[after[owner]]] = True
    before = np.zeros(len(index), dtype=bool)
    before[owner[late[owner] & joined[values] & (oldest[values] > owner)]] = True
    return before


def _connected_with(
    index: GraphIndex, late: Mask, seeds: npt.NDArray[np.intp], other_ops: Mask
) -> Mask:
    """The late ops that are foreign, lead to such, or follow such before another gradient."""
    values, owner = index.consumers.values, index.consumers.owner
    among = late[owner] & late[values]
    source, target = owner[among], values[among]
    # Edges lead back, and forward too where no gradient was made between the two ops.
    passed = np.searchsorted(seeds, np.arange(len(index)))
    forward = passed[source] == passed[target]
    rows = np.concatenate([target, source[forward]])
    columns = np.concatenate([source, target[forward]])
    return reach(*rows_of(rows, columns, len(index)), np.flatnonzero(other_ops))


_GRADIENTS = re.compile(r"(gradients|gradient_tape)(_\d+)?")
_GRAD = "_grad"
_Ops = npt.NDArray[np.intp]
"""Numbers of ops, ascending."""
_CONTROL, _STATE = FAMILIES.index("control"), FAMILIES.index("state")


def split_training(
    index: GraphIndex, facts: OpFacts, outline: Outline
) -> tuple[Outline, list[SiblingGroup]]:
    """Mark what is training in an outline.

    Args:
        outline: the outline without groups; `part` and `op_part` are set.

    Returns:
        The outline, and one group for each container in which training is beside the forward
        network, in several pieces.
    """
    trains, gradients, other = _split_ops(index, facts, outline)
    if not trains.any() and not gradients.any():
        return outline, []
    training_ops, other_ops = outline.count(trains), outline.count(other)
    outline.part[(training_ops > 0) & (other_ops == 0)] = TRAINS
    outline.op_part[trains] = TRAINS
    outline.op_part[gradients] = DIFFERENTIATES
    gradient_ops = outline.count(gradients)
    every = outline.count(np.ones(len(index), dtype=bool))
    outline.part[(gradient_ops > 0) & (gradient_ops == every)] = DIFFERENTIATES
    for nodes in outline.levels[1:]:
        around = outline.part[outline.parent[nodes]]
        outline.part[nodes] = np.where(around > 0, around, outline.part[nodes])
    around = outline.part[outline.home]
    outline.op_part[:] = np.where(around > 0, around, outline.op_part)
    has_forward = outline.count(other & facts.depends_on_input) > 0
    return outline, _training_groups(index, outline, has_forward)


def _training_groups(index: GraphIndex, outline: Outline, forward: Mask) -> list[SiblingGroup]:
    pieces: dict[int, tuple[list[int], list[int]]] = {}
    for node in np.flatnonzero(outline.part == TRAINS).tolist():
        around = int(outline.parent[node])
        if node and not outline.part[around]:
            pieces.setdefault(around, ([], []))[0].append(node)
    alone = np.flatnonzero((outline.op_part == TRAINS) & (outline.part[outline.home] == 0))
    for op in alone.tolist():
        pieces.setdefault(int(outline.home[op]), ([], []))[1].append(op)
    groups = []
    for around, (nodes, ops) in pieces.items():
        name = f"{outline.names[around]}/(training)".removeprefix("/")
        is_several = len(nodes) + len(ops) > 1
        if is_several and forward[around] and is_free(name, index, outline):
            groups.append(SiblingGroup(name, around, nodes, ops, TRAINING))
    return groups


def _split_ops(index: GraphIndex, facts: OpFacts, outline: Outline) -> tuple[Mask, Mask, Mask]:
    """(ops of training, gradients that the network goes on with, ops that are for something else);
    the rest is neither: initializers, savers.
    """
    outermost = _find_gradient_nodes(index, outline)
    seeds, gradients, others = _find_gradients(index, outermost[outline.home])
    if not len(seeds):
        return np.zeros(len(index), dtype=bool), others, ~others
    trains = reach(index.consumers.start, index.consumers.values, gradients)
    trains[seeds] = True
    forward = _lead_to_gradients_before(index, outline, outermost, trains)
    trains |= find_gradient_support(index, facts, seeds, trains, forward)
    waiting = _find_waiting(index, facts, trains)
    # What is not fed serves those that it reaches.
    forward = facts.depends_on_input & ~trains & ~waiting
    inputs = index.inputs
    to_forward = reach(inputs.start, inputs.values, np.flatnonzero(forward))
    # A variable that is read again after it was trained serves the forward pass that goes on from
    # there.
    trains |= waiting & ~to_forward
    to_training = reach(inputs.start, inputs.values, np.flatnonzero(trains))
    trains |= to_training & ~to_forward
    trains |= _find_first_values(index, facts, trains, to_forward)
    return trains, others & ~trains, to_forward & ~trains & ~others


def _find_first_values(index: GraphIndex, facts: OpFacts, trains: Mask, forward: Mask) -> Mask:
    """The ops that compute the first values of training's variables and nothing else.

    An average of a variable begins with that variable's value. To give it, TensorFlow puts a
    conditional on whether it is initialized, and what that reads, beside the network.
    """
    inputs, consumers = index.inputs, index.consumers
    restored = reach(consumers.start, consumers.values, np.flatnonzero(facts.checkpoint))
    assigns = np.flatnonzero(of_types(index, ASSIGNS) & ~restored & ~facts.depends_on_input)
    assigns = assigns[np.diff(inputs.start)[assigns] > 0]
    variables = inputs.values[inputs.start[assigns]]
    assigns = assigns[facts.handle[variables] & trains[variables]]
    values = reach(inputs.start, inputs.values, assigns) & ~forward
    others = reach(inputs.start, inputs.values, np.flatnonzero(~values & ~trains))
    return values & ~others


def _find_gradients(index: GraphIndex, scopes: npt.NDArray[np.intp]) -> tuple[_Ops, _Ops, Mask]:
    """(ops of gradients for training and ops that apply them, those of these whose consumers train
    too, which ops are of gradients that the network goes on with).
    """
    names, codes = index.kinds
    applies = np.array([bool(APPLIES.fullmatch(name)) for name in names], dtype=bool)[codes]
    seeds = np.flatnonzero((scopes > 0) | applies)
    if not len(seeds):
        return seeds, seeds, np.zeros(len(index), dtype=bool)
    # A loop of the forward network reads the lists that it fills for its gradient.
    gradients = seeds[~lists_for_gradients(index, seeds)[seeds]]
    trains = applies | gradients_of_training(index, scopes, gradients)
    return seeds[trains[seeds]], gradients[trains[gradients]], (scopes > 0) & ~trains


def _find_gradient_nodes(index: GraphIndex, outline: Outline) -> npt.NDArray[np.intp]:
    """The outermost scope of gradients around each scope, or itself; 0 for one without."""
    if not len(index):
        return np.zeros(len(outline), dtype=np.intp)
    is_gradient = np.fromiter(map(_is_of_gradients, outline.names), bool, len(outline.names))
    is_gradient = _include_nested(outline, is_gradient)
    for scope, of in _find_gradient_scopes(index, outline, is_gradient).items():
        ops = outline.ops(scope)
        # What goes into an op is not a gradient of it, however it is called.
        if not reach(index.consumers.start, index.consumers.values, ops.astype(np.intp))[of].any():
            is_gradient[scope] = True
    is_gradient = _include_nested(outline, is_gradient)
    outermost = np.where(is_gradient, np.arange(len(outline)), 0)
    for level in outline.levels[1:]:
        around = outermost[outline.parent[level]]
        outermost[level] = np.where(around > 0, around, outermost[level])
    return outermost


def _is_of_gradients(scope: str) -> bool:
    """Whether a scope has the name that `tf.gradients` or a tape gives to its scope."""
    # Looking for the word first saves taking most names apart.
    return "gradient" in scope and _GRADIENTS.fullmatch(last_part(scope)) is not None


def _lead_to_gradients_before(
    index: GraphIndex, outline: Outline, outermost: npt.NDArray[np.intp], trains: Mask
) -> Mask:
    """Which ops have a gradient, or lead to one that has, in a graph whose ops are in another order
    than they were made in; none in any other.

    `outermost` is that of `_find_gradient_nodes`.
    """
    first = np.full(len(outline), len(index), dtype=np.intp)
    np.minimum.at(first, outline.home, np.arange(len(index)))
    differentiated, is_reordered = [], False
    for node in np.flatnonzero(outermost).tolist():
        scope = outline.names[outermost[node]]
        # A graph may have been put under a prefix, which the names of its ops have then.
        prefix = scope[: -len(last_part(scope))]
        inner = outline.names[node][len(scope) + 1 :].removesuffix(_GRAD)
        op = index.ids.get(prefix + inner, index.ids.get(inner))
        if op is not None and not trains[op]:
            differentiated.append(op)
            is_reordered |= first[node] < op
    ops = np.array(differentiated if is_reordered else [], dtype=np.intp)
    return reach(index.inputs.start, index.inputs.values, ops)


def _include_nested(outline: Outline, nodes: Mask) -> Mask:
    """These nodes and all that are in them."""
    for level in outline.levels[1:]:
        nodes[level] |= nodes[outline.parent[level]]
    return nodes


def _find_gradient_scopes(
    index: GraphIndex, outline: Outline, is_group: Mask
) -> dict[int, list[int]]:
    """Scopes of scopes called after ops outside, "…/net/MatMul_grad", and ops; without known."""
    ops_by_scope: dict[int, list[int]] = {}
    for node, name in enumerate(outline.names):
        if not name.endswith(_GRAD) or is_group[node]:
            continue
        around, prefixes = outline.ancestors(node)[::-1], [""]
        if ops_by_scope.keys() & around:
            continue
        for scope in around:
            before = f"{outline.names[scope]}/"
            inner = name[len(before) : -len(_GRAD)]
            # A graph may have been put under a prefix, which both names have then.
            ops = [index.ids[prefix + inner] for prefix in prefixes if prefix + inner in index.ids]
            if ops:
                ops_by_scope[scope] = ops
                break
            prefixes.append(before)
    return ops_by_scope


def _find_waiting(index: GraphIndex, facts: OpFacts, trains: Mask) -> Mask:
    """The ops that wait for training and only steer or store, or have no consumer: train_op,
    averages of variables.

    A metric that waits for the training step has readers or computes something, and stays what it
    is.
    """
    values, owner = index.control_consumers.values, index.control_consumers.owner
    after = np.zeros(len(index), dtype=bool)
    is_last = np.diff(index.consumers.start) == 0
    steers_or_stores = np.isin(facts.family, (_CONTROL, _STATE)) | (facts.constant_kind > NONE)
    may = ~facts.depends_on_input | (steers_or_stores & is_last)
    frontier = trains
    while frontier.any():
        reached = np.zeros(len(index), dtype=bool)
        reached[values[frontier[owner]]] = True
        reached &= may & ~after & ~trains
        if reached.any():
            more = reach(index.consumers.start, index.consumers.values, np.flatnonzero(reached))
            reached |= more & ~facts.depends_on_input & ~after & ~trains
        after |= reached
        frontier = reached
    return after

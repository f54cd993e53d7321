"""The ops between two boundaries."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from tfgraphwidget.errors import NoPath
from tfgraphwidget.graph import traversal
from tfgraphwidget.graph.control_flow import control_flow
from tfgraphwidget.graph.edges import Mask
from tfgraphwidget.graph.endpoints import pairs
from tfgraphwidget.graph.expressions import call
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op_types import REQUIRED_PLACEHOLDERS
from tfgraphwidget.graph.selection import Selection, with_recipe
from tfgraphwidget.graph.state_initializers import from_outside
from tfgraphwidget.graph.stateful_resources import of_type, persistent_state, resources_of
from tfgraphwidget.graph.variables import is_placeholder
from tfgraphwidget.naming import names_text, split_tensor


@with_recipe
def between(index: GraphIndex, inputs: Iterable[str], outputs: Iterable[str]) -> Selection:
    """The ops on a path from an input to an output, and the parameters that those ops read.

    An input names a tensor, or an op for all its tensors; its op stays outside. An output's op lies
    inside. Parameters are whatever the path needs that is computed from no value from outside:
    variables, hash tables, constants, what is computed from them. A branch that is computed from
    another placeholder stays outside, and so does one from a queue or an iterator; its tensor comes
    in. But a queue or an iterator that an op on the path itself reads from or writes to is a
    parameter. Of a parameter that only waits for an op outside the control input stays outside.
    Without inputs: all that the outputs need, queues and iterators too, less the placeholders. An
    input that no op on a path reads has no part in it; `unused_inputs` names such inputs. Raises
    UnknownName, and NoPath with both names when an output is on no path.
    """
    inputs, outputs = tuple(inputs), tuple(outputs)
    if not outputs:
        raise NoPath(
            "A part of the graph needs an output boundary; name at least one op or tensor in "
            "outputs."
        )
    cut = pairs(index, inputs)
    walked = needed_ops(index, inputs, outputs)
    expression = call("between", [list(inputs), list(outputs)])
    if not cut:
        return Selection(index, walked & ~of_type(index, is_placeholder), expression)
    path = walked & traversal.forward(index, traversal.consumers_of(index, cut))
    for name in outputs:
        if not path[index.op(name)]:
            raise _no_path(index, list(inputs), [name])
    parameters = _parameters(index, path, walked & ~path, [op for op, _ in cut])
    return Selection(index, path | parameters, expression)


def needed_ops(index: GraphIndex, inputs: Collection[str], outputs: Collection[str]) -> Mask:
    """The ops that outputs need, as one bool per op; control inputs are followed too, and edges
    that carry tensors of `inputs` are not crossed.
    """
    ops = [index.op(name) for name in outputs]
    return traversal.backward(index, ops, stop=pairs(index, inputs))


def needed_placeholders(
    index: GraphIndex, outputs: Iterable[str], inputs: Collection[str] = ()
) -> tuple[str, ...]:
    """The placeholders, or arguments of a function, that outputs need besides `inputs`, in graph
    order.
    """
    needed = needed_ops(index, inputs, tuple(outputs))
    needed[[index.op(name) for name in inputs]] = False
    return tuple(
        index.names[op]
        for op in np.flatnonzero(needed).tolist()
        if index.types[op] in REQUIRED_PLACEHOLDERS
    )


def unused_inputs(index: GraphIndex, inputs: Iterable[str], part: Mask) -> tuple[str, ...]:
    """Those of `inputs` that no op of a part reads."""
    unused = []
    for name in inputs:
        consumers = traversal.consumers_of(index, pairs(index, [name]))
        if not part[consumers].any():
            unused.append(name)
    return tuple(unused)


def unused_inputs_notice(inputs: Sequence[str], outputs: Sequence[str]) -> tuple[str, ...]:
    """The notice for inputs that a part has no use for; none without any."""
    if not inputs:
        return ()
    which, are = ("Input", "is") if len(inputs) == 1 else ("Inputs", "are")
    left_out = f"{which} {names_text(inputs)} {are} left out"
    return (f"{left_out}: {names_text(outputs)} can be computed without.",)


@with_recipe
def paths(index: GraphIndex, first: str, last: str) -> Selection:
    """Select all ops on any path of tensors or control edges between two ops, both included. Raises
    UnknownName, and NoPath if there is none.
    """
    (a, port), b = pairs(index, [first])[0], index.op(last)
    after = [a] if port == traversal.ANY_PORT else traversal.consumers_of(index, [(a, port)])
    mask = traversal.forward(index, after) & traversal.backward(index, [b])
    if a != b and not mask.any():
        raise _no_path(index, [first], [last])
    return Selection(index, mask | traversal.mask_of(index, [a]), call("path", [first, last]))


@with_recipe
def path(index: GraphIndex, first: str, last: str) -> Selection:
    """Select the ops of one shortest path; see `paths`."""
    ops = traversal.shortest(index, pairs(index, [first])[0], index.op(last))
    if not ops:
        raise _no_path(index, [first], [last])
    return Selection.of(index, ops, call("path", [first, last]))


def _parameters(index: GraphIndex, path: Mask, rest: Mask, inputs: Collection[int]) -> Mask:
    """Ops of `rest` that the path reads or waits for, and that are computed from nothing that comes
    from outside.

    They may wait for an op outside, as all that is built under `tf.control_dependencies` does: then
    only that control input comes from outside. What path and parameters wait for belongs to them if
    it needs nothing from outside at all, but to wait for `inputs`: an update of a variable that
    runs before each read would otherwise go on updating the original's.
    """
    outside = rest & from_outside(index)
    if (outside & persistent_state(index)).any():
        outside &= of_type(index, is_placeholder) | ~resources_of(index, path)
    free = rest & ~traversal.forward(index, np.flatnonzero(outside), within=rest, controls=False)
    read = traversal.mask_of(index, index.inputs.values[path[index.inputs.owner]])
    parameters = traversal.backward(index, np.flatnonzero(free & read), within=free, controls=False)
    waiting = (path | parameters)[index.controls.owner]
    control_inputs = traversal.mask_of(index, index.controls.values[waiting])
    outside[list(inputs)] = False
    free &= ~traversal.forward(index, np.flatnonzero(outside), within=rest)
    # What is in a loop's body waits for its pivot; `whole` brings that along where the loop is
    # taken.
    for block in control_flow(index):
        free[list(block.ops)] = False
    waited_for = np.flatnonzero(free & control_inputs)
    return parameters | traversal.backward(index, waited_for, within=free)


def _no_path(index: GraphIndex, inputs: list[str], outputs: list[str]) -> NoPath:
    """The refusal; it looks whether the two ends were only given the wrong way round."""
    sources, targets = " or ".join(map(repr, inputs)), " or ".join(map(repr, outputs))
    output_ops = [(index.op(name), traversal.ANY_PORT) for name in outputs]
    downstream = traversal.forward(index, traversal.consumers_of(index, output_ops))
    if downstream[[index.op(name) for name in inputs]].any():
        fix = "they lie the other way round: swap inputs and outputs"
    else:
        fix = "choose two ends with tensors between"
    ops = dict.fromkeys(split_tensor(n)[0] for n in (*inputs, *outputs))
    return NoPath(f"No path leads from {sources} to {targets}; {fix}.", ops)

"""Changes ops of a live graph in place: inputs, control inputs, device and attributes.

TensorFlow does not infer shapes again, and an op remembers the sharpest static shape that each of
its inputs ever had (test_tensorflow_facts.py::test_an_input_remembers_its_static_shape). So an edge
that is right can be refused because of one that was there before. Then a *veil* is put between: a
PlaceholderWithDefault of unknown shape, which passes values and gradients on. It is hidden: no
editor shows or exports it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tfgraphwidget.edits import NewShape, NodeChange
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.naming import split_input
from tfgraphwidget.runtime.live.call_gradients import follow_calls
from tfgraphwidget.runtime.live.edit_record import record_of
from tfgraphwidget.runtime.live.graph_import import veil
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import (
    clear_attribute,
    replace_python_shape,
    set_attribute,
    set_device,
    takes_reference,
    update_input,
)
from tfgraphwidget.tf_internals import set_control_inputs as wait_for
from tfgraphwidget.tf_types import NodeDef


def rewire(graph: tf.Graph, edited: NodeChange) -> None:
    """Change an op of the graph from `edited.before` to `edited.after`. Raises GraphEditError where
    TensorFlow refuses; part of the op can be changed then.
    """
    before, after = edited.before, edited.after
    record_of(graph).rewire_count += 1
    op = graph.get_operation_by_name(edited.name)
    old, new = (list(map(split_input, node.input)) for node in (before, after))
    data = [[end for end in sources if end[1] >= 0] for sources in (old, new)]
    if after.op != before.op or len(data[0]) != len(data[1]):
        raise GraphEditError(
            f"TensorFlow cannot give op {edited.name!r} another type or number of inputs in place; "
            "replace it by a new op.",
            [edited.name],
        )
    for k, (had, source) in enumerate(zip(*data, strict=True)):
        if had != source:
            set_input(graph, op, k, *source)
    control_inputs = [{name for name, port in sources if port < 0} for sources in (old, new)]
    if control_inputs[0] != control_inputs[1]:
        set_control_inputs(graph, op, [name for name, port in new if port < 0])
    if before.device != after.device:
        set_device(op, after.device)
    for key in sorted({*before.attr, *after.attr}):
        if key not in after.attr:
            clear_attribute(op, key)
        elif key not in before.attr or before.attr[key] != after.attr[key]:
            set_attribute(op, key, after.attr[key])
    follow_calls(graph, edited)


def set_input(graph: tf.Graph, op: tf.Operation, k: int, source: str, port: int) -> None:
    """Connect an input of an op to an output of the op `source`. Raises GraphEditError where
    TensorFlow refuses, for another reason than a shape that it remembers.
    """
    tensor = graph.get_operation_by_name(source).outputs[port]
    try:
        update_input(op, k, tensor)
        return
    except (ValueError, tf.errors.InvalidArgumentError) as error:
        if "incompatible shapes" not in str(error) or takes_reference(op, k):
            why = str(error).strip().partition("\n")[0].rstrip(".")
            raise GraphEditError(
                f"TensorFlow refuses to let op {op.name!r} read {tensor.name!r}: {why}; choose "
                "another tensor.",
                [op.name, source],
            ) from error
    update_input(op, k, veil(graph, tensor))


def set_control_inputs(graph: tf.Graph, op: tf.Operation, names: list[str]) -> None:
    """Set the control inputs of an op, in place of those that it has."""
    wait_for(op, [graph.get_operation_by_name(name) for name in names])


def set_static_shapes(graph: tf.Graph, shapes: Iterable[NewShape]) -> None:
    """Set static shapes that an edit has changed.

    Only the Python objects of tensors are changed. TensorFlow itself keeps the old shapes, so new
    ops read these tensors through a veil.
    """
    for op, port, _, after in shapes:
        tensor = graph.get_operation_by_name(op).outputs[port]
        replace_python_shape(tensor, after)


def without_veils(graph: tf.Graph, nodes: Sequence[NodeDef]) -> Sequence[NodeDef]:
    """Return NodeDefs of the graph as they read without veils, which are left out; the NodeDefs are
    changed in place.
    """
    veils = record_of(graph).veils
    if not veils:
        return nodes
    remaining = [node for node in nodes if node.name not in veils]
    for node in remaining:
        for k, text in enumerate(node.input):
            if text in veils:
                node.input[k] = veils[text]
    return remaining

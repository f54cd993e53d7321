"""Keras models, trackable objects, and the mode in which ops run."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Any

from tfgraphwidget.tensorflow_modules import lazy_class, lazy_module, tf
from tfgraphwidget.tf_types import KerasModel

graph_view = lazy_module("tensorflow.python.checkpoint.graph_view")
context = lazy_module("tensorflow.python.eager.context")
record = lazy_module("tensorflow.python.eager.record")
nest = lazy_module("tensorflow.python.util.nest")
Trackable = lazy_class("tensorflow.python.trackable.base", "Trackable")


def functional_model(model: KerasModel) -> KerasModel | None:
    """Return the Functional model that a Keras model is, or that a Sequential one computes; None
    for others.

    Private: `Sequential._functional`, `Function._nodes_by_depth`, `_inputs_struct` and
    `_outputs_struct`, of Keras 3. A model without them, in another release too, is taken to be
    none.
    """
    functional = getattr(model, "_functional", None) or model
    fields = ("_nodes_by_depth", "_inputs_struct", "_outputs_struct")
    return functional if all(hasattr(functional, field) for field in fields) else None


def functional_nodes(model: KerasModel) -> list[Any]:
    """Return the calls of layers in a Functional model, each after those that it depends on.

    Private: `Function._nodes_by_depth`, of Keras 3.
    """
    by_depth = model._nodes_by_depth
    return [node for depth in sorted(by_depth, reverse=True) for node in by_depth[depth]]


def functional_boundary(model: KerasModel) -> tuple[Any, Any]:
    """Return the nested structures of KerasTensors that a Functional model takes and returns.

    Private: `Function._inputs_struct` and `_outputs_struct`, of Keras 3; `inputs` and `outputs` are
    flat lists.
    """
    return model._inputs_struct, model._outputs_struct


def eager_mode() -> AbstractContextManager[None]:
    """Return a context in which ops run at once, whatever graph is the default one.

    Private: `eager.context.eager_mode`. `tf.init_scope` leaves functions only, not TensorFlow 1
    graphs.
    """
    mode: AbstractContextManager[None] = context.eager_mode()
    return mode


def stop_recording() -> AbstractContextManager[None]:
    """Return a context in which no gradient tape records.

    Private: `eager.record.stop_recording`. `tf.GradientTape.stop_recording` stops the one tape that
    has it.
    """
    stopped: AbstractContextManager[None] = record.stop_recording()
    return stopped


def is_eager_by_default() -> bool:
    """Whether this process runs ops at once outside of graphs (no `disable_eager_execution`).

    Private: `eager.context.default_execution_mode`. `tf.executing_eagerly` is about the place where
    it is called.
    """
    return bool(context.default_execution_mode == context.EAGER_MODE)


def flatten_with_paths(structure: object) -> list[tuple[tuple[object, ...], object]]:
    """Return the leaves of a nested structure, each with the keys and numbers that lead to it.

    Private: `nest.flatten_with_tuple_paths`. `tf.nest.flatten` gives no paths.
    """
    return list(nest.flatten_with_tuple_paths(structure, expand_composites=True))


def trackable_variables(trackable: object) -> dict[str, tf.Variable]:
    """Return the variables that an object tracks, by their paths in it, "layers/0/kernel", shortest
    paths first.

    Args:
        trackable: A `tf.Module`, a Keras model, or another trackable object.

    Private: `ObjectGraphView`. Checkpoints and SavedModels name variables by these paths; public
    are only the paths in a checkpoint that has been written.
    """
    objects, paths = graph_view.ObjectGraphView(trackable).breadth_first_traversal()
    result = {}
    for node in objects:
        # A variable of Keras has one.
        variable = node if isinstance(node, tf.Variable) else getattr(node, "value", None)
        if isinstance(variable, tf.Variable):
            result["/".join(step.name for step in paths[node])] = variable
    return result


def is_keras_safe_mode() -> bool:
    """Whether Keras loads a file without code of it: `load_model(path, safe_mode=False)` says that
    the user trusts it.

    Private: `keras.src.saving.serialization_lib.in_safe_mode`. Layers have no other way to know.
    """
    from keras.src.saving import serialization_lib  # type: ignore[import-untyped]

    return serialization_lib.in_safe_mode() is not False


def is_in_keras_layer() -> bool:
    """Whether a layer or model of Keras is being called.

    Private: `keras.src.backend.common.global_state`, where Keras notes the call.
    """
    if "keras" not in sys.modules:
        return False
    from keras.src.backend.common import global_state  # type: ignore[import-untyped]

    return global_state.get_global_attribute("current_call_ctx") is not None


def trackable_children(trackable: object) -> dict[str, object]:
    """Return the objects that a trackable object tracks, by the names of its attributes, as a
    checkpoint lists them.

    Args:
        trackable: A `tf.Module`, a Keras model, or another trackable object.

    Private: `ObjectGraphView`; see `trackable_variables`.
    """
    return {
        child.name: child.ref
        for child in graph_view.ObjectGraphView(trackable).list_children(trackable)
    }

"""Keras models as sources. Keras is not imported: a model exists only if the caller imported it."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import tensorflow as tf

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.sources.functions.traced import function_source
from tfgraphwidget.sources.live.captures import CaptureInfo
from tfgraphwidget.sources.source import Source
from tfgraphwidget.sources.tf_errors import first_line
from tfgraphwidget.tf_internals import functional_ends, functional_model, functional_nodes

__all__ = ["functional_ends", "functional_model", "functional_nodes"]  # for the editor, which imports no TensorFlow


def is_keras_model(thing: object) -> bool:
    """Whether an object is a Keras model or layer."""
    keras = sys.modules.get("keras")
    layer = getattr(keras, "Layer", None)
    return isinstance(layer, type) and isinstance(thing, layer)


def keras_source(model: Any) -> Source:
    """The graph that a built model runs for inference (training=False).

    Raises GraphEditError for a model that was never called on data, a layer, and another backend than TensorFlow.
    """
    keras = sys.modules["keras"]
    title = f"Keras model {model.name!r}"
    if not isinstance(model, keras.Model):
        raise GraphEditError(
            f"{model.name!r} is a Keras layer, which has no graph of its own; open a model that holds it, "
            "keras.Sequential([keras.Input(shape), layer])."
        )
    if keras.backend.backend() != "tensorflow":
        raise GraphEditError(
            f"{title} runs on {keras.backend.backend()!r}, which makes no TensorFlow graph; set "
            "KERAS_BACKEND=tensorflow before keras is imported, and load it again."
        )
    specs = _input_specs(model, title)

    def inference(*inputs: Any) -> Any:
        return model(*inputs, training=False)

    try:
        trace = tf.function(inference).get_concrete_function(*specs)
    except Exception as error:
        raise GraphEditError(
            f"{title} cannot be traced: {first_line(error)}; open a function that calls it instead: "
            "tgw.edit(tf.function(model).get_concrete_function(tf.TensorSpec(...)))."
        ) from error
    way_out = "the SavedModel that model.export(folder) writes, tgw.edit(folder),"
    source = function_source(trace.graph, title, way_out, keras_infos(model))
    source.model = model
    return source


def keras_infos(thing: Any) -> dict[int, CaptureInfo]:
    """The names and trainability of the variables of a Keras model or layer, by id of the handle; else none."""
    variables = thing.variables if is_keras_model(thing) else ()
    return {id(v.value.handle): CaptureInfo(v.path, v.trainable) for v in variables if isinstance(v.value, tf.Variable)}


def layer_outputs(model: Any, graph: tf.Graph) -> dict[int, str]:
    """The tensor of `graph`, which `keras_source` traced, that each KerasTensor of a functional model stands for.

    Args:
        model: A Functional model.
        graph: The trace of the model, or of the Sequential model that it computes.

    Returns:
        {id of the KerasTensor: name of the tensor}.

    Raises:
        GraphEditError: The layers make other ops now than when the model was opened.
    """
    keras = sys.modules["keras"]
    tensors = [tensor for node in functional_nodes(model) for tensor in node.outputs]
    inner, names = keras.Function(functional_ends(model)[0], tensors), list[str]()

    def inference(*inputs: Any) -> None:
        names.extend(tensor.name for tensor in inner(*inputs))

    trace = tf.function(inference).get_concrete_function(*_input_specs(model, f"Keras model {model.name!r}"))
    opened = graph.get_operations()
    numbers = {op.name: number for number, op in enumerate(trace.graph.get_operations())}
    found = {}
    for tensor, name in zip(tensors, names, strict=True):
        op, _, port = name.partition(":")
        number = numbers[op]
        kind = trace.graph.get_operation_by_name(op).type
        if number >= len(opened) or opened[number].type != kind:
            raise GraphEditError(
                f"Keras model {model.name!r} makes other ops now than when it was opened; open it again."
            )
        found[id(tensor)] = f"{opened[number].name}:{port}"
    return found


def _input_specs(model: Any, title: str) -> list[Any]:
    """A structure of TensorSpecs for each argument of the model's call; the batch dimension is free."""
    utils = importlib.import_module("keras.src.export.export_utils")
    tree = sys.modules["keras"].tree
    try:
        signature = utils.get_input_signature(model)
        return [tree.map_structure(_spec, argument) for argument in signature]
    except (TypeError, ValueError) as error:
        raise GraphEditError(
            f"{title} has not been built, so it has no graph yet; call it on data first, model(x), and open it then."
        ) from error


def _spec(spec: Any) -> tf.TensorSpec:
    return tf.TensorSpec(spec.shape, spec.dtype, name=spec.name)

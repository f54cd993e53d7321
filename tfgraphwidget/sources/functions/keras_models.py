"""Keras models as sources. Keras is not imported: a model exists only if the caller imported it."""

from __future__ import annotations

import importlib
import inspect
import sys
from typing import Any

import tensorflow as tf

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.sources.functions.call_structure import call_structure
from tfgraphwidget.sources.functions.traced import function_source
from tfgraphwidget.sources.live.captures import CaptureInfo
from tfgraphwidget.sources.source import Source
from tfgraphwidget.sources.tf_errors import first_line


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

    parameters = inspect.Signature(_parameters(model, len(specs)))

    def inference(*inputs: Any, **named: Any) -> Any:
        return model(*parameters.bind(*inputs, **named).args, training=False)

    # Else TensorFlow has names of its own for what the model's `call` takes.
    inference.__signature__ = parameters  # type: ignore[attr-defined]
    function = tf.function(inference)
    try:
        trace = function.get_concrete_function(*specs)
    except Exception as error:
        raise GraphEditError(
            f"{title} cannot be traced: {first_line(error)}; open a function that calls it instead: "
            "tgw.edit(tf.function(model).get_concrete_function(tf.TensorSpec(...)))."
        ) from error
    infos = {
        id(v.value.handle): CaptureInfo(v.path, v.trainable)
        for v in model.variables
        if isinstance(v.value, tf.Variable)
    }
    way_out = "the SavedModel that model.export(folder) writes, tgw.edit(folder),"
    return function_source(trace.graph, title, way_out, infos, call_structure(trace, function))


def _parameters(model: Any, count: int) -> list[inspect.Parameter]:
    """The first `count` parameters of a model's `call`."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    named = [p.name for p in inspect.signature(model.call).parameters.values() if p.kind is kind][:count]
    named += [f"inputs_{k}" for k in range(len(named), count)]
    return [inspect.Parameter(name, kind) for name in named]


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

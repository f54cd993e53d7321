"""Keras models as sources. Keras is not imported: a model exists only if the caller imported it."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tfgraphwidget.errors import GraphEditError, SessionRefused
from tfgraphwidget.naming import names_text
from tfgraphwidget.sentences import clone_with, either, in_cell
from tfgraphwidget.sources.functions.call_structure import call_structure
from tfgraphwidget.sources.functions.traces import function_source
from tfgraphwidget.sources.live.captures import CaptureInfo
from tfgraphwidget.sources.source import Source
from tfgraphwidget.sources.tf_errors import error_text
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import (
    eager_mode,
    functional_boundary,
    functional_model,
    functional_nodes,
)
from tfgraphwidget.tf_types import KerasModel, TensorSpec, is_keras_model

# For the editor, which imports no TensorFlow.
__all__ = ["functional_boundary", "functional_model", "functional_nodes"]


def keras_source(model: KerasModel, signature: object = None) -> Source:
    """The graph that a built model runs for inference (training=False).

    Args:
        signature: A tf.TensorSpec, or a structure of these, for each argument of its `call`: in
            order, or by name. None for what Keras has recorded.

    Raises:
        GraphEditError: The model was never called on data, Keras did not record all that it takes,
            it is a layer, or the backend is not TensorFlow.
    """
    keras = sys.modules["keras"]
    title = f"Keras model {model.name!r}"
    if not isinstance(model, keras.Model):
        raise GraphEditError(
            f"{model.name!r} is a Keras layer, which has no graph of its own; open a model that "
            "holds it, keras.Sequential([keras.Input(shape), layer])."
        )
    if keras.backend.backend() != "tensorflow":
        raise GraphEditError(
            f"{title} runs on {keras.backend.backend()!r}, which makes no TensorFlow graph; set "
            "KERAS_BACKEND=tensorflow before keras is imported, and load it again."
        )
    specs = (
        _input_specs(model, title) if signature is None else _given_specs(model, title, signature)
    )

    parameters = inspect.Signature(_parameters(model, len(specs)))

    def inference(*inputs: object, **keywords: object) -> object:
        return model(*parameters.bind(*inputs, **keywords).args, training=False)

    # Else TensorFlow has names of its own for what the model's `call` takes.
    inference.__signature__ = parameters  # type: ignore[attr-defined]
    function = tf.function(inference)
    try:
        trace = function.get_concrete_function(*specs)
    except Exception as error:
        raise GraphEditError(
            f"{title} cannot be traced: {error_text(error)}; "
            + in_cell(f"say what its call takes: {_call(model, specs)}.")
        ) from error
    way_out = "the SavedModel that model.export(folder) writes" + either(", tgw.edit(folder),", "")
    source = function_source(
        trace.graph, title, way_out, keras_infos(model), call_structure(trace, function)
    )
    source.model = model
    source.initial_values = partial(_initial_values, model, title)
    return source


def keras_infos(thing: object) -> dict[int, CaptureInfo]:
    """Name and trainability of the variables of a Keras model or layer, by id of the handle."""
    variables = thing.variables if is_keras_model(thing) else ()
    return {
        id(v.value.handle): CaptureInfo(v.path, v.trainable)
        for v in variables
        if isinstance(v.value, tf.Variable)
    }


def keras_regularizers(model: KerasModel | None) -> dict[int, Any]:
    """The regularizers of a Keras model's variables by id of the handle; none for None."""
    variables = () if model is None else model.variables
    return {
        id(v.value.handle): v.regularizer
        for v in variables
        if isinstance(v.value, tf.Variable) and v.regularizer is not None
    }


def layer_outputs(model: KerasModel, graph: tf.Graph) -> dict[Hashable, str]:
    """{KerasTensor: name of the tensor of `graph` that represents it}, of a functional model, or
    the Sequential model that it computes, which `keras_source` traced. Raises GraphEditError where
    the layers make other ops now than when the model was opened.
    """
    tree = sys.modules["keras"].tree
    names: dict[Hashable, str] = {}

    def inference(*inputs: object) -> None:
        # The order in which the model calls its layers: a Function of all tensors would call them
        # in another one.
        computed = dict(
            zip(tree.flatten(functional_boundary(model)[0]), tree.flatten(inputs), strict=True)
        )
        by_id = {id(tensor): value for tensor, value in computed.items()}  # as Keras wants them
        for node in functional_nodes(model):
            if not node.is_input:
                arguments, options = node.arguments.fill_in(by_id)
                # Else a layer of augmentation does what it does in training.
                if "training" in inspect.signature(node.operation.call).parameters:
                    options = {**options, "training": False}
                results = dict(
                    zip(
                        node.outputs,
                        tree.flatten(node.operation(*arguments, **options)),
                        strict=False,
                    )
                )
                computed |= results
                by_id |= {id(tensor): value for tensor, value in results.items()}
        names.update((tensor, value.name) for tensor, value in computed.items())

    trace = tf.function(inference).get_concrete_function(
        *_input_specs(model, f"Keras model {model.name!r}")
    )
    graph_ops = graph.get_operations()
    numbers = {op.name: number for number, op in enumerate(trace.graph.get_operations())}
    outputs = {}
    for tensor, name in names.items():
        op, _, port = name.partition(":")
        number = numbers[op]
        kind = trace.graph.get_operation_by_name(op).type
        if number >= len(graph_ops) or graph_ops[number].type != kind:
            raise GraphEditError(
                f"Keras model {model.name!r} makes other ops now than when it was opened; open it "
                "again."
            )
        outputs[tensor] = f"{graph_ops[number].name}:{port}"
    return outputs


def _parameters(model: KerasModel, count: int) -> list[inspect.Parameter]:
    """The first `count` parameters of a model's `call`."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    names = [p.name for p in inspect.signature(model.call).parameters.values() if p.kind is kind][
        :count
    ]
    names += [f"inputs_{k}" for k in range(len(names), count)]
    return [inspect.Parameter(name, kind) for name in names]


def _input_specs(model: KerasModel, title: str) -> list[TensorSpec]:
    """A structure of TensorSpecs for each argument of the model's call; any batch dimension."""
    utils = importlib.import_module("keras.src.export.export_utils")
    tree = sys.modules["keras"].tree
    try:
        signature = utils.get_input_signature(model)
        return [tree.map_structure(_spec, argument) for argument in signature]
    except (TypeError, ValueError) as error:
        raise GraphEditError(
            f"{title} has not been built, so it has no graph yet; call it on data first, model(x), "
            "and open it then."
        ) from error


def _required_arguments(model: KerasModel) -> list[str]:
    """The arguments of a model's `call` that have no default."""
    parameters = inspect.signature(model.call).parameters.values()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in parameters if p.kind in kinds and p.default is inspect.Parameter.empty]


def _call(model: KerasModel, specs: Sequence[object]) -> str:
    """The Python that opens a model of which Keras has recorded these arguments only."""

    def text(spec: object) -> str:
        if isinstance(spec, tf.TensorSpec):
            return f"tf.TensorSpec({list(spec.shape)}, {spec.dtype.name!r})"
        return "..."

    placeholders = ["tf.TensorSpec(shape, dtype)"] * max(
        len(_required_arguments(model)) - len(specs), 0
    )
    return f"tgw.edit(model, signature=[{', '.join([*map(text, specs), *placeholders])}])"


def _given_specs(model: KerasModel, title: str, signature: object) -> list[TensorSpec]:
    """The same as the caller says it."""
    tree = sys.modules["keras"].tree
    names = list(inspect.signature(model.call).parameters)
    if isinstance(signature, dict):
        first_names = names[: len(signature)]
        if set(first_names) != set(signature):
            raise GraphEditError(
                f"{title} takes {names_text(names)}; "
                + in_cell(
                    "give signature= a tf.TensorSpec for each of the first ones, by name or as a "
                    "list."
                )
            )
        signature = [signature[name] for name in first_names]
    if not isinstance(signature, list | tuple) or not all(
        isinstance(spec, tf.TensorSpec) for spec in tree.flatten(list(signature))
    ):
        raise GraphEditError(
            f"{title} takes its signature as a list; "
            + in_cell(f"give a tf.TensorSpec for each argument of its call: {_call(model, [])}.")
        )
    return list(signature)


def _spec(spec: tf.TensorSpec) -> tf.TensorSpec:
    return tf.TensorSpec(spec.shape, spec.dtype, name=spec.name)


def _initial_values(model: KerasModel, title: str, reseed: bool) -> dict[str, object]:
    """The values that the initializers of a model's variables compute, by the variables' paths.

    They are those of a new model of the same configuration; with `reseed` without the seeds of its
    initializers. Raises SessionRefused for a model that Keras cannot make again.
    """
    with eager_mode():  # whatever graph is the default one
        return _values_of_new(model, title, reseed=reseed)


def _values_of_new(model: KerasModel, title: str, *, reseed: bool) -> dict[str, object]:
    keras = sys.modules["keras"]

    def remake(thing: Any) -> Any:
        config = thing.get_config()
        return type(thing).from_config(_without_seeds(config) if reseed else config)

    try:
        if isinstance(
            model, keras.Sequential | importlib.import_module("keras.src.models").Functional
        ):
            new = keras.models.clone_model(model, clone_function=remake)
        else:
            new = remake(model)
            new.build_from_config(model.get_build_config())
    except Exception as error:  # whatever the configuration of a caller's own layers raises
        raise SessionRefused(
            f"{title} cannot be made again for its initial values: {error_text(error)}; "
            + clone_with("init", "current")
            + ", or define get_config and from_config."
        ) from error
    pairs = list(zip(model.variables, new.variables, strict=False))
    if len(model.variables) != len(new.variables) or any(a.shape != b.shape for a, b in pairs):
        raise SessionRefused(
            f"{title} has other variables than a new model of its configuration, so their initial "
            "values are not known; " + clone_with("init", "current") + "."
        )
    return {old.path: np.asarray(fresh) for old, fresh in pairs}


def _without_seeds(config: object) -> object:
    """A configuration in which initializers have no seeds."""
    if isinstance(config, list | tuple):
        return (
            type(config)(map(_without_seeds, config)) if type(config) in (list, tuple) else config
        )
    if not isinstance(config, dict):
        return config
    entries = {key: _without_seeds(value) for key, value in config.items()}
    inner = entries.get("config")
    if "initializers" in str(entries.get("module")) and isinstance(inner, dict) and "seed" in inner:
        entries["config"] = {**inner, "seed": None}
    return entries

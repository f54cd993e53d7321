"""TFLite: a frozen graph as a FlatBuffer, and its run by the interpreter. Runs in the process of
converters.
"""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from tfgraphwidget.export.conversion.converter_process import ConversionRefused
from tfgraphwidget.graph import V1_CONTROL_FLOW, Signature
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.sentences import either, in_cell
from tfgraphwidget.tensorflow_modules import tf, v1
from tfgraphwidget.tf_types import GraphDef

Arrays = Mapping[str, np.ndarray]

_NEEDS_SELECT = re.compile(r"^TF Select ops: (.*)$", re.MULTILINE)
_CUSTOM = re.compile(r"^Custom ops: (.*)$", re.MULTILINE)
_LOCATION = re.compile(r'fused\["(\w+):", "([^"@]+)(?:@[^"]*)?"\]')
_FAILED_OP = re.compile(r"'tf\.(\w+)' op (.*)")
# An op that only TensorFlow has; the list of a loop over elements whose shape is known only when it
# runs.
_SELECT_HELPS = ("neither a custom op nor a flex op", "requires element_shape to be")
_SELECT = (
    either("select_tf_ops=True", "the option TensorFlow's ops")
    + " keeps them as ops of TensorFlow, which the runtime then needs (TF Select)"
)


def convert(graph_def: bytes, signatures: Sequence[Signature], options: Mapping[str, Any]) -> bytes:
    """Convert a frozen graph to a FlatBuffer; the option "optimize" is "float16", "dynamic" or
    None, and "select_tf_ops" keeps ops of TensorFlow. Raises ConversionRefused.
    """
    graph = v1.GraphDef.FromString(graph_def)
    with tempfile.TemporaryDirectory(prefix="tfgraphwidget-") as folder:
        converter = _converter(graph, signatures, folder)
        if options.get("optimize"):
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        if options.get("optimize") == "float16":
            converter.target_spec.supported_types = [tf.float16]
        if options.get("select_tf_ops"):
            converter.target_spec.supported_ops = [
                tf.lite.OpsSet.TFLITE_BUILTINS,
                tf.lite.OpsSet.SELECT_TF_OPS,
            ]
        try:
            model: bytes = converter.convert()
        except Exception as error:  # ConverterError, ValueError, what MLIR raises
            raise _refusal(str(error)) from error
    return model


def _converter(graph: GraphDef, signatures: Sequence[Signature], folder: str) -> Any:
    """A converter of a graph; that of TensorFlow 1 takes its Switch, Merge and Enter ops."""
    if any(node.op in V1_CONTROL_FLOW for node in graph.node):
        return _converter_of_loops(graph, signatures)
    module = tf.Module()
    functions = {}
    for signature in signatures:
        functions[signature.name] = _function(graph, signature)
    module.functions = functions
    # A model that is run needs no gradients, and TensorFlow does not save those of functions that
    # were imported.
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
    tf.saved_model.save(module, folder, signatures=functions, options=options)
    return tf.lite.TFLiteConverter.from_saved_model(folder, signature_keys=list(functions))


def _converter_of_loops(graph: GraphDef, signatures: Sequence[Signature]) -> Any:
    if len(signatures) > 1:
        raise ConversionRefused(
            "the graph has while loops or conditionals of TensorFlow 1, which it converts for one "
            "signature at a time",
            helps=in_cell("give signature="),
        )
    with tf.Graph().as_default() as imported, v1.Session(graph=imported) as session:
        tf.import_graph_def(graph, name="")
        boundary = [
            [imported.get_tensor_by_name(tensor) for _, tensor in side]
            for side in (signatures[0].inputs, signatures[0].outputs)
        ]
        return v1.lite.TFLiteConverter.from_session(session, *boundary)


def _function(graph: GraphDef, signature: Signature) -> Any:
    """A function of a signature, with its keys."""
    specs = {}
    nodes = {node.name: node for node in graph.node}
    for key, tensor in signature.inputs:
        attributes = nodes[split_tensor(tensor)[0]].attr
        # TensorShape takes a TensorShapeProto; its stubs do not say so.
        shape: Any = attributes["shape"].shape
        specs[key] = tf.TensorSpec(
            tf.TensorShape(shape), tf.as_dtype(attributes["dtype"].type), key
        )

    def call(**values: Any) -> dict[str, Any]:
        fed = {tensor: values[key] for key, tensor in signature.inputs}
        results = tf.import_graph_def(
            graph, fed, [tensor for _, tensor in signature.outputs], name=""
        )
        return {
            key: tf.identity(result)
            for (key, _), result in zip(signature.outputs, results, strict=True)
        }

    return tf.function(call).get_concrete_function(**specs)


def _refusal(text: str) -> ConversionRefused:
    """The refusal that a message of the converter says."""
    select = _types_in(_NEEDS_SELECT, text)
    custom = _types_in(_CUSTOM, text)
    failed = list(dict.fromkeys(kind for kind, _ in _FAILED_OP.findall(text)))
    types = tuple(dict.fromkeys([*select, *custom, *failed]))
    ops = tuple(dict.fromkeys(name for kind, name in _LOCATION.findall(text) if kind in types))
    if select or custom:
        return ConversionRefused("TFLite has no builtin op", ops, types, _SELECT if select else "")
    if failed:
        why = next(iter(_FAILED_OP.findall(text)))[1].strip().rstrip(".")
        helps = _SELECT if any(reason in text for reason in _SELECT_HELPS) else ""
        return ConversionRefused(why or "TFLite does not convert this", ops, types, helps)
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return ConversionRefused((lines or ["it gives no reason"])[0][:400].rstrip(". "))


def _types_in(pattern: re.Pattern[str], text: str) -> list[str]:
    match = pattern.search(text)
    if match is None:
        return []
    return [name.strip().removeprefix("Flex") for name in match[1].split(",") if name.strip()]


def run(model: bytes, runs: Sequence[tuple[Signature, Arrays]]) -> list[dict[str, np.ndarray]]:
    """Run a model on signatures, each with its feeds by key; the outputs of each by key."""
    interpreter = _interpreter(model)
    return [_run(interpreter, signature, feeds) for signature, feeds in runs]


def _interpreter(model: bytes) -> Any:
    """LiteRT's interpreter where it is installed; else TensorFlow's."""
    if find_spec("ai_edge_litert") is not None:
        return import_module("ai_edge_litert.interpreter").Interpreter(model_content=model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TensorFlow's is to go some day
        return tf.lite.Interpreter(model_content=model)


def _run(interpreter: Any, signature: Signature, feeds: Arrays) -> dict[str, np.ndarray]:
    if signature.name in interpreter.get_signature_list():
        runner = interpreter.get_signature_runner(signature.name)
        details = runner.get_input_details()
        values = {
            key: np.asarray(value, details[key]["dtype"])
            for key, value in feeds.items()
            if key in details
        }
        return {key: np.asarray(value) for key, value in runner(**values).items()}
    inputs, outputs = interpreter.get_input_details(), interpreter.get_output_details()
    by_name = {split_tensor(tensor)[0]: feeds[key] for key, tensor in signature.inputs}
    for each in inputs:
        interpreter.resize_tensor_input(each["index"], np.shape(by_name[each["name"]]))
    interpreter.allocate_tensors()
    for each in inputs:
        interpreter.set_tensor(each["index"], np.asarray(by_name[each["name"]], each["dtype"]))
    interpreter.invoke()
    keys = [key for key, _ in signature.outputs]
    return {
        key: interpreter.get_tensor(each["index"]) for key, each in zip(keys, outputs, strict=True)
    }

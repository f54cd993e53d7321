"""ONNX: a frozen graph converted by tf2onnx, and its run by onnxruntime. Runs in the process of
converters.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import chain
from typing import Any

import numpy as np

from tfgraphwidget.errors import reason_of
from tfgraphwidget.export.conversion.converter_process import ConversionRefused
from tfgraphwidget.graph import FUNCTION_CALLS, V1_CONTROL_FLOW, Signature
from tfgraphwidget.naming import free_name
from tfgraphwidget.tensorflow_modules import v1

Arrays = Mapping[str, np.ndarray]

_FEWEST_NODES = 4
"""Smaller graphs are not optimized (`RewriterConfig.min_graph_nodes`)."""
_UNSUPPORTED = re.compile(r"Tensorflow op \[(?P<name>.*): (?P<type>\w+)\] is not supported")
_AROUND = V1_CONTROL_FLOW | FUNCTION_CALLS
_FORMULAS = {"Erfc": ("Erf", "1 - y"), "Expm1": ("Exp", "y - 1"), "Log1p": ("Log", "1 + x")}
"""Op types that tf2onnx has no conversion for: the ONNX op, and what is computed of its result y or
its input x.
"""
_FAILED = re.compile(r"Failed to convert node '(?P<name>[^']+)'")


def convert(graph_def: bytes, signatures: Sequence[Signature], options: Mapping[str, Any]) -> bytes:
    """Convert a frozen graph with its only signature, whose keys name the model's inputs and
    outputs, to a serialized ModelProto; the option "opset" is the version of ONNX's ops, None for
    that which tf2onnx takes. Raises ConversionRefused.
    """
    (signature,) = signatures
    log = _Log()
    for name in ("tf2onnx", "tf2onnx.tfonnx"):
        logging.getLogger(name).addHandler(log)
    try:
        model = _convert(v1.GraphDef.FromString(graph_def), signature, options.get("opset"))
    except Exception as error:  # what tf2onnx raises: KeyError, ValueError, AssertionError
        refusal = _refusal(log.lines)
        if refusal is not None:
            raise refusal from error
        text = reason_of(error)
        names = {node.name for node in v1.GraphDef.FromString(graph_def).node}
        ops = tuple(
            name for name in re.findall(r"[\w./>-]+", " ".join([*log.lines, text])) if name in names
        )
        raise ConversionRefused(text, tuple(dict.fromkeys(ops))) from error
    finally:
        for name in ("tf2onnx", "tf2onnx.tfonnx"):
            logging.getLogger(name).removeHandler(log)
    refusal = _refusal(log.lines)
    if refusal is not None:
        raise refusal
    result: bytes = model.SerializeToString()
    return result


def _convert(graph: Any, signature: Signature, opset: int | None) -> Any:
    converter = import_module("tf2onnx.convert")
    boundary = dict(signature.inputs), _separate_outputs(graph, signature)
    names = {tensor: key for side in boundary for key, tensor in side.items()}
    _let_functions_be_inlined(graph)
    model, _ = converter.from_graph_def(
        graph,
        input_names=list(boundary[0].values()),
        output_names=list(boundary[1].values()),
        opset=opset,
        tensors_to_rename=names,
        custom_op_handlers={op_type: (_write_formula, []) for op_type in _FORMULAS},
    )
    return model


def _write_formula(graph: Any, node: Any, name: str, _: object) -> None:
    """Put two ops of ONNX in place of one of `_FORMULAS`; the last of the two gets its name."""
    (x,), (output,), op_type = node.input, node.output, node.type
    common = {"dtypes": [graph.get_dtype(output)], "shapes": [graph.get_shape(output)]}
    last = {"name": name, "outputs": [output], **common}
    utils = import_module("tf2onnx.utils")
    number = np.asarray(1, utils.map_onnx_to_numpy_type(graph.get_dtype(output)))
    one = graph.make_const(utils.make_name(name), number).output[0]
    function, rest = _FORMULAS[op_type]
    graph.remove_node(name)
    if rest == "1 + x":
        graph.make_node(function, graph.make_node("Add", [one, x], **common).output, **last)
    else:
        y = graph.make_node(function, [x], **common).output[0]
        graph.make_node("Sub", [one, y] if rest == "1 - y" else [y, one], **last)


def _separate_outputs(graph: Any, signature: Signature) -> dict[str, str]:
    """The tensors of the outputs by key, each another one: a tensor of an ONNX model has one name.
    The GraphDef gets an Identity of each that is an input or another output already.
    """
    tensors: dict[str, str] = {}
    names = {node.name.lower() for node in graph.node}
    used_tensors = {tensor for _, tensor in signature.inputs}
    imported: Any = None
    for key, tensor in signature.outputs:
        if tensor in used_tensors:
            if imported is None:
                imported = v1.Graph()
                with imported.as_default():
                    v1.import_graph_def(graph, name="")
            node = graph.node.add(name=free_name("output", names), op="Identity", input=[tensor])
            node.attr["T"].type = imported.get_tensor_by_name(tensor).dtype.as_datatype_enum
            names.add(node.name.lower())
            tensor = f"{node.name}:0"  # noqa: PLW2901
        used_tensors.add(tensor)
        tensors[key] = tensor
    return tensors


def _let_functions_be_inlined(graph: Any) -> None:
    """Change a GraphDef so that TensorFlow's optimizer, which tf2onnx calls, inlines functions."""
    # Else loops and conditionals of functions become those of TensorFlow 1, which have no
    # conversion.
    for node in chain(graph.node, *(function.node_def for function in graph.library.function)):
        node.attr.pop("_lower_using_switch_merge", None)
    names = {node.name for node in graph.node}
    while len(graph.node) < _FEWEST_NODES:
        graph.node.add(name=free_name("unused", names), op="NoOp")
        names.add(graph.node[-1].name)


class _Log(logging.Handler):
    """The messages of tf2onnx, which names what it cannot convert in its log alone."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the message."""
        self.lines.append(record.getMessage())


def _refusal(lines: Sequence[str]) -> ConversionRefused | None:
    """The refusal that tf2onnx has written into its log."""
    matches = [match for line in lines if (match := _UNSUPPORTED.search(line))]
    of_ops = [match for match in matches if match["type"] not in _AROUND]
    matches = of_ops or matches  # what is around an op that is not converted is not either
    if matches:
        ops, types = (
            tuple(dict.fromkeys(match[group] for match in matches)) for group in ("name", "type")
        )
        return ConversionRefused("tf2onnx has no conversion", ops, types)
    failed = dict.fromkeys(match["name"] for line in lines if (match := _FAILED.search(line)))
    return ConversionRefused("tf2onnx fails", tuple(failed)) if failed else None


def run(model: bytes, runs: Sequence[tuple[Signature, Arrays]]) -> list[dict[str, np.ndarray]]:
    """Run a model on signatures, each with its feeds by key; the outputs of each by key."""
    runtime = import_module("onnxruntime")
    session = runtime.InferenceSession(model, providers=["CPUExecutionProvider"])
    input_names = {each.name for each in session.get_inputs()}
    results = []
    for signature, feeds in runs:
        keys = [key for key, _ in signature.outputs]
        values = session.run(
            keys, {key: np.asarray(value) for key, value in feeds.items() if key in input_names}
        )
        results.append(dict(zip(keys, map(np.asarray, values), strict=True)))
    return results

"""ONNX models (.onnx) as graphs, whose ops are of types such as onnx.Conv.

tf2onnx calls the first tensor of an operator as the tensor of the TensorFlow graph whose value it
has; an operator that it adds has the name of the op that it is made for, and a number.
"""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any

import numpy as np

from tfgraphwidget.errors import NotAGraph
from tfgraphwidget.graph import ONNX_PREFIX
from tfgraphwidget.optional_packages import import_package
from tfgraphwidget.sources.converted_model import OnnxModel
from tfgraphwidget.sources.files.container import Container, OpenOptions
from tfgraphwidget.sources.files.converted_graph import (
    DEFAULT_SIGNATURE,
    PLAIN,
    ConvertedGraph,
    ConvertedNodes,
    op_name,
    set_attribute,
    set_origins,
    without_port,
)
from tfgraphwidget.sources.files.parse import LARGEST
from tfgraphwidget.sources.inference.dtypes import dtype_number
from tfgraphwidget.sources.source import Source

_ADDED = re.compile(r"__\d+\Z")  # how the names of operators end that tf2onnx adds
_CONSTANT = f"{ONNX_PREFIX}Constant"
_OWN_DOMAINS = ("", "ai.onnx")
# Bytes of a constant that shapes may depend on; larger ones are left out where shapes are inferred.
_LARGEST_OF_SHAPES = 4096
_MOST_BYTES = 8  # of an element
_PATIENCE = 60.0  # seconds for the inference of shapes
# ONNX's own code infers shapes, in a process of its own: a damaged model may end it.
_INFER = """
import sys, onnx
model = onnx.load_model_from_string(sys.stdin.buffer.read())
inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
sys.stdout.buffer.write(inferred.SerializeToString())
"""


def open_model(container: Container, options: OpenOptions) -> Source:
    """Open a model as a graph. Raises NotAGraph for a damaged one."""
    model = _read(container)
    onnx_model = OnnxModel(
        model.data,
        model.main.inputs,
        "ONNX Runtime",
        "ONNX model",
        model.made_by,
        model.main.tensors,
    )
    return model.graph.open(container, options, "an ONNX model", onnx_model)


def describe(container: Container) -> list[dict[str, object]]:
    """One summary of the graph of a model."""
    model = _read(container)
    return [model.graph.summary(container, model.made_by)]


def _read(container: Container) -> _Model:
    onnx = import_package("onnx", f"{container.where} is an ONNX model, and opening it needs onnx")
    try:
        model = onnx.load_model_from_string(container.data)
        return _Model(onnx, model, container)
    except MemoryError:
        raise
    except Exception:  # whatever a damaged file makes of protobuf and NumPy
        raise NotAGraph(
            f"{container.where} is an ONNX model that is truncated or damaged; copy or convert it "
            "again."
        ) from None


class _Model:
    """Reads a model into a MetaGraphDef; graphs inside of operators become functions.

    Attributes:
        data: The bytes of the model, with the values that lie in files beside it.
        main: Its main graph.
        made_by: What has made it: "tf2onnx 1.16.1, opset 15".
    """

    def __init__(self, onnx: Any, model: Any, container: Container) -> None:
        self.onnx, self._model = onnx, model
        self.graph = ConvertedGraph()
        self.data = self._with_values_beside(container)
        versions = [each.version for each in model.opset_import if each.domain in _OWN_DOMAINS]
        maker = f"{model.producer_name} {model.producer_version}".strip()
        self.made_by = ", ".join(filter(None, (maker, *(f"opset {each}" for each in versions))))
        graph = model.graph
        self.main = _Graph(self, graph, self._inferred_graph(), self.graph)
        signature = self.graph.meta.signature_def[DEFAULT_SIGNATURE]
        inputs = [self.main.tensors[name] for name in sorted(self.main.inputs)]
        for infos, names in (
            (signature.inputs, inputs),
            (signature.outputs, [each.name for each in graph.output]),
        ):
            for name in names:
                self.main.describe(name, infos)

    def _with_values_beside(self, container: Container) -> bytes:
        """The bytes of the model with the values that lie in files beside it."""
        helper = self.onnx.external_data_helper
        elements = [
            math.prod(each.dims)
            for each in self._model.graph.initializer
            if helper.uses_external_data(each)
        ]
        if container.file is None or not elements or sum(elements) * _MOST_BYTES > LARGEST:
            return container.data
        with suppress(OSError, ValueError, self.onnx.checker.ValidationError):
            helper.load_external_data_for_model(self._model, str(container.file.parent))
            data: bytes = self._model.SerializeToString()
            return data
        return container.data

    def _inferred_graph(self) -> Any:
        """The main graph with what is known of the dtypes and shapes of tensors, without values."""
        small = self.onnx.ModelProto()
        small.CopyFrom(self._model)
        for tensor in small.graph.initializer:
            if len(tensor.raw_data) > _LARGEST_OF_SHAPES:
                tensor.ClearField("raw_data")
        with suppress(OSError, subprocess.SubprocessError, ValueError):
            done = subprocess.run(
                [sys.executable, "-c", _INFER],
                input=small.SerializeToString(),
                capture_output=True,
                check=True,
                timeout=_PATIENCE,
                env={**os.environ, "PYTHONSAFEPATH": "1"},
            )
            return self.onnx.load_model_from_string(done.stdout).graph
        return small.graph


class _Graph:
    """Reads one graph of a model, a GraphProto, and writes its ops to `nodes`.

    What was inferred of its tensors is in `inferred`, the same graph; `outer` has the dtypes and
    shapes of tensors around it that it reads, by name.

    Attributes:
        tensors: The names of its tensors in the file by those here, "conv:0".
        inputs: The names of the tensors that are fed.
    """

    def __init__(
        self,
        model: _Model,
        graph: Any,
        inferred: Any,
        nodes: ConvertedNodes,
        outer: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self._model, self._onnx, self._nodes = model, model.onnx, nodes
        self.tensors: dict[str, str] = {}
        self._names_of: dict[str, str] = {}  # of tensors in the graph, once they are there
        self._results = {each.name for each in graph.output}
        infos = (*inferred.value_info, *inferred.output, *inferred.input)
        self._types = {
            **outer,
            **{each.name: each.type.tensor_type for each in infos if _is_tensor(each)},
        }
        self._constants = {each.name: each for each in graph.initializer}
        inputs = [each.name for each in graph.input if each.name not in self._constants]
        for name in (*inputs, *outer):
            self._add_input(name)
        self.inputs = frozenset(self.tensors)
        for name, tensor in self._constants.items():
            self._add_constant(name, tensor)
        for name in (each.values.name for each in graph.sparse_initializer):
            self._add_unknown_constant(name)
        added = [
            self._add_operator(operator, with_types)
            for operator, with_types in zip(graph.node, inferred.node, strict=True)
        ]
        for node, reads in filter(None, added):
            node.input.extend(
                self._names_of[name].removesuffix(":0") for name in reads if name in self._names_of
            )

    def results(self, names: Iterable[str]) -> Iterator[tuple[str, int]]:
        """The names and the dtypes of tensors that the graph returns."""
        for name in names:
            if name in self._names_of:
                yield self._names_of[name], self._dtype(name)

    # What gives tensors

    def _add_input(self, name: str) -> None:
        unique, shape = self._nodes.add_input(_op_name(without_port(name)), self._dtype(name))
        self._set_shape(shape, name)
        self._note(unique, 0, name)

    def _add_constant(self, name: str, tensor: Any) -> None:
        """The op of a value in the file."""
        is_there = not self._onnx.external_data_helper.uses_external_data(tensor)
        array = self._onnx.numpy_helper.to_array(tensor) if is_there else None
        if array is None or array.dtype.name not in PLAIN:
            self._add_unknown_constant(name)
            return
        node = self._nodes.add(self._free_name(without_port(name)), "Const")
        node.attr["dtype"].type = dtype_number(array.dtype.name)
        value = node.attr["value"].tensor
        value.dtype = dtype_number(array.dtype.name)
        for size in array.shape:
            value.tensor_shape.dim.add(size=size)
        value.tensor_content = np.ascontiguousarray(array).tobytes()
        self._note(node.name, 0, name)

    def _add_unknown_constant(self, name: str) -> None:
        """The op of text, of a sparse value, or of one that lies in another file."""
        node = self._nodes.add(self._free_name(without_port(name)), _CONSTANT)
        self._set_output(node, name)
        self._note(node.name, 0, name)

    def _add_operator(self, operator: Any, with_types: Any) -> tuple[Any, list[str]] | None:
        """Add the op of an operator: its NodeDef, and what it reads; None for a constant."""
        outputs = [name for name in operator.output if name]
        constant = next((each for each in operator.attribute if each.name == "value"), None)
        if operator.op_type == "Constant" and constant is not None and outputs:
            self._add_constant(outputs[0], constant.t)
            return None
        node = self._nodes.add(self._free_name(self._name(operator, outputs)), _type_of(operator))
        outer = _outer_tensors(operator)
        for attribute, inferred in zip(operator.attribute, with_types.attribute, strict=True):
            self._set_attribute(node, attribute, inferred, outer)
        set_origins(node, self._origins(operator, outputs))
        for port, name in enumerate(outputs):
            self._set_output(node, name)
            self._note(node.name, port, name)
        return node, [*operator.input, *outer]

    def _set_attribute(self, node: Any, attribute: Any, inferred: Any, outer: list[str]) -> None:
        """Give an op an attribute of an operator, as far as an op can have it."""
        key = op_name(attribute.name)
        for value in _values(attribute):
            set_attribute(node.attr[key], value)
        functions = [
            self._function(f"{node.name}_{key}", *pair, outer)
            for pair in zip(_graphs(attribute), _graphs(inferred), strict=True)
        ]
        if attribute.type == attribute.GRAPH:
            node.attr[key].func.name = functions[0]
        for name in functions if attribute.type == attribute.GRAPHS else ():
            node.attr[key].list.func.add(name=name)

    def _function(self, name: str, graph: Any, with_types: Any, outer: list[str]) -> str:
        """The name of the function of a graph in an operator, which gets what that one reads."""
        unique, function = self._model.graph.add_function(name)
        types = {each: self._types.get(each) for each in outer}
        inner = _Graph(self._model, graph, with_types, function, types)
        for tensor, dtype in inner.results(each.name for each in graph.output):
            function.add_result(tensor, dtype)
        return unique

    def _name(self, operator: Any, outputs: Sequence[str]) -> str:
        """The name of an operator; an added one is in the scope of its weights, or its inputs."""
        name: str = operator.name or without_port([*outputs, ""][0]) or operator.op_type
        if "/" in name or not _ADDED.search(name):
            return name
        weights = [each for each in operator.input if each in self._constants]
        scopes = [each.rpartition("/")[0] for each in (*weights[::-1], *operator.input)]
        return "/".join(filter(None, (next(filter(None, scopes), ""), name)))

    def _origins(self, operator: Any, outputs: Sequence[str]) -> list[str]:
        """The name of the op of the model whose value an operator gives, as far as it has one."""
        name = operator.name
        if outputs and outputs[0] not in self._results:
            name = outputs[0].removesuffix(":0")  # other ports are of several operators
        plain = _ADDED.sub("", name)
        if plain != name:
            plain = plain.removesuffix(f"_{operator.op_type}")
        return [] if plain in (operator.op_type, "") else [plain]

    # Tensors

    def _dtype(self, name: str) -> int:
        """TensorFlow's number of a tensor's dtype; a variant's for an unknown one or sequences."""
        kind = self._types.get(name)
        with suppress(KeyError, ValueError, TypeError):
            dtype = self._onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type if kind else 0)
            return dtype_number("string" if dtype.kind == "O" else dtype.name)
        return dtype_number("variant")

    def _set_shape(self, shape: Any, name: str) -> None:
        kind = self._types.get(name)
        if kind is None or not kind.HasField("shape"):
            shape.unknown_rank = True
            return
        for dim in kind.shape.dim:
            shape.dim.add(size=dim.dim_value if dim.HasField("dim_value") else -1)

    def _set_output(self, node: Any, name: str) -> None:
        """Note the dtype and the shape of an output of an op."""
        node.attr["Tout"].list.type.append(self._dtype(name))
        self._set_shape(node.attr["_output_shapes"].list.shape.add(), name)

    def describe(self, name: str, infos: Any) -> None:
        """Note a tensor among the inputs or outputs of a signature, if the graph has it."""
        if name in self._names_of:
            info = infos[without_port(name)]
            info.name, info.dtype = self._names_of[name], self._dtype(name)
            self._set_shape(info.tensor_shape, name)

    # Names

    def _free_name(self, name: str) -> str:
        return self._nodes.free_name(_op_name(name))

    def _note(self, op: str, port: int, name: str) -> None:
        self._names_of[name] = f"{op}:{port}"
        self.tensors[f"{op}:{port}"] = name


def _is_tensor(info: Any) -> bool:
    """Whether a ValueInfoProto says the dtype of a tensor."""
    return bool(info.type.tensor_type.elem_type)


def _op_name(name: str) -> str:
    """The name of an operator or a tensor as that of an op."""
    return op_name(name.lstrip("/"))


def _type_of(operator: Any) -> str:
    """The type of an operator: ONNX's own have its prefix, others their domain."""
    domain = ONNX_PREFIX.rstrip(".") if operator.domain in _OWN_DOMAINS else operator.domain
    return re.sub(r"[^A-Za-z0-9_.]", "_", f"{domain}.{operator.op_type}")


def _values(attribute: Any) -> Iterator[object]:
    """The value of an attribute, as far as an op can have it."""
    kind = attribute.AttributeType.Name(attribute.type)
    match kind:
        case "FLOAT":
            yield attribute.f
        case "INT":
            yield attribute.i
        case "STRING":
            yield attribute.s.decode("utf-8", "replace")
        case "FLOATS":
            yield [*attribute.floats]
        case "INTS":
            yield [*attribute.ints]
        case "STRINGS":
            yield [each.decode("utf-8", "replace") for each in attribute.strings]


def _graphs(attribute: Any) -> Sequence[Any]:
    """The graphs that an attribute of an operator has."""
    return [attribute.g] if attribute.type == attribute.GRAPH else attribute.graphs


def _outer_tensors(operator: Any) -> list[str]:
    """The tensors that the graphs inside of an operator read from around it."""
    names: list[str] = []
    for graph in [each for attribute in operator.attribute for each in _graphs(attribute)]:
        inner = {each.name for each in (*graph.input, *graph.initializer)}
        inner |= {name for node in graph.node for name in node.output}
        for node in graph.node:
            names += [name for name in (*node.input, *_outer_tensors(node)) if name not in inner]
        names += [each.name for each in graph.output if each.name not in inner]
    return list(dict.fromkeys(filter(None, names)))

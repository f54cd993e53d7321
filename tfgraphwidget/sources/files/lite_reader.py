"""TensorFlow Lite models (.tflite) as graphs, whose ops are of types such as CONV_2D.

A tensor has the names of all ops of the TensorFlow graph whose work its operator does: these are
kept in ORIGINS, and the scope of the first is that of the op.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfgraphwidget.errors import NotAGraph
from tfgraphwidget.graph import BIASED, Signature
from tfgraphwidget.naming import names_text
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.sources.converted_model import LiteModel, Quantization
from tfgraphwidget.sources.files.container import Container, OpenOptions
from tfgraphwidget.sources.files.converted_graph import (
    DEFAULT_SIGNATURE,
    PLAIN,
    ConvertedFunction,
    ConvertedGraph,
    ConvertedNodes,
    op_name,
    set_attribute,
    set_origins,
    without_port,
)
from tfgraphwidget.sources.files.flat_buffer import DamagedBuffer, FlatBuffer, Table
from tfgraphwidget.sources.files.lite_schema import name_of, options_of
from tfgraphwidget.sources.files.signature_defs import choose_signature
from tfgraphwidget.sources.inference.dtypes import dtype_number
from tfgraphwidget.sources.source import Source

CUSTOM = 32  # the operator's number that says that its name is in the file
FLEX = "Flex"  # how the type of an op of TensorFlow begins, which is in a model as it is
MOST_DIMENSIONS = 254  # of a shape, as in TensorFlow
# Where the inputs of operators with weights are; the others are numbered.
ROLES = {1: "weights", 2: "bias"}
# What integers represent that have a scale.
QUANTIZED = {"int8": "qint8", "uint8": "quint8", "int16": "qint16", "int32": "qint32"}
_CALLED = re.compile(r"_?(subgraph)(_index)?\Z")  # how options end that are the number of a graph
QUANTIZATION = "_quantization"  # the attribute that says what integers represent


def open_model(container: Container, options: OpenOptions) -> Source:
    """Open a model as a graph. Raises NotAGraph for a damaged one."""
    model = _read(container, options.signature)
    main = model.main
    lite_model = LiteModel(
        container.data,
        main.inputs,
        "TensorFlow Lite's interpreter",
        "TensorFlow Lite model",
        model.made_by,
        main.numbers,
        main.quantized,
        tuple(model.tensorflow_ops),
        model.signature,
        model.graph_number,
    )
    source = model.graph.open(container, options, "a TensorFlow Lite model", lite_model)
    if others := model.other_signatures:
        source.notices += (
            f"{names_text(others)}: a signature of a graph of its own, which is not shown; "
            + in_cell(f"open it with signature={others[0]!r}."),
        )
    return source


def describe(container: Container) -> list[dict[str, object]]:
    """A summary of the graph of each signature of a model."""
    models = [_read(container)]
    models += [_read(container, name) for name in models[0].other_signatures]
    return [model.graph.summary(container, model.made_by) for model in models]


def _read(container: Container, signature: object = None) -> _Model:
    try:
        return _Model(container.data, signature, container.where)
    except DamagedBuffer:
        raise NotAGraph(
            f"{container.where} is a TensorFlow Lite model that is truncated or damaged; copy or "
            "convert it again."
        ) from None


class _Model:
    """Reads a model into a MetaGraphDef. Its main graph is that of the signature asked for, or the
    first; the graphs that operators call become functions.

    Attributes:
        main: The main graph.
        graph_number: Which graph of the file the main one is.
        signature: The name of the signature that it is of; "" where there is none to choose.
        made_by: What the file says of how it was made: "MLIR Converted".
        other_signatures: The names of signatures that are of other graphs.
        tensorflow_ops: The operators that are TensorFlow's own, of all graphs.
    """

    def __init__(self, data: bytes, signature: object, where: str) -> None:
        self.file = FlatBuffer(data)
        model = self.file.root()
        self.operator_codes = model.tables(1)
        self.made_by = model.text(3).rstrip(".")
        self.buffers = model.tables(4)
        self.graph = ConvertedGraph()
        self.tensorflow_ops: list[str] = []
        self._graphs = model.tables(2)
        self._functions: dict[int, str] = {}  # by the numbers of their graphs
        self._unread: list[tuple[Table, ConvertedFunction]] = []
        signatures = {each.text(2) or DEFAULT_SIGNATURE: each for each in model.tables(7)}
        chosen = None
        if signatures:
            choices = tuple(Signature(name, (), ()) for name in signatures)
            chosen = choose_signature(choices, signature, where)
        self.signature = chosen.name if chosen else ""
        self.graph_number = signatures[chosen.name].number(4, "I") if chosen else 0
        table = _element(self._graphs, self.graph_number)
        self.main = _Graph(self, table, self.graph)
        self.other_signatures = []
        for name, described in signatures.items():
            if described.number(4, "I") == self.graph_number:
                self.main.add_signature(self.graph, name, described)
            else:
                self.other_signatures.append(name)
        if not self.graph.meta.signature_def:
            self.main.add_only_signature(self.graph, table)
        self._read_functions()

    def function(self, number: int) -> str:
        """The name of the function of a graph that an operator calls."""
        if number not in self._functions:
            table = _element(self._graphs, number)
            name = op_name(table.text(4) or f"subgraph_{number}")
            self._functions[number], function = self.graph.add_function(name)
            self._unread.append((table, function))
        return self._functions[number]

    def _read_functions(self) -> None:
        """Read the graphs that operators call, and those that operators of these call."""
        while self._unread:
            table, function = self._unread.pop()
            graph = _Graph(self, table, function)
            for number in table.vector(2, "<i4").tolist():
                function.add_result(*graph.result(number))


class _Graph:
    """Reads one graph of a model, `table` of the file, and writes its ops to `nodes`.

    Attributes:
        numbers: The numbers of its tensors by their names, "conv:0".
        quantized: What the integers of its tensors represent, by number.
        inputs: The names of the tensors that are fed.
    """

    def __init__(self, model: _Model, table: Table, nodes: ConvertedNodes) -> None:
        self._model, self._nodes = model, nodes
        self.numbers: dict[str, int] = {}
        self.quantized: dict[int, Quantization] = {}
        self._tensors = table.tables(0)
        self._names_of: dict[int, str] = {}  # of tensors, once what gives them is there
        for number in table.vector(1, "<i4").tolist():
            name, shape = nodes.add_input(self._tensor_name(number), self._dtype(number))
            self._set_shape(shape, number)
            self._note(name, 0, number)
        self.inputs = frozenset(self.numbers)
        for operator in table.tables(3):
            self._add_operator(operator)

    # What gives tensors

    def _add_operator(self, operator: Table) -> None:
        code = _element(self._model.operator_codes, operator.number(0, "I"))
        number = max(code.number(0, "b"), code.number(3, "i"))
        custom = code.text(1) if number == CUSTOM else ""
        kind = re.sub(r"\W", "_", custom) or name_of("operator", number) or f"OPERATOR_{number}"
        outputs = [each for each in operator.vector(2, "<i4").tolist() if each >= 0]
        origins = self._tensor(outputs[0]).text(3).split(";") if outputs else []
        scope = self._tensor_name(outputs[0]).rpartition("/")[0] if outputs else ""
        name = self._nodes.free_name("/".join(filter(None, (scope, kind.lower()))))
        sources = [
            self._source(each, name, kind, slot)
            for slot, each in enumerate(operator.vector(1, "<i4").tolist())
            if each >= 0
        ]
        if custom.startswith(FLEX):
            self._model.tensorflow_ops.append(name)
        node = self._nodes.add(name, kind)
        node.input.extend(sources)
        for key, value in self._options(operator):
            called = _CALLED.search(key)
            if called and isinstance(value, int) and value >= 0:
                function = self._model.function(value)
                node.attr[key[: called.start()] or called[1]].func.name = function
            else:
                set_attribute(node.attr[key], value)
        set_origins(node, [without_port(each) for each in origins])
        for port, each in enumerate(outputs):
            node.attr["Tout"].list.type.append(self._dtype(each))
            self._set_shape(node.attr["_output_shapes"].list.shape.add(), each)
            self._note(name, port, each)
            if each in self.quantized:
                node.attr[QUANTIZATION].s = str(self.quantized[each]).encode()

    @staticmethod
    def _options(operator: Table) -> Iterator[tuple[str, object]]:
        table = operator.table(4)
        if table is not None:
            yield from options_of(operator.number(3, "B"), table)

    def _source(self, number: int, consumer: str, kind: str, slot: int) -> str:
        """What an op has as the input for a tensor that an operator reads."""
        role = ROLES.get(slot, "") if kind in BIASED else ""
        name = self._source_or_constant(number, f"{consumer}/{role or f'input_{slot}'}")
        return name.removesuffix(":0")

    def _source_or_constant(self, number: int, name: str) -> str:
        """The name of a tensor; a constant becomes an op here, of a name if it is free."""
        if number not in self._names_of:
            self._add_constant(number, name)
        return self._names_of[number]

    def _add_constant(self, number: int, name: str) -> None:
        """The op of a tensor that no operator gives: a constant, or what the model remembers."""
        tensor, dtype = self._tensor(number), self._dtype_name(number)
        shape = tensor.vector(0, "<i4").tolist()
        content = self._content(tensor)
        size = int(np.prod(shape, dtype=np.int64)) if min(shape, default=0) >= 0 else -1
        is_plain = dtype in PLAIN and tensor.table(6) is None
        if is_plain and size >= 0 and len(content) == size * np.dtype(_numpy_name(dtype)).itemsize:
            node = self._nodes.add(self._nodes.free_name(name), "Const")
            node.attr["dtype"].type = self._dtype(number)
            node.attr["value"].tensor.dtype = self._dtype(number)
            self._set_shape(node.attr["value"].tensor.tensor_shape, number)
            node.attr["value"].tensor.tensor_content = content
        else:  # text, four bits a number, sparse, or a variable
            node = self._nodes.add(
                self._nodes.free_name(name), "VARIABLE" if not content else "CONSTANT"
            )
            node.attr["Tout"].list.type.append(self._dtype(number))
            self._set_shape(node.attr["_output_shapes"].list.shape.add(), number)
            set_origins(node, [tensor.text(3)])
        self._note(node.name, 0, number)
        if number in self.quantized:
            node.attr[QUANTIZATION].s = str(self.quantized[number]).encode()

    def result(self, number: int) -> tuple[str, int]:
        """The name and the dtype of a tensor that the graph returns."""
        return self._source_or_constant(number, f"result_{number}"), self._dtype(number)

    def add_signature(self, graph: ConvertedGraph, name: str, signature: Table) -> None:
        """Note a signature of the graph."""
        signature_def = graph.meta.signature_def[name]
        for field_number, infos in ((0, signature_def.inputs), (1, signature_def.outputs)):
            for entry in signature.tables(field_number):
                number = entry.number(1, "I")
                if number in self._names_of:
                    self._set_info(infos[entry.text(0)], number)

    def add_only_signature(self, graph: ConvertedGraph, table: Table) -> None:
        """The inputs and outputs of a file without a signature, by the names of their tensors."""
        signature_def = graph.meta.signature_def[DEFAULT_SIGNATURE]
        for field_number, infos in ((1, signature_def.inputs), (2, signature_def.outputs)):
            for number in table.vector(field_number, "<i4").tolist():
                if number in self._names_of:
                    self._set_info(infos[without_port(self._names_of[number])], number)

    def _set_info(self, info: Any, number: int) -> None:
        """What a signature says of a tensor."""
        info.name, info.dtype = self._names_of[number], self._dtype(number)
        self._set_shape(info.tensor_shape, number)

    # Tensors

    def _tensor(self, number: int) -> Table:
        return _element(self._tensors, number)

    def _content(self, tensor: Table) -> bytes:
        """The value of a constant as the file has it; empty for what is none."""
        buffer = _element(self._model.buffers, tensor.number(2, "I"))
        offset, size = buffer.number(1, "Q"), buffer.number(2, "Q")
        if offset > 1:  # values of large models lie after the tables
            return self._model.file.part(offset, size)
        return buffer.vector(0, "u1").tobytes()

    def _dtype_name(self, number: int) -> str:
        return name_of("dtype", self._tensor(number).number(1, "b")).lower()

    def _dtype(self, number: int) -> int:
        """TensorFlow's number of a tensor's dtype; of integers with a scale a quantized one."""
        name = self._dtype_name(number)
        return dtype_number(QUANTIZED.get(name, name) if self._quantization(number) else name)

    def _quantization(self, number: int) -> Quantization | None:
        """What the integers of a tensor represent."""
        if number not in self.quantized:
            table = self._tensor(number).table(4)
            scales = np.empty(0, "<f4") if table is None else table.vector(2, "<f4")
            if table is None or not len(scales):
                return None
            axis, shape = table.number(6, "i"), self._tensor(number).vector(0, "<i4")
            is_whole = len(scales) == 1
            if not is_whole and not (0 <= axis < len(shape) and shape[axis] == len(scales)):
                raise DamagedBuffer
            points = table.vector(3, "<i8")
            if len(points) != len(scales):  # one for all, or none
                points = np.full(len(scales), points[0] if len(points) else 0, "<i8")
            self.quantized[number] = Quantization(scales, points, axis)
        return self.quantized[number]

    def _set_shape(self, shape: Any, number: int) -> None:
        tensor = self._tensor(number)
        sizes = tensor.vector(7, "<i4")
        if not len(sizes):
            sizes = tensor.vector(0, "<i4")
        if len(sizes) > MOST_DIMENSIONS:
            raise DamagedBuffer
        for size in sizes.tolist():
            shape.dim.add(size=max(size, -1))

    # Names

    def _tensor_name(self, number: int) -> str:
        """The name of the op that gives a tensor: the first that the converter has kept."""
        return op_name(without_port(self._tensor(number).text(3).partition(";")[0]))

    def _note(self, name: str, port: int, number: int) -> None:
        self._names_of[number] = f"{name}:{port}"
        self.numbers[f"{name}:{port}"] = number


def _element(tables: list[Table], number: int) -> Table:
    """One of several tables. Raises DamagedBuffer where there is none of a number."""
    if not 0 <= number < len(tables):
        raise DamagedBuffer
    return tables[number]


def _numpy_name(dtype: str) -> str:
    return "uint16" if dtype == "bfloat16" else dtype

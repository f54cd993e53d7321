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
from tfgraphwidget.graph import BIASED
from tfgraphwidget.sources.converted_model import LiteModel, Quantization
from tfgraphwidget.sources.files.container import Container, OpenOptions
from tfgraphwidget.sources.files.converted_graph import (
    DEFAULT_SIGNATURE,
    PLAIN,
    ConvertedGraph,
    op_name,
    set_attribute,
    set_origins,
    without_port,
)
from tfgraphwidget.sources.files.flat_buffer import DamagedBuffer, FlatBuffer, Table
from tfgraphwidget.sources.files.lite_schema import name_of, options_of
from tfgraphwidget.sources.inference.dtypes import dtype_number
from tfgraphwidget.sources.source import Source

CUSTOM = 32  # the operator's number that says that its name is in the file
FLEX = "Flex"  # how the type of an op of TensorFlow begins, which is in a model as it is
MOST_DIMENSIONS = 254  # of a shape, as in TensorFlow
# Where the inputs of operators with weights are; the others are numbered.
ROLES = {1: "weights", 2: "bias"}
# What integers represent that have a scale.
QUANTIZED = {"int8": "qint8", "uint8": "quint8", "int16": "qint16", "int32": "qint32"}
QUANTIZATION = "_quantization"  # the attribute that says what integers represent


def open_model(container: Container, options: OpenOptions) -> Source:
    """Open a model as a graph. Raises NotAGraph for a damaged one."""
    reader = _read(container)
    model = LiteModel(
        container.data,
        reader.inputs,
        "TensorFlow Lite's interpreter",
        reader.numbers,
        reader.quantized,
        tuple(reader.tensorflow_ops),
    )
    return reader.graph.open(container, options, "a TensorFlow Lite model", model)


def describe(container: Container) -> list[dict[str, object]]:
    """One summary of the graph of a model."""
    return _read(container).graph.summary(container)


def _read(container: Container) -> _Reader:
    try:
        return _Reader(container.data)
    except DamagedBuffer:
        raise NotAGraph(
            f"{container.where} is a TensorFlow Lite model that is truncated or damaged; copy or "
            "convert it again."
        ) from None


class _Reader:
    """Reads a model into a MetaGraphDef: the first of its subgraphs, which is the main one."""

    def __init__(self, data: bytes) -> None:
        self._file = FlatBuffer(data)
        model = self._file.root()
        self._operator_codes = model.tables(1)
        self._buffers = model.tables(4)
        self.graph = ConvertedGraph()
        self.numbers: dict[str, int] = {}
        self.quantized: dict[int, Quantization] = {}
        self.tensorflow_ops: list[str] = []
        subgraphs = model.tables(2)
        if not subgraphs:
            raise DamagedBuffer
        main, *_ = subgraphs
        self._tensors = main.tables(0)
        self._names_of: dict[int, str] = {}  # of tensors, once what gives them is there
        self._add_inputs(main)
        self.inputs = frozenset(self.numbers)
        for operator in main.tables(3):
            self._add_operator(operator)
        for signature in model.tables(7):
            if signature.number(4, "I") == 0:
                self._add_signature(signature)
        if not self.graph.meta.signature_def:
            self._add_signature_of_subgraph(main)

    # What gives tensors

    def _add_inputs(self, subgraph: Table) -> None:
        for number in subgraph.vector(1, "<i4").tolist():
            node = self.graph.add(self.graph.free_name(self._tensor_name(number)), "Placeholder")
            node.attr["dtype"].type = self._dtype(number)
            self._set_shape(node.attr["shape"].shape, number)
            self._note(node.name, 0, number)

    def _add_operator(self, operator: Table) -> None:
        code = self._operator_codes[
            self._check_number(operator.number(0, "I"), self._operator_codes)
        ]
        number = max(code.number(0, "b"), code.number(3, "i"))
        custom = code.text(1) if number == CUSTOM else ""
        kind = re.sub(r"\W", "_", custom) or name_of("operator", number) or f"OPERATOR_{number}"
        outputs = [each for each in operator.vector(2, "<i4").tolist() if each >= 0]
        origins = self._tensor(outputs[0]).text(3).split(";") if outputs else []
        scope = self._tensor_name(outputs[0]).rpartition("/")[0] if outputs else ""
        name = self.graph.free_name("/".join(filter(None, (scope, kind.lower()))))
        sources = [
            self._source(each, name, kind, slot)
            for slot, each in enumerate(operator.vector(1, "<i4").tolist())
            if each >= 0
        ]
        if custom.startswith(FLEX):
            self.tensorflow_ops.append(name)
        node = self.graph.add(name, kind)
        node.input.extend(sources)
        for key, value in self._options(operator):
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
        """The name of a tensor that an operator reads; a constant becomes an op here."""
        if number not in self._names_of:
            role = ROLES.get(slot, "") if kind in BIASED else ""
            self._add_constant(number, f"{consumer}/{role or f'input_{slot}'}")
        name = self._names_of[number]
        return name.removesuffix(":0")

    def _add_constant(self, number: int, name: str) -> None:
        """The op of a tensor that no operator gives: a constant, or what the model remembers."""
        tensor, dtype = self._tensor(number), self._dtype_name(number)
        shape = tensor.vector(0, "<i4").tolist()
        content = self._content(tensor)
        size = int(np.prod(shape, dtype=np.int64)) if min(shape, default=0) >= 0 else -1
        is_plain = dtype in PLAIN and tensor.table(6) is None
        if is_plain and size >= 0 and len(content) == size * np.dtype(_numpy_name(dtype)).itemsize:
            node = self.graph.add(self.graph.free_name(name), "Const")
            node.attr["dtype"].type = self._dtype(number)
            node.attr["value"].tensor.dtype = self._dtype(number)
            self._set_shape(node.attr["value"].tensor.tensor_shape, number)
            node.attr["value"].tensor.tensor_content = content
        else:  # text, four bits a number, sparse, or a variable
            node = self.graph.add(
                self.graph.free_name(name), "VARIABLE" if not content else "CONSTANT"
            )
            node.attr["Tout"].list.type.append(self._dtype(number))
            self._set_shape(node.attr["_output_shapes"].list.shape.add(), number)
            set_origins(node, [tensor.text(3)])
        self._note(node.name, 0, number)
        if number in self.quantized:
            node.attr[QUANTIZATION].s = str(self.quantized[number]).encode()

    def _add_signature(self, signature: Table) -> None:
        signature_def = self.graph.meta.signature_def[signature.text(2) or DEFAULT_SIGNATURE]
        for field_number, infos in ((0, signature_def.inputs), (1, signature_def.outputs)):
            for entry in signature.tables(field_number):
                number = entry.number(1, "I")
                if number in self._names_of:
                    self._set_info(infos[entry.text(0)], number)

    def _add_signature_of_subgraph(self, subgraph: Table) -> None:
        """The inputs and outputs of a file without a signature, by the names of their tensors."""
        signature_def = self.graph.meta.signature_def[DEFAULT_SIGNATURE]
        for field_number, infos in ((1, signature_def.inputs), (2, signature_def.outputs)):
            for number in subgraph.vector(field_number, "<i4").tolist():
                if number in self._names_of:
                    self._set_info(infos[without_port(self._names_of[number])], number)

    def _set_info(self, info: Any, number: int) -> None:
        """What a signature says of a tensor."""
        info.name, info.dtype = self._names_of[number], self._dtype(number)
        self._set_shape(info.tensor_shape, number)

    # Tensors

    def _tensor(self, number: int) -> Table:
        return self._tensors[self._check_number(number, self._tensors)]

    @staticmethod
    def _check_number(number: int, things: list[Table]) -> int:
        if not 0 <= number < len(things):
            raise DamagedBuffer
        return number

    def _content(self, tensor: Table) -> bytes:
        """The value of a constant as the file has it; empty for what is none."""
        buffer = self._buffers[self._check_number(tensor.number(2, "I"), self._buffers)]
        offset, size = buffer.number(1, "Q"), buffer.number(2, "Q")
        if offset > 1:  # values of large models lie after the tables
            return self._file.part(offset, size)
        return buffer.vector(0, "u1").tobytes()

    def _dtype_name(self, number: int) -> str:
        return name_of("dtype", self._tensor(number).number(1, "b")).lower()

    def _dtype(self, number: int) -> int:
        """TensorFlow's number of the dtype of a tensor; of integers with a scale a quantized
        one.
        """
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


def _numpy_name(dtype: str) -> str:
    return "uint16" if dtype == "bfloat16" else dtype

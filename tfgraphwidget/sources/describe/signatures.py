"""The signature of a function as text: arguments and results, with dtypes and shapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tfgraphwidget.graph import GraphIndex, Shape, shape_text
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.sources.inference.dtypes import dtype_name
from tfgraphwidget.sources.inference.shape_functions import shape_from_proto
from tfgraphwidget.tf_types import AttrValue, FunctionDef, OpDef

SignatureLine = tuple[str, str, str]
"""("argument" or "result", name, "float32 (None, 3)")"""


def definition_signature(
    definition: FunctionDef, results: Sequence[Shape] = ()
) -> Iterator[SignatureLine]:
    """The signature of a FunctionDef, without result shapes, which a call may have."""
    signature = definition.signature
    for k, arg in enumerate(signature.input_arg):
        shapes: Mapping[str, AttrValue] = (
            definition.arg_attr[k].attr if k in definition.arg_attr else {}
        )
        argument_shapes = (
            list(shapes["_output_shapes"].list.shape) if "_output_shapes" in shapes else []
        )
        yield (
            "argument",
            arg.name,
            _text(
                _dtype(arg),
                shape_from_proto(argument_shapes[0]) if len(argument_shapes) == 1 else None,
            ),
        )
    result_shapes = (
        results if len(results) == len(signature.output_arg) else [None] * len(signature.output_arg)
    )
    for arg, shape in zip(signature.output_arg, result_shapes, strict=True):
        yield "result", arg.name, _text(_dtype(arg), shape)


def body_signature(
    index: GraphIndex, arguments: Sequence[str], returns: Mapping[str, str]
) -> Iterator[SignatureLine]:
    """The signature of a function's body, with arguments and results as in `Body`."""
    pairs = [("argument", split_tensor(name)[0], name) for name in arguments]
    pairs += [("result", key, name) for key, name in returns.items()]
    for sort, label, name in pairs:
        op, port = split_tensor(name)
        dtypes = index.dtypes(index.ids[op]) if op in index.ids else ()
        if (port or 0) < len(dtypes):
            yield sort, label, _text(dtypes[port or 0], index.shape(index.ids[op], port or 0))


def _dtype(arg: OpDef.ArgDef) -> str:
    if arg.type_list_attr:
        return f"tensors of {arg.type_list_attr}"
    return dtype_name(arg.type) or str(arg.type_attr) or "unknown"


def _text(dtype: str, shape: Shape) -> str:
    return dtype if shape is None else f"{dtype} {shape_text(shape)}"

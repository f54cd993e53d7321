"""Signatures to write: parsed from the arguments of `save`, apparent from a graph, and as
TensorFlow's messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.edits.freeze import results
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    EXIT,
    HANDLE_DTYPES,
    V1_LOOPS,
    Contexts,
    GraphIndex,
    Signature,
    needed_placeholders,
    pairs,
)
from tfgraphwidget.naming import free_name, last_part, split_tensor
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.sources import shape_proto, tf_protos
from tfgraphwidget.tf_types import SignatureDef, TensorInfo

DEFAULT = "serving_default"
_PREDICT = "tensorflow/serving/predict"  # the method of a signature that any client can call

Names = Callable[[Any], tuple[str, ...]]
"""Gives the full names of what a caller may give: names, tensors, ops, selections."""


def parse_signatures(
    index: GraphIndex, names: Names, inputs: object, outputs: object, signatures: Any
) -> tuple[Signature, ...]:
    """Parse the arguments of `GraphEditor.save`.

    Args:
        inputs: Tensors, or a mapping of keys to tensors. Without a key, it is the last part of the
            op's name. None are the placeholders that the outputs need.
        signatures: None, a mapping of names to (inputs, outputs), or an iterable of `Signature`s.

    Raises:
        GraphEditError: For a tensor that cannot be an input or output of a signature.
        UnknownName: For a name that is not in the graph.
    """
    if signatures is None:
        default = _parse_signature(index, names, DEFAULT, inputs, outputs)
        return (default,) if default.outputs else ()
    parsed = []
    pairs_by_name = (
        signatures.items()
        if isinstance(signatures, Mapping)
        else ((signature.name, signature) for signature in signatures)
    )
    for name, signature in pairs_by_name:
        tensors = (
            (dict(signature.inputs), dict(signature.outputs))
            if isinstance(signature, Signature)
            else signature
        )
        if (
            not isinstance(tensors, tuple | list)
            or len(tensors) != 2
            or not isinstance(name, str)
            or not name
        ):
            raise GraphEditError(
                f"signatures[{name!r}] is not a pair of inputs and outputs; "
                + in_cell(f'write signatures={{{DEFAULT!r}: ({{"x": "x:0"}}, {{"y": "y:0"}})}}.')
            )
        parsed.append(_parse_signature(index, names, name, *tensors))
        if not parsed[-1].outputs:
            raise GraphEditError(
                f"Signature {name!r} has no outputs; name at least one tensor that it gives."
            )
    return tuple(parsed)


def apparent_signature(index: GraphIndex) -> Signature:
    """The signature of what a graph seems to be for, whose keys are the names of ops. Raises
    GraphEditError where nothing looks like a result.
    """
    outputs = results(index)
    return parse_signatures(index, tuple, None, outputs, None)[0]


def is_chosen(
    boundary: tuple[tuple[str, ...], tuple[str, ...]],
    index: GraphIndex,
    opened: Signature | None,
    signatures: Iterable[Signature],
) -> bool:
    """Whether the user chose the boundary: it is not empty, and not that of the signature by which
    the file was opened, of which edits may have changed the tensors.
    """
    marks = (
        [opened, *(s for s in signatures if s.name == opened.name)] if opened is not None else []
    )
    sides = [
        tuple(_tensors_in(index, side) for side in (mark.inputs, mark.outputs)) for mark in marks
    ]
    return boundary not in (((), ()), *sides)


def _tensors_in(index: GraphIndex, tensors: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(tensor for _, tensor in tensors if split_tensor(tensor)[0] in index.ids)


def _parse_signature(
    index: GraphIndex, names: Names, name: str, inputs: object, outputs: object
) -> Signature:
    output_tensors = _tensors_by_key(index, names, outputs)
    if inputs is None:
        inputs = needed_placeholders(index, [tensor for _, tensor in output_tensors])
    signature = Signature(name, _tensors_by_key(index, names, inputs), output_tensors)
    _check_frames(index, signature)
    return signature


def _tensors_by_key(
    index: GraphIndex, names: Names, argument: object
) -> tuple[tuple[str, str], ...]:
    """(key, tensor) for each input or output, in the order given."""
    argument = () if argument is None else argument
    if not isinstance(argument, Mapping):
        keyed: dict[str, str] = {}
        for tensor in _tensors(index, names(argument)):
            keyed[free_name(last_part(split_tensor(tensor)[0]), {key.lower() for key in keyed})] = (
                tensor
            )
        return tuple(keyed.items())
    parsed = []
    for key, value in argument.items():
        tensors = _tensors(index, names(value))
        if not isinstance(key, str) or not key or len(tensors) != 1:
            raise GraphEditError(
                f"{key!r}: {value_text(value)} is not a key with one tensor; write {{'x': "
                f"'scope/op:0'}}."
            )
        parsed.append((key, tensors[0]))
    return tuple(parsed)


def _tensors(index: GraphIndex, names: Iterable[str]) -> list[str]:
    """Full tensor names; an op's name represents all its tensors."""
    names = tuple(names)
    tensors = []
    for name, (op, port) in zip(names, pairs(index, names), strict=True):
        dtypes = index.dtypes(op)
        if not dtypes:
            raise GraphEditError(
                f"Op {name!r} has no tensor, so it cannot be part of a signature; name one with "
                "outputs.",
                [name],
            )
        for k in range(len(dtypes)) if port < 0 else [port]:
            if dtypes[k : k + 1] and dtypes[k] in HANDLE_DTYPES:
                raise GraphEditError(
                    f"Tensor '{index.names[op]}:{k}' refers to a {dtypes[k]} and is not a value "
                    "that could be fed or fetched; name the tensor that is read from it.",
                    [index.names[op]],
                )
            tensors.append(f"{index.names[op]}:{k}")
    return tensors


def _check_frames(index: GraphIndex, signature: Signature) -> None:
    """Raise for a tensor inside a v1 while loop: it has a value for each iteration."""
    if V1_LOOPS.isdisjoint(index.kinds[0]):
        return
    contexts = Contexts(index)
    for _, tensor in (*signature.inputs, *signature.outputs):
        op = index.op(tensor)
        frame = contexts.frame(contexts.path(contexts.inside[op]))
        if frame and index.types[op] not in EXIT:
            raise GraphEditError(
                f"Tensor {tensor!r} lies inside the while loop {contexts.key[frame]!r}, where it "
                "has a value for each iteration; name what the loop takes in, or what comes out "
                "of it.",
                [index.names[op]],
            )


def signature_def(
    index: GraphIndex, signature: Signature, file_signature: Signature
) -> SignatureDef:
    """The SignatureDef of a signature, which names tensors in the graph, and `file_signature` those
    in the file.
    """
    message: SignatureDef = tf_protos.SignatureDef(
        inputs=_tensor_infos(index, signature.inputs, file_signature.inputs),
        outputs=_tensor_infos(index, signature.outputs, file_signature.outputs),
        method_name=_PREDICT,
    )
    return message


def set_signature_def(
    proto: SignatureDef,
    was: Signature,
    now: Signature,
    file_signature: Signature,
    index: GraphIndex,
) -> None:
    """Let a SignatureDef name other tensors, those of `file_signature` where it is written, and
    keep what else it says; `now` is the signature by the tensors of `index`.
    """
    for infos, old, new, names in (
        (proto.inputs, was.inputs, now.inputs, file_signature.inputs),
        (proto.outputs, was.outputs, now.outputs, file_signature.outputs),
    ):
        # A sparse or ragged value is several tensors under one key: "key/values", "key/0".
        plain = {key for key, info in infos.items() if info.WhichOneof("encoding") == "name"}
        parts = {key for key, _ in old} - plain
        for key in plain - dict(new).keys():
            del infos[key]
        new_infos = _tensor_infos(index, new, names)
        for key, info in new_infos.items():
            if key in parts:
                _set_part(infos[key.rpartition("/")[0]], key.rpartition("/")[2], info)
            else:
                infos[key].CopyFrom(info)


def _set_part(info: TensorInfo, part: str, tensor: TensorInfo) -> None:
    if info.WhichOneof("encoding") == "coo_sparse":
        setattr(info.coo_sparse, f"{part}_tensor_name", tensor.name)
        if part == "values":
            info.dtype = tensor.dtype
    else:
        info.composite_tensor.components[int(part)].name = tensor.name


def _tensor_infos(
    index: GraphIndex, tensors: Iterable[tuple[str, str]], file_tensors: Iterable[tuple[str, str]]
) -> dict[str, TensorInfo]:
    infos = {}
    for (key, tensor), (_, name) in zip(tensors, file_tensors, strict=True):
        op, port = pairs(index, [tensor])[0]
        dtype = index.typing.number(index.dtypes(op)[port].removesuffix("_ref"))
        shape = shape_proto(index.shape(op, port))
        infos[key] = tf_protos.TensorInfo(name=name, dtype=dtype, tensor_shape=shape)
    return infos

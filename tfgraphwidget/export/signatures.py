"""The signatures that a person asks for: names of inputs and outputs, their order, the tensors behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import tensorflow as tf

from tfgraphwidget.argument_checks import shown
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import EXIT, HANDLE_DTYPES, V1_LOOPS, Contexts, GraphIndex, pairs
from tfgraphwidget.naming import free_name, last_part, split_tensor
from tfgraphwidget.sources import Signature, tf_protos

DEFAULT = "serving_default"

Names = Callable[[Any], tuple[str, ...]]
"""The full names of what a person gives: names, tensors, ops, selections."""


def asked(index: GraphIndex, names: Names, inputs: Any, outputs: Any, signatures: Any) -> tuple[Signature, ...]:
    """The signatures that the arguments of `GraphEditor.save` mean.

    `inputs` and `outputs` are names of tensors, or a mapping of keys to tensors; the key of a tensor without one is the
    last part of its op's name. `signatures` maps names to (inputs, outputs), or holds `Signature`s. Raises
    GraphEditError, or UnknownName, for what cannot be an end of a signature.
    """
    if signatures is None:
        one = _signature(index, names, DEFAULT, inputs, outputs)
        return (one,) if one.outputs else ()
    found = []
    told = signatures.items() if isinstance(signatures, Mapping) else ((given.name, given) for given in signatures)
    for name, given in told:
        ends = (dict(given.inputs), dict(given.outputs)) if isinstance(given, Signature) else given
        if not isinstance(ends, tuple | list) or len(ends) != 2 or not isinstance(name, str) or not name:
            raise GraphEditError(
                f"signatures[{name!r}] is no pair of inputs and outputs; write signatures={{{DEFAULT!r}: "
                '({"x": "x:0"}, {"y": "y:0"})}.'
            )
        found.append(_signature(index, names, name, *ends))
        if not found[-1].outputs:
            raise GraphEditError(f"Signature {name!r} has no outputs; name at least one tensor that it gives.")
    return tuple(found)


def is_chosen(
    boundary: tuple[tuple[str, ...], tuple[str, ...]],
    index: GraphIndex,
    opened: Signature | None,
    known: Iterable[Signature],
) -> bool:
    """Whether a person chose the boundary.

    When a file is opened by a signature its ends are marked; `opened` is that one, and among `known` it may have other
    tensors since.
    """
    marks = [opened, *(s for s in known if s.name == opened.name)] if opened is not None else []
    sides = [tuple(_there(index, side) for side in (mark.inputs, mark.outputs)) for mark in marks]
    return boundary not in (((), ()), *sides)


def _there(index: GraphIndex, ends: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(tensor for _, tensor in ends if split_tensor(tensor)[0] in index.ids)


def _signature(index: GraphIndex, names: Names, name: str, inputs: Any, outputs: Any) -> Signature:
    gives = _keyed(index, names, outputs)
    signature = Signature(name, _keyed(index, names, inputs), gives)
    _check_frames(index, signature)
    return signature


def _keyed(index: GraphIndex, names: Names, given: Any) -> tuple[tuple[str, str], ...]:
    """(key, tensor) for each end, in the order given."""
    given = () if given is None else given
    if not isinstance(given, Mapping):
        keyed: dict[str, str] = {}
        for tensor in _tensors(index, names(given)):
            keyed[free_name(last_part(split_tensor(tensor)[0]), {key.lower() for key in keyed})] = tensor
        return tuple(keyed.items())
    found = []
    for key, one in given.items():
        tensors = _tensors(index, names(one))
        if not isinstance(key, str) or not key or len(tensors) != 1:
            raise GraphEditError(f"{key!r}: {shown(one)} is no key with one tensor; write {{'x': 'scope/op:0'}}.")
        found.append((key, tensors[0]))
    return tuple(found)


def _tensors(index: GraphIndex, given: Iterable[str]) -> list[str]:
    """Full tensor names; an op's name stands for all its tensors."""
    given = tuple(given)
    found = []
    for name, (op, port) in zip(given, pairs(index, given), strict=True):
        dtypes = index.dtypes(op)
        if not dtypes:
            raise GraphEditError(
                f"Op {name!r} has no tensor, so it cannot be part of a signature; name one with outputs.", [name]
            )
        for k in range(len(dtypes)) if port < 0 else [port]:
            if dtypes[k : k + 1] and dtypes[k] in HANDLE_DTYPES:
                raise GraphEditError(
                    f"Tensor '{index.names[op]}:{k}' refers to a {dtypes[k]} and is no value that could be fed or "
                    "fetched; name the tensor that is read from it.",
                    [index.names[op]],
                )
            found.append(f"{index.names[op]}:{k}")
    return found


def _check_frames(index: GraphIndex, signature: Signature) -> None:
    """Raise for an end inside a v1 while loop: it has a value for each iteration."""
    if V1_LOOPS.isdisjoint(index.kinds[0]):
        return
    contexts = Contexts(index)
    for _, tensor in (*signature.inputs, *signature.outputs):
        op = index.op(tensor)
        frame = contexts.frame(contexts.path(contexts.inside[op]))
        if frame and index.types[op] not in EXIT:
            raise GraphEditError(
                f"Tensor {tensor!r} lies inside the while loop {contexts.key[frame]!r}, where it has a value for each "
                "iteration; name what the loop takes in, or what comes out of it.",
                [index.names[op]],
            )


# Signatures as TensorFlow's protos have them.


def signature_def(index: GraphIndex, signature: Signature, called: Signature) -> Any:
    """The SignatureDef of a signature whose tensors have other names, as in `called`, where it is written."""
    return tf_protos.SignatureDef(
        inputs=_infos(index, signature.inputs, called.inputs),
        outputs=_infos(index, signature.outputs, called.outputs),
        method_name=tf.compat.v1.saved_model.signature_constants.PREDICT_METHOD_NAME,
    )


def set_signature_def(proto: Any, was: Signature, now: Signature, called: Signature, index: GraphIndex) -> None:
    """Let a SignatureDef name other tensors, and keep what else it says.

    Args:
        proto: The SignatureDef of `was`.
        was: The signature that it describes.
        now: The signature that it will describe, by the tensors of `index`.
        called: The same, by the names that the tensors have where it is written.
        index: The graph.
    """
    for infos, old, new, names in (
        (proto.inputs, was.inputs, now.inputs, called.inputs),
        (proto.outputs, was.outputs, now.outputs, called.outputs),
    ):
        # A sparse or ragged value is several tensors under one key: "key/values", "key/0".
        plain = {key for key, info in infos.items() if info.WhichOneof("encoding") == "name"}
        parts = {key for key, _ in old} - plain
        for key in plain - dict(new).keys():
            del infos[key]
        made = _infos(index, new, names)
        for key, info in made.items():
            if key in parts:
                _set_part(infos[key.rpartition("/")[0]], key.rpartition("/")[2], info.name)
            else:
                infos[key].CopyFrom(info)


def _set_part(info: Any, part: str, tensor: str) -> None:
    if info.WhichOneof("encoding") == "coo_sparse":
        setattr(info.coo_sparse, f"{part}_tensor_name", tensor)
    else:
        info.composite_tensor.components[int(part)].name = tensor


def _infos(
    index: GraphIndex, ends: Iterable[tuple[str, str]], called: Iterable[tuple[str, str]]
) -> dict[str, tf.compat.v1.TensorInfo]:
    found = {}
    for (key, tensor), (_, name) in zip(ends, called, strict=True):
        op, port = pairs(index, [tensor])[0]
        dtype = index.typing.number(index.dtypes(op)[port].removesuffix("_ref"))
        shape = tf.TensorShape(index.shape(op, port)).as_proto()
        found[key] = tf.compat.v1.TensorInfo(name=name, dtype=dtype, tensor_shape=shape)
    return found

"""The keys of a signature for the body that computes it, which calls may name and order in another
way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from tfgraphwidget.editor.places import CalledFunction
from tfgraphwidget.graph import IDENTITY, GraphIndex
from tfgraphwidget.naming import split_tensor

if TYPE_CHECKING:
    from tfgraphwidget.editor.graph_view import GraphView
    from tfgraphwidget.graph import Signature


class SignatureBoundary(NamedTuple):
    """Argument's tensor → key of the signature, and key → result's tensor; of a body."""

    inputs: Mapping[str, str]
    outputs: Mapping[str, str]


def signature_boundary(signature: Signature, view: GraphView) -> SignatureBoundary:
    """The inputs and outputs of a signature of the graph that was opened, followed through the
    calls that lead to a body. What a call on the way does not pass on unchanged is left out.
    """
    calls: list[CalledFunction] = []
    target: object = view.target
    while isinstance(target, CalledFunction):
        calls.insert(0, target)
        target = target.outer
    boundary = SignatureBoundary(
        {tensor: key for key, tensor in signature.inputs}, dict(signature.outputs)
    )
    for call in calls:
        boundary = _inside(call, boundary)
    return boundary


def _inside(call: CalledFunction, boundary: SignatureBoundary) -> SignatureBoundary:
    """The same inputs and outputs in the function that is called."""
    index = call.outer.index
    if call.call not in index.ids:
        return SignatureBoundary({}, {})
    node = index.nodes[index.ids[call.call]]
    tensors = [_origin(index, text) for text in node.input if text[:1] != "^"]
    arguments = [argument.name for argument in call.edition.opened.signature.input_arg]
    results = list(call.edition.boundary[1].values())
    ports = {key: split_tensor(_origin(index, tensor)) for key, tensor in boundary.outputs.items()}
    return SignatureBoundary(
        {
            f"{name}:0": boundary.inputs[tensor]
            for name, tensor in zip(arguments, tensors, strict=False)
            if tensor in boundary.inputs
        },
        {
            key: results[port or 0]
            for key, (op, port) in ports.items()
            if op == call.call and (port or 0) < len(results)
        },
    )


def _origin(index: GraphIndex, tensor: str) -> str:
    """The tensor that a tensor is, but for ops that pass it on."""
    op, port = split_tensor(tensor)
    visited = set[str]()
    while op in index.ids and op not in visited:
        visited.add(op)
        node = index.nodes[index.ids[op]]
        if node.op not in IDENTITY or not node.input:
            break
        op, port = split_tensor(node.input[0])
    return f"{op}:{port or 0}"

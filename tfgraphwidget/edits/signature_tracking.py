"""Names of tensors in signatures and function boundaries, followed through edits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol, TypeVar, cast

from tfgraphwidget.edits.patch import FunctionBoundary, Patch
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import GraphIndex, persistent_state
from tfgraphwidget.naming import split_tensor


class KeyedTensors(Protocol):
    """A signature: (key, tensor name) pairs; `sources.Signature` is one."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def inputs(self) -> tuple[tuple[str, str], ...]:
        """The tensors that are fed, by key."""

    @property
    def outputs(self) -> tuple[tuple[str, str], ...]:
        """The tensors that are returned, by key."""


_Signature = TypeVar("_Signature", bound=KeyedTensors)


def follow(name: str, renames: Mapping[str, str]) -> str:
    """The tensor that stands for one of this name after an edit; "" when there is none.

    `renames` maps ops and tensors, as `Patch.fed` and `Patch.given` do.

    >>> follow("a:1", {"a": "b"}), follow("a:1", {"a:0": "c:0"}), follow("a:0", {"a": ""})
    ('b:1', 'a:1', '')
    """
    op, port = split_tensor(name)
    if name in renames or op not in renames:
        return renames.get(name, name)
    return f"{renames[op]}:{port or 0}" if renames[op] else ""


def track_boundary(arguments: Iterable[str], returns: Mapping[str, str], patches: Iterable[Patch]) -> FunctionBoundary:
    """Follow the arguments and results of a function's body through edits.

    Args:
        arguments: The tensors of the arguments.
        returns: The tensor of each result, by key.
        patches: The edits, oldest first.

    Returns:
        The arguments and results after the edits; "" for one that is gone.
    """
    arguments, returns = tuple(arguments), dict(returns)
    for patch in patches:
        fed, results = dict(patch.input_renames), dict(patch.output_renames)
        arguments = tuple(follow(name, fed) for name in arguments)
        returns = {key: follow(name, results) for key, name in returns.items()}
        arguments, returns = patch.ends or (arguments, returns)
    return arguments, returns


def check_called(index: GraphIndex, ends: FunctionBoundary, patch: Patch) -> None:
    """Check that a patch keeps what callers of a function's body need.

    Args:
        index: The graph.
        ends: The arguments and results.
        patch: The patch.

    Raises:
        GraphEditError: An argument or result would be gone, or captured state would be renamed.
    """
    removed = {node.name for node in patch.remove.nodes}
    fed, results = dict(patch.input_renames), dict(patch.output_renames)
    if patch.ends is not None:
        ends = (), {}  # callers of the function know the new ones
    for name in ends[0]:
        if split_tensor(name)[0] in removed and follow(name, fed) in ("", name):
            op = split_tensor(name)[0]
            raise GraphEditError(
                f"{op!r} is an argument of the function, which its callers give; let its readers read another tensor, "
                "and leave it.",
                [op],
            )
    for key, name in ends[1].items():
        if split_tensor(name)[0] in removed and follow(name, results) in ("", name):
            op = split_tensor(name)[0]
            raise GraphEditError(
                f"{op!r} is the result {key!r} of the function, {_why_needed(ends[1], removed)}; let another op be the "
                "result first: editor.replace.",
                [op],
            )
    for old, _ in patch.renamed:
        if persistent_state(index)[index.ids[old]]:
            raise GraphEditError(
                f"{old!r} stands for state that the function shares with its callers, by that name; rename it where it "
                "is made.",
                [old],
            )


def _why_needed(results: Mapping[str, str], removed: Collection[str]) -> str:
    if all(split_tensor(name)[0] in removed for name in results.values()):
        return "which has no other, and TensorFlow computes nothing in a function without results"
    return "which the ops that call it read"


def track_signatures(signatures: Iterable[_Signature], patches: Iterable[Patch]) -> Iterator[_Signature]:
    """Signatures (with name, inputs, outputs) as they are after some patches, those without an output left out."""
    result = list(signatures)
    for patch in patches:
        result = [_track_signature(signature, patch) for signature in result]
    return (signature for signature in result if signature.outputs)


def _track_signature(signature: _Signature, patch: Patch) -> _Signature:
    keys = {old: new for name, old, new in patch.signature_key_renames if name == signature.name}
    sides = (signature.inputs, dict(patch.input_renames)), (signature.outputs, dict(patch.output_renames))
    inputs, outputs = (
        tuple((keys.get(key, key), now) for key, name in side if (now := follow(name, renames)))
        for side, renames in sides
    )
    return cast("_Signature", replace(cast("Any", signature), inputs=inputs, outputs=outputs))

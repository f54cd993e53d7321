"""Names of tensors in signatures and function boundaries, followed through edits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from tfgraphwidget.edits.patch import FunctionBoundary, Patch
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import GraphIndex, Signature, persistent_state
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.sentences import editor_call


def follow(name: str, renames: Mapping[str, str]) -> str:
    """The tensor that represents one of this name after an edit; "" when there is none.

    `renames` maps ops and tensors, as `Patch.input_renames` and `Patch.output_renames` do.

    >>> follow("a:1", {"a": "b"}), follow("a:1", {"a:0": "c:0"}), follow("a:0", {"a": ""})
    ('b:1', 'a:1', '')
    """
    op, port = split_tensor(name)
    if name in renames or op not in renames:
        return renames.get(name, name)
    return f"{renames[op]}:{port or 0}" if renames[op] else ""


def track_boundary(
    arguments: Iterable[str], returns: Mapping[str, str], patches: Iterable[Patch]
) -> FunctionBoundary:
    """The arguments and results of an edited body, by key; "" for one that is gone."""
    arguments, returns = tuple(arguments), dict(returns)
    for patch in patches:
        fed, results = dict(patch.input_renames), dict(patch.output_renames)
        arguments = tuple(follow(name, fed) for name in arguments)
        returns = {key: follow(name, results) for key, name in returns.items()}
        arguments, returns = patch.boundary or (arguments, returns)
    return arguments, returns


def check_called(index: GraphIndex, boundary: FunctionBoundary, patch: Patch) -> None:
    """Raise GraphEditError where a patch takes from a function's body what its callers need: an
    argument or result would be gone, or captured state would be renamed.
    """
    removed = {node.name for node in patch.remove.nodes}
    fed, results = dict(patch.input_renames), dict(patch.output_renames)
    if patch.boundary is not None:
        boundary = (), {}  # callers of the function know the new ones
    for name in boundary[0]:
        if split_tensor(name)[0] in removed and follow(name, fed) in ("", name):
            op = split_tensor(name)[0]
            raise GraphEditError(
                f"{op!r} is an argument of the function, which its callers give; let its consumers "
                "read another tensor, and leave it.",
                [op],
            )
    for key, name in boundary[1].items():
        if split_tensor(name)[0] in removed and follow(name, results) in ("", name):
            op = split_tensor(name)[0]
            raise GraphEditError(
                f"{op!r} is the result {key!r} of the function, "
                f"{_why_needed(boundary[1], removed)}; let another "
                "op be the result first: " + editor_call("replace") + ".",
                [op],
            )
    for old, _ in patch.renamed:
        if persistent_state(index)[index.ids[old]]:
            raise GraphEditError(
                f"{old!r} represents state that the function shares with its callers, by that "
                "name; rename it where it is made.",
                [old],
            )


def _why_needed(results: Mapping[str, str], removed: Collection[str]) -> str:
    if all(split_tensor(name)[0] in removed for name in results.values()):
        return "which has no other, and TensorFlow computes nothing in a function without results"
    return "which the ops that call it read"


def track_signatures(
    signatures: Iterable[Signature], patches: Iterable[Patch]
) -> Iterator[Signature]:
    """The signatures after edits, without those that have no output any more."""
    result = tuple(signatures)
    for patch in patches:
        fed, returned = dict(patch.input_renames), dict(patch.output_renames)
        result = tuple(
            replace(
                signature,
                inputs=_follow_all(signature.inputs, fed),
                outputs=_follow_all(signature.outputs, returned),
            )
            for signature in result
        )
        for edit in patch.signature_edits:
            result = edit.on(result)
    return (signature for signature in result if signature.outputs)


def _follow_all(
    tensors: Iterable[tuple[str, str]], renames: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    return tuple((key, now) for key, name in tensors if (now := follow(name, renames)))

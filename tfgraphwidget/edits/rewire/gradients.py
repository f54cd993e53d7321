"""Gradient ops of a part of a graph, known by the name scopes that TensorFlow puts them in.

`tf.gradients` puts those of the op "net/Mul" into "gradients/net/Mul_grad/"; a tape puts those of
the ops in the scope "net/" into "gradient_tape/net/"
(test_tensorflow_facts.py::test_gradients_have_the_names_of_their_ops).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tfgraphwidget.edits.patch import Patch
from tfgraphwidget.edits.rewire.operands import as_part
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    CONSTANTS,
    GRADIENT_NAME,
    GraphIndex,
    Mask,
    Selection,
    cached_per_index,
    of_type,
    traversal,
)
from tfgraphwidget.naming import enclosing_scopes, names_text, split_input, text_attribute

_GRAD = re.compile(r"_grad(_\d+)?/")
_TAPE = re.compile(r"((?:.+/)?gradient_tape(?:_\d+)?/)(.+)/[^/]+")
_CARRIED = "_grad/gradient/"
"""Part of the names of the gradients of a function that was inserted
(`runtime.live.traced_ops.trace_gradient`).
"""
_SCOPE = re.compile(r"(.*?/)?(gradients|gradient_tape)(_\d+)?/")
_BACKWARD = re.compile(r"(^|/)(gradients|gradient_tape)(_\d+)?/|_grad(_\d+)?/")


@dataclass(frozen=True)
class GradientOps:
    """The gradient ops of a part.

    Attributes:
        mask: Whether each op of the graph is one.
        scopes: The name scopes of all gradients of the computation, "gradients/", in graph order.
    """

    mask: Mask
    scopes: tuple[str, ...]


def new_names(patches: Iterable[Patch], former_names: Mapping[str, str]) -> dict[str, str]:
    """The names of renamed ops after all patches, by those before and in between: gradient ops are
    named after these. `former_names` has those of ops that were renamed before the first.
    """
    names = dict(former_names)
    for patch in patches:
        renamed = dict(patch.renamed)
        names = renamed | {old: renamed.get(new, new) for old, new in names.items()}
    return names


def gradients_of(index: GraphIndex, part: Mask, renamed: Mapping[str, str]) -> GradientOps:
    """The gradient ops of a part, which are not in the part. Raises GraphEditError where there are
    gradients of its gradients. `renamed` is as in `new_names`.
    """
    mask = np.zeros(len(index), dtype=bool)
    scopes: dict[str, None] = {}
    for op, name in enumerate(index.names):
        scope = "" if part[op] else scope_of_gradients(index, part, name, renamed)
        if not scope:
            continue
        if is_second_order(name):
            from tfgraphwidget.edits.freeze.commands import without_training

            raise GraphEditError(
                f"{name!r} is a gradient of a gradient of these ops, and a bypass would change "
                "only the first; strip training first, and compute the gradients again after the "
                "bypass.",
                [name],
                without_training(index),
                code="gradients-of-gradients",
            )
        mask[op] = True
        scopes[scope] = None
    return GradientOps(mask, tuple(scopes))


def is_gradient_name(name: str) -> bool:
    """Whether an op is one of a gradient's, by its name.

    >>> is_gradient_name("gradients/AddN"), is_gradient_name("net/gradient")
    (True, False)
    """
    return "grad" in name and _BACKWARD.search(name) is not None


def is_second_order(name: str) -> bool:
    """Whether an op is one of a gradient of a gradient's, by its name."""
    return len(_GRAD.findall(name)) > 1 and _CARRIED not in name


def gradient_scope(name: str) -> str:
    """The name scope that all gradients lie in which were taken at once, by the name of one; "" if
    that does not have it.

    >>> gradient_scope("tower/gradients_1/net/Relu_grad/ReluGrad"), gradient_scope("net/Relu")
    ('tower/gradients_1/', '')
    """
    match = _SCOPE.match(name)
    return match[0] if match else ""


def gradient_mask(index: GraphIndex, renamed: Mapping[str, str]) -> Mask:
    """Whether each op is a gradient's, by its present or former name; see `new_names`."""
    former = {new: old for old, new in renamed.items()}
    return np.array(
        [is_gradient_name(name) or is_gradient_name(former.get(name, "")) for name in index.names],
        dtype=bool,
    )


def gradient_owners(
    index: GraphIndex, ops: Iterable[int], renamed: Mapping[str, str]
) -> dict[int, list[int]]:
    """Forward op -> its gradient ops, for the ops that have some; those of a tape belong to all ops
    of the scope that it is named after. `renamed` is as in `new_names`.
    """
    owners: dict[int, list[int]] = {}
    for op in ops:
        for owner in _owners(index, index.names[op], renamed):
            owners.setdefault(owner, []).append(op)
    return owners


def may_be_gradient_of(index: GraphIndex, name: str, op: str) -> bool:
    """Whether a gradient op is named after an op, and not after a clone of the op."""
    owners = _owners(index, name, {})
    return not owners or index.ids.get(op) in owners


def _owners(index: GraphIndex, name: str, renamed: Mapping[str, str]) -> list[int]:
    """The forward ops that a gradient op is named after."""
    return _scope_and_owners(index, name, renamed)[1]


def _scope_and_owners(
    index: GraphIndex, name: str, renamed: Mapping[str, str]
) -> tuple[str, list[int]]:
    """The scope of gradients that an op lies in, "gradients", and the forward ops that it is named
    after; "" and none if it is named after no op of the graph.
    """
    scope, owners = _possible_owners(index, name, renamed)
    if not owners or "/" not in scope:
        return scope, next(iter(owners.values()), [])
    votes = _votes_for_prefixes(index).get(scope, Counter())
    prefix = max(owners, key=lambda each: (votes[each], len(each)))
    return (scope, owners[prefix]) if votes[prefix] >= 0 else ("", [])


def _possible_owners(
    index: GraphIndex, name: str, renamed: Mapping[str, str]
) -> tuple[str, dict[str, list[int]]]:
    """The scope of gradients that an op lies in, and the forward ops that it can be named after, by
    the prefix that they have in common with it.

    The gradients of a clone, "c/gradients/net/Mul_grad/Mul", are named after "c/net/Mul"; those
    that were taken in a name scope, "c/gradients/net/Mul_grad/Mul" again, after "net/Mul".
    """
    for scope, of in _forward_names(name):
        prefixes = ["", *(f"{outer}/" for outer in enclosing_scopes(scope))]
        candidates = {each: _ops_of_name(index, each + of, name, renamed) for each in prefixes}
        owners = {prefix: ops for prefix, ops in candidates.items() if ops}
        if owners:
            return scope, owners
    return "", {}


def _ops_of_name(
    index: GraphIndex, of: str, gradient: str, renamed: Mapping[str, str]
) -> list[int]:
    """The op of a name; or all ops of the scope of that name, for the gradient of a tape, and that
    of a function that was inserted (`carried_gradients`).
    """
    op = index.ids.get(of, index.ids.get(renamed.get(of, "")))
    if op is not None:
        return [op]
    if _CARRIED not in gradient and _TAPE.fullmatch(gradient) is None:
        return []
    scope = index.scopes.ids.get(of)
    return [] if scope is None else [int(each) for each in index.scopes.ops(scope)]


@cached_per_index
def _votes_for_prefixes(index: GraphIndex) -> dict[str, Counter[str]]:
    """By scope of gradients that lies in another scope how many of its ops read what the forward
    ops of a prefix read or give.

    An op that can be named after one forward op alone, and reads others, votes against its prefix:
    the gradients of a clone whose forward ops were renamed are not those of the original.
    """
    votes: dict[str, Counter[str]] = {}
    for op, name in enumerate(index.names):
        if "_grad" not in name and "gradient_tape" not in name:
            continue
        scope, owners = _possible_owners(index, name, {})
        if not owners or "/" not in scope:
            continue
        counts = votes.setdefault(scope, Counter())
        read = {
            each
            for each in index.input_lists[op]
            if index.types[each] not in CONSTANTS and not is_gradient_name(index.names[each])
        }
        near = [
            prefix
            for prefix, ops in owners.items()
            if any(each in read or not read.isdisjoint(index.input_lists[each]) for each in ops)
        ]
        counts.update(near)
        if read and not near and len(owners) == 1:
            counts.subtract([*owners])
    return votes


def has_gradient_ops(index: GraphIndex, what: str | Selection, renamed: Mapping[str, str]) -> bool:
    """Whether an op, a name scope or a selection has gradient ops in the graph."""
    return bool(gradients_of(index, as_part(index, what).mask, renamed).scopes)


def possible_gradient_notes(
    index: GraphIndex, part: Mask, what: str, renamed: Mapping[str, str]
) -> tuple[str, ...]:
    """A sentence about gradient ops that are named after no op of the graph, and read what a part
    reads or gives.

    A file does not say how its ops were called before. None if there are no such ops.
    """
    ops = np.flatnonzero(part).tolist()
    near = {tensor for op in ops for tensor in index.input_tensors(op)}
    names = [
        name
        for op, name in enumerate(index.names)
        if "_grad" in name
        and not part[op]
        and _is_of_no_op(index, name, renamed)
        and any(part[tensor[0]] or tensor in near for tensor in index.input_tensors(op))
    ]
    if not names:
        return ()
    if len(names) == 1:
        are, they = "is a gradient", "it is one"
    else:
        are, they = "are gradients", "they are some"
    way = f"if {they} of {what}, compute the gradients again before you train"
    return (f"{names_text(names)} {are} of no op that is in the graph by that name; {way}.",)


def _is_of_no_op(index: GraphIndex, name: str, renamed: Mapping[str, str]) -> bool:
    """Whether an op lies in a scope of gradients named after an op that is missing."""
    grad = _GRAD.search(name)
    is_in_scope = grad is not None and any(True for _ in enclosing_scopes(name[: grad.start()]))
    return is_in_scope and not _owners(index, name, renamed)


def _forward_names(name: str) -> Iterator[tuple[str, str]]:
    """The scopes of gradients that a gradient op can lie in, and the names that its forward op, or
    the scope of that, has then.
    """
    grad = _GRAD.search(name)
    head = name[: grad.start()] if grad else ""
    for scope in enclosing_scopes(head):
        yield scope, head[len(scope) + 1 :]
    taped = _TAPE.fullmatch(name)
    if taped is not None:
        yield taped[1].removesuffix("/"), taped[2]


def scope_of_gradients(index: GraphIndex, part: Mask, name: str, renamed: Mapping[str, str]) -> str:
    """The scope of gradients that an op lies in, if it is a gradient op of a part; else ""."""
    if "_grad" not in name and "gradient_tape" not in name:
        return ""
    scope, owners = _scope_and_owners(index, name, renamed)
    taped = _TAPE.fullmatch(name)
    if taped is not None and renamed:
        # Of the scope that a tape's gradient is named after, ops may lie elsewhere by now.
        scope = taped[1].removesuffix("/")
        outer = scope.rpartition("/")[0]
        is_copy = outer and (not owners or index.names[owners[0]].startswith(f"{outer}/"))
        before = f"{outer}/{taped[2]}/" if is_copy else f"{taped[2]}/"
        new = (index.ids.get(now) for old, now in renamed.items() if old.startswith(before))
        owners = [*owners, *(each for each in new if each is not None)]
    return f"{scope}/" if owners and part[owners].all() else ""


def custom_gradient_notes(index: GraphIndex, patch: Patch) -> tuple[str, ...]:
    """A sentence where ops are edited whose gradient a `tf.custom_gradient` gives: it stays that of
    the ops as they were.
    """
    removed = {node.name for node in patch.remove.nodes}
    moved = {
        (change.name, split_input(text)[0])
        for change in patch.changed
        for text in set(change.before.input) - set(change.after.input)
    }
    if not removed and not moved:
        return ()
    stale = []
    for op in np.flatnonzero(of_type(index, "IdentityN".__eq__)).tolist():
        name = index.names[op]
        if not text_attribute(index.nodes[op], GRADIENT_NAME).startswith(b"CustomGradient"):
            continue
        inside = {index.names[each] for each in _inside_custom_gradient(index, op)}
        readers = inside | {name}
        if inside & removed or any(by in readers and read in inside for by, read in moved):
            stale.append(name)
    if not stale:
        return ()
    note = (
        f"The gradient through {names_text(stale)} stays that of the ops as they were, which a "
        "custom gradient gives; define it again before you train."
    )
    return (note,)


def _inside_custom_gradient(index: GraphIndex, keeper: int) -> list[int]:
    """The ops that compute the results of a function with a custom gradient from its arguments: an
    IdentityN takes both.
    """
    inputs = set(index.input_lists[keeper])
    results = {op for op in inputs if traversal.forward(index, inputs - {op})[op]} or inputs
    arguments = inputs - results
    inside = traversal.backward(index, results)
    if arguments:
        inside &= traversal.forward(index, arguments)
    inside[list(arguments)] = False
    return np.flatnonzero(inside).tolist() if arguments else sorted(results)

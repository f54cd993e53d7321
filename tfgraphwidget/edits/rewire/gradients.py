"""Gradient ops of a part of a graph, known by the name scopes that TensorFlow puts them in.

`tf.gradients` puts those of the op "net/Mul" into "gradients/net/Mul_grad/"; a tape puts those of the ops in the scope
"net/" into "gradient_tape/net/" (test_tensorflow_facts.py::test_gradients_have_the_names_of_their_ops).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tfgraphwidget.edits.freeze.commands import without_training
from tfgraphwidget.edits.patch import Patch
from tfgraphwidget.edits.rewire.operands import as_part
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import GraphIndex, Mask, Selection
from tfgraphwidget.naming import enclosing_scopes, names_text

_GRAD = re.compile(r"_grad(_\d+)?/")
_TAPE = re.compile(r"((?:.+/)?gradient_tape(?:_\d+)?/)(.+)/[^/]+")


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
    """The names of renamed ops after all patches, by those before and in between: gradient ops are named after these.

    Args:
        patches: The patches, oldest first.
        former_names: The names of ops that were renamed before the first, by those before.
    """
    names = dict(former_names)
    for patch in patches:
        renamed = dict(patch.renamed)
        names = renamed | {old: renamed.get(new, new) for old, new in names.items()}
    return names


def gradients_of(index: GraphIndex, part: Mask, renamed: Mapping[str, str]) -> GradientOps:
    """Find the gradient ops of a part.

    Args:
        index: The graph.
        part: Whether each op is in the part.
        renamed: The names of the ops that edits have renamed, by those before; see `new_names`.

    Returns:
        Its gradient ops, which are not in the part.

    Raises:
        GraphEditError: There are gradients of its gradients.
    """
    mask = np.zeros(len(index), dtype=bool)
    scopes: dict[str, None] = {}
    for op, name in enumerate(index.names):
        scope = "" if part[op] else scope_of_gradients(index, part, name, renamed)
        if not scope:
            continue
        if len(_GRAD.findall(name)) > 1:
            raise GraphEditError(
                f"{name!r} is a gradient of a gradient of these ops, and a bypass would change only the first; "
                "strip training first, and compute the gradients again after the bypass.",
                [name],
                without_training(index),
                code="gradients-of-gradients",
            )
        mask[op] = True
        scopes[scope] = None
    return GradientOps(mask, tuple(scopes))


def has_gradient_ops(index: GraphIndex, what: str | Selection, renamed: Mapping[str, str]) -> bool:
    """Whether an op, a name scope or a selection has gradient ops in the graph.

    Args:
        index: The graph.
        what: A name scope or a selection.
        renamed: The names of the ops that edits have renamed, by those before.
    """
    return bool(gradients_of(index, as_part(index, what).mask, renamed).scopes)


def gradient_notes(index: GraphIndex, part: Mask, what: str, renamed: Mapping[str, str]) -> tuple[str, ...]:
    """A sentence about the gradient ops of a part that is replaced, which stay; none if there are none.

    Args:
        index: The graph.
        part: Whether each op is in the part.
        what: The part, in words.
        renamed: The names of the ops that edits have renamed, by those before.
    """
    names = (name for op, name in enumerate(index.names) if not part[op])
    gradients = [name for name in names if scope_of_gradients(index, part, name, renamed)]
    if not gradients:
        return ()
    named = names_text(gradients)
    return (f"The gradients of {what} ({named}) stay as they were; compute them again before you train.",)


def scope_of_gradients(index: GraphIndex, part: Mask, name: str, renamed: Mapping[str, str]) -> str:
    """The scope of gradients that an op lies in, if it is a gradient op of a part; else "".

    Args:
        index: The graph.
        part: Whether each op is in the part.
        name: The name of the op.
        renamed: The names of the ops that edits have renamed, by those before.
    """
    if "_grad" not in name and "gradient_tape" not in name:
        return ""
    return _by_op(index, part, name, renamed) or _by_tape(index, part, name, renamed)


def _by_op(index: GraphIndex, part: Mask, name: str, renamed: Mapping[str, str]) -> str:
    """The scope of gradients "gradients/" of "gradients/net/Mul_grad/Mul", if net/Mul is in the part; else ""."""
    grad = _GRAD.search(name)
    head = name[: grad.start()] if grad else ""
    for scope in enclosing_scopes(head):
        inner = head[len(scope) + 1 :]
        # A graph may have been imported under a prefix, which both names have then.
        for prefix in ("", *(f"{outer}/" for outer in enclosing_scopes(scope))):
            of = prefix + inner
            op = index.ids.get(of, index.ids.get(renamed.get(of, "")))
            if op is not None and part[op]:
                return f"{scope}/"
    return ""


def _by_tape(index: GraphIndex, part: Mask, name: str, renamed: Mapping[str, str]) -> str:
    """The scope "gradient_tape/" of "gradient_tape/net/Mul", if all of the scope net/ is in the part; else ""."""
    taped = _TAPE.fullmatch(name)
    if taped is None:
        return ""
    scope, before = index.scopes.ids.get(taped[2]), f"{taped[2]}/"
    ops = [] if scope is None else [*index.scopes.ops(scope)]
    ops += [index.ids[new] for old, new in renamed.items() if old.startswith(before) and new in index.ids]
    return taped[1] if ops and part[ops].all() else ""

"""Nested lists, tuples and dicts of ops and tensors; and the same op or tensor in another graph."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfgraphwidget.graph_editor.lists import as_list, as_tensor, check_type, is_iterable
from tfgraphwidget.graph_editor.placeholders import scope_finalize
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_types import Graph


def flatten_tree(tree: object, leaves: list[object] | None = None) -> list[object]:
    """The leaves of a tree in order; of a dict the values. They are appended to `leaves` if that is
    given.
    """
    leaves = [] if leaves is None else leaves
    if _is_leaf(tree):
        leaves.append(tree)
    else:
        for child in tree.values() if isinstance(tree, Mapping) else as_list(tree):
            flatten_tree(child, leaves)
    return leaves


def transform_tree(
    tree: object, fn: Callable[[Any], object], iterable_type: Callable[..., object] = tuple
) -> Any:
    """The tree with `fn` of each leaf in its place.

    Dicts, lists, tuples and named tuples keep their types, at any depth; other iterables become an
    `iterable_type`.

    Args:
        tree: A leaf, or a tree of them.
        fn: What takes a leaf and returns what replaces it.
        iterable_type: The type of iterables that cannot keep theirs.
    """
    if _is_leaf(tree):
        return fn(tree)
    if isinstance(tree, Mapping):
        changed = {key: transform_tree(child, fn, iterable_type) for key, child in tree.items()}
        return _refill(tree, changed)
    children = [transform_tree(child, fn, iterable_type) for child in as_list(tree)]
    kind: Any = type(tree)
    if hasattr(tree, "_fields"):
        return kind(*children)
    if isinstance(tree, Sequence) and not isinstance(tree, range):
        return kind(children)
    return iterable_type(children)


def find_corresponding_elem(
    target: object, dst_graph: Graph, dst_scope: str = "", src_scope: str = ""
) -> Any:
    """The op or tensor of another graph that is named like `target`.

    Args:
        target: An op or a tensor.
        dst_graph: The graph to look in.
        dst_scope: A scope to put before the name.
        src_scope: A scope to take off the name first. (The original failed on any.)

    Raises:
        ValueError: `target` does not lie in `src_scope`.
        TypeError: `target` is neither op nor tensor.
        KeyError: `dst_graph` has none of that name.
    """
    target = as_tensor(target)
    check_type(target, (tf.Operation, tf.Tensor))
    inner = scope_finalize(src_scope)
    if not target.name.startswith(inner):
        raise ValueError(
            f"{target.name!r} does not lie in the scope {src_scope!r}; give a scope around it, or "
            "none."
        )
    name = scope_finalize(dst_scope) + target.name[len(inner) :]
    try:
        element = dst_graph.as_graph_element(name)
    except (KeyError, ValueError) as error:
        raise KeyError(
            f"The other graph has no {name!r}, wanted for {target.name!r}; check the scopes."
        ) from error
    return element


def find_corresponding(
    targets: object, dst_graph: Graph, dst_scope: str = "", src_scope: str = ""
) -> Any:
    """`targets`, an op, a tensor or a tree of them, with each replaced by
    `find_corresponding_elem`.

    Args:
        targets: An op, a tensor, or a tree of them.
        dst_graph: The graph to look in.
        dst_scope: The scope there.
        src_scope: The scope that is removed from the names first.

    Raises:
        ValueError: One does not lie in `src_scope`.
        TypeError: One is neither op nor tensor.
        KeyError: `dst_graph` has none of that name.
    """
    return transform_tree(
        targets, lambda top: find_corresponding_elem(top, dst_graph, dst_scope, src_scope)
    )


def _is_leaf(tree: object) -> bool:
    # A string's letters are strings again: the original never came to an end with one.
    return isinstance(tree, str | bytes) or not is_iterable(tree)


def _refill(tree: Mapping[object, object], changed: dict[object, object]) -> object:
    """A mapping of the same type; a defaultdict keeps its factory."""
    try:
        new: Any = copy.copy(tree)
        new.update(changed)
    except (AttributeError, TypeError):
        return changed
    return new

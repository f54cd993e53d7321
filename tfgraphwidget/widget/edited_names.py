"""The ops and scopes that an edit of the history added or changed, to be marked in the drawing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tfgraphwidget.edits import BatchStep, group_batches
from tfgraphwidget.errors import GraphEditError

if TYPE_CHECKING:
    from tfgraphwidget.edits import Edits, History
    from tfgraphwidget.graph import GraphIndex

_MOST = 500  # boxes that a drawing marks


def edited_names(index: GraphIndex, history: History, step: int) -> tuple[str, ...]:
    """The ops that an edit, numbered from 1, added or changed, as far as they are in the graph, by
    the names that they have now: at most 500, and scopes ("net/") of which it added or changed
    every op. Raises GraphEditError where there is no such edit.
    """
    steps = (*group_batches(history.done), *group_batches(reversed(history.undone)))
    if not 0 < step <= len(steps):
        raise GraphEditError(f"There is no edit {step} in the history; it has {len(steps)}.")
    names: list[str] = []
    for number, each in enumerate(steps, 1):
        for edit in each.steps if isinstance(each, BatchStep) else (each,):
            renamed = dict(edit.patch.renamed)
            names = [renamed.get(name, name) for name in names]
            if number == step:
                names += [node.name for node in edit.patch.add.nodes] + [
                    edited.name for edited in edit.patch.changed
                ]
        if number >= len(group_batches(history.done)) and number >= step:
            break
    edited = dict.fromkeys(name for name in names if name in index.ids)
    return tuple(_with_whole_scopes(index.names, edited))[:_MOST]


def planned_names(index: GraphIndex, report: Edits) -> tuple[str, ...]:
    """The ops that an edit would remove or change, as `edited_names` has changed ones."""
    planned = dict.fromkeys(
        name for name in (*report.removed, *report.changed) if name in index.ids
    )
    return tuple(_with_whole_scopes(index.names, planned))[:_MOST]


def _with_whole_scopes(names: Iterable[str], edited: Iterable[str]) -> list[str]:
    """The edited ops, with the outermost scope of which all ops are edited in place of its ops.

    >>> _with_whole_scopes(["x", "net/a", "net/b", "top/c", "top/d"], ["net/a", "net/b", "top/c"])
    ['net/', 'top/c']
    """
    some = Counter(scope for name in edited for scope in _scopes(name))
    whole = Counter(scope for name in names for scope in _scopes(name) if scope in some)
    entries = (
        next((scope for scope in _scopes(name) if some[scope] == whole[scope]), name)
        for name in edited
    )
    return list(dict.fromkeys(entries))


def _scopes(name: str) -> Iterator[str]:
    """The scopes around an op, outermost first: "a/", "a/b/" of "a/b/c"."""
    end = name.find("/")
    while end >= 0:
        yield name[: end + 1]
        end = name.find("/", end + 1)

"""The ops and scopes that an edit of the history added or changed, to be marked in the drawing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import chain
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
    done = group_batches(history.done)
    steps = (*done, *group_batches(reversed(history.undone)))
    if not 0 < step <= len(steps):
        raise GraphEditError(f"There is no edit {step} in the history; it has {len(steps)}.")
    names: list[str] = []
    for number, each in enumerate(steps[: max(len(done), step)], 1):
        for edit in each.steps if isinstance(each, BatchStep) else (each,):
            renamed = dict(edit.patch.renamed)
            names = [renamed.get(name, name) for name in names]
            if number == step:
                names += [node.name for node in edit.patch.add.nodes]
                names += [changed.name for changed in edit.patch.changed]
    edited = dict.fromkeys(name for name in names if name in index.ids)
    return tuple(_with_whole_scopes(index.names, edited))[:_MOST]


def planned_names(index: GraphIndex, report: Edits) -> tuple[str, ...]:
    """The ops that an edit would remove or change, as `edited_names` has changed ones."""
    names = dict.fromkeys((*report.removed, *report.changed))
    planned = [name for name in names if name in index.ids]
    return tuple(_with_whole_scopes(index.names, planned))[:_MOST]


def _with_whole_scopes(names: Iterable[str], edited: Collection[str]) -> list[str]:
    """The edited ops, with the outermost scope of which all ops are edited in place of its ops.

    >>> _with_whole_scopes(["x", "net/a", "net/b", "top/c", "top/d"], ["net/a", "net/b", "top/c"])
    ['net/', 'top/c']
    """
    edited_counts = Counter(chain.from_iterable(map(_scopes, edited)))
    all_scopes = chain.from_iterable(map(_scopes, names))
    counts = Counter(scope for scope in all_scopes if scope in edited_counts)
    entries: dict[str, None] = {}
    for name in edited:
        whole = (scope for scope in _scopes(name) if edited_counts[scope] == counts[scope])
        entries[next(whole, name)] = None
    return list(entries)


def _scopes(name: str) -> Iterator[str]:
    """The scopes around an op, outermost first: "a/", "a/b/" of "a/b/c"."""
    end = name.find("/")
    while end >= 0:
        yield name[: end + 1]
        end = name.find("/", end + 1)

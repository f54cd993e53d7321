"""Which outline a graph has: its name scopes, less those of one thing only, and groups; reckoned once per index."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.view.blocks import blocks
from tfgraphwidget.view.facts import Facts, facts
from tfgraphwidget.view.folds import folds
from tfgraphwidget.view.outline import Outline, Sums, scopes_of, summed
from tfgraphwidget.view.single import without_single
from tfgraphwidget.view.training import training

_cache: WeakKeyDictionary[GraphIndex, dict[bool, tuple[Outline, Sums]]] = WeakKeyDictionary()


def outline_of(index: GraphIndex, *, fold: bool = True) -> tuple[Outline, Sums]:
    """The outline of a graph and what its nodes hold; without `fold`, equal siblings stay apart."""
    kept = _cache.setdefault(index, {})
    if fold not in kept:
        kept[fold] = _made(index, facts(index), fold=fold)
    return kept[fold]


def _made(index: GraphIndex, known: Facts, *, fold: bool) -> tuple[Outline, Sums]:
    outline, parts = training(index, known, scopes_of(index.scopes))
    outline = without_single(index, known, outline.grouped(parts))
    if fold:
        outline = outline.grouped(blocks(index, known, outline))
        outline = outline.grouped(folds(index, known, outline))
    return outline, summed(index, known, outline)

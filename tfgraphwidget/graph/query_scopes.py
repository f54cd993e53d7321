"""The name scopes that a query of the search box means, if it is words only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, islice

import numpy as np

from tfgraphwidget.graph.edges import Mask
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.name_scopes import Ids
from tfgraphwidget.graph.query import parse
from tfgraphwidget.naming import DEEPEST, last_part

MOST_SCOPES = 5
"""As many name scopes are found at most."""


def find_scopes(index: GraphIndex, text: str, ops: Sequence[int]) -> list[int]:
    """The name scopes that a query means, the nearest first; none for a query with other terms than
    words and names.

    Each word must be in the scope's name, and one of them in its last part. First comes the scope
    of that very name, then those whose last part is the word, and of these the outermost. A scope
    with the name of an op ("w" around "w/read") is left out: it is the op that is found.
    """
    terms = parse(text) if len(ops) else ()
    is_words_only = all(
        term.key in ("", "name") and term.kind == "plain" and not term.negated for term in terms
    )
    if not terms or not is_words_only:
        return []
    tree = index.scopes
    words = [term.value.casefold() for term in terms]
    # Half a million scopes have few different last parts, since layers repeat. So the words are
    # looked for in these, and only the names that fit by their last part are read whole.
    parts, part_of = tree.last_parts
    ranks = _ranks(parts, [last_part(word.rstrip("/")) for word in words])[part_of]
    scopes = np.flatnonzero((ranks >= 0) & (tree.named < 0))
    if len(words) > 1 or "/" in words[0]:
        scopes = scopes[_full_of(index, ops)[scopes]]
    rank_and_depth = ranks * (DEEPEST + 1) + tree.depth
    scopes = scopes[np.argsort(rank_and_depth[scopes].astype(np.int16), kind="stable")]
    typed = tree.ids.get(text.strip().rstrip("/"), 0)
    first = [typed] if typed in scopes else []
    others = (scope for scope in scopes.tolist() if scope != typed)
    fitting = (scope for scope in others if _fits(tree.names[scope], words))
    return list(islice(chain(first, fitting), MOST_SCOPES))


def _ranks(parts: Mapping[str, int], tails: list[str]) -> Ids:
    """For each last part of a scope's name, "" for the root's, how far it is from the words' ends,
    0 if it is them; -1 where none is in it.
    """
    ranks = np.zeros(len(parts), dtype=np.int32)
    is_reached = np.zeros(len(parts), dtype=bool)
    for tail in tails:
        holds = np.array([tail in part for part in parts], dtype=bool)
        ranks += 2 - holds
        if tail in parts:
            ranks[parts[tail]] -= 1
        is_reached |= holds
    ranks[~is_reached] = -1
    ranks[parts[""]] = -1
    return ranks


def _full_of(index: GraphIndex, ops: Sequence[int]) -> Mask:
    """The scopes all of whose ops are among these, as ops' names begin with the scope's."""
    tree, fits = index.scopes, np.zeros(len(index), dtype=bool)
    fits[ops] = True
    before = np.append(0, np.cumsum(fits[tree.order]))
    full: Mask = before[tree.stop] - before[tree.start] == tree.stop - tree.start
    return full


def _fits(name: str, words: list[str]) -> bool:
    """Whether each word is in the name of a scope, and one of them reaches into its last part."""
    low = name.casefold()
    if not all(word in f"{low}/" for word in words):
        return False
    last_part_start = len(low) - len(last_part(low))
    stripped = [word.rstrip("/") for word in words]
    return any(low.rfind(word) + len(word) > last_part_start for word in stripped)

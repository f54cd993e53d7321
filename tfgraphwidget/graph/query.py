"""The query language of `editor.find` and of the search box: which ops a line of text means.

A query is terms with spaces between; an op must fit all of them. A term is a word, found in the
op's name or type, or `key:value`, or `/regular expression/`, which is found in the name. `-` before
a term means all ops that do not fit it. Values may have `*` for any text, and quotes around them
when they hold spaces or a colon. Upper and lower case are the same, but in a regular expression,
where `(?i)` says so.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.errors import GraphEditError, WrongType
from tfgraphwidget.graph.expressions import call
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.name_scopes import Ids
from tfgraphwidget.graph.query_terms import KEYS, WORD, Term, TermMatcher
from tfgraphwidget.graph.regex_timeout import RegexTimeout
from tfgraphwidget.graph.selection import Selection, with_recipe
from tfgraphwidget.naming import did_you_mean, split_tensor
from tfgraphwidget.sentences import editor_call, in_cell

_LONGEST = 4_000  # characters of a query; a name has at most 1,000 in practice
_MOST_TERMS = 50
_SECONDS = 1.0  # for all regular expressions of a query
_KEY = re.compile(r"([A-Za-z_]+):")
_QUOTED = re.compile(r"""(?:"([^"]*)"|'([^']*)')(?=\s|\Z)""")
_REGEX = re.compile(r"/(\S+)/(?=\s|\Z)")
_BRACKETS = re.compile(r"[^\s\[(\"']*[\[(][^\])]*[\])](?=\s|\Z)")
_ASSIGNED = re.compile(r"""[^\s="']+=(?:"[^"]*"|'[^']*'|/\S+/)(?=\s|\Z)""")
_WORD = re.compile(r"\S+")


class Answer(NamedTuple):
    """The ops that fit a query, nearest first; `why` says what is wrong with it, or is ""."""

    ops: list[int]
    why: str


def search(index: GraphIndex, text: str) -> Answer:
    """The ops that match a query; none if it is invalid.

    First the ops that are called like the query's words, then those of whose own last part these
    are a part (or of the type), then what lies in scopes of that name; each in graph order.
    """
    try:
        terms = parse(text)
        ops, timeout = _fitting(index, terms)
    except GraphEditError as error:
        return Answer([], str(error))
    why = ""
    if timeout.has_expired:
        why = (
            "The search was cut after a second, so there may be more; write a simpler regular "
            "expression."
        )
    return Answer(_rank_ops(index, ops, terms), why)


@with_recipe
def find(index: GraphIndex, text: str) -> Selection:
    """The ops that fit a query. Raises GraphEditError when it makes no sense, or takes too long."""
    ops, timeout = _fitting(index, parse(text))
    if timeout.has_expired:
        raise GraphEditError(
            f"{text[:60]!r} takes longer than a second; "
            + in_cell(
                "write a simpler regular expression, or editor.ops(matching=pattern), which may "
                "take a minute."
            )
        )
    return Selection.of(index, ops, call("find", [str(text)]))


def parse(text: str) -> tuple[Term, ...]:
    """The terms of a query. Raises GraphEditError for what is none."""
    if not isinstance(text, str):
        raise WrongType(
            "text",
            f"{value_text(text)} is not a query; write text: "
            + editor_call("find", "'type:Conv2D'")
            + ".",
        )
    if len(text) > _LONGEST:
        raise GraphEditError(
            f"A query has at most {_LONGEST:,} characters, and this one {len(text):,}; shorten it."
        )
    terms, at = [], _skip(text, 0)
    while at < len(text):
        term, at = _term(text, at)
        terms.append(term)
        at = _skip(text, at)
    if len(terms) > _MOST_TERMS:
        raise GraphEditError(
            f"A query has at most {_MOST_TERMS} terms, and this one {len(terms)}; leave some out."
        )
    return tuple(terms)


def pattern_in(text: str) -> str:
    """The pattern of a query that is nothing else; "" if it is another query.

    >>> pattern_in("pattern: Relu(x)"), pattern_in("pattern:Relu(x) scope:net"), pattern_in("Relu")
    ('Relu(x)', '', '')
    """
    try:
        terms = parse(text)
    except GraphEditError:
        return ""
    if len(terms) != 1:
        return ""
    (term,) = terms
    return term.value if term.key == "pattern" and not term.negated else ""


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _term(text: str, at: int) -> tuple[Term, int]:
    """The term that begins at a place of a query, and where it ends."""
    negated = text[at] == "-" and text[at + 1 : at + 2].strip() != ""
    at += negated
    regex, key_match = _REGEX.match(text, at), _KEY.match(text, at)
    if regex:
        return Term("name", regex[1], "regex", negated), regex.end()
    if text[at] in "\"'":
        value, end = _quoted_value(text, at)
        return Term("", value, "plain", negated), end
    key = key_match[1].lower() if key_match else ""
    if key_match and key in KEYS:
        value, kind, end = _value(text, key_match.end(), key)
        if key == "name" and kind == "plain":
            value, _ = split_tensor(value)
        return Term(key, value, kind, negated), end
    word = _WORD.match(text, at)
    assert word is not None
    name, port = split_tensor(word[0])
    if key_match and port is None:
        keys = ", ".join(f"{k}:" for k in KEYS)
        raise GraphEditError(
            f"There is no key {key_match[0]!r}; the keys are {keys}; put quotes around text with a "
            f"colon in it{did_you_mean(key, KEYS)}"
        )
    return Term("", name, _kind(name), negated), word.end()


def _value(text: str, at: int, key: str) -> tuple[str, str, int]:
    """The value after a key, what kind of pattern it is, and where it ends."""
    if key == "pattern":
        at = _skip(text, at)  # as people write it
    regex = _REGEX.match(text, at)
    if regex and key not in ("shape", "is", "pattern"):
        return regex[1], "regex", regex.end()
    if text[at : at + 1] in ('"', "'"):
        value, end = _quoted_value(text, at)
        return value, "plain", end
    if key == "pattern" and text[at : at + 1].strip():
        end = _balanced_end(text, at)
        return text[at:end], "plain", end
    longer = {"shape": [_BRACKETS], "attr": [_ASSIGNED, _BRACKETS]}.get(key, [])
    matches = (pattern.match(text, at) for pattern in (*longer, _WORD))
    match = next(filter(None, matches), None)
    if match is None or match[0] == "/" or (key == "attr" and match[0][0] == "="):
        raise GraphEditError(
            f"Write what you look for after {key + ':'!r}, as in {KEYS[key].example}."
        )
    return match[0], _kind(match[0]), match.end()


def _balanced_end(text: str, at: int) -> int:
    """Where a pattern ends: at a space that stands in no brackets and no quotes."""
    depth, quote = 0, ""
    for end in range(at, len(text)):
        letter = text[end]
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter.isspace() and depth <= 0 and text[end - 1] not in ";=|:":
            return end
    return len(text)


def _quoted_value(text: str, at: int) -> tuple[str, int]:
    match = _QUOTED.match(text, at)
    if match is None:
        raise GraphEditError(
            f"The quote before {text[at + 1 : at + 30]!r} has no end; write a second one, and a "
            "space."
        )
    return match[1] or match[2] or "", match.end()


def _kind(value: str) -> str:
    return "glob" if "*" in value else "plain"


def _fitting(index: GraphIndex, terms: tuple[Term, ...]) -> tuple[Ids, RegexTimeout]:
    """The ops that fit all terms, in graph order: known things first, shapes of the rest last."""
    timeout = RegexTimeout(_SECONDS)
    ops: Ids = np.arange(len(index) if terms else 0, dtype=np.int32)
    for term in sorted(terms, key=lambda term: KEYS.get(term.key, WORD).cost):
        fits = TermMatcher(index, ops, timeout).mask(term)
        ops = ops[:0] if term.negated and timeout.has_expired else ops[fits ^ term.negated]
    return ops, timeout


def _rank_ops(index: GraphIndex, ops: Ids, terms: tuple[Term, ...]) -> list[int]:
    """The ops in the order of `search`, by the sum of their ranks for each word."""
    words = [term for term in terms if term.key in ("", "name") and term.kind == "plain"]
    ranks, names, types = np.zeros(len(ops), np.int32), index.names, index.types
    for word in words:
        if word.negated:
            continue
        low = word.value.casefold()
        in_type = {kind for kind in index.kinds[0] if low in kind.casefold()}
        word_ranks = [_rank(names[i], low, types[i] in in_type) for i in ops.tolist()]
        ranks += np.array(word_ranks, np.int32)
    ordered: list[int] = ops[np.argsort(ranks, kind="stable")].tolist()
    return ordered


def _rank(name: str, low: str, in_type: bool) -> int:
    """0 for an op that is called like a word, 1 where the word is in its last part or its type, 2
    for what lies in a scope of that name.
    """
    own = name.casefold()
    at = own.rfind(low)
    is_at_end = at >= 0 and at + len(low) == len(own)
    if is_at_end and (at == 0 or own[at - 1] == "/"):
        return 0
    is_in_last_part = at >= 0 and at + len(low) > own.rfind("/") + 1
    return 1 if in_type or is_in_last_part else 2

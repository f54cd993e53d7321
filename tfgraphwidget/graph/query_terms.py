"""The terms of a query and the ops that match each; `query` parses them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import op_predicates
from tfgraphwidget.graph.edges import Mask
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.index_cache import cached_per_index
from tfgraphwidget.graph.name_scopes import Ids
from tfgraphwidget.graph.patterns import find_matches, parse
from tfgraphwidget.graph.regex_timeout import RegexTimeout
from tfgraphwidget.graph.tensors import matches_shape, parse_shape
from tfgraphwidget.naming import did_you_mean

_OTHER_BREAK = "\v"  # for a line break in a name, which files may have
_SAMPLE = 1 << 16  # letters of all names that say which are rare
_LONGEST_NAME = 1_000  # characters that a regular expression looks through


class Key(NamedTuple):
    """A key of a query, before the colon: cheap terms are evaluated first; with an example."""

    cost: int
    example: str


KEYS = {
    "name": Key(1, "name:BiasAdd"),
    "type": Key(0, "type:Conv2D"),
    "dtype": Key(3, "dtype:float32"),
    "shape": Key(4, "shape:?x224x224x3"),
    "attr": Key(2, "attr:padding=SAME"),
    "device": Key(2, "device:GPU"),
    "scope": Key(0, "scope:net/block1"),
    "is": Key(0, "is:variable"),
    "pattern": Key(5, "pattern:Relu(BiasAdd(x,b=Const))"),
}
WORD = Key(1, "softmax")
"""A word without a key is found in names and types."""

Holds = Callable[[str], object]


class Term(NamedTuple):
    """One term: `kind` is "plain", "glob" (with *) or "regex"; the key "" is a word."""

    key: str
    value: str
    kind: str = "plain"
    negated: bool = False


class FoldedNames:
    """The names of all ops in small letters as one text, which is searched at once: a call for each
    name takes a fifth of a second for a million of them.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._count = len(names)
        text = "\n".join(names)
        if text.count("\n") >= len(names) > 0:  # some name has one
            text = "\n".join(name.replace("\n", _OTHER_BREAK) for name in names)
        self._letters = _letters(text.casefold())
        self._breaks = np.flatnonzero(self._letters == ord("\n"))
        sample = self._letters[:: len(self._letters) // _SAMPLE + 1]
        self._frequency = np.bincount(sample, minlength=256)

    def containing(self, text: str) -> Mask:
        """Whether each name contains a text in small letters."""
        mask: Mask = np.full(self._count, not text)
        if not text:
            return mask
        letters = _letters(text.replace("\n", _OTHER_BREAK))
        # Of all letters only the rarest is looked for; the others, where it is.
        first, *others = np.argsort(self._frequency[letters], kind="stable").tolist()
        places = np.flatnonzero(self._letters == letters[first]) - first
        places = places[(places >= 0) & (places <= len(self._letters) - len(letters))]
        for k in others:
            places = places[self._letters[places + k] == letters[k]]
        mask[np.searchsorted(self._breaks, places)] = True
        return mask


def _letters(text: str) -> npt.NDArray[np.uint8]:
    return np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)


@cached_per_index
def folded_names(index: GraphIndex) -> FoldedNames:
    """The names of an index in small letters."""
    return FoldedNames(index.names)


@dataclass(frozen=True)
class TermMatcher:
    """Which of some ops fit a term; regular expressions take of one `timeout`."""

    index: GraphIndex
    ops: Ids
    timeout: RegexTimeout

    def mask(self, term: Term) -> Mask:
        """One bool for each op of `ops`, `negated` aside. Raises GraphEditError."""
        fits: Callable[[Term], Mask] = getattr(self, f"_{term.key or 'word'}")
        return fits(term)

    def _word(self, term: Term) -> Mask:
        kinds, code = self.index.kinds
        holds = text_predicate(term, self.timeout)
        if not kinds:
            return self._name(term)
        types = np.array([bool(holds(kind)) for kind in kinds], dtype=bool)
        mask: Mask = self._name(term) | types[code[self.ops]]
        return mask

    def _name(self, term: Term) -> Mask:
        names, holds = self.index.names, text_predicate(term, self.timeout)
        if term.kind == "regex":
            return self._of(self.timeout.filter(self.ops.tolist(), lambda i: holds(names[i])))
        if term.kind == "plain":
            return folded_names(self.index).containing(term.value.casefold())[self.ops]
        return np.fromiter((bool(holds(names[i])) for i in self.ops.tolist()), bool, len(self.ops))

    def _type(self, term: Term) -> Mask:
        kinds, code = self.index.kinds
        matching = self._matching_values(kinds, term)
        fits = np.array([kind in matching for kind in kinds], dtype=bool)
        return fits[code[self.ops]] if len(kinds) else np.zeros(0, bool)

    def _dtype(self, term: Term) -> Mask:
        dtypes_of = [self._dtypes(i) for i in self.ops.tolist()]
        alternatives = {dtypes: _with_values_of_references(dtypes) for dtypes in set(dtypes_of)}
        matching = self._matching_values(set[str]().union(*alternatives.values()), term)
        fits = {dtypes: not names.isdisjoint(matching) for dtypes, names in alternatives.items()}
        return np.fromiter((fits[dtypes] for dtypes in dtypes_of), bool, len(dtypes_of))

    def _dtypes(self, op: int) -> tuple[str, ...]:
        # index.dtypes counts consumers too, which only an op that TensorFlow does not know needs.
        return self.index.typing.dtypes(self.index.nodes[op]) or self.index.dtypes(op)

    def _shape(self, term: Term) -> Mask:
        pattern = parse_shape(term.value)

        def fits(op: int) -> bool:
            ports = range(len(self._dtypes(op)))
            return any(matches_shape(self.index.shape(op, port), pattern) for port in ports)

        return np.fromiter(map(fits, self.ops.tolist()), bool, len(self.ops))

    def _attr(self, term: Term) -> Mask:
        name, sign, value = term.value.partition("=")
        if sign:
            holds = op_predicates.value_holds(_matching(value, term, self.timeout))
        else:
            holds = op_predicates.any_value
        attributes = op_predicates.AttributeValues(self.index, name)
        some = self.ops[attributes.may_have[self.ops]].tolist()
        if value[:1] == "/":
            return self._of(self.timeout.filter(some, lambda i: attributes.holds(i, holds)))
        return self._of([i for i in some if attributes.holds(i, holds)])

    def _device(self, term: Term) -> Mask:
        devices = [str(self.index.nodes[i].device) for i in self.ops.tolist()]
        matching = self._matching_values(set(devices), term)
        return np.fromiter((device in matching for device in devices), bool, len(devices))

    def _scope(self, term: Term) -> Mask:
        tree = self.index.scopes
        mask = np.zeros(len(self.index), bool)
        bare = term._replace(value=term.value.rstrip("/") or term.value)
        for name in self._matching_values(tree.names, bare, tails=True):
            scope = tree.ids[name]
            mask[tree.order[tree.start[scope] : tree.stop[scope]]] = True
        return mask[self.ops]

    def _is(self, term: Term) -> Mask:
        read = op_predicates.TRAITS.get(term.value.lower())
        if read is None:
            raise GraphEditError(
                f"An op can be {', '.join(op_predicates.TRAITS)}, not "
                f"{term.value[:40]!r}{did_you_mean(term.value.lower(), op_predicates.TRAITS)}"
            )
        return read(self.index)[self.ops]

    def _pattern(self, term: Term) -> Mask:
        mask = np.zeros(len(self.index), bool)
        for match in find_matches(self.index, parse(term.value)):
            mask[list(match.numbers)] = True
        return mask[self.ops]

    def _matching_values(
        self, values: Iterable[str], term: Term, *, tails: bool = False
    ) -> set[str]:
        """The values that a term means: those that are just so, or else those that it is a part of.

        With `tails` what is after a slash is just so, too.
        """
        some = list(values)
        if term.kind == "regex":
            return set(self.timeout.filter(some, text_predicate(term, self.timeout)))
        low = term.value.casefold()
        if term.kind == "glob":
            return set(filter(text_predicate(term, self.timeout), some))
        exact, partly = set(), set()
        for value in some:
            folded = value.casefold()
            if low not in folded:
                continue
            if folded == low or (tails and folded.endswith(f"/{low}")):
                exact.add(value)
            else:
                partly.add(value)
        return exact or partly

    def _of(self, ops: Sequence[int]) -> Mask:
        return np.isin(self.ops, np.array(ops, dtype=np.int32))


def _with_values_of_references(dtypes: Iterable[str]) -> set[str]:
    """Dtypes, and for "float32_ref" what it refers to, "float32"."""
    return {*dtypes, *(dtype.removesuffix("_ref") for dtype in dtypes)}


def text_predicate(term: Term, timeout: RegexTimeout) -> Holds:
    """Whether a text fits a term's value. Raises GraphEditError for a wrong expression."""
    if term.kind == "regex":
        search = timeout.search(term.value)
        return lambda text: len(text) <= _LONGEST_NAME and search(text)
    low = term.value.casefold()
    if term.kind == "glob":
        pieces = low.split("*")
        longest = max(pieces, key=len)
        return lambda text: longest in text.casefold() and matches_glob(pieces, text.casefold())
    return lambda text: low in text.casefold()


def _matching(value: str, term: Term, timeout: RegexTimeout) -> Holds:
    """Whether the text of an attribute is a value that was typed."""
    bare = value[1:-1]
    if len(value) > 2 and value[0] == value[-1] == "/":
        return text_predicate(term._replace(value=bare, kind="regex"), timeout)
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    normalized = op_predicates.normalized_text(bare if is_quoted else value)
    if "*" in normalized and not is_quoted:
        return text_predicate(term._replace(value=normalized, kind="glob"), timeout)
    return lambda text: text == normalized


def matches_glob(pieces: Sequence[str], text: str) -> bool:
    """Whether a text, or what is after one of its slashes, is the pieces with any text between
    them.

    In time that grows with the text only, however many pieces there are.

    >>> matches_glob(["conv", ""], "net/conv1"), matches_glob(["n", "1", ""], "net/add")
    (True, False)
    """
    first, *middle, last = pieces
    start = 0 if text.startswith(first) else text.find(f"/{first}") + 1
    if not start and not text.startswith(first):
        return False
    at = start + len(first)
    for piece in middle:
        at = text.find(piece, at) + len(piece)
        if at < len(piece):
            return False
    return text.endswith(last) and len(text) - len(last) >= at

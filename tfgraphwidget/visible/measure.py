"""The sizes of items in pixels, from estimated widths of their texts.

Boxes get their widths before any font is there to measure them, and saved pictures shorten their
labels by the same numbers. Browsers measure the letters that they draw; that is why the advances
are those of a wide sans-serif font: DejaVu Sans, which is also matplotlib's, or Helvetica where a
letter is wider in it. They are whole hundredths of the text's size, so that a text is equally wide
in whichever order letters are added.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tfgraphwidget.hierarchy import Ints
from tfgraphwidget.visible.visible_graph import BADGE, CLOSED, OP, OPEN, VisibleGraph

ELLIPSIS = "…"
_FIRST = 32  # the space: the first letter of the table
_ASCII = (
    32, 41, 46, 84, 64, 95, 78, 28, 39, 39, 50, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 34, 34, 84, 84, 84, 56, 102, 69, 69, 73, 77, 67, 62, 78, 76, 30, 50, 67, 56, 87, 75, 79,
    67, 79, 73, 67, 62, 74, 69, 99, 69, 67, 69, 39, 34, 39, 84, 56, 50, 62, 64, 55, 64, 62, 36, 64,
    64, 28, 28, 58, 28, 98, 64, 62, 64, 64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84,
)  # fmt: skip
# Advances of other letters, by their kind
_WIDE = 100  # such as Chinese
_EMOJI = 130
_CAPITAL = 80
_SMALL = 66
_SIGN = 84
_OTHER = 80
_PICTURES = "\U0001f000"  # emoji are from here on
# A box is never wide enough for more letters; a name may have thousands.
_MOST = 200


class _Advances(dict[str, int]):
    """Letter -> advance; one that is not in the table is judged by Unicode, once."""

    def __missing__(self, letter: str) -> int:
        self[letter] = advance = _estimate_advance(letter)
        return advance


def _estimate_advance(letter: str) -> int:
    kind = unicodedata.category(letter)
    if kind in ("Mn", "Me", "Cf", "Cc", "Cs"):  # marks on the letter before, and what is not seen
        return 0
    if unicodedata.east_asian_width(letter) in "WF":
        return _EMOJI if letter >= _PICTURES and kind == "So" else _WIDE
    plain = unicodedata.normalize("NFD", letter)[0]  # é is as wide as e
    if plain != letter:
        return _ADVANCES[plain]
    return {"Lu": _CAPITAL, "Ll": _SMALL, "Nd": _SMALL}.get(
        kind, _SIGN if kind[0] in "SP" else _OTHER
    )


_ADVANCES = _Advances({chr(_FIRST + i): advance for i, advance in enumerate(_ASCII)})
_ADVANCES |= {ELLIPSIS: 100, "·": 32}
_TABLE = np.array([_ADVANCES[chr(code)] for code in range(128)])


def text_width(text: str) -> float:
    """The width of a text at a size of 1.

    >>> text_width("WWW") > 3 * text_width("i") + 2
    True
    """
    return sum(map(_ADVANCES.__getitem__, text)) / 100


def text_widths(texts: Sequence[str]) -> npt.NDArray[np.float64]:
    """The width of each text at a size of 1, float64 (n,); of very long ones the beginning's."""
    beginnings = [text[:_MOST] for text in texts]
    all_text = "".join(beginnings)
    codes = np.frombuffer(all_text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    advances = _TABLE[np.minimum(codes, 127)]
    if not all_text.isascii():
        foreign = np.flatnonzero(codes > 127)
        kinds, number = np.unique(codes[foreign], return_inverse=True)
        advances[foreign] = np.array([_ADVANCES[chr(code)] for code in kinds.tolist()])[number]
    total = np.concatenate([[0], np.cumsum(advances)])
    stops = np.cumsum(np.fromiter(map(len, beginnings), dtype=np.int64, count=len(beginnings)))
    return np.diff(total[stops], prepend=0) / 100


_LEAST_HEAD = 2  # with fewer letters at its beginning a name is not known again
_GROUP_END = re.compile(r"[_/.]\*$")
_INDEX = re.compile(r"\d+(?=[/.)]|$)")
_PART_END = re.compile(r"[_/.]|[A-Za-z](?=\d)")


def shorten(text: str, room: float) -> str:
    """`text`, or its beginning and end around "…" when it is wider than `room`, at a size of 1.

    Numbers tell names apart: the end begins at the last index if there is room, "block_7_*" becomes
    "block_7" first, and "layer_0 … layer_2" becomes "layer_0 … 2"; there is never more than one
    ellipsis.

    >>> shorten("layer_0 … layer_2", 6.5)
    'layer_0 … 2'
    >>> shorten("tower_0/net", 5.0)
    'to…0/net'
    """
    if text_width(text) <= room:
        return text
    if (name := _GROUP_END.sub("", text)) != text:
        return shorten(name, room)
    for range_text in _ranges_of(text):
        if text_width(range_text) <= room:
            return range_text
    first, between, last = text.partition(f" {ELLIPSIS} ")
    if not between:
        first = last = text
    indexes = list(_INDEX.finditer(last, max(len(last) - _MOST, 0)))
    indexed = last[indexes[-1].start() :] if indexes else ""
    first, last, room = first[:_MOST], last[-_MOST:][::-1], room - text_width(ELLIPSIS)
    share = max(room / 2, room - text_width(first)) if between else room / 3
    tail = last[: max(1, _fitting_letters(last, share))][::-1]
    if len(indexed) > len(tail) and text_width(first[:_LEAST_HEAD] + indexed) <= room:
        tail = indexed
    head = first[: max(1, _fitting_letters(first, room - text_width(tail)))]
    return f"{head}{ELLIPSIS}{tail}"


def _ranges_of(text: str) -> tuple[str, ...]:
    """The shorter ways to write "layer_0 … layer_2": the second name without parts of the first."""
    first, _, last = text.partition(f" {ELLIPSIS} ")
    pairs = enumerate(zip(first, last, strict=False))
    alike = next((at for at, (one, other) in pairs if one != other), min(len(first), len(last)))
    stops = [match.end() for match in _PART_END.finditer(last) if match.end() <= alike]
    if not stops or stops[-1] == len(last):
        return ()
    other = last[stops[-1] :]
    return (f"{first} {ELLIPSIS} {other}", f"{first}{ELLIPSIS}{other}")


def _fitting_letters(text: str, room: float) -> int:
    """How many letters of a text there is room for."""
    left = 100 * room
    for at, letter in enumerate(text):
        left -= _ADVANCES[letter]
        if left < 0:
            return at
    return len(text)


# How large boxes of ops, closed scopes and badges are.


Sizes = npt.NDArray[np.float64]
Lengths = npt.NDArray[np.float64]
Indexes = npt.NDArray[np.intp]
# Pixels
OP_HEIGHT = 30.0
CLOSED_HEIGHT = 46.0
LEAST_WIDTH = 64.0
MOST_WIDTH = 220.0
_MOST_OF_TWO = 280.0  # width of a fold, which has two names
SIDES = 23.0  # of a box, left and right of its name
BADGE_HEIGHT = 15.0
BADGE_INSET = 6.0  # from the side of a box to its badges
_BADGE_FOOT = 3.0  # below the badges
_BADGE_SIDES = 12.0  # of a badge, left and right of its text
_BADGE_GAP = 4.0  # between badges
_BADGE_ROW = 128.0  # width of a row of badges in a narrower box, see `_FEW_BADGES`
_ROUNDING = 1e-3
# Of more badges a row is wider than a narrow box: gamma and beta of a batch norm stand next to each
# other, and its box is not twice as high as a convolution's.
_FEW_BADGES = 3
_LAYER_OPS = 20  # ops of a usual layer, whose box has the least size
# What each doubling of these ops adds to a closed scope; to one of 640 ops 60 and 20 pixels.
_WIDER = 12.0
_HIGHER = 4.0
_MOST_DOUBLINGS = 5
# The sizes of letters
TEXT = 12.0  # of names
SMALL = 10.0  # of what stands below them
_CHIP = 11.0  # of badges
LOOP_SIGN = "⟲ "  # what is written before a loop's name


def item_sizes(visible: VisibleGraph) -> Sizes:
    """Return width and height per item in pixels, float64 (n, 2), for its texts and badges; 0 for
    open scopes.

    Args:
        visible: The items and edges that are drawn.
    """
    texts = [
        label or name[name.rfind("/") + 1 :]
        for name, label in zip(visible.names, visible.labels, strict=True)
    ]
    letters = text_widths(texts)
    wide = TEXT * (letters + text_width(LOOP_SIGN) * visible.loop)
    closed = np.flatnonzero(visible.kind == CLOSED)
    count, variables = visible.count[closed].tolist(), visible.variables[closed].tolist()
    wide[closed] = np.maximum(
        wide[closed], SMALL * text_widths([*map(second_line, count, variables)])
    )
    result = np.empty((len(visible), 2))
    most = np.where(visible.members > 0, _MOST_OF_TWO, MOST_WIDTH)
    larger = _doublings(visible)
    result[:, 0] = np.clip(wide + SIDES, LEAST_WIDTH + _WIDER * larger, most)
    result[:, 1] = np.where(visible.kind == CLOSED, CLOSED_HEIGHT + _HIGHER * larger, OP_HEIGHT)
    badges = np.flatnonzero(visible.kind == BADGE)
    if len(badges):
        around = visible.parent[badges]
        chips = np.minimum(_CHIP * letters[badges] + _BADGE_SIDES, MOST_WIDTH - 2 * BADGE_INSET)
        result[badges] = np.stack([chips, np.full(len(badges), BADGE_HEIGHT)], axis=1)
        np.maximum.at(result[:, 0], around, chips + 2 * BADGE_INSET)
        count = np.bincount(around, minlength=len(visible))
        room = np.maximum(
            result[:, 0] - 2 * BADGE_INSET, np.where(count > _FEW_BADGES, _BADGE_ROW, 0)
        )
        row, left = _fill_rows(visible, badges, chips, room)
        np.maximum.at(result[:, 0], around, left + chips + 2 * BADGE_INSET)
        rows = np.zeros(len(visible))
        np.maximum.at(rows, around, row + 1)
        result[:, 1] += BADGE_HEIGHT * rows + _BADGE_FOOT * (rows > 0)
    result[visible.kind == OPEN] = 0.0
    _equalize(visible, result)
    if len(badges):
        result[badges, 0] += _spare_width(visible, badges, result, row)
    return result


def _doublings(visible: VisibleGraph) -> Lengths:
    """How often the ops of a layer must be doubled to be as many as those of a closed scope of the
    network: what is most of the network is not the smallest box. 0 for other items.
    """
    network = (visible.kind == CLOSED) & ~visible.aside & (visible.part == 0)
    count = np.where(network, np.maximum(visible.count, _LAYER_OPS), _LAYER_OPS)
    doublings: Lengths = np.minimum(np.log2(count / _LAYER_OPS), _MOST_DOUBLINGS).round()
    return doublings


def _fill_rows(
    visible: VisibleGraph, badges: Indexes, width: Lengths, room: Lengths
) -> tuple[Ints, Lengths]:
    """The row of each badge in its box, and where it begins in it, row by row."""
    around = visible.parent[badges]
    rank = badges - visible.child_start[around]
    row, left = np.zeros(len(badges), dtype=np.int32), np.zeros(len(badges))
    last_row = np.zeros(len(visible), dtype=np.int32)
    end = np.full(len(visible), -_BADGE_GAP)  # of the row so far
    for place in range(int(rank.max(initial=-1)) + 1):
        here = np.flatnonzero(rank == place)
        box = around[here]
        is_next = end[box] + _BADGE_GAP + width[here] > room[box] + _ROUNDING
        is_next &= end[box] > 0
        last_row[box] += is_next
        end[box] = np.where(is_next, -_BADGE_GAP, end[box])
        row[here], left[here] = last_row[box], end[box] + _BADGE_GAP
        end[box] = left[here] + width[here]
    return row, left


def _spare_width(visible: VisibleGraph, badges: Indexes, size: Sizes, row: Ints) -> Lengths:
    """How much wider each badge can be, so that those of a row are together as wide as their
    box.

    From afar letters are no smaller than they can be read: a text has the room that there is.
    """
    around = visible.parent[badges]
    _, number, count = np.unique(
        around.astype(np.int64) * len(visible) + row, return_inverse=True, return_counts=True
    )
    row_width = np.bincount(number, weights=size[badges, 0]) + _BADGE_GAP * (count - 1)
    spare: Lengths = (size[around, 0] - 2 * BADGE_INSET - row_width[number]) / count[number]
    return spare


def _equalize(visible: VisibleGraph, size: Sizes) -> None:
    """Give boxes at the same place of scopes that are alike the size of the largest of them."""
    boxes = np.flatnonzero((visible.kind == OP) | (visible.kind == CLOSED))
    boxes = boxes[np.lexsort((visible.alike[boxes], visible.parent[boxes]))]
    parent, alike = visible.parent[boxes], visible.alike[boxes].astype(np.int64)
    fresh = np.flatnonzero(
        np.r_[True, (np.diff(parent) != 0) | (np.diff(alike) != 0)][: len(boxes)]
    )
    place = np.arange(len(boxes)) - np.repeat(fresh, np.diff(np.r_[fresh, len(boxes)]))
    _, number = np.unique(alike * len(visible) + place, return_inverse=True)
    largest = np.zeros((len(boxes), 2))
    np.maximum.at(largest, number, size[boxes])
    size[boxes] = largest[number]


def place_badges(visible: VisibleGraph, box: Sizes) -> None:
    """Place badges in `box` (left, top, width, height per item): rows at the bottom of their
    consumer.

    Args:
        visible: The items and edges that are drawn.
        box: Left, top, width and height of the boxes, in pixels; of badges the width counts.
    """
    badges = np.flatnonzero(visible.kind == BADGE)
    if not len(badges):
        return
    around = visible.parent[badges]
    row, left = _fill_rows(visible, badges, box[badges, 2], box[:, 2] - 2 * BADGE_INSET)
    rows = np.zeros(len(visible))
    np.maximum.at(rows, around, row + 1)
    bottom = box[around, 1] + box[around, 3] - _BADGE_FOOT
    box[badges, 0] = box[around, 0] + BADGE_INSET + left
    box[badges, 1] = bottom - BADGE_HEIGHT * (rows[around] - row)


WIDEST_TITLE = 430.0  # pixels of the title of an open scope


def scope_title(label: str, members: int, *, is_loop: bool, is_training: bool) -> str:
    """Return the text in the header of an open scope.

    Args:
        label: Its label, or the last part of its name.
        members: How many siblings it represents, 0 for a scope.
        is_training: Whether it is the outermost scope of the training part around it.

    >>> scope_title("unit_1", 3, is_loop=False, is_training=True)
    '▾ unit_1 ×3 · training'
    """
    parts = [
        "▾",
        LOOP_SIGN.strip() if is_loop else "",
        label,
        f"×{members}" if members > 1 and "×" not in label else "",
        "· training" if is_training and "training" not in label else "",
    ]
    return " ".join(filter(None, parts))


def second_line(count: int, variables: int) -> str:
    """The small text below a closed scope's name.

    Args:
        count: The number of ops of the scope.
        variables: The number of variables of the scope.

    >>> second_line(21, 1)
    '21 ops · 1 var'
    """
    ops = f"{count:,} op{'s' * (count != 1)}"
    return f"{ops} · {variables:,} var{'s' * (variables != 1)}" if variables else ops

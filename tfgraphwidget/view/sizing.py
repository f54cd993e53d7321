"""How large boxes of ops, closed scopes and badges are."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tfgraphwidget.view.letters import width, widths
from tfgraphwidget.view.visible import BADGE, CLOSED, OPEN, Visible

Sizes = npt.NDArray[np.float64]
OP_HEIGHT, CLOSED_HEIGHT, LEAST_WIDTH, MOST_WIDTH = 30.0, 46.0, 64.0, 220.0
BADGE_HEIGHT, BADGE_INSET, _BADGE_FOOT, _BADGE_SIDES = 15.0, 6.0, 3.0, 12.0
_MOST_OF_TWO = 280.0  # a fold has two names
# The sizes of letters: of names, of what stands below them, of badges.
TEXT, SMALL, _CHIP = 12.0, 10.0, 11.0
SIDES = 23.0
LOOP_SIGN = "⟲ "  # what is written before a loop's name


def sizes(visible: Visible) -> Sizes:
    """Width and height per item, wide enough for both lines of text and for the badges; 0 for open scopes."""
    written = [label or name[name.rfind("/") + 1 :] for name, label in zip(visible.names, visible.labels, strict=True)]
    letters = widths(written)
    wide = TEXT * (letters + width(LOOP_SIGN) * visible.loop)
    closed = np.flatnonzero(visible.kind == CLOSED)
    count, variables = visible.count[closed].tolist(), visible.variables[closed].tolist()
    wide[closed] = np.maximum(wide[closed], SMALL * widths([*map(second_line, count, variables)]))
    result = np.empty((len(visible), 2))
    most = np.where(visible.members > 0, _MOST_OF_TWO, MOST_WIDTH)
    result[:, 0] = np.clip(wide + SIDES, LEAST_WIDTH, most)
    result[:, 1] = np.where(visible.kind == CLOSED, CLOSED_HEIGHT, OP_HEIGHT)
    badges = np.flatnonzero(visible.kind == BADGE)
    if len(badges):
        around = visible.parent[badges]
        chips = np.minimum(_CHIP * letters[badges] + _BADGE_SIDES, MOST_WIDTH - 2 * BADGE_INSET)
        np.maximum.at(result[:, 0], around, chips + 2 * BADGE_INSET)
        rows = np.bincount(around, minlength=len(visible))
        result[:, 1] += BADGE_HEIGHT * rows + _BADGE_FOOT * (rows > 0)
        result[badges] = np.stack([chips, np.full(len(badges), BADGE_HEIGHT)], axis=1)
    result[visible.kind == OPEN] = 0.0
    return result


def set_badges(visible: Visible, box: Sizes) -> None:
    """Give badges their places in `box` (left, top, width, height per item): rows at the bottom of their reader."""
    badges = np.flatnonzero(visible.kind == BADGE)
    if not len(badges):
        return
    around = visible.parent[badges]
    row = badges - visible.child_start[around]
    rows = visible.child_start[around + 1] - visible.child_start[around]
    bottom = box[around, 1] + box[around, 3] - _BADGE_FOOT
    box[badges, 0] = box[around, 0] + BADGE_INSET
    box[badges, 1] = bottom - BADGE_HEIGHT * (rows - row)


def second_line(count: int, variables: int) -> str:
    """What stands small below a closed scope's name.

    >>> second_line(21, 1)
    '21 ops · 1 var'
    """
    ops = f"{count:,} op{'s' * (count != 1)}"
    return f"{ops} · {variables:,} var{'s' * (variables != 1)}" if variables else ops

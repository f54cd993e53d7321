"""Colors of the drawing, the same for the browser (labextension mirrors this table) and for
matplotlib.

The fills differ in lightness as well as in hue, so that they stay apart for color-blind readers;
text on them has a contrast of at least 4.5 : 1 in both themes (tests/scene/test_palette.py measures
it).

While the drawing is colored (`scene/coloring/scales.py`), a tint of 1 … 12 is a category:
TINTS[tint - 1], any two of which stay apart in the three kinds of color blindness. A tint of 128 …
255 is a step of the ramp from low to high: ramp()[tint - 128].
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from tfgraphwidget.graph import DIFFERS

# family -> (fill in a light theme, fill in a dark theme)
FAMILIES: dict[str, tuple[str, str]] = {
    "other": ("#f1f3f5", "#3b4148"),
    "input": ("#ffe8b3", "#6b5314"),
    "constant": ("#e6e6e6", "#4a4a4a"),
    "variable": ("#ffd9c2", "#7a4426"),
    "linear": ("#c5dcf7", "#234f80"),
    "activation": ("#f9d0e0", "#75304f"),
    "normalization": ("#d5cff4", "#483d85"),
    "arithmetic": ("#d9eed0", "#35592b"),
    "shape": ("#cdeeed", "#1d595c"),
    "control": ("#f4efc0", "#55501f"),
    "state": ("#ead3b6", "#5e4529"),
    "pooling": ("#eecbf2", "#6b2f75"),
}

# (fill in a light theme, fill in a dark theme) of the categories 1 … 12; those that are furthest
# apart come first.
TINTS: tuple[tuple[str, str], ...] = (
    ("#f3be61", "#7c5b1d"),
    ("#a6bad9", "#0c64a2"),
    ("#94f6c6", "#02452c"),
    ("#fee092", "#6a6047"),
    ("#ceaaf4", "#492e6a"),
    ("#02d1a6", "#44685c"),
    ("#d5b483", "#4d3810"),
    ("#c5bb6b", "#4c4900"),
    ("#f0a5a7", "#6f3539"),
    ("#d8d0f2", "#544c79"),
    ("#e1bcd2", "#744262"),
    ("#a7e4a0", "#275e27"),
)
# The ramp's colors at 0, a half and 1, in a light and in a dark theme; in between they are mixed
# per channel. The further from the background, the more there is.
RAMP: tuple[tuple[str, str, str], tuple[str, str, str]] = (
    ("#f3f6f9", "#ffdf80", "#f7a566"),
    ("#22272d", "#5b4a14", "#9c4a10"),
)
RAMP_STEPS = 128


class BoxColors(NamedTuple):
    """The colors of a box; `faint` is that of its second line."""

    fill: str
    border: str
    text: str
    faint: str


@dataclass(frozen=True)
class Theme:
    """The colors of a drawing on a background.

    Attributes:
        dark: Whether the background is dark.
        background: The background.
        text: Text on it.
        marks: The colors of marks by name: those of `_LIGHT`.
        box: The boxes by number of family.
        quiet: Those of bookkeeping ops, and of ops that are not selected while others are.
        selection: Those of selected ops.
        differs: By `differs` of a Paint; the names are in `DIFFERS`.
        levels: Open scopes by depth, the root first; deeper ones have the last.
        training: Open scopes of the training part by depth.
        training_box: Closed scopes of the training part.
        tints: By `tint` of a Paint.
    """

    dark: bool
    background: str
    text: str
    marks: Mapping[str, str]
    box: tuple[BoxColors, ...]
    quiet: tuple[BoxColors, ...]
    selection: tuple[BoxColors, ...]
    differs: tuple[BoxColors | None, ...]
    levels: tuple[BoxColors, ...]
    training: tuple[BoxColors, ...]
    training_box: BoxColors
    tints: tuple[BoxColors, ...]


# Twin: LIGHT and DARK of labextension/src/render/canvas/palette.ts.
_LIGHT = {
    "faint": "#59636e", "edge": "#6b7783", "control_edge": "#868f99", "selected": "#0b63ce",
    "partly": "#6ea6e8", "input_mark": "#0f7b3e", "output_mark": "#b45309", "on_mark": "#ffffff",
    "fresh": "#8a3ffc", "added": "#0f7b3e", "changed": "#9a5b00", "warned": "#b3261e",
    "removed": "#b3261e", "renamed": "#007a7a",
    "back": "#a8328f", "training": "#8a6d1f",
}  # fmt: skip
_DARK = {
    "faint": "#b0bac4", "edge": "#9aa5b1", "control_edge": "#727c87", "selected": "#5aa9ff",
    "partly": "#2f6aa8", "input_mark": "#4cc38a", "output_mark": "#ffb454", "on_mark": "#10141a",
    "fresh": "#c9a6ff", "added": "#4cc38a", "changed": "#e9a23b", "warned": "#ff8a80",
    "removed": "#ff8a80", "renamed": "#35d0c6",
    "back": "#f08fd8", "training": "#d6b14e",
}  # fmt: skip

DARK_LUMINANCE = 0.25  # of a background, below which a theme is dark
FIRST_RAMP_CODE = 128  # of a tint: the codes before are for categories
_LEVELS = 6  # of scopes in scopes that have colors of their own
_Rgb = tuple[float, float, float]


def theme_on(background: str, text: str) -> Theme:
    """The colors of a drawing on a background, whose lightness says whether the theme is dark.

    Args:
        background: Its color, as "#rrggbb" or "rgb(255, 255, 255)".

    Raises:
        ValueError: For another notation.
    """
    back, ink = _parse(background), _parse(text)
    dark = _luminance(back) < DARK_LUMINANCE
    marks = _DARK if dark else _LIGHT
    edge, selected, training = (_parse(marks[name]) for name in ("edge", "selected", "training"))
    fills = [_parse(pair[dark]) for pair in FAMILIES.values()]

    def box(fill: _Rgb) -> BoxColors:
        return _shade(fill, _mix(fill, ink, 0.34 if dark else 0.38), ink)

    def quiet_box(fill: _Rgb) -> BoxColors:
        faded = _mix(fill, back, 0.6)
        return _shade(faded, _mix(faded, ink, 0.2), _mix(ink, faded, 0.3))

    def selected_box(fill: _Rgb) -> BoxColors:
        return _shade(_mix(fill, selected, 0.3 if dark else 0.16), selected, ink)

    def changed_box(mark: str) -> BoxColors:
        hue = _parse(marks[mark])
        return _shade(_mix(back, hue, 0.4 if dark else 0.24), hue, ink)

    def area(fill: _Rgb, line: _Rgb) -> BoxColors:
        return _shade(fill, _mix(fill, line, 0.55), ink)

    def tint(fill: _Rgb) -> BoxColors:
        return _shade(fill, _mix(fill, ink, 0.4), ink)

    # By code: no category, the categories, unused codes, and the steps of a ramp for numbers.
    pale = _mix(back, ink, 0.03)
    untinted = _shade(pale, _mix(pale, ink, 0.22), _mix(ink, pale, 0.3))
    tints = [untinted]
    tints += [tint(_parse(pair[dark])) for pair in TINTS]
    tints += [untinted] * (FIRST_RAMP_CODE - len(tints))
    tints += map(tint, _ramp_steps(dark))

    levels = [_mix(back, edge, 0.055 * depth) for depth in range(_LEVELS)]
    training_levels = [_mix(back, training, 0.045 + 0.05 * depth) for depth in range(_LEVELS)]
    return Theme(
        dark,
        _css(back),
        _css(ink),
        marks,
        box=tuple(map(box, fills)),
        quiet=tuple(map(quiet_box, fills)),
        selection=tuple(map(selected_box, fills)),
        differs=(None, *map(changed_box, DIFFERS[1:])),
        levels=tuple(area(fill, edge) for fill in levels),
        training=tuple(area(fill, training) for fill in training_levels),
        training_box=_shade(_mix(back, training, 0.2), _mix(back, training, 0.75), ink),
        tints=tuple(tints),
    )


def _luminance(color: _Rgb) -> float:
    """How light a color is, from 0 to 1: the weights of ITU-R BT.709, with a gamma of 2."""
    shares = (0.2126, 0.7152, 0.0722)
    return sum(share * (part / 255) ** 2 for share, part in zip(shares, color, strict=True))


def _shade(fill: _Rgb, border: _Rgb, ink: _Rgb) -> BoxColors:
    """The colors of a box, the last of which is that of its fainter text."""
    return BoxColors(_css(fill), _css(border), _css(ink), _css(_mix(ink, fill, 0.22)))


def _mix(a: _Rgb, b: _Rgb, share: float) -> _Rgb:
    """A color between two, with a share of the second."""
    red, green, blue = (x + (y - x) * share for x, y in zip(a, b, strict=True))
    return red, green, blue


def _css(color: _Rgb) -> str:
    """A color as #rrggbb."""
    return "#" + "".join(f"{int(part + 0.5):02x}" for part in color)


def _parse(text: str) -> _Rgb:
    if re.fullmatch(r"#[0-9a-f]{6}", text):
        return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)
    match = re.fullmatch(r"rgb\((\d{1,3}), ?(\d{1,3}), ?(\d{1,3})\)", text)
    if not match or max(map(int, match.groups())) > 255:
        raise ValueError(f"{text!r} is not a color; give '#rrggbb' or 'rgb(255, 255, 255)'.")
    return int(match[1]), int(match[2]), int(match[3])


def ramp(*, dark: bool = False) -> tuple[str, ...]:
    """The RAMP_STEPS fills of the ramp, from low to high."""
    return tuple(map(_css, _ramp_steps(dark)))


def _ramp_steps(dark: bool) -> list[_Rgb]:
    low, middle, high = map(_parse, RAMP[dark])
    steps = []
    for step in range(RAMP_STEPS):
        place = 2 * step / (RAMP_STEPS - 1)  # from 0 to 2, the middle at 1
        steps.append(_mix(low, middle, place) if place < 1 else _mix(middle, high, place - 1))
    return steps


@cache
def default_theme(*, dark: bool) -> Theme:
    """The light theme, or the dark one."""
    return theme_on("#16191d", "#f0f3f6") if dark else theme_on("#ffffff", "#1c2126")

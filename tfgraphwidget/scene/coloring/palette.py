"""Colors of the drawing, the same for the browser (labextension mirrors this table) and for matplotlib.

The fills differ in lightness as well as in hue, so that they stay apart for color-blind readers; text on them
has a contrast of at least 4.5 : 1 in both themes (tests/scene/test_palette.py measures it).

While the drawing is colored (`scene/coloring/scales.py`), a tint of 1 … 12 is a category: TINTS[tint - 1], any two of
which stay apart in the three kinds of color blindness. A tint of 128 … 255 is a step of the ramp from low to high:
ramp()[tint - 128].
"""

from __future__ import annotations

from typing import NamedTuple

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

# (fill in a light theme, fill in a dark theme) of the categories 1 … 12; those that are furthest apart come first.
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
# The ramp's colors at 0, a half and 1, in a light and in a dark theme; in between they are mixed per channel. The
# further from the background, the more there is.
RAMP: tuple[tuple[str, str, str], tuple[str, str, str]] = (
    ("#f3f6f9", "#ffdf80", "#f7a566"),
    ("#22272d", "#5b4a14", "#9c4a10"),
)
RAMP_STEPS = 128


class Theme(NamedTuple):
    """The colors that are not a family's.

    `levels` fill open scopes by depth, the root first, repeating the last; `training` those of the training group.
    `back` is the way back of a loop.
    """

    background: str
    text: str
    faint_text: str
    border: str
    edge: str
    control_edge: str
    selected: str
    partly: str
    input_mark: str
    output_mark: str
    fresh: str
    levels: tuple[str, ...]
    training: tuple[str, ...]
    back: str


LIGHT = Theme(
    background="#ffffff",
    text="#1c2126",
    faint_text="#59636e",
    border="#9aa5b1",
    edge="#6b7783",
    control_edge="#868f99",
    selected="#0b63ce",
    partly="#6ea6e8",
    input_mark="#0f7b3e",
    output_mark="#b45309",
    fresh="#8a3ffc",
    levels=("#ffffff", "#f7f9fb", "#eff3f7", "#e7edf3", "#dfe7ef"),
    training=("#ffffff", "#fbf8f2", "#f6f0e4", "#f1e8d6", "#ece0c8"),
    back="#a0338f",
)
DARK = Theme(
    background="#16191d",
    text="#f0f3f6",
    faint_text="#b0bac4",
    border="#6a7480",
    edge="#9aa5b1",
    control_edge="#727c87",
    selected="#5aa9ff",
    partly="#2f6aa8",
    input_mark="#4cc38a",
    output_mark="#ffb454",
    fresh="#c9a6ff",
    levels=("#16191d", "#1c2025", "#22272d", "#292f36", "#30373f"),
    training=("#16191d", "#221f18", "#2a261c", "#322d20", "#3a3424"),
    back="#e58ad6",
)


def ramp(*, dark: bool = False) -> tuple[str, ...]:
    """The RAMP_STEPS fills of the ramp, from low to high."""
    stops = [[int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in RAMP[dark]]
    fills = []
    for step in range(RAMP_STEPS):
        place = 2 * step / (RAMP_STEPS - 1)
        first = min(int(place), 1)
        mixed = (a + (b - a) * (place - first) for a, b in zip(stops[first], stops[first + 1], strict=True))
        fills.append("#" + "".join(f"{round(part):02x}" for part in mixed))
    return tuple(fills)

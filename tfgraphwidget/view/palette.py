"""Colours of the drawing, the same for the browser (labextension mirrors this table) and for matplotlib.

The fills differ in lightness as well as in hue, so that they stay apart for colour-blind readers; text on them
has a contrast of at least 4.5 : 1 in both themes (tests/view/test_palette.py measures it).
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
    "normalisation": ("#d5cff4", "#483d85"),
    "arithmetic": ("#d9eed0", "#35592b"),
    "shape": ("#cdeeed", "#1d595c"),
    "control": ("#f4efc0", "#55501f"),
    "state": ("#ead3b6", "#5e4529"),
}


class Theme(NamedTuple):
    """The colours that are not a family's. `levels` fill open scopes by depth, the root first, repeating the last."""

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


LIGHT = Theme(
    background="#ffffff",
    text="#1c2126",
    faint_text="#59636e",
    border="#9aa5b1",
    edge="#6b7783",
    control_edge="#a9b1ba",
    selected="#0b63ce",
    partly="#6ea6e8",
    input_mark="#0f7b3e",
    output_mark="#b45309",
    fresh="#8a3ffc",
    levels=("#ffffff", "#f7f9fb", "#eff3f7", "#e7edf3", "#dfe7ef"),
)
DARK = Theme(
    background="#16191d",
    text="#f0f3f6",
    faint_text="#b0bac4",
    border="#6a7480",
    edge="#9aa5b1",
    control_edge="#5d6771",
    selected="#5aa9ff",
    partly="#2f6aa8",
    input_mark="#4cc38a",
    output_mark="#ffb454",
    fresh="#c9a6ff",
    levels=("#16191d", "#1c2025", "#22272d", "#292f36", "#30373f"),
)

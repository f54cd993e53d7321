"""Contrast, in the JupyterLab themes that are installed, of what the style sheets and the palette
make of them.

WCAG 2 AA: text 4.5 : 1, and 3 : 1 for lines and signs without which something would not be
understood.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.scene.test_palette import contrast
from tfgraphwidget.scene.coloring import palette

pytestmark = pytest.mark.no_tensorflow

STYLES = Path(__file__).parents[1] / "labextension" / "src" / "styles"
THEMES = {
    path.parent.name.removeprefix("theme-").removesuffix("-extension"): path
    for path in sorted(Path(sys.prefix, "share/jupyter/lab/themes/@jupyterlab").glob("*/index.css"))
}
NAMED = {"white": "#ffffff", "black": "#000000"}

TEXT = (
    ("text", "bg"), ("text", "soft"), ("text", "hover"), ("text", "tint"),
    ("faint", "bg"), ("faint", "soft"), ("faint", "hover"), ("faint", "tint"),
    ("accent", "bg"), ("accent", "soft"), ("accent", "hover"), ("accent", "tint"),
    ("on-accent", "accent"), ("refused", "bg"), ("on-accent", "added-color"),
    ("on-accent", "changed-color"), ("on-accent", "refused"),
)  # fmt: skip
SIGNS = (
    ("frame", "bg"), ("accent", "bg"), ("input", "bg"), ("input", "tint"), ("output", "bg"),
    ("output", "tint"), ("input", "soft"), ("output", "soft"), ("refused", "soft"),
    ("added-color", "bg"), ("changed-color", "bg"),
)  # fmt: skip


def declared(css: str, selector: str) -> dict[str, str]:
    """The custom properties of all rules with this selector, later ones over earlier ones."""
    rules = re.findall(rf"(?:^|[}}\n,]){re.escape(selector)}\s*\{{([^}}]*)\}}", css)
    return {
        name: " ".join(value.split())
        for rule in rules
        for name, value in re.findall(r"(--[\w-]+):\s*([^;]+);", rule)
    }


def properties(theme: str) -> dict[str, str]:
    """Every custom property as it is for a widget in this theme."""
    found = dict(re.findall(r"(--[\w-]+):\s*([^;}]+)", THEMES[theme].read_text()))
    css = "\n".join((STYLES / name).read_text() for name in ("theme.css", "help.css")).split(
        "@media"
    )[0]
    ours = declared(css, ".tfgraphwidget")
    if "dark" in theme:
        ours |= declared(css, '.tfgraphwidget[data-theme="dark"]')
    if "high-contrast" in theme:
        ours |= declared(css, 'body[data-jp-theme-name*="High Contrast"] .tfgraphwidget')
    return found | ours


def split(inside: str) -> list[str]:
    """The arguments of a function of CSS."""
    depth, parts = 0, [""]
    for letter in inside:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def colour(value: str, known: dict[str, str]) -> str:
    """A colour as #rrggbb: of what theme.css uses, which is var() and color-mix()."""
    value = NAMED.get(value.strip(), value.strip())
    if value.startswith("#"):
        return value if len(value) == 7 else "#" + "".join(2 * digit for digit in value[1:])
    function, inside = re.fullmatch(r"([\w-]+)\((.*)\)", value).groups()
    parts = split(inside)
    if function == "var":
        return colour(known[parts[0]] if parts[0] in known else ", ".join(parts[1:]), known)
    assert function == "color-mix"
    first, share = parts[1].rsplit(" ", 1)
    return mixed(colour(first, known), colour(parts[2], known), float(share.rstrip("%")) / 100)


def mixed(one: str, other: str, share: float) -> str:
    """So much of one colour, the rest of the other."""
    pairs = ((int(one[i : i + 2], 16), int(other[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in pairs)


def test_the_themes_are_there():
    assert {"light", "dark", "dark-high-contrast"} <= set(THEMES)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("pairs", "least"), [(TEXT, 4.5), (SIGNS, 3.0)], ids=["text", "signs"])
def test_panels_are_readable(theme, pairs, least):
    known = properties(theme)
    seen = {
        pair: round(contrast(*(colour(known[f"--tgw-{name}"], known) for name in pair)), 2)
        for pair in pairs
    }
    assert {pair: ratio for pair, ratio in seen.items() if ratio < least} == {}


@pytest.mark.parametrize("theme", THEMES)
def test_the_drawing_is_readable(theme):
    known = properties(theme)
    drawn = palette.theme_on(*(colour(known[f"--tgw-{name}"], known) for name in ("bg", "text")))
    weak = {
        box.fill: ratio
        for box in (*drawn.box, *drawn.levels)
        if (ratio := contrast(box.text, box.fill)) < 4.5
    }
    levels = [level.fill for level in drawn.levels]
    for name in ("edge", "selected", "input_mark", "output_mark", "fresh"):
        for level in levels:
            if (ratio := contrast(drawn.marks[name], level)) < 3:
                weak[f"{name} on {level}"] = ratio
    weak |= {
        f"control_edge on {at}": r
        for at in levels[:2]
        if (r := contrast(drawn.marks["control_edge"], at)) < 3
    }
    assert weak == {}

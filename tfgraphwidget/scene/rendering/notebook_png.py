"""A PNG of a scene for the file of a notebook, which every display of a graph waits for.

Pillow draws it in a fifth of the time that matplotlib takes, whose import alone would take longer
than all of the drawing. It draws without smooth edges, so that it draws twice as large.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from math import hypot
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image, ImageDraw, ImageFont  # with matplotlib, which needs it

from tfgraphwidget.scene.coloring.palette import default_theme
from tfgraphwidget.scene.rendering.display_list import (
    Box,
    DisplayList,
    Label,
    Points,
    Polyline,
    Triangle,
    build_display_list,
)

if TYPE_CHECKING:
    from tfgraphwidget.scene.scene import Paint, Scene

Image.preinit()  # 20 ms, at once: a kernel imports this module before a cell is run

_TWICE = 2  # pixels drawn for each pixel of the picture, in both directions
_MOST_PIXELS = 12_500_000  # of the scene: 200 MB while it is drawn
_COLORS = 128  # of the file, which is a third of the size then
_APART = 2  # pixels, in both directions, between those by which the colors are chosen
_RIM = 2  # pixels around the letters of a label that covers lines
_PIECES = 4  # straight ones in place of a round corner
_OPAQUE = 1.0
_PLAIN, _BOLD = "DejaVuSans.ttf", "DejaVuSans-Bold.ttf"  # of matplotlib
# They have Latin, Greek, Cyrillic and Armenian letters, which are the first, and signs.
_LAST_LETTER = 0x58F
_SIGNS = range(0x2000, 0x2C00)

Corners = list[tuple[float, float]]


def png(scene: Scene, *, paint: Paint | None = None) -> bytes:
    """Draw a scene as large as on the screen, in few colors."""
    display = build_display_list(scene, default_theme(dark=False), paint)
    labels = [shape for shape in display.shapes if isinstance(shape, Label)]
    _, _, width, height = display.area
    is_usual = width * height <= _MOST_PIXELS and _has_fonts()
    if is_usual and all(_has_letters(label.text) for label in labels):
        pixels = _Drawing(display).pixels()
    else:
        # It looks for other fonts, and draws all smaller where a box is pinned far away.
        from tfgraphwidget.scene.rendering import matplotlib_axes

        pixels = matplotlib_axes.pixels(scene, paint=paint)
    some = pixels.resize(
        (pixels.width // _APART + 1, pixels.height // _APART + 1), Image.Resampling.NEAREST
    )
    palette = some.quantize(_COLORS, Image.Quantize.MEDIANCUT)
    file = io.BytesIO()
    pixels.quantize(palette=palette, dither=Image.Dither.NONE).save(file, "png")
    return file.getvalue()


@cache
def _has_fonts() -> bool:
    """Whether matplotlib is installed with its fonts, without which some systems package it."""
    return all((_font_folder() / file).is_file() for file in (_PLAIN, _BOLD))


def _has_letters(text: str) -> bool:
    """Whether the fonts have the letters of a text."""
    return all(ord(letter) <= _LAST_LETTER or ord(letter) in _SIGNS for letter in text)


class _Drawing:
    """The shapes of a display list, one above the other."""

    def __init__(self, display: DisplayList) -> None:
        left, top, width, height = display.area
        size = (round(width * _TWICE), round(height * _TWICE))
        self._left, self._top, self._shapes = left, top, display.shapes
        self._image = Image.new("RGB", size, display.theme.background)
        self._opaque = ImageDraw.Draw(self._image)
        # Mixing colors with what is below takes ten times as long.
        self._mixing = ImageDraw.Draw(self._image, "RGBA")

    def pixels(self) -> Image.Image:
        """The picture, as large as on the screen."""
        for shape in self._shapes:
            match shape:
                case Box():
                    self._add_box(shape)
                case Polyline():
                    self._add_polyline(shape)
                case Triangle():
                    self._opaque.polygon(self._corners(shape.points), shape.fill)
                case Label():
                    self._add_label(shape)
        return self._image.reduce(_TWICE)

    def _add_box(self, box: Box) -> None:
        left, top = self._place(*box.place[:2])
        width, height = (length * _TWICE for length in box.place[2:])
        right, bottom = left + width, top + height
        radius = min(box.radius * _TWICE, width / 2, height / 2)
        fill, line = (_color(color, box.alpha) for color in (box.fill, box.line))
        thick = 0 if box.dash or not line else _pixels(box.thick)
        if fill or thick:
            draw = self._draw(box.alpha)
            draw.rounded_rectangle((left, top, right, bottom), radius, fill, line, thick)
        if line and box.dash:
            corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
            self._add_stroke(corners, box)

    def _add_polyline(self, line: Polyline) -> None:
        self._add_stroke(_with_round_corners(self._corners(line.points), line.corner), line)
        if line.head is not None:
            head = self._corners(line.head)
            self._draw(line.alpha).polygon(head, _color(line.line, line.alpha))

    def _add_stroke(self, path: Corners, shape: Box | Polyline) -> None:
        """A line with the color, thickness and dashes of a shape."""
        color, thick = _color(shape.line, shape.alpha), _pixels(shape.thick)
        joint = "curve" if thick > _TWICE else None
        dashes = [length * _TWICE for length in shape.dash]
        for piece in _dashes(path, dashes) if dashes else [path]:
            self._draw(shape.alpha).line(piece, color, thick, joint)

    def _add_label(self, label: Label) -> None:
        text = "".join(letter if letter.isprintable() else " " for letter in label.text)
        font = _font(label.size, _BOLD if label.bold else _PLAIN)
        middle = self._place(label.x, label.y)
        anchor = "mm" if label.middle else "lm"
        if label.upright:
            self._add_upright(label, text, font)
        elif label.rim and label.middle:
            left, top = self._place(*label.plate[:2])
            width, height = (length * _TWICE for length in label.plate[2:])
            self._opaque.rectangle((left, top, left + width, top + height), label.rim)
            self._opaque.text(middle, text, label.color, font, anchor)
        else:
            rim = _RIM * _TWICE if label.rim else 0
            self._opaque.text(
                middle, text, label.color, font, anchor, stroke_width=rim, stroke_fill=label.rim
            )

    def _add_upright(self, label: Label, text: str, font: ImageFont.FreeTypeFont) -> None:
        """The text of a line that goes down, read from below to above, on its plate."""
        width, height = (_pixels(length) for length in label.plate[2:])
        plate = Image.new("RGBA", (width, height), label.rim or (0, 0, 0, 0))
        ImageDraw.Draw(plate).text((width / 2, height / 2), text, label.color, font, "mm")
        x, y = self._place(label.x, label.y)
        turned = plate.transpose(Image.Transpose.ROTATE_90)
        self._image.paste(turned, (round(x - height / 2), round(y - width / 2)), turned)

    def _draw(self, alpha: float) -> ImageDraw.ImageDraw:
        return self._opaque if alpha == _OPAQUE else self._mixing

    def _place(self, x: float, y: float) -> tuple[float, float]:
        """Where a point of the scene is in the image."""
        return (x - self._left) * _TWICE, (y - self._top) * _TWICE

    def _corners(self, points: Points) -> Corners:
        return [self._place(x, y) for x, y in points.tolist()]


def _pixels(length: float) -> int:
    """A length of the scene in the image; at least one."""
    return max(round(length * _TWICE), 1)


def _color(color: str, alpha: float) -> str | None:
    """A color "#rrggbb" with its opacity; None for ""."""
    if not color or alpha == _OPAQUE:
        return color or None
    return f"{color}{round(alpha * 255):02x}"


def _dashes(path: Corners, lengths: list[float]) -> Iterator[Corners]:
    """The pieces of a path that are drawn, of lengths that are drawn and left out by turns."""
    turn, rest, piece = 0, lengths[0], [path[0]]
    for (x, y), (end_x, end_y) in pairwise(path):
        length, done = hypot(end_x - x, end_y - y), 0.0
        while length - done > rest:
            done += rest
            share = done / length
            piece.append((x + (end_x - x) * share, y + (end_y - y) * share))
            if turn % 2 == 0:
                yield piece
            turn, piece = turn + 1, piece[-1:]
            rest = lengths[turn % len(lengths)]
        rest -= length - done
        piece.append((end_x, end_y))
    if turn % 2 == 0:
        yield piece


def _with_round_corners(line: Corners, radius: float) -> Corners:
    """A line with round corners; one between two short pieces takes at most half of each."""
    path = line[:1]
    for (ax, ay), (x, y), (bx, by) in zip(line, line[1:], line[2:], strict=False):
        before, after = hypot(ax - x, ay - y), hypot(bx - x, by - y)
        cut = min(radius * _TWICE, before / 2, after / 2)
        if cut < 1:
            path.append((x, y))
            continue
        a, b = cut / before, cut / after
        start = (x + (ax - x) * a, y + (ay - y) * a)
        end = (x + (bx - x) * b, y + (by - y) * b)
        path += [_on_curve(start, (x, y), end, piece / _PIECES) for piece in range(_PIECES + 1)]
    return [*path, line[-1]]


def _on_curve(
    start: tuple[float, float], corner: tuple[float, float], end: tuple[float, float], share: float
) -> tuple[float, float]:
    """A point of the quadratic Bézier curve of a corner, this share of the way along it."""
    x, y = (
        (1 - share) ** 2 * a + 2 * (1 - share) * share * b + share**2 * c
        for a, b, c in zip(start, corner, end, strict=True)
    )
    return x, y


@cache
def _font(size: float, file: str) -> ImageFont.FreeTypeFont:
    """A font in a size in pixels of the scene."""
    return ImageFont.truetype(str(_font_folder() / file), size * _TWICE)


def _font_folder() -> Path:
    """Where matplotlib, which is not imported, has its fonts."""
    matplotlib = find_spec("matplotlib")
    return Path((matplotlib and matplotlib.origin) or "").parent / "mpl-data" / "fonts" / "ttf"

"""The picture in a notebook's file: Pillow draws what matplotlib draws of the same scene."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.layout.checks import graph_of
from tests.scene.test_display_list import PAINTS, drawing, painted
from tfgraphwidget.scene.rendering import matplotlib_axes, notebook_png
from tfgraphwidget.scene.scene import Paint, Scene, build
from tfgraphwidget.visible.view_spec import ViewSpec

pytestmark = pytest.mark.no_tensorflow
BLOCK = 16  # pixels: letters of the two are up to a pixel apart
MOST = 40.0  # of 255, by which the mean color of a block differs; that of text on a plate most
MEAN = 5.0  # the same of all blocks


def picture(scene: Scene, paint: Paint | None = None) -> Image.Image:
    return Image.open(io.BytesIO(notebook_png.png(scene, paint=paint))).convert("RGB")


def blocks(image: Image.Image) -> np.ndarray:
    """The mean color of each block of pixels, (rows, columns, 3)."""
    rows, columns = image.height // BLOCK, image.width // BLOCK
    pixels = np.asarray(image, dtype=float)[: rows * BLOCK, : columns * BLOCK]
    return pixels.reshape(rows, BLOCK, columns, BLOCK, 3).mean((1, 3))


@pytest.mark.parametrize("fields", PAINTS.values(), ids=PAINTS)
def test_it_shows_what_matplotlib_draws(fields: dict[str, dict[str, object]]) -> None:
    scene = drawing()
    paint = painted(scene, fields)
    ours, theirs = picture(scene, paint), matplotlib_axes.pixels(scene, paint=paint)
    size = [min(pair) for pair in zip(ours.size, theirs.size, strict=True)]
    assert all(abs(a - b) <= 1 for a, b in zip(ours.size, theirs.size, strict=True))
    ours, theirs = (image.crop((0, 0, *size)) for image in (ours, theirs))
    differences = np.abs(blocks(ours) - blocks(theirs))
    assert differences.max() < MOST
    assert differences.mean() < MEAN


def test_an_open_scope_is_seen_on_the_ground() -> None:
    scene = drawing()
    colors = picture(scene, painted(scene, {}))
    left, top, _, height = scene.box[scene.names.index("net")].tolist()
    inside, outside = ((left + dx, top + height / 2) for dx in (5, -5))
    assert colors.getpixel(inside) != colors.getpixel(outside)


@pytest.mark.parametrize(
    ("name", "by_matplotlib"), [("Überblick_Ж", False), ("卷积", True), ("→ next", False)]
)
def test_letters_that_its_font_lacks_are_drawn_by_matplotlib(
    monkeypatch: pytest.MonkeyPatch, name: str, by_matplotlib: bool
) -> None:
    drawn: list[Scene] = []
    pixels = matplotlib_axes.pixels

    def counted(scene: Scene, *, paint: Paint | None = None) -> Image.Image:
        drawn.append(scene)
        return pixels(scene, paint=paint)

    monkeypatch.setattr(matplotlib_axes, "pixels", counted)
    picture(build(graph_of({name: "Placeholder"}), ViewSpec(frozenset())))
    assert bool(drawn) is by_matplotlib


def test_matplotlib_draws_where_it_is_packaged_without_its_fonts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(notebook_png, "_font_folder", lambda: tmp_path)
    notebook_png._has_fonts.cache_clear()
    try:
        assert picture(drawing()).size == matplotlib_axes.pixels(drawing()).size
    finally:
        notebook_png._has_fonts.cache_clear()


def test_a_box_that_is_pinned_far_away_takes_no_memory_of_all_between() -> None:
    scene = drawing()
    box = scene.box.copy()
    box[0, 2:] = box[-1, :2] = 1e6
    far = picture(replace(scene, box=box))
    assert far.width * far.height < 2 * notebook_png._MOST_PIXELS


def test_a_graph_of_nothing_has_a_picture() -> None:
    assert min(picture(build(graph_of({}), ViewSpec(frozenset()))).size) > 0


def test_the_pieces_of_a_dashed_line_go_around_its_corners() -> None:
    path = [(0.0, 0.0), (3.0, 0.0), (3.0, 10.0)]
    pieces = list(notebook_png._dashes(path, [4.0, 2.0]))
    assert pieces == [
        [(0.0, 0.0), (3.0, 0.0), (3.0, 1.0)],
        [(3.0, 3.0), (3.0, 7.0)],
        [(3.0, 9.0), (3.0, 10.0)],
    ]

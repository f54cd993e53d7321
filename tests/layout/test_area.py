"""How much of the sheet is used when everything is open."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest

import tfgraphwidget as tgw
from tests.bench.nets import resnet
from tests.models import NAMES, written
from tests.slow import slow_if
from tfgraphwidget.hierarchy.builder import outline_of
from tfgraphwidget.layout.compound import HEADER, Positions, place
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import OP, OPEN, VisibleGraph, build_visible_graph

# Shares of the whole picture: of the boxes of ops alone, and of all that says something, the boxes
# of ops, the headers of scopes and the lines with as much room around them as keeps them apart.
# What is left are gaps and empty corners. ResNet's training step stands in frames up to eleven
# deep, so a quarter for the boxes alone would need each frame to be nine tenths full, its header
# and its lines included. Since tensors have ports of their own along the borders of scopes, the
# boxes alone cover less, as what was one line into a scope are up to eight beside each other (in
# ResNet 6,393 for 5,203, in seq2seq 4,501 for 3,865), and enter beside the titles; boxes and lines
# together cover as much as before, or more. Since what holds weights has a frame of its own, and
# badges share rows, which makes boxes smaller, ResNet's and seq2seq's boxes cover a tenth less.
# Since many lines no longer go from the foot of one column to the head of the next, and rows of a
# few boxes are not split, lines are shorter (seq2seq's by a tenth, the transformer's by a ninth),
# and what is deep and narrow leaves more of its sheet empty. Columns are made where few lines pass,
# even if they are filled less: of ResNet's sheet boxes cover a twentieth less, and its lines, which
# are shorter, a tenth; of seq2seq's boxes an eighth. Cones have frames of their own, which leave a
# five-hundredth more of its sheet empty.
LEAST = {
    "resnet": (0.05, 0.135),
    "inception": (0.1, 0.22),
    "transformer": (0.05, 0.2),
    "seq2seq": (0.021, 0.112),
    "dqn": (0.1, 0.26),
    "keras": (0.1, 0.245),
}
_CELL, _CLEAR = 6.0, 6.0


@pytest.mark.parametrize("name", slow_if({"transformer", "keras"}.__contains__, [*NAMES, "keras"]))
@pytest.mark.sample(2)
def test_a_fully_open_model_uses_its_sheet(name, tmp_path):
    index = tgw.edit(resnet() if name == "keras" else written(name, tmp_path))._core.index
    shown = build_visible_graph(index, ViewSpec(frozenset(outline_of(index)[0].names)))
    boxes, all_used = used(shown, place(shown))
    assert boxes >= LEAST[name][0]
    assert all_used >= LEAST[name][1]


def used(shown: VisibleGraph, positions: Positions) -> tuple[float, float]:
    """(share of the picture that boxes of ops cover; that they, headers and lines with room around
    them cover).
    """
    box = positions.box.astype(float)
    area = box[:, 2] * box[:, 3]
    width, height = (box[0, 2:] / _CELL).astype(int) + 1
    sheet = np.zeros((height, width), dtype=bool)
    for item, (left, top, wide, tall) in enumerate(box.tolist()):
        if item and shown.kind[item] != OPEN:
            _fill(sheet, (left, top), (left + wide, top + tall))
        elif item:
            _fill(sheet, (left, top), (left + wide, top + HEADER))
    first = positions.route_start.astype(int)
    for start, stop in pairwise(first.tolist()):
        way = positions.route[start:stop].astype(float)
        for a, b in pairwise(way):
            _fill(sheet, tuple(np.minimum(a, b) - _CLEAR), tuple(np.maximum(a, b) + _CLEAR))
    return float(area[shown.kind == OP].sum() / area[0]), float(sheet.mean())


def _fill(sheet: npt.NDArray[np.bool_], low: tuple[float, ...], high: tuple[float, ...]) -> None:
    (x, y), (right, below) = (
        [max(0, round(at / _CELL)) for at in corner] for corner in (low, high)
    )
    sheet[y:below, x:right] = True

"""How wide text is before a font is there, how it is cut, and how large boxes are for it."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from tfgraphwidget.hierarchy import FAMILIES
from tfgraphwidget.scene.rendering.svg_text import svg
from tfgraphwidget.scene.scene import build
from tfgraphwidget.visible.measure import (
    BADGE_INSET,
    item_sizes,
    place_badges,
    shorten,
    text_width,
    text_widths,
)
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import build_visible_graph

pytestmark = pytest.mark.no_tensorflow

ORDINARY = (
    "conv2d_12/BiasAdd",
    "Mixed_5b",
    "gradients",
    "ResourceApplyAdam",
    "[3×3×64×64]",
    "layer_0 … layer_2",
)
WIDE = ("W" * 30, "MWMWMWMW_@@@@@@@@@@@@", "WWWWWWWWWWWWWWWWWWWW … WWWWWWWWWWWWWWWWW")


PAGE = Path(__file__).parents[2] / "labextension" / "src" / "render" / "canvas" / "far-labels.ts"


def test_the_page_has_the_same_widths_of_letters() -> None:
    table = re.search(r"const ADVANCES = \[(.*?)\];", PAGE.read_text(), re.DOTALL)
    assert table
    advances = [int(number) for number in re.findall(r"\d+", table[1])]
    assert advances == [round(100 * text_width(chr(32 + i))) for i in range(len(advances))]
    assert len(advances) == 127 - 32


def drawn(text: str) -> float:
    """How wide matplotlib's own font draws a text at a size of 1."""
    path = TextPath((0, 0), text, size=100, prop=FontProperties(family="DejaVu Sans"))
    return float(path.get_extents().width) / 100


@pytest.mark.parametrize("text", [*ORDINARY, *WIDE])
def test_text_is_as_wide_as_a_font_draws_it(text):
    assert drawn(text) <= text_width(text) <= 1.08 * drawn(text) + 0.3


def test_east_asian_letters_are_square_and_marks_take_no_room():
    assert text_width("卷积层") == 3
    assert text_width("e\u0301") == text_width("é") == text_width("e")
    assert text_width("a\u200db") == text_width("ab")
    assert text_width("🙂") > 1


def test_all_at_once_is_the_same_as_one_by_one():
    texts = ["", "conv", *WIDE, "卷积🙂", "größe", ""]
    assert text_widths(texts).tolist() == [text_width(text) for text in texts]
    assert text_widths([]).tolist() == []


def test_what_is_cut_fits_and_keeps_its_end():
    for text in (*ORDINARY, *WIDE, "日本語" * 30 + "_7", "x" * 1000 + "W" * 400):
        for room in (4.0, 9.0, 17.5):
            short = shorten(text, room)
            assert text_width(short) <= room
            assert short == text or (
                short[0] == text[0] and short[-1] == text[-1] and len(short) > 2
            )


def test_a_group_that_is_cut_keeps_its_number_first():
    room = text_width("block_7")
    assert [shorten(f"block_{k}_*", room) for k in (1, 7)] == ["block_1", "block_7"]


def test_a_fold_that_is_cut_has_one_ellipsis():
    for room in np.arange(3.0, text_width("layer_0 … layer_2"), 0.25).tolist():
        assert shorten("layer_0 … layer_2", room).count("…") == 1


def test_what_is_cut_keeps_the_numbers_that_tell_it_from_its_siblings():
    def cut(text: str, like: str) -> str:
        return shorten(text, text_width(like))

    assert cut("tower_0/net", "to…0/net") == "to…0/net"
    assert cut("hidden_layer_12", "hidd…12") == "hidd…12"
    assert cut("layer_0 … layer_2", "layer_0 … 2") == "layer_0 … 2"
    assert cut("layer_9 … layer_12", "layer_9…12") == "layer_9…12"
    assert cut("Mixed_5b … Mixed_5d", "Mixed_5b … 5d") == "Mixed_5b … 5d"
    assert cut("block1 … block12", "block1 … 12") == "block1 … 12"
    assert cut("first_part … second_part", "first_part … seco").count("…") == 1


@pytest.mark.parametrize("name", ["W" * 12, "M" * 40, "卷积层卷积层", "🙂" * 30, "@" * 25 + "_1"])
def test_names_of_wide_letters_stay_in_their_boxes(graph, name):
    scene = build(
        graph({"x": "Placeholder", f"{name}/a": "Relu x", f"{name}/b": f"Relu {name}/a"}),
        ViewSpec(),
    )
    root = ET.fromstring(svg(scene))
    said = [text.text for text in root.findall("{http://www.w3.org/2000/svg}text")]
    box = {scene.names[item]: scene.box[item] for item in range(1, len(scene))}[name]
    shown = next(text for text in said if text and text[0] == name[0])
    assert 12 * text_width(shown) <= box[2] - 10
    assert shown == name or box[2] == 220


def test_the_badges_of_a_box_share_rows_as_wide_as_the_box_and_never_overlap(graph):
    parameters = ("gamma", "beta", "moving_mean", "moving_variance")
    ops = {"x": "Placeholder"} | dict.fromkeys(parameters, "VarHandleOp")
    ops |= {f"{each}_read": f"ReadVariableOp {each}" for each in parameters}
    ops["norm"] = "FusedBatchNormV3 x " + " ".join(f"{each}_read" for each in parameters)
    ops |= {"kernel": "VarHandleOp", "kernel_read": "ReadVariableOp kernel"}
    ops["conv"] = "Conv2D norm kernel_read"
    shown = build_visible_graph(graph(ops), ViewSpec())
    box = np.zeros((len(shown), 4))
    box[:, 2:] = item_sizes(shown)
    place_badges(shown, box)
    norm = shown.names.index("norm")
    badges = np.flatnonzero(shown.parent == norm)
    assert len(badges) == 4
    assert box[norm, 3] < 2 * box[shown.names.index("conv"), 3]
    rows = {}
    for badge in badges.tolist():
        rows.setdefault(box[badge, 1], []).append(badge)
    assert len(rows) < 4
    for row in rows.values():
        left, right = box[row, 0], box[row, 0] + box[row, 2]
        assert left[0] == pytest.approx(box[norm, 0] + BADGE_INSET)
        assert right[-1] == pytest.approx(box[norm, 0] + box[norm, 2] - BADGE_INSET)
        assert (left[1:] > right[:-1]).all()


def test_what_is_most_of_a_network_is_larger_than_a_layer_and_not_grey(graph):
    ops, before = {"x": "Placeholder"}, "x"
    for scope, layers in (("small", 3), ("large", 120)):
        for k in range(layers):
            ops[f"{scope}/w{k}"] = "Const"
            ops[f"{scope}/mul{k}"] = f"MatMul {before} {scope}/w{k}"
            ops[f"{scope}/relu{k}"] = f"Relu {scope}/mul{k}"
            before = f"{scope}/relu{k}"
    shown = build_visible_graph(graph(ops), ViewSpec())
    small, large = shown.names.index("small"), shown.names.index("large")
    size = item_sizes(shown)
    assert (size[large] > size[small]).all()
    assert FAMILIES[shown.family[large]] == "linear"

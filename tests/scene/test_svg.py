"""The picture as SVG, which a notebook keeps and shows where there is no kernel."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import numpy as np
import pytest

from tfgraphwidget.scene.rendering.display_list import thickness
from tfgraphwidget.scene.rendering.svg_text import svg
from tfgraphwidget.scene.scene import build, paint
from tfgraphwidget.visible.measure import shorten
from tfgraphwidget.visible.view_spec import ViewSpec

pytestmark = pytest.mark.no_tensorflow

NAME = "{http://www.w3.org/2000/svg}"


def written(index, *opened, **how):
    """The SVG of a graph, read back."""
    return ET.fromstring(svg(build(index, ViewSpec(frozenset(opened))), **how))


def test_every_box_and_every_name_is_there(network):
    scene = build(network, ViewSpec(frozenset({"net"})))
    root = ET.fromstring(svg(scene))
    assert root.get("viewBox") == f"0 0 {scene.box[0, 2]:g} {scene.box[0, 3]:g}"
    assert len(root.findall(f"{NAME}rect")) >= len(scene)
    assert {text.text for text in root.findall(f"{NAME}text")} >= {
        "x",
        "▾ net",
        "one",
        "two",
        "loss",
    }
    assert len(root.findall(f"{NAME}path")) == len(scene.source)


def test_a_name_from_a_file_is_text_and_not_markup(graph):
    name = "<img_src=x_onerror=alert(1)>"
    root = written(graph({name: "Placeholder", "a\x00b\x1b": "Placeholder"}))
    texts = {text.text for text in root.findall(f"{NAME}text")}
    assert texts == {shorten(name, 210 / 12), "ab"} or name in texts
    assert root.find(f".//{NAME}img") is None
    assert root.find(f".//{NAME}script") is None


def test_nothing_comes_from_outside(network):
    text = svg(build(network, ViewSpec()))
    assert text.count("http") == 1  # the namespace


def test_an_area_holds_what_touches_it_and_no_more(network):
    scene = build(network, ViewSpec(frozenset({"net"})))
    item = scene.names.index("x")
    left, top, width, height = scene.box[item].tolist()
    root = ET.fromstring(svg(scene, area=(left, top, width, height)))
    texts = {text.text for text in root.findall(f"{NAME}text")}
    assert "x" in texts
    assert "two" not in texts


def test_the_selection_is_seen_in_it(network):
    scene = build(network, ViewSpec())
    chosen = paint(scene, np.ones(len(network), dtype=bool))
    assert svg(scene, paint=chosen) != svg(scene)


@pytest.mark.parametrize("dark", [False, True])
def test_both_themes_have_their_background(network, dark):
    assert ("#16191d" in svg(build(network, ViewSpec()), dark=dark)) is dark


def test_lines_are_wider_for_larger_tensors():
    sizes = [thickness(1, size) for size in (4.0, 4e3, 4e6, 4e9)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[2]
    assert thickness(0, 0.0) == 1.0


@pytest.mark.parametrize("opened", [(), ("layer_0",)])
def test_a_loop_s_name_has_room_for_its_sign(graph, opened):
    index = graph(
        {"x": "Placeholder", "layer_0/cond": "LoopCond x", "layer_0/out": "Relu layer_0/cond"}
    )
    texts = {text.text for text in written(index, *opened).findall(f"{NAME}text")}
    assert ("▾ ⟲ layer_0" if opened else "⟲ layer_0") in texts


def test_a_line_that_passes_a_scope_s_name_stays_behind_its_letters(network):
    names = {text.text: text for text in written(network, "net").findall(f"{NAME}text")}
    assert names["▾ net"].get("paint-order") == "stroke"
    assert names["▾ net"].get("stroke")
    assert names["x"].get("stroke") is None

"""Saved pictures show what the screen shows: the file that
labextension/tests/render/pictures.test.ts compares.

`python -m tests.scene.test_display_list` writes the file again, after an intended change of the
drawing.
"""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.layout.checks import graph_of
from tfgraphwidget.scene import scene as scenes
from tfgraphwidget.scene.coloring.legend import Legend, LegendEntry
from tfgraphwidget.scene.coloring.palette import default_theme, theme_on
from tfgraphwidget.scene.rendering.display_list import (
    Box,
    Label,
    Polyline,
    Triangle,
    _LabelPlaces,
    build_display_list,
)
from tfgraphwidget.scene.scene import Paint, Scene
from tfgraphwidget.visible import BADGE, CLOSED, text_width
from tfgraphwidget.visible.view_spec import ViewSpec

pytestmark = pytest.mark.no_tensorflow

GOLDEN = Path(__file__).parents[1] / "golden" / "pictures.json"
THEMES = {"light": ("#ffffff", "#1c2126"), "dark": ("#111111", "#ffffff")}
# name -> the fields of the paint that differ from none, by name of the item.
PAINTS: dict[str, dict[str, dict[str, Any]]] = {
    "plain": {},
    "selection": {
        "coverage": {"net": 2, "net/act": 2, "net/MatMul": 2, "head": 1},
        "mark": {"net/MatMul": 1, "x": 4, "net/act": 2},
        "fresh": {"loss": 1},
        "unused": {"extra": 1},
        "selected_line": {"net/MatMul": 1, "net/act": 1, "head/one": 1},
    },
    "comparison": {"differs": {"net/MatMul": 2, "loss": 1}, "probed": {"x": 1, "net/act": 2}},
    "coloring": {
        "tint": {"net/MatMul": 3, "head": 200, "x": 128},
        "note": {"net": "4 MB", "net/MatMul": "12 B", "head": "3 MB"},
    },
    "numbers": {
        "tint": {"net/MatMul": 3, "x": 128},
        "note": {
            "net": "465 MFLOP",
            "x": "1234567890123456 MFLOP",
            "net/MatMul": "12345678901234567890 ms",
        },
    },
    "untrusted": {"effects": {"net/act": 2, "head": 3}},
    "run": {"probed": {"net/act": 1}, "value": {"net/act": "mean 0.25, 1×4"}},
}


def drawing() -> Scene:
    """A scope that is open, a closed one with a function, a group, a loop, a training part, badges
    and a pin.
    """
    ops = {
        "x": "Placeholder",
        "net/w": "VariableV2",
        "net/MatMul": "MatMul x net/w",
        "net/act": "Relu net/MatMul",
        "extra": "Elu x",
        "head/one": "Tanh net/act",
        "head/two": "Tanh head/one",
        "head/both": "Add head/one net/act",
        "loss": "L2Loss head/both ^extra",
        "loop/enter": "Enter loss",
        "loop/exit": "Exit loop/enter",
    }
    scene = scenes.build(graph_of(ops), ViewSpec(frozenset({"net"})))
    at = {name: item for item, name in enumerate(scene.names)}

    def marked(items: dict[str, int], dtype: Any = np.uint8) -> Any:
        result = np.zeros(len(scene), dtype)
        for name, value in items.items():
            result[at[name]] = value
        return result

    labels = [f"?×{edge}×32" if tensors == 1 else "" for edge, tensors in enumerate(scene.tensors)]
    back = np.zeros(len(scene.source), np.uint8)
    back[0] = 1
    assert scene.kind[at["head"]] == CLOSED
    encoded = scenes._encode_texts(labels)
    return replace(
        scene,
        box=2 * scene.box,  # room for what is written on lines
        route=2 * scene.route,
        calls=marked({"loss": 1, "head": 2}),
        members=marked({"head": 4}, np.uint32),
        part=marked({"loop": 1}),
        loop=marked({"loop": 1}),
        pinned=marked({"x": 1}),
        aside=marked({"extra": 1}),
        back=back,
        bytes=np.geomspace(1e2, 1e9, len(scene.source)).astype(np.float32),
        edge_labels=labels,
        edge_label_start=encoded["start"],
        edge_label_bytes=encoded["bytes"],
    )


def painted(scene: Scene, fields: dict[str, dict[str, Any]]) -> Paint:
    """A paint with some of its fields set."""
    selected = np.isin(np.array(scene.index.names), [*fields.get("selected_line", {})])
    plain = scenes.paint(scene, selected)
    changed: dict[str, Any] = {}
    for field, by_name in fields.items():
        if field == "selected_line":
            continue  # the lines between these ops
        if field in ("note", "value"):
            encoded = scenes._encode_texts([by_name.get(name, "") for name in scene.names])
            changed |= {f"{field}_{part}": array for part, array in encoded.items()}
        else:
            changed[field] = np.array([by_name.get(name, 0) for name in scene.names], np.uint8)
    return replace(plain, **changed)


def shapes_of(scene: Scene, paint: Paint, theme: str) -> list[dict[str, Any]]:
    """The shapes of a picture as JSON."""
    found: list[dict[str, Any]] = []
    for shape in build_display_list(scene, theme_on(*THEMES[theme]), paint).shapes:
        match shape:
            case Label():
                found.append({"kind": "text"} | vars(shape))
            case Box():
                found.append({"kind": "box"} | vars(shape))
            case Polyline():
                ends = [*shape.points[0].tolist(), *shape.points[-1].tolist()]
                line = {name: getattr(shape, name) for name in ("line", "thick", "dash", "alpha")}
                found.append({"kind": "line", "ends": ends, "head": shape.head is not None} | line)
            case Triangle():
                found.append(
                    {"kind": "triangle", "points": shape.points.tolist(), "fill": shape.fill}
                )
    return found


def pictures() -> dict[str, Any]:
    """The drawing with each paint in each theme: what the browser gets, and what a saved picture
    has.
    """
    scene = drawing()
    cases = []
    for name, fields in PAINTS.items():
        paint = painted(scene, fields)
        layouts, buffer = scenes.to_bytes(scene.arrays() | paint.arrays())
        decoded = [
            dict(zip(("name", "dtype", "shape", "offset"), layout, strict=True))
            for layout in layouts
        ]
        expected = {theme: shapes_of(scene, paint, theme) for theme in THEMES}
        case = {
            "name": name,
            "fields": decoded,
            "buffer": base64.b64encode(buffer).decode(),
            "shapes": expected,
        }
        cases.append(case)
    texts = {
        shape["text"]
        for case in cases
        for shape in case["shapes"]["light"]
        if shape["kind"] == "text"
    }
    return {
        "themes": THEMES,
        "widths": {text: text_width(text) for text in sorted(texts)},
        "cases": cases,
    }


def test_the_file_that_the_browser_s_drawing_is_compared_with_is_that_of_today() -> None:
    assert json.loads(json.dumps(pictures())) == json.loads(GOLDEN.read_text())


def test_every_kind_of_mark_is_in_a_compared_picture() -> None:
    kinds = {
        "coverage",
        "mark",
        "fresh",
        "unused",
        "differs",
        "probed",
        "effects",
        "tint",
        "note",
        "value",
        "selected_line",
    }
    assert {field for fields in PAINTS.values() for field in fields} == kinds
    texts = {
        shape["text"]
        for case in pictures()["cases"]
        for shape in case["shapes"]["light"]
        if "text" in shape
    }
    assert texts >= {
        "▾ net",
        "×4",
        "in",
        "out",
        "+",
        "~",
        "✓",
        "!",
        "mean 0.25, 1×4",
        "12 B",
        "4 MB",
        "⟲ loop",
    }


def test_shapes_of_tensors_are_on_the_lines_that_have_room() -> None:
    scene = drawing()
    shown = [
        shape
        for shape in build_display_list(scene, default_theme(dark=False)).shapes
        if isinstance(shape, Label) and shape.rim
    ]
    assert [label for label in shown if label.text.startswith("?×")]


def test_a_label_of_a_line_does_not_lie_on_the_number_of_siblings() -> None:
    scene = drawing()
    x, y, width, _ = scene.box[scene.names.index("head")].tolist()
    beside = np.array([[x + width + 10, y - 32], [x + width + 10, y + 33]])
    none = replace(scene, members=np.zeros_like(scene.members), route=np.zeros_like(scene.route))
    assert _LabelPlaces(none).take(0, beside[None], 40.0, -1) == (x + width + 10, y + 0.5, True)
    assert (
        _LabelPlaces(replace(none, members=scene.members)).take(0, beside[None], 40.0, -1) is None
    )


def test_a_value_is_on_another_piece_without_room_on_the_longest_and_a_count_beside_it() -> None:
    scene = drawing()
    scene = replace(scene, members=np.zeros_like(scene.members), route=np.zeros_like(scene.route))
    x, y, width, height = scene.box[scene.names.index("head")].tolist()
    # The label would lie on the box.
    through = [
        [x - 50, y + height / 2],
        [x + width + 50, y + height / 2],
    ]
    free = [[x + width + 60, y], [x + width + 60, y + 50]]
    assert _LabelPlaces(scene).take(0, np.array([through, free]), 20.0, -1) == (
        x + width + 60,
        y + 25,
        False,
    )
    short = np.array([[[x + width + 60, y], [x + width + 60, y + 20]]])
    assert (
        _LabelPlaces(replace(scene, tensors=np.full_like(scene.tensors, 1))).take(
            0, short, 20.0, -1
        )
        is None
    )
    bundles = replace(scene, tensors=np.full_like(scene.tensors, 7))
    assert _LabelPlaces(bundles).take(0, short, 20.0, -1) == (x + width + 73, y + 10, False)
    assert _LabelPlaces(bundles).take(0, short, 20.0, 1) is None  # a value is a dot there


def test_a_picture_in_chosen_colors_says_below_the_drawing_what_they_mean() -> None:
    scene = drawing()
    plain = build_display_list(scene, default_theme(dark=False))
    entries = (
        LegendEntry("float32", 1, 12),
        LegendEntry("int32", 2, 1),
        LegendEntry("no output", 0, 3),
    )
    for legend, texts in (
        (
            Legend("dtype", entries),
            ["Color by dtype", "float32 · 12 ops", "int32 · 1 op", "no output · 3 ops"],
        ),
        (
            Legend("FLOPs", low="0", high="3 GFLOP", notice="batch = 1"),
            ["Color by FLOPs", "0", "3 GFLOP", "batch = 1"],
        ),
    ):
        paint = replace(painted(scene, {}), legend=legend)
        for area in (None, (100.0, 100.0, 260.0, 40.0)):
            shown = build_display_list(scene, default_theme(dark=False), paint, area)
            without = plain.area if area is None else area
            left, top, width, height = shown.area
            assert (left, top, width) == without[:3]
            bottom = top + without[3]
            assert top + height > bottom
            cover = Box((left, bottom, width, height - without[3]), 0.0, "#ffffff")
            background = shown.shapes.index(cover)
            labels = [shape for shape in shown.shapes[background:] if isinstance(shape, Label)]
            words = [
                label.text for label in labels if not label.bold or label.text.startswith("Color")
            ]
            assert words == texts if area is None else words[0] == texts[0]
            for label in labels:
                assert bottom < label.y < top + height
                assert (
                    label.x + (0 if label.middle else text_width(label.text) * label.size)
                    <= left + width
                )


def test_a_badge_has_a_sign_beside_its_name_only_where_its_op_has_another() -> None:
    scene = drawing()
    badge = next(item for item in range(len(scene)) if scene.kind[item] == BADGE)
    around = int(scene.parent[badge])

    def signs(differs: dict[int, int]) -> list[float]:
        array = np.zeros(len(scene), np.uint8)
        array[list(differs)] = list(differs.values())
        shown = build_display_list(
            scene, default_theme(dark=False), replace(painted(scene, {}), differs=array)
        )
        return [
            shape.x
            for shape in shown.shapes
            if isinstance(shape, Label) and shape.text in {"+", "~"}
        ]

    assert signs({badge: 1, around: 1}) == [float(scene.box[around, 0]) - 5]
    assert set(signs({badge: 1, around: 2})) == {
        float(scene.box[badge, 0]) - 7,
        float(scene.box[around, 0]) - 5,
    }


@pytest.mark.parametrize("color", ["red", "#fff", "rgb(1,2,300)", 'rgb(0,0,0)"/><script>'])
def test_what_is_no_color_is_not_written_into_a_picture(color: str) -> None:
    with pytest.raises(ValueError, match="is not a color"):
        theme_on(color, "#000000")


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(pictures()) + "\n")

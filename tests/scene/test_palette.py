"""Families of op types and their colours."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from tfgraphwidget.hierarchy.op_facts import FAMILIES, families, family
from tfgraphwidget.scene.coloring import palette

pytestmark = pytest.mark.no_tensorflow


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_every_family_has_a_colour_in_the_same_order():
    assert tuple(palette.FAMILIES) == FAMILIES


@pytest.mark.parametrize("name", FAMILIES)
def test_text_is_readable_on_every_fill(name):
    for fill, theme in zip(
        palette.FAMILIES[name],
        (palette.default_theme(dark=False), palette.default_theme(dark=True)),
        strict=True,
    ):
        assert contrast(fill, theme.text) >= 4.5
        assert contrast(fill, theme.marks["faint"]) >= 3.0


@pytest.mark.parametrize("dark", [False, True])
def test_text_is_readable_on_every_category_and_every_step_of_the_ramp(dark):
    theme = palette.default_theme(dark=dark)
    for fill in (*(pair[dark] for pair in palette.TINTS), *palette.ramp(dark=dark)):
        assert contrast(fill, theme.text) >= 4.5
        assert contrast(fill, theme.marks["faint"]) >= 3.0


@pytest.mark.parametrize("dark", [False, True])
def test_a_ramp_leaves_the_background_step_by_step(dark):
    fills, theme = palette.ramp(dark=dark), palette.default_theme(dark=dark)
    away = [contrast(fill, theme.background) for fill in fills]
    assert len(fills) == palette.RAMP_STEPS == 256 - 128
    assert all(later > earlier - 0.03 for earlier, later in pairwise(away))  # rounding to 8 bits
    assert away[64] > away[0] + 0.15
    assert away[-1] > away[64] + 0.15
    assert (fills[0], fills[-1]) == (palette.RAMP[dark][0], palette.RAMP[dark][-1])


# What people see who lack one kind of cone (Machado, Oliveira and Fernandes 2009), in linear RGB.
VISION = {
    "all": np.eye(3),
    "protanopia": np.array(
        [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]
    ),
    "deuteranopia": np.array(
        [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]
    ),
    "tritanopia": np.array(
        [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(colour, vision):
    """CIE L*a*b* of a colour as some people see it."""
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    x, y, z = np.cbrt(TO_XYZ @ np.clip(VISION[vision] @ linear, 0, 1) / (0.9505, 1, 1.089))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("vision", VISION)
def test_categories_stay_apart_whatever_colours_one_sees(vision, dark):
    seen = [
        lab(fill, vision)
        for fill in (*(pair[dark] for pair in palette.TINTS), palette.FAMILIES["other"][dark])
    ]
    # 2.3 can just be told apart.
    assert min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2)) >= 8


@pytest.mark.parametrize(
    ("op_type", "name"),
    [
        ("Placeholder", "input"), ("Const", "constant"), ("VariableV2", "variable"),
        ("ReadVariableOp", "variable"), ("Conv2D", "linear"), ("MatMul", "linear"),
        ("BiasAdd", "linear"), ("Relu6", "activation"), ("FusedBatchNormV3", "normalization"),
        ("MaxPool", "pooling"), ("AvgPool3D", "pooling"), ("L2Loss", "arithmetic"),
        ("AddV2", "arithmetic"), ("RandomUniform", "arithmetic"), ("CustomDropout", "arithmetic"),
        ("Reshape", "shape"), ("Switch", "control"), ("NoOp", "control"), ("Assign", "state"),
        ("SaveV2", "state"), ("ResourceApplyAdam", "state"), ("SomebodysOwnOp", "other"),
    ],
)  # fmt: skip
def test_families_of_common_ops(op_type, name):
    assert FAMILIES[family(op_type)] == name
    assert families([op_type, op_type]).tolist() == [family(op_type)] * 2

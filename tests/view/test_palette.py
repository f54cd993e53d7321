"""Families of op types and their colours."""

from __future__ import annotations

import pytest

from tfgraphwidget.view import palette
from tfgraphwidget.view.family import FAMILIES, families, family


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
    for fill, theme in zip(palette.FAMILIES[name], (palette.LIGHT, palette.DARK), strict=True):
        assert contrast(fill, theme.text) >= 4.5
        assert contrast(fill, theme.faint_text) >= 3.0


@pytest.mark.parametrize(
    ("op_type", "name"),
    [
        ("Placeholder", "input"), ("Const", "constant"), ("VariableV2", "variable"), ("ReadVariableOp", "variable"),
        ("Conv2D", "linear"), ("MatMul", "linear"), ("BiasAdd", "linear"), ("Relu6", "activation"),
        ("FusedBatchNormV3", "normalisation"), ("MaxPool", "normalisation"), ("AddV2", "arithmetic"),
        ("Reshape", "shape"), ("Switch", "control"), ("NoOp", "control"), ("Assign", "state"), ("SaveV2", "state"),
        ("ResourceApplyAdam", "state"), ("SomebodysOwnOp", "other"),
    ],
)  # fmt: skip
def test_families_of_common_ops(op_type, name):
    assert FAMILIES[family(op_type)] == name
    assert families([op_type, op_type]).tolist() == [family(op_type)] * 2

"""A person's own values: what is a number, what a category, what none."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tfgraphwidget.scene.coloring.encodings import encode_values
from tfgraphwidget.scene.coloring.scales import RAMP_START, Categories, Numbers

pytestmark = pytest.mark.no_tensorflow

HUGE = (10**400, -(10**400))  # beyond all floats


@pytest.mark.parametrize(
    "nothing",
    [None, float("nan"), float("inf"), np.float32("nan"), *HUGE, ""],
    ids=lambda value: repr(value)[:9],
)
def test_what_is_no_value_colours_nothing(nothing: Any) -> None:
    known = encode_values([1.5, nothing, 2])
    assert isinstance(known, Numbers)
    assert known.tint(known.value).tolist() == [RAMP_START, 0, 255]


def test_a_column_of_pandas_may_have_gaps() -> None:
    known = encode_values(pd.Series([1, None, 3], dtype="Int64").tolist())
    assert isinstance(known, Numbers)
    assert np.isnan(known.value).tolist() == [False, True, False]
    words = encode_values(pd.Series(["slow", None, "fast"], dtype="string").tolist())
    assert isinstance(words, Categories)
    assert (sorted(words.labels), words.code.tolist().count(-1)) == (["fast", "slow"], 1)
    dates = encode_values(pd.Series([datetime(2020, 1, 1), None]).tolist())
    assert isinstance(dates, Categories)
    assert dates.code.tolist() == [0, -1]


def test_an_array_for_a_value_is_a_category() -> None:
    known = encode_values([np.array([1, 2]), "b", None])
    assert isinstance(known, Categories)
    assert sorted(known.labels) == ["[1 2]", "b"]


def test_numbers_at_the_ends_of_float64_have_a_ramp() -> None:
    known = encode_values([-1.5e308, 0.0, 1.5e308])
    assert isinstance(known, Numbers)
    assert known.tint(known.value).tolist() == [RAMP_START, 192, 255]

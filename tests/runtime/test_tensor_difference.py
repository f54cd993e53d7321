"""How far two tensors are apart: the numbers are those of NumPy, and rounding is told from more."""

from __future__ import annotations

import math
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from tfgraphwidget.errors import InvalidArgument
from tfgraphwidget.runtime.measure import Tolerance, tensor_difference, weight_difference
from tfgraphwidget.runtime.measure.tensor_differences import BLOCK
from tfgraphwidget.runtime.measure.tolerance import EPSILON, growth, terms

FLOATS = [np.float16, np.float32, np.float64, ml_dtypes.bfloat16]


def drawn(size: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=size)


@pytest.mark.parametrize("size", [1, 7, BLOCK, 2 * BLOCK + 3])
@pytest.mark.parametrize("dtype", FLOATS)
def test_the_numbers_are_those_of_numpy(size: int, dtype: type) -> None:
    a = drawn(size).astype(dtype)
    b = np.where(np.arange(size) % 3, a, a * 1.5 + 1).astype(dtype)
    p, q = a.astype(np.float64), b.astype(np.float64)
    found = tensor_difference("t", a, b)
    gap = np.abs(p - q)
    assert found.differing == np.count_nonzero(p != q)
    assert found.largest == pytest.approx(gap.max(), rel=1e-6)
    assert found.relative == pytest.approx((gap / np.maximum(abs(p), abs(q))).max(), rel=1e-6)
    assert found.scale == pytest.approx(max(abs(p).max(), abs(q).max()), rel=1e-6)
    assert found.scaled == pytest.approx(gap.max() / found.scale, rel=1e-6)
    norms = np.linalg.norm(p), np.linalg.norm(q)
    np.testing.assert_allclose(found.norms, norms, rtol=1e-5)
    assert found.cosine == pytest.approx(p @ q / np.prod(norms), rel=1e-5)


@pytest.mark.parametrize("dtype", FLOATS)
def test_ulps_count_the_numbers_between(dtype: type) -> None:
    one = np.asarray([1.0], dtype)
    near = one
    for _ in range(5):
        near = np.nextafter(near, np.asarray([2.0], dtype))
    assert tensor_difference("t", one, near).ulps == 5
    least = np.nextafter(np.asarray([0.0], dtype), one)
    assert tensor_difference("t", -least, least).ulps == 2
    assert tensor_difference("t", np.asarray([0.0], dtype), np.asarray([-0.0], dtype)).ulps == 0


def test_nan_equals_nan_and_nothing_else() -> None:
    a = np.asarray([1.0, np.nan, np.nan, np.inf, -np.inf])
    same = tensor_difference("t", a, a.copy())
    assert (same.same, same.largest, same.nans, same.differs) == (True, 0.0, (2, 2), False)
    b = np.asarray([1.0, np.nan, 2.0, np.inf, -np.inf])
    found = tensor_difference("t", a, b)
    assert (found.differing, found.nans, found.scaled) == (1, (2, 1), math.inf)
    assert found.differs
    assert tensor_difference("t", a, -a).largest == math.inf


@pytest.mark.parametrize(
    ("a", "b", "differs"),
    [
        ([1, 2], [1, 3], True),
        ([1, 2], [1, 2], False),
        ([2**60], [2**60 + 1], True),
        ([True], [False], True),
        ([b"a"], [b"b"], True),
        ([1 + 1j], [1 - 1j], True),
        ([], [], False),
        ([1.0], [[1.0]], True),
    ],
)
def test_what_is_no_float_is_compared_exactly(a: list, b: list, differs: bool) -> None:
    arrays = [np.asarray(x, object if x and isinstance(x[0], bytes) else None) for x in (a, b)]
    assert tensor_difference("t", *arrays).differs == differs


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("magnitude", [1e-30, 1e-5, 1.0, 1e30])
def test_norms_of_the_smallest_and_largest_numbers_are_those_of_numpy(
    dtype: type, magnitude: float
) -> None:
    values = [drawn(50, seed) * magnitude for seed in (1, 2)]
    with np.errstate(over="ignore"):
        a, b = (value.astype(dtype) for value in values)
    if not np.isfinite(a.astype(np.float64)).all() or not a.astype(np.float64).any():
        a, b = (np.full(50, fill, dtype) for fill in (1, 2))  # float16 has no such numbers
    p, q = a.astype(np.float64), b.astype(np.float64)
    found = tensor_difference("t", a, b)
    norms = np.linalg.norm(p), np.linalg.norm(q)
    np.testing.assert_allclose(found.norms, norms, rtol=1e-5)
    assert found.cosine == pytest.approx(p @ q / np.prod(norms), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("dtype", [*FLOATS, np.int8, np.int64, np.uint32, np.bool_, np.complex64])
def test_histograms_are_those_of_numpy_with_the_same_bins_for_both(dtype: type) -> None:
    a, b = (np.maximum(10 * drawn(999, seed), 0).astype(dtype) for seed in (1, 2))
    found = weight_difference("w", a, b, "v")
    p, q = ((abs(x) if x.dtype.kind == "c" else x).astype(np.float64) for x in (a, b))
    ends = min(p.min(), q.min()), max(p.max(), q.max())
    assert found.range == ends
    assert found.histograms is not None
    for counts, values in zip(found.histograms, (p, q), strict=True):
        np.testing.assert_array_equal(counts, np.histogram(values, len(counts), ends)[0])
    assert (found.name, found.other, found.ulps) == ("w", "v", None)


def test_weights_that_no_histogram_is_of_have_none() -> None:
    for a, b in (
        (np.asarray([b"a"], object), np.asarray([b"b"], object)),
        (np.zeros([0, 3]), np.zeros([0, 3])),
        (np.asarray([np.nan]), np.asarray([np.inf])),
    ):
        assert weight_difference("w", a, b, "w").histograms is None
    scalar = weight_difference("w", np.float32(2), np.float32(2), "w")
    assert scalar.histograms is not None
    assert [sum(counts) for counts in scalar.histograms] == [1, 1]
    holes = weight_difference("w", np.asarray([1, np.nan, 3]), np.asarray([1, 2, np.inf]), "w")
    assert holes.histograms is not None
    assert [sum(counts) for counts in holes.histograms] == [2, 2]
    assert holes.range == (1, 3)


def test_weights_of_two_shapes_have_norms_and_histograms() -> None:
    a, b = drawn(6, 1).reshape(2, 3), drawn(8, 2)
    found = weight_difference("w", a, b, "w")
    assert (found.largest, found.cosine, found.distance) == (None, None, math.inf)
    np.testing.assert_allclose(found.norms, [np.linalg.norm(a), np.linalg.norm(b)], rtol=1e-12)
    assert found.histograms is not None
    assert [sum(counts) for counts in found.histograms] == [6, 8]


def test_the_distance_is_infinite_where_it_is_no_number() -> None:
    numbers = np.asarray([1.0, 2.0])
    pairs = {
        0.5: (numbers, numbers + np.asarray([0, 0.5])),
        0.0: (np.asarray([np.nan, np.inf]), np.asarray([np.nan, np.inf])),
        1.0: (np.asarray([True, False]), np.asarray([True, True])),
    }
    for distance, (a, b) in pairs.items():
        assert tensor_difference("t", a, b).distance == distance
    for a, b in (
        (numbers, numbers.astype(np.float32)),
        (numbers, numbers[:1]),
        (numbers, np.asarray([1.0, np.nan])),
        (numbers, np.asarray([1.0, np.inf])),
    ):
        assert tensor_difference("t", a, b).distance == math.inf


def test_a_mask_is_not_the_scale_of_the_scores() -> None:
    scores = drawn(1000).astype(np.float32)
    masked = np.where(np.arange(1000) % 2, scores, np.float32(-1e9))
    changed = masked.copy()
    changed[1] += 0.1
    found = tensor_difference("t", masked, changed)
    assert found.scale == 1e9
    assert found.scaled == pytest.approx(0.1 / abs(scores[1::2]).max(), rel=0.1)
    wide = np.geomspace(1, 1e9, 1000)
    assert tensor_difference("t", wide, wide + 1).scaled == pytest.approx(1e-9, rel=1e-3)


@pytest.mark.parametrize("other", [1.0, -math.inf])
@pytest.mark.parametrize("scale", [3.0, 3e4])
def test_infinity_is_near_nothing_however_large_the_numbers_around(
    scale: float, other: float
) -> None:
    a = np.asarray([math.inf, 1.0, scale], np.float32)
    b = np.asarray([other, 1.0, scale], np.float32)
    for found in (tensor_difference("t", a, b), tensor_difference("t", b, a)):
        assert (found.scaled, found.differs) == (math.inf, True)
    assert not tensor_difference("t", a, a.copy()).differs


def test_sums_in_another_order_are_within_the_tolerance() -> None:
    for dtype in (np.float32, np.float64):
        for size in (10, 1_000, 100_000):
            rows = drawn(size * 20).reshape(20, size).astype(dtype)
            forth = np.asarray([np.cumsum(row)[-1] for row in rows])  # one after another
            pairwise = rows.sum(1, dtype=dtype)
            found = tensor_difference("t", forth, pairwise)
            name = np.dtype(dtype).name
            variance = terms("Sum", [rows.shape], forth.shape) * EPSILON[name] ** 2
            larger = growth("Sum", [float(abs(rows).max())], found.scale)
            limit = Tolerance.of(None).limit((name, name), variance * larger**2)
            assert not replace(found, tolerance=limit).differs
            assert replace(found, tolerance=limit, scaled=1e3 * limit).differs


def test_a_tolerance_is_a_number_or_one_for_each_dtype() -> None:
    both = "float32", "float32"
    assert Tolerance.of(1e-3).limit(both, 1.0) == 1e-3
    assert Tolerance.of({"float32": 1e-3}).limit(both, 1.0) == 1e-3
    assert Tolerance.of({np.dtype("float16"): 1e-2}).limit(("float32", "float16"), 0.0) == 1e-2
    assert Tolerance.of(None).limit(("int32", "int32"), 1.0) == 0
    for wrong in (-1, "many", float("nan"), {"float32": -1}):
        with pytest.raises(InvalidArgument, match="tolerance"):
            Tolerance.of(wrong)


def test_terms_are_what_one_output_sums() -> None:
    assert terms("MatMul", [(8, 100), (100, 5)], (8, 5)) == 100
    assert terms("Sum", [(8, 100), (1,)], (8,)) == 100
    assert terms("Softmax", [(8, 100)], (8, 100)) == 100
    assert terms("Tanh", [(8, 100)], (8, 100)) == 1

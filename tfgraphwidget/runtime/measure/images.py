"""Pixels: numbers as small gray images: the filters of a kernel, a matrix, a vector. numpy only."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

Array = np.ndarray
MOST_FILTERS = 16  # of a convolution that are shown
LARGEST_FILTER = 32  # rows or columns of a kernel that is shown filter by filter
SIDE = 64  # pixels of a picture; more are the means of blocks
_FLAT = 128  # where all are equal


class GrayImage(NamedTuple):
    """An image, uint8 (rows, columns): 0 for the smallest value, 255 for the largest."""

    title: str
    pixels: Array


def gray_images(value: Array) -> tuple[GrayImage, ...]:
    """Return images of an array of numbers; none for scalars, for text, and for arrays without a
    two-dimensional view.

    For a kernel (height, width, in, out) one for each of its first filters, the mean over the
    inputs; for a matrix one, at most 64 by 64, each pixel the mean of a block; for a vector a
    strip.
    """
    if value.dtype.kind in "OSU" or value.size < 2:
        return ()
    with np.errstate(over="ignore", invalid="ignore"):
        # Means at the ends of float64, and of infinities.
        return tuple(_images(value))


def tensor_images(value: Array | None) -> tuple[GrayImage, ...]:
    """Return an image of what an op has computed, or none: of the first example, of an image the
    mean of its channels.

    Unlike `gray_images` it takes the first dimension for that of the batch.
    """
    if value is None or value.dtype.kind in "OSU" or value.size < 2:
        return ()
    with np.errstate(over="ignore", invalid="ignore"):
        if value.ndim == 4:
            picture = _downsample(_to_float64(value[0]).mean(axis=2))
            return (GrayImage(_title("first example", value.shape[1:]), _to_uint8(picture)),)
        if value.ndim == 3:
            return (
                GrayImage(
                    _title("first example", value.shape[1:]), _to_uint8(_downsample(value[0]))
                ),
            )
        return tuple(_images(value))


def _images(value: Array) -> Iterator[GrayImage]:
    if value.ndim == 4 and max(value.shape[:2]) <= LARGEST_FILTER and max(value.shape[:2]) > 1:
        yield from _filters(value)
    elif value.ndim == 4 and value.shape[:2] == (1, 1):  # a kernel of one pixel is a matrix
        yield _matrix(value[0, 0])
    elif value.ndim == 2:
        yield _matrix(value)
    elif value.ndim == 1:
        yield GrayImage(_title("vector", value.shape), _to_uint8(_downsample(value[None])))


def _filters(value: Array) -> Iterator[GrayImage]:
    count = value.shape[3]
    over = f", mean over {value.shape[2]:,} inputs" if value.shape[2] > 1 else ""
    for k in range(min(count, MOST_FILTERS)):
        yield GrayImage(
            f"filter {k + 1} of {count:,}{over}", _to_uint8(_to_float64(value[..., k]).mean(axis=2))
        )


def _matrix(value: Array) -> GrayImage:
    return GrayImage(_title("matrix", value.shape), _to_uint8(_downsample(value)))


def _title(what: str, shape: tuple[int, ...]) -> str:
    size = "×".join(f"{length:,}" for length in shape)
    return f"{what} {size}" + (", mean of blocks" if max(shape) > SIDE else "")


def _to_float64(value: Array) -> Array:
    """Return the array as float64; magnitudes of complex numbers."""
    numbers: Array = (
        np.abs(value).astype(np.float64) if value.dtype.kind == "c" else value.astype(np.float64)
    )
    return numbers


def _downsample(value: Array) -> Array:
    """Return at most 64 by 64 means of blocks, row by row as a matrix can be large."""
    rows, columns = (np.linspace(0, n, min(n, SIDE) + 1).astype(int) for n in value.shape)
    widths = np.diff(columns)
    return np.stack(
        [
            np.add.reduceat(_to_float64(value[top:bottom]).mean(axis=0), columns[:-1]) / widths
            for top, bottom in itertools.pairwise(rows)
        ]
    )


def _to_uint8(value: Array) -> Array:
    """Scale to 0 for the smallest and 255 for the largest value; not finite ones are 0."""
    finite = np.isfinite(value)
    if not finite.any():
        return np.zeros(value.shape, np.uint8)
    low, high = value[finite].min(), value[finite].max()
    if low == high:
        return np.where(finite, _FLAT, 0).astype(np.uint8)
    # Halved first: at the ends of float64 the difference of two is infinite.
    share = (np.where(finite, value, low) / 2 - low / 2) / (high / 2 - low / 2)
    levels: Array = (share * 255).round().astype(np.uint8)
    return levels

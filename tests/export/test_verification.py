"""When two results count as the same, and what a graph is tried on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export.verification.reference import ReferenceRun, next_numbers
from tfgraphwidget.export.verification.round_trip import check, describe_difference, is_rounding
from tfgraphwidget.export.verification.synthetic_feeds import InputSpec, generate_feeds
from tfgraphwidget.graph import Signature

NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("wanted", "got"),
    [
        ([1.0, NAN, INF, -INF], [1.0, NAN, INF, -INF]),
        (np.float32([1000, 1e-4]), np.float32([1000.001, 2e-4])),  # a few bits of the largest
        (np.float16([1, 2]), np.float16([1.001, 2])),
        (np.complex64([1 + 1j]), np.complex64([1 + 1.000001j])),
        ([], []),
        (np.array([b"a"], object), np.array([b"a"], object)),
        (tf.constant([1.0], tf.bfloat16).numpy(), tf.constant([1.01], tf.bfloat16).numpy()),
    ],
)
def test_these_are_the_same(wanted: Any, got: Any) -> None:
    assert describe_difference(wanted, got) == ""


@pytest.mark.parametrize(
    ("wanted", "got", "sentence"),
    [
        (np.float32([1, 2]), np.float32([1, 2.01]), "differs by 0.01"),
        (np.float32([0]), np.float32([1e-20]), "differs by 1e-20"),
        (np.float64([1]), np.float64([1 + 1e-8]), "differs by 1e-08"),
        ([1.0], [NAN], "has its infinite numbers, or those that are none, in other places"),
        ([INF], [-INF], "has its infinite numbers, or those that are none, in other places"),
        ([3, 4], [3, 5], "differs in 1 of 2 elements"),
        ([True], [False], "differs in 1 of 1 elements"),
        (np.array([b"a"], object), np.array([b"b"], object), "differs in 1 of 1 elements"),
        (
            np.float32([1]),
            np.float64([1]),
            "is float64 of shape (1,) in place of float32 of shape (1,)",
        ),
        ([1], [[1]], "is int64 of shape (1, 1) in place of int64 of shape (1,)"),
    ],
)
def test_these_are_not(wanted: Any, got: Any, sentence: str) -> None:
    assert describe_difference(wanted, got) == sentence


class Computed:
    """A reference that computes one output of one input with numpy."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function
        self.is_remote = False

    def is_refused(self) -> bool:
        return False

    @property
    def notices(self) -> list[str]:
        raise AssertionError("everything can be checked")

    def run_all(self) -> list[ReferenceRun]:
        return self.rerun(
            [(Signature("f", (("x", "x:0"),), (("y", "y:0"),)), {"x": np.float32([0.3, 0.7])}, {})]
        )

    def rerun(self, run_all: Sequence[ReferenceRun], *, moved: bool = False) -> list[ReferenceRun]:
        runs = [
            (signature, next_numbers(feeds) if moved else feeds) for signature, feeds, _ in run_all
        ]
        return [(signature, feeds, {"y": self.function(feeds["x"])}) for signature, feeds in runs]


@contextmanager
def in_another_order(
    x_to_y: Callable[[Any], Any],
) -> Iterator[Callable[[Signature, dict[str, Any]], dict[str, Any]]]:
    yield lambda _, feeds: {"y": x_to_y(feeds["x"])}


def test_a_graph_that_amplifies_the_last_bit_of_its_inputs_is_compared_by_that() -> None:
    def chaotic(x: Any) -> Any:
        for _ in range(24):
            x = np.float32(3.9) * (x * (np.float32(1) - x))
        return x

    def other(x: Any) -> Any:
        for _ in range(24):
            x = (np.float32(3.9) * x) * (np.float32(1) - x)
        return x

    x = np.float32([0.3, 0.7])
    assert describe_difference(chaotic(x), other(x)).startswith("differs by")
    check(Computed(chaotic), "The file", [("the loader", lambda: in_another_order(other))])
    with pytest.raises(
        GraphEditError, match=r"The file gives something else than the graph does: output 'y'"
    ):
        check(
            Computed(chaotic),
            "The file",
            [("the loader", lambda: in_another_order(lambda x: chaotic(x) + 1))],
        )
    with pytest.raises(GraphEditError, match=r"differs by 0\.0008"):
        check(
            Computed(np.sqrt),
            "The file",
            [("the loader", lambda: in_another_order(lambda x: np.sqrt(x) * 1.001))],
        )


def test_numbers_without_a_next_one_are_not_excused() -> None:
    assert next_numbers({"n": [1, 2], "s": [b"a"]})["n"].tolist() == [1, 2]
    assert not is_rounding([1, 2], [1, 3], [1, 3])
    assert not is_rounding(np.float32([1]), np.float32([2]), np.float32([1]))
    assert not is_rounding(np.float32([1]), np.float32([NAN]), np.float32([2]))


def test_values_are_made_of_the_right_dtypes_and_shapes() -> None:
    dtypes = (tf.float32, tf.bfloat16, tf.int32, tf.uint8, tf.bool, tf.string, tf.complex64)
    wanted = [InputSpec(dtype.name, dtype, (None, 3)) for dtype in dtypes]
    for values in generate_feeds(wanted):
        for dtype in dtypes:
            value = tf.constant(values[dtype.name])
            assert (value.dtype, value.shape[1:]) == (dtype, [3])
            assert not dtype.is_integer or not np.any(values[dtype.name] < 0)
    first, again = next(generate_feeds(wanted)), next(generate_feeds(wanted))
    assert all(np.array_equal(first[key], again[key]) for key in first)


def test_unknown_ranks_are_tried_one_after_the_other() -> None:
    ranks = [values["x"].ndim for values in generate_feeds([InputSpec("x", tf.float32, None)])]
    assert {0, 1, 2, 3, 4} <= set(ranks)
    assert ranks[0] == 1


def test_of_known_shapes_only_the_filling_differs() -> None:
    values = [values["x"] for values in generate_feeds([InputSpec("x", tf.float32, (2,))])]
    assert [value.shape for value in values] == [(2,)] * 3
    assert [value.tolist() for value in values[1:]] == [[1, 1], [0, 0]]

"""Names as TensorFlow writes them."""

from __future__ import annotations

import pytest

from tfgraphwidget import naming

pytestmark = pytest.mark.no_tensorflow


@pytest.mark.parametrize(
    ("text", "parts"),
    [("a", ("a", 0)), ("a/b:3", ("a/b", 3)), ("^a/b", ("a/b", -1)), ("a:x", ("a:x", 0))],
)
def test_an_input_splits_into_op_and_port(text: str, parts: tuple[str, int]) -> None:
    assert naming.split_input(text) == parts


def test_an_input_is_written_as_it_was_read() -> None:
    for text in ("a", "a:2", "^a"):
        assert naming.as_input(*naming.split_input(text)) == text


def test_a_free_name_heeds_neither_case() -> None:
    assert naming.free_name("Copy", {"copy", "copy_1"}) == "Copy_2"


@pytest.mark.parametrize("name", ["copy", "a/b", "a.b-c", "2nd", ".x"])
def test_scope_names_that_tensorflow_takes(name: str) -> None:
    assert naming.is_scope_name(name)


@pytest.mark.parametrize("name", ["", "a b", "_a", "/a", "a/", "a//b", "naïve", "a:0", "a\n"])
def test_scope_names_that_tensorflow_refuses(name: str) -> None:
    assert not naming.is_scope_name(name)


def test_the_nearest_name_is_the_one_with_that_tail() -> None:
    assert (
        naming.nearest("Softmax", ["net/Predictions/Softmax", "Reshape"])[0]
        == "net/Predictions/Softmax"
    )


def test_did_you_mean_is_the_end_of_a_sentence() -> None:
    assert naming.did_you_mean("inputt", ["input", "labels"]) == "; did you mean 'input'?"
    assert naming.did_you_mean("zzz", ["input"]) == "."


def test_names_are_listed_as_people_do_and_of_many_the_first() -> None:
    assert [naming.names_text([*"abcdef"][:count]) for count in (1, 2, 3, 4, 6)] == [
        "'a'",
        "'a' and 'b'",
        "'a', 'b' and 'c'",
        "'a', 'b', 'c' and 1 more",
        "'a', 'b', 'c' and 3 more",
    ]

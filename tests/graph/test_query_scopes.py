"""The name scopes that the words of a query mean."""

from __future__ import annotations

import pytest

from tfgraphwidget.graph import find_scopes, query
from tfgraphwidget.graph.index import GraphIndex, build
from tfgraphwidget.sources.tf_protos import NodeDef

pytestmark = pytest.mark.no_tensorflow


def names_of(*names: str) -> GraphIndex:
    return build([NodeDef(name=name, op="Relu") for name in names])


def scopes(index: GraphIndex, text: str) -> list[str]:
    return [
        index.scopes.names[scope]
        for scope in find_scopes(index, text, query.search(index, text).ops)
    ]


def test_the_last_part_of_a_scope_has_the_word_and_that_very_part_comes_first() -> None:
    index = names_of("net/Mixed_5bc/a", "net/Mixed_5b/Branch_0/conv/a", "net/Mixed_5b/a", "y")
    assert scopes(index, "mixed_5b") == ["net/Mixed_5b", "net/Mixed_5bc"]
    assert scopes(index, "name:mixed") == ["net/Mixed_5bc", "net/Mixed_5b"]
    assert scopes(index, "conv") == ["net/Mixed_5b/Branch_0/conv"]
    assert scopes(index, "y") == []


def test_outer_scopes_come_before_inner_ones_and_others_in_graph_order() -> None:
    index = names_of("a/one/block/x", "block_7/x", "block_10/x", "b/block/x")
    assert scopes(index, "block") == ["b/block", "a/one/block", "block_7", "block_10"]


def test_the_scope_of_the_whole_name_that_was_typed_comes_first() -> None:
    index = names_of(*(f"n{k}et/a/x" for k in range(7)), "et/a/x")
    assert scopes(index, "et/a")[0] == "et/a"
    assert scopes(index, "et/a/")[0] == "et/a"
    assert len(scopes(index, "et/a")) == 5


def test_all_words_are_in_the_name_and_one_in_its_last_part() -> None:
    index = names_of("left/conv/x", "right/conv/x", "left/dense/x", "left/conv/deep/x")
    assert scopes(index, "left conv") == ["left/conv"]
    assert scopes(index, "conv left") == ["left/conv"]
    assert scopes(index, "t/conv") == ["left/conv", "right/conv"]
    assert scopes(index, "left/") == ["left"]
    assert scopes(index, "relu left") == []  # a word of the ops' type is in no scope's name


def test_a_scope_with_the_name_of_an_op_is_that_op() -> None:
    index = names_of("net/w", "net/w/read", "net/w/Assign")
    assert scopes(index, "w") == []
    assert scopes(index, "net") == ["net"]


@pytest.mark.parametrize(
    "text",
    ["net -conv", "net type:Relu", "n*t", "/net/", "scope:net", "is:input", "", " ", "typ:a"],
)
def test_a_query_that_says_more_than_names_means_ops_only(text: str) -> None:
    assert scopes(names_of("net/x", "net/conv/y"), text) == []

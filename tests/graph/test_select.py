"""What lies between two boundaries, and the walks."""

from __future__ import annotations

import pytest
import tensorflow as tf

from tests.conftest import v1
from tfgraphwidget.errors import GraphEditError, NoPath, UnknownName
from tfgraphwidget.graph import boundary, selectors
from tfgraphwidget.graph.index import GraphIndex, build


def index_of(graph: tf.Graph) -> GraphIndex:
    return build(graph.as_graph_def().node)


def test_between_holds_the_path_and_its_constants_but_not_the_input(line: tf.Graph) -> None:
    part = boundary.between(index_of(line), ["x:0"], ["b:0"])
    assert set(part) == {"a", "a/y", "b", "b/y"}
    assert part.inputs == ("x:0",)
    assert part.outputs == ("b:0",)


def test_between_takes_parameters_along(mlp: tf.Graph) -> None:
    part = boundary.between(index_of(mlp), ["x:0"], ["net/logits:0"])
    assert [v.handle for v in part.variables] == [
        "net/one/w",
        "net/one/b",
        "net/two/w",
        "net/two/b",
    ]
    assert part.inputs == ("x:0",)


def test_a_branch_on_another_placeholder_stays_outside(diamond: tf.Graph) -> None:
    part = boundary.between(index_of(diamond), ["x"], ["join"])
    assert set(part) == {"left", "right", "join"}
    assert part.inputs == ("x:0", "scaled:0")


def test_an_inner_tensor_can_be_the_input(mlp: tf.Graph) -> None:
    part = boundary.between(index_of(mlp), ["net/one/out:0"], ["net/logits:0"])
    assert [v.handle for v in part.variables] == ["net/two/w", "net/two/b"]
    assert part.inputs == ("net/one/out:0",)


def test_one_output_of_several_cuts_only_itself() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [4], name="x")
        first, second = tf.split(x, 2, name="split")
        tf.add(tf.square(first, name="p"), tf.sqrt(second, name="q"), name="y")
    part = boundary.between(index_of(graph), ["split:1"], ["y"])
    assert set(part) == {"q", "y"}
    assert part.inputs == ("split:1", "p:0")


def test_control_inputs_on_the_path_belong_to_it() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        check = v1.assert_positive(x, name="check")
        with tf.control_dependencies([check]):
            tf.identity(x, name="y")
    assert any(
        name.startswith("check/") for name in boundary.between(index_of(graph), ["x"], ["y"])
    )


def test_boundaries_without_a_path_are_refused_with_both_names(diamond: tf.Graph) -> None:
    with pytest.raises(NoPath, match=r"'left' to 'right'"):
        boundary.between(index_of(diamond), ["left"], ["right"])


def test_an_input_that_reaches_no_output_has_no_part_in_it(diamond: tf.Graph) -> None:
    index = index_of(diamond)
    part = boundary.between(index, ["x", "other"], ["left"])
    assert part.ops == ("left",)
    assert boundary.unused_inputs(index, ["x", "other"], part.mask) == ("other",)
    with pytest.raises(NoPath, match=r"'other' to 'left'"):
        boundary.between(index, ["other"], ["left"])


def test_boundaries_the_wrong_way_round_are_reported(line: tf.Graph) -> None:
    with pytest.raises(NoPath, match="other way round"):
        boundary.between(index_of(line), ["c"], ["a"])


def test_one_op_at_both_ends_is_not_the_wrong_way_round(line: tf.Graph) -> None:
    with pytest.raises(NoPath, match="choose two ends"):
        boundary.between(index_of(line), ["a"], ["a"])


def test_upstream_and_downstream_meet_in_the_path(line: tf.Graph) -> None:
    index = index_of(line)
    assert set(selectors.upstream(index, "b") & selectors.downstream(index, "a")) == {"a", "b"}


def test_the_algebra_keeps_graph_order(line: tf.Graph) -> None:
    index = index_of(line)
    both = selectors.ops(index, type="Mul") | selectors.scope(index, "b")
    assert list(both) == sorted(both, key=index.ids.__getitem__)
    assert list(~both) == ["x", "a/y", "c/y"]
    assert len(both - selectors.ops(index, matching="^b")) == 2


def test_bad_patterns_scopes_and_types_are_named(line: tf.Graph) -> None:
    index = index_of(line)
    with pytest.raises(GraphEditError, match="not a regular expression"):
        selectors.ops(index, matching="(")
    with pytest.raises(UnknownName, match="no name scope 'nowhere'"):
        selectors.scope(index, "nowhere")
    with pytest.raises(UnknownName, match="'Conv9D'"):
        selectors.ops(index, type="Conv9D")

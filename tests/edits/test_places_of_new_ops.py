"""What an edit inserts lies in the scope of the op that it follows, under a name that can be typed."""

from __future__ import annotations

from pathlib import Path

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import INCEPTION, v1
from tests.layout.test_layout_stable import excesses
from tfgraphwidget.layout import LayoutCache, place
from tfgraphwidget.visible import ViewSpec, build_visible_graph


def doubled(tensor: tf.Tensor, *_: tf.Tensor) -> tf.Tensor:
    """Twice the tensor."""
    return tensor * 2.0


def scopes_of(names: tuple[str, ...]) -> set[str]:
    return {name.rpartition("/")[0] for name in names}


def test_an_inserted_function_lies_beside_the_op_that_it_follows(mlp: tf.Graph) -> None:
    editor = tgw.edit(mlp)
    assert scopes_of(editor.insert("net/one/out", doubled).added) == {"net/one/doubled", "net/one/doubled/mul"}
    assert editor.insert("net/one/out", "Identity").added == ("net/one/Identity/Identity",)
    assert editor.insert("net/one/out", lambda x: tf.nn.relu(x) + 1.0).added[0] == "net/one/inserted/Relu"
    assert editor.insert("x", doubled).added[-1] == "doubled/mul"


def test_a_second_one_of_that_name_has_a_number_there(mlp: tf.Graph) -> None:
    editor = tgw.edit(mlp)
    editor.insert("net/one/out", "Identity")
    assert editor.insert("net/one/out", "Identity").added == ("net/one/Identity_1/Identity",)
    assert editor.insert("net/two/out", "Identity").added == ("net/two/Identity/Identity",)


def stand_in(*tensors: tf.Tensor) -> tf.Tensor:
    """A tensor of four columns."""
    return tf.zeros([1, 4]) + tf.reduce_sum(tensors[0])


@pytest.mark.parametrize(("what", "scope"), [("net/one/out", "net/one"), ("net/one", "net"), ("net", "")])
def test_what_takes_the_place_of_a_part_lies_beside_it(mlp: tf.Graph, what: str, scope: str) -> None:
    """What replaces a whole scope lies next to the scope, not in it."""
    with mlp.as_default():
        tf.nn.relu(mlp.get_tensor_by_name("net/logits:0"), name="probabilities")
    added = tgw.edit(mlp).replace(what, stand_in).added
    assert all(name.startswith(f"{scope}/stand_in/".lstrip("/")) for name in added)


def test_what_grows_lies_beside_the_op_of_its_first_tensor(mlp: tf.Graph) -> None:
    with v1.Session(graph=mlp) as session:
        editor = tgw.edit(mlp, session=session)
        assert editor.grow("net/one/out:0", tf.nn.tanh).scope == "net/one/tanh"
        assert editor.grow("x:0", tf.nn.tanh).scope == "tanh"


def test_a_scope_that_is_too_long_to_go_on_is_left_for_the_root() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], name="x")
        with tf.name_scope("a" * 600):
            tf.nn.relu(tf.nn.relu(x, name="first"), name="last")
    assert tgw.edit(graph).insert(f"{'a' * 600}/first", "Identity").added == ("Identity/Identity",)


def test_the_line_of_python_names_the_scope_and_does_the_same_again(mlp: tf.Graph, tmp_path: Path) -> None:
    mlp_again = tgw.edit(mlp.as_graph_def())
    editor = tgw.edit(mlp)
    editor.insert("net/one/out", "Identity")
    assert "net/one/Identity" in editor.code()
    mlp_again.replay(editor.edits())
    assert "net/one/Identity/Identity" in mlp_again.index.ids


def test_an_op_inserted_deep_in_inception_moves_no_box_further_than_it_needs() -> None:
    editor = tgw.edit(INCEPTION)
    scope = "net/InceptionV3/InceptionV3/Conv2d_4a_3x3"
    relu = next(name for name in editor.of_type("Relu").ops if name.startswith(f"{scope}/"))
    cache, opened = LayoutCache(), editor.opened | {scope}
    before = build_visible_graph(editor.index, ViewSpec(frozenset(opened)))
    here = place(before, cache=cache)
    added = editor.insert(relu, "Identity").added
    assert all(name.startswith(relu.rpartition("/")[0]) for name in added)
    after = build_visible_graph(editor.index, ViewSpec(frozenset(opened)))
    there = place(after, cache=cache)
    assert set(after.names) - set(before.names) == set(added)
    assert set(before.names) <= set(after.names)
    assert max(excess for excess, _ in excesses((before, here), (after, there))) <= 0.01

"""What an edit inserts lies in the scope of the op that it follows, under a name that can be
typed.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import INCEPTION, v1
from tests.layout.test_layout_stable import excesses
from tfgraphwidget.edits.rewrite import Insert, Replace
from tfgraphwidget.errors import InvalidArgument, NameTaken
from tfgraphwidget.layout import LayoutCache, place
from tfgraphwidget.visible import ViewSpec, build_visible_graph


def doubled(tensor: tf.Tensor, *_: tf.Tensor) -> tf.Tensor:
    """Twice the tensor."""
    return tensor * 2.0


def scopes_of(names: tuple[str, ...]) -> set[str]:
    return {name.rpartition("/")[0] for name in names}


def test_an_inserted_function_lies_next_to_the_op_that_it_follows(mlp: tf.Graph) -> None:
    editor = tgw.edit(mlp)
    assert scopes_of(editor.insert("net/one/out", doubled).added) == {
        "net/one/doubled",
        "net/one/doubled/mul",
    }
    assert editor.insert("net/one/out", "Identity").added == ("net/one/Identity",)
    assert (
        editor.insert("net/one/out", lambda x: tf.nn.relu(x) + 1.0).added[0]
        == "net/one/inserted/Relu"
    )
    assert editor.insert("x", doubled).added[-1] == "doubled/mul"


def test_a_second_one_of_that_name_has_a_number_there(mlp: tf.Graph) -> None:
    editor = tgw.edit(mlp)
    editor.insert("net/one/out", "Identity")
    assert editor.insert("net/one/out", "Identity").added == ("net/one/Identity_1",)
    assert editor.insert("net/two/out", "Identity").added == ("net/two/Identity",)


def stand_in(*tensors: tf.Tensor) -> tf.Tensor:
    """A tensor of four columns."""
    return tf.zeros([1, 4]) + tf.reduce_sum(tensors[0])


@pytest.mark.parametrize(
    ("what", "scope"), [("net/one/out", "net/one"), ("net/one", "net"), ("net", "")]
)
def test_what_takes_the_place_of_a_part_lies_next_to_it(
    mlp: tf.Graph, what: str, scope: str
) -> None:
    """What replaces a whole scope lies next to the scope, not in it."""
    with mlp.as_default():
        tf.nn.relu(mlp.get_tensor_by_name("net/logits:0"), name="probabilities")
    added = tgw.edit(mlp).replace(what, stand_in).added
    assert all(name.startswith(f"{scope}/stand_in/".lstrip("/")) for name in added)


def test_what_grows_lies_next_to_the_op_of_its_first_tensor(mlp: tf.Graph) -> None:
    with v1.Session(graph=mlp) as session:
        editor = tgw.edit(mlp, session=session)
        assert editor.call("net/one/out:0", tf.nn.tanh).scope == "net/one/tanh"
        assert editor.call("x:0", tf.nn.tanh).scope == "tanh"


def test_a_scope_that_is_too_long_to_go_on_is_left_for_the_root() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], name="x")
        with tf.name_scope("a" * 600):
            tf.nn.relu(tf.nn.relu(x, name="first"), name="last")
    assert tgw.edit(graph).insert(f"{'a' * 600}/first", "Identity").added == ("Identity",)


def test_the_line_of_python_names_the_scope_and_does_the_same_again(
    mlp: tf.Graph, tmp_path: Path
) -> None:
    mlp_again = tgw.edit(mlp.as_graph_def())
    editor = tgw.edit(mlp)
    editor.insert("net/one/out", "Identity")
    assert "net/one/Identity" in editor.history.to_script().text
    mlp_again.history.replay(editor.history.records())
    assert "net/one/Identity" in mlp_again._core.index.ids


def elu(tensor: tf.Tensor) -> tf.Tensor:
    """One op, which TensorFlow names after its type."""
    return tf.raw_ops.Elu(features=tensor)


def test_a_function_of_one_op_names_the_op_and_one_of_several_a_scope(mlp: tf.Graph) -> None:
    editor = tgw.edit(mlp)
    assert editor.insert("net/one/out", elu).added == ("net/one/elu",)
    assert editor.replace("net/two/out", elu, remove=True).added == ("net/two/elu",)
    assert editor.replace("net/two/elu", "Tanh", remove=True).added == ("net/two/Tanh",)
    assert all(
        name.startswith("net/one/elu_1/")
        for name in editor.insert("x", doubled, name="net/one/elu_1").added
    )
    assert mlp.get_operation_by_name("net/two/Tanh").type == "Tanh"


def test_a_name_that_is_given_is_the_ops_name_also_after_undo_and_redo(mlp: tf.Graph) -> None:
    editor = tgw.edit(mlp)
    assert editor.insert("net/one/out", "Elu", name="net/activation").added == ("net/activation",)
    with pytest.raises(NameTaken, match="'net/activation' is taken"):
        editor.replace("net/two/out", "Elu", name="net/activation")
    with pytest.raises(InvalidArgument, match="leave out into='net'"):
        editor.insert("net/one/out", "Elu", "net", name="activation")
    editor.undo()
    assert "net/activation" not in editor._core.index.ids
    editor.redo()
    assert editor._core.index.types[editor._core.index.ids["net/activation"]] == "Elu"
    assert editor.replace("net/two/out", elu, name="two", remove=True).added == ("two",)
    assert editor.history.lines[-1].endswith('remove=True, name="two")')


def test_later_ops_of_tensorflow_and_the_inserted_one_have_names_of_their_own(
    mlp: tf.Graph,
) -> None:
    editor = tgw.edit(mlp)
    editor.insert("net/one/out", "Elu")
    with mlp.as_default():
        assert (
            tf.nn.elu(mlp.get_tensor_by_name("x:0"), name="net/one/Elu").op.name == "net/one/Elu_1"
        )


def test_an_inserted_op_of_a_loop_has_its_name_and_runs_there() -> None:
    with tf.Graph().as_default() as graph:
        v1.disable_control_flow_v2()
        try:
            with tf.name_scope("outer"):
                end = v1.while_loop(
                    lambda i: i < 3.0, lambda i: tf.add(i, 1.0, name="step"), [tf.constant(0.0)]
                )
        finally:
            v1.enable_control_flow_v2()
    editor = tgw.edit(graph)
    step = next(name for name in editor._core.index.names if name.endswith("/step"))
    assert editor.insert(step, "Floor").added == (f"{step.removesuffix('step')}Floor",)
    with v1.Session(graph=graph) as session:
        assert session.run(end) == 3.0


def test_edits_of_older_files_get_the_names_that_they_had(mlp: tf.Graph, tmp_path: Path) -> None:
    definition = mlp.as_graph_def()
    editor = tgw.edit(mlp)
    old = [
        Insert("net/one/out:0", "Identity", "net/one/Identity"),
        Replace(("net/two/out",), "Elu", "net/two/Elu", remove=True),
    ]
    for command in old:
        editor.apply(command)
    assert {"net/one/Identity/Identity", "net/two/Elu/Elu"} <= editor._core.index.ids.keys()
    edits, script = editor.history.records(), "\n".join(editor.history.lines)
    assert '"name"' not in json.dumps(edits)
    again, scripted = tgw.edit(definition), tgw.edit(definition)
    again.history.replay(edits)
    exec(script, {"editor": scripted})
    assert again._core.index.names == scripted._core.index.names == editor._core.index.names


def test_a_new_op_of_a_file_and_of_a_function_has_that_name_in_another_process_too(
    mlp: tf.Graph, tmp_path: Path
) -> None:
    path = tmp_path / "model.pb"
    path.write_bytes(mlp.as_graph_def().SerializeToString())
    editor = tgw.edit(str(path))
    assert editor.insert("net/one/out", "Elu").added == ("net/one/Elu",)
    editor.save(str(tmp_path / "edited.pb"))
    assert "net/one/Elu" in tgw.edit(str(tmp_path / "edited.pb"))._core.index.ids

    @tf.function
    def call(x: tf.Tensor) -> tf.Tensor:
        with tf.name_scope("net"):
            return tf.square(tf.nn.relu(x, name="relu"), name="out")

    concrete = call.get_concrete_function(tf.TensorSpec([2]))
    inside = tgw.edit(concrete)
    assert inside.replace("net/relu", "Elu", remove=True).added == ("net/Elu",)
    values = inside.to_function()(tf.constant([-1.0, 2.0]))
    np.testing.assert_allclose(np.ravel(values), np.square([np.expm1(-1.0), 2.0]), rtol=1e-6)


def test_an_op_inserted_deep_in_inception_moves_no_box_further_than_it_needs() -> None:
    editor = tgw.edit(INCEPTION)
    scope = "net/InceptionV3/InceptionV3/Conv2d_4a_3x3"
    relu = next(name for name in editor.ops(type="Relu").ops if name.startswith(f"{scope}/"))
    cache, opened = LayoutCache(), editor.view.expanded | {scope}
    before = build_visible_graph(editor._core.index, ViewSpec(frozenset(opened)))
    here = place(before, cache=cache)
    added = editor.insert(relu, "Identity").added
    assert all(name.startswith(relu.rpartition("/")[0]) for name in added)
    after = build_visible_graph(editor._core.index, ViewSpec(frozenset(opened)))
    there = place(after, cache=cache)
    assert set(after.names) - set(before.names) == set(added)
    assert set(before.names) <= set(after.names)
    assert max(excess for excess, _ in excesses((before, here), (after, there))) <= 0.01

"""Joining graphs: each with its own values, name clashes resolved, the whole fine-tuned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import initialised, read, v1
from tfgraphwidget.errors import GraphEditError, NameTaken, NotClonable, UnknownName

ONES = np.ones((2, 3), np.float32)


def trained(folder: Path, name: str, seed: int, *, resource: bool = True, device: str = "") -> str:
    """A checkpoint and .meta of y = tanh(x w) with a global step; its prefix."""
    graph = tf.Graph()
    with graph.as_default(), tf.device(device):
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        w = v1.get_variable(
            "w",
            [3, 3],
            initializer=v1.random_normal_initializer(seed=seed),
            use_resource=resource,
        )
        v1.train.get_or_create_global_step()
        tf.tanh(x @ w, name="y")
        saver = v1.train.Saver()
        config = v1.ConfigProto(allow_soft_placement=True)
        with v1.Session(graph=graph, config=config) as session:
            session.run(v1.global_variables_initializer())
            return str(saver.save(session, f"{folder}/{name}"))


def output(prefix: str, fed: np.ndarray) -> np.ndarray:
    """What the model of a checkpoint gives."""
    graph = tf.Graph()
    with (
        graph.as_default(),
        v1.Session(graph=graph, config=v1.ConfigProto(allow_soft_placement=True)) as session,
    ):
        v1.train.import_meta_graph(f"{prefix}.meta", clear_devices=True).restore(session, prefix)
        found: np.ndarray = session.run("y:0", {"x:0": fed})
        return found


@pytest.mark.parametrize("resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("key", ["x:0", "g2/x:0", "g2/x"])
def test_two_trained_graphs_are_joined_with_their_own_values(
    tmp_path: Path, resource: bool, key: str
) -> None:
    a, b = (trained(tmp_path, name, seed, resource=resource) for seed, name in enumerate("ab"))
    editor = tgw.edit(f"{a}.meta", checkpoint=a)
    added = editor.add(f"{b}.meta", "g2", {key: "y:0"}, checkpoint=b)
    whole = editor.session.run(added["y:0"], {"x:0": ONES})
    assert np.allclose(whole, output(b, output(a, ONES)), rtol=1e-5)
    assert "g2/x" not in editor._core.index.ids
    assert added["x:0"].name == "y:0"
    assert [v.name for v in editor.graph.get_collection("global_step")] == ["global_step:0"]
    assert any("global_step" in sentence for sentence in added.report.dropped)


def test_fine_tuning_the_whole_trains_both(tmp_path: Path) -> None:
    a, b = (trained(tmp_path, name, seed) for seed, name in enumerate("ab"))
    editor = tgw.edit(f"{a}.meta", checkpoint=a)
    added = editor.add(f"{b}.meta", "g2", {"x:0": "y:0"}, checkpoint=b)
    with editor.graph.as_default():
        loss = tf.reduce_sum(tf.square(added["y:0"] - 1.0))
        step = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
    before = read(editor.graph.get_collection("trainable_variables"), editor.session)
    losses = [editor.session.run([loss, step], {"x:0": ONES})[0] for _ in range(5)]
    after = read(editor.graph.get_collection("trainable_variables"), editor.session)
    assert losses[-1] < losses[0]
    assert [np.array_equal(*pair) for pair in zip(before, after, strict=True)] == [False, False]


def test_the_saver_of_what_was_added_restores_the_old_checkpoint(tmp_path: Path) -> None:
    a, b = (trained(tmp_path, name, seed) for seed, name in enumerate("ab"))
    editor = tgw.edit(f"{a}.meta", checkpoint=a)
    added = editor.add(f"{b}.meta", "g2", checkpoint=b)
    with editor.graph.as_default():
        saver = added.saver()
        editor.session.run([v.initializer for v in added.variables])
        saver.restore(editor.session, b)
    assert np.allclose(editor.session.run(added["y:0"], {added["x:0"]: ONES}), output(b, ONES))


def test_devices_are_cleared_on_request(tmp_path: Path) -> None:
    a, b = trained(tmp_path, "a", 0), trained(tmp_path, "b", 1, device="/gpu:3")
    editor = tgw.edit(f"{a}.meta", checkpoint=a)
    kept = editor.add(f"{b}.meta", "kept", checkpoint=b)
    cleared = editor.add(f"{b}.meta", "cleared", checkpoint=b, clear_devices=True)
    assert kept["y:0"].op.device == "/device:GPU:3"
    assert {editor.graph.get_operation_by_name(name).device for name in cleared.ops} == {""}


class Layer(tf.Module):
    """x times a matrix of one number."""

    def __init__(self, number: float) -> None:
        super().__init__()
        self.kernel = tf.Variable(tf.eye(3) * number, name="kernel")

    @tf.function(input_signature=[tf.TensorSpec([None, 3], name="x")])
    def __call__(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"out": x @ self.kernel}


def test_two_saved_models_of_tensorflow_2_are_joined(tmp_path: Path) -> None:
    for name, number in (("a", 2.0), ("b", 5.0)):
        module = Layer(number)
        tf.saved_model.save(module, f"{tmp_path}/{name}", signatures=module.__call__)
    editor = tgw.edit(tmp_path / "a")
    added = editor.add(
        tmp_path / "b", "second", {"serving_default_x:0": "StatefulPartitionedCall:0"}
    )
    assert len(editor.view.breadcrumb) == 1
    result = editor.session.run(added["StatefulPartitionedCall:0"], {"serving_default_x:0": ONES})
    assert np.allclose(result, 10.0)
    assert [v.name for v in added.variables] == ["second/kernel:0"]


def test_a_live_graph_is_joined_with_the_values_of_its_session(
    mlp: tf.Graph, tmp_path: Path
) -> None:
    a = trained(tmp_path, "a", 0)
    editor = tgw.edit(f"{a}.meta", checkpoint=a)
    with initialised(mlp) as session:
        added = editor.add(mlp, "net2", {"x:0": "y:0"}, session=session)
        expected = session.run("net/logits:0", {"x:0": output(a, ONES)})
    assert np.allclose(
        editor.session.run(added["net/logits:0"], {"x:0": ONES}), expected, rtol=1e-5
    )
    assert editor.history.lines == (
        (
            'net2 = editor.add(source=source, into="net2", connect={"x:0": "y:0"}, '
            "session=other_session)"
        ),
    )


def test_undo_takes_what_was_added_away(tmp_path: Path) -> None:
    a, b = (trained(tmp_path, name, seed) for seed, name in enumerate("ab"))
    editor = tgw.edit(f"{a}.meta", checkpoint=a)
    before = editor._core.index.names
    line = (
        f'g2 = editor.add(source="{b}.meta", into="g2", connect={{"x:0": "y:0"}}, checkpoint="{b}")'
    )
    editor.add(f"{b}.meta", "g2", {"x:0": "y:0"}, checkpoint=b)
    assert editor.undo() == line
    assert list(editor._core.index.names) == list(before)


@pytest.mark.parametrize(
    ("arguments", "error", "why"),
    [
        ({"into": "w"}, NameTaken, "'w' is taken"),
        ({"connect": {"z:0": "y:0"}}, UnknownName, "no op 'z'"),
        ({"connect": {"x:0": "nothing:0"}}, UnknownName, "no op 'nothing'"),
        ({"connect": {"x:0": "global_step:0"}}, NotClonable, "global_step"),
        ({"connect": {"y:0": "y:0"}}, NotClonable, "Nothing in the part reads 'y:0'"),
    ],
)
def test_what_cannot_be_joined_is_refused_and_nothing_moves(
    tmp_path: Path, arguments: dict[str, object], error: type[GraphEditError], why: str
) -> None:
    a, b = (trained(tmp_path, name, seed) for seed, name in enumerate("ab"))
    editor = tgw.edit(f"{a}.meta", checkpoint=a)
    before = editor.graph.version
    with pytest.raises(error, match=why):
        editor.add(f"{b}.meta", **{"into": "g2", "checkpoint": b, **arguments})  # type: ignore[arg-type]
    assert editor.graph.version == before


def test_a_refused_add_leaves_one_in_the_room_one_was_in(tmp_path: Path) -> None:
    a = trained(tmp_path, "a", 0)
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        tf.function(lambda x: x * 2)(x)
    editor = tgw.edit(graph)
    call = next(iter(editor.ops(where=lambda op: op.type.endswith("PartitionedCall"))))
    editor.view.enter(call)
    with pytest.raises(NameTaken):
        editor.add(f"{a}.meta", "x", checkpoint=a)
    with pytest.raises(UnknownName):
        editor.add("nowhere.meta", "g2")
    assert editor.view.breadcrumb[1:] == (call,)
    with v1.Session(graph=graph) as session:
        editor = tgw.edit(graph, session=session)
        editor.view.enter(call)
        editor.add(f"{a}.meta", "g2", checkpoint=a)
    assert len(editor.view.breadcrumb) == 1


def test_a_function_is_added_as_the_ops_that_it_runs(tmp_path: Path) -> None:
    a = trained(tmp_path, "a", 0)
    editor = tgw.edit(f"{a}.meta", checkpoint=a)
    function = tf.function(lambda x: x * 2, input_signature=[tf.TensorSpec([None, 3], name="x")])
    added = editor.add(function, "g2")
    assert editor.session.run(added["output_0"], {added["x:0"]: [[1, 2, 3]]}).tolist() == [
        [2, 4, 6]
    ]


@pytest.mark.parametrize("name", ["first.pb", "first"])
def test_an_export_of_keras_is_added_to_a_file(name: str, tmp_path: Path) -> None:
    """It has a variable that no checkpoint has: what runs at loading gives it a value."""
    layers = tf.keras.layers
    first = tf.keras.Sequential([layers.Input((4,)), layers.Dense(3)])
    second = tf.keras.Sequential([layers.Input((3,)), layers.Dense(2)])
    first.export(tmp_path / "first", verbose=False)
    second.export(tmp_path / "second", verbose=False)
    tgw.edit(tmp_path / "first").save(tmp_path / "first.pb", frozen=True)
    editor = tgw.edit(tmp_path / name)
    copy = editor.add(tmp_path / "second", into="second")
    with editor.graph.as_default():
        values = editor.session.run(list(copy.variables))
    by_rank = {np.ndim(value): value for value in values}
    kernel, bias = second.get_weights()
    assert np.array_equal(by_rank[2], kernel)
    assert np.array_equal(by_rank[1], bias)

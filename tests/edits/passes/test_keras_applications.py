"""ResNet50 and VGG16 through all passes that change no result: as a live graph, a frozen file and a
SavedModel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.errors import GraphEditError

pytestmark = pytest.mark.slow
EXACT = (
    "fold_constants", "merge_duplicates", "remove_identities", "fold_batch_norm", "remove_devices",
    "sort", "obfuscate_names",
)  # fmt: skip
IMAGES = np.random.default_rng(0).normal(size=(2, 32, 32, 3)).astype(np.float32)


@cache
def model(name: str) -> Any:
    """The model, with statistics of batch normalizations as a trained one has."""
    tf.keras.utils.set_random_seed(1)
    network = getattr(tf.keras.applications, name)(
        weights=None, input_shape=(32, 32, 3), classes=10
    )
    rng = np.random.default_rng(2)
    for layer in network.layers:
        if isinstance(layer, tf.keras.layers.BatchNormalization):
            layer.set_weights(
                [rng.uniform(0.5, 1.5, weight.shape) for weight in layer.get_weights()]
            )
    return network


@cache
def frozen(name: str) -> Any:
    """The model as a GraphDef, which lists its ops backward, some with a device."""
    network = model(name)
    function = tf.function(lambda x: tf.identity(network(x, training=False), "y"), autograph=False)
    graph = convert_variables_to_constants_v2(
        function.get_concrete_function(tf.TensorSpec([None, 32, 32, 3]))
    )
    nodes = list(graph.graph.as_graph_def().node)
    for node in nodes[::3]:
        node.device = "/device:CPU:0"
    return v1.GraphDef(node=nodes[::-1], versions=graph.graph.as_graph_def().versions)


def serialized(editor: tgw.GraphEditor) -> list[bytes]:
    return [node.SerializeToString(deterministic=True) for node in editor._core.index.nodes]


def opened(source: str, name: str, folder: Path) -> tgw.GraphEditor:
    if source == "SavedModel":
        model(name).export(str(folder / "model"), verbose=False)
        return tgw.edit(folder / "model")
    if source == "pb":
        (folder / "frozen.pb").write_bytes(frozen(name).SerializeToString())
        return tgw.edit(folder / "frozen.pb")
    definition = frozen(name)
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(definition, name="")
    return tgw.edit(graph, session=v1.Session(graph=graph))


def applied(editor: tgw.GraphEditor, after_each: Callable[[str], object] = str) -> list[str]:
    """Apply each pass that has something to do; their names."""
    done = []
    for title in EXACT:
        try:
            getattr(editor.passes, title)()
        except GraphEditError as error:
            assert str(error).endswith("."), error  # noqa: PT017 - most have something to do
            continue
        done.append(title)
        after_each(title)
    return done


@pytest.mark.parametrize("source", ["live", "pb"])
@pytest.mark.parametrize("name", ["ResNet50", "VGG16"])
def test_exact_passes_keep_the_outputs_and_undo_gives_the_ops_back(
    name: str, source: str, tmp_path: Path
) -> None:
    expected = model(name)(IMAGES, training=False).numpy()
    editor = opened(source, name, tmp_path)
    before = serialized(editor)

    def run(title: str) -> None:
        index, (fed,) = editor._core.index, editor.ops(type="Placeholder").ops
        last = [op for op, _ in enumerate(index.names) if not index.consumer_lists[op]]
        output = next(index.names[op] for op in last if index.shape(op, 0) == (None, 10))
        actual = editor.session.run(f"{output}:0", {f"{fed}:0": IMAGES})
        np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-5, err_msg=title)

    done = applied(editor, run)
    assert {"merge_duplicates", "remove_identities", "remove_devices"} <= set(done)
    assert ("fold_batch_norm" in done) == (name == "ResNet50")
    while editor.history.done:
        editor.undo()
    assert sorted(serialized(editor)) == sorted(before)
    if (
        source == "pb"
    ):  # a run imports the graph in the order of TensorFlow; without, the order comes back too
        editor = tgw.edit(tmp_path / "frozen.pb")
        applied(editor)
        while editor.history.done:
            editor.undo()
        assert serialized(editor) == before


@pytest.mark.parametrize("name", ["ResNet50", "VGG16"])
@pytest.mark.filterwarnings("ignore:'serve' of the saved object:UserWarning")
def test_exact_passes_keep_the_outputs_of_a_saved_model(name: str, tmp_path: Path) -> None:
    expected = model(name)(IMAGES, training=False).numpy()
    editor = opened("SavedModel", name, tmp_path)
    before = serialized(editor)
    assert applied(editor)
    editor.save(tmp_path / "edited")
    signature = tf.saved_model.load(tmp_path / "edited").signatures["serving_default"]
    (key,) = signature.structured_input_signature[1]
    (actual,) = signature(**{key: tf.constant(IMAGES)}).values()
    np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-5)
    while editor.history.done:
        editor.undo()
    assert serialized(editor) == before

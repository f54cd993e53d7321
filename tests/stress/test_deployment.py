"""From an old graph to something that runs elsewhere, all the way. `make test` runs the smallest; `make stress` all.

A slim Inception to ONNX and TFLite; a sequence-to-sequence graph with loops to a SavedModel with two signatures; a
Keras MobileNetV3 with a fixed batch as float16; a detection graph cut behind its decoder; the two halves of a ResNet.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.export.test_converted_models import InProcess
from tests.models import written
from tests.stress import ROUNDS
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export.formats import converted_model

large = pytest.mark.skipif(ROUNDS < 2, reason="minutes; make stress runs it")


@pytest.fixture(autouse=True)
def _in_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Converters run in this process; what saves report are no warnings."""
    monkeypatch.setattr(converted_model, "CONVERTERS", InProcess())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def initialized(name: str, folder: Path) -> tgw.GraphEditor:
    """A `.meta` of this repository, with random values for its variables."""
    editor = tgw.edit(written(name, folder))
    with editor.graph.as_default():
        assert editor.session is not None
        editor.session.run(v1.global_variables_initializer())
    return editor


@large
def test_a_slim_inception_becomes_onnx_and_tflite(tmp_path: Path) -> None:
    frozen = initialized("inception", tmp_path).save(
        tmp_path / "i.pb", "input:0", "net/predictions:0", frozen=True, verify=False
    )
    editor = tgw.edit(frozen)
    for suffix in (".onnx", ".tflite"):
        assert editor.save(tmp_path / f"i{suffix}", "input:0", "net/predictions:0").stat().st_size > 1e7
        (difference,) = (notice.split()[-1] for notice in editor.notices if "largest difference" in notice)
        assert float(difference.rstrip(".")) < 1e-4


@large
def test_two_halves_of_a_resnet_chained_give_the_whole(tmp_path: Path) -> None:
    editor = initialized("resnet", tmp_path)
    relu = [name for name, kind in zip(editor.index.names, editor.index.types, strict=True) if kind == "Relu"]
    output = relu[len(relu) * 3 // 4]
    halves = editor.split(at=f"{relu[len(relu) // 2]}:0", outputs=[f"{output}:0"])
    assert halves.check() < 1e-3
    for number, half in enumerate(halves):
        assert half.save(f"{tmp_path}/{number}/").is_dir()


@large
def test_a_sequence_graph_with_loops_is_served_by_two_signatures(tmp_path: Path) -> None:
    editor = initialized("seq2seq", tmp_path)
    ends = [name for name in editor.index.names if name.endswith("while/Exit_3") and "gradients" not in name][:2]
    signatures = {f"s{k}": (["ids:0", "len:0"], [f"{name}:0"]) for k, name in enumerate(ends)}
    assert set(tf.saved_model.load(editor.save(f"{tmp_path}/m/", signatures=signatures)).signatures) == set(signatures)
    try:
        editor.save(tmp_path / "m.onnx", ["ids:0", "len:0"], [f"{ends[0]}:0"])
    except GraphEditError as refusal:
        assert set(refusal.ops) <= set(editor.index.ids)  # noqa: PT017


@large
def test_a_mobilenet_has_its_batch_fixed_its_preprocessing_cut_off_and_runs_as_float16(tmp_path: Path) -> None:
    model = keras.applications.MobileNetV3Small(weights=None, input_shape=(64, 64, 3), include_preprocessing=True)
    rng = np.random.default_rng(0)
    for layer in model.layers:  # as if trained: fresh weights give the same to all inputs
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.beta.assign(rng.normal(size=layer.beta.shape) * 0.1)
    model.get_layer("logits").kernel.assign(model.get_layer("logits").kernel * 10)
    model.export(tmp_path / "m", verbose=False)
    editor = tgw.edit(tmp_path / "m")
    (name,) = (name for name, kind in zip(editor.index.names, editor.index.types, strict=True) if kind == "Placeholder")
    editor.replace_input(f"{name}:0", [1, 64, 64, 3], fix=True)
    rescaled = editor.match("Add|AddV2(Mul(x: float32[1x64x64x3], _), _)")[0].outputs[0]
    path = editor.save(tmp_path / "m.tflite", {"image": rescaled}, optimize="float16")
    assert any("largest difference" in notice for notice in editor.notices)
    assert path.stat().st_size < 2.5 * model.count_params()
    runner = tf.lite.Interpreter(model_content=path.read_bytes()).get_signature_runner()
    assert runner.get_input_details()["image"]["shape"].tolist() == [1, 64, 64, 3]
    image = rng.uniform(0, 255, [1, 64, 64, 3]).astype(np.float32)
    (probabilities,) = runner(image=image / 127.5 - 1).values()
    expected = model(image).numpy()
    assert np.ptp(expected) > 1e-3
    np.testing.assert_allclose(probabilities, expected, rtol=0.05, atol=1e-4)


def detection_graph() -> Any:
    """Bytes of a picture → decoded → boxes and scores → the best boxes → their names in a table."""
    with tf.Graph().as_default() as graph:
        data = v1.placeholder(tf.string, [], name="data")
        image = tf.cast(tf.io.decode_png(data, channels=3), tf.float32)
        image = tf.ensure_shape(image, [8, 8, 3], name="image")
        rows = tf.reshape(image, [16, 12])
        corners = tf.sort(rows[:, :4] / 255.0)
        scores = tf.nn.softmax(tf.identity(rows[:, 4:], name="features"), name="scores")
        best = tf.image.non_max_suppression(corners, tf.reduce_max(scores, 1), 3, name="best")
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([0, 1, 2], ["a", "b", "c"]), "?")
        names = table.lookup(tf.cast(tf.gather(tf.argmax(scores, 1), best), tf.int32))
        tf.identity(names, name="names")
        session = v1.Session()
        session.run(v1.tables_initializer())
    return graph, session


def test_a_detection_graph_is_cut_behind_its_decoder_and_served(tmp_path: Path) -> None:
    graph, session = detection_graph()
    editor = tgw.edit(graph, session=session)
    picture = np.random.default_rng(0).integers(0, 255, [8, 8, 3]).astype(np.uint8)
    data = tf.io.encode_png(picture).numpy()
    expected = session.run("names:0", {"data:0": data})
    decoder, detector = editor.split(at="image:0", outputs=["names:0"])
    served = tf.saved_model.load(detector.save(f"{tmp_path}/detector/")).signatures["serving_default"]
    decoded = tf.saved_model.load(decoder.save(f"{tmp_path}/decoder/")).signatures["serving_default"]
    (found,) = served(**decoded(data=tf.constant(data))).values()
    assert found.numpy().tolist() == expected.tolist()
    assert detector.save(tmp_path / "scores.onnx", "features:0", "scores:0").stat().st_size > 100
    with pytest.raises(GraphEditError) as refusal:
        detector.save(tmp_path / "all.onnx", "image:0", "names:0")
    assert refusal.value.ops
    session.close()

"""From an old graph to something that runs elsewhere, all the way. `make test` runs the smallest;
`make test-all` all.

The inference part of a slim Inception to ONNX and TFLite; a sequence-to-sequence graph with loops
to a SavedModel with two signatures and to ONNX; a Keras MobileNetV3 with a fixed batch as float16;
a detection graph cut after its decoder; the two halves of a ResNet.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import onnxruntime
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.export.test_converted_models import InProcess
from tests.models import written
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export.formats import converted_model

slow = pytest.mark.slow  # a minute each, with the converter in a process of its own, as for a user


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """What saves report are not warnings here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def of_type(editor: tgw.GraphEditor, kind: str) -> list[str]:
    return [
        name
        for name, each in zip(editor._core.index.names, editor._core.index.types, strict=True)
        if each == kind
    ]


def initialized(name: str, folder: Path) -> tgw.GraphEditor:
    """A `.meta` of this repository, with random values for its variables."""
    editor = tgw.edit(written(name, folder))
    with editor.graph.as_default():
        assert editor.session is not None
        editor.session.run(v1.global_variables_initializer())
    return editor


def trained_inception(folder: Path, image: np.ndarray) -> tuple[Path, np.ndarray]:
    """A slim Inception with an optimizer and its checkpoint, as a training leaves them; what it
    predicts.
    """
    with tf.Graph().as_default(), v1.Session() as session:
        v1.train.import_meta_graph(written("inception", folder))
        predictions = v1.get_default_graph().get_tensor_by_name("net/predictions:0")
        labels = v1.placeholder(tf.int64, [None], "labels")
        loss = tf.reduce_mean(
            v1.losses.sparse_softmax_cross_entropy(labels, predictions), name="loss"
        )
        v1.train.MomentumOptimizer(0.1, 0.9).minimize(
            loss, var_list=v1.trainable_variables()[-2:], name="train"
        )
        session.run(v1.global_variables_initializer())
        v1.train.Saver().save(session, f"{folder}/trained")
        return folder / "trained.meta", session.run(predictions, {"input:0": image})


@slow
def test_a_slim_inception_of_a_training_is_stripped_and_becomes_onnx_and_tflite(
    tmp_path: Path,
) -> None:
    image = np.random.default_rng(0).uniform(-1, 1, [2, 299, 299, 3]).astype(np.float32)
    meta, expected = trained_inception(tmp_path, image)
    assert np.ptp(expected) > 1e-5
    editor = tgw.edit(meta, checkpoint=meta.with_suffix(""))
    assert editor.lint(only="training-ops")
    trained = len(editor._core.index)
    editor.passes.strip_training(["net/predictions:0"])
    assert len(editor._core.index) < trained - 5
    assert not {"labels", "loss"} & set(editor._core.index.ids)
    frozen = editor.save(
        tmp_path / "i.pb", "input:0", "net/predictions:0", frozen=True, verify=False
    )
    editor = tgw.edit(frozen)
    assert not of_type(editor, "VariableV2")
    assert not of_type(editor, "VarHandleOp")
    onnx = editor.save(tmp_path / "i.onnx", "input:0", {"y": "net/predictions:0"})
    tflite = editor.save(tmp_path / "i.tflite", "input:0", {"y": "net/predictions:0"})
    (found,) = onnxruntime.InferenceSession(onnx).run(["y"], {"input": image})
    np.testing.assert_allclose(found, expected, atol=1e-4)
    runner = tf.lite.Interpreter(model_path=str(tflite)).get_signature_runner()
    np.testing.assert_allclose(runner(input=image)["y"], expected, atol=1e-4)


@slow
def test_two_halves_of_a_resnet_in_two_folders_chained_give_the_whole(tmp_path: Path) -> None:
    editor = initialized("resnet", tmp_path)
    relu = of_type(editor, "Relu")
    cut, output = f"{relu[len(relu) // 2]}:0", f"{relu[len(relu) * 3 // 4]}:0"
    halves = editor.split(at=cut, outputs=[output])
    assert halves.check() < 1e-3
    keys = {
        name: f"t{number}"
        for number, name in enumerate(dict.fromkeys(sum(map(tensors_of, halves.boundaries), ())))
    }
    for number, (half, ends) in enumerate(zip(halves, halves.boundaries, strict=True)):
        inputs = {keys[name]: own for name, own in zip(ends.inputs, half.inputs, strict=True)}
        outputs = {keys[name]: own for name, own in zip(ends.outputs, half.outputs, strict=True)}
        half.save(f"{tmp_path}/{number}/", inputs, outputs)

    first, second = (
        tf.saved_model.load(f"{tmp_path}/{number}").signatures["serving_default"]
        for number in (0, 1)
    )
    ((key, spec),) = first.structured_input_signature[1].items()
    image = (
        np.random.default_rng(0).normal(size=[size or 2 for size in spec.shape]).astype(np.float32)
    )
    (found,) = second(**first(**{key: tf.constant(image)})).values()
    assert editor.session is not None
    expected = editor.session.run(output, {halves.boundaries[0].inputs[0]: image})
    assert np.ptp(expected) > 1e-3
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def tensors_of(part: Any) -> tuple[str, ...]:
    return (*part.inputs, *part.outputs)


@slow
def test_a_sequence_graph_with_loops_is_served_by_two_signatures_and_becomes_onnx(
    tmp_path: Path,
) -> None:
    editor = initialized("seq2seq", tmp_path)
    ends = [
        name
        for name in editor._core.index.names
        if name.endswith("while/Exit_3") and "gradients" not in name
    ][:2]
    signatures = {f"s{k}": (["ids:0", "len:0"], {"y": f"{name}:0"}) for k, name in enumerate(ends)}
    feeds = {
        "ids:0": np.array([[1, 2, 3], [4, 5, 0]], np.int32),
        "len:0": np.array([3, 2], np.int32),
    }
    assert editor.session is not None
    expected = editor.session.run([f"{name}:0" for name in ends], feeds)
    served = tf.saved_model.load(editor.save(f"{tmp_path}/m/", signatures=signatures)).signatures
    assert set(served) == set(signatures)
    fed = {key.removesuffix(":0"): value for key, value in feeds.items()}
    for number, value in enumerate(expected):
        assert np.ptp(value) > 1e-4
        found = served[f"s{number}"](**{key: tf.constant(each) for key, each in fed.items()})["y"]
        np.testing.assert_allclose(found, value, atol=1e-5)
        onnx = editor.save(f"{tmp_path}/{number}.onnx", *signatures[f"s{number}"])
        np.testing.assert_allclose(
            onnxruntime.InferenceSession(onnx).run(["y"], fed)[0], value, atol=1e-5
        )


@slow
def test_a_mobilenet_has_its_batch_fixed_its_preprocessing_cut_off_and_runs_as_float16(
    tmp_path: Path,
) -> None:
    model = keras.applications.MobileNetV3Small(
        weights=None, input_shape=(64, 64, 3), include_preprocessing=True
    )
    rng = np.random.default_rng(0)
    for layer in model.layers:  # as if trained: fresh weights give the same to all inputs
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.beta.assign(rng.normal(size=layer.beta.shape) * 0.1)
    model.get_layer("logits").kernel.assign(model.get_layer("logits").kernel * 10)
    model.export(tmp_path / "m", verbose=False)
    editor = tgw.edit(tmp_path / "m")
    (name,) = of_type(editor, "Placeholder")
    editor.passes.set_input(f"{name}:0", [1, 64, 64, 3], fix=True)
    rescaled = editor.match("Add|AddV2(Mul(x: float32[1x64x64x3], _), _)")[0].outputs[0]
    path = editor.save(tmp_path / "m.tflite", {"image": rescaled}, optimize="float16")
    assert any("largest difference" in notice for notice in editor.source.notices)
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
        table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer([0, 1, 2], ["a", "b", "c"]), "?"
        )
        names = table.lookup(tf.cast(tf.gather(tf.argmax(scores, 1), best), tf.int32))
        tf.identity(names, name="names")
        session = v1.Session()
        session.run(v1.tables_initializer())
    return graph, session


def test_a_detection_graph_is_cut_after_its_decoder_and_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(converted_model, "CONVERTERS", InProcess())
    graph, session = detection_graph()
    editor = tgw.edit(graph, session=session)
    picture = np.random.default_rng(0).integers(0, 255, [8, 8, 3]).astype(np.uint8)
    data = tf.io.encode_png(picture).numpy()
    expected = session.run("names:0", {"data:0": data})
    decoder, detector = editor.split(at="image:0", outputs=["names:0"])
    served = tf.saved_model.load(detector.save(f"{tmp_path}/detector/")).signatures[
        "serving_default"
    ]
    decoded = tf.saved_model.load(decoder.save(f"{tmp_path}/decoder/")).signatures[
        "serving_default"
    ]
    (found,) = served(**decoded(data=tf.constant(data))).values()
    assert found.numpy().tolist() == expected.tolist()
    assert detector.save(tmp_path / "scores.onnx", "features:0", "scores:0").stat().st_size > 100
    with pytest.raises(GraphEditError) as refusal:
        detector.save(tmp_path / "all.onnx", "image:0", "names:0")
    assert refusal.value.ops
    session.close()

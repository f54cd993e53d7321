"""TensorFlow Lite models are read as graphs, without TensorFlow, whatever is in the file."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.sources.files import lite_schema as schema_of_tensorflow
from tests.test_import_is_light import modules_after
from tfgraphwidget.errors import GraphEditError, NotAGraph, NotRunnable
from tfgraphwidget.graph import ORIGINS
from tfgraphwidget.sources.files import lite_schema

v1 = tf.compat.v1


@pytest.fixture(scope="module")
def converted() -> bytes:
    """A convolution with a stride, a bias and an activation, and what reads it."""
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 8, 8, 3], name="image")
        kernel = tf.constant(np.linspace(-1, 1, 108, dtype=np.float32).reshape(3, 3, 3, 4))
        with tf.name_scope("net"):
            y = tf.nn.conv2d(x, kernel, strides=2, padding="VALID", name="conv")
            y = tf.nn.relu6(tf.nn.bias_add(y, [1.0, 2.0, 3.0, 4.0]), name="out")
            flat = tf.reshape(tf.concat([y, -y], axis=3, name="both"), [-1, 72])
            indices = tf.argmax(flat, axis=1, name="largest")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            converter = v1.lite.TFLiteConverter.from_session(session, [x], [flat, indices])
            data: bytes = converter.convert()
    return data


@pytest.fixture
def file(converted: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "model.tflite"
    path.write_bytes(converted)
    return path


def test_the_schema_is_that_of_the_tensorflow_installed() -> None:
    """A newer TensorFlow has more operators: python -m tests.sources.files.lite_schema."""
    ours = dict.fromkeys(lite_schema.TABLE.read_text(encoding="utf-8").splitlines())
    theirs = schema_of_tensorflow.rows().splitlines()
    assert len(ours) > 300
    assert [line for line in theirs if line not in ours] == []


def test_each_operator_is_an_op_with_its_options(file: Path) -> None:
    nodes = {node.name: node for node in tgw.edit(file)._core.index.nodes}
    conv = nodes["net/conv_2d"]
    assert conv.op == "CONV_2D"
    assert list(conv.input) == ["image", "net/conv_2d/weights", "net/conv_2d/bias"]
    assert (conv.attr["stride_w"].i, conv.attr["padding"].s) == (2, b"VALID")
    assert conv.attr["fused_activation_function"].s == b"RELU6"
    assert b"net/out" in conv.attr[ORIGINS].list.s
    index = tgw.edit(file)._core.index
    by_type = {kind: index.names[op] for op, kind in enumerate(index.types)}
    assert {"CONV_2D", "CONCATENATION", "RESHAPE", "ARG_MAX", "NEG"} <= by_type.keys()
    assert index.dtypes(index.ids[by_type["ARG_MAX"]]) == ("int64",)
    assert index.shape(index.ids["net/conv_2d"], 0) == (None, 3, 3, 4)


def test_operators_are_those_of_the_interpreter(file: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        interpreter = tf.lite.Interpreter(str(file))
        described = interpreter._get_ops_details()
        tensors = {each["index"]: each for each in interpreter.get_tensor_details()}
    index = tgw.edit(file)._core.index
    ops = [op for op, node in enumerate(index.nodes) if ORIGINS in node.attr]
    assert [index.types[op] for op in ops] == [each["op_name"] for each in described]
    for op, each in zip(ops, described, strict=True):
        names = [tensors[number]["name"] for number in each["outputs"]]
        stored = b";".join(index.nodes[op].attr[ORIGINS].list.s).decode()
        assert stored == ";".join(part.removesuffix(":0") for part in names[0].split(";"))
    constants = {
        node.name: tf.make_ndarray(node.attr["value"].tensor)
        for node in index.nodes
        if node.op == "Const"
    }
    values = [interpreter.get_tensor(k) for k in described[0]["inputs"][1:]]
    for role, value in zip(("weights", "bias"), values, strict=True):
        np.testing.assert_array_equal(constants[f"net/conv_2d/{role}"], value)


def test_a_summary_needs_no_tensorflow(file: Path) -> None:
    code = (
        "from pathlib import Path; from tfgraphwidget.sources import describe_file; "
        f"summary = describe_file(Path({str(file)!r})); "
        "assert summary['kind'] == 'TensorFlow Lite model'; "
        "assert summary['graphs'][0]['types']['CONV_2D'] == 1, summary"
    )
    assert "tensorflow" not in modules_after(code)


def test_it_is_looked_at_and_not_imported(file: Path) -> None:
    editor = tgw.edit(file)
    (notice,) = editor._core.source.notices
    assert "is a TensorFlow Lite model, which TensorFlow does not run" in notice
    assert not editor.lint()
    with pytest.raises(NotRunnable, match="edit the model that it was converted from"):
        editor.save(file.parent / "saved")
    image = np.ones((1, 8, 8, 3), np.float32)
    values = editor.probe(["net/conv_2d:0"], {"image:0": image})
    assert "net/conv_2d" in repr(values)


def test_a_damaged_file_is_refused_or_read(converted: bytes) -> None:
    """Whatever is written over it: a sentence, and not an exception of the reader."""
    random = np.random.default_rng(0)
    refusals = list[str]()
    for _ in range(300):
        data = bytearray(converted)
        for _ in range(random.integers(1, 6)):
            at = int(random.integers(8, len(data) - 4))
            number = int(random.choice([0, 1, 2**31 - 1, 2**32 - 1, random.integers(2**31)]))
            data[at : at + 4] = number.to_bytes(4, "little")
        if random.random() < 0.2:
            del data[int(random.integers(8, len(data))) :]
        try:
            repr(tgw.edit(bytes(data)))
        except GraphEditError as refusal:
            refusals.append(str(refusal))
    assert 30 < len(refusals) < 300
    assert not any("\n" in text for text in refusals)


def test_a_vector_that_is_far_longer_than_the_file_is_refused(converted: bytes) -> None:
    data = bytearray(converted)
    count = len(data)
    for at in range(8, count - 4, 4):  # one of these is the number of tensors
        if 1 < int.from_bytes(data[at : at + 4], "little") < 40:
            longer = bytearray(data)
            longer[at : at + 4] = (2**31).to_bytes(4, "little")
            try:
                tgw.edit(bytes(longer))
            except NotAGraph:
                continue

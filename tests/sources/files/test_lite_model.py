"""TensorFlow Lite models are read as graphs, without TensorFlow, whatever is in the file."""

from __future__ import annotations

import warnings
from pathlib import Path

import flatbuffers
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.lite.python import schema_py_generated as schema

import tfgraphwidget as tgw
from tests.sources.files import lite_schema as schema_of_tensorflow
from tests.test_import_is_light import modules_after
from tfgraphwidget.errors import GraphEditError, NotAGraph, NotRunnable
from tfgraphwidget.graph import ORIGINS
from tfgraphwidget.sources import describe_file
from tfgraphwidget.sources.files import lite_schema
from tfgraphwidget.sources.files.flat_buffer import FlatBuffer

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
    assert "is a TensorFlow Lite model, to look at, to search, to compare" in notice
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
    tensors_at = converted_tensors(converted)
    longer = bytearray(converted)
    longer[tensors_at : tensors_at + 4] = (2**31).to_bytes(4, "little")
    with pytest.raises(NotAGraph, match="is a TensorFlow Lite model that is truncated or damaged"):
        tgw.edit(bytes(longer))


def converted_tensors(data: bytes) -> int:
    """Where the number of tensors of a model's main graph is."""
    (main,) = FlatBuffer(data).root().tables(2)
    return main._target(0)


@pytest.fixture(scope="module")
def with_signatures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of two signatures, one with a conditional in a loop, one that changes a variable."""

    class Model(tf.Module):
        def __init__(self) -> None:
            self.weights = tf.Variable(2 * np.eye(3, dtype=np.float32))

        @tf.function(
            input_signature=[
                tf.TensorSpec([1, 3], tf.float32, name="x"),
                tf.TensorSpec([], tf.int32, name="rounds"),
            ]
        )
        def infer(self, x: tf.Tensor, rounds: tf.Tensor) -> dict[str, tf.Tensor]:
            def body(count: tf.Tensor, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
                is_large = tf.reduce_sum(x) > 10
                return count + 1, tf.cond(
                    is_large, lambda: tf.tanh(x @ self.weights), lambda: x * 1.5
                )

            _, y = tf.while_loop(lambda count, _: count < rounds, body, [0, x])
            return {"y": tf.nn.relu(y)}

        @tf.function(input_signature=[tf.TensorSpec([1, 3], tf.float32, name="by")])
        def train(self, by: tf.Tensor) -> dict[str, tf.Tensor]:
            self.weights.assign_add(tf.matmul(by, by, transpose_a=True))
            return {"sum": tf.reduce_sum(self.weights)}

    folder, model = tmp_path_factory.mktemp("signatures"), Model()
    signatures = {"infer": model.infer, "train": model.train}
    tf.saved_model.save(model, str(folder / "saved"), signatures=signatures)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        converter = tf.lite.TFLiteConverter.from_saved_model(
            str(folder / "saved"), signature_keys=["infer", "train"]
        )
        converter.experimental_enable_resource_variables = True
        (folder / "model.tflite").write_bytes(converter.convert())
    return folder / "model.tflite"


def test_loops_and_branches_are_functions_to_look_into(with_signatures: Path) -> None:
    editor = tgw.edit(with_signatures)
    editor.view.enter("while", "body")
    types = editor._core.index.types
    assert {"SUM", "GREATER", "IF"} <= {*types}
    assert editor._core.index.shape(editor._core.index.op("while/if"), 0) == (1, 3)
    counted = [name for name in editor._core.index.names if "arg0" in name]
    assert editor._core.index.shape(editor._core.index.op(counted[0]), 0) == ()
    with pytest.raises(GraphEditError, match=r"runs a model as a whole.*outermost graph"):
        editor.probe(["while/if:0"], {"while_body_arg0:0": 0})
    editor.view.enter("while/if", "then")
    assert "BATCH_MATMUL" in editor._core.index.types or "FULLY_CONNECTED" in (
        editor._core.index.types
    )
    assert not [each for each in editor.lint() if each.severity == "error"]


@pytest.mark.parametrize("signature", ["infer", "train"])
def test_each_signature_is_a_graph_that_runs(with_signatures: Path, signature: str) -> None:
    values = {
        "infer": {"x": np.array([[1, 2, 3]], np.float32), "rounds": np.array(6, np.int32)},
        "train": {"by": np.array([[1, 2, 3]], np.float32)},
    }[signature]
    editor = tgw.edit(with_signatures, signature=signature)
    described = editor.signatures[signature]
    feeds = {tensor: values[key] for key, tensor in described.inputs}
    ((key, output),) = described.outputs
    saved = tf.saved_model.load(str(with_signatures.with_name("saved")))
    expected = saved.signatures[signature](**{k: tf.constant(v) for k, v in values.items()})[key]
    given = editor.probe([output], feeds)[output].value
    np.testing.assert_allclose(given, expected.numpy(), rtol=1e-6)
    assert any("a graph of its own" in text for text in editor._core.source.notices)


def test_info_counts_the_graph_of_each_signature(with_signatures: Path) -> None:
    infer, train = describe_file(with_signatures)["graphs"]
    assert [signature["name"] for signature in infer["signatures"]] == ["infer"]
    assert [signature["name"] for signature in train["signatures"]] == ["train"]
    assert infer["control_flow"] == {"while loops": 1, "conditionals": 1}
    assert train["types"]["ASSIGN_VARIABLE"] == 1
    assert infer["made_by"] == "MLIR Converted"


def test_a_signature_that_it_does_not_have_is_an_error(with_signatures: Path) -> None:
    with pytest.raises(GraphEditError, match=r"it has 'infer', 'train'; did you mean 'train'\?"):
        tgw.edit(with_signatures, signature="trains")


def test_a_loop_whose_body_is_its_own_graph_is_shown(with_signatures: Path) -> None:
    """No reader, check or picture of it goes on for ever."""
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(with_signatures.read_bytes(), 0))
    loops = [
        operator.builtinOptions
        for graph in model.subgraphs
        for operator in graph.operators
        if isinstance(operator.builtinOptions, schema.WhileOptionsT)
    ]
    for loop in loops:
        loop.bodySubgraphIndex = 0
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    editor = tgw.edit(bytes(builder.Output()))
    for _ in range(3):
        editor.view.enter("while", "body")
    assert loops
    assert "WHILE" in editor._core.index.types
    editor.lint()
    assert editor.diff(with_signatures)


def test_scales_that_fit_no_axis_are_damage() -> None:
    """They are refused when the file is opened, and not where its values are compared."""
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [1, 8, 8, 3], name="image")
        kernel = tf.constant(np.linspace(-1, 1, 108, dtype=np.float32).reshape(3, 3, 3, 4))
        converter = v1.lite.TFLiteConverter.from_session(
            session, [x], [tf.nn.conv2d(x, kernel, 1, "SAME", name="conv")]
        )
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        images = [[np.ones((1, 8, 8, 3), np.float32)]]
        converter.representative_dataset = lambda: images
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = bytearray(converter.convert())
    assert len(tgw.edit(bytes(data))) > 3
    (main,) = FlatBuffer(bytes(data)).root().tables(2)
    quantizations = filter(None, (tensor.table(4) for tensor in main.tables(0)))
    places = [table._target(2) for table in quantizations if len(table.vector(2, "<f4")) == 4]
    for place in places:
        data[place] = 3  # scales of four channels
    assert places
    with pytest.raises(NotAGraph, match="truncated or damaged"):
        tgw.edit(bytes(data))


@pytest.mark.parametrize("in_loop", [False, True])
def test_an_op_of_tensorflow_in_it_does_not_run(tmp_path: Path, in_loop: bool) -> None:
    """It could write files: a model of unknown origin is only read."""
    written, path = tmp_path / "written", tmp_path / "model.tflite"

    def twice(x: tf.Tensor) -> tf.Tensor:
        write = tf.io.write_file(str(written), tf.strings.as_string(x[0]))
        with tf.control_dependencies([write]):
            return x * 2.0

    @tf.function(input_signature=[tf.TensorSpec([2], tf.float32, name="x")])
    def call(x: tf.Tensor) -> tf.Tensor:
        if in_loop:
            (x,) = tf.while_loop(lambda x: x[0] < 10, lambda x: (twice(x),), [x])
            return x
        return twice(x)

    converter = tf.lite.TFLiteConverter.from_concrete_functions(
        [call.get_concrete_function()], call
    )
    converter.target_spec.supported_ops = [
        tf.lite.OpsSet.TFLITE_BUILTINS,
        tf.lite.OpsSet.SELECT_TF_OPS,
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path.write_bytes(converter.convert())
    editor = tgw.edit(path)
    if not in_loop:
        assert "FlexWriteFile" in editor._core.index.types
    feeds = {editor.inputs[0]: np.ones(2, np.float32)}
    with pytest.raises(GraphEditError, match=r"'flexwritefile'.*TFLITE_BUILTINS alone"):
        editor.probe([editor.outputs[0]], feeds)
    editor.compare(feeds, path, "all")
    assert not written.exists()

"""ONNX models are read as graphs, without TensorFlow, whatever is in the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import tfgraphwidget as tgw
from tests.test_import_is_light import modules_after
from tfgraphwidget.errors import GraphEditError, NotAGraph, NotRunnable
from tfgraphwidget.graph import ORIGINS

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
KERNEL = np.linspace(-1, 1, 108, dtype=np.float32).reshape(4, 3, 3, 3)
BIAS = np.arange(4, dtype=np.float32)


def model_of(
    nodes: list[Any],
    inputs: list[Any],
    outputs: list[Any],
    constants: dict[str, np.ndarray],
    domains: tuple[str, ...] = (),
) -> onnx.ModelProto:
    """A model with these operators."""
    initializers = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "main", inputs, outputs, initializers)
    opsets = [helper.make_opsetid("", 17), *(helper.make_opsetid(each, 1) for each in domains)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def kind_of(editor: tgw.GraphEditor, name: str) -> str:
    """The type of an op."""
    (kind,) = [node.op for node in editor._core.index.nodes if node.name == name]
    return kind


@pytest.fixture
def model() -> onnx.ModelProto:
    """A convolution with a bias, what reads it, and a conditional around that."""
    image = helper.make_tensor_value_info("image", FLOAT, ["batch", 3, 8, 8])
    result = helper.make_tensor_value_info("result", FLOAT, None)
    branches = [
        helper.make_graph(
            [helper.make_node(kind, ["net/out"], [f"{kind}_out"])],
            kind,
            [],
            [helper.make_tensor_value_info(f"{kind}_out", FLOAT, None)],
        )
        for kind in ("Neg", "Abs")
    ]
    nodes = [
        helper.make_node(
            "Conv",
            ["image", "net/kernel", "net/bias"],
            ["net/conv:0"],
            name="net/conv",
            strides=[2, 2],
            kernel_shape=[3, 3],
        ),
        helper.make_node("Relu", ["net/conv:0"], ["net/out"], name="/net/out"),
        helper.make_node("ArgMax", ["net/out"], ["largest"], axis=1, keepdims=0),
        helper.make_node(
            "If", ["yes"], ["result"], then_branch=branches[0], else_branch=branches[1]
        ),
    ]
    outputs = [result, helper.make_tensor_value_info("largest", INT64, None)]
    constants = {"net/kernel": KERNEL, "net/bias": BIAS, "yes": np.asarray(True)}
    return model_of(nodes, [image], outputs, constants)


@pytest.fixture
def file(model: onnx.ModelProto, tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    return path


def test_each_operator_is_an_op_with_its_attributes_and_types(file: Path) -> None:
    index = tgw.edit(file)._core.index
    nodes = {node.name: node for node in index.nodes}
    conv = nodes["net/conv"]
    assert conv.op == "onnx.Conv"
    assert list(conv.input) == ["image", "net/kernel", "net/bias"]
    assert list(conv.attr["strides"].list.i) == [2, 2]
    assert list(conv.attr[ORIGINS].list.s) == [b"net/conv"]
    assert index.shape(index.ids["net/conv"], 0) == (None, 4, 3, 3)
    assert index.dtypes(index.ids["largest"]) == ("int64",)
    np.testing.assert_array_equal(
        np.frombuffer(nodes["net/kernel"].attr["value"].tensor.tensor_content, np.float32),
        KERNEL.ravel(),
    )


def test_what_is_inside_of_a_conditional_reads_what_is_around_it(file: Path) -> None:
    """The conditional would be cut off from it otherwise."""
    nodes = {node.name: node for node in tgw.edit(file)._core.index.nodes}
    assert list(nodes["result"].input) == ["yes", "net/out"]


def test_a_summary_needs_no_tensorflow(file: Path) -> None:
    code = (
        "from pathlib import Path; from tfgraphwidget.sources import describe_file; "
        f"summary = describe_file(Path({str(file)!r})); "
        "assert summary['kind'] == 'ONNX model'; "
        "assert summary['graphs'][0]['types']['onnx.Conv'] == 1, summary"
    )
    assert "tensorflow" not in modules_after(code)


def test_it_is_looked_at_run_and_not_imported(file: Path) -> None:
    editor = tgw.edit(file)
    (notice,) = editor._core.source.notices
    assert "is an ONNX model, to look at, to search, to compare" in notice
    assert not editor.lint()
    with pytest.raises(NotRunnable, match="edit the model that it was converted from"):
        editor.save(file.parent / "saved")
    image = np.random.default_rng(0).normal(size=(2, 3, 8, 8)).astype(np.float32)
    probe = editor.probe(["net/conv:0", "result:0", "image:0"], {"image:0": image})
    kernel = KERNEL.reshape(4, 27)
    window = image[:, :, :3, :3].reshape(2, 27)
    values = {name: each.value for name, each in probe.items()}
    np.testing.assert_allclose(values["net/conv:0"][:, :, 0, 0], window @ kernel.T + BIAS, 1e-4)
    np.testing.assert_array_equal(values["result:0"], -np.maximum(values["net/conv:0"], 0))
    np.testing.assert_array_equal(values["image:0"], image)


def test_operators_in_any_order_and_of_other_domains(tmp_path: Path) -> None:
    x = helper.make_tensor_value_info("x", FLOAT, [2])
    y = helper.make_tensor_value_info("y", FLOAT, [2])
    nodes = [
        helper.make_node("Gelu", ["a"], ["y"], domain="com.example"),
        helper.make_node("Neg", ["x"], ["a"]),
        helper.make_node("Constant", [], ["two"], value=numpy_helper.from_array(BIAS)),
        helper.make_node("Constant", [], ["text"], value_string="a"),
    ]
    path = tmp_path / "model.onnx"
    onnx.save(model_of(nodes, [x], [y], {}, ("com.example",)), path)
    editor = tgw.edit(path)
    nodes_by_name = {node.name: node for node in editor._core.index.nodes}
    assert nodes_by_name["y"].op == "com.example.Gelu"
    assert list(nodes_by_name["y"].input) == ["a"]
    assert nodes_by_name["two"].op == "Const"
    with pytest.raises(GraphEditError, match=r"ONNX Runtime does not run the model: .*Gelu"):
        editor.probe(["y:0"], {"x:0": np.ones(2, np.float32)})


def test_values_that_lie_in_another_file(model: onnx.ModelProto, tmp_path: Path) -> None:
    """They are read where they lie beside the model, and nowhere else."""
    path = tmp_path / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="values", size_threshold=0)
    editor = tgw.edit(path)
    assert {"Const"} == {kind_of(editor, name) for name in ("net/kernel", "net/bias")}
    feeds = {"image:0": np.ones((1, 3, 8, 8), np.float32)}
    assert editor.probe(["net/out:0"], feeds)

    content = path.read_bytes()
    for data in (content, content.replace(b"values", b"../val")):
        moved = tmp_path / "moved"
        moved.mkdir(exist_ok=True)
        (moved / "model.onnx").write_bytes(data)
        (tmp_path / "val").write_bytes((tmp_path / "values").read_bytes())
        editor = tgw.edit(moved / "model.onnx")
        assert kind_of(editor, "net/kernel") == "onnx.Constant"
        with pytest.raises(GraphEditError, match=r"'net/kernel'.* save the model with its values"):
            editor.probe(["net/out:0"], feeds)


def test_a_damaged_file_is_refused_or_read(model: onnx.ModelProto, tmp_path: Path) -> None:
    """Whatever is written over it: a sentence, and not an exception of a reader."""
    random = np.random.default_rng(0)
    whole = model.SerializeToString()
    path, refusals = tmp_path / "model.onnx", list[str]()
    for _ in range(12):
        data = bytearray(whole)
        for _ in range(random.integers(1, 6)):
            data[int(random.integers(len(data)))] = int(random.integers(256))
        if random.random() < 0.3:
            del data[int(random.integers(8, len(data))) :]
        path.write_bytes(bytes(data))
        try:
            repr(tgw.edit(path))
        except GraphEditError as refusal:
            refusals.append(str(refusal))
    assert refusals
    assert not any("\n" in text for text in refusals)


def test_a_file_with_that_name_alone_is_none(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"\x08\x09\x12\x03pytorch\x3a\x7f")
    with pytest.raises(NotAGraph, match="is an ONNX model that is truncated or damaged"):
        tgw.edit(path)
    path.write_bytes(b"no model")
    with pytest.raises(NotAGraph, match="is not a GraphDef, MetaGraphDef or SavedModel"):
        tgw.edit(path)


def test_graphs_inside_of_operators_are_functions_to_look_into(file: Path) -> None:
    """They get what the operator reads from around them."""
    editor = tgw.edit(file)
    (conditional,) = editor.find("type:onnx.If")
    assert kind_of(editor, "result") == "onnx.If"
    assert str(conditional) == "result"
    for branch, kind in (("then_branch", "onnx.Neg"), ("else_branch", "onnx.Abs")):
        editor.view.enter("result", branch)
        index = editor._core.index
        assert [*index.types] == ["Placeholder", kind]
        assert index.shape(1, 0) == (None, 4, 3, 3)
        editor.view.leave()
    assert not [each for each in editor.lint() if each.severity == "error"]


def test_a_loop_has_its_body_and_the_body_its_branches(tmp_path: Path) -> None:
    def info(name: str, kind: int, shape: list[int] | None) -> Any:
        return helper.make_tensor_value_info(name, kind, shape)

    branches = [
        helper.make_graph(
            [helper.make_node(kind, ["before", "by"], [f"{kind}_out"])],
            kind,
            [],
            [info(f"{kind}_out", FLOAT, [3])],
        )
        for kind in ("Add", "Mul")
    ]
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["go_on"]),
            helper.make_node(
                "If", ["go_on"], ["after"], then_branch=branches[0], else_branch=branches[1]
            ),
        ],
        "body",
        [info("round", INT64, []), info("go", TensorProto.BOOL, []), info("before", FLOAT, [3])],
        [info("go_on", TensorProto.BOOL, []), info("after", FLOAT, [3])],
    )
    loop = helper.make_node("Loop", ["rounds", "", "x"], ["y"], name="net/loop", body=body)
    inputs = [info("x", FLOAT, [3]), info("rounds", INT64, []), info("by", FLOAT, [3])]
    path = tmp_path / "loop.onnx"
    onnx.save(model_of([loop], inputs, [info("y", FLOAT, [3])], {}), path)
    editor = tgw.edit(path)
    index = editor._core.index
    assert index.shape(index.op("rounds"), 0) == ()
    assert {*editor._core.index.nodes[index.op("net/loop")].input} == {"rounds", "x", "by"}
    editor.view.enter("net/loop")
    index = editor._core.index
    assert {"round", "go", "before", "by"} == {
        name for op, name in enumerate(index.names) if index.types[op] == "Placeholder"
    }
    assert {*index.nodes[index.op("after")].input} == {"go_on", "before", "by"}
    with pytest.raises(GraphEditError, match=r"runs a model as a whole.*outermost graph"):
        editor.probe(["after:0"], {"before:0": np.ones(3, np.float32)})
    editor.view.enter("after", "else_branch")
    assert "onnx.Mul" in editor._core.index.types
    assert editor._core.index.shape(editor._core.index.op("Mul_out"), 0) == (3,)
    feeds = {"x:0": [1, 2, 3], "rounds:0": 3, "by:0": [1, 1, 1]}
    feeds = {
        name: np.asarray(value, np.int64 if name == "rounds:0" else np.float32)
        for name, value in feeds.items()
    }
    editor.view.leave(0)
    np.testing.assert_array_equal(
        editor.probe(["net/loop:0"], feeds)["net/loop:0"].value, [4, 5, 6]
    )

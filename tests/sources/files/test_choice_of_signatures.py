"""A SavedModel without "serving_default" opens as a whole, and each of its signatures can be
chosen.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.cli import main
from tfgraphwidget.errors import UnknownName


@pytest.fixture
def counter(tmp_path: Path) -> Path:
    """Signatures of TensorFlow 1, which lie in one graph."""
    builder = v1.saved_model.Builder(str(tmp_path / "counter"))
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        count = v1.get_variable("count", initializer=1.0, use_resource=True)
        delta = v1.placeholder(tf.float32, [], name="delta")
        ends = {
            "get": ({}, {"output": tf.identity(count, name="now")}),
            "add": ({"delta": delta}, {"output": tf.add(count, delta, name="sum")}),
        }
        session.run(v1.global_variables_initializer())
        signatures = {
            name: v1.saved_model.predict_signature_def(*pair)
            for name, pair in ends.items()
            if pair[0]
        }
        signatures["get"] = v1.saved_model.build_signature_def(
            {}, {"output": v1.saved_model.build_tensor_info(ends["get"][1]["output"])}, "get"
        )
        builder.add_meta_graph_and_variables(session, ["serve"], signatures)
    builder.save()
    return tmp_path / "counter"


class Two(tf.Module):
    """Two functions that share a variable."""

    def __init__(self) -> None:
        super().__init__()
        self.v = tf.Variable(2.0, name="v")

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def f(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        """A product."""
        return {"y": tf.nn.relu(x) * self.v}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def g(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        """A sum."""
        return {"z": tf.nn.elu(x) + self.v}


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """Signatures of TensorFlow 2, each of which is a function."""
    module = Two()
    tf.saved_model.save(module, str(tmp_path / "two"), signatures={"f": module.f, "g": module.g})
    return tmp_path / "two"


def test_signatures_of_tensorflow_1_lie_in_one_graph_and_mark_their_inputs_and_outputs(
    counter: Path,
) -> None:
    editor = tgw.edit(counter)
    assert editor.view.breadcrumb == (str(counter),)
    assert editor._core.view.boundary == ((), ())
    assert [signature.name for signature in tuple(editor.signatures.values())] == ["add", "get"]
    assert "'add' and 'get', and none named 'serving_default'" in editor.source.notices[0]
    editor.signatures.open("add")
    assert (editor.inputs, editor.outputs) == (("delta:0",), ("sum:0",))
    editor.signatures.open("get")
    assert editor.outputs == ("now:0",)
    assert tgw.edit(counter, signature="add").source.notices == ()
    with pytest.raises(
        UnknownName, match=r"no signature 'gett': the graph has 'add', 'get'; did you mean 'get'"
    ):
        editor.signatures.open("gett")


def test_an_edit_keeps_all_signatures(counter: Path, tmp_path: Path) -> None:
    editor = tgw.edit(counter)
    editor.insert("sum", "Neg")
    editor.save(tmp_path / "new/")
    loaded = tf.saved_model.load(str(tmp_path / "new"))
    assert loaded.signatures["get"]()["output"] == 1
    assert abs(loaded.signatures["add"](delta=tf.constant(4.0))["output"]) == 5


def test_each_function_is_opened_by_its_signature_and_edited_there(
    two: Path, tmp_path: Path
) -> None:
    editor = tgw.edit(two)
    assert len(editor.view.breadcrumb) == 1
    editor.signatures.open("g")
    assert len(editor.view.breadcrumb) == 3
    editor.replace(editor.find("type:Elu").ops[0], "Relu")
    x = np.array([-1.0, 1.0], np.float32)
    assert np.array_equal(editor.to_function()(x=x), [2, 3])
    editor.save(tmp_path / "new/")
    assert editor.source.notices == tgw.edit(two).source.notices
    loaded = tf.saved_model.load(str(tmp_path / "new"))
    assert np.array_equal(loaded.signatures["g"](x=tf.constant(x))["z"], [2, 3])
    assert np.array_equal(loaded.g(x)["z"], [2, 3])
    assert np.array_equal(loaded.f(x)["y"], [0, 2])
    again = tgw.edit(two)
    again.history.replay(editor.history.records())
    assert again._core.target.index.functions == editor._core.target.index.functions
    names: dict[str, tgw.GraphEditor] = {}
    exec(editor.history.to_script().text, names)
    assert names["editor"]._core.target.index.functions == editor._core.target.index.functions


@pytest.mark.parametrize("form", ["counter", "two"])
def test_the_command_line_opens_it(
    form: str, request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(request.getfixturevalue(form))
    name = {"counter": "add", "two": "f"}[form]
    for options in ([], ["--signature", name]):
        capsys.readouterr()
        assert main(["info", file, "--json", *options]) == 0
        graph = json.loads(capsys.readouterr().out)["graphs"][0]
        listed = [each["name"] for each in graph["signatures"] if not each["name"].startswith("__")]
        assert listed == [name] if options else len(listed) == 2
        assert main(["lint", file, *options, "--never", "untrusted"]) == 0
        assert main(["show", file, "--html", f"{tmp_path}/page.html", *options]) == 0
        assert main(["diff", file, file, *options]) == 0
        assert main(["export", file, f"{tmp_path}/graph.pb", *options]) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert main(["export", file, f"{tmp_path}/all/"]) == 0
    assert len(tf.saved_model.load(f"{tmp_path}/all").signatures) == 2
    assert main(["info", file, "--signature", "none"]) != 0
    assert "no signature 'none'" in capsys.readouterr().err


def test_the_difference_of_one_signature_is_compared_alone(two: Path, tmp_path: Path) -> None:
    editor = tgw.edit(two, signature="g")
    editor.replace(editor.find("type:Elu").ops[0], "Relu")
    editor.save(tmp_path / "new/")
    assert main(["diff", str(two), str(tmp_path / "new"), "--signature", "f"]) == 0
    assert main(["diff", str(two), str(tmp_path / "new"), "--signature", "g"]) == 1
    assert main(["diff", str(two), str(tmp_path / "new")]) == 1

"""Passes over files where TensorFlow is not installed, and where it is: it is not imported."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfgraphwidget as tgw
from tfgraphwidget.sources import tf_protos

pytestmark = pytest.mark.no_tensorflow
ROOT = Path(__file__).parents[3]
FLOAT = 1


def file() -> Any:
    """A convolution, its batch normalization with constants, a Relu after an Identity, and two
    equal constants.
    """
    graph_def = tf_protos.GraphDef()
    random = np.random.default_rng(3)

    def add(name: str, op: str, inputs: tuple[str, ...] = (), **attributes: Any) -> None:
        node = graph_def.node.add(name=name, op=op, input=inputs)
        for key, value in attributes.items():
            if isinstance(value, np.ndarray):
                node.attr[key].tensor.CopyFrom(tf_protos.tensor_of(value, "float32"))
            elif isinstance(value, bytes):
                node.attr[key].s = value
            elif isinstance(value, bool):
                node.attr[key].b = value
            elif isinstance(value, float):
                node.attr[key].f = value
            elif isinstance(value, list):
                node.attr[key].list.i.extend(value)
            else:
                node.attr[key].type = value

    add("x", "Placeholder", dtype=FLOAT)
    for size in (-1, 8, 8, 16):
        graph_def.node[0].attr["shape"].shape.dim.add(size=size)
    add(
        "weights", "Const", value=random.normal(size=(3, 3, 16, 16)).astype(np.float32), dtype=FLOAT
    )
    for name in ("scale", "offset", "mean", "variance", "twin"):
        seed = 5 if name in ("scale", "twin") else len(name)
        value = np.random.default_rng(seed).uniform(0.5, 1.5, 16).astype(np.float32)
        add(name, "Const", value=value, dtype=FLOAT)
    add(
        "conv",
        "Conv2D",
        ("x", "weights"),
        T=FLOAT,
        strides=[1, 1, 1, 1],
        padding=b"SAME",
        data_format=b"NHWC",
    )
    parameters = ("scale", "offset", "mean", "variance")
    options = {
        "T": FLOAT,
        "U": FLOAT,
        "epsilon": 0.001,
        "is_training": False,
        "data_format": b"NHWC",
    }
    add("norm", "FusedBatchNormV3", ("conv", *parameters), **options)
    add("passed", "Identity", ("norm",), T=FLOAT)
    add("relu", "Relu", ("passed",), T=FLOAT)
    add("scaled", "Mul", ("relu", "twin"), T=FLOAT)
    add("sums", "Add", ("twin", "scale"), T=FLOAT)
    add("y", "Mul", ("scaled", "sums"), T=FLOAT)
    graph_def.node[-1].device = "/device:CPU:0"
    # After what reads it, for `sort`.
    relu = next(node for node in graph_def.node if node.name == "relu")
    moved = type(relu)()
    moved.CopyFrom(relu)
    graph_def.node.remove(relu)
    graph_def.node.append(moved)
    return graph_def


PASSES: dict[str, Callable[[tgw.GraphEditor], object]] = {
    "fold_constants": lambda editor: editor.passes.fold_constants(),
    "merge_duplicates": lambda editor: editor.passes.merge_duplicates(),
    "remove_identities": lambda editor: editor.passes.remove_identities(),
    "rename_type": lambda editor: editor.passes.rename_type("Relu", "Relu6"),
    "obfuscate_names": lambda editor: editor.passes.obfuscate_names(),
    "change_batch_size": lambda editor: editor.passes.change_batch_size(3),
    "cast": lambda editor: editor.passes.cast("float16"),
    "round_weights": lambda editor: editor.passes.round_weights(4),
    "quantize_weights": lambda editor: editor.passes.quantize_weights(),
    "fold_batch_norm": lambda editor: editor.passes.fold_batch_norm(),
    "replace_all": lambda editor: editor.replace_all("Relu(x)", "Relu6(x)"),
    "replace_all by a tensor": lambda editor: editor.replace_all("Identity(x)", "x"),
    "replace_all until fixed": lambda editor: editor.replace_all(
        "Mul(Relu(x), y)", "Relu(Mul(y, x))", until="fixed"
    ),
    "remove_devices": lambda editor: editor.passes.remove_devices(),
    "remove_attr": lambda editor: editor.passes.remove_attr("data_format"),
    "sort": lambda editor: editor.passes.sort(),
}


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_is_done_undone_and_done_again(name: str) -> None:
    was_imported = "tensorflow" in sys.modules
    editor = tgw.edit(file())
    before = [node.SerializeToString(deterministic=True) for node in editor._core.index.nodes]
    PASSES[name](editor)
    after = [node.SerializeToString(deterministic=True) for node in editor._core.index.nodes]
    assert after != before
    editor.undo()
    assert [
        node.SerializeToString(deterministic=True) for node in editor._core.index.nodes
    ] == before
    editor.redo()
    assert [
        node.SerializeToString(deterministic=True) for node in editor._core.index.nodes
    ] == after
    assert ("tensorflow" in sys.modules) == was_imported


REPLAY = """
import json, sys
from pathlib import Path

from tests.no_tensorflow import WithoutTensorFlow

sys.meta_path.insert(0, WithoutTensorFlow())

import tfgraphwidget as tgw

def nodes(editor):
    return [node.SerializeToString(deterministic=True).hex() for node in editor._core.index.nodes]

results = {}
for edits in sorted(Path(sys.argv[1]).glob("*.json")):
    scope = {}
    exec(edits.with_suffix(".py").read_text(), scope)
    by_code = scope["editor"]
    by_json = tgw.edit(Path(sys.argv[1]) / "graph.pb")
    states = []
    for _ in range(2):
        by_json.history.replay(edits)
        states.append(nodes(by_json))
        by_json.undo()
        states.append(nodes(by_json))
    results[edits.stem] = [nodes(by_code), *states]
print(json.dumps(results))
"""


def test_edits_are_the_same_in_another_process_as_json_and_as_code_and_again_after_undo(
    tmp_path: Path,
) -> None:
    (tmp_path / "graph.pb").write_bytes(file().SerializeToString(deterministic=True))
    expected: dict[str, list[list[str]]] = {}
    for name, apply in PASSES.items():
        editor = tgw.edit(tmp_path / "graph.pb")
        before = [
            node.SerializeToString(deterministic=True).hex() for node in editor._core.index.nodes
        ]
        apply(editor)
        after = [
            node.SerializeToString(deterministic=True).hex() for node in editor._core.index.nodes
        ]
        assert after != before, name
        expected[name] = [after, after, before, after, before]
        editor.save(tmp_path / f"{name}.json")
        (tmp_path / f"{name}.py").write_text(editor.history.to_script().text)
    command = [sys.executable, "-c", REPLAY, str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    results = json.loads(run.stdout)
    assert [name for name in expected if results[name] != expected[name]] == []


def test_folded_weights_are_those_of_the_batch_normalization() -> None:
    editor = tgw.edit(file())
    index = editor._core.index
    values = {
        name: tf_protos.array_of(index.nodes[index.ids[name]].attr["value"].tensor)
        for name in ("weights", "scale", "offset", "mean", "variance")
    }
    editor.passes.fold_batch_norm()
    assert "FusedBatchNormV3" not in editor._core.index.types
    factor = values["scale"] / np.sqrt(values["variance"] + 0.001)
    conv = editor._core.index.nodes[editor._core.index.op("conv")]
    weights = tf_protos.array_of(
        editor._core.index.nodes[editor._core.index.op(conv.input[1])].attr["value"].tensor
    )
    np.testing.assert_allclose(weights, values["weights"] * factor, rtol=1e-6)
    (bias,) = (node for node in editor._core.index.nodes if node.op == "BiasAdd")
    offset = tf_protos.array_of(
        editor._core.index.nodes[editor._core.index.op(bias.input[1])].attr["value"].tensor
    )
    np.testing.assert_allclose(offset, values["offset"] - values["mean"] * factor, rtol=1e-5)

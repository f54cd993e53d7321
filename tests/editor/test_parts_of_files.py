"""Parts of files: extract and split give graphs with the values of the file, without importing
it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import initialised, v1
from tests.graphs import build_mlp

X = np.array([[1.0, -2.0, 3.0]], np.float32)


class Scaled(tf.Module):
    """A function that calls another one, with a constant argument, a variable and, if wanted, a
    table.
    """

    def __init__(self, *, has_table: bool = False) -> None:
        super().__init__()
        self.w = tf.Variable(np.arange(6, dtype=np.float32).reshape(3, 2), name="w")
        keys = tf.lookup.KeyValueTensorInitializer(["a"], [2.0])
        self.table = tf.lookup.StaticHashTable(keys, 0.0) if has_table else None

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, "x")])
    def scaled(self, x: tf.Tensor) -> tf.Tensor:
        inner = tf.function(lambda y, by: tf.nn.relu(y @ self.w) * by, autograph=False)
        y = inner(x, tf.constant(3.0))
        return y if self.table is None else y * self.table.lookup(tf.constant("a"))


def saved(module: Scaled, path: Path) -> Path:
    tf.saved_model.save(module, str(path), signatures=module.scaled)
    return path


def opened_with_checkpoint(folder: Path) -> tuple[tgw.GraphEditor, np.ndarray]:
    """A file with the checkpoint beside it, and what net/two/out:0 is for X."""
    with build_mlp(resource=True).as_default() as graph, initialised(graph) as session:
        v1.train.Saver().save(session, str(folder / "model"))
        expected = session.run("net/two/out:0", {"x:0": X})
    return tgw.edit(folder / "model.meta", checkpoint=str(folder / "model")), expected


def test_a_part_of_a_file_runs_with_the_values_of_its_checkpoint(tmp_path: Path) -> None:
    editor, expected = opened_with_checkpoint(tmp_path)
    part = editor.extract("x:0", "net/two/out:0")
    assert editor._core.source.graph is None, "the file is not imported"
    assert part.session is not None
    np.testing.assert_array_equal(part.session.run("net/two/out:0", {"x:0": X}), expected)


def test_a_clone_in_a_part_of_a_file_has_its_values(tmp_path: Path) -> None:
    editor, expected = opened_with_checkpoint(tmp_path)
    part = editor.extract("x:0", "net/two/out:0")
    part.clone("x:0", "net/two/out:0", into="copy")
    assert part.session is not None
    np.testing.assert_array_equal(part.session.run("copy/net/two/out:0", {"x:0": X}), expected)


def test_a_part_of_a_file_without_values_begins_with_what_its_initializers_compute(
    tmp_path: Path,
) -> None:
    with build_mlp(resource=True).as_default() as graph:
        (tmp_path / "graph.pb").write_bytes(graph.as_graph_def().SerializeToString())
    editor = tgw.edit(tmp_path / "graph.pb")
    first, second = editor.split("net/one/out", "x:0", "net/two/out:0")
    assert editor._core.source.graph is None, "the file is not imported"
    assert first.session is not None
    assert second.session is not None
    hidden = first.session.run("net/one/out:0", {"x:0": X})
    assert np.isfinite(second.session.run("net/two/out:0", {"net/one/out:0": hidden})).all()


def test_a_part_of_a_saved_function_is_a_graph_with_values_and_a_constant_argument(
    tmp_path: Path,
) -> None:
    module = Scaled()
    editor = tgw.edit(saved(module, tmp_path / "saved"))
    relu = next(node.name for node in editor._core.index.nodes if node.op == "Relu")
    arguments, results = editor._core.executor.inputs_and_outputs
    assert editor._core.view.body.constants, "the call passes a constant"
    first, second = editor.split(relu, outputs=list(results.values()))
    assert editor._core.source.graph is None
    assert (first.outputs, second.inputs) == ((f"{relu}:0",), (f"{relu}:0",))
    assert first.session is not None
    assert second.session is not None
    hidden = first.session.run(f"{relu}:0", {first.inputs[0]: X})
    np.testing.assert_array_equal(
        second.session.run(second.outputs[0], {second.inputs[0]: hidden}), module.scaled(X)
    )
    assert first.to_module().variables[0].shape == (3, 2)
    assert arguments[0] in first.inputs


def test_a_part_that_hangs_on_another_argument_is_refused_as_in_any_function(
    tmp_path: Path,
) -> None:
    editor = tgw.edit(saved(Scaled(), tmp_path / "saved"))
    arguments, results = editor._core.executor.inputs_and_outputs
    with pytest.raises(tgw.GraphEditError):
        editor.extract(next(iter(results.values())), arguments[0])
    assert editor._core.source.graph is None


def test_a_part_with_a_table_is_a_function_as_before(tmp_path: Path) -> None:
    module = Scaled(has_table=True)
    editor = tgw.edit(saved(module, tmp_path / "saved"))
    part = editor.extract(outputs=list(editor._core.executor.inputs_and_outputs[1].values()))
    values = part.to_module()(X)
    (value,) = values.values() if isinstance(values, dict) else (values,)
    np.testing.assert_array_equal(value, module.scaled(X))


def test_values_of_a_variable_that_was_renamed_are_found_inside_of_a_function(
    tmp_path: Path,
) -> None:
    module = Scaled()
    editor = tgw.edit(saved(module, tmp_path / "saved"))
    names = editor.view.breadcrumb[1:]
    editor.view.leave(0)
    handle = next(node.name for node in editor._core.index.nodes if node.op == "VarHandleOp")
    editor.rename(handle, "kernel")
    for name in names:
        editor.view.enter(name)
    inside = next(node.name for node in editor._core.index.nodes if node.op == "VarHandleOp")
    np.testing.assert_array_equal(editor.inspect(inside).value.value, module.w)
    editor.freeze()
    assert "VarHandleOp" not in {node.op for node in editor._core.index.nodes}
    assert editor._core.source.graph is None
    np.testing.assert_array_equal(editor.inspect(inside).value.value, module.w)

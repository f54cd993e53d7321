"""The session, what is verified and what is saved of a file are of the graph as edits have made
it.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.errors import GraphEditError, NotRunnable

X = np.float32([[1.0, 2.0]])
Z = 3 * (X * [5, 6] + [0.5, 0.25]) + [[10, 20]] + 1
DEVICE = "/job:ps/task:3/device:GPU:1"
PLACED = ("y", "w", "r")

Make = Callable[[v1.GraphDef], None]
Edit = Callable[[tgw.GraphEditor], object]


def write(folder: Path) -> None:
    """A v1 loop over y = x * w + r, a table and two variables: as a SavedModel, and with a
    checkpoint of a Saver.
    """
    v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        w = v1.get_variable("w", initializer=[3.0, 4.0], use_resource=True)
        r = v1.get_variable("r", initializer=[0.5, 0.25], use_resource=False)
        contents = tf.lookup.KeyValueTensorInitializer(
            tf.constant([1, 2], tf.int64), tf.constant([10.0, 20.0])
        )
        found = tf.lookup.StaticHashTable(contents, -1.0).lookup(tf.cast(x, tf.int64), name="look")
        y = tf.add(tf.multiply(x, w, name="y"), r, name="yr")
        _, total = v1.while_loop(
            lambda i, _: i < 3, lambda i, a: (i + 1, a + y), [tf.constant(0), tf.zeros_like(y)]
        )
        z = tf.add(tf.add(total, found), 1.0, name="z")
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        session.run(w.assign([5.0, 6.0]))
        v1.train.Saver().save(session, str(folder / "m"))
        signature = v1.saved_model.predict_signature_def({"x": x}, {"z": z})
        builder = v1.saved_model.Builder(str(folder / "model"))
        builder.add_meta_graph_and_variables(
            session, ["serve"], {"serving_default": signature}, main_op=v1.tables_initializer()
        )
        builder.save()


@cache
def written() -> tempfile.TemporaryDirectory[str]:
    """The files of `write`, made once."""
    folder = tempfile.TemporaryDirectory()
    write(Path(folder.name))
    v1.enable_control_flow_v2()
    return folder


def opened(folder: Path, make: Make, form: str) -> tgw.GraphEditor:
    """The file after `make` has changed its GraphDef, as one of TensorFlow 1's two forms."""
    shutil.copytree(written().name, folder, dirs_exist_ok=True)
    if form == "meta":
        meta = v1.MetaGraphDef.FromString((folder / "m.meta").read_bytes())
        make(meta.graph_def)
        (folder / "m.meta").write_bytes(meta.SerializeToString())
        return tgw.edit(folder / "m.meta", checkpoint=folder / "m")
    return changed_model(folder / "model", make)


def changed_model(path: Path, make: Make) -> tgw.GraphEditor:
    from tensorflow.core.protobuf import saved_model_pb2

    file = path / "saved_model.pb"
    model = saved_model_pb2.SavedModel.FromString(file.read_bytes())
    make(model.meta_graphs[0].graph_def)
    file.write_bytes(model.SerializeToString())
    return tgw.edit(path)


def named(graph_def: v1.GraphDef, name: str) -> v1.NodeDef:
    return next(node for node in graph_def.node if node.name == name)


def add_unknown(graph_def: v1.GraphDef) -> None:
    graph_def.node.add(name="bad", op="NoSuchOp", input=["y"])


def put_unknown_between(graph_def: v1.GraphDef) -> None:
    graph_def.node.add(name="bad", op="NoSuchOp", input=["y"]).attr["T"].type = 1
    named(graph_def, "yr").input[0] = "bad"


def put_without_kernel_between(graph_def: v1.GraphDef) -> None:
    node = graph_def.node.add(name="bad", op="NcclAllReduce", input=["y"])
    node.attr["T"].type, node.attr["num_devices"].i = 1, 1
    node.attr["reduction"].s, node.attr["shared_name"].s = b"sum", b""
    named(graph_def, "yr").input[0] = "bad"


def mark_for_tpu(graph_def: v1.GraphDef) -> None:
    for name in ("y", "yr"):
        named(graph_def, name).attr["_tpu_replicate"].s = b"cluster"
    metadata = graph_def.node.add(name="bad", op="TPUReplicateMetadata")
    metadata.attr["num_replicas"].i, metadata.attr["_tpu_replicate"].s = 1, b"cluster"
    named(graph_def, "yr").input.append("^bad")


def pin_elsewhere(graph_def: v1.GraphDef) -> None:
    for node in graph_def.node:
        if node.name in PLACED:
            node.device = DEVICE


def unmark(editor: tgw.GraphEditor) -> None:
    editor.passes.remove_attr("_tpu_replicate")
    editor.remove_control_inputs("yr", "bad")
    editor.remove("bad")


def bypass(editor: tgw.GraphEditor) -> None:
    editor.bypass("bad")
    if "bad" in editor._core.index.ids:
        editor.remove("bad")


CASES: dict[str, tuple[Make, Edit]] = {
    "strip": (add_unknown, lambda editor: editor.passes.strip_training("z:0")),
    "remove": (add_unknown, lambda editor: editor.remove("bad")),
    "bypass": (put_unknown_between, bypass),
    "kernel": (put_without_kernel_between, bypass),
    "tpu": (mark_for_tpu, unmark),
    "device": (pin_elsewhere, lambda editor: editor.set_device(list(PLACED), "")),
}


_PARAMS = [
    *((case, "meta") for case in CASES),
    ("strip", "model"),
    ("tpu", "model"),
    ("device", "model"),
]


@pytest.fixture(params=_PARAMS, ids="-".join)
def editor(request: pytest.FixtureRequest, tmp_path: Path) -> tgw.GraphEditor:
    """A file that cannot run, and that edits have rid of the cause."""
    case, form = request.param
    make, edit = CASES[case]
    editor = opened(tmp_path, make, form)
    with pytest.raises(NotRunnable):
        editor.session  # noqa: B018 - imports the file
    edit(editor)
    return editor


def run(editor: tgw.GraphEditor, fetch: str = "z:0") -> np.ndarray:
    return editor.session.run(fetch, {"x:0": X})


def test_the_session_runs_the_graph_as_edited_and_undo_makes_a_file_of_it_again(
    editor: tgw.GraphEditor,
) -> None:
    names, nodes = set(editor._core.index.names), [str(node) for node in editor._core.index.nodes]
    assert np.allclose(run(editor), Z)
    assert set(editor._core.index.names) == names
    assert not any(
        "cannot" in notice or "does not know" in notice for notice in editor.source.notices
    )
    editor.clone("x:0", "yr", into="copy", replace={"x:0": "x:0"})  # an edit of the live graph
    assert np.allclose(run(editor, "copy/yr:0"), X * [5, 6] + [0.5, 0.25])
    done = len(editor.history.done)
    while editor.history.done:
        editor.undo()
    with pytest.raises(NotRunnable):
        editor.session  # noqa: B018 - imports the file
    for _ in range(done - 1):
        editor.redo()
    assert [str(node) for node in editor._core.index.nodes] == nodes
    assert np.allclose(run(editor), Z)
    editor.redo()
    assert np.allclose(run(editor, "copy/yr:0"), X * [5, 6] + [0.5, 0.25])


def test_the_graph_as_edited_is_saved_verified_in_each_format(
    editor: tgw.GraphEditor, tmp_path: Path
) -> None:
    ends = {"inputs": ["x:0"], "outputs": ["z:0"], "feeds": {"x": X}}
    editor.save(tmp_path / "saved", **ends)
    saved = tf.saved_model.load(str(tmp_path / "saved")).signatures["serving_default"]
    assert np.allclose(next(iter(saved(x=tf.constant(X)).values())), Z)
    with pytest.warns(UserWarning, match="keeps hash table"):
        editor.save(tmp_path / "frozen.pb", frozen=True, **ends)
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        tf.import_graph_def(v1.GraphDef.FromString((tmp_path / "frozen.pb").read_bytes()), name="")
        session.run([op for op in graph.get_operations() if op.type == "LookupTableImportV2"])
        assert np.allclose(session.run("z:0", {"x:0": X}), Z)
    editor.save(tmp_path / "again.meta")
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        v1.train.import_meta_graph(str(tmp_path / "again.meta")).restore(
            session, str(tmp_path / "again")
        )
        session.run(v1.tables_initializer())
        assert np.allclose(session.run("z:0", {"x:0": X}), Z)
        assert (
            tf.gradients(graph.get_tensor_by_name("z:0"), graph.get_tensor_by_name("y:0"))[0]
            is not None
        )
    editor.save(tmp_path / "editor.tgw")
    assert np.allclose(run(tgw.edit(tmp_path / "editor.tgw")), Z)
    assert np.allclose(editor.extract("x:0", "z:0").session.run("z:0", {"x:0": X}), Z)


def test_the_graph_as_edited_is_compared_probed_and_measured(
    editor: tgw.GraphEditor, tmp_path: Path
) -> None:
    other = tgw.edit(Path(written().name) / "m.meta", checkpoint=Path(written().name) / "m")
    assert editor.compare({"x:0": X}, tensors="z:0", other=other).largest == 0
    assert editor.probe("z:0", {"x:0": X})["z"]
    assert editor.measure("z:0", {"x:0": X}, runs=1)
    editor.mark("x:0", "z:0")
    editor.freeze()
    assert np.allclose(run(editor), Z)


def test_contexts_of_loops_come_through(tmp_path: Path) -> None:
    editor = opened(tmp_path, add_unknown, "meta")
    editor.remove("bad")
    with editor.graph.as_default():
        (gradient,) = tf.gradients(*map(editor.graph.get_tensor_by_name, ("z:0", "y:0")))
    assert np.array_equal(run(editor, gradient.name), [[3, 3]])


def test_the_next_session_begins_with_what_the_closed_one_held(tmp_path: Path) -> None:
    editor = opened(tmp_path, add_unknown, "meta")
    editor.remove("bad")
    run(editor)
    assign = editor.graph.get_operation_by_name("w/Assign")
    editor.session.run(assign, {assign.inputs[1]: [7, 8]})
    editor.undo()
    (sentence,) = editor.history.lost
    assert sentence.endswith("so the session was closed; the next one begins with its values.")
    assert "bad" in editor._core.index.ids
    editor.redo()
    assert np.allclose(run(editor, "y:0"), X * [7, 8])


def test_edits_around_the_removal_keep_names_and_values(tmp_path: Path) -> None:
    editor = opened(tmp_path, put_unknown_between, "meta")
    editor.rename("w", "weights")
    bypass(editor)
    editor.clone("x:0", "y", into="copy", replace={"x:0": "x:0"}, init="current")
    editor.reroute("y:0", to="copy/y:0")
    assert np.allclose(run(editor), Z)
    assert np.allclose(run(editor, "copy/y:0"), X * [5, 6])
    editor.save(tmp_path / "renamed.meta")
    reader = tf.train.load_checkpoint(str(tmp_path / "renamed"))
    assert np.array_equal(reader.get_tensor("weights"), [5, 6])
    assert np.array_equal(reader.get_tensor("copy/weights"), [5, 6])


def test_a_keras_model_runs_once_an_unknown_op_is_removed(tmp_path: Path) -> None:
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.layers.Input((2,)), keras.layers.Dense(3, activation="relu")])
    model.export(tmp_path / "model", verbose=False)
    editor = changed_model(
        tmp_path / "model", lambda graph_def: graph_def.node.add(name="bad", op="NoSuchOp")
    )
    editor.view.leave(0)
    editor.remove("bad")
    signature = next(
        each for each in tuple(editor.signatures.values()) if each.name == "serving_default"
    )
    (_, output), *_ = signature.outputs
    (_, fed), *_ = signature.inputs
    assert np.allclose(editor.session.run(output, {fed: X}), model(X).numpy(), atol=1e-6)
    editor.save(tmp_path / "saved")
    saved = tf.saved_model.load(str(tmp_path / "saved")).signatures["serving_default"]
    assert np.allclose(next(iter(saved(tf.constant(X)).values())), model(X).numpy(), atol=1e-6)


def test_what_the_outputs_need_hinders_running_and_not_structure(tmp_path: Path) -> None:
    editor = opened(tmp_path, put_unknown_between, "meta")
    editor.passes.strip_training("z:0")
    with pytest.raises(GraphEditError, match="NoSuchOp"):
        editor.session  # noqa: B018 - imports the file
    editor.save(tmp_path / "stripped.pb")
    assert "bad" in tgw.edit(tmp_path / "stripped.pb")._core.index.ids
    editor.save(tmp_path / "stripped.tgw")
    assert "bad" in tgw.edit(tmp_path / "stripped.tgw")._core.index.ids
    with pytest.warns(UserWarning, match="was not run"):
        editor.save(tmp_path / "stripped.meta")
    with pytest.warns(UserWarning, match=r"was not run|keeps hash table"):
        editor.save(tmp_path / "frozen.pb", inputs=["x:0"], outputs=["z:0"], frozen=True)
    assert any("was not run" in notice for notice in editor.source.notices)

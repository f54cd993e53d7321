"""What is written loads back and gives the same numbers; a failure leaves the old file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format

import tfgraphwidget as tgw
from tests.conftest import fill, v1
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError, SessionRefused, UnknownName


def serve(folder: Path) -> tf.types.experimental.ConcreteFunction:
    """The default signature of a SavedModel, and its holder kept alive."""
    loaded = tf.saved_model.load(str(folder))
    function = loaded.signatures["serving_default"]
    function.holder = loaded
    return function


def test_a_saved_model_of_the_boundary_runs_to_the_same_numbers(
    editor: GraphEditor, session: v1.Session, batch: np.ndarray, tmp_path: Path
) -> None:
    editor.mark("x:0", "net/logits:0")
    assert editor.save(f"{tmp_path}/edited/") == tmp_path / "edited"
    served = serve(tmp_path / "edited")(x=tf.constant(batch))
    assert list(served) == ["logits"]
    assert np.allclose(served["logits"], session.run("net/logits:0", {"x:0": batch}))


def test_a_saved_model_of_the_copy_has_the_copy_s_values(
    editor: GraphEditor, session: v1.Session, batch: np.ndarray, tmp_path: Path
) -> None:
    copy = editor.clone("x:0", "net/logits:0")
    for variable in copy.variables:
        fill(variable, 0.25, session)
    editor.save(tmp_path / "sm", inputs="x:0", outputs=copy["net/logits:0"])
    served = serve(tmp_path / "sm")(x=tf.constant(batch))["logits"]
    assert np.allclose(served, session.run(copy["net/logits:0"], {"x:0": batch}))
    assert not np.allclose(served, session.run("net/logits:0", {"x:0": batch}))


def test_a_saved_model_cut_in_the_middle_takes_that_tensor(
    editor: GraphEditor, session: v1.Session, batch: np.ndarray, tmp_path: Path
) -> None:
    editor.save(tmp_path / "head", inputs="net/one/out:0", outputs="net/logits:0")
    hidden, logits = session.run(["net/one/out:0", "net/logits:0"], {"x:0": batch})
    function = serve(tmp_path / "head")
    assert function.structured_input_signature[1]["out"].shape.as_list() == [None, 4]
    assert np.allclose(function(out=tf.constant(hidden))["logits"], logits)


def test_the_boundary_of_the_last_clone_is_the_signature(
    editor: GraphEditor, tmp_path: Path
) -> None:
    editor.clone("x:0", "net/logits:0")
    assert (editor.inputs, editor.outputs) == (("x:0",), ("net/logits:0",))
    assert list(serve(editor.save(f"{tmp_path}/edited/"))(x=tf.zeros([1, 3]))) == ["logits"]


def test_saving_leaves_the_graph_as_it_was(
    mlp: tf.Graph, editor: GraphEditor, tmp_path: Path
) -> None:
    before = mlp.as_graph_def().SerializeToString(deterministic=True)
    editor.save(tmp_path / "sm", inputs="x", outputs="net/logits")
    editor.save(tmp_path / "g.pb")
    assert mlp.as_graph_def().SerializeToString(deterministic=True) == before


def test_a_saved_model_loads_in_a_v1_session_too(
    editor: GraphEditor, session: v1.Session, batch: np.ndarray, tmp_path: Path
) -> None:
    editor.save(tmp_path / "sm", inputs="x", outputs="net/logits")
    with v1.Session(graph=tf.Graph()) as opened:
        v1.saved_model.load(opened, ["serve"], str(tmp_path / "sm"))
        out = opened.run("net/logits:0", {"x:0": batch})
    assert np.array_equal(out, session.run("net/logits:0", {"x:0": batch}))


@pytest.mark.parametrize("suffix", [".pb", ".pbtxt"])
def test_a_graph_def_holds_what_is_shown(editor: GraphEditor, tmp_path: Path, suffix: str) -> None:
    before = editor.graph.as_graph_def()
    editor.clone("x:0", "net/logits:0")
    editor.undo()
    path = editor.save(tmp_path / f"g{suffix}")
    written = v1.GraphDef()
    if suffix == ".pb":
        written.ParseFromString(path.read_bytes())
    else:
        text_format.Parse(path.read_text(), written)
    assert written == before


@pytest.mark.parametrize(
    ("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")]
)
def test_pictures(editor: GraphEditor, tmp_path: Path, suffix: str, start: bytes) -> None:
    written = editor.save(tmp_path / f"picture{suffix}").read_bytes()
    assert written.startswith(start)
    if suffix == ".svg":
        assert b"logits" in written


def test_draw_gives_axes_with_the_boxes_of_the_scene(editor: GraphEditor) -> None:
    axes = editor.draw()
    texts = {text.get_text() for text in axes.texts}
    assert {"x", "logits"} <= texts
    assert editor.draw(axes) is axes


def test_a_second_save_replaces_the_first(editor: GraphEditor, tmp_path: Path) -> None:
    for outputs in ("net/one/out", "net/logits"):
        editor.save(tmp_path / "sm", inputs="x", outputs=outputs)
    assert list(serve(tmp_path / "sm")(x=tf.zeros([1, 3]))) == ["logits"]
    assert [path.name for path in tmp_path.iterdir()] == ["sm"]


def test_refusals_name_the_way_out_and_write_nothing(
    editor: GraphEditor, mlp: tf.Graph, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("mine")
    cases: list[tuple[str, dict[str, object], type[Exception], str]] = [
        ("g.h5", {}, GraphEditError, "'.h5' is not a kind of file"),
        ("no/such/g.pb", {}, GraphEditError, "does not exist"),
        ("other", {"inputs": "x", "outputs": "net/logits"}, GraphEditError, "holds other things"),
        ("sm", {"inputs": "net/one/b/Assign" if editor.find("net/one/b/Assign") else "x",
                "outputs": "nope"}, UnknownName, "no op 'nope'"),
        ("sm", {"inputs": (), "outputs": "net/logits"}, GraphEditError, "also need placeholder"),
    ]  # fmt: skip
    for name, arguments, error, sentence in cases:
        with pytest.raises(error, match=sentence):
            editor.save(tmp_path / name, **arguments)  # type: ignore[arg-type]
    with pytest.raises(SessionRefused, match="no session"):
        tgw.edit(mlp).save(tmp_path / "sm", inputs="x", outputs="net/logits")
    assert [path.name for path in tmp_path.rglob("*")] == ["other", "thesis.tex"]


def test_a_failure_half_way_leaves_the_old_file(
    editor: GraphEditor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor.save(tmp_path / "sm", inputs="x", outputs="net/logits")
    old = (tmp_path / "sm" / "saved_model.pb").read_bytes()

    def fail(*_: object, **__: object) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(v1.saved_model.Builder, "save", fail)
        with pytest.raises(GraphEditError, match="cannot be written: disk full"):
            editor.save(tmp_path / "sm", inputs="x", outputs="net/one/out")
    assert (tmp_path / "sm" / "saved_model.pb").read_bytes() == old
    assert [path.name for path in tmp_path.iterdir()] == ["sm"]


def test_an_old_model_survives_a_move_that_fails(
    editor: GraphEditor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor.save(tmp_path / "sm", inputs="x", outputs="net/logits")
    old = {path: path.read_bytes() for path in (tmp_path / "sm").rglob("*") if path.is_file()}
    real = Path.replace

    def fail(self: Path, target: Path) -> Path:
        if target == tmp_path / "sm" / "variables" / "variables.index" and self.name == "link":
            raise OSError("busy")
        return real(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", fail)
        with pytest.raises(GraphEditError, match="cannot be written: busy"):
            editor.save(tmp_path / "sm", inputs="x", outputs="net/one/out")
    assert {
        path: path.read_bytes() for path in (tmp_path / "sm").rglob("*") if path.is_file()
    } == old
    assert list(serve(tmp_path / "sm")(x=tf.zeros([1, 3]))) == ["logits"]


def test_a_table_is_filled_when_the_model_is_served(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.string, [None], name="x")
        pairs = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64))
        tf.identity(tf.lookup.StaticHashTable(pairs, -1).lookup(x), name="y")
    tgw.edit(graph).save(tmp_path / "sm", inputs="x", outputs="y")
    assert serve(tmp_path / "sm")(x=tf.constant(["b", "z"]))["y"].numpy().tolist() == [2, -1]


def test_a_cut_leaves_control_inputs_and_colocation_out(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        h = tf.square(x, name="h")
        with tf.control_dependencies([h]), v1.colocate_with(x):
            tf.multiply(h, tf.constant(3.0), name="y")
    tgw.edit(graph).save(tmp_path / "sm", inputs="h", outputs="y")
    assert serve(tmp_path / "sm")(h=tf.constant(2.0))["y"].numpy() == 6


def test_a_variable_without_a_value_is_refused_by_name(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="w", name="w")
        tf.add(x, tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32), name="y")
    with (
        v1.Session(graph=graph) as opened,
        pytest.raises(SessionRefused, match="Variable 'w' has no value in this"),
    ):
        tgw.edit(graph, session=opened).save(tmp_path / "sm", inputs="x", outputs="y")
    assert not list(tmp_path.iterdir())


def test_a_variable_without_an_initialiser_of_its_own_is_saved_with_its_value(
    tmp_path: Path,
) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="w", name="w")
        tf.add(x, tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32), name="y")
        give = tf.raw_ops.AssignVariableOp(resource=handle, value=5.0)
    with v1.Session(graph=graph) as opened:
        opened.run(give)
        tgw.edit(graph, session=opened).save(tmp_path / "sm", inputs="x", outputs="y")
    assert serve(tmp_path / "sm")(x=tf.constant(1.0))["y"].numpy() == 6

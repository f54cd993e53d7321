"""`tfgraphwidget diff --feeds`: both graphs run, and where their values first differ."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tfgraphwidget.cli import main

v1 = tf.compat.v1
GAIN = 2.0


def write(path: Path, gain: float, dtype: tf.DType = tf.float32) -> str:
    """A graph from "x" to "y", in a file."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(dtype, [None, 3], name="x")
        y = tf.cast(x, tf.float32)
        tf.tanh(tf.multiply(y, tf.constant(gain, name="gain"), name="scaled"), name="y")
    path.write_bytes(graph.as_graph_def().SerializeToString())
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Two graphs that differ in a constant."""
    return write(tmp_path / "a.pb", GAIN), write(tmp_path / "b.pb", GAIN + 1e-3)


@pytest.mark.parametrize(
    "feed", ["x=random:2,3", "x:0=zeros:1,3", "x=[[1, 2, 3]]", "all=random", "x=ones"]
)
def test_both_graphs_run_on_feeds(
    files: tuple[str, str], feed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", *files, "--feeds", feed]) == 1
    out = capsys.readouterr().out
    assert "gain: attr value" in out
    assert "first divergence: gain:0 (Const)" in out
    assert main(["diff", files[0], files[0], "--feeds", feed]) == 0
    assert "all equal" in capsys.readouterr().out or feed


def test_a_file_of_numpy_is_a_value(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "x.npy", np.ones([2, 3], np.float32))
    assert main(["diff", *files, "--feeds", f"x={tmp_path / 'x.npy'}", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["difference"][0]["op"] == "gain"
    comparison = found["comparison"]
    assert comparison["differs"]
    assert comparison["first_divergence"]["tensor"] == "gain:0"
    worst = comparison["tensors"][0]
    assert worst["max_abs"] == pytest.approx(1e-3, rel=1e-3)
    shapes = {row["tensor"]: row["shape"] for row in comparison["tensors"]}
    assert shapes["y:0"] == "(2, 3)"


def test_the_tolerance_decides_of_values_and_the_structure_counts_too(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", *files, "--feeds", "all=random", "--tolerance", "0.1", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert not found["comparison"]["differs"]
    assert found["difference"], "the constant is another"
    with pytest.raises(SystemExit):
        main(["diff", *files, "--feeds", "all=random", "--tolerance", "much"])


def test_integers_and_booleans_are_made_up_by_dtype(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "ints.pb", GAIN, tf.int32)
    assert main(["diff", file, file, "--feeds", "x=random:4,3"]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(
    ("feed", "why"),
    [
        ("x", "is not NAME=VALUE"),
        ("y_no=random", "has no tensor 'y_no'"),
        ("x=random:a", "is not a shape"),
        ("x=rows", "neither random, zeros, ones, nor a .npy file, nor JSON"),
        ("x=none.npy", "cannot be read as an array"),
    ],
)
def test_a_feed_that_is_none_is_refused_in_a_sentence(
    files: tuple[str, str], feed: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", *files, "--feeds", feed]) == 2
    assert why in capsys.readouterr().err


def test_an_input_of_a_signature_has_its_own_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Scaled(tf.Module):
        """One product."""

        def __init__(self) -> None:
            super().__init__()
            self.w = tf.Variable(3.0)

        @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, name="rows")])
        def __call__(self, rows: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"y": rows * self.w}

    module = Scaled()
    tf.saved_model.save(module, str(tmp_path / "a"), signatures=module.__call__)
    module.w.assign(4.0)
    tf.saved_model.save(module, str(tmp_path / "b"), signatures=module.__call__)
    folders = [str(tmp_path / name) for name in "ab"]
    assert main(["diff", *folders]) == 0, "the structure is the same"
    capsys.readouterr()
    assert main(["diff", *folders, "--feeds", "rows=random:2,3"]) == 1
    assert "first divergence: Variable:0 (VarHandleOp)" in capsys.readouterr().out


def test_a_page_has_both_graphs_side_by_side_and_the_exit_code_stays(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "compare.html"
    assert main(["diff", *files, "--feeds", "x=ones:2,3", "--html", str(page)]) == 1
    text = page.read_text(encoding="utf-8")
    assert text.count('<script type="text/plain"') == 3
    assert main(["diff", files[0], files[0], "--html", str(page)]) == 0
    assert page.read_text(encoding="utf-8") != text
    capsys.readouterr()
    assert main(["diff", *files, "--html", str(tmp_path / "page.pdf")]) == 2
    assert "ends in '.html'" in capsys.readouterr().err


def test_a_page_leaves_out_what_is_ignored_and_lists_weights(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def document(*options: str) -> dict[str, Any]:
        page = tmp_path / "compare.html"
        main(["diff", *files, "--html", str(page), *options])
        capsys.readouterr()
        # Two pages of one graph each, and the document of both.
        texts = re.findall(r'<script type="text/plain"[^>]*>([^<]*)</script>', page.read_text())
        bytes_ = (gzip.decompress(base64.b64decode(text)) for text in texts)
        found: dict[str, Any] = json.loads(next(b for b in bytes_ if b.startswith(b'{"titles')))
        return found

    assert [step["kind"] for step in document()["steps"]] == ["changed"]
    assert document("--ignore", "values")["steps"] == []
    assert [step["kind"] for step in document("--values")["steps"]] == ["first", "changed"]


def test_an_input_is_named_as_the_signature_of_either_model_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Keras exports each model twice: as "serve" and as "serving_default"."""
    layers = [tf.keras.layers.Input((4,), name="image"), tf.keras.layers.Dense(3)]
    saved, frozen = str(tmp_path / "saved"), str(tmp_path / "frozen.pb")
    tf.keras.Sequential(layers).export(saved, verbose=False)
    tgw.edit(saved).save(frozen, frozen=True)
    for files in ([saved, frozen], [frozen, saved]):
        assert main(["diff", *files, "--feeds", "image=random:2,4", "--json"]) == 1
        comparison = json.loads(capsys.readouterr().out)["comparison"]
        assert not comparison["differs"]
        # The placeholder of "serve" leads to other results.
        rows = {row["tensor"]: row["shape"] for row in comparison["tensors"]}
        assert rows["serving_default_image:0"] == "(2, 4)"
        assert any(shape == "(2, 3)" for shape in rows.values())


@pytest.fixture
def trained(tmp_path: Path) -> str:
    """The prefix of a graph in a .meta file and of two checkpoints of it, "-1" and "-2"."""
    prefix = str(tmp_path / "model")
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        w = v1.get_variable("w", initializer=np.ones([3, 2], np.float32))
        tf.matmul(x, w, name="y")
        more = w.assign_add(np.ones([3, 2]), read_value=False)
        saver = v1.train.Saver()
        session.run(w.initializer)
        saver.save(session, prefix, global_step=1)
        session.run(more)
        saver.save(session, prefix, global_step=2)
    return prefix


def test_checkpoints_of_one_graph_are_compared_with_it(
    trained: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [f"{trained}-1.meta", f"{trained}-2.meta"]
    checkpoints = [f"{trained}-1", f"{trained}-2"]
    assert main(["diff", *files, "--values", "--checkpoint", *checkpoints]) == 1
    assert "w: differs by up to 1" in capsys.readouterr().out
    feeds = ["--feeds", "x=random:2,3", "--checkpoint"]
    assert main(["diff", *files, *feeds, *checkpoints]) == 1
    assert "first divergence: w:0" in capsys.readouterr().out
    assert main(["diff", *files, *feeds, checkpoints[0]]) == 0
    assert "first divergence" not in capsys.readouterr().out
    assert main(["diff", *files, "--checkpoint", *checkpoints, checkpoints[0]]) == 2
    assert "takes one prefix, or that of A and that of B" in capsys.readouterr().err
    assert main(["diff", files[0], checkpoints[1]]) == 2
    assert f"the graph in its place, and --checkpoint {checkpoints[1]}." in capsys.readouterr().err


def test_values_that_a_file_comes_without_are_not_equal(
    trained: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", f"{trained}-1.meta", f"{trained}-2.meta", "--values"]) == 2
    assert "without values for its variables" in capsys.readouterr().err
    with pytest.raises(tgw.GraphEditError, match="without values for its variables"):
        tgw.drift(f"{trained}-1.meta", f"{trained}-2.meta")


def test_all_placeholders_are_those_of_the_model_and_one_signature_is_all_that_was_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What saves a SavedModel has a placeholder too: the name of its file."""
    layers = [tf.keras.layers.Input((4,), name="image"), tf.keras.layers.Dense(3)]
    saved = str(tmp_path / "saved")
    tf.keras.Sequential(layers).export(saved, verbose=False)
    assert main(["diff", saved, saved, "--feeds", "all=random:2,4"]) == 0
    assert " tensors compared, all equal" in capsys.readouterr().out
    assert main(["diff", saved, saved, "--signature", "serve"]) == 0
    assert capsys.readouterr().out == "No difference.\n"

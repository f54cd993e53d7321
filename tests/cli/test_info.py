"""`tfgraphwidget info` says what TensorFlow says, without it."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.framework import types_pb2

from tests.conftest import INCEPTION, MODELS, build_mlp, v1
from tests.graph_editor.corpus import CORPUS
from tests.test_import_is_light import modules_after
from tfgraphwidget.cli import main
from tfgraphwidget.cli.info import format_info, info
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.sources.files.summary_schema import dtype_of

FILES = sorted(
    path for path in (CORPUS / "graphs").iterdir() if path.suffix in (".pb", ".pbtxt", ".meta")
)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "loop"
    module = tf.Module()
    module.w = tf.Variable([[1.0, 2.0]], name="w")

    @tf.function(input_signature=[tf.TensorSpec([None, 2], name="rows")])
    def run(rows: tf.Tensor) -> dict[str, tf.Tensor]:
        looped = tf.while_loop(
            lambda i, _: i < 5, lambda i, v: (i + 1, v * 2.0), [0, rows * module.w]
        )
        return {"large": looped[1]}

    module.run = run
    tf.saved_model.save(module, str(path), signatures={"serving_default": run})
    return path


def test_neither_help_nor_info_nor_a_summary_with_unknown_shapes_loads_tensorflow() -> None:
    for arguments in (
        ["info", str(INCEPTION)],
        ["info", "--summary", str(MODELS / "seq2seq_v1.meta")],
    ):
        code = f"from tfgraphwidget.cli import main; main({arguments!r})"
        assert "tensorflow" not in modules_after(
            f"import io, contextlib\nwith contextlib.redirect_stdout(io.StringIO()):\n {code}"
        )
    code = "from tfgraphwidget.cli.parser import create_parser; create_parser().format_help()"
    assert modules_after(code) & {"tensorflow", "numpy", "google"} == set()


def test_dtypes_are_those_that_tensorflow_has() -> None:
    for number in types_pb2.DataType.values():
        assert dtype_of(number) == (tf.dtypes.as_dtype(number).base_dtype.name if number else "")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_ops_are_counted_as_tensorflow_counts_them(path: Path) -> None:
    report = info(str(path))
    proto = v1.MetaGraphDef() if report["kind"] == "MetaGraphDef" else v1.GraphDef()
    data = path.read_bytes()
    if path.suffix == ".pbtxt":
        text_format.Parse(data, proto)
    else:
        proto.ParseFromString(data)
    graph = proto.graph_def if report["kind"] == "MetaGraphDef" else proto
    (found,) = report["graphs"]
    assert found["ops"] == len(graph.node) == sum(found["types"].values())
    assert found["functions"]["count"] == len(graph.library.function)
    variables = [
        node for node in graph.node if node.op in ("VariableV2", "Variable", "VarHandleOp")
    ]
    assert [held["name"] for held in found["variables"]] == [node.name for node in variables]
    shapes = [tf.TensorShape(node.attr["shape"].shape) for node in variables]
    assert [held["shape"] for held in found["variables"]] == [
        s.as_list() if s.rank is not None else None for s in shapes
    ]
    assert format_info(report)


def test_text_protos_are_read_too(tmp_path: Path) -> None:
    graph = build_mlp(resource=False).as_graph_def()
    (tmp_path / "g.pbtxt").write_text(text_format.MessageToString(graph))
    (tmp_path / "g.pb").write_bytes(graph.SerializeToString())
    first, second = (info(str(tmp_path / name))["graphs"] for name in ("g.pb", "g.pbtxt"))
    for found in (first, second):
        found[0]["constants"].pop("bytes")
    assert first == second
    assert {held["dtype"] for held in first[0]["variables"]} == {"float32"}


def test_a_saved_model_shows_its_signatures_and_loops(saved: Path) -> None:
    report = info(str(saved))
    assert report["kind"] == "SavedModel"
    assert report["bytes"] == sum(
        file.stat().st_size for file in saved.rglob("*") if file.is_file()
    )
    (graph,) = report["graphs"]
    assert graph["tags"] == ["serve"]
    assert graph["tensorflow"] == tf.__version__
    assert graph["control_flow"]["while loops"] >= 1
    signature = next(s for s in graph["signatures"] if s["name"] == "serving_default")
    assert signature["inputs"]["rows"]["shape"] == [None, 2]
    assert list(signature["outputs"]) == ["large"]
    lines = format_info(report)
    assert "→ rows: float32 (?, 2) (serving_default_rows:0)" in lines
    assert info(str(saved / "saved_model.pb"))["graphs"] == report["graphs"]


def test_variables_are_weighed() -> None:
    (graph,) = info(str(INCEPTION))["graphs"]
    assert len(graph["variables"]) == 388
    assert graph["variable_bytes"] == 4 * sum(
        tf.TensorShape(v["shape"]).num_elements() for v in graph["variables"]
    )


def test_the_inputs_and_outputs_of_a_model_are_proposed(capsys: pytest.CaptureFixture[str]) -> None:
    (graph,) = info(str(INCEPTION))["graphs"]
    assert {"name": "net/predictions", "type": "Softmax"} in graph["unused_outputs"]
    assert not any(
        "Regularizer" in end["name"] or end["name"].startswith("save/")
        for end in graph["unused_outputs"]
    )
    assert main(["info", str(INCEPTION)]) == 0
    assert "unused outputs  net/predictions (Softmax)" in capsys.readouterr().out


def test_of_many_inputs_and_outputs_a_few_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [], name="x")
        loss = tf.square(x * tf.compat.v1.get_variable("w", [], use_resource=True), name="loss")
        tf.compat.v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        for k in range(10):
            tf.abs(x, name=f"end{k}")
    (tmp_path / "g.pb").write_bytes(graph.as_graph_def().SerializeToString())
    (report,) = info(str(tmp_path / "g.pb"))["graphs"]
    assert [end["name"] for end in report["unused_outputs"]] == [
        *(f"end{k}" for k in reversed(range(10))),
        "loss",
    ]
    assert main(["info", str(tmp_path / "g.pb")]) == 0
    assert "end2 (Abs), +3 more" in capsys.readouterr().out


def test_json_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(INCEPTION), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["graphs"][0]["ops"] == 3379


NAMES = [
    'it\'s "quoted".pb',
    "with space.pb",
    "naïve 日本.pb",
    "two\nlines.pb",
    "'); import os; ('.pb",
    "-rf.pb",
    "\x1b[31m.pb",
]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_any_name_of_a_file_is_only_a_name(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / name
    file.write_bytes(build_mlp(resource=True).as_graph_def().SerializeToString())
    assert main(["info", str(file)]) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    assert "GraphDef" in first
    assert first.isprintable()
    assert len(lines) > 5
    assert main(["info", str(file) + " is not there"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.strip().isprintable()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is empty"),
        (b"\x89HDF\r\n\x1a\n", "File"),
        (b"nothing of the kind", "File"),
        (b"\x0a\xff\xff\xff\xff", "damaged"),
    ],
    ids=["empty", "HDF5", "text", "damaged"],
)
def test_what_is_no_graph_is_refused_in_a_sentence(
    content: bytes, why: str, tmp_path: Path, capsys: Any
) -> None:
    (tmp_path / "odd.pb").write_bytes(content)
    assert main(["info", str(tmp_path / "odd.pb")]) == 1
    report = capsys.readouterr()
    assert report.out == ""
    assert why in report.err
    assert report.err.startswith("tfgraphwidget: ")
    assert report.err.count("\n") == 1


def test_places_that_hold_no_file_are_refused(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "none.pb", "/dev/null", "a\0b", "x" * 5000):
        with pytest.raises(GraphEditError):
            info(str(place))


def test_the_command_is_installed() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tfgraphwidget", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    for word in (
        "demo",
        "show",
        "info",
        "code",
        "export",
        "diff",
        "run-script",
        "exit codes",
        "130",
    ):
        assert word in done.stdout


def report(shell: str, file: Path) -> subprocess.CompletedProcess[str]:
    """What comes of `info` as a shell runs it; $info is the command up to the file's name."""
    info = f"{shlex.quote(sys.executable)} -m tfgraphwidget info {shlex.quote(str(file))}"
    return subprocess.run(
        shell.replace("$info", info), shell=True, capture_output=True, text=True, check=False
    )


@pytest.fixture
def named(tmp_path: Path) -> Path:
    """A file with a name that is not of ASCII."""
    path = tmp_path / "größe.pb"
    path.write_bytes(build_mlp(resource=True).as_graph_def().SerializeToString())
    return path


def test_a_terminal_that_lacks_letters_gets_their_numbers(named: Path) -> None:
    said = report("PYTHONIOENCODING=ascii $info", named)
    assert (said.returncode, said.stderr) == (0, "")
    assert "gr\\xf6\\xdfe.pb" in said.stdout


@pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="this system has no device that is always full"
)
def test_a_disk_that_is_full_is_reported_in_one_sentence(named: Path) -> None:
    said = report("$info > /dev/full", named)
    assert (said.returncode, said.stdout) == (1, "")
    assert said.stderr == "tfgraphwidget: The system refuses: No space left on device.\n"


def test_a_shell_may_close_what_it_does_not_want_to_hear(named: Path) -> None:
    assert report("$info >&-", named).returncode == 0
    said = report("$info 2>&-", named)
    assert said.returncode == 0
    assert "GraphDef" in said.stdout
    assert report("$info/none 2>&-", named).returncode == 1


def test_the_home_directory_can_be_written_as_a_tilde(
    tmp_path: Path,
    line: tf.Graph,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "g.pb").write_bytes(line.as_graph_def().SerializeToString())
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert main(["info", "~/g.pb"]) == 0
    assert capsys.readouterr().out.startswith("~/g.pb: GraphDef, ")

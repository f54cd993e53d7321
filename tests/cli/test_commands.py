"""`tfgraphwidget code`, `export`, `diff`, `run-script`, `show`: what they write, what they print,
how they end.
"""

from __future__ import annotations

import base64
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import build_mlp, initialised, v1
from tests.editor.test_script import seen
from tests.pages import unpack_page
from tfgraphwidget import export
from tfgraphwidget.cli import main, server
from tfgraphwidget.cli.progress_bar import ProgressBar
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.export import writer as writing

ODD = "it's '); import os #\n naïve"
BATCH = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A GraphDef, in a file and a folder whose names are not names."""
    folder = tmp_path / ODD
    folder.mkdir()
    path = folder / f"{ODD}.pb"
    path.write_bytes(build_mlp(resource=True).as_graph_def().SerializeToString())
    return path


@pytest.fixture
def edits(model: Path) -> Path:
    editor = tgw.edit(model)
    editor.rename("net/logits", "scores")
    editor.reroute("net/two/out:0", "net/one/out:0")
    return editor.save(model.parent / "edits.json")


def nodes(path: Path) -> Any:
    return seen(v1.GraphDef.FromString(path.read_bytes()))


def test_code_is_what_the_editor_would_print(
    model: Path, edits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["code", str(model), str(edits)]) == 0
    text = capsys.readouterr().out
    names: dict[str, Any] = {}
    exec(compile(text, "code", "exec"), names)
    assert [step.command for step in names["editor"].history.done] == [
        step.command for step in replayed(model, edits)
    ]


def replayed(model: Path, edits: Path) -> Any:
    editor = tgw.edit(model)
    editor.history.replay(edits)
    return editor.history.done


def test_export_writes_the_edited_graph(
    model: Path, edits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = model.parent / "out.pb"
    assert main(["export", str(model), str(out), "--edits", str(edits)]) == 0
    found = {node[0] for node in nodes(out)}
    assert "scores" in found
    assert "net/logits" not in found
    assert capsys.readouterr().out.count("\n") == 1


def test_export_freezes_with_the_values_of_a_checkpoint(tmp_path: Path) -> None:
    graph = build_mlp(resource=True)
    session = initialised(graph)
    with graph.as_default():
        v1.train.Saver().save(session, str(tmp_path / "m"))
    report = [
        "export",
        str(tmp_path / "m.meta"),
        str(tmp_path / "f.pb"),
        "--checkpoint",
        str(tmp_path / "m"),
    ]
    assert main([*report, "--frozen", "--inputs", "x:0", "--outputs", "net/logits:0"]) == 0
    with tf.Graph().as_default() as frozen, v1.Session(graph=frozen) as other:
        tf.import_graph_def(v1.GraphDef.FromString((tmp_path / "f.pb").read_bytes()), name="")
        assert not [node for node in frozen.as_graph_def().node if "Var" in node.op]
        found = other.run("net/logits:0", {"x:0": BATCH})
    assert np.allclose(found, session.run("net/logits:0", {"x:0": BATCH}))


def test_export_names_the_inputs_and_outputs_of_a_saved_model(tmp_path: Path) -> None:
    graph = build_mlp(resource=True)
    with graph.as_default():
        v1.train.Saver().save(initialised(graph), str(tmp_path / "m"))
    report = [
        "export",
        str(tmp_path / "m.meta"),
        f"{tmp_path}/out/",
        "--checkpoint",
        str(tmp_path / "m"),
    ]
    assert (
        main([*report, "--inputs", "rows=x:0", "--outputs", "one=net/one/out:0,logits=net/logits"])
        == 0
    )
    signature = tf.saved_model.load(str(tmp_path / "out")).signatures["serving_default"]
    assert signature(rows=tf.constant(BATCH)).keys() == {"one", "logits"}
    again = [
        "export",
        f"{tmp_path}/out/",
        f"{tmp_path}/frozen.pb",
        "--frozen",
        "--signature",
        "serving_default",
    ]
    assert main(again) == 0
    assert main(["export", f"{tmp_path}/out/", f"{tmp_path}/none.pb", "--signature", "other"]) == 1
    assert not (tmp_path / "none.pb").exists()


def test_a_key_for_one_end_is_a_key_for_all(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(
            [
                "export",
                str(model),
                f"{model.parent}/o/",
                "--inputs",
                "a=x:0,net/one/out:0",
                "--outputs",
                "x",
            ]
        )
        == 1
    )
    assert "a key" in capsys.readouterr().err


def test_diff_says_what_differs_by_its_exit_code(
    model: Path, edits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = model.parent / "out.pb"
    main(["export", str(model), str(out), "--edits", str(edits)])
    capsys.readouterr()
    assert main(["diff", str(model), str(model)]) == 0
    assert "No difference" in capsys.readouterr().out
    assert main(["diff", str(model), str(out)]) == 1
    report = capsys.readouterr().out
    assert "scores" in report
    assert "net/logits" in report
    assert main(["diff", str(model), str(out), "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)
    assert any(row["change"] == "added" and row["op"] == "scores" for row in rows)
    assert main(["diff", str(model), str(out), "--ignore", "names,size"]) == 2
    assert "'names', 'attributes', 'shapes', 'values'" in capsys.readouterr().err
    assert main(["diff", str(model), str(out), "--ignore", "names,values"]) == 1
    assert "scores" in capsys.readouterr().out
    assert main(["diff", str(model), str(out) + "x"]) == 2
    assert "There is no file" in capsys.readouterr().err


def test_a_script_runs_as_it_is_and_on_other_files(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    editor = tgw.edit(model)
    editor.rename("net/logits", "scores")
    script = editor.save(model.parent / "edits of '.py")
    assert main(["run-script", str(script)]) == 0
    assert capsys.readouterr().out.startswith("1 edit, ")
    others = [model.parent / name for name in ("a.pb", "b.pb")]
    for other in others:
        other.write_bytes(model.read_bytes())
    model.unlink()
    assert main(["run-script", str(script)]) == 1
    report = capsys.readouterr().err
    assert (
        f"line {script.read_text()[: script.read_text().index('tgw.edit')].count(chr(10)) + 1}"
        in report
    )
    assert (
        main(["run-script", str(script), *map(str, others), "--out", str(model.parent / "none")])
        == 1
    )
    out = model.parent / "out"
    out.mkdir()
    assert main(["run-script", str(script), *map(str, others), "--out", str(out)]) == 0
    assert nodes(out / "a.pb") == nodes(out / "b.pb")
    assert "scores" in {node[0] for node in nodes(out / "a.pb")}
    assert tgw.edit is not None
    assert tgw.edit.__module__ == "tfgraphwidget"


def test_files_of_one_name_are_refused_before_one_is_written_over_another(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script, out = model.parent / "s.py", model.parent / "out"
    script.write_text("import tfgraphwidget as tgw\neditor = tgw.edit('x.pb')\n")
    out.mkdir()
    files = [model.parent / folder / "m.pb" for folder in "ab"]
    for file in files:
        file.parent.mkdir()
        file.write_bytes(model.read_bytes())
    assert main(["run-script", str(script), *map(str, files), "--out", str(out)]) == 1
    report = capsys.readouterr().err.splitlines()
    assert len(report) == 1
    assert "would both be written as 'm.pb'" in report[0]
    assert "/a/m.pb" in report[0]
    assert "/b/m.pb" in report[0]
    assert list(out.iterdir()) == []
    assert main(["run-script", str(script), *map(str, files)]) == 0


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("x = 1\n", "left no editor"),
        ("a = 1\nb = 1 / 0\n", "line 2, raised ZeroDivisionError"),
        ("a = (\n", "SyntaxError"),
        ("import sys\nsys.exit(0)\n", "line 2, ends Python, so nothing is saved"),
        ("import sys\nsys.exit('no')\n", "line 2, ends Python"),
    ],
    ids=["no editor", "raises", "no Python", "ends", "ends with words"],
)
def test_a_script_that_fails_is_reported_in_a_sentence(
    script: str, why: str, tmp_path: Path, capsys: Any
) -> None:
    (tmp_path / "s.py").write_text(script)
    assert main(["run-script", str(tmp_path / "s.py")]) == 1
    report = capsys.readouterr().err.splitlines()
    assert why in report[-1]
    assert main(["run-script", str(tmp_path / "none.py")]) == 1


def test_bad_edits_leave_no_file(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = model.parent / "bad.json"
    bad.write_text('{"tfgraphwidget": 1, "edits": [{"command": "os.system", "arguments": {}}]}')
    before = sorted(model.parent.iterdir())
    assert main(["export", str(model), f"{model.parent}/out.pb", "--edits", str(bad)]) == 1
    assert "Edit 1 cannot be read: 'os.system' is not a command" in capsys.readouterr().err
    assert main(["code", str(model), str(bad)]) == 1
    assert sorted(model.parent.iterdir()) == before


def test_a_pattern_that_cannot_be_read_has_a_caret_under_the_place(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = model.parent / "bad.json"
    edit = {"command": "replace_all", "arguments": {"pattern": "Relu(x", "by": "x"}}
    bad.write_text(json.dumps({"tfgraphwidget": 1, "edits": [edit]}))
    assert main(["export", str(model), f"{model.parent}/out.pb", "--edits", str(bad)]) == 1
    refusal, line, caret = capsys.readouterr().err.splitlines()[-3:]
    assert refusal.endswith("This pattern cannot be read: expected ',' or ')'.")
    assert line.strip() == "Relu(x"
    assert caret.index("^") == line.index("(x") + 2


def test_an_unknown_word_is_exit_code_2() -> None:
    ports = [
        ["demo", f"--port={port}"] for port in ("0", "-5", "65536", "9" * 5_000, "eight", "8.0")
    ]
    for arguments in (
        [],
        ["dance"],
        ["info"],
        ["info", "a", "--csv"],
        ["show", "a.pb", "--port", "-5"],
        *ports,
    ):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 2


# demo and show


@pytest.mark.parametrize("command", ["demo", "show"])
def test_a_home_folder_that_cannot_be_written_is_one_sentence_with_the_fix(
    command: str,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "file").touch()
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "file" / "home"))  # not even for root
    assert main([command, *([str(model)] if command == "show" else [])]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = printed.err.splitlines()
    assert str(tmp_path / "file" / "home") in line
    assert "cannot be written: Not a directory; set the environment variable HOME to a fo" in line


def test_the_address_of_a_file_is_quoted_whole() -> None:
    for name in (ODD, "a#b?c%20.pb", "naïve 日本.pb"):
        where = server.document_address(Path("/srv") / name, Path("/srv"))
        url = urlsplit(f"http://127.0.0.1:8888/{where}?token=1")
        assert where.isascii()
        assert where.isprintable()
        assert unquote(url.path) == f"/lab/tree/{name}"
        assert url.query == "token=1"
        assert not url.fragment


def test_what_cannot_be_shown_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".hidden.pb").write_bytes(b"x")
    for place, why in (
        (tmp_path / "none.pb", "no file"),
        (tmp_path, "not a SavedModel"),
        (tmp_path / ".hidden.pb", "hidden"),
    ):
        assert main(["show", str(place)]) == 1
        assert why in capsys.readouterr().err
    assert main(["show", str(tmp_path / "none.pb"), "--html", "out.txt"]) == 1
    assert "ends in .html" in capsys.readouterr().err


def test_a_signal_that_ends_the_command_ends_its_server() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as running:
        with server._passing_on(signal.SIGTERM, running):
            os.kill(os.getpid(), signal.SIGTERM)
            assert running.wait() == -signal.SIGTERM
        assert signal.getsignal(signal.SIGTERM) is before


def test_a_file_that_is_no_graph_starts_no_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def started(*_: Any, **__: Any) -> None:
        pytest.fail("a server was started")

    monkeypatch.setattr(server.subprocess, "Popen", started)
    (tmp_path / "driver.py").write_text("print('no graph')\n")
    assert (
        main(["show", str(tmp_path / "driver.py")])
        == main(["info", str(tmp_path / "driver.py")])
        == 1
    )
    first, second = capsys.readouterr().err.splitlines()
    assert first == second
    assert "is not a GraphDef, MetaGraphDef or SavedModel" in first


def test_what_cannot_be_is_refused_before_tensorflow_is_loaded(model: Path) -> None:
    none, file = str(model.parent / "nosuch.meta"), str(model)
    for arguments, ends, why in (
        (["diff", file, none], 2, "There is no file"),
        (["export", none, "o.pb"], 1, "There is no file"),
        (["export", file, "o.xyz"], 1, "'.xyz' is not a kind of file"),
        (["export", file, f"{none}/o.pb"], 1, "does not exist"),
        (["export", file, "o.svg", "--frozen"], 1, "'.pb' or '.pbtxt'"),
        (["show", file, "--html", f"{none}/x.html"], 1, "does not exist"),
    ):
        code = (
            f"import sys; from tfgraphwidget.cli import main; ended = main({arguments!r}); "
            "sys.exit(99 if 'tensorflow' in sys.modules else ended)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        assert done.returncode == ends
        assert why in done.stderr
        assert done.stderr.count("\n") == 1


def test_each_kind_known_beforehand_is_written(model: Path) -> None:
    documents = {*export.FILES, export.SAVED_MODEL} - writing._WRITERS.keys()
    assert len(documents) == len(export.FILES) + 1 - len(writing._WRITERS)
    for kind in documents:
        assert tgw.edit(str(model)).save(model.parent / f"document{kind}").stat().st_size > 0, kind


def test_outputs_are_asked_for_in_words_of_the_command_line(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in ([str(model.parent / "o.pb"), "--frozen"], [str(model.parent / "o") + "/"]):
        assert main(["export", str(model), *arguments]) == 1
        assert "give --" in (report := capsys.readouterr().err)
        assert "--outputs NAMES" in report
    assert not (model.parent / "o.pb").exists()


def test_a_page_is_written_that_needs_no_server(model: Path) -> None:
    out = model.parent / "page.html"
    assert main(["show", str(model), "--html", str(out)]) == 0
    text = out.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html")
    data = re.search(
        r'<script type="text/plain" id="tfgraphwidget-data">(.*?)</script>', text, re.DOTALL
    )
    assert data
    _, (room,) = unpack_page(base64.b64decode(data[1]))
    assert room.head["names"] == list(tgw.edit(model)._core.index.names)


def of_a_function(folder: Path) -> Path:
    """A GraphDef with a function that calls another one."""
    inner = tf.function(
        lambda x: tf.nn.relu(x) + x, input_signature=[tf.TensorSpec([None], tf.float32)]
    )
    outer = tf.function(
        lambda x: inner(x) + inner(x + 1.0), input_signature=[tf.TensorSpec([None], tf.float32)]
    )
    graph = outer.get_concrete_function().graph
    (folder / "function.pb").write_bytes(graph.as_graph_def().SerializeToString())
    return folder / "function.pb"


def saved_model(folder: Path) -> Path:
    """A SavedModel of TensorFlow 2, which opens in the body of its signature."""
    module = tf.Module()
    module.w = tf.Variable(2.0)
    call = tf.function(
        lambda x: {"y": x * module.w}, input_signature=[tf.TensorSpec([None], tf.float32)]
    )
    tf.saved_model.save(module, str(folder / "saved"), call)
    return folder / "saved"


def edited(folder: Path) -> Path:
    """An editor in a file, with an edit."""
    editor = tgw.edit(build_mlp(resource=True).as_graph_def())
    editor.rename("net/logits", "scores")
    return editor.save(folder / "edited.tgw")


def meta_graph(folder: Path) -> Path:
    with v1.Graph().as_default():
        x = v1.placeholder(tf.float32, [None], "x")
        signature = v1.saved_model.predict_signature_def({"x": x}, {"y": tf.nn.relu(x)})
        meta = v1.train.export_meta_graph()
    meta.signature_def["serving_default"].CopyFrom(signature)
    (folder / "graph.meta").write_bytes(meta.SerializeToString())
    return folder / "graph.meta"


@pytest.mark.parametrize("make", [of_a_function, saved_model, edited, meta_graph])
def test_a_page_written_without_an_editor_is_that_of_an_editor(
    make: Callable[[Path], Path], tmp_path: Path
) -> None:
    file = make(tmp_path)
    assert main(["show", str(file), "--html", str(tmp_path / "page.html")]) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        page = tgw.edit(file).save(tmp_path / "of_editor.html")
    assert (tmp_path / "page.html").read_bytes() == page.read_bytes()


def test_the_token_of_the_server_is_not_in_the_list_of_processes(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """tests/browser/test_show.py opens the URL. Here another process is started, with what
    JupyterLab would get.
    """
    started: list[list[str]] = []
    start = subprocess.Popen

    def instead(command: list[str], **options: Any) -> subprocess.Popen[str]:
        started.append(command)
        report = "import os, pathlib; pathlib.Path('told').write_text(os.environ['JUPYTER_TOKEN'])"
        return start([sys.executable, "-c", report], text=True, **options | {"cwd": model.parent})

    monkeypatch.setattr(subprocess, "Popen", instead)
    assert main(["show", str(model), "--no-browser"]) == 0
    token = (model.parent / "told").read_text().strip()
    assert len(token) >= 32
    assert f"?token={token}\n" in capsys.readouterr().out
    assert not any(token in word for word in started[0])


# How it ends


@pytest.fixture
def nobody() -> Iterator[TextIO]:
    """A pipe whose reader has left."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as pipe:
        yield pipe


def test_the_work_is_done_though_nothing_listens(
    model: Path, monkeypatch: pytest.MonkeyPatch, nobody: TextIO
) -> None:
    out = model.parent / "out.pb"
    monkeypatch.setattr(sys, "stderr", nobody)
    monkeypatch.setattr(sys, "stdout", nobody)
    assert main(["export", str(model), str(out)]) == 0
    assert nodes(out) == nodes(model)
    assert main(["export", str(model) + "x", str(out)]) == 1


def test_diff_ends_with_what_it_has_found_though_nothing_listens(
    model: Path, edits: Path, monkeypatch: pytest.MonkeyPatch, nobody: TextIO
) -> None:
    out = model.parent / "out.pb"
    main(["export", str(model), str(out), "--edits", str(edits)])
    monkeypatch.setattr(sys, "stdout", nobody)
    assert main(["diff", str(model), str(out)]) == 1
    assert main(["diff", str(model), str(model)]) == 0


def test_a_diff_that_breaks_down_does_not_say_that_the_graphs_differ(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(GraphEditor, "diff", lambda *_, **__: 1 / 0)
    assert main(["diff", str(model), str(model)]) == 2
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_ctrl_c_is_130_and_leaves_no_half_file(tmp_path: Path) -> None:
    out = tmp_path / "out" / "graph.pb"
    out.parent.mkdir()
    code = (
        "import signal, sys, time\n"
        "from tfgraphwidget.export.formats import graph_def\n"
        # A shell that starts these tests in the background has them ignore Ctrl-C, and what they
        # start inherits that.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def slow(path, what):\n"
        "    path.write_bytes(b'half')\n"
        "    print('writing', flush=True)\n"
        "    time.sleep(60)\n"
        "graph_def.write_graph_def = slow\n"
        "from tfgraphwidget.cli import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    source = tmp_path / "g.pb"
    source.write_bytes(build_mlp(resource=True).as_graph_def().SerializeToString())
    command = [sys.executable, "-c", code, "export", str(source), str(out)]
    quiet: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **quiet) as running:
        assert running.stdout
        assert running.stdout.readline() == "writing\n"
        running.send_signal(signal.SIGINT)
        _, said = running.communicate()
    assert running.returncode == 130
    assert said.splitlines()[-1] == "tfgraphwidget: interrupted."
    assert "Traceback" not in said
    assert list(out.parent.iterdir()) == []


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    model = tmp_path / "large.pb"
    nodes = [v1.NodeDef(name=f"placeholder_{k}", op="Placeholder") for k in range(20_000)]
    # Its JSON: 1.7 MB, more than a pipe holds.
    model.write_bytes(v1.GraphDef(node=nodes).SerializeToString())
    command = [sys.executable, "-m", "tfgraphwidget", "info", "--json", str(model)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout
        assert running.stderr
        running.stdout.readline()
        running.stdout.close()
        assert running.stderr.read() == ""
    assert running.returncode == 0


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_sees_a_bar_and_a_file_sees_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(1000))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    for out in (Terminal(), io.StringIO()):
        bar = ProgressBar(out)
        bar.tell("Opening g.pb")
        for done in range(5):
            bar.tell("Doing the edits", done, 4)
        bar.close()
        if isinstance(out, Terminal):
            assert "Doing the edits [############            ] 2 of 4" in out.getvalue()
            assert out.getvalue().endswith("\x1b[K")
            assert "\n" not in out.getvalue()
        else:
            assert out.getvalue() == "Opening g.pb …\nDoing the edits …\n"


def test_what_lint_has_fixed_has_no_finding_when_it_is_opened_again_and_computes_the_same(
    tmp_path: Path,
) -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], "x")
        rate = v1.placeholder_with_default(0.0, [], "rate")
        hidden = v1.nn.dropout(tf.nn.relu(x), rate=rate, name="dropout")
        with tf.control_dependencies([v1.debugging.Assert(tf.reduce_all(hidden >= 0), [hidden])]):
            tf.identity(tf.matmul(hidden, tf.constant(np.eye(4, dtype=np.float32))), "y")
    (tmp_path / "graph.pb").write_bytes(graph.as_graph_def().SerializeToString())
    file, out = str(tmp_path / "graph.pb"), str(tmp_path / "clean.pb")
    assert main(["lint", file]) == 1
    assert main(["lint", file, "--fix", "--out", out]) == 0
    assert main(["lint", out]) == 0
    names = tgw.edit(out)._core.index.names
    assert "rate" in names, "what callers feed stays"
    assert not any(name.startswith("dropout/") for name in names)
    feeds = {"x:0": np.arange(8, dtype=np.float32).reshape(2, 4)}
    assert "equal" in repr(tgw.edit(out).compare(feeds, tensors=["y:0"], other=file))


@pytest.mark.parametrize("name", ["saved", "graph.meta"])
def test_lint_fix_keeps_outputs_and_variables_and_leaves_no_print(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 4], "x")
        w = v1.get_variable("w", [4, 4], use_resource=True)
        hidden = v1.Print(v1.nn.dropout(x @ w, rate=0.5, name="drop"), [x], name="Print")
        out = tf.nn.softmax(hidden, name="out")
        v1.train.AdamOptimizer().minimize(tf.reduce_mean(out, name="loss"))
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(tmp_path / "saved"), {"x": x}, {"p": out})
    if name == "graph.meta":
        tgw.edit(tmp_path / "saved").save(tmp_path / name)
    clean = str(tmp_path / "clean") + name.removeprefix("graph").removeprefix("saved")
    assert main(["lint", str(tmp_path / name), "--fix", "--out", clean]) == 0
    assert "was not applied" not in capsys.readouterr().err
    names = tgw.edit(clean)._core.index.names
    assert {"x", "w", "w/Assign", "out"} <= {*names}
    assert not [
        name for name in names if name.startswith(("drop", "Print", "Adam", "gradients", "loss"))
    ]


def test_the_devices_of_a_graph_that_cannot_run_here_are_taken_out_of_a_meta_graph(
    tmp_path: Path,
) -> None:
    with tf.Graph().as_default() as graph, tf.device("/job:ps/task:0"):
        tf.identity(v1.placeholder(tf.float32, [], "x"), "y")
    meta = v1.MetaGraphDef(graph_def=graph.as_graph_def())
    (tmp_path / "pinned.meta").write_bytes(meta.SerializeToString())
    out = tmp_path / "clean.meta"
    assert main(["lint", str(tmp_path / "pinned.meta"), "--fix", "--out", str(out)]) == 0
    assert not any(
        node.device for node in v1.MetaGraphDef.FromString(out.read_bytes()).graph_def.node
    )


def test_lint_looks_at_all_signatures_of_a_saved_model_or_at_the_one_that_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module, spec = tf.Module(), tf.TensorSpec([None, 4], tf.float32, "x")
    clean = tf.function(lambda x: {"y": tf.nn.relu(x)}, input_signature=[spec])
    noisy = tf.function(
        lambda x: {"y": tf.debugging.check_numerics(x, "none")}, input_signature=[spec]
    )
    tf.saved_model.save(module, str(tmp_path / "m"), {"serving_default": clean, "noisy": noisy})
    model = str(tmp_path / "m")
    assert main(["lint", model]) == 1
    head, *found = capsys.readouterr().out.splitlines()
    assert head == "signature 'noisy':"
    assert "CheckNumerics" in found[0]
    assert main(["lint", model, "--json"]) == 1
    assert {row["signature"] for row in json.loads(capsys.readouterr().out)} == {"noisy"}
    assert main(["lint", model, "--signature", "serving_default"]) == 0
    assert main(["lint", model, "--signature", "noisy", "--json"]) == 1
    assert "signature" not in json.loads(capsys.readouterr().out)[0]
    assert main(["lint", model, "--fix", "--out", str(tmp_path / "out.pb")]) == 0
    assert "signature 'noisy' was left as it is; give --signature" in capsys.readouterr().err


def test_a_refusal_names_the_options_and_lint_finds_missing_inputs_and_outputs_of_any_signature(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "m.meta")
    with build_mlp(resource=True).as_default():
        meta = v1.train.export_meta_graph()
    for name, tensor in {"a": "net/logits:0", "b": "net/logits:0", "gone": "gone:0"}.items():
        meta.signature_def[name].inputs["x"].name = "x:0"
        meta.signature_def[name].outputs["y"].name = tensor
    Path(file).write_bytes(meta.SerializeToString())
    assert main(["lint", file, "--only", "missing-tensors"]) == 1
    assert capsys.readouterr().out.count("'gone:0'") == 1
    assert main(["lint", file, "--signature", "c"]) == 2
    assert "has no signature 'c': it has 'a', 'b'" in capsys.readouterr().err
    assert main(["lint", file, "--signature", "a", "--only", "missing-tensors"]) == 1
    assert capsys.readouterr().out.count("'gone:0'") == 1
    out = str(tmp_path / "out.meta")
    assert (
        main(["lint", file, "--signature", "a", "--only", "missing-tensors", "--fix", "--out", out])
        == 0
    )


@pytest.mark.parametrize("command", ["show", "info", "export", "diff", "lint"])
def test_a_command_takes_the_file_of_an_editor_and_its_help_says_so(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = str(tgw.example().save(tmp_path / "net.tgw")), str(tmp_path / "out.html")
    ends = {
        "show": ["--html", out],
        "export": [out],
        "diff": [file],
        "lint": ["--only", "missing-tensors"],
    }
    assert main([command, file, *ends.get(command, [])]) == 0
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert ".tgw" in capsys.readouterr().out


def test_lint_lists_what_it_finds_and_writes_what_it_has_fixed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tgw.example().save(tmp_path / "graph.meta")
    file, out = str(tmp_path / "graph.meta"), str(tmp_path / "clean.meta")
    assert main(["lint", file, "--only", "training-ops"]) == 1
    assert "fix: editor.passes.strip_training(" in capsys.readouterr().out
    assert main(["lint", file, "--only", "training-ops", "--json"]) == 1
    assert [row["code"] for row in json.loads(capsys.readouterr().out)] == ["training-ops"]
    assert main(["lint", file, "--only", "training-ops", "--fix", "--out", out]) == 0
    said = capsys.readouterr().err
    assert "fixed: editor.passes.strip_training(" in said
    assert f"{out} is the fixed graph." in said
    assert main(["lint", out, "--only", "training-ops"]) == 0
    assert capsys.readouterr().err.endswith("tfgraphwidget: nothing was found.\n")
    assert main(["lint", file, "--fix"]) == main(["lint", str(tmp_path / "none.pb")]) == 2
    assert "give --fix and --out OUT together" in capsys.readouterr().err


def test_show_opens_a_page_where_there_is_no_jupyterlab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tgw.example().save(tmp_path / "net.pb")
    monkeypatch.setattr(server, "find_spec", lambda _: None)
    opened: list[str] = []
    monkeypatch.setattr(server.webbrowser, "open", opened.append)
    assert main(["show", str(tmp_path / "net.pb")]) == 0
    printed = capsys.readouterr()
    page = Path(printed.out.strip())
    assert opened == [page.as_uri()]
    assert page.name == "net.html"
    assert "<title>net.pb</title>" in page.read_text("utf-8")
    assert "pip install jupyterlab to edit" in printed.err.replace("\n", " ")
    shutil.rmtree(page.parent)


def test_an_argument_too_many_is_refused_with_the_usage_of_its_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["info", "a.pb", "b.pb"])
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("usage: tfgraphwidget info [-h]")
    assert said.endswith("tfgraphwidget info: error: unrecognized arguments: b.pb\n")

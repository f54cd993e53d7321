"""What is not a file is refused at once in a sentence: nobody waits for a pipe, or reads a device
that has no end.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tfgraphwidget.cli import main
from tfgraphwidget.editor import replay
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.readable import open_file, read_file, why_unreadable

PIPE = "is a pipe, which can be read only once; write what comes out of it to a file first"
SECONDS = 20
"""How long one call may take; a call that waits for a pipe takes for ever."""


@pytest.fixture(autouse=True)
def no_waiting() -> Iterator[None]:
    """A test that waits fails; one that waits inside TensorFlow ends the run."""

    def give_up(*_: object) -> None:
        pytest.fail("it waited")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a graph in several formats and its checkpoint, edits, and a SavedModel with a
    vocabulary.
    """
    folder = tmp_path_factory.mktemp("files")
    editor = tgw.example()
    editor.bypass("net/hidden/Relu")
    for name in ("m.pb", "m.meta", "edits.json", "m.tgw"):
        editor.save(folder / name)
    words = folder / "words.txt"
    words.write_text("a\nb\n")
    model = tf.Module()
    model.scale = tf.Variable([1, 2], dtype=tf.int64)
    lines = (
        tf.string,
        tf.lookup.TextFileIndex.WHOLE_LINE,
        tf.int64,
        tf.lookup.TextFileIndex.LINE_NUMBER,
    )
    model.table = tf.lookup.StaticHashTable(tf.lookup.TextFileInitializer(str(words), *lines), -1)
    spec = tf.TensorSpec([2], tf.string)
    model.f = tf.function(lambda x: model.table.lookup(x) * model.scale, input_signature=[spec])
    tf.saved_model.save(model, str(folder / "model"), signatures=model.f)
    return folder


def kinds(folder: Path) -> dict[str, str]:
    """Paths of things that are not files, by what they are."""
    os.mkfifo(folder / "pipe")
    (folder / "link").symlink_to(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket"))
    reading, _ = os.pipe()
    devices = {name: f"/dev/{name}" for name in ("zero", "random", "null", "tty")}
    own = {name: str(folder / name) for name in ("pipe", "link", "socket")}
    return {
        **own,
        **devices,
        "shell": f"/dev/fd/{reading}",
        "folder": str(folder),
        "proc": "/proc/self/pagemap",
    }


READERS: dict[str, Callable[[str, Path], Any]] = {
    "edit": lambda odd, _: tgw.edit(odd),
    "edit, watched": lambda odd, _: tgw.edit(odd, watch=True),
    "checkpoint of a graph": lambda odd, files: tgw.edit(
        str(files / "m.meta"), checkpoint=f"{odd}"
    ),
    "replay": lambda odd, _: tgw.example().history.replay(odd),
    "diff": lambda odd, _: tgw.example().diff(odd),
    "add": lambda odd, _: tgw.example().add(odd),
    "load a selection": lambda odd, _: tgw.example().ops(file=odd),
    "drift": lambda odd, files: tgw.drift(odd, str(files / "m")),
    "load a copy's values": lambda odd, _: (
        tgw.example().clone("x:0", "net/logits:0", into="c").load(odd)
    ),
}


@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_file_is_refused_by_all_that_read_files(
    files: Path, tmp_path: Path, reader: str
) -> None:
    for kind, odd in kinds(tmp_path).items():
        if reader == "checkpoint of a graph" and kind in ("folder", "proc"):
            # a folder may hold a checkpoint; a graph is shown without a checkpoint that is not one
            continue
        with pytest.raises(GraphEditError) as refusal:
            READERS[reader](odd, files)
        if reader != "load a copy's values" and kind in ("pipe", "link", "shell"):
            assert PIPE in str(refusal.value)


COMMANDS: dict[str, Callable[[str, str, str], list[str]]] = {
    "info": lambda odd, _model, _out: ["info", odd],
    "info --summary": lambda odd, _model, _out: ["info", odd, "--summary"],
    "code": lambda odd, model, _out: ["code", model, odd],
    "code of a graph": lambda odd, model, _out: ["code", odd, model],
    "export": lambda odd, _model, out: ["export", odd, out],
    "export --edits": lambda odd, model, out: ["export", model, out, "--edits", odd],
    "export --checkpoint": lambda odd, model, out: ["export", model, out, "--checkpoint", odd],
    "diff": lambda odd, model, _out: ["diff", odd, model],
    "diff, the other": lambda odd, model, _out: ["diff", model, odd],
    "lint": lambda odd, _model, _out: ["lint", odd],
    "show --html": lambda odd, _model, out: ["show", odd, "--html", f"{out}.html"],
    "show": lambda odd, _model, _out: ["show", odd, "--no-browser"],
    "run-script": lambda odd, model, _out: ["run-script", odd, model],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_line_refuses_what_is_no_file(
    files: Path, tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for kind, odd in kinds(tmp_path).items():
        if kind in ("folder", "proc"):
            continue
        arguments = COMMANDS[command](odd, str(files / "m.pb"), str(tmp_path / "out.pb"))
        assert main(arguments) in (1, 2), kind
        said = capsys.readouterr().err
        assert said.splitlines()[-1].startswith("tfgraphwidget: ")
        assert "Traceback" not in said
        if kind in ("pipe", "link", "shell"):
            assert PIPE in said
    assert not list(tmp_path.glob("out*"))


@pytest.mark.parametrize(
    "arguments", ["info <(cat m.pb)", "export m.pb out.pb --edits <(cat edits.json)"]
)
def test_what_the_shell_gives_for_a_command_is_refused(files: Path, arguments: str) -> None:
    shell = shutil.which("bash")
    if shell is None:
        pytest.skip("needs bash")
    program = (
        f"import sys; sys.path.insert(0, {str(Path.cwd())!r}); from tfgraphwidget.cli import main; "
        "sys.exit(main())"
    )
    done = subprocess.run(
        [shell, "-c", f'{sys.executable} -c "$PROGRAM" {arguments}'],
        cwd=files,
        env=os.environ | {"PROGRAM": program},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 1
    assert PIPE in done.stderr
    assert "Traceback" not in done.stderr


def is_refused(use: Callable[[], object]) -> bool:
    """Whether a call ends in a refusal; any other error is the test's."""
    try:
        use()
    except GraphEditError:
        return True
    return False


INSIDE = (
    "saved_model.pb",
    "variables/variables.index",
    "variables/variables.data-00000-of-00001",
    "assets/words.txt",
    "fingerprint.pb",
)


@pytest.mark.parametrize("name", INSIDE)
def test_a_pipe_in_place_of_a_saved_model_s_file_is_not_waited_for(
    files: Path, tmp_path: Path, name: str
) -> None:
    model = tmp_path / "model"
    shutil.copytree(files / "model", model)
    (model / name).unlink()
    os.mkfifo(model / name)
    uses: tuple[Callable[[], object], ...] = (
        lambda: tgw.edit(model).freeze(),
        lambda: tgw.edit(model).graph,
        lambda: tgw.edit(model).to_module(),
        lambda: tgw.edit(model).save(f"{tmp_path}/out/"),
    )
    assert any(map(is_refused, uses)) is (name != "fingerprint.pb")


@pytest.mark.parametrize("name", ["m.index", "m.data-00000-of-00001"])
def test_a_pipe_in_place_of_a_checkpoint_s_file_is_refused(
    files: Path, tmp_path: Path, name: str
) -> None:
    for file in files.glob("m.*"):
        shutil.copy(file, tmp_path)
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(GraphEditError, match=PIPE):
        tgw.edit(tmp_path / "m.meta", checkpoint=str(tmp_path / "m")).freeze("net/logits")


def test_a_file_of_edits_has_a_size_that_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edits = tmp_path / "edits.json"
    with edits.open("wb") as file:
        file.truncate(1 << 40)  # takes no room on the disk
    editor = tgw.example()
    with pytest.raises(
        GraphEditError, match=r"'edits.json' has 1,099,511,627,776 bytes, and at most 268,435,456"
    ):
        editor.history.replay(edits)
    with pytest.raises(GraphEditError, match="has 1,099,511,627,776 bytes"):
        editor.ops(file=edits)
    tgw.example().save(edits)
    monkeypatch.setattr(replay, "_MOST_BYTES", edits.stat().st_size)
    assert editor.history.replay(edits) == 0
    monkeypatch.setattr(replay, "_MOST_BYTES", edits.stat().st_size - 1)
    with pytest.raises(GraphEditError, match="give another file"):
        editor.history.replay(edits)


def test_a_file_is_read_as_ever(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"abc")
    (tmp_path / "link").symlink_to(file)
    for path in (file, str(file), os.fsencode(file), tmp_path / "link"):
        assert read_file(path) == b"abc"
        assert why_unreadable(path) == ""
    with pytest.raises(FileNotFoundError):
        open_file(tmp_path / "none")
    assert why_unreadable(tmp_path / "none") == why_unreadable("a\0b") == ""
    assert why_unreadable(tmp_path, folders=True) == ""
    with pytest.raises(GraphEditError, match="is a directory; give a file"):
        read_file(tmp_path)

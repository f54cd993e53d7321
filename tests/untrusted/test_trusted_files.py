"""What a user has called trusted runs, where it should; so the other tests can fail."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.untrusted.canary import PYTHON, READS, WRITES, Canary
from tests.untrusted.hostile import HOSTILE
from tests.untrusted.places import PLACES
from tests.untrusted.verbs import checkpoint_of
from tfgraphwidget.cli import main
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import NotTrusted

FEEDS = {"x:0": np.ones((2, 2), np.float32)}
Call = Callable[[GraphEditor], Any]
ASKING: list[tuple[str, str, Call, str]] = [
    ("WriteFile", "top", lambda e: e.session.run("y:0", FEEDS), WRITES),
    ("WriteFile", "function", lambda e: e.probe("y:0", FEEDS), WRITES),
    ("PyFunc", "loop", lambda e: e.session.run("y:0", FEEDS), PYTHON),
    ("ReadFile", "shape", lambda e: e.session, READS),
    ("WriteFile", "main_op", lambda e: e.session, WRITES),
    ("TextLineDataset", "initializer_function", lambda e: e.session, READS),
    ("PrintV2", "meta", lambda e: e.session, WRITES),
]


@pytest.fixture
def canary() -> Canary:
    return Canary(Path(tempfile.mkdtemp()))


def written(canary: Canary, op: str, place: str) -> Path:
    """The file of an op in a place; what making it has done is put back."""
    path = PLACES[place](canary, HOSTILE[op].build)
    files = {file: file.read_bytes() for file in canary.model.rglob("*") if file.is_file()}
    canary.reset()
    for file, data in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    canary.watch()
    return path


@pytest.mark.parametrize(
    ("op", "place", "call", "effect"),
    ASKING,
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_trusted_op_runs_when_it_is_asked_for(
    canary: Canary, op: str, place: str, call: Call, effect: str
) -> None:
    path = written(canary, op, place)
    editor = tgw.edit(path, trusted=True, checkpoint=checkpoint_of(path))
    editor.view.scene()
    assert canary.effects() == set()
    call(editor)
    assert effect in canary.effects()


def test_trust_can_be_given_later(canary: Canary) -> None:
    editor = tgw.edit(written(canary, "WriteFile", "top"))
    with pytest.raises(
        NotTrusted, match=r"writes a file.* trusted=True, or set editor\.source\.trusted = True\.$"
    ):
        editor.session.run("y:0", FEEDS)
    assert canary.effects() == set()
    editor.source.trusted = True
    editor.session.run("y:0", FEEDS)
    assert canary.effects() == {WRITES}


def test_the_command_line_runs_what_is_trusted(
    canary: Canary, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(canary, "ReadFile", "shape")
    command = [
        "export",
        str(path),
        str(canary.saved / "saved"),
        "--inputs",
        "x:0",
        "--outputs",
        "y:0",
    ]
    main(command)
    assert canary.effects() == set()
    main([*command[:2], str(canary.saved / "again"), *command[3:], "--trust"])
    assert canary.effects() == {READS}
    capsys.readouterr()


def test_a_function_is_not_called_on_a_tensor_that_would_be_computed_for_a_shape(
    canary: Canary,
) -> None:
    path = written(canary, "ReadFile", "top")
    zeros: Callable[[Any], Any] = lambda text: tf.zeros(tf.reshape(tf.strings.length(text), [1]))  # noqa: E731
    editor = tgw.edit(path)
    with pytest.raises(NotTrusted, match=r"^call.*reads a file.*so the function was not called; "):
        editor.call(["ReadFile:0"], zeros)
    assert editor.session is not None
    editor.insert("ReadFile:0", "StringLower")  # no shape hangs on a text
    with pytest.raises(NotTrusted, match=r"^call.*reads a file.*so the function was not called; "):
        editor.call(["ReadFile:0"], zeros)
    assert canary.effects() == set()
    tgw.edit(path, trusted=True).call(["ReadFile:0"], zeros)
    assert canary.effects() == {READS}


def test_a_file_that_a_table_names_is_copied_if_the_graph_is_trusted(canary: Canary) -> None:
    path = written(canary, "InitializeTableFromTextFileV2", "top")
    editor = tgw.edit(path)
    with pytest.warns(UserWarning, match=r"names the file .*so it was not copied; .*trusted=True"):
        editor.save(canary.saved / "saved/", ["x:0"], ["y:0"], verify=False)
    assert canary.effects() == set()
    assert canary.leaks() == []
    tgw.edit(path, trusted=True).save(canary.saved / "again/", ["x:0"], ["y:0"], verify=False)
    assert canary.leaks() == ["again/assets/secret.txt"]


@pytest.mark.parametrize("is_trusted", [False, True])
def test_a_function_that_fills_a_table_from_a_file_is_not_called(
    tmp_path: Path, is_trusted: bool
) -> None:
    words = tmp_path / "elsewhere" / "words.txt"
    words.parent.mkdir()
    words.write_text("a\n")
    (tmp_path / "model").mkdir()

    @tf.function(autograph=False)
    def fill(table: Any) -> Any:
        tf.raw_ops.InitializeTableFromTextFileV2(
            table_handle=table, filename=str(words), key_index=-2, value_index=-1
        )
        return tf.constant(1)

    with tf.Graph().as_default() as graph:
        table = tf.raw_ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64, shared_name="t")
        filled = fill(table)
        size = tf.raw_ops.LookupTableSizeV2(table_handle=table)
    path = tmp_path / "model" / "graph.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    editor = tgw.edit(path, trusted=is_trusted)
    assert editor.session.run(size.name) == 0, "opening calls it in no case"
    assert any("is empty in the editor's session" in notice for notice in editor.source.notices)
    if is_trusted:
        editor.session.run(filled.name)
        assert editor.session.run(size.name) == 1

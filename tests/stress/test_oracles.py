"""The harness itself: each check of values finds what it is there to find."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.stress import Broken
from tests.stress.models import model_named
from tests.stress.random_edits import Call
from tests.stress.running import check_copy, check_part, check_saved_values
from tests.stress.sequences import Run
from tests.stress.state import values_of
from tfgraphwidget.editor.edit_methods import Passes

PART = ["x:0"], ["net/logits:0"]


class Disguised:
    """A copy that says that the variables of the original are its own."""

    def __init__(self, copy: Any, variables: list[Any]) -> None:
        self.scope, self.outside, self.variables, self._names = (
            copy.scope,
            copy.outside,
            variables,
            copy._names,
        )
        self._copy = copy

    def __getitem__(self, name: str) -> Any:
        return self._copy[name]

    def __contains__(self, name: str) -> bool:
        return name in self._copy


def test_a_clone_that_is_right_passes() -> None:
    editor = tgw.example()
    check_copy(editor, PART, {}, editor.clone(*PART, into="copy"))


def test_a_clone_that_computes_something_else_is_found() -> None:
    editor = tgw.example()
    copy = editor.clone(*PART, into="copy")
    editor.insert("copy/net/hidden/Relu:0", lambda t: t * 2.0)
    with pytest.raises(Broken, match="computes something else"):
        check_copy(editor, PART, {}, copy)


def test_a_clone_that_has_the_variables_of_the_original_is_found() -> None:
    editor = tgw.example()
    copy = editor.clone(*PART, into="copy", variables="shared")
    with editor.graph.as_default():
        variables = [v for v in v1.global_variables() if v.name.startswith("net/")]
    with pytest.raises(Broken, match=r"a new value of 'net/.*' changes"):
        check_copy(editor, PART, {}, Disguised(copy, variables))


def test_a_file_with_other_values_is_found(tmp_path: Path) -> None:
    editor = tgw.example()
    path = editor.save(tmp_path / "frozen.pb", *PART, frozen=True)
    check_saved_values(editor, path, PART, 0)
    feeds = {"x:0": [[1, 2, 3, 4]], "labels:0": [0]}
    editor.session.run("train", feeds)
    with pytest.raises(Broken, match="computes something else"):
        check_saved_values(editor, path, PART, 0)


def test_a_part_with_other_values_is_found() -> None:
    editor = tgw.example()
    part = editor.extract(*PART)
    check_part(editor, part, *PART)
    part.bypass("net/hidden/Relu")
    with pytest.raises(Broken, match="computes something else"):
        check_part(editor, part, *PART)


def test_an_edit_that_changes_a_value_it_must_not_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(model_named("example"), tmp_path)
    bypass = tgw.GraphEditor.bypass
    monkeypatch.setattr(
        Passes, "remove_identities", lambda passes: bypass(passes, "net/hidden/Relu")
    )

    def eight_times() -> None:
        for _ in range(8):  # each looks at some of the values
            run.step(Call("remove_identities"))
            run.step(Call("undo"))

    with pytest.raises(Broken, match="remove_identities changes the value of"):
        eight_times()


def test_undo_that_leaves_a_function_edited_is_found(tmp_path: Path) -> None:
    run = Run(model_named("tf.function"), tmp_path)
    edited, original = {"0": tf.ones([2]).numpy()}, {"0": tf.zeros([2]).numpy()}
    with pytest.raises(Broken, match="with all edits undone"):
        run._check_returned(edited, original, edited)


def test_a_file_whose_inputs_are_placeholders_of_other_names_is_compared(tmp_path: Path) -> None:
    editor = tgw.example()
    part = ["net/hidden/MatMul:0"], ["net/logits:0"]
    for path in (
        editor.save(tmp_path / "frozen.pb", *part, frozen=True),
        _marked_and_saved(editor, part, tmp_path),
    ):
        boundary = part if path.suffix else ()
        check_saved_values(editor, path, boundary, 0)
        editor.bypass("net/hidden/Relu")
        with pytest.raises(Broken, match="'net/logits:0' was float32"):
            check_saved_values(editor, path, boundary, 0)
        editor.undo()


def _marked_and_saved(editor: tgw.GraphEditor, part: Any, folder: Path) -> Path:
    editor.mark(*part)
    return editor.save(folder / "saved/")


def test_the_size_of_a_queue_that_is_to_be_given_is_not_asked_for() -> None:
    with tf.Graph().as_default() as graph:
        queue = v1.FIFOQueue(2, [tf.float32], name="queue")
        queue.size("size")
    editor = tgw.edit(graph, session=v1.Session(graph=graph))
    editor.clone(["queue:0"], ["size:0"], into="copy", placeholders=True)
    assert values_of(editor).keys() == {"size"}

"""What a call means that leaves something out: a line of Python means the same whatever was chosen
before it.
"""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.commands import clone_command
from tests.conftest import build_mlp, initialised
from tfgraphwidget.errors import NoPath, UnknownName


@pytest.fixture
def editor() -> tgw.GraphEditor:
    """An editor on the mlp, with the second layer chosen."""
    graph = build_mlp(resource=True)
    made = tgw.edit(graph, session=initialised(graph))
    made.mark("net/one/out:0", "net/two/out:0")
    return made


def test_outputs_alone_are_cloned_with_all_that_they_need_whatever_is_chosen(
    editor: tgw.GraphEditor,
) -> None:
    fresh = tgw.edit(editor.graph, session=editor.session)
    once = fresh.preview(fresh.clone, outputs="net/logits:0", into="b").ops
    assert editor.preview(editor.clone, outputs="net/logits:0", into="b").ops == once
    editor.clone("net/two/out:0", "net/logits:0", into="part")
    assert editor.clone(outputs="net/logits:0", into="b").report.ops == once


def test_a_clone_says_in_its_line_that_it_has_no_inputs(editor: tgw.GraphEditor) -> None:
    editor.clone([], ["net/logits:0"], into="b")
    assert (
        editor.history.lines[-1]
        == 'b = editor.clone(inputs=[], outputs=["net/logits:0"], into="b")'
    )
    editor.clone(editor.ops(scope="net"), into="c")
    assert editor.history.lines[-1] == "c = editor.clone(editor.ops(scope='net'), into=\"c\")"


def test_a_call_without_any_inputs_and_outputs_takes_the_chosen_ones_and_prints_them(
    editor: tgw.GraphEditor,
) -> None:
    editor.clone(into="b")
    line = 'b = editor.clone(inputs=["net/one/out:0"], outputs=["net/two/out:0"], into="b")'
    assert editor.history.lines == (line,)
    editor.selection = editor.ops(scope="net/one")
    editor.clone(into="c")
    assert editor.history.lines[-1] == "c = editor.clone(editor.ops(scope='net/one'), into=\"c\")"


def test_inputs_alone_are_no_part(editor: tgw.GraphEditor) -> None:
    with pytest.raises(NoPath, match="needs an output boundary"):
        editor.clone(inputs="x:0", into="b")
    assert clone_command(editor, "x:0").outputs == ()


def test_extract_takes_both_chosen_inputs_and_outputs_or_none(editor: tgw.GraphEditor) -> None:
    chosen = editor.extract()
    assert (chosen.inputs, chosen.outputs) == (("net/one/out:0",), ("net/two/out:0",))
    assert "x" in editor.extract(outputs="net/two/out:0")._core.index.ids
    assert "net/logits" in editor.extract("net/one/out:0")._core.index.ids, (
        "the graph's result, not what is chosen"
    )


def test_freeze_takes_no_chosen_outputs_when_inputs_are_given(editor: tgw.GraphEditor) -> None:
    editor.freeze(inputs="net/one/out:0")
    assert (
        editor.history.lines[-1]
        == 'editor.freeze(outputs=["net/logits"], inputs=["net/one/out:0"])'
    )
    editor.undo()
    editor.mark("net/one/out:0", "net/two/out:0")
    editor.freeze()
    assert editor.history.lines[-1] == 'editor.freeze(outputs=["net/two/out:0"])'


def test_save_takes_both_chosen_inputs_and_outputs_or_what_given_outputs_need(
    editor: tgw.GraphEditor, tmp_path: Path
) -> None:
    chosen, given = tmp_path / "chosen", tmp_path / "given"
    for path, ends in (
        (f"{chosen}/", {}),
        (f"{given}/", {"inputs": "x:0", "outputs": "net/logits:0"}),
    ):
        editor.save(path, **ends)
    ends = [[key for key, _ in side] for side in _sides(tgw.edit(chosen))]
    assert ends == [["out"], ["out"]]
    assert next(iter(tgw.edit(chosen).signatures.values())).outputs[0][1].endswith("net/two/out:0")
    editor.save(f"{tmp_path}/half/", outputs="net/logits:0")
    ends = [[key for key, _ in side] for side in _sides(tgw.edit(tmp_path / "half"))]
    assert ends == [["x"], ["logits"]]


def _sides(editor: tgw.GraphEditor) -> tuple[tuple[tuple[str, str], ...], ...]:
    return next(iter(editor.signatures.values())).inputs, next(
        iter(editor.signatures.values())
    ).outputs


# An input that the outputs do not use

UNUSED = "'labels:0' is left out: 'net/logits:0' can be computed without."


def test_an_unused_input_is_left_out_of_clones_previews_and_extracts_with_a_notice() -> None:
    editor, ends = tgw.example(), (["x:0", "labels:0"], "net/logits:0")
    assert UNUSED in editor.preview(editor.clone, *ends, into="a").dropped[0]
    copy = editor.clone(*ends, into="a", placeholders=True)
    assert UNUSED in copy.report.dropped[0]
    assert "a/labels" not in editor._core.index.ids
    assert editor.mark(*ends) is not None
    assert editor.selection is not None
    part = editor.extract(*ends)
    assert UNUSED in part.source.notices[0]
    assert part.inputs == ("x:0",)


def test_an_unused_input_is_left_out_of_a_frozen_graph_and_a_frozen_file_with_a_notice(
    tmp_path: Path,
) -> None:
    editor, ends = tgw.example(), (["x:0", "labels:0"], "net/logits:0")
    with pytest.warns(UserWarning, match="labels:0"):
        path = editor.save(tmp_path / "net.pb", *ends, frozen=True)
    assert "labels" not in tgw.edit(path)._core.index.ids
    assert UNUSED in editor.freeze(ends[1], ends[0]).notes[0]
    assert "labels" not in editor._core.index.ids
    editor.undo()
    assert "labels" in editor._core.index.ids


def test_an_unused_input_is_no_argument_of_a_part_of_a_function() -> None:
    spec = tf.TensorSpec([None], tf.float32)
    function = tf.function(
        lambda a, b: (tf.nn.relu(a) * 2.0, b), input_signature=[spec, spec], autograph=False
    )
    editor = tgw.edit(function)
    product = editor.ops(type="Mul").ops[0]
    part = editor.clone(["a:0", "b:0"], product, into="part")
    assert "'b:0' is left out" in part.report.dropped[0]
    assert (
        "'b:0' is left out"
        in editor.preview(editor.clone, ["a:0", "b:0"], product, into="other").dropped[0]
    )
    assert part(tf.constant([3.0])).numpy().tolist() == [6.0]


def test_an_argument_that_nothing_uses_stays_when_the_body_is_frozen_or_stripped() -> None:
    spec = tf.TensorSpec([None], tf.float32)

    def doubled(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
        tf.square(b, name="spare")
        return tf.nn.relu(a) * 2.0

    for edit in ("freeze", "passes.strip_training"):
        editor = tgw.edit(tf.function(doubled, input_signature=[spec, spec], autograph=False))
        attrgetter(edit)(editor)(outputs=editor.outputs)
        assert "spare" not in editor._core.index.ids
        assert editor.to_module()(tf.constant([3.0]), tf.constant([1.0])).numpy().tolist() == [6.0]


def test_inputs_that_are_all_unused_are_no_way_to_the_outputs() -> None:
    with pytest.raises(NoPath, match="labels"):
        tgw.example().clone("labels:0", "net/logits:0", into="b")


def test_a_constant_that_a_saved_function_captures_is_no_input(tmp_path: Path) -> None:
    module, rows = tf.Module(), tf.constant(np.arange(3000, dtype=np.float32).reshape(1000, 3))
    spec = [tf.TensorSpec([None], tf.int32, "places")]
    module.call = tf.function(lambda places: tf.gather(rows, places) * 2.0, input_signature=spec)
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures=module.call)
    editor = tgw.edit(tmp_path / "saved")
    assert editor.inputs == ("places:0",)
    copy = editor.clone(editor.inputs, editor.outputs, into="copy")
    assert np.array_equal(copy(tf.constant([1, 7])), 2 * rows.numpy()[[1, 7]])


def test_the_summary_of_a_function_lists_no_capture_as_input() -> None:
    words = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
    table = tf.lookup.StaticHashTable(words, -1)
    large = tf.constant(np.arange(3000, dtype=np.float32))
    spec = [tf.TensorSpec([None], tf.string, "words")]
    found = tf.function(lambda words: (table.lookup(words), large * 2.0), input_signature=spec)
    editor = tgw.edit(found)
    inputs = [line for line in str(editor.inspect()).splitlines() if line.startswith("input:")]
    assert inputs == ["input: words:0 string (None,)"]


@pytest.mark.parametrize("value", [tf.constant([[1.0, 2.0]]), np.ones((1, 2), np.float32)])
def test_a_value_in_place_of_a_tensor_is_shown_whole_and_refused(
    value: object, editor: tgw.GraphEditor
) -> None:
    with pytest.raises(UnknownName, match=r"\[\[1\., .\.*\]\].* is a value and no tensor"):
        editor.clone("x:0", "net/two/out:0", into="copy", replace={"x:0": value})
    with editor.graph.as_default():
        constant = tf.constant(np.ones((1, 3), np.float32))
    copy = editor.clone("x:0", "net/two/out:0", into="copy", replace={"x:0": constant})
    given = editor.session.run(["net/two/out:0", copy["net/two/out:0"]], {"x:0": np.ones((1, 3))})
    assert np.array_equal(*given)

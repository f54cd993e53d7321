"""Signatures as things: they are added, renamed, ordered and removed like ops, and files have
them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.editor.verbs import Sources
from tfgraphwidget.errors import GraphEditError, NameTaken, UnknownName

X = np.linspace(-1.0, 1.0, 8, dtype=np.float32).reshape(2, 4)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    return Sources(tmp_path_factory.mktemp("signatures"))


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # notices of what is saved
        yield


def names(editor: tgw.GraphEditor) -> list[str]:
    return [signature.name for signature in tuple(editor.signatures.values())]


def relu(editor: tgw.GraphEditor) -> str:
    return f"{editor.ops(type='Relu').ops[-1]}:0"


def called(folder: Path, name: str) -> dict[str, np.ndarray[Any, Any]]:
    """What a signature of a saved model gives for X."""
    signature = tf.saved_model.load(str(folder)).signatures[name]
    (key,) = signature.structured_input_signature[1]
    return {key: tensor.numpy() for key, tensor in signature(**{key: tf.constant(X)}).items()}


KINDS = [
    "graph and session", "graph with While, If, Case", "`tf.function`", "nested `tf.function`",
    "Keras Functional", "Keras export", "SavedModel of a module", "SavedModel of TF 1",
    "`.meta`, checkpoint", "frozen `.pb`",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.sample(3)
def test_a_signature_that_is_added_is_in_the_saved_model_with_its_keys_and_values(
    kind: str, sources: Sources, tmp_path: Path
) -> None:
    editor = sources.kinds()[kind]()
    before, tensor = names(editor), relu(editor)
    feed = editor.ops(type="Placeholder").ops[0]
    expected = editor.probe(tensor, {feed: X})[tensor].value
    editor.signatures.add("features", outputs={"hidden": tensor})
    assert names(editor) == [*before, "features"]
    editor.save(tmp_path / "model")
    np.testing.assert_allclose(
        called(tmp_path / "model", "features")["hidden"], expected, rtol=1e-5
    )
    again = tgw.edit(str(tmp_path / "model"), signature="features")
    assert set(names(again)) >= {*before, "features"}
    editor.undo()
    assert names(editor) == before
    editor.redo()
    editor.signatures.rename("features", "embedding")
    editor.rename("embedding:hidden", "vector")
    assert dict(tuple(editor.signatures.values())[-1].outputs).keys() == {"vector"}
    editor.signatures.remove("embedding")
    assert names(editor) == before


@pytest.mark.parametrize("kind", ["graph and session", "SavedModel of a module", "`tf.function`"])
def test_edits_of_signatures_are_replayed_from_json(
    kind: str, sources: Sources, tmp_path: Path
) -> None:
    editor = sources.kinds()[kind]()
    editor.signatures.add("features", outputs={"hidden": relu(editor)})
    editor.signatures.rename("features", "embedding")
    editor.save(tmp_path / "edits.json")
    other = sources.kinds()[kind]()
    other.history.replay(tmp_path / "edits.json")
    assert [s.name for s in tuple(other.signatures.values())] == [
        s.name for s in tuple(editor.signatures.values())
    ]
    assert 'editor.signatures.add(name="features", inputs={' in editor.history.to_script().text


def test_the_signatures_of_a_file_are_renamed_and_removed_in_its_saved_model(
    sources: Sources, tmp_path: Path
) -> None:
    editor = sources.kinds()["SavedModel of a module"]()
    assert names(editor) == ["hidden", "twice"]
    editor.signatures.rename("twice", "serving_default")
    editor.signatures.remove("hidden")
    editor.save(tmp_path / "model")
    # Both were asked for.
    assert not any("was not written" in notice for notice in editor.source.notices)
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    assert list(loaded.signatures) == ["serving_default"]
    assert set(called(tmp_path / "model", "serving_default")) == {"x", "y"}


def test_a_difference_has_the_signatures_of_both_models(sources: Sources, tmp_path: Path) -> None:
    editor = sources.kinds()["SavedModel of a module"]()
    before = sources.kinds()["SavedModel of a module"]()
    editor.view.leave(0)
    before.view.leave(0)
    assert not editor.diff(before)
    editor.rename("hidden:output_0", "z")
    (changed,) = editor.diff(before).signatures.changed
    assert str(changed).startswith("hidden: output output_0 - "), changed
    editor.signatures.remove("hidden")
    editor.signatures.rename("twice", "serving_default")
    for other in (None, before):
        found = editor.diff(other)
        assert found
        assert found.signatures == ((), ("hidden",), (), (("twice", "serving_default"),))
        assert repr(found).splitlines()[1:] == [
            "1 signature removed",
            "    hidden",
            "1 signature renamed",
            "    twice → serving_default",
        ]
        assert [(row["change"], row["op"]) for row in found.rows()] == [
            ("removed", "hidden"), ("renamed", "serving_default"),
        ]  # fmt: skip
    editor.save(tmp_path / "model")
    assert tgw.edit(str(tmp_path / "model")).diff(before).signatures.removed == ("hidden",)


def test_no_difference_of_functions_that_alone_were_compared_says_so(sources: Sources) -> None:
    editor, before = (sources.kinds()["SavedModel of a module"]() for _ in range(2))
    assert repr(editor.diff(before)) == (
        f"No difference in {' / '.join(editor.view.breadcrumb[1:])!r}, which alone was compared; "
        "editor.view.leave(0), and compare again, for the whole graph."
    )


def test_an_edit_of_the_graph_is_followed_by_a_signature_that_was_added() -> None:
    editor = tgw.example()
    editor.signatures.add("net", outputs={"y": "net/logits:0"})
    editor.rename("net/logits", "scores")
    assert next(iter(editor.signatures.values())).outputs == (("y", "scores:0"),)
    editor.rename("x", "image")
    assert next(iter(editor.signatures.values())).inputs == (("x", "image:0"),)
    editor.remove("scores", consumers=True)
    assert tuple(editor.signatures.values()) == ()


def test_a_signature_has_the_marked_inputs_and_outputs_or_what_the_graph_seems_to_be_for() -> None:
    editor = tgw.example()
    editor.signatures.add("all")
    assert dict(next(iter(editor.signatures.values())).inputs) == {"x": "x:0", "labels": "labels:0"}
    editor.mark("x", "net/hidden/Relu")
    editor.signatures.add("part")
    assert tuple(editor.signatures.values())[1].inputs == (("x", "x:0"),)
    assert tuple(editor.signatures.values())[1].outputs == (("Relu", "net/hidden/Relu:0"),)


def test_a_graph_is_saved_with_all_of_its_signatures_while_the_inputs_and_outputs_of_one_are_marked(
    tmp_path: Path,
) -> None:
    editor = tgw.example()
    editor.mark("x", "net/hidden/Relu")
    editor.signatures.add("features")
    editor.signatures.add("logits", outputs={"y": "net/logits"})
    editor.save(tmp_path / "model")
    assert sorted(tf.saved_model.load(str(tmp_path / "model")).signatures) == ["features", "logits"]


def test_the_order_of_inputs_and_outputs_is_that_of_the_arguments_of_the_module() -> None:
    editor = tgw.example()
    editor.signatures.add("loss", outputs=["loss"])
    editor.signatures.reorder("loss", inputs=["labels", "x"])
    assert [key for key, _ in next(iter(editor.signatures.values())).inputs] == ["labels", "x"]
    assert list(editor.to_module().inputs) == ["labels:0", "x:0"]
    editor.undo()
    assert [key for key, _ in next(iter(editor.signatures.values())).inputs] == ["x", "labels"]


def test_an_order_with_new_keys_is_one_edit() -> None:
    editor = tgw.example()
    editor.signatures.add("loss", outputs=["loss"])
    report = editor.signatures.reorder("loss", inputs={"labels": "labels", "image": "x"})
    assert editor.signatures["loss"].inputs == (("labels", "labels:0"), ("image", "x:0"))
    line = 'editor.signatures.reorder(name="loss", inputs={"labels": "labels", "image": "x"})'
    assert editor.history.done[-1].line == line
    assert report
    editor.undo()
    assert editor.signatures["loss"].inputs == (("x", "x:0"), ("labels", "labels:0"))


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (
            lambda e: e.signatures.add("", outputs="loss"),
            GraphEditError,
            "not a pair|name of a signature",
        ),
        (
            lambda e: e.signatures.add("__saved_model_init_op", outputs="loss"),
            GraphEditError,
            "keeps such names",
        ),
        (lambda e: e.signatures.add("net", outputs="loss"), NameTaken, "'net_1' is free"),
        (lambda e: e.signatures.add("other", outputs="nothing"), UnknownName, "nothing"),
        (lambda e: e.signatures.add("other", inputs="x", outputs={}), GraphEditError, "no outputs"),
        (
            lambda e: e.signatures.rename("nett", "b"),
            UnknownName,
            "did you mean 'net'|it has 'net'",
        ),
        (lambda e: e.signatures.rename("net", "taken"), NameTaken, "free"),
        (lambda e: e.signatures.remove("x"), UnknownName, "no signature 'x'"),
        (
            lambda e: e.signatures.reorder("net", inputs=["y"]),
            GraphEditError,
            "give each of them once",
        ),
        (
            lambda e: e.signatures.reorder("net", outputs={"": "y"}),
            GraphEditError,
            "a key of its own",
        ),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_has_changed(
    call: Any, error: type[Exception], sentence: str
) -> None:
    editor = tgw.example()
    editor.signatures.add("net", outputs={"y": "net/logits"})
    editor.signatures.add("taken", outputs={"y": "loss"})
    before = tuple(editor.signatures.values()), editor.history, editor._core.index
    with pytest.raises(error, match=sentence):
        call(editor)
    assert (tuple(editor.signatures.values()), editor.history, editor._core.index) == before


def test_a_signature_inside_a_function_that_needs_what_only_a_call_knows_is_refused_by_name(
    sources: Sources,
) -> None:
    editor = sources.kinds()["SavedModel of a module"]()
    with pytest.raises(GraphEditError, match=r"'x(:0)?'"):
        editor.signatures.add("part", inputs={"a": "mul/y"}, outputs={"y": "mul"})
    assert "part" not in names(editor)


def test_a_signature_takes_no_tensor_twice_and_may_give_it_twice(tmp_path: Path) -> None:
    editor = tgw.example()
    with pytest.raises(
        GraphEditError, match="takes 'x:0' as 'a' and 'b', and TensorFlow loads no signature that"
    ):
        editor.signatures.add("twice", inputs={"a": "x:0", "b": "x:0"}, outputs=["net/logits"])
    assert names(editor) == []
    editor.signatures.add(
        "twice", inputs=["x"], outputs={"a": "net/logits:0", "b": "net/logits:0", "c": "x:0"}
    )
    editor.save(tmp_path / "model")
    values = called(tmp_path / "model", "twice")
    assert values["a"].tolist() == values["b"].tolist()
    assert values["c"].tolist() == X.tolist()

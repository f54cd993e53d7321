"""The modes of a clone: which variables are its own, what they hold, what it reads, how many
copies, and where.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import fill, initialised, read, v1
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError, NameTaken, NotClonable, SessionRefused, UnknownName

ONES = np.ones((2, 3), np.float32)


def values(copy: object, session: v1.Session) -> dict[str, np.ndarray]:
    """The copy's variables by their originals' names."""
    variables = copy.variables  # type: ignore[attr-defined]
    scope = copy.scope  # type: ignore[attr-defined]
    return dict(
        zip(
            [v.name.removeprefix(f"{scope}/") for v in variables],
            read(variables, session),
            strict=True,
        )
    )


@pytest.mark.parametrize("meant", ["net/one/w", "net/one/w:0"])
def test_one_variable_can_be_shared_and_the_rest_owned(
    editor: GraphEditor, session: v1.Session, meant: str
) -> None:
    copy = editor.clone("x:0", "net/logits:0", "copy", variables={meant: "shared"})
    assert [v.name for v in copy.variables] == [
        "copy/net/one/b:0",
        "copy/net/two/w:0",
        "copy/net/two/b:0",
    ]
    assert copy.shared == ("net/one/w",)
    shared = next(v for v in editor.graph.get_collection("variables") if v.name == "net/one/w:0")
    fill(shared, 0.25, session)
    assert np.array_equal(*session.run(["net/logits:0", copy["net/logits:0"]], {"x:0": ONES}))


def test_a_scope_or_a_selection_says_which_variables_are_shared(editor: GraphEditor) -> None:
    by_scope = editor.clone("x:0", "net/logits:0", "a", variables={"net/one": "shared"})
    by_selection = editor.clone(
        "x:0", "net/logits:0", "b", variables={editor.ops(scope="net/one"): "shared"}
    )
    assert by_scope.shared == by_selection.shared == ("net/one/w", "net/one/b")


def test_a_variable_that_is_not_in_the_part_is_named(editor: GraphEditor) -> None:
    with pytest.raises(GraphEditError, match="net/one/w"):
        editor.clone("net/one/out:0", "net/logits:0", "copy", variables={"net/one/w": "shared"})


def test_values_from_a_checkpoint(editor: GraphEditor, session: v1.Session, tmp_path: Path) -> None:
    with editor.graph.as_default():
        path = v1.train.Saver().save(session, f"{tmp_path}/model")
    saved = values(editor.clone("x:0", "net/logits:0", "before"), session)
    for variable in editor.graph.get_collection("variables"):
        fill(variable, 9.0, session)
    copy = editor.clone("x:0", "net/logits:0", "copy", init=Path(path))
    for name, value in values(copy, session).items():
        assert np.array_equal(value, saved[name])


def test_a_checkpoint_that_lacks_a_value_is_refused(
    editor: GraphEditor, session: v1.Session, tmp_path: Path
) -> None:
    with editor.graph.as_default():
        some = [v for v in editor.graph.get_collection("variables") if v.name != "net/two/b:0"]
        path = v1.train.Saver(some).save(session, f"{tmp_path}/model")
        before = len(editor.graph.get_operations())
    with pytest.raises(SessionRefused, match="no value 'net/two/b'"):
        editor.clone("x:0", "net/logits:0", "copy", init=path)
    assert len(editor.graph.get_operations()) == before


@pytest.mark.parametrize("path", ["current_", "nowhere/model", "model.ckpt"])
def test_a_checkpoint_that_is_not_there_is_refused(editor: GraphEditor, path: str) -> None:
    with pytest.raises(GraphEditError, match=path.partition("/")[0]):
        editor.clone("x:0", "net/logits:0", "copy", init=path)


def test_given_values_and_words_for_single_variables(
    editor: GraphEditor, session: v1.Session
) -> None:
    for variable in editor.graph.get_collection("variables"):
        fill(variable, 3.0, session)
    given = np.full((3, 4), 0.5)
    copy = editor.clone(
        "x:0", "net/logits:0", "copy", init={"net/one/w:0": given, "net/one/b": "initial"}
    )
    found = values(copy, session)
    shape = found["net/one/w:0"].shape
    assert np.array_equal(found["net/one/w:0"], np.full(shape, 0.5))
    assert not found["net/one/b:0"].any()
    assert (found["net/two/w:0"] == 3).all()


@pytest.mark.parametrize(
    ("init", "why"),
    [
        ({"net/one/w": np.zeros((7, 7))}, r"shape \(7, 7\)"),
        ({"net/one/w": "many"}, "cannot be converted"),
        ({"x": 1.0}, "no variable of its own"),
        ({"net/one/nothing": 1.0}, "no op"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(
    editor: GraphEditor, init: dict[str, object], why: str
) -> None:
    before = len(editor.graph.get_operations())
    with pytest.raises(GraphEditError, match=why):
        editor.clone("x:0", "net/logits:0", "copy", init=init)
    assert len(editor.graph.get_operations()) == before


def test_the_values_of_initialisers_with_a_seed_are_the_original_s_and_reseed_draws_others() -> (
    None
):
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        w = v1.get_variable("w", [3, 4], initializer=v1.random_normal_initializer(seed=5))
        tf.matmul(x, w, name="y")
    with initialised(graph) as session:
        editor = tgw.edit(graph, session=session)
        original = read([w], session)[0]
        same = editor.clone("x", "y", "same", init="initial")
        fresh = editor.clone("x", "y", "fresh", init="initial", reseed=True)
        assert np.array_equal(read(same.variables, session)[0], original)
        assert not np.allclose(read(fresh.variables, session)[0], original)
        with graph.as_default():
            session.run(v1.variables_initializer(list(same.variables)))
        assert np.array_equal(read(same.variables, session)[0], original)


def test_replaced_inputs_are_read_in_the_place_of_the_originals(
    editor: GraphEditor, session: v1.Session
) -> None:
    with editor.graph.as_default():
        other = v1.placeholder(tf.float32, [None, 3], name="other")
    copy = editor.clone("x:0", "net/logits:0", "copy", replace={"x:0": other})
    assert copy["x:0"] is other
    original = session.run("net/logits:0", {"x:0": ONES})
    assert np.array_equal(session.run(copy["net/logits:0"], {other: ONES}), original)


def test_a_tensor_inside_can_be_replaced(editor: GraphEditor, session: v1.Session) -> None:
    shape = editor.graph.get_tensor_by_name("net/one/out:0").shape
    with editor.graph.as_default():
        hidden = tf.zeros([2, shape[1]], name="hidden")
    copy = editor.clone(None, "net/logits:0", "copy", replace={"net/one/out:0": hidden})
    assert "net/one/w" not in copy
    assert not np.array_equal(
        session.run(copy["net/logits:0"]), session.run("net/logits:0", {"x:0": ONES})
    )


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: tf.zeros([2, 3], tf.float64, name="z"), "tf.cast"),
        (lambda: tf.zeros([2, 5], name="z"), "tf.reshape"),
        (lambda: tf.zeros([2], name="z"), "tf.reshape"),
    ],
)
def test_a_tensor_that_cannot_represent_another_is_refused(
    editor: GraphEditor, make: object, why: str
) -> None:
    with editor.graph.as_default():
        z = make()  # type: ignore[operator]
    before = editor.graph.version
    with pytest.raises(NotClonable, match=why):
        editor.clone("x:0", "net/logits:0", "copy", replace={"x:0": z})
    assert editor.graph.version == before


def test_each_distinct_input_gets_one_placeholder_of_its_dtype_and_shape(
    editor: GraphEditor, session: v1.Session
) -> None:
    copy = editor.clone("x:0", "net/logits:0", "copy", placeholders=True)
    placeholder = copy["x:0"]
    assert placeholder.op.type == "Placeholder"
    assert placeholder.name == "copy/x:0"
    assert placeholder.shape.as_list() == editor.graph.get_tensor_by_name("x:0").shape.as_list()
    assert copy.outside == ()
    original = session.run("net/logits:0", {"x:0": ONES})
    assert np.array_equal(session.run(copy["net/logits:0"], {placeholder: ONES}), original)


@pytest.mark.parametrize("variables", ["shared", {"net/one": "shared"}])
def test_no_placeholder_represents_a_shared_variable(
    editor: GraphEditor, session: v1.Session, variables: object
) -> None:
    copy = editor.clone("x:0", "net/logits:0", "copy", placeholders=True, variables=variables)  # type: ignore[arg-type]
    assert copy.report.placeholders == (("x:0", "x"),)
    assert np.array_equal(
        session.run(copy["net/logits:0"], {copy["x:0"]: ONES}),
        session.run("net/logits:0", {"x:0": ONES}),
    )


def test_a_placeholder_for_the_second_output_and_one_for_a_resource() -> None:
    graph = tf.Graph()
    with graph.as_default():
        parts = tf.split(v1.placeholder(tf.float32, [4], name="x"), 2, name="parts")
        w = v1.get_variable("w", [2], use_resource=True)
        held = tf.identity(w.handle, name="held")
        read_it = tf.raw_ops.ReadVariableOp(resource=held, dtype=tf.float32)
        tf.multiply(parts[1] * parts[1], read_it, name="y")
    with initialised(graph) as session:
        copy = tgw.edit(graph, session=session).clone(
            ["parts:1", "held:0"], "y", "copy", placeholders=True
        )
        assert copy["parts:1"].op.type == copy["held:0"].op.type == "Placeholder"
        assert copy["y:0"].shape.as_list() == [2]
        with graph.as_default():
            assert tf.gradients(copy["y:0"], copy["parts:1"])[0] is not None


def test_several_copies_are_independent_of_each_other(
    editor: GraphEditor, session: v1.Session
) -> None:
    copies = editor.clone("x:0", "net/logits:0", "tower", times=3)
    assert [copy.scope for copy in copies] == ["tower_0", "tower_1", "tower_2"]
    fill(copies[1].variables[0], 0.0, session)
    outs = session.run([copy["net/logits:0"] for copy in copies], {"x:0": ONES})
    assert np.array_equal(outs[0], outs[2])
    assert not np.array_equal(outs[0], outs[1])
    assert len(editor.history.done) == 1
    assert (
        editor.undo()
        == 'tower = editor.clone(inputs=["x:0"], outputs=["net/logits:0"], into="tower", times=3)'
    )
    assert editor._core.executor.copies == {}


def test_each_copy_stands_on_its_device(editor: GraphEditor) -> None:
    copies = editor.clone(
        "x:0", "net/logits:0", "tower", devices=["/device:CPU:0", "/device:CPU:1"]
    )
    assert {copies[1]["net/logits:0"].op.device, copies[1].variables[0].device} == {"/device:CPU:1"}
    assert copies[0]["net/logits:0"].device == "/device:CPU:0"


def test_one_device_for_all_or_by_scope_and_by_device(editor: GraphEditor) -> None:
    whole = editor.clone("x:0", "net/logits:0", "whole", device="/device:CPU:0")
    assert {editor.graph.get_operation_by_name(name).device for name in whole.ops} == {
        "/device:CPU:0"
    }
    part = editor.clone("x:0", "net/logits:0", "part", device={"net/two": "/device:CPU:0"})
    assert part["net/two/w"].device == "/device:CPU:0"
    assert part["net/one/w"].device == ""
    again = editor.clone(
        "x:0", part["net/logits:0"], "again", device={"/device:CPU:0": "/device:CPU:1"}
    )
    assert again["part/net/two/w"].device == "/device:CPU:1"


def test_src_scope_is_replaced_by_into(editor: GraphEditor) -> None:
    copy = editor.clone("net/one/out:0", "net/logits:0", "copy", src_scope="net")
    assert copy["net/logits:0"].name == "copy/logits:0"
    with pytest.raises(NotClonable, match="does not lie in src_scope 'net/two'"):
        editor.clone("x:0", "net/logits:0", "other", src_scope="net/two")


def test_a_selection_is_copied_with_what_makes_it_whole(
    editor: GraphEditor, session: v1.Session
) -> None:
    copy = editor.clone(editor.ops(scope="net"), into="copy")
    assert editor.history.lines == ("copy = editor.clone(editor.ops(scope='net'), into=\"copy\")",)
    assert copy.outside == ("x:0",)
    assert np.array_equal(*session.run(["net/logits:0", copy["net/logits:0"]], {"x:0": ONES}))


def test_the_chosen_ops_are_copied_when_nothing_is_named(editor: GraphEditor) -> None:
    editor.selection = editor.ops(scope="net/two")
    copy = editor.clone(into="copy")
    assert copy.outside == ("net/one/out:0",)


def test_recompute_is_a_copy_of_all_that_a_tensor_needs_with_the_same_variables(
    editor: GraphEditor, session: v1.Session
) -> None:
    again = editor.clone(None, "net/logits:0", "again", variables="shared")
    fill(editor.graph.get_collection("variables")[0], 0.1, session)
    assert np.array_equal(*session.run(["net/logits:0", again["net/logits:0"]], {"x:0": ONES}))
    assert again.variables == ()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"variables": "mine"}, "'own', 'shared'"),
        ({"variables": {"net/one/w": "mine"}}, "'own', 'shared'"),
        ({"init": "now"}, "path of a checkpoint"),
        ({"times": 0}, "give 1 to 10,000"),
        ({"times": 3, "devices": ["/cpu:0"]}, "one device for each"),
        ({"device": "/cpu:0", "devices": ["/cpu:0"]}, "give one of them"),
        ({"device": {"nowhere": "/cpu:0"}}, "nowhere"),
        ({"replace": {"y_is_not_there:0": "x:0"}}, "no op"),
    ],
)
def test_an_option_that_makes_no_sense_is_one_sentence(
    editor: GraphEditor, options: dict[str, object], why: str
) -> None:
    before = editor.graph.version
    with pytest.raises(GraphEditError, match=why) as refusal:
        editor.clone("x:0", "net/logits:0", "copy", **options)  # type: ignore[arg-type]
    assert str(refusal.value).count(". ") <= 1
    assert editor.graph.version == before


def test_the_preview_shows_what_the_clone_does(editor: GraphEditor) -> None:
    reported = editor.preview(editor.clone, "x:0", "net/logits:0", "copy")
    before = editor.graph.version
    copy = editor.clone("x:0", "net/logits:0", "copy")
    assert editor.graph.version > before
    assert reported == copy.report
    assert [f"copy/{name}" for name in reported.ops] == list(copy.ops)
    assert [(state.kind, state.name) for state in reported.new] == [
        ("variable", name) for name in ("net/one/w", "net/one/b", "net/two/w", "net/two/b")
    ]
    assert reported.inputs == ("x:0",)
    assert reported.scopes == ("copy",)


def test_the_preview_refuses_what_the_clone_would_refuse(editor: GraphEditor) -> None:
    with pytest.raises(NameTaken):
        editor.preview(editor.clone, "x:0", "net/logits:0", "net")
    with pytest.raises(UnknownName):
        editor.preview(editor.clone, "x:0", "net/logit:0", "copy")

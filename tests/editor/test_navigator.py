"""Functions as rooms; files, functions and models as a person opens them with `tgw.edit`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import INCEPTION, INCEPTION_OUTPUT, MODELS, v1
from tfgraphwidget.errors import (
    GraphEditError,
    InvalidArgument,
    NameTaken,
    NotRunnable,
    UnknownName,
)
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.request_handler import RequestHandler


class Doubler(tf.Module):
    """w * x, doubled until it is large; the loop is a function, and its branch another."""

    def __init__(self) -> None:
        super().__init__(name="doubler")
        self.w = tf.Variable([1.0, 2.0], name="scale/w")
        self.quiet = tf.Variable(3.0, name="quiet", trainable=False)

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="rows")])
    def __call__(self, rows: tf.Tensor) -> dict[str, tf.Tensor]:
        """A While around an If."""
        scaled = self.inner(rows)

        def body(i: tf.Tensor, v: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return i + 1, tf.cond(i % 2 == 0, lambda: v * 2.0, lambda: v + self.quiet)

        return {"large": tf.while_loop(lambda i, _: i < 5, body, [0, scaled])[1]}

    @tf.function
    def inner(self, rows: tf.Tensor) -> tf.Tensor:
        """A function of its own, so that it is called."""
        return rows * self.w


@pytest.fixture(scope="module")
def doubler() -> Doubler:
    return Doubler()


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "doubler"
    module = Doubler()
    tf.saved_model.save(
        module, str(path), signatures={"scale": module.__call__, "serving_default": module.__call__}
    )
    return path


def types(editor: tgw.GraphEditor) -> set[str]:
    return set(editor._core.index.types)


def test_a_function_shows_its_variables_by_name(doubler: Doubler) -> None:
    editor = tgw.edit(doubler.__call__)
    names = set(editor._core.index.names)
    assert "scale/w" in names
    assert "VarHandleOp" in types(editor)
    assert {v.handle for v in (~editor.ops()).variables} == {"scale/w", "quiet"}
    assert list(editor.find("is:trainable")) == ["scale/w"]


def test_rooms_to_any_depth_and_back(doubler: Doubler) -> None:
    editor = tgw.edit(doubler.__call__)
    loop = next(iter(editor.ops(where=lambda op: op.type.endswith("While"))))
    assert {called.label for called in editor.view.called_functions(loop)} == {"body", "cond"}
    editor.view.enter(loop, "body")
    assert len(editor.view.breadcrumb) == 2
    branch = next(iter(editor.ops(where=lambda op: op.type.endswith("If"))))
    editor.view.enter(branch, "else_branch")
    assert editor.view.breadcrumb[1:] == (f"{loop}:body", f"{branch}:else_branch")
    assert [v.handle for v in (~editor.ops()).variables] == ["quiet"], (
        "captured through two functions, still by name"
    )
    editor.selection = editor.ops(type="ReadVariableOp")
    editor.view.leave()
    assert "If" in types(editor) or "StatelessIf" in types(editor)
    editor.view.leave(0)
    assert len(editor.view.breadcrumb) == 1
    editor.view.leave()
    assert len(editor.view.breadcrumb) == 1
    with pytest.raises(InvalidArgument, match="depth must be 0 to 0"):
        editor.view.leave(1)
    function = editor.view.called_functions(loop)[0].function
    editor.view.enter(function)
    assert editor.view.breadcrumb[-1] == function, "a function of the library, by its own name"
    editor.view.leave()
    editor.view.enter(loop, "body")
    editor.view.enter(branch, "else_branch")
    assert editor.selection is not None, "a room remembers what was chosen in it"


def test_a_function_that_no_op_calls_is_refused_and_one_stays_where_one_is(
    doubler: Doubler,
) -> None:
    editor = tgw.edit(doubler.__call__)
    loop = next(iter(editor.ops(where=lambda op: op.type.endswith("While"))))
    with pytest.raises(UnknownName, match="'body' or 'cond'"):
        editor.view.enter(loop, "boddy")
    with pytest.raises(UnknownName, match="calls no function that one could enter; these do: "):
        editor.view.enter("rows")
    with pytest.raises(UnknownName, match="no op 'nowhere'"):
        editor.view.enter("nowhere")
    assert len(editor.view.breadcrumb) == 1


def test_a_function_is_edited_as_a_copy_and_the_caller_keeps_his_own(doubler: Doubler) -> None:
    editor, rows = tgw.edit(doubler.__call__), tf.constant([[1.0, 2.0], [3.0, 4.0]])
    before = doubler(rows)
    editor.call("rows:0", tf.nn.relu, into="head")
    assert any(name.startswith("head/") for name in editor._core.index.names)
    assert editor._core.executor.read_only(), "the function that was traced cannot be changed"
    after = doubler(rows)
    assert all(np.array_equal(before[key], after[key]) for key in before)


def test_a_clone_of_a_function_is_a_module_with_variables_of_its_own(doubler: Doubler) -> None:
    editor, rows = tgw.edit(doubler.__call__), tf.constant([[1.0, 2.0], [3.0, 4.0]])
    before = [v.numpy() for v in doubler.variables]
    preview = editor.preview(editor.clone, into="copy")
    copy = editor.clone(into="copy")
    assert editor._core.executor.copies == {"copy": copy}
    assert preview == copy.report
    assert set(copy.drift().values()) == {0.0}
    for variable in copy.own:
        variable.assign(tf.zeros_like(variable))
    assert all(np.array_equal(a, b.numpy()) for a, b in zip(before, doubler.variables, strict=True))
    assert max(copy.drift().values()) > 0
    copy.sync()
    reported = doubler(rows)
    assert np.allclose(copy.signature(rows)["large"], reported["large"])
    assert editor.undo() == 'copy = editor.clone(inputs=[], into="copy")'
    assert editor._core.executor.copies == {}


@pytest.mark.parametrize("into", [5, ["copy"], "no scope"])
def test_a_clone_of_a_function_needs_a_name(doubler: Doubler, into: object) -> None:
    editor = tgw.edit(doubler.__call__)
    with pytest.raises(NameTaken, match="is not a name scope"):
        editor.clone(into=into)  # type: ignore[arg-type]
    assert not editor.history.done


def test_a_saved_model_opens_on_the_body_of_its_signature(saved: Path) -> None:
    editor = tgw.edit(saved)
    assert len(editor.view.breadcrumb) > 1
    assert any(kind.endswith("While") for kind in types(editor))
    handles = {v.handle for v in (~editor.ops()).variables}
    assert handles == {"scale/w", "quiet"}
    assert {s.name for s in tuple(editor.signatures.values())} == {"scale", "serving_default"}
    editor.call("rows:0", tf.nn.relu, into="head")
    assert any(name.startswith("head/") for name in editor._core.index.names)
    editor.view.leave(0)
    assert "StatefulPartitionedCall" in types(editor)
    assert editor.undo() is not None, "an edit in the body is a step of the model's history"
    with pytest.raises(UnknownName, match="serving_default"):
        tgw.edit(saved, signature="serving_defualt")


@pytest.mark.parametrize("depth", ["function", "file"])
@pytest.mark.parametrize(
    "name", ["picture", "serving_default_picture", "serving_default_picture:0"]
)
def test_what_a_signature_calls_its_input_is_the_tensor_of_the_graph_that_is_shown(
    name: str, depth: str, tmp_path: Path
) -> None:
    module = tf.Module()
    module.w = tf.Variable(2.0)
    spec = tf.TensorSpec([None, 2], tf.float32, name="picture")
    module.f = tf.function(lambda picture: {"scores": picture * module.w}, input_signature=[spec])
    tf.saved_model.save(module, str(tmp_path), signatures=module.f)
    editor = tgw.edit(tmp_path)
    if depth == "file":
        editor.view.leave(0)
    assert editor.inputs[0] != "serving_default_picture:0" or depth == "file"
    assert editor.between(name, "scores").inputs == editor.inputs
    editor.passes.set_input(name, [3, 2])
    assert editor.inspect(editor.inputs[0]).outputs[0].shape == "(3, 2)"
    assert editor.history.lines[0].count(f'"{editor.inputs[0]}"') == 1
    editor.save(f"{tmp_path}/edited/")
    assert tf.saved_model.load(f"{tmp_path}/edited").signatures["serving_default"](
        picture=tf.ones([3, 2])
    )["scores"].shape == (3, 2)


def test_a_name_that_an_op_has_is_that_op_and_one_that_nothing_has_is_refused(
    tmp_path: Path,
) -> None:
    module = tf.Module()
    module.f = tf.function(
        lambda a: {"other": tf.identity(a * 2.0, name="a_2"), "b": tf.identity(a, name="other")},
        input_signature=[tf.TensorSpec([2], tf.float32, name="a")],
    )
    tf.saved_model.save(module, str(tmp_path), signatures=module.f)
    editor = tgw.edit(tmp_path)
    assert editor.ops("other").ops == ("other",)
    with pytest.raises(UnknownName, match="no op 'serving_default_c'"):
        editor.passes.set_input("serving_default_c", [3])


def test_a_meta_file_is_only_read_until_it_is_edited(tmp_path: Path) -> None:
    editor = tgw.edit(INCEPTION)
    assert len(editor._core.index) == 3379
    assert editor._core.source.graph is None
    before = editor.between("input:0", INCEPTION_OUTPUT)
    copy = editor.clone("input:0", INCEPTION_OUTPUT, "copy", init="initial")
    assert len(copy.variables) == 378
    assert set(before.on(editor._core.index)) == set(before), (
        "what was chosen before the import is still chosen"
    )
    rows = np.zeros((1, 299, 299, 3), np.float32)
    assert editor.session.run(copy[INCEPTION_OUTPUT], {"input:0": rows}).shape == (1, 1001)
    editor.undo()
    editor.save(tmp_path / "again.pb")
    assert len(tgw.edit(tmp_path / "again.pb")._core.index) == 3379


def test_a_meta_file_with_its_checkpoint_clones_the_values(
    mlp: tf.Graph, session: v1.Session, tmp_path: Path
) -> None:
    with mlp.as_default():
        v1.train.Saver().save(session, str(tmp_path / "model"))
    batch = np.ones((2, 3), np.float32)
    wanted = session.run("net/logits:0", {"x:0": batch})
    editor = tgw.edit(tmp_path / "model.meta", checkpoint=tmp_path / "model")
    copy = editor.clone("x:0", "net/logits:0", "copy")
    assert np.allclose(editor.session.run(copy["net/logits:0"], {"x:0": batch}), wanted)


def test_what_cannot_run_can_be_looked_at(tmp_path: Path) -> None:
    graph_def = v1.GraphDef()
    graph_def.node.add(name="x", op="Placeholder").attr["dtype"].type = 1
    graph_def.node.add(name="mystery", op="MyOwnKernel", input=["x"])
    (tmp_path / "m.pb").write_bytes(graph_def.SerializeToString())
    editor = tgw.edit(tmp_path / "m.pb")
    assert any("MyOwnKernel" in notice for notice in editor.source.notices)
    assert set(editor.downstream("x")) == {"x", "mystery"}
    assert editor.view.scene().names
    with pytest.raises(NotRunnable, match="mystery"):
        editor.probe(["mystery:0"], {"x:0": 1.0})
    editor.clone("x:0", "mystery:0", "copy")  # in the file
    assert editor._core.index.types[editor._core.index.op("copy/mystery")] == "MyOwnKernel"


def test_a_live_graph_is_followed_in_the_drawing(line: tf.Graph) -> None:
    editor = tgw.edit(line)
    assert not editor._core.target.place.is_outdated()
    with line.as_default():
        tf.square(line.get_tensor_by_name("c:0"), name="d")
    assert editor._core.target.place.is_outdated()
    assert "d" in editor.view.scene().names
    assert not editor._core.target.place.is_outdated()


def test_refresh_sees_an_edge_that_was_changed_in_place(line: tf.Graph) -> None:
    editor = tgw.edit(line)
    assert "b" in editor.upstream("c")
    line.get_operation_by_name("c")._update_input(0, line.get_tensor_by_name("x:0"))
    editor.source.reload()
    assert "b" not in editor.upstream("c")


def test_the_page_goes_in_and_out(saved: Path) -> None:
    answers = RequestHandler(tgw.edit(saved))
    drawn, _ = answers.handle(p.Open())
    assert isinstance(drawn, p.SceneReply)
    depth = len(drawn.state.path)
    loop = next(
        n
        for n, t in zip(
            answers._editor._core.index.names, answers._editor._core.index.types, strict=True
        )
        if "While" in t
    )
    inspected, _ = answers.handle(p.Inspect(loop))
    assert isinstance(inspected, p.InspectReply)
    assert [called.label for called in inspected.called_functions] == ["body", "cond"]
    assert all(called.ops > 1 for called in inspected.called_functions)
    inside, _ = answers.handle(p.Enter(loop))
    assert isinstance(inside, p.SceneReply)
    assert inside.state.path[-1] == f"{loop}:body"
    assert inside.state.editable == ""  # a clone of what is here is a tf.Module
    outside, _ = answers.handle(p.Leave(depth - 1))
    assert isinstance(outside, p.SceneReply)
    assert outside.state.path == drawn.state.path


def test_the_page_selects(mlp: tf.Graph) -> None:
    answers = RequestHandler(tgw.edit(mlp))

    def state(request: p.Request) -> p.State:
        reply, _ = answers.handle(request)
        assert isinstance(reply, p.SceneReply | p.SelectionReply)
        return reply.state

    answers.handle(p.Open())
    assert (
        state(p.Select("set", ("x",), ("net/one",))).expression
        == "(editor.ops('x') | editor.ops(scope='net/one'))"
    )
    assert state(p.Select("remove", (), ("net/one",))).selected_ops == 1
    assert state(p.Select("toggle", ("net/logits",), ())).selected_ops == 2
    assert state(p.Derive("shortest")).expression == "editor.path('x', 'net/logits')"
    assert state(p.Derive("invert")).expression == "~editor.path('x', 'net/logits')"
    assert state(p.Derive("clear")).expression == ""
    assert state(p.Derive("invert")).selected_ops == len(mlp.get_operations())
    assert state(p.Select("set", ("net/one/out",), ())).selected_ops == 1
    for command in ("upstream", "downstream", "scope", "grow"):
        state(p.Select("set", ("net/one/out",), ()))
        assert state(p.Derive(command)).expression.startswith("editor.ops('net/one/out').")  # type: ignore[arg-type]
    state(p.Select("set", (), ("net/one",)))
    assert state(p.Derive("shrink")).expression == "editor.ops(scope='net/one').shrink()"
    state(p.Select("set", (), ("net/one",)))
    marked = state(p.Select("toggle", ("net/one/out",), ()))
    assert marked.expression == "(editor.ops(scope='net/one') - editor.ops('net/one/out'))"
    with pytest.raises(GraphEditError, match="two selected ops"):
        answers.handle(p.Derive("path"))


def test_a_file_s_variables_have_values_once_the_session_was_given_them() -> None:
    editor = tgw.edit(MODELS / "dqn_online_train.meta")
    assert editor._core.executor.default_init() == "initial"
    session, graph = editor.session, editor.graph
    assert editor._core.executor.default_init() == "initial"
    with graph.as_default():
        session.run(v1.global_variables_initializer())
    assert editor._core.executor.default_init() == "current"


CUTS = {
    "detach": lambda e: e.detach("net/hidden/Relu"),
    "remove": lambda e: e.remove("net/hidden/Relu", consumers=True),
    "set_constant": lambda e: e.set_constant("x:0", [[1.0, 2.0, 3.0, 4.0]]),
    "strip_training": lambda e: e.passes.strip_training("net/hidden/Relu:0"),
    "freeze": lambda e: e.freeze("net/hidden/Relu:0"),
    "insert": lambda e: e.insert("net/hidden/Relu:0", lambda _: tf.ones([1, 8]), into="ones"),
    "replace": lambda e: e.replace("net/hidden/Relu", lambda _: tf.ones([1, 8]), into="ones"),
    "another editor": lambda e: tgw.edit(e.graph, e.session).detach("net/hidden/Relu"),
    "replay": lambda e: e.history.replay(
        [{"command": "detach", "arguments": {"what": "net/hidden/Relu"}}]
    ),
}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.sample(3)
def test_an_edit_that_cuts_the_boundary_empties_the_selection_and_says_why(cut: str) -> None:
    editor = tgw.example()
    answers = RequestHandler(editor)
    whole = editor.mark("x:0", "net/logits:0")
    answers.handle(p.Open())
    CUTS[cut](editor)
    assert editor.selection is None
    (why,) = editor.source.notices
    assert "Nothing is selected" in why
    with pytest.raises(GraphEditError, match="Nothing is selected"):
        editor.clone()
    reply, _ = answers.handle(p.Refresh())
    assert isinstance(reply, p.SceneReply)
    assert reply.state.warnings == (why,)
    assert reply.state.selected_ops == 0
    if editor.history.done:
        editor.undo()
        assert editor.selection == whole
        assert (editor.inputs, editor.outputs, editor.source.notices) == (
            ("x:0",),
            ("net/logits:0",),
            (),
        )
        editor.redo()
        assert editor.source.notices == (why,)


def test_the_page_gets_a_report_that_an_edit_which_cuts_the_boundary_was_done() -> None:
    editor = tgw.example()
    answers = RequestHandler(editor)
    answers.handle(p.Open())
    answers.handle(p.Boundary(("x:0",), ("net/logits:0",)))
    for request in (
        p.Change("detach", ("net/hidden/Relu",)),
        p.Undo(),
        p.Redo(),
        p.Jump(0),
        p.Jump(1),
    ):
        reply, _ = answers.handle(request)
        assert isinstance(reply, p.SceneReply)
    assert reply.state.inputs == ("x:0",)
    assert "no path leads from 'x:0' to 'net/logits:0'" in reply.state.warnings[0]
    assert RequestHandler(editor).handle(p.Open())[0].state.warnings == reply.state.warnings


def test_chosen_ops_that_are_gone_are_named_and_chosen_again_by_undo() -> None:
    editor = tgw.example()
    editor.selection = editor.ops("net/hidden/Relu", "net/logits", "labels:0")
    chosen = editor.selection
    editor.remove("net/logits", consumers=True, prune=False)
    assert editor.selection is not None
    assert editor.selection.ops == ("net/hidden/Relu",)
    assert "'net/logits' is not in the graph any more" in editor.source.notices[0]
    editor.undo()
    assert editor.selection == chosen
    assert editor.source.notices == ()
    editor.selection = editor.ops("net/logits")
    editor.passes.strip_training("net/hidden/Relu:0")
    assert editor.selection is None
    assert "Nothing is selected" in editor.source.notices[0]
    editor.selection = None
    assert editor.source.notices == ()


def test_what_is_chosen_hidden_and_pinned_goes_by_its_new_name() -> None:
    editor = tgw.example()
    editor.view.expand()
    editor.selection = editor.ops("net/hidden/Relu", "net/logits", "x:0")
    editor.view.hide("labels")
    editor.view.pin("x", 300, 300)
    editor.rename("x", "y")
    editor.rename("net/", "body")
    editor.rename("labels", "classes")
    selection = editor.selection
    assert selection is not None
    assert (selection.ops, selection.tensors) == (("body/hidden/Relu", "body/logits"), ("y:0",))
    assert (editor.view.hidden, set(editor._core.view.pinned), editor.source.notices) == (
        {"classes"},
        {"y"},
        (),
    )
    editor.history.goto(0)
    assert editor.selection.ops == ("net/hidden/Relu", "net/logits")
    assert (editor.view.hidden, set(editor._core.view.pinned)) == ({"labels"}, {"x"})


def test_a_selection_whose_function_fails_at_a_new_op_keeps_its_ops() -> None:
    editor = tgw.example()
    known = dict.fromkeys(editor._core.index.names, False) | {"net/logits": True}
    editor.selection = editor.ops(where=lambda op: known[op.name])
    editor.rename("loss", "mean_loss")
    assert editor.selection is not None
    assert editor.selection.ops == ("net/logits",)


def test_a_drawing_with_all_sorts_of_things_shown_survives_ops_that_go() -> None:
    editor = tgw.example()
    answers = RequestHandler(editor)
    answers.handle(p.Open())
    editor.view.expand()
    editor.mark("net/hidden/Relu:0", "loss:0")
    editor.view.hide("net/hidden/Add", "gradients")
    editor.view.pin("net/logits", 300, 300)
    editor.measure("net/logits:0", {"x:0": [[1.0, 2.0, 3.0, 4.0]]})
    editor.probe("net/hidden/Relu", feeds={"x:0": [[1.0, 2.0, 3.0, 4.0]]})
    answers.handle(p.Compare(show=True))
    editor.view.color_by("time")
    for request in (
        p.Change("strip_training", ("net/hidden/MatMul:0",)),
        p.Refresh(),
        p.Undo(),
        p.Redo(),
    ):
        assert isinstance(answers.handle(request)[0], p.SceneReply)
    assert len(editor._core.index) == 8


def test_a_boundary_cut_in_a_function_says_so_too() -> None:
    fn = tf.function(lambda x: tf.nn.relu(tf.nn.relu6(x) * 2.0), autograph=False)
    editor = tgw.edit(fn, signature=[tf.TensorSpec([None], tf.float32)])
    editor.mark("x:0", "Relu:0")
    editor.detach("Relu6")
    assert editor.selection is None
    assert "Nothing is selected" in editor.source.notices[-1]
    editor.undo()
    assert len(editor.selection) == 4


REFUSED = (("detach", "net/hidden/Relu"), ("remove", "nowhere"))


def test_edits_that_are_refused_leave_what_was_chosen() -> None:
    editor = tgw.example()
    editor.mark("x:0", "net/logits:0")
    chosen = editor.selection
    with pytest.raises(tgw.GraphEditError):
        editor.history.replay(
            [
                {"command": "detach", "arguments": {"what": "net/hidden/Relu"}},
                {"command": "remove", "arguments": {"what": "nowhere"}},
            ]
        )
    assert editor.selection == chosen
    assert (editor.inputs, editor.outputs, editor.source.notices) == (
        ("x:0",),
        ("net/logits:0",),
        (),
    )


def test_a_model_of_the_function_that_is_open_is_said_to_be_no_more(
    doubler: Doubler, tmp_path: Path
) -> None:
    editor = tgw.edit(doubler.__call__)
    loop = next(
        op
        for op, kind in zip(editor._core.index.names, editor._core.index.types, strict=True)
        if "While" in kind
    )
    editor.view.enter(loop, "body")
    editor.save(tmp_path / "picture.svg")
    assert not editor.source.notices
    with pytest.warns(
        UserWarning, match=r"alone, which is open; editor.view.leave\(0\), and save again"
    ):
        editor.save(tmp_path / "model")
    editor.view.leave(0)
    editor.save(tmp_path / "model")
    assert not any("alone" in notice for notice in editor.source.notices)

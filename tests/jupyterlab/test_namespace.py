"""What a notebook's variables hold: found by their types alone, opened once, and named as a person
would.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import build_mlp, initialised
from tfgraphwidget.errors import UnknownName
from tfgraphwidget.jupyterlab import namespace

v1 = tf.compat.v1


@pytest.fixture(autouse=True)
def nothing_made(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test's kernel has opened nothing yet, and its default graph is empty."""
    monkeypatch.setattr(namespace, "_opened", [])
    with tf.Graph().as_default():
        yield


def listed(variables: dict[Any, Any]) -> list[tuple[str, str]]:
    return [(choice["name"], choice["kind"]) for choice in namespace.list_choices(variables)]


@tf.function
def doubled(x: tf.Tensor) -> tf.Tensor:
    return x + x


def test_everything_that_holds_a_graph_is_listed_in_the_order_it_was_made(line: tf.Graph):
    concrete = doubled.get_concrete_function(tf.TensorSpec([2], tf.float32))
    model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
    with v1.Session(graph=line) as session:
        held = {
            "g": line, "n": 3, "sess": session, "f": doubled, "cf": concrete,
            "body": concrete.graph, "model": model,
            "ed": tgw.edit(line),
        }  # fmt: skip
        assert listed(held) == [
            ("g", "tf.Graph"), ("sess", "session"), ("f", "tf.function"),
            ("cf", "ConcreteFunction"), ("body", "FuncGraph"), ("model", "Keras model"),
            ("ed", "editor"),
        ]  # fmt: skip


def test_what_is_said_of_each_distinguishes_them(line: tf.Graph):
    model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
    held = {"g": line, "m": model, "f": doubled, "default": v1.get_default_graph()}
    reply = {choice["name"]: choice["about"] for choice in namespace.list_choices(held)}
    assert reply["default"].endswith("ops, the default graph")
    assert (reply["g"], reply["m"], reply["f"]) == ("7 ops", "Sequential, 1 layer", "doubled")


def test_the_default_graph_is_a_choice_once_it_has_ops_and_only_under_one_name():
    assert listed({}) == []
    tf.constant(1)
    assert listed({}) == [("", "default graph")]
    assert listed({"g": v1.get_default_graph()}) == [("g", "tf.Graph")]


def test_hidden_names_and_odd_ones_are_passed_over(line: tf.Graph):
    assert listed({"_": line, "_3": line, 7: line, ("a",): line, "g": line}) == [("g", "tf.Graph")]


def traps() -> dict[str, Any]:
    """Objects, and a class, that raise for whatever is asked of them; made here: pytest asks a
    module's classes.
    """

    class Trap:
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(f"{name} was asked for")

        def __eq__(self, other: object) -> bool:
            raise AssertionError("it was compared")

        __hash__ = None  # type: ignore[assignment]

    class TrapMeta(type):
        def __getattribute__(cls, name: str) -> Any:
            raise AssertionError(f"{name} was asked of the class")

    class MetaTrap(metaclass=TrapMeta):
        pass

    return {"trap": Trap(), "meta": object.__new__(MetaTrap), "cls": MetaTrap}


def test_nothing_of_a_foreign_object_is_run(line: tf.Graph):
    held = {**traps(), "g": line}
    assert listed(held) == [("g", "tf.Graph")]
    assert namespace.open_variable("g", held).variable == "editor"


class Liar(tf.Graph):
    def get_operations(self) -> list[tf.Operation]:
        raise RuntimeError("no")


def test_a_subclass_that_raises_is_listed_without_a_word():
    assert namespace.list_choices({"g": Liar()}) == [{"name": "g", "kind": "tf.Graph", "about": ""}]


def test_without_tensorflow_there_is_nothing_and_it_is_not_loaded(monkeypatch: pytest.MonkeyPatch):
    for name in [name for name in sys.modules if name.split(".")[0] in ("tensorflow", "keras")]:
        monkeypatch.delitem(sys.modules, name)
    assert listed({"x": 1, "text": "tf.Graph"}) == []
    assert not any(name.startswith("tensorflow") for name in sys.modules)
    with pytest.raises(UnknownName, match="TensorFlow is not loaded"):
        namespace.open_variable("", {})


def test_an_editor_becomes_the_variable_editor_and_is_used_again(line: tf.Graph):
    held: dict[Any, Any] = {"g": line}
    panel = namespace.open_variable("g", held)
    assert held["editor"] is panel.editor
    assert namespace.open_variable("g", held).editor is panel.editor
    assert namespace.open_variable("editor", held).editor is panel.editor


def test_an_editor_made_in_a_cell_keeps_its_name(line: tf.Graph):
    held: dict[Any, Any] = {"g": line, "mine": tgw.edit(line)}
    panel = namespace.open_variable("g", held)
    assert (panel.editor, panel.variable) == (held["mine"], "mine")
    assert "editor" not in held


def test_a_name_that_is_taken_stays_what_it_was(line: tf.Graph):
    held: dict[Any, Any] = {"g": line, "editor": "vim"}
    assert namespace.open_variable("g", held).variable == "editor_2"
    assert held["editor"] == "vim"


def test_the_one_session_among_the_variables_runs_the_graph():
    graph = build_mlp(resource=True)
    session = initialised(graph)
    held: dict[Any, Any] = {"g": graph, "sess": session}
    editor = namespace.open_variable("g", held).editor
    assert editor.session is session
    assert namespace.open_variable("sess", held).editor is editor
    session.close()


def test_a_variable_that_is_gone_is_refused_by_name(line: tf.Graph):
    with pytest.raises(UnknownName, match=r"no graph in a variable 'grap' any more.*graph"):
        namespace.open_variable("grap", {"graph": line})
    for name in (None, 3, ["g"], "'); import os"):
        with pytest.raises(UnknownName):
            namespace.open_variable(name, {"graph": line})


def test_a_clone_is_a_variable_and_its_line_has_the_names_of_the_notebook(line: tf.Graph):
    held: dict[Any, Any] = {"g": line, "editor": 1, "copy": 2}
    panel = namespace.open_variable("g", held)
    reply: list[dict[str, Any]] = []
    panel.follow(reply.append)
    panel.editor.clone(["a:0"], ["c:0"], into="copy")
    assert (held["copy"], held["editor"]) == (2, 1)
    assert held["copy_2"] is panel.editor["copy"]
    assert reply[-1]["line"].startswith("copy_2 = editor_2.clone(")
    assert reply[-1]["dirty"]
    panel.editor.undo()
    assert (reply[-1]["line"], reply[-1]["dirty"]) == ("", False)


def test_looking_around_is_no_edit_and_after_unfollow_nothing_is_sent(line: tf.Graph):
    panel = namespace.open_variable("g", {"g": line})
    reply: list[dict[str, Any]] = []
    panel.follow(reply.append)
    panel.editor.mark(["a"], ["c"])
    assert reply == []
    panel.unfollow(reply.append)
    panel.editor.clone(["a:0"], ["c:0"], into="copy")
    assert reply == []


def test_the_line_that_opens_the_graph_again_has_the_notebooks_names_and_opens_it(line: tf.Graph):
    fresh = tf.function(lambda x: x + x, input_signature=[tf.TensorSpec([2], tf.float32)])
    with v1.Session(graph=line) as session:
        held: dict[Any, Any] = {"g": line, "sess": session, "f": fresh, "editor": "vim"}
        panel = namespace.open_variable("g", held)
        reply = panel.status()["opening"]
        assert reply == "import tfgraphwidget as tgw; editor_2 = tgw.edit(g, session=sess)"
        namespace._opened.clear()
        del held["editor_2"]
        exec(reply, held)
        assert held["editor_2"].session is session
        assert (
            namespace.open_variable("sess", held).status()["opening"] == "editor_2 = tgw.edit(sess)"
        )
    assert namespace.open_variable("f", held).status()["opening"] == "editor_3 = tgw.edit(f)"
    assert namespace.open_variable("editor_3", held).status()["opening"] == "editor_3 = tgw.edit(f)"


def test_what_no_variable_holds_is_not_said_to_open_again(line: tf.Graph):
    tf.constant(1)
    assert namespace.open_variable("", {}).status()["opening"] == ""
    assert namespace.open_variable("mine", {"mine": tgw.edit(line)}).status()["opening"] == ""
    assert namespace.open_variable("a graph", {"a graph": line}).status()["opening"] == ""


def test_a_panel_shows_how_many_edits_there_are(line: tf.Graph):
    panel = namespace.open_variable("g", {"g": line})
    reply: list[dict[str, Any]] = []
    panel.follow(reply.append)
    panel.editor.rename("c", "d")
    panel.editor.rename("d", "e")
    panel.editor.undo()
    assert [one["count"] for one in reply] == [1, 2, 1]


def test_a_line_has_the_name_that_the_editor_has_now(line: tf.Graph):
    held: dict[Any, Any] = {"g": line}
    panel = namespace.open_variable("g", held)
    reply: list[dict[str, Any]] = []
    panel.follow(reply.append)
    held["editor"] = other = tgw.edit(tf.Graph())
    panel.editor.rename("c", "d")
    assert reply[-1]["line"].startswith("editor_2.rename(")
    assert reply[-1]["variable"] == "editor_2"
    assert (held["editor"], held["editor_2"]) == (other, panel.editor)
    held["mine"] = held.pop("editor_2")
    panel.editor.rename("d", "e")
    assert reply[-1]["line"].startswith("mine.rename(")


def test_what_one_edit_made_several_of_is_one_variable_however_often_it_is_undone(line: tf.Graph):
    held: dict[Any, Any] = {"g": line}
    panel = namespace.open_variable("g", held)
    reply: list[dict[str, Any]] = []
    panel.follow(reply.append)
    panel.editor.clone(["a:0"], ["c:0"], into="member", times=2)
    panel.editor.rename("c", "d")
    for _ in range(2):
        panel.editor.history.goto(0)
        panel.editor.history.goto(2)
        panel.editor.undo()
        assert reply[-1]["line"].startswith("member = editor.clone(")
    assert set(held) == {"g", "editor", "member"}
    assert held["member"] == list(panel.editor._core.executor.copies.values())


def test_what_is_reported_of_a_graph_is_what_its_editor_says():
    graph = tf.Graph()
    with graph.as_default():
        tf.identity(tf.constant(1.0), name="a")
        tf.constant(2.0, name="b")
    editor = tgw.edit(graph)
    editor.remove("b")

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        return x + 1

    held = {
        "g": graph,
        "editor": editor,
        "step": step,
        "trace": step.get_concrete_function(tf.TensorSpec([2])),
    }
    reply = {choice["name"]: choice["about"] for choice in namespace.list_choices(held)}
    assert reply["g"] == f"{len(editor._core.index)} ops"
    assert (reply["step"], reply["trace"]) == ("step", "step")  # and not b'__inference_step_12'

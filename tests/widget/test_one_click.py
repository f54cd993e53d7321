"""One click on Clone: one plan, which its preview showed; one revision; one message each way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import fill, read, v1
from tests.front_end import FrontEnd
from tfgraphwidget import runtime
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.edits.clone import Clone
from tfgraphwidget.edits.patch import Patch
from tfgraphwidget.errors import NameTaken
from tfgraphwidget.widget.edit_requests import by_new_name, renamed_prefixes

FORM: dict[str, Any] = {"inputs": ["x:0"], "outputs": ["net/logits:0"], "into": "copy"}


@pytest.fixture
def front(editor: GraphEditor) -> FrontEnd:
    """A page that shows the editor on `mlp`, and has drawn it."""
    front = FrontEnd(editor)
    front.ask("open")
    return front


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[Clone]:
    """The clones that were planned, those whose plan was refused included."""
    planned: list[Clone] = []
    plan: Callable[..., Patch] = Clone._patch

    def counting(clone: Clone, context: Any, *, is_sample: bool) -> Patch:
        planned.append(clone)
        return plan(clone, context, is_sample=is_sample)

    monkeypatch.setattr(Clone, "_patch", counting)
    return planned


def value_of(name: str, editor: GraphEditor) -> np.ndarray:
    """The value of a copied variable."""
    variables = [
        variable
        for copy in editor._core.executor.copies.values()
        for variable in copy.variables
        if variable.name == name
    ]
    return read(variables, editor.session)[0]


def test_preview_and_click_plan_once_and_bump_one_revision(
    front: FrontEnd, plans: list[Clone]
) -> None:
    editor = front.editor
    preview = front.ask("preview", **FORM)
    revision = editor.view.widget.revision
    reply = front.ask("clone", **FORM)
    assert len(plans) == 1
    assert editor.view.widget.revision == reply["state"]["revision"] == revision + 1
    assert len(editor["copy"].ops) == preview["ops"]
    assert (reply["focus"], reply["edited"]["renamed"]) == ("copy", [])


def test_the_same_preview_is_planned_once_and_again_on_a_later_graph(
    front: FrontEnd, plans: list[Clone]
) -> None:
    first = front.ask("preview", **FORM)
    assert front.ask("preview", **FORM) == first | {"id": front.next}
    assert len(plans) == 1
    with front.editor.graph.as_default():
        tf.constant(1.0, name="copy")
    assert "is taken" in front.ask("preview", **FORM)["refusal"]


def test_a_click_bumps_one_revision_while_differences_are_shown(front: FrontEnd) -> None:
    front.ask("compare", show=True)
    revision = front.editor.view.widget.revision
    reply = front.ask("clone", **FORM)
    assert reply["state"]["revision"] == revision + 1
    assert [group["kind"] for group in reply["state"]["changes"]] == ["added"]


def test_a_click_bumps_one_revision_also_when_the_copy_lies_in_a_closed_scope(
    front: FrontEnd,
) -> None:
    editor = front.editor
    editor.view.collapse()
    revision = editor.view.widget.revision
    reply = front.ask("clone", **(FORM | {"into": "net/copy"}))
    assert reply["state"]["revision"] == editor.view.widget.revision == revision + 1
    assert "net" in editor.view.expanded


def test_the_reply_to_a_click_has_what_the_inspector_shows(front: FrontEnd) -> None:
    reply = front.ask("clone", **FORM, inspected="x")
    assert reply["edited"]["inspected"]["name"] == "x"
    peers = reply["edited"]["inspected"]["outputs"][0]["peers"]
    assert any(peer.startswith("copy/") for peer in peers)
    inspected = front.ask("inspect", name="x")
    assert {key: inspected[key] for key in reply["edited"]["inspected"]} == reply["edited"][
        "inspected"
    ]


def test_a_refused_click_bumps_no_revision_and_is_planned_again(
    front: FrontEnd, plans: list[Clone]
) -> None:
    front.ask("clone", **FORM)
    plans.clear()
    revision = front.editor.view.widget.revision
    assert front.ask("preview", **FORM)["refusal"].startswith("The name")
    assert front.ask("clone", **FORM)["type"] == "refusal"
    # The preview, the offer to take all of a loop, and the click: a refusal may depend on a file
    # that is there now.
    assert [plan.into for plan in plans] == ["copy"] * len(plans)
    assert len(plans) == 2
    assert front.editor.view.widget.revision == revision
    assert len(front.editor.history.done) == 1


def test_a_failed_click_keeps_the_plan_and_bumps_no_revision(
    mlp: tf.Graph, plans: list[Clone]
) -> None:
    with v1.Session(graph=mlp) as session:  # its variables have no values
        front = FrontEnd(tgw.edit(mlp, session=session))
        front.ask("open")
        front.ask("preview", **FORM)
        revision = front.editor.view.widget.revision
        assert front.ask("clone", **FORM)["type"] == "refusal"
        assert front.editor.view.widget.revision == revision
        for name in ("net/one", "net/two"):
            for variable in mlp.get_collection("variables", scope=name):
                fill(variable, 3.0, session)
        assert front.ask("clone", **FORM)["edited"]["text"].startswith("Cloned")
        assert len(plans) == 1


def test_a_plan_holds_no_values_those_at_the_click_count(
    front: FrontEnd, plans: list[Clone]
) -> None:
    editor = front.editor
    front.ask("preview", **FORM)
    variable = next(v for v in editor.graph.get_collection("variables") if v.name == "net/one/w:0")
    fill(variable, 7.0, editor.session)
    front.ask("clone", **FORM)
    assert len(plans) == 1
    np.testing.assert_array_equal(value_of("copy/net/one/w:0", editor), np.full((3, 4), 7.0))


def test_a_preview_of_a_graph_that_has_grown_since_is_planned_again(
    front: FrontEnd, plans: list[Clone]
) -> None:
    editor = front.editor
    front.ask("preview", **FORM)
    with editor.graph.as_default():  # as a cell of the notebook does
        tf.identity(editor.graph.get_tensor_by_name("x:0"), name="late")
    front.ask("clone", **FORM)
    assert len(plans) == 2
    assert "copy/late" not in editor._core.index.ids


def test_a_preview_whose_scope_a_cell_has_taken_since_is_refused(
    front: FrontEnd, plans: list[Clone]
) -> None:
    front.ask("preview", **FORM)
    with front.editor.graph.as_default():
        tf.constant(1.0, name="copy/taken")
    reply = front.ask("clone", **FORM)
    assert (reply["type"], len(plans) > 1) == ("refusal", True)
    assert "'copy'" in reply["why"]


def test_after_undo_the_same_click_is_planned_again(front: FrontEnd, plans: list[Clone]) -> None:
    front.ask("preview", **FORM)
    front.ask("clone", **FORM)
    front.ask("undo")
    front.ask("clone", **(FORM | {"into": "second"}))
    front.ask("undo")
    front.ask("clone", **(FORM | {"into": "third"}))
    assert [plan.into for plan in plans] == ["copy", "second", "third"]
    assert list(front.editor._core.executor.copies) == ["third"]


def test_a_form_with_shared_state_is_planned_once_next_to_the_list_of_that_state(
    front: FrontEnd, plans: list[Clone]
) -> None:
    form = FORM | {"others": ["net/one/w"]}
    front.ask("preview", **form)
    assert [plan.variables for plan in plans] == ["own", (("net/one/w", "shared"),)]
    front.ask("clone", **form)
    assert len(plans) == 2
    assert front.editor["copy"].shared == ("net/one/w",)


def test_of_several_copies_a_preview_plans_one_and_the_click_all(
    front: FrontEnd, plans: list[Clone]
) -> None:
    form = FORM | {"times": 3}
    front.ask("preview", **form)
    front.ask("clone", **form)
    assert len(plans) == 2
    assert list(front.editor._core.executor.copies) == ["copy_0", "copy_1", "copy_2"]


def test_a_call_of_clone_applies_the_plan_of_the_same_call_of_preview(
    editor: GraphEditor, plans: list[Clone]
) -> None:
    options: dict[str, Any] = {"init": {"net/one/w": np.ones((3, 4), np.float32)}}
    editor.preview(editor.clone, "x:0", "net/logits:0", "copy", **options)
    editor.clone("x:0", "net/logits:0", "copy", **options)
    assert len(plans) == 1
    editor.preview(
        editor.clone,
        "x:0",
        "net/logits:0",
        "other",
        init={"net/one/w": np.ones((3, 4), np.float32)},
    )
    editor.clone(
        "x:0", "net/logits:0", "other", init={"net/one/w": np.full((3, 4), 2.0, np.float32)}
    )
    assert len(plans) == 3  # another array is another clone
    np.testing.assert_array_equal(value_of("other/net/one/w:0", editor), np.full((3, 4), 2.0))


def test_a_clone_without_preview_is_planned_once_and_its_plan_is_not_used_again(
    editor: GraphEditor, plans: list[Clone]
) -> None:
    editor.clone("x:0", "net/logits:0", "copy")
    with pytest.raises(NameTaken):
        editor.clone("x:0", "net/logits:0", "copy")
    assert len(plans) == 2


# What was renamed


def test_the_reply_lists_a_renamed_scope_once_also_when_it_is_undone_and_redone(
    front: FrontEnd,
) -> None:
    reply = front.ask(
        "change",
        command="rename",
        what=["net/"],
        keys=["new"],
        values=['"web"'],
        inspected="net/two/add",
    )
    assert reply["edited"]["renamed"] == [["net", "web"]]
    assert reply["edited"]["inspected"]["name"] == "web/two/add"
    reply = front.ask("undo", inspected="web/")
    assert reply["edited"]["renamed"] == [["web", "net"]]
    assert reply["edited"]["inspected"]["name"] == "net/"
    assert front.ask("redo", inspected="x")["edited"]["renamed"] == [["net", "web"]]


def test_a_jump_over_several_renames_lists_the_first_and_the_last_name(front: FrontEnd) -> None:
    for old, new in (("net/", "web"), ("web/two/add", "web/two/sum")):
        front.ask("change", command="rename", what=[old], keys=["new"], values=[repr(new)])
    reply = front.ask("jump", to=0, inspected="web/two/sum")
    assert reply["edited"]["inspected"]["name"] == "net/two/add"
    assert reply["edited"]["renamed"] == [["web/two/sum", "net/two/add"], ["web", "net"]]
    reply = front.ask("jump", to=2, inspected="net/two/add")
    assert reply["edited"]["inspected"]["name"] == "web/two/sum"
    assert reply["edited"]["renamed"] == [["net/two/add", "web/two/sum"], ["net", "web"]]


@pytest.mark.parametrize(
    ("inspected", "old", "new"), [("x", "x", "net/two/x"), ("net/one/", "net/one/", "net/two/one")]
)
def test_what_is_moved_into_a_closed_scope_is_shown_in_it(
    front: FrontEnd, inspected: str, old: str, new: str
) -> None:
    front.editor.view.collapse()
    front.editor.view.expand("net")
    reply = front.ask(
        "change",
        command="rename",
        what=[old],
        keys=["new"],
        values=[f'"{new}"'],
        inspected=inspected,
    )
    assert reply["focus"] == new
    assert {"net", "net/two"} <= front.editor.view.expanded
    front.editor.view.collapse("net/two")
    assert front.ask("undo", inspected=new)["focus"] == ""


def test_what_a_closed_scope_held_before_does_not_open_it(front: FrontEnd) -> None:
    front.editor.view.collapse()
    rename = {
        "command": "rename",
        "what": ["net/two/add"],
        "keys": ["new"],
        "values": ['"net/two/sum"'],
    }
    assert front.ask("change", **rename, inspected="net/two/add")["focus"] == ""
    assert not front.editor.view.expanded


def test_an_edit_that_removes_what_is_inspected_says_so(front: FrontEnd) -> None:
    front.ask("clone", **FORM)
    reply = front.ask("undo", inspected="copy/net/logits")
    assert reply["edited"]["inspected"] is None


def test_a_scope_that_kept_some_ops_keeps_its_name(editor: GraphEditor) -> None:
    index = editor._core.index
    assert renamed_prefixes([("net/gone/op", "net/new/op")], index) == (("net/gone", "net/new"),)
    assert renamed_prefixes([("net/one/gone", "web/one/gone")], index) == (
        ("net/one/gone", "web/one/gone"),
    )
    assert renamed_prefixes([("gone/op", "op")], index) == (("gone/op", "op"),)
    assert by_new_name("gone/", [("gone/op", "op")]) == "gone/"


CLICKS = (
    ("rename_type", {"old": "Relu", "new": "Relu6"}),
    ("replace_all", {"pattern": "Relu(x)", "by": "Relu6(x)"}),
    ("add_signature", {"name": "more"}),
    ("cast", {"dtype": "float16"}),
)


@pytest.mark.parametrize(("command", "options"), CLICKS, ids=[command for command, _ in CLICKS])
def test_a_click_on_an_edit_of_the_graph_plans_once_and_bumps_one_revision(
    front: FrontEnd, monkeypatch: pytest.MonkeyPatch, command: str, options: dict[str, str]
) -> None:
    planned = []
    plan = runtime.plan
    monkeypatch.setattr(
        runtime, "plan", lambda command, context: planned.append(command) or plan(command, context)
    )
    revision = front.editor.view.widget.revision
    reply = front.ask(
        "change",
        command=command,
        keys=[*options],
        values=[repr(value) for value in options.values()],
    )
    assert [each.command_name() for each in planned] == [command]
    assert reply["state"]["revision"] == front.editor.view.widget.revision == revision + 1
    assert len(front.editor.history.done) == 1

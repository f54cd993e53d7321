"""Groups of the drawing are opened, chosen, hidden and revealed by name, as scopes are."""

from __future__ import annotations

import pytest

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import UnknownName

FOLD = "net/layer_0 … layer_3"


@pytest.fixture
def editor() -> GraphEditor:
    """x -> net with four equal layers and an end -> y."""
    graph_def = v1.GraphDef()
    before = "x"
    graph_def.node.add(name="x", op="Placeholder").attr["dtype"].type = 1
    for k in range(4):
        for part, op_type in (("a", "Relu"), ("b", "Tanh")):
            node = graph_def.node.add(name=f"net/layer_{k}/{part}", op=op_type, input=[before])
            node.attr["T"].type = 1
            before = node.name
    for name in ("net/end", "y"):
        graph_def.node.add(name=name, op="Softmax", input=[before]).attr["T"].type = 1
        before = name
    editor = tgw.edit(graph_def)
    editor.view.collapse()
    return editor


def test_a_group_opens_with_what_is_around_it_and_closes(editor):
    editor.view.expand(FOLD)
    assert editor.view.expanded == {"net", FOLD}
    assert "net/layer_2" in editor.view.scene().names
    editor.view.collapse(FOLD)
    assert editor.view.expanded == {"net"}


def test_deep_opens_and_closes_all_inside(editor):
    editor.view.expand("net", deep=True)
    assert editor.view.expanded == {"net", FOLD, *(f"net/layer_{k}" for k in range(4))}
    editor.view.collapse("net", deep=True)
    assert editor.view.expanded == frozenset()


def test_everything_opens_and_closes(editor):
    editor.view.expand()
    assert len(editor.view.scene()) == 1 + 1 + 1 + 1 + 4 + 8 + 1 + 1
    editor.view.collapse()
    assert editor.view.scene().names == ["", "x", "net", "y"]


def test_revealing_a_member_opens_its_group(editor):
    assert editor.view.reveal("net/layer_1/b") == "net/layer_1/b"
    assert "net/layer_1/b" in editor.view.scene().names
    editor.view.collapse()
    assert editor.view.reveal(FOLD) == FOLD
    assert editor.view.expanded == {"net"}


def test_a_group_represents_its_members(editor):
    assert editor._core.view.members_of(FOLD) == ((), tuple(f"net/layer_{k}" for k in range(4)))
    assert editor._core.view.members_of("net/") == ((), ("net",))
    assert len(editor._core.view.holding(FOLD)) == 8
    with pytest.raises(UnknownName, match="no name scope"):
        editor._core.view.members_of("nothing … here")


def test_hiding_a_group_hides_its_ops_and_showing_only_it_hides_the_rest(editor):
    editor.view.expand("net")
    editor.view.hide(FOLD)
    assert FOLD not in editor.view.scene().names
    assert editor._core.view.hidden_ops == 8
    editor.view.show()
    editor.view.show_only(FOLD)
    assert editor.view.scene().names == ["", "net", FOLD]
    assert editor._core.view.hidden_ops == 3


def test_a_group_can_be_put_somewhere(editor):
    editor.view.expand("net")
    editor.view.pin(FOLD, 400.0, 300.0)
    assert FOLD in editor._core.view.pinned

"""What a view shows before it has asked for it is what it would get; nothing changes by that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfgraphwidget as tgw
from tests.models import NAMES, written
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import UnknownName
from tfgraphwidget.scene import layout_prefetch
from tfgraphwidget.scene import scene as scenes
from tfgraphwidget.visible.visible_graph import CLOSED
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget import request_handler as answering
from tfgraphwidget.widget.request_handler import RequestHandler

Arrays = dict[str, np.ndarray]


def read(answer: answering.Answer) -> Arrays:
    """The arrays of a reply."""
    reply, (data,) = answer
    assert isinstance(reply, p.SceneReply | p.SelectionReply | p.NextScene)
    return scenes.from_bytes([(f.name, f.dtype, f.shape, f.offset) for f in reply.fields], data)


def same(some: Arrays, other: Arrays) -> bool:
    """Whether all is the same to the byte."""
    return some.keys() == other.keys() and all(
        some[key].tobytes() == other[key].tobytes() for key in some
    )


def closed(editor: GraphEditor) -> list[str]:
    """The closed scopes and groups of the drawing."""
    scene = editor.view.scene()
    return [scene.names[item] for item in np.flatnonzero(scene.kind == CLOSED)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.sample(1)
def test_what_is_foreseen_is_what_is_drawn_then(name: str, tmp_path: Any) -> None:
    file = written(name, tmp_path)
    editor = tgw.edit(file)
    answers, without = RequestHandler(editor), RequestHandler(tgw.edit(file))
    chosen = p.Select("set", tuple(editor._core.index.names[::7]), ())
    for each in (answers, without):
        each.handle(p.Open())
        each.handle(chosen)
    for scope in closed(editor)[:12]:
        before, revision = editor.view.expanded, answers.revision
        foreseen, data = answers.handle(p.PrefetchScene(scope))
        assert isinstance(foreseen, p.NextScene)
        assert (editor.view.expanded, answers.revision) == (before, revision)
        # Whoever looked ahead gets no other drawing than who did not.
        plain = without.handle(p.Toggle(scope))
        assert same(read((foreseen, data)), read(plain)), scope
        toggled = answers.handle(p.Toggle(scope, stamp=foreseen.stamp))
        assert isinstance(toggled[0], p.SelectionReply)
        assert scope in editor.view.expanded
        painted = read(toggled)
        assert all(painted[field].tobytes() == read(plain)[field].tobytes() for field in painted)
        for each in (answers, without):
            assert isinstance(each.handle(p.Toggle(scope))[0], p.SceneReply)


def test_a_view_that_sees_another_drawing_gets_the_right_one(editor: GraphEditor) -> None:
    answers = RequestHandler(editor)
    editor.view.collapse()
    answers.handle(p.Open())
    foreseen, _ = answers.handle(p.PrefetchScene("net"))
    assert isinstance(foreseen, p.NextScene)
    editor.view.hide("net/one")  # by another view, or by a cell
    toggled = answers.handle(p.Toggle("net", stamp=foreseen.stamp))
    assert isinstance(toggled[0], p.SceneReply)
    assert "net/two" in bytes(read(toggled)["name_bytes"]).decode()
    assert "net" in editor.view.expanded
    # Another view has opened it, and what this one sees is that.
    again = answers.handle(p.PrefetchScene("net/two"))[0]
    assert isinstance(again, p.NextScene)
    editor.view.expand("net/two")
    assert isinstance(answers.handle(p.Toggle("net/two", stamp=again.stamp))[0], p.SelectionReply)
    assert "net/two" in editor.view.expanded


def test_nothing_is_foreseen_with_a_layout_of_ones_own(editor: GraphEditor) -> None:
    own = tgw.edit(
        editor.graph, layout=lambda graph: {node: (0.0, float(i)) for i, node in enumerate(graph)}
    )
    assert RequestHandler(own).handle(p.PrefetchScene("net")) == (p.NextScene(), [])
    with pytest.raises(UnknownName):
        RequestHandler(own).handle(p.PrefetchScene("nowhere"))


@pytest.mark.parametrize("bound", ["_MOST", "_LARGEST"])
def test_what_takes_long_or_is_large_is_not_foreseen(
    editor: GraphEditor, bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor.view.collapse()
    before, after = len(editor.view.scene()), len(editor._core.view.prefetch("net") or ())
    monkeypatch.setattr(layout_prefetch, bound, after - before if bound == "_MOST" else after)
    assert editor._core.view.prefetch("net") is not None
    monkeypatch.setattr(layout_prefetch, bound, getattr(layout_prefetch, bound) - 1)
    assert RequestHandler(editor).handle(p.PrefetchScene("net")) == (p.NextScene(), [])

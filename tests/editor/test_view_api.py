"""What is drawn, hidden, pinned and turned; pictures as files and in the notebook."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import tfgraphwidget as tgw
from tests.conftest import build_mlp
from tests.models import written
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError, UnknownName
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.request_handler import RequestHandler


@pytest.fixture
def seen() -> GraphEditor:
    """An editor on a small network, with its layers in view."""
    editor = tgw.edit(build_mlp(resource=True))
    editor.view.expand("net")
    return editor


def middle(editor: GraphEditor, name: str) -> tuple[float, float]:
    """Where an item's centre is, in pixels."""
    scene = editor.view.scene()
    left, top, width, height = scene.box[scene.names.index(name)].tolist()
    return left + width / 2, top + height / 2


def test_a_drawing_is_laid_out_again_as_if_it_had_been_so_from_the_start(tmp_path: Path) -> None:
    path = written("dqn", tmp_path)
    editor, other = tgw.edit(path), tgw.edit(path)
    for name in ("online/flatten", "online/dense", "online/q", "online/dense/kernel"):
        editor.view.expand(name)
        editor.view.scene()
    editor.view.collapse("online/dense/kernel")
    editor.view.pin("online/q", 900, 900)
    kept = editor.view.to_svg()
    for name in ("online/q", "online/flatten", "online/dense"):
        other.view.expand(name)
    editor.view.unpin()
    assert editor.view.to_svg() == other.view.to_svg() != kept


def test_a_pinned_box_stands_where_it_was_put_until_it_is_unpinned(seen: GraphEditor) -> None:
    before = middle(seen, "net/one")
    seen.view.pin("net/one", before[0] + 300, before[1] + 40)
    assert middle(seen, "net/one") == pytest.approx((before[0] + 300, before[1] + 40), abs=1)
    scene = seen.view.scene()
    assert scene.pinned[scene.names.index("net/one")] == 1
    assert scene.pinned.sum() == 1
    seen.view.collapse("net")
    seen.view.expand("net")
    assert middle(seen, "net/one")[0] == pytest.approx(before[0] + 300, abs=60)
    seen.view.unpin()
    assert middle(seen, "net/one") == pytest.approx(before, abs=0.5)


def test_what_is_not_drawn_cannot_be_pinned(seen: GraphEditor) -> None:
    with pytest.raises(UnknownName, match="'net/three' is not drawn"):
        seen.view.pin("net/three", 1, 1)
    assert seen._core.view.pinned == {}


def test_tensors_flow_to_the_right_when_asked(seen: GraphEditor) -> None:
    assert middle(seen, "x")[1] < middle(seen, "net/one")[1]
    seen.view.direction = "right"
    assert middle(seen, "x")[0] < middle(seen, "net/one")[0]
    with pytest.raises(GraphEditError, match=r"^direction = 'up': .* give 'down' or 'right'"):
        seen.view.direction = "up"  # type: ignore[assignment]
    assert seen.view.direction == "right"


def test_hidden_ops_are_counted_and_come_back(seen: GraphEditor) -> None:
    drawn = list(seen.view.scene().names)
    seen.view.hide("net/one")
    assert "net/one" not in seen.view.scene().names
    assert seen._core.view.hidden_ops == len(seen.ops(scope="net/one"))
    seen.view.show_only("net/two", "x")
    assert {"net/two", "x"} <= set(seen.view.scene().names)
    assert "net/one" not in seen.view.scene().names
    assert seen._core.view.hidden_ops == len(seen._core.index) - len(seen.ops(scope="net/two")) - 1
    seen.view.show()
    assert list(seen.view.scene().names) == drawn
    assert seen._core.view.hidden_ops == 0
    with pytest.raises(UnknownName):
        seen.view.hide("gone")


def test_what_is_revealed_is_not_hidden_any_more(seen: GraphEditor) -> None:
    seen.view.hide("net/one")
    seen.view.reveal("net/one")
    assert "net/one" in seen.view.scene().names


def test_everything_is_opened_and_closed_at_once(seen: GraphEditor) -> None:
    seen.view.expand()
    everything = len(seen.view.scene())
    assert everything > len(seen._core.index) / 2
    seen.view.collapse()
    assert len(seen.view.scene()) < everything / 2


@pytest.mark.parametrize(
    ("suffix", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")]
)
@pytest.mark.parametrize("colors", [(), ("#111111", "#eeeeee")])
def test_the_panel_gets_a_picture_as_a_file(
    seen: GraphEditor, suffix: Any, start: bytes, colors: tuple[str, ...]
) -> None:
    whole, (data,) = RequestHandler(seen).handle(p.Picture(suffix, colors=colors))
    assert isinstance(whole, p.PictureReply)
    assert whole.name.endswith(f".{suffix}")
    assert data.startswith(start)
    request = p.Picture(suffix, whole=False, area=(0.0, 0.0, 50.0, 50.0), colors=colors)
    _, (part,) = RequestHandler(seen).handle(request)
    assert part.startswith(start)
    assert len(part) < len(data)


def test_a_picture_of_nothing_is_refused(seen: GraphEditor) -> None:
    with pytest.raises(GraphEditError, match="needs its left, top, width and height"):
        RequestHandler(seen).handle(p.Picture("svg", whole=False, area=(0.0, 0.0, 0.0, 9.0)))


def test_a_notebook_keeps_the_picture(seen: GraphEditor) -> None:
    data, *_ = seen._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    root = ET.fromstring(data["image/svg+xml"])
    assert {text.text for text in root.iter("{http://www.w3.org/2000/svg}text")} >= {"x", "▾ net"}


@pytest.mark.parametrize(("most", "names"), [(8, {"x", "net"}), (1, set())])
def test_of_a_large_drawing_a_notebook_keeps_what_is_seen_at_first(
    seen: GraphEditor, monkeypatch: pytest.MonkeyPatch, most: int, names: set[str]
) -> None:
    monkeypatch.setattr("tfgraphwidget.editor.graph_editor._MOST_IN_SVG", most)
    monkeypatch.setattr("tfgraphwidget.editor.graph_editor._MOST_IN_PNG", most)
    seen.view.expand()
    before = seen._core.view.view_spec, seen.view.to_svg()
    data, *_ = seen._repr_mimebundle_()
    assert ("image/svg+xml" in data) is ("image/png" in data) is bool(names)
    if names:
        root = ET.fromstring(data["image/svg+xml"])
        texts = {text.text for text in root.iter("{http://www.w3.org/2000/svg}text")}
        assert names <= texts
        assert len(texts) < 30
    assert (seen._core.view.view_spec, seen.view.to_svg()) == before


def test_the_picture_has_the_colours_that_were_asked_for(seen: GraphEditor) -> None:
    plain = seen.view.to_svg()
    seen.view.color_by("type")
    assert seen.view.to_svg() != plain
    seen.view.color_by("")
    assert seen.view.to_svg() == plain


@pytest.mark.parametrize(
    "change",
    [
        lambda e: e.view.hide("net/one"),
        lambda e: e.view.pin("net", 9, 9),
        lambda e: setattr(e.view, "direction", "right"),
        lambda e: e.view.color_by("dtype"),
    ],
)
def test_views_follow_it(seen: GraphEditor, change: Callable[[GraphEditor], None]) -> None:
    report: list[int] = []
    seen._core.listeners.append(lambda: report.append(1))
    change(seen)
    assert report == [1]
    state = RequestHandler(seen).handle(p.Open())[0].state  # type: ignore[union-attr]
    assert (state.hidden > 0) + (state.pinned > 0) + (state.direction == "right") + (
        state.legend is not None
    ) == 1


def test_more_than_a_page_can_show_is_refused_with_the_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    editor = tgw.edit(build_mlp(resource=True))
    editor.view.collapse()
    monkeypatch.setattr("tfgraphwidget.editor.graph_view.MOST_ITEMS", 20)
    with pytest.raises(
        GraphEditError, match=r"open_all: \d+ ops and scopes would be drawn, and a page can show 20"
    ):
        editor.view.expand()
    with pytest.raises(GraphEditError, match=r"open: \d+ ops and scopes would be drawn"):
        editor.view.expand("net", deep=True)
    assert editor.view.expanded == frozenset()
    editor.view.show_only("net/one/MatMul")
    editor.view.expand("net", deep=True)
    assert "net" in editor.view.expanded


def test_what_is_open_at_first_is_chosen_when_it_is_looked_at(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def choose(index: object) -> frozenset[str]:
        raise AssertionError("nothing is drawn")

    path = tmp_path / "small.pb"
    tgw.example().save(path, outputs=["net/logits:0"], frozen=True)
    with monkeypatch.context() as patch:
        patch.setattr("tfgraphwidget.editor.graph_view.visible_graph.default_open", choose)
        editor = tgw.edit(path)
        editor.clone(inputs=["x:0"], outputs=["net/logits:0"], into="copy")
        editor.rename("net", "body")
        editor.save(tmp_path / "edited.pb")
        editor.extract(["x:0"], ["copy/net/logits:0"]).save(tmp_path / "part.pb")
        with pytest.raises(AssertionError, match="nothing is drawn"):
            editor.view.scene()
    assert editor.view.expanded == tgw.edit(tmp_path / "edited.pb").view.expanded
    editor.view.collapse()
    assert not editor.view.expanded


def test_an_open_scope_that_is_renamed_or_moved_stays_open_and_so_does_what_is_made_around_it() -> (
    None
):
    editor = tgw.example()
    editor.view.collapse()
    for scope in ("net", "net/hidden", "net/hidden/w"):
        editor.view.expand(scope)
    editor.rename("net/hidden", "net/first")
    assert {"net/first", "net/first/w"} <= editor.view.expanded
    assert "net/first/b" not in editor.view.expanded
    editor.rename("net/first", "body/deep/first")
    assert {
        "body",
        "body/deep",
        "body/deep/first",
        "body/deep/first/w",
        "net",
    } <= editor.view.expanded
    editor.undo()
    editor.undo()
    assert editor.view.expanded == {"net", "net/hidden", "net/hidden/w"}
    # A scope that was there, and closed, stays closed.
    editor.rename("net/hidden", "net/logits/hidden")
    assert "net/logits" not in editor.view.expanded
    assert "net/logits/hidden" in editor.view.expanded

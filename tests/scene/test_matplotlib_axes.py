"""The picture with matplotlib."""

from __future__ import annotations

import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tests.scene.test_display_list import drawing
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.scene.coloring.palette import default_theme
from tfgraphwidget.scene.rendering.display_list import Label, build_display_list
from tfgraphwidget.scene.rendering.matplotlib_axes import draw
from tfgraphwidget.scene.rendering.picture_files import save
from tfgraphwidget.scene.scene import build, paint
from tfgraphwidget.visible.view_spec import ViewSpec

pytestmark = pytest.mark.no_tensorflow


@pytest.mark.parametrize(
    ("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")]
)
@pytest.mark.parametrize("dark", [False, True])
def test_a_picture_is_saved(network, tmp_path, suffix, start, dark):
    path = tmp_path / f"net{suffix}"
    save(build(network, ViewSpec(frozenset({"net"}))), path, dark=dark)
    assert path.read_bytes().startswith(start)


def test_another_suffix_is_refused(network, tmp_path):
    with pytest.raises(GraphEditError, match=r"'net\.bmp'; use a name that ends in \.svg"):
        save(build(network, ViewSpec(frozenset())), tmp_path / "net.bmp")


def test_it_draws_on_the_axes_it_is_given_without_pyplot(network):
    ax = Figure().add_subplot()
    scene = build(network, ViewSpec(frozenset({"net"})))
    painted = paint(scene, np.ones(len(network), dtype=bool), [0], [1])
    assert draw(scene, ax, paint=painted) is ax
    assert {text.get_text() for text in ax.texts} >= {"x", "▾ net", "one", "two", "loss"}
    assert (
        "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()
    )


def test_a_name_from_a_file_is_text_and_not_markup(graph, tmp_path):
    save(build(graph({"a$x^$_<b>": "Placeholder"}), ViewSpec(frozenset())), tmp_path / "odd.svg")
    written = (tmp_path / "odd.svg").read_text()
    assert "<b>" not in written
    assert "&lt;b&gt;" in written


@pytest.mark.parametrize("suffix", [".png", ".pdf"])
def test_letters_that_no_font_has_are_not_warned_about_one_by_one(graph, tmp_path, suffix):
    scene = build(
        graph({"卷积/层🙂": "Placeholder", "卷积/b": "Relu 卷积/层🙂"}), ViewSpec(frozenset())
    )
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        save(scene, tmp_path / f"a{suffix}")
    assert [str(warning.message) for warning in warned if "Glyph" in str(warning.message)] == []
    assert (tmp_path / f"a{suffix}").stat().st_size > 1000


def test_east_asian_letters_are_drawn_with_a_font_that_has_them_where_there_is_one(
    graph, monkeypatch
):
    monkeypatch.setattr(
        font_manager, "get_font_names", lambda: ["DejaVu Sans", "Malgun Gothic", "Noto Sans CJK JP"]
    )
    ax = draw(build(graph({"卷积": "Placeholder"}), ViewSpec(frozenset())))
    assert ax.texts[0].get_fontfamily() == ["sans-serif", "Noto Sans CJK JP", "Malgun Gothic"]


def test_no_line_shows_between_the_letters_of_its_text():
    scene = drawing()
    labels = [
        shape
        for shape in build_display_list(scene, default_theme(dark=False)).shapes
        if isinstance(shape, Label)
    ]
    upright = next(label for label in labels if label.rim and label.middle and label.upright)
    _, _, wide, high = upright.plate
    plate = (upright.x - high / 2, upright.y - wide / 2, high, wide)
    paths = [path for collection in draw(scene).collections for path in collection.get_paths()]
    assert any(path.get_extents().bounds == pytest.approx(plate) for path in paths)


def test_a_notebook_shows_the_picture_of_new_axes_once_in_a_cell_and_no_text(graph, monkeypatch):
    ipython = pytest.importorskip("IPython")
    ax = draw(build(graph({"x": "Placeholder"}), ViewSpec(frozenset())))
    as_result = ipython.core.formatters.DisplayFormatter().format
    monkeypatch.setattr(ipython, "get_ipython", lambda: None)
    assert "Axes" in as_result(ax)[0]["text/plain"]  # in a terminal

    shown = []
    notebook = SimpleNamespace(kernel=True, execution_count=1)
    monkeypatch.setattr(ipython, "get_ipython", lambda: notebook)
    monkeypatch.setattr("IPython.display.display", shown.append)
    ax.show_in_notebook()
    assert as_result(ax) == ({}, {})
    assert len(shown) == 1
    notebook.execution_count = 2
    assert as_result(ax) == ({}, {})
    assert len(shown) == 2
    assert isinstance(ax, Axes)

"""Scenes as arrays and bytes, and how a selection is painted."""

from __future__ import annotations

import numpy as np
import pytest

from tfgraphwidget.scene import scene as view
from tfgraphwidget.scene.scene import (
    EDGE_FIELDS,
    ITEM_FIELDS,
    PAINT_FIELDS,
    build,
    from_bytes,
    paint,
    to_bytes,
)
from tfgraphwidget.visible.view_spec import ViewSpec

pytestmark = pytest.mark.no_tensorflow


def test_a_scene_has_every_field_with_its_shape(network):
    scene = build(network, ViewSpec(frozenset({"net"})))
    arrays = scene.arrays()
    assert list(arrays) == [name for name, _, _ in (*ITEM_FIELDS, *EDGE_FIELDS)]
    for name, dtype, width in (*ITEM_FIELDS, *EDGE_FIELDS):
        assert arrays[name].dtype == np.dtype(dtype)
        assert arrays[name].shape[1:] == ((width,) if width else ())
    assert len(scene.name_start) == len(scene) + 1
    assert scene.route_start[-1] == len(scene.route)


def test_bytes_come_back_as_the_same_arrays(network):
    arrays = build(network, ViewSpec(frozenset())).arrays()
    fields, buffer = to_bytes(arrays)
    assert all(offset % 4 == 0 for _, _, _, offset in fields)
    back = from_bytes(fields, buffer)
    assert all(np.array_equal(arrays[name], back[name]) for name in arrays)


def test_names_are_utf8(graph):
    scene = build(graph({"größe": "Placeholder"}), ViewSpec(frozenset()))
    start, stop = scene.name_start[1:3]
    assert scene.name_bytes[start:stop].tobytes().decode() == "größe"


def test_a_selection_covers_items_wholly_partly_or_not(network):
    scene = build(network, ViewSpec(frozenset({"net"})))
    selected = np.array([name.startswith("net/one/") or name == "loss" for name in network.names])
    painted = paint(scene, selected, [network.op("x")], [network.op("net/two/Relu")])
    coverage = dict(zip(scene.names, painted.coverage.tolist(), strict=True))
    # net/one/w is an op of net/one as well, and its name begins with net/one/ too.
    assert coverage == {
        "": 1, "x": 0, "net": 1, "loss": 2, "save": 0, "init": 0, "net/one": 2, "net/two": 0,
    }  # fmt: skip
    marks = dict(zip(scene.names, painted.mark.tolist(), strict=True))
    assert marks[""] == 3
    assert marks["x"] == 1
    assert marks["net"] == marks["net/two"] == 2
    assert marks["net/one"] == 0
    assert list(painted.arrays()) == [name for name, _, _ in PAINT_FIELDS]


def test_fresh_are_items_whose_ops_are_all_new(network):
    scene = build(network, ViewSpec(frozenset({"net"})))
    new = np.array([name.startswith("net/two/") for name in network.names])
    painted = paint(scene, np.zeros(len(network), dtype=bool), fresh=new)
    assert [name for name, fresh in zip(scene.names, painted.fresh, strict=True) if fresh] == [
        "net/two"
    ]
    assert not painted.coverage.any()


def test_a_closed_scope_shows_that_some_of_its_ops_are_fresh(network):
    new = np.array([name.startswith("net/two/") for name in network.names])
    fresh = {}
    for opened in ((), ("net",)):
        scene = build(network, ViewSpec(frozenset(opened)))
        painted = paint(scene, np.zeros(len(network), dtype=bool), fresh=new)
        fresh[opened] = {
            name: mark
            for name, mark in zip(scene.names, painted.fresh.tolist(), strict=True)
            if mark
        }
    assert fresh == {(): {"net": 2}, ("net",): {"net/two": 1}}


def test_the_lists_that_the_browser_mirrors_are_here():
    assert view.KINDS == ("op", "closed scope", "open scope", "badge")
    assert view.FAMILIES[0] == "other"

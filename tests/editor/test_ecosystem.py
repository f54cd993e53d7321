"""The editor among what people have: ipywidgets, traitlets, matplotlib, pandas, networkx."""

from __future__ import annotations

from typing import Any

import ipywidgets
import ipywidgets.embed
import networkx as nx
import numpy as np
import pandas as pd
import traitlets
from matplotlib.figure import Figure

from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.graph.table import COLUMNS


def test_the_widget_stands_next_to_others_in_a_box(editor: GraphEditor) -> None:
    report = ipywidgets.Output()
    box = ipywidgets.HBox(
        [editor.view.widget, ipywidgets.VBox([report, ipywidgets.Button(description="Clone")])]
    )
    assert box.children[0] is editor.view.widget
    assert isinstance(editor.view.widget, ipywidgets.DOMWidget)
    editor.view.widget.layout.width = "60%"
    assert editor.view.widget.layout.width == "60%"
    editor.view.widget.height = 300
    tabs = ipywidgets.Tab([box, ipywidgets.Accordion([editor.view.widget])])
    assert tabs.children[1].children[0] is editor.view.widget, (
        "the same widget may have several views"
    )
    state = ipywidgets.embed.embed_data(views=[box], drop_defaults=False)
    assert editor.view.widget.model_id in state["manager_state"]["state"]


def test_selection_inputs_and_outputs_can_be_observed(editor: GraphEditor) -> None:
    seen: list[tuple[str, Any]] = []
    names = ["selection", "inputs", "outputs"]
    editor.view.widget.observe(lambda change: seen.append((change["name"], change["new"])), names)
    editor.mark("x:0", "net/one/out:0")
    report = dict(seen)
    assert report["inputs"] == ("x:0",)
    assert report["outputs"] == ("net/one/out:0",)
    assert set(report["selection"]) == set(editor.selection or ())
    seen.clear()
    editor.selection = editor.ops(scope="net/two")
    assert [name for name, _ in seen].count("selection") == 1
    assert dict(seen)["inputs"] == ()
    editor.view.widget.unobserve_all()
    editor.selection = None
    assert editor.view.widget.selection == ()
    assert len(seen) == 3


def test_a_trait_can_be_linked_to_another_widget(editor: GraphEditor) -> None:
    label = ipywidgets.Label()
    traitlets.dlink(
        (editor.view.widget, "selection"), (label, "value"), lambda names: f"{len(names)} ops"
    )
    editor.selection = editor.ops(scope="net/one")
    assert label.value == f"{len(editor.ops(scope='net/one'))} ops"


def test_the_selection_is_no_part_of_what_is_sent(editor: GraphEditor) -> None:
    assert not {"selection", "inputs", "outputs"} & set(editor.view.widget.get_state()), (
        "a page reload sends every trait"
    )


def test_the_drawing_goes_into_axes_that_are_there(editor: GraphEditor) -> None:
    figure = Figure(figsize=(8, 4))
    left, right = figure.subplots(1, 2)
    left.plot([0, 1], [0, 1])
    assert editor.draw(ax=right) is right
    assert right.has_data()
    assert len(left.lines) == 1
    alone = editor.draw()
    assert alone.figure is not figure


def test_the_table_is_a_data_frame_that_selects(editor: GraphEditor) -> None:
    table = editor.table()
    assert isinstance(table, pd.DataFrame)
    assert tuple(table.columns) == COLUMNS
    assert list(table.name) == list(editor._core.index.names)
    chosen = editor.ops(*table[table.type == "MatMul"].name)
    assert chosen == editor.ops(type="MatMul")
    by_type = table.groupby("type").size()
    assert by_type["MatMul"] == 2
    assert table[table.variable != ""].variable.nunique() == 4


def test_networkx_algorithms_name_ops_that_the_editor_takes(editor: GraphEditor) -> None:
    seen = editor.to_networkx()
    path = nx.shortest_path(seen, "x", "net/logits")
    assert set(path) <= set(editor.between("x:0", "net/logits:0").ops) | {"x", "net/logits"}
    assert set(nx.ancestors(seen, "net/one/out")) | {"net/one/out"} == set(
        editor.ops("net/one/out").upstream()
    )
    assert np.isfinite(list(nx.degree_centrality(seen).values())).all()

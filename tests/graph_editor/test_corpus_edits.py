"""Every recorded case that changes edges, through `tfgraphwidget.graph_editor`."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.graph_editor.corpus import COPIES, EDITS, INDEX, SELECTION, case_of
from tests.graph_editor.rewired import Rewired, wanted
from tests.graph_editor.transformed import run

DONE = [entry for entry in EDITS if not entry["raises"]]
REFUSED = [entry for entry in EDITS if entry["raises"]]


def done(entry: dict[str, Any]) -> Rewired:
    return Rewired(case_of(entry))


def by_id(entry: dict[str, Any]) -> str:
    return str(entry["id"])


@pytest.mark.parametrize("entry", DONE, ids=by_id)
def test_an_edit_leaves_what_the_original_left(entry):
    made = done(entry)
    expected, nodes = wanted(made), made.nodes
    assert set(nodes) == set(expected)
    for name, node in expected.items():
        attrs = {key: nodes[name]["attrs"].get(key) for key in node["attrs"]}
        assert {**nodes[name], "attrs": attrs} == node
    assert len(nodes) == made.case["expected"]["n_nodes_after"]
    assert made.collections_added == made.case["expected"]["collections_added"] == {}


@pytest.mark.parametrize("entry", DONE, ids=by_id)
def test_an_edit_reports_what_the_original_reported(entry):
    made = done(entry)
    keys = {"modifications", "sgv", "sgv0", "sgv1", "detached_inputs", "detached_outputs"}
    assert made.report == {
        key: report for key, report in made.case["expected"].items() if key in keys
    }


@pytest.mark.parametrize("entry", [entry for entry in DONE if entry["numeric"]], ids=by_id)
def test_an_edited_graph_gives_the_numbers_that_the_original_gave(entry):
    assert run(done(entry)) == []


@pytest.mark.parametrize("entry", REFUSED, ids=by_id)
def test_what_the_original_refused_is_refused_and_changes_nothing(entry):
    refused = Rewired(case_of(entry), at_once=False)
    with pytest.raises(__builtins__[refused.case["expected"]["raises"]]):
        refused.do()
    assert refused.nodes == refused.before


def test_no_case_is_left_out():
    assert len(SELECTION) + len(COPIES) + len(EDITS) == len(INDEX)
    assert Counter(entry["kind"] for entry in EDITS) == Counter({
        "add_control_inputs": 2, "bypass": 7, "connect": 5, "detach": 8, "detach_control_inputs": 3,
        "detach_control_outputs": 1, "detach_inputs": 5, "detach_outputs": 3,
        "remove_control_inputs": 1, "reroute_inputs": 2, "reroute_ios": 2, "reroute_outputs": 3,
        "reroute_ts": 8, "swap_inputs": 3, "swap_ios": 4, "swap_outputs": 3, "swap_ts": 6,
    })  # fmt: skip
    assert {bug for entry in EDITS for bug in entry["known_bugs"]} == {
        "detach_outputs_misroutes_placeholders"
    }

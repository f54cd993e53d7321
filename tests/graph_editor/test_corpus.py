"""Every selection case recorded from the original, through `tfgraphwidget.graph_editor`."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import tfgraphwidget.graph_editor as ge
from tests.graph_editor.corpus import INDEX, RIGHT, SELECTION, Asked, case_of, names


def ops_found(found: Any) -> dict[str, Any]:
    return {"ops": sorted(names(found)), "ops_in_order": names(found)}


def ts_found(found: Any) -> dict[str, Any]:
    return {"ts_in_order": names(found)}


def by_name(name: str) -> Any:
    return lambda asked: ops_found(getattr(ge, name)(**asked.keywords()))


def within_boundary(asked: Asked) -> dict[str, Any]:
    return ops_found(ge.get_within_boundary_ops(**{"ops": asked.graph, **asked.keywords()}))


def boundary(asked: Asked) -> dict[str, Any]:
    return dict(
        zip(("inputs", "outputs", "inside"), map(names, ge.compute_boundary_ts(**asked.keywords())), strict=True)
    )


def selected(asked: Asked) -> tuple[list[Any], dict[str, Any]]:
    given = asked.keywords()
    patterns, parts = given.pop("regex", []), [given.pop("ops", []), given.pop("ts", [])]
    return [*patterns, *parts], {"graph": asked.graph, **given}


def select_ops(asked: Asked) -> dict[str, Any]:
    args, kwargs = selected(asked)
    return ops_found(ge.select_ops(*args, **kwargs))


def select_ts(asked: Asked) -> dict[str, Any]:
    args, kwargs = selected(asked)
    return ts_found(ge.select_ts(*args, **kwargs))


def select_both(asked: Asked) -> dict[str, Any]:
    args, kwargs = selected(asked)
    ops, ts = ge.select_ops_and_ts(*args, **kwargs)
    return {"ops_in_order": names(ops), "ts_in_order": names(ts)}


def filter_from_regex(name: str, shown: Any) -> Any:
    def run(asked: Asked) -> dict[str, Any]:
        given = {"ops": asked.graph, **asked.keywords()}
        return shown(getattr(ge, name)(given["ops"], given["pattern"]))

    return run


def name_scope(asked: Asked) -> dict[str, Any]:
    return ops_found(ge.get_name_scope_ops(**{"ops": asked.graph, **asked.keywords()}))


def view(asked: Asked) -> dict[str, Any]:
    made = asked.view()
    listed = ("ops", "inputs", "outputs", "connected_inputs", "connected_outputs", "passthroughs")
    return {key: names(getattr(made, key)) for key in listed} | {"consumers": sorted(names(made.consumers()))}


def control_outputs(asked: Asked) -> dict[str, Any]:
    held = ge.ControlOutputs(asked.graph).get_all()
    return {"map": {op.name: sorted(names(waiting)) for op, waiting in held.items()}}


def placeholder(asked: Asked) -> dict[str, Any]:
    given = dict(asked.args)
    return {"name": ge.placeholder_name(asked.ts([given.pop("t")])[0] if "t" in given else None, **given)}


RUN = {
    "compute_boundary_ts": boundary,
    "control_outputs": control_outputs,
    "filter_ops_from_regex": filter_from_regex("filter_ops_from_regex", ops_found),
    "filter_ts_from_regex": filter_from_regex("filter_ts_from_regex", ts_found),
    "get_backward_walk_ops": by_name("get_backward_walk_ops"),
    "get_consuming_ops": by_name("get_consuming_ops"),
    "get_forward_walk_ops": by_name("get_forward_walk_ops"),
    "get_generating_ops": by_name("get_generating_ops"),
    "get_name_scope_ops": name_scope,
    "get_ops_ios": by_name("get_ops_ios"),
    "get_walks_intersection_ops": by_name("get_walks_intersection_ops"),
    "get_walks_union_ops": by_name("get_walks_union_ops"),
    "get_within_boundary_ops": within_boundary,
    "make_view": view,
    "placeholder_name": placeholder,
    "select_ops": select_ops,
    "select_ops_and_ts": select_both,
    "select_ts": select_ts,
}


@pytest.mark.parametrize("entry", SELECTION, ids=lambda entry: entry["id"])
def test_the_adapter_gives_what_the_original_gave(entry):
    case = case_of(entry)
    if "raises" in case["expected"]:
        with pytest.raises(__builtins__[case["expected"]["raises"]]):
            RUN[case["kind"]](Asked(case))
        return
    given = RUN[case["kind"]](Asked(case))
    assert {key: given[key] for key in case["expected"]} == case["expected"]


def test_no_selection_case_is_left_out():
    cases = Counter(entry["kind"] for entry in INDEX if entry["class"] == "selection")
    assert cases == Counter({
        "compute_boundary_ts": 8, "control_outputs": 4, "filter_ops_from_regex": 2, "filter_ts_from_regex": 3,
        "get_backward_walk_ops": 28, "get_consuming_ops": 2, "get_forward_walk_ops": 22, "get_generating_ops": 3,
        "get_name_scope_ops": 19, "get_ops_ios": 4, "get_walks_intersection_ops": 11, "get_walks_union_ops": 7,
        "get_within_boundary_ops": 23, "make_view": 35, "placeholder_name": 6, "select_ops": 12,
        "select_ops_and_ts": 3, "select_ts": 5,
    })  # fmt: skip
    assert set(cases) == set(RUN)
    assert cases == Counter(case_of(entry)["kind"] for entry in SELECTION)
    assert cases.total() + sum(entry["class"] == "transform" for entry in INDEX) == len(INDEX)


def test_only_a_recorded_defect_is_answered_otherwise():
    for entry in SELECTION:
        if entry["id"] in RIGHT:
            assert "NOT regex-escaped" in case_of(entry)["notes"]

"""`editor.summary()`, `editor.impact()` and `--json`: what programs read of a graph, and what they would change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tfgraphwidget as tgw
from tfgraphwidget.cli import main
from tfgraphwidget.errors import GraphEditError, NameTaken

pytestmark = pytest.mark.no_tensorflow

MODELS = Path(__file__).parents[2] / "notebooks" / "models"


@pytest.fixture
def example() -> tgw.GraphEditor:
    return tgw.edit(MODELS / "dqn_online_train.meta")


def test_a_summary_has_at_most_60_short_lines_of_a_graph_with_loops_and_many_outputs() -> None:
    lines = tgw.edit(MODELS / "seq2seq_v1.meta").summary().splitlines()
    assert 20 < len(lines) <= 60
    assert max(map(len, lines)) <= 160
    assert "input: ids:0 int32 (None, None)" in lines
    assert any(line.startswith("… and ") for line in lines)
    assert any("fix: editor.strip_training" in line for line in lines) or any("training-ops" in line for line in lines)


def test_impact_says_what_a_command_or_data_would_do_and_does_nothing(example: tgw.GraphEditor) -> None:
    before = example.index
    (fix,) = example.lint(only="training-ops").fixes
    impact = example.impact(fix)
    assert impact.removed
    assert example.impact({"verb": "strip_training", "given": {"outputs": list(fix.outputs)}}) == impact
    assert example.index is before
    assert not example.history.done
    assert example.edit(fix).removed == impact.removed


def test_impact_of_a_refused_edit_is_the_refusal_and_its_mends_have_impacts(example: tgw.GraphEditor) -> None:
    with pytest.raises(NameTaken):
        example.impact({"verb": "rename", "given": {"old": "Mean", "new": example.index.names[0]}})
    with pytest.raises(GraphEditError):
        example.impact({"verb": "no such verb", "given": {}})
    assert not example.history.done


def test_refusals_are_data_with_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(MODELS / "dqn_online_train.meta")
    assert main(["export", model, f"{tmp_path}/m.pb", "--frozen", "--outputs", "Meen", "--json"]) == 1
    refusal = json.loads(capsys.readouterr().out)["refusal"]
    assert refusal["code"] == "unknown-name"
    assert "did you mean 'Mean'" in refusal["sentence"]
    assert main(["lint", str(tmp_path / "none.pb"), "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["refusal"]["code"]


def test_export_info_lint_and_code_print_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(MODELS / "dqn_online_train.meta")
    assert main(["export", model, f"{tmp_path}/m.pb", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"path": f"{tmp_path}/m.pb", "notices": []}
    assert main(["info", model, "--summary", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["summary"]) <= 60
    assert main(["lint", model, "--json"]) == 1
    assert {row["code"] for row in json.loads(capsys.readouterr().out)} == {"training-ops", "unused-variables"}
    editor = tgw.edit(model)
    editor.rename("Mean", "loss_value")
    edits = str(editor.save(tmp_path / "edits.json"))
    assert main(["code", model, edits, "--json"]) == 0
    reply = json.loads(capsys.readouterr().out)
    assert reply["edits"] == editor.edits()
    assert "editor.rename" in reply["python"]

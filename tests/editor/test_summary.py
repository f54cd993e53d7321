"""`editor.inspect()`, `editor.preview()` and `--json`: what programs read of a graph, and what they
would change.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tfgraphwidget as tgw
from tfgraphwidget.cli import main
from tfgraphwidget.errors import GraphEditError, NameTaken
from tfgraphwidget.sources import tf_protos

pytestmark = pytest.mark.no_tensorflow

MODELS = Path(__file__).parents[2] / "notebooks" / "models"


@pytest.fixture
def example() -> tgw.GraphEditor:
    return tgw.edit(MODELS / "dqn_online_train.meta")


def test_a_summary_has_at_most_60_short_lines_of_a_graph_with_loops_and_many_outputs() -> None:
    lines = repr(tgw.edit(MODELS / "seq2seq_v1.meta").inspect()).splitlines()
    assert 20 < len(lines) <= 60
    assert max(map(len, lines)) <= 160
    assert "input: ids:0 int32 (None, None)" in lines
    assert any(line.startswith("… and ") for line in lines)
    assert any("fix: editor.passes.strip_training" in line for line in lines) or any(
        "training-ops" in line for line in lines
    )


def graph_of_many_signatures(count: int) -> Any:
    """60 scopes, each with a Placeholder and a Relu; the last of the signatures name what is not
    there.
    """
    meta = tf_protos.MetaGraphDef()
    for number in range(60):
        x = meta.graph_def.node.add(name=f"s{number}/x", op="Placeholder")
        x.attr["dtype"].type = 1
        y = meta.graph_def.node.add(name=f"s{number}/y", op="Relu", input=[x.name])
        y.attr["T"].type = 1
    for number in range(count):
        signature = meta.signature_def["serving_default" if not number else f"f{number:02}"]
        signature.inputs["x"].name = f"s{number}/x:0"
        signature.outputs["y"].name = f"s{number}/y:{0 if number < 50 else 1}"
    return meta


@pytest.mark.parametrize("count", [0, 1, 40, 57])
def test_each_section_of_a_summary_has_its_share_however_long_the_others_are(count: int) -> None:
    lines = repr(tgw.edit(graph_of_many_signatures(count)).inspect()).splitlines()
    assert len(lines) <= 60
    heads = ["ops", "edits", "input", "output", "cost", "scope s0/", "lint"]
    for head in [
        *heads,
        *(["signature f01" if count > 1 else "signature serving_default"] if count else []),
        *(["notice"] if count > 50 else []),
    ]:
        assert any(line.startswith(f"{head}:") for line in lines), head
    more = [line.split(maxsplit=3)[2:] for line in lines if line.startswith("… and ")]
    of_inputs = (
        []
        if count == 1
        else [f"{(min(count, 50) or 60) - 6} more {side}" for side in ("inputs", "outputs")]
    )
    expected = [*of_inputs, "48 more scopes"]
    if count > 6:
        expected.insert(0, f"{min(count, 50) - 6} more signatures")
    if count > 50:
        expected.insert(0, "3 more notices")
    texts = [" ".join(each) for each in more]
    assert texts[: len(expected)] == expected
    assert texts[len(expected) :] == [text for text in texts if text.endswith("findings")]
    findings = [line for line in lines if line.startswith(("error ", "warning "))]
    assert findings


def test_impact_says_what_a_command_or_data_would_do_and_does_nothing(
    example: tgw.GraphEditor,
) -> None:
    before = example._core.index
    (fix,) = example.lint(only="training-ops").fixes
    impact = example.preview(fix)
    assert impact.removed
    assert (
        example.preview({"command": "strip_training", "arguments": {"outputs": list(fix.outputs)}})
        == impact
    )
    assert example._core.index is before
    assert not example.history.done
    assert example.apply(fix).removed == impact.removed


def test_impact_of_a_refused_edit_is_the_refusal_and_its_fixes_have_impacts(
    example: tgw.GraphEditor,
) -> None:
    with pytest.raises(NameTaken):
        example.preview(
            {"command": "rename", "arguments": {"old": "Mean", "new": example._core.index.names[0]}}
        )
    with pytest.raises(GraphEditError):
        example.preview({"command": "no such command", "arguments": {}})
    assert not example.history.done


def test_refusals_are_data_with_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(MODELS / "dqn_online_train.meta")
    assert (
        main(["export", model, f"{tmp_path}/m.pb", "--frozen", "--outputs", "Meen", "--json"]) == 1
    )
    refusal = json.loads(capsys.readouterr().out)["refusal"]
    assert refusal["code"] == "unknown-name"
    assert "did you mean 'Mean'" in refusal["sentence"]
    assert main(["lint", str(tmp_path / "none.pb"), "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["refusal"]["code"]


def test_export_info_lint_and_code_print_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(MODELS / "dqn_online_train.meta")
    assert main(["export", model, f"{tmp_path}/m.pb", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"path": f"{tmp_path}/m.pb", "notices": []}
    assert main(["info", model, "--summary", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["summary"]) <= 60
    assert main(["lint", model, "--json"]) == 1
    assert {row["code"] for row in json.loads(capsys.readouterr().out)} == {
        "training-ops",
        "unused-variables",
    }
    editor = tgw.edit(model)
    editor.rename("Mean", "loss_value")
    edits = str(editor.save(tmp_path / "edits.json"))
    assert main(["code", model, edits, "--json"]) == 0
    reply = json.loads(capsys.readouterr().out)
    assert reply["edits"] == editor.history.records()
    assert "editor.rename" in reply["python"]

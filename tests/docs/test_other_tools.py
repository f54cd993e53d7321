"""docs/how-to/from-other-tools.md: every line of its tables runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.export.test_converted_models import InProcess
from tfgraphwidget.cli import main
from tfgraphwidget.export.formats import converted_model

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "from-other-tools.md"
README = Path(__file__).parents[2] / "README.md"


def lines_of(page: Path) -> list[str]:
    """What the tables of a page have in their last column."""
    return re.findall(r"^\| .+ \| `([^`]+)` \|$", page.read_text(encoding="utf-8"), re.MULTILINE)


LINES = lines_of(PAGE)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the models that the lines name."""
    folder = tmp_path_factory.mktemp("models")
    example = tgw.example()
    example.save(folder / "model.pb", "x:0", "net/logits:0", frozen=True)
    example.save(folder / "model.meta")
    example.save(f"{folder}/saved/", "x:0", "net/logits:0")
    with tf.Graph().as_default() as graph:
        image = v1.placeholder(tf.float32, [1, 4, 4, 3], name="image")
        with tf.device("/device:CPU:0"):
            conv = tf.nn.conv2d(image, np.ones([1, 1, 3, 2], np.float32), 1, "SAME", name="conv")
        ones = np.ones([2], np.float32)
        norm, *_ = v1.nn.fused_batch_norm(
            conv, ones, ones, ones, ones, is_training=False, name="norm"
        )
        y = tf.debugging.check_numerics(norm, "no number", name="checked")
        for name in ("one", "other"):  # equal, and computed from constants
            y += tf.tile(tf.constant([1.0], name=name), [2])
        tf.identity(y, name="y")
    message = graph.as_graph_def()
    nodes = list(reversed(message.node))
    del message.node[:]
    message.node.extend(nodes)
    (folder / "conv.pb").write_bytes(message.SerializeToString())
    return folder


def test_readme_has_lines_of_the_page_and_stays_short() -> None:
    lines = lines_of(README)
    assert len(lines) == 8
    assert set(lines) <= set(LINES)
    assert len(README.read_text(encoding="utf-8").splitlines()) < 90


@pytest.mark.filterwarnings("ignore::UserWarning")  # what a save reports
@pytest.mark.parametrize("line", LINES)
def test_a_line_runs(line: str, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(models)
    monkeypatch.setattr(converted_model, "CONVERTERS", InProcess())
    if line.startswith("tfgraphwidget "):
        assert main(line.split()[1:]) == 0
        return
    names: dict[str, Any] = {"tgw": tgw, "editor": tgw.edit("model.pb")}
    exec(line, names)


def test_all_the_tools_are_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    tools = (
        "summarize_graph",
        "strip_unused",
        "freeze_graph",
        "transform_graph",
        "saved_model_cli",
        "OpenVINO",
    )
    assert [
        tool for tool in (*tools, "graph_editor", "graph_def_editor", "tf2onnx") if tool not in text
    ] == []
    assert len(LINES) > 35

"""What `editor.to_tensorboard` writes is what TensorBoard shows: asked of its own server over
HTTP.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format

import tfgraphwidget as tgw
from tests.browser.server import free_port
from tests.conftest import INCEPTION, build_mlp, v1
from tests.slow import slow
from tfgraphwidget.errors import GraphEditError

SERVER = """
import os, sys
from tensorboard import program
board = program.TensorBoard()
board.configure(argv=[None, "--logdir", sys.argv[1], "--port", sys.argv[2], "--load_fast=false"])
print(board.launch(), flush=True)
sys.stdin.read()
"""


def heavy() -> tf.Graph:
    """A graph over 64 MB, nearly all of it one constant, with a function."""
    graph = build_mlp(resource=True)
    with graph.as_default():
        x = graph.get_tensor_by_name("x:0")
        weights = tf.constant(
            np.random.default_rng(0).normal(size=(3, 6_000_000)).astype(np.float32), name="weights"
        )
        tf.reduce_sum(tf.matmul(x, weights), name="summed")
        tf.function(lambda y: tf.nn.relu(y) * 2.0)(x)
    assert graph.as_graph_def().ByteSize() > 64 << 20
    return graph


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tgw.GraphEditor]:
    """Editors by the name of the run that they have written."""
    logdir = tmp_path_factory.mktemp("logs")
    found = {"inception": tgw.edit(INCEPTION), "heavy": tgw.edit(heavy())}
    found["inception"].rename("net/InceptionV3/Logits/SpatialSqueeze", "logits")
    for name, editor in found.items():
        written = editor.save(logdir / name, format="tensorboard")
        assert written.parent == logdir / name
        assert written.stat().st_size < 3 << 20
    return found | {"": logdir}  # type: ignore[dict-item]


@pytest.fixture(scope="module")
def board(runs: dict[str, Any], warm_python: list[str]) -> Iterator[str]:
    """The URL of a TensorBoard on what was written."""
    port = free_port()
    command = [*warm_python, "-c", SERVER, str(runs[""]), str(port)]
    pipes: dict[str, Any] = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.DEVNULL,
    }
    with subprocess.Popen(
        command, env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}, text=True, **pipes
    ) as running:
        assert running.stdout
        url = running.stdout.readline().strip()
        assert url.startswith("http")
        yield url.rstrip("/")
        assert running.stdin
        running.stdin.close()


def asked(url: str) -> bytes:
    """What the server answers, once it has read the files."""
    for _ in range(300):
        with (
            contextlib.suppress(urllib.error.HTTPError),
            urllib.request.urlopen(url, timeout=60) as answer,
        ):
            return bytes(answer.read())
        time.sleep(0.2)
    raise AssertionError(f"TensorBoard never had {url}.")


def shown(board: str, run: str) -> Any:
    """The GraphDef as the graph tab's page asks for it."""
    limits = "limit_attr_size=1024&large_attrs_key=_too_large_attrs"
    where = f"{board}/data/plugin/graphs/graph?run={quote(run)}&{limits}"
    return text_format.Parse(asked(where), v1.GraphDef())


@pytest.mark.slow
def test_tensorboard_knows_the_runs(board: str) -> None:
    for _ in range(100):
        report = json.loads(asked(f"{board}/data/plugin/graphs/info"))
        if report.keys() == {"inception", "heavy"}:
            break
        time.sleep(0.2)
    assert all(run["run_graph"] for run in report.values())


@pytest.mark.parametrize("run", [slow("inception"), "heavy"])
def test_tensorboard_shows_the_graph_with_its_shapes(
    board: str, runs: dict[str, Any], run: str
) -> None:
    editor, found = runs[run], shown(board, run)
    assert [(n.name, n.op, list(n.input)) for n in found.node] == [
        (n.name, n.op, list(n.input)) for n in editor._core.index.nodes
    ]
    assert {f.signature.name for f in found.library.function} == set(editor._core.index.functions)
    for op, node in enumerate(found.node):
        for port, proto in enumerate(node.attr["_output_shapes"].list.shape):
            shape = tf.TensorShape(proto)
            assert (
                None if shape.rank is None else tuple(shape.as_list())
            ) == editor._core.index.shape(op, port)
    last = {"inception": "logits", "heavy": "weights"}[run]
    (shape,) = next(n for n in found.node if n.name == last).attr["_output_shapes"].list.shape
    assert tf.TensorShape(shape).rank == 2


def test_a_large_constant_keeps_dtype_and_shape(runs: dict[str, Any]) -> None:
    (file,) = (runs[""] / "heavy").iterdir()
    events = [v1.Event.FromString(r.numpy()) for r in tf.data.TFRecordDataset(str(file))]
    assert [event.WhichOneof("what") for event in events] == ["file_version", "graph_def"]
    graph_def = v1.GraphDef.FromString(events[1].graph_def)
    tensor = next(node for node in graph_def.node if node.name == "weights").attr["value"].tensor
    assert (tensor.dtype, len(tensor.tensor_content)) == (tf.float32.as_datatype_enum, 0)
    assert tf.TensorShape(tensor.tensor_shape) == [3, 6_000_000]
    weights = runs["heavy"]._core.index.nodes[runs["heavy"]._core.index.ids["weights"]]
    assert len(weights.attr["value"].tensor.tensor_content) == 72_000_000, (
        "the editor's own graph is as it was"
    )


def test_writing_again_makes_a_later_file(line: tf.Graph, tmp_path: Path) -> None:
    editor = tgw.edit(line)
    first = editor.save(tmp_path / "it's a\nlog", format="tensorboard")
    second = editor.save(str(tmp_path / "it's a\nlog"), format="tensorboard")
    assert sorted(path.name for path in first.parent.iterdir()) == [first.name, second.name]
    assert re.match(r"events\.out\.tfevents\.\d{10}\.\d{6}\.", first.name)


def test_a_folder_that_cannot_be_written_to_is_named(line: tf.Graph, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for place in (tmp_path / "file", tmp_path / "file" / "inside", "a\0b"):
        with pytest.raises(GraphEditError, match="cannot be written to") as refused:
            tgw.edit(line).save(place, format="tensorboard")
        assert "\n" not in refused.value.why
    assert (tmp_path / "file").read_text() == "x"

"""Copying, cutting and freezing beside what TensorFlow has for it: `lift_to_graph`,
`tf.compat.v1.graph_util`.

And beside the figures that were recorded of its graph_editor, which ran on Python 3.7 at most. Each
pair runs in turn on graphs of its own; CPU seconds of this process. What a peer cannot do is
asserted here, and stands in the notes.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.eager.lift_to_graph import lift_to_graph

import tfgraphwidget as tgw
import tfgraphwidget.graph_editor as ge
from tests.bench.graphs import layered
from tests.bench.results import GRAPH_EDITOR, record
from tests.conftest import INCEPTION, INCEPTION_OUTPUT, initialised, v1
from tests.models import written

pytestmark = pytest.mark.bench
RUNS = 5
OPS = 5_000
LIFTED = (
    "lift_to_graph leaves initializers and values after and makes no variables of the ops: its "
    "copy cannot be initialized; it takes inputs and outputs of a live graph, not files"
)


def cpu(work: Callable[[], object]) -> float:
    """The CPU seconds of a call."""
    gc.collect()
    start = time.process_time()
    work()
    return time.process_time() - start


def in_turn(
    ours: Callable[[], float], peer: Callable[[], float]
) -> tuple[list[float], list[float]]:
    """Figures of both, either first in turn; those of the first round, in which modules are
    imported, do not count.
    """
    pairs = []
    for number in range(RUNS + 1):
        first, second = (ours, peer) if number % 2 else (peer, ours)
        values = {first: first(), second: second()}
        pairs.append((values[ours], values[peer]))
    own, others = zip(*pairs[1:], strict=True)
    return list(own), list(others)


def imported_inception() -> Any:
    """A live graph."""
    with tf.Graph().as_default() as graph:
        v1.train.import_meta_graph(str(INCEPTION))
    return graph


def test_a_clone_into_another_graph_against_lift_to_graph() -> None:
    def ours() -> float:
        editor, other = tgw.edit(imported_inception()), tf.Graph()
        len(editor._core.index)
        taken = cpu(
            lambda: editor.clone("input:0", INCEPTION_OUTPUT, "copy", graph=other, init="none")
        )
        with other.as_default():
            assert v1.global_variables_initializer().type == "NoOp"
            assert len(v1.global_variables()) == 378
        return taken / len(other.get_operations()) * 1e6

    def peer() -> float:
        graph, other = imported_inception(), tf.Graph()
        start, end = (graph.get_tensor_by_name(name) for name in ("input:0", INCEPTION_OUTPUT))
        taken = cpu(lambda: lift_to_graph([end], other, sources=[start]))
        operations = other.get_operations()
        assert not other.get_all_collection_keys()
        assert not any(op.type == "Assign" for op in operations)
        return taken / len(operations) * 1e6

    own, others = in_turn(ours, peer)
    what = "clone of Inception's body into another graph, per op, CPU"
    record("Clone", what, "µs", own, {"lift_to_graph": others}, LIFTED)
    assert statistics.median(own) <= statistics.median(others)


@pytest.mark.parametrize(
    ("name", "least", "most"), [("copy", 215, 270), ("graph_replace", 180, 520)]
)
def test_the_names_of_graph_editor_next_to_what_was_recorded_of_it(
    name: str, least: int, most: int
) -> None:
    meta = layered(OPS)

    def ours() -> float:
        with tf.Graph().as_default() as graph:
            v1.train.import_meta_graph(meta)
            x, y = (graph.get_tensor_by_name(f"{each}:0") for each in "xy")
            before = len(graph.get_operations())
            if name == "copy":
                taken = cpu(lambda: ge.copy(graph, dst_scope="copied"))
            else:
                other = v1.placeholder(tf.float32, x.shape, name="other")
                taken = cpu(lambda: ge.graph_replace(y, {x: other}, dst_scope="copied"))
            return taken / (len(graph.get_operations()) - before) * 1e6

    taken = [ours() for _ in range(RUNS + 1)][1:]
    what = f"graph_editor.{name} in a graph of {len(meta.graph_def.node):,} ops, per op, CPU"
    record("Clone", what, "µs", taken, recorded={GRAPH_EDITOR: f"{least} to {most} µs"})
    assert statistics.median(taken) <= most


def test_a_part_is_cut_out_of_a_file_against_extract_sub_graph(tmp_path: Path) -> None:
    meta = v1.MetaGraphDef.FromString(written("resnet", tmp_path).read_bytes())
    path, output = tmp_path / "training.pb", _softmax(meta.graph_def)
    path.write_bytes(meta.graph_def.SerializeToString())
    cut: dict[str, set[str]] = {}

    def ours() -> float:
        return (
            cpu(
                lambda: (
                    tgw.edit(path)
                    .extract([], [f"{output}:0"])
                    .save(tmp_path / "ours.pb", verify=False)
                )
            )
            * 1e3
        )

    def peer() -> float:
        def work() -> None:
            graph_def = v1.GraphDef.FromString(path.read_bytes())
            part = v1.graph_util.extract_sub_graph(graph_def, [output])
            (tmp_path / "peer.pb").write_bytes(part.SerializeToString())

        return cpu(work) * 1e3

    own, others = in_turn(ours, peer)
    for name in ("ours", "peer"):
        cut[name] = {
            node.name
            for node in v1.GraphDef.FromString((tmp_path / f"{name}.pb").read_bytes()).node
        }
    what = (
        f"cut of what the output needs, ResNet v2 50, training, {len(meta.graph_def.node):,} "
        "ops, file to file, CPU"
    )
    more = (
        f"{len(cut['ours']):,} ops, with the initializers of variables; extract_sub_graph "
        f"{len(cut['peer']):,}. A file of unknown origin is checked before it is opened, and what "
        "is broken in the part before it is written, which extract_sub_graph does not do"
    )
    record("Select", what, "ms", own, {"tf.compat.v1.graph_util.extract_sub_graph": others}, more)
    assert cut["peer"] <= cut["ours"]


def _softmax(graph_def: Any) -> str:
    """What an inference of it gives."""
    return str(next(node.name for node in graph_def.node if node.op == "Softmax"))


def test_freezing_against_convert_variables_to_constants(tmp_path: Path) -> None:
    session = initialised(imported_inception())
    graph = session.graph
    output = INCEPTION_OUTPUT.partition(":")[0]
    editor = tgw.edit(graph, session=session)
    len(editor._core.index)

    def ours() -> float:
        path = tmp_path / "ours.pb"
        return (
            cpu(lambda: editor.save(path, "input:0", INCEPTION_OUTPUT, frozen=True, verify=False))
            * 1e3
        )

    def peer() -> float:
        def work() -> None:
            frozen = v1.graph_util.convert_variables_to_constants(
                session, graph.as_graph_def(), [output]
            )
            (tmp_path / "peer.pb").write_bytes(frozen.SerializeToString())

        return cpu(work) * 1e3

    own, others = in_turn(ours, peer)
    sizes = {name: (tmp_path / f"{name}.pb").stat().st_size for name in ("ours", "peer")}
    session.close()
    what = f"freeze of Inception v3, {sizes['ours'] / 1e6:.0f} MB, to a file, not verified, CPU"
    record(
        "Passes",
        what,
        "ms",
        own,
        {"tf.compat.v1.graph_util.convert_variables_to_constants": others},
    )
    assert sizes["ours"] <= 1.01 * sizes["peer"]

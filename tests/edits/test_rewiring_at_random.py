"""Random rewiring of the corpus graphs: whatever is done, undo gives back the graph, and no refusal
changes it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import MODELS, v1
from tests.graph_editor.corpus import CORPUS, fresh_graph
from tfgraphwidget.edits.rewire import validation
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import traversal
from tfgraphwidget.graph.control_flow_contexts import NEXT
from tfgraphwidget.runtime.live.in_place_changes import without_veils

FILES = sorted(
    f"graphs/{path.name}" for path in (CORPUS / "graphs").iterdir() if "large" not in path.name
)
EDITS = 12


class Random:
    """Edits of any kind at random places; what is refused leaves the graph alone."""

    def __init__(self, editor: tgw.GraphEditor, seed: int) -> None:
        self.editor, self.random = editor, random.Random(seed)
        self.refused: list[str] = []

    def op(self) -> str:
        return self.random.choice(self.editor._core.index.names)

    def tensor(self, dtype: str = "") -> str:
        """A tensor, of the dtype if there is one among some."""
        index, some = self.editor._core.index, []
        for _ in range(40):
            i = self.random.randrange(len(index))
            some += [
                (f"{index.names[i]}:{k}", reported)
                for k, reported in enumerate(index.typing.dtypes(index.nodes[i]))
            ]
        alike = [
            name
            for name, reported in some
            if reported.removesuffix("_ref") == dtype.removesuffix("_ref")
        ]
        return self.random.choice(alike or [name for name, _ in some] or [f"{self.op()}:0"])

    def dtype(self, tensor: str) -> str:
        index, (op, _, port) = self.editor._core.index, tensor.rpartition(":")
        reported = index.typing.dtypes(index.nodes[index.op(op)])
        return reported[int(port)] if int(port) < len(reported) else ""

    def edit(self) -> bool:
        """One edit; whether it was done, neither refused nor nothing to do."""
        editor, old = self.editor, self.tensor()
        new = self.tensor(self.dtype(old))
        kinds: list[Callable[[], Any]] = [
            lambda: editor.reroute(
                old, to=new, adapter=self.random.choice(["", "", "", "Cast", "Reshape"])
            ),
            lambda: editor.reroute(old, to=new, never=[self.op()]),
            lambda: editor.swap(old, new),
            lambda: editor.swap(
                self.op(), self.op(), self.random.choice(["inputs", "outputs", "both"])
            ),
            lambda: editor.connect(new, self.op(), self.random.choice([None, 0, 1])),
            lambda: editor.bypass(self.op()),
            lambda: editor.detach(self.op(), control=True),
            lambda: editor.reroute(f"^{self.op()}", to=f"^{self.op()}"),
            lambda: editor.add_control_inputs(self.op(), self.op()),
            lambda: editor.remove_control_inputs(*self.control_edge()),
        ]
        before = seen(editor)
        try:
            report = self.random.choice(kinds)()
        except GraphEditError as error:
            self.refused.append(str(error))
            assert seen(editor) == before
            return False
        assert report or seen(editor) == before
        return bool(report)

    def control_edge(self) -> tuple[str, str]:
        index = self.editor._core.index
        edges = list(
            zip(index.controls.owner.tolist(), index.controls.values.tolist(), strict=True)
        )
        op, waited = self.random.choice(edges or [(0, 0)])
        return index.names[op], index.names[waited]


def seen(editor: tgw.GraphEditor) -> list[bytes]:
    return [node.SerializeToString(deterministic=True) for node in editor._core.index.nodes]


def written(editor: tgw.GraphEditor) -> dict[str, bytes]:
    """TensorFlow's own NodeDefs of what the editor shows, read past veils."""
    nodes = {
        node.name: node
        for node in without_veils(editor.graph, list(editor.graph.as_graph_def().node))
    }
    return {
        name: nodes[name].SerializeToString(deterministic=True) for name in editor._core.index.names
    }


def cyclic(editor: tgw.GraphEditor) -> bool:
    """Whether some op depends on itself, but for the way round of a loop."""
    index = editor._core.index
    left = dict(enumerate(np.diff(index.sources.start).tolist()))
    todo = [op for op, count in left.items() if not count]
    gone = [
        (op, to)
        for op in range(len(index))
        if index.types[op] in NEXT
        for to in _readers(index, op)
    ]
    for _, merge in gone:
        left[merge] -= 1
        todo += [merge] if not left[merge] else []
    done = 0
    while todo:
        op = todo.pop()
        done += 1
        for reader in _readers(index, op) if index.types[op] not in NEXT else ():
            left[reader] -= 1
            if not left[reader]:
                todo.append(reader)
    return done < len(index)


def _readers(index: Any, op: int) -> list[int]:
    return index.consumer_edges.to[
        index.consumer_edges.start[op] : index.consumer_edges.start[op + 1]
    ].tolist()


@pytest.mark.parametrize("file", FILES)
@pytest.mark.sample(4)
def test_undo_of_random_edits_gives_back_the_graph(file: str) -> None:
    editor = tgw.edit(fresh_graph(file, []))
    before, names = seen(editor), editor._core.index.names
    at_random, states = Random(editor, seed=FILES.index(file)), []
    assert not cyclic(editor)
    for _ in range(EDITS * 4):
        state = seen(editor)
        if at_random.edit():
            states.append(state)
            assert not cyclic(editor)
    after = seen(editor)
    assert states
    assert {
        n.name: n.SerializeToString(deterministic=True) for n in editor._core.index.nodes
    } == written(editor)
    for state in reversed(states):
        editor.undo()
        assert seen(editor) == state
    assert seen(editor) == before
    assert editor._core.index.names == names
    editor.history.goto(len(states))
    assert seen(editor) == after


@pytest.mark.parametrize("file", FILES[::4])
def test_undo_of_random_edits_gives_back_the_very_file(file: str, tmp_path: Path) -> None:
    opened = tmp_path / "graph.pb"
    opened.write_bytes(fresh_graph(file, []).as_graph_def().SerializeToString())
    editor = tgw.edit(opened)
    before, at_random = editor._core.index, Random(editor, seed=1)
    done = sum(at_random.edit() for _ in range(EDITS * 2))
    assert done
    editor.history.goto(0)
    assert editor._core.index is before


def test_hundreds_of_edits_back_and_forth_end_where_they_began() -> None:
    editor = tgw.edit(fresh_graph("graphs/rand_dag_1.meta.pb", []))
    before, at_random = seen(editor), Random(editor, seed=7)
    for _ in range(300):
        way = at_random.random.random()
        if way < 0.6:
            at_random.edit()
        elif way < 0.85 and editor.history.done:
            editor.undo()
        elif editor.history.undone:
            editor.redo()
    assert {
        n.name: n.SerializeToString(deterministic=True) for n in editor._core.index.nodes
    } == written(editor)
    editor.history.goto(0)
    assert seen(editor) == before


@pytest.mark.parametrize(
    "file", [*FILES[::5], "graphs/while_grad.meta.pb", "graphs/cond_v1.meta.pbtxt"]
)
def test_what_is_reported_for_all_targets_is_what_each_would_be_refused_for(file: str) -> None:
    index = tgw.edit(fresh_graph(file, []))._core.index
    at_random = random.Random(3)
    for _ in range(6):
        op = at_random.randrange(len(index))
        source = (op, at_random.randrange(max(len(index.typing.dtypes(index.nodes[op])), 1)))
        found = validation.refusals(index, source)
        for reader in range(len(index)):
            counted = range(int(index.inputs.start[reader + 1] - index.inputs.start[reader]))
            each = [validation.why_not(index, source, reader, k) for k in counted]
            assert (reader in found) == all(each), (
                index.names[op],
                index.names[reader],
                each,
                found.get(reader),
            )
        assert validation.refusals(index, source, [op]).keys() <= {op}


def test_a_target_is_refused_by_name_and_number_too(line: tf.Graph) -> None:
    index = tgw.edit(line)._core.index
    x, a, c = (index.op(name) for name in "xac")
    assert validation.why_not(index, (x, 0), c, 0) == ""
    assert validation.why_not(index, (x, 0), a, 0) == "'a' reads 'x:0' there already."
    assert validation.why_not(index, (x, 0), c, 2) == "There is no input 2 of 'c': it has 2 inputs."
    assert (
        validation.why_not(index, (x, 0), x, 0) == "There is no input 0 of 'x': it reads nothing."
    )
    assert validation.refusals(index, (c, 0)) == {
        x: "'x' reads nothing.",
        **{index.op(f"{name}/y"): f"'{name}/y' reads nothing." for name in "abc"},
        **{index.op(name): f"'c:0' depends on '{name}' itself." for name in "ab"},
        c: "'c:0' comes from 'c' itself.",
    }


def test_edges_of_v1_loops_of_a_real_model_stay_within_their_frames() -> None:
    """Whatever connect lets through in seq2seq, TensorFlow's own Exit, Enter and NextIteration
    still bound.
    """
    meta = v1.MetaGraphDef.FromString((MODELS / "seq2seq_v1.meta").read_bytes())
    with tf.Graph().as_default() as graph:
        v1.train.import_meta_graph(meta)
    index = tgw.edit(graph)._core.index
    inside = np.flatnonzero(
        traversal.mask_of(index, [i for i, t in enumerate(index.types) if t in NEXT])
    )
    outside = [i for i, name in enumerate(index.names) if index.types[i] == "Placeholder"]
    for op, source in product(inside[:4].tolist(), outside[:2]):
        reported = index.typing.dtypes(index.nodes[source])
        why = validation.why_not(index, (source, 0), op, 0)
        wanted = index.typing.dtypes(index.nodes[op])
        assert ("lies outside while loop" in why) == (reported == wanted), why
        assert why

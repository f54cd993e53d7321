"""What `code()` gives: a script that makes an equal graph in a process that knows nothing of this one.

Random edits on the graphs of the corpus, as files and as live graphs; all scripts run in one fresh process, since
TensorFlow takes seconds to start, each with names of its own.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.graph_editor.corpus import CORPUS, fresh_graph
from tfgraphwidget.errors import GraphEditError

FILES = sorted(path for path in (CORPUS / "graphs").iterdir() if "large" not in path.name)
TRIES = 30
WANTED = 8
NOT_COMPARED = ("_output_shapes", "_has_manual_control_dependencies")
REPLAY = """
import json, sys
import tensorflow as tf
from tests.graph_editor.corpus import fresh_graph

for script, live, out in json.load(open(sys.argv[1])):
    names = {"__name__": "replayed"}
    graph = fresh_graph(live, []) if live else tf.Graph()
    with graph.as_default(), tf.compat.v1.Session(graph=graph):
        exec(compile(script, out, "exec"), names)
    made = tf.compat.v1.GraphDef(node=names["editor"].outermost.nodes)
    open(out, "wb").write(made.SerializeToString())
"""


def halved(x: tf.Tensor) -> tf.Tensor:
    """Half of it, whatever it is made of."""
    return tf.cast(tf.cast(x, tf.float32) * SHARE, x.dtype)


SHARE = 0.5


class Random:
    """Edits at random, most of which are refused."""

    def __init__(self, editor: tgw.GraphEditor, seed: int) -> None:
        self.editor, self.random = editor, random.Random(seed)
        self.done: Counter[str] = Counter()

    def op(self) -> str:
        return self.random.choice([*self.editor.index.names] or ["nothing"])

    def tensor(self, dtype: str = "") -> str:
        """A tensor, of the dtype where there is one."""
        index = self.editor.index
        told = [(f"{name}:{k}", d) for i, name in enumerate(index.names) for k, d in enumerate(index.dtypes(i))]
        alike = [name for name, d in told if not dtype or d == dtype]
        return self.random.choice(alike or [f"{self.op()}:0"])

    def dtype(self, tensor: str) -> str:
        index, (op, _, port) = self.editor.index, tensor.rpartition(":")
        return (*index.dtypes(index.op(op)), "", "")[int(port)]

    def some(self) -> Any:
        """An op, or the scope around one."""
        op = self.op()
        return self.editor.scope(op.rpartition("/")[0]) if "/" in op and self.random.random() < 0.5 else op

    def waits(self) -> tuple[str, str]:
        index = self.editor.index
        edges = list(zip(index.controls.owner.tolist(), index.controls.values.tolist(), strict=True)) or [(0, 0)]
        a, b = self.random.choice(edges)
        return index.names[a], index.names[b]

    def new(self) -> str:
        return f"new_{self.random.randrange(10**6)}"

    def flag(self) -> tuple[str, str, bool]:
        """An attribute that is true or false, and the other value."""
        index = self.editor.index
        known = [(n.name, a, n.attr[a].b) for n in index.nodes for a in n.attr if n.attr[a].WhichOneof("value") == "b"]
        op, name, value = self.random.choice(known or [(self.op(), "nothing", False)])
        return op, name, not value

    def constant(self) -> tuple[str, Any]:
        constants = [node for node in self.editor.index.nodes if node.op == "Const"]
        node = self.random.choice(constants or [v1.NodeDef(name="nothing")])
        value = tf.make_ndarray(node.attr["value"].tensor) if node.op == "Const" else 0.0
        return node.name, ~value if isinstance(value, np.ndarray) and value.dtype == np.bool_ else value + value

    def step(self) -> None:
        """One edit, or a step back or forth; GraphEditError when it is refused."""
        editor, pick = self.editor, self.random.choice
        old = self.tensor()
        new = self.tensor(self.dtype(old))
        kinds: dict[str, Callable[[], Any]] = {
            "reroute": lambda: editor.reroute(old, to=new, mend=pick(["", "Cast"])),
            "reroute some": lambda: editor.reroute(old, to=new, never=[self.op()], renew=pick(["always", "never"])),
            "swap": lambda: editor.swap(old, new),
            "connect": lambda: editor.connect(new, self.op(), pick([None, 0, 1])),
            "bypass": lambda: editor.bypass(self.some()),
            "detach": lambda: editor.detach(self.some(), control=pick([True, False])),
            "insert": lambda: editor.insert(old, pick(["Identity", "StopGradient"]), into=self.new()),
            "insert function": lambda: editor.insert(old, pick([halved, lambda x: x + x]), into=self.new()),
            "remove": lambda: editor.remove(self.some(), readers=pick([True, False]), prune=pick([True, False])),
            "rename": lambda: editor.rename(self.op(), self.new()),
            "rename scope": lambda: editor.rename(self.op().rpartition("/")[0] + "/", self.new()),
            "place": lambda: editor.place(self.some(), pick(["/device:CPU:0", ""])),
            "set_attr": lambda: editor.set_attr(*self.flag()),
            "set_constant": lambda: editor.set_constant(*self.constant()),
            "add_control_inputs": lambda: editor.add_control_inputs(self.op(), self.op()),
            "remove_control_inputs": lambda: editor.remove_control_inputs(*self.waits()),
            "clone": lambda: editor.clone(editor.ops(self.op()).upstream(), into=self.new(), init="none"),
            "undo": editor.undo,
            "redo": editor.redo,
            "jump": lambda: editor.jump(self.random.randrange(len(editor.history.done) + 1)),
        }
        kind = pick(list(kinds))
        kinds[kind]()
        self.done[kind] += 1


def canonical(node: v1.NodeDef) -> tuple[Any, ...]:
    """A NodeDef with its defaults written out; the order of control inputs and colocations is none."""
    node = v1.NodeDef.FromString(node.SerializeToString())
    known = op_def_registry.get(node.op)
    for attr in known.attr if known is not None else ():
        if attr.name not in node.attr and attr.HasField("default_value"):
            node.attr[attr.name].CopyFrom(attr.default_value)
    if "_class" in node.attr:
        node.attr["_class"].list.s[:] = sorted(node.attr["_class"].list.s)
        if not node.attr["_class"].list.s:
            del node.attr["_class"]
    inputs = [text for text in node.input if text[0] != "^"]
    waits = sorted(text for text in node.input if text[0] == "^")
    attrs = sorted((name, str(value)) for name, value in node.attr.items() if name not in NOT_COMPARED)
    return node.name, node.op, node.device, inputs, waits, attrs


def seen(graph_def: v1.GraphDef) -> list[tuple[Any, ...]]:
    return sorted(map(canonical, graph_def.node))


def replayed(scripts: list[tuple[str, str]], folder: Path) -> list[v1.GraphDef]:
    """The graphs that some scripts give in a fresh process; beside each the live graph that it is for, or ""."""
    outs = [str(folder / f"{k}.pb") for k in range(len(scripts))]
    told = folder / "scripts.json"
    told.write_text(json.dumps([[*script, out] for script, out in zip(scripts, outs, strict=True)]))
    command = [sys.executable, "-c", REPLAY, str(told)]
    done = subprocess.run(command, capture_output=True, check=False, cwd=Path(__file__).parents[1], text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return [v1.GraphDef.FromString(Path(out).read_bytes()) for out in outs]


def edited(path: Path, seed: int, *, live: bool) -> Random:
    """A graph of the corpus after some edits."""
    if live:
        graph = fresh_graph(f"graphs/{path.name}", [])
        editor = tgw.edit(graph, session=v1.Session(graph=graph))
    else:
        editor = tgw.edit(path)
    made = Random(editor, seed)
    for _ in range(TRIES):
        if made.done.total() >= WANTED:
            break
        try:
            made.step()
        except GraphEditError:
            continue
    return made


@pytest.mark.parametrize("seed", [1, 2])
def test_random_edits_are_the_same_in_a_fresh_process(seed: int, tmp_path: Path) -> None:
    made = [(path, k % 3 == seed % 3) for k, path in enumerate(FILES)]
    edits = [edited(path, seed * 100 + k, live=live) for k, (path, live) in enumerate(made)]
    scripts = [
        (each.editor.code(), f"graphs/{path.name}" if live else "")
        for each, (path, live) in zip(edits, made, strict=True)
    ]
    for each, found, (script, _) in zip(edits, replayed(scripts, tmp_path), scripts, strict=True):
        expected = v1.GraphDef(node=each.editor.outermost.nodes)
        assert seen(found) == seen(expected), script
    done = sum((each.done for each in edits), Counter[str]())
    assert done.total() > 4 * len(FILES)
    assert len(done) > 15
    assert sum(bool(each.editor.history.done) for each in edits) > len(FILES) * 0.8

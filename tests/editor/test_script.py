"""What `code()` gives: a script that makes an equal graph in a process that knows nothing of this
one.

Random edits on the graphs of the corpus, as files and as live graphs; all scripts run in one fresh
process, since TensorFlow takes seconds to start, each with names of its own. More run in this
process, in namespaces of their own; the same edits as JSON make the same graph, and undo and redo
give back the start and the end.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

import tfgraphwidget as tgw
from tests.conftest import MODELS, v1
from tests.graph_editor.corpus import CORPUS, fresh_graph
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export.formats.function_library import library_of

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
    from tests.editor.test_script import whole
    open(out, "w").write(json.dumps(whole(names["editor"])))
"""
TABLE = np.arange(40, dtype=np.float16).reshape(4, 10)
SCALE = np.float64(2.5)
TEXT = 'it\'s "quoted" \\ ünï\n'
VALUES: tuple[Any, ...] = (
    *(
        np.float16(0.1),
        np.longdouble(0.1),
        np.complex64(1 + 2j),
        complex(float("nan"), 1.0),
        2**40,
        -0.0,
        True,
        b"\x00'",
    ),
    *(
        np.array([[1, 2], [3, 4]], np.int64),
        np.zeros((0, 3), np.float32),
        np.full((5, 5), np.nan),
        TABLE,
    ),
    *(np.array(["a'b", 'c"d', "ü\\"]), [1.5, float("inf")], [b"x", "y"], (), TEXT),
)


def halved(x: tf.Tensor) -> tf.Tensor:
    """Half of it, whatever it is made of."""
    return tf.cast(tf.cast(x, tf.float32) * SHARE, x.dtype)


def tabled(x: tf.Tensor) -> tf.Tensor:
    """With an array of this module."""
    return x + tf.cast(tf.reduce_sum(tf.constant(TABLE)), x.dtype)


def scaler(size: int) -> Any:
    """A function with a variable, a number around it, and defaults that are hard to write."""

    def scaled(x: tf.Tensor, scale: Any = SCALE, name: str = TEXT) -> tf.Tensor:
        assert name == TEXT
        factors = v1.get_variable(
            "factors", [size], initializer=v1.constant_initializer(float(size))
        )
        return tf.cast(x, tf.float32) * tf.reduce_sum(factors) * scale * size

    return scaled


SHARE = 0.5


class Random:
    """Edits at random, most of which are refused."""

    def __init__(self, editor: tgw.GraphEditor, seed: int) -> None:
        self.editor, self.random = editor, random.Random(seed)
        self.done: Counter[str] = Counter()

    def op(self) -> str:
        return self.random.choice([*self.editor._core.index.names] or ["nothing"])

    def tensor(self, dtype: str = "") -> str:
        """A tensor, of the dtype where there is one."""
        index = self.editor._core.index
        report = [
            (f"{name}:{k}", d)
            for i, name in enumerate(index.names)
            for k, d in enumerate(index.dtypes(i))
        ]
        alike = [name for name, d in report if not dtype or d == dtype]
        return self.random.choice(alike or [f"{self.op()}:0"])

    def dtype(self, tensor: str) -> str:
        index, (op, _, port) = self.editor._core.index, tensor.rpartition(":")
        return (*index.dtypes(index.op(op)), "", "")[int(port)]

    def some(self) -> Any:
        """An op, or the scope around one."""
        op = self.op()
        return (
            self.editor.ops(scope=op.rpartition("/")[0])
            if "/" in op and self.random.random() < 0.5
            else op
        )

    def waits(self) -> tuple[str, str]:
        index = self.editor._core.index
        edges = list(
            zip(index.controls.owner.tolist(), index.controls.values.tolist(), strict=True)
        ) or [(0, 0)]
        a, b = self.random.choice(edges)
        return index.names[a], index.names[b]

    def new(self) -> str:
        return f"new_{self.random.randrange(10**6)}"

    def flag(self) -> tuple[str, str, bool]:
        """An attribute that is true or false, and the other value."""
        index = self.editor._core.index
        known = [
            (n.name, a, n.attr[a].b)
            for n in index.nodes
            for a in n.attr
            if n.attr[a].WhichOneof("value") == "b"
        ]
        op, name, value = self.random.choice(known or [(self.op(), "nothing", False)])
        return op, name, not value

    def constant(self) -> tuple[str, Any]:
        constants = [node for node in self.editor._core.index.nodes if node.op == "Const"]
        node = self.random.choice(constants or [v1.NodeDef(name="nothing")])
        value = tf.make_ndarray(node.attr["value"].tensor) if node.op == "Const" else 0.0
        return node.name, ~value if isinstance(
            value, np.ndarray
        ) and value.dtype == np.bool_ else value + value

    def into(self) -> str | None:
        """A scope, taken or hard to name in Python, or the default."""
        return self.random.choice([None, self.new(), "copy", "editor", "a/b", "np"])

    def value(self) -> Any:
        return VALUES[self.random.randrange(len(VALUES))]

    def options(self) -> dict[str, Any]:
        """Some options of a clone."""
        index, pick = self.editor._core.index, self.random.choice
        handles = [v.handle for v in index.variable_defs] or ["nothing"]
        options: dict[str, Any] = {
            "variables": pick(["own", "shared", {pick(handles): "shared"}]),
            "reseed": True,
            "placeholders": True,
            "times": 2,
            "device": pick(["/device:CPU:0", {"/device:CPU:0": self.op()}]),
            "src_scope": self.op().rpartition("/")[0],
            "replace": {self.tensor(): self.tensor()},
        }
        chosen = {key: value for key, value in options.items() if self.random.random() < 0.15}
        return {**chosen, "init": pick(["none", "initial", {pick(handles): self.value()}])}

    def choose(self) -> None:
        """Choose a boundary, half of one, ops, or nothing: no edit, but the next may take it."""
        editor = self.editor
        editor.selection = self.random.choice([None, editor.ops(self.op()).upstream()])
        editor.mark(
            *self.random.choice([(self.tensor(), self.tensor()), ((), self.tensor()), ((), ())])
        )

    def more(self, old: str, new: str) -> dict[str, Callable[[], Any]]:
        """The edits with more to say."""
        editor, pick = self.editor, self.random.choice
        inputs = [
            node.name for node in editor._core.index.nodes if node.op.startswith("Placeholder")
        ] or ["nothing"]
        return {
            "choose": self.choose,
            "clone chosen": lambda: editor.clone(into=self.into(), **self.options()),
            "clone outputs": lambda: editor.clone(
                outputs=[self.tensor()], into=self.into(), **self.options()
            ),
            "clone no inputs": lambda: editor.clone(
                [], [self.tensor()], into=self.into(), **self.options()
            ),
            "clone between": lambda: editor.clone(
                [old, self.tensor()], self.tensor(), **self.options()
            ),
            "clone some": lambda: editor.clone(self.some(), into=self.into(), **self.options()),
            "freeze": lambda: editor.freeze(pick([None, self.op()]), pick([(), self.tensor()])),
            "strip_training": lambda: editor.passes.strip_training(pick([None, self.op()])),
            "fold_batch_norm": editor.passes.fold_batch_norm,
            "replace": lambda: editor.replace(
                self.some(), pick([tf.nn.elu, tf.identity, lambda *x: x[0]]), self.into()
            ),
            "replace by ends": lambda: editor.replace(
                *(t.partition(":")[0] for t in (old, new)), outputs={old: new}
            ),
            "set_input": lambda: editor.passes.set_input(
                pick(inputs),
                pick([[2, 3], tf.TensorSpec([None, 3]), tf.float64]),
                fix=True,
                adapter=pick(["", "Cast"]),
            ),
            "call": lambda: editor.call(
                old, pick([halved, tabled, scaler(2), scaler(3)]), into=self.new()
            ),
            "insert options": lambda: editor.insert(
                old, "CheckNumerics", into=self.into(), message=TEXT
            ),
            "insert shape": lambda: editor.insert(
                old, "Reshape", shape=pick([[-1], np.array([-1, 1])])
            ),
            "insert table": lambda: editor.insert(old, pick([tabled, scaler(4)]), only=self.some()),
            "set any constant": lambda: editor.set_constant(
                pick([*inputs, self.constant()[0]]), self.value()
            ),
            "set text": lambda: editor.set_attr(
                self.op(), pick(["message", "container", "padding"]), TEXT
            ),
            "set_trainable": lambda: editor.set_trainable(self.some()),
            "swap ops": lambda: editor.swap(
                self.some(), self.some(), pick(["inputs", "outputs", "both"])
            ),
            "reroute many": lambda: editor.reroute([old, self.tensor()], [new, self.tensor()]),
            "detach named": lambda: editor.detach(self.op(), names=[self.new()]),
        }

    def step(self) -> None:
        """One edit, or a step back or forth; GraphEditError when it is refused."""
        editor, pick = self.editor, self.random.choice
        old = self.tensor()
        new = self.tensor(self.dtype(old))
        kinds: dict[str, Callable[[], Any]] = {
            "reroute": lambda: editor.reroute(old, to=new, adapter=pick(["", "Cast"])),
            "reroute some": lambda: editor.reroute(old, to=new, never=[self.op()]),
            "swap": lambda: editor.swap(old, new),
            "connect": lambda: editor.connect(new, self.op(), pick([None, 0, 1])),
            "bypass": lambda: editor.bypass(self.some()),
            "detach": lambda: editor.detach(self.some(), control=pick([True, False])),
            "insert": lambda: editor.insert(
                old, pick(["Identity", "StopGradient"]), into=self.new()
            ),
            "insert function": lambda: editor.insert(
                old, pick([halved, lambda x: x + x]), into=self.new()
            ),
            "remove": lambda: editor.remove(
                self.some(), consumers=pick([True, False]), prune=pick([True, False])
            ),
            "rename": lambda: editor.rename(self.op(), self.new()),
            "rename scope": lambda: editor.rename(self.op().rpartition("/")[0] + "/", self.new()),
            "set_device": lambda: editor.set_device(self.some(), pick(["/device:CPU:0", ""])),
            "set_attr": lambda: editor.set_attr(*self.flag()),
            "set_constant": lambda: editor.set_constant(*self.constant()),
            "add_control_inputs": lambda: editor.add_control_inputs(self.op(), self.op()),
            "remove_control_inputs": lambda: editor.remove_control_inputs(*self.waits()),
            "clone": lambda: editor.clone(
                editor.ops(self.op()).upstream(), into=self.new(), init="none"
            ),
            "undo": editor.undo,
            "redo": editor.redo,
            "jump": lambda: editor.history.goto(
                self.random.randrange(len(editor.history.done) + 1)
            ),
        }
        kinds |= self.more(old, new)
        kind = pick(list(kinds))
        kinds[kind]()
        self.done[kind] += 1


def canonical(node: v1.NodeDef) -> tuple[Any, ...]:
    """A NodeDef with its defaults written out; the order of control inputs and colocations is
    none.
    """
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
    attrs = sorted(
        (name, str(value)) for name, value in node.attr.items() if name not in NOT_COMPARED
    )
    return node.name, node.op, node.device, inputs, waits, attrs


def seen(graph_def: v1.GraphDef) -> list[tuple[Any, ...]]:
    return sorted(map(canonical, graph_def.node))


def whole(editor: tgw.GraphEditor) -> dict[str, list[str]]:
    """All that a graph is: ops, entries of collections in their order, variables, functions that
    are called.
    """
    index = editor._core.target.index
    return {
        "nodes": [repr(node) for node in seen(v1.GraphDef(node=index.nodes))],
        "collections": [
            f"{key}: {members}" for key, members in sorted(index.collections.items()) if members
        ],
        "variables": sorted(
            f"{v.handle} {v.initializer} {v.snapshot}" for v in index.variable_defs
        ),
        "functions": sorted(map(str, library_of(index, index.nodes).function)),
    }


def replayed(
    scripts: list[tuple[str, str]], folder: Path, python: list[str]
) -> list[dict[str, list[str]]]:
    """The graphs, as `whole` tells them, that some scripts give in a fresh process.

    Beside each script stands the live graph that it is for, or "".
    """
    outs = [str(folder / f"{k}.json") for k in range(len(scripts))]
    report = folder / "scripts.json"
    report.write_text(
        json.dumps([[*script, out] for script, out in zip(scripts, outs, strict=True)])
    )
    command = [*python, "-c", REPLAY, str(report)]
    done = subprocess.run(
        command, capture_output=True, check=False, cwd=Path(__file__).parents[2], text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(Path(out).read_text()) for out in outs]


def edited(path: Path, seed: int, *, live: bool) -> Random:
    """A graph of the corpus, or of another file, after some edits."""
    made = Random(opened(path, live=live), seed)
    for _ in range(TRIES):
        if made.done.total() >= WANTED:
            break
        try:
            made.step()
        except GraphEditError:
            continue
    return made


@pytest.mark.slow
def test_random_edits_are_the_same_in_a_fresh_process(
    tmp_path: Path, warm_python: list[str]
) -> None:
    seed = 1
    made = [(path, k % 3 == seed % 3) for k, path in enumerate(FILES)]
    edits = [edited(path, seed * 100 + k, live=live) for k, (path, live) in enumerate(made)]
    scripts = [
        (each.editor.history.to_script().text, f"graphs/{path.name}" if live else "")
        for each, (path, live) in zip(edits, made, strict=True)
    ]
    for each, found, (script, _) in zip(
        edits, replayed(scripts, tmp_path, warm_python), scripts, strict=True
    ):
        assert found == whole(each.editor), script
    done = sum((each.done for each in edits), Counter[str]())
    assert done.total() > 4 * len(FILES)
    assert len(done) > 15
    assert sum(bool(each.editor.history.done) for each in edits) > len(FILES) * 0.8


def opened(path: Path, *, live: bool) -> tgw.GraphEditor:
    """The file, or the live graph of the corpus that is in it."""
    if not live:
        return tgw.edit(path)
    graph = fresh_graph(f"graphs/{path.name}", [])
    return tgw.edit(graph, session=v1.Session(graph=graph))


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file whose ops have names that TensorFlow takes for none, with quotes and backslashes and
    lines.
    """
    graph_def, last = v1.GraphDef(), ""
    names = (
        "x",
        "q'uote",
        'd"ouble',
        "both'\"",
        "back\\slash",
        "ünï/cödé",
        "ünï/日本",
        "new\nline",
        "{brace}%s",
    )
    for name in names:
        node = graph_def.node.add(
            name=name, op="Relu" if last else "Placeholder", input=[last] if last else []
        )
        node.attr["T" if last else "dtype"].type = 1
        last = name
    path = tmp_path_factory.mktemp("odd") / 'it\'s "odd" ü.pb'
    path.write_bytes(graph_def.SerializeToString())
    return path


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.sample(1)
def test_random_edits_are_the_same_from_a_script_and_from_json(
    seed: int, odd: Path, tmp_path: Path
) -> None:
    chosen = [*FILES[seed::6], *([odd, MODELS / "dqn_online_train.meta"] if seed % 2 else [odd])]
    done: Counter[str] = Counter()
    scripts = written = 0
    for k, path in enumerate(chosen):
        live = path.parent.parent == CORPUS and k % 2 == 0
        each = edited(path, 900 + 10 * seed + k, live=live)
        done += each.done
        expected, script = whole(each.editor), each.editor.history.to_script("values.npz")
        if "# give here" not in script.text and not script.arrays:
            names: dict[str, Any] = {"__name__": "replayed"}
            graph = fresh_graph(f"graphs/{path.name}", []) if live else tf.Graph()
            with graph.as_default(), v1.Session(graph=graph):
                exec(compile(script.text, "script", "exec"), names)
            assert whole(names["editor"]) == expected, script.text
            scripts += 1
        if not any(
            callable(value)
            for step in each.editor.history.done
            for value in vars(step.command).values()
        ):
            again = opened(path, live=live)
            again.history.replay(each.editor.save(tmp_path / "edits.json"))
            assert whole(again) == expected, script.text
            written += 1
    assert scripts > len(chosen) / 2
    assert written
    assert done.total() > 3 * len(chosen)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.sample(1)
@pytest.mark.slow
def test_undo_gives_back_the_start_and_redo_the_end_collections_in_their_order(seed: int) -> None:
    for k, path in enumerate(FILES[seed::6]):
        live = k % 2 == 0
        start = whole(opened(path, live=live))
        each = edited(path, 500 + 10 * seed + k, live=live).editor
        end, count = whole(each), len(each.history.done)
        each.history.goto(0)
        assert whole(each) == start, each.history
        each.history.goto(count)
        assert whole(each) == end, each.history


def made_again(editor: tgw.GraphEditor, opened: Path) -> list[tgw.GraphEditor]:
    """The same from the script, from JSON and from a file of the editor."""
    names: dict[str, Any] = {}
    exec(compile(editor.history.to_script().text, "script", "exec"), names)
    replaying = tgw.edit(opened)
    replaying.history.replay(editor.save(opened.with_suffix(".json")))
    return [
        names["editor"],
        replaying,
        tgw.edit(editor.save(opened.with_suffix(".tgw"), verify=False)),
    ]


@pytest.mark.parametrize("method", ["bypass", "clone", "rename"])
def test_ops_that_have_another_type_keep_their_names_when_tensorflow_imports_them(
    method: str, tmp_path: Path
) -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2, 3], name="x")
        tf.nn.relu(
            tf.nn.max_pool2d(tf.reshape(x, [1, 2, 3, 1]), 2, 1, "VALID", name="pool"), name="out"
        )
    (tmp_path / "a.pb").write_bytes(graph.as_graph_def().SerializeToString())
    editor = tgw.edit(tmp_path / "a.pb")
    editor.passes.cast("float16")
    assert editor.session is not None
    assert "pool_1" not in editor._core.index.ids, (
        "TensorFlow imports the file as edits have made it"
    )
    done = {
        "bypass": lambda: editor.bypass("pool"),
        "rename": lambda: editor.rename("pool", "net/pool"),
        "clone": lambda: editor.clone("x:0", "pool:0", into="copy"),
    }
    done[method]()
    for again in made_again(editor, tmp_path / "a.pb"):
        assert whole(again) == whole(editor)


def test_names_are_obfuscated_by_a_script_as_they_were_with_a_session(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        v1.get_variable("w", [2], use_resource=True)
        v1.train.export_meta_graph(str(tmp_path / "a.meta"), graph=graph)
    editor = tgw.edit(tmp_path / "a.meta")
    assert editor.session is not None
    assert "the keys of 1 variable" in str(editor.passes.obfuscate_names())
    for again in made_again(editor, tmp_path / "a.meta"):
        assert whole(again) == whole(editor)
    fresh = tgw.edit(tmp_path / "a.meta")
    fresh.passes.obfuscate_names()
    assert "editor.graph" not in fresh.history.to_script().text, (
        "no session has asked for the names"
    )


LATER: dict[str, Callable[[tgw.GraphEditor], object]] = {
    "bypass": lambda editor: editor.bypass("pool"),
    "rename": lambda editor: editor.rename("pool", "net/pool"),
    "insert": lambda editor: editor.insert("pool:0", "Neg", name="negative"),
    "set_attr": lambda editor: editor.set_attr("pool", "padding", "VALID"),
    "clone": lambda editor: editor.clone("x:0", "pool:0", into="copy", init="none"),
    "obfuscate_names": lambda editor: editor.passes.obfuscate_names(),
    "remove": lambda editor: (editor.bypass("size"), editor.remove("size")),
}


@pytest.mark.parametrize("later", LATER)
def test_edits_of_ops_that_have_another_type_are_made_again_when_tensorflow_imports_them(
    later: str, tmp_path: Path
) -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [1, 2, 4, 1], name="x")
        tf.nn.relu(tf.abs(tf.nn.max_pool2d(x, 2, 1, "SAME", name="pool"), name="size"), name="out")
    (tmp_path / "a.pb").write_bytes(graph.as_graph_def().SerializeToString())
    editor = tgw.edit(tmp_path / "a.pb")
    before = list(editor._core.index.nodes)
    editor.passes.cast("float16")
    LATER[later](editor)
    names = [
        op
        for op, readers in zip(
            editor._core.index.names, editor._core.index.consumer_lists, strict=True
        )
        if not readers
    ]
    fed = np.arange(8, dtype=np.float32).reshape(1, 2, 4, 1)
    with tf.Graph().as_default() as file, v1.Session(graph=file) as session:
        tf.graph_util.import_graph_def(
            v1.GraphDef.FromString(editor.save(tmp_path / "b.pb").read_bytes()), name=""
        )
        (place,) = [op.name for op in file.get_operations() if op.type == "Placeholder"]
        expected = session.run([f"{name}:0" for name in names], {f"{place}:0": fed})
    assert editor.session is not None, "TensorFlow imports the file"
    results = editor.session.run([f"{name}:0" for name in names], {f"{place}:0": fed})
    for result, value in zip(results, expected, strict=True):
        assert np.array_equal(result, value)
    edited = whole(editor)
    while editor.history.done:
        editor.undo()
    assert [(node.name, node.op) for node in editor._core.index.nodes] == [
        (node.name, node.op) for node in before
    ]
    while editor.history.undone:
        editor.redo()
    assert {name: sorted(parts) for name, parts in whole(editor).items()} == {
        name: sorted(parts) for name, parts in edited.items()
    }


def test_a_signature_that_a_file_got_after_a_change_of_types_stays_when_tensorflow_imports_it(
    tmp_path: Path,
) -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [1, 2, 4, 1], name="x")
        tf.nn.relu(tf.nn.max_pool2d(x, 2, 1, "SAME", name="pool"), name="out")
    (tmp_path / "a.pb").write_bytes(graph.as_graph_def().SerializeToString())
    editor = tgw.edit(tmp_path / "a.pb")
    editor.passes.cast("float16")
    editor.signatures.add("pooled", {"image": "x:0"}, {"pool": "pool:0"})
    assert editor.session is not None
    (signature,) = tuple(editor.signatures.values())
    assert signature.outputs == (("pool", "pool:0"),)
    editor.undo()
    assert tuple(editor.signatures.values()) == ()
    editor.redo()
    assert tuple(editor.signatures.values()) == (signature,)

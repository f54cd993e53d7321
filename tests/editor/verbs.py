"""Every public method on every kind of source: what happens, as a table.

`python -m tests.editor.verbs` writes docs/verbs.md; tests/editor/test_every_verb.py compares it.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import tfgraphwidget as tgw
from tests.editor import file_verbs
from tests.no_tensorflow import packages_without_tensorflow, run_without_tensorflow
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError

v1 = tf.compat.v1
PAGE = Path(__file__).parents[2] / "docs" / "verbs.md"


def sequential() -> keras.Model:
    layers = [
        keras.layers.Dense(8, activation="relu"),
        keras.layers.BatchNormalization(),
        keras.layers.Dense(3),
    ]
    return keras.Sequential([keras.Input((4,)), *layers])


def functional() -> keras.Model:
    x = keras.Input((4,))
    hidden = keras.layers.Dense(8, activation="relu")(x)
    return keras.Model(x, [keras.layers.Dense(3)(hidden) * 2.0, hidden])


class Subclassed(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.out = keras.layers.Dense(8, activation="relu"), keras.layers.Dense(3)

    def call(self, x: Any) -> Any:
        return self.out(self.hidden(x)) * 2.0


class Module(tf.Module):
    """Two functions and two variables."""

    def __init__(self) -> None:
        super().__init__()
        self.w, self.b = (
            tf.Variable(tf.ones([4, 8]) / 4.0, name="w"),
            tf.Variable(tf.zeros([8]), name="b"),
        )

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32)])
    def hidden(self, x: Any) -> Any:
        return tf.nn.relu(tf.matmul(x, self.w) + self.b) * 2.0

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32)])
    def twice(self, x: Any) -> Any:
        return {"y": self.hidden(x) * 2.0, "x": tf.nn.relu(x)}


def graph_with(build: Callable[[Any], Any]) -> tuple[tf.Graph, Any]:
    """A graph x → w → Relu → `build` → out, and its session with values."""
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 4], "x")
        w = v1.get_variable(
            "w", [4, 8], initializer=v1.initializers.random_uniform(seed=1), use_resource=True
        )
        out = tf.identity(build(tf.nn.relu(tf.matmul(x, w))) * 2.0, "out")
        v1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(out), name="train")
        session = v1.Session()
        session.run(v1.global_variables_initializer())
    return graph, session


def called(x: Any) -> Any:
    """A call of a function."""
    inner = tf.function(lambda y: tf.nn.relu(y) * 2.0, autograph=False)
    return inner(x)


def controlled(x: Any) -> Any:
    """While, If, Case and map_fn as functional ops."""
    x = tf.while_loop(lambda i, _: i < 2, lambda i, y: (i + 1, tf.nn.relu(y) * 0.5), (0, x))[1]
    x = tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * 2.0, lambda: x - 1.0)
    x = tf.switch_case(tf.constant(1), [lambda: x, lambda: x + 1.0])
    return tf.map_fn(lambda row: tf.nn.relu(row) * 3.0, x)


@contextmanager
def functional_control_flow() -> Iterator[None]:
    v1.enable_control_flow_v2()
    try:
        yield
    finally:
        v1.disable_control_flow_v2()


@dataclass
class Sources:
    """How each kind is opened; files are written once to a folder."""

    folder: Path
    made: dict[str, Any] = field(default_factory=dict)

    def kinds(self) -> dict[str, Callable[[], GraphEditor]]:
        return {
            "graph and session": lambda: self.live("plain", tf.identity),
            "graph with calls": lambda: self.live("calls", called),
            "graph with While, If, Case": lambda: self.live("control", controlled),
            "`tf.function`": lambda: tgw.edit(self.once("module", Module).hidden),
            "nested `tf.function`": lambda: tgw.edit(self.once("module", Module).twice),
            "Keras Sequential": lambda: tgw.edit(self.once("sequential", sequential)),
            "Keras Functional": lambda: tgw.edit(self.once("functional", functional)),
            "Keras subclass": lambda: tgw.edit(self.once("subclass", self.subclassed)),
            "Keras export": lambda: tgw.edit(self.once("export", self.export)),
            "SavedModel of a module": lambda: tgw.edit(
                self.once("saved", self.save_module), signature="twice"
            ),
            "SavedModel of TF 1": lambda: tgw.edit(self.once("v1", self.save_v1)),
            "`.meta`, checkpoint": lambda: tgw.edit(
                self.once("meta", self.save_meta), checkpoint=str(self.folder / "m.ckpt")
            ),
            "frozen `.pb`": lambda: tgw.edit(self.once("pb", self.save_frozen)),
        }

    def once(self, key: str, make: Callable[[], Any]) -> Any:
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    def live(self, key: str, build: Callable[[Any], Any]) -> GraphEditor:
        def make() -> tuple[tf.Graph, Any]:
            with functional_control_flow():
                return graph_with(build)

        graph, session = make()
        return tgw.edit(graph, session=session)

    def subclassed(self) -> keras.Model:
        model = Subclassed()
        model(tf.ones([1, 4]))
        return model

    def export(self) -> str:
        sequential().export(str(self.folder / "export"), verbose=False)
        return str(self.folder / "export")

    def save_module(self) -> str:
        module, path = Module(), str(self.folder / "saved")
        signatures = {"hidden": module.hidden, "twice": module.twice}
        tf.saved_model.save(module, path, signatures=signatures)
        return path

    def save_v1(self) -> str:
        path = str(self.folder / "v1")
        graph, session = graph_with(tf.identity)
        with graph.as_default(), session:
            ends = {"x": graph.get_tensor_by_name("x:0")}, {"y": graph.get_tensor_by_name("out:0")}
            v1.saved_model.simple_save(session, path, *ends)
        return path

    def save_meta(self) -> str:
        path = str(self.folder / "m.ckpt")
        graph, session = graph_with(tf.identity)
        with graph.as_default(), session:
            v1.train.Saver().save(session, path)
        return f"{path}.meta"

    def save_frozen(self) -> str:
        path = self.folder / "frozen.pb"
        with functional_control_flow():
            graph, session = graph_with(lambda x: controlled(called(x)))
        frozen = v1.graph_util.convert_variables_to_constants(
            session, graph.as_graph_def(), ["out"]
        )
        path.write_bytes(frozen.SerializeToString())
        return str(path)


def first(editor: GraphEditor, op_type: str, holds: Callable[[Any], bool] = lambda _: True) -> str:
    """The name of the first op of a type in the current graph, or in the functions that its ops
    call, then entered.
    """
    depth = len(editor.view.breadcrumb) - 1
    for node in editor._core.index.nodes:
        if node.op == op_type and holds(node):
            return str(node.name)
    for name in editor._core.index.names:
        for called in editor.view.called_functions(name):
            editor.view.enter(name, called.label)
            with suppress(LookupError):
                return first(editor, op_type, holds)
            editor.view.leave(depth)
    raise LookupError(op_type)


def relu(editor: GraphEditor) -> str:
    return first(editor, "Relu")


def ends(editor: GraphEditor) -> tuple[list[str], list[str]]:
    """Input and output of the Relu."""
    name = relu(editor)
    given = editor._core.index.nodes[editor._core.index.op(name)].input[0]
    return [given if ":" in given else f"{given}:0"], [f"{name}:0"]


def consumer(editor: GraphEditor) -> tuple[str, int]:
    """The op that reads the Relu, and at which input."""
    name = relu(editor)
    op = editor._core.index.op(name)
    reader = editor._core.index.nodes[editor._core.index.consumer_lists[op][0]]
    return reader.name, next(
        k for k, text in enumerate(reader.input) if text.partition(":")[0] == name
    )


def one_of(names: Iterable[str]) -> str:
    """The first of some names; LookupError if there is none."""
    name = next(iter(names), "")
    if not name:
        raise LookupError("names")
    return name


def private_attribute(editor: GraphEditor) -> str:
    """An attribute that TensorFlow's Python has written to an op."""
    return one_of(
        key for node in editor._core.index.nodes for key in node.attr if key.startswith("_")
    )


def control_input(editor: GraphEditor) -> tuple[str, str]:
    """An op that waits for another one, and that one."""
    editor.view.leave(0)
    waiting = one_of(
        n.name for n in editor._core.index.nodes if any(text.startswith("^") for text in n.input)
    )
    inputs = editor._core.index.nodes[editor._core.index.op(waiting)].input
    return waiting, one_of(text[1:] for text in inputs if text.startswith("^"))


def with_signature(editor: GraphEditor) -> GraphEditor:
    """The editor, whose file or function has one more signature."""
    editor.signatures.add(
        "middle", inputs={"x": ends(editor)[0][0]}, outputs={"y": ends(editor)[1][0]}
    )
    return editor


def constant(editor: GraphEditor) -> str:
    """The constant 2.0."""
    editor.view.leave(0)
    return (
        f"{first(editor, 'Const', lambda node: node.attr['value'].tensor.float_val[:] == [2.0])}:0"
    )


def results(editor: GraphEditor) -> list[list[str]]:
    """The outputs of a graph that has no function's results."""
    return [["out:0"]] if "out" in editor._core.index.ids else []


def weight(editor: GraphEditor) -> str:
    found = list(editor.find("is:trainable"))
    if not found:
        raise LookupError("variables")
    return str(found[0])


def feeds(editor: GraphEditor) -> dict[str, Any]:
    wanted = [
        name
        for name, kind in zip(editor._core.index.names, editor._core.index.types, strict=True)
        if kind == "Placeholder"
    ]
    return {f"{name}:0": np.ones([2, 4], np.float32) for name in wanted[:1]}


Method = Callable[[GraphEditor, Path], Any]
LOOKS: dict[str, Method] = {
    "between": lambda e, _: e.between(*ends(e)),
    "view.color_by": lambda e, _: e.view.color_by("type"),
    "compare": lambda e, _: e.compare(feeds(e)),
    "table with costs": lambda e, _: e.table(batch=1),
    "diff": lambda e, _: e.diff(),
    "draw": lambda e, _: e.view.to_svg(),
    "view.enter": lambda e, _: relu(e),
    "extract": lambda e, _: e.extract(*ends(e)),
    "find": lambda e, _: e.find("Relu"),
    "to_function": lambda e, _: e.to_function(),
    "match like": lambda e, _: e.match(tgw.pattern(e.ops(relu(e))))[0],
    "match": lambda e, _: e.match("Relu(x)", functions=True)[0],
    "measure": lambda e, _: e.measure(ends(e)[1], feeds(e)),
    "to_module": lambda e, _: e.to_module(),
    "to_networkx": lambda e, _: e.to_networkx(),
    "passes.grappler": lambda e, _: e.passes.grappler(*results(e)),
    "preview": lambda e, _: e.preview(e.clone, *ends(e), into="looked"),
    "probe": lambda e, _: e.probe(ends(e)[1], feeds(e)),
    "history.to_script": lambda e, _: e.history.to_script(),
    "table": lambda e, _: e.table(),
    "find trainable": lambda e, _: e.find("is:trainable"),
    "save .pb": lambda e, to: e.save(to / "a.pb"),
    "save .pbtxt": lambda e, to: e.save(to / "a.pbtxt"),
    "save .meta": lambda e, to: e.save(to / "a.meta"),
    "save SavedModel": lambda e, to: e.save(to / "saved/"),
    "save .html": lambda e, to: e.save(to / "a.html"),
    "save .svg": lambda e, to: e.save(to / "a.svg"),
    "save .dot": lambda e, to: e.save(to / "a.dot"),
    "save .graphml": lambda e, to: e.save(to / "a.graphml"),
    "save TensorBoard": lambda e, to: e.save(to / "logs", format="tensorboard"),
}
EDITS: dict[str, Method] = {
    "add": lambda e, _: e.add(tgw.example().graph.as_graph_def(), into="added"),
    "add_control_inputs": lambda e, _: e.add_control_inputs(relu(e), first(e, "Placeholder")),
    "signatures.add": lambda e, _: e.signatures.add("middle", outputs={"y": ends(e)[1][0]}),
    "bypass": lambda e, _: e.bypass(relu(e)),
    "passes.cast": lambda e, _: e.passes.cast("float16"),
    "passes.change_batch_size": lambda e, _: e.passes.change_batch_size(2),
    "clone": lambda e, _: e.clone(*ends(e), into="cloned"),
    "connect": lambda e, _: e.connect(ends(e)[0][0], *consumer(e)),
    "detach": lambda e, _: e.detach(relu(e), inputs=False),
    "passes.fold_batch_norm": lambda e, _: e.passes.fold_batch_norm(),
    "passes.fold_constants": lambda e, _: e.passes.fold_constants(),
    "freeze": lambda e, _: e.freeze(*results(e)),
    "call": lambda e, _: e.call(ends(e)[1], tf.nn.tanh, into="grown"),
    "insert": lambda e, _: e.insert(ends(e)[1][0], tf.nn.tanh),
    "passes.merge_duplicates": lambda e, _: e.passes.merge_duplicates(),
    "passes.obfuscate_names": lambda e, _: e.passes.obfuscate_names(),
    "set_device": lambda e, _: e.set_device(relu(e), "/cpu:0"),
    "passes.quantize_weights": lambda e, _: e.passes.quantize_weights(minimum=8),
    "signatures.reorder": lambda e, _: with_signature(e).signatures.reorder("middle", {"z": "x"}),
    "remove": lambda e, _: e.remove(relu(e), consumers=True),
    "passes.remove_attr": lambda e, _: e.passes.remove_attr(private_attribute(e)),
    "passes.remove_collection": lambda e, _: e.passes.remove_collection(
        one_of(e._core.index.collections)
    ),
    "remove_control_inputs": lambda e, _: e.remove_control_inputs(*control_input(e)),
    "passes.remove_devices": lambda e, _: e.passes.remove_devices(),
    "passes.remove_functions": lambda e, _: e.view.leave(0) or e.passes.remove_functions(),
    "passes.remove_identities": lambda e, _: e.passes.remove_identities(),
    "signatures.remove": lambda e, _: with_signature(e).signatures.remove("middle"),
    "rename": lambda e, _: e.rename(relu(e), "renamed"),
    "signatures.rename": lambda e, _: with_signature(e).signatures.rename("middle", "between"),
    "passes.rename_type": lambda e, _: e.passes.rename_type("Relu", "Relu6"),
    "replace": lambda e, _: e.replace(relu(e), tf.nn.tanh),
    "replace_all": lambda e, _: relu(e) and e.replace_all("Relu(x)", "Elu(x)"),
    "replace_all in functions": lambda e, _: (
        e.view.leave(0) or e.replace_all("Relu(x)", tf.nn.tanh, functions=True)
    ),
    "passes.set_input": lambda e, _: e.passes.set_input(next(iter(feeds(e))), shape=[2, 4]),
    "reroute": lambda e, _: e.reroute(ends(e)[1][0], ends(e)[0][0]),
    "passes.round_weights": lambda e, _: e.passes.round_weights(4, minimum=8),
    "set_attr": lambda e, _: e.set_attr(first(e, "MatMul"), "grad_a", True),
    "set_constant": lambda e, _: e.set_constant(constant(e), 3.0),
    "set_trainable": lambda e, _: weight(e) and e.set_trainable(),
    "passes.sort": lambda e, _: e.passes.sort(),
    "passes.strip_training": lambda e, _: e.passes.strip_training(*results(e)),
    "swap": lambda e, _: e.swap(ends(e)[0][0], ends(e)[1][0], never=[relu(e)]),
}


@dataclass(frozen=True)
class Outcome:
    """What a call did: "ok", the sentence of a refusal, or an error that is a defect."""

    text: str
    is_defect: bool = False


def outcome(call: Callable[[], Any]) -> Outcome:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # notices of what is saved
            call()
    except GraphEditError as error:
        return Outcome(generic(error.why))
    except LookupError:
        return Outcome("no op of that kind")
    except Exception as error:
        return Outcome(f"{type(error).__name__}: {error}", is_defect=True)
    return Outcome("ok")


# The sentences that say that there is nothing to do in this network.
IDLE = (
    *(
        "There is no batch normali",
        "so there is nothing to strip",
        "no op of that kind",
        "leave it out.",
    ),
    *(
        "no op of type",
        "makes constants of the variables",
        "TensorFlow lists the ops of a live graph",
    ),
)


def generic(sentence: str) -> str:
    """A refusal without the names of this process."""
    sentence = re.sub(r"(/[\w.-]+)+/(?=[\w.-]+)", "…/", sentence)
    # Keras and TensorFlow number what they name.
    return re.sub(r"(_N)+\b", "", re.sub(r"\d+", "N", sentence))


def outcomes(kinds: Iterable[str] = ()) -> dict[str, dict[str, Outcome]]:
    """By method and kind. Edits are undone; what is left then is compared with what was there."""
    folder = Path(tempfile.mkdtemp())
    found: dict[str, dict[str, Outcome]] = {method: {} for method in (*LOOKS, *EDITS)}
    try:
        for kind, opened in Sources(folder).kinds().items():
            if kinds and kind not in kinds:
                continue
            editor = opened()
            for method, look in LOOKS.items():
                to = Path(tempfile.mkdtemp(dir=folder))
                editor.view.leave(0)
                relu(editor)
                found[method][kind] = outcome(
                    lambda look=look, to=to, editor=editor: look(editor, to)
                )
            for method, edit in EDITS.items():
                found[method][kind] = outcome(
                    lambda edit=edit, opened=opened: run_edit(opened(), edit, folder)
                )
    finally:
        shutil.rmtree(folder)
    return found


def run_edit(editor: GraphEditor, edit: Method, folder: Path) -> None:
    """Edit, make the function or the file of it, and undo.

    Raises what the edit raises, and AssertionError if undo leaves a difference.
    """
    relu(editor)
    before = editor.diff()
    assert not before, before
    done = len(editor.history.done)
    edit(editor, folder)
    editor.view.leave(0)
    if editor.graph is None and editor._core.source.stored is None:
        editor.to_module()
    else:
        editor.save(Path(tempfile.mkdtemp(dir=folder)) / "edited.pb")
    while len(editor.history.done) > done:
        editor.undo()
    left = editor.diff()
    assert not left, f"undo leaves {left!r}"


def cell(result: Outcome, sentences: dict[str, int]) -> str:
    """What the table shows of a call; a refusal is the number of its sentence."""
    if result.text == "ok":
        return "✓"
    if any(sentence in result.text for sentence in IDLE):
        return "-"
    return str(sentences.setdefault(result.text, len(sentences) + 1))


def page(found: dict[str, dict[str, Outcome]]) -> str:
    """The table of all sources as Markdown; refusals are numbered below it."""
    kinds = list(next(iter(found.values())))
    sentences: dict[str, int] = {}
    lines = [f"| | {' | '.join(kinds)} |", f"|---|{'---|' * len(kinds)}"]
    for method, by_kind in found.items():
        cells = [cell(by_kind[kind], sentences) for kind in kinds]
        lines.append(f"| `{method}` | {' | '.join(cells)} |")
    notes = [f"{number}. {sentence}" for sentence, number in sentences.items()]
    head = (
        "# What works on which source\n\n"
        "Every method of the editor on every kind of source, on a network of a few layers.\n"
        "✓ works, - has nothing to do here; a number is the sentence of the refusal below, which\n"
        "says why TensorFlow forces it.\n"
        "`python -m tests.editor.verbs` writes this page.\n"
    )
    return "\n".join((head, *lines, "", *notes, ""))


def file_models(folder: Path) -> Path:
    """Write a file of each kind to a folder."""
    sources = Sources(folder)
    sources.save_frozen(), sources.save_meta(), sources.save_v1(), sources.save_module()
    graph, _ = graph_with(tf.identity)
    for shapes in (False, True):
        graph_def = graph.as_graph_def(add_shapes=shapes)
        (folder / f"graph{int(shapes)}.pb").write_bytes(graph_def.SerializeToString())
        tf.io.write_graph(graph_def, str(folder), f"graph{int(shapes)}.pbtxt")
    return folder


def outcomes_without_tensorflow(
    models: Path | None = None, out: Path | None = None, kinds: Iterable[str] = file_verbs.KINDS
) -> file_verbs.Outcomes:
    """What methods do on files where TensorFlow is not installed, by kind; the edited graphs are
    saved in `out`.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name in ("models", "out", "packages"):
            (Path(folder) / name).mkdir()
        models, out = models or file_models(Path(folder) / "models"), out or Path(folder) / "out"
        packages = packages_without_tensorflow(Path(folder) / "packages")
        command = ("-m", "tests.editor.file_verbs", str(models), str(out), *kinds)
        run = run_without_tensorflow(packages, *command, cwd=out)
        assert run.returncode == 0, run.stderr[-2000:]
        return file_verbs.read(out)


def without_tensorflow(done: Mapping[str, Mapping[str, file_verbs.Outcome]]) -> str:
    """The methods on files where TensorFlow is not installed, as Markdown."""
    lines = [
        "## Without TensorFlow",
        "",
        "Methods on files where TensorFlow is not installed: ✓ works, - has nothing to do here, TF",
        "needs TensorFlow and says so: `pip install 'tfgraphwidget[tensorflow]'`. Static shapes of",
        "rarer op types are unknown then, and the edit says so. Where TensorFlow is installed,",
        "what works here imports it only for these shapes, for the values of copied variables, and",
        "to check what `save` has written.",
        "",
        f"| | {' | '.join(done)} |",
        f"|---|{'---|' * len(done)}",
    ]
    columns = [column_without_tensorflow(by_method) for by_method in done.values()]
    lines += [
        f"| `{method}` | {' | '.join(cells)} |"
        for method, *cells in zip(file_verbs.METHODS, *columns, strict=True)
    ]
    return "\n".join((*lines, ""))


def column_without_tensorflow(done: Mapping[str, file_verbs.Outcome]) -> list[str]:
    """What the page says of each method on one kind of file where TensorFlow is not installed."""
    return [
        "✓" if each.text == "ok" else "TF" if each.is_refused else "-"
        for each in (done[method] for method in file_verbs.METHODS)
    ]


if __name__ == "__main__":
    found = outcomes(sys.argv[1:])
    for method, by_kind in found.items():
        for kind, result in by_kind.items():
            if result.is_defect:
                print(f"{method} on {kind}: {result.text[:300]}")  # noqa: T201
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(
        f"{page(found)}\n{without_tensorflow(outcomes_without_tensorflow())}", encoding="utf-8"
    )

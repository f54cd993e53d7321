"""Files are opened, drawn, searched, edited and saved in a process that does not import
TensorFlow.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import initialised, v1
from tests.graphs import build_mlp
from tests.no_tensorflow import packages_without_tensorflow, run_without_tensorflow
from tests.slow import slow

STEPS = """
import sys
import tfgraphwidget as tgw
editor = tgw.edit(sys.argv[1])
editor.view.scene()
slow = {"IPython", "matplotlib", "networkx", "numpy.ma", "pandas", "scipy", "statistics"}
slow &= sys.modules.keys()
assert not slow, f"the first drawing imports {slow}"
relu = "net/two/out"
for step in (
    "editor.view.scene()", "editor.find('type:MatMul')", "editor.inspect(relu)",
    "editor.upstream(relu)",
    "editor.selection", "editor.bypass(relu)", "editor.undo()", "editor.redo()", "editor.diff()",
    "editor.rename(editor._core.index.names[3], 'renamed')", "editor.history.to_script().text",
    "editor.history.records()", "editor.table()",
    *(f"editor.save(sys.argv[2] + {suffix!r})" for suffix in (".pb", ".pbtxt", ".json", ".py")),
    *(
        f"editor.save(sys.argv[2] + {suffix!r})"
        for suffix in (".html", ".svg", ".png", ".dot", ".graphml")
    ),
    "tgw.edit(sys.argv[1]).history.replay(sys.argv[2] + '.json')",
    "editor.view.widget",
):
    exec(step)
    assert "tensorflow" not in sys.modules, step
print(len(editor._core.index))
"""


@pytest.mark.parametrize("source", ["graph.pb", "graph.pbtxt", "model.meta"])
def test_a_file_that_has_its_shapes_is_opened_drawn_edited_and_saved(
    source: str, tmp_path: Path
) -> None:
    path = tmp_path / source
    with build_mlp(resource=True).as_default() as graph:
        graph_def = graph.as_graph_def(add_shapes=True)
        if path.suffix == ".meta":
            v1.train.export_meta_graph(str(path), graph_def=graph_def)
        else:
            tf.io.write_graph(graph_def, str(tmp_path), source, as_text=path.suffix == ".pbtxt")
    command = [sys.executable, "-c", STEPS, str(path), str(tmp_path / "edited")]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    with tf.Graph().as_default() as again:
        tf.import_graph_def(v1.GraphDef.FromString((tmp_path / "edited.pb").read_bytes()), name="")
        assert len(again.get_operations()) == int(run.stdout)


BOUND = """
import sys
import tfgraphwidget as tgw
from tfgraphwidget.tensorflow_modules import _Lazy
tgw.edit(sys.argv[1]).view.scene()
assert "tensorflow" not in sys.modules
if sys.argv[2] == "graph":
    import tensorflow as tf
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(
            tf.compat.v1.GraphDef.FromString(open(sys.argv[1], "rb").read()), name=""
        )
    tgw.edit(graph)
else:
    tgw.edit(sys.argv[1]).clone(["x:0"], ["net/logits:0"], into="copy", init="initial")
assert "tensorflow" in sys.modules
ours = {
    name: module for name, module in sys.modules.items() if name.split(".")[0] == "tfgraphwidget"
}
assert "tfgraphwidget.tf_internals" in ours
print([
    (name, key)
    for name, module in ours.items()
    for key, value in vars(module).items() if type(value) is _Lazy
])
"""


@pytest.mark.parametrize("first", [slow("graph"), "clone"])
@pytest.mark.slow
def test_once_tensorflow_is_imported_every_module_has_tensorflow_itself(
    first: str, tmp_path: Path
) -> None:
    """Else Python of ours would run under TensorFlow's locks, which an interrupt then leaves
    held.
    """
    path = tmp_path / "graph.pb"
    path.write_bytes(build_mlp(resource=True).as_graph_def(add_shapes=True).SerializeToString())
    run = subprocess.run(
        [sys.executable, "-c", BOUND, path, first], capture_output=True, text=True, check=False
    )
    assert run.stdout == "[]\n", run.stderr[-2000:]


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All packages of this environment but TensorFlow and what comes with it."""
    return packages_without_tensorflow(tmp_path_factory.mktemp("packages"))


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a graph in each format that is opened."""
    folder = tmp_path_factory.mktemp("models")
    with build_mlp(resource=True).as_default() as graph, initialised(graph) as session:
        tf.io.write_graph(graph, str(folder), "graph.pb", as_text=False)
        tf.io.write_graph(graph, str(folder), "graph.pbtxt")
        v1.train.Saver().save(session, str(folder / "model"))
        tensors = (
            {key: graph.get_tensor_by_name(name)}
            for key, name in (("x", "x:0"), ("y", "net/logits:0"))
        )
        v1.saved_model.simple_save(session, str(folder / "saved"), *tensors)
        meta = v1.train.export_meta_graph()
        meta.signature_def["beyond"].outputs["y"].name = "net/logits:3"
        (folder / "ends.meta").write_bytes(meta.SerializeToString())
        (folder / "w.txt").write_text(str(session.run("net/one/w/Read/ReadVariableOp:0").tolist()))
    with tf.Graph().as_default():
        queue = v1.FIFOQueue(9, [tf.float32], name="queue")
        v1.train.add_queue_runner(
            v1.train.QueueRunner(queue, [queue.enqueue([tf.constant(7.0)], name="fill")])
        )
        queue.dequeue(name="next")
        v1.train.export_meta_graph(str(folder / "queue.meta"))
    module = tf.Module()
    module.w = tf.Variable(tf.ones([3, 2]), name="w")
    module.call = tf.function(
        lambda x: tf.nn.relu(x @ module.w), [tf.TensorSpec([None, 3], name="x")]
    )
    tf.saved_model.save(module, str(folder / "module"), signatures=module.call)
    return folder


WITHOUT = """
import importlib.util, json, pathlib, pickle, shutil, warnings
import numpy
import tfgraphwidget as tgw
warnings.simplefilter("ignore")
assert importlib.util.find_spec("tensorflow") is None
relu = "net/two/out"
for source in ("graph.pb", "graph.pbtxt", "model.meta", "saved", "saved/saved_model.pb"):
    editor = tgw.edit(source)
    assert len(editor.view.scene().box) and editor.find("type:MatMul") and editor.upstream(relu)
    assert len(editor.table()) == len(editor._core.index) == len(editor.table(batch=1))
    assert "Relu" in repr(editor.inspect(relu))
    before = editor._core.index.names
    editor.bypass(relu)
    editor.rename("net/one/out", "renamed")
    editor.remove("net/logits")
    assert len(editor.diff().rows()) >= 2 and len(editor.diff(source).rows()) >= 2
    editor.undo(), editor.undo(), editor.redo()
    assert "renamed" in editor._core.index.ids and "net/logits" in editor._core.index.ids
    for suffix in (".pb", ".pbtxt", ".json", ".py", ".html", ".svg", ".png", ".dot", ".graphml"):
        assert editor.save("edited" + suffix).stat().st_size
    assert [*tgw.edit("edited.pb")] == [*tgw.edit("edited.pbtxt")] == [*editor]
    again = tgw.edit(source)
    again.history.replay("edited.json")
    assert again._core.index.names == editor._core.index.names and editor.view.widget
    editor.history.goto(0)
    assert editor._core.index.names == before
    assert tgw.edit(editor.to_networkx())._core.index.ids.keys() == set(before)
editor = tgw.edit("model.meta")
editor.rename("net/one/out", "renamed")
editor.save("edited.meta")
assert tgw.edit("edited.meta")._core.index.collections == editor._core.index.collections
editor = tgw.edit("queue.meta")
editor.rename("queue", "renamed")
editor.rename("fill", "filled"), editor.undo(), editor.rename("fill", "refill")
editor.save("edited_queue.meta")
assert (
    tgw.edit(pathlib.Path("graph.pb").read_bytes())._core.index.names
    == tgw.edit("graph.pb")._core.index.names
)
module = tgw.edit("module")
assert module.find("type:MatMul") and module.view.scene()
x = module._core.executor.inputs_and_outputs[0][0]
y = next(node.name for node in module._core.index.nodes if node.op == "Relu")
for part in (module.extract(x, y), *module.split(module.ops(type="MatMul").ops[0], x, y)):
    index = part._core.index
    assert not {"resource"} & {dtype for op in part.inputs for dtype in index.dtypes(index.op(op))}
part = module.extract(x, y)
assert part.inspect("w").value.value.tolist() == [[1, 1]] * 3
assert (part.inputs, part.outputs) == ((x,), (y,))
part.save("part.meta"), part.save("part.pb", frozen=True)
module.save("module.meta"), module.save("module.pb", frozen=True)
shutil.copytree("module", "damaged")
values = pathlib.Path("damaged/variables/variables.data-00000-of-00001")
values.write_bytes(bytes(24) + values.read_bytes()[24:])
for act in (
    lambda e: e.save("damaged.pb", frozen=True),
    lambda e: e.save("damaged.meta"),
    lambda e: e.freeze(),
):
    damaged = tgw.edit("damaged")
    try:
        act(damaged)
        raise AssertionError("nothing was refused")
    except tgw.GraphEditError as error:
        assert "has another checksum than its bytes; copy it again" in str(error), error
    assert not damaged.history.done and not list(pathlib.Path().glob("damaged.*"))
module.freeze()
assert "VarHandleOp" not in {node.op for node in module._core.index.nodes} and module.diff().rows()
module.undo()
editor = tgw.edit("model.meta", checkpoint="model")
editor.rename("net/one/w", "net/one/kernel")
copy = editor.clone("x:0", "net/logits:0", into="copy")
assert repr(copy) == "<Copy 'copy': 43 ops, 4 variables of its own>", copy
editor.save("values.meta")
again = tgw.edit("values.meta", checkpoint="values")
weights = again.inspect("net/one/kernel").value.value
assert (
    weights.tolist() == json.loads(pathlib.Path("w.txt").read_text()) and not again.source.notices
)
assert again.inspect("copy/net/one/kernel").value.value.tolist() == weights.tolist()
editor.undo()
assert editor.save("logs", format="tensorboard").stat().st_size
other = pickle.loads(pickle.dumps(editor))
assert other.history.lines == editor.history.lines
assert other.inspect("net/one/kernel").value.value.tolist() == weights.tolist()
other.undo(), editor.undo()
assert other.inspect("net/one/w").value.value.tolist() == weights.tolist()
assert editor.inspect("net/one/w").value.value.tolist() == json.loads(
    pathlib.Path("w.txt").read_text()
)
refusals = []
for call in (
    lambda: editor.graph, lambda: editor.insert("net/one/out:0", lambda x: x),
    lambda: tgw.example(),
    lambda: editor.save("folder/", "x:0", "net/logits:0"), lambda: tgw.edit(),
    lambda: editor.probe("net/logits:0", {"x:0": numpy.ones((1, 3))}),
    lambda: __import__("tfgraphwidget.graph_editor"),
):
    try:
        call()
    except tgw.GraphEditError as error:
        refusals.append(str(error))
    else:
        refusals.append("nothing was refused")
print(*refusals, sep="\\n")
assert not editor.history.done
"""


def test_files_of_each_format_are_opened_edited_and_saved_where_tensorflow_is_not_installed(
    packages: Path, models: Path
) -> None:
    run = run_without_tensorflow(packages, "-c", WITHOUT, cwd=models)
    assert run.returncode == 0, run.stderr[-3000:]
    refusals = run.stdout.splitlines()
    assert len(refusals) == 7
    assert [
        refusal for refusal in refusals if "pip install 'tfgraphwidget[tensorflow]'" not in refusal
    ] == []
    needs = [
        refusal.partition(" needs TensorFlow")[0]
        for refusal in refusals
        if " needs TensorFlow, " in refusal
    ]
    assert {"graph", "insert", "example", "save", "probe"} <= set(needs)
    with tf.Graph().as_default() as graph:
        v1.train.import_meta_graph(str(models / "edited.meta"), clear_devices=True)
        assert len(v1.global_variables()) == 4
        assert graph.get_operation_by_name("renamed")
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        v1.train.import_meta_graph(str(models / "values.meta")).restore(
            session, str(models / "values")
        )
        weights = session.run(
            next(v for v in v1.global_variables() if v.op.name == "net/one/kernel")
        )
        assert weights.tolist() == json.loads((models / "w.txt").read_text())
    with tf.Graph().as_default(), v1.Session() as session:
        v1.train.import_meta_graph(str(models / "edited_queue.meta"))
        coordinator = tf.train.Coordinator()
        v1.train.start_queue_runners(session, coordinator)
        assert session.run("next:0") == 7.0
        coordinator.request_stop()
    for name in ("part", "module"):
        with tf.Graph().as_default(), v1.Session() as session:
            v1.train.import_meta_graph(str(models / f"{name}.meta")).restore(
                session, str(models / name)
            )
            assert session.run("Relu:0", {"x:0": [[1.0, -2.0, 3.0]]}).tolist() == [[2.0, 2.0]]
        with tf.Graph().as_default(), v1.Session() as session:
            tf.import_graph_def(
                v1.GraphDef.FromString((models / f"{name}.pb").read_bytes()), name=""
            )
            assert session.run("Relu:0", {"x:0": [[1.0, -2.0, 3.0]]}).tolist() == [[2.0, 2.0]]


COMMANDS = {
    "info saved": "net/one/w",
    "info model.meta": "variables",
    "show --html page.html graph.pb": "page.html",
    "diff graph.pb changed.pb": "renamed",
    "code graph.pb edits.json": "editor.rename(",
    "export graph.pb again.pbtxt --edits edits.json": "again.pbtxt",
    "export graph.pb again.svg": "again.svg",
    "lint --json graph.pb": "[",
    "lint ends.meta": "Signature 'beyond' names 'net/logits:3'",
    "diff model.meta model.meta": "No difference.",
}
"""Arguments of the command -> what it prints."""
RUN_COMMANDS = """
import contextlib, io, json, sys
import tfgraphwidget as tgw
from tfgraphwidget.__main__ import main
editor = tgw.edit("graph.pb")
editor.rename("net/one/out", "renamed")
editor.save("changed.pb"), editor.save("edits.json")
printed = []
for command in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        status = main(command.split())
    printed.append([status, out.getvalue()])
print(json.dumps(printed))
"""


def test_the_commands_for_files_run_where_tensorflow_is_not_installed(
    packages: Path, models: Path
) -> None:
    run = run_without_tensorflow(
        packages, "-c", RUN_COMMANDS, json.dumps(list(COMMANDS)), cwd=models
    )
    assert run.returncode == 0, run.stderr[-3000:]
    for (command, expected), (status, output) in zip(
        COMMANDS.items(), json.loads(run.stdout), strict=True
    ):
        assert not status or command.startswith(("diff graph.pb", "lint")), command
        assert expected in output, command


def test_a_page_asks_for_all_but_a_run_where_tensorflow_is_not_installed(
    packages: Path, models: Path
) -> None:
    run = run_without_tensorflow(
        packages, "-m", "tests.widget.file_requests", "model.meta", "model", cwd=models
    )
    assert run.returncode == 0, run.stderr[-3000:]
    replies = json.loads(run.stdout)
    refused = {kind: why for kind, _, why in replies if why}
    assert refused == {
        "Probe": "probe needs TensorFlow, which is not installed: run pip install "
        "'tfgraphwidget[tensorflow]'.",
        "Measure": "measure needs TensorFlow, which is not installed: run pip install "
        "'tfgraphwidget[tensorflow]'.",
    }
    edits = {reply for kind, reply, _ in replies if kind in ("Clone", "Add", "Undo", "Redo")}
    assert edits == {"SceneReply"}
    assert len(replies) > 70


BARE = """
import json, sys
import tfgraphwidget as tgw
from tfgraphwidget.__main__ import main
editor = tgw.edit("graph.pb")
editor.view.color_by("FLOPs"), editor.view.scene(), editor.view.widget
editor.diff("graph.pb"), editor.lint()
repr(editor.inspect())
editor.rename("net/one/out", "renamed")
for suffix in (".pb", ".pbtxt", ".json", ".py", ".html", ".svg", ".dot"):
    assert editor.save("bare" + suffix).stat().st_size
assert not main(["info", "saved"]) and not main(["show", "--html", "bare2.html", "graph.pb"])
refusals = []
for call in (
    editor.table, lambda: editor.table(batch=1),
    lambda: editor.diff("graph.pb").table(), editor.draw, editor.to_networkx,
    lambda: editor.save("bare.png"), lambda: editor.save("bare.graphml"),
    lambda: tgw.edit("graph.pb", layout=lambda graph: {}).view.scene(),
):
    try:
        call()
        refusals.append("nothing was refused")
    except tgw.GraphEditError as error:
        refusals.append(str(error))
assert not {"pandas", "matplotlib", "networkx", "scipy"} & sys.modules.keys()
print(json.dumps(refusals))
"""


def test_files_are_looked_at_and_edited_where_pandas_matplotlib_and_networkx_are_missing(
    models: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    optional = ("pandas", "matplotlib", "mpl_toolkits", "networkx", "scipy", "PIL", "fontTools")
    packages = packages_without_tensorflow(tmp_path_factory.mktemp("bare"), *optional)
    run = run_without_tensorflow(packages, "-c", BARE, cwd=models)
    assert run.returncode == 0, run.stderr[-3000:]
    refusals = json.loads(run.stdout.splitlines()[-1])
    missing = ["pandas"] * 3 + ["matplotlib", "networkx", "matplotlib", "networkx", "networkx"]
    ends = [f"which is not installed: run pip install {package}." for package in missing]
    assert [text for text, end in zip(refusals, ends, strict=True) if not text.endswith(end)] == []


AGAIN = """
import tfgraphwidget as tgw
editor = tgw.edit("function.tgw")
editor.rename("Relu", "renamed")
editor.save("again.tgw")
again = tgw.edit("again.tgw")
again.undo()
again.save("undone.tgw")
print(again.ops("Relu").ops)
"""


def test_a_function_that_was_written_is_edited_and_written_again_without_tensorflow(
    packages: Path, tmp_path: Path
) -> None:
    module, spec = tf.Module(), {"x": tf.TensorSpec([None, 2], tf.float32, "x")}
    module.w = tf.Variable([[1.0], [2.0]], name="w")
    module.t = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [0.5]), 0.0)

    def compute(x: Any) -> Any:
        return {
            "y": tf.nn.relu(x["x"] @ module.w + module.t.lookup(tf.constant(["a"])), name="Relu")
        }

    module.f = tf.function(compute, input_signature=[spec])
    tgw.edit(module.f).save(tmp_path / "function.tgw")
    run = run_without_tensorflow(packages, "-c", AGAIN, cwd=tmp_path)
    assert run.stdout == "('Relu',)\n", run.stderr
    for name, lines in (("again", ('editor.rename(old="Relu", new="renamed")',)), ("undone", ())):
        editor = tgw.edit(tmp_path / f"{name}.tgw")
        assert editor.history.lines == lines
        assert editor.to_module("there")({"x": tf.constant([[3.0, 4.0]])})[
            "y"
        ].numpy().tolist() == [[11.5]]

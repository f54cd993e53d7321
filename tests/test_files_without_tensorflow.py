"""Files are opened, drawn, searched, edited and saved in a process that does not import TensorFlow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import tensorflow as tf

from tests.conftest import v1
from tests.graphs import build_mlp

STEPS = """
import sys
import tfgraphwidget as tgw
editor = tgw.edit(sys.argv[1])
relu = "net/two/out"
for step in (
    "editor.scene()", "editor.find('type:MatMul')", "editor.inspect(relu)", "editor.upstream(relu)",
    "editor.selection", "editor.bypass(relu)", "editor.undo()", "editor.redo()", "editor.diff()",
    "editor.rename(editor.index.names[3], 'renamed')", "editor.code()", "editor.edits()", "editor.table()",
    *(f"editor.save(sys.argv[2] + {suffix!r})" for suffix in (".pb", ".pbtxt", ".json", ".py")),
    *(f"editor.save(sys.argv[2] + {suffix!r})" for suffix in (".html", ".svg", ".png", ".dot", ".graphml")),
    "tgw.edit(sys.argv[1]).replay(sys.argv[2] + '.json')",
    "editor.widget",
):
    exec(step)
    assert "tensorflow" not in sys.modules, step
print(len(editor.index))
"""


@pytest.mark.parametrize("source", ["graph.pb", "graph.pbtxt", "model.meta"])
def test_a_file_that_has_its_shapes_is_opened_drawn_edited_and_saved(source: str, tmp_path: Path) -> None:
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
tgw.edit(sys.argv[1]).scene()
assert "tensorflow" not in sys.modules
if sys.argv[2] == "graph":
    import tensorflow as tf
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(tf.compat.v1.GraphDef.FromString(open(sys.argv[1], "rb").read()), name="")
    tgw.edit(graph)
else:
    tgw.edit(sys.argv[1]).clone(["x:0"], ["net/logits:0"], into="copy", init="initial")
assert "tensorflow" in sys.modules
ours = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "tfgraphwidget"}
assert "tfgraphwidget.tf_internals" in ours
print([(name, key) for name, module in ours.items() for key, value in vars(module).items() if type(value) is _Lazy])
"""


@pytest.mark.parametrize("first", ["graph", "clone"])
def test_once_tensorflow_is_imported_every_module_has_tensorflow_itself(first: str, tmp_path: Path) -> None:
    """Else Python of ours would run under TensorFlow's locks, which an interrupt then leaves held."""
    path = tmp_path / "graph.pb"
    path.write_bytes(build_mlp(resource=True).as_graph_def(add_shapes=True).SerializeToString())
    run = subprocess.run([sys.executable, "-c", BOUND, path, first], capture_output=True, text=True, check=False)
    assert run.stdout == "[]\n", run.stderr[-2000:]

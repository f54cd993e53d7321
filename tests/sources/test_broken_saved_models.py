"""SavedModels of TensorFlow 2 with one broken function: opened, drawn, named by lint, fixed, saved
and run.
"""

from __future__ import annotations

import shutil
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tfgraphwidget.lint.structure import BROKEN
from tfgraphwidget.sources import tf_protos

SPEC = [tf.TensorSpec([None, 4], tf.float32)]
RUN = (
    "import sys, tensorflow as tf; "
    "print(tf.saved_model.load(sys.argv[1]).signatures[sys.argv[2]](tf.ones([1, 4]))['y']"
    ".numpy().tolist())"
)


class Model(tf.Module):
    """y = relu(x @ w) * 2 + b, by a function in a function; and a function of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.w, self.b = (
            tf.Variable(tf.ones([4, 3]) / 2, name="w"),
            tf.Variable(tf.ones([3]), name="b"),
        )

    @tf.function(input_signature=SPEC)
    def inner(self, x: Any) -> Any:
        return tf.nn.relu(tf.matmul(x, self.w)) * 2.0

    @tf.function(input_signature=SPEC)
    def outer(self, x: Any) -> Any:
        return {"y": self.inner(x) + self.b}

    @tf.function(input_signature=SPEC)
    def other(self, x: Any) -> Any:
        return {"y": tf.sin(x) * 0.0}


def ops(meta: Any, kind: str) -> list[tuple[Any, Any]]:
    """The functions that have ops of a type, with these."""
    return [
        (f, node) for f in meta.graph_def.library.function for node in f.node_def if node.op == kind
    ]


def reads(kind: str, *inputs: str) -> Callable[[Any], None]:
    def harm(meta: Any) -> None:
        for _, node in ops(meta, kind):
            node.input[:] = inputs

    return harm


def renamed(meta: Any) -> None:
    ((function, node),) = ops(meta, "Relu")
    old, node.name = node.name, "a b"
    for other in function.node_def:
        other.input[:] = [text.replace(f"{old}:", "a b:") for text in other.input]


def doubled(meta: Any) -> None:
    ((function, node),) = ops(meta, "Relu")
    function.node_def.add().CopyFrom(node)


def of_other_dtype(meta: Any) -> None:
    ((_, node),) = ops(meta, "Relu")
    node.attr["T"].type = 3


def without_value(meta: Any) -> None:
    ((_, node),) = ops(meta, "Relu")
    node.attr["T"].Clear()


def without_result(meta: Any) -> None:
    ((function, _),) = ops(meta, "Relu")
    for key in function.ret:
        function.ret[key] = "gone:output:0"


def calling_nothing(meta: Any) -> None:
    """The outer function calls one that is not there, under the name that it had before."""
    ((function, _),) = ops(meta, "Relu")
    for _, node in ops(meta, "StatefulPartitionedCall"):
        if node.attr["f"].func.name == function.signature.name:
            node.attr["f"].func.name = "no_such_function"


def call_again(editor: Any) -> None:
    (finding,) = editor.lint(only=BROKEN)
    inner = next(name for name in editor._core.index.functions if "inner" in name)
    editor.set_attr(finding.ops[0], "f", inner)


class Kind(NamedTuple):
    """What is broken, the rule that finds it, and the edit; None for the fix of lint."""

    harm: Callable[[Any], None]
    code: str
    edit: Callable[[Any], object] | None = None


KINDS = {
    "missing": Kind(
        reads("Relu", "gone:output:0"), "missing-inputs", lambda e: e.reroute("gone", to="MatMul")
    ),
    "wrong port": Kind(reads("Relu", "MatMul:product:4"), "wrong-ports"),
    "too few": Kind(
        reads("MatMul", "x"),
        "input-counts",
        lambda e: e.connect("MatMul/ReadVariableOp", "MatMul", 1),
    ),
    "dtype": Kind(of_other_dtype, "input-dtypes"),
    "name": Kind(renamed, "invalid-names"),
    "two of a name": Kind(doubled, "duplicate-names"),
    "no value": Kind(without_value, "attributes", lambda e: e.set_attr("Relu", "T", "float32")),
    "cycle": Kind(reads("Relu", "mul:z:0"), "cycles", lambda e: e.connect("MatMul", "Relu", 0)),
    "no result": Kind(
        without_result, "missing-results", lambda e: e.insert("mul:0", "Identity", name="gone")
    ),
    "no function": Kind(calling_nothing, "attributes", call_again),
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model, path = Model(), tmp_path_factory.mktemp("models") / "sound"
    tf.saved_model.save(
        model, str(path), signatures={"serving_default": model.outer, "other": model.other}
    )
    return path


def broken(sound: Path, path: Path, harm: Callable[[Any], None]) -> Path:
    shutil.copytree(sound, path)
    model = tf_protos.SavedModel.FromString((path / "saved_model.pb").read_bytes())
    harm(model.meta_graphs[0])
    (path / "saved_model.pb").write_bytes(model.SerializeToString())
    return path


def saved(editor: tgw.GraphEditor, path: str) -> list[str]:
    """Save, and return the notices."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        editor.save(path)
    return [str(each.message) for each in caught]


def enter_what(editor: tgw.GraphEditor, sentence: str) -> None:
    """Enter the function that a finding names, as its sentence says."""
    name = sentence.partition("editor.view.enter('")[2].partition("'")[0]
    if name:
        editor.view.enter(name)


def run(path: Path, python: list[str]) -> str:
    """What TensorFlow gives for ones. Names of functions are those of a whole process, so another
    one runs the file.
    """
    command = [*python, "-c", RUN, str(path), "serving_default"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not result.returncode, result.stderr[-1000:]
    return result.stdout.strip()


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.sample(2)
def test_one_broken_function_is_named_and_fixed(
    name: str, sound: Path, tmp_path: Path, warm_python: list[str]
) -> None:
    kind, path = KINDS[name], broken(sound, tmp_path / "broken", KINDS[name].harm)
    for signature in ("serving_default", "other"):
        assert tgw.edit(path, signature=signature).view.to_svg()
    editor = tgw.edit(path)
    assert editor.view.to_svg()
    finding = editor.lint(only=BROKEN)[0]
    assert finding.code == kind.code
    assert "function" in finding.sentence
    assert any("is written again" in notice for notice in saved(editor, f"{tmp_path}/again/"))
    enter_what(editor, finding.sentence)
    if kind.edit is None:
        editor.apply(editor.lint(only=BROKEN)[0].fix)
    else:
        kind.edit(editor)
    assert not editor.lint(only=BROKEN)
    editor.view.leave(0)
    assert not editor.lint(only=BROKEN)
    assert not [
        notice for notice in saved(editor, f"{tmp_path}/fixed/") if "written again" in notice
    ]
    assert not tgw.edit(tmp_path / "fixed").lint(only=BROKEN)
    while editor.history.done:
        editor.undo()
    assert editor.lint(only=BROKEN)[0].code == kind.code
    assert run(tmp_path / "fixed", warm_python) == "[[5.0, 5.0, 5.0]]"


def test_a_function_whose_result_is_gone_is_edited_before_it_is_fixed(
    sound: Path, tmp_path: Path, warm_python: list[str]
) -> None:
    editor = tgw.edit(broken(sound, tmp_path / "broken", without_result))
    enter_what(editor, editor.lint(only=BROKEN)[0].sentence)
    editor.set_constant("mul/y", 4.0)
    editor.call("mul:0", tf.identity, into="grown")
    assert editor.lint(only=BROKEN)[0].code == "missing-results"
    editor.insert("mul:0", "Identity", name="gone")
    assert not editor.lint(only=BROKEN)
    editor.view.leave(0)
    editor.save(f"{tmp_path}/fixed/")
    assert run(tmp_path / "fixed", warm_python) == "[[9.0, 9.0, 9.0]]"

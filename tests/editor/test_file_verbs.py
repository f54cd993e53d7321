"""Each method on files: what works where TensorFlow is not installed, with the same result, and
what asks for it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import pytest
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

import tfgraphwidget as tgw
from tests.editor import file_verbs
from tests.editor.file_verbs import Outcome
from tests.editor.public_names import public_methods
from tests.editor.verbs import (
    PAGE,
    column_without_tensorflow,
    file_models,
    outcomes_without_tensorflow,
    without_tensorflow,
)
from tests.edits.test_freezing import normalised
from tests.no_tensorflow import packages_without_tensorflow, run_without_tensorflow
from tfgraphwidget import edits
from tfgraphwidget.edits.registry import commands
from tfgraphwidget.graph import GraphIndex

ALIKE = (
    *("frozen `.pb`", "`.pb` without shapes", "`.pbtxt`", "bytes", "GraphDef", "`.meta`"),
    *("SavedModel of TF 1", "`saved_model.pb`"),
)
SOME = ("inspect", "cost", "scene", "rename", "clone shared", "insert", "save .pbtxt", "undo")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of each kind."""
    return file_models(tmp_path_factory.mktemp("models"))


Bare = Callable[[str], tuple[dict[str, Outcome], Path]]


@pytest.fixture(scope="module")
def bare(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Bare:
    """What methods do on a kind of file where TensorFlow is not installed, and the folder of the
    edited graphs.
    """

    @cache
    def done(kind: str) -> tuple[dict[str, Outcome], Path]:
        out = tmp_path_factory.mktemp("bare")
        return outcomes_without_tensorflow(models, out, [kind])[kind], out

    return done


def test_each_public_method_is_tried() -> None:
    others = {"view.unpin", "draw", "preview"}  # in the calls of others
    tried = {method.partition(" ")[0] for method in file_verbs.METHODS}
    assert public_methods() - tried - others == set()


@pytest.mark.parametrize("kind", file_verbs.KINDS)
@pytest.mark.sample(1)
def test_without_tensorflow_no_method_fails_other_than_by_a_sentence(kind: str, bare: Bare) -> None:
    texts = [f"{method}: {each.text}" for method, each in bare(kind)[0].items()]
    assert [text for text in texts if "DEFECT" in text] == []
    refused = [text for text in texts if "TensorFlow" in text and "[tensorflow]" in text]
    assert [
        text
        for text in refused
        if not text.endswith(("'tfgraphwidget[tensorflow]'.", "its checkpoint."))
    ] == []


@pytest.mark.slow
def test_the_page_of_the_documentation_says_what_works_without_tensorflow(bare: Bare) -> None:
    done = {kind: bare(kind)[0] for kind in file_verbs.KINDS}
    assert without_tensorflow(done) in PAGE.read_text(encoding="utf-8"), (
        "python -m tests.editor.verbs writes it"
    )


@pytest.mark.parametrize("kind", file_verbs.KINDS)
@pytest.mark.sample(2)
def test_the_page_says_of_each_kind_what_works_without_tensorflow(kind: str, bare: Bare) -> None:
    _, table = PAGE.read_text(encoding="utf-8").split("## Without TensorFlow\n")
    rows = [line[2:-2].split(" | ") for line in table.splitlines() if line.startswith("| `")]
    assert [row[0] for row in rows] == [f"`{method}`" for method in file_verbs.METHODS]
    column = 1 + file_verbs.KINDS.index(kind)
    assert [row[column] for row in rows] == column_without_tensorflow(bare(kind)[0])


def nodes(path: Path) -> dict[str, bytes]:
    """The ops of a file by name."""
    graph_def = tf.compat.v1.GraphDef.FromString(path.read_bytes())
    for node in graph_def.node:
        for name in (
            "_output_shapes",
            "output_shapes",
        ):  # those that are unknown without TensorFlow
            node.attr.pop(name, None)
        definition = op_def_registry.get(node.op)
        for attr in (
            definition.attr if definition else ()
        ):  # TensorFlow's importer writes defaults out
            if attr.HasField("default_value") and node.attr.get(attr.name) == attr.default_value:
                node.attr.pop(attr.name)
    functions = {function.signature.name: function for function in graph_def.library.function}
    every = {node.name: node for node in graph_def.node} | functions
    return {name: each.SerializeToString(deterministic=True) for name, each in every.items()}


# The gradients of what is new, which a note says are lacking without it.
BY_TENSORFLOW = {"insert", "replace", "replace_all", "replace_all in functions"}


@pytest.mark.parametrize("kind", ["`.meta`, checkpoint", "frozen `.pb`", "SavedModel"])
@pytest.mark.sample(1)
def test_edits_without_tensorflow_give_the_graphs_that_they_give_with_it(
    kind: str, bare: Bare, models: Path, tmp_path: Path
) -> None:
    done, out = bare(kind)
    edits = [
        method
        for method, each in done.items()
        if each.edited and each.text == "ok" and method not in BY_TENSORFLOW
    ]
    assert len(edits) > 30
    again = file_verbs.run(models, tmp_path, [kind], edits)[kind]
    refused = {method for method, each in again.items() if each.text != "ok"}
    assert refused == ACCEPTED.get(kind, set())
    different: list[str] = []
    for path in sorted(tmp_path.glob("*/*.pb")):
        with_it, without = nodes(path), nodes(out / path.relative_to(tmp_path))
        different += [
            f"{path.stem}: {n}"
            for n in with_it.keys() | without
            if with_it.get(n) != without.get(n)
        ]
    assert different == []


def test_other_files_open_as_those_do_without_tensorflow(
    models: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    code = (
        "import sys; from pathlib import Path; from tests.editor.file_verbs import run\n"
        f"done = run(Path({str(models)!r}), Path({str(tmp_path)!r}), {ALIKE!r}, {SOME!r})\n"
        "print(*(f'{k} {v}: {e.text}' for k, by in done.items() for v, e in by.items() if e.text "
        "!= 'ok'), len(done))"
    )
    packages = packages_without_tensorflow(tmp_path_factory.mktemp("packages"))
    run = run_without_tensorflow(packages, "-c", code, cwd=tmp_path)
    assert run.stdout == f"{len(ALIKE)}\n", run.stderr[-2000:]


@pytest.mark.slow
def test_where_tensorflow_is_installed_nothing_of_this_imports_it(
    bare: Bare, models: Path, tmp_path: Path
) -> None:
    """But shapes that do not follow by our own shape functions, and clones with values."""
    command = [
        sys.executable,
        "-m",
        "tests.editor.file_verbs",
        str(models),
        str(tmp_path),
        "`.pb`",
        "SavedModel",
    ]
    subprocess.run(command, check=True, cwd=Path(__file__).parents[2], capture_output=True)
    for kind, methods in file_verbs.read(tmp_path).items():
        works = {method for method, each in bare(kind)[0].items() if not each.is_refused}
        asks = {method for method, each in methods.items() if each.asked}
        assert len(works) > 80
        assert asks & works - ASKS[kind] == set()


# What TensorFlow refuses, and we cannot: shapes after op types that we do not infer, which are
# unknown then, and the initial values of variables that come without any.
ACCEPTED = {"frozen `.pb`": {"bypass MatMul"}, "SavedModel": {"add"}}
# What TensorFlow is imported for where it is installed: values of clones, the check of what is
# written, other shapes.
_VALUES = {
    "add",
    "add with values",
    "clone with variables",
    "clone init initial",
    "clone init value",
    "edit",
}
_WRITTEN = {"save .meta", "save frozen .pb"}
_SHAPES = {
    *(
        "bypass MatMul",
        "cast",
        "change_batch_size",
        "fold_constants",
        "merge_duplicates",
        "obfuscate_names",
    ),
    *("set_input", "set_input dtype", "set_attr shapes", "set_constant placeholder"),
}
ASKS = {
    "`.pb`": _VALUES | _WRITTEN | _SHAPES,
    "SavedModel": {"add", "add with values", "save .html"} | _WRITTEN,
}


def test_the_impact_of_each_command_is_what_it_then_changes(models: Path, tmp_path: Path) -> None:
    tried = set[str]()
    kinds, normalized = file_verbs.sources(models), normalised("fused")[0]
    names = [*file_verbs.METHODS]
    calls = [
        *product(
            (kinds["`.meta`, checkpoint"], kinds["frozen `.pb`"]), names[names.index("clone") :]
        )
    ]
    for opened, name in [*calls, (lambda: tgw.edit(normalized), "passes.fold_batch_norm")]:
        editor, act = opened(), file_verbs.METHODS[name]
        if name in tried:
            continue
        file_verbs.outcome(lambda act=act, editor=editor: act(editor, tmp_path))
        if (
            not editor.history.done
            or editor.view.breadcrumb[1:]
            or editor._core.executor.history.done[-1].command.command_name() in WITHOUT_IMPACT
        ):
            continue
        *earlier, last = editor._core.executor.history.done
        editor = opened()
        for step in earlier:
            editor.apply(step.command)
        index = editor._core.index
        report = editor.preview(last.command)
        assert editor._core.index is index
        assert len(editor.history.done) == len(earlier)
        check_impact(report, editor.apply(last.command), index, editor._core.index)
        tried.add(last.command.command_name())
    assert tried == commands().keys() - WITHOUT_IMPACT, (
        "a method of tests/editor/file_verbs.py makes each"
    )


WITHOUT_IMPACT = {"call"}
"""What a function adds is known once it was called."""


def check_impact(
    report: edits.Edits | edits.Preview, done: edits.Edits, old: GraphIndex, new: GraphIndex
) -> None:
    """Compare what an edit was to do with what it says that it has done, and with the graphs."""
    before, after = (
        {node.name: (node.op, *node.input, node.device) for node in index.nodes if node is not None}
        for index in (old, new)
    )
    if isinstance(report, edits.Preview):
        assert len(report.ops) * len(report.scopes) <= len(done.added)
        report = done
    assert replace(report, lost=(), notes=()) == replace(done, lost=(), notes=())
    assert (
        after.keys() - before.keys()
        == {*report.added, *(new for _, new in report.renamed)} - before.keys()
    )
    assert (
        before.keys() - after.keys()
        == {*report.removed, *(old for old, _ in report.renamed)} - after.keys()
    )
    assert {name for name in before.keys() & after.keys() if before[name] != after[name]} <= {
        *report.changed,
        *report.added,
    }

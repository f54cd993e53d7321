"""Importing the package costs next to nothing: the heavy libraries come with the first call that
needs them.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tfgraphwidget
from tfgraphwidget.edits import registry
from tfgraphwidget.errors import PackageMissing
from tfgraphwidget.layout.free_form.overlap_removal import remove_overlaps
from tfgraphwidget.sources import tf_protos

pytestmark = pytest.mark.no_tensorflow

MODEL = Path(__file__).parents[1] / "notebooks" / "models" / "slim_inception_v3_infer.meta"
PACKAGE = Path(tfgraphwidget.__file__).parent
HEAVY = {
    "tensorflow",
    "matplotlib",
    "anywidget",
    "ipywidgets",
    "networkx",
    "pandas",
    "scipy",
    "IPython",
    "regex",
}
DRAW = (
    f"import tfgraphwidget as tgw; editor = tgw.edit({str(MODEL)!r}); "
    "editor._core.paint(editor.view.scene())"
)


# What is only loaded when something is edited, run, searched, compared or saved.
LATER = {
    "edits.clone", "edits.command", "edits.freeze", "edits.passes", "edits.rewire", "edits.rewrite",
    "edits.serialization", "editor.archive", "editor.inspection", "editor.joining",
    "editor.keras_layers", "editor.linting", "editor.replay", "editor.saving",
    "editor.signature_copies", "editor.synchronization", "editor.traced_growth", "export",
    "graph.patterns", "graph.query", "lint", "runtime.functions", "runtime.measure",
    "runtime.sandbox", "runtime.session", "runtime.sync", "sources.describe.ops",
}  # fmt: skip


def all_modules_after(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after running the code."""
    report = f"{code}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", report], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def modules_after(code: str) -> set[str]:
    """Top-level modules that a fresh interpreter has loaded after running the code."""
    return {name.partition(".")[0] for name in all_modules_after(code)}


def package_of(module: str) -> str:
    """What of LATER a module is in; "" for none, and for a front, which loads nothing by itself."""
    name = module.removeprefix("tfgraphwidget.")
    is_front = (PACKAGE / name.replace(".", "/") / "__init__.py").is_file()
    return next((each for each in LATER if f"{name}.".startswith(f"{each}.") and not is_front), "")


def test_import_is_light():
    assert modules_after("import tfgraphwidget") & HEAVY == set()


def test_a_file_is_opened_and_drawn_without_a_heavy_package():
    assert modules_after(DRAW) & HEAVY == set()


def test_a_drawing_of_what_updates_variables_loads_no_masked_arrays(tmp_path: Path):
    graph_def = tf_protos.GraphDef()
    for name, op, *inputs in (
        ("x", "Placeholder"),
        ("total", "VarHandleOp"),
        ("add", "AssignAddVariableOp", "total", "x"),
    ):
        graph_def.node.add(name=name, op=op, input=inputs)
    file = tmp_path / "metric.pb"
    file.write_bytes(graph_def.SerializeToString())
    drawn = DRAW.replace(repr(str(MODEL)), repr(str(file)))
    assert "numpy.ma" not in all_modules_after(drawn)  # 20 ms, as long as drawing takes


def test_a_drawing_loads_no_command_and_nothing_that_runs_compares_or_saves():
    loaded = all_modules_after(DRAW)
    assert "tfgraphwidget.editor.executor" in loaded
    assert (
        sorted(
            module
            for module in loaded
            if module.startswith("tfgraphwidget.") and package_of(module)
        )
        == []
    )
    assert loaded.isdisjoint(kind.__module__ for kind in registry.commands().values())


def test_a_page_of_a_file_loads_nothing_that_edits_or_runs(tmp_path: Path):
    command = ["show", str(MODEL), "--html", str(tmp_path / "page.html")]
    loaded = all_modules_after(f"from tfgraphwidget.cli import main; main({command})")
    later = {package_of(name) for name in loaded if name.startswith("tfgraphwidget.")}
    assert later == {"", "export", "sources.describe.ops"}
    needless = (
        "editor.executor",
        "editor.graph_view",
        "editor.places.opened_graph",
        "edits.patch",
        "sources.opening",
    )
    assert loaded.isdisjoint(f"tfgraphwidget.{name}" for name in needless)


def test_a_file_is_described_without_numpy():
    loaded = modules_after(f"from tfgraphwidget.cli import main; main(['info', {str(MODEL)!r}])")
    assert loaded & {*HEAVY, "numpy"} == set()


def test_an_edit_loads_the_module_of_its_command_and_few_others():
    loaded = all_modules_after(
        f"{DRAW}; editor.rename('net/InceptionV3/Predictions/Softmax', 'softmax')"
    )
    commands = loaded & {kind.__module__ for kind in registry.commands().values()}
    assert "tfgraphwidget.edits.rewrite.rename" in commands
    # Their helpers are shared.
    assert {module.split(".")[2] for module in commands} <= {
        "rewrite",
        "clone",
    }


def test_each_package_of_what_is_loaded_later_is_one():
    for name in LATER:
        path = PACKAGE / name.replace(".", "/")
        assert path.is_dir() or path.with_suffix(".py").is_file(), name


def test_a_package_that_is_not_installed_is_named_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
):
    for name in {
        "scipy",
        "scipy.sparse",
        "scipy.sparse.linalg",
        *(n for n in sys.modules if n.startswith("scipy.")),
    }:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(PackageMissing, match=r"needs SciPy .* run pip install scipy\."):
        remove_overlaps(np.random.default_rng(0).random((9, 2)), np.ones((9, 2)))


def test_listing_the_public_names_is_light():
    assert modules_after("import tfgraphwidget; dir(tfgraphwidget)") & HEAVY == set()

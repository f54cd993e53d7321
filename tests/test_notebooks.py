"""Every notebook runs from top to bottom in a fresh kernel of `make demo`, without an error.

The environment of the tests holds more than `make demo` installs. So that no further environment
has to be made, what it holds beside cannot be imported in these kernels.
"""

from __future__ import annotations

import re
import shutil
from importlib import metadata
from pathlib import Path

import nbformat
import pytest
import tomllib
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.docs import notebook_pictures
from tests.docs.notebooks import MOST_BYTES, answer, kept, with_answers
from tests.slow import slow_if

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
QUICK = {
    "00_index", "10_explore_a_saved_model", "13_first_steps_with_keras",
}  # fmt: skip
SECONDS = 300  # for one cell, on a machine that is shared
WIDGET = "application/vnd.jupyter.widget-view+json"


def installed_by(extra: str) -> set[str]:
    """The distributions that `pip install '.[extra]'` installs here, those that they need
    included.
    """
    project = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    extras = {
        canonicalize_name(name): needed for name, needed in project["optional-dependencies"].items()
    }
    needed: dict[str, list[str]] = {}
    found, wanted = (
        set[str](),
        {(canonicalize_name(project["name"]), extra), (canonicalize_name(project["name"]), "")},
    )
    while wanted:
        name, extra = key = wanted.pop()
        if key in found:
            continue
        found.add(key)
        if name == canonicalize_name(project["name"]):
            needed[name] = extras[canonicalize_name(extra)] if extra else project["dependencies"]
        else:
            try:
                needed[name] = metadata.requires(name) or []
            except metadata.PackageNotFoundError:  # for another platform, say
                continue
        for requirement in map(Requirement, needed[name]):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                wanted |= {
                    (canonicalize_name(requirement.name), one) for one in ("", *requirement.extras)
                }
    return {name for name, _ in found}


def beside_demo() -> list[str]:
    """The modules of the environment that `make demo` does not install; pip is in every
    environment.
    """
    there = installed_by("demo") | {"pip"}
    modules = metadata.packages_distributions()
    return sorted(
        name for name, of in modules.items() if there.isdisjoint(map(canonicalize_name, of))
    )


@pytest.fixture
def kernels_of_demo(tmp_path, monkeypatch, warm_kernels):
    """Kernels in which nothing can be imported that `make demo` does not install."""
    startup = tmp_path / "ipython/profile_default/startup"
    startup.mkdir(parents=True)
    (startup / "00-demo.py").write_text(
        f"import sys\nsys.modules.update(dict.fromkeys({beside_demo()}))\ndel sys\n"
    )
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("JUPYTER_PATH", warm_kernels)


def run(notebook, folder):
    """Run a notebook's cells."""
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=SECONDS, kernel_name="python3", resources=resources).execute()


def test_what_cannot_be_imported_is_what_the_tests_need_and_the_demo_does_not():
    modules = metadata.packages_distributions()
    blocked = {canonicalize_name(name) for module in beside_demo() for name in modules[module]}
    only_for_tests = installed_by("test") - installed_by("demo")
    assert {"hypothesis", "pytest", "playwright"} <= only_for_tests
    assert (
        only_for_tests & {canonicalize_name(name) for names in modules.values() for name in names}
        <= blocked
    )
    assert blocked.isdisjoint(installed_by("demo"))
    assert {"tensorflow", "pandas", "jupyterlab", "matplotlib"} <= installed_by("demo")


def test_a_kernel_of_the_demo_has_no_more_than_that(tmp_path, kernels_of_demo):
    cells = [
        "import pandas, matplotlib, tensorflow, tfgraphwidget",
        "try:\n    import hypothesis\nexcept ModuleNotFoundError:\n    print('none')",
    ]
    notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, cells)))
    run(notebook, tmp_path)
    assert notebook.cells[1].outputs[0].text == "none\n"


def test_there_are_notebooks():
    assert NOTEBOOKS != []


@pytest.mark.parametrize(
    "path", slow_if(lambda path: path.stem not in QUICK, NOTEBOOKS), ids=lambda path: path.stem
)
def test_notebook_runs_from_top_to_bottom(path, tmp_path, kernels_of_demo):
    # A copy: what the notebook saves stays out of the checkout.
    copies = shutil.copytree(FOLDER, tmp_path / "notebooks", ignore=shutil.ignore_patterns(".*"))
    notebook = nbformat.read(copies / path.name, as_version=4)
    notebook.cells = with_answers(notebook.cells)
    run(notebook, copies)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert [output for output in outputs if output.output_type == "error"] == []
    assert any(WIDGET in output.get("data", {}) for output in outputs)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_asks_at_the_top_and_checks_what_it_says(path):
    cells = nbformat.read(path, as_version=4).cells
    assert cells[0].cell_type == "markdown"
    assert cells[0].source.startswith("# ")
    assert any(
        re.search(r"^assert ", cell.source, re.MULTILINE)
        for cell in cells
        if cell.cell_type == "code"
    )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_pictures_of_a_notebook_lie_next_to_it(path):
    text = "\n".join(
        cell.source
        for cell in nbformat.read(path, as_version=4).cells
        if cell.cell_type == "markdown"
    )
    assert [
        name for name in re.findall(r"!\[[^]]*\]\(([^)]*)\)", text) if not (FOLDER / name).is_file()
    ] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_committed_with_its_outputs_as_they_are_kept(path):
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    outputs = [output for cell in cells for output in cell.outputs]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1)), (
        "run python -m tests.docs.notebooks"
    )
    pictures = [out.data for out in outputs if "image/svg+xml" in out.get("data", {})]
    assert pictures
    # JupyterLab shows no SVG of a notebook that somebody else has run.
    assert all("image/png" in data for data in pictures)
    assert [
        output for output in outputs if output.output_type == "error" or kept(output) != output
    ] == []
    assert max(len(str(output)) for output in outputs) <= MOST_BYTES
    assert "/tmp" not in str(outputs)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_says_what_it_teaches_how_long_it_takes_and_what_comes_next(path):
    notebook = nbformat.read(path, as_version=4)
    cells = notebook.cells
    assert "**Next:**" in cells[-1].source
    if path.stem != "00_index":
        assert "**You will learn**" in cells[0].source
        assert re.search(
            r"\b([4-9]|10)\s+minutes\s+·\s+(beginner|intermediate|expert)", cells[0].source
        )
        assert "## Try it" in cells[-1].source
        assert answer(cells[-1])


def test_a_picture_at_the_top_of_a_notebook_is_taken_of_its_cells():
    for picture in notebook_pictures.PICTURES:
        cells = nbformat.read(FOLDER / f"{picture.name}.ipynb", as_version=4).cells
        lines = [
            line for cell in cells if cell.cell_type == "code" for line in cell.source.splitlines()
        ]
        assert any(line.startswith(picture.after) for line in lines), picture.name
        assert f"]({picture.name}.png)" in cells[0].source
    shown = re.findall(
        r"\]\((\w+)\.png\)", "".join(path.read_text(encoding="utf-8") for path in NOTEBOOKS)
    )
    assert sorted(shown) == [picture.name for picture in notebook_pictures.PICTURES]


def test_the_index_lists_every_notebook():
    listed = re.findall(
        r"\]\((\w+)\.ipynb\)", nbformat.read(NOTEBOOKS[0], as_version=4).cells[0].source
    )
    assert sorted(listed) == [path.stem for path in NOTEBOOKS[1:]]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_links_of_a_notebook_lead_somewhere(path):
    text = "\n".join(
        cell.source
        for cell in nbformat.read(path, as_version=4).cells
        if cell.cell_type == "markdown"
    )
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    assert [link for link in links if not (FOLDER / link).exists()] == []


def test_draw_shows_a_picture_below_its_cell(tmp_path, kernels_of_demo):
    given = "from matplotlib.figure import Figure\neditor.draw(Figure().subplots());"
    cells = [
        "import tfgraphwidget as tgw\neditor = tgw.example()",
        "editor.draw();",
        "editor.draw()",
        given,
    ]
    notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, cells)))
    run(notebook, tmp_path)
    pictures = [
        sum("image/png" in out.get("data", {}) for out in cell.outputs) for cell in notebook.cells
    ]
    assert pictures == [0, 1, 1, 0]  # into given axes: they are shown where they belong


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_the_reader_is_asked_to_click_is_done_in_a_cell_that_is_the_answer(path):
    cells = nbformat.read(path, as_version=4).cells
    asks = re.compile(r"\b(Shift|Alt|[Rr]ight)-click\b|press \*|press Clone")
    asked = [
        k
        for k, cell in enumerate(cells)
        if cell.cell_type == "markdown" and asks.search(cell.source) and not answer(cell)
    ]
    answers = [next(cell for cell in cells[k:] if cell.cell_type == "code") for k in asked]
    for cell in answers:
        assert "answer" in cell.metadata.get("tags", ())
        assert "# Answer: what the click" in cell.source


def test_the_first_notebook_stops_where_the_reader_is_to_click(tmp_path, kernels_of_demo):
    copies = shutil.copytree(FOLDER, tmp_path / "notebooks", ignore=shutil.ignore_patterns(".*"))
    notebook = nbformat.read(copies / "01_clone_by_clicking.ipynb", as_version=4)
    assert "**Press Shift-Enter three times: the graph below comes to life.**" in (
        notebook.cells[0].source
    )
    for cell in notebook.cells:
        cell.update({"outputs": []} if cell.cell_type == "code" else {})
    with pytest.raises(CellExecutionError, match="This editor has no copy 'copy'"):
        run(notebook, copies)
    (shown,) = [k for k, cell in enumerate(notebook.cells) if WIDGET in str(cell.get("outputs"))]
    assert shown == 2  # the third cell
    after = next(k for k, cell in enumerate(notebook.cells) if answer(cell))
    assert [cell.source for cell in notebook.cells[after + 1 :] if cell.get("outputs")] == [
        notebook.cells[after + 1].source
    ]

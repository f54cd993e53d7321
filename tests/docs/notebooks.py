"""Runs the notebooks and keeps their outputs, so that GitHub and the site show them with results
and pictures.

    python -m tests.docs.notebooks [NAME ...]     all, or those whose name begins so

The editor is kept as its pictures alone, SVG and PNG: the widget's own output would name a model
that no kernel has.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "notebooks"
MOST_BYTES = 200_000
"""The largest output of a cell that is committed."""
_SECONDS = 900
_ANSWER = re.compile(r"<summary>Answer</summary>\n\n.*?```python\n(.*?)\n```", re.DOTALL)
_WIDGET = "application/vnd.jupyter.widget"
_LOG = re.compile(
    r"^(INFO|WARNING):tensorflow:.*\n(Instructions for updating:\n.*\n)?\n?", re.MULTILINE
)
_TEMPORARY = re.compile(r"(/private)?(/var/folders|/tmp)/[\w./-]*?tmp\w+")


def kept(output: Any) -> Any | None:
    """An output as it is committed, or None for one that is left out.

    Args:
        output: The output of a cell, as the kernel has sent it.
    """
    if output.output_type == "stream":
        text = "" if output.name == "stderr" else _LOG.sub("", output.text)
        return nbformat.v4.new_output("stream", name="stdout", text=text) if text.strip() else None
    if output.output_type == "error":
        return output
    data = {kind: value for kind, value in output.data.items() if not kind.startswith(_WIDGET)}
    if "image/svg+xml" in data:
        data.pop("text/plain", None)
    if not data:
        return None
    return nbformat.from_dict({**output, "data": data, "metadata": {}})


def answer(cell: Any) -> str:
    """The Python of the folded answer in a cell of text; "" without one.

    Args:
        cell: A cell of a notebook.
    """
    found = _ANSWER.search(cell.source) if cell.cell_type == "markdown" else None
    return found[1] if found else ""


def with_answers(cells: list[Any]) -> list[Any]:
    """The cells as a reader runs them: after a text that asks for something, its answer.

    Args:
        cells: The cells of a notebook.
    """
    run: list[Any] = []
    for cell in cells:
        run.append(cell)
        if code := answer(cell):
            run.append(nbformat.v4.new_code_cell(code))
    return run


def executed(path: Path) -> Any:
    """The notebook, run from top to bottom in a copy of its folder, with the outputs that are
    committed.

    Args:
        path: The notebook.
    """
    notebook = nbformat.read(path, as_version=4)
    cells, notebook.cells = notebook.cells, with_answers(notebook.cells)
    with tempfile.TemporaryDirectory() as folder:
        copies = shutil.copytree(
            path.parent, Path(folder) / "notebooks", ignore=shutil.ignore_patterns(".*")
        )
        NotebookClient(
            notebook, timeout=_SECONDS, resources={"metadata": {"path": str(copies)}}
        ).execute()
    notebook.cells, number = cells, 0
    for cell in cells:
        if cell.cell_type == "code":
            number += 1
            cell.execution_count = number
            cell.outputs = [each for each in map(kept, cell.outputs) if each is not None]
            cell.metadata.pop("execution", None)
            for output in cell.outputs:
                if output.output_type == "execute_result":
                    output.execution_count = number
                if output.output_type == "stream":
                    output.text = _TEMPORARY.sub("folder", output.text)
                elif "text/plain" in output.get("data", {}):
                    output.data["text/plain"] = _TEMPORARY.sub("folder", output.data["text/plain"])
    notebook.metadata = {
        key: notebook.metadata[key]
        for key in ("kernelspec", "language_info")
        if key in notebook.metadata
    }
    notebook.metadata.get("language_info", {}).pop("version", None)
    return notebook


def main(names: list[str]) -> None:
    """Run the notebooks whose names begin with one of `names`, and write them with their
    outputs.
    """
    for path in sorted(FOLDER.glob("*.ipynb")):
        if not names or path.name.startswith(tuple(names)):
            notebook = executed(path)
            nbformat.write(notebook, path)
            sizes = [
                len(str(output)) for cell in notebook.cells for output in cell.get("outputs", [])
            ]
            sys.stdout.write(
                f"{path.name}: {len(sizes)} outputs, {sum(sizes):,} characters, at most "
                f"{max(sizes):,}\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])

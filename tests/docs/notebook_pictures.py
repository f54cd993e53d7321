"""The pictures at the top of notebooks, of graphs that their cells make.

    python -m tests.docs.notebook_pictures [NAME ...]

makes all, or those whose name begins so; `make pictures` runs it.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import nbformat

from tests.docs.notebooks import FOLDER


@dataclass(frozen=True)
class NotebookPicture:
    """A picture: the notebook, the beginning of the line after whose cell it is taken, and what is
    done before.
    """

    name: str
    after: str
    first: str


PICTURES = (
    NotebookPicture(
        "02_share_or_own",
        "task =",
        'editor.view.expand("net", "own", "own/net", "twin", "task", "task/net")',
    ),
    NotebookPicture(
        "03_into_another_graph", "editor =", 'editor.mark(x, y); editor.view.expand("net")'
    ),
    NotebookPicture("04_join_two_models", "added =", 'editor.view.expand("judge")'),
    NotebookPicture("05_target_network", "target =", 'editor.view.expand("online", "target")'),
    NotebookPicture("06_loops", "twin =", 'editor.view.expand("twin")'),
)


def take(picture: NotebookPicture) -> None:
    """Run the cells in this process, and write the picture beside the notebook.

    Args:
        picture: What is taken.
    """
    from tests.docs.gallery import drawn

    names: dict[str, Any] = {"__name__": picture.name}
    os.chdir(FOLDER)
    notebook = nbformat.read(FOLDER / f"{picture.name}.ipynb", as_version=4)
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            file = f"{picture.name}, cell {number}"
            # For autograph.
            linecache.cache[file] = (
                len(cell.source),
                None,
                cell.source.splitlines(keepends=True),
                file,
            )
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(cell.source, file, "exec"), names)
            if any(line.startswith(picture.after) for line in cell.source.splitlines()):
                break
    exec(picture.first, names)
    data = drawn(names["editor"])
    (FOLDER / f"{picture.name}.png").write_bytes(data)
    sys.stdout.write(f"{picture.name}.png: {len(data):,} bytes\n")


def main(names: list[str]) -> None:
    """Take pictures, each in a process of its own where there are several: notebooks set options of
    TensorFlow.
    """
    chosen = [each for each in PICTURES if not names or each.name.startswith(tuple(names))]
    if len(chosen) == 1:
        take(chosen[0])
        return
    for each in chosen:
        subprocess.run(
            [sys.executable, "-m", "tests.docs.notebook_pictures", each.name], check=True
        )


if __name__ == "__main__":
    main(sys.argv[1:])

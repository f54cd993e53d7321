"""The notebooks as pages of the site, with the outputs and pictures that are committed."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat

FOLDER = Path(__file__).parents[2] / "notebooks"
_LINK = re.compile(r"\]\((?P<place>[^)#\s]+)(?P<anchor>#[^)]*)?\)")


def notebook_pages() -> Iterator[tuple[str, str | bytes]]:
    """Every file of the site's folder `notebooks`: its path, and Markdown or a picture."""
    for picture in sorted(FOLDER.glob("*.png")):
        yield f"notebooks/{picture.name}", picture.read_bytes()
    for path in sorted(FOLDER.glob("*.ipynb")):
        yield from _page(path)


def _page(path: Path) -> Iterator[tuple[str, str | bytes]]:
    parts = []
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            parts.append(_in_site(cell.source))
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for output in cell.outputs:
            picture = output.get("data", {}).get("image/png")
            if picture is None:
                parts.append(f"```text\n{_text(output).rstrip()}\n```")
                continue
            name = f"{path.stem}_{len(parts)}.png"
            yield f"notebooks/{name}", base64.b64decode(picture)
            parts.append(f"![Output of the cell above]({name})")
    yield f"notebooks/{path.stem}.md", "\n\n".join(parts) + "\n"


def _text(output: Any) -> str:
    text = output["text"] if output.output_type == "stream" else output["data"]["text/plain"]
    return str(text)


def _in_site(markdown: str) -> str:
    """The text of a cell, with its links as they are from the site's folder `notebooks`."""

    def link(found: re.Match[str]) -> str:
        place, anchor = found["place"], found["anchor"] or ""
        if "://" not in place:
            place = place.removeprefix("./").replace("../docs/", "../").replace(".ipynb", ".md")
        return f"]({place}{anchor})"

    return _LINK.sub(link, markdown).replace("<details>", "<details markdown>")

"""A graph as one HTML page that needs nothing else: no kernel, no network, no second file.

The page is the view of the notebook (`labextension/src/offline/page.ts`) with the data of
`pack_page`. Nothing of the graph is written as HTML or as code: names are in base64 of compressed
JSON. The page's content security policy allows only the script with the given hash, and no
requests.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export.html.page_data import pack_page, titles_of
from tfgraphwidget.export.html.page_input import PageInput
from tfgraphwidget.sentences import in_cell

_BUNDLE = Path(__file__).parents[2] / "static" / "page.js"
_LINE = 4_000  # letters of base64: some editors give up on a line of a megabyte
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="tfgraphwidget">
<title>{title}</title>
</head>
<body>
<header><h1>{title}</h1></header>
<main id="tfgraphwidget"><noscript>This graph is drawn by JavaScript, which is switched off here;
in JupyterLab, press Trust HTML above.</noscript></main>
{data}
<script>{script}</script>
</body>
</html>
"""


_DATA = """<script type="text/plain" id="tfgraphwidget-{what}">
{letters}
</script>"""


@dataclass(frozen=True)
class Page:
    """The drawing as a page in which scopes can be opened, searched and inspected."""

    page_input: PageInput

    def write(self, path: Path, _: list[str]) -> None:
        """Write it to the file `path`."""
        path.write_text(page(self.page_input), encoding="utf-8")


@dataclass(frozen=True)
class PageOfTwo:
    """Two graphs in two panes.

    Attributes:
        before: The graph in the left pane.
        after: The graph in the right pane.
        document: What the page knows of both together, gzipped.
    """

    before: PageInput
    after: PageInput
    document: bytes

    def write(self, path: Path, _: list[str]) -> None:
        """Write it to the file `path`."""
        data = {
            "before": pack_page(self.before),
            "data": pack_page(self.after),
            "beside": self.document,
        }
        titles = [" / ".join(titles_of(each)) for each in (self.before, self.after)]
        path.write_text(_page(" → ".join(titles), data), encoding="utf-8")


def page(page_input: PageInput) -> str:
    """The page as text. Raises GraphEditError when the bundle has not been built."""
    return _page(" / ".join(titles_of(page_input)), {"data": pack_page(page_input)})


def _page(title: str, data: Mapping[str, bytes]) -> str:
    """A page with pieces of data."""
    if not _BUNDLE.is_file():
        raise GraphEditError(
            "The page's bundle has not been built; "
            + in_cell("run `node build.mjs` in labextension/, or install the package.")
        )
    script = _BUNDLE.read_text(encoding="utf-8").strip()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src "
        "data: blob:; base-uri 'none'; form-action 'none'"
    )
    pieces = [_DATA.format(what=what, letters=_letters(each)) for what, each in data.items()]
    return _PAGE.format(
        policy=policy,
        title=html.escape(title[:200]) or "graph",
        data="\n".join(pieces),
        script=script,
    )


def _letters(data: bytes) -> str:
    """Data in base64, in lines."""
    letters = base64.b64encode(data).decode()
    return "\n".join(letters[at : at + _LINE] for at in range(0, len(letters), _LINE))

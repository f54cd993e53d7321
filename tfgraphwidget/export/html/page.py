"""A graph as one HTML page that needs nothing else: no kernel, no network, no second file.

The page is the view of the notebook (`labextension/src/offline/page.ts`) with what `paged` packs. Nothing of the graph
is written as HTML or as code: names travel as base64 of compressed JSON, and the page's policy lets no script run but
the one whose hash it names, and nothing be fetched from anywhere.
"""

from __future__ import annotations

import base64
import hashlib
import html
from pathlib import Path

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export.html.page_data import packed, titles_of
from tfgraphwidget.export.request import Export

_BUNDLE = Path(__file__).parents[2] / "static" / "page.js"
_LINE = 4_000  # letters of base64: some editors give up on a line of a megabyte
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width">
<meta name="generator" content="tfgraphwidget">
<title>{title}</title>
</head>
<body>
<main id="tfgraphwidget"><noscript>This graph is drawn by JavaScript, which is switched off here.</noscript></main>
<script type="text/plain" id="tfgraphwidget-data">
{data}
</script>
<script>{script}</script>
</body>
</html>
"""


def write_page(path: Path, what: Export) -> None:
    """The drawing as a page in which one can move, open scopes, search and inspect."""
    path.write_text(page(what), encoding="utf-8")


def page(what: Export) -> str:
    """The page as text. Raises GraphEditError when the bundle has not been built."""
    if not _BUNDLE.is_file():
        raise GraphEditError(
            "The page's bundle has not been built; run `node build.mjs` in labextension/, or install the package."
        )
    viewed, script = what.view(), _BUNDLE.read_text(encoding="utf-8").strip()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    letters = base64.b64encode(packed(viewed)).decode()
    data = "\n".join(letters[at : at + _LINE] for at in range(0, len(letters), _LINE))
    title = html.escape(" / ".join(titles_of(viewed))[:200]) or "graph"
    return _PAGE.format(policy=policy, title=title, data=data, script=script)

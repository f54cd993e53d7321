"""What MkDocs adds to the site: the pages to try in a browser, and the notebooks."""

from __future__ import annotations

import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.docs.gallery import play_pages
from tests.docs.notebook_pages import notebook_pages


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages, so that links to them are checked like all others."""
    for path, content in (*play_pages(), *notebook_pages()):
        files.append(File.generated(config, path, content=content))
    outline = files.get_file_from_path("llms.txt")
    if outline is not None:  # it links to the guide's sources, of which the site has the pages
        files.remove(outline)
        pages = outline.content_string.replace(".md)", ".html)")
        files.append(File.generated(config, "llms.txt", content=pages))
    return files


# How much a page counts in the search by the beginning of its path: a question is answered by a
# guide first, then in full by the reference; what tests and benches found comes last.
BOOSTS = {
    "how-to/": 8.0,
    "tutorials/": 3.0,
    "notebooks/": 0.5,
    "gallery": 0.1,
    "explanation/architectures": 0.1,
    "explanation/performance": 0.1,
    "contributing": 0.1,
    "versions": 0.1,
}


def on_page_markdown(_: str, page: Page, **_more: object) -> None:
    """Say how much a page counts in the search."""
    for path, boost in BOOSTS.items():
        if page.file.src_uri.startswith(path):
            page.meta["search"] = {"boost": boost}

"""The site that `make docs` builds: without a warning, complete, and with a search that finds the
answer first.
"""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser

from tests.docs import gallery

ROOT = Path(__file__).parents[2]
LOADS_FROM_ELSEWHERE = re.compile(
    r"""<(?:script|img|iframe)[^>]+src=["']?(?:https?:)?//|<link[^>]+rel=["']?stylesheet[^>]+//"""
)
QUESTIONS = {
    "clone variables": "how-to/clone.html",
    "Keras layer fit": "how-to/clone.html",
    "freeze savedmodel flat": "how-to/freeze.html",
    "strip training": "how-to/freeze.html",
    "batch size": "how-to/input-size.html",
    "replace subgraph": "how-to/replace-everywhere.html",
    "compare checkpoints": "how-to/sync.html",
    "graph_editor TensorFlow 2": "how-to/graph-editor.html",
    "TFLite": "how-to/deploy.html",
    "flops": "how-to/costs.html",
    "undo": "how-to/edit.html",
    "rename signature": "how-to/deploy.html",
}


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and prints no line for each."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, warm_python: list[str]) -> Path:
    """The site, built by a process that has TensorFlow, which the gallery imports."""
    folder = tmp_path_factory.mktemp("site")
    mkdocs = [*warm_python, "-c", "from mkdocs.__main__ import cli; cli()"]
    config = str(ROOT / ".ci" / "mkdocs.yml")
    done = subprocess.run(
        [*mkdocs, "build", "--strict", "--config-file", config, "--site-dir", str(folder)],
        capture_output=True,
        text=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where the site is served: its search fetches an index, which no file can."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_the_site_is_complete_and_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 60
    assert {path.stem for path in site.glob("play/*.html")} == {*gallery.PAGES}
    linked = re.findall(r"\]\((.+?)\)", (site / "llms.txt").read_text("utf-8"))
    assert [link for link in linked if not (site / link).is_file()] == []
    notebooks = {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert {path.stem for path in site.glob("notebooks/*.html")} == notebooks
    loading = [page for page in pages if LOADS_FROM_ELSEWHERE.search(page.read_text("utf-8"))]
    assert loading == []


def test_pages_lead_on_and_pages_to_try_lead_back(site: Path) -> None:
    clone = (site / "how-to" / "clone.html").read_text("utf-8")
    assert "md-footer__link--prev" in clone
    assert "md-footer__link--next" in clone
    assert 'href="../gallery.html"' in (site / "play" / "example.html").read_text("utf-8")


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.sample(4)
def test_the_search_finds_the_answer_first(browser: Browser, address: str, question: str) -> None:
    page = browser.new_page()
    page.goto(f"{address}/index.html?q={quote(question)}")
    first = page.locator(".md-search-result__item > a").first
    first.wait_for(state="attached")
    link = str(first.evaluate("link => link.pathname"))
    page.close()
    assert link.removeprefix("/") == QUESTIONS[question]

"""`tfgraphwidget demo`, which `make demo` runs, prints a URL that opens the first notebook, in a
copy of all of them, and shows its graph before anything is run.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.commanded import opened, printed_url
from tests.browser.lab import shoot
from tfgraphwidget import __version__

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder, without hidden ones."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {
        str(path): (folder / path).read_bytes()
        for path in paths
        if not any(part.startswith(".") for part in path.parts)
    }


def test_the_printed_url_opens_a_copy_of_the_notebook_which_shows_its_graph(
    tmp_path: Path, browser: Browser, warm_kernels: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_PATH", warm_kernels)
    before = contents(NOTEBOOKS)
    home = tmp_path / "HOME"
    copies = home / f"tfgraphwidget-{__version__}-demo"
    copies.mkdir(parents=True)
    (copies / "02_share_or_own.ipynb").write_text("what the user has made of it")
    with printed_url(tmp_path, "demo") as url:
        page = opened(browser, url)
        page.set_viewport_size({"width": 1400, "height": 900})
        title = page.get_by_role("heading", name="Clone a part of a live graph, by clicking")
        expect(title).to_be_visible(timeout=60_000)
        asked = page.get_by_role("strong").filter(has_text="Press Shift-Enter three times")
        expect(asked).to_be_in_viewport()
        picture = page.locator(".jp-Cell img").first
        expect(picture).to_be_in_viewport(ratio=0.3)
        assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 500
        shoot(page, "demo_opened")
        for _ in range(3):
            page.keyboard.press("Shift+Enter")
        expect(page.locator(".tfgraphwidget").first).to_have_attribute(
            "data-ops",
            "3380",  # the 3,379 of the file, and the one that initializes them
            timeout=120_000,
        )
        shoot(page, "demo_after_three_presses")
        page.keyboard.press("Control+s")
        page.context.close()
    assert contents(NOTEBOOKS) == before
    own = contents(copies)
    assert own.pop("02_share_or_own.ipynb") == b"what the user has made of it"
    assert own.keys() == before.keys() - {"02_share_or_own.ipynb"}


def test_an_unknown_word_is_exit_code_2() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tfgraphwidget", "dance"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "invalid choice" in done.stderr

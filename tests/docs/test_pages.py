"""README and the pages in docs/: their Python and commands run and print what they say, their links
lead somewhere.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import re
import shlex
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from PIL import Image

import tfgraphwidget as tgw
from tests.bench import page as performance
from tests.browser.moving_picture import LONGEST, PICTURE, VIEWPORT
from tests.conftest import INCEPTION
from tests.docs import gallery
from tests.docs.reference import GROUPS, REFERENCE, members_of
from tests.docs.reference import PAGES as GENERATED
from tests.export.test_converted_models import InProcess
from tfgraphwidget.cli import main
from tfgraphwidget.export.formats import converted_model

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md"))]
LINKED = [*PAGES, DOCS / "llms.txt"]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!`)\[[^\]]+\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
RUN = [page for page in PAGES if "```python" in page.read_text(encoding="utf-8")]
RUN.remove(DOCS / "contributing.md")  # tests/edits/test_registry.py runs its edit


def name_of(page: Path) -> str:
    """The page's path in the repository."""
    return str(page.relative_to(DOCS.parent))


def anchors_of(page: Path) -> set[str]:
    """The anchors of a page's headings, as MkDocs makes them."""
    headings = HEADING.findall(re.sub(FENCE, "", page.read_text(encoding="utf-8")))
    return {
        re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip())
        for heading in headings
    }


@pytest.mark.filterwarnings("ignore::UserWarning")  # what a save reports
@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_the_code_of_a_page_runs_and_prints_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(converted_model, "CONVERTERS", InProcess())
    names: dict[str, object] = {"__name__": name_of(page)}
    printed = ""
    text = page.read_text(encoding="utf-8")
    for fence in FENCE.finditer(text):
        language, block = fence[1], fence[2]
        line = text[: fence.start()].count("\n") + 2
        if language == "python":
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile("\n" * (line - 1) + block, str(page), "exec"), names)
            printed = output.getvalue()
            shown = page.name == "README.md" or text[fence.end() :].startswith("\n\n```text\n")
            assert shown or not printed, (
                f"{page}:{line} prints {printed!r}, which the page does not show"
            )
        elif language == "sh":
            for command in re.findall(r"^tfgraphwidget (.+)$", block, re.MULTILINE):
                code = main(shlex.split(command, comments=True))
                assert code == ("exit code 1" in command), f"{page}:{line}: {command}"
        elif language == "text":
            assert printed == block, f"{page}:{line}"


def test_the_figures_and_results_in_readme_are_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    ends = ["input:0"], ["net/InceptionV3/Predictions/Softmax:0"]
    inception = tgw.edit(INCEPTION)
    preview = inception.preview(inception.clone, *ends, init="initial")
    selected, copied, variables = len(inception.between(*ends)), len(preview.ops), len(preview.new)
    for words in (
        f"{selected:,} ops between",
        f"clone has {copied:,},",
        f"its {variables} variables",
    ):
        assert words in text
    assert f"elsewhere: {tgw.example()!r}" in text
    viewers = (DOCS / "explanation" / "performance.md").read_text(encoding="utf-8")
    row = re.findall(r"^\| 50,000 \| (.+) \|$", viewers.partition("viewers -->")[2], re.MULTILINE)[
        0
    ]
    ours, tensorboard, explorer, netron = (cell.split()[0] for cell in row.split("|"))
    assert f"50,000 ops in {ours} s" in text
    assert f"they take {netron}, {tensorboard} and {explorer} s" in text
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(
            "\n".join(block for language, block in FENCE.findall(text) if language == "python"),
            names,
        )
    assert re.findall(r"# (True)$", text, re.MULTILINE) == printed.getvalue().splitlines()[:1]


def test_the_moving_picture_is_short_and_of_the_size_of_the_storyboard() -> None:
    with Image.open(PICTURE) as picture:
        assert picture.size == tuple(VIEWPORT.values())
        milliseconds = 0
        for number in range(getattr(picture, "n_frames", 1)):
            picture.seek(number)
            picture.load()
            milliseconds += picture.info["duration"]
    assert 8_000 < milliseconds <= LONGEST


def test_the_names_of_the_editor_in_the_pages_exist() -> None:
    nouns = "view|passes|signatures|history|source"
    pattern = re.compile(rf"(?<![\w/.-])editor\.((?:(?:{nouns})\.)?[a-z]\w*)")
    named = {
        (name, name_of(page))
        for page in LINKED
        for name in pattern.findall(page.read_text("utf-8"))
    }
    editor, nothing = tgw.example(), object()
    own = {("turn_over", "docs/contributing.md")}  # the edit that this page writes

    def value_of(name: str) -> object:
        noun, _, last = name.rpartition(".")
        return getattr(getattr(editor, noun) if noun else editor, last, nothing)

    missing = {(name, page) for name, page in named if value_of(name) is nothing}
    assert missing == own


@pytest.mark.parametrize("page", LINKED, ids=name_of)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(re.sub(FENCE, "", page.read_text(encoding="utf-8"))):
        parts = urlsplit(link)
        if parts.scheme:
            continue
        if parts.path.startswith("play/"):
            assert Path(parts.path).stem in gallery.PAGES, f"{name_of(page)}: {link}"
            continue
        if parts.path.startswith("notebooks/") and page.parent == DOCS:  # pages of the site
            assert (DOCS.parent / parts.path).with_suffix(".ipynb").exists(), f"{page}: {link}"
            continue
        target = (page.parent / parts.path).resolve() if parts.path else page
        assert target.exists(), f"{name_of(page)}: {link}"
        if parts.fragment:
            assert parts.fragment in anchors_of(target), f"{name_of(page)}: {link}"


@pytest.mark.parametrize("name", GENERATED)
def test_a_page_written_from_the_code_is_up_to_date(name: str) -> None:
    assert (REFERENCE / name).read_text(encoding="utf-8") == GENERATED[name](), (
        "run python -m tests.docs.reference"
    )


def test_the_reference_has_every_option_of_every_method() -> None:
    for group in GROUPS:
        text = (REFERENCE / group.file).read_text(encoding="utf-8")
        listed = {
            part.partition("\n")[0]: re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE)
            for part in re.split(r"^## ", text, flags=re.MULTILINE)
        }
        for name, member in members_of(group):
            if inspect.isfunction(member):
                options = {*inspect.signature(member).parameters} - {"self"}
                assert {*listed.get(name, [])} == options, name


def test_the_tables_of_the_page_on_performance_are_those_of_the_results() -> None:
    text = performance.PAGE.read_text(encoding="utf-8")
    assert performance.text_of(text, performance.rows_of()) == text, (
        "run python -m tests.bench.page"
    )
    assert text.count("<!-- end -->") == 7


def test_the_gallery_shows_twelve_pictures_each_with_a_link() -> None:
    assert (DOCS / "gallery.md").read_text(encoding="utf-8") == gallery.page(), (
        "run python -m tests.docs.gallery"
    )
    assert len(gallery.PICTURES) == 12
    for picture in gallery.PICTURES:
        data = (DOCS / "gallery" / f"{picture.name}.png").read_bytes()
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        assert len(data) < 100_000


def test_five_pages_that_explain_have_pictures() -> None:
    for picture in gallery.EXPLANATIONS:
        page = gallery.EXPLANATION / picture.link
        assert f"![{picture.caption}]({picture.name}.png)" in page.read_text(encoding="utf-8")
        with Image.open(gallery.EXPLANATION / f"{picture.name}.png") as image:
            assert image.width <= gallery.WIDEST
    assert f"]({performance.CHART.name})" in performance.PAGE.read_text(encoding="utf-8")
    assert len({picture.link for picture in gallery.EXPLANATIONS}) + 1 == 5

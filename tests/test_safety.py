"""Nothing that the page runs makes code or markup out of text, or names a place on a network; file
names are data.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tfgraphwidget as tgw
from tests.conftest import build_mlp, v1
from tests.front_end import FrontEnd

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "labextension/src").rglob("*.ts"))
BUNDLES = sorted(
    [
        *(ROOT / "tfgraphwidget/static").glob("*.js"),
        *(ROOT / "tfgraphwidget/labextension").rglob("*.js"),
    ]
)
FORBIDDEN = {
    "code": r"\beval\s*\(|\bnew Function\b"
    r"|[^.\w]Function\s*\(\s*[\"'`]|set(Timeout|Interval)\s*\(\s*[\"'`]",
    "markup": r"innerHTML|outerHTML|insertAdjacentHTML|document\.write"
    r"|createContextualFragment|setHTMLUnsafe",
    "a network": r"\bnew WebSocket\b|\bEventSource\b|sendBeacon|XMLHttpRequest|\bimportScripts\b",
    "code from elsewhere": r"\bimport\s*\(\s*[\"'`](https?:|//|data:|blob:)",
    "an address": r"(https?|wss?)://(?!www\.w3\.org/)[\w.-]+",
}
NAMES = [
    "it's.pb",
    'a"b.pb',
    "a b.pb",
    "größe 层 🙂.pb",
    "two\nlines.pb",
    "'); import os; os.mkdir('pwned') #.pb",
    '"""); import os; os.mkdir("pwned") #.pb',
    "{__import__('os').mkdir('pwned')}.pb",
    "back\\slash\\n.pb",
    "%s $(mkdir pwned) `mkdir pwned`.pb",
    "\u202e right to left.pb",
]


def wrong(text: str) -> list[str]:
    """What text has that it must not, with what is around it."""
    return [
        f"{what}: {text[max(found.start() - 40, 0) : found.end() + 40]}"
        for what, pattern in FORBIDDEN.items()
        for found in re.finditer(pattern, text)
    ]


@pytest.mark.parametrize("path", SOURCES + BUNDLES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_text_becomes_code_or_markup_and_no_address_is_named(path: Path) -> None:
    assert wrong(path.read_text(encoding="utf-8")) == []


def test_the_bundles_carry_the_licenses_of_the_packages_in_them() -> None:
    for name in ("widget.js", "page.js"):
        assert "flatbush\n\nISC License" in (ROOT / "tfgraphwidget/static" / name).read_text(
            encoding="utf-8"
        )


def test_the_bundles_are_there() -> None:
    assert {"widget.js"} <= {path.name for path in BUNDLES}
    assert any("remoteEntry" in path.name for path in BUNDLES)


@pytest.mark.parametrize(
    "text",
    [
        "eval(x)",
        "new Function(x)",
        "a.innerHTML=b",
        "import('https://x')",
        "fetch(`https://cdn.net/x`)",
        "new WebSocket(u)",
    ],
)
def test_the_check_notices(text: str) -> None:
    assert wrong(text)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.sample(2)
def test_a_file_name_is_data(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opened, shown, edited; the script that does the same opens the same file and runs nothing
    else.
    """
    monkeypatch.chdir(tmp_path)
    path = tmp_path / name
    path.write_bytes(build_mlp(resource=True).as_graph_def().SerializeToString())
    editor = tgw.edit(path)
    front = FrontEnd(editor)
    assert front.ask("open")["type"] == "scene_reply"
    editor.bypass("net/two/out")
    assert front.ask("script")["text"] == editor.history.to_script().text
    names: dict[str, object] = {"__name__": "replayed"}
    with v1.Graph().as_default():
        exec(compile(editor.history.to_script().text, "script", "exec"), names)
    again = names["editor"]
    assert isinstance(again, tgw.GraphEditor)
    assert [node.SerializeToString() for node in again._core.target.index.nodes] == [
        node.SerializeToString() for node in editor._core.target.index.nodes
    ]
    assert {found.name for found in tmp_path.iterdir()} == {path.name}

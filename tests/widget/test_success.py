"""What edits say on the page once they are made: every method, in the words of success.

`python -m tests.widget.test_success` writes their sentences for the tests of the page
(labextension/tests/success.test.ts), which shows each as a success.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import pytest

from tests.editor.verbs import EDITS, Sources, generic, relu
from tests.parsing import PYTHON
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.edits import Edits
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.edit_requests import EditRequests
from tfgraphwidget.widget.request_handler import RequestHandler

SENTENCES = Path(__file__).parents[2] / "labextension" / "tests" / "success.json"
REFUSED = re.compile(r"cell of the notebook|refused|only be done|did you mean")
KIND = "graph and session"
# What the page asks for otherwise, and what names one of several collections.
NOT_HERE = {"call", "clone", "add", "passes.remove_collection"}


def said(editor: GraphEditor, edit: Callable[[GraphEditor, Path], Any], folder: Path) -> str | None:
    """The sentence with which the page shows an edit; None where the network has nothing for it."""
    relu(editor)

    def made() -> Edits:
        report = edit(editor, folder)
        return report if isinstance(report, Edits) else Edits()

    with mock.patch.object(EditRequests, "_call", return_value=made):
        try:
            reply, _ = RequestHandler(editor).handle(p.Change("bypass", (), (), ()))
        except (GraphEditError, LookupError):
            return None
    assert isinstance(reply, p.SceneReply)
    assert reply.edited is not None
    return generic(reply.edited.text)


def sentences(folder: Path) -> dict[str, str]:
    """By method, on a live network."""
    sources = Sources(folder)
    found = {
        method: said(sources.kinds()[KIND](), edit, folder)
        for method, edit in EDITS.items()
        if method not in NOT_HERE
    }
    return {method: text for method, text in found.items() if text}


@pytest.fixture(scope="module")
def success(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The sentences of all methods."""
    return sentences(tmp_path_factory.mktemp("success"))


def test_no_success_reads_like_a_refusal_or_like_python(success: dict[str, str]) -> None:
    assert len(success) > 25
    wrong = {
        method: text
        for method, text in success.items()
        if REFUSED.search(text) or (PYTHON.search(text) and "with Elu(x)" not in text)
    }
    assert wrong == {}


def test_the_tests_of_the_page_have_these_sentences(success: dict[str, str]) -> None:
    kept = json.loads(SENTENCES.read_text())
    # What comes after depends on the names that a release gives its ops.
    assert {method: text.partition(". ")[0] for method, text in kept.items()} == {
        method: text.partition(". ")[0] for method, text in success.items()
    }


@pytest.mark.parametrize("by", ["LeakyRelu(x, alpha=0.2)", "Relu6", "x"])
def test_replace_all_with_a_keyword_argument_is_a_success(by: str, tmp_path: Path) -> None:
    editor = Sources(tmp_path).kinds()[KIND]()
    form = {"pattern": "Relu(x)", "by": by}
    change = p.Change("replace_all", (), tuple(form), tuple(map(repr, form.values())))
    reply, _ = RequestHandler(editor).handle(change)
    assert isinstance(reply, p.SceneReply)
    assert reply.edited is not None
    assert reply.edited.text.startswith(f"Replaced all Relu(x) with {by}")
    assert "cell of the notebook" not in reply.edited.text


if __name__ == "__main__":
    with TemporaryDirectory() as name:
        write = partial(json.dumps, indent=2, ensure_ascii=False)
        SENTENCES.write_text(write(sentences(Path(name))) + "\n")

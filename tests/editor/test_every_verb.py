"""Every verb on every kind of source works or is refused in a sentence; docs/verbs.md says which."""

from __future__ import annotations

import pytest

from tests.editor.verbs import PAGE, Outcome, outcomes, page


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, Outcome]]:
    return outcomes()


def test_no_verb_fails_other_than_by_a_refusal_and_undo_takes_each_edit_back(
    found: dict[str, dict[str, Outcome]],
) -> None:
    cells = ((verb, kind, each) for verb in found for kind, each in found[verb].items())
    defects = [f"{verb} on {kind}: {each.text}" for verb, kind, each in cells if each.is_defect]
    assert defects == []


def test_the_page_of_the_documentation_is_what_was_found(found: dict[str, dict[str, Outcome]]) -> None:
    assert PAGE.read_text(encoding="utf-8").startswith(page(found)), "python -m tests.editor.verbs writes it"

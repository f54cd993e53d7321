"""Every method on every kind of source works or is refused in a sentence; docs/verbs.md says
which.
"""

from __future__ import annotations

import pytest

from tests.editor.verbs import PAGE, Outcome, outcomes, page
from tests.slow import slow


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, Outcome]]:
    return outcomes()


def defects_of(found: dict[str, dict[str, Outcome]]) -> list[str]:
    cells = ((method, kind, each) for method in found for kind, each in found[method].items())
    return [f"{method} on {kind}: {each.text}" for method, kind, each in cells if each.is_defect]


@pytest.mark.parametrize("kind", ["graph and session", "`tf.function`", slow("SavedModel of TF 1")])
@pytest.mark.sample(1)
@pytest.mark.slow
def test_no_method_on_a_source_fails_other_than_by_a_refusal_and_undo_takes_each_edit_back(
    kind: str,
) -> None:
    found = outcomes([kind])
    assert defects_of(found) == []
    assert all(found.values())


@pytest.mark.slow
def test_no_method_fails_other_than_by_a_refusal_and_undo_takes_each_edit_back(
    found: dict[str, dict[str, Outcome]],
) -> None:
    assert defects_of(found) == []


@pytest.mark.slow
def test_the_page_of_the_documentation_is_what_was_found(
    found: dict[str, dict[str, Outcome]],
) -> None:
    assert PAGE.read_text(encoding="utf-8").startswith(page(found)), (
        "python -m tests.editor.verbs writes it"
    )

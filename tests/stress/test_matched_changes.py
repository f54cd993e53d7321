"""What is matched of networks after usual changes, next to copies with other weights: nearly all of
it, and nothing wrongly.

`make test` takes three small networks; `make stress` those of `networks`. The table of forty, in
docs/explanation/matching.md, is written by `python -m tests.stress.matched_changes`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.slow import slow
from tests.stress import networks
from tests.stress.matched_changes import COLUMNS, Subject, counts, subject_of

pytestmark = pytest.mark.filterwarnings("ignore:The frozen graph keeps hash table")
QUICK = (
    "squeeze and excite",
    "recurrent network in a while loop",
    # The copy fills the same lookup table.
    "table, embedding, conditional",
)
NETWORKS = [name if name in QUICK else slow(name) for name in (*networks.KERAS, *networks.SESSIONS)]
MOST_MISSING = 0.01  # of what has a partner; one op at least


@cache
def subject(name: str) -> Subject:
    with TemporaryDirectory() as folder:
        return subject_of(name, Path(folder))


@pytest.mark.parametrize("change", COLUMNS)
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.sample(8)
def test_what_has_a_partner_is_matched_with_it(name: str, change: str) -> None:
    found = counts(subject(name), change)
    assert found.wrong == 0
    assert found.partners > 10
    assert found.partners - found.right <= max(1, MOST_MISSING * found.partners), found


def test_a_captured_tensor_that_is_added_is_matched_with_its_constant() -> None:
    """A function has a placeholder for it, which counts as the constant does."""
    found = counts(subject("vision transformer"), "frozen")
    assert (found.right, found.wrong) == (found.partners, 0)
    assert found.partners > 300

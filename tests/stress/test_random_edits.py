"""Random calls of all verbs on graphs of every kind; see `sequences.Run` for what must hold after each."""

from __future__ import annotations

import pytest

from tests.stress import MODELS, Broken, Model, seeds
from tests.stress.random_edits import Call
from tests.stress.sequences import run_at_random, shorten

_CALLS = 10


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_random_calls_leave_nothing_half_done(model: Model) -> None:
    reports = []
    for seed in seeds(1):
        try:
            run_at_random(model, seed, _CALLS)
        except Broken as broken:
            reports.append(str(broken))
    assert not reports, "\n\n".join(reports)

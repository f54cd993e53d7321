"""Random calls of all methods on graphs of every kind; see `sequences.Run` for what must hold after
each.
"""

from __future__ import annotations

import pytest

from tests.slow import slow_if
from tests.stress import seeds
from tests.stress.models import MODELS, Model
from tests.stress.sequences import run_at_random

_LARGE = {"SavedModel of a module"}  # a minute and a half
_CALLS = 10


@pytest.mark.parametrize("model", slow_if(lambda model: str(model) in _LARGE, MODELS), ids=str)
@pytest.mark.sample(4)
def test_random_calls_leave_nothing_half_done(model: Model) -> None:
    reports = [run_at_random(model, seed, _CALLS) for seed in seeds(1)]
    assert not any(reports), "\n\n".join(filter(None, reports))

"""Random clones compute what their originals compute, with variables of their own."""

from __future__ import annotations

import pytest

from tests.slow import slow_if
from tests.stress import COUNTS, ROUNDS, seeds
from tests.stress.clones import clone_at_random
from tests.stress.models import MODELS, Model

_CLONES = 8
_QUICK = {"example", "tables", "mlp_ref", "batchnorm_updates"}
_LIVE = [model for model in MODELS if model.is_live]


@pytest.mark.parametrize(
    "model", slow_if(lambda model: str(model) not in _QUICK and ROUNDS == 1, _LIVE), ids=str
)
def test_random_clones_compute_the_same_with_variables_of_their_own(model: Model) -> None:
    before = COUNTS["clones"]
    reports = [report for seed in seeds(1) for report in clone_at_random(model, seed, _CLONES)]
    assert not reports, "\n\n".join(reports)
    assert COUNTS["clones"] > before or str(model) not in _QUICK

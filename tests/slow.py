"""The marker `slow`: tests of many seconds that show on a further model, source or way what a
quicker test shows.

`make test` leaves them out, so that it is run often and ends on a slow machine too; `make test-all`
runs them. Of a test marked `sample(n)`, all parameter sets but n are slow (`tests/conftest.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def slow(*values: object) -> Any:
    """Parameters of a test that are slow."""
    return pytest.param(*values, marks=pytest.mark.slow)


def slow_if(is_slow: Callable[[Any], bool], values: Iterable[Any]) -> list[Any]:
    """Parameters of a test; those of which `is_slow` is true are slow."""
    return [slow(value) if is_slow(value) else value for value in values]

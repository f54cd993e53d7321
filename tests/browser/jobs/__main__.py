"""Do the jobs of a user with a real mouse, and print a table of the clicks and keys that each has
taken.

python -m tests.browser.jobs
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.browser.jobs.counted import COUNTS, JOBS

HEAD = ("| job | before | now |", "|---|---|---|")


def table() -> str:
    """The jobs that were done since COUNTS was removed, in Markdown."""
    now = {}
    for line in COUNTS.read_text().splitlines() if COUNTS.exists() else ():
        name, clicks, keys = json.loads(line)
        parts = (
            f"{count} {what}{'s' * (count != 1)}"
            for count, what in ((clicks, "click"), (keys, "key"))
            if count
        )
        now[name] = ", ".join(parts)
    return "\n".join(
        [
            *HEAD,
            *(f"| {job.name} | {job.before} | {now.get(job.name, 'not done')} |" for job in JOBS),
        ]
    )


COUNTS.unlink(missing_ok=True)
code = pytest.main(["-q", "-n0", str(Path(__file__).parent), *sys.argv[1:]])
sys.stdout.write(f"{table()}\n")
sys.exit(code)

"""Damaged files: refused in a sentence, or opened and used, in bounded time and memory."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
from pathlib import Path
from typing import Any

from tests.stress import COUNTS, ROUNDS, count, seeds, unknown

_FILES = 30
# seconds for one file, or for TensorFlow to start on a busy machine; mostly a tenth of a second
_PATIENCE = 600
_ROOT = Path(__file__).parents[2]
_DAMAGE = """
import sys, pathlib
from tests.stress.damage import main
main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), pathlib.Path(sys.argv[4]))
"""


class Worker:
    """The process that opens the files; another one is started after a file that has ended it."""

    def __init__(self, seed: int, folder: Path, files: int, python: list[str]) -> None:
        self.seed, self.folder, self.files, self.python = seed, folder, files, python

    def reports(self) -> list[str]:
        """What went wrong, with the number of the file."""
        found: list[str] = []
        number = 0
        while number < self.files:
            number = self._reports_from(number, found)
        return found

    def _reports_from(self, first: int, found: list[str]) -> int:
        """Have files read from `first` on; the number to go on with."""
        errors = self.folder / f"errors from {first}"
        place = self.folder / f"from {first}"
        command = [*self.python, "-c", _DAMAGE, str(self.seed), str(first)]
        with errors.open("wb") as log, subprocess.Popen(
            [*command, str(self.files - first), str(place)], cwd=_ROOT, stdout=subprocess.PIPE,
            stderr=log,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        ) as process:  # fmt: skip
            number, why = first - 1, ""
            while line := _line(process):
                if "begins" in line:
                    number = line["begins"]
                elif line.get("late"):
                    process.kill()
                    why = f"takes over {_PATIENCE} s"
                    break
                else:
                    count("files")
                    if line["wrong"]:
                        found.append(f"file {self.seed}/{number} ({line['what']}): {line['wrong']}")
            if process.wait() and number < self.files:
                last = errors.read_text(errors="replace").strip()[-600:]
                found.append(
                    f"file {self.seed}/{number}: "
                    f"{why or f'ends the process ({process.returncode})'}: {last}"
                )
        return number + 1


def _line(process: Any) -> dict[str, Any]:
    """The next line of a process; {} when it has ended, {"late": True} when it says nothing for too
    long.
    """
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        if not selector.select(_PATIENCE):
            return {"late": True}
    text = process.stdout.readline()
    return json.loads(text) if text else {}


def test_a_damaged_file_is_refused_or_can_be_used(tmp_path: Path, warm_python: list[str]) -> None:
    before = COUNTS["files"]
    reports = Worker(seeds(1)[0], tmp_path, _FILES * ROUNDS, warm_python).reports()
    wrong = [*filter(None, map(unknown, reports))]
    assert not wrong, "\n".join(wrong)
    assert COUNTS["files"] - before >= _FILES * ROUNDS // 2

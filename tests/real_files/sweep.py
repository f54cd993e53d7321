"""The sweep: every method on every file, each file in a process with limits; what came of it is
recorded.

    python -m tests.real_files.sweep FOLDER             prints the table, and what is worse
    python -m tests.real_files.sweep FOLDER --record    writes what came of it to outcomes.tsv

Without FOLDER small files are made to the kinds that people have.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tests.real_files.made import MADE
from tests.real_files.verbs import METHODS, Job, Outcome, Tried, try_job
from tests.untrusted.processes import Ended, run_apart

RECORD = Path(__file__).with_name("outcomes.tsv")
SECONDS = 120.0  # that one method may take on a busy machine
SUFFIXES = (".pb", ".pbtxt", ".meta")
_LETTERS = "drwex"
"""A letter for each Outcome: done, refused, wrong, error, died."""


def files_in(folder: Path) -> list[Path]:
    """The graphs in a folder: SavedModels, and files that hold graphs."""
    models = {file.parent for file in folder.rglob("saved_model.pb*")}
    alone = (
        file for file in folder.rglob("*") if file.suffix in SUFFIXES and file.parent not in models
    )
    return sorted([*models, *(file for file in alone if "variables" not in file.parts)])


def make_files(folder: Path, names: Iterable[str] = MADE) -> list[Path]:
    """Small files of the kinds that people have, each in a folder of its own."""
    for name in names:
        place = folder / name
        place.mkdir()
        MADE[name](place)
    return files_in(folder)


def sweep(paths: Sequence[Path]) -> Iterator[tuple[Path, dict[str, Tried]]]:
    """What came of each method on each file."""
    jobs = [Job(str(path), method) for path in paths for method in METHODS]
    results = run_apart(try_job, jobs, SECONDS)
    for path in paths:
        tried = {method: next(results) for method in METHODS}
        yield (
            path,
            {
                method: Tried(Outcome.DIED, t.how) if isinstance(t, Ended) else t
                for method, t in tried.items()
            },
        )


def recorded() -> dict[str, dict[str, Outcome]]:
    """What came of each method on each file when it was recorded."""
    rows = [
        line.split("\t")
        for line in RECORD.read_text(encoding="utf-8").splitlines()
        if line[0] != "#"
    ]
    return {
        name: {
            method: Outcome(_LETTERS.index(c)) for method, c in zip(METHODS, letters, strict=True)
        }
        for name, letters in rows
    }


def worse(name: str, tried: Mapping[str, Tried], before: Mapping[str, Outcome]) -> list[str]:
    """Sentences on the methods that came out worse than recorded; of a new file on what is no
    refusal.
    """
    limit = {method: before.get(method, Outcome.REFUSED) for method in METHODS}
    return [
        f"{name}: {method} is {t.outcome.name}, was {limit[method].name}: {t.says}"
        for method, t in tried.items()
        if t.outcome > limit[method]
    ]


def main(arguments: Sequence[str]) -> None:
    """Sweep a folder, or files that are made."""
    places = [Path(text) for text in arguments if text[:2] != "--"]
    with tempfile.TemporaryDirectory() as scratch:
        root = places[0] if places else Path(scratch)
        paths = files_in(root) if places else make_files(root)
        rows, counts, before = (
            dict[str, str](),
            {method: Counter[Outcome]() for method in METHODS},
            recorded(),
        )
        for path, tried in sweep(paths):
            name = path.relative_to(root).as_posix()
            rows[name] = "".join(_LETTERS[t.outcome] for t in tried.values())
            for method, t in tried.items():
                counts[method][t.outcome] += 1
            for line in worse(name, tried, before.get(name, {})):
                sys.stdout.write(line.replace("\n", " ") + "\n")
                sys.stdout.flush()
    sys.stdout.write(
        "| method | "
        + " | ".join(each.name.lower() for each in Outcome)
        + " |\n|---|"
        + "---:|" * 5
        + "\n"
    )
    for method, count in counts.items():
        sys.stdout.write(
            f"| {method} | " + " | ".join(str(count[each]) for each in Outcome) + " |\n"
        )
    if "--record" in arguments:
        letters = {
            name: "".join(_LETTERS[o] for o in by.values()) for name, by in before.items()
        } | rows
        meaning = ", ".join(
            f"{letter} {each.name.lower()}" for letter, each in zip(_LETTERS, Outcome, strict=True)
        )
        head = f"# What came of {', '.join(METHODS)}: {meaning}.\n"
        RECORD.write_text(
            head + "".join(f"{name}\t{letters[name]}\n" for name in sorted(letters)),
            encoding="utf-8",
        )


if __name__ == "__main__":
    main(sys.argv[1:])

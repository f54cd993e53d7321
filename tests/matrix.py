"""Runs tests on every pair of Python and TensorFlow that pip can install, and writes
docs/versions.md.

`make matrix` makes one environment for each pair, in a temporary folder that is removed again (1.8
GB each), and runs the tests that concern TensorFlow most: its facts, its internal names, edits,
sources, sessions, graph_editor, export. `make matrix ONLY=3.10-2.16` runs one pair; `make matrix
TESTS=tests/test_tensorflow_facts.py` runs fewer tests. A row of the table that is not run again
stays as it is. "none" means no TensorFlow: there the tests run that need none. `make nightly`
runs TensorFlow's build of the day, which is run only when it is named. The private names of
TensorFlow that a release has no longer, or that take other arguments, are listed first.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "docs" / "versions.md"
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
NONE, NIGHTLY = "none", "nightly"
RELEASES = (NONE, "2.16", "2.17", "2.18", "2.19", "2.20", "2.21", NIGHTLY)
# What each environment has beside: the oldest that is promised of ipywidgets, the newest of all
# else. With TensorFlow 2.20 goes the protobuf of Colab: with protobuf 6 it warns when it is
# imported, or when tf.io.write_graph writes text.
BESIDE = {"2.16": ["ipywidgets==7.6.*"], "2.20": ["protobuf<6"]}
TESTS = (
    "tests/test_tensorflow_facts.py",
    "tests/test_tf_internals.py",
    "tests/edits",
    "tests/sources",
    "tests/runtime",
    "tests/graph_editor",
    "tests/export",
)
TOOLS = (
    "pytest",
    "pytest-xdist",
    "pytest-benchmark",
    "hypothesis",
    "nbformat",
    "nbclient",
    "ipykernel",
    "jupyter-server",
    "matplotlib",
    "networkx",
    "pandas",
    "scipy",
)
# It says which release the others were run on last, and to read their facts again.
OTHER_RELEASE = (
    "tests/test_tf_internals.py::"
    "test_the_installed_release_is_the_one_that_the_internals_were_run_on"
)
HEAD = """# Releases of Python and TensorFlow

Supported are Python 3.10 or newer and TensorFlow 2.16 or newer. Tested pairs have a ✓; JupyterLab
4.6, Notebook 7 and marimo are tested with the newest of them, in Chromium on Linux. `make test`
itself runs on Python 3.11 and TensorFlow 2.21.

{summary}

## What was run

Written by `make matrix`, which makes an environment for each pair that pip can install and runs
tests in it. A pair that is not listed was not tested.

| Python | TensorFlow | with | result | tests | day |
|---|---|---|---|---|---|
"""


def say(text: str) -> None:
    """Print a line at once, as a run takes long."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def interpreter(version: str) -> str | None:
    """The path of this Python ("3.11"), or None if the machine has none that runs."""
    installed = Path.home().glob(f".pyenv/versions/{version}.*/bin/python")
    candidates = [shutil.which(f"python{version}"), *map(str, installed)]
    for path in filter(None, candidates):
        code = "import sys; print('%d.%d' % sys.version_info[:2])"
        run = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
        if run.returncode == 0 and run.stdout.strip() == version:
            return path
    return None


def dependencies() -> list[str]:
    """What the project asks pip for, TensorFlow aside."""
    tomllib = __import__("tomllib" if sys.version_info >= (3, 11) else "tomli")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [each for each in project["dependencies"] if not each.startswith("tensorflow")]


def environment(folder: Path, python: str, release: str) -> Path | None:
    """The Python of a new environment with this TensorFlow; None if pip finds none for this
    pair.
    """
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    own = folder / "bin" / "python"
    # A bound that is a build of the day lets pip take one, of this package alone.
    tensorflow = {NONE: [], NIGHTLY: ["tf-nightly>=2.0.dev0"]}.get(
        release, [f"tensorflow=={release}.*"]
    )
    wanted = [*tensorflow, *dependencies(), *TOOLS, *BESIDE.get(release, [])]
    run = subprocess.run(
        [own, "-m", "pip", "install", "-q", *wanted], capture_output=True, text=True, check=False
    )
    if run.returncode == 0:
        return own
    say(run.stderr[-2000:])
    return None


def versions(python: Path) -> str:
    """Releases of what is beside TensorFlow in an environment."""
    code = "from importlib import metadata as m; h = {d.name.lower() for d in m.distributions()}; "
    code += "print(*(f'{n} {m.version(n)}' for n in %r if n in h), sep=', ')"
    names = ("tensorflow", "tf_nightly", "keras", "numpy", "protobuf", "ipywidgets")
    run = subprocess.run(
        [python, "-c", code % (names,)], capture_output=True, text=True, check=True
    )
    return run.stdout.strip()


def broken_names(python: Path) -> list[str]:
    """The private names of TensorFlow that this package uses and that are not there as it uses
    them.
    """
    code = (
        "from tfgraphwidget.tf_releases import absent_names; "
        "print(*sorted(absent_names().values()), sep='\\n')"
    )
    run = subprocess.run([python, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return run.stdout.split("\n")[:-1] if run.stdout.strip() else []


def run_tests(python: Path, tests: list[str]) -> str:
    """The last line of pytest: "2643 passed, 2 failed"."""
    command = [
        python,
        "-m",
        "pytest",
        "-q",
        "--benchmark-skip",
        "-p",
        "no:cacheprovider",
        "-n2",
        "-W",
        "ignore:TensorFlow 2:UserWarning",  # of one that is newer than the newest tested
        "--deselect",
        OTHER_RELEASE,
        *tests,
    ]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    say(run.stdout[-6000:])
    last = run.stdout.strip().splitlines()[-1] if run.stdout.strip() else run.stderr[-200:]
    return re.sub(r" in .*|=+ ?", "", last).strip()


def rows() -> dict[tuple[str, str], str]:
    """The rows of the table as it is, by Python and TensorFlow."""
    if not TABLE.exists():
        return {}
    found = re.findall(
        rf"^(\| (3\.\d+) \| (2\.\d+|{NONE}|{NIGHTLY}) \| .*)$",
        TABLE.read_text(),
        flags=re.MULTILINE,
    )
    return {(version, release): line for line, version, release in found}


def summary(table: Mapping[tuple[str, str], str]) -> str:
    """The tested pairs as a grid: a row for each release of TensorFlow, a column for each of
    Python.
    """
    lines = [f"| TensorFlow | Python {' | '.join(PYTHONS)} |", f"|---|{'---|' * len(PYTHONS)}"]
    for release in RELEASES:
        marks = ["✓" if (version, release) in table else "" for version in PYTHONS]
        if any(marks):
            lines.append(f"| {release} | {' | '.join(marks)} |")
    return "\n".join(lines)


def write(table: Mapping[tuple[str, str], str]) -> None:
    """Write the table, in the order of the releases."""
    numbers = {NONE: "0", NIGHTLY: "9999"}

    def place(pair: tuple[str, str]) -> list[int]:
        return [int(part) for name in pair for part in numbers.get(name, name).split(".")]

    order = sorted(table, key=place)
    TABLE.write_text(
        HEAD.format(summary=summary(table)) + "\n".join(table[pair] for pair in order) + "\n"
    )


def pairs(only: str) -> Iterator[tuple[str, str]]:
    """Pairs of Python and TensorFlow: all, or those of "3.10-2.16,3.11-2.17"."""
    chosen = set(filter(None, only.split(",")))
    for release in RELEASES:
        for version in PYTHONS:
            if f"{version}-{release}" in chosen or (not chosen and release != NIGHTLY):
                yield version, release


def main() -> None:
    """Run the pairs one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="pairs, as 3.10-2.16,3.11-2.17; all if empty")
    parser.add_argument("tests", nargs="*", help="files and folders of tests")
    arguments = parser.parse_args()
    for version, release in pairs(arguments.only):
        tests = ["-m", "no_tensorflow"] if release == NONE else arguments.tests or list(TESTS)
        python = interpreter(version)
        if python is None:
            say(f"Python {version} is not on this machine.")
            continue
        with tempfile.TemporaryDirectory() as folder:
            own = environment(Path(folder) / "env", python, release)
            if own is None:
                say(f"pip finds no packages for Python {version} and TensorFlow {release}.")
                continue
            broken = broken_names(own) if release != NONE else []
            for name in broken:
                say(f"TensorFlow {release} has no {name}, which tf_internals uses.")
            beside, result = versions(own), run_tests(own, tests)
            result += f"; without {', '.join(broken)}" if broken else ""
        day = f"{datetime.now(tz=timezone.utc):%Y-%m-%d}"
        what = (
            "all of `make matrix`"
            if tests == list(TESTS)
            else ", ".join(f"`{test}`" for test in tests)
        )
        what = "`make test-pure`" if release == NONE else what
        table = rows() | {
            (version, release): f"| {version} | {release} | {beside} | {result} | {what} | {day} |"
        }
        write(table)
        say(f"{version} {release} {beside}: {result}")


if __name__ == "__main__":
    main()

"""`pytest -m no_tensorflow` collects the tests of the drawing and runs them in a process without
TensorFlow.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import tomllib

ROOT = Path(__file__).parents[1]
REPORT = """
import sys, pytest
status = pytest.main(sys.argv[1:])
print(
    "exit status",
    int(status),
    *sorted({"tensorflow", "keras"} & {name.partition(".")[0] for name in sys.modules}),
)
"""


def run(*options: str) -> list[str]:
    """The lines that pytest prints with some options; the last says its exit status and what was
    imported.
    """
    command = [
        sys.executable,
        "-c",
        REPORT,
        "-q",
        "-n0",
        "-p",
        "no:cacheprovider",
        "-m",
        "no_tensorflow",
        *options,
    ]
    # Which may have options that change what is printed.
    variables = {
        **os.environ,
        "PYTEST_ADDOPTS": "",
    }
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, env=variables
    )
    return done.stdout.strip().splitlines()


def test_the_selection_has_the_tests_of_the_drawing_and_collecting_it_imports_no_tensorflow():
    *lines, last = run("--collect-only")
    assert last == "exit status 0"
    folders = Counter(
        line.split("/")[1] for line in lines if line.startswith("tests/") and "::" in line
    )
    assert all(folders[name] > 30 for name in ("hierarchy", "layout", "scene", "visible"))
    assert not folders.keys() & {"browser", "runtime", "sources"}


@pytest.mark.slow
def test_the_tests_of_a_folder_run_and_pass_without_tensorflow():
    *lines, last = run("tests/visible", "tests/scene", "tests/hierarchy")
    assert last == "exit status 0"
    assert int(lines[-1].split(" passed")[0]) > 100


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("import tensorflow", "a test with the marker no_tensorflow imports TensorFlow"),
        (
            "import tfgraphwidget as tgw; tgw.example()",
            "TensorFlow, which is not installed: run pip install",
        ),
    ],
)
def test_what_needs_tensorflow_fails_in_such_a_run(code, sentence):
    blocked = (
        "import sys; from tests.no_tensorflow import WithoutTensorFlow as W; "
        f"sys.meta_path.insert(0, W()); {code}"
    )
    done = subprocess.run(
        [sys.executable, "-c", blocked], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert sentence in done.stderr.splitlines()[-1]


def test_the_environment_of_make_test_pure_is_asked_for_no_tensorflow():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    own = re.compile(r"tfgraphwidget\[(.*)\]")
    packages, asked = set(), [*extras["test-pure"]]
    while asked:
        package = asked.pop()
        if extra := own.fullmatch(package):
            asked += [each for name in extra[1].split(",") for each in extras[name]]
        packages |= {re.split(r"[^\w-]", package)[0]}
    assert {"pytest", "pandas"} <= packages
    assert not {"tensorflow", "tf2onnx", "tensorboard"} & packages

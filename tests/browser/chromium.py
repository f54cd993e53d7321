"""Finds a Chromium for the browser tests, or brings one; never skips.

In this order: `$CHROMIUM`; chromium, chromium-browser or google-chrome on PATH; the one Playwright
has downloaded; `playwright install chromium`; for root on Debian or Ubuntu, `apt-get install
chromium`. When none of these is to be had the tests fail, saying what to do.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",  # root, in a container, has no user namespaces to build the sandbox from
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DOWNLOAD_SECONDS = 120
APT_SECONDS = 600


def find_chromium(playwrights_own: str) -> str:
    """Path of a Chromium that runs; `playwrights_own` is where Playwright would put its own."""
    tried = []
    for way, path in ways(playwrights_own):
        if path and runs(path):
            return path
        tried.append(f"{way}: {path or 'none'}")
    raise RuntimeError(
        "No Chromium for the browser tests. Tried "
        + "; ".join(tried)
        + ". Install one (`apt-get install chromium`, "
        "`playwright install chromium`) or set CHROMIUM to the path of a Chromium or Chrome."
    )


def ways(playwrights_own: str) -> Iterator[tuple[str, str | None]]:
    """What was tried and the path it gave, lazily: the last ones install something."""
    if "CHROMIUM" in os.environ:
        yield "$CHROMIUM", os.environ["CHROMIUM"]
    yield "on PATH", on_path()
    yield "Playwright's own", playwrights_own
    attempt([sys.executable, "-m", "playwright", "install", "chromium"], DOWNLOAD_SECONDS)
    yield "playwright install chromium", playwrights_own
    if hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get"):
        attempt(["apt-get", "update", "-qq"], APT_SECONDS)
        # A font too: without one a bare machine draws no letters, and screenshots show none.
        packages = ["chromium", "fonts-dejavu-core"]
        attempt(
            ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages], APT_SECONDS
        )
        yield "apt-get install chromium", on_path()


def on_path() -> str | None:
    """The first Chromium or Chrome on PATH."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def runs(path: str) -> bool:
    """Whether it is there and tells its version: Ubuntu's `chromium-browser` may be a stub that
    asks for snap.
    """
    try:
        return (
            subprocess.run(
                [path, "--version"], capture_output=True, timeout=60, check=False
            ).returncode
            == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return False


def attempt(command: list[str], seconds: float) -> None:
    """Run an installer that may well fail: the way that is tried next says so in the end."""
    log = Path(__file__).parent / "artifacts" / "chromium.log"
    log.parent.mkdir(exist_ok=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with log.open("a", encoding="utf-8") as output:
        output.write(f"$ {' '.join(command)}\n")
        output.flush()
        try:
            subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                timeout=seconds,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            output.write(f"{error}\n")

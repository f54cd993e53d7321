"""The `tfgraphwidget` command; `demo` opens the first notebook in JupyterLab."""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import socket
import subprocess
import sys
from pathlib import Path

_NOTEBOOK = Path(__file__).parent.parent / "notebooks" / "01_clone_by_clicking.ipynb"


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit code: 0 done, 1 refused, 2 a word that is not known."""
    parser = argparse.ArgumentParser(prog="tfgraphwidget", description="See, clone and export TensorFlow graphs.")
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="open the first notebook in JupyterLab and print its URL")
    demo.add_argument("--port", type=int, default=8888, help="the first port to try (default: 8888)")
    demo.add_argument("--browser", action="store_true", help="open the URL in a browser too")
    options = parser.parse_args(arguments)
    return _demo(options.port, options.browser)


def _demo(port: int, browser: bool) -> int:
    if not _NOTEBOOK.is_file():
        print(
            f"tfgraphwidget: {_NOTEBOOK.name} is not beside the package; run the demo from a clone of the repository.",
            file=sys.stderr,
        )
        return 1
    port, token = _free_port(port), secrets.token_hex(16)
    url = f"http://127.0.0.1:{port}/lab/tree/{_NOTEBOOK.name}?token={token}"
    print(f"\n    Open this in a browser:\n\n    {url}\n\n    Ctrl-C ends it.\n", flush=True)
    command = [sys.executable, "-m", "jupyterlab", "--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0"]
    command += [f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={_NOTEBOOK.parent}"]
    command += ["--ServerApp.log_level=WARN", *([] if browser else ["--no-browser"])]
    command += ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    if browser:
        command.append(f"--LabApp.default_url=/lab/tree/{_NOTEBOOK.name}")
    with subprocess.Popen(command) as server:
        while True:
            with contextlib.suppress(KeyboardInterrupt):  # the server has got it too, and asks whether it is meant
                return server.wait()


def _free_port(first: int) -> int:
    """The first port from `first` on that nobody listens on."""
    for port in range(first, first + 200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port
    raise SystemExit(f"tfgraphwidget: no free port from {first} to {first + 199}; give another with --port.")


if __name__ == "__main__":
    sys.exit(main())

"""`tfgraphwidget demo` and `show`: start a JupyterLab server on a free port of this machine."""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import webbrowser
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from tfgraphwidget.cli.console import print_note, print_output
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.naming import names_text
from tfgraphwidget.sources import locate_file, recognize
from tfgraphwidget.writable import reason

# In the package, where pip has installed it; next to the package in a checkout.
_FOLDERS = tuple(parent / "notebooks" for parent in Path(__file__).parents[1:3])
_NOTEBOOK = "01_clone_by_clicking.ipynb"
_PACKAGE = sys.modules[__name__.partition(".")[0]]
_COPIES = f"tfgraphwidget-{_PACKAGE.__version__}-demo"
_DEMO_PACKAGES = ("jupyterlab", "tensorflow", "ipykernel")
_MOST_TRIED = 200  # ports that are tried for a free one
_PORTS = 1 << 16


def demo(options: argparse.Namespace) -> int:
    """Open the first notebook, in a copy of their folder in the user's own."""
    notebooks = _notebooks()
    missing = [name for name in _DEMO_PACKAGES if find_spec(name) is None]
    if missing:
        raise GraphEditError(
            f"The demo needs {names_text(missing)}; run pip install 'tfgraphwidget[demo]'."
        )
    try:
        copies = Path.home() / _COPIES
        _copy_missing(notebooks, copies)
    except (OSError, RuntimeError) as error:  # RuntimeError: the user has no home folder
        raise _unwritable_home(error) from error
    print_output(f"\n    Your copy of the notebooks is {copies}; delete it to begin again.")
    return _serve(copies / _NOTEBOOK, copies, options.port, browser=options.browser)


def _notebooks() -> Path:
    """The folder of the notebooks that are installed."""
    folder = next((each for each in _FOLDERS if (each / _NOTEBOOK).is_file()), None)
    if folder is None:
        raise GraphEditError(
            f"The notebooks are not installed: {_NOTEBOOK!r} is neither in the package nor next to "
            "it; install a wheel of tfgraphwidget."
        )
    return folder


def show(options: argparse.Namespace) -> int:
    """Open a file, or the main file of a directory, in JupyterLab."""
    if find_spec("jupyterlab") is None:
        return _show_page(options)
    locate_file(Path(options.file))  # a sentence about it names it as it was given
    path = Path(os.path.abspath(options.file))  # noqa: PTH100  # a link is shown by the name it was given
    root, file = path.parent, locate_file(path)
    if any(part.startswith(".") for part in file.relative_to(root).parts):
        raise GraphEditError(
            f"Jupyter does not open hidden files such as {file.name!r}; rename the file."
        )
    recognize(file)
    return _serve(file, root, options.port, browser=not options.no_browser)


def _show_page(options: argparse.Namespace) -> int:
    """Write the page of a file that there is no JupyterLab to edit in, and open it."""
    from tfgraphwidget.cli import files

    page = Path(tempfile.mkdtemp(prefix="tfgraphwidget-")) / f"{Path(options.file).stem}.html"
    options.html = str(page)
    files.write_page(options)
    print_note(
        "tfgraphwidget: note: JupyterLab is not installed, so this is a page to look at; run pip "
        "install jupyterlab to edit."
    )
    if not options.no_browser:
        webbrowser.open(page.as_uri())
    return 0


def _copy_missing(folder: Path, copies: Path) -> None:
    """Copy the files of a folder that the other does not have yet."""
    for file in folder.rglob("*"):
        path = file.relative_to(folder)
        target = copies / path
        is_hidden = any(part.startswith(".") for part in path.parts)
        if file.is_file() and not is_hidden and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)


def document_address(file: Path, root: Path) -> str:
    """The path in the URL at which JupyterLab shows a file, with special characters quoted."""
    return f"lab/tree/{quote(file.relative_to(root).as_posix())}"


def _serve(file: Path, root: Path, port: int, *, browser: bool) -> int:
    if find_spec("jupyterlab") is None:
        raise GraphEditError("JupyterLab is not installed here; run pip install jupyterlab.")
    port, token, folder = _free_port(port), secrets.token_hex(16), _runtime_folder()
    where = document_address(file, root)
    url = f"http://127.0.0.1:{port}/{where}?token={token}"
    print_output(f"\n    Open this in a browser:\n\n    {url}\n\n    Ctrl-C ends it.\n")
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--ip=127.0.0.1",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        f"--ServerApp.root_dir={root}",
        "--ServerApp.log_level=WARN",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    command.append(f"--LabApp.default_url=/{where}" if browser else "--no-browser")
    # Kernels inherit the environment: its log level keeps TensorFlow from reporting processors and
    # graphics cards that are not there. The token is in it because every user of the machine can
    # read the arguments of a process.
    environment = {"TF_CPP_MIN_LOG_LEVEL": "3", **os.environ, "JUPYTER_TOKEN": token}
    with (
        subprocess.Popen(command, env=environment, cwd=folder) as server,
        _passing_on(signal.SIGTERM, server),
    ):
        while True:
            with contextlib.suppress(KeyboardInterrupt):
                # The server has got it too, and asks whether it is meant.
                return server.wait()


@contextlib.contextmanager
def _passing_on(number: signal.Signals, server: subprocess.Popen[bytes]) -> Iterator[None]:
    """Pass on to the server a signal that would end this process alone."""
    before = signal.signal(number, lambda *_: server.send_signal(number))
    try:
        yield
    finally:
        signal.signal(number, before)


def _runtime_folder() -> Path:
    """Jupyter's directory for runtime files.

    `python -m` imports from the current directory, which must not be that of an untrusted file.
    """
    from jupyter_core.paths import jupyter_runtime_dir

    folder = Path(jupyter_runtime_dir())
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable_home(error) from error
    return folder


def _unwritable_home(error: OSError | RuntimeError) -> GraphEditError:
    """Neither the notebooks nor Jupyter's own files can be written to the home folder."""
    where = getattr(error, "filename", None) or "The home folder"
    return GraphEditError(
        f"{where} cannot be written: {reason(error)}; set the environment variable HOME to a "
        "folder that you can write to."
    )


def _free_port(first: int) -> int:
    """The first free port from `first` on."""
    for port in range(first, min(first + _MOST_TRIED, _PORTS)):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port
    raise GraphEditError(f"There is no free port from {first} on; give another with --port.")

"""A JupyterLab (with Notebook 7 beside it) of the tests' own: its own port, token, settings and
folder of notebooks.
"""

from __future__ import annotations

import ast
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import websocket

App = Literal["lab", "notebook"]  # JupyterLab, Notebook 7
START_SECONDS = 300
# JupyterLab would ask whether to fetch news, and look for updates, on another host.
SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
    # Every cell is on the page, in view or not, so that a test can point at it.
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
    # A test decides when something is written.
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
}
# Each page would have the server start Node, to see whether JupyterLab's own code must be built.
PAGE = {"buildCheck": False, "buildAvailable": False}


@dataclass
class JupyterServer:
    """A running server: where it is, its token, the folder it serves and what it prints."""

    home: Path
    root: Path
    port: int
    environment: dict[str, str] = field(
        default_factory=dict
    )  # what it and its kernels get beside the tests' own
    base_url: str = "/"  # as JupyterHub has one for each user
    page_port: int = 0  # where pages find it, if something lies between
    token: str = field(default_factory=lambda: secrets.token_hex(16))
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The origin: no page of a test may ask anything of another."""
        return f"http://127.0.0.1:{self.page_port or self.port}"

    @property
    def log(self) -> Path:
        """What the server and its kernels print."""
        return self.home / "server.log"

    def page_url(self, path: str, app: App = "lab") -> str:
        """The address that opens a notebook of `root`, in JupyterLab in a new workspace with no
        other tab.
        """
        place = (
            f"lab/workspaces/{uuid.uuid4().hex}/tree/{path}"
            if app == "lab"
            else f"notebooks/{path}"
        )
        return f"{self.url}{self.base_url}{place}?token={self.token}"

    def api(self, path: str, method: str = "GET") -> Any:
        """The JSON that the server's REST API answers."""
        headers = {"Authorization": f"token {self.token}"}
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{self.base_url}api/{path}", headers=headers, method=method
        )
        with urllib.request.urlopen(request, timeout=30) as reply:
            body = reply.read()
        return json.loads(body) if body else None

    def kernel_of(self, path: str) -> str:
        """Id of the kernel that the notebook at `path` runs on."""
        sessions = self.api("sessions")
        found = [session["kernel"]["id"] for session in sessions if session["path"] == path]
        if not found:
            raise LookupError(
                f"{path!r} has no kernel; there are {[session['path'] for session in sessions]}."
            )
        return found[0]

    def kernel_eval(
        self, path: str, expression: str, before: str = "", seconds: float = 120
    ) -> Any:
        """Run `before`, then give the value of `expression` (as JSON) in the kernel that the
        notebook runs on.

        It waits behind what the kernel is doing, so after a click it sees the click's effect. It
        leaves no trace in the notebook: no output, no execution count. An exception in the kernel
        is raised here, with its traceback.
        """
        question = uuid.uuid4().hex
        dumped = f"__import__('json').dumps({expression})"
        message = {
            "header": {"msg_id": question, "msg_type": "execute_request", "username": "",
                "session": question,
                       "date": "", "version": "5.3"},
            "parent_header": {}, "metadata": {}, "buffers": [], "channel": "shell",
            "content": {"code": before, "silent": True, "store_history": False,
                "allow_stdin": False,
                        "user_expressions": {"value": dumped}, "stop_on_error": False},
        }  # fmt: skip
        kernel = f"127.0.0.1:{self.port}{self.base_url}api/kernels/{self.kernel_of(path)}"
        address = f"ws://{kernel}/channels?session_id={question}"
        header = [f"Authorization: token {self.token}"]
        connection = websocket.create_connection(address, timeout=seconds, header=header)
        try:
            connection.send(json.dumps(message))
            reply = await_reply(connection, question, seconds)
        finally:
            connection.close()
        result = reply if reply["status"] == "error" else reply["user_expressions"]["value"]
        if result["status"] == "error":
            raise AssertionError("in the kernel: " + "\n".join(result["traceback"]))
        return json.loads(ast.literal_eval(result["data"]["text/plain"]))

    def sessions(self) -> set[str]:
        """Ids of the sessions (a notebook and its kernel each) that are open."""
        return {session["id"] for session in self.api("sessions")}

    def end_session(self, session: str) -> None:
        """Shut the session's kernel down; one that has been shared may be gone already, and the
        session with it.

        The server closes its sockets to a kernel with the kernel, but not those of a page that
        leaves behind it: they would try to connect again ten times a second, until the server ends.
        So the pages' end is awaited.
        """
        try:
            for _ in range(200):
                if not self.api(f"sessions/{session}")["kernel"]["connections"]:
                    break
            self.api(f"sessions/{session}", "DELETE")
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise

    def start(self) -> None:
        """Start, and return when it answers."""
        folder = self.home / "config" / "labconfig"
        folder.mkdir(parents=True)
        (folder / "default_setting_overrides.json").write_text(json.dumps(SETTINGS))
        (folder / "page_config.json").write_text(json.dumps(PAGE))
        self.root.mkdir()
        folders = {name: str(self.home / name) for name in ("config", "data", "runtime", "ipython")}
        environment = {
            **os.environ,
            "JUPYTER_CONFIG_DIR": folders["config"],
            "JUPYTER_DATA_DIR": folders["data"],
            "JUPYTER_RUNTIME_DIR": folders["runtime"],
            "IPYTHONDIR": folders["ipython"],
            "TF_CPP_MIN_LOG_LEVEL": "2",
            # Each page asks for nbconvert's formats, and to see which are configured takes 0.7 s of
            # CPU.
            "NBCONVERT_DISABLE_CONFIG_EXPORTERS": "1",
            **self.environment,
        }
        command = [
            sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root",
            "--ip=127.0.0.1",
            f"--ServerApp.base_url={self.base_url}",
            f"--port={self.port}", "--ServerApp.port_retries=0",
            f"--IdentityProvider.token={self.token}",
            f"--ServerApp.root_dir={self.root}", "--LabApp.expose_app_in_browser=True",
            "--JupyterNotebookApp.expose_app_in_browser=True",
            "--LabApp.extension_manager=readonly",
            f"--LabApp.workspaces_dir={self.home / 'workspaces'}",
        ]  # fmt: skip
        with self.log.open("wb") as output:
            # A session of its own, so that stopping it reaches its kernels too.
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
        self.await_answer()

    def await_answer(self) -> None:
        """Wait until the server answers; say what it printed when it ends or stays silent."""
        assert self.process is not None
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            if self.answers():
                return
            time.sleep(0.1)
        self.stop()
        raise RuntimeError(
            f"JupyterLab did not start:\n{self.log.read_text(errors='replace')[-4000:]}"
        )

    def answers(self) -> bool:
        """Whether the server is up."""
        try:
            self.api("status")
        except (urllib.error.URLError, OSError):
            return False
        return True

    def stop(self) -> None:
        """End the server and its kernels: asked first, then killed."""
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def await_reply(connection: websocket.WebSocket, question: str, seconds: float) -> dict[str, Any]:
    """The content of the execute_reply to `question`; all else that the kernel says meanwhile is
    passed over.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        frame = connection.recv()
        # Binary frames carry a widget's buffers; a reply to execute_request has none.
        if isinstance(frame, str):
            message = json.loads(frame)
            parent = message["parent_header"].get("msg_id")
            if message["msg_type"] == "execute_reply" and parent == question:
                return dict(message["content"])
    raise TimeoutError(f"The kernel did not answer within {seconds:.0f} s.")


def free_port() -> int:
    """A port on loopback that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

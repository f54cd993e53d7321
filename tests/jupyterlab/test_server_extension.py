"""The route that starts kernels of documents: what no page sends is refused in a sentence, and
starts nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytestmark = pytest.mark.no_tensorflow

SECONDS = 60
"""How long a server may take to start."""


class Server(NamedTuple):
    """A Jupyter server with the extension."""

    url: str
    log: Path

    def ask(
        self, method: str, body: bytes | None, route: str = "tfgraphwidget/kernels", **headers: str
    ) -> tuple[int, Any]:
        """The status and the JSON of a reply."""
        headers = {"Authorization": "token secret", "Content-Type": "application/json"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        request = urllib.request.Request(self.url + route, body, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as reply:
                return reply.status, json.loads(reply.read() or b"null")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"null")


def started_url(process: subprocess.Popen[bytes], runtime: Path, log: Path) -> str:
    """The address of a server, once it answers."""
    last = time.monotonic() + SECONDS
    while time.monotonic() < last:
        assert process.poll() is None, log.read_text()
        with contextlib.suppress(
            StopIteration, ValueError, OSError
        ):  # not written, half written, not listening yet
            url: str = json.loads(next(runtime.glob("jpserver-*.json")).read_text())["url"]
            urllib.request.urlopen(f"{url}api").close()
            return url
        time.sleep(0.05)
    raise AssertionError(log.read_text())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    runtime, log = folder / "runtime", folder / "log.txt"
    environment = os.environ | {
        "JUPYTER_RUNTIME_DIR": str(runtime),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "PYTHONPATH": os.pathsep.join(
            filter(None, (str(Path.cwd()), os.environ.get("PYTHONPATH")))
        ),
    }
    options = {
        "ip": "127.0.0.1",
        "port": "0",
        "root_dir": str(folder),
        "open_browser": "False",
        "allow_root": "True",
        "jpserver_extensions": '{"tfgraphwidget.jupyterlab.server_extension": True}',
    }
    command = [sys.executable, "-m", "jupyter_server", "--IdentityProvider.token=secret"]
    command += [f"--ServerApp.{name}={value}" for name, value in options.items()]
    with (
        log.open("wb") as out,
        subprocess.Popen(command, env=environment, stdout=out, stderr=out) as process,
    ):
        try:
            yield Server(started_url(process, runtime, log), log)
        finally:
            process.terminate()


def text(**fields: object) -> bytes:
    return json.dumps(fields).encode()


BODIES = {
    "no JSON": (b"kernel, please", 400, "no JSON"),
    "half of JSON": (b'{"name": ', 400, "no JSON"),
    "no UTF-8": (b'{"name": "\xff"}', 400, "no JSON"),
    "UTF-16": ('{"name": "python3"}'.encode("utf-16"), 400, "no JSON"),
    "a number of many digits": (b'{"name": ' + b"9" * 5_000 + b"}", 400, "no JSON"),
    "deep lists": (b"[" * 40_000 + b"]" * 40_000, 400, "no JSON"),
    "deep objects": (b'{"name":' * 10_000 + b"1" + b"}" * 10_000, 400, "no JSON"),
    "a list": (b'["python3"]', 400, "no JSON object"),
    "a string": (b'"python3"', 400, "no JSON object"),
    "an empty list": (b"[]", 400, "no JSON object"),
    "zero": (b"0", 400, "no JSON object"),
    "null": (b"null", 400, "no JSON object"),
    "not a number": (b"NaN", 400, "no JSON object"),
    "a number as name": (text(name=1), 400, "'name' is not a text"),
    "infinity as name": (b'{"name": 1e999}', 400, "'name' is not a text"),
    "a list as path": (text(name="python3", path=["a"]), 400, "'path' is not a text"),
    "an object as file": (text(name="python3", path="", file={}), 400, "'file' is not a text"),
    "false as file": (text(name="python3", path="", file=False), 400, "'file' is not a text"),
    "no such kernel": (text(name="fortran"), 404, "no kernel 'fortran'"),
    "no kernel's name": (text(name="../../x"), 404, "no kernel '../../x'"),
    "no name": (text(name=""), 404, "no kernel ''"),
    "NUL in the name": (text(name="a\0b"), 400, "'name' holds a NUL"),
    "NUL in the path": (text(name="python3", path="a\0b", file="b"), 400, "'path' holds a NUL"),
    "NUL in the file": (text(name="python3", path="a", file="b\0"), 400, "'file' holds a NUL"),
    "half a character": (
        text(name="python3", path="\ud800", file="b"),
        400,
        "'path' holds half a character",
    ),
    "half a character in the name": (text(name="\udfff"), 400, "'name' holds half a character"),
    "a long path": (
        text(name="python3", path="a/" * 10_000, file="b"),
        400,
        "'path' has 20,000 characters",
    ),
    "a large body": (text(name="python3", more="x" * 2_000_000), 413, "2,000,0"),
}


@pytest.mark.parametrize("case", BODIES)
def test_a_body_that_no_page_sends_is_refused_in_a_sentence(server: Server, case: str) -> None:
    body, expected, words = BODIES[case]
    status, reply = server.ask("POST", body)
    assert status == expected
    assert words in reply["message"]
    assert reply["message"].endswith(".")
    assert not reply.get("traceback")


@pytest.mark.parametrize(
    "kind", ["application/x-www-form-urlencoded", "image/png", "multipart/form-data", "x" * 200]
)
def test_another_content_type_is_refused(server: Server, kind: str) -> None:
    status, reply = server.ask("POST", text(name="python3"), Content_Type=kind)
    assert 400 <= status < 500
    if status == 415:
        assert "application/json" in reply["message"]


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "BREW"])
def test_other_methods_are_refused(server: Server, method: str) -> None:
    status, reply = server.ask(method, None if method in ("GET", "HEAD") else text(name="python3"))
    assert status == 405
    if method not in ("HEAD", "BREW"):
        assert "only started here, by POST" in reply["message"]


def test_who_has_no_token_is_refused_first(server: Server) -> None:
    for body in (b"{", text(name="python3")):
        assert server.ask("POST", body, Authorization="token wrong")[0] == 403


def test_nothing_was_started_by_refusals_and_no_traceback_is_in_the_log(server: Server) -> None:
    server.ask("POST", b"{")
    assert server.ask("GET", None, "api/kernels") == (200, [])
    assert "Traceback" not in server.log.read_text()


def test_what_a_page_sends_starts_a_kernel_in_no_folder_of_documents(server: Server) -> None:
    body = text(name="python3", path="folder/π %s.pb", file="π %s.pb")
    # As a browser says it.
    status, kernel = server.ask("POST", body, Content_Type="text/plain;charset=UTF-8")
    assert (status, kernel["name"]) == (201, "python3")
    assert server.ask("DELETE", None, f"api/kernels/{kernel['id']}")[0] == 204

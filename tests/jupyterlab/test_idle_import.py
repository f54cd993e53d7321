"""What a first drawing needs is imported while a kernel waits for the next cell, and nowhere
else.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from jupyter_client import BlockingKernelClient
from jupyter_client.manager import start_new_kernel

from tfgraphwidget import idle_import

SECONDS = 60


@pytest.fixture
def client() -> Iterator[BlockingKernelClient]:
    """A kernel that has imported nothing of ours."""
    manager, client = start_new_kernel(kernel_name="python3")
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def loaded(client: BlockingKernelClient, before: str = "") -> set[str]:
    """The modules of a kernel that are of ours or of TensorFlow, after some code."""
    names = (
        "[name for name in __import__('sys').modules if name.startswith(('tfgraphwidget', "
        "'tensorflow'))]"
    )
    reply = client.execute_interactive(
        before,
        user_expressions={"it": f"' '.join({names})"},
        timeout=SECONDS,
        output_hook=lambda _: None,
    )
    content = reply["content"]
    assert content["status"] == "ok", content
    return set(content["user_expressions"]["it"]["data"]["text/plain"].strip("'").split())


def test_a_kernel_imports_the_widget_between_the_cells(client: BlockingKernelClient) -> None:
    wanted = set(idle_import._MODULES)
    # The cell itself does not wait.
    assert loaded(client, "import tfgraphwidget as tgw").isdisjoint(wanted)
    end = time.monotonic() + SECONDS
    while not wanted <= loaded(client) and time.monotonic() < end:
        time.sleep(0.1)
    now = loaded(client)
    assert wanted <= now
    assert "tensorflow" not in now


def test_the_first_file_loads_no_more_of_ours(client: BlockingKernelClient) -> None:
    from tests.test_import_is_light import MODEL

    before = loaded(
        client, f"import {', '.join(idle_import._MODULES)}\nimport tfgraphwidget as tgw"
    )
    after = loaded(
        client,
        f"editor = tgw.edit({str(MODEL)!r}); editor.view.widget.height = 800; "
        "editor._repr_mimebundle_()",
    )
    assert after - before == set()


def test_a_thread_and_a_plain_interpreter_import_nothing(client: BlockingKernelClient) -> None:
    in_a_thread = (
        "import threading\nthread = threading.Thread(target=__import__, args=['tfgraphwidget'])"
    )
    loaded(client, f"{in_a_thread}\nthread.start()\nthread.join()")
    time.sleep(1)
    assert loaded(client).isdisjoint(idle_import._MODULES)
    code = "import tfgraphwidget, sys; print('tfgraphwidget.idle_import' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"

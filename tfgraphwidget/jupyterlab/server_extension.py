"""Jupyter server extension: start the kernels of documents in a directory without importable files.

Jupyter starts a kernel in the folder of what it belongs to, and Python looks there first for all
that it imports, the kernel itself included: a `json.py` beside a graph that was sent would run as
soon as the graph is opened. So the page asks here for the kernel of a file
(labextension/src/jupyterlab/file-kernel.ts): it starts in Jupyter's own folder for runtime files,
in which nothing can be imported. Kernels of notebooks start as ever.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from jupyter_core.paths import jupyter_runtime_dir
from jupyter_core.utils import ensure_async
from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from jupyter_server.utils import url_path_join
from tornado import web

from tfgraphwidget.sources import file_suffixes

ROUTE = "tfgraphwidget/kernels"
EDITOR = ".tgw"
"""The suffix of the files with an editor's graph, edits and values."""
IN_NOTEBOOKS = (".keras",)
"""The suffixes of files whose document leads to a notebook, which opens them: notebook-files.ts."""

_CONTENT_TYPES = ("", "application/json", "text/plain")  # the last is what browsers say of a string
# of a request: a path of the longest, each of its characters as an escape of six
_MOST_BYTES = 100_000
# of a path, as on Linux; the environment of a process takes 131,072 bytes in one text
_MOST_CHARACTERS = 4_096
_SHOWN = 80  # characters of a text in a refusal


def _jupyter_server_extension_points() -> list[dict[str, object]]:
    """The entry point that Jupyter reads from a module named in jupyter_server_config.d."""
    return [{"module": __name__}]


def _load_jupyter_server_extension(server: Any) -> None:
    """Answer at ROUTE, and give pages it and the suffixes of files that can be opened.

    A page without it asks Jupyter for a kernel without a folder, and knows the built-in
    suffixes.
    """
    settings = server.web_app.settings
    page_config = settings.setdefault("page_config_data", {})
    page_config["tfgraphwidgetKernels"] = ROUTE
    page_config["tfgraphwidgetSuffixes"] = " ".join((*file_suffixes(), *IN_NOTEBOOKS, EDITOR))
    server.web_app.add_handlers(
        ".*$", [(url_path_join(settings["base_url"], ROUTE), KernelsHandler)]
    )


class KernelsHandler(APIHandler):
    """Starts kernels: {name, path, file} → the kernel as /api/kernels returns it, for users
    authorized there.

    What no page sends is answered with 4xx and {"message": a sentence}, and starts nothing.
    """

    auth_resource = "kernels"

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Start a kernel of the kernelspec `name` for the file `file` at `path`, as JupyterLab has
        both.
        """
        request = _parse_body(self.request.body, self.request.headers.get("Content-Type", ""))
        name, path, file = (_text(request, key) for key in ("name", "path", "file"))
        specs: Any = self.kernel_spec_manager
        if name is not None and name not in await ensure_async(specs.get_all_specs()):
            raise _refusal(
                404,
                f"There is no kernel {name[:_SHOWN]!r}; GET /api/kernelspecs lists those there "
                "are.",
            )
        folder = Path(jupyter_runtime_dir())
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        manager: Any = self.kernel_manager
        sessions: Any = self.session_manager
        kernel_id = manager.start_kernel(
            kernel_name=name, cwd=str(folder), env=sessions.get_kernel_env(path or "", file)
        )
        kernel = await ensure_async(manager.kernel_model(await ensure_async(kernel_id)))
        self.set_status(201)
        self.finish(json.dumps(kernel, default=str))

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Refuse: this starts kernels, and does nothing else."""
        self.set_header("Allow", "POST, OPTIONS")
        raise _refusal(
            405, "Kernels are only started here, by POST; GET /api/kernels lists those that run."
        )

    head = put = patch = delete = get


def _refusal(status: int, sentence: str) -> web.HTTPError:
    """A refusal that Jupyter sends as {"message": sentence}."""
    return web.HTTPError(status, sentence)


def _parse_body(body: bytes, content_type: str) -> dict[str, Any]:
    """The object in the body of a request; {} without one. Raises HTTPError."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind not in _CONTENT_TYPES:
        raise _refusal(415, f"The body is {kind[:_SHOWN]!r}; send application/json.")
    if len(body) > _MOST_BYTES:
        raise _refusal(413, f"The body has {len(body):,} bytes; send at most {_MOST_BYTES:,}.")
    if not body.strip():
        return {}
    try:
        request = json.loads(body.decode())
    except (
        ValueError,
        RecursionError,
    ) as error:  # no UTF-8, no JSON, a number of 5,000 digits, 10,000 brackets
        raise _refusal(
            400, 'The body is no JSON; send {"name": kernel, "path": path, "file": name}.'
        ) from error
    if not isinstance(request, dict):
        raise _refusal(
            400, 'The body is no JSON object; send {"name": kernel, "path": path, "file": name}.'
        )
    return request


def _text(request: dict[str, Any], key: str) -> str | None:
    """A text in a request, or None; it becomes a kernel's name, or a part of its environment."""
    value = request.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise _refusal(400, f"{key!r} is not a text; send a string, or leave it out.")
    if len(value) > _MOST_CHARACTERS:
        raise _refusal(
            400, f"{key!r} has {len(value):,} characters; send at most {_MOST_CHARACTERS:,}."
        )
    if "\0" in value:
        raise _refusal(400, f"{key!r} holds a NUL; leave it out.")
    try:
        os.fsencode(value)
    except UnicodeEncodeError as error:
        raise _refusal(400, f"{key!r} holds half a character; send whole ones.") from error
    return value

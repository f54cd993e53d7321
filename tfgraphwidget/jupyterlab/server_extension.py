"""Jupyter server extension: start the kernels of documents in a directory without importable files.

Jupyter starts a kernel in the folder of what it belongs to, and Python looks there first for all that it imports, the
kernel itself included: a `json.py` beside a graph that was sent would run as soon as the graph is opened. So the
page asks here for the kernel of a file (labextension/src/jupyterlab/file-kernel.ts): it starts in Jupyter's own folder
for runtime files, in which nothing can be imported. Kernels of notebooks start as ever.
"""

from __future__ import annotations

import json
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


def _jupyter_server_extension_points() -> list[dict[str, object]]:
    """The entry point that Jupyter reads from a module named in jupyter_server_config.d."""
    return [{"module": __name__}]


def _load_jupyter_server_extension(server: Any) -> None:
    """Answer at ROUTE, and tell pages of it and of the suffixes of files that can be opened.

    A page that was not told asks Jupyter for a kernel without a folder, and knows the built-in suffixes.
    """
    settings = server.web_app.settings
    page_config = settings.setdefault("page_config_data", {})
    page_config["tfgraphwidgetKernels"] = ROUTE
    page_config["tfgraphwidgetSuffixes"] = " ".join((*file_suffixes(), *IN_NOTEBOOKS, EDITOR))
    server.web_app.add_handlers(".*$", [(url_path_join(settings["base_url"], ROUTE), KernelsHandler)])


class KernelsHandler(APIHandler):
    """Starts kernels: {name, path, file} → the kernel as /api/kernels returns it, for users authorized there."""

    auth_resource = "kernels"

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Start a kernel of the kernelspec `name` for the file `file` at `path`, as JupyterLab has both."""
        request: dict[str, Any] = self.get_json_body() or {}
        folder = Path(jupyter_runtime_dir())
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        manager: Any = self.kernel_manager
        kernel_id = manager.start_kernel(
            kernel_name=request.get("name"),
            cwd=str(folder),
            env=self.session_manager.get_kernel_env(request.get("path", ""), request.get("file")),
        )
        kernel = await ensure_async(manager.kernel_model(await ensure_async(kernel_id)))
        self.set_status(201)
        self.finish(json.dumps(kernel, default=str))

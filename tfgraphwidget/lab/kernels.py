"""The name of the server extension in Jupyter configurations that releases up to 0.1 have
installed.
"""

from __future__ import annotations

from tfgraphwidget.jupyterlab.server_extension import (
    _jupyter_server_extension_points,
    _load_jupyter_server_extension,
)

__all__ = ["_jupyter_server_extension_points", "_load_jupyter_server_extension"]

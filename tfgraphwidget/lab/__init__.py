"""The name by which installed JupyterLab extensions call this package in a kernel; the code is in
`jupyterlab`.

The page's bundle may be of another release than the kernel's package, because the two can be
installed in different environments. So this name stays.
"""

from __future__ import annotations

from tfgraphwidget.jupyterlab import listen

__all__ = ["listen"]

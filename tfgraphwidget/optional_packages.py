"""Packages that only some calls need: pandas, matplotlib, networkx, SciPy.

The extra `tensorflow` brings them; a plain installation, for those who look at files, is a quarter
of a GB smaller without them.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from tfgraphwidget.errors import PackageMissing


def import_package(module: str, need: str) -> Any:
    """Import a module, "pandas" or "scipy.sparse", of such a package. Raises PackageMissing where
    it is not installed: `need`, "cost() needs pandas", and what to install.
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise PackageMissing(f"{need}, {_way_out(package)}.") from None


def missing_package(package: str) -> str:
    """The end of a sentence on a package that is not installed; "" for one that is."""
    return "" if find_spec(package) is not None else _way_out(package)


def _way_out(package: str) -> str:
    return f"which is not installed: run pip install {package}"

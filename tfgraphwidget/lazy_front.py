"""The front of a package whose modules are loaded when one of their names is asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_front(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package's `__init__.py`, which loads the module of a public name on first use.

    Args:
        package: The package's `__name__`.
        modules: Public name → module inside the package that defines it, as "files.checkpoint".

    Returns:
        A function that gives the value of a public name, and keeps it as an attribute of the package.

    Raises:
        AttributeError: When called with a name that is not in `modules`.

    Example:
        >>> load = lazy_front("tfgraphwidget", {"split_tensor": "names"})
        >>> load("split_tensor")("a/b:1")
        ('a/b', 1)
    """

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{modules[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load

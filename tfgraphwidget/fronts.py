"""Fronts of packages: the names of a stub `__init__.pyi`, whose modules are loaded on first use."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

_NAME = re.compile(r"from \.([\w.]*) import (\w+) as \2\n")


def attach_stub(package: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Read the names that a package offers from the stub beside its `__init__.py`.

    Each line of the stub is `from .module import name as name`, or `from . import module as module`: type checkers read
    them too.

    Args:
        package: The `__name__` of the package.
        file: The `__file__` of the package.

    Returns:
        `__getattr__`, `__dir__` and `__all__` of the package. What has been loaded is an attribute like any other.
    """
    modules = {name: module for module, name in _NAME.findall(Path(file).with_suffix(".pyi").read_text("utf-8"))}

    def load(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        path = f"{package}.{modules[name] or name}"
        value = getattr(import_module(path), name) if modules[name] else import_module(path)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted(modules), sorted(modules)

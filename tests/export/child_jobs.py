"""Jobs for the process of converters, in a module that imports no TensorFlow."""

from __future__ import annotations

import os
import threading

from tfgraphwidget.export.conversion.converter_process import ConversionRefused


def double(number: int) -> int:
    """Return twice the number."""
    return 2 * number


def crash() -> None:
    """End the process as a failed assertion in C++ does."""
    os.abort()


def refuse() -> None:
    """Refuse an op."""
    raise ConversionRefused("no", ("a",), ("Foo",))


def fail() -> None:
    """Raise what no converter should."""
    raise ValueError("first\nsecond")


def wait() -> None:
    """Never end."""
    threading.Event().wait()

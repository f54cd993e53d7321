"""Faults: the n-th call into TensorFlow or the file system fails, or is interrupted.

A profiler hook sees every call of a C function, so no call is left out because nobody thought of
it. A call that takes part is known by its name and by the line of the package that it was made
from.
"""

from __future__ import annotations

import errno
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import tensorflow as tf

import tfgraphwidget

Kind = Literal["TensorFlow", "full disk", "memory", "interrupt"]
_PACKAGE = tfgraphwidget.__path__[0] + "/"
_SESSION = "tensorflow.python.client._pywrap_tf_session"
_FILES = "tensorflow.python.lib.io._pywrap_file_io"
_CHANGING = frozenset(
    [
        "open",
        "mkdir",
        "replace",
        "rename",
        "unlink",
        "rmdir",
        "link",
        "symlink",
        "chmod",
        "fsync",
        "scandir",
        "listdir",
    ]
)
_WRITING = frozenset(["open", "open_code", "write", "writelines", "flush", "truncate"])
# The calls that give a status; others fail only when there is no memory.
_REFUSING = frozenset([
    "TF_SessionRun_wrapper", "TF_SessionRunCallable", "TF_SessionMakeCallable", "ExtendSession",
    "TF_NewSessionRef", "TF_CloseSession", "TF_GraphImportGraphDefWithResults",
    "TF_GraphCopyFunction", "TF_GraphToGraphDef", "UpdateEdge", "TF_FinishOperation", "SetAttr",
    "TF_GraphToFunction_wrapper", "TF_FunctionToFunctionDef",
])  # fmt: skip
# They only ask; and TensorFlow's own object around the options cannot be deleted when these could
# not be made.
_HARMLESS = ("TF_Operation", "GetOperation", "TF_GetBuffer", "TF_NewImportGraphDefOptions")


@dataclass(frozen=True)
class Site:
    """A call of a C function, from a line of the package; the `number`-th from there."""

    function: str
    where: str
    number: int

    def __str__(self) -> str:
        return f"{self.function} (call {self.number}) from {self.where}"

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """What can go wrong there."""
        if not self.function.startswith(_SESSION):
            return ("full disk", "memory", "interrupt")
        refuses = self.function.rpartition(".")[2] in _REFUSING
        return ("TensorFlow", "memory", "interrupt") if refuses else ("memory", "interrupt")


class Watch:
    """Counts the calls of C functions that may fail, and lets one of them fail."""

    def __init__(self, fault: tuple[Site, Kind] | None = None) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.fault = fault
        self.happened = False

    def __enter__(self) -> Watch:
        sys.setprofile(self._see)
        threading.setprofile(self._see)  # some runs of sessions are made in threads of their own
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]  # as documented

    def _see(self, frame: Any, event: str, called: Any) -> None:
        if event != "c_call":
            return
        function = _function(called)
        if not function:
            return
        key = function, _line_of_the_package(frame)
        self.counts[key] += 1
        if (
            self.fault is not None
            and not self.happened
            and self.fault[0] == Site(*key, self.counts[key])
        ):
            self.happened = True
            _fail(self.fault[1], str(self.fault[0]))

    def sites(self) -> list[Site]:
        """The first and the last call of each function from each line."""
        return [
            Site(*key, number)
            for key, count in self.counts.items()
            for number in dict.fromkeys((1, count))
            if key[1]
        ]

    def all_sites(self) -> Iterable[Site]:
        """Every call."""
        return (
            Site(*key, number)
            for key, count in self.counts.items()
            for number in range(1, count + 1)
            if key[1]
        )


def _fail(kind: Kind, where: str) -> None:
    if kind == "interrupt":
        # As Ctrl-C: Python deals with it when the function has returned.
        signal.raise_signal(signal.SIGINT)
    elif kind == "memory":
        raise MemoryError(f"injected: {where}")
    elif kind == "full disk":
        raise OSError(errno.ENOSPC, f"No space left on device (injected: {where})")
    else:
        raise tf.errors.InternalError(None, None, f"injected: {where}")


def _function(called: Any) -> str:
    """The name of a C function that may fail; "" for one that only asks."""
    module, name = getattr(called, "__module__", None), called.__name__
    if module is None:
        module = type(getattr(called, "__self__", None)).__module__
    if module == _SESSION:
        asks = not name or "Delete" in name or name.startswith(_HARMLESS)
        return "" if asks else f"{module}.{name}"
    changes = (module == "posix" and name in _CHANGING) or (module == "_io" and name in _WRITING)
    return f"{module}.{name}" if changes or module == _FILES else ""


def _line_of_the_package(frame: Any) -> str:
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_PACKAGE):
            return f"{file.removeprefix(_PACKAGE)}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def with_fault(call: Callable[[], Any], site: Site, kind: Kind) -> bool:
    """Make a call in which something goes wrong; whether it did. Raises what the call raises."""
    watch = Watch((site, kind))
    try:
        with watch:
            call()
    finally:
        sys.setprofile(None)
    return watch.happened

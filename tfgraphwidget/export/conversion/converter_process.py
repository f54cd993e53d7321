"""The process in which converters run: an op on which one crashes ends that process, and not the
kernel.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable
from typing import Any

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.runtime.sandbox import ChildProcess, JobFailed
from tfgraphwidget.sentences import in_cell


class ConversionRefused(Exception):
    """A converter does not take a graph.

    Attributes:
        why: The reason, as the end of a sentence.
        ops: The names of the ops that it names.
        op_types: Their types, where it names types alone.
        helps: What would help, as a sentence without its end; "" if that is unknown.
    """

    def __init__(
        self, why: str, ops: tuple[str, ...] = (), op_types: tuple[str, ...] = (), helps: str = ""
    ) -> None:
        super().__init__(why, ops, op_types, helps)
        self.why, self.ops, self.op_types, self.helps = why, ops, op_types, helps

    def __str__(self) -> str:
        return self.why


class ConverterProcess(ChildProcess):
    """Calls converters in a process of their own, one at a time."""

    def __init__(self) -> None:
        super().__init__("the converter", "converter")

    def call(self, function: Callable[..., Any], *arguments: object, seconds: float) -> Any:
        """Return what a function of a module returns there; it goes by its name, its arguments and
        its result as bytes. Raises ConversionRefused where it refuses, or fails, and GraphEditError
        where the process ended before.
        """
        try:
            return super().call(function, *arguments, seconds=seconds)
        except JobFailed as error:
            raise ConversionRefused(error.why, helps=error.helps) from error
        except GraphEditError as error:
            if error.code != "converter-timeout":
                raise
            raise GraphEditError(
                error.why + "; " + in_cell("give a larger timeout="), code=error.code
            ) from error


CONVERTERS = ConverterProcess()
"""The process that all saves use."""
atexit.register(CONVERTERS.close)

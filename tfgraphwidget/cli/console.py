"""Print results on stdout and notes on stderr."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TextIO


def print_output(text: str) -> None:
    """Print on stdout; a closed pipe is ignored. Raises OSError for other failures, such as a full disk.

    Args:
        text: What to print.
    """
    with suppress(BrokenPipeError):
        write_text(sys.stdout, f"{text}\n")


def print_note(text: str) -> None:
    """Print on stderr; failures are ignored, because there is no place to report them.

    Args:
        text: What to print.
    """
    with suppress(OSError):
        write_text(sys.stderr, f"{text}\n")


def write_text(out: TextIO | None, text: str) -> None:
    """Write and flush; None, a stream that the shell closed, is ignored.

    Raises OSError; the stream is redirected to the null device then.

    Args:
        out: The stream; None if the shell closed it.
        text: What to write.
    """
    if out is None:
        return
    try:
        out.write(text)
        out.flush()
    except OSError:
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), out.fileno()
        )  # else Python would try again at exit, and print a traceback
        raise

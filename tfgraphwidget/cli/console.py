"""What the command says: on stdout what was asked for, on stderr what there is to remark."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TextIO


def print_output(text: str) -> None:
    """Print on stdout; a reader that has left is no error. Raises OSError for what cannot be written, a full disk."""
    with suppress(BrokenPipeError):
        write_text(sys.stdout, f"{text}\n")


def print_note(text: str) -> None:
    """Print on stderr, as far as that can be: there is no place to say that it cannot."""
    with suppress(OSError):
        write_text(sys.stderr, f"{text}\n")


def write_text(out: TextIO | None, text: str) -> None:
    """Write at once; nothing where the shell has closed it. Raises OSError, and what is written later goes nowhere."""
    if out is None:
        return
    try:
        out.write(text)
        out.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())  # else Python's end tries it again, and says so
        raise

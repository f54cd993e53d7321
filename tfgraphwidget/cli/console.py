"""Print results on stdout and notes on stderr."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection
from contextlib import suppress
from shlex import quote
from typing import TextIO

from tfgraphwidget.naming import FIND_OPS, HOW_TO_TRUST

_CALL = re.compile(r"(: )?\btgw\.edit\((?:path|'[^']*'), ((\w+)='[^']*')\)")
_FIND_OPS = (FIND_OPS, "tfgraphwidget info FILE lists inputs and outputs")
_ARGUMENT = re.compile(r"(?<![\w'])(signature|checkpoint|tags)=('[^']*'|\[[^\]]*\]|(?=[ ;,.]|$))")


def print_output(text: str) -> None:
    """Print on stdout; a closed pipe is ignored. Raises OSError for other failures: a full disk."""
    with suppress(BrokenPipeError):
        write_text(sys.stdout, f"{text}\n")


def print_note(text: str) -> None:
    """Print on stderr; failures are ignored, because there is no place to report them."""
    with suppress(OSError):
        write_text(sys.stderr, f"{text}\n")


def write_text(out: TextIO | None, text: str) -> None:
    """Write and flush; None, a stream that the shell closed, is ignored.

    Raises OSError; the stream is redirected to the null device then.
    """
    if out is None:
        return
    try:
        out.write(text)
        out.flush()
    except OSError:
        # Else Python would try again at exit, and print a traceback.
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
        raise


def in_option_words(why: str, options: Collection[str]) -> str:
    """A refusal in the words of a command that has these options.

    >>> in_option_words("It has several; give signature='a b' or signature='c'.", ["signature"])
    "It has several; give --signature 'a b' or --signature c."
    >>> in_option_words(
    ...     "Give tags=['serve', 'gpu'], or leave signature= out.", ["tags", "signature"]
    ... )
    'Give --tags serve,gpu, or leave --signature out.'
    >>> in_option_words(
    ...     "Open it with its checkpoint: tgw.edit(path, checkpoint='model.ckpt').", ["checkpoint"]
    ... )
    'Open it with its checkpoint: --checkpoint model.ckpt.'
    >>> in_option_words(
    ...     "Give the .meta file: tgw.edit('m.meta', checkpoint='m').", ["signature"]
    ... )
    'Give the .meta file.'
    >>> in_option_words("Give signature='a'.", [])
    "Give signature='a'."
    >>> in_option_words("This graph has no op 'softmax'; editor.find(text) finds ops.", [])
    "This graph has no op 'softmax'; tfgraphwidget info FILE lists inputs and outputs."
    """
    why = why.replace(*_FIND_OPS)
    if "trust" in options:
        why = why.replace(HOW_TO_TRUST, "if you trust it, give --trust")

    def option(match: re.Match[str]) -> str:
        name, value = match.groups()
        if name not in options:
            return match[0]
        words = quote(",".join(re.findall("'([^']*)'", value)))
        return f"--{name} {words}" if value else f"--{name}"

    def call(match: re.Match[str]) -> str:
        colon, argument, name = match.groups("")
        return colon + argument if name in options else ""

    return _ARGUMENT.sub(option, _CALL.sub(call, why) if options else why)

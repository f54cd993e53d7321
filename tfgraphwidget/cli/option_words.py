"""Refusals as the command line says them: with its options in place of Python's arguments."""

from __future__ import annotations

import re
from collections.abc import Collection
from shlex import quote

_CALL = re.compile(r"\btgw\.edit\((?:path|'[^']*'), (\w+='[^']*')\)")
_ARGUMENT = re.compile(r"(?<![\w'])(signature|checkpoint|tags)=('[^']*'|\[[^\]]*\]|(?=[ ;,.]|$))")


def in_option_words(why: str, options: Collection[str]) -> str:
    """A refusal in the words of a command.

    Args:
        why: The sentence, as Python says it.
        options: The names of the options that the command has.

    >>> in_option_words("It has several; give signature='a b' or signature='c'.", ["signature"])
    "It has several; give --signature 'a b' or --signature c."
    >>> in_option_words("Give tags=['serve', 'gpu'], or leave signature= out.", ["tags", "signature"])
    'Give --tags serve,gpu, or leave --signature out.'
    >>> in_option_words("Open it with its checkpoint: tgw.edit(path, checkpoint='model.ckpt').", ["checkpoint"])
    'Open it with its checkpoint: --checkpoint model.ckpt.'
    >>> in_option_words("Give signature='a'.", [])
    "Give signature='a'."
    """

    def option(match: re.Match[str]) -> str:
        name, value = match.groups()
        if name not in options:
            return match[0]
        words = quote(",".join(re.findall("'([^']*)'", value)))
        return f"--{name} {words}" if value else f"--{name}"

    return _ARGUMENT.sub(option, _CALL.sub(r"\1", why) if options else why)

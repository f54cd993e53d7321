"""Names and numbers as text for a terminal."""

from __future__ import annotations


def escape(text: str) -> str:
    r"""A name on one line, with control characters escaped.

    Args:
        text: A name of the graph, which may have any characters.

    >>> escape("a\nb")
    'a\\nb'
    """
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def format_count(number: int, what: str) -> str:
    """A number with a noun, in the plural if needed.

    Args:
        number: The number.
        what: The noun in the singular.

    >>> format_count(1, "op"), format_count(1200, "op")
    ('1 op', '1,200 ops')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"

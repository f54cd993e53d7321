"""Names and numbers as text for a terminal."""

from __future__ import annotations


def format_count(number: int, what: str) -> str:
    """A number with a noun, in the plural if needed.

    >>> format_count(1, "op"), format_count(1200, "op")
    ('1 op', '1,200 ops')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"

"""Names and numbers as text for a terminal."""

from __future__ import annotations

_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def escape(text: str) -> str:
    r"""A name on one line, with control characters escaped.

    >>> escape("a\nb")
    'a\\nb'
    """
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def format_size(count_of_bytes: int) -> str:
    """A number of bytes with three digits and a unit.

    Args:
        count_of_bytes: The number of bytes.

    >>> format_size(999), format_size(999_600), format_size(93_600_000)
    ('999 bytes', '1 MB', '93.6 MB')
    """
    value, unit = float(count_of_bytes), 0
    while value >= (999.5 if unit else 1000) and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.3g} {_UNITS[unit]}" if value < 999.5 else f"{value:.0f} {_UNITS[unit]}"


def format_count(number: int, what: str) -> str:
    """A number with a noun, in the plural if needed.

    Args:
        number: The number.
        what: The noun in the singular.

    >>> format_count(1, "op"), format_count(1200, "op")
    ('1 op', '1,200 ops')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"

"""Entrance: how one function is entered from the graph that calls it, and the title that says
so.
"""

from __future__ import annotations

from typing import NamedTuple

_EVERYWHERE = " everywhere"


class Entrance(NamedTuple):
    """An op, or a function's own name, and which of the op's functions is meant; "" for the only
    one.

    `everywhere` says that an edit of the body is for all calls of the function, and not only for
    the one by `op`.
    """

    op: str
    label: str = ""
    everywhere: bool = False

    @property
    def title(self) -> str:
        """The title in the path.

        >>> Entrance("while", "body").title, Entrance("call", everywhere=True).title
        ('while:body', 'call everywhere')
        """
        return (
            self.op
            + (f":{self.label}" if self.label else "")
            + (_EVERYWHERE if self.everywhere else "")
        )

    @classmethod
    def of(cls, title: str) -> Entrance:
        """The entrance with this title.

        >>> Entrance.of("call:f everywhere")
        Entrance(op='call', label='f', everywhere=True)
        """
        op, _, label = title.removesuffix(_EVERYWHERE).partition(":")
        return cls(op, label, title.endswith(_EVERYWHERE))

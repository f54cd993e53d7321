"""What a refusal must be: a GraphEditError of one sentence."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tfgraphwidget.errors import GraphEditError

# Below the sentence: a pattern, and where it cannot be read.
_CARET = re.compile(r"\n {4}.*\n {4} *\^$")
_LONGEST = 20_000  # characters; a sentence may list the names that it is about


class Broken(AssertionError):
    """Something that must not be."""


def refusal_of(call: Callable[[], Any]) -> GraphEditError | None:
    """The refusal that a call ends with, or None when it is done. Raises Broken for any other
    exception.
    """
    try:
        call()
    except GraphEditError as error:
        check_sentence(_CARET.sub("", error.why))
        return error
    except (AssertionError, KeyboardInterrupt):
        raise
    except BaseException as error:  # whatever it is, it should have been a refusal
        first = (str(error).strip().splitlines() or [""])[0][:300]
        raise Broken(f"raised {type(error).__name__}: {first}") from error
    return None


def check_sentence(why: str) -> None:
    """Raise Broken for what is not a sentence."""
    if not why or "\n" in why.strip() or len(why) > _LONGEST:
        raise Broken(f"a refusal that is not one sentence: {why[:300]!r}")

"""Said: the Python expression that opens again what was opened."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

_LARGEST = 1 << 20  # bytes of a proto that is written into the source
_GRAPH = "tf.compat.v1.get_default_graph(),  # the graph that was opened"
_SESSION = "session=tf.compat.v1.get_default_session(),  # the session that runs it"


def said_live(*, has_session: bool) -> str:
    """That of a live graph, which a script must have made before: there it is the default one."""
    return _call([_GRAPH, _SESSION] if has_session else [_GRAPH], ())


def said(thing: Any, title: str, choices: Mapping[str, Any]) -> str:
    """That of anything else; `title` tells a person what to give where nobody can write it down.

    `choices` are the options that were given to `tgw.edit`.
    """
    options = [f"{name}={_written(value)}" for name, value in choices.items() if value is not None]
    if isinstance(thing, str | os.PathLike):
        return _call([_written(thing)], options)
    data = thing if isinstance(thing, bytes | bytearray | memoryview) else None
    if data is None and hasattr(thing, "SerializeToString") and thing.ByteSize() <= _LARGEST:
        data = thing.SerializeToString()
    if data is not None and len(data) <= _LARGEST:
        return _call([f'base64.b64decode("{base64.b64encode(bytes(data)).decode()}")'], options)
    return _call([f"...,  # give here what was opened: {' '.join(title.split())}"], options)


def _call(first: list[str], options: Any) -> str:
    """One line, or one for each argument when there are comments between."""
    if not any("  # " in text for text in first):
        return f"tgw.edit({', '.join([*first, *options])})"
    return "\n".join(["tgw.edit(", *(f"    {text}" for text in [*first, *(f"{option}," for option in options)]), ")"])


def _written(value: Any) -> str:
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, tf.TensorSpec):
        name = f", name={value.name!r}" if value.name else ""
        shape = None if value.shape.rank is None else value.shape.as_list()
        return f"tf.TensorSpec({shape}, {value.dtype!r}{name})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {_written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple | set | frozenset):
        return f"[{', '.join(map(_written, value))}]"
    text = repr(value)
    return f'"{text[1:-1]}"' if text[0] == "'" and '"' not in text else text

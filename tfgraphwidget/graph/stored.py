"""A selection's file: JSON, written beside the old one and moved into its place."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from tfgraphwidget.errors import GraphEditError


def store(path: str | PathLike[str], held: Mapping[str, Any]) -> None:
    """Write what JSON holds to a file. Raises GraphEditError when it cannot be; an old file is then as it was."""
    file = Path(path)
    try:
        with tempfile.TemporaryDirectory(dir=file.parent, prefix=".selection-") as beside:
            written = Path(beside) / "selection.json"
            written.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")
            written.replace(file)
    except (OSError, ValueError) as error:  # no such folder, no permission, a name with a NUL in it
        why = getattr(error, "strerror", None) or error
        raise GraphEditError(f"{str(path)[:200]!r} cannot be written: {why}; give another place.") from error

"""The files that commands read and write, and `show --html`, which needs no editor: it loads what
its page shows.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

from tfgraphwidget.cli.console import print_output
from tfgraphwidget.cli.progress_bar import progress_bar
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export import checked_kind, unwritable_refused
from tfgraphwidget.naming import escape
from tfgraphwidget.progress import tell
from tfgraphwidget.sources import OpenOptions, locate_file, open_path, parse_path


def write_page(options: argparse.Namespace) -> int:
    """Write a page that needs no server."""
    page = Path(options.html)
    if page.suffix.lower() not in (".html", ".htm"):
        raise GraphEditError(
            f"--html {options.html!r}: the name of a page ends in .html; use another name."
        )
    check_sources(options.file)
    check_output(options.html)
    from tfgraphwidget.graph import no_collections

    # What is read for a page is needed until it is written.
    with progress_bar(), no_collections():
        tell(f"Opening {escape(Path(options.file).name)}")
        from tfgraphwidget.editor import save_page_of

        tags = None if options.tags is None else options.tags.split(",")
        source = open_path(options.file, OpenOptions(options.signature, options.checkpoint, tags))
        tell("Writing")
        with warnings.catch_warnings():
            # What a page of an editor cannot show is said in the page.
            warnings.simplefilter("ignore")
            save_page_of(source, page)
    print_output(escape(str(page)))
    return 0


# Checks before TensorFlow is loaded, which takes seconds: missing files and unusable output paths


def check_sources(*files: str) -> None:
    """Raise for a path that does not exist, and for a directory that is not a SavedModel."""
    for file in files:
        locate_file(parse_path(file, "path"))


def check_output(out: str, *, frozen: bool = False) -> None:
    """Raise for a path that cannot be written, or not in the format that its suffix names."""
    path = Path(out)
    with unwritable_refused(path):
        checked_kind(path, folder=out.endswith("/"), frozen=frozen)

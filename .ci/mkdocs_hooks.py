"""What MkDocs adds to the site: the pages to try in a browser."""

from __future__ import annotations

import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.docs.gallery import play_pages


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages, so that links to them are checked like all others."""
    for path, content in play_pages():
        files.append(File.generated(config, path, content=content))
    return files

"""`python -m tfgraphwidget` and the `tfgraphwidget` command."""

from __future__ import annotations

import sys

from tfgraphwidget.cli import main

if __name__ == "__main__":
    sys.exit(main())

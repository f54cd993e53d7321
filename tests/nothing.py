"""What an edit says that finds nothing to do: a result, which is false in `if`."""

from __future__ import annotations

import re

from tfgraphwidget.edits import Edits


def says_nothing(report: object, why: str = "") -> None:
    """Check that a report is that of an edit that found nothing to do, for a reason that fits a
    pattern.
    """
    assert isinstance(report, Edits)
    assert not report
    assert (report.added, report.removed, report.changed) == ((), (), ())
    assert str(report).rstrip().endswith((".", "?")), report
    assert re.search(why, str(report)), report

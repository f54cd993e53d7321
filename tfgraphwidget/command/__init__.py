"""The `tfgraphwidget` command: demo, show, info, code, export, diff, run-script.

Exit codes: 0 done (diff: no difference), 1 refused (diff: the graphs differ), 2 a command line that says nothing there
is (diff: a graph that cannot be read), 130 interrupted by Ctrl-C. What is wrong is one sentence on stderr.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import traceback

from tfgraphwidget.command.saying import remark, say
from tfgraphwidget.command.words import parser
from tfgraphwidget.errors import GraphEditError

REFUSED, MISUSED, INTERRUPTED = 1, 2, 130


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit code."""
    options = parser().parse_args(arguments)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # what TensorFlow says of graphics cards is no answer
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # no name stops a terminal that lacks its letters
    try:
        return _run(options)
    except GraphEditError as error:
        return _refused(options, error.why)
    except KeyboardInterrupt:
        remark("tfgraphwidget: interrupted.")
        return INTERRUPTED
    except MemoryError:
        return _refused(options, "There is not enough memory for this graph.")
    except OSError as error:  # a full disk
        what = f" {str(error.filename)!r}" if error.filename else ""
        return _refused(options, f"The system refuses{what}: {error.strerror or error}.")
    except Exception:
        if options.command != "diff":  # whose 1 says that the graphs differ
            raise
        traceback.print_exc()
        return MISUSED


def _refused(options: argparse.Namespace, why: str) -> int:
    from tfgraphwidget.command.wording import shown

    remark(f"tfgraphwidget: {shown(why)}")
    return MISUSED if options.command == "diff" else REFUSED


def _run(options: argparse.Namespace) -> int:
    """Each command's module is loaded when it is asked for: most need TensorFlow, which takes seconds."""
    if options.command == "info":
        return _info(options)
    if options.command == "demo" or (options.command == "show" and options.html is None):
        from tfgraphwidget.command import server

        return server.demo(options) if options.command == "demo" else server.show(options)
    from tfgraphwidget.command import doing

    commands = {
        "show": doing.page,
        "code": doing.code,
        "export": doing.export,
        "diff": doing.diff,
        "run-script": doing.run_script,
    }
    return commands[options.command](options)


def _info(options: argparse.Namespace) -> int:
    import json

    from tfgraphwidget.command.info import info, text

    told = info(options.file)
    say(json.dumps(told, indent=1) if options.json else text(told))
    return 0

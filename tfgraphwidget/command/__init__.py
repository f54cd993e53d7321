"""The `tfgraphwidget` command: demo, show, info, code, export, diff, run-script.

Exit codes: 0 done (diff: no difference), 1 refused (diff: the graphs differ), 2 a command line that says nothing there
is (diff: a graph that cannot be read), 130 interrupted by Ctrl-C. What is wrong is one sentence on stderr.
"""

from __future__ import annotations

import argparse
import os
import sys

from tfgraphwidget.command.words import parser
from tfgraphwidget.errors import GraphEditError

REFUSED, MISUSED, INTERRUPTED = 1, 2, 130


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit code."""
    options = parser().parse_args(arguments)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # what TensorFlow says of graphics cards is no answer
    try:
        code = _run(options)
        sys.stdout.flush()  # here, where it may fail, and not at Python's end
        return code
    except GraphEditError as error:
        return _refused(options, error.why)
    except KeyboardInterrupt:
        print("tfgraphwidget: interrupted.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # whoever read what is printed has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryError:
        return _refused(options, "There is not enough memory for this graph.")


def _refused(options: argparse.Namespace, why: str) -> int:
    from tfgraphwidget.command.wording import shown

    print(f"tfgraphwidget: {shown(why)}", file=sys.stderr)
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
    print(json.dumps(told, indent=1) if options.json else text(told))
    return 0

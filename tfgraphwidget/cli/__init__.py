"""The `tfgraphwidget` command: demo, show, info, code, export, diff, lint, run-script.

Exit codes: 0 done (diff: the graphs are equal, lint: nothing was found), 1 refused (diff: the
graphs differ, lint: something was found), 2 usage error (diff and lint: a graph could not be read),
130 interrupted by Ctrl-C. An error is one sentence on stderr.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import traceback

from tfgraphwidget.cli.console import in_option_words, print_note, print_output
from tfgraphwidget.cli.formatting import format_count
from tfgraphwidget.cli.parser import create_parser
from tfgraphwidget.errors import GraphEditError

__all__ = ["format_count", "main"]

REFUSED, MISUSED, INTERRUPTED = 1, 2, 130
_WITH_RESULT = ("diff", "lint")  # whose 1 says that the graphs differ, or that something was found


def main(arguments: list[str] | None = None) -> int:
    """Run a command of these arguments, or of those of the process, and return the exit code."""
    options, others = create_parser().parse_known_args(arguments)
    if others:
        # With the usage of the command, which says what it takes.
        options.error(f"unrecognized arguments: {' '.join(others)}")
    # TensorFlow's messages on graphics cards are not an answer.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A name with letters that the terminal lacks is printed all the same.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        return _run(options)
    except GraphEditError as error:
        if getattr(options, "json", False):
            import json

            print_output(json.dumps({"refusal": error.row()}, indent=1))
        return _print_refusal(options, error.why)
    except KeyboardInterrupt:
        print_note("tfgraphwidget: interrupted.")
        return INTERRUPTED
    except MemoryError:
        return _print_refusal(options, "There is not enough memory for this graph.")
    except OSError as error:  # a full disk
        what = f" {str(error.filename)!r}" if error.filename else ""
        return _print_refusal(options, f"The system refuses{what}: {error.strerror or error}.")
    except Exception:
        if options.command not in _WITH_RESULT:
            raise
        traceback.print_exc()
        return MISUSED


def _print_refusal(options: argparse.Namespace, why: str) -> int:
    from tfgraphwidget.naming import escape

    # The last of a pattern is a caret.
    lines = "\n".join(map(escape, in_option_words(why, vars(options)).split("\n")))
    print_note(f"tfgraphwidget: {lines}")
    return MISUSED if options.command in _WITH_RESULT else REFUSED


def _run(options: argparse.Namespace) -> int:
    """Load the module of a command and run it."""
    if options.command == "info" and not options.summary:
        return _info(options)
    if options.command == "demo" or (options.command == "show" and options.html is None):
        from tfgraphwidget.cli import server

        return server.demo(options) if options.command == "demo" else server.show(options)
    if options.command != "run-script":
        # NumPy's library of matrices starts a thread per core, which takes as long as to read a
        # file.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if options.command == "show":
        from tfgraphwidget.cli import files

        return files.write_page(options)
    from tfgraphwidget.cli import commands

    run = {
        "code": commands.print_code,
        "export": commands.export,
        "info": commands.print_summary,
        "diff": commands.print_diff,
        "lint": commands.print_lint,
        "run-script": commands.run_script,
    }
    return run[options.command](options)


def _info(options: argparse.Namespace) -> int:
    import json

    from tfgraphwidget.cli.info import format_info, info

    summary = info(options.file, options.signature)
    print_output(json.dumps(summary, indent=1) if options.json else format_info(summary))
    return 0

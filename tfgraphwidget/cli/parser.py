"""The parser of the command line, and the text of --help."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from tfgraphwidget.argument_checks import check_seconds
from tfgraphwidget.export import CONVERSIONS, EDITOR, FROZEN_OPTIONS
from tfgraphwidget.sources import file_suffixes, listed_suffixes

_EXAMPLES = """\
examples:
  tfgraphwidget demo                                   open a copy of the first notebook
  tfgraphwidget show model.pb                          view and edit a graph in JupyterLab
  tfgraphwidget show model.pb --html model.html        write a page that needs no server
  tfgraphwidget info saved_model/                      list ops, variables, signatures and sizes
  tfgraphwidget diff before.pb after.pb                list what changed
  tfgraphwidget diff a.pb b.pb --feeds all=random      and where the values first differ
  tfgraphwidget lint model.pb                          list what stands in the way of a deployment
  tfgraphwidget export m.meta out.pb --checkpoint m --frozen --outputs softmax
  tfgraphwidget code model.pb edits.json               print the Python of edits that
                                                       editor.save("edits.json") wrote

exit codes:
  0    done; for diff: the graphs are equal; for lint: nothing was found
  1    refused, with the reason on stderr; for diff: the graphs differ;
       for lint: something was found
  2    usage error; for diff and lint: a graph could not be read
  130  interrupted by Ctrl-C; no partly written file is left

With --json a refusal is JSON too, on stdout: {"refusal": {"code", "sentence", "ops", "fixes"}}.

Run "tfgraphwidget COMMAND --help" for the options of a command.
"""
_UNUSED_OUTPUTS = """

"unused outputs" lists ops without consumers, except training and bookkeeping ops. These are
usually the model's outputs; pass them to `export --outputs`."""
_MOST_DIGITS = 5  # of a port
_SHOWN = 60  # characters of an argument in a refusal
_EDITS = 'the edits in a file that editor.save("edits.json") wrote'

Add = Callable[..., argparse.ArgumentParser]


def create_parser() -> argparse.ArgumentParser:
    """The parser of `tfgraphwidget`; its result has the name of the command as `command`."""
    about = (
        "See, edit and export TensorFlow graphs.\n\n"
        f"FILE is a SavedModel's directory or its saved_model.pb, or a {listed_suffixes()} file "
        "with a graph,\n"
        f"or a {EDITOR} file, which an editor has saved.\n"
    )
    parser: argparse.ArgumentParser = _create(
        argparse.ArgumentParser, about, _EXAMPLES, prog="tfgraphwidget"
    )
    version = sys.modules[__name__.partition(".")[0]].__version__
    parser.add_argument("--version", action="version", version=f"tfgraphwidget {version}")
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", title="commands"
    )

    def add(name: str, about: str, *examples: str) -> argparse.ArgumentParser:
        lines = "".join(f"  tfgraphwidget {name} {example}\n" for example in examples)
        command: argparse.ArgumentParser = _create(
            commands.add_parser,
            f"{about[0].upper()}{about[1:]}.",
            f"examples:\n{lines}",
            name=name,
            help=about,
        )
        command.set_defaults(error=command.error)
        return command

    _add_demo(add)
    _add_show(add)
    _add_info(add)
    _add_code(add)
    _add_export(add)
    _add_diff(add)
    _add_lint(add)
    _add_run_script(add)
    return parser


def _create(
    make: Callable[..., argparse.ArgumentParser], about: str, epilog: str, **options: object
) -> argparse.ArgumentParser:
    name = options.pop("name", None)
    form = argparse.RawDescriptionHelpFormatter
    return make(
        *([name] if name else []), description=about, epilog=epilog, formatter_class=form, **options
    )


def _port(text: str) -> int:
    if not (text.isdecimal() and len(text) <= _MOST_DIGITS and 0 < int(text) < 65536):
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; give a number from 1 to 65535")
    return int(text)


def _seconds(text: str) -> float:
    try:
        check_seconds(seconds := float(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text[:_SHOWN]!r} is not how long to wait; give a number of seconds above 0, such as "
            "600"
        ) from error
    return seconds


def _file() -> str:
    return f"a SavedModel's directory, or a {', '.join(file_suffixes())} or {EDITOR} file"


def _add_demo(add: Add) -> None:
    demo = add(
        "demo",
        "open a copy of the first notebook in JupyterLab and print its URL",
        "",
        "--port 9000 --browser",
    )
    demo.add_argument(
        "--port", type=_port, default=8888, help="the first port to try (default: 8888)"
    )
    demo.add_argument("--browser", action="store_true", help="also open the URL in a browser")


def _add_show(add: Add) -> None:
    show = add(
        "show",
        "open a file in JupyterLab, or as one page to look at where that is not installed",
        "model.pb",
        "saved/ --html model.html",
    )
    show.add_argument("file", metavar="FILE", help=_file())
    show.add_argument(
        "--html", metavar="OUT", help="write a page that needs no server and no network, and exit"
    )
    show.add_argument(
        "--port", type=_port, default=8888, help="the first port to try (default: 8888)"
    )
    show.add_argument("--no-browser", action="store_true", help="only print the URL")
    _add_open_options(show)


def _add_info(add: Add) -> None:
    info = add(
        "info", "describe what a file holds, without TensorFlow", "model.pb", "saved_model/ --json"
    )
    info.description = f"{info.description}{_UNUSED_OUTPUTS}"
    info.add_argument("file", metavar="FILE", help=_file())
    info.add_argument("--signature", metavar="NAME", help="list this signature, and no other")
    info.add_argument("--json", action="store_true", help="print JSON with all names")
    info.add_argument(
        "--summary",
        action="store_true",
        help="print at most 60 lines: inputs, outputs, scopes, costs, what is odd",
    )


def _add_code(add: Add) -> None:
    code = add("code", "print the Python code of a file of edits", "model.pb edits.json > edits.py")
    code.add_argument("file", metavar="FILE", help=_file())
    code.add_argument("edits", metavar="EDITS.json", help=_EDITS)
    code.add_argument(
        "--json", action="store_true", help="print JSON: the Python code, and the edits as data"
    )
    _add_open_options(code)


def _add_export(add: Add) -> None:
    export = add(
        "export",
        "write a graph in another format, edited or unchanged",
        "saved_model/ model.pb --frozen",
        "model.pb part/ --inputs image=x:0 --outputs probabilities=softmax:0",
        "model.pb edited.pb --edits edits.json",
        "saved_model/ model.tflite --optimize float16",
        "model.meta picture.svg",
    )
    export.add_argument("file", metavar="FILE", help=_file())
    export.add_argument(
        "out",
        metavar="OUT",
        help="a directory for a SavedModel, or a .pb .pbtxt .meta .tflite .onnx .svg .png .pdf "
        ".dot .graphml .html "
        "file",
    )
    for side in ("inputs", "outputs"):
        about = (
            f"the {side} of the written model: tensors or ops, a,b or key=a,other=b; can be "
            "repeated"
        )
        export.add_argument(f"--{side}", metavar="NAMES", action="append", help=about)
    export.add_argument(
        "--new-tags", metavar="TAG,TAG", help="tags of the graph in the SavedModel that is written"
    )
    export.add_argument("--edits", metavar="EDITS.json", help=f"first apply {_EDITS}")
    export.add_argument(
        "--frozen", action="store_true", help="a .pb or .pbtxt with constants in place of variables"
    )
    for switch in FROZEN_OPTIONS:
        chosen = switch.choices[-1]
        flag = f"{'no-' if chosen == 'no' else ''}{switch.name.replace('_', '-')}"
        about = f"with --frozen: {switch.about[:1].lower()}{switch.about[1:].rstrip('.')}"
        export.add_argument(
            f"--{flag}", dest=switch.name, action="store_const", const=chosen, help=about
        )
    export.add_argument(
        "--no-verify", action="store_true", help="do not load the written model and compare it"
    )
    for suffix, conversion in CONVERSIONS.items():
        for option in conversion.options:
            choices = [choice for choice in option.choices if choice]
            is_switch = choices == ["yes"]
            how: dict[str, Any] = (
                {"action": "store_const", "const": "yes"} if is_switch else {"choices": choices}
            )
            export.add_argument(
                f"--{option.name.replace('_', '-')}",
                help=f"of a {suffix} file: {option.about}",
                **how,
            )
    export.add_argument(
        "--timeout", type=_seconds, metavar="SECONDS", help="how long a converter may take (600)"
    )
    export.add_argument(
        "--json", action="store_true", help="print what was written, or why nothing was, as JSON"
    )
    _add_open_options(export)


def _add_diff(add: Add) -> None:
    diff = add(
        "diff",
        "list the differences between two graphs; with --feeds run both, and compare all tensors",
        "before.pb after.pb",
        "a.pb b/ --json",
        "a.pb b.pb --feeds x=random:1,224,224,3 --tolerance 1e-4",
        "m.meta m.meta --checkpoint m-100 m-200 --values",
        "a.pb b.pb --html compare.html",
    )
    diff.add_argument("before", metavar="A", help=f"{_file()}, or the prefix of a checkpoint")
    diff.add_argument(
        "after", metavar="B", help="the file, directory or checkpoint to compare it with"
    )
    diff.add_argument(
        "--values",
        action="store_true",
        help="compare the values of variables too: largest difference, norms and cosine of those "
        "that differ, and with --json histograms",
    )
    diff.add_argument(
        "--ignore",
        metavar="KIND,KIND",
        help="leave out differences of these kinds: names, attributes, shapes, values, devices, "
        "versions",
    )
    diff.add_argument(
        "--signature", metavar="NAME", help="compare what this signature computes, and nothing else"
    )
    diff.add_argument(
        "--checkpoint",
        nargs="+",
        metavar="PREFIX",
        help="checkpoint with the values of the variables of both graphs, or that of A and that of "
        "B",
    )
    diff.add_argument(
        "--tags", metavar="TAG,TAG", help="tag set to load, if a SavedModel has several graphs"
    )
    diff.add_argument(
        "--feeds",
        nargs="+",
        action="extend",
        metavar="NAME=VALUE",
        help="run both graphs on these values, and compare all tensors too: NAME is a placeholder "
        "of B, an input of its signature, or all; VALUE is random, zeros or ones, with a shape "
        "where it is not known (random:1,224,224,3), a .npy file, or JSON. The exit code is 1 "
        "when the graphs differ in structure or, beyond the tolerance, in values",
    )
    diff.add_argument(
        "--tolerance",
        type=_tolerance,
        metavar="NUMBER",
        help="the largest difference that counts as equal, by the largest magnitude of a tensor; "
        "by default what rounding explains",
    )
    diff.add_argument(
        "--html",
        metavar="OUT.html",
        help="write a page too, with both graphs in two panes, the list of differences and, with "
        "--feeds, the numbers",
    )
    diff.add_argument(
        "--json",
        action="store_true",
        help='print every difference, as a JSON list of rows; with --feeds as {"difference": '
        'rows, "comparison": {"first_divergence", "tensors", "not_compared", "notes"}}',
    )


def _tolerance(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not number >= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 0, such as 1e-4")
    return number


def _add_lint(add: Add) -> None:
    lint = add(
        "lint",
        "find what stands in the way of a graph that is to run elsewhere",
        "model.pb",
        "saved_model/ --target tflite",
        "model.pb --fix --out clean.pb",
    )
    lint.add_argument("file", metavar="FILE", help=_file())
    lint.add_argument(
        "--target",
        choices=("cpu", "tflite", "onnx", "untrusted"),
        default="",
        help="check for ops that it lacks",
    )
    lint.add_argument("--only", metavar="CODES", help="run these rules only: code,code")
    lint.add_argument("--never", metavar="CODES", help="do not run these rules: code,code")
    lint.add_argument(
        "--fix", action="store_true", help="apply the fixes, and write the result to OUT"
    )
    lint.add_argument("--out", metavar="OUT", help="where --fix writes to")
    lint.add_argument("--json", action="store_true", help="print the findings as a JSON list")
    _add_open_options(lint)


def _add_run_script(add: Add) -> None:
    run = add(
        "run-script",
        'run a script that editor.save("edits.py") wrote; it is Python code, so run only scripts '
        "that you trust",
        "edits.py",
        "edits.py model.pb --out edited.pb",
        "edits.py a.pb b.pb c.pb --out folder/",
    )
    run.add_argument("script", metavar="SCRIPT.py")
    run.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        help="edit these in place of the file that the script opens",
    )
    run.add_argument(
        "--out", metavar="OUT", help="save the result; for several FILEs an existing directory"
    )


def _add_open_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--signature", metavar="NAME", help="signature to use, if the file has several"
    )
    command.add_argument(
        "--checkpoint", metavar="PREFIX", help="checkpoint with the values of the variables"
    )
    command.add_argument(
        "--tags", metavar="TAG,TAG", help="tag set to load, if a SavedModel has several graphs"
    )
    command.add_argument(
        "--trust", action="store_true", help="run ops of the file that do more than compute, too"
    )

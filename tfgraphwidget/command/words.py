"""The words of the command line, and what --help says of them."""

from __future__ import annotations

import argparse
from typing import Any

_ABOUT = """\
See, edit and export TensorFlow graphs.

FILE is a SavedModel's folder or its saved_model.pb, a .pb or .pbtxt GraphDef, or a .meta.
"""
_EXAMPLES = """\
examples:
  tfgraphwidget demo                                   the first notebook, in JupyterLab
  tfgraphwidget show model.pb                          look at it and edit it in JupyterLab
  tfgraphwidget show model.pb --html model.html        one page to look at, which needs no server
  tfgraphwidget info saved_model/                      ops, variables, signatures, sizes
  tfgraphwidget diff before.pb after.pb                what became of it
  tfgraphwidget export m.meta out.pb --checkpoint m --frozen --outputs softmax
  tfgraphwidget code model.pb edits.json               the Python of edits that editor.save("edits.json") wrote

exit codes:
  0    done; for diff: no difference
  1    refused, and the reason is on stderr; for diff: the graphs differ
  2    the command line says nothing that there is; for diff: a graph that cannot be read
  130  interrupted by Ctrl-C; nothing half written is left behind

"tfgraphwidget COMMAND --help" says more of each.
"""
_FILE = "a SavedModel's folder, a .pb, .pbtxt or .meta"
_ENDS = """

"nothing reads" lists the ops that no other reads and that neither train nor keep the books: the ends of the model,
most likely, which export takes as --outputs."""
_EDITS = 'the edits of a file that editor.save("edits.json") wrote'


def parser() -> argparse.ArgumentParser:
    """The parser; what it gives has the command's name as `command`."""
    made: argparse.ArgumentParser = _made(argparse.ArgumentParser, _ABOUT, _EXAMPLES, prog="tfgraphwidget")
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND", title="commands")

    def add(name: str, about: str, *examples: str) -> argparse.ArgumentParser:
        lines = "".join(f"  tfgraphwidget {name} {example}\n" for example in examples)
        found: argparse.ArgumentParser = _made(
            commands.add_parser, f"{about[0].upper()}{about[1:]}.", f"examples:\n{lines}", name=name, help=about
        )
        return found

    demo = add("demo", "open the first notebook in JupyterLab and print its URL", "", "--port 9000 --browser")
    demo.add_argument("--port", type=_port, default=8888, help="the first port to try (default: 8888)")
    demo.add_argument("--browser", action="store_true", help="open the URL in a browser too")
    _show(add)
    told = add("info", "tell what a file holds, without TensorFlow", "model.pb", "saved_model/ --json")
    told.description = f"{told.description}{_ENDS}"
    told.add_argument("file", metavar="FILE", help=_FILE)
    told.add_argument("--json", action="store_true", help="as JSON, with all names")
    _code(add)
    _export(add)
    differ = add("diff", "tell how one graph differs from another", "before.pb after.pb", "a.pb b/ --json")
    differ.add_argument("before", metavar="A", help=_FILE)
    differ.add_argument("after", metavar="B", help="another one")
    differ.add_argument("--json", action="store_true", help="every difference, as a list of rows in JSON")
    _run_script(add)
    return made


def _made(make: Any, about: str, more: str, **options: Any) -> Any:
    name = options.pop("name", None)
    form = argparse.RawDescriptionHelpFormatter
    return make(*([name] if name else []), description=about, epilog=more, formatter_class=form, **options)


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text[:6]) < 65536:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; give a number from 1 to 65535")
    return int(text)


def _show(add: Any) -> None:
    show = add("show", "open a file in JupyterLab, or write it as one page", "model.pb", "saved/ --html model.html")
    show.add_argument("file", metavar="FILE", help=_FILE)
    show.add_argument("--html", metavar="OUT", help="write a page that needs no server and no network, and end")
    show.add_argument("--port", type=_port, default=8888, help="the first port to try (default: 8888)")
    show.add_argument("--no-browser", action="store_true", help="only print the URL")
    _opening(show)


def _code(add: Any) -> None:
    code = add("code", "print the Python that does what a file of edits says", "model.pb edits.json > edits.py")
    code.add_argument("file", metavar="FILE", help=_FILE)
    code.add_argument("edits", metavar="EDITS.json", help=_EDITS)
    _opening(code)


def _export(add: Any) -> None:
    export = add(
        "export",
        "write a graph in another form, edited or not",
        "saved_model/ model.pb --frozen",
        "model.pb part/ --inputs image=x:0 --outputs probabilities=softmax:0",
        "model.pb edited.pb --edits edits.json",
        "model.meta picture.svg",
    )
    export.add_argument("file", metavar="FILE", help=_FILE)
    export.add_argument(
        "out", metavar="OUT", help="a folder for a SavedModel, or .pb .pbtxt .meta .svg .png .pdf .dot .graphml .html"
    )
    for side in ("inputs", "outputs"):
        told = f"the {side} of what is written: tensors or ops, a,b or key=a,other=b; may be given again"
        export.add_argument(f"--{side}", metavar="NAMES", action="append", help=told)
    export.add_argument("--edits", metavar="EDITS.json", help=f"do {_EDITS} first")
    export.add_argument("--frozen", action="store_true", help="a .pb or .pbtxt with constants for variables")
    export.add_argument("--no-verify", action="store_true", help="do not load it back and try it")
    _opening(export)


def _run_script(add: Any) -> None:
    run = add(
        "run-script",
        'run a script that editor.save("edits.py") wrote; it is Python, so run none of a stranger\'s',
        "edits.py",
        "edits.py model.pb --out edited.pb",
        "edits.py a.pb b.pb c.pb --out folder/",
    )
    run.add_argument("script", metavar="SCRIPT.py")
    run.add_argument("files", metavar="FILE", nargs="*", help="edit these instead of what the script opens")
    run.add_argument("--out", metavar="OUT", help="save what comes out; for several FILEs a folder that there is")


def _opening(command: argparse.ArgumentParser) -> None:
    command.add_argument("--signature", metavar="NAME", help="the signature that is meant, where there are several")
    command.add_argument("--checkpoint", metavar="PREFIX", help="the values of the variables")
    command.add_argument("--tags", metavar="TAG,TAG", help="the graph that is meant, where a SavedModel has several")

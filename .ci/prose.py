"""Runs textlint with our terms (.ci/terms.yml, .ci/terms-code.yml, .ci/terms-docs.yml) over docs,
docstrings, comments and messages.

python .ci/prose.py   # lists what to write differently by file and line, and exits with 1 if there
is anything

textlint reads Markdown. Of a Python or TypeScript module it gets a text with its comments,
docstrings and sentences, each on its line, without what is quoted as code.
"""

from __future__ import annotations

import ast
import gc
import io
import re
import subprocess
import sys
import tempfile
import tokenize
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
FRONT = ROOT / "labextension"  # where npm has installed textlint
NOT_OURS = ("graph_editor",)  # names, parameters and sentences of tf.contrib.graph_editor

FROM_DOCSTRINGS = "is generated from texts in the code, which terms-docs.yml does not yet hold for"
# Pages that have words of terms-docs.yml; only terms.yml holds for them. A page that has none any
# more leaves the list.
LATER = {
    "docs/gallery.md": FROM_DOCSTRINGS,
    **{
        f"docs/reference/{name}.md": FROM_DOCSTRINGS
        for name in (
            *("package", "selecting", "editing", "passes", "undoing", "history", "running"),
            *("saving", "signatures", "drawing", "rules"),
        )
    },
    "docs/reference/keys.md": FROM_DOCSTRINGS,
    "docs/reference/methods.md": FROM_DOCSTRINGS,
    "docs/verbs.md": FROM_DOCSTRINGS,
    "tests/bench/RESULTS.md": FROM_DOCSTRINGS,
}


def module_prose(path: Path) -> Iterator[tuple[int, str]]:
    """(line, text) of each comment and of each string with a space in it: docstrings and
    sentences.
    """
    text = path.read_text(encoding="utf-8")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and " " in node.value.strip()
        ):
            yield node.lineno, node.value


def script_prose(path: Path) -> Iterator[tuple[int, str]]:
    """(line, text) of the comments and sentences of a TypeScript module."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        for match in re.finditer(r"//.*|^\s*\*.*|/\*.*|`[^`]*`|\"[^\"]*\"", line):
            if " " in match[0]:
                yield number, match[0].strip('`"')


def without_code(text: str) -> str:
    """The text without what is quoted as code: names between backticks and quotation marks, and
    examples.
    """
    text = re.sub(r"^\s*(?:>>>|\.\.\.) .*$", "", text, flags=re.MULTILINE)
    return re.sub(
        r"`[^`\n]*`|\"[^\"\n]*\"|(?<!\w)'[^'\n]*'(?!\w)", lambda quoted: " " * len(quoted[0]), text
    )


def text_of(path: Path) -> str:
    """The prose of a module, each piece on the line where it is in the module."""
    lines: defaultdict[int, list[str]] = defaultdict(list)
    for first, text in (module_prose if path.suffix == ".py" else script_prose)(path):
        for line, part in enumerate(without_code(text).splitlines(), first):
            lines[line].append(part.strip())
    return "\n".join(
        " · ".join(filter(None, lines[line])) for line in range(1, max(lines, default=0) + 1)
    )


def write_texts(folder: Path) -> None:
    """Write a text file for each module of the package and of the page."""
    modules = [*(ROOT / "tfgraphwidget").rglob("*.py"), *(FRONT / "src").rglob("*.ts")]
    for path in modules:
        if not set(NOT_OURS) & set(path.parts):
            target = folder / f"{path.relative_to(ROOT)}.txt"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text_of(path), encoding="utf-8")


def pages() -> tuple[list[str], list[str]]:
    """The Markdown files for which terms-docs.yml holds, and those for which terms.yml alone
    does.
    """
    files = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").glob("*/*.md")]
    names = sorted({str(path.relative_to(ROOT)) for path in files})
    return [name for name in names if name not in LATER], [name for name in names if name in LATER]


def start(terms: str, files: Sequence[str]) -> subprocess.Popen[str]:
    """Start textlint on files with the terms of a configuration in .ci/."""
    command = [
        "node",
        str(FRONT / "node_modules/textlint/bin/textlint.js"),
        "--format",
        "unix",
        "--config",
    ]
    command += [str(ROOT / ".ci" / terms), *files]
    return subprocess.Popen(
        command, cwd=FRONT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def main() -> int:
    """Print the findings."""
    gc.disable()  # syntax trees have no garbage that is worth looking for
    strict, later = pages()
    with tempfile.TemporaryDirectory() as folder:
        docs = start("prose-docs.json", [str(ROOT / name) for name in strict])
        write_texts(Path(folder))
        code = start("prose-code.json", [f"{folder}/**/*.txt"])
        rest = start("prose.json", [str(ROOT / name) for name in later])
        output = "".join(run.communicate()[0] for run in (docs, code, rest))
        output = re.sub(rf"^{re.escape(folder)}/(.*?)\.txt:", r"\1:", output, flags=re.MULTILINE)
    sys.stdout.write(output.replace(f"{ROOT}/", ""))
    return int(any(run.returncode != 0 for run in (docs, code, rest)))


if __name__ == "__main__":
    raise SystemExit(main())

"""How modules, classes, functions, variables and fields are named, and what to write. `make lint`
runs this.

python .ci/words.py          # lists them by file and line, and exits with 1 if there are any
python .ci/words.py --count  # how often each occurs

Words of docs, docstrings, comments and messages are checked by .ci/prose.py.
"""

from __future__ import annotations

import ast
import gc
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
NOT_OURS = ("graph_editor",)  # names, parameters and sentences of tf.contrib.graph_editor

BRITISH = re.compile(
    r"colours?|coloured|colouring|behaviours?|centred?|neighbours?|catalogues?|grey"
    r"|(?:optim|initial|normal|minim|maxim|recogn|organ|serial|visual|summar)is(?:e[sdr]?|ers|ing|ations?)"
)

# Functions, classes and modules are named by a verb or a noun: `find_matches`, not `found`.
PARTICIPLE = re.compile(
    r"_?(?!(?:embed|feed|need|re?seed|speed|shed|bed|red)$)(?:[a-z]+ed|told|held|made|given|found|taken|known|written|shown"
    r"|seen|said|done|gone|left|built|sent|drawn|chosen|broken|bound|hidden|lost|meant|met|sold|spent|thought|thrown"
    r"|understood|won|begun|fed|forgotten|frozen|grown|kept|laid|led|lent|ridden|slid|spoken|stuck|swept|torn|bent|brought"
    r"|bought|caught|dealt|driven|fallen|got|heard)"
)
PARTICIPLES = {
    "argument_checks.Checked": "a mixin, named like an adjective: the classes that have it are "
    "checked",
    "tf_types.Named": "a protocol, as typing has Sized and Hashable",
    "editor.analysis_api.probed": "public: which tensors have values",
    "editor.analysis_api.measured": "public: which ops have costs",
    "editor.source_api.trusted": "public: as the argument of `tgw.edit`",
    "lint.untrusted": "public: the code of the rule, and its module",
    "editor.history_api.lost": "public: what the last edit could not keep",
    "editor.history_api.done": "public: the steps that are done, as `edits.History` has them",
    "editor.evaluation.probed": "the results of the last probe, by op",
    "editor.evaluation.measured": "the results of the last run that was measured",
    "editor.graph_view.opened": "what `editor.view.expanded` gives",
    "editor.joining.Joined": "public: what `editor.add` returns in a function",
    "editor.traced_growth.Grown": "public: what `editor.call` returns",
    "editor.view_api.expanded": "public: the expanded scopes",
    "editor.view_api.hidden": "public: the hidden ops and scopes",
    "graph.diff.Changed": "public: a row of `editor.diff`",
    "graph.op_matching.unpaired": "a mask, as numpy names them: the ops that are so",
    "graph.selection.connected": "public: the ops that are connected with these",
    "graph_editor.transforming.transformed": "a name of tf.contrib.graph_editor",
    "layout.compound.layered": "public: the layout is called so",
    "runtime.measure.comparison.matched": "public: the tensors that were compared",
    "runtime.measure.profile.Measured": "public: what `editor.measure` returns",
    "runtime.measure.profile.said": "public, deprecated",
    "widget.protocol.replies": "replies to the page are named by what was done; the names are in "
    "saved pages",
}

# Locals and parameters say what they are: `matches`, not `found`. Adjectives of the field
# (`known_shapes`) may stay.
PARTICIPLE_VARIABLES = frozenset(
    (
        "told",
        "held",
        "made",
        "given",
        "found",
        "asked",
        "kept",
        "gone",
        "said",
        "taken",
        "seen",
        "shown",
        "meant",
        "known",
    )
)
VARIABLES: dict[str, str] = {}  # "module.function.name": the reason why it stays

# Fields and attributes of classes too. Adjectives of state may stay: `opened`, `pinned`, `renamed`,
# `is_complete`.
PARTICIPLE_FIELDS = PARTICIPLE_VARIABLES | {
    *(
        "adapted",
        "begun",
        "bound",
        "built",
        "chosen",
        "finished",
        "fitted",
        "framed",
        "gained",
        "got",
        "placed",
    ),
    *("pushed", "rooted", "stopped", "waited"),
}
FIELDS = {  # "module.Class.name": the reason why it stays
    "widget.edit_buttons.FormField.known": "of the messages to the page",
    "widget.protocol.replies.Previewed.held": "of the messages to the page, and in saved pages",
    "widget.protocol.replies.Tensor.seen": "of the messages to the page, and in saved pages",
    "widget.protocol.requests.Toggle.seen": "of the messages to the page",
}

# Words that a reader of the field must translate, in any name that we define, and what to write.
DIALECT = {
    "anew": "again",
    "behind": "after, downstream",
    "door": "called function",
    "ends": "boundary, inputs and outputs; of ranges `stops`",
    "heard": "a noun for what it is",
    "mend": "fix",
    "mends": "fixes",
    "nobody": "no_consumer",
    "told": "a noun for what it is",
}
# "module.name": the reason why it stays
DIALECT_NAMES = {
    "edits.passes.casts.ends": "public: an argument of `passes.cast`",
    "edits.rewrite.replace_subgraph.ends": "public: an argument of `editor.replace`",
    "editor.splitting.ends": "public: of what `editor.split` returns",
    "graph.subgraph.ends": "public: of a selection",
    "runtime.session.run.ends_at_interrupts": "a verb: a run ends at interrupts",
    "runtime.session.run._ends_at_interrupts": "a verb: a run ends at interrupts",
    "edits.rewire.execution_frames._ends_loop": "a verb: an op ends a loop",
}


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a module, parsed once for all checks."""
    return ast.parse(path.read_text("utf-8"))


def participles() -> Iterator[tuple[str, int, str, str]]:
    """(file, line, name, what to write) of each module, class and function that a bare participle
    names.
    """
    package = ROOT / "tfgraphwidget"
    for path in sorted(package.rglob("*.py")):
        module = ".".join(path.relative_to(package).with_suffix("").parts)
        defined = [node for node in ast.walk(parsed(path)) if isinstance(node, DEFINITIONS)]
        for name, line in ((path.stem, 1), *((node.name, node.lineno) for node in defined)):
            is_allowed = module in PARTICIPLES or f"{module}.{name}" in PARTICIPLES
            if PARTICIPLE.fullmatch(name[:1].lower() + name[1:]) and not is_allowed:
                yield (
                    str(path.relative_to(ROOT)),
                    line,
                    name,
                    "a verb for what is done, a noun for what there is",
                )


def variables(tree: ast.AST) -> Iterator[tuple[str, str, int]]:
    """(function, name, line) of each parameter and each local variable of the functions of a
    module.
    """
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.arg):
                yield function.name, node.arg, node.lineno
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield function.name, node.id, node.lineno
            elif isinstance(node, ast.MatchAs | ast.MatchStar | ast.ExceptHandler) and node.name:
                yield function.name, node.name, node.lineno


def participle_fields() -> Iterator[tuple[str, int, str, str]]:
    """(file, line, name, what to write) of each field and attribute of a class that a bare
    participle names.
    """
    package = ROOT / "tfgraphwidget"
    for path in sorted(package.rglob("*.py")):
        module = ".".join(path.relative_to(package).with_suffix("").parts)
        fields = {
            (owner.name, name, line)
            for owner in ast.walk(parsed(path))
            if isinstance(owner, ast.ClassDef)
            for name, line in fields_of(owner)
            if name.strip("_") in PARTICIPLE_FIELDS
            and f"{module}.{owner.name}.{name}" not in FIELDS
        }
        for owner, name, line in sorted(fields, key=lambda each: each[2]):
            yield (
                str(path.relative_to(ROOT)),
                line,
                f"{owner}.{name}",
                "a noun: `placeholder`, `contexts`",
            )


def fields_of(owner: ast.ClassDef) -> Iterator[tuple[str, int]]:
    """(name, line) of each annotated field of a class, and of each attribute that its methods set
    on `self`.
    """
    for node in owner.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, node.lineno
    for each in ast.walk(owner):
        is_set = isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store)
        if is_set and isinstance(each.value, ast.Name) and each.value.id == "self":
            yield each.attr, each.lineno


def participle_variables() -> Iterator[tuple[str, int, str, str]]:
    """(file, line, name, what to write) of each local variable and parameter that a bare participle
    names.
    """
    package = ROOT / "tfgraphwidget"
    for path in sorted(package.rglob("*.py")):
        module = ".".join(path.relative_to(package).with_suffix("").parts)
        names = {
            (name, line)
            for function, name, line in variables(parsed(path))
            if name.strip("_") in PARTICIPLE_VARIABLES
            and f"{module}.{function}.{name}" not in VARIABLES
        }
        for name, line in sorted(names, key=lambda each: each[1]):
            yield (
                str(path.relative_to(ROOT)),
                line,
                name,
                "a noun for what it is: `matches`, `members`, `new_ops`",
            )


def dialect() -> Iterator[tuple[str, int, str, str]]:
    """(file, line, name, what to write) of each name that we define with a word of DIALECT in
    it.
    """
    package = ROOT / "tfgraphwidget"
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        tree = parsed(path)
        defined = [
            (node.name, node.lineno) for node in ast.walk(tree) if isinstance(node, DEFINITIONS)
        ]
        defined += [(name, line) for _, name, line in variables(tree)]
        defined += [
            field
            for owner in ast.walk(tree)
            if isinstance(owner, ast.ClassDef)
            for field in fields_of(owner)
        ]
        for name, line in sorted({*defined, (path.stem, 1)}, key=lambda each: each[1]):
            if f"{'.'.join(parts)}.{name}" in DIALECT_NAMES:
                continue
            for word in re.findall(r"[A-Z]?[a-z]+", name):
                if word.lower() in DIALECT:
                    yield str(path.relative_to(ROOT)), line, name, DIALECT[word.lower()]


def spellings() -> Iterator[tuple[str, int, str, str]]:
    """(file, line, name, what to write) of each name in British spelling: `neighbour`, `isCentred`,
    `Colour`.
    """
    package = ROOT / "tfgraphwidget"
    scripts = (
        path
        for path in (ROOT / "labextension" / "src").rglob("*.ts")
        if path.name != "preferences.ts"
    )
    for path in sorted((*package.rglob("*.py"), *scripts)):
        if set(NOT_OURS) & set(path.parts):
            continue
        for line, text in enumerate(path.read_text("utf-8").splitlines(), 1):
            for name in (
                re.findall(r"(?<![\w\"'])[A-Za-z_]\w*", text)
                if BRITISH.search(text.lower())
                else ()
            ):
                if any(
                    BRITISH.fullmatch(word.lower()) for word in re.findall(r"[A-Z]?[a-z]+", name)
                ):
                    yield (
                        str(path.relative_to(ROOT)),
                        line,
                        name,
                        "American spelling, as in TensorFlow",
                    )


def main() -> int:
    """Print the findings."""
    gc.disable()  # the syntax trees stay until the end, and going through them takes half the time
    rows = [
        *participles(),
        *participle_variables(),
        *participle_fields(),
        *dialect(),
        *spellings(),
    ]
    if "--count" in sys.argv:
        for word, count in Counter(word.lower() for _, _, word, _ in rows).most_common():
            print(count, word)  # noqa: T201
        return bool(rows)
    for file, line, word, advice in rows:
        print(f"{file}:{line}: {word!r}: {advice}")  # noqa: T201
    return bool(rows)


if __name__ == "__main__":
    raise SystemExit(main())

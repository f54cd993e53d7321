"""The names that version 0.2 gave to edits, in its files and scripts, and what they are called now.

Files that it wrote are read by these tables: ".json" and ".tgw" by `with_names_of_today`, and a ".py" by `upgrade`,
of which the command line runs what it gives. Nothing else knows the old names.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

COMMANDS = {
    "grow": "call",
    "place": "set_device",
    "replace_input": "set_input",
    "trainable": "set_trainable",
}
"""The verb of 0.2 -> the verb now, where they differ."""

ARGUMENTS = {"mend": "adapter"}
"""The argument of 0.2 -> the argument now, of any command."""

KEYS = {"verb": "command", "given": "arguments", "rooms": "functions"}
"""The key of an edit in JSON of 0.2 -> the key now."""

RENEW = {"always": True, "never": False}
"""The value of `renew` in 0.2 -> its value now."""


def with_names_of_today(edit: object) -> object:
    """An edit of JSON under the names of today; what is not an edit of 0.2 is given back as it is."""
    if not isinstance(edit, dict) or "verb" not in edit:
        return edit
    now: dict[Any, Any] = {KEYS.get(key, key): value for key, value in edit.items()}
    if isinstance(now["command"], str):
        now["command"] = COMMANDS.get(now["command"], now["command"])
    if isinstance(now.get("arguments"), dict):
        now["arguments"] = arguments_of_today(now["arguments"])
    if isinstance(now.get("renew"), str):
        now["renew"] = RENEW.get(now["renew"], now["renew"])
    return now


def arguments_of_today(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a command under the names of today."""
    return {ARGUMENTS.get(name, name): value for name, value in arguments.items()}


_PASSES = (
    *("remove_identities", "merge_duplicates", "fold_batch_norm", "fold_constants", "remove_devices", "rename_type"),
    *("sort", "obfuscate_names", "change_batch_size", "cast", "round_weights", "quantize_weights", "strip_training"),
    *("remove_attr", "remove_collection", "remove_functions"),
)
METHODS = {
    **{name: f"passes.{name}" for name in _PASSES},
    "replace_input": "passes.set_input",
    "grow": "call",
    "place": "set_device",
    "trainable": "set_trainable",
    "add_signature": "signatures.add",
    "rename_signature": "signatures.rename",
    "order_signature": "signatures.reorder",
    "remove_signature": "signatures.remove",
    "enter": "view.enter",
    "leave": "view.leave",
    "reserve": "history.reserve",
    "edit": "apply",
    "replay": "history.replay",
}
"""The method of an editor of 0.2 -> the method now; those that scripts and messages of 0.2 call."""

Rewrite = Callable[[list[str], dict[str, str]], str]
"""Writes what stands behind "editor." of the arguments of a call, by their place and by name."""


def _call(method: str, arguments: list[str], options: Mapping[str, str]) -> str:
    return f"{method}({', '.join([*arguments, *(f'{name}={text}' for name, text in options.items())])})"


def _filter(name: str) -> Rewrite:
    """A selection by one property, which is an option of `ops` now."""

    def rewrite(arguments: list[str], options: dict[str, str]) -> str:
        texts = [*arguments, *options.values()]
        return f"ops({name}={texts[0] if len(texts) == 1 else '[' + ', '.join(texts) + ']'})"

    return rewrite


def _rewrite_enclosed(arguments: list[str], options: dict[str, str]) -> str:
    seeds, *walls = arguments
    if "by" in options:
        walls = [options.pop("by")]
    inner = seeds[1:-1] if seeds.startswith("[") else seeds
    return f"ops({inner})." + _call("connected", [], {"until": walls[0], **options})


SELECTIONS: dict[str, Rewrite] = {
    "scope": _filter("scope"),
    "of_type": _filter("type"),
    "matching": _filter("matching"),
    "where": _filter("where"),
    "fan_out": _filter("consumers"),
    "load": _filter("file"),
    "producing": lambda arguments, options: _call("ops", arguments, options),
    "paths": lambda arguments, options: _call("path", arguments, {**options, "all": "True"}),
    "enclosed": _rewrite_enclosed,
    "trainable_variables": lambda _, __: "find('is:trainable')",
    "loops": lambda _, __: "find('is:loop').loops()",
    "conditionals": lambda _, __: "find('type:Merge').conditionals()",
}
"""The method of an editor of 0.2 that selects ops -> how the call is written now."""


class _Change(NamedTuple):
    """Bytes of a script that are replaced."""

    start: int
    end: int
    text: str


def upgrade(script: str) -> str:
    r"""A script that 0.2 wrote, with the names of today; any other text is given back as it is.

    Args:
        script: The Python source; it is parsed, and not run.

    >>> upgrade("editor.place(what=editor.scope('net'), device='/cpu:0', renew='never')")
    "editor.renew = False\neditor.set_device(what=editor.ops(scope='net'), device='/cpu:0')\neditor.renew = True"
    """
    while True:  # a call in the arguments of another is rewritten in the next round
        try:
            tree = ast.parse(script)
        except (SyntaxError, ValueError):
            return script
        source = script.encode()
        lines = [0]
        for line in source.splitlines(keepends=True):
            lines.append(lines[-1] + len(line))
        changes = sorted(_changes(tree, source, lines))
        outermost = [each for k, each in enumerate(changes) if not any(_holds(other, each) for other in changes[:k])]
        if not outermost:
            return script
        for change in reversed(outermost):
            source = source[: change.start] + change.text.encode() + source[change.end :]
        script = source.decode()


def _holds(outer: _Change, inner: _Change) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end and outer != inner


def _changes(tree: ast.AST, source: bytes, lines: list[int]) -> Iterator[_Change]:
    """What is to be replaced in a script; a part of it may lie in another."""

    def span(node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return lines[node.lineno - 1] + node.col_offset, lines[node.end_lineno - 1] + node.end_col_offset

    def text(node: ast.expr | ast.stmt) -> str:
        start, end = span(node)
        return source[start:end].decode()

    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and isinstance(node, ast.Expr | ast.Assign) and isinstance(node.value, ast.Call):
            renew = [each for each in node.value.keywords if each.arg == "renew" and _is_editor(node.value.func)]
            if renew:
                node.value.keywords.remove(renew[0])
                call = _call(text(node.value.func), [*map(text, node.value.args)], _options(node.value, text))
                start, _ = span(node.value)
                whole = source[span(node)[0] : start].decode() + call
                never = isinstance(renew[0].value, ast.Constant) and renew[0].value.value == "never"
                yield _Change(*span(node), f"editor.renew = False\n{whole}\neditor.renew = True" if never else whole)
                continue
        if not isinstance(node, ast.Call) or not _is_editor(node.func):
            continue
        method: Any = node.func
        arguments, options = [*map(text, node.args)], _options(node, text)
        now = arguments_of_today(options)
        if method.attr == "trainable" and not arguments and not options:
            yield _Change(*span(node), "editor.find('is:trainable')")
        elif method.attr in SELECTIONS:
            yield _Change(*span(node), "editor." + SELECTIONS[method.attr](arguments, options))
        elif method.attr in METHODS or now != options:
            yield _Change(*span(node), "editor." + _call(METHODS.get(method.attr, method.attr), arguments, now))


def _is_editor(function: ast.expr) -> bool:
    """Whether it is a method of the script's editor."""
    return (
        isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "editor"
    )


def _options(call: ast.Call, text: Callable[[ast.expr], str]) -> dict[str, str]:
    """The arguments by name, as they are written."""
    return {each.arg: text(each.value) for each in call.keywords if each.arg is not None}

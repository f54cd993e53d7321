"""The names that version 0.2 gave to edits, in its files and scripts, and what they are called now.

Files that it wrote are read by these tables: ".json" and ".tgw" by `with_names_of_today`, and a
".py" by `upgrade`, of which the command line runs what it gives. Nothing else knows the old names.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from tfgraphwidget.naming import words

COMMANDS = {
    "grow": "call",
    "place": "set_device",
    "replace_input": "set_input",
    "trainable": "set_trainable",
}
"""The command of 0.2 -> the command now, where they differ."""

ARGUMENTS = {"mend": "adapter", "readers": "consumers"}
"""The argument of 0.2 -> the argument now, of any command."""

ENDS = {"cast": "boundary", "replace": "outputs"}
"""The command now -> what the argument `ends` of 0.2 is called there now."""

KEYS = {"verb": "command", "given": "arguments", "rooms": "functions"}
"""The key of an edit in JSON of 0.2 -> the key now."""

RENEW = {"always": True, "never": False}
"""The value of `renew` in 0.2 -> its value now."""


def with_names_of_today(edit: object) -> object:
    """An edit of JSON under the names of today; what is not an edit of 0.2 is given back as it
    is.
    """
    if not isinstance(edit, dict) or "verb" not in edit:
        return edit
    now: dict[Any, Any] = {KEYS.get(key, key): value for key, value in edit.items()}
    if isinstance(now["command"], str):
        now["command"] = COMMANDS.get(now["command"], now["command"])
    if isinstance(now.get("arguments"), dict):
        now["arguments"] = arguments_of_today(now["arguments"], str(now["command"]))
    if isinstance(now.get("renew"), str):
        now["renew"] = RENEW.get(now["renew"], now["renew"])
    return now


def arguments_of_today(arguments: Mapping[str, Any], command: str) -> dict[str, Any]:
    """The arguments of a command, given by its name of today, under the names of today."""
    return {_argument_of_today(name, command): value for name, value in arguments.items()}


def _argument_of_today(name: str, command: str) -> str:
    """Return what an argument of 0.2 is called now."""
    return ENDS.get(command, name) if name == "ends" else ARGUMENTS.get(name, name)


_PASSES = words(
    "remove_identities merge_duplicates fold_batch_norm fold_constants remove_devices rename_type",
    "sort obfuscate_names change_batch_size cast round_weights quantize_weights strip_training",
    "remove_attr remove_collection remove_functions",
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

_CONVERSIONS = words("networkx keras module function")
_VIEW = words(
    "widget difference hide show_only reveal pin unpin color_by legend scene direction breadcrumb",
    "expand collapse called_functions",
)
_SOURCE = words("notices trusted")
PLACES = {
    **METHODS,
    **{name: f"to_{name}" for name in _CONVERSIONS},
    **{name: f"view.{name}" for name in _VIEW},
    **{name: f"source.{name}" for name in _SOURCE},
    "summary": "inspect",
    "refresh": "source.reload",
    "follow": "source.reload",
    "to_script": "history.to_script",
    "jump": "history.goto",
    "optimized": "passes.grappler",
    "svg": "view.to_svg",
    "impact": "preview",
    "listeners": "view.on_change",
    "cost": "table(batch=1)",
    "to_tensorboard": "save(folder, format='tensorboard')",
    "scope": "ops(scope=…)",
    "of_type": "ops(type=…)",
    "matching": "ops(matching=…)",
    "where": "ops(where=…)",
    "fan_out": "ops(consumers=…)",
    "load": "ops(file=…)",
    "producing": "ops(dtype=…, shape=…)",
    "paths": "path(…, all=True)",
    "enclosed": "ops(…).connected(until=…)",
    "trainable_variables": "find('is:trainable')",
    "loops": "find('is:loop').loops()",
    "conditionals": "ops(type='Merge').conditionals()",
    "like": "match(selection)",
    "unprobe": "view.probe = None",
}
"""What an editor of 0.2 has -> what it is now, for who looks for it."""

Rewrite = Callable[[list[str], dict[str, str]], str]
"""Writes what stands after "editor." of the arguments of a call, by their place and by name; "" to
leave it.
"""


def _call(method: str, arguments: list[str], options: Mapping[str, str]) -> str:
    written = [*arguments, *(f"{name}={text}" for name, text in options.items())]
    return f"{method}({', '.join(written)})"


def _filter(name: str) -> Rewrite:
    """A selection by one property, which is an option of `ops` now."""

    def rewrite(arguments: list[str], options: dict[str, str]) -> str:
        texts = [*arguments, *options.values()]
        if not texts:
            return ""
        is_one = len(texts) == 1
        return (
            f"ops({name}={texts[0].removeprefix('*') if is_one else '[' + ', '.join(texts) + ']'})"
        )

    return rewrite


def _rewrite_enclosed(arguments: list[str], options: dict[str, str]) -> str:
    texts = [*arguments, *(options.pop(name) for name in ("seeds", "by") if name in options)]
    if len(texts) != 2:
        return ""
    seeds, wall = texts
    one = seeds.startswith(("'", '"')) and not seeds.startswith(("'''", '"""'))
    return f"ops({seeds if one else '*' + seeds})." + _call(
        "connected", [], {"until": wall, **options}
    )


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
    r"""A script that 0.2 wrote, with the names of today and as many lines; other text is given back
    as it is.

    Args:
        script: The Python source; it is parsed, and not run.

    >>> upgrade("editor.place(what=editor.scope('net'), device='/cpu:0')")
    "editor.set_device(what=editor.ops(scope='net'), device='/cpu:0')"
    >>> upgrade("editor.bypass('relu', renew='never')")
    "editor.renew = False; editor.bypass('relu'); editor.renew = True"
    """
    for find_changes in (_names, _renewals):
        while True:  # a call in the arguments of another is rewritten in the next round
            try:
                tree = ast.parse(script)
            except (SyntaxError, ValueError, RecursionError):
                return script
            source = _Source(script)
            changes = sorted(find_changes(tree, source))
            outermost = [
                each
                for k, each in enumerate(changes)
                if not any(_holds(other, each) for other in changes[:k])
            ]
            if not outermost:
                break
            script = source.with_changes(outermost)
    return script


def _holds(outer: _Change, inner: _Change) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


class _Source:
    """The text of a script, and where its syntax tree is in it."""

    def __init__(self, script: str) -> None:
        self._bytes = script.encode()
        self._lines = [0]
        for line in self._bytes.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def span(self, node: Any) -> tuple[int, int]:
        """Where a node begins and ends."""
        return self._lines[node.lineno - 1] + node.col_offset, self._lines[
            node.end_lineno - 1
        ] + node.end_col_offset

    def text(self, node: Any) -> str:
        """The text of a node."""
        start, end = self.span(node)
        return self._bytes[start:end].decode()

    def arguments(self, call: ast.Call) -> tuple[list[str], dict[str, str]]:
        """The arguments of a call as they are written, by place and by name; `**more` is among the
        first.
        """
        more = ["**" + self.text(each.value) for each in call.keywords if each.arg is None]
        named = {each.arg: self.text(each.value) for each in call.keywords if each.arg is not None}
        return [*map(self.text, call.args), *more], named

    def with_changes(self, changes: Iterable[_Change]) -> str:
        """The script with parts of it replaced, which do not overlap."""
        source = self._bytes
        for change in reversed([*changes]):
            source = source[: change.start] + change.text.encode() + source[change.end :]
        return source.decode()


def _calls_of_editor(tree: ast.AST) -> Iterator[tuple[ast.Call, Any]]:
    """Each call of a method of the script's editor, or of one of its nouns, with the method."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner: Any = node.func.value
            while isinstance(owner, ast.Attribute):
                owner = owner.value
            if isinstance(owner, ast.Name) and owner.id == "editor":
                yield node, node.func


def _names(tree: ast.AST, source: _Source) -> Iterator[_Change]:
    """Old names of methods and arguments, and calls that select ops."""
    for call, method in _calls_of_editor(tree):
        name, is_direct = method.attr, isinstance(method.value, ast.Name)
        end = source.span(method)[1]
        if is_direct and name == "trainable" and not call.args and not call.keywords:
            yield _Change(*source.span(call), "editor.find('is:trainable')")
        elif is_direct and name in SELECTIONS:
            now = SELECTIONS[name](*source.arguments(call))
            if now:
                yield _Change(*source.span(call), f"editor.{now}")
        elif is_direct and name in METHODS:
            yield _Change(end - len(name.encode()), end, METHODS[name])
        command = METHODS.get(name, name).rpartition(".")[2]
        for old in (keyword for keyword in call.keywords if keyword.arg is not None):
            start, now = source.span(old)[0], _argument_of_today(str(old.arg), command)
            if now != old.arg:
                yield _Change(start, start + len(str(old.arg)), now)


def _renewals(tree: ast.AST, source: _Source) -> Iterator[_Change]:
    """Calls with `renew`, which is a property of the editor now."""
    statements = {
        id(each.value): each for each in ast.walk(tree) if isinstance(each, ast.Expr | ast.Assign)
    }
    for call, method in _calls_of_editor(tree):
        renew = next((each.value for each in call.keywords if each.arg == "renew"), None)
        if renew is None:
            continue
        arguments, options = source.arguments(call)
        del options["renew"]
        now, value = _call(source.text(method), arguments, options), source.text(renew)
        is_text = isinstance(renew, ast.Constant) and isinstance(renew.value, str)
        renews = str(RENEW.get(renew.value, True)) if is_text else f"{value} != 'never'"  # type: ignore[attr-defined]
        statement = statements.get(id(call))
        if renews == "True":
            yield _Change(*source.span(call), now)
        elif statement is None:
            sets = [f"setattr(editor, 'renew', {each})" for each in (renews, True)]
            yield _Change(*source.span(call), f"({sets[0]}, {now}, {sets[1]})[1]")
        else:
            start, end = source.span(statement)
            target = source.text(statement)[: source.span(call)[0] - start]
            yield _Change(
                start, end, f"editor.renew = {renews}; {target}{now}; editor.renew = True"
            )

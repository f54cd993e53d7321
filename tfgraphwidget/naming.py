"""Names as TensorFlow writes them: op "a/b", tensor "a/b:0", control input "^a/b", scope "a"."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter

from tfgraphwidget.sentences import editor_call, either
from tfgraphwidget.tf_types import NodeDef

# Scopes that lie in each other. As many names of scopes are kept as an op has, each longer than the
# one before: a name of a megabyte that is all slashes would otherwise be half a million strings of
# half a megabyte.
DEEPEST = 200
_SCOPE = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*\Z")
_MOST_DIGITS = 9  # of a port; Python refuses to read numbers of thousands
_LONGEST = 10_000  # characters of a name that can be a mistyped one
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.\\/>-]+")
# A name that `free_name` may have given; 10,000 of one name are unlikely.
_NUMBERED = re.compile(r"(.+)_([0-9]{1,4})")
_IDENTIFIER = re.compile(r"\W+")

# parts of TensorFlow in the order in which people know them: tf.abs rather than tf.math.abs
_PARTS = (
    "",
    "nn.",
    "math.",
    "linalg.",
    "debugging.",
    "image.",
    "strings.",
    "random.",
    "signal.",
    "keras.",
)
_SIZE_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def words(*lines: str) -> tuple[str, ...]:
    """The words in lines of text, as a long table of names is written.

    >>> words("Add AddV2", "Sub")
    ('Add', 'AddV2', 'Sub')
    """
    return tuple(word for line in lines for word in line.split())


def split_tensor(name: str) -> tuple[str, int | None]:
    """The op's name and the output's index; the index is None when `name` is an op's name.

    >>> split_tensor("a/b:1"), split_tensor("a/b")
    (('a/b', 1), ('a/b', None))
    """
    op, colon, port = name.rpartition(":")
    if colon and port.isdecimal() and port.isascii() and len(port) <= _MOST_DIGITS:
        return op, int(port)
    return name, None


def split_input(text: str) -> tuple[str, int]:
    """Op name and port of a NodeDef input, "op", "op:1" or "^op"; port -1 is a control input.

    >>> split_input("a"), split_input("a:2"), split_input("^a")
    (('a', 0), ('a', 2), ('a', -1))
    """
    if text[:1] == "^":
        return text[1:], -1
    op, port = split_tensor(text)
    return op, port or 0


def as_input(op: str, port: int) -> str:
    """The NodeDef form of an input: "a", "a:2" or, for port -1, "^a"; `split_input` reads it."""
    if port < 0:
        return f"^{op}"
    # An op of a file may have the name of a tensor: "a:0" would be the first output of "a", and
    # "a:0:0" is its own.
    return op if port == 0 and split_tensor(op)[1] is None else f"{op}:{port}"


def text_attribute(node: NodeDef, key: str) -> bytes:
    """A text among the attributes of a NodeDef; b"" where the file leaves the default out.

    Reading `node.attr[key]` would add an attribute without a value, and TensorFlow refuses such a
    graph.
    """
    attributes = node.attr
    return attributes[key].s if key in attributes else b""


def colocated_with(node: NodeDef) -> list[str]:
    """Names of the ops that a NodeDef is colocated with, from its `_class`, "loc:@name"."""
    if "_class" not in node.attr:
        return []
    return [name for value in node.attr["_class"].list.s if (name := colocation(value))]


def colocate(node: NodeDef, ops: Iterable[str]) -> None:
    """Let a NodeDef stand beside the ops of some names, and beside no other ones.

    TensorFlow imports no graph in which one of them is missing.
    """
    others = [value for value in node.attr["_class"].list.s if not colocation(value)]
    values = [*others, *(f"loc:@{name}".encode() for name in ops)]
    del node.attr["_class"]
    if values:
        node.attr["_class"].list.s[:] = values


def colocation(value: bytes) -> str:
    """The name of the op in one entry of a `_class` attribute, "loc:@name"; "" for an entry of
    another kind. That of a damaged file may be no UTF-8, and then names no op that there is.
    """
    return value[5:].decode(errors="replace") if value.startswith(b"loc:@") else ""


def by_new_name(name: str, names: Mapping[str, str]) -> str:
    """The name of an op or tensor when ops go by the `names` that are given for their old ones.

    >>> by_new_name("a", {"a": "b"}), by_new_name("a:1", {"a": "b"}), by_new_name("a/x", {"a": "b"})
    ('b', 'b:1', 'a/x')
    """
    op, port = split_tensor(name)
    if op not in names:
        return name
    return names[op] if port is None else f"{names[op]}:{port}"


def last_part(name: str) -> str:
    """The part after the last slash."""
    return name.rpartition("/")[2]


def enclosing_scopes(name: str) -> Iterable[str]:
    """The scopes around a name, outermost first; the outermost 200 of them, the rest is the op's
    own name.

    >>> list(enclosing_scopes("a/b/c"))
    ['a', 'a/b']
    """
    at = -1
    for _ in range(DEEPEST):
        at = name.find("/", at + 1)
        if at < 0:
            return
        yield name[:at]


def scopes_around(names: Iterable[str]) -> set[str]:
    """The scopes around some names; those around names of one scope are found once.

    >>> sorted(scopes_around(["a/b/c", "a/b/d", "e"]))
    ['a', 'a/b']
    """
    innermost = {name[: name.rfind("/") + 1] for name in names}
    return {scope for name in innermost for scope in enclosing_scopes(name)}


def escape(text: str) -> str:
    r"""A name on one line, with control characters escaped.

    >>> escape("a\nb")
    'a\\nb'
    """
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def scope_around(name: str) -> str:
    """The innermost scope around a name, "" at the root.

    >>> scope_around("a/b/c"), scope_around("c")
    ('a/b', '')
    """
    if name.count("/") <= DEEPEST:
        return name.rpartition("/")[0]
    return [*enclosing_scopes(name)][-1]


def is_scope_name(name: object) -> bool:
    """Whether TensorFlow takes `name` as a name scope at the root of a graph."""
    return (
        isinstance(name, str)
        and bool(_SCOPE.match(name))
        and not name.endswith("/")
        and "//" not in name
    )


def valid_name(name: str, otherwise: str) -> str:
    """A name like another one that TensorFlow takes for an op, or `otherwise` if nothing of it is
    left.

    >>> valid_name("_output:0", "op"), valid_name("größe", "op"), valid_name("^", "op")
    ('output_0', 'gr_e', 'op')
    """
    plain = _NOT_IN_NAMES.sub("_", name).strip("_/")
    return plain if is_scope_name(plain) else otherwise


def free_name(base: str, used_names: Collection[str]) -> str:
    """`base`, or `wanted_1`, `wanted_2` …: the first that is not in `used_names`.

    TensorFlow compares names without regard to case, so `used_names` holds lower-case names.
    """
    candidate, number = base, 0
    while candidate.lower() in used_names:
        number += 1
        candidate = f"{base}_{number}"
    return candidate


def take_free_name(base: str, used_names: set[str]) -> str:
    """The name that `free_name` gives, which is among `used_names` from then on."""
    name = free_name(base, used_names)
    used_names.add(name.lower())
    return name


def tried_before(name: str) -> Iterator[str]:
    """The names, in lower case, that `free_name` would have given in place of this one had they
    been free.

    >>> list(tried_before("A/b_2")), list(tried_before("b"))
    (['a/b', 'a/b_1'], [])
    """
    match = _NUMBERED.fullmatch(name.lower())
    if match:
        yield match[1]
        yield from (f"{match[1]}_{number}" for number in range(1, int(match[2])))


def nearest(name: str, choices: Iterable[str], count: int = 3) -> list[str]:
    """Return at most so many known names that are most like a name, best first, for "did you mean".

    Names that end with it come first: "Softmax" probably means "net/Predictions/Softmax".

    >>> nearest("r1", ["net/stem/Conv2D", "net/r1_1/Relu"])
    ['net/r1_1/Relu']
    """
    import difflib

    choices = list(choices)
    if len(name) > _LONGEST:
        return []
    low = name.lower()
    tails = sorted((k for k in choices if k.lower().endswith(low)), key=len)[:count]
    if len(tails) == count or len(choices) > 20_000:
        return tails
    last = last_part(low)
    close = [k for k in choices if last and last[:3] in k.lower()] or choices
    near = tails + difflib.get_close_matches(name, close[:5_000], count, 0.5)
    # Else what lies in a scope of that name, as the ops of a layer of Keras, "net/relu1_1/Relu".
    scope = re.compile(rf"(?:^|/){re.escape(low)}(?:_\d+)?/")
    near = near or [k for k in choices if low and scope.search(k.lower())]
    return list(dict.fromkeys(near))[:count]


def did_you_mean(
    name: str, choices: Iterable[str], folder: str = "", *, otherwise: str = ""
) -> str:
    """The end of a sentence: "; did you mean 'x', 'y' or 'z'?", each in its folder, or when nothing
    is near another way out.

    >>> did_you_mean("modle.pb", ["model.pb", "x.txt"], "models/")
    "; did you mean 'models/model.pb'?"
    >>> (
    ...     did_you_mean("q", ["model.pb"], otherwise="give another name"),
    ...     did_you_mean("q", ["model.pb"]),
    ... )
    ('; give another name.', '.')
    """
    near = [repr(folder + k) for k in nearest(name, choices)]
    if not near:
        return "; " + otherwise + "." if otherwise else "."
    return f"; did you mean {' or '.join([', '.join(near[:-1]), near[-1]] if near[:-1] else near)}?"


FIND_OPS = editor_call("find", "text") + " finds ops"
"""The way out where no op has a name, for `did_you_mean`."""
HOW_TO_TRUST = either(
    "if you trust it, open it with trusted=True, or set editor.source.trusted = True",
    "if you trust it, turn on 'Trust this file'",
)
"""The way out where an op of a file was not run."""


def known_instead(name: str, choices: Sequence[str], what: str = "it has") -> str:
    """The end of a sentence on a name that is not known: the names like it, or else those that
    there are.

    >>> "no 'pading'" + known_instead("pading", ["padding", "strides"])
    "no 'pading'; did you mean 'padding'?"
    >>> (
    ...     "no 'note'" + known_instead("note", ["padding", "strides"]),
    ...     "no 'note'" + known_instead("note", []),
    ... )
    ("no 'note'; it has 'padding' and 'strides'.", "no 'note'; it has none.")
    """
    return did_you_mean(name, choices, otherwise=f"{what} {names_text(choices) or 'none'}")


def names_text(names: Sequence[str]) -> str:
    """Names as a list in words; of many the first three.

    >>> names_text(["a", "b"]), names_text(["a", "b", "c", "d", "e"])
    ("'a' and 'b'", "'a', 'b', 'c' and 2 more")
    """
    some = [repr(name) for name in names[:3]] + (
        [f"{len(names) - 3:,} more"] if len(names) > 3 else []
    )
    return " and ".join(filter(None, [", ".join(some[:-1]), *some[-1:]]))


def count_text(count: float, what: str) -> str:
    """A number of things in words.

    >>> count_text(1, "op"), count_text(0, "edit"), count_text(2000, "element")
    ('1 op', '0 edits', '2,000 elements')
    """
    return f"{count:,.0f} {what}{'s' * (count != 1)}"


_TRACED = re.compile(r"__(?:inference|forward|backward)_(\w+?)_\d+")


def format_size(count_of_bytes: int) -> str:
    """A number of bytes with three digits and a unit.

    >>> format_size(999), format_size(999_600), format_size(93_600_000)
    ('999 bytes', '1 MB', '93.6 MB')
    """
    value, unit = float(count_of_bytes), 0
    while value >= (999.5 if unit else 1000) and unit < len(_SIZE_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return (
        f"{value:.3g} {_SIZE_UNITS[unit]}" if value < 999.5 else f"{value:.0f} {_SIZE_UNITS[unit]}"
    )


def function_name(function: object, default: str = "") -> str:
    """The name that a user gave to a function, "step" of a trace b'__inference_step_12', or to a
    Keras layer; the default if it has no name.
    """
    name = getattr(function, "__name__", None) or getattr(function, "name", None) or default
    text = name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
    traced = _TRACED.fullmatch(text)
    return traced[1] if traced else text


def tensorflow_name(thing: object) -> str:
    """The public name of a function or class of TensorFlow, `tf.nn.gelu`; "" for anything else."""
    name = getattr(thing, "__qualname__", None) or getattr(thing, "__name__", None)
    home = str(getattr(thing, "__module__", ""))
    if not isinstance(name, str) or not home.startswith("tensorflow."):
        return ""
    tensorflow = sys.modules.get("tensorflow")
    public_names = (f"{part}{name}" for part in _PARTS)
    return next(
        (f"tf.{public}" for public in public_names if attribute_at(tensorflow, public) is thing), ""
    )


def attribute_at(module: object, name: str) -> object:
    """What a module has under a name with dots; None for nothing."""
    try:
        return attrgetter(name)(module)
    except Exception:  # TensorFlow's lazy parts fail in ways of their own
        return None


def identifier(scope: str) -> str:
    """A Python variable name for a scope, used in printed code.

    >>> identifier("my/copy-1"), identifier("2nd"), identifier("lambda")
    ('my_copy_1', '_2nd', 'lambda_')
    """
    text = _IDENTIFIER.sub("_", scope).strip("_") or "copy"
    if keyword.iskeyword(text) or text == "editor":
        # `editor` is what the printed lines call the editor.
        return f"{text}_"
    return f"_{text}" if text[0].isdigit() else text


def shared_name(node: NodeDef) -> str:
    """The key that a NodeDef names, "" for none; bytes that are no text come as surrogates."""
    return text_attribute(node, "shared_name").decode(errors="surrogateescape")


def first_paragraph(documentation: str | None) -> str:
    r"""The first paragraph of a docstring, on one line; "" where there is none.

    >>> first_paragraph("A sentence of\n    two lines.\n\n    More about it.")
    'A sentence of two lines.'
    """
    return " ".join((documentation or "").strip().partition("\n\n")[0].split())

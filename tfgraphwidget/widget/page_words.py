r"""Refusals as a page says them: the controls that do what Python would write.

>>> in_page_words('Variable \'w\' has no value; clone with init="initial" or init="none".')
"Variable 'w' has no value; choose 'initial values' or 'uninitialized' under Values."
>>> in_page_words("'f' is a result of the function; let another op give it first: editor.replace.")
"'f' is a result of the function; let another op give it first: Replace."
>>> in_page_words("There is no session to run it in; give tgw.edit(graph, session=session).")
'There is no session to run it in; open the graph with its session in a cell.'
"""

from __future__ import annotations

import re

from tfgraphwidget.edits import registry

_CALL = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
PYTHON = re.compile(
    r"`|\beditor\.\w|\btgw\.\w|\btf\.(?:\w+\.)*[a-z]\w*\b(?![.\w])|(?<![\w:./\[-])[a-z_]{1,24}=(?=[\w'\"{\[(…,;. ]|$)"
)
"""What only makes sense in a cell: an editor's method, a function of a module, an argument by its name."""

_CHOICES = {
    "current": "'current values'",
    "initial": "'initial values'",
    "none": "'uninitialized'",
    "own": "'own copies'",
    "shared": "'shared with original'",
}
_FIELDS = {"init": "Values", "variables": "Variables"}
_CHOICE = re.compile(r"""(clone with |use |or )?\b(init|variables)=["']?(\w+)["']?(?: or \2=["'](\w+)["'])?""")
_WORDS = (
    (r"give tgw\.edit\(graph, session=session\)", "open the graph with its session in a cell"),
    (r"call tgw\.edit\(graph, session=new_session\)", "open the graph with it in a cell"),
    (r"give replace=\{[^}]*\}(?:, or placeholders=True)?|placeholders=True", "choose 'New placeholders for inputs'"),
    (rf"(?:; |, |: )?\b(?:such as|or|call|write)? ?\beditor\.(?:edit|refresh){_CALL}", "; refresh the graph"),
    (r"\btf\.(cast|reshape) it\b", r"\1 it"),
    (r"leave (\w+)=\S* out\b|leave it out of (\w+)=", r"leave \1\2 empty"),
    (r"\bby k=", "by its number"),
    (r"give \w+ values? too: feeds=\{[^}]*\}", "give it a value"),
)
"""What to write in place of what."""


def in_page_words(why: str) -> str:
    """A sentence of a refusal without Python.

    Args:
        why: The sentence: what cannot be, and what to do.

    Returns:
        The sentence with the names of controls; what has none is to be done in a cell.
    """
    for pattern, words in _WORDS:
        why = re.sub(pattern, words, why)
    why = _CHOICE.sub(_choice, why)
    why = re.sub(rf"\beditor\.(\w+)(?:{_CALL})?", _control, why)
    why = re.sub(r"^(\w+)=(?=\S+ (?:is|names|are)\b)", r"\1 ", why)
    if not PYTHON.search(why):
        return why
    # A way out of which nothing else is known to the page.
    clauses = [clause for clause in re.split(r"(?<=;) ", why.rstrip(".")) if not PYTHON.search(clause)]
    sentence = " ".join(clauses).rstrip(";")
    return (
        f"{sentence}; a cell of the notebook can do it."
        if sentence
        else "This can be done in a cell of the notebook only."
    )


def _choice(match: re.Match[str]) -> str:
    options = " or ".join(_CHOICES.get(each, repr(each)) for each in match.groups()[2:] if each)
    way = "or " if match[1] == "or " else ""
    return f"{way}choose {options} under {_FIELDS[match[2]]}" if match[1] else options


def _control(match: re.Match[str]) -> str:
    """The button of a verb; of a verb without one its name."""
    registered = registry.registration_of(match[1])
    button = registered.button if registered is not None else None
    return button.name if button else match[1].replace("_", " ").capitalize()

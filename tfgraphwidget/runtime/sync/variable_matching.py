"""Which variables of one model belong to which of another: by name, by a mapping, by layers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tfgraphwidget.argument_checks import check, shown
from tfgraphwidget.errors import GraphEditError, UnknownName
from tfgraphwidget.graph import VariableDef
from tfgraphwidget.naming import did_you_mean

Names = Mapping[str, str] | Callable[[str], str | None] | Iterable[str] | None


def matched(
    source: Iterable[VariableDef],
    target: Iterable[VariableDef],
    names: Names = None,
    *,
    source_scope: str = "",
    target_scope: str = "",
) -> tuple[tuple[VariableDef, VariableDef], ...]:
    """Pairs (variable of the source, variable of the target), in the source's order.

    Names are compared without the scopes that the models stand in. `names` says which belong together: None, those
    of equal name; a mapping {source: target} of variables or of the scopes that they stand in; some names or scopes
    that both have (the first layers); or a function from a source's name to the target's, None to leave it out.
    An optimiser's slots, as "w/Adam", go with their variables where both have them, and are left out otherwise.
    Raises UnknownName for a name that either model lacks, GraphEditError when there is no pair.
    """
    ours, theirs = _named(source, source_scope), _named(target, target_scope)
    found = {b: a for a, b in _wanted(ours, theirs, names, source_scope, target_scope)}
    chosen = [(a, b) for b, a in found.items()]
    if not chosen:
        raise GraphEditError(
            f"None of the {len(ours)} variables has the name of one of the target's {len(theirs)}; say which belong "
            "together: names={'source': 'target'}, of variables or scopes."
        )
    places = {name: k for k, name in enumerate(ours)}
    return tuple((ours[a], theirs[b]) for a, b in sorted(chosen, key=lambda pair: places[pair[0]]))


def _named(variables: Iterable[VariableDef], scope: str) -> dict[str, VariableDef]:
    return {_less(v.handle, scope): v for v in variables}


def _less(name: str, scope: str) -> str:
    name = name.removesuffix(":0").rstrip("/")
    return name.removeprefix(f"{scope}/") if scope else name


def _wanted(
    ours: Mapping[str, VariableDef], theirs: Mapping[str, VariableDef], names: Names, source: str, target: str
) -> Iterator[tuple[str, str]]:
    """Pairs of names that both models have."""
    if names is None:
        yield from ((name, name) for name in ours if name in theirs)
        return
    names = list(names) if isinstance(names, Iterator) else names
    check("sync", "names", names, str | Mapping[str, str] | Iterable[str] | Callable[..., Any])
    if callable(names):
        asked = {name: _asked(names, name) for name in ours}
        told = {a: b for a, b in asked.items() if b is not None}
    elif isinstance(names, Mapping):
        told = {_less(a, source): _less(b, target) for a, b in names.items()}
    else:
        told = {_less(a, source): _less(a, source) for a in ([names] if isinstance(names, str) else names)}
    for a, b in told.items():
        under = [name for name in ours if name == a or name.startswith(f"{a}/")]
        if not under:
            raise UnknownName(f"There is no variable {a!r} to copy from.{did_you_mean(a, ours)}", [a])
        for name in under:
            wanted = b + name[len(a) :]
            if wanted in theirs:
                yield name, wanted
            elif not _is_slot(name, ours):
                raise UnknownName(f"There is no variable {wanted!r} to copy {name!r} to.{did_you_mean(wanted, theirs)}")


def _asked(names: Callable[[str], Any], name: str) -> str | None:
    """The name that a person's function gives for one."""
    try:
        found = names(name)
    except Exception as error:
        raise GraphEditError(f"The function of names raised {type(error).__name__} for {name!r}: {error}.") from error
    if found is not None and not isinstance(found, str):
        raise GraphEditError(f"The function of names gave {shown(found)} for {name!r}; let it give a name, or None.")
    return found


def _is_slot(name: str, known: Mapping[str, VariableDef]) -> bool:
    """Whether a variable is an optimiser's, kept below the one that it is for: "w/Adam" for "w"."""
    parts = name.split("/")
    return any("/".join(parts[:k]) in known for k in range(1, len(parts)))

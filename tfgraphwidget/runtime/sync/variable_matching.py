"""Finds which variables of two models belong together: by name, by a mapping, by layers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tfgraphwidget.argument_checks import check, shown
from tfgraphwidget.errors import GraphEditError, UnknownName
from tfgraphwidget.graph import VariableDef
from tfgraphwidget.naming import did_you_mean

Names = Mapping[str, str] | Callable[[str], str | None] | Iterable[str] | None


def match_variables(
    source: Iterable[VariableDef],
    target: Iterable[VariableDef],
    names: Names = None,
    *,
    source_scope: str = "",
    target_scope: str = "",
) -> tuple[tuple[VariableDef, VariableDef], ...]:
    """Return pairs (variable of the source, variable of the target), in the source's order.

    Names are compared without the models' scopes. An optimizer's slots, such as "w/Adam", go with their variables where
    both models have them, and are left out otherwise.

    Args:
        source: The variables of the source.
        target: The variables of the target.
        names: Which belong together: None for those of equal name; a mapping {source: target} of variables or scopes;
            some names or scopes that both have; or a function from a source's name to the target's, None to leave it
            out.
        source_scope: The scope of the source.
        target_scope: The scope of the target.

    Raises:
        UnknownName: A model lacks a name.
        GraphEditError: There is no pair.
    """
    ours, theirs = _by_name(source, source_scope), _by_name(target, target_scope)
    source_names = {b: a for a, b in _name_pairs(ours, theirs, names, source_scope, target_scope)}
    chosen = [(a, b) for b, a in source_names.items()]
    if not chosen:
        raise GraphEditError(
            f"None of the {len(ours)} variables has the name of one of the target's {len(theirs)}; say which belong "
            "together: names={'source': 'target'}, of variables or scopes."
        )
    places = {name: k for k, name in enumerate(ours)}
    return tuple((ours[a], theirs[b]) for a, b in sorted(chosen, key=lambda pair: places[pair[0]]))


def _by_name(variables: Iterable[VariableDef], scope: str) -> dict[str, VariableDef]:
    return {_without_scope(v.handle, scope): v for v in variables}


def _without_scope(name: str, scope: str) -> str:
    name = name.removesuffix(":0").rstrip("/")
    return name.removeprefix(f"{scope}/") if scope else name


def _name_pairs(
    ours: Mapping[str, VariableDef], theirs: Mapping[str, VariableDef], names: Names, source: str, target: str
) -> Iterator[tuple[str, str]]:
    """Yield pairs of names that both models have."""
    if names is None:
        yield from ((name, name) for name in ours if name in theirs)
        return
    names = list(names) if isinstance(names, Iterator) else names
    check("sync", "names", names, str | Mapping[str, str] | Iterable[str] | Callable[..., Any])
    if callable(names):
        results = {name: _call_names(names, name) for name in ours}
        mapping = {a: b for a, b in results.items() if b is not None}
    elif isinstance(names, Mapping):
        mapping = {_without_scope(a, source): _without_scope(b, target) for a, b in names.items()}
    else:
        mapping = {
            _without_scope(a, source): _without_scope(a, source) for a in ([names] if isinstance(names, str) else names)
        }
    for a, b in mapping.items():
        under = [name for name in ours if name == a or name.startswith(f"{a}/")]
        if not under:
            raise UnknownName(f"There is no variable {a!r} to copy from.{did_you_mean(a, ours)}", [a])
        for name in under:
            counterpart = b + name[len(a) :]
            if counterpart in theirs:
                yield name, counterpart
            elif not _is_slot(name, ours):
                raise UnknownName(
                    f"There is no variable {counterpart!r} to copy {name!r} to.{did_you_mean(counterpart, theirs)}"
                )


def _call_names(names: Callable[[str], Any], name: str) -> str | None:
    """Return what a user's function returns for a name."""
    try:
        found = names(name)
    except Exception as error:
        raise GraphEditError(f"The function of names raised {type(error).__name__} for {name!r}: {error}.") from error
    if found is not None and not isinstance(found, str):
        raise GraphEditError(f"The function of names gave {shown(found)} for {name!r}; let it give a name, or None.")
    return found


def _is_slot(name: str, known: Mapping[str, VariableDef]) -> bool:
    """Return whether a variable is an optimizer's slot, below the variable that it is for: "w/Adam" for "w"."""
    parts = name.split("/")
    return any("/".join(parts[:k]) in known for k in range(1, len(parts)))

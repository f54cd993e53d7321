"""Which variables of one model belong to which of another: by name, by path, by a mapping, by
layers, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol, TypeVar

from tfgraphwidget.argument_checks import check, value_text
from tfgraphwidget.errors import GraphEditError, UnknownName, reason_of
from tfgraphwidget.naming import known_instead
from tfgraphwidget.sentences import either, in_cell


class HasHandle(Protocol):
    """A variable that has a name: a VariableDef, or one in a store."""

    @property
    def handle(self) -> str:
        """The name."""


A = TypeVar("A", bound=HasHandle)
B = TypeVar("B", bound=HasHandle)
Names = Mapping[str, str] | Callable[[str], str | None] | Iterable[str] | None


def match_variables(
    source: Iterable[A],
    target: Iterable[B],
    names: Names = None,
    *,
    source_scope: str = "",
    target_scope: str = "",
) -> tuple[tuple[A, B], ...]:
    """Pair the variables of two models by name.

    Args:
        names: Which belong together: None for those of equal name; a mapping {source: target} of
            variables or of the scopes (layers) that they are in; some names or scopes that both
            have; or a function from a source's name to the target's, which returns None to leave
            one out. Beside its name a variable is found by its path in the object that holds it
            ("layers/0/kernel"), and a layer by its own name wherever it is nested.
        source_scope: The name scope of the source, which is not part of its names.

    Returns:
        Pairs (variable of the source, variable of the target), in the source's order. Slots of an
        optimizer, such as "w/Adam", go with their variables where both models have them, and are
        left out otherwise.

    Raises:
        UnknownName: Either model lacks a name.
        GraphEditError: There is no pair.
    """
    ours, theirs = _by_name(source, source_scope), _by_name(target, target_scope)
    pairs_by_target = {
        b: a for a, b in _name_pairs(ours, theirs, names, source_scope, target_scope)
    }
    pairs = [(a, b) for b, a in pairs_by_target.items()]
    if not pairs:
        raise GraphEditError(
            f"None of the {len(ours)} variables has the name of one of the target's {len(theirs)}; "
            + in_cell(
                "say which belong together: names={'source': 'target'}, of variables or scopes, or "
                "by_order=True for models of one architecture."
            )
        )
    places = {name: k for k, name in enumerate(ours)}
    return tuple((ours[a], theirs[b]) for a, b in sorted(pairs, key=lambda pair: places[pair[0]]))


def match_in_order(source: Iterable[A], target: Iterable[B]) -> tuple[tuple[A, B], ...]:
    """Pair the first variable of one model with the first of the other, in their orders, and so on.
    Raises GraphEditError where one model has more variables than the other, or neither has any.
    """
    ours, theirs = tuple(source), tuple(target)
    if len(ours) != len(theirs) or not ours:
        raise GraphEditError(
            either("by_order=True pairs all variables", "All variables are paired")
            + f", but the source has {len(ours)} and the target {len(theirs)}; "
            + in_cell("name those that belong together: names={'source': 'target'}.")
        )
    return tuple(zip(ours, theirs, strict=True))


def _by_name(variables: Iterable[A], scope: str) -> dict[str, A]:
    return {_without_scope(v.handle, scope): v for v in variables}


def _without_scope(name: str, scope: str) -> str:
    name = name.removesuffix(":0").rstrip("/")
    return name.removeprefix(f"{scope}/") if scope else name


def _name_pairs(
    ours: Mapping[str, HasHandle],
    theirs: Mapping[str, HasHandle],
    names: Names,
    source: str,
    target: str,
) -> Iterator[tuple[str, str]]:
    """Pairs of names that both models have."""
    if names is None:
        yield from ((name, name) for name in ours if name in theirs)
        return
    names = list(names) if isinstance(names, Iterator) else names
    check("sync", "names", names, str | Mapping[str, str] | Iterable[str] | Callable[..., object])
    if callable(names):
        names_by_function = {name: _call_names(names, name) for name in ours}
        name_pairs = {a: b for a, b in names_by_function.items() if b is not None}
    elif isinstance(names, Mapping):
        name_pairs = {
            _without_scope(a, source): _without_scope(b, target) for a, b in names.items()
        }
    else:
        name_pairs = {
            _without_scope(a, source): _without_scope(a, source)
            for a in ([names] if isinstance(names, str) else names)
        }
    for a, b in name_pairs.items():
        under, there = _under(ours, a), _under(theirs, b)
        if not under:
            raise UnknownName(
                f"There is no variable {a!r} to copy from{known_instead(a, [*ours])}", [a]
            )
        for rest, name in under.items():
            other = b + rest
            if rest in there:
                yield name, there[rest]
            elif not _is_slot(name, ours):
                raise UnknownName(
                    f"There is no variable {other!r} to copy {name!r} "
                    f"to{known_instead(other, [*theirs])}"
                )


def _under(variables: Mapping[str, HasHandle], layer: str) -> dict[str, str]:
    """The rest of each name after that of a variable, a scope or a layer → the name.

    A name goes before a path, and both before a layer of that name that is nested somewhere, if
    there is only one.
    """
    paths = {
        path: name
        for name, variable in variables.items()
        if (path := getattr(variable, "path", ""))
    }
    for names in ({name: name for name in variables}, paths):
        under = {
            name[len(layer) :]: handle
            for name, handle in names.items()
            if name == layer or name.startswith(f"{layer}/")
        }
        if under:
            return under
    positions = [(name, f"/{name}".find(f"/{layer}/")) for name in variables]
    positions = [(name, at) for name, at in positions if at >= 0]
    if len({name[:at] for name, at in positions}) > 1:
        some = " and ".join(sorted({repr(name[:at] + layer) for name, at in positions})[:2])
        raise UnknownName(
            f"There are several layers {layer!r}: {some}; give the whole name.", [layer]
        )
    return {name[at + len(layer) :]: name for name, at in positions}


def _call_names(names: Callable[[str], object], name: str) -> str | None:
    """The name that a person's function gives for one."""
    try:
        new_name = names(name)
    except Exception as error:
        raise GraphEditError(
            f"The function of names raised {type(error).__name__} for {name!r}: "
            f"{reason_of(error)}; let it give a name, or None."
        ) from error
    if new_name is not None and not isinstance(new_name, str):
        raise GraphEditError(
            f"The function of names gave {value_text(new_name)} for {name!r}; let it give a name, "
            "or None."
        )
    return new_name


def _is_slot(name: str, variables: Mapping[str, HasHandle]) -> bool:
    """Whether a variable is an optimizer's, kept below the one that it is for: "w/Adam" for "w"."""
    parts = name.split("/")
    return any("/".join(parts[:k]) in variables for k in range(1, len(parts)))

"""Arguments: what a public method is called with, checked against its annotations before the method runs.

Python does not check them, so without this a number where a name is meant ends as a TypeError from somewhere inside. A
class that is `Checked` refuses in a sentence, before anything has changed. `Any` and `Iterable[Any]` are left to the
method: what stands for an op or a tensor only the graph can say. An unknown keyword stays Python's own TypeError.
"""

from __future__ import annotations

import functools
import inspect
import numbers
import reprlib
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping
from os import PathLike
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.naming import did_you_mean

_Method = TypeVar("_Method", bound=Callable[..., Any])

_WORDS: Mapping[Any, str] = {
    str: "a string",
    bytes: "bytes",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    type(None): "None",
    Callable: "a function",
    Mapping: "a dict",
    MutableMapping: "a dict",
    PathLike: "a path",
    dict: "a dict",
}  # fmt: skip
_SHOWN = reprlib.Repr()
_SHOWN.maxstring = _SHOWN.maxother = 60
_LONGEST = 120  # characters of a value in a sentence


class Checked:
    """A class whose public methods refuse what their annotations do not allow, with the error `refusal`."""

    def __init_subclass__(cls, *, refusal: type[Exception] = GraphEditError, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, member in list(vars(cls).items()):
            if isinstance(member, types.FunctionType) and (name == "__call__" or not name.startswith("_")):
                setattr(cls, name, checked(member, refusal))


def in_words(**meanings: str) -> Callable[[_Method], _Method]:
    """Let a method's arguments be refused in these words, and options that it does not have with a suggestion."""

    def mark(method: _Method) -> _Method:
        method.__dict__["argument_meanings"] = meanings
        return method

    return mark


def checked(function: Callable[..., Any], refusal: type[Exception] = GraphEditError) -> Callable[..., Any]:
    """The function, which refuses what its annotations do not allow with the error `refusal`."""
    signature, hints = inspect.signature(function), functools.cache(lambda: _hints(function))
    meanings: Mapping[str, str] | None = getattr(function, "argument_meanings", None)
    if all(p.annotation in (p.empty, "Any") for p in signature.parameters.values()):
        return function

    def verify(given: tuple[Any, ...], options: dict[str, Any]) -> None:
        unknown = options.keys() - signature.parameters.keys() if meanings is not None else ()
        for name in unknown:
            hint = did_you_mean(name, list(signature.parameters)[1:])
            raise refusal(f"{function.__name__} has no option {name!r}.{hint}")
        try:
            bound = signature.bind(*given, **options).arguments
        except TypeError:
            return  # the call itself says so, in Python's own words
        for name, hint in hints().items():
            if name in bound:
                several = signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
                for value in bound[name] if several else (bound[name],):
                    if meanings is not None and name in meanings and not fits(value, hint):
                        where = f"{name}={shown(value)} is not what {function.__name__} takes"
                        raise refusal(f"{where}; give {meanings[name]}.")
                    check(function.__name__, name, value, hint, refusal)

    def call(*given: Any, **options: Any) -> Any:
        verify(given, options)
        return function(*given, **options)

    # With the function's own globals, since by these doctest tells whose examples a module's are.
    own = types.FunctionType(call.__code__, function.__globals__, function.__name__, None, call.__closure__)
    return functools.wraps(function)(own)


def check(taker: str, name: str, value: Any, hint: Any, refusal: type[Exception] = GraphEditError) -> None:
    """Raise `refusal` unless a type hint allows the value of the argument `name` of `taker`.

    >>> check("clone", "times", 2, int | None)
    >>> check("clone", "times", "two", int | None)
    Traceback (most recent call last):
        ...
    tfgraphwidget.errors.GraphEditError: times='two' is not what clone takes; give a whole number or None.
    """
    if not fits(value, hint):
        raise refusal(f"{name}={shown(value)} is not what {taker} takes; give {listed_words(hint)}.")


def shown(value: object) -> str:
    """A value in a sentence: short, whatever it is and whatever its `repr` does.

    >>> shown(list(range(1000))), shown(1.5)
    ('[0, 1, 2, 3, 4, 5, ...]', '1.5')
    """
    try:
        text = " ".join(_SHOWN.repr(value).split())
    except Exception:  # an object's own __repr__ may raise anything
        text = f"a {type(value).__name__}"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def fits(value: Any, hint: Any) -> bool:
    """Whether a type hint allows a value; what cannot be told is allowed."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any or hint is object:
        return True
    if hint is None or hint is type(None):
        return value is None
    if origin in (Union, types.UnionType):
        return any(fits(value, one) for one in inner)
    if origin is Literal:
        return isinstance(value, str | int | None) and value in inner
    if hint in (bool, int, float):
        return _fits_number(value, hint)
    if hint is Callable or origin is Callable:
        return callable(value)
    if origin in (Iterable, Collection, tuple, list):
        return _fits_items(value, inner)
    if origin in (Mapping, MutableMapping, dict):
        return isinstance(value, origin) and all(fits(k, inner[0]) and fits(v, inner[1]) for k, v in value.items())
    kind = origin or hint
    return not isinstance(kind, type) or getattr(kind, "_is_protocol", False) or isinstance(value, kind)


def _fits_number(value: Any, hint: Any) -> bool:
    is_bool = isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")  # NumPy's own
    if hint is bool:
        return is_bool or (isinstance(value, int) and value in (0, 1))
    is_one = isinstance(value, numbers.Integral if hint is int else numbers.Real)
    return is_one and not is_bool and bool(value == value)  # noqa: PLR0124 - NaN is no number


def _fits_items(value: Any, inner: tuple[Any, ...]) -> bool:
    if inner[0] is Any:
        return True  # whatever stands for ops and tensors
    if isinstance(value, str | bytes) or not isinstance(value, Collection | Iterator):
        return False
    # What can be gone through only once is left to the method.
    return isinstance(value, Iterator) or all(fits(item, inner[0]) for item in value)


def listed_words(hint: Any) -> str:
    """What a type hint allows, in words."""
    *first, last = dict.fromkeys(_words(hint))
    return f"{', '.join(first)} or {last}" if first else last


def _words(hint: Any) -> Iterator[str]:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        for one in inner:
            yield from _words(one)
    elif origin is Literal:
        yield from map(repr, inner)
    elif origin in (Iterable, Collection, tuple, list):
        yield "names, tensors or ops" if inner[0] is Any else f"a list, each of it {listed_words(inner[0])}"
    else:
        kind = type(None) if hint is None else origin or hint
        yield _WORDS.get(kind, f"a {getattr(kind, '__name__', kind)}")


def _hints(function: Any) -> dict[str, Any]:
    """The annotations of the parameters; names that only a type checker knows are left out."""
    written = inspect.unwrap(function).__globals__
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        hint = parameter.annotation
        if parameter.kind is parameter.VAR_KEYWORD or hint is parameter.empty:
            continue
        if isinstance(hint, str):
            try:
                hint = eval(hint, dict(written))
            except NameError:
                continue
        if hint is not Any:
            found[name] = hint
    return found

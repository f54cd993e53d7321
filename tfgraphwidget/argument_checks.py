"""Calls of public methods: their arguments are checked against the annotations, and their refusals
name the call.

Python does not check them, so without this a number where a name is meant ends as a TypeError from
somewhere inside. A class with `ArgumentChecks` as a base refuses in a sentence, before anything has
changed. `Any`, `object` and lists of these are left to the method: only the graph knows what means
an op or a tensor. So are the classes of `tf_types`, which are `object` in a running program. An
unknown keyword stays Python's own TypeError.

Whatever refuses inside, the error says which method was called, see `GraphEditError.call`: of
methods that call each other the one that the person called. What refuses an assignment to a
property says "direction = 'up'".

While such a call is made, interrupts come in between calls into TensorFlow, see
`cancellation.between_calls`.
"""

from __future__ import annotations

import functools
import inspect
import numbers
import reprlib
import types
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
)
from contextlib import AbstractContextManager, nullcontext
from os import PathLike
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from tfgraphwidget.cancellation import between_calls
from tfgraphwidget.errors import (
    CallsTooDeep,
    GraphEditError,
    InvalidArgument,
    OutOfMemory,
    UnknownName,
    WrongType,
    reason_of,
)
from tfgraphwidget.naming import known_instead
from tfgraphwidget.sentences import argument_value, either

_Method = TypeVar("_Method", bound=Callable[..., Any])

_MOST_SECONDS = 1e9  # of a time limit: thirty years; timers of threads take ten times as much
_WORDS: Mapping[object, str] = {
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


class ArgumentChecks:
    """A class whose public methods refuse what their annotations do not allow, with the error
    `refusal`.

    `inside` makes a context manager that each of them runs in.
    """

    def __init_subclass__(
        cls,
        *,
        refusal: type[Exception] = GraphEditError,
        inside: Callable[[], AbstractContextManager[object]] = nullcontext,
        **options: object,
    ) -> None:
        super().__init_subclass__(**options)
        for name, member in list(vars(cls).items()):
            if isinstance(member, types.FunctionType) and (
                name == "__call__" or not name.startswith("_")
            ):
                setattr(cls, name, check_arguments(member, refusal, inside))
            if isinstance(member, property) and member.fset is not None:
                setattr(
                    cls,
                    name,
                    member.setter(_with_its_name(member.fset, _verify_nothing, assignment_text)),
                )


def set_property(thing: object, name: str, value: object) -> None:
    """Set a property of an object; another name is a mistake, which would be lost. A `__setattr__`
    of classes.

    Args:
        name: The name of the property; one with an underscore is the object's own.

    Raises:
        AttributeError: The class has no such property.
    """
    if not name.startswith("_") and not hasattr(type(thing), name):
        raise AttributeError(f"{type(thing).__name__!r} object has no attribute {name!r} to set")
    object.__setattr__(thing, name, value)


def check_arguments(
    function: Callable[..., object],
    refusal: type[Exception] = GraphEditError,
    inside: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> Callable[..., object]:
    """The function, which refuses what its annotations do not allow; each call runs in a context
    that `inside` gives.
    """
    signature, hints = inspect.signature(function), functools.cache(lambda: _hints(function))
    meanings: Mapping[str, str] = getattr(function, "argument_meanings", {})
    if _takes_anything(function, signature):
        naming: Callable[..., object] = _with_its_name(function, _verify_nothing, inside=inside)
        return naming

    def verify(positional: tuple[object, ...], options: dict[str, object]) -> None:
        if not hints():
            return
        if meanings:
            _check_options(function.__name__, list(signature.parameters), options, refusal)
        try:
            arguments = signature.bind(*positional, **options).arguments
        except TypeError:
            return  # the call itself says so, in Python's own words
        for name, hint in hints().items():
            if name in arguments:
                several = signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
                for value in arguments[name] if several else (arguments[name],):
                    check(function.__name__, name, value, hint, refusal, meanings.get(name))

    checked: Callable[..., object] = _with_its_name(function, verify, inside=inside)
    return checked


def names_its_call(function: _Method) -> _Method:
    """The function, whose refusals name it and its first argument; see `GraphEditError.call`.

    >>> @names_its_call
    ... def halve(number):
    ...     raise GraphEditError(f"{number} is odd; give an even number.")
    >>> halve(3)
    Traceback (most recent call last):
        ...
    tfgraphwidget.errors.GraphEditError: halve(3): 3 is odd; give an even number.
    """
    naming: _Method = _with_its_name(function, _verify_nothing)
    return naming


def _exhaustion(error: MemoryError | RecursionError) -> GraphEditError:
    """The refusal for what a graph of unknown origin may exhaust: memory, or calls in calls."""
    if isinstance(error, RecursionError):
        why = (
            "The functions of the graph call each other too deep for it; do it with a part "
            "without these calls."
        )
        return CallsTooDeep(why)
    detail = f" ({reason_of(error)})" if str(error) else ""
    return OutOfMemory(
        f"It takes more memory than there is{detail}; do it with a part of the graph."
    )


def _verify_nothing(positional: tuple[object, ...], options: dict[str, object]) -> None:
    pass


def _with_its_name(
    function: Any,
    verify: Callable[[tuple[object, ...], dict[str, object]], None],
    text: Callable[[types.FunctionType, Sequence[object], Mapping[str, object]], str] | None = None,
    inside: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> Any:
    """The function, called after `verify` and `inside`; `text`, or `call_text`, says the call."""
    refusal, exhausted, text = GraphEditError, _exhaustion, text or call_text
    uninterrupted = between_calls  # by this closure: `call` has the function's globals

    def call(*positional: Any, **options: Any) -> Any:
        try:
            with uninterrupted():
                verify(positional, options)
                with inside():
                    return function(*positional, **options)
        except refusal as error:
            error.call = text(function, positional, options)  # the outermost call has the last word
            raise
        except (MemoryError, RecursionError) as error:
            end = exhausted(error)
            end.call = text(function, positional, options)
            raise end from error

    # With the function's own globals, since by these doctest knows whose examples a module's are.
    own = types.FunctionType(
        call.__code__, function.__globals__, function.__name__, None, call.__closure__
    )
    return functools.wraps(function)(own)


def call_text(
    function: types.FunctionType, positional: Sequence[object], options: Mapping[str, object]
) -> str:
    """A call in a sentence, with what it was given first.

    >>> (
    ...     call_text(check, ("clone", "times"), {}),
    ...     call_text(check, (), {"taker": ["x:0", "y:0"], "name": "k"}),
    ... )
    ("check('clone')", "check(taker=['x:0', ...])")
    """
    values = positional[1:] if function.__code__.co_varnames[:1] == ("self",) else positional
    name, value = ("", values[0]) if values else next(iter(options.items()), ("", None))
    text = _argument_text(value) if values or options else ""
    return f"{getattr(function, 'call_name', function.__name__)}({name}{'=' * bool(name)}{text})"


def assignment_text(
    setter: types.FunctionType, positional: Sequence[object], _: Mapping[str, object]
) -> str:
    """What is assigned to a property in a sentence: "selection = 'net'"."""
    return f"{setter.__name__} = {_argument_text(positional[1])}"


def _argument_text(value: object) -> str:
    """An argument in a sentence; large objects, whose `repr` may take long, by name or class."""
    if isinstance(value, list | tuple):
        return f"[{', '.join([*map(_argument_text, value[:1]), *['...'] * (len(value) > 1)])}]"
    if isinstance(value, PathLike):
        return value_text(str(value))
    name = (
        getattr(value, "expression", None)
        or getattr(value, "name", None)
        or getattr(value, "__name__", None)
    )
    if isinstance(name, str):  # a selection; an op, a tensor or a variable; a function
        return value_text(name) if name == getattr(value, "name", None) else _cut(name)
    if value is None or isinstance(value, str | int | float):
        return value_text(value)
    return type(value).__name__


def check(
    taker: str,
    name: str,
    value: object,
    hint: object,
    refusal: type[Exception] = GraphEditError,
    meaning: str | None = None,
) -> None:
    """Raise an error unless a type hint allows the value of an argument.

    Args:
        meaning: What the method takes, in words; otherwise the words for `hint`.

    Raises:
        WrongType: The hint does not allow the type of the value. The class is `refusal`, if given.
        InvalidArgument: The value is a text, and none of those that the hint allows.

    >>> check("clone", "times", 2, int | None)
    >>> check("clone", "times", "two", int | None)
    Traceback (most recent call last):
        ...
    tfgraphwidget.errors.WrongType: times='two' is not what clone takes; give a whole number or
    None.
    """
    if fits(value, hint):
        return
    allowed = meaning or listed_words(hint)
    sentence = (
        argument_value(name, value_text(value))
        + " is not what "
        + either(taker, "the form")
        + f" takes; give {allowed}."
    )
    if refusal is not GraphEditError:
        raise refusal(sentence)
    is_other_word = isinstance(value, str) and _takes_words(hint)
    raise (InvalidArgument if is_other_word else WrongType)(name, sentence)


def _takes_words(hint: object) -> bool:
    """Whether a type hint allows some texts, so that another text is a wrong value, not a type."""
    return get_origin(hint) is Literal or any(map(_takes_words, get_args(hint)))


def check_seconds(seconds: Any) -> None:
    """Raise ValueError for what is no time limit: not a number, none above 0, or one without an
    end.

    >>> check_seconds(0.5)
    >>> check_seconds(float("nan"))
    Traceback (most recent call last):
        ...
    ValueError: nan
    """
    is_number = isinstance(seconds, numbers.Real) and not isinstance(seconds, bool)
    if not (is_number and 0 < seconds <= _MOST_SECONDS):  # not a number is not above 0 either
        raise ValueError(seconds)


def value_text(value: object) -> str:
    """A value in a sentence: short, whatever it is and whatever its `repr` does.

    >>> value_text(list(range(1000))), value_text(1.5)
    ('[0, 1, 2, 3, 4, 5, ...]', '1.5')
    """
    try:
        text = " ".join(_SHOWN.repr(value).split())
    except Exception:  # an object's own __repr__ may raise anything
        text = f"a {type(value).__name__}"
    return _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def fits(value: object, hint: object) -> bool:
    """Whether a type hint allows a value; hints that are not understood allow everything."""
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
        return isinstance(value, origin) and all(
            fits(k, inner[0]) and fits(v, inner[1]) for k, v in value.items()
        )
    kind = origin or hint
    return (
        not isinstance(kind, type)
        or getattr(kind, "_is_protocol", False)
        or isinstance(value, kind)
    )


def _fits_number(value: object, hint: object) -> bool:
    is_bool = isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")  # NumPy's own
    if hint is bool:
        return is_bool or (isinstance(value, int) and value in (0, 1))
    is_one = isinstance(value, numbers.Integral if hint is int else numbers.Real)
    return is_one and not is_bool and bool(value == value)  # noqa: PLR0124 - NaN is not a number


def _fits_items(value: object, inner: tuple[object, ...]) -> bool:
    if _allows_all(inner[0]):
        return True  # ops and tensors, as the method takes them
    if isinstance(value, str | bytes) or not isinstance(value, Collection | Iterator):
        return False
    # What can be gone through only once is left to the method.
    return isinstance(value, Iterator) or all(fits(item, inner[0]) for item in value)


def listed_words(hint: object) -> str:
    """The values that a type hint allows, in words."""
    *first, last = dict.fromkeys(_words(hint))
    return f"{', '.join(first)} or {last}" if first else last


def _words(hint: object) -> Iterator[str]:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        for at, one in enumerate(inner):
            # Of values that may come alone or in a list, the words stand once.
            is_list = get_origin(one) in (Iterable, Collection, tuple, list)
            if is_list and get_args(one)[0] in inner[:at]:
                yield "a list of these"
            else:
                yield from _words(one)
    elif origin is Literal:
        yield from map(repr, inner)
    elif origin in (Iterable, Collection, tuple, list):
        yield (
            "names, tensors or ops"
            if _allows_all(inner[0])
            else f"a list, each of it {listed_words(inner[0])}"
        )
    else:
        kind = type(None) if hint is None else origin or hint
        yield _WORDS.get(kind, f"a {getattr(kind, '__name__', kind)}")


def _check_options(
    taker: str, parameters: Sequence[str], options: Iterable[str], refusal: type[Exception]
) -> None:
    """Raise `refusal` for an option that no parameter of the method `taker` has the name of."""
    for name in options:
        if name not in parameters:
            sentence = f"{taker} has no option {name!r}{known_instead(name, parameters[1:])}"
            raise (UnknownName if refusal is GraphEditError else refusal)(sentence)


def _takes_anything(function: Callable[..., object], signature: inspect.Signature) -> bool:
    """Whether no annotation forbids a value; other names cannot be looked up during the import."""
    module_names = function.__globals__
    hints = {p.annotation for p in signature.parameters.values()} - {
        inspect.Parameter.empty,
        "Any",
        "object",
    }
    return all(module_names.get(name) is object for name in hints)


def _hints(function: Any) -> dict[str, object]:
    """The annotations of the parameters; names that only a type checker knows are left out."""
    namespace = inspect.unwrap(function).__globals__
    hints = {}
    for name, parameter in inspect.signature(function).parameters.items():
        hint = parameter.annotation
        if parameter.kind is parameter.VAR_KEYWORD or hint is parameter.empty:
            continue
        if isinstance(hint, str):
            try:
                hint = eval(hint, dict(namespace))
            except NameError:
                continue
        if not _allows_all(hint):
            hints[name] = hint
    return hints


def _allows_all(hint: object) -> bool:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(map(_allows_all, inner))
    innermost = inner[0] if origin in (Iterable, Collection, tuple, list) else hint
    return innermost is Any or innermost is object

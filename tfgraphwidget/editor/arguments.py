"""Asking: the call of a clone as a value, names for whatever a person gave. GraphEditor is one of these."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypedDict, TypeVar, get_type_hints

from tfgraphwidget.argument_checks import check, fits, shown
from tfgraphwidget.editor.graph_view import Names
from tfgraphwidget.editor.state import Changing
from tfgraphwidget.edits.clone.command import Clone, Mode
from tfgraphwidget.errors import GraphEditError, NothingTo
from tfgraphwidget.graph.selection import Selection
from tfgraphwidget.naming import did_you_mean

if TYPE_CHECKING:
    from typing import Unpack  # Python 3.10 has none

Asked = ParamSpec("Asked")
Given = TypeVar("Given")


class Options(TypedDict, total=False):
    """What `clone` and `preview` take beside the part and the scope; see `edits.clone.command.Clone`."""

    variables: Any
    init: str | PathLike[str] | Mapping[Any, Any]
    replace: Mapping[Any, Any]
    placeholders: bool
    reseed: bool
    times: int
    device: str | Mapping[str, str] | None
    devices: str | Iterable[str]
    src_scope: str
    graph: Any
    session: Any


class Asking(Changing):
    """Turns what a person says into a command."""

    def command(
        self,
        /,
        inputs: Names | None = None,
        outputs: Names | None = None,
        into: Any = None,  # any that is no name scope is refused where the graph is known
        **options: Unpack[Options],
    ) -> Clone:
        """The call of `clone` as a value.

        A call that names neither inputs nor outputs takes the chosen boundary or the chosen ops, whole, and the command
        holds their names. One that names either takes nothing from what is chosen, so it means the same each time.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> command = editor.command("x:0", "net/logits:0", init="initial")
        >>> command.into, command.init
        ('copy', 'initial')
        """
        _check(options)
        selection = None
        if inputs is None and outputs is None and self.selection is None and self.room.selection_notice:
            raise NothingTo(self.room.selection_notice)
        if isinstance(inputs, Selection) and outputs is None:
            selection, inputs = inputs, ()
        elif inputs is None and outputs is None and not any(self.room.boundary):
            selection = self.selection
        ends = self._boundary(inputs, outputs)
        graph, device = self._other(options), options.get("device")
        variables: Any = options.get("variables", "own")  # what is no mode is refused when it is planned
        init = options.get("init", "current")
        devices = (given,) if isinstance(given := options.get("devices", ()), str) else tuple(given)
        return Clone(
            inputs=ends[0],
            outputs=ends[1],
            into=self._free(options.get("times"), devices) if into is None else into,
            variables=self._modes(variables) if isinstance(variables, Mapping) else variables,
            init=self._values(init) if isinstance(init, Mapping) else _path(init),
            selection=selection,
            replace=self._pairs(options.get("replace", {}), elsewhere=graph is not None),
            placeholders=options.get("placeholders", False),
            reseed=options.get("reseed", False),
            times=options.get("times"),
            device=tuple(device.items()) if isinstance(device, Mapping) else device,
            devices=devices,
            src_scope=options.get("src_scope", ""),
            graph=graph,
            session=options.get("session"),
        )

    def _free(self, times: Any, devices: Any) -> str:
        """A scope that nobody has taken, nor one of its numbered ones where several copies are asked for."""
        scope, number = self.free_scope(), 0
        while times is not None or devices:
            if self.free_scope(f"{scope}_0") == f"{scope}_0":
                break
            number += 1
            scope = self.free_scope(f"copy{number}")
        return scope

    def _other(self, options: Options) -> Any:
        """The other graph that is meant, or None; this graph, also by way of another editor of it, is no other."""
        given, session = options.get("graph"), options.get("session")
        held = given._source.graph if isinstance(given, Changing) else given
        if given is self or (held is not None and held is self._source.graph):
            given = None
        if session is not None and (given is None or isinstance(given, Changing)):
            raise GraphEditError(
                "session= goes with graph=, a tf.Graph that is no editor's; copies in an editor's graph are filled in "
                "the editor's session."
            )
        return given

    def _modes(self, given: Mapping[Any, Mode]) -> tuple[tuple[str, Mode], ...]:
        scopes = self.index.scopes.ids
        found: dict[str, Mode] = {}
        for key, mode in given.items():
            if isinstance(key, Selection):
                found.update((v.handle, mode) for v in key.on(self.index).variables)
            else:
                is_scope = isinstance(key, str) and key.rstrip("/") in scopes
                found[key.rstrip("/") if is_scope else self._names(key)[0].partition(":")[0]] = mode
        return tuple(found.items())

    def _values(self, given: Mapping[Any, Any]) -> tuple[tuple[str, Any], ...]:
        return tuple((self._names(key)[0], value) for key, value in given.items())

    def _pairs(self, given: Mapping[Any, Any], *, elsewhere: bool) -> tuple[tuple[str, str], ...]:
        def named(new: Any) -> str:
            return str(getattr(new, "name", new)) if elsewhere else self._names(new)[0]

        return tuple((self._names(old)[0], named(new)) for old, new in given.items())


def asks(
    command: Callable[Concatenate[Any, Asked], Clone],
) -> Callable[[Callable[[Any, Clone], Given]], Callable[Concatenate[Any, Asked], Given]]:
    """Let a method that takes a command be called as `command` is."""

    def called_alike(method: Callable[[Any, Clone], Given]) -> Callable[Concatenate[Any, Asked], Given]:
        @functools.wraps(method)
        def call(self: Any, /, *given: Asked.args, **options: Asked.kwargs) -> Given:
            return method(self, command(self, *given, **options))

        call.__signature__ = inspect.signature(command)  # type: ignore[attr-defined]
        return call

    return called_alike


def _check(options: Options) -> None:
    """Raise for an option that there is not, or for one that is no such thing."""
    hints = get_type_hints(Options)
    for name, value in options.items():
        if name not in hints:
            raise GraphEditError(f"clone has no option {name!r}.{did_you_mean(name, hints)}")
        if name in _MEANT and not fits(value, hints[name]):
            raise GraphEditError(f"{name}={shown(value)} is not what clone takes; give {_MEANT[name]}.")
        check("clone", name, value, hints[name])


_MEANT = {
    "device": "a device's name, '/device:GPU:0', or a dict, {device, op or scope: device}",
    "devices": "a list of devices' names, one for each copy",
    "src_scope": "the name of a scope around the part",
}


def _path(init: Any) -> Any:
    return fspath(init) if isinstance(init, PathLike) else init

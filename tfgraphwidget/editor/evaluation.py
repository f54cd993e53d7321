"""Trying: graphs run on some feeds, to see what comes out, or what lies between."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tfgraphwidget.edits.patch import Patch
from tfgraphwidget.edits.signature_tracking import ends_now, follow
from tfgraphwidget.errors import GraphEditError, SessionRefused
from tfgraphwidget.graph.control_flow import inside_control_flow
from tfgraphwidget.graph.diff import difference
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.resources import key_of
from tfgraphwidget.graph.side_effects import side_effects
from tfgraphwidget.graph.traversal import forward, mask_of
from tfgraphwidget.naming import listed, split_tensor
from tfgraphwidget.runtime.measure import probe as probing
from tfgraphwidget.runtime.measure.comparison import Comparison, compared
from tfgraphwidget.runtime.sandbox import evaluation
from tfgraphwidget.runtime.session.edit_values import present
from tfgraphwidget.runtime.session.variable_values import check_session, no_value
from tfgraphwidget.sources import Body, Source, captured_state

if TYPE_CHECKING:
    from tfgraphwidget.graph.captured_state import Held
    from tfgraphwidget.graph.index import VariableDef

_EMPTY = "no value in this session"
_OPAQUE = ("resource", "variant", "")
Values = Mapping[Any, Any]
Feeds = Mapping[str, Any]
Asked = tuple[Sequence[str], Feeds]
Moved = Iterable[tuple[str, str]]


@dataclass(frozen=True)
class Tried:
    """A graph that can be run: `index` is it, or was it once, and `body` of `source` is where its state is found."""

    source: Source
    body: Body
    index: GraphIndex

    @property
    def is_body(self) -> bool:
        """Whether it is a function's."""
        return self.body is not self.source.body or bool(self.source.refusal)

    def ends(self, patches: Iterable[Patch]) -> dict[str, str]:
        """What the function or the chosen signature gives: tensors after some edits -> before them."""
        signature = self.source.signature
        told = self.body.returns if self.is_body else {} if signature is None else dict(signature.outputs)
        now = ends_now((), told, patches)[1]
        return {now[key]: name for key, name in told.items() if split_tensor(now[key])[0] in self.index.ids}

    @cached_property
    def held(self) -> Held:
        """What stands for state in a function's body."""
        return captured_state(self.source, self.body)

    def check_fed(self, tensors: Sequence[str], feeds: Feeds) -> None:
        """Raise when the tensors need a placeholder that has no value."""
        probing.check_fed(self.index, tensors, feeds, self.held.names if self.is_body else ())

    def values(self, outputs: Sequence[str], feeds: Feeds, known: Values) -> dict[Any, Any]:
        """The values of the variables that the outputs need, by state; those that are `known` are not read."""
        if self.is_body:
            return {}
        wanted = {self._key(v): v for v in evaluation.variables_for(self.index, outputs, feeds)}
        unknown = {key: v for key, v in wanted.items() if key not in known}
        read = self._read(unknown.values()) if unknown else {}
        return {**known, **{key: read[v.handle] for key, v in unknown.items()}}

    def _read(self, variables: Iterable[VariableDef]) -> Values:
        graph, session = self.source.graph, self.source.session
        if graph is not None and session is not None:
            check_session(session, graph)
        try:
            return present(self.source, self.source.body, variables)
        except SessionRefused as error:
            if _EMPTY not in error.why:
                raise
            why = f"{no_value(error.ops)}; run {'its' if len(error.ops) == 1 else 'their'} initializers first."
            raise SessionRefused(why, error.ops) from None  # the other is about clones

    def run(self, outputs: Sequence[str], feeds: Feeds, values: Values) -> list[evaluation.Array]:
        """The outputs, run aside; a function's body has the values of its variables itself."""
        if self.is_body:
            return evaluation.run_body(self.index, self.held, outputs, feeds)
        mine = {v.handle: values[self._key(v)] for v in evaluation.variables_for(self.index, outputs, feeds)}
        return evaluation.run_graph(self.index, outputs, feeds, mine)

    def _key(self, variable: VariableDef) -> tuple[str, bytes, str]:
        return key_of(self.index, self.index.ids[variable.handle])


def was(name: str, moved: Iterable[Moved]) -> str:
    """What a tensor or an op was called before some edits, of which each says (old, new) names; oldest first."""
    for names in reversed(list(moved)):
        name = follow(name, {new: old for old, new in names if new})
    return name


def ends(index: GraphIndex, feeds: Feeds) -> list[str]:
    """The tensors of ops that nobody reads, that do nothing else, and that depend on the feeds, if there are any."""
    fed = [index.op(name) for name in feeds]
    last = forward(index, fed) if fed else np.ones(len(index), bool)
    last &= (np.diff(index.consumers.start) == 0) & ~mask_of(index, [*fed, *inside_control_flow(index)])
    last &= ~mask_of(index, side_effects(index, np.flatnonzero(last).tolist()))
    names = ((index.names[i], index.dtypes(i)) for i in np.flatnonzero(last).tolist())
    found = [f"{op}:{k}" for op, dtypes in names for k, dtype in enumerate(dtypes) if dtype not in _OPAQUE]
    if not found:
        raise GraphEditError("Nothing here is computed from the feeds and read by no op; name outputs=[…] to compare.")
    return found


def compare(
    tried: tuple[Tried, Tried], names: Mapping[str, str], wanted: Sequence[str], feeds: Feeds, *, must: bool
) -> Comparison:
    """How far the outputs of two graphs are apart; `names` are of tensors now -> before.

    With `must`, an output that the graph before lacks is refused, else it is told of.
    """
    before, now = tried
    there = _names(before.index, now.index, {name: names.get(name, name) for name in (*wanted, *feeds)})
    missing = tuple(name for name in wanted if name not in there)
    if missing and (must or len(missing) == len(wanted)):
        raise GraphEditError(
            f"{listed(missing)} {'is' if len(missing) == 1 else 'are'} not in the graph to compare with; name outputs "
            "that both have: editor.compare(feeds, outputs=[…]).",
            [split_tensor(name)[0] for name in missing],
        )
    kept = [name for name in wanted if name in there]
    theirs = [there[name] for name in kept], {there[name]: value for name, value in feeds.items() if name in there}
    now.check_fed(kept, feeds)
    before.check_fed(*theirs)
    values = _values(before, now, theirs, (kept, feeds))
    ran = compared(kept, partial(before.run, *theirs, values[0]), partial(now.run, kept, feeds, values[1]))
    return replace(ran, missing=missing)


def _values(before: Tried, now: Tried, theirs: Asked, ours: Asked) -> tuple[Values, Values]:
    """The values of both graphs' variables; what another graph has none for is taken from this one."""
    if before.source is now.source:
        shared = before.values(*theirs, {})
        return shared, now.values(*ours, shared)
    own = now.values(*ours, {})
    try:
        return before.values(*theirs, {}), own
    except SessionRefused:
        return before.values(*theirs, own), own


def _names(before: GraphIndex, now: GraphIndex, names: Mapping[str, str]) -> dict[str, str]:
    """The tensors, by their names now, that are there before; where a name is not, what is around it may tell."""
    lost = [name for name, old in names.items() if split_tensor(old)[0] not in before.ids]
    alike: dict[str, str] = {}
    if lost and before is not now:
        alike = {new: old for old, new in difference(before, now).renamed}
    found = {}
    for name, old in names.items():
        op, port = split_tensor(old)
        known = op if op in before.ids else alike.get(split_tensor(name)[0])
        if known is not None and (port or 0) < len(before.dtypes(before.ids[known])):
            found[name] = f"{known}:{port or 0}"
    return found


def probe(now: Tried, tensors: Sequence[str], feeds: Feeds, run: probing.Run | None) -> probing.Probe:
    """What some tensors are; without `run` they are run aside."""
    probing.check_fetchable(now.index, tensors)
    now.check_fed(tensors, feeds)
    return probing.probe(now.index, tensors, run or (lambda names: now.run(names, feeds, {})))

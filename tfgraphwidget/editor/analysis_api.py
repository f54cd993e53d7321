"""Comparing: what edits have made of a graph, in names and in numbers. GraphEditor is one of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tfgraphwidget import argument_checks
from tfgraphwidget.editor import evaluation, function_bodies, replay
from tfgraphwidget.editor.evaluation import Tried
from tfgraphwidget.editor.reducing import Reducing
from tfgraphwidget.editor.state import Changing
from tfgraphwidget.edits.patch import Patch
from tfgraphwidget.edits.serialization.json_format import written
from tfgraphwidget.edits.serialization.python_source import Script, script
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.diff import Difference, difference
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.runtime.measure import probe as probing
from tfgraphwidget.runtime.measure.comparison import Comparison
from tfgraphwidget.sources import open_source

if TYPE_CHECKING:
    from tfgraphwidget.edits.history import History
    from tfgraphwidget.sources import Source


class Comparing(Reducing):
    """Differences, runs side by side, values looked at, the whole as a script."""

    def __init__(self, source: Source, layout: Any = None) -> None:
        self._difference: Difference | None = None
        self._probed: tuple[tuple[str, ...], History, probing.Probe] | None = None
        super().__init__(source, layout)
        self._entrance = self.breadcrumb

    # The whole as a script

    def code(self) -> str:
        """A Python script that opens what was opened and does what was done so far; the graph it gives is equal.

        What only this process has comes with it: functions as their source, arrays up to 1 MB as their bytes. Of larger
        arrays, `script` gives those too. A live graph must be the default one where the script runs.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.bypass("net/hidden/Relu")
        >>> print(editor.code())
        import tensorflow as tf
        import tfgraphwidget as tgw
        <BLANKLINE>
        editor = tgw.edit(
            tf.compat.v1.get_default_graph(),  # the graph that was opened
            session=tf.compat.v1.get_default_session(),  # the session that runs it
        )
        <BLANKLINE>
        editor.bypass(what="net/hidden/Relu")
        <BLANKLINE>
        """
        return self.script().text

    def script(self, file: str = "values.npz") -> Script:
        """The same, with the arrays over 1 MB, which it reads from the NumPy archive `file`.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> import numpy as np
        >>> report = editor.set_constant("x:0", np.zeros([100_000, 4]))
        >>> {name: array.shape for name, array in editor.script("zeros.npz").arrays.items()}
        {'x:0': (100000, 4)}
        """
        return script(self._source.said, self._entrance, self.history.done, file)

    # The whole as data

    def edits(self) -> list[dict[str, Any]]:
        """What was done so far as data that JSON holds, one dict for each edit; `replay` does it again.

        `editor.save("edits.json")` writes them to a file. Raises GraphEditError, naming the edit, for one that holds
        what only this process has: a Python function, another graph. `code` writes those.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.rename("net/logits", "net/scores")
        >>> editor.edits()
        [{'verb': 'rename', 'given': {'old': 'net/logits', 'new': 'net/scores'}}]
        """
        return written(self.history.done)

    def replay(self, edits: Any) -> int:
        """Do edits that `edits()` gave, or those of a file, on the graph as it is now; how many they were.

        All are done or none. One stands where the last was done then. Raises GraphEditError, naming the number and the
        verb of the edit that cannot be read or done. No code is run; paths in it (a clone's checkpoint, a graph that is
        added) are read.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.rename("net/logits", "net/scores")
        >>> other = tgw.example()
        >>> other.replay(editor.edits()), other.lines
        (1, ('editor.rename(old="net/logits", new="net/scores")',))
        """
        return replay.replay(self, edits)

    # In names

    def diff(self, before: Any = None) -> Difference:
        """What has become of `before` in the graph one stands in: `after.diff(before)` leads from `before` to `after`.

        `before` is another editor, or what `tgw.edit` opens: a graph, a file; without it, the graph as it was opened.
        What is `added` is here and not there. Ops are matched by name, and where names differ by what is around them.
        Prints as a list, below a line that says from what to what; `.table()` is a DataFrame, `.added`, `.removed`,
        `.changed` and `.renamed` are names. `editor.difference = editor.diff()` colours it in the drawing.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.connect("net/hidden/Add:0", "net/logits", 0)
        >>> editor.diff()
        as it was opened → as it is now:
        1 op changed
            net/logits: input 0 net/hidden/Relu:0 → net/hidden/Add:0
        >>> editor.diff(before=tgw.example()).between
        ('Graph (given)', 'Graph (this editor)')
        """
        if before is not None:
            there = self._tried(before)
            here = " / ".join(self.breadcrumb)
            given = before.breadcrumb if isinstance(before, Changing) else (there.source.title,)
            between = f"{' / '.join(given)} (given)", f"{here} (this editor)"
            return replace(difference(there.index, self.index), between=between)
        names = {name: evaluation.was(name, (patch.renamed for patch in self._patches())) for name in self._renamed()}
        found = difference(self.room.site.first, self.index, {old: new for new, old in names.items()})
        return replace(found, between=("as it was opened", "as it is now"))

    @property
    def difference(self) -> Difference | None:
        """The difference that the drawing shows; None for none. Assign one to show it.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.bypass("net/hidden/Relu")
        >>> editor.difference = editor.diff()
        >>> [changed.name for changed in editor.difference.changed][0]
        'net/logits'
        """
        return self._difference

    @difference.setter
    def difference(self, shown: Difference | None) -> None:
        if shown is not None and not isinstance(shown, Difference):
            raise GraphEditError(f"{argument_checks.shown(shown)} is no difference; assign editor.diff(), or None.")
        self._difference = shown
        self.changed()

    # In numbers

    def compare(self, feeds: Mapping[Any, Any] | None = None, outputs: Any = None, other: Any = None) -> Comparison:
        """Run the graph as it was opened and as it is now on the same feeds; how far each output is apart.

        `feeds` maps tensors, or their names, to values. Both run aside, with the values that the variables have now (in
        the session, the checkpoint, or the function's own), so nothing that anybody holds changes. `outputs` are
        tensors; without them the chosen outputs, those of the signature or the function, or else all that is computed
        from the feeds and read by no op. `other` is what is compared with instead of the graph as it was opened:
        another editor, or what `tgw.edit` opens; it has the values of its own variables, if it has any.

        Raises GraphEditError for outputs that only one has, SessionRefused when one of them cannot run.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.bypass("net/hidden/Relu")
        >>> editor.compare({"x:0": [[1, 2, 3, 4]]}, "net/logits:0")
        output        dtype    shape   max abs  max rel
        net/logits:0  float32  (1, 3)  10.2     1.2
        """
        now, patches = self._now(), self._patches() if other is None else ()
        before = Tried(now.source, now.body, self.room.site.first) if other is None else self._tried(other)
        given = {self._fed(key): value for key, value in (feeds or {}).items()}
        was = {name: evaluation.was(name, (patch.fed for patch in patches)) for name in given}
        ends = now.ends(self._patches())
        if outputs is not None or self.outputs or not ends:
            chosen = self._read(self._fetched(self.outputs if outputs is None else outputs))
            names = chosen or evaluation.ends(now.index, given)
            ends = {name: evaluation.was(name, (patch.renamed for patch in patches)) for name in names}
        return evaluation.compare((before, now), {**was, **ends}, tuple(ends), given, must=outputs is not None)

    def probe(self, tensors: Any, feeds: Mapping[Any, Any] | None = None) -> probing.Probe:
        """Run the graph, and see what tensors are: dtype, shape, least, mean, most, NaNs, a histogram, the value.

        Ops stand for their tensors, a variable for its value. The session that runs the graph runs it, what is fetched
        and nothing more; a function's body runs aside, with copies of its variables. No op is added. The result is
        kept in `probed`, for the drawing, until `unprobe()` or an edit; it belongs to no history and is never saved.

        Raises GraphEditError for tensors inside a v1 while loop, SessionRefused when the graph cannot run.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> found = editor.probe(["net/hidden/Relu", "net/w"], {"x:0": [[1, 2, 3, 4]]})
        >>> found
        tensor             dtype    shape   min     mean    max
        net/hidden/Relu:0  float32  (1, 8)  0       0.8136  4.775    █ ▂  ▂             ▂
        net/w:0            float32  (8, 3)  -1.288  0.2789  1.96     █  ▂▂▄ ▂ ▂▅▂▄   ▅▂▂▄
        """
        given = {self._fed(key): value for key, value in (feeds or {}).items()}
        wanted = self._fetched(tensors)
        with self._live.attempt():
            run = None if self.in_function else probing.running(self._live.graph(), self._source.session, given)
            found = evaluation.probe(self._now(), wanted, given, run)
        self._probed = self.breadcrumb, self.history, found
        self.changed()
        return found

    @property
    def probed(self) -> dict[str, tuple[probing.Stats, ...]]:
        """What the last probe found, by op; nothing once the graph was edited, or where one did not probe.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> found = editor.probe("net/hidden/Relu", {"x:0": [[1, 2, 3, 4]]})
        >>> [stats.shape for stats in editor.probed["net/hidden/Relu"]]
        [(1, 8)]
        """
        if self._probed is None or self._probed[0] != self.breadcrumb or self._probed[1] is not self.history:
            return {}
        return self._probed[2].by_op

    def unprobe(self) -> None:
        """Forget what was probed.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> found = editor.probe("net/hidden/Relu", {"x:0": [[1, 2, 3, 4]]})
        >>> editor.unprobe()
        >>> editor.probed
        {}
        """
        self._probed = None
        self.changed()

    def _patches(self) -> tuple[Patch, ...]:
        """The edits of the graph one stands in, oldest first."""
        return tuple(step.patch for step in self.history.done if step.place is self.room.site)

    def _renamed(self) -> set[str]:
        """The ops that edits have given other names, by these."""
        return {new for patch in self._patches() for _, new in patch.renamed if new in self.index.ids}

    def _now(self) -> Tried:
        """The graph one stands in; a function's body with what edits have made of those that it calls."""
        index = self.index
        if self.in_function:
            index = function_bodies.taken_along(self._rooms, self.breadcrumb, index)
        return Tried(self._source, self.room.body, index)

    def _tried(self, other: Any) -> Tried:
        """The graph that was meant beside this one: where another editor stands, or would stand."""
        if isinstance(other, GraphIndex):
            return Tried(self._source, self.room.body, other)
        there = other if isinstance(other, Changing) else Changing(open_source(other))
        if not isinstance(other, Changing) and len(self.breadcrumb) == 1:
            there.leave(0)
        return Tried(there._source, there.room.body, there.index)

    def _fetched(self, given: Any) -> tuple[str, ...]:
        """The tensors that were meant; an op stands for all of its own, if it has any."""
        found: dict[str, None] = {}
        for name in self._names(given):
            ports = range(len(self.index.dtypes(self.index.op(name)))) if name in self.index.ids else ()
            found |= dict.fromkeys([f"{name}:{port}" for port in ports] if name in self.index.ids else [name])
        return tuple(found)

    def _read(self, tensors: tuple[str, ...]) -> tuple[str, ...]:
        """The tensors, with what reads a variable in the place of its handle; raises for what Python cannot hold."""
        found = tuple(probing.fetched(self.index, name) for name in tensors)
        for name, at in zip(tensors, found, strict=True):
            if not at:
                raise GraphEditError(
                    f"{name!r} refers to a resource and has no value in Python; name a tensor that is read from it.",
                    [split_tensor(name)[0]],
                )
        return found

    def _fed(self, given: Any) -> str:
        name = self._one(given)
        name = name if split_tensor(name)[1] is not None and name not in self.index.ids else f"{name}:0"
        if probing.fetched(self.index, name) != name:
            raise GraphEditError(
                f"{name!r} refers to a resource, which nobody can feed; feed the tensors that are read from it.",
                [split_tensor(name)[0]],
            )
        return name

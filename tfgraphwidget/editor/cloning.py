"""Cloning: the edits that bring ops into a graph, as calls and as commands. GraphEditor is one of these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from os import PathLike, fspath
from typing import Any

from tfgraphwidget.cancellation import held_back
from tfgraphwidget.editor import clone_values, function_bodies, traced_growth
from tfgraphwidget.editor.arguments import Asking, asks
from tfgraphwidget.editor.graph_view import Names
from tfgraphwidget.editor.state import Changing
from tfgraphwidget.editor.targets import LiveGraph
from tfgraphwidget.editor.traced_growth import Grow, Grown
from tfgraphwidget.edits.clone.command import Add, Clone
from tfgraphwidget.edits.command import settled
from tfgraphwidget.edits.patch import Patch, Preview
from tfgraphwidget.edits.rewrite.attributes import Trainable
from tfgraphwidget.errors import GraphEditError, NameTaken
from tfgraphwidget.graph.edges import no_collections
from tfgraphwidget.graph.selection import Selection
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.runtime.live.clone_result import Copy
from tfgraphwidget.runtime.sync.sync import Model
from tfgraphwidget.sources import open_source


class Cloning(Asking):
    """Brings ops into a graph: copies of its own, other sources, what a Python function makes."""

    @asks(Asking.command)
    def clone(self, command: Clone) -> Any:
        """Copy the ops between the boundaries into a name scope, with complete variables of their own.

        The first argument may be a Selection instead: then its ops are copied. Without any of these, the chosen
        boundary or the chosen ops are taken, and the line in the history names them; `outputs` alone are copied with
        all that they need, whatever is chosen. An input that the outputs do not use is left out; `report.dropped` of
        the copy says so. Without `into` a free name is taken. `variables`, `init`, `replace`, `placeholders`, `reseed`,
        `times`, `device`, `devices`, `src_scope`, `graph` (a tf.Graph or another editor) and `session` are those of
        `edits.clone.command.Clone`, with dicts for pairs.

        Gives a Copy, or with `times` or `devices` a list of them. Raises a GraphEditError and changes nothing when it
        cannot be right.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.clone("x:0", "net/logits:0", into="copy")
        <Copy 'copy': 22 ops, 3 variables of its own>
        >>> editor.clone("x:0", "net/logits:0", into="twin", variables={"net/hidden": "shared"})
        <Copy 'twin': 12 ops, 1 variables of its own>
        >>> [copy.scope for copy in editor.clone("x:0", "net/logits:0", into="member", times=2)]
        ['member_0', 'member_1']
        """
        return self.do(command)

    @asks(Asking.command)
    def preview(self, command: Clone) -> Preview:
        """What `clone` with the same arguments will do; raises what it would raise for the graph, changes nothing.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> preview = editor.preview("x:0", "net/logits:0", into="copy", variables={"net/hidden": "shared"})
        >>> preview, [state.name for state in preview.shared]
        (<Preview: 12 ops into 'copy', 1 new, 2 shared>, ['net/hidden/w', 'net/hidden/b'])
        """
        return self.told(command)

    def told(self, command: Clone) -> Preview:
        """What a command will do."""
        if self.in_function:
            return function_bodies.told(command, self._source, self.room)
        target = self._place(command)
        patch = command.trial(self.index, self.index if target is self._live else target.index)
        target.check_placed(patch, self._live)
        return _with_notices(patch, target)

    def _place(self, command: Clone) -> LiveGraph:
        """The graph that the copies go into."""
        other = command.graph
        if other is None:
            return self._live
        return other._live if isinstance(other, Changing) else LiveGraph(open_source(other, command.session))

    def do(self, command: Clone) -> Any:
        """Plan a command, carry it out, fill its variables, and remember it; its boundary is the chosen one then.

        In a function's body nothing can be changed: there the clone is a tf.Module,
        `runtime.functions.module_clone.ModuleCopy`.
        """
        command = settled(command, self.index)
        if self.in_function:
            scope: Any = command.into  # one that is no name is refused when it is planned
            if isinstance(scope, str) and scope in self.copies:
                raise NameTaken(f"The name {scope!r} is taken by another clone of this editor.", [scope])
            module = function_bodies.cloned(command, self._source, self.room)
            self._remember(replace(command, where=" / ".join(self.breadcrumb[1:])), Patch(), None, (module,))
            self.changed()
            return module
        self._check_editable()
        self._names((*command.inputs, *command.outputs))
        if self._source.graph is None:
            self.told(command)  # what is refused is refused before a file is imported
        place = self._place(command)
        with self._live.attempt(), place.attempt():
            made = self._carry(command, command, self._live, place)
        return made[0] if command.times is None and not command.devices else list(made)

    @no_collections()
    def _carry(self, command: Clone | Add, clone: Clone, source: LiveGraph, place: LiveGraph) -> tuple[Copy, ...]:
        """Carry a clone out, from one graph to another or the same, and remember the command that it came from."""
        origin, target = source.place(), place.place()
        patch = clone.plan(origin.index, target.index)
        patch = replace(patch, preview=_with_notices(patch, place))
        fill, before = clone_values.prepared(clone, patch, origin, target), (self._history, self.fresh)
        made: list[Copy] = []

        def remember() -> None:
            made.extend(_copies(clone, patch, origin, place))
            self._remember(command, patch, place, tuple(made))

        with held_back():
            try:
                place.carry_out(patch, remember, fill=fill, origin=origin.graph)
            except BaseException:
                self._history, self.fresh = before
                raise
            if clone.outputs and command is clone:
                self.room.choice = (clone.inputs, clone.outputs), None
            self.changed()
        return tuple(made)

    def add(
        self,
        source: Any,
        into: str,
        connect: Mapping[Any, Any] | None = None,
        *,
        clear_devices: bool = False,
        checkpoint: str | PathLike[str] | None = None,
        tags: Any = None,
        session: Any = None,
    ) -> Copy:
        """Bring another graph into this one, whole, under the scope `into`, with the values of its variables.

        `source` is what `tgw.edit` opens, with its own `checkpoint`, `tags` or `session`. `connect` maps tensors that
        come in, as "into/x:0" or "x:0", to the tensors of this graph that are read in their place. Of a checkpoint or a
        session the copies have the values at once; `added.saver()` restores them from the old checkpoint again.

        Gives a Copy: `added["x:0"]` by the names of the source; one stands in the graph itself then. Raises
        GraphEditError, and the graph is as it was, when it cannot be right.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> other = tgw.example()
        >>> added = editor.add(other.graph, into="second", connect={"x:0": "x:0"}, session=other.session)
        >>> added["net/logits:0"].name, added.variables[0].name
        ('second/net/logits:0', 'second/net/hidden/w:0')
        """
        with self._going_out():
            self._check_editable()
            opened = open_source(source, session, checkpoint=checkpoint, tags=tags)
            other = LiveGraph(opened)
            other.graph()
            connected = tuple((str(getattr(a, "name", a)), self._names(b)[0]) for a, b in (connect or {}).items())
            named = source if isinstance(source, str) else fspath(source) if isinstance(source, PathLike) else None
            where = None if checkpoint is None else fspath(checkpoint)
            command = Add(named or source, into, connected, clear_devices, where, tags, session)
            clone = command.clone(other.index, self._live.graph(), "current" if opened.has_values else "initial")
            return self._carry(command, clone, other, self._live)[0]

    @contextmanager
    def _going_out(self) -> Iterator[None]:
        """Stand in the graph itself; in the room that one was in, when it fails."""
        stood = self.breadcrumb
        self._rooms.leave(0)
        try:
            with self._live.attempt():
                yield
        except BaseException:
            self._rooms.go(stood)
            raise

    def grow(self, at: Names, function: Callable[..., Any], into: str) -> Grown:
        """Call `function` on tensors of the graph, and initialise the variables and tables that it makes, only these.

        What it makes lies in the scope `into`, in the live graph's own collections; undo hides it. Raises
        GraphEditError, and the graph shows nothing of it, when the function or an initialiser fails.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> import tensorflow as tf
        >>> head = editor.grow("net/hidden/Relu:0", lambda hidden: tf.reduce_mean(hidden, axis=1), into="head")
        >>> head, head.outputs.shape
        (<Grown 'head': 2 ops, 0 variables>, TensorShape([None]))
        """
        self._check_editable()
        with self._live.attempt():
            self._live.graph()
            tensors = tuple(name if ":" in name else f"{name}:0" for name in self._names(at))
            command = Grow(tensors, function, into)
            patch, outputs = traced_growth.grow(self._live, command)
            ops = tuple(node.name for node in patch.add.nodes)
            grown = Grown(into, outputs, self._live.variables(patch), ops)
            self._remember(command, patch, self._live, (grown,))
        self.changed()
        return grown

    def trainable(self, *which: Any) -> Selection:
        """The trainable variables; given names, scopes, variables or selections, these are made the only ones first.

        An optimiser takes them when nobody names any. Their collection holds them in graph order then.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.trainable("net/w").ops
        ('net/w',)
        """
        if not which:
            return super().trainable()
        self._check_editable()
        with self._live.attempt():
            self._live.graph()
            self._make_trainable(which)
        return super().trainable()

    def _make_trainable(self, which: tuple[Any, ...]) -> None:
        handles: dict[str, None] = {}
        for item in which:
            is_scope = isinstance(item, str) and item.rstrip("/") in self.index.scopes.ids
            if is_scope:
                chosen = self.scope(item)
            else:
                chosen = (
                    item if isinstance(item, Selection) else self.ops(*(split_tensor(n)[0] for n in self._names(item)))
                )
            if not chosen.variables:
                raise GraphEditError(f"{item!r} holds no variable, so there is nothing to train; name its variables.")
            handles |= dict.fromkeys(v.handle for v in chosen.variables)
        command = Trainable(tuple(sorted(handles, key=self.index.op)))
        patch = command.plan(self.index)
        with held_back():
            self._live.carry_out(patch)
            self._remember(command, patch, self._live, ())
            self.changed()


def _with_notices(patch: Patch, place: LiveGraph) -> Preview:
    """What is told of a patch, and of devices that are not there."""
    report = patch.preview
    assert report is not None  # every clone tells
    return replace(report, dropped=(*report.dropped, *place.placing_notices(patch)))


def _copies(command: Clone, patch: Patch, origin: clone_values.Place, place: LiveGraph) -> Iterable[Copy]:
    """What the person gets for each copy; all copies have equally many ops and variables."""
    report, variables, count = patch.preview, place.variables(patch), len(command.scopes)
    assert report is not None  # every clone tells

    models = Model(origin.graph, origin.session), Model(place.graph(), place.source.session)

    def share(items: tuple[Any, ...], k: int) -> tuple[Any, ...]:
        return items[k * len(items) // count : (k + 1) * len(items) // count]

    for k, scope in enumerate(command.scopes):
        yield Copy(
            scope=scope,
            ops=tuple(node.name for node in share(patch.add.nodes, k)),
            variables=share(variables, k),
            outside=report.inputs + report.control_inputs,
            shared=tuple(state.name for state in report.shared),
            report=report,
            graph=place.graph(),
            _names=dict((*share(patch.add.copies, k), *command.replace)),
            _keys=partial(clone_values.keys, patch, origin),
            _pairs=partial(lambda k: share(clone_values.pairs(patch, origin), k), k),
            _models=models,
        )


__test__ = {"Cloning.clone": Cloning.clone, "Cloning.preview": Cloning.preview}  # doctest passes over what `asks` wraps

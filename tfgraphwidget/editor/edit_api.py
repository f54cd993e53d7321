"""Rewiring: the edits that change which op reads which tensor. GraphEditor is one of these."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from typing import Any

from tfgraphwidget.editor.executor import Editing, Renew
from tfgraphwidget.editor.graph_view import each, is_single
from tfgraphwidget.edits.command import Edits
from tfgraphwidget.edits.rewire.adapters import Mend
from tfgraphwidget.edits.rewire.bypass import Bypass, Detach
from tfgraphwidget.edits.rewire.operands import is_scope, outputs_of
from tfgraphwidget.edits.rewire.reroute import AddControlInputs, Connect, RemoveControlInputs, Reroute, Side, Swap
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.selection import Selection
from tfgraphwidget.naming import identifier, listed, split_tensor


class Rewiring(Editing):
    """Reroutes, swaps, connects, bypasses and detaches.

    All give an `Edits`, which says what was changed, and raise a GraphEditError that names both ends and what does not
    fit (dtypes, static shapes, a cycle, a loop); nothing has changed then. `error.mends` are commands that would do:
    `editor.edit(error.mends[0])`. `renew` is that of `edit`, `mend` an op to put between where the ends do not fit:
    "Cast", "Reshape" or "Transpose". `names` are those of ops that are added.
    """

    def reroute(
        self,
        old: Any,
        to: Any,
        *,
        only: Any = (),
        never: Any = (),
        mend: Mend = "",
        names: Iterable[str] = (),
        renew: Renew = "always",
    ) -> Edits:
        """Let whoever reads `old` read `to` instead: `editor.reroute("dropout/mul:0", to="dense/BiasAdd:0")`.

        Both are tensors, or lists of as many, taken pair by pair and all at once. An op stands for its tensors, "^op"
        for its control edges: whoever waits for the one op waits for the other then. `only` and `never` are the ops
        that may and may not be changed: ops, name scopes, selections.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.reroute("net/hidden/Relu:0", to="net/hidden/Add:0", only="net/logits").changed
        ('net/logits',)
        """
        command = Reroute(
            self._ends(old), self._ends(to), self._consumers(only), self._consumers(never), mend, tuple(names)
        )
        return self._rewire(command, renew)

    def swap(
        self,
        a: Any,
        b: Any,
        what: Side = "outputs",
        *,
        only: Any = (),
        never: Any = (),
        mend: Mend = "",
        names: Iterable[str] = (),
        renew: Renew = "always",
    ) -> Edits:
        """Let two tensors exchange their readers, or two ops, name scopes or selections their ends.

        Of these, `what` says which: "outputs" (those that read them from outside), "inputs" (what they read), or
        "both". They go pairwise, in their order.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> copy = editor.clone("x:0", "net/logits:0", into="copy")
        >>> report = editor.swap("net/logits:0", copy["net/logits:0"])
        >>> "copy/net/logits" in editor.path("x", "loss")
        True
        """
        ends = self._part(a), self._part(b)
        return self._rewire(Swap(*ends, what, self._consumers(only), self._consumers(never), mend, tuple(names)), renew)

    def connect(
        self,
        source: Any,
        target: Any,
        k: int | None = None,
        *,
        mend: Mend = "",
        names: Iterable[str] = (),
        renew: Renew = "always",
    ) -> Edits:
        """Let an op read a tensor at its input `k`, or a selection what another one gives.

        `source` is a tensor, several, or an op, a name scope or a selection for all that it gives. Without `k`, they
        go to the inputs of `target` one by one, where they are equally many, or a tensor to the only one that fits.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.connect("net/hidden/Add:0", "net/logits", 0)
        <Edits: 1 op changed>
        """
        given = self._part(source) if isinstance(source, Selection) else self._ends(source)
        return self._rewire(Connect(given, self._part(target), k, mend, tuple(names)), renew)

    def bypass(
        self,
        what: Any,
        by: Any = (),
        *,
        mend: Mend = "",
        names: Iterable[str] = (),
        renew: Renew = "always",
    ) -> Edits:
        """Let who reads what an op, a name scope or a selection gives read what comes into it: past a dropout, say.

        Where several tensors come in, the only one of the same dtype and static shape is taken. `by` says which else,
        or maps tensors that go out to tensors to read instead, for these alone. The ops stay, and nobody reads them.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.bypass("net/hidden/Relu")
        >>> editor.path("net/hidden/Add", "net/logits").ops
        ('net/hidden/Add', 'net/logits')
        """
        ways = (
            tuple((self._one(out), self._one(way)) for out, way in by.items())
            if isinstance(by, Mapping)
            else ()
            if by is None or (isinstance(by, tuple | list) and not by)
            else self._one(by)
        )
        return self._rewire(Bypass(self._part(what, ops=True), ways, mend, tuple(names)), renew)

    def detach(
        self,
        what: Any,
        *,
        inputs: bool = True,
        outputs: bool = True,
        control: bool = False,
        names: Iterable[str] = (),
        renew: Renew = "always",
    ) -> Edits:
        """Cut an op, a name scope or a selection off: it reads new placeholders, and so do those that read it.

        `inputs` and `outputs` say which of the two, `control` whether control edges across are removed too.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.detach("net/hidden/Relu").added
        ('net/hidden/Add_placeholder', 'net/hidden/Relu_placeholder')
        """
        return self._rewire(Detach(self._part(what, ops=True), inputs, outputs, control, tuple(names)), renew)

    def add_control_inputs(self, op: Any, ops: Any, *, renew: Renew = "always") -> Edits:
        """Let `op` wait for `ops` too: they run before it, whenever it runs.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.add_control_inputs("loss", ["net/hidden/Relu"])
        >>> editor.ops("loss").control_inputs
        ('^net/hidden/Relu',)
        """
        return self.edit(AddControlInputs(self._op(op), self._each(ops)), renew=renew)

    def remove_control_inputs(self, op: Any, ops: Any, *, renew: Renew = "always") -> Edits:
        """Let `op` no longer wait for `ops`.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.remove_control_inputs("train", "train/update_net/w/ResourceApplyGradientDescent")
        >>> len(editor.ops("train").control_inputs)
        2
        """
        return self.edit(RemoveControlInputs(self._op(op), self._each(ops)), renew=renew)

    def _rewire(self, command: Any, renew: Renew) -> Edits:
        with contextlib.suppress(GraphEditError):  # `edit` says more
            command = command.settled(self.index)
        return self.edit(command, renew=renew)

    # What was given, as commands hold it

    def _ends(self, given: Any) -> str | tuple[str, ...]:
        """Names of tensors, ops, scopes and control edges: one, or several."""
        if isinstance(given, Selection):
            return tuple(map(self._end, given.on(self.index).outputs))
        return self._end(given) if is_single(given) else tuple(map(self._end, each(given)))

    def _end(self, given: Any) -> str:
        if isinstance(given, str) and given[:1] == "^" and given not in self.index.ids:
            return f"^{self._op(given[1:])}"
        return given if isinstance(given, str) and is_scope(self.index, given) else self._one(given)

    def _op(self, given: Any) -> str:
        """The name of an op; a tensor stands for it."""
        return self.index.names[self.index.op(self._one(given))]

    def _each(self, given: Any) -> tuple[str, ...]:
        """Names of ops."""
        index = self.index
        return tuple(dict.fromkeys(index.names[index.op(name)] for name in self._names(given)))

    def _part(self, given: Any, *, ops: bool = False) -> Any:
        """A tensor, an op or a name scope by name, or a selection; with `ops` a tensor stands for its op."""
        if isinstance(given, Selection):
            return given.on(self.index)
        if not is_single(given):
            return self.ops(*(self._each(given) if ops else self._names(given)))
        name = self._end(given)
        return self._op(name) if ops and split_tensor(name)[1] is not None else name

    def _consumers(self, given: Any) -> Any:
        """Ops and name scopes by name, or a selection; several selections are taken as their ops."""
        if isinstance(given, Selection):
            return given.on(self.index)
        index = self.index
        found: list[str] = []
        for item in each(given):
            if isinstance(item, str) and is_scope(index, item):
                found.append(item)
            else:
                found += self._each(item)
        return tuple(dict.fromkeys(found))

    def _tensor(self, given: Any) -> str:
        """The name of a tensor; an op stands for its only one."""
        return self._given_by(self._one(given))

    def _given_by(self, given: Any) -> str:
        """The tensor that is meant: itself, or the only one that an op, a name scope or a selection gives."""
        part = self._part(given)
        if isinstance(part, str) and part not in self.index.ids and split_tensor(part)[1] is not None:
            return part
        outputs = outputs_of(self.index, part)
        if len(outputs) > 1 and part not in self.index.ids:  # less what nobody reads of an op that gives more
            selection = part if isinstance(part, Selection) else self.scope(part)
            outputs = tuple(name for name in outputs if name in selection.ends[1]) or outputs
        if len(outputs) != 1:
            raise GraphEditError(
                f"{str(part)!r} gives {len(outputs)} tensors{f' ({listed(outputs)})' if outputs else ''}, and one is "
                "wanted; name it.",
                [part] if isinstance(part, str) and part in self.index.ids else [],
            )
        return outputs[0]

    def _scope_for(self, function: Any) -> str:
        """A free name scope for what a function makes, named after it."""
        name = function if isinstance(function, str) else getattr(function, "__name__", "")
        wanted = identifier(name).strip("_") if name.isascii() and name != "<lambda>" else ""
        return self.free_scope(wanted or "inserted")

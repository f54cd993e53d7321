"""Reworking: the edits that put ops in, take them out, or make them others. GraphEditor is one of these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from tfgraphwidget.editor.edit_api import Rewiring
from tfgraphwidget.editor.executor import Renew
from tfgraphwidget.edits.command import Command, Edits
from tfgraphwidget.edits.freeze.commands import Freeze, StripTraining
from tfgraphwidget.edits.patch import Patch
from tfgraphwidget.edits.rewire.bypass import Bypass
from tfgraphwidget.edits.rewire.operands import is_scope
from tfgraphwidget.edits.rewrite.attributes import Place, SetAttr, SetConstant
from tfgraphwidget.edits.rewrite.consumers import tensor
from tfgraphwidget.edits.rewrite.graft import Made
from tfgraphwidget.edits.rewrite.input_spec import ReplaceInput
from tfgraphwidget.edits.rewrite.insert import Insert
from tfgraphwidget.edits.rewrite.remove import Remove
from tfgraphwidget.edits.rewrite.rename import Rename, RenameKey
from tfgraphwidget.edits.rewrite.replace_subgraph import Replace
from tfgraphwidget.edits.signature_tracking import check_called
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.selection import Selection
from tfgraphwidget.graph.tensors import Shape
from tfgraphwidget.naming import free_name, listed
from tfgraphwidget.runtime.live import traced_ops
from tfgraphwidget.runtime.sandbox.shape_inference import shaped
from tfgraphwidget.runtime.session.run import Answered

if TYPE_CHECKING:
    from tfgraphwidget.editor.graph_view import Site

_SAME = "same"


class Reworking(Rewiring):
    """Inserts, replaces, removes, renames, places and sets.

    All give an `Edits`, which says what was done, and raise a GraphEditError that names the op and the way out; nothing
    has changed then. `renew` is that of `edit`.
    """

    def insert(
        self,
        /,
        at: Any,
        function: Any,
        into: str | None = None,
        *,
        only: Any = (),
        never: Any = (),
        spec: Any = None,
        options: Mapping[str, Any] | None = None,
        renew: Renew = "always",
        **more: Any,
    ) -> Edits:
        """Put a function between a tensor and its readers: `editor.insert("conv1/Relu:0", tf.math.l2_normalize)`.

        `function` is a Python function of a tensor, or an op type ("Identity", "Cast", "Reshape", "CheckNumerics",
        "Print", …) with `options`, which may be given as keywords: `editor.insert("x:0", "Cast", dtype=tf.float16)`. It
        is called once, on a placeholder in a graph of its own; what it makes comes into the scope `into`, its variables
        initialised. One that gives no tensor (tf.print) runs before the tensor is handed on. `at` is a tensor, or an
        op, a name scope or a selection that gives one. `only` and `never` name readers: ops, scopes, selections.

        At a placeholder, `spec` (a tf.TensorSpec) puts the function before the input: that is what is fed from now on.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> import tensorflow as tf
        >>> editor.insert("net/hidden/Relu:0", tf.math.l2_normalize, into="unit")
        <Edits: 7 ops added, 3 ops changed>
        >>> editor.path("net/hidden/Relu", "net/logits").ops
        ('net/hidden/Relu', 'net/logits', 'unit/l2_normalize')
        """
        command = Insert(
            at=self._given_by(at),
            function=function,
            into=self._scope_for(function) if into is None else into,
            only=self._consumers(only),
            never=self._consumers(never),
            spec=None if spec is None else traced_ops.spec(spec),
            options=tuple((key, traced_ops.plain(value)) for key, value in {**(options or {}), **more}.items()),
        )
        return self.edit(command, renew=renew)

    def replace(
        self,
        what: Any,
        by: Any,
        into: str | None = None,
        *,
        ends: Mapping[Any, Any] | None = None,
        remove: bool = False,
        renew: Renew = "always",
    ) -> Edits:
        """Let those who read what an op, a name scope or a selection gives read what `by` gives instead.

        `by` is a Python function, which is called on the tensors that come in (`Selection.inputs`, in their order) and
        gives one for each that comes out; or another selection or scope, whose ends take the place of the old ones in
        their order, or as `ends` says: {old tensor: new tensor}. With `remove` the old ops go, and what only they
        needed.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> import tensorflow as tf
        >>> editor.replace("net/hidden/Relu", tf.nn.elu, into="body", remove=True)
        <Edits: 1 op added, 1 op removed, 3 ops changed>
        >>> editor.of_type("Elu").ops
        ('body/Elu',)
        """
        is_function = callable(by) and not isinstance(by, Selection)
        if not is_function:
            part = self._part(by, ops=True)
            if isinstance(part, str) and is_scope(self.index, part):
                part = self.scope(part.rstrip("/"))  # in the line of code, a list names ops alone
            by = part if isinstance(part, Selection) else (part,)
        scope = self._scope_for(by) if is_function else ""
        pairs = tuple((self._tensor(old), self._tensor(new)) for old, new in (ends or {}).items())
        command = Replace(self._part(what, ops=True), by, scope if into is None else into, pairs, remove)
        return self.edit(command, renew=renew)

    def remove(self, what: Any, *, prune: bool = True, readers: bool = False, renew: Renew = "always") -> Edits:
        """Take ops, name scopes or a selection out of the graph, and what only they needed.

        `prune=False` leaves that; `readers=True` takes whatever depends on them along, else they must be read by
        nobody who stays. See `edits.rewrite.remove.Remove` for what is never pruned.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.remove("loss", readers=True).removed
        ('loss',)
        """
        return self.edit(Remove(self._part(what, ops=True), prune, readers), renew=renew)

    def rename(self, old: Any, new: str, *, renew: Renew = "always") -> Edits:
        """Give an op, a name scope ("a/"), or an end of a signature ("serving_default:output_0") another name.

        A variable takes the ops along that are named after it, and keeps its value.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.rename("net/hidden/", "body")
        >>> editor.path("x", "net/logits").ops
        ('x', 'net/logits', 'body/MatMul', 'body/Add', 'body/Relu')
        """
        command = self._renaming(old, new)
        return self.edit(command, renew=renew)

    def place(self, what: Any, device: str | None, *, renew: Renew = "always") -> Edits:
        """Put ops, name scopes or a selection on a device, "/device:GPU:0"; "" or None for wherever TensorFlow likes.

        What must stand on the same device (colocation) moves along.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.place(editor.scope("net/hidden"), "/device:CPU:0")
        >>> len(editor.find("device:CPU"))
        17
        """
        return self.edit(Place(self._part(what, ops=True), device or ""), renew=renew)

    def set_attr(self, op: Any, name: str, value: Any, *, renew: Renew = "always") -> Edits:
        """Give an attribute of an op another value: `editor.set_attr("conv1", "padding", "SAME")`.

        A dtype may be a tf.DType or its name, a shape a tf.TensorShape or a list.

        >>> import tfgraphwidget as tgw
        >>> import tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     y = tf.nn.conv2d(tf.ones([1, 8, 8, 3]), tf.ones([3, 3, 3, 4]), 1, "SAME", name="conv")
        >>> tgw.edit(graph).set_attr("conv", "padding", "VALID").shapes[0].after
        (1, 6, 6, 4)
        """
        return self.edit(SetAttr(self._op(op), name, traced_ops.plain(value)), renew=renew)

    def set_constant(self, tensor: Any, value: Any, *, renew: Renew = "always") -> Edits:
        """Give a constant another value, or a placeholder one for ever: `editor.set_constant("is_training:0", False)`.

        What read the placeholder reads a new constant, and the placeholder stays, so that feeding it does no harm.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.set_constant("labels:0", [2])
        >>> editor.session.run("loss:0", {"x:0": [[1, 2, 3, 4]]}).shape
        ()
        """
        return self.edit(SetConstant(self._tensor(tensor), traced_ops.plain(value)), renew=renew)

    def replace_input(
        self,
        tensor: Any,
        spec: Any = None,
        *,
        shape: Any = _SAME,
        dtype: Any = "",
        fix: bool = False,
        mend: Literal["", "Cast"] = "",
        renew: Renew = "always",
    ) -> Edits:
        """Let a placeholder take another shape or dtype: `editor.replace_input("x:0", tf.TensorSpec([None, 320, 3]))`.

        `spec` is a tf.TensorSpec, a shape or a dtype; or give `shape` and `dtype`. Its name stays, so that it is fed as
        before; only another dtype in a live graph takes a new placeholder. `constants` of what is given back are those
        that still hold an old size, as the target of a Reshape may; with `fix` they are rewritten. `mend="Cast"` casts
        another dtype back for the readers.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.replace_input("x:0", [16, 4])
        >>> editor.producing(dtype="float*", shape=[16, 3]).ops[0]
        'net/logits'
        """
        told = traced_ops.shape_and_dtype(spec, shape, dtype)
        return self.edit(ReplaceInput(self._tensor(tensor), *told, fix, mend), renew=renew)

    # Commands made whole: what only TensorFlow knows, or the graph's surroundings

    def edit(self, command: Command, *, renew: Renew = "always") -> Edits:
        """Plan a command, carry it out, and remember it; what it did. See `Editing.edit`."""
        with self._live.attempt():
            return super().edit(self._whole(command), renew=renew)

    def _whole(self, command: Any) -> Any:
        """The command with all that its plan needs and its line of code does not say."""
        index = self.index
        if isinstance(command, Insert):
            op, port = tensor(index, command.at)
            shape, dtype = (index.shape(op, port), index.dtypes(op)[port]) if command.spec is None else command.spec
            return replace(command, made=self._called(command.function, [(dtype, shape)], command.options))
        if isinstance(command, Replace):
            if callable(command.by) and not isinstance(command.by, Selection):
                ends = (tensor(index, name) for name in command.part(index).inputs)
                specs = [(index.dtypes(op)[port], index.shape(op, port)) for op, port in ends]
                command = replace(command, made=self._called(command.by, specs))
            return replace(command, results=self._called_for())
        if isinstance(command, Remove | Bypass):
            return replace(command, ends=self._called_for())
        if isinstance(command, Freeze | StripTraining) and self.in_function:
            return replace(command, arguments=self._function_ends()[0])
        if isinstance(command, SetConstant):
            op, port = tensor(index, command.tensor)
            return replace(
                command, proto=traced_ops.constant(command.value, index.dtypes(op)[port], index.shape(op, port))
            )
        if isinstance(command, ReplaceInput):
            return replace(command, infer=shaped)
        return command

    def _called(self, function: Any, specs: list[tuple[str, Shape]], options: Iterable[tuple[str, Any]] = ()) -> Made:
        """What a function makes; for variables there must be a graph that can hold their values."""
        found = traced_ops.traced(function, specs, dict(options))
        if found.has_state:
            if self.in_function:
                first = [*(v.handle for v in found.index.variable_defs), *found.index.names][0]
                raise GraphEditError(
                    f"The function makes the variable {first!r}, and a function's body can have none of its own; let "
                    "it compute with constants, or edit the graph that calls the function."
                )
            self._live.graph()
        return found

    def _carry_out(
        self,
        command: Command,
        patch: Patch,
        site: Site,
        then: Callable[[], None],
        renew: bool,
    ) -> tuple[str, ...]:
        """Carry a patch out; variables and tables that a function made get their first values."""
        if self.in_function:
            check_called(site.index, self._function_ends(), patch)
        found, session = getattr(command, "made", None), self._source.session
        if not isinstance(found, Made) or site is not self._live or self._source.graph is None:
            return super()._carry_out(command, patch, site, then, renew)

        if session is not None and found.has_state:
            traced_ops.rehearse(session, found)

        def fill() -> None:
            traced_ops.keep_alive(self._source.graph, found)
            if session is not None and found.has_state:
                traced_ops.initialise(Answered(session), patch.add.variables, traced_ops.tables_of(patch.add.members))

        return self._live.carry_out(patch, then, fill=fill, renew=renew)

    # What was given, as commands hold it

    def _renaming(self, old: Any, new: str) -> Rename | RenameKey:
        """An op or a scope of that name goes before an end of a signature."""
        name = old if isinstance(old, str) else self._op(old)
        known = name in self.index.ids or name.rstrip("/") in self.index.scopes.ids
        signature, _, key = name.partition(":")
        found = next((s for s in self.signatures if s.name == signature and not known), None)
        if found is None or not key:
            return Rename(name, new)
        sides = [[held for held, _ in side] for side in (found.inputs, found.outputs)]
        if not any(key in side for side in sides):
            keys = listed([*sides[0], *sides[1]])
            raise GraphEditError(f"Signature {signature!r} has no input or output {key!r}; it has {keys}.")
        taken = next(side for side in sides if key in side)
        if not new or new in taken:
            free = free_name(new or key, {held.lower() for held in taken})
            raise GraphEditError(f"Signature {signature!r} has {new!r} already; {free!r} is free.")
        return RenameKey(signature, key, new)

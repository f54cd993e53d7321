"""Edits: the methods of GraphEditor that change the graph, and those that undo and redo it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Literal

from tfgraphwidget import edits
from tfgraphwidget.argument_checks import ArgumentChecks, in_words
from tfgraphwidget.editor.arguments import CLONE_OPTIONS
from tfgraphwidget.editor.graph_view import Names
from tfgraphwidget.editor.state import EditorCore
from tfgraphwidget.editor.transaction import one_thread
from tfgraphwidget.errors import GraphEditError, InvalidArgument
from tfgraphwidget.graph import Selection, selectors
from tfgraphwidget.runtime import live
from tfgraphwidget.sentences import argument_value, in_cell
from tfgraphwidget.tf_types import (
    DTypeLike,
    GraphLike,
    OpLike,
    OpsLike,
    SessionLike,
    TensorKey,
    TensorLike,
    TensorsLike,
    TensorSpec,
)

if TYPE_CHECKING:
    from tfgraphwidget.editor.edited_graph import Copies
    from tfgraphwidget.editor.traced_growth import GrowthResult

_SAME = "same"


class EditAPI(ArgumentChecks, inside=one_thread):
    """Changes the current graph: each call is one edit, which can be undone.

    Most methods return an `Edits`, which lists what was changed. All raise a GraphEditError if the edit cannot be
    right, and then nothing has changed; `error.mends` are suggested fixes: `editor.edit(error.mends[0])`. `renew` says
    whether a session that runs the graph is renewed to see the edit: "always", or "never".
    """

    _core: EditorCore

    # Cloning

    @in_words(**CLONE_OPTIONS)
    def clone(
        self,
        inputs: Names | None = None,
        outputs: Names | None = None,
        into: object = None,
        *,
        variables: object = "own",
        init: str | PathLike[str] | Mapping[TensorKey, object] = "current",
        replace: Mapping[TensorKey, object] | None = None,
        placeholders: bool = False,
        reseed: bool = False,
        times: int | None = None,
        device: str | Mapping[str, str] | None = None,
        devices: str | Iterable[str] = (),
        src_scope: str = "",
        graph: GraphLike | None = None,
        session: SessionLike | None = None,
    ) -> Any:
        """Copy the ops between two boundaries into a name scope, with separate variables.

        Without `inputs` and `outputs`, the marked boundary or the selected ops are copied. With `outputs` alone,
        everything that they depend on is copied. An input that the outputs do not use is left out;
        `report.dropped` of the copy says so. In a function's body the clone is a tf.Module, or with `graph` ops and
        variables of that graph. The boundary is marked then, and stays so after undo; `mark()` unmarks it.

        Args:
            inputs: Tensors or ops that enter the part; or a Selection, whose ops are copied.
            outputs: Tensors or ops that leave the part.
            into: The name scope of the copy; None for a free one.
            variables: "own": the copy has its own variables, tables and other state; "shared": it uses those of the
                original; or a dict {variable, scope or selection: "own" or "shared"}.
            init: What the copy's own variables contain: "current" values of the originals, "initial" ones that
                their initializers compute, "none", the path of a checkpoint, or a dict {variable: array, or one of
                these}.
            replace: {tensor: tensor}: where the copied ops read the first, the copies read the second.
            placeholders: Make the inputs of the copy placeholders.
            reseed: Draw new seeds for random ops, so that initial values and noise differ from the original's.
            times: The number of copies; their scopes are `into_0`, `into_1`, and so on.
            device: The device of all copied ops, or a dict {device, op or scope: device}; None keeps their devices.
            devices: One device for each copy; there are as many copies.
            src_scope: A name scope around the part that the names of the copies leave out.
            graph: The graph that the copies go into: a `tf.Graph` or another editor; None for this one. A function's
                editor calls the part there, as `grow` does; `replace` then gives a tensor of it for each input.
            session: The session of `graph`, to initialize the copies in, if that is a `tf.Graph`.

        Returns:
            A `Copy`; with `times` or `devices` a list of them.

        Raises:
            GraphEditError: The clone cannot be right; NameTaken, NotClonable, SessionRefused and others say why.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.clone("x:0", "net/logits:0", into="copy")
            <Copy 'copy': 22 ops, 3 variables of its own>
            >>> editor.clone("x:0", "net/logits:0", into="twin", variables={"net/hidden": "shared"})
            <Copy 'twin': 12 ops, 1 variable of its own>
            >>> [copy.scope for copy in editor.clone("x:0", "net/logits:0", into="member", times=2)]
            ['member_0', 'member_1']
        """
        options = {"variables": variables, "init": init, "replace": replace, "placeholders": placeholders}
        options |= {"reseed": reseed, "times": times, "device": device, "devices": devices, "src_scope": src_scope}
        command = self._core.arguments.clone(inputs, outputs, into, {**options, "graph": graph, "session": session})
        return self._core.executor.clone(command)

    @in_words(**CLONE_OPTIONS)
    def preview(
        self,
        inputs: Names | None = None,
        outputs: Names | None = None,
        into: object = None,
        *,
        variables: object = "own",
        init: str | PathLike[str] | Mapping[TensorKey, object] = "current",
        replace: Mapping[TensorKey, object] | None = None,
        placeholders: bool = False,
        reseed: bool = False,
        times: int | None = None,
        device: str | Mapping[str, str] | None = None,
        devices: str | Iterable[str] = (),
        src_scope: str = "",
        graph: GraphLike | None = None,
        session: SessionLike | None = None,
    ) -> edits.Preview:
        """Show what `clone` with the same arguments would do; nothing changes.

        Args:
            inputs: Tensors or ops that enter the part; or a Selection, whose ops are copied.
            outputs: Tensors or ops that leave the part.
            into: The name scope of the copy; None for a free one.
            variables: "own", "shared", or a dict {variable, scope or selection: "own" or "shared"}.
            init: "current", "initial", "none", the path of a checkpoint, or a dict {variable: array, or one of these}.
            replace: {tensor: tensor}: where the copied ops read the first, the copies read the second.
            placeholders: Make the inputs of the copy placeholders.
            reseed: Draw new seeds for random ops.
            times: The number of copies.
            device: The device of all copied ops, or a dict {device, op or scope: device}; None keeps their devices.
            devices: One device for each copy.
            src_scope: A name scope around the part that the names of the copies leave out.
            graph: The graph that the copies go into: a `tf.Graph` or another editor; None for this one.
            session: The session of `graph`.

        Returns:
            A `Preview`: the ops, new and shared state, inputs from outside.

        Raises:
            GraphEditError: What `clone` would raise for the graph.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> preview = editor.preview("x:0", "net/logits:0", into="copy", variables={"net/hidden": "shared"})
            >>> preview, [state.name for state in preview.shared]
            (<Preview: 12 ops into 'copy', 1 new, 2 shared>, ['net/hidden/w', 'net/hidden/b'])
        """
        options = {"variables": variables, "init": init, "replace": replace, "placeholders": placeholders}
        options |= {"reseed": reseed, "times": times, "device": device, "devices": devices, "src_scope": src_scope}
        command = self._core.arguments.clone(inputs, outputs, into, {**options, "graph": graph, "session": session})
        preview = self._core.executor.preview(command)
        assert isinstance(preview, edits.Preview)  # of a clone
        return preview

    @in_words(**CLONE_OPTIONS)
    def command(
        self,
        inputs: Names | None = None,
        outputs: Names | None = None,
        into: object = None,
        *,
        variables: object = "own",
        init: str | PathLike[str] | Mapping[TensorKey, object] = "current",
        replace: Mapping[TensorKey, object] | None = None,
        placeholders: bool = False,
        reseed: bool = False,
        times: int | None = None,
        device: str | Mapping[str, str] | None = None,
        devices: str | Iterable[str] = (),
        src_scope: str = "",
        graph: GraphLike | None = None,
        session: SessionLike | None = None,
    ) -> edits.Clone:
        """Make the command of a call of `clone`, a value that `edit` applies.

        A call without `inputs` and `outputs` takes the marked boundary or the selected ops, and the command contains
        their names. A call with either does not depend on what is selected.

        Args:
            inputs: Tensors or ops that enter the part; or a Selection, whose ops are copied.
            outputs: Tensors or ops that leave the part.
            into: The name scope of the copy; None for a free one.
            variables: "own", "shared", or a dict {variable, scope or selection: "own" or "shared"}.
            init: "current", "initial", "none", the path of a checkpoint, or a dict {variable: array, or one of these}.
            replace: {tensor: tensor}: where the copied ops read the first, the copies read the second.
            placeholders: Make the inputs of the copy placeholders.
            reseed: Draw new seeds for random ops.
            times: The number of copies.
            device: The device of all copied ops, or a dict {device, op or scope: device}; None keeps their devices.
            devices: One device for each copy.
            src_scope: A name scope around the part that the names of the copies leave out.
            graph: The graph that the copies go into: a `tf.Graph` or another editor; None for this one.
            session: The session of `graph`.

        Returns:
            The command.

        Raises:
            NothingTo: Nothing is given, marked or selected.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> command = editor.command("x:0", "net/logits:0", init="initial")
            >>> command.into, command.init
            ('copy', 'initial')
        """
        options = {"variables": variables, "init": init, "replace": replace, "placeholders": placeholders}
        options |= {"reseed": reseed, "times": times, "device": device, "devices": devices, "src_scope": src_scope}
        return self._core.arguments.clone(inputs, outputs, into, {**options, "graph": graph, "session": session})

    def add(
        self,
        source: object,
        into: str | None = None,
        connect: Mapping[TensorKey, TensorsLike] | None = None,
        *,
        clear_devices: bool = False,
        checkpoint: str | PathLike[str] | None = None,
        tags: Any = None,
        session: SessionLike | None = None,
    ) -> live.Copy | Any:
        """Copy another graph into this one, whole, with the values of its variables.

        The graph itself is the current one then, not a function's body. A function's or a Keras model's variables are
        variables of this graph, with their present values, which `sync()` of the result copies again.

        In a function that was opened itself (a `tf.function`, a Keras model), what is not connected becomes further
        arguments and results: `editor.module()` and `editor.function()` take the first as keyword arguments. The new
        variables are those of the module, trainable beside the old ones.

        Args:
            source: What `tgw.edit` opens: a graph, a file, a `tf.function`, a Keras model; or another editor.
            into: The name scope of its ops; None for a free one.
            connect: {tensor of the source: tensor of this graph, which its consumers read instead}; the first may be
                named "x:0" or "into/x:0", or as the argument of the signature or of the function.
            clear_devices: Remove the devices of its ops.
            checkpoint: The checkpoint of the source, as for `tgw.edit`.
            tags: The tags of a SavedModel, as for `tgw.edit`.
            session: The session of the source, as for `tgw.edit`.

        Returns:
            A `Copy`: `added["x:0"]` by the names of the source, its arguments and results included. `added.saver()`
            restores its old checkpoints. In a function an `AdditionResult`, with the
            names of ops and tensors there.

        Raises:
            GraphEditError: The edit cannot be right; nothing has changed.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> other = tgw.example()
            >>> added = editor.add(other.graph, into="second", connect={"x:0": "x:0"}, session=other.session)
            >>> added["net/logits:0"].name, added.variables[0].name
            ('second/net/logits:0', 'second/net/hidden/w:0')
        """
        names = self._core.navigator.outermost.names
        connected = tuple((str(getattr(a, "name", a)), names(b)[0]) for a, b in (connect or {}).items())
        path = source if isinstance(source, str) else fspath(source) if isinstance(source, PathLike) else None
        saved = None if checkpoint is None else fspath(checkpoint)
        scope = self._core.executor.free_scope("added") if into is None else into
        command = edits.Add(path or source, scope, connected, clear_devices, saved, tags, session)
        added: Any = self._core.executor.run(command)[0][0]
        return added

    def grow(self, at: Names, function: Callable[..., object], into: str | None = None) -> GrowthResult:
        """Call a Python function on tensors of the graph, and initialize the variables and tables that it makes.

        In a function that was opened itself (a `tf.function`, a Keras model), what the function makes becomes a
        further result: `editor.module()` returns it too, and its variables are trainable beside the old ones.

        Args:
            at: The tensors, in the order of the function's parameters.
            function: A function of `tf.Tensor`s; in a function's body also a `keras.layers.Layer` or model.
            into: The name scope of the ops that it makes; None for one named after the function, in the scope of the
                op of the first tensor. They are in the live graph's own collections.

        Returns:
            A `GrowthResult`: what the function returned, the new variables, the names of the new ops.

        Raises:
            GraphEditError: The function or an initializer fails; the graph shows nothing of it.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> import tensorflow as tf
            >>> head = editor.grow("net/hidden/Relu:0", lambda hidden: tf.reduce_mean(hidden, axis=1), into="head")
            >>> head, head.outputs.shape
            (<GrowthResult 'head': 2 ops, 0 variables>, TensorShape([None]))
        """
        tensors = tuple(name if ":" in name else f"{name}:0" for name in self._core.arguments.names(at))
        if into is None:
            # A result of a function has the scope's name as its key.
            beside = () if self._core.executor.boundary is not None else tensors[:1]
            into = self._core.arguments.free_name_for(function, beside)
        grown: Any = self._core.executor.run(edits.Grow(tensors, function, into))[0][0]
        return grown  # type: ignore[no-any-return]

    def set_trainable(self, *which: OpsLike) -> Selection:
        """Make variables the only trainable ones; optimizers use these by default.

        In a function's body it is so for the variables that the body reads. `editor.module()`, `function()` and
        `save` have variables that are trainable as asked; those of the original stay what they are.

        Of a name scope or a selection it takes the variables that were made to be trained: no moving averages, step
        counters or slots of an optimizer, unless there is nothing else in it. A variable that is named is taken.

        Args:
            which: Variables, their names, name scopes or selections.

        Returns:
            The trainable variables. Their collection has them in graph order.

        Raises:
            GraphEditError: One of them contains no variable.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.set_trainable("net/w").ops
            ('net/w',)
        """
        self.edit(edits.Trainable(self._core.arguments.variable_handles(which)))
        return self._trainable()

    def trainable(self, *which: OpsLike) -> Selection:
        """Select the trainable variables, see `trainable_variables`; with arguments set them, see `set_trainable`.

        Args:
            which: Variables, their names, name scopes or selections; none to select only.

        Returns:
            The trainable variables.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.trainable("net/w").ops, editor.trainable().ops
            (('net/w',), ('net/w',))
        """
        return self.set_trainable(*which) if which else self._trainable()

    def _trainable(self) -> Selection:
        return selectors.trainable(self._core.index)

    # Connecting ops

    def reroute(
        self,
        old: TensorsLike,
        to: TensorsLike,
        *,
        only: OpsLike = (),
        never: OpsLike = (),
        mend: edits.rewire.AdapterType = "",
        names: Iterable[str] = (),
        renew: edits.Renew = "always",
    ) -> edits.Edits:
        """Connect the consumers of one tensor to another: `editor.reroute("dropout/mul:0", to="dense/BiasAdd:0")`.

        Args:
            old: A tensor, or a list, which is taken pairwise and all at once. An op stands for its outputs, "^op" for
                its control edges.
            to: The tensor, or list of as many, that the consumers read instead.
            only: The ops, name scopes or selection that may be changed; () for all.
            never: The ops, name scopes or selection that may not be changed.
            mend: An op to insert where dtypes or shapes differ: "Cast", "Reshape" or "Transpose".
            names: The names of the ops that are inserted.
            renew: Whether the session is renewed to see the edit; see `edit`.

        Returns:
            What was changed.

        Raises:
            GraphEditError: Dtypes, static shapes, a cycle or a loop do not allow it.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.reroute("net/hidden/Relu:0", to="net/hidden/Add:0", only="net/logits").changed
            ('net/logits',)
        """
        arguments = self._core.arguments
        consumers = arguments.consumers(only), arguments.consumers(never)
        command = edits.Reroute(arguments.endpoints(old), arguments.endpoints(to), *consumers, mend, tuple(names))
        return self._rewire(command, renew)

    def swap(
        self,
        a: OpsLike,
        b: OpsLike,
        what: edits.rewire.Side = "outputs",
        *,
        only: OpsLike = (),
        never: OpsLike = (),
        mend: edits.rewire.AdapterType = "",
        names: Iterable[str] = (),
        renew: edits.Renew = "always",
    ) -> edits.Edits:
        """Exchange the consumers of two tensors, or the connections of two ops, name scopes or selections.

        Args:
            a: A tensor, op, name scope or selection.
            b: Another one.
            what: Of ops, scopes and selections: "outputs" (their consumers), "inputs" (what they read), or "both".
                They are exchanged pairwise, in their order.
            only: The ops, name scopes or selection that may be changed; () for all.
            never: The ops, name scopes or selection that may not be changed.
            mend: An op to insert where dtypes or shapes differ: "Cast", "Reshape" or "Transpose".
            names: The names of the ops that are inserted.
            renew: Whether the session is renewed to see the edit; see `edit`.

        Returns:
            What was changed.

        Raises:
            GraphEditError: Dtypes, static shapes, a cycle or a loop do not allow it.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> copy = editor.clone("x:0", "net/logits:0", into="copy")
            >>> report = editor.swap("net/logits:0", copy["net/logits:0"])
            >>> "copy/net/logits" in editor.path("x", "loss")
            True
        """
        arguments = self._core.arguments
        consumers = arguments.consumers(only), arguments.consumers(never)
        return self._rewire(
            edits.Swap(arguments.part(a), arguments.part(b), what, *consumers, mend, tuple(names)), renew
        )

    def connect(
        self,
        source: TensorsLike,
        target: OpsLike,
        k: int | None = None,
        *,
        mend: edits.rewire.AdapterType = "",
        names: Iterable[str] = (),
        renew: edits.Renew = "always",
    ) -> edits.Edits:
        """Connect a tensor to an input of an op, or the outputs of one selection to the inputs of another.

        Args:
            source: A tensor, several, or an op, name scope or selection for all of its outputs.
            target: The op, name scope or selection that reads them.
            k: The number of the input. Without it, the tensors go to the inputs one by one if they are equally many,
                or one tensor to the only input that fits. Where an op of a file reads fewer tensors than its type
                takes, this may be the next one; where it reads more, `connect([], op, k)` takes one away.
            mend: An op to insert where dtypes or shapes differ: "Cast", "Reshape" or "Transpose".
            names: The names of the ops that are inserted.
            renew: Whether the session is renewed to see the edit; see `edit`.

        Returns:
            What was changed.

        Raises:
            GraphEditError: Dtypes, static shapes, a cycle or a loop do not allow it.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.connect("net/hidden/Add:0", "net/logits", 0).changed
            ('net/logits',)
        """
        arguments = self._core.arguments
        tensors = arguments.part(source) if isinstance(source, Selection) else arguments.endpoints(source)
        return self._rewire(edits.Connect(tensors, arguments.part(target), k, mend, tuple(names)), renew)

    def bypass(
        self,
        what: OpsLike,
        by: object = (),
        *,
        mend: edits.rewire.AdapterType = "",
        names: Iterable[str] = (),
        gradients: bool = False,
        renew: edits.Renew = "always",
    ) -> edits.Edits:
        """Connect the consumers of an op, scope or selection to its input, for example to skip dropout.

        The ops stay in the graph, without consumers.

        Args:
            what: The op, name scope or selection.
            by: The input to connect to, if several have the dtype and static shape of the output; or a dict
                {output: tensor to read instead}, for these outputs alone.
            mend: An op to insert where dtypes or shapes differ: "Cast", "Reshape" or "Transpose".
            names: The names of the ops that are inserted.
            gradients: Bypass the gradient ops of the part, too, so that the graph goes on training: what read the
                gradient of its input reads that of its output. Nothing else happens where it has no gradients.
            renew: Whether the session is renewed to see the edit; see `edit`.

        Returns:
            What was changed.

        Raises:
            GraphEditError: No input fits, or several do; or it cannot be told which gradient is which.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.bypass("net/hidden/Relu")
            >>> editor.path("net/hidden/Add", "net/logits").ops
            ('net/hidden/Add', 'net/logits')
        """
        arguments = self._core.arguments
        tensors, part = arguments.bypass_inputs(by), arguments.part(what, ops=True)
        has_gradients = gradients and edits.rewire.has_gradient_ops(
            self._core.index, part, self._core.executor.new_names()
        )
        return self._rewire(edits.Bypass(part, tensors, mend, tuple(names), has_gradients), renew)

    def detach(
        self,
        what: OpsLike,
        *,
        inputs: bool = True,
        outputs: bool = True,
        control: bool = False,
        names: Iterable[str] = (),
        renew: edits.Renew = "always",
    ) -> edits.Edits:
        """Disconnect an op, a name scope or a selection: it reads new placeholders, and so do its consumers.

        Args:
            what: The op, name scope or selection.
            inputs: Disconnect its inputs.
            outputs: Disconnect its consumers.
            control: Remove control edges across the boundary too.
            names: The names of the placeholders.
            renew: Whether the session is renewed to see the edit; see `edit`.

        Returns:
            What was changed.

        Raises:
            GraphEditError: The part cannot be disconnected.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.detach("net/hidden/Relu").added
            ('net/hidden/Add_placeholder', 'net/hidden/Relu_placeholder')
        """
        part = self._core.arguments.part(what, ops=True)
        return self._rewire(edits.Detach(part, inputs, outputs, control, tuple(names)), renew)

    def add_control_inputs(self, op: OpLike, ops: OpsLike, *, renew: edits.Renew = "always") -> edits.Edits:
        """Add control inputs to an op, which then runs after them.

        Args:
            op: The op.
            ops: The ops that must run before it.
            renew: Whether the session is renewed to see the edit; see `edit`.

        Returns:
            What was changed.

        Raises:
            GraphEditError: The edge would close a cycle, or cross the border of a loop.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.add_control_inputs("loss", ["net/hidden/Relu"])
            >>> editor.ops("loss").control_inputs
            ('^net/hidden/Relu',)
        """
        arguments = self._core.arguments
        return self.edit(edits.AddControlInputs(arguments.op(op), arguments.ops(ops)), renew=renew)

    def remove_control_inputs(self, op: OpLike, ops: OpsLike, *, renew: edits.Renew = "always") -> edits.Edits:
        """Remove control inputs of an op.

        Args:
            op: The op.
            ops: The ops that it need no longer run after.
            renew: Whether the session is renewed to see the edit; see `edit`.

        Returns:
            What was changed.

        Raises:
            GraphEditError: One of them is not a control input.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.remove_control_inputs("train", "train/update_net/w/ResourceApplyGradientDescent")
            >>> len(editor.ops("train").control_inputs)
            2
        """
        arguments = self._core.arguments
        return self.edit(edits.RemoveControlInputs(arguments.op(op), arguments.ops(ops)), renew=renew)

    # Inserting, replacing, removing

    def insert(
        self,
        /,
        at: TensorsLike,
        function: object,
        into: str | None = None,
        *,
        only: OpsLike = (),
        never: OpsLike = (),
        name: str | None = None,
        spec: TensorSpec | None = None,
        attributes: Mapping[str, object] | None = None,
        options: Mapping[str, object] | None = None,
        renew: edits.Renew = "always",
        **more: object,
    ) -> edits.Edits:
        """Insert a function between a tensor and its consumers: `editor.insert("conv1/Relu:0", tf.math.l2_normalize)`.

        In a graph that trains, the gradients go through the function where that can be; else the result says which
        gradients stay as they were.

        Args:
            at: The tensor, or an op, name scope or selection with one output.
            function: A Python function of a tensor, called on a placeholder in a separate graph, and once more for its
                gradient where the graph trains; or an op type of TensorFlow ("Identity", "Cast", "LeakyRelu"). A
                function without an output tensor (tf.print) runs before the tensor is read.
            into: The name scope of the new ops, in place of `name`.
            name: The name of the new op ("net/act"), or of the name scope of several; None for that of the function,
                in the scope of the op that they follow.
            only: The consumers that are changed: ops, name scopes, a selection; () for all.
            never: The consumers that are not changed.
            spec: At a placeholder: a tf.TensorSpec of what is fed from then on; the function goes before the input.
            attributes: Attributes of the op type, or keyword arguments of the function, by name.
            options: The same as `attributes`.
            renew: Whether the session is renewed to see the edit; see `edit`.
            more: The same as `attributes`: `editor.insert("x:0", "Cast", dtype=tf.float16)`.

        Returns:
            What was changed.

        Raises:
            GraphEditError: The function fails, or its output does not fit the consumers.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> import tensorflow as tf
            >>> editor.insert("net/hidden/Relu:0", tf.math.l2_normalize, into="unit").notes
            ('The gradients go through it, too.',)
            >>> editor.path("net/hidden/Relu", "net/logits").ops
            ('net/hidden/Relu', 'net/logits', 'unit/l2_normalize')
        """
        arguments = self._core.arguments
        tensor = arguments.output(at)
        command = edits.Insert(
            at=tensor,
            function=function,
            into=into or "",
            only=arguments.consumers(only),
            never=arguments.consumers(never),
            spec=None if spec is None else live.traced_ops.tensor_spec(spec),
            options=_pairs({**(options or {}), **(attributes or {}), **more}),
            name=arguments.free_name_for(function, [tensor]) if name is None and into is None else _one_of(name, into),
        )
        return self.edit(command, renew=renew)

    def replace(
        self,
        what: OpsLike,
        by: object,
        into: str | None = None,
        *,
        name: str | None = None,
        ends: Mapping[TensorKey, TensorLike] | None = None,
        remove: bool = False,
        attributes: Mapping[str, object] | None = None,
        renew: edits.Renew = "always",
        **more: object,
    ) -> edits.Edits:
        """Connect the consumers of an op, a name scope or a selection to other ops.

        Args:
            what: The op, name scope or selection to replace.
            by: A Python function of the input tensors of `what` (`Selection.inputs`, in their order) that returns a
                tensor for each output; an op type ("Elu") of those inputs; or another selection, op or name scope,
                whose outputs take the place of the old ones in their order. A name of the graph goes before a type.
            into: The name scope of the function's ops, in place of `name`.
            name: The name of the new op ("net/act"), or of the name scope of several; None for that of the function,
                beside the old ops.
            ends: {old tensor: new tensor} in place of the order.
            remove: Remove the old ops, and what only they needed.
            attributes: Attributes of the op type, or keyword arguments of the function, by name.
            renew: Whether the session is renewed to see the edit; see `edit`.
            more: The same as `attributes`: `editor.replace("relu", "LeakyRelu", alpha=0.1)`.

        Returns:
            What was changed.

        Raises:
            InvalidArgument: The op type has no attribute of a name, or a value does not fit.
            GraphEditError: The function fails, or the new outputs do not fit the consumers.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> import tensorflow as tf
            >>> report = editor.replace("net/hidden/Relu", tf.nn.elu, into="body", remove=True)
            >>> report.added, report.removed
            (('body/Elu',), ('net/hidden/Relu',))
            >>> editor.of_type("Elu").ops
            ('body/Elu',)
        """
        arguments = self._core.arguments
        is_function = arguments.is_function(by)
        if not is_function:
            by = arguments.replacement(by)
        pairs = tuple((arguments.tensor(old), arguments.tensor(new)) for old, new in (ends or {}).items())
        part = arguments.part(what, ops=True)
        if not is_function:
            name = None  # other ops of the graph have names
        elif name is None and into is None:
            name = arguments.free_name_for(by, arguments.ops_of(part), instead=remove)
        options = _pairs({**(attributes or {}), **more})
        command = edits.Replace(part, by, into or "", pairs, remove, options, _one_of(name, into))
        return self.edit(command, renew=renew)

    def remove(
        self, what: OpsLike, *, prune: bool = True, readers: bool = False, renew: edits.Renew = "always"
    ) -> edits.Edits:
        """Remove ops, name scopes or a selection, and what only they needed.

        Args:
            what: The ops, name scope or selection.
            prune: Remove what only they needed too; see `edits.rewrite.remove.Remove` for what is never pruned.
            readers: Remove all ops that depend on them too; else they must have no consumers that stay.
            renew: Whether the session is renewed to see the edit; see `edit`.

        Returns:
            What was removed.

        Raises:
            GraphEditError: An op that stays reads one of them.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.remove("loss", readers=True).removed
            ('loss',)
        """
        return self.edit(edits.Remove(self._core.arguments.part(what, ops=True), prune, readers), renew=renew)

    # Changing ops

    def rename(self, old: OpLike, new: str, *, renew: edits.Renew = "always") -> edits.Edits:
        """Rename an op, a name scope ("a/"), or an input or output of a signature ("serving_default:output_0").

        The ops of a variable that are named after it are renamed too. It keeps its value.

        Args:
            old: The op, or the present name.
            new: The new name; "" to leave a name scope out of the names of its ops: `editor.rename("clone_0/", "")`.
            renew: Whether the session is renewed to see the edit; see `edit`.

        Returns:
            What was changed.

        Raises:
            GraphEditError: The name is taken, or cannot be a name.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.rename("net/hidden/", "body")
            >>> editor.path("x", "net/logits").ops
            ('x', 'net/logits', 'body/MatMul', 'body/Add', 'body/Relu')
        """
        return self.edit(self._core.arguments.renaming(old, new), renew=renew)

    def place(self, what: OpsLike, device: str | None, *, renew: edits.Renew = "always") -> edits.Edits:
        """Set the device of ops, and of ops that are colocated with them.

        Args:
            what: Ops, a name scope or a selection.
            device: "/device:GPU:0"; "" or None for TensorFlow's choice.
            renew: Whether the session is renewed to see the edit; see `edit`.

        Returns:
            What was changed.

        Raises:
            GraphEditError: The device is not a device's name, or the session could not place an op there.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.place(editor.scope("net/hidden"), "/device:CPU:0")
            >>> len(editor.find("device:CPU"))
            17
        """
        return self.edit(edits.Place(self._core.arguments.part(what, ops=True), device or ""), renew=renew)

    def set_attr(self, op: OpLike, name: str, value: object, *, renew: edits.Renew = "always") -> edits.Edits:
        """Set an attribute of an op: `editor.set_attr("conv1", "padding", "SAME")`.

        Args:
            op: The op.
            name: The attribute.
            value: The new value. A dtype may be a tf.DType or its name, a shape a tf.TensorShape or a list.
            renew: Whether the session is renewed to see the edit; see `edit`.

        Returns:
            What was changed.

        Raises:
            GraphEditError: The op has no such attribute, or it cannot have that value.

        Example:
            >>> import tfgraphwidget as tgw
            >>> import tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     y = tf.nn.conv2d(tf.ones([1, 8, 8, 3]), tf.ones([3, 3, 3, 4]), 1, "SAME", name="conv")
            >>> tgw.edit(graph).set_attr("conv", "padding", "VALID").shapes[0].after
            (1, 6, 6, 4)
        """
        return self.edit(
            edits.SetAttr(self._core.arguments.op(op), name, live.traced_ops.plain_value(value)), renew=renew
        )

    def set_constant(self, tensor: TensorLike, value: object, *, renew: edits.Renew = "always") -> edits.Edits:
        """Set the value of a constant, or fix that of a placeholder: `editor.set_constant("is_training:0", False)`.

        The consumers of the placeholder read a new constant. The placeholder goes, unless a signature or the callers of
        a function name it.

        Args:
            tensor: The tensor, or the op.
            value: The value, an array or what numpy makes one of.
            renew: Whether the session is renewed to see the edit; see `edit`.

        Returns:
            What was changed.

        Raises:
            GraphEditError: The value does not have the dtype or static shape of the tensor.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.set_constant("labels:0", [2])
            >>> editor.session.run("loss:0", {"x:0": [[1, 2, 3, 4]]}).shape
            ()
        """
        return self.edit(
            edits.SetConstant(self._core.arguments.tensor(tensor), live.traced_ops.plain_value(value)),
            renew=renew,
        )

    def replace_input(
        self,
        tensor: TensorLike,
        spec: object = None,
        *,
        shape: object = _SAME,
        dtype: DTypeLike | None = "",
        fix: bool = False,
        mend: Literal["", "Cast"] = "",
        renew: edits.Renew = "always",
    ) -> edits.Edits:
        """Change the shape or dtype of a placeholder: `editor.replace_input("x:0", tf.TensorSpec([None, 320, 3]))`.

        The placeholder keeps its name, except that another dtype in a live graph needs a new placeholder.

        Args:
            tensor: The placeholder.
            spec: A tf.TensorSpec, a shape or a dtype; or use `shape` and `dtype`.
            shape: The new shape.
            dtype: The new dtype.
            fix: Rewrite constants that contain the old size, as the shape of a Reshape may. Without it, `constants` of
                the result lists them.
            mend: "Cast" casts another dtype back for the consumers.
            renew: Whether the session is renewed to see the edit; see `edit`.

        Returns:
            What was changed, with the new shapes.

        Raises:
            GraphEditError: A consumer cannot take the new shape or dtype.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.replace_input("x:0", [16, 4])
            >>> editor.producing(dtype="float*", shape=[16, 3]).ops[0]
            'net/logits'
        """
        new_shape, new_dtype = live.traced_ops.shape_and_dtype(spec, shape, dtype)
        command = edits.ReplaceInput(self._core.arguments.tensor(tensor), new_shape, new_dtype, fix, mend)
        return self.edit(command, renew=renew)

    # Signatures

    def add_signature(self, name: str, inputs: object = None, outputs: object = None) -> edits.Edits:
        """Give the graph a signature, by which a saved model can be called; `editor.signatures` lists them.

        In the body of a function that the graph calls, the part between the tensors is copied to the graph, where it
        shares the variables of the function.

        Args:
            name: Its name; "serving_default" is the one that is called by default.
            inputs: Tensors, or {key: tensor}; a key is by default the last part of the op's name. None for the
                placeholders, or arguments of the function, that the outputs need.
            outputs: Tensors, or {key: tensor}. Without inputs and outputs it has those that are marked.

        Returns:
            What was changed.

        Raises:
            GraphEditError: The name is taken, there are no outputs, or a tensor cannot be fed or fetched.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.add_signature("features", outputs={"hidden": "net/hidden/Relu:0"})
            >>> editor.signatures
            (Signature(name='features', inputs=(('x', 'x:0'),), outputs=(('hidden', 'net/hidden/Relu:0'),)),)
        """
        return self.edit(self._core.arguments.signature(name, inputs, outputs))

    def rename_signature(self, name: str, new: str) -> edits.Edits:
        """Rename a signature; one of its keys is renamed by `editor.rename("signature:key", new)`.

        Args:
            name: The signature.
            new: Its new name.

        Returns:
            What was changed.

        Raises:
            GraphEditError: There is no such signature, or the new name is taken.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.add_signature("net", outputs={"logits": "net/logits:0"})
            >>> report = editor.rename_signature("net", "serving_default")
            >>> [signature.name for signature in editor.signatures]
            ['serving_default']
        """
        return self.edit(edits.RenameSignature(name, new))

    def order_signature(self, name: str, inputs: Iterable[str] = (), outputs: Iterable[str] = ()) -> edits.Edits:
        """Set the order of the inputs and outputs of a signature, in which `module()` and `function()` have them.

        Files keep no order: TensorFlow reads the keys of a signature sorted.

        Args:
            name: The signature.
            inputs: All keys of its inputs in their new order; () for the present one.
            outputs: The same for its outputs.

        Returns:
            What was changed.

        Raises:
            GraphEditError: There is no such signature, or the keys are not all of its keys.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.add_signature("loss", outputs=["loss"])
            >>> report = editor.order_signature("loss", inputs=["labels", "x"])
            >>> editor.signatures[0].inputs
            (('labels', 'labels:0'), ('x', 'x:0'))
        """
        return self.edit(edits.OrderSignature(name, tuple(inputs), tuple(outputs)))

    def remove_signature(self, name: str) -> edits.Edits:
        """Remove a signature. Its ops stay; `freeze`, `strip_training` and `remove` take what nothing needs any more.

        Args:
            name: The signature.

        Returns:
            What was changed.

        Raises:
            GraphEditError: There is no such signature.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.add_signature("net", outputs={"logits": "net/logits:0"})
            >>> report = editor.remove_signature("net")
            >>> editor.signatures
            ()
        """
        return self.edit(edits.RemoveSignature(name))

    # Reducing the graph

    def freeze(
        self,
        outputs: Names | None = None,
        inputs: Names = (),
        *,
        updates: edits.Updates = "refuse",
        inline: bool = False,
        lower_control_flow: bool = False,
        renew: edits.Renew = "always",
    ) -> edits.Edits:
        """Replace the variables that `outputs` need by constants with their values, and remove the rest of the graph.

        Loops and conditionals stay what they are, and so do calls without `inline`. On a live graph the removed ops are
        hidden, and undo shows them.

        Args:
            outputs: Ops or tensors; None for the marked ones (if `inputs` are not given), those of the signature, or
                those without consumers.
            inputs: Tensors that are fed from then on; they become placeholders. One that the outputs do not use is
                left out.
            updates: What becomes of a variable that the outputs write: a counter, the moving averages of a batch
                normalization in training mode, the state of a random generator. "refuse" refuses one that a function
                writes and reads, and leaves out other updates with a notice. "keep" leaves it a variable. "drop" makes
                it a constant that nothing updates.
            inline: Whether calls are exchanged for the ops of the functions, so that there is one graph.
            lower_control_flow: Whether that is done with loops and conditionals of TensorFlow 2 too, which become those
                of TensorFlow 1: Switch, Merge, Enter, Exit.
            renew: Whether the session is renewed to see the edit; see `edit`.

        Returns:
            What was changed.

        Raises:
            GraphEditError: A function writes a variable that it reads.
            SessionRefused: A variable has no value.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.freeze("net/logits:0")
            >>> len(report.removed), editor.of_type("Const").ops
            (69, ('net/hidden/w_1', 'net/hidden/b_1', 'net/w_1'))
        """
        arguments = self._core.arguments
        fed = arguments.names(inputs)
        outputs = arguments.outputs(outputs, use_selection=not fed)
        return self.edit(edits.Freeze(outputs, fed, updates, inline, lower_control_flow), renew=renew)

    def strip_training(self, outputs: Names | None = None, *, renew: edits.Renew = "always") -> edits.Edits:
        """Remove everything that `outputs` do not need: gradients, optimizers with their slots, savers, summaries.

        Variables that are needed stay, with their initializers.

        Args:
            outputs: Ops or tensors; None for the marked ones, those of the signature, or those without consumers.
            renew: Whether the session is renewed to see the edit; see `edit`.

        Returns:
            What was removed.

        Raises:
            UnknownName: An output is not in the graph.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.strip_training("net/logits:0")
            <Edits: 51 ops removed>
        """
        return self.edit(edits.StripTraining(self._core.arguments.outputs(outputs)), renew=renew)

    def fold_batch_norm(self, what: OpsLike | None = (), *, renew: edits.Renew = "always") -> edits.Edits:
        """Fold batch normalizations into the weights of the convolutions before them.

        Args:
            what: The normalization ops; () for all. Their parameters must be constants (see `freeze`), and they must
                be in inference mode.
            renew: Whether the session is renewed to see the edit; see `edit`.

        Returns:
            What was changed.

        Raises:
            GraphEditError: A named op cannot be folded.

        Example:
            >>> import tfgraphwidget as tgw
            >>> import tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     y = tf.nn.conv2d(tf.ones([1, 8, 8, 3]), tf.ones([3, 3, 3, 4]), 1, "SAME", name="conv")
            ...     four = [tf.ones([4])] * 4
            ...     _ = tf.compat.v1.nn.fused_batch_norm(y, *four, is_training=False, name="norm")
            >>> editor = tgw.edit(graph)
            >>> report = editor.fold_batch_norm()
            >>> report.changed, "norm" in report.removed
            (('conv',), True)
        """
        return self.edit(edits.FoldBatchNorm(self._core.arguments.ops(() if what is None else what)), renew=renew)

    # Commands

    def edit(self, command: edits.Command, *, renew: edits.Renew = "always") -> edits.Edits:
        """Apply a command, and record it in the history.

        A session caches the graph that it has run, so it is renewed in place if ops change that it may have run: the
        session object sees the edit, and keeps the values of its variables.

        Args:
            command: The command: one of `error.mends`, or of `command(...)`.
            renew: "never" leaves the session alone.

        Returns:
            What was changed.

        Raises:
            GraphEditError: The edit cannot be right; nothing has changed.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> import tensorflow as tf
            >>> wide = editor.grow("net/hidden/Relu:0", lambda x: tf.cast(x, tf.float64), into="wide")
            >>> try:
            ...     editor.connect("wide/Cast:0", "net/logits", 0)
            ... except tgw.GraphEditError as error:
            ...     report = editor.edit(error.mends[0])
            >>> editor.lines[-1]
            'editor.connect(source="wide/Cast:0", target="net/logits", k=0, mend="Cast")'
        """
        return self._core.executor.edit(command, renew=renew)

    def _rewire(self, command: edits.Command, renew: edits.Renew) -> edits.Edits:
        with contextlib.suppress(GraphEditError):  # `edit` raises it again, with suggested fixes
            command = command.with_final_names(self._core.executor.plan_context())
        return self.edit(command, renew=renew)

    def reserve(self, names: Iterable[str]) -> None:
        """Reserve names, in any case, so that ops of later edits do not take them.

        The names of ops that were undone in a live graph are reserved like that, because TensorFlow cannot remove the
        ops. Where names in `code()` depend on it, it has this line, so that it makes a graph with the same names.

        Args:
            names: Names of ops.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.reserve(["net/hidden/relu_placeholder"])
            >>> editor.detach("net/hidden/Relu", inputs=False).added
            ('net/hidden/Relu_placeholder_1',)
        """
        self._core.target.reserve(str(name).lower() for name in ([names] if isinstance(names, str) else names))

    def free_scope(self, wanted: str = "copy") -> str:
        """Find a name scope that is not taken.

        Args:
            wanted: The name to begin with.

        Returns:
            `wanted`, or with a number appended.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.free_scope("net"), editor.free_scope("twin")
            ('net_1', 'twin')
        """
        return self._core.executor.free_scope(wanted)

    # The history

    def undo(self) -> str:
        """Undo the last edit. On a live graph its ops are hidden, because TensorFlow cannot remove them.

        The graph or function that the edit was made in is the current one then; `leave` returns to the graph around it.
        An edit that was made before TensorFlow imported a file, and that TensorFlow cannot take back, makes a file of
        the graph again: its session is closed, the next one begins with its values, and `lost` says so.

        Returns:
            The line of code of the edit.

        Raises:
            NothingTo: There is no edit to undo, or other code has changed the imported graph since.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.rename("loss", "mean_loss")
            >>> editor.undo()
            'editor.rename(old="loss", new="mean_loss")'
            >>> editor.diff()
            No difference.
        """
        return self._core.executor.undo()

    def redo(self) -> str:
        """Redo the edit that was undone last; the same ops and variables come back, with their values.

        Returns:
            The line of code of the edit.

        Raises:
            NothingTo: There is no edit to redo.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.rename("loss", "mean_loss")
            >>> editor.undo() == editor.redo()
            True
            >>> editor.ops("mean_loss").ops
            ('mean_loss',)
        """
        return self._core.executor.redo()

    def jump(self, to: object) -> str:
        """Undo or redo several edits; if one of them fails or is interrupted, none are.

        Args:
            to: The number of edits of the history that are done afterwards.

        Returns:
            The line of code of the last edit that was undone or redone, or "".

        Raises:
            NothingTo: There are not so many edits.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.rename("loss", "mean_loss"), editor.bypass("net/hidden/Relu")
            >>> editor.jump(1)
            'editor.bypass(what="net/hidden/Relu")'
        """
        return self._core.executor.jump(to)

    @property
    def history(self) -> edits.History:
        """The edits that are done and undone.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.rename("loss", "mean_loss")
        >>> editor.history
          0  as it was opened
        ▸ 1  editor.rename(old="loss", new="mean_loss")
        """
        return self._core.executor.history

    @property
    def lost(self) -> tuple[str, ...]:
        """The state that the session lost in the last edit, undo or redo: one sentence each.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.bypass("net/hidden/Relu")
        >>> editor.lost
        ()
        """
        return self._core.executor.lost

    @property
    def copies(self) -> Copies:
        """The clones and added graphs by name scope: after a click on Clone, `editor.copies["copy"]`.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> copy = editor.clone("x:0", "net/logits:0", into="copy")
        >>> editor.copies
        {'copy': <Copy 'copy': 22 ops, 3 variables of its own>}
        """
        return self._core.executor.copies

    @property
    def lines(self) -> tuple[str, ...]:
        """The Python lines of the edits that are done, one for each; `editor` is this editor.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.bypass("net/hidden/Relu")
        >>> editor.lines
        ('editor.bypass(what="net/hidden/Relu")',)
        """
        return tuple(step.line for step in self._core.executor.history.done)


def _one_of(name: str | None, into: str | None) -> str:
    """The name of what a function makes; "" where its name scope is given."""
    if name is not None and into is not None:
        raise InvalidArgument(
            "name",
            argument_value("name", repr(name))
            + " is the whole name of the new op; "
            + in_cell(f"leave out into={into!r}."),
        )
    return name or ""


def _pairs(attributes: Mapping[str, object]) -> tuple[tuple[str, object], ...]:
    """Attributes as commands hold them."""
    return tuple((key, live.traced_ops.plain_value(value)) for key, value in attributes.items())

"""Passes: the methods of GraphEditor that change the whole graph and the functions that it calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

from tfgraphwidget import edits, runtime
from tfgraphwidget.argument_checks import ArgumentChecks
from tfgraphwidget.editor.graph_view import Names
from tfgraphwidget.editor.state import EditorCore
from tfgraphwidget.editor.transaction import one_thread
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import difference, effects_of
from tfgraphwidget.sources import open_source
from tfgraphwidget.tf_types import DTypeLike, OpsLike, TensorKey, TensorsLike


class PassAPI(ArgumentChecks, inside=one_thread):
    """Changes the whole graph: each call is one edit, which can be undone.

    Passes leave the ops that others name: those of signatures, collections and the marked boundary, variables, and ops
    without consumers. A pass that has nothing to do is refused, and is not in the history. With `functions=True` the
    functions that the graph calls are changed too: their calls call new functions.
    """

    _core: EditorCore

    def remove_identities(
        self,
        also: str | Iterable[str] = (),
        *,
        keep: OpsLike | None = None,
        functions: bool = True,
        renew: edits.Renew = "always",
    ) -> edits.Edits:
        """Remove the Identity ops: their consumers read what they read.

        Control inputs of a removed op become those of its consumers, and ops that waited for it wait for its input.
        Identity ops that hold together the control flow of TensorFlow 1, and reads of its variables, stay.

        Args:
            also: Further op types: "CheckNumerics", "StopGradient", "PreventGradient", "Snapshot", "NoOp", "Assert".
            keep: Ops that stay; None for those of the marked boundary.
            functions: Whether the functions that the graph calls are changed too.
            renew: Whether the session is renewed to see the edit; see `edit`.

        Returns:
            What was removed.

        Raises:
            GraphEditError: There is nothing to remove, or `also` has another op type.

        Example:
            >>> import tfgraphwidget as tgw
            >>> import tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
            ...     y = tf.add(tf.identity(x, name="same"), 1.0, name="y")
            >>> editor = tgw.edit(graph)
            >>> editor.remove_identities().removed
            ('same',)
        """
        types = (also,) if isinstance(also, str) else tuple(also)
        return self._core.executor.edit(edits.RemoveIdentities(types, self._marked_ops(keep), functions), renew=renew)

    def merge_duplicates(
        self, *, keep: OpsLike | None = None, functions: bool = True, renew: edits.Renew = "always"
    ) -> edits.Edits:
        """Merge the ops that compute the same: of one type, with the same inputs, attributes and device.

        Constants are compared by content. Ops with state or random numbers are never merged.

        Args:
            keep: Ops that stay; None for those of the marked boundary.
            functions: Whether the functions that the graph calls are changed too.
            renew: Whether the session is renewed to see the edit; see `edit`.

        Returns:
            What was removed.

        Raises:
            GraphEditError: No two ops compute the same.

        Example:
            >>> import tfgraphwidget as tgw
            >>> import tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
            ...     y = tf.add(tf.nn.relu(x, name="a"), tf.nn.relu(x, name="b"), name="y")
            >>> editor = tgw.edit(graph)
            >>> editor.merge_duplicates().removed
            ('b',)
        """
        return self._core.executor.edit(edits.MergeDuplicates(self._marked_ops(keep), functions), renew=renew)

    def fold_constants(
        self,
        limit: int = 102_400,
        *,
        shapes: bool = True,
        keep: OpsLike | None = None,
        functions: bool = True,
        renew: edits.Renew = "always",
    ) -> edits.Edits:
        """Compute once what depends on constants alone, and store it as constants.

        Ops with state, random numbers, queues, Python functions, and placeholders with a default are not computed. Ops
        that fail when they are computed stay, with a note. Of a conditional with a constant predicate the branch that
        is taken stays: a call of its function, or with Switch and Merge its ops, whose Merge becomes an Identity.

        Args:
            limit: The largest constant to store, in bytes; a larger one is stored if it is smaller than what it is
                computed from.
            shapes: Whether known static shapes count as constants.
            keep: Ops that stay; None for those of the marked boundary.
            functions: Whether the functions that the graph calls are changed too.
            renew: Whether the session is renewed to see the edit; see `edit`.

        Returns:
            What was changed, and how many ops of each type became constants.

        Raises:
            GraphEditError: Nothing is constant, or larger than the limit.

        Example:
            >>> import tfgraphwidget as tgw
            >>> import tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
            ...     y = tf.add(x, tf.constant(1.0) + tf.constant(2.0), name="y")
            >>> editor = tgw.edit(graph.as_graph_def())
            >>> report = editor.fold_constants()
            >>> report.notes
            ('1 op became a constant: 1 AddV2.',)
        """
        return self._core.executor.edit(
            edits.FoldConstants(limit, shapes, self._marked_ops(keep), functions), renew=renew
        )

    def remove_devices(self, *, functions: bool = True, renew: edits.Renew = "always") -> edits.Edits:
        """Remove the device of each op, so that TensorFlow places it.

        Args:
            functions: Whether the functions that the graph calls are changed too.
            renew: Whether the session is renewed to see the edit; see `edit`.

        Returns:
            What was changed, and how many ops each device had.

        Raises:
            GraphEditError: No op has a device.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.place("net/hidden/Relu", "/cpu:0")
            >>> editor.remove_devices().changed
            ('net/hidden/Relu',)
        """
        return self._core.executor.edit(edits.RemoveDevices(functions), renew=renew)

    def remove_attr(
        self, name: str, what: OpsLike | None = None, *, functions: bool = True, renew: edits.Renew = "always"
    ) -> edits.Edits:
        """Remove an attribute of ops, as of what was placed on a TPU: `editor.remove_attr("_tpu_replicate")`.

        Args:
            name: The attribute, one that the op type does not need.
            what: Ops, a name scope or a selection; None for all.
            functions: Whether the functions that these ops call, and the ops in these, lose it too
                ("_XlaMustCompile").
            renew: Whether the session is renewed to see the edit; see `edit`.

        Returns:
            What was changed.

        Raises:
            GraphEditError: No op has the attribute, or one cannot be without.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.remove_attr("_class").changed[0]
            'net/hidden/w/Initializer/Const'
        """
        ops = () if what is None else self._core.arguments.part(what, ops=True)
        return self._core.executor.edit(edits.RemoveAttr(name, ops, functions), renew=renew)

    def remove_collection(self, *keys: str) -> edits.Edits:
        """Remove collections of the graph; the ops and variables in them stay.

        Args:
            keys: The keys of the collections: "losses".

        Returns:
            What was changed.

        Raises:
            GraphEditError: The graph has no such collection.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.remove_collection("train_op")
            >>> editor.graph.get_collection("train_op")
            []
        """
        return self._core.executor.edit(edits.RemoveCollection(keys))

    def remove_functions(self) -> edits.Edits:
        """Remove the functions of the graph's library that no op calls, itself or by other functions.

        Returns:
            What was changed.

        Raises:
            GraphEditError: Ops call every function, or the body of one is edited.

        Example:
            >>> import tensorflow as tf, tfgraphwidget as tgw
            >>> graph = tf.compat.v1.GraphDef()
            >>> graph.node.add(name="x", op="NoOp")
            name: "x"
            op: "NoOp"
            <BLANKLINE>
            >>> graph.library.function.add().signature.name = "unused"
            >>> tgw.edit(graph).remove_functions().notes
            ("Removed 'unused'.",)
        """
        return self._core.executor.edit(edits.RemoveFunctions())

    def rename_type(self, old: str, new: str, *, functions: bool = True, renew: edits.Renew = "always") -> edits.Edits:
        """Make the ops of one type ops of another, which takes the same inputs.

        Args:
            old: The op type.
            new: The new op type; attributes that it does not have are removed.
            functions: Whether the functions that the graph calls are changed too.
            renew: Whether the session is renewed to see the edit; see `edit`.

        Returns:
            What was changed.

        Raises:
            GraphEditError: The graph has no op of the type, or one that cannot be of the new type.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.edit(tgw.example().graph.as_graph_def())
            >>> editor.rename_type("Relu", "Relu6").changed[0]
            'net/hidden/Relu'
        """
        return self._core.executor.edit(edits.RenameType(old, new, functions), renew=renew)

    def sort(self, *, renew: edits.Renew = "always") -> edits.Edits:
        """List each op of a file, or of a function, behind the ops that it reads and waits for.

        Args:
            renew: Whether the session is renewed to see the edit; see `edit`.

        Returns:
            How many ops are at another place.

        Raises:
            GraphEditError: The ops are sorted already, or the graph is a live one.

        Example:
            >>> import tfgraphwidget as tgw
            >>> graph_def = tgw.example().graph.as_graph_def()
            >>> nodes = list(graph_def.node)[::-1]
            >>> del graph_def.node[:]
            >>> graph_def.node.extend(nodes)
            >>> editor = tgw.edit(graph_def)
            >>> report = editor.sort()
            >>> editor.index.is_sorted()
            True
        """
        return self._core.executor.edit(edits.Sort(), renew=renew)

    def obfuscate_names(self, *, contents: bool = False, renew: edits.Renew = "always") -> edits.Edits:
        """Give all ops and name scopes names that say nothing but the op type, for bug reports.

        Args:
            contents: Whether large constants become zeros, and texts "text", as well.
            renew: Whether the session is renewed to see the edit; see `edit`.

        Returns:
            What was renamed; its notes list what stays, such as op types, the names of functions, and the keys of
            variables that have values.

        Raises:
            GraphEditError: There is no name to hide.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.edit(tgw.example().graph.as_graph_def())
            >>> report = editor.obfuscate_names()
            >>> editor.of_type("Relu").ops
            ('scope_1/scope_1/Relu_1',)
        """
        return self._core.executor.edit(edits.ObfuscateNames(contents), renew=renew)

    def change_batch_size(
        self, size: int | None, inputs: TensorsLike = (), *, renew: edits.Renew = "always"
    ) -> edits.Edits:
        """Change the first dimension of all inputs, and the constants that hold the old size.

        Args:
            size: The new batch size; None for any.
            inputs: The placeholders; () for all that have the batch size, which is what most have.
            renew: Whether the session is renewed to see the edit; see `edit`.

        Returns:
            What was changed, with the constants that held the old size.

        Raises:
            GraphEditError: The size is not a batch size, or an op cannot take what follows.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.change_batch_size(8)
            >>> editor.index.shape(editor.index.op("net/logits"), 0)
            (8, 3)
        """
        return self._core.executor.edit(edits.ChangeBatchSize(size, self._core.arguments.names(inputs)), renew=renew)

    # Smaller weights

    def cast(
        self,
        dtype: Literal["float16", "bfloat16"] | DTypeLike,
        *,
        keep: OpsLike = (),
        ends: Literal["keep", "cast"] = "keep",
        feeds: Mapping[TensorKey, object] | None = None,
        functions: bool = True,
        renew: edits.Renew = "always",
    ) -> edits.Edits:
        """Let the graph compute with 16-bit floats, with weights of half the size.

        Softmax, losses, exponentials, sums, batch normalization statistics and ops without a kernel stay float32; the
        report lists them. Variables stay float32 and are read through a Cast: `freeze()` first makes constants of them.

        Args:
            dtype: "float16" or "bfloat16".
            keep: Ops, scopes or op types that stay float32.
            ends: "keep": the inputs and outputs of the graph stay float32; "cast": they change their dtype.
            feeds: {tensor: value}, to report the largest difference from the graph as it was opened; see `compare`.
            functions: Whether the functions that the graph calls are changed too.
            renew: Whether the session is renewed to see the edit; see `edit`.

        Returns:
            What was changed and what stays float32.

        Raises:
            GraphEditError: No op can compute with that dtype.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.freeze("net/logits:0", "x:0")
            >>> report = editor.cast("float16", feeds={"x:0": [[1, 2, 3, 4]]})
            >>> report.notes[1]
            '3 constants: 256 → 128 bytes.'
        """
        names = self._core.arguments.names(keep)
        name: Any = getattr(dtype, "name", dtype)  # another one is refused when the pass is planned
        return self._edit_and_compare(edits.Cast(name, names, ends, functions), feeds, renew)

    def round_weights(
        self,
        bits: int = 8,
        *,
        minimum: int = 1024,
        feeds: Mapping[TensorKey, object] | None = None,
        functions: bool = True,
        renew: edits.Renew = "always",
    ) -> edits.Edits:
        """Round each large float32 constant to 2^bits values, so that a compressed file is smaller.

        Args:
            bits: How many bits the values differ in.
            minimum: The smallest number of elements of a constant that is rounded.
            feeds: {tensor: value}, to report the largest difference from the graph as it was opened; see `compare`.
            functions: Whether the functions that the graph calls are changed too.
            renew: Whether the session is renewed to see the edit; see `edit`.

        Returns:
            What was changed, and by how much at most.

        Raises:
            GraphEditError: There is no such constant, or all have few values.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.freeze("net/logits:0", "x:0")
            >>> editor.round_weights(4, minimum=16).notes[0].partition(",")[0]
            '2 constants rounded'
        """
        return self._edit_and_compare(edits.RoundWeights(bits, minimum, functions), feeds, renew)

    def quantize_weights(
        self,
        *,
        minimum: int = 1024,
        per_channel: bool = True,
        feeds: Mapping[TensorKey, object] | None = None,
        functions: bool = True,
        renew: edits.Renew = "always",
    ) -> edits.Edits:
        """Store each large float32 constant as int8 with a scale and a zero point; the file takes a quarter.

        The constants are made floats where they are read, so that the graph computes as before, with these values.

        Args:
            minimum: The smallest number of elements of a constant that is quantized.
            per_channel: Whether each channel, the last dimension, has a scale and a zero point.
            feeds: {tensor: value}, to report the largest difference from the graph as it was opened; see `compare`.
            functions: Whether the functions that the graph calls are changed too.
            renew: Whether the session is renewed to see the edit; see `edit`.

        Returns:
            What was changed, the sizes before and after, and by how much a weight differs at most.

        Raises:
            GraphEditError: There is no such constant; variables become constants by `freeze()`.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.freeze("net/logits:0", "x:0")
            >>> editor.quantize_weights(minimum=16, per_channel=False).notes[0].partition(";")[0]
            '2 constants: 224 → 72 bytes'
        """
        return self._edit_and_compare(edits.QuantizeWeights(minimum, per_channel, functions), feeds, renew)

    # TensorFlow's own passes

    def optimized(self, outputs: Names | None = None) -> runtime.measure.OptimizedGraph:
        """Show what TensorFlow's graph optimizer (grappler) makes of the current graph, which stays as it is.

        Args:
            outputs: Ops or tensors that keep their names; None for the marked ones, those of the signature or function,
                or those without consumers.

        Returns:
            The optimized graph in an editor of its own, what each pass folded, fused and removed, and which op became
            which.

        Raises:
            GraphEditError: TensorFlow cannot optimize the graph.

        Example:
            >>> import tfgraphwidget as tgw
            >>> import tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
            ...     y = tf.multiply(x, tf.constant(1.0) + tf.constant(2.0), name="y")
            >>> result = tgw.edit(graph).optimized("y")
            >>> [(each.name, each.folded) for each in result.passes if each.folded]
            [('constfold', ('add',))]
        """
        core = self._core
        fetched = core.arguments.outputs(outputs)
        if not fetched:
            raise GraphEditError("optimized(outputs): no output is named, and nothing is needed of none; name an op.")
        trust = core.source.trust
        trust.check(
            effects_of(core.index, trust).of_graph(), "TensorFlow's optimizer, which computes constants, was not run"
        )
        graph_def, passes = runtime.measure.optimize(core.index, fetched)
        editor = type(self)(open_source(graph_def, trusted=trust.is_given), core.show)  # type: ignore[call-arg]
        change = difference(core.index, editor._core.index, whole_library=False)
        renamed = dict(change.renamed)
        names = ((name, renamed.get(name, name)) for name in core.index.names)
        pairs = {old: new for old, new in names if new in editor._core.index.ids}
        return runtime.measure.OptimizedGraph(editor, passes, change, pairs)

    def _edit_and_compare(
        self, command: edits.Command, feeds: Mapping[TensorKey, object] | None, renew: edits.Renew
    ) -> edits.Edits:
        """Edit, and report how far the outputs are from those of the graph as it was opened."""
        if feeds is None:
            return self._core.executor.edit(command, renew=renew)
        from tfgraphwidget.editor.replay import undo_since

        executor = self._core.executor
        with executor.transaction() as steps:  # feeds that do not fit leave no edit
            steps.on_failure(undo_since, executor, executor.history)
            report = executor.edit(command, renew=renew)
            comparison = self._core.evaluator.compare(feeds, None, None)
        return replace(report, notes=(*report.notes, *(" ".join(o.row()).strip() for o in comparison.outputs)))

    def _marked_ops(self, keep: Any) -> tuple[str, ...]:
        """The ops that a pass keeps; those of the marked boundary if none are given."""
        core = self._core
        if keep is not None:
            return core.arguments.ops(keep)
        ids = core.index.ids
        names = (name.partition(":")[0] for side in core.view.boundary for name in side)
        return tuple(dict.fromkeys(name for name in names if name in ids))

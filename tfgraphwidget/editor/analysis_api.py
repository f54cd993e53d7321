"""Analysis: the methods of GraphEditor that compare, probe and measure the graph, and that make
functions of bodies.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tfgraphwidget import export, lint, runtime
from tfgraphwidget.argument_checks import ArgumentChecks
from tfgraphwidget.editor.evaluation import WEIGHTS
from tfgraphwidget.editor.state import EditorCore
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import Difference, DifferenceKind, effects_of
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.sources import open_source
from tfgraphwidget.tf_types import (
    KerasModel,
    Module,
    Named,
    OpLike,
    RunMetadata,
    TensorKey,
    TensorsLike,
)

if TYPE_CHECKING:
    from pandas import DataFrame

    from tfgraphwidget.editor.beside import Beside
    from tfgraphwidget.editor.inspection import Inspection


class AnalysisAPI(ArgumentChecks):
    """Compares the graph before and after edits, runs it, and lists what ops cost."""

    _core: EditorCore

    # One op

    def inspect(self, op: OpLike = "/") -> Inspection:
        """Describe an op or a scope as the inspector of the panel does; or the whole graph.

        Args:
            op: The op, a tensor of it, or the name of a scope; "/" for the whole graph.

        Returns:
            The Inspection. That of the whole graph prints as at most 60 lines: its ops, inputs,
            outputs, scopes and costs, and what is odd; others as a table: type, device, tensors
            with dtypes and static shapes, attributes, the value of a variable or constant,
            documentation, and the lines of Python that made the op. `.rows()` and `.table()` are
            the same as data.

        Raises:
            UnknownName: The graph has neither an op nor a scope of that name.

        Example:
            >>> import tfgraphwidget as tgw
            >>> op = tgw.example().inspect("net/w")
            >>> op.op_type, op.outputs[0].dtype, op.value.shape
            ('VarHandleOp', 'resource', (8, 3))
            >>> [attribute.text for attribute in op.attributes if attribute.name == "shape"]
            ['(8, 3)']
            >>> lines = str(tgw.example().inspect()).splitlines()
            >>> lines[0], lines[3], lines[5]
            ('Graph', 'input: x:0 float32 (None, 4)', 'output: loss:0 float32 ()')
        """
        name = op if isinstance(op, str) else self._core.arguments.name(op)
        if name == "/":
            from tfgraphwidget.editor.summary import GraphInspection

            return GraphInspection(self._core, name)
        from tfgraphwidget.editor.inspection import Inspection

        return Inspection(self._core, name)

    # Differences

    def beside(
        self,
        other: object = None,
        *,
        pairs: Mapping[TensorKey, object] | None = None,
        feeds: Mapping[TensorKey, object] | None = None,
        values: bool = False,
        ignore: DifferenceKind | Collection[DifferenceKind] | None = None,
        tolerance: float | Mapping[str, float] | None = None,
    ) -> Beside:
        """Show the graph as it was opened and as it is now in two panes; or two models.

        The panes move, zoom, expand and select together. A list of the differences, by scope, is
        stepped through with its buttons or with n and p.

        Args:
            other: The model in the right pane, beside this one in the left: another editor, or
                what `tgw.edit` opens. None for the graph as it was opened in the left pane, and as
                it is now in the right one.
            pairs: {op of the left graph: op of the right one}, where these are not matched as they
                should be. None for those that one of the editors was saved with: `save("net.tgw")`
                keeps them.
            feeds: {tensor of the right graph: value}, to run both and compare all tensors: both
                drawings are colored by the difference, and the first divergence is selected.
            values: Whether the values of variables and constants are compared without a run, and
                listed with their norms, cosines and histograms. Feeds compare these too.
            ignore: Kinds of differences that are left out; see `diff`.
            tolerance: What counts as equal; see `compare`.

        Returns:
            The Beside, which is displayed as the last line of a cell, is false in `if` where
            nothing differs, and can be saved as a page: `.save("compare.html")`.

        Raises:
            NotAGraph: `other` holds no graph or cannot be read.
            UnknownName: A name in `pairs` is not that of an op.
            GraphEditError: `pairs` are given without `other`.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.connect("net/hidden/Add:0", "net/logits", 0)
            >>> editor.beside()
            as it was opened → as it is now:
            1 op changed
                net/logits: input 0 net/hidden/Relu:0 → net/hidden/Add:0
            >>> bool(editor.beside(tgw.example(), feeds={"x:0": [[1, 2, 3, 4]]}))
            True
        """
        from tfgraphwidget.editor import beside

        make: Any = type(self)  # a GraphEditor
        show = self._core.show
        return beside.open_beside(
            self,
            other,
            lambda thing: make(open_source(thing), show),
            show,
            pairs,
            feeds,
            tolerance,
            values=values,
            ignore=ignore,
        )

    def diff(
        self,
        before: object = None,
        *,
        values: bool = False,
        ignore: DifferenceKind | Collection[DifferenceKind] | None = None,
        pairs: Mapping[TensorKey, str | Named] | None = None,
    ) -> Difference:
        """Compare the current graph with its original state or another graph: `after.diff(before)`.

        Changes are listed from `before` to the current graph. Ops are matched by name, and where
        names differ by the ops around them; the signatures of files are compared too, and by
        content the asset files of SavedModels, wherever their folders lie. Assign the result to
        `editor.view.difference` to color it in the drawing.

        Args:
            before: Another editor, or what `tgw.edit` opens; None for the graph as it was opened.
            values: Whether the values of variables are compared too, paired by name: those of
                `before` and those of this editor's session, file or function. Values that are equal
                to the bit are left out.
            ignore: Kinds of differences that are left out: "names" of ops that are the same
                otherwise, "attributes", "shapes", "values" of constants and variables, "devices",
                "versions". None for none.
            pairs: {op or tensor here: that of `before`} where the matching is to be corrected.

        Returns:
            The Difference: prints as a list of at most 60 lines. A usual change, such as freezing,
            is one line (`.explained`), and `.rest` is without it; `.added`, `.removed`, `.changed`
            and `.renamed` are names, `.pairs` the ops that both have, with what shows it ("name",
            "structure", "values" or "hand"), `.signatures` what differs in those, `.assets` what
            differs in asset files, `.values` the variables whose values differ, with the largest
            difference of two elements; `.table()` is a DataFrame.

        Raises:
            GraphEditError: `ignore` has a kind that there is not, or `pairs` are given for one
                graph.
            UnknownName: `pairs` name an op that the graph does not have.

        Example:
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
        from tfgraphwidget.editor import synchronization

        kinds: tuple[Any, ...] = (ignore,) if isinstance(ignore, str) else tuple(ignore or ())
        if not values or "values" in kinds:
            return self._core.evaluator.diff(before, pairs).without(kinds)
        if before is None:
            raise GraphEditError(
                "diff: two models are compared; "
                + in_cell("name the other, diff(before, values=True).")
            )
        changed = synchronization.changed_values(before, self)
        return replace(self._core.evaluator.diff(before, pairs), values=changed).without(kinds)

    def compare(
        self,
        feeds: Mapping[TensorKey, object] | None = None,
        other: object = None,
        tensors: TensorsLike | None = None,
        *,
        tolerance: float | Mapping[str, float] | None = None,
        pairs: Mapping[TensorKey, str | Named] | None = None,
    ) -> runtime.measure.Comparison:
        """Compare what the graph computes with the graph as it was opened, or with another model.

        Both run in separate sessions with the present values of the variables (from the session,
        the checkpoint or the function), so that the graph and its session do not change.

        With `tensors="all"`, every tensor is compared that both graphs have and compute on these
        feeds, and `first_divergence` names the first that differs while all that it is computed
        from agrees: also inside of functions that an op calls, in the first round of a loop in
        which something differs, and a variable or constant where that is what differs. What has a
        side effect runs only if the outputs need it. Tensors that are random are not compared.

        Args:
            feeds: {tensor: value}.
            other: What to compare with in place of the graph as it was opened: another editor, or
                what `tgw.edit` opens. It has the values of its own variables, if it has any.
            tensors: The tensors to compare; "all" for all of them; "weights" for variables and
                constants, without a run, and then `other` may be a checkpoint. None for the marked
                outputs, those of the signature or function, or those that are computed from the
                feeds and have no consumers.
            tolerance: The largest difference that counts as equal, relative to the scale of a
                tensor, which is its largest magnitude; or one for each dtype. None for what
                rounding explains, given the dtypes and how many numbers were summed; integers,
                booleans and strings are exact then.
            pairs: {tensor: tensor of the other graph}, where these are not matched as they should
                be.

        Returns:
            For each tensor its dtype, shape, and the largest absolute and relative difference;
            false in `if` where nothing differs.

        Raises:
            GraphEditError: Only one of the graphs has an output, or takes a feed.
            SessionRefused: One of the graphs cannot run.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> report = editor.bypass("net/hidden/Relu")
            >>> editor.compare({"x:0": [[1, 2, 3, 4]]}, tensors="net/logits:0")
            output        dtype    shape   max abs  max rel
            net/logits:0  float32  (1, 3)  10.2     1.2
            >>> compared = editor.compare({"x:0": [[1, 2, 3, 4]]}, tgw.example(), "all")
            >>> compared.first_divergence.tensor
            'net/logits:0'
        """
        from tfgraphwidget.editor import comparing, synchronization

        core = self._core
        if (
            isinstance(tensors, str)
            and tensors == WEIGHTS
            and synchronization.is_weight_file(other)
        ):
            stores = synchronization.paired_stores(core.source, core.index, other)
            return comparing.compare_stores(*stores, runtime.measure.Tolerance.of(tolerance))
        return core.evaluator.compare(feeds, other, tensors, tolerance=tolerance, pairs=pairs)

    # Values

    def probe(
        self, tensors: TensorsLike, feeds: Mapping[TensorKey, object] | None = None
    ) -> runtime.measure.probe.Probe:
        """Run the graph and describe the values of tensors: range, mean, NaNs, histogram.

        The session of the graph runs only what is fetched; a function's body runs in a separate
        session, with copies of its variables. No op is added. The drawing shows the result until an
        edit, or `editor.view.probe = None`. It is not saved.

        What is in the body of a TF 1 while loop has the value of the last round, and what its
        condition computes that of the end; the graph is run apart from its session then, with the
        values of its variables.

        Args:
            tensors: Tensors; an op represents its outputs, a variable its value.
            feeds: {tensor: value}.

        Returns:
            For each tensor its dtype, shape, minimum, mean, maximum, NaNs, histogram and value.

        Raises:
            SessionRefused: The graph cannot run, or does not compute the tensors on these feeds: a
                loop has no round, or of a conditional another branch is taken.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> found = editor.probe(["net/hidden/Relu", "net/w"], {"x:0": [[1, 2, 3, 4]]})
            >>> found
            tensor             dtype    shape   min     mean    max
            net/hidden/Relu:0  float32  (1, 8)  0       0.8136  4.775    █ ▂  ▂             ▂
            net/w:0            float32  (8, 3)  -1.288  0.2789  1.96     █  ▂▂▄ ▂ ▂▅▂▄   ▅▂▂▄
        """
        return self._core.evaluator.probe(tensors, feeds)

    # Costs

    def measure(
        self,
        fetches: TensorsLike | None = None,
        feeds: Mapping[TensorKey, object] | None = None,
        runs: int = 1,
        *,
        metadata: RunMetadata | str | PathLike[str] | None = None,
    ) -> runtime.measure.Measurement:
        """Measure the time (µs) and memory (bytes) of each op in a traced run of the session.

        Only tensors are fetched, and none that changes the session's state. Ops that TensorFlow
        runs as one, such as a product and its activation, are listed as the op that does the work.
        The result is kept, for `color_by("time")` and `table(batch=1)`, until an edit.

        Args:
            fetches: Tensors; None for the marked outputs, those of the signature, or those without
                consumers. Of a graph that trains these are the results and the gradients, without
                the updates of variables.
            feeds: {tensor: value}.
            runs: The number of runs, of which the median is taken, after one that does not count.
            metadata: A RunMetadata of a run that was traced elsewhere, or a folder that tf.profiler
                wrote, instead of a run.

        Returns:
            The cost of each op.

        Raises:
            GraphEditError: A tensor cannot be measured.
            SessionRefused: The graph cannot run.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> measured = editor.measure("net/logits:0", {"x:0": [[1, 2, 3, 4]]})
            >>> measured["net/hidden/MatMul"].time > 0, "net/logits" in measured
            (True, True)
        """
        return self._core.evaluator.measure(fetches, feeds, runs, metadata)

    def table(self, batch: int | None = None) -> DataFrame:
        """List the ops, with a batch size also what each costs.

        FLOPs come from TensorFlow's registry. A call has those of the function that it calls, a
        conditional those of its most expensive branch, a loop those of one iteration.

        Args:
            batch: The first dimension of inputs that leave it open; sizes that it does not give
                count as 1. None for a table without costs.

        Returns:
            A pandas DataFrame with a row for each op, in graph order, and the columns of
            `graph.table.COLUMNS`; with `batch` also parameters, output_bytes and flops (None where
            they are unknown), and after `measure` time (µs) and memory (bytes).

        Raises:
            GraphEditError: `batch` is not a positive integer.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.table().set_index("name").loc["net/logits", ["type", "outputs"]].tolist()
            ['MatMul', ('float32 (None, 3)',)]
            >>> costs = editor.table(batch=32).set_index("name")
            >>> costs.loc["net/hidden/MatMul", ["output_bytes", "flops"]].tolist()
            [1024.0, 2048.0]
        """
        from tfgraphwidget.graph import table

        ops = table.table(self._core.index)
        if batch is not None:
            costs = self._core.coloring.cost_values(batch)
            return ops.assign(
                **{name: column for name, column in costs.items() if name not in ops.columns}
            )
        return ops

    # What stands in the way

    def lint(
        self,
        target: Literal["cpu", "tflite", "onnx", "untrusted"] | None = None,
        *,
        only: str | Collection[str] | None = None,
        never: str | Collection[str] | None = None,
    ) -> lint.Report:
        """Find what may stand in the way of a graph that is to run elsewhere.

        Leftovers of training, active dropout, asserts and prints, calls of Python functions, baked
        batch sizes, placeholders without a shape, signatures that need what they do not take,
        unused or duplicate weights, NaN and infinity in weights, huge constants, float64 by
        accident, unknown ops, and devices that are not there.

        Args:
            target: What it is to run on: "cpu" finds ops without a kernel here, "tflite" and "onnx"
                what `save` would refuse, for which the graph is converted unless an op decides it;
                "untrusted" lists the ops that do more than compute, and nothing else; None for no
                check of that.
            only: Codes of rules, as findings have them; None for all.
            never: Codes of rules that do not run; None for none.

        Returns:
            The findings, errors first: each has a code, a sentence, the ops, and in `fix` a command
            that fixes it, if there is one: `editor.apply(report[0].fix)`.

        Raises:
            UnknownName: There is no rule of a code.

        Example:
            >>> import tfgraphwidget as tgw
            >>> report = tgw.example().lint(only="training-ops")
            >>> report[0].sentence
            '3 ops of optimizers; the outputs do not need 59 ops.'
            >>> print(report[0].fix.code())
            editor.passes.strip_training(outputs=["loss"])
            >>> report[0].code, len(report.ops)
            ('training-ops', 3)
        """
        from tfgraphwidget.editor.linting import lint_editor

        is_converted = f".{target}" in export.CONVERSIONS
        return lint_editor(
            self._core,
            target or "",
            only or (),
            never or (),
            self._save_for_lint if is_converted else None,
        )

    def _save_for_lint(self, path: Path, seconds: float) -> object:
        """Save the graph as `save(path)` does."""
        editor: Any = self  # a GraphEditor, which has the methods of FileAPI too
        return editor.save(path, timeout=seconds)

    # Functions and models

    def to_module(self, name: str = "edited") -> Module:
        """Make a tf.Module of the current function or graph as edited.

        It takes the function's arguments and returns its results, with keyword arguments, defaults
        and nested structures as the function has them; `.signature` takes tensors and returns a
        dict. It shares the function's variables; variables of a file get the values of its
        checkpoint. It can be trained, and saved by `tf.saved_model.save`. The function itself does
        not change.

        Of a graph it takes the inputs of the boundary, or else of the signature, or else the
        placeholders that the results of the graph need. Its variables have the values of the
        session, and are its own.

        Args:
            name: The name of the module.

        Returns:
            An `runtime.functions.ModuleCopy`, a tf.Module.

        Raises:
            GraphEditError: The function cannot run alone, or no function can hold the graph.

        Example:
            >>> import tfgraphwidget as tgw
            >>> import tensorflow as tf
            >>> fn = tf.function(lambda x: tf.nn.relu(x) * 2.0, autograph=False)
            >>> editor = tgw.edit(fn, signature=[tf.TensorSpec([None], tf.float32)])
            >>> report = editor.bypass("Relu")
            >>> module = editor.to_module()
            >>> module, module(tf.constant([-1.0, 3.0])).numpy().tolist()
            (<ModuleCopy 'edited': 0 variables of its own, 0 shared>, [-2.0, 6.0])
        """
        core = self._core
        if core.executor.boundary is not None:
            core.source.trust.check(
                effects_of(core.index, core.source.trust).of_graph(), "no function was made of it"
            )
            return core.executor.edited_module(name)
        from tfgraphwidget.editor.joining import graph_module
        from tfgraphwidget.editor.saving import signature_or_apparent

        return graph_module(
            core.source, core.index, core.executor.patches(), signature_or_apparent(core), name
        )

    def to_keras(self) -> KerasModel:
        """Make a Keras model of an edited one, if the edits can be expressed in layers.

        These can: `insert`, `grow` and `replace` with a `keras.layers.Layer`, `bypass` and
        `reroute` from the output of one layer to that of another. The layers, and their variables,
        are those of the model that was opened.

        Returns:
            A Functional model; a head that was grown is a further output.

        Raises:
            GraphEditError: An edit cannot be said in layers, with the reason; `to_module` is the
                edited model then.

        Example:
            >>> import tfgraphwidget as tgw
            >>> import tensorflow as tf
            >>> layers = tf.keras.layers
            >>> model = tf.keras.Sequential(
            ...     [tf.keras.Input((4,)), layers.Dense(3), layers.ReLU(name="relu")]
            ... )
            >>> editor = tgw.edit(model)
            >>> report = editor.insert(editor.find("type:Relu"), layers.Dense(2, name="last"))
            >>> [layer.name for layer in editor.to_keras().layers[-2:]]
            ['relu', 'last']
        """
        from tfgraphwidget.editor import keras_layers

        return keras_layers.edited_model(self._core.executor)

    def to_function(self, name: str = "edited") -> Any:
        """Make a `tf.function` of the current graph as edited; it keeps its variables alive.

        Args:
            name: The name of its module; see `to_module`.

        Returns:
            The `tf.function`.

        Raises:
            GraphEditError: The function cannot run alone, or no function can hold the graph.

        Example:
            >>> import tfgraphwidget as tgw
            >>> import tensorflow as tf
            >>> fn = tf.function(lambda x: tf.nn.relu(x) * 2.0, autograph=False)
            >>> editor = tgw.edit(fn, signature=[tf.TensorSpec([None], tf.float32)])
            >>> report = editor.bypass("Relu")
            >>> edited = editor.to_function()
            >>> edited(tf.constant([-1.0, 3.0])).numpy().tolist()
            [-2.0, 6.0]
        """
        module = self.to_module(name)
        module.run.module = module
        return module.run

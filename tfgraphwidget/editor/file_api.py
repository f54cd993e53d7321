"""Files: the methods of GraphEditor that give the graph, parts of it, and its edits to other code
and to files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

    from tfgraphwidget.editor.splitting import Split

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from tfgraphwidget import edits, export
from tfgraphwidget.argument_checks import ArgumentChecks
from tfgraphwidget.editor import function_bodies
from tfgraphwidget.editor.graph_view import Names
from tfgraphwidget.editor.state import EditorCore
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    LOOP_CONDITION,
    Selection,
    needed_placeholders,
    ops,
    unused_inputs,
    unused_inputs_notice,
    upstream,
)
from tfgraphwidget.optional_packages import import_package
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.sources import open_source
from tfgraphwidget.tf_types import Graph, Session, TensorKey


class FileAPI(ArgumentChecks):
    """Writes files, and code and data that make the edits again."""

    _core: EditorCore

    # The graph

    @property
    def graph(self) -> Graph:
        """The `tf.Graph`. A file is imported into one now. A function's graph is only to be read.

        Raises NotRunnable if TensorFlow cannot import the file.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.graph.get_tensor_by_name("net/logits:0").shape
        TensorShape([None, 3])
        """
        return self._core.graph

    @property
    def session(self) -> Session | None:
        """The session that runs the graph, or None; a file's has the values of its checkpoint.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.session.run("net/hidden/Relu:0", {"x:0": [[1, 2, 3, 4]]}).shape
        (1, 8)
        """
        return self._core.session

    # Parts and other forms

    def extract(self, inputs: Names | None = None, outputs: Names | None = None) -> Self:
        """Copy a part into a separate graph, with the values of its variables.

        Ops keep their names, and inputs become placeholders. The graph of this editor does not
        change. A part of a file is a graph of a file too, and needs no TensorFlow; so is a part of
        a function of a SavedModel, unless it reads tables or gradients of Python. Of other
        functions' bodies the part is a function, of a tf.Module with variables of its own:
        `to_module()` of the new editor.

        Args:
            inputs: Tensors where the part begins; without `inputs` and `outputs` the marked
                boundary is used. Placeholders that the outputs still need are inputs too.
            outputs: Tensors or ops that the part computes, from the inputs. An input that they do
                not use is left out; `source.notices` of the new editor says so.

        Returns:
            An editor of the new graph, with a session, or of the new function.

        Raises:
            GraphEditError: The part cannot be copied.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> part = editor.extract("net/hidden/Relu:0", "net/logits:0")
            >>> part.inputs, part.outputs
            (('net/hidden/Relu:0',), ('net/logits:0',))
            >>> part.session.run("net/logits:0", {"net/hidden/Relu:0": [[1.0] * 8]}).shape
            (1, 3)
        """
        from tfgraphwidget.editor import saving
        from tfgraphwidget.runtime.session import edit_values

        core, arguments, index = self._core, self._core.arguments, self._core.index
        boundary = (
            arguments.boundary(inputs, outputs)[0],
            arguments.outputs(outputs, use_selection=inputs is None),
        )
        is_function = core.executor.boundary is not None
        if is_function and not core.target.place.needs_import:
            return self._extract_function(*boundary)
        part = _with_whole_loops(upstream(index, *boundary[1], stop_at=boundary[0]), boundary[0])
        cut = [name for name in boundary[0] if index.op(name) in part.ids and ":" not in name]
        whole = part - ops(index, *cut) if cut else part
        init = core.executor.default_init()
        source = saving.file_extract(
            core,
            edits.command_of(edits.Clone, arguments, whole, into="", init=init, graph=core.target),
            boundary,
        )
        if source is None and is_function:
            return self._extract_function(*boundary)
        if source is None:
            graph, session = edit_values.new_session(index.extras.versions())
            command = edits.command_of(
                edits.Clone, arguments, whole, into="", init=init, graph=graph, session=session
            )
            try:
                core.executor.copy_out(command)
            except BaseException:
                session.close()
                raise
            source = open_source(graph, session)
        source.notices += unused_inputs_notice(
            unused_inputs(index, boundary[0], part.mask), boundary[1]
        )
        editor: Any = type(self)
        extracted = editor(source, core.show)
        extracted_index = extracted._core.index
        marks = [
            [name for name in side if name.partition(":")[0] in extracted_index.ids]
            for side in boundary
        ]
        if marks[0]:
            others = needed_placeholders(extracted_index, marks[1], marks[0])
            marks[0] += [f"{name}:0" for name in others]
        extracted.mark(*marks)
        result: Self = extracted
        return result

    def _extract_function(self, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> Self:
        """An editor of a part of the current function, as a function with its own variables."""
        core = self._core
        command = edits.command_of(edits.Clone, core.arguments, inputs, outputs, "part")
        (module,) = function_bodies.clone_modules(
            command, core.source, core.executor.state(), core.view, core.executor.inputs_and_outputs
        )
        editor: Any = type(self)
        part = editor(open_source(module.run), core.show)
        part._core.extracted = module
        result: Self = part
        return result

    def split(
        self,
        at: Names | Sequence[Sequence[str]],
        inputs: Names | None = None,
        outputs: Names | None = None,
    ) -> Split[Any]:
        """Split the graph into several editors that compute, one after another, what it computes.

        Each part is a graph of its own, as `extract` makes it: with the values of its variables,
        its inputs and outputs marked, and saved by itself with a signature of them, in which the
        inputs and outputs of the whole keep their keys. A tensor that goes from a part to a later
        one past the cut is cut too; `added` of the result lists these. The graph of this editor
        does not change.

        Args:
            at: The tensors or ops to cut after; lists of them, [["a:0"], ["b:0", "c:0"]], for
                several cuts.
            inputs: The inputs of the whole; None for the marked ones, or else the placeholders that
                the outputs need.
            outputs: The outputs of the whole; None for the marked ones, or else those of the
                signature or function.

        Returns:
            The editors, as a sequence. Its `check()` runs the graph and the parts on the same
            feeds.

        Raises:
            UnknownName: A name is not in the graph.
            GraphEditError: A cut is in a loop, separates an update of a variable from what reads
                it, or is not between the inputs and the outputs.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> halves = editor.split(at="net/hidden/Relu:0", outputs=["net/logits:0"])
            >>> halves
            1. 'x:0' → 'net/hidden/Relu:0': 16 ops
            2. 'net/hidden/Relu:0' → 'net/logits:0': 8 ops
            >>> halves.check()
            0.0
            >>> halves[1].inputs
            ('net/hidden/Relu:0',)
        """
        from tfgraphwidget.editor.splitting import split

        arguments = self._core.arguments
        several = isinstance(at, list | tuple) and any(
            isinstance(each, list | tuple) for each in at
        )
        groups: Sequence[Any] = list(at) if isinstance(at, list | tuple) and several else [at]
        cuts = [arguments.fetches(group) for group in groups]
        boundary = (
            arguments.boundary(inputs, outputs)[0],
            arguments.outputs(outputs, use_selection=inputs is None),
        )
        return split(
            self._core,
            cuts,
            arguments.fetches(boundary[0]),
            arguments.fetches(boundary[1]),
            self._extract_with_keys,
        )

    def _extract_with_keys(self, inputs: Names, outputs: Names) -> Self:
        """Extract a part whose inputs and outputs keep their keys in a signature or function."""
        from tfgraphwidget.editor.splitting import keep_keys, keys_of

        part: Any = self.extract(inputs, outputs)
        keys, module = keys_of(self._core), part._core.extracted
        if module is None:
            keep_keys(part._core, keys)
        elif any(not keys.get(name, "output_").startswith("output_") for name in module.outputs):
            editor: Any = type(self)
            part = editor(open_source(module.signature), self._core.show)
            part._core.extracted = module
        result: Self = part
        return result

    def to_networkx(self) -> Any:
        """Convert the current graph to networkx.

        Returns:
            A `networkx.MultiDiGraph`; see `graph.nx.networkx`. `tgw.edit` opens it again, also with
            nodes left out or relabeled: `meta_graph_def` of the graph and `node_def` of each node
            are serialized protos.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> graph = editor.to_networkx()
            >>> edges = graph.edges("net/logits", data=True)
            >>> [(target, edge["tensor"], edge["shape"]) for _, target, edge in edges][:1]
            [('cross_entropy/cross_entropy', 'net/logits:0', (None, 3))]
        """
        import_package("networkx", "to_networkx() needs networkx")
        from tfgraphwidget.export.formats import pack_extras
        from tfgraphwidget.graph import nx

        graph = nx.networkx(self._core.index, nodes=True)
        graph.graph["meta_graph_def"] = pack_extras(
            self._core.index, self._core.view.body.envelope()
        )
        return graph

    # Files

    def save(
        self,
        path: str | PathLike[str],
        inputs: object = None,
        outputs: object = None,
        *,
        signatures: object = None,
        frozen: bool = False,
        inline: bool | None = None,
        lower_control_flow: bool = False,
        verify: bool = True,
        feeds: Mapping[TensorKey, object] | None = None,
        signature: str | None = None,
        tags: str | Iterable[str] | None = None,
        optimize: Literal["float16", "dynamic"] | None = None,
        select_tf_ops: bool = False,
        opset: int | None = None,
        timeout: float = 600.0,
        format: Literal["tensorboard"] | None = None,  # noqa: A002  # as other packages call it
    ) -> Path:
        """Write the current graph to a file; the end of `path` says in which format.

        * "edited/" is a SavedModel with the values of the session, its tables and the files that
          these read
        * ".pb" and ".pbtxt" are a GraphDef
        * ".meta" is a MetaGraphDef with a checkpoint of the same name, unless a file had no values
        * ".tflite" and ".onnx" are the frozen graph for LiteRT and for ONNX's runtimes, as
          TensorFlow's converter and tf2onnx write it: pip install 'tfgraphwidget[onnx]'
        * ".svg", ".png" and ".pdf" are pictures, ".dot" and ".graphml" are for other graph tools
        * ".tgw" is the editor itself, with its edits and values; `bytes(editor)` is the same
        * ".html" is a self-contained page with pan, zoom, search and inspector, which needs no
          kernel or network
        * ".py" is the code of the edits, ".json" the edits as data, for `replay`

        An edited SavedModel keeps what edits do not touch: its signatures with their keys, its
        objects, the names of its variables and of their values, its tables, asset files and
        functions. An editor that opened in the body of a signature saves the whole model. Where new
        variables or `freeze` leave no place for the objects, a notice says so, and the model has
        its signatures alone. Of a SavedModel with several graphs (MetaGraphDefs) the one that was
        opened is edited, and the others are saved along; all of them read one checkpoint.

        Files are replaced only when the new ones are complete. A model is loaded back first and run
        beside the current graph. Converters run in a process of their own, and so does what they
        have written; a notice says the largest difference. Where one refuses, the error has the ops
        that it does not take.

        Args:
            path: The file, or the folder of a SavedModel.
            inputs: The inputs of the signature: names, tensors, or {key: tensor}; None for the
                placeholders that the outputs need. Without `inputs` and `outputs`, the marked
                boundary, or else the signatures that the file was opened with.
            outputs: The outputs of the signature, in the same forms. A GraphDef that is not frozen
                has no signature, and all of the graph.
            signatures: Several signatures: {name: (inputs, outputs)}.
            frozen: Of a GraphDef: only what the outputs need, with constants in place of variables.
            inline: Of a frozen GraphDef: the ops of functions in place of calls, so that the file
                is one flat graph, as other programs want it; None for yes, False to keep calls.
            lower_control_flow: Of a frozen GraphDef: Switch and Merge in place of loops and
                conditionals of TensorFlow 2, and no function at all.
            verify: Load a model back and run it before it replaces old files.
            feeds: {input: value} for that run; None for generated values.
            signature: Of a ".tflite" or ".onnx" file: the name of its signature; None for the
                marked boundary, or else "serving_default" or the first one.
            tags: Of a SavedModel: the tags of the graph; None for those that it was opened with, or
                "serve".
            optimize: Of a ".tflite" file: weights as float16, or as 8-bit integers with dynamic
                ranges.
            select_tf_ops: Of a ".tflite" file: keep ops that TFLite does not have as ops of
                TensorFlow, which the runtime then needs.
            opset: Of an ".onnx" file: the version of ONNX's ops; None for that of tf2onnx.
            timeout: How many seconds a converter may take.
            format: "tensorboard" writes an event file for the graph tab of TensorBoard into the
                folder `path`, without the values of constants over 1 kB: `tensorboard --logdir
                path`. None: as the end of `path` says.

        Returns:
            The path of what was written.

        Raises:
            PackageMissing: tf2onnx, onnx or onnxruntime is not installed.
            GraphEditError: The file cannot be written, the converter refuses the graph, or the
                model that was written gives other outputs.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> import tempfile
            >>> folder = tempfile.mkdtemp()
            >>> editor.save(f"{folder}/net.pb", "x:0", "net/logits:0", frozen=True).name
            'net.pb'
            >>> tgw.edit(f"{folder}/net.pb").ops(type="Const").ops
            ('net/hidden/w', 'net/hidden/b', 'net/w')
        """
        from tfgraphwidget.editor import archive, saving

        core = self._core
        if core.executor.is_previewing:
            raise GraphEditError(
                "preview: saving is not an edit, so nothing was written; "
                + in_cell("call editor.save.")
            )
        if format == "tensorboard":
            return export.write_events(Path(path), core.index, core.view.body.envelope())
        boundary = saving.boundary_without_refused_ops(
            core, path, inputs, outputs, signatures, frozen=frozen
        )
        # What cannot run is downstream of the outputs, or edits have removed it.
        if boundary is not None:
            core = self.extract(*boundary.boundary)._core
            core.source.notices = ()
            inputs, outputs, signatures = None, None, boundary.signatures
        return saving.save(
            core,
            path,
            inputs,
            outputs,
            signatures=signatures,
            frozen=frozen,
            inline=inline,
            lower_control_flow=lower_control_flow,
            verify=verify,
            feeds=feeds or {},
            options={
                "signature": signature,
                "tags": tags,
                "optimize": optimize,
                "select_tf_ops": select_tf_ops,
                "opset": opset,
                "timeout": timeout,
            },
            archive=archive.EditorArchive(core),
        )


def _with_whole_loops(part: Selection, inputs: Iterable[str]) -> Selection:
    """Part of a graph with all of each v1 loop of which it has the condition, since half a loop
    cannot run.

    A loop that one of the inputs cuts is left as it is, and so are conditionals: a branch runs
    without the others.
    """
    index = part.index
    cut = {index.op(name) for name in inputs}
    for op in sorted(part.ids):
        if index.types[op] in LOOP_CONDITION:
            loop = ops(index, index.names[op]).whole()
            if cut.isdisjoint(loop.ids):
                part |= loop
    return part

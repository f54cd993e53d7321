"""See a live TensorFlow graph in the notebook, clone and edit parts of it, undo, replay as code,
export.

>>> import tfgraphwidget as tgw
>>> editor = tgw.example()  # or tgw.edit(graph, session=session)
>>> copy = editor.clone(inputs=["x:0"], outputs=["net/logits:0"], into="copy")
>>> [variable.name for variable in copy.variables]
['copy/net/hidden/w:0', 'copy/net/hidden/b:0', 'copy/net/w:0']

Importing this package imports neither TensorFlow nor a widget; `edit` does. A notebook's kernel
imports the widget while it waits for the next cell.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tfgraphwidget.argument_checks import names_its_call
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.tf_types import Session, TensorKey

if TYPE_CHECKING:
    from tfgraphwidget.editor import Beside, GraphEditor, passes
    from tfgraphwidget.editor.synchronization import Drift
    from tfgraphwidget.graph import DifferenceKind
    from tfgraphwidget.graph.patterns import pattern
    from tfgraphwidget.layout import Layout
    from tfgraphwidget.layout.compound import layered
    from tfgraphwidget.runtime.functions.module_layer import ModuleLayer
    from tfgraphwidget.widget import GraphWidget

__version__ = "0.2.0"
_HEIGHT_OF_TWO = 640  # pixels: two graphs with the list of their differences
__all__ = [
    "GraphEditError",
    "GraphEditor",
    "ModuleLayer",
    "beside",
    "drift",
    "edit",
    "example",
    "layered",
    "passes",
    "pattern",
    "renew",
    "sync",
]
_LAZY = {
    "GraphEditor": "tfgraphwidget.editor",
    "ModuleLayer": "tfgraphwidget.runtime.functions.module_layer",
    "layered": "tfgraphwidget.layout.compound",
    "passes": "tfgraphwidget.editor",
    "pattern": "tfgraphwidget.graph.patterns",
}
# What is tried first on the package, and is a method of the editor or `edit`. A list, since looking
# at the editor would import it each time that a module of the package is.
_TRIED_ON_GRAPHS = frozenset(
    (
        "clone",
        "compare",
        "diff",
        "draw",
        "find",
        "freeze",
        "inspect",
        "match",
        "replace_all",
        "save",
    )
)
_TRIED_TO_OPEN = frozenset(("load", "load_model", "open", "read", "show", "view"))


@names_its_call
def edit(
    graph: object = None,
    session: Session | None = None,
    *,
    signature: str | int | Sequence[object] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    tags: str | Iterable[str] | None = None,
    trusted: bool = False,
    layout: Layout | None = None,
    watch: bool = False,
) -> GraphEditor:
    """Open an editor for a TensorFlow graph; as the last line of a cell it is displayed.

    Args:
        graph: What holds the graph; None for the default graph.

            * A `tf.Graph` or a `tf.compat.v1.Session`. Of a MonitoredSession, the session inside,
              without its hooks.
            * A `tf.function`, a ConcreteFunction, a FuncGraph, or a Keras 3 model that has been
              built. Edits make a new callable: `editor.to_module()`.
            * The path of a SavedModel's directory or its saved_model.pb, of a .pb or .pbtxt
              GraphDef, of a .meta file, or of a .tflite or .onnx model, which is looked at and
              compared.
            * A GraphDef, MetaGraphDef or SavedModel message, or its bytes.
            * What `bytes(editor)` returned, or the path of the .tgw file that `editor.save` wrote.
            * A networkx graph that `editor.to_networkx()` returned, without some nodes and edges or
              with other names.
        session: The session that runs a `tf.Graph`. Without one, variables cannot be initialized.
        signature: The name of a SavedModel's signature; of a `tf.function` the number of a trace,
            or a list of TensorSpecs; of a Keras model, such a list where Keras did not record all
            that its `call` takes.
        checkpoint: The prefix of the checkpoint with the values of a file's variables.
        tags: The tags of one MetaGraphDef of a SavedModel.
        trusted: Of a file: whether its ops may run that do more than compute: write or read files,
            use the network, call Python, wait, end the process. `editor.lint("untrusted")` lists
            them; without any, this says nothing.
        layout: A networkx layout, or a callable that takes a graph and returns {node: (x, y)}; None
            for `tfgraphwidget.layered`, which is such a callable too.
        watch: Of a file: follow it when it changes on disk. The widget looks twice a second while
            the kernel is idle, and `editor.source.reload()` at once: the file is opened again and
            the edits are made again, or a notice says which of them no longer fits.

    Returns:
        The editor. A file is only read: nothing in it runs, and TensorFlow imports it when
        something is run or cloned.

    Raises:
        NotAGraph: If `graph` holds no graph or cannot be read.
        UnknownName: For a file, signature or trace that does not exist.
        SessionRefused: For a session that is closed or of another graph.

    >>> import tfgraphwidget as tgw
    >>> editor = tgw.example()
    >>> graph, session = editor.graph, editor.session
    >>> tgw.edit(graph, session=session)
    <GraphEditor: 74 ops, 0 edits>
    >>> len(tgw.edit(graph.as_graph_def())._core.index)
    74
    """
    from tfgraphwidget.graph import no_collections

    with no_collections():  # a fifth of the time of a graph of a million ops, and of the imports
        from tfgraphwidget.editor import GraphEditor
        from tfgraphwidget.sources import open_source

        options: dict[str, Any] = {
            "signature": signature,
            "checkpoint": checkpoint,
            "tags": tags,
            "trusted": trusted,
        }
        source = open_source(graph, session, **options)
        editor = GraphEditor(source, show=_widget, layout=layout)
        if watch:
            from tfgraphwidget.editor import watch_file

            watch_file(editor._core, graph, lambda: open_source(graph, **options))
        return editor


@names_its_call
def beside(
    a: object,
    b: object,
    *,
    pairs: Mapping[TensorKey, object] | None = None,
    feeds: Mapping[TensorKey, object] | None = None,
    values: bool = False,
    ignore: DifferenceKind | Collection[DifferenceKind] | None = None,
    tolerance: float | Mapping[str, float] | None = None,
) -> Beside:
    """Show two models in two panes that move, zoom, expand and select together.

    Ops that differ are marked in both, and listed by scope; the list is stepped through with its
    buttons or with n and p. As the last line of a cell the result is displayed.

    Args:
        a: The model in the left pane: an editor, or what `tgw.edit` opens.
        b: The model in the right pane.
        pairs: {op of `a`: op of `b`}, where these are not matched as they should be. None for those
            that one of the editors was saved with: `save("net.tgw")` keeps them.
        feeds: {tensor of `b`: value}, to run both and compare all tensors: both drawings are
            colored by the difference, and the first divergence is selected.
        values: Whether the values of variables and constants are compared without a run, and listed
            with their norms, cosines and histograms. Feeds compare these too.
        ignore: Kinds of differences that are left out; see `GraphEditor.diff`.
        tolerance: What counts as equal; see `GraphEditor.compare`.

    Returns:
        A `Beside`: `.difference` as of `editor.diff`, `.comparison` as of `editor.compare`,
        `.save("compare.html")`; it is false in `if` where nothing differs.

    Raises:
        NotAGraph: One of them holds no graph or cannot be read.
        UnknownName: A name in `pairs` is not that of an op.

    >>> import tfgraphwidget as tgw
    >>> editor = tgw.example()
    >>> report = editor.connect("net/hidden/Add:0", "net/logits", 0)
    >>> both = tgw.beside(tgw.example(), editor, feeds={"x:0": [[1, 2, 3, 4]]})
    >>> [change.name for change in both.difference.changed]
    ['net/logits']
    >>> both.comparison.first_divergence.tensor
    'net/logits:0'
    """
    from tfgraphwidget.editor import open_beside
    from tfgraphwidget.errors import NotAGraph

    if b is None:
        raise NotAGraph("beside: the second model is None; give a graph, an editor or a path.")
    return open_beside(a, b, edit, _widget, pairs, feeds, tolerance, values=values, ignore=ignore)


def example() -> GraphEditor:
    """Open an editor of a small network with a session, as the examples here use it.

    x float32 [?, 4] → net/hidden/Relu [?, 8] → net/logits [?, 3] → loss, with labels int64 [?] and
    the step "train".

    >>> import tfgraphwidget as tgw
    >>> editor = tgw.example()
    >>> editor.session.run("net/logits:0", {"x:0": [[1, 2, 3, 4]]}).shape
    (1, 3)
    """
    from tfgraphwidget.sources import network

    return edit(*network())


@names_its_call
def sync(
    source: object,
    target: object,
    names: object = None,
    tau: float = 1.0,
    *,
    by_order: bool = False,
    slots: bool = False,
) -> tuple[tuple[str, str], ...]:
    """Give variables of `target` the present values of `source`. All are assigned, or none.

    Args:
        source: A model: an editor, the result of a clone, a Keras model or layer, a `tf.Module`,
            the result of `tf.saved_model.load`, the prefix of a checkpoint or the folder of a
            CheckpointManager, a file of Keras's weights for a Keras model, or what `tgw.edit`
            opens: a graph, a session, a `tf.function`, a SavedModel's folder.
        target: Another model. Of a file the editor: its session gets the values, saving writes
            them; it stays.
        names: Which variables belong together. None for those of equal name, compared without the
            name scopes of copies and of Keras models, or of equal place in two objects of one
            structure, as in a checkpoint; a mapping {source: target} of variables, scopes or Keras
            layers (names, paths or the objects); some of these that both models have, for example
            the first layers; or a function from a name to a name. Of a checkpoint of objects, or a
            SavedModel, all variables of a Keras model or module get values, as
            `tf.train.Checkpoint.restore` pairs them, or none; {"net": ""} says which of its objects
            is meant.
        tau: A number from 0 to 1: each variable gets (1 - tau) of its own value and tau of the new
            one.
        by_order: Pair all variables in the models' order, as for two models of one architecture
            whose names differ.
        slots: Whether the variables of a compiled Keras model's optimizer are included. Those of a
            graph of TensorFlow 1 are variables like all others, and go with the names.

    Returns:
        The pairs of names.

    Raises:
        UnknownName: A model lacks one of the names.
        SessionRefused: A variable has no value, or cannot be assigned.
        GraphEditError: Shapes or dtypes of a pair differ, or no variable has a counterpart.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> copy = editor.clone("x:0", "net/logits:0", into="copy")
        >>> editor.session.run("train", {"x:0": [[1, 2, 3, 4]], "labels:0": [0]})
        >>> tgw.sync(editor, copy, names=["net/hidden"])
        (('net/hidden/w:0', 'copy/net/hidden/w:0'), ('net/hidden/b:0', 'copy/net/hidden/b:0'))
        >>> {name: distance > 0 for name, distance in copy.drift().items()}
        {'net/hidden/w:0': False, 'net/hidden/b:0': False, 'net/w:0': True}
    """
    from tfgraphwidget.editor import synchronization

    return synchronization.sync(source, target, names, tau, by_order=by_order, slots=slots)


@names_its_call
def drift(
    source: object,
    target: object,
    names: object = None,
    *,
    by_order: bool = False,
    slots: bool = False,
) -> Drift:
    """Compare the values of two models' variables; nothing is assigned.

    Args:
        source: A model, as for `sync`, or the prefix of a checkpoint, "model.ckpt".
        target: Another model.
        names: Which variables belong together; see `sync`.
        by_order: Pair all variables in the models' order.
        slots: Whether the variables of a compiled Keras model's optimizer are included.

    Returns:
        By the source's names the largest absolute difference of two elements: 0.0 where all are
        equal; of booleans and strings 1.0 if any differ; infinity for other shapes, and where only
        one value is NaN. `.comparison` has the norms, the cosine and histograms of each pair, and
        the names of variables that have no partner.

    Raises:
        UnknownName: A model lacks one of the names.
        SessionRefused: A variable has no value.
        GraphEditError: No variable has a counterpart.

    Example:
        >>> import tfgraphwidget as tgw
        >>> before, after = tgw.example(), tgw.example()
        >>> after.session.run("train", {"x:0": [[1, 2, 3, 4]], "labels:0": [0]})
        >>> {name: distance > 0 for name, distance in tgw.drift(after, before).items()}
        {'net/hidden/w': True, 'net/hidden/b': True, 'net/w': True}
    """
    from tfgraphwidget.editor import synchronization

    return synchronization.drift(source, target, names, by_order=by_order, slots=slots)


@names_its_call
def renew(session: Session) -> tuple[str, ...]:
    """Make a session use edits of ops it has already run, which TensorFlow would ignore.

    The session object stays, with the values of its variables, tables and iterators. Editors renew
    the session that they were given themselves.

    Args:
        session: A `tf.compat.v1.Session`, or what wraps one, such as a MonitoredSession.

    Returns:
        A sentence for each thing that could not be kept.

    Raises:
        SessionRefused: If the session cannot be renewed; it is unchanged then.

    >>> import tfgraphwidget as tgw
    >>> editor = tgw.example()
    >>> feeds = {"x:0": [[1, 2, 3, 4]]}
    >>> before = editor.session.run("net/logits:0", feeds)
    >>> editor.renew = False
    >>> report = editor.bypass("net/hidden/Relu")
    >>> bool((editor.session.run("net/logits:0", feeds) == before).all())
    True
    >>> tgw.renew(editor.session)
    ()
    >>> bool((editor.session.run("net/logits:0", feeds) == before).all())
    False
    """
    from tfgraphwidget.runtime.session import renewal

    return renewal.renew(session)


def _widget(thing: GraphEditor | Beside) -> GraphWidget:
    from tfgraphwidget.editor import GraphEditor
    from tfgraphwidget.widget import GraphWidget

    if isinstance(thing, GraphEditor):
        return GraphWidget(thing)
    return GraphWidget(thing.after, beside=thing, height=_HEIGHT_OF_TWO)


def __dir__() -> list[str]:
    """The public names, those too whose modules are loaded on first use."""
    return [*__all__, "__version__"]


def __getattr__(name: str) -> object:
    """Load the modules of some public names on first use, because they import much."""
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    if name in _TRIED_TO_OPEN:
        hint = "; tfgraphwidget.edit opens a graph"
    else:
        hint = f"; it is editor.{name}" if name in _TRIED_ON_GRAPHS else ""
    raise AttributeError(f"module 'tfgraphwidget' has no attribute {name!r}{hint}")


if "ipykernel" in sys.modules:
    from tfgraphwidget.idle_import import import_when_idle

    import_when_idle()

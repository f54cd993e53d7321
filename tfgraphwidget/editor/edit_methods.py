"""The editor's methods for commands, a list: their parameters and documentation are those of the
commands.

What type checkers see of them is in `edit_methods.pyi`, which `python -m
tests.editor.edit_method_types` writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfgraphwidget import runtime
from tfgraphwidget.argument_checks import ArgumentChecks, set_property
from tfgraphwidget.editor import command_methods
from tfgraphwidget.editor.command_methods import EditMethod
from tfgraphwidget.editor.pass_values import PassValues
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import difference, effects_of
from tfgraphwidget.sources import open_source
from tfgraphwidget.tf_types import TensorsLike

if TYPE_CHECKING:
    from tfgraphwidget.editor.state import EditorCore


class EditMethods:
    """Edits of parts of the graph. Most methods return an `Edits`, which lists what was changed."""

    clone = EditMethod(result=command_methods.clone)
    add = EditMethod(result=command_methods.first_result)
    call = EditMethod(result=command_methods.first_result)

    reroute = EditMethod()
    swap = EditMethod()
    connect = EditMethod()
    bypass = EditMethod()
    detach = EditMethod()
    add_control_inputs = EditMethod()
    remove_control_inputs = EditMethod()

    insert = EditMethod()
    replace = EditMethod()
    remove = EditMethod()
    replace_all = EditMethod()

    rename = EditMethod()
    set_device = EditMethod()
    set_attr = EditMethod()
    set_constant = EditMethod()
    set_trainable = EditMethod()

    freeze = EditMethod()


class SignatureMethods:
    """Edits of the signatures. Each can be undone."""

    add = EditMethod("add_signature")
    rename = EditMethod("rename_signature")
    reorder = EditMethod("order_signature")
    remove = EditMethod("remove_signature")


class Passes(ArgumentChecks):
    """Edits of the whole graph and of the functions that it calls. Each can be undone.

    Passes leave the ops that others name: those of signatures, collections and the marked boundary,
    variables, and ops without consumers. A pass that has nothing to do returns a report that is
    false in `if`. With `functions=True` the functions that the graph calls are changed too: their
    calls call new functions.
    """

    def __init__(self, core: EditorCore, editor: Any) -> None:
        self._core, self._editor = core, editor

    __setattr__ = set_property

    def __repr__(self) -> str:
        return f"<passes: {', '.join(name for name in dir(type(self)) if name[0] != '_')}>"

    strip_training = EditMethod()
    remove_identities = EditMethod()
    merge_duplicates = EditMethod()
    fold_batch_norm = EditMethod()
    fold_constants = EditMethod()
    remove_devices = EditMethod()
    remove_attr = EditMethod()
    remove_collection = EditMethod()
    remove_functions = EditMethod()
    rename_type = EditMethod()
    sort = EditMethod()
    obfuscate_names = EditMethod()
    change_batch_size = EditMethod()
    set_input = EditMethod()
    cast = EditMethod(result=command_methods.edit_and_compare)
    round_weights = EditMethod(result=command_methods.edit_and_compare)
    quantize_weights = EditMethod(result=command_methods.edit_and_compare)

    def grappler(self, outputs: TensorsLike | None = None) -> runtime.measure.OptimizedGraph:
        """Show what TensorFlow's optimizer (grappler) makes of the graph, without changing it.

        Args:
            outputs: Ops or tensors that keep their names; None for the marked ones, those of the
                signature or function, or those without consumers.

        Returns:
            The optimized graph in an editor of its own, what each pass folded, fused and removed,
            and which op became which.

        Raises:
            GraphEditError: TensorFlow cannot optimize the graph.

        Example:
            >>> import tfgraphwidget as tgw
            >>> import tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
            ...     y = tf.multiply(x, tf.constant(1.0) + tf.constant(2.0), name="y")
            >>> result = tgw.edit(graph).passes.grappler("y")
            >>> [(each.name, each.folded) for each in result.passes if each.folded]
            [('constfold', ('add',))]
        """
        core = self._core
        fetched = core.arguments.outputs(outputs)
        if not fetched:
            raise GraphEditError(
                "grappler: no output is named, and nothing is needed of none; name an op."
            )
        trust = core.source.trust
        trust.check(
            effects_of(core.index, trust).of_graph(),
            "TensorFlow's optimizer, which computes constants, was not run",
        )
        graph_def, passes = runtime.measure.optimize(core.index, fetched, apart=trust.is_file)
        editor = type(self._editor)(open_source(graph_def, trusted=trust.is_given), core.show)
        change = difference(core.index, editor._core.index, whole_library=False)
        renamed = dict(change.renamed)
        names = ((name, renamed.get(name, name)) for name in core.index.names)
        pairs = {old: new for old, new in names if new in editor._core.index.ids}
        return runtime.measure.OptimizedGraph(editor, passes, change, pairs)


passes = PassValues(
    ["freeze", *(name for name, member in vars(Passes).items() if isinstance(member, EditMethod))]
)
"""The passes as values."""

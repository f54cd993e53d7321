"""Freezing: the edits that leave less of a graph, and parts taken out of it. GraphEditor is one of these."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tfgraphwidget.editor.executor import Renew
from tfgraphwidget.editor.graph_view import Names
from tfgraphwidget.editor.reworking import Reworking
from tfgraphwidget.edits.command import Edits
from tfgraphwidget.edits.freeze.commands import Freeze, StripTraining, results
from tfgraphwidget.edits.freeze.fold_batch_norm import FoldBatchNorm
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.boundary import left_out, needed, unused
from tfgraphwidget.graph.variables import HANDLES, definitions
from tfgraphwidget.runtime.session import edit_values
from tfgraphwidget.sources import open_source


class Freezing(Reworking):
    """Freezes, strips, folds and extracts."""

    _show: Callable[[Any], Any]

    def freeze(self, outputs: Names | None = None, inputs: Names = (), *, renew: Renew = "always") -> Edits:
        """Make constants of the variables that `outputs` need, with their present values; the rest of the graph goes.

        `outputs` are ops or tensors. Without them, and without `inputs`, the chosen ones are taken; else those of the
        signature, or what nobody reads. `inputs` are fed from then on: one that is no placeholder becomes one, what
        stands before it goes too when nothing else needs it, and one that the outputs do not use is left out. Loops and
        conditionals stay what they are. On a live graph the rest is hidden, and undo brings it back.

        Raises SessionRefused for variables without values.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.freeze("net/logits:0")
        >>> len(report.removed), editor.of_type("Const").ops
        (69, ('net/hidden/w_1', 'net/hidden/b_1', 'net/w_1'))
        """
        index = self.index
        cut = self._names(inputs)
        names = self._results(outputs, chosen=not cut)
        need = np.flatnonzero(needed(index, cut, names)).tolist()
        variables = tuple(definitions(index, [i for i in need if index.types[i] in HANDLES]).values())
        values = edit_values.present(self._source, self.room.body, variables) if variables else {}
        dtypes = {v.handle: index.nodes[index.ids[v.handle]].attr["dtype"].type for v in variables}
        tensors = {name: edit_values.tensor_proto(value, dtypes[name]) for name, value in values.items()}
        return self.edit(Freeze(names, cut, tensors), renew=renew)

    def strip_training(self, outputs: Names | None = None, *, renew: Renew = "always") -> Edits:
        """Let go of what `outputs` do not need: gradients, optimisers with their slots, savers, summaries.

        The default is that of `freeze`. The variables that are needed stay, with what initialises them.
        Raises UnknownName.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.strip_training("net/logits:0")
        <Edits: 51 ops removed>
        """
        return self.edit(StripTraining(self._results(outputs)), renew=renew)

    def fold_batch_norm(self, what: Any = (), *, renew: Renew = "always") -> Edits:
        """Fold batch normalisations, those in `what` or all, into the weights of the convolution before them.

        Their numbers must be constants (`freeze` makes them so), and they must be in inference mode.
        Raises GraphEditError, which names the op, where they are not.

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
        index = self.index
        ops = self._each(() if what is None else what)
        return self.edit(FoldBatchNorm(ops, partial(edit_values.numbers, index), edit_values.constant), renew=renew)

    def extract(self, inputs: Names | None = None, outputs: Names | None = None) -> Any:
        """A part as a graph of its own, in an editor of its own, with the values of its variables.

        The part is what `outputs` need, up to `inputs`; of a call that names neither, the chosen boundary. Ops keep
        their names, inputs become placeholders; one that the outputs do not use is left out, as `notices` of the new
        editor says. The graph here stays as it is. Raises GraphEditError in a function's body.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> part = editor.extract("net/hidden/Relu:0", "net/logits:0")
        >>> part.inputs, part.outputs
        (('net/hidden/Relu:0',), ('net/logits:0',))
        >>> part.session.run("net/logits:0", {"net/hidden/Relu:0": [[1.0] * 8]}).shape
        (1, 3)
        """
        if self.in_function:
            raise GraphEditError(
                "A part of a function's body is taken out as a tf.Module: editor.clone(inputs, outputs, into='part')."
            )
        ends = self._boundary(inputs, outputs)[0], self._results(outputs, chosen=inputs is None)
        part = self.upstream(*ends[1], stop_at=ends[0])
        behind = [name for name in ends[0] if self.index.op(name) in part.ids and ":" not in name]
        graph, session = edit_values.empty()
        init = self.default_init()
        command = self.command(
            part - self.ops(*behind) if behind else part, into="", init=init, graph=graph, session=session
        )
        history, fresh, listeners = self._history, self.fresh, self.listeners
        try:
            self.listeners = []  # the step is no edit of this graph: nobody is to hear of it
            self.do(command)
        except BaseException:
            session.close()
            raise
        finally:
            self._history, self.fresh, self.listeners = history, fresh, listeners
        taken = type(self)(open_source(graph, session), self._show)
        there = taken.index.ids
        taken.mark(*([n for n in side if n.partition(":")[0] in there] for side in ends))
        taken._source.notices += left_out(unused(self.index, ends[0], part.mask), ends[1])
        return taken

    def _results(self, given: Names | None, *, chosen: bool = True) -> tuple[str, ...]:
        """What is wanted of a graph: as said, as chosen, as the signature has it, or as it seems to be for.

        What is `chosen` is not asked for by a call that names the other side of the boundary; see `_boundary`.
        """
        if given is not None:
            return self._names(given)
        body, signature = self.room.body, self._source.signature
        told = (self.outputs if chosen else ()) or tuple(body.returns.values())
        if not told and signature is not None and body is self._source.body:
            told = tuple(name for _, name in signature.outputs)
        return tuple(name for name in told if name.partition(":")[0] in self.index.ids) or results(self.index)

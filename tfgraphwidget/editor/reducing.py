"""Reducing: an edited function's body as something to call. GraphEditor is one of these."""

from __future__ import annotations

from typing import Any

from tfgraphwidget.editor import function_bodies
from tfgraphwidget.editor.freezing import Freezing
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.naming import split_tensor


class Reducing(Freezing):
    """Makes functions of edited bodies."""

    def module(self, name: str = "edited") -> Any:
        """The function one stands in, as edits have left it: a tf.Module, an
        `runtime.functions.module_clone.ModuleCopy`.

        It takes the function's arguments, in their order or by their names, and gives its results; `.signature` gives
        them as a dict. Variables are the function's own, shared with it; those of a file get the values that its
        checkpoint has. It can be trained, and saved by `tf.saved_model.save`. The function itself stays as it is. It
        calls the functions behind its ops as edits have left them.

        Raises GraphEditError in a graph, which is no function, and for what cannot stand alone.

        >>> import tfgraphwidget as tgw
        >>> import tensorflow as tf
        >>> fn = tf.function(lambda x: tf.nn.relu(x) * 2.0, autograph=False)
        >>> editor = tgw.edit(fn, signature=[tf.TensorSpec([None], tf.float32)])
        >>> report = editor.bypass("Relu")
        >>> module = editor.module()
        >>> module, module(tf.constant([-1.0, 3.0])).numpy().tolist()
        (<ModuleCopy 'edited': 0 variables of its own, 0 shared>, [-2.0, 6.0])
        """
        if not self.in_function:
            raise GraphEditError(
                "Here one stands in a graph, which is no function to call: run it in its session, or take a part as a "
                "graph of its own: editor.extract(inputs, outputs)."
            )
        arguments, returns = self._function_ends()
        index = function_bodies.taken_along(self._rooms, self.breadcrumb, self.index)
        return function_bodies.edited(self._source, self.room.body, index, (arguments, self._by_key(returns)), name)

    def _by_key(self, returns: dict[str, str]) -> dict[str, str]:
        """The results under the names that the signature calls them by, in the body that does its work."""
        opened, entrance = self._source.signature, self._source.entrance
        signature = next((s for s in self.signatures if opened is not None and s.name == opened.name), None)
        if signature is None or not entrance or self.breadcrumb[1:] != entrance:
            return returns
        ends = ((key, split_tensor(name)) for key, name in signature.outputs)
        keys = {port: key for key, (op, port) in ends if op == entrance[0]}
        return {keys.get(port, key): name for port, (key, name) in enumerate(returns.items())}

    def function(self, name: str = "edited") -> Any:
        """The same as a `tf.function`, which keeps its variables alive.

        >>> import tfgraphwidget as tgw
        >>> import tensorflow as tf
        >>> fn = tf.function(lambda x: tf.nn.relu(x) * 2.0, autograph=False)
        >>> editor = tgw.edit(fn, signature=[tf.TensorSpec([None], tf.float32)])
        >>> report = editor.bypass("Relu")
        >>> edited = editor.function()
        >>> edited(tf.constant([-1.0, 3.0])).numpy().tolist()
        [-2.0, 6.0]
        """
        module = self.module(name)
        module.run.module = module
        return module.run

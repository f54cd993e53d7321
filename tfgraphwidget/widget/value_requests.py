"""Values of tensors as variables of the notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.naming import identifier, last_part, split_tensor
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.kernel_namespace import KernelNamespace

if TYPE_CHECKING:
    from tfgraphwidget.editor import GraphEditor


class ValueRequests:
    """Answers to Assign: the whole value of a tensor as a numpy array, whatever the panel shows of it."""

    def __init__(self, editor: GraphEditor, namespace: KernelNamespace) -> None:
        self._editor, self._namespace = editor, namespace

    def assign(self, request: p.Assign) -> p.Assigned:
        """Make a value a variable, or propose a name. Raises InvalidArgument for a name that is taken."""
        if not request.variable:
            name = identifier(last_part(split_tensor(request.name.rstrip("/"))[0])) or "value"
            return p.Assigned(self._namespace.free_name(name), "", "")
        value = self._value(request.name)
        self._namespace.assign(request.variable, value, overwrite=request.overwrite)
        return p.Assigned(request.variable, str(value.dtype), str(value.shape))

    def _value(self, name: str) -> Any:
        """The value of a tensor of the last run, else the current one of a variable or constant."""
        op, port = split_tensor(name)
        stats = next((each for each in self._editor.probed.get(op, ()) if each.name == f"{op}:{port or 0}"), None)
        if stats is not None and stats.value is not None:
            return np.array(stats.value)
        if stats is not None and stats.note:
            raise GraphEditError(f"{name!r} has no value: {stats.note}.", [op])
        return np.array(self._editor.inspect(op).array())

"""tf.custom_gradient in NodeDefs: TensorFlow keeps its gradient as a Python closure over the original's tensors."""

from __future__ import annotations

from typing import Any

KEY = "_gradient_op_type"
_CLOSURE = b"CustomGradient-"


def is_closure(node: Any) -> bool:
    """Whether the gradient of a NodeDef is a Python closure over the tensors of its graph."""
    return KEY in node.attr and node.attr[KEY].s.startswith(_CLOSURE)


def disown(node: Any) -> bool:
    """Let the gradient of a copied NodeDef be an error, in place, where it `is_closure`; whether it was.

    Kept, the gradient through the copy would be the original's. Under a name that nobody has registered it fails, and
    the name says why.
    """
    found = is_closure(node)
    if found:
        node.attr[KEY].s += b" belongs to the original: a copy of tf.custom_gradient has no gradient"
    return found

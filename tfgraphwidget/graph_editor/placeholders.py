"""Placeholders that represent tensors from outside, and names of scopes."""

from __future__ import annotations

from typing import Any

from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.graph_editor.lists import as_tensor, check_type, value_of
from tfgraphwidget.naming import is_scope_name
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import copy_tensor_handle_data
from tfgraphwidget.tf_types import DTypeLike, Tensor

DEFAULT_PREFIX = "geph"
"""Short for "graph editor placeholder"."""


def scope_finalize(scope: str) -> str:
    """The scope with a slash at its end; "" stays.

    >>> scope_finalize("a/b"), scope_finalize("a/b/"), scope_finalize("")
    ('a/b/', 'a/b/', '')
    """
    return scope if not scope or scope.endswith("/") else f"{scope}/"


def check_scope(scope: str) -> None:
    """Raise ValueError for what is not a name scope; "" is the root."""
    if scope and not is_scope_name(scope.removesuffix("/")):
        raise ValueError(
            f"{value_text(scope)} is not a name scope; use letters, digits, '_', '-', '.' and '/'."
        )


def scope_dirname(scope: str) -> str:
    """The name up to the last slash, including it.

    Args:
        scope: A name scope, such as "a/b".

    >>> scope_dirname("a/b/c"), scope_dirname("c")
    ('a/b/', '')
    """
    return scope[: scope.rfind("/") + 1]


def scope_basename(scope: str) -> str:
    """The name after the last slash.

    Args:
        scope: A name scope, such as "a/b".

    >>> scope_basename("a/b/c"), scope_basename("c")
    ('c', 'c')
    """
    return scope[scope.rfind("/") + 1 :]


def placeholder_name(
    t: Tensor | None = None, scope: str | None = None, prefix: str = DEFAULT_PREFIX
) -> str:
    """A name for a placeholder, such as "foo/geph__c_0" for output 0 of "foo/c".

    Args:
        t: The tensor that it represents, if any.
        scope: The scope; None for the tensor's own, "" for the root.
        prefix: What the name begins with. A name that begins with it already is kept.

    Raises:
        TypeError: `t` is not a tensor.
    """
    if t is None:
        return scope_finalize(scope or "") + prefix
    t = as_tensor(t)
    check_type(t, (tf.Tensor,))
    name = scope_basename(t.op.name)
    if not name.startswith(f"{prefix}__"):
        name = f"{prefix}__{name}_{t.value_index}"
    where = scope_dirname(t.op.name) if scope is None else scope_finalize(scope)
    return where + name


def make_placeholder_from_tensor(
    t: Tensor, scope: str | None = None, prefix: str = DEFAULT_PREFIX
) -> Tensor:
    """A placeholder in the default graph and name scope, with the tensor's dtype and shape.

    What is known of the variable of a resource tensor goes along. A reference (`float32_ref`)
    gives a placeholder of its value, since TensorFlow feeds no references.

    Args:
        t: The tensor that it represents; of a variable its value.
        scope: The scope of `placeholder_name`.
        prefix: The prefix of `placeholder_name`.

    Raises:
        TypeError: `t` is not a tensor.
    """
    check_type(as_tensor(t), (tf.Tensor,))
    name, t = placeholder_name(t, scope=scope, prefix=prefix), value_of(t)
    placeholder: Tensor = tf.compat.v1.placeholder(
        dtype=t.dtype.base_dtype, shape=t.shape, name=name
    )
    copy_tensor_handle_data(t, placeholder)
    return placeholder


def make_placeholder_from_dtype_and_shape(
    dtype: DTypeLike, shape: Any = None, scope: str | None = None, prefix: str = DEFAULT_PREFIX
) -> Tensor:
    """A placeholder in the default graph and name scope, named "geph".

    Args:
        dtype: Its dtype.
        shape: Its shape; None for unknown.
        scope: The scope of `placeholder_name`.
        prefix: The prefix of `placeholder_name`.
    """
    try:
        dtype, shape = tf.as_dtype(dtype), tf.TensorShape(shape)
    except Exception as error:  # what can be gone through may raise anything
        raise TypeError(
            f"{value_text(dtype)} and {value_text(shape)} are no dtype and shape; give tf.float32, "
            "[None]."
        ) from error
    name = placeholder_name(scope=scope, prefix=prefix)
    placeholder: Tensor = tf.compat.v1.placeholder(dtype=dtype, shape=shape, name=name)
    return placeholder

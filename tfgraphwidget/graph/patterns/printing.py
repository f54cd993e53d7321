"""Values of patterns as text, in one form for all that mean the same; `text` says what it means."""

from __future__ import annotations

from types import EllipsisType

from tfgraphwidget.graph.patterns.structure import (
    ANY,
    Alternatives,
    AnyOf,
    Attribute,
    AttributeComparison,
    Constant,
    Literal,
    Node,
    Regex,
    TensorType,
    Value,
    Variable,
    Wildcard,
)
from tfgraphwidget.graph.tensors import ShapePattern


def print_value(value: Value, *, is_choice: bool = False) -> str:
    """The text of one value; `is_choice` for one of several."""
    if isinstance(value, Variable):
        return (value.name or "_") + (f":{value.port}" if value.port else "") + _typed_text(value.tensor_type)
    name = f"{value.name}=" if value.name else ""
    if isinstance(value, Alternatives):
        return f"{name}({' | '.join(print_value(choice, is_choice=True) for choice in value.choices)})"
    if isinstance(value, Constant):
        text = literal_text(value.value)
        # As an argument, `name=0.5` would be an attribute.
        if value.tolerance is not None or value.name:
            tolerance = "" if value.tolerance is None else f", tolerance={literal_text(value.tolerance)}"
            text = f"Const({text}{tolerance})"
        return f"{name}{text}{_typed_text(value.tensor_type)}"
    port = f":{value.port}" if value.port else ""
    return (
        f"{name}{'|'.join(value.types)}{_arguments(value, is_choice=is_choice)}{port}{_typed_text(value.tensor_type)}"
    )


def _arguments(node: Node, *, is_choice: bool) -> str:
    texts = [
        "..." if isinstance(each, EllipsisType) else print_value(each)
        for each in ((...,) if node.inputs is None else node.inputs)
    ]
    is_constant = node.types == ("Const",)
    if node.inputs is None and is_constant:
        texts = []
    texts += [attribute_text(name, attribute) for name, attribute in node.attributes]
    texts += [f"^{print_value(control)}" for control in node.controls]
    if node.inputs is None and not (node.attributes or node.controls) and not (is_choice and not is_constant):
        return ""
    return f"({', '.join(texts)})"


def attribute_text(name: str, attribute: Attribute) -> str:
    """The attribute `name` as a pattern writes it: padding='SAME'."""
    if isinstance(attribute, Wildcard):
        return f"{name}=${attribute.name}"
    if isinstance(attribute, AnyOf):
        return f"{name}={{{', '.join(map(literal_text, attribute.values))}}}"
    if isinstance(attribute, AttributeComparison):
        return f"{name}{attribute.sign}{literal_text(attribute.value)}"
    if isinstance(attribute, Regex):
        return f"{name}=/{attribute.text}/"
    if callable(attribute):
        return f"{name}=<{getattr(attribute, '__name__', 'function')}>"
    return f"{name}={literal_text(attribute)}"


def literal_text(value: Literal) -> str:
    """A value as a pattern writes it: 0.5, 'SAME', [1, 2]."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(literal_text, value))}]"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return repr(value)


def _typed_text(tensor_type: TensorType) -> str:
    if tensor_type == ANY:
        return ""
    dtype = f"${tensor_type.dtype.name}" if isinstance(tensor_type.dtype, Wildcard) else tensor_type.dtype
    return f": {dtype}{'' if tensor_type.shape == '*' else f'[{_shape_text(tensor_type.shape)}]'}"


def _shape_text(shape: ShapePattern) -> str:
    if shape is None:
        return "unknown"
    sizes = ["?" if size is None else "..." if size is ... else str(size) for size in shape]
    return "x".join(sizes) or "scalar"

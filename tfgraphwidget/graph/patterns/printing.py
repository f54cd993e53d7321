"""Values of patterns as text, in one form for all that mean the same; `text` says what it means."""

from __future__ import annotations

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
        name = value.name or "_"
        return name + _port_text(value.port) + _type_text(value.tensor_type)
    name = f"{value.name}=" if value.name else ""
    if isinstance(value, Alternatives):
        choices = [print_value(choice, is_choice=True) for choice in value.choices]
        return f"{name}({' | '.join(choices)})"
    if isinstance(value, Constant):
        return name + _constant_text(value) + _type_text(value.tensor_type)
    types = "|".join(value.types)
    arguments = _arguments(value, is_choice=is_choice)
    return name + types + arguments + _port_text(value.port) + _type_text(value.tensor_type)


def _constant_text(value: Constant) -> str:
    """A constant without its name and type."""
    text = literal_text(value.value)
    if value.tolerance is not None:
        return f"Const({text}, tolerance={literal_text(value.tolerance)})"
    # As an argument, `name=0.5` would be an attribute.
    return f"Const({text})" if value.name else text


def _port_text(port: int) -> str:
    """The port of a tensor; the first is left out."""
    return f":{port}" if port else ""


def _arguments(node: Node, *, is_choice: bool) -> str:
    """The inputs, attributes and control inputs of a node in parentheses; "" for no condition."""
    is_constant = node.types == ("Const",)
    texts = []
    if node.inputs is not None:
        texts += ["..." if value is ... else print_value(value) for value in node.inputs]
    elif not (node.attributes or node.controls or (is_choice and not is_constant)):
        return ""  # a type alone; as a choice, it has its parentheses
    elif not is_constant:
        texts.append("...")
    texts += [attribute_text(name, attribute) for name, attribute in node.attributes]
    texts += [f"^{print_value(control)}" for control in node.controls]
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


def _type_text(tensor_type: TensorType) -> str:
    """A dtype and a shape after a value; "" for any."""
    if tensor_type == ANY:
        return ""
    dtype = tensor_type.dtype
    text = f": ${dtype.name}" if isinstance(dtype, Wildcard) else f": {dtype}"
    if tensor_type.shape != "*":
        text += f"[{_shape_text(tensor_type.shape)}]"
    return text


def _shape_text(shape: ShapePattern) -> str:
    """A shape in the notation of queries: ?x3, ...x10, scalar, unknown."""
    if shape is None:
        return "unknown"
    signs: dict[object, str] = {None: "?", ...: "..."}
    sizes = [signs.get(size) or str(size) for size in shape]
    return "x".join(sizes) or "scalar"

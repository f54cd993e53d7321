"""What is done to a file so that it is damaged: to its bytes, its fields, its messages, its JSON.
No TensorFlow.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

from tfgraphwidget.sources import tf_protos

_HUGE = (2**31 - 1, 2**63 - 1, -1, -(2**63), 10**6, 2**31, 0)
_NAMES = (
    "",
    "/",
    "a//b",
    "^x",
    ":0",
    "x:1",
    "\x00",
    "größe",
    "..",
    "a/" * 300,
    "n" * 100_000,
    "_x",
    "a b",
    "x" * 3,
)
_TYPES = (
    "", "Nothing", "Switch", "Merge", "Enter", "NextIteration", "While", "Const", "AddN",
    "Placeholder", "VarHandleOp", "PartitionedCall", "IteratorV2", "LookupTableFindV2",
)  # fmt: skip
_FLAWS = ("set", "flip", "cut", "drop", "repeat", "splice", "varint", "zeros")


# Bytes


def damaged_bytes(data: bytes, chance: random.Random) -> bytes:
    """The bytes with a few of them others."""
    held = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 5, 40))):
        if not held:
            break
        at, value = chance.randrange(len(held)), chance.randrange(256)
        match chance.choice(_FLAWS):
            case "set":
                held[at] = value
            case "flip":
                held[at] ^= 1 << value % 8
            case "cut" if chance.random() < 0.2:
                del held[at:]
            case "drop":
                del held[at : at + value % 32]
            case "repeat":
                held[at:at] = held[max(at - value, 0) : at] * chance.choice((1, 1, 50))
            case "splice":
                start = chance.randrange(len(held))
                held[at : at + value] = held[start : start + value]
            case "varint":
                held[at:at] = b"\xff" * 9 + b"\x01"
            case _:
                held[at : at + value] = bytes(value)
    return bytes(held)


# Fields of protobuf's wire format


def damaged_fields(data: bytes, chance: random.Random, other: bytes = b"") -> bytes:
    """A message with a field damaged, most often deep in it, and the lengths of those around it
    right.

    Args:
        data: The message; its kind need not be known.
        chance: Draws what is done.
        other: A message whose fields may get into this one.
    """
    fields = [*_fields(data)]
    if not fields:
        return damaged_bytes(data, chance)
    place = chance.randrange(len(fields))
    key, value = fields[place]
    if key & 7 == _LENGTH and len(value) > 1 and chance.random() < 0.8:
        fields[place] = key, damaged_fields(value, chance, other)
        return b"".join(_field(*each) for each in fields)
    parts = [_field(*each) for each in fields]
    flaw = chance.choice([*_FIELD_FLAWS])
    if flaw == "move":
        parts.append(parts.pop(place))
    elif flaw == "splice":
        parts.insert(place, _field(*chance.choice([*_fields(other)] or fields)))
    else:
        parts[place] = _FIELD_FLAWS[flaw](key, value, chance)
    return b"".join(parts)


def _nested(key: int, value: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.choice((1, 20, 99, 101, 1_000))):
        value = _field(key & ~7 | _LENGTH, value[-20_000:])
    return value


_LENGTH, _FIXED = 2, {1: 8, 5: 4}  # types of fields
_FIELD_FLAWS: dict[str, Callable[[int, bytes, random.Random], bytes]] = {
    "move": lambda key, value, _: _field(key, value),
    "splice": lambda key, value, _: _field(key, value),
    "drop": lambda *_: b"",
    "repeat": lambda key, value, chance: _field(key, value) * chance.choice((2, 3, 50, 1_000)),
    "length": lambda key, value, chance: (
        _varint(key & ~7 | _LENGTH) + _varint(chance.choice((0, len(value) + 1, *_HUGE))) + value
    ),
    "number": lambda key, _, chance: _field(key & ~7, _varint(chance.choice(_HUGE))),
    "kind": lambda key, value, chance: _field(chance.randrange(1, 40) << 3 | key & 7, value),
    "type": lambda key, value, chance: _field(key & ~7 | chance.randrange(8), value),
    "nest": _nested,
    "text": lambda key, _, chance: _field(
        key & ~7 | _LENGTH, chance.choice(_NAMES).encode()[:20_000]
    ),
    "bytes": lambda key, value, chance: _field(key & ~7 | _LENGTH, damaged_bytes(value, chance)),
}


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The keys and values of a message's fields; none when it is not a message."""
    found, at = list[tuple[int, bytes]](), 0
    while at < len(data):
        key, at = _read_varint(data, at)
        size = _FIXED.get(key & 7, 0)
        if key & 7 == _LENGTH:
            size, at = _read_varint(data, at)
        elif key & 7 == 0:
            size = _read_varint(data, at)[1] - at
        elif not size:
            return iter(())
        if not key >> 3 or at + size > len(data):
            return iter(())
        found.append((key, data[at : at + size]))
        at += size
    return iter(found)


def _field(key: int, value: bytes) -> bytes:
    return _varint(key) + (_varint(len(value)) if key & 7 == _LENGTH else b"") + value


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """A number, and where it ends."""
    value = shift = 0
    while at < len(data) and shift < 70:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at
    return 0, len(data) + 1


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    encoded = b""
    while value > 127:
        encoded, value = encoded + bytes([value & 127 | 128]), value >> 7
    return encoded + bytes([value])


# Texts

_BRACKETS = (("[", "]"), ('{"a":', "}"), ("attr { value { func { ", "}}}"), ("a {", "}"))


def damaged_text(text: str, chance: random.Random) -> str:
    """Text with lines, brackets, numbers or words others: of protobuf's text format, or of JSON."""
    lines = text.splitlines()
    for _ in range(chance.choice((1, 1, 2, 5))):
        if not lines:
            break
        at = chance.randrange(len(lines))
        match chance.randrange(8):
            case 0:
                del lines[at]
            case 1:
                lines[at:at] = lines[max(at - chance.randrange(20), 0) : at + 1] * chance.choice(
                    (1, 2, 200)
                )
            case 2:
                lines[at] = re.sub(
                    r"-?\d+",
                    lambda _: str(chance.choice((*_HUGE, 2**64, 2**200, "1e999"))),
                    lines[at],
                )
            case 3:
                lines[at] = re.sub(
                    '".*"', lambda _: json.dumps(chance.choice(_NAMES)[:2_000]), lines[at]
                )
            case 4:
                depth = chance.choice((5, 98, 101, 900, 30_000))
                begin, end = chance.choice(
                    (("[", "]"), ('{"a":', "}"), ("attr { value { func { ", "}}}"), ("a {", "}"))
                )
                lines[at] = begin * depth + lines[at] + end * depth
            case 5:
                lines[at] = re.sub(
                    r"[a-z_]+", chance.choice(("node", "attr", "x", "", "nan", "null")), lines[at]
                )
            case 6:
                lines[at] += chance.choice(("}", "{", ",", '"', "\\", "\0", "\ud800", "<", "# "))
            case _:
                other = chance.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
    return "\n".join(lines)


# Messages


def damaged_graph(graph: Any, chance: random.Random) -> None:
    """Change a GraphDef so that it still is one, but no good one."""
    for _ in range(chance.choice((1, 1, 2, 4))):
        nodes = graph.node
        if not nodes:
            return
        node = chance.choice(nodes)
        chance.choice(_NODE_FLAWS)(graph, node, chance)


def _rename(_: Any, node: Any, chance: random.Random) -> None:
    node.name = chance.choice(_NAMES)


def _name_twice(graph: Any, node: Any, chance: random.Random) -> None:
    node.name = chance.choice(graph.node).name


def _name_deep(_: Any, node: Any, chance: random.Random) -> None:
    node.name = (
        "/".join([chance.choice(("s", "t"))] * chance.choice((50, 199, 201, 2_000, 20_000)))
        + "/"
        + node.name
    )


def _input(graph: Any, node: Any, chance: random.Random) -> None:
    other = chance.choice(graph.node).name
    names = (
        node.name,
        f"{other}:{chance.choice(_HUGE)}",
        f"^{other}",
        f"^{node.name}",
        "",
        ":",
        "^",
        "nowhere",
        other,
    )
    if node.input and chance.random() < 0.7:
        node.input[chance.randrange(len(node.input))] = chance.choice(names)
    else:
        node.input.append(chance.choice(names))


def _inputs_gone(_: Any, node: Any, chance: random.Random) -> None:
    del node.input[chance.randrange(len(node.input) + 1) :]


def _inputs_many(_: Any, node: Any, chance: random.Random) -> None:
    node.input.extend([*node.input] * chance.choice((1, 100)))


def _type(_: Any, node: Any, chance: random.Random) -> None:
    node.op = chance.choice(_TYPES)


def _attr(_: Any, node: Any, chance: random.Random) -> None:
    keys = sorted(node.attr) or ["T"]
    attr = node.attr[chance.choice(keys)]
    choices: list[Callable[[], Any]] = [
        lambda: setattr(attr, "i", chance.choice(_HUGE)),
        lambda: setattr(attr, "type", chance.choice((0, 1, 20, 21, 23, 101, 120))),
        lambda: setattr(
            attr, "s", chance.choice((b"", b"\xff\xfe", b"x" * 1000, b"loc:@" + node.name.encode()))
        ),
        lambda: setattr(attr, "b", True),
        lambda: setattr(attr, "f", float("nan")),
        lambda: attr.list.i.extend([chance.choice(_HUGE)] * 3),
        lambda: attr.list.type.extend([chance.choice((1, 3, 20))] * chance.choice((1, 5, 1_000))),
        lambda: attr.func.CopyFrom(tf_protos.AttrValue(func={"name": "nowhere"}).func),
        lambda: setattr(attr, "placeholder", "T"),
        lambda: attr.shape.dim.add(size=chance.choice(_HUGE)),
        lambda: setattr(attr.shape, "unknown_rank", True),
        lambda: attr.tensor.tensor_shape.dim.add(size=chance.choice(_HUGE)),
        lambda: setattr(attr.tensor, "dtype", chance.choice((0, 7, 20, 21, 101))),
        lambda: setattr(attr.tensor, "tensor_content", b"\x01\x02\x03"),
        attr.Clear,
    ]
    chance.choice(choices)()


def _attr_gone(_: Any, node: Any, chance: random.Random) -> None:
    if node.attr:
        del node.attr[chance.choice(sorted(node.attr))]


def _device(_: Any, node: Any, chance: random.Random) -> None:
    node.device = chance.choice(("/gpu:0", "nonsense", "/job:a/task:99999999999", "\n", "/" * 1000))


def _many_outputs(graph: Any, node: Any, chance: random.Random) -> None:
    unpack = graph.node.add(
        name=f"unpack_{len(graph.node)}",
        op=chance.choice(("Unpack", "Split", "ShapeN", "IdentityN")),
    )
    unpack.input.append(node.name)
    for key, attr in (("num", "i"), ("num_split", "i"), ("N", "i")):
        setattr(unpack.attr[key], attr, chance.choice(_HUGE))
    unpack.attr["T"].type = 1


def _node_twice(graph: Any, node: Any, _: random.Random) -> None:
    graph.node.add().CopyFrom(node)


def _node_gone(graph: Any, node: Any, _: random.Random) -> None:
    graph.node.remove(node)


def _function(graph: Any, node: Any, chance: random.Random) -> None:
    functions = graph.library.function
    if not functions:
        new = functions.add()
        new.signature.name = chance.choice(("f", "", node.name))
        new.ret["y"] = "nowhere:0"
        return
    function = chance.choice(functions)
    flaws: list[Callable[[], Any]] = [
        lambda: setattr(
            function.signature,
            "name",
            chance.choice([*_NAMES, chance.choice(functions).signature.name]),
        ),
        lambda: function.node_def.add(name="again", op=function.signature.name),
        function.ret.clear,
        lambda: function.signature.input_arg.add(
            name=chance.choice(_NAMES[:8]), type=chance.choice((0, 1, 20))
        ),
        lambda: function.ClearField("node_def"),
        lambda: graph.library.gradient.add(
            function_name=function.signature.name, gradient_func="nowhere"
        ),
        lambda: damaged_graph(function_graph(function), chance),
    ]
    chance.choice(flaws)()


def function_graph(function: Any) -> Any:
    """A function's body under the name that a graph has for it."""

    class Body:
        node = function.node_def
        library = tf_protos.GraphDef().library

    return Body()


_NODE_FLAWS: tuple[Callable[[Any, Any, random.Random], None], ...] = (
    _rename, _name_twice, _name_deep, _input, _input, _input, _inputs_gone, _inputs_many, _type,
    _attr, _attr, _attr,
    _attr, _attr_gone, _device, _many_outputs, _node_twice, _node_gone, _function,
)  # fmt: skip


def damaged_meta(meta: Any, chance: random.Random) -> None:
    """Change what a MetaGraphDef says of its graph."""
    for _ in range(chance.choice((0, 1, 2))):
        chance.choice(_META_FLAWS)(meta, chance)
    if chance.random() < 0.6:
        damaged_graph(meta.graph_def, chance)


def _collection(meta: Any, chance: random.Random) -> Any:
    return meta.collection_def[chance.choice(sorted(meta.collection_def) or ["variables"])]


def _name(meta: Any, chance: random.Random) -> str:
    name: str = chance.choice([node.name for node in meta.graph_def.node] or [""])
    return chance.choice((name, f"{name}:{chance.choice(_HUGE)}", "", "nowhere:0", ":"))


def _signature(meta: Any, chance: random.Random) -> None:
    signature = meta.signature_def[chance.choice(("serving_default", "", "a/b"))]
    signature.inputs[chance.choice(_NAMES[:8])].name = _name(meta, chance)
    signature.outputs["y"].name = _name(meta, chance)


def _asset(meta: Any, chance: random.Random) -> None:
    asset = meta.asset_file_def.add(
        filename=chance.choice(("../../etc/passwd", "/etc/passwd", "", "a/../.."))
    )
    asset.tensor_info.name = _name(meta, chance)


_META_FLAWS: tuple[Callable[[Any, random.Random], Any], ...] = (
    lambda meta, chance: _collection(meta, chance).bytes_list.value.append(b"\xff\x01\x02"),
    lambda meta, chance: _collection(meta, chance).node_list.value.append(_name(meta, chance)),
    lambda meta, chance: _collection(meta, chance).Clear(),
    lambda meta, _: meta.collection_def["while_context"].bytes_list.value.append(b"\x0a\x05loop/"),
    lambda meta, chance: setattr(meta.saver_def, "restore_op_name", _name(meta, chance)),
    _signature,
    _asset,
    lambda meta, chance: meta.meta_info_def.tags.append(chance.choice(_NAMES[:6])),
    lambda meta, chance: meta.meta_info_def.stripped_op_list.op.add(
        name=chance.choice(("Add", "", "Nothing"))
    ),
    lambda meta, chance: meta.object_graph_def.nodes.add().children.add(
        node_id=chance.choice((-1, 5, 2**31 - 1))
    ),
)


def damaged_json(value: Any, chance: random.Random) -> Any:
    """Change one thing in what JSON holds."""
    if chance.random() < 0.3 or not isinstance(value, dict | list) or not value:
        odd = (
            None,
            True,
            -1,
            2**70,
            1e400,
            "",
            "x:0",
            "a" * 10_000,
            [],
            {},
            [[]],
            {"ops": 7},
            {"command": "undo"},
        )
        return chance.choice(odd)
    key = chance.choice([*value]) if isinstance(value, dict) else chance.randrange(len(value))
    if isinstance(value, dict):
        if chance.random() < 0.2:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: damaged_json(value[key], chance)}
    return [*value[:key], damaged_json(value[key], chance), *value[key + chance.choice((0, 1)) :]]

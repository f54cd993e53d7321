"""Damages files, and opens them as a person would: run as a process of its own, whose memory is bounded.

    python -m tests.stress.damage SEED FIRST COUNT FOLDER

Prints a line of JSON before each file and behind it, so that who has started it knows which one has ended the process.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.protobuf import saved_model_pb2

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.front_end import FrontEnd
from tests.stress import MODELS, Broken, refusal_of
from tests.stress.models import _meta
from tfgraphwidget.editor import GraphEditor

_MEMORY = 3 << 30  # bytes beyond what TensorFlow itself takes: the files are of 500 kB and less
_HUGE = (2**31 - 1, 2**63 - 1, -1, -(2**63), 10**6, 2**31, 0)
_NAMES = ("", "/", "a//b", "^x", ":0", "x:1", "\x00", "größe", "..", "a/" * 300, "n" * 100_000, "_x", "a b", "x" * 3)
_TYPES = (
    "", "Nothing", "Switch", "Merge", "Enter", "NextIteration", "While", "Const", "AddN", "Placeholder", "VarHandleOp",
    "PartitionedCall", "IteratorV2", "LookupTableFindV2",
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
    node.name = "/".join([chance.choice(("s", "t"))] * chance.choice((50, 199, 201, 2_000, 20_000))) + "/" + node.name


def _input(graph: Any, node: Any, chance: random.Random) -> None:
    other = chance.choice(graph.node).name
    names = (node.name, f"{other}:{chance.choice(_HUGE)}", f"^{other}", f"^{node.name}", "", ":", "^", "nowhere", other)
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
    keys = [*node.attr] or ["T"]
    attr = node.attr[chance.choice(keys)]
    choices: list[Callable[[], Any]] = [
        lambda: setattr(attr, "i", chance.choice(_HUGE)),
        lambda: setattr(attr, "type", chance.choice((0, 1, 20, 21, 23, 101, 120))),
        lambda: setattr(attr, "s", chance.choice((b"", b"\xff\xfe", b"x" * 1000, b"loc:@" + node.name.encode()))),
        lambda: setattr(attr, "b", True),
        lambda: setattr(attr, "f", float("nan")),
        lambda: attr.list.i.extend([chance.choice(_HUGE)] * 3),
        lambda: attr.list.type.extend([chance.choice((1, 3, 20))] * chance.choice((1, 5, 1_000))),
        lambda: attr.func.CopyFrom(v1.AttrValue(func={"name": "nowhere"}).func),
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
        del node.attr[chance.choice([*node.attr])]


def _device(_: Any, node: Any, chance: random.Random) -> None:
    node.device = chance.choice(("/gpu:0", "nonsense", "/job:a/task:99999999999", "\n", "/" * 1000))


def _many_outputs(graph: Any, node: Any, chance: random.Random) -> None:
    unpack = graph.node.add(
        name=f"unpack_{len(graph.node)}", op=chance.choice(("Unpack", "Split", "ShapeN", "IdentityN"))
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
        lambda: setattr(function.signature, "name", chance.choice([*_NAMES, chance.choice(functions).signature.name])),
        lambda: function.node_def.add(name="again", op=function.signature.name),
        function.ret.clear,
        lambda: function.signature.input_arg.add(name=chance.choice(_NAMES[:8]), type=chance.choice((0, 1, 20))),
        lambda: function.ClearField("node_def"),
        lambda: graph.library.gradient.add(function_name=function.signature.name, gradient_func="nowhere"),
        lambda: damaged_graph(function_graph(function), chance),
    ]
    chance.choice(flaws)()


def function_graph(function: Any) -> Any:
    """A function's body under the name that a graph has for it."""

    class Body:
        node = function.node_def
        library = v1.GraphDef().library

    return Body()


_NODE_FLAWS: tuple[Callable[[Any, Any, random.Random], None], ...] = (
    _rename, _name_twice, _name_deep, _input, _input, _input, _inputs_gone, _inputs_many, _type, _attr, _attr, _attr,
    _attr, _attr_gone, _device, _many_outputs, _node_twice, _node_gone, _function,
)  # fmt: skip


def damaged_meta(meta: Any, chance: random.Random) -> None:
    """Change what a MetaGraphDef says of its graph."""
    for _ in range(chance.choice((0, 1, 2))):
        chance.choice(_META_FLAWS)(meta, chance)
    if chance.random() < 0.6:
        damaged_graph(meta.graph_def, chance)


def _collection(meta: Any, chance: random.Random) -> Any:
    return meta.collection_def[chance.choice([*meta.collection_def] or ["variables"])]


def _name(meta: Any, chance: random.Random) -> str:
    name: str = chance.choice([node.name for node in meta.graph_def.node] or [""])
    return chance.choice((name, f"{name}:{chance.choice(_HUGE)}", "", "nowhere:0", ":"))


def _signature(meta: Any, chance: random.Random) -> None:
    signature = meta.signature_def[chance.choice(("serving_default", "", "a/b"))]
    signature.inputs[chance.choice(_NAMES[:8])].name = _name(meta, chance)
    signature.outputs["y"].name = _name(meta, chance)


def _asset(meta: Any, chance: random.Random) -> None:
    asset = meta.asset_file_def.add(filename=chance.choice(("../../etc/passwd", "/etc/passwd", "", "a/../..")))
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
    lambda meta, chance: meta.meta_info_def.stripped_op_list.op.add(name=chance.choice(("Add", "", "Nothing"))),
    lambda meta, chance: meta.object_graph_def.nodes.add().children.add(node_id=chance.choice((-1, 5, 2**31 - 1))),
)


def damaged_json(value: Any, chance: random.Random) -> Any:
    """Change one thing in what JSON holds."""
    if chance.random() < 0.3 or not isinstance(value, dict | list) or not value:
        odd = (None, True, -1, 2**70, 1e400, "", "x:0", "a" * 10_000, [], {}, [[]], {"ops": 7}, {"verb": "undo"})
        return chance.choice(odd)
    key = chance.choice([*value]) if isinstance(value, dict) else chance.randrange(len(value))
    if isinstance(value, dict):
        if chance.random() < 0.2:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: damaged_json(value[key], chance)}
    return [*value[:key], damaged_json(value[key], chance), *value[key + chance.choice((0, 1)) :]]


# Files


def originals(folder: Path) -> dict[str, Path]:
    """The files that are damaged, by what they are."""
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, Path] = {}
    for name in ("training", "control flow", "queue", "cf_v2.meta.pbtxt", "functions_defun.meta.pbtxt",
                 "while_grad.meta.pb", "tricky_names.meta.pbtxt", "dataset_iter.meta.pbtxt"):  # fmt: skip
        meta, short = _meta(name), name.partition(".")[0]
        for suffix, data in ((".meta", meta.SerializeToString()), (".pb", meta.graph_def.SerializeToString())):
            found[short + suffix] = folder / f"{short}{suffix}"
            found[short + suffix].write_bytes(data)
    found["text.pbtxt"] = folder / "text.pbtxt"
    found["text.pbtxt"].write_text(str(_meta("rand_dag_1.meta.pb").graph_def))
    for name in ("training.meta with values", "SavedModel"):
        (folder / name).mkdir(exist_ok=True)
        next(model for model in MODELS if model.name == name).open(folder / name)
    found["values"] = folder / "training.meta with values"
    found["saved"] = folder / "SavedModel" / "saved"
    editor = tgw.example()
    editor.clone("x:0", "net/logits:0", into="copy", variables={"net/hidden": "shared"})
    editor.bypass("net/hidden/Relu")
    editor.rename("net/w", "weights")
    editor.set_constant("labels:0", [1])
    found["edits.json"] = editor.save(folder / "edits.json")
    found["selection.json"] = folder / "selection.json"
    editor.scope("net/hidden").save(found["selection.json"])
    return found


def damaged_file(found: dict[str, Path], chance: random.Random, folder: Path) -> tuple[str, Callable[[], Any]]:
    """One of the files, damaged, in `folder`: what it is, and a call that opens it and gives an editor or nothing."""
    name = chance.choice([*found, "saved", "values", "edits.json", "edits.json"])
    path = found[name]
    if name in ("saved", "values"):
        return name, _damaged_folder(path, chance, folder)
    data = path.read_bytes()
    if chance.random() < 0.4:
        data = damaged_bytes(data, chance)
    elif path.suffix == ".json":
        data = json.dumps(damaged_json(json.loads(data), chance)).encode()
    elif path.suffix == ".meta":
        meta = v1.MetaGraphDef.FromString(data)
        damaged_meta(meta, chance)
        data = meta.SerializeToString()
    else:
        text = path.suffix == ".pbtxt"
        graph = text_format.Parse(data, v1.GraphDef()) if text else v1.GraphDef.FromString(data)
        damaged_graph(graph, chance)
        data = str(graph).encode() if text else graph.SerializeToString()
    target = folder / path.name
    target.write_bytes(data)
    if name == "edits.json":
        return name, lambda: _replayed(target)
    if name == "selection.json":
        return name, lambda: tgw.example().load(target) and None
    return name, lambda: tgw.edit(target)


def _replayed(path: Path) -> GraphEditor:
    editor = tgw.example()
    editor.replay(path)
    return editor


def _damaged_folder(path: Path, chance: random.Random, folder: Path) -> Callable[[], Any]:
    """A SavedModel or a checkpoint of which one file is damaged."""
    target = folder / "folder"
    for file in (each for each in sorted(path.rglob("*")) if each.is_file()):
        copy = target / file.relative_to(path)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    victims = [file for file in sorted(target.rglob("*")) if file.is_file() and file.name != "checkpoint"]
    victim = chance.choice([file for file in victims if not file.name.startswith("other")])
    if victim.name == "saved_model.pb" and chance.random() < 0.7:
        model = saved_model_pb2.SavedModel.FromString(victim.read_bytes())
        damaged_meta(model.meta_graphs[0], chance)
        victim.write_bytes(model.SerializeToString())
    elif chance.random() < 0.1:
        victim.unlink()
    else:
        victim.write_bytes(damaged_bytes(victim.read_bytes(), chance))
    if path.name == "saved":
        return lambda: tgw.edit(target)
    return lambda: tgw.edit(target / "model.meta", checkpoint=target / "model")


# What a person does with one


def uses(editor: GraphEditor, chance: random.Random, folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is done with an editor, one after the other; each may be refused, and nothing more."""
    scopes = [name for name in editor.index.scopes.names if name][:200]
    names = editor.index.names
    for scope in chance.sample(scopes, min(3, len(scopes))):
        yield f"open({scope[:60]!r})", lambda scope=scope: editor.open(scope)
    yield "scene()", editor.scene
    for query in ("type:Const", "dtype:float32", "shape:?x3", "/add/", "is:variable", "attr:T"):
        yield f"find({query!r})", lambda query=query: editor.find(query)
    yield "table()", editor.table
    front = FrontEnd(editor)
    for name in chance.sample(names, min(4, len(names))):
        yield f"inspect {name[:60]!r}", lambda name=name: _ask(front, "inspect", name=name)
        yield f"examine {name[:60]!r}", lambda name=name: _ask(front, "examine", name=name)
    yield "diff()", editor.diff
    for name in [name for name in names if editor.called_functions(name)][:2]:
        yield f"enter({name[:60]!r})", lambda name=name: (editor.enter(name), editor.scene(), editor.leave(0))
    for file in ("a.pb", "a.dot", "a.svg"):
        yield f"save({file!r})", lambda file=file: editor.save(folder / file)
    if names:
        op = chance.choice(names)
        yield f"bypass({op[:60]!r})", lambda: editor.bypass(op)
        yield f"clone(…, {op[:60]!r})", lambda: editor.clone([], [op], into="copy", init="none")
    yield "undo()", editor.undo
    yield "save('a.meta')", lambda: editor.save(folder / "a.meta")


def _ask(front: FrontEnd, kind: str, **fields: Any) -> None:
    reply = front.ask(kind, **fields)
    if reply["type"] == "refusal" and " in the kernel: " in reply["why"]:
        raise Broken(f"is answered with {reply['why'][:300]}")


def check(found: dict[str, Path], seed: str, folder: Path) -> tuple[str, str]:
    """What is damaged by this seed, and what goes wrong with it: "" for nothing."""
    chance = random.Random(seed)
    what, opening = damaged_file(found, chance, folder)
    editors: list[Any] = []
    doing = "tgw.edit()"
    try:
        refusal = refusal_of(lambda: editors.append(opening()))
        if refusal is None and editors[0] is not None:
            for name, use in uses(editors[0], chance, folder):
                doing = name
                refusal_of(use)
    except Broken as broken:
        return what, f"{doing} {broken}"
    except BaseException as error:
        return what, f"after {doing}: {type(error).__name__}: {str(error)[:300]}"
    return what, ""


def say(report: dict[str, Any]) -> None:
    """A line to who has started this."""
    sys.stdout.write(f"{json.dumps(report)}\n")
    sys.stdout.flush()


def main(seed: str, first: int, count: int, folder: Path) -> None:
    """Damage files number `first` and on; print what goes wrong."""
    warnings.simplefilter("ignore")
    tf.get_logger().setLevel("ERROR")
    found = originals(folder / "originals")
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + _MEMORY, used + _MEMORY))
    for number in range(first, first + count):
        say({"begins": number})
        place = folder / str(number)
        place.mkdir(exist_ok=True)
        what, wrong = check(found, f"{seed}/{number}", place)
        say({"ends": number, "what": what, "wrong": wrong})


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))

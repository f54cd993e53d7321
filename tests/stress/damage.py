"""Damages files, and opens them as a person would: run as a process of its own, whose memory is
bounded.

    python -m tests.stress.damage SEED FIRST COUNT FOLDER

Prints a line of JSON before each file and after it, so that who has started it knows which one has
ended the process.
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
from tests.stress import Broken, refusal_of
from tests.stress.flaws import damaged_bytes, damaged_graph, damaged_json, damaged_meta
from tests.stress.models import MODELS, _meta
from tfgraphwidget.editor import GraphEditor

_MEMORY = 3 << 30  # bytes beyond what TensorFlow itself takes: the files are of 500 kB and less


# Files


def originals(folder: Path) -> dict[str, Path]:
    """The files that are damaged, by what they are."""
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, Path] = {}
    for name in ("training", "control flow", "queue", "cf_v2.meta.pbtxt",
                 "functions_defun.meta.pbtxt", "while_grad.meta.pb", "tricky_names.meta.pbtxt",
                 "dataset_iter.meta.pbtxt"):  # fmt: skip
        meta, short = _meta(name), name.partition(".")[0]
        for suffix, data in (
            (".meta", meta.SerializeToString()),
            (".pb", meta.graph_def.SerializeToString()),
        ):
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
    editor.ops(scope="net/hidden").save(found["selection.json"])
    return found


def damaged_file(
    found: dict[str, Path], chance: random.Random, folder: Path
) -> tuple[str, Callable[[], Any]]:
    """One of the files, damaged, in `folder`: what it is, and a call that opens it and gives an
    editor or nothing.
    """
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
        return name, lambda: tgw.example().ops(file=target) and None
    return name, lambda: tgw.edit(target)


def _replayed(path: Path) -> GraphEditor:
    editor = tgw.example()
    editor.history.replay(path)
    return editor


def _damaged_folder(path: Path, chance: random.Random, folder: Path) -> Callable[[], Any]:
    """A SavedModel or a checkpoint of which one file is damaged."""
    target = folder / "folder"
    for file in (each for each in sorted(path.rglob("*")) if each.is_file()):
        copy = target / file.relative_to(path)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    victims = [
        file for file in sorted(target.rglob("*")) if file.is_file() and file.name != "checkpoint"
    ]
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


def uses(
    editor: GraphEditor, chance: random.Random, folder: Path
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is done with an editor, one after the other; each may be refused, and nothing more."""
    scopes = [name for name in editor._core.index.scopes.names if name][:200]
    names = editor._core.index.names
    for scope in chance.sample(scopes, min(3, len(scopes))):
        yield f"open({scope[:60]!r})", lambda scope=scope: editor.view.expand(scope)
    yield "scene()", editor.view.scene
    for query in ("type:Const", "dtype:float32", "shape:?x3", "/add/", "is:variable", "attr:T"):
        yield f"find({query!r})", lambda query=query: editor.find(query)
    yield "table()", editor.table
    front = FrontEnd(editor)
    for name in chance.sample(names, min(4, len(names))):
        yield f"inspect {name[:60]!r}", lambda name=name: _ask(front, "inspect", name=name)
        yield f"examine {name[:60]!r}", lambda name=name: _ask(front, "examine", name=name)
    yield "diff()", editor.diff
    for name in [name for name in names if editor.view.called_functions(name)][:2]:
        yield (
            f"enter({name[:60]!r})",
            lambda name=name: (editor.view.enter(name), editor.view.scene(), editor.view.leave(0)),
        )
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

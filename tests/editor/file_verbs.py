"""Every public method on every kind of file, in a process that does not import TensorFlow.

`python -m tests.editor.file_verbs FOLDER OUT` runs them on the files in a folder, and writes what
each did. It is run where TensorFlow is not installed, and where it is: see
test_verbs_without_tensorflow.py.
"""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tfgraphwidget as tgw
from tests.commands import clone_command
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError

Method = Callable[[GraphEditor, Path], Any]
KINDS = ("`.pb`", "frozen `.pb`", "`.meta`, checkpoint", "SavedModel")
"""The kinds that differ; others are read in another way only."""


def first(editor: GraphEditor, op_type: str) -> str:
    return next(node.name for node in editor._core.index.nodes if node.op == op_type)


def relu(editor: GraphEditor) -> str:
    return first(editor, "Relu")


def ends(editor: GraphEditor) -> tuple[str, str]:
    """Input and output of the Relu."""
    node = editor._core.index.nodes[editor._core.index.op(relu(editor))]
    tensor = node.input[0]
    return tensor if ":" in tensor else f"{tensor}:0", f"{node.name}:0"


def consumer(editor: GraphEditor) -> tuple[str, int]:
    """The op that reads the Relu, and at which input."""
    name = relu(editor)
    reader = editor._core.index.nodes[
        editor._core.index.consumer_lists[editor._core.index.op(name)][0]
    ]
    return reader.name, next(
        k for k, text in enumerate(reader.input) if text.partition(":")[0] == name
    )


def constant(editor: GraphEditor) -> str:
    """The constant 2.0."""
    nodes = (node for node in editor._core.index.nodes if node.op == "Const")
    return next(n.name for n in nodes if n.attr["value"].tensor.float_val[:] == [2.0]) + ":0"


def placeholder(editor: GraphEditor) -> str:
    return first(editor, "Placeholder") + ":0"


def result(editor: GraphEditor) -> str:
    return "out:0" if "out" in editor._core.index.ids else f"{first(editor, 'Identity')}:0"


def results(editor: GraphEditor) -> list[str] | None:
    """What `freeze` keeps: a function that is called keeps all its results."""
    return None if editor._core.executor.boundary is not None else [result(editor)]


def named(editor: GraphEditor) -> tuple[str, str]:
    """An input and an output that are in a signature."""
    return placeholder(editor), result(editor)


def signed(editor: GraphEditor) -> str:
    """A new signature."""
    editor.signatures.add("new", inputs={"p": named(editor)[0]}, outputs={"q": named(editor)[1]})
    return "new"


def calls(editor: GraphEditor, name: str) -> bool:
    """Whether an op calls a function."""
    return bool(editor.view.called_functions(name))


def saved_selection(editor: GraphEditor, folder: Path) -> Path:
    """A file with a selection."""
    editor.ops(type="Relu").save(folder / "selection.json")
    return folder / "selection.json"


def run_batch(editor: GraphEditor) -> None:
    """Two edits as one step."""
    with editor.batch("Two edits"):
        editor.rename(relu(editor), "renamed")
        editor.set_device("renamed", "/cpu:0")


METHODS: dict[str, Method] = {
    # Inspecting
    "inspect": lambda e, _: e.inspect(relu(e)),
    "diff": lambda e, _: e.diff(bytes(e)),
    "beside": lambda e, _: e.beside().document(),
    "table with costs": lambda e, _: e.table(batch=1),
    "table": lambda e, _: e.table(),
    "lint": lambda e, _: e.lint(),
    "inspect the whole": lambda e, _: repr(e.inspect()),
    "preview of JSON": lambda e, _: e.preview(
        {"command": "bypass", "arguments": {"what": relu(e)}}
    ),
    "compare": lambda e, _: e.compare({placeholder(e): np.ones([2, 4], np.float32)}),
    "probe": lambda e, _: e.probe(relu(e), {placeholder(e): np.ones([2, 4], np.float32)}),
    "view.probe": lambda e, _: setattr(e.view, "probe", None),
    "measure": lambda e, _: e.measure(relu(e), {placeholder(e): np.ones([2, 4], np.float32)}, 1),
    "to_module": lambda e, _: e.to_module(),
    "to_function": lambda e, _: e.to_function(),
    "to_keras": lambda e, _: e.to_keras(),
    "find trainable": lambda e, _: list(e.find("is:trainable")),
    "passes.grappler": lambda e, _: e.passes.grappler(result(e)),
    # Selecting
    "mark": lambda e, _: e.mark(*ends(e)),
    "ops": lambda e, _: e.ops(relu(e)),
    "ops of a scope": lambda e, _: e.ops(scope=e._core.index.names[0].rpartition("/")[0]),
    "ops matching": lambda e, _: e.ops(matching="R.*"),
    "find": lambda e, _: e.find("type:Relu"),
    "between": lambda e, _: e.between(*ends(e)),
    "path, all": lambda e, _: e.path(*(t.partition(":")[0] for t in ends(e)), all=True),
    "path": lambda e, _: e.path(*(t.partition(":")[0] for t in ends(e))),
    "upstream": lambda e, _: e.upstream(relu(e)),
    "downstream": lambda e, _: e.downstream(relu(e)),
    "ops connected": lambda e, _: e.ops(placeholder(e)).connected(until=relu(e)),
    "ops of a type": lambda e, _: e.ops(type="Relu"),
    "ops where": lambda e, _: e.ops(where=lambda op: op.type == "Relu"),
    "ops by consumers": lambda e, _: e.ops(consumers=2),
    "ops by dtype": lambda e, _: e.ops(dtype="float32"),
    "find loops": lambda e, _: e.find("is:loop").loops(),
    "find conditionals": lambda e, _: e.find("type:Merge").conditionals(),
    "match": lambda e, _: e.match("Relu(x)", functions=True),
    "match like": lambda e, _: e.match(tgw.pattern(e.ops(relu(e)))),
    "ops of a file": lambda e, to: e.ops(file=saved_selection(e, to)),
    # Viewing
    "view.called_functions": lambda e, _: [calls(e, name) for name in e._core.index.names],
    "view.enter": lambda e, _: [
        e.view.enter(name)
        for name in e._core.index.names[:]
        if not e.view.breadcrumb[1:] and e.view.called_functions(name)
    ],
    "view.leave": lambda e, _: e.view.leave(0),
    "signatures.open": lambda e, _: e.signatures.open(signed(e)),
    "view.expand": lambda e, _: e.view.expand(),
    "view.collapse": lambda e, _: e.view.collapse(),
    "view.reveal": lambda e, _: e.view.reveal(relu(e)),
    "view.hide": lambda e, _: e.view.hide(relu(e)),
    "view.show_only": lambda e, _: e.view.show_only(relu(e)),
    "view.show": lambda e, _: e.view.show(),
    "view.pin": lambda e, _: (
        e.view.scene(),
        e.view.reveal(relu(e)),
        e.view.pin(relu(e), 1.0, 2.0),
        e.view.unpin(relu(e)),
        e.view.scene(),
    ),
    "view.color_by": lambda e, _: (
        e.view.color_by("FLOPs"),
        e.view.color_by("dtype"),
        e._core.coloring.names,
        e.view.legend,
        e.view.scene(),
    ),
    "view.scene": lambda e, _: e.view.scene(),
    "draw": lambda e, _: e.draw(),
    "view.to_svg": lambda e, _: e.view.to_svg(),
    "view.widget": lambda e, _: e.view.widget,
    # Files
    "to_networkx": lambda e, _: e.to_networkx(),
    "extract": lambda e, _: e.extract(*ends(e)).save(_ / "extracted.pb"),
    "split": lambda e, _: [
        part.save(_ / f"{k}.pb")
        for k, part in enumerate(e.split(relu(e), placeholder(e), result(e)))
    ],
    "history.to_script": lambda e, _: e.history.to_script(),
    "history.records": lambda e, _: e.history.records(),
    "history.replay": lambda e, _: e.history.replay(e.history.records()),
    "bytes": lambda e, _: tgw.edit(bytes(e)),
    **{
        f"save {suffix}": lambda e, to, suffix=suffix: e.save(to / f"a{suffix}")
        for suffix in (
            ".pb",
            ".pbtxt",
            ".meta",
            ".json",
            ".py",
            ".html",
            ".svg",
            ".png",
            ".dot",
            ".graphml",
        )
    },
    "save SavedModel": lambda e, to: e.save(f"{to}/saved/"),
    "save frozen .pb": lambda e, to: e.save(to / "frozen.pb", outputs=[result(e)], frozen=True),
    "save TensorBoard": lambda e, to: e.save(to / "logs", format="tensorboard"),
    "source.reload": lambda e, _: e.source.reload(),
    "session": lambda e, _: e.session.run(relu(e)),
    "graph": lambda e, _: e.graph.get_operations(),
    # Edits
    "clone": lambda e, _: e.clone(*ends(e), into="cloned"),
    "clone with variables": lambda e, _: e.clone([placeholder(e)], [ends(e)[1]], into="cloned"),
    "clone shared": lambda e, _: e.clone(
        [placeholder(e)], [ends(e)[1]], into="cloned", variables="shared"
    ),
    "clone init none": lambda e, _: e.clone(
        [placeholder(e)], [ends(e)[1]], into="cloned", init="none"
    ),
    "clone init initial": lambda e, _: e.clone(
        [placeholder(e)], [ends(e)[1]], into="cloned", init="initial", times=2
    ),
    "clone init value": lambda e, _: e.clone(
        [placeholder(e)], [ends(e)[1]], into="cloned", init={"w": np.ones([4, 8])}
    ),
    "preview": lambda e, _: e.preview(e.clone, [placeholder(e)], [ends(e)[1]], into="cloned"),
    "apply a clone": lambda e, _: clone_command(e, [placeholder(e)], [ends(e)[1]], into="cloned"),
    "add": lambda e, to: e.add(e.save(to / "b.pb"), into="added"),
    "add connected": lambda e, to: e.add(
        e.save(to / "b.pb"), into="added", connect={placeholder(e): ends(e)[0]}
    ),
    "add with values": lambda e, _: e.add(bytes(e), into="added"),
    "call": lambda e, _: e.call(ends(e)[1], lambda x: x + 1.0, into="grown"),
    "set_trainable": lambda e, _: next(iter(e.find("is:trainable"))) and e.set_trainable(),
    "reroute": lambda e, _: e.reroute(ends(e)[1], ends(e)[0]),
    "swap": lambda e, _: e.swap(*ends(e), never=[relu(e)]),
    "connect": lambda e, _: e.connect(ends(e)[0], *consumer(e)),
    "bypass": lambda e, _: e.bypass(relu(e)),
    "bypass MatMul": lambda e, _: e.bypass(first(e, "MatMul"), by=placeholder(e)),
    "detach": lambda e, _: e.detach(relu(e), inputs=False),
    "detach inputs": lambda e, _: e.detach(relu(e)),
    "add_control_inputs": lambda e, _: e.add_control_inputs(
        relu(e), placeholder(e).partition(":")[0]
    ),
    "remove_control_inputs": lambda e, _: (
        e.add_control_inputs(relu(e), placeholder(e).partition(":")[0]),
        e.remove_control_inputs(relu(e), placeholder(e).partition(":")[0]),
    ),
    "insert": lambda e, _: e.insert(ends(e)[1], "Tanh"),
    "insert spec": lambda e, _: e.insert(ends(e)[1], "Cast", options={"dtype": "float32"}),
    "insert function": lambda e, _: e.insert(ends(e)[1], lambda x: x + 1.0),
    "replace": lambda e, _: e.replace(relu(e), "Tanh"),
    "replace function": lambda e, _: e.replace(relu(e), lambda x: x + 1.0),
    "remove": lambda e, _: e.remove(relu(e), consumers=True),
    "rename": lambda e, _: e.rename(relu(e), "renamed"),
    "set_device": lambda e, _: e.set_device(relu(e), "/cpu:0"),
    "set_attr": lambda e, _: e.set_attr(first(e, "MatMul"), "grad_a", True),
    "set_attr shapes": lambda e, _: e.set_attr(first(e, "MatMul"), "transpose_a", True),
    "set_constant": lambda e, _: e.set_constant(constant(e), 3.0),
    "set_constant placeholder": lambda e, _: e.set_constant(placeholder(e), np.ones([2, 4])),
    "passes.set_input": lambda e, _: e.passes.set_input(placeholder(e), shape=[2, 4]),
    "passes.set_input dtype": lambda e, _: e.passes.set_input(
        placeholder(e), dtype="float16", adapter="Cast"
    ),
    "signatures.add": lambda e, _: signed(e),
    "signatures.rename": lambda e, _: e.signatures.rename(signed(e), "newer"),
    "signatures.reorder": lambda e, _: e.signatures.reorder(signed(e), {"r": "p"}),
    "signatures.remove": lambda e, _: e.signatures.remove(signed(e)),
    "freeze": lambda e, _: e.freeze(results(e)),
    "passes.strip_training": lambda e, _: e.passes.strip_training([result(e)]),
    "passes.fold_batch_norm": lambda e, _: e.passes.fold_batch_norm(),
    "rename key": lambda e, _: e.rename(f"{signed(e)}:p", "q"),
    "apply": lambda e, _: e.apply(clone_command(e, [placeholder(e)], [ends(e)[1]], into="cloned")),
    "batch": lambda e, _: run_batch(e),
    "view.on_change": lambda e, _: e.view.on_change(print)(),
    "undo": lambda e, _: (e.rename(relu(e), "renamed"), e.undo()),
    "redo": lambda e, _: (e.rename(relu(e), "renamed"), e.undo(), e.redo()),
    "history.goto": lambda e, _: (
        e.rename(relu(e), "renamed"),
        e.history.goto(0),
        e.history.goto(1),
    ),
    "history.reserve": lambda e, _: e.history.reserve(["spare"]),
    # Patterns and passes
    "replace_all": lambda e, _: relu(e) and e.replace_all("Relu(x)", "Elu(x)"),
    "replace_all in functions": lambda e, _: e.replace_all("Relu(x)", "Elu(x)", functions=True),
    "passes.remove_identities": lambda e, _: e.passes.remove_identities(),
    "passes.merge_duplicates": lambda e, _: e.passes.merge_duplicates(),
    "passes.fold_constants": lambda e, _: e.passes.fold_constants(),
    "passes.remove_devices": lambda e, _: e.passes.remove_devices(),
    "passes.remove_attr": lambda e, _: e.passes.remove_attr("_output_shapes"),
    "passes.remove_collection": lambda e, _: e.passes.remove_collection("train_op"),
    "passes.remove_functions": lambda e, _: e.passes.remove_functions(),
    "passes.rename_type": lambda e, _: e.passes.rename_type("Relu", "Relu6"),
    "passes.sort": lambda e, _: e.passes.sort(),
    "passes.obfuscate_names": lambda e, _: e.passes.obfuscate_names(),
    "passes.change_batch_size": lambda e, _: e.passes.change_batch_size(2),
    "passes.cast": lambda e, _: e.passes.cast("float16"),
    "passes.round_weights": lambda e, _: e.passes.round_weights(4, minimum=8),
    "passes.quantize_weights": lambda e, _: e.passes.quantize_weights(minimum=8),
}


def sources(folder: Path) -> dict[str, Callable[[], Any]]:
    """How each kind of file is opened."""

    def parsed(path: Path) -> Any:
        from tfgraphwidget.sources import tf_protos

        return tf_protos.GraphDef.FromString(path.read_bytes())

    return {
        "`.pb`": lambda: tgw.edit(folder / "graph1.pb"),
        "`.pb` without shapes": lambda: tgw.edit(folder / "graph0.pb"),
        "frozen `.pb`": lambda: tgw.edit(folder / "frozen.pb"),
        "`.pbtxt`": lambda: tgw.edit(folder / "graph1.pbtxt"),
        "bytes": lambda: tgw.edit((folder / "graph1.pb").read_bytes()),
        "GraphDef": lambda: tgw.edit(parsed(folder / "graph1.pb")),
        "`.meta`": lambda: tgw.edit(folder / "m.ckpt.meta"),
        "`.meta`, checkpoint": lambda: tgw.edit(
            folder / "m.ckpt.meta", checkpoint=str(folder / "m.ckpt")
        ),
        "SavedModel of TF 1": lambda: tgw.edit(folder / "v1"),
        "`saved_model.pb`": lambda: tgw.edit(folder / "v1" / "saved_model.pb"),
        "SavedModel": lambda: tgw.edit(folder / "saved", signature="twice"),
    }


class Refusal:
    """Refuses to import TensorFlow as Python does where it is not installed, and counts."""

    def __init__(self) -> None:
        self.asked = 0

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Answer as an environment without TensorFlow would."""
        if name.partition(".")[0] == "tensorflow":
            self.asked += 1
            raise ModuleNotFoundError(f"No module named {name!r}", name=name.partition(".")[0])


@dataclass(frozen=True)
class Outcome:
    """What a method did: "ok", the sentence of a refusal, or an error that is a defect.

    `asked` says how often it has asked for TensorFlow; `edited` whether the graph is another one,
    which was saved.
    """

    text: str
    asked: int
    edited: bool

    @property
    def is_refused(self) -> bool:
        """Whether TensorFlow is needed."""
        return "[tensorflow]" in self.text


Outcomes = dict[str, dict[str, Outcome]]


def outcome(act: Callable[[], Any]) -> str:
    """What a call did."""
    try:
        act()
    except GraphEditError as error:
        return str(error)
    except StopIteration:
        return "no op of that kind"
    except Exception as error:
        return f"DEFECT {type(error).__name__}: {error}"
    return "ok"


def run(
    folder: Path,
    out: Path,
    kinds: Iterable[str] = (),
    methods: Iterable[str] = (),
    refusal: Refusal | None = None,
) -> Outcomes:
    """By kind and method what happened. Edited graphs are saved as `out`/kind/method.pb.

    Args:
        folder: The files.
        out: Where graphs are saved.
        kinds: The kinds of files; () for all.
        methods: The methods; () for all.
        refusal: What counts how often TensorFlow is asked for.
    """
    done: Outcomes = {}
    for kind, opened in sources(folder).items():
        for method, act in METHODS.items():
            if (kinds and kind not in kinds) or (methods and method not in methods):
                continue
            editor, asked = opened(), refusal.asked if refusal else 0
            with tempfile.TemporaryDirectory() as to, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                text = outcome(lambda act=act, editor=editor, to=to: act(editor, Path(to)))
                asked = (refusal.asked if refusal else 0) - asked
                edited = bool(editor.history.done)
                if edited:
                    saved = (
                        out
                        / kind.replace("`", "").replace(" ", "_")
                        / f"{method.replace(' ', '_')}.pb"
                    )
                    saved.parent.mkdir(exist_ok=True, parents=True)
                    editor.view.leave(0)
                    editor.save(saved, verify=False)
            done.setdefault(kind, {})[method] = Outcome(text, asked, edited)
    return done


def main(folder: Path, out: Path, *kinds: str) -> None:
    """Run the methods where TensorFlow cannot be imported, and write what they did as JSON."""
    from tfgraphwidget.tensorflow_modules import installed_folder

    installed_folder()  # is it installed? It is found before it is refused
    refusal = Refusal()
    sys.meta_path.insert(0, refusal)
    done = run(folder, out, kinds, (), refusal)
    (out / "done.json").write_text(
        json.dumps({k: {v: asdict(o) for v, o in by.items()} for k, by in done.items()})
    )


def read(out: Path) -> Outcomes:
    """What `main` has written."""
    done = json.loads((out / "done.json").read_text())
    return {
        kind: {method: Outcome(**each) for method, each in methods.items()}
        for kind, methods in done.items()
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])

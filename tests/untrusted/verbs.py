"""The calls of a user who looks at a file, edits, runs and saves it, and has not said that it is
trusted.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import tfgraphwidget as tgw
from tests.front_end import FrontEnd
from tfgraphwidget import cli, graph_editor
from tfgraphwidget.editor import GraphEditor

v1 = tf.compat.v1
ROWS = np.ones((2, 2), np.float32)


@dataclass
class Opened:
    """A hostile file as a user has it.

    Attributes:
        path: The file.
        to: A folder to save to.
    """

    path: Path
    to: Path

    @cached_property
    def editor(self) -> GraphEditor:
        return tgw.edit(self.path, checkpoint=checkpoint_of(self.path))

    @property
    def _signature(self) -> Any:
        return next(
            signature for signature in tuple(self.editor.signatures.values()) if signature.outputs
        )

    @cached_property
    def x(self) -> str:
        return "x:0" if "x" in self.editor._core.index.ids else self._signature.inputs[0][1]

    @cached_property
    def y(self) -> str:
        return "y:0" if "y" in self.editor._core.index.ids else self._signature.outputs[0][1]

    @property
    def middle(self) -> str:
        """An op between input and output."""
        return "mixed" if "mixed" in self.editor._core.index.ids else self.y.partition(":")[0]

    @property
    def feeds(self) -> dict[str, np.ndarray]:
        return {self.x: ROWS}

    def save(self, name: str, **options: Any) -> Path:
        """Save with the file's input and output."""
        return self.editor.save(self.to / name, [self.x], [self.y], **options)

    def again(self, **options: Any) -> GraphEditor:
        """An editor of a SavedModel that was written of the file."""
        return tgw.edit(self.save("again/", verify=False, **options))


def checkpoint_of(path: Path) -> Path | None:
    """The prefix of the checkpoint beside a .meta file."""
    return path.with_suffix("") if path.suffix == ".meta" else None


Method = Callable[[Opened], Any]
RAW = "session."
"""How the methods begin that are TensorFlow's own: its errors are not defects."""
METHODS: dict[str, Method] = {
    "open": lambda o: o.editor,
    "scene": lambda o: o.editor.view.scene(),
    "svg": lambda o: o.editor.view.to_svg(),
    "open_all": lambda o: (o.editor.view.expand(), o.editor.view.scene()),
    "beside": lambda o: o.editor.beside().document(),
    "inspect the whole": lambda o: repr(o.editor.inspect()),
    "table": lambda o: o.editor.table(),
    "cost": lambda o: o.editor.table(batch=1),
    "color_by": lambda o: [o.editor.view.color_by(way) for way in ("type", "FLOPs", "dtype")],
    "inspect": lambda o: [o.editor.inspect(name) for name in o.editor._core.index.names],
    "networkx": lambda o: tgw.edit(o.editor.to_networkx()).view.scene(),
    "find": lambda o: (o.editor.find("y"), o.editor.match("Mul(x, y)", functions=True)),
    "downstream": lambda o: (
        o.editor.downstream(o.x),
        o.editor.upstream(o.y),
        o.editor.ops(consumers=1),
    ),
    "signatures": lambda o: (tuple(o.editor.signatures.values()), o.editor.find("is:trainable")),
    "lint": lambda o: o.editor.lint(),
    "lint cpu": lambda o: o.editor.lint("cpu"),
    "lint tflite": lambda o: o.editor.lint("tflite"),
    "lint onnx": lambda o: o.editor.lint("onnx"),
    "lint untrusted": lambda o: o.editor.lint("untrusted"),
    "code": lambda o: (
        o.editor.insert(o.x, "Neg"),
        o.editor.history.to_script().text,
        o.editor.history.to_script(),
        o.editor.history.records(),
    ),
    "insert": lambda o: o.editor.insert(o.x, "Neg"),
    "insert a function": lambda o: o.editor.insert(o.x, tf.nn.tanh),
    "insert, undo, redo": lambda o: (o.editor.insert(o.x, "Neg"), o.editor.undo(), o.editor.redo()),
    "call": lambda o: o.editor.call([o.y], tf.nn.tanh, into="grown"),
    "grow shapes": lambda o: grow_shapes(o.editor),
    "rename": lambda o: o.editor.rename(o.y.partition(":")[0], "renamed"),
    "remove": lambda o: o.editor.remove(o.y.partition(":")[0], consumers=True),
    "bypass": lambda o: o.editor.bypass(o.middle),
    "replace": lambda o: o.editor.replace(o.y.partition(":")[0], tf.nn.tanh),
    "set_attr": lambda o: o.editor.set_attr(o.x.partition(":")[0], "shape", [2, 2]),
    "replace_all": lambda o: o.editor.replace_all("Mul(x, y)", "Add(x, y)"),
    "reroute": lambda o: o.editor.reroute(f"{o.middle}:0", o.x),
    "clone": lambda o: o.editor.clone([o.x], [o.y], "copy"),
    "clone all": lambda o: o.editor.clone(outputs=[o.y], into="copy"),
    "preview": lambda o: o.editor.preview(o.editor.clone, [o.x], [o.y], into="copy"),
    "freeze": lambda o: o.editor.freeze(o.y),
    "freeze, flat": lambda o: o.editor.freeze(o.y, inline=True, lower_control_flow=True),
    "remove_functions": lambda o: o.editor.passes.remove_functions(),
    "remove_attr": lambda o: o.editor.passes.remove_attr("T"),
    "fold_constants": lambda o: o.editor.passes.fold_constants(),
    "fold_batch_norm": lambda o: o.editor.passes.fold_batch_norm(),
    "strip_training": lambda o: o.editor.passes.strip_training([o.y]),
    "optimized": lambda o: o.editor.passes.grappler(o.y),
    "cast": lambda o: o.editor.passes.cast("float16"),
    "merge_duplicates": lambda o: o.editor.passes.merge_duplicates(),
    "quantize_weights": lambda o: o.editor.passes.quantize_weights(minimum=1),
    "quantize_weights, measured": lambda o: o.editor.passes.quantize_weights(
        minimum=1, feeds=o.feeds
    ),
    "round_weights": lambda o: o.editor.passes.round_weights(4, minimum=1),
    "set_trainable": lambda o: [
        o.editor.set_trainable(each) for each in o.editor.find("is:trainable")
    ],
    "set_input": lambda o: o.editor.passes.set_input(o.x, [4, 2], fix=True),
    "change_batch_size": lambda o: o.editor.passes.change_batch_size(3),
    "obfuscate_names": lambda o: o.editor.passes.obfuscate_names(),
    "remove_identities": lambda o: (
        o.editor.passes.remove_identities(),
        o.editor.passes.remove_devices(),
        o.editor.passes.sort(),
    ),
    "add_signature": lambda o: o.editor.signatures.add("twice", outputs={"y": o.y}),
    "graph": lambda o: o.editor.graph,
    "session": lambda o: o.editor.session,
    "session, insert, undo, redo": lambda o: (o.editor.session, METHODS["insert, undo, redo"](o)),
    "session, grow shapes": lambda o: (o.editor.session, grow_shapes(o.editor)),
    "session, clone": lambda o: (o.editor.session, METHODS["clone"](o)),
    "session, fold_constants": lambda o: (o.editor.session, o.editor.passes.fold_constants()),
    "session, freeze": lambda o: (o.editor.session, o.editor.freeze(o.y)),
    "session, renew": lambda o: tgw.renew(o.editor.session),
    "session, save": lambda o: (o.editor.session, o.save("after_session/")),
    "session.run": lambda o: o.editor.session.run(o.y, o.feeds),
    "session.run everything": lambda o: run_everything(o.editor.session),
    "session.make_callable": lambda o: o.editor.session.make_callable(o.y, [o.x])(ROWS),
    "session.partial_run": lambda o: partial_run(o.editor.session, o),
    "graph_editor": lambda o: graph_editor.copy(graph_editor.sgv(o.editor.graph.get_operations())),
    "probe": lambda o: o.editor.probe(o.y, o.feeds),
    "probe everything": lambda o: o.editor.probe(everything(o.editor), o.feeds),
    "measure": lambda o: o.editor.measure(o.y, o.feeds),
    "compare": lambda o: (o.editor.insert(o.x, "Identity"), o.editor.compare(o.feeds, tensors=o.y)),
    "compare with a file": lambda o: o.editor.compare(o.feeds, tensors=o.y, other=str(o.path)),
    "compare everything": lambda o: o.editor.compare(o.feeds, str(o.path), "all"),
    "enter, compare everything": lambda o: in_bodies(
        o, lambda e: e.compare({first_tensor(e): ROWS}, tensors="all")
    ),
    "function": lambda o: o.editor.to_function(),
    "function, called": lambda o: o.editor.to_function()(ROWS),
    "module": lambda o: o.editor.to_module(),
    "module, layer": lambda o: o.editor.to_module().layer(),
    "open_signature": lambda o: o.editor.signatures.open("serving_default"),
    "keras": lambda o: o.editor.to_keras(),
    "extract": lambda o: o.editor.extract([o.x], [o.y]).session,
    "session, extract": lambda o: (o.editor.session, o.editor.extract([o.x], [o.y])),
    "split": lambda o: o.editor.split([f"{o.middle}:0"]),
    "enter": lambda o: in_bodies(o, lambda e: (e.view.scene(), repr(e.inspect()), e.lint())),
    "enter, fold_constants": lambda o: in_bodies(o, lambda e: e.passes.fold_constants()),
    "enter, insert": lambda o: in_bodies(
        o, lambda e: (e.insert(first_tensor(e), "Identity"), e.undo())
    ),
    "enter, function": lambda o: in_bodies(o, lambda e: e.to_function()),
    "enter, probe": lambda o: in_bodies(
        o, lambda e: e.probe(everything(e), {first_tensor(e): ROWS})
    ),
    "enter, extract": lambda o: in_bodies(o, lambda e: e.extract(None, [everything(e)[-1]])),
    "enter, save": lambda o: in_bodies(o, lambda e: e.save(o.to / "body.pb")),
    "save .pb": lambda o: o.editor.save(o.to / "a.pb"),
    "save .pbtxt": lambda o: o.editor.save(o.to / "a.pbtxt"),
    "save frozen .pb": lambda o: o.save("frozen.pb", frozen=True),
    "save flat .pb": lambda o: o.save("flat.pb", frozen=True, inline=True, lower_control_flow=True),
    "save .meta": lambda o: o.editor.save(o.to / "a.meta"),
    "save .meta of the part": lambda o: o.save("part.meta"),
    "save SavedModel": lambda o: o.editor.save(o.to / "whole/"),
    "save SavedModel of the part": lambda o: o.save("part/"),
    "save SavedModel, feeds": lambda o: o.save("fed/", feeds=o.feeds),
    "insert, save SavedModel": lambda o: (o.editor.insert(o.x, "Neg"), o.save("edited/")),
    "insert, save .meta": lambda o: (
        o.editor.insert(o.x, "Neg"),
        o.editor.save(o.to / "edited.meta"),
    ),
    "save .tgw, open": lambda o: tgw.edit(o.editor.save(o.to / "a.tgw")).session,
    "to_bytes, open": lambda o: tgw.edit(bytes(o.editor)).session,
    "save .html": lambda o: o.editor.save(o.to / "a.html"),
    "save .svg": lambda o: o.editor.save(o.to / "a.svg"),
    "save .dot": lambda o: (o.editor.save(o.to / "a.dot"), o.editor.save(o.to / "a.graphml")),
    "save edits, replay": lambda o: replay(o.editor, o),
    "save .tflite": lambda o: o.save("a.tflite"),
    "save .tflite, select_tf_ops": lambda o: o.save("selected.tflite", select_tf_ops=True),
    "save .onnx": lambda o: o.save("a.onnx"),
    "to_tensorboard": lambda o: o.editor.save(o.to / "logs", format="tensorboard"),
    "add": lambda o: tgw.example().add(str(o.path), "added"),
    "add its graph": lambda o: tgw.example().add(o.editor, "added"),
    "diff": lambda o: o.editor.diff(str(o.path)),
    "diff values": lambda o: o.editor.diff(str(o.path), values=True),
    "drift": lambda o: tgw.drift(str(o.path), o.editor),
    "sync": lambda o: tgw.sync(str(o.path), o.editor.session),
    "follow": lambda o: tgw.edit(o.path, watch=True).source.reload(),
    "open a SavedModel that was written": lambda o: o.again().session,
    "save what was written": lambda o: o.again().save(o.to / "twice/"),
    "edit what was written, save": lambda o: edit_again(o.again(), o.to),
    "page": lambda o: ask_as_a_page(o.editor, o),
    "info": lambda o: run_command("info", o.path),
    "info --summary": lambda o: run_command("info", "--summary", o.path),
    "lint command": lambda o: run_command("lint", o.path),
    "lint --fix": lambda o: run_command("lint", "--fix", "--out", o.to / "fixed.pb", o.path),
    "diff command": lambda o: run_command("diff", "--values", o.path, o.path),
    "export .pb": lambda o: run_command("export", o.path, o.to / "exported.pb"),
    "export SavedModel": lambda o: export(o, "exported/"),
    "export --frozen": lambda o: export(o, "exported.pb", "--frozen"),
    "show --html": lambda o: run_command("show", o.path, "--html", o.to / "shown.html"),
}


def edit_again(editor: GraphEditor, to: Path) -> None:
    """Look at what was written, edit it and save it."""
    editor.lint()
    editor.insert(everything(editor)[0], "Identity")
    editor.save(to / "three/")


def everything(editor: GraphEditor) -> list[str]:
    """All tensors of the current graph that are numbers or texts."""
    index = editor._core.index
    return [
        f"{name}:{port}"
        for op, name in enumerate(index.names)
        for port, dtype in enumerate(index.dtypes(op))
        if tf.as_dtype(dtype).base_dtype not in {tf.resource, tf.variant}
    ]


def first_tensor(editor: GraphEditor) -> str:
    return everything(editor)[0]


def grow_shapes(editor: GraphEditor) -> None:
    """Add ops whose shapes hang on tensors of the file: TensorFlow computes those when they depend
    on constants.
    """
    for tensor in everything(editor):
        with contextlib.suppress(tgw.GraphEditError):
            editor.call([tensor], _zeros)


def _zeros(tensor: tf.Tensor) -> tf.Tensor:
    number = tf.strings.length(tensor) if tensor.dtype == tf.string else tf.cast(tensor, tf.int32)
    return tf.zeros(tf.reshape(number, [-1])[:1] * 0 + 2)


def run_everything(session: Any) -> None:
    """Run each op by itself."""
    refusals = []
    for op in session.graph.get_operations():
        if op.type in {
            "Placeholder",
            "NextIteration",
            "Enter",
            "Exit",
            "Switch",
            "Merge",
            "LoopCond",
        }:
            continue
        try:
            session.run(op, options=v1.RunOptions(timeout_in_ms=2_000))
        except tgw.GraphEditError as refusal:
            refusals.append(refusal)
        except tf.errors.OpError:  # of an op that needs a feed
            pass
    if refusals:
        raise refusals[0]


def partial_run(session: Any, opened: Opened) -> Any:
    return session.partial_run(
        session.partial_run_setup([opened.y], [opened.x]), opened.y, opened.feeds
    )


def in_bodies(opened: Opened, call: Callable[[GraphEditor], Any], depth: int = 3) -> None:
    """Call something in each function body of the file."""
    editor = opened.editor
    refusals = []
    for name in list(editor._core.index.names):
        for called in editor.view.called_functions(name):
            at = len(editor.view.breadcrumb) - 1
            editor.view.enter(name, called.label)
            try:
                if everything(editor):
                    call(editor)
            except tgw.GraphEditError as refusal:
                refusals.append(refusal)
            if depth:
                try:
                    in_bodies(opened, call, depth - 1)
                except tgw.GraphEditError as refusal:
                    refusals.append(refusal)
            editor.view.leave(at)
    if refusals:
        raise refusals[0]


def replay(editor: GraphEditor, opened: Opened) -> None:
    editor.insert(opened.x, "Neg")
    edits = editor.save(opened.to / "edits.json")
    other = tgw.edit(opened.path)
    other.history.replay(edits)
    other.save(opened.to / "replayed.pb")


def ask_as_a_page(editor: GraphEditor, opened: Opened) -> None:
    """What the browser asks as a user clicks on everything that shows or runs something."""
    page = FrontEnd(editor)
    op, tensor = opened.y.partition(":")[0], opened.x
    feed = {
        "tensor": tensor,
        "kind": "ones",
        "shape": "[2, 2]",
        "low": 0.0,
        "high": 1.0,
        "source": "",
    }
    page.ask("open")
    page.ask("inspect", name=op)
    page.ask("examine", name=op)
    page.ask("lint", target="")
    page.ask("probe", name=op, feeds=[feed])
    page.ask("measure", feeds=[feed])
    page.ask("optimize")
    page.ask("compare", show=True, source=str(opened.path))
    page.ask("download", format="pb", options=[], name="")
    page.ask("list_formats")
    page.ask("refresh")


def run_command(*arguments: object) -> None:
    """Run a command; its refusal is one of a call."""
    printed, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
        code = cli.main([str(argument) for argument in arguments])
    text = errors.getvalue()
    if "Traceback" in text or code not in {0, 1, 2}:
        raise AssertionError(f"exit code {code}: {text}")


def export(opened: Opened, name: str, *options: str) -> None:
    ends = ("--inputs", opened.x, "--outputs", opened.y)
    run_command("export", opened.path, opened.to / name, *ends, *options)

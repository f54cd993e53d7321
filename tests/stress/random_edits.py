"""Random calls of an editor: all methods, on ops of the present graph, good ones and bad ones."""

from __future__ import annotations

import random
import warnings
from contextlib import suppress
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.editor.public_names import public_methods
from tests.stress.functions import FUNCTIONS
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.edits.registry import registration_of
from tfgraphwidget.graph import traversal

ODD_NAMES = (
    "",
    "/",
    ":0",
    "^x",
    "nowhere",
    "x:7",
    "x:99999999999",
    "net//one",
    "../x",
    "a\nb",
    "🙂",
    "\0",
    "copy/",
)
FILES = (
    "a.pb",
    "a.pbtxt",
    "a.meta",
    "saved/",
    "a.svg",
    "a.dot",
    "a.graphml",
    "a.html",
    "a.py",
    "a.json",
    "frozen.pb",
    "a.tgw",
)
_PATIENCE = 5_000  # milliseconds: what reads an empty queue waits for ever
DEVICES = ("/device:CPU:0", "/cpu:0", "", "/gpu:0", "/job:ps/task:1", "nowhere")
WEIGHTS = {
    "clone": 8, "preview": 2, "add": 2, "call": 4, "reroute": 4, "swap": 3, "connect": 3,
    "bypass": 4, "detach": 4, "insert": 5, "replace": 4, "remove": 4, "rename": 4, "set_device": 2,
    "set_attr": 2, "set_constant": 3, "set_input": 3, "add_control_inputs": 2,
    "remove_control_inputs": 2, "freeze": 1, "strip_training": 1, "fold_batch_norm": 1,
    "extract": 2, "mark": 3, "select": 2, "open": 2, "close": 1, "hide": 1, "show_all": 1, "pin": 1,
    "enter": 2, "leave": 2, "renew": 1, "run": 3, "undo": 6, "redo": 4, "jump": 3, "save": 3,
    "refresh": 1, "diff": 1, "replace_all": 4, "remove_identities": 2, "merge_duplicates": 2,
    "fold_constants": 2, "remove_devices": 1, "rename_type": 1, "sort": 1, "obfuscate_names": 1,
    "change_batch_size": 2, "cast": 1, "round_weights": 1, "quantize_weights": 1,
    "add_signature": 2, "rename_signature": 1, "order_signature": 1, "remove_signature": 1,
    "set_trainable": 1, "sync": 1, "match": 1, "split": 1, "lint": 1, "summary": 1, "cost": 1,
    "to_bytes": 1,
}  # fmt: skip

PRESERVING = (
    "clone", "add", "call", "rename", "remove", "freeze", "strip_training", "fold_batch_norm",
    "set_trainable", "remove_identities", "merge_duplicates", "fold_constants", "remove_devices",
    "sort", "obfuscate_names", "add_signature", "rename_signature", "order_signature",
    "remove_signature",
)  # fmt: skip
"""The edits after which every tensor that is still there has the value that it had."""

PATTERNS = (
    ("Relu(x)", "Relu6(x)"), ("Identity(x)", "x"), ("Add|AddV2(x, y)", "AddV2(y, x)"),
    ("MatMul(x, w)", "MatMul(x, w)"), ("Mul(x, y)", "z = Mul(x, y); Identity(z)"),
    ("Relu(x)", "LeakyRelu(x, alpha=0.2)"), ("Sub(x, y)", "Sub"), ("BiasAdd(x, b)", "AddV2(x, b)"),
    ("Tanh(x)", tf.nn.relu), ("Nonsense(x)", "x"), ("Relu(", "x"), ("Const", "Identity"),
    ("Relu(Add|AddV2(MatMul(x, w), b))", "MatMul(x, w)"), ("Sum(x, axes)", "x"),
)  # fmt: skip


def _path(step: str) -> str:
    """The name of the editor's method for one of these steps: "view.enter", "passes.cast"."""
    registration = registration_of(step)
    if registration is not None:
        return registration.kind.call_name()
    renamed = {
        "open": "view.expand",
        "close": "view.collapse",
        "jump": "history.goto",
        "edits": "history.records",
        "cost": "table",
        "refresh": "source.reload",
        "to_bytes": "__bytes__",
        "show_all": "view.show",
    }
    methods = public_methods()
    return renamed.get(step) or next(
        name for name in (step, f"view.{step}", f"history.{step}") if name in methods
    )


@dataclass(frozen=True)
class Call:
    """A call of an editor's method, by names only, so that it can be made again on another editor.

    A `Part` among the arguments is a selection, an `Elsewhere` another editor, a `Path` a file in
    the run's folder.
    """

    method: str
    args: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        words = [
            *map(_written, self.args),
            *(f"{key}={_written(value)}" for key, value in self.options.items()),
        ]
        report = {
            "select": "editor.selection = {0}",
            "renew": "tgw.renew(editor.session)",
            "run": "editor.session.run({0})",
            "sync": "editor[{0}].sync()",
        }
        if self.method in report:
            return report[self.method].format(*words)
        return f"editor.{_path(self.method)}({', '.join(words)})"

    def on(self, editor: GraphEditor, folder: Path) -> Any:
        """Make it."""
        args = tuple(_meant(value, editor, folder) for value in self.args)
        options = {key: _meant(value, editor, folder) for key, value in self.options.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a save could not do is said in a warning
            match self.method:
                case "select":
                    editor.selection = args[0]
                    return None
                case "renew":
                    return tgw.renew(editor.session)
                case "sync":
                    copy = editor._core.executor.copies.get(args[0])
                    # What was grown has no original.
                    return copy.sync() if hasattr(copy, "sync") else None
                case "preview":
                    return editor.preview(editor.clone, *args, **options)
                case "split":
                    return editor.split(*args).check()
                case "run":
                    return _run(editor, args[0])
            return attrgetter(_path(self.method))(editor)(*args, **options)


@dataclass(frozen=True)
class Part:
    """Some ops as a selection."""

    ops: tuple[str, ...]

    def __str__(self) -> str:
        return f"editor.ops({', '.join(map(repr, self.ops))})"


@dataclass(frozen=True)
class Elsewhere:
    """Another graph: an editor of the example."""

    def __str__(self) -> str:
        return "tgw.example()"


@dataclass(frozen=True)
class File:
    """A file in the folder of the run."""

    name: str

    def __str__(self) -> str:
        return f'folder + "/{self.name}"'


def _written(value: Any) -> str:
    if isinstance(value, Part | Elsewhere | File):
        return str(value)
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{_written(key)}: {_written(item)}" for key, item in value.items())
            + "}"
        )
    return getattr(value, "__name__", repr(value))


def _meant(value: Any, editor: GraphEditor, folder: Path) -> Any:
    if isinstance(value, Part):
        return editor.ops(*value.ops)
    if isinstance(value, File):
        return f"{folder}/{value.name}"
    return tgw.example() if isinstance(value, Elsewhere) else value


def _run(editor: GraphEditor, op: str) -> None:
    """Run an op as a person does; edits may have made it one that cannot run."""
    if editor._core.source.session is not None:
        with suppress(tf.errors.OpError, ValueError):
            editor._core.source.session.run(op, options=v1.RunOptions(timeout_in_ms=_PATIENCE))


class Draw:
    """Draws calls for an editor as it is."""

    def __init__(
        self, editor: GraphEditor, seed: int | str, weights: dict[str, int] | None = None
    ) -> None:
        self.editor, self.random = editor, random.Random(seed)
        self.weights = WEIGHTS if weights is None else weights

    def call(self) -> Call:
        """The next one."""
        method = self.random.choices([*self.weights], [*self.weights.values()])[0]
        return self.of(method)

    def of(self, method: str) -> Call:
        """A call of a method."""
        args, options = getattr(self, f"_{method}", lambda: ((), {}))()
        return Call(method, args, options)

    # Names

    def _chance(self, share: float) -> bool:
        return self.random.random() < share

    def op(self) -> str:
        if self._chance(0.02):
            return self.random.choice(ODD_NAMES)
        return self.random.choice([*self.editor._core.index.names] or ["nothing"])

    def ops(self, most: int = 3) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.op() for _ in range(self.random.randint(1, most))))

    def scope(self) -> str:
        names = [name for name in self.editor._core.index.scopes.names if name]
        return self.random.choice(names or [self.op()])

    def tensor(self, dtype: str = "") -> str:
        """A tensor, of the dtype if there is one among some."""
        index, some = self.editor._core.index, []
        if len(index):
            for _ in range(40):
                op = self.random.randrange(len(index))
                some += [
                    (f"{index.names[op]}:{port}", known)
                    for port, known in enumerate(index.dtypes(op))
                ]
        alike = [
            name for name, known in some if known.removesuffix("_ref") == dtype.removesuffix("_ref")
        ]
        return self.random.choice(alike or [name for name, _ in some] or [f"{self.op()}:0"])

    def dtype(self, tensor: str) -> str:
        index, (op, _, port) = self.editor._core.index, tensor.rpartition(":")
        known = index.dtypes(index.ids[op]) if op in index.ids else ()
        return known[int(port)] if port.isdigit() and int(port) < len(known) else ""

    def of_type(self, *types: str) -> str:
        index = self.editor._core.index
        found = [name for name, kind in zip(index.names, index.types, strict=True) if kind in types]
        return self.random.choice(found) if found else self.op()

    def part(self) -> Any:
        """An op, a scope, or a selection."""
        return self.random.choice(
            [self.op, self.op, lambda: f"{self.scope()}/", self.scope, self._selection]
        )()

    def _selection(self) -> Part:
        names = tuple(name for name in self.ops(4) if name in self.editor._core.index.ids)
        return Part(names or self.editor._core.index.names[:1])

    def boundary(self) -> tuple[list[str], list[str]]:
        """Inputs and outputs of a part: mostly the ones upstream of the others."""
        index, output = self.editor._core.index, self.tensor()
        op = index.ids.get(output.rpartition(":")[0])
        inputs: list[str] = []
        if op is not None and self._chance(0.8):
            upstream = [
                i
                for i in np.flatnonzero(traversal.backward(index, [op])).tolist()
                if index.dtypes(i)
            ]
            chosen = self.random.sample(upstream, min(len(upstream), self.random.randint(0, 3)))
            inputs = [f"{index.names[i]}:0" for i in chosen]
        return inputs, [output]

    def into(self) -> str:
        free = self.editor._core.executor.free_scope(
            self.random.choice(["copy", "part", "net/copy", "head"])
        )
        return self.random.choice([free] * 8 + [self.scope(), self.op()])

    # What each method is given

    def _clone(self) -> Any:
        options: dict[str, Any] = {"into": self.into()}
        if self._chance(0.15):
            args: tuple[Any, ...] = (self._selection(),)
        elif self._chance(0.1):
            args, _ = (), options.pop("into")
        else:
            args = self.boundary()
            if self._chance(0.1):
                args = ([], args[1])
        handle = self.of_type("VarHandleOp", "VariableV2")
        more = {
            "variables": lambda: self.random.choice(
                ["shared", "own", {handle: "shared"}, {self.scope(): "shared"}]
            ),
            "init": lambda: self.random.choice(
                ["initial", "none", "current", {handle: 0.5}, {handle: "initial"}]
            ),
            "placeholders": lambda: True,
            "reseed": lambda: True,
            "times": lambda: self.random.choice([1, 2, 0]),
            "device": lambda: self.random.choice(DEVICES),
            "devices": lambda: self.random.choices(DEVICES, k=2),
            "replace": lambda: {(old := self.tensor()): self.tensor(self.dtype(old))},
            "src_scope": self.scope,
            "graph": Elsewhere,
        }
        shares = {"variables": 0.3, "init": 0.5, "device": 0.1, "devices": 0.05, "graph": 0.04}
        for key, draw in more.items():
            if self._chance(shares.get(key, 0.08)):
                options[key] = draw()
        return args, options

    _preview = _clone

    def _add(self) -> Any:
        name = self.random.choice(["other.pb", "other.meta", "other", "opened.pb", "nothing.pb"])
        options = {"connect": {"x:0": self.tensor("float32")}} if self._chance(0.3) else {}
        return (File(name), self.into()), options

    def _call(self) -> Any:
        return (
            self.tensor(self.random.choice(["float32", "float32", ""])),
            self.random.choice(FUNCTIONS),
        ), {"into": self.into()}

    def _mend(self) -> dict[str, Any]:
        return (
            {"adapter": self.random.choice(["Cast", "Reshape", "Transpose"])}
            if self._chance(0.15)
            else {}
        )

    def _reroute(self) -> Any:
        if self._chance(0.15):
            return (f"^{self.op()}", f"^{self.op()}"), {}
        old = self.tensor()
        options = self._mend()
        if self._chance(0.3):
            options[self.random.choice(["only", "never"])] = self.random.choice(
                [[self.op()], self._selection()]
            )
        return (old, self.tensor(self.dtype(old))), options

    def _swap(self) -> Any:
        if self._chance(0.4):
            return (self.part(), self.part()), {
                "what": self.random.choice(["inputs", "outputs", "both"])
            }
        old = self.tensor()
        return (old, self.tensor(self.dtype(old))), self._mend()

    def _connect(self) -> Any:
        return (self.tensor(), self.op()), {**self._mend(), "k": self.random.choice([None, 0, 1])}

    def _bypass(self) -> Any:
        return (self.part(),), self._mend()

    def _detach(self) -> Any:
        return (self.part(),), {
            key: False for key in ("inputs", "outputs") if self._chance(0.2)
        } | {"control": self._chance(0.4)}

    def _insert(self) -> Any:
        if self._chance(0.3):
            return (
                self.tensor(),
                self.random.choice(["Identity", "StopGradient", "Snapshot", "Cast", "nonsense"]),
            ), {}
        return (self.tensor("float32"), self.random.choice(FUNCTIONS)), {"into": self.into()}

    def _replace(self) -> Any:
        by = self.random.choice([self.random.choice(FUNCTIONS), self.part()])
        return (self.part(), by), {"remove": self._chance(0.5)}

    def _remove(self) -> Any:
        return (self.part(),), {"prune": self._chance(0.7), "consumers": self._chance(0.6)}

    def _rename(self) -> Any:
        free = self.editor._core.executor.free_scope(
            self.random.choice(["named", "net/named", "b"])
        )
        new = self.random.choice([free, free, free, self.op(), self.scope()])
        return (
            self.random.choice(
                [self.op(), f"{self.scope()}/", self.of_type("VarHandleOp", "VariableV2")]
            ),
            new,
        ), {}

    def _set_device(self) -> Any:
        return (self.part(), self.random.choice([*DEVICES, "/device:CPU:0"])), {}

    def _set_attr(self) -> Any:
        op = self.op()
        index = self.editor._core.index
        attrs = [*index.nodes[index.ids[op]].attr] if op in index.ids else []
        values = (True, 1, "float32", [None, 2], "VALID", "no", 2**70, None)
        return (op, self.random.choice([*attrs, "nothing"]), self.random.choice(values)), {}

    def _set_constant(self) -> Any:
        values = (0, 1.5, [1.0, 2.0], True, "text", [], [[1.0, 2.0, 3.0]], 10**40)
        return (f"{self.of_type('Const', 'Placeholder')}:0", self.random.choice(values)), {}

    def _set_input(self) -> Any:
        options: dict[str, Any] = {
            "shape": self.random.choice([[None, 3], [2, 3], [None, 4], None, [-3], "no"])
        }
        if self._chance(0.4):
            options = {
                "dtype": self.random.choice(["float64", "float16", "int32", "no"]),
                "adapter": "Cast",
            }
        return (f"{self.of_type('Placeholder', 'PlaceholderWithDefault')}:0",), options | {
            "fix": self._chance(0.2)
        }

    def _add_control_inputs(self) -> Any:
        return (self.op(), self.ops()), {}

    def _remove_control_inputs(self) -> Any:
        index = self.editor._core.index
        edges = list(
            zip(index.controls.owner.tolist(), index.controls.values.tolist(), strict=True)
        )
        if not edges:
            return (self.op(), self.op()), {}
        op, source = self.random.choice(edges)
        return (index.names[op], index.names[source]), {}

    def _freeze(self) -> Any:
        return (self.boundary()[1],), {}

    _strip_training = _freeze

    def _extract(self) -> Any:
        return self.boundary(), {}

    def _set_trainable(self) -> Any:
        return (self.of_type("VarHandleOp", "VariableV2"),), {}

    _mark = _extract

    def _select(self) -> Any:
        return (self._selection() if self._chance(0.8) else None,), {}

    def _open(self) -> Any:
        return (self.scope(),), {"deep": self._chance(0.3)}

    _close = _open

    def _hide(self) -> Any:
        return (self.part(),), {}

    def _pin(self) -> Any:
        return (self.op(), self.random.uniform(-500, 500), self.random.uniform(-500, 500)), {}

    def _enter(self) -> Any:
        index = self.editor._core.index
        calling = [
            name
            for op, name in enumerate(index.names)
            if self.editor.view.called_functions(index.names[op])
        ]
        return (self.random.choice([*calling, *index.functions] or [self.op()]),), {}

    def _run(self) -> Any:
        return ("train",), {}

    # Patterns and passes

    def _replace_all(self) -> Any:
        options: dict[str, Any] = {"into": self.into()} if self._chance(0.3) else {}
        for key, draw in {
            "within": self.part, "until": lambda: "fixed", "effects": lambda: True,
            "functions": lambda: True
        }.items():  # fmt: skip
            if self._chance(0.2):
                options[key] = draw()
        return self.random.choice(PATTERNS), options

    def _match(self) -> Any:
        return (self.random.choice(PATTERNS)[0],), {"functions": self._chance(0.3)}

    def _kept(self) -> dict[str, Any]:
        options: dict[str, Any] = {"keep": self.ops()} if self._chance(0.3) else {}
        return options | ({"functions": False} if self._chance(0.3) else {})

    def _remove_identities(self) -> Any:
        return (), self._kept()  # without `also`: CheckNumerics and the like are not identities

    def _merge_duplicates(self) -> Any:
        return (), self._kept()

    def _fold_constants(self) -> Any:
        options = self._kept() | ({"shapes": False} if self._chance(0.3) else {})
        return ((self.random.choice([0, 8, 10**6]),) if self._chance(0.3) else ()), options

    def _rename_type(self) -> Any:
        types = [*self.editor._core.index.types] or ["Relu"]
        return (self.random.choice(types), self.random.choice(["Relu", "Relu6", "Mul", *types])), {}

    def _obfuscate_names(self) -> Any:
        return (), {}

    def _change_batch_size(self) -> Any:
        return (self.random.choice([None, 1, 2, 3, 8, 0, -1]),), {}

    def _cast(self) -> Any:
        options: dict[str, Any] = {"boundary": "cast"} if self._chance(0.3) else {}
        return (self.random.choice(["float16", "bfloat16", "float64"]),), options

    def _round_weights(self) -> Any:
        return (self.random.choice([8, 4, 2, 0]),), {"minimum": self.random.choice([1, 4])}

    def _quantize_weights(self) -> Any:
        return (), {"minimum": self.random.choice([1, 4]), "per_channel": self._chance(0.5)}

    def _signature(self) -> str:
        names = [signature.name for signature in tuple(self.editor.signatures.values())]
        return self.random.choice([*names, "serving_default", "other", ""])

    def _add_signature(self) -> Any:
        inputs, outputs = self.boundary()
        if self._chance(0.4):
            return (self._signature(),), {"outputs": {"y": outputs[0]}}
        return (self._signature(), inputs, outputs), {}

    def _rename_signature(self) -> Any:
        return (self._signature(), self.random.choice(["serving_default", "renamed", ""])), {}

    def _order_signature(self) -> Any:
        name = self._signature()
        found = next(
            (each for each in tuple(self.editor.signatures.values()) if each.name == name), None
        )
        keys = [key for key, _ in found.inputs] if found else ["x"]
        self.random.shuffle(keys)
        return (name, keys), {}

    def _remove_signature(self) -> Any:
        return (self._signature(),), {}

    def _sync(self) -> Any:
        return (self.random.choice([*self.editor._core.executor.copies, "nothing"]),), {}

    def _split(self) -> Any:
        inputs, outputs = self.boundary()
        return (self.tensor(), inputs, outputs), {}

    def _jump(self) -> Any:
        history = self.editor.history
        return (self.random.randint(0, len(history.done) + len(history.undone) + 1),), {}

    def _save(self) -> Any:
        name = self.random.choice(FILES)
        if name == "frozen.pb":
            return (File(name), *self.boundary()), {"frozen": True, "verify": self._chance(0.3)}
        return (File(name),), {"verify": self._chance(0.3)}

"""Whatever TensorFlow, the disk, the memory or Ctrl-C does in the middle of a call: it is done, or
nothing is.
"""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import tfgraphwidget as tgw
from tests.slow import slow
from tests.stress import ROUNDS, Broken, count, seeds, unknown
from tests.stress.faults import Kind, Site, Watch, with_fault
from tests.stress.functions import halved, looked_up, shifted
from tests.stress.models import MODELS
from tests.stress.random_edits import Call, File
from tests.stress.sequences import Run
from tests.stress.state import State, check_follows, differing, state_of
from tfgraphwidget.errors import GraphEditError

_SITES = 10  # of each case in `make test`, of some dozens
# faults on one editor, before it is opened anew: what TensorFlow cannot remove piles up
_OFTEN = 25


@dataclass(frozen=True)
class Case:
    """A call on a model, after some others. Each editor is opened anew when it is a file that the
    call imports.
    """

    model: str
    call: Call
    first: tuple[Call, ...] = ()
    imports: bool = False

    def __str__(self) -> str:
        return f"{self.model}: {'; '.join(map(str, (*self.first, self.call)))}"


def call(method: str, *args: Any, **options: Any) -> Call:
    return Call(method, args, options)


CLONE = call("clone", "x:0", "net/logits:0", into="copy")
BYPASS = call("bypass", "net/hidden/Relu")
CASES = (
    Case("example", CLONE),
    Case("example", call("clone", "x:0", "net/logits:0", into="copy", times=2, init="initial")),
    Case("example", call("call", "net/hidden/Relu:0", shifted, into="head")),
    Case("example", call("call", "net/hidden/Relu:0", looked_up, into="head")),
    Case("example", call("insert", "net/hidden/Relu:0", shifted, into="head")),
    Case("example", call("insert", "net/hidden/Relu:0", "Identity", into="same")),
    Case("example", call("replace", "net/hidden/Relu", shifted, into="head", remove=True)),
    Case("example", BYPASS),
    Case("example", call("remove", "loss", consumers=True)),
    Case("example", call("rename", "net/hidden/", "body")),
    Case("example", call("rename", "net/w", "weights")),
    Case("example", call("freeze", "net/logits:0")),
    Case("example", call("replace_all", "Relu(Add|AddV2(x, b))", halved, into="head")),
    Case("example", call("set_constant", "labels:0", [1])),
    Case("example", call("set_input", "x:0", [2, 4])),
    Case("example", call("set_trainable", "net/w")),
    Case("example", call("extract", "x:0", "net/logits:0")),
    Case("example", call("add", File("other.pb"), "second")),
    Case("example", call("undo"), (CLONE, BYPASS)),
    Case("example", call("redo"), (CLONE, call("undo"))),
    Case("example", call("redo"), (BYPASS, call("undo"))),
    Case("example", call("jump", 0), (CLONE, BYPASS)),
    Case("example", call("save", File("a.pb")), (call("save", File("a.pb")), BYPASS)),
    Case("example", call("save", File("a.meta")), (call("save", File("a.meta")), BYPASS)),
    Case(
        "example",
        call("save", File("saved/"), "x:0", "net/logits:0"),
        (call("save", File("saved/"), "x:0", "net/logits:0"), BYPASS),
    ),
    Case("example", call("save", File("a.json")), (call("save", File("a.json")), BYPASS)),
    Case("example", call("renew")),
    Case("example", call("sync", "copy"), (CLONE, call("run", "train"))),
    Case("queue", call("set_constant", "batch/element:0", [3.0, 4.0])),
    Case("queue", call("clone", [], ["y:0"], into="copy")),
    Case("tables", call("set_constant", "values:0", [3, 4])),
    Case("tables", call("clone", "word:0", "y:0", into="copy", variables="shared")),
    Case("control flow, ref", call("clone", "x:0", "loss:0", into="copy")),
    Case("training, ref", call("bypass", "dropout/Mul")),
    Case("dataset_iter", call("clone", [], ["next:0"], into="copy")),
    Case(
        "training.meta with values", call("clone", "x:0", "net/a/out:0", into="copy"), imports=True
    ),
    Case(
        "training.meta with values",
        call("call", "net/a/out:0", shifted, into="head"),
        (),
        imports=True,
    ),
)
SLOW_CASES = (
    Case("example", call("replace_all", "Relu(x)", "Elu(Neg(x))", until="fixed")),
    Case("example", call("undo"), (call("replace_all", "Relu(x)", "Elu(x)"),)),
    Case("example", call("rename_type", "Relu", "Elu")),
    Case("example", call("cast", "float16")),
    Case("example", call("obfuscate_names")),
)


class Faults:
    """A call, made with one fault after the other on the same editor."""

    def __init__(self, case: Case, folder: Path) -> None:
        self.case, self.folder, self.number = case, folder, 0
        self.open()

    def open(self) -> None:
        """An editor on which nothing has gone wrong yet."""
        self.number += 1
        folder = self.folder / str(self.number)
        folder.mkdir()
        model = next(model for model in MODELS if model.name == self.case.model)
        self.run = Run(model, folder)
        for earlier in self.case.first:
            refused = not self.run.step(earlier)
            assert not refused, earlier
        self.before, self.left = self.run.state, _OFTEN

    def make(self) -> None:
        self.case.call.on(self.run.editor, self.run.folder)

    def look(self) -> State:
        check_follows(self.run.editor)
        return state_of(self.run.editor, self.run.folder)

    def faultless(self) -> Watch:
        """What is called when nothing goes wrong, and what it comes to."""
        with Watch() as watch:
            self.make()
        self.after = self.look()
        self.open()
        return watch

    def inject(self, site: Site, kind: Kind) -> None:
        """Raise Broken unless the call is done wholly or not at all, with an error that says so."""
        self.check(lambda: with_fault(self.make, site, kind), kind)

    def check(self, make: Callable[[], bool], kind: Kind) -> None:
        """The same for a function that makes the call, and returns whether something has gone wrong
        in it.
        """
        if self.left == 0 or self.case.imports:
            self.open()
        self.left -= 1
        error: BaseException | None = None
        try:
            if not make():
                self.open()  # this time it went another way, and nothing went wrong
                return
        except BaseException as raised:
            error = raised
        count(f"faults ({kind})")
        self.check_error(kind, error)
        now = self.look()
        undone = self.same(self.before, now)
        done = self.same(self.after, now)
        if undone and done:
            closer = min((undone, "before"), (done, "after"), key=lambda pair: len(pair[0]))
            raise Broken("is half done: from {1} it differs in {0}".format(*closer))
        if error is None and done and not _passed_over(kind):
            raise Broken(f"is called done, and differs from that in {done}")
        self.check_files(now)
        if undone:
            self.open()

    def report(self, pair: tuple[Site, Kind]) -> str:
        """What goes wrong, or ""."""
        site, kind = pair
        try:
            self.inject(site, kind)
        except Broken as broken:
            self.open()
            return f"{self.case}: {kind} in {site}: {broken}"
        return ""

    def same(self, wanted: State, now: State) -> str:
        """What differs; files are looked at by themselves, and objects of the history are others
        each time.
        """
        keys = [key for key in wanted if key not in ("files", "history", "free scopes", "fresh")]
        if not wanted["live"]:
            keys = [key for key in keys if key not in ("live", "values", "collections")]
        # Elements of a queue, which can only be had by taking them out.
        lost = " ".join(self.run.editor.history.lost)
        held = {
            name: value
            for name, value in now["values"].items()
            if f"'{name.partition('/')[0]}/" not in lost
        }
        kept = {**wanted["values"], **held}
        return differing(wanted, {**now, "values": kept}, keys)

    def check_error(self, kind: Kind, error: BaseException | None) -> None:
        fits = {
            "TensorFlow": GraphEditError,
            "full disk": GraphEditError,
            "memory": (MemoryError, GraphEditError),
            "interrupt": (KeyboardInterrupt, GraphEditError),
        }[kind]
        if error is not None and not isinstance(error, fits):
            raise Broken(f"raises {type(error).__name__}: {str(error)[:300]}") from error

    def check_files(self, now: State) -> None:
        """Files are the old ones, or the new ones; none is missing, none is left over."""
        old, new, there = self.before["files"], self.after["files"], now["files"]
        if there == old:
            return
        if there.keys() - old.keys() - new.keys():
            raise Broken(
                f"files are left over: {sorted(there.keys() - old.keys() - new.keys())[:5]}"
            )
        if there.keys() not in (old.keys(), new.keys()):
            raise Broken(
                f"files are missing: {sorted((old.keys() | new.keys()) - there.keys())[:5]}"
            )
        target = self.case.call.args[0]
        if isinstance(target, File) and not target.name.endswith(".json"):
            try:
                names = tgw.edit(self.run.folder / target.name)._core.index.names
            except Exception as error:
                raise Broken(f"the file cannot be read: {error}") from error
            if not names:
                raise Broken("the file is empty")


def _passed_over(kind: Kind) -> bool:
    """Whether a fault may go by unseen: an interrupt that nobody hears."""
    return kind == "interrupt"


@pytest.fixture(autouse=True)
def _ctrl_c() -> Iterator[None]:
    """Ctrl-C as Python has it, whatever pytest or its workers have made of it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


# TensorFlow's own objects, half made, complain when they are deleted.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("case", [*CASES, *map(slow, SLOW_CASES)], ids=str)
@pytest.mark.sample(3)
def test_a_call_is_done_or_not_whatever_goes_wrong_in_it(case: Case, tmp_path: Path) -> None:
    faults = Faults(case, tmp_path)
    watch = faults.faultless()
    chance = random.Random(seeds(1)[0])
    if ROUNDS == 1:
        sites = watch.sites()
        pairs = [
            (site, chance.choice(site.kinds))
            for site in chance.sample(sites, min(len(sites), _SITES))
        ]
    else:
        pairs = [(site, kind) for site in watch.all_sites() for kind in site.kinds]
        pairs = chance.sample(pairs, min(len(pairs), _SITES * ROUNDS))
    reports = [unknown(report) for report in map(faults.report, pairs) if report]
    assert not any(reports), "\n".join(filter(None, reports))

"""Sync over gRPC: two real servers in processes of their own, and what is said when one of them is
gone.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import fill, read, v1
from tfgraphwidget.errors import SessionRefused
from tfgraphwidget.runtime.sync.sync import Model, Sync
from tfgraphwidget.sources.variables import variable_definition

TASKS = ("/job:worker/task:0", "/job:worker/task:1")
ROOT = Path(__file__).parents[2]
STARTING = 180.0  # seconds for TensorFlow to be imported twice on a busy machine


@dataclass
class Cluster:
    """Two servers; sessions are opened on the first, and end by themselves when it does not
    answer.
    """

    processes: list[subprocess.Popen]  # which stand in for the servers, see tests/browser/warm.py
    servers: list[int]  # ids of their processes
    addresses: list[str]

    @property
    def target(self) -> str:
        return f"grpc://{self.addresses[0]}"

    def session(self, graph: tf.Graph) -> v1.Session:
        """A session whose end cannot hang: `close` on servers that are gone waits for ever without
        this timeout.
        """
        return v1.Session(
            self.target, graph=graph, config=v1.ConfigProto(operation_timeout_in_ms=5_000)
        )

    def kill(self, task: int) -> None:
        self.processes[task].kill()
        self.processes[task].wait()
        self.processes[task].stdout.read()  # which ends when the server does


def free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def started(python: list[str], addresses: list[str], task: int) -> subprocess.Popen:
    script = str(Path(__file__).with_name("worker.py"))
    quiet = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([*python, script, json.dumps(addresses), str(task)], **quiet)


def ready(process: subprocess.Popen, deadline: float) -> int:
    """The id of a server that is ready in time; 0 for one that ended, as another program has its
    port meanwhile.
    """
    wait = max(0.0, deadline - time.monotonic())
    is_answer = select.select([process.stdout], [], [], wait)[0]
    return int(process.stdout.readline() or 0) if is_answer else 0


def stands_still(server: int) -> bool:
    """Whether SIGSTOP has reached all threads of a process; they may run on for a moment."""
    threads = Path(f"/proc/{server}/task").iterdir()
    return {(thread / "stat").read_text().rpartition(") ")[2][0] for thread in threads} == {"T"}


def end(processes: list[subprocess.Popen]) -> None:
    for process in processes:
        process.kill()  # also one that SIGSTOP holds
    for process in processes:
        process.wait()
        process.stdin.close()
        process.stdout.close()


@pytest.fixture(scope="module")
def servers(warm_python: list[str]) -> Iterator[Cluster]:
    """Two servers for all tests."""
    for _ in range(3):
        addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]
        processes = [started(warm_python, addresses, task) for task in range(2)]
        deadline = time.monotonic() + STARTING
        ids = [ready(process, deadline) for process in processes]
        if all(ids):
            break
        end(processes)
    else:
        pytest.fail("no two servers could be started")
    try:
        yield Cluster(processes, ids, addresses)
    finally:
        end(processes)


@pytest.fixture
def cluster(servers: Cluster, warm_python: list[str]) -> Cluster:
    """The two servers; one that a test has killed is started again, where it was."""
    for task, process in enumerate(servers.processes):
        if process.poll() is not None:
            end([process])
            servers.processes[task] = started(warm_python, servers.addresses, task)
            servers.servers[task] = ready(servers.processes[task], time.monotonic() + STARTING)
            assert servers.servers[task]
    return servers


def two_places(*, resource: bool) -> tuple[tf.Graph, tf.Variable, tf.Variable, tf.Operation]:
    """ "a" on the first server, its copy "copy/a" on the second; one op initialises both."""
    graph = tf.Graph()
    with graph.as_default():
        with tf.device(TASKS[0]):
            a = v1.Variable([1.0, 2.0], name="a", use_resource=resource)
        with tf.device(TASKS[1]):
            b = v1.Variable([5.0, 6.0], name="copy/a", use_resource=resource)
        init = v1.global_variables_initializer()
    return graph, a, b, init


def sync_on(
    graph: tf.Graph, session: v1.Session, a: tf.Variable, b: tf.Variable, patience: float = 60
) -> Sync:
    model = Model(graph, session)
    return Sync(((variable_definition(a), variable_definition(b)),), model, model, "copy", patience)


def refusal(*calls: Callable[[], object]) -> str:
    """What the calls are refused with, which would otherwise wait for ever."""
    said = ""
    for call in calls:
        with pytest.raises(SessionRefused, match="does not answer") as refused:
            call()
        said = refused.value.why
    return said


@pytest.mark.parametrize("resource", [False, True], ids=["ref", "resource"])
@pytest.mark.sample(1)
def test_the_copy_on_another_server_is_synced_over_grpc(cluster: Cluster, resource: bool) -> None:
    graph, a, b, init = two_places(resource=resource)
    with cluster.session(graph) as session:
        session.run(init)
        sync = sync_on(graph, session, a, b)
        assert sync.drift() == {"a:0": 4.0}
        sync.sync(tau=0.25)
        assert read([b], session)[0].tolist() == [4.0, 5.0]
        sync.sync()
        assert sync.drift() == {"a:0": 0.0}
        fill(a, [8.0, 9.0], session)
        session.run(sync.op())
        assert read([b], session)[0].tolist() == [8.0, 9.0]
        writes = [
            op
            for op in graph.get_operations()
            if op.name.startswith("copy/sync") and "Assign" in op.type
        ]
        assert {op.device for op in writes} == {TASKS[1]}


def test_values_come_over_grpc_into_a_session_of_this_process(cluster: Cluster) -> None:
    there, a, _, init = two_places(resource=True)
    here = tf.Graph()
    with here.as_default():
        b = v1.Variable([0.0, 0.0], name="a", use_resource=True)
    with cluster.session(there) as remote, v1.Session(graph=here) as local:
        remote.run(init)
        local.run(b.initializer)
        Sync(
            ((variable_definition(a), variable_definition(b)),),
            Model(there, remote),
            Model(here, local),
        ).sync(0.5)
        assert np.array_equal(read([b], local)[0], [0.5, 1.0])


@pytest.mark.parametrize("has_synced", [False, True])
@pytest.mark.sample(1)
def test_the_death_of_the_server_that_the_session_is_on_is_no_hang(
    cluster: Cluster, has_synced: bool
) -> None:
    graph, a, b, init = two_places(resource=True)
    session = cluster.session(graph)
    session.run(init)
    sync = sync_on(graph, session, a, b, patience=5)
    if has_synced:
        sync.sync()
    cluster.kill(0)
    assert cluster.target in refusal(sync.sync, sync.drift)
    with graph.as_default():
        tf.no_op()  # the graph is not locked


def test_a_server_that_stands_still_is_no_hang(cluster: Cluster) -> None:
    graph, a, b, init = two_places(resource=True)
    session = cluster.session(graph)
    session.run(init)
    sync = sync_on(graph, session, a, b, patience=5)
    sync.sync()
    server = cluster.servers[1]
    os.kill(server, signal.SIGSTOP)
    try:
        while not stands_still(server):
            pass
        refusal(sync.sync)
    finally:
        os.kill(server, signal.SIGCONT)
    fill(a, [3.0, 3.0], session)
    sync.sync()
    assert sync.drift() == {"a:0": 0.0}


@pytest.mark.slow
def test_the_death_of_the_copys_server_is_said_at_once_and_by_name(cluster: Cluster) -> None:
    graph, a, b, init = two_places(resource=True)
    session = cluster.session(graph)
    session.run(init)
    sync = sync_on(graph, session, a, b)
    sync.sync()
    cluster.kill(1)
    assert "task:1" in refusal(sync.sync, lambda: sync.sync(0.5), sync.drift)
    assert read([a], session)[0].tolist() == [1.0, 2.0]
    # A session that has never run would wait for all servers while the graph is locked.
    refusal(sync_on(graph, cluster.session(graph), a, b, patience=5).sync)
    with graph.as_default():
        tf.no_op()


def test_a_clone_is_placed_on_the_second_server_initialised_and_synced(cluster: Cluster) -> None:
    graph = tf.Graph()
    with graph.as_default(), tf.device(TASKS[0]):
        x = v1.placeholder(tf.float32, [2], name="x")
        w = v1.Variable([1.0, 2.0], name="w")
        tf.multiply(x, w, name="y")
        init = v1.global_variables_initializer()
    session = cluster.session(graph)
    session.run(init)
    editor = tgw.edit(graph, session=session)
    copy = editor.clone("x:0", "y:0", "copy", device=TASKS[1])
    assert {graph.get_operation_by_name(name).device for name in copy.ops} == {TASKS[1]}
    assert session.run(copy["y:0"], {x: [1.0, 1.0]}).tolist() == [1.0, 2.0]
    anew = editor.clone("x:0", "y:0", "anew", device=TASKS[1], init="initial")
    fill(w, [5.0, 5.0], session)
    assert copy.drift() == {"w:0": 4.0}
    copy.sync()
    assert session.run([copy["y:0"], anew["y:0"]], {x: [1.0, 1.0]})[0].tolist() == [5.0, 5.0]
    cluster.kill(1)
    before = graph.version
    refusal(copy.sync, lambda: editor.clone("x:0", copy["y:0"], "again"))
    assert graph.version == before


def test_the_example_of_the_page_runs_and_a_server_that_dies_leaves_all_as_it_was(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(
        r"```py\n([^`]*grpc://[^`]*)```",
        (ROOT / "docs" / "how-to" / "clusters.md").read_text(encoding="utf-8"),
    )
    graph = tf.Graph()
    with graph.as_default(), tf.device(TASKS[0]):
        x = v1.placeholder(tf.float32, [2], name="x")
        w = v1.Variable([1.0, 2.0], name="w")
        tf.multiply(x, w, name="y")
        init = v1.global_variables_initializer()
    names = {"tf": tf, "tgw": tgw, "graph": graph, "init": init, "feed": {"x:0": [1.0, 1.0]}}
    code = block.replace("grpc://10.0.0.1:2222", cluster.target).replace("60_000", "5_000")
    # Else the end of the session would hang, in whatever test comes then.
    assert "operation_timeout_in_ms" in code
    with pytest.warns(UserWarning, match="leaves out on which machine"):
        exec(code, names)
    editor, session, copy = (names[name] for name in ("editor", "session", "copy"))
    assert {graph.get_operation_by_name(name).device for name in copy.ops} == {TASKS[1]}
    assert copy.drift() == {"w:0": 0.0}
    saved = tf.saved_model.load("edited").signatures["serving_default"](x=tf.constant([3.0, 1.0]))
    assert [value.numpy().tolist() for value in saved.values()] == [[3.0, 2.0], [3.0, 2.0]]

    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    version, steps = graph.version, len(editor.history.done)
    cluster.kill(1)
    refusal(
        lambda: editor.clone("x:0", "y:0", into="third", device=TASKS[1]),
        lambda: editor.save("edited/", inputs=["x:0"], outputs=[copy["y:0"].name]),
        lambda: editor.save("edited.tgw"),
        editor.__bytes__,
        lambda: editor.probe([copy["y:0"].name], {"x:0": [1.0, 1.0]}),
        copy.sync,
    )
    assert (graph.version, len(editor.history.done)) == (version, steps)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    del session


def test_devices_of_servers_are_known_and_others_refused(cluster: Cluster) -> None:
    graph, a, _, init = two_places(resource=True)
    with graph.as_default():
        tf.square(a, name="y")
    with cluster.session(graph) as session:
        session.run(init)
        editor = tgw.edit(graph, session=session)
        for ask in (partial(editor.preview, editor.clone), editor.clone):
            with pytest.raises(SessionRefused, match="would stand on '/job:worker/task:7'"):
                ask(outputs=["y"], into="nowhere", device="/job:worker/task:7")
        for k, device in enumerate(
            ("/job:worker/task:0/device:CPU:0", "/job:worker/task:1", "/task:1")
        ):
            editor.clone(outputs=["y"], into=f"here_{k}", device=device)
            assert session.run(f"here_{k}/y:0").tolist() == [1.0, 4.0]
        with pytest.raises(SessionRefused, match="could run nothing any more"):
            editor.call(
                "y:0",
                lambda y: tf.raw_ops.Cholesky(input=tf.cast([[y[0]]], tf.float16)),
                into="lacking",
            )
        assert session.run("y:0").tolist() == [1.0, 4.0]


def test_servers_place_the_whole_graph_whatever_the_session_asks_for(cluster: Cluster) -> None:
    graph, _, _, init = two_places(resource=True)
    config = v1.ConfigProto(operation_timeout_in_ms=5_000)
    config.graph_options.place_pruned_graph = True
    with v1.Session(cluster.target, graph=graph, config=config) as session:
        session.run(init)
        editor = tgw.edit(graph, session=session)
        with pytest.raises(SessionRefused, match="would stand on"):
            editor.clone(outputs=["a"], into="nowhere", device="/job:worker/task:7", init="none")
        session.run(init)
        with graph.as_default(), tf.device("/job:worker/task:7"):
            tf.constant(1.0)
        with pytest.raises(tf.errors.InvalidArgumentError, match="task:7"):
            session.run(init)

"""Sync: copies brought up to date, in one graph, between graphs, sessions and processes."""

from __future__ import annotations

import contextlib
import math
import subprocess
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import build_mlp, fill, initialised, read, v1
from tests.editor.test_cancelling import Interrupting, moments
from tests.slow import slow_if
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError, GraphFinalized, SessionRefused, UnknownName
from tfgraphwidget.runtime.live.clone_result import Copy
from tfgraphwidget.runtime.sync.sync import Model, Sync
from tfgraphwidget.runtime.sync.variable_matching import match_variables
from tfgraphwidget.sources.variables import variable_definition

KINDS = pytest.mark.parametrize("resource", [False, True], ids=["ref", "resource"])


def pair(
    resource: bool, value: object = (1.0, 2.0), other: object = (5.0, 6.0), **options: object
) -> tuple[tf.Graph, tf.Variable, tf.Variable]:
    """A graph with a variable "a" and its copy "copy/a"."""
    graph = tf.Graph()
    with graph.as_default():
        a = v1.Variable(value, name="a", use_resource=resource, **options)
        b = v1.Variable(other, name="copy/a", use_resource=resource, **options)
    return graph, a, b


def sync_of(
    session: v1.Session,
    *pairs: tuple[tf.Variable, tf.Variable],
    to: v1.Session | None = None,
    scope: str = "copy",
) -> Sync:
    target = to or session
    report = tuple((variable_definition(a), variable_definition(b)) for a, b in pairs)
    return Sync(report, Model(session.graph, session), Model(target.graph, target), scope)


def one(variable: tf.Variable, session: v1.Session) -> list:
    return read([variable], session)[0].tolist()


def many(mlp: tf.Graph, session: v1.Session) -> tuple[list[tf.Variable], list[tf.Variable], Sync]:
    """The variables of the mlp, their copies in the same graph, and the sync between them."""
    copy = tgw.edit(mlp, session=session).clone("x:0", "net/logits:0", "copy", init="initial")
    copies = list(copy.variables)
    with mlp.as_default():
        originals = [
            v for v in v1.global_variables() if f"copy/{v.name}" in {c.name for c in copies}
        ]
    return originals, copies, sync_of(session, *zip(originals, copies, strict=True))


def test_the_copies_get_the_originals_present_values(mlp: tf.Graph, session: v1.Session) -> None:
    originals, copies, sync = many(mlp, session)
    for k, variable in enumerate(originals):
        fill(variable, k + 0.5, session)
    sync.sync()
    assert all(
        np.array_equal(a, b)
        for a, b in zip(read(originals, session), read(copies, session), strict=True)
    )
    fill(originals[0], 9.0, session)
    assert not np.array_equal(*read([originals[0], copies[0]], session))


@KINDS
def test_tau_mixes_and_can_change_from_call_to_call_without_new_ops(resource: bool) -> None:
    graph, a, b = pair(resource)
    with initialised(graph) as session:
        sync = sync_of(session, (a, b))
        sync.sync(tau=0.25)
        assert one(b, session) == [4.0, 5.0]
        version = graph.version
        sync.sync(tau=0.5)
        assert one(b, session) == [2.5, 3.5]
        sync.sync(tau=0.0)
        assert one(b, session) == [2.5, 3.5]
        assert one(a, session) == [1.0, 2.0]
        assert graph.version == version


@KINDS
@pytest.mark.parametrize("dtype", [tf.float64, tf.float16, tf.bfloat16, tf.complex64])
def test_tau_is_exact_in_every_dtype(resource: bool, dtype: tf.DType) -> None:
    graph = tf.Graph()
    with graph.as_default():
        a = v1.Variable(tf.cast([100.0], dtype), name="a", use_resource=resource)
        b = v1.Variable(tf.cast([0.0], dtype), name="b", use_resource=resource)
    with initialised(graph) as session:
        sync_of(session, (a, b)).sync(tau=0.005)
        got = complex(read([b], session)[0][0])
        assert got == pytest.approx(0.5, abs=1e-12 if dtype == tf.float64 else 1e-6)


@KINDS
@pytest.mark.parametrize(
    ("value", "other"),
    [([3, 4], [7, 9]), ([True, False], [False, False]), ([b"x", b"y"], [b"u", b"v"])],
)
@pytest.mark.parametrize("finalized", [False, True])
def test_integers_booleans_and_strings_are_copied_whatever_tau_is(
    resource: bool, value: list, other: list, finalized: bool
) -> None:
    graph, a, b = pair(resource, value, other)
    with initialised(graph) as session:
        sync = sync_of(session, (a, b))
        if finalized:
            graph.finalize()
        assert sync.drift()["a:0"] > 0
        sync.sync(tau=0.5)
        assert one(b, session) == value
        assert sync.drift() == {"a:0": 0.0}


def test_the_op_is_made_once_in_the_scope_of_the_copy_and_stands_in_no_collection(
    mlp: tf.Graph, session: v1.Session
) -> None:
    originals, copies, sync = many(mlp, session)
    keys = {key: len(mlp.get_collection(key)) for key in mlp.get_all_collection_keys()}
    version = mlp.version
    with mlp.as_default(), tf.name_scope("elsewhere"), tf.device("/job:nowhere"):
        assert sync.op() is sync.op()
        assert sync.op(0.25) is sync.op(0.25)
        assert sync.op(0.25) is not sync.op(0.5)
    made = mlp.get_operations()[version:]
    assert made
    assert all(op.name.startswith("copy/sync") and op.device == "" for op in made)
    assert {key: len(mlp.get_collection(key)) for key in mlp.get_all_collection_keys()} == keys
    fill(originals[0], 4.0, session)
    session.run(sync.op())
    assert np.array_equal(*read([originals[0], copies[0]], session))


@KINDS
def test_the_op_runs_in_a_training_loop(resource: bool) -> None:
    graph, a, b = pair(resource)
    with initialised(graph) as session:
        with graph.as_default():
            train = v1.assign_add(a, [1.0, 1.0])
        sync = sync_of(session, (a, b))
        op = sync.op(0.5)
        expected = np.array([5.0, 6.0])
        for step in range(3):
            session.run(train)
            session.run(op)
            expected += 0.5 * (np.array([1.0, 2.0]) + step + 1 - expected)
        assert one(b, session) == expected.tolist()


@KINDS
def test_under_control_dependencies_the_op_reads_after_what_it_waits_for(resource: bool) -> None:
    graph, a, b = pair(resource)
    with initialised(graph) as session:
        sync = sync_of(session, (a, b))
        session.run(sync.op())
        with graph.as_default():
            train = v1.assign_add(a, [10.0, 10.0]).op
            with tf.control_dependencies([train]):
                both = sync.op()
        session.run(both)
        assert one(b, session) == [11.0, 12.0]
        session.run(sync.op())
        assert one(a, session) == [11.0, 12.0]


@KINDS
def test_an_op_first_asked_for_under_control_dependencies_does_not_spoil_the_next(
    resource: bool,
) -> None:
    graph, a, b = pair(resource)
    with initialised(graph) as session:
        sync = sync_of(session, (a, b))
        with graph.as_default():
            train = v1.assign_add(a, [10.0, 10.0]).op
            with tf.control_dependencies([train]):
                sync.op()
        session.run(sync.op())
        sync.sync(tau=1)
        assert one(a, session) == [1.0, 2.0]


@pytest.mark.parametrize("new_control_flow", [False, True])
def test_in_a_branch_the_op_runs_when_the_branch_does(new_control_flow: bool) -> None:
    (v1.enable_control_flow_v2 if new_control_flow else v1.disable_control_flow_v2)()
    graph, a, b = pair(resource=True)
    with initialised(graph) as session:
        sync = sync_of(session, (a, b))
        with graph.as_default():
            now = v1.placeholder(tf.bool, [], name="now")

            def update() -> tf.Tensor:
                with tf.control_dependencies([sync.op()]):
                    return tf.constant(1)

            done = tf.cond(now, update, lambda: tf.constant(0))
        assert session.run(done, {now: False}) == 0
        assert one(b, session) == [5.0, 6.0]
        assert session.run(done, {now: True}) == 1
        assert one(b, session) == [1.0, 2.0]


@KINDS
@pytest.mark.parametrize("tau", [1.0, 0.5])
@pytest.mark.sample(2)
def test_when_one_original_has_no_value_no_copy_changes(resource: bool, tau: float) -> None:
    graph = tf.Graph()
    with graph.as_default():
        pairs = [
            [
                v1.Variable(tf.fill([100], float(k)), name=f"{s}v{k}", use_resource=resource)
                for s in ("", "copy/")
            ]
            for k in range(20)
        ]
    with v1.Session(graph=graph) as session:
        for k, (a, b) in enumerate(pairs):
            session.run([b.initializer] + ([a.initializer] if k != 13 else []))
            fill(b, -1.0, session)
        sync = sync_of(session, *((a, b) for a, b in pairs))
        for _ in range(5):
            with pytest.raises(SessionRefused, match="'v13' has no value") as refused:
                sync.sync(tau)
            assert refused.value.ops == ("v13",)
        assert all((value == -1.0).all() for value in read([b for _, b in pairs], session))
        with pytest.raises(SessionRefused, match="'v13'"):
            sync.drift()


@KINDS
def test_mixing_into_a_copy_without_a_value_names_the_copy(resource: bool) -> None:
    graph, a, b = pair(resource)
    with v1.Session(graph=graph) as session:
        session.run(a.initializer)
        sync = sync_of(session, (a, b))
        with pytest.raises(SessionRefused, match="'copy/a' has no value"):
            sync.sync(0.5)
        sync.sync()
        assert one(b, session) == [1.0, 2.0]


@KINDS
@pytest.mark.parametrize("tau", [1.0, 0.5])
def test_what_a_refused_sync_made_is_seen_once_it_is_of_use(resource: bool, tau: float) -> None:
    graph, a, b = pair(resource)
    with v1.Session(graph=graph) as session:
        editor = tgw.edit(graph, session=session)
        before = list(editor._core.index.names)
        sync = sync_of(session, (a, b))
        for _ in range(3):
            with pytest.raises(SessionRefused, match="no value"):
                sync.sync(tau)
            assert list(editor._core.index.names) == before
        version = graph.version
        session.run([a.initializer, b.initializer])
        sync.sync(tau)
        assert "copy/sync/all" in editor._core.index.ids
        assert graph.version == version
        sync.op(0.25)
        assert {"copy/sync/all", "copy/sync_1/all"} <= set(editor._core.index.ids)
        assert one(b, session) == ([1.0, 2.0] if tau == 1 else [3.0, 4.0])


def test_an_op_asked_for_after_a_refused_sync_is_seen() -> None:
    graph, a, b = pair(resource=True)
    with v1.Session(graph=graph) as session:
        editor, sync = tgw.edit(graph, session=session), sync_of(session, (a, b))
        with pytest.raises(SessionRefused, match="Variable 'a' has no value"):
            sync.sync()
        assert sync.op().name in editor._core.index.ids
        with pytest.raises(SessionRefused, match="'a' has no value"):
            sync.sync()
        assert sync.op().name in editor._core.index.ids  # it is the person's now


@pytest.mark.parametrize("call", ["sync", "drift"])
def test_a_missing_value_is_reported_without_tensorflows_own_words(call: str) -> None:
    graph, a, b = pair(resource=True)
    with v1.Session(graph=graph) as session, pytest.raises(SessionRefused) as refused:
        getattr(sync_of(session, (a, b)), call)()
    assert "".join(traceback.format_exception(refused.value)).count("Traceback") == 1


@KINDS
def test_an_original_that_changed_its_shape_changes_no_copy(resource: bool) -> None:
    graph, a, b = pair(resource)
    with graph.as_default():
        wide = v1.placeholder(tf.float32, None)
        if resource:
            reshaped = tf.raw_ops.AssignVariableOp(resource=a.handle, value=wide)
        else:
            reshaped = v1.assign(a, wide, validate_shape=False)
        c, d = (v1.Variable([0.0], name=name, use_resource=resource) for name in ("c", "copy/c"))
    with initialised(graph) as session:
        fill(c, 7.0, session)
        session.run(reshaped, {wide: [1.0, 2.0, 3.0]})
        with pytest.raises(SessionRefused, match="cannot be brought up to date"):
            sync_of(session, (c, d), (a, b)).sync()
        assert one(d, session) == [0.0]


def test_pairs_of_different_shape_or_dtype_are_refused_by_name() -> None:
    graph = tf.Graph()
    with graph.as_default():
        a, b = v1.Variable([1.0], name="a"), v1.Variable([1.0, 2.0], name="b")
        c = v1.Variable([1], name="c")
    with initialised(graph) as session:
        with pytest.raises(
            GraphEditError, match=r"'a:0' has shape \(1,\) .* 'b:0' of shape \(2,\)"
        ):
            sync_of(session, (a, b))
        with pytest.raises(
            GraphEditError, match=r"'a:0' has dtype float32 .* 'c:0' of dtype int32"
        ):
            sync_of(session, (a, c))


def test_a_variable_that_is_original_and_copy_at_once_is_refused() -> None:
    graph, a, b = pair(resource=True)
    with initialised(graph) as session, pytest.raises(GraphEditError, match="original and a copy"):
        sync_of(session, (a, b), (b, a))


@pytest.mark.parametrize("tau", [-0.1, 1.1, math.nan, "half", None])
def test_a_tau_that_is_no_mixture_is_refused(tau: object) -> None:
    graph, a, b = pair(resource=True)
    with initialised(graph) as session, pytest.raises(GraphEditError, match="is not a mixture"):
        sync_of(session, (a, b)).sync(tau)


def test_a_sync_goes_on_in_a_renewed_session_and_in_a_grown_graph() -> None:
    graph, a, b = pair(True)
    with initialised(graph) as session:
        sync = sync_of(session, (a, b))
        sync.sync()
        assert tgw.renew(session) == ()
        with graph.as_default():
            tf.constant(1.0, name="more")
        fill(a, [7.0, 8.0], session)
        sync.sync()
        assert one(b, session) == [7.0, 8.0]


def test_a_session_of_another_class_runs_a_sync_itself() -> None:
    graph, a, b = pair(True)
    fetched = []

    class Recorder(v1.Session):  # type: ignore[misc]  # TensorFlow has no types
        def run(self, fetches: Any, *arguments: Any, **options: Any) -> Any:
            fetched.append(fetches)
            return super().run(fetches, *arguments, **options)

    with graph.as_default(), Recorder(graph=graph) as session:
        session.run(v1.global_variables_initializer())
        sync = sync_of(session, (a, b))
        sync.sync()
        assert fetched[-1] is sync.op()
        assert one(b, session) == [1.0, 2.0]


def test_a_closed_session_is_refused() -> None:
    graph, a, b = pair(resource=True)
    session = initialised(graph)
    sync = sync_of(session, (a, b))
    session.close()
    for refused in (sync.sync, sync.drift):
        with pytest.raises(SessionRefused, match="closed"):
            refused()


def test_without_a_session_there_is_the_op_only() -> None:
    graph, a, b = pair(resource=True)
    sync = Sync(
        ((variable_definition(a), variable_definition(b)),), Model(graph), Model(graph), "copy"
    )
    with pytest.raises(SessionRefused, match="no session"):
        sync.sync()
    op = sync.op()
    with initialised(graph) as session:
        session.run(op)
        assert one(b, session) == [1.0, 2.0]


@KINDS
def test_in_a_finalized_graph_values_go_through_python_unless_the_op_is_there(
    resource: bool,
) -> None:
    graph, a, b = pair(resource)
    with initialised(graph) as session:
        sync = sync_of(session, (a, b))
        graph.finalize()
        sync.sync(tau=0.25)
        assert one(b, session) == [4.0, 5.0]
        sync.sync()
        assert one(b, session) == [1.0, 2.0]
        with pytest.raises(GraphFinalized):
            sync.op()


def test_drift_is_the_largest_difference_of_each_variable() -> None:
    graph = tf.Graph()
    values = {
        "f": ([1.0, 2.0], [1.5, -2.0]),
        "i": ([5], [2]),
        "n": ([math.nan, 1.0], [math.nan, 1.0]),
    }
    values |= {
        "m": ([math.nan], [1.0]),
        "j": ([math.inf], [math.inf]),
        "z": ([0.0], [0.25]),
        "c": ([3j], [4.0 + 0j]),
    }
    with graph.as_default():
        pairs = [
            [
                v1.Variable(x, name=s + name, use_resource=True)
                for s, x in zip(("", "copy/"), both, strict=True)
            ]
            for name, both in values.items()
        ]
    with initialised(graph) as session:
        sync = sync_of(session, *((a, b) for a, b in pairs))
        found = sync.drift()
        assert found == {
            "f:0": 4.0, "i:0": 3.0, "n:0": 0.0, "m:0": math.inf, "j:0": 0.0, "z:0": 0.25, "c:0": 5.0
        }  # fmt: skip
        sync.sync()
        assert not any(sync.drift().values())


@KINDS
@pytest.mark.parametrize("tau", [1.0, 0.5])
def test_values_go_to_another_session_of_the_graph(resource: bool, tau: float) -> None:
    graph, a, b = pair(resource)
    with initialised(graph) as first, initialised(graph) as second:
        fill(a, [3.0, 4.0], first)
        sync = sync_of(first, (a, b), to=second)
        sync.sync(tau)
        assert one(b, second) == ([3.0, 4.0] if tau == 1 else [4.0, 5.0])
        assert one(a, second) == [1.0, 2.0]
        assert one(b, first) == [5.0, 6.0]
        assert sync.drift() == {"a:0": 0.0 if tau == 1 else 1.0}


@KINDS
def test_values_go_to_another_graph_and_leave_it_without_new_ops(resource: bool) -> None:
    source, target = build_mlp(resource=resource), build_mlp(resource=not resource)
    with initialised(source) as ours, initialised(target) as theirs:
        originals, copies = source.get_collection("variables"), target.get_collection("variables")
        for k, variable in enumerate(originals):
            fill(variable, k + 1.0, ours)
        version = target.version
        report = match_variables(
            map(variable_definition, originals), map(variable_definition, copies)
        )
        sync = Sync(report, Model(source, ours), Model(target, theirs))
        sync.sync()
        assert target.version == version
        feed = {"x:0": np.ones((1, 3), np.float32)}
        assert np.array_equal(ours.run("net/logits:0", feed), theirs.run("net/logits:0", feed))
        with pytest.raises(GraphEditError, match="two graphs"):
            sync.op()


def names_of(names: Iterable[str], scope: str = "") -> list:
    """VariableDefs of tiny variables."""
    with tf.Graph().as_default():
        return [variable_definition(v1.Variable([0.0], name=scope + name)) for name in names]


def paired(
    source: list, target: list, names: object = None, **scopes: str
) -> list[tuple[str, str]]:
    return [(a.handle, b.handle) for a, b in match_variables(source, target, names, **scopes)]


def test_models_are_matched_by_name_less_their_scopes() -> None:
    a, b = (
        names_of(["one/w", "two/w"], "online/"),
        names_of(["two/w", "one/w", "head/w"], "net/target/"),
    )
    found = paired(a, b, source_scope="online", target_scope="net/target")
    assert found == [("online/one/w", "net/target/one/w"), ("online/two/w", "net/target/two/w")]
    with pytest.raises(GraphEditError, match="None of the 2 variables"):
        paired(a, b)


def test_models_are_matched_by_a_mapping_of_variables_or_scopes() -> None:
    a, b = names_of(["one/w", "one/b", "out"]), names_of(["first/w", "first/b", "last"])
    assert paired(a, b, {"one": "first"}) == [("one/w", "first/w"), ("one/b", "first/b")]
    assert paired(a, b, {"out:0": "last:0"}) == [("out", "last")]
    assert paired(a, b, lambda name: "last" if name == "out" else None) == [("out", "last")]
    with pytest.raises(UnknownName, match="no variable 'on'"):
        paired(a, b, {"on": "first"})
    with pytest.raises(UnknownName, match="no variable 'second/w'"):
        paired(a, b, {"one": "second"})


def test_the_first_layers_alone_are_matched_by_their_names() -> None:
    names = ["one/w", "one/b", "one_more/w", "two/w"]
    assert paired(names_of(names), names_of(names), ["one"]) == [
        ("one/w", "one/w"),
        ("one/b", "one/b"),
    ]
    assert paired(names_of(names), names_of(names), "two") == [("two/w", "two/w")]


def test_the_slots_of_an_optimiser_are_brought_along_where_both_models_have_them() -> None:
    trained, fresh = (
        names_of(["one/w", "one/w/Adam", "one/b", "two/w"]),
        names_of(["first/w", "first/b"]),
    )
    assert paired(trained, fresh, {"one": "first"}) == [("one/w", "first/w"), ("one/b", "first/b")]
    assert paired(trained, fresh, {"one/w": "first/w"}) == [("one/w", "first/w")]
    assert paired(trained, trained, ["one/w"]) == [("one/w", "one/w"), ("one/w/Adam", "one/w/Adam")]
    with pytest.raises(UnknownName, match="no variable 'first/w'"):
        paired(trained, names_of(["first/b"]), {"one": "first"})


PROCESS = """
import sys
import tensorflow as tf
from tests.conftest import build_mlp, fill, initialised
from tfgraphwidget.runtime.sync.sync import Model, Sync
from tfgraphwidget.sources.variables import variable_definition
graph = build_mlp(resource=True)
session = initialised(graph)
variables = graph.get_collection("variables")
for k, variable in enumerate(variables):
    fill(variable, k + 0.25, session)
pairs = tuple((variable_definition(v), variable_definition(v)) for v in variables)
Sync(pairs, Model(graph, session), Model(build_mlp(resource=True))).save(sys.argv[1])
"""


def test_values_come_from_another_process_through_a_checkpoint(
    mlp: tf.Graph, session: v1.Session, tmp_path: Path, warm_python: list[str]
) -> None:
    path = str(tmp_path / "present")
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [*warm_python, "-c", PROCESS, path], cwd=root, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    originals, copies, sync = many(mlp, session)
    before = read(originals, session)
    sync.load(path)
    assert [value.flat[0] for value in read(copies, session)] == [0.25, 1.25, 2.25, 3.25]
    assert all(np.array_equal(a, b) for a, b in zip(before, read(originals, session), strict=True))


def test_a_savers_checkpoint_is_loaded_and_what_is_saved_a_saver_restores(
    mlp: tf.Graph, session: v1.Session, tmp_path: Path
) -> None:
    with mlp.as_default():
        saver = v1.train.Saver()
        fill(saver._var_list[0], 8.0, session)
        path = saver.save(session, str(tmp_path / "theirs"))
    originals, _, sync = many(mlp, session)
    sync.load(path)
    assert not any(sync.drift().values())
    sync.save(str(tmp_path / "ours"))
    fill(originals[0], 1.0, session)
    with mlp.as_default():
        saver.restore(session, str(tmp_path / "ours"))
    assert not any(sync.drift().values())


def test_save_load_and_the_saver_of_a_copy_agree_on_the_names_in_the_checkpoint(
    tmp_path: Path,
) -> None:
    graph = tf.Graph()
    with graph.as_default():
        a = v1.get_variable("a", [2], initializer=v1.ones_initializer())
        tf.identity(a, name="y")
        theirs = v1.train.Saver({"kept/elsewhere": a})
    with initialised(graph) as session:
        copy = tgw.edit(graph, session=session).clone((), "y", "copy")
        fill(a, 7.0, session)
        copy.save(str(tmp_path / "ours"))
        assert tf.train.list_variables(str(tmp_path / "ours")) == [("kept/elsewhere", [2])]
        copy.saver().restore(session, str(tmp_path / "ours"))
        assert one(copy.variables[0], session) == [7.0, 7.0]
        fill(a, 3.0, session)
        copy.load(theirs.save(session, str(tmp_path / "theirs")))
        assert copy.drift() == {"a:0": 0.0}
        fill(copy.variables[0], 5.0, session)
        theirs.restore(session, copy.saver().save(session, str(tmp_path / "copys")))
        assert one(a, session) == [5.0, 5.0]


def test_values_that_cannot_be_written_are_refused_in_one_sentence(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        tf.identity(v1.get_variable("a", [2], initializer=v1.ones_initializer()), name="y")
    (tmp_path / "file").write_text("no folder")
    with initialised(graph) as session:
        copy = tgw.edit(graph, session=session).clone((), "y", "copy")
        with pytest.raises(
            GraphEditError,
            match=r"^save\(\S+\): '.*file' is a file and not a folder; choose a folder\.$",
        ):
            copy.save(str(tmp_path / "file" / "values"))
        copy.save(str(tmp_path / "file"))  # the names of a checkpoint's files begin with its own
        assert tf.train.list_variables(str(tmp_path / "file")) == [("a", [2])]
        assert (tmp_path / "file").read_text() == "no folder"


def test_the_parts_of_a_partitioned_variable_are_synced_saved_and_loaded(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        parts = []
        for scope in ("net", "copy"):
            with v1.variable_scope(scope):
                init = v1.random_normal_initializer(seed=len(scope))
                whole = v1.get_variable(
                    "w", [5, 2], initializer=init, partitioner=v1.fixed_size_partitioner(2)
                )
                parts.append(list(whole))
    with initialised(graph) as session:
        sync = sync_of(session, *zip(*parts, strict=True))
        assert list(sync.drift()) == ["net/w/part_0:0", "net/w/part_1:0"]
        sync.save(str(tmp_path / "w"))
        reader = tf.train.load_checkpoint(str(tmp_path / "w"))
        assert reader.get_variable_to_shape_map() == {"net/w": [5, 2]}
        assert np.array_equal(reader.get_tensor("net/w"), np.concatenate(read(parts[0], session)))
        sync.load(str(tmp_path / "w"))
        assert not any(sync.drift().values())


def test_a_checkpoint_that_lacks_a_value_changes_nothing(
    mlp: tf.Graph, session: v1.Session, tmp_path: Path
) -> None:
    originals, copies, sync = many(mlp, session)
    with mlp.as_default():
        path = v1.train.Saver(originals[:-1]).save(session, str(tmp_path / "some"))
    for variable in copies:
        fill(variable, 3.0, session)
    with pytest.raises(GraphEditError, match="has no value for 'net/two/b'"):
        sync.load(path)
    assert all((value == 3.0).all() for value in read(copies, session))
    with pytest.raises(GraphEditError, match="no checkpoint"):
        sync.load(str(tmp_path / "nothing"))


def test_undo_hides_the_ops_of_the_sync_with_the_clone(mlp: tf.Graph, session: v1.Session) -> None:
    editor = tgw.edit(mlp, session=session)
    before = set(editor._core.index.names)
    copy = editor.clone("x:0", "net/logits:0", "copy")
    originals = [
        v
        for v in mlp.get_collection("variables")
        if f"copy/{v.name}" in {c.name for c in copy.variables}
    ]
    sync = sync_of(session, *zip(originals, copy.variables, strict=True))
    sync.sync()
    sync.sync(0.5)
    assert any(name.startswith("copy/sync") for name in editor._core.index.names)
    editor.undo()
    assert set(editor._core.index.names) == before


# --- Faults and interrupts ---


def cloned_and_trained() -> tuple[GraphEditor, Copy, list[np.ndarray]]:
    """A copy that is no longer what its original is, and the original's values."""
    graph = build_mlp(resource=True)
    session = initialised(graph)
    editor = tgw.edit(graph, session=session)
    copy = editor.clone("x:0", "net/logits:0", "copy")
    originals = [v for v in graph.get_collection("variables") if not v.name.startswith("copy/")]
    for variable in originals:
        fill(variable, 3.0, session)
    return editor, copy, read(originals, session)


WAYS: dict[str, Callable[[Copy], object]] = {
    "sync": lambda copy: copy.sync(),
    "sync with tau": lambda copy: copy.sync(0.5),
    "sync_op": lambda copy: copy.sync_op,
    "mix_op": lambda copy: copy.mix_op(0.25),
}


def still_syncs(editor: GraphEditor, copy: Copy, values: list[np.ndarray]) -> None:
    copy.sync()
    assert set(copy.drift().values()) == {0.0}
    assert all(
        np.array_equal(a, b)
        for a, b in zip(read(copy.variables, editor.session), values, strict=True)
    )
    editor.session.run(copy.sync_op)
    copy.sync(0.5)
    editor.session.run(copy.mix_op(0.25))


@pytest.mark.parametrize("way", slow_if(lambda way: way in {"sync with tau", "mix_op"}, WAYS))
@pytest.mark.sample(1)
def test_a_fault_in_the_first_sync_leaves_nothing_to_be_seen(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = tf.Graph._create_op_internal
    number, calls = 0, [0]
    while calls[0] >= number:
        number, calls = number + 1, [0]
        editor, copy, values = cloned_and_trained()
        before = editor._core.index.names

        def failing(
            *given: Any, _calls: list[int] = calls, _number: int = number, **options: Any
        ) -> Any:
            _calls[0] += 1
            if _calls[0] == _number:
                raise MemoryError
            return create(*given, **options)

        with monkeypatch.context() as patched, contextlib.suppress(MemoryError):
            patched.setattr(tf.Graph, "_create_op_internal", failing)
            WAYS[way](copy)
        if calls[0] >= number:
            assert editor._core.index.names == before, number
            copy.sync()
            assert set(copy.drift().values()) == {0.0}
        else:
            still_syncs(editor, copy, values)
    assert number > 4


@pytest.mark.parametrize("way", slow_if(lambda way: way in {"sync with tau", "mix_op"}, WAYS))
@pytest.mark.sample(1)
def test_a_first_sync_that_is_interrupted_is_done_wholly_or_not_at_all(way: str) -> None:
    for moment in moments(cloned_and_trained, lambda prepared: WAYS[way](prepared[1])):
        editor, copy, values = cloned_and_trained()
        before = editor._core.index.names
        with pytest.raises(KeyboardInterrupt), Interrupting(moment):
            WAYS[way](copy)
        names = editor._core.index.names
        if names != before:  # the interrupt came when it was done
            WAYS[way](copy)
            assert editor._core.index.names == names, moment
        still_syncs(editor, copy, values)


def test_a_sync_whose_run_fails_leaves_nothing_to_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any, **__: Any) -> Any:
        raise MemoryError

    editor, copy, values = cloned_and_trained()
    before = editor._core.index.names
    with monkeypatch.context() as patched:
        patched.setattr("tfgraphwidget.runtime.session.run.TimedSession.run", failing)
        patched.setattr(v1.Session, "make_callable", failing)
        for tau in (1.0, 0.5):
            with pytest.raises(MemoryError):
                copy.sync(tau)
    assert editor._core.index.names == before
    still_syncs(editor, copy, values)

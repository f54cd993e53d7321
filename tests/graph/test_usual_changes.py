"""Two graphs of which one was renamed, reordered, cast, folded or frozen: what is matched, which
tensors hold the same values, and what a difference says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.front_end import FrontEnd
from tests.graph import changes
from tests.slow import slow
from tests.stress import architectures, networks
from tfgraphwidget.graph import GraphIndex
from tfgraphwidget.graph.attributes import AttributeDigests
from tfgraphwidget.graph.op_matching import find_matches

pytestmark = pytest.mark.filterwarnings("ignore:The frozen graph keeps hash table")
GraphDef = Any
FLOATS = (tf.float32.as_datatype_enum, tf.float16.as_datatype_enum)
QUICK = ("squeeze and excite", "detector with non-maximum suppression")
NETWORKS = [*networks.SESSIONS, *networks.KERAS]
PARAMETERS = [name if name in QUICK else slow(name) for name in NETWORKS]


@cache
def frozen_file(name: str) -> GraphDef:
    """A network with its variables as constants."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "frozen.pb")
        if name in networks.SESSIONS:
            subject = architectures.of_session(networks.SESSIONS[name])(Path(folder))
            subject.editor.save(path, outputs=subject.outputs, frozen=True, verify=False)
        else:
            editor = tgw.edit(networks.KERAS[name]()[0])
            editor.save(path, frozen=True, verify=False)
        return v1.GraphDef.FromString(path.read_bytes())


CHANGES: dict[str, Callable[[GraphDef], GraphDef]] = {
    "reordered": changes.reordered,
    "beside a decoy": lambda graph_def: changes.reordered(changes.with_decoy(graph_def)),
    "with other weights": changes.with_other_weights,
    "without identities": changes.without_identities,
    "without identities, beside a decoy": lambda g: changes.reordered(
        changes.with_decoy(changes.without_identities(g))
    ),
    "batch norms folded": changes.folded,
    "batch norms folded, beside a decoy": lambda g: changes.reordered(
        changes.with_decoy(changes.folded(g))
    ),
    "cast": changes.cast,
    "cast, beside a decoy": lambda g: changes.reordered(changes.with_decoy(changes.cast(g))),
}


def matched(before: GraphIndex, then: GraphIndex) -> list[int]:
    digests = AttributeDigests(before), AttributeDigests(then)
    return find_matches(before, then, digests, {}).pair.tolist()


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", PARAMETERS)
@pytest.mark.sample(5)
def test_ops_are_matched_although_all_names_differ(name: str, change: str) -> None:
    graph_def = frozen_file(name)
    before, then = (
        changes.index_of(graph_def),
        changes.index_of(changes.renamed(CHANGES[change](graph_def))),
    )
    pair = matched(before, then)
    # Two NoOps that wait for the same are one as good as the other.
    true = {
        i: then.ids[changes.new_name(op)]
        for i, op in enumerate(before.names)
        if changes.new_name(op) in then.ids and before.types[i] != "NoOp"
    }
    wrong = [before.names[i] for i, j in true.items() if pair[i] not in (j, -1)]
    assert wrong == []
    right = sum(pair[i] == j for i, j in true.items())
    assert right >= 0.99 * len(true), [before.names[i] for i, j in true.items() if pair[i] != j]


@pytest.mark.parametrize("change", ["without identities", "batch norms folded", "cast"])
@pytest.mark.parametrize("name", ["squeeze and excite", slow("U-Net")])
def test_corresponding_tensors_hold_the_same_values(name: str, change: str) -> None:
    graph_def = frozen_file(name)
    compared = changes.corresponding_values(graph_def, CHANGES[change](graph_def))
    assert len(compared) > 30
    tolerance = 0.05 if change == "cast" else 1e-3
    assert [names for names, error in compared.items() if error > tolerance] == []


# What a difference says


def small_network() -> tuple[tf.Graph, v1.Session]:
    """A convolution, a batch norm, a dense layer and its optimizer."""
    with tf.Graph().as_default() as graph:
        v1.set_random_seed(1)
        x = v1.placeholder(tf.float32, [None, 8, 8, 3], name="x")
        kernel = v1.get_variable("kernel", [3, 3, 3, 4], use_resource=True)
        h = tf.nn.conv2d(x, kernel, 2, "SAME", name="conv")
        ones, zeros = v1.ones_initializer(), v1.zeros_initializer()
        weights = [
            v1.get_variable(name, [4], initializer=first, use_resource=True)
            for name, first in (("gamma", ones), ("beta", zeros), ("mean", zeros), ("var", ones))
        ]
        h = v1.nn.fused_batch_norm(h, *weights, is_training=False, name="norm")[0]
        h = tf.reshape(tf.nn.relu(h, name="relu"), [-1, 64])
        dense = v1.get_variable("dense", [64, 2], use_resource=True)
        y = tf.identity(tf.matmul(h, dense, name="product"), name="y")
        v1.train.AdamOptimizer().minimize(tf.reduce_mean(y**2), var_list=[dense])
        session = v1.Session(graph=graph)
        session.run(v1.global_variables_initializer())
    return graph, session


@pytest.fixture(scope="module")
def live() -> Any:
    graph, session = small_network()
    return tgw.edit(graph, session=session)


@pytest.fixture(scope="module")
def frozen(live: Any) -> GraphDef:
    """The graph as TensorFlow freezes it."""
    source = live._core.source
    return v1.graph_util.convert_variables_to_constants(
        source.session, source.graph.as_graph_def(), ["y"]
    )


def said(before: Any, then: Any) -> list[str]:
    """The lines of a difference, without that which says of what."""
    return repr(tgw.edit(then).diff(before)).splitlines()[1:]


def test_a_frozen_graph_differs_by_being_frozen(live: Any, frozen: GraphDef) -> None:
    difference = tgw.edit(frozen).diff(live)
    assert difference
    assert not difference.rest
    (line,) = repr(difference).splitlines()[1:]
    assert line.startswith("frozen: 6 variables became constants; ")
    assert line.endswith(" ops that no other needs were left out")
    assert difference.rows()[0]["change"] == "explained"
    (back,) = repr(live.diff(frozen)).splitlines()[1:]
    assert back.startswith("not frozen: 6 constants became variables; ")


def test_functions_that_nothing_calls_are_left_out_of_a_frozen_graph(
    live: Any, frozen: GraphDef
) -> None:
    """A training graph keeps those that its gradients have replaced."""
    before = v1.GraphDef()
    before.CopyFrom(live._core.source.graph.as_graph_def())
    before.library.function.add().signature.name = "cond_true_7"
    found = tgw.edit(frozen).diff(before)
    assert found.functions.removed == ("cond_true_7",)
    assert not found.rest


def test_what_freezing_does_not_explain_is_still_said(live: Any, frozen: GraphDef) -> None:
    other = changes.copy_of(frozen)
    next(n for n in other.node if n.name == "conv").attr["padding"].s = b"VALID"
    assert said(live, other)[1:] == ["1 op changed", "    conv: attr padding 'SAME' → 'VALID'"]


def test_a_gather_of_a_frozen_table_is_explained() -> None:
    with tf.Graph().as_default() as graph:
        ids = v1.placeholder(tf.int32, [None], name="ids")
        table = v1.get_variable("table", [5, 2], use_resource=True)
        tf.identity(tf.nn.embedding_lookup(table, ids), name="y")
        session = v1.Session(graph=graph)
        session.run(v1.global_variables_initializer())
    frozen = v1.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])
    (line,) = said(graph, frozen)
    assert line.startswith("frozen: 1 variable became a constant")


def test_folded_batch_norms_are_one_change(frozen: GraphDef) -> None:
    lines = said(frozen, changes.folded(frozen))
    assert lines[0] == "1 batch norm folded into the weights of 'conv'"
    assert [line for line in lines[1:] if "renamed" not in line and "→" not in line] == []


def test_a_graph_that_is_frozen_and_folded_at_once_differs_by_both(
    live: Any, frozen: GraphDef
) -> None:
    difference = tgw.edit(changes.folded(frozen)).diff(live)
    first, second = repr(difference).splitlines()[1:]
    assert first.startswith("frozen: 2 variables became constants; ")
    assert second == "1 batch norm folded into the weights of 'conv'"
    assert not difference.rest


def test_a_batch_norm_that_is_folded_and_cast_is_explained(frozen: GraphDef) -> None:
    difference = tgw.edit(changes.cast(changes.folded(frozen))).diff(frozen)
    assert [each.change for each in difference.explained] == ["batch norm", "precision"]
    assert not difference.rest


@pytest.mark.parametrize("before", ["live", "frozen"])
@pytest.mark.parametrize("part", ["norm/folded_weights", "norm/folded_bias", "epsilon"])
def test_weights_with_another_batch_norm_are_a_difference(
    part: str, before: str, live: Any, frozen: GraphDef
) -> None:
    other = changes.copy_of(frozen)
    if part == "epsilon":
        next(n for n in other.node if n.name == "norm").attr["epsilon"].f = 0.01
    other = changes.folded(other)
    if part != "epsilon":
        node = next(n for n in other.node if n.name == part)
        value = tf.make_ndarray(node.attr["value"].tensor).copy()
        value.flat[1] += 0.01
        node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value))
    rest = tgw.edit(other).diff(live if before == "live" else frozen).rest
    assert "norm" in rest.removed
    assert "norm/folded" in rest.added
    assert "relu: input 0 norm:0 → norm/folded:0" in repr(rest)


def test_a_bias_that_is_gone_is_no_folded_batch_norm() -> None:
    def graph_def(*, with_bias: bool) -> GraphDef:
        with tf.Graph().as_default() as graph:
            x = v1.placeholder(tf.float32, [None, 4], name="x")
            h = tf.matmul(x, tf.constant(np.eye(4, dtype=np.float32), name="w"), name="product")
            bias = tf.constant([1.0, 2.0, 3.0, 4.0], name="bias")
            tf.nn.relu(tf.nn.bias_add(h, bias, name="shift") if with_bias else h, name="y")
        return graph.as_graph_def()

    lines = said(graph_def(with_bias=True), graph_def(with_bias=False))
    assert lines[:2] == ["1 op removed", "    shift"]
    assert "    y: input 0 shift:0 → product:0" in lines


def test_a_batch_norm_that_is_left_out_is_not_folded(frozen: GraphDef) -> None:
    other = changes.copy_of(frozen)
    next(n for n in other.node if n.name == "relu").input[0] = "conv"
    other.node.remove(next(n for n in other.node if n.name == "norm"))
    lines = said(frozen, other)
    assert not any("folded" in line for line in lines)
    assert "    norm" in lines
    assert "    relu: input 0 norm:0 → conv:0" in lines


def with_op_before_relu(graph_def: GraphDef, *op_types: str) -> GraphDef:
    """The graph with further ops between the batch norm and the activation."""
    with tf.Graph().as_default() as graph:
        x = tensor = v1.placeholder(tf.float32, [None, 4, 4, 4], name="norm")
        for op_type in op_types:
            tensor = {
                "StopGradient": tf.stop_gradient,
                "CheckNumerics": lambda t: tf.debugging.check_numerics(t, "bad"),
                "int32": lambda t: tf.cast(t, tf.int32),
                "float16": lambda t: tf.cast(t, tf.float16),
                "float32": lambda t: tf.cast(t, tf.float32),
            }[op_type](tensor)
    other = changes.copy_of(graph_def)
    other.node.extend(node for node in graph.as_graph_def().node if node.name != x.op.name)
    next(n for n in other.node if n.name == "relu").input[0] = tensor.op.name
    return other


@pytest.mark.parametrize("op_types", [["StopGradient"], ["CheckNumerics"], ["int32", "float32"]])
def test_ops_that_do_more_than_hand_on_a_tensor_are_never_explained(
    frozen: GraphDef, op_types: list[str]
) -> None:
    difference = tgw.edit(with_op_before_relu(frozen, *op_types)).diff(frozen)
    assert difference.explained == ()
    assert len(difference.added) == len(op_types)
    assert difference.changed[0].name == "relu"


def test_a_pair_of_casts_that_rounds_is_explained(frozen: GraphDef) -> None:
    (line,) = said(frozen, with_op_before_relu(frozen, "float16", "float32"))
    assert line.startswith("other precision")


@pytest.mark.parametrize("part", ["one element", "shape", "an integer"])
def test_a_constant_that_is_not_only_rounded_is_a_difference(frozen: GraphDef, part: str) -> None:
    other = changes.cast(frozen)
    dense = next(n for n in other.node if n.name == "dense")
    value = tf.make_ndarray(dense.attr["value"].tensor).copy()
    if part == "one element":
        value[3, 1] += 0.01  # a hundredth of the length of the whole
    elif part == "shape":
        value = value.T
    else:
        value = value.astype(np.int32)
        dense.attr["dtype"].type = tf.int32.as_datatype_enum
    dense.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value))
    assert any(
        "dense: attr value" in line or "dense: attr dtype" in line for line in said(frozen, other)
    )


@pytest.mark.parametrize(("part", "text"), [("shape", "attr value"), ("axis", "input 2")])
def test_a_frozen_table_of_another_shape_or_axis_is_a_difference(part: str, text: str) -> None:
    with tf.Graph().as_default() as graph:
        ids = v1.placeholder(tf.int32, [None], name="ids")
        table = v1.get_variable("table", [5, 5], use_resource=True)
        tf.identity(tf.nn.embedding_lookup(table, ids, name="lookup"), name="y")
        session = v1.Session(graph=graph)
        session.run(v1.global_variables_initializer())
    frozen = v1.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])
    if part == "shape":
        value = tf.make_tensor_proto(np.zeros([6, 5], np.float32))
        next(n for n in frozen.node if n.name == "table").attr["value"].tensor.CopyFrom(value)
    else:
        axis = next(n for n in frozen.node if n.name.endswith("axis"))
        axis.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(1))
    assert any(text in line for line in said(graph, frozen))


def test_comparing_changes_no_node(live: Any, frozen: GraphDef) -> None:
    editors = [tgw.edit(live._core.source.graph.as_graph_def()), tgw.edit(frozen)]
    before = [[n.SerializeToString() for n in e._core.index.nodes] for e in editors]
    editors[0].diff(editors[1])
    editors[1].diff(editors[0])
    assert [[n.SerializeToString() for n in e._core.index.nodes] for e in editors] == before


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_casts_and_other_dtypes_are_one_change(frozen: GraphDef, dtype: Any) -> None:
    editor = tgw.edit(frozen)
    editor.passes.cast(dtype)
    (line,) = repr(editor.diff(frozen)).splitlines()[1:]
    assert line.startswith(f"other precision: float32 → {dtype} in ")


def test_another_dtype_of_an_input_is_a_change(frozen: GraphDef) -> None:
    other = changes.cast(frozen)
    next(n for n in other.node if n.name == "x").attr["dtype"].type = FLOATS[1]
    assert any("x: attr dtype float32 → float16" in line for line in said(frozen, other))


def test_an_identity_on_the_way_is_explained_and_one_at_the_end_is_not(frozen: GraphDef) -> None:
    other = changes.copy_of(frozen)
    names = {n.name: n for n in other.node}
    reads = [n for n in other.node if n.op == "Identity" and n.name != "y"]
    for read in reads:
        for node in other.node:
            for k, text in enumerate(node.input):
                if text == read.name:
                    node.input[k] = read.input[0]
        other.node.remove(read)
    (line,) = said(frozen, other)
    assert line == f"{len(reads)} ops that hand a tensor on were removed"
    other.node.remove(names["y"])
    assert said(frozen, other)[1:] == ["1 op removed", "    y"]


def test_a_swapped_input_is_never_explained(frozen: GraphDef) -> None:
    other = changes.without_identities(frozen)
    product = next(n for n in other.node if n.name == "product")
    product.input[0], product.input[1] = product.input[1], product.input[0]
    assert any("product: input 0" in line for line in said(frozen, other))


@pytest.mark.parametrize("change", ["batch norms folded", "without identities", "cast"])
def test_a_usual_change_is_no_divergence_and_a_weight_is(change: str) -> None:
    graph_def = frozen_file("detector with non-maximum suppression")
    then = changes.renamed(CHANGES[change](graph_def))
    feeds = changes.inputs_of(graph_def)
    editor = tgw.edit(then)
    assert not editor.compare(feeds, graph_def, tensors="all")
    other = changes.copy_of(graph_def)
    weights = next(node for node in other.node if node.name == "scores/w")
    value = tf.make_ndarray(weights.attr["value"].tensor) + 0.25
    weights.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value))
    divergence = editor.compare(feeds, other, tensors="all").first_divergence
    assert divergence is not None
    assert divergence.op == changes.new_name("scores/w")


def test_a_frozen_graph_is_explained_on_the_page(
    live: Any, frozen: GraphDef, tmp_path: Path
) -> None:
    path = tmp_path / "frozen.pb"
    path.write_bytes(frozen.SerializeToString())
    page = FrontEnd(live)
    state = page.ask("compare", show=True, source=str(path))["state"]
    assert state["explained"][0].startswith("not frozen: 6 constants became variables")
    assert state["changes"] == []
    assert page.ask("compare", show=False, source="")["state"]["explained"] == []


# What is left out


def test_kinds_of_differences_are_left_out(frozen: GraphDef) -> None:
    other = changes.renamed(frozen, lambda name: name.replace("product", "matmul"))
    nodes = {node.name: node for node in other.node}
    nodes["conv"].attr["padding"].s = b"VALID"
    nodes["conv"].device = "/device:CPU:0"
    nodes["x"].attr["shape"].shape.dim[0].size = 8
    value = tf.make_ndarray(nodes["dense"].attr["value"].tensor) + 1
    nodes["dense"].attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value))
    editor = tgw.edit(other)
    lines = {
        "names": "product → matmul",
        "attributes": "attr padding",
        "devices": "device + /device:CPU:0",
        "shapes": "attr shape",
        "values": "attr value",
    }
    for kind in lines:
        text = repr(editor.diff(frozen, ignore=kind))
        assert [each for each, line in lines.items() if line not in text] == [kind]
    assert not editor.diff(frozen, ignore=list(lines))
    with pytest.raises(tgw.GraphEditError, match=r"ignore=.* is not what diff takes; give 'names'"):
        editor.diff(frozen, ignore=["shape"])  # type: ignore[list-item]


def test_a_long_difference_is_printed_in_sixty_lines() -> None:
    def calls(power: float) -> Any:
        @tf.function(autograph=False)
        def model(x: Any) -> Any:
            for k in range(1, 31):
                x = tf.function(
                    lambda y, k=k: power * tf.pow(y, power) + k * power, autograph=False
                )(x)
            return x

        return tgw.edit(model, signature=[tf.TensorSpec([2], tf.float32)])

    difference = calls(2.0).diff(calls(3.0))
    lines = repr(difference).splitlines()
    assert len(lines) == 60
    assert lines[-1].endswith(" more lines: .table() has all")
    assert len(difference.table()) >= 30


def with_states(names: Sequence[str]) -> GraphDef:
    """Variables that a session knows by these names, each read."""
    graph = tf.Graph()
    with graph.as_default():
        for number, name in enumerate(names):
            handle = tf.raw_ops.VarHandleOp(
                dtype=tf.float32, shape=[2], shared_name=name, name=f"v{number}"
            )
            tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32, name=f"read{number}")
    return graph.as_graph_def()


def test_variables_that_a_session_knows_by_other_names_are_one_line() -> None:
    difference = tgw.edit(with_states(["a_1", "b_1"])).diff(with_states(["a", "b"]))
    assert [each.change for each in difference.explained] == ["names of state"]
    assert str(difference.explained[0]) == "other names of state: 2 ops with another shared_name"
    assert not difference.rest


def test_variables_that_become_one_stay_a_difference() -> None:
    difference = tgw.edit(with_states(["a", "a"])).diff(with_states(["a", "b"]))
    assert not difference.explained
    assert [each.name for each in difference.rest.changed] == ["v1"]


def test_a_keras_model_beside_what_it_exports_differs_in_names_of_state_alone(
    tmp_path: Path,
) -> None:
    layers = [tf.keras.layers.Input((4,)), tf.keras.layers.Dense(3, activation="relu")]
    model = tf.keras.Sequential(layers)
    model.export(str(tmp_path / "saved"), verbose=False)
    difference = tgw.edit(tmp_path / "saved").diff(model)
    assert {each.change for each in difference.explained} <= {"names of state"}
    assert not difference.rest


def test_only_the_names_of_state_that_are_other_ones_are_said() -> None:
    graph_def = with_states(["a", "b"])
    for node in graph_def.node:
        if node.op == "VarHandleOp":
            node.attr["debug_name"].s = b"of another process"
    (explanation,) = tgw.edit(graph_def).diff(with_states(["a", "b"])).explained
    assert str(explanation) == "other names of state: 2 ops with another debug_name"


def test_the_result_of_a_call_in_a_frozen_file_is_not_another_call_of_its_name(
    tmp_path: Path,
) -> None:
    layers = [tf.keras.layers.Input((4,)), tf.keras.layers.Dense(3, activation="relu")]
    model = tf.keras.Sequential(layers)
    model.export(str(tmp_path / "saved"), verbose=False)  # signatures serve and serving_default
    tgw.edit(tmp_path / "saved").save(tmp_path / "frozen.pb", frozen=True, verify=False)
    difference = tgw.edit(tmp_path / "frozen.pb").diff(tmp_path / "saved")
    assert {each.change for each in difference.explained} >= {"inlined", "frozen"}
    assert difference.rest.removed == difference.rest.changed == ()
